/*
 * FECN: which packets a long queue marks
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ib-fabric.h"

/* 200 bytes and headers: LRH, BTH, DETH, ICRC, VCRC: 234 of 4 blocks' 256 */
#define BLOCKS  4
#define RUN     60
#define FECN    0x80              /* of the BTH's byte 4 */

/* SwitchCongestionSetting at the switch of @s, through QP1 */
static void set_marking(FabricStar *s, uint8_t threshold, uint8_t packet_size,
                        uint16_t rate, uint32_t victims)
{
    uint8_t mad[256];
    const FabricPacket *answer;

    ib_mad_init(mad, 0x21, 2, IB_METHOD_SET, 1, 0x14, 0);
    mad[67] = 0x15;               /* Victim_Mask, Threshold, Marking_Rate */
    ib_put_be32(mad + 68 + 28, victims);
    mad[132] = threshold << 4;
    mad[133] = packet_size;
    mad[138] = rate >> 8;
    mad[139] = rate;
    fabric_forget(s->host[0]);
    fabric_send(s->host[0], &(FabricUd) {
        .slid = 1, .dlid = FABRIC_SWITCH_LID, .dest_qpn = 1, .src_qpn = 1,
        .qkey = 0x80010000, .payload = mad, .payload_len = 256 });
    fabric_run(s->fabric, FABRIC_MS);
    answer = fabric_packet(s->host[0], 0);
    g_assert_nonnull(answer);
    g_assert_cmphex(answer->data[28 + 3], ==, 0x81);
    g_assert_cmphex(answer->data[28 + 4] << 8 | answer->data[28 + 5], ==, 0);
    fabric_forget(s->host[0]);
}

static uint64_t run_of(FabricStar *s, unsigned n, uint16_t dlid,
                       size_t payload)
{
    uint64_t marked = 0;
    unsigned i;

    fabric_stop(&s->sw->ends[2], true);
    for (i = 0; i < n; i++) {
        fabric_send(s->host[0], &(FabricUd) {
            .slid = 1, .dlid = dlid, .dest_qpn = 9, .src_qpn = 7, .sl = 2,
            .payload_len = payload });
        fabric_settle(s->fabric);
    }
    fabric_stop(&s->sw->ends[2], false);
    fabric_run(s->fabric, 10 * FABRIC_MS);
    g_assert_cmpuint(fabric_star_received(s, 1), ==, n);
    for (i = 0; i < n; i++) {
        const FabricPacket *p = fabric_packet(s->host[1], i);

        marked |= (uint64_t)!!(p->data[8 + 4] & FECN) << i;
        /* FECN changes no CRC that goes from end to end. */
        g_assert_cmphex(ib_get_be32(p->data + p->len - 4), ==,
                        ib_icrc(p->data, p->len - 4));
    }
    fabric_forget(s->host[1]);
    return marked;
}

/* Bits @first to @n - 1 */
static uint64_t from(unsigned first, unsigned n)
{
    return ((UINT64_C(1) << n) - 1) & ~((UINT64_C(1) << first) - 1);
}

static void init(FabricStar *s)
{
    Fabric *f = fabric_new();
    IbSwitchConfig config = fabric_switch_config(f, 4);

    fabric_free(f);
    config.link.rx_buffer = 16384;              /* 256 blocks */
    config.link.max_frame = 8192;               /* some 30 packets */
    fabric_star_init(s, 3, &config);
}

/*
 * How many leave before the cable says that it takes no more is its own
 * business; from there on each takes BLOCKS of the queue.
 */
static unsigned first_queued(FabricStar *s)
{
    unsigned i = 0;

    fabric_stop(&s->sw->ends[2], true);
    while (!ib_link_tx_queued(s->sw->ends[2].link, 2) && i < 64) {
        fabric_send(s->host[0], &(FabricUd) {
            .slid = 1, .dlid = 2, .dest_qpn = 9, .src_qpn = 7, .sl = 2,
            .payload_len = 200 });
        fabric_settle(s->fabric);
        i++;
    }
    fabric_stop(&s->sw->ends[2], false);
    fabric_run(s->fabric, 10 * FABRIC_MS);
    fabric_forget(s->host[1]);
    return i - 1;
}

static void test_threshold(void)
{
    FabricStar s;
    unsigned first;

    init(&s);
    first = first_queued(&s);
    g_assert_cmpuint(first, <, RUN - 20);
    g_assert_cmphex(run_of(&s, RUN, 2, 200), ==, 0);     /* 0: never */
    set_marking(&s, 15, 0, 0, 0);                       /* 16 blocks */
    g_assert_cmphex(run_of(&s, RUN, 2, 200), ==, from(first + 4, RUN));
    set_marking(&s, 12, 0, 0, 0);                       /* 64 blocks */
    g_assert_cmphex(run_of(&s, RUN, 2, 200), ==, from(first + 16, RUN));
    set_marking(&s, 0, 0, 0, 0);
    g_assert_cmphex(run_of(&s, RUN, 2, 200), ==, 0);
    fabric_star_clear(&s);
}

static void test_packet_size(void)
{
    FabricStar s;

    init(&s);
    set_marking(&s, 15, BLOCKS + 1, 0, 0);
    g_assert_cmphex(run_of(&s, RUN, 2, 200), ==, 0);
    set_marking(&s, 15, BLOCKS, 0, 0);
    g_assert_cmphex(run_of(&s, RUN, 2, 200), !=, 0);
    fabric_star_clear(&s);
}

/* Marking_Rate packets between two marks */
static void test_rate(void)
{
    FabricStar s;
    uint64_t marked, all;

    init(&s);
    set_marking(&s, 15, 0, 0, 0);
    all = run_of(&s, RUN, 2, 200);
    g_assert_cmpuint(__builtin_popcountll(all), >, 10);
    set_marking(&s, 15, 0, 2, 0);
    marked = run_of(&s, RUN, 2, 200);
    g_assert_cmphex(marked & ~all, ==, 0);
    g_assert_cmpuint(__builtin_popcountll(marked), ==,
                     (__builtin_popcountll(all) + 2) / 3);
    g_assert_cmphex(marked & (marked >> 1 | marked >> 2), ==, 0);
    fabric_star_clear(&s);
}

/* Each exit port of a multicast packet for itself, in one buffer */
static void test_multicast(void)
{
    FabricStar s;
    unsigned i;

    init(&s);
    fabric_set_mft(s.host[0], &s.route, 0xc000, 1 << 2 | 1 << 3);
    set_marking(&s, 15, 0, 0, 0);
    g_assert_cmphex(run_of(&s, RUN, 0xc000, 200), !=, 0);
    g_assert_cmpuint(fabric_star_received(&s, 2), ==, RUN);
    for (i = 0; i < RUN; i++) {
        g_assert_cmphex(fabric_packet(s.host[2], i)->data[8 + 4] & FECN, ==,
                        0);
    }
    fabric_star_clear(&s);
}

/* A port without credits is a victim, and marks only if it is told to. */
static void test_victim(void)
{
    FabricStar s;
    unsigned pass, i, marked;

    for (pass = 0; pass < 2; pass++) {
        init(&s);
        set_marking(&s, 15, 0, 0, pass ? 1 << 2 : 0);
        s.host[1]->slow_ns = FABRIC_MS;
        for (i = 0; i < 400; i++) {
            fabric_send(s.host[0], &(FabricUd) {
                .slid = 1, .dlid = 2, .dest_qpn = 9, .src_qpn = 7,
                .payload_len = 2000 });
            fabric_settle(s.fabric);
            while (ib_link_tx_queued(s.host[0]->end.link, 0) > 50) {
                fabric_run(s.fabric, FABRIC_MS);
            }
        }
        fabric_run(s.fabric, 2000 * FABRIC_MS);
        g_assert_cmpuint(fabric_star_received(&s, 1), ==, 400);
        for (marked = i = 0; i < 400; i++) {
            marked += !!(fabric_packet(s.host[1], i)->data[8 + 4] & FECN);
        }
        g_test_message("%u of 400 marked", marked);
        if (pass) {
            g_assert_cmpuint(marked, >, 200);
        } else {
            g_assert_cmpuint(marked, <, 40);
        }
        fabric_star_clear(&s);
    }
}

static void test_saved(void)
{
    FabricStar s;
    GByteArray *state = g_byte_array_new();
    uint64_t marked;

    init(&s);
    set_marking(&s, 15, 0, 0, 0);
    marked = run_of(&s, RUN, 2, 200);
    g_assert_cmphex(marked, !=, 0);
    ib_switch_save(s.sw->sw, state);
    g_assert_true(fabric_replace_switch(s.sw, state->data, state->len));
    g_assert_cmphex(run_of(&s, RUN, 2, 200), ==, marked);
    g_byte_array_unref(state);
    fabric_star_clear(&s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/switch/congestion/threshold", test_threshold);
    g_test_add_func("/switch/congestion/packet-size", test_packet_size);
    g_test_add_func("/switch/congestion/rate", test_rate);
    g_test_add_func("/switch/congestion/multicast", test_multicast);
    g_test_add_func("/switch/congestion/victim", test_victim);
    g_test_add_func("/switch/congestion/saved", test_saved);
    return g_test_run();
}
