/*
 * Saving and loading a node
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "agent-node.h"
#include "hw/infiniband/ib-state.h"

static void save(TestNode *t, GByteArray *bytes)
{
    IbStateWriter w;

    g_byte_array_set_size(bytes, 0);
    ib_state_writer_init(&w, bytes);
    ib_node_save(t->node, &w);
}

static bool load(TestNode *t, const uint8_t *data, size_t len)
{
    IbStateReader r;

    ib_state_reader_init(&r, data, len);
    return ib_node_load(t->node, &r) && r.at == r.end;
}

/*
 * Something of everything: keys, tables, counters, a trap on its way, a
 * lease and a sample that run.
 */
static TestNode *busy_node(uint8_t type)
{
    TestNode *t = test_node_new(type);
    uint8_t d[64], gmp[256], out[256];
    char name[64] = "saved";

    ib_node_set_description(t->node, name);
    test_give_lids(t, 1, 0);
    test_port_info_for_set(t, 1, 0, d);
    d[27] = 100;                                /* M_KeyLeasePeriod */
    d[7] = 1;                                   /* M_Key */
    d[34] |= 1 << 6;                            /* M_KeyProtectBits */
    g_assert_cmphex(test_set(t, 1, 0x15, 0, d), ==, 0);
    memset(d, 0x81, 64);
    g_assert_cmphex(test_smp(t, 1, 2, 0x16, type == 2 ? 1 << 16 : 0, 1, d),
                    ==, 0);
    memset(d, 0x55, 64);
    g_assert_cmphex(test_smp(t, 1, 2, 0x14, 0, 1, d), ==, 0);
    memset(d, 0x21, 64);
    g_assert_cmphex(test_smp(t, 1, 2, 0x17, 0x0102, 1, d), ==, 0);
    ib_link_counters(t->ends[1].link)->xmit_pkts_vl[0] += 1000;
    test_smp_init(t, gmp, 0x04, 2, 0x12, 0, 0);
    gmp[65] = 1;
    gmp[66] = 0xff;
    gmp[67] = 0xff;
    g_assert_cmphex(test_mad(t, 1, gmp, out), ==, 0);
    ib_link_counters(t->ends[1].link)->xmit_pkts_vl[0] += 7;
    test_smp_init(t, gmp, 0x04, 2, 0x10, 0, 0);
    gmp[65] = 1;
    gmp[64 + 33] = 0x10;                        /* SampleInterval */
    gmp[64 + 39] = 1;
    g_assert_cmphex(test_mad(t, 1, gmp, out), ==, 0);
    /* M_Key violation: lease, trap 256 */
    g_assert_cmphex(test_set(t, 1, 0x14, 0, d), ==, NO_REPLY);
    g_assert_cmpuint(t->num_traps, ==, 1);
    return t;
}

static void test_round_trip(gconstpointer data)
{
    uint8_t type = GPOINTER_TO_UINT(data);
    g_autoptr(GByteArray) first = g_byte_array_new();
    g_autoptr(GByteArray) second = g_byte_array_new();
    TestNode *a = busy_node(type), *b = test_node_new(type);
    IbLinkCounters *from = ib_link_counters(a->ends[1].link);
    uint8_t da[256], db[256], in[256];
    static const uint16_t attributes[] = { 0x10, 0x11, 0x14, 0x15, 0x17 };
    unsigned i;

    save(a, first);
    *ib_link_counters(b->ends[1].link) = *from;  /* the link's to save */
    b->now = a->now;
    g_assert_true(load(b, first->data, first->len));
    save(b, second);
    g_assert_cmpmem(second->data, second->len, first->data, first->len);

    for (i = 0; i < G_N_ELEMENTS(attributes); i++) {
        g_assert_cmphex(test_get(a, 1, attributes[i], 0, da), ==, 0);
        g_assert_cmphex(test_get(b, 1, attributes[i], 0, db), ==, 0);
        g_assert_cmpmem(da, 64, db, 64);
    }
    g_assert_cmphex(ib_node_pkey(b->node, 1, 31), ==, 0x8181);
    g_assert_cmpint(ib_node_pkey_match(b->node, 1, 0x8181), ==, 0);
    test_smp_init(b, in, 0x04, 1, 0x12, 0, 0);
    in[65] = 1;
    g_assert_cmphex(test_mad(b, 1, in, db), ==, 0);
    g_assert_cmpuint(db[64 + 35], ==, 7);        /* PortXmitPkts */

    /* The trap is still repeated, the lease still runs out. */
    test_run(b, 2 * SECOND);
    g_assert_cmpuint(b->num_traps, ==, 1);
    g_assert_cmpmem(b->traps[0].mad, 256, a->traps[0].mad, 256);
    b->num_traps = 0;
    test_run(b, 96 * SECOND);
    g_assert_cmphex(test_get(b, 1, 0x15, 0, db), ==, 0);
    g_assert_cmphex(db[34] >> 6, ==, 1);
    test_run(b, 3 * SECOND);
    g_assert_cmphex(test_get(b, 1, 0x15, 0, db), ==, 0);
    g_assert_cmphex(db[34] >> 6, ==, 0);
    test_node_free(a);
    test_node_free(b);
}

/*
 * Bytes cut short, of another node, or changed: refused or harmless, and after
 * a refusal the node is as after a reset.
 */
static void test_bad_bytes(gconstpointer data)
{
    uint8_t type = GPOINTER_TO_UINT(data);
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_autoptr(GByteArray) fresh = g_byte_array_new();
    g_autoptr(GByteArray) after = g_byte_array_new();
    TestNode *a = busy_node(type), *b = test_node_new(type);
    TestNode *other = test_node_new(type == 1 ? 2 : 1);
    GRand *rand = g_rand_new_with_seed(1);
    uint8_t d[64];
    unsigned i;

    save(a, bytes);
    g_assert_false(load(other, bytes->data, bytes->len));
    for (i = 1; i < bytes->len; i++) {
        g_autofree uint8_t *cut = g_malloc(i);

        memcpy(cut, bytes->data, i);
        g_assert_false(load(b, cut, i));
    }
    for (i = 0; i < 20000; i++) {
        g_autofree uint8_t *bad = g_malloc(bytes->len);

        memcpy(bad, bytes->data, bytes->len);
        bad[g_rand_int_range(rand, 0, bytes->len)] = g_rand_int(rand);
        bad[g_rand_int_range(rand, 0, bytes->len)] = g_rand_int(rand);
        if (load(b, bad, bytes->len)) {
            test_get(b, 1, 0x15, 0, d);
            test_run(b, MS);
            b->num_traps = 0;
        }
    }
    g_assert_false(load(b, bytes->data, bytes->len - 1));
    save(b, after);
    ib_node_reset(b->node);
    save(b, fresh);
    g_assert_cmpmem(after->data, after->len, fresh->data, fresh->len);
    test_node_free(a);
    test_node_free(b);
    test_node_free(other);
    g_rand_free(rand);
}

/*
 * A channel adapter of two ports, as version 2 saved it: without who has read
 * ports and what changed since, the notices of an end port and the OpCode that
 * the PMA counts.
 */
static void test_version_2(void)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    TestNode *t = test_node_new(IB_NODE_TYPE_CA);
    const guint end_port = 16 + 8 * 10 + 8 + 4 + 5 * 2 + 5 + 1 + 1;
    guint at = 10 + 7 + 64 + 8 + 1;
    uint8_t d[64];
    unsigned i;

    test_give_lids(t, 1, 0);
    save(t, bytes);
    g_assert_cmpuint(bytes->data[5], ==, 5);
    bytes->data[5] = 2;
    g_byte_array_remove_range(bytes, at, 2);
    for (i = 0; i < 3; i++) {
        if (i) {
            at += end_port;
            g_byte_array_remove_index(bytes, at);
        }
        at += 4 + 2 + 8 + 2 + 1;
        g_byte_array_remove_range(bytes, at, 2);
        at += 1 + 1;                    /* PMA's bases, sampler */
    }
    bytes->data[9] = bytes->len - 10;
    bytes->data[8] = (bytes->len - 10) >> 8;
    ib_node_reset(t->node);
    g_assert_true(load(t, bytes->data, bytes->len));
    g_assert_cmphex(test_get(t, 1, 0x15, 0, d), ==, 0);
    g_assert_cmphex(d[17], ==, 5);
    test_node_free(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/agent/state/round-trip/ca", GUINT_TO_POINTER(1),
                         test_round_trip);
    g_test_add_data_func("/agent/state/round-trip/switch",
                         GUINT_TO_POINTER(2), test_round_trip);
    g_test_add_data_func("/agent/state/bad-bytes/ca", GUINT_TO_POINTER(1),
                         test_bad_bytes);
    g_test_add_data_func("/agent/state/bad-bytes/switch",
                         GUINT_TO_POINTER(2), test_bad_bytes);
    g_test_add_func("/agent/state/version-2", test_version_2);
    return g_test_run();
}
