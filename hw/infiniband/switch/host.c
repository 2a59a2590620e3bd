/*
 * The processor behind port 0
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What it is given of what comes to port 0, and what it sends from there.
 * Without one (IbSwitch.host is 0) port 0 is as if this file were not there.
 */
#include "switch-int.h"

void ib_switch_set_host(IbSwitch *sw, unsigned mask)
{
    sw->host = mask;
}

/* -------------------------------------------------------- to the processor */

static bool give(IbSwitch *sw, uint8_t in_port, const IbPacket *packet)
{
    return sw->ops->host_receive &&
           sw->ops->host_receive(sw->opaque, in_port, packet);
}

bool ib_host_takes(const IbSwitch *sw, const uint8_t *mad)
{
    unsigned all = ib_mad_is_smp(mad) ? IB_HOST_SMPS : IB_HOST_GMPS;

    return sw->host & all ||
           (sw->host & IB_HOST_MANAGERS &&
            ib_node_is_for_manager(sw->node, mad));
}

void ib_host_give_mad(IbSwitch *sw, uint8_t in_port, const IbPacket *packet,
                      size_t payload, const uint8_t *mad)
{
    uint8_t buf[IB_PORT0_MAD_PACKET_MAX];
    IbPacket copy = { .data = buf, .vl = packet->vl };

    memcpy(buf, packet->data, packet->len);
    memcpy(buf + payload, mad, IB_MAD_BYTES);
    copy.len = ib_packet_seal(buf, true);
    if (!give(sw, in_port, &copy) && ib_mad_is_smp(mad)) {
        ib_node_counters(sw->node, 0)->vl15_dropped++;
    }
}

bool ib_host_give_data(IbSwitch *sw, uint8_t in_port, const IbPacket *packet,
                       const IbPacketInfo *info)
{
    uint8_t buf[IB_LINK_PACKET_MAX];
    IbPacket copy = *packet;

    if (!(sw->host & IB_HOST_DATA) || packet->len > sizeof(buf)) {
        return false;
    }
    if (info->bth && packet->flags & IB_PACKET_NO_ICRC) {
        memcpy(buf, packet->data, packet->len);
        ib_packet_seal(buf, true);
        copy.data = buf;
        copy.flags &= ~IB_PACKET_NO_ICRC;
    }
    give(sw, in_port, &copy);
    return true;
}

/* A MAD that port 0 has sent to itself. */
static bool give_own(IbSwitch *sw, uint8_t sl, const uint8_t *mad)
{
    bool smp = ib_mad_is_smp(mad);
    unsigned qpn = smp ? IB_QPN_SMI : IB_QPN_GSI;
    uint8_t buf[IB_PORT0_MAD_PACKET_MAX];
    IbPacketRoute route = {
        .vl = smp ? IB_VL_SM : 0,
        .sl = sl,
        .slid = sw->own_lid,
        .dlid = sw->own_lid,
    };
    IbPacketBth bth = {
        .opcode = IB_OP_UD_SEND_ONLY,
        .pkey = smp ? IB_PKEY_DEFAULT : ib_node_pkey(sw->node, 0, 0),
        .dest_qpn = qpn,
        .psn = sw->psn[qpn]++ & IB_PSN_MASK,
    };
    IbPacket packet = { .data = buf, .vl = route.vl };
    size_t at = ib_packet_put_ud(buf, &route, &bth,
                                 smp ? 0 : IB_QKEY_WELL_KNOWN, qpn, 0,
                                 IB_MAD_BYTES);

    memcpy(buf + at, mad, IB_MAD_BYTES);
    packet.len = ib_packet_seal(buf, true);
    return give(sw, 0, &packet);
}

bool ib_host_give_trap(IbSwitch *sw, uint8_t sl, const uint8_t *mad)
{
    return sw->host & IB_HOST_MANAGERS && give_own(sw, sl, mad);
}

/* ------------------------------------------------------ from the processor */

static bool port_ok(const IbSwitch *sw, uint8_t port)
{
    return port == IB_HOST_BY_TABLE || (port && port <= sw->num_ports);
}

IbHostSend ib_switch_send_packet(IbSwitch *sw, uint8_t out_port,
                                 const uint8_t *data, size_t len)
{
    uint8_t buf[IB_LINK_PACKET_MAX];
    IbPacket packet = { .data = buf, .len = len };
    IbPacketInfo info;
    IbDiscard why;
    uint8_t out = out_port;
    uint16_t dlid;
    bool sent;

    if (len > sizeof(buf) || ib_packet_parse(data, len, &info)) {
        return IB_HOST_MALFORMED;
    }
    if (!port_ok(sw, out_port)) {
        return IB_HOST_NO_ROUTE;
    }
    memcpy(buf, data, len);
    if (info.bth) {
        ib_packet_seal(buf, true);
    }
    packet.vl = ib_field_get(buf, IB_LRH_VL);
    dlid = ib_lrh_dlid(buf);
    if (out == IB_HOST_BY_TABLE && ib_lid_is_multicast(dlid)) {
        ib_port0_count_sent(sw, buf, len);
        ib_switch_multicast(sw, &sw->ports[0], &packet);
        ib_port0_flush(sw);
        return IB_HOST_SENT;
    }
    if (out == IB_HOST_BY_TABLE) {
        out = ib_switch_route(sw, &sw->ports[0], dlid, &why);
        if (out == 0 || out == IB_NO_PORT) {
            return IB_HOST_NO_ROUTE;
        }
    }
    sent = ib_switch_forward(sw, &sw->ports[0], out, &packet);
    if (sent) {
        ib_port0_count_sent(sw, buf, len);
    }
    ib_port0_flush(sw);
    return sent ? IB_HOST_SENT : IB_HOST_DISCARDED;
}

/* A MAD to this node from itself; the agents' answer is for the processor. */
static IbHostSend send_to_self(IbSwitch *sw, uint8_t sl, const uint8_t *mad)
{
    uint8_t reply[IB_MAD_BYTES];
    bool given;

    if (ib_node_is_for_manager(sw->node, mad)) {
        given = give_own(sw, sl, mad);
        return given ? IB_HOST_SENT : IB_HOST_DISCARDED;
    }
    switch (ib_node_process_mad(sw->node, 0, sw->own_lid, 0, mad, reply)) {
    case IB_MAD_REPLY:
        break;
    case IB_MAD_CONSUMED:
        return IB_HOST_SENT;
    default:
        return IB_HOST_DISCARDED;
    }
    if (ib_field_get(reply, IB_MAD_MGMT_CLASS) ==
        IB_CLASS_SUBN_DIRECTED_ROUTE) {
        ib_smi_reply(sw->node, 0, sw->own_lid, reply);
    }
    given = give_own(sw, sl, reply);
    return given ? IB_HOST_SENT : IB_HOST_DISCARDED;
}

static IbHostSend send_directed(IbSwitch *sw, const IbHostMad *to,
                                const uint8_t *mad)
{
    uint8_t smp[IB_MAD_BYTES];
    IbDiscard why;
    IbSmiResult smi;
    uint8_t out;

    memcpy(smp, mad, IB_MAD_BYTES);
    smi = ib_field_get(smp, IB_SMP_D)
          ? ib_smi_reply(sw->node, 0, to->dlid, smp)
          : ib_smi_process(sw->node, 0, smp);
    if (smi.action == IB_SMI_LOCAL) {
        return send_to_self(sw, to->sl, smp);
    }
    if (smi.action == IB_SMI_DISCARD) {
        return IB_HOST_NO_ROUTE;
    }
    out = smi.out_port;
    if (smi.lid_routed) {
        if (ib_switch_own_lid(sw, smi.dlid)) {
            return send_to_self(sw, to->sl, smp);
        }
        out = to->out_port;
        if (out == IB_HOST_BY_TABLE) {
            out = ib_switch_route(sw, &sw->ports[0], smi.dlid, &why);
        }
    }
    if (out == 0 || out == IB_NO_PORT) {
        return IB_HOST_NO_ROUTE;
    }
    return ib_port0_send_smp_from(sw, out, to->sl, smi.slid, smi.dlid, smp)
           ? IB_HOST_SENT : IB_HOST_DISCARDED;
}

static IbHostSend send_routed(IbSwitch *sw, const IbHostMad *to,
                              const uint8_t *mad)
{
    uint8_t out = to->out_port;
    IbPacketRoute route = {
        .sl = to->sl,
        .slid = sw->own_lid,
        .dlid = to->dlid,
    };
    IbDiscard why;

    if (out == IB_HOST_BY_TABLE) {
        out = ib_switch_route(sw, &sw->ports[0], to->dlid, &why);
        if (out == 0) {
            return send_to_self(sw, to->sl, mad);
        }
        if (out == IB_NO_PORT) {
            return IB_HOST_NO_ROUTE;
        }
    }
    if (ib_mad_is_smp(mad)) {
        return ib_port0_send_smp_from(sw, out, to->sl, sw->own_lid, to->dlid,
                                      mad)
               ? IB_HOST_SENT : IB_HOST_DISCARDED;
    }
    route.vl = ib_sl2vl(sw->sl2vl, 0, out)[to->sl];
    return ib_port0_send_gmp(sw, out, &route,
                             ib_node_pkey(sw->node, 0, to->pkey_index),
                             to->dest_qpn, mad)
           ? IB_HOST_SENT : IB_HOST_DISCARDED;
}

IbHostSend ib_switch_send_mad(IbSwitch *sw, const IbHostMad *to,
                              const uint8_t mad[IB_MAD_BYTES])
{
    if (to->sl >= IB_SL_COUNT || to->dest_qpn > IB_QPN_MASK) {
        return IB_HOST_MALFORMED;
    }
    if (!port_ok(sw, to->out_port) ||
        to->pkey_index >= ib_node_pkey_cap(sw->node, 0)) {
        return IB_HOST_NO_ROUTE;
    }
    if (ib_field_get(mad, IB_MAD_MGMT_CLASS) ==
        IB_CLASS_SUBN_DIRECTED_ROUTE) {
        return send_directed(sw, to, mad);
    }
    return send_routed(sw, to, mad);
}
