/*
 * A link on hold: no packet on the cable, and none lost
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "link-cable.h"
#include "hw/infiniband/ib-state.h"

static uint32_t hold_next;

/* Each packet once, in the order they were sent in. */
static void in_order(TestEnd *end, IbPacket *packet)
{
    g_assert_cmpint(ib_get_be32(packet->data + 28), ==, hold_next);
    hold_next++;
}

static TestCable *hold_cable(void)
{
    TestCable *c = test_cable_new_active(NULL, NULL);

    hold_next = 0;
    c->end[1].on_receive = in_order;
    return c;
}

static void test_waits(void)
{
    TestCable *c = hold_cable();
    TestEnd *a = &c->end[0], *b = &c->end[1];
    uint32_t i;

    /* Ten are on the cable when the hold begins. */
    for (i = 0; i < 10; i++) {
        g_assert_cmpint(test_send(a, 0, 1024, i), ==, IB_TX_SENT);
    }
    ib_link_flush(a->link);
    ib_link_set_hold(b->link, true);
    g_assert_true(ib_link_hold(b->link));
    g_assert_false(ib_link_held(b->link));
    test_cable_run(c, TEST_MS);
    g_assert_cmpint(hold_next, ==, 10);
    g_assert_true(ib_link_held(b->link));
    g_assert_cmpint(ib_link_counters(b->link)->rcv_errors, ==, 0);

    /* What comes then waits, whatever is asked for meanwhile. */
    for (; i < 30; i++) {
        g_assert_cmpint(test_send(a, 0, 1024, i), ==, IB_TX_QUEUED);
    }
    test_cable_run(c, 1000 * TEST_MS);
    g_assert_cmpint(hold_next, ==, 10);
    g_assert_true(test_cable_up(c));
    g_assert_true(ib_link_held(b->link));
    g_assert_cmpint(ib_link_tx_queued(a->link, 0), ==, 20);

    ib_link_set_hold(b->link, false);
    test_cable_run(c, 20 * TEST_MS);
    g_assert_cmpint(hold_next, ==, 30);
    test_cable_free(c);
}

/* VL15 has no credits to wait for. */
static void test_management(void)
{
    TestCable *c = hold_cable();

    ib_link_set_hold(c->end[1].link, true);
    test_cable_run(c, TEST_MS);
    g_assert_cmpint(test_send(&c->end[0], 15, 284, 0), ==, IB_TX_SENT);
    ib_link_flush(c->end[0].link);
    test_cable_run(c, TEST_MS);
    g_assert_cmpint(hold_next, ==, 1);
    test_cable_free(c);
}

/* The state that is saved has no hold, and what waited at the peer comes. */
static void test_migrates(void)
{
    TestCable *c = hold_cable();
    TestEnd *a = &c->end[0], *b = &c->end[1];
    g_autoptr(GByteArray) state = g_byte_array_new();
    IbStateWriter w;
    IbStateReader r;

    ib_link_set_hold(b->link, true);
    test_cable_run(c, TEST_MS);
    g_assert_cmpint(test_send(a, 0, 1024, 0), ==, IB_TX_QUEUED);
    ib_state_writer_init(&w, state);
    ib_link_save(b->link, &w);
    ib_state_reader_init(&r, state->data, state->len);
    g_assert_true(ib_link_load(b->link, &r));
    g_assert_false(ib_link_hold(b->link));
    test_cable_run(c, 300 * TEST_MS);
    g_assert_cmpint(hold_next, ==, 1);
    test_cable_free(c);
}

/* A link that goes down is on hold no longer, one that is down never. */
static void test_down(void)
{
    TestCable *c = hold_cable();
    TestEnd *b = &c->end[1];

    ib_link_set_hold(b->link, true);
    ib_link_set_phys_state(b->link, IB_PHYS_DISABLED);
    g_assert_false(ib_link_hold(b->link));
    g_assert_true(ib_link_held(b->link));
    ib_link_set_hold(b->link, true);
    g_assert_false(ib_link_hold(b->link));
    test_cable_free(c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/link/hold/waits", test_waits);
    g_test_add_func("/link/hold/management", test_management);
    g_test_add_func("/link/hold/migrates", test_migrates);
    g_test_add_func("/link/hold/down", test_down);
    return g_test_run();
}
