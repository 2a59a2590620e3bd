/*
 * What a person can see and do at a cage at run time
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ib-cable.h"
#include "hw/infiniband/ib-sm-attr.h"
#include "qapi/error.h"
#include "qapi/visitor.h"

/* One class has one cable a device, at this offset of its instances. */
#define CABLE(obj, opaque) \
    ((IbCable *)((char *)(obj) + GPOINTER_TO_SIZE(opaque)))

static void ib_cable_get_text(Visitor *v, const char *name, const char *text,
                              Error **errp)
{
    g_autofree char *copy = g_strdup(text);

    visit_type_str(v, name, &copy, errp);
}

static void ib_cable_get_state(Object *obj, Visitor *v, const char *name,
                               void *opaque, Error **errp)
{
    static const char *const states[] = {
        [IB_PORT_DOWN] = "down", [IB_PORT_INIT] = "init",
        [IB_PORT_ARMED] = "armed", [IB_PORT_ACTIVE] = "active",
    };
    IbCable *cable = CABLE(obj, opaque);

    ib_cable_get_text(v, name,
                      states[cable->link ? ib_link_state(cable->link)
                                         : IB_PORT_DOWN], errp);
}

static void ib_cable_get_phys(Object *obj, Visitor *v, const char *name,
                              void *opaque, Error **errp)
{
    static const char *const states[] = {
        [IB_PHYS_SLEEP] = "sleep", [IB_PHYS_POLLING] = "polling",
        [IB_PHYS_DISABLED] = "disabled",
        [IB_PHYS_PORT_CONF_TRAINING] = "training",
        [IB_PHYS_LINK_UP] = "link-up",
        [IB_PHYS_LINK_ERR_RECOVER] = "link-error-recovery",
        [IB_PHYS_PHY_TEST] = "phy-test",
    };
    IbCable *cable = CABLE(obj, opaque);

    ib_cable_get_text(v, name,
                      states[cable->link ? ib_link_phys_state(cable->link)
                                         : IB_PHYS_POLLING], errp);
}

static void ib_cable_get_neighbor(Object *obj, Visitor *v, const char *name,
                                  void *opaque, Error **errp)
{
    IbCable *cable = CABLE(obj, opaque);
    g_autofree char *text = NULL;

    if (cable->link && ib_link_peer_guid(cable->link)) {
        text = g_strdup_printf("%016" PRIx64 ":%u",
                               ib_link_peer_guid(cable->link),
                               ib_link_peer_port(cable->link));
    }
    ib_cable_get_text(v, name, text ?: "", errp);
}

/* The counters as one structure, in the words of perfquery where it has any. */
static const struct {
    const char *name;
    size_t offset;
} ib_cable_counters[] = {
#define COUNTER(name, member) { name, offsetof(IbLinkCounters, member) }
    COUNTER("xmit-data", xmit_data),
    COUNTER("rcv-data", rcv_data),
    COUNTER("xmit-pkts", xmit_pkts),
    COUNTER("rcv-pkts", rcv_pkts),
    COUNTER("unicast-xmit-pkts", unicast_xmit_pkts),
    COUNTER("unicast-rcv-pkts", unicast_rcv_pkts),
    COUNTER("multicast-xmit-pkts", multicast_xmit_pkts),
    COUNTER("multicast-rcv-pkts", multicast_rcv_pkts),
    COUNTER("symbol-errors", symbol_errors),
    COUNTER("link-error-recovery", link_error_recovery),
    COUNTER("link-downed", link_downed),
    COUNTER("rcv-errors", rcv_errors),
    COUNTER("rcv-remote-physical-errors", rcv_remote_physical_errors),
    COUNTER("rcv-switch-relay-errors", rcv_switch_relay_errors),
    COUNTER("xmit-discards", xmit_discards),
    COUNTER("port-inactive-discards", port_inactive_discards),
    COUNTER("neighbor-mtu-discards", neighbor_mtu_discards),
    COUNTER("sw-lifetime-discards", sw_lifetime_discards),
    COUNTER("sw-hoq-lifetime-discards", sw_hoq_lifetime_discards),
    COUNTER("xmit-constraint-errors", xmit_constraint_errors),
    COUNTER("rcv-constraint-errors", rcv_constraint_errors),
    COUNTER("local-link-integrity-errors", local_link_integrity_errors),
    COUNTER("excessive-buffer-overruns", excessive_buffer_overruns),
    COUNTER("vl15-dropped", vl15_dropped),
    COUNTER("xmit-wait", xmit_wait),
    COUNTER("frames-sent", frames_sent),
    COUNTER("frames-received", frames_received),
    COUNTER("frames-bad", frames_bad),
    COUNTER("frames-late", frames_late),
    COUNTER("local-physical-errors", local_physical_errors),
    COUNTER("malformed-packets", malformed_packets),
    COUNTER("buffer-overruns", buffer_overruns),
    COUNTER("dlid-mapping-errors", dlid_mapping_errors),
    COUNTER("vl-mapping-errors", vl_mapping_errors),
    COUNTER("looping-errors", looping_errors),
    COUNTER("xmit-flow-pkts", xmit_flow_pkts),
    COUNTER("rcv-flow-pkts", rcv_flow_pkts),
#undef COUNTER
};

static void ib_cable_get_counters(Object *obj, Visitor *v, const char *name,
                                  void *opaque, Error **errp)
{
    IbCable *cable = CABLE(obj, opaque);
    const char *base = cable->link ? (char *)ib_link_counters(cable->link)
                                   : NULL;
    size_t i;

    if (!visit_start_struct(v, name, NULL, 0, errp)) {
        return;
    }
    for (i = 0; i < ARRAY_SIZE(ib_cable_counters); i++) {
        uint64_t value = 0;

        if (base) {
            memcpy(&value, base + ib_cable_counters[i].offset, sizeof(value));
        }
        if (!visit_type_uint64(v, ib_cable_counters[i].name, &value, errp)) {
            break;
        }
    }
    visit_end_struct(v, NULL);
}

static void ib_cable_get_link(Object *obj, Visitor *v, const char *name,
                              void *opaque, Error **errp)
{
    IbCable *cable = CABLE(obj, opaque);
    bool up = !cable->pulled;

    visit_type_bool(v, name, &up, errp);
}

static void ib_cable_set_link(Object *obj, Visitor *v, const char *name,
                              void *opaque, Error **errp)
{
    IbCable *cable = CABLE(obj, opaque);
    bool up;

    if (visit_type_bool(v, name, &up, errp)) {
        ib_cable_pull(cable, !up);
    }
}

/* The numbers of IbLinkInject; all end at a million but the seed. */
static const struct {
    const char *name;
    size_t offset;
    uint32_t max;
    const char *description;
} ib_cable_injects[] = {
#define INJECT(member) offsetof(IbLinkInject, member)
    { "inject-drop", INJECT(drop), 1000000,
      "of a million received packets, how many are lost" },
    { "inject-corrupt", INJECT(corrupt), 1000000,
      "of a million received packets, how many have a wrong VCRC" },
    { "inject-delay", INJECT(delay), 1000000,
      "of a million received packets, how many are late" },
    { "inject-delay-us", INJECT(delay_us), 1000000,
      "how late, in microseconds, up to 1000000" },
    { "inject-duplicate", INJECT(duplicate), 1000000,
      "of a million received packets, how many come twice" },
    { "inject-seed", INJECT(seed), UINT32_MAX,
      "same seed, same packets; 0: another each time" },
#undef INJECT
};

/* The row of a property whose name was registered from the table. */
static size_t ib_cable_inject_row(const char *name)
{
    size_t i = 0;

    while (strcmp(ib_cable_injects[i].name, name)) {
        i++;
    }
    return i;
}

static void ib_cable_get_inject(Object *obj, Visitor *v, const char *name,
                                void *opaque, Error **errp)
{
    IbCable *cable = CABLE(obj, opaque);
    size_t row = ib_cable_inject_row(name);
    uint32_t value;

    memcpy(&value, (char *)&cable->inject + ib_cable_injects[row].offset,
           sizeof(value));
    visit_type_uint32(v, name, &value, errp);
}

/* Until a class is named, all packets are meant. */
static void ib_cable_inject_changed(IbCable *cable)
{
    if (!cable->inject_set) {
        cable->inject_set = true;
        cable->inject.vls = cable->inject.vls ?: 0xffff;
    }
    ib_cable_inject(cable);
}

static void ib_cable_set_inject(Object *obj, Visitor *v, const char *name,
                                void *opaque, Error **errp)
{
    IbCable *cable = CABLE(obj, opaque);
    size_t row = ib_cable_inject_row(name);
    uint32_t value;

    if (!visit_type_uint32(v, name, &value, errp)) {
        return;
    }
    if (value > ib_cable_injects[row].max) {
        error_setg(errp, "%s must be 0..%u", name, ib_cable_injects[row].max);
        return;
    }
    memcpy((char *)&cable->inject + ib_cable_injects[row].offset, &value,
           sizeof(value));
    ib_cable_inject_changed(cable);
}

/* all, data, or one VL: vl0 to vl15 */
static void ib_cable_get_class(Object *obj, Visitor *v, const char *name,
                               void *opaque, Error **errp)
{
    uint16_t vls = CABLE(obj, opaque)->inject.vls;
    g_autofree char *text = NULL;

    if (vls == 0xffff || vls == 0) {
        text = g_strdup("all");
    } else if (vls == 0x7fff) {
        text = g_strdup("data");
    } else {
        text = g_strdup_printf("vl%d", ctz32(vls));
    }
    ib_cable_get_text(v, name, text, errp);
}

static void ib_cable_set_class(Object *obj, Visitor *v, const char *name,
                               void *opaque, Error **errp)
{
    IbCable *cable = CABLE(obj, opaque);
    g_autofree char *text = NULL;
    unsigned vl;

    if (!visit_type_str(v, name, &text, errp)) {
        return;
    }
    if (!strcmp(text, "all")) {
        cable->inject.vls = 0xffff;
    } else if (!strcmp(text, "data")) {
        cable->inject.vls = 0x7fff;
    } else {
        for (vl = 0; vl < IB_VLS; vl++) {
            g_autofree char *one = g_strdup_printf("vl%u", vl);

            if (!strcmp(text, one)) {
                break;
            }
        }
        if (vl == IB_VLS) {
            error_setg(errp, "inject-class must be all, data or vl0..vl15, "
                       "not '%s'", text);
            return;
        }
        cable->inject.vls = 1u << vl;
    }
    ib_cable_inject_changed(cable);
}

static void ib_cable_get_hold(Object *obj, Visitor *v, const char *name,
                              void *opaque, Error **errp)
{
    IbCable *cable = CABLE(obj, opaque);
    bool hold = cable->link && ib_link_hold(cable->link);

    visit_type_bool(v, name, &hold, errp);
}

static void ib_cable_set_hold(Object *obj, Visitor *v, const char *name,
                              void *opaque, Error **errp)
{
    IbCable *cable = CABLE(obj, opaque);
    bool hold;

    if (visit_type_bool(v, name, &hold, errp) && cable->link) {
        ib_link_set_hold(cable->link, hold);
    }
}

static void ib_cable_get_held(Object *obj, Visitor *v, const char *name,
                              void *opaque, Error **errp)
{
    IbCable *cable = CABLE(obj, opaque);
    bool held = !cable->link || ib_link_held(cable->link);

    visit_type_bool(v, name, &held, errp);
}

static void ib_cable_get_pcap(Object *obj, Visitor *v, const char *name,
                              void *opaque, Error **errp)
{
    ib_cable_get_text(v, name, CABLE(obj, opaque)->pcap_path ?: "", errp);
}

static void ib_cable_set_pcap(Object *obj, Visitor *v, const char *name,
                              void *opaque, Error **errp)
{
    IbCable *cable = CABLE(obj, opaque);
    g_autofree char *path = NULL;

    if (!visit_type_str(v, name, &path, errp)) {
        return;
    }
    if (cable->link && !ib_cable_capture(cable, path, errp)) {
        return;
    }
    g_free(cable->pcap_path);
    cable->pcap_path = g_steal_pointer(&path);
}

static void ib_cable_release(Object *obj, const char *name, void *opaque)
{
    IbCable *cable = CABLE(obj, opaque);

    g_free(cable->pcap_path);
    cable->pcap_path = NULL;
}

void ib_cable_properties_add(ObjectClass *oc, size_t offset)
{
    static const struct {
        const char *name, *type;
        ObjectPropertyAccessor *get, *set;
        ObjectPropertyRelease *release;
        const char *description;
    } props[] = {
        { "pcap", "str", ib_cable_get_pcap, ib_cable_set_pcap,
          ib_cable_release,
          "file to capture this cable's packets to, as pcap (ERF) for "
          "Wireshark; empty: none" },
        { "link", "bool", ib_cable_get_link, ib_cable_set_link, NULL,
          "false pulls the cable out, true plugs it in again" },
        { "hold", "bool", ib_cable_get_hold, ib_cable_set_hold, NULL,
          "true gives the other end no credits: packets of data VLs wait "
          "there, as before a migration" },
        { "held", "bool", ib_cable_get_held, NULL, NULL,
          "the hold has taken effect: no such packet is on the cable" },
        { "inject-class", "str", ib_cable_get_class, ib_cable_set_class,
          NULL,
          "which received packets inject-* mean: all, data, or vl0 to vl15" },
        { "state", "str", ib_cable_get_state, NULL, NULL,
          "PortState: down, init, armed or active" },
        { "phys-state", "str", ib_cable_get_phys, NULL, NULL,
          "PortPhysicalState" },
        { "neighbor", "str", ib_cable_get_neighbor, NULL, NULL,
          "GUID:port that the peer told in training" },
        { "counters", "IbPortCounters", ib_cable_get_counters, NULL, NULL,
          "the port's counters, 64 bits each, never cleared" },
    };
    size_t i;

    for (i = 0; i < ARRAY_SIZE(props); i++) {
        object_class_property_add(oc, props[i].name, props[i].type,
                                  props[i].get, props[i].set,
                                  props[i].release,
                                  GSIZE_TO_POINTER(offset));
        object_class_property_set_description(oc, props[i].name,
                                              props[i].description);
    }
    for (i = 0; i < ARRAY_SIZE(ib_cable_injects); i++) {
        object_class_property_add(oc, ib_cable_injects[i].name, "uint32",
                                  ib_cable_get_inject, ib_cable_set_inject,
                                  NULL, GSIZE_TO_POINTER(offset));
        object_class_property_set_description(
            oc, ib_cable_injects[i].name, ib_cable_injects[i].description);
    }
}
