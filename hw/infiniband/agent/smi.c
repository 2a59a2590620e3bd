/*
 * Subnet management interface: the way of directed-route SMPs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IBA Vol.1 14.2.2.  A route has up to three parts: LID-routed from DrSLID to
 * a first switch, directed through HopCount ports, LID-routed from a last
 * switch to DrDLID.  A permissive DrSLID or DrDLID says that the part at that
 * end does not exist.  A request (D = 0) counts HopPointer up from 0 to
 * HopCount + 1, its answer (D = 1) down again.
 */
#include "agent-int.h"

typedef struct IbSmiHop {
    IbNode *node;
    uint8_t in_port;
    uint8_t *smp;
    unsigned pointer, count;
} IbSmiHop;

static IbSmiResult smi_discard(void)
{
    return (IbSmiResult) { .action = IB_SMI_DISCARD };
}

static IbSmiResult smi_local(void)
{
    return (IbSmiResult) { .action = IB_SMI_LOCAL };
}

/* Move HopPointer and leave by a port, which must be one with a link. */
static IbSmiResult smi_directed(IbSmiHop *hop, unsigned pointer,
                                unsigned path_offset)
{
    uint8_t port = hop->smp[path_offset + pointer];

    if (port == 0 || port > hop->node->config.num_ports) {
        return smi_discard();
    }
    ib_field_set(hop->smp, IB_SMP_HOP_POINTER, pointer);
    return (IbSmiResult) {
        .action = IB_SMI_FORWARD,
        .out_port = port,
        .slid = IB_LID_PERMISSIVE,
        .dlid = IB_LID_PERMISSIVE,
    };
}

/* The directed part ends here and a LID-routed one, if any, begins. */
static IbSmiResult smi_end_of_route(IbSmiHop *hop, unsigned pointer,
                                    uint16_t lid)
{
    if (lid == IB_LID_PERMISSIVE) {
        ib_field_set(hop->smp, IB_SMP_HOP_POINTER, pointer);
        return smi_local();
    }
    if (!ib_node_is_switch(hop->node) || !ib_lid_is_unicast(lid)) {
        return smi_discard();
    }
    ib_field_set(hop->smp, IB_SMP_HOP_POINTER, pointer);
    return (IbSmiResult) {
        .action = IB_SMI_FORWARD,
        .lid_routed = true,
        .slid = ib_node_lid(hop->node, 0),
        .dlid = lid,
    };
}

/* 14.2.2.2: outgoing SMPs, D = 0 */
static IbSmiResult smi_outgoing(IbSmiHop *hop)
{
    uint8_t *return_path = hop->smp + IB_SMP_RETURN_PATH_OFFSET;

    if (hop->count != 0 && hop->pointer == 0) {
        /*
         * The directed part begins: sent by this node, or brought to a
         * switch by the LID-routed first part.
         */
        if (!ib_node_is_switch(hop->node) && hop->in_port != 0) {
            return smi_discard();
        }
        return smi_directed(hop, 1, IB_SMP_INITIAL_PATH_OFFSET);
    }
    if (hop->pointer < hop->count) {
        if (!ib_node_is_switch(hop->node)) {
            return smi_discard();
        }
        return_path[hop->pointer] = hop->in_port;
        return smi_directed(hop, hop->pointer + 1, IB_SMP_INITIAL_PATH_OFFSET);
    }
    if (hop->pointer == hop->count) {
        if (hop->count != 0) {
            return_path[hop->pointer] = hop->in_port;
        }
        return smi_end_of_route(hop, hop->count + 1,
                                ib_field_get(hop->smp, IB_SMP_DR_DLID));
    }
    /* HopCount + 1: the LID-routed last part has brought it to its end. */
    return hop->pointer == hop->count + 1 ? smi_local() : smi_discard();
}

/* 14.2.2.4: returning SMPs, D = 1 */
static IbSmiResult smi_returning(IbSmiHop *hop)
{
    if (hop->pointer > hop->count + 1) {
        return smi_discard();
    }
    if (hop->pointer == 0) {
        /* The LID-routed way back to DrSLID has ended: for the SM. */
        return smi_local();
    }
    if (hop->pointer == 1) {
        return smi_end_of_route(hop, 0,
                                ib_field_get(hop->smp, IB_SMP_DR_SLID));
    }
    /* On its way, or (HopCount + 1) at the node that answers. */
    if (!ib_node_is_switch(hop->node) &&
        (hop->in_port != 0 || hop->pointer != hop->count + 1)) {
        return smi_discard();
    }
    return smi_directed(hop, hop->pointer - 1, IB_SMP_RETURN_PATH_OFFSET);
}

IbSmiResult ib_smi_process(IbNode *node, uint8_t in_port, uint8_t *smp)
{
    IbSmiHop hop = {
        .node = node,
        .in_port = in_port,
        .smp = smp,
        .pointer = ib_field_get(smp, IB_SMP_HOP_POINTER),
        .count = ib_field_get(smp, IB_SMP_HOP_COUNT),
    };

    if (hop.count > IB_SMP_MAX_HOPS || in_port > node->config.num_ports) {
        return smi_discard();
    }
    return ib_field_get(smp, IB_SMP_D) ? smi_returning(&hop)
                                       : smi_outgoing(&hop);
}

IbSmiResult ib_smi_reply(IbNode *node, uint8_t in_port, uint16_t slid,
                         uint8_t *smp)
{
    uint8_t end_port = ib_node_end_port(node, in_port);

    if (ib_field_get(smp, IB_SMP_DR_DLID) == IB_LID_PERMISSIVE) {
        return ib_smi_process(node, 0, smp);
    }
    if (!ib_lid_is_unicast(slid)) {
        return smi_discard();
    }
    return (IbSmiResult) {
        .action = IB_SMI_FORWARD,
        .out_port = ib_node_is_switch(node) ? 0 : in_port,
        .lid_routed = true,
        .slid = ib_node_lid(node, end_port),
        .dlid = slid,
    };
}
