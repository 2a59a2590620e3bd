/*
 * The attributes that only a switch has: SwitchInfo and the forwarding tables
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ib-fabric.h"

#define STATUS_BAD_METHOD_ATTR  0x0c
#define STATUS_BAD_FIELD        0x1c

static int get(FabricStar *s, uint16_t attr, uint32_t modifier,
               uint8_t data[64])
{
    memset(data, 0, 64);
    return fabric_smp(s->host[0], &s->route, IB_METHOD_GET, attr, modifier,
                      data);
}

static int set(FabricStar *s, uint16_t attr, uint32_t modifier,
               uint8_t data[64])
{
    return fabric_smp(s->host[0], &s->route, IB_METHOD_SET, attr, modifier,
                      data);
}

static void setup(FabricStar *s, uint16_t linear_cap, uint16_t mcast_cap,
                  unsigned ports)
{
    Fabric *f = fabric_new();
    IbSwitchConfig config = fabric_switch_config(f, ports);

    fabric_free(f);
    config.linear_fdb_cap = linear_cap;
    config.multicast_fdb_cap = mcast_cap;
    fabric_star_init(s, 1, &config);
}

/* The bytes as infiniband-diags' switchinfo reads them (ib_types.h). */
static void test_switch_info_layout(void)
{
    FabricStar s;
    uint8_t data[64];

    setup(&s, 49152, 4096, 36);
    g_assert_cmpint(get(&s, IB_SM_ATTR_SWITCH_INFO, 0, data), ==, 0);
    g_assert_cmphex(data[0] << 8 | data[1], ==, 0xc000);    /* lin_cap */
    g_assert_cmphex(data[2] << 8 | data[3], ==, 0);         /* rand_cap */
    g_assert_cmphex(data[4] << 8 | data[5], ==, 0x1000);    /* mcast_cap */
    g_assert_cmphex(data[6] << 8 | data[7], ==, 63);        /* lin_top */
    g_assert_cmphex(data[11] & 3, ==, 1);                   /* optimised */
    g_assert_cmphex(data[14] << 8 | data[15], ==, 32);      /* enforce_cap */
    /* INBOUND_PENFORCE, OUTBOUND_.., FILTER_RAW_IN, .._OUT; no ENHANCED */
    g_assert_cmphex(data[16], ==, 0xf0);                    /* flags */
    g_assert_cmphex(data[18] << 8 | data[19], ==, 0);       /* mcast_top */
    fabric_star_clear(&s);
}

static void test_switch_info_set(void)
{
    FabricStar s;
    uint8_t data[64] = { 0 }, again[64];

    setup(&s, 1000, 100, 4);
    ib_field_set(data, IB_SWITCHINFO_LINEAR_FDB_TOP, 999);
    ib_field_set(data, IB_SWITCHINFO_DEFAULT_MULTICAST_PRIMARY_PORT, 3);
    ib_field_set(data, IB_SWITCHINFO_DEFAULT_MULTICAST_NOT_PRIMARY_PORT, 4);
    ib_field_set(data, IB_SWITCHINFO_LIFE_TIME_VALUE, 18);
    ib_field_set(data, IB_SWITCHINFO_MULTICAST_FDB_TOP, 0xc063);
    /* Read-only ones */
    ib_field_set(data, IB_SWITCHINFO_LINEAR_FDB_CAP, 7);
    ib_field_set(data, IB_SWITCHINFO_MULTICAST_FDB_CAP, 7);
    ib_field_set(data, IB_SWITCHINFO_ENHANCED_PORT0, 1);
    g_assert_cmpint(set(&s, IB_SM_ATTR_SWITCH_INFO, 0, data), ==, 0);
    g_assert_cmpint(get(&s, IB_SM_ATTR_SWITCH_INFO, 0, again), ==, 0);
    g_assert_cmpmem(data, 64, again, 64);
    g_assert_cmpuint(ib_field_get(data, IB_SWITCHINFO_LINEAR_FDB_TOP), ==,
                     999);
    g_assert_cmpuint(ib_field_get(data, IB_SWITCHINFO_LINEAR_FDB_CAP), ==,
                     1000);
    g_assert_cmpuint(ib_field_get(data, IB_SWITCHINFO_MULTICAST_FDB_CAP), ==,
                     100);
    g_assert_cmpuint(ib_field_get(data, IB_SWITCHINFO_MULTICAST_FDB_TOP), ==,
                     0xc063);
    g_assert_cmpuint(data[9], ==, 3);
    g_assert_cmpuint(data[10], ==, 4);
    g_assert_cmpuint(data[11] >> 3, ==, 18);
    g_assert_cmpuint(ib_field_get(data, IB_SWITCHINFO_ENHANCED_PORT0), ==, 0);
    fabric_star_clear(&s);
}

/* Tops beyond the tables: refused, and nothing changes. */
static void test_switch_info_bad_top(void)
{
    /* Of 100 entries; block 3, which has the last of them, ends at C07F. */
    static const uint16_t bad[] = { 1, 0xbffe, 0xc080, 0xffff };
    FabricStar s;
    uint8_t data[64], before[64];
    unsigned i;

    setup(&s, 1000, 100, 4);
    g_assert_cmpint(get(&s, IB_SM_ATTR_SWITCH_INFO, 0, before), ==, 0);
    memcpy(data, before, 64);
    ib_field_set(data, IB_SWITCHINFO_LINEAR_FDB_TOP, 1000);
    ib_field_set(data, IB_SWITCHINFO_DEFAULT_MULTICAST_PRIMARY_PORT, 1);
    g_assert_cmphex(set(&s, IB_SM_ATTR_SWITCH_INFO, 0, data), ==,
                    STATUS_BAD_FIELD);
    for (i = 0; i < G_N_ELEMENTS(bad); i++) {
        memcpy(data, before, 64);
        ib_field_set(data, IB_SWITCHINFO_MULTICAST_FDB_TOP, bad[i]);
        g_assert_cmphex(set(&s, IB_SM_ATTR_SWITCH_INFO, 0, data), ==,
                        STATUS_BAD_FIELD);
    }
    g_assert_cmpint(get(&s, IB_SM_ATTR_SWITCH_INFO, 0, data), ==, 0);
    g_assert_cmpmem(data, 64, before, 64);
    ib_field_set(data, IB_SWITCHINFO_MULTICAST_FDB_TOP, 0xc07f);
    g_assert_cmphex(set(&s, IB_SM_ATTR_SWITCH_INFO, 0, data), ==, 0);
    fabric_star_clear(&s);
}

/*
 * PortStateChange: set when the link state machine brings a port up or down,
 * not by an SM's Set of PortState; writing 1 clears it, writing 0 does not.
 */
static void test_port_state_change(void)
{
    FabricStar s;
    FabricHost *late;
    uint8_t data[64];

    setup(&s, 1000, 100, 4);
    g_assert_cmpint(get(&s, IB_SM_ATTR_SWITCH_INFO, 0, data), ==, 0);
    g_assert_cmpuint(ib_field_get(data, IB_SWITCHINFO_PORT_STATE_CHANGE), ==,
                     1);                    /* links came up */
    ib_field_set(data, IB_SWITCHINFO_PORT_STATE_CHANGE, 0);
    g_assert_cmpint(set(&s, IB_SM_ATTR_SWITCH_INFO, 0, data), ==, 0);
    g_assert_cmpuint(ib_field_get(data, IB_SWITCHINFO_PORT_STATE_CHANGE), ==,
                     1);
    g_assert_cmpint(set(&s, IB_SM_ATTR_SWITCH_INFO, 0, data), ==, 0);
    g_assert_cmpuint(ib_field_get(data, IB_SWITCHINFO_PORT_STATE_CHANGE), ==,
                     0);

    /* Down to Init */
    late = fabric_add_host(s.fabric);
    fabric_connect(s.fabric, &late->end, &s.sw->ends[2]);
    fabric_run(s.fabric, FABRIC_TRAINING);
    g_assert_cmpint(ib_link_state(s.sw->ends[2].link), ==, IB_PORT_INIT);
    g_assert_cmpint(get(&s, IB_SM_ATTR_SWITCH_INFO, 0, data), ==, 0);
    g_assert_cmpuint(ib_field_get(data, IB_SWITCHINFO_PORT_STATE_CHANGE), ==,
                     1);
    g_assert_cmpint(set(&s, IB_SM_ATTR_SWITCH_INFO, 0, data), ==, 0);

    /* Init to Armed, by the SM */
    g_assert_cmpint(get(&s, IB_SM_ATTR_PORT_INFO, 2, data), ==, 0);
    ib_field_set(data, IB_PORTINFO_PORT_STATE, IB_PORT_ARMED);
    ib_field_set(data, IB_PORTINFO_PORT_PHYSICAL_STATE, 0);
    g_assert_cmpint(set(&s, IB_SM_ATTR_PORT_INFO, 2, data), ==, 0);
    g_assert_cmpint(ib_link_state(s.sw->ends[2].link), ==, IB_PORT_ARMED);
    g_assert_cmpint(get(&s, IB_SM_ATTR_SWITCH_INFO, 0, data), ==, 0);
    g_assert_cmpuint(ib_field_get(data, IB_SWITCHINFO_PORT_STATE_CHANGE), ==,
                     0);

    /* Gone */
    fabric_cut(s.fabric, &late->end);
    fabric_run(s.fabric, FABRIC_TRAINING);
    g_assert_cmpint(get(&s, IB_SM_ATTR_SWITCH_INFO, 0, data), ==, 0);
    g_assert_cmpuint(ib_field_get(data, IB_SWITCHINFO_PORT_STATE_CHANGE), ==,
                     1);
    g_assert_cmpuint(s.sw->changed_port, ==, 2);
    g_assert_cmpuint(s.sw->changed_new, ==, IB_PORT_DOWN);
    fabric_star_clear(&s);
}

/* 64 ports a block, LID = block * 64 + i; read-only 0 beyond the table. */
static void test_lft_blocks(void)
{
    FabricStar s;
    uint8_t data[64], again[64];
    unsigned i;

    setup(&s, 100, 100, 4);
    /* At power-on no LID has a route. */
    g_assert_cmpint(get(&s, IB_SM_ATTR_LFT, 1, data), ==, 0);
    for (i = 0; i < 64; i++) {
        g_assert_cmpuint(data[i], ==, i < 36 ? 255 : 0);
    }
    for (i = 0; i < 64; i++) {
        data[i] = i + 1;
    }
    g_assert_cmpint(set(&s, IB_SM_ATTR_LFT, 1, data), ==, 0);
    g_assert_cmpint(get(&s, IB_SM_ATTR_LFT, 1, again), ==, 0);
    g_assert_cmpmem(data, 64, again, 64);
    for (i = 0; i < 64; i++) {
        g_assert_cmpuint(data[i], ==, i < 36 ? i + 1 : 0);
        g_assert_cmpuint(ib_switch_lft_get(s.sw->sw, 64 + i), ==,
                         i < 36 ? i + 1 : 255);
    }
    g_assert_cmphex(get(&s, IB_SM_ATTR_LFT, 2, data), ==, STATUS_BAD_FIELD);
    g_assert_cmphex(set(&s, IB_SM_ATTR_LFT, 2, data), ==, STATUS_BAD_FIELD);
    g_assert_cmphex(set(&s, IB_SM_ATTR_LFT, 0x10000, data), ==,
                    STATUS_BAD_FIELD);
    fabric_star_clear(&s);
}

/* The largest table: block 767 is its last. */
static void test_lft_largest(void)
{
    FabricStar s;
    uint8_t data[64];

    setup(&s, 49152, 100, 4);
    memset(data, 3, 64);
    g_assert_cmpint(set(&s, IB_SM_ATTR_LFT, 767, data), ==, 0);
    g_assert_cmpuint(ib_switch_lft_get(s.sw->sw, 0xbfff), ==, 3);
    g_assert_cmpuint(ib_switch_lft_get(s.sw->sw, 0xbfbf), ==, 255);
    g_assert_cmphex(set(&s, IB_SM_ATTR_LFT, 768, data), ==,
                    STATUS_BAD_FIELD);
    fabric_star_clear(&s);
}

/*
 * As OpenSM writes it: 32 LIDs by 16 ports, block in bits 8:0, position in
 * bits 31:28 of the modifier.
 */
static void test_mft_layout(void)
{
    FabricStar s;
    uint8_t data[64], mask[32], want[32] = { 0 };

    setup(&s, 1000, 4096, 36);
    memset(data, 0, 64);
    data[2 * 5] = 0x80;             /* MLID c000 + 3 * 32 + 5: port 15 */
    data[2 * 5 + 1] = 0x06;         /* ... ports 1 and 2 */
    g_assert_cmpint(set(&s, IB_SM_ATTR_MFT, 3, data), ==, 0);
    memset(data, 0, 64);
    data[2 * 5 + 1] = 0x11;         /* position 2: ports 32 and 36 */
    g_assert_cmpint(set(&s, IB_SM_ATTR_MFT, 0x20000003, data), ==, 0);
    ib_switch_mft_get(s.sw->sw, 0xc065, mask);
    want[0] = 0x06;
    want[1] = 0x80;
    want[4] = 0x11;
    g_assert_cmpmem(mask, 32, want, 32);
    ib_switch_mft_get(s.sw->sw, 0xc064, mask);
    memset(want, 0, 32);
    g_assert_cmpmem(mask, 32, want, 32);
    /* Read back piece by piece. */
    g_assert_cmpint(get(&s, IB_SM_ATTR_MFT, 3, data), ==, 0);
    g_assert_cmphex(data[10] << 8 | data[11], ==, 0x8006);
    g_assert_cmpint(get(&s, IB_SM_ATTR_MFT, 0x20000003, data), ==, 0);
    g_assert_cmphex(data[10] << 8 | data[11], ==, 0x0011);
    g_assert_cmpint(get(&s, IB_SM_ATTR_MFT, 0x10000003, data), ==, 0);
    g_assert_cmphex(data[10] << 8 | data[11], ==, 0);
    fabric_star_clear(&s);
}

static void test_mft_limits(void)
{
    FabricStar s;
    uint8_t data[64];
    unsigned i;

    setup(&s, 1000, 40, 36);
    /* Ports that do not exist and LIDs beyond the table read as 0. */
    memset(data, 0xff, 64);
    g_assert_cmpint(set(&s, IB_SM_ATTR_MFT, 0x20000001, data), ==, 0);
    for (i = 0; i < 32; i++) {
        g_assert_cmphex(data[2 * i] << 8 | data[2 * i + 1], ==,
                        i < 8 ? 0x001f : 0);
    }
    g_assert_cmphex(get(&s, IB_SM_ATTR_MFT, 2, data), ==, STATUS_BAD_FIELD);
    g_assert_cmphex(set(&s, IB_SM_ATTR_MFT, 2, data), ==, STATUS_BAD_FIELD);
    /* No port 48 */
    g_assert_cmphex(set(&s, IB_SM_ATTR_MFT, 0x30000000, data), ==,
                    STATUS_BAD_FIELD);
    /* Bits that must be 0 */
    g_assert_cmphex(set(&s, IB_SM_ATTR_MFT, 0x00000200, data), ==,
                    STATUS_BAD_FIELD);
    g_assert_cmphex(set(&s, IB_SM_ATTR_MFT, 0x08000000, data), ==,
                    STATUS_BAD_FIELD);
    fabric_star_clear(&s);
}

/* Each position of the widest switch, 254 ports. */
static void test_mft_254_ports(void)
{
    FabricStar s;
    uint8_t data[64], mask[32];
    unsigned position, i;

    setup(&s, 1000, 64, 254);
    for (position = 0; position < 16; position++) {
        memset(data, 0xff, 64);
        g_assert_cmpint(set(&s, IB_SM_ATTR_MFT, position << 28 | 1, data),
                        ==, 0);
    }
    ib_switch_mft_get(s.sw->sw, 0xc020, mask);
    for (i = 0; i < 31; i++) {
        g_assert_cmphex(mask[i], ==, 0xff);
    }
    g_assert_cmphex(mask[31], ==, 0x7f);
    ib_switch_mft_get(s.sw->sw, 0xc01f, mask);
    g_assert_cmphex(mask[0], ==, 0);
    fabric_star_clear(&s);
}

/* What is not there says so with the status for it. */
static void test_absent(void)
{
    FabricStar s;
    uint8_t data[64];

    setup(&s, 1000, 0, 4);
    g_assert_cmphex(get(&s, IB_SM_ATTR_MFT, 0, data), ==,
                    STATUS_BAD_METHOD_ATTR);
    g_assert_cmphex(get(&s, IB_SM_ATTR_RFT, 0, data), ==,
                    STATUS_BAD_METHOD_ATTR);
    g_assert_cmphex(set(&s, IB_SM_ATTR_RFT, 0, data), ==,
                    STATUS_BAD_METHOD_ATTR);
    fabric_star_clear(&s);
}

/* Wrong configurations are named, with their range. */
static void test_config(void)
{
    Fabric *f = fabric_new();
    IbSwitchConfig good = fabric_switch_config(f, 4), c;
    const char *range = NULL;

    g_assert_null(ib_switch_config_error(&good, &range));
    c = good;
    c.num_ports = 0;
    g_assert_cmpstr(ib_switch_config_error(&c, &range), ==, "ports");
    g_assert_cmpstr(range, ==, "1 to 254");
    g_assert_null(ib_switch_new(&c, NULL, NULL));
    c.num_ports = 255;
    g_assert_cmpstr(ib_switch_config_error(&c, &range), ==, "ports");
    c = good;
    c.node_guid = 0;
    g_assert_cmpstr(ib_switch_config_error(&c, &range), ==, "node-guid");
    c = good;
    c.linear_fdb_cap = 0;
    g_assert_cmpstr(ib_switch_config_error(&c, &range), ==,
                    "linear-fdb-cap");
    c.linear_fdb_cap = 49153;
    g_assert_cmpstr(ib_switch_config_error(&c, &range), ==,
                    "linear-fdb-cap");
    c = good;
    c.multicast_fdb_cap = 16384;
    g_assert_cmpstr(ib_switch_config_error(&c, &range), ==,
                    "multicast-fdb-cap");
    c = good;
    c.pkey_cap = 0;
    g_assert_cmpstr(ib_switch_config_error(&c, &range), ==, "pkey-cap");
    c = good;
    c.fdb = IB_FDB_RANDOM + 1;
    g_assert_cmpstr(ib_switch_config_error(&c, &range), ==, "fdb");
    fabric_free(f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/switch/sma/switch-info/layout",
                    test_switch_info_layout);
    g_test_add_func("/switch/sma/switch-info/set", test_switch_info_set);
    g_test_add_func("/switch/sma/switch-info/bad-top",
                    test_switch_info_bad_top);
    g_test_add_func("/switch/sma/switch-info/port-state-change",
                    test_port_state_change);
    g_test_add_func("/switch/sma/lft/blocks", test_lft_blocks);
    g_test_add_func("/switch/sma/lft/largest", test_lft_largest);
    g_test_add_func("/switch/sma/mft/layout", test_mft_layout);
    g_test_add_func("/switch/sma/mft/limits", test_mft_limits);
    g_test_add_func("/switch/sma/mft/254-ports", test_mft_254_ports);
    g_test_add_func("/switch/sma/absent", test_absent);
    g_test_add_func("/switch/config", test_config);
    return g_test_run();
}
