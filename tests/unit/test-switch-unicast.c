/*
 * Unicast forwarding by the linear table: who gets a packet, and each rule by
 * which nobody does
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ib-fabric.h"

static FabricUd data_to(uint16_t dlid)
{
    return (FabricUd) {
        .slid = 1,
        .dlid = dlid,
        .dest_qpn = 0x100,
        .src_qpn = 0x200,
        .qkey = 0x11111111,
        .payload_len = 200,
    };
}

static unsigned received_by_all(const FabricStar *s)
{
    unsigned i, n = 0;

    for (i = 0; i < 3; i++) {
        n += fabric_star_received(s, i);
    }
    return n;
}

/* @ud from host 0 is counted as @why, and reaches nobody. */
static void expect_discard(FabricStar *s, const FabricUd *ud, IbDiscard why,
                           bool relay_error)
{
    uint64_t before = ib_switch_discards(s->sw->sw, why);
    uint64_t errors = fabric_star_relay_errors(s, 1);
    unsigned i;

    for (i = 0; i < 3; i++) {
        fabric_forget(s->host[i]);
    }
    g_assert_cmpint(fabric_send(s->host[0], ud), !=, IB_TX_DISCARDED);
    fabric_run(s->fabric, FABRIC_MS);
    g_assert_cmpuint(ib_switch_discards(s->sw->sw, why), ==, before + 1);
    g_assert_cmpuint(fabric_star_relay_errors(s, 1), ==,
                     errors + relay_error);
    g_assert_cmpuint(received_by_all(s), ==, 0);
}

/* The packet that comes out is the one that went in, but for its VL. */
static void test_forward(void)
{
    FabricStar s;
    uint8_t payload[1000], sent[FABRIC_PACKET_MAX];
    FabricUd ud = data_to(3);
    const FabricPacket *got;
    size_t len;
    unsigned i;

    fabric_star_init(&s, 3, NULL);
    for (i = 0; i < sizeof(payload); i++) {
        payload[i] = i * 7;
    }
    ud.payload = payload;
    ud.payload_len = sizeof(payload);
    len = fabric_build(sent, &ud);
    fabric_send_bytes(s.host[0], sent, len, 0);
    fabric_settle(s.fabric);
    g_assert_cmpuint(received_by_all(&s), ==, 1);
    got = fabric_packet(s.host[2], 0);
    g_assert_nonnull(got);
    g_assert_cmpmem(got->data, got->len, sent, len);
    g_assert_cmpuint(got->vl, ==, 0);
    fabric_star_clear(&s);
}

/* A path is out through the port that a packet came in by, too. */
static void test_hairpin(void)
{
    FabricStar s;
    FabricUd ud = data_to(1);

    fabric_star_init(&s, 3, NULL);
    fabric_send(s.host[0], &ud);
    fabric_settle(s.fabric);
    g_assert_cmpuint(fabric_star_received(&s, 0), ==, 1);
    g_assert_cmpuint(received_by_all(&s), ==, 1);
    fabric_star_clear(&s);
}

static void test_dlid_zero(void)
{
    FabricStar s;
    FabricUd ud = data_to(0);

    fabric_star_init(&s, 3, NULL);
    /* Even where the table has a port for it. */
    fabric_star_set_lft(&s, 0, 2);
    expect_discard(&s, &ud, IB_DISCARD_DLID_ZERO, true);
    fabric_star_clear(&s);
}

static void test_above_top(void)
{
    FabricStar s;
    FabricUd ud = data_to(64);

    fabric_star_init(&s, 3, NULL);
    expect_discard(&s, &ud, IB_DISCARD_ABOVE_TOP, true);
    /* The SM moves the top; what is at the top is still in. */
    fabric_set_switch_info(s.host[0], &s.route, 2, 255, 255, 0);
    ud.dlid = 3;
    expect_discard(&s, &ud, IB_DISCARD_ABOVE_TOP, true);
    ud.dlid = 2;
    fabric_send(s.host[0], &ud);
    fabric_settle(s.fabric);
    g_assert_cmpuint(fabric_star_received(&s, 1), ==, 1);
    fabric_star_clear(&s);
}

static void test_above_cap(void)
{
    FabricStar s;
    FabricUd ud = data_to(100);
    Fabric *f = fabric_new();
    IbSwitchConfig config = fabric_switch_config(f, 4);

    fabric_free(f);
    config.linear_fdb_cap = 100;
    fabric_star_init(&s, 3, &config);
    expect_discard(&s, &ud, IB_DISCARD_ABOVE_CAP, true);
    ud.dlid = 0xbfff;
    expect_discard(&s, &ud, IB_DISCARD_ABOVE_CAP, true);
    ud.dlid = 99;
    expect_discard(&s, &ud, IB_DISCARD_ABOVE_TOP, true);
    fabric_star_clear(&s);
}

static void test_no_route(void)
{
    FabricStar s;
    FabricUd ud = data_to(20);

    fabric_star_init(&s, 3, NULL);
    expect_discard(&s, &ud, IB_DISCARD_NO_ROUTE, true);
    /* Below the top, in a block that no SM has written. */
    fabric_set_switch_info(s.host[0], &s.route, 49151, 255, 255, 0);
    ud.dlid = 0xbfff;
    expect_discard(&s, &ud, IB_DISCARD_NO_ROUTE, true);
    fabric_star_clear(&s);
}

static void test_no_port(void)
{
    FabricStar s;
    FabricUd ud = data_to(20);

    fabric_star_init(&s, 3, NULL);
    fabric_star_set_lft(&s, 20, 5);         /* the switch has 4 */
    expect_discard(&s, &ud, IB_DISCARD_NO_PORT, true);
    fabric_star_set_lft(&s, 20, 254);
    expect_discard(&s, &ud, IB_DISCARD_NO_PORT, true);
    fabric_star_clear(&s);
}

/* Data leaves a port only while it is Active; Init and Armed are not. */
static void test_port_not_active(void)
{
    FabricStar s;
    FabricUd ud = data_to(4);
    uint64_t before;

    fabric_star_init(&s, 3, NULL);
    fabric_star_set_lft(&s, 4, 4);          /* has no cable */
    before = fabric_star_xmit_discards(&s, 4);
    expect_discard(&s, &ud, IB_DISCARD_PORT_DOWN, false);
    g_assert_cmpuint(fabric_star_xmit_discards(&s, 4), ==, before + 1);

    ud.dlid = 2;
    ib_link_set_state(s.sw->ends[2].link, IB_PORT_DOWN);
    fabric_run(s.fabric, FABRIC_TRAINING);
    g_assert_cmpint(ib_link_state(s.sw->ends[2].link), ==, IB_PORT_INIT);
    before = fabric_star_xmit_discards(&s, 2);
    expect_discard(&s, &ud, IB_DISCARD_PORT_DOWN, false);
    ib_link_set_state(s.sw->ends[2].link, IB_PORT_ARMED);
    expect_discard(&s, &ud, IB_DISCARD_PORT_DOWN, false);
    g_assert_cmpuint(fabric_star_xmit_discards(&s, 2), ==, before + 2);
    fabric_star_clear(&s);
}

/* SMPs pass through a port from Init on, by the table. */
static void test_smp_through_init(void)
{
    FabricStar s;
    uint8_t smp[256] = { 1, IB_CLASS_SUBN_LID_ROUTED, 1,
                         IB_METHOD_GET_RESP };
    FabricUd ud = data_to(2);
    const FabricPacket *got;

    fabric_star_init(&s, 3, NULL);
    ib_link_set_state(s.sw->ends[2].link, IB_PORT_DOWN);
    fabric_run(s.fabric, FABRIC_TRAINING);
    g_assert_cmpint(ib_link_state(s.sw->ends[2].link), ==, IB_PORT_INIT);
    ud.vl = 15;
    ud.sl = 3;
    ud.dest_qpn = 0;
    ud.qkey = 0;
    ud.payload = smp;
    ud.payload_len = 256;
    fabric_send(s.host[0], &ud);
    fabric_settle(s.fabric);
    got = fabric_packet(s.host[1], 0);
    g_assert_nonnull(got);
    g_assert_cmpuint(got->vl, ==, 15);
    g_assert_cmpuint(ib_lrh_vl(got->data), ==, 15);
    fabric_star_clear(&s);
}

/* An entry of 0: port 0 has QP0 and QP1, and nothing else. */
static void test_port0_only_management(void)
{
    FabricStar s;
    FabricUd ud = data_to(20);

    fabric_star_init(&s, 3, NULL);
    fabric_star_set_lft(&s, 20, 0);
    expect_discard(&s, &ud, IB_DISCARD_NOT_MANAGEMENT, true);
    ud.dest_qpn = 2;
    expect_discard(&s, &ud, IB_DISCARD_NOT_MANAGEMENT, true);
    ud.dest_qpn = 1;
    ud.opcode = IB_OP_RC_SEND_ONLY;
    expect_discard(&s, &ud, IB_DISCARD_NOT_MANAGEMENT, true);
    ud.dlid = FABRIC_SWITCH_LID;
    expect_discard(&s, &ud, IB_DISCARD_NOT_MANAGEMENT, true);
    fabric_star_clear(&s);
}

/* The permissive LID is for SMPs. */
static void test_permissive(void)
{
    FabricStar s;
    FabricUd ud = data_to(0xffff);

    fabric_star_init(&s, 3, NULL);
    expect_discard(&s, &ud, IB_DISCARD_PERMISSIVE, true);
    ud.dest_qpn = 0;
    expect_discard(&s, &ud, IB_DISCARD_PERMISSIVE, true);
    fabric_star_clear(&s);
}

/* SLtoVLMappingTable of (input port, output port): VL by SL, 15 discards. */
static void test_sl_to_vl(void)
{
    FabricStar s;
    FabricUd ud = data_to(2);
    uint8_t map[64] = { 0 };

    fabric_star_init(&s, 3, NULL);
    ib_field_set(map, IB_SLTOVL_VL(3), 2);
    ib_field_set(map, IB_SLTOVL_VL(4), 15);
    g_assert_cmpint(fabric_smp(s.host[0], &s.route, IB_METHOD_SET,
                               IB_SM_ATTR_SL_TO_VL, 1 << 8 | 2, map), ==, 0);
    ud.sl = 3;
    fabric_send(s.host[0], &ud);
    fabric_settle(s.fabric);
    g_assert_cmpuint(fabric_star_received(&s, 1), ==, 1);
    g_assert_cmpuint(fabric_packet(s.host[1], 0)->vl, ==, 2);
    g_assert_cmpuint(ib_lrh_vl(fabric_packet(s.host[1], 0)->data), ==, 2);
    g_assert_cmpuint(ib_lrh_sl(fabric_packet(s.host[1], 0)->data), ==, 3);
    ud.sl = 4;
    expect_discard(&s, &ud, IB_DISCARD_SL2VL, true);
    /* The pair (1, 3) has a map of its own. */
    ud.dlid = 3;
    fabric_send(s.host[0], &ud);
    fabric_settle(s.fabric);
    g_assert_cmpuint(fabric_star_received(&s, 2), ==, 1);
    g_assert_cmpuint(fabric_packet(s.host[2], 0)->vl, !=, 15);
    fabric_star_clear(&s);
}

/* A packet over the exit port's NeighborMTU is that port's XmitDiscard. */
static void test_mtu(void)
{
    FabricStar s;
    FabricUd ud = data_to(2);
    uint64_t before;

    fabric_star_init(&s, 3, NULL);
    g_assert_true(ib_link_set_neighbor_mtu(s.sw->ends[2].link, IB_MTU_1024));
    before = fabric_star_xmit_discards(&s, 2);
    ud.payload_len = 2048;
    expect_discard(&s, &ud, IB_DISCARD_MTU, false);
    g_assert_cmpuint(fabric_star_xmit_discards(&s, 2), ==, before + 1);
    ud.payload_len = 1024;
    fabric_send(s.host[0], &ud);
    fabric_settle(s.fabric);
    g_assert_cmpuint(fabric_star_received(&s, 1), ==, 1);
    fabric_star_clear(&s);
}

/* Port counters of both sides of the relay. */
static void test_counters(void)
{
    FabricStar s;
    FabricUd ud = data_to(2);
    IbLinkCounters *in, *out;
    uint64_t rcv, xmit, words;
    uint8_t buf[FABRIC_PACKET_MAX];
    size_t len = fabric_build(buf, &ud);

    fabric_star_init(&s, 3, NULL);
    in = ib_link_counters(s.sw->ends[1].link);
    rcv = in->rcv_pkts;
    out = ib_link_counters(s.sw->ends[2].link);
    xmit = out->xmit_pkts;
    words = out->xmit_data;
    fabric_send(s.host[0], &ud);
    fabric_send(s.host[0], &ud);
    fabric_settle(s.fabric);
    in = ib_link_counters(s.sw->ends[1].link);
    out = ib_link_counters(s.sw->ends[2].link);
    g_assert_cmpuint(in->rcv_pkts, ==, rcv + 2);
    g_assert_cmpuint(out->xmit_pkts, ==, xmit + 2);
    g_assert_cmpuint(out->xmit_data, ==, words + 2 * len / 4);
    fabric_star_clear(&s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/switch/unicast/forward", test_forward);
    g_test_add_func("/switch/unicast/hairpin", test_hairpin);
    g_test_add_func("/switch/unicast/dlid-zero", test_dlid_zero);
    g_test_add_func("/switch/unicast/above-top", test_above_top);
    g_test_add_func("/switch/unicast/above-cap", test_above_cap);
    g_test_add_func("/switch/unicast/no-route", test_no_route);
    g_test_add_func("/switch/unicast/no-port", test_no_port);
    g_test_add_func("/switch/unicast/port-not-active", test_port_not_active);
    g_test_add_func("/switch/unicast/smp-through-init",
                    test_smp_through_init);
    g_test_add_func("/switch/unicast/port0-only-management",
                    test_port0_only_management);
    g_test_add_func("/switch/unicast/permissive", test_permissive);
    g_test_add_func("/switch/unicast/sl-to-vl", test_sl_to_vl);
    g_test_add_func("/switch/unicast/mtu", test_mtu);
    g_test_add_func("/switch/unicast/counters", test_counters);
    return g_test_run();
}
