/*
 * The SMA: node, tables, and the status of what it does not do
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Offsets are those of IBA Vol.1 14.2.5 and 13.4.2.
 */
#include "agent-node.h"

static uint16_t be16(const uint8_t *p)
{
    return p[0] << 8 | p[1];
}

static uint64_t be64(const uint8_t *p)
{
    uint64_t v = 0;
    unsigned i;

    for (i = 0; i < 8; i++) {
        v = v << 8 | p[i];
    }
    return v;
}

static void test_node_description(void)
{
    TestNode *t = test_node_new(IB_NODE_TYPE_CA);
    char expect[64] = "node under test";
    uint8_t data[64];

    g_assert_cmphex(test_get(t, 1, 0x10, 0, data), ==, 0);
    g_assert_cmpmem(data, 64, expect, 64);
    g_assert_cmphex(test_set(t, 1, 0x10, 0, data), ==, 0x0c);
    memset(expect, 'x', sizeof(expect));
    ib_node_set_description(t->node, expect);
    g_assert_cmphex(test_get(t, 1, 0x10, 0, data), ==, 0);
    g_assert_cmpmem(data, 64, expect, 64);
    test_node_free(t);
}

static void check_node_info(uint8_t type, uint8_t in_port, uint8_t ports,
                            uint64_t port_guid)
{
    TestNode *t = test_node_new(type);
    uint8_t data[64], zero[24] = { 0 };

    g_assert_cmphex(test_get(t, in_port, 0x11, 0, data), ==, 0);
    g_assert_cmpuint(data[0], ==, 1);           /* BaseVersion */
    g_assert_cmpuint(data[1], ==, 1);           /* ClassVersion */
    g_assert_cmpuint(data[2], ==, type);
    g_assert_cmpuint(data[3], ==, ports);
    g_assert_cmphex(be64(data + 4), ==, TEST_NODE_GUID + 0xff);
    g_assert_cmphex(be64(data + 12), ==, TEST_NODE_GUID);
    g_assert_cmphex(be64(data + 20), ==, port_guid);
    g_assert_cmpuint(be16(data + 28), ==, 40);  /* PartitionCap */
    g_assert_cmphex(be16(data + 30), ==, 0x1003);
    g_assert_cmphex(be16(data + 32), ==, 0x0102);
    g_assert_cmphex(be16(data + 34), ==, 0x0304);
    g_assert_cmpuint(data[36], ==, in_port);    /* LocalPortNum */
    g_assert_cmphex(data[37] << 16 | be16(data + 38), ==, 0x0002c9);
    g_assert_cmpmem(data + 40, 24, zero, 24);
    test_node_free(t);
}

static void test_node_info(void)
{
    check_node_info(IB_NODE_TYPE_CA, 1, 2, TEST_PORT_GUID);
    check_node_info(IB_NODE_TYPE_CA, 2, 2, TEST_PORT_GUID + 1);
    check_node_info(IB_NODE_TYPE_SWITCH, 3, 3, TEST_PORT_GUID);
    check_node_info(IB_NODE_TYPE_SWITCH, 0, 3, TEST_PORT_GUID);
    check_node_info(IB_NODE_TYPE_ROUTER, 2, 2, TEST_PORT_GUID + 1);
}

/* ------------------------------------------------------------- statuses */

typedef struct StatusCase {
    const char *name;
    uint8_t base, class, version, method;
    uint16_t attribute;
    uint32_t modifier;
    uint16_t status;              /* 13.4.7, or NO_REPLY */
} StatusCase;

static const StatusCase statuses[] = {
    { "base-version-0", 0, 0x81, 1, 1, 0x11, 0, 0x04 },
    { "base-version-2", 2, 0x01, 1, 1, 0x11, 0, 0x04 },
    { "class-version-0", 1, 0x81, 0, 1, 0x11, 0, 0x04 },
    { "class-version-2", 1, 0x01, 2, 2, 0x11, 0, 0x04 },
    { "method-get-table", 1, 0x81, 1, 0x12, 0x11, 0, 0x08 },
    { "method-0", 1, 0x01, 1, 0x00, 0x11, 0, 0x08 },
    { "method-10", 1, 0x01, 1, 0x10, 0x11, 0, 0x08 },
    { "attribute-0", 1, 0x81, 1, 1, 0x00, 0, 0x0c },
    { "attribute-class-port-info", 1, 0x81, 1, 1, 0x01, 0, 0x0c },
    { "attribute-notice", 1, 0x01, 1, 1, 0x02, 0, 0x0c },
    { "attribute-sm-info", 1, 0x01, 1, 1, 0x20, 0, 0x0c },
    { "attribute-port-info-extended", 1, 0x01, 1, 1, 0x33, 0, 0x0c },
    { "vendor-diag-index", 1, 0x01, 1, 1, 0x30, 1, 0x1c },
    { "set-vendor-diag", 1, 0x01, 1, 2, 0x30, 0, 0x0c },
    { "attribute-ffff", 1, 0x81, 1, 2, 0xffff, 0, 0x0c },
    { "set-node-info", 1, 0x81, 1, 2, 0x11, 0, 0x0c },
    { "set-node-description", 1, 0x81, 1, 2, 0x10, 0, 0x0c },
    { "led-not-supported", 1, 0x81, 1, 1, 0x31, 0, 0x0c },
    { "port-info-no-port", 1, 0x81, 1, 1, 0x15, 4, 0x1c },
    { "port-info-port-300", 1, 0x81, 1, 1, 0x15, 0x101, 0x1c },
    { "guid-info-block", 1, 0x81, 1, 1, 0x14, 2, 0x1c },
    { "pkey-table-block", 1, 0x81, 1, 1, 0x16, 2, 0x1c },
    { "vl-arb-part-0", 1, 0x81, 1, 1, 0x18, 1, 0x1c },
    { "vl-arb-part-5", 1, 0x81, 1, 1, 0x18, 0x50001, 0x1c },
    /* One-way methods and answers are not answered. */
    { "get-resp", 1, 0x81, 1, 0x81, 0x11, 0, NO_REPLY },
    { "get-resp-lid", 1, 0x01, 1, 0x81, 0x20, 0, NO_REPLY },
    { "send", 1, 0x01, 1, 0x03, 0x11, 0, NO_REPLY },
    { "trap", 1, 0x01, 1, 0x05, 0x02, 0, NO_REPLY },
    { "report", 1, 0x01, 1, 0x06, 0x02, 0, NO_REPLY },
    { "trap-repress", 1, 0x01, 1, 0x07, 0x02, 0, NO_REPLY },
    /* Classes without an agent */
    { "class-sa", 1, 0x03, 2, 1, 0x01, 0, 0x0c },
    { "class-bm", 1, 0x05, 1, 1, 0x01, 0, 0x0c },
    { "class-vendor", 1, 0x0a, 1, 2, 0x01, 0, 0x0c },
    { "class-cm", 1, 0x07, 2, 3, 0x10, 0, NO_REPLY },
    { "class-resp", 1, 0x0a, 1, 0x81, 0x01, 0, NO_REPLY },
    { "class-0", 1, 0x00, 1, 1, 0x01, 0, 0x0c },
};

static void test_status(gconstpointer data)
{
    const StatusCase *c = data;
    uint8_t types[] = { IB_NODE_TYPE_CA, IB_NODE_TYPE_SWITCH };
    uint8_t in[256], out[256];
    unsigned i;

    for (i = 0; i < 2; i++) {
        TestNode *t = test_node_new(types[i]);

        test_smp_init(t, in, c->class, c->method, c->attribute, c->modifier,
                      0);
        in[0] = c->base;
        in[2] = c->version;
        g_assert_cmphex(test_mad(t, 1, in, out), ==, c->status);
        test_node_free(t);
    }
}

/* VendorDiag: nothing to tell, and no index after it (14.2.5.14) */
static void test_vendor_diag(void)
{
    TestNode *t = test_node_new(IB_NODE_TYPE_SWITCH);
    static const uint8_t zero[64] = { 0 };
    uint8_t data[64];

    g_assert_cmphex(test_get(t, 1, 0x30, 0, data), ==, 0);
    g_assert_cmpmem(data, 64, zero, 64);
    test_node_free(t);
}

/* An in_port that the node does not have */
static void test_bad_in_port(void)
{
    TestNode *ca = test_node_new(IB_NODE_TYPE_CA);
    TestNode *sw = test_node_new(IB_NODE_TYPE_SWITCH);
    uint8_t data[64];

    g_assert_cmphex(test_get(ca, 0, 0x11, 0, data), ==, NO_REPLY);
    g_assert_cmphex(test_get(ca, 3, 0x11, 0, data), ==, NO_REPLY);
    g_assert_cmphex(test_get(sw, 4, 0x11, 0, data), ==, NO_REPLY);
    g_assert_cmphex(test_get(sw, 0, 0x11, 0, data), ==, 0);
    test_node_free(ca);
    test_node_free(sw);
}

/* -------------------------------------------------------------- GUIDInfo */

static void test_guid_info(void)
{
    TestNode *t = test_node_new(IB_NODE_TYPE_CA);
    uint8_t data[64], zero[48] = { 0 };

    g_assert_cmphex(test_get(t, 2, 0x14, 0, data), ==, 0);
    g_assert_cmphex(be64(data), ==, TEST_PORT_GUID + 1);
    g_assert_cmpmem(data + 8, 48, zero, 48);

    memset(data, 0x5a, 64);
    g_assert_cmphex(test_set(t, 2, 0x14, 0, data), ==, 0);
    g_assert_cmphex(be64(data), ==, TEST_PORT_GUID + 1);    /* read-only */
    g_assert_cmphex(be64(data + 8), ==, UINT64_C(0x5a5a5a5a5a5a5a5a));
    g_assert_cmphex(t->changed, ==, IB_CHANGED_GUIDS);
    g_assert_cmpuint(t->changed_port, ==, 2);
    g_assert_cmphex(ib_node_guid(t->node, 2, 7), ==,
                    UINT64_C(0x5a5a5a5a5a5a5a5a));
    g_assert_cmphex(ib_node_guid(t->node, 1, 7), ==, 0);

    /* 10 GUIDs: two of the second block, the rest is read-only and 0. */
    memset(data, 0x5b, 64);
    g_assert_cmphex(test_set(t, 2, 0x14, 1, data), ==, 0);
    g_assert_cmphex(be64(data + 8), ==, UINT64_C(0x5b5b5b5b5b5b5b5b));
    g_assert_cmpmem(data + 16, 48, zero, 48);
    g_assert_cmphex(ib_node_guid(t->node, 2, 10), ==, 0);
    g_assert_cmphex(test_get(t, 2, 0x14, 0x20000000, data), ==, 0x1c);
    test_node_free(t);
}

/* ------------------------------------------------------------ P_KeyTable */

static void test_pkey_default(void)
{
    TestNode *t = test_node_new(IB_NODE_TYPE_SWITCH);
    uint8_t data[64], zero[62] = { 0 };
    unsigned port;

    for (port = 0; port <= 3; port++) {
        g_assert_cmphex(test_get(t, 1, 0x16, port << 16, data), ==, 0);
        g_assert_cmphex(be16(data), ==, 0xffff);
        g_assert_cmpmem(data + 2, 62, zero, 62);
        g_assert_cmpint(ib_node_pkey_match(t->node, port, 0xffff), ==, 0);
        g_assert_cmpint(ib_node_pkey_match(t->node, port, 0x7fff), ==, 0);
        g_assert_cmpint(ib_node_pkey_match(t->node, port, 0x8001), ==, -1);
        g_assert_cmpint(ib_node_pkey_match(t->node, port, 0), ==, -1);
    }
    g_assert_cmpuint(ib_node_pkey_cap(t->node, 0), ==, 40);
    g_assert_cmpuint(ib_node_pkey_cap(t->node, 1), ==, 33);
    test_node_free(t);
}

static void test_pkey_set(void)
{
    TestNode *t = test_node_new(IB_NODE_TYPE_SWITCH);
    uint8_t data[64] = { 0x80, 0x01, 0x00, 0x02, 0, 0, 0xff, 0xff };
    uint8_t zero[64] = { 0 };

    /* Port 2's table, block 0; 14.2.5.7: port in the upper half */
    g_assert_cmphex(test_set(t, 1, 0x16, 2 << 16, data), ==, 0);
    g_assert_cmphex(t->changed, ==, IB_CHANGED_PKEYS);
    g_assert_cmpuint(t->changed_port, ==, 2);
    g_assert_cmphex(ib_node_pkey(t->node, 2, 0), ==, 0x8001);
    g_assert_cmphex(ib_node_pkey(t->node, 2, 3), ==, 0xffff);
    g_assert_cmphex(ib_node_pkey(t->node, 2, 4), ==, 0);
    g_assert_cmphex(ib_node_pkey(t->node, 1, 0), ==, 0xffff);
    /* 10.9.3: same 15 bits, not both limited */
    g_assert_cmpint(ib_node_pkey_match(t->node, 2, 0x8001), ==, 0);
    g_assert_cmpint(ib_node_pkey_match(t->node, 2, 0x0001), ==, 0);
    g_assert_cmpint(ib_node_pkey_match(t->node, 2, 0x8002), ==, 1);
    g_assert_cmpint(ib_node_pkey_match(t->node, 2, 0x0002), ==, -1);
    g_assert_cmpint(ib_node_pkey_match(t->node, 2, 0xffff), ==, 3);

    /* Block 1 of 33 entries: one counts */
    memset(data, 0x91, 64);
    g_assert_cmphex(test_set(t, 1, 0x16, 2 << 16 | 1, data), ==, 0);
    g_assert_cmphex(be16(data), ==, 0x9191);
    g_assert_cmpmem(data + 2, 62, zero, 62);
    g_assert_cmpint(ib_node_pkey_match(t->node, 2, 0x9191), ==, 32);
    g_assert_cmphex(test_get(t, 1, 0x16, 2 << 16 | 2, data), ==, 0x1c);
    g_assert_cmphex(test_get(t, 1, 0x16, 4 << 16, data), ==, 0x1c);

    memset(data, 0, 64);
    g_assert_cmphex(test_set(t, 1, 0x16, 2 << 16, data), ==, 0);
    g_assert_cmpint(ib_node_pkey_match(t->node, 2, 0xffff), ==, -1);
    test_node_free(t);
}

/* A CA's table is that of the port the SMP came by. */
static void test_pkey_ca(void)
{
    TestNode *t = test_node_new(IB_NODE_TYPE_CA);
    uint8_t data[64] = { 0x80, 0x77 };

    g_assert_cmphex(test_set(t, 2, 0x16, 0, data), ==, 0);
    g_assert_cmphex(ib_node_pkey(t->node, 2, 0), ==, 0x8077);
    g_assert_cmphex(ib_node_pkey(t->node, 1, 0), ==, 0xffff);
    test_node_free(t);
}

/* ---------------------------------------------------- SLtoVLMappingTable */

static void test_sl2vl_default(void)
{
    static const uint8_t expect[8] = {
        0x01, 0x23, 0x45, 0x67, 0x01, 0x23, 0x45, 0x67
    };
    TestNode *t = test_node_new(IB_NODE_TYPE_SWITCH);
    uint8_t data[64], zero[56] = { 0 };

    g_assert_cmphex(test_get(t, 1, 0x17, 0x0203, data), ==, 0);
    g_assert_cmpmem(data, 8, expect, 8);
    g_assert_cmpmem(data + 8, 56, zero, 56);
    test_node_free(t);
}

static void test_sl2vl_set(void)
{
    TestNode *t = test_node_new(IB_NODE_TYPE_SWITCH);
    const IbSl2vlView *view = ib_node_sl2vl_view(t->node);
    uint8_t data[64] = { 0x76, 0x54, 0x32, 0x10, 0xff, 0xff, 0xff, 0x08 };
    static const uint8_t map[16] = {
        7, 6, 5, 4, 3, 2, 1, 0, 15, 15, 15, 15, 15, 15, 0, 8
    };

    /* in 2, out 3 */
    g_assert_cmphex(test_set(t, 1, 0x17, 0x0203, data), ==, 0);
    g_assert_cmphex(t->changed, ==, IB_CHANGED_SL2VL);
    g_assert_cmpuint(t->changed_port, ==, 3);
    g_assert_cmpmem(ib_sl2vl(view, 2, 3), 16, map, 16);
    g_assert_cmpmem(ib_node_sl2vl(t->node, 2, 3), 16, map, 16);
    g_assert_cmpuint(ib_sl2vl(view, 3, 2)[1], ==, 1);
    g_assert_cmpuint(ib_sl2vl(view, 2, 2)[1], ==, 1);
    g_assert_cmpuint(ib_sl2vl(view, 0, 3)[1], ==, 1);
    g_assert_cmpuint(ib_sl2vl(view, 3, 3)[1], ==, 1);
    g_assert_cmphex(test_get(t, 1, 0x17, 0x0203, data), ==, 0);
    g_assert_cmphex(data[0], ==, 0x76);
    g_assert_cmphex(data[7], ==, 0x08);

    g_assert_cmphex(test_get(t, 1, 0x17, 0x0403, data), ==, 0x1c);
    g_assert_cmphex(test_get(t, 1, 0x17, 0x0204, data), ==, 0x1c);
    /* Optimised programming is not there unless SwitchInfo says so. */
    g_assert_cmphex(test_set(t, 1, 0x17, 0x30000, data), ==, 0x1c);

    ib_node_reset(t->node);
    g_assert_cmpuint(ib_sl2vl(view, 2, 3)[1], ==, 1);
    test_node_free(t);
}

static void test_sl2vl_optimized(void)
{
    IbNodeConfig config = { .optimized_sl2vl = true };
    TestNode *t = test_node_new_with(IB_NODE_TYPE_SWITCH, 3, config,
                                     &test_link_config, NULL);
    uint8_t data[64] = { 0 };

    /* all inputs of output 2 */
    g_assert_cmphex(test_set(t, 1, 0x17, 0x20002, data), ==, 0);
    g_assert_cmpuint(ib_node_sl2vl(t->node, 1, 2)[3], ==, 0);
    g_assert_cmpuint(ib_node_sl2vl(t->node, 3, 2)[3], ==, 0);
    g_assert_cmpuint(ib_node_sl2vl(t->node, 3, 1)[3], ==, 3);
    /* all outputs of input 3 */
    data[0] = 0x11;
    g_assert_cmphex(test_set(t, 1, 0x17, 0x10300, data), ==, 0);
    g_assert_cmpuint(ib_node_sl2vl(t->node, 3, 1)[0], ==, 1);
    g_assert_cmpuint(ib_node_sl2vl(t->node, 3, 2)[0], ==, 1);
    g_assert_cmpuint(ib_node_sl2vl(t->node, 1, 2)[0], ==, 0);
    /* all */
    data[0] = 0x22;
    g_assert_cmphex(test_set(t, 1, 0x17, 0x30000, data), ==, 0);
    g_assert_cmpuint(ib_node_sl2vl(t->node, 1, 1)[0], ==, 2);
    g_assert_cmpuint(ib_node_sl2vl(t->node, 2, 3)[1], ==, 2);
    g_assert_cmphex(test_get(t, 1, 0x17, 0x30000, data), ==, 0x1c);
    test_node_free(t);
}

static void test_sl2vl_ca(void)
{
    TestNode *t = test_node_new(IB_NODE_TYPE_CA);
    uint8_t data[64] = { 0x33 };

    g_assert_cmphex(test_set(t, 2, 0x17, 0, data), ==, 0);
    g_assert_cmpuint(ib_node_sl2vl(t->node, 0, 2)[0], ==, 3);
    g_assert_cmpuint(ib_node_sl2vl(t->node, 0, 1)[0], ==, 0);
    test_node_free(t);
}

static void test_sl2vl_without_capability(void)
{
    IbNodeConfig config = { .capability_mask = 1 << 3 };
    TestNode *t = test_node_new_with(IB_NODE_TYPE_CA, 1, config,
                                     &test_link_config, NULL);
    uint8_t data[64];

    g_assert_cmphex(test_get(t, 1, 0x17, 0, data), ==, 0x0c);
    test_node_free(t);
}

/* ---------------------------------------------------- VLArbitrationTable */

static void test_vl_arb(void)
{
    TestNode *t = test_node_new(IB_NODE_TYPE_SWITCH);
    IbVlArbEntry table[64];
    uint8_t data[64];
    unsigned part, i;

    for (part = 1; part <= 4; part++) {
        for (i = 0; i < 32; i++) {
            data[2 * i] = 0xf0 | (part + i) % 8;    /* 4 bits reserved */
            data[2 * i + 1] = part * 32 + i;
        }
        g_assert_cmphex(test_set(t, 1, 0x18, part << 16 | 2, data), ==, 0);
        g_assert_cmpuint(data[0], ==, part % 8);
        g_assert_cmpuint(data[1], ==, part * 32);
    }
    g_assert_cmphex(t->changed, ==, IB_CHANGED_VLARB);
    /* 1, 2: low priority, lower and upper half; 3, 4: high priority */
    ib_link_get_vl_arb(t->ends[2].link, false, table);
    g_assert_cmpuint(table[0].weight, ==, 32);
    g_assert_cmpuint(table[33].weight, ==, 65);
    g_assert_cmpuint(table[33].vl, ==, 3);
    ib_link_get_vl_arb(t->ends[2].link, true, table);
    g_assert_cmpuint(table[0].weight, ==, 96);
    g_assert_cmpuint(table[63].weight, ==, 159);
    ib_link_get_vl_arb(t->ends[1].link, true, table);
    g_assert_cmpuint(table[63].weight, !=, 159);
    g_assert_cmphex(test_get(t, 1, 0x18, 0x10000, data), ==, 0x1c);
    g_assert_cmphex(test_get(t, 1, 0x18, 0x10004, data), ==, 0x1c);
    test_node_free(t);
}

static void test_vl_arb_one_vl(void)
{
    IbLinkConfig link = test_link_config;
    uint8_t data[64];
    TestNode *t;

    link.vl_cap = 1;
    t = test_node_new_with(IB_NODE_TYPE_CA, 1, (IbNodeConfig) { 0 }, &link,
                           NULL);
    g_assert_cmphex(test_get(t, 1, 0x18, 0x10001, data), ==, 0x0c);
    g_assert_cmphex(test_get(t, 1, 0x15, 0, data), ==, 0);
    g_assert_cmphex(data[37] >> 4, ==, 1);      /* VLCap: VL0 */
    g_assert_cmpuint(data[39], ==, 0);          /* VLArbitrationHighCap */
    g_assert_cmpuint(data[40], ==, 0);
    test_node_free(t);
}

/* -------------------------------------------------- LedInfo, vendor's own */

static void test_led(void)
{
    IbNodeConfig config = { .capability_mask = 1 << 9 };
    TestNode *t = test_node_new_with(IB_NODE_TYPE_SWITCH, 3, config,
                                     &test_link_config, NULL);
    uint8_t data[64] = { 0xff, 0xff, 0xff, 0xff };

    g_assert_cmphex(test_set(t, 1, 0x31, 2, data), ==, 0);
    g_assert_cmphex(data[0], ==, 0x80);
    g_assert_cmphex(data[1], ==, 0);
    g_assert_cmphex(test_get(t, 1, 0x31, 1, data), ==, 0);
    g_assert_cmphex(data[0], ==, 0);
    g_assert_cmphex(test_get(t, 1, 0x31, 2, data), ==, 0);
    g_assert_cmphex(data[0], ==, 0x80);
    g_assert_cmphex(test_get(t, 1, 0x31, 4, data), ==, 0x1c);
    test_node_free(t);
}

static void test_mlnx_ext_port_info(void)
{
    IbNodeConfig other = { .vendor_id = 0x001405 };
    TestNode *mlnx = test_node_new(IB_NODE_TYPE_CA);
    TestNode *t = test_node_new_with(IB_NODE_TYPE_CA, 1, other,
                                     &test_link_config, NULL);
    uint8_t data[64], zero[64] = { 0 };

    g_assert_cmphex(test_get(mlnx, 1, 0xff90, 1, data), ==, 0);
    g_assert_cmpmem(data, 64, zero, 64);
    g_assert_cmphex(test_set(mlnx, 1, 0xff90, 1, data), ==, 0x0c);
    g_assert_cmphex(test_get(mlnx, 1, 0xff90, 3, data), ==, 0x1c);
    g_assert_cmphex(test_get(t, 1, 0xff90, 1, data), ==, 0x0c);
    test_node_free(mlnx);
    test_node_free(t);
}

/* ---------------------------------------------------- rows of the owner */

static IbSmaStatus own_get(IbNode *node, uint8_t in_port, uint32_t modifier,
                           uint8_t *data, void *opaque)
{
    g_assert_nonnull(((TestNode *)opaque)->node);
    data[0] = in_port;
    data[1] = modifier;
    return 0;
}

static IbSmaStatus own_set(IbNode *node, uint8_t in_port, uint32_t modifier,
                           uint8_t *data, void *opaque)
{
    return data[0] == 1 ? 0 : 0x1c;
}

static void test_extra(void)
{
    static const IbSmaAttribute rows[] = {
        { 0x12, "SwitchInfo", 1 << IB_NODE_TYPE_SWITCH, own_get, own_set },
        { 0x19, "of a CA only", 1 << IB_NODE_TYPE_CA, own_get, NULL },
        { 0 }
    };
    TestNode *t = test_node_new_with(IB_NODE_TYPE_SWITCH, 2,
                                     (IbNodeConfig) { 0 }, &test_link_config,
                                     rows);
    uint8_t data[64], zero[62] = { 0 };

    g_assert_cmphex(test_get(t, 2, 0x12, 7, data), ==, 0);
    g_assert_cmpuint(data[0], ==, 2);
    g_assert_cmpuint(data[1], ==, 7);
    g_assert_cmpmem(data + 2, 62, zero, 62);
    memset(data, 1, 64);
    g_assert_cmphex(test_set(t, 2, 0x12, 7, data), ==, 0);
    g_assert_cmpuint(data[0], ==, 2);
    g_assert_cmpmem(data + 2, 62, zero, 62);
    data[0] = 2;
    g_assert_cmphex(test_set(t, 2, 0x12, 7, data), ==, 0x1c);
    g_assert_cmphex(test_get(t, 2, 0x19, 0, data), ==, 0x0c);
    test_node_free(t);
}

int main(int argc, char **argv)
{
    unsigned i;

    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/agent/sma/node-description", test_node_description);
    g_test_add_func("/agent/sma/node-info", test_node_info);
    for (i = 0; i < G_N_ELEMENTS(statuses); i++) {
        g_autofree char *path = g_strdup_printf("/agent/sma/status/%s",
                                                statuses[i].name);

        g_test_add_data_func(path, &statuses[i], test_status);
    }
    g_test_add_func("/agent/sma/vendor-diag", test_vendor_diag);
    g_test_add_func("/agent/sma/bad-in-port", test_bad_in_port);
    g_test_add_func("/agent/sma/guid-info", test_guid_info);
    g_test_add_func("/agent/sma/pkey/default", test_pkey_default);
    g_test_add_func("/agent/sma/pkey/set", test_pkey_set);
    g_test_add_func("/agent/sma/pkey/ca", test_pkey_ca);
    g_test_add_func("/agent/sma/sl2vl/default", test_sl2vl_default);
    g_test_add_func("/agent/sma/sl2vl/set", test_sl2vl_set);
    g_test_add_func("/agent/sma/sl2vl/optimized", test_sl2vl_optimized);
    g_test_add_func("/agent/sma/sl2vl/ca", test_sl2vl_ca);
    g_test_add_func("/agent/sma/sl2vl/without-capability",
                    test_sl2vl_without_capability);
    g_test_add_func("/agent/sma/vl-arb/set", test_vl_arb);
    g_test_add_func("/agent/sma/vl-arb/one-vl", test_vl_arb_one_vl);
    g_test_add_func("/agent/sma/led", test_led);
    g_test_add_func("/agent/sma/mlnx-ext-port-info",
                    test_mlnx_ext_port_info);
    g_test_add_func("/agent/sma/owner's-rows", test_extra);
    return g_test_run();
}
