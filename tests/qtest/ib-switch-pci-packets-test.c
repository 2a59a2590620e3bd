/*
 * ib-switch-pci: mailbox, SMA of the guest, rings, interrupts, migration
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "ib-switch-pci-driver.h"

#define LID_A  9
#define LID_B  10

/* --------------------------------------------------------------- mailbox */

/* Get(NodeInfo) of the switch itself, by LID and by a route of no hops. */
static void test_own_node_info(void)
{
    uint8_t mad[256], reply[256];
    unsigned i;
    Switch s;

    switch_start(&s, "ports=8");
    for (i = 0; i < 2; i++) {
        mad_init(mad, i ? 0x81 : 0x01, 0x01, 0x0011);
        g_assert_cmpuint(mad_send(&s, 0xff05ffff, mad), ==, SENT);
        g_assert_cmpuint(rd(&s, RX_COUNT), ==, 1);
        g_assert_cmphex(rd(&s, INTR_STATUS), ==, I_MAILBOX);
        g_assert_cmphex(rd(&s, RX_LIDS), ==, 0);
        g_assert_cmphex(rd(&s, RX_INFO), ==, 0x500);      /* SL 5, QP0 */
        g_assert_cmphex(rd(&s, RX_QPN), ==, 0);
        g_assert_cmphex(rd(&s, RX_PKEY), ==, 0xffff);
        mad_take(&s, reply);
        g_assert_cmpuint(rd(&s, RX_COUNT), ==, 0);
        g_assert_cmphex(rd(&s, RX_MAD), ==, 0);
        wr(&s, INTR_STATUS, I_MAILBOX);
        g_assert_cmphex(rd(&s, INTR_STATUS), ==, 0);
        g_assert_cmphex(reply[3], ==, 0x81);              /* GetResp */
        g_assert_cmphex(ib_get_be16(reply + 4), ==, i ? 0x8000 : 0);
        g_assert_cmphex(ib_get_be64(reply + 8), ==, 0x1122334455667788);
        g_assert_cmpuint(reply[64 + 2], ==, 2);           /* a switch */
        g_assert_cmpuint(reply[64 + 3], ==, 8);
        g_assert_cmphex(ib_get_be64(reply + 64 + 12), ==, GUID0);
        g_assert_cmphex(ib_get_be32(reply + 64 + 36), ==, 0x525400);
    }
    switch_end(&s);
}

/* SwitchInfo.EnhancedPort0 is the property's. */
static void test_enhanced_port0(void)
{
    uint8_t mad[256], reply[256];
    unsigned i;
    Switch s;

    for (i = 0; i < 2; i++) {
        switch_start(&s, i ? "ports=2,enhanced-port0=on" : "ports=2");
        mad_init(mad, 0x81, 0x01, 0x0012);
        g_assert_cmpuint(mad_send(&s, 0xff00ffff, mad), ==, SENT);
        mad_take(&s, reply);
        g_assert_cmphex(reply[64 + 16] & 0x08, ==, i ? 0x08 : 0);
        switch_end(&s);
    }
}

/* Set(LedInfo) of a port shows in the property; a reset puts it out. */
static void test_leds(void)
{
    uint8_t mad[256], reply[256];
    static const uint8_t ports[] = { 3, 0, 9 };
    unsigned i;
    Switch s;

    switch_start(&s, "ports=4");
    for (i = 0; i < ARRAY_SIZE(ports); i++) {
        mad_init(mad, 0x81, 0x02, 0x0031);
        mad[23] = ports[i];
        mad[64] = 0x80;
        g_assert_cmpuint(mad_send(&s, 0xff00ffff, mad), ==, SENT);
        mad_take(&s, reply);
        g_assert_cmphex(ib_get_be16(reply + 4), ==, ports[i] > 4 ? 0x801c
                                                                 : 0x8000);
    }
    for (i = 0; i < 2; i++) {
        QDict *r = qtest_qmp(s.qts, "{ 'execute': 'qom-get', 'arguments': {"
                             " 'path': '/machine/peripheral/sw0',"
                             " 'property': 'leds' } }");

        g_assert_cmpstr(qdict_get_str(r, "return"), ==, i ? "" : "0 3");
        qobject_unref(r);
        wr(&s, CONTROL, 1);
    }
    switch_end(&s);
}

/* 16 MADs wait, in order; the next one is lost. */
static void test_mailbox_full(void)
{
    uint8_t mad[256], reply[256];
    unsigned i;
    Switch s;

    switch_start(&s, "ports=8");
    for (i = 0; i < 17; i++) {
        mad_init(mad, 0x01, 0x01, 0x0011);
        mad[15] = i;                                      /* of the TID */
        g_assert_cmpuint(mad_send(&s, 0xff00ffff, mad), ==,
                         i < 16 ? SENT : DISCARDED);
    }
    g_assert_cmpuint(rd(&s, RX_COUNT), ==, 16);
    g_assert_cmpuint(rd(&s, RX_DROPPED), ==, 1);
    g_assert_cmphex(errors(&s), ==, E_OVERRUN);
    for (i = 0; i < 16; i++) {
        mad_take(&s, reply);
        g_assert_cmpuint(reply[15], ==, i);
    }
    g_assert_cmpuint(rd(&s, RX_COUNT), ==, 0);
    wr(&s, RX_NEXT, 1);
    g_assert_cmpuint(rd(&s, RX_COUNT), ==, 0);
    switch_end(&s);
}

static void test_mailbox_refuses(void)
{
    uint8_t mad[256];
    Switch s;

    switch_start(&s, "ports=8");
    mad_init(mad, 0x01, 0x01, 0x0011);
    g_assert_cmpuint(mad_send(&s, 0x09000005, mad), ==, NO_ROUTE);
    g_assert_cmpuint(mad_send(&s, 0x00000005, mad), ==, NO_ROUTE);
    g_assert_cmpuint(mad_send(&s, 0xff000005, mad), ==, NO_ROUTE);
    g_assert_cmpuint(mad_send(&s, 0xff000000, mad), ==, NO_ROUTE);
    g_assert_cmpuint(mad_send(&s, 0x08000005, mad), ==, DISCARDED);
    wr(&s, TX_PKEY, 32);                                  /* of 0 to 31 */
    mad_init(mad, 0x04, 0x01, 0x0012);
    g_assert_cmpuint(mad_send(&s, 0x01000005, mad), ==, NO_ROUTE);
    g_assert_cmpuint(rd(&s, RX_COUNT), ==, 0);
    switch_end(&s);
}

/* As an SM in the guest: NodeInfo of what is behind port 1. */
static void test_sm(void)
{
    uint8_t mad[256], reply[256];
    Switch a, b;

    fabric_start(&a, &b, "");
    mad_init(mad, 0x81, 0x01, 0x0011);
    mad[7] = 1;                                           /* HopCount */
    mad[128 + 1] = 2;                                     /* InitialPath */
    g_assert_cmpuint(mad_send(&b, 0xff000000, mad), ==, SENT);
    g_usleep(100000);
    g_assert_cmpuint(rd(&b, RX_COUNT), ==, 0);            /* nobody asked */
    wr(&b, PORT0, MANAGERS);
    g_assert_cmpuint(mad_send(&b, 0xff000000, mad), ==, SENT);
    mad_take(&b, reply);
    g_assert_cmphex(ib_get_be64(reply + 64 + 12), ==, GUID0);
    g_assert_cmpuint(reply[64 + 36], ==, 2);              /* its port */
    g_assert_cmpuint(reply[6], ==, 0);                    /* HopPointer */
    fabric_end(&a, &b);
}

/* ------------------------------------------------------- SMA of the guest */

/* With sma=host nobody but the guest answers, and its answer arrives. */
static void test_sma_host(void)
{
    uint8_t mad[256], request[256], reply[256];
    Switch a, b;

    fabric_start(&a, &b, ",sma=host");
    g_assert_cmphex(rd(&a, PORT0), ==, SMPS);
    wr(&b, PORT0, MANAGERS);
    mad_init(mad, 0x81, 0x01, 0x0010);                    /* NodeDescription */
    mad[7] = 1;
    mad[128 + 1] = 2;
    g_assert_cmpuint(mad_send(&b, 0xff000000, mad), ==, SENT);
    g_assert_true(reg_wait(&a, RX_COUNT, ~0u, 1));
    g_assert_cmphex(rd(&a, RX_LIDS), ==, 0xffffffff);
    g_assert_cmphex(rd(&a, RX_INFO), ==, 0x2);
    mad_take(&a, request);
    g_assert_cmphex(request[3], ==, 0x01);
    g_assert_cmpuint(request[6], ==, 2);                  /* HopPointer */
    g_assert_cmpuint(request[192 + 1], ==, 2);            /* ReturnPath */
    g_assert_cmpuint(rd(&b, RX_COUNT), ==, 0);

    request[3] = 0x81;
    request[4] |= 0x80;                                   /* D */
    strcpy((char *)request + 64, "the guest's");
    g_assert_cmpuint(mad_send(&a, 0xff00ffff, request), ==, SENT);
    mad_take(&b, reply);
    g_assert_cmphex(ib_get_be64(reply + 8), ==, 0x1122334455667788);
    g_assert_cmpstr((char *)reply + 64, ==, "the guest's");

    /* The guest gives it back to the device. */
    wr(&a, PORT0, 0);
    g_assert_cmpuint(mad_send(&b, 0xff000000, mad), ==, SENT);
    mad_take(&b, reply);
    g_assert_cmpmem(reply + 64, 22, "QEMU InfiniBand switch", 22);
    g_assert_cmpuint(rd(&a, RX_COUNT), ==, 0);
    fabric_end(&a, &b);
}

/* ----------------------------------------------------------------- rings */

/*
 * Packets of b through a: out of b's port 1, by a's tables out of a's port 2,
 * in at b's port 2.
 */
static void rings_start(Switch *a, Switch *b)
{
    fabric_start(a, b, "");
    set_lid(b, LID_B, LID_B);
    wr(b, PORT0, DATA);
    ring_on(b, TX_RING);
    ring_on(b, RX_RING);
}

static void expect_packet(Switch *b, const uint8_t *sent, uint32_t len)
{
    uint8_t packet[BUFFER_BYTES];
    uint32_t length, status;

    status = packet_take(b, packet, &length);
    g_assert_cmphex(status, ==, 0x02000081);              /* port 2, SENT */
    g_assert_cmpmem(packet, length - 4, sent, len - 4);
    g_assert_cmphex(ib_get_be32(packet + len - 4), !=, 0xaaaaaaaa);
    g_assert_cmphex(ib_get_be32(packet + len - 4), !=, 0);
}

static uint64_t discards(Switch *s, unsigned reason)
{
    return qpci_io_readq(s->dev, s->bar, DISCARDS + reason * 8);
}

/* A table written through its registers is what packets are sent by. */
static void test_forwarding(void)
{
    uint8_t packet[BUFFER_BYTES];
    uint32_t len;
    Switch a, b;

    rings_start(&a, &b);
    packet_post(&b, BUFFER_BYTES);
    packet_post(&b, BUFFER_BYTES);
    len = ud_packet(packet, LID_B, LID_B, 0x42, 64);
    wr(&a, LINEAR_TOP, 63);
    g_assert_cmpuint(packet_send(&b, 1, packet, len), ==, SENT);
    g_usleep(50000);
    g_assert_cmpuint(discards(&a, 4), ==, 1);             /* no-route */
    wr(&a, LFT + 8, 0xff02ffff);                          /* LID 10: port 2 */
    g_assert_cmpuint(packet_send(&b, 1, packet, len), ==, SENT);
    expect_packet(&b, packet, len);
    g_assert_cmphex(rd(&b, INTR_STATUS) & (I_TX | I_RX), ==, I_TX | I_RX);

    /* The largest packet that there is, and counters of what went. */
    len = ud_packet(packet, LID_B, LID_B, 0x42, 4096);
    g_assert_cmpuint(packet_send(&b, 1, packet, len), ==, SENT);
    expect_packet(&b, packet, len);
    g_assert_cmpuint(rd(&a, port_reg(2, COUNTER + 2 * 8)), ==, 2);
    g_assert_cmpuint(rd(&a, port_reg(2, COUNTER)), ==,
                     (96 + 4128) / 4);
    g_assert_cmpuint(rd(&a, port_reg(2, VL_COUNTER + 2 * 8)), ==, 2);
    g_assert_cmpuint(rd(&a, port_reg(2, VL_COUNTER + 64 + 2 * 8)), ==, 0);
    g_assert_cmpuint(rd(&b, 0x100000 + COUNTER + 2 * 8), ==, 3);

    /* The top below it. */
    wr(&a, LINEAR_TOP, 9);
    g_assert_cmpuint(packet_send(&b, 1, packet, len), ==, SENT);
    g_usleep(50000);
    g_assert_cmpuint(discards(&a, 3), ==, 1);             /* above-top */
    fabric_end(&a, &b);
}

/* SL 0 to VL 3 from port 1 to port 2; to VL 15 is a discard. */
static void test_forwarding_sl_to_vl(void)
{
    uint8_t packet[BUFFER_BYTES];
    uint32_t len, length, reg = SL2VL + 1 * 0x800 + 2 * 8;
    Switch a, b;

    rings_start(&a, &b);
    packet_post(&b, BUFFER_BYTES);
    len = ud_packet(packet, LID_B, LID_B, 0x42, 64);
    wr(&a, LINEAR_TOP, 63);
    wr(&a, LFT + 8, 0xff02ffff);
    wr(&a, reg, 0x76543213);
    g_assert_cmpuint(packet_send(&b, 1, packet, len), ==, SENT);
    packet_take(&b, packet, &length);
    g_assert_cmpuint(packet[0] >> 4, ==, 3);
    g_assert_cmpuint(rd(&a, port_reg(2, VL_COUNTER + 3 * 64 + 2 * 8)), ==,
                     1);
    wr(&a, reg, 0x7654321f);
    len = ud_packet(packet, LID_B, LID_B, 0x42, 64);
    g_assert_cmpuint(packet_send(&b, 1, packet, len), ==, SENT);
    g_usleep(50000);
    g_assert_cmpuint(discards(&a, 10), ==, 1);            /* sl2vl */
    fabric_end(&a, &b);
}

static void test_forwarding_multicast(void)
{
    uint8_t packet[BUFFER_BYTES];
    uint32_t len;
    Switch a, b;

    rings_start(&a, &b);
    wr(&b, PORT0, DATA);
    wr(&b, MFT + 7 * 32, 0x1);                            /* to port 0 */
    packet_post(&b, BUFFER_BYTES);
    packet_post(&b, BUFFER_BYTES);
    len = ud_packet(packet, LID_B, 0xc007, 0xffffff, 64);
    wr(&a, MFT + 7 * 32, 0x6);                            /* ports 1 and 2 */
    g_assert_cmpuint(packet_send(&b, 1, packet, len), ==, SENT);
    expect_packet(&b, packet, len);                       /* not by 1 again */
    g_usleep(50000);
    g_assert_cmpuint(rd(&b, RX_RING + HEAD), ==, 1);
    fabric_end(&a, &b);
}

static void test_ring_results(void)
{
    uint8_t packet[BUFFER_BYTES];
    uint32_t len, length, status;
    Switch a, b;

    rings_start(&a, &b);
    wr(&a, LINEAR_TOP, 63);
    wr(&a, LFT + 8, 0xff02ffff);
    len = ud_packet(packet, LID_B, LID_B, 0x42, 64);
    g_assert_cmpuint(packet_send(&b, 9, packet, len), ==, NO_ROUTE);
    g_assert_cmpuint(packet_send(&b, 0xff, packet, len), ==, NO_ROUTE);
    g_assert_cmpuint(packet_send(&b, 3, packet, len), ==, DISCARDED);
    g_assert_cmpuint(packet_send(&b, 1, packet, len - 4), ==, MALFORMED);
    g_assert_cmpuint(packet_send(&b, 1, packet, 0), ==, MALFORMED);
    desc_put(&b, TX_RING, 5, NOWHERE, 4221, 0x01000000);
    wr(&b, TX_RING + TAIL, 6);
    desc_get(&b, TX_RING, 5, &length, &status);
    g_assert_cmphex(status, ==, 0x01000080 | TOO_LONG);
    g_assert_cmpuint(rd(&b, TX_RING + DROPPED), ==, 6);
    b.tx_tail = 6;
    g_assert_cmphex(errors(&b), ==, 0);

    /* No descriptor; a buffer that is too small. */
    g_assert_cmpuint(packet_send(&b, 1, packet, len), ==, SENT);
    g_assert_true(reg_wait(&b, RX_RING + DROPPED, ~0u, 1));
    g_assert_cmphex(errors(&b), ==, E_OVERRUN);
    packet_post(&b, len - 1);
    g_assert_cmpuint(packet_send(&b, 1, packet, len), ==, SENT);
    g_assert_true(reg_wait(&b, RX_RING + HEAD, ~0u, 1));
    desc_get(&b, RX_RING, 0, &length, &status);
    g_assert_cmpuint(length, ==, len);
    g_assert_cmphex(status, ==, 0x02000080 | TOO_LONG);
    g_assert_cmpuint(rd(&b, RX_RING + DROPPED), ==, 2);
    fabric_end(&a, &b);
}

/* MADs go to the ring, too, while it is there. */
static void test_ring_mad(void)
{
    uint8_t mad[256], packet[BUFFER_BYTES];
    uint32_t length, status;
    Switch s;

    switch_start(&s, "ports=8");
    ring_on(&s, RX_RING);
    packet_post(&s, BUFFER_BYTES);
    mad_init(mad, 0x01, 0x01, 0x0011);
    g_assert_cmpuint(mad_send(&s, 0xff00ffff, mad), ==, SENT);
    g_assert_cmpuint(rd(&s, RX_COUNT), ==, 0);
    status = packet_take(&s, packet, &length);
    g_assert_cmphex(status, ==, 0x00000081);
    g_assert_cmpuint(length, ==, 8 + 12 + 8 + 256 + 4);
    g_assert_cmphex(packet[0] >> 4, ==, 15);              /* VL */
    g_assert_cmphex(packet[28 + 3], ==, 0x81);
    switch_end(&s);
}

static void test_ring_registers(void)
{
    Switch s;

    switch_start(&s, "ports=8");
    wr(&s, TX_RING + BASE_LOW, 0x12345678);
    g_assert_cmphex(rd(&s, TX_RING + BASE_LOW), ==, 0x12345670);
    wr(&s, TX_RING + LOG_SIZE, 11);
    g_assert_cmphex(errors(&s), ==, E_ACCESS);
    wr(&s, TX_RING + TAIL, 0);                            /* not enabled */
    g_assert_cmphex(errors(&s), ==, E_ACCESS);
    ring_on(&s, RX_RING);
    wr(&s, RX_RING + TAIL, 8);                            /* of 0 to 7 */
    g_assert_cmphex(errors(&s), ==, E_ACCESS);
    wr(&s, RX_RING + BASE_LOW, 0x2000);
    g_assert_cmphex(errors(&s), ==, E_ACCESS);
    wr(&s, RX_RING + LOG_SIZE, 1);
    g_assert_cmphex(errors(&s), ==, E_ACCESS);
    wr(&s, RX_RING + TAIL, 5);
    g_assert_cmpuint(rd(&s, RX_RING + TAIL), ==, 5);
    wr(&s, RX_RING + RING_CONTROL, 1);                    /* on already */
    g_assert_cmpuint(rd(&s, RX_RING + TAIL), ==, 5);
    wr(&s, RX_RING + RING_CONTROL, 0);
    wr(&s, RX_RING + RING_CONTROL, 1);
    g_assert_cmpuint(rd(&s, RX_RING + TAIL), ==, 0);
    g_assert_cmphex(errors(&s), ==, 0);
    switch_end(&s);
}

/* ---------------------------------------------------------------- faults */

static void test_dma_faults(void)
{
    uint8_t mad[256];
    Switch s;

    switch_start(&s, "ports=8");
    wr(&s, INTR_ENABLE, I_ERROR);
    /* Descriptors that are nowhere. */
    wr(&s, TX_RING + BASE_HIGH, NOWHERE >> 32);
    wr(&s, TX_RING + LOG_SIZE, 10);
    wr(&s, TX_RING + RING_CONTROL, 1);
    wr(&s, TX_RING + TAIL, 1023);
    g_assert_cmphex(rd(&s, TX_RING + RING_CONTROL), ==, 0);
    g_assert_cmpuint(rd(&s, TX_RING + HEAD), ==, 0);
    g_assert_cmphex(rd(&s, INTR_STATUS), ==, I_ERROR | I_TX);
    g_assert_cmphex(errors(&s), ==, E_TX_DMA);
    /* A packet that is nowhere. */
    wr(&s, TX_RING + BASE_HIGH, 0);
    ring_on(&s, TX_RING);
    desc_put(&s, TX_RING, 0, NOWHERE, 64, 0x01000000);
    wr(&s, TX_RING + TAIL, 1);
    g_assert_cmphex(errors(&s), ==, E_TX_DMA);
    /* A buffer that is nowhere. */
    ring_on(&s, RX_RING);
    desc_put(&s, RX_RING, 0, NOWHERE, 4096, 0);
    wr(&s, RX_RING + TAIL, 1);
    mad_init(mad, 0x01, 0x01, 0x0011);
    g_assert_cmpuint(mad_send(&s, 0xff00ffff, mad), ==, DISCARDED);
    g_assert_cmphex(rd(&s, RX_RING + RING_CONTROL), ==, 0);
    g_assert_cmphex(errors(&s), ==, E_RX_DMA);
    /* The mailbox is there again. */
    g_assert_cmpuint(mad_send(&s, 0xff00ffff, mad), ==, SENT);
    g_assert_cmpuint(rd(&s, RX_COUNT), ==, 1);
    /* No bus mastering, no DMA. */
    qpci_config_writew(s.dev, 4, qpci_config_readw(s.dev, 4) & ~4);
    ring_on(&s, TX_RING);
    wr(&s, TX_RING + TAIL, 1);
    g_assert_cmphex(errors(&s), ==, E_TX_DMA);
    switch_end(&s);
}

/* Rings and packets in the device's own registers do nothing to them. */
static void test_dma_to_itself(void)
{
    uint8_t mad[256];
    Switch s;

    switch_start(&s, "ports=8");
    ring_on(&s, RX_RING);
    desc_put(&s, RX_RING, 0, s.bar.addr + LFT, 4096, 0);
    wr(&s, RX_RING + TAIL, 1);
    mad_init(mad, 0x01, 0x01, 0x0011);
    mad_send(&s, 0xff00ffff, mad);
    g_assert_cmphex(rd(&s, LFT), ==, 0xffffffff);
    g_assert_cmphex(rd(&s, LFT + 64), ==, 0xffffffff);
    /* The ring itself there: HEAD and TAIL of its own registers. */
    wr(&s, RX_RING + RING_CONTROL, 0);
    wr(&s, RX_RING + BASE_LOW, s.bar.addr + 0x2000);
    wr(&s, RX_RING + BASE_HIGH, s.bar.addr >> 32);
    wr(&s, RX_RING + RING_CONTROL, 1);
    wr(&s, RX_RING + TAIL, 7);
    mad_send(&s, 0xff00ffff, mad);
    wr(&s, TX_RING + BASE_LOW, s.bar.addr + 0x2000);
    wr(&s, TX_RING + BASE_HIGH, s.bar.addr >> 32);
    wr(&s, TX_RING + LOG_SIZE, 10);
    wr(&s, TX_RING + RING_CONTROL, 1);
    wr(&s, TX_RING + TAIL, 1023);
    g_assert_cmphex(rd(&s, ID), ==, 0x49425357);
    switch_end(&s);
}

/* ------------------------------------------------------------ interrupts */

#define MESSAGE(vector)  (MEMORY + 0x200000 + (vector) * 4)

static void msix_start(Switch *s)
{
    unsigned v;

    qpci_msix_enable(s->dev);
    for (v = 0; v < 5; v++) {
        uint64_t entry = s->dev->msix_table_off + v * 16;

        qpci_io_writel(s->dev, s->dev->msix_table_bar, entry, MESSAGE(v));
        qpci_io_writel(s->dev, s->dev->msix_table_bar, entry + 4, 0);
        qpci_io_writel(s->dev, s->dev->msix_table_bar, entry + 8, 0x100 + v);
        qpci_io_writel(s->dev, s->dev->msix_table_bar, entry + 12, 0);
        qtest_writel(s->qts, MESSAGE(v), 0);
    }
}

/* The vectors that have come since the last call, a bit each. */
static uint32_t messages(Switch *s)
{
    uint32_t seen = 0;
    unsigned v;

    for (v = 0; v < 5; v++) {
        uint32_t data = qtest_readl(s->qts, MESSAGE(v));

        if (data) {
            g_assert_cmphex(data, ==, 0x100 + v);
            seen |= 1 << v;
            qtest_writel(s->qts, MESSAGE(v), 0);
        }
    }
    return seen;
}

static void test_msix(void)
{
    uint8_t mad[256], packet[BUFFER_BYTES];
    uint32_t len;
    Switch s;

    switch_start(&s, "ports=8");
    msix_start(&s);
    mad_init(mad, 0x01, 0x01, 0x0011);
    mad_send(&s, 0xff00ffff, mad);
    g_assert_cmphex(messages(&s), ==, 0);                 /* not enabled */
    wr(&s, INTR_ENABLE, 0xffffffff);
    g_assert_cmphex(rd(&s, INTR_ENABLE), ==, 0x1f);
    g_assert_cmphex(messages(&s), ==, I_MAILBOX);
    mad_send(&s, 0xff00ffff, mad);                        /* set already */
    g_assert_cmphex(messages(&s), ==, 0);
    wr(&s, INTR_STATUS, I_MAILBOX);
    mad_send(&s, 0xff00ffff, mad);
    g_assert_cmphex(messages(&s), ==, I_MAILBOX);
    rd(&s, 0xffc);
    g_assert_cmphex(messages(&s), ==, I_ERROR);
    ring_on(&s, TX_RING);
    len = ud_packet(packet, 1, 2, 3, 64);
    packet_send(&s, 1, packet, len);
    g_assert_cmphex(messages(&s), ==, I_TX);
    ring_on(&s, RX_RING);
    packet_post(&s, BUFFER_BYTES);
    mad_send(&s, 0xff00ffff, mad);
    g_assert_cmphex(messages(&s), ==, I_RX);
    wr(&s, port_reg(1, PORT_CONTROL), 0x30);
    g_assert_cmphex(messages(&s), ==, I_PORT);
    g_assert_cmphex(rd(&s, PORT_EVENT), ==, 2);
    g_assert_cmphex(rd(&s, INTR_STATUS), ==, 0x1f);
    switch_end(&s);
}

/* INTA#, as the Interrupt Status bit of the function shows it. */
static void test_intx(void)
{
    Switch s;

    switch_start(&s, "ports=8");
    g_assert_cmphex(qpci_config_readw(s.dev, 6) & 8, ==, 0);
    wr(&s, port_reg(1, PORT_CONTROL), 0x30);
    g_assert_cmphex(qpci_config_readw(s.dev, 6) & 8, ==, 0);
    wr(&s, INTR_ENABLE, I_PORT);
    g_assert_cmphex(qpci_config_readw(s.dev, 6) & 8, ==, 8);
    wr(&s, INTR_ENABLE, I_RX);
    g_assert_cmphex(qpci_config_readw(s.dev, 6) & 8, ==, 0);
    wr(&s, INTR_ENABLE, I_PORT);
    wr(&s, INTR_STATUS, I_PORT);
    g_assert_cmphex(qpci_config_readw(s.dev, 6) & 8, ==, 0);
    wr(&s, port_reg(1, PORT_CONTROL), 0x20);
    g_assert_cmphex(qpci_config_readw(s.dev, 6) & 8, ==, 8);
    wr(&s, CONTROL, 1);
    g_assert_cmphex(qpci_config_readw(s.dev, 6) & 8, ==, 0);
    switch_end(&s);
}

/* What happens to a stopped guest's switch it hears when it goes on. */
static void test_stopped(void)
{
    Switch s;

    switch_start(&s, "ports=8");
    msix_start(&s);
    wr(&s, INTR_ENABLE, 0x1f);
    qtest_qmp_assert_success(s.qts, "{ 'execute': 'stop' }");
    wr(&s, port_reg(1, PORT_CONTROL), 0x30);
    g_assert_cmphex(messages(&s), ==, 0);
    qtest_qmp_assert_success(s.qts, "{ 'execute': 'cont' }");
    g_assert_cmphex(messages(&s), ==, I_PORT);
    switch_end(&s);
}

/* ------------------------------------------------------------- migration */

static void wait_migrated(QTestState *qts)
{
    for (;;) {
        QDict *reply = qtest_qmp(qts, "{ 'execute': 'query-migrate' }");
        QDict *info = qdict_get_qdict(reply, "return");
        g_autofree char *status = g_strdup(qdict_get_try_str(info, "status"));

        qobject_unref(reply);
        g_assert_cmpstr(status, !=, "failed");
        if (!g_strcmp0(status, "completed")) {
            return;
        }
        g_usleep(10000);
    }
}

static void test_migration(void)
{
    static const uint32_t regs[] = {
        PORT0, LINEAR_TOP, INTR_STATUS, INTR_ENABLE, ERROR, PORT_EVENT,
        STATE_CHANGE, LID, TX_ROUTE, TX_QPN, TX_PKEY, TX_RESULT, TX_MAD + 8,
        RX_COUNT, RX_DROPPED, RX_INFO, RX_MAD + 8, RX_MAD + 0x4c,
        LFT, MFT + 3 * 32, SL2VL + 8, 0x101000 + MTU, 0x101000 + ARB_LOW,
        0x101000 + STATUS, RX_RING + BASE_LOW, RX_RING + BASE_HIGH,
        RX_RING + LOG_SIZE, RX_RING + RING_CONTROL, RX_RING + TAIL,
        TX_RING + RING_CONTROL, TX_RING + BASE_LOW, DISCARDS + 5 * 8,
    };
    uint32_t values[ARRAY_SIZE(regs)];
    g_autofree char *dir = g_dir_make_tmp("ib-switch-XXXXXX", NULL);
    g_autofree char *file = g_build_filename(dir, "state", NULL);
    g_autofree char *uri = g_strdup_printf("file:%s", file);
    g_autofree char *incoming = g_strdup_printf("ports=8 -incoming %s", uri);
    uint8_t mad[256], packet[BUFFER_BYTES];
    uint32_t length;
    unsigned i;
    Switch s, to;

    switch_start(&s, "ports=8");
    set_lid(&s, 33, 33);
    wr(&s, LINEAR_TOP, 63);
    wr(&s, LFT, 0x04030201);
    wr(&s, MFT + 3 * 32, 0x1f);
    wr(&s, SL2VL + 8, 0x12345670);
    wr(&s, port_reg(1, MTU), 2);
    wr(&s, port_reg(1, ARB_LOW), 0x1203);
    wr(&s, port_reg(1, PORT_CONTROL), 0x30);
    wr(&s, PORT0, MANAGERS | DATA);
    wr(&s, INTR_ENABLE, I_RX | I_ERROR);
    wr(&s, TX_QPN, 0x77);
    wr(&s, TX_PKEY, 3);
    rd(&s, 0xffc);
    mad_init(mad, 0x01, 0x01, 0x0011);
    mad_send(&s, 0xff020021, mad);
    mad[15] = 1;
    mad_send(&s, 0xff020021, mad);
    ring_on(&s, RX_RING);
    packet_post(&s, BUFFER_BYTES);
    for (i = 0; i < ARRAY_SIZE(regs); i++) {
        values[i] = rd(&s, regs[i]);
    }
    qtest_qmp_assert_success(s.qts, "{ 'execute': 'migrate', 'arguments': "
                             "{ 'uri': %s } }", uri);
    wait_migrated(s.qts);

    switch_find(&to, qtest_initf(ONE_SWITCH "%s", incoming), 4);
    wait_migrated(to.qts);
    to.bar = s.bar;                                       /* where it was */
    to.rx_tail = s.rx_tail;
    for (i = 0; i < ARRAY_SIZE(regs); i++) {
        g_assert_cmphex(rd(&to, regs[i]), ==, values[i]);
    }
    /* What waits is there in order, and all of it works on. */
    mad_take(&to, mad);
    mad_take(&to, mad);
    g_assert_cmpuint(mad[15], ==, 1);
    g_assert_cmpuint(rd(&to, RX_COUNT), ==, 0);
    mad_init(mad, 0x01, 0x01, 0x0011);
    g_assert_cmpuint(mad_send(&to, 0xff00ffff, mad), ==, SENT);
    packet_take(&to, packet, &length);
    g_assert_cmpuint(length, ==, 288);
    /* PORT0 is in force: the switch's trap 144 is for the SM in the guest. */
    packet_post(&to, BUFFER_BYTES);
    wr(&to, CAPABILITY, rd(&to, CAPABILITY) | 1 << 1);
    packet_take(&to, packet, &length);
    g_assert_cmphex(packet[28 + 3], ==, 0x05);            /* Trap */
    g_assert_cmpuint(ib_get_be16(packet + 28 + 64 + 4), ==, 144);
    switch_end(&s);
    switch_end(&to);
    unlink(file);
    rmdir(dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/ib-switch-pci/mailbox/own-node-info",
                   test_own_node_info);
    qtest_add_func("/ib-switch-pci/enhanced-port0", test_enhanced_port0);
    qtest_add_func("/ib-switch-pci/leds", test_leds);
    qtest_add_func("/ib-switch-pci/mailbox/full", test_mailbox_full);
    qtest_add_func("/ib-switch-pci/mailbox/refuses", test_mailbox_refuses);
    qtest_add_func("/ib-switch-pci/mailbox/sm", test_sm);
    qtest_add_func("/ib-switch-pci/sma-host", test_sma_host);
    qtest_add_func("/ib-switch-pci/forwarding/linear", test_forwarding);
    qtest_add_func("/ib-switch-pci/forwarding/sl-to-vl",
                   test_forwarding_sl_to_vl);
    qtest_add_func("/ib-switch-pci/forwarding/multicast",
                   test_forwarding_multicast);
    qtest_add_func("/ib-switch-pci/ring/results", test_ring_results);
    qtest_add_func("/ib-switch-pci/ring/mad", test_ring_mad);
    qtest_add_func("/ib-switch-pci/ring/registers", test_ring_registers);
    qtest_add_func("/ib-switch-pci/fault/dma", test_dma_faults);
    qtest_add_func("/ib-switch-pci/fault/dma-to-itself", test_dma_to_itself);
    qtest_add_func("/ib-switch-pci/interrupt/msix", test_msix);
    qtest_add_func("/ib-switch-pci/interrupt/intx", test_intx);
    qtest_add_func("/ib-switch-pci/interrupt/stopped", test_stopped);
    qtest_add_func("/ib-switch-pci/migration", test_migration);
    return g_test_run();
}
