/*
 * Unreliable connections, XRC and path migration
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hca-world.h"

static const unsigned all_rights = IB_ACCESS_LOCAL_WRITE |
    IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC;

typedef struct Pair {
    World *world;
    TestHca *a, *b;
    TestQp *qa, *qb;
    TestKey *ma, *mb;
} Pair;

static void pair_init(Pair *p, const IbHcaConfig *config, uint32_t bytes)
{
    p->world = world_pair(config);
    p->a = p->world->hca[0];
    p->b = p->world->hca[1];
    p->qa = hca_qp(p->a, 0x40);
    p->qb = hca_qp(p->b, 0x48);
    p->ma = hca_memory(p->a, bytes, all_rights);
    p->mb = hca_memory(p->b, bytes, all_rights);
    fill_random(p->world, p->ma->mem, bytes);
}

static IbSendWr *add(Pair *p, IbWrOpcode opcode, uint32_t len)
{
    IbSendWr *wr = qp_add_send(p->qa, opcode, p->ma, 0, len);

    wr->remote_va = p->mb->va;
    wr->remote_key = p->mb->key;
    return wr;
}

static void go(Pair *p)
{
    qp_ring(p->qa);
    world_run(p->world, 20 * WORLD_MS);
}

static void test_uc(void)
{
    Pair p;
    IbCompletion wc;

    pair_init(&p, NULL, 100000);
    p.qa->attr.path_mtu = p.qb->attr.path_mtu = IB_MTU_512;
    hca_connect_qps(p.qa, p.qb, IB_QPT_UC);
    qp_post_recv(p.qb, p.mb, 0, 100000);
    qp_post_recv(p.qb, NULL, 0, 0);
    add(&p, IB_WR_SEND, 51201);
    go(&p);
    wc = qp_take_wc(p.qb);
    g_assert_cmphex(wc.status, ==, IB_WC_SUCCESS);
    g_assert_cmpuint(wc.byte_len, ==, 51201);
    g_assert_cmpmem(p.mb->mem, 51201, p.ma->mem, 51201);
    fill_random(p.world, p.ma->mem, 100000);
    add(&p, IB_WR_RDMA_WRITE_IMM, 100000)->imm = 9;
    go(&p);
    wc = qp_take_wc(p.qb);
    g_assert_cmphex(wc.flags, ==, IB_WC_IMM | IB_WC_RDMA_WRITE);
    g_assert_cmpuint(wc.byte_len, ==, 100000);
    g_assert_cmpmem(p.mb->mem, 100000, p.ma->mem, 100000);
    g_assert_cmpuint(qp_num_wc(p.qa), ==, 2);
    g_assert_cmpuint(p.b->port[1].tx_packets, ==, 0);     /* no answer */

    /* No receive entry, no right: dropped without a word, both live on. */
    add(&p, IB_WR_SEND, 3000);
    add(&p, IB_WR_RDMA_WRITE, 3000)->remote_key = 0x999;
    go(&p);
    g_assert_cmpuint(qp_num_wc(p.qa), ==, 4);
    g_assert_cmpint(ib_qp_state(p.qb->qp), ==, IB_QPS_RTS);
    qp_post_recv(p.qb, p.mb, 0, 100000);
    add(&p, IB_WR_SEND, 30);
    go(&p);
    g_assert_cmpuint(qp_take_wc(p.qb).byte_len, ==, 30);

    /* What UC does not have leads to SQE, and from there back to RTS. */
    add(&p, IB_WR_RDMA_READ, 30);
    add(&p, IB_WR_SEND, 30);
    go(&p);
    g_assert_cmpint(ib_qp_state(p.qa->qp), ==, IB_QPS_SQE);
    g_assert_cmpuint(qp_num_wc(p.qa), ==, 7);
    while (qp_num_wc(p.qa) > 2) {
        g_assert_cmphex(qp_take_wc(p.qa).status, ==, IB_WC_SUCCESS);
    }
    g_assert_cmphex(qp_take_wc(p.qa).status, ==, IB_WC_LOC_QP_OP_ERR);
    g_assert_cmphex(qp_take_wc(p.qa).status, ==, IB_WC_WR_FLUSH_ERR);
    g_assert_true(ib_qp_modify(p.qa->qp, IB_QPS_RTS, &p.qa->attr));
    qp_post_recv(p.qb, p.mb, 0, 100000);
    add(&p, IB_WR_SEND, 30);
    go(&p);
    g_assert_cmpuint(qp_take_wc(p.qb).byte_len, ==, 30);
    world_free(p.world);
}

/* A message with a hole is no message; the next one is, in the same entry. */
static void test_uc_loss(void)
{
    IbHcaConfig config = world_config(1);
    unsigned i, good = 0;
    Pair p;

    config.link.max_frame = 8192;
    config.link.timeout_ms = 60000;
    pair_init(&p, &config, 100000);
    hca_connect_qps(p.qa, p.qb, IB_QPT_UC);
    p.world->loss_percent = 10;
    for (i = 0; i < 200; i++) {
        memset(p.mb->mem, 0, 100000);
        qp_post_recv(p.qb, p.mb, 0, 100000);
        ib_put_be32(p.ma->mem, i);
        add(&p, IB_WR_SEND, 20000);
        go(&p);
        g_assert_cmphex(qp_take_wc(p.qa).status, ==, IB_WC_SUCCESS);
        if (qp_num_wc(p.qb)) {
            IbCompletion wc = qp_take_wc(p.qb);

            g_assert_cmphex(wc.status, ==, IB_WC_SUCCESS);
            g_assert_cmpuint(wc.byte_len, ==, 20000);
            g_assert_cmpuint(wc.id, ==, good);
            g_assert_cmpmem(p.mb->mem, 20000, p.ma->mem, 20000);
            good++;
        }
    }
    g_assert_cmpuint(good, >, 60);
    g_assert_cmpuint(good, <, 190);
    world_free(p.world);
}

/* XRC: the sender names the SRQ; the target answers for it. */
static void test_xrc(void)
{
    TestRecvQueue srq = { .producer = 0 };
    Pair p;
    IbCompletion wc;
    IbSendWr *wr;

    pair_init(&p, NULL, 100000);
    p.b->xrc_srq = &srq;
    p.qb->rq = &srq;
    hca_connect_qps(p.qa, p.qb, IB_QPT_XRC_INI);
    qp_post_recv(p.qb, p.mb, 0, 100000);
    qp_post_recv(p.qb, p.mb, 0, 100000);
    add(&p, IB_WR_SEND, 50000)->xrc_srqn = 0x1234;
    go(&p);
    g_assert_cmphex(qp_take_wc(p.qa).status, ==, IB_WC_SUCCESS);
    wc = qp_take_wc(p.qb);
    g_assert_cmphex(wc.status, ==, IB_WC_SUCCESS);
    g_assert_cmphex(wc.xrc_srqn, ==, 0x1234);
    g_assert_cmphex(p.b->xrc_srqn, ==, 0x1234);
    g_assert_cmpuint(wc.byte_len, ==, 50000);
    g_assert_cmpmem(p.mb->mem, 50000, p.ma->mem, 50000);
    wr = add(&p, IB_WR_RDMA_WRITE_IMM, 60000);
    wr->xrc_srqn = 0x777;
    fill_random(p.world, p.ma->mem, 60000);
    add(&p, IB_WR_RDMA_READ, 70000);
    add(&p, IB_WR_FETCH_ADD, 8);
    go(&p);
    g_assert_cmphex(qp_take_wc(p.qb).xrc_srqn, ==, 0x777);
    g_assert_cmpuint(qp_num_wc(p.qa), ==, 3);
    while (qp_num_wc(p.qa)) {
        g_assert_cmphex(qp_take_wc(p.qa).status, ==, IB_WC_SUCCESS);
    }
    g_assert_cmpmem(p.mb->mem + 8, 59992, p.ma->mem + 8, 59992);
    world_free(p.world);
}

/* An SRQ of another domain: an invalid request, and nothing is taken. */
static void test_xrc_domain(void)
{
    static const IbWrOpcode opcodes[] = {
        IB_WR_SEND, IB_WR_RDMA_WRITE, IB_WR_RDMA_READ, IB_WR_FETCH_ADD,
    };
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(opcodes); i++) {
        TestRecvQueue srq = { .producer = 0 };
        Pair p;

        pair_init(&p, NULL, 100000);
        p.b->xrc_srq = &srq;
        p.b->xrc_only = 0x1234;
        p.qb->rq = &srq;
        hca_connect_qps(p.qa, p.qb, IB_QPT_XRC_INI);
        qp_post_recv(p.qb, p.mb, 0, 100000);
        add(&p, IB_WR_RDMA_WRITE, 5000)->xrc_srqn = 0x1234;
        go(&p);
        g_assert_cmphex(qp_take_wc(p.qa).status, ==, IB_WC_SUCCESS);
        memset(p.mb->mem, 0, 16);
        add(&p, opcodes[i], 8)->xrc_srqn = 0x1235;
        go(&p);
        g_assert_cmphex(qp_take_wc(p.qa).status, ==, IB_WC_REM_INV_REQ_ERR);
        g_assert_true(qp_had_event(p.qb, IB_EVENT_QP_REQ_ERR));
        g_assert_cmpuint(qp_num_wc(p.qb), ==, 0);
        g_assert_cmpuint(srq.consumer, ==, 0);
        g_assert_cmphex(ib_get_be64(p.mb->mem), ==, 0);
        world_free(p.world);
    }
}

/* Two adapters on two cables, and QPs with a path over each. */
static void migration_init(Pair *p)
{
    IbHcaConfig config = world_config(2);
    unsigned i;

    p->world = world_new();
    p->a = world_add(p->world, &config);
    p->b = world_add(p->world, &config);
    for (i = 1; i <= 2; i++) {
        world_connect(&p->a->port[i], &p->b->port[i]);
    }
    world_bring_up(p->world);
    for (i = 1; i <= 2; i++) {
        world_set_lid(p->a, i, 10 * i, 0);
        world_set_lid(p->b, i, 10 * i + 1, 0);
    }
    p->qa = hca_qp(p->a, 0x40);
    p->qb = hca_qp(p->b, 0x48);
    p->ma = hca_memory(p->a, 100000, all_rights);
    p->mb = hca_memory(p->b, 100000, all_rights);
    fill_random(p->world, p->ma->mem, 100000);
    for (i = 0; i < 2; i++) {
        TestQp *qp = i ? p->qb : p->qa;

        qp->attr.retry_count = 2;
        qp->attr.alt_port = 2;
        qp->attr.alt_path.dlid = i ? 20 : 21;
        qp->attr.alt_ack_timeout = 14;
        qp->attr.path_mig_state = IB_PATH_ARMED;
    }
    hca_connect_qps(p->qa, p->qb, IB_QPT_RC);
}

/*
 * A driver that sets MIGRATED migrates at once, and its peer follows; armed
 * anew, both go back.  IBA Vol.1 17.2.8.
 */
static void test_migration_asked(void)
{
    IbQpAttr attr;
    unsigned round, i;
    Pair p;

    migration_init(&p);
    for (round = 0; round < 3; round++) {
        TestQp *qps[] = { p.qa, p.qb };

        attr = *ib_qp_attr(p.qa->qp);
        attr.path_mig_state = IB_PATH_MIGRATED;
        g_assert_true(ib_qp_modify(p.qa->qp, IB_QPS_RTS, &attr));
        g_assert_true(qp_had_event(p.qa, IB_EVENT_PATH_MIG));
        g_assert_cmpint(ib_qp_attr(p.qa->qp)->port, ==, round % 2 ? 1 : 2);
        add(&p, IB_WR_RDMA_WRITE, 5000);
        go(&p);
        g_assert_cmphex(qp_take_wc(p.qa).status, ==, IB_WC_SUCCESS);
        g_assert_true(qp_had_event(p.qb, IB_EVENT_PATH_MIG));
        g_assert_cmpint(ib_qp_attr(p.qb->qp)->port, ==, round % 2 ? 1 : 2);

        /* Rearmed on both sides, a packet each way arms them. */
        for (i = 0; i < 2; i++) {
            attr = *ib_qp_attr(qps[i]->qp);
            g_assert_cmpint(attr.path_mig_state, ==, IB_PATH_MIGRATED);
            attr.path_mig_state = IB_PATH_REARM;
            g_assert_true(ib_qp_modify(qps[i]->qp, IB_QPS_RTS, &attr));
        }
        add(&p, IB_WR_RDMA_WRITE, 10);
        go(&p);
        g_assert_cmphex(qp_take_wc(p.qa).status, ==, IB_WC_SUCCESS);
        for (i = 0; i < 2; i++) {
            g_assert_cmpint(ib_qp_attr(qps[i]->qp)->path_mig_state, ==,
                            IB_PATH_ARMED);
        }
    }
    world_free(p.world);
}

/* When the first cable is cut both ends take the second. */
static void test_migration(void)
{
    Pair p;

    migration_init(&p);
    add(&p, IB_WR_RDMA_WRITE, 1000);
    go(&p);
    g_assert_cmphex(qp_take_wc(p.qa).status, ==, IB_WC_SUCCESS);
    g_assert_cmpuint(p.a->port[2].tx_packets, ==, 0);

    ib_hca_close_port(p.a->hca, 1);
    add(&p, IB_WR_RDMA_WRITE, 100000);
    qp_ring(p.qa);
    world_run(p.world, 1000 * WORLD_MS);
    g_assert_cmphex(qp_take_wc(p.qa).status, ==, IB_WC_SUCCESS);
    g_assert_cmpmem(p.mb->mem, 100000, p.ma->mem, 100000);
    g_assert_true(qp_had_event(p.qa, IB_EVENT_PATH_MIG));
    g_assert_true(qp_had_event(p.qb, IB_EVENT_PATH_MIG));
    g_assert_cmpint(ib_qp_attr(p.qa->qp)->path_mig_state, ==,
                    IB_PATH_MIGRATED);
    g_assert_cmpint(ib_qp_attr(p.qb->qp)->port, ==, 2);
    g_assert_cmpint(ib_qp_attr(p.qb->qp)->alt_port, ==, 1);

    /* Without another path left it is an error. */
    ib_hca_close_port(p.a->hca, 2);
    add(&p, IB_WR_RDMA_WRITE, 100);
    qp_ring(p.qa);
    world_run(p.world, 1000 * WORLD_MS);
    g_assert_cmphex(qp_take_wc(p.qa).status, ==, IB_WC_RETRY_EXC_ERR);
    world_free(p.world);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/hca/uc/messages", test_uc);
    g_test_add_func("/hca/uc/loss", test_uc_loss);
    g_test_add_func("/hca/xrc", test_xrc);
    g_test_add_func("/hca/xrc/domain", test_xrc_domain);
    g_test_add_func("/hca/migration", test_migration);
    g_test_add_func("/hca/migration/asked", test_migration_asked);
    return g_test_run();
}
