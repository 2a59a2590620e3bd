/*
 * Congestion: packets that meet a long queue are marked with FECN
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IBA Vol.1 annex A10.2.1.1.  The threshold is measured on what waits for the
 * exit port's VL, against the receive buffer of a VL: 1 is when about all of
 * one would be full, 15 when a sixteenth is; steps between are even.  A port
 * that has credits and still a queue is a root of congestion; one that has
 * none is a victim, and marks only if Victim_Mask says so.
 */
#include "switch-int.h"

void ib_congestion_update(IbSwitch *sw)
{
    unsigned num;

    for (num = 1; num <= sw->num_ports; num++) {
        IbSwitchPort *port = &sw->ports[num];
        uint32_t buffer = ib_link_config(port->link)->rx_buffer /
                          IB_BLOCK_BYTES;
        IbCcMarking marking;

        ib_node_cc_marking(sw->node, num, &marking);
        port->enforce &= ~IB_PORT_MARKS;
        port->mark_left_out = 0;
        if (marking.threshold) {
            port->enforce |= IB_PORT_MARKS;
            port->mark_blocks = MAX(buffer * (16 - marking.threshold) / 16, 1);
            port->mark_size = marking.packet_size;
            port->mark_rate = marking.marking_rate;
            port->mark_victim = marking.victim;
        }
    }
}

static bool has_fecn(const IbPacket *packet)
{
    size_t bth = IB_LRH_BYTES;

    switch (ib_lrh_lnh(packet->data)) {
    case IB_LNH_GRH:
        bth += IB_GRH_BYTES;
        break;
    case IB_LNH_BTH:
        break;
    default:
        return true;              /* raw: has no place for it */
    }
    return packet->len < bth + IB_BTH_BYTES ||
           ib_field_get(packet->data + bth, IB_BTH_FECN);
}

bool ib_congestion_marks(IbSwitch *sw, IbSwitchPort *out,
                         const IbPacket *packet, uint8_t vl)
{
    const uint8_t *lrh = packet->data;
    uint32_t blocks = (packet->len + IB_BLOCK_BYTES - 1) / IB_BLOCK_BYTES;

    if (G_LIKELY(ib_link_tx_queued_blocks(out->link, vl) <
                 out->mark_blocks)) {
        return false;
    }
    if (blocks < out->mark_size || has_fecn(packet) ||
        (!out->mark_victim && !ib_link_tx_credits(out->link, vl))) {
        return false;
    }
    if (out->mark_left_out) {
        out->mark_left_out--;
        return false;
    }
    out->mark_left_out = out->mark_rate;
    ib_node_cc_marked(sw->node, out->num, ib_lrh_slid(lrh), ib_lrh_dlid(lrh),
                      ib_lrh_sl(lrh));
    return true;
}
