/*
 * VL arbitration (IBA Vol.1 7.6.9): who sends when several VLs wait
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "link-cable.h"

#define BLOCKS_256      5       /* of a packet of 256 + 32 bytes */

/* The order of VLs as they arrive */
static uint8_t order[4096];
static unsigned n_order;

static void note(TestEnd *end, IbPacket *packet)
{
    g_assert_cmpint(n_order, <, sizeof(order));
    order[n_order++] = packet->vl;
}

static unsigned count(unsigned vl, unsigned from, unsigned to)
{
    unsigned i, n = 0;

    for (i = from; i < to; i++) {
        n += order[i] == vl;
    }
    return n;
}

static void set_table(TestEnd *end, bool high, unsigned n,
                      const uint8_t (*rows)[2])
{
    IbVlArbEntry table[64] = { { 0, 0 } };
    unsigned i;

    for (i = 0; i < n; i++) {
        table[i].vl = rows[i][0];
        table[i].weight = rows[i][1];
    }
    ib_link_set_vl_arb(end->link, high, table);
}

/*
 * A cable that is busy, its frame full and 60 packets of 288 bytes waiting on
 * each of @vls: what then arrives, from order[first] on, is what arbitration
 * chose.  Returns first.
 */
static unsigned contend(TestCable *c, uint16_t vls)
{
    TestEnd *a = &c->end[0];
    unsigned vl, i, n, first;

    n_order = 0;
    c->end[1].on_receive = note;
    c->depth = 1;
    test_send(a, IB_VL_MGMT, 288, 0);
    ib_link_flush(a->link);
    g_assert_true(a->told_busy);
    /* Fill the frame; the one that does not fit waits on VL3. */
    while (test_send(a, 3, 288, 0) == IB_TX_SENT) {
        ;
    }
    first = 1 + ib_link_counters(a->link)->xmit_pkts_vl[3];
    for (vl = 0; vl < 16; vl++) {
        if (vls & (1u << vl)) {
            for (i = 0; i < 60; i++) {
                g_assert_cmpint(test_send(a, vl, 288, i), ==, IB_TX_QUEUED);
            }
        }
    }
    test_cable_settle(c);
    /* VL3's own one is not of interest. */
    for (i = n = first; i < n_order; i++) {
        if (order[i] != 3) {
            order[n++] = order[i];
        }
    }
    g_assert_cmpint(n, ==, n_order - 1);
    n_order = n;
    return first;
}

static TestCable *new_contended(void)
{
    IbLinkConfig config = test_config();
    TestCable *c;

    config.rx_buffer = 1024 * 1024;
    config.max_frame = 8192;
    c = test_cable_new_active(&config, NULL);
    test_cable_run(c, 200 * TEST_MS);
    return c;
}

/* Weights share a table's VLs: 1 to 2 to 4, here in packets a round. */
static void test_weights(void)
{
    static const uint8_t low[][2] = {
        { 0, BLOCKS_256 }, { 1, 2 * BLOCKS_256 }, { 2, 4 * BLOCKS_256 },
        { 3, 1 }, { 7, 0 }
    };
    TestCable *c = new_contended();
    unsigned first, i;

    set_table(&c->end[0], false, G_N_ELEMENTS(low), low);
    first = contend(c, 1 << 0 | 1 << 1 | 1 << 2);
    for (i = first; i < first + 70; i += 7) {
        g_assert_cmpint(count(0, i, i + 7), ==, 1);
        g_assert_cmpint(count(1, i, i + 7), ==, 2);
        g_assert_cmpint(count(2, i, i + 7), ==, 4);
    }
    g_assert_cmpint(n_order, ==, first + 3 * 60);
    test_cable_free(c);
}

/* Whoever has weight left may send, even a packet above it. */
static void test_weight_one(void)
{
    static const uint8_t low[][2] = { { 0, 1 }, { 1, 1 }, { 3, 1 } };
    TestCable *c = new_contended();
    unsigned first, i;

    set_table(&c->end[0], false, G_N_ELEMENTS(low), low);
    first = contend(c, 1 << 0 | 1 << 1);
    for (i = first + 2; i < first + 100; i++) {
        g_assert_cmpint(order[i], !=, order[i + 1]);
    }
    test_cable_free(c);
}

/* One VL in two entries gets both weights. */
static void test_twice(void)
{
    static const uint8_t low[][2] = {
        { 0, BLOCKS_256 }, { 1, BLOCKS_256 }, { 0, 2 * BLOCKS_256 }, { 3, 1 }
    };
    TestCable *c = new_contended();
    unsigned first;

    set_table(&c->end[0], false, G_N_ELEMENTS(low), low);
    first = contend(c, 1 << 0 | 1 << 1);
    g_assert_cmpint(count(0, first, first + 40), ==, 30);
    test_cable_free(c);
}

static void test_vl15_first(void)
{
    TestCable *c = new_contended();
    unsigned first, i;

    first = contend(c, 1 << 0 | 1 << 15);
    for (i = first; i < first + 60; i++) {
        g_assert_cmpint(order[i], ==, 15);
    }
    test_cable_free(c);
}

/*
 * VLHighLimit: how much the high-priority table may send before the low one
 * has its turn.  Units of 4096 bytes, 0: one packet, 255: any.
 */
static void test_high_limit(void)
{
    static const struct {
        uint8_t limit;
        unsigned high_per_low;
    } rows[] = {
        { 0, 1 },
        { 1, 13 },      /* 64 blocks: reached with the 13th packet of 5 */
        { 2, 26 },
        { 255, 60 },
    };
    static const uint8_t high[][2] = { { 1, 255 } };
    static const uint8_t low[][2] = { { 0, 255 }, { 3, 1 } };
    unsigned i, j;

    for (i = 0; i < G_N_ELEMENTS(rows); i++) {
        TestCable *c = new_contended();
        unsigned first, run;

        set_table(&c->end[0], true, G_N_ELEMENTS(high), high);
        set_table(&c->end[0], false, G_N_ELEMENTS(low), low);
        ib_link_set_vl_high_limit(c->end[0].link, rows[i].limit);
        g_assert_cmpint(ib_link_vl_high_limit(c->end[0].link), ==,
                        rows[i].limit);
        first = contend(c, 1 << 0 | 1 << 1);
        run = rows[i].high_per_low;
        for (j = 0; j + run < 50; j += run) {
            g_assert_cmpint(count(1, first, first + run), ==, run);
            g_assert_cmpint(order[first + run], !=, 1);
            first += run + 1;
        }
        test_cable_free(c);
    }
}

/* A VL that no table gives a weight cannot send. */
static void test_absent(void)
{
    static const uint8_t low[][2] = { { 0, 10 }, { 2, 0 } };
    IbVlArbEntry table[64];
    TestCable *c = new_contended();
    TestEnd *a = &c->end[0];
    unsigned vl;

    ib_link_get_vl_arb(a->link, false, table);
    for (vl = 0; vl < 4; vl++) {
        g_assert_cmpint(table[vl].vl, ==, vl);
        g_assert_cmpint(table[vl].weight, >, 0);
    }
    g_assert_cmpint(table[4].weight, ==, 0);

    set_table(a, false, G_N_ELEMENTS(low), low);
    g_assert_cmpint(test_send(a, 0, 288, 0), ==, IB_TX_SENT);
    g_assert_cmpint(test_send(a, 1, 288, 0), ==, IB_TX_DISCARDED);
    g_assert_cmpint(test_send(a, 2, 288, 0), ==, IB_TX_DISCARDED);
    g_assert_cmpint(test_send(a, 15, 288, 0), ==, IB_TX_SENT);
    ib_link_get_vl_arb(a->link, false, table);
    g_assert_cmpint(table[0].weight, ==, 10);
    test_cable_free(c);
}

/* What waits on a VL that is closed is discarded, not kept for ever. */
static void test_closed_while_waiting(void)
{
    TestCable *c = test_cable_new_active(NULL, NULL);
    TestEnd *a = &c->end[0];
    unsigned i;

    test_cable_run(c, 200 * TEST_MS);
    for (i = 0; i < 20; i++) {
        test_send(a, 3, 4096, i);
    }
    g_assert_cmpint(ib_link_tx_queued(a->link, 3), ==, 5);
    g_assert_true(ib_link_set_operational_vls(a->link, 2));
    g_assert_cmpint(ib_link_tx_queued(a->link, 3), ==, 0);
    g_assert_cmpint(ib_link_counters(a->link)->xmit_discards, ==, 5);
    g_assert_cmpint(ib_link_operational_vls(a->link), ==, 2);
    g_assert_false(ib_link_set_operational_vls(a->link, 4));
    g_assert_false(ib_link_set_operational_vls(a->link, 0));
    test_cable_free(c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/link/arbiter/weights", test_weights);
    g_test_add_func("/link/arbiter/overrun-of-weight", test_weight_one);
    g_test_add_func("/link/arbiter/vl-twice", test_twice);
    g_test_add_func("/link/arbiter/vl15-first", test_vl15_first);
    g_test_add_func("/link/arbiter/high-limit", test_high_limit);
    g_test_add_func("/link/arbiter/absent-vl", test_absent);
    g_test_add_func("/link/arbiter/closed", test_closed_while_waiting);
    return g_test_run();
}
