/*
 * Connected queue pairs: their life, and what goes both ways
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Path migration is that of IBA Vol.1 17.2.8: a QP whose alternate path is
 * armed takes it when its retries are used up or when its peer says (MigReq)
 * that it has; the last is the hook through which both ends move together.
 */
#include "rc.h"

bool ib_rc_attr_ok(const IbQpAttr *attr, IbQpState state)
{
    return state < IB_QPS_RTR || state == IB_QPS_ERR ||
           (attr->path_mtu >= 1 && attr->path_mtu <= 5);
}

void ib_rc_make_responder(IbRc *rc, uint32_t mtu, unsigned slots)
{
    rc->mtu = mtu;
    rc->reply_slots = MAX(1, slots);
    g_free(rc->recv);
    rc->recv = g_new(IbRecvWr, 1);
    g_free(rc->replies);
    rc->replies = g_new0(IbRcReply, rc->reply_slots);
}

static void ib_rc_start_responder(IbQp *qp)
{
    ib_rc_make_responder(qp->rc, 128u << qp->attr.path_mtu,
                         qp->attr.max_dest_rd_atomic);
    qp->rc->epsn = qp->attr.rq_psn & IB_PSN_MASK;
}

static void ib_rc_start_requester(IbQp *qp)
{
    IbRc *rc = qp->rc;

    rc->next_psn = rc->una = rc->sent_psn = qp->attr.sq_psn & IB_PSN_MASK;
    rc->retries = qp->attr.retry_count;
    rc->rnr_retries = qp->attr.rnr_retry;
}

void ib_rc_enter_state(IbQp *qp, IbQpState state)
{
    if (!qp->rc) {
        qp->rc = g_new0(IbRc, 1);
    }
    if (state == IB_QPS_RTR) {
        ib_rc_start_responder(qp);
    } else if (state == IB_QPS_RTS && qp->state == IB_QPS_RTR) {
        ib_rc_start_requester(qp);
    }
}

void ib_rc_free(IbQp *qp)
{
    IbRc *rc = qp->rc;

    if (rc) {
        g_free(rc->ring);
        g_free(rc->recv);
        g_free(rc->replies);
        g_free(rc);
        qp->rc = NULL;
    }
}

bool ib_rc_migrate(IbQp *qp)
{
    IbQpAttr *attr = &qp->attr;
    IbAddress path = attr->path;
    uint8_t port = attr->port, timeout = attr->ack_timeout;
    uint16_t pkey_index = attr->pkey_index;

    if (attr->path_mig_state != IB_PATH_ARMED || !attr->alt_port ||
        attr->alt_port > qp->hca->config.node.num_ports ||
        attr->alt_pkey_index >= qp->hca->config.node.pkey_cap) {
        return false;
    }
    attr->path = attr->alt_path;
    attr->port = attr->alt_port;
    attr->pkey_index = attr->alt_pkey_index;
    attr->ack_timeout = attr->alt_ack_timeout;
    attr->alt_path = path;
    attr->alt_port = port;
    attr->alt_pkey_index = pkey_index;
    attr->alt_ack_timeout = timeout;
    attr->path_mig_state = IB_PATH_MIGRATED;
    qp->port = &qp->hca->ports[attr->port];
    ib_qp_list_remove(qp);
    ib_qp_ready(qp);
    ib_qp_event(qp, IB_EVENT_PATH_MIG);
    return true;
}

/* Path migration's part of a received packet. */
static void ib_rc_receive_mig(IbQp *qp, const IbRx *rx)
{
    bool migrated = ib_field_get(rx->data + rx->info.bth, IB_BTH_M);

    if (qp->attr.path_mig_state == IB_PATH_REARM && !migrated) {
        qp->attr.path_mig_state = IB_PATH_ARMED;
    } else if (qp->attr.path_mig_state == IB_PATH_ARMED && migrated &&
               !ib_rc_migrate(qp)) {
        ib_qp_event(qp, IB_EVENT_PATH_MIG_ERR);
    }
}

void ib_rc_receive(IbQp *qp, IbRx *rx)
{
    bool response = rx->info.flags & IB_IS_RESPONSE;

    if (qp->state == IB_QPS_RTR && !qp->rc->comm_told) {
        qp->rc->comm_told = true;
        ib_qp_event(qp, IB_EVENT_COMM_EST);
    }
    ib_rc_receive_mig(qp, rx);
    switch (qp->attr.type) {
    case IB_QPT_UC:
        ib_uc_receive(qp, rx);
        return;
    case IB_QPT_XRC_INI:
        if (!response) {
            break;
        }
        ib_rc_receive_response(qp, rx);
        return;
    case IB_QPT_XRC_TGT:
        if (response) {
            break;
        }
        ib_rc_receive_request(qp, rx);
        return;
    default:
        if (response) {
            ib_rc_receive_response(qp, rx);
        } else {
            ib_rc_receive_request(qp, rx);
        }
        return;
    }
    ib_rx_discard(rx, IB_DISCARD_SERVICE);
}

bool ib_rc_run(IbQp *qp)
{
    unsigned turn = IB_QP_TURN;

    if (qp->attr.type != IB_QPT_UC && !ib_rc_send_replies(qp, &turn)) {
        return false;
    }
    if (qp->state != IB_QPS_RTS && qp->state != IB_QPS_SQD) {
        return true;
    }
    if (!ib_rc_request(qp, &turn)) {
        return false;
    }
    if (qp->state == IB_QPS_SQD && qp->draining && !qp->rc->count) {
        qp->draining = false;
        ib_qp_event(qp, IB_EVENT_SQ_DRAINED);
    }
    return true;
}
