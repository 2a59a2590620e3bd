/*
 * ib-port: a cable in a cage of a switch or a channel adapter
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 *     -device ib-port,bus=sw0.0,port=1,netdev=n1[,pcap=FILE]
 *     -device ib-port,bus=fab0.0,node=NAME,port=1,netdev=n1[,pcap=FILE]
 *
 * Hot-pluggable: device_add plugs a cable in, device_del pulls it out.
 */
#include "ib-devices.h"
#include "qapi/error.h"

OBJECT_DECLARE_SIMPLE_TYPE(IbPort, IB_PORT)

struct IbPort {
    DeviceState parent_obj;
    IbCable cable;
    uint32_t port;
    char *node;                   /* of a fabric; NULL elsewhere */
};

static IbLink *ib_port_claim(IbPort *s, IbCageBus *cages, Error **errp)
{
    if (cages->claim_node) {
        if (!s->node) {
            error_setg(errp, "node must name a node of the fabric");
            return NULL;
        }
        return cages->claim_node(cages->owner, s->node, s->port, &s->cable,
                                 errp);
    }
    if (s->node) {
        error_setg(errp, "node is for the bus of an ib-fabric");
        return NULL;
    }
    return cages->claim(cages->owner, s->port, &s->cable, errp);
}

static void ib_port_release(IbPort *s, IbCageBus *cages)
{
    if (cages->release_node) {
        cages->release_node(cages->owner, s->node, s->port);
    } else {
        cages->release(cages->owner, s->port);
    }
}

static void ib_port_realize(DeviceState *dev, Error **errp)
{
    IbPort *s = IB_PORT(dev);
    IbCageBus *cages = IB_CAGE_BUS(qdev_get_parent_bus(dev));
    IbLink *link = ib_port_claim(s, cages, errp);

    if (!link) {
        return;
    }
    if (!ib_cable_plug(&s->cable, dev, link, errp)) {
        ib_port_release(s, cages);
    }
}

static void ib_port_unrealize(DeviceState *dev)
{
    IbPort *s = IB_PORT(dev);
    IbCageBus *cages = IB_CAGE_BUS(qdev_get_parent_bus(dev));

    ib_cable_unplug(&s->cable);
    ib_port_release(s, cages);
}

static IbProperty ib_port_properties[] = {
    DEFINE_PROP_UINT32("port", IbPort, port, 0),
    DEFINE_PROP_STRING("node", IbPort, node),
    DEFINE_PROP_NETDEV("netdev", IbPort, cable.conf.peers),
    IB_PROP_END
};

static void ib_port_class_init(ObjectClass *oc, IbClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);

    dc->realize = ib_port_realize;
    dc->unrealize = ib_port_unrealize;
    dc->bus_type = TYPE_IB_CAGE_BUS;
    dc->desc = "InfiniBand cable in a port's cage, on a netdev";
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
    device_class_set_props(dc, ib_port_properties);
    object_class_property_set_description(
        oc, "port", "number of the port, from 1 to the node's ports");
    object_class_property_set_description(
        oc, "node", "on the bus of an ib-fabric: the CA whose place is taken, "
        "or the switch whose free port it is");
    object_class_property_set_description(
        oc, "netdev", "the -netdev that is the cable");
    ib_cable_properties_add(oc, offsetof(IbPort, cable));
}

static const TypeInfo ib_port_types[] = {
    {
        .name = TYPE_IB_PORT,
        .parent = TYPE_DEVICE,
        .instance_size = sizeof(IbPort),
        .class_init = ib_port_class_init,
    },
};

DEFINE_TYPES(ib_port_types)
