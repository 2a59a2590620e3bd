/*
 * Datagrams: what is sent arrives, what must not arrive is counted
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hca-world.h"

#define QKEY 0x11111111

typedef struct UdPair {
    World *world;
    TestHca *a, *b;
    TestQp *qa, *qb;
    TestKey *ma, *mb;
} UdPair;

static void ud_pair(UdPair *p)
{
    p->world = world_pair(NULL);
    p->a = p->world->hca[0];
    p->b = p->world->hca[1];
    p->qa = hca_ud_qp(p->a, 0x40, QKEY);
    p->qb = hca_ud_qp(p->b, 0x48, QKEY);
    p->ma = hca_memory(p->a, 8192, IB_ACCESS_LOCAL_WRITE);
    p->mb = hca_memory(p->b, 8192, IB_ACCESS_LOCAL_WRITE);
    fill_random(p->world, p->ma->mem, p->ma->len);
}

static IbSendWr *ud_add(UdPair *p, uint32_t len)
{
    IbSendWr *wr = qp_add_send(p->qa, IB_WR_SEND, p->ma, 0, len);

    wr->address.dlid = 2;
    wr->dest_qpn = 0x48;
    wr->qkey = QKEY;
    return wr;
}

static void ud_go(UdPair *p)
{
    qp_ring(p->qa);
    world_run(p->world, WORLD_MS);
}

static void test_send(void)
{
    UdPair p;
    IbCompletion wc;
    IbSendWr *wr;

    ud_pair(&p);
    qp_post_recv(p.qb, p.mb, 0, 4136);
    qp_post_recv(p.qb, p.mb, 4136, 1000);
    ud_add(&p, 4096);
    wr = ud_add(&p, 5);
    wr->opcode = IB_WR_SEND_IMM;
    wr->imm = 0xcafe0001;
    wr->flags |= IB_WR_SOLICITED;
    wr->address.sl = 3;
    ud_go(&p);

    wc = qp_take_wc(p.qa);
    g_assert_cmpint(wc.status, ==, IB_WC_SUCCESS);
    g_assert_cmpuint(wc.id, ==, 0);
    g_assert_cmphex(wc.flags, ==, IB_WC_SEND_QUEUE | IB_WC_SIGNALED);
    g_assert_cmpint(wc.opcode, ==, IB_WR_SEND);
    wc = qp_take_wc(p.qa);
    g_assert_cmpuint(wc.id, ==, 1);

    wc = qp_take_wc(p.qb);
    g_assert_cmpint(wc.status, ==, IB_WC_SUCCESS);
    g_assert_cmpuint(wc.byte_len, ==, 40 + 4096);
    g_assert_cmphex(wc.src_qpn, ==, 0x40);
    g_assert_cmpuint(wc.slid, ==, 1);
    g_assert_cmphex(wc.flags, ==, 0);
    wc = qp_take_wc(p.qb);
    g_assert_cmpuint(wc.byte_len, ==, 40 + 5);
    g_assert_cmphex(wc.flags, ==, IB_WC_IMM | IB_WC_SOLICITED);
    g_assert_cmphex(wc.imm, ==, 0xcafe0001);
    g_assert_cmpuint(wc.sl, ==, 3);
    g_assert_cmpmem(p.mb->mem + 40, 4096, p.ma->mem, 4096);
    g_assert_cmpmem(p.mb->mem + 4136 + 40, 5, p.ma->mem, 5);
    world_free(p.world);
}

/* With GRH: the 40 bytes are the packet's; several pieces, one inline. */
static void test_grh(void)
{
    static const uint8_t text[] = "inline piece";
    UdPair p;
    IbCompletion wc;
    IbSendWr *wr;
    const uint8_t *grh;

    ud_pair(&p);
    qp_post_recv(p.qb, p.mb, 0, 4136);
    wr = ud_add(&p, 100);
    wr->sge[1] = (IbSge) { .ptr = text, .len = sizeof(text) };
    wr->sge[2] = wr->sge[0];
    wr->sge[2].va += 200;
    wr->num_sge = 3;
    wr->address.grh = true;
    wr->address.hop_limit = 64;
    wr->address.traffic_class = 0x5a;
    wr->address.flow_label = 0x12345;
    ib_put_be64(wr->address.dgid, UINT64_C(0xfe80000000000000));
    ib_put_be64(wr->address.dgid + 8, UINT64_C(0x0002c90300100011));
    ud_go(&p);

    wc = qp_take_wc(p.qb);
    g_assert_cmphex(wc.flags, ==, IB_WC_GRH);
    g_assert_cmpuint(wc.byte_len, ==, 40 + 200 + sizeof(text));
    grh = p.mb->mem;
    g_assert_cmphex(ib_get_be32(grh), ==, 0x65a12345);
    g_assert_cmphex(grh[6], ==, 0x1b);
    g_assert_cmpuint(grh[7], ==, 64);
    g_assert_cmphex(ib_get_be64(grh + 8), ==, UINT64_C(0xfe80000000000000));
    g_assert_cmphex(ib_get_be64(grh + 16), ==, UINT64_C(0x0002c90300100001));
    g_assert_cmpmem(p.mb->mem + 40, 100, p.ma->mem, 100);
    g_assert_cmpmem(p.mb->mem + 140, sizeof(text), text, sizeof(text));
    g_assert_cmpmem(p.mb->mem + 140 + sizeof(text), 100, p.ma->mem + 200, 100);

    /* A GID that is not B's. */
    wr = ud_add(&p, 10);
    wr->address.grh = true;
    ib_put_be64(wr->address.dgid, UINT64_C(0xfe80000000000000));
    ib_put_be64(wr->address.dgid + 8, 0x1234);
    ud_go(&p);
    g_assert_cmpuint(ib_hca_discards(p.b->hca, IB_DISCARD_DGID), ==, 1);
    world_free(p.world);
}

/* Each reason not to deliver, each with its counter, none with a sound. */
static void test_discards(void)
{
    UdPair p;
    TestQp *other;
    IbQpAttr attr;

    ud_pair(&p);
    ud_add(&p, 10);
    ud_go(&p);
    g_assert_cmpuint(ib_hca_discards(p.b->hca, IB_DISCARD_NO_RECV), ==, 1);

    qp_post_recv(p.qb, p.mb, 0, 4136);
    ud_add(&p, 10)->dest_qpn = 0x99;
    ud_add(&p, 10)->dest_qpn = 1;
    ud_go(&p);
    g_assert_cmpuint(ib_hca_discards(p.b->hca, IB_DISCARD_NO_QP), ==, 2);

    ud_add(&p, 10)->dest_qpn = 0;
    ud_go(&p);
    g_assert_cmpuint(ib_hca_discards(p.b->hca, IB_DISCARD_VL15), ==, 1);

    ud_add(&p, 10)->qkey = QKEY + 1;
    ud_go(&p);
    g_assert_cmpuint(ib_hca_discards(p.b->hca, IB_DISCARD_QKEY), ==, 1);

    /* The privileged Q_Key means the QP's own. */
    ud_add(&p, 10)->qkey = 0x80000000;
    ud_go(&p);
    g_assert_cmpuint(qp_num_wc(p.qb), ==, 1);
    qp_take_wc(p.qb);

    ud_add(&p, 10)->address.dlid = 3;
    ud_go(&p);
    g_assert_cmpuint(ib_hca_discards(p.b->hca, IB_DISCARD_DLID), ==, 1);

    other = hca_qp(p.b, 0x50);
    other->attr = p.qb->attr;
    hca_qp_to(other, IB_QPS_INIT);
    ud_add(&p, 10)->dest_qpn = 0x50;
    ud_go(&p);
    g_assert_cmpuint(ib_hca_discards(p.b->hca, IB_DISCARD_QP_STATE), ==, 1);

    other = hca_qp(p.b, 0x51);
    other->attr.type = IB_QPT_RC;
    other->attr.port = 1;
    other->attr.path_mtu = 5;
    hca_qp_to(other, IB_QPS_RTR);
    ud_add(&p, 10)->dest_qpn = 0x51;
    ud_go(&p);
    g_assert_cmpuint(ib_hca_discards(p.b->hca, IB_DISCARD_SERVICE), ==, 1);

    /* B's QP on a P_Key table entry that is empty. */
    attr = p.qb->attr;
    attr.pkey_index = 3;
    g_assert_true(ib_qp_modify(p.qb->qp, IB_QPS_RTS, &attr));
    ud_add(&p, 10);
    ud_go(&p);
    g_assert_cmpuint(ib_hca_discards(p.b->hca, IB_DISCARD_PKEY), ==, 1);

    /* A's: it has nothing to send with. */
    g_assert_true(ib_qp_modify(p.qa->qp, IB_QPS_RTS, &attr));
    ud_add(&p, 10);
    ud_go(&p);
    g_assert_cmpuint(ib_hca_discards(p.a->hca, IB_DISCARD_TX_PKEY), ==, 1);

    g_assert_cmpuint(qp_num_wc(p.qb), ==, 0);
    for (; qp_num_wc(p.qa);) {
        g_assert_cmpint(qp_take_wc(p.qa).status, ==, IB_WC_SUCCESS);
    }
    world_free(p.world);
}

static void test_send_errors(void)
{
    UdPair p;
    IbCompletion wc;

    ud_pair(&p);
    /* Longer than the MTU. */
    ud_add(&p, 4097);
    ud_add(&p, 1);
    ud_go(&p);
    wc = qp_take_wc(p.qa);
    g_assert_cmphex(wc.status, ==, IB_WC_LOC_LEN_ERR);
    wc = qp_take_wc(p.qa);
    g_assert_cmphex(wc.status, ==, IB_WC_WR_FLUSH_ERR);
    g_assert_cmpuint(wc.id, ==, 1);
    g_assert_cmpint(ib_qp_state(p.qa->qp), ==, IB_QPS_SQE);
    g_assert_cmpuint(p.qa->moved, ==, 1);

    /* What is posted in SQE is flushed; the receive queue lives. */
    ud_add(&p, 1);
    ud_go(&p);
    g_assert_cmphex(qp_take_wc(p.qa).status, ==, IB_WC_WR_FLUSH_ERR);
    g_assert_true(ib_qp_modify(p.qa->qp, IB_QPS_RTS, &p.qa->attr));

    /* A key that is not there. */
    ud_add(&p, 8)->sge[0].key = 0x999;
    ud_go(&p);
    g_assert_cmphex(qp_take_wc(p.qa).status, ==, IB_WC_LOC_PROT_ERR);
    g_assert_true(ib_qp_modify(p.qa->qp, IB_QPS_RTS, &p.qa->attr));

    /* An operation that UD does not have, and an entry that is no entry. */
    ud_add(&p, 8)->opcode = IB_WR_RDMA_READ;
    ud_go(&p);
    g_assert_cmphex(qp_take_wc(p.qa).status, ==, IB_WC_LOC_QP_OP_ERR);
    g_assert_true(ib_qp_modify(p.qa->qp, IB_QPS_RTS, &p.qa->attr));
    p.qa->bad_send = true;
    ud_add(&p, 8);
    ud_go(&p);
    g_assert_cmphex(qp_take_wc(p.qa).status, ==, IB_WC_LOC_QP_OP_ERR);

    /* After all that it still works. */
    g_assert_true(ib_qp_modify(p.qa->qp, IB_QPS_RTS, &p.qa->attr));
    qp_post_recv(p.qb, p.mb, 0, 100);
    ud_add(&p, 60);
    ud_go(&p);
    g_assert_cmphex(qp_take_wc(p.qa).status, ==, IB_WC_SUCCESS);
    g_assert_cmphex(qp_take_wc(p.qb).status, ==, IB_WC_SUCCESS);
    g_assert_cmpmem(p.mb->mem + 40, 60, p.ma->mem, 60);
    world_free(p.world);
}

static void test_recv_errors(void)
{
    UdPair p;

    ud_pair(&p);
    /* Room for 40 + 59 of 60 bytes. */
    qp_post_recv(p.qb, p.mb, 0, 99);
    qp_post_recv(p.qb, p.mb, 0, 100);
    ud_add(&p, 60);
    ud_go(&p);
    g_assert_cmphex(qp_take_wc(p.qb).status, ==, IB_WC_LOC_LEN_ERR);
    g_assert_cmphex(qp_take_wc(p.qb).status, ==, IB_WC_WR_FLUSH_ERR);
    g_assert_cmpint(ib_qp_state(p.qb->qp), ==, IB_QPS_ERR);

    g_assert_true(ib_qp_modify(p.qb->qp, IB_QPS_RESET, &p.qb->attr));
    hca_qp_to(p.qb, IB_QPS_RTS);
    p.mb->rights = 0;
    qp_post_recv(p.qb, p.mb, 0, 100);
    ud_add(&p, 60);
    ud_go(&p);
    g_assert_cmphex(qp_take_wc(p.qb).status, ==, IB_WC_LOC_PROT_ERR);
    world_free(p.world);
}

static void test_multicast(void)
{
    static const uint8_t mgid[16] = { 0xff, 0x12, 0x40, 0x1b, [15] = 1 };
    UdPair p;
    TestQp *a2, *b2;
    IbSendWr *wr;

    ud_pair(&p);
    a2 = hca_ud_qp(p.a, 0x41, QKEY);
    b2 = hca_ud_qp(p.b, 0x49, QKEY);
    hca_join(p.a, mgid, 0x40, true);          /* the sender: blocked */
    hca_join(p.a, mgid, 0x41, false);
    hca_join(p.b, mgid, 0x48, false);
    hca_join(p.b, mgid, 0x49, true);          /* not B's own packet */
    qp_post_recv(p.qa, p.ma, 4096, 100);
    qp_post_recv(a2, p.ma, 5000, 100);
    qp_post_recv(p.qb, p.mb, 0, 100);
    qp_post_recv(b2, p.mb, 200, 100);
    wr = ud_add(&p, 60);
    wr->address.dlid = 0xc001;
    wr->address.grh = true;
    memcpy(wr->address.dgid, mgid, 16);
    wr->dest_qpn = 0xffffff;
    ud_go(&p);
    g_assert_cmpuint(qp_num_wc(p.qa), ==, 1);     /* its send only */
    g_assert_cmpuint(qp_num_wc(a2), ==, 1);
    g_assert_cmpuint(qp_num_wc(p.qb), ==, 1);
    g_assert_cmpuint(qp_num_wc(b2), ==, 1);
    g_assert_cmpmem(p.mb->mem + 40, 60, p.ma->mem, 60);
    g_assert_cmpmem(p.mb->mem + 240, 60, p.ma->mem, 60);
    g_assert_cmpmem(p.ma->mem + 5040, 60, p.ma->mem, 60);
    g_assert_cmphex(qp_take_wc(b2).flags, ==, IB_WC_GRH);

    /* Without a GRH nobody can tell the group. */
    wr = ud_add(&p, 60);
    wr->address.dlid = 0xc001;
    ud_go(&p);
    g_assert_cmpuint(ib_hca_discards(p.b->hca, IB_DISCARD_DGID), ==, 1);
    /* A group that nobody joined. */
    wr = ud_add(&p, 60);
    wr->address.dlid = 0xc001;
    wr->address.grh = true;
    wr->address.dgid[0] = 0xff;
    ud_go(&p);
    g_assert_cmpuint(ib_hca_discards(p.b->hca, IB_DISCARD_NO_MEMBER), ==, 1);
    world_free(p.world);
}

/* To its own LID, by force, and while the port is down: inside the adapter. */
static void test_loopback(void)
{
    UdPair p;
    TestQp *a2;
    unsigned i;

    ud_pair(&p);
    a2 = hca_ud_qp(p.a, 0x41, QKEY);
    for (i = 0; i < 100; i++) {
        qp_post_recv(a2, p.ma, 4096, 100);
        ud_add(&p, 60)->dest_qpn = 0x41;
        p.qa->send[i].address.dlid = 1;
    }
    qp_ring(p.qa);
    g_assert_cmpuint(qp_num_wc(a2), ==, 100);     /* at once */
    g_assert_cmpmem(p.ma->mem + 4096 + 40, 60, p.ma->mem, 60);
    g_assert_cmpuint(ib_link_counters(ib_hca_link(p.a->hca, 1))->xmit_pkts,
                     ==, 0);

    ib_hca_close_port(p.a->hca, 1);
    qp_post_recv(a2, p.ma, 4096, 100);
    ud_add(&p, 60)->dest_qpn = 0x41;
    p.qa->send[100].address.loopback = true;
    p.qa->send[100].address.dlid = 77;
    qp_ring(p.qa);
    g_assert_cmpuint(qp_num_wc(a2), ==, 101);
    world_free(p.world);
}

/* LMC: all LIDs of the port are its own, the path bits are told. */
static void test_lmc(void)
{
    UdPair p;
    IbCompletion wc;
    IbSendWr *wr;

    ud_pair(&p);
    world_set_lid(p.b, 1, 8, 2);
    world_set_lid(p.a, 1, 4, 1);
    qp_post_recv(p.qb, p.mb, 0, 100);
    wr = ud_add(&p, 60);
    wr->address.dlid = 11;
    wr->address.path_bits = 3;                    /* one bit of LMC only */
    ud_go(&p);
    wc = qp_take_wc(p.qb);
    g_assert_cmpuint(wc.dlid_path_bits, ==, 3);
    g_assert_cmpuint(wc.slid, ==, 5);
    ud_add(&p, 60)->address.dlid = 12;
    ud_go(&p);
    g_assert_cmpuint(ib_hca_discards(p.b->hca, IB_DISCARD_DLID), ==, 1);
    world_free(p.world);
}

/* A port that is not Active: datagrams are discarded, requests complete. */
static void test_port_down(void)
{
    UdPair p;

    ud_pair(&p);
    qp_post_recv(p.qb, p.mb, 0, 100);
    ib_hca_close_port(p.a->hca, 1);
    ud_add(&p, 60);
    ud_go(&p);
    g_assert_cmphex(qp_take_wc(p.qa).status, ==, IB_WC_SUCCESS);
    g_assert_cmpuint(ib_hca_discards(p.a->hca, IB_DISCARD_TX_PORT), ==, 1);
    g_assert_cmpuint(qp_num_wc(p.qb), ==, 0);
    world_free(p.world);
}

static void test_flush(void)
{
    UdPair p;
    unsigned i;

    ud_pair(&p);
    for (i = 0; i < 200; i++) {
        qp_post_recv(p.qa, p.ma, 0, 100);
        ud_add(&p, 60)->address.dlid = 2;
    }
    g_assert_true(ib_qp_modify(p.qa->qp, IB_QPS_ERR, NULL));
    g_assert_cmpuint(qp_num_wc(p.qa), ==, 400);
    for (i = 0; i < 400; i++) {
        IbCompletion wc = qp_take_wc(p.qa);

        g_assert_cmphex(wc.status, ==, IB_WC_WR_FLUSH_ERR);
        g_assert_cmpuint(wc.id, ==, i % 200);
        g_assert_cmpint(!!(wc.flags & IB_WC_SEND_QUEUE), ==, i < 200);
    }
    /* And whatever is posted later. */
    qp_post_recv(p.qa, p.ma, 0, 100);
    g_assert_cmphex(qp_take_wc(p.qa).status, ==, IB_WC_WR_FLUSH_ERR);
    ud_add(&p, 60);
    qp_ring(p.qa);
    g_assert_cmphex(qp_take_wc(p.qa).status, ==, IB_WC_WR_FLUSH_ERR);
    /* ERR to RTS is no transition; RESET forgets without a word. */
    g_assert_false(ib_qp_modify(p.qa->qp, IB_QPS_RTS, &p.qa->attr));
    g_assert_true(ib_qp_modify(p.qa->qp, IB_QPS_RESET, NULL));
    qp_post_recv(p.qa, p.ma, 0, 100);
    qp_ring(p.qa);
    g_assert_cmpuint(qp_num_wc(p.qa), ==, 0);
    world_free(p.world);
}

/* A cable that takes nothing: requests wait and go on in order. */
static void test_backpressure(void)
{
    UdPair p;
    TestQp *a2;
    unsigned i, done, first = 0, second = 0;

    ud_pair(&p);
    a2 = hca_ud_qp(p.a, 0x41, QKEY);
    world_stop(&p.a->port[1], true);
    for (i = 0; i < 100; i++) {
        IbSendWr *wr = qp_add_send(a2, IB_WR_SEND, p.ma, 0, 4000);

        qp_post_recv(p.qb, p.mb, 0, 4136);
        qp_post_recv(p.qb, p.mb, 0, 4136);
        ud_add(&p, 4000);
        wr->address.dlid = 2;
        wr->dest_qpn = 0x48;
        wr->qkey = QKEY;
        ib_put_be32(p.ma->mem, i);
    }
    qp_ring(p.qa);
    qp_ring(a2);
    world_run(p.world, WORLD_MS);
    done = qp_num_wc(p.qa) + qp_num_wc(a2);
    g_assert_cmpuint(done, <, 100);
    g_assert_cmpuint(done, >, 0);
    /* Ringing the bell changes nothing. */
    for (i = 0; i < 100000; i++) {
        qp_ring(p.qa);
    }
    g_assert_cmpuint(qp_num_wc(p.qa) + qp_num_wc(a2), ==, done);
    world_stop(&p.a->port[1], false);
    world_run(p.world, 10 * WORLD_MS);
    g_assert_cmpuint(qp_num_wc(p.qa), ==, 100);
    g_assert_cmpuint(qp_num_wc(a2), ==, 100);
    g_assert_cmpuint(qp_num_wc(p.qb), ==, 200);
    for (i = 0; i < 100; i++) {
        g_assert_cmpuint(qp_take_wc(p.qa).id, ==, i);
        g_assert_cmpuint(qp_take_wc(a2).id, ==, i);
    }
    for (i = 0; i < 200; i++) {
        if (qp_take_wc(p.qb).src_qpn == 0x40) {
            first++;
        } else {
            second++;
        }
        /* Nobody starves: never more than some turns apart. */
        g_assert_cmpint(ABS((int)first - (int)second), <=, 40);
    }
    world_free(p.world);
}

/* The port goes down under those who wait: they do not wait forever. */
static void test_down_while_waiting(void)
{
    UdPair p;
    unsigned i;

    ud_pair(&p);
    world_stop(&p.a->port[1], true);
    for (i = 0; i < 100; i++) {
        ud_add(&p, 4000);
    }
    qp_ring(p.qa);
    g_assert_cmpuint(qp_num_wc(p.qa), <, 100);
    ib_hca_close_port(p.a->hca, 1);
    world_run(p.world, WORLD_MS);
    g_assert_cmpuint(qp_num_wc(p.qa), ==, 100);
    world_free(p.world);
}

/* SQD: what has begun ends, then the event; RTS goes on. */
static void test_drain(void)
{
    UdPair p;
    unsigned i, done;

    ud_pair(&p);
    world_stop(&p.a->port[1], true);
    for (i = 0; i < 100; i++) {
        ud_add(&p, 4000);
    }
    qp_ring(p.qa);
    done = qp_num_wc(p.qa);
    g_assert_true(ib_qp_modify(p.qa->qp, IB_QPS_SQD, &p.qa->attr));
    g_assert_true(ib_qp_sq_draining(p.qa->qp));
    g_assert_false(qp_had_event(p.qa, IB_EVENT_SQ_DRAINED));
    world_stop(&p.a->port[1], false);
    world_run(p.world, WORLD_MS);
    g_assert_true(qp_had_event(p.qa, IB_EVENT_SQ_DRAINED));
    g_assert_false(ib_qp_sq_draining(p.qa->qp));
    g_assert_cmpuint(qp_num_wc(p.qa), ==, done + 1);
    g_assert_true(ib_qp_modify(p.qa->qp, IB_QPS_RTS, &p.qa->attr));
    world_run(p.world, WORLD_MS);
    g_assert_cmpuint(qp_num_wc(p.qa), ==, 100);
    world_free(p.world);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/hca/ud/send", test_send);
    g_test_add_func("/hca/ud/grh", test_grh);
    g_test_add_func("/hca/ud/discards", test_discards);
    g_test_add_func("/hca/ud/send-errors", test_send_errors);
    g_test_add_func("/hca/ud/recv-errors", test_recv_errors);
    g_test_add_func("/hca/ud/multicast", test_multicast);
    g_test_add_func("/hca/ud/loopback", test_loopback);
    g_test_add_func("/hca/ud/lmc", test_lmc);
    g_test_add_func("/hca/ud/port-down", test_port_down);
    g_test_add_func("/hca/ud/flush", test_flush);
    g_test_add_func("/hca/ud/backpressure", test_backpressure);
    g_test_add_func("/hca/ud/down-while-waiting", test_down_while_waiting);
    g_test_add_func("/hca/ud/drain", test_drain);
    return g_test_run();
}
