/*
 * Differences between the QEMU versions that the devices build with
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * From 7.2 to 10.2.  Nothing else in qemu/ or mlx4/ asks for a version.
 */
#ifndef HW_INFINIBAND_QEMU_IB_COMPAT_H
#define HW_INFINIBAND_QEMU_IB_COMPAT_H

#include "qemu/osdep.h"
#include "hw/qdev-core.h"
#include "hw/qdev-properties.h"
#include "hw/resettable.h"
#include "net/net.h"

#define IB_QEMU_AT_LEAST(major, minor) \
    (QEMU_VERSION_MAJOR > (major) || \
     (QEMU_VERSION_MAJOR == (major) && QEMU_VERSION_MINOR >= (minor)))

/* struct PCIDevice moved. */
#if IB_QEMU_AT_LEAST(8, 0)
#include "hw/pci/pci_device.h"
#else
#include "hw/pci/pci.h"
#endif

#if IB_QEMU_AT_LEAST(10, 0)
#include "system/runstate.h"
#else
#include "sysemu/runstate.h"
#endif

/* Property arrays lost their end marker and gained const. */
#if IB_QEMU_AT_LEAST(10, 0)
typedef const Property IbProperty;
#define IB_PROP_END
#else
typedef Property IbProperty;
#define IB_PROP_END DEFINE_PROP_END_OF_LIST(),
#endif

/* The data of class_init and the lists of interfaces became const. */
#if IB_QEMU_AT_LEAST(10, 1)
typedef const void IbClassData;
typedef const InterfaceInfo IbInterfaceInfo;
#else
typedef void IbClassData;
typedef InterfaceInfo IbInterfaceInfo;
#endif

/* What a device has of a character device was renamed. */
#if IB_QEMU_AT_LEAST(10, 2)
#define IbChr CharFrontend
#else
#define IbChr CharBackend
#endif

/* Reset handlers gained a type. */
#if IB_QEMU_AT_LEAST(9, 1)
#define IB_RESET_ARGS(obj) Object *obj, ResetType type
#else
#define IB_RESET_ARGS(obj) Object *obj
#endif

/* A NIC gained a guard against re-entrancy. */
static inline NICState *ib_new_nic(NetClientInfo *info, NICConf *conf,
                                   DeviceState *dev, void *opaque)
{
    const char *model = object_get_typename(OBJECT(dev));

#if IB_QEMU_AT_LEAST(8, 1)
    return qemu_new_nic(info, conf, model, dev->id,
                        &dev->mem_reentrancy_guard, opaque);
#else
    return qemu_new_nic(info, conf, model, dev->id, opaque);
#endif
}

#endif
