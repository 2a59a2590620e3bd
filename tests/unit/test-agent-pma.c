/*
 * The PMA: counters as windows, saturation, samples
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IBA Vol.1 16.1; offsets are from the MAD's data at byte 64.
 */
#include "agent-node.h"

#define PC   0x12     /* PortCounters */
#define PCX  0x1d     /* PortCountersExtended */

static uint16_t be16(const uint8_t *p)
{
    return p[0] << 8 | p[1];
}

static uint32_t be32(const uint8_t *p)
{
    return (uint32_t)be16(p) << 16 | be16(p + 2);
}

static uint64_t be64(const uint8_t *p)
{
    return (uint64_t)be32(p) << 32 | be32(p + 4);
}

static uint16_t pma(TestNode *t, uint8_t method, uint16_t attribute,
                    uint8_t d[192])
{
    uint8_t in[256], out[256];
    uint16_t status;

    test_smp_init(t, in, 0x04, method, attribute, 0, 0);
    memcpy(in + 64, d, 192);
    status = test_mad(t, 1, in, out);
    if (status != NO_REPLY) {
        memcpy(d, out + 64, 192);
    }
    return status;
}

static uint16_t pma_get(TestNode *t, uint16_t attribute, uint8_t port,
                        uint8_t d[192])
{
    memset(d, 0, 192);
    d[1] = port;
    return pma(t, 1, attribute, d);
}

/* As perfquery -R does: zeros, CounterSelect, CounterSelect2 */
static uint16_t pma_clear(TestNode *t, uint16_t attribute, uint8_t port,
                          uint16_t select, uint8_t select2)
{
    uint8_t d[192] = { 0, port, select >> 8, select };

    d[attribute == PC ? 18 : 7] = select2;
    return pma(t, 2, attribute, d);
}

/*
 * Each counter of a link another number: those of packets are sums of what
 * the link counts by VL and by kind.
 */
static void count(IbLink *link, uint64_t factor)
{
    IbLinkCounters *c = ib_link_counters(link);

    c->symbol_errors += 1 * factor;
    c->link_error_recovery += 2 * factor;
    c->link_downed += 3 * factor;
    c->rcv_errors += 4 * factor;
    c->rcv_remote_physical_errors += 5 * factor;
    c->rcv_switch_relay_errors += 6 * factor;
    c->xmit_discards += 7 * factor;
    c->xmit_constraint_errors += 8 * factor;
    c->rcv_constraint_errors += 9 * factor;
    c->local_link_integrity_errors += 10 * factor;
    c->excessive_buffer_overruns += 11 * factor;
    c->vl15_dropped += 12 * factor;
    c->xmit_data_vl[0] += 6 * factor;
    c->xmit_data_vl[15] += 7 * factor;
    c->rcv_data_vl[2] += 14 * factor;
    c->xmit_pkts_vl[0] += 38 * factor;
    c->rcv_pkts_vl[0] += 40 * factor;
    c->xmit_wait += 17 * factor;
    c->multicast_xmit_pkts += 20 * factor;
    c->multicast_rcv_pkts += 21 * factor;
    c->xmit_wait_vl[3] += 22 * factor;
    c->local_physical_errors += 23 * factor;
    c->malformed_packets += 24 * factor;
    c->buffer_overruns += 25 * factor;
    c->dlid_mapping_errors += 26 * factor;
    c->vl_mapping_errors += 27 * factor;
    c->looping_errors += 28 * factor;
    c->port_inactive_discards += 29 * factor;
    c->neighbor_mtu_discards += 30 * factor;
    c->sw_lifetime_discards += 31 * factor;
    c->sw_hoq_lifetime_discards += 32 * factor;
    c->xmit_flow_pkts += 33 * factor;
    c->rcv_flow_pkts += 34 * factor;
    c->flow_update_errors_vl[3] += 2 * factor;
    c->flow_update_errors_vl[15] += factor;
    c->xmit_data_sl[0] += 36 * factor;
    c->xmit_data_sl[15] += 37 * factor;
    c->rcv_data_sl[2] += 38 * factor;
    c->sync_header_errors += 39 * factor;
    c->unknown_blocks += 40 * factor;
    c->lane_errors[0] += 41 * factor;
    c->lane_errors[11] += 42 * factor;
}

/* A node whose counters stand at 0, whatever training counted */
static TestNode *quiet_node(uint8_t type)
{
    TestNode *t = test_node_new(type);

    g_assert_cmphex(pma_clear(t, PC, 255, 0xffff, 0xff), ==, 0);
    g_assert_cmphex(pma_clear(t, PCX, 255, 0xffff, 0xff), ==, 0);
    {
        uint8_t d[192] = { 0, 255, 0, 0, 0, 0, 0xff, 0xff };

        g_assert_cmphex(pma(t, 2, PCX, d), ==, 0);
    }
    return t;
}

static void test_class_port_info(void)
{
    TestNode *t = test_node_new(IB_NODE_TYPE_SWITCH);
    uint8_t d[192], zero[64] = { 0 };

    memset(d, 0xff, sizeof(d));
    g_assert_cmphex(pma(t, 1, 0x01, d), ==, 0);
    g_assert_cmpuint(d[0], ==, 1);
    g_assert_cmpuint(d[1], ==, 1);
    /* CapabilityMask2 there, all ports, 64 bits with IETF's, XmitWait */
    g_assert_cmphex(be16(d + 2), ==, 0x1304);
    g_assert_cmphex(be32(d + 4) >> 5, ==, 0x2); /* additional 64-bit ones */
    g_assert_cmpuint(d[7] & 0x1f, ==, 18);      /* RespTimeValue */
    g_assert_cmpmem(d + 8, 64, zero, 64);       /* no redirection, no traps */
    g_assert_cmphex(pma(t, 2, 0x01, d), ==, 0x0c);
    test_node_free(t);
}

static void test_port_counters(void)
{
    TestNode *t = quiet_node(IB_NODE_TYPE_SWITCH);
    uint8_t d[192];

    count(t->ends[2].link, 1);
    g_assert_cmphex(pma_get(t, PC, 2, d), ==, 0);
    g_assert_cmpuint(d[1], ==, 2);
    g_assert_cmpuint(be16(d + 4), ==, 1);
    g_assert_cmpuint(d[6], ==, 2);
    g_assert_cmpuint(d[7], ==, 3);
    g_assert_cmpuint(be16(d + 8), ==, 4);
    g_assert_cmpuint(be16(d + 10), ==, 5);
    g_assert_cmpuint(be16(d + 12), ==, 6);
    g_assert_cmpuint(be16(d + 14), ==, 7);
    g_assert_cmpuint(d[16], ==, 8);
    g_assert_cmpuint(d[17], ==, 9);
    g_assert_cmphex(d[19], ==, 0xab);
    g_assert_cmpuint(be16(d + 22), ==, 12);
    g_assert_cmpuint(be32(d + 24), ==, 13);
    g_assert_cmpuint(be32(d + 28), ==, 14);
    g_assert_cmpuint(be32(d + 32), ==, 38);
    g_assert_cmpuint(be32(d + 36), ==, 40);
    g_assert_cmpuint(be32(d + 40), ==, 17);
    /* another port */
    g_assert_cmphex(pma_get(t, PC, 1, d), ==, 0);
    g_assert_cmpuint(be16(d + 8), ==, 0);
    test_node_free(t);
}

/* 16.1.3.5: a counter stops at its largest value, all bits set. */
static void test_saturation(void)
{
    TestNode *t = quiet_node(IB_NODE_TYPE_SWITCH);
    uint8_t d[192];

    count(t->ends[2].link, UINT64_C(0x100000000));
    g_assert_cmphex(pma_get(t, PC, 2, d), ==, 0);
    g_assert_cmphex(be32(d + 4), ==, 0xffffffff);
    g_assert_cmphex(be32(d + 8), ==, 0xffffffff);
    g_assert_cmphex(be32(d + 12), ==, 0xffffffff);
    g_assert_cmphex(be16(d + 16), ==, 0xffff);
    g_assert_cmphex(d[18], ==, 0);
    g_assert_cmphex(d[19], ==, 0xff);
    g_assert_cmphex(be16(d + 22), ==, 0xffff);
    g_assert_cmphex(be32(d + 24), ==, 0xffffffff);
    g_assert_cmphex(be32(d + 40), ==, 0xffffffff);
    count(t->ends[2].link, 1);
    g_assert_cmphex(pma_get(t, PC, 2, d), ==, 0);
    g_assert_cmphex(be32(d + 24), ==, 0xffffffff);
    /* and starts over once it is set */
    g_assert_cmphex(pma_clear(t, PC, 2, 0x1000, 0), ==, 0);
    count(t->ends[2].link, 1);
    g_assert_cmphex(pma_get(t, PC, 2, d), ==, 0);
    g_assert_cmpuint(be32(d + 24), ==, 13);
    g_assert_cmphex(be32(d + 28), ==, 0xffffffff);
    test_node_free(t);
}

/*
 * One bit of CounterSelect, one counter, in the order of the bits; 0 bytes are
 * half a byte.
 */
static const struct {
    uint8_t offset, bytes, counted;
} selected[17] = {
    { 4, 2, 1 }, { 6, 1, 2 }, { 7, 1, 3 }, { 8, 2, 4 }, { 10, 2, 5 },
    { 12, 2, 6 }, { 14, 2, 7 }, { 16, 1, 8 }, { 17, 1, 9 }, { 19, 0, 10 },
    { 19, 0, 11 }, { 22, 2, 12 }, { 24, 4, 13 }, { 28, 4, 14 },
    { 32, 4, 38 }, { 36, 4, 40 }, { 40, 4, 17 },
};

static uint32_t counter(const uint8_t *d, unsigned i)
{
    const uint8_t *p = d + selected[i].offset;

    switch (selected[i].bytes) {
    case 0:
        return i == 9 ? *p >> 4 : *p & 0xf;
    case 1:
        return *p;
    case 2:
        return be16(p);
    default:
        return be32(p);
    }
}

static void test_counter_select(void)
{
    TestNode *t = quiet_node(IB_NODE_TYPE_SWITCH);
    uint8_t d[192];
    unsigned bit, i;

    for (bit = 0; bit < 17; bit++) {
        g_assert_cmphex(pma_clear(t, PC, 2, 0xffff, 1), ==, 0);
        count(t->ends[2].link, 1);
        if (bit < 16) {
            g_assert_cmphex(pma_clear(t, PC, 2, 1 << bit, 0), ==, 0);
        } else {
            g_assert_cmphex(pma_clear(t, PC, 2, 0, 1), ==, 0);
        }
        g_assert_cmphex(pma_get(t, PC, 2, d), ==, 0);
        for (i = 0; i < 17; i++) {
            g_assert_cmpuint(counter(d, i), ==,
                             i == bit ? 0 : selected[i].counted);
        }
    }
    test_node_free(t);
}

/* A Set writes the value that it carries. */
static void test_set_value(void)
{
    TestNode *t = quiet_node(IB_NODE_TYPE_CA);
    uint8_t d[192] = { 0, 1, 0x10, 0x08 };      /* XmitData, RcvErrors */

    d[8] = 0x12;
    d[9] = 0x34;
    d[24] = 0x80;
    count(t->ends[1].link, 1);
    g_assert_cmphex(pma(t, 2, PC, d), ==, 0);
    g_assert_cmphex(be16(d + 8), ==, 0x1234);
    g_assert_cmphex(be32(d + 24), ==, 0x80000000);
    g_assert_cmpuint(be32(d + 28), ==, 14);
    count(t->ends[1].link, 1);
    g_assert_cmphex(pma_get(t, PC, 1, d), ==, 0);
    g_assert_cmphex(be16(d + 8), ==, 0x1238);
    g_assert_cmphex(be32(d + 24), ==, 0x8000000d);
    test_node_free(t);
}

static void test_extended(void)
{
    TestNode *t = quiet_node(IB_NODE_TYPE_CA);
    const uint64_t f = UINT64_C(0x100000001);
    uint8_t d[192];
    unsigned i;
    static const uint8_t expect[] = {
        13, 14, 38, 40, 18, 19, 20, 21,         /* by CounterSelect */
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 17,
    };

    count(t->ends[1].link, f);
    g_assert_cmphex(pma_get(t, PCX, 1, d), ==, 0);
    for (i = 0; i < G_N_ELEMENTS(expect); i++) {
        g_assert_cmphex(be64(d + 8 + 8 * i), ==, expect[i] * f);
    }
    g_assert_cmphex(be64(d + 176), ==, 0);      /* QP1Dropped: not counted */

    /* The windows are apart. */
    g_assert_cmphex(pma_clear(t, PC, 1, 0xffff, 0xff), ==, 0);
    g_assert_cmphex(pma_get(t, PCX, 1, d), ==, 0);
    g_assert_cmphex(be64(d + 8), ==, 13 * f);
    g_assert_cmphex(pma_clear(t, PCX, 1, 1 << 1 | 1 << 7, 1 << 2), ==, 0);
    g_assert_cmphex(pma_get(t, PCX, 1, d), ==, 0);
    g_assert_cmphex(be64(d + 8), ==, 13 * f);
    g_assert_cmphex(be64(d + 16), ==, 0);
    g_assert_cmphex(be64(d + 64), ==, 0);
    g_assert_cmphex(be64(d + 72), ==, f);
    g_assert_cmphex(be64(d + 88), ==, 0);       /* LinkDowned */
    test_node_free(t);
}

static void test_vl_xmit_wait(void)
{
    TestNode *t = quiet_node(IB_NODE_TYPE_SWITCH);
    uint8_t d[192];

    count(t->ends[2].link, 1);
    g_assert_cmphex(pma_get(t, 0x1c, 2, d), ==, 0);
    g_assert_cmpuint(be16(d + 4), ==, 0);
    g_assert_cmpuint(be16(d + 10), ==, 22);     /* VL 3 */
    memset(d, 0, sizeof(d));
    d[1] = 2;
    d[3] = 1 << 3;
    g_assert_cmphex(pma(t, 2, 0x1c, d), ==, 0);
    g_assert_cmpuint(be16(d + 10), ==, 0);
    test_node_free(t);
}

/*
 * Attributes of 16- or 32-bit counters from byte 4 on, bit n of CounterSelect
 * for the n-th: by 16.1.4.1, .2, .4 and as libibmad has those by SL
 */
typedef struct DetailCase {
    const char *name;
    uint16_t attribute;
    uint8_t bytes, count;
    uint32_t value[16];
} DetailCase;

static const DetailCase details[] = {
    { "rcv-error-details", 0x15, 2, 6, { 23, 24, 25, 26, 27, 28 } },
    { "xmit-discard-details", 0x16, 2, 4, { 29, 30, 31, 32 } },
    { "flow-ctl", 0x18, 4, 2, { 0, 0 } },       /* training has some */
    { "xmit-data-sl", 0x36, 4, 16, { 36, [15] = 37 } },
    { "rcv-data-sl", 0x37, 4, 16, { [2] = 38 } },
};

static uint64_t detail(const DetailCase *c, const uint8_t *d, unsigned i)
{
    return c->bytes == 2 ? be16(d + 4 + 2 * i) : be32(d + 4 + 4 * i);
}

static void test_detail(gconstpointer data)
{
    static const uint8_t zero[192] = { 0 };
    const DetailCase *c = data;
    TestNode *t = quiet_node(IB_NODE_TYPE_SWITCH);
    size_t end = 4 + c->bytes * c->count;
    uint64_t max = c->bytes == 2 ? 0xffff : 0xffffffff;
    uint8_t d[192];
    unsigned i;

    g_assert_cmphex(pma_clear(t, c->attribute, 2, 0xffff, 0), ==, 0);
    count(t->ends[2].link, 1);
    if (c->attribute == 0x18) {
        g_assert_cmphex(pma_get(t, 0x18, 2, d), ==, 0);
        g_assert_cmpuint(be32(d + 4), ==, 33);
        g_assert_cmpuint(be32(d + 8), ==, 34);
        test_node_free(t);
        return;
    }
    memset(d, 0xee, sizeof(d));                 /* is not looked at */
    d[1] = 2;
    g_assert_cmphex(pma(t, 1, c->attribute, d), ==, 0);
    g_assert_cmphex(d[0], ==, 0);
    g_assert_cmphex(d[1], ==, 2);
    for (i = 0; i < c->count; i++) {
        g_assert_cmpuint(detail(c, d, i), ==, c->value[i]);
    }
    g_assert_cmpmem(d + end, 192 - end, zero, 192 - end);
    g_assert_cmphex(pma_get(t, c->attribute, 1, d), ==, 0);
    g_assert_cmpmem(d + 4, 188, zero, 188);
    g_assert_cmphex(pma_get(t, c->attribute, 4, d), ==, 0x1c);
    g_assert_cmphex(pma_get(t, c->attribute, 255, d), ==, 0);
    g_assert_cmpuint(detail(c, d, 2), ==, c->value[2]);

    /* Only what is selected is cleared. */
    g_assert_cmphex(pma_clear(t, c->attribute, 2, 1 << 2, 0), ==, 0);
    g_assert_cmphex(pma_get(t, c->attribute, 2, d), ==, 0);
    for (i = 0; i < c->count; i++) {
        g_assert_cmpuint(detail(c, d, i), ==, i == 2 ? 0 : c->value[i]);
    }
    /* It stops at all ones. */
    count(t->ends[2].link, UINT64_C(1) << 33);
    g_assert_cmphex(pma_get(t, c->attribute, 2, d), ==, 0);
    for (i = 0; i < c->count; i++) {
        g_assert_cmpuint(detail(c, d, i), ==, c->value[i] ? max : 0);
    }
    test_node_free(t);
}

/* Two bits a VL, from the most significant on */
static void test_vl_flow_update(void)
{
    TestNode *t = quiet_node(IB_NODE_TYPE_SWITCH);
    uint8_t d[192];

    count(t->ends[2].link, 1);
    g_assert_cmphex(pma_get(t, 0x1b, 2, d), ==, 0);
    g_assert_cmphex(be32(d + 4), ==, 2u << 24 | 1);
    count(t->ends[2].link, 1);
    g_assert_cmphex(pma_get(t, 0x1b, 2, d), ==, 0);
    g_assert_cmphex(be32(d + 4), ==, 3u << 24 | 2);
    g_assert_cmphex(pma_clear(t, 0x1b, 2, 1 << 15, 0), ==, 0);
    g_assert_cmphex(pma_get(t, 0x1b, 2, d), ==, 0);
    g_assert_cmphex(be32(d + 4), ==, 3u << 24);
    test_node_free(t);
}

/*
 * PortOpRcvCounters, PortVLOpPackets, PortVLOpData: of the OpCode of the last
 * Set; data in units of 1024 bytes
 */
static void test_op_code(void)
{
    TestNode *t = quiet_node(IB_NODE_TYPE_SWITCH);
    uint8_t packet[1088 + 28] = { 0x10, 0x02, 0, 1, 1, 0x17, 0, 2, 0x64 };
    IbPacket p = { .data = packet, .len = sizeof(packet) };
    uint8_t d[192] = { 0x64, 2 }, state;
    unsigned i;

    for (state = IB_PORT_ARMED; state <= IB_PORT_ACTIVE; state++) {
        g_assert_true(ib_link_set_state(t->ends[2].link, state));
        g_assert_true(ib_link_set_state(t->peers[2].link, state));
    }
    for (i = 0; i < 6; i++) {
        if (i == 1) {                   /* the first was not counted */
            g_assert_cmphex(pma(t, 2, 0x17, d), ==, 0);
            g_assert_cmphex(d[0], ==, 0x64);
        }
        packet[8] = i == 4 ? 0x04 : 0x64;           /* UD or RC SEND only */
        g_assert_cmpint(ib_link_transmit(t->peers[2].link, &p, 1), ==,
                        IB_TX_SENT);
        ib_link_flush(t->peers[2].link);
        test_run(t, 1);
    }
    g_assert_cmphex(pma_get(t, 0x17, 2, d), ==, 0);
    g_assert_cmphex(d[0], ==, 0x64);
    g_assert_cmpuint(be32(d + 4), ==, 4);
    g_assert_cmpuint(be32(d + 8), ==, 4 * 1116 / 1024);
    g_assert_cmphex(pma_get(t, 0x19, 2, d), ==, 0);
    g_assert_cmphex(d[0], ==, 0x64);
    g_assert_cmpuint(be16(d + 4), ==, 0);
    g_assert_cmpuint(be16(d + 6), ==, 4);           /* VL 1 */
    g_assert_cmphex(pma_get(t, 0x1a, 2, d), ==, 0);
    g_assert_cmpuint(be32(d + 8), ==, 4 * 1116 / 1024);
    g_assert_cmpuint(be32(d + 4), ==, 0);

    /* Clearing one attribute leaves the others, ... */
    g_assert_cmphex(pma_get(t, 0x19, 2, d), ==, 0);
    d[2] = d[3] = 0xff;
    memset(d + 4, 0, 188);
    g_assert_cmphex(pma(t, 2, 0x19, d), ==, 0);
    g_assert_cmpuint(be16(d + 6), ==, 0);
    g_assert_cmphex(pma_get(t, 0x17, 2, d), ==, 0);
    g_assert_cmpuint(be32(d + 4), ==, 4);
    /* ... another OpCode none. */
    memset(d, 0, 192);
    d[0] = 0x04;
    d[1] = 2;
    g_assert_cmphex(pma(t, 2, 0x1a, d), ==, 0);
    g_assert_cmphex(pma_get(t, 0x17, 2, d), ==, 0);
    g_assert_cmphex(d[0], ==, 0x04);
    g_assert_cmpuint(be32(d + 4), ==, 0);
    g_assert_cmphex(pma_get(t, 0x17, 1, d), ==, 0);
    g_assert_cmphex(d[0], ==, 0);
    test_node_free(t);
}

static void test_all_ports(void)
{
    TestNode *t = quiet_node(IB_NODE_TYPE_SWITCH);
    uint8_t d[192];

    count(t->ends[1].link, 1);
    count(t->ends[2].link, 2);
    count(t->ends[3].link, 4);
    g_assert_cmphex(pma_get(t, PC, 255, d), ==, 0);
    g_assert_cmpuint(d[1], ==, 255);
    g_assert_cmpuint(be32(d + 24), ==, 13 * 7);
    g_assert_cmphex(d[19], ==, 0xff);           /* sums stop, too */
    g_assert_cmphex(pma_get(t, PCX, 255, d), ==, 0);
    g_assert_cmpuint(be64(d + 8), ==, 13 * 7);
    g_assert_cmphex(pma_clear(t, PC, 255, 0xffff, 1), ==, 0);
    g_assert_cmphex(pma_get(t, PC, 3, d), ==, 0);
    g_assert_cmpuint(be32(d + 24), ==, 0);
    test_node_free(t);
}

static void test_port_select(void)
{
    TestNode *ca = quiet_node(IB_NODE_TYPE_CA);
    TestNode *sw = quiet_node(IB_NODE_TYPE_SWITCH);
    static const uint16_t attributes[] = { PC, PCX, 0x10, 0x1c };
    uint8_t d[192];
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(attributes); i++) {
        g_assert_cmphex(pma_get(ca, attributes[i], 0, d), ==, 0x1c);
        g_assert_cmphex(pma_get(ca, attributes[i], 3, d), ==, 0x1c);
        g_assert_cmphex(pma_get(ca, attributes[i], 2, d), ==, 0);
        g_assert_cmphex(pma_get(sw, attributes[i], 4, d), ==, 0x1c);
        g_assert_cmphex(pma_get(sw, attributes[i], 254, d), ==, 0x1c);
        g_assert_cmphex(pma_get(sw, attributes[i], 0, d), ==, 0);
    }
    g_assert_cmphex(pma_clear(ca, PC, 0, 0xffff, 0), ==, 0x1c);

    /* Port 0 shows what the switch counts there. */
    ib_node_counters(sw->node, 0)->xmit_pkts += 5;
    g_assert_cmphex(pma_get(sw, PC, 0, d), ==, 0);
    g_assert_cmpuint(be32(d + 32), ==, 5);
    g_assert_true(ib_node_counters(sw->node, 2) ==
                  ib_link_counters(sw->ends[2].link));
    test_node_free(ca);
    test_node_free(sw);
}

/* PortExtendedSpeedsCounters: CounterSelect has 64 bits, at byte 8. */
static void test_extended_speeds(void)
{
    TestNode *t = quiet_node(IB_NODE_TYPE_SWITCH);
    uint8_t d[192];

    count(t->ends[2].link, 1);
    g_assert_cmphex(pma_get(t, 0x1f, 2, d), ==, 0);
    g_assert_cmpuint(d[1], ==, 2);
    g_assert_cmpuint(be16(d + 16), ==, 39);
    g_assert_cmpuint(be16(d + 18), ==, 40);
    g_assert_cmpuint(be16(d + 20), ==, 41);
    g_assert_cmpuint(be16(d + 22), ==, 0);
    g_assert_cmpuint(be16(d + 42), ==, 42);
    g_assert_cmpuint(be32(d + 44), ==, 0);      /* FEC */

    /* Lane 0 only; then a value for lane 11 */
    memset(d, 0, sizeof(d));
    d[1] = 2;
    d[15] = 1 << 2;
    g_assert_cmphex(pma(t, 2, 0x1f, d), ==, 0);
    g_assert_cmpuint(d[15], ==, 1 << 2);
    g_assert_cmpuint(be16(d + 16), ==, 39);
    g_assert_cmpuint(be16(d + 20), ==, 0);
    d[14] = 1 << (13 - 8);
    d[15] = 0;
    d[43] = 7;
    g_assert_cmphex(pma(t, 2, 0x1f, d), ==, 0);
    count(t->ends[2].link, 1);
    g_assert_cmphex(pma_get(t, 0x1f, 2, d), ==, 0);
    g_assert_cmpuint(be16(d + 16), ==, 78);
    g_assert_cmpuint(be16(d + 20), ==, 41);
    g_assert_cmpuint(be16(d + 42), ==, 49);
    count(t->ends[2].link, 10000);
    g_assert_cmphex(pma_get(t, 0x1f, 2, d), ==, 0);
    g_assert_cmphex(be16(d + 16), ==, 0xffff);
    test_node_free(t);
}

static void test_status(void)
{
    TestNode *t = quiet_node(IB_NODE_TYPE_CA);
    uint8_t in[256], out[256], d[192] = { 0, 1 };

    static const uint16_t absent[] = {
        0x13, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35,
    };
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(absent); i++) {
        g_assert_cmphex(pma(t, 1, absent[i], d), ==, 0x0c);
    }
    g_assert_cmphex(pma(t, 2, 0x11, d), ==, 0x0c);      /* read-only */
    g_assert_cmphex(pma(t, 0x12, PC, d), ==, 0x08);
    g_assert_cmphex(pma(t, 0x81, PC, d), ==, NO_REPLY);
    g_assert_cmphex(pma(t, 0x05, 2, d), ==, NO_REPLY);
    test_smp_init(t, in, 0x04, 1, PC, 0, 0);
    in[2] = 2;
    g_assert_cmphex(test_mad(t, 1, in, out), ==, 0x04);
    test_node_free(t);
}

/* Power-on: the link's past does not show. */
static void test_reset(void)
{
    TestNode *t = quiet_node(IB_NODE_TYPE_CA);
    uint8_t d[192];

    count(t->ends[1].link, 3);
    ib_node_reset(t->node);
    g_assert_cmphex(pma_get(t, PC, 1, d), ==, 0);
    g_assert_cmpuint(be32(d + 24), ==, 0);
    g_assert_cmphex(pma_get(t, PCX, 1, d), ==, 0);
    g_assert_cmpuint(be64(d + 8), ==, 0);
    count(t->ends[1].link, 1);
    g_assert_cmphex(pma_get(t, PCX, 1, d), ==, 0);
    g_assert_cmpuint(be64(d + 8), ==, 13);
    test_node_free(t);
}

/* SampleStart 1000 and SampleInterval 5000 ticks of 1 us */
static void test_samples(void)
{
    TestNode *t = quiet_node(IB_NODE_TYPE_SWITCH);
    uint8_t set[192] = { 0, 2 }, d[192];

    g_assert_cmphex(pma_get(t, 0x10, 2, d), ==, 0);
    g_assert_cmphex(d[2], ==, 0xfa);            /* Tick: 250 * 4 ns */
    g_assert_cmphex(d[3], ==, 4);               /* CounterWidth: 32 bits */
    g_assert_cmphex(be32(d + 4), ==, 0x09249249);
    g_assert_cmphex(be16(d + 8), ==, 0x1249);
    g_assert_cmphex(d[11], ==, 0);              /* SampleStatus: done */

    set[30] = 1000 >> 8;
    set[31] = 1000 & 0xff;
    set[34] = 5000 >> 8;
    set[35] = 5000 & 0xff;
    set[36] = 0xab;                             /* Tag */
    set[37] = 0xcd;
    set[39] = 4;                                /* PortRcvPkts */
    set[41] = 1;                                /* PortXmitData */
    memcpy(d, set, 192);
    g_assert_cmphex(pma(t, 2, 0x10, d), ==, 0);
    g_assert_cmphex(d[11], ==, 1);              /* started */
    g_assert_cmphex(be16(d + 36), ==, 0xabcd);

    count(t->ends[2].link, 1);
    test_run(t, MS);
    count(t->ends[2].link, 10);
    g_assert_cmphex(pma_get(t, 0x11, 0, d), ==, 0);
    g_assert_cmphex(be16(d), ==, 0xabcd);
    g_assert_cmphex(be16(d + 2), ==, 2);        /* running */
    g_assert_cmphex(be32(d + 4), ==, 0);

    /* It is not disturbed by another Set. */
    memcpy(d, set, 192);
    d[36] = 0;
    g_assert_cmphex(pma(t, 2, 0x10, d), ==, 0);
    g_assert_cmphex(d[11], ==, 2);
    g_assert_cmphex(be16(d + 36), ==, 0xabcd);

    test_run(t, 5 * MS);
    count(t->ends[2].link, 100);
    g_assert_cmphex(pma_get(t, 0x11, 0, d), ==, 0);
    g_assert_cmphex(be16(d + 2), ==, 0);
    g_assert_cmpuint(be32(d + 4), ==, 400);
    g_assert_cmpuint(be32(d + 8), ==, 130);
    g_assert_cmpuint(be32(d + 12), ==, 0);
    g_assert_cmphex(pma_get(t, 0x1e, 0, d), ==, 0);
    g_assert_cmphex(be16(d), ==, 0xabcd);
    g_assert_cmpuint(be64(d + 8), ==, 400);
    test_node_free(t);
}

int main(int argc, char **argv)
{
    unsigned i;

    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/agent/pma/class-port-info", test_class_port_info);
    g_test_add_func("/agent/pma/port-counters", test_port_counters);
    g_test_add_func("/agent/pma/saturation", test_saturation);
    g_test_add_func("/agent/pma/counter-select", test_counter_select);
    g_test_add_func("/agent/pma/set-value", test_set_value);
    g_test_add_func("/agent/pma/extended", test_extended);
    g_test_add_func("/agent/pma/vl-xmit-wait", test_vl_xmit_wait);
    for (i = 0; i < G_N_ELEMENTS(details); i++) {
        g_autofree char *path = g_strdup_printf("/agent/pma/%s",
                                                details[i].name);

        g_test_add_data_func(path, &details[i], test_detail);
    }
    g_test_add_func("/agent/pma/vl-flow-update", test_vl_flow_update);
    g_test_add_func("/agent/pma/op-code", test_op_code);
    g_test_add_func("/agent/pma/all-ports", test_all_ports);
    g_test_add_func("/agent/pma/port-select", test_port_select);
    g_test_add_func("/agent/pma/extended-speeds", test_extended_speeds);
    g_test_add_func("/agent/pma/status", test_status);
    g_test_add_func("/agent/pma/reset", test_reset);
    g_test_add_func("/agent/pma/samples", test_samples);
    return g_test_run();
}
