/*
 * ICRC and VCRC against the architecture's example, against CRC-32 as every
 * Ethernet computes it, and against shift registers that work bit by bit
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hw/infiniband/ib-packet.h"
#include "wire-sample.h"

/*
 * The feedback shift registers of IBA Vol. 1, 7.8: polynomial not reflected,
 * bits of a byte from the least significant on, register sent highest
 * coefficient first, each byte filled from its least significant bit.
 */
static uint32_t lfsr(const uint8_t *p, size_t len, unsigned width,
                     uint32_t poly)
{
    uint32_t mask = (uint32_t)((UINT64_C(1) << width) - 1);
    uint32_t reg = mask;
    uint32_t wire = 0;
    size_t i;
    unsigned bit;

    for (i = 0; i < len; i++) {
        for (bit = 0; bit < 8; bit++) {
            uint32_t feedback = (reg >> (width - 1)) ^ (p[i] >> bit);

            reg = ((reg << 1) ^ (feedback & 1 ? poly : 0)) & mask;
        }
    }
    reg ^= mask;
    for (i = 0; i < width; i++) {
        unsigned sent = (reg >> (width - 1 - i)) & 1;

        wire |= sent << (width - 8 - i / 8 * 8 + i % 8);
    }
    return wire;
}

static uint32_t slow_icrc(const uint8_t *packet, size_t len)
{
    g_autofree uint8_t *p = g_malloc(MAX(len, 1));
    size_t bth = 8;

    memcpy(p, packet, len);
    p[0] |= 0xf0;
    if ((p[1] & 3) == 3) {
        bth += 40;
        p[8] |= 0x0f;
        p[9] = p[10] = p[11] = 0xff;
        p[15] = 0xff;
    }
    p[bth + 4] = 0xff;
    return lfsr(p, len, 32, 0x04c11db7);
}

static void random_bytes(uint8_t *p, size_t len)
{
    while (len--) {
        *p++ = g_test_rand_int();
    }
}

static void test_icrc_of_the_specification(void)
{
    g_assert_cmphex(ib_icrc(sample_packet, 52), ==, SAMPLE_ICRC);
    g_assert_true(ib_packet_icrc_ok(sample_packet, 56));
}

/* What may change on the way does not change the ICRC; all else does. */
static void test_icrc_masks_local(void)
{
    uint8_t p[52];
    unsigned byte, bit;

    for (byte = 0; byte < sizeof(p); byte++) {
        for (bit = 0; bit < 8; bit++) {
            bool variant = (byte == 0 && bit >= 4) || byte == 12;

            if (byte == 1 && bit < 2) {
                continue;       /* LNH: another kind of packet */
            }
            memcpy(p, sample_packet, sizeof(p));
            p[byte] ^= 1 << bit;
            g_assert_cmpint(ib_icrc(p, sizeof(p)) == SAMPLE_ICRC, ==, variant);
        }
    }
}

static void test_icrc_masks_global(void)
{
    uint8_t base[8 + 40 + 12 + 8 + 16], p[sizeof(base)];
    uint32_t icrc;
    unsigned byte, bit;

    random_bytes(base, sizeof(base));
    base[1] |= IB_LNH_GRH;
    icrc = ib_icrc(base, sizeof(base));
    g_assert_cmphex(icrc, ==, slow_icrc(base, sizeof(base)));
    for (byte = 0; byte < sizeof(p); byte++) {
        for (bit = 0; bit < 8; bit++) {
            bool variant = (byte == 0 && bit >= 4) ||   /* VL */
                           (byte == 8 && bit < 4) ||    /* TClass */
                           (byte >= 9 && byte < 12) ||  /* .., FlowLabel */
                           byte == 15 ||                /* HopLmt */
                           byte == 8 + 40 + 4;          /* resv8a */

            if (byte == 1 && bit < 2) {
                continue;
            }
            memcpy(p, base, sizeof(p));
            p[byte] ^= 1 << bit;
            g_assert_cmpint(ib_icrc(p, sizeof(p)) == icrc, ==, variant);
        }
    }
}

/* "123456789" behind a head of ones: CRC-32's check value is 0xcbf43926. */
static void test_icrc_is_crc32(void)
{
    uint8_t p[20 + 64];
    uint32_t plain;
    size_t i;

    memset(p, 0xff, 20);
    p[1] = 0xfe;                /* LNH: local */
    for (i = 20; i < sizeof(p); i++) {
        p[i] = i;
    }
    g_assert_cmphex(lfsr((const uint8_t *)"123456789", 9, 32, 0x04c11db7), ==,
                    GUINT32_SWAP_LE_BE(0xcbf43926));
    plain = lfsr(p, sizeof(p), 32, 0x04c11db7);
    g_assert_cmphex(ib_icrc(p, sizeof(p)), ==, plain);
}

static void test_icrc_any_length(void)
{
    uint8_t p[4200];
    size_t len;

    random_bytes(p, sizeof(p));
    for (len = 64; len <= sizeof(p); len += len < 200 ? 1 : 97) {
        p[1] = (p[1] & ~3) | (len & 1 ? IB_LNH_GRH : IB_LNH_BTH);
        g_assert_cmphex(ib_icrc(p, len), ==, slow_icrc(p, len));
    }
}

/* Shorter than the headers it masks: it must only stay in the buffer. */
static void test_icrc_short(void)
{
    size_t len;

    for (len = 0; len < 60; len++) {
        g_autofree uint8_t *p = g_malloc(MAX(len, 1));

        memset(p, 0xff, len);
        g_assert_cmphex(ib_icrc(p, len), ==, lfsr(p, len, 32, 0x04c11db7));
    }
}

static void test_vcrc_any_length(void)
{
    uint8_t p[4200];
    size_t len;

    random_bytes(p, sizeof(p));
    for (len = 0; len <= sizeof(p); len += len < 200 ? 1 : 97) {
        g_assert_cmphex(ib_vcrc(p, len), ==, lfsr(p, len, 16, 0x100b));
    }
}

/*
 * The example packet: 0x45fa also from the algorithm that capture cards use
 * (reflected polynomial 0xd008, ones in, ones out, low byte first).
 */
static void test_vcrc_of_the_specification(void)
{
    g_assert_cmphex(ib_vcrc(sample_packet, 56), ==, 0x45fa);
}

/* A CRC with itself behind it leaves one residue whatever the packet. */
static void test_vcrc_residue(void)
{
    uint8_t p[66], q[34];

    random_bytes(p, sizeof(p));
    random_bytes(q, sizeof(q));
    ib_put_be16(p + 64, ib_vcrc(p, 64));
    ib_put_be16(q + 32, ib_vcrc(q, 32));
    g_assert_cmphex(ib_vcrc(p, 66), ==, ib_vcrc(q, 34));
    p[7] ^= 0x10;
    g_assert_cmphex(ib_vcrc(p, 66), !=, ib_vcrc(q, 34));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/wire/icrc/specification", test_icrc_of_the_specification);
    g_test_add_func("/wire/icrc/masks-local", test_icrc_masks_local);
    g_test_add_func("/wire/icrc/masks-global", test_icrc_masks_global);
    g_test_add_func("/wire/icrc/is-crc32", test_icrc_is_crc32);
    g_test_add_func("/wire/icrc/any-length", test_icrc_any_length);
    g_test_add_func("/wire/icrc/short", test_icrc_short);
    g_test_add_func("/wire/vcrc/specification", test_vcrc_of_the_specification);
    g_test_add_func("/wire/vcrc/any-length", test_vcrc_any_length);
    g_test_add_func("/wire/vcrc/residue", test_vcrc_residue);
    return g_test_run();
}
