/*
 * The processor behind port 0: what it is given and what it sends
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ib-fabric.h"
#include "hw/infiniband/ib-gs-attr.h"

/* What the processor got. */
typedef struct Host {
    FabricStar star;
    IbSwitch *sw;
    unsigned room;                /* packets that it will still take */
    unsigned count;
    uint8_t in_port;              /* of the last one */
    uint8_t data[FABRIC_PACKET_MAX];
    size_t len;
    IbPacketInfo info;
    const uint8_t *mad;
} Host;

static bool host_receive(FabricSwitch *sw, uint8_t in_port,
                         const IbPacket *packet)
{
    Host *h = sw->opaque;

    if (!h->room) {
        return false;
    }
    h->room--;
    h->count++;
    h->in_port = in_port;
    h->len = packet->len;
    memcpy(h->data, packet->data, packet->len);
    g_assert_cmpint(ib_packet_parse(h->data, h->len, &h->info), ==,
                    IB_PACKET_OK);
    g_assert_true(ib_packet_icrc_ok(h->data, h->len));
    h->mad = h->data + h->info.payload;
    return true;
}

static void host_init(Host *h, unsigned mask)
{
    memset(h, 0, sizeof(*h));
    fabric_star_init(&h->star, 2, NULL);
    h->sw = h->star.sw->sw;
    h->room = 100;
    h->star.sw->opaque = h;
    h->star.sw->processor = host_receive;
    ib_switch_set_host(h->sw, mask);
}

static void host_clear(Host *h)
{
    fabric_star_clear(&h->star);
}

static void get_mad(uint8_t mad[256], uint8_t class, uint8_t method,
                    uint16_t attr)
{
    ib_mad_init(mad, class, 1, method, 0x77, attr, 0);
}

/* Send @mad from host 0 to the switch, as an SMP or GMP by its class. */
static void from_host(Host *h, const uint8_t mad[256])
{
    bool smp = ib_mad_is_smp(mad);
    FabricUd ud = {
        .slid = 1,
        .dlid = FABRIC_SWITCH_LID,
        .vl = smp ? 15 : 0,
        .dest_qpn = smp ? 0 : 1,
        .src_qpn = smp ? 0 : 1,
        .qkey = smp ? 0 : IB_QKEY_WELL_KNOWN,
        .payload = mad,
        .payload_len = 256,
    };

    fabric_forget(h->star.host[0]);
    fabric_send(h->star.host[0], &ud);
    fabric_run(h->star.fabric, FABRIC_MS);
}

/* The MAD of the only packet that host @i has got, NULL if there is none. */
static const uint8_t *at_host(Host *h, unsigned i, IbPacketInfo *info)
{
    const FabricPacket *p = fabric_packet(h->star.host[i], 0);

    g_assert_null(fabric_packet(h->star.host[i], 1));
    if (!p) {
        return NULL;
    }
    g_assert_cmpint(ib_packet_parse(p->data, p->len, info), ==,
                    IB_PACKET_OK);
    return p->data + info->payload;
}

/* Without a mask nothing is given, whatever comes. */
static void test_nothing_unasked(void)
{
    IbPacketInfo info;
    uint8_t mad[256];
    Host h;

    host_init(&h, 0);
    get_mad(mad, IB_CLASS_SUBN_LID_ROUTED, IB_METHOD_GET,
            IB_SM_ATTR_NODE_INFO);
    from_host(&h, mad);
    g_assert_nonnull(at_host(&h, 0, &info));
    get_mad(mad, IB_CLASS_SUBN_LID_ROUTED, IB_METHOD_TRAP, IB_ATTR_NOTICE);
    from_host(&h, mad);
    get_mad(mad, IB_CLASS_SUBN_ADM, IB_METHOD_GET, IB_SA_ATTR_PATH_RECORD);
    from_host(&h, mad);
    g_assert_cmpuint(h.count, ==, 0);
    host_clear(&h);
}

/* An SM's MADs are the processor's, what agents answer stays theirs. */
static void test_managers(void)
{
    static const struct {
        uint8_t class, method;
        uint16_t attr;
        bool given;
    } cases[] = {
        { 0x01, 0x01, 0x0011, false },      /* Get(NodeInfo) */
        { 0x01, 0x01, 0x0020, true },       /* Get(SMInfo) */
        { 0x01, 0x02, 0x0020, true },       /* Set(SMInfo) */
        { 0x01, 0x81, 0x0011, true },       /* GetResp(NodeInfo) */
        { 0x01, 0x05, 0x0002, true },       /* Trap(Notice) */
        { 0x01, 0x07, 0x0002, false },      /* TrapRepress(Notice) */
        { 0x01, 0x01, 0x7777, false },      /* no such attribute: status */
        { 0x03, 0x01, 0x0035, true },       /* SA: Get(PathRecord) */
        { 0x04, 0x01, 0x0012, false },      /* PM: Get(PortCounters) */
        { 0x04, 0x81, 0x0012, true },       /* PM: GetResp */
        { 0x21, 0x01, 0x0011, false },      /* CC: Get(CongestionInfo) */
        { 0x07, 0x03, 0x0010, true },       /* CM: ConnectRequest */
    };
    uint8_t mad[256];
    unsigned i;
    Host h;

    host_init(&h, IB_HOST_MANAGERS);
    for (i = 0; i < G_N_ELEMENTS(cases); i++) {
        h.count = 0;
        get_mad(mad, cases[i].class, cases[i].method, cases[i].attr);
        from_host(&h, mad);
        if (h.count != cases[i].given) {
            g_test_message("case %u", i);
            g_test_fail();
        }
        if (h.count) {
            g_assert_cmpmem(h.mad, 256, mad, 256);
            g_assert_cmpuint(h.in_port, ==, 1);
            g_assert_cmphex(ib_lrh_slid(h.data), ==, 1);
        }
    }
    host_clear(&h);
}

/* The processor is the SMA: it gets the SMP and its answer goes back. */
static void test_sma(void)
{
    IbHostMad to = { .out_port = 1, .sl = 3, .dlid = 1 };
    uint8_t mad[256], reply[256];
    IbPacketInfo info;
    const uint8_t *got;
    Host h;

    host_init(&h, IB_HOST_SMPS);
    get_mad(mad, IB_CLASS_SUBN_LID_ROUTED, IB_METHOD_GET,
            IB_SM_ATTR_NODE_DESCRIPTION);
    from_host(&h, mad);
    g_assert_cmpuint(h.count, ==, 1);
    g_assert_null(at_host(&h, 0, &info));

    memcpy(reply, h.mad, 256);
    ib_mad_to_response(reply, 0);
    strcpy((char *)reply + IB_SMP_DATA_OFFSET, "from the processor");
    g_assert_cmpint(ib_switch_send_mad(h.sw, &to, reply), ==, IB_HOST_SENT);
    fabric_run(h.star.fabric, FABRIC_MS);
    got = at_host(&h, 0, &info);
    g_assert_cmpmem(got, 256, reply, 256);
    g_assert_cmpuint(fabric_packet(h.star.host[0], 0)->vl, ==, 15);
    g_assert_cmphex(ib_lrh_slid(got - info.payload), ==, FABRIC_SWITCH_LID);
    g_assert_cmpuint(ib_lrh_sl(got - info.payload), ==, 3);

    /* GMPs are still the agents'. */
    get_mad(mad, IB_CLASS_PERFORMANCE, IB_METHOD_GET,
            IB_PM_ATTR_PORT_COUNTERS);
    ib_field_set(mad + IB_GMP_DATA_OFFSET, IB_PORTCOUNTERS_PORT_SELECT, 1);
    from_host(&h, mad);
    g_assert_cmpuint(h.count, ==, 1);
    g_assert_nonnull(at_host(&h, 0, &info));
    host_clear(&h);
}

/*
 * A directed-route SMP comes as the SMI advanced it (HopPointer HopCount + 1,
 * ReturnPath the port) and its answer goes back on the route.
 */
static void test_sma_directed(void)
{
    IbHostMad to = { .out_port = IB_HOST_BY_TABLE, .dlid = 0xffff };
    uint8_t smp[256], reply[256];
    IbPacketInfo info;
    const uint8_t *got;
    FabricUd ud = {
        .slid = 0xffff, .dlid = 0xffff, .vl = 15, .payload = smp,
        .payload_len = 256,
    };
    Host h;

    host_init(&h, IB_HOST_SMPS);
    fabric_smp_init(h.star.host[1], smp, &h.star.route, IB_METHOD_GET,
                    IB_SM_ATTR_NODE_INFO, 0, NULL);
    fabric_send(h.star.host[1], &ud);
    fabric_run(h.star.fabric, FABRIC_MS);
    g_assert_cmpuint(h.count, ==, 1);
    g_assert_cmpuint(h.in_port, ==, 2);
    g_assert_cmpuint(ib_field_get(h.mad, IB_SMP_HOP_COUNT), ==, 1);
    g_assert_cmpuint(ib_field_get(h.mad, IB_SMP_HOP_POINTER), ==, 2);
    g_assert_cmpuint(h.mad[IB_SMP_RETURN_PATH_OFFSET + 1], ==, 2);

    memcpy(reply, h.mad, 256);
    ib_mad_to_response(reply, 0);
    g_assert_cmpint(ib_switch_send_mad(h.sw, &to, reply), ==, IB_HOST_SENT);
    fabric_run(h.star.fabric, FABRIC_MS);
    got = at_host(&h, 1, &info);
    g_assert_nonnull(got);
    g_assert_cmpuint(ib_field_get(got, IB_SMP_HOP_POINTER), ==, 1);
    g_assert_cmphex(ib_field_get(got, IB_MAD_METHOD), ==, 0x81);
    host_clear(&h);
}

/* No room: an SMP is dropped and counts as VL15Dropped of port 0. */
static void test_no_room(void)
{
    uint8_t mad[256];
    Host h;

    host_init(&h, IB_HOST_SMPS | IB_HOST_GMPS);
    h.room = 0;
    get_mad(mad, IB_CLASS_SUBN_LID_ROUTED, IB_METHOD_GET,
            IB_SM_ATTR_NODE_INFO);
    from_host(&h, mad);
    g_assert_cmpuint(ib_node_counters(ib_switch_node(h.sw), 0)->vl15_dropped,
                     ==, 1);
    get_mad(mad, IB_CLASS_PERFORMANCE, IB_METHOD_GET,
            IB_PM_ATTR_PORT_COUNTERS);
    from_host(&h, mad);
    g_assert_cmpuint(ib_node_counters(ib_switch_node(h.sw), 0)->vl15_dropped,
                     ==, 1);
    host_clear(&h);
}

/* Packets that are no MADs; without the bit they are discarded. */
static void test_data(void)
{
    static const uint8_t hello[64] = "to queue pair 0x42";
    FabricUd ud = {
        .slid = 2, .dlid = FABRIC_SWITCH_LID, .dest_qpn = 0x42,
        .qkey = 0x1234, .payload = hello, .payload_len = sizeof(hello),
    };
    Host h;

    host_init(&h, IB_HOST_SMPS | IB_HOST_GMPS | IB_HOST_MANAGERS);
    fabric_send(h.star.host[1], &ud);
    fabric_run(h.star.fabric, FABRIC_MS);
    g_assert_cmpuint(h.count, ==, 0);
    g_assert_cmpuint(ib_switch_discards(h.sw, IB_DISCARD_NOT_MANAGEMENT), ==,
                     1);
    ib_switch_set_host(h.sw, IB_HOST_DATA);
    fabric_send(h.star.host[1], &ud);
    fabric_run(h.star.fabric, FABRIC_MS);
    g_assert_cmpuint(h.count, ==, 1);
    g_assert_cmpuint(h.in_port, ==, 2);
    g_assert_cmpmem(h.mad, h.info.payload_len, hello, sizeof(hello));
    g_assert_cmpuint(ib_switch_discards(h.sw, IB_DISCARD_NOT_MANAGEMENT), ==,
                     1);
    host_clear(&h);
}

/* To itself: by its LID, by no LID, by a directed route of no hops. */
static void test_own_agents(void)
{
    IbHostMad to = { .out_port = IB_HOST_BY_TABLE,
                     .dlid = FABRIC_SWITCH_LID };
    uint8_t smp[256];
    unsigned i;
    Host h;

    host_init(&h, 0);
    for (i = 0; i < 3; i++) {
        get_mad(smp, i < 2 ? IB_CLASS_SUBN_LID_ROUTED
                           : IB_CLASS_SUBN_DIRECTED_ROUTE, IB_METHOD_GET,
                IB_SM_ATTR_NODE_INFO);
        to.dlid = i == 0 ? FABRIC_SWITCH_LID : 0xffff;
        if (i == 2) {
            ib_field_set(smp, IB_SMP_DR_SLID, 0xffff);
            ib_field_set(smp, IB_SMP_DR_DLID, 0xffff);
        }
        g_assert_cmpint(ib_switch_send_mad(h.sw, &to, smp), ==,
                        IB_HOST_SENT);
        g_assert_cmpuint(h.count, ==, i + 1);
        g_assert_cmpuint(h.in_port, ==, 0);
        g_assert_cmphex(ib_field_get(h.mad, IB_MAD_METHOD), ==, 0x81);
        g_assert_cmpuint(ib_field_get(h.mad, IB_SMP_STATUS), ==, 0);
        g_assert_cmpuint(ib_field_get(h.mad + IB_SMP_DATA_OFFSET,
                                      IB_NODEINFO_NODE_TYPE), ==, 2);
        g_assert_cmpuint(ib_field_get(h.mad + IB_SMP_DATA_OFFSET,
                                      IB_NODEINFO_LOCAL_PORT_NUM), ==, 0);
    }
    g_assert_cmpuint(ib_field_get(h.mad, IB_SMP_HOP_POINTER), ==, 0);
    host_clear(&h);
}

/* As an SM does: Get(NodeInfo) of what is behind port 2. */
static void test_send_directed(void)
{
    IbHostMad to = { .out_port = IB_HOST_BY_TABLE };
    uint8_t smp[256];
    Host h;

    host_init(&h, IB_HOST_MANAGERS);
    get_mad(smp, IB_CLASS_SUBN_DIRECTED_ROUTE, IB_METHOD_GET,
            IB_SM_ATTR_NODE_INFO);
    ib_field_set(smp, IB_SMP_DR_SLID, 0xffff);
    ib_field_set(smp, IB_SMP_DR_DLID, 0xffff);
    ib_field_set(smp, IB_SMP_HOP_COUNT, 1);
    smp[IB_SMP_INITIAL_PATH_OFFSET + 1] = 2;
    g_assert_cmpint(ib_switch_send_mad(h.sw, &to, smp), ==, IB_HOST_SENT);
    fabric_run(h.star.fabric, FABRIC_MS);
    g_assert_cmpuint(h.count, ==, 1);
    g_assert_cmpuint(h.in_port, ==, 2);
    g_assert_cmphex(ib_field_get(h.mad, IB_MAD_METHOD), ==, 0x81);
    g_assert_cmpuint(ib_field_get(h.mad, IB_SMP_HOP_POINTER), ==, 0);
    g_assert_cmpuint(ib_field_get(h.mad + IB_SMP_DATA_OFFSET,
                                  IB_NODEINFO_NODE_TYPE), ==, 1);
    /* A port that does not exist, or has no cable. */
    smp[IB_SMP_INITIAL_PATH_OFFSET + 1] = 9;
    g_assert_cmpint(ib_switch_send_mad(h.sw, &to, smp), ==, IB_HOST_NO_ROUTE);
    smp[IB_SMP_INITIAL_PATH_OFFSET + 1] = 3;
    g_assert_cmpint(ib_switch_send_mad(h.sw, &to, smp), ==,
                    IB_HOST_DISCARDED);
    host_clear(&h);
}

/* A GMP from QP1: Q_Key 80010000, P_Key of the index, VL of the SL. */
static void test_send_gmp(void)
{
    IbHostMad to = { .out_port = IB_HOST_BY_TABLE, .sl = 1, .dlid = 2,
                     .dest_qpn = 1 };
    uint8_t gmp[256], map[64] = { 0 };
    IbPacketInfo info;
    const uint8_t *got;
    Host h;

    host_init(&h, 0);
    fabric_forget(h.star.host[1]);
    get_mad(gmp, IB_CLASS_SUBN_ADM, IB_METHOD_GET, IB_SA_ATTR_NODE_RECORD);
    g_assert_cmpint(ib_switch_send_mad(h.sw, &to, gmp), ==, IB_HOST_SENT);
    fabric_run(h.star.fabric, FABRIC_MS);
    got = at_host(&h, 1, &info);
    g_assert_cmpmem(got, 256, gmp, 256);
    got -= info.payload;
    g_assert_cmphex(ib_field_get(got + info.deth, IB_DETH_QKEY), ==,
                    0x80010000);
    g_assert_cmphex(ib_field_get(got + info.deth, IB_DETH_SQPN), ==, 1);
    g_assert_cmphex(ib_field_get(got + info.bth, IB_BTH_DQPN), ==, 1);
    g_assert_cmphex(ib_field_get(got + info.bth, IB_BTH_PKEY), ==, 0xffff);
    g_assert_cmpuint(fabric_packet(h.star.host[1], 0)->vl, ==, 1);

    to.dlid = 9;
    g_assert_cmpint(ib_switch_send_mad(h.sw, &to, gmp), ==,
                    IB_HOST_NO_ROUTE);
    to.dlid = 2;
    to.pkey_index = 60000;
    g_assert_cmpint(ib_switch_send_mad(h.sw, &to, gmp), ==,
                    IB_HOST_NO_ROUTE);
    to.pkey_index = 0;
    to.sl = 16;
    g_assert_cmpint(ib_switch_send_mad(h.sw, &to, gmp), ==,
                    IB_HOST_MALFORMED);
    to.sl = 1;
    to.out_port = 4;
    g_assert_cmpint(ib_switch_send_mad(h.sw, &to, gmp), ==,
                    IB_HOST_NO_ROUTE);
    /* All SLs of port 0 to VL15 at port 2. */
    memset(map, 0xff, 8);
    g_assert_cmpint(ib_node_attribute(ib_switch_node(h.sw), true,
                                      IB_SM_ATTR_SL_TO_VL, 2, map), ==, 0);
    to.out_port = IB_HOST_BY_TABLE;
    g_assert_cmpint(ib_switch_send_mad(h.sw, &to, gmp), ==,
                    IB_HOST_DISCARDED);
    host_clear(&h);
}

static void test_send_packet(void)
{
    uint8_t buf[FABRIC_PACKET_MAX];
    FabricUd ud = { .slid = FABRIC_SWITCH_LID, .dlid = 2, .sl = 1,
                    .dest_qpn = 0x99, .payload_len = 100 };
    const FabricPacket *p;
    size_t len = fabric_build(buf, &ud);
    Host h;

    host_init(&h, 0);
    fabric_forget(h.star.host[1]);
    memset(buf + len - 4, 0xaa, 4);               /* a wrong ICRC */
    g_assert_cmpint(ib_switch_send_packet(h.sw, 255, buf, len), ==,
                    IB_HOST_SENT);
    fabric_run(h.star.fabric, FABRIC_MS);
    p = fabric_packet(h.star.host[1], 0);
    g_assert_nonnull(p);
    g_assert_cmpuint(p->len, ==, len);
    g_assert_cmpuint(p->vl, ==, 1);
    g_assert_true(ib_packet_icrc_ok(p->data, p->len));
    /* By port, whatever the table says. */
    g_assert_cmpint(ib_switch_send_packet(h.sw, 1, buf, len), ==,
                    IB_HOST_SENT);
    g_assert_cmpint(ib_switch_send_packet(h.sw, 3, buf, len), ==,
                    IB_HOST_DISCARDED);
    g_assert_cmpint(ib_switch_send_packet(h.sw, 0, buf, len), ==,
                    IB_HOST_NO_ROUTE);
    g_assert_cmpint(ib_switch_send_packet(h.sw, 200, buf, len), ==,
                    IB_HOST_NO_ROUTE);
    g_assert_cmpint(ib_switch_send_packet(h.sw, 255, buf, len - 4), ==,
                    IB_HOST_MALFORMED);
    g_assert_cmpint(ib_switch_send_packet(h.sw, 255, buf, 3), ==,
                    IB_HOST_MALFORMED);
    g_assert_cmpint(ib_switch_send_packet(h.sw, 255, buf, 100000), ==,
                    IB_HOST_MALFORMED);
    /* Not back to port 0 itself. */
    ib_field_set(buf, IB_LRH_DLID, FABRIC_SWITCH_LID);
    g_assert_cmpint(ib_switch_send_packet(h.sw, 255, buf, len), ==,
                    IB_HOST_NO_ROUTE);
    host_clear(&h);
}

/* One packet to a group: a copy to each of its ports. */
static void test_send_multicast(void)
{
    uint8_t buf[FABRIC_PACKET_MAX];
    FabricUd ud = { .slid = FABRIC_SWITCH_LID, .dlid = 0xc003,
                    .dest_qpn = 0xffffff, .payload_len = 64 };
    size_t len = fabric_build(buf, &ud);
    Host h;

    host_init(&h, IB_HOST_DATA);
    fabric_set_mft(h.star.host[0], &h.star.route, 0xc003,
                   1 << 0 | 1 << 1 | 1 << 2);
    fabric_forget(h.star.host[0]);
    fabric_forget(h.star.host[1]);
    g_assert_cmpint(ib_switch_send_packet(h.sw, 255, buf, len), ==,
                    IB_HOST_SENT);
    fabric_run(h.star.fabric, FABRIC_MS);
    g_assert_cmpuint(fabric_star_received(&h.star, 0), ==, 1);
    g_assert_cmpuint(fabric_star_received(&h.star, 1), ==, 1);
    g_assert_cmpuint(h.count, ==, 0);
    host_clear(&h);
}

/* A trap of the switch's own: to the SM at its own LID, unless it is SMA. */
static void test_traps(void)
{
    IbPacketInfo info;
    Host h;

    host_init(&h, IB_HOST_MANAGERS);
    fabric_set_lid(h.star.host[0], &h.star.route, FABRIC_SWITCH_LID,
                   FABRIC_SWITCH_LID);
    fabric_cut(h.star.fabric, &h.star.host[1]->end);
    fabric_run(h.star.fabric, 10 * FABRIC_TRAINING);
    g_assert_cmpuint(h.count, >=, 1);
    g_assert_cmpuint(ib_field_get(h.mad, IB_MAD_METHOD), ==, IB_METHOD_TRAP);
    g_assert_cmpuint(ib_field_get(h.mad + IB_SMP_DATA_OFFSET,
                                  IB_NOTICE_TRAP_NUMBER), ==, 128);
    host_clear(&h);

    host_init(&h, IB_HOST_SMPS);
    fabric_forget(h.star.host[0]);
    fabric_cut(h.star.fabric, &h.star.host[1]->end);
    fabric_run(h.star.fabric, 10 * FABRIC_TRAINING);
    g_assert_null(at_host(&h, 0, &info));
    host_clear(&h);
}

/* Get and Set with no M_Key asked for. */
static void test_attribute(void)
{
    uint8_t data[64] = { 0 };
    IbNode *node;
    Host h;

    host_init(&h, 0);
    node = ib_switch_node(h.sw);
    g_assert_cmpint(ib_node_attribute(node, false, IB_SM_ATTR_PORT_INFO, 0,
                                      data), ==, 0);
    ib_put_be64(data, 0x1122334455667788);
    ib_field_set(data, IB_PORTINFO_M_KEY_PROTECT_BITS, 3);
    g_assert_cmpint(ib_node_attribute(node, true, IB_SM_ATTR_PORT_INFO, 0,
                                      data), ==, 0);
    g_assert_cmphex(ib_get_be64(data), ==, 0x1122334455667788);
    g_assert_cmpint(fabric_smp(h.star.host[0], &h.star.route, IB_METHOD_GET,
                               IB_SM_ATTR_SWITCH_INFO, 0, data), ==, -1);
    g_assert_cmpint(ib_node_attribute(node, false, IB_SM_ATTR_SWITCH_INFO, 0,
                                      data), ==, 0);
    ib_field_set(data, IB_SWITCHINFO_LINEAR_FDB_TOP, 17);
    g_assert_cmpint(ib_node_attribute(node, true, IB_SM_ATTR_SWITCH_INFO, 0,
                                      data), ==, 0);
    g_assert_cmpuint(ib_field_get(data, IB_SWITCHINFO_LINEAR_FDB_TOP), ==,
                     17);
    g_assert_cmphex(ib_node_attribute(node, false, 0x7777, 0, data), ==,
                    0x000c);
    host_clear(&h);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/switch/host/nothing-unasked", test_nothing_unasked);
    g_test_add_func("/switch/host/managers", test_managers);
    g_test_add_func("/switch/host/sma", test_sma);
    g_test_add_func("/switch/host/sma-directed", test_sma_directed);
    g_test_add_func("/switch/host/no-room", test_no_room);
    g_test_add_func("/switch/host/data", test_data);
    g_test_add_func("/switch/host/own-agents", test_own_agents);
    g_test_add_func("/switch/host/send/directed", test_send_directed);
    g_test_add_func("/switch/host/send/gmp", test_send_gmp);
    g_test_add_func("/switch/host/send/packet", test_send_packet);
    g_test_add_func("/switch/host/send/multicast", test_send_multicast);
    g_test_add_func("/switch/host/traps", test_traps);
    g_test_add_func("/switch/host/attribute", test_attribute);
    return g_test_run();
}
