/*
 * ConnectX-3: memory windows
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A window is an entry of the memory protection table that is no region (IBA
 * Vol.1 10.6.7).  While it is bound it names its region's local key, and has
 * in the place of a page table the region's address at which it begins:
 * every access goes through the region, so that nothing is reached by a
 * window whose region is gone or has become another.
 *
 * Type 1 belongs to a protection domain and is bound anew, or to nothing, at
 * any time.  Type 2 (2B: also to the queue pair that bound it) is bound when
 * it is free, and an invalidation frees it.
 */
#include "mlx4.h"
#include "../trace.h"

void mlx4_mw_count(Mlx4State *s, uint32_t lkey, int by)
{
    Mlx4Mpt *region = lkey ? mlx4_mpt_find(s, lkey) : NULL;
    uint64_t virt;
    uint8_t raw[4];

    if (!region || !region->region) {
        return;
    }
    virt = mlx4_mpt_virt(s, region->index) + IB_FIELD_BYTE(MLX4_MPT_WINDOWS);
    if (mlx4_icm_read(s, virt, raw, sizeof(raw))) {
        ib_put_be32(raw, ib_get_be32(raw) + by);
        mlx4_icm_write(s, virt, raw, sizeof(raw));
    }
}

Mlx4Mpt *mlx4_mw_region(Mlx4State *s, Mlx4Qp *qp, const Mlx4Mpt *window,
                        uint64_t *va, uint64_t len, const char **why)
{
    uint64_t offset = *va - window->start;
    uint64_t base = window->mtt;
    Mlx4Mpt *region;

    if (window->bound_qp && window->qpn != qp->qpn) {
        *why = "the window is another queue pair's";
        return NULL;
    }
    region = window->lkey ? mlx4_mpt_find(s, window->lkey) : NULL;
    if (!region || !region->region ||
        region->status != MLX4_MPT_STATUS_VALID) {
        *why = "the window is bound to no region";
        return NULL;
    }
    *va = base + offset;
    if (len && (*va < region->start || *va - region->start > region->length ||
                len > region->length - (*va - region->start))) {
        *why = "the region is not what the window was bound to";
        return NULL;
    }
    return region;
}

/* What @seg asks of the region with its local key; NULL: fine. */
static const char *mlx4_mw_check_region(Mlx4State *s, Mlx4Qp *qp,
                                        uint32_t lkey, uint64_t va,
                                        uint64_t len, unsigned rights)
{
    const Mlx4Mpt *region = mlx4_mpt_find(s, lkey);

    if (!region || !region->region ||
        region->status != MLX4_MPT_STATUS_VALID) {
        return "there is no such region";
    }
    if (region->pd != mlx4_qp_mpt_pd(qp)) {
        return "the region is of another protection domain";
    }
    if (!region->bind_enable) {
        return "the region takes no windows";
    }
    if ((rights & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)) &&
        !(region->rights & IB_ACCESS_LOCAL_WRITE)) {
        return "the region may not be written";
    }
    if (va < region->start || va - region->start > region->length ||
        len > region->length - (va - region->start)) {
        return "out of the region's bounds";
    }
    return NULL;
}

IbWcStatus mlx4_mw_bind(Mlx4State *s, Mlx4Qp *qp, const uint8_t *seg)
{
    bool type2 = ib_field_get(seg, MLX4_BIND_TYPE_2);
    uint32_t key = ib_field_get(seg, MLX4_BIND_NEW_KEY);
    uint32_t lkey = ib_field_get(seg, MLX4_BIND_LKEY);
    uint64_t va = ib_get_be64(seg + MLX4_BIND_VA_OFFSET);
    uint64_t len = ib_get_be64(seg + MLX4_BIND_LENGTH_OFFSET);
    unsigned rights =
        (ib_field_get(seg, MLX4_BIND_REMOTE_READ) ? IB_ACCESS_REMOTE_READ
                                                  : 0) |
        (ib_field_get(seg, MLX4_BIND_REMOTE_WRITE) ? IB_ACCESS_REMOTE_WRITE
                                                   : 0) |
        (ib_field_get(seg, MLX4_BIND_ATOMIC) ? IB_ACCESS_REMOTE_ATOMIC : 0);
    Mlx4Mpt *mpt = mlx4_mpt_of_index(s, key);
    uint8_t raw[MLX4_MPT_BYTES];
    const char *why = NULL;
    uint32_t index = 0, old = 0;

    /* Only the variant, the low byte of the key, may differ. */
    if (!mpt || mpt->region ||
        ((mpt->key ^ mlx4_key_rotate(key)) & 0xffffff)) {
        why = "there is no such window";
    } else if (mpt->pd != mlx4_qp_mpt_pd(qp)) {
        why = "it is of another protection domain";
    } else if (mpt->bound_qp != type2) {
        why = "it is of the other type";
    } else if (mpt->status != (type2 ? MLX4_MPT_STATUS_FREE
                                     : MLX4_MPT_STATUS_VALID)) {
        why = type2 ? "it is bound" : "it is not the adapter's";
    }
    if (!why) {
        /* The region may take the window's place in the cache. */
        index = mpt->index;
        old = mpt->lkey;
        if (len || type2) {
            why = mlx4_mw_check_region(s, qp, lkey, va, len, rights);
        } else {
            lkey = rights = 0;    /* unbound */
        }
    }
    if (why) {
        mlx4_guest_error("QP 0x%x binds window 0x%x to key 0x%x, 0x%" PRIx64
                         " bytes at 0x%" PRIx64 ": %s", qp->qpn, key, lkey,
                         len, va, why);
        return IB_WC_MW_BIND_ERR;
    }
    if (!mlx4_icm_read(s, mlx4_mpt_virt(s, index), raw, sizeof(raw))) {
        return IB_WC_LOC_PROT_ERR;
    }
    ib_field_set(raw, MLX4_MPT_STATUS, MLX4_MPT_STATUS_VALID);
    ib_field_set(raw, MLX4_MPT_REMOTE_READ,
                 !!(rights & IB_ACCESS_REMOTE_READ));
    ib_field_set(raw, MLX4_MPT_REMOTE_WRITE,
                 !!(rights & IB_ACCESS_REMOTE_WRITE));
    ib_field_set(raw, MLX4_MPT_ATOMIC, !!(rights & IB_ACCESS_REMOTE_ATOMIC));
    ib_field_set(raw, MLX4_MPT_KEY, mlx4_key_rotate(key));
    if (type2) {
        ib_field_set(raw, MLX4_MPT_QPN, qp->qpn);
    }
    ib_put_be64(raw + MLX4_MPT_START_OFFSET,
                ib_field_get(seg, MLX4_BIND_ZERO_BASED) ? 0 : va);
    ib_put_be64(raw + MLX4_MPT_LENGTH_OFFSET, len);
    ib_field_set(raw, MLX4_MPT_LKEY, lkey);
    ib_put_be64(raw + MLX4_MPT_MTT_OFFSET, va);
    mlx4_mw_count(s, old, -1);
    mlx4_mw_count(s, lkey, 1);
    if (!mlx4_mpt_rewrite(s, index, raw)) {
        return IB_WC_LOC_PROT_ERR;
    }
    trace_mlx4_bind(qp->qpn, key, lkey, va, len);
    return IB_WC_SUCCESS;
}
