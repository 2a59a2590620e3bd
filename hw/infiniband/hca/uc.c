/*
 * Responder of unreliable connected queue pairs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IBA Vol.1 9.8.2.2: a message with a hole is dropped as a whole, and the
 * responder takes up again with the next one that begins; its receive entry
 * then serves that.  Nothing is ever answered: an error of a request drops it
 * without a word, an error of the receive entry ends the QP.
 */
#include "rc.h"

/* The message under way, if any, is lost. */
static void ib_uc_abort(IbQp *qp)
{
    qp->rc->message = IB_RC_NO_MESSAGE;
}

static void ib_uc_drop(IbQp *qp, const IbRx *rx, IbHcaDiscard why)
{
    ib_uc_abort(qp);
    ib_rx_discard(rx, why);
}

/* A receive entry: the one of a message that was dropped, or another. */
static bool ib_uc_pull_recv(IbQp *qp, const IbRx *rx)
{
    IbWcStatus status;

    if (qp->rc->has_recv) {
        return true;
    }
    switch (ib_rc_pull_recv(qp, rx, &status)) {
    case IB_PULL_OK:
        return true;
    case IB_PULL_EMPTY:
        ib_uc_drop(qp, rx, IB_DISCARD_NO_RECV);
        return false;
    case IB_PULL_ERROR:
        break;
    }
    ib_qp_fail_recv(qp, qp->rc->recv, status);
    return false;
}

static void ib_uc_receive_send(IbQp *qp, const IbRx *rx)
{
    IbRc *rc = qp->rc;
    const IbPacketInfo *info = &rx->info;
    IbWcStatus status;

    if (info->flags & IB_IS_FIRST) {
        if (!ib_uc_pull_recv(qp, rx)) {
            return;
        }
        rc->offset = 0;
        rc->message = IB_RC_IN_SEND;
    }
    status = ib_sge_scatter(qp, rc->recv->sge, rc->recv->num_sge, rc->offset,
                            rx->data + info->payload, info->payload_len);
    if (status != IB_WC_SUCCESS) {
        rc->has_recv = false;
        ib_uc_abort(qp);
        ib_qp_fail_recv(qp, rc->recv, status);
        return;
    }
    rc->offset += info->payload_len;
    if (info->flags & IB_IS_LAST) {
        ib_rc_complete_message(qp, rx, false);
    }
}

static void ib_uc_receive_write(IbQp *qp, const IbRx *rx)
{
    IbHca *hca = qp->hca;
    IbRc *rc = qp->rc;
    const IbPacketInfo *info = &rx->info;
    const uint8_t *reth = rx->data + info->reth;
    bool last = info->flags & IB_IS_LAST;

    if (info->flags & IB_IS_FIRST) {
        rc->va = ib_get_be64(reth + IB_RETH_VA_OFFSET);
        rc->rkey = ib_field_get(reth, IB_RETH_RKEY);
        rc->dma_len = ib_field_get(reth, IB_RETH_DMALEN);
        rc->offset = 0;
        if (!(qp->attr.access & IB_ACCESS_REMOTE_WRITE) ||
            (rc->dma_len &&
             hca->ops->check(hca->opaque, qp->face, rc->rkey, rc->va,
                             rc->dma_len, IB_ACCESS_REMOTE_WRITE) !=
             IB_MEM_OK)) {
            ib_uc_drop(qp, rx, IB_DISCARD_SERVICE);
            return;
        }
        rc->message = IB_RC_IN_WRITE;
    }
    if (last ? info->payload_len != rc->dma_len - rc->offset
             : info->payload_len >= rc->dma_len - rc->offset) {
        ib_uc_drop(qp, rx, IB_DISCARD_LENGTH);
        return;
    }
    if (info->immdt && !ib_uc_pull_recv(qp, rx)) {
        return;
    }
    if (info->payload_len &&
        hca->ops->write(hca->opaque, qp->face, rc->rkey, rc->va + rc->offset,
                        info->payload_len, IB_ACCESS_REMOTE_WRITE,
                        rx->data + info->payload) != IB_MEM_OK) {
        ib_uc_drop(qp, rx, IB_DISCARD_SERVICE);
        return;
    }
    rc->offset += info->payload_len;
    if (last && info->immdt) {
        ib_rc_complete_message(qp, rx, true);
    } else if (last) {
        rc->message = IB_RC_NO_MESSAGE;
    }
}

void ib_uc_receive(IbQp *qp, const IbRx *rx)
{
    IbRc *rc = qp->rc;
    uint8_t op = rx->info.opcode & ~IB_SERVICE_MASK;
    uint32_t psn = ib_field_get(rx->data + rx->info.bth, IB_BTH_PSN);
    bool first = rx->info.flags & IB_IS_FIRST;
    bool write = op >= IB_OP_RDMA_WRITE_FIRST &&
                 op <= IB_OP_RDMA_WRITE_ONLY_IMM;

    if (psn != rc->epsn) {
        ib_uc_abort(qp);
    }
    rc->epsn = ib_psn_add(psn, 1);
    if (first) {
        ib_uc_abort(qp);
    } else if (rc->message != (write ? IB_RC_IN_WRITE : IB_RC_IN_SEND)) {
        ib_uc_drop(qp, rx, IB_DISCARD_PSN);
        return;
    }
    if (!ib_rc_length_ok(qp, rx)) {
        ib_uc_drop(qp, rx, IB_DISCARD_LENGTH);
        return;
    }
    if (write) {
        ib_uc_receive_write(qp, rx);
    } else {
        ib_uc_receive_send(qp, rx);
    }
}
