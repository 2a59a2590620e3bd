/*
 * ConnectX-3: memory keys
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The memory protection table (dMPT) in ICM is the truth: a driver that
 * re-registers memory takes an entry back with HW2SW_MPT, edits it in place
 * and hands it over again with SYNC_TPT.  What is kept here is a cache, filled
 * on first use and dropped whenever the driver may have written.
 *
 * A key as work requests carry it is the entry's index and an 8-bit variant;
 * the entry holds it rotated by 8 bits, so that the low bits are the index.
 */
#include "mlx4.h"
#include "../trace.h"

uint64_t mlx4_mpt_virt(Mlx4State *s, uint32_t index)
{
    return s->dmpt_base + (uint64_t)index * MLX4_MPT_BYTES;
}

static Mlx4Mpt *mlx4_mpt_slot(Mlx4State *s, uint32_t index)
{
    return &s->mpt_cache[index % MLX4_MPT_CACHE];
}

void mlx4_mpt_forget_all(Mlx4State *s)
{
    size_t i;

    for (i = 0; i < MLX4_MPT_CACHE; i++) {
        s->mpt_cache[i].cached = false;
    }
}

static void mlx4_mpt_parse(Mlx4Mpt *mpt, uint32_t index, const uint8_t *raw)
{
    *mpt = (Mlx4Mpt) {
        .cached = true,
        .index = index,
        .key = ib_field_get(raw, MLX4_MPT_KEY),
        .pd = ib_field_get(raw, MLX4_MPT_PD),
        .status = ib_field_get(raw, MLX4_MPT_STATUS),
        .local_read = ib_field_get(raw, MLX4_MPT_LOCAL_READ),
        .physical = ib_field_get(raw, MLX4_MPT_PHYSICAL),
        .region = ib_field_get(raw, MLX4_MPT_REGION),
        .fast_reg = ib_field_get(raw, MLX4_MPT_FAST_REG),
        .remote_inv = ib_field_get(raw, MLX4_MPT_REMOTE_INV),
        .bind_enable = ib_field_get(raw, MLX4_MPT_BIND_ENABLE),
        .bound_qp = ib_field_get(raw, MLX4_MPT_BOUND_QP),
        .qpn = ib_field_get(raw, MLX4_MPT_QPN),
        .lkey = ib_field_get(raw, MLX4_MPT_LKEY),
        .page_shift = ib_field_get(raw, MLX4_MPT_LOG_PAGE),
        .start = ib_get_be64(raw + MLX4_MPT_START_OFFSET),
        .length = ib_get_be64(raw + MLX4_MPT_LENGTH_OFFSET),
        .mtt = ib_get_be64(raw + MLX4_MPT_MTT_OFFSET),
        .mtt_count = ib_field_get(raw, MLX4_MPT_MTT_COUNT),
    };
    mpt->rights =
        (ib_field_get(raw, MLX4_MPT_LOCAL_WRITE) ? IB_ACCESS_LOCAL_WRITE : 0) |
        (ib_field_get(raw, MLX4_MPT_REMOTE_WRITE) ? IB_ACCESS_REMOTE_WRITE
                                                  : 0) |
        (ib_field_get(raw, MLX4_MPT_REMOTE_READ) ? IB_ACCESS_REMOTE_READ : 0) |
        (ib_field_get(raw, MLX4_MPT_ATOMIC) ? IB_ACCESS_REMOTE_ATOMIC : 0);
}

/* The entry at @index, whatever it says; NULL if ICM does not answer. */
static Mlx4Mpt *mlx4_mpt_load(Mlx4State *s, uint32_t index)
{
    Mlx4Mpt *mpt = mlx4_mpt_slot(s, index);
    uint8_t raw[MLX4_MPT_BYTES];

    if (mpt->cached && mpt->index == index) {
        return mpt;
    }
    mpt->cached = false;
    if (!mlx4_icm_read(s, mlx4_mpt_virt(s, index), raw, sizeof(raw))) {
        return NULL;
    }
    mlx4_mpt_parse(mpt, index, raw);
    /* The driver may be about to write an entry that it owns. */
    mpt->cached = mpt->status != MLX4_MPT_STATUS_SOFTWARE;
    return mpt;
}

Mlx4Mpt *mlx4_mpt_find(Mlx4State *s, uint32_t key)
{
    uint32_t rotated = mlx4_key_rotate(key);
    Mlx4Mpt *mpt;

    if (!s->running) {
        return NULL;
    }
    mpt = mlx4_mpt_load(s, rotated & (s->num_mpts - 1));
    if (!mpt || mpt->status == MLX4_MPT_STATUS_SOFTWARE ||
        mpt->key != rotated) {
        return NULL;
    }
    return mpt;
}

Mlx4Mpt *mlx4_mpt_of_index(Mlx4State *s, uint32_t key)
{
    return s->running ? mlx4_mpt_load(s, mlx4_key_rotate(key) &
                                         (s->num_mpts - 1)) : NULL;
}

/* Rewrite the first @len bytes of an entry, its status last of all. */
static bool mlx4_mpt_store(Mlx4State *s, uint32_t index, const uint8_t *raw,
                           size_t len)
{
    uint64_t virt = mlx4_mpt_virt(s, index);

    if (len > 4 && !mlx4_icm_write(s, virt + 4, raw + 4, len - 4)) {
        return false;
    }
    return mlx4_icm_write(s, virt, raw, 4);
}

bool mlx4_mpt_rewrite(Mlx4State *s, uint32_t index, const uint8_t *raw)
{
    mlx4_mpt_slot(s, index)->cached = false;
    return mlx4_mpt_store(s, index, raw, MLX4_MPT_BYTES);
}

/* ---------------------------------------------------------------- commands */

Mlx4Status mlx4_cmd_sw2hw_mpt(Mlx4State *s, Mlx4Cmd *cmd)
{
    uint32_t index = cmd->in_mod;
    uint8_t raw[MLX4_MPT_BYTES];
    uint8_t status;

    if (index >= s->num_mpts) {
        mlx4_guest_error("SW2HW_MPT of 0x%x", index);
        return MLX4_STAT_BAD_INDEX;
    }
    memcpy(raw, cmd->in, sizeof(raw));
    status = ib_field_get(raw, MLX4_MPT_STATUS);
    if (status == MLX4_MPT_STATUS_SOFTWARE) {
        ib_field_set(raw, MLX4_MPT_STATUS, MLX4_MPT_STATUS_VALID);
    }
    mlx4_mpt_slot(s, index)->cached = false;
    if (!mlx4_mpt_store(s, index, raw, sizeof(raw))) {
        return MLX4_STAT_ICM_ERROR;
    }
    mlx4_mpt_parse(mlx4_mpt_slot(s, index), index, raw);
    return MLX4_STAT_OK;
}

Mlx4Status mlx4_cmd_hw2sw_mpt(Mlx4State *s, Mlx4Cmd *cmd)
{
    uint32_t index = cmd->in_mod;
    uint8_t raw[MLX4_MPT_BYTES];

    if (index >= s->num_mpts) {
        mlx4_guest_error("HW2SW_MPT of 0x%x", index);
        return MLX4_STAT_BAD_INDEX;
    }
    mlx4_mpt_slot(s, index)->cached = false;
    if (!mlx4_icm_read(s, mlx4_mpt_virt(s, index), raw, sizeof(raw))) {
        return MLX4_STAT_ICM_ERROR;
    }
    if (ib_field_get(raw, MLX4_MPT_REGION)) {
        if (ib_field_get(raw, MLX4_MPT_WINDOWS) &&
            ib_field_get(raw, MLX4_MPT_STATUS) == MLX4_MPT_STATUS_VALID) {
            return MLX4_STAT_REG_BOUND;
        }
    } else if (ib_field_get(raw, MLX4_MPT_STATUS) == MLX4_MPT_STATUS_VALID) {
        mlx4_mw_count(s, ib_field_get(raw, MLX4_MPT_LKEY), -1);
    }
    if (cmd->op_mod == 0 && cmd->out_param &&
        !mlx4_dma_write(s, cmd->out_param, raw, sizeof(raw))) {
        return MLX4_STAT_BAD_PARAM;
    }
    ib_field_set(raw, MLX4_MPT_STATUS, MLX4_MPT_STATUS_SOFTWARE);
    return mlx4_mpt_store(s, index, raw, 4) ? MLX4_STAT_OK
                                            : MLX4_STAT_ICM_ERROR;
}

Mlx4Status mlx4_cmd_sync_tpt(Mlx4State *s, Mlx4Cmd *cmd)
{
    mlx4_mpt_forget_all(s);
    return MLX4_STAT_OK;
}

/* -------------------------------------------------- keys by work requests */

/* Valid no more; a window lets go of its region. */
static bool mlx4_mpt_free(Mlx4State *s, const Mlx4Mpt *mpt)
{
    uint32_t index = mpt->index, lkey = mpt->region ? 0 : mpt->lkey;
    uint8_t raw[MLX4_MPT_BYTES];

    if (!mlx4_icm_read(s, mlx4_mpt_virt(s, index), raw, sizeof(raw))) {
        return false;
    }
    if (!mpt->region) {
        ib_field_set(raw, MLX4_MPT_LKEY, 0);
        mlx4_mw_count(s, lkey, -1);
    }
    ib_field_set(raw, MLX4_MPT_STATUS, MLX4_MPT_STATUS_FREE);
    return mlx4_mpt_rewrite(s, index, raw);
}

IbMemResult mlx4_mpt_invalidate(Mlx4State *s, Mlx4Qp *qp, uint32_t rkey,
                                bool remote)
{
    Mlx4Mpt *mpt = mlx4_mpt_find(s, rkey);

    if (!mpt || mpt->pd != mlx4_qp_mpt_pd(qp) ||
        mpt->status != MLX4_MPT_STATUS_VALID ||
        !(mpt->region ? mpt->fast_reg
                      : mpt->bound_qp && mpt->qpn == qp->qpn) ||
        (remote && !mpt->remote_inv)) {
        mlx4_guest_error("QP 0x%x invalidates key 0x%x, which it may not",
                         qp->qpn, rkey);
        return IB_MEM_KEY;
    }
    trace_mlx4_mpt_invalidate(qp->qpn, rkey, remote);
    return mlx4_mpt_free(s, mpt) ? IB_MEM_OK : IB_MEM_FAULT;
}

/* The page list of a fast registration into the entry's own MTT entries. */
static bool mlx4_fast_reg_pages(Mlx4State *s, Mlx4Mpt *mpt, uint64_t list,
                                uint32_t pages)
{
    uint8_t entries[MLX4_FMR_MAX_PAGES * MLX4_MTT_BYTES];
    size_t len = pages * MLX4_MTT_BYTES;

    return mlx4_dma_read(s, list, entries, len) &&
           mlx4_icm_write(s, s->mtt_base + mpt->mtt, entries, len);
}

static IbWcStatus mlx4_fast_register(Mlx4State *s, Mlx4Qp *qp,
                                     const uint8_t *seg)
{
    uint32_t key = ib_field_get(seg, MLX4_FMR_KEY);
    uint64_t start = ib_get_be64(seg + MLX4_FMR_START_OFFSET);
    uint64_t length = ib_get_be64(seg + MLX4_FMR_LENGTH_OFFSET);
    unsigned log_page = ib_field_get(seg, MLX4_FMR_LOG_PAGE);
    uint32_t index = mlx4_key_rotate(key) & (s->num_mpts - 1);
    Mlx4Mpt *mpt = mlx4_mpt_of_index(s, key);
    uint8_t raw[MLX4_MPT_BYTES];
    uint64_t pages;

    /* Only the variant, the low byte of the key, may differ. */
    if (!mpt || mpt->status != MLX4_MPT_STATUS_FREE || !mpt->fast_reg ||
        !mpt->region || mpt->pd != mlx4_qp_mpt_pd(qp) ||
        ((mpt->key ^ mlx4_key_rotate(key)) & 0xffffff)) {
        mlx4_guest_error("QP 0x%x registers key 0x%x, which it may not",
                         qp->qpn, key);
        return IB_WC_MW_BIND_ERR;
    }
    if (log_page < MLX4_LOG_MIN_PAGE || log_page > 31 || length > UINT32_MAX) {
        mlx4_guest_error("fast registration with pages of 2^%u, 0x%" PRIx64
                         " bytes", log_page, length);
        return IB_WC_MW_BIND_ERR;
    }
    pages = ((start & ((1u << log_page) - 1)) + length +
             (1u << log_page) - 1) >> log_page;
    if (pages > MLX4_FMR_MAX_PAGES || pages > mpt->mtt_count) {
        mlx4_guest_error("fast registration of %" PRIu64 " pages", pages);
        return IB_WC_MW_BIND_ERR;
    }
    mpt->cached = false;
    if (!mlx4_icm_read(s, mlx4_mpt_virt(s, index), raw, sizeof(raw)) ||
        !mlx4_fast_reg_pages(s, mpt,
                             ib_get_be64(seg + MLX4_FMR_LIST_OFFSET),
                             pages)) {
        return IB_WC_LOC_PROT_ERR;
    }
    ib_field_set(raw, MLX4_MPT_STATUS, MLX4_MPT_STATUS_VALID);
    ib_field_set(raw, MLX4_MPT_LOCAL_READ,
                 ib_field_get(seg, MLX4_FMR_LOCAL_READ));
    ib_field_set(raw, MLX4_MPT_LOCAL_WRITE,
                 ib_field_get(seg, MLX4_FMR_LOCAL_WRITE));
    ib_field_set(raw, MLX4_MPT_REMOTE_READ,
                 ib_field_get(seg, MLX4_FMR_REMOTE_READ));
    ib_field_set(raw, MLX4_MPT_REMOTE_WRITE,
                 ib_field_get(seg, MLX4_FMR_REMOTE_WRITE));
    ib_field_set(raw, MLX4_MPT_ATOMIC, ib_field_get(seg, MLX4_FMR_ATOMIC));
    ib_field_set(raw, MLX4_MPT_KEY, mlx4_key_rotate(key));
    ib_field_set(raw, MLX4_MPT_LOG_PAGE, log_page);
    ib_put_be64(raw + MLX4_MPT_START_OFFSET, start);
    ib_put_be64(raw + MLX4_MPT_LENGTH_OFFSET, length);
    if (!mlx4_mpt_store(s, index, raw, sizeof(raw))) {
        return IB_WC_LOC_PROT_ERR;
    }
    mlx4_mpt_parse(mpt, index, raw);
    trace_mlx4_fast_register(qp->qpn, key, start, length);
    return IB_WC_SUCCESS;
}

IbWcStatus mlx4_mpt_local_op(Mlx4State *s, Mlx4Qp *qp, const uint8_t *wqe,
                             size_t len)
{
    const uint8_t *seg = wqe + MLX4_WQE_CTRL_BYTES;

    switch (ib_field_get(wqe, MLX4_WQE_OPCODE)) {
    case MLX4_WQE_OP_FAST_REG:
        if (len < MLX4_WQE_CTRL_BYTES + MLX4_FMR_BYTES ||
            !ib_field_get(qp->ctx, MLX4_QPC_FAST_REG)) {
            mlx4_guest_error("QP 0x%x may not fast register", qp->qpn);
            return IB_WC_LOC_QP_OP_ERR;
        }
        return mlx4_fast_register(s, qp, seg);
    case MLX4_WQE_OP_LOCAL_INV:
        if (len < MLX4_WQE_CTRL_BYTES + MLX4_LOCAL_INV_BYTES) {
            mlx4_guest_error("local invalidate of %zu bytes", len);
            return IB_WC_LOC_QP_OP_ERR;
        }
        return mlx4_mpt_invalidate(s, qp,
                                   ib_field_get(seg, MLX4_LOCAL_INV_KEY),
                                   false) == IB_MEM_OK
               ? IB_WC_SUCCESS : IB_WC_MW_BIND_ERR;
    default:
        if (len < MLX4_WQE_CTRL_BYTES + MLX4_BIND_BYTES) {
            mlx4_guest_error("bind of a window of %zu bytes", len);
            return IB_WC_LOC_QP_OP_ERR;
        }
        return mlx4_mw_bind(s, qp, seg);
    }
}
