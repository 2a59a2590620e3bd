/*
 * ib-switch-pci: registers, tables, ports
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "ib-switch-pci-driver.h"

/* ------------------------------------------------------------- identity */

static void test_pci(void)
{
    Switch s;

    switch_start(&s, "ports=8");
    g_assert_cmphex(qpci_config_readw(s.dev, 0), ==, 0x1af4);
    g_assert_cmphex(qpci_config_readw(s.dev, 2), ==, 0x10f8);
    g_assert_cmphex(qpci_config_readb(s.dev, 8), ==, 1);
    g_assert_cmphex(qpci_config_readw(s.dev, 10), ==, 0x0280);
    g_assert_cmpuint(qpci_msix_table_size(s.dev), ==, 5);
    switch_end(&s);
}

typedef struct Expect {
    uint32_t reg, value;
} Expect;

static void check_values(Switch *s, const Expect *expect, unsigned count)
{
    unsigned i;

    for (i = 0; i < count; i++) {
        uint32_t value = rd(s, expect[i].reg);

        if (value != expect[i].value) {
            g_test_message("register 0x%x is 0x%x, not 0x%x", expect[i].reg,
                           value, expect[i].value);
            g_test_fail();
        }
    }
}

static void check_reset_values(Switch *s)
{
    static const Expect expect[] = {
        { ID, 0x49425357 }, { VERSION, 1 }, { PORTS, 8 }, { CONTROL, 0 },
        { PORT0, 0 }, { GUID_LOW, 0x00000100 }, { GUID_HIGH, 0x0002c900 },
        { LID, 0 }, { LINEAR_CAP, 49152 },
        { RANDOM_CAP, 0 }, { MCAST_CAP, 4096 }, { LINEAR_TOP, 0 },
        { MCAST_TOP, 0 }, { DEFAULT_PORT, 0 }, { PRIMARY, 0xff },
        { NOT_PRIMARY, 0xff }, { LIFE_TIME, 0x1f }, { STATE_CHANGE, 0 },
        { INTR_STATUS, 0 }, { INTR_ENABLE, 0 }, { ERROR, 0 },
        { PORT_EVENT, 0 }, { PORT_EVENT + 0x1c, 0 }, { DISCARDS, 0 },
        { DISCARDS + 0xfc, 0 },
        { TX_ROUTE, 0xff000000 }, { TX_QPN, 1 }, { TX_PKEY, 0 },
        { TX_SEND, 0 }, { TX_RESULT, 0 }, { RX_COUNT, 0 }, { RX_NEXT, 0 },
        { RX_DROPPED, 0 }, { RX_LIDS, 0 }, { RX_INFO, 0 }, { RX_QPN, 0 },
        { RX_PKEY, 0 }, { TX_MAD, 0 }, { TX_MAD + 0xfc, 0 }, { RX_MAD, 0 },
        { RX_MAD + 0xfc, 0 },
        { TX_RING + BASE_LOW, 0 }, { TX_RING + BASE_HIGH, 0 },
        { TX_RING + LOG_SIZE, 0 }, { TX_RING + RING_CONTROL, 0 },
        { TX_RING + HEAD, 0 }, { TX_RING + TAIL, 0 },
        { TX_RING + DROPPED, 0 }, { RX_RING + BASE_LOW, 0 },
        { RX_RING + RING_CONTROL, 0 }, { RX_RING + DROPPED, 0 },
        { LFT, 0xffffffff }, { LFT + 49148, 0xffffffff }, { MFT, 0 },
        { MFT + 4095 * 32 + 28, 0 },
        /* 8 VLs: SL 0 to 7 and 8 to 15 to VL 0 to 7 */
        { SL2VL, 0x76543210 }, { SL2VL + 4, 0x76543210 },
        { SL2VL + 8 * 0x800 + 8 * 8, 0x76543210 },
        /* Port 0: Active, LinkUp */
        { 0x100000 + STATUS, 0x54 }, { 0x100000 + CAPS, 0 },
        { 0x100000 + COUNTER, 0 },
        /* Port 8: Down, Polling; 4096 bytes, 8 VLs, 4x and 1x, to QDR */
        { 0x108000 + PORT_CONTROL, 0 },
        { 0x108000 + CAPS, 0x00070385 }, { 0x108000 + MTU, 5 },
        { 0x108000 + VLS, 4 }, { 0x108000 + WIDTH, 3 },
        { 0x108000 + SPEED, 7 }, { 0x108000 + DOWN_DEFAULT, 2 },
        { 0x108000 + HIGH_LIMIT, 0 }, { 0x108000 + HOQ_LIFE, 0x12 },
        { 0x108000 + VL_STALL, 7 }, { 0x108000 + PEER_LOW, 0 },
        { 0x108000 + PEER_HIGH, 0 }, { 0x108000 + PEER_PORT, 0 },
        { 0x108000 + BUFFER, 256 * 1024 / 64 }, { 0x108000 + VL, 0 },
        { 0x108000 + VL + 0xf8, 0 }, { 0x108000 + ARB_LOW, 0x4000 },
        { 0x108000 + ARB_LOW + 7 * 4, 0x4007 },
        { 0x108000 + ARB_LOW + 8 * 4, 0 }, { 0x108000 + ARB_HIGH, 0 },
        { 0x108000 + COUNTER + 36 * 8 + 4, 0 },
        { 0x108000 + VL_COUNTER + 15 * 64 + 7 * 8, 0 },
        { ERROR, 0 },
    };

    check_values(s, expect, ARRAY_SIZE(expect));
    g_assert_cmphex(rd(s, port_reg(8, STATUS)) & 0xff, ==, 0x21);
}

static void test_reset_values(void)
{
    Switch s;

    switch_start(&s, "ports=8");
    check_reset_values(&s);
    switch_end(&s);
}

/* What was written is gone after each kind of reset. */
static void test_reset(void)
{
    static const uint32_t regs[] = {
        PORT0, LINEAR_TOP, MCAST_TOP, PRIMARY, NOT_PRIMARY, LIFE_TIME,
        INTR_ENABLE, TX_ROUTE, TX_QPN, TX_PKEY, TX_MAD, TX_RING + BASE_LOW,
        TX_RING + BASE_HIGH, TX_RING + LOG_SIZE, LFT, SL2VL,
    };
    static const uint32_t values[] = {
        DATA, 100, 0xc010, 3, 4, 5, 0x1f, 0x03020001, 7, 3, 0x12345678,
        0x1000, 1, 4, 0x01020304, 0x11111111,
    };
    uint8_t mad[256];
    unsigned i, kind;
    Switch s;

    switch_start(&s, "ports=8");
    for (kind = 0; kind < 2; kind++) {
        for (i = 0; i < ARRAY_SIZE(regs); i++) {
            wr(&s, regs[i], values[i]);
            g_assert_cmphex(rd(&s, regs[i]), ==, values[i]);
        }
        wr(&s, MFT + 5 * 32, 0x1f);
        wr(&s, port_reg(8, MTU), 2);
        mad_init(mad, 0x01, 0x01, 0x0011);
        g_assert_cmpuint(mad_send(&s, 0xff00ffff, mad), ==, SENT);
        g_assert_cmpuint(rd(&s, RX_COUNT), ==, 1);
        rd(&s, 0xffc);
        g_assert_cmphex(rd(&s, ERROR), ==, E_ACCESS);
        if (kind == 0) {
            wr(&s, CONTROL, 1);
        } else {
            qtest_system_reset(s.qts);
            switch_enable(&s);
        }
        check_reset_values(&s);
        g_assert_cmphex(rd(&s, MFT + 5 * 32), ==, 0);
    }
    switch_end(&s);
}

static void test_properties(void)
{
    Switch s;

    switch_start(&s, "ports=254,fdb=random,random-fdb-cap=100,"
                 "multicast-fdb-cap=0,sma=host,speed=ndr,width=12x,mtu=2048,"
                 "vls=15,vl-buffer=65536");
    g_assert_cmphex(rd(&s, PORTS), ==, 0x1fe);
    g_assert_cmphex(rd(&s, PORT0), ==, SMPS);
    g_assert_cmphex(rd(&s, CAPABILITY) & 0x4000, ==, 0x4000);
    g_assert_cmpuint(rd(&s, LINEAR_CAP), ==, 0);
    g_assert_cmpuint(rd(&s, RANDOM_CAP), ==, 100);
    g_assert_cmpuint(rd(&s, MCAST_CAP), ==, 0);
    g_assert_cmphex(rd(&s, DEFAULT_PORT), ==, 0xff);
    g_assert_cmphex(rd(&s, port_reg(254, CAPS)), ==, 0x00f70bf4);
    g_assert_cmphex(rd(&s, port_reg(254, VLS)), ==, 5);
    g_assert_cmpuint(rd(&s, port_reg(254, BUFFER)), ==, 1024);
    g_assert_cmphex(errors(&s), ==, 0);
    rd(&s, port_reg(255, STATUS));
    g_assert_cmphex(errors(&s), ==, E_ACCESS);
    switch_end(&s);
}

static void refused(Switch *s, const char *property, const char *text)
{
    const char *why;
    QDict *reply;

    qtest_qmp_send_raw(s->qts, "{ 'execute': 'device_add', 'arguments': { "
                       "'driver': 'ib-switch-pci', 'bus': 'rp0', %s } }",
                       property);
    reply = qtest_qmp_receive(s->qts);
    why = qdict_get_str(qdict_get_qdict(reply, "error"), "desc");
    if (!strstr(why, text)) {
        g_test_message("%s: %s", property, why);
        g_test_fail();
    }
    qobject_unref(reply);
}

static void test_bad_properties(void)
{
    Switch s;

    switch_start(&s, "ports=2 -device pcie-root-port,id=rp0,addr=6");
    refused(&s, "'sma': 'me'", "sma must be device or host, not 'me'");
    refused(&s, "'ports': 255", "ports must be 1..254");
    refused(&s, "'fdb': 'flat'", "fdb must be linear or random");
    refused(&s, "'mtu': 5000", "mtu must be 256");
    qtest_qmp_device_add(s.qts, "ib-switch-pci", "hot", "{ 'bus': 'rp0' }");
    switch_end(&s);
}

/* ---------------------------------------------------------- bad accesses */

static void test_read_only(void)
{
    static const uint32_t regs[] = {
        ID, VERSION, PORTS, GUID_LOW, GUID_HIGH, LID, LINEAR_CAP, RANDOM_CAP,
        MCAST_CAP, DISCARDS, TX_RESULT, RX_COUNT, RX_DROPPED, RX_LIDS,
        RX_INFO, RX_QPN, RX_PKEY, RX_MAD, TX_RING + HEAD, RX_RING + DROPPED,
        0x101000 + STATUS, 0x101000 + CAPS, 0x101000 + PEER_LOW,
        0x101000 + PEER_HIGH, 0x101000 + PEER_PORT, 0x101000 + BUFFER,
        0x101000 + VL, 0x101000 + COUNTER, 0x101000 + VL_COUNTER,
        0x100000 + MTU,
    };
    uint32_t before;
    unsigned i;
    Switch s;

    switch_start(&s, "ports=2");
    for (i = 0; i < ARRAY_SIZE(regs); i++) {
        before = rd(&s, regs[i]);
        wr(&s, regs[i], ~before);
        g_assert_cmphex(rd(&s, regs[i]), ==, before);
        if (errors(&s) != E_ACCESS) {
            g_test_message("register 0x%x was written", regs[i]);
            g_test_fail();
        }
    }
    switch_end(&s);
}

static void test_not_there(void)
{
    static const uint32_t regs[] = {
        0x14, 0x50, 0x8c, 0xc0, 0x200, 0xffc, 0x1014, 0x1040, 0x1300,
        0x201c, 0x205c, 0x2080, 0xfffc, LFT + 49152, RFT, 0x70000,
        MFT + 4096 * 32, SL2VL + 3 * 8, SL2VL + 3 * 0x800, 0x280000,
        0x3ffffc, 0x103000, 0x1ffffc, 0x101000 + 0x00c, 0x101000 + 0x040,
        0x101000 + VL + 0xc, 0x101000 + COUNTER + 37 * 8,
        0x101000 + 0xa00, 0x101000 + 0xffc,
    };
    unsigned i;
    Switch s;

    switch_start(&s, "ports=2");
    for (i = 0; i < ARRAY_SIZE(regs); i++) {
        g_assert_cmphex(rd(&s, regs[i]), ==, 0);
        if (errors(&s) != E_ACCESS) {
            g_test_message("register 0x%x can be read", regs[i]);
            g_test_fail();
        }
        wr(&s, regs[i], 0xffffffff);
        if (errors(&s) != E_ACCESS) {
            g_test_message("register 0x%x can be written", regs[i]);
            g_test_fail();
        }
    }
    /* Sizes and addresses that do not reach the device. */
    qpci_io_readb(s.dev, s.bar, ID);
    qpci_io_writeb(s.dev, s.bar, LFT, 1);
    qpci_io_writew(s.dev, s.bar, LFT + 2, 1);
    qpci_io_writel(s.dev, s.bar, LFT + 2, 1);
    g_assert_cmphex(rd(&s, LFT), ==, 0xffffffff);
    g_assert_cmphex(errors(&s), ==, 0);
    switch_end(&s);
}

/* 64 bits are both halves at once. */
static void test_64_bits(void)
{
    Switch s;

    switch_start(&s, "ports=2");
    g_assert_cmphex(qpci_io_readq(s.dev, s.bar, GUID_LOW), ==, GUID0);
    qpci_io_writeq(s.dev, s.bar, LFT + 8, 0x0102030405060708);
    g_assert_cmphex(rd(&s, LFT + 8), ==, 0x05060708);
    g_assert_cmphex(rd(&s, LFT + 12), ==, 0x01020304);
    switch_end(&s);
}

/* Anything, anywhere: the device answers on. */
static void test_anything(void)
{
    static const uint32_t parts[][2] = {
        { 0x00000, 0x200 }, { 0x01000, 0x300 }, { 0x02000, 0x80 },
        { LFT, 0xd000 }, { RFT, 0x30000 }, { MFT, 0x80000 },
        { 0x100000, 0x6000 }, { 0x1fe000, 0x2000 }, { SL2VL, 0x3000 },
        { 0x27f000, 0x1000 }, { 0x3ff000, 0x1000 },
    };
    unsigned i;
    Switch s;

    switch_start(&s, g_test_rand_bit() ? "ports=4" : "ports=4,fdb=random");
    for (i = 0; i < 20000; i++) {
        const uint32_t *part = parts[g_test_rand_int_range(
                                         0, ARRAY_SIZE(parts))];
        uint32_t reg = part[0] + (g_test_rand_int_range(0, part[1]) & ~3);
        uint32_t value = g_test_rand_int();

        /* Often small, and now and then where the guest has memory. */
        value >>= g_test_rand_int_range(0, 4) * 8;
        if (g_test_rand_bit()) {
            wr(&s, reg, value);
        } else {
            rd(&s, reg);
        }
    }
    wr(&s, CONTROL, 1);
    g_assert_cmphex(rd(&s, ID), ==, 0x49425357);
    g_assert_cmphex(rd(&s, ERROR), ==, 0);
    switch_end(&s);
}

/* ---------------------------------------------------------------- tables */

/* SubnGet through the mailbox: the block that an SM would read. */
static void get_block(Switch *s, uint16_t attr, uint32_t modifier,
                      uint8_t data[64])
{
    uint8_t mad[256], reply[256];

    mad_init(mad, 0x01, 0x01, attr);
    ib_put_be32(mad + 20, modifier);
    g_assert_cmpuint(mad_send(s, 0xff00ffff, mad), ==, SENT);
    mad_take(s, reply);
    g_assert_cmphex(ib_get_be16(reply + 4), ==, 0);
    memcpy(data, reply + 64, 64);
}

/* What an SM sees in port 0's PortInfo; the guest adds IsSM. */
static void test_capability_mask(void)
{
    uint32_t mask;
    uint8_t data[64];
    Switch s;

    switch_start(&s, "ports=4");
    mask = rd(&s, CAPABILITY);
    g_assert_cmphex(mask & 1 << 1, ==, 0);
    get_block(&s, 0x0015, 0, data);
    g_assert_cmphex(ib_get_be32(data + 20), ==, mask);
    wr(&s, CAPABILITY, mask | 1 << 1);
    g_assert_cmphex(rd(&s, CAPABILITY), ==, mask | 1 << 1);
    get_block(&s, 0x0015, 0, data);
    g_assert_cmphex(ib_get_be32(data + 20), ==, mask | 1 << 1);
    wr(&s, CONTROL, 1);
    g_assert_cmphex(rd(&s, CAPABILITY), ==, mask);
    switch_end(&s);
}

static void test_linear(void)
{
    uint8_t data[64];
    Switch s;

    switch_start(&s, "ports=4,linear-fdb-cap=70");
    wr(&s, LFT + 64, 0x04030201);
    g_assert_cmphex(rd(&s, LFT + 64), ==, 0x04030201);
    get_block(&s, 0x0019, 1, data);
    g_assert_cmpmem(data, 6, "\x01\x02\x03\x04\xff\xff", 6);
    /* The last register of a table of 70 has two entries. */
    wr(&s, LFT + 68, 0x03020100);
    g_assert_cmphex(rd(&s, LFT + 68), ==, 0x00000100);
    g_assert_cmphex(errors(&s), ==, 0);
    wr(&s, LINEAR_TOP, 69);
    g_assert_cmpuint(rd(&s, LINEAR_TOP), ==, 69);
    get_block(&s, 0x0012, 0, data);
    g_assert_cmpuint(ib_get_be16(data + 6), ==, 69);
    wr(&s, LINEAR_TOP, 70);
    g_assert_cmphex(errors(&s), ==, E_TABLE);
    wr(&s, LINEAR_TOP, 0x10001);
    g_assert_cmphex(errors(&s), ==, E_TABLE);
    g_assert_cmpuint(rd(&s, LINEAR_TOP), ==, 69);
    wr(&s, PRIMARY, 0x100);
    g_assert_cmphex(errors(&s), ==, E_TABLE);
    wr(&s, LIFE_TIME, 0x20);
    g_assert_cmphex(errors(&s), ==, E_TABLE);
    switch_end(&s);
}

static void test_random(void)
{
    uint8_t data[64];
    Switch s;

    switch_start(&s, "ports=4,fdb=random,random-fdb-cap=18,lids-per-port=1");
    wr(&s, RFT + 17 * 4, 0x0042a003);       /* LID 42, LMC 2, port 3 */
    g_assert_cmphex(rd(&s, RFT + 17 * 4), ==, 0x0042a003);
    get_block(&s, 0x001a, 1, data);
    g_assert_cmphex(ib_get_be32(data + 4), ==, 0x0042a003);
    wr(&s, RFT, 0x0050ff04);                /* reserved bits stay 0 */
    g_assert_cmphex(rd(&s, RFT), ==, 0x0050f004);
    g_assert_cmphex(errors(&s), ==, 0);
    wr(&s, RFT + 4, 0x00608003);            /* a second one of port 3 */
    g_assert_cmphex(errors(&s), ==, E_TABLE);
    g_assert_cmphex(rd(&s, RFT + 4), ==, 0);
    rd(&s, RFT + 18 * 4);
    g_assert_cmphex(errors(&s), ==, E_ACCESS);
    rd(&s, LFT);
    g_assert_cmphex(errors(&s), ==, E_ACCESS);
    wr(&s, DEFAULT_PORT, 2);
    g_assert_cmphex(rd(&s, DEFAULT_PORT), ==, 2);
    switch_end(&s);
}

static void test_multicast(void)
{
    uint8_t data[64];
    Switch s;

    switch_start(&s, "ports=40,multicast-fdb-cap=50");
    wr(&s, MFT + 33 * 32, 0x80010002);
    wr(&s, MFT + 33 * 32 + 4, 0x000001ff);
    g_assert_cmphex(rd(&s, MFT + 33 * 32), ==, 0x80010002);
    g_assert_cmphex(rd(&s, MFT + 33 * 32 + 4), ==, 0x000001ff);
    g_assert_cmphex(errors(&s), ==, 0);
    get_block(&s, 0x001b, 0x00000001, data);    /* ports 0 to 15 */
    g_assert_cmphex(ib_get_be16(data + 2), ==, 0x0002);
    get_block(&s, 0x001b, 0x10000001, data);
    g_assert_cmphex(ib_get_be16(data + 2), ==, 0x8001);
    get_block(&s, 0x001b, 0x20000001, data);
    g_assert_cmphex(ib_get_be16(data + 2), ==, 0x01ff);
    /* Port 41 does not exist, nor do those of the other words. */
    wr(&s, MFT + 33 * 32 + 4, 0x00000200);
    g_assert_cmphex(errors(&s), ==, E_TABLE);
    wr(&s, MFT + 33 * 32 + 8, 1);
    g_assert_cmphex(errors(&s), ==, E_TABLE);
    wr(&s, MFT + 33 * 32 + 8, 0);
    g_assert_cmphex(errors(&s), ==, 0);
    g_assert_cmphex(rd(&s, MFT + 33 * 32 + 4), ==, 0x000001ff);
    wr(&s, MFT + 50 * 32, 1);
    g_assert_cmphex(errors(&s), ==, E_ACCESS);
    switch_end(&s);
}

static void test_sl_to_vl(void)
{
    uint8_t data[64];
    Switch s;

    switch_start(&s, "ports=3");
    wr(&s, SL2VL + 2 * 0x800 + 3 * 8, 0xf2345678);
    wr(&s, SL2VL + 2 * 0x800 + 3 * 8 + 4, 0x01234567);
    g_assert_cmphex(rd(&s, SL2VL + 2 * 0x800 + 3 * 8), ==, 0xf2345678);
    get_block(&s, 0x0017, 2 << 8 | 3, data);
    g_assert_cmpmem(data, 8, "\x87\x65\x43\x2f\x76\x54\x32\x10", 8);
    /* Other pairs keep theirs. */
    g_assert_cmphex(rd(&s, SL2VL + 3 * 0x800 + 2 * 8), ==, 0x76543210);
    g_assert_cmphex(errors(&s), ==, 0);
    switch_end(&s);
}

/* Registers ask for no M_Key, SMPs do. */
static void test_m_key(void)
{
    uint8_t mad[256], reply[256];
    Switch s;

    switch_start(&s, "ports=3");
    set_lid(&s, 5, 5);
    mad_init(mad, 0x01, 0x01, 0x0015);
    g_assert_cmpuint(mad_send(&s, 0xff00ffff, mad), ==, SENT);
    mad_take(&s, reply);
    memcpy(mad + 64, reply + 64, 64);
    mad[3] = 2;
    ib_put_be64(mad + 64, 0xdead);          /* M_Key */
    mad[64 + 34] |= 0x80;                   /* M_KeyProtectBits 2 */
    mad[64 + 32] = 0;
    mad[64 + 33] = 0;
    g_assert_cmpuint(mad_send(&s, 0xff00ffff, mad), ==, SENT);
    mad_take(&s, reply);
    g_assert_cmphex(ib_get_be16(reply + 4), ==, 0);
    mad_init(mad, 0x01, 0x01, 0x0012);
    g_assert_cmpuint(mad_send(&s, 0xff00ffff, mad), ==, DISCARDED);
    g_assert_cmpuint(rd(&s, RX_COUNT), ==, 0);
    wr(&s, LFT, 0x01010101);
    g_assert_cmphex(rd(&s, LFT), ==, 0x01010101);
    ib_put_be64(mad + 24, 0xdead);
    g_assert_cmpuint(mad_send(&s, 0xff00ffff, mad), ==, SENT);
    switch_end(&s);
}

/* ----------------------------------------------------------------- ports */

static void test_port_values(void)
{
    static const struct {
        uint32_t reg, good, bad;
    } cases[] = {
        { MTU, 1, 6 }, { MTU, 5, 0 }, { VLS, 1, 5 }, { VLS, 4, 0 },
        { WIDTH, 1, 4 }, { WIDTH, 2, 0 }, { SPEED, 1, 8 }, { SPEED, 4, 0 },
        { DOWN_DEFAULT, 1, 3 }, { DOWN_DEFAULT, 2, 0 },
        { HIGH_LIMIT, 0xff, 0x100 }, { HOQ_LIFE, 0x1f, 0x20 },
        { VL_STALL, 3, 8 }, { ARB_LOW, 0xff07, 0x10000 },
        { ARB_LOW + 63 * 4, 0x010e, 0x10 }, { ARB_HIGH, 0x8001, 0x80f0 },
        { MTU, 3, 0x103 }, { SPEED, 2, 0x10002 },
    };
    unsigned i;
    Switch s;

    switch_start(&s, "ports=4");
    for (i = 0; i < ARRAY_SIZE(cases); i++) {
        wr(&s, port_reg(4, cases[i].reg), cases[i].good);
        g_assert_cmphex(errors(&s), ==, 0);
        wr(&s, port_reg(4, cases[i].reg), cases[i].bad);
        g_assert_cmphex(errors(&s), ==, E_PORT);
        g_assert_cmphex(rd(&s, port_reg(4, cases[i].reg)), ==,
                        cases[i].good);
    }
    /* The other ports have kept theirs. */
    g_assert_cmphex(rd(&s, port_reg(3, MTU)), ==, 5);
    /* No Active without a cable; Disabled is possible, and Polling again. */
    wr(&s, port_reg(4, PORT_CONTROL), 4);
    g_assert_cmphex(errors(&s), ==, E_PORT);
    wr(&s, port_reg(4, PORT_CONTROL), 0x100);
    g_assert_cmphex(errors(&s), ==, E_PORT);
    wr(&s, port_reg(4, PORT_CONTROL), 0x30);
    g_assert_cmphex(rd(&s, port_reg(4, STATUS)) & 0xff, ==, 0x31);
    wr(&s, port_reg(4, PORT_CONTROL), 0x20);
    g_assert_cmphex(rd(&s, port_reg(4, STATUS)) & 0xff, ==, 0x21);
    g_assert_cmphex(errors(&s), ==, 0);
    switch_end(&s);
}

static void test_link(void)
{
    Switch a, b;

    fabric_start(&a, &b, "");
    g_assert_cmphex(rd(&a, port_reg(1, PEER_LOW)), ==, (uint32_t)GUID1);
    g_assert_cmphex(rd(&a, port_reg(1, PEER_HIGH)), ==, GUID1 >> 32);
    g_assert_cmphex(rd(&a, port_reg(2, PEER_PORT)), ==, 2);
    /* QDR, 4x */
    g_assert_cmphex(rd(&a, port_reg(1, STATUS)), ==, 0x00040254);
    /* All of the peer's buffer, and VL 15 has none. */
    g_assert_cmpuint(rd(&a, port_reg(1, VL + 4)), ==, 4096);
    g_assert_cmpuint(rd(&a, port_reg(1, VL + 7 * 16 + 4)), ==, 4096);
    g_assert_cmpuint(rd(&a, port_reg(1, VL + 15 * 16 + 4)), ==, 0);
    g_assert_cmpuint(rd(&a, port_reg(1, COUNTER + 21 * 8)), >, 0);
    g_assert_cmpuint(rd(&a, port_reg(1, COUNTER + 22 * 8)), >, 0);

    /* Events of ports 1 and 2; W1C. */
    g_assert_cmphex(rd(&a, PORT_EVENT), ==, 0x6);
    g_assert_cmphex(rd(&a, INTR_STATUS), ==, I_PORT);
    g_assert_cmphex(rd(&a, STATE_CHANGE), ==, 1);
    wr(&a, LINEAR_TOP, 5);                /* of SwitchInfo, too */
    g_assert_cmphex(rd(&a, STATE_CHANGE), ==, 1);
    wr(&a, PORT_EVENT, 0x2);
    g_assert_cmphex(rd(&a, PORT_EVENT), ==, 0x4);
    wr(&a, PORT_EVENT, 0x4);
    wr(&a, INTR_STATUS, I_PORT);
    wr(&a, STATE_CHANGE, 1);
    g_assert_cmphex(rd(&a, INTR_STATUS), ==, 0);
    g_assert_cmphex(rd(&a, STATE_CHANGE), ==, 0);

    /* One end disabled: the other one sees it. */
    wr(&b, port_reg(2, PORT_CONTROL), 0x30);
    g_assert_true(reg_wait(&a, port_reg(2, STATUS), 0xf, 1));
    g_assert_cmphex(rd(&a, PORT_EVENT), ==, 0x4);
    g_assert_cmphex(rd(&a, INTR_STATUS), ==, I_PORT);
    g_assert_cmphex(rd(&a, STATE_CHANGE), ==, 1);
    g_assert_cmpuint(rd(&a, port_reg(2, COUNTER + 10 * 8)), ==, 1);
    fabric_end(&a, &b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ib-switch-pci/pci", test_pci);
    qtest_add_func("/ib-switch-pci/reset-values", test_reset_values);
    qtest_add_func("/ib-switch-pci/reset", test_reset);
    qtest_add_func("/ib-switch-pci/properties", test_properties);
    qtest_add_func("/ib-switch-pci/bad-properties", test_bad_properties);
    qtest_add_func("/ib-switch-pci/access/read-only", test_read_only);
    qtest_add_func("/ib-switch-pci/access/not-there", test_not_there);
    qtest_add_func("/ib-switch-pci/access/64-bits", test_64_bits);
    qtest_add_func("/ib-switch-pci/access/anything", test_anything);
    qtest_add_func("/ib-switch-pci/capability-mask", test_capability_mask);
    qtest_add_func("/ib-switch-pci/table/linear", test_linear);
    qtest_add_func("/ib-switch-pci/table/random", test_random);
    qtest_add_func("/ib-switch-pci/table/multicast", test_multicast);
    qtest_add_func("/ib-switch-pci/table/sl-to-vl", test_sl_to_vl);
    qtest_add_func("/ib-switch-pci/table/m-key", test_m_key);
    qtest_add_func("/ib-switch-pci/port/values", test_port_values);
    qtest_add_func("/ib-switch-pci/port/link", test_link);
    return g_test_run();
}
