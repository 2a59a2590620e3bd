/*
 * Packets on their way into frames: lengths, CRCs, what is counted and shown
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "link-cable.h"
#include "hw/infiniband/ib-crc.h"

#define BODY    34              /* where a frame's first record is */

/* The last frame on its way to B, as B gets it */
static uint8_t seen[65536];

static bool look(TestEnd *to, uint8_t *frame, size_t *len)
{
    if (to == &to->cable->end[1]) {
        memcpy(seen, frame, *len);
    }
    return true;
}

static void test_mtu(void)
{
    IbLinkConfig config = test_config();
    TestCable *c = test_cable_new_active(NULL, NULL);
    TestEnd *a = &c->end[0];

    g_assert_cmpint(ib_link_neighbor_mtu(a->link), ==, IB_MTU_4096);
    g_assert_false(ib_link_set_neighbor_mtu(a->link, 0));
    g_assert_false(ib_link_set_neighbor_mtu(a->link, 6));
    g_assert_true(ib_link_set_neighbor_mtu(a->link, IB_MTU_1024));
    g_assert_cmpint(test_send(a, 0, 1024 + 124, 0), ==, IB_TX_SENT);
    g_assert_cmpint(test_send(a, 0, 1024 + 128, 0), ==, IB_TX_DISCARDED);
    g_assert_null(ib_link_tx_begin(a->link, 0, 1024 + 128));
    g_assert_cmpint(test_send(a, 15, 256 + 128, 0), ==, IB_TX_DISCARDED);
    g_assert_cmpint(test_send(a, 0, 290, 0), ==, IB_TX_DISCARDED);
    g_assert_cmpint(test_send(a, 0, 16, 0), ==, IB_TX_DISCARDED);
    g_assert_cmpint(test_send(a, 4, 288, 0), ==, IB_TX_DISCARDED);
    g_assert_cmpint(test_send(a, 16, 288, 0), ==, IB_TX_DISCARDED);
    g_assert_cmpint(ib_link_counters(a->link)->xmit_discards, ==, 6);
    g_assert_cmpint(test_events(a, "xmit-mtu"), ==, 2);
    test_cable_free(c);

    /* What no frame of the cable can hold is not sent either. */
    config.max_frame = 1514;
    g_assert_cmpint(ib_link_mtu_for_frame(1514), ==, IB_MTU_1024);
    g_assert_cmpint(ib_link_mtu_for_frame(1024), ==, IB_MTU_512);
    g_assert_cmpint(ib_link_mtu_for_frame(65536), ==, IB_MTU_4096);
    c = test_cable_new(&config, NULL);
    test_cable_attach(c);
    test_cable_run(c, 100 * TEST_MS);
    test_cable_activate(c);
    a = &c->end[0];
    g_assert_cmpint(test_send(a, 0, 1024 + 124, 0), ==, IB_TX_SENT);
    g_assert_cmpint(test_send(a, 0, 2048, 0), ==, IB_TX_DISCARDED);
    test_cable_free(c);
}

static size_t largest;

static bool measure(TestEnd *to, uint8_t *frame, size_t *len)
{
    largest = MAX(largest, *len);
    return true;
}

/* Frames hold many packets and no more than both ends take. */
static void test_bundle(void)
{
    IbLinkConfig big = test_config(), small = test_config();
    TestCable *c;
    unsigned i;

    small.max_frame = 9000;
    big.crc = true;
    c = test_cable_new_active(&big, &small);
    c->filter = measure;
    test_cable_run(c, 200 * TEST_MS);
    largest = 0;
    for (i = 0; i < 200; i++) {
        g_assert_cmpint(test_send(&c->end[0], i % 4, 256, i), ==, IB_TX_SENT);
    }
    ib_link_flush(c->end[0].link);
    test_cable_settle(c);
    g_assert_cmpint(c->end[1].packets, ==, 200);
    g_assert_cmpint(c->end[1].ends, <=, 8);
    g_assert_cmpint(largest, <=, 9000);
    g_assert_cmpint(largest, >, 8000);
    test_cable_free(c);
}

static bool flip_at_40;

static bool flip(TestEnd *to, uint8_t *frame, size_t *len)
{
    if (flip_at_40 && to == &to->cable->end[1]) {
        frame[BODY + 4 + 40] ^= 0x10;
    }
    return look(to, frame, len);
}

static void test_crc(void)
{
    IbLinkConfig crc = test_config(), plain = test_config();
    uint8_t data[288];
    IbPacket packet = { .data = data, .len = sizeof(data) };
    TestCable *c;
    TestEnd *a, *b;

    crc.crc = true;
    /* On if either asks for it */
    c = test_cable_new_active(&plain, &crc);
    c->filter = flip;
    a = &c->end[0];
    b = &c->end[1];
    test_packet(data, sizeof(data), 5, 1);
    packet.flags = IB_PACKET_NO_ICRC;
    g_assert_cmpint(ib_link_transmit(a->link, &packet, 0), ==, IB_TX_SENT);
    ib_link_flush(a->link);
    g_assert_cmpint(ib_get_be16(seen + BODY), ==, 290);
    g_assert_cmpint(seen[BODY + 3], ==, 0);
    g_assert_cmpint(ib_get_be16(seen + BODY + 4 + 288), ==,
                    ib_vcrc(seen + BODY + 4, 288));
    g_assert_true(ib_packet_icrc_ok(seen + BODY + 4, 288));
    test_cable_settle(c);
    g_assert_cmpint(b->packets, ==, 1);
    g_assert_cmpint(b->last_flags, ==, 0);

    flip_at_40 = true;
    packet.flags = 0;
    ib_link_transmit(a->link, &packet, 0);
    ib_link_flush(a->link);
    flip_at_40 = false;
    test_cable_settle(c);
    g_assert_cmpint(b->packets, ==, 1);
    g_assert_cmpint(ib_link_counters(b->link)->rcv_errors, ==, 1);
    g_assert_cmpint(ib_link_counters(b->link)->rcv_pkts, ==, 2);
    g_assert_cmpint(test_events(b, "rcv-vcrc"), ==, 1);
    /* A wrong ICRC passes a link: it is the end node's to check. */
    ib_link_transmit(a->link, &packet, 0);
    ib_link_flush(a->link);
    test_cable_settle(c);
    g_assert_cmpint(b->packets, ==, 2);
    test_cable_free(c);

    /* Off: the ICRC's bytes and their flag pass as they are. */
    c = test_cable_new_active(&plain, &plain);
    c->filter = look;
    a = &c->end[0];
    packet.flags = IB_PACKET_NO_ICRC;
    ib_link_transmit(a->link, &packet, 0);
    ib_link_flush(a->link);
    g_assert_cmpint(ib_get_be16(seen + BODY), ==, 288);
    g_assert_cmphex(ib_get_be32(seen + BODY + 4 + 284), ==, 0x5a5a5a5a);
    test_cable_settle(c);
    g_assert_cmpint(c->end[1].last_flags, ==, IB_PACKET_NO_ICRC);
    test_cable_free(c);
}

static void test_taps(void)
{
    TestCable *c = test_cable_new_active(NULL, NULL);
    TestEnd *a = &c->end[0], *b = &c->end[1];

    test_send(a, 0, 288, 1);
    ib_link_set_tap(a->link, true);
    ib_link_set_tap(b->link, true);
    test_send(a, 0, 288, 1);
    ib_link_flush(a->link);
    test_cable_settle(c);
    g_assert_cmpint(a->taps[1], ==, 1);
    g_assert_cmpint(b->taps[0], ==, 2);
    ib_link_set_tap(b->link, false);
    test_send(a, 0, 288, 1);
    ib_link_flush(a->link);
    test_cable_settle(c);
    g_assert_cmpint(b->taps[0], ==, 2);
    test_cable_free(c);
}

/* Multicast is what goes to LIDs 0xc000 to 0xfffe (IBA Vol.1 4.1.3). */
static void test_multicast_counters(void)
{
    static const uint16_t dlids[] = {
        1, 0xbfff, 0xc000, 0xc001, 0xfffe, 0xffff
    };
    TestCable *c = test_cable_new_active(NULL, NULL);
    TestEnd *a = &c->end[0], *b = &c->end[1];
    uint8_t data[288];
    IbPacket packet = { .data = data, .len = sizeof(data) };
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(dlids); i++) {
        test_packet(data, sizeof(data), dlids[i], 1);
        ib_link_transmit(a->link, &packet, 0);
    }
    ib_link_flush(a->link);
    test_cable_settle(c);
    g_assert_cmpint(ib_link_counters(a->link)->multicast_xmit_pkts, ==, 3);
    g_assert_cmpint(ib_link_counters(a->link)->unicast_xmit_pkts, ==, 3);
    g_assert_cmpint(ib_link_counters(b->link)->multicast_rcv_pkts, ==, 3);
    g_assert_cmpint(ib_link_counters(b->link)->unicast_rcv_pkts, ==, 3);
    /* PortXmitData: words, LRH to ICRC */
    g_assert_cmpint(ib_link_counters(a->link)->xmit_data, ==, 6 * 288 / 4);
    test_cable_free(c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/link/send/mtu", test_mtu);
    g_test_add_func("/link/send/bundle", test_bundle);
    g_test_add_func("/link/send/crc", test_crc);
    g_test_add_func("/link/send/tap", test_taps);
    g_test_add_func("/link/send/multicast-counters", test_multicast_counters);
    return g_test_run();
}
