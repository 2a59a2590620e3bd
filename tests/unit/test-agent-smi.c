/*
 * Directed-route SMPs: every case of IBA Vol.1 14.2.2 (C14-9, C14-13)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "agent-node.h"

#define PERMISSIVE  0xffff
#define OWN_LID     5
#define CA          IB_NODE_TYPE_CA
#define SW          IB_NODE_TYPE_SWITCH

enum { LOCAL = IB_SMI_LOCAL, FORWARD = IB_SMI_FORWARD,
       DISCARD = IB_SMI_DISCARD };

typedef struct SmiCase {
    const char *name;
    uint8_t node, in_port, d, pointer, count;
    uint16_t dr_slid, dr_dlid;
    /* expected */
    int action;
    uint8_t new_pointer, out_port;
    bool lid_routed;
    uint16_t slid, dlid;
} SmiCase;

/*
 * InitialPath[i] is 1 + i % 3 and ReturnPath[i] 1 + (i + 1) % 3, so
 * InitialPath: [1] 2, [2] 3, [3] 1; ReturnPath: [1] 3, [2] 1, [3] 2.
 */
#define DR(port)  FORWARD, .out_port = port, .slid = PERMISSIVE, \
                  .dlid = PERMISSIVE
#define P         PERMISSIVE

static const SmiCase cases[] = {
    /* D = 0.  C14-9 1: the first hop of a request */
    { "out/first-hop", SW, 0, 0, 0, 2, P, P, DR(2), .new_pointer = 1 },
    { "out/first-hop-of-1", SW, 0, 0, 0, 1, P, P, DR(2), .new_pointer = 1 },
    { "out/first-hop-after-lid-part", SW, 3, 0, 0, 2, 9, P, DR(2),
      .new_pointer = 1 },
    { "out/first-hop-ca", CA, 0, 0, 0, 2, P, P, DR(2), .new_pointer = 1 },
    { "out/first-hop-into-ca", CA, 1, 0, 0, 2, P, P, DISCARD },
    /* C14-9 2: on its way */
    { "out/middle", SW, 2, 0, 1, 2, P, P, DR(3), .new_pointer = 2 },
    { "out/middle-back-to-ingress", SW, 3, 0, 1, 3, P, P, DR(3),
      .new_pointer = 2 },
    { "out/middle-of-63", SW, 2, 0, 62, 63, P, P, DR(1), .new_pointer = 63 },
    { "out/middle-ca", CA, 1, 0, 1, 2, P, P, DISCARD },
    /* C14-9 3: end of the directed part */
    { "out/end", SW, 2, 0, 2, 2, P, P, LOCAL, .new_pointer = 3 },
    { "out/end-ca", CA, 2, 0, 2, 2, P, P, LOCAL, .new_pointer = 3 },
    { "out/end-of-63", CA, 1, 0, 63, 63, P, P, LOCAL, .new_pointer = 64 },
    { "out/no-hops", SW, 0, 0, 0, 0, P, P, LOCAL, .new_pointer = 1 },
    { "out/no-hops-ca", CA, 1, 0, 0, 0, P, P, LOCAL, .new_pointer = 1 },
    { "out/end-then-lid", SW, 2, 0, 2, 2, P, 0x11, FORWARD,
      .new_pointer = 3, .lid_routed = true, .slid = OWN_LID, .dlid = 0x11 },
    { "out/end-then-lid-ca", CA, 2, 0, 2, 2, P, 0x11, DISCARD },
    { "out/end-then-lid-0", SW, 2, 0, 2, 2, P, 0, DISCARD },
    { "out/end-then-multicast", SW, 2, 0, 2, 2, P, 0xc001, DISCARD },
    /* C14-9 4: end of the LID-routed last part */
    { "out/after-lid-part", SW, 2, 0, 3, 2, P, OWN_LID, LOCAL,
      .new_pointer = 3 },
    { "out/after-lid-part-ca", CA, 2, 0, 3, 2, P, OWN_LID, LOCAL,
      .new_pointer = 3 },
    /* C14-9 5: no such pointer; C14-6: no more than 63 hops */
    { "out/pointer-too-far", SW, 2, 0, 4, 2, P, P, DISCARD },
    { "out/pointer-255", SW, 2, 0, 255, 63, P, P, DISCARD },
    { "out/count-64", SW, 2, 0, 1, 64, P, P, DISCARD },
    { "out/count-255", SW, 2, 0, 255, 255, P, P, DISCARD },

    /* D = 1.  C14-13 1: the node that answers */
    { "back/answer", SW, 0, 1, 3, 2, P, P, DR(1), .new_pointer = 2 },
    { "back/answer-1-hop", SW, 0, 1, 2, 1, P, P, DR(3), .new_pointer = 1 },
    { "back/answer-ca", CA, 0, 1, 3, 2, P, P, DR(1), .new_pointer = 2 },
    { "back/from-lid-part", SW, 1, 1, 3, 2, P, 0x11, DR(1),
      .new_pointer = 2 },
    { "back/from-lid-part-into-ca", CA, 1, 1, 3, 2, P, 0x11, DISCARD },
    { "back/answer-of-63", SW, 0, 1, 64, 63, P, P, DR(2),
      .new_pointer = 63 },
    /* C14-13 2: on its way */
    { "back/middle", SW, 1, 1, 2, 2, P, P, DR(3), .new_pointer = 1 },
    { "back/middle-ca", CA, 1, 1, 2, 2, P, P, DISCARD },
    { "back/middle-of-63", SW, 1, 1, 63, 63, P, P, DR(1),
      .new_pointer = 62 },
    /* C14-13 3: end of the directed part */
    { "back/end", SW, 1, 1, 1, 2, P, P, LOCAL, .new_pointer = 0 },
    { "back/end-ca", CA, 1, 1, 1, 2, P, P, LOCAL, .new_pointer = 0 },
    { "back/no-hops", SW, 0, 1, 1, 0, P, P, LOCAL, .new_pointer = 0 },
    { "back/end-then-lid", SW, 1, 1, 1, 2, 9, P, FORWARD,
      .new_pointer = 0, .lid_routed = true, .slid = OWN_LID, .dlid = 9 },
    { "back/end-then-lid-ca", CA, 1, 1, 1, 2, 9, P, DISCARD },
    { "back/end-then-lid-0", SW, 1, 1, 1, 2, 0, P, DISCARD },
    { "back/end-then-multicast", SW, 1, 1, 1, 2, 0xc000, P, DISCARD },
    /* C14-13 4: for the SM */
    { "back/sm", SW, 1, 1, 0, 2, 5, P, LOCAL, .new_pointer = 0 },
    { "back/sm-ca", CA, 1, 1, 0, 2, P, P, LOCAL, .new_pointer = 0 },
    /* C14-13 5 */
    { "back/pointer-too-far", SW, 1, 1, 4, 2, P, P, DISCARD },
    { "back/pointer-255", SW, 1, 1, 255, 2, P, P, DISCARD },
    { "back/count-64", SW, 1, 1, 1, 64, P, P, DISCARD },
};

static void build(uint8_t smp[256], const SmiCase *c)
{
    unsigned i;

    memset(smp, 0, 256);
    smp[0] = 1;
    smp[1] = 0x81;
    smp[2] = 1;
    smp[3] = c->d ? 0x81 : 0x01;
    smp[4] = c->d ? 0x80 : 0;
    smp[6] = c->pointer;
    smp[7] = c->count;
    smp[17] = 0x11;
    smp[32] = c->dr_slid >> 8;
    smp[33] = c->dr_slid;
    smp[34] = c->dr_dlid >> 8;
    smp[35] = c->dr_dlid;
    for (i = 0; i < 64; i++) {
        smp[128 + i] = 1 + i % 3;
        smp[192 + i] = 1 + (i + 1) % 3;
    }
    if (c->node == CA) {                /* two ports only */
        smp[128 + 1] = 2;
        smp[192 + 2] = 1;
    }
}

static void test_case(gconstpointer data)
{
    const SmiCase *c = data;
    TestNode *t = test_node_new(c->node);
    uint8_t smp[256], expect[256];
    IbSmiResult r;

    test_give_lids(t, c->node == CA ? 1 : 0, 0);
    build(smp, c);
    memcpy(expect, smp, sizeof(smp));
    r = ib_smi_process(t->node, c->in_port, smp);

    g_assert_cmpint(r.action, ==, c->action);
    if (c->action != DISCARD) {
        expect[6] = c->new_pointer;
        /* The ingress is noted on the way out only, at the old pointer. */
        if (!c->d && c->pointer && c->pointer <= c->count) {
            expect[192 + c->pointer] = c->in_port;
        }
        g_assert_cmpmem(smp, 256, expect, 256);
    }
    if (c->action == FORWARD) {
        g_assert_cmpint(r.lid_routed, ==, c->lid_routed);
        g_assert_cmphex(r.slid, ==, c->slid);
        g_assert_cmphex(r.dlid, ==, c->dlid);
        if (!c->lid_routed) {
            g_assert_cmpuint(r.out_port, ==, c->out_port);
        }
    }
    test_node_free(t);
}

/* A path through a port that is not there, or through port 0. */
static void test_no_such_port(void)
{
    const SmiCase c = { "", SW, 2, 0, 1, 2, P, P, DISCARD };
    const SmiCase back = { "", SW, 2, 1, 2, 2, P, P, DISCARD };
    static const uint8_t ports[] = { 0, TEST_PORTS + 1, 255 };
    TestNode *t = test_node_new(SW);
    uint8_t smp[256];
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(ports); i++) {
        build(smp, &c);
        smp[128 + 2] = ports[i];
        g_assert_cmpint(ib_smi_process(t->node, 2, smp).action, ==, DISCARD);
        build(smp, &back);
        smp[192 + 1] = ports[i];
        g_assert_cmpint(ib_smi_process(t->node, 2, smp).action, ==, DISCARD);
    }
    build(smp, &c);
    g_assert_cmpint(ib_smi_process(t->node, TEST_PORTS + 1, smp).action, ==,
                    DISCARD);
    test_node_free(t);
}

/*
 * There and back through a chain of 63 switches: the SM gets what it sent,
 * with HopPointer 0, and each port of the way is told.
 */
static void test_63_hops(void)
{
    SmiCase c = { "", SW, 0, 0, 0, 63, P, P, LOCAL };
    TestNode *t = test_node_new(SW);
    uint8_t smp[256];
    IbSmiResult r;
    unsigned hop;

    build(smp, &c);
    r = ib_smi_process(t->node, 0, smp);
    for (hop = 1; hop < 63; hop++) {
        g_assert_cmpint(r.action, ==, FORWARD);
        g_assert_cmpuint(r.out_port, ==, 1 + hop % 3);
        r = ib_smi_process(t->node, 1 + hop % 2, smp);
    }
    g_assert_cmpint(r.action, ==, FORWARD);
    g_assert_cmpint(ib_smi_process(t->node, 3, smp).action, ==, LOCAL);

    smp[3] = 0x81;
    smp[4] = 0x80;
    r = ib_smi_reply(t->node, 3, P, smp);
    g_assert_cmpuint(r.out_port, ==, 3);
    for (hop = 62; hop > 0; hop--) {
        r = ib_smi_process(t->node, 1, smp);
        g_assert_cmpint(r.action, ==, FORWARD);
        g_assert_cmpuint(r.out_port, ==, 1 + hop % 2);
    }
    r = ib_smi_process(t->node, 1, smp);
    g_assert_cmpint(r.action, ==, LOCAL);
    g_assert_cmpuint(smp[6], ==, 0);
    test_node_free(t);
}

/*
 * 14.2.2.3: the answer to a request whose last part was LID-routed goes by
 * LID to the switch that sent it here.
 */
static void test_reply_by_lid(void)
{
    const SmiCase c = { "", SW, 2, 1, 3, 2, P, OWN_LID, FORWARD };
    TestNode *t = test_node_new(SW);
    uint8_t smp[256], expect[256];
    IbSmiResult r;

    test_give_lids(t, 0, 0);
    build(smp, &c);
    memcpy(expect, smp, sizeof(smp));
    r = ib_smi_reply(t->node, 2, 0x21, smp);
    g_assert_cmpint(r.action, ==, FORWARD);
    g_assert_true(r.lid_routed);
    g_assert_cmphex(r.dlid, ==, 0x21);
    g_assert_cmphex(r.slid, ==, OWN_LID);
    g_assert_cmpmem(smp, 256, expect, 256);
    g_assert_cmpint(ib_smi_reply(t->node, 2, 0, smp).action, ==, DISCARD);
    g_assert_cmpint(ib_smi_reply(t->node, 2, P, smp).action, ==, DISCARD);
    test_node_free(t);
}

int main(int argc, char **argv)
{
    unsigned i;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_strdup_printf("/agent/smi/%s",
                                                cases[i].name);

        g_test_add_data_func(path, &cases[i], test_case);
    }
    g_test_add_func("/agent/smi/no-such-port", test_no_such_port);
    g_test_add_func("/agent/smi/63-hops", test_63_hops);
    g_test_add_func("/agent/smi/reply-by-lid", test_reply_by_lid);
    return g_test_run();
}
