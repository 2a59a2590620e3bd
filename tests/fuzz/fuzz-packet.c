/*
 * ib_packet_parse(): whatever arrives, nothing is read past its end, and what
 * is found lies inside the packet
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>
#include "hw/infiniband/ib-packet.h"

#define CHECK(x) do { if (!(x)) { abort(); } } while (0)

static volatile unsigned sink;    /* so that no read is optimized away */

/* Read the last byte of a header, so that a sanitizer sees where it is */
static unsigned touch(const uint8_t *data, uint16_t at, unsigned bytes)
{
    return at ? data[at] + data[at + bytes - 1] : 0;
}

static void check_packet(const uint8_t *data, size_t len,
                         const IbPacketInfo *info)
{
    unsigned sum = 0;

    CHECK(info->len == len);
    CHECK(info->payload + info->payload_len + info->pad +
          (info->icrc ? IB_ICRC_BYTES : 0) == len);
    sum += touch(data, info->grh, IB_GRH_BYTES);
    sum += touch(data, info->bth, IB_BTH_BYTES);
    sum += touch(data, info->rdeth, IB_RDETH_BYTES);
    sum += touch(data, info->deth, IB_DETH_BYTES);
    sum += touch(data, info->xrceth, IB_XRCETH_BYTES);
    sum += touch(data, info->reth, IB_RETH_BYTES);
    sum += touch(data, info->atomiceth, IB_ATOMICETH_BYTES);
    sum += touch(data, info->aeth, IB_AETH_BYTES);
    sum += touch(data, info->atomicacketh, IB_ATOMICACKETH_BYTES);
    sum += touch(data, info->immdt, IB_IMMDT_BYTES);
    sum += touch(data, info->ieth, IB_IETH_BYTES);
    sum += touch(data, info->icrc, IB_ICRC_BYTES);
    sum += ib_packet_icrc_ok(data, len);
    sink = sum;
    CHECK((info->flags & IB_HAS_DETH ? info->deth > 0 : info->deth == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    IbPacketInfo info;

    if (ib_packet_parse(data, size, &info) == IB_PACKET_OK) {
        check_packet(data, size, &info);
    }
    ib_icrc(data, size);

    /* the same bytes with lengths that agree, to get past the first checks */
    size &= ~(size_t)3;
    if (size >= IB_LRH_BYTES && size <= IB_PKTLEN_MAX_BYTES) {
        uint8_t *copy = malloc(size);

        memcpy(copy, data, size);
        ib_field_set(copy, IB_LRH_LVER, IB_LVER);
        ib_field_set(copy, IB_LRH_PKTLEN, size / 4);
        if (size >= IB_LRH_BYTES + IB_GRH_BYTES) {
            ib_field_set(copy + IB_LRH_BYTES, IB_GRH_PAYLEN,
                         size - IB_LRH_BYTES - IB_GRH_BYTES);
        }
        if (ib_packet_parse(copy, size, &info) == IB_PACKET_OK) {
            check_packet(copy, size, &info);
        }
        free(copy);
    }
    return 0;
}
