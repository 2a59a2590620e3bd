/*
 * A fabric for unit tests: its subnet manager, and a star that it has set up;
 * see ib-fabric.h
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdarg.h>
#include "ib-fabric-int.h"

/* ----------------------------------------------------- subnet management */

FabricRoute fabric_route(unsigned hops, ...)
{
    FabricRoute route = {
        .directed = true,
        .hops = hops,
        .slid = IB_LID_PERMISSIVE,
        .dlid = IB_LID_PERMISSIVE,
    };
    va_list ap;
    unsigned i;

    va_start(ap, hops);
    for (i = 0; i < hops; i++) {
        route.path[i] = va_arg(ap, int);
    }
    va_end(ap);
    return route;
}

FabricRoute fabric_lid_route(uint16_t slid, uint16_t dlid)
{
    return (FabricRoute) { .slid = slid, .dlid = dlid };
}

/*
 * The host's own port is the first hop of a directed route: HopPointer is
 * already at 1 when the SMP is on the cable.
 */
void fabric_smp_init(FabricHost *host, uint8_t smp[256],
                     const FabricRoute *route, uint8_t method, uint16_t attr,
                     uint32_t modifier, const uint8_t data[64])
{
    ib_mad_init(smp, route->directed ? IB_CLASS_SUBN_DIRECTED_ROUTE
                              : IB_CLASS_SUBN_LID_ROUTED,
                IB_CLASS_VERSION_SUBN, method, 0x1000 + ++host->tid, attr,
                modifier);
    if (data) {
        memcpy(smp + IB_SMP_DATA_OFFSET, data, 64);
    }
    if (route->directed) {
        ib_field_set(smp, IB_SMP_HOP_POINTER, 1);
        ib_field_set(smp, IB_SMP_HOP_COUNT, route->hops + 1);
        ib_field_set(smp, IB_SMP_DR_SLID, IB_LID_PERMISSIVE);
        ib_field_set(smp, IB_SMP_DR_DLID, IB_LID_PERMISSIVE);
        smp[IB_SMP_INITIAL_PATH_OFFSET + 1] = 1;
        memcpy(smp + IB_SMP_INITIAL_PATH_OFFSET + 2, route->path,
               route->hops);
    }
}

bool fabric_smp_raw(FabricHost *host, const uint8_t smp[256], uint16_t slid,
                    uint16_t dlid, uint8_t reply[256])
{
    FabricUd ud = {
        .slid = slid,
        .dlid = dlid,
        .vl = 15,
        .payload = smp,
        .payload_len = 256,
    };
    unsigned i;

    fabric_send(host, &ud);
    fabric_run(host->end.fabric, FABRIC_MS);
    for (i = 0; i < host->packets->len; i++) {
        FabricPacket *p = g_ptr_array_index(host->packets, i);
        IbPacketInfo info;

        if (p->vl == 15 &&
            ib_packet_parse(p->data, p->len, &info) == IB_PACKET_OK &&
            info.payload_len == 256 &&
            (ib_field_get(p->data + info.payload, IB_MAD_R)) &&
            !memcmp(p->data + info.payload + IB_MAD_TRANSACTION_ID_OFFSET,
                    smp + IB_MAD_TRANSACTION_ID_OFFSET, 8)) {
            memcpy(reply, p->data + info.payload, 256);
            g_ptr_array_remove_index(host->packets, i);
            return true;
        }
    }
    return false;
}

int fabric_smp(FabricHost *host, const FabricRoute *route, uint8_t method,
               uint16_t attr, uint32_t modifier, uint8_t data[64])
{
    uint8_t smp[256], reply[256];

    fabric_smp_init(host, smp, route, method, attr, modifier, data);
    if (!fabric_smp_raw(host, smp, route->slid, route->dlid, reply)) {
        return -1;
    }
    memcpy(data, reply + IB_SMP_DATA_OFFSET, 64);
    return ib_field_get(reply, IB_SMP_STATUS);
}

void fabric_set_lft(FabricHost *host, const FabricRoute *route,
                    const uint8_t *lft, unsigned count)
{
    uint8_t data[64];
    unsigned block;

    for (block = 0; block * 64 < count; block++) {
        memset(data, 0xff, 64);
        memcpy(data, lft + block * 64, MIN(64, count - block * 64));
        g_assert_cmpint(fabric_smp(host, route, IB_METHOD_SET,
                                   IB_SM_ATTR_LFT, block, data), ==, 0);
    }
}

void fabric_set_switch_info(FabricHost *host, const FabricRoute *route,
                            uint16_t linear_top, uint8_t primary,
                            uint8_t not_primary, uint16_t mcast_top)
{
    uint8_t data[64] = { 0 };

    g_assert_cmpint(fabric_smp(host, route, IB_METHOD_GET,
                               IB_SM_ATTR_SWITCH_INFO, 0, data), ==, 0);
    ib_field_set(data, IB_SWITCHINFO_PORT_STATE_CHANGE, 0);
    ib_field_set(data, IB_SWITCHINFO_LINEAR_FDB_TOP, linear_top);
    ib_field_set(data, IB_SWITCHINFO_DEFAULT_MULTICAST_PRIMARY_PORT, primary);
    ib_field_set(data, IB_SWITCHINFO_DEFAULT_MULTICAST_NOT_PRIMARY_PORT,
                 not_primary);
    ib_field_set(data, IB_SWITCHINFO_MULTICAST_FDB_TOP, mcast_top);
    g_assert_cmpint(fabric_smp(host, route, IB_METHOD_SET,
                               IB_SM_ATTR_SWITCH_INFO, 0, data), ==, 0);
}

void fabric_set_mft(FabricHost *host, const FabricRoute *route,
                    uint16_t mlid, uint64_t ports)
{
    uint32_t index = mlid - IB_LID_MCAST_FIRST;
    uint32_t position;

    for (position = 0; position < 4; position++) {
        uint8_t data[64] = { 0 };
        uint32_t modifier = index / 32 | position << 28;

        if (fabric_smp(host, route, IB_METHOD_GET, IB_SM_ATTR_MFT, modifier,
                       data) != 0) {
            break;
        }
        ib_field_set(data, IB_MFT_PORT_MASK(index % 32),
                     ports >> position * 16 & 0xffff);
        g_assert_cmpint(fabric_smp(host, route, IB_METHOD_SET,
                                   IB_SM_ATTR_MFT, modifier, data), ==, 0);
    }
}

void fabric_set_lid(FabricHost *host, const FabricRoute *route, uint16_t lid,
                    uint16_t sm_lid)
{
    uint8_t data[64] = { 0 };

    g_assert_cmpint(fabric_smp(host, route, IB_METHOD_GET,
                               IB_SM_ATTR_PORT_INFO, 0, data), ==, 0);
    ib_field_set(data, IB_PORTINFO_LID, lid);
    ib_field_set(data, IB_PORTINFO_MASTER_SM_LID, sm_lid);
    ib_field_set(data, IB_PORTINFO_PORT_STATE, 0);
    ib_field_set(data, IB_PORTINFO_PORT_PHYSICAL_STATE, 0);
    ib_field_set(data, IB_PORTINFO_LINK_DOWN_DEFAULT_STATE, 0);
    g_assert_cmpint(fabric_smp(host, route, IB_METHOD_SET,
                               IB_SM_ATTR_PORT_INFO, 0, data), ==, 0);
}

/* ---------------------------------------------------------------- a star */

void fabric_star_init(FabricStar *star, unsigned hosts,
                      const IbSwitchConfig *config)
{
    Fabric *f = fabric_new();
    IbSwitchConfig defaults = fabric_switch_config(f, hosts + 1);
    unsigned i;

    g_assert_cmpuint(hosts, <=, FABRIC_STAR_HOSTS);
    memset(star, 0, sizeof(*star));
    memset(star->lft, IB_LFT_NO_ROUTE, sizeof(star->lft));
    star->fabric = f;
    star->sw = fabric_add_switch(f, config ?: &defaults);
    f->host_vls = ib_switch_config(star->sw->sw)->link.vl_cap;
    for (i = 0; i < hosts; i++) {
        star->host[i] = fabric_add_host(f);
        fabric_connect(f, &star->host[i]->end, &star->sw->ends[i + 1]);
        star->lft[i + 1] = i + 1;
    }
    fabric_bring_up(f);
    star->route = fabric_route(0);
    star->lft[FABRIC_SWITCH_LID] = 0;
    fabric_set_lid(star->host[0], &star->route, FABRIC_SWITCH_LID, 1);
    if (ib_switch_config(star->sw->sw)->fdb == IB_FDB_LINEAR) {
        fabric_set_lft(star->host[0], &star->route, star->lft, 64);
        fabric_set_switch_info(star->host[0], &star->route, 63, 255, 255, 0);
    }
    for (i = 0; i < hosts; i++) {
        fabric_forget(star->host[i]);
    }
}

void fabric_star_clear(FabricStar *star)
{
    fabric_free(star->fabric);
}

void fabric_star_set_lft(FabricStar *star, uint16_t lid, uint8_t port)
{
    star->lft[lid] = port;
    fabric_set_lft(star->host[0], &star->route, star->lft, 64);
}

uint64_t fabric_star_relay_errors(const FabricStar *star, uint8_t port)
{
    return ib_link_counters(star->sw->ends[port].link)
           ->rcv_switch_relay_errors;
}

uint64_t fabric_star_xmit_discards(const FabricStar *star, uint8_t port)
{
    return ib_link_counters(star->sw->ends[port].link)->xmit_discards;
}

unsigned fabric_star_received(const FabricStar *star, unsigned i)
{
    return star->host[i]->packets->len;
}
