/*
 * Port 0 of a switch as a place that programs manage the subnet from
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fabric-int.h"

bool ib_port0_host_receive(IbUnit *unit, const IbPacket *packet)
{
    IbFabricMad mad = { .node = unit->index };
    IbPacketInfo info;

    return ib_fabric_mad(packet, &info, &mad) && ib_unit_give(unit, &mad);
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
