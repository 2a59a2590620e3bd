/*
 * The M_Key: who may read, who may write, what a wrong one does
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IBA Vol.1 14.2.4.
 */
#include "agent-node.h"

#define KEY        UINT64_C(0x1122334455667788)
#define WRONG      UINT64_C(0x1122334455667789)
#define PORT_INFO  0x15
#define GUID_INFO  0x14

/* A node with KEY at its (first) end port, @protect bits, @lease seconds */
static TestNode *locked_node(uint8_t type, uint8_t protect, uint16_t lease)
{
    static const uint8_t key[8] = {
        0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88
    };
    TestNode *t = test_node_new(type);
    uint8_t d[64];

    test_give_lids(t, 1, 0);
    test_port_info_for_set(t, 1, 0, d);
    memcpy(d, key, 8);
    d[26] = lease >> 8;
    d[27] = lease;
    d[34] |= protect << 6;
    g_assert_cmphex(test_set(t, 1, PORT_INFO, 0, d), ==, 0);
    g_assert_cmpmem(d, 8, key, 8);
    t->changed = 0;
    return t;
}

static uint16_t get_with(TestNode *t, uint64_t m_key, uint8_t d[64])
{
    memset(d, 0, 64);
    return test_smp(t, 1, 1, PORT_INFO, 0, m_key, d);
}

static uint16_t set_with(TestNode *t, uint64_t m_key)
{
    uint8_t d[64] = { 0 };

    return test_smp(t, 1, 2, GUID_INFO, 0, m_key, d);
}

static unsigned violations(TestNode *t)
{
    uint8_t d[64];

    g_assert_cmphex(get_with(t, KEY, d), ==, 0);
    return d[44] << 8 | d[45];
}

static bool shows_key(const uint8_t d[64])
{
    return d[0] == 0x11 && d[7] == 0x88;
}

/* table 119, row by row */
static void test_protect(gconstpointer data)
{
    unsigned protect = GPOINTER_TO_UINT(data) & 3;
    uint8_t type = GPOINTER_TO_UINT(data) >> 2;
    TestNode *t = locked_node(type, protect, 0);
    uint8_t d[64];

    g_assert_cmphex(get_with(t, KEY, d), ==, 0);
    g_assert_true(shows_key(d));
    g_assert_cmphex(set_with(t, KEY), ==, 0);
    g_assert_cmpuint(violations(t), ==, 0);

    g_assert_cmphex(set_with(t, WRONG), ==, NO_REPLY);
    g_assert_cmpuint(violations(t), ==, 1);
    g_assert_cmphex(set_with(t, 0), ==, NO_REPLY);
    g_assert_cmpuint(violations(t), ==, 2);

    if (protect < 2) {
        g_assert_cmphex(get_with(t, WRONG, d), ==, 0);
        g_assert_cmpint(shows_key(d), ==, protect == 0);
        g_assert_cmphex(d[34] >> 6, ==, protect);
        g_assert_cmpuint(violations(t), ==, 2);
    } else {
        g_assert_cmphex(get_with(t, WRONG, d), ==, NO_REPLY);
        g_assert_cmpuint(violations(t), ==, 3);
    }
    test_node_free(t);
}

/* An M_Key of 0 is none, whatever the bits say. */
static void test_zero_key(void)
{
    TestNode *t = test_node_new(IB_NODE_TYPE_CA);
    uint8_t d[64];

    test_give_lids(t, 1, 0);
    test_port_info_for_set(t, 1, 0, d);
    d[34] |= 3 << 6;
    g_assert_cmphex(test_set(t, 1, PORT_INFO, 0, d), ==, 0);
    g_assert_cmphex(get_with(t, WRONG, d), ==, 0);
    g_assert_cmphex(set_with(t, WRONG), ==, 0);
    test_node_free(t);
}

/* Methods that are no Get need the key before they are even refused. */
static void test_other_methods(void)
{
    TestNode *t = locked_node(IB_NODE_TYPE_SWITCH, 0, 0);
    uint8_t in[256], out[256];

    test_smp_init(t, in, 0x01, 0x12, 0x11, 0, WRONG);
    g_assert_cmphex(test_mad(t, 1, in, out), ==, NO_REPLY);
    test_smp_init(t, in, 0x01, 0x12, 0x11, 0, KEY);
    g_assert_cmphex(test_mad(t, 1, in, out), ==, 0x08);
    test_node_free(t);
}

/* The driver below its own M_Key check (MAD_IFC) */
static void test_ignore(void)
{
    TestNode *t = locked_node(IB_NODE_TYPE_CA, 3, 0);
    uint8_t in[256], out[256];

    test_smp_init(t, in, 0x01, 1, PORT_INFO, 0, WRONG);
    g_assert_cmpint(ib_node_process_mad(t->node, 1, 0, IB_MAD_IGNORE_MKEY, in,
                                        out), ==, IB_MAD_REPLY);
    g_assert_true(shows_key(out + 64));
    g_assert_cmpint(ib_node_process_mad(t->node, 1, 0, 0, in, out), ==,
                    IB_MAD_DROPPED);
    g_assert_cmpuint(violations(t), ==, 1);
    test_node_free(t);
}

/* A CA's ports have a key each: setting the other needs both. */
static void test_other_port(void)
{
    TestNode *t = locked_node(IB_NODE_TYPE_CA, 0, 0);   /* port 1 */
    uint8_t d[64];

    test_port_info_for_set(t, 2, 1, d);
    g_assert_cmphex(test_smp(t, 2, 2, PORT_INFO, 1, WRONG, d), ==, 0x1c);
    test_port_info_for_set(t, 2, 1, d);
    g_assert_cmphex(test_smp(t, 2, 2, PORT_INFO, 1, KEY, d), ==, 0);
    test_node_free(t);
}

/* The lease runs from the first wrong key; then anybody may read the key. */
static void test_lease_runs_out(void)
{
    TestNode *t = locked_node(IB_NODE_TYPE_SWITCH, 3, 10);
    uint8_t d[64];

    test_run(t, 100 * SECOND);
    g_assert_cmphex(get_with(t, WRONG, d), ==, NO_REPLY);
    test_run(t, 9 * SECOND);
    g_assert_cmphex(get_with(t, WRONG, d), ==, NO_REPLY);
    test_run(t, SECOND - 1);
    g_assert_cmphex(get_with(t, WRONG, d), ==, NO_REPLY);
    test_run(t, 1);
    g_assert_cmphex(get_with(t, WRONG, d), ==, 0);
    g_assert_cmphex(d[34] >> 6, ==, 0);
    g_assert_true(shows_key(d));
    g_assert_cmphex(set_with(t, WRONG), ==, NO_REPLY);
    test_node_free(t);
}

/* Whoever has the key stops it. */
static void test_lease_renewed(void)
{
    TestNode *t = locked_node(IB_NODE_TYPE_CA, 2, 10);
    uint8_t d[64];

    g_assert_cmphex(set_with(t, WRONG), ==, NO_REPLY);
    test_run(t, 9 * SECOND);
    g_assert_cmphex(get_with(t, KEY, d), ==, 0);
    test_run(t, 9 * SECOND);
    g_assert_cmphex(get_with(t, WRONG, d), ==, NO_REPLY);
    test_run(t, 9 * SECOND);
    g_assert_cmphex(get_with(t, WRONG, d), ==, NO_REPLY);
    test_node_free(t);
}

/* A lease of 0 never ends. */
static void test_no_lease(void)
{
    TestNode *t = locked_node(IB_NODE_TYPE_CA, 2, 0);
    uint8_t d[64];

    g_assert_cmphex(get_with(t, WRONG, d), ==, NO_REPLY);
    test_run(t, 1000 * SECOND);
    g_assert_cmphex(get_with(t, WRONG, d), ==, NO_REPLY);
    test_node_free(t);
}

int main(int argc, char **argv)
{
    unsigned protect;

    g_test_init(&argc, &argv, NULL);
    for (protect = 0; protect < 4; protect++) {
        g_autofree char *ca = g_strdup_printf("/agent/m_key/protect/%u/ca",
                                              protect);
        g_autofree char *sw = g_strdup_printf("/agent/m_key/protect/%u/switch",
                                              protect);

        g_test_add_data_func(ca, GUINT_TO_POINTER(IB_NODE_TYPE_CA << 2 |
                                                  protect), test_protect);
        g_test_add_data_func(sw, GUINT_TO_POINTER(IB_NODE_TYPE_SWITCH << 2 |
                                                  protect), test_protect);
    }
    g_test_add_func("/agent/m_key/zero", test_zero_key);
    g_test_add_func("/agent/m_key/other-methods", test_other_methods);
    g_test_add_func("/agent/m_key/ignore", test_ignore);
    g_test_add_func("/agent/m_key/other-port", test_other_port);
    g_test_add_func("/agent/m_key/lease/runs-out", test_lease_runs_out);
    g_test_add_func("/agent/m_key/lease/renewed", test_lease_renewed);
    g_test_add_func("/agent/m_key/lease/none", test_no_lease);
    return g_test_run();
}
