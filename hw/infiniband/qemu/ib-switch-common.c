/*
 * What a switch is to QEMU, wherever it sits
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ib-switch-common.h"
#include "hw/infiniband/ib-mad.h"
#include "hw/infiniband/ib-packet.h"
#include "migration/vmstate.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "../trace.h"

/* What a switch of QEMU says it is: see docs/specs/ib-switch.rst. */
#define IB_SWITCH_VENDOR_ID  0x525400
#define IB_SWITCH_DEVICE_ID  0x1b5c

/* One class has one switch a device, at this offset of its instances. */
#define BAY(obj, opaque) \
    ((IbSwitchBay *)((char *)(obj) + GPOINTER_TO_SIZE(opaque)))

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
    IbSwitchBay *s = opaque;

    if (deadline == INT64_MAX) {
        timer_del(s->timer);
    } else {
        timer_mod_ns(s->timer, deadline);
    }
}

static void ib_switch_timer_expired(void *opaque)
{
    IbSwitchBay *s = opaque;

    ib_switch_timer(s->sw);
}

static void ib_switch_op_set_port_timer(void *opaque, uint8_t port,
                                        int64_t deadline)
{
    IbSwitchBay *s = opaque;

    ib_cable_set_timer(s->cables[port], deadline);
}

static IbCableResult ib_switch_op_send_frame(void *opaque, uint8_t port,
                                             const uint8_t *frame, size_t len)
{
    IbSwitchBay *s = opaque;

    return ib_cable_send(s->cables[port], frame, len);
}

/* The core reports packets only while somebody looks. */
static void ib_switch_sync_trace(IbSwitchBay *s)
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
    IbSwitchBay *s = opaque;

    trace_ib_switch_port_state(s->dev->id ?: "", port, old_state,
                               new_state);
    ib_switch_sync_trace(s);
    if (s->ops && s->ops->port_state_changed) {
        s->ops->port_state_changed(s, port);
    }
}

static bool ib_switch_op_host_receive(void *opaque, uint8_t in_port,
                                      const IbPacket *packet)
{
    IbSwitchBay *s = opaque;

    return s->ops && s->ops->host_receive &&
           s->ops->host_receive(s, in_port, packet);
}

static void ib_switch_op_tap(void *opaque, uint8_t port, bool tx,
                             const uint8_t *packet, size_t len, uint16_t vcrc)
{
    IbSwitchBay *s = opaque;

    ib_cable_tap(s->cables[port], tx, packet, len, vcrc);
}

static void ib_switch_op_trace_packet(void *opaque, uint8_t in_port,
                                      uint8_t out_port, int reason,
                                      const uint8_t *packet, size_t len)
{
    IbSwitchBay *s = opaque;
    uint32_t dlid = 0, slid = 0, vl = 0;

    if (len >= IB_LRH_BYTES) {
        dlid = ib_field_get(packet, IB_LRH_DLID);
        slid = ib_field_get(packet, IB_LRH_SLID);
        vl = ib_field_get(packet, IB_LRH_VL);
    }
    if (out_port == 255) {
        trace_ib_switch_discard(s->dev->id ?: "", in_port, slid, dlid, vl,
                                len, ib_discard_name(reason));
    } else {
        trace_ib_switch_packet(s->dev->id ?: "", in_port, out_port, slid,
                               dlid, vl, len);
    }
}

static void ib_switch_op_trace_mad(void *opaque, uint8_t port, bool out,
                                   const uint8_t *mad)
{
    IbSwitchBay *s = opaque;

    trace_ib_switch_mad(s->dev->id ?: "", port, out ? "out" : "in",
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
    .host_receive = ib_switch_op_host_receive,
};

static IbLink *ib_switch_claim(void *owner, uint32_t port, IbCable *cable,
                               Error **errp)
{
    IbSwitchBay *s = owner;

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

static void ib_switch_release(void *owner, uint32_t port)
{
    IbSwitchBay *s = owner;

    s->cables[port] = NULL;
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

static bool ib_switch_config_from_props(IbSwitchBay *s,
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
    config->enhanced_port0 = s->enhanced_port0;
    return true;
}

bool ib_switch_bay_realize(IbSwitchBay *s, DeviceState *dev,
                           const IbSwitchBayOps *ops, Error **errp)
{
    IbSwitchConfig config = { };
    IbCageBus *cages;

    if (!ib_switch_config_from_props(s, &config, errp)) {
        return false;
    }
    s->dev = dev;
    s->ops = ops;
    s->timer = timer_new_ns(QEMU_CLOCK_REALTIME, ib_switch_timer_expired, s);
    s->sw = ib_switch_new(&config, &ib_switch_ops, s);
    cages = IB_CAGE_BUS(qbus_new(TYPE_IB_CAGE_BUS, dev, NULL));
    cages->owner = s;
    cages->claim = ib_switch_claim;
    cages->release = ib_switch_release;
    qbus_set_bus_hotplug_handler(BUS(cages));
    ib_switch_sync_trace(s);
    return true;
}

void ib_switch_bay_unrealize(IbSwitchBay *s)
{
    ib_switch_free(s->sw);
    s->sw = NULL;
    timer_free(s->timer);
    s->timer = NULL;
    g_free(s->saved);
    s->saved = NULL;
}

static int ib_switch_pre_save(void *opaque)
{
    IbSwitchBay *s = opaque;
    GByteArray *bytes = g_byte_array_new();

    ib_switch_save(s->sw, bytes);
    g_free(s->saved);
    s->saved_size = bytes->len;
    s->saved = g_byte_array_free(bytes, false);
    return 0;
}

static int ib_switch_post_load(void *opaque, int version_id)
{
    IbSwitchBay *s = opaque;
    bool ok = ib_switch_load(s->sw, s->saved, s->saved_size);

    g_free(s->saved);
    s->saved = NULL;
    s->saved_size = 0;
    return ok ? 0 : -EINVAL;
}

const VMStateDescription ib_switch_bay_vmstate = {
    .name = TYPE_IB_SWITCH,
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = ib_switch_pre_save,
    .post_load = ib_switch_post_load,
    .fields = (VMStateField[]) {
        VMSTATE_UINT32(saved_size, IbSwitchBay),
        VMSTATE_VBUFFER_ALLOC_UINT32(saved, IbSwitchBay, 1, NULL,
                                     saved_size),
        VMSTATE_END_OF_LIST()
    },
};

static void ib_switch_get_discards(Object *obj, Visitor *v, const char *name,
                                   void *opaque, Error **errp)
{
    IbSwitchBay *s = BAY(obj, opaque);
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
    IbSwitchBay *s = BAY(obj, opaque);
    uint16_t lid = s->sw ? ib_node_lid(ib_switch_node(s->sw), 0) : 0;

    visit_type_uint16(v, name, &lid, errp);
}

/* The ports whose LED is lit: "1 5" */
static void ib_switch_get_leds(Object *obj, Visitor *v, const char *name,
                               void *opaque, Error **errp)
{
    IbSwitchBay *s = BAY(obj, opaque);
    g_autoptr(GString) text = g_string_new(NULL);
    char *string;
    unsigned port;

    for (port = 0; s->sw && port <= s->ports; port++) {
        if (ib_node_led(ib_switch_node(s->sw), port)) {
            g_string_append_printf(text, "%s%u", text->len ? " " : "", port);
        }
    }
    string = text->str;
    visit_type_str(v, name, &string, errp);
}

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
    { "enhanced-port0", "port 0 is an enhanced one: it may have an LMC (off)" },
};

void ib_switch_bay_class_init(ObjectClass *oc, size_t offset)
{
    size_t i;

    for (i = 0; i < ARRAY_SIZE(ib_switch_descriptions); i++) {
        object_class_property_set_description(
            oc, ib_switch_descriptions[i].name,
            ib_switch_descriptions[i].description);
    }
    ib_link_props_describe(oc);
    ib_guid_property_add(oc, "node-guid",
                         offset + offsetof(IbSwitchBay, node_guid),
                         "NodeGUID; give one to keep it over restarts");
    ib_guid_property_add(oc, "system-guid",
                         offset + offsetof(IbSwitchBay, system_guid),
                         "SystemImageGUID (default: the NodeGUID)");
    object_class_property_add(oc, "lid", "uint16", ib_switch_get_lid, NULL,
                              NULL, GSIZE_TO_POINTER(offset));
    object_class_property_set_description(oc, "lid", "LID of port 0");
    object_class_property_add(oc, "leds", "str", ib_switch_get_leds, NULL,
                              NULL, GSIZE_TO_POINTER(offset));
    object_class_property_set_description(
        oc, "leds", "ports whose LED the subnet manager has lit");
    object_class_property_add(oc, "discards", "IbSwitchDiscards",
                              ib_switch_get_discards, NULL, NULL,
                              GSIZE_TO_POINTER(offset));
    object_class_property_set_description(
        oc, "discards", "packets that went no further, by reason");
}
