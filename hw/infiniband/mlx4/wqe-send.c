/*
 * ConnectX-3: send queue entries
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An entry is the adapter's when its owner bit is that of the lap of the
 * counter.  A doorbell says only that there may be new ones, so that running
 * an entry early and being told again is the same thing.
 *
 * The id of a work request is the 16-bit counter of its entry, with the
 * entry's opcode above it, as a completion shows both.
 */
#include "mlx4.h"
#include "../trace.h"

/* Which service may use an opcode. */
enum {
    ON_RC  = 1 << IB_QPT_RC,
    ON_UC  = 1 << IB_QPT_UC,
    ON_UD  = 1 << IB_QPT_UD,
    ON_MLX = 1 << IB_QPT_SMI | 1 << IB_QPT_GSI,
    ON_XRC = 1 << IB_QPT_XRC_INI,
    ON_REL = ON_RC | ON_XRC,
    ON_CON = ON_REL | ON_UC,
    ON_ALL = ON_CON | ON_UD | ON_MLX,
};

/* Segments between control and data, in the order they come. */
enum {
    SEG_RADDR  = 1 << 0,
    SEG_ATOMIC = 1 << 1,
    SEG_MASKED = 1 << 2,
    SEG_IMM    = 1 << 3,          /* the control segment's last dword counts */
    SEG_LOCAL  = 1 << 4,          /* no data: the face's own operation */
};

static const struct Mlx4WqeKind {
    bool known;
    uint8_t opcode;               /* IbWrOpcode */
    uint8_t services;
    uint8_t segments;
} mlx4_wqe_kinds[32] = {
    [MLX4_WQE_OP_NOP]       = { true, IB_WR_NOP, ON_ALL, SEG_LOCAL },
    [MLX4_WQE_OP_SEND]      = { true, IB_WR_SEND, ON_ALL, 0 },
    [MLX4_WQE_OP_SEND_IMM]  = { true, IB_WR_SEND_IMM, ON_CON | ON_UD,
                                SEG_IMM },
    [MLX4_WQE_OP_SEND_INV]  = { true, IB_WR_SEND_INV, ON_REL, SEG_IMM },
    [MLX4_WQE_OP_WRITE]     = { true, IB_WR_RDMA_WRITE, ON_CON,
                                SEG_RADDR },
    [MLX4_WQE_OP_WRITE_IMM] = { true, IB_WR_RDMA_WRITE_IMM, ON_CON,
                                SEG_RADDR | SEG_IMM },
    [MLX4_WQE_OP_READ]      = { true, IB_WR_RDMA_READ, ON_REL, SEG_RADDR },
    [MLX4_WQE_OP_ATOMIC_CS] = { true, IB_WR_CMP_SWAP, ON_REL,
                                SEG_RADDR | SEG_ATOMIC },
    [MLX4_WQE_OP_ATOMIC_FA] = { true, IB_WR_FETCH_ADD, ON_REL,
                                SEG_RADDR | SEG_ATOMIC },
    [MLX4_WQE_OP_MASKED_CS] = { true, IB_WR_MASKED_CMP_SWAP, ON_RC,
                                SEG_RADDR | SEG_MASKED },
    [MLX4_WQE_OP_MASKED_FA] = { true, IB_WR_MASKED_FETCH_ADD, ON_RC,
                                SEG_RADDR | SEG_ATOMIC },
    [MLX4_WQE_OP_BIND_MW]   = { true, IB_WR_LOCAL, ON_CON, SEG_LOCAL },
    [MLX4_WQE_OP_FAST_REG]  = { true, IB_WR_LOCAL, ON_CON, SEG_LOCAL },
    [MLX4_WQE_OP_LOCAL_INV] = { true, IB_WR_LOCAL, ON_CON, SEG_LOCAL },
};

/* ------------------------------------------------------------- segments */

/* The address vector of a datagram. */
static bool mlx4_wqe_datagram(Mlx4Qp *qp, const uint8_t *seg, IbSendWr *wr)
{
    uint32_t qkey = ib_field_get(seg, MLX4_AV_QKEY);

    if (ib_field_get(seg, MLX4_AV_PD) != mlx4_qp_pd(qp)) {
        mlx4_guest_error("QP 0x%x uses an address of PD 0x%x", qp->qpn,
                         ib_field_get(seg, MLX4_AV_PD));
        return false;
    }
    if (ib_field_get(seg, MLX4_AV_PORT) != ib_qp_attr(qp->ib)->port) {
        mlx4_guest_error("QP 0x%x uses an address of port %u", qp->qpn,
                         ib_field_get(seg, MLX4_AV_PORT));
        return false;
    }
    wr->address = (IbAddress) {
        .dlid = ib_field_get(seg, MLX4_AV_DLID),
        .sl = ib_field_get(seg, MLX4_AV_SL),
        .path_bits = ib_field_get(seg, MLX4_AV_PATH_BITS),
        .static_rate = mlx4_static_rate(ib_field_get(seg, MLX4_AV_RATE)),
        .grh = ib_field_get(seg, MLX4_AV_GRH),
        .loopback = ib_field_get(seg, MLX4_AV_LOOPBACK) ||
                    ib_field_get(qp->s->wqe, MLX4_WQE_LOOPBACK),
        .sgid_index = ib_field_get(seg, MLX4_AV_SGID_INDEX),
        .hop_limit = ib_field_get(seg, MLX4_AV_HOP_LIMIT),
        .traffic_class = ib_field_get(seg, MLX4_AV_TCLASS),
        .flow_label = ib_field_get(seg, MLX4_AV_FLOW_LABEL),
    };
    memcpy(wr->address.dgid, seg + MLX4_AV_DGID_OFFSET, 16);
    wr->dest_qpn = ib_field_get(seg, MLX4_AV_QPN);
    /* IBA Vol.1 3.5.3: the high bit asks for the Q_Key of the QP. */
    wr->qkey = qkey >> 31 ? ib_field_get(qp->ctx, MLX4_QPC_QKEY) : qkey;
    return true;
}

/* QP0 and QP1: the data is a whole packet; control says how to send it. */
static void mlx4_wqe_raw(Mlx4Qp *qp, IbSendWr *wr)
{
    wr->opcode = IB_WR_RAW;
    wr->address = (IbAddress) {
        .dlid = ib_field_get(qp->s->wqe, MLX4_WQE_MLX_DLID),
        .sl = ib_field_get(qp->s->wqe, MLX4_WQE_MLX_SL),
        .loopback = ib_field_get(qp->s->wqe, MLX4_WQE_LOOPBACK),
    };
    if (ib_field_get(qp->s->wqe, MLX4_WQE_MLX_VL15)) {
        wr->flags |= IB_WR_RAW_VL15;
    }
    if (ib_field_get(qp->s->wqe, MLX4_WQE_MLX_SLR)) {
        wr->flags |= IB_WR_RAW_SLID;
    }
}

/* Data segments, by key or inline, up to the end of the entry. */
static bool mlx4_wqe_gather(const uint8_t *wqe, size_t at, size_t end,
                            IbSendWr *wr)
{
    wr->num_sge = 0;
    while (at + MLX4_SEG_BYTES <= end) {
        const uint8_t *seg = wqe + at;
        uint32_t len = ib_field_get(seg, MLX4_SEG_COUNT);
        IbSge *sge = &wr->sge[wr->num_sge];

        if (wr->num_sge == IB_WR_MAX_SGE) {
            return false;
        }
        if (ib_field_get(seg, MLX4_SEG_INLINE)) {
            if (len > end - at - MLX4_INLINE_HEADER) {
                return false;
            }
            sge->ptr = seg + MLX4_INLINE_HEADER;
            at += ROUND_UP(MLX4_INLINE_HEADER + len, MLX4_SEG_BYTES);
        } else {
            sge->ptr = NULL;
            sge->key = ib_field_get(seg, MLX4_SEG_KEY);
            sge->va = ib_get_be64(seg + MLX4_SEG_VA_OFFSET);
            at += MLX4_SEG_BYTES;
        }
        sge->len = len;
        wr->num_sge += len != 0;
    }
    return true;
}

/* The entry in qp->s->wqe, of @len bytes, as a work request. */
static IbWcStatus mlx4_wqe_parse(Mlx4Qp *qp, size_t len, IbSendWr *wr)
{
    const uint8_t *wqe = qp->s->wqe;
    uint8_t opcode = ib_field_get(wqe, MLX4_WQE_OPCODE);
    const struct Mlx4WqeKind *kind = &mlx4_wqe_kinds[opcode];
    IbQpType type = ib_qp_attr(qp->ib)->type;
    size_t at = MLX4_WQE_CTRL_BYTES;
    size_t extra = 0;

    if (!kind->known || !(kind->services >> type & 1)) {
        mlx4_guest_error("QP 0x%x of type %d posts opcode 0x%x", qp->qpn,
                         type, opcode);
        return IB_WC_LOC_QP_OP_ERR;
    }
    wr->opcode = kind->opcode;
    wr->flags = (ib_field_get(wqe, MLX4_WQE_MAKE_CQE) ? IB_WR_SIGNALED : 0) |
                (ib_field_get(wqe, MLX4_WQE_SOLICITED) ? IB_WR_SOLICITED : 0) |
                (ib_field_get(wqe, MLX4_WQE_FENCE) ? IB_WR_FENCE : 0);
    /* A driver's way to say that its keys are used until all before is done. */
    if ((kind->segments & SEG_LOCAL) &&
        ib_field_get(wqe, MLX4_WQE_STRONG_ORDER)) {
        wr->flags |= IB_WR_FENCE;
    }
    wr->num_sge = 0;
    wr->imm = ib_field_get(wqe, MLX4_WQE_IMM);
    wr->xrc_srqn = ib_field_get(wqe, MLX4_WQE_XRC_SRQN);
    if (kind->segments & SEG_LOCAL) {
        return IB_WC_SUCCESS;
    }
    if (type == IB_QPT_SMI || type == IB_QPT_GSI) {
        mlx4_wqe_raw(qp, wr);
    } else {
        extra = (type == IB_QPT_UD ? MLX4_AV_BYTES : 0) +
                (kind->segments & SEG_RADDR ? MLX4_RADDR_BYTES : 0) +
                (kind->segments & SEG_ATOMIC ? MLX4_ATOMIC_BYTES : 0) +
                (kind->segments & SEG_MASKED ? MLX4_MASKED_ATOMIC_BYTES : 0);
    }
    if (at + extra > len) {
        mlx4_guest_error("QP 0x%x: entry of %zu bytes, opcode 0x%x", qp->qpn,
                         len, opcode);
        return IB_WC_LOC_QP_OP_ERR;
    }
    if (type == IB_QPT_UD) {
        if (!mlx4_wqe_datagram(qp, wqe + at, wr)) {
            return IB_WC_LOC_QP_OP_ERR;
        }
        at += MLX4_AV_BYTES;
    }
    if (kind->segments & SEG_RADDR) {
        wr->remote_va = ib_get_be64(wqe + at + MLX4_RADDR_VA_OFFSET);
        wr->remote_key = ib_field_get(wqe + at, MLX4_RADDR_RKEY);
        at += MLX4_RADDR_BYTES;
    }
    if (kind->segments & (SEG_ATOMIC | SEG_MASKED)) {
        wr->swap_or_add = ib_get_be64(wqe + at + MLX4_ATOMIC_SWAP_OFFSET);
        wr->compare = ib_get_be64(wqe + at + MLX4_ATOMIC_CMP_OFFSET);
        /* A masked add has its field mask where compare is. */
        wr->swap_or_add_mask = wr->compare;
    }
    if (kind->segments & SEG_MASKED) {
        wr->swap_or_add_mask =
            ib_get_be64(wqe + at + MLX4_ATOMIC_SWAP_MASK_OFFSET);
        wr->compare_mask =
            ib_get_be64(wqe + at + MLX4_ATOMIC_CMP_MASK_OFFSET);
        at += MLX4_MASKED_ATOMIC_BYTES;
    } else if (kind->segments & SEG_ATOMIC) {
        at += MLX4_ATOMIC_BYTES;
    }
    if (!mlx4_wqe_gather(wqe, at, len, wr)) {
        mlx4_guest_error("QP 0x%x: data segments do not fit", qp->qpn);
        return IB_WC_LOC_QP_OP_ERR;
    }
    return IB_WC_SUCCESS;
}

/* ------------------------------------------------------------------ queue */

/* Entry @counter into qp->s->wqe; its length in bytes, 0 if it can't be had. */
static size_t mlx4_wqe_fetch(Mlx4Qp *qp, uint16_t counter)
{
    uint64_t offset = qp->sq_offset +
        ((uint64_t)(counter & (qp->sq_entries - 1)) << qp->sq_stride_shift);
    size_t stride = 1u << qp->sq_stride_shift;
    size_t first = MIN(stride, 64);
    size_t len;

    if (!mlx4_ring_read(qp->s, &qp->sq_ring, offset, qp->s->wqe, first)) {
        return 0;
    }
    len = ib_field_get(qp->s->wqe, MLX4_WQE_UNITS) * 16;
    if (len < MLX4_WQE_CTRL_BYTES || len > stride) {
        mlx4_guest_error("QP 0x%x: entry 0x%x of %zu bytes in a queue of %zu",
                         qp->qpn, counter, len, stride);
        return 0;
    }
    if (len > first && !mlx4_ring_read(qp->s, &qp->sq_ring, offset + first,
                                       qp->s->wqe + first, len - first)) {
        return 0;
    }
    return len;
}

/* Did the driver give entry @counter to the adapter? */
static bool mlx4_wqe_valid(Mlx4Qp *qp, uint16_t counter, bool *fault)
{
    uint64_t offset = qp->sq_offset +
        ((uint64_t)(counter & (qp->sq_entries - 1)) << qp->sq_stride_shift);
    uint8_t head[4];

    *fault = !mlx4_ring_read(qp->s, &qp->sq_ring, offset, head, sizeof(head));
    if (*fault) {
        return false;
    }
    smp_rmb();      /* the owner bit before the rest of the entry */
    return ib_field_get(head, MLX4_WQE_OWNER) == !!(counter & qp->sq_entries);
}

IbPull mlx4_wqe_next_send(Mlx4Qp *qp, IbSendWr *wr, IbWcStatus *status)
{
    uint16_t counter = qp->sq_next;
    size_t len;
    bool fault;

    if (!qp->sq_entries) {
        return IB_PULL_EMPTY;
    }
    if (!mlx4_wqe_valid(qp, counter, &fault)) {
        if (!fault) {
            return IB_PULL_EMPTY;
        }
        if (ib_qp_state(qp->ib) == IB_QPS_ERR) {
            return IB_PULL_EMPTY;         /* a flush ends where memory does */
        }
        wr->id = counter;
        *status = IB_WC_LOC_QP_OP_ERR;
        return IB_PULL_ERROR;
    }
    qp->sq_next++;
    wr->id = counter;
    len = mlx4_wqe_fetch(qp, counter);
    if (!len) {
        *status = IB_WC_LOC_QP_OP_ERR;
        return IB_PULL_ERROR;
    }
    wr->id |= (uint64_t)ib_field_get(qp->s->wqe, MLX4_WQE_OPCODE) << 16;
    *status = mlx4_wqe_parse(qp, len, wr);
    trace_mlx4_send_wqe(qp->qpn, counter, wr->id >> 16, len, wr->num_sge,
                        *status);
    return *status == IB_WC_SUCCESS ? IB_PULL_OK : IB_PULL_ERROR;
}

IbPull mlx4_wqe_refetch_send(Mlx4Qp *qp, uint64_t id, IbSendWr *wr)
{
    size_t len = qp->sq_entries ? mlx4_wqe_fetch(qp, id) : 0;

    wr->id = id;
    if (!len || mlx4_wqe_parse(qp, len, wr) != IB_WC_SUCCESS) {
        return IB_PULL_ERROR;
    }
    return IB_PULL_OK;
}
