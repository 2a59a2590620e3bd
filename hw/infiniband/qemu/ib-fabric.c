/*
 * ib-fabric: all switches and channel adapters of a topology file
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 *     -device ib-fabric,id=fab0,topology=FILE[,ibsim=NAME][,control=PATH]
 *     -device ib-port,bus=fab0.0,node=NAME,port=1,netdev=n1
 *
 * The fabric itself is hw/infiniband/fabric/.  An ib-port lets a cable out of
 * it: a VM's adapter takes the place of a node.
 */
#include "ib-devices.h"
#include "hw/infiniband/ib-fabric-host.h"
#include "migration/vmstate.h"
#include "qapi/error.h"
#include "qemu/main-loop.h"

OBJECT_DECLARE_SIMPLE_TYPE(IbFabricState, IB_FABRIC)

struct IbFabricState {
    DeviceState parent_obj;
    char *path, *ibsim, *control;
    IbTopology *topology;
    IbFabric *fabric;
    IbFabricHost *host;           /* NULL: no program of the host is served */
    QEMUTimer *timer;
    QEMUBH *bh;
    int64_t host_due;
};

static int64_t ib_fabric_op_now(void *opaque)
{
    return ib_cable_now();
}

static uint32_t ib_fabric_op_random(void *opaque)
{
    return g_random_int();
}

static void ib_fabric_op_wake(void *opaque)
{
    IbFabricState *s = opaque;

    qemu_bh_schedule(s->bh);
}

static const IbFabricOps ib_fabric_ops = {
    .now = ib_fabric_op_now,
    .random = ib_fabric_op_random,
    .wake = ib_fabric_op_wake,
};

static void ib_fabric_arm(IbFabricState *s, int64_t due)
{
    due = MIN(due, s->host_due);
    if (due == INT64_MAX) {
        timer_del(s->timer);
    } else {
        timer_mod_ns(s->timer, due);
    }
}

static void ib_fabric_go_on(void *opaque)
{
    IbFabricState *s = opaque;

    qemu_bh_cancel(s->bh);
    ib_fabric_arm(s, ib_fabric_run(s->fabric));
}

static void ib_fabric_serve(void *opaque)
{
    IbFabricState *s = opaque;

    if (s->host) {
        s->host_due = ib_fabric_host_process(s->host);
    }
    ib_fabric_go_on(s);
}

/* -------------------------------------------------------------- cables */

static IbCableResult ib_fabric_plug_send(void *opaque, const uint8_t *frame,
                                         size_t len)
{
    return ib_cable_send(opaque, frame, len);
}

static void ib_fabric_plug_set_timer(void *opaque, int64_t deadline)
{
    ib_cable_set_timer(opaque, deadline);
}

static void ib_fabric_plug_tap(void *opaque, bool tx, const uint8_t *packet,
                               size_t len, uint16_t vcrc)
{
    ib_cable_tap(opaque, tx, packet, len, vcrc);
}

static const IbPlugOps ib_fabric_plug_ops = {
    .send_frame = ib_fabric_plug_send,
    .set_timer = ib_fabric_plug_set_timer,
    .tap = ib_fabric_plug_tap,
};

static IbLink *ib_fabric_claim(void *owner, const char *node, uint32_t port,
                               IbCable *cable, Error **errp)
{
    IbFabricState *s = owner;
    int64_t index = ib_fabric_find(s->fabric, node);
    const char *why;
    unsigned ports;
    IbLink *link;

    if (index < 0) {
        error_setg(errp, "node must be one of %s, which has no '%s'",
                   s->path, node);
        return NULL;
    }
    ports = s->topology->nodes[index].num_ports;
    if (port < 1 || port > ports) {
        error_setg(errp, "port must be 1..%u, not %u", ports, port);
        return NULL;
    }
    link = ib_fabric_plug(s->fabric, index, port, &ib_fabric_plug_ops, cable,
                          &why);
    if (!link) {
        error_setg(errp, "port %u of node '%s': %s", port, node, why);
        return NULL;
    }
    cable->received = ib_fabric_go_on;
    cable->received_opaque = s;
    return link;
}

static void ib_fabric_release(void *owner, const char *node, uint32_t port)
{
    IbFabricState *s = owner;

    ib_fabric_unplug(s->fabric, ib_fabric_find(s->fabric, node), port);
}

/* ---------------------------------------------------------------- life */

static void ib_fabric_close(IbFabricState *s)
{
    if (s->host) {
        qemu_set_fd_handler(ib_fabric_host_fd(s->host), NULL, NULL, NULL);
        ib_fabric_host_free(s->host);
        s->host = NULL;
    }
    if (s->fabric) {
        ib_fabric_free(s->fabric);
        s->fabric = NULL;
    }
    if (s->topology) {
        ib_topology_free(s->topology);
        s->topology = NULL;
    }
    if (s->bh) {
        qemu_bh_delete(s->bh);
        timer_free(s->timer);
        s->bh = NULL;
        s->timer = NULL;
    }
}

static void ib_fabric_realize(DeviceState *dev, Error **errp)
{
    IbFabricState *s = IB_FABRIC(dev);
    g_autoptr(GError) error = NULL;
    g_autofree char *why = NULL;
    IbCageBus *cages;

    if (!s->path) {
        error_setg(errp, "topology must name a topology file");
        return;
    }
    s->topology = ib_topology_read(s->path, &error);
    if (!s->topology) {
        error_setg(errp, "topology: %s", error->message);
        return;
    }
    s->host_due = INT64_MAX;
    s->bh = qemu_bh_new(ib_fabric_go_on, s);
    s->timer = timer_new_ns(QEMU_CLOCK_REALTIME, ib_fabric_serve, s);
    s->fabric = ib_fabric_new(s->topology, &ib_fabric_ops, s);
    if (s->ibsim || s->control) {
        s->host = ib_fabric_host_new(s->fabric, s->ibsim, s->control, &why);
        if (!s->host) {
            error_setg(errp, "ibsim, control: %s", why);
            ib_fabric_close(s);
            return;
        }
        qemu_set_fd_handler(ib_fabric_host_fd(s->host), ib_fabric_serve, NULL,
                            s);
    }
    cages = IB_CAGE_BUS(qbus_new(TYPE_IB_CAGE_BUS, dev, NULL));
    cages->owner = s;
    cages->claim_node = ib_fabric_claim;
    cages->release_node = ib_fabric_release;
    qbus_set_bus_hotplug_handler(BUS(cages));
    ib_fabric_go_on(s);
}

static void ib_fabric_unrealize(DeviceState *dev)
{
    ib_fabric_close(IB_FABRIC(dev));
}

static char *ib_fabric_get_status(Object *obj, Error **errp)
{
    IbFabricState *s = IB_FABRIC(obj);

    return s->fabric ? g_strchomp(ib_fabric_command(s->fabric, "status"))
                     : g_strdup("{}");
}

static const VMStateDescription ib_fabric_vmstate = {
    .name = TYPE_IB_FABRIC,
    .unmigratable = 1,
};

static IbProperty ib_fabric_properties[] = {
    DEFINE_PROP_STRING("topology", IbFabricState, path),
    DEFINE_PROP_STRING("ibsim", IbFabricState, ibsim),
    DEFINE_PROP_STRING("control", IbFabricState, control),
    IB_PROP_END
};

static void ib_fabric_class_init(ObjectClass *oc, IbClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);

    dc->realize = ib_fabric_realize;
    dc->unrealize = ib_fabric_unrealize;
    dc->vmsd = &ib_fabric_vmstate;
    dc->bus_type = TYPE_IB_CHASSIS_BUS;
    dc->desc = "InfiniBand fabric from a topology file";
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
    device_class_set_props(dc, ib_fabric_properties);
    object_class_property_set_description(
        oc, "topology", "what ibnetdiscover prints and ibsim reads");
    object_class_property_set_description(
        oc, "ibsim", "serve ibsim's clients whose IBSIM_SOCKNAME this is");
    object_class_property_set_description(
        oc, "control", "path of a UNIX socket that takes commands");
    object_class_property_add_str(oc, "status", ib_fabric_get_status, NULL);
    object_class_property_set_description(
        oc, "status", "nodes and cables that there are and that are up, as "
        "JSON");
}

static const TypeInfo ib_fabric_types[] = {
    {
        .name = TYPE_IB_FABRIC,
        .parent = TYPE_DEVICE,
        .instance_size = sizeof(IbFabricState),
        .class_init = ib_fabric_class_init,
    },
};

DEFINE_TYPES(ib_fabric_types)
