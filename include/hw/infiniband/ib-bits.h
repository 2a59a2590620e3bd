/*
 * Big-endian access to bytes, words and bit fields
 *
 * InfiniBand headers, management attributes and the contexts of most
 * adapters are big-endian and rarely aligned. Everything in this project
 * reads and writes them through these few functions; nothing casts a byte
 * buffer to a structure.
 *
 * A field up to 32 bits wide is one compile-time constant, made by
 * IB_FIELD8/16/32: the byte offset of its big-endian container from the
 * base of the structure, and the highest and lowest bit in that container
 * (bit 0 is the least significant, as in kernel and adapter manuals).
 * The accessors fold to one load, shift and mask.
 *
 * A member of 64 bits or more (GUID, key, GID, path, table) is a plain byte
 * offset whose name ends in _OFFSET, used with ib_get_be64(), memcpy() ...
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_INFINIBAND_IB_BITS_H
#define HW_INFINIBAND_IB_BITS_H

#include <stdint.h>
#include <string.h>
#include <glib.h>

#define IB_ALWAYS_INLINE inline __attribute__((always_inline))

/* Whole words, at any alignment; the value is in host order. */

static IB_ALWAYS_INLINE uint16_t ib_get_be16(const void *p)
{
    uint16_t v;

    memcpy(&v, p, sizeof(v));
    return GUINT16_FROM_BE(v);
}

static IB_ALWAYS_INLINE uint32_t ib_get_be32(const void *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return GUINT32_FROM_BE(v);
}

static IB_ALWAYS_INLINE uint64_t ib_get_be64(const void *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof(v));
    return GUINT64_FROM_BE(v);
}

static IB_ALWAYS_INLINE void ib_put_be16(void *p, uint16_t v)
{
    v = GUINT16_TO_BE(v);
    memcpy(p, &v, sizeof(v));
}

static IB_ALWAYS_INLINE void ib_put_be32(void *p, uint32_t v)
{
    v = GUINT32_TO_BE(v);
    memcpy(p, &v, sizeof(v));
}

static IB_ALWAYS_INLINE void ib_put_be64(void *p, uint64_t v)
{
    v = GUINT64_TO_BE(v);
    memcpy(p, &v, sizeof(v));
}

/*
 * A field constant: container size (log2 of bytes) in bits 27:26, highest
 * bit in 25:21, lowest bit in 20:16, byte offset in 15:0.
 */
#define IB_FIELD_MAKE(log2size, byte, hi, lo)                           \
    (((uint32_t)(log2size) << 26) | ((uint32_t)(hi) << 21) |            \
     ((uint32_t)(lo) << 16) | (uint32_t)(byte))

#define IB_FIELD8(byte, hi, lo)  IB_FIELD_MAKE(0, byte, hi, lo)
#define IB_FIELD16(byte, hi, lo) IB_FIELD_MAKE(1, byte, hi, lo)
#define IB_FIELD32(byte, hi, lo) IB_FIELD_MAKE(2, byte, hi, lo)

/* The parts of a field constant; IB_FIELD_MASK() is not yet shifted up */
#define IB_FIELD_LOG2SIZE(field) ((field) >> 26)
#define IB_FIELD_BYTE(field)     ((field) & 0xffff)
#define IB_FIELD_HI(field)       (((field) >> 21) & 0x1f)
#define IB_FIELD_LO(field)       (((field) >> 16) & 0x1f)
#define IB_FIELD_WIDTH(field)    (IB_FIELD_HI(field) - IB_FIELD_LO(field) + 1)
#define IB_FIELD_MASK(field)                                            \
    ((uint32_t)((UINT64_C(1) << IB_FIELD_WIDTH(field)) - 1))

/* The same field in the structure that lies @bytes further from the base */
#define IB_FIELD_AT(field, bytes) ((field) + (uint32_t)(bytes))

/*
 * ib_field_get: value of @field in the structure at @base, host order,
 * shifted down to bit 0.
 */
static IB_ALWAYS_INLINE uint32_t ib_field_get(const void *base, uint32_t field)
{
    const uint8_t *p = (const uint8_t *)base + IB_FIELD_BYTE(field);
    uint32_t v;

    switch (IB_FIELD_LOG2SIZE(field)) {
    case 0:
        v = *p;
        break;
    case 1:
        v = ib_get_be16(p);
        break;
    default:
        v = ib_get_be32(p);
        break;
    }
    return (v >> IB_FIELD_LO(field)) & IB_FIELD_MASK(field);
}

/*
 * ib_field_set: store the low bits of @value in @field of the structure at
 * @base; bits that do not fit are dropped, neighbouring fields are kept.
 */
static IB_ALWAYS_INLINE void ib_field_set(void *base, uint32_t field,
                                          uint32_t value)
{
    uint8_t *p = (uint8_t *)base + IB_FIELD_BYTE(field);
    uint32_t mask = IB_FIELD_MASK(field) << IB_FIELD_LO(field);

    value = (value << IB_FIELD_LO(field)) & mask;
    switch (IB_FIELD_LOG2SIZE(field)) {
    case 0:
        *p = (*p & ~mask) | value;
        break;
    case 1:
        ib_put_be16(p, (ib_get_be16(p) & ~mask) | value);
        break;
    default:
        ib_put_be32(p, (ib_get_be32(p) & ~mask) | value);
        break;
    }
}

#endif /* HW_INFINIBAND_IB_BITS_H */
