/*
 * Commands of the control socket (docs/fabric.rst)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>
#include "fabric-int.h"
#include "hw/infiniband/ib-fabric-host.h"

typedef struct Command {
    IbFabric *fabric;
    int argc;
    char **argv;
    uint32_t node;                /* with has_port */
    uint8_t port;
    GString *out;
} Command;

static void G_GNUC_PRINTF(2, 3) fail(Command *c, const char *format, ...)
{
    va_list args;
    g_autofree char *why = NULL;

    va_start(args, format);
    why = g_strdup_vprintf(format, args);
    va_end(args);
    g_string_assign(c->out, "{\"error\": ");
    ib_fabric_json_string(c->out, why);
    g_string_append(c->out, "}");
}

void ib_fabric_json_string(GString *out, const char *text)
{
    const unsigned char *p;

    g_string_append_c(out, '"');
    for (p = (const unsigned char *)text; *p; p++) {
        if (*p == '"' || *p == '\\') {
            g_string_append_printf(out, "\\%c", *p);
        } else if (*p < ' ' || *p >= 0x7f) {
            g_string_append_printf(out, "\\u%04x", *p);
        } else {
            g_string_append_c(out, *p);
        }
    }
    g_string_append_c(out, '"');
}

static bool parse_number(const char *text, uint64_t max, uint64_t *value)
{
    bool hex = g_str_has_prefix(text, "0x");

    return g_ascii_string_to_unsigned(hex ? text + 2 : text, hex ? 16 : 10,
                                      0, max, value, NULL);
}

/* Node and port, words @at and the next. */
static bool take_port(Command *c, int at)
{
    const IbTopology *t = ib_fabric_topology(c->fabric);
    uint64_t port;
    int64_t node;

    if (c->argc < at + 2) {
        fail(c, "%s needs a node and a port", c->argv[0]);
        return false;
    }
    node = ib_fabric_find(c->fabric, c->argv[at]);
    if (node < 0) {
        fail(c, "no node %s", c->argv[at]);
        return false;
    }
    if (!parse_number(c->argv[at + 1], 254, &port) || port < 1 ||
        port > t->nodes[node].num_ports) {
        fail(c, "port must be 1..%u, not %s", t->nodes[node].num_ports,
             c->argv[at + 1]);
        return false;
    }
    c->node = node;
    c->port = port;
    return true;
}

/* -------------------------------------------------------- to be looked at */

static void put_node(Command *c, uint32_t index)
{
    static const char *const types[] = {
        [IB_NODE_TYPE_CA] = "ca", [IB_NODE_TYPE_SWITCH] = "switch",
        [IB_NODE_TYPE_ROUTER] = "router",
    };
    const IbTopologyNode *n = &ib_fabric_topology(c->fabric)->nodes[index];
    IbNode *node = ib_fabric_node(c->fabric, index);
    bool is_switch = n->type == IB_NODE_TYPE_SWITCH;
    unsigned first = is_switch ? 0 : 1;
    unsigned last = is_switch ? 0 : n->num_ports;
    unsigned p;

    g_string_append(c->out, "{\"node\": ");
    ib_fabric_json_string(c->out, n->id);
    g_string_append(c->out, ", \"description\": ");
    ib_fabric_json_string(c->out, n->description);
    g_string_append_printf(c->out, ", \"type\": \"%s\", \"ports\": %u, "
                           "\"guid\": \"0x%016" G_GINT64_MODIFIER "x\", "
                           "\"here\": %s, \"lids\": [",
                           types[n->type], n->num_ports,
                           n->node_guid, node ? "true" : "false");
    for (p = first; p <= last && node; p++) {
        g_string_append_printf(c->out, "%s%u", p > first ? ", " : "",
                               ib_node_lid(node, p));
    }
    g_string_append(c->out, "]}");
}

static void cmd_nodes(Command *c)
{
    uint32_t i;

    g_string_append(c->out, "{\"nodes\": [");
    for (i = 0; i < ib_fabric_topology(c->fabric)->num_nodes; i++) {
        g_string_append(c->out, i ? ", " : "");
        put_node(c, i);
    }
    g_string_append(c->out, "]}");
}

static const char *state_name(uint8_t state)
{
    static const char *const names[] = {
        [IB_PORT_DOWN] = "down", [IB_PORT_INIT] = "init",
        [IB_PORT_ARMED] = "armed", [IB_PORT_ACTIVE] = "active",
    };

    return state < G_N_ELEMENTS(names) && names[state] ? names[state] : "?";
}

static void put_link(Command *c, uint32_t index, uint8_t port)
{
    const IbTopology *t = ib_fabric_topology(c->fabric);
    const IbTopologyPort *p = &t->nodes[index].ports[port];
    IbLink *a = ib_fabric_link(c->fabric, index, port);
    IbLink *b = ib_fabric_link(c->fabric, p->peer, p->peer_port);
    const IbLinkCounters *ca, *cb;

    /* The end that is here, where a VM has the place of the other one. */
    if (!ib_fabric_node(c->fabric, index)) {
        IbLink *other = a;

        a = b;
        b = other;
    }
    g_string_append(c->out, "{\"a\": ");
    ib_fabric_json_string(c->out, t->nodes[index].id);
    g_string_append_printf(c->out, ", \"a-port\": %u, \"b\": ", port);
    ib_fabric_json_string(c->out, t->nodes[p->peer].id);
    ca = ib_link_counters(a);
    cb = ib_link_counters(b);
    g_string_append_printf(c->out, ", \"b-port\": %u, \"plugged\": %s, "
                           "\"state\": \"%s\", \"width\": %u, "
                           "\"gbps\": %.1f, \"xmit-data\": "
                           "%" G_GUINT64_FORMAT ", \"rcv-data\": "
                           "%" G_GUINT64_FORMAT ", \"errors\": "
                           "%" G_GUINT64_FORMAT "}", p->peer_port,
                           ib_fabric_cable_plugged(c->fabric, index, port)
                           ? "true" : "false", state_name(ib_link_state(a)),
                           ib_link_lanes(ib_link_width_active(a)),
                           ib_link_rate(ib_link_width_active(a),
                                        ib_link_speed_active(a)) / 125e6,
                           ca->xmit_data, ca->rcv_data,
                           ca->symbol_errors + ca->rcv_errors +
                           ca->link_downed + cb->symbol_errors +
                           cb->rcv_errors + cb->link_downed);
}

/* All cables, each once. */
static void cmd_links(Command *c)
{
    const IbTopology *t = ib_fabric_topology(c->fabric);
    const char *comma = "";
    uint32_t i;
    unsigned p;

    g_string_append(c->out, "{\"links\": [");
    for (i = 0; i < t->num_nodes; i++) {
        for (p = 1; p <= t->nodes[i].num_ports; p++) {
            const IbTopologyPort *port = &t->nodes[i].ports[p];

            if (port->cabled && (port->peer > i || (port->peer == i &&
                                                    port->peer_port > p))) {
                g_string_append(c->out, comma);
                put_link(c, i, p);
                comma = ", ";
            }
        }
    }
    g_string_append(c->out, "]}");
}

static void cmd_status(Command *c)
{
    const IbTopology *t = ib_fabric_topology(c->fabric);
    unsigned switches = 0, away = 0, up = 0, active = 0, p;
    uint32_t i;

    for (i = 0; i < t->num_nodes; i++) {
        switches += t->nodes[i].type == IB_NODE_TYPE_SWITCH;
        away += !ib_fabric_node(c->fabric, i);
        for (p = 1; p <= t->nodes[i].num_ports; p++) {
            const IbTopologyPort *port = &t->nodes[i].ports[p];
            unsigned state = ib_link_state(ib_fabric_link(c->fabric, i, p));
            unsigned ends;

            if (port->cabled) {
                /* Of a cable out of the fabric one end is here. */
                ends = ib_fabric_node(c->fabric, port->peer) ? 1 : 2;
                up += state > IB_PORT_DOWN ? ends : 0;
                active += state == IB_PORT_ACTIVE ? ends : 0;
            }
        }
    }
    g_string_append_printf(c->out, "{\"nodes\": %u, \"switches\": %u, "
                           "\"away\": %u, \"cables\": %u, \"up\": %u, "
                           "\"active\": %u}", t->num_nodes, switches, away,
                           t->num_cables, up / 2, active / 2);
}

static void cmd_counters(Command *c)
{
    static const struct {
        const char *name;
        size_t offset;
    } counters[] = {
#define COUNTER(name, member) { name, offsetof(IbLinkCounters, member) }
        COUNTER("xmit-data", xmit_data),
        COUNTER("rcv-data", rcv_data),
        COUNTER("xmit-pkts", xmit_pkts),
        COUNTER("rcv-pkts", rcv_pkts),
        COUNTER("symbol-errors", symbol_errors),
        COUNTER("link-downed", link_downed),
        COUNTER("rcv-errors", rcv_errors),
        COUNTER("rcv-switch-relay-errors", rcv_switch_relay_errors),
        COUNTER("xmit-discards", xmit_discards),
        COUNTER("xmit-wait", xmit_wait),
        COUNTER("vl15-dropped", vl15_dropped),
#undef COUNTER
    };
    const IbLinkCounters *values;
    unsigned i;

    if (!take_port(c, 1)) {
        return;
    }
    values = ib_link_counters(ib_fabric_link(c->fabric, c->node, c->port));
    for (i = 0; i < G_N_ELEMENTS(counters); i++) {
        g_string_append_printf(c->out, "%s\"%s\": %" G_GUINT64_FORMAT,
                               i ? ", " : "{", counters[i].name,
                               *(const uint64_t *)((const char *)values +
                                                   counters[i].offset));
    }
    g_string_append(c->out, "}");
}

/* --------------------------------------------------------- to be changed */

static void cmd_link(Command *c)
{
    bool up = c->argc > 1 && !strcmp(c->argv[1], "up");
    bool down = c->argc > 1 && !strcmp(c->argv[1], "down");

    if (!take_port(c, up || down ? 2 : 1)) {
        return;
    }
    if (!ib_fabric_topology(c->fabric)->nodes[c->node].ports[c->port]
        .cabled) {
        fail(c, "there is no cable in port %u of %s", c->port,
             c->argv[up || down ? 2 : 1]);
        return;
    }
    if (up || down) {
        ib_fabric_cable_set(c->fabric, c->node, c->port, up);
        ib_fabric_run(c->fabric);
    }
    put_link(c, c->node, c->port);
}

static bool set_error(Command *c, IbLinkInject *inject, const char *word)
{
    static const struct {
        const char *name;
        size_t offset;
        uint64_t max;
    } keys[] = {
        { "drop=", offsetof(IbLinkInject, drop), 1000000 },
        { "corrupt=", offsetof(IbLinkInject, corrupt), 1000000 },
        { "delay=", offsetof(IbLinkInject, delay), 1000000 },
        { "delay-us=", offsetof(IbLinkInject, delay_us), 1000000 },
        { "duplicate=", offsetof(IbLinkInject, duplicate), 1000000 },
        { "seed=", offsetof(IbLinkInject, seed), UINT32_MAX },
    };
    uint64_t value;
    unsigned i;

    if (g_str_has_prefix(word, "vls=")) {
        if (!parse_number(word + 4, 0xffff, &value)) {
            fail(c, "vls must be 0..0xffff, not %s", word + 4);
            return false;
        }
        inject->vls = value;
        return true;
    }
    for (i = 0; i < G_N_ELEMENTS(keys); i++) {
        if (g_str_has_prefix(word, keys[i].name)) {
            word += strlen(keys[i].name);
            if (!parse_number(word, keys[i].max, &value)) {
                fail(c, "%s must be 0..%" G_GUINT64_FORMAT ", not %s",
                     keys[i].name, keys[i].max, word);
                return false;
            }
            *(uint32_t *)((char *)inject + keys[i].offset) = value;
            return true;
        }
    }
    fail(c, "%s is none of drop= corrupt= delay= delay-us= duplicate= vls= "
         "seed=", word);
    return false;
}

/* Without a word: none any more. */
static void cmd_error(Command *c)
{
    IbLinkInject inject = { .vls = 0xffff };
    int i;

    if (!take_port(c, 1)) {
        return;
    }
    for (i = 3; i < c->argc; i++) {
        if (!set_error(c, &inject, c->argv[i])) {
            return;
        }
    }
    ib_fabric_set_inject(c->fabric, c->node, c->port, &inject);
    g_string_append_printf(c->out, "{\"drop\": %u, \"corrupt\": %u, "
                           "\"delay\": %u, \"delay-us\": %u, "
                           "\"duplicate\": %u, \"vls\": %u}",
                           inject.drop, inject.corrupt, inject.delay,
                           inject.delay_us, inject.duplicate, inject.vls);
}

static void cmd_capture(Command *c)
{
    g_autofree char *why = NULL;
    const char *path = c->argc > 3 ? c->argv[3] : NULL;

    if (!take_port(c, 1)) {
        return;
    }
    if (!ib_fabric_capture(c->fabric, c->node, c->port, path, &why)) {
        fail(c, "cannot write %s: %s", path, why);
        return;
    }
    g_string_append_printf(c->out, "{\"capture\": %s}",
                           path ? "true" : "false");
}

static void cmd_help(Command *c);

static const struct {
    const char *name;
    void (*run)(Command *c);
    int max_args;
} commands[] = {
    { "capture", cmd_capture, 3 },
    { "counters", cmd_counters, 2 },
    { "error", cmd_error, 8 },
    { "help", cmd_help, 0 },
    { "link", cmd_link, 3 },
    { "links", cmd_links, 0 },
    { "nodes", cmd_nodes, 0 },
    { "status", cmd_status, 0 },
};

static void cmd_help(Command *c)
{
    unsigned i;

    g_string_append(c->out, "{\"commands\": [\"clients\"");
    for (i = 0; i < G_N_ELEMENTS(commands); i++) {
        g_string_append_printf(c->out, ", \"%s\"", commands[i].name);
    }
    g_string_append(c->out, "]}");
}

static void run_command(Command *c)
{
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(commands); i++) {
        if (!strcmp(commands[i].name, c->argv[0])) {
            if (c->argc - 1 > commands[i].max_args) {
                fail(c, "%s takes at most %d words", c->argv[0],
                     commands[i].max_args);
            } else {
                commands[i].run(c);
            }
            return;
        }
    }
    fail(c, "no command %s; try help", c->argv[0]);
}

char *ib_fabric_command(IbFabric *fabric, const char *line)
{
    Command c = { .fabric = fabric, .out = g_string_new(NULL) };
    g_autoptr(GError) error = NULL;

    if (g_shell_parse_argv(line, &c.argc, &c.argv, &error)) {
        run_command(&c);
        g_strfreev(c.argv);
    } else {
        fail(&c, "%s", error->message);
    }
    g_string_append_c(c.out, '\n');
    return g_string_free(c.out, FALSE);
}
