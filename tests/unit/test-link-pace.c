/*
 * A port paced to its line: rate, waiting, and VL arbitration under overload
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "link-cable.h"

#define LEN         288         /* 5 blocks */
#define STEP        (TEST_MS / 20)
#define RATE        UINT64_C(100000000)

static uint64_t arrived[IB_VLS];        /* bytes, LRH to VCRC */

static void add_up(TestEnd *end, IbPacket *packet)
{
    arrived[packet->vl] += packet->len + 2;
}

static TestCable *new_paced(uint64_t rate)
{
    IbLinkConfig config = test_config();
    TestCable *c;

    config.rx_buffer = 1024 * 1024;
    config.rate = rate;
    c = test_cable_new_active(&config, NULL);
    test_cable_run(c, 200 * TEST_MS);
    c->end[1].on_receive = add_up;
    memset(arrived, 0, sizeof(arrived));
    return c;
}

/* Keep 60 packets waiting on each VL of @vls for @ns. */
static void overload(TestCable *c, uint16_t vls, uint16_t len, int64_t ns)
{
    TestEnd *a = &c->end[0];
    unsigned vl;

    for (; ns > 0; ns -= STEP) {
        for (vl = 0; vl < IB_VL_MGMT; vl++) {
            while ((vls & (1u << vl)) &&
                   ib_link_tx_queued(a->link, vl) < 60) {
                test_send(a, vl, len, 0);
            }
        }
        ib_link_flush(a->link);
        test_cable_run(c, STEP);
    }
}

static uint64_t total(void)
{
    uint64_t n = 0;
    unsigned vl;

    for (vl = 0; vl < IB_VLS; vl++) {
        n += arrived[vl];
    }
    return n;
}

/* What arrives in 100 ms is what the rate says, whatever the packet. */
static void test_rate(void)
{
    static const struct {
        uint64_t rate;
        uint16_t len;
    } rows[] = {
        { 10000000, 4096 + 32 }, { 100000000, LEN }, { 100000000, 2048 },
        { 999999937, 4096 + 32 },
        { 70000000, 28 },       /* 428.6 ns a packet */
    };
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(rows); i++) {
        TestCable *c = new_paced(rows[i].rate);

        /* The first millisecond was saved up while the line was idle. */
        overload(c, 0xf, rows[i].len, 20 * TEST_MS);
        memset(arrived, 0, sizeof(arrived));
        overload(c, 0xf, rows[i].len, 100 * TEST_MS);
        g_assert_cmpfloat_with_epsilon(total(), rows[i].rate / 10.0,
                                       rows[i].rate / 50000.0 + 4200);
        test_cable_free(c);
    }
}

/* Not paced: all that there are credits for goes at once. */
static void test_off(void)
{
    TestCable *c = new_paced(0);
    unsigned i;

    for (i = 0; i < 200; i++) {
        g_assert_cmpint(test_send(&c->end[0], 0, 4096, i), ==, IB_TX_SENT);
    }
    test_cable_free(c);
}

/* IBA Vol.1 14.2.5.6, LinkWidthActive and LinkSpeedActive: Gb/s less coding */
static void test_link_rates(void)
{
    static const struct {
        uint8_t width;
        uint16_t speed;
        double gbits;
    } rows[] = {
        { 1, 0x01, 2 },          /* 1x SDR */
        { 2, 0x01, 8 },          /* 4x */
        { 2, 0x02, 16 },
        { 2, 0x04, 32 },
        { 4, 0x04, 64 },         /* 8x */
        { 8, 0x04, 96 },         /* 12x */
        { 16, 0x04, 16 },        /* 2x */
        { 2, 0x10, 54.5454545 }, /* FDR */
        { 2, 0x20, 100 },
        { 2, 0x40, 200 },
        { 2, 0x80, 400 },
    };
    IbLinkConfig a = test_config(), b = test_config();
    TestCable *c;
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_assert_cmpfloat_with_epsilon(ib_link_rate(rows[i].width,
                                                    rows[i].speed) * 8 / 1e9,
                                       rows[i].gbits, 0.000001);
    }
    g_assert_cmpint(ib_link_rate(2, 0), ==, 0);
    g_assert_cmpint(ib_link_rate(2, 0x8), ==, 0);
    g_assert_cmpint(ib_link_rate(2, 0x8000), ==, 0);

    /* 4x DDR was agreed on: the peer enables no more. */
    a.rate = IB_RATE_LINK;
    b.speed_supported = 3;
    c = test_cable_new_active(&a, &b);
    c->end[1].on_receive = add_up;
    c->delay = 100;
    overload(c, 0xf, 4096, 5 * TEST_MS);
    memset(arrived, 0, sizeof(arrived));
    overload(c, 0xf, 4096, 10 * TEST_MS);
    g_assert_cmpfloat_with_epsilon(total() / 0.01, 2e9, 2e7);
    test_cable_free(c);
}

/* PortXmitWait is the wait for credits, not for the own line. */
static GPtrArray *held;

static void hold(TestEnd *end, IbPacket *packet)
{
    IbPacket *copy = g_new(IbPacket, 1);

    ib_packet_hold(packet);
    *copy = *packet;
    g_ptr_array_add(held, copy);
}

static void let_go(gpointer data)
{
    ib_packet_release(data);
    g_free(data);
}

/* A timer that comes late is made good, and is no wait of the port. */
static void test_late_timer(void)
{
    TestCable *c = new_paced(RATE);
    TestEnd *a = &c->end[0];
    int64_t start = c->now;
    unsigned i;

    for (i = 0; i < 500; i++) {
        while (ib_link_tx_queued(a->link, 1) < 60) {
            test_send(a, 1, 4096, 0);
        }
        c->now += 300000;
        test_cable_run(c, 1000);
    }
    g_assert_cmpfloat_with_epsilon(total(), (c->now - start) / 1e9 * RATE,
                                   2e5);
    g_assert_cmpint(ib_link_counters(a->link)->xmit_wait, ==, 0);
    test_cable_free(c);
}

static void test_xmit_wait(void)
{
    TestCable *c = new_paced(RATE);
    IbLink *a = c->end[0].link;
    uint64_t before;

    overload(c, 1 << 0, 2048, 50 * TEST_MS);
    g_assert_cmpint(ib_link_tx_queued(a, 0), >, 0);
    g_assert_cmpint(ib_link_counters(a)->xmit_wait, ==, 0);

    /* The peer takes no more: 100 ms without, less what it had room for. */
    held = g_ptr_array_new_with_free_func(let_go);
    c->end[1].on_receive = hold;
    overload(c, 1 << 0, 2048, 50 * TEST_MS);
    before = c->end[1].packets;
    test_cable_run(c, 100 * TEST_MS);
    g_assert_cmpint(c->end[1].packets, ==, before);
    c->end[1].on_receive = NULL;
    g_ptr_array_unref(held);
    test_cable_run(c, TEST_MS);
    g_assert_cmpint(c->end[1].packets, >, before);
    g_assert_cmpint(ib_link_counters(a)->xmit_wait, >, 100000);
    g_assert_cmpint(ib_link_counters(a)->xmit_wait, <, 150000);
    test_cable_free(c);
}

/* VL15 goes before all that waits; credits and keep-alives do not wait. */
static void test_slow_line(void)
{
    TestCable *c = new_paced(20000);    /* 210 ms a packet of 4 KiB */
    TestEnd *b = &c->end[1];
    unsigned i;

    for (i = 0; i < 5; i++) {
        test_send(&c->end[0], 1, 4096, i);
    }
    test_send(&c->end[0], IB_VL_MGMT, LEN, 0);
    ib_link_flush(c->end[0].link);
    test_cable_run(c, 100 * TEST_MS);
    g_assert_cmpint(b->packets, ==, 1);
    g_assert_cmpint(b->last_vl, ==, 1);
    test_cable_run(c, 110 * TEST_MS);
    g_assert_cmpint(b->packets, ==, 2);
    g_assert_cmpint(b->last_vl, ==, IB_VL_MGMT);
    test_cable_run(c, 1000 * TEST_MS);
    g_assert_cmpint(b->packets, ==, 6);
    g_assert_true(test_cable_up(c));
    test_cable_free(c);
}

/* A channel adapter writes its packets in place, when it is told to. */
static void write_some(TestEnd *end, uint16_t vls)
{
    uint8_t *p;

    while ((p = ib_link_tx_begin(end->link, 2, 1024))) {
        test_packet(p, 1024, 5, 0);
        ib_link_tx_end(end->link, 0);
    }
}

static void test_in_place(void)
{
    TestCable *c = new_paced(RATE);
    TestEnd *a = &c->end[0];

    a->on_ready = write_some;
    write_some(a, 1 << 2);
    ib_link_flush(a->link);
    test_cable_run(c, 10 * TEST_MS);
    memset(arrived, 0, sizeof(arrived));
    test_cable_run(c, 100 * TEST_MS);
    g_assert_cmpfloat_with_epsilon(total() / 0.1, RATE, RATE / 100);
    g_assert_cmpint(ib_link_tx_queued(a->link, 2), ==, 0);
    a->on_ready = NULL;
    test_cable_free(c);
}

/* ---------------------------------------------------------- arbitration */

typedef struct Share {
    uint8_t vl;
    double share;
} Share;

typedef struct Shares {
    IbVlArbEntry low[8], high[8];
    uint8_t limit;              /* VLHighLimit */
    uint16_t len;
    uint16_t vls;               /* that are overloaded */
    Share want[5];
} Shares;

/*
 * IBA Vol.1 7.6.9: weights in 64 bytes; an entry of weight 0 is skipped, a VL
 * may have several; the high table sends VLHighLimit * 4096 bytes before a
 * packet of the low one has its turn.
 */
static const Shares shares[] = {
    { .low = { { 0, 10 }, { 1, 20 }, { 2, 30 }, { 3, 40 } }, .len = LEN,
      .vls = 0xf,
      .want = { { 0, .1 }, { 1, .2 }, { 2, .3 }, { 3, .4 } } },
    /* Large packets: 33 blocks. */
    { .low = { { 0, 33 }, { 1, 66 }, { 2, 165 } }, .len = 2080, .vls = 0x7,
      .want = { { 0, .125 }, { 1, .25 }, { 2, .625 } } },
    /* Who has nothing to send leaves its part to the others. */
    { .low = { { 0, 10 }, { 1, 20 }, { 2, 30 }, { 3, 40 } }, .len = LEN,
      .vls = 0x9, .want = { { 0, .2 }, { 3, .8 } } },
    /* VL0 twice, VL2 with weight 0 beside its weight of 20. */
    { .low = { { 0, 20 }, { 1, 20 }, { 0, 40 }, { 2, 0 }, { 2, 20 } },
      .len = LEN, .vls = 0x7,
      .want = { { 0, .6 }, { 1, .2 }, { 2, .2 } } },
    /* 64 blocks of high are reached with the 13th packet of 5. */
    { .high = { { 1, 255 } }, .low = { { 0, 255 } }, .limit = 1, .len = LEN,
      .vls = 0x3, .want = { { 0, 1. / 14 }, { 1, 13. / 14 } } },
    /* 0: a packet of each in turn, whatever the weights. */
    { .high = { { 1, 255 } }, .low = { { 0, 1 } }, .limit = 0, .len = LEN,
      .vls = 0x3, .want = { { 0, .5 }, { 1, .5 } } },
    /* 255: low has what high leaves, which is nothing. */
    { .high = { { 1, 5 }, { 2, 15 } }, .low = { { 0, 255 } }, .limit = 255,
      .len = LEN, .vls = 0x7,
      .want = { { 0, 0 }, { 1, .25 }, { 2, .75 } } },
    /* Both tables at work, two VLs in each. */
    { .high = { { 1, 10 }, { 2, 30 } }, .low = { { 0, 5 }, { 3, 5 } },
      .limit = 5, .len = LEN, .vls = 0xf,
      /* 320 blocks of high a packet of low */
      .want = { { 0, .5 * 5 / 325 }, { 3, .5 * 5 / 325 },
                { 1, .25 * 320 / 325 }, { 2, .75 * 320 / 325 } } },
};

static void set_table(IbLink *link, bool high, const IbVlArbEntry rows[8])
{
    IbVlArbEntry table[64] = { { 0 } };

    memcpy(table, rows, 8 * sizeof(rows[0]));
    ib_link_set_vl_arb(link, high, table);
}

static void test_shares(gconstpointer data)
{
    const Shares *s = data;
    TestCable *c = new_paced(RATE);
    double sum;
    unsigned i;

    set_table(c->end[0].link, false, s->low);
    set_table(c->end[0].link, true, s->high);
    ib_link_set_vl_high_limit(c->end[0].link, s->limit);
    overload(c, s->vls, s->len, 20 * TEST_MS);
    memset(arrived, 0, sizeof(arrived));
    overload(c, s->vls, s->len, 200 * TEST_MS);
    sum = total();
    g_assert_cmpfloat_with_epsilon(sum / 0.2, RATE, RATE / 100);
    for (i = 0; i == 0 || s->want[i].share; i++) {
        double share = arrived[s->want[i].vl] / sum;

        g_test_message("VL%u: %.4f, wanted %.4f", s->want[i].vl, share,
                       s->want[i].share);
        g_assert_cmpfloat(share, >=, s->want[i].share * 0.98);
        g_assert_cmpfloat(share, <=, s->want[i].share * 1.02);
    }
    test_cable_free(c);
}

int main(int argc, char **argv)
{
    unsigned i;

    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/link/pace/rate", test_rate);
    g_test_add_func("/link/pace/off", test_off);
    g_test_add_func("/link/pace/link-rates", test_link_rates);
    g_test_add_func("/link/pace/late-timer", test_late_timer);
    g_test_add_func("/link/pace/xmit-wait", test_xmit_wait);
    g_test_add_func("/link/pace/slow-line", test_slow_line);
    g_test_add_func("/link/pace/in-place", test_in_place);
    for (i = 0; i < G_N_ELEMENTS(shares); i++) {
        g_autofree char *name = g_strdup_printf("/link/pace/shares/%u", i);

        g_test_add_data_func(name, &shares[i], test_shares);
    }
    return g_test_run();
}
