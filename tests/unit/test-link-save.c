/*
 * Saving and loading links in the midst of traffic
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "link-cable.h"
#include "hw/infiniband/ib-state.h"

static GByteArray *save(IbLink *link)
{
    GByteArray *bytes = g_byte_array_new();
    IbStateWriter w;

    ib_state_writer_init(&w, bytes);
    ib_link_save(link, &w);
    g_assert_cmpint(w.depth, ==, 0);
    return bytes;
}

static bool load(IbLink *link, const uint8_t *data, size_t len)
{
    IbStateReader r;
    uint8_t *exact = g_malloc(MAX(len, 1));
    bool ok;

    if (len) {
        memcpy(exact, data, len);
    }
    ib_state_reader_init(&r, exact, len);
    ok = ib_link_load(link, &r) && r.at == r.end;
    g_free(exact);
    return ok;
}

/* Move the link of @end to another process. */
static void migrate(TestEnd *end)
{
    IbLinkConfig config = *ib_link_config(end->link);
    GByteArray *bytes = save(end->link);
    GByteArray *again;
    unsigned in_flight;

    end->gone = true;
    end->told_busy = false;
    ib_link_free(end->link);
    end->gone = false;
    end->deadline = INT64_MAX;
    test_end_new_link(end, &config);
    g_assert_true(load(end->link, bytes->data, bytes->len));
    again = save(end->link);
    g_assert_cmpmem(again->data, again->len, bytes->data, bytes->len);
    /* Not a word before it is plugged in */
    in_flight = end->peer->wire->len;
    ib_link_flush(end->link);
    g_assert_cmpint(end->peer->wire->len, ==, in_flight);
    ib_link_cable_attach(end->link);
    g_byte_array_unref(again);
    g_byte_array_unref(bytes);
}

static uint32_t next[4];

static void in_order(TestEnd *end, IbPacket *packet)
{
    g_assert_cmpint(ib_get_be32(packet->data + 28), ==, next[packet->vl]);
    next[packet->vl]++;
}

/* Nothing is lost, whichever end moves and whatever is queued. */
static void test_traffic(void)
{
    IbLinkConfig config = test_config();
    uint32_t number[4] = { 0 };
    uint64_t pkts = 0;
    TestCable *c;
    TestEnd *a, *b;
    unsigned i, vl, moved = 0;

    config.rx_buffer = 16 * 1024;
    config.max_frame = 16384;
    c = test_cable_new_active(&config, NULL);
    a = &c->end[0];
    b = &c->end[1];
    b->on_receive = in_order;
    memset(next, 0, sizeof(next));
    for (i = 0; i < 3000; i++) {
        vl = i % 4;
        if (ib_link_tx_queued(a->link, vl) < 50) {
            g_assert_cmpint(test_send(a, vl, 2048, number[vl]++), !=,
                            IB_TX_DISCARDED);
        }
        if (i % 100 == 50) {
            /* A frame half full, and queues */
            g_assert_cmpint(ib_link_tx_queued(a->link, 0), >, 0);
            migrate(i % 200 == 50 ? a : b);
            moved++;
        }
        if (i % 50 == 0) {
            ib_link_flush(a->link);
            test_cable_run(c, TEST_MS);
        }
    }
    test_cable_run(c, 500 * TEST_MS);
    for (vl = 0; vl < 4; vl++) {
        g_assert_cmpint(next[vl], ==, number[vl]);
        g_assert_cmpint(ib_link_tx_queued(a->link, vl), ==, 0);
        pkts += number[vl];
    }
    g_assert_cmpint(moved, ==, 30);
    g_assert_cmpint(ib_link_counters(a->link)->xmit_pkts, ==, pkts);
    g_assert_cmpint(ib_link_counters(b->link)->rcv_pkts, ==, pkts);
    g_assert_cmpint(ib_link_counters(b->link)->excessive_buffer_overruns, ==,
                    0);
    g_assert_cmpint(a->went_down + b->went_down, ==, 0);
    g_assert_cmpint(ib_link_state(a->link), ==, IB_PORT_ACTIVE);
    test_cable_free(c);
}

/* What the SM has set */
static void test_port_info(void)
{
    TestCable *c = test_cable_new_active(NULL, NULL);
    TestEnd *a = &c->end[0];
    IbVlArbEntry table[64];
    unsigned i;

    for (i = 0; i < 64; i++) {
        table[i].vl = i % 4;
        table[i].weight = 3 * i;
    }
    ib_link_set_vl_arb(a->link, true, table);
    ib_link_set_vl_high_limit(a->link, 17);
    g_assert_true(ib_link_set_neighbor_mtu(a->link, IB_MTU_2048));
    g_assert_true(ib_link_set_operational_vls(a->link, 2));
    g_assert_true(ib_link_set_width_enabled(a->link, 2));
    g_assert_true(ib_link_set_speed_enabled(a->link, 5));
    g_assert_true(ib_link_set_down_default(a->link, IB_PHYS_SLEEP));
    ib_link_set_hoq_life(a->link, 9);
    ib_link_set_vl_stall_count(a->link, 3);
    ib_link_counters(a->link)->rcv_switch_relay_errors = 12345;
    migrate(a);
    memset(table, 0, sizeof(table));
    ib_link_get_vl_arb(a->link, true, table);
    g_assert_cmpint(table[21].vl, ==, 1);
    g_assert_cmpint(table[21].weight, ==, 63);
    g_assert_cmpint(ib_link_vl_high_limit(a->link), ==, 17);
    g_assert_cmpint(ib_link_neighbor_mtu(a->link), ==, IB_MTU_2048);
    g_assert_cmpint(ib_link_operational_vls(a->link), ==, 2);
    g_assert_cmpint(ib_link_width_enabled(a->link), ==, 2);
    g_assert_cmpint(ib_link_width_active(a->link), ==, 2);
    g_assert_cmpint(ib_link_speed_enabled(a->link), ==, 5);
    g_assert_cmpint(ib_link_speed_active(a->link), ==, 4);
    g_assert_cmpint(ib_link_down_default(a->link), ==, IB_PHYS_SLEEP);
    g_assert_cmpint(ib_link_hoq_life(a->link), ==, 9);
    g_assert_cmpint(ib_link_vl_stall_count(a->link), ==, 3);
    g_assert_cmpint(ib_link_counters(a->link)->rcv_switch_relay_errors, ==,
                    12345);
    g_assert_cmphex(ib_link_peer_guid(a->link), ==, 0x0002c90300000010);
    test_cable_free(c);
}

/* In training, Polling, Disabled too; the least time goes on counting. */
static void test_not_up(void)
{
    IbLinkConfig config = test_config();
    TestCable *c;
    TestEnd *a;

    config.training_ms = 1000;
    c = test_cable_new(&config, NULL);
    a = &c->end[0];
    test_cable_attach(c);
    test_cable_run(c, 600 * TEST_MS);
    migrate(a);
    g_assert_cmpint(ib_link_phys_state(a->link), ==,
                    IB_PHYS_PORT_CONF_TRAINING);
    test_cable_run(c, 300 * TEST_MS);
    g_assert_false(test_cable_up(c));
    test_cable_run(c, 150 * TEST_MS);
    g_assert_true(test_cable_up(c));

    ib_link_set_phys_state(a->link, IB_PHYS_DISABLED);
    migrate(a);
    test_cable_run(c, 3000 * TEST_MS);
    g_assert_cmpint(ib_link_phys_state(a->link), ==, IB_PHYS_DISABLED);
    g_assert_true(ib_link_set_phys_state(a->link, IB_PHYS_POLLING));
    migrate(a);
    test_cable_run(c, 3000 * TEST_MS);
    g_assert_true(test_cable_up(c));
    test_cable_free(c);
}

/* A peer that is no longer there after the move is found out. */
static void test_peer_gone(void)
{
    TestCable *c = test_cable_new_active(NULL, NULL);
    TestEnd *a = &c->end[0];

    c->cut = true;
    migrate(a);
    g_assert_cmpint(ib_link_state(a->link), ==, IB_PORT_ACTIVE);
    test_cable_run(c, 500 * TEST_MS);
    g_assert_cmpint(ib_link_state(a->link), ==, IB_PORT_DOWN);
    test_cable_free(c);
}

/* No cable at the new place: silence, or what the node knows, takes it down. */
static void test_no_cable(void)
{
    TestCable *c = test_cable_new_active(NULL, NULL);
    TestEnd *a = &c->end[0];
    GByteArray *bytes;

    test_send(a, 0, 2048, 0);
    bytes = save(a->link);
    c->cut = true;
    ib_link_cable_detach(a->link);
    g_assert_true(load(a->link, bytes->data, bytes->len));
    g_assert_cmpint(ib_link_state(a->link), ==, IB_PORT_ACTIVE);
    ib_link_flush(a->link);
    test_cable_run(c, 600 * TEST_MS);
    g_assert_cmpint(ib_link_state(a->link), ==, IB_PORT_DOWN);
    g_assert_true(load(a->link, bytes->data, bytes->len));
    ib_link_cable_detach(a->link);
    g_assert_cmpint(ib_link_state(a->link), ==, IB_PORT_DOWN);
    g_assert_true(a->deadline == INT64_MAX);
    g_byte_array_unref(bytes);
    test_cable_free(c);
}

/* Bytes that save cannot have written are refused, and do no harm. */
static void test_bad_bytes(void)
{
    IbLinkConfig config = test_config();
    TestCable *c;
    TestEnd *a;
    GByteArray *bytes;
    unsigned i, loaded = 0;

    config.rx_buffer = 8 * 1024;
    c = test_cable_new_active(&config, NULL);
    a = &c->end[0];
    test_cable_run(c, 200 * TEST_MS);
    for (i = 0; i < 20; i++) {
        test_send(a, i % 4, 2048, i);
    }
    g_assert_cmpint(ib_link_tx_queued(a->link, 0), >, 0);
    bytes = save(a->link);
    c->cut = true;
    for (i = 0; i < bytes->len; i += 1 + i / 512) {
        g_assert_false(load(a->link, bytes->data, i));
        g_assert_cmpint(ib_link_state(a->link), ==, IB_PORT_DOWN);
    }
    for (i = 0; i < 40000; i++) {
        unsigned at = i < 4000 ? i / 2 :
                      g_random_int() % bytes->len;
        uint8_t old = bytes->data[at];

        bytes->data[at] = i < 4000 ? (i & 1 ? 0xff : 0) : g_random_int();
        loaded += load(a->link, bytes->data, bytes->len);
        /* It may be another state, but it is one to go on from. */
        test_send(a, i % 4, 2048, i);
        ib_link_timer(a->link);
        bytes->data[at] = old;
    }
    g_assert_cmpint(loaded, <, i);
    g_assert_true(load(a->link, bytes->data, bytes->len));
    g_byte_array_unref(bytes);

    /* Another configuration */
    bytes = save(a->link);
    test_cable_free(c);
    config.rx_buffer = 16 * 1024;
    c = test_cable_new(&config, NULL);
    g_assert_false(load(c->end[0].link, bytes->data, bytes->len));
    g_byte_array_unref(bytes);
    test_cable_free(c);
}

/* ------------------------------------------------------------ ib-state.h */

static void test_state_format(void)
{
    static const uint8_t expected[] = {
        'A', 'B', 'C', 'D', 0, 2, 0, 0, 0, 29,
        0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
        1, 2, 3, 4, 5, 6, 7, 8,
        'i', 'n', 'n', 'r', 0, 1, 0, 0, 0, 3, 'x', 'y', 'z', 0x99,
    };
    GByteArray *bytes = g_byte_array_new();
    IbStateWriter w;
    IbStateReader r;
    char xyz[3];
    unsigned i;

    ib_state_writer_init(&w, bytes);
    ib_state_begin(&w, "ABCD", 2);
    ib_state_put8(&w, 0x11);
    ib_state_put16(&w, 0x2233);
    ib_state_put32(&w, 0x44556677);
    ib_state_put64(&w, 0x0102030405060708);
    ib_state_begin(&w, "innr", 1);
    ib_state_put_bytes(&w, "xyz", 3);
    ib_state_end(&w);
    ib_state_put8(&w, 0x99);
    ib_state_end(&w);
    g_assert_cmpmem(bytes->data, bytes->len, expected, sizeof(expected));

    for (i = 0; i <= sizeof(expected); i++) {
        bool whole = i == sizeof(expected);

        ib_state_reader_init(&r, expected, i);
        g_assert_cmpint(ib_state_enter(&r, "ABCD", 3), ==, whole ? 2 : 0);
        g_assert_cmpint(ib_state_get8(&r), ==, whole ? 0x11 : 0);
        g_assert_cmpint(ib_state_get16(&r), ==, whole ? 0x2233 : 0);
        g_assert_cmpint(ib_state_get32(&r), ==, whole ? 0x44556677 : 0);
        g_assert_true(ib_state_get64(&r) ==
                      (whole ? 0x0102030405060708 : 0));
        g_assert_cmpint(ib_state_enter(&r, "innr", 1), ==, whole);
        memset(xyz, 1, sizeof(xyz));
        ib_state_get_bytes(&r, xyz, 3);
        g_assert_cmpint(xyz[2], ==, whole ? 'z' : 0);
        ib_state_leave(&r);
        g_assert_cmpint(ib_state_get8(&r), ==, whole ? 0x99 : 0);
        ib_state_leave(&r);
        g_assert_cmpint(ib_state_ok(&r), ==, whole);
    }

    /* Another tag, a newer version, bytes left over, beyond a section */
    ib_state_reader_init(&r, expected, sizeof(expected));
    g_assert_cmpint(ib_state_enter(&r, "ABCE", 3), ==, 0);
    g_assert_false(ib_state_ok(&r));
    ib_state_reader_init(&r, expected, sizeof(expected));
    g_assert_cmpint(ib_state_enter(&r, "ABCD", 1), ==, 0);
    g_assert_false(ib_state_ok(&r));
    ib_state_reader_init(&r, expected, sizeof(expected));
    ib_state_enter(&r, "ABCD", 2);
    ib_state_leave(&r);
    g_assert_false(ib_state_ok(&r));
    ib_state_reader_init(&r, expected + 25, 14);
    ib_state_enter(&r, "innr", 1);
    g_assert_cmpint(ib_state_get32(&r), ==, 0);
    g_assert_false(ib_state_ok(&r));
    g_byte_array_unref(bytes);
}

/*
 * Counters as they were saved when there were fewer (section LCNT, versions 1
 * and 2): the others start from 0.
 */
static void test_old_counters(gconstpointer data)
{
    enum { HEAD = 10 };
    const int version = GPOINTER_TO_INT(data);
    const guint old = (version == 1 ? 29 + 5 * 16 : 39 + 10 * 16) * 8;
    TestCable *c = test_cable_new_active(NULL, NULL);
    IbLink *link = c->end[0].link;
    IbLinkCounters *counters = ib_link_counters(link);
    GByteArray *bytes;
    uint32_t len;
    guint at = 0;

    counters->frames_late = 77;         /* the last of the old ones */
    counters->local_physical_errors = 88;
    counters->op_rcv_bytes_vl[15] = 99; /* the last of version 2 */
    counters->sync_header_errors = 111;
    bytes = save(link);
    while (memcmp(bytes->data + at, "LCNT", 4)) {
        at++;
    }
    len = ib_get_be32(bytes->data + at + 6);
    g_assert_cmpint(len, ==, sizeof(IbLinkCounters));
    bytes->data[at + 5] = version;
    ib_put_be32(bytes->data + at + 6, old);
    g_byte_array_remove_range(bytes, at + HEAD + old, len - old);
    ib_put_be32(bytes->data + 6, bytes->len - HEAD);
    g_assert_true(load(link, bytes->data, bytes->len));
    g_assert_cmpint(ib_link_counters(link)->frames_late, ==, 77);
    g_assert_cmpint(ib_link_counters(link)->local_physical_errors, ==,
                    version == 1 ? 0 : 88);
    g_assert_cmpint(ib_link_counters(link)->op_rcv_bytes_vl[15], ==,
                    version == 1 ? 0 : 99);
    g_assert_cmpint(ib_link_counters(link)->sync_header_errors, ==, 0);
    g_byte_array_unref(bytes);
    test_cable_free(c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/link/save/format", test_state_format);
    g_test_add_func("/link/save/mid-traffic", test_traffic);
    g_test_add_func("/link/save/port-info", test_port_info);
    g_test_add_func("/link/save/not-up", test_not_up);
    g_test_add_func("/link/save/peer-gone", test_peer_gone);
    g_test_add_func("/link/save/no-cable", test_no_cable);
    g_test_add_func("/link/save/bad-bytes", test_bad_bytes);
    g_test_add_data_func("/link/save/old-counters/1", GINT_TO_POINTER(1),
                         test_old_counters);
    g_test_add_data_func("/link/save/old-counters/2", GINT_TO_POINTER(2),
                         test_old_counters);
    return g_test_run();
}
