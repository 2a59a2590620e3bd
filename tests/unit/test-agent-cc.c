/*
 * The congestion control agent: attributes, keys, the log
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IBA Vol.1 annex A10.4.3; offsets are those of OpenSM's ib_types.h.
 */
#include "agent-node.h"
#include "hw/infiniband/ib-state.h"

#define CC_INFO       0x11
#define CC_KEY_INFO   0x12
#define CC_LOG        0x13
#define CC_SWITCH     0x14
#define CC_SW_PORT    0x15
#define CC_CA         0x16
#define CC_TABLE      0x17
#define CC_TIME       0x18

static uint16_t be16(const uint8_t *p)
{
    return p[0] << 8 | p[1];
}

static uint32_t be32(const uint8_t *p)
{
    return (uint32_t)be16(p) << 16 | be16(p + 2);
}

/* @mad: the whole of it; what is from byte 32 on goes in and comes out. */
static uint16_t cc(TestNode *t, uint8_t method, uint16_t attribute,
                   uint32_t modifier, uint64_t key, uint8_t mad[256])
{
    uint8_t in[256], out[256];
    uint16_t status;

    /* The CC_Key is where the M_Key is. */
    test_smp_init(t, in, 0x21, method, attribute, modifier, key);
    in[2] = 2;
    memcpy(in + 32, mad + 32, 224);
    status = test_mad(t, 1, in, out);
    if (status != NO_REPLY) {
        memcpy(mad, out, 256);
    }
    return status;
}

static uint16_t cc_get(TestNode *t, uint16_t attribute, uint32_t modifier,
                       uint8_t mad[256])
{
    memset(mad, 0xee, 256);
    return cc(t, 1, attribute, modifier, 0, mad);
}

static void test_class_port_info(gconstpointer type)
{
    TestNode *t = test_node_new(GPOINTER_TO_UINT(type));
    uint8_t mad[256], zero[64] = { 0 };

    g_assert_cmphex(cc_get(t, 1, 0, mad), ==, 0);
    g_assert_cmpuint(mad[64], ==, 1);
    g_assert_cmpuint(mad[65], ==, 2);           /* ClassVersion */
    g_assert_cmphex(be16(mad + 66), ==, 0);     /* no traps, no notices */
    g_assert_cmpuint(mad[71] & 0x1f, ==, 18);
    g_assert_cmpmem(mad + 72, 64, zero, 64);
    test_node_free(t);
}

static void test_refusals(void)
{
    TestNode *t = test_node_new(IB_NODE_TYPE_SWITCH);
    TestNode *ca = test_node_new(IB_NODE_TYPE_CA);
    uint8_t mad[256] = { 0 }, in[256];

    g_assert_cmphex(cc(t, 2, 1, 0, 0, mad), ==, 0x0c);          /* no Set */
    g_assert_cmphex(cc(t, 2, CC_INFO, 0, 0, mad), ==, 0x0c);
    g_assert_cmphex(cc(t, 2, CC_LOG, 0, 0, mad), ==, 0x0c);
    g_assert_cmphex(cc(t, 2, CC_TIME, 0, 0, mad), ==, 0x0c);
    g_assert_cmphex(cc(t, 1, 0x19, 0, 0, mad), ==, 0x0c);
    g_assert_cmphex(cc(t, 1, CC_CA, 0, 0, mad), ==, 0x0c);
    g_assert_cmphex(cc(t, 1, CC_TABLE, 0, 0, mad), ==, 0x0c);
    g_assert_cmphex(cc(ca, 1, CC_SWITCH, 0, 0, mad), ==, 0x0c);
    g_assert_cmphex(cc(ca, 1, CC_SW_PORT, 0, 0, mad), ==, 0x0c);
    g_assert_cmphex(cc(t, 0x12, 1, 0, 0, mad), ==, 0x08);
    g_assert_cmphex(cc(t, 3, 1, 0, 0, mad), ==, NO_REPLY);
    g_assert_cmphex(cc(t, 0x81, 1, 0, 0, mad), ==, NO_REPLY);
    test_smp_init(t, in, 0x21, 1, 1, 0, 0);     /* ClassVersion 1 */
    g_assert_cmphex(test_mad(t, 1, in, mad), ==, 0x04);
    test_node_free(t);
    test_node_free(ca);
}

static void test_info(void)
{
    TestNode *t = test_node_new(IB_NODE_TYPE_SWITCH);
    TestNode *ca = test_node_new(IB_NODE_TYPE_CA);
    uint8_t mad[256];
    int64_t now;

    g_assert_cmphex(cc_get(t, CC_INFO, 0, mad), ==, 0);
    g_assert_cmphex(be16(mad + 64), ==, 0);     /* no credit starvation */
    g_assert_cmpuint(mad[66], ==, 0);
    g_assert_cmphex(cc_get(ca, CC_INFO, 0, mad), ==, 0);
    g_assert_cmpuint(mad[66], ==, 2);           /* blocks of 64 entries */

    now = t->now;
    g_assert_cmphex(cc_get(t, CC_TIME, 0, mad), ==, 0);
    g_assert_cmphex(be32(mad + 64), ==, (uint32_t)(now / 1024));
    test_node_free(t);
    test_node_free(ca);
}

static void set_key(TestNode *t, uint64_t old, uint8_t key, bool protect,
                    uint16_t lease)
{
    uint8_t mad[256] = { 0 };

    mad[71] = key;
    mad[72] = protect << 7;
    mad[74] = lease >> 8;
    mad[75] = lease;
    g_assert_cmphex(cc(t, 2, CC_KEY_INFO, 0, old, mad), ==, 0);
    g_assert_cmphex(mad[71], ==, key);
}

/* A Set needs the key, a Get does not; the key shows if not protected. */
static void test_key(void)
{
    TestNode *t = test_node_new(IB_NODE_TYPE_SWITCH);
    uint8_t mad[256] = { 0 };

    set_key(t, 0, 5, false, 0);
    g_assert_cmphex(cc(t, 2, CC_SWITCH, 0, 6, mad), ==, NO_REPLY);
    g_assert_cmphex(cc(t, 2, CC_SWITCH, 0, 5, mad), ==, 0);
    g_assert_cmphex(cc(t, 1, CC_KEY_INFO, 0, 6, mad), ==, 0);
    g_assert_cmphex(mad[71], ==, 5);
    g_assert_cmphex(be16(mad + 76), ==, 1);     /* CC_KeyViolations */

    set_key(t, 5, 5, true, 2);
    g_assert_cmphex(cc(t, 1, CC_KEY_INFO, 0, 6, mad), ==, 0);
    g_assert_cmphex(mad[71], ==, 0);
    g_assert_cmphex(mad[72], ==, 0x80);
    g_assert_cmphex(be16(mad + 74), ==, 2);
    g_assert_cmphex(cc(t, 1, CC_KEY_INFO, 0, 5, mad), ==, 0);
    g_assert_cmphex(mad[71], ==, 5);

    /* The lease runs from a violation on, and who has the key stops it. */
    g_assert_cmphex(cc(t, 2, CC_SWITCH, 0, 6, mad), ==, NO_REPLY);
    test_run(t, SECOND);
    g_assert_cmphex(cc(t, 1, CC_INFO, 0, 5, mad), ==, 0);
    test_run(t, 2 * SECOND);
    g_assert_cmphex(cc(t, 1, CC_KEY_INFO, 0, 6, mad), ==, 0);
    g_assert_cmphex(mad[72], ==, 0x80);
    g_assert_cmphex(cc(t, 2, CC_SWITCH, 0, 6, mad), ==, NO_REPLY);
    test_run(t, 2 * SECOND - 1);
    g_assert_cmphex(cc(t, 1, CC_KEY_INFO, 0, 6, mad), ==, 0);
    g_assert_cmphex(mad[72], ==, 0x80);
    test_run(t, 1);
    g_assert_cmphex(cc(t, 1, CC_KEY_INFO, 0, 6, mad), ==, 0);
    g_assert_cmphex(mad[72], ==, 0);
    g_assert_cmphex(mad[71], ==, 5);
    g_assert_cmphex(cc_get(t, CC_LOG, 0, mad), ==, 0);
    g_assert_cmphex(mad[33], ==, 1);            /* the lease expired */
    test_node_free(t);
}

/* Only what Control_Map names changes. */
static void test_switch_setting(void)
{
    static const uint8_t victim[32] = { [31] = 1 << 2 };
    TestNode *t = test_node_new(IB_NODE_TYPE_SWITCH);
    uint8_t mad[256], want[76] = { 0 };
    unsigned bit;

    for (bit = 0; bit < 5; bit++) {
        memset(mad, 0, 256);
        mad[67] = 1 << bit;
        memcpy(mad + 68, victim, 32);           /* Victim_Mask */
        mad[100] = 0x40;                        /* Credit_Mask */
        mad[132] = 0x70;                        /* Threshold */
        mad[133] = 8;                           /* Packet_Size */
        mad[134] = 0x30;                        /* CS_Threshold */
        mad[136] = 0x12;                        /* CS_ReturnDelay */
        mad[139] = 9;                           /* Marking_Rate */
        want[3] = 1 << bit;
        memcpy(want + 4 + bit * 32, mad + 68 + bit * 32,
               bit == 0 || bit == 1 ? 32 : 0);
        memcpy(want + 68, mad + 132, bit == 2 ? 2 : 0);
        memcpy(want + 70, mad + 134, bit == 3 ? 4 : 0);
        memcpy(want + 74, mad + 138, bit == 4 ? 2 : 0);
        if (bit > 2) {
            memcpy(want + 68, (uint8_t[]) { 0x70, 8 }, 2);
        }
        g_assert_cmphex(cc(t, 2, CC_SWITCH, 0, 0, mad), ==, 0);
        g_assert_cmpmem(mad + 64, 76, want, 76);
        g_assert_cmphex(t->changed & IB_CHANGED_CC, ==, IB_CHANGED_CC);
    }
    test_node_free(t);
}

static void test_switch_port_setting(void)
{
    TestNode *t = test_node_new(IB_NODE_TYPE_SWITCH);
    uint8_t mad[256] = { 0 };
    IbCcMarking m;

    mad[67] = 0x14;                             /* threshold, rate */
    mad[132] = 0x50;
    mad[139] = 3;
    g_assert_cmphex(cc(t, 2, CC_SWITCH, 0, 0, mad), ==, 0);
    memset(mad, 0, 256);
    memcpy(mad + 64 + 2 * 4, (uint8_t[]) { 0x8f, 4, 0x01, 0x02 }, 4);
    memcpy(mad + 64 + 3 * 4, (uint8_t[]) { 0x0f, 4, 0x01, 0x02 }, 4);
    memcpy(mad + 64 + 4 * 4, (uint8_t[]) { 0x8f, 4, 0x01, 0x02 }, 4);
    g_assert_cmphex(cc(t, 2, CC_SW_PORT, 0, 0, mad), ==, 0);
    g_assert_cmphex(be32(mad + 64 + 1 * 4), ==, 0x05000003);
    g_assert_cmphex(be32(mad + 64 + 2 * 4), ==, 0x8f040102);
    g_assert_cmphex(be32(mad + 64 + 3 * 4), ==, 0x05000003);   /* not Valid */
    g_assert_cmphex(be32(mad + 64 + 4 * 4), ==, 0);            /* no port */

    ib_node_cc_marking(t->node, 1, &m);
    g_assert_cmpuint(m.threshold, ==, 5);
    g_assert_cmpuint(m.marking_rate, ==, 3);
    ib_node_cc_marking(t->node, 2, &m);
    g_assert_cmpuint(m.threshold, ==, 15);
    g_assert_cmpuint(m.packet_size, ==, 4);
    g_assert_cmpuint(m.marking_rate, ==, 0x102);

    g_assert_cmphex(cc(t, 1, CC_SW_PORT, 1, 0, mad), ==, 0x1c);
    mad[64 + 4] = 0xc1;                         /* credit starvation */
    g_assert_cmphex(cc(t, 2, CC_SW_PORT, 0, 0, mad), ==, 0x1c);
    test_node_free(t);
}

static void test_log(void)
{
    TestNode *t = test_node_new(IB_NODE_TYPE_SWITCH);
    uint8_t mad[256];
    unsigned i;

    g_assert_cmphex(cc_get(t, CC_LOG, 0, mad), ==, 0);
    g_assert_cmpuint(mad[32], ==, 1);           /* LogType: switch */
    g_assert_cmphex(be16(mad + 34), ==, 0);
    for (i = 1; i <= 20; i++) {
        test_run(t, MS);
        ib_node_cc_marked(t->node, 1 + i % 2, i, 100 + i, i % 16);
    }
    g_assert_cmphex(cc_get(t, CC_LOG, 0, mad), ==, 0);
    g_assert_cmpuint(be16(mad + 34), ==, 20);
    g_assert_cmphex(be32(mad + 36), ==, (uint32_t)(t->now / 1024));
    g_assert_cmphex(mad[40 + 31], ==, 1 << 1 | 1 << 2);         /* PortMap */
    for (i = 0; i < 15; i++) {
        const uint8_t *event = mad + 72 + i * 12;

        g_assert_cmpuint(be16(event), ==, 20 - i);              /* SLID */
        g_assert_cmpuint(be16(event + 2), ==, 120 - i);
        g_assert_cmpuint(event[4] >> 4, ==, (20 - i) % 16);     /* SL */
        g_assert_cmphex(be32(event + 8), ==,
                        (uint32_t)((t->now - i * MS) / 1024));
    }
    /* Since the log was last sent */
    g_assert_cmphex(cc_get(t, CC_LOG, 0, mad), ==, 0);
    g_assert_cmpuint(be16(mad + 34), ==, 0);
    g_assert_cmphex(mad[40 + 31], ==, 0);
    for (i = 0; i < 70000; i++) {
        ib_node_cc_marked(t->node, 1, 1, 2, 0);
    }
    g_assert_cmphex(cc_get(t, CC_LOG, 0, mad), ==, 0);
    g_assert_cmphex(be16(mad + 34), ==, 0xffff);
    test_node_free(t);
}

static void test_ca(void)
{
    TestNode *t = test_node_new(IB_NODE_TYPE_CA);
    uint8_t mad[256] = { 0 };

    mad[65] = 1;                                /* Port_Control */
    mad[67] = 1 << 2;                           /* Control_Map: SL 2 */
    memset(mad + 68, 0x11, 16 * 8);
    g_assert_cmphex(cc(t, 2, CC_CA, 0, 0, mad), ==, 0);
    g_assert_cmphex(be32(mad + 64), ==, 0x00010004);
    g_assert_cmphex(be32(mad + 68 + 1 * 8), ==, 0);
    g_assert_cmphex(be32(mad + 68 + 2 * 8), ==, 0x11111111);
    g_assert_cmphex(be32(mad + 72 + 2 * 8), ==, 0x11000000);
    g_assert_cmphex(be32(mad + 68 + 3 * 8), ==, 0);

    memset(mad, 0, 256);
    mad[65] = 127;                              /* CCTI_Limit */
    mad[68] = 0xc0;
    mad[69] = 0x07;
    g_assert_cmphex(cc(t, 2, CC_TABLE, 1, 0, mad), ==, 0);
    g_assert_cmphex(cc_get(t, CC_TABLE, 1, mad), ==, 0);
    g_assert_cmpuint(be16(mad + 64), ==, 127);
    g_assert_cmphex(be16(mad + 68), ==, 0xc007);
    g_assert_cmphex(cc_get(t, CC_TABLE, 0, mad), ==, 0);
    g_assert_cmpuint(be16(mad + 64), ==, 127);
    g_assert_cmphex(be16(mad + 68), ==, 0);
    g_assert_cmphex(cc_get(t, CC_TABLE, 2, mad), ==, 0x1c);
    mad[65] = 128;
    g_assert_cmphex(cc(t, 2, CC_TABLE, 0, 0, mad), ==, 0x1c);
    g_assert_cmphex(cc_get(t, CC_LOG, 0, mad), ==, 0);
    g_assert_cmpuint(mad[32], ==, 2);           /* LogType: CA */
    test_node_free(t);
}

static void saved_mads(TestNode *t, uint8_t mads[3][256])
{
    static const uint16_t of_switch[] = { CC_KEY_INFO, CC_SWITCH, CC_SW_PORT };
    static const uint16_t of_ca[] = { CC_KEY_INFO, CC_CA, CC_TABLE };
    bool is_switch = ib_node_config(t->node)->node_type ==
                     IB_NODE_TYPE_SWITCH;
    unsigned i;

    for (i = 0; i < 3; i++) {
        g_assert_cmphex(cc_get(t, (is_switch ? of_switch : of_ca)[i], 0,
                               mads[i]), ==, 0);
        memset(mads[i], 0, 64);                 /* TransactionIDs differ */
    }
}

static void test_saved(gconstpointer type)
{
    TestNode *t = test_node_new(GPOINTER_TO_UINT(type));
    uint8_t mad[256], before[3][256], after[3][256];
    bool is_switch = GPOINTER_TO_UINT(type) == IB_NODE_TYPE_SWITCH;
    GByteArray *bytes = g_byte_array_new();
    IbStateWriter w;
    IbStateReader r;

    memset(mad, 0x55, 256);
    g_assert_cmphex(cc(t, 2, is_switch ? CC_SWITCH : CC_CA, 0, 0, mad), ==,
                    0);
    memset(mad, 0x9a, 256);
    mad[64] = is_switch ? 0x9a : 0;
    mad[65] = 0x1a;
    g_assert_cmphex(cc(t, 2, is_switch ? CC_SW_PORT : CC_TABLE, 0, 0, mad),
                    ==, 0);
    set_key(t, 0, 7, false, 3);
    saved_mads(t, before);
    ib_state_writer_init(&w, bytes);
    ib_node_save(t->node, &w);
    ib_node_reset(t->node);
    saved_mads(t, after);
    g_assert_cmphex(after[0][71], ==, 0);
    g_assert_cmpint(memcmp(after[1], before[1], 256), !=, 0);
    ib_state_reader_init(&r, bytes->data, bytes->len);
    g_assert_true(ib_node_load(t->node, &r));
    saved_mads(t, after);
    g_assert_cmpmem(before, sizeof(before), after, sizeof(after));
    g_byte_array_unref(bytes);
    test_node_free(t);
}

int main(int argc, char **argv)
{
    gpointer sw = GUINT_TO_POINTER(IB_NODE_TYPE_SWITCH);
    gpointer ca = GUINT_TO_POINTER(IB_NODE_TYPE_CA);

    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/agent/cc/class-port-info/switch", sw,
                         test_class_port_info);
    g_test_add_data_func("/agent/cc/class-port-info/ca", ca,
                         test_class_port_info);
    g_test_add_func("/agent/cc/refusals", test_refusals);
    g_test_add_func("/agent/cc/info", test_info);
    g_test_add_func("/agent/cc/key", test_key);
    g_test_add_func("/agent/cc/switch-setting", test_switch_setting);
    g_test_add_func("/agent/cc/switch-port-setting",
                    test_switch_port_setting);
    g_test_add_func("/agent/cc/log", test_log);
    g_test_add_func("/agent/cc/ca", test_ca);
    g_test_add_data_func("/agent/cc/saved/switch", sw, test_saved);
    g_test_add_data_func("/agent/cc/saved/ca", ca, test_saved);
    return g_test_run();
}
