/*
 * The switch alone: packets a second from a frame in memory to a frame in
 * memory, and what a switch and a port of it take of memory
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A host fills frames, the switch takes each and gives one, other hosts
 * consume it.  Only the switch's part is timed: the receiving link, the
 * forwarding engine and the sending links.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "../unit/ib-fabric.h"

#define RUNS     9
#define RUN_NS   INT64_C(100000000)
#define BURST    60             /* packets a round: a host queues 64 */
#define MLID     0xc000
#define ROUND_UP_64(n) (((n) + 63) & ~63u)

/* Frames on their way out of one end. */
typedef struct Wire {
    FabricEnd *to;
    unsigned n;
    size_t len[8];
    uint8_t data[8][65600];
} Wire;

/* What goes through the switch. */
typedef struct Case {
    const char *name;
    const char *unit;
    uint16_t packet_len;        /* LRH to ICRC */
    uint8_t vls;                /* in use */
    uint16_t dlid, dlids;       /* the first, and how many in turn */
    uint8_t hosts;
} Case;

static uint64_t sunk;

static int64_t clock_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void take_frame(FabricEnd *end, const uint8_t *data, size_t len)
{
    Wire *w = end->opaque;

    if (w->n < G_N_ELEMENTS(w->len) && len <= sizeof(w->data[0])) {
        memcpy(w->data[w->n], data, len);
        w->len[w->n++] = len;
    }
}

static void sink(FabricHost *host, const IbPacket *packet)
{
    sunk++;
}

static void deliver(Wire *w)
{
    unsigned i;

    for (i = 0; i < w->n; i++) {
        ib_link_receive_frame(w->to->link, w->data[i], w->len[i]);
    }
    w->n = 0;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static Wire *tap_wire(FabricEnd *end)
{
    Wire *w = g_new0(Wire, 1);

    w->to = end->peer;
    end->opaque = w;
    end->send = take_frame;
    return w;
}

/* Packets a second, out of the switch, of one run. */
static double run(FabricStar *s, const Case *c, Wire **from_host,
                  Wire **from_switch)
{
    IbLink *sender = s->host[0]->end.link;
    uint8_t packet[FABRIC_PACKET_MAX];
    FabricUd ud = { .slid = 1, .dlid = c->dlid, .dest_qpn = 9 };
    int64_t busy = 0, start;
    uint64_t before = sunk;
    unsigned i, n = 0;

    ud.payload_len = c->packet_len -
                     ib_packet_bytes(false, IB_OP_UD_SEND_ONLY, 0);
    while (busy < RUN_NS) {
        IbPacket p = { .data = packet };

        p.len = fabric_build(packet, &ud);
        for (i = 0; i < BURST; i++, n++) {
            unsigned vl = n % c->vls;

            if (ib_link_tx_queued(sender, vl)) {
                continue;
            }
            ib_field_set(packet, IB_LRH_SL, vl);
            /* A step that is prime to any size: no order in the table. */
            ib_field_set(packet, IB_LRH_DLID,
                         c->dlid + n * 7919u % c->dlids);
            p.buf = NULL;
            ib_link_transmit(sender, &p, vl);
        }
        ib_link_flush(sender);
        start = clock_ns();
        deliver(from_host[0]);
        busy += clock_ns() - start;
        for (i = 1; i < c->hosts; i++) {
            deliver(from_switch[i]);
        }
        for (i = 1; i < c->hosts; i++) {
            deliver(from_host[i]);
        }
        deliver(from_switch[0]);
    }
    return (sunk - before) / (busy / 1e9);
}

/* All that the case wants, through host 0 and SMPs. */
static void set_tables(FabricStar *s, const Case *c)
{
    unsigned top = c->dlid + c->dlids - 1;
    g_autofree uint8_t *lft = NULL;
    uint64_t ports = 0;
    unsigned i;

    if (c->dlid >= MLID) {
        for (i = 1; i <= c->hosts; i++) {
            ports |= UINT64_C(1) << i;
        }
        fabric_set_mft(s->host[0], &s->route, MLID, ports);
    } else if (top >= 64) {
        lft = g_malloc(ROUND_UP_64(top + 1));
        memset(lft, 2, ROUND_UP_64(top + 1));
        memcpy(lft, s->lft, 64);
        fabric_set_lft(s->host[0], &s->route, lft, ROUND_UP_64(top + 1));
        fabric_set_switch_info(s->host[0], &s->route, top, 255, 255, 0);
    }
}

static void bench(const Case *c)
{
    Wire *from_host[FABRIC_STAR_HOSTS], *from_switch[FABRIC_STAR_HOSTS];
    Fabric *scratch = fabric_new();
    IbSwitchConfig config = fabric_switch_config(scratch, c->hosts);
    double value[RUNS];
    FabricStar s;
    unsigned i;

    config.link.vl_cap = c->vls == 1 ? 1 : c->vls == 8 ? 8 : 15;
    config.linear_fdb_cap = 49152;
    fabric_star_init(&s, c->hosts, &config);
    set_tables(&s, c);
    for (i = 0; i < c->hosts; i++) {
        s.host[i]->receive = sink;
        from_host[i] = tap_wire(&s.host[i]->end);
        from_switch[i] = tap_wire(&s.sw->ends[i + 1]);
    }
    for (i = 0; i < RUNS; i++) {
        value[i] = run(&s, c, from_host, from_switch);
    }
    qsort(value, RUNS, sizeof(value[0]), compare);
    printf("%s\t%.0f\t%s\n", c->name, value[RUNS / 2], c->unit);
    if (c->vls == 1 && c->dlid == 2) {
        printf("%s-bytes\t%.0f\tMB/s\n", c->name,
               value[RUNS / 2] * c->packet_len / 1e6);
    }
    fflush(stdout);
    fabric_star_clear(&s);
    fabric_free(scratch);
    for (i = 0; i < c->hosts; i++) {
        g_free(from_host[i]);
        g_free(from_switch[i]);
    }
}

static size_t in_use(void)
{
    struct mallinfo2 m = mallinfo2();

    return m.uordblks + m.hblkhd;
}

/* What a switch of @ports takes, with or without cables in them. */
static size_t memory(unsigned ports, bool cables)
{
    Fabric *f = fabric_new();
    IbSwitchConfig config = fabric_switch_config(f, ports);
    size_t before = in_use(), bytes;
    FabricSwitch *sw = fabric_add_switch(f, &config);
    unsigned i;

    for (i = 1; cables && i <= ports; i++) {
        ib_link_cable_attach(sw->ends[i].link);
    }
    bytes = in_use() - before;
    fabric_free(f);
    return bytes;
}

static void bench_memory(void)
{
    size_t one = memory(1, false), many = memory(201, false);
    size_t port = (many - one) / 200;

    printf("switch-memory\t%zu\tbytes\n", one - port);
    printf("switch-memory-port\t%zu\tbytes\n", port);
    printf("switch-memory-port-cable\t%zu\tbytes\n",
           (memory(201, true) - many) / 201);
}

int main(void)
{
    static const Case cases[] = {
        { "switch-core-256", "packets/s", 256, 1, 2, 1, 2 },
        { "switch-core-4096", "packets/s", 4096, 1, 2, 1, 2 },
        { "switch-core-256-8vl", "packets/s", 256, 8, 2, 1, 2 },
        { "switch-core-256-15vl", "packets/s", 256, 15, 2, 1, 2 },
        { "switch-core-256-lft-1k", "packets/s", 256, 1, 64, 1024, 2 },
        { "switch-core-256-lft-8k", "packets/s", 256, 1, 64, 8192, 2 },
        { "switch-core-256-lft-48k", "packets/s", 256, 1, 64, 49088, 2 },
        { "switch-core-256-mcast-1", "copies/s", 256, 1, MLID, 1, 2 },
        { "switch-core-256-mcast-8", "copies/s", 256, 1, MLID, 1, 9 },
        { "switch-core-256-mcast-36", "copies/s", 256, 1, MLID, 1, 37 },
    };
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(cases); i++) {
        bench(&cases[i]);
    }
    bench_memory();
    return 0;
}
