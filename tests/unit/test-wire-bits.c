/*
 * Big-endian words and bit fields
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hw/infiniband/ib-bits.h"

static void test_words_unaligned(void)
{
    uint8_t b[12] = { 0xee, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef };

    g_assert_cmphex(ib_get_be16(b + 1), ==, 0x0123);
    g_assert_cmphex(ib_get_be32(b + 1), ==, 0x01234567);
    g_assert_cmphex(ib_get_be64(b + 1), ==, 0x0123456789abcdef);

    ib_put_be16(b + 3, 0xa1a2);
    g_assert_cmpmem(b + 2, 4, "\x23\xa1\xa2\x89", 4);
    ib_put_be32(b + 3, 0xb1b2b3b4);
    g_assert_cmpmem(b + 2, 6, "\x23\xb1\xb2\xb3\xb4\xcd", 6);
    ib_put_be64(b + 3, 0xc1c2c3c4c5c6c7c8);
    g_assert_cmpmem(b + 2, 10, "\x23\xc1\xc2\xc3\xc4\xc5\xc6\xc7\xc8\x00", 10);
}

static void test_field_get(void)
{
    static const uint8_t b[] = { 0x12, 0x34, 0x56, 0x78, 0x9a };

    g_assert_cmphex(ib_field_get(b, IB_FIELD8(1, 7, 4)), ==, 0x3);
    g_assert_cmphex(ib_field_get(b, IB_FIELD8(1, 3, 0)), ==, 0x4);
    g_assert_cmphex(ib_field_get(b, IB_FIELD8(4, 7, 7)), ==, 1);
    g_assert_cmphex(ib_field_get(b, IB_FIELD16(1, 15, 0)), ==, 0x3456);
    g_assert_cmphex(ib_field_get(b, IB_FIELD16(1, 11, 4)), ==, 0x45);
    g_assert_cmphex(ib_field_get(b, IB_FIELD32(1, 31, 0)), ==, 0x3456789a);
    g_assert_cmphex(ib_field_get(b, IB_FIELD32(1, 23, 0)), ==, 0x56789a);
    g_assert_cmphex(ib_field_get(b, IB_FIELD_AT(IB_FIELD16(0, 15, 0), 3)), ==,
                    0x789a);
}

static void test_field_set_keeps_neighbours(void)
{
    uint8_t b[] = { 0xff, 0xff, 0xff, 0xff, 0xff };

    ib_field_set(b, IB_FIELD8(1, 6, 3), 0);
    g_assert_cmpmem(b, 5, "\xff\x87\xff\xff\xff", 5);
    ib_field_set(b, IB_FIELD16(1, 8, 7), 1);
    g_assert_cmpmem(b, 5, "\xff\x86\xff\xff\xff", 5);
    ib_field_set(b, IB_FIELD32(1, 23, 0), 0x123456);
    g_assert_cmpmem(b, 5, "\xff\x86\x12\x34\x56", 5);
    ib_field_set(b, IB_FIELD32(1, 31, 0), 0);
    g_assert_cmpmem(b, 5, "\xff\x00\x00\x00\x00", 5);
}

static void test_field_set_masks_value(void)
{
    uint8_t b[4] = { 0 };

    ib_field_set(b, IB_FIELD32(0, 11, 8), 0xabcde);
    g_assert_cmpmem(b, 4, "\x00\x00\x0e\x00", 4);
}

/* A field constant survives a variable: nothing needs it at compile time */
static void test_field_in_table(void)
{
    static const uint32_t table[] = {
        IB_FIELD8(0, 7, 0), IB_FIELD16(1, 15, 15), IB_FIELD32(500, 30, 3),
    };
    uint8_t b[504] = { 0 };
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(table); i++) {
        ib_field_set(b, table[i], 0xffffffff);
        g_assert_cmphex(ib_field_get(b, table[i]), ==, IB_FIELD_MASK(table[i]));
    }
    g_assert_cmpmem(b, 4, "\xff\x80\x00\x00", 4);
    g_assert_cmpmem(b + 500, 4, "\x7f\xff\xff\xf8", 4);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/wire/bits/words-unaligned", test_words_unaligned);
    g_test_add_func("/wire/bits/field-get", test_field_get);
    g_test_add_func("/wire/bits/field-set-keeps-neighbours",
                    test_field_set_keeps_neighbours);
    g_test_add_func("/wire/bits/field-set-masks-value",
                    test_field_set_masks_value);
    g_test_add_func("/wire/bits/field-in-table", test_field_in_table);
    return g_test_run();
}
