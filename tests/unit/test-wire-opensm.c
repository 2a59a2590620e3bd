/*
 * Where OpenSM's structures have their members and we our fields
 *
 * Skipped where libopensm-dev is not installed at build time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config-tests.h"
#include "wire-opensm-side.h"
#include "hw/infiniband/ib-mad.h"
#include "hw/infiniband/ib-sm-attr.h"
#include "hw/infiniband/ib-gs-attr.h"

#ifdef HAVE_OPENSM
static const struct {
    char kind;
    const char *name;
    uint32_t ours;
} rows[] = {
#define M(type, member, ours) { 'M', #ours, ours },
#define O(type, member, ours) { 'O', #ours, ours },
#define S(type, ours) { 'S', #ours, ours },
#include "wire-opensm.h"
};

/* First bit and width in bits, counted from the structure's first bit */
static void test_row(gconstpointer data)
{
    size_t i = GPOINTER_TO_SIZE(data);
    unsigned their_offset = opensm_rows[i][0];
    unsigned their_bytes = opensm_rows[i][1];
    uint32_t ours = rows[i].ours;
    unsigned first, width;

    if (rows[i].kind == 'O') {
        g_assert_cmpint(ours, ==, their_offset);
        return;
    }
    if (rows[i].kind == 'S') {
        g_assert_cmpint(ours, ==, their_bytes);
        return;
    }
    width = IB_FIELD_WIDTH(ours);
    first = IB_FIELD_BYTE(ours) * 8 + (8u << IB_FIELD_LOG2SIZE(ours)) - 1 -
            IB_FIELD_HI(ours);
    g_assert_cmpint(first, >=, their_offset * 8);
    g_assert_cmpint(first + width, <=, (their_offset + their_bytes) * 8);
}
#endif

static void test_present(void)
{
#ifndef HAVE_OPENSM
    g_test_skip("built without OpenSM's headers (libopensm-dev)");
#endif
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/wire/opensm/present", test_present);
#ifdef HAVE_OPENSM
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *path = g_strdup_printf("/wire/opensm/%zu-%s", i,
                                                rows[i].name);

        g_strdelimit(path + strlen("/wire/opensm/"), "(), ", '-');
        g_test_add_data_func(path, GSIZE_TO_POINTER(i), test_row);
    }
#endif
    return g_test_run();
}
