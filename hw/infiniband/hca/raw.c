/*
 * Sends of QP0 and QP1 whose headers the driver builds
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The data of an IB_WR_RAW is a packet from the LRH to the room for its ICRC.
 * The engine gives it what only the adapter knows: VL, SLID, ICRC.  It passes
 * the same door as a packet from a cable first, so that nothing leaves that a
 * peer could not read.
 */
#include "hca-internal.h"

bool ib_raw_send(IbQp *qp)
{
    IbHca *hca = qp->hca;
    IbHcaPort *port = qp->port;
    const IbSendWr *wr = &hca->wr;
    const IbAddress *address = &wr->address;
    uint64_t bytes = ib_sge_bytes(wr->sge, wr->num_sge);
    uint8_t vl = wr->flags & IB_WR_RAW_VL15 ? IB_VL_SM
                                            : ib_port_vl(port, address->sl);
    bool loop = address->loopback || ib_lid_is_ours(port, address->dlid);
    IbPacketInfo info;
    IbWcStatus status;
    uint16_t lid;
    IbTx tx;

    if (bytes < IB_PKTLEN_MIN_BYTES || bytes > IB_LINK_PACKET_MAX ||
        bytes % 4) {
        ib_qp_fail_send(qp, IB_WC_LOC_LEN_ERR);
        return true;
    }
    if (vl == IB_VL_SM && !(wr->flags & IB_WR_RAW_VL15)) {
        ib_hca_discard(port, true, qp->qpn, IB_DISCARD_TX_SL, NULL, 0);
        ib_qp_complete_send(qp, IB_WC_SUCCESS, bytes);
        return true;
    }
    switch (ib_tx_open(&tx, qp, loop, vl, bytes)) {
    case IB_TX_WAIT:
        return false;
    case IB_TX_DROP:
        ib_qp_complete_send(qp, IB_WC_SUCCESS, bytes);
        return true;
    case IB_TX_OPEN:
        break;
    }
    status = ib_sge_gather(qp, wr->sge, wr->num_sge, 0, tx.buf, bytes);
    if (status == IB_WC_SUCCESS &&
        ib_packet_parse(tx.buf, bytes, &info) != IB_PACKET_OK) {
        status = IB_WC_LOC_QP_OP_ERR;
    }
    if (status != IB_WC_SUCCESS) {
        ib_tx_cancel(&tx);
        ib_qp_fail_send(qp, status);
        return true;
    }
    ib_lrh_set_vl(tx.buf, vl);
    if (!(wr->flags & IB_WR_RAW_SLID)) {
        lid = ib_node_lid(hca->node, port->num);
        ib_field_set(tx.buf, IB_LRH_SLID,
                     lid | (ib_lrh_slid(tx.buf) &
                            ((1u << ib_node_lmc(hca->node, port->num)) - 1)));
    }
    ib_tx_close(&tx, qp);
    ib_qp_complete_send(qp, IB_WC_SUCCESS, bytes);
    return true;
}
