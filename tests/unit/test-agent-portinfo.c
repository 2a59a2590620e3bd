/*
 * PortInfo: what it shows and which Sets it takes, at each kind of port
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Offsets and rules: IBA Vol.1 14.2.5.6.
 */
#include "agent-node.h"

#define PORT_INFO 0x15
#define CA        IB_NODE_TYPE_CA
#define SW        IB_NODE_TYPE_SWITCH

static uint16_t be16(const uint8_t *p)
{
    return p[0] << 8 | p[1];
}

static uint32_t be32(const uint8_t *p)
{
    return (uint32_t)be16(p) << 16 | be16(p + 2);
}

static void test_get_ca(void)
{
    IbNodeConfig config = { .capability_mask2 = 0x0010 };
    TestNode *t = test_node_new_with(IB_NODE_TYPE_CA, 2, config,
                                     &test_link_config, NULL);
    static const uint8_t prefix[8] = { 0xfe, 0x80 };
    uint8_t d[64], other[64], zero[8] = { 0 };

    g_assert_cmphex(test_get(t, 2, PORT_INFO, 0, d), ==, 0);
    g_assert_cmpmem(d, 8, zero, 8);             /* M_Key */
    g_assert_cmpmem(d + 8, 8, prefix, 8);       /* GidPrefix */
    g_assert_cmpuint(be16(d + 16), ==, 0);      /* LID */
    g_assert_cmpuint(be16(d + 18), ==, 0);      /* MasterSMLID */
    /*
     * Trap, SLMapping, SystemImageGUID, VendorClass,
     * CapabilityMaskNotice, ClientReregistration; extended speeds and
     * CapabilityMask2 as they are
     */
    g_assert_cmphex(be32(d + 20), ==, 0x0250c848);
    g_assert_cmpuint(be16(d + 24), ==, 0);      /* DiagCode */
    g_assert_cmpuint(be16(d + 26), ==, 0);      /* M_KeyLeasePeriod */
    g_assert_cmpuint(d[28], ==, 2);             /* LocalPortNum */
    g_assert_cmpuint(d[29], ==, 3);             /* LinkWidthEnabled */
    g_assert_cmpuint(d[30], ==, 3);             /* LinkWidthSupported */
    g_assert_cmpuint(d[31], ==, 2);             /* LinkWidthActive: 4x */
    g_assert_cmphex(d[32], ==, 0x72);           /* speeds; Initialize */
    g_assert_cmphex(d[33], ==, 0x52);           /* LinkUp; Polling */
    g_assert_cmphex(d[34], ==, 0);              /* ProtectBits, LMC */
    g_assert_cmphex(d[35], ==, 0x47);           /* QDR hides FDR */
    g_assert_cmphex(d[36] & 0xf, ==, 0);        /* MasterSMSL */
    g_assert_cmphex(d[37], ==, 0x40);           /* VLCap VL0-7, InitType */
    g_assert_cmpuint(d[39], ==, 64);            /* VLArbitrationHighCap */
    g_assert_cmpuint(d[40], ==, 64);
    g_assert_cmphex(d[41], ==, 0x05);           /* MTUCap 4096 */
    g_assert_cmphex(d[42], ==, 0);              /* not of a CA */
    g_assert_cmphex(d[43] & 0x0f, ==, 0);
    g_assert_cmpmem(d + 44, 6, zero, 6);        /* violations */
    g_assert_cmpuint(d[50], ==, 10);            /* GUIDCap */
    g_assert_cmpuint(d[51], ==, 18);            /* SubnetTimeOut */
    g_assert_cmpuint(d[52], ==, 18);            /* RespTimeValue */
    g_assert_cmphex(d[53], ==, 0x88);           /* thresholds */
    g_assert_cmpmem(d + 54, 6, zero, 6);
    g_assert_cmphex(be16(d + 60), ==, 0x0010);  /* CapabilityMask2 */
    g_assert_cmphex(d[62], ==, 0x11);           /* FDR active, supported */
    g_assert_cmphex(d[63], ==, 0x01);           /* FDR enabled */

    /* By its number from the other port: same but LocalPortNum */
    g_assert_cmphex(test_get(t, 1, PORT_INFO, 2, other), ==, 0);
    g_assert_cmpuint(other[28], ==, 1);
    other[28] = 2;
    g_assert_cmpmem(d, 64, other, 64);
    test_node_free(t);
}

static void test_get_switch_port0(void)
{
    TestNode *t = test_node_new(IB_NODE_TYPE_SWITCH);
    uint8_t d[64];

    test_give_lids(t, 2, 0);
    g_assert_cmphex(test_get(t, 2, PORT_INFO, 0, d), ==, 0);
    g_assert_cmpuint(be16(d + 16), ==, 5);
    g_assert_cmpuint(be16(d + 18), ==, 9);
    g_assert_cmphex(be32(d + 20), ==, 0x02504848);
    g_assert_cmpuint(d[28], ==, 2);
    g_assert_cmphex(d[32], ==, 0x74);           /* Active */
    g_assert_cmphex(d[33], ==, 0x52);
    g_assert_cmphex(d[36], ==, 0x50);           /* NeighborMTU is MTUCap */
    g_assert_cmphex(d[41], ==, 0x05);
    g_assert_cmpuint(d[39], ==, 0);
    g_assert_cmpuint(d[50], ==, 10);
    test_node_free(t);
}

/* What only an end port has is 0 at an external port of a switch. */
static void test_get_switch_external(void)
{
    TestNode *t = test_node_new(IB_NODE_TYPE_SWITCH);
    uint8_t d[64], zero[24] = { 0 };

    test_give_lids(t, 2, 0);
    ib_link_set_hoq_life(t->ends[3].link, 17);
    ib_link_set_vl_stall_count(t->ends[3].link, 5);
    g_assert_cmphex(test_get(t, 2, PORT_INFO, 3, d), ==, 0);
    g_assert_cmpmem(d, 24, zero, 24);
    g_assert_cmpuint(d[28], ==, 2);
    g_assert_cmphex(d[32], ==, 0x72);
    g_assert_cmphex(d[42], ==, 5 << 5 | 17);    /* VLStallCount, HOQLife */
    g_assert_cmpuint(d[50], ==, 0);
    g_assert_cmphex(d[51], ==, 0);
    test_node_free(t);
}

/* A speed that a CA lacks: no extended components, no capability bit. */
static void test_get_qdr(void)
{
    IbLinkConfig link = test_link_config;
    uint8_t d[64];
    TestNode *t;

    link.speed_supported = 0x7;
    t = test_node_new_with(IB_NODE_TYPE_CA, 1, (IbNodeConfig) { 0 }, &link,
                           NULL);
    g_assert_cmphex(test_get(t, 1, PORT_INFO, 0x80000000, d), ==, 0);
    g_assert_cmphex(be32(d + 20) & 0x4000, ==, 0);
    g_assert_cmphex(d[35], ==, 0x47);
    g_assert_cmphex(d[62], ==, 0);
    g_assert_cmphex(d[63], ==, 0);
    test_node_free(t);
}

/* HDR and NDR need their bits in CapabilityMask2. */
static void test_get_hdr(void)
{
    static const struct {
        uint16_t speeds, mask2;
    } cases[] = { { 0x37, 0 }, { 0x77, 0x0020 }, { 0xf7, 0x0420 } };
    IbLinkConfig link = test_link_config;
    uint8_t d[64];
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(cases); i++) {
        bool more = cases[i].mask2;
        TestNode *t;

        link.speed_supported = cases[i].speeds;
        t = test_node_new_with(SW, 1, (IbNodeConfig) { 0 }, &link, NULL);
        g_assert_cmphex(test_get(t, 1, PORT_INFO, 0, d), ==, 0);
        g_assert_cmphex(be16(d + 60), ==, cases[i].mask2);
        g_assert_cmphex(be32(d + 20) & 0xc000, ==, more ? 0xc000 : 0x4000);
        g_assert_cmphex(d[62] & 0xf, ==, cases[i].speeds >> 4);
        test_node_free(t);
    }
}

/* ------------------------------------------------------------------- Set */

static void test_set_end_port(void)
{
    TestNode *t = test_node_new(IB_NODE_TYPE_CA);
    static const uint8_t prefix[8] = { 0xfe, 0xc0, 0, 0, 0, 0, 0, 1 };
    uint8_t d[64], got[64];

    test_port_info_for_set(t, 1, 0, d);
    memcpy(d + 8, prefix, 8);
    d[16] = 0x12;
    d[17] = 0x34;
    d[19] = 0x56;
    d[26] = 0x01;
    d[27] = 0x02;
    d[34] = 2;                                  /* LMC */
    d[36] = (d[36] & 0xf0) | 7;                 /* MasterSMSL */
    d[41] |= 0x60;                              /* InitTypeReply */
    d[51] = 0x80 | 17;                          /* ClientReregister */
    d[53] = 0x5a;
    g_assert_cmphex(test_set(t, 1, PORT_INFO, 0, d), ==, 0);
    g_assert_cmphex(t->changed, ==,
                    IB_CHANGED_LID | IB_CHANGED_SM | IB_CHANGED_PREFIX |
                    IB_CHANGED_REREGISTER | IB_CHANGED_PORT);
    g_assert_cmpuint(t->changed_port, ==, 1);
    g_assert_cmphex(d[51], ==, 0x80 | 17);      /* its answer repeats it */
    g_assert_cmphex(test_get(t, 1, PORT_INFO, 0, got), ==, 0);
    g_assert_cmphex(got[51], ==, 17);           /* a Get never shows it */
    got[51] |= 0x80;
    g_assert_cmpmem(got, 64, d, 64);
    g_assert_cmpmem(got + 8, 8, prefix, 8);
    g_assert_cmphex(be16(got + 16), ==, 0x1234);
    g_assert_cmphex(be16(got + 18), ==, 0x56);
    g_assert_cmphex(be16(got + 26), ==, 0x102);
    g_assert_cmphex(got[34], ==, 2);
    g_assert_cmphex(got[41], ==, 0x65);
    g_assert_cmphex(got[53], ==, 0x5a);
    g_assert_cmphex(ib_node_lid(t->node, 1), ==, 0x1234);
    g_assert_cmphex(ib_node_lmc(t->node, 1), ==, 2);
    g_assert_cmphex(ib_node_sm_lid(t->node, 1), ==, 0x56);
    g_assert_cmphex(ib_node_sm_sl(t->node, 1), ==, 7);
    g_assert_cmphex(ib_node_subnet_timeout(t->node, 1), ==, 17);
    g_assert_cmphex(ib_node_gid_prefix(t->node, 1), ==,
                    UINT64_C(0xfec0000000000001));
    g_assert_cmphex(ib_node_lid(t->node, 2), ==, 0);
    test_node_free(t);
}

/* Read-only and reserved components of a Set are not looked at. */
static void test_set_ignores(void)
{
    TestNode *t = test_node_new(IB_NODE_TYPE_CA);
    static const uint8_t read_only[] = {
        20, 21, 22, 23, 24, 25, 28, 30, 31, 39, 40, 42, 50, 52, 54, 55, 56,
        57, 58, 59, 60, 61, 62
    };
    uint8_t before[64], d[64];
    unsigned i;

    test_give_lids(t, 1, 0);
    g_assert_cmphex(test_get(t, 1, PORT_INFO, 0, before), ==, 0);
    test_port_info_for_set(t, 1, 0, d);
    for (i = 0; i < G_N_ELEMENTS(read_only); i++) {
        d[read_only[i]] ^= 0xff;
    }
    d[32] ^= 0xf0;                              /* LinkSpeedSupported */
    d[34] ^= 0x38;                              /* reserved */
    d[35] ^= 0xf0;                              /* LinkSpeedActive */
    d[37] ^= 0xff;                              /* VLCap, InitType */
    d[41] ^= 0x0f;                              /* MTUCap */
    d[43] ^= 0x0f;                              /* a switch's enforcement */
    d[51] ^= 0x60;
    d[63] ^= 0xff;                              /* SM knows no ext. speed */
    g_assert_cmphex(test_set(t, 1, PORT_INFO, 0, d), ==, 0);
    g_assert_cmpmem(d, 64, before, 64);
    test_node_free(t);
}

typedef struct BadSet {
    const char *name;
    uint8_t type, port;
    uint8_t offset, mask, value;
    uint32_t modifier;
} BadSet;

#define EXT 0x80000000

static const BadSet bad_sets[] = {
    { "lid-0", CA, 1, 17, 0xff, 0 },
    { "lid-multicast", CA, 1, 16, 0xff, 0xc0 },
    { "lid-permissive", CA, 1, 16, 0xff, 0xff },
    { "lid-not-lmc-aligned", CA, 1, 34, 0x07, 1 },
    { "lid-0-port0", SW, 0, 17, 0xff, 0 },
    { "sm-lid-0", CA, 1, 19, 0xff, 0 },
    { "sm-lid-multicast", SW, 0, 18, 0xff, 0xc0 },
    { "width-not-supported", CA, 1, 29, 0xff, 8 },
    { "width-reserved", SW, 2, 29, 0xff, 0x23 },
    { "speed-reserved", CA, 1, 35, 0x0f, 8 },
    { "speed-ext-not-supported", SW, 2, 63, 0x1f, 2, EXT },
    { "speed-ext-reserved", SW, 2, 63, 0x1f, 16, EXT },
    { "mtu-0", SW, 2, 36, 0xf0, 0 },
    { "mtu-6", CA, 1, 36, 0xf0, 0x60 },
    { "vls-above-cap", SW, 2, 43, 0xf0, 0x50 },
    { "vls-reserved", CA, 1, 43, 0xf0, 0xf0 },
    { "state-init", SW, 2, 32, 0x0f, 2 },
    { "state-active-from-init", SW, 2, 32, 0x0f, 4 },
    { "state-5", CA, 1, 32, 0x0f, 5 },
    { "phys-4", SW, 2, 33, 0xf0, 0x40 },
    { "phys-15", CA, 1, 33, 0xf0, 0xf0 },
    { "down-default-3", SW, 2, 33, 0x0f, 3 },
};

/* Status 7 (0x1c), and nothing of the Set is done. */
static void test_bad_set(gconstpointer data)
{
    const BadSet *c = data;
    TestNode *t = test_node_new(c->type);
    uint32_t modifier = c->port | c->modifier;
    uint8_t before[64], after[64], d[64];

    if (c->port == 0 || c->type == CA) {
        test_give_lids(t, 1, modifier);
    }
    g_assert_cmphex(test_get(t, 1, PORT_INFO, modifier, before), ==, 0);
    test_port_info_for_set(t, 1, modifier, d);
    d[53] ^= 0xff;                              /* valid, but not alone */
    if (c->port) {
        d[38] ^= 0xff;
    }
    g_assert_cmphex((d[c->offset] & c->mask), !=, c->value);
    d[c->offset] = (d[c->offset] & ~c->mask) | c->value;
    g_assert_cmphex(test_set(t, 1, PORT_INFO, modifier, d), ==, 0x1c);
    g_assert_cmphex(test_get(t, 1, PORT_INFO, modifier, after), ==, 0);
    g_assert_cmpmem(after, 64, before, 64);
    g_assert_cmphex(t->changed, ==, 0);
    test_node_free(t);
}

static void test_set_link(void)
{
    TestNode *t = test_node_new(SW);
    uint8_t d[64];

    test_port_info_for_set(t, 1, EXT | 2, d);
    d[29] = 1;                                  /* LinkWidthEnabled 1x */
    d[33] = 0x01;                               /* LinkDownDefault Sleep */
    d[35] = 0x03;                               /* SDR, DDR */
    d[36] = 0x30;                               /* MTU 1024 */
    d[38] = 0x7b;                               /* VLHighLimit */
    d[42] = 3 << 5 | 11;
    d[43] = 0x2f;                               /* VL0-1 and enforcement */
    d[63] = 30;                                 /* extended speeds off */
    g_assert_cmphex(test_set(t, 1, PORT_INFO, EXT | 2, d), ==, 0);
    g_assert_cmphex(d[29], ==, 1);
    g_assert_cmphex(d[33] & 0x0f, ==, 1);
    g_assert_cmphex(d[35] & 0x0f, ==, 3);
    g_assert_cmphex(d[36], ==, 0x30);
    g_assert_cmphex(d[38], ==, 0x7b);
    g_assert_cmphex(d[42], ==, 3 << 5 | 11);
    g_assert_cmphex(d[43], ==, 0x20);           /* none is implemented */
    g_assert_cmphex(d[63], ==, 30);
    g_assert_cmphex(t->changed, ==, IB_CHANGED_PORT);
    g_assert_cmpuint(t->changed_port, ==, 2);

    /* No change, and as supported */
    d[29] = 0;
    d[32] &= 0xf0;
    d[33] = 0;
    d[35] = 0;
    d[43] = 0;
    d[63] = 0;
    g_assert_cmphex(test_set(t, 1, PORT_INFO, EXT | 2, d), ==, 0);
    g_assert_cmphex(d[29], ==, 1);
    g_assert_cmphex(d[33] & 0x0f, ==, 1);
    g_assert_cmphex(d[35] & 0x0f, ==, 3);
    g_assert_cmphex(d[43], ==, 0x20);
    g_assert_cmphex(d[63], ==, 30);
    d[29] = 255;
    d[32] &= 0xf0;
    d[33] = 0;
    d[35] = 15;
    d[63] = 31;
    g_assert_cmphex(test_set(t, 1, PORT_INFO, EXT | 2, d), ==, 0);
    g_assert_cmphex(d[29], ==, 3);
    g_assert_cmphex(d[35] & 0x0f, ==, 7);
    g_assert_cmphex(d[63], ==, 1);
    test_node_free(t);
}

static void test_enforcement(void)
{
    IbNodeConfig config = {
        .enforcement = IB_ENFORCE_PARTITION_IN | IB_ENFORCE_RAW_OUT
    };
    TestNode *t = test_node_new_with(SW, 3, config, &test_link_config, NULL);
    uint8_t d[64];

    test_port_info_for_set(t, 1, 2, d);
    d[43] |= 0x0f;
    g_assert_cmphex(test_set(t, 1, PORT_INFO, 2, d), ==, 0);
    g_assert_cmphex(d[43] & 0x0f, ==, 0x9);     /* bits 3 and 0 */
    g_assert_cmphex(ib_node_enforcement(t->node, 2), ==, 0x9);
    g_assert_cmphex(ib_node_enforcement(t->node, 1), ==, 0);
    test_node_free(t);
}

/* Base port 0 has no LMC; enhanced port 0 has. */
static void test_port0_lmc(void)
{
    IbNodeConfig config = { .enhanced_port0 = true };
    TestNode *base = test_node_new(SW);
    TestNode *enhanced = test_node_new_with(SW, 3, config, &test_link_config,
                                            NULL);
    uint8_t d[64];

    test_port_info_for_set(base, 1, 0, d);
    d[17] = 5;
    d[19] = 9;
    d[34] = 1;
    d[36] = 0;                                  /* not used, so not wrong */
    g_assert_cmphex(test_set(base, 1, PORT_INFO, 0, d), ==, 0);
    g_assert_cmphex(d[34], ==, 0);
    test_port_info_for_set(enhanced, 1, 0, d);
    d[17] = 6;
    d[19] = 9;
    d[34] = 1;
    g_assert_cmphex(test_set(enhanced, 1, PORT_INFO, 0, d), ==, 0);
    g_assert_cmphex(d[34], ==, 1);
    test_node_free(base);
    test_node_free(enhanced);
}

static uint8_t set_state(TestNode *t, uint8_t in_port, uint8_t port,
                         uint8_t state, uint8_t phys, uint16_t status)
{
    uint8_t d[64];

    test_port_info_for_set(t, in_port, port, d);
    d[32] = (d[32] & 0xf0) | state;
    d[33] = phys << 4;
    g_assert_cmphex(test_set(t, in_port, PORT_INFO, port, d), ==, status);
    return d[32] & 0x0f;
}

/* 7.2.7 as a SM walks it: Initialize, Armed, Active; Down and back. */
static void test_states(void)
{
    TestNode *t = test_node_new(SW);

    g_assert_cmpuint(set_state(t, 1, 2, 3, 0, 0), ==, 3);
    g_assert_cmpuint(set_state(t, 1, 2, 3, 0, 0), ==, 3);
    g_assert_cmpuint(set_state(t, 1, 2, 4, 0, 0), ==, 4);
    g_assert_cmpuint(set_state(t, 1, 2, 0, 0, 0), ==, 4);
    set_state(t, 1, 2, 3, 0, 0x1c);
    g_assert_cmpuint(set_state(t, 1, 2, 1, 0, 0), ==, 1);
    test_run(t, SECOND);
    g_assert_cmpuint(ib_link_state(t->ends[2].link), ==, IB_PORT_INIT);
    /* Disabled until told to poll; with PortState Down or without */
    g_assert_cmpuint(set_state(t, 1, 2, 1, 3, 0), ==, 1);
    test_run(t, 5 * SECOND);
    g_assert_cmpuint(ib_link_phys_state(t->ends[2].link), ==,
                     IB_PHYS_DISABLED);
    set_state(t, 1, 2, 0, 2, 0);
    test_run(t, 5 * SECOND);
    g_assert_cmpuint(ib_link_state(t->ends[2].link), ==, IB_PORT_INIT);
    test_node_free(t);
}

/* A port that takes itself down answers first. */
static void test_down_of_own_port(gconstpointer data)
{
    uint8_t type = GPOINTER_TO_UINT(data);
    TestNode *t = test_node_new(type);

    if (type == CA) {
        test_give_lids(t, 1, 0);
    }
    g_assert_cmpuint(set_state(t, 1, 1, 1, 0, 0), ==, 2);
    g_assert_cmpuint(ib_link_state(t->ends[1].link), ==, IB_PORT_INIT);
    g_assert_cmpint(t->node_deadline, <=, t->now + 50 * MS);
    g_assert_cmpint(t->node_deadline, >, t->now);
    test_run(t, t->node_deadline - t->now);
    g_assert_cmpuint(ib_link_state(t->ends[1].link), ==, IB_PORT_DOWN);
    test_run(t, 5 * SECOND);
    g_assert_cmpuint(ib_link_state(t->ends[1].link), ==, IB_PORT_INIT);
    test_node_free(t);
}

/* PortStateChange: set by what happens, not by what the SM sets */
static void test_port_state_change(void)
{
    TestNode *t = test_node_new(SW);

    g_assert_true(ib_node_port_state_change(t->node));
    ib_node_clear_port_state_change(t->node);
    set_state(t, 1, 2, 3, 0, 0);
    set_state(t, 1, 2, 4, 0, 0);
    g_assert_false(ib_node_port_state_change(t->node));
    set_state(t, 1, 2, 1, 3, 0);
    g_assert_false(ib_node_port_state_change(t->node));
    set_state(t, 1, 2, 0, 2, 0);
    test_run(t, 5 * SECOND);                    /* Down to Initialize */
    g_assert_true(ib_node_port_state_change(t->node));
    ib_node_clear_port_state_change(t->node);
    ib_link_cable_detach(t->ends[3].link);
    g_assert_true(ib_node_port_state_change(t->node));
    test_node_free(t);
}

/* Counters of violations count, stop at their end and are set to 0 only. */
static void test_violations(void)
{
    TestNode *t = test_node_new(CA);
    uint8_t d[64];
    unsigned i;

    test_give_lids(t, 1, 0);
    ib_node_pkey_violation(t->node, 1);
    for (i = 0; i < 70000; i++) {
        ib_node_qkey_violation(t->node, 1);
    }
    test_port_info_for_set(t, 1, 0, d);
    g_assert_cmpuint(be16(d + 46), ==, 1);
    g_assert_cmpuint(be16(d + 48), ==, 0xffff);
    d[46] = 1;
    g_assert_cmphex(test_set(t, 1, PORT_INFO, 0, d), ==, 0);
    g_assert_cmpuint(be16(d + 46), ==, 1);
    d[32] &= 0xf0;
    d[33] = 2;
    memset(d + 46, 0, 4);
    g_assert_cmphex(test_set(t, 1, PORT_INFO, 0, d), ==, 0);
    g_assert_cmpuint(be16(d + 46), ==, 0);
    g_assert_cmpuint(be16(d + 48), ==, 0);
    ib_node_qkey_violation(t->node, 1);
    ib_node_reset_qkey_violations(t->node, 1);
    test_get(t, 1, PORT_INFO, 0, d);
    g_assert_cmpuint(be16(d + 48), ==, 0);
    test_node_free(t);
}

/* Without the capability ClientReregister is a reserved bit. */
static void test_no_reregister(void)
{
    IbNodeConfig config = { .capability_mask = 1 << 3 };
    TestNode *t = test_node_new_with(CA, 1, config, &test_link_config, NULL);
    uint8_t d[64];

    test_give_lids(t, 1, 0);
    test_port_info_for_set(t, 1, 0, d);
    d[51] |= 0x80;
    g_assert_cmphex(test_set(t, 1, PORT_INFO, 0, d), ==, 0);
    g_assert_cmphex(d[51] & 0x80, ==, 0);
    g_assert_cmphex(t->changed, ==, IB_CHANGED_PORT);
    test_node_free(t);
}

int main(int argc, char **argv)
{
    unsigned i;

    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/agent/port-info/get/ca", test_get_ca);
    g_test_add_func("/agent/port-info/get/switch-port0",
                    test_get_switch_port0);
    g_test_add_func("/agent/port-info/get/switch-external",
                    test_get_switch_external);
    g_test_add_func("/agent/port-info/get/qdr", test_get_qdr);
    g_test_add_func("/agent/port-info/get/hdr", test_get_hdr);
    g_test_add_func("/agent/port-info/set/end-port", test_set_end_port);
    g_test_add_func("/agent/port-info/set/ignores", test_set_ignores);
    for (i = 0; i < G_N_ELEMENTS(bad_sets); i++) {
        g_autofree char *path = g_strdup_printf("/agent/port-info/bad/%s",
                                                bad_sets[i].name);

        g_test_add_data_func(path, &bad_sets[i], test_bad_set);
    }
    g_test_add_func("/agent/port-info/set/link", test_set_link);
    g_test_add_func("/agent/port-info/set/enforcement", test_enforcement);
    g_test_add_func("/agent/port-info/set/port0-lmc", test_port0_lmc);
    g_test_add_func("/agent/port-info/states", test_states);
    g_test_add_data_func("/agent/port-info/down-of-own-port/switch",
                         GUINT_TO_POINTER(SW), test_down_of_own_port);
    g_test_add_data_func("/agent/port-info/down-of-own-port/ca",
                         GUINT_TO_POINTER(CA), test_down_of_own_port);
    g_test_add_func("/agent/port-info/port-state-change",
                    test_port_state_change);
    g_test_add_func("/agent/port-info/violations", test_violations);
    g_test_add_func("/agent/port-info/no-reregister", test_no_reregister);
    return g_test_run();
}
