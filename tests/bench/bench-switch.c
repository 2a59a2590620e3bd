/*
 * The switch alone: packets a second from a frame in memory to a frame in
 * memory
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A host fills frames, the switch takes each and gives one, another host
 * consumes it.  Only the switch's part is timed: the receiving link, the
 * forwarding engine and the sending link.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "../unit/ib-fabric.h"

#define RUNS     9
#define RUN_NS   INT64_C(150000000)

/* Frames on their way out of one end. */
typedef struct Wire {
    unsigned n;
    size_t len[64];
    uint8_t data[64][65600];
} Wire;

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

static void deliver(Wire *w, FabricEnd *to)
{
    unsigned i;

    for (i = 0; i < w->n; i++) {
        ib_link_receive_frame(to->link, w->data[i], w->len[i]);
    }
    w->n = 0;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Packets a second of one run; @packet is for host 1. */
static double run(FabricStar *s, Wire *wire, const uint8_t *packet,
                  size_t len)
{
    int64_t busy = 0, start;
    uint64_t before = sunk;
    unsigned i;

    while (busy < RUN_NS) {
        IbPacket p = { .data = packet, .len = len };

        for (i = 0; i < 60; i++) {
            if (ib_link_tx_queued(s->host[0]->end.link, 0)) {
                break;
            }
            ib_link_transmit(s->host[0]->end.link, &p, 0);
        }
        ib_link_flush(s->host[0]->end.link);
        start = clock_ns();
        deliver(&wire[0], &s->sw->ends[1]);
        busy += clock_ns() - start;
        deliver(&wire[1], &s->host[1]->end);
        deliver(&wire[2], &s->sw->ends[2]);
        deliver(&wire[3], &s->host[0]->end);
    }
    return (sunk - before) / (busy / 1e9);
}

static void bench(const char *name, size_t packet_len)
{
    static Wire wire[4];
    FabricStar s;
    FabricEnd *ends[4];
    FabricUd ud = { .slid = 1, .dlid = 2, .dest_qpn = 9 };
    uint8_t packet[FABRIC_PACKET_MAX];
    double value[RUNS];
    size_t len;
    unsigned i;

    fabric_star_init(&s, 2, NULL);
    s.host[1]->receive = sink;
    ends[0] = &s.host[0]->end;
    ends[1] = &s.sw->ends[2];
    ends[2] = &s.host[1]->end;
    ends[3] = &s.sw->ends[1];
    for (i = 0; i < 4; i++) {
        wire[i].n = 0;
        ends[i]->opaque = &wire[i];
        ends[i]->send = take_frame;
    }
    ud.payload_len = packet_len - ib_packet_bytes(false, IB_OP_UD_SEND_ONLY,
                                                  0);
    len = fabric_build(packet, &ud);
    for (i = 0; i < RUNS; i++) {
        value[i] = run(&s, wire, packet, len);
    }
    qsort(value, RUNS, sizeof(value[0]), compare);
    printf("%s\t%.0f\tpackets/s\n", name, value[RUNS / 2]);
    printf("%s-bytes\t%.0f\tMB/s\n", name, value[RUNS / 2] * len / 1e6);
    fabric_star_clear(&s);
}

int main(void)
{
    bench("switch-core-256", 256);
    bench("switch-core-4096", 4096);
    return 0;
}
