/*
 * connectx3: events, completions, datagrams, migration
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "ib-connectx3-driver.h"

/* --------------------------------------------------------------- events */

static void test_eq_owner(void)
{
    uint8_t box[64];
    int i;
    Hca hca;

    hca_start(&hca, "");
    hca_init(&hca);
    eq_make(&hca);
    /* A driver whose consumer index is 0 must find nothing. */
    for (i = 0; i < 1 << LOG_EQ; i++) {
        g_assert_cmphex(qtest_readb(hca.qts, hca.eq + 32 * i + 31) & 0x80, ==,
                        0x80);
    }
    g_assert_cmphex(qtest_readb(hca.qts, hca.eq + (32 << LOG_EQ) + 31), ==, 0);
    eq_context(box, LOG_EQ, 0);
    g_assert_cmphex(cmd_in(&hca, SW2HW_EQ, 0, EQN, box, 64), ==,
                    ST_BAD_RES_STATE);
    g_assert_cmphex(cmd_in(&hca, SW2HW_EQ, 0, 128, box, 64), ==,
                    ST_BAD_INDEX);
    eq_context(box, 25, 0);
    g_assert_cmphex(cmd_in(&hca, SW2HW_EQ, 0, 2, box, 64), ==, ST_BAD_PARAM);
    eq_context(box, LOG_EQ, 100);           /* no such page */
    g_assert_cmphex(cmd_in(&hca, SW2HW_EQ, 0, 2, box, 64), ==, ST_ICM_ERROR);
    eq_context(box, LOG_EQ, 1 << 20);       /* ICM ends before */
    g_assert_cmphex(cmd_in(&hca, SW2HW_EQ, 0, 2, box, 64), ==, ST_ICM_ERROR);
    g_assert_cmphex(cmd(&hca, HW2SW_EQ, 0, EQN, 0, 0), ==, ST_OK);
    g_assert_cmphex(cmd(&hca, HW2SW_EQ, 0, EQN, 0, 0), ==, ST_BAD_INDEX);
    hca_end(&hca);
}

static void nop_event(Hca *hca, uint16_t token, bool expect_interrupt)
{
    uint8_t eqe[32];

    post(hca, NOP, 0, 0x1f, 0, 0, token, true);
    g_assert_true(eq_next(hca, eqe));
    g_assert_cmphex(eqe[1], ==, 0x0a);
    g_assert_cmphex(ib_get_be16(eqe + 6), ==, token);
    g_assert_cmphex(eqe[0x0f], ==, ST_OK);
    g_assert_cmpint(interrupted(hca), ==, expect_interrupt);
}

/* The command that drivers test their interrupt with. */
static void test_nop(void)
{
    uint8_t eqe[32];
    int i;
    Hca hca;

    hca_start(&hca, "");
    hca_init(&hca);
    msix_enable(&hca);
    eq_make(&hca);
    nop_event(&hca, 0x1234, true);
    nop_event(&hca, 0x1235, false);         /* not armed since */
    eq_arm(&hca, true);
    g_assert_false(interrupted(&hca));      /* all is consumed */
    nop_event(&hca, 0x1236, true);
    post(&hca, NOP, 0, 0x1f, 0, 0, 1, true);
    g_assert_false(interrupted(&hca));
    eq_arm(&hca, true);                     /* one waits: at once */
    g_assert_true(interrupted(&hca));
    g_assert_true(eq_next(&hca, eqe));
    /* Three laps; a failed command says so in its event. */
    for (i = 0; i < 3 << LOG_EQ; i++) {
        eq_arm(&hca, false);
        nop_event(&hca, i, false);
    }
    eq_arm(&hca, true);
    post(&hca, 0x0ee, 0, 0, 0, 0, 0x4321, true);
    g_assert_true(eq_next(&hca, eqe));
    g_assert_cmphex(ib_get_be16(eqe + 6), ==, 0x4321);
    g_assert_cmphex(eqe[0x0f], ==, ST_BAD_OP);
    hca_end(&hca);
}

/* More events than there is room for: the oldest stay. */
static void test_eq_overflow(void)
{
    uint8_t eqe[32];
    int i;
    Hca hca;

    hca_start(&hca, "");
    hca_init(&hca);
    eq_make(&hca);
    for (i = 0; i < 3 << LOG_EQ; i++) {
        post(&hca, NOP, 0, 0, 0, 0, i, true);
    }
    for (i = 0; i < 1 << LOG_EQ; i++) {
        g_assert_true(eq_next(&hca, eqe));
        g_assert_cmphex(ib_get_be16(eqe + 6), ==, i);
    }
    g_assert_false(eq_next(&hca, eqe));
    eq_arm(&hca, true);
    nop_event(&hca, 0x77, false);
    hca_end(&hca);
}

static void test_doorbells(void)
{
    uint8_t eqe[32];
    Hca hca;

    hca_start(&hca, "");
    uar_write32(&hca, 128 * PAGE + 0x14, QPN << 8);     /* too early */
    hca_init(&hca);
    eq_make(&hca);
    uar_write32(&hca, 128 * PAGE + 0x14, QPN << 8);
    uar_write32(&hca, 128 * PAGE + 0x14, 0xffffff00);
    uar_write64(&hca, 128 * PAGE + 0x20, 0x0200123400000000ULL);
    uar_write64(&hca, 128 * PAGE + 0x20, UINT64_MAX);
    uar_write32(&hca, 0x800 + 8 * 3, 1u << 31);         /* EQ 3 */
    uar_write32(&hca, 0x800 + 8 * 1, 0xfffff);          /* beyond the end */
    uar_write32(&hca, 127 * PAGE + 0x818, 1u << 31);
    uar_write32(&hca, (8 << 20) - 4, 1);
    g_assert_false(eq_next(&hca, eqe));
    nop_event(&hca, 0x11, false);
    hca_end(&hca);
}

/* ------------------------------------------------------------ datagrams */

static void ud_start(Hca *hca)
{
    hca_init(hca);
    msix_enable(hca);
    eq_make(hca);
    cq_make(hca);
    mr_make(hca);
    qp_make(hca);
}

static void expect_recv(Hca *hca, uint8_t opcode, const char *text)
{
    uint8_t cqe[32];
    char data[64] = { 0 };

    g_assert_true(cq_next(hca, cqe));
    g_assert_cmphex(ib_get_be32(cqe) & 0xffffff, ==, QPN);
    g_assert_cmphex(cqe[31] & 0x7f, ==, opcode);
    g_assert_cmphex(ib_get_be32(cqe + 8), ==, QPN);     /* no GRH, source */
    g_assert_cmphex(ib_get_be16(cqe + 0x0c), ==, 3 << 12);
    g_assert_cmpuint(ib_get_be32(cqe + 0x14), ==, 40 + strlen(text));
    if (opcode == 2) {
        g_assert_cmphex(ib_get_be32(cqe + 4), ==, 0x11223344);
    }
    qtest_memread(hca->qts, hca->data + 0x100 + 40, data, strlen(text));
    g_assert_cmpstr(data, ==, text);
}

static void expect_send(Hca *hca, uint8_t opcode, uint16_t counter)
{
    uint8_t cqe[32];

    g_assert_true(cq_next(hca, cqe));
    g_assert_cmphex(ib_get_be32(cqe) & 0xffffff, ==, QPN);
    g_assert_cmphex(cqe[31] & 0x7f, ==, 0x40 | opcode);
    g_assert_cmphex(ib_get_be16(cqe + 0x18), ==, counter);
}

static void expect_error(Hca *hca, uint8_t syndrome, bool send)
{
    uint8_t cqe[32];

    g_assert_true(cq_next(hca, cqe));
    g_assert_cmphex(ib_get_be32(cqe) & 0xffffff, ==, QPN);
    g_assert_cmphex(cqe[31] & 0x1f, ==, 0x1e);
    g_assert_cmphex(cqe[31] & 0x40, ==, send ? 0x40 : 0);
    g_assert_cmphex(cqe[0x1b], ==, syndrome);
}

/* Both completions of a datagram to itself, in the order they come. */
static void expect_both(Hca *hca, uint8_t send, uint8_t recv, const char *text,
                        uint16_t counter)
{
    uint8_t last = qtest_readb(hca->qts, hca->cq + 32 * (hca->cq_ci % 8) + 31);

    if (last & 0x40) {
        expect_send(hca, send, counter);
        expect_recv(hca, recv, text);
    } else {
        expect_recv(hca, recv, text);
        expect_send(hca, send, counter);
    }
}

static void test_ud_loopback(void)
{
    uint8_t box[256], cqe[32], eqe[32];
    char text[32];
    int i;
    Hca hca;

    hca_start(&hca, "");
    ud_start(&hca);
    for (i = 0; i < 1 << LOG_CQ; i++) {
        g_assert_cmphex(qtest_readb(hca.qts, hca.cq + 32 * i + 31) & 0x80, ==,
                        0x80);
    }
    cq_arm(&hca, 2);
    recv_post(&hca, 0x7100, 0x200, KEY);
    ud_send(&hca, 0x0a, "hello", 3 << 2);
    expect_both(&hca, 0x0a, 1, "hello", 0);
    g_assert_true(interrupted(&hca));
    g_assert_true(eq_next(&hca, eqe));
    g_assert_cmphex(eqe[1], ==, 0);
    g_assert_cmphex(ib_get_be32(eqe + 4), ==, CQN);
    g_assert_false(eq_next(&hca, eqe));     /* it was armed once */
    eq_arm(&hca, true);

    /* Not signaled, with immediate; through both laps of all rings. */
    for (i = 1; i < 20; i++) {
        g_snprintf(text, sizeof(text), "message %d", i);
        recv_post(&hca, 0x7100, 0x200, KEY);
        ud_send(&hca, 0x0b, text, 0);
        expect_recv(&hca, 2, text);
        g_assert_false(cq_next(&hca, cqe));
    }

    /* A solicited one is what the driver waits for. */
    cq_arm(&hca, 1);
    recv_post(&hca, 0x7100, 0x200, KEY);
    ud_send(&hca, 0x0a, "quiet", 0);
    expect_recv(&hca, 1, "quiet");
    g_assert_false(eq_next(&hca, eqe));
    recv_post(&hca, 0x7100, 0x200, KEY);
    ud_send(&hca, 0x0a, "loud", 1 << 1);
    expect_recv(&hca, 1, "loud");
    g_assert_true(eq_next(&hca, eqe));

    g_assert_cmphex(cmd_out(&hca, QUERY_QP, 0, QPN, box, sizeof(box)), ==,
                    ST_OK);
    g_assert_cmphex(ib_get_be32(box + 8) >> 28, ==, 3);     /* RTS */
    g_assert_cmphex(ib_get_be32(box + 8 + 0x04), ==, PD);
    g_assert_cmphex(ib_get_be32(box + 8 + 0xa8), ==, QKEY);
    g_assert_cmphex(ib_get_be32(box + 8 + 0x78), ==, 0x777 + 22);
    hca_end(&hca);
}

/* No receive entry: a datagram is lost, and nothing else happens. */
static void test_ud_no_receive(void)
{
    uint8_t cqe[32];
    Hca hca;

    hca_start(&hca, "");
    ud_start(&hca);
    ud_send(&hca, 0x0a, "lost", 0);
    g_assert_false(cq_next(&hca, cqe));
    recv_post(&hca, 0x7100, 0x200, KEY);
    ud_send(&hca, 0x0a, "found", 0);
    expect_recv(&hca, 1, "found");
    hca_end(&hca);
}

/* IBA Vol.1 10.3.1: an error of the send queue leaves the receive queue. */
static void test_ud_bad_send(void)
{
    uint8_t wqe[128] = { 0 }, box[256], cqe[32];
    Hca hca;

    hca_start(&hca, "");
    ud_start(&hca);
    wqe[3] = 0x10;                          /* RDMA read on UD */
    wqe[7] = 5;
    send_post(&hca, wqe, sizeof(wqe));
    expect_error(&hca, 0x02, true);
    cmd_out(&hca, QUERY_QP, 0, QPN, box, sizeof(box));
    g_assert_cmphex(ib_get_be32(box + 8) >> 28, ==, 4);     /* SQER */

    /* Posted in the error state: flushed. */
    ud_send(&hca, 0x0a, "flushed", 0);
    expect_error(&hca, 0x05, true);

    /*
     * To ERR: what is in the receive queue comes back, and what is posted
     * later too, although nobody rings for it.
     */
    recv_post(&hca, 0x7100, 0x200, KEY);
    qp_box(&hca, box, 0);
    g_assert_cmphex(cmd_in(&hca, TO_ERR_QP, 0, QPN, box, sizeof(box)), ==,
                    ST_OK);
    expect_error(&hca, 0x05, false);
    recv_post(&hca, 0x7100, 0x200, KEY);
    cq_arm(&hca, 2);
    expect_error(&hca, 0x05, false);
    g_assert_false(cq_next(&hca, cqe));
    g_assert_cmphex(cmd(&hca, TO_RST_QP, 2, QPN, 0, 0), ==, ST_OK);
    g_assert_cmphex(cmd(&hca, TO_RST_QP, 2, QPN, 0, 0), ==, ST_OK);
    hca_end(&hca);
}

static void bad_send(Hca *hca, uint32_t key, uint64_t va, uint32_t len,
                     uint8_t syndrome)
{
    uint8_t wqe[128] = { 0 };

    wqe[3] = 0x0a;
    wqe[7] = 5;
    ib_put_be32(wqe + 0x10, 1u << 31 | 1 << 24 | PD);
    ib_put_be32(wqe + 0x30, QPN);
    ib_put_be32(wqe + 0x34, QKEY);
    ib_put_be32(wqe + 0x40, len);
    ib_put_be32(wqe + 0x44, key);
    ib_put_be64(wqe + 0x48, va);
    send_post(hca, wqe, sizeof(wqe));
    expect_error(hca, syndrome, true);
    /* SQER to RTS again, with nothing changed */
    g_assert_cmphex(cmd(hca, 0x01d, 0, QPN, hca->in, 0), ==, ST_OK);
}

static void test_bad_keys(void)
{
    uint8_t box[256] = { 0 };
    Hca hca;

    hca_start(&hca, "");
    ud_start(&hca);
    box_write(&hca, box, sizeof(box));
    bad_send(&hca, KEY + 1, 0x7000, 16, 0x04);      /* other variant */
    bad_send(&hca, 0x1200, 0x7000, 16, 0x04);       /* no such key */
    bad_send(&hca, KEY, 0x6fff, 16, 0x04);          /* before it */
    bad_send(&hca, KEY, 0x7ff1, 16, 0x04);          /* past its end */
    bad_send(&hca, KEY, UINT64_MAX - 7, 16, 0x04);
    /* The page table leads nowhere. */
    mtt_set(&hca, 3, NOWHERE);
    bad_send(&hca, KEY, 0x7000, 16, 0x04);
    qtest_memset(hca.qts, hca.mtt + 8 * 3, 0, 8);   /* not present */
    bad_send(&hca, KEY, 0x7000, 16, 0x04);
    mtt_set(&hca, 3, hca.data);
    recv_post(&hca, 0x7100, 0x200, KEY);
    ud_send(&hca, 0x0a, "alive", 0);
    expect_recv(&hca, 1, "alive");
    hca_end(&hca);
}

/* An address of another port than the queue pair's. */
static void test_bad_port(void)
{
    uint8_t wqe[128] = { 0 };
    Hca hca;

    hca_start(&hca, "-global connectx3.ports=2");
    ud_start(&hca);
    wqe[3] = 0x0a;
    wqe[7] = 5;
    ib_put_be32(wqe + 0x10, 1u << 31 | 2 << 24 | PD);
    ib_put_be32(wqe + 0x30, QPN);
    ib_put_be32(wqe + 0x34, QKEY);
    send_post(&hca, wqe, sizeof(wqe));
    expect_error(&hca, 0x02, true);
    hca_end(&hca);
}

/* An entry whose place is not in memory any more: the QP fails, not QEMU. */
static void test_ring_gone(void)
{
    Hca hca;

    hca_start(&hca, "");
    hca_init(&hca);
    msix_enable(&hca);
    eq_make(&hca);
    cq_make(&hca);
    mr_make(&hca);
    mtt_set(&hca, 2, NOWHERE);
    qp_make(&hca);
    uar_write32(&hca, 128 * PAGE + 0x14, QPN << 8);
    expect_error(&hca, 0x02, true);
    g_assert_cmphex(cmd(&hca, TO_RST_QP, 2, QPN, 0, 0), ==, ST_OK);
    mtt_set(&hca, 2, hca.wq);
    g_assert_cmphex(cmd(&hca, HW2SW_CQ, 1, CQN, 0, 0), ==, ST_OK);
    cq_make(&hca);
    hca.cq_ci = hca.sq_head = hca.rq_head = 0;
    qp_make(&hca);
    recv_post(&hca, 0x7100, 0x200, KEY);
    ud_send(&hca, 0x0a, "alive", 0);
    expect_recv(&hca, 1, "alive");
    hca_end(&hca);
}

static void test_cq_overrun(void)
{
    uint8_t eqe[32], record[4];
    int i;
    Hca hca;

    hca_start(&hca, "");
    ud_start(&hca);
    for (i = 0; i < (1 << LOG_CQ) + 1; i++) {
        ud_send(&hca, 0x0a, "x", 3 << 2);
    }
    g_assert_true(eq_next(&hca, eqe));
    g_assert_cmphex(eqe[1], ==, 0x04);
    g_assert_cmphex(ib_get_be32(eqe + 4), ==, CQN);
    g_assert_cmphex(eqe[0x0f], ==, 1);              /* overrun */
    ib_put_be32(record, 8);
    qtest_memwrite(hca.qts, hca.records, record, 4);
    g_assert_false(eq_next(&hca, eqe));
    hca_end(&hca);
}

static void test_cq_resize(void)
{
    uint8_t box[64], cqe[32];
    uint64_t bigger;
    Hca hca;

    hca_start(&hca, "");
    ud_start(&hca);
    bigger = hca_page(&hca);
    mtt_set(&hca, 4, bigger);
    ud_send(&hca, 0x0a, "x", 3 << 2);
    cq_context(&hca, box, LOG_CQ + 1);
    ib_put_be32(box + 0x1c, 4 * 8);
    g_assert_cmphex(cmd_in(&hca, MODIFY_CQ, 0, CQN, box, 64), ==, ST_OK);
    ud_send(&hca, 0x0a, "y", 3 << 2);
    expect_send(&hca, 0x0a, 0);
    g_assert_true(cq_next(&hca, cqe));              /* ends the old ring */
    g_assert_cmphex(cqe[31] & 0x1f, ==, 0x16);
    g_assert_false(cq_next(&hca, cqe));
    /* Position 2 of the new ring. */
    qtest_memread(hca.qts, bigger + 2 * 32, cqe, 32);
    g_assert_cmphex(cqe[31], ==, 0x40 | 0x0a);
    g_assert_cmphex(ib_get_be16(cqe + 0x18), ==, 1);
    qtest_memread(hca.qts, bigger + 3 * 32, cqe, 32);
    g_assert_cmphex(cqe[31] & 0x80, ==, 0x80);
    cq_context(&hca, box, 0);
    g_assert_cmphex(cmd_in(&hca, MODIFY_CQ, 0, CQN, box, 64), ==, ST_BAD_SIZE);
    hca_end(&hca);
}

static void test_qp_states(void)
{
    uint8_t box[256];
    Hca hca;

    hca_start(&hca, "");
    hca_init(&hca);
    qp_box(&hca, box, 0);
    g_assert_cmphex(cmd_in(&hca, RST2INIT_QP, 0, QPN, box, sizeof(box)), ==,
                    ST_BAD_RESOURCE);       /* there is no CQ */
    eq_make(&hca);
    cq_make(&hca);
    g_assert_cmphex(cmd_in(&hca, INIT2RTR_QP, 0, QPN, box, sizeof(box)), ==,
                    ST_BAD_QP_STATE);
    g_assert_cmphex(cmd_in(&hca, RTR2RTS_QP, 0, QPN, box, sizeof(box)), ==,
                    ST_BAD_QP_STATE);
    g_assert_cmphex(cmd_in(&hca, RST2INIT_QP, 0, 1 << 18, box, sizeof(box)),
                    ==, ST_BAD_INDEX);
    g_assert_cmphex(cmd_in(&hca, RST2INIT_QP, 0, QPN, box, sizeof(box)), ==,
                    ST_OK);
    g_assert_cmphex(cmd_in(&hca, RST2INIT_QP, 0, QPN, box, sizeof(box)), ==,
                    ST_BAD_QP_STATE);
    /* Of a port that is not there */
    box[8 + 0x18 + 0x20] = 1 << 6;
    g_assert_cmphex(cmd_in(&hca, INIT2RTR_QP, 0, QPN, box, sizeof(box)), ==,
                    ST_BAD_QP_STATE);
    box[8 + 0x18 + 0x20] = 0;
    g_assert_cmphex(cmd_in(&hca, INIT2RTR_QP, 0, QPN, box, sizeof(box)), ==,
                    ST_OK);
    hca_end(&hca);
}

/* ------------------------------------------------------------ migration */

static void test_migration(void)
{
    uint8_t box[256], eqe[32], cqe[32];
    Hca hca, to;

    hca_start(&hca, "");
    ud_start(&hca);
    nop_event(&hca, 0x100, true);
    recv_post(&hca, 0x7100, 0x200, KEY);
    ud_send(&hca, 0x0a, "before", 3 << 2);
    expect_both(&hca, 0x0a, 1, "before", 0);
    recv_post(&hca, 0x7100, 0x200, KEY);            /* and this waits */
    cq_arm(&hca, 2);
    hca_migrate(&hca, &to, "");
    /* BARs are where they were. */
    g_assert_cmphex(reg_read(&to, 0x80698) >> 21 & 1, ==, to.toggle);
    eq_arm(&to, true);
    nop_event(&to, 0x200, true);
    eq_arm(&to, true);
    ud_send(&to, 0x0a, "after", 3 << 2);
    expect_both(&to, 0x0a, 1, "after", 1);
    g_assert_true(interrupted(&to));
    g_assert_true(eq_next(&to, eqe));
    g_assert_cmphex(ib_get_be32(eqe + 4), ==, CQN);
    g_assert_false(cq_next(&to, cqe));
    g_assert_cmphex(cmd_out(&to, QUERY_QP, 0, QPN, box, sizeof(box)), ==,
                    ST_OK);
    g_assert_cmphex(ib_get_be32(box + 8 + 0x78), ==, 0x777 + 2);
    hca_end(&to);
    hca_end(&hca);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/connectx3/eq-owner", test_eq_owner);
    qtest_add_func("/connectx3/nop", test_nop);
    qtest_add_func("/connectx3/eq-overflow", test_eq_overflow);
    qtest_add_func("/connectx3/doorbells", test_doorbells);
    qtest_add_func("/connectx3/ud/loopback", test_ud_loopback);
    qtest_add_func("/connectx3/ud/no-receive", test_ud_no_receive);
    qtest_add_func("/connectx3/ud/bad-send", test_ud_bad_send);
    qtest_add_func("/connectx3/ud/bad-keys", test_bad_keys);
    qtest_add_func("/connectx3/ud/port", test_bad_port);
    qtest_add_func("/connectx3/ring-gone", test_ring_gone);
    qtest_add_func("/connectx3/cq-overrun", test_cq_overrun);
    qtest_add_func("/connectx3/cq-resize", test_cq_resize);
    qtest_add_func("/connectx3/qp-states", test_qp_states);
    qtest_add_func("/connectx3/migration", test_migration);
    return g_test_run();
}
