/*
 * Unreliable datagrams, and what QP0 and QP1 receive
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IBA Vol.1 9.8.3 (UD), 10.2.5 (Q_Keys), 11.4.2.1 (the 40 bytes in front of a
 * received datagram).
 */
#include "hca-internal.h"

/* The largest payload of the port as it is now. */
static uint32_t ib_ud_mtu(const IbHcaPort *port)
{
    uint8_t code = ib_link_neighbor_mtu(port->link);

    return 128u << (code >= 1 && code <= 5 ? code : 5);
}

/* Send hca->wr as one packet; false: no room, again later. */
static bool ib_ud_send(IbQp *qp)
{
    IbHca *hca = qp->hca;
    IbHcaPort *port = qp->port;
    const IbSendWr *wr = &hca->wr;
    uint64_t bytes = ib_sge_bytes(wr->sge, wr->num_sge);
    bool smi = qp->attr.type == IB_QPT_SMI;
    bool gsi = qp->attr.type == IB_QPT_GSI;
    IbPacketRoute route;
    IbPacketBth bth = {
        .opcode = wr->opcode == IB_WR_SEND_IMM ? IB_OP_UD_SEND_ONLY_IMM
                                               : IB_OP_UD_SEND_ONLY,
        .se = wr->flags & IB_WR_SOLICITED,
        .pkey = smi ? IB_PKEY_DEFAULT
                    : ib_node_pkey(hca->node, port->num, qp->attr.pkey_index),
        .dest_qpn = ib_lid_is_multicast(wr->address.dlid) ? IB_QPN_MULTICAST
                                                          : wr->dest_qpn,
        .psn = qp->attr.sq_psn,
    };
    uint32_t qkey = !(wr->qkey & IB_QKEY_PRIVILEGED) ? wr->qkey
                    : gsi ? IB_QKEY_WELL_KNOWN : qp->attr.qkey;
    uint32_t src_qpn = smi ? IB_QPN_SMI : gsi ? IB_QPN_GSI : qp->qpn;
    IbWcStatus status;
    size_t at;
    bool loop, throttled;
    IbTx tx;

    if (bytes > ib_ud_mtu(port)) {
        ib_qp_fail_send(qp, IB_WC_LOC_LEN_ERR);
        return true;
    }
    loop = ib_tx_route(port, &wr->address, &route);
    if (smi) {
        route.vl = IB_VL_SM;
    } else if (route.vl == IB_VL_SM) {
        ib_hca_discard(port, true, qp->qpn, IB_DISCARD_TX_SL, NULL, 0);
        ib_qp_complete_send(qp, IB_WC_SUCCESS, bytes);
        return true;
    }
    if (!(bth.pkey & IB_PKEY_BASE_MASK)) {
        ib_hca_discard(port, true, qp->qpn, IB_DISCARD_TX_PKEY, NULL, 0);
        ib_qp_complete_send(qp, IB_WC_SUCCESS, bytes);
        return true;
    }
    throttled = ib_throttled(qp, wr->address.static_rate) && !loop && !smi;
    if (G_UNLIKELY(throttled) && ib_throttle_wait(qp, route.sl)) {
        return false;
    }
    switch (ib_tx_open(&tx, qp, loop, route.vl,
                       ib_packet_bytes(route.has_grh, bth.opcode, bytes))) {
    case IB_TX_WAIT:
        return false;
    case IB_TX_DROP:
        ib_qp_complete_send(qp, IB_WC_SUCCESS, bytes);
        return true;
    case IB_TX_OPEN:
        break;
    }
    at = ib_packet_put_ud(tx.buf, &route, &bth, smi ? 0 : qkey, src_qpn,
                          wr->imm, bytes);
    status = ib_sge_gather(qp, wr->sge, wr->num_sge, 0, tx.buf + at, bytes);
    if (status != IB_WC_SUCCESS) {
        ib_tx_cancel(&tx);
        ib_qp_fail_send(qp, status);
        return true;
    }
    qp->attr.sq_psn = (qp->attr.sq_psn + 1) & IB_PSN_MASK;
    if (G_UNLIKELY(throttled)) {
        ib_throttle_sent(qp, wr->address.static_rate, route.sl, tx.len);
    }
    ib_tx_close(&tx, qp);
    ib_qp_complete_send(qp, IB_WC_SUCCESS, bytes);
    return true;
}

/* Do the current entry, in hca->wr; false: no room, again later. */
static bool ib_ud_send_entry(IbQp *qp)
{
    IbHca *hca = qp->hca;
    bool ud = qp->attr.type == IB_QPT_UD;
    IbWcStatus status;

    switch (hca->wr.opcode) {
    case IB_WR_NOP:
        ib_qp_complete_send(qp, IB_WC_SUCCESS, 0);
        return true;
    case IB_WR_SEND:
    case IB_WR_SEND_IMM:
        return ib_ud_send(qp);
    case IB_WR_RAW:
        if (ud) {
            break;
        }
        return ib_raw_send(qp);
    case IB_WR_LOCAL:
        status = hca->ops->local_op(hca->opaque, qp->face, &hca->wr);
        if (status != IB_WC_SUCCESS) {
            ib_qp_fail_send(qp, status);
        } else {
            ib_qp_complete_send(qp, IB_WC_SUCCESS, 0);
        }
        return true;
    default:
        break;
    }
    ib_qp_fail_send(qp, IB_WC_LOC_QP_OP_ERR);
    return true;
}

bool ib_ud_run(IbQp *qp)
{
    IbWcStatus status;
    unsigned turn;

    for (turn = 0; turn < IB_QP_TURN; turn++) {
        if (qp->state == IB_QPS_SQD && !qp->wr_active) {
            if (qp->draining) {
                qp->draining = false;
                ib_qp_event(qp, IB_EVENT_SQ_DRAINED);
            }
            return true;
        }
        if (qp->state != IB_QPS_RTS && qp->state != IB_QPS_SQD) {
            /* An error on the way: its flush has the next turn. */
            return true;
        }
        if (!qp->sq_more && !qp->wr_active) {
            return true;
        }
        switch (ib_qp_current_wr(qp, &status)) {
        case IB_PULL_EMPTY:
            return true;
        case IB_PULL_ERROR:
            ib_qp_fail_send(qp, status);
            return true;
        case IB_PULL_OK:
            break;
        }
        if (!ib_ud_send_entry(qp)) {
            return true;
        }
    }
    return false;
}

void ib_ud_receive(IbQp *qp, const IbRx *rx)
{
    IbHca *hca = qp->hca;
    IbRecvWr *wr = &hca->recv_wr;
    const IbPacketInfo *info = &rx->info;
    const uint8_t *data = rx->data;
    IbHcaPort *port = rx->port;
    IbCompletion wc = {
        .byte_len = IB_GRH_BYTES + info->payload_len,
        .src_qpn = ib_field_get(data + info->deth, IB_DETH_SQPN),
        .slid = rx->slid,
        .sl = ib_lrh_sl(data),
        .pkey_index = rx->pkey_index,
    };
    IbWcStatus status = IB_WC_LOC_QP_OP_ERR;
    IbPull pull;

    wr->num_sge = 0;
    pull = hca->ops->next_recv(hca->opaque, qp->face, wr, &status);
    if (pull == IB_PULL_EMPTY) {
        ib_hca_discard(port, false, qp->qpn, IB_DISCARD_NO_RECV, data,
                       info->len);
        return;
    }
    if (pull == IB_PULL_ERROR) {
        ib_qp_fail_recv(qp, wr, status);
        return;
    }
    if (ib_sge_bytes(wr->sge, wr->num_sge) < wc.byte_len) {
        ib_qp_fail_recv(qp, wr, IB_WC_LOC_LEN_ERR);
        return;
    }
    status = IB_WC_SUCCESS;
    if (info->grh) {
        wc.flags |= IB_WC_GRH;
        status = ib_sge_scatter(qp, wr->sge, wr->num_sge, 0, data + info->grh,
                                IB_GRH_BYTES);
    }
    if (status == IB_WC_SUCCESS) {
        status = ib_sge_scatter(qp, wr->sge, wr->num_sge, IB_GRH_BYTES,
                                data + info->payload, info->payload_len);
    }
    if (status != IB_WC_SUCCESS) {
        ib_qp_fail_recv(qp, wr, status);
        return;
    }
    if (ib_lid_is_unicast(rx->dlid)) {
        wc.dlid_path_bits = rx->dlid &
            ((1u << ib_node_lmc(hca->node, port->num)) - 1);
    }
    if (info->immdt) {
        wc.flags |= IB_WC_IMM;
        wc.imm = ib_field_get(data + info->immdt, IB_IMMDT);
    }
    if (ib_field_get(data + info->bth, IB_BTH_SE)) {
        wc.flags |= IB_WC_SOLICITED;
    }
    wc.id = wr->id;
    wc.status = IB_WC_SUCCESS;
    wc.opcode = IB_WR_SEND;
    hca->ops->complete(hca->opaque, qp->face, &wc);
}
