/*
 * Nothing is lost for want of buffers, nothing overtakes within a VL
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ib-fabric.h"

#define PACKETS  200000

/* What the receiver checks: a number for each sender and SL. */
typedef struct Stream {
    uint32_t next[2][4];
    uint64_t received;
} Stream;

static void check_packet(FabricHost *host, const IbPacket *packet)
{
    Stream *st = host->opaque;
    IbPacketInfo info;
    unsigned from, sl;

    g_assert_cmpint(ib_packet_parse(packet->data, packet->len, &info), ==,
                    IB_PACKET_OK);
    from = ib_lrh_slid(packet->data) - 1;
    sl = ib_lrh_sl(packet->data);
    g_assert_cmpuint(from, <, 2);
    g_assert_cmpuint(sl, <, 4);
    g_assert_cmpuint(packet->vl, ==, sl);
    g_assert_cmpuint(ib_get_be32(packet->data + info.payload), ==,
                     st->next[from][sl]);
    st->next[from][sl]++;
    st->received++;
}

static void map_sl_to_vl(FabricStar *s, unsigned in, unsigned out)
{
    uint8_t map[64] = { 0 };
    unsigned sl;

    for (sl = 0; sl < 4; sl++) {
        ib_field_set(map, IB_SLTOVL_VL(sl), sl);
    }
    g_assert_cmpint(fabric_smp(s->host[0], &s->route, IB_METHOD_SET,
                               IB_SM_ATTR_SL_TO_VL, in << 8 | out, map), ==,
                    0);
}

/* Two inputs at full speed into one output that is slower than either. */
static void test_two_into_slow(void)
{
    FabricStar s;
    Stream st = { { { 0 } } };
    uint32_t sent[2][4] = { { 0 } };
    uint64_t total = 0;
    uint8_t payload[512] = { 0 };
    unsigned i, sl, waits = 0;

    fabric_star_init(&s, 3, NULL);
    for (i = 1; i <= 2; i++) {
        map_sl_to_vl(&s, i, 3);
    }
    s.host[2]->receive = check_packet;
    s.host[2]->opaque = &st;
    s.host[2]->slow_ns = FABRIC_MS / 100;
    while (total < PACKETS) {
        bool blocked = true;

        for (i = 0; i < 2; i++) {
            for (sl = 0; sl < 4; sl++) {
                FabricUd ud = {
                    .slid = i + 1, .dlid = 3, .sl = sl, .vl = sl,
                    .dest_qpn = 9, .payload = payload,
                    .payload_len = 4 + (total * 52) % 508 / 4 * 4,
                };

                /* A host's own packets wait in 64 places a VL. */
                if (total == PACKETS ||
                    ib_link_tx_queued(s.host[i]->end.link, sl) >= 60) {
                    continue;
                }
                blocked = false;
                ib_put_be32(payload, sent[i][sl]);
                g_assert_cmpint(fabric_send(s.host[i], &ud), !=,
                                IB_TX_DISCARDED);
                sent[i][sl]++;
                total++;
            }
        }
        if (blocked) {
            waits++;
            fabric_run(s.fabric, FABRIC_MS);
        } else {
            fabric_settle(s.fabric);
        }
    }
    g_assert_cmpuint(waits, >, 100);
    fabric_run(s.fabric, 20000 * FABRIC_MS);
    g_assert_cmpuint(st.received, ==, PACKETS);
    for (i = 0; i < 2; i++) {
        for (sl = 0; sl < 4; sl++) {
            g_assert_cmpuint(st.next[i][sl], ==, sent[i][sl]);
            g_assert_cmpuint(ib_link_rx_occupancy(s.sw->ends[i + 1].link,
                                                  sl), ==, 0);
        }
    }
    g_assert_cmpuint(fabric_star_xmit_discards(&s, 3), ==, 0);
    fabric_star_clear(&s);
}

static void count_packet(FabricHost *host, const IbPacket *packet)
{
    ++*(unsigned *)host->opaque;
}

/*
 * Cables within one process: a frame comes back to a switch that is still in
 * the call that sent the one before.
 */
static void test_direct_cables(void)
{
    FabricStar s;
    Stream st = { { { 0 } } };
    uint8_t payload[1024] = { 0 };
    FabricUd ud = { .dlid = 3, .dest_qpn = 9, .payload = payload,
                    .payload_len = sizeof(payload) };
    uint8_t info[64] = { 0 };
    unsigned i, n;

    fabric_star_init(&s, 3, NULL);
    s.host[2]->receive = check_packet;
    s.host[2]->opaque = &st;
    s.host[2]->slow_ns = FABRIC_MS / 100;
    fabric_set_direct(s.fabric, true);
    for (n = 0; n < 5000; n++) {
        for (i = 0; i < 2; i++) {
            ud.slid = i + 1;
            ib_put_be32(payload, n);
            while (ib_link_tx_queued(s.host[i]->end.link, 0) > 40) {
                fabric_run(s.fabric, FABRIC_MS);
            }
            g_assert_cmpint(fabric_send(s.host[i], &ud), !=,
                            IB_TX_DISCARDED);
        }
        if (n % 100 == 0) {
            g_assert_cmpint(fabric_smp(s.host[0], &s.route, IB_METHOD_GET,
                                       IB_SM_ATTR_NODE_INFO, 0, info), ==, 0);
        }
    }
    fabric_run(s.fabric, 2000 * FABRIC_MS);
    g_assert_cmpuint(st.next[0][0], ==, 5000);
    g_assert_cmpuint(st.next[1][0], ==, 5000);
    fabric_star_clear(&s);
}

/* A cable that takes no frames for a while loses nothing. */
static void test_stopped_cable(void)
{
    FabricStar s;
    FabricUd ud = { .slid = 1, .dlid = 2, .dest_qpn = 9,
                    .payload_len = 1024 };
    unsigned received = 0, i;

    fabric_star_init(&s, 2, NULL);
    s.host[1]->receive = count_packet;
    s.host[1]->opaque = &received;
    fabric_stop(&s.sw->ends[2], true);
    for (i = 0; i < 100; i++) {
        g_assert_cmpint(fabric_send(s.host[0], &ud), !=, IB_TX_DISCARDED);
        fabric_settle(s.fabric);
    }
    g_assert_cmpuint(received, ==, 0);
    fabric_stop(&s.sw->ends[2], false);
    fabric_run(s.fabric, 100 * FABRIC_MS);
    g_assert_cmpuint(received, ==, 100);
    fabric_star_clear(&s);
}

/*
 * A cable that drops a tenth of its frames, both ways: SMPs pass with a
 * retry, credits that were lost come back, no buffer stays filled.
 */
static void test_lossy_cable(void)
{
    FabricStar s;
    FabricRoute route = fabric_route(1, 2);
    FabricUd ud = { .slid = 1, .dlid = 2, .dest_qpn = 9,
                    .payload_len = 2048 };
    unsigned received = 0, before, i, try;
    uint8_t info[64] = { 0 };

    fabric_star_init(&s, 2, NULL);
    s.host[1]->receive = count_packet;
    s.host[1]->opaque = &received;
    s.sw->ends[2].drop_percent = 10;
    s.host[1]->end.drop_percent = 10;
    for (i = 0; i < 2000; i++) {
        while (ib_link_tx_queued(s.host[0]->end.link, 0) > 40) {
            fabric_run(s.fabric, FABRIC_MS);
        }
        g_assert_cmpint(fabric_send(s.host[0], &ud), !=, IB_TX_DISCARDED);
        fabric_settle(s.fabric);
        if (i % 100 == 0) {
            for (try = 0; try < 6; try++) {
                if (fabric_smp(s.host[0], &route, IB_METHOD_GET,
                               IB_SM_ATTR_NODE_INFO, 0, info) == 0) {
                    break;
                }
            }
            g_assert_cmpuint(try, <, 6);
        }
    }
    fabric_run(s.fabric, 5000 * FABRIC_MS);
    g_assert_cmpuint(received, >, 1500);
    g_assert_cmpuint(received, <, 2000);
    g_assert_cmpint(ib_link_state(s.sw->ends[2].link), ==, IB_PORT_ACTIVE);
    g_assert_cmpuint(ib_link_rx_occupancy(s.sw->ends[1].link, 0), ==, 0);
    g_assert_cmpuint(ib_link_tx_queued(s.sw->ends[2].link, 0), ==, 0);
    s.sw->ends[2].drop_percent = 0;
    s.host[1]->end.drop_percent = 0;
    before = received;
    for (i = 0; i < 200; i++) {
        g_assert_cmpint(fabric_send(s.host[0], &ud), !=, IB_TX_DISCARDED);
        fabric_run(s.fabric, FABRIC_MS);
    }
    g_assert_cmpuint(received, ==, before + 200);
    fabric_star_clear(&s);
}

/*
 * The exit port goes down under packets that wait for it: they are its
 * discards, their buffers are free again, and the inputs go on elsewhere.
 */
static void test_port_goes_down(void)
{
    FabricStar s;
    FabricUd ud = { .slid = 1, .dlid = 3, .dest_qpn = 9,
                    .payload_len = 1024 };
    unsigned received = 0, i;
    uint64_t before, queued;

    fabric_star_init(&s, 3, NULL);
    s.host[2]->slow_ns = 100000 * FABRIC_MS;
    s.host[1]->receive = count_packet;
    s.host[1]->opaque = &received;
    for (i = 0; i < 110; i++) {
        g_assert_cmpint(fabric_send(s.host[0], &ud), !=, IB_TX_DISCARDED);
        fabric_settle(s.fabric);
    }
    queued = ib_link_tx_queued(s.sw->ends[3].link, 0);
    g_assert_cmpuint(queued, >, 10);
    g_assert_cmpuint(ib_link_rx_occupancy(s.sw->ends[1].link, 0), >, 0);
    before = fabric_star_xmit_discards(&s, 3);
    fabric_cut(s.fabric, &s.sw->ends[3]);
    g_assert_cmpint(ib_link_state(s.sw->ends[3].link), ==, IB_PORT_DOWN);
    g_assert_cmpuint(ib_link_tx_queued(s.sw->ends[3].link, 0), ==, 0);
    g_assert_cmpuint(fabric_star_xmit_discards(&s, 3), >=, before + queued);
    fabric_run(s.fabric, 10 * FABRIC_MS);
    g_assert_cmpuint(ib_link_rx_occupancy(s.sw->ends[1].link, 0), ==, 0);
    ud.dlid = 2;
    for (i = 0; i < 200; i++) {
        g_assert_cmpint(fabric_send(s.host[0], &ud), !=, IB_TX_DISCARDED);
        fabric_run(s.fabric, FABRIC_MS);
    }
    g_assert_cmpuint(received, ==, 200);
    fabric_star_clear(&s);
}

/* SMPs pass while every data buffer is full. */
static void test_smp_overtakes(void)
{
    FabricStar s;
    FabricUd ud = { .slid = 1, .dlid = 3, .dest_qpn = 9,
                    .payload_len = 1024 };
    FabricRoute route = fabric_route(1, 3);
    uint8_t info[64] = { 0 };
    unsigned i;

    fabric_star_init(&s, 3, NULL);
    s.host[2]->slow_ns = 100000 * FABRIC_MS;
    for (i = 0; i < 120; i++) {
        fabric_send(s.host[0], &ud);
        fabric_settle(s.fabric);
    }
    g_assert_cmpuint(ib_link_tx_queued(s.sw->ends[3].link, 0), >, 0);
    g_assert_cmpint(fabric_smp(s.host[0], &route, IB_METHOD_GET,
                               IB_SM_ATTR_NODE_INFO, 0, info), ==, 0);
    fabric_star_clear(&s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/switch/lossless/two-into-slow", test_two_into_slow);
    g_test_add_func("/switch/lossless/direct-cables", test_direct_cables);
    g_test_add_func("/switch/lossless/stopped-cable", test_stopped_cable);
    g_test_add_func("/switch/lossless/lossy-cable", test_lossy_cable);
    g_test_add_func("/switch/lossless/port-goes-down", test_port_goes_down);
    g_test_add_func("/switch/lossless/smp-overtakes", test_smp_overtakes);
    return g_test_run();
}
