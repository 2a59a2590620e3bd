/*
 * A bad cable on purpose: ib_link_set_inject()
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "link-cable.h"

#define LEN     288
#define BLOCKS  5

static unsigned got[IB_VLS];
static uint32_t last_number[IB_VLS];
static int64_t came[IB_VLS];

/* Count, and see that nothing is overtaken. */
static void note(TestEnd *end, IbPacket *packet)
{
    uint32_t number = ib_get_be32(packet->data + 28);

    g_assert_cmpint(packet->len, ==, LEN);
    g_assert_cmpint(number, >, last_number[packet->vl]);
    last_number[packet->vl] = number;
    got[packet->vl]++;
    came[packet->vl] = end->cable->now;
}

/* As they come: each number once, or twice in a row on @twice. */
static uint16_t twice;

static void note_twice(TestEnd *end, IbPacket *packet)
{
    uint32_t number = ib_get_be32(packet->data + 28);
    unsigned vl = packet->vl;
    bool again = twice & (1u << vl) && got[vl] % 2;

    g_assert_cmpint(number, ==, last_number[vl] + !again);
    g_assert_cmpint(packet->flags, ==, 0);
    last_number[vl] = number;
    got[vl]++;
    if (end->user) {
        ib_packet_hold(packet);
        g_queue_push_tail(end->user, g_slice_dup(IbPacket, packet));
    }
}

static TestCable *new_noted(bool crc)
{
    IbLinkConfig config = test_config();
    TestCable *c;

    config.rx_buffer = 1024 * 1024;
    config.vl15_packets = 5000;
    config.crc = crc;
    c = test_cable_new_active(&config, NULL);
    test_cable_run(c, 200 * TEST_MS);
    memset(got, 0, sizeof(got));
    memset(last_number, 0, sizeof(last_number));
    c->end[1].on_receive = note;
    return c;
}

static void inject(TestCable *c, const IbLinkInject *what)
{
    g_assert_true(ib_link_set_inject(c->end[1].link, what));
}

/* Packets @from.. up to @to on each of @vls, in frames of up to 50. */
static void send_some(TestCable *c, uint16_t vls, unsigned from, unsigned to)
{
    unsigned i, vl;

    for (i = from; i < to; i++) {
        for (vl = 0; vl < IB_VLS; vl++) {
            if (vls & (1u << vl)) {
                test_send(&c->end[0], vl, LEN, i);
            }
        }
        if (i % 50 == 49 || i + 1 == to) {
            ib_link_flush(c->end[0].link);
            test_cable_settle(c);
        }
    }
}

/* All of one VL is lost, as symbol errors; the credits come back. */
static void test_drop_vl(void)
{
    IbLinkInject what = { .drop = 1000000, .vls = 1 << 1 };
    TestCable *c = new_noted(false);
    IbLink *a = c->end[0].link, *b = c->end[1].link;
    uint32_t full = ib_link_tx_credits(a, 1);

    inject(c, &what);
    send_some(c, 1 << 0 | 1 << 1 | 1 << 15, 1, 101);
    g_assert_cmpint(got[0], ==, 100);
    g_assert_cmpint(got[1], ==, 0);
    g_assert_cmpint(got[15], ==, 100);
    g_assert_cmpint(ib_link_counters(b)->symbol_errors, ==, 100);
    g_assert_cmpint(ib_link_counters(b)->rcv_pkts_vl[1], ==, 0);
    g_assert_cmpint(ib_link_counters(b)->rcv_errors, ==, 0);
    g_assert_cmpint(ib_link_counters(a)->xmit_pkts_vl[1], ==, 100);
    test_cable_run(c, 300 * TEST_MS);
    g_assert_cmpint(ib_link_tx_credits(a, 1), ==, full);

    /* Off again */
    what.drop = 0;
    inject(c, &what);
    send_some(c, 1 << 1, 101, 111);
    g_assert_cmpint(got[1], ==, 10);
    test_cable_free(c);
}

/* Everything is lost for long: whoever waits for credits gets them. */
static void test_drop_and_credits(void)
{
    IbLinkInject what = { .drop = 1000000, .vls = 0xffff };
    IbLinkConfig config = test_config();
    TestCable *c;
    unsigned i;

    config.rx_buffer = 8192;
    c = test_cable_new_active(&config, NULL);
    inject(c, &what);
    for (i = 0; i < 400; i++) {
        test_send(&c->end[0], 0, 2048, i);
        ib_link_flush(c->end[0].link);
        test_cable_run(c, 20 * TEST_MS);
        g_assert_cmpint(ib_link_tx_queued(c->end[0].link, 0), <, 2);
    }
    g_assert_cmpint(c->end[1].packets, ==, 0);
    g_assert_true(test_cable_up(c));
    test_cable_free(c);
}

/* A share of a million, and the same ones for the same seed. */
static void test_share(void)
{
    static const uint32_t ppm[] = { 1000, 10000, 100000, 500000 };
    IbLinkInject what = { .vls = 0xffff };
    static const double root[] = { 4.5, 14.2, 44.8, 100 };
    unsigned i, n, run, lost[3];

    for (i = 0; i < G_N_ELEMENTS(ppm); i++) {
        for (run = 0; run < 3; run++) {
            TestCable *c = new_noted(false);

            what.drop = ppm[i];
            what.seed = run < 2 ? 7 : 8;
            inject(c, &what);
            for (n = 0; n < 20000; n += 2000) {
                send_some(c, 1 << 0, n + 1, n + 2001);
                test_cable_run(c, 150 * TEST_MS);   /* credits */
            }
            lost[run] = 20000 - got[0];
            test_cable_free(c);
        }
        /* Six times the root of what is to be lost */
        g_assert_cmpfloat_with_epsilon(lost[0], 0.02 * ppm[i],
                                       6 * root[i]);
        g_assert_cmpint(lost[0], ==, lost[1]);
        if (ppm[i] >= 100000) {
            g_assert_cmpint(lost[0], !=, lost[2]);
        }
    }
}

/* A wrong VCRC: received, counted as PortRcvErrors, and dropped. */
static void test_corrupt(void)
{
    IbLinkInject what = { .corrupt = 1000000, .vls = 0x7fff };
    unsigned crc;

    for (crc = 0; crc < 2; crc++) {
        TestCable *c = new_noted(crc);
        IbLink *b = c->end[1].link;

        inject(c, &what);
        send_some(c, 1 << 0 | 1 << 15, 1, 31);
        g_assert_cmpint(got[0], ==, 0);
        g_assert_cmpint(got[15], ==, 30);
        g_assert_cmpint(ib_link_counters(b)->rcv_errors, ==, 30);
        g_assert_cmpint(ib_link_counters(b)->symbol_errors, ==, 0);
        g_assert_cmpint(ib_link_counters(b)->rcv_pkts_vl[0], ==, 30);
        g_assert_cmpint(test_events(&c->end[1], "rcv-vcrc"), ==, 30);
        g_assert_cmpint(ib_link_rx_occupancy(b, 0), ==, 0);
        test_cable_free(c);
    }
}

/* Late by just so much, in its place of the buffer; other VLs are not. */
static void test_delay(void)
{
    IbLinkInject what = {
        .delay = 1000000, .delay_us = 3000, .vls = 1 << 2
    };
    TestCable *c = new_noted(false);
    IbLink *b = c->end[1].link;
    int64_t start;

    inject(c, &what);
    start = c->now;
    send_some(c, 1 << 0 | 1 << 2, 1, 11);
    g_assert_cmpint(got[0], ==, 10);
    g_assert_cmpint(got[2], ==, 0);
    g_assert_cmpint(ib_link_rx_occupancy(b, 2), ==, 10 * BLOCKS);
    g_assert_cmpint(ib_link_rx_occupancy(b, 0), ==, 0);
    /* The cable itself takes a microsecond. */
    test_cable_run(c, start + 3000000 + 1000 - 1 - c->now);
    g_assert_cmpint(got[2], ==, 0);
    test_cable_run(c, 1);
    g_assert_cmpint(got[2], ==, 10);
    g_assert_cmpint(came[2], ==, start + 3000000 + 1000);
    g_assert_cmpint(ib_link_rx_occupancy(b, 2), ==, 0);
    test_cable_free(c);
}

/* Some are late: nothing is overtaken (note() sees to it), nothing lost. */
static void test_delay_in_order(void)
{
    IbLinkInject what = {
        .delay = 200000, .delay_us = 500, .vls = 0xffff, .seed = 3
    };
    TestCable *c = new_noted(false);
    unsigned i;

    inject(c, &what);
    for (i = 1; i < 1000; i += 10) {
        send_some(c, 1 << 0 | 1 << 1 | 1 << 15, i, i + 10);
        test_cable_run(c, 100000);
    }
    g_assert_cmpint(got[0], <, 1000);
    /* Those that are late come though it is off by now. */
    what.delay = 0;
    inject(c, &what);
    send_some(c, 1 << 0, 1001, 1011);
    test_cable_run(c, 10 * TEST_MS);
    g_assert_cmpint(got[0], ==, 1010);
    g_assert_cmpint(got[1], ==, 1000);
    g_assert_cmpint(got[15], ==, 1000);
    test_cable_free(c);
}

static void send_on(TestEnd *end, IbPacket *packet)
{
    IbPacket twice = *packet;

    /* To its own peer twice, as a switch does with a multicast. */
    g_assert_cmpint(ib_link_transmit(end->link, packet, packet->vl), !=,
                    IB_TX_DISCARDED);
    twice.buf = packet->buf;
    g_assert_cmpint(ib_link_transmit(end->link, &twice, packet->vl), !=,
                    IB_TX_DISCARDED);
}

/* What was late is forwarded like any other packet. */
static void test_delay_forward(void)
{
    IbLinkInject what = { .delay = 1000000, .delay_us = 100, .vls = 0xffff };
    IbLinkConfig config = test_config();
    TestCable *c;
    unsigned i;

    config.mtu_cap = IB_MTU_256;
    config.rx_buffer = 10 * BLOCKS * 64;
    c = test_cable_new_active(&config, NULL);
    inject(c, &what);
    c->end[1].on_receive = send_on;
    for (i = 0; i < 50; i++) {
        test_send(&c->end[0], 0, LEN, i);
    }
    ib_link_flush(c->end[0].link);
    test_cable_run(c, 200 * TEST_MS);
    g_assert_cmpint(c->end[0].packets, ==, 100);
    g_assert_cmpint(ib_link_rx_occupancy(c->end[1].link, 0), ==, 0);
    test_cable_free(c);
}

/* A link that goes down loses them, and gives their places back. */
static void test_delay_down(void)
{
    IbLinkInject what = { .delay = 1000000, .delay_us = 1000000,
                          .vls = 0xffff };
    TestCable *c = new_noted(false);
    TestEnd *b = &c->end[1];

    inject(c, &what);
    send_some(c, 1 << 0, 1, 11);
    g_assert_true(ib_link_set_state(b->link, IB_PORT_DOWN));
    g_assert_cmpint(ib_link_rx_occupancy(b->link, 0), ==, 0);
    test_cable_run(c, 2000 * TEST_MS);
    g_assert_cmpint(got[0], ==, 0);
    g_assert_true(test_cable_up(c));
    /* And a link that is freed has none left either. */
    test_cable_activate(c);
    send_some(c, 1 << 0, 11, 21);
    g_assert_cmpint(ib_link_rx_occupancy(b->link, 0), ==, 10 * BLOCKS);
    test_cable_free(c);
}

static void test_set_get(void)
{
    IbLinkInject what, bad = { .drop = 1000001 };
    TestCable *c = new_noted(false);
    IbLink *b = c->end[1].link;

    ib_link_get_inject(b, &what);
    g_assert_cmpint(what.drop + what.corrupt + what.delay, ==, 0);
    g_assert_cmpint(what.vls, ==, 0xffff);
    what.drop = 1;
    what.corrupt = 2;
    what.delay = 3;
    what.delay_us = 4;
    what.vls = 0x8000;
    what.seed = 5;
    inject(c, &what);
    g_assert_false(ib_link_set_inject(b, &bad));
    memset(&what, 0, sizeof(what));
    ib_link_get_inject(b, &what);
    g_assert_cmpint(what.drop, ==, 1);
    g_assert_cmpint(what.corrupt, ==, 2);
    g_assert_cmpint(what.delay, ==, 3);
    g_assert_cmpint(what.delay_us, ==, 4);
    g_assert_cmpint(what.vls, ==, 0x8000);
    g_assert_cmpint(what.seed, ==, 5);
    test_cable_free(c);
}

/*
 * Each of a VL comes twice; the second fills no buffer and takes no credits,
 * kept or not.
 */
static void test_duplicate(void)
{
    IbLinkInject what = { .duplicate = 1000000, .vls = 1 << 1 | 1 << 15 };
    GQueue held = G_QUEUE_INIT;
    unsigned keep;

    for (keep = 0; keep < 2; keep++) {
        TestCable *c = new_noted(false);
        IbLink *a = c->end[0].link, *b = c->end[1].link;
        uint32_t full = ib_link_tx_credits(a, 1);
        IbPacket *packet;

        twice = what.vls;
        c->end[1].on_receive = note_twice;
        c->end[1].user = keep ? &held : NULL;
        inject(c, &what);
        send_some(c, 1 << 0 | 1 << 1 | 1 << 15, 1, 101);
        g_assert_cmpint(got[0], ==, 100);
        g_assert_cmpint(got[1], ==, 200);
        g_assert_cmpint(got[15], ==, 200);
        g_assert_cmpint(ib_link_counters(b)->rcv_pkts_vl[1], ==, 200);
        g_assert_cmpint(ib_link_counters(b)->rcv_data_vl[1], ==,
                        200 * LEN / 4);
        g_assert_cmpint(ib_link_counters(b)->rcv_errors, ==, 0);
        g_assert_cmpint(ib_link_rx_occupancy(b, 1), ==,
                        keep ? 100 * BLOCKS : 0);
        while ((packet = g_queue_pop_head(&held))) {
            ib_packet_release(packet);
            g_slice_free(IbPacket, packet);
        }
        test_cable_run(c, 300 * TEST_MS);
        g_assert_cmpint(ib_link_tx_credits(a, 1), ==, full);
        g_assert_cmpint(ib_link_rx_occupancy(b, 1), ==, 0);
        test_cable_free(c);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/link/inject/drop-vl", test_drop_vl);
    g_test_add_func("/link/inject/drop-and-credits", test_drop_and_credits);
    g_test_add_func("/link/inject/share", test_share);
    g_test_add_func("/link/inject/corrupt", test_corrupt);
    g_test_add_func("/link/inject/delay", test_delay);
    g_test_add_func("/link/inject/delay-in-order", test_delay_in_order);
    g_test_add_func("/link/inject/delay-forward", test_delay_forward);
    g_test_add_func("/link/inject/delay-down", test_delay_down);
    g_test_add_func("/link/inject/set-get", test_set_get);
    g_test_add_func("/link/inject/duplicate", test_duplicate);
    return g_test_run();
}
