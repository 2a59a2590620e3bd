/*
 * Properties that switches and channel adapters share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_INFINIBAND_QEMU_IB_PROPS_H
#define HW_INFINIBAND_QEMU_IB_PROPS_H

#include "ib-compat.h"
#include "hw/infiniband/ib-link.h"

/* A GUID that a person may give; 0 is refused by the property itself. */
typedef struct IbGuid {
    uint64_t value;
    bool given;
} IbGuid;

/*
 * Add the property @name of class @oc for the IbGuid at @offset of its
 * instances; settable until the device is realized.
 */
void ib_guid_property_add(ObjectClass *oc, const char *name, size_t offset,
                          const char *description);
/* The GUID, or if none was given a new random one with the OUI 52:54:00. */
uint64_t ib_guid_value(IbGuid *guid);

/* What every port of a node shares. */
typedef struct IbLinkProps {
    char *speed;                  /* sdr, ddr, qdr, fdr, edr, hdr, ndr */
    char *width;                  /* 1x, 4x, 8x, 12x */
    uint32_t mtu;                 /* bytes */
    uint32_t vls;
    uint32_t vl_buffer;           /* bytes a data VL */
    uint32_t max_frame;           /* bytes */
    bool crc;
    char *rate;                   /* off, link, N MB/s or Gb/s */
    uint32_t keepalive, timeout;  /* ms */
} IbLinkProps;

#define DEFINE_IB_LINK_PROPERTIES(_state, _field)                         \
    DEFINE_PROP_STRING("speed", _state, _field.speed),                    \
    DEFINE_PROP_STRING("width", _state, _field.width),                    \
    DEFINE_PROP_UINT32("mtu", _state, _field.mtu, 4096),                  \
    DEFINE_PROP_UINT32("vls", _state, _field.vls, 8),                     \
    DEFINE_PROP_UINT32("vl-buffer", _state, _field.vl_buffer, 256 * 1024), \
    DEFINE_PROP_UINT32("max-frame", _state, _field.max_frame, 65536),     \
    DEFINE_PROP_BOOL("crc", _state, _field.crc, false),                   \
    DEFINE_PROP_STRING("rate", _state, _field.rate),                      \
    DEFINE_PROP_UINT32("keepalive", _state, _field.keepalive, 200),       \
    DEFINE_PROP_UINT32("timeout", _state, _field.timeout, 3000)

/* Their descriptions, for `-device X,help`. */
void ib_link_props_describe(ObjectClass *oc);

/*
 * Check them and write all of @config but guid, port_num and training_ms.
 * Returns false with an error that names the property and its range.
 */
bool ib_link_props_config(const IbLinkProps *props, IbLinkConfig *config,
                          Error **errp);

/* Copy a NodeDescription of at most 64 bytes of UTF-8; @fallback when NULL. */
bool ib_description_config(const char *text, const char *fallback,
                           char description[64], Error **errp);

#endif
