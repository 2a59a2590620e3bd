/*
 * QP0 and QP1: raw sends, management packets, what an idle port lets through
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hca-world.h"

#define MAD_PACKET  (8 + 12 + 8 + 256 + 4)

typedef struct Mgmt {
    World *world;
    TestHca *a, *b;
    TestQp *smi[2], *gsi[2];
    TestKey *ma, *mb;
    uint8_t last[MAD_PACKET];     /* sent by A, as it went */
} Mgmt;

static TestQp *special(TestHca *hca, unsigned which)
{
    /* Numbers as a ConnectX-3's driver chooses them. */
    TestQp *qp = hca_qp(hca, 0x200 + 2 * which);

    qp->attr.type = which ? IB_QPT_GSI : IB_QPT_SMI;
    qp->attr.port = 1;
    hca_qp_to(qp, IB_QPS_RTS);
    ib_hca_bind_special(hca->hca, 1, which, qp->qp);
    return qp;
}

static Mgmt *current;

static void keep_last(TestPort *port, const uint8_t *packet, size_t len)
{
    g_assert_cmpuint(len, ==, MAD_PACKET);
    memcpy(current->last, packet, len);
}

/* @active: the ports are, with LIDs 1 and 2; else just trained. */
static void mgmt_pair(Mgmt *m, bool active, bool crc)
{
    IbHcaConfig config = world_config(1);
    unsigned i;

    config.link.crc = crc;
    if (active) {
        m->world = world_pair(&config);
    } else {
        m->world = world_new();
        world_add(m->world, &config);
        world_add(m->world, &config);
        world_connect(&m->world->hca[0]->port[1], &m->world->hca[1]->port[1]);
        for (i = 0; i < 2; i++) {
            ib_hca_open_port(m->world->hca[i]->hca, 1);
        }
        world_run(m->world, 1000 * WORLD_MS);
    }
    m->a = m->world->hca[0];
    m->b = m->world->hca[1];
    for (i = 0; i < 2; i++) {
        m->smi[i] = special(m->world->hca[i], 0);
        m->gsi[i] = special(m->world->hca[i], 1);
    }
    m->ma = hca_memory(m->a, 4096, IB_ACCESS_LOCAL_WRITE);
    m->mb = hca_memory(m->b, 4096, IB_ACCESS_LOCAL_WRITE);
    current = m;
    m->a->port[1].on_tx = keep_last;
}

/* The driver's packet in A's memory, without SLID and ICRC. */
static IbSendWr *add_raw(Mgmt *m, TestQp *qp, uint16_t dlid, bool qp0)
{
    IbPacketRoute route = { .vl = qp0 ? 15 : 0, .dlid = dlid };
    IbPacketBth bth = { .opcode = IB_OP_UD_SEND_ONLY, .pkey = 0xffff,
                        .dest_qpn = !qp0, .psn = 5 };
    uint8_t mad[256];
    IbSendWr *wr;
    size_t at;

    fill_random(m->world, mad, 256);
    at = ib_packet_put_ud(m->ma->mem, &route, &bth,
                          qp0 ? 0 : IB_QKEY_WELL_KNOWN, !qp0, 0, 256);
    g_assert_cmpuint(at, ==, 28);
    memcpy(m->ma->mem + at, mad, 256);
    memset(m->ma->mem + 28 + 256, 0, 4);
    wr = qp_add_send(qp, IB_WR_RAW, m->ma, 0, 28);
    wr->sge[1] = (IbSge) { .va = m->ma->va + 28, .len = 256,
                           .key = m->ma->key };
    wr->sge[2] = (IbSge) { .ptr = m->ma->mem + 28 + 256, .len = 4 };
    wr->num_sge = 3;
    wr->address.dlid = dlid;
    wr->flags |= qp0 ? IB_WR_RAW_VL15 : 0;
    return wr;
}

static void go(Mgmt *m, TestQp *qp)
{
    qp_ring(qp);
    world_run(m->world, WORLD_MS);
    g_assert_cmphex(qp_take_wc(qp).status, ==, IB_WC_SUCCESS);
}

/* Directed route over a link that just came up: QP0 yes, QP1 no. */
static void test_init_state(void)
{
    Mgmt m;
    IbSendWr *wr;
    IbCompletion wc;

    mgmt_pair(&m, false, false);
    qp_post_recv(m.smi[1], m.mb, 0, 296);
    qp_post_recv(m.gsi[1], m.mb, 0, 296);
    wr = add_raw(&m, m.smi[0], 0xffff, true);
    wr->flags |= IB_WR_RAW_SLID;
    ib_field_set(m.ma->mem, IB_LRH_SLID, 0xffff);
    go(&m, m.smi[0]);
    wc = qp_take_wc(m.smi[1]);
    g_assert_cmphex(wc.status, ==, IB_WC_SUCCESS);
    g_assert_cmpuint(wc.byte_len, ==, 296);
    g_assert_cmpuint(wc.src_qpn, ==, 0);
    g_assert_cmphex(wc.slid, ==, 0xffff);
    g_assert_cmpmem(m.mb->mem + 40, 256, m.ma->mem + 28, 256);

    add_raw(&m, m.gsi[0], 0xffff, false);
    go(&m, m.gsi[0]);
    g_assert_cmpuint(ib_hca_discards(m.a->hca, IB_DISCARD_TX_PORT), ==, 1);
    g_assert_cmpuint(qp_num_wc(m.gsi[1]), ==, 0);
    world_free(m.world);
}

/* SLID from the port unless given; VL from the SL; ICRC where it is wanted. */
static void test_raw(void)
{
    Mgmt m;
    IbSendWr *wr;

    mgmt_pair(&m, true, true);
    world_set_lid(m.a, 1, 4, 1);
    qp_post_recv(m.gsi[1], m.mb, 0, 296);
    qp_post_recv(m.gsi[1], m.mb, 0, 296);
    add_raw(&m, m.gsi[0], 2, false);
    ib_field_set(m.ma->mem, IB_LRH_SLID, 1);      /* path bits */
    go(&m, m.gsi[0]);
    g_assert_cmpuint(ib_lrh_slid(m.last), ==, 5);
    g_assert_true(ib_packet_icrc_ok(m.last, MAD_PACKET));
    g_assert_cmpuint(qp_take_wc(m.gsi[1]).slid, ==, 5);
    g_assert_cmpmem(m.mb->mem + 40, 256, m.ma->mem + 28, 256);

    wr = add_raw(&m, m.gsi[0], 2, false);
    wr->flags |= IB_WR_RAW_SLID;
    ib_field_set(m.ma->mem, IB_LRH_SLID, 0x77);
    go(&m, m.gsi[0]);
    g_assert_cmphex(qp_take_wc(m.gsi[1]).slid, ==, 0x77);
    world_free(m.world);
}

static void test_raw_errors(void)
{
    Mgmt m;

    mgmt_pair(&m, true, false);
    /* Not as long as it says. */
    add_raw(&m, m.gsi[0], 2, false)->num_sge = 2;
    qp_ring(m.gsi[0]);
    g_assert_cmphex(qp_take_wc(m.gsi[0]).status, ==, IB_WC_LOC_QP_OP_ERR);
    g_assert_true(ib_qp_modify(m.gsi[0]->qp, IB_QPS_RTS,
                               &m.gsi[0]->attr));
    add_raw(&m, m.gsi[0], 2, false)->sge[2].len = 3;
    qp_ring(m.gsi[0]);
    g_assert_cmphex(qp_take_wc(m.gsi[0]).status, ==, IB_WC_LOC_LEN_ERR);
    g_assert_true(ib_qp_modify(m.gsi[0]->qp, IB_QPS_RTS,
                               &m.gsi[0]->attr));
    /* Headers of no packet. */
    add_raw(&m, m.gsi[0], 2, false);
    m.ma->mem[8] = 0xff;
    qp_ring(m.gsi[0]);
    g_assert_cmphex(qp_take_wc(m.gsi[0]).status, ==, IB_WC_LOC_QP_OP_ERR);
    world_free(m.world);
}

/* QP1 takes any P_Key of the table, but only its own Q_Key. */
static void test_qp1_keys(void)
{
    Mgmt m;

    mgmt_pair(&m, true, false);
    qp_post_recv(m.gsi[1], m.mb, 0, 296);
    add_raw(&m, m.gsi[0], 2, false);
    ib_put_be32(m.ma->mem + 20, 0x80010001);
    go(&m, m.gsi[0]);
    g_assert_cmpuint(ib_hca_discards(m.b->hca, IB_DISCARD_QKEY), ==, 1);
    add_raw(&m, m.gsi[0], 2, false);
    ib_put_be16(m.ma->mem + 10, 0x8123);
    go(&m, m.gsi[0]);
    g_assert_cmpuint(ib_hca_discards(m.b->hca, IB_DISCARD_PKEY), ==, 1);
    add_raw(&m, m.gsi[0], 2, false);
    ib_put_be16(m.ma->mem + 10, 0x7fff);          /* a limited member's */
    go(&m, m.gsi[0]);
    g_assert_cmphex(qp_take_wc(m.gsi[1]).status, ==, IB_WC_SUCCESS);
    /* By the number that the face gave it nobody reaches it. */
    add_raw(&m, m.gsi[0], 2, false);
    ib_field_set(m.ma->mem + 8, IB_BTH_DQPN, 0x202);
    go(&m, m.gsi[0]);
    g_assert_cmpuint(ib_hca_discards(m.b->hca, IB_DISCARD_NO_QP), ==, 1);
    /* Nor with anything else on VL15. */
    add_raw(&m, m.gsi[0], 2, false)->flags |= IB_WR_RAW_VL15;
    go(&m, m.gsi[0]);
    g_assert_cmpuint(ib_hca_discards(m.b->hca, IB_DISCARD_VL15), ==, 1);
    world_free(m.world);
}

/* To its own LID; and without a driver's QP bound nothing takes it. */
static void test_loopback(void)
{
    Mgmt m;

    mgmt_pair(&m, true, false);
    qp_post_recv(m.gsi[0], m.ma, 1000, 296);
    add_raw(&m, m.gsi[0], 1, false);
    qp_ring(m.gsi[0]);
    g_assert_cmpuint(qp_num_wc(m.gsi[0]), ==, 2);
    g_assert_cmpmem(m.ma->mem + 1040, 256, m.ma->mem + 28, 256);
    ib_hca_bind_special(m.a->hca, 1, 1, NULL);
    add_raw(&m, m.gsi[0], 1, false);
    qp_ring(m.gsi[0]);
    g_assert_cmpuint(ib_hca_discards(m.a->hca, IB_DISCARD_NO_QP), ==, 1);
    world_free(m.world);
}

/* A face that builds no headers: sends of QP0 and QP1 as datagrams. */
static void test_built(void)
{
    Mgmt m;
    IbSendWr *wr;

    mgmt_pair(&m, true, false);
    qp_post_recv(m.gsi[1], m.mb, 0, 296);
    qp_post_recv(m.smi[1], m.mb, 0, 296);
    wr = qp_add_send(m.gsi[0], IB_WR_SEND, m.ma, 0, 256);
    wr->address.dlid = 2;
    wr->dest_qpn = 1;
    wr->qkey = IB_QKEY_WELL_KNOWN;
    go(&m, m.gsi[0]);
    g_assert_cmpuint(qp_take_wc(m.gsi[1]).src_qpn, ==, 1);
    wr = qp_add_send(m.smi[0], IB_WR_SEND, m.ma, 0, 256);
    wr->address.dlid = 2;
    go(&m, m.smi[0]);
    g_assert_cmpuint(qp_take_wc(m.smi[1]).src_qpn, ==, 0);
    g_assert_cmpuint(ib_lrh_vl(m.last), ==, 15);
    world_free(m.world);
}

/* The node's own traps: about a bad Q_Key, to the SM at LID 1. */
static void test_trap(void)
{
    Mgmt m;
    const uint8_t *mad;

    mgmt_pair(&m, true, false);
    qp_post_recv(m.smi[0], m.ma, 2000, 296);
    add_raw(&m, m.gsi[0], 2, false);
    ib_put_be32(m.ma->mem + 20, 0x12345678);
    go(&m, m.gsi[0]);
    world_run(m.world, 1000 * WORLD_MS);
    g_assert_cmphex(qp_take_wc(m.smi[0]).status, ==, IB_WC_SUCCESS);
    mad = m.ma->mem + 2040;
    g_assert_cmphex(ib_field_get(mad, IB_MAD_METHOD), ==, 0x05);
    g_assert_cmphex(ib_field_get(mad, IB_MAD_ATTRIBUTE_ID), ==, 0x0002);
    g_assert_cmpuint(ib_get_be16(mad + 64 + 4), ==, 258);
    world_free(m.world);

    /* The SM on the very port: the trap comes back to its own QP0. */
    mgmt_pair(&m, true, false);
    qp_post_recv(m.smi[0], m.ma, 2000, 296);
    add_raw(&m, m.gsi[0], 1, false);
    ib_put_be32(m.ma->mem + 20, 0x12345678);
    qp_ring(m.gsi[0]);
    world_run(m.world, 1000 * WORLD_MS);
    g_assert_cmphex(qp_take_wc(m.smi[0]).status, ==, IB_WC_SUCCESS);
    world_free(m.world);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/hca/special/init-state", test_init_state);
    g_test_add_func("/hca/special/raw", test_raw);
    g_test_add_func("/hca/special/raw-errors", test_raw_errors);
    g_test_add_func("/hca/special/qp1-keys", test_qp1_keys);
    g_test_add_func("/hca/special/loopback", test_loopback);
    g_test_add_func("/hca/special/built", test_built);
    g_test_add_func("/hca/special/trap", test_trap);
    return g_test_run();
}
