/*
 * A driver of a few lines for ib-switch-pci, for its tests
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Offsets and values are written out here from docs/specs/ib-switch.rst: the
 * device has its own header.
 */
#ifndef TESTS_QTEST_IB_SWITCH_PCI_DRIVER_H
#define TESTS_QTEST_IB_SWITCH_PCI_DRIVER_H

#include "libqtest.h"
#include "libqos/libqos-pc.h"
#include "libqos/pci-pc.h"
#include "qemu/bswap.h"
#include "qobject/qdict.h"
#include "hw/infiniband/ib-bits.h"

#define GUID0       0x0002c90000000100ULL
#define GUID1       0x0002c90000000200ULL
#define MEMORY      0x1000000               /* of the guest */
#define NOWHERE     0xfffff0000000ULL       /* no RAM there */

enum {
    ID = 0x00, VERSION = 0x04, PORTS = 0x08, CONTROL = 0x0c, PORT0 = 0x10,
    GUID_LOW = 0x18, GUID_HIGH = 0x1c, LID = 0x20, CAPABILITY = 0x24,
    LINEAR_CAP = 0x28, RANDOM_CAP = 0x2c, MCAST_CAP = 0x30,
    LINEAR_TOP = 0x34, MCAST_TOP = 0x38, DEFAULT_PORT = 0x3c,
    PRIMARY = 0x40, NOT_PRIMARY = 0x44, LIFE_TIME = 0x48,
    STATE_CHANGE = 0x4c, INTR_STATUS = 0x80, INTR_ENABLE = 0x84,
    ERROR = 0x88, PORT_EVENT = 0xa0, DISCARDS = 0x100,

    TX_ROUTE = 0x1000, TX_QPN = 0x1004, TX_PKEY = 0x1008, TX_SEND = 0x100c,
    TX_RESULT = 0x1010, RX_COUNT = 0x1020, RX_NEXT = 0x1024,
    RX_DROPPED = 0x1028, RX_LIDS = 0x1030, RX_INFO = 0x1034,
    RX_QPN = 0x1038, RX_PKEY = 0x103c, TX_MAD = 0x1100, RX_MAD = 0x1200,

    TX_RING = 0x2000, RX_RING = 0x2040,
    BASE_LOW = 0, BASE_HIGH = 4, LOG_SIZE = 8, RING_CONTROL = 0xc,
    HEAD = 0x10, TAIL = 0x14, DROPPED = 0x18,

    LFT = 0x10000, RFT = 0x40000, MFT = 0x80000, SL2VL = 0x200000,

    STATUS = 0x000, PORT_CONTROL = 0x004, CAPS = 0x008, MTU = 0x010,
    VLS = 0x014, WIDTH = 0x018, SPEED = 0x01c, DOWN_DEFAULT = 0x020,
    HIGH_LIMIT = 0x024, HOQ_LIFE = 0x028, VL_STALL = 0x02c,
    PEER_LOW = 0x030, PEER_HIGH = 0x034, PEER_PORT = 0x038, BUFFER = 0x03c,
    VL = 0x100, ARB_LOW = 0x200, ARB_HIGH = 0x300, COUNTER = 0x400,
    VL_COUNTER = 0x600,
};

enum { SMPS = 1, GMPS = 2, MANAGERS = 4, DATA = 8 };
enum { I_PORT = 1, I_MAILBOX = 2, I_TX = 4, I_RX = 8, I_ERROR = 16 };
enum { E_ACCESS = 1, E_TABLE = 2, E_PORT = 4, E_TX_DMA = 8, E_RX_DMA = 16,
       E_OVERRUN = 32 };
enum { SENT = 1, MALFORMED = 2, NO_ROUTE = 3, DISCARDED = 4, TOO_LONG = 5 };

typedef struct Switch {
    QTestState *qts;
    QPCIBus *bus;
    QPCIDevice *dev;
    QPCIBar bar;
    uint32_t tx_tail, rx_tail, rx_next;     /* of its rings */
    uint64_t memory;                        /* its own 1 MiB */
} Switch;

static inline uint32_t rd(Switch *s, uint32_t reg)
{
    return qpci_io_readl(s->dev, s->bar, reg);
}

static inline void wr(Switch *s, uint32_t reg, uint32_t value)
{
    qpci_io_writel(s->dev, s->bar, reg, value);
}

static inline uint32_t port_reg(unsigned port, uint32_t reg)
{
    return 0x100000 + port * 0x1000 + reg;
}

/* What ERROR has, which is 0 then. */
static inline uint32_t errors(Switch *s)
{
    uint32_t error = rd(s, ERROR);

    wr(s, ERROR, error);
    g_assert_cmphex(rd(s, ERROR), ==, 0);
    return error;
}

static inline void switch_find(Switch *s, QTestState *qts, int slot)
{
    *s = (Switch) { .qts = qts, .memory = MEMORY + (slot - 4) * 0x100000 };
    s->bus = qpci_new_pc(qts, NULL);
    s->dev = qpci_device_find(s->bus, QPCI_DEVFN(slot, 0));
    g_assert_nonnull(s->dev);
}

static inline void switch_enable(Switch *s)
{
    qpci_device_enable(s->dev);
    s->bar = qpci_iomap(s->dev, 0, NULL);
}

#define ONE_SWITCH "-M q35 -m 64 -nodefaults -device ib-switch-pci,id=sw0," \
                   "addr=4,node-guid=0x2c90000000100,"

/* One switch without cables. */
static inline void switch_start(Switch *s, const char *properties)
{
    switch_find(s, qtest_initf(ONE_SWITCH "%s", properties), 4);
    switch_enable(s);
}

static inline void switch_end(Switch *s)
{
    g_free(s->dev);
    qpci_free_pc(s->bus);
    qtest_quit(s->qts);
}

/* ---------------------------------------------------------------- MADs */

static inline void mad_init(uint8_t mad[256], uint8_t class, uint8_t method,
                            uint16_t attr)
{
    memset(mad, 0, 256);
    mad[0] = 1;
    mad[1] = class;
    mad[2] = 1;
    mad[3] = method;
    ib_put_be64(mad + 8, 0x1122334455667788);
    ib_put_be16(mad + 16, attr);
    if (class == 0x81) {
        ib_put_be16(mad + 32, 0xffff);
        ib_put_be16(mad + 34, 0xffff);
    }
}

/* Send by the mailbox; the result. */
static inline uint32_t mad_send(Switch *s, uint32_t route,
                                const uint8_t mad[256])
{
    unsigned i;

    wr(s, TX_ROUTE, route);
    for (i = 0; i < 256; i += 4) {
        wr(s, TX_MAD + i, ldl_le_p(mad + i));
    }
    wr(s, TX_SEND, 1);
    return rd(s, TX_RESULT);
}

static inline bool reg_wait(Switch *s, uint32_t reg, uint32_t mask,
                            uint32_t value)
{
    int tries;

    for (tries = 0; tries < 2000; tries++) {
        if ((rd(s, reg) & mask) == value) {
            return true;
        }
        g_usleep(5000);
    }
    return false;
}

/* The first MAD that waits, which is taken away. */
static inline void mad_take(Switch *s, uint8_t mad[256])
{
    int tries = 2000;
    unsigned i;

    while (!rd(s, RX_COUNT)) {
        g_assert_cmpint(--tries, >, 0);
        g_usleep(5000);
    }
    for (i = 0; i < 256; i += 4) {
        stl_le_p(mad + i, rd(s, RX_MAD + i));
    }
    wr(s, RX_NEXT, 1);
}

/* Set port 0's LID, and the SM's, through the mailbox. */
static inline void set_lid(Switch *s, uint16_t lid, uint16_t sm_lid)
{
    uint8_t mad[256], reply[256];

    mad_init(mad, 0x81, 0x01, 0x0015);
    g_assert_cmpuint(mad_send(s, 0xff00ffff, mad), ==, SENT);
    mad_take(s, reply);
    memcpy(mad + 64, reply + 64, 64);
    mad[3] = 0x02;
    ib_put_be16(mad + 64 + 16, lid);
    ib_put_be16(mad + 64 + 18, sm_lid);
    mad[64 + 32] = 0;
    mad[64 + 33] = 0;
    g_assert_cmpuint(mad_send(s, 0xff00ffff, mad), ==, SENT);
    mad_take(s, reply);
    g_assert_cmphex(ib_get_be16(reply + 4) & 0x7fff, ==, 0);
    g_assert_cmphex(rd(s, LID), ==, lid);
}

/* --------------------------------------------------------------- fabric */

/*
 * Two switches with two cables: port 1 to port 1, port 2 to port 2, all
 * Active.  The second one is there to send to the first and to receive.
 */
static inline void fabric_start(Switch *a, Switch *b, const char *properties)
{
    QTestState *qts = qtest_initf(
        ONE_SWITCH "ports=4%s "
        "-device ib-switch-pci,id=sw1,addr=5,node-guid=0x2c90000000200,"
        "ports=4 "
        "-netdev hubport,id=a1,hubid=1 -netdev hubport,id=b1,hubid=1 "
        "-netdev hubport,id=a2,hubid=2 -netdev hubport,id=b2,hubid=2 "
        "-device ib-port,id=p1,bus=sw0.0,port=1,netdev=a1 "
        "-device ib-port,bus=sw1.0,port=1,netdev=b1 "
        "-device ib-port,bus=sw0.0,port=2,netdev=a2 "
        "-device ib-port,bus=sw1.0,port=2,netdev=b2", properties);
    Switch *both[] = { a, b };
    unsigned i, port;

    switch_find(a, qts, 4);
    switch_enable(a);
    /* The PCI BARs of one bus come from one place. */
    *b = (Switch) { .qts = qts, .memory = MEMORY + 0x100000, .bus = a->bus };
    b->dev = qpci_device_find(b->bus, QPCI_DEVFN(5, 0));
    g_assert_nonnull(b->dev);
    switch_enable(b);
    for (i = 0; i < 2; i++) {
        for (port = 1; port <= 2; port++) {
            g_assert_true(reg_wait(both[i], port_reg(port, STATUS), 0xf, 2));
        }
    }
    for (i = 0; i < 2; i++) {
        for (port = 1; port <= 2; port++) {
            wr(both[i], port_reg(port, PORT_CONTROL), 3);
        }
    }
    for (i = 0; i < 2; i++) {
        for (port = 1; port <= 2; port++) {
            wr(both[i], port_reg(port, PORT_CONTROL), 4);
            g_assert_cmphex(rd(both[i], port_reg(port, STATUS)) & 0xff, ==,
                            0x54);
        }
        g_assert_cmphex(errors(both[i]), ==, 0);
    }
}

static inline void fabric_end(Switch *a, Switch *b)
{
    g_free(b->dev);
    switch_end(a);
}

/* ---------------------------------------------------------------- rings */

#define RING_LOG  3
#define BUFFER_BYTES  4224

static inline uint64_t ring_place(Switch *s, uint32_t ring)
{
    return s->memory + (ring == TX_RING ? 0 : 0x1000);
}

static inline uint64_t buffer_place(Switch *s, uint32_t ring, unsigned i)
{
    return s->memory + (ring == TX_RING ? 0x10000 : 0x80000) + i * 0x2000;
}

static inline void desc_put(Switch *s, uint32_t ring, unsigned i,
                            uint64_t address, uint32_t length,
                            uint32_t status)
{
    uint8_t bytes[16];

    stq_le_p(bytes, address);
    stl_le_p(bytes + 8, length);
    stl_le_p(bytes + 12, status);
    qtest_memwrite(s->qts, ring_place(s, ring) + i * 16, bytes, 16);
}

static inline void desc_get(Switch *s, uint32_t ring, unsigned i,
                            uint32_t *length, uint32_t *status)
{
    *length = qtest_readl(s->qts, ring_place(s, ring) + i * 16 + 8);
    *status = qtest_readl(s->qts, ring_place(s, ring) + i * 16 + 12);
}

static inline void ring_on(Switch *s, uint32_t ring)
{
    uint64_t base = ring_place(s, ring);

    wr(s, ring + BASE_LOW, base);
    wr(s, ring + BASE_HIGH, base >> 32);
    wr(s, ring + LOG_SIZE, RING_LOG);
    wr(s, ring + RING_CONTROL, 1);
    if (ring == TX_RING) {
        s->tx_tail = 0;
    } else {
        s->rx_tail = s->rx_next = 0;
    }
}

/* Send a packet by the TX ring; what the device made of it. */
static inline uint32_t packet_send(Switch *s, uint8_t port,
                                   const void *packet, uint32_t len)
{
    unsigned i = s->tx_tail;
    uint32_t length, status;

    qtest_memwrite(s->qts, buffer_place(s, TX_RING, i), packet, len);
    desc_put(s, TX_RING, i, buffer_place(s, TX_RING, i), len,
             (uint32_t)port << 24);
    s->tx_tail = (i + 1) % (1 << RING_LOG);
    wr(s, TX_RING + TAIL, s->tx_tail);
    g_assert_cmpuint(rd(s, TX_RING + HEAD), ==, s->tx_tail);
    desc_get(s, TX_RING, i, &length, &status);
    g_assert_cmpuint(length, ==, len);
    g_assert_cmphex(status & 0x80, ==, 0x80);
    g_assert_cmpuint(status >> 24, ==, port);
    return status & 0xf;
}

static inline void packet_post(Switch *s, uint32_t room)
{
    unsigned i = s->rx_tail;

    desc_put(s, RX_RING, i, buffer_place(s, RX_RING, i), room, 0);
    s->rx_tail = (i + 1) % (1 << RING_LOG);
    wr(s, RX_RING + TAIL, s->rx_tail);
}

/* The next packet of the RX ring; its descriptor's last word. */
static inline uint32_t packet_take(Switch *s, uint8_t *packet, uint32_t *len)
{
    unsigned i = s->rx_next;
    uint32_t status;

    s->rx_next = (i + 1) % (1 << RING_LOG);
    g_assert_true(reg_wait(s, RX_RING + HEAD, ~0u, s->rx_next));
    desc_get(s, RX_RING, i, len, &status);
    g_assert_cmphex(status & 0x80, ==, 0x80);
    if (*len <= BUFFER_BYTES) {
        qtest_memread(s->qts, buffer_place(s, RX_RING, i), packet, *len);
    }
    return status;
}

/*
 * A UD packet on VL 0 with @payload bytes (of 4) that count up; its length,
 * LRH to a wrong ICRC.
 */
static inline uint32_t ud_packet(uint8_t *packet, uint16_t slid,
                                 uint16_t dlid, uint32_t qpn,
                                 uint32_t payload)
{
    uint32_t len = 8 + 12 + 8 + payload + 4;
    uint32_t i;

    memset(packet, 0, len);
    packet[1] = 2;                          /* SL 0, LNH: BTH */
    ib_put_be16(packet + 2, dlid);
    ib_put_be16(packet + 4, len / 4);
    ib_put_be16(packet + 6, slid);
    packet[8] = 0x64;                       /* UD Send Only */
    ib_put_be16(packet + 10, 0xffff);
    ib_put_be32(packet + 12, qpn);
    ib_put_be32(packet + 20, 0x1234);       /* Q_Key */
    for (i = 0; i < payload; i++) {
        packet[28 + i] = i;
    }
    memset(packet + len - 4, 0xaa, 4);
    return len;
}

#endif
