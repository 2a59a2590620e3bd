/*
 * Port 0 of a switch as a place that programs manage the subnet from
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fabric-int.h"

/* Nobody is there: what the switch's own agents say to such a MAD. */
static void answer(IbUnit *unit, uint8_t in_port, const IbFabricMad *mad)
{
    uint8_t reply[IB_MAD_BYTES];
    IbHostMad to = {
        .out_port = in_port ? in_port : IB_HOST_BY_TABLE,
        .sl = mad->sl,
        .dlid = mad->slid,
        .dest_qpn = mad->src_qpn,
    };

    if (ib_node_process_mad(unit->node, in_port, mad->slid, 0, mad->data,
                            reply) == IB_MAD_REPLY) {
        ib_switch_send_mad(unit->sw, &to, reply);
    }
}

bool ib_port0_host_receive(IbUnit *unit, uint8_t in_port,
                           const IbPacket *packet)
{
    IbFabricMad mad = { .node = unit->index };
    IbPacketInfo info;

    if (!ib_fabric_mad(packet, &info, &mad)) {
        return false;
    }
    if (!ib_unit_give(unit, &mad)) {
        answer(unit, in_port, &mad);
    }
    return true;
}

void ib_port0_send(IbUnit *unit, const IbFabricMad *mad)
{
    IbHostMad to = {
        .out_port = IB_HOST_BY_TABLE,
        .sl = mad->sl,
        .dlid = mad->dlid,
        .dest_qpn = mad->dest_qpn,
    };

    ib_switch_send_mad(unit->sw, &to, mad->data);
}
