/*
 * ib-switch: an InfiniBand switch in an ib-chassis
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 *     -device ib-switch,id=sw0,ports=36[,node-guid=...]
 *
 * The switch itself is hw/infiniband/switch/; this is its QEMU side:
 * properties, cages (bus sw0.0, one ib-port a cable), migration, traces.
 */
#include "ib-devices.h"
#include "ib-props.h"
#include "hw/infiniband/ib-mad.h"
#include "hw/infiniband/ib-packet.h"
#include "hw/infiniband/ib-switch.h"
#include "migration/vmstate.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "../trace.h"

/* What a switch of QEMU says it is: see docs/specs/ib-switch.rst. */
#define IB_SWITCH_VENDOR_ID  0x525400
#define IB_SWITCH_DEVICE_ID  0x1b5c

OBJECT_DECLARE_SIMPLE_TYPE(IbSwitchState, IB_SWITCH)

struct IbSwitchState {
    DeviceState parent_obj;
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
    IbLinkProps link;

    IbSwitch *sw;
    IbCable *cables[256];         /* by port; NULL: the cage is empty */
    QEMUTimer *timer;
    bool traced;
    /* The state as migrated */
    uint32_t saved_size;
    uint8_t *saved;
};

static int64_t ib_switch_op_now(void *opaque)
{
    return ib_cable_now();
}

static uint32_t ib_switch_op_random(void *opaque)
{
    return g_random_int();
}

static void ib_switch_op_set_timer(void *opaque, int64_t deadline)
{
    IbSwitchState *s = opaque;

    if (deadline == INT64_MAX) {
        timer_del(s->timer);
    } else {
        timer_mod_ns(s->timer, deadline);
    }
}

static void ib_switch_timer_expired(void *opaque)
{
    IbSwitchState *s = opaque;

    ib_switch_timer(s->sw);
}

static void ib_switch_op_set_port_timer(void *opaque, uint8_t port,
                                        int64_t deadline)
{
    IbSwitchState *s = opaque;

    ib_cable_set_timer(s->cables[port], deadline);
}

static IbCableResult ib_switch_op_send_frame(void *opaque, uint8_t port,
                                             const uint8_t *frame, size_t len)
{
    IbSwitchState *s = opaque;

    return ib_cable_send(s->cables[port], frame, len);
}

/* The core reports packets only while somebody looks. */
static void ib_switch_sync_trace(IbSwitchState *s)
{
    bool on = trace_event_get_state_backends(TRACE_IB_SWITCH_PACKET) ||
              trace_event_get_state_backends(TRACE_IB_SWITCH_DISCARD) ||
              trace_event_get_state_backends(TRACE_IB_SWITCH_MAD);

    if (on != s->traced) {
        s->traced = on;
        ib_switch_set_trace(s->sw, on);
    }
}

static void ib_switch_op_port_state(void *opaque, uint8_t port,
                                    uint8_t old_state, uint8_t new_state)
{
    IbSwitchState *s = opaque;

    trace_ib_switch_port_state(DEVICE(s)->id ?: "", port, old_state,
                               new_state);
    ib_switch_sync_trace(s);
}

static void ib_switch_op_tap(void *opaque, uint8_t port, bool tx,
                             const uint8_t *packet, size_t len, uint16_t vcrc)
{
    IbSwitchState *s = opaque;

    ib_cable_tap(s->cables[port], tx, packet, len, vcrc);
}

static void ib_switch_op_trace_packet(void *opaque, uint8_t in_port,
                                      uint8_t out_port, int reason,
                                      const uint8_t *packet, size_t len)
{
    IbSwitchState *s = opaque;
    uint32_t dlid = 0, slid = 0, vl = 0;

    if (len >= IB_LRH_BYTES) {
        dlid = ib_field_get(packet, IB_LRH_DLID);
        slid = ib_field_get(packet, IB_LRH_SLID);
        vl = ib_field_get(packet, IB_LRH_VL);
    }
    if (out_port == 255) {
        trace_ib_switch_discard(DEVICE(s)->id ?: "", in_port, slid, dlid, vl,
                                len, ib_discard_name(reason));
    } else {
        trace_ib_switch_packet(DEVICE(s)->id ?: "", in_port, out_port, slid,
                               dlid, vl, len);
    }
}

static void ib_switch_op_trace_mad(void *opaque, uint8_t port, bool out,
                                   const uint8_t *mad)
{
    IbSwitchState *s = opaque;

    trace_ib_switch_mad(DEVICE(s)->id ?: "", port, out ? "out" : "in",
                        ib_field_get(mad, IB_MAD_MGMT_CLASS),
                        ib_field_get(mad, IB_MAD_METHOD),
                        ib_field_get(mad, IB_MAD_ATTRIBUTE_ID),
                        ib_field_get(mad, IB_MAD_ATTRIBUTE_MODIFIER),
                        ib_field_get(mad, IB_MAD_STATUS));
}

static const IbSwitchOps ib_switch_ops = {
    .now = ib_switch_op_now,
    .random = ib_switch_op_random,
    .set_port_timer = ib_switch_op_set_port_timer,
    .set_timer = ib_switch_op_set_timer,
    .send_frame = ib_switch_op_send_frame,
    .port_state_changed = ib_switch_op_port_state,
    .tap = ib_switch_op_tap,
    .trace_packet = ib_switch_op_trace_packet,
    .trace_mad = ib_switch_op_trace_mad,
};

static IbLink *ib_switch_claim(DeviceState *node, uint32_t port,
                               IbCable *cable, Error **errp)
{
    IbSwitchState *s = IB_SWITCH(node);

    if (port < 1 || port > s->ports) {
        error_setg(errp, "port must be 1..%u, not %u", s->ports, port);
        return NULL;
    }
    if (s->cables[port]) {
        error_setg(errp, "port %u is taken; port must be a free one of 1..%u",
                   port, s->ports);
        return NULL;
    }
    s->cables[port] = cable;
    return ib_switch_link(s->sw, port);
}

static void ib_switch_release(DeviceState *node, uint32_t port)
{
    IB_SWITCH(node)->cables[port] = NULL;
}

static bool ib_switch_range(const char *name, uint32_t value, uint32_t min,
                            uint32_t max, Error **errp)
{
    if (value < min || value > max) {
        error_setg(errp, "%s must be %u..%u, not %u", name, min, max, value);
        return false;
    }
    return true;
}

static bool ib_switch_config_from_props(IbSwitchState *s,
                                        IbSwitchConfig *config, Error **errp)
{
    const char *fdb = s->fdb ?: "linear";

    if (!ib_switch_range("ports", s->ports, 1, 254, errp) ||
        !ib_switch_range("linear-fdb-cap", s->linear_fdb_cap, 1, 49152,
                         errp) ||
        !ib_switch_range("random-fdb-cap", s->random_fdb_cap, 1, 49152,
                         errp) ||
        !ib_switch_range("lids-per-port", s->lids_per_port, 0, 49152,
                         errp) ||
        !ib_switch_range("multicast-fdb-cap", s->multicast_fdb_cap, 0, 16383,
                         errp) ||
        !ib_switch_range("pkeys", s->pkeys, 1, 32768, errp) ||
        !ib_link_props_config(&s->link, &config->link, errp) ||
        !ib_description_config(s->description, "QEMU InfiniBand switch",
                               config->description, errp)) {
        return false;
    }
    if (!strcmp(fdb, "linear")) {
        config->fdb = IB_FDB_LINEAR;
    } else if (!strcmp(fdb, "random")) {
        config->fdb = IB_FDB_RANDOM;
    } else {
        error_setg(errp, "fdb must be linear or random, not '%s'", fdb);
        return false;
    }
    config->num_ports = s->ports;
    config->node_guid = ib_guid_value(&s->node_guid);
    config->system_guid = s->system_guid.given ? s->system_guid.value
                                               : config->node_guid;
    config->vendor_id = IB_SWITCH_VENDOR_ID;
    config->device_id = IB_SWITCH_DEVICE_ID;
    config->linear_fdb_cap = s->linear_fdb_cap;
    config->random_fdb_cap = s->random_fdb_cap;
    config->lids_per_port = s->lids_per_port;
    config->multicast_fdb_cap = s->multicast_fdb_cap;
    config->pkey_cap = s->pkeys;
    config->pkey_cap_external = s->pkeys;
    return true;
}

static void ib_switch_realize(DeviceState *dev, Error **errp)
{
    IbSwitchState *s = IB_SWITCH(dev);
    IbSwitchConfig config = { };
    IbCageBus *cages;

    if (!ib_switch_config_from_props(s, &config, errp)) {
        return;
    }
    s->timer = timer_new_ns(QEMU_CLOCK_REALTIME, ib_switch_timer_expired, s);
    s->sw = ib_switch_new(&config, &ib_switch_ops, s);
    cages = IB_CAGE_BUS(qbus_new(TYPE_IB_CAGE_BUS, dev, NULL));
    cages->claim = ib_switch_claim;
    cages->release = ib_switch_release;
    qbus_set_bus_hotplug_handler(BUS(cages));
    ib_switch_sync_trace(s);
}

static void ib_switch_unrealize(DeviceState *dev)
{
    IbSwitchState *s = IB_SWITCH(dev);

    ib_switch_free(s->sw);
    s->sw = NULL;
    timer_free(s->timer);
    g_free(s->saved);
    s->saved = NULL;
}

static void ib_switch_reset_hold(IB_RESET_ARGS(obj))
{
    IbSwitchState *s = IB_SWITCH(obj);

    ib_switch_reset(s->sw);
}

static int ib_switch_pre_save(void *opaque)
{
    IbSwitchState *s = opaque;
    GByteArray *bytes = g_byte_array_new();

    ib_switch_save(s->sw, bytes);
    g_free(s->saved);
    s->saved_size = bytes->len;
    s->saved = g_byte_array_free(bytes, false);
    return 0;
}

static int ib_switch_post_load(void *opaque, int version_id)
{
    IbSwitchState *s = opaque;
    bool ok = ib_switch_load(s->sw, s->saved, s->saved_size);

    g_free(s->saved);
    s->saved = NULL;
    s->saved_size = 0;
    return ok ? 0 : -EINVAL;
}

static const VMStateDescription ib_switch_vmstate = {
    .name = TYPE_IB_SWITCH,
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = ib_switch_pre_save,
    .post_load = ib_switch_post_load,
    .fields = (VMStateField[]) {
        VMSTATE_UINT32(saved_size, IbSwitchState),
        VMSTATE_VBUFFER_ALLOC_UINT32(saved, IbSwitchState, 1, NULL,
                                     saved_size),
        VMSTATE_END_OF_LIST()
    },
};

static void ib_switch_get_discards(Object *obj, Visitor *v, const char *name,
                                   void *opaque, Error **errp)
{
    IbSwitchState *s = IB_SWITCH(obj);
    int i;

    if (!visit_start_struct(v, name, NULL, 0, errp)) {
        return;
    }
    for (i = 0; i < IB_DISCARD_COUNT; i++) {
        uint64_t count = s->sw ? ib_switch_discards(s->sw, i) : 0;

        if (!visit_type_uint64(v, ib_discard_name(i), &count, errp)) {
            break;
        }
    }
    visit_end_struct(v, NULL);
}

static void ib_switch_get_lid(Object *obj, Visitor *v, const char *name,
                              void *opaque, Error **errp)
{
    IbSwitchState *s = IB_SWITCH(obj);
    uint16_t lid = s->sw ? ib_node_lid(ib_switch_node(s->sw), 0) : 0;

    visit_type_uint16(v, name, &lid, errp);
}

static IbProperty ib_switch_properties[] = {
    DEFINE_PROP_UINT32("ports", IbSwitchState, ports, 8),
    DEFINE_PROP_STRING("description", IbSwitchState, description),
    DEFINE_PROP_STRING("fdb", IbSwitchState, fdb),
    DEFINE_PROP_UINT32("linear-fdb-cap", IbSwitchState, linear_fdb_cap,
                       49152),
    DEFINE_PROP_UINT32("random-fdb-cap", IbSwitchState, random_fdb_cap, 1024),
    DEFINE_PROP_UINT32("lids-per-port", IbSwitchState, lids_per_port, 0),
    DEFINE_PROP_UINT32("multicast-fdb-cap", IbSwitchState, multicast_fdb_cap,
                       4096),
    DEFINE_PROP_UINT32("pkeys", IbSwitchState, pkeys, 32),
    DEFINE_IB_LINK_PROPERTIES(IbSwitchState, link),
    IB_PROP_END
};

static const struct {
    const char *name, *description;
} ib_switch_descriptions[] = {
    { "ports", "external ports, 1..254" },
    { "description", "NodeDescription, at most 64 bytes" },
    { "fdb", "unicast forwarding table: linear (default) or random" },
    { "linear-fdb-cap", "SwitchInfo.LinearFDBCap, 1..49152" },
    { "random-fdb-cap", "SwitchInfo.RandomFDBCap, 1..49152" },
    { "lids-per-port", "SwitchInfo.LIDsPerPort of fdb=random, 0 (no limit) "
                       "..49152" },
    { "multicast-fdb-cap", "SwitchInfo.MulticastFDBCap, 0..16383" },
    { "pkeys", "entries of each port's P_KeyTable, 1..32768" },
};

static void ib_switch_class_init(ObjectClass *oc, IbClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);
    ResettableClass *rc = RESETTABLE_CLASS(oc);
    size_t i;

    dc->realize = ib_switch_realize;
    dc->unrealize = ib_switch_unrealize;
    dc->vmsd = &ib_switch_vmstate;
    dc->bus_type = TYPE_IB_CHASSIS_BUS;
    dc->desc = "InfiniBand switch";
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
    rc->phases.hold = ib_switch_reset_hold;
    device_class_set_props(dc, ib_switch_properties);
    for (i = 0; i < ARRAY_SIZE(ib_switch_descriptions); i++) {
        object_class_property_set_description(
            oc, ib_switch_descriptions[i].name,
            ib_switch_descriptions[i].description);
    }
    ib_link_props_describe(oc);
    ib_guid_property_add(oc, "node-guid", offsetof(IbSwitchState, node_guid),
                         "NodeGUID; give one to keep it over restarts");
    ib_guid_property_add(oc, "system-guid",
                         offsetof(IbSwitchState, system_guid),
                         "SystemImageGUID (default: the NodeGUID)");
    object_class_property_add(oc, "lid", "uint16", ib_switch_get_lid, NULL,
                              NULL, NULL);
    object_class_property_set_description(oc, "lid", "LID of port 0");
    object_class_property_add(oc, "discards", "IbSwitchDiscards",
                              ib_switch_get_discards, NULL, NULL, NULL);
    object_class_property_set_description(
        oc, "discards", "packets that went no further, by reason");
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
