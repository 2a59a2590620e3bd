/*
 * Reliable connections: every byte once, whatever the cable does
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hca-world.h"

#define MB (1024 * 1024)

typedef struct RcPair {
    World *world;
    TestHca *a, *b;
    TestQp *qa, *qb;
    TestKey *ma, *mb;
} RcPair;

static const unsigned all_rights = IB_ACCESS_LOCAL_WRITE |
    IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC;

/* Two QPs, not connected yet; @same: of one adapter. */
static void rc_prepare(RcPair *p, const IbHcaConfig *config, bool same,
                       uint32_t bytes)
{
    p->world = world_pair(config);
    p->a = p->world->hca[0];
    p->b = same ? p->a : p->world->hca[1];
    p->qa = hca_qp(p->a, 0x40);
    p->qb = hca_qp(p->b, 0x48);
    p->ma = hca_memory(p->a, bytes, all_rights);
    p->mb = hca_memory(p->b, bytes, all_rights);
    fill_random(p->world, p->ma->mem, bytes);
}

static void rc_pair(RcPair *p, bool same, uint32_t bytes)
{
    rc_prepare(p, NULL, same, bytes);
    hca_connect_qps(p->qa, p->qb, IB_QPT_RC);
}

static IbSendWr *rc_add(RcPair *p, IbWrOpcode opcode, uint32_t offset,
                        uint32_t len)
{
    IbSendWr *wr = qp_add_send(p->qa, opcode, p->ma, offset, len);

    wr->remote_va = p->mb->va + offset;
    wr->remote_key = p->mb->key;
    return wr;
}

static void rc_go(RcPair *p)
{
    qp_ring(p->qa);
    world_run(p->world, 20 * WORLD_MS);
}

static void expect_send(RcPair *p, uint64_t id, IbWcStatus status)
{
    IbCompletion wc = qp_take_wc(p->qa);

    g_assert_cmphex(wc.status, ==, status);
    g_assert_cmpuint(wc.id, ==, id);
    g_assert_true(wc.flags & IB_WC_SEND_QUEUE);
}

/* --------------------------------------------------------------- sizes */

static void sizes(bool same, uint8_t mtu)
{
    static const uint32_t edge[] = { 0, 1, 3, 4, 5 };
    uint32_t bytes = 128u << mtu;
    uint32_t list[24];
    unsigned n = 0, i, id = 0;
    IbCompletion wc;
    RcPair p;

    rc_prepare(&p, NULL, same, MB);
    p.qa->attr.path_mtu = p.qb->attr.path_mtu = mtu;
    hca_connect_qps(p.qa, p.qb, IB_QPT_RC);
    for (i = 0; i < G_N_ELEMENTS(edge); i++) {
        list[n++] = edge[i];
    }
    for (i = 1; i <= 3; i++) {
        list[n++] = i * bytes - 1;
        list[n++] = i * bytes;
        list[n++] = i * bytes + 1;
    }
    list[n++] = 65536;
    list[n++] = MB;
    for (i = 0; i < n; i++) {
        uint32_t len = list[i];

        memset(p.mb->mem, 0, MB);
        qp_post_recv(p.qb, p.mb, 0, MB);
        rc_add(&p, IB_WR_SEND, 0, len);
        rc_go(&p);
        expect_send(&p, id++, IB_WC_SUCCESS);
        wc = qp_take_wc(p.qb);
        g_assert_cmphex(wc.status, ==, IB_WC_SUCCESS);
        g_assert_cmpuint(wc.byte_len, ==, len);
        g_assert_cmphex(wc.src_qpn, ==, 0x40);
        g_assert_cmpmem(p.mb->mem, len, p.ma->mem, len);
        g_assert_cmpuint(p.mb->mem[MIN(len, MB - 1)], ==,
                         len < MB ? 0 : p.ma->mem[MB - 1]);

        memset(p.mb->mem, 0, MB);
        rc_add(&p, IB_WR_RDMA_WRITE, 0, len);
        rc_go(&p);
        expect_send(&p, id++, IB_WC_SUCCESS);
        g_assert_cmpmem(p.mb->mem, len, p.ma->mem, len);

        fill_random(p.world, p.mb->mem, len);
        rc_add(&p, IB_WR_RDMA_READ, 0, len);
        rc_go(&p);
        expect_send(&p, id++, IB_WC_SUCCESS);
        g_assert_cmpmem(p.mb->mem, len, p.ma->mem, len);
    }
    g_assert_cmpuint(ib_qp_sq_psn(p.qa->qp), ==, ib_qp_rq_psn(p.qb->qp));
    g_assert_cmpuint(qp_num_wc(p.qa), ==, 0);
    world_free(p.world);
}

static void test_sizes(void)
{
    sizes(false, IB_MTU_4096);
    sizes(false, IB_MTU_256);
}

static void test_sizes_loopback(void)
{
    sizes(true, IB_MTU_4096);
    sizes(true, IB_MTU_256);
}

/* --------------------------------------------------------- operations */

static void test_immediate(void)
{
    RcPair p;
    IbCompletion wc;
    IbSendWr *wr;

    rc_pair(&p, false, 65536);
    qp_post_recv(p.qb, p.mb, 0, 65536);
    qp_post_recv(p.qb, NULL, 0, 0);
    qp_post_recv(p.qb, NULL, 0, 0);
    wr = rc_add(&p, IB_WR_SEND_IMM, 0, 10000);
    wr->imm = 0xa1b2c3d4;
    wr->flags |= IB_WR_SOLICITED;
    wr = rc_add(&p, IB_WR_RDMA_WRITE_IMM, 20000, 10000);
    wr->imm = 0x01020304;
    rc_add(&p, IB_WR_RDMA_WRITE_IMM, 0, 0)->imm = 7;
    rc_go(&p);
    wc = qp_take_wc(p.qb);
    g_assert_cmphex(wc.flags, ==, IB_WC_IMM | IB_WC_SOLICITED);
    g_assert_cmphex(wc.imm, ==, 0xa1b2c3d4);
    g_assert_cmpuint(wc.byte_len, ==, 10000);
    wc = qp_take_wc(p.qb);
    g_assert_cmphex(wc.flags, ==, IB_WC_IMM | IB_WC_RDMA_WRITE);
    g_assert_cmphex(wc.imm, ==, 0x01020304);
    g_assert_cmpuint(wc.byte_len, ==, 10000);
    g_assert_cmpmem(p.mb->mem + 20000, 10000, p.ma->mem + 20000, 10000);
    wc = qp_take_wc(p.qb);
    g_assert_cmpuint(wc.byte_len, ==, 0);
    g_assert_cmpuint(qp_num_wc(p.qa), ==, 3);
    world_free(p.world);
}

/* Pieces here and there, one inline; another QP's entries in between. */
static void test_gather(void)
{
    static const uint8_t text[300] = "inline";
    RcPair p;
    TestQp *a2, *b2;
    IbSendWr *wr;
    unsigned i;

    rc_prepare(&p, NULL, false, MB);
    p.qa->attr.path_mtu = p.qb->attr.path_mtu = IB_MTU_256;
    hca_connect_qps(p.qa, p.qb, IB_QPT_RC);
    a2 = hca_qp(p.a, 0x50);
    b2 = hca_qp(p.b, 0x58);
    a2->attr.path_mtu = b2->attr.path_mtu = IB_MTU_256;
    hca_connect_qps(a2, b2, IB_QPT_RC);
    world_stop(&p.a->port[1], true);
    for (i = 0; i < 20; i++) {
        wr = rc_add(&p, IB_WR_RDMA_WRITE, i * 20000, 9001);
        wr->sge[1] = (IbSge) { .ptr = text, .len = sizeof(text) };
        wr->sge[2] = (IbSge) { .va = p.ma->va + i * 20000 + 9001,
                               .len = 777, .key = p.ma->key };
        wr->num_sge = 3;
        wr = qp_add_send(a2, IB_WR_RDMA_WRITE, p.ma, 500000 + i * 20000,
                         10001);
        wr->remote_va = p.mb->va + 500000 + i * 20000;
        wr->remote_key = p.mb->key;
    }
    qp_ring(p.qa);
    qp_ring(a2);
    world_run(p.world, WORLD_MS);
    world_stop(&p.a->port[1], false);
    world_run(p.world, 100 * WORLD_MS);
    g_assert_cmpuint(qp_num_wc(p.qa), ==, 20);
    g_assert_cmpuint(qp_num_wc(a2), ==, 20);
    for (i = 0; i < 20; i++) {
        const uint8_t *from = p.ma->mem + i * 20000;
        const uint8_t *to = p.mb->mem + i * 20000;

        g_assert_cmpmem(to, 9001, from, 9001);
        g_assert_cmpmem(to + 9001, 300, text, 300);
        g_assert_cmpmem(to + 9301, 777, from + 9001, 777);
        g_assert_cmpmem(p.mb->mem + 500000 + i * 20000, 10001,
                        p.ma->mem + 500000 + i * 20000, 10001);
    }
    /* One work request is all the room the adapter has. */
    g_assert_cmpuint(p.qa->refetches, >, 0);
    world_free(p.world);
}

static void test_atomics(void)
{
    RcPair p;
    IbSendWr *wr;
    uint64_t v;

    rc_pair(&p, false, 4096);
    v = GUINT64_TO_LE(1000);
    memcpy(p.mb->mem + 64, &v, 8);
    wr = rc_add(&p, IB_WR_FETCH_ADD, 64, 8);
    wr->swap_or_add = 7;
    wr = rc_add(&p, IB_WR_CMP_SWAP, 64, 8);
    wr->sge[0].va += 8;
    wr->compare = 1007;
    wr->swap_or_add = 0x1122334455667788;
    wr = rc_add(&p, IB_WR_CMP_SWAP, 64, 8);
    wr->sge[0].va += 16;
    wr->compare = 1;
    wr->swap_or_add = 2;
    rc_go(&p);
    expect_send(&p, 0, IB_WC_SUCCESS);
    expect_send(&p, 1, IB_WC_SUCCESS);
    expect_send(&p, 2, IB_WC_SUCCESS);
    memcpy(&v, p.ma->mem + 64, 8);
    g_assert_cmpuint(GUINT64_FROM_LE(v), ==, 1000);
    memcpy(&v, p.ma->mem + 72, 8);
    g_assert_cmpuint(GUINT64_FROM_LE(v), ==, 1007);
    memcpy(&v, p.ma->mem + 80, 8);
    g_assert_cmphex(GUINT64_FROM_LE(v), ==, 0x1122334455667788);
    memcpy(&v, p.mb->mem + 64, 8);
    g_assert_cmphex(GUINT64_FROM_LE(v), ==, 0x1122334455667788);

    /* Not on a multiple of 8. */
    rc_add(&p, IB_WR_FETCH_ADD, 68, 8)->remote_va = p.mb->va + 68;
    rc_go(&p);
    expect_send(&p, 3, IB_WC_REM_INV_REQ_ERR);
    world_free(p.world);
}

/* The operands of masked atomics get to the other end's face. */
static void test_masked_atomics(void)
{
    RcPair p;
    IbSendWr *wr;
    uint64_t v;

    rc_pair(&p, false, 4096);
    memset(p.mb->mem, 0, 64);
    wr = rc_add(&p, IB_WR_MASKED_CMP_SWAP, 0, 8);
    wr->compare = 0x1111111111111111;
    wr->compare_mask = 0x2222222222222222;
    wr->swap_or_add = 0x3333333333333333;
    wr->swap_or_add_mask = 0x00000000ffffffff;
    wr = rc_add(&p, IB_WR_MASKED_FETCH_ADD, 8, 8);
    wr->swap_or_add = 0x00000000ffffffff;
    wr->swap_or_add_mask = 0x0000000080000000;
    rc_go(&p);
    expect_send(&p, 0, IB_WC_SUCCESS);
    expect_send(&p, 1, IB_WC_SUCCESS);
    memcpy(&v, p.mb->mem, 8);
    g_assert_cmphex(GUINT64_FROM_LE(v), ==, 0x0000000033333333);
    memcpy(&v, p.mb->mem + 8, 8);
    g_assert_cmphex(GUINT64_FROM_LE(v), ==, 0x00000000ffffffff);
    rc_add(&p, IB_WR_MASKED_FETCH_ADD, 8, 8)->swap_or_add = 1;
    p.qa->send[2].swap_or_add_mask = 0x0000000080000000;
    rc_go(&p);                                /* no carry out of its field */
    expect_send(&p, 2, IB_WC_SUCCESS);
    memcpy(&v, p.mb->mem + 8, 8);
    g_assert_cmphex(GUINT64_FROM_LE(v), ==, 0);
    memcpy(&v, p.ma->mem + 8, 8);
    g_assert_cmphex(GUINT64_FROM_LE(v), ==, 0x00000000ffffffff);
    world_free(p.world);
}

static void test_invalidate(void)
{
    RcPair p;
    TestKey *key;
    IbCompletion wc;

    rc_pair(&p, false, 4096);
    key = hca_memory(p.b, 100, all_rights);
    qp_post_recv(p.qb, p.mb, 0, 4096);
    rc_add(&p, IB_WR_SEND_INV, 0, 5000 - 4096)->imm = key->key;
    rc_go(&p);
    wc = qp_take_wc(p.qb);
    g_assert_cmphex(wc.flags, ==, IB_WC_INVALIDATE);
    g_assert_cmphex(wc.imm, ==, key->key);
    g_assert_true(key->invalid);
    world_free(p.world);
}

/* Local operations in their place; a fence waits for the read before it. */
static void test_order(void)
{
    RcPair p;
    TestKey *key;
    IbSendWr *wr;

    rc_pair(&p, false, 65536);
    key = hca_memory(p.a, 4096, all_rights);
    wr = qp_add_send(p.qa, IB_WR_RDMA_WRITE, key, 0, 4096);
    wr->remote_va = p.mb->va;
    wr->remote_key = p.mb->key;
    wr = qp_add_send(p.qa, IB_WR_LOCAL, NULL, 0, 0);
    wr->flags |= IB_WR_FENCE;
    wr->imm = key->key;                       /* invalidate it */
    wr->flags &= ~IB_WR_SIGNALED;
    rc_add(&p, IB_WR_NOP, 0, 0)->num_sge = 0;
    rc_add(&p, IB_WR_RDMA_READ, 8192, 20000);
    wr = rc_add(&p, IB_WR_RDMA_WRITE, 8192, 20000);   /* what was read */
    wr->remote_va = p.mb->va + 40000;
    wr->flags |= IB_WR_FENCE;
    wr = qp_add_send(p.qa, IB_WR_RDMA_WRITE, key, 0, 4096);
    wr->remote_va = p.mb->va;
    wr->remote_key = p.mb->key;
    fill_random(p.world, p.mb->mem, 30000);
    rc_go(&p);
    expect_send(&p, 0, IB_WC_SUCCESS);
    g_assert_cmphex(qp_take_wc(p.qa).flags, ==, IB_WC_SEND_QUEUE);
    expect_send(&p, 2, IB_WC_SUCCESS);
    expect_send(&p, 3, IB_WC_SUCCESS);
    expect_send(&p, 4, IB_WC_SUCCESS);
    expect_send(&p, 5, IB_WC_LOC_PROT_ERR);   /* the key is gone by then */
    g_assert_cmpint(ib_qp_state(p.qa->qp), ==, IB_QPS_ERR);
    g_assert_cmpmem(p.mb->mem + 40000, 20000, p.mb->mem + 8192, 20000);
    world_free(p.world);
}

/* Of many reads no more are under way than both ends agreed on. */
static void test_read_limit(void)
{
    RcPair p;
    unsigned i;

    rc_prepare(&p, NULL, false, MB);
    p.qa->attr.max_rd_atomic = 1;
    p.qb->attr.max_dest_rd_atomic = 1;
    hca_connect_qps(p.qa, p.qb, IB_QPT_RC);
    fill_random(p.world, p.mb->mem, MB);
    for (i = 0; i < 20; i++) {
        rc_add(&p, IB_WR_RDMA_READ, i * 50000, 49999);
    }
    rc_go(&p);
    for (i = 0; i < 20; i++) {
        expect_send(&p, i, IB_WC_SUCCESS);
        g_assert_cmpmem(p.ma->mem + i * 50000, 49999, p.mb->mem + i * 50000,
                        49999);
    }
    world_free(p.world);

    /* A requester that does not keep to it is told off. */
    rc_prepare(&p, NULL, false, MB);
    p.qa->attr.max_rd_atomic = 16;
    p.qb->attr.max_dest_rd_atomic = 1;
    hca_connect_qps(p.qa, p.qb, IB_QPT_RC);
    for (i = 0; i < 4; i++) {
        rc_add(&p, IB_WR_RDMA_READ, i * 50000, 49999);
    }
    rc_go(&p);
    expect_send(&p, 0, IB_WC_SUCCESS);
    expect_send(&p, 1, IB_WC_REM_INV_REQ_ERR);
    g_assert_true(qp_had_event(p.qb, IB_EVENT_QP_REQ_ERR));
    world_free(p.world);
}

/* ---------------------------------------------------------- bad cables */

typedef struct Traffic {
    RcPair *p;
    unsigned total, posted, done, received;
    uint32_t step;
} Traffic;

static bool traffic_done(void *arg)
{
    Traffic *t = arg;

    return t->done == t->total;
}

static void traffic_fill(Traffic *t)
{
    static const IbWrOpcode ops[] = {
        IB_WR_RDMA_WRITE, IB_WR_SEND, IB_WR_RDMA_READ, IB_WR_FETCH_ADD,
        IB_WR_RDMA_WRITE_IMM,
    };

    while (t->posted < t->total && t->posted - t->done < 32) {
        unsigned n = t->posted++, slot = n % 64;
        IbWrOpcode op = ops[n % G_N_ELEMENTS(ops)];
        uint32_t len = op == IB_WR_FETCH_ADD ? 8
                       : g_rand_int_range(t->p->world->rand, 0, t->step);
        IbSendWr *wr;

        if (op == IB_WR_SEND || op == IB_WR_RDMA_WRITE_IMM) {
            qp_post_recv(t->p->qb, t->p->mb, slot * t->step, t->step);
        }
        wr = rc_add(t->p, op, slot * t->step, len);
        wr->imm = n;
        if (op == IB_WR_FETCH_ADD) {
            wr->remote_va = t->p->mb->va + 64 * t->step;
            wr->swap_or_add = 1;
            wr->sge[0].va = t->p->ma->va + 64 * t->step + 8 * (n % 64);
        } else if (op != IB_WR_RDMA_READ) {
            fill_random(t->p->world, t->p->ma->mem + slot * t->step, len);
        }
    }
    qp_ring(t->p->qa);
}

static void traffic_wc(TestQp *qp, const IbCompletion *wc)
{
    Traffic *t = qp->user;
    const IbSendWr *wr = &qp->send[wc->id % WORLD_RING];
    uint32_t offset = (t->done % 64) * t->step;
    uint64_t v;

    g_assert_cmphex(wc->status, ==, IB_WC_SUCCESS);
    g_assert_cmpuint(wc->id, ==, t->done);
    if (wr->opcode == IB_WR_FETCH_ADD) {
        memcpy(&v, t->p->ma->mem + 64 * t->step + 8 * (t->done % 64), 8);
        g_assert_cmpuint(GUINT64_FROM_LE(v), ==, t->done / 5);
    } else {
        g_assert_cmpmem(t->p->mb->mem + offset, wr->sge[0].len,
                        t->p->ma->mem + offset, wr->sge[0].len);
    }
    t->done++;
    traffic_fill(t);
}

static void traffic_recv(TestQp *qp, const IbCompletion *wc)
{
    Traffic *t = qp->user;

    g_assert_cmphex(wc->status, ==, IB_WC_SUCCESS);
    g_assert_cmpuint(wc->id, ==, t->received);
    t->received++;
}

/* Sends packets once more, some later than others that came after them. */
static void duplicate(TestPort *port, const uint8_t *data, size_t len)
{
    World *world = port->hca->world;
    uint8_t head[2];

    if (g_rand_int_range(world->rand, 0, 100) < 10 &&
        world->pending_dup->len < 100000) {
        ib_put_be16(head, len);
        g_byte_array_append(world->pending_dup, head, 2);
        g_byte_array_append(world->pending_dup, data, len);
    }
}

static void send_duplicates(World *world, TestPort *port)
{
    GByteArray *all = world->pending_dup;
    size_t at = 0;

    world->pending_dup = g_byte_array_new();
    while (at < all->len) {
        IbPacket packet = {
            .data = all->data + at + 2, .len = ib_get_be16(all->data + at),
            .flags = IB_PACKET_NO_ICRC,
        };

        ib_link_transmit(ib_hca_link(port->hca->hca, port->num), &packet,
                         ib_lrh_vl(packet.data));
        at += 2 + packet.len;
    }
    ib_link_flush(ib_hca_link(port->hca->hca, port->num));
    g_byte_array_unref(all);
}

static void traffic(unsigned loss, bool dup, bool same, bool immediate,
                    unsigned total)
{
    IbHcaConfig config = world_config(1);
    Traffic t = { .total = total, .step = 20000 };
    int64_t end;
    RcPair p;

    config.link.max_frame = 8192;
    config.link.timeout_ms = 60000;
    rc_prepare(&p, &config, same, 65 * t.step);
    p.qa->attr.path_mtu = p.qb->attr.path_mtu = IB_MTU_1024;
    hca_connect_qps(p.qa, p.qb, IB_QPT_RC);
    t.p = &p;
    memset(p.mb->mem, 0, p.mb->len);
    memset(p.ma->mem, 0, p.ma->len);
    p.world->loss_percent = loss;
    p.world->immediate = immediate;
    p.qa->user = p.qb->user = &t;
    p.qa->on_wc = traffic_wc;
    p.qb->on_wc = traffic_recv;
    if (dup) {
        p.world->pending_dup = g_byte_array_new();
        p.a->port[1].on_tx = duplicate;
    }
    traffic_fill(&t);
    end = p.world->now + 10000 * 1000 * WORLD_MS;
    while (t.done < t.total && p.world->now < end) {
        world_run_until(p.world, traffic_done, &t, WORLD_MS / 20);
        if (dup) {
            send_duplicates(p.world, &p.a->port[1]);
        }
    }
    g_assert_cmpuint(t.done, ==, t.total);
    g_assert_cmpuint(t.received, ==, 2 * t.total / 5);
    g_assert_cmpint(ib_qp_state(p.qa->qp), ==, IB_QPS_RTS);
    if (loss) {
        g_assert_cmpuint(p.world->frames_lost, >, total / 10);
    }
    if (dup) {
        g_assert_cmpuint(ib_hca_discards(p.b->hca, IB_DISCARD_PSN), >, 0);
        p.a->port[1].on_tx = NULL;
        g_byte_array_unref(p.world->pending_dup);
    }
    world_free(p.world);
}

static void test_traffic(void)
{
    traffic(0, false, false, false, 1000);
    traffic(0, false, true, false, 1000);
    traffic(0, false, false, true, 1000);
}

static void test_loss(void)
{
    traffic(10, false, false, false, 2000);
    traffic(10, false, false, true, 2000);
}

static void test_duplicates(void)
{
    traffic(0, true, false, false, 1000);
    traffic(5, true, false, false, 1000);
}

/* --------------------------------------------------------------- errors */

static void test_rnr(void)
{
    RcPair p;
    int64_t start;

    rc_prepare(&p, NULL, false, 4096);
    p.qb->attr.min_rnr_timer = 14;            /* 1.28 ms */
    hca_connect_qps(p.qa, p.qb, IB_QPT_RC);
    start = p.world->now;
    rc_add(&p, IB_WR_SEND, 0, 100);
    rc_add(&p, IB_WR_RDMA_WRITE, 0, 100);
    qp_ring(p.qa);
    world_run(p.world, WORLD_MS);
    g_assert_cmpuint(qp_num_wc(p.qa), ==, 0);
    g_assert_cmpuint(ib_hca_discards(p.b->hca, IB_DISCARD_NO_RECV), ==, 1);
    qp_post_recv(p.qb, p.mb, 0, 4096);
    world_run(p.world, 200 * 1000);
    g_assert_cmpuint(qp_num_wc(p.qa), ==, 0);
    g_assert_cmpint(p.world->now, <, start + 1280 * 1000);
    world_run(p.world, 100 * 1000);
    expect_send(&p, 0, IB_WC_SUCCESS);
    expect_send(&p, 1, IB_WC_SUCCESS);
    g_assert_cmpuint(qp_num_wc(p.qb), ==, 1);

    /* Without end (7): it never gives up. */
    rc_add(&p, IB_WR_SEND, 0, 100);
    qp_ring(p.qa);
    world_run(p.world, 100 * WORLD_MS);
    g_assert_cmpuint(qp_num_wc(p.qa), ==, 0);
    g_assert_cmpuint(ib_hca_discards(p.b->hca, IB_DISCARD_NO_RECV), >, 50);
    world_free(p.world);

    rc_prepare(&p, NULL, false, 4096);
    p.qa->attr.rnr_retry = 3;
    hca_connect_qps(p.qa, p.qb, IB_QPT_RC);
    rc_add(&p, IB_WR_SEND, 0, 100);
    rc_add(&p, IB_WR_SEND, 0, 100);
    rc_go(&p);
    expect_send(&p, 0, IB_WC_RNR_RETRY_EXC_ERR);
    expect_send(&p, 1, IB_WC_WR_FLUSH_ERR);
    g_assert_cmpuint(ib_hca_discards(p.b->hca, IB_DISCARD_NO_RECV), ==, 4);
    g_assert_cmpint(ib_qp_state(p.qb->qp), ==, IB_QPS_RTS);
    world_free(p.world);
}

static void test_retry_exceeded(void)
{
    RcPair p;
    int64_t start;
    unsigned before;

    rc_prepare(&p, NULL, false, 4096);
    p.qa->attr.retry_count = 3;
    p.qa->attr.ack_timeout = 14;              /* 67.1 ms */
    hca_connect_qps(p.qa, p.qb, IB_QPT_RC);
    g_assert_true(ib_qp_modify(p.qb->qp, IB_QPS_RESET, NULL));
    start = p.world->now;
    before = p.a->port[1].tx_packets;
    rc_add(&p, IB_WR_RDMA_WRITE, 0, 100);
    rc_add(&p, IB_WR_RDMA_WRITE, 0, 100);
    qp_ring(p.qa);
    /* Once, twice, four and four times that. */
    world_run(p.world, 730 * WORLD_MS);
    g_assert_cmpuint(qp_num_wc(p.qa), ==, 0);
    g_assert_cmpuint(p.a->port[1].tx_packets - before, ==, 8);
    world_run(p.world, 20 * WORLD_MS);
    g_assert_cmpint(p.world->now - start, >, 11 * 67 * WORLD_MS);
    expect_send(&p, 0, IB_WC_RETRY_EXC_ERR);
    expect_send(&p, 1, IB_WC_WR_FLUSH_ERR);
    g_assert_cmpuint(p.a->port[1].tx_packets - before, ==, 8);
    world_free(p.world);
}

/* What a peer may not do: it is told, and this end hears of it, too. */
static void one_error(IbWrOpcode opcode, void (*spoil)(RcPair *, IbSendWr *),
                      IbWcStatus status, int event)
{
    RcPair p;
    IbSendWr *wr;

    rc_pair(&p, false, 65536);
    qp_post_recv(p.qb, p.mb, 0, 4096);
    rc_add(&p, IB_WR_RDMA_WRITE, 0, 20);
    wr = rc_add(&p, opcode, 0, opcode == IB_WR_FETCH_ADD ? 8 : 20000);
    rc_add(&p, IB_WR_RDMA_WRITE, 0, 20);
    spoil(&p, wr);
    rc_go(&p);
    expect_send(&p, 0, IB_WC_SUCCESS);
    expect_send(&p, 1, status);
    expect_send(&p, 2, IB_WC_WR_FLUSH_ERR);
    g_assert_cmpint(ib_qp_state(p.qa->qp), ==, IB_QPS_ERR);
    g_assert_cmpint(ib_qp_state(p.qb->qp), ==, IB_QPS_ERR);
    if (event >= 0) {
        g_assert_true(qp_had_event(p.qb, event));
        g_assert_cmphex(qp_take_wc(p.qb).status, ==, IB_WC_WR_FLUSH_ERR);
    }
    world_free(p.world);
}

static void spoil_key(RcPair *p, IbSendWr *wr)
{
    wr->remote_key = 0x4711;
}

static void spoil_range(RcPair *p, IbSendWr *wr)
{
    wr->remote_va = p->mb->va + p->mb->len - 1;
}

static void spoil_rights(RcPair *p, IbSendWr *wr)
{
    p->mb->rights = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE;
}

static void spoil_access(RcPair *p, IbSendWr *wr)
{
    IbQpAttr attr = p->qb->attr;

    attr.access = IB_ACCESS_REMOTE_WRITE;
    g_assert_true(ib_qp_modify(p->qb->qp, IB_QPS_RTS, &attr));
}

static void spoil_recv_memory(RcPair *p, IbSendWr *wr)
{
    p->qb->own_rq.wr[0].sge[0].key = 0x4711;
}

static void spoil_nothing(RcPair *p, IbSendWr *wr)
{
}

static void test_remote_errors(void)
{
    one_error(IB_WR_RDMA_WRITE, spoil_key, IB_WC_REM_ACCESS_ERR,
              IB_EVENT_QP_ACCESS_ERR);
    one_error(IB_WR_RDMA_WRITE, spoil_range, IB_WC_REM_ACCESS_ERR,
              IB_EVENT_QP_ACCESS_ERR);
    one_error(IB_WR_RDMA_READ, spoil_key, IB_WC_REM_ACCESS_ERR,
              IB_EVENT_QP_ACCESS_ERR);
    one_error(IB_WR_RDMA_READ, spoil_rights, IB_WC_REM_ACCESS_ERR,
              IB_EVENT_QP_ACCESS_ERR);
    one_error(IB_WR_RDMA_READ, spoil_access, IB_WC_REM_ACCESS_ERR,
              IB_EVENT_QP_ACCESS_ERR);
    one_error(IB_WR_FETCH_ADD, spoil_access, IB_WC_REM_ACCESS_ERR,
              IB_EVENT_QP_ACCESS_ERR);
    /* A receive entry of 4096 bytes for 20000. */
    one_error(IB_WR_SEND, spoil_nothing, IB_WC_REM_INV_REQ_ERR, -1);
    one_error(IB_WR_SEND, spoil_recv_memory, IB_WC_REM_OP_ERR, -1);
}

static void test_recv_length(void)
{
    RcPair p;
    IbCompletion wc;

    rc_pair(&p, false, 65536);
    qp_post_recv(p.qb, p.mb, 0, 4999);
    qp_post_recv(p.qb, p.mb, 0, 4999);
    rc_add(&p, IB_WR_SEND, 0, 5000);
    rc_go(&p);
    wc = qp_take_wc(p.qb);
    g_assert_cmphex(wc.status, ==, IB_WC_LOC_LEN_ERR);
    g_assert_cmpuint(wc.id, ==, 0);
    g_assert_cmphex(qp_take_wc(p.qb).status, ==, IB_WC_WR_FLUSH_ERR);
    g_assert_cmpuint(p.qb->events->len, ==, 0);   /* the completion says it */
    world_free(p.world);
}

/* A local error waits for those before it, and takes those behind with it. */
static void test_local_error(void)
{
    RcPair p;

    rc_pair(&p, false, 65536);
    rc_add(&p, IB_WR_RDMA_WRITE, 0, 50000);
    /* Its memory ends in the middle. */
    rc_add(&p, IB_WR_RDMA_WRITE, 0, 50000)->sge[0].va += 40000;
    rc_add(&p, IB_WR_RDMA_WRITE, 0, 50000);
    rc_go(&p);
    expect_send(&p, 0, IB_WC_SUCCESS);
    expect_send(&p, 1, IB_WC_LOC_PROT_ERR);
    expect_send(&p, 2, IB_WC_WR_FLUSH_ERR);
    g_assert_cmpint(ib_qp_state(p.qa->qp), ==, IB_QPS_ERR);
    world_free(p.world);

    rc_pair(&p, false, 65536);
    rc_add(&p, IB_WR_RDMA_WRITE, 0, 50000);
    rc_add(&p, IB_WR_RAW, 0, 8);
    rc_go(&p);
    expect_send(&p, 0, IB_WC_SUCCESS);
    expect_send(&p, 1, IB_WC_LOC_QP_OP_ERR);
    world_free(p.world);

    rc_pair(&p, false, 65536);
    p.ma->rights = 0;                         /* nowhere to put the answer */
    rc_add(&p, IB_WR_RDMA_READ, 0, 50000);
    rc_go(&p);
    expect_send(&p, 0, IB_WC_LOC_PROT_ERR);
    world_free(p.world);
}

/* ---------------------------------------------------------------- states */

static void test_comm_established(void)
{
    RcPair p;

    rc_prepare(&p, NULL, false, 4096);
    hca_connect_qps(p.qa, p.qb, IB_QPT_RC);
    g_assert_true(ib_qp_modify(p.qb->qp, IB_QPS_RESET, NULL));
    hca_qp_to(p.qb, IB_QPS_RTR);
    rc_add(&p, IB_WR_RDMA_WRITE, 0, 100);
    rc_add(&p, IB_WR_RDMA_WRITE, 0, 100);
    rc_go(&p);
    expect_send(&p, 0, IB_WC_SUCCESS);        /* a responder answers in RTR */
    g_assert_cmpuint(p.qb->events->len, ==, 1);
    g_assert_true(qp_had_event(p.qb, IB_EVENT_COMM_EST));
    world_free(p.world);
}

static void test_drain(void)
{
    RcPair p;
    unsigned i, n;

    rc_pair(&p, false, MB);
    world_stop(&p.a->port[1], true);
    for (i = 0; i < 50; i++) {
        rc_add(&p, IB_WR_RDMA_WRITE, 0, 40000);
    }
    qp_ring(p.qa);
    g_assert_true(ib_qp_modify(p.qa->qp, IB_QPS_SQD, &p.qa->attr));
    g_assert_true(ib_qp_sq_draining(p.qa->qp));
    world_stop(&p.a->port[1], false);
    world_run(p.world, 10 * WORLD_MS);
    g_assert_false(ib_qp_sq_draining(p.qa->qp));
    g_assert_true(qp_had_event(p.qa, IB_EVENT_SQ_DRAINED));
    n = qp_num_wc(p.qa);
    g_assert_cmpuint(n, >, 0);
    g_assert_cmpuint(n, <, 50);
    g_assert_true(ib_qp_modify(p.qa->qp, IB_QPS_RTS, &p.qa->attr));
    world_run(p.world, 10 * WORLD_MS);
    g_assert_cmpuint(qp_num_wc(p.qa), ==, 50);
    world_free(p.world);
}

/* In the middle of messages both ways: all that is open completes once. */
static void test_flush(void)
{
    RcPair p;
    unsigned i;

    rc_prepare(&p, NULL, false, MB);
    p.qb->attr.has_srq = true;
    hca_connect_qps(p.qa, p.qb, IB_QPT_RC);
    for (i = 0; i < 10; i++) {
        qp_post_recv(p.qb, p.mb, 0, MB);
        rc_add(&p, IB_WR_SEND, 0, MB);
    }
    qp_ring(p.qa);
    world_run(p.world, 3000);
    g_assert_cmpuint(qp_num_wc(p.qb), ==, 0);
    g_assert_cmpuint(p.qb->rq->consumer, ==, 1);
    g_assert_true(ib_qp_modify(p.qa->qp, IB_QPS_ERR, NULL));
    g_assert_cmpuint(qp_num_wc(p.qa), ==, 10);
    for (i = 0; i < 10; i++) {
        expect_send(&p, i, IB_WC_WR_FLUSH_ERR);
    }
    g_assert_true(ib_qp_modify(p.qb->qp, IB_QPS_ERR, NULL));
    g_assert_cmphex(qp_take_wc(p.qb).status, ==, IB_WC_WR_FLUSH_ERR);
    g_assert_cmpuint(qp_num_wc(p.qb), ==, 0);     /* the SRQ's stay there */
    g_assert_true(qp_had_event(p.qb, IB_EVENT_QP_LAST_WQE_REACHED));
    g_assert_cmpuint(p.qb->events->len, ==, 1);
    world_run(p.world, 1000 * WORLD_MS);
    g_assert_cmpuint(qp_num_wc(p.qa), ==, 0);

    /* RESET in the middle: silence. */
    g_assert_true(ib_qp_modify(p.qa->qp, IB_QPS_RESET, NULL));
    g_assert_true(ib_qp_modify(p.qb->qp, IB_QPS_RESET, NULL));
    hca_qp_to(p.qa, IB_QPS_RTS);
    hca_qp_to(p.qb, IB_QPS_RTS);
    rc_add(&p, IB_WR_SEND, 0, MB);
    qp_ring(p.qa);
    world_run(p.world, 3000);
    g_assert_true(ib_qp_modify(p.qa->qp, IB_QPS_RESET, NULL));
    world_run(p.world, 1000 * WORLD_MS);
    g_assert_cmpuint(qp_num_wc(p.qa), ==, 0);
    world_free(p.world);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/hca/rc/sizes", test_sizes);
    g_test_add_func("/hca/rc/sizes-loopback", test_sizes_loopback);
    g_test_add_func("/hca/rc/immediate", test_immediate);
    g_test_add_func("/hca/rc/gather", test_gather);
    g_test_add_func("/hca/rc/atomics", test_atomics);
    g_test_add_func("/hca/rc/masked-atomics", test_masked_atomics);
    g_test_add_func("/hca/rc/invalidate", test_invalidate);
    g_test_add_func("/hca/rc/order", test_order);
    g_test_add_func("/hca/rc/read-limit", test_read_limit);
    g_test_add_func("/hca/rc/traffic", test_traffic);
    g_test_add_func("/hca/rc/loss", test_loss);
    g_test_add_func("/hca/rc/duplicates", test_duplicates);
    g_test_add_func("/hca/rc/rnr", test_rnr);
    g_test_add_func("/hca/rc/retry-exceeded", test_retry_exceeded);
    g_test_add_func("/hca/rc/remote-errors", test_remote_errors);
    g_test_add_func("/hca/rc/recv-length", test_recv_length);
    g_test_add_func("/hca/rc/local-error", test_local_error);
    g_test_add_func("/hca/rc/comm-established", test_comm_established);
    g_test_add_func("/hca/rc/drain", test_drain);
    g_test_add_func("/hca/rc/flush", test_flush);
    return g_test_run();
}
