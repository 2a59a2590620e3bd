/*
 * connectx3: memory windows (IBA Vol.1 10.6.7)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "ib-connectx3-rc.h"

enum {
    RIGHT_READ = 1 << 29, RIGHT_WRITE = 1 << 30,
    ZERO_BASED = 1 << 30,
    /* Entries of the key table. */
    BINDABLE = 0x12, WINDOW = 0x13,
};
#define TYPE_2          (1u << 31)
#define RIGHT_ATOMIC    (1u << 31)
#define REGION_BIND     (0xf0000000u | 1 << 17 | 0x3f << 10 | 1 << 8)
#define TYPE_1_FLAGS    0u
#define TYPE_2_FLAGS    0x30000000u         /* free until it is bound */
#define EN_INV          (3u << 24)

typedef struct Window {
    Hca hca;
    Rc a, b;                      /* b binds, a uses */
    uint32_t lkey, rkey;
    bool type2;
} Window;

static uint32_t window_make(Window *w, uint32_t index, uint32_t pd)
{
    uint8_t box[64] = { 0 };

    ib_put_be32(box, w->type2 ? TYPE_2_FLAGS : TYPE_1_FLAGS);
    ib_put_be32(box + 4, w->type2 ? 1 << 7 : 0);
    ib_put_be32(box + 8, index);
    ib_put_be32(box + 0x0c, pd | (w->type2 ? EN_INV : 0));
    g_assert_cmphex(cmd_in(&w->hca, SW2HW_MPT, 0, index, box, 64), ==, ST_OK);
    return index << 8;
}

static void window_start(Window *w, bool type2)
{
    uint8_t box[0x100];

    rc_start(&w->hca, "");
    g_assert_cmphex(cmd_out(&w->hca, QUERY_DEV_CAP, 0, 0, box, 0x100), ==,
                    ST_OK);
    g_assert_cmphex(ib_get_be32(box + 0x44) & (1 << 16), ==, 1 << 16);
    /* Type 2, and that 2B. */
    g_assert_cmphex(ib_get_be32(box + 0x94) & 0x202, ==, 0x202);
    rc_pair(&w->hca, &w->a, &w->b);
    w->type2 = type2;
    w->lkey = key_make(&w->hca, BINDABLE, REGION_BIND, PD, 0x7000, PAGE, 3);
    w->rkey = window_make(w, WINDOW, PD);
}

static void bind_put(Window *w, Rc *qp, uint32_t rights, uint32_t flags,
                     uint32_t rkey, uint32_t lkey, uint64_t va, uint64_t len)
{
    uint8_t wqe[128];

    rc_ctrl(wqe, OP_BIND, SIGNALED | STRONG_ORDER, 3, 0);
    ib_put_be32(wqe + 16, rights);
    ib_put_be32(wqe + 20, flags | (w->type2 ? TYPE_2 : 0));
    ib_put_be32(wqe + 24, rkey);
    ib_put_be32(wqe + 28, lkey);
    ib_put_be64(wqe + 32, va);
    ib_put_be64(wqe + 40, len);
    rc_put(qp, wqe);
}

static void bind_window(Window *w, uint32_t rights, uint32_t flags,
                        uint64_t va, uint64_t len)
{
    w->rkey = (w->rkey & ~0xffu) | ((w->rkey + 1) & 0xff);
    bind_put(w, &w->b, rights, flags, w->rkey, w->lkey, va, len);
    rc_ring(&w->b);
    expect_wc(&w->hca, w->b.qpn, true, WC_OK);
}

/* What the binding asked for is refused, and ends its queue pair. */
static void bind_refused(Window *w, Rc *qp, uint32_t rights, uint32_t rkey,
                         uint32_t lkey, uint64_t va, uint64_t len)
{
    bind_put(w, qp, rights, 0, rkey, lkey, va, len);
    rc_ring(qp);
    expect_wc(&w->hca, qp->qpn, true, WC_BIND);
}

static void again(Window *w)
{
    uint8_t cqe[32], eqe[32];

    g_assert_cmphex(cmd(&w->hca, TO_RST_QP, 2, w->a.qpn, 0, 0), ==, ST_OK);
    g_assert_cmphex(cmd(&w->hca, TO_RST_QP, 2, w->b.qpn, 0, 0), ==, ST_OK);
    while (cq_next(&w->hca, cqe)) {
        continue;
    }
    while (eq_next(&w->hca, eqe)) {
        continue;
    }
    eq_arm(&w->hca, false);
    rc_pair(&w->hca, &w->a, &w->b);
}

static void use(Window *w, uint8_t opcode, uint64_t va, uint32_t len,
                uint8_t status)
{
    rc_put_rdma(&w->a, opcode, SIGNALED, 0x7000, len, KEY, va, w->rkey);
    rc_ring(&w->a);
    expect_wc(&w->hca, w->a.qpn, true, status);
    if (status != WC_OK) {
        again(w);
    }
}

/* Of the window's region: how many windows it has, as its entry says. */
static uint32_t windows_of_region(Window *w)
{
    uint8_t count[4];

    qtest_memread(w->hca.qts, w->hca.mpt + 64 * BINDABLE + 0x24, count, 4);
    return ib_get_be32(count);
}

static void test_type_1(void)
{
    uint32_t old;
    Window w;

    window_start(&w, false);
    use(&w, OP_WRITE, 0x7200, 4, WC_REM_ACCESS);        /* not bound yet */
    bind_window(&w, RIGHT_READ | RIGHT_WRITE, 0, 0x7200, 0x100);
    g_assert_cmpuint(windows_of_region(&w), ==, 1);
    qtest_writel(w.hca.qts, w.hca.data, 0x44444444);
    use(&w, OP_WRITE, 0x7200, 4, WC_OK);
    g_assert_cmphex(qtest_readl(w.hca.qts, w.hca.data + 0x200), ==,
                    0x44444444);
    use(&w, OP_READ, 0x72fc, 4, WC_OK);
    use(&w, OP_WRITE, 0x71ff, 4, WC_REM_ACCESS);        /* its bounds */
    use(&w, OP_WRITE, 0x72fd, 4, WC_REM_ACCESS);
    use(&w, OP_FETCH_ADD, 0x7200, 8, WC_REM_ACCESS);    /* its rights */

    /* Bound elsewhere, with another key: the old one is none any more. */
    old = w.rkey;
    bind_window(&w, RIGHT_READ, 0, 0x7400, 0x10);
    g_assert_cmpuint(windows_of_region(&w), ==, 1);
    use(&w, OP_READ, 0x7400, 4, WC_OK);
    use(&w, OP_WRITE, 0x7400, 4, WC_REM_ACCESS);
    w.rkey = old;
    use(&w, OP_READ, 0x7400, 4, WC_REM_ACCESS);
    w.rkey = old + 1;

    /* A region with a window stays; without one it goes. */
    g_assert_cmphex(cmd(&w.hca, HW2SW_MPT, 1, BINDABLE, 0, 0), ==,
                    ST_REG_BOUND);
    bind_window(&w, 0, 0, 0, 0);
    g_assert_cmpuint(windows_of_region(&w), ==, 0);
    use(&w, OP_READ, 0x7400, 4, WC_REM_ACCESS);
    g_assert_cmphex(cmd(&w.hca, HW2SW_MPT, 1, BINDABLE, 0, 0), ==, ST_OK);
    g_assert_cmphex(cmd(&w.hca, HW2SW_MPT, 1, WINDOW, 0, 0), ==, ST_OK);
    hca_end(&w.hca);
}

/* A local key is what a window never is. */
static void test_not_local(void)
{
    Window w;

    window_start(&w, false);
    bind_window(&w, RIGHT_READ | RIGHT_WRITE, 0, 0x7000, PAGE);
    rc_put_rdma(&w.a, OP_WRITE, SIGNALED, 0x7000, 4, w.rkey, 0x7100, KEY);
    rc_ring(&w.a);
    expect_wc(&w.hca, w.a.qpn, true, WC_LOC_PROT);
    hca_end(&w.hca);
}

static void test_zero_based(void)
{
    Window w;

    window_start(&w, true);
    bind_window(&w, RIGHT_WRITE | RIGHT_ATOMIC, ZERO_BASED, 0x7300, 0x80);
    qtest_writel(w.hca.qts, w.hca.data, 0x55555555);
    use(&w, OP_WRITE, 8, 4, WC_OK);
    g_assert_cmphex(qtest_readl(w.hca.qts, w.hca.data + 0x308), ==,
                    0x55555555);
    use(&w, OP_FETCH_ADD, 8, 8, WC_OK);
    g_assert_cmphex(qtest_readl(w.hca.qts, w.hca.data + 0x308), ==,
                    0x55555556);
    rc_put_rdma(&w.a, OP_WRITE, SIGNALED, 0x7000, 4, KEY, 0x80, w.rkey);
    rc_ring(&w.a);
    expect_wc(&w.hca, w.a.qpn, true, WC_REM_ACCESS);
    hca_end(&w.hca);
}

/* Bound once, used by that queue pair only, freed by an invalidation. */
static void test_type_2(void)
{
    Window w;
    uint8_t cqe[32];

    window_start(&w, true);
    use(&w, OP_WRITE, 0x7200, 4, WC_REM_ACCESS);
    bind_window(&w, RIGHT_WRITE, 0, 0x7200, 0x100);
    use(&w, OP_WRITE, 0x7200, 4, WC_OK);
    g_assert_cmpuint(windows_of_region(&w), ==, 1);

    /* Through its own queue pair, not through its peer's. */
    rc_put_rdma(&w.b, OP_WRITE, SIGNALED, 0x7000, 4, KEY, 0x7200, w.rkey);
    rc_ring(&w.b);
    expect_wc(&w.hca, w.b.qpn, true, WC_REM_ACCESS);
    again(&w);

    /* The peer invalidates it with a send; it completes with the key. */
    rc_recv(&w.b, 0x7800, 64, KEY);
    rc_put_send(&w.a, OP_SEND_INV, SIGNALED, 0x7000, 4, KEY, w.rkey);
    rc_ring(&w.a);
    g_assert_true(cq_next(&w.hca, cqe));
    g_assert_cmphex(cqe[31] & 0x5f, ==, 0x03);
    g_assert_cmphex(ib_get_be32(cqe + 4), ==, w.rkey);
    expect_wc(&w.hca, w.a.qpn, true, WC_OK);
    g_assert_cmpuint(windows_of_region(&w), ==, 0);
    use(&w, OP_WRITE, 0x7200, 4, WC_REM_ACCESS);

    /* Free now: it may be bound again. Locally it is invalidated too. */
    bind_window(&w, RIGHT_WRITE, 0, 0x7200, 0x100);
    use(&w, OP_WRITE, 0x7200, 4, WC_OK);
    rc_put_inv(&w.b, SIGNALED | STRONG_ORDER, w.rkey);
    rc_ring(&w.b);
    expect_wc(&w.hca, w.b.qpn, true, WC_OK);
    use(&w, OP_WRITE, 0x7200, 4, WC_REM_ACCESS);
    hca_end(&w.hca);
}

static void test_type_2_states(void)
{
    Window w;

    window_start(&w, true);
    bind_window(&w, RIGHT_WRITE, 0, 0x7200, 0x100);
    /* It is bound. */
    bind_refused(&w, &w.b, RIGHT_WRITE, w.rkey + 1, w.lkey, 0x7200, 16);
    again(&w);
    /* Another queue pair may not invalidate it, from here or from there. */
    rc_put_inv(&w.a, SIGNALED, w.rkey);
    rc_ring(&w.a);
    expect_wc(&w.hca, w.a.qpn, true, WC_BIND);
    again(&w);
    rc_recv(&w.a, 0x7800, 64, KEY);
    rc_put_send(&w.b, OP_SEND_INV, SIGNALED, 0x7000, 4, KEY, w.rkey);
    rc_ring(&w.b);
    expect_wc(&w.hca, w.a.qpn, false, WC_LOC_ACCESS);
    expect_wc(&w.hca, w.b.qpn, true, WC_REM_ACCESS);
    again(&w);
    use(&w, OP_WRITE, 0x7200, 4, WC_OK);
    hca_end(&w.hca);

    /* Type 1 is never invalidated. */
    window_start(&w, false);
    bind_window(&w, RIGHT_WRITE, 0, 0x7200, 0x100);
    rc_put_inv(&w.b, SIGNALED, w.rkey);
    rc_ring(&w.b);
    expect_wc(&w.hca, w.b.qpn, true, WC_BIND);
    hca_end(&w.hca);
}

static void test_refused(void)
{
    uint32_t plain, read_only, other, foreign;
    Window w;

    window_start(&w, false);
    plain = KEY;                            /* takes no windows */
    read_only = key_make(&w.hca, 0x14, REGION_BIND & ~(1u << 11), PD, 0x7000,
                         PAGE, 3);
    other = key_make(&w.hca, 0x15, REGION_BIND, PD + 1, 0x7000, PAGE, 3);
    foreign = window_make(&w, 0x16, PD + 1);
#define REFUSED(rights, rkey, lkey, va, len)                              \
    do {                                                                  \
        bind_refused(&w, &w.b, rights, rkey, lkey, va, len);              \
        again(&w);                                                        \
    } while (0)
    REFUSED(RIGHT_READ, w.rkey, plain, 0x7000, 16);
    REFUSED(RIGHT_WRITE, w.rkey, read_only, 0x7000, 16);
    REFUSED(RIGHT_ATOMIC, w.rkey, read_only, 0x7000, 16);
    REFUSED(RIGHT_READ, w.rkey, other, 0x7000, 16);
    REFUSED(RIGHT_READ, foreign, w.lkey, 0x7000, 16);
    REFUSED(RIGHT_READ, w.rkey, w.rkey, 0x7000, 16);    /* window on window */
    REFUSED(RIGHT_READ, w.lkey, w.lkey, 0x7000, 16);    /* region as window */
    REFUSED(RIGHT_READ, 0x3f00, w.lkey, 0x7000, 16);
    REFUSED(RIGHT_READ, UINT32_MAX, w.lkey, 0x7000, 16);
    REFUSED(RIGHT_READ, w.rkey, UINT32_MAX, 0x7000, 16);
    REFUSED(RIGHT_READ, w.rkey, w.lkey, 0x6fff, 16);
    REFUSED(RIGHT_READ, w.rkey, w.lkey, 0x7ff1, 16);
    REFUSED(RIGHT_READ, w.rkey, w.lkey, 0x7000, UINT64_MAX);
    REFUSED(RIGHT_READ, w.rkey, w.lkey, UINT64_MAX, 2);
#undef REFUSED
    /* As the other type. */
    w.type2 = true;
    bind_refused(&w, &w.b, RIGHT_READ, w.rkey, w.lkey, 0x7000, 16);
    again(&w);
    w.type2 = false;
    g_assert_cmpuint(windows_of_region(&w), ==, 0);
    bind_window(&w, RIGHT_READ, 0, 0x7000, 16);
    use(&w, OP_READ, 0x7000, 4, WC_OK);
    hca_end(&w.hca);
}

/* The region changes under a window: nothing of the new one is reached. */
static void test_region_gone(void)
{
    Window w;

    window_start(&w, false);
    bind_window(&w, RIGHT_WRITE, 0, 0x7200, 0x100);
    /* A driver that hands over another entry without asking. */
    key_make(&w.hca, BINDABLE, REGION_BIND, PD, 0x9000, PAGE, 3);
    use(&w, OP_WRITE, 0x7200, 4, WC_REM_ACCESS);
    qtest_writeb(w.hca.qts, w.hca.mpt + 64 * BINDABLE, 0xf0);
    g_assert_cmphex(cmd(&w.hca, SYNC_TPT, 0, 0, 0, 0), ==, ST_OK);
    use(&w, OP_WRITE, 0x7200, 4, WC_REM_ACCESS);
    hca_end(&w.hca);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/connectx3/window/type-1", test_type_1);
    qtest_add_func("/connectx3/window/not-local", test_not_local);
    qtest_add_func("/connectx3/window/zero-based", test_zero_based);
    qtest_add_func("/connectx3/window/type-2", test_type_2);
    qtest_add_func("/connectx3/window/type-2-states", test_type_2_states);
    qtest_add_func("/connectx3/window/refused", test_refused);
    qtest_add_func("/connectx3/window/region-gone", test_region_gone);
    return g_test_run();
}
