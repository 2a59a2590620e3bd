/*
 * What a switch is to QEMU, wherever it sits: in a chassis (ib-switch) or
 * behind a PCI function (ib-switch-pci)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The switch itself is hw/infiniband/switch/.  A device embeds an IbSwitchBay:
 * its properties, its cages (bus ID.0, one ib-port a cable), its timer, its
 * state, its traces.
 */
#ifndef HW_INFINIBAND_QEMU_IB_SWITCH_COMMON_H
#define HW_INFINIBAND_QEMU_IB_SWITCH_COMMON_H

#include "ib-devices.h"
#include "ib-props.h"
#include "hw/infiniband/ib-switch.h"

typedef struct IbSwitchBay IbSwitchBay;

/* What a device hears of its switch; NULL for a device that has no use. */
typedef struct IbSwitchBayOps {
    /* As IbSwitchOps.port_state_changed and .host_receive. */
    void (*port_state_changed)(IbSwitchBay *bay, uint8_t port);
    bool (*host_receive)(IbSwitchBay *bay, uint8_t in_port,
                         const IbPacket *packet);
} IbSwitchBayOps;

struct IbSwitchBay {
    /* Properties */
    uint32_t ports;
    IbGuid node_guid, system_guid;
    char *description;
    char *fdb;
    uint32_t linear_fdb_cap;
    uint32_t random_fdb_cap;
    uint32_t lids_per_port;
    uint32_t multicast_fdb_cap;
    uint32_t pkeys;
    bool enhanced_port0;
    IbLinkProps link;

    DeviceState *dev;
    const IbSwitchBayOps *ops;
    IbSwitch *sw;
    IbCable *cables[256];         /* by port; NULL: the cage is empty */
    QEMUTimer *timer;
    bool traced;
    /* The state as migrated */
    uint32_t saved_size;
    uint8_t *saved;
};

#define DEFINE_IB_SWITCH_PROPERTIES(_state, _field)                        \
    DEFINE_PROP_UINT32("ports", _state, _field.ports, 8),                  \
    DEFINE_PROP_STRING("description", _state, _field.description),         \
    DEFINE_PROP_STRING("fdb", _state, _field.fdb),                         \
    DEFINE_PROP_UINT32("linear-fdb-cap", _state, _field.linear_fdb_cap,    \
                       49152),                                             \
    DEFINE_PROP_UINT32("random-fdb-cap", _state, _field.random_fdb_cap,    \
                       1024),                                              \
    DEFINE_PROP_UINT32("lids-per-port", _state, _field.lids_per_port, 0),  \
    DEFINE_PROP_UINT32("multicast-fdb-cap", _state,                        \
                       _field.multicast_fdb_cap, 4096),                    \
    DEFINE_PROP_UINT32("pkeys", _state, _field.pkeys, 32),                 \
    DEFINE_PROP_BOOL("enhanced-port0", _state, _field.enhanced_port0,      \
                     false),                                               \
    DEFINE_IB_LINK_PROPERTIES(_state, _field.link)

/*
 * Add the other properties of a switch (GUIDs, lid, discards) to a class whose
 * instances have their IbSwitchBay at @offset, and describe all of them.
 */
void ib_switch_bay_class_init(ObjectClass *oc, size_t offset);

/* Make the switch and its cages; @ops may be NULL. */
bool ib_switch_bay_realize(IbSwitchBay *bay, DeviceState *dev,
                           const IbSwitchBayOps *ops, Error **errp);
void ib_switch_bay_unrealize(IbSwitchBay *bay);

/* The switch with all its cables' state, for VMSTATE_STRUCT. */
extern const VMStateDescription ib_switch_bay_vmstate;
#define VMSTATE_IB_SWITCH_BAY(_field, _state) \
    VMSTATE_STRUCT(_field, _state, 1, ib_switch_bay_vmstate, IbSwitchBay)

#endif
