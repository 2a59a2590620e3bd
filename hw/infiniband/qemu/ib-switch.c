/*
 * ib-switch: an InfiniBand switch in an ib-chassis
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 *     -device ib-switch,id=sw0,ports=36[,node-guid=...]
 */
#include "ib-switch-common.h"
#include "migration/vmstate.h"
#include "qapi/error.h"

OBJECT_DECLARE_SIMPLE_TYPE(IbSwitchState, IB_SWITCH)

struct IbSwitchState {
    DeviceState parent_obj;
    IbSwitchBay bay;
};

static void ib_switch_realize(DeviceState *dev, Error **errp)
{
    ib_switch_bay_realize(&IB_SWITCH(dev)->bay, dev, NULL, errp);
}

static void ib_switch_unrealize(DeviceState *dev)
{
    ib_switch_bay_unrealize(&IB_SWITCH(dev)->bay);
}

static void ib_switch_reset_hold(IB_RESET_ARGS(obj))
{
    ib_switch_reset(IB_SWITCH(obj)->bay.sw);
}

static const VMStateDescription ib_switch_vmstate = {
    .name = TYPE_IB_SWITCH,
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (VMStateField[]) {
        VMSTATE_IB_SWITCH_BAY(bay, IbSwitchState),
        VMSTATE_END_OF_LIST()
    },
};

static IbProperty ib_switch_properties[] = {
    DEFINE_IB_SWITCH_PROPERTIES(IbSwitchState, bay),
    IB_PROP_END
};

static void ib_switch_class_init(ObjectClass *oc, IbClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);
    ResettableClass *rc = RESETTABLE_CLASS(oc);

    dc->realize = ib_switch_realize;
    dc->unrealize = ib_switch_unrealize;
    dc->vmsd = &ib_switch_vmstate;
    dc->bus_type = TYPE_IB_CHASSIS_BUS;
    dc->desc = "InfiniBand switch";
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
    rc->phases.hold = ib_switch_reset_hold;
    device_class_set_props(dc, ib_switch_properties);
    ib_switch_bay_class_init(oc, offsetof(IbSwitchState, bay));
}

static const TypeInfo ib_switch_types[] = {
    {
        .name = TYPE_IB_SWITCH,
        .parent = TYPE_DEVICE,
        .instance_size = sizeof(IbSwitchState),
        .class_init = ib_switch_class_init,
    },
};

DEFINE_TYPES(ib_switch_types)
