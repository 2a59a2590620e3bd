/*
 * Types of the InfiniBand devices and of the buses between them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_INFINIBAND_QEMU_IB_DEVICES_H
#define HW_INFINIBAND_QEMU_IB_DEVICES_H

#include "ib-compat.h"
#include "ib-cable.h"
#include "qom/object.h"

#define TYPE_IB_CHASSIS_BUS "ib-chassis-bus"    /* takes switches */
#define TYPE_IB_CHASSIS_PCI "ib-chassis-pci"
#define TYPE_IB_SWITCH      "ib-switch"
#define TYPE_IB_SWITCH_PCI  "ib-switch-pci"
#define TYPE_IB_FABRIC      "ib-fabric"
#define TYPE_IB_PORT        "ib-port"

/*
 * The cages of a node: a bus on which each ib-port is the cable in one cage.
 * Whoever owns the bus (a switch; a channel adapter with more than one port)
 * gives the link of a cage to the cable that is plugged in.
 */
#define TYPE_IB_CAGE_BUS    "ib-cage-bus"
OBJECT_DECLARE_SIMPLE_TYPE(IbCageBus, IB_CAGE_BUS)

struct IbCageBus {
    BusState parent_obj;
    void *owner;                  /* first argument of the functions */
    /*
     * Cage @port for @cable; NULL with an error that names property "port" and
     * its range when it is not there or taken.
     */
    IbLink *(*claim)(void *owner, uint32_t port, IbCable *cable,
                     Error **errp);
    void (*release)(void *owner, uint32_t port);
    /*
     * The same of a fabric, whose cages are those of its nodes (and claim() and
     * release() are not there); NULL for a single node's.
     */
    IbLink *(*claim_node)(void *owner, const char *node, uint32_t port,
                          IbCable *cable, Error **errp);
    void (*release_node)(void *owner, const char *node, uint32_t port);
};

#endif
