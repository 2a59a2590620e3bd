/*
 * Queue pairs: the table of them, their states, and what ends a queue
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * States and transitions of IBA Vol.1 10.3.1.  Whatever a QP does by itself
 * happens in ib_qp_run(), one turn at a time.
 */
#include "rc.h"

/* ----------------------------------------------------------- the table */

static IbQp **ib_qp_slot(const IbHca *hca, uint32_t qpn)
{
    IbQp **page = hca->qp_pages ? hca->qp_pages[qpn >> IB_QP_PAGE_BITS] : NULL;

    return page ? &page[qpn & (IB_QP_PAGE_SIZE - 1)] : NULL;
}

IbQp *ib_hca_find_qp(IbHca *hca, uint32_t qpn)
{
    IbQp **slot = qpn <= IB_QPN_MASK ? ib_qp_slot(hca, qpn) : NULL;

    return slot ? *slot : NULL;
}

IbQp *ib_qp_new(IbHca *hca, uint32_t qpn, void *face)
{
    IbQp ***page;
    IbQp *qp;

    if (qpn > IB_QPN_MASK || ib_hca_find_qp(hca, qpn)) {
        return NULL;
    }
    if (!hca->qp_pages) {
        hca->qp_pages = g_new0(IbQp **, IB_QP_PAGES);
    }
    page = &hca->qp_pages[qpn >> IB_QP_PAGE_BITS];
    if (!*page) {
        *page = g_new0(IbQp *, IB_QP_PAGE_SIZE);
    }
    qp = g_new0(IbQp, 1);
    qp->hca = hca;
    qp->face = face;
    qp->qpn = qpn;
    qp->state = IB_QPS_RESET;
    qp->deadline = qp->wake = INT64_MAX;
    qp->heap_index = -1;
    (*page)[qpn & (IB_QP_PAGE_SIZE - 1)] = qp;
    hca->num_qps++;
    return qp;
}

/* Back to RESET: nothing of what it did is left, no completion is made. */
static void ib_qp_clear(IbQp *qp)
{
    IbHca *hca = qp->hca;

    ib_qp_list_remove(qp);
    ib_qp_forget_timer(qp);
    if (hca->wr_owner == qp) {
        hca->wr_owner = NULL;
    }
    ib_rc_free(qp);
    qp->port = NULL;
    qp->wait_vl = 0;
    qp->sq_more = qp->rq_more = qp->wr_active = false;
    qp->draining = qp->last_wqe_told = qp->owes_becn = false;
    qp->flow = (IbFlow) { 0 };
    qp->send_at = 0;
    qp->state = IB_QPS_RESET;
}

void ib_hca_clear_qps(IbHca *hca)
{
    unsigned i, j;

    for (i = 0; hca->qp_pages && i < IB_QP_PAGES; i++) {
        for (j = 0; hca->qp_pages[i] && j < IB_QP_PAGE_SIZE; j++) {
            if (hca->qp_pages[i][j]) {
                ib_qp_clear(hca->qp_pages[i][j]);
            }
        }
    }
}

void ib_qp_free(IbQp *qp)
{
    IbHca *hca = qp->hca;
    unsigned port, which;

    ib_qp_clear(qp);
    for (port = 1; port <= hca->config.node.num_ports; port++) {
        for (which = 0; which < 2; which++) {
            if (hca->ports[port].special[which] == qp) {
                hca->ports[port].special[which] = NULL;
            }
        }
    }
    *ib_qp_slot(hca, qp->qpn) = NULL;
    hca->num_qps--;
    g_free(qp);
}

void ib_hca_bind_special(IbHca *hca, uint8_t port, unsigned which, IbQp *qp)
{
    if (port >= 1 && port <= hca->config.node.num_ports && which < 2) {
        hca->ports[port].special[which] = qp;
    }
}

/* ---------------------------------------------------------- the states */

/* From (row) to (bit): IBA Vol.1 figure 124; any to RESET, any to ERR. */
#define TO(state)  (1u << IB_QPS_##state)
static const uint8_t ib_qp_transitions[] = {
    [IB_QPS_RESET] = TO(RESET) | TO(INIT) | TO(ERR),
    [IB_QPS_INIT]  = TO(RESET) | TO(INIT) | TO(RTR) | TO(ERR),
    [IB_QPS_RTR]   = TO(RESET) | TO(RTS) | TO(ERR),
    [IB_QPS_RTS]   = TO(RESET) | TO(RTS) | TO(SQD) | TO(ERR),
    [IB_QPS_SQD]   = TO(RESET) | TO(SQD) | TO(RTS) | TO(ERR),
    [IB_QPS_SQE]   = TO(RESET) | TO(RTS) | TO(ERR),
    [IB_QPS_ERR]   = TO(RESET) | TO(ERR),
};
#undef TO

static bool ib_qp_attr_ok(const IbQp *qp, IbQpState state,
                          const IbQpAttr *attr)
{
    const IbNodeConfig *node = &qp->hca->config.node;

    if (attr->type > IB_QPT_XRC_TGT || attr->port > node->num_ports ||
        (qp->state != IB_QPS_RESET && attr->type != qp->attr.type)) {
        return false;
    }
    if (ib_type_is_connected(attr->type) && !ib_rc_attr_ok(attr, state)) {
        return false;
    }
    if (state == IB_QPS_INIT) {
        return true;              /* the port may come with RTR */
    }
    return attr->port && attr->pkey_index < node->pkey_cap;
}

static void ib_qp_restart(IbQp *qp)
{
    ib_qp_list_remove(qp);
    ib_qp_ready(qp);
}

/* Does the driver ask for migration by itself (IBA Vol.1 17.2.8.1)? */
static bool ib_qp_is_moved(const IbQp *qp, const IbQpAttr *attr)
{
    return ib_qp_is_connected(qp) &&
           (qp->state == IB_QPS_RTS || qp->state == IB_QPS_SQD) &&
           qp->attr.path_mig_state == IB_PATH_ARMED &&
           attr->path_mig_state == IB_PATH_MIGRATED;
}

bool ib_qp_modify(IbQp *qp, IbQpState state, const IbQpAttr *attr)
{
    IbHca *hca = qp->hca;
    bool migrate = false;

    if (state > IB_QPS_ERR ||
        !(ib_qp_transitions[qp->state] & (1u << state))) {
        return false;
    }
    if (state == IB_QPS_RESET) {
        ib_qp_clear(qp);
        if (attr) {
            qp->attr = *attr;
        }
        return true;
    }
    if (attr && state != IB_QPS_ERR) {
        if (!ib_qp_attr_ok(qp, state, attr)) {
            return false;
        }
        if (qp->list && attr->port != qp->attr.port) {
            ib_qp_restart(qp);    /* it may wait for the other port */
        }
        migrate = ib_qp_is_moved(qp, attr);
        qp->attr = *attr;
        qp->port = attr->port ? &hca->ports[attr->port] : NULL;
    }
    ib_hca_enter(hca);
    if (ib_qp_is_connected(qp)) {
        ib_rc_enter_state(qp, state);
    }
    switch (state) {
    case IB_QPS_RTS:
        qp->draining = false;
        qp->sq_more = true;
        ib_qp_ready(qp);
        break;
    case IB_QPS_SQD:
        qp->draining = qp->state == IB_QPS_RTS;
        ib_qp_ready(qp);
        break;
    case IB_QPS_ERR:
        qp->draining = false;
        qp->sq_more = qp->rq_more = true;
        ib_qp_restart(qp);
        break;
    default:
        break;
    }
    qp->state = state;
    if (migrate) {
        qp->attr.path_mig_state = IB_PATH_ARMED;
        ib_rc_migrate(qp);
    }
    ib_hca_leave(hca);
    return true;
}

void ib_qp_move(IbQp *qp, IbQpState state)
{
    IbHca *hca = qp->hca;

    qp->state = state;
    qp->draining = false;
    qp->sq_more = qp->rq_more = true;
    ib_qp_restart(qp);
    hca->ops->state_moved(hca->opaque, qp->face, state);
}

void ib_qp_event(IbQp *qp, IbHcaEvent event)
{
    qp->hca->ops->event(qp->hca->opaque, qp->face, event);
}

IbQpState ib_qp_state(const IbQp *qp)
{
    return qp->state;
}

const IbQpAttr *ib_qp_attr(const IbQp *qp)
{
    return &qp->attr;
}

bool ib_qp_sq_draining(const IbQp *qp)
{
    return qp->draining;
}

void *ib_qp_face(const IbQp *qp)
{
    return qp->face;
}

uint32_t ib_qp_number(const IbQp *qp)
{
    return qp->qpn;
}

/* The requester runs from RTS on, the responder from RTR on. */
uint32_t ib_qp_sq_psn(const IbQp *qp)
{
    return qp->rc && qp->state >= IB_QPS_RTS ? qp->rc->next_psn
                                             : qp->attr.sq_psn;
}

uint32_t ib_qp_rq_psn(const IbQp *qp)
{
    return qp->rc && qp->state >= IB_QPS_RTR ? qp->rc->epsn
                                             : qp->attr.rq_psn;
}

uint32_t ib_qp_last_acked_psn(const IbQp *qp)
{
    return (qp->rc && qp->state >= IB_QPS_RTS ? qp->rc->una - 1
                                              : qp->attr.sq_psn - 1) &
           IB_PSN_MASK;
}

/* ----------------------------------------------------------- the queues */

void ib_qp_post_send(IbQp *qp)
{
    switch (qp->state) {
    case IB_QPS_RTS:
    case IB_QPS_SQE:
    case IB_QPS_ERR:
        ib_hca_enter(qp->hca);
        qp->sq_more = true;
        ib_qp_ready(qp);
        ib_hca_leave(qp->hca);
        break;
    default:
        break;                    /* seen when the state becomes RTS */
    }
}

void ib_qp_post_recv(IbQp *qp)
{
    if (qp->state == IB_QPS_ERR) {
        ib_hca_enter(qp->hca);
        qp->rq_more = true;
        ib_qp_ready(qp);
        ib_hca_leave(qp->hca);
    }
}

static void ib_qp_forget_wr(IbHca *hca)
{
    hca->wr_owner = NULL;
    hca->wr.opcode = IB_WR_NOP;
    hca->wr.flags = IB_WR_SIGNALED;
    hca->wr.num_sge = 0;
}

IbPull ib_qp_fetch_next(IbQp *qp, IbWcStatus *status)
{
    IbHca *hca = qp->hca;
    IbPull pull;

    ib_qp_forget_wr(hca);
    *status = IB_WC_LOC_QP_OP_ERR;
    pull = hca->ops->next_send(hca->opaque, qp->face, &hca->wr, status);
    switch (pull) {
    case IB_PULL_OK:
        if (hca->wr.num_sge > IB_WR_MAX_SGE) {
            return IB_PULL_ERROR;
        }
        hca->wr_owner = qp;
        break;
    case IB_PULL_EMPTY:
        qp->sq_more = false;
        break;
    case IB_PULL_ERROR:
        break;
    }
    return pull;
}

IbPull ib_qp_fetch_again(IbQp *qp, uint64_t id)
{
    IbHca *hca = qp->hca;

    if (hca->wr_owner == qp && hca->wr.id == id) {
        return IB_PULL_OK;
    }
    ib_qp_forget_wr(hca);
    if (hca->ops->refetch_send(hca->opaque, qp->face, id, &hca->wr) !=
        IB_PULL_OK || hca->wr.num_sge > IB_WR_MAX_SGE) {
        hca->wr.id = id;
        return IB_PULL_ERROR;     /* the guest changed it under way */
    }
    hca->wr.id = id;
    hca->wr_owner = qp;
    return IB_PULL_OK;
}

IbPull ib_qp_current_wr(IbQp *qp, IbWcStatus *status)
{
    IbPull pull;

    if (qp->wr_active) {
        *status = IB_WC_LOC_QP_OP_ERR;
        return ib_qp_fetch_again(qp, qp->wr_id);
    }
    pull = ib_qp_fetch_next(qp, status);
    if (pull != IB_PULL_EMPTY) {
        qp->wr_active = true;
        qp->wr_id = qp->hca->wr.id;
    }
    return pull;
}

void ib_qp_complete_send(IbQp *qp, IbWcStatus status, uint32_t byte_len)
{
    IbHca *hca = qp->hca;
    IbCompletion wc = {
        .id = qp->wr_id,
        .status = status,
        .opcode = hca->wr.opcode,
        .byte_len = byte_len,
        .flags = IB_WC_SEND_QUEUE,
    };

    if (qp->attr.signal_all || (hca->wr.flags & IB_WR_SIGNALED) ||
        status != IB_WC_SUCCESS) {
        wc.flags |= IB_WC_SIGNALED;
    }
    qp->wr_active = false;
    hca->wr_owner = NULL;
    hca->ops->complete(hca->opaque, qp->face, &wc);
}

void ib_qp_fail_send(IbQp *qp, IbWcStatus status)
{
    ib_qp_complete_send(qp, status, 0);
    if (qp->state == IB_QPS_RTS || qp->state == IB_QPS_SQD) {
        ib_qp_move(qp, IB_QPS_SQE);
    }
}

void ib_qp_complete_recv(IbQp *qp, const IbRecvWr *wr,
                                IbWcStatus status)
{
    IbCompletion wc = {
        .id = wr->id, .status = status, .opcode = IB_WR_SEND,
    };

    qp->hca->ops->complete(qp->hca->opaque, qp->face, &wc);
}

void ib_qp_fail_recv(IbQp *qp, const IbRecvWr *wr, IbWcStatus status)
{
    if (wr) {
        ib_qp_complete_recv(qp, wr, status);
    }
    if (qp->state != IB_QPS_RESET && qp->state != IB_QPS_ERR) {
        ib_qp_move(qp, IB_QPS_ERR);
    }
}

/* Complete what is posted to the send queue; false: a turn was not enough. */
static bool ib_qp_flush_send(IbQp *qp, unsigned *turn)
{
    IbQpState state = qp->state;
    IbWcStatus status;

    while (qp->state == state && (qp->sq_more || qp->wr_active)) {
        if (!*turn) {
            return false;
        }
        --*turn;
        if (ib_qp_current_wr(qp, &status) == IB_PULL_EMPTY) {
            break;
        }
        ib_qp_complete_send(qp, IB_WC_WR_FLUSH_ERR, 0);
    }
    return true;
}

/* Likewise the receive queue; what is in an SRQ is others' too and stays. */
static bool ib_qp_flush_recv(IbQp *qp, unsigned *turn)
{
    IbHca *hca = qp->hca;
    IbWcStatus status;

    if (qp->attr.has_srq || qp->attr.type == IB_QPT_XRC_INI ||
        qp->attr.type == IB_QPT_XRC_TGT) {
        qp->rq_more = false;
        return true;
    }
    while (qp->state == IB_QPS_ERR && qp->rq_more) {
        if (!*turn) {
            return false;
        }
        --*turn;
        if (hca->ops->next_recv(hca->opaque, qp->face, &hca->recv_wr,
                                &status) == IB_PULL_EMPTY) {
            qp->rq_more = false;
            break;
        }
        ib_qp_complete_recv(qp, &hca->recv_wr, IB_WC_WR_FLUSH_ERR);
    }
    return true;
}

static bool ib_qp_flush(IbQp *qp)
{
    unsigned turn = 4 * IB_QP_TURN;

    if (qp->rc && !ib_rc_flush(qp, &turn)) {
        return false;
    }
    if (!ib_qp_flush_send(qp, &turn)) {
        return false;
    }
    if (qp->state != IB_QPS_ERR) {
        return true;
    }
    if (!ib_qp_flush_recv(qp, &turn)) {
        return false;
    }
    if (qp->state == IB_QPS_ERR && qp->attr.has_srq && !qp->last_wqe_told) {
        qp->last_wqe_told = true;
        ib_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
    }
    return true;
}

bool ib_qp_run(IbQp *qp)
{
    switch (qp->state) {
    case IB_QPS_SQE:
    case IB_QPS_ERR:
        return ib_qp_flush(qp);
    case IB_QPS_RTR:
    case IB_QPS_RTS:
    case IB_QPS_SQD:
        return qp->rc ? ib_rc_run(qp) : ib_ud_run(qp);
    default:
        return true;
    }
}
