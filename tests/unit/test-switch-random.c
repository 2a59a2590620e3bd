/*
 * The random forwarding table (fdb=random), with the rules of its DefaultPort
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ib-fabric.h"

#define STATUS_BAD_METHOD_ATTR  0x0c
#define STATUS_BAD_FIELD        0x1c

static void setup(FabricStar *s, uint16_t cap, uint16_t lids_per_port)
{
    Fabric *f = fabric_new();
    IbSwitchConfig config = fabric_switch_config(f, 5);

    fabric_free(f);
    config.fdb = IB_FDB_RANDOM;
    config.linear_fdb_cap = 0;
    config.random_fdb_cap = cap;
    config.lids_per_port = lids_per_port;
    fabric_star_init(s, 4, &config);
}

static void entry(uint8_t data[64], unsigned i, uint16_t lid, unsigned lmc,
                  unsigned port)
{
    ib_field_set(data, IB_RFT_LID(i), lid);
    ib_field_set(data, IB_RFT_VALID(i), 1);
    ib_field_set(data, IB_RFT_LMC(i), lmc);
    ib_field_set(data, IB_RFT_PORT(i), port);
}

static int set_block(FabricStar *s, uint32_t block, uint8_t data[64])
{
    return fabric_smp(s->host[0], &s->route, IB_METHOD_SET, IB_SM_ATTR_RFT,
                      block, data);
}

static void set_default_port(FabricStar *s, uint8_t port)
{
    uint8_t data[64] = { 0 };

    ib_field_set(data, IB_SWITCHINFO_DEFAULT_PORT, port);
    g_assert_cmpint(fabric_smp(s->host[0], &s->route, IB_METHOD_SET,
                               IB_SM_ATTR_SWITCH_INFO, 0, data), ==, 0);
    g_assert_cmpuint(data[8], ==, port);
}

/* Host @from sends to @dlid: the host that gets it, -1 if none does. */
static int send_to(FabricStar *s, unsigned from, uint16_t dlid)
{
    FabricUd ud = { .slid = from + 1, .dlid = dlid, .dest_qpn = 9,
                    .payload_len = 64 };
    int got = -1;
    unsigned i;

    for (i = 0; i < 4; i++) {
        fabric_forget(s->host[i]);
    }
    g_assert_cmpint(fabric_send(s->host[from], &ud), !=, IB_TX_DISCARDED);
    fabric_run(s->fabric, FABRIC_MS);
    for (i = 0; i < 4; i++) {
        if (fabric_star_received(s, i)) {
            g_assert_cmpint(got, ==, -1);
            got = i;
        }
    }
    return got;
}

/* Table 25-5 of the seeds: LID 16, valid 1, LMC 3, reserved 4, port 8. */
static void test_layout(void)
{
    FabricStar s;
    uint8_t data[64] = { 0 }, again[64] = { 0 };

    setup(&s, 40, 0);
    data[4] = 0x12;
    data[5] = 0x34;
    data[6] = 0x80 | 5 << 4 | 0xf;      /* the reserved bits set */
    data[7] = 3;
    g_assert_cmpint(set_block(&s, 1, data), ==, 0);
    g_assert_cmphex(data[6], ==, 0xd0);
    g_assert_cmphex(ib_switch_rft_get(s.sw->sw, 17), ==, 0x1234d003);
    g_assert_cmpint(fabric_smp(s.host[0], &s.route, IB_METHOD_GET,
                               IB_SM_ATTR_RFT, 1, again), ==, 0);
    g_assert_cmpmem(data, 64, again, 64);
    fabric_star_clear(&s);
}

/* 40 entries: blocks 0, 1 and half of 2. */
static void test_limits(void)
{
    FabricStar s;
    uint8_t data[64];
    unsigned i;

    setup(&s, 40, 0);
    memset(data, 0, 64);
    for (i = 0; i < 16; i++) {
        entry(data, i, 0x100 + i, 0, 1);
    }
    g_assert_cmpint(set_block(&s, 2, data), ==, 0);
    for (i = 0; i < 16; i++) {
        g_assert_cmpuint(ib_field_get(data, IB_RFT_VALID(i)), ==, i < 8);
    }
    g_assert_cmphex(set_block(&s, 3, data), ==, STATUS_BAD_FIELD);
    /* The other kind of table is not there. */
    g_assert_cmphex(fabric_smp(s.host[0], &s.route, IB_METHOD_SET,
                               IB_SM_ATTR_LFT, 0, data), ==,
                    STATUS_BAD_METHOD_ATTR);
    memset(data, 0, 64);
    g_assert_cmpint(fabric_smp(s.host[0], &s.route, IB_METHOD_GET,
                               IB_SM_ATTR_SWITCH_INFO, 0, data), ==, 0);
    g_assert_cmpuint(ib_field_get(data, IB_SWITCHINFO_LINEAR_FDB_CAP), ==, 0);
    g_assert_cmpuint(ib_field_get(data, IB_SWITCHINFO_RANDOM_FDB_CAP), ==,
                     40);
    /* No limit: LIDsPerPort = RandomFDBCap (seeds) */
    g_assert_cmpuint(ib_field_get(data, IB_SWITCHINFO_LIDS_PER_PORT), ==, 40);
    fabric_star_clear(&s);
}

static void test_match(void)
{
    FabricStar s;
    uint8_t data[64] = { 0 };

    setup(&s, 32, 0);
    entry(data, 3, 0x21, 2, 2);         /* 0x20 to 0x23: LMC bits are 0 */
    entry(data, 0, 0xbff8, 3, 3);       /* to 0xbfff */
    entry(data, 7, 0x24, 0, 4);
    entry(data, 8, 0x30, 0, 4);
    ib_field_set(data, IB_RFT_VALID(8), 0);
    g_assert_cmpint(set_block(&s, 1, data), ==, 0);
    g_assert_cmpint(send_to(&s, 0, 0x1f), ==, -1);
    g_assert_cmpint(send_to(&s, 0, 0x20), ==, 1);
    g_assert_cmpint(send_to(&s, 0, 0x23), ==, 1);
    g_assert_cmpint(send_to(&s, 0, 0x24), ==, 3);
    g_assert_cmpint(send_to(&s, 0, 0x25), ==, -1);
    g_assert_cmpint(send_to(&s, 0, 0xbff7), ==, -1);
    g_assert_cmpint(send_to(&s, 0, 0xbff8), ==, 2);
    g_assert_cmpint(send_to(&s, 0, 0xbfff), ==, 2);
    g_assert_cmpint(send_to(&s, 0, 0x30), ==, -1);
    g_assert_cmpuint(ib_switch_discards(s.sw->sw, IB_DISCARD_NO_ROUTE), ==,
                     4);
    g_assert_cmpuint(fabric_star_relay_errors(&s, 1), ==, 4);
    /* An entry that is gone matches no more. */
    ib_field_set(data, IB_RFT_VALID(3), 0);
    g_assert_cmpint(set_block(&s, 1, data), ==, 0);
    g_assert_cmpint(send_to(&s, 0, 0x20), ==, -1);
    g_assert_cmpint(send_to(&s, 0, 0x24), ==, 3);
    fabric_star_clear(&s);
}

static void test_default_port(void)
{
    FabricStar s;
    uint8_t data[64] = { 0 };

    setup(&s, 16, 0);
    entry(data, 0, 2, 0, 2);
    entry(data, 1, 5, 0, 3);            /* leads to the default port */
    g_assert_cmpint(set_block(&s, 0, data), ==, 0);
    set_default_port(&s, 3);
    g_assert_cmpint(send_to(&s, 0, 0x1000), ==, 2);
    g_assert_cmpint(send_to(&s, 0, 2), ==, 1);
    /* Arriving on the default port: with a match on, without discarded. */
    g_assert_cmpint(send_to(&s, 2, 2), ==, 1);
    g_assert_cmpint(send_to(&s, 2, 5), ==, 2);
    g_assert_cmpint(send_to(&s, 2, 0x1000), ==, -1);
    g_assert_cmpuint(ib_switch_discards(s.sw->sw, IB_DISCARD_LOOP), ==, 1);
    g_assert_cmpuint(ib_link_counters(s.sw->ends[3].link)->looping_errors, ==,
                     1);
    /* A default port that does not exist */
    set_default_port(&s, 6);
    g_assert_cmpint(send_to(&s, 0, 0x1000), ==, -1);
    g_assert_cmpuint(ib_switch_discards(s.sw->sw, IB_DISCARD_NO_ROUTE), ==,
                     1);
    g_assert_cmpuint(ib_link_counters(s.sw->ends[1].link)->dlid_mapping_errors,
                     ==, 1);
    fabric_star_clear(&s);
}

/* An entry whose port does not exist is a match, and discards. */
static void test_no_port(void)
{
    FabricStar s;
    uint8_t data[64] = { 0 };

    setup(&s, 16, 0);
    entry(data, 0, 0x50, 0, 77);
    entry(data, 1, 0x51, 0, 255);
    g_assert_cmpint(set_block(&s, 0, data), ==, 0);
    set_default_port(&s, 3);
    g_assert_cmpint(send_to(&s, 0, 0x50), ==, -1);
    g_assert_cmpint(send_to(&s, 0, 0x51), ==, -1);
    g_assert_cmpuint(ib_switch_discards(s.sw->sw, IB_DISCARD_NO_PORT), ==, 2);
    fabric_star_clear(&s);
}

/* Port 0 by an entry; DLID 0 and the switch's own LID whatever the table. */
static void test_port0(void)
{
    FabricStar s;
    FabricRoute lid;
    uint8_t data[64] = { 0 };

    setup(&s, 16, 1);
    entry(data, 0, 0x60, 1, 0);
    entry(data, 1, 0x70, 0, 0);         /* no limit for port 0 */
    g_assert_cmpint(set_block(&s, 0, data), ==, 0);
    set_default_port(&s, 3);
    lid = fabric_lid_route(1, 0x61);
    memset(data, 0, 64);
    g_assert_cmpint(fabric_smp(s.host[0], &lid, IB_METHOD_GET,
                               IB_SM_ATTR_NODE_INFO, 0, data), ==, 0);
    lid = fabric_lid_route(1, FABRIC_SWITCH_LID);
    g_assert_cmpint(fabric_smp(s.host[0], &lid, IB_METHOD_GET,
                               IB_SM_ATTR_NODE_INFO, 0, data), ==, 0);
    g_assert_cmpint(send_to(&s, 0, 0), ==, -1);
    g_assert_cmpuint(ib_switch_discards(s.sw->sw, IB_DISCARD_DLID_ZERO), ==,
                     1);
    fabric_star_clear(&s);
}

/* LIDsPerPort is the most entries that may name an exit port. */
static void test_lids_per_port(void)
{
    FabricStar s;
    uint8_t data[64] = { 0 };

    setup(&s, 32, 2);
    entry(data, 0, 0x20, 0, 2);
    entry(data, 1, 0x21, 3, 2);
    entry(data, 2, 0x30, 0, 3);
    g_assert_cmpint(set_block(&s, 0, data), ==, 0);
    memset(data, 0, 64);
    entry(data, 0, 0x40, 0, 2);
    g_assert_cmphex(set_block(&s, 1, data), ==, STATUS_BAD_FIELD);
    g_assert_cmphex(ib_switch_rft_get(s.sw->sw, 16), ==, 0);
    g_assert_cmpint(send_to(&s, 0, 0x40), ==, -1);
    memset(data, 0, 64);
    entry(data, 0, 0x40, 0, 3);
    g_assert_cmpint(set_block(&s, 1, data), ==, 0);
    /* Writing a block anew counts its new entries only. */
    memset(data, 0, 64);
    entry(data, 5, 0x50, 0, 2);
    entry(data, 6, 0x51, 0, 2);
    g_assert_cmpint(set_block(&s, 0, data), ==, 0);
    fabric_star_clear(&s);
}

static void test_save(void)
{
    FabricStar s;
    uint8_t data[64] = { 0 };
    GByteArray *bytes = g_byte_array_new();

    setup(&s, 32, 0);
    entry(data, 0, 0x20, 2, 2);
    g_assert_cmpint(set_block(&s, 0, data), ==, 0);
    set_default_port(&s, 4);
    ib_switch_save(s.sw->sw, bytes);
    g_assert_true(fabric_replace_switch(s.sw, bytes->data, bytes->len));
    g_assert_cmpint(send_to(&s, 0, 0x23), ==, 1);
    g_assert_cmpint(send_to(&s, 0, 0x24), ==, 3);
    g_byte_array_unref(bytes);
    fabric_star_clear(&s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/switch/random/layout", test_layout);
    g_test_add_func("/switch/random/limits", test_limits);
    g_test_add_func("/switch/random/match", test_match);
    g_test_add_func("/switch/random/default-port", test_default_port);
    g_test_add_func("/switch/random/no-port", test_no_port);
    g_test_add_func("/switch/random/port0", test_port0);
    g_test_add_func("/switch/random/lids-per-port", test_lids_per_port);
    g_test_add_func("/switch/random/save", test_save);
    return g_test_run();
}
