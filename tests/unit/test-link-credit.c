/*
 * Flow control: nothing is lost for want of buffer, and nobody is trusted
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "link-cable.h"
#include "hw/infiniband/ib-crc.h"

#define PACKETS     200000
#define VLS         4

/* What a receiver that holds its packets for a while knows. */
typedef struct Sink {
    GQueue held;
    uint32_t next[VLS];
    unsigned max_held;
} Sink;

static void sink_receive(TestEnd *end, IbPacket *packet)
{
    Sink *sink = end->user;
    uint32_t number = ib_get_be32(packet->data + 28);

    g_assert_cmpint(ib_lrh_vl(packet->data), ==, packet->vl);
    g_assert_cmpint(number, ==, sink->next[packet->vl]);
    sink->next[packet->vl]++;
    ib_packet_hold(packet);
    g_queue_push_tail(&sink->held, g_slice_dup(IbPacket, packet));
    sink->max_held = MAX(sink->max_held, sink->held.length);
}

static void sink_release(Sink *sink, unsigned n)
{
    IbPacket *packet;

    while (n-- && (packet = g_queue_pop_head(&sink->held))) {
        ib_packet_release(packet);
        g_slice_free(IbPacket, packet);
    }
}

/*
 * 200,000 packets on four VLs into small buffers that a slow receiver keeps
 * full, over a cable that says busy: all arrive, in order within their VL.
 */
static void test_lossless(void)
{
    IbLinkConfig config = test_config();
    IbLinkCounters *tx, *rx;
    Sink sink = { 0 };
    TestCable *c;
    TestEnd *a, *b;
    uint32_t number[VLS] = { 0 };
    uint64_t words = 0;
    unsigned sent = 0, queued = 0, vl;

    config.rx_buffer = 12 * 1024;
    c = test_cable_new_active(&config, NULL);
    c->depth = 2;
    a = &c->end[0];
    b = &c->end[1];
    b->on_receive = sink_receive;
    b->user = &sink;
    while (sent < PACKETS) {
        vl = g_rand_int_range(c->rand, 0, VLS);
        /* A node without ingress may queue 64 packets a VL. */
        if (ib_link_tx_queued(a->link, vl) < 60) {
            uint16_t len = 4 * g_rand_int_range(c->rand, 9, 1055);
            IbTxResult result = test_send(a, vl, len, number[vl]++);

            g_assert_cmpint(result, !=, IB_TX_DISCARDED);
            queued += result == IB_TX_QUEUED;
            words += len / 4;
            sent++;
        } else {
            test_step(c, c->now + 1000 * TEST_MS);
            sink_release(&sink, g_rand_int_range(c->rand, 0, 4));
        }
        if (sent % 7 == 0) {
            ib_link_flush(a->link);
        }
        for (vl = 0; vl < VLS; vl++) {
            g_assert_cmpint(ib_link_rx_occupancy(b->link, vl), <=,
                            12 * 1024 / 64);
        }
    }
    while (a->packets + b->packets < PACKETS) {
        ib_link_flush(a->link);
        sink_release(&sink, 8);
        g_assert_true(test_step(c, c->now + 1000 * TEST_MS));
    }
    g_assert_cmpint(queued, >, PACKETS / 2);        /* buffers were full */
    tx = ib_link_counters(a->link);
    rx = ib_link_counters(b->link);
    g_assert_cmpint(b->packets, ==, PACKETS);
    g_assert_cmpint(tx->xmit_pkts, ==, PACKETS);
    g_assert_cmpint(rx->rcv_pkts, ==, PACKETS);
    g_assert_cmpint(tx->xmit_data, ==, words);
    g_assert_cmpint(rx->rcv_data, ==, words);
    g_assert_cmpint(rx->unicast_rcv_pkts, ==, PACKETS);
    g_assert_cmpint(rx->buffer_overruns, ==, 0);
    g_assert_cmpint(rx->rcv_errors, ==, 0);
    g_assert_cmpint(rx->symbol_errors, ==, 0);
    g_assert_cmpint(tx->xmit_discards, ==, 0);
    g_assert_cmpint(tx->xmit_wait, >, 0);
    for (vl = 0; vl < VLS; vl++) {
        g_assert_cmpint(tx->xmit_pkts_vl[vl], ==, number[vl]);
        g_assert_cmpint(rx->rcv_data_vl[vl], ==, tx->xmit_data_vl[vl]);
    }

    /* When all is given back, all is advertised. */
    sink_release(&sink, UINT_MAX);
    test_cable_run(c, 300 * TEST_MS);
    for (vl = 0; vl < VLS; vl++) {
        g_assert_cmpint(ib_link_rx_occupancy(b->link, vl), ==, 0);
        g_assert_cmpint(ib_link_tx_credits(a->link, vl), ==, 12 * 1024 / 64);
    }
    test_cable_free(c);
}

/* Blocks are of 64 bytes, LRH to VCRC (IBA Vol.1 7.9.4). */
static void test_blocks(void)
{
    static const uint16_t rows[][2] = {     /* bytes LRH to ICRC, blocks */
        { 20, 1 }, { 60, 1 }, { 64, 2 }, { 124, 2 }, { 128, 3 }, { 288, 5 },
        { 4096 + 124, 66 },
    };
    TestCable *c = test_cable_new_active(NULL, NULL);
    TestEnd *a = &c->end[0];
    unsigned i;

    test_cable_run(c, 100 * TEST_MS);
    g_assert_cmpint(ib_link_tx_credits(a->link, 0), ==, 1024);
    for (i = 0; i < G_N_ELEMENTS(rows); i++) {
        uint32_t before = ib_link_tx_credits(a->link, 0);

        g_assert_cmpint(test_send(a, 0, rows[i][0], 0), ==, IB_TX_SENT);
        g_assert_cmpint(before - ib_link_tx_credits(a->link, 0), ==,
                        rows[i][1]);
    }
    test_cable_free(c);
}

/* A sender stops at FCCL and goes on when packets leave the buffer. */
static void test_stall(void)
{
    IbLinkConfig config = test_config();
    Sink sink = { 0 };
    TestCable *c;
    TestEnd *a, *b;
    unsigned i;

    config.rx_buffer = 80 * 64;
    c = test_cable_new_active(&config, NULL);
    a = &c->end[0];
    b = &c->end[1];
    b->on_receive = sink_receive;
    b->user = &sink;
    for (i = 0; i < 40; i++) {
        test_send(a, 1, 288, i);        /* 5 blocks */
    }
    ib_link_flush(a->link);
    test_cable_run(c, 1000 * TEST_MS);
    g_assert_cmpint(b->packets, ==, 16);
    g_assert_cmpint(ib_link_tx_queued(a->link, 1), ==, 24);
    g_assert_cmpint(ib_link_tx_credits(a->link, 1), ==, 0);
    g_assert_cmpint(ib_link_rx_occupancy(b->link, 1), ==, 80);
    /* Another VL is not held up. */
    sink.next[2] = 99;
    g_assert_cmpint(test_send(a, 2, 288, 99), ==, IB_TX_SENT);
    ib_link_flush(a->link);
    test_cable_settle(c);
    g_assert_cmpint(b->packets, ==, 17);

    sink_release(&sink, 16);
    test_cable_settle(c);
    g_assert_cmpint(b->packets, ==, 33);
    sink_release(&sink, UINT_MAX);
    test_cable_settle(c);
    g_assert_cmpint(b->packets, ==, 41);
    g_assert_cmpint(ib_link_tx_queued(a->link, 1), ==, 0);
    /* About a second of waiting on VL1 */
    g_assert_cmpint(ib_link_counters(a->link)->xmit_wait_vl[1], >=, 900000);
    g_assert_cmpint(ib_link_counters(a->link)->xmit_wait_vl[2], ==, 0);
    sink_release(&sink, UINT_MAX);
    test_cable_free(c);
}

/*
 * Frames that are lost take credits with them; the next record brings them
 * back, long before a keep-alive does.
 */
static void test_heal(void)
{
    IbLinkConfig config = test_config();
    TestCable *c;
    TestEnd *a, *b;
    unsigned i, sent = 0;
    int64_t start;

    config.rx_buffer = 80 * 64;
    config.keepalive_ms = 10000;
    config.timeout_ms = 30000;
    c = test_cable_new_active(&config, NULL);
    a = &c->end[0];
    b = &c->end[1];
    c->cut = true;
    for (i = 0; i < 16; i++) {
        g_assert_cmpint(test_send(a, 0, 288, i), ==, IB_TX_SENT);
    }
    ib_link_flush(a->link);
    c->cut = false;
    g_assert_cmpint(test_send(a, 0, 288, i), ==, IB_TX_QUEUED);
    ib_link_flush(a->link);
    test_cable_run(c, 50 * TEST_MS);
    g_assert_cmpint(b->packets, ==, 1);
    g_assert_cmpint(ib_link_tx_credits(a->link, 0), >=, 70);
    g_assert_cmpint(ib_link_counters(b->link)->symbol_errors, ==, 1);

    /* With 10 % loss it never stops for good. */
    c->loss_permille = 100;
    start = c->now;
    b->packets = 0;
    while (sent < 20000) {
        if (ib_link_tx_queued(a->link, 0) < 60) {
            test_send(a, 0, 288, sent++);
        } else {
            g_assert_true(test_step(c, c->now + 100 * TEST_MS));
        }
        ib_link_flush(a->link);
    }
    g_assert_cmpint(b->packets, >, 17000);
    g_assert_cmpint(b->packets, <, 19000);
    g_assert_true(test_cable_up(c));
    /* Stalls of 10 ms, not of 10 s */
    g_assert_cmpint((c->now - start) / TEST_MS, <, 60000);
    g_assert_cmpint(ib_link_counters(b->link)->buffer_overruns, ==, 0);
    test_cable_free(c);
}

/* A peer that ignores its limit loses its packets, and only it. */
static uint32_t lie_fccl;

static bool lie(TestEnd *to, uint8_t *frame, size_t *len)
{
    uint8_t *p = frame + 34;
    uint8_t *end = frame + 34 + ib_get_be16(frame + 16);

    while (p < end) {
        uint16_t n = ib_get_be16(p);

        if (p[2] == 2 && to == &to->cable->end[0]) {
            uint8_t *e;

            for (e = p + 4; e < p + 4 + n; e += 12) {
                ib_put_be32(e + 8, lie_fccl);
            }
        }
        p += 4 + (n + 3) / 4 * 4;
    }
    return true;
}

static void test_overrun(void)
{
    IbLinkConfig config = test_config();
    IbLinkCounters *rx;
    Sink sink = { 0 };
    TestCable *c;
    TestEnd *a, *b;
    unsigned i;

    config.rx_buffer = 80 * 64;
    c = test_cable_new_active(&config, NULL);
    a = &c->end[0];
    b = &c->end[1];
    b->on_receive = sink_receive;
    b->user = &sink;
    lie_fccl = 100000;
    c->filter = lie;
    test_cable_run(c, 300 * TEST_MS);
    for (i = 0; i < 40; i++) {
        g_assert_cmpint(test_send(a, 0, 288, i), ==, IB_TX_SENT);
    }
    ib_link_flush(a->link);
    test_cable_settle(c);
    rx = ib_link_counters(b->link);
    g_assert_cmpint(b->packets, ==, 16);
    g_assert_cmpint(rx->buffer_overruns, ==, 24);
    /* PortRcvErrors has "packets discarded due to buffer overrun" in it. */
    g_assert_cmpint(rx->rcv_errors, ==, 24);
    g_assert_cmpint(rx->rcv_pkts, ==, 40);
    g_assert_cmpint(ib_link_rx_occupancy(b->link, 0), ==, 80);
    sink_release(&sink, UINT_MAX);
    test_cable_free(c);
}

/* Counts of blocks wrap around. */
static void test_wrap(void)
{
    IbLinkConfig config = test_config();
    TestCable *c;
    TestEnd *a;

    /* A limit half the number space ahead or more is no credit at all. */
    config.rx_buffer = 80 * 64;
    c = test_cable_new_active(&config, NULL);
    a = &c->end[0];
    c->filter = lie;
    lie_fccl = 0x80000001;
    test_cable_run(c, 200 * TEST_MS);
    g_assert_cmpint(ib_link_tx_credits(a->link, 0), ==, 0);
    g_assert_cmpint(test_send(a, 0, 288, 0), ==, IB_TX_QUEUED);
    lie_fccl = 0x7fffffff;
    test_cable_run(c, 200 * TEST_MS);
    g_assert_cmpint(ib_link_tx_queued(a->link, 0), ==, 0);
    test_cable_free(c);
}

/* VL15 has a buffer of its own and no credits: dropped when full. */
static void test_vl15(void)
{
    Sink sink = { 0 };
    IbLinkConfig config = test_config();
    TestCable *c;
    TestEnd *a, *b;
    unsigned i;

    config.vl15_packets = 4;
    c = test_cable_new_active(&config, NULL);
    a = &c->end[0];
    b = &c->end[1];
    for (i = 0; i < 10; i++) {
        test_send(a, IB_VL_MGMT, 288, i);
    }
    ib_link_flush(a->link);
    test_cable_settle(c);
    /* A node that is done with each at once needs no more than one place. */
    g_assert_cmpint(b->packets, ==, 10);
    g_assert_cmpint(ib_link_counters(b->link)->vl15_dropped, ==, 0);

    b->user = &sink;
    b->on_receive = NULL;
    for (i = 0; i < 10; i++) {
        IbPacket *held = g_slice_new0(IbPacket);

        /* Hold what arrives, by hand */
        held->data = b->last;
        held->len = 288;
        held->vl = IB_VL_MGMT;
        held->ingress = b->link;
        if (i < 4) {
            ib_packet_hold(held);
            g_queue_push_tail(&sink.held, held);
        } else {
            g_slice_free(IbPacket, held);
        }
    }
    g_assert_cmpint(ib_link_rx_occupancy(b->link, IB_VL_MGMT), ==, 4);
    for (i = 0; i < 10; i++) {
        test_send(a, IB_VL_MGMT, 288, i);
    }
    ib_link_flush(a->link);
    test_cable_settle(c);
    g_assert_cmpint(b->packets, ==, 10);
    g_assert_cmpint(ib_link_counters(b->link)->vl15_dropped, ==, 10);
    sink_release(&sink, 1);
    test_send(a, IB_VL_MGMT, 288, i);
    ib_link_flush(a->link);
    test_cable_settle(c);
    g_assert_cmpint(b->packets, ==, 11);
    sink_release(&sink, UINT_MAX);
    test_cable_free(c);
}

/* Packets held while their link goes down, or is freed, do no harm. */
static void test_held_over(void)
{
    Sink sink = { 0 };
    TestCable *c = test_cable_new_active(NULL, NULL);
    TestEnd *a = &c->end[0], *b = &c->end[1];
    IbLinkConfig config = *ib_link_config(b->link);
    unsigned i;

    b->on_receive = sink_receive;
    b->user = &sink;
    for (i = 0; i < 4; i++) {
        test_send(a, 0, 2048, i);
    }
    ib_link_flush(a->link);
    test_cable_settle(c);
    g_assert_cmpint(ib_link_rx_occupancy(b->link, 0), ==, 4 * 33);
    ib_link_set_state(a->link, IB_PORT_DOWN);
    test_cable_run(c, 200 * TEST_MS);
    test_cable_activate(c);
    /* The buffer is still filled: that much less is advertised. */
    g_assert_cmpint(ib_link_tx_credits(a->link, 0), ==, 1024 - 4 * 33);
    sink_release(&sink, 2);
    test_cable_run(c, 200 * TEST_MS);
    g_assert_cmpint(ib_link_tx_credits(a->link, 0), ==, 1024 - 2 * 33);

    ib_link_free(b->link);
    sink_release(&sink, UINT_MAX);
    test_end_new_link(b, &config);
    test_cable_free(c);
}

/*
 * One packet to many ports shares one buffer and fills its receive buffer
 * once, until the last port has sent it.
 */
static TestCable *mcast_out[3];

static void mcast_receive(TestEnd *end, IbPacket *packet)
{
    unsigned i;

    for (i = 0; i < 3; i++) {
        g_assert_cmpint(ib_link_transmit(mcast_out[i]->end[0].link, packet,
                                         i), ==, IB_TX_QUEUED);
        g_assert_cmphex(ib_get_be32(packet->data + 28), ==, 0xcafe);
    }
}

static void test_replicate(void)
{
    TestCable *in = test_cable_new_active(NULL, NULL);
    unsigned i;

    for (i = 0; i < 3; i++) {
        TestCable *c = mcast_out[i] = test_cable_new_active(NULL, NULL);
        unsigned n = 0;

        test_cable_run(c, 200 * TEST_MS);
        /* Out of credits: what comes waits. */
        while (test_send(&c->end[0], i, 4096, n) == IB_TX_SENT) {
            n++;
        }
    }
    in->end[1].on_receive = mcast_receive;
    test_send(&in->end[0], 3, 2048, 0xcafe);
    ib_link_flush(in->end[0].link);
    test_cable_settle(in);
    for (i = 0; i < 3; i++) {
        TestEnd *b = &mcast_out[i]->end[1];

        g_assert_cmpint(ib_link_rx_occupancy(in->end[1].link, 3), ==, 33);
        ib_link_flush(mcast_out[i]->end[0].link);
        test_cable_settle(mcast_out[i]);
        g_assert_cmpint(b->last_len, ==, 2048);
        g_assert_cmphex(ib_get_be32(b->last + 28), ==, 0xcafe);
        g_assert_cmpint(b->last_vl, ==, i);
        g_assert_cmpint(ib_lrh_vl(b->last), ==, i);
    }
    g_assert_cmpint(ib_link_rx_occupancy(in->end[1].link, 3), ==, 0);
    for (i = 0; i < 3; i++) {
        test_cable_free(mcast_out[i]);
    }
    test_cable_free(in);
}

/*
 * What a node passes on stays readable for it until it returns, even if the
 * queue that took it is emptied meanwhile and its buffer is wanted again.
 */
static void lent_receive(TestEnd *end, IbPacket *packet)
{
    IbLink *out = mcast_out[0]->end[0].link;

    g_assert_cmpint(ib_link_transmit(out, packet, 0), ==, IB_TX_QUEUED);
    ib_link_set_operational_vls(out, 1);
    ib_link_set_state(out, IB_PORT_DOWN);
    g_assert_cmpint(ib_link_tx_queued(out, 0), ==, 0);
    out = mcast_out[1]->end[0].link;
    g_assert_cmpint(test_send(&mcast_out[1]->end[0], 0, 2048, 0xdead), ==,
                    IB_TX_QUEUED);
    g_assert_cmphex(ib_get_be32(packet->data + 28), ==, 0xcafe);
    g_assert_cmpint(ib_link_transmit(out, packet, 0), ==, IB_TX_QUEUED);
}

static void test_lent(void)
{
    TestCable *in = test_cable_new_active(NULL, NULL);
    unsigned i;

    for (i = 0; i < 2; i++) {
        mcast_out[i] = test_cable_new_active(NULL, NULL);
        while (test_send(&mcast_out[i]->end[0], 0, 4096, 0) == IB_TX_SENT) {
            ;
        }
    }
    in->end[1].on_receive = lent_receive;
    test_send(&in->end[0], 3, 2048, 0xcafe);
    ib_link_flush(in->end[0].link);
    test_cable_settle(in);
    g_assert_cmpint(ib_link_rx_occupancy(in->end[1].link, 3), ==, 33);
    ib_link_flush(mcast_out[1]->end[0].link);
    test_cable_settle(mcast_out[1]);
    g_assert_cmphex(ib_get_be32(mcast_out[1]->end[1].last + 28), ==, 0xcafe);
    g_assert_cmpint(ib_link_rx_occupancy(in->end[1].link, 3), ==, 0);
    for (i = 0; i < 2; i++) {
        test_cable_free(mcast_out[i]);
    }
    test_cable_free(in);
}

/* Packets of the node itself may wait in 64 places a VL. */
static void test_own_queue(void)
{
    TestCable *c = test_cable_new_active(NULL, NULL);
    TestEnd *a = &c->end[0];
    unsigned i, queued = 0, discarded = 0;

    c->depth = 1;
    test_send(a, IB_VL_MGMT, 288, 0);
    ib_link_flush(a->link);
    g_assert_true(a->told_busy);
    for (i = 0; i < 1000; i++) {
        switch (test_send(a, IB_VL_MGMT, 288, i)) {
        case IB_TX_QUEUED:
            queued++;
            break;
        case IB_TX_DISCARDED:
            discarded++;
            break;
        default:
            break;
        }
    }
    g_assert_cmpint(queued, ==, 64);
    g_assert_cmpint(discarded, >, 0);
    g_assert_cmpint(ib_link_counters(a->link)->xmit_discards, ==, discarded);
    test_cable_settle(c);
    g_assert_cmpint(c->end[1].packets, ==, 1001 - discarded);
    test_cable_free(c);
}

/* A channel adapter writes in place and is told when it may go on. */
typedef struct Source {
    uint32_t next;
    uint32_t want;
} Source;

static void source_ready(TestEnd *end, uint16_t vls)
{
    Source *source = end->user;
    uint8_t *p;

    g_assert_cmphex(vls, ==, 1 << 2);
    while (source->next < source->want &&
           (p = ib_link_tx_begin(end->link, 2, 1024 + 32))) {
        test_packet(p, 1024 + 32, 5, source->next);
        if (source->next % 5 == 4) {
            ib_link_tx_cancel(end->link);
            p = ib_link_tx_begin(end->link, 2, 1024 + 32);
            g_assert_nonnull(p);
            test_packet(p, 1024 + 32, 5, source->next);
        }
        ib_link_tx_end(end->link, 0);
        source->next++;
    }
}

static void test_in_place(void)
{
    IbLinkConfig config = test_config();
    Source source = { .want = 20000 };
    Sink sink = { 0 };
    TestCable *c;
    TestEnd *a, *b;

    config.rx_buffer = 16 * 1024;
    c = test_cable_new(&config, NULL);
    a = &c->end[0];
    b = &c->end[1];
    a->on_ready = source_ready;
    a->user = &source;
    b->on_receive = sink_receive;
    b->user = &sink;
    /* Turned away while Down; the port coming up is what makes it ready. */
    g_assert_null(ib_link_tx_begin(a->link, 2, 1024));
    test_cable_attach(c);
    test_cable_run(c, 100 * TEST_MS);
    g_assert_cmpint(source.next, ==, 0);
    test_cable_activate(c);
    g_assert_cmpint(source.next, >, 0);
    ib_link_flush(a->link);
    while (b->packets < source.want) {
        g_assert_true(test_step(c, c->now + 1000 * TEST_MS));
        sink_release(&sink, 3);
    }
    g_assert_cmpint(sink.next[2], ==, source.want);
    g_assert_cmpint(ib_link_counters(a->link)->xmit_pkts_vl[2], ==,
                    source.want);
    sink_release(&sink, UINT_MAX);
    test_cable_free(c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/link/credit/lossless", test_lossless);
    g_test_add_func("/link/credit/blocks", test_blocks);
    g_test_add_func("/link/credit/stall", test_stall);
    g_test_add_func("/link/credit/heal", test_heal);
    g_test_add_func("/link/credit/overrun", test_overrun);
    g_test_add_func("/link/credit/wrap", test_wrap);
    g_test_add_func("/link/credit/vl15", test_vl15);
    g_test_add_func("/link/credit/held-over", test_held_over);
    g_test_add_func("/link/credit/replicate", test_replicate);
    g_test_add_func("/link/credit/lent", test_lent);
    g_test_add_func("/link/credit/own-queue", test_own_queue);
    g_test_add_func("/link/credit/in-place", test_in_place);
    return g_test_run();
}
