/*
 * Port 0: the packets around the MADs of QP0 and QP1
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The only port of a switch with a transport layer.  QP0 takes SMPs on VL15,
 * QP1 takes GMPs on data VLs (IBA Vol.1 3.5.3, 13.5, 14.2, 18.2.4.4); what else
 * the tables send here is discarded.  The agents behind the queue pairs are
 * ib-agent.h's.
 */
#include "switch-int.h"

static void trace_mad(IbSwitch *sw, uint8_t port, bool out,
                      const uint8_t *mad)
{
    if (sw->trace && sw->ops->trace_mad) {
        sw->ops->trace_mad(sw->opaque, port, out, mad);
    }
}

/* Port 0 has no link to count for it; its agents know unicast only. */
static void count_received(IbSwitch *sw, const IbPacket *packet)
{
    IbLinkCounters *c = ib_node_counters(sw->node, 0);

    c->rcv_pkts++;
    c->unicast_rcv_pkts++;
    c->rcv_data += packet->len / 4;
    c->rcv_data_sl[ib_lrh_sl(packet->data)] += packet->len / 4;
}

void ib_port0_count_sent(IbSwitch *sw, const uint8_t *packet, size_t len)
{
    IbLinkCounters *c = ib_node_counters(sw->node, 0);

    c->xmit_pkts++;
    if (ib_lid_is_multicast(ib_lrh_dlid(packet))) {
        c->multicast_xmit_pkts++;
    } else {
        c->unicast_xmit_pkts++;
    }
    c->xmit_data += len / 4;
    c->xmit_data_sl[ib_lrh_sl(packet)] += len / 4;
}

void ib_port0_flush(IbSwitch *sw)
{
    if (!sw->receiving) {
        ib_switch_flush(sw);
    }
}

/* Send a packet of port 0's own, made in @buf, through port @out. */
static bool send_packet(IbSwitch *sw, uint8_t out, uint8_t *buf, size_t len,
                        uint8_t vl, uint8_t flags)
{
    IbPacket packet = { .data = buf, .len = len, .vl = vl, .flags = flags };
    bool sent = ib_switch_emit(sw, &sw->ports[0], out, &packet, vl);

    ib_port0_flush(sw);
    return sent;
}

static bool send_mad(IbSwitch *sw, uint8_t out, unsigned qpn,
                     const IbPacketRoute *route, uint16_t pkey, uint32_t qkey,
                     uint32_t dest_qpn, const uint8_t *mad)
{
    uint8_t buf[IB_PORT0_MAD_PACKET_MAX];
    IbPacketBth bth = {
        .opcode = IB_OP_UD_SEND_ONLY,
        .pkey = pkey,
        .dest_qpn = dest_qpn,
        .psn = sw->psn[qpn]++ & IB_PSN_MASK,
    };
    size_t at = ib_packet_put_ud(buf, route, &bth, qkey, qpn, 0,
                                 IB_MAD_BYTES);
    size_t len;

    memcpy(buf + at, mad, IB_MAD_BYTES);
    len = ib_packet_seal(buf, true);
    trace_mad(sw, out, true, mad);
    ib_port0_count_sent(sw, buf, len);
    return send_packet(sw, out, buf, len, route->vl, 0);
}

/* P_Keys mean nothing on QP0 (14.2.1.1); both Q_Keys are 0. */
bool ib_port0_send_smp_from(IbSwitch *sw, uint8_t out, uint8_t sl,
                            uint16_t slid, uint16_t dlid, const uint8_t *smp)
{
    IbPacketRoute route = {
        .vl = IB_VL_SM,
        .sl = sl,
        .slid = slid,
        .dlid = dlid,
    };

    return send_mad(sw, out, IB_QPN_SMI, &route, IB_PKEY_DEFAULT, 0,
                    IB_QPN_SMI, smp);
}

bool ib_port0_send_gmp(IbSwitch *sw, uint8_t out, const IbPacketRoute *route,
                       uint16_t pkey, uint32_t dest_qpn, const uint8_t *gmp)
{
    if (route->vl == IB_VL_SM) {
        sw->discards[IB_DISCARD_SL2VL]++;
        return false;
    }
    return send_mad(sw, out, IB_QPN_GSI, route, pkey, IB_QKEY_WELL_KNOWN,
                    dest_qpn, gmp);
}

/*
 * The exit port of a MAD of port 0's own for @dlid, or IB_NO_PORT: also when
 * it would come back here, where nobody waits for it.
 */
static uint8_t own_route(IbSwitch *sw, uint16_t dlid)
{
    IbDiscard why;
    uint8_t out = IB_NO_PORT;

    if (dlid != IB_LID_PERMISSIVE) {
        out = ib_switch_route(sw, &sw->ports[0], dlid, &why);
    }
    return out ? out : IB_NO_PORT;
}

void ib_port0_send_smp(void *opaque, uint8_t port, const uint8_t *mad,
                       uint16_t dlid, uint8_t sl)
{
    IbSwitch *sw = opaque;
    uint8_t out;

    if (sw->host & IB_HOST_SMPS) {
        return;                   /* its SMA speaks for the node */
    }
    if (ib_switch_own_lid(sw, dlid) && ib_host_give_trap(sw, sl, mad)) {
        return;
    }
    out = own_route(sw, dlid);
    if (out != IB_NO_PORT) {
        ib_port0_send_smp_from(sw, out, sl, sw->own_lid, dlid, mad);
    }
}

/*
 * A directed-route SMP on its way through: the packet as it came, with the
 * MAD that the SMI has advanced and the next hop's LIDs.
 */
static void relay_smp(IbSwitch *sw, uint8_t out, const IbPacket *packet,
                      const IbPacketInfo *info, const IbSmiResult *smi,
                      const uint8_t *smp)
{
    uint8_t buf[IB_PORT0_MAD_PACKET_MAX];
    uint8_t no_icrc = packet->flags & IB_PACKET_NO_ICRC;

    memcpy(buf, packet->data, packet->len);
    memcpy(buf + info->payload, smp, IB_MAD_BYTES);
    ib_field_set(buf, IB_LRH_SLID, smi->slid);
    ib_field_set(buf, IB_LRH_DLID, smi->dlid);
    send_packet(sw, out, buf, ib_packet_seal(buf, !no_icrc), IB_VL_SM,
                no_icrc);
}

/* Where the SMI wants an SMP to go, IB_NO_PORT and why not otherwise. */
static uint8_t smi_out_port(IbSwitch *sw, const IbSwitchPort *in,
                            const IbSmiResult *smi, IbDiscard *why)
{
    uint8_t out = smi->out_port;

    *why = IB_DISCARD_SMP;
    if (smi->lid_routed) {
        out = smi->dlid == IB_LID_PERMISSIVE
              ? IB_NO_PORT : ib_switch_route(sw, in, smi->dlid, why);
    } else if (out > sw->num_ports) {
        *why = IB_DISCARD_NO_PORT;
        return IB_NO_PORT;
    }
    return out ? out : IB_NO_PORT;
}

/* An SMP for this node's SMA.  @smp may be changed. */
static void smp_local(IbSwitch *sw, IbSwitchPort *in, const IbPacket *packet,
                      const IbPacketInfo *info, uint8_t *smp)
{
    const uint8_t *lrh = packet->data;
    uint8_t sl = ib_lrh_sl(lrh);
    uint16_t dlid = ib_lrh_dlid(lrh);
    uint8_t reply[IB_MAD_BYTES];
    IbMadVerdict verdict;
    IbSmiResult smi;
    IbDiscard why;
    uint8_t out;

    trace_mad(sw, in->num, false, smp);
    count_received(sw, packet);
    if (G_UNLIKELY(sw->host) && ib_host_takes(sw, smp)) {
        ib_host_give_mad(sw, in->num, packet, info->payload, smp);
        return;
    }
    verdict = ib_node_process_mad(sw->node, in->num, ib_lrh_slid(lrh), 0,
                                  smp, reply);
    if (verdict == IB_MAD_DROPPED) {
        ib_switch_discard(sw, in, IB_DISCARD_MKEY, packet);
    }
    if (verdict != IB_MAD_REPLY) {
        return;
    }
    if (ib_field_get(reply, IB_MAD_MGMT_CLASS) ==
        IB_CLASS_SUBN_LID_ROUTED) {
        /* Out where it came in; the next switch has a route or not. */
        ib_port0_send_smp_from(sw, in->num, sl,
                               dlid == IB_LID_PERMISSIVE ? sw->own_lid : dlid,
                               ib_lrh_slid(lrh), reply);
        return;
    }
    smi = ib_smi_reply(sw->node, in->num, ib_lrh_slid(lrh), reply);
    if (smi.action != IB_SMI_FORWARD) {
        ib_switch_discard(sw, in, IB_DISCARD_SMP, packet);
        return;
    }
    out = smi_out_port(sw, &sw->ports[0], &smi, &why);
    if (out == IB_NO_PORT && smi.lid_routed) {
        out = in->num;            /* as for one that was all LID-routed */
    }
    if (out == IB_NO_PORT) {
        ib_switch_discard(sw, in, why, packet);
        return;
    }
    ib_port0_send_smp_from(sw, out, sl, smi.slid, smi.dlid, reply);
}

/* A packet to QP0 or QP1 with a key that is not theirs (10.2.4, 10.9.3). */
static void bad_key(IbSwitch *sw, IbSwitchPort *in, const IbPacket *packet,
                    const IbPacketInfo *info, uint16_t trap)
{
    const uint8_t *data = packet->data;
    IbKeyViolation violation;

    ib_enforce_violation(packet, info, 0, &violation);
    if (trap == IB_TRAP_BAD_P_KEY) {
        violation.key = ib_field_get(data + info->bth, IB_BTH_PKEY);
        ib_switch_discard(sw, in, IB_DISCARD_PKEY, packet);
        ib_node_pkey_violation(sw->node, 0);
    } else {
        violation.key = ib_field_get(data + info->deth, IB_DETH_QKEY);
        ib_switch_discard(sw, in, IB_DISCARD_QKEY, packet);
        ib_node_qkey_violation(sw->node, 0);
    }
    ib_node_key_trap(sw->node, 0, trap, &violation);
}

static void receive_smp(IbSwitch *sw, IbSwitchPort *in,
                        const IbPacket *packet, const IbPacketInfo *info)
{
    uint8_t smp[IB_MAD_BYTES];
    IbSmiResult smi;
    IbDiscard why = IB_DISCARD_SMP;
    uint8_t out;

    /* SMPs have no GRH and fill the MAD (14.2.1, 13.4.2). */
    if (packet->vl != IB_VL_SM || info->grh ||
        info->payload_len != IB_MAD_BYTES ||
        ib_lid_is_multicast(ib_lrh_slid(packet->data)) ||
        !ib_mad_is_smp(packet->data + info->payload)) {
        ib_switch_discard(sw, in, IB_DISCARD_SMP, packet);
        return;
    }
    if (ib_field_get(packet->data + info->deth, IB_DETH_QKEY) != 0) {
        bad_key(sw, in, packet, info, IB_TRAP_BAD_Q_KEY);
        return;
    }
    memcpy(smp, packet->data + info->payload, IB_MAD_BYTES);
    if (ib_field_get(smp, IB_MAD_MGMT_CLASS) == IB_CLASS_SUBN_LID_ROUTED) {
        smp_local(sw, in, packet, info, smp);
        return;
    }
    smi = ib_smi_process(sw->node, in->num, smp);
    switch (smi.action) {
    case IB_SMI_LOCAL:
        smp_local(sw, in, packet, info, smp);
        return;
    case IB_SMI_FORWARD:
        out = smi_out_port(sw, in, &smi, &why);
        if (out != IB_NO_PORT) {
            relay_smp(sw, out, packet, info, &smi, smp);
            return;
        }
        break;
    case IB_SMI_DISCARD:
        break;
    }
    ib_switch_discard(sw, in, why, packet);
}

/* A GRH names one of port 0's GIDs, or a group (8.4.1, 9.6.1.2). */
static bool own_gid(const IbSwitch *sw, const uint8_t *gid)
{
    uint64_t prefix = ib_get_be64(gid);

    return gid[0] == 0xff ||
           ((prefix == IB_GID_PREFIX_DEFAULT ||
             prefix == ib_node_gid_prefix(sw->node, 0)) &&
            ib_get_be64(gid + 8) == ib_node_guid(sw->node, 0, 0));
}

/* The way back of a GMP: addresses swapped, GRH for GRH (13.5.4). */
static void reply_route(const IbSwitch *sw, const IbPacket *packet,
                        const IbPacketInfo *info, IbPacketRoute *route)
{
    const uint8_t *lrh = packet->data;
    const uint8_t *grh = lrh + info->grh;
    uint16_t dlid = ib_lrh_dlid(lrh);

    memset(route, 0, sizeof(*route));
    route->sl = ib_lrh_sl(lrh);
    route->dlid = ib_lrh_slid(lrh);
    route->slid = ib_lid_is_unicast(dlid) ? dlid : sw->own_lid;
    if (info->grh) {
        route->has_grh = true;
        route->tclass = ib_field_get(grh, IB_GRH_TCLASS);
        route->flow_label = ib_field_get(grh, IB_GRH_FLOWLABEL);
        route->hop_limit = 0xff;
        memcpy(route->dgid, grh + IB_GRH_SGID_OFFSET, IB_GID_BYTES);
        memcpy(route->sgid, grh + IB_GRH_DGID_OFFSET, IB_GID_BYTES);
        if (route->sgid[0] == 0xff) {
            ib_put_be64(route->sgid, ib_node_gid_prefix(sw->node, 0));
            ib_put_be64(route->sgid + 8, ib_node_guid(sw->node, 0, 0));
        }
    }
}

static void receive_gmp(IbSwitch *sw, IbSwitchPort *in,
                        const IbPacket *packet, const IbPacketInfo *info)
{
    const uint8_t *data = packet->data;
    uint8_t reply[IB_MAD_BYTES];
    IbPacketRoute route;
    IbMadVerdict verdict;
    int pkey_index;
    uint8_t out;

    if (packet->vl == IB_VL_SM || info->payload_len != IB_MAD_BYTES ||
        !ib_lid_is_unicast(ib_lrh_slid(data)) ||
        ib_mad_is_smp(data + info->payload) ||
        (info->grh && !own_gid(sw, data + info->grh + IB_GRH_DGID_OFFSET))) {
        ib_switch_discard(sw, in, IB_DISCARD_NOT_MANAGEMENT, packet);
        return;
    }
    pkey_index = ib_node_pkey_match(sw->node, 0,
                                    ib_field_get(data + info->bth,
                                                 IB_BTH_PKEY));
    if (pkey_index < 0) {
        bad_key(sw, in, packet, info, IB_TRAP_BAD_P_KEY);
        return;
    }
    if (ib_field_get(data + info->deth, IB_DETH_QKEY) !=
        IB_QKEY_WELL_KNOWN) {
        bad_key(sw, in, packet, info, IB_TRAP_BAD_Q_KEY);
        return;
    }
    trace_mad(sw, in->num, false, data + info->payload);
    count_received(sw, packet);
    if (G_UNLIKELY(sw->host) && ib_host_takes(sw, data + info->payload)) {
        ib_host_give_mad(sw, in->num, packet, info->payload,
                         data + info->payload);
        return;
    }
    verdict = ib_node_process_mad(sw->node, in->num, ib_lrh_slid(data), 0,
                                  data + info->payload, reply);
    if (verdict != IB_MAD_REPLY) {
        return;
    }
    reply_route(sw, packet, info, &route);
    out = own_route(sw, route.dlid);
    if (out == IB_NO_PORT) {
        out = in->num;
    }
    route.vl = ib_sl2vl(sw->sl2vl, 0, out)[route.sl];
    if (route.vl == IB_VL_SM) {
        ib_switch_discard(sw, &sw->ports[0], IB_DISCARD_SL2VL, packet);
        return;
    }
    ib_port0_send_gmp(sw, out, &route, ib_node_pkey(sw->node, 0, pkey_index),
                      ib_field_get(data + info->deth, IB_DETH_SQPN), reply);
}

void ib_port0_receive(IbSwitch *sw, IbSwitchPort *in, IbPacket *packet)
{
    IbPacketInfo info;
    IbPacketStatus status = ib_packet_parse(packet->data, packet->len, &info);
    uint32_t qpn;

    if (status != IB_PACKET_OK && status != IB_PACKET_BAD_OPCODE) {
        ib_switch_discard(sw, in, IB_DISCARD_MALFORMED, packet);
        return;
    }
    if (packet->vl != IB_VL_SM &&
        ib_lrh_dlid(packet->data) == IB_LID_PERMISSIVE) {
        ib_switch_discard(sw, in, IB_DISCARD_PERMISSIVE, packet);
        return;
    }
    if (status == IB_PACKET_OK && info.bth &&
        info.opcode == IB_OP_UD_SEND_ONLY) {
        qpn = ib_field_get(packet->data + info.bth, IB_BTH_DQPN);
        if (qpn == IB_QPN_SMI) {
            receive_smp(sw, in, packet, &info);
            return;
        }
        if (qpn == IB_QPN_GSI) {
            receive_gmp(sw, in, packet, &info);
            return;
        }
    }
    if (G_UNLIKELY(sw->host) && status == IB_PACKET_OK &&
        ib_host_give_data(sw, in->num, packet, &info)) {
        return;
    }
    ib_switch_discard(sw, in, IB_DISCARD_NOT_MANAGEMENT, packet);
}
