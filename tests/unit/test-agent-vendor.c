/*
 * Mellanox' vendor class, as vendstat asks for it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The offsets are those of vendstat's is3_general_info_t and
 * is4_general_info_t, from byte 24 of the MAD.
 */
#include "agent-node.h"

static const IbFirmware firmware = { { 2, 42, 5000 }, "0123456789abcdef" };

static TestNode *node_of(uint32_t vendor_id)
{
    IbNodeConfig config = { .vendor_id = vendor_id, .firmware = firmware };

    return test_node_new_with(IB_NODE_TYPE_SWITCH, 3, config,
                              &test_link_config, NULL);
}

static uint16_t ask(TestNode *t, uint8_t method, uint16_t attribute,
                    uint8_t data[232])
{
    uint8_t in[256], out[256];
    uint16_t status;

    test_smp_init(t, in, 0x0a, method, attribute, 0, 0);
    memset(in + 32, 0x77, 224);         /* is not looked at */
    status = test_mad(t, 2, in, out);
    memcpy(data, out + 24, 232);
    return status;
}

static void test_general_info(void)
{
    TestNode *t = node_of(0x0002c9);
    uint8_t d[232];

    ib_node_reset(t->node);
    test_run(t, 77 * SECOND + SECOND / 2);
    g_assert_cmphex(ask(t, 1, 0x17, d), ==, 0);
    g_assert_cmphex(ib_get_be16(d + 8), ==, 0x0304);    /* of the revision */
    g_assert_cmphex(ib_get_be16(d + 10), ==, 0x1003);
    g_assert_cmpuint(ib_get_be32(d + 36), ==, 77);      /* uptime */
    g_assert_cmpuint(d[41], ==, 2);
    g_assert_cmpuint(d[42], ==, 42);
    g_assert_cmpuint(d[43], ==, 5000 & 0xff);
    g_assert_cmpmem(d + 56, 16, firmware.psid, 16);
    g_assert_cmpuint(ib_get_be32(d + 76), ==, 2);
    g_assert_cmpuint(ib_get_be32(d + 80), ==, 42);
    g_assert_cmpuint(ib_get_be32(d + 84), ==, 5000);
    g_assert_cmphex(d[12] | d[44] | d[72] | d[88] | d[231], ==, 0);
    test_node_free(t);
}

static void test_class_port_info(void)
{
    TestNode *t = node_of(0x0002c9);
    uint8_t d[232];

    g_assert_cmphex(ask(t, 1, 0x01, d), ==, 0);
    g_assert_cmpuint(d[0], ==, 1);
    g_assert_cmpuint(d[1], ==, 1);
    g_assert_cmpuint(ib_get_be32(d + 4), ==, 18);
    test_node_free(t);
}

static void test_status(void)
{
    TestNode *t = node_of(0x0002c9);
    uint8_t d[232], in[256], out[256];

    g_assert_cmphex(ask(t, 2, 0x17, d), ==, 0x0c);
    g_assert_cmphex(ask(t, 1, 0x50, d), ==, 0x0c);
    g_assert_cmphex(ask(t, 0x81, 0x17, d), ==, NO_REPLY);
    g_assert_cmphex(ask(t, 0x05, 0x17, d), ==, NO_REPLY);
    test_smp_init(t, in, 0x0a, 1, 0x17, 0, 0);
    in[2] = 2;
    g_assert_cmphex(test_mad(t, 2, in, out), ==, 0x04);
    test_node_free(t);
}

/* Who makes a device has to do with it: PortInfo says so, too. */
static void test_other_vendor(void)
{
    static const uint32_t vendors[] = { 0x0002c9, 0x525400 };
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(vendors); i++) {
        TestNode *t = node_of(vendors[i]);
        uint8_t d[232];

        g_assert_cmphex(ask(t, 1, 0x17, d), ==, i ? 0x0c : 0);
        g_assert_cmphex(test_get(t, 0, 0x15, 0, d), ==, 0);
        g_assert_cmphex(ib_get_be32(d + 20) & 0x100000, ==,
                        i ? 0 : 0x100000);
        test_node_free(t);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/agent/vendor/general-info", test_general_info);
    g_test_add_func("/agent/vendor/class-port-info", test_class_port_info);
    g_test_add_func("/agent/vendor/status", test_status);
    g_test_add_func("/agent/vendor/other", test_other_vendor);
    return g_test_run();
}
