/*
 * ConnectX-3: receive queue entries
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Nobody rings for a receive entry: the driver counts them in a doorbell
 * record in its memory, which is read when the last known count is used up.
 */
#include "mlx4.h"

void mlx4_wqe_scatter(const uint8_t *segs, size_t len, IbRecvWr *wr)
{
    size_t at;

    wr->num_sge = 0;
    for (at = 0; at + MLX4_SEG_BYTES <= len; at += MLX4_SEG_BYTES) {
        const uint8_t *seg = segs + at;
        IbSge *sge = &wr->sge[wr->num_sge];

        sge->len = ib_field_get(seg, MLX4_SEG_COUNT);
        sge->key = ib_field_get(seg, MLX4_SEG_KEY);
        if (wr->num_sge == IB_WR_MAX_SGE ||
            (sge->key == MLX4_SEG_INVALID_KEY && sge->len == 0)) {
            break;
        }
        sge->va = ib_get_be64(seg + MLX4_SEG_VA_OFFSET);
        sge->ptr = NULL;
        wr->num_sge += sge->len != 0;
    }
}

IbPull mlx4_wqe_next_recv(Mlx4Qp *qp, IbRecvWr *wr, IbWcStatus *status)
{
    uint8_t segs[MLX4_MAX_WQE];
    uint8_t record[4];
    size_t stride = 1u << qp->rq_stride_shift;

    if (ib_field_get(qp->ctx, MLX4_QPC_SRQ)) {
        Mlx4Srq *srq = mlx4_srq_find(qp->s,
                                     ib_field_get(qp->ctx, MLX4_QPC_SRQN));

        /* In ERR the entries of an SRQ are not the QP's to flush. */
        if (!srq || ib_qp_state(qp->ib) == IB_QPS_ERR) {
            return IB_PULL_EMPTY;
        }
        return mlx4_srq_next(qp->s, srq, wr, status);
    }
    if (qp->rq_next == qp->rq_posted) {
        if (!mlx4_dma_read(qp->s,
                           ib_get_be64(qp->ctx + MLX4_QPC_RECORD_OFFSET),
                           record, sizeof(record))) {
            return IB_PULL_EMPTY;
        }
        smp_rmb();      /* the count before the entries it counts */
        qp->rq_posted = ib_field_get(record, MLX4_RECORD_COUNT);
        if (qp->rq_next == qp->rq_posted) {
            return IB_PULL_EMPTY;
        }
        if ((uint16_t)(qp->rq_posted - qp->rq_next) > qp->rq_entries) {
            mlx4_guest_error("QP 0x%x: receive count %u, %u of %u taken",
                             qp->qpn, qp->rq_posted, qp->rq_next,
                             qp->rq_entries);
            qp->rq_posted = qp->rq_next;
            return IB_PULL_EMPTY;
        }
    }
    wr->id = qp->rq_next++;
    if (!mlx4_ring_read(qp->s, &qp->rq_ring, qp->rq_offset +
                        ((uint64_t)(wr->id & (qp->rq_entries - 1))
                         << qp->rq_stride_shift), segs, stride)) {
        *status = IB_WC_LOC_QP_OP_ERR;
        return IB_PULL_ERROR;
    }
    mlx4_wqe_scatter(segs, stride, wr);
    return IB_PULL_OK;
}
