/*
 * Requester of connected queue pairs: from the send queue to packets
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IBA Vol.1 9.7.3 (PSNs), 9.7.4 (requests), 10.8.3 (fence), 9.8.2 (UC).
 *
 * An entry gets its PSNs when it is taken from the queue and keeps them until
 * it completes; a retry fetches it again and sends the same packets.  An entry
 * with an error of its own waits until all before it are complete, so that
 * completions stay in order.  Credits of the peer (AETH) are not counted:
 * a peer without a receive entry answers with an RNR NAK.
 */
#include "rc.h"

/* What one step of the send queue led to. */
typedef enum IbRcStep {
    IB_RC_GO_ON, IB_RC_STOP,
} IbRcStep;

/*
 * Up to four times what the attribute says is its transport timer (IBA Vol. 1,
 * 9.7.6.1.3).  Retries in a row use that: the peer may be a guest whose host
 * has no time for it, and sending more does not help then.
 */
static int64_t ib_rc_patience(const IbQp *qp)
{
    int64_t timeout = INT64_C(4096) << (qp->attr.ack_timeout & 31);
    int64_t most = MAX(timeout, MIN(4 * timeout, IB_RC_PATIENT_TIMEOUT));
    int tried = qp->attr.retry_count - qp->rc->retries;

    timeout = MIN(timeout << CLAMP(tried, 0, 2), most);
    return MAX(timeout, IB_RC_MIN_TIMEOUT);
}

void ib_rc_arm_timer(IbQp *qp)
{
    IbRc *rc = qp->rc;

    if (rc->rnr_wait) {
        return;
    }
    if (!qp->attr.ack_timeout || rc->una == rc->sent_psn) {
        ib_qp_set_deadline(qp, INT64_MAX);
        return;
    }
    ib_qp_set_deadline(qp, qp->hca->ops->now(qp->hca->opaque) +
                           ib_rc_patience(qp));
}

void ib_rc_go_back(IbQp *qp)
{
    IbRc *rc = qp->rc;
    uint32_t i;

    for (i = 0; i < rc->count; i++) {
        if (ib_rc_entry(rc, i)->packets) {
            ib_rc_entry(rc, i)->requested = false;
        }
    }
    rc->reads_out = 0;
    rc->cur = 0;
    rc->cur_sent = rc->count ? ib_rc_entry(rc, 0)->acked : 0;
    ib_qp_ready(qp);
}

/* ------------------------------------------------------- completing */

/* Take the entry at the head away and complete it. */
static void ib_rc_pop(IbQp *qp, IbWcStatus status)
{
    IbHca *hca = qp->hca;
    IbRc *rc = qp->rc;
    const IbRcEntry *entry = ib_rc_entry(rc, 0);
    IbCompletion wc = {
        .id = entry->id,
        .status = status,
        .opcode = entry->opcode,
        .byte_len = entry->len,
        .flags = IB_WC_SEND_QUEUE,
    };

    if (qp->attr.signal_all || (entry->flags & IB_WR_SIGNALED) ||
        status != IB_WC_SUCCESS) {
        wc.flags |= IB_WC_SIGNALED;
    }
    if (entry->packets && entry->requested) {
        rc->reads_out--;
    }
    rc->head++;
    rc->count--;
    if (rc->cur) {
        rc->cur--;
    } else {
        rc->cur_sent = 0;
    }
    hca->ops->complete(hca->opaque, qp->face, &wc);
}

void ib_rc_fail_head(IbQp *qp, IbWcStatus status)
{
    IbQpState state = qp->state;

    if (qp->rc->count) {
        ib_rc_pop(qp, status);
    }
    if (qp->state == state) {
        ib_qp_set_deadline(qp, INT64_MAX);
        ib_qp_move(qp, ib_qp_is_reliable(qp) ? IB_QPS_ERR : IB_QPS_SQE);
    }
}

bool ib_rc_complete_head(IbQp *qp)
{
    IbRc *rc = qp->rc;
    IbQpState state = qp->state;
    const IbRcEntry *entry;

    while (rc->count) {
        entry = ib_rc_entry(rc, 0);
        if (entry->status != IB_WC_SUCCESS) {
            ib_rc_fail_head(qp, entry->status);
            return true;
        }
        if (entry->packets ? entry->acked < entry->packets
                           : !entry->requested) {
            break;
        }
        ib_rc_pop(qp, IB_WC_SUCCESS);
        if (qp->state != state || qp->rc != rc) {
            return true;          /* the face had reasons of its own */
        }
    }
    return false;
}

/* The entry at rc->cur has an error. */
static IbRcStep ib_rc_fail_entry(IbQp *qp, IbRcEntry *entry,
                                 IbWcStatus status)
{
    entry->status = status;
    qp->rc->failed = true;
    ib_rc_complete_head(qp);
    return IB_RC_STOP;
}

bool ib_rc_flush(IbQp *qp, unsigned *turn)
{
    IbRc *rc = qp->rc;
    IbQpState state = qp->state;
    IbRecvWr *recv;

    ib_qp_forget_timer(qp);
    rc->failed = rc->rnr_wait = false;
    while (qp->state == state && rc->count) {
        if (!*turn) {
            return false;
        }
        --*turn;
        ib_rc_pop(qp, IB_WC_WR_FLUSH_ERR);
    }
    rc->cur = rc->cur_sent = rc->reads_out = 0;
    if (state != IB_QPS_ERR || qp->state != state) {
        return true;
    }
    rc->reply_next = rc->reply_limit = rc->reply_tail;
    rc->ack_pending = rc->nak_pending = false;
    rc->message = IB_RC_NO_MESSAGE;
    if (rc->has_recv) {
        recv = rc->recv;
        rc->has_recv = false;
        ib_qp_complete_recv(qp, recv, IB_WC_WR_FLUSH_ERR);
    }
    return true;
}

/* --------------------------------------------------------- taking */

static bool ib_rc_is_masked(uint8_t opcode)
{
    return opcode == IB_WR_MASKED_CMP_SWAP ||
           opcode == IB_WR_MASKED_FETCH_ADD;
}

/* What is wrong with the entry in hca->wr, of a length that is known. */
static IbWcStatus ib_rc_judge(const IbQp *qp, const IbSendWr *wr,
                              uint64_t bytes)
{
    switch (wr->opcode) {
    case IB_WR_SEND_INV:
    case IB_WR_RDMA_READ:
    case IB_WR_CMP_SWAP:
    case IB_WR_FETCH_ADD:
    case IB_WR_MASKED_CMP_SWAP:
    case IB_WR_MASKED_FETCH_ADD:
        if (!ib_qp_is_reliable(qp) ||
            (qp->attr.type != IB_QPT_RC && ib_rc_is_masked(wr->opcode))) {
            return IB_WC_LOC_QP_OP_ERR;
        }
        if (ib_rc_is_read(wr->opcode) && !qp->attr.max_rd_atomic) {
            return IB_WC_LOC_QP_OP_ERR;
        }
        break;
    case IB_WR_NOP:
    case IB_WR_SEND:
    case IB_WR_SEND_IMM:
    case IB_WR_RDMA_WRITE:
    case IB_WR_RDMA_WRITE_IMM:
    case IB_WR_LOCAL:
        break;
    default:
        return IB_WC_LOC_QP_OP_ERR;
    }
    if (bytes > IB_RC_MAX_MESSAGE) {
        return IB_WC_LOC_LEN_ERR;
    }
    if (ib_rc_is_read(wr->opcode) && wr->opcode != IB_WR_RDMA_READ &&
        bytes != 8) {
        return IB_WC_LOC_LEN_ERR;
    }
    return IB_WC_SUCCESS;
}

uint32_t ib_rc_packets(const IbQp *qp, uint8_t opcode, uint32_t len)
{
    uint32_t mtu = ib_rc_mtu(qp);

    switch (opcode) {
    case IB_WR_NOP:
    case IB_WR_LOCAL:
        return 0;
    case IB_WR_CMP_SWAP:
    case IB_WR_FETCH_ADD:
    case IB_WR_MASKED_CMP_SWAP:
    case IB_WR_MASKED_FETCH_ADD:
        return 1;
    default:
        return len ? (len - 1) / mtu + 1 : 1;
    }
}

static void ib_rc_grow(IbRc *rc)
{
    uint32_t size = MAX(8, 2 * rc->ring_size), i;
    IbRcEntry *ring = g_new0(IbRcEntry, size);

    for (i = 0; i < rc->count; i++) {
        ring[i] = *ib_rc_entry(rc, i);
    }
    g_free(rc->ring);
    rc->ring = ring;
    rc->ring_size = size;
    rc->head = 0;
}

/* The next entry of the send queue to the end of the ring. */
static IbRcStep ib_rc_take(IbQp *qp)
{
    IbRc *rc = qp->rc;
    const IbSendWr *wr = &qp->hca->wr;
    IbWcStatus status;
    IbRcEntry *entry;
    uint64_t bytes = 0;
    IbPull pull;

    if (qp->state != IB_QPS_RTS || !qp->sq_more ||
        rc->count == IB_RC_MAX_ENTRIES) {
        return IB_RC_STOP;
    }
    if (rc->count == rc->ring_size) {
        ib_rc_grow(rc);
    }
    pull = ib_qp_fetch_next(qp, &status);
    if (pull == IB_PULL_EMPTY) {
        return IB_RC_STOP;
    }
    if (pull == IB_PULL_OK) {
        bytes = ib_sge_bytes(wr->sge, wr->num_sge);
        status = ib_rc_judge(qp, wr, bytes);
    }
    entry = ib_rc_entry(rc, rc->count++);
    *entry = (IbRcEntry) {
        .id = wr->id, .opcode = wr->opcode, .flags = wr->flags,
        .psn = rc->next_psn, .status = status,
    };
    if (status != IB_WC_SUCCESS) {
        return ib_rc_fail_entry(qp, entry, status);
    }
    entry->len = bytes;
    entry->packets = ib_rc_packets(qp, wr->opcode, bytes);
    rc->next_psn = ib_psn_add(rc->next_psn, entry->packets);
    return IB_RC_GO_ON;
}

/* --------------------------------------------------------- sending */

IbTxOpen ib_rc_tx_open(IbTx *tx, IbQp *qp, uint8_t opcode, uint32_t psn,
                       bool ack_req, bool solicited, uint32_t payload_len,
                       size_t *ext)
{
    static const uint8_t service[] = {
        [IB_QPT_RC] = IB_SERVICE_RC, [IB_QPT_UC] = IB_SERVICE_UC,
        [IB_QPT_XRC_INI] = IB_SERVICE_XRC, [IB_QPT_XRC_TGT] = IB_SERVICE_XRC,
    };
    IbHcaPort *port = qp->port;
    IbPacketRoute route;
    IbPacketBth bth = {
        .opcode = opcode & IB_SERVICE_MASK ? opcode
                                           : service[qp->attr.type] | opcode,
        .se = solicited,
        .m = qp->attr.path_mig_state == IB_PATH_MIGRATED,
        .a = ack_req,
        .pkey = ib_node_pkey(qp->hca->node, port->num, qp->attr.pkey_index),
        .dest_qpn = qp->attr.dest_qpn & IB_QPN_MASK,
        .psn = psn,
    };
    bool loop = ib_tx_route(port, &qp->attr.path, &route);
    bool throttled = ib_throttled(qp, qp->attr.path.static_rate) && !loop;
    IbTxOpen open;

    if (route.vl == IB_VL_SM || !(bth.pkey & IB_PKEY_BASE_MASK)) {
        ib_hca_discard(port, true, qp->qpn,
                       route.vl == IB_VL_SM ? IB_DISCARD_TX_SL
                                            : IB_DISCARD_TX_PKEY, NULL, 0);
        return IB_TX_DROP;
    }
    if (G_UNLIKELY(throttled) && ib_throttle_wait(qp, route.sl)) {
        return IB_TX_WAIT;
    }
    if (G_UNLIKELY(qp->owes_becn) &&
        opcode >= IB_OP_RDMA_READ_RESP_FIRST && opcode <= IB_OP_ATOMIC_ACK) {
        bth.becn = true;
    }
    open = ib_tx_open(tx, qp, loop, route.vl,
                      ib_packet_bytes(route.has_grh, bth.opcode,
                                      payload_len));
    if (open == IB_TX_OPEN) {
        if (G_UNLIKELY(throttled)) {
            ib_throttle_sent(qp, qp->attr.path.static_rate, route.sl,
                             tx->len);
        }
        if (bth.becn) {
            qp->owes_becn = false;
        }
        *ext = ib_packet_put_headers(tx->buf, &route, &bth, payload_len);
    }
    return open;
}

static uint8_t ib_rc_opcode(const IbRcEntry *entry, bool first, bool last)
{
    bool only = first && last;

    switch (entry->opcode) {
    case IB_WR_RDMA_WRITE:
    case IB_WR_RDMA_WRITE_IMM:
        if (!last) {
            return first ? IB_OP_RDMA_WRITE_FIRST : IB_OP_RDMA_WRITE_MIDDLE;
        }
        if (entry->opcode == IB_WR_RDMA_WRITE_IMM) {
            return only ? IB_OP_RDMA_WRITE_ONLY_IMM
                        : IB_OP_RDMA_WRITE_LAST_IMM;
        }
        return only ? IB_OP_RDMA_WRITE_ONLY : IB_OP_RDMA_WRITE_LAST;
    case IB_WR_RDMA_READ:
        return IB_OP_RDMA_READ_REQUEST;
    case IB_WR_CMP_SWAP:
        return IB_OP_CMP_SWAP;
    case IB_WR_FETCH_ADD:
        return IB_OP_FETCH_ADD;
    case IB_WR_MASKED_CMP_SWAP:
        return IB_OP_MASKED_CMP_SWAP;
    case IB_WR_MASKED_FETCH_ADD:
        return IB_OP_MASKED_FETCH_ADD;
    default:
        break;
    }
    if (!last) {
        return first ? IB_OP_SEND_FIRST : IB_OP_SEND_MIDDLE;
    }
    switch (entry->opcode) {
    case IB_WR_SEND_IMM:
        return only ? IB_OP_SEND_ONLY_IMM : IB_OP_SEND_LAST_IMM;
    case IB_WR_SEND_INV:
        return only ? IB_OP_SEND_ONLY_INV : IB_OP_SEND_LAST_INV;
    default:
        return only ? IB_OP_SEND_ONLY : IB_OP_SEND_LAST;
    }
}

/* The extended headers of a request; returns what is behind them. */
static uint8_t *ib_rc_put_extended(uint8_t *at, uint16_t has,
                                   const IbSendWr *wr, uint64_t offset,
                                   uint32_t dma_len)
{
    if (has & IB_HAS_XRCETH) {
        ib_put_be32(at, wr->xrc_srqn & IB_QPN_MASK);
        at += IB_XRCETH_BYTES;
    }
    if (has & IB_HAS_RETH) {
        ib_put_be64(at + IB_RETH_VA_OFFSET, wr->remote_va + offset);
        ib_field_set(at, IB_RETH_RKEY, wr->remote_key);
        ib_field_set(at, IB_RETH_DMALEN, dma_len);
        at += IB_RETH_BYTES;
    }
    if (has & IB_HAS_ATOMICETH) {
        ib_put_be64(at + IB_ATOMICETH_VA_OFFSET, wr->remote_va);
        ib_field_set(at, IB_ATOMICETH_RKEY, wr->remote_key);
        ib_put_be64(at + IB_ATOMICETH_SWAPDT_OFFSET, wr->swap_or_add);
        ib_put_be64(at + IB_ATOMICETH_CMPDT_OFFSET, wr->compare);
        at += IB_ATOMICETH_BYTES;
    }
    if (has & IB_HAS_MASKETH) {
        ib_put_be64(at + IB_MASKETH_SWAPDT_OFFSET, wr->swap_or_add_mask);
        ib_put_be64(at + IB_MASKETH_CMPDT_OFFSET, wr->compare_mask);
        at += IB_MASKETH_BYTES;
    }
    if (has & IB_HAS_IMMDT) {
        ib_put_be32(at, wr->imm);
        at += IB_IMMDT_BYTES;
    }
    if (has & IB_HAS_IETH) {
        ib_put_be32(at, wr->imm);
        at += IB_IETH_BYTES;
    }
    return at;
}

static uint16_t ib_rc_has(const IbQp *qp, uint8_t opcode)
{
    return ib_opcode_info[(qp->attr.type == IB_QPT_XRC_INI ? IB_SERVICE_XRC
                                                           : IB_SERVICE_RC) |
                          opcode].flags;
}

/* @n PSNs from rc->cur_sent on were given to the wire. */
static void ib_rc_sent(IbQp *qp, const IbRcEntry *entry, uint32_t n)
{
    IbRc *rc = qp->rc;
    uint32_t end;

    rc->cur_sent += n;
    end = ib_psn_add(entry->psn, rc->cur_sent);
    if (ib_psn_diff(end, rc->sent_psn) > 0) {
        rc->sent_psn = end;
    }
    if (rc->cur_sent == entry->packets) {
        rc->cur++;
        rc->cur_sent = 0;
    }
    if (qp->deadline == INT64_MAX && ib_qp_is_reliable(qp)) {
        ib_rc_arm_timer(qp);
    }
}

/* The entry once more in hca->wr, still what it was. */
static bool ib_rc_load_wr(IbQp *qp, const IbRcEntry *entry)
{
    const IbSendWr *wr = &qp->hca->wr;

    return ib_qp_fetch_again(qp, entry->id) == IB_PULL_OK &&
           wr->opcode == entry->opcode &&
           ib_sge_bytes(wr->sge, wr->num_sge) == entry->len;
}

/* A packet of a send or write. */
static IbRcStep ib_rc_send_data(IbQp *qp, IbRcEntry *entry)
{
    IbRc *rc = qp->rc;
    uint32_t mtu = ib_rc_mtu(qp);
    uint32_t psn = ib_psn_add(entry->psn, rc->cur_sent);
    uint64_t offset = (uint64_t)rc->cur_sent * mtu;
    bool last = rc->cur_sent + 1 == entry->packets;
    uint32_t bytes = last ? entry->len - offset : mtu;
    uint8_t opcode = ib_rc_opcode(entry, rc->cur_sent == 0, last);
    bool reliable = ib_qp_is_reliable(qp), ack_req = false;
    IbWcStatus status;
    uint8_t *at;
    size_t ext;
    IbTx tx;

    if (reliable) {
        if (ib_psn_diff(psn, rc->una) >= IB_RC_WINDOW) {
            return IB_RC_STOP;
        }
        ack_req = last || (psn & (IB_RC_ACK_EVERY - 1)) == 0 ||
                  ib_psn_diff(psn, rc->una) == IB_RC_WINDOW - 1;
    }
    if (!ib_rc_load_wr(qp, entry)) {
        return ib_rc_fail_entry(qp, entry, IB_WC_LOC_QP_OP_ERR);
    }
    switch (ib_rc_tx_open(&tx, qp, opcode, psn, ack_req,
                          last && (entry->flags & IB_WR_SOLICITED), bytes,
                          &ext)) {
    case IB_TX_WAIT:
        return IB_RC_STOP;
    case IB_TX_DROP:
        break;
    case IB_TX_OPEN:
        at = ib_rc_put_extended(tx.buf + ext, ib_rc_has(qp, opcode),
                                &qp->hca->wr, offset, entry->len);
        status = ib_sge_gather(qp, qp->hca->wr.sge, qp->hca->wr.num_sge,
                               offset, at, bytes);
        if (status != IB_WC_SUCCESS) {
            ib_tx_cancel(&tx);
            return ib_rc_fail_entry(qp, entry, status);
        }
        ib_tx_close(&tx, qp);
        break;
    }
    ib_rc_sent(qp, entry, 1);
    if (!reliable) {
        entry->acked++;
        rc->una = rc->sent_psn;
        if (last && ib_rc_complete_head(qp)) {
            return IB_RC_STOP;
        }
    }
    return IB_RC_GO_ON;
}

/* A request whose answer has data: read (or the next part of it), atomic. */
static IbRcStep ib_rc_send_read(IbQp *qp, IbRcEntry *entry)
{
    IbRc *rc = qp->rc;
    uint32_t mtu = ib_rc_mtu(qp);
    uint32_t psn = ib_psn_add(entry->psn, rc->cur_sent);
    uint32_t n = MIN(entry->packets - rc->cur_sent,
                     IB_RC_READ_CHUNK - rc->cur_sent % IB_RC_READ_CHUNK);
    uint64_t offset = (uint64_t)rc->cur_sent * mtu;
    uint32_t bytes = MIN(entry->len - offset, (uint64_t)n * mtu);
    uint8_t opcode = ib_rc_opcode(entry, true, true);
    size_t ext;
    IbTx tx;

    if (!entry->requested && rc->reads_out >= qp->attr.max_rd_atomic) {
        return IB_RC_STOP;
    }
    if (entry->acked < rc->cur_sent ||
        ib_psn_diff(psn, rc->una) > 2 * (int)IB_RC_READ_CHUNK) {
        return IB_RC_STOP;        /* the part before has not arrived yet */
    }
    if (!ib_rc_load_wr(qp, entry)) {
        return ib_rc_fail_entry(qp, entry, IB_WC_LOC_QP_OP_ERR);
    }
    switch (ib_rc_tx_open(&tx, qp, opcode, psn, true, false, 0, &ext)) {
    case IB_TX_WAIT:
        return IB_RC_STOP;
    case IB_TX_DROP:
        break;
    case IB_TX_OPEN:
        ib_rc_put_extended(tx.buf + ext, ib_rc_has(qp, opcode), &qp->hca->wr,
                           offset, bytes);
        ib_tx_close(&tx, qp);
        break;
    }
    if (!entry->requested) {
        entry->requested = true;
        rc->reads_out++;
    }
    ib_rc_sent(qp, entry, n);
    return IB_RC_GO_ON;
}

/* An entry that sends nothing. */
static IbRcStep ib_rc_do_local(IbQp *qp, IbRcEntry *entry)
{
    IbHca *hca = qp->hca;
    IbRc *rc = qp->rc;
    IbWcStatus status;

    if (!entry->requested) {
        if (entry->opcode == IB_WR_LOCAL) {
            if ((entry->flags & IB_WR_FENCE) && rc->cur) {
                return IB_RC_STOP;
            }
            if (!ib_rc_load_wr(qp, entry)) {
                return ib_rc_fail_entry(qp, entry, IB_WC_LOC_QP_OP_ERR);
            }
            status = hca->ops->local_op(hca->opaque, qp->face, &hca->wr);
            if (status != IB_WC_SUCCESS) {
                return ib_rc_fail_entry(qp, entry, status);
            }
        }
        entry->requested = true;
    }
    rc->cur++;
    rc->cur_sent = 0;
    return ib_rc_complete_head(qp) ? IB_RC_STOP : IB_RC_GO_ON;
}

static IbRcStep ib_rc_step(IbQp *qp)
{
    IbRc *rc = qp->rc;
    IbRcEntry *entry;

    if ((qp->state != IB_QPS_RTS && qp->state != IB_QPS_SQD) ||
        rc->rnr_wait || rc->failed) {
        return IB_RC_STOP;
    }
    if (rc->cur == rc->count) {
        return ib_rc_take(qp);
    }
    entry = ib_rc_entry(rc, rc->cur);
    if (!entry->packets) {
        return ib_rc_do_local(qp, entry);
    }
    if (!rc->cur_sent && (entry->flags & IB_WR_FENCE) && rc->reads_out) {
        return IB_RC_STOP;
    }
    return ib_rc_is_read(entry->opcode) ? ib_rc_send_read(qp, entry)
                                        : ib_rc_send_data(qp, entry);
}

bool ib_rc_request(IbQp *qp, unsigned *turn)
{
    while (*turn) {
        if (ib_rc_step(qp) == IB_RC_STOP) {
            return true;
        }
        --*turn;
    }
    return false;
}
