/*
 * Thresholds of errors: LocalPhyErrors, OverrunErrors, flow control's watchdog
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "link-cable.h"

/* Send @n packets on VL 0 of which those received get a wrong VCRC or not. */
static void send_some(TestCable *c, bool bad, unsigned n)
{
    IbLinkInject what = { .corrupt = bad ? 1000000 : 0, .vls = 0xffff };

    g_assert_true(ib_link_set_inject(c->end[1].link, &what));
    while (n--) {
        g_assert_cmpint(test_send(&c->end[0], 0, 288, n), ==, IB_TX_SENT);
        ib_link_flush(c->end[0].link);
        test_cable_settle(c);
        test_cable_run(c, TEST_MS);
    }
}

/* A bad packet adds one, a good one takes one off: above the threshold. */
static void test_integrity(void)
{
    TestCable *c = test_cable_new_active(NULL, NULL);
    TestEnd *b = &c->end[1];
    IbLinkCounters *counters;

    ib_link_set_error_thresholds(b->link, 3, 15);
    send_some(c, false, 5);
    send_some(c, true, 3);
    g_assert_cmpint(b->errors[IB_LINK_INTEGRITY], ==, 0);
    send_some(c, true, 1);
    g_assert_cmpint(b->errors[IB_LINK_INTEGRITY], ==, 1);
    counters = ib_link_counters(b->link);
    g_assert_cmpint(counters->local_link_integrity_errors, ==, 1);
    g_assert_cmpint(counters->link_error_recovery, ==, 1);
    g_assert_cmpint(counters->local_physical_errors, ==, 4);
    g_assert_cmpint(counters->malformed_packets, ==, 0);
    g_assert_cmpint(counters->rcv_errors, ==, 4);
    /* The count has started again. */
    send_some(c, true, 3);
    send_some(c, false, 2);             /* 1 left */
    send_some(c, true, 2);
    g_assert_cmpint(b->errors[IB_LINK_INTEGRITY], ==, 1);
    send_some(c, true, 1);
    g_assert_cmpint(b->errors[IB_LINK_INTEGRITY], ==, 2);
    g_assert_true(test_cable_up(c));
    g_assert_cmpint(b->errors[IB_LINK_BUFFER_OVERRUN], ==, 0);
    g_assert_cmpint(b->errors[IB_LINK_FLOW_UPDATE], ==, 0);
    test_cable_free(c);
}

/* What a frame's credit records say to end[0]: everything is free. */
static bool lie(TestEnd *to, uint8_t *frame, size_t *len)
{
    uint8_t *p = frame + 34;
    uint8_t *end = frame + 34 + ib_get_be16(frame + 16);
    uint8_t *e;

    while (p < end) {
        uint16_t n = ib_get_be16(p);

        for (e = p + 4; p[2] == 2 && to == &to->cable->end[0] &&
             e < p + 4 + n; e += 12) {
            ib_put_be32(e + 8, 1000000);
        }
        p += 4 + (n + 3) / 4 * 4;
    }
    return true;
}

static void keep(TestEnd *end, IbPacket *packet)
{
    ib_packet_hold(packet);
    g_queue_push_tail(end->user, g_slice_dup(IbPacket, packet));
}

/* One overrun in each of the periods between two credit records */
static void test_overrun(void)
{
    IbLinkConfig config = test_config();
    GQueue held = G_QUEUE_INIT;
    IbLinkCounters *counters;
    IbPacket *packet;
    TestCable *c;
    TestEnd *a, *b;
    unsigned i;

    config.rx_buffer = 80 * 64;
    c = test_cable_new_active(&config, NULL);
    a = &c->end[0];
    b = &c->end[1];
    b->on_receive = keep;
    b->user = &held;
    c->filter = lie;
    ib_link_set_error_thresholds(b->link, 15, 2);
    test_cable_run(c, 300 * TEST_MS);
    for (i = 0; i < 16; i++) {          /* fills it */
        test_send(a, 0, 288, i);
    }
    ib_link_flush(a->link);
    test_cable_settle(c);
    for (i = 0; i < 3; i++) {
        g_assert_cmpint(b->errors[IB_LINK_BUFFER_OVERRUN], ==, 0);
        test_send(a, 0, 288, i);
        ib_link_flush(a->link);
        test_cable_run(c, config.keepalive_ms * TEST_MS);
    }
    counters = ib_link_counters(b->link);
    g_assert_cmpint(b->errors[IB_LINK_BUFFER_OVERRUN], ==, 1);
    g_assert_cmpint(counters->excessive_buffer_overruns, ==, 1);
    g_assert_cmpint(counters->buffer_overruns, ==, 3);
    g_assert_cmpint(counters->local_physical_errors, ==, 0);

    /* A period without one in between, and they are not in a row. */
    for (i = 0; i < 6; i++) {
        test_send(a, 0, 288, i);
        ib_link_flush(a->link);
        test_cable_run(c, config.keepalive_ms * TEST_MS * (1 + i % 2));
    }
    g_assert_cmpint(b->errors[IB_LINK_BUFFER_OVERRUN], ==, 1);
    while ((packet = g_queue_pop_head(&held))) {
        ib_packet_release(packet);
        g_slice_free(IbPacket, packet);
    }
    test_cable_free(c);
}

/* Frames for end[0] without the credits in them, though they come. */
static uint8_t silent_vls;

static bool silence(TestEnd *to, uint8_t *frame, size_t *len)
{
    uint8_t *p = frame + 34;
    uint8_t *end = frame + 34 + ib_get_be16(frame + 16);
    uint8_t *e;

    while (p < end) {
        uint16_t n = ib_get_be16(p);

        for (e = p + 4; p[2] == 2 && to == &to->cable->end[0] &&
             e < p + 4 + n; e += 12) {
            if (silent_vls & 1 << e[0]) {
                e[0] = 14;              /* a VL that this end has not */
            }
        }
        p += 4 + (n + 3) / 4 * 4;
    }
    return true;
}

static void test_flow_update(void)
{
    IbLinkConfig config = test_config();
    TestCable *c = test_cable_new_active(&config, NULL);
    TestEnd *a = &c->end[0];
    IbLinkCounters *counters = ib_link_counters(a->link);
    int64_t timeout = config.timeout_ms * TEST_MS;

    test_cable_run(c, timeout);
    silent_vls = 1 << 1 | 1 << 3;
    c->filter = silence;
    test_cable_run(c, timeout - 2 * config.keepalive_ms * TEST_MS);
    g_assert_cmpint(a->errors[IB_LINK_FLOW_UPDATE], ==, 0);
    test_cable_run(c, 4 * config.keepalive_ms * TEST_MS);
    g_assert_cmpint(a->errors[IB_LINK_FLOW_UPDATE], ==, 1);
    g_assert_cmpint(counters->flow_update_errors_vl[1], ==, 1);
    g_assert_cmpint(counters->flow_update_errors_vl[3], ==, 1);
    g_assert_cmpint(counters->flow_update_errors_vl[0], ==, 0);
    /* Again after as long, and not for VLs that are not in use. */
    g_assert_true(ib_link_set_operational_vls(a->link, 2));     /* 0, 1 */
    test_cable_run(c, timeout);
    g_assert_cmpint(a->errors[IB_LINK_FLOW_UPDATE], ==, 2);
    g_assert_cmpint(counters->flow_update_errors_vl[1], ==, 2);
    g_assert_cmpint(counters->flow_update_errors_vl[3], ==, 1);
    /* No news when they come again */
    c->filter = NULL;
    test_cable_run(c, 3 * timeout);
    g_assert_cmpint(a->errors[IB_LINK_FLOW_UPDATE], ==, 2);
    g_assert_true(test_cable_up(c));
    g_assert_cmpint(counters->link_downed, ==, 0);
    test_cable_free(c);
}

/* Flow control packets are the credits of one VL each. */
static void test_flow_packets(void)
{
    IbLinkConfig config = test_config();
    TestCable *c = test_cable_new_active(&config, NULL);
    IbLinkCounters *a = ib_link_counters(c->end[0].link);
    uint64_t sent = a->xmit_flow_pkts, received = a->rcv_flow_pkts;

    test_cable_run(c, config.keepalive_ms * TEST_MS);
    g_assert_cmpint(a->xmit_flow_pkts - sent, ==, config.vl_cap);
    g_assert_cmpint(a->rcv_flow_pkts - received, ==, config.vl_cap);
    test_cable_free(c);
}

/* Words by the SL in the packet, whatever VL it is on */
static void test_data_by_sl(void)
{
    TestCable *c = test_cable_new_active(NULL, NULL);
    TestEnd *a = &c->end[0], *b = &c->end[1];
    uint8_t p[288];
    IbPacket packet = { .data = p, .len = sizeof(p) };

    test_packet(p, sizeof(p), 2, 0);
    ib_field_set(p, IB_LRH_SL, 11);
    g_assert_cmpint(ib_link_transmit(a->link, &packet, 1), ==, IB_TX_SENT);
    ib_link_flush(a->link);
    test_cable_settle(c);
    g_assert_cmpint(ib_link_counters(a->link)->xmit_data_sl[11], ==, 72);
    g_assert_cmpint(ib_link_counters(b->link)->rcv_data_sl[11], ==, 72);
    g_assert_cmpint(ib_link_counters(b->link)->rcv_data_sl[1], ==, 0);
    g_assert_cmpint(ib_link_counters(b->link)->rcv_data_vl[1], ==, 72);
    test_cable_free(c);
}

static bool lose(TestEnd *to, uint8_t *frame, size_t *len)
{
    return false;
}

/*
 * At FDR, with 64b/66b coding, what the cable spoils has counters of its own,
 * damaged packets one of each of the 12 lanes; at QDR it has not.
 */
static void test_extended_speeds(gconstpointer data)
{
    const bool fdr = GPOINTER_TO_INT(data);
    IbLinkInject drop = { .drop = 1000000, .vls = 0xffff };
    IbLinkConfig config = test_config();
    IbLinkCounters *counters;
    TestCable *c;
    uint8_t junk[64] = { 0 };
    unsigned i;

    config.width_supported = 0xf;
    config.speed_supported = fdr ? 0x17 : 0x7;
    c = test_cable_new_active(&config, NULL);
    counters = ib_link_counters(c->end[1].link);
    send_some(c, true, 14);
    for (i = 0; i < IB_LANES; i++) {
        g_assert_cmpint(counters->lane_errors[i], ==, fdr ? 1 + (i < 2) : 0);
    }
    g_assert_cmpint(counters->sync_header_errors, ==, 0);
    g_assert_true(ib_link_set_inject(c->end[1].link, &drop));
    test_send(&c->end[0], 0, 288, 1);
    ib_link_flush(c->end[0].link);
    test_cable_settle(c);
    g_assert_cmpint(counters->sync_header_errors, ==, fdr ? 1 : 0);
    c->filter = lose;
    for (i = 0; i < 2; i++) {
        test_send(&c->end[0], 0, 288, 2);
        ib_link_flush(c->end[0].link);
        test_cable_settle(c);
    }
    c->filter = NULL;
    send_some(c, false, 1);
    g_assert_cmpint(counters->sync_header_errors, ==, fdr ? 3 : 0);
    g_assert_cmpint(counters->unknown_blocks, ==, 0);
    memcpy(junk + 12, "\x88\xb5", 2);
    ib_link_receive_frame(c->end[1].link, junk, sizeof(junk));
    g_assert_cmpint(counters->unknown_blocks, ==, fdr ? 1 : 0);
    g_assert_cmpint(counters->symbol_errors, ==, 4);
    test_cable_free(c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/link/errors/integrity", test_integrity);
    g_test_add_func("/link/errors/overrun", test_overrun);
    g_test_add_func("/link/errors/flow-update", test_flow_update);
    g_test_add_func("/link/errors/flow-packets", test_flow_packets);
    g_test_add_func("/link/errors/data-by-sl", test_data_by_sl);
    g_test_add_data_func("/link/errors/extended-speeds/fdr",
                         GINT_TO_POINTER(true), test_extended_speeds);
    g_test_add_data_func("/link/errors/extended-speeds/qdr",
                         GINT_TO_POINTER(false), test_extended_speeds);
    return g_test_run();
}
