/*
 * Every field that libibmad knows, read and written by it and by us
 *
 * libibmad is what infiniband-diags read MADs with. Where it is not
 * installed at build time the test is skipped; test-wire-attr.c holds the
 * same layouts against bytes written by hand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config-tests.h"
#include <glib.h>
#include <stdbool.h>

#ifdef HAVE_LIBIBMAD
#include <infiniband/mad.h>
#include "hw/infiniband/ib-mad.h"
#include "hw/infiniband/ib-sm-attr.h"
#include "hw/infiniband/ib-gs-attr.h"

#define BUF_BYTES 512   /* the furthest field ends at 256 */

typedef struct Row {
    const char *name;
    enum MAD_FIELDS theirs;
    uint32_t ours;
    size_t array_bytes;     /* 0: a field of up to 32 bits, 8: 64 bits */
} Row;

static const Row rows[] = {
#define F(theirs, ours) { #ours, theirs, ours, 0 },
#define Q(theirs, ours) { #ours, theirs, ours, 8 },
#define A(theirs, ours, bytes) { #ours, theirs, ours, bytes },
#include "wire-fields.h"
#undef F
#undef Q
#undef A
};

static void random_bytes(uint8_t *p, size_t len)
{
    while (len--) {
        *p++ = g_test_rand_int();
    }
}

static void check_field(const Row *row)
{
    uint8_t mine[BUF_BYTES], theirs[BUF_BYTES];
    uint32_t value = g_test_rand_int();

    random_bytes(mine, sizeof(mine));
    memcpy(theirs, mine, sizeof(mine));
    g_assert_cmphex(ib_field_get(mine, row->ours), ==,
                    mad_get_field(theirs, 0, row->theirs));

    ib_field_set(mine, row->ours, value);
    mad_set_field(theirs, 0, row->theirs, value & IB_FIELD_MASK(row->ours));
    g_assert_cmpmem(mine, sizeof(mine), theirs, sizeof(theirs));

    /* a field of theirs that is wider than ours would take more ones */
    mad_set_field(theirs, 0, row->theirs, 0xffffffff);
    g_assert_cmphex(mad_get_field(theirs, 0, row->theirs), ==,
                    IB_FIELD_MASK(row->ours));
}

static void check_quad(const Row *row)
{
    uint8_t mine[BUF_BYTES], theirs[BUF_BYTES];
    uint64_t value = (uint64_t)g_test_rand_int() << 32 | 0x89abcdef;

    random_bytes(mine, sizeof(mine));
    memcpy(theirs, mine, sizeof(mine));
    ib_put_be64(mine + row->ours, value);
    mad_set_field64(theirs, 0, row->theirs, value);
    g_assert_cmpmem(mine, sizeof(mine), theirs, sizeof(theirs));
}

static void check_array(const Row *row)
{
    uint8_t mine[BUF_BYTES], theirs[BUF_BYTES], array[BUF_BYTES];

    random_bytes(mine, sizeof(mine));
    random_bytes(array, sizeof(array));
    memcpy(theirs, mine, sizeof(mine));
    memcpy(mine + row->ours, array, row->array_bytes);
    mad_set_array(theirs, 0, row->theirs, array);
    g_assert_cmpmem(mine, sizeof(mine), theirs, sizeof(theirs));
}

static void test_field(gconstpointer data)
{
    const Row *row = data;
    int round;

    for (round = 0; round < 20; round++) {
        if (row->array_bytes == 0) {
            check_field(row);
        } else if (row->array_bytes == 8) {
            check_quad(row);
        } else {
            check_array(row);
        }
    }
}
#endif

static void test_present(void)
{
#ifndef HAVE_LIBIBMAD
    g_test_skip("built without libibmad (libibmad-dev, libibumad-dev)");
#endif
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();   /* name every wrong field at once */
    g_test_add_func("/wire/libibmad/present", test_present);
#ifdef HAVE_LIBIBMAD
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *path = g_strdup_printf("/wire/libibmad/%zu-%s", i,
                                                rows[i].name);

        g_strdelimit(path + strlen("/wire/libibmad/"), "(), ", '-');
        g_test_add_data_func(path, &rows[i], test_field);
    }
#endif
    return g_test_run();
}
