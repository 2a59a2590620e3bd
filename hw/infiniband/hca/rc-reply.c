/*
 * Responder of reliable queue pairs: responses, and requests seen before
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IBA Vol.1 9.7.5.1 (ACKs and their coalescing), 9.7.5.1.2 (order of
 * responses), 9.7.7.1 (duplicates).
 *
 * Reads and atomics are answered in the order of their PSNs; an ACK or NAK
 * waits until those before it are answered, and one ACK then stands for all.
 * The records of the last ones are kept: a duplicate read is read again, a
 * duplicate atomic gets the result of the first time.  After a duplicate the
 * answers stop with it (reply_limit), since a requester that went back asks
 * again for all that followed.
 */
#include "rc.h"

#define IB_RC_CREDIT  (IB_AETH_KIND_ACK << 5 | IB_AETH_CREDIT_INVALID)

void ib_rc_want_ack(IbQp *qp, uint32_t psn)
{
    IbRc *rc = qp->rc;

    if (!rc->ack_pending || ib_psn_diff(psn, rc->ack_psn) > 0) {
        rc->ack_psn = psn;
    }
    rc->ack_pending = true;
    ib_qp_ready(qp);
}

void ib_rc_nak(IbQp *qp, uint8_t syndrome)
{
    IbRc *rc = qp->rc;

    rc->nak_sent = true;
    rc->nak_pending = true;
    rc->nak_syndrome = syndrome;
    rc->nak_psn = rc->epsn;
    ib_qp_ready(qp);
}

void ib_rc_nak_fatal(IbQp *qp, uint8_t code, bool quiet, IbHcaEvent event)
{
    IbRc *rc = qp->rc;

    ib_rc_nak(qp, IB_AETH_KIND_NAK << 5 | code);
    rc->dead = true;
    rc->dead_quiet = quiet;
    rc->dead_event = event;
}

IbRcReply *ib_rc_reply_new(IbQp *qp)
{
    IbRc *rc = qp->rc;
    const IbRcReply *oldest;

    if (rc->reply_tail - rc->reply_next >= rc->reply_slots) {
        oldest = ib_rc_reply(rc, rc->reply_next);
        if (!oldest->again && oldest->sent < oldest->stop) {
            return NULL;
        }
        /*
         * One that is answered, behind the duplicate that the answers stopped
         * with; or an old one, asked for once more, that the peer has by now.
         */
        rc->reply_next++;
    }
    rc->reply_limit = ++rc->reply_tail;
    return ib_rc_reply(rc, rc->reply_tail - 1);
}

/* A response of @payload_len bytes behind its extended headers. */
static IbTxOpen ib_rc_open_reply(IbTx *tx, IbQp *qp, uint8_t opcode,
                                 uint32_t psn, uint8_t syndrome, uint32_t msn,
                                 uint32_t payload_len, uint8_t **at)
{
    IbTxOpen open;
    size_t ext;

    open = ib_rc_tx_open(tx, qp, opcode, psn, false, false, payload_len,
                         &ext);
    if (open != IB_TX_OPEN) {
        return open;
    }
    *at = tx->buf + ext;
    if (opcode != IB_OP_RDMA_READ_RESP_MIDDLE) {
        ib_field_set(*at, IB_AETH_SYNDROME, syndrome);
        ib_field_set(*at, IB_AETH_MSN, msn);
        *at += IB_AETH_BYTES;
    }
    return open;
}

/* The next packet of an answer; false: no room, again later. */
static bool ib_rc_send_read_reply(IbQp *qp, IbRcReply *reply)
{
    IbHca *hca = qp->hca;
    IbRc *rc = qp->rc;
    uint32_t mtu = ib_rc_mtu(qp);
    uint64_t offset = (uint64_t)reply->sent * mtu;
    uint32_t bytes = MIN(mtu, reply->len - offset);
    uint32_t psn = ib_psn_add(reply->psn, reply->sent);
    bool first = reply->sent == reply->start;
    bool last = reply->sent + 1 == reply->stop;
    uint8_t opcode = first ? last ? IB_OP_RDMA_READ_RESP_ONLY
                                  : IB_OP_RDMA_READ_RESP_FIRST
                           : last ? IB_OP_RDMA_READ_RESP_LAST
                                  : IB_OP_RDMA_READ_RESP_MIDDLE;
    IbMemResult result;
    uint8_t *at;
    IbTx tx;

    switch (ib_rc_open_reply(&tx, qp, opcode, psn, IB_RC_CREDIT, reply->msn,
                             bytes, &at)) {
    case IB_TX_WAIT:
        return false;
    case IB_TX_DROP:
        break;
    case IB_TX_OPEN:
        if (qp->attr.type == IB_QPT_XRC_TGT &&
            !hca->ops->xrc_select(hca->opaque, qp->face, reply->srqn)) {
            result = IB_MEM_KEY;  /* the SRQ is gone meanwhile */
        } else {
            result = bytes ? hca->ops->read(hca->opaque, qp->face,
                                            reply->rkey, reply->va + offset,
                                            bytes, IB_ACCESS_REMOTE_READ, at)
                           : IB_MEM_OK;
        }
        if (result != IB_MEM_OK) {
            ib_tx_cancel(&tx);
            rc->reply_next = rc->reply_limit;
            ib_rc_nak_fatal(qp, result == IB_MEM_KEY
                                ? IB_NAK_REMOTE_ACCESS
                                : IB_NAK_REMOTE_OPERATION, false,
                            IB_EVENT_QP_ACCESS_ERR);
            rc->nak_psn = psn;
            return true;
        }
        ib_tx_close(&tx, qp);
        break;
    }
    reply->sent++;
    return true;
}

static bool ib_rc_send_atomic_reply(IbQp *qp, IbRcReply *reply)
{
    uint8_t *at;
    IbTx tx;

    switch (ib_rc_open_reply(&tx, qp, IB_OP_ATOMIC_ACK, reply->psn,
                             IB_RC_CREDIT, reply->msn, 0, &at)) {
    case IB_TX_WAIT:
        return false;
    case IB_TX_DROP:
        break;
    case IB_TX_OPEN:
        ib_put_be64(at, reply->old);
        ib_tx_close(&tx, qp);
        break;
    }
    reply->sent++;
    return true;
}

/* An ACK or NAK; false: no room, again later. */
static bool ib_rc_send_ack(IbQp *qp, uint32_t psn, uint8_t syndrome)
{
    uint8_t *at;
    IbTx tx;

    switch (ib_rc_open_reply(&tx, qp, IB_OP_ACK, psn, syndrome, qp->rc->msn,
                             0, &at)) {
    case IB_TX_WAIT:
        return false;
    case IB_TX_DROP:
        break;
    case IB_TX_OPEN:
        ib_tx_close(&tx, qp);
        break;
    }
    return true;
}

bool ib_rc_send_replies(IbQp *qp, unsigned *turn)
{
    IbRc *rc = qp->rc;
    IbRcReply *reply;

    while (rc->reply_next != rc->reply_limit) {
        reply = ib_rc_reply(rc, rc->reply_next);
        if (reply->sent >= reply->stop) {
            rc->reply_next++;
            continue;
        }
        if (!*turn) {
            return false;
        }
        --*turn;
        if (reply->atomic ? !ib_rc_send_atomic_reply(qp, reply)
                          : !ib_rc_send_read_reply(qp, reply)) {
            return false;
        }
    }
    if (rc->nak_pending) {
        if (!ib_rc_send_ack(qp, rc->nak_psn, rc->nak_syndrome)) {
            return false;
        }
        rc->nak_pending = rc->ack_pending = false;
        if (rc->dead) {
            if (!rc->dead_quiet) {
                ib_qp_event(qp, rc->dead_event);
            }
            ib_qp_fail_recv(qp, NULL, IB_WC_SUCCESS);
        }
    } else if (rc->ack_pending) {
        if (!ib_rc_send_ack(qp, rc->ack_psn, IB_RC_CREDIT)) {
            return false;
        }
        rc->ack_pending = false;
    }
    return true;
}

/* ------------------------------------------------------- duplicates */

/* Answer record @i again, from its packet @start for @packets of them. */
static void ib_rc_answer_again(IbQp *qp, uint32_t i, uint32_t start,
                               uint32_t packets)
{
    IbRc *rc = qp->rc;
    IbRcReply *reply = ib_rc_reply(rc, i);

    reply->again = true;
    reply->start = reply->sent = start;
    reply->stop = start + packets;
    if ((int32_t)(i - rc->reply_next) < 0) {
        rc->reply_next = i;
    }
    rc->reply_limit = i + 1;
    ib_qp_ready(qp);
}

static bool ib_rc_duplicate_read(IbQp *qp, const IbRx *rx, uint32_t psn)
{
    IbRc *rc = qp->rc;
    const uint8_t *reth = rx->data + rx->info.reth;
    uint32_t len = ib_field_get(reth, IB_RETH_DMALEN);
    uint32_t mtu = ib_rc_mtu(qp);
    uint32_t packets = len ? (len - 1) / mtu + 1 : 1;
    uint32_t i, n = MIN(rc->reply_slots, rc->reply_tail);
    const IbRcReply *reply;
    int32_t start;

    for (i = rc->reply_tail - n; i != rc->reply_tail; i++) {
        reply = ib_rc_reply(rc, i);
        start = ib_psn_diff(psn, reply->psn);
        if (reply->atomic || start < 0 ||
            start + (int64_t)packets > reply->packets) {
            continue;
        }
        if (ib_field_get(reth, IB_RETH_RKEY) != reply->rkey ||
            ib_get_be64(reth + IB_RETH_VA_OFFSET) !=
            reply->va + (uint64_t)start * mtu) {
            return false;
        }
        ib_rc_answer_again(qp, i, start, packets);
        return true;
    }
    return false;
}

static bool ib_rc_duplicate_atomic(IbQp *qp, uint32_t psn)
{
    IbRc *rc = qp->rc;
    uint32_t i, n = MIN(rc->reply_slots, rc->reply_tail);
    const IbRcReply *reply;

    for (i = rc->reply_tail - n; i != rc->reply_tail; i++) {
        reply = ib_rc_reply(rc, i);
        if (reply->atomic && reply->psn == psn) {
            ib_rc_answer_again(qp, i, 0, 1);
            return true;
        }
    }
    return false;
}

void ib_rc_duplicate(IbQp *qp, const IbRx *rx)
{
    const uint8_t *bth = rx->data + rx->info.bth;
    uint32_t psn = ib_field_get(bth, IB_BTH_PSN);
    bool known = true;

    switch (rx->info.opcode & ~IB_SERVICE_MASK) {
    case IB_OP_RDMA_READ_REQUEST:
        known = ib_rc_duplicate_read(qp, rx, psn);
        break;
    case IB_OP_CMP_SWAP:
    case IB_OP_FETCH_ADD:
        known = ib_rc_duplicate_atomic(qp, psn);
        break;
    default:
        if (ib_field_get(bth, IB_BTH_A)) {
            ib_rc_want_ack(qp, psn);
        }
        break;
    }
    if (!known) {
        ib_rx_discard(rx, IB_DISCARD_PSN);
    }
}
