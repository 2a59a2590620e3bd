/*
 * connectx3: kinds of memory regions, doorbell pages, moderation, resets
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "ib-connectx3-rc.h"

#define REGION      (0xf0000000u | 1 << 17 | 0x1f << 10 | 1 << 8)
#define PHYSICAL    (1u << 9)
#define FREE_REGION (0x30000000u | 1 << 17 | 1 << 8)
#define FAST_REG    (1u << 27 | 1 << 24)

enum { INDEX = 0x12, QPN_A = 0x41, QPN_B = 0x42 };

/* An RDMA write of @value to @va of @key by @a. */
static void write_by_key(Rc *a, uint32_t value, uint32_t key, uint64_t va,
                         uint8_t status)
{
    qtest_writel(a->hca->qts, a->hca->data, value);
    rc_put_rdma(a, OP_WRITE, SIGNALED, 0x7000, 4, KEY, va, key);
    rc_ring(a);
    expect_wc(a->hca, a->qpn, true, status);
}

/* Bus addresses, no page table. */
static void test_physical(void)
{
    uint32_t key;
    Rc a, b;
    Hca hca;

    rc_start(&hca, "");
    rc_pair(&hca, &a, &b);
    key = key_make(&hca, INDEX, REGION | PHYSICAL, PD, 0, UINT64_MAX, 0);
    write_by_key(&a, 0x11112222, key, hca.data + 0x800, WC_OK);
    g_assert_cmphex(qtest_readl(hca.qts, hca.data + 0x800), ==, 0x11112222);
    /* What is no memory: the device's own registers, nothing at all. */
    write_by_key(&a, 1, key, hca.uar.addr, WC_REM_ACCESS);
    hca_end(&hca);
}

/* Pages of 2 MiB; a start within the first of them. */
static void test_huge_pages(void)
{
    uint64_t page = 0x1800000, start = 0x40001000;
    uint8_t box[64];
    Rc a, b;
    Hca hca;

    rc_start(&hca, "");
    rc_pair(&hca, &a, &b);
    mtt_set(&hca, 100, page);
    mtt_set(&hca, 101, page + 0x400000);    /* another place */
    mpt_entry(box, start, 0x300000, 100);
    ib_put_be32(box, REGION);
    ib_put_be32(box + 8, INDEX);
    ib_put_be32(box + 0x38, 21);
    g_assert_cmphex(cmd_in(&hca, SW2HW_MPT, 0, INDEX, box, 64), ==, ST_OK);
    write_by_key(&a, 0x21212121, INDEX << 8, start, WC_OK);
    g_assert_cmphex(qtest_readl(hca.qts, page + 0x1000), ==, 0x21212121);
    write_by_key(&a, 0x22222222, INDEX << 8, start + 0x1ff000, WC_OK);
    g_assert_cmphex(qtest_readl(hca.qts, page + 0x400000), ==, 0x22222222);
    /* Over the seam. */
    write_by_key(&a, 0x33332222, INDEX << 8, start + 0x1feffe, WC_OK);
    g_assert_cmphex(qtest_readl(hca.qts, page + 0x400000) & 0xffff, ==,
                    0x3333);
    write_by_key(&a, 1, INDEX << 8, start + 0x2ffffd, WC_REM_ACCESS);
    hca_end(&hca);
}

/* The smallest that QUERY_DEV_CAP offers, 512 bytes. */
static void test_small_pages(void)
{
    uint8_t box[64];
    Rc a, b;
    Hca hca;

    rc_start(&hca, "");
    rc_pair(&hca, &a, &b);
    mtt_set(&hca, 100, hca.data + 0x600);
    mtt_set(&hca, 101, hca.data + 0x200);
    mpt_entry(box, 0x9100, 0x300, 100);
    ib_put_be32(box, REGION);
    ib_put_be32(box + 8, INDEX);
    ib_put_be32(box + 0x38, 9);
    g_assert_cmphex(cmd_in(&hca, SW2HW_MPT, 0, INDEX, box, 64), ==, ST_OK);
    write_by_key(&a, 0x91919191, INDEX << 8, 0x91fc, WC_OK);
    write_by_key(&a, 0x92929292, INDEX << 8, 0x9200, WC_OK);
    g_assert_cmphex(qtest_readl(hca.qts, hca.data + 0x7fc), ==, 0x91919191);
    g_assert_cmphex(qtest_readl(hca.qts, hca.data + 0x200), ==, 0x92929292);
    ib_put_be32(box + 0x38, 8);
    g_assert_cmphex(cmd(&hca, HW2SW_MPT, 1, INDEX, 0, 0), ==, ST_OK);
    g_assert_cmphex(cmd_in(&hca, SW2HW_MPT, 0, INDEX, box, 64), ==, ST_OK);
    write_by_key(&a, 1, INDEX << 8, 0x9200, WC_REM_ACCESS);
    hca_end(&hca);
}

/* Virtual addresses from 0 on. */
static void test_zero_based(void)
{
    uint32_t key;
    Rc a, b;
    Hca hca;

    rc_start(&hca, "");
    rc_pair(&hca, &a, &b);
    key = key_make(&hca, INDEX, REGION, PD, 0, 0x100, 3);
    write_by_key(&a, 0x44444444, key, 0xfc, WC_OK);
    g_assert_cmphex(qtest_readl(hca.qts, hca.data + 0xfc), ==, 0x44444444);
    write_by_key(&a, 1, key, 0xfd, WC_REM_ACCESS);
    hca_end(&hca);
}

/*
 * Taken back without a mailbox, changed where it lies, handed over again: what
 * the driver does for ibv_rereg_mr.
 */
static void test_register_again(void)
{
    uint64_t other;
    uint32_t key;
    uint8_t entry[64];
    Rc a, b;
    Hca hca;

    rc_start(&hca, "");
    rc_pair(&hca, &a, &b);
    key = key_make(&hca, INDEX, REGION, PD, 0x9000, PAGE, 3);
    write_by_key(&a, 0x51515151, key, 0x9100, WC_OK);
    other = hca_page(&hca);
    mtt_set(&hca, 100, other);
    g_assert_cmphex(cmd(&hca, HW2SW_MPT, 1, INDEX, 0, 0), ==, ST_OK);
    qtest_memread(hca.qts, hca.mpt + 64 * INDEX, entry, 64);
    g_assert_cmphex(entry[0] & 0xf0, ==, 0xf0);
    ib_put_be64(entry + 0x10, 0xb000);
    ib_put_be64(entry + 0x2c, 100 * 8);
    entry[0] = 0;
    qtest_memwrite(hca.qts, hca.mpt + 64 * INDEX, entry, 64);
    g_assert_cmphex(cmd(&hca, SYNC_TPT, 0, 0, 0, 0), ==, ST_OK);
    write_by_key(&a, 0x52525252, key, 0xb100, WC_OK);
    g_assert_cmphex(qtest_readl(hca.qts, other + 0x100), ==, 0x52525252);
    g_assert_cmphex(qtest_readl(hca.qts, hca.data + 0x100), ==, 0x51515151);
    write_by_key(&a, 1, key, 0x9100, WC_REM_ACCESS);
    hca_end(&hca);
}

static void fast_reg_put(Rc *qp, uint32_t key, uint64_t list, uint64_t va,
                         uint64_t len)
{
    uint8_t wqe[128];

    rc_ctrl(wqe, OP_FAST_REG, SIGNALED | STRONG_ORDER, 4, 0);
    ib_put_be32(wqe + 16, 0x1fu << 27);     /* all rights */
    ib_put_be32(wqe + 20, key);
    ib_put_be64(wqe + 24, list);
    ib_put_be64(wqe + 32, va);
    ib_put_be64(wqe + 40, len);
    ib_put_be32(wqe + 52, 12);
    rc_put(qp, wqe);
}

/* A page list of the driver's into a free region; gone by invalidation. */
static void test_fast_register(void)
{
    uint8_t box[64], page[8];
    uint32_t key = INDEX << 8 | 0x77;
    Rc a, b;
    Hca hca;

    rc_start(&hca, "");
    rc_pair(&hca, &a, &b);
    mpt_entry(box, 0, 0, 200);
    ib_put_be32(box, FREE_REGION);
    ib_put_be32(box + 8, INDEX);
    ib_put_be32(box + 0x0c, PD | FAST_REG);
    ib_put_be32(box + 0x34, 4);             /* entries it may use */
    g_assert_cmphex(cmd_in(&hca, SW2HW_MPT, 0, INDEX, box, 64), ==, ST_OK);
    ib_put_be64(page, hca.data | 1);
    qtest_memwrite(hca.qts, hca.out, page, 8);
    fast_reg_put(&b, key, hca.out, 0xc800, 0x400);
    rc_ring(&b);
    expect_wc(&hca, b.qpn, true, WC_OK);
    write_by_key(&a, 0x61616161, key, 0xc900, WC_OK);
    g_assert_cmphex(qtest_readl(hca.qts, hca.data + 0x900), ==, 0x61616161);

    /* It is in use; then it is free, and too small. */
    rc_put_inv(&b, SIGNALED | STRONG_ORDER, key);
    fast_reg_put(&b, key + 1, hca.out, 0xc800, 5 * PAGE);
    rc_ring(&b);
    expect_wc(&hca, b.qpn, true, WC_OK);
    expect_wc(&hca, b.qpn, true, WC_BIND);
    hca_end(&hca);
}

/* ------------------------------------------------------- doorbell pages */

/* A process rings for its own queues only. */
static void test_uar_ownership(void)
{
    uint8_t eqe[32];
    Rc a, b;
    Hca hca;

    rc_start(&hca, "");
    rc_pair(&hca, &a, &b);
    rc_put_rdma(&a, OP_WRITE, SIGNALED, 0x7000, 4, KEY, 0x7100, KEY);
    uar_write32(&hca, 129 * PAGE + 0x14, a.qpn << 8);
    uar_write32(&hca, 0x14, a.qpn << 8);
    expect_no_wc(&hca);
    uar_write64(&hca, 129 * PAGE + 0x20, 2ULL << 56 | (uint64_t)CQN << 32);
    rc_ring(&a);
    expect_wc(&hca, a.qpn, true, WC_OK);
    while (eq_next(&hca, eqe)) {
        g_assert_cmphex(eqe[1], !=, 0);     /* that CQ was not armed */
    }
    cq_arm(&hca, 2);
    rc_put_rdma(&a, OP_WRITE, SIGNALED, 0x7000, 4, KEY, 0x7100, KEY);
    rc_ring(&a);
    g_assert_true(eq_next(&hca, eqe));
    g_assert_cmphex(eqe[1], ==, 0);
    hca_end(&hca);
}

/* An entry written to the adapter; both buffers, 8 bytes or 4 at a time. */
static void test_blueflame(void)
{
    uint64_t page = (4 << 20) + 128 * PAGE;
    uint8_t box[0x100], wqe[128];
    unsigned i, at;
    Rc a, b;
    Hca hca;

    rc_start(&hca, "-global connectx3.blueflame=on");
    g_assert_cmphex(cmd_out(&hca, QUERY_DEV_CAP, 0, 0, box, 0x100), ==,
                    ST_OK);
    g_assert_cmpuint(1 << (box[0x49] & 0x3f), ==, 4);   /* MiB */
    g_assert_cmphex(box[0x4c] & 0x80, ==, 0x80);
    g_assert_cmpuint(1 << (box[0x4d] & 0x1f), ==, 512);
    g_assert_cmpuint(1 << (box[0x4e] & 0x3f), ==, 8);
    rc_pair(&hca, &a, &b);
    for (i = 0; i < 4; i++) {
        memset(wqe, 0, sizeof(wqe));
        rc_ctrl(wqe, OP_WRITE, SIGNALED, 4, 0);
        ib_put_be32(wqe + 4, a.qpn << 8 | 4);
        wqe[1] = 0;
        wqe[2] = a.sq_head;                 /* as libmlx4 marks it */
        ib_put_be64(wqe + 16, 0x7100 + 4 * i);
        ib_put_be32(wqe + 24, KEY);
        ib_put_be32(wqe + 32, 1u << 31 | 4);
        ib_put_be32(wqe + 36, 0x70707070 + i);
        rc_put(&a, wqe);
        for (at = 0; at < 64; at += i < 2 ? 8 : 4) {
            qpci_memwrite(hca.dev, hca.uar, page + i % 2 * 256 + at, wqe + at,
                          i < 2 ? 8 : 4);
        }
        expect_wc(&hca, a.qpn, true, WC_OK);
        g_assert_cmphex(qtest_readl(hca.qts, hca.data + 0x100 + 4 * i), ==,
                        bswap32(0x70707070 + i));
        expect_no_wc(&hca);
    }
    /* Another process's page. */
    rc_put(&a, wqe);
    qpci_memwrite(hca.dev, hca.uar, page + PAGE, wqe, 8);
    expect_no_wc(&hca);
    hca_end(&hca);
}

/* -------------------------------------------------------------- events */

/* A second event queue, which raises a vector of its own. */
static void test_vectors(void)
{
    uint8_t box[64], cqe[32], entry[16] = { 0 };
    uint64_t ring, msi;
    Rc a, b;
    Hca hca;

    hca_start(&hca, "");
    hca_init(&hca);
    msix_enable(&hca);
    msi = hca_page(&hca);
    stl_le_p(entry, msi);
    stl_le_p(entry + 8, 0x55);
    qpci_memwrite(hca.dev, hca.regs, 0x7c000 + 63 * 16, entry, 16);
    eq_make(&hca);
    ring = hca_page(&hca);
    mtt_set(&hca, 9, ring);
    eq_context(box, LOG_EQ, 9);
    box[0x17] = 63;
    g_assert_cmphex(cmd_in(&hca, SW2HW_EQ, 0, 5, box, 64), ==, ST_OK);
    cq_context(&hca, box, LOG_CQ);
    box[0x17] = 5;
    g_assert_cmphex(cmd_in(&hca, SW2HW_CQ, 0, CQN, box, 64), ==, ST_OK);
    mr_make(&hca);
    lid_set(&hca);
    rc_pair(&hca, &a, &b);
    interrupted(&hca);
    qtest_writel(hca.qts, msi, 0);
    cq_arm(&hca, 2);
    rc_put_rdma(&a, OP_WRITE, SIGNALED, 0x7000, 4, KEY, 0x7100, KEY);
    rc_ring(&a);
    g_assert_true(cq_next(&hca, cqe));
    g_assert_cmphex(qtest_readl(hca.qts, msi), ==, 0x55);
    g_assert_false(interrupted(&hca));
    qtest_memread(hca.qts, ring, entry, 16);
    g_assert_cmphex(entry[1], ==, 0);
    g_assert_cmphex(ib_get_be32(entry + 4), ==, CQN);
    hca_end(&hca);
}

/* An event after three completions, or some time after the last. */
static void test_moderation(void)
{
    uint8_t box[64] = { 0 }, eqe[32];
    int64_t start;
    unsigned i;
    Rc a, b;
    Hca hca;

    rc_start(&hca, "");
    rc_pair(&hca, &a, &b);
    while (eq_next(&hca, eqe)) {
        continue;
    }
    ib_put_be16(box + 0x10, 60000);         /* microseconds */
    ib_put_be16(box + 0x12, 3);
    g_assert_cmphex(cmd_in(&hca, MODIFY_CQ, 1, CQN, box, 64), ==, ST_OK);
    cq_arm(&hca, 2);
    for (i = 0; i < 3; i++) {
        rc_put_rdma(&a, OP_WRITE, SIGNALED, 0x7000, 4, KEY, 0x7100, KEY);
    }
    rc_ring(&a);
    g_assert_true(eq_next(&hca, eqe));
    for (i = 0; i < 3; i++) {
        expect_wc(&hca, a.qpn, true, WC_OK);
    }
    eq_arm(&hca, false);
    cq_arm(&hca, 2);
    start = g_get_monotonic_time();
    rc_put_rdma(&a, OP_WRITE, SIGNALED, 0x7000, 4, KEY, 0x7100, KEY);
    rc_ring(&a);
    expect_wc(&hca, a.qpn, true, WC_OK);
    while (!eq_next(&hca, eqe)) {
        g_usleep(1000);
    }
    g_assert_cmpint(g_get_monotonic_time() - start, >=, 60000);
    /* Gone while it holds an event back. */
    eq_arm(&hca, false);
    cq_arm(&hca, 2);
    rc_put_rdma(&a, OP_WRITE, SIGNALED, 0x7000, 4, KEY, 0x7100, KEY);
    rc_ring(&a);
    g_assert_cmphex(cmd(&hca, TO_RST_QP, 2, a.qpn, 0, 0), ==, ST_OK);
    g_assert_cmphex(cmd(&hca, TO_RST_QP, 2, b.qpn, 0, 0), ==, ST_OK);
    g_assert_cmphex(cmd(&hca, HW2SW_CQ, 1, CQN, 0, 0), ==, ST_OK);
    g_usleep(100 * 1000);
    g_assert_cmphex(cmd_out(&hca, QUERY_FW, 0, 0, eqe, 32), ==, ST_OK);
    hca_end(&hca);
}

/* -------------------------------------------------------------- resets */

/* A queue pair in each state, work in its queues, one more that waits. */
static void state_make(Hca *hca, unsigned state, Rc *a, Rc *b)
{
    rc_pair(hca, a, b);
    switch (state) {
    case 0:                                 /* RTS: no receive entry (RNR) */
        rc_put_send(a, OP_SEND, SIGNALED, 0x7000, 4, KEY, 0);
        rc_ring(a);
        break;
    case 1:                                 /* a peer that does not answer */
        g_assert_cmphex(cmd(hca, TO_RST_QP, 2, b->qpn, 0, 0), ==, ST_OK);
        rc_put_rdma(a, OP_READ, SIGNALED, 0x7000, 64, KEY, 0x7100, KEY);
        rc_ring(a);
        break;
    case 2:                                 /* SQD, draining */
        rc_put_send(a, OP_SEND, SIGNALED, 0x7000, 4, KEY, 0);
        rc_ring(a);
        g_assert_cmphex(cmd(hca, 0x01f, 0, a->qpn | 1u << 31, 0, 0), ==,
                        ST_OK);
        break;
    case 3:                                 /* ERR, entries to be flushed */
        rc_recv(a, 0x7100, 64, KEY);
        g_assert_cmphex(rc_modify(a, TO_ERR_QP, 0), ==, ST_OK);
        rc_recv(a, 0x7100, 64, KEY);
        break;
    case 4:                                 /* an error of its own */
        rc_put_send(a, OP_SEND, SIGNALED, 0x7000, 4, KEY + 1, 0);
        rc_ring(a);
        break;
    case 5:                                 /* INIT and RTR */
        g_assert_cmphex(cmd(hca, TO_RST_QP, 2, a->qpn, 0, 0), ==, ST_OK);
        g_assert_cmphex(cmd(hca, TO_RST_QP, 2, b->qpn, 0, 0), ==, ST_OK);
        g_assert_cmphex(rc_modify(a, RST2INIT_QP, 0), ==, ST_OK);
        g_assert_cmphex(rc_modify(b, RST2INIT_QP, 0), ==, ST_OK);
        g_assert_cmphex(rc_modify(b, INIT2RTR_QP, 0x2de), ==, ST_OK);
        break;
    default:                                /* SQE, of a datagram's */
        qp_make(hca);
        ud_send(hca, 0x10, "no datagram", 0);
        break;
    }
}

/* The reset register: whatever there is, all of it is gone. */
static void test_reset(void)
{
    unsigned state;
    Hca hca;

    rc_start(&hca, "-global connectx3.ports=2");
    for (state = 0; state < 7; state++) {
        uint64_t pages = hca.memory;
        uint8_t box[256];
        Rc a, b;

        g_assert_cmphex(cmd(&hca, INIT_PORT, 0, state % 2 + 1, 0, 0), ==,
                        ST_OK);
        state_make(&hca, state, &a, &b);
        reg_write(&hca, 0xf0010, 1);
        hca.toggle = false;
        hca.memory = pages;
        hca.eq_ci = hca.cq_ci = hca.sq_head = hca.rq_head = 0;
        qtest_memset(hca.qts, hca.records, 0, PAGE);
        uar_write32(&hca, 128 * PAGE + 0x14, a.qpn << 8);
        hca_init(&hca);
        eq_make(&hca);
        cq_make(&hca);
        mr_make(&hca);
        lid_set(&hca);
        g_assert_cmphex(cmd_out(&hca, QUERY_QP, 0, QPN_A, box, 256), ==,
                        ST_OK);
        g_assert_cmphex(ib_get_be32(box + 8) >> 28, ==, 0);
        expect_no_wc(&hca);
        rc_pair(&hca, &a, &b);
        write_by_key(&a, 0x80808080 + state, KEY, 0x7200, WC_OK);
        g_assert_cmphex(qtest_readl(hca.qts, hca.data + 0x200), ==,
                        0x80808080 + state);
        g_assert_cmphex(cmd(&hca, TO_RST_QP, 2, a.qpn, 0, 0), ==, ST_OK);
        g_assert_cmphex(cmd(&hca, TO_RST_QP, 2, b.qpn, 0, 0), ==, ST_OK);
    }
    hca_end(&hca);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/connectx3/region/physical", test_physical);
    qtest_add_func("/connectx3/region/huge-pages", test_huge_pages);
    qtest_add_func("/connectx3/region/small-pages", test_small_pages);
    qtest_add_func("/connectx3/region/zero-based", test_zero_based);
    qtest_add_func("/connectx3/region/register-again", test_register_again);
    qtest_add_func("/connectx3/region/fast-register", test_fast_register);
    qtest_add_func("/connectx3/uar/ownership", test_uar_ownership);
    qtest_add_func("/connectx3/uar/blueflame", test_blueflame);
    qtest_add_func("/connectx3/events/vectors", test_vectors);
    qtest_add_func("/connectx3/events/moderation", test_moderation);
    qtest_add_func("/connectx3/reset/every-state", test_reset);
    return g_test_run();
}
