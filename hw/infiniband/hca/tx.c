/*
 * Packets out: to the cable, or back into the adapter
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A packet is written where it will be sent from: in the frame that the link
 * is filling, or in the loopback queue.  A multicast packet for members in
 * this adapter goes both ways, since no switch returns it to its ingress port
 * (IBA Vol.1 10.5.2).
 *
 * A packet whose port is not in a state to send it is discarded and its work
 * request goes on as if it had been sent: that is what the states LinkDown,
 * LinkInitialize and LinkArm say (IBA Vol.1 7.2.7), and an unreliable datagram
 * completes once it was handed to the link layer (10.7.2.1).  ConnectX-3 does
 * the same: its driver keeps sending on a port that is down.
 */
#include "hca-internal.h"
#include "hw/infiniband/ib-mad.h"

bool ib_tx_route(const IbHcaPort *port, const IbAddress *address,
                 IbPacketRoute *route)
{
    const IbNode *node = port->hca->node;
    unsigned index = address->sgid_index;

    route->sl = address->sl & 15;
    route->vl = ib_port_vl(port, route->sl);
    route->dlid = address->dlid;
    route->slid = ib_node_lid(node, port->num) |
                  (address->path_bits &
                   ((1u << ib_node_lmc(node, port->num)) - 1));
    route->has_grh = address->grh;
    if (address->grh) {
        if (index >= ib_node_config(node)->guid_cap) {
            index = 0;
        }
        route->tclass = address->traffic_class;
        route->hop_limit = address->hop_limit;
        route->flow_label = address->flow_label & 0xfffff;
        ib_put_be64(route->sgid, ib_node_gid_prefix(node, port->num));
        ib_put_be64(route->sgid + 8, ib_node_guid(node, port->num, index));
        memcpy(route->dgid, address->dgid, IB_GID_BYTES);
    }
    return address->loopback || ib_lid_is_ours(port, address->dlid);
}

static IbLoopPacket *ib_loop_tail(IbHca *hca)
{
    if (hca->loop_count == IB_LOOP_PACKETS) {
        return NULL;
    }
    if (!hca->loop) {
        hca->loop = g_new(IbLoopPacket, IB_LOOP_PACKETS);
    }
    return &hca->loop[(hca->loop_head + hca->loop_count) % IB_LOOP_PACKETS];
}

bool ib_loop_put(IbHcaPort *port, const uint8_t *packet, size_t len)
{
    IbLoopPacket *slot = ib_loop_tail(port->hca);

    if (!slot || len > sizeof(slot->data)) {
        return false;
    }
    slot->port = port->num;
    slot->len = len;
    memcpy(slot->data, packet, len);
    port->hca->loop_count++;
    return true;
}

void ib_loop_drain(IbHca *hca)
{
    const IbLoopPacket *packet;

    while (hca->loop_count) {
        packet = &hca->loop[hca->loop_head];
        ib_rx_packet(&hca->ports[packet->port], packet->data, packet->len,
                     IB_PACKET_NO_ICRC, true);
        hca->loop_head = (hca->loop_head + 1) % IB_LOOP_PACKETS;
        hca->loop_count--;
    }
}

/* The largest packet that the port may send now. */
static size_t ib_port_packet_max(const IbHcaPort *port, uint8_t vl, bool loop)
{
    if (loop) {
        return IB_LINK_PACKET_MAX;
    }
    return (vl == IB_VL_SM ? IB_MAD_BYTES
                           : 128u << ib_link_neighbor_mtu(port->link)) +
           IB_LINK_HEADER_BYTES;
}

IbTxOpen ib_tx_open(IbTx *tx, IbQp *qp, bool loop, uint8_t vl, size_t len)
{
    IbHcaPort *port = qp->port;
    IbLoopPacket *slot;

    if (qp->hca->budget) {
        qp->hca->budget--;
    }
    if (len > ib_port_packet_max(port, vl, loop)) {
        ib_hca_discard(port, true, qp->qpn, IB_DISCARD_TX_MTU, NULL, 0);
        return IB_TX_DROP;
    }
    tx->port = port;
    tx->len = len;
    tx->loop = loop;
    if (loop) {
        /* A turn never fills the queue, which is empty when it begins. */
        slot = ib_loop_tail(qp->hca);
        if (!slot) {
            return IB_TX_DROP;
        }
        slot->port = port->num;
        slot->len = len;
        tx->buf = slot->data;
        return IB_TX_OPEN;
    }
    tx->buf = ib_link_tx_allowed(port->link, vl)
              ? ib_link_tx_begin(port->link, vl, len) : NULL;
    if (tx->buf) {
        return IB_TX_OPEN;
    }
    /* Asked again: making room may have shown that the cable is gone. */
    if (!ib_link_tx_allowed(port->link, vl)) {
        ib_hca_discard(port, true, qp->qpn, IB_DISCARD_TX_PORT, NULL, 0);
        return IB_TX_DROP;
    }
    port->dirty = true;           /* credits may have come meanwhile */
    ib_qp_wait(qp, vl);
    return IB_TX_WAIT;
}

void ib_tx_cancel(IbTx *tx)
{
    if (!tx->loop) {
        ib_link_tx_cancel(tx->port->link);
    }
}

static void ib_count_member(void *arg, uint32_t qpn)
{
    unsigned *members = arg;

    (*members)++;
}

static void ib_tx_replicate(IbTx *tx)
{
    IbHca *hca = tx->port->hca;
    unsigned members = 0;

    if (ib_lrh_lnh(tx->buf) != IB_LNH_GRH) {
        return;
    }
    hca->ops->multicast(hca->opaque, tx->port->num,
                        tx->buf + IB_LRH_BYTES + IB_GRH_DGID_OFFSET, true,
                        ib_count_member, &members);
    if (members) {
        ib_loop_put(tx->port, tx->buf, tx->len);
    }
}

void ib_tx_close(IbTx *tx, IbQp *qp)
{
    IbHcaPort *port = tx->port;
    IbHca *hca = port->hca;
    bool crc = !tx->loop && ib_link_config(port->link)->crc;

    ib_packet_seal(tx->buf, crc);
    if (hca->trace) {
        hca->ops->trace_packet(hca->opaque, port->num, true, qp->qpn, NULL,
                               tx->buf, tx->len);
    }
    if (tx->loop) {
        hca->loop_count++;
        return;
    }
    if (ib_lid_is_multicast(ib_lrh_dlid(tx->buf))) {
        ib_tx_replicate(tx);
    }
    ib_link_tx_end(port->link, crc ? 0 : IB_PACKET_NO_ICRC);
    port->dirty = true;
}

void ib_tx_send_smp(IbHcaPort *port, const uint8_t *mad, uint16_t dlid,
                    uint8_t sl)
{
    IbHca *hca = port->hca;
    IbAddress address = { .dlid = dlid, .sl = sl };
    IbPacketRoute route = { 0 };
    IbPacketBth bth = {
        .opcode = IB_OP_UD_SEND_ONLY, .pkey = IB_PKEY_DEFAULT,
        .dest_qpn = IB_QPN_SMI,
    };
    uint8_t buf[IB_LRH_BYTES + IB_BTH_BYTES + IB_DETH_BYTES + IB_MAD_BYTES +
                IB_ICRC_BYTES];
    bool loop = ib_tx_route(port, &address, &route);
    bool crc = ib_link_config(port->link)->crc;
    IbPacket packet = { .data = buf, .len = sizeof(buf), .vl = IB_VL_SM,
                        .flags = crc ? 0 : IB_PACKET_NO_ICRC };

    route.vl = IB_VL_SM;
    memcpy(buf + ib_packet_put_ud(buf, &route, &bth, 0, IB_QPN_SMI, 0,
                                  IB_MAD_BYTES), mad, IB_MAD_BYTES);
    ib_packet_seal(buf, crc);
    if (hca->trace) {
        hca->ops->trace_packet(hca->opaque, port->num, true, IB_QPN_SMI, NULL,
                               buf, sizeof(buf));
    }
    if (loop) {
        /* A subnet manager on this very port. */
        ib_hca_enter(hca);
        ib_loop_put(port, buf, sizeof(buf));
        ib_hca_leave(hca);
        return;
    }
    ib_link_transmit(port->link, &packet, IB_VL_SM);
    if (packet.buf) {
        ib_packet_release(&packet);
    }
    ib_link_flush(port->link);
}
