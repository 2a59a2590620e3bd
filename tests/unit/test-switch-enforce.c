/*
 * What an external port keeps from passing: partitions and raw packets
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ib-fabric.h"

#define PART_IN   0x08            /* the low half of PortInfo's byte 43, */
#define PART_OUT  0x04            /* as ib_types.h's vl_enforce has it */
#define RAW_IN    0x02
#define RAW_OUT   0x01

static void port_info(FabricStar *s, uint8_t port, uint8_t data[64])
{
    memset(data, 0, 64);
    g_assert_cmpint(fabric_smp(s->host[0], &s->route, IB_METHOD_GET,
                               IB_SM_ATTR_PORT_INFO, port, data), ==, 0);
}

static void enforce(FabricStar *s, uint8_t port, uint8_t bits)
{
    uint8_t data[64];

    port_info(s, port, data);
    data[32] &= 0xf0;                   /* PortState: no change */
    data[33] = 0x02;
    data[43] = (data[43] & 0xf0) | bits;
    g_assert_cmpint(fabric_smp(s->host[0], &s->route, IB_METHOD_SET,
                               IB_SM_ATTR_PORT_INFO, port, data), ==, 0);
    g_assert_cmphex(data[43] & 0xf, ==, bits);
}

/* The table of external port @port: one key. */
static void give_pkey(FabricStar *s, uint8_t port, uint16_t pkey)
{
    uint8_t data[64] = { pkey >> 8, pkey };

    g_assert_cmpint(fabric_smp(s->host[0], &s->route, IB_METHOD_SET,
                               IB_SM_ATTR_P_KEY_TABLE, port << 16, data), ==,
                    0);
}

/* Host 0 sends to host @to with @pkey: did it come? */
static bool passes(FabricStar *s, unsigned to, uint16_t pkey)
{
    FabricUd ud = {
        .slid = 1, .dlid = to + 1, .pkey = pkey, .sl = 3,
        .dest_qpn = 0x100, .src_qpn = 0x200, .qkey = 0x11111111,
        .payload_len = 100,
    };
    bool came;

    fabric_send(s->host[0], &ud);
    fabric_run(s->fabric, FABRIC_MS);
    came = fabric_star_received(s, to);
    fabric_forget(s->host[to]);
    return came;
}

static uint64_t rcv_constraint(FabricStar *s, uint8_t port)
{
    return ib_link_counters(s->sw->ends[port].link)->rcv_constraint_errors;
}

static uint64_t xmit_constraint(FabricStar *s, uint8_t port)
{
    return ib_link_counters(s->sw->ends[port].link)->xmit_constraint_errors;
}

/* Off, as at power-on: whatever the tables hold. */
static void test_off(void)
{
    FabricStar s;

    fabric_star_init(&s, 2, NULL);
    give_pkey(&s, 1, 0x8001);
    give_pkey(&s, 2, 0x8002);
    g_assert_true(passes(&s, 1, 0xffff));
    g_assert_true(passes(&s, 1, 0x8003));
    fabric_star_clear(&s);
}

static void test_inbound(void)
{
    FabricStar s;
    uint8_t data[64];

    fabric_star_init(&s, 2, NULL);
    enforce(&s, 1, PART_IN);
    g_assert_false(passes(&s, 1, 0x8001));
    g_assert_true(passes(&s, 1, 0xffff));       /* the table of power-on */
    g_assert_cmpuint(rcv_constraint(&s, 1), ==, 1);
    g_assert_cmpuint(xmit_constraint(&s, 2), ==, 0);
    g_assert_cmpuint(ib_switch_discards(s.sw->sw, IB_DISCARD_PKEY), ==, 1);
    port_info(&s, 1, data);
    g_assert_cmpuint(data[46] << 8 | data[47], ==, 1);  /* P_KeyViolations */

    /* A new table counts at once, also for a key that has passed before. */
    give_pkey(&s, 1, 0x8001);
    g_assert_false(passes(&s, 1, 0xffff));
    g_assert_true(passes(&s, 1, 0x8001));
    enforce(&s, 1, 0);
    g_assert_true(passes(&s, 1, 0xffff));
    fabric_star_clear(&s);
}

static void test_outbound(void)
{
    FabricStar s;

    fabric_star_init(&s, 2, NULL);
    enforce(&s, 2, PART_OUT);
    g_assert_true(passes(&s, 1, 0xffff));
    g_assert_false(passes(&s, 1, 0x8001));
    g_assert_cmpuint(xmit_constraint(&s, 2), ==, 1);
    g_assert_cmpuint(rcv_constraint(&s, 1), ==, 0);
    /* Not a discard of the link: those are PortXmitDiscards. */
    g_assert_cmpuint(fabric_star_xmit_discards(&s, 2), ==, 0);
    /* Nor does the other direction of that port care. */
    g_assert_true(passes(&s, 0, 0x8001));
    fabric_star_clear(&s);
}

/* Who may send with what, who may be reached with what (10.9.3). */
static void test_membership(void)
{
    static const struct {
        uint16_t table, packet;
        bool in, out;
    } cases[] = {
        { 0x8001, 0x8001, true, true },
        { 0x8001, 0x0001, true, true },         /* by or to a limited one */
        { 0x0001, 0x8001, false, true },        /* not its key to send with */
        { 0x0001, 0x0001, true, false },        /* both limited */
        { 0x8001, 0x8002, false, false },
        { 0x8000, 0x8000, false, false },       /* the invalid key */
    };
    FabricStar s;
    unsigned i;

    fabric_star_init(&s, 2, NULL);
    for (i = 0; i < G_N_ELEMENTS(cases); i++) {
        give_pkey(&s, 1, cases[i].table);
        give_pkey(&s, 2, cases[i].table);
        enforce(&s, 1, PART_IN);
        g_assert_cmpint(passes(&s, 1, cases[i].packet), ==, cases[i].in);
        enforce(&s, 1, 0);
        enforce(&s, 2, PART_OUT);
        g_assert_cmpint(passes(&s, 1, cases[i].packet), ==, cases[i].out);
        enforce(&s, 2, 0);
    }
    fabric_star_clear(&s);
}

/* SMPs have no partition: a port without any key is still managed. */
static void test_smp_passes(void)
{
    FabricStar s;
    FabricRoute behind = fabric_route(1, 2);
    uint8_t data[64] = { 0 };

    fabric_star_init(&s, 2, NULL);
    give_pkey(&s, 1, 0);
    give_pkey(&s, 2, 0);
    enforce(&s, 1, PART_IN | PART_OUT | RAW_IN | RAW_OUT);
    enforce(&s, 2, PART_IN | PART_OUT | RAW_IN | RAW_OUT);
    g_assert_cmpint(fabric_smp(s.host[0], &behind, IB_METHOD_GET,
                               IB_SM_ATTR_NODE_INFO, 0, data), ==, 0);
    g_assert_cmpuint(data[2], ==, IB_NODE_TYPE_CA);
    fabric_star_clear(&s);
}

/* Each exit port of a multicast packet decides for itself. */
static void test_multicast(void)
{
    FabricStar s;

    fabric_star_init(&s, 3, NULL);
    fabric_set_mft(s.host[0], &s.route, 0xc000, 1 << 2 | 1 << 3);
    enforce(&s, 2, PART_OUT);
    enforce(&s, 3, PART_OUT);
    give_pkey(&s, 3, 0x8001);
    g_assert_cmpint(fabric_send(s.host[0], &(FabricUd) {
        .slid = 1, .dlid = 0xc000, .dest_qpn = 0xffffff, .src_qpn = 0x200,
        .pkey = 0x8001, .payload_len = 64 }), !=, IB_TX_DISCARDED);
    fabric_run(s.fabric, FABRIC_MS);
    g_assert_cmpuint(fabric_star_received(&s, 1), ==, 0);
    g_assert_cmpuint(fabric_star_received(&s, 2), ==, 1);
    g_assert_cmpuint(xmit_constraint(&s, 2), ==, 1);
    g_assert_cmpuint(xmit_constraint(&s, 3), ==, 0);
    fabric_star_clear(&s);
}

/* What port 0 sends goes out by the same rule. */
static void test_port0(void)
{
    FabricStar s;
    uint8_t mad[256] = { 0 };
    FabricUd ud = {
        .slid = 1, .dlid = FABRIC_SWITCH_LID, .dest_qpn = 1, .src_qpn = 1,
        .qkey = 0x80010000, .payload = mad, .payload_len = 256,
    };

    fabric_star_init(&s, 2, NULL);
    ib_mad_init(mad, IB_CLASS_PERFORMANCE, 1, IB_METHOD_GET, 1,
                IB_ATTR_CLASS_PORT_INFO, 0);
    fabric_send(s.host[0], &ud);
    fabric_run(s.fabric, FABRIC_MS);
    g_assert_cmpuint(fabric_star_received(&s, 0), ==, 1);
    give_pkey(&s, 1, 0x8001);
    enforce(&s, 1, PART_OUT);
    fabric_send(s.host[0], &ud);
    fabric_run(s.fabric, FABRIC_MS);
    g_assert_cmpuint(xmit_constraint(&s, 1), ==, 1);
    /* All that comes is trap 259. */
    g_assert_cmpuint(fabric_star_received(&s, 0), ==, 2);
    g_assert_cmpuint(fabric_packet(s.host[0], 1)->vl, ==, 15);
    fabric_star_clear(&s);
}

static void test_raw(void)
{
    FabricStar s;
    uint8_t raw[FABRIC_PACKET_MAX];
    size_t len;
    unsigned i;

    fabric_star_init(&s, 2, NULL);
    for (i = 0; i < 4; i++) {
        len = fabric_build_raw(raw, 1, 2, 200);
        enforce(&s, 1, i & 1 ? RAW_IN : PART_IN | PART_OUT | RAW_OUT);
        enforce(&s, 2, i & 2 ? RAW_OUT : PART_IN | PART_OUT | RAW_IN);
        fabric_send_bytes(s.host[0], raw, len, 0);
        fabric_run(s.fabric, FABRIC_MS);
        g_assert_cmpuint(fabric_star_received(&s, 1), ==, i == 0);
        fabric_forget(s.host[1]);
        /* A packet with a BTH is not raw. */
        g_assert_true(passes(&s, 1, 0xffff));
    }
    g_assert_cmpuint(rcv_constraint(&s, 1), ==, 2);
    g_assert_cmpuint(xmit_constraint(&s, 2), ==, 1);
    g_assert_cmpuint(ib_switch_discards(s.sw->sw, IB_DISCARD_RAW), ==, 3);
    fabric_star_clear(&s);
}

/* Trap 259 reaches the SM at host 0; nobody represses it. */
static void got_trap(FabricHost *host, const IbPacket *packet)
{
    const uint8_t *mad = packet->data + 8 + 12 + 8;

    if (packet->vl == 15 && mad[3] == IB_METHOD_TRAP) {
        memcpy(host->opaque, mad, 256);
    }
}

static void test_trap_259(void)
{
    FabricStar s;
    uint8_t mad[256] = { 0 }, *notice = mad + 64;

    fabric_star_init(&s, 2, NULL);
    fabric_set_lid(s.host[0], &s.route, FABRIC_SWITCH_LID, 1);
    enforce(&s, 2, PART_OUT);
    s.host[0]->receive = got_trap;
    s.host[0]->opaque = mad;
    g_assert_false(passes(&s, 1, 0x8765));
    g_assert_cmphex(notice[4] << 8 | notice[5], ==, 259);
    g_assert_cmphex(notice[12] << 8 | notice[13], ==, 1);       /* LIDADDR1 */
    g_assert_cmphex(notice[14] << 8 | notice[15], ==, 2);
    g_assert_cmphex(notice[16] << 8 | notice[17], ==, 0x8765);
    g_assert_cmphex(notice[18], ==, 0x30);                      /* SL */
    g_assert_cmphex(notice[20] << 8 | notice[21], ==, 0x200);   /* QP1 */
    g_assert_cmphex(notice[24] << 8 | notice[25], ==, 0x100);   /* QP2 */
    g_assert_cmphex(notice[58] << 8 | notice[59], ==, FABRIC_SWITCH_LID);
    g_assert_cmpuint(notice[60], ==, 2);                        /* PORTNO */
    fabric_star_clear(&s);
}

/* In force again after a migration. */
static void test_saved(void)
{
    FabricStar s;
    GByteArray *state = g_byte_array_new();

    fabric_star_init(&s, 2, NULL);
    enforce(&s, 1, PART_IN);
    give_pkey(&s, 1, 0x8001);
    ib_switch_save(s.sw->sw, state);
    g_assert_true(fabric_replace_switch(s.sw, state->data, state->len));
    g_assert_false(passes(&s, 1, 0xffff));
    g_assert_true(passes(&s, 1, 0x8001));
    ib_switch_reset(s.sw->sw);
    fabric_run(s.fabric, FABRIC_TRAINING);
    g_byte_array_unref(state);
    fabric_star_clear(&s);
}

/* No tables at external ports, no enforcement: said, and a Set is ignored. */
static void test_not_there(void)
{
    FabricStar s;
    Fabric *f = fabric_new();
    IbSwitchConfig config = fabric_switch_config(f, 4);
    uint8_t data[64] = { 0 };

    fabric_free(f);
    config.pkey_cap_external = 0;
    config.enhanced_port0 = true;
    fabric_star_init(&s, 2, &config);
    g_assert_cmpint(fabric_smp(s.host[0], &s.route, IB_METHOD_GET,
                               IB_SM_ATTR_SWITCH_INFO, 0, data), ==, 0);
    g_assert_cmphex(data[14] << 8 | data[15], ==, 0);
    g_assert_cmphex(data[16], ==, 0x38);        /* raw filters, enhanced */
    port_info(&s, 1, data);
    data[32] &= 0xf0;
    data[33] = 0x02;
    data[43] |= 0x0f;
    g_assert_cmpint(fabric_smp(s.host[0], &s.route, IB_METHOD_SET,
                               IB_SM_ATTR_PORT_INFO, 1, data), ==, 0);
    g_assert_cmphex(data[43] & 0xf, ==, RAW_IN | RAW_OUT);
    g_assert_true(passes(&s, 1, 0x8001));
    fabric_star_clear(&s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/switch/enforce/off", test_off);
    g_test_add_func("/switch/enforce/inbound", test_inbound);
    g_test_add_func("/switch/enforce/outbound", test_outbound);
    g_test_add_func("/switch/enforce/membership", test_membership);
    g_test_add_func("/switch/enforce/smp-passes", test_smp_passes);
    g_test_add_func("/switch/enforce/multicast", test_multicast);
    g_test_add_func("/switch/enforce/port0", test_port0);
    g_test_add_func("/switch/enforce/raw", test_raw);
    g_test_add_func("/switch/enforce/trap-259", test_trap_259);
    g_test_add_func("/switch/enforce/saved", test_saved);
    g_test_add_func("/switch/enforce/not-there", test_not_there);
    return g_test_run();
}
