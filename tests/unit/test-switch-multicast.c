/*
 * Multicast forwarding: the table, and the default ports where it has no
 * answer
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ib-fabric.h"

#define MLID  0xc005

static const uint8_t mgid[16] = { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff };
static const uint8_t sgid[16] = { 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1 };

static FabricUd group_packet(uint16_t mlid)
{
    return (FabricUd) {
        .slid = 1,
        .dlid = mlid,
        .sgid = sgid,
        .dgid = mgid,
        .dest_qpn = IB_QPN_MULTICAST,
        .src_qpn = 0x300,
        .qkey = 0x0b1b,
        .payload_len = 100,
    };
}

/* Send from host @from: who gets it, as a mask of hosts. */
static unsigned send_from(FabricStar *s, unsigned from, const FabricUd *ud)
{
    unsigned i, mask = 0;

    for (i = 0; i < 4; i++) {
        fabric_forget(s->host[i]);
    }
    g_assert_cmpint(fabric_send(s->host[from], ud), !=, IB_TX_DISCARDED);
    fabric_run(s->fabric, FABRIC_MS);
    for (i = 0; i < 4; i++) {
        unsigned n = fabric_star_received(s, i);

        g_assert_cmpuint(n, <=, 1);
        mask |= n << i;
    }
    return mask;
}

static void setup(FabricStar *s, uint16_t cap)
{
    Fabric *f = fabric_new();
    IbSwitchConfig config = fabric_switch_config(f, 5);

    fabric_free(f);
    config.multicast_fdb_cap = cap;
    fabric_star_init(s, 4, &config);
}

static void test_mask(void)
{
    FabricStar s;
    FabricUd ud = group_packet(MLID);
    uint8_t sent[FABRIC_PACKET_MAX];
    size_t len = fabric_build(sent, &ud);
    unsigned i;

    setup(&s, 64);
    fabric_set_mft(s.host[0], &s.route, MLID, 1 << 2 | 1 << 3 | 1 << 4);
    g_assert_cmphex(send_from(&s, 0, &ud), ==, 0xe);
    for (i = 1; i < 4; i++) {
        const FabricPacket *p = fabric_packet(s.host[i], 0);

        g_assert_cmpmem(p->data, p->len, sent, len);
    }
    /* The neighbours of the entry are untouched. */
    ud.dlid = MLID + 1;
    g_assert_cmphex(send_from(&s, 0, &ud), ==, 0);
    ud.dlid = MLID - 1;
    g_assert_cmphex(send_from(&s, 0, &ud), ==, 0);
    fabric_star_clear(&s);
}

static void test_never_back(void)
{
    FabricStar s;
    FabricUd ud = group_packet(MLID);
    uint64_t errors;

    setup(&s, 64);
    fabric_set_mft(s.host[0], &s.route, MLID, 1 << 1 | 1 << 2 | 1 << 3);
    g_assert_cmphex(send_from(&s, 0, &ud), ==, 0x6);
    g_assert_cmphex(send_from(&s, 1, &ud), ==, 0x5);
    g_assert_cmphex(send_from(&s, 3, &ud), ==, 0x7);
    /* A group of one: no default port, and no error of the relay. */
    fabric_set_switch_info(s.host[0], &s.route, 63, 4, 4, 0);
    fabric_set_mft(s.host[0], &s.route, MLID, 1 << 1);
    errors = fabric_star_relay_errors(&s, 1);
    g_assert_cmphex(send_from(&s, 0, &ud), ==, 0);
    g_assert_cmpuint(ib_switch_discards(s.sw->sw, IB_DISCARD_SAME_PORT), ==,
                     1);
    g_assert_cmpuint(fabric_star_relay_errors(&s, 1), ==, errors);
    fabric_star_clear(&s);
}

/* Default ports 3 (primary) and 2: from anywhere to 3, from 3 to 2. */
static void expect_default(FabricStar *s, const FabricUd *ud)
{
    g_assert_cmphex(send_from(s, 0, ud), ==, 1 << 2);
    g_assert_cmphex(send_from(s, 1, ud), ==, 1 << 2);
    g_assert_cmphex(send_from(s, 2, ud), ==, 1 << 1);
}

static void test_default_no_table(void)
{
    FabricStar s;
    FabricUd ud = group_packet(MLID);

    setup(&s, 0);
    fabric_set_switch_info(s.host[0], &s.route, 63, 3, 2, 0);
    expect_default(&s, &ud);
    fabric_star_clear(&s);
}

static void test_default_above_cap(void)
{
    FabricStar s;
    FabricUd ud = group_packet(0xc040);

    setup(&s, 64);
    fabric_set_switch_info(s.host[0], &s.route, 63, 3, 2, 0);
    expect_default(&s, &ud);
    ud.dlid = 0xfffe;
    expect_default(&s, &ud);
    fabric_star_clear(&s);
}

static void test_default_above_top(void)
{
    FabricStar s;
    FabricUd ud = group_packet(MLID);

    setup(&s, 64);
    fabric_set_mft(s.host[0], &s.route, MLID, 1 << 4);
    fabric_set_switch_info(s.host[0], &s.route, 63, 3, 2, MLID - 1);
    expect_default(&s, &ud);
    /* At the top: in the table. */
    fabric_set_switch_info(s.host[0], &s.route, 63, 3, 2, MLID);
    g_assert_cmphex(send_from(&s, 0, &ud), ==, 1 << 3);
    /* BFFF: the table has no entry at all. */
    fabric_set_switch_info(s.host[0], &s.route, 63, 3, 2, 0xbfff);
    ud.dlid = 0xc000;
    expect_default(&s, &ud);
    /* 0: there is no top. */
    ud.dlid = MLID;
    fabric_set_switch_info(s.host[0], &s.route, 63, 3, 2, 0);
    g_assert_cmphex(send_from(&s, 0, &ud), ==, 1 << 3);
    fabric_star_clear(&s);
}

static void test_default_empty(void)
{
    FabricStar s;
    FabricUd ud = group_packet(MLID);

    setup(&s, 64);
    fabric_set_switch_info(s.host[0], &s.route, 63, 3, 2, 0);
    expect_default(&s, &ud);                /* never written */
    fabric_set_mft(s.host[0], &s.route, MLID, 1 << 4);
    fabric_set_mft(s.host[0], &s.route, MLID, 0);
    expect_default(&s, &ud);                /* written, all zeros */
    fabric_star_clear(&s);
}

/* A default port that the switch does not have discards. */
static void test_default_no_port(void)
{
    FabricStar s;
    FabricUd ud = group_packet(MLID);

    setup(&s, 64);
    fabric_set_switch_info(s.host[0], &s.route, 63, 6, 2, 0);
    g_assert_cmphex(send_from(&s, 0, &ud), ==, 0);
    g_assert_cmpuint(ib_switch_discards(s.sw->sw, IB_DISCARD_MCAST_EMPTY),
                     ==, 1);
    g_assert_cmpuint(fabric_star_relay_errors(&s, 1), ==, 1);
    ud.dlid = 0xc040;
    g_assert_cmphex(send_from(&s, 0, &ud), ==, 0);
    g_assert_cmpuint(ib_switch_discards(s.sw->sw, IB_DISCARD_NO_ROUTE), ==,
                     1);
    fabric_set_switch_info(s.host[0], &s.route, 63, 3, 255, 0);
    g_assert_cmphex(send_from(&s, 2, &ud), ==, 0);
    g_assert_cmpuint(ib_switch_discards(s.sw->sw, IB_DISCARD_NO_ROUTE), ==,
                     2);
    g_assert_cmphex(send_from(&s, 0, &ud), ==, 1 << 2);
    fabric_star_clear(&s);
}

/* Both default ports the same: what comes from there goes nowhere. */
static void test_default_never_back(void)
{
    FabricStar s;
    FabricUd ud = group_packet(MLID);

    setup(&s, 64);
    fabric_set_switch_info(s.host[0], &s.route, 63, 3, 3, 0);
    g_assert_cmphex(send_from(&s, 2, &ud), ==, 0);
    g_assert_cmpuint(ib_switch_discards(s.sw->sw, IB_DISCARD_SAME_PORT), ==,
                     1);
    fabric_star_clear(&s);
}

/* UD and raw packets only. */
static void test_transport(void)
{
    static const uint8_t not_ud[] = {
        IB_OP_RC_SEND_ONLY, IB_OP_UC_SEND_ONLY, IB_OP_RD_SEND_ONLY,
    };
    FabricStar s;
    uint8_t raw[FABRIC_PACKET_MAX];
    size_t len;
    unsigned i;

    setup(&s, 64);
    fabric_set_mft(s.host[0], &s.route, MLID, 0x1e);
    for (i = 0; i < G_N_ELEMENTS(not_ud); i++) {
        FabricUd ud = group_packet(MLID);

        ud.opcode = not_ud[i];
        g_assert_cmphex(send_from(&s, 0, &ud), ==, 0);
        ud.sgid = NULL;
        g_assert_cmphex(send_from(&s, 0, &ud), ==, 0);
        g_assert_cmpuint(ib_switch_discards(s.sw->sw,
                                            IB_DISCARD_MCAST_TRANSPORT), ==,
                         2 * i + 2);
    }
    g_assert_cmpuint(fabric_star_relay_errors(&s, 1), ==, 2 * i);
    len = fabric_build_raw(raw, 1, MLID, 64);
    fabric_send_bytes(s.host[0], raw, len, 0);
    fabric_settle(s.fabric);
    for (i = 1; i < 4; i++) {
        g_assert_cmpuint(fabric_star_received(&s, i), ==, 1);
    }
    fabric_star_clear(&s);
}

/* One port of the group that is not Active costs the others nothing. */
static void test_port_down(void)
{
    FabricStar s;
    FabricUd ud = group_packet(MLID);
    uint64_t before;

    setup(&s, 64);
    fabric_set_mft(s.host[0], &s.route, MLID, 0x3e);
    before = fabric_star_xmit_discards(&s, 5);
    g_assert_cmphex(send_from(&s, 0, &ud), ==, 0xe);
    g_assert_cmpuint(fabric_star_xmit_discards(&s, 5), ==, before + 1);
    fabric_star_clear(&s);
}

/* Port 0 in the mask: QP1 gets what is for it, with its Q_Key. */
static void test_port0(void)
{
    static const uint8_t own_gid[16] = { 0xfe, 0x80, [15] = 1 };
    FabricStar s;
    uint8_t gmp[256];
    FabricUd ud = group_packet(MLID);
    const FabricPacket *got;
    IbPacketInfo info;

    setup(&s, 64);
    fabric_set_mft(s.host[0], &s.route, MLID, 1 << 0 | 1 << 2);
    /* Data of the group: the other port gets it, port 0 discards. */
    g_assert_cmphex(send_from(&s, 0, &ud), ==, 0x2);
    g_assert_cmpuint(ib_switch_discards(s.sw->sw,
                                        IB_DISCARD_NOT_MANAGEMENT), ==, 1);
    /* A Get(ClassPortInfo) of PerfMgmt to QP1. */
    ib_mad_init(gmp, IB_CLASS_PERFORMANCE, IB_CLASS_VERSION_PERFORMANCE,
                IB_METHOD_GET, 0x77, IB_ATTR_CLASS_PORT_INFO, 0);
    ud.sgid = own_gid;
    ud.dest_qpn = 1;
    ud.src_qpn = 1;
    ud.qkey = IB_QKEY_WELL_KNOWN;
    ud.payload = gmp;
    ud.payload_len = 256;
    /* Host 1 gets the copy, host 0 the answer, from the switch's own LID. */
    g_assert_cmphex(send_from(&s, 0, &ud), ==, 0x3);
    got = fabric_packet(s.host[0], 0);
    g_assert_cmpint(ib_packet_parse(got->data, got->len, &info), ==,
                    IB_PACKET_OK);
    g_assert_cmpuint(ib_lrh_slid(got->data), ==, FABRIC_SWITCH_LID);
    g_assert_cmpuint(ib_lrh_dlid(got->data), ==, 1);
    g_assert_cmpuint(ib_field_get(got->data + info.payload, IB_MAD_METHOD),
                     ==, IB_METHOD_GET_RESP);
    fabric_star_clear(&s);
}

/*
 * Hosts that do not give credits back: copies wait, each in its port's
 * queue, and arrive whole and in order when credits come.
 */
static void test_slow_members(void)
{
    FabricStar s;
    FabricUd ud = group_packet(MLID);
    unsigned i, j, n = 0;

    setup(&s, 64);
    fabric_set_mft(s.host[0], &s.route, MLID, 1 << 2 | 1 << 3 | 1 << 4);
    s.host[1]->slow_ns = FABRIC_MS;
    s.host[2]->slow_ns = 3 * FABRIC_MS;
    for (i = 0; i < 150; i++) {
        uint8_t payload[2048];

        memset(payload, i, sizeof(payload));
        ud.payload = payload;
        ud.payload_len = sizeof(payload);
        g_assert_cmpint(fabric_send(s.host[0], &ud), !=, IB_TX_DISCARDED);
        fabric_run(s.fabric, FABRIC_MS / 10);
        n += ib_link_tx_queued(s.sw->ends[3].link, 0) != 0;
        /* A host's own packets wait in 64 places; give them time. */
        while (ib_link_tx_queued(s.host[0]->end.link, 0) > 32) {
            fabric_run(s.fabric, FABRIC_MS);
        }
    }
    g_assert_cmpuint(n, >, 0);
    fabric_run(s.fabric, 2000 * FABRIC_MS);
    for (j = 1; j < 4; j++) {
        g_assert_cmpuint(fabric_star_received(&s, j), ==, 150);
        for (i = 0; i < 150; i++) {
            const FabricPacket *p = fabric_packet(s.host[j], i);
            IbPacketInfo info;

            g_assert_cmpint(ib_packet_parse(p->data, p->len, &info), ==,
                            IB_PACKET_OK);
            g_assert_cmpuint(p->data[info.payload], ==, i);
            g_assert_cmpuint(p->data[info.payload + 2047], ==, i);
        }
    }
    /* All buffers of the port that they came in by are free again. */
    g_assert_cmpuint(ib_link_rx_occupancy(s.sw->ends[1].link, 0), ==, 0);
    fabric_star_clear(&s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/switch/mcast/mask", test_mask);
    g_test_add_func("/switch/mcast/never-back-to-ingress", test_never_back);
    g_test_add_func("/switch/mcast/default/no-table", test_default_no_table);
    g_test_add_func("/switch/mcast/default/above-cap",
                    test_default_above_cap);
    g_test_add_func("/switch/mcast/default/above-top",
                    test_default_above_top);
    g_test_add_func("/switch/mcast/default/empty-mask", test_default_empty);
    g_test_add_func("/switch/mcast/default/no-port", test_default_no_port);
    g_test_add_func("/switch/mcast/default/never-back",
                    test_default_never_back);
    g_test_add_func("/switch/mcast/only-ud-and-raw", test_transport);
    g_test_add_func("/switch/mcast/port-down", test_port_down);
    g_test_add_func("/switch/mcast/port0", test_port0);
    g_test_add_func("/switch/mcast/slow-members", test_slow_members);
    return g_test_run();
}
