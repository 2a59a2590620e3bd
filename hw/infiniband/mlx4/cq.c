/*
 * ConnectX-3: completion queues
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The consumer index is in a doorbell record in guest memory.  It is read
 * only when the last known one leaves no room, so that a completion costs one
 * entry written and nothing else.
 */
#include "mlx4.h"
#include "../trace.h"

Mlx4Cq *mlx4_cq_find(Mlx4State *s, uint32_t cqn)
{
    return cqn < 1u << MLX4_LOG_CQS ? s->cqs[cqn] : NULL;
}

static void mlx4_cq_fail(Mlx4State *s, Mlx4Cq *cq, uint8_t syndrome)
{
    uint8_t eqe[MLX4_EQE_BYTES] = { };

    mlx4_guest_error("CQ 0x%x failed: %s", cq->cqn,
                     syndrome == MLX4_CQ_ERR_OVERRUN ? "overrun" : "access");
    cq->failed = true;
    s->cq_failed = true;
    ib_field_set(eqe, MLX4_EQE_NUMBER, cq->cqn);
    ib_field_set(eqe, MLX4_EQE_CQ_SYNDROME, syndrome);
    mlx4_event_post(s, MLX4_EVENT_CQ_ERROR, eqe);
    /* Its QPs fail too, but not within a call of the engine. */
    mlx4_work_soon(s);
}

void mlx4_cq_work(Mlx4State *s)
{
    uint32_t qpn;

    if (!s->cq_failed) {
        return;
    }
    s->cq_failed = false;
    for (qpn = 0; qpn < 1u << MLX4_LOG_QPS; qpn++) {
        Mlx4Qp *qp = s->qps[qpn];
        Mlx4Cq *send, *recv;

        if (!qp) {
            continue;
        }
        send = mlx4_cq_find(s, ib_field_get(qp->ctx, MLX4_QPC_SEND_CQN));
        recv = mlx4_cq_find(s, ib_field_get(qp->ctx, MLX4_QPC_RECV_CQN));
        if ((send && send->failed) || (recv && recv->failed)) {
            mlx4_qp_fail(qp);
        }
    }
}

/* ------------------------------------------------------------------ events */

/* Is there an entry at or beyond @ci that @arm asks to be told of? */
static bool mlx4_cq_has_news(const Mlx4Cq *cq, uint32_t ci, uint8_t arm)
{
    uint32_t end = arm == MLX4_DB_CQ_SOLICITED ? cq->solicited_pi : cq->pi;
    uint32_t ahead = (end - ci) & 0xffffff;

    return ahead != 0 && ahead <= cq->size;
}

static void mlx4_cq_unhold(Mlx4State *s, Mlx4Cq *cq)
{
    if (cq->held) {
        cq->held = 0;
        QTAILQ_REMOVE(&s->held_cqs, cq, held_link);
    }
}

void mlx4_cq_hold(Mlx4State *s, Mlx4Cq *cq, int64_t ns)
{
    if (!cq->held++) {
        QTAILQ_INSERT_TAIL(&s->held_cqs, cq, held_link);
    }
    cq->due = ib_cable_now() + ns;
    if (!timer_pending(s->cq_timer) ||
        cq->due < timer_expire_time_ns(s->cq_timer)) {
        timer_mod_ns(s->cq_timer, cq->due);
    }
}

static void mlx4_cq_event(Mlx4State *s, Mlx4Cq *cq)
{
    uint8_t eqe[MLX4_EQE_BYTES] = { };

    mlx4_cq_unhold(s, cq);
    cq->arm = 0;
    ib_field_set(eqe, MLX4_EQE_TYPE, MLX4_EVENT_COMP);
    ib_field_set(eqe, MLX4_EQE_NUMBER, cq->cqn);
    mlx4_eq_post(s, ib_field_get(cq->ctx, MLX4_CQC_EQN), eqe);
}

void mlx4_cq_doorbell(Mlx4State *s, const uint8_t *value, uint32_t page)
{
    uint32_t cqn = ib_field_get(value, MLX4_DB_CQ_CQN);
    uint32_t ci = ib_field_get(value, MLX4_DB_CQ_CI);
    uint8_t arm = ib_field_get(value, MLX4_DB_CQ_CMD);
    Mlx4Cq *cq = mlx4_cq_find(s, cqn);

    trace_mlx4_cq_doorbell(cqn, ci, arm);
    if (!cq || (arm != MLX4_DB_CQ_SOLICITED && arm != MLX4_DB_CQ_ANY)) {
        mlx4_guest_error("doorbell of CQ 0x%x, command %u", cqn, arm);
        return;
    }
    if (page != ib_field_get(cq->ctx, MLX4_CQC_USR_PAGE)) {
        mlx4_guest_error("doorbell of CQ 0x%x on page %u, not its own", cqn,
                         page);
        return;
    }
    /* Whoever waits for a flush sleeps on its CQ. */
    mlx4_qp_flush_posted(s, cqn);
    if (mlx4_cq_has_news(cq, ci, arm)) {
        mlx4_cq_event(s, cq);
    } else {
        cq->arm = arm;
    }
}

/*
 * Moderation: an event once so many completions have come, or so many
 * microseconds after the last one.
 */
static void mlx4_cq_news(Mlx4State *s, Mlx4Cq *cq)
{
    uint32_t count = ib_field_get(cq->ctx, MLX4_CQC_MAX_COUNT);
    uint32_t period = ib_field_get(cq->ctx, MLX4_CQC_PERIOD);

    if (!period || cq->held + 1u >= count) {
        mlx4_cq_event(s, cq);
    } else {
        mlx4_cq_hold(s, cq, period * INT64_C(1000));
    }
}

void mlx4_cq_release(Mlx4State *s)
{
    int64_t now = ib_cable_now(), next = INT64_MAX;
    Mlx4Cq *cq, *after;

    QTAILQ_FOREACH_SAFE(cq, &s->held_cqs, held_link, after) {
        if (cq->due <= now) {
            mlx4_cq_event(s, cq);
        } else {
            next = MIN(next, cq->due);
        }
    }
    if (next != INT64_MAX) {
        timer_mod_ns(s->cq_timer, next);
    }
}

/* ----------------------------------------------------------------- entries */

static bool mlx4_cq_room(Mlx4State *s, Mlx4Cq *cq)
{
    uint8_t record[4];

    if (((cq->pi - cq->ci) & 0xffffff) < cq->size) {
        return true;
    }
    if (!mlx4_dma_read(s, ib_get_be64(cq->ctx + MLX4_CQC_RECORD_OFFSET),
                       record, sizeof(record))) {
        mlx4_cq_fail(s, cq, MLX4_CQ_ERR_ACCESS);
        return false;
    }
    cq->ci = ib_field_get(record, MLX4_RECORD_CI);
    if (((cq->pi - cq->ci) & 0xffffff) < cq->size) {
        return true;
    }
    mlx4_cq_fail(s, cq, MLX4_CQ_ERR_OVERRUN);
    return false;
}

static void mlx4_cq_put(Mlx4State *s, Mlx4Cq *cq, uint8_t *cqe,
                        bool solicited)
{
    uint64_t offset = (uint64_t)(cq->pi & (cq->size - 1)) * MLX4_CQE_BYTES;

    if (cq->failed || !mlx4_cq_room(s, cq)) {
        return;
    }
    cqe[MLX4_CQE_BYTES - 1] |= cq->pi & cq->size ? MLX4_CQE_OWNER : 0;
    if (!mlx4_ring_publish(s, &cq->ring, offset, cqe, MLX4_CQE_BYTES)) {
        mlx4_cq_fail(s, cq, MLX4_CQ_ERR_ACCESS);
        return;
    }
    cq->pi++;
    if (solicited) {
        cq->solicited_pi = cq->pi;
    }
    if (cq->arm == MLX4_DB_CQ_ANY ||
        (cq->arm == MLX4_DB_CQ_SOLICITED && solicited)) {
        mlx4_cq_news(s, cq);
    }
}

static void mlx4_cqe_error(uint8_t *cqe, const IbCompletion *wc)
{
    ib_field_set(cqe, MLX4_CQE_VENDOR_SYNDROME, wc->vendor_err);
    ib_field_set(cqe, MLX4_CQE_SYNDROME, wc->status);
    ib_field_set(cqe, MLX4_CQE_OPCODE, MLX4_CQE_ERROR);
}

static void mlx4_cqe_send(uint8_t *cqe, const IbCompletion *wc)
{
    ib_field_set(cqe, MLX4_CQE_BYTE_COUNT, wc->byte_len);
    /* The entry's own opcode: wqe-send.c keeps it above the counter. */
    ib_field_set(cqe, MLX4_CQE_OPCODE, wc->id >> 16);
}

static void mlx4_cqe_recv(uint8_t *cqe, const IbCompletion *wc)
{
    uint8_t opcode = MLX4_CQE_RECV_SEND;

    if (wc->flags & IB_WC_RDMA_WRITE) {
        opcode = MLX4_CQE_RECV_WRITE_IMM;
    } else if (wc->flags & IB_WC_IMM) {
        opcode = MLX4_CQE_RECV_SEND_IMM;
    } else if (wc->flags & IB_WC_INVALIDATE) {
        opcode = MLX4_CQE_RECV_SEND_INV;
    }
    if (wc->flags & (IB_WC_IMM | IB_WC_INVALIDATE)) {
        ib_field_set(cqe, MLX4_CQE_IMM, wc->imm);
    } else {
        ib_field_set(cqe, MLX4_CQE_PKEY_INDEX, wc->pkey_index);
    }
    ib_field_set(cqe, MLX4_CQE_GRH, !!(wc->flags & IB_WC_GRH));
    ib_field_set(cqe, MLX4_CQE_PATH_BITS, wc->dlid_path_bits);
    ib_field_set(cqe, MLX4_CQE_SRC_QPN, wc->src_qpn);
    ib_field_set(cqe, MLX4_CQE_SL, wc->sl);
    ib_field_set(cqe, MLX4_CQE_SLID, wc->slid);
    ib_field_set(cqe, MLX4_CQE_BYTE_COUNT, wc->byte_len);
    ib_field_set(cqe, MLX4_CQE_OPCODE, opcode);
}

void mlx4_cq_complete(Mlx4State *s, Mlx4Qp *qp, const IbCompletion *wc)
{
    bool send = wc->flags & IB_WC_SEND_QUEUE;
    uint32_t cqn = ib_field_get(qp->ctx, send ? MLX4_QPC_SEND_CQN
                                              : MLX4_QPC_RECV_CQN);
    bool failed = wc->status != IB_WC_SUCCESS;
    bool xrc = !send && mlx4_qp_is_xrc_target(qp);
    uint32_t srqn = wc->id >> 32;
    uint8_t cqe[MLX4_CQE_BYTES] = { };
    Mlx4Cq *cq;

    if (send && !failed && !(wc->flags & IB_WC_SIGNALED)) {
        return;
    }
    if (xrc) {
        Mlx4Srq *srq = mlx4_srq_find(s, srqn);

        /* Gone while a message for it was coming in: nobody to tell. */
        if (!srq) {
            return;
        }
        cqn = ib_field_get(srq->ctx, MLX4_SRQC_XRC_CQN);
    }
    cq = mlx4_cq_find(s, cqn);
    if (!cq) {
        mlx4_guest_error("QP 0x%x completes to CQ 0x%x, which is not there",
                         qp->qpn, cqn);
        return;
    }
    trace_mlx4_cqe(cqn, qp->qpn, send, wc->id & 0xffff, wc->status,
                   wc->byte_len);
    ib_field_set(cqe, MLX4_CQE_QPN, qp->qpn);
    ib_field_set(cqe, MLX4_CQE_WQE_INDEX, wc->id);
    ib_field_set(cqe, MLX4_CQE_IS_SEND, send ? 1 : 0);
    if (failed) {
        mlx4_cqe_error(cqe, wc);
    } else if (send) {
        mlx4_cqe_send(cqe, wc);
    } else {
        mlx4_cqe_recv(cqe, wc);
    }
    if (xrc) {
        ib_field_set(cqe, MLX4_CQE_SRC_QPN, srqn);
    }
    mlx4_cq_put(s, cq, cqe, failed || wc->flags & IB_WC_SOLICITED);
}

/* ---------------------------------------------------------------- commands */

/* Take size and buffer of @cq from its context. */
static bool mlx4_cq_set_buffer(Mlx4Cq *cq)
{
    unsigned log_size = ib_field_get(cq->ctx, MLX4_CQC_LOG_SIZE);

    if (log_size > MLX4_LOG_CQES) {
        mlx4_guest_error("CQ 0x%x of 2^%u entries", cq->cqn, log_size);
        return false;
    }
    cq->size = 1u << log_size;
    mlx4_ring_init(&cq->ring, ib_field_get(cq->ctx, MLX4_CQC_MTT_HI),
                   ib_field_get(cq->ctx, MLX4_CQC_MTT_LO),
                   ib_field_get(cq->ctx, MLX4_CQC_LOG_PAGE));
    return true;
}

Mlx4Status mlx4_cq_new(Mlx4State *s, uint32_t cqn, const uint8_t *ctx)
{
    Mlx4Cq *cq;

    if (cqn >= 1u << MLX4_LOG_CQS) {
        mlx4_guest_error("SW2HW_CQ of 0x%x", cqn);
        return MLX4_STAT_BAD_INDEX;
    }
    if (s->cqs[cqn]) {
        mlx4_guest_error("SW2HW_CQ of CQ 0x%x, which is the adapter's already",
                         cqn);
        return MLX4_STAT_BAD_RES_STATE;
    }
    if (!mlx4_eq_find(s, ib_field_get(ctx, MLX4_CQC_EQN))) {
        mlx4_guest_error("CQ 0x%x reports to EQ %u, which is not there", cqn,
                         ib_field_get(ctx, MLX4_CQC_EQN));
        return MLX4_STAT_BAD_RESOURCE;
    }
    cq = g_new0(Mlx4Cq, 1);
    memcpy(cq->ctx, ctx, sizeof(cq->ctx));
    cq->cqn = cqn;
    if (!mlx4_cq_set_buffer(cq)) {
        g_free(cq);
        return MLX4_STAT_BAD_SIZE;
    }
    s->cqs[cqn] = cq;
    return MLX4_STAT_OK;
}

static void mlx4_cq_free(Mlx4State *s, Mlx4Cq *cq)
{
    mlx4_cq_unhold(s, cq);
    s->cqs[cq->cqn] = NULL;
    g_free(cq);
}

Mlx4Status mlx4_cmd_sw2hw_cq(Mlx4State *s, Mlx4Cmd *cmd)
{
    Mlx4Status status = mlx4_cq_new(s, cmd->in_mod, cmd->in);
    Mlx4Cq *cq;

    if (status != MLX4_STAT_OK) {
        return status;
    }
    /* With modifier 1 the driver has filled the buffer itself. */
    cq = s->cqs[cmd->in_mod];
    if (cmd->op_mod == 0 &&
        !mlx4_ring_set_owner(s, &cq->ring, 0, cq->size, MLX4_CQE_BYTES)) {
        mlx4_cq_free(s, cq);
        return MLX4_STAT_ICM_ERROR;
    }
    return MLX4_STAT_OK;
}

Mlx4Status mlx4_cmd_hw2sw_cq(Mlx4State *s, Mlx4Cmd *cmd)
{
    Mlx4Cq *cq = mlx4_cq_find(s, cmd->in_mod);

    if (!cq) {
        mlx4_guest_error("HW2SW_CQ of 0x%x", cmd->in_mod);
        return MLX4_STAT_BAD_INDEX;
    }
    mlx4_cq_free(s, cq);
    return MLX4_STAT_OK;
}

/*
 * The new buffer takes over at the position after a marker that ends the old
 * one.  Consumers loop until they see the marker, so there must be room.
 */
static Mlx4Status mlx4_cq_resize(Mlx4State *s, Mlx4Cq *cq, const uint8_t *box)
{
    uint8_t record[4], marker[MLX4_CQE_BYTES] = { };
    Mlx4Cq grown = *cq;
    uint32_t waiting;

    memcpy(grown.ctx + 0x0c, box + 0x0c, 4);          /* size */
    memcpy(grown.ctx + 0x18, box + 0x18, 8);          /* page size, MTT */
    ib_field_set(grown.ctx, MLX4_CQC_USR_PAGE,
                 ib_field_get(cq->ctx, MLX4_CQC_USR_PAGE));
    if (!mlx4_cq_set_buffer(&grown)) {
        return MLX4_STAT_BAD_SIZE;
    }
    if (!mlx4_dma_read(s, ib_get_be64(cq->ctx + MLX4_CQC_RECORD_OFFSET),
                       record, sizeof(record))) {
        return MLX4_STAT_BAD_PARAM;
    }
    cq->ci = ib_field_get(record, MLX4_RECORD_CI);
    waiting = (cq->pi - cq->ci) & 0xffffff;
    if (cq->failed || waiting >= cq->size || waiting >= grown.size) {
        mlx4_guest_error("CQ 0x%x with %u entries waiting resized to %u",
                         cq->cqn, waiting, grown.size);
        return MLX4_STAT_BAD_SIZE;
    }
    if (!mlx4_ring_set_owner(s, &grown.ring, cq->pi + 1, grown.size,
                             MLX4_CQE_BYTES)) {
        return MLX4_STAT_ICM_ERROR;
    }
    ib_field_set(marker, MLX4_CQE_OPCODE, MLX4_CQE_RESIZE);
    mlx4_cq_put(s, cq, marker, true);
    if (cq->failed) {
        return MLX4_STAT_BAD_PARAM;
    }
    memcpy(cq->ctx, grown.ctx, sizeof(cq->ctx));
    cq->ring = grown.ring;
    cq->size = grown.size;
    return MLX4_STAT_OK;
}

Mlx4Status mlx4_cmd_modify_cq(Mlx4State *s, Mlx4Cmd *cmd)
{
    Mlx4Cq *cq = mlx4_cq_find(s, cmd->in_mod);

    if (!cq) {
        mlx4_guest_error("MODIFY_CQ of 0x%x", cmd->in_mod);
        return MLX4_STAT_BAD_INDEX;
    }
    switch (cmd->op_mod) {
    case 0:
        return mlx4_cq_resize(s, cq, cmd->in);
    case 1:
        ib_field_set(cq->ctx, MLX4_CQC_MAX_COUNT,
                     ib_field_get(cmd->in, MLX4_CQC_MAX_COUNT));
        ib_field_set(cq->ctx, MLX4_CQC_PERIOD,
                     ib_field_get(cmd->in, MLX4_CQC_PERIOD));
        return MLX4_STAT_OK;
    default:
        mlx4_unimp("MODIFY_CQ with modifier %u", cmd->op_mod);
        return MLX4_STAT_BAD_PARAM;
    }
}

void mlx4_cq_reset(Mlx4State *s)
{
    uint32_t i;

    for (i = 0; i < 1u << MLX4_LOG_CQS; i++) {
        if (s->cqs[i]) {
            mlx4_cq_free(s, s->cqs[i]);
        }
    }
    timer_del(s->cq_timer);
}
