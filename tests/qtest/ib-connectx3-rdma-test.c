/*
 * connectx3: connections, and the order of what changes keys
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "ib-connectx3-rc.h"

/* A region with all rights that work requests may invalidate. */
#define REGION_ALL  (0xf0000000u | 1 << 17 | 0x1f << 10 | 1 << 8)
#define FAST_REG    (1u << 27 | 1 << 24)

static void test_send_write_read(void)
{
    Rc a, b;
    Hca hca;

    rc_start(&hca, "");
    rc_pair(&hca, &a, &b);
    qtest_writel(hca.qts, hca.data, 0x11111111);
    rc_recv(&b, 0x7800, 64, KEY);
    rc_put_send(&a, OP_SEND, SIGNALED, 0x7000, 4, KEY, 0);
    rc_put_rdma(&a, OP_WRITE, SIGNALED, 0x7000, 4, KEY, 0x7900, KEY);
    rc_put_rdma(&a, OP_READ, SIGNALED, 0x7a00, 4, KEY, 0x7800, KEY);
    rc_put_rdma(&a, OP_FETCH_ADD, SIGNALED, 0x7b00, 8, KEY, 0x7900, KEY);
    rc_ring(&a);
    expect_wc(&hca, b.qpn, false, WC_OK);
    expect_wc(&hca, a.qpn, true, WC_OK);
    expect_wc(&hca, a.qpn, true, WC_OK);
    expect_wc(&hca, a.qpn, true, WC_OK);
    expect_wc(&hca, a.qpn, true, WC_OK);
    g_assert_cmphex(qtest_readl(hca.qts, hca.data + 0x800), ==, 0x11111111);
    g_assert_cmphex(qtest_readl(hca.qts, hca.data + 0x900), ==, 0x11111112);
    g_assert_cmphex(qtest_readl(hca.qts, hca.data + 0xa00), ==, 0x11111111);
    g_assert_cmphex(qtest_readl(hca.qts, hca.data + 0xb00), ==, 0x11111111);
    hca_end(&hca);
}

/*
 * A read into memory whose key the next entry invalidates: told to keep the
 * order, the adapter invalidates when the read is done.
 */
static void test_strong_order(void)
{
    uint32_t key;
    int strong;

    for (strong = 1; strong >= 0; strong--) {
        Rc a, b;
        Hca hca;

        rc_start(&hca, "");
        rc_pair(&hca, &a, &b);
        key = key_make(&hca, 0x12, REGION_ALL, FAST_REG | PD, 0x7000, PAGE, 3);
        qtest_writel(hca.qts, hca.data, 0x22222222);
        rc_put_rdma(&a, OP_READ, SIGNALED, 0x7100, 4, key, 0x7000, KEY);
        rc_put_inv(&a, SIGNALED | (strong ? STRONG_ORDER : 0), key);
        rc_put_send(&a, OP_SEND, SIGNALED, 0x7000, 4, key, 0);
        rc_ring(&a);
        if (strong) {
            expect_wc(&hca, a.qpn, true, WC_OK);
            expect_wc(&hca, a.qpn, true, WC_OK);
            g_assert_cmphex(qtest_readl(hca.qts, hca.data + 0x100), ==,
                            0x22222222);
            /* The key is gone for what comes after. */
            expect_wc(&hca, a.qpn, true, WC_LOC_PROT);
        } else {
            /* The response finds no key. */
            expect_wc(&hca, a.qpn, true, WC_LOC_PROT);
        }
        hca_end(&hca);
    }
}

/* ------------------------------------------------------------------ APM */

static uint8_t query_state(Rc *qp, uint8_t *box)
{
    g_assert_cmphex(cmd_out(qp->hca, QUERY_QP, 0, qp->qpn, box, 256), ==,
                    ST_OK);
    return box[8 + 2] >> 3 & 3;
}

/* Another SL is another path. */
static void alternate_set(Rc *qp, uint8_t state)
{
    uint8_t box[256];

    rc_box(qp, box, 1 << 0 | 1 << 10);      /* alternate path, state */
    ib_put_be32(box + 8, 0u << 16 | state << 11);
    ib_put_be16(box + 8 + 0x44 + 6, LID);
    box[8 + 0x44 + 8] = 15 << 3;
    box[8 + 0x44 + 0x20] = 2 << 2;          /* SL 2 */
    g_assert_cmphex(cmd_in(qp->hca, RTS2RTS_QP, 0, qp->qpn, box, 256), ==,
                    ST_OK);
}

static void expect_event(Hca *hca, uint8_t type, uint32_t number)
{
    uint8_t eqe[32];

    g_assert_true(eq_next(hca, eqe));
    g_assert_cmphex(eqe[1], ==, type);
    g_assert_cmphex(ib_get_be32(eqe + 4) & 0xffffff, ==, number);
}

static void expect_no_event(Hca *hca)
{
    uint8_t eqe[32];

    g_assert_false(eq_next(hca, eqe));
}

/* Rearm, arm by traffic, migrate: QUERY_QP shows it, an event tells. */
static void test_migration(void)
{
    uint8_t box[256];
    Rc a, b;
    Hca hca;

    rc_start(&hca, "");
    g_assert_cmphex(cmd_out(&hca, QUERY_DEV_CAP, 0, 0, box, 256), ==, ST_OK);
    g_assert_cmphex(ib_get_be32(box + 0x44) & (1 << 17), ==, 1 << 17);
    rc_pair(&hca, &a, &b);
    g_assert_cmpuint(query_state(&a, box), ==, 3);
    alternate_set(&a, 1);
    alternate_set(&b, 1);
    g_assert_cmpuint(query_state(&a, box), ==, 1);
    rc_put_rdma(&a, OP_WRITE, SIGNALED, 0x7000, 4, KEY, 0x7900, KEY);
    rc_ring(&a);
    expect_wc(&hca, a.qpn, true, WC_OK);
    g_assert_cmpuint(query_state(&a, box), ==, 0);
    g_assert_cmpuint(query_state(&b, box), ==, 0);
    expect_no_event(&hca);

    /* A transition that says nothing of it leaves it armed. */
    g_assert_cmphex(rc_modify(&a, RTS2RTS_QP, 1 << 6), ==, ST_OK);
    g_assert_cmpuint(query_state(&a, box), ==, 0);
    g_assert_cmphex(rc_modify(&a, RTS2RTS_QP, 1 << 10), ==, ST_OK);
    expect_event(&hca, 0x01, a.qpn);
    g_assert_cmpuint(query_state(&a, box), ==, 3);
    g_assert_cmphex(box[8 + 0x18 + 0x20], ==, 2 << 2);
    g_assert_cmphex(box[8 + 0x18 + 8], ==, 15 << 3);
    g_assert_cmphex(box[8 + 0x44 + 0x20], ==, 0);
    g_assert_cmphex(box[8 + 0x44 + 8], ==, 14 << 3);

    /* The peer follows with the first packet. */
    rc_put_rdma(&a, OP_WRITE, SIGNALED, 0x7000, 4, KEY, 0x7900, KEY);
    rc_ring(&a);
    expect_wc(&hca, a.qpn, true, WC_OK);
    expect_event(&hca, 0x01, b.qpn);
    g_assert_cmpuint(query_state(&b, box), ==, 3);
    g_assert_cmphex(box[8 + 0x18 + 0x20], ==, 2 << 2);
    hca_end(&hca);
}

/* ------------------------------------------------------------------ XRC */

enum { SRQN = 0x50, XRCD = 9, XRC_CQN = 0x90, USER_PD = 6 };

typedef struct Srq {
    uint64_t buffer, record;
    uint16_t posted;
} Srq;

static uint8_t srq_make(Hca *hca, Srq *srq, uint16_t xrcd, uint32_t cqn,
                        uint32_t pd)
{
    uint8_t box[48] = { 0 };
    int i;

    srq->buffer = hca_page(hca);
    srq->record = hca->records + 1024;
    srq->posted = 0;
    mtt_set(hca, 8, srq->buffer);
    qtest_writel(hca->qts, srq->record, 0);
    for (i = 0; i < 8; i++) {
        qtest_memset(hca->qts, srq->buffer + 32 * i, 0, 32);
        qtest_writeb(hca->qts, srq->buffer + 32 * i + 3, (i + 1) % 8);
    }
    ib_put_be32(box, 3 << 24 | SRQN);
    box[0x04] = 1;                          /* 32 bytes an entry */
    ib_put_be16(box + 0x06, xrcd);
    ib_put_be32(box + 0x08, cqn);
    ib_put_be32(box + 0x14, 8 * 8);
    ib_put_be32(box + 0x18, pd);
    ib_put_be64(box + 0x28, srq->record);
    return cmd_in(hca, SW2HW_SRQ, 0, SRQN, box, sizeof(box));
}

static void srq_post(Hca *hca, Srq *srq, uint64_t va, uint32_t len,
                     uint32_t key)
{
    uint8_t seg[16], record[4];

    put_data(seg, va, len, key);
    qtest_memwrite(hca->qts, srq->buffer + srq->posted % 8 * 32 + 16, seg, 16);
    ib_put_be32(record, ++srq->posted);
    qtest_memwrite(hca->qts, srq->record, record, 4);
}

/* What an initiator sends, to SRQ @srqn. */
static void xrc_put_rdma(Rc *qp, uint8_t opcode, uint32_t srqn, uint32_t rkey)
{
    rc_put_rdma(qp, opcode, SIGNALED | srqn << 8, 0x7000, 4, KEY, 0x7900,
                rkey);
}

static void xrc_start(Hca *hca, Rc *ini, Rc *tgt, Srq *srq)
{
    uint8_t box[0x100];

    rc_start(hca, "");
    g_assert_cmphex(cmd_out(hca, QUERY_DEV_CAP, 0, 0, box, 0x100), ==, ST_OK);
    g_assert_cmphex(ib_get_be32(box + 0x44) & (1 << 3), ==, 1 << 3);
    g_assert_cmpuint(box[0x67] & 0x1f, ==, 16);
    rc_make(ini, hca, 0x41, 0x42 | XRC_TARGET, 6, 0, PD);
    rc_make(tgt, hca, 0x42 | XRC_TARGET, 0x41, 6, XRCD, PD + 2);
    g_assert_cmphex(srq_make(hca, srq, XRCD, 0x7777, USER_PD), ==,
                    ST_BAD_RESOURCE);       /* no such CQ */
    g_assert_cmphex(srq_make(hca, srq, XRCD, CQN, USER_PD), ==, ST_OK);
}

/*
 * A message for an SRQ, and RDMA: the keys are of the SRQ's protection domain,
 * and the completion names the SRQ.
 */
static void test_xrc(void)
{
    uint32_t key;
    uint8_t cqe[32];
    Rc ini, tgt;
    Srq srq;
    Hca hca;

    xrc_start(&hca, &ini, &tgt, &srq);
    key = key_make(&hca, 0x12, REGION_ALL, USER_PD, 0x7000, PAGE, 3);
    srq_post(&hca, &srq, 0x7800, 64, key);
    qtest_writel(hca.qts, hca.data, 0x33333333);
    rc_put_send(&ini, OP_SEND, SIGNALED | SRQN << 8, 0x7000, 4, KEY, 0);
    rc_ring(&ini);
    g_assert_true(cq_next(&hca, cqe));
    g_assert_cmphex(ib_get_be32(cqe) & 0xffffff, ==, 0x42 | XRC_TARGET);
    g_assert_cmphex(ib_get_be32(cqe + 8) & 0xffffff, ==, SRQN);
    g_assert_cmphex(cqe[31] & 0x5f, ==, 0x01);
    g_assert_cmpuint(ib_get_be16(cqe + 0x18), ==, 0);
    g_assert_cmpuint(ib_get_be32(cqe + 0x14), ==, 4);
    expect_wc(&hca, ini.qpn, true, WC_OK);
    g_assert_cmphex(qtest_readl(hca.qts, hca.data + 0x800), ==, 0x33333333);

    xrc_put_rdma(&ini, OP_WRITE, SRQN, key);
    rc_put_rdma(&ini, OP_READ, SIGNALED | SRQN << 8, 0x7a00, 4, KEY, 0x7800,
                key);
    rc_put_rdma(&ini, OP_FETCH_ADD, SIGNALED | SRQN << 8, 0x7b00, 8, KEY,
                0x7900, key);
    rc_ring(&ini);
    expect_wc(&hca, ini.qpn, true, WC_OK);
    expect_wc(&hca, ini.qpn, true, WC_OK);
    expect_wc(&hca, ini.qpn, true, WC_OK);
    g_assert_cmphex(qtest_readl(hca.qts, hca.data + 0xa00), ==, 0x33333333);
    g_assert_cmphex(qtest_readl(hca.qts, hca.data + 0x900), ==, 0x33333334);

    /* No entry left: the sender waits, and goes on with the next. */
    rc_put_send(&ini, OP_SEND, SIGNALED | SRQN << 8, 0x7000, 4, KEY, 0);
    rc_ring(&ini);
    expect_no_wc(&hca);
    /* A key of another protection domain than the SRQ's. */
    xrc_put_rdma(&ini, OP_WRITE, SRQN, KEY);
    g_assert_cmphex(cmd(&hca, TO_RST_QP, 2, ini.qpn, 0, 0), ==, ST_OK);
    g_assert_cmphex(cmd(&hca, TO_RST_QP, 2, tgt.qpn, 0, 0), ==, ST_OK);
    rc_make(&ini, &hca, 0x41, 0x42 | XRC_TARGET, 6, 0, PD);
    rc_make(&tgt, &hca, 0x42 | XRC_TARGET, 0x41, 6, XRCD, PD + 2);
    xrc_put_rdma(&ini, OP_WRITE, SRQN, KEY);
    rc_ring(&ini);
    expect_wc(&hca, ini.qpn, true, WC_REM_ACCESS);
    hca_end(&hca);
}

/* SRQs that a peer may not name: not there, of no domain, of another. */
static void test_xrc_domain(void)
{
    static const struct {
        uint16_t xrcd;
        uint32_t srqn;
    } cases[] = {
        { XRCD, SRQN + 1 }, { 0, SRQN }, { XRCD + 1, SRQN },
        { XRCD, 0xffffff },
    };
    size_t i;

    for (i = 0; i < ARRAY_SIZE(cases); i++) {
        uint8_t eqe[32];
        Rc ini, tgt;
        Srq srq;
        Hca hca;

        xrc_start(&hca, &ini, &tgt, &srq);
        g_assert_cmphex(cmd(&hca, HW2SW_SRQ, 0, SRQN, 0, 0), ==, ST_OK);
        g_assert_cmphex(srq_make(&hca, &srq, cases[i].xrcd, CQN, PD), ==,
                        ST_OK);
        srq_post(&hca, &srq, 0x7800, 64, KEY);
        rc_put_send(&ini, OP_SEND, SIGNALED | cases[i].srqn << 8, 0x7000, 4,
                    KEY, 0);
        rc_ring(&ini);
        expect_wc(&hca, ini.qpn, true, WC_REM_INV_REQ);
        expect_no_wc(&hca);
        while (eq_next(&hca, eqe) && eqe[1] == 0x02) {
            continue;                       /* communication established */
        }
        g_assert_cmphex(eqe[1], ==, 0x10);
        g_assert_cmphex(ib_get_be32(eqe + 4), ==, tgt.qpn);
        hca_end(&hca);
    }
}

/* Bit 23 is a target's, and a number is one queue pair's. */
static void test_xrc_numbers(void)
{
    Rc ini, tgt, bad;
    Srq srq;
    Hca hca;

    xrc_start(&hca, &ini, &tgt, &srq);
    /* A target has no send queue, whatever is in its buffer. */
    rc_put_send(&tgt, OP_SEND, SIGNALED, 0x7000, 8, KEY, 0);
    rc_ring(&tgt);
    expect_no_wc(&hca);
    bad = ini;
    bad.qpn = 0x42;                         /* taken by the target */
    g_assert_cmphex(rc_modify(&bad, RST2INIT_QP, 0), ==, ST_BUSY);
    bad.qpn = 0x43 | XRC_TARGET;
    bad.service = 0;                        /* a target that is RC */
    g_assert_cmphex(rc_modify(&bad, RST2INIT_QP, 0), ==, ST_BAD_PARAM);
    bad.qpn = 0x40000 | XRC_TARGET;
    bad.service = 6;
    g_assert_cmphex(rc_modify(&bad, RST2INIT_QP, 0), ==, ST_BAD_INDEX);
    /* A masked atomic is none of an initiator's. */
    rc_put_send(&ini, 0x14, SIGNALED, 0x7000, 8, KEY, 0);
    rc_ring(&ini);
    expect_wc(&hca, ini.qpn, true, WC_LOC_QP_OP);
    hca_end(&hca);
}

/*
 * Two ports, an XRC target, a path that is armed, an event that moderation
 * holds back: all of it is there in another process.
 */
static void test_saved(void)
{
    uint8_t box[256] = { 0 }, cqe[32], eqe[32];
    Rc ini, tgt, a, b;
    Srq srq;
    Hca hca, to;

    rc_start(&hca, "-global connectx3.ports=2");
    rc_make(&ini, &hca, 0x41, 0x42 | XRC_TARGET, 6, 0, PD);
    rc_make(&tgt, &hca, 0x42 | XRC_TARGET, 0x41, 6, XRCD, PD + 2);
    rc_make(&a, &hca, 0x45, 0x46, 0, 0, PD);
    rc_make(&b, &hca, 0x46, 0x45, 0, 0, PD);
    g_assert_cmphex(srq_make(&hca, &srq, XRCD, CQN, PD), ==, ST_OK);
    srq_post(&hca, &srq, 0x7800, 64, KEY);
    srq_post(&hca, &srq, 0x7800, 64, KEY);
    alternate_set(&a, 1);
    alternate_set(&b, 1);
    rc_put_rdma(&a, OP_WRITE, SIGNALED, 0x7000, 4, KEY, 0x7900, KEY);
    rc_ring(&a);
    expect_wc(&hca, a.qpn, true, WC_OK);
    rc_put_send(&ini, OP_SEND, SIGNALED | SRQN << 8, 0x7000, 4, KEY, 0);
    rc_ring(&ini);
    expect_wc(&hca, tgt.qpn, false, WC_OK);
    expect_wc(&hca, ini.qpn, true, WC_OK);
    while (eq_next(&hca, eqe)) {
        continue;
    }
    ib_put_be16(box + 0x10, 0xffff);        /* microseconds */
    ib_put_be16(box + 0x12, 1000);
    g_assert_cmphex(cmd_in(&hca, MODIFY_CQ, 1, CQN, box, 64), ==, ST_OK);
    cq_arm(&hca, 2);
    rc_put_rdma(&a, OP_WRITE, SIGNALED, 0x7000, 4, KEY, 0x7900, KEY);
    rc_ring(&a);
    expect_wc(&hca, a.qpn, true, WC_OK);

    hca_migrate(&hca, &to, "-global connectx3.ports=2");
    ini.hca = tgt.hca = a.hca = b.hca = &to;
    while (!eq_next(&to, eqe)) {
        g_usleep(1000);
    }
    g_assert_cmphex(eqe[1], ==, 0);
    g_assert_cmphex(ib_get_be32(eqe + 4), ==, CQN);
    g_assert_cmpuint(query_state(&a, box), ==, 0);
    g_assert_cmphex(rc_modify(&a, RTS2RTS_QP, 1 << 10), ==, ST_OK);
    expect_event(&to, 0x01, a.qpn);
    rc_put_send(&ini, OP_SEND, SIGNALED | SRQN << 8, 0x7000, 4, KEY, 0);
    rc_ring(&ini);
    g_assert_true(cq_next(&to, cqe));
    g_assert_cmphex(ib_get_be32(cqe) & 0xffffff, ==, tgt.qpn);
    g_assert_cmphex(ib_get_be32(cqe + 8) & 0xffffff, ==, SRQN);
    g_assert_cmpuint(ib_get_be16(cqe + 0x18), ==, 1);
    expect_wc(&to, ini.qpn, true, WC_OK);
    hca_end(&to);
    hca_end(&hca);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/connectx3/rc/basics", test_send_write_read);
    qtest_add_func("/connectx3/rc/strong-order", test_strong_order);
    qtest_add_func("/connectx3/rc/migration", test_migration);
    qtest_add_func("/connectx3/xrc/messages", test_xrc);
    qtest_add_func("/connectx3/xrc/domain", test_xrc_domain);
    qtest_add_func("/connectx3/xrc/numbers", test_xrc_numbers);
    qtest_add_func("/connectx3/xrc/saved", test_saved);
    return g_test_run();
}
