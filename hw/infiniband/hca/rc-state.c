/*
 * Connected queue pairs as bytes, for migration and snapshots
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A requester that was loaded goes back to the oldest PSN that is not
 * acknowledged: what was under way may be lost, and what is not is a
 * duplicate to its peer.
 */
#include "rc.h"

static void ib_save_recv(IbStateWriter *w, const IbRecvWr *wr)
{
    unsigned i;

    ib_state_put64(w, wr->id);
    ib_state_put8(w, wr->num_sge);
    for (i = 0; i < wr->num_sge; i++) {
        ib_state_put64(w, wr->sge[i].va);
        ib_state_put32(w, wr->sge[i].len);
        ib_state_put32(w, wr->sge[i].key);
    }
}

static bool ib_load_recv(IbStateReader *r, IbRecvWr *wr)
{
    unsigned i;

    wr->id = ib_state_get64(r);
    wr->num_sge = ib_state_get8(r);
    if (wr->num_sge > IB_WR_MAX_SGE) {
        return false;
    }
    for (i = 0; i < wr->num_sge; i++) {
        wr->sge[i].ptr = NULL;
        wr->sge[i].va = ib_state_get64(r);
        wr->sge[i].len = ib_state_get32(r);
        wr->sge[i].key = ib_state_get32(r);
    }
    return true;
}

static void ib_save_requester(IbStateWriter *w, const IbQp *qp)
{
    const IbRc *rc = qp->rc;
    const IbRcEntry *entry;
    uint32_t i;

    ib_state_put32(w, rc->next_psn);
    ib_state_put32(w, rc->una);
    ib_state_put32(w, rc->sent_psn);
    ib_state_put8(w, rc->retries);
    ib_state_put8(w, rc->rnr_retries);
    ib_state_put8(w, rc->rnr_wait | rc->failed << 1 | rc->comm_told << 2);
    ib_state_put64(w, qp->deadline == INT64_MAX ? INT64_MAX
                      : qp->deadline - qp->hca->ops->now(qp->hca->opaque));
    ib_state_put32(w, rc->count);
    for (i = 0; i < rc->count; i++) {
        entry = ib_rc_entry(rc, i);
        ib_state_put64(w, entry->id);
        ib_state_put32(w, entry->len);
        ib_state_put32(w, entry->psn);
        ib_state_put32(w, entry->packets);
        ib_state_put32(w, entry->acked);
        ib_state_put8(w, entry->opcode);
        ib_state_put8(w, entry->flags);
        ib_state_put8(w, entry->status);
        ib_state_put8(w, !entry->packets && entry->requested);
    }
    ib_state_put32(w, qp->attr.type == IB_QPT_UC ? rc->cur_sent : 0);
}

static bool ib_load_requester(IbStateReader *r, IbQp *qp)
{
    IbRc *rc = qp->rc;
    IbRcEntry *entry;
    uint32_t i, uc_sent;
    uint8_t flags;
    int64_t left;

    rc->next_psn = ib_state_get32(r) & IB_PSN_MASK;
    rc->una = ib_state_get32(r) & IB_PSN_MASK;
    rc->sent_psn = ib_state_get32(r) & IB_PSN_MASK;
    rc->retries = ib_state_get8(r);
    rc->rnr_retries = ib_state_get8(r);
    flags = ib_state_get8(r);
    left = ib_state_get64(r);
    rc->count = ib_state_get32(r);
    if (rc->count > IB_RC_MAX_ENTRIES) {
        rc->count = 0;
        return false;
    }
    rc->ring_size = 8;
    while (rc->ring_size < rc->count) {
        rc->ring_size *= 2;
    }
    rc->ring = g_new0(IbRcEntry, rc->ring_size);
    for (i = 0; i < rc->count; i++) {
        entry = ib_rc_entry(rc, i);
        entry->id = ib_state_get64(r);
        entry->len = ib_state_get32(r);
        entry->psn = ib_state_get32(r) & IB_PSN_MASK;
        entry->packets = ib_state_get32(r);
        entry->acked = ib_state_get32(r);
        entry->opcode = ib_state_get8(r);
        entry->flags = ib_state_get8(r);
        entry->status = ib_state_get8(r);
        entry->requested = ib_state_get8(r);
        if (entry->len > IB_RC_MAX_MESSAGE ||
            entry->acked > entry->packets ||
            (entry->packets &&
             entry->packets != ib_rc_packets(qp, entry->opcode,
                                             entry->len))) {
            return false;
        }
    }
    uc_sent = ib_state_get32(r);
    ib_rc_go_back(qp);
    if (qp->attr.type == IB_QPT_UC && rc->count &&
        uc_sent < ib_rc_entry(rc, 0)->packets) {
        rc->cur_sent = uc_sent;
    }
    rc->rnr_wait = flags & 1;
    rc->failed = flags & 2;
    rc->comm_told = flags & 4;
    if (left != INT64_MAX && left < INT64_MAX / 2 &&
        left > -INT64_MAX / 2) {
        ib_qp_set_deadline(qp, qp->hca->ops->now(qp->hca->opaque) + left);
    }
    return ib_state_ok(r);
}

static void ib_save_responder(IbStateWriter *w, const IbRc *rc)
{
    const IbRcReply *reply;
    uint32_t i;

    ib_state_put32(w, rc->epsn);
    ib_state_put32(w, rc->msn);
    ib_state_put8(w, rc->message);
    ib_state_put8(w, rc->has_recv | rc->nak_sent << 1 | rc->ack_pending << 2 |
                     rc->nak_pending << 3 | rc->dead << 4 |
                     rc->dead_quiet << 5);
    ib_state_put32(w, rc->offset);
    ib_state_put32(w, rc->rkey);
    ib_state_put32(w, rc->dma_len);
    ib_state_put64(w, rc->va);
    ib_state_put8(w, rc->nak_syndrome);
    ib_state_put32(w, rc->ack_psn);
    ib_state_put32(w, rc->nak_psn);
    ib_state_put8(w, rc->dead_event);
    if (rc->has_recv) {
        ib_save_recv(w, rc->recv);
    }
    ib_state_put32(w, rc->reply_tail);
    ib_state_put32(w, rc->reply_next);
    ib_state_put32(w, rc->reply_limit);
    for (i = 0; i < rc->reply_slots; i++) {
        reply = &rc->replies[i];
        ib_state_put32(w, reply->psn);
        ib_state_put32(w, reply->packets);
        ib_state_put32(w, reply->start);
        ib_state_put32(w, reply->sent);
        ib_state_put32(w, reply->stop);
        ib_state_put32(w, reply->len);
        ib_state_put32(w, reply->rkey);
        ib_state_put64(w, reply->va);
        ib_state_put32(w, reply->msn);
        ib_state_put8(w, reply->atomic | reply->again << 1);
        ib_state_put64(w, reply->atomic ? reply->old : reply->srqn);
    }
}

static bool ib_load_reply(IbStateReader *r, IbRcReply *reply, uint32_t mtu)
{
    uint8_t flags;

    reply->psn = ib_state_get32(r) & IB_PSN_MASK;
    reply->packets = ib_state_get32(r);
    reply->start = ib_state_get32(r);
    reply->sent = ib_state_get32(r);
    reply->stop = ib_state_get32(r);
    reply->len = ib_state_get32(r);
    reply->rkey = ib_state_get32(r);
    reply->va = ib_state_get64(r);
    reply->msn = ib_state_get32(r);
    flags = ib_state_get8(r);
    reply->atomic = flags & 1;
    reply->again = flags & 2;
    if (reply->atomic) {
        reply->old = ib_state_get64(r);
    } else {
        reply->srqn = ib_state_get64(r) & IB_QPN_MASK;
    }
    return reply->stop <= reply->packets &&
           reply->sent <= reply->stop && reply->start <= reply->sent &&
           (!reply->packets ||
            (uint64_t)(reply->packets - 1) * mtu <= reply->len);
}

static bool ib_load_responder(IbStateReader *r, IbQp *qp)
{
    IbRc *rc = qp->rc;
    uint8_t flags;
    uint32_t i;

    rc->epsn = ib_state_get32(r) & IB_PSN_MASK;
    rc->msn = ib_state_get32(r);
    rc->message = ib_state_get8(r);
    flags = ib_state_get8(r);
    rc->has_recv = flags & 1;
    rc->nak_sent = flags & 2;
    rc->ack_pending = flags & 4;
    rc->nak_pending = flags & 8;
    rc->dead = flags & 16;
    rc->dead_quiet = flags & 32;
    rc->offset = ib_state_get32(r);
    rc->rkey = ib_state_get32(r);
    rc->dma_len = ib_state_get32(r);
    rc->va = ib_state_get64(r);
    rc->nak_syndrome = ib_state_get8(r);
    rc->ack_psn = ib_state_get32(r) & IB_PSN_MASK;
    rc->nak_psn = ib_state_get32(r) & IB_PSN_MASK;
    rc->dead_event = ib_state_get8(r);
    if (rc->message > IB_RC_IN_WRITE || rc->offset > rc->dma_len + 0ull +
        IB_RC_MAX_MESSAGE || rc->dead_event > IB_EVENT_QP_LAST_WQE_REACHED ||
        (rc->message == IB_RC_IN_SEND && !rc->has_recv) ||
        (rc->message == IB_RC_IN_WRITE && rc->offset > rc->dma_len) ||
        (rc->has_recv && !ib_load_recv(r, rc->recv))) {
        return false;
    }
    rc->reply_tail = ib_state_get32(r);
    rc->reply_next = ib_state_get32(r);
    rc->reply_limit = ib_state_get32(r);
    if (rc->reply_tail - rc->reply_next > rc->reply_slots ||
        rc->reply_limit - rc->reply_next > rc->reply_slots ||
        rc->reply_tail - rc->reply_limit > rc->reply_slots) {
        return false;
    }
    for (i = 0; i < rc->reply_slots; i++) {
        if (!ib_load_reply(r, &rc->replies[i], ib_rc_mtu(qp))) {
            return false;
        }
    }
    return ib_state_ok(r);
}

void ib_rc_save(IbStateWriter *w, const IbQp *qp)
{
    const IbRc *rc = qp->rc;
    bool started = rc && rc->replies;         /* it was in RTR */

    ib_state_put8(w, started);
    if (started) {
        ib_state_put32(w, rc->mtu);
        ib_state_put8(w, rc->reply_slots);
        ib_save_requester(w, qp);
        ib_save_responder(w, rc);
    }
}

bool ib_rc_load(IbStateReader *r, IbQp *qp)
{
    uint32_t mtu;
    uint8_t slots;

    if (!qp->rc) {
        qp->rc = g_new0(IbRc, 1);
    }
    if (!ib_state_get8(r)) {
        return qp->state <= IB_QPS_INIT || qp->state == IB_QPS_ERR;
    }
    mtu = ib_state_get32(r);
    slots = ib_state_get8(r);
    if (mtu < 256 || mtu > 4096 || (mtu & (mtu - 1)) || !slots ||
        (!qp->port && qp->state != IB_QPS_ERR)) {
        return false;
    }
    ib_rc_make_responder(qp->rc, mtu, slots);
    return ib_load_requester(r, qp) && ib_load_responder(r, qp);
}
