/*
 * Port 0: what QP0 and QP1 take, and the packets that answers are sent in
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ib-fabric.h"
#include "hw/infiniband/ib-gs-attr.h"

static void get_mad(uint8_t mad[256], uint8_t class, uint16_t attr)
{
    ib_mad_init(mad, class, 1, IB_METHOD_GET, 0x1234567890abcdef, attr, 0);
}

static FabricUd smp_to(uint16_t dlid, const uint8_t smp[256])
{
    return (FabricUd) {
        .slid = 1,
        .dlid = dlid,
        .vl = 15,
        .payload = smp,
        .payload_len = 256,
    };
}

static FabricUd gmp_to(uint16_t dlid, const uint8_t gmp[256])
{
    return (FabricUd) {
        .slid = 1,
        .dlid = dlid,
        .dest_qpn = 1,
        .src_qpn = 1,
        .qkey = IB_QKEY_WELL_KNOWN,
        .payload = gmp,
        .payload_len = 256,
    };
}

/*
 * The one response that came back to host @i, its packet parsed;
 * NULL if none did.  Traps may come, too.
 */
static const FabricPacket *answer(FabricStar *s, unsigned i,
                                  const FabricUd *ud, IbPacketInfo *info)
{
    const FabricPacket *found = NULL;
    const FabricPacket *p;
    unsigned n;

    fabric_forget(s->host[i]);
    fabric_send(s->host[i], ud);
    fabric_run(s->fabric, FABRIC_MS);
    for (n = 0; (p = fabric_packet(s->host[i], n)); n++) {
        IbPacketInfo parsed;

        g_assert_cmpint(ib_packet_parse(p->data, p->len, &parsed), ==,
                        IB_PACKET_OK);
        g_assert_true(ib_packet_icrc_ok(p->data, p->len));
        if (ib_field_get(p->data + parsed.payload, IB_MAD_R)) {
            g_assert_null(found);
            found = p;
            *info = parsed;
        }
    }
    return found;
}

/* The number of the one trap among what host @i has got. */
static unsigned trap_number(FabricStar *s, unsigned i)
{
    const FabricPacket *p = fabric_packet(s->host[i], 0);
    IbPacketInfo info;
    const uint8_t *mad;

    g_assert_nonnull(p);
    g_assert_cmpint(ib_packet_parse(p->data, p->len, &info), ==,
                    IB_PACKET_OK);
    mad = p->data + info.payload;
    g_assert_cmpuint(ib_field_get(mad, IB_MAD_METHOD), ==, IB_METHOD_TRAP);
    return ib_field_get(mad + IB_SMP_DATA_OFFSET, IB_NOTICE_TRAP_NUMBER);
}

static void expect_discard(FabricStar *s, const FabricUd *ud, IbDiscard why)
{
    uint64_t before = ib_switch_discards(s->sw->sw, why);
    IbPacketInfo info;

    g_assert_null(answer(s, 0, ud, &info));
    g_assert_cmpuint(ib_switch_discards(s->sw->sw, why), ==, before + 1);
}

/* IBA Vol.1 14.2.1: VL15, QP0 to QP0, Q_Key 0; LIDs swapped, same SL. */
static void test_qp0_headers(void)
{
    FabricStar s;
    uint8_t smp[256];
    FabricUd ud = smp_to(FABRIC_SWITCH_LID, smp);
    const FabricPacket *p;
    IbPacketInfo info;
    const uint8_t *mad;

    fabric_star_init(&s, 2, NULL);
    get_mad(smp, IB_CLASS_SUBN_LID_ROUTED, IB_SM_ATTR_NODE_INFO);
    ud.sl = 5;
    ud.pkey = 0x1234;           /* ignored on QP0 */
    p = answer(&s, 0, &ud, &info);
    g_assert_nonnull(p);
    g_assert_cmpuint(p->vl, ==, 15);
    g_assert_cmpuint(ib_lrh_sl(p->data), ==, 5);
    g_assert_cmpuint(ib_lrh_slid(p->data), ==, FABRIC_SWITCH_LID);
    g_assert_cmpuint(ib_lrh_dlid(p->data), ==, 1);
    g_assert_cmpuint(info.grh, ==, 0);
    g_assert_cmpuint(info.opcode, ==, 0x64);        /* UD Send Only */
    g_assert_cmpuint(info.payload_len, ==, 256);
    g_assert_cmpuint(ib_field_get(p->data + info.bth, IB_BTH_DQPN), ==, 0);
    g_assert_cmpuint(ib_field_get(p->data + info.deth, IB_DETH_SQPN), ==, 0);
    g_assert_cmpuint(ib_field_get(p->data + info.deth, IB_DETH_QKEY), ==, 0);
    mad = p->data + info.payload;
    g_assert_cmpuint(ib_get_be64(mad + IB_MAD_TRANSACTION_ID_OFFSET), ==,
                     UINT64_C(0x1234567890abcdef));
    g_assert_cmpuint(ib_field_get(mad, IB_MAD_METHOD), ==,
                     IB_METHOD_GET_RESP);
    g_assert_cmpuint(ib_field_get(mad, IB_MAD_STATUS), ==, 0);
    g_assert_cmpuint(ib_field_get(mad + IB_SMP_DATA_OFFSET,
                                  IB_NODEINFO_NODE_TYPE), ==, 2);
    g_assert_cmpuint(ib_field_get(mad + IB_SMP_DATA_OFFSET,
                                  IB_NODEINFO_LOCAL_PORT_NUM), ==, 1);
    /* LocalPortNum is the port that the request came in by. */
    p = answer(&s, 1, &ud, &info);
    g_assert_nonnull(p);
    g_assert_cmpuint(ib_field_get(p->data + info.payload + IB_SMP_DATA_OFFSET,
                                  IB_NODEINFO_LOCAL_PORT_NUM), ==, 2);
    fabric_star_clear(&s);
}

/*
 * The answer to a LID-routed SMP leaves by the port that the request came in
 * by, though the table has no route for its LID (seeds).
 */
static void test_qp0_answer_by_arrival_port(void)
{
    FabricStar s;
    uint8_t smp[256];
    FabricUd ud = smp_to(FABRIC_SWITCH_LID, smp);
    IbPacketInfo info;

    fabric_star_init(&s, 2, NULL);
    get_mad(smp, IB_CLASS_SUBN_LID_ROUTED, IB_SM_ATTR_NODE_INFO);
    ud.slid = 33;
    g_assert_nonnull(answer(&s, 1, &ud, &info));
    fabric_star_clear(&s);
}

/* A permissive DLID reaches QP0; the answer names the switch's own LID. */
static void test_qp0_permissive(void)
{
    FabricStar s;
    uint8_t smp[256];
    FabricUd ud = smp_to(0xffff, smp);
    const FabricPacket *p;
    IbPacketInfo info;

    fabric_star_init(&s, 2, NULL);
    get_mad(smp, IB_CLASS_SUBN_LID_ROUTED, IB_SM_ATTR_NODE_INFO);
    p = answer(&s, 0, &ud, &info);
    g_assert_nonnull(p);
    g_assert_cmpuint(ib_lrh_slid(p->data), ==, FABRIC_SWITCH_LID);
    fabric_star_clear(&s);
}

/* The table need not lead a switch's own LID to port 0 for it to get there. */
static void test_own_lid(void)
{
    FabricStar s;
    uint8_t smp[256];
    FabricUd ud = smp_to(FABRIC_SWITCH_LID, smp);
    IbPacketInfo info;

    fabric_star_init(&s, 2, NULL);
    get_mad(smp, IB_CLASS_SUBN_LID_ROUTED, IB_SM_ATTR_NODE_INFO);
    fabric_star_set_lft(&s, FABRIC_SWITCH_LID, 255);
    g_assert_nonnull(answer(&s, 0, &ud, &info));
    fabric_set_switch_info(s.host[0], &s.route, 2, 255, 255, 0);
    g_assert_nonnull(answer(&s, 0, &ud, &info));
    /* Nor can it lead that LID elsewhere. */
    fabric_set_switch_info(s.host[0], &s.route, 63, 255, 255, 0);
    fabric_star_set_lft(&s, FABRIC_SWITCH_LID, 2);
    g_assert_nonnull(answer(&s, 0, &ud, &info));
    /* And entries may lead other LIDs there. */
    fabric_set_switch_info(s.host[0], &s.route, 63, 255, 255, 0);
    fabric_star_set_lft(&s, 50, 0);
    ud.dlid = 50;
    g_assert_nonnull(answer(&s, 0, &ud, &info));
    fabric_star_clear(&s);
}

static void test_qp0_refuses(void)
{
    static const uint8_t gid[16] = { 0xfe, 0x80 };
    FabricStar s;
    uint8_t smp[256];
    FabricUd good = smp_to(FABRIC_SWITCH_LID, smp);
    FabricUd ud;

    fabric_star_init(&s, 2, NULL);
    get_mad(smp, IB_CLASS_SUBN_LID_ROUTED, IB_SM_ATTR_NODE_INFO);
    ud = good;                          /* on a data VL */
    ud.vl = 0;
    expect_discard(&s, &ud, IB_DISCARD_SMP);
    ud = good;                          /* with a GRH */
    ud.sgid = gid;
    ud.dgid = gid;
    expect_discard(&s, &ud, IB_DISCARD_SMP);
    ud = good;                          /* not 256 bytes */
    ud.payload_len = 252;
    expect_discard(&s, &ud, IB_DISCARD_SMP);
    ud = good;
    ud.qkey = 1;
    expect_discard(&s, &ud, IB_DISCARD_QKEY);
    ud = good;                          /* no GMP is taken on QP0 */
    get_mad(smp, IB_CLASS_PERFORMANCE, IB_ATTR_CLASS_PORT_INFO);
    expect_discard(&s, &ud, IB_DISCARD_SMP);
    fabric_star_clear(&s);
}

/* A response is taken and not answered. */
static void test_qp0_response(void)
{
    FabricStar s;
    uint8_t smp[256];
    FabricUd ud = smp_to(FABRIC_SWITCH_LID, smp);
    IbPacketInfo info;

    fabric_star_init(&s, 2, NULL);
    get_mad(smp, IB_CLASS_SUBN_LID_ROUTED, IB_SM_ATTR_NODE_INFO);
    ib_field_set(smp, IB_MAD_METHOD, IB_METHOD_GET_RESP);
    g_assert_null(answer(&s, 0, &ud, &info));
    fabric_star_clear(&s);
}

/* PerfMgmt on QP1: LIDs and QPs swapped, P_Key of the table. */
static void test_qp1_headers(void)
{
    FabricStar s;
    uint8_t gmp[256];
    FabricUd ud = gmp_to(FABRIC_SWITCH_LID, gmp);
    const FabricPacket *p;
    IbPacketInfo info;

    fabric_star_init(&s, 2, NULL);
    get_mad(gmp, IB_CLASS_PERFORMANCE, IB_ATTR_CLASS_PORT_INFO);
    ud.src_qpn = 0x45;
    ud.pkey = 0x7fff;
    ud.sl = 1;
    p = answer(&s, 0, &ud, &info);
    g_assert_nonnull(p);
    g_assert_cmpuint(p->vl, !=, 15);
    g_assert_cmpuint(ib_lrh_sl(p->data), ==, 1);
    g_assert_cmpuint(ib_lrh_slid(p->data), ==, FABRIC_SWITCH_LID);
    g_assert_cmpuint(ib_lrh_dlid(p->data), ==, 1);
    g_assert_cmpuint(info.grh, ==, 0);
    g_assert_cmpuint(ib_field_get(p->data + info.bth, IB_BTH_DQPN), ==,
                     0x45);
    g_assert_cmphex(ib_field_get(p->data + info.bth, IB_BTH_PKEY), ==,
                    0xffff);
    g_assert_cmpuint(ib_field_get(p->data + info.deth, IB_DETH_SQPN), ==, 1);
    g_assert_cmphex(ib_field_get(p->data + info.deth, IB_DETH_QKEY), ==,
                    0x80010000);
    g_assert_cmpuint(ib_field_get(p->data + info.payload, IB_MAD_METHOD), ==,
                     IB_METHOD_GET_RESP);
    fabric_star_clear(&s);
}

/* A GRH is answered with a GRH, GIDs swapped. */
static void test_qp1_grh(void)
{
    static const uint8_t host_gid[16] = { 0xfe, 0x80, [8] = 7, [15] = 9 };
    FabricStar s;
    uint8_t gmp[256], gid[16];
    FabricUd ud = gmp_to(FABRIC_SWITCH_LID, gmp);
    const FabricPacket *p;
    IbPacketInfo info;

    fabric_star_init(&s, 2, NULL);
    get_mad(gmp, IB_CLASS_PERFORMANCE, IB_ATTR_CLASS_PORT_INFO);
    ib_put_be64(gid, UINT64_C(0xfe80000000000000));
    ib_put_be64(gid + 8, ib_switch_config(s.sw->sw)->node_guid);
    ud.sgid = host_gid;
    ud.dgid = gid;
    p = answer(&s, 0, &ud, &info);
    g_assert_nonnull(p);
    g_assert_cmpuint(info.grh, ==, 8);
    g_assert_cmpmem(p->data + info.grh + IB_GRH_SGID_OFFSET, 16, gid, 16);
    g_assert_cmpmem(p->data + info.grh + IB_GRH_DGID_OFFSET, 16, host_gid,
                    16);
    /* Another node's GID is not for this port. */
    gid[15] ^= 1;
    expect_discard(&s, &ud, IB_DISCARD_NOT_MANAGEMENT);
    fabric_star_clear(&s);
}

/* Bad keys are discarded and counted in port 0's PortInfo. */
static void test_qp1_keys(void)
{
    FabricStar s;
    uint8_t gmp[256], info[64] = { 0 };
    FabricUd ud = gmp_to(FABRIC_SWITCH_LID, gmp);

    fabric_star_init(&s, 2, NULL);
    get_mad(gmp, IB_CLASS_PERFORMANCE, IB_ATTR_CLASS_PORT_INFO);
    ud.qkey = 0x80010001;
    expect_discard(&s, &ud, IB_DISCARD_QKEY);
    g_assert_cmpuint(trap_number(&s, 0), ==, 258);
    ud.qkey = IB_QKEY_WELL_KNOWN;
    ud.pkey = 0x8001;
    expect_discard(&s, &ud, IB_DISCARD_PKEY);
    g_assert_cmpuint(trap_number(&s, 0), ==, 257);
    expect_discard(&s, &ud, IB_DISCARD_PKEY);
    fabric_forget(s.host[0]);
    g_assert_cmpint(fabric_smp(s.host[0], &s.route, IB_METHOD_GET,
                               IB_SM_ATTR_PORT_INFO, 0, info), ==, 0);
    g_assert_cmpuint(ib_field_get(info, IB_PORTINFO_P_KEY_VIOLATIONS), ==, 2);
    g_assert_cmpuint(ib_field_get(info, IB_PORTINFO_Q_KEY_VIOLATIONS), ==, 1);
    fabric_star_clear(&s);
}

static void test_qp1_refuses(void)
{
    FabricStar s;
    uint8_t gmp[256];
    FabricUd good = gmp_to(FABRIC_SWITCH_LID, gmp);
    FabricUd ud;

    fabric_star_init(&s, 2, NULL);
    get_mad(gmp, IB_CLASS_PERFORMANCE, IB_ATTR_CLASS_PORT_INFO);
    ud = good;                          /* GMPs are not for VL15 */
    ud.vl = 15;
    expect_discard(&s, &ud, IB_DISCARD_NOT_MANAGEMENT);
    ud = good;
    ud.payload_len = 128;
    expect_discard(&s, &ud, IB_DISCARD_NOT_MANAGEMENT);
    ud = good;                          /* no SMP is taken on QP1 */
    get_mad(gmp, IB_CLASS_SUBN_LID_ROUTED, IB_SM_ATTR_NODE_INFO);
    expect_discard(&s, &ud, IB_DISCARD_NOT_MANAGEMENT);
    fabric_star_clear(&s);
}

/* perfquery of a port whose traffic moved. */
static void test_qp1_port_counters(void)
{
    FabricStar s;
    uint8_t gmp[256];
    FabricUd ud = gmp_to(FABRIC_SWITCH_LID, gmp);
    FabricUd data = { .slid = 1, .dlid = 2, .dest_qpn = 9,
                      .payload_len = 64 };
    const FabricPacket *p;
    IbPacketInfo info;
    uint32_t before;
    unsigned i;

    fabric_star_init(&s, 2, NULL);
    get_mad(gmp, IB_CLASS_PERFORMANCE, IB_PM_ATTR_PORT_COUNTERS);
    ib_field_set(gmp + IB_GMP_DATA_OFFSET, IB_PORTCOUNTERS_PORT_SELECT, 2);
    p = answer(&s, 0, &ud, &info);
    g_assert_nonnull(p);
    before = ib_field_get(p->data + info.payload + IB_GMP_DATA_OFFSET,
                          IB_PORTCOUNTERS_PORT_XMIT_PKTS);
    for (i = 0; i < 10; i++) {
        fabric_send(s.host[0], &data);
    }
    fabric_settle(s.fabric);
    p = answer(&s, 0, &ud, &info);
    g_assert_nonnull(p);
    g_assert_cmpuint(ib_field_get(p->data + info.payload + IB_GMP_DATA_OFFSET,
                                  IB_PORTCOUNTERS_PORT_XMIT_PKTS), ==,
                     before + 10);
    fabric_star_clear(&s);
}

/* Any bytes are legal input: counted, forgotten, and the switch goes on. */
/*
 * Enhanced port 0: SwitchInfo says so, all LIDs of its LMC are its own, and it
 * is among "all ports" of performance management.
 */
static void test_enhanced(void)
{
    Fabric *f = fabric_new();
    IbSwitchConfig config = fabric_switch_config(f, 3);
    unsigned enhanced;

    fabric_free(f);
    for (enhanced = 0; enhanced < 2; enhanced++) {
        uint8_t mad[256], data[64] = { 0 };
        FabricUd ud = smp_to(0, mad), gmp = gmp_to(FABRIC_SWITCH_LID, mad);
        const FabricPacket *p;
        IbPacketInfo info;
        FabricStar s;

        config.enhanced_port0 = enhanced;
        fabric_star_init(&s, 2, &config);
        g_assert_cmpint(fabric_smp(s.host[0], &s.route, IB_METHOD_GET,
                                   IB_SM_ATTR_SWITCH_INFO, 0, data), ==, 0);
        g_assert_cmphex(data[16] & 0x08, ==, enhanced << 3);
        memset(data, 0, 64);
        g_assert_cmpint(fabric_smp(s.host[0], &s.route, IB_METHOD_GET,
                                   IB_SM_ATTR_PORT_INFO, 0, data), ==, 0);
        data[32] &= 0xf0;
        data[33] = 2;
        data[34] = (data[34] & 0xf8) | 2;           /* LMC */
        g_assert_cmpint(fabric_smp(s.host[0], &s.route, IB_METHOD_SET,
                                   IB_SM_ATTR_PORT_INFO, 0, data), ==, 0);
        g_assert_cmphex(data[34] & 7, ==, enhanced * 2);
        get_mad(mad, IB_CLASS_SUBN_LID_ROUTED, IB_SM_ATTR_NODE_INFO);
        ud.dlid = FABRIC_SWITCH_LID + 3;
        p = answer(&s, 0, &ud, &info);
        g_assert_cmpint(p != NULL, ==, enhanced);
        if (p) {
            g_assert_cmphex(ib_lrh_slid(p->data), ==, ud.dlid);
        }
        ud.dlid = FABRIC_SWITCH_LID + 4;
        g_assert_null(answer(&s, 0, &ud, &info));

        ib_node_counters(ib_switch_node(s.sw->sw), 0)->rcv_errors = 1000;
        get_mad(mad, IB_CLASS_PERFORMANCE, IB_PM_ATTR_PORT_COUNTERS);
        ib_field_set(mad + IB_GMP_DATA_OFFSET, IB_PM_PORT_SELECT, 255);
        p = answer(&s, 0, &gmp, &info);
        g_assert_nonnull(p);
        g_assert_cmpuint(ib_field_get(p->data + info.payload +
                                      IB_GMP_DATA_OFFSET,
                                      IB_PORTCOUNTERS_PORT_RCV_ERRORS), ==,
                         enhanced * 1000);
        fabric_star_clear(&s);
    }
}

static void test_garbage(void)
{
    FabricStar s;
    uint8_t smp[256], buf[FABRIC_PACKET_MAX];
    FabricUd ud = smp_to(FABRIC_SWITCH_LID, smp);
    IbPacketInfo info;
    uint32_t seed = 1;
    unsigned i, j;

    fabric_star_init(&s, 2, NULL);
    get_mad(smp, IB_CLASS_SUBN_DIRECTED_ROUTE, IB_SM_ATTR_NODE_INFO);
    for (i = 0; i < 20000; i++) {
        size_t len = fabric_build(buf, &ud);

        for (j = 0; j < 1 + i % 4; j++) {
            seed = seed * 1664525 + 1013904223;
            /* Leave LRH.VL and PktLen, so that the link takes it. */
            if (seed >> 20 & 1) {
                buf[6 + (seed >> 8) % (len - 6)] = seed;
            } else {
                buf[8 + (seed >> 8) % 64] = seed;
            }
        }
        fabric_send_bytes(s.host[0], buf, len, 15);
        fabric_settle(s.fabric);
        fabric_forget(s.host[0]);
    }
    g_assert_cmpuint(ib_link_counters(s.sw->ends[1].link)->rcv_pkts, >,
                     15000);
    g_assert_cmpuint(ib_switch_discards(s.sw->sw, IB_DISCARD_SMP), >, 1000);
    fabric_run(s.fabric, 10000 * FABRIC_MS);
    get_mad(smp, IB_CLASS_SUBN_LID_ROUTED, IB_SM_ATTR_NODE_DESCRIPTION);
    g_assert_nonnull(answer(&s, 0, &ud, &info));
    fabric_star_clear(&s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/switch/port0/qp0/headers", test_qp0_headers);
    g_test_add_func("/switch/port0/qp0/answer-by-arrival-port",
                    test_qp0_answer_by_arrival_port);
    g_test_add_func("/switch/port0/qp0/permissive", test_qp0_permissive);
    g_test_add_func("/switch/port0/qp0/own-lid", test_own_lid);
    g_test_add_func("/switch/port0/qp0/refuses", test_qp0_refuses);
    g_test_add_func("/switch/port0/qp0/response", test_qp0_response);
    g_test_add_func("/switch/port0/qp1/headers", test_qp1_headers);
    g_test_add_func("/switch/port0/qp1/grh", test_qp1_grh);
    g_test_add_func("/switch/port0/qp1/keys", test_qp1_keys);
    g_test_add_func("/switch/port0/qp1/refuses", test_qp1_refuses);
    g_test_add_func("/switch/port0/qp1/port-counters",
                    test_qp1_port_counters);
    g_test_add_func("/switch/port0/enhanced", test_enhanced);
    g_test_add_func("/switch/port0/garbage", test_garbage);
    return g_test_run();
}
