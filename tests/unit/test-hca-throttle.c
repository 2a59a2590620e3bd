/*
 * What slows a QP down: static rates, and congestion control (annex A10)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Congestion is played by hand: packets that a switch would have marked, and
 * the marks that come back.
 */
#include "hca-world.h"

enum {
    QPN = 0x48, PEER = 0x40, QKEY = 0x1234, PSN = 100,
    CC_LOG = 0x13, CC_CA = 0x16, CC_TABLE = 0x17,
};

typedef struct Rig {
    World *world;
    TestHca *far, *hca;
    TestQp *qp, *peer;
    TestKey *mem;
    GPtrArray *sent;              /* GBytes: what the adapter sent */
    int64_t last;                 /* when it sent the last data packet */
    unsigned packets;             /* data packets that it sent */
} Rig;

static Rig *current;

static void keep(TestPort *port, const uint8_t *packet, size_t len)
{
    if (len > 200) {
        current->last = current->world->now;
        current->packets++;
    }
    g_ptr_array_add(current->sent, g_bytes_new(packet, len));
}

static void rig_init(Rig *r, IbQpType type, uint8_t static_rate)
{
    unsigned i;

    r->world = world_pair(NULL);
    r->far = r->world->hca[0];
    r->hca = r->world->hca[1];
    r->packets = r->last = 0;
    r->mem = hca_memory(r->hca, 4 << 20, IB_ACCESS_LOCAL_WRITE);
    r->qp = hca_qp(r->hca, QPN);
    r->peer = hca_qp(r->far, PEER);
    for (i = 0; i < 2; i++) {
        TestQp *qp = i ? r->peer : r->qp;

        qp->attr = (IbQpAttr) {
            .type = type, .port = 1, .path_mtu = IB_MTU_4096, .qkey = QKEY,
            .path.dlid = i ? 2 : 1, .path.sl = 3,
            .path.static_rate = static_rate,
            .dest_qpn = i ? QPN : PEER, .sq_psn = PSN, .rq_psn = PSN,
            .retry_count = 7, .rnr_retry = 7, .min_rnr_timer = 12,
            .ack_timeout = 20, .max_rd_atomic = 4, .max_dest_rd_atomic = 4,
            .access = IB_ACCESS_REMOTE_WRITE,
        };
        hca_qp_to(qp, IB_QPS_RTS);
    }
    r->sent = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    current = r;
    r->hca->port[1].on_tx = keep;
}

static void rig_clear(Rig *r)
{
    r->hca->port[1].on_tx = NULL;
    g_ptr_array_unref(r->sent);
    world_free(r->world);
}

static uint16_t cc(Rig *r, uint8_t method, uint16_t attribute,
                   uint32_t modifier, uint8_t mad[256])
{
    uint8_t in[256] = { 1, 0x21, 2, method }, out[256];

    ib_put_be16(in + 16, attribute);
    ib_put_be32(in + 20, modifier);
    memcpy(in + 24, mad + 24, 256 - 24);
    g_assert_cmpint(ib_node_process_mad(ib_hca_node(r->hca->hca), 1, 1, 0, in,
                                        out), ==, IB_MAD_REPLY);
    memcpy(mad, out, 256);
    return ib_get_be16(out + 4);
}

/*
 * SL 3: each mark adds 4 to the index, which goes down by 1 in about a
 * millisecond; entry n is a pause of n packets.
 */
static void congestion_set(Rig *r, bool per_sl, uint8_t min)
{
    uint8_t mad[256] = { 0 };
    unsigned i;

    ib_put_be16(mad + 64, 31);              /* CCTI_Limit */
    for (i = 0; i < 64; i++) {
        ib_put_be16(mad + 68 + 2 * i, 1 << 14 | 2 * i);     /* 2 n / 2 */
    }
    g_assert_cmphex(cc(r, 2, CC_TABLE, 0, mad), ==, 0);
    memset(mad, 0, sizeof(mad));
    ib_put_be16(mad + 64, per_sl);
    ib_put_be16(mad + 66, 1 << 3);
    ib_put_be16(mad + 68 + 3 * 8, 1000);    /* of 1.024 us */
    mad[70 + 3 * 8] = 4;                    /* increase */
    mad[71 + 3 * 8] = 8;                    /* trigger */
    mad[72 + 3 * 8] = min;
    g_assert_cmphex(cc(r, 2, CC_CA, 0, mad), ==, 0);
}

/* Send @bytes, and wait until nothing is on its way any more. */
static int64_t send_bytes(Rig *r, uint32_t bytes)
{
    IbSendWr *wr = qp_add_send(r->qp, IB_WR_RDMA_WRITE, r->mem, 0, bytes);
    TestKey *to = hca_memory(r->far, 4 << 20, IB_ACCESS_REMOTE_WRITE);
    int64_t start = r->world->now;

    wr->remote_va = to->va;
    wr->remote_key = to->key;
    wr->flags = IB_WR_SIGNALED;
    qp_ring(r->qp);
    world_run(r->world, 2000 * WORLD_MS);
    g_assert_cmphex(qp_take_wc(r->qp).status, ==, IB_WC_SUCCESS);
    return r->last - start;
}

/* 2.5 Gb/s carry 250 MB of packets a second, a millisecond's at once. */
static void test_static_rate(void)
{
    Rig r;
    int64_t ns;

    rig_init(&r, IB_QPT_RC, 2);
    ns = send_bytes(&r, 4 << 20);
    g_assert_cmpuint(r.packets, ==, 1024);
    g_assert_cmpint(ns, >=, (4000000 / 250 - 1100) * INT64_C(1000));
    g_assert_cmpint(ns, <=, (4400000 / 250) * INT64_C(1000));
    rig_clear(&r);

    /* As fast as the port, or faster: no limit at all. */
    rig_init(&r, IB_QPT_RC, 10);
    g_assert_cmpint(send_bytes(&r, 4 << 20), <, 2 * WORLD_MS);
    rig_clear(&r);
}

/* That of each datagram's own address. */
static void test_static_rate_datagrams(void)
{
    Rig r;
    unsigned i;
    int64_t start;

    rig_init(&r, IB_QPT_UD, 0);
    start = r.world->now;
    for (i = 0; i < 60; i++) {
        IbSendWr *wr = qp_add_send(r.qp, IB_WR_SEND, r.mem, 0, 4096);

        wr->address.dlid = 1;
        wr->address.static_rate = i < 30 ? 0 : 2;
        wr->dest_qpn = PEER;
        wr->qkey = QKEY;
    }
    qp_ring(r.qp);
    world_run(r.world, WORLD_MS / 2);
    /* All those without, and a burst of the others: 63 are a millisecond. */
    g_assert_cmpuint(r.packets, ==, 60);
    for (i = 0; i < 120; i++) {
        IbSendWr *wr = qp_add_send(r.qp, IB_WR_SEND, r.mem, 0, 4096);

        wr->address.dlid = 1;
        wr->address.static_rate = 2;
        wr->dest_qpn = PEER;
        wr->qkey = QKEY;
    }
    qp_ring(r.qp);
    world_run(r.world, 100 * WORLD_MS);
    g_assert_cmpuint(r.packets, ==, 180);
    g_assert_cmpint(r.last - start, >=, (150 - 65) * 4096 * INT64_C(4));
    rig_clear(&r);
}

/* A packet to the adapter with marks. */
static void give(Rig *r, uint8_t opcode, uint32_t psn, bool ack, bool fecn,
                 bool becn)
{
    IbPacketRoute route = { .dlid = 2, .slid = 1, .sl = 3 };
    IbPacketBth bth = { .opcode = opcode, .a = ack, .fecn = fecn,
                        .becn = becn, .pkey = 0xffff, .dest_qpn = QPN,
                        .psn = psn };
    uint16_t has = ib_opcode_info[opcode].flags;
    uint8_t buf[IB_LINK_PACKET_MAX] = { 0 }, *at;
    IbPacket out = { .data = buf, .flags = IB_PACKET_NO_ICRC };

    at = buf + ib_packet_put_headers(buf, &route, &bth, 16);
    if (has & IB_HAS_DETH) {
        ib_put_be32(at, QKEY);
        ib_put_be32(at + 4, PEER);
    }
    out.len = ib_packet_seal(buf, false);
    ib_link_transmit(ib_hca_link(r->far->hca, 1), &out, 0);
    ib_link_flush(ib_hca_link(r->far->hca, 1));
    world_run(r->world, 10000);
}

static void expect_mark(Rig *r, uint8_t opcode)
{
    IbPacketInfo info;
    const uint8_t *data;
    size_t len;

    g_assert_cmpuint(r->sent->len, ==, 1);
    data = g_bytes_get_data(r->sent->pdata[0], &len);
    g_assert_cmpint(ib_packet_parse(data, len, &info), ==, IB_PACKET_OK);
    g_assert_cmphex(info.opcode, ==, opcode);
    g_assert_cmpuint(ib_field_get(data + info.bth, IB_BTH_BECN), ==, 1);
    g_assert_cmpuint(ib_field_get(data + info.bth, IB_BTH_FECN), ==, 0);
    g_assert_cmphex(ib_field_get(data + info.bth, IB_BTH_DQPN), ==, PEER);
    g_assert_cmphex(ib_field_get(data + info.bth, IB_BTH_PKEY), ==, 0xffff);
    g_assert_cmphex(ib_lrh_dlid(data), ==, 1);
    g_assert_cmphex(ib_lrh_slid(data), ==, 2);
    g_assert_cmphex(ib_lrh_sl(data), ==, 3);
    if (opcode == IB_OP_CNP) {
        g_assert_cmpuint(info.payload_len, ==, 16);
    }
    g_ptr_array_set_size(r->sent, 0);
}

/* In the acknowledgement, or in a packet of its own. */
static void test_fecn(void)
{
    Rig r;

    rig_init(&r, IB_QPT_RC, 0);
    qp_post_recv(r.qp, r.mem, 0, 4096);
    qp_post_recv(r.qp, r.mem, 0, 4096);
    give(&r, IB_OP_RC_SEND_ONLY, PSN, true, true, false);
    expect_mark(&r, IB_OP_RC_ACK);
    give(&r, IB_OP_RC_SEND_ONLY, PSN + 1, false, true, false);
    expect_mark(&r, IB_OP_CNP);
    rig_clear(&r);

    rig_init(&r, IB_QPT_UC, 0);
    qp_post_recv(r.qp, r.mem, 0, 4096);
    give(&r, IB_OP_UC_SEND_ONLY, PSN, false, true, false);
    expect_mark(&r, IB_OP_CNP);
    g_assert_cmpuint(qp_num_wc(r.qp), ==, 1);
    rig_clear(&r);

    rig_init(&r, IB_QPT_UD, 0);
    give(&r, IB_OP_UD_SEND_ONLY, 0, false, true, false);
    expect_mark(&r, IB_OP_CNP);
    /* A notification is no message, and is not answered. */
    give(&r, IB_OP_CNP, 0, false, true, true);
    g_assert_cmpuint(r.sent->len, ==, 0);
    g_assert_cmpuint(qp_num_wc(r.qp), ==, 0);
    rig_clear(&r);
}

/* 4 GB/s, and a megabyte of full packets: with CCTI n it takes n + 1 times. */
static void check_slower(Rig *r, unsigned ccti)
{
    int64_t ns = send_bytes(r, 4 << 20), once = (4 << 20) / 4;

    if (!ccti) {
        g_assert_cmpint(ns, <, 2 * WORLD_MS);
        return;
    }
    /* The index goes down meanwhile, one a millisecond. */
    g_assert_cmpint(ns, <=, (ccti + 1) * once * 11 / 10);
    g_assert_cmpint(ns, >=, (ccti + 1) * once / 2 - 2 * WORLD_MS);
}

static void test_becn(void)
{
    uint8_t mad[256] = { 0 };
    Rig r;

    rig_init(&r, IB_QPT_RC, 0);
    /* Marks without a manager's settings mean nothing. */
    give(&r, IB_OP_CNP, 0, false, false, true);
    check_slower(&r, 0);
    congestion_set(&r, false, 0);
    check_slower(&r, 0);
    give(&r, IB_OP_CNP, 0, false, false, true);
    give(&r, IB_OP_CNP, 0, false, false, true);
    g_assert_cmphex(cc(&r, 1, CC_LOG, 0, mad), ==, 0);
    g_assert_cmpuint(mad[32], ==, 2);                   /* of a CA */
    g_assert_cmpuint(ib_get_be16(mad + 32 + 2), ==, 1); /* one event */
    g_assert_cmphex(ib_get_be16(mad + 32 + 4), ==, 1 << 3);
    g_assert_cmphex(ib_get_be32(mad + 32 + 12) >> 8, ==, QPN);
    g_assert_cmphex(mad[32 + 12 + 3] >> 4, ==, 3);
    g_assert_cmphex(ib_get_be32(mad + 32 + 16) >> 8, ==, PEER);
    g_assert_cmphex(ib_get_be16(mad + 32 + 22), ==, 1);
    check_slower(&r, 8);
    /* Two seconds have passed. */
    check_slower(&r, 0);
    rig_clear(&r);
}

/* The index ends at CCTI_Limit, and stays at CCTI_Min. */
static void test_limits(void)
{
    unsigned i;
    int64_t ns;
    Rig r;

    rig_init(&r, IB_QPT_RC, 0);
    congestion_set(&r, false, 5);
    for (i = 0; i < 3; i++) {
        ns = send_bytes(&r, 4 << 20);
        g_assert_cmpint(ns, >=, 6 * (4 << 20) / 4 - 2 * WORLD_MS);
        g_assert_cmpint(ns, <=, 6 * (4 << 20) / 4 * 11 / 10);
    }
    for (i = 0; i < 300; i++) {
        give(&r, IB_OP_CNP, 0, false, false, true);
    }
    g_assert_cmpint(send_bytes(&r, 4 << 20), <=, 32 * (4 << 20) / 4 * 11 / 10);
    rig_clear(&r);
}

/* With Port_Control bit 0 a mark is for all QPs of the SL. */
static void test_per_sl(void)
{
    unsigned per_sl;

    for (per_sl = 0; per_sl < 2; per_sl++) {
        TestQp *other;
        Rig r;

        rig_init(&r, IB_QPT_RC, 0);
        congestion_set(&r, per_sl, 0);
        other = hca_qp(r.hca, QPN + 1);
        other->attr = r.qp->attr;
        other->attr.type = IB_QPT_UC;
        hca_qp_to(other, IB_QPS_RTS);
        give(&r, IB_OP_CNP, 0, false, false, true);
        g_assert_true(ib_hca_find_qp(r.hca->hca, QPN + 1) == other->qp);
        qp_add_send(other, IB_WR_SEND, r.mem, 0, 4 << 20);
        r.packets = 0;
        qp_ring(other);
        world_run(r.world, 2 * WORLD_MS);
        if (per_sl) {
            g_assert_cmpuint(r.packets, <, 700);
        } else {
            g_assert_cmpuint(r.packets, ==, 1024);
        }
        world_run(r.world, 100 * WORLD_MS);
        g_assert_cmpuint(r.packets, ==, 1024);
        rig_clear(&r);
    }
}

/* A QP that waits for its time may go away, be flushed, or be saved. */
static void test_ends(void)
{
    unsigned how;

    for (how = 0; how < 3; how++) {
        GByteArray *bytes;
        Rig r;

        rig_init(&r, IB_QPT_UC, 2);
        qp_add_send(r.qp, IB_WR_RDMA_WRITE, r.mem, 0, 4 << 20);
        qp_ring(r.qp);
        world_run(r.world, WORLD_MS / 10);
        switch (how) {
        case 0:
            g_assert_true(ib_qp_modify(r.qp->qp, IB_QPS_RESET, NULL));
            break;
        case 1:
            g_assert_true(ib_qp_modify(r.qp->qp, IB_QPS_ERR, NULL));
            world_run(r.world, WORLD_MS);
            g_assert_cmphex(qp_take_wc(r.qp).status, ==, IB_WC_WR_FLUSH_ERR);
            break;
        default:
            bytes = g_byte_array_new();
            ib_hca_save(r.hca->hca, bytes);
            world_replace(r.hca);
            g_assert_true(ib_hca_load(r.hca->hca, bytes->data, bytes->len));
            g_byte_array_unref(bytes);
            break;
        }
        world_run(r.world, 100 * WORLD_MS);
        rig_clear(&r);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/hca/throttle/static-rate", test_static_rate);
    g_test_add_func("/hca/throttle/static-rate-datagrams",
                    test_static_rate_datagrams);
    g_test_add_func("/hca/throttle/fecn", test_fecn);
    g_test_add_func("/hca/throttle/becn", test_becn);
    g_test_add_func("/hca/throttle/limits", test_limits);
    g_test_add_func("/hca/throttle/per-sl", test_per_sl);
    g_test_add_func("/hca/throttle/ends", test_ends);
    return g_test_run();
}
