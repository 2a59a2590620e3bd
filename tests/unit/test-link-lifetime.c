/*
 * Packets that wait too long at a switch's port: HOQLife, LifeTimeValue and
 * VLStallCount (IBA Vol.1 18.2.5.4, 14.2.5.4, 14.2.5.6)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "link-cable.h"
#include "hw/infiniband/ib-state.h"

#define LEN         288
#define FITS        4           /* packets of LEN in a receive buffer */
#define LIFE(code)  (INT64_C(4096) << (code))

static GPtrArray *held;

static void let_go(gpointer data)
{
    IbPacket *packet = data;

    ib_packet_release(packet);
    g_free(packet);
}

static void hold(TestEnd *end, IbPacket *packet)
{
    IbPacket *copy = g_new(IbPacket, 1);

    ib_packet_hold(packet);
    *copy = *packet;
    g_ptr_array_add(held, copy);
}

/* A switch's port whose peer takes FITS packets a VL and gives none back. */
static TestCable *new_blocked(bool switch_port)
{
    IbLinkConfig config = test_config();
    TestCable *c;

    config.mtu_cap = IB_MTU_256;
    config.rx_buffer = FITS * 5 * 64;
    config.switch_port = switch_port;
    c = test_cable_new_active(&config, NULL);
    held = g_ptr_array_new_with_free_func(let_go);
    c->end[1].on_receive = hold;
    return c;
}

static void free_blocked(TestCable *c)
{
    g_ptr_array_unref(held);
    test_cable_free(c);
}

/* Fill the peer's buffer of @vl, then have @n packets wait for it. */
static void block(TestCable *c, unsigned vl, unsigned n)
{
    unsigned i;

    for (i = 0; i < FITS; i++) {
        g_assert_cmpint(test_send(&c->end[0], vl, LEN, i), ==, IB_TX_SENT);
    }
    ib_link_flush(c->end[0].link);
    test_cable_run(c, 10000);
    for (i = 0; i < n; i++) {
        g_assert_cmpint(test_send(&c->end[0], vl, LEN, i), ==, IB_TX_QUEUED);
    }
}

static unsigned queued(TestCable *c, unsigned vl)
{
    return ib_link_tx_queued(c->end[0].link, vl);
}

/* 4.096 us * 2^HOQLife at the head, each packet anew. */
static void test_hoq(void)
{
    static const uint8_t codes[] = { 0, 1, 10, 19 };
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(codes); i++) {
        TestCable *c = new_blocked(true);
        IbLink *a = c->end[0].link;

        ib_link_set_hoq_life(a, codes[i]);
        block(c, 1, 3);
        test_cable_run(c, LIFE(codes[i]) - 1);
        g_assert_cmpint(queued(c, 1), ==, 3);
        test_cable_run(c, 1);
        g_assert_cmpint(queued(c, 1), ==, 2);
        test_cable_run(c, LIFE(codes[i]) - 1);
        g_assert_cmpint(queued(c, 1), ==, 2);
        test_cable_run(c, 1);
        g_assert_cmpint(queued(c, 1), ==, 1);
        g_assert_cmpint(ib_link_counters(a)->xmit_discards, ==, 2);
        g_assert_cmpint(ib_link_counters(a)->sw_hoq_lifetime_discards, ==, 2);
        g_assert_cmpint(ib_link_counters(a)->sw_lifetime_discards, ==, 0);
        g_assert_cmpint(test_events(&c->end[0], "xmit-hoq-life"), ==, 2);
        free_blocked(c);
    }
}

/* 20 to 31 are for ever, and a channel adapter has no such limit. */
static void test_infinite(void)
{
    static const struct {
        bool switch_port;
        uint8_t code;
    } rows[] = { { true, 20 }, { true, 31 }, { false, 0 } };
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(rows); i++) {
        TestCable *c = new_blocked(rows[i].switch_port);

        ib_link_set_hoq_life(c->end[0].link, rows[i].code);
        ib_link_set_life_time(c->end[0].link, rows[i].code);
        block(c, 0, 3);
        test_cable_run(c, 20000 * TEST_MS);
        g_assert_cmpint(queued(c, 0), ==, 3);
        /* Whoever gets credits in the end is sent. */
        g_ptr_array_set_size(held, 0);
        test_cable_run(c, TEST_MS);
        g_assert_cmpint(queued(c, 0), ==, 0);
        g_assert_cmpint(c->end[1].packets, ==, FITS + 3);
        free_blocked(c);
    }
}

/* At power-on what OpenSM sets: hoq_lifetime 0x12, a second. */
static void test_default(void)
{
    TestCable *c = new_blocked(true);

    g_assert_cmpint(ib_link_hoq_life(c->end[0].link), ==, 0x12);
    g_assert_cmpint(ib_link_vl_stall_count(c->end[0].link), ==, 7);
    block(c, 0, 1);
    test_cable_run(c, 1000 * TEST_MS);
    g_assert_cmpint(queued(c, 0), ==, 1);
    test_cable_run(c, 100 * TEST_MS);
    g_assert_cmpint(queued(c, 0), ==, 0);
    free_blocked(c);
}

/* A limit that is set while packets wait holds for them. */
static void test_set_while_waiting(void)
{
    TestCable *c = new_blocked(true);

    ib_link_set_hoq_life(c->end[0].link, 20);
    block(c, 0, 2);
    test_cable_run(c, 5000 * TEST_MS);
    ib_link_set_hoq_life(c->end[0].link, 10);
    test_cable_run(c, LIFE(10));
    g_assert_cmpint(queued(c, 0), ==, 0);
    free_blocked(c);
}

static void send_back(TestEnd *end, IbPacket *packet)
{
    ib_link_transmit(end->link, packet, packet->vl);
}

/* LifeTimeValue counts from the arrival: all that came at once go at once. */
static void test_life_time(void)
{
    TestCable *c = new_blocked(true);
    TestEnd *a = &c->end[0], *b = &c->end[1];
    unsigned i;

    ib_link_set_hoq_life(a->link, 12);
    ib_link_set_life_time(a->link, 11);
    block(c, 2, 0);
    a->on_receive = send_back;
    for (i = 0; i < 3; i++) {
        test_send(b, 2, LEN, i);
    }
    ib_link_flush(b->link);
    test_cable_settle(c);
    g_assert_cmpint(queued(c, 2), ==, 3);
    g_assert_cmpint(ib_link_rx_occupancy(a->link, 2), ==, 3 * 5);
    test_cable_run(c, LIFE(11) - 1);
    g_assert_cmpint(queued(c, 2), ==, 3);
    test_cable_run(c, 1);
    g_assert_cmpint(queued(c, 2), ==, 0);
    g_assert_cmpint(ib_link_counters(a->link)->sw_lifetime_discards, ==, 3);
    g_assert_cmpint(ib_link_counters(a->link)->sw_hoq_lifetime_discards, ==,
                    0);
    g_assert_cmpint(ib_link_counters(a->link)->xmit_discards, ==, 3);
    /* Their room in the buffer that they came into is free again. */
    g_assert_cmpint(ib_link_rx_occupancy(a->link, 2), ==, 0);
    free_blocked(c);
}

/* VLStallCount packets in a row: for 8 * HOQLife the VL discards all. */
static void test_stall(void)
{
    TestCable *c = new_blocked(true);
    TestEnd *a = &c->end[0];

    ib_link_set_hoq_life(a->link, 10);
    ib_link_set_vl_stall_count(a->link, 3);
    block(c, 1, 10);
    test_cable_run(c, 3 * LIFE(10) - 1);
    g_assert_cmpint(queued(c, 1), ==, 8);
    g_assert_false(ib_link_vl_stalled(a->link, 1));
    test_cable_run(c, 1);
    g_assert_true(ib_link_vl_stalled(a->link, 1));
    g_assert_cmpint(queued(c, 1), ==, 0);
    g_assert_cmpint(ib_link_counters(a->link)->xmit_discards, ==, 10);
    /* ... which has those of a stalled VL in it (16.1.4.2). */
    g_assert_cmpint(ib_link_counters(a->link)->sw_hoq_lifetime_discards, ==,
                    10);
    /* Even with credits; other VLs are as before. */
    g_ptr_array_set_size(held, 0);
    test_cable_run(c, 8 * LIFE(10) - 1);
    g_assert_cmpint(test_send(a, 1, LEN, 0), ==, IB_TX_DISCARDED);
    g_assert_cmpint(ib_link_counters(a->link)->xmit_discards, ==, 11);
    g_assert_cmpint(test_events(a, "xmit-stalled"), ==, 7 + 1);
    g_assert_cmpint(test_send(a, 0, LEN, 0), ==, IB_TX_SENT);
    g_assert_cmpint(test_send(a, IB_VL_MGMT, LEN, 0), ==, IB_TX_SENT);
    test_cable_run(c, 1);
    g_assert_false(ib_link_vl_stalled(a->link, 1));
    g_assert_cmpint(test_send(a, 1, LEN, 0), ==, IB_TX_SENT);
    free_blocked(c);
}

/* In a row: a packet that was sent between starts the count again. */
static void test_not_in_a_row(void)
{
    TestCable *c = new_blocked(true);
    TestEnd *a = &c->end[0];
    unsigned round;

    ib_link_set_hoq_life(a->link, 10);
    ib_link_set_vl_stall_count(a->link, 3);
    block(c, 1, 0);
    for (round = 0; round < 3; round++) {
        test_send(a, 1, LEN, 0);
        test_send(a, 1, LEN, 0);
        test_cable_run(c, 2 * LIFE(10));
        g_assert_cmpint(queued(c, 1), ==, 0);
        g_ptr_array_remove_index(held, 0);
        test_cable_run(c, 200 * TEST_MS);
        g_assert_cmpint(test_send(a, 1, LEN, 0), ==, IB_TX_SENT);
        ib_link_flush(a->link);
        test_cable_run(c, 10000);
    }
    g_assert_cmpint(ib_link_counters(a->link)->xmit_discards, ==, 6);
    g_assert_cmpint(test_events(a, "vl-stalled"), ==, 0);
    free_blocked(c);
}

/* VLStallCount 0: never. */
static void test_no_stall(void)
{
    TestCable *c = new_blocked(true);

    ib_link_set_hoq_life(c->end[0].link, 5);
    ib_link_set_vl_stall_count(c->end[0].link, 0);
    block(c, 1, 20);
    test_cable_run(c, 15 * LIFE(5));
    g_assert_cmpint(queued(c, 1), ==, 5);
    g_assert_cmpint(test_events(&c->end[0], "vl-stalled"), ==, 0);
    free_blocked(c);
}

/* A link that goes down forgets its stalls. */
static void test_down(void)
{
    TestCable *c = new_blocked(true);
    TestEnd *a = &c->end[0];

    ib_link_set_hoq_life(a->link, 19);
    ib_link_set_vl_stall_count(a->link, 1);
    block(c, 1, 1);
    test_cable_run(c, LIFE(19));
    g_assert_true(ib_link_vl_stalled(a->link, 1));
    g_ptr_array_set_size(held, 0);
    g_assert_true(ib_link_set_state(a->link, IB_PORT_DOWN));
    test_cable_run(c, 1000 * TEST_MS);
    g_assert_true(test_cable_up(c));
    test_cable_activate(c);
    g_assert_false(ib_link_vl_stalled(a->link, 1));
    g_assert_cmpint(test_send(a, 1, LEN, 0), !=, IB_TX_DISCARDED);
    free_blocked(c);
}

/* Move the link of @end to another process. */
static void migrate(TestEnd *end)
{
    IbLinkConfig config = *ib_link_config(end->link);
    GByteArray *bytes = g_byte_array_new();
    IbStateWriter w;
    IbStateReader r;

    ib_state_writer_init(&w, bytes);
    ib_link_save(end->link, &w);
    end->gone = true;
    ib_link_free(end->link);
    end->gone = false;
    end->deadline = INT64_MAX;
    test_end_new_link(end, &config);
    ib_state_reader_init(&r, bytes->data, bytes->len);
    g_assert_true(ib_link_load(end->link, &r));
    ib_link_cable_attach(end->link);
    g_byte_array_unref(bytes);
}

/* The time that packets have waited and stalls have left moves with them. */
static void test_migrate(void)
{
    TestCable *c = new_blocked(true);
    TestEnd *a = &c->end[0];

    ib_link_set_hoq_life(a->link, 14);
    ib_link_set_vl_stall_count(a->link, 2);
    block(c, 1, 5);
    test_cable_run(c, LIFE(14) + LIFE(13));
    g_assert_cmpint(queued(c, 1), ==, 4);
    migrate(a);
    test_cable_run(c, LIFE(13) - 1);
    g_assert_cmpint(queued(c, 1), ==, 4);
    test_cable_run(c, 1);
    g_assert_true(ib_link_vl_stalled(a->link, 1));
    test_cable_run(c, 3 * LIFE(14));
    migrate(a);
    test_cable_run(c, 5 * LIFE(14) - 1);
    g_assert_true(ib_link_vl_stalled(a->link, 1));
    g_assert_cmpint(test_send(a, 1, LEN, 0), ==, IB_TX_DISCARDED);
    test_cable_run(c, 1);
    g_assert_false(ib_link_vl_stalled(a->link, 1));
    free_blocked(c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/link/lifetime/hoq", test_hoq);
    g_test_add_func("/link/lifetime/infinite", test_infinite);
    g_test_add_func("/link/lifetime/default", test_default);
    g_test_add_func("/link/lifetime/set-while-waiting",
                    test_set_while_waiting);
    g_test_add_func("/link/lifetime/switch", test_life_time);
    g_test_add_func("/link/lifetime/stall", test_stall);
    g_test_add_func("/link/lifetime/not-in-a-row", test_not_in_a_row);
    g_test_add_func("/link/lifetime/no-stall", test_no_stall);
    g_test_add_func("/link/lifetime/down", test_down);
    g_test_add_func("/link/lifetime/migrate", test_migrate);
    return g_test_run();
}
