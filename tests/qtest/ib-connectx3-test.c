/*
 * connectx3: registers, commands, tables, properties
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "ib-connectx3-driver.h"

/* ------------------------------------------------------------ registers */

static void test_registers(void)
{
    Hca hca;

    hca_start(&hca, "");
    g_assert_cmphex(qpci_config_readw(hca.dev, 0), ==, 0x15b3);
    g_assert_cmphex(qpci_config_readw(hca.dev, 2), ==, 0x1003);
    g_assert_cmphex(reg_read(&hca, 0x8069c), ==, 0);    /* nobody owns it */
    g_assert_cmphex(reg_read(&hca, 0xf03fc), ==, 0);    /* flash is free */
    g_assert_cmphex(reg_read(&hca, 0), ==, 0);
    g_assert_cmphex(reg_read(&hca, 0xffffc), ==, 0);
    reg_write(&hca, 0x8069c, 0);
    reg_write(&hca, 0x1234, 0xdeadbeef);                /* no such register */
    g_assert_cmphex(reg_read(&hca, 0x1234), ==, 0);
    hca_end(&hca);
}

/* The toggle is what was posted, and a reset takes it away. */
static void test_reset(void)
{
    uint8_t box[64];
    Hca hca;

    hca_start(&hca, "");
    hca_init(&hca);
    eq_make(&hca);
    g_assert_cmphex(cmd(&hca, NOP, 0, 0x1f, 0, 0), ==, ST_OK);
    if (!hca.toggle) {
        g_assert_cmphex(cmd(&hca, NOP, 0, 0x1f, 0, 0), ==, ST_OK);
    }
    g_assert_cmphex(reg_read(&hca, 0x80698) & 1 << 21, !=, 0);
    reg_write(&hca, 0xf0010, 0x01000000);   /* the wrong end */
    g_assert_cmphex(reg_read(&hca, 0x80698), !=, 0);
    reg_write(&hca, 0xf0010, 1);
    g_assert_cmphex(reg_read(&hca, 0x80698), ==, 0);
    hca.toggle = false;
    g_assert_cmphex(cmd(&hca, HW2SW_EQ, 0, EQN, 0, 0), ==, ST_BAD_SYS_STATE);
    /* As on the first day. */
    hca_init(&hca);
    eq_context(box, LOG_EQ, 0);
    g_assert_cmphex(cmd_in(&hca, SW2HW_EQ, 0, EQN, box, sizeof(box)), ==,
                    ST_OK);
    qtest_system_reset(hca.qts);
    hca_end(&hca);
}

/* ------------------------------------------------------------- commands */

static void test_query_fw(void)
{
    uint8_t box[0x100];
    Hca hca;

    hca_start(&hca, "");
    g_assert_cmphex(cmd_out(&hca, QUERY_FW, 0, 0, box, sizeof(box)), ==,
                    ST_OK);
    g_assert_cmpuint(ib_get_be16(box + 0x02), ==, 2);       /* 2.42.5000 */
    g_assert_cmpuint(ib_get_be16(box + 0x06), ==, 42);
    g_assert_cmpuint(ib_get_be16(box + 0x04), ==, 5000);
    g_assert_cmpuint(ib_get_be16(box + 0x0a), ==, 3);       /* interface */
    g_assert_cmpuint(box[0x0f], >=, 1);
    /* Both areas are in BAR 0, and nothing is wrong. */
    g_assert_cmphex(ib_get_be64(box + 0x20), <, 1 << 20);
    g_assert_cmphex(box[0x28], ==, 0);
    g_assert_cmphex(ib_get_be64(box + 0x30), <, 1 << 20);
    g_assert_cmphex(box[0x3c], ==, 0);
    g_assert_cmphex(reg_read(&hca, ib_get_be64(box + 0x30)), ==, 0);
    hca_end(&hca);
}

static void test_query_dev_cap(void)
{
    static const uint8_t sizes[] = {
        0x80, 0x82, 0x84, 0x86, 0x88, 0x8a, 0x8c, 0x8e, 0x90, 0x92
    };
    uint8_t box[0x100];
    uint64_t uar_bytes;
    size_t i;
    Hca hca;

    hca_start(&hca, "");
    g_assert_cmphex(cmd_out(&hca, QUERY_DEV_CAP, 0, 0, box, sizeof(box)), ==,
                    ST_OK);
    /* A driver divides by these. */
    for (i = 0; i < ARRAY_SIZE(sizes); i++) {
        g_assert_true(is_power_of_2(ib_get_be16(box + sizes[i])));
    }
    g_assert_cmpuint(ib_get_be16(box + 0x90), ==, 8);       /* MTT */
    g_assert_cmpuint(ib_get_be16(box + 0x92), ==, 64);      /* dMPT */
    g_assert_cmpuint(box[0x37] & 0xf, ==, 1);               /* ports */
    g_assert_cmpuint(box[0x4b], <=, 12);                    /* page */
    uar_bytes = 1ULL << ((box[0x49] & 0x3f) + 20);
    g_assert_cmpuint(uar_bytes, ==, 8 << 20);
    g_assert_cmphex(ib_get_be16(box + 0x26) & 0xfff, ==, 0);
    /* UD and its multicast; no Ethernet, SR-IOV, 64-byte entries. */
    g_assert_cmphex(ib_get_be32(box + 0x44) & (1 << 2 | 1 << 21), ==,
                    1 << 2 | 1 << 21);
    g_assert_cmphex(ib_get_be32(box + 0x44) & 1 << 30, ==, 0);
    g_assert_cmphex(ib_get_be32(box + 0x40), ==, 0);
    g_assert_cmphex(ib_get_be64(box + 0xa0), >=, 1ULL << 33);
    hca_end(&hca);
}

static void test_query_others(void)
{
    static const char board[] = "QEMU_CX3_IB";
    uint8_t box[0x100];
    char name[17] = { 0 };
    size_t i;
    Hca hca;

    hca_start(&hca, "");
    g_assert_cmphex(cmd_out(&hca, QUERY_ADAPTER, 0, 0, box, sizeof(box)), ==,
                    ST_OK);
    for (i = 0; i < 16; i += 4) {
        stl_le_p(name + i, ldl_be_p(box + 0xf0 + i));
    }
    g_assert_cmpstr(name, ==, board);

    g_assert_cmphex(cmd_out(&hca, QUERY_PORT, 0, 1, box, sizeof(box)), ==,
                    ST_OK);
    g_assert_cmpuint(box[0] & 3, ==, 1);                    /* InfiniBand */
    g_assert_cmpuint(box[1] & 0xf, ==, 5);                  /* MTU 4096 */
    g_assert_cmphex(box[6] & 0xf, ==, 3);                   /* 1x, 4x */
    g_assert_cmphex(box[7], ==, 0x35);          /* 8 GIDs, 32 P_Keys */
    g_assert_cmphex(cmd(&hca, QUERY_PORT, 0, 2, 0, hca.out), ==, ST_BAD_PARAM);
    g_assert_cmphex(cmd(&hca, QUERY_PORT, 0, 0, 0, hca.out), ==, ST_BAD_PARAM);

    g_assert_cmphex(cmd_out(&hca, MOD_STAT_CFG, 2, 1 << 8, box, sizeof(box)),
                    ==, ST_OK);
    g_assert_cmphex(ib_get_be32(box + 0x14), ==, (GUID + 1) >> 32);
    g_assert_cmphex(ib_get_be32(box + 0x1c), ==, (uint32_t)(GUID + 1));
    hca_end(&hca);
}

static void test_bad_commands(void)
{
    uint8_t box[0x200] = { 0 };
    Hca hca;

    hca_start(&hca, "");
    g_assert_cmphex(cmd(&hca, 0x0ee, 0, 0, 0, 0), ==, ST_BAD_OP);
    /* Mailboxes where there is no memory */
    g_assert_cmphex(cmd(&hca, QUERY_FW, 0, 0, 0, NOWHERE), ==, ST_BAD_PARAM);
    g_assert_cmphex(cmd(&hca, INIT_HCA, 0, 0, NOWHERE, 0), ==, ST_BAD_PARAM);
    /* ... but registers: the device's own */
    g_assert_cmphex(cmd(&hca, QUERY_FW, 0, 0, 0, hca.regs.addr + 0x80680), ==,
                    ST_BAD_PARAM);
    g_assert_cmphex(cmd(&hca, SW2HW_EQ, 0, EQN, hca.in, 0), ==,
                    ST_BAD_SYS_STATE);
    g_assert_cmphex(cmd(&hca, MAP_ICM, 0, 257, hca.in, 0), ==, ST_BAD_PARAM);
    g_assert_cmphex(map_icm(&hca, 0x123, hca.mtt), ==, ST_BAD_PARAM);
    g_assert_cmphex(map_icm(&hca, 0, hca.mtt | 63), ==, ST_BAD_SIZE);
    g_assert_cmphex(cmd(&hca, UNMAP_ICM, 0, 64, 0x40000, 0), ==, ST_OK);
    box[0xd3] = 10;
    box[0xfb] = 40;                         /* 2^40 keys */
    g_assert_cmphex(cmd_in(&hca, INIT_HCA, 0, 0, box, sizeof(box)), ==,
                    ST_BAD_PARAM);
    hca_init(&hca);
    g_assert_cmphex(cmd_in(&hca, INIT_HCA, 0, 0, box, sizeof(box)), ==,
                    ST_BAD_SYS_STATE);
    g_assert_cmphex(cmd(&hca, MAP_EQ, 0, 77, 0x400, 0), ==, ST_BAD_INDEX);
    g_assert_cmphex(cmd(&hca, HW2SW_CQ, 0, CQN, 0, 0), ==, ST_BAD_INDEX);
    g_assert_cmphex(cmd(&hca, QUERY_QP, 0, 1 << 20, 0, hca.out), ==,
                    ST_BAD_INDEX);
    g_assert_cmphex(cmd(&hca, INIT_PORT, 0, 3, 0, 0), ==, ST_BAD_PARAM);
    g_assert_cmphex(cmd(&hca, CONF_SPECIAL_QP, 0, 0x203, 0, 0), ==,
                    ST_BAD_PARAM);
    g_assert_cmphex(cmd(&hca, DIAG_RPRT, 2, 0, 0, hca.out), ==, ST_OK);
    hca_end(&hca);
}

/* More virtual lanes than there are: the driver tries with fewer. */
static void test_set_port(void)
{
    uint8_t box[0x30] = { 0 };
    Hca hca;

    hca_start(&hca, "");
    hca_init(&hca);
    ib_put_be32(box, 1 << 22 | 1 << 21 | 5 << 12 | 15 << 4);
    g_assert_cmphex(cmd_in(&hca, SET_PORT, 0, 1, box, sizeof(box)), ==,
                    ST_EXCEED_LIM);
    ib_put_be32(box, 1 << 22 | 1 << 21 | 5 << 12 | 8 << 4);
    g_assert_cmphex(cmd_in(&hca, SET_PORT, 0, 1, box, sizeof(box)), ==, ST_OK);
    g_assert_cmphex(cmd_in(&hca, SET_PORT, 1, 1, box, sizeof(box)), ==,
                    ST_BAD_PARAM);
    hca_end(&hca);
}

/* Get(NodeInfo): IBA Vol.1 14.2.5.3. */
static void test_mad_ifc(void)
{
    uint8_t mad[256] = { 1, 0x01, 1, 0x01 };
    Hca hca;

    hca_start(&hca, "");
    hca_init(&hca);
    ib_put_be64(mad + 8, 0x1234567890ULL);
    ib_put_be16(mad + 16, 0x0011);
    box_write(&hca, mad, sizeof(mad));
    g_assert_cmphex(cmd(&hca, MAD_IFC, 3, 1, hca.in, hca.out), ==, ST_OK);
    qtest_memread(hca.qts, hca.out, mad, sizeof(mad));
    g_assert_cmphex(mad[3], ==, 0x81);                      /* GetResp */
    g_assert_cmphex(ib_get_be16(mad + 4), ==, 0);
    g_assert_cmphex(ib_get_be64(mad + 8), ==, 0x1234567890ULL);
    g_assert_cmpuint(mad[64 + 2], ==, 1);                   /* CA */
    g_assert_cmpuint(mad[64 + 3], ==, 1);                   /* ports */
    g_assert_cmphex(ib_get_be64(mad + 64 + 12), ==, GUID);
    g_assert_cmphex(ib_get_be64(mad + 64 + 20), ==, GUID + 1);
    g_assert_cmphex(ib_get_be32(mad + 64 + 36), ==, 1 << 24 | 0x0002c9);

    /* The driver sets D of a directed route, and looks for 0 before. */
    memset(mad, 0, sizeof(mad));
    memcpy(mad, "\x01\x81\x01\x01", 4);
    ib_put_be16(mad + 16, 0x0011);
    box_write(&hca, mad, sizeof(mad));
    g_assert_cmphex(cmd(&hca, MAD_IFC, 3, 1, hca.in, hca.out), ==, ST_OK);
    qtest_memread(hca.qts, hca.out, mad, sizeof(mad));
    g_assert_cmphex(mad[3], ==, 0x81);
    g_assert_cmphex(ib_get_be16(mad + 4), ==, 0);

    /* An attribute that there is not */
    memset(mad, 0, sizeof(mad));
    memcpy(mad, "\x01\x01\x01\x01", 4);
    ib_put_be16(mad + 16, 0x0777);
    box_write(&hca, mad, sizeof(mad));
    g_assert_cmphex(cmd(&hca, MAD_IFC, 3, 1, hca.in, hca.out), ==, ST_OK);
    qtest_memread(hca.qts, hca.out, mad, sizeof(mad));
    g_assert_cmphex(ib_get_be16(mad + 4), ==, 0x000c);
    g_assert_cmphex(cmd(&hca, MAD_IFC, 3, 2, hca.in, hca.out), ==,
                    ST_BAD_PARAM);
    hca_end(&hca);
}

/* Keys live in the memory that the driver lent, where it edits them. */
static void test_mpt(void)
{
    uint8_t box[64], entry[64];
    Hca hca;

    hca_start(&hca, "");
    hca_init(&hca);
    mpt_entry(box, 0x7000, PAGE, 3);
    g_assert_cmphex(cmd_in(&hca, SW2HW_MPT, 0, 0x11, box, 64), ==, ST_OK);
    qtest_memread(hca.qts, hca.mpt + 0x11 * 64, entry, 64);
    g_assert_cmphex(entry[0] >> 4, ==, 0);                  /* valid */
    g_assert_cmpmem(entry + 1, 63, box + 1, 63);
    g_assert_cmphex(cmd(&hca, HW2SW_MPT, 1, 0x11, 0, 0), ==, ST_OK);
    qtest_memread(hca.qts, hca.mpt + 0x11 * 64, entry, 64);
    g_assert_cmphex(entry[0] >> 4, ==, 0xf);                /* software's */
    box[0] = 0x30 | (box[0] & 0xf);                         /* free */
    g_assert_cmphex(cmd_in(&hca, SW2HW_MPT, 0, 0x11, box, 64), ==, ST_OK);
    qtest_memread(hca.qts, hca.mpt + 0x11 * 64, entry, 64);
    g_assert_cmphex(entry[0] >> 4, ==, 0x3);
    g_assert_cmphex(cmd_in(&hca, SW2HW_MPT, 0, 64, box, 64), ==,
                    ST_BAD_INDEX);
    g_assert_cmphex(cmd(&hca, UNMAP_ICM, 0, 64, ICM_MPT, 0), ==, ST_OK);
    g_assert_cmphex(cmd_in(&hca, SW2HW_MPT, 0, 0x11, box, 64), ==,
                    ST_ICM_ERROR);
    hca_end(&hca);
}

static void test_multicast_table(void)
{
    uint8_t gid[16] = { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = 1 };
    uint8_t box[1024] = { 0 };
    uint32_t index;
    Hca hca;

    hca_start(&hca, "");
    hca_init(&hca);
    g_assert_cmphex(cmd_in(&hca, MGID_HASH, 0, 0, gid, 16), ==, ST_OK);
    index = hca.out_param;
    g_assert_cmphex(hca.out_param, <, 1 << 12);
    g_assert_cmphex(cmd_out(&hca, READ_MCG, 0, index, box, sizeof(box)), ==,
                    ST_OK);
    g_assert_true(buffer_is_zero(box, sizeof(box)));
    ib_put_be32(box + 4, 1);
    memcpy(box + 0x10, gid, 16);
    ib_put_be32(box + 0x20, QPN);
    g_assert_cmphex(cmd_in(&hca, WRITE_MCG, 0, index, box, sizeof(box)), ==,
                    ST_OK);
    memset(box, 0, sizeof(box));
    g_assert_cmphex(cmd_out(&hca, READ_MCG, 0, index, box, sizeof(box)), ==,
                    ST_OK);
    g_assert_cmpmem(box + 0x10, 16, gid, 16);
    g_assert_cmphex(ib_get_be32(box + 0x20), ==, QPN);
    g_assert_cmphex(cmd(&hca, READ_MCG, 0, 1 << 13, 0, hca.out), ==,
                    ST_BAD_INDEX);
    hca_end(&hca);
}

/* ----------------------------------------------------------- properties */

static QDict *request_qmp(QTestState *qts, const char *request)
{
    qtest_qmp_send_raw(qts, "%s", request);
    return qtest_qmp_receive(qts);
}

/* device_add with @property must fail with @text. */
static void refused(Hca *hca, const char *property, const char *text)
{
    g_autofree char *request = g_strdup_printf(
        "{ 'execute': 'device_add', 'arguments': { 'driver': 'connectx3', "
        "'bus': 'rp0', %s } }", property);
    QDict *reply = request_qmp(hca->qts, request);
    const char *why = qdict_get_str(qdict_get_qdict(reply, "error"), "desc");

    if (!strstr(why, text)) {
        g_test_message("%s: %s", property, why);
        g_test_fail();
    }
    qobject_unref(reply);
}

static void test_properties(void)
{
    Hca hca;

    hca_start(&hca, "");
    refused(&hca, "'node-guid': 0", "node-guid must be 1..");
    refused(&hca, "'mtu': 5000", "mtu must be 256, 512, 1024, 2048 or 4096");
    refused(&hca, "'vls': 16", "vls must be 1, 2, 4, 8 or 15");
    refused(&hca, "'keepalive': 1", "keepalive must be 10..60000");
    refused(&hca, "'speed': 'warp'", "speed must be sdr");
    refused(&hca, "'netdev': 'nobody'", "netdev");
    hca_end(&hca);
}

/* Plugged in and pulled out while the machine runs. */
static void test_hotplug(void)
{
    Hca hca;

    hca_start(&hca, "");
    qtest_qmp_device_add(hca.qts, "connectx3", "hot", "{ 'bus': 'rp0' }");
    qtest_qmp_assert_success(hca.qts, "{ 'execute': 'device_del', "
                             "'arguments': { 'id': 'hot' } }");
    hca_end(&hca);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/connectx3/registers", test_registers);
    qtest_add_func("/connectx3/reset", test_reset);
    qtest_add_func("/connectx3/query-fw", test_query_fw);
    qtest_add_func("/connectx3/query-dev-cap", test_query_dev_cap);
    qtest_add_func("/connectx3/query-others", test_query_others);
    qtest_add_func("/connectx3/bad-commands", test_bad_commands);
    qtest_add_func("/connectx3/set-port", test_set_port);
    qtest_add_func("/connectx3/mad-ifc", test_mad_ifc);
    qtest_add_func("/connectx3/keys-in-icm", test_mpt);
    qtest_add_func("/connectx3/multicast-table", test_multicast_table);
    qtest_add_func("/connectx3/properties", test_properties);
    qtest_add_func("/connectx3/hotplug", test_hotplug);
    return g_test_run();
}
