/*
 * A reliable connection whose peer is this test: each packet by hand
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hca-world.h"

#define PSN   100                 /* the first each way */
#define MTU   256

typedef struct Peer {
    World *world;
    TestHca *far, *hca;           /* the test's cable end, the adapter */
    TestQp *qp;
    TestKey *mem;
    GPtrArray *sent;              /* GBytes: what the adapter sent */
} Peer;

typedef struct Packet {
    uint8_t opcode;
    uint32_t psn;
    bool ack_req;
    uint32_t len;                 /* of payload */
    uint64_t va;                  /* RETH, AtomicETH */
    uint32_t dma_len;
    uint8_t syndrome;             /* AETH */
} Packet;

static Peer *current;

static void keep(TestPort *port, const uint8_t *packet, size_t len)
{
    g_ptr_array_add(current->sent, g_bytes_new(packet, len));
}

static void peer_init(Peer *p)
{
    p->world = world_pair(NULL);
    p->far = p->world->hca[0];
    p->hca = p->world->hca[1];
    p->qp = hca_qp(p->hca, 0x48);
    p->mem = hca_memory(p->hca, 2 << 20, IB_ACCESS_LOCAL_WRITE |
                        IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
                        IB_ACCESS_REMOTE_ATOMIC);
    fill_random(p->world, p->mem->mem, p->mem->len);
    p->qp->attr = (IbQpAttr) {
        .type = IB_QPT_RC, .port = 1, .path_mtu = IB_MTU_256,
        .path.dlid = 1, .dest_qpn = 0x40, .sq_psn = PSN, .rq_psn = PSN,
        .retry_count = 7, .rnr_retry = 7, .min_rnr_timer = 12,
        .ack_timeout = 14, .max_rd_atomic = 4, .max_dest_rd_atomic = 2,
        .access = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
                  IB_ACCESS_REMOTE_ATOMIC,
    };
    hca_qp_to(p->qp, IB_QPS_RTS);
    p->sent = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    current = p;
    p->hca->port[1].on_tx = keep;
}

static void peer_clear(Peer *p)
{
    p->hca->port[1].on_tx = NULL;
    g_ptr_array_unref(p->sent);
    world_free(p->world);
}

static void give(Peer *p, const Packet *packet)
{
    IbPacketRoute route = { .dlid = 2, .slid = 1 };
    IbPacketBth bth = { .opcode = packet->opcode, .a = packet->ack_req,
                        .pkey = 0xffff, .dest_qpn = 0x48,
                        .psn = packet->psn };
    uint16_t has = ib_opcode_info[packet->opcode].flags;
    uint8_t buf[IB_LINK_PACKET_MAX] = { 0 }, *at;
    IbPacket out = { .data = buf, .flags = IB_PACKET_NO_ICRC };

    at = buf + ib_packet_put_headers(buf, &route, &bth, packet->len);
    if (has & IB_HAS_RETH) {
        ib_put_be64(at, packet->va);
        ib_put_be32(at + 8, p->mem->key);
        ib_put_be32(at + 12, packet->dma_len);
        at += IB_RETH_BYTES;
    }
    if (has & IB_HAS_ATOMICETH) {
        ib_put_be64(at, packet->va);
        ib_put_be32(at + 8, p->mem->key);
        ib_put_be64(at + 12, 1);
        at += IB_ATOMICETH_BYTES;
    }
    if (has & IB_HAS_AETH) {
        *at = packet->syndrome;
        at += IB_AETH_BYTES;
    }
    memset(at, 0xab, packet->len);
    out.len = ib_packet_seal(buf, false);
    ib_link_transmit(ib_hca_link(p->far->hca, 1), &out, 0);
    ib_link_flush(ib_hca_link(p->far->hca, 1));
    world_run(p->world, 10000);
}

/* The next that the adapter sent: opcode, PSN, syndrome where there is one. */
static void expect(Peer *p, uint8_t opcode, uint32_t psn, int syndrome)
{
    IbPacketInfo info;
    const uint8_t *data;
    size_t len;

    g_assert_cmpuint(p->sent->len, >, 0);
    data = g_bytes_get_data(p->sent->pdata[0], &len);
    g_assert_cmpint(ib_packet_parse(data, len, &info), ==, IB_PACKET_OK);
    g_assert_cmphex(info.opcode, ==, opcode);
    g_assert_cmpuint(ib_field_get(data + info.bth, IB_BTH_PSN), ==, psn);
    if (info.aeth && syndrome >= 0) {
        g_assert_cmphex(data[info.aeth], ==, syndrome);
    }
    g_ptr_array_remove_index(p->sent, 0);
}

static void expect_nothing(Peer *p)
{
    g_assert_cmpuint(p->sent->len, ==, 0);
}

/* A request that ends the connection: NAK and event. */
static void expect_end(Peer *p, uint32_t psn, uint8_t nak, IbHcaEvent event)
{
    expect(p, IB_OP_RC_ACK, psn, 0x60 | nak);
    expect_nothing(p);
    g_assert_cmpint(ib_qp_state(p->qp->qp), ==, IB_QPS_ERR);
    g_assert_true(qp_had_event(p->qp, event));
    peer_clear(p);
}

/* Requests that do not follow, or do not say what they bring. */
static void test_invalid(void)
{
    Peer p;
    uint64_t va;

    /* A write of 300 that ends after 256 + 20. */
    peer_init(&p);
    va = p.mem->va;
    give(&p, &(Packet) { IB_OP_RC_RDMA_WRITE_FIRST, PSN, 0, 256, va, 300 });
    give(&p, &(Packet) { IB_OP_RC_RDMA_WRITE_LAST, PSN + 1, 1, 20 });
    expect_end(&p, PSN + 1, IB_NAK_INVALID_REQUEST, IB_EVENT_QP_REQ_ERR);
    /* ... that goes on beyond it. */
    peer_init(&p);
    give(&p, &(Packet) { IB_OP_RC_RDMA_WRITE_FIRST, PSN, 0, 256, va, 300 });
    give(&p, &(Packet) { IB_OP_RC_RDMA_WRITE_MIDDLE, PSN + 1, 1, 256 });
    expect_end(&p, PSN + 1, IB_NAK_INVALID_REQUEST, IB_EVENT_QP_REQ_ERR);
    /* A read in the middle of it. */
    peer_init(&p);
    give(&p, &(Packet) { IB_OP_RC_RDMA_WRITE_FIRST, PSN, 0, 256, va, 300 });
    give(&p, &(Packet) { IB_OP_RC_RDMA_READ_REQUEST, PSN + 1, 1, 0, va, 8 });
    expect_end(&p, PSN + 1, IB_NAK_INVALID_REQUEST, IB_EVENT_QP_REQ_ERR);
    /* A send that goes on as a write; a middle without a first. */
    peer_init(&p);
    qp_post_recv(p.qp, p.mem, 0, 4096);
    give(&p, &(Packet) { IB_OP_RC_SEND_FIRST, PSN, 0, 256 });
    give(&p, &(Packet) { IB_OP_RC_RDMA_WRITE_LAST, PSN + 1, 1, 20 });
    expect_end(&p, PSN + 1, IB_NAK_INVALID_REQUEST, IB_EVENT_QP_REQ_ERR);
    peer_init(&p);
    give(&p, &(Packet) { IB_OP_RC_SEND_MIDDLE, PSN, 0, 256 });
    expect_end(&p, PSN, IB_NAK_INVALID_REQUEST, IB_EVENT_QP_REQ_ERR);
    /* A middle that is not the MTU, a last that is over it, or empty. */
    peer_init(&p);
    qp_post_recv(p.qp, p.mem, 0, 4096);
    give(&p, &(Packet) { IB_OP_RC_SEND_FIRST, PSN, 0, 252 });
    expect_end(&p, PSN, IB_NAK_INVALID_REQUEST, IB_EVENT_QP_REQ_ERR);
    peer_init(&p);
    qp_post_recv(p.qp, p.mem, 0, 4096);
    give(&p, &(Packet) { IB_OP_RC_SEND_ONLY, PSN, 0, 260 });
    expect_end(&p, PSN, IB_NAK_INVALID_REQUEST, IB_EVENT_QP_REQ_ERR);
    peer_init(&p);
    qp_post_recv(p.qp, p.mem, 0, 4096);
    give(&p, &(Packet) { IB_OP_RC_SEND_FIRST, PSN, 0, 256 });
    give(&p, &(Packet) { IB_OP_RC_SEND_LAST, PSN + 1, 0, 0 });
    expect_end(&p, PSN + 1, IB_NAK_INVALID_REQUEST, IB_EVENT_QP_REQ_ERR);
    /* An atomic not on a multiple of 8; more than 2 GiB. */
    peer_init(&p);
    give(&p, &(Packet) { IB_OP_RC_FETCH_ADD, PSN, 1, 0, va + 4 });
    expect_end(&p, PSN, IB_NAK_INVALID_REQUEST, IB_EVENT_QP_REQ_ERR);
    peer_init(&p);
    give(&p, &(Packet) { IB_OP_RC_RDMA_READ_REQUEST, PSN, 1, 0, va,
                         0x80000001 });
    expect_end(&p, PSN, IB_NAK_INVALID_REQUEST, IB_EVENT_QP_REQ_ERR);
}

/* A gap: one NAK for it, however many come behind; then all goes on. */
static void test_sequence(void)
{
    Peer p;
    uint64_t va;

    peer_init(&p);
    va = p.mem->va;
    give(&p, &(Packet) { IB_OP_RC_RDMA_WRITE_ONLY, PSN + 1, 1, 8, va, 8 });
    expect(&p, IB_OP_RC_ACK, PSN, 0x60);
    give(&p, &(Packet) { IB_OP_RC_RDMA_WRITE_ONLY, PSN + 2, 1, 8, va, 8 });
    expect_nothing(&p);
    give(&p, &(Packet) { IB_OP_RC_RDMA_WRITE_ONLY, PSN, 1, 8, va, 8 });
    expect(&p, IB_OP_RC_ACK, PSN, 0x1f);
    give(&p, &(Packet) { IB_OP_RC_RDMA_WRITE_ONLY, PSN + 2, 1, 8, va, 8 });
    expect(&p, IB_OP_RC_ACK, PSN + 1, 0x60);
    /* Without a request for it there is no ACK. */
    give(&p, &(Packet) { IB_OP_RC_RDMA_WRITE_ONLY, PSN + 1, 0, 8, va, 8 });
    expect_nothing(&p);
    peer_clear(&p);
}

/* Requests once more: answered, not executed. */
static void test_duplicates(void)
{
    Peer p;
    uint64_t va, v;

    peer_init(&p);
    va = p.mem->va;
    qp_post_recv(p.qp, p.mem, 4096, 256);
    give(&p, &(Packet) { IB_OP_RC_SEND_ONLY, PSN, 1, 100 });
    expect(&p, IB_OP_RC_ACK, PSN, 0x1f);
    give(&p, &(Packet) { IB_OP_RC_SEND_ONLY, PSN, 0, 100 });
    expect_nothing(&p);
    give(&p, &(Packet) { IB_OP_RC_SEND_ONLY, PSN, 1, 100 });
    expect(&p, IB_OP_RC_ACK, PSN, 0x1f);
    g_assert_cmpuint(qp_num_wc(p.qp), ==, 1);

    /* An atomic: the value of the first time. */
    v = GUINT64_TO_LE(7);
    memcpy(p.mem->mem, &v, 8);
    give(&p, &(Packet) { IB_OP_RC_FETCH_ADD, PSN + 1, 1, 0, va });
    give(&p, &(Packet) { IB_OP_RC_FETCH_ADD, PSN + 1, 1, 0, va });
    g_assert_cmpuint(p.sent->len, ==, 2);
    g_assert_true(g_bytes_equal(p.sent->pdata[0], p.sent->pdata[1]));
    expect(&p, IB_OP_RC_ATOMIC_ACK, PSN + 1, 0x1f);
    expect(&p, IB_OP_RC_ATOMIC_ACK, PSN + 1, 0x1f);
    memcpy(&v, p.mem->mem, 8);
    g_assert_cmpuint(GUINT64_FROM_LE(v), ==, 8);

    /* Two reads; the second part of the first again: that and no more. */
    give(&p, &(Packet) { IB_OP_RC_RDMA_READ_REQUEST, PSN + 2, 1, 0, va, 600 });
    give(&p, &(Packet) { IB_OP_RC_RDMA_READ_REQUEST, PSN + 5, 1, 0, va, 10 });
    expect(&p, IB_OP_RC_RDMA_READ_RESP_FIRST, PSN + 2, 0x1f);
    expect(&p, IB_OP_RC_RDMA_READ_RESP_MIDDLE, PSN + 3, -1);
    expect(&p, IB_OP_RC_RDMA_READ_RESP_LAST, PSN + 4, 0x1f);
    expect(&p, IB_OP_RC_RDMA_READ_RESP_ONLY, PSN + 5, 0x1f);
    give(&p, &(Packet) { IB_OP_RC_RDMA_READ_REQUEST, PSN + 3, 1, 0, va + 256,
                         344 });
    expect(&p, IB_OP_RC_RDMA_READ_RESP_FIRST, PSN + 3, 0x1f);
    expect(&p, IB_OP_RC_RDMA_READ_RESP_LAST, PSN + 4, 0x1f);
    expect_nothing(&p);
    /* Not the same read: no answer. */
    give(&p, &(Packet) { IB_OP_RC_RDMA_READ_REQUEST, PSN + 3, 1, 0, va, 344 });
    expect_nothing(&p);
    /* Two are kept: the atomic is forgotten. */
    give(&p, &(Packet) { IB_OP_RC_FETCH_ADD, PSN + 1, 1, 0, va });
    expect_nothing(&p);
    memcpy(&v, p.mem->mem, 8);
    g_assert_cmpuint(GUINT64_FROM_LE(v), ==, 8);
    peer_clear(&p);
}

/* A long answer that is asked for again while it is under way. */
static void test_read_again(void)
{
    Peer p;
    uint64_t va;
    unsigned i;

    peer_init(&p);
    va = p.mem->va;
    world_stop(&p.hca->port[1], true);
    give(&p, &(Packet) { IB_OP_RC_RDMA_READ_REQUEST, PSN, 1, 0, va,
                         250000 });
    give(&p, &(Packet) { IB_OP_RC_RDMA_READ_REQUEST, PSN + 977, 1, 0, va, 8 });
    g_assert_cmpuint(p.sent->len, <, 977);
    g_ptr_array_set_size(p.sent, 0);
    give(&p, &(Packet) { IB_OP_RC_RDMA_READ_REQUEST, PSN, 1, 0, va,
                         250000 });
    world_stop(&p.hca->port[1], false);
    world_run(p.world, WORLD_MS);
    expect(&p, IB_OP_RC_RDMA_READ_RESP_FIRST, PSN, 0x1f);
    for (i = 1; i < 976; i++) {
        expect(&p, IB_OP_RC_RDMA_READ_RESP_MIDDLE, PSN + i, -1);
    }
    expect(&p, IB_OP_RC_RDMA_READ_RESP_LAST, PSN + 976, 0x1f);
    /* The other one waits until it is asked for again, too. */
    expect_nothing(&p);
    give(&p, &(Packet) { IB_OP_RC_RDMA_READ_REQUEST, PSN + 977, 1, 0, va, 8 });
    expect(&p, IB_OP_RC_RDMA_READ_RESP_ONLY, PSN + 977, 0x1f);
    peer_clear(&p);
}

static void post(Peer *p, IbWrOpcode opcode, uint32_t len)
{
    IbSendWr *wr = qp_add_send(p->qp, opcode, p->mem, 0, len);

    wr->remote_va = 0x1000;
    wr->remote_key = 1;
    qp_ring(p->qp);
    world_run(p->world, 10000);
}

/* Answers to nothing; one that is too short. */
static void test_bad_answers(void)
{
    Peer p;

    peer_init(&p);
    give(&p, &(Packet) { IB_OP_RC_ACK, PSN, .syndrome = 0x1f });
    post(&p, IB_WR_RDMA_WRITE, 8);
    give(&p, &(Packet) { IB_OP_RC_ACK, PSN + 1, .syndrome = 0x1f });
    give(&p, &(Packet) { IB_OP_RC_ACK, PSN - 1, .syndrome = 0x1f });
    give(&p, &(Packet) { IB_OP_RC_ACK, PSN, .syndrome = 0x5f });
    g_assert_cmpuint(qp_num_wc(p.qp), ==, 0);
    g_assert_cmpuint(ib_hca_discards(p.hca->hca, IB_DISCARD_PSN), ==, 3);
    give(&p, &(Packet) { IB_OP_RC_ACK, PSN, .syndrome = 0x1f });
    g_assert_cmphex(qp_take_wc(p.qp).status, ==, IB_WC_SUCCESS);
    give(&p, &(Packet) { IB_OP_RC_ACK, PSN, .syndrome = 0x61 });
    g_assert_cmpint(ib_qp_state(p.qp->qp), ==, IB_QPS_RTS);
    post(&p, IB_WR_RDMA_READ, 600);
    give(&p, &(Packet) { IB_OP_RC_RDMA_READ_RESP_FIRST, PSN + 1, .len = 256,
                         .syndrome = 0x1f });
    give(&p, &(Packet) { IB_OP_RC_RDMA_READ_RESP_LAST, PSN + 2, .len = 88,
                         .syndrome = 0x1f });
    g_assert_cmphex(qp_take_wc(p.qp).status, ==, IB_WC_BAD_RESP_ERR);
    peer_clear(&p);

    peer_init(&p);
    post(&p, IB_WR_RDMA_WRITE, 8);
    give(&p, &(Packet) { IB_OP_RC_RDMA_READ_RESP_ONLY, PSN, .len = 8,
                         .syndrome = 0x1f });
    g_assert_cmphex(qp_take_wc(p.qp).status, ==, IB_WC_BAD_RESP_ERR);
    peer_clear(&p);
}

/* A peer that says nothing: no more than a window is sent to it. */
static void test_window(void)
{
    Peer p;
    unsigned i;

    peer_init(&p);
    post(&p, IB_WR_RDMA_WRITE, 2 << 20);
    world_run(p.world, 10 * WORLD_MS);
    g_assert_cmpuint(p.sent->len, ==, 1024);
    /* The last of them asks for an ACK; that lets as many more go. */
    i = ib_get_be32((const uint8_t *)g_bytes_get_data(p.sent->pdata[1023],
                                                      NULL) + 16);
    g_assert_cmphex(i, ==, 0x80000000 | (PSN + 1023));
    give(&p, &(Packet) { IB_OP_RC_ACK, PSN + 9, .syndrome = 0x1f });
    world_run(p.world, 10 * WORLD_MS);
    g_assert_cmpuint(p.sent->len, ==, 1034);
    peer_clear(&p);
}

/* Each ACK starts the timer afresh: 67 ms after the last one. */
static void test_timer(void)
{
    Peer p;
    unsigned i;

    peer_init(&p);
    for (i = 0; i < 4; i++) {
        post(&p, IB_WR_RDMA_WRITE, 8);
    }
    for (i = 0; i < 3; i++) {
        world_run(p.world, 50 * WORLD_MS);
        give(&p, &(Packet) { IB_OP_RC_ACK, PSN + i, .syndrome = 0x1f });
        g_assert_cmpuint(p.sent->len, ==, 4);
    }
    world_run(p.world, 66 * WORLD_MS);
    g_assert_cmpuint(p.sent->len, ==, 4);
    world_run(p.world, 2 * WORLD_MS);
    g_assert_cmpuint(p.sent->len, ==, 5);
    for (i = 0; i < 4; i++) {
        expect(&p, IB_OP_RC_RDMA_WRITE_ONLY, PSN + i, -1);
    }
    expect(&p, IB_OP_RC_RDMA_WRITE_ONLY, PSN + 3, -1);
    peer_clear(&p);
}

/* A fenced local operation waits until all before it is acknowledged. */
static void test_local_fence(void)
{
    Peer p;

    peer_init(&p);
    post(&p, IB_WR_RDMA_WRITE, 8);
    qp_add_send(p.qp, IB_WR_LOCAL, NULL, 0, 0)->flags |= IB_WR_FENCE;
    post(&p, IB_WR_RDMA_WRITE, 8);
    g_assert_cmpuint(p.qp->local_ops, ==, 0);
    g_assert_cmpuint(p.sent->len, ==, 1);
    give(&p, &(Packet) { IB_OP_RC_ACK, PSN, .syndrome = 0x1f });
    g_assert_cmpuint(p.qp->local_ops, ==, 1);
    g_assert_cmpuint(p.sent->len, ==, 2);
    /* Without a fence it does not wait; a retry does not do it again. */
    qp_add_send(p.qp, IB_WR_LOCAL, NULL, 0, 0);
    post(&p, IB_WR_RDMA_WRITE, 8);
    g_assert_cmpuint(p.qp->local_ops, ==, 2);
    world_run(p.world, 70 * WORLD_MS);
    g_assert_cmpuint(p.sent->len, ==, 5);
    g_assert_cmpuint(p.qp->local_ops, ==, 2);
    give(&p, &(Packet) { IB_OP_RC_ACK, PSN + 2, .syndrome = 0x1f });
    g_assert_cmpuint(qp_num_wc(p.qp), ==, 5);
    peer_clear(&p);
}

/* Drained is: acknowledged, not just sent. */
static void test_drained(void)
{
    Peer p;

    peer_init(&p);
    post(&p, IB_WR_RDMA_WRITE, 8);
    g_assert_true(ib_qp_modify(p.qp->qp, IB_QPS_SQD, &p.qp->attr));
    world_run(p.world, WORLD_MS);
    g_assert_true(ib_qp_sq_draining(p.qp->qp));
    give(&p, &(Packet) { IB_OP_RC_ACK, PSN, .syndrome = 0x1f });
    g_assert_false(ib_qp_sq_draining(p.qp->qp));
    g_assert_true(qp_had_event(p.qp, IB_EVENT_SQ_DRAINED));
    peer_clear(&p);
}

/* The timer of a connection that was moved runs on. */
static void test_moved(void)
{
    Peer p;
    GByteArray *bytes = g_byte_array_new();

    peer_init(&p);
    post(&p, IB_WR_RDMA_WRITE, 8);
    world_run(p.world, 30 * WORLD_MS);
    ib_hca_save(p.hca->hca, bytes);
    world_replace(p.hca);
    g_assert_true(ib_hca_load(p.hca->hca, bytes->data, bytes->len));
    ib_link_cable_attach(ib_hca_link(p.hca->hca, 1));
    world_run(p.world, WORLD_MS);
    g_ptr_array_set_size(p.sent, 0);
    world_run(p.world, 30 * WORLD_MS);
    expect_nothing(&p);
    world_run(p.world, 10 * WORLD_MS);
    expect(&p, IB_OP_RC_RDMA_WRITE_ONLY, PSN, -1);
    g_byte_array_unref(bytes);
    peer_clear(&p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/hca/peer/invalid", test_invalid);
    g_test_add_func("/hca/peer/sequence", test_sequence);
    g_test_add_func("/hca/peer/duplicates", test_duplicates);
    g_test_add_func("/hca/peer/read-again", test_read_again);
    g_test_add_func("/hca/peer/bad-answers", test_bad_answers);
    g_test_add_func("/hca/peer/window", test_window);
    g_test_add_func("/hca/peer/timer", test_timer);
    g_test_add_func("/hca/peer/local-fence", test_local_fence);
    g_test_add_func("/hca/peer/drained", test_drained);
    g_test_add_func("/hca/peer/moved", test_moved);
    return g_test_run();
}
