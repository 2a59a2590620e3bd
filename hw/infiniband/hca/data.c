/*
 * Payload between packets and the pieces of a work request
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A request's data is a list of pieces, each in memory behind a key or inline
 * with the request.  Every byte is copied once, by the face, between the
 * guest's memory and the packet where it lies in the frame.
 */
#include "hca-internal.h"

uint64_t ib_sge_bytes(const IbSge *sge, unsigned num_sge)
{
    uint64_t bytes = 0;
    unsigned i;

    for (i = 0; i < num_sge; i++) {
        bytes += sge[i].len;
    }
    return bytes;
}

IbWcStatus ib_sge_gather(IbQp *qp, const IbSge *sge, unsigned num_sge,
                         uint64_t offset, uint8_t *to, uint32_t len)
{
    const IbHca *hca = qp->hca;
    uint32_t part;

    for (; len && num_sge; sge++, num_sge--) {
        if (offset >= sge->len) {
            offset -= sge->len;
            continue;
        }
        part = MIN(len, sge->len - (uint32_t)offset);
        if (sge->ptr) {
            memcpy(to, sge->ptr + offset, part);
        } else if (hca->ops->read(hca->opaque, qp->face, sge->key,
                                  sge->va + offset, part, 0, to) !=
                   IB_MEM_OK) {
            return IB_WC_LOC_PROT_ERR;
        }
        to += part;
        len -= part;
        offset = 0;
    }
    return len ? IB_WC_LOC_LEN_ERR : IB_WC_SUCCESS;
}

IbWcStatus ib_sge_scatter(IbQp *qp, const IbSge *sge, unsigned num_sge,
                          uint64_t offset, const uint8_t *from, uint32_t len)
{
    const IbHca *hca = qp->hca;
    uint32_t part;

    for (; len && num_sge; sge++, num_sge--) {
        if (offset >= sge->len) {
            offset -= sge->len;
            continue;
        }
        part = MIN(len, sge->len - (uint32_t)offset);
        if (hca->ops->write(hca->opaque, qp->face, sge->key, sge->va + offset,
                            part, IB_ACCESS_LOCAL_WRITE, from) != IB_MEM_OK) {
            return IB_WC_LOC_PROT_ERR;
        }
        from += part;
        len -= part;
        offset = 0;
    }
    return len ? IB_WC_LOC_LEN_ERR : IB_WC_SUCCESS;
}
