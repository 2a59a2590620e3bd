/*
 * Cables: what they are, pulling them, spoiling them, watching them, and
 * those that lead out of the fabric
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fabric-int.h"

/*
 * A cable in memory neither loses frames nor goes silent: an hour between
 * signs of life.
 */
#define KEEPALIVE_MS   3600000u
/* Carries a packet of 4096 bytes and its company. */
#define FRAME_BYTES    8192

/* Of one that goes through a netdev: as the ib-switch device has them. */
#define OUT_FRAME_BYTES   65536
#define OUT_KEEPALIVE_MS  200
#define OUT_TIMEOUT_MS    3000

IbLinkConfig ib_fabric_link_config(const IbTopologyNode *node, uint8_t port)
{
    uint8_t width = 0;
    uint16_t speed = 0;
    unsigned p;

    /* All ports support the same, and so have the same CapabilityMask. */
    for (p = 1; p <= node->num_ports; p++) {
        const IbTopologyPort *said = &node->ports[p];

        if (said->cabled) {
            width |= ib_fabric_widths(said->rate_width ?: IB_LINK_WIDTH_4X) |
                     said->width;
            speed |= ib_fabric_speeds(said->rate_speed ?: IB_LINK_SPEED_QDR);
        }
    }
    width = width ?: ib_fabric_widths(IB_LINK_WIDTH_4X);
    speed = speed ?: ib_fabric_speeds(IB_LINK_SPEED_QDR);
    return (IbLinkConfig) {
        .vl_cap = 4,
        .mtu_cap = IB_MTU_4096,
        .width_supported = width,
        .speed_supported = speed,
        .rx_buffer = 256 * 1024,
        .vl15_packets = 64,
        .max_frame = FRAME_BYTES,
        .switch_port = node->type == IB_NODE_TYPE_SWITCH,
        .keepalive_ms = KEEPALIVE_MS,
        .timeout_ms = 4 * KEEPALIVE_MS / 3,
        .guid = node->node_guid,
        .port_num = port,
    };
}

void ib_fabric_link_enable(IbLink *link, const IbTopologyPort *port)
{
    if (port->rate_width) {
        ib_link_set_cable_rate(link, ib_fabric_widths(port->rate_width),
                               ib_fabric_speeds(port->rate_speed));
    }
    if (port->width) {
        ib_link_set_width_enabled(link, port->width);
    }
    if (port->speed) {
        ib_link_set_speed_enabled(link, port->speed);
    }
}

static IbEnd *get_end(const IbFabric *f, uint32_t index, uint8_t port)
{
    if (index >= f->topology->num_nodes || port < 1 ||
        port > f->units[index].num_ports) {
        return NULL;
    }
    return &f->units[index].ends[port];
}

IbLink *ib_fabric_link(IbFabric *f, uint32_t index, uint8_t port)
{
    IbEnd *end = get_end(f, index, port);

    return end ? end->link : NULL;
}

/* Are both nodes there, is nothing else in the ports, is it not pulled? */
static bool cable_there(const IbEnd *end)
{
    return end->plugged && !end->timer.unit->taken &&
           !end->peer->timer.unit->taken;
}

static void cable_update(IbEnd *end)
{
    if (cable_there(end)) {
        ib_link_cable_attach(end->link);
        ib_link_cable_attach(end->peer->link);
        return;
    }
    if (!end->plug) {
        ib_link_cable_detach(end->link);
    }
    if (!end->peer->plug) {
        ib_link_cable_detach(end->peer->link);
    }
}

bool ib_fabric_cable_set(IbFabric *f, uint32_t index, uint8_t port,
                         bool plugged)
{
    IbEnd *end = get_end(f, index, port);

    if (!end || !end->peer) {
        return false;
    }
    end->plugged = end->peer->plugged = plugged;
    cable_update(end);
    return true;
}

bool ib_fabric_cable_plugged(const IbFabric *f, uint32_t index, uint8_t port)
{
    const IbEnd *end = get_end(f, index, port);

    return end && end->plugged;
}

static bool any_inject(const IbLinkInject *inject)
{
    return inject->drop || inject->corrupt || inject->delay ||
           inject->duplicate;
}

bool ib_fabric_set_inject(IbFabric *f, uint32_t index, uint8_t port,
                          const IbLinkInject *inject)
{
    IbEnd *end = get_end(f, index, port);
    IbLinkInject old = { 0 };

    if (!end) {
        return false;
    }
    ib_link_get_inject(end->link, &old);
    if (!ib_link_set_inject(end->link, inject)) {
        return false;
    }
    f->injected += any_inject(inject);
    f->injected -= any_inject(&old);
    return true;
}

/* -------------------------------------------------------------- captures */

void ib_end_tap(IbEnd *end, bool tx, const uint8_t *packet, size_t len,
                uint16_t vcrc)
{
    if (end->pcap) {
        ib_pcap_write_dir(end->pcap, tx ? IB_PCAP_SENT : IB_PCAP_RECEIVED,
                          g_get_real_time() * 1000, packet, len, vcrc);
        ib_pcap_flush(end->pcap);
    }
    if (end->plug) {
        end->plug->tap(end->plug_opaque, tx, packet, len, vcrc);
    }
}

bool ib_fabric_capture(IbFabric *f, uint32_t index, uint8_t port,
                       const char *path, char **why)
{
    IbEnd *end = get_end(f, index, port);
    IbPcap *pcap = NULL;

    if (path) {
        pcap = ib_pcap_open(path, why);
        if (!pcap) {
            return false;
        }
    }
    if (pcap || end->pcap) {
        ib_pcap_close(end->pcap);
        end->pcap = pcap;
        ib_link_set_tap(end->link, pcap != NULL);
    }
    return true;
}

/* ------------------------------------------------- out of the fabric */

/* The cables of a CA go with it, and come back with it. */
static void unit_update_cables(IbUnit *unit)
{
    unsigned p;

    for (p = 1; p <= unit->num_ports; p++) {
        if (unit->ends[p].peer) {
            cable_update(&unit->ends[p]);
        }
    }
}

IbLink *ib_fabric_plug(IbFabric *f, uint32_t index, uint8_t port,
                       const IbPlugOps *ops, void *opaque, const char **why)
{
    IbEnd *end = get_end(f, index, port);
    IbLinkConfig config;
    bool stands_for;
    IbUnit *unit;

    if (!end) {
        *why = "there is no such port";
        return NULL;
    }
    unit = end->timer.unit;
    if (unit->sw && end->peer) {
        *why = "this port of the switch has a cable in the file";
        return NULL;
    }
    if (f->topology->nodes[index].type == IB_NODE_TYPE_ROUTER) {
        *why = "a router: a VM stands for a channel adapter";
        return NULL;
    }
    if (end->peer && !end->peer->timer.unit->sw) {
        *why = "the file cables it to no switch";
        return NULL;
    }
    stands_for = end->peer != NULL;
    if (stands_for) {
        end = end->peer;
    }
    if (end->plug) {
        *why = "it is taken";
        return NULL;
    }
    if (stands_for && unit->taken++ == 0) {
        unit_update_cables(unit);
    }
    end->plug = ops;
    end->plug_opaque = opaque;
    f->plugs++;
    config = *ib_link_config(end->link);
    config.max_frame = OUT_FRAME_BYTES;
    config.keepalive_ms = OUT_KEEPALIVE_MS;
    config.timeout_ms = OUT_TIMEOUT_MS;
    ib_link_set_cable(end->link, &config);
    return end->link;
}

void ib_fabric_unplug(IbFabric *f, uint32_t index, uint8_t port)
{
    IbEnd *end = get_end(f, index, port);
    IbUnit *unit = end->timer.unit;
    bool stands_for = end->peer != NULL;
    IbLinkConfig config =
        ib_fabric_link_config(&f->topology->nodes[index], port);

    if (stands_for) {
        end = end->peer;
    }
    ib_link_cable_detach(end->link);
    ib_link_set_cable(end->link, &config);
    end->plug = NULL;
    end->plug_opaque = NULL;
    f->plugs--;
    if (stands_for && --unit->taken == 0) {
        unit_update_cables(unit);
    }
}
