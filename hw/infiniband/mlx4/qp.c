/*
 * ConnectX-3: queue pairs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The context is kept as the driver wrote it, and a transition copies into it
 * only what that transition takes (a table below); the engine's attributes
 * are then read from the whole.  A QP exists from RST2INIT to 2RST.
 */
#include "mlx4.h"
#include "../trace.h"

static uint32_t mlx4_qpn_index(uint32_t qpn)
{
    return qpn & ~MLX4_QPN_XRC_TARGET;
}

Mlx4Qp *mlx4_qp_find(Mlx4State *s, uint32_t qpn)
{
    uint32_t index = mlx4_qpn_index(qpn);
    Mlx4Qp *qp = index < 1u << MLX4_LOG_QPS ? s->qps[index] : NULL;

    return qp && qp->qpn == qpn ? qp : NULL;
}

/* ------------------------------------------------- attributes of the engine */

/* QPNs from special_base on: QP0 of each of two ports, then QP1 of each. */
static bool mlx4_qp_special(Mlx4State *s, uint32_t qpn, uint8_t *port,
                            unsigned *which)
{
    uint32_t n = qpn - s->special_base;

    if (!s->special_base || n >= 4 || n % 2 >= mlx4_num_ports(s)) {
        return false;
    }
    *port = n % 2 + 1;
    *which = n / 2;
    return true;
}

static bool mlx4_qp_type(Mlx4State *s, uint32_t qpn, const uint8_t *ctx,
                         IbQpType *type)
{
    uint8_t port;
    unsigned which;

    bool target = qpn & MLX4_QPN_XRC_TARGET;

    if (target && ib_field_get(ctx, MLX4_QPC_SERVICE) != MLX4_SERVICE_XRC) {
        mlx4_guest_error("QP 0x%x is no XRC target", qpn);
        return false;
    }
    switch (ib_field_get(ctx, MLX4_QPC_SERVICE)) {
    case MLX4_SERVICE_XRC:
        *type = target ? IB_QPT_XRC_TGT : IB_QPT_XRC_INI;
        return true;
    case MLX4_SERVICE_RC:
        *type = IB_QPT_RC;
        return true;
    case MLX4_SERVICE_UC:
        *type = IB_QPT_UC;
        return true;
    case MLX4_SERVICE_UD:
        *type = IB_QPT_UD;
        return true;
    case MLX4_SERVICE_MLX:
        if (mlx4_qp_special(s, qpn, &port, &which)) {
            *type = which ? IB_QPT_GSI : IB_QPT_SMI;
            return true;
        }
        break;
    }
    mlx4_unimp("QP 0x%x of service type %u", qpn,
               ib_field_get(ctx, MLX4_QPC_SERVICE));
    return false;
}

static void mlx4_path_address(const uint8_t *path, IbAddress *address)
{
    *address = (IbAddress) {
        .dlid = ib_field_get(path, MLX4_PATH_DLID),
        .sl = ib_field_get(path, MLX4_PATH_SL),
        .path_bits = ib_field_get(path, MLX4_PATH_PATH_BITS),
        .static_rate = mlx4_static_rate(ib_field_get(path, MLX4_PATH_RATE)),
        .grh = ib_field_get(path, MLX4_PATH_GRH),
        .sgid_index = ib_field_get(path, MLX4_PATH_SGID_INDEX),
        .hop_limit = ib_field_get(path, MLX4_PATH_HOP_LIMIT),
        .traffic_class = ib_field_get(path, MLX4_PATH_TCLASS),
        .flow_label = ib_field_get(path, MLX4_PATH_FLOW_LABEL),
    };
    memcpy(address->dgid, path + MLX4_PATH_DGID_OFFSET, 16);
}

static void mlx4_qp_attr(const Mlx4Qp *qp, IbQpAttr *attr)
{
    const uint8_t *ctx = qp->ctx;
    const uint8_t *path = ctx + MLX4_QPC_PATH_OFFSET;
    const uint8_t *alt = ctx + MLX4_QPC_ALT_PATH_OFFSET;

    *attr = (IbQpAttr) {
        .port = ib_field_get(path, MLX4_PATH_PORT) + 1,
        .pd = ib_field_get(ctx, MLX4_QPC_PD),
        .pkey_index = ib_field_get(path, MLX4_PATH_PKEY_INDEX),
        .qkey = ib_field_get(ctx, MLX4_QPC_QKEY),
        .path_mtu = ib_field_get(ctx, MLX4_QPC_MTU),
        .alt_port = ib_field_get(alt, MLX4_PATH_PORT) + 1,
        .alt_pkey_index = ib_field_get(alt, MLX4_PATH_PKEY_INDEX),
        .dest_qpn = ib_field_get(ctx, MLX4_QPC_REMOTE_QPN),
        .sq_psn = ib_field_get(ctx, MLX4_QPC_SQ_PSN),
        .rq_psn = ib_field_get(ctx, MLX4_QPC_RQ_PSN),
        .ack_timeout = ib_field_get(path, MLX4_PATH_ACK_TIMEOUT),
        .alt_ack_timeout = ib_field_get(alt, MLX4_PATH_ACK_TIMEOUT),
        .retry_count = ib_field_get(ctx, MLX4_QPC_RETRY_COUNT),
        .rnr_retry = ib_field_get(ctx, MLX4_QPC_RNR_RETRY),
        .min_rnr_timer = ib_field_get(ctx, MLX4_QPC_MIN_RNR_TIMER),
        .max_rd_atomic = 1 << ib_field_get(ctx, MLX4_QPC_LOG_SRA_MAX),
        .max_dest_rd_atomic = 1 << ib_field_get(ctx, MLX4_QPC_LOG_RRA_MAX),
        .access =
            (ib_field_get(ctx, MLX4_QPC_REMOTE_READ) ? IB_ACCESS_REMOTE_READ
                                                     : 0) |
            (ib_field_get(ctx, MLX4_QPC_REMOTE_WRITE) ? IB_ACCESS_REMOTE_WRITE
                                                      : 0) |
            (ib_field_get(ctx, MLX4_QPC_REMOTE_ATOMIC)
             ? IB_ACCESS_REMOTE_ATOMIC : 0),
        .path_mig_state = ib_field_get(ctx, MLX4_QPC_MIGRATION),
        .xrcd = ib_field_get(ctx, MLX4_QPC_XRCD),
        .has_srq = ib_field_get(ctx, MLX4_QPC_SRQ),
    };
    mlx4_qp_type(qp->s, qp->qpn, ctx, &attr->type);
    mlx4_path_address(path, &attr->path);
    mlx4_path_address(alt, &attr->alt_path);
}

/* --------------------------------------------------------------- lifetime */

/*
 * One buffer holds both queues: the one with the larger stride first, the
 * send queue when they are equal.  Without a receive queue (SRQ) its byte in
 * the context means nothing.
 */
static void mlx4_qp_layout(Mlx4Qp *qp)
{
    const uint8_t *ctx = qp->ctx;

    /* A target sends nothing: drivers give it a buffer that says nothing. */
    qp->sq_entries = mlx4_qp_is_xrc_target(qp)
                     ? 0 : 1u << ib_field_get(ctx, MLX4_QPC_SQ_LOG_SIZE);
    qp->sq_stride_shift = ib_field_get(ctx, MLX4_QPC_SQ_LOG_STRIDE) + 4;
    qp->rq_entries = 0;
    qp->rq_stride_shift = 0;
    if (!ib_field_get(ctx, MLX4_QPC_SRQ) && !mlx4_qp_is_xrc(qp)) {
        qp->rq_entries = 1u << ib_field_get(ctx, MLX4_QPC_RQ_LOG_SIZE);
        qp->rq_stride_shift = ib_field_get(ctx, MLX4_QPC_RQ_LOG_STRIDE) + 4;
    }
    if (qp->rq_stride_shift > qp->sq_stride_shift) {
        qp->rq_offset = 0;
        qp->sq_offset = qp->rq_entries << qp->rq_stride_shift;
    } else {
        qp->sq_offset = 0;
        qp->rq_offset = qp->sq_entries << qp->sq_stride_shift;
    }
    mlx4_ring_init(&qp->sq_ring, ib_field_get(ctx, MLX4_QPC_MTT_HI),
                   ib_field_get(ctx, MLX4_QPC_MTT_LO),
                   ib_field_get(ctx, MLX4_QPC_LOG_PAGE));
    qp->rq_ring = qp->sq_ring;
}

/* Check what a new context refers to. */
static Mlx4Status mlx4_qp_check(Mlx4State *s, uint32_t qpn,
                                const uint8_t *ctx)
{
    IbQpType type;
    uint32_t srqn = ib_field_get(ctx, MLX4_QPC_SRQN);

    if (!mlx4_qp_type(s, qpn, ctx, &type)) {
        return MLX4_STAT_BAD_PARAM;
    }
    if (!mlx4_cq_find(s, ib_field_get(ctx, MLX4_QPC_SEND_CQN)) ||
        !mlx4_cq_find(s, ib_field_get(ctx, MLX4_QPC_RECV_CQN)) ||
        (ib_field_get(ctx, MLX4_QPC_SRQ) && !mlx4_srq_find(s, srqn))) {
        mlx4_guest_error("QP 0x%x uses CQs 0x%x, 0x%x, SRQ 0x%x: one is not "
                         "there", qpn, ib_field_get(ctx, MLX4_QPC_SEND_CQN),
                         ib_field_get(ctx, MLX4_QPC_RECV_CQN), srqn);
        return MLX4_STAT_BAD_RESOURCE;
    }
    return MLX4_STAT_OK;
}

Mlx4Status mlx4_qp_new(Mlx4State *s, uint32_t qpn, const uint8_t *ctx)
{
    uint32_t index = mlx4_qpn_index(qpn);
    Mlx4Status status;
    Mlx4Qp *qp;

    if (index >= 1u << MLX4_LOG_QPS) {
        return MLX4_STAT_BAD_INDEX;
    }
    if (s->qps[index]) {
        mlx4_guest_error("QP 0x%x is QP 0x%x already", qpn,
                         s->qps[index]->qpn);
        return MLX4_STAT_RESOURCE_BUSY;
    }
    status = mlx4_qp_check(s, qpn, ctx);
    if (status != MLX4_STAT_OK) {
        return status;
    }
    qp = g_new0(Mlx4Qp, 1);
    qp->s = s;
    qp->qpn = qpn;
    memcpy(qp->ctx, ctx, sizeof(qp->ctx));
    ib_field_set(qp->ctx, MLX4_QPC_LOCAL_QPN, qpn);
    mlx4_qp_layout(qp);
    qp->ib = ib_qp_new(s->hca, qpn, qp);
    if (!qp->ib) {
        g_free(qp);
        return MLX4_STAT_RESOURCE_BUSY;
    }
    s->qps[index] = qp;
    mlx4_qp_bind_special(s, qp, true);
    return MLX4_STAT_OK;
}

static void mlx4_qp_list(Mlx4Qp *qp, bool in_err)
{
    if (in_err == qp->in_err) {
        return;
    }
    qp->in_err = in_err;
    if (in_err) {
        QTAILQ_INSERT_TAIL(&qp->s->err_qps, qp, err_link);
        mlx4_work_soon(qp->s);
    } else {
        QTAILQ_REMOVE(&qp->s->err_qps, qp, err_link);
    }
}

void mlx4_qp_free(Mlx4Qp *qp)
{
    mlx4_qp_list(qp, false);
    mlx4_qp_bind_special(qp->s, qp, false);
    ib_qp_free(qp->ib);
    qp->s->qps[mlx4_qpn_index(qp->qpn)] = NULL;
    g_free(qp);
}

void mlx4_qp_bind_special(Mlx4State *s, Mlx4Qp *qp, bool bind)
{
    uint8_t port;
    unsigned which;

    if (ib_field_get(qp->ctx, MLX4_QPC_SERVICE) == MLX4_SERVICE_MLX &&
        mlx4_qp_special(s, qp->qpn, &port, &which)) {
        ib_hca_bind_special(s->hca, port, which, bind ? qp->ib : NULL);
    }
}

void mlx4_qp_reset_all(Mlx4State *s)
{
    uint32_t qpn;

    for (qpn = 0; qpn < 1u << MLX4_LOG_QPS; qpn++) {
        if (s->qps[qpn]) {
            mlx4_qp_free(s->qps[qpn]);
        }
    }
}

/* ------------------------------------------------------ work in state ERR */

void mlx4_qp_state_moved(Mlx4Qp *qp, IbQpState state)
{
    trace_mlx4_qp_state(qp->qpn, state);
    /* Receive entries are posted without a doorbell: they are looked for. */
    mlx4_qp_list(qp, state == IB_QPS_ERR && qp->rq_entries);
}

void mlx4_qp_fail(Mlx4Qp *qp)
{
    IbQpAttr attr;

    if (ib_qp_state(qp->ib) != IB_QPS_ERR) {
        mlx4_qp_attr(qp, &attr);
        ib_qp_modify(qp->ib, IB_QPS_ERR, &attr);
        mlx4_qp_state_moved(qp, IB_QPS_ERR);
    }
}

void mlx4_qp_flush_posted(Mlx4State *s, uint32_t cqn)
{
    Mlx4Qp *qp, *next;

    QTAILQ_FOREACH_SAFE(qp, &s->err_qps, err_link, next) {
        if (cqn == MLX4_ALL_CQS ||
            cqn == ib_field_get(qp->ctx, MLX4_QPC_RECV_CQN)) {
            ib_qp_post_recv(qp->ib);
        }
    }
}

void mlx4_qp_doorbell(Mlx4State *s, uint32_t qpn, uint32_t page)
{
    Mlx4Qp *qp = mlx4_qp_find(s, qpn);

    trace_mlx4_send_doorbell(qpn);
    if (!qp) {
        mlx4_guest_error("send doorbell of QP 0x%x, which is not there", qpn);
        return;
    }
    if (page != ib_field_get(qp->ctx, MLX4_QPC_USR_PAGE)) {
        mlx4_guest_error("send doorbell of QP 0x%x on page %u, not its own",
                         qpn, page);
        return;
    }
    ib_qp_post_send(qp->ib);
}

/* ------------------------------------------------------- merging contexts */

/* What a modify takes when the driver names it in the mask. */
static const struct {
    uint32_t optpar, field;
} mlx4_qp_optional[] = {
    { MLX4_OPTPAR_RRE, MLX4_QPC_REMOTE_READ },
    { MLX4_OPTPAR_RAE, MLX4_QPC_REMOTE_ATOMIC },
    { MLX4_OPTPAR_RWE, MLX4_QPC_REMOTE_WRITE },
    { MLX4_OPTPAR_PKEY_INDEX,
      IB_FIELD_AT(MLX4_PATH_PKEY_INDEX, MLX4_QPC_PATH_OFFSET) },
    { MLX4_OPTPAR_QKEY, MLX4_QPC_QKEY },
    { MLX4_OPTPAR_RNR_TIMEOUT, MLX4_QPC_MIN_RNR_TIMER },
    { MLX4_OPTPAR_SRA_MAX, MLX4_QPC_LOG_SRA_MAX },
    { MLX4_OPTPAR_RRA_MAX, MLX4_QPC_LOG_RRA_MAX },
    { MLX4_OPTPAR_PM_STATE, MLX4_QPC_MIGRATION },
    { MLX4_OPTPAR_RETRY_COUNT, MLX4_QPC_RETRY_COUNT },
    { MLX4_OPTPAR_RNR_RETRY, MLX4_QPC_RNR_RETRY },
    { MLX4_OPTPAR_ACK_TIMEOUT,
      IB_FIELD_AT(MLX4_PATH_ACK_TIMEOUT, MLX4_QPC_PATH_OFFSET) },
    { MLX4_OPTPAR_SCHED,
      IB_FIELD_AT(MLX4_PATH_SCHED, MLX4_QPC_PATH_OFFSET) },
};

static void mlx4_ctx_copy(uint8_t *to, const uint8_t *from, uint32_t field)
{
    ib_field_set(to, field, ib_field_get(from, field));
}

/* The primary path, but for the two members that have bits of their own. */
static void mlx4_ctx_copy_path(uint8_t *ctx, const uint8_t *from)
{
    uint8_t *path = ctx + MLX4_QPC_PATH_OFFSET;
    uint32_t pkey = ib_field_get(path, MLX4_PATH_PKEY_INDEX);
    uint32_t timeout = ib_field_get(path, MLX4_PATH_ACK_TIMEOUT);

    memcpy(path, from + MLX4_QPC_PATH_OFFSET, MLX4_PATH_BYTES);
    ib_field_set(path, MLX4_PATH_PKEY_INDEX, pkey);
    ib_field_set(path, MLX4_PATH_ACK_TIMEOUT, timeout);
}

static void mlx4_ctx_merge(uint8_t *ctx, const uint8_t *from,
                           uint32_t optpar, uint16_t opcode)
{
    size_t i;

    if (optpar & MLX4_OPTPAR_PRIMARY_PATH) {
        mlx4_ctx_copy_path(ctx, from);
    }
    if (optpar & MLX4_OPTPAR_ALT_PATH) {
        memcpy(ctx + MLX4_QPC_ALT_PATH_OFFSET,
               from + MLX4_QPC_ALT_PATH_OFFSET, MLX4_PATH_BYTES);
    }
    for (i = 0; i < ARRAY_SIZE(mlx4_qp_optional); i++) {
        if (optpar & mlx4_qp_optional[i].optpar) {
            mlx4_ctx_copy(ctx, from, mlx4_qp_optional[i].field);
        }
    }
    /* What a transition takes unasked. */
    switch (opcode) {
    case MLX4_CMD_INIT2RTR_QP:
        mlx4_ctx_copy(ctx, from, MLX4_QPC_REMOTE_QPN);
        mlx4_ctx_copy(ctx, from, MLX4_QPC_MTU_BYTE);
        mlx4_ctx_copy(ctx, from, MLX4_QPC_RQ_PSN);
        mlx4_ctx_copy(ctx, from,
                      IB_FIELD_AT(MLX4_PATH_SCHED, MLX4_QPC_PATH_OFFSET));
        break;
    case MLX4_CMD_RTR2RTS_QP:
        mlx4_ctx_copy(ctx, from, MLX4_QPC_SQ_PSN);
        break;
    }
}

/* What the engine changes by itself, into the context. */
static void mlx4_qp_sync(Mlx4Qp *qp)
{
    ib_field_set(qp->ctx, MLX4_QPC_MIGRATION,
                 ib_qp_attr(qp->ib)->path_mig_state);
}

void mlx4_qp_migrated(Mlx4Qp *qp)
{
    uint8_t *primary = qp->ctx + MLX4_QPC_PATH_OFFSET;
    uint8_t *alternate = qp->ctx + MLX4_QPC_ALT_PATH_OFFSET;
    uint8_t path[MLX4_PATH_BYTES];

    memcpy(path, primary, sizeof(path));
    memcpy(primary, alternate, sizeof(path));
    memcpy(alternate, path, sizeof(path));
    mlx4_qp_sync(qp);
}

/* ---------------------------------------------------------------- commands */

static const struct {
    uint16_t opcode;
    uint8_t from;                 /* mask of 1 << IB_QPS_* */
    IbQpState to;
} mlx4_transitions[] = {
    { MLX4_CMD_RST2INIT_QP, 1 << IB_QPS_RESET, IB_QPS_INIT },
    { MLX4_CMD_INIT2INIT_QP, 1 << IB_QPS_INIT, IB_QPS_INIT },
    { MLX4_CMD_INIT2RTR_QP, 1 << IB_QPS_INIT, IB_QPS_RTR },
    { MLX4_CMD_RTR2RTS_QP, 1 << IB_QPS_RTR, IB_QPS_RTS },
    { MLX4_CMD_RTS2RTS_QP, 1 << IB_QPS_RTS, IB_QPS_RTS },
    { MLX4_CMD_SQERR2RTS_QP, 1 << IB_QPS_SQE, IB_QPS_RTS },
    { MLX4_CMD_RTS2SQD_QP, 1 << IB_QPS_RTS, IB_QPS_SQD },
    { MLX4_CMD_SQD2RTS_QP, 1 << IB_QPS_SQD, IB_QPS_RTS },
    { MLX4_CMD_SQD2SQD_QP, 1 << IB_QPS_SQD, IB_QPS_SQD },
    { MLX4_CMD_2ERR_QP, 0xff, IB_QPS_ERR },
};

Mlx4Status mlx4_cmd_qp_modify(Mlx4State *s, Mlx4Cmd *cmd)
{
    const uint8_t *ctx = cmd->in + MLX4_QPC_BOX_OFFSET;
    uint32_t qpn = cmd->in_mod & IB_QPN_MASK;
    Mlx4Qp *qp = mlx4_qp_find(s, qpn);
    IbQpState from = qp ? ib_qp_state(qp->ib) : IB_QPS_RESET;
    uint8_t before[MLX4_QPC_BYTES];
    IbQpAttr attr;
    size_t t = 0;
    bool made = false;

    while (mlx4_transitions[t].opcode != cmd->opcode) {
        t++;                      /* every opcode that comes here has a row */
    }
    if (mlx4_qpn_index(qpn) >= 1u << MLX4_LOG_QPS) {
        mlx4_guest_error("QP command 0x%x of 0x%x", cmd->opcode, qpn);
        return MLX4_STAT_BAD_INDEX;
    }
    if (!(mlx4_transitions[t].from >> from & 1)) {
        mlx4_guest_error("QP command 0x%x of 0x%x in state %d", cmd->opcode,
                         qpn, from);
        return MLX4_STAT_BAD_QP_STATE;
    }
    if (!qp) {
        /*
         * From reset, a straight way to ERR too: all there is in the context
         * is taken.
         */
        Mlx4Status status = mlx4_qp_new(s, qpn, ctx);

        if (status != MLX4_STAT_OK) {
            return status;
        }
        qp = s->qps[mlx4_qpn_index(qpn)];
        made = true;
    }
    if (!made) {
        mlx4_qp_sync(qp);
    }
    memcpy(before, qp->ctx, sizeof(before));
    if (!made) {
        mlx4_ctx_merge(qp->ctx, ctx,
                       ib_field_get(cmd->in, MLX4_QPC_BOX_OPTPAR),
                       cmd->opcode);
    }
    mlx4_qp_attr(qp, &attr);
    /* The context has the PSNs that were set; those of now go on. */
    if (from >= IB_QPS_RTR) {
        attr.rq_psn = ib_qp_rq_psn(qp->ib);
    }
    if (from >= IB_QPS_RTS) {
        attr.sq_psn = ib_qp_sq_psn(qp->ib);
    }
    qp->sqd_event = cmd->opcode == MLX4_CMD_RTS2SQD_QP &&
                    (cmd->in_mod & MLX4_RTS2SQD_EVENT);
    if (attr.port > mlx4_num_ports(s) ||
        !ib_qp_modify(qp->ib, mlx4_transitions[t].to, &attr)) {
        mlx4_guest_error("QP command 0x%x of 0x%x (type %d, port %u) refused",
                         cmd->opcode, qpn, attr.type, attr.port);
        memcpy(qp->ctx, before, sizeof(before));
        if (made) {
            mlx4_qp_free(qp);
        }
        return MLX4_STAT_BAD_QP_STATE;
    }
    mlx4_qp_state_moved(qp, ib_qp_state(qp->ib));
    return MLX4_STAT_OK;
}

Mlx4Status mlx4_cmd_qp_reset(Mlx4State *s, Mlx4Cmd *cmd)
{
    uint32_t qpn = cmd->in_mod & IB_QPN_MASK;
    Mlx4Qp *qp = mlx4_qp_find(s, qpn);

    if (mlx4_qpn_index(qpn) >= 1u << MLX4_LOG_QPS) {
        mlx4_guest_error("2RST of QP 0x%x", qpn);
        return MLX4_STAT_BAD_INDEX;
    }
    /* Drivers reset what is in reset already. */
    if (qp) {
        trace_mlx4_qp_state(qpn, IB_QPS_RESET);
        mlx4_qp_free(qp);
    }
    return MLX4_STAT_OK;
}

Mlx4Status mlx4_cmd_query_qp(Mlx4State *s, Mlx4Cmd *cmd)
{
    static const uint8_t states[] = {
        [IB_QPS_RESET] = MLX4_QPS_RST, [IB_QPS_INIT] = MLX4_QPS_INIT,
        [IB_QPS_RTR] = MLX4_QPS_RTR, [IB_QPS_RTS] = MLX4_QPS_RTS,
        [IB_QPS_SQD] = MLX4_QPS_SQD, [IB_QPS_SQE] = MLX4_QPS_SQER,
        [IB_QPS_ERR] = MLX4_QPS_ERR,
    };
    uint32_t qpn = cmd->in_mod & IB_QPN_MASK;
    uint8_t *ctx = cmd->out + MLX4_QPC_BOX_OFFSET;
    Mlx4Qp *qp = mlx4_qp_find(s, qpn);

    if (mlx4_qpn_index(qpn) >= 1u << MLX4_LOG_QPS) {
        mlx4_guest_error("QUERY_QP of 0x%x", qpn);
        return MLX4_STAT_BAD_INDEX;
    }
    if (!qp) {
        return MLX4_STAT_OK;      /* zeros: state RST */
    }
    mlx4_qp_sync(qp);
    memcpy(ctx, qp->ctx, sizeof(qp->ctx));
    ib_field_set(ctx, MLX4_QPC_STATE,
                 ib_qp_sq_draining(qp->ib) ? MLX4_QPS_SQ_DRAINING
                                           : states[ib_qp_state(qp->ib)]);
    ib_field_set(ctx, MLX4_QPC_SQ_PSN, ib_qp_sq_psn(qp->ib));
    ib_field_set(ctx, MLX4_QPC_RQ_PSN, ib_qp_rq_psn(qp->ib));
    ib_field_set(ctx, MLX4_QPC_LAST_ACKED_PSN, ib_qp_last_acked_psn(qp->ib));
    ib_field_set(ctx, MLX4_QPC_SQ_COUNTER, qp->sq_next);
    ib_field_set(ctx, MLX4_QPC_RQ_COUNTER, qp->rq_next);
    return MLX4_STAT_OK;
}
