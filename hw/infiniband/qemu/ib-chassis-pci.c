/*
 * ib-chassis-pci: room for switches in a machine that has a processor
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 *     qemu-system-x86_64 -M q35 -device ib-chassis-pci \
 *         -device ib-switch,id=sw0,ports=2
 *
 * A PCI function without registers: it is there for its bus, the same that the
 * machine ib-chassis has.  So a guest and its fabric fit in one process, and
 * libvirt, which knows no machine without a processor, can run a fabric.
 */
#include "ib-devices.h"
#include "hw/pci/pci_ids.h"
#include "ib-switch-hw.h"
#include "migration/vmstate.h"

OBJECT_DECLARE_SIMPLE_TYPE(IbChassisPci, IB_CHASSIS_PCI)

struct IbChassisPci {
    PCIDevice parent_obj;
};

static void ib_chassis_pci_realize(PCIDevice *dev, Error **errp)
{
    qbus_set_bus_hotplug_handler(qbus_new(TYPE_IB_CHASSIS_BUS, DEVICE(dev),
                                          NULL));
}

static const VMStateDescription ib_chassis_pci_vmstate = {
    .name = TYPE_IB_CHASSIS_PCI,
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_PCI_DEVICE(parent_obj, IbChassisPci),
        VMSTATE_END_OF_LIST()
    },
};

static void ib_chassis_pci_class_init(ObjectClass *oc, IbClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(oc);

    pc->realize = ib_chassis_pci_realize;
    pc->vendor_id = IBSW_PCI_VENDOR_ID;
    pc->device_id = IBSW_PCI_CHASSIS_ID;
    pc->class_id = PCI_CLASS_SYSTEM_OTHER;
    dc->vmsd = &ib_chassis_pci_vmstate;
    dc->desc = "chassis for InfiniBand switches, in a PCI slot";
    /* What sits on its bus would stay behind. */
    dc->hotpluggable = false;
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
}

static const TypeInfo ib_chassis_pci_types[] = {
    {
        .name = TYPE_IB_CHASSIS_PCI,
        .parent = TYPE_PCI_DEVICE,
        .instance_size = sizeof(IbChassisPci),
        .class_init = ib_chassis_pci_class_init,
        .interfaces = (IbInterfaceInfo[]) {
            { INTERFACE_CONVENTIONAL_PCI_DEVICE },
            { }
        },
    },
};

DEFINE_TYPES(ib_chassis_pci_types)
