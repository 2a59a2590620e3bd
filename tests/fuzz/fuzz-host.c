/*
 * Fuzzer: what programs of the host say to a fabric
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is a list of steps, each a byte of kind and of whom, a byte of
 * length and as many bytes: programs that come and go, control datagrams and
 * MADs of theirs, text on the control socket in any pieces, time.  What a
 * client can make the server keep has its bounds.  Two programs are there at
 * the start, of which one is tools/umad.
 *
 * The working directory is a folder that is emptied again: captures go there.
 * So libFuzzer's own paths must be absolute.
 */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "../../hw/infiniband/fabric/host-int.h"

#define CLIENTS      4
#define CONNECTIONS  2
#define MS           INT64_C(1000000)
#define MINUTE       (60000 * MS)

enum {
    STEP_CONNECT,                 /* data: the node's name */
    STEP_CONTROL,                 /* of a client, from its type on */
    STEP_RAW_CONTROL,
    STEP_MAD,                     /* well-formed as far as its header */
    STEP_RAW_MAD,
    STEP_LINE,
    STEP_TIME,
    STEP_READ,
    STEP_GO,                      /* without a word */
    STEP_KINDS
};

static const char topology_text[] =
    "vendid=0x2c9\nSwitch 3 \"s\"\n[1] \"a\"[1]\n[2] \"t\"[2]\n\n"
    "Switch 3 \"t\"\n[1] \"b\"[1]\n[3] \"b\"[2]\n\n"
    "Ca 1 \"a\"\n\nvendid=0x2c9\nCa 2 \"b\"\n";

typedef struct Client {
    int fd;                       /* -1: not there */
    uint32_t number;              /* what the server gave it */
} Client;

typedef struct World {
    int64_t now;
    IbFabric *fabric;
    IbFabricHost *host;
    int ctl;
    Client clients[CLIENTS];
    int lines[CONNECTIONS];       /* -1: not there */
} World;

static char folder[] = "/tmp/fuzz-host-XXXXXX";
static char name[IB_FABRIC_NAME_MAX];
static IbTopology *topology;

static int64_t fuzz_now(void *opaque)
{
    return ((World *)opaque)->now;
}

static uint32_t fuzz_random(void *opaque)
{
    static uint32_t state = 1;

    return state = state * 1664525 + 1013904223;
}

static const IbFabricOps fuzz_ops = { .now = fuzz_now, .random = fuzz_random };

/* ------------------------------------------------------------ sockets */

static int make_socket(const char *own, const char *peer)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    struct sockaddr_un un;
    socklen_t len = ib_host_address(&un, "%s:%s", name, own);

    g_assert(fd >= 0 && bind(fd, (struct sockaddr *)&un, len) == 0);
    if (peer) {
        len = ib_host_address(&un, "%s:%s", name, peer);
        g_assert(connect(fd, (struct sockaddr *)&un, len) == 0);
    }
    return fd;
}

static void drain(int fd)
{
    uint8_t buf[4096];

    while (fd >= 0 && recv(fd, buf, sizeof(buf), 0) > 0) {
        ;
    }
}

static void run(World *w)
{
    unsigned i, clients = 0;

    ib_fabric_host_process(w->host);
    for (i = 0; i < IB_HOST_CLIENTS; i++) {
        const IbHostClient *c = w->host->clients[i];

        if (c) {
            clients++;
            g_assert(g_queue_get_length((GQueue *)&c->queue) <=
                     IB_HOST_QUEUE_MAX);
            g_assert(g_hash_table_size(c->pending) <= 65536);
            g_assert(c->num_methods <= IB_HOST_METHODS);
        }
    }
    g_assert(clients == w->host->num_clients);
    g_assert(w->host->controls->len <= CONNECTIONS);
}

/* The server's answer to a datagram of @len bytes; false: none */
static bool ask(World *w, const void *data, size_t len, IbHostCtl *answer)
{
    send(w->ctl, data, len, 0);
    run(w);
    return recv(w->ctl, answer, sizeof(*answer), 0) == sizeof(*answer);
}

/* ------------------------------------------------------------- clients */

static void client_go(Client *c)
{
    if (c->fd >= 0) {
        close(c->fd);
        c->fd = -1;
    }
}

static void client_come(World *w, unsigned i, const uint8_t *data, size_t len)
{
    IbHostCtl ctl = {
        .magic = IB_HOST_CTL_MAGIC, .client = UINT32_MAX,
        .type = IB_HOST_CTL_CONNECT, .len = sizeof(IbHostConnect),
    };
    IbHostConnect connect = { .id = i };
    g_autofree char *own = g_strdup_printf("in%u", i);
    Client *c = &w->clients[i];

    client_go(c);
    c->fd = make_socket(own, NULL);
    memcpy(connect.node, data, MIN(len, sizeof(connect.node)));
    memcpy(ctl.data, &connect, sizeof(connect));
    if (!ask(w, &ctl, sizeof(ctl), &ctl) ||
        ctl.type != IB_HOST_CTL_CONNECT) {
        client_go(c);
        return;
    }
    memcpy(&connect, ctl.data, sizeof(connect));
    g_assert(connect.id < IB_HOST_CLIENTS);
    c->number = connect.id;
}

static void client_control(World *w, unsigned i, const uint8_t *data,
                           size_t len)
{
    IbHostCtl ctl = {
        .magic = IB_HOST_CTL_MAGIC, .client = w->clients[i].number,
        .type = len ? data[0] : 0, .len = IB_HOST_CTL_BYTES,
    };

    if (len > 1) {
        memcpy(ctl.data, data + 1, MIN(len - 1, sizeof(ctl.data)));
    }
    ask(w, &ctl, sizeof(ctl), &ctl);
}

static void client_send(World *w, unsigned i, const void *data, size_t len)
{
    g_autofree char *peer = g_strdup_printf("out%u", w->clients[i].number);
    struct sockaddr_un un;
    socklen_t un_len = ib_host_address(&un, "%s:%s", name, peer);

    if (w->clients[i].fd >= 0) {
        sendto(w->clients[i].fd, data, len, 0, (struct sockaddr *)&un,
               un_len);
    }
}

/* Bytes: LID, QP, tries; class; method; attribute; then the MAD from 8 on */
static void client_mad(World *w, unsigned i, const uint8_t *data, size_t len)
{
    static const uint8_t classes[] = {
        IB_CLASS_SUBN_DIRECTED_ROUTE, IB_CLASS_SUBN_LID_ROUTED,
        IB_CLASS_SUBN_ADM, IB_CLASS_PERFORMANCE, IB_CLASS_CONGESTION,
        IB_CLASS_VENDOR2_FIRST, IB_CLASS_MLNX_VENDOR, IB_CLASS_COMM_MGMT,
    };
    IbHostRequest r = { .length = GUINT64_TO_BE(IB_MAD_BYTES) };
    unsigned lid;
    uint8_t class;

    if (len < 4) {
        return;
    }
    class = classes[data[1] % G_N_ELEMENTS(classes)];
    lid = data[0] & 0x80 ? IB_LID_PERMISSIVE : data[0] & 7;
    r.dlid = GUINT16_TO_BE(lid);
    r.dqp = r.sqp = GUINT32_TO_BE(class != IB_CLASS_SUBN_LID_ROUTED &&
                                  class != IB_CLASS_SUBN_DIRECTED_ROUTE);
    r.slid = GUINT32_TO_BE((data[0] >> 4 & 3) * 100);
    r.status = GUINT32_TO_BE(data[0] >> 6 & 1);
    ib_field_set(r.mad, IB_MAD_BASE_VERSION, 1);
    ib_field_set(r.mad, IB_MAD_MGMT_CLASS, class);
    ib_field_set(r.mad, IB_MAD_CLASS_VERSION, 1 + (data[1] >> 7));
    ib_field_set(r.mad, IB_MAD_METHOD, data[2]);
    memcpy(r.mad + 8, data + 4, MIN(len - 4, sizeof(r.mad) - 8));
    ib_field_set(r.mad, IB_MAD_ATTRIBUTE_ID, data[3]);
    if (class == IB_CLASS_SUBN_DIRECTED_ROUTE) {
        ib_field_set(r.mad, IB_SMP_HOP_COUNT, 2);
        ib_field_set(r.mad, IB_SMP_DR_SLID, IB_LID_PERMISSIVE);
        ib_field_set(r.mad, IB_SMP_DR_DLID, IB_LID_PERMISSIVE);
    }
    client_send(w, i, &r, sizeof(r));
}

static void say(World *w, unsigned i, const uint8_t *data, size_t len)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "control" };
    char text[UINT8_MAX];
    size_t k;

    if (w->lines[i] < 0) {
        w->lines[i] = socket(AF_UNIX, SOCK_STREAM, 0);
        g_assert(connect(w->lines[i], (struct sockaddr *)&un,
                         sizeof(un)) == 0);
        fcntl(w->lines[i], F_SETFL, O_NONBLOCK);
    }
    /* No way out of the folder, in however many pieces it comes */
    for (k = 0; k < len; k++) {
        text[k] = data[k] == '/' || data[k] == '.' ? '_' : data[k];
    }
    if (!len || send(w->lines[i], text, len, MSG_NOSIGNAL) < 0) {
        close(w->lines[i]);
        w->lines[i] = -1;
    }
}

/* --------------------------------------------------------------- world */

static void step(World *w, unsigned kind, unsigned who, const uint8_t *data,
                 size_t len)
{
    IbHostCtl ctl;

    switch (kind) {
    case STEP_CONNECT:
        client_come(w, who, data, len);
        break;
    case STEP_CONTROL:
        client_control(w, who, data, len);
        break;
    case STEP_RAW_CONTROL:
        ask(w, data, len, &ctl);
        break;
    case STEP_MAD:
        client_mad(w, who, data, len);
        break;
    case STEP_RAW_MAD:
        client_send(w, who, data, len);
        break;
    case STEP_LINE:
        say(w, who % CONNECTIONS, data, len);
        break;
    case STEP_TIME:
        w->now += MIN(len * len * 10 * MS, MINUTE);
        break;
    case STEP_READ:
        drain(w->clients[who].fd);
        drain(w->lines[who % CONNECTIONS]);
        break;
    case STEP_GO:
        client_go(&w->clients[who]);
        break;
    }
    run(w);
}

static void empty_folder(void)
{
    GDir *dir = g_dir_open(".", 0, NULL);
    const char *file;

    while (dir && (file = g_dir_read_name(dir))) {
        g_unlink(file);
    }
    g_clear_pointer(&dir, g_dir_close);
}

static void remove_folder(void)
{
    empty_folder();
    g_rmdir(folder);
    ib_topology_free(topology);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    g_assert(mkdtemp(folder) && chdir(folder) == 0);
    atexit(remove_folder);
    g_snprintf(name, sizeof(name), "fuzz-host-%d", (int)getpid());
    g_assert(g_file_set_contents("net", topology_text, -1, NULL));
    topology = ib_topology_read("net", NULL);
    g_assert(topology);
    return 0;
}

static void world_init(World *w)
{
    const uint8_t own = IB_HOST_CTL_OWN;
    char *why = NULL;
    unsigned i;

    w->now = MINUTE;
    w->fabric = ib_fabric_new(topology, &fuzz_ops, w);
    ib_fabric_run(w->fabric);
    w->host = ib_fabric_host_new(w->fabric, name, "control", &why);
    g_assert(w->host);
    w->ctl = make_socket("ctl-fuzz", "ctl");
    for (i = 0; i < CLIENTS; i++) {
        w->clients[i] = (Client) { -1, i };
    }
    for (i = 0; i < CONNECTIONS; i++) {
        w->lines[i] = -1;
    }
    client_come(w, 0, (const uint8_t *)"a", 1);
    client_control(w, 0, &own, 1);
    client_come(w, 1, (const uint8_t *)"s", 1);
    g_assert(w->host->num_clients == 2);
}

static void world_clear(World *w)
{
    unsigned i;

    ib_fabric_host_free(w->host);
    ib_fabric_free(w->fabric);
    close(w->ctl);
    for (i = 0; i < CLIENTS; i++) {
        client_go(&w->clients[i]);
    }
    for (i = 0; i < CONNECTIONS; i++) {
        if (w->lines[i] >= 0) {
            close(w->lines[i]);
        }
    }
    empty_folder();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    World w;

    world_init(&w);
    while (size >= 2) {
        size_t len = MIN(data[1], size - 2);

        step(&w, data[0] % STEP_KINDS, data[0] / STEP_KINDS % CLIENTS,
             data + 2, len);
        data += 2 + len;
        size -= 2 + len;
    }
    world_clear(&w);
    return 0;
}
