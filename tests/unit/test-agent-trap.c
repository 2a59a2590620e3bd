/*
 * Traps: what is told, to whom, how often, and how it stops
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IBA Vol.1 13.4.8.2 and 13.4.9, 14.2.5.1 and 14.3; offsets of the Notice are
 * from the MAD's data at byte 64.
 */
#include "agent-node.h"

/* SubnetTimeOut 18: 4.096 us * 2^18 */
#define INTERVAL  (4096LL << 18)

static uint16_t be16(const uint8_t *p)
{
    return p[0] << 8 | p[1];
}

static uint32_t be32(const uint8_t *p)
{
    return (uint32_t)be16(p) << 16 | be16(p + 2);
}

static uint64_t tid_of(const TestTrap *trap)
{
    return (uint64_t)be32(trap->mad + 8) << 32 | be32(trap->mad + 12);
}

static TestNode *told_node(uint8_t type, IbNodeConfig config)
{
    TestNode *t = test_node_new_with(type, type == IB_NODE_TYPE_CA ? 2 : 3,
                                     config, &test_link_config, NULL);

    g_assert_cmpuint(t->num_traps, ==, 0);
    test_give_lids(t, 1, 0);
    return t;
}

static IbMadVerdict repress(TestNode *t, uint8_t class, uint64_t tid)
{
    uint8_t in[256], out[256];

    test_smp_init(t, in, class, 0x07, 0x02, 0, 0);
    in[8] = tid >> 56;
    in[9] = tid >> 48;
    in[10] = tid >> 40;
    in[11] = tid >> 32;
    in[12] = tid >> 24;
    in[13] = tid >> 16;
    in[14] = tid >> 8;
    in[15] = tid;
    return ib_node_process_mad(t->node, 1, 9, 0, in, out);
}

/* Header of a trap from LID 5 to the SM at LID 9 */
static void check_header(const TestTrap *trap, uint8_t port, uint8_t type,
                         uint8_t producer, uint16_t number)
{
    const uint8_t *mad = trap->mad;
    static const uint8_t zero[48] = { 0 };

    g_assert_cmpuint(trap->port, ==, port);
    g_assert_cmpuint(trap->dlid, ==, 9);
    g_assert_cmphex(be32(mad), ==, 0x01010105);  /* SM class, Trap */
    g_assert_cmphex(be32(mad + 4), ==, 0);
    g_assert_cmphex(tid_of(trap), !=, 0);
    g_assert_cmphex(be32(mad + 16), ==, 0x00020000);    /* Notice */
    g_assert_cmpmem(mad + 20, 44, zero, 44);
    g_assert_cmphex(mad[64], ==, 0x80 | type);   /* IsGeneric */
    g_assert_cmphex(mad[65], ==, 0);
    g_assert_cmphex(be16(mad + 66), ==, producer);
    g_assert_cmpuint(be16(mad + 68), ==, number);
    g_assert_cmpuint(be16(mad + 70), ==, 5);     /* IssuerLID */
    g_assert_cmphex(be16(mad + 72), ==, 0);
}

static void test_128(void)
{
    TestNode *t = told_node(IB_NODE_TYPE_SWITCH, (IbNodeConfig) { 0 });
    static const uint8_t zero[52] = { 0 };

    ib_link_cable_detach(t->ends[2].link);
    g_assert_cmpuint(t->num_traps, ==, 1);
    check_header(&t->traps[0], 0, 1, 2, 128);
    g_assert_cmpuint(be16(t->traps[0].mad + 74), ==, 5);    /* LIDADDR */
    g_assert_cmpmem(t->traps[0].mad + 76, 52, zero, 52);
    test_node_free(t);
}

/* Neither a step that the SM asks for nor one that is not to or from Down */
static void test_128_not_by_sm(void)
{
    TestNode *t = told_node(IB_NODE_TYPE_SWITCH, (IbNodeConfig) { 0 });
    uint8_t d[64], state;

    for (state = IB_PORT_ARMED; state <= IB_PORT_ACTIVE; state++) {
        test_port_info_for_set(t, 1, 2, d);
        d[32] |= state;
        g_assert_cmphex(test_set(t, 1, 0x15, 2, d), ==, 0);
    }
    g_assert_cmpuint(t->num_traps, ==, 0);
    test_node_free(t);
}

/*
 * An SM in its first sweep has read the ports and clears PortStateChange: it
 * is told what it cannot have read once it says who it is.
 */
static void test_128_first_sweep(void)
{
    TestNode *t = test_node_new(IB_NODE_TYPE_SWITCH);
    uint8_t d[64];

    g_assert_cmphex(test_get(t, 1, 0x15, 2, d), ==, 0);
    ib_link_cable_detach(t->ends[2].link);
    g_assert_cmphex(test_get(t, 1, 0x15, 1, d), ==, 0);
    g_assert_true(ib_node_port_state_change(t->node));
    ib_node_clear_port_state_change(t->node);
    test_run(t, 10 * SECOND);
    g_assert_cmpuint(t->num_traps, ==, 0);
    test_give_lids(t, 1, 0);
    g_assert_cmpuint(t->num_traps, ==, 1);
    check_header(&t->traps[0], 0, 1, 2, 128);
    g_assert_cmpuint(be16(t->traps[0].mad + 74), ==, 5);    /* LIDADDR */
    test_run(t, INTERVAL);
    g_assert_cmpuint(t->num_traps, ==, 2);
    g_assert_cmphex(tid_of(&t->traps[0]), ==, tid_of(&t->traps[1]));
    repress(t, 0x01, tid_of(&t->traps[0]));
    test_give_lids(t, 1, 0);
    test_run(t, 10 * SECOND);
    g_assert_cmpuint(t->num_traps, ==, 2);
    test_node_free(t);
}

/* What the SM has read, or will, is not worth a second sweep. */
static void test_128_first_sweep_read(void)
{
    TestNode *t = test_node_new(IB_NODE_TYPE_SWITCH);
    uint8_t d[64];

    ib_link_cable_detach(t->ends[2].link);
    g_assert_cmphex(test_get(t, 1, 0x15, 2, d), ==, 0);
    test_give_lids(t, 1, 0);
    test_run(t, 10 * SECOND);
    g_assert_cmpuint(t->num_traps, ==, 0);
    test_node_free(t);
}

static void test_silent(void)
{
    TestNode *sw = test_node_new(IB_NODE_TYPE_SWITCH);      /* no SM yet */
    TestNode *ca = told_node(IB_NODE_TYPE_CA, (IbNodeConfig) { 0 });
    TestNode *mute = told_node(IB_NODE_TYPE_SWITCH, (IbNodeConfig) {
        .capability_mask = 1 << 6,
    });

    ib_link_cable_detach(sw->ends[2].link);
    ib_link_cable_detach(ca->ends[1].link);     /* 128 is a switch's */
    ib_link_cable_detach(mute->ends[2].link);   /* IsTrapSupported is 0 */
    test_run(sw, 10 * SECOND);
    test_run(ca, 10 * SECOND);
    test_run(mute, 10 * SECOND);
    g_assert_cmpuint(sw->num_traps, ==, 0);
    g_assert_cmpuint(ca->num_traps, ==, 0);
    g_assert_cmpuint(mute->num_traps, ==, 0);
    test_node_free(sw);
    test_node_free(ca);
    test_node_free(mute);
}

/*
 * Each SubnetTimeOut, same TransactionID, to the SM of the moment; not for
 * ever.
 */
static void test_repeats(void)
{
    TestNode *t = told_node(IB_NODE_TYPE_SWITCH, (IbNodeConfig) { 0 });
    uint8_t d[64];
    unsigned i;

    ib_link_cable_detach(t->ends[2].link);
    test_run(t, INTERVAL - 1);
    g_assert_cmpuint(t->num_traps, ==, 1);
    test_run(t, 1);
    g_assert_cmpuint(t->num_traps, ==, 2);
    test_port_info_for_set(t, 1, 0, d);
    d[19] = 10;                                 /* MasterSMLID */
    g_assert_cmphex(test_set(t, 1, 0x15, 0, d), ==, 0);
    test_run(t, 100 * INTERVAL);
    g_assert_cmpuint(t->num_traps, ==, 16);
    for (i = 1; i < 16; i++) {
        g_assert_cmphex(tid_of(&t->traps[i]), ==, tid_of(&t->traps[0]));
        g_assert_cmpint(t->traps[i].at - t->traps[i - 1].at, ==, INTERVAL);
        g_assert_cmpuint(t->traps[i].dlid, ==, i < 2 ? 9 : 10);
    }
    test_node_free(t);
}

static void test_repress(gconstpointer data)
{
    uint8_t class = GPOINTER_TO_UINT(data);
    TestNode *t = told_node(IB_NODE_TYPE_SWITCH, (IbNodeConfig) { 0 });

    ib_link_cable_detach(t->ends[2].link);
    g_assert_cmpint(repress(t, class, tid_of(&t->traps[0]) + 1), ==,
                    IB_MAD_CONSUMED);
    test_run(t, INTERVAL);
    g_assert_cmpuint(t->num_traps, ==, 2);      /* that was another's */
    g_assert_cmpint(repress(t, class, tid_of(&t->traps[0])), ==,
                    IB_MAD_CONSUMED);
    test_run(t, 100 * INTERVAL);
    g_assert_cmpuint(t->num_traps, ==, 2);
    test_node_free(t);
}

/*
 * What happens while a trap is on its way is told with a new TransactionID, no
 * sooner than an interval after the last; the repress of the first trap
 * does not stop it.
 */
static void test_news_while_pending(void)
{
    TestNode *t = told_node(IB_NODE_TYPE_SWITCH, (IbNodeConfig) { 0 });
    uint64_t first;

    ib_link_cable_detach(t->ends[2].link);
    first = tid_of(&t->traps[0]);
    test_run(t, 10 * MS);
    ib_link_cable_detach(t->ends[3].link);
    g_assert_cmpuint(t->num_traps, ==, 1);
    repress(t, 1, first);
    test_run(t, INTERVAL - 10 * MS);
    g_assert_cmpuint(t->num_traps, ==, 2);
    g_assert_cmphex(tid_of(&t->traps[1]), !=, first);
    repress(t, 1, tid_of(&t->traps[1]));
    test_run(t, 100 * INTERVAL);
    g_assert_cmpuint(t->num_traps, ==, 2);
    test_node_free(t);
}

/* After a repress, too, the next one keeps its distance. */
static void test_rate(void)
{
    TestNode *t = told_node(IB_NODE_TYPE_SWITCH, (IbNodeConfig) { 0 });

    ib_link_cable_detach(t->ends[2].link);
    repress(t, 1, tid_of(&t->traps[0]));
    ib_link_cable_detach(t->ends[3].link);
    g_assert_cmpuint(t->num_traps, ==, 1);
    test_run(t, INTERVAL);
    g_assert_cmpuint(t->num_traps, ==, 2);
    g_assert_cmpint(t->traps[1].at - t->traps[0].at, ==, INTERVAL);
    test_node_free(t);
}

static void test_144_capability(void)
{
    TestNode *t = told_node(IB_NODE_TYPE_CA, (IbNodeConfig) { 0 });
    const uint8_t *mad = t->traps[0].mad;

    ib_node_set_capability_mask(t->node, 1, IB_NODE_CAPABILITY_MASK);
    g_assert_cmpuint(t->num_traps, ==, 0);      /* nothing changed */
    ib_node_set_capability_mask(t->node, 1, IB_NODE_CAPABILITY_MASK | 2);
    g_assert_cmpuint(t->num_traps, ==, 1);
    check_header(&t->traps[0], 1, 4, 1, 144);
    g_assert_cmpuint(be16(mad + 76), ==, 5);    /* LIDADDR */
    g_assert_cmphex(mad[79], ==, 0);            /* OtherLocalChanges */
    g_assert_cmphex(be32(mad + 80), ==, 0x0250484a);
    g_assert_cmphex(be16(mad + 84), ==, 0);
    /* Port 2 knows no SM. */
    ib_node_set_capability_mask(t->node, 2, IB_NODE_CAPABILITY_MASK | 2);
    g_assert_cmpuint(t->num_traps, ==, 1);
    test_node_free(t);
}

static void test_144_description(void)
{
    TestNode *plain = told_node(IB_NODE_TYPE_CA, (IbNodeConfig) { 0 });
    TestNode *t = told_node(IB_NODE_TYPE_CA, (IbNodeConfig) {
        .capability_mask = IB_NODE_CAPABILITY_MASK | 1 << 26,
    });
    const uint8_t *mad = t->traps[0].mad;
    char name[64] = "another";

    ib_node_set_description(plain->node, name);
    g_assert_cmpuint(plain->num_traps, ==, 0);
    ib_node_set_description(t->node, name);
    g_assert_cmpuint(t->num_traps, ==, 1);
    check_header(&t->traps[0], 1, 4, 1, 144);
    g_assert_cmphex(mad[79], ==, 1);
    g_assert_cmphex(be32(mad + 80), ==, 0x06504848);
    g_assert_cmphex(be16(mad + 84), ==, 1);
    ib_node_set_description(t->node, name);
    g_assert_cmpuint(t->num_traps, ==, 1);
    test_node_free(plain);
    test_node_free(t);
}

static void set_m_key(TestNode *t)
{
    uint8_t d[64];

    test_port_info_for_set(t, 1, 0, d);
    d[0] = 0x42;
    g_assert_cmphex(test_set(t, 1, 0x15, 0, d), ==, 0);
}

static void test_256(void)
{
    TestNode *t = told_node(IB_NODE_TYPE_CA, (IbNodeConfig) { 0 });
    const uint8_t *mad = t->traps[0].mad;
    uint8_t in[256], out[256], zero[31] = { 0 };
    unsigned i;

    set_m_key(t);
    /* LID-routed */
    test_smp_init(t, in, 0x01, 2, 0x14, 0x01020304, 0x99);
    g_assert_cmpint(ib_node_process_mad(t->node, 1, 0x77, 0, in, out), ==,
                    IB_MAD_DROPPED);
    g_assert_cmpuint(t->num_traps, ==, 1);
    check_header(&t->traps[0], 1, 2, 1, 256);
    g_assert_cmphex(be16(mad + 74), ==, 0);
    g_assert_cmphex(be16(mad + 76), ==, 0x77);  /* LIDADDR */
    g_assert_cmphex(be16(mad + 78), ==, 0);     /* DRSLID */
    g_assert_cmphex(mad[80], ==, 2);            /* METHOD */
    g_assert_cmphex(be16(mad + 82), ==, 0x14);
    g_assert_cmphex(be32(mad + 84), ==, 0x01020304);
    g_assert_cmphex(be32(mad + 92), ==, 0x99);  /* MKEY's low half */
    g_assert_cmpmem(mad + 97, 31, zero, 31);

    /* Directed route: with the path back */
    in[1] = 0x81;
    in[6] = 4;
    in[7] = 3;
    in[32] = 0xff;
    in[33] = 0xff;
    for (i = 0; i < 64; i++) {
        in[192 + i] = i <= 3 ? 10 + i : 0;
    }
    test_run(t, 17 * INTERVAL);
    memset(t->traps, 0, sizeof(t->traps));
    t->num_traps = 0;
    g_assert_cmpint(ib_node_process_mad(t->node, 1, 0xffff, 0, in, out), ==,
                    IB_MAD_DROPPED);
    g_assert_cmpuint(t->num_traps, ==, 1);
    g_assert_cmphex(be16(mad + 76), ==, 0xffff);
    g_assert_cmphex(be16(mad + 78), ==, 0xffff);
    g_assert_cmphex(mad[97], ==, 0x80 | 3);     /* DRNotice, DRHopCount */
    g_assert_cmpmem(mad + 98, 4, in + 192, 4);

    /* A path that is too long for the Notice is cut, and said to be. */
    in[6] = 64;
    in[7] = 63;
    memset(in + 192, 7, 64);
    test_run(t, 17 * INTERVAL);
    t->num_traps = 0;
    ib_node_process_mad(t->node, 1, 0xffff, 0, in, out);
    g_assert_cmphex(mad[97], ==, 0xc0 | 63);
    g_assert_cmpmem(mad + 98, 30, in + 192, 30);
    test_node_free(t);
}

static const IbKeyViolation violation = {
    .key = 0x8765, .slid = 0x11, .dlid = 0x22, .sl = 3,
    .src_qpn = 0x123456, .dest_qpn = 0xabcdef, .has_grh = true,
    .sgid = { 1, 2 }, .dgid = { 3, 4 },
};

static void test_257_258(void)
{
    TestNode *t = told_node(IB_NODE_TYPE_CA, (IbNodeConfig) { 0 });
    unsigned i;

    ib_node_key_trap(t->node, 1, 257, &violation);
    ib_node_key_trap(t->node, 1, 258, &violation);
    g_assert_cmpuint(t->num_traps, ==, 2);
    for (i = 0; i < 2; i++) {
        const uint8_t *mad = t->traps[i].mad;

        check_header(&t->traps[i], 1, 2, 1, 257 + i);
        g_assert_cmphex(be16(mad + 76), ==, 0x11);
        g_assert_cmphex(be16(mad + 78), ==, 0x22);
        g_assert_cmphex(be32(mad + 80), ==, 0x8765);
        g_assert_cmphex(be32(mad + 84), ==, 0x30123456);
        g_assert_cmphex(be32(mad + 88), ==, 0x00abcdef);
        g_assert_cmpmem(mad + 92, 16, violation.sgid, 16);
        g_assert_cmpmem(mad + 108, 16, violation.dgid, 16);
        g_assert_cmphex(be32(mad + 124), ==, 0);
    }
    /* A flood of them is no flood of traps. */
    for (i = 0; i < 1000; i++) {
        test_run(t, MS);
        ib_node_key_trap(t->node, 1, 257, &violation);
    }
    g_assert_cmpuint(t->num_traps, ==, 2);
    test_node_free(t);
}

static void test_259(void)
{
    TestNode *plain = told_node(IB_NODE_TYPE_SWITCH, (IbNodeConfig) { 0 });
    TestNode *t = told_node(IB_NODE_TYPE_SWITCH, (IbNodeConfig) {
        .capability_mask = IB_NODE_CAPABILITY_MASK | 1 << 12,
    });
    const uint8_t *mad = t->traps[0].mad;

    ib_node_key_trap(plain->node, 3, 259, &violation);
    g_assert_cmpuint(plain->num_traps, ==, 0);
    ib_node_key_trap(t->node, 3, 259, &violation);
    g_assert_cmpuint(t->num_traps, ==, 1);
    check_header(&t->traps[0], 0, 2, 2, 259);
    g_assert_cmphex(be16(mad + 76), ==, 0x11);
    g_assert_cmphex(be16(mad + 78), ==, 0x22);
    g_assert_cmphex(be16(mad + 80), ==, 0x8765);
    g_assert_cmphex(be32(mad + 82), ==, 0x30123456);
    g_assert_cmphex(be32(mad + 86), ==, 0x00abcdef);
    g_assert_cmpmem(mad + 90, 16, violation.sgid, 16);
    g_assert_cmpmem(mad + 106, 16, violation.dgid, 16);
    g_assert_cmphex(be16(mad + 122), ==, 5);    /* SW_LIDADDR */
    g_assert_cmphex(mad[124], ==, 3);           /* PORTNO */
    test_node_free(plain);
    test_node_free(t);
}

/* 129 to 131: LIDADDR and PORTNO of the port, urgent */
static void test_129_131(gconstpointer data)
{
    uint8_t type = GPOINTER_TO_UINT(data);
    TestNode *t = told_node(type, (IbNodeConfig) { 0 });
    static const uint8_t zero[49] = { 0 };
    unsigned i;

    for (i = 0; i < 3; i++) {
        const uint8_t *mad = t->traps[i].mad;

        ib_node_link_error(t->node, type == IB_NODE_TYPE_CA ? 1 : 2, i);
        g_assert_cmpuint(t->num_traps, ==, i + 1);
        check_header(&t->traps[i], type == IB_NODE_TYPE_CA ? 1 : 0, 1, type,
                     129 + i);
        g_assert_cmphex(be16(mad + 74), ==, 0);
        g_assert_cmpuint(be16(mad + 76), ==, 5);
        g_assert_cmpuint(mad[78], ==, type == IB_NODE_TYPE_CA ? 1 : 2);
        g_assert_cmpmem(mad + 79, 49, zero, 49);
    }
    test_node_free(t);
}

/*
 * From a packet to the trap: the threshold that PortInfo has, 8 at power-on,
 * is the link's.
 */
static void test_129_threshold(void)
{
    TestNode *t = told_node(IB_NODE_TYPE_SWITCH, (IbNodeConfig) { 0 });
    IbLinkInject what = { .corrupt = 1000000, .vls = 0xffff };
    uint8_t packet[256 + 28] = { 0xf0, 0x02, 0, 1, 0, 71, 0, 2 };
    uint64_t first = 0;
    uint8_t d[64];
    unsigned i;

    g_assert_true(ib_link_set_inject(t->ends[2].link, &what));
    for (i = 0; i < 12; i++) {
        IbPacket p = { .data = packet, .len = sizeof(packet) };

        if (i == 9) {
            g_assert_cmpuint(t->num_traps, ==, 1);
            test_port_info_for_set(t, 1, 2, d);
            g_assert_cmphex(d[53], ==, 0x88);
            d[53] = 0x28;
            g_assert_cmphex(test_set(t, 1, 0x15, 2, d), ==, 0);
            first = tid_of(&t->traps[0]);
            test_run(t, 2 * INTERVAL);
            t->num_traps = 0;
        }
        g_assert_cmpint(ib_link_transmit(t->peers[2].link, &p, 15), ==,
                        IB_TX_SENT);
        ib_link_flush(t->peers[2].link);
        g_assert_cmpuint(t->num_traps, ==, 0);
        test_run(t, 1);
    }
    g_assert_cmpuint(
        ib_link_counters(t->ends[2].link)->local_link_integrity_errors, ==, 2);
    test_run(t, INTERVAL);              /* no sooner than that */
    g_assert_cmpuint(t->num_traps, ==, 1);
    g_assert_cmpuint(be16(t->traps[0].mad + 68), ==, 129);
    g_assert_cmphex(tid_of(&t->traps[0]), !=, first);
    test_node_free(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/agent/trap/128", test_128);
    g_test_add_func("/agent/trap/128/not-by-sm", test_128_not_by_sm);
    g_test_add_func("/agent/trap/128/first-sweep", test_128_first_sweep);
    g_test_add_func("/agent/trap/128/first-sweep/read",
                    test_128_first_sweep_read);
    g_test_add_func("/agent/trap/silent", test_silent);
    g_test_add_func("/agent/trap/repeats", test_repeats);
    g_test_add_data_func("/agent/trap/repress/lid-routed",
                         GUINT_TO_POINTER(0x01), test_repress);
    g_test_add_data_func("/agent/trap/repress/directed",
                         GUINT_TO_POINTER(0x81), test_repress);
    g_test_add_func("/agent/trap/news-while-pending",
                    test_news_while_pending);
    g_test_add_func("/agent/trap/rate", test_rate);
    g_test_add_data_func("/agent/trap/129-131/ca", GUINT_TO_POINTER(1),
                         test_129_131);
    g_test_add_data_func("/agent/trap/129-131/switch", GUINT_TO_POINTER(2),
                         test_129_131);
    g_test_add_func("/agent/trap/129/threshold", test_129_threshold);
    g_test_add_func("/agent/trap/144/capability", test_144_capability);
    g_test_add_func("/agent/trap/144/description", test_144_description);
    g_test_add_func("/agent/trap/256", test_256);
    g_test_add_func("/agent/trap/257-258", test_257_258);
    g_test_add_func("/agent/trap/259", test_259);
    return g_test_run();
}
