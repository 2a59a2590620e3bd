/*
 * Invariant and variant CRC (IBA Vol. 1, 7.8)
 *
 * Both are computed least significant bit first, with reflected polynomials
 * and eight bytes a step (one table a byte position). The register's first
 * byte on the wire is its least significant one, so the results are swapped
 * to be the big-endian numbers that the architecture's examples print.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hw/infiniband/ib-crc.h"
#include "hw/infiniband/ib-packet.h"

#define CRC32_POLY_REFLECTED 0xedb88320u    /* 0x04c11db7 */
#define CRC16_POLY_REFLECTED 0xd008u        /* 0x100b */

/* table[k][b]: effect of byte b with k zero bytes behind it */
static uint32_t crc32_table[8][256];
static uint16_t crc16_table[8][256];

static uint32_t crc_table_entry(uint32_t value, uint32_t poly)
{
    int bit;

    for (bit = 0; bit < 8; bit++) {
        value = value & 1 ? (value >> 1) ^ poly : value >> 1;
    }
    return value;
}

static void __attribute__((constructor)) crc_init_tables(void)
{
    int b, k;

    for (b = 0; b < 256; b++) {
        crc32_table[0][b] = crc_table_entry(b, CRC32_POLY_REFLECTED);
        crc16_table[0][b] = crc_table_entry(b, CRC16_POLY_REFLECTED);
    }
    for (k = 1; k < 8; k++) {
        for (b = 0; b < 256; b++) {
            uint32_t v32 = crc32_table[k - 1][b];
            uint16_t v16 = crc16_table[k - 1][b];

            crc32_table[k][b] = (v32 >> 8) ^ crc32_table[0][v32 & 0xff];
            crc16_table[k][b] = (v16 >> 8) ^ crc16_table[0][v16 & 0xff];
        }
    }
}

static inline uint64_t crc_load_le64(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof(v));
    return GUINT64_FROM_LE(v);
}

static uint32_t crc32_update(uint32_t crc, const uint8_t *p, size_t len)
{
    uint64_t v;

    for (; len >= 8; p += 8, len -= 8) {
        v = crc_load_le64(p) ^ crc;
        crc = crc32_table[7][v & 0xff] ^
              crc32_table[6][(v >> 8) & 0xff] ^
              crc32_table[5][(v >> 16) & 0xff] ^
              crc32_table[4][(v >> 24) & 0xff] ^
              crc32_table[3][(v >> 32) & 0xff] ^
              crc32_table[2][(v >> 40) & 0xff] ^
              crc32_table[1][(v >> 48) & 0xff] ^
              crc32_table[0][v >> 56];
    }
    for (; len; p++, len--) {
        crc = (crc >> 8) ^ crc32_table[0][(crc ^ *p) & 0xff];
    }
    return crc;
}

static uint16_t crc16_update(uint16_t crc, const uint8_t *p, size_t len)
{
    uint64_t v;

    for (; len >= 8; p += 8, len -= 8) {
        v = crc_load_le64(p) ^ crc;
        crc = crc16_table[7][v & 0xff] ^
              crc16_table[6][(v >> 8) & 0xff] ^
              crc16_table[5][(v >> 16) & 0xff] ^
              crc16_table[4][(v >> 24) & 0xff] ^
              crc16_table[3][(v >> 32) & 0xff] ^
              crc16_table[2][(v >> 40) & 0xff] ^
              crc16_table[1][(v >> 48) & 0xff] ^
              crc16_table[0][v >> 56];
    }
    for (; len; p++, len--) {
        crc = (crc >> 8) ^ crc16_table[0][(crc ^ *p) & 0xff];
    }
    return crc;
}

uint32_t ib_icrc(const uint8_t *packet, size_t len)
{
    uint8_t head[IB_LRH_BYTES + IB_GRH_BYTES + IB_BTH_BYTES];
    size_t bth = IB_LRH_BYTES;
    size_t n;
    uint32_t crc;

    if (len >= IB_LRH_BYTES && ib_lrh_lnh(packet) == IB_LNH_GRH) {
        bth += IB_GRH_BYTES;
    }
    n = MIN(len, bth + IB_BTH_BYTES);
    memcpy(head, packet, n);
    if (n >= IB_LRH_BYTES) {
        ib_field_set(head, IB_LRH_VL, 0xf);
    }
    if (n >= IB_LRH_BYTES + IB_GRH_BYTES && bth > IB_LRH_BYTES) {
        ib_field_set(head + IB_LRH_BYTES, IB_GRH_TCLASS, 0xff);
        ib_field_set(head + IB_LRH_BYTES, IB_GRH_FLOWLABEL, 0xfffff);
        ib_field_set(head + IB_LRH_BYTES, IB_GRH_HOPLMT, 0xff);
    }
    if (n > bth + 4) {
        head[bth + 4] = 0xff;   /* resv8a, with FECN and BECN in it */
    }

    crc = crc32_update(0xffffffff, head, n);
    crc = crc32_update(crc, packet + n, len - n);
    return GUINT32_SWAP_LE_BE(~crc);
}

uint16_t ib_vcrc(const uint8_t *data, size_t len)
{
    uint16_t crc = ~crc16_update(0xffff, data, len);

    return GUINT16_SWAP_LE_BE(crc);
}
