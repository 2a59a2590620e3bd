/*
 * Reliable connections within one connectx3, for its tests
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Two queue pairs of the adapter, each the other's peer by the port's own LID:
 * no cable and no clock is needed, every doorbell is answered before it
 * returns.
 */
#ifndef TESTS_QTEST_IB_CONNECTX3_RC_H
#define TESTS_QTEST_IB_CONNECTX3_RC_H

#include "ib-connectx3-driver.h"

enum {
    RTS2RTS_QP = 0x01c, SW2HW_SRQ = 0x035, HW2SW_SRQ = 0x036,
    LID = 7, XRC_TARGET = 1 << 23,
    OP_SEND_INV = 0x01, OP_WRITE = 0x08, OP_SEND = 0x0a, OP_READ = 0x10,
    OP_FETCH_ADD = 0x12, OP_BIND = 0x18, OP_FAST_REG = 0x19,
    OP_LOCAL_INV = 0x1b,
    SIGNALED = 3 << 2, STRONG_ORDER = 1 << 7,
    ST_REG_BOUND = 0x21, ST_BUSY = 0x06,
    WC_OK = 0x00, WC_LOC_QP_OP = 0x02, WC_LOC_PROT = 0x04, WC_FLUSH = 0x05,
    WC_BIND = 0x06, WC_LOC_ACCESS = 0x11, WC_REM_INV_REQ = 0x12,
    WC_REM_ACCESS = 0x13,
};

typedef struct Rc {
    Hca *hca;
    uint32_t qpn, peer;
    uint8_t service;              /* 0 RC, 1 UC, 6 XRC */
    uint16_t xrcd;
    uint32_t pd;
    uint64_t wq, record;
    unsigned mtt;
    uint32_t sq_head, rq_head;
} Rc;

static inline void rc_box(Rc *qp, uint8_t *box, uint32_t optpar)
{
    uint8_t *ctx = box + 8;

    memset(box, 0, 256);
    ib_put_be32(box, optpar);
    ib_put_be32(ctx, (uint32_t)qp->service << 16 | 3 << 11);
    ib_put_be32(ctx + 0x04, qp->pd);
    ctx[0x08] = 5 << 5 | 31;                /* MTU 4096 */
    ctx[0x09] = LOG_WQ << 3 | (5 - 4);
    ctx[0x0a] = LOG_WQ << 3 | (LOG_STRIDE - 4);
    ib_put_be32(ctx + 0x0c, 128);
    ib_put_be32(ctx + 0x14, qp->peer);
    ib_put_be16(ctx + 0x18 + 6, LID);
    ctx[0x18 + 8] = 14 << 3;                /* ACK timeout */
    ib_put_be32(ctx + 0x70, 4 << 21 | 7 << 16 | 7 << 13 | 1 << 11);
    ib_put_be32(ctx + 0x78, 0x100);         /* send PSN */
    ib_put_be32(ctx + 0x7c, CQN);
    ib_put_be32(ctx + 0x90, 4 << 21 | 7 << 13);
    ib_put_be32(ctx + 0x94, 1 << 24 | 0x100);
    ib_put_be32(ctx + 0x98, qp->xrcd);
    ib_put_be32(ctx + 0x9c, CQN);
    ib_put_be64(ctx + 0xa0, qp->record);
    ib_put_be32(ctx + 0xcc, qp->mtt * 8);
}

static inline uint8_t rc_modify(Rc *qp, uint16_t opcode, uint32_t optpar)
{
    uint8_t box[256];

    rc_box(qp, box, optpar);
    return cmd_in(qp->hca, opcode, 0, qp->qpn, box, sizeof(box));
}

static inline void rc_make(Rc *qp, Hca *hca, uint32_t qpn, uint32_t peer,
                           uint8_t service, uint16_t xrcd, uint32_t pd)
{
    static unsigned next_mtt = 16;
    int i;

    *qp = (Rc) {
        .hca = hca, .qpn = qpn, .peer = peer, .service = service,
        .xrcd = xrcd, .pd = pd, .wq = hca_page(hca),
        .record = hca->records + 128 + 4 * (next_mtt % 64), .mtt = next_mtt,
    };
    next_mtt = next_mtt == 400 ? 16 : next_mtt + 1;
    qtest_memset(hca->qts, qp->wq, 0, PAGE);
    qtest_writel(hca->qts, qp->record, 0);
    for (i = 0; i < 1 << LOG_WQ; i++) {
        qtest_writeb(hca->qts, qp->wq + i * 128, 0x80);
    }
    mtt_set(hca, qp->mtt, qp->wq);
    g_assert_cmphex(rc_modify(qp, RST2INIT_QP, 0), ==, ST_OK);
    /* primary path, rights, depths, RNR timer; then timeout and retries */
    g_assert_cmphex(rc_modify(qp, INIT2RTR_QP, 0x2de), ==, ST_OK);
    g_assert_cmphex(rc_modify(qp, RTR2RTS_QP, 0x7100), ==, ST_OK);
}

/* The port's LID, as a subnet manager sets it. */
static inline void lid_set(Hca *hca)
{
    uint8_t mad[256] = { 1, 1, 1, 1 };

    ib_put_be16(mad + 16, 0x15);            /* PortInfo */
    ib_put_be32(mad + 20, 1);
    box_write(hca, mad, sizeof(mad));
    g_assert_cmphex(cmd(hca, MAD_IFC, 3, 1, hca->in, hca->out), ==, ST_OK);
    qtest_memread(hca->qts, hca->out, mad, sizeof(mad));
    mad[3] = 2;                             /* Set */
    ib_put_be16(mad + 64 + 0x10, LID);
    ib_put_be16(mad + 64 + 0x12, LID);      /* of the SM */
    mad[64 + 0x20] &= 0xf0;                 /* no change of state */
    mad[64 + 0x21] &= 0x0f;
    box_write(hca, mad, sizeof(mad));
    g_assert_cmphex(cmd(hca, MAD_IFC, 3, 1, hca->in, hca->out), ==, ST_OK);
    qtest_memread(hca->qts, hca->out, mad, sizeof(mad));
    g_assert_cmphex(ib_get_be16(mad + 4) & 0x7fff, ==, 0);
}

static inline void rc_start(Hca *hca, const char *more)
{
    hca_start(hca, more);
    hca_init(hca);
    msix_enable(hca);
    eq_make(hca);
    cq_make(hca);
    mr_make(hca);
    lid_set(hca);
}

static inline void rc_pair(Hca *hca, Rc *a, Rc *b)
{
    rc_make(a, hca, 0x41, 0x42, 0, 0, PD);
    rc_make(b, hca, 0x42, 0x41, 0, 0, PD);
}

static inline void rc_recv(Rc *qp, uint64_t va, uint32_t len, uint32_t key)
{
    uint8_t wqe[32] = { 0 }, record[4];

    ib_put_be32(wqe, len);
    ib_put_be32(wqe + 4, key);
    ib_put_be64(wqe + 8, va);
    ib_put_be32(wqe + 20, 0x100);
    qtest_memwrite(qp->hca->qts, qp->wq + RQ_OFFSET + qp->rq_head % 8 * 32,
                   wqe, sizeof(wqe));
    qp->rq_head++;
    ib_put_be32(record, qp->rq_head);
    qtest_memwrite(qp->hca->qts, qp->record, record, sizeof(record));
}

/* Put an entry; the adapter sees it with the next doorbell. */
static inline void rc_put(Rc *qp, uint8_t *wqe)
{
    wqe[0] = qp->sq_head & 8 ? 0x80 : 0;
    qtest_memwrite(qp->hca->qts, qp->wq + qp->sq_head % 8 * 128, wqe, 128);
    qp->sq_head++;
}

static inline void rc_ring(Rc *qp)
{
    uar_write32(qp->hca, 128 * PAGE + 0x14, qp->qpn << 8);
}

/* Control segment, and room for all the rest. */
static inline void rc_ctrl(uint8_t *wqe, uint8_t opcode, uint32_t flags,
                           unsigned units, uint32_t imm)
{
    memset(wqe, 0, 128);
    wqe[3] = opcode;
    wqe[7] = units;
    ib_put_be32(wqe + 8, flags);
    ib_put_be32(wqe + 0x0c, imm);
}

static inline void put_data(uint8_t *seg, uint64_t va, uint32_t len,
                            uint32_t key)
{
    ib_put_be32(seg, len);
    ib_put_be32(seg + 4, key);
    ib_put_be64(seg + 8, va);
}

static inline void rc_put_send(Rc *qp, uint8_t opcode, uint32_t flags,
                               uint64_t va, uint32_t len, uint32_t key,
                               uint32_t imm)
{
    uint8_t wqe[128];

    rc_ctrl(wqe, opcode, flags, 2, imm);
    put_data(wqe + 16, va, len, key);
    rc_put(qp, wqe);
}

static inline void rc_put_rdma(Rc *qp, uint8_t opcode, uint32_t flags,
                               uint64_t va, uint32_t len, uint32_t key,
                               uint64_t remote_va, uint32_t rkey)
{
    uint8_t wqe[128];
    unsigned at = 32;

    rc_ctrl(wqe, opcode, flags, 3, 0);
    ib_put_be64(wqe + 16, remote_va);
    ib_put_be32(wqe + 24, rkey);
    if (opcode == OP_FETCH_ADD) {
        wqe[7] = 4;
        ib_put_be64(wqe + 32, 1);           /* addend */
        at += 16;
    }
    put_data(wqe + at, va, len, key);
    rc_put(qp, wqe);
}

static inline void rc_put_inv(Rc *qp, uint32_t flags, uint32_t key)
{
    uint8_t wqe[128];

    rc_ctrl(wqe, OP_LOCAL_INV, flags, 3, 0);
    ib_put_be32(wqe + 16 + 8, key);
    rc_put(qp, wqe);
}

/* The next completion: of @qpn, with this status. */
static inline void expect_wc(Hca *hca, uint32_t qpn, bool send, uint8_t status)
{
    uint8_t cqe[32];

    g_assert_true(cq_next(hca, cqe));
    g_assert_cmphex(ib_get_be32(cqe) & 0xffffff, ==, qpn);
    g_assert_cmpint(!!(cqe[31] & 0x40), ==, send);
    if ((cqe[31] & 0x1f) == 0x1e) {
        g_assert_cmphex(cqe[0x1b], ==, status);
    } else {
        g_assert_cmphex(status, ==, WC_OK);
    }
}

static inline void expect_no_wc(Hca *hca)
{
    uint8_t cqe[32];

    g_assert_false(cq_next(hca, cqe));
}

/* Keys: index @index of the table, for @len bytes from @va on at @mtt. */
static inline uint32_t key_make(Hca *hca, uint32_t index, uint32_t flags,
                                uint32_t pd_flags, uint64_t va, uint64_t len,
                                unsigned mtt)
{
    uint8_t box[64];

    mpt_entry(box, va, len, mtt);
    ib_put_be32(box, flags);
    ib_put_be32(box + 8, index);            /* variant 0 */
    ib_put_be32(box + 0x0c, pd_flags);
    g_assert_cmphex(cmd_in(hca, SW2HW_MPT, 0, index, box, sizeof(box)), ==,
                    ST_OK);
    return index << 8;
}

#endif
