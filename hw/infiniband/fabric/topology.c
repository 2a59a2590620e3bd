/*
 * Topology files: from lines to nodes and cables
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Reading collects nodes and, for each port line, the name of the peer.  When
 * the last file has ended, all names are looked up and both ends of each cable
 * are compared.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "hw/infiniband/ib-fabric.h"
#include "hw/infiniband/ib-sm-attr.h"
#include "fabric-int.h"

#define GUID_FIRST_SWITCH  0x100000
#define GUID_FIRST_CA      0x200000
#define PORTS_MAX          254

typedef struct Place {
    const char *file;             /* interned for the time of reading */
    unsigned line;
} Place;

/* A line "[port] "peer"[peer_port]" of a node. */
typedef struct PortLine {
    uint32_t node;
    uint8_t port, peer_port;
    char *peer;
    Place place;
} PortLine;

typedef struct OpenFile {
    struct OpenFile *includer;
    FILE *stream;
    dev_t dev;
    ino_t ino;
    Place place;
} OpenFile;

typedef struct Reader {
    OpenFile *file;
    unsigned files, depth;
    GStringChunk *names;
    GArray *nodes;                /* IbTopologyNode */
    GArray *places;               /* Place of each node */
    GArray *lines;                /* PortLine */
    GHashTable *by_id;            /* id -> index + 1 */
    bool in_record;               /* port lines belong to the last node */
    bool any_guid;
    /* Said before a node's line, for the next node. */
    bool has_guid, has_port_guid;
    uint64_t guid, port_guid, system_guid;
    uint32_t vendor_id;
    uint16_t device_id;
    bool failed;
    GError **error;
} Reader;

static bool G_GNUC_PRINTF(3, 4) fail_at(Reader *r, Place place,
                                        const char *format, ...)
{
    va_list args;
    g_autofree char *reason = NULL;

    if (!r->failed) {
        va_start(args, format);
        reason = g_strdup_vprintf(format, args);
        va_end(args);
        g_set_error(r->error, IB_TOPOLOGY_ERROR, 0, "%s:%u: %s", place.file,
                    place.line, reason);
        r->failed = true;
    }
    return false;
}

#define fail(r, ...)  fail_at(r, (r)->file->place, __VA_ARGS__)

/* ------------------------------------------------------ parts of a line */

static const char *skip_blanks(const char *s)
{
    return s + strspn(s, " \t");
}

/* The text between quotes at *@s, which moves behind them; NULL: none. */
static char *take_quoted(const char **s)
{
    const char *from = skip_blanks(*s);
    const char *to = *from == '"' ? strchr(from + 1, '"') : NULL;

    if (!to) {
        return NULL;
    }
    *s = to + 1;
    return g_strndup(from + 1, to - from - 1);
}

/* A number from 1 to 254 in brackets. */
static bool take_port(const char **s, uint8_t *port)
{
    unsigned value = 0, digits = 0;
    const char *p = skip_blanks(*s);

    if (*p++ != '[') {
        return false;
    }
    for (; g_ascii_isdigit(*p) && digits < 4; p++, digits++) {
        value = value * 10 + (*p - '0');
    }
    if (*p != ']' || value < 1 || value > PORTS_MAX) {
        return false;
    }
    *s = p + 1;
    *port = value;
    return true;
}

/* Hexadecimal digits, with or without 0x; no sign, no more than 64 bits. */
static bool take_hex(const char **s, uint64_t *value)
{
    const char *p = *s;
    unsigned digits = 0;

    if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
        p += 2;
    }
    for (*value = 0; g_ascii_isxdigit(*p); p++, digits++) {
        if (*value >> 60) {
            return false;
        }
        *value = *value << 4 | g_ascii_xdigit_value(*p);
    }
    *s = p;
    return digits > 0;
}

/* "(GUID)" at *@s: true and moved behind it. */
static bool take_guid_in_parens(const char **s, uint64_t *guid)
{
    const char *p = *s + 1;

    if (**s != '(' || !take_hex(&p, guid) || *p != ')') {
        return false;
    }
    *s = p + 1;
    return true;
}

/* ------------------------------------------------------------ the lines */

/* ibnetdiscover writes the GUID into the name: S-0002c90200000001. */
static bool guid_of_id(const char *id, uint64_t *guid)
{
    const char *p = id + 2;

    return strlen(id) == 18 && strchr("SHR", id[0]) && id[1] == '-' &&
           take_hex(&p, guid) && *p == '\0' && *guid != 0;
}

/* What the lines before it said; 0 is left for complete_guids(). */
static void take_guids(Reader *r, IbTopologyNode *node)
{
    if (r->has_guid) {
        node->node_guid = r->guid;
    } else if (guid_of_id(node->id, &node->node_guid)) {
        r->any_guid = true;
    }
    node->system_guid = r->system_guid;
    if (node->type == IB_NODE_TYPE_SWITCH && r->has_port_guid) {
        node->port_guid = r->port_guid;
    }
}

/* TYPE PORTS "id"  # "description" base port 0 lid ... */
static bool read_node(Reader *r, const char *s, uint8_t type)
{
    IbTopologyNode node = { .type = type };
    const char *comment;
    unsigned ports = 0;
    bool ok = false;

    s = skip_blanks(s);
    for (; g_ascii_isdigit(*s) && ports <= PORTS_MAX; s++) {
        ports = ports * 10 + (*s - '0');
    }
    node.id = take_quoted(&s);
    if (ports < 1 || ports > PORTS_MAX) {
        fail(r, "a node has 1 to %d ports", PORTS_MAX);
    } else if (!node.id || !node.id[0]) {
        fail(r, "no name in quotes after the number of ports");
    } else if (strlen(node.id) > IB_TOPOLOGY_ID_MAX) {
        fail(r, "a name has at most %d bytes", IB_TOPOLOGY_ID_MAX);
    } else if (g_hash_table_contains(r->by_id, node.id)) {
        fail(r, "\"%s\" is there twice", node.id);
    } else if (r->nodes->len == IB_TOPOLOGY_NODES_MAX) {
        fail(r, "more than %d nodes", IB_TOPOLOGY_NODES_MAX);
    } else {
        take_guids(r, &node);
        ok = true;
    }
    if (!ok) {
        g_free(node.id);
        return false;
    }
    node.num_ports = ports;
    node.vendor_id = r->vendor_id;
    node.device_id = r->device_id;
    node.ports = g_new0(IbTopologyPort, ports + 1);
    comment = strchr(s, '#');
    if (comment) {
        s = comment + 1;
        node.description = take_quoted(&s);
        node.enhanced_port0 = strstr(s, "enhanced port 0") != NULL;
    }
    node.description = node.description ?: g_strdup(node.id);
    g_array_append_val(r->nodes, node);
    g_array_append_val(r->places, r->file->place);
    g_hash_table_insert(r->by_id, node.id, GUINT_TO_POINTER(r->nodes->len));
    r->has_guid = r->has_port_guid = false;
    r->system_guid = 0;
    r->vendor_id = r->device_id = 0;
    r->in_record = true;
    return true;
}

/* ibsim's w= (1, 2, 4, 8: LinkWidth) and s= (1, 2, 4: LinkSpeed) */
static bool read_option(Reader *r, const char **s, IbTopologyPort *port)
{
    char name = **s, digit;

    if ((name != 'w' && name != 's') || (*s)[1] != '=') {
        return fail(r, "neither w= nor s= nor # after the peer");
    }
    digit = (*s)[2];
    if (!digit || !strchr(name == 'w' ? "1248" : "124", digit) ||
        ((*s)[3] && !strchr(" \t#", (*s)[3]))) {
        return fail(r, "%c= is one of %s", name,
                    name == 'w' ? "1, 2, 4, 8" : "1, 2, 4");
    }
    *(name == 'w' ? &port->width : &port->speed) = digit - '0';
    *s += 3;
    return true;
}

/* ibnetdiscover's number on the front of a chassis: [ext 7] */
static const char *skip_front_number(const char *s)
{
    const char *end = g_str_has_prefix(s, "[ext ") ? strchr(s, ']') : NULL;

    return end ? end + 1 : s;
}

/* [port](guid) "peer"[peer_port](guid) w=.. s=.. # comment */
static bool read_port(Reader *r, const char *s)
{
    IbTopologyNode *node;
    IbTopologyPort *port;
    PortLine line = { .place = r->file->place, .peer_port = 1 };
    uint64_t guid;

    if (!r->in_record) {
        return fail(r, "a port without a node before it");
    }
    line.node = r->nodes->len - 1;
    node = &g_array_index(r->nodes, IbTopologyNode, line.node);
    if (!take_port(&s, &line.port) || line.port > node->num_ports) {
        return fail(r, "\"%s\" has ports 1 to %u", node->id,
                    node->num_ports);
    }
    port = &node->ports[line.port];
    if (port->cabled) {
        return fail(r, "port %u of \"%s\" is there twice", line.port,
                    node->id);
    }
    port->cabled = true;
    s = skip_front_number(s);
    if (*s == '(') {
        if (!take_guid_in_parens(&s, &guid) || guid < line.port) {
            return fail(r, "no GUID in the parentheses");
        }
        guid -= line.port - 1;
        if (node->type != IB_NODE_TYPE_SWITCH && node->port_guid &&
            node->port_guid != guid) {
            return fail(r, "GUIDs of a node's ports that do not follow each "
                        "other are not supported");
        }
        if (node->type != IB_NODE_TYPE_SWITCH) {
            node->port_guid = guid;
        }
    }
    line.peer = take_quoted(&s);
    if (!line.peer) {
        return fail(r, "no peer in quotes after port %u", line.port);
    }
    /* From here on the name is the list's. */
    g_array_append_val(r->lines, line);
    s = skip_blanks(s);
    if (*s == '[') {
        if (!take_port(&s, &line.peer_port)) {
            return fail(r, "the peer's port is 1 to %d", PORTS_MAX);
        }
        g_array_index(r->lines, PortLine, r->lines->len - 1) = line;
        s = skip_front_number(s);
    }
    if (*s == '(' && !take_guid_in_parens(&s, &guid)) {
        return fail(r, "no GUID in the parentheses");
    }
    for (s = skip_blanks(s); *s && *s != '#'; s = skip_blanks(s)) {
        if (!read_option(r, &s, port)) {
            return false;
        }
    }
    if (*s == '#') {
        ib_topology_read_rate(port, s + 1);
    }
    return true;
}

static bool read_guid(Reader *r, const char *s, bool is_switch)
{
    if (!take_hex(&s, &r->guid) || r->guid == 0) {
        return fail(r, "no GUID after the =");
    }
    r->has_guid = r->any_guid = true;
    if (*s == '(') {
        if (!take_guid_in_parens(&s, &r->port_guid) || r->port_guid == 0) {
            return fail(r, "no GUID in the parentheses");
        }
        r->has_port_guid = is_switch;
    }
    return true;
}

static bool read_number(Reader *r, const char *s, uint64_t max,
                        uint64_t *value)
{
    if (!take_hex(&s, value) || *value > max) {
        return fail(r, "no hexadecimal number up to 0x%" G_GINT64_MODIFIER
                    "x after the =", max);
    }
    return true;
}

static bool read_file(Reader *r, const char *path);

static bool read_include(Reader *r, const char *s)
{
    g_autofree char *name = take_quoted(&s);
    g_autofree char *folder = NULL, *path = NULL;

    if (!name || !name[0]) {
        return fail(r, "no file in quotes after include");
    }
    folder = g_path_get_dirname(r->file->place.file);
    path = g_path_is_absolute(name) ? g_strdup(name)
                                    : g_build_filename(folder, name, NULL);
    return read_file(r, path);
}

/* Words that ibsim knows and that would change what the file means. */
static const char *const refused[] = {
    "@", "module", "do ", "width", "speed", "hcaguids",
};

static bool read_line(Reader *r, const char *s)
{
    uint64_t number;
    unsigned i;

    if (s[0] == '#') {
        return true;
    } else if (s[0] == '[') {
        return read_port(r, s);
    }
    r->in_record = false;
    for (i = 0; i < G_N_ELEMENTS(refused); i++) {
        if (g_str_has_prefix(s, refused[i])) {
            return fail(r, "\"%s\" is not supported", refused[i]);
        }
    }
    if (g_str_has_prefix(s, "Switch")) {
        return read_node(r, s + 6, IB_NODE_TYPE_SWITCH);
    } else if (g_str_has_prefix(s, "Hca")) {
        return read_node(r, s + 3, IB_NODE_TYPE_CA);
    } else if (g_str_has_prefix(s, "Ca")) {
        return read_node(r, s + 2, IB_NODE_TYPE_CA);
    } else if (g_str_has_prefix(s, "Rt")) {
        return read_node(r, s + 2, IB_NODE_TYPE_ROUTER);
    } else if (g_str_has_prefix(s, "switchguid=")) {
        return read_guid(r, s + 11, true);
    } else if (g_str_has_prefix(s, "caguid=") ||
               g_str_has_prefix(s, "rtguid=")) {
        return read_guid(r, s + 7, false);
    } else if (g_str_has_prefix(s, "sysimgguid=")) {
        return read_number(r, s + 11, UINT64_MAX, &r->system_guid);
    } else if (g_str_has_prefix(s, "vendid=")) {
        if (!read_number(r, s + 7, 0xffffff, &number)) {
            return false;
        }
        r->vendor_id = number;
    } else if (g_str_has_prefix(s, "devid=")) {
        if (!read_number(r, s + 6, 0xffff, &number)) {
            return false;
        }
        r->device_id = number;
    } else if (g_str_has_prefix(s, "include")) {
        return read_include(r, s + 7);
    }
    /* Headings of ibnetdiscover ("Chassis 1", "Non-Chassis Nodes") */
    return true;
}

/* ------------------------------------------------------------- the files */

static bool read_lines(Reader *r)
{
    char line[IB_TOPOLOGY_LINE_MAX + 1];
    size_t len = 0;
    int c;

    do {
        c = getc(r->file->stream);
        if (len == 0) {
            r->file->place.line++;
        }
        if (c == '\n' || c == EOF) {
            while (len && strchr(" \t\r", line[len - 1])) {
                len--;
            }
            line[len] = '\0';
            if (!read_line(r, line)) {
                return false;
            }
            len = 0;
        } else if (c == '\0') {
            return fail(r, "a byte of 0");
        } else if (len == IB_TOPOLOGY_LINE_MAX) {
            return fail(r, "a line of more than %d bytes",
                        IB_TOPOLOGY_LINE_MAX);
        } else {
            line[len++] = c;
        }
    } while (c != EOF);
    return ferror(r->file->stream) ? fail(r, "%s", g_strerror(errno)) : true;
}

static bool read_file(Reader *r, const char *path)
{
    OpenFile file = { .includer = r->file, .place = { path, 0 } };
    Place blame = r->file ? r->file->place : file.place;
    const OpenFile *open;
    struct stat st;
    bool ok = false;

    if (++r->files > IB_TOPOLOGY_FILES_MAX) {
        return fail_at(r, blame, "more than %d files", IB_TOPOLOGY_FILES_MAX);
    }
    if (r->depth == IB_TOPOLOGY_DEPTH_MAX) {
        return fail_at(r, blame, "includes are nested more than %d deep",
                       IB_TOPOLOGY_DEPTH_MAX);
    }
    /* Looked at first: to open a FIFO would wait for a writer. */
    if (stat(path, &st) < 0) {
        return fail_at(r, blame, "%s: %s", path, g_strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) {
        return fail_at(r, blame, "%s: not a file", path);
    }
    for (open = r->file; open; open = open->includer) {
        if (open->dev == st.st_dev && open->ino == st.st_ino) {
            return fail_at(r, blame, "%s includes itself", path);
        }
    }
    file.place.file = g_string_chunk_insert_const(r->names, path);
    file.dev = st.st_dev;
    file.ino = st.st_ino;
    file.stream = fopen(path, "r");
    if (!file.stream) {
        return fail_at(r, blame, "%s: %s", path, g_strerror(errno));
    }
    r->file = &file;
    r->depth++;
    r->in_record = false;
    ok = read_lines(r);
    r->depth--;
    r->file = file.includer;
    r->in_record = false;
    fclose(file.stream);
    return ok;
}

/* ------------------------------------------------------------ the cables */

static bool connect_line(Reader *r, const PortLine *line)
{
    uint32_t found = GPOINTER_TO_UINT(g_hash_table_lookup(r->by_id,
                                                          line->peer));
    IbTopologyNode *node, *peer;
    IbTopologyPort *port, *peer_port;

    if (!found) {
        return fail_at(r, line->place, "unknown peer \"%s\"", line->peer);
    }
    node = &g_array_index(r->nodes, IbTopologyNode, line->node);
    peer = &g_array_index(r->nodes, IbTopologyNode, found - 1);
    port = &node->ports[line->port];
    if (line->peer_port > peer->num_ports) {
        return fail_at(r, line->place, "\"%s\" has ports 1 to %u", peer->id,
                       peer->num_ports);
    }
    peer_port = &peer->ports[line->peer_port];
    if (peer_port == port) {
        return fail_at(r, line->place, "port %u of \"%s\" leads to itself",
                       line->port, node->id);
    }
    /* Either end may have been met as the other's peer. */
    if ((port->peer_port && (port->peer != found - 1 ||
                             port->peer_port != line->peer_port)) ||
        (peer_port->peer_port && (peer_port->peer != line->node ||
                                  peer_port->peer_port != line->port))) {
        return fail_at(r, line->place, "port %u of \"%s\" or port %u of "
                       "\"%s\" has another cable", line->port, node->id,
                       line->peer_port, peer->id);
    }
    port->peer = found - 1;
    port->peer_port = line->peer_port;
    peer_port->peer = line->node;
    peer_port->peer_port = line->port;
    peer_port->cabled = true;
    /*
     * Options count for more than a comment; an end of which nothing is said
     * runs as the other one.
     */
    if (port->width || port->speed || peer_port->width || peer_port->speed) {
        port->rate_width = peer_port->rate_width = 0;
        port->rate_speed = peer_port->rate_speed = 0;
    } else if (!port->rate_width) {
        port->rate_width = peer_port->rate_width;
        port->rate_speed = peer_port->rate_speed;
    } else if (!peer_port->rate_width) {
        peer_port->rate_width = port->rate_width;
        peer_port->rate_speed = port->rate_speed;
    }
    return true;
}

static bool complete_guids(Reader *r)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_int64_hash,
                                                  g_int64_equal);
    uint32_t i;

    for (i = 0; i < r->nodes->len; i++) {
        IbTopologyNode *node = &g_array_index(r->nodes, IbTopologyNode, i);
        Place place = g_array_index(r->places, Place, i);
        bool is_switch = node->type == IB_NODE_TYPE_SWITCH;

        if (!node->node_guid && r->any_guid) {
            return fail_at(r, place, "no GUID for \"%s\", but others have one",
                           node->id);
        } else if (!node->node_guid) {
            /* A CA's ports have the GUIDs that follow. */
            node->node_guid = is_switch ? GUID_FIRST_SWITCH + i
                                        : GUID_FIRST_CA + i * UINT64_C(256);
        }
        node->system_guid = node->system_guid ?: node->node_guid;
        node->port_guid = node->port_guid ?: node->node_guid + !is_switch;
        if (!is_switch && node->port_guid - 1 > UINT64_MAX - node->num_ports) {
            return fail_at(r, place, "the GUIDs of the ports of \"%s\" do not "
                           "fit into 64 bits", node->id);
        }
        if (!g_hash_table_add(seen, &node->node_guid)) {
            return fail_at(r, place, "the GUID of \"%s\" is there twice",
                           node->id);
        }
    }
    return true;
}

static bool connect_all(Reader *r)
{
    unsigned i;

    for (i = 0; i < r->lines->len; i++) {
        if (!connect_line(r, &g_array_index(r->lines, PortLine, i))) {
            return false;
        }
    }
    return true;
}

static void clear_port_line(void *data)
{
    g_free(((PortLine *)data)->peer);
}

static IbTopology *finish(Reader *r)
{
    IbTopology *t = g_new0(IbTopology, 1);
    uint32_t i;
    unsigned p;

    t->num_nodes = r->nodes->len;
    t->nodes = (IbTopologyNode *)g_array_free(r->nodes, FALSE);
    r->nodes = NULL;
    for (i = 0; i < t->num_nodes; i++) {
        for (p = 1; p <= t->nodes[i].num_ports; p++) {
            t->num_cables += t->nodes[i].ports[p].cabled;
        }
    }
    t->num_cables /= 2;
    return t;
}

GQuark ib_topology_error_quark(void)
{
    return g_quark_from_static_string("ib-topology-error-quark");
}

IbTopology *ib_topology_read(const char *path, GError **error)
{
    Reader r = { .error = error };
    IbTopology *t;
    bool ok;

    r.names = g_string_chunk_new(1024);
    r.nodes = g_array_new(FALSE, FALSE, sizeof(IbTopologyNode));
    r.places = g_array_new(FALSE, FALSE, sizeof(Place));
    r.lines = g_array_new(FALSE, FALSE, sizeof(PortLine));
    g_array_set_clear_func(r.lines, clear_port_line);
    r.by_id = g_hash_table_new(g_str_hash, g_str_equal);

    ok = read_file(&r, path);
    if (ok && r.nodes->len == 0) {
        ok = fail_at(&r, (Place) { path, 1 }, "no node");
    }
    ok = ok && connect_all(&r) && complete_guids(&r);
    t = finish(&r);
    if (!ok) {
        ib_topology_free(t);
        t = NULL;
    }
    g_hash_table_unref(r.by_id);
    g_array_unref(r.lines);
    g_array_unref(r.places);
    g_string_chunk_free(r.names);
    return t;
}

void ib_topology_free(IbTopology *t)
{
    uint32_t i;

    for (i = 0; i < t->num_nodes; i++) {
        g_free(t->nodes[i].id);
        g_free(t->nodes[i].description);
        g_free(t->nodes[i].ports);
    }
    g_free(t->nodes);
    g_free(t);
}

const IbTopologyNode *ib_topology_find(const IbTopology *t, const char *id)
{
    uint32_t i;

    for (i = 0; i < t->num_nodes; i++) {
        if (!strcmp(t->nodes[i].id, id)) {
            return &t->nodes[i];
        }
    }
    return NULL;
}
