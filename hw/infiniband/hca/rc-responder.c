/*
 * Responder of reliable queue pairs: requests that are executed
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IBA Vol.1 9.7.4.1 (validating a request), 9.7.5 (responses), 9.9.3
 * (responder's errors).  The expected PSN moves only once a request is done
 * for good, so an RNR NAK leaves everything as it was.
 */
#include "rc.h"

bool ib_rc_length_ok(const IbQp *qp, const IbRx *rx)
{
    uint32_t mtu = ib_rc_mtu(qp), bytes = rx->info.payload_len;
    uint16_t has = rx->info.flags;

    if (!(has & IB_HAS_PAYLOAD)) {
        return !bytes;
    }
    if (!(has & IB_IS_LAST)) {
        return bytes == mtu && !rx->info.pad;
    }
    return bytes <= mtu && (bytes || (has & IB_IS_FIRST));
}

static uint32_t ib_rc_srqn(const IbRx *rx)
{
    return ib_field_get(rx->data + rx->info.xrceth, IB_XRCETH_XRCSRQ);
}

IbPull ib_rc_pull_recv(IbQp *qp, const IbRx *rx, IbWcStatus *status)
{
    IbHca *hca = qp->hca;
    IbRc *rc = qp->rc;
    IbPull pull;

    *status = IB_WC_LOC_QP_OP_ERR;
    rc->recv->num_sge = 0;
    if (rx->info.xrceth) {
        pull = hca->ops->next_recv_xrc(hca->opaque, qp->face,
                                       ib_rc_srqn(rx), rc->recv, status);
    } else {
        pull = hca->ops->next_recv(hca->opaque, qp->face, rc->recv, status);
    }
    if (pull == IB_PULL_OK && rc->recv->num_sge > IB_WR_MAX_SGE) {
        pull = IB_PULL_ERROR;
    }
    rc->has_recv = pull == IB_PULL_OK;
    return pull;
}

/* The receive entry in use completes, well or with an error. */
static void ib_rc_finish_recv(IbQp *qp, const IbRx *rx, IbWcStatus status,
                              uint16_t flags)
{
    IbHca *hca = qp->hca;
    IbRc *rc = qp->rc;
    const IbPacketInfo *info = &rx->info;
    IbCompletion wc = {
        .id = rc->recv->id,
        .status = status,
        .flags = flags,
        .opcode = IB_WR_SEND,
        .byte_len = rc->offset,
        .src_qpn = qp->attr.dest_qpn & IB_QPN_MASK,
        .slid = rx->slid,
        .sl = ib_lrh_sl(rx->data),
        .dlid_path_bits = rx->dlid &
            ((1u << ib_node_lmc(hca->node, rx->port->num)) - 1),
        .pkey_index = rx->pkey_index,
    };

    if (info->grh) {
        wc.flags |= IB_WC_GRH;
    }
    if (info->immdt) {
        wc.flags |= IB_WC_IMM;
        wc.imm = ib_field_get(rx->data + info->immdt, IB_IMMDT);
    }
    if (info->ieth) {
        wc.flags |= IB_WC_INVALIDATE;
        wc.imm = ib_field_get(rx->data + info->ieth, IB_IETH_RKEY);
    }
    if (info->xrceth) {
        wc.xrc_srqn = ib_rc_srqn(rx);
    }
    if (ib_field_get(rx->data + info->bth, IB_BTH_SE)) {
        wc.flags |= IB_WC_SOLICITED;
    }
    rc->has_recv = false;
    hca->ops->complete(hca->opaque, qp->face, &wc);
}

void ib_rc_complete_message(IbQp *qp, const IbRx *rx, bool write)
{
    qp->rc->message = IB_RC_NO_MESSAGE;
    qp->rc->msn = ib_psn_add(qp->rc->msn, 1);
    if (qp->rc->has_recv) {
        ib_rc_finish_recv(qp, rx, IB_WC_SUCCESS,
                          write ? IB_WC_RDMA_WRITE : 0);
    }
}

/* The request with @psn, the expected one, is done. */
static void ib_rc_executed(IbQp *qp, const IbRx *rx, uint32_t packets)
{
    IbRc *rc = qp->rc;
    uint32_t psn = rc->epsn;

    rc->epsn = ib_psn_add(psn, packets);
    rc->nak_sent = false;
    if (ib_field_get(rx->data + rx->info.bth, IB_BTH_A) &&
        !(rx->info.flags & (IB_HAS_ATOMICETH)) &&
        (rx->info.opcode & ~IB_SERVICE_MASK) != IB_OP_RDMA_READ_REQUEST) {
        ib_rc_want_ack(qp, psn);
    }
}

/* No receive entry, or a bad one: true, and the request is not executed. */
static bool ib_rc_no_recv(IbQp *qp, const IbRx *rx)
{
    IbWcStatus status;

    switch (ib_rc_pull_recv(qp, rx, &status)) {
    case IB_PULL_OK:
        return false;
    case IB_PULL_EMPTY:
        ib_rx_discard(rx, IB_DISCARD_NO_RECV);
        ib_rc_nak(qp, IB_AETH_KIND_RNR_NAK << 5 |
                      (qp->attr.min_rnr_timer & 31));
        return true;
    case IB_PULL_ERROR:
        break;
    }
    ib_qp_complete_recv(qp, qp->rc->recv, status);
    ib_rc_nak_fatal(qp, IB_NAK_REMOTE_OPERATION, true, IB_EVENT_QP_FATAL);
    return true;
}

/* An error of the receive entry: it completes with it, and that is told. */
static void ib_rc_recv_error(IbQp *qp, const IbRx *rx, IbWcStatus status,
                             uint8_t nak)
{
    ib_rc_finish_recv(qp, rx, status, 0);
    ib_rc_nak_fatal(qp, nak, true, IB_EVENT_QP_FATAL);
}

static void ib_rc_execute_send(IbQp *qp, const IbRx *rx)
{
    IbHca *hca = qp->hca;
    IbRc *rc = qp->rc;
    const IbPacketInfo *info = &rx->info;
    IbWcStatus status;

    if (info->flags & IB_IS_FIRST) {
        if (ib_rc_no_recv(qp, rx)) {
            return;
        }
        rc->offset = 0;
        rc->message = IB_RC_IN_SEND;
    }
    status = ib_sge_scatter(qp, rc->recv->sge, rc->recv->num_sge, rc->offset,
                            rx->data + info->payload, info->payload_len);
    if (status != IB_WC_SUCCESS) {
        ib_rc_recv_error(qp, rx, status, status == IB_WC_LOC_LEN_ERR
                                         ? IB_NAK_INVALID_REQUEST
                                         : IB_NAK_REMOTE_OPERATION);
        return;
    }
    rc->offset += info->payload_len;
    if (info->ieth &&
        hca->ops->invalidate(hca->opaque, qp->face,
                             ib_field_get(rx->data + info->ieth,
                                          IB_IETH_RKEY)) != IB_MEM_OK) {
        ib_rc_recv_error(qp, rx, IB_WC_LOC_ACCESS_ERR,
                         IB_NAK_REMOTE_ACCESS);
        return;
    }
    ib_rc_executed(qp, rx, 1);
    if (info->flags & IB_IS_LAST) {
        ib_rc_complete_message(qp, rx, false);
    }
}

static void ib_rc_access_error(IbQp *qp)
{
    ib_rc_nak_fatal(qp, IB_NAK_REMOTE_ACCESS, false,
                    IB_EVENT_QP_ACCESS_ERR);
}

static void ib_rc_invalid_request(IbQp *qp)
{
    ib_rc_nak_fatal(qp, IB_NAK_INVALID_REQUEST, false,
                    IB_EVENT_QP_REQ_ERR);
}

/* Take @len bytes at @va of @rkey for a use that needs @right. */
static bool ib_rc_may_access(IbQp *qp, uint32_t rkey, uint64_t va,
                             uint32_t len, unsigned right)
{
    IbHca *hca = qp->hca;

    return (qp->attr.access & right) &&
           (!len || hca->ops->check(hca->opaque, qp->face, rkey, va, len,
                                    right) == IB_MEM_OK);
}

static void ib_rc_execute_write(IbQp *qp, const IbRx *rx)
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
        if (rc->dma_len > IB_RC_MAX_MESSAGE) {
            ib_rc_invalid_request(qp);
            return;
        }
        if (!ib_rc_may_access(qp, rc->rkey, rc->va, rc->dma_len,
                              IB_ACCESS_REMOTE_WRITE)) {
            ib_rc_access_error(qp);
            return;
        }
    }
    if (last ? info->payload_len != rc->dma_len - rc->offset
             : info->payload_len >= rc->dma_len - rc->offset) {
        ib_rc_invalid_request(qp);
        return;
    }
    if (info->immdt && ib_rc_no_recv(qp, rx)) {
        return;
    }
    if (info->payload_len &&
        hca->ops->write(hca->opaque, qp->face, rc->rkey, rc->va + rc->offset,
                        info->payload_len, IB_ACCESS_REMOTE_WRITE,
                        rx->data + info->payload) != IB_MEM_OK) {
        ib_rc_access_error(qp);
        return;
    }
    rc->message = IB_RC_IN_WRITE;
    rc->offset += info->payload_len;
    ib_rc_executed(qp, rx, 1);
    if (last) {
        ib_rc_complete_message(qp, rx, true);
    }
}

static void ib_rc_execute_read(IbQp *qp, const IbRx *rx)
{
    IbRc *rc = qp->rc;
    const uint8_t *reth = rx->data + rx->info.reth;
    uint64_t va = ib_get_be64(reth + IB_RETH_VA_OFFSET);
    uint32_t rkey = ib_field_get(reth, IB_RETH_RKEY);
    uint32_t len = ib_field_get(reth, IB_RETH_DMALEN);
    uint32_t packets = len ? (len - 1) / ib_rc_mtu(qp) + 1 : 1;
    IbRcReply *reply;

    if (len > IB_RC_MAX_MESSAGE) {
        ib_rc_invalid_request(qp);
        return;
    }
    if (!ib_rc_may_access(qp, rkey, va, len, IB_ACCESS_REMOTE_READ)) {
        ib_rc_access_error(qp);
        return;
    }
    reply = ib_rc_reply_new(qp);
    if (!reply) {
        ib_rc_invalid_request(qp);
        return;
    }
    rc->msn = ib_psn_add(rc->msn, 1);
    *reply = (IbRcReply) {
        .psn = rc->epsn, .packets = packets, .stop = packets,
        .len = len, .rkey = rkey, .va = va, .msn = rc->msn,
        .srqn = rx->info.xrceth ? ib_rc_srqn(rx) : 0,
    };
    ib_rc_executed(qp, rx, packets);
    ib_qp_ready(qp);
}

static void ib_rc_execute_atomic(IbQp *qp, const IbRx *rx)
{
    IbHca *hca = qp->hca;
    IbRc *rc = qp->rc;
    const uint8_t *eth = rx->data + rx->info.atomiceth, *masks;
    uint64_t va = ib_get_be64(eth + IB_ATOMICETH_VA_OFFSET), old = 0;
    uint32_t rkey = ib_field_get(eth, IB_ATOMICETH_RKEY);
    bool swap = (rx->info.opcode & ~IB_SERVICE_MASK) == IB_OP_CMP_SWAP;
    IbSendWr operands;
    IbRcReply *reply;

    if (va & 7) {
        ib_rc_invalid_request(qp);
        return;
    }
    if (!ib_rc_may_access(qp, rkey, va, 8, IB_ACCESS_REMOTE_ATOMIC)) {
        ib_rc_access_error(qp);
        return;
    }
    reply = ib_rc_reply_new(qp);
    if (!reply) {
        ib_rc_invalid_request(qp);
        return;
    }
    if (rx->info.masketh) {
        masks = rx->data + rx->info.masketh;
        operands.opcode = swap ? IB_WR_MASKED_CMP_SWAP
                               : IB_WR_MASKED_FETCH_ADD;
        operands.swap_or_add_mask = ib_get_be64(masks +
                                                IB_MASKETH_SWAPDT_OFFSET);
        operands.compare_mask = ib_get_be64(masks + IB_MASKETH_CMPDT_OFFSET);
    } else {
        operands.opcode = swap ? IB_WR_CMP_SWAP : IB_WR_FETCH_ADD;
        operands.swap_or_add_mask = swap ? UINT64_MAX : 0;
        operands.compare_mask = UINT64_MAX;
    }
    operands.flags = 0;
    operands.num_sge = 0;
    operands.remote_va = va;
    operands.remote_key = rkey;
    operands.swap_or_add = ib_get_be64(eth + IB_ATOMICETH_SWAPDT_OFFSET);
    operands.compare = ib_get_be64(eth + IB_ATOMICETH_CMPDT_OFFSET);
    if (hca->ops->atomic(hca->opaque, qp->face, rkey, va, &operands, &old) !=
        IB_MEM_OK) {
        rc->reply_tail--;
        rc->reply_limit = rc->reply_tail;
        ib_rc_access_error(qp);
        return;
    }
    rc->msn = ib_psn_add(rc->msn, 1);
    *reply = (IbRcReply) {
        .psn = rc->epsn, .packets = 1, .stop = 1, .va = va, .rkey = rkey,
        .msn = rc->msn, .atomic = true, .old = old,
    };
    ib_rc_executed(qp, rx, 1);
    ib_qp_ready(qp);
}

/* Does the opcode follow what came before (IBA Vol.1 9.7.4.1.2)? */
static bool ib_rc_follows(const IbRc *rc, uint8_t op, bool first)
{
    switch (op) {
    case IB_OP_RDMA_READ_REQUEST:
    case IB_OP_CMP_SWAP:
    case IB_OP_FETCH_ADD:
        return rc->message == IB_RC_NO_MESSAGE;
    default:
        break;
    }
    if (first) {
        return rc->message == IB_RC_NO_MESSAGE;
    }
    return rc->message == (op >= IB_OP_RDMA_WRITE_FIRST &&
                           op <= IB_OP_RDMA_WRITE_ONLY_IMM ? IB_RC_IN_WRITE
                                                           : IB_RC_IN_SEND);
}

void ib_rc_receive_request(IbQp *qp, const IbRx *rx)
{
    IbRc *rc = qp->rc;
    uint8_t op = rx->info.opcode & ~IB_SERVICE_MASK;
    uint32_t psn = ib_field_get(rx->data + rx->info.bth, IB_BTH_PSN);
    int32_t ahead = ib_psn_diff(psn, rc->epsn);

    if (rc->dead) {
        ib_rx_discard(rx, IB_DISCARD_QP_STATE);
        return;
    }
    if (ahead < 0) {
        ib_rc_duplicate(qp, rx);
        return;
    }
    if (ahead > 0) {
        ib_rx_discard(rx, IB_DISCARD_PSN);
        if (!rc->nak_sent) {
            ib_rc_nak(qp, IB_AETH_KIND_NAK << 5 | IB_NAK_PSN_SEQUENCE);
        }
        return;
    }
    if (rx->info.xrceth &&
        !qp->hca->ops->xrc_select(qp->hca->opaque, qp->face,
                                  ib_rc_srqn(rx))) {
        ib_rc_invalid_request(qp);
        return;
    }
    if (!ib_rc_follows(rc, op, rx->info.flags & IB_IS_FIRST)) {
        ib_rc_invalid_request(qp);
        return;
    }
    if (!ib_rc_length_ok(qp, rx)) {
        ib_rx_discard(rx, IB_DISCARD_LENGTH);
        ib_rc_invalid_request(qp);
        return;
    }
    switch (op) {
    case IB_OP_RDMA_READ_REQUEST:
        ib_rc_execute_read(qp, rx);
        break;
    case IB_OP_CMP_SWAP:
    case IB_OP_FETCH_ADD:
        ib_rc_execute_atomic(qp, rx);
        break;
    case IB_OP_RDMA_WRITE_FIRST:
    case IB_OP_RDMA_WRITE_MIDDLE:
    case IB_OP_RDMA_WRITE_LAST:
    case IB_OP_RDMA_WRITE_LAST_IMM:
    case IB_OP_RDMA_WRITE_ONLY:
    case IB_OP_RDMA_WRITE_ONLY_IMM:
        ib_rc_execute_write(qp, rx);
        break;
    default:
        ib_rc_execute_send(qp, rx);
        break;
    }
}
