/*
 * What a switch keeps from passing its external ports: partitions that are not
 * theirs, and raw packets
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * PartitionEnforcementInbound and -Outbound, FilterRawInbound and -Outbound of
 * PortInfo (IBA Vol.1 10.9, 14.2.5.6).  Management packets of VL15
 * have no partition and pass.  What does not is counted in
 * PortRcvConstraintErrors or PortXmitConstraintErrors (16.1.3.5); a bad P_Key
 * also in the port's P_KeyViolations and told by trap 259.
 */
#include "switch-int.h"

void ib_enforce_violation(const IbPacket *packet, const IbPacketInfo *info,
                          uint32_t key, IbKeyViolation *violation)
{
    const uint8_t *data = packet->data;

    memset(violation, 0, sizeof(*violation));
    violation->key = key;
    violation->slid = ib_lrh_slid(data);
    violation->dlid = ib_lrh_dlid(data);
    violation->sl = ib_lrh_sl(data);
    violation->dest_qpn = ib_field_get(data + info->bth, IB_BTH_DQPN);
    if (info->deth) {
        violation->src_qpn = ib_field_get(data + info->deth, IB_DETH_SQPN);
    }
    if (info->grh) {
        violation->has_grh = true;
        memcpy(violation->sgid, data + info->grh + IB_GRH_SGID_OFFSET,
               IB_GID_BYTES);
        memcpy(violation->dgid, data + info->grh + IB_GRH_DGID_OFFSET,
               IB_GID_BYTES);
    }
}

static void bad_pkey(IbSwitch *sw, const IbSwitchPort *port,
                     const IbPacket *packet, uint16_t pkey)
{
    IbKeyViolation violation;
    IbPacketInfo info = { 0 };

    ib_node_pkey_violation(sw->node, port->num);
    /* A packet that is otherwise not right is not worth a trap. */
    if (ib_packet_parse(packet->data, packet->len, &info) == IB_PACKET_OK &&
        info.bth) {
        ib_enforce_violation(packet, &info, pkey, &violation);
        ib_node_key_trap(sw->node, port->num, IB_TRAP_SWITCH_BAD_P_KEY,
                         &violation);
    }
}

/* Why @port does not let @packet pass, or IB_DISCARD_COUNT if it does. */
static IbDiscard enforce(IbSwitch *sw, IbSwitchPort *port,
                         const IbPacket *packet, bool inbound)
{
    uint8_t raw = inbound ? IB_ENFORCE_RAW_IN : IB_ENFORCE_RAW_OUT;
    uint8_t partition = inbound ? IB_ENFORCE_PARTITION_IN
                                : IB_ENFORCE_PARTITION_OUT;
    uint32_t *passed = inbound ? &port->pkey_in : &port->pkey_out;
    size_t bth = IB_LRH_BYTES;
    uint16_t pkey;

    switch (ib_lrh_lnh(packet->data)) {
    case IB_LNH_GRH:
        bth += IB_GRH_BYTES;
        break;
    case IB_LNH_BTH:
        break;
    default:
        return port->enforce & raw ? IB_DISCARD_RAW : IB_DISCARD_COUNT;
    }
    if (!(port->enforce & partition)) {
        return IB_DISCARD_COUNT;
    }
    if (packet->len < bth + IB_BTH_BYTES) {
        return IB_DISCARD_MALFORMED;
    }
    pkey = ib_field_get(packet->data + bth, IB_BTH_PKEY);
    if (G_LIKELY(pkey == *passed)) {
        return IB_DISCARD_COUNT;
    }
    if (inbound ? ib_node_pkey_may_send(sw->node, port->num, pkey)
                : ib_node_pkey_match(sw->node, port->num, pkey) >= 0) {
        *passed = pkey;
        return IB_DISCARD_COUNT;
    }
    bad_pkey(sw, port, packet, pkey);
    return IB_DISCARD_PKEY;
}

bool ib_enforce_inbound(IbSwitch *sw, IbSwitchPort *in,
                        const IbPacket *packet)
{
    IbDiscard why = enforce(sw, in, packet, true);

    if (G_LIKELY(why == IB_DISCARD_COUNT)) {
        return true;
    }
    if (why != IB_DISCARD_MALFORMED) {
        ib_link_counters(in->link)->rcv_constraint_errors++;
    }
    ib_switch_discard(sw, in, why, packet);
    return false;
}

bool ib_enforce_outbound(IbSwitch *sw, const IbSwitchPort *in,
                         IbSwitchPort *out, const IbPacket *packet)
{
    IbDiscard why = enforce(sw, out, packet, false);

    if (G_LIKELY(why == IB_DISCARD_COUNT)) {
        return true;
    }
    if (why != IB_DISCARD_MALFORMED) {
        ib_link_counters(out->link)->xmit_constraint_errors++;
    }
    ib_switch_discard(sw, in, why, packet);
    return false;
}

void ib_enforce_update(IbSwitch *sw, uint8_t num)
{
    IbSwitchPort *port = &sw->ports[num];

    port->enforce &= ~IB_ENFORCE_ALL;
    if (num) {
        port->enforce |= ib_node_enforcement(sw->node, num);
    }
    port->pkey_in = IB_NO_PKEY;
    port->pkey_out = IB_NO_PKEY;
}

void ib_enforce_update_all(IbSwitch *sw)
{
    unsigned num;

    for (num = 0; num <= sw->num_ports; num++) {
        ib_enforce_update(sw, num);
    }
}
