/*
 * Invariant and variant CRC of a packet (IBA Vol. 1, 7.8)
 *
 * Byte order: both functions return the number that ib_put_be32() and
 * ib_put_be16() store into the packet: the most significant byte of the
 * result is the first byte on the wire.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_INFINIBAND_IB_CRC_H
#define HW_INFINIBAND_IB_CRC_H

#include <stddef.h>
#include <stdint.h>

#define IB_ICRC_BYTES 4
#define IB_VCRC_BYTES 2

/*
 * ib_icrc: Invariant CRC (IBA Vol. 1, 7.8.1), CRC-32 with polynomial
 * 0x04C11DB7 over the packet from LRH to the end of the padded payload.
 * What may change on the way counts as all ones: LRH VL, GRH TClass,
 * FlowLabel and HopLmt, BTH resv8a (FECN and BECN included).
 *
 * @packet: from the first byte of LRH; LNH says whether a GRH follows.
 *          Raw packets have no ICRC; for them the result means nothing.
 * @len:    bytes without the ICRC itself; less than LRH + BTH is allowed
 *          and simply masks less.
 */
uint32_t ib_icrc(const uint8_t *packet, size_t len);

/*
 * ib_vcrc: Variant CRC (IBA Vol. 1, 7.8.2), CRC-16 with polynomial 0x100B
 * over every byte from LRH to the end of ICRC (of the payload in a raw
 * packet).
 */
uint16_t ib_vcrc(const uint8_t *data, size_t len);

/*
 * ib_lpcrc: the same CRC-16 over the first 4 bytes of a flow control packet
 * (IBA Vol. 1, 7.9.3).
 */
static inline uint16_t ib_lpcrc(const uint8_t *data)
{
    return ib_vcrc(data, 4);
}

#endif /* HW_INFINIBAND_IB_CRC_H */
