/*
 * The forwarding engine: from the receiving port to the sending ones
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IBA Vol.1 18.2.4.  A packet that was received whole and right costs one
 * look into the forwarding table, one into the SL-to-VL map and the copy into
 * the frame that is being filled at its exit port; everything else is off
 * that path.
 */
#include "switch-int.h"

/*
 * PortRcvSwitchRelayErrors counts what the relay could not map, DLID or VL,
 * and PortRcvErrorDetails which of both (IBA Vol.1 16.1.3.5, 16.1.4.1); what
 * the exit port refuses is its PortXmitDiscards and counted by the link.
 */
#define RELAY(detail)  offsetof(IbLinkCounters, detail ## _errors)

static const struct {
    const char *name;
    size_t detail;                /* of a relay error; 0: it is none */
} discard_info[IB_DISCARD_COUNT] = {
    [IB_DISCARD_MALFORMED]       = { "malformed", 0 },
    [IB_DISCARD_DLID_ZERO]       = { "dlid-zero", RELAY(dlid_mapping) },
    [IB_DISCARD_ABOVE_CAP]       = { "above-cap", RELAY(dlid_mapping) },
    [IB_DISCARD_ABOVE_TOP]       = { "above-top", RELAY(dlid_mapping) },
    [IB_DISCARD_NO_ROUTE]        = { "no-route", RELAY(dlid_mapping) },
    [IB_DISCARD_NO_PORT]         = { "no-port", RELAY(dlid_mapping) },
    [IB_DISCARD_PORT_DOWN]       = { "port-down", 0 },
    [IB_DISCARD_SAME_PORT]       = { "same-port", 0 },
    [IB_DISCARD_NOT_MANAGEMENT]  = { "not-management", RELAY(dlid_mapping) },
    [IB_DISCARD_PERMISSIVE]      = { "permissive", RELAY(dlid_mapping) },
    [IB_DISCARD_SL2VL]           = { "sl2vl", RELAY(vl_mapping) },
    [IB_DISCARD_MTU]             = { "mtu", 0 },
    [IB_DISCARD_MCAST_EMPTY]     = { "mcast-empty", RELAY(dlid_mapping) },
    [IB_DISCARD_MCAST_TRANSPORT] = { "mcast-transport", RELAY(dlid_mapping) },
    [IB_DISCARD_SMP]             = { "smp", 0 },
    [IB_DISCARD_MKEY]            = { "mkey", 0 },
    [IB_DISCARD_QKEY]            = { "qkey", 0 },
    [IB_DISCARD_PKEY]            = { "pkey", 0 },
    [IB_DISCARD_RAW]             = { "raw", 0 },
    [IB_DISCARD_LIFETIME]        = { "lifetime", 0 },
    [IB_DISCARD_LOOP]            = { "loop", RELAY(looping) },
};

const char *ib_discard_name(IbDiscard reason)
{
    return (unsigned)reason < IB_DISCARD_COUNT ? discard_info[reason].name
                                               : "?";
}

static void count_relay_error(IbLinkCounters *counters, size_t detail)
{
    uint64_t *count = (uint64_t *)((char *)counters + detail);

    counters->rcv_switch_relay_errors++;
    ++*count;
}

void ib_switch_discard(IbSwitch *sw, const IbSwitchPort *in, IbDiscard why,
                       const IbPacket *packet)
{
    sw->discards[why]++;
    if (in->link && discard_info[why].detail) {
        count_relay_error(ib_link_counters(in->link),
                          discard_info[why].detail);
    }
    if (sw->trace && sw->ops->trace_packet) {
        sw->ops->trace_packet(sw->opaque, in->num, IB_NO_PORT, why,
                              packet->data, packet->len);
    }
}

static inline void trace_packet(IbSwitch *sw, const IbSwitchPort *in,
                                uint8_t out, const IbPacket *packet)
{
    if (G_UNLIKELY(sw->trace) && sw->ops->trace_packet) {
        sw->ops->trace_packet(sw->opaque, in->num, out, -1, packet->data,
                              packet->len);
    }
}

/* The link of @out did not take a packet and counted it: find out why. */
static IbDiscard refusal(const IbSwitch *sw, uint8_t out,
                         const IbPacket *packet, uint8_t vl)
{
    const IbLink *link = sw->ports[out].link;
    uint8_t state = ib_link_state(link);

    if (vl == IB_VL_SM) {
        return IB_DISCARD_PORT_DOWN;
    }
    if (state != IB_PORT_ACTIVE) {
        return IB_DISCARD_PORT_DOWN;
    }
    if (vl >= ib_vls_to_count(ib_link_operational_vls(link))) {
        return IB_DISCARD_SL2VL;
    }
    if (ib_link_vl_stalled(link, vl)) {
        return IB_DISCARD_LIFETIME;
    }
    return IB_DISCARD_MTU;
}

bool ib_switch_emit(IbSwitch *sw, const IbSwitchPort *in, uint8_t out,
                    IbPacket *packet, uint8_t vl)
{
    IbSwitchPort *port = &sw->ports[out];
    IbTxResult result;

    if (G_UNLIKELY(port->enforce & (IB_ENFORCE_OUT | IB_PORT_MARKS)) &&
        vl != IB_VL_SM) {
        if ((port->enforce & IB_ENFORCE_OUT) &&
            !ib_enforce_outbound(sw, in, port, packet)) {
            return false;
        }
        if ((port->enforce & IB_PORT_MARKS) &&
            ib_congestion_marks(sw, port, packet, vl)) {
            packet->flags |= IB_PACKET_FECN;
        }
    }
    result = ib_link_transmit(port->link, packet, vl);
    packet->flags &= ~IB_PACKET_FECN;     /* another port may not mark it */
    if (G_UNLIKELY(result == IB_TX_DISCARDED)) {
        ib_switch_discard(sw, in, refusal(sw, out, packet, vl), packet);
        return false;
    }
    if (!port->dirty) {
        port->dirty = true;
        sw->dirty[sw->dirty_count++] = out;
    }
    trace_packet(sw, in, out, packet);
    return true;
}

/*
 * Sending may bring frames in before it returns (a cable within one process),
 * so the list is right at each step.
 */
void ib_switch_flush(IbSwitch *sw)
{
    while (sw->dirty_count) {
        IbSwitchPort *port = &sw->ports[sw->dirty[--sw->dirty_count]];

        port->dirty = false;
        ib_link_flush(port->link);
    }
}

/* VL15 stays VL15; a data packet's VL is the exit port's map's (7.6.6). */
static inline bool forward(IbSwitch *sw, const IbSwitchPort *in, uint8_t out,
                           IbPacket *packet)
{
    uint8_t vl = IB_VL_SM;

    if (G_LIKELY(packet->vl != IB_VL_SM)) {
        vl = ib_sl2vl(sw->sl2vl, in->num, out)[ib_lrh_sl(packet->data)];
        if (G_UNLIKELY(vl == IB_VL_SM)) {
            ib_switch_discard(sw, in, IB_DISCARD_SL2VL, packet);
            return false;
        }
    }
    return ib_switch_emit(sw, in, out, packet, vl);
}

bool ib_switch_forward(IbSwitch *sw, const IbSwitchPort *in, uint8_t out,
                       IbPacket *packet)
{
    return forward(sw, in, out, packet);
}

uint8_t ib_switch_route(IbSwitch *sw, const IbSwitchPort *in,
                        uint16_t dlid, IbDiscard *why)
{
    if (dlid == IB_LID_RESERVED) {
        *why = IB_DISCARD_DLID_ZERO;
        return IB_NO_PORT;
    }
    if (dlid == IB_LID_PERMISSIVE || ib_switch_own_lid(sw, dlid)) {
        return 0;
    }
    if (!ib_lid_is_unicast(dlid)) {
        *why = IB_DISCARD_NO_ROUTE;
        return IB_NO_PORT;
    }
    if (sw->config.fdb == IB_FDB_RANDOM) {
        return ib_fdb_random_lookup(sw, in, dlid, why);
    }
    return ib_fdb_linear_lookup(sw, dlid, why);
}

/* Multicast is for UD and raw packets only (18.2.4.3). */
static bool multicast_transport(const IbPacket *packet)
{
    size_t bth = IB_LRH_BYTES;

    switch (ib_lrh_lnh(packet->data)) {
    case IB_LNH_GRH:
        bth += IB_GRH_BYTES;
        break;
    case IB_LNH_BTH:
        break;
    default:
        return true;
    }
    return packet->len >= bth + IB_BTH_BYTES &&
           (ib_field_get(packet->data + bth, IB_BTH_OPCODE) &
            IB_SERVICE_MASK) == IB_SERVICE_UD;
}

static void deliver(IbSwitch *sw, IbSwitchPort *in, uint8_t out,
                    IbPacket *packet)
{
    if (out == 0) {
        trace_packet(sw, in, out, packet);
        ib_port0_receive(sw, in, packet);
    } else {
        forward(sw, in, out, packet);
    }
}

/*
 * No entry, or an empty one: out through the primary port, and what comes
 * from there through the other one (18.2.4.3.3).
 */
static void multicast_default(IbSwitch *sw, IbSwitchPort *in,
                              IbPacket *packet, bool empty)
{
    uint8_t out = in->num == sw->mcast_primary ? sw->mcast_not_primary
                                               : sw->mcast_primary;

    if (out > sw->num_ports) {
        ib_switch_discard(sw, in, empty ? IB_DISCARD_MCAST_EMPTY
                                        : IB_DISCARD_NO_ROUTE, packet);
    } else if (out == in->num) {
        ib_switch_discard(sw, in, IB_DISCARD_SAME_PORT, packet);
    } else {
        deliver(sw, in, out, packet);
    }
}

/*
 * A copy to each port of the mask but the one it came from.  Links that have
 * to wait share one buffer (ib_packet_hold()).
 */
void ib_switch_multicast(IbSwitch *sw, IbSwitchPort *in, IbPacket *packet)
{
    const uint64_t *mask;
    uint64_t any = 0, sent = 0;
    unsigned i;

    if (packet->vl == IB_VL_SM || !multicast_transport(packet)) {
        ib_switch_discard(sw, in, IB_DISCARD_MCAST_TRANSPORT, packet);
        return;
    }
    mask = ib_fdb_multicast_lookup(sw, ib_lrh_dlid(packet->data));
    if (!mask) {
        multicast_default(sw, in, packet, false);
        return;
    }
    for (i = 0; i < sw->mft_words; i++) {
        uint64_t bits = mask[i];

        any |= bits;
        if (i == in->num / 64) {
            bits &= ~(UINT64_C(1) << in->num % 64);
        }
        sent |= bits;
        while (bits) {
            unsigned bit = __builtin_ctzll(bits);

            bits &= bits - 1;
            deliver(sw, in, i * 64 + bit, packet);
        }
    }
    if (!any) {
        multicast_default(sw, in, packet, true);
    } else if (!sent) {
        ib_switch_discard(sw, in, IB_DISCARD_SAME_PORT, packet);
    }
}

/* Everything but a packet from one external port to another. */
static void G_GNUC_NO_INLINE receive_other(IbSwitch *sw, IbSwitchPort *in,
                                           IbPacket *packet)
{
    uint16_t dlid = ib_lrh_dlid(packet->data);
    IbDiscard why = IB_DISCARD_NO_ROUTE;
    uint8_t out;

    if (ib_lid_is_multicast(dlid)) {
        ib_switch_multicast(sw, in, packet);
        return;
    }
    out = ib_switch_route(sw, in, dlid, &why);
    if (out == IB_NO_PORT) {
        ib_switch_discard(sw, in, why, packet);
    } else {
        deliver(sw, in, out, packet);
    }
}

void ib_switch_receive(void *opaque, IbPacket *packet)
{
    IbSwitchPort *in = opaque;
    IbSwitch *sw = in->sw;
    uint16_t dlid;

    sw->receiving = true;
    if (G_UNLIKELY(packet->len < IB_PKTLEN_MIN_BYTES)) {
        ib_switch_discard(sw, in, IB_DISCARD_MALFORMED, packet);
        return;
    }
    if (G_UNLIKELY(in->enforce & IB_ENFORCE_IN) && packet->vl != IB_VL_SM &&
        !ib_enforce_inbound(sw, in, packet)) {
        return;
    }
    dlid = ib_lrh_dlid(packet->data);
    if (G_LIKELY(dlid - 1u < sw->fdb_limit)) {
        uint8_t out = sw->fdb[dlid];

        if (G_LIKELY((uint8_t)(out - 1) < sw->num_ports &&
                     !ib_switch_own_lid(sw, dlid))) {
            forward(sw, in, out, packet);
            return;
        }
    }
    receive_other(sw, in, packet);
}

void ib_switch_receive_end(void *opaque)
{
    IbSwitchPort *in = opaque;

    in->sw->receiving = false;
    ib_switch_flush(in->sw);
}
