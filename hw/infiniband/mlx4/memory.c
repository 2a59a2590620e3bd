/*
 * ConnectX-3: data in guest memory, reached by key
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "mlx4.h"

/* IBA Vol.1 10.6.3: the key, the protection domain, the rights, the bounds. */
static const Mlx4Mpt *mlx4_mem_find(Mlx4State *s, Mlx4Qp *qp, uint32_t key,
                                    uint64_t *at, uint64_t len,
                                    unsigned rights)
{
    const Mlx4Mpt *mpt = mlx4_mpt_find(s, key);
    const char *why = NULL;
    uint64_t va = *at;
    Mlx4Mpt window;

    if (!mpt || mpt->status != MLX4_MPT_STATUS_VALID) {
        why = "there is no such key";
    } else if (!mpt->region && !(rights & IB_ACCESS_REMOTE)) {
        why = "it is a memory window";
    } else if (mpt->pd != mlx4_qp_mpt_pd(qp)) {
        why = "of another protection domain";
    } else if (rights ? (mpt->rights & rights) != rights : !mpt->local_read) {
        why = "the rights are missing";
    } else if (len && (va < mpt->start ||
                       va - mpt->start > mpt->length ||
                       len > mpt->length - (va - mpt->start))) {
        why = "out of its bounds";
    }
    if (!why && !mpt->region) {
        window = *mpt;
        mpt = mlx4_mw_region(s, qp, &window, at, len, &why);
    }
    if (!why && !mpt->physical &&
        (mpt->page_shift < MLX4_LOG_MIN_PAGE || mpt->page_shift > 40)) {
        why = "its page size is none";
    }
    if (why) {
        mlx4_guest_error("QP 0x%x uses key 0x%x for 0x%" PRIx64
                         " bytes at 0x%" PRIx64 ", rights 0x%x: %s", qp->qpn,
                         key, len, va, rights, why);
        return NULL;
    }
    return mpt;
}

/* The bus address of @va and how many bytes follow it in the same page. */
static bool mlx4_mem_translate(Mlx4State *s, const Mlx4Mpt *mpt, uint64_t va,
                               uint64_t *bus, uint64_t *room)
{
    uint64_t page_bytes, offset;

    if (mpt->physical) {
        *bus = va;
        *room = UINT64_MAX;
        return true;
    }
    page_bytes = UINT64_C(1) << mpt->page_shift;
    offset = va - mpt->start + (mpt->start & (page_bytes - 1));
    /* Told for a region that is to be fast registered; else 0. */
    if (mpt->mtt_count && offset >> mpt->page_shift >= mpt->mtt_count) {
        mlx4_guest_error("memory region 0x%x has no page %" PRIu64,
                         mpt->index, offset >> mpt->page_shift);
        return false;
    }
    if (!mlx4_mtt_page(s, mpt->mtt, offset >> mpt->page_shift, bus)) {
        return false;
    }
    offset &= page_bytes - 1;
    *bus += offset;
    *room = page_bytes - offset;
    return true;
}

static IbMemResult mlx4_mem_rw(Mlx4State *s, Mlx4Qp *qp, uint32_t key,
                               uint64_t va, uint32_t len, unsigned rights,
                               uint8_t *buf, bool write)
{
    const Mlx4Mpt *mpt = mlx4_mem_find(s, qp, key, &va, len, rights);

    if (!mpt) {
        return IB_MEM_KEY;
    }
    while (len) {
        uint64_t bus, room;
        uint32_t part;

        if (!mlx4_mem_translate(s, mpt, va, &bus, &room)) {
            return IB_MEM_FAULT;
        }
        part = MIN(len, room);
        if (!(write ? mlx4_dma_write(s, bus, buf, part)
                    : mlx4_dma_read(s, bus, buf, part))) {
            return IB_MEM_FAULT;
        }
        va += part;
        buf += part;
        len -= part;
    }
    return IB_MEM_OK;
}

IbMemResult mlx4_mem_read(Mlx4State *s, Mlx4Qp *qp, uint32_t key, uint64_t va,
                          uint32_t len, unsigned rights, uint8_t *to)
{
    return mlx4_mem_rw(s, qp, key, va, len, rights, to, false);
}

IbMemResult mlx4_mem_write(Mlx4State *s, Mlx4Qp *qp, uint32_t key,
                           uint64_t va, uint32_t len, unsigned rights,
                           const uint8_t *from)
{
    return mlx4_mem_rw(s, qp, key, va, len, rights, (uint8_t *)from, true);
}

IbMemResult mlx4_mem_check(Mlx4State *s, Mlx4Qp *qp, uint32_t key,
                           uint64_t va, uint64_t len, unsigned rights)
{
    return mlx4_mem_find(s, qp, key, &va, len, rights) ? IB_MEM_OK
                                                       : IB_MEM_KEY;
}

/* Addition in fields whose highest bits are those of @tops. */
static uint64_t mlx4_masked_add(uint64_t a, uint64_t b, uint64_t tops)
{
    return ((a & ~tops) + (b & ~tops)) ^ ((a ^ b) & tops);
}

static uint64_t mlx4_atomic_result(const IbSendWr *wr, uint64_t old)
{
    switch (wr->opcode) {
    case IB_WR_CMP_SWAP:
        return old == wr->compare ? wr->swap_or_add : old;
    case IB_WR_MASKED_CMP_SWAP:
        if ((old ^ wr->compare) & wr->compare_mask) {
            return old;
        }
        return (old & ~wr->swap_or_add_mask) |
               (wr->swap_or_add & wr->swap_or_add_mask);
    case IB_WR_MASKED_FETCH_ADD:
        return mlx4_masked_add(old, wr->swap_or_add, wr->swap_or_add_mask);
    default:
        return old + wr->swap_or_add;
    }
}

/* Atomic among the operations of this adapter (IB_ATOMIC_HCA). */
IbMemResult mlx4_mem_atomic(Mlx4State *s, Mlx4Qp *qp, uint32_t key,
                            uint64_t va, const IbSendWr *operands,
                            uint64_t *old)
{
    const Mlx4Mpt *mpt = mlx4_mem_find(s, qp, key, &va, sizeof(*old),
                                       IB_ACCESS_REMOTE_ATOMIC);
    uint64_t bus, room, value;

    if (!mpt || va % sizeof(*old)) {
        return IB_MEM_KEY;
    }
    if (!mlx4_mem_translate(s, mpt, va, &bus, &room) ||
        room < sizeof(value) ||
        !mlx4_dma_read(s, bus, &value, sizeof(value))) {
        return IB_MEM_FAULT;
    }
    *old = s->big_endian_host ? be64_to_cpu(value) : le64_to_cpu(value);
    value = mlx4_atomic_result(operands, *old);
    value = s->big_endian_host ? cpu_to_be64(value) : cpu_to_le64(value);
    return mlx4_dma_write(s, bus, &value, sizeof(value)) ? IB_MEM_OK
                                                         : IB_MEM_FAULT;
}
