/*
 * ib-chassis: a machine without processor or memory that holds switches
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 *     qemu-system-x86_64 -M ib-chassis -device ib-switch,id=sw0,ports=2 \
 *         -netdev stream,id=n1,... -device ib-port,bus=sw0.0,port=1,netdev=n1
 *
 * Its one bus is where `-device ib-switch` goes; a device without a bus could
 * neither give its own bus a name to be found by nor be taken out again.
 */
#include "ib-devices.h"
#include "hw/boards.h"
#include "hw/hotplug.h"
#include "hw/sysbus.h"
#include "qapi/error.h"
#include "qemu/error-report.h"

#define TYPE_IB_CHASSIS_MACHINE MACHINE_TYPE_NAME("ib-chassis")
#define TYPE_IB_BACKPLANE       "ib-backplane"

static void ib_chassis_init(MachineState *machine)
{
    DeviceState *backplane = qdev_new(TYPE_IB_BACKPLANE);

    if (machine->kernel_filename) {
        error_report("-kernel: an ib-chassis has no processor to run it");
        exit(1);
    }
    object_property_add_child(OBJECT(machine), "backplane",
                              OBJECT(backplane));
    sysbus_realize_and_unref(SYS_BUS_DEVICE(backplane), &error_fatal);
}

static void ib_chassis_class_init(ObjectClass *oc, IbClassData *data)
{
    MachineClass *mc = MACHINE_CLASS(oc);

    mc->desc = "chassis for InfiniBand switches (no processor)";
    mc->init = ib_chassis_init;
    mc->max_cpus = 1;
    mc->default_ram_size = 0;
    mc->no_serial = 1;
    mc->no_parallel = 1;
    mc->no_floppy = 1;
    mc->no_cdrom = 1;
}

static void ib_backplane_realize(DeviceState *dev, Error **errp)
{
    qbus_set_bus_hotplug_handler(qbus_new(TYPE_IB_CHASSIS_BUS, dev,
                                          "chassis"));
}

static void ib_backplane_class_init(ObjectClass *oc, IbClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);

    dc->realize = ib_backplane_realize;
    dc->user_creatable = false;
    dc->desc = "the bus of an ib-chassis";
}

/* Both buses: what sits on them may come and go at any time. */
static void ib_bus_class_init(ObjectClass *oc, IbClassData *data)
{
    HOTPLUG_HANDLER_CLASS(oc)->unplug = qdev_simple_device_unplug_cb;
}

static const TypeInfo ib_chassis_types[] = {
    {
        .name = TYPE_IB_CHASSIS_MACHINE,
        .parent = TYPE_MACHINE,
        .class_init = ib_chassis_class_init,
    }, {
        .name = TYPE_IB_CHASSIS_BUS,
        .parent = TYPE_BUS,
        .class_init = ib_bus_class_init,
        .interfaces = (IbInterfaceInfo[]) {
            { TYPE_HOTPLUG_HANDLER },
            { }
        },
    }, {
        .name = TYPE_IB_CAGE_BUS,
        .parent = TYPE_BUS,
        .instance_size = sizeof(IbCageBus),
        .class_init = ib_bus_class_init,
        .interfaces = (IbInterfaceInfo[]) {
            { TYPE_HOTPLUG_HANDLER },
            { }
        },
    }, {
        .name = TYPE_IB_BACKPLANE,
        .parent = TYPE_SYS_BUS_DEVICE,
        .class_init = ib_backplane_class_init,
    },
};

DEFINE_TYPES(ib_chassis_types)
