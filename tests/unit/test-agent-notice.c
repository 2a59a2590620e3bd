/*
 * The queue of notices
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IBA Vol.1 13.4.10; NoticeToggle is bit 15 and NoticeCount bits 14:0 of the
 * Notice's bytes 8 and 9, TrapNumber its bytes 4 and 5.
 */
#include "agent-node.h"
#include "hw/infiniband/ib-state.h"

#define NOTICE  0x02

static uint16_t be16(const uint8_t *p)
{
    return p[0] << 8 | p[1];
}

/* Its ports have come up, which is in the queue, until the reset. */
static TestNode *node(void)
{
    TestNode *t = test_node_new_with(IB_NODE_TYPE_SWITCH, 3, (IbNodeConfig) {
        .capability_mask = IB_NODE_CAPABILITY_MASK | 1 << 2,
    }, &test_link_config, NULL);
    uint8_t d[64];

    g_assert_cmphex(test_get(t, 1, NOTICE, 0, d), ==, 0);
    g_assert_cmpuint(be16(d + 4), ==, 128);
    g_assert_cmphex(be16(d + 8), ==, 1);        /* three are one */
    ib_node_reset(t->node);
    return t;
}

static void check(TestNode *t, uint16_t trap, bool toggle, unsigned count,
                  const uint8_t d[64])
{
    g_assert_cmphex(d[0], ==, count ? 0x81 : 0xff);     /* Type */
    g_assert_cmpuint(be16(d + 2), ==, 2);               /* a switch's */
    g_assert_cmpuint(be16(d + 4), ==, trap);
    g_assert_cmphex(be16(d + 8), ==, toggle << 15 | count);
}

static void get(TestNode *t, uint16_t trap, bool toggle, unsigned count)
{
    uint8_t d[64];

    g_assert_cmphex(test_get(t, 1, NOTICE, 0, d), ==, 0);
    check(t, trap, toggle, count, d);
}

static void take(TestNode *t, bool toggle, uint8_t d[64])
{
    memset(d, 0, 64);
    d[8] = toggle << 7;
    g_assert_cmphex(test_set(t, 1, NOTICE, 0, d), ==, 0);
}

/* Without LIDs no trap goes, but the queue has what happened. */
static void test_queue(void)
{
    TestNode *t = node();
    uint8_t d[64];

    get(t, 0, 0, 0);
    ib_node_link_error(t->node, 2, IB_LINK_INTEGRITY);
    ib_node_link_error(t->node, 3, IB_LINK_BUFFER_OVERRUN);
    ib_node_link_error(t->node, 3, IB_LINK_BUFFER_OVERRUN);
    g_assert_cmpuint(t->num_traps, ==, 0);
    get(t, 129, 0, 2);
    get(t, 129, 0, 2);
    take(t, 1, d);                      /* not the one that is first */
    check(t, 129, 0, 2, d);
    take(t, 0, d);
    check(t, 130, 1, 1, d);
    g_assert_cmpuint(d[14], ==, 3);     /* PORTNO */
    take(t, 0, d);                      /* a Set that comes twice */
    check(t, 130, 1, 1, d);
    take(t, 1, d);
    check(t, 0, 0, 0, d);
    take(t, 0, d);
    check(t, 0, 0, 0, d);
    test_node_free(t);
}

/* 16 places; the oldest is lost. */
static void test_full(void)
{
    TestNode *t = node();
    uint8_t d[64];
    unsigned i;

    ib_node_link_error(t->node, 1, IB_LINK_INTEGRITY);
    for (i = 0; i < 16; i++) {
        get(t, 129, 0, i + 1);
        ib_node_link_error(t->node, 1 + i % 3, IB_LINK_FLOW_UPDATE);
    }
    take(t, 0, d);                      /* was for the one that is gone */
    check(t, 131, 1, 16, d);
    for (i = 0; i < 16; i++) {
        g_assert_cmpuint(d[14], ==, 1 + i % 3);
        take(t, !(i % 2), d);
    }
    check(t, 0, 1, 0, d);
    test_node_free(t);
}

/* With a trap as well: both tell the same. */
static void test_trap(void)
{
    TestNode *t = node();
    uint8_t d[64];

    test_give_lids(t, 1, 0);
    ib_link_cable_detach(t->ends[2].link);
    g_assert_cmpuint(t->num_traps, ==, 1);
    get(t, 128, 0, 1);
    g_assert_cmphex(test_get(t, 1, NOTICE, 0, d), ==, 0);
    d[8] = d[9] = 0;
    g_assert_cmpmem(d, 64, t->traps[0].mad + 64, 64);
    test_node_free(t);
}

static void test_not_supported(void)
{
    TestNode *t = test_node_new(IB_NODE_TYPE_CA);
    uint8_t d[64];

    ib_node_link_error(t->node, 1, IB_LINK_INTEGRITY);
    g_assert_cmphex(test_get(t, 1, NOTICE, 0, d), ==, 0x0c);
    g_assert_cmphex(test_set(t, 1, NOTICE, 0, d), ==, 0x0c);
    test_node_free(t);
}

static void test_saved(void)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    TestNode *a = node(), *b = node();
    IbStateWriter w;
    IbStateReader r;
    uint8_t d[64];

    ib_node_link_error(a->node, 2, IB_LINK_INTEGRITY);
    ib_node_link_error(a->node, 2, IB_LINK_BUFFER_OVERRUN);
    take(a, 0, d);
    ib_state_writer_init(&w, bytes);
    ib_node_save(a->node, &w);
    ib_state_reader_init(&r, bytes->data, bytes->len);
    g_assert_true(ib_node_load(b->node, &r));
    get(b, 130, 1, 1);
    ib_node_reset(b->node);
    get(b, 0, 0, 0);
    test_node_free(a);
    test_node_free(b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/agent/notice/queue", test_queue);
    g_test_add_func("/agent/notice/full", test_full);
    g_test_add_func("/agent/notice/trap", test_trap);
    g_test_add_func("/agent/notice/not-supported", test_not_supported);
    g_test_add_func("/agent/notice/saved", test_saved);
    return g_test_run();
}
