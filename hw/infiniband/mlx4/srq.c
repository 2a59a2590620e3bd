/*
 * ConnectX-3: shared receive queues
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The entries form a list: each names the index of the next one.  The driver
 * counts those it posted in a doorbell record; the adapter follows the list
 * from entry 0 as far as that count goes.
 */
#include "mlx4.h"

Mlx4Srq *mlx4_srq_find(Mlx4State *s, uint32_t srqn)
{
    return srqn < 1u << MLX4_LOG_SRQS ? s->srqs[srqn] : NULL;
}

Mlx4Srq *mlx4_srq_of_xrc(Mlx4Qp *qp, uint32_t srqn)
{
    uint32_t xrcd = ib_field_get(qp->ctx, MLX4_QPC_XRCD);
    Mlx4Srq *srq = mlx4_srq_find(qp->s, srqn);

    /* 0 is the domain of SRQs that are in none. */
    return srq && xrcd && ib_field_get(srq->ctx, MLX4_SRQC_XRCD) == xrcd
           ? srq : NULL;
}

static bool mlx4_srq_read_record(Mlx4State *s, Mlx4Srq *srq)
{
    uint8_t record[4];

    if (!mlx4_dma_read(s, ib_get_be64(srq->ctx + MLX4_SRQC_RECORD_OFFSET),
                       record, sizeof(record))) {
        return false;
    }
    smp_rmb();      /* the count before the entries it counts */
    srq->posted = ib_field_get(record, MLX4_RECORD_COUNT);
    return true;
}

static void mlx4_srq_fail(Mlx4State *s, Mlx4Srq *srq)
{
    if (!srq->failed) {
        srq->failed = true;
        mlx4_guest_error("SRQ 0x%x failed", srq->srqn);
        mlx4_event_number(s, MLX4_EVENT_SRQ_CATAS, srq->srqn);
    }
}

/* Below its limit an armed SRQ tells once. */
static void mlx4_srq_check_limit(Mlx4State *s, Mlx4Srq *srq)
{
    if (!srq->limit ||
        (uint16_t)(srq->posted - srq->taken) >= srq->limit) {
        return;
    }
    /* The count that is known may be old. */
    if (mlx4_srq_read_record(s, srq) &&
        (uint16_t)(srq->posted - srq->taken) < srq->limit) {
        srq->limit = 0;
        mlx4_event_number(s, MLX4_EVENT_SRQ_LIMIT, srq->srqn);
    }
}

IbPull mlx4_srq_next(Mlx4State *s, Mlx4Srq *srq, IbRecvWr *wr,
                     IbWcStatus *status)
{
    unsigned shift = ib_field_get(srq->ctx, MLX4_SRQC_LOG_STRIDE) + 4;
    uint8_t wqe[MLX4_MAX_WQE];
    size_t stride = 1u << shift;

    if (srq->failed) {
        return IB_PULL_EMPTY;
    }
    if (srq->taken == srq->posted &&
        (!mlx4_srq_read_record(s, srq) || srq->taken == srq->posted)) {
        return IB_PULL_EMPTY;
    }
    wr->id = srq->next;
    if (srq->next >= srq->entries ||
        !mlx4_ring_read(s, &srq->ring, (uint64_t)srq->next << shift, wqe,
                        stride)) {
        mlx4_srq_fail(s, srq);
        *status = IB_WC_LOC_QP_OP_ERR;
        return IB_PULL_ERROR;
    }
    srq->next = ib_field_get(wqe, MLX4_SRQ_WQE_NEXT);
    srq->taken++;
    mlx4_wqe_scatter(wqe + MLX4_SRQ_WQE_HEADER, stride - MLX4_SRQ_WQE_HEADER,
                     wr);
    mlx4_srq_check_limit(s, srq);
    return IB_PULL_OK;
}

/* ---------------------------------------------------------------- commands */

Mlx4Status mlx4_srq_new(Mlx4State *s, uint32_t srqn, const uint8_t *ctx)
{
    Mlx4Srq *srq;

    if (srqn >= 1u << MLX4_LOG_SRQS) {
        mlx4_guest_error("SW2HW_SRQ of 0x%x", srqn);
        return MLX4_STAT_BAD_INDEX;
    }
    if (s->srqs[srqn]) {
        mlx4_guest_error("SW2HW_SRQ of 0x%x, which is the adapter's already",
                         srqn);
        return MLX4_STAT_BAD_RES_STATE;
    }
    if (!ib_field_get(ctx, MLX4_SRQC_LOG_STRIDE)) {
        mlx4_guest_error("SRQ 0x%x without room for a data segment", srqn);
        return MLX4_STAT_BAD_SIZE;
    }
    srq = g_new0(Mlx4Srq, 1);
    memcpy(srq->ctx, ctx, sizeof(srq->ctx));
    srq->srqn = srqn;
    srq->entries = 1u << ib_field_get(ctx, MLX4_SRQC_LOG_SIZE);
    srq->limit = ib_field_get(ctx, MLX4_SRQC_LIMIT);
    mlx4_ring_init(&srq->ring, ib_field_get(ctx, MLX4_SRQC_MTT_HI),
                   ib_field_get(ctx, MLX4_SRQC_MTT_LO),
                   ib_field_get(ctx, MLX4_SRQC_LOG_PAGE));
    s->srqs[srqn] = srq;
    return MLX4_STAT_OK;
}

Mlx4Status mlx4_cmd_sw2hw_srq(Mlx4State *s, Mlx4Cmd *cmd)
{
    uint32_t cqn = ib_field_get(cmd->in, MLX4_SRQC_XRC_CQN);

    if (ib_field_get(cmd->in, MLX4_SRQC_XRCD) && !mlx4_cq_find(s, cqn)) {
        mlx4_guest_error("XRC SRQ 0x%x uses CQ 0x%x, which is not there",
                         cmd->in_mod, cqn);
        return MLX4_STAT_BAD_RESOURCE;
    }
    return mlx4_srq_new(s, cmd->in_mod, cmd->in);
}

static Mlx4Srq *mlx4_srq_of(Mlx4State *s, Mlx4Cmd *cmd)
{
    Mlx4Srq *srq = mlx4_srq_find(s, cmd->in_mod);

    if (!srq) {
        mlx4_guest_error("command 0x%x of SRQ 0x%x", cmd->opcode,
                         cmd->in_mod);
    }
    return srq;
}

Mlx4Status mlx4_cmd_hw2sw_srq(Mlx4State *s, Mlx4Cmd *cmd)
{
    Mlx4Srq *srq = mlx4_srq_of(s, cmd);

    if (!srq) {
        return MLX4_STAT_BAD_INDEX;
    }
    s->srqs[srq->srqn] = NULL;
    g_free(srq);
    return MLX4_STAT_OK;
}

Mlx4Status mlx4_cmd_query_srq(Mlx4State *s, Mlx4Cmd *cmd)
{
    Mlx4Srq *srq = mlx4_srq_of(s, cmd);

    if (!srq) {
        return MLX4_STAT_BAD_INDEX;
    }
    memcpy(cmd->out, srq->ctx, sizeof(srq->ctx));
    ib_field_set(cmd->out, MLX4_SRQC_LIMIT, srq->limit);
    ib_field_set(cmd->out, MLX4_SRQC_WQE_COUNT, srq->taken);
    return MLX4_STAT_OK;
}

Mlx4Status mlx4_cmd_arm_srq(Mlx4State *s, Mlx4Cmd *cmd)
{
    Mlx4Srq *srq = mlx4_srq_of(s, cmd);

    if (!srq) {
        return MLX4_STAT_BAD_INDEX;
    }
    srq->limit = cmd->in_param;
    mlx4_srq_check_limit(s, srq);
    return MLX4_STAT_OK;
}

void mlx4_srq_reset(Mlx4State *s)
{
    uint32_t i;

    for (i = 0; i < 1u << MLX4_LOG_SRQS; i++) {
        g_free(s->srqs[i]);
        s->srqs[i] = NULL;
    }
}
