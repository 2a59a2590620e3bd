/*
 * Properties that switches and channel adapters share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ib-props.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qemu/units.h"

/* QEMU's own OUI, as its NICs use it. */
#define IB_GUID_OUI  0x525400ULL

static void ib_guid_get(Object *obj, Visitor *v, const char *name,
                        void *opaque, Error **errp)
{
    IbGuid *guid = (IbGuid *)((char *)obj + GPOINTER_TO_SIZE(opaque));

    visit_type_uint64(v, name, &guid->value, errp);
}

static void ib_guid_set(Object *obj, Visitor *v, const char *name,
                        void *opaque, Error **errp)
{
    IbGuid *guid = (IbGuid *)((char *)obj + GPOINTER_TO_SIZE(opaque));
    DeviceState *dev = DEVICE(obj);
    uint64_t value;

    if (dev->realized) {
        error_setg(errp, "%s can only be set before the device is realized",
                   name);
        return;
    }
    if (!visit_type_uint64(v, name, &value, errp)) {
        return;
    }
    if (!value) {
        error_setg(errp, "%s must be 1..0xffffffffffffffff", name);
        return;
    }
    guid->value = value;
    guid->given = true;
}

void ib_guid_property_add(ObjectClass *oc, const char *name, size_t offset,
                          const char *description)
{
    object_class_property_add(oc, name, "uint64", ib_guid_get, ib_guid_set,
                              NULL, GSIZE_TO_POINTER(offset));
    object_class_property_set_description(oc, name, description);
}

uint64_t ib_guid_value(IbGuid *guid)
{
    if (!guid->value) {
        guid->value = IB_GUID_OUI << 40 |
                      (uint64_t)(g_random_int() & 0xff) << 32 |
                      (g_random_int() & ~0xfU);
    }
    return guid->value;
}

static const struct {
    const char *name, *description;
} ib_link_descriptions[] = {
    { "speed", "fastest lane speed: sdr, ddr, qdr (default), fdr, edr, hdr "
               "or ndr" },
    { "width", "widest link: 1x, 4x (default), 8x or 12x" },
    { "mtu", "largest payload of a packet: 256, 512, 1024, 2048 or 4096 "
             "bytes" },
    { "vls", "data virtual lanes: 1, 2, 4, 8 or 15" },
    { "vl-buffer", "receive buffer of one data VL in bytes, 8192..8388608" },
    { "max-frame", "largest frame on the cable in bytes, 1024..65536, with "
                   "room for a packet of mtu; the smaller of both ends "
                   "counts" },
    { "crc", "put ICRC and VCRC on the cable and check them (either end may "
             "ask)" },
    { "rate", "what a port sends at most: off (default), link (what its "
              "width and speed carry), or 0.1MB/s to 1000000MB/s, or as "
              "Gb/s" },
    { "keepalive", "interval of an idle cable's frames in ms, 10..60000" },
    { "timeout", "silence on the cable after which the port goes Down in "
                 "ms, more than keepalive, ..600000" },
};

void ib_link_props_describe(ObjectClass *oc)
{
    size_t i;

    for (i = 0; i < ARRAY_SIZE(ib_link_descriptions); i++) {
        object_class_property_set_description(
            oc, ib_link_descriptions[i].name,
            ib_link_descriptions[i].description);
    }
}

/* The value of @text in a table of names, or -1. */
static int ib_name_index(const char *const *names, const char *text)
{
    int i;

    for (i = 0; names[i]; i++) {
        if (!strcmp(names[i], text)) {
            return i;
        }
    }
    return -1;
}

/* Bytes a second of off, link, or a number with its unit. */
static bool ib_rate_parse(const char *text, uint64_t *rate)
{
    char *unit;
    double value;

    if (!text || !strcmp(text, "off")) {
        *rate = 0;
        return true;
    }
    if (!strcmp(text, "link")) {
        *rate = IB_RATE_LINK;
        return true;
    }
    value = g_ascii_strtod(text, &unit);
    if (!strcmp(unit, "MB/s")) {
        value *= 1e6;
    } else if (!strcmp(unit, "Gb/s")) {
        value *= 1e9 / 8;
    } else {
        return false;
    }
    if (!(value >= 1e5 && value <= 1e12)) {
        return false;
    }
    *rate = value;
    return true;
}

bool ib_link_props_config(const IbLinkProps *props, IbLinkConfig *config,
                          Error **errp)
{
    /* PortInfo.LinkSpeedSupported, and from bit 4 LinkSpeedExtSupported. */
    static const char *const speeds[] = {
        "sdr", "ddr", "qdr", "fdr", "edr", "hdr", "ndr", NULL
    };
    static const uint16_t speed_bits[] = {
        0x1, 0x3, 0x7, 0x17, 0x37, 0x77, 0xf7
    };
    /* PortInfo.LinkWidthSupported: the given width and narrower ones. */
    static const char *const widths[] = { "1x", "4x", "8x", "12x", NULL };
    static const uint8_t width_bits[] = { 0x1, 0x3, 0x7, 0xb };
    int speed = ib_name_index(speeds, props->speed ?: "qdr");
    int width = ib_name_index(widths, props->width ?: "4x");
    uint32_t mtu = props->mtu;

    if (speed < 0) {
        error_setg(errp, "speed must be sdr, ddr, qdr, fdr, edr, hdr or ndr, "
                   "not '%s'", props->speed);
        return false;
    }
    if (width < 0) {
        error_setg(errp, "width must be 1x, 4x, 8x or 12x, not '%s'",
                   props->width);
        return false;
    }
    if (!is_power_of_2(mtu) || mtu < 256 || mtu > 4096) {
        error_setg(errp, "mtu must be 256, 512, 1024, 2048 or 4096, not %u",
                   mtu);
        return false;
    }
    if (props->vls != 15 && (!is_power_of_2(props->vls) || props->vls > 8)) {
        error_setg(errp, "vls must be 1, 2, 4, 8 or 15, not %u", props->vls);
        return false;
    }
    if (props->vl_buffer < 8 * KiB || props->vl_buffer > 8 * MiB) {
        error_setg(errp, "vl-buffer must be 8192..8388608, not %u",
                   props->vl_buffer);
        return false;
    }
    if (props->max_frame < 1 * KiB || props->max_frame > 64 * KiB) {
        error_setg(errp, "max-frame must be 1024..65536, not %u",
                   props->max_frame);
        return false;
    }
    if (ib_link_mtu_for_frame(props->max_frame) < ctz32(mtu) - 7) {
        error_setg(errp, "mtu must be 256..%u with a max-frame of %u, not %u",
                   128 << ib_link_mtu_for_frame(props->max_frame),
                   props->max_frame, mtu);
        return false;
    }
    if (props->keepalive < 10 || props->keepalive > 60000) {
        error_setg(errp, "keepalive must be 10..60000, not %u",
                   props->keepalive);
        return false;
    }
    if (props->timeout <= props->keepalive || props->timeout > 600000) {
        error_setg(errp, "timeout must be %u..600000, not %u",
                   props->keepalive + 1, props->timeout);
        return false;
    }

    if (!ib_rate_parse(props->rate, &config->rate)) {
        error_setg(errp, "rate must be off, link, 0.1MB/s..1000000MB/s or "
                   "0.0008Gb/s..8000Gb/s, not '%s'", props->rate);
        return false;
    }

    config->speed_supported = speed_bits[speed];
    config->width_supported = width_bits[width];
    config->mtu_cap = ctz32(mtu) - 7;
    config->vl_cap = props->vls;
    config->rx_buffer = props->vl_buffer;
    config->vl15_packets = 64;
    config->max_frame = props->max_frame;
    config->crc = props->crc;
    config->keepalive_ms = props->keepalive;
    config->timeout_ms = props->timeout;
    return true;
}

bool ib_description_config(const char *text, const char *fallback,
                           char description[64], Error **errp)
{
    const char *from = text ?: fallback;
    size_t len = strlen(from);

    if (len > 64) {
        error_setg(errp, "description must be 0..64 bytes, not %zu", len);
        return false;
    }
    memset(description, 0, 64);
    memcpy(description, from, len);
    return true;
}
