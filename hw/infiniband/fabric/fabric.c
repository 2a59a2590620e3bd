/*
 * A fabric: its nodes, the cables between them, and what is due when
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A frame that a node sends waits in a queue until ib_fabric_run() gives it to
 * the other end, so no call goes round the fabric.
 */
#include "fabric-int.h"

/* So many frames at a time, in case that some go round for ever. */
#define FRAMES_A_RUN   4096

typedef struct IbFrame {
    IbEnd *to;
    size_t len;
    uint8_t data[];
} IbFrame;

int64_t ib_unit_now(IbUnit *unit)
{
    return unit->fabric->ops->now(unit->fabric->opaque);
}

uint32_t ib_unit_random(IbUnit *unit)
{
    return unit->fabric->ops->random(unit->fabric->opaque);
}

static void wake(IbFabric *f)
{
    if (!f->running && !f->quiet && f->ops->wake) {
        f->ops->wake(f->opaque);
    }
}

static void frames_push(IbFrames *frames, IbEnd *to, const uint8_t *data,
                        size_t len)
{
    size_t room = (sizeof(IbFrame) + len + 7) & ~(size_t)7;
    IbFrame *frame;

    if (frames->used + room > frames->size) {
        frames->size = 2 * (frames->size + room);
        frames->data = g_realloc(frames->data, frames->size);
    }
    frame = (IbFrame *)(frames->data + frames->used);
    frame->to = to;
    frame->len = len;
    memcpy(frame->data, data, len);
    frames->used += room;
}

IbCableResult ib_end_send(IbEnd *end, const uint8_t *data, size_t len)
{
    IbFabric *f = end->timer.unit->fabric;

    if (end->plug) {
        return end->plug->send_frame(end->plug_opaque, data, len);
    }
    if (!end->peer) {
        return IB_CABLE_GONE;
    }
    frames_push(&f->frames, end->peer, data, len);
    wake(f);
    return IB_CABLE_READY;
}

void ib_end_set_timer(IbEnd *end, int64_t deadline)
{
    IbFabric *f = end->timer.unit->fabric;

    if (end->plug) {
        end->plug->set_timer(end->plug_opaque, deadline);
        return;
    }
    ib_timers_set(&f->timers, &end->timer, deadline);
    wake(f);
}

/* -------------------------------------------------------------- switches */

static int64_t sw_now(void *opaque)
{
    return ib_unit_now(opaque);
}

static uint32_t sw_random(void *opaque)
{
    return ib_unit_random(opaque);
}

static void sw_set_port_timer(void *opaque, uint8_t port, int64_t deadline)
{
    IbUnit *unit = opaque;

    ib_end_set_timer(&unit->ends[port], deadline);
}

static void sw_set_timer(void *opaque, int64_t deadline)
{
    IbUnit *unit = opaque;

    ib_timers_set(&unit->fabric->timers, &unit->timer, deadline);
    wake(unit->fabric);
}

static IbCableResult sw_send_frame(void *opaque, uint8_t port,
                                   const uint8_t *frame, size_t len)
{
    IbUnit *unit = opaque;

    return ib_end_send(&unit->ends[port], frame, len);
}

static void sw_tap(void *opaque, uint8_t port, bool tx, const uint8_t *packet,
                   size_t len, uint16_t vcrc)
{
    IbUnit *unit = opaque;

    ib_end_tap(&unit->ends[port], tx, packet, len, vcrc);
}

static bool sw_host_receive(void *opaque, uint8_t in_port,
                            const IbPacket *packet)
{
    return ib_port0_host_receive(opaque, in_port, packet);
}

static const IbSwitchOps sw_ops = {
    .now = sw_now,
    .random = sw_random,
    .set_port_timer = sw_set_port_timer,
    .set_timer = sw_set_timer,
    .send_frame = sw_send_frame,
    .tap = sw_tap,
    .host_receive = sw_host_receive,
};

/* A description that fills the 64 bytes has no end. */
static void switch_init(IbUnit *unit, const IbTopologyNode *node)
{
    IbSwitchConfig config = {
        .num_ports = node->num_ports,
        .node_guid = node->node_guid,
        .system_guid = node->system_guid,
        .vendor_id = node->vendor_id,
        .device_id = node->device_id,
        .fdb = IB_FDB_LINEAR,
        .linear_fdb_cap = 49152,
        .multicast_fdb_cap = 4096,
        .pkey_cap = 32,
        .pkey_cap_external = 32,
        .enhanced_port0 = node->enhanced_port0,
        .link = ib_fabric_link_config(node, 0),
    };
    unsigned p;

    memcpy(config.description, node->description,
           MIN(strlen(node->description), sizeof(config.description)));
    unit->sw = ib_switch_new(&config, &sw_ops, unit);
    unit->node = ib_switch_node(unit->sw);
    ib_switch_set_host(unit->sw, IB_HOST_MANAGERS);
    for (p = 1; p <= node->num_ports; p++) {
        unit->ends[p].link = ib_switch_link(unit->sw, p);
    }
}

/* ------------------------------------------------------------ the fabric */

static void unit_init(IbFabric *f, uint32_t index)
{
    const IbTopologyNode *node = &f->topology->nodes[index];
    IbUnit *unit = &f->units[index];
    unsigned p;

    unit->fabric = f;
    unit->index = index;
    unit->num_ports = node->num_ports;
    unit->timer.unit = unit;
    unit->ends = g_new0(IbEnd, node->num_ports + 1);
    for (p = 1; p <= node->num_ports; p++) {
        unit->ends[p].timer.unit = unit;
        unit->ends[p].timer.port = p;
    }
    if (node->type == IB_NODE_TYPE_SWITCH) {
        switch_init(unit, node);
    } else {
        ib_endpoint_init(unit, node);
    }
    for (p = 1; p <= node->num_ports; p++) {
        ib_fabric_link_enable(unit->ends[p].link, &node->ports[p]);
    }
}

/* Ids come first: a description may be that of many. */
static void name_nodes(IbFabric *f)
{
    uint32_t i;

    f->names = g_hash_table_new(g_str_hash, g_str_equal);
    for (i = 0; i < f->topology->num_nodes; i++) {
        g_hash_table_insert(f->names, f->topology->nodes[i].id,
                            GUINT_TO_POINTER(i + 1));
    }
    for (i = 0; i < f->topology->num_nodes; i++) {
        char *name = f->topology->nodes[i].description;

        if (!g_hash_table_contains(f->names, name)) {
            g_hash_table_insert(f->names, name, GUINT_TO_POINTER(i + 1));
        }
    }
}

static void plug_in_all(IbFabric *f)
{
    const IbTopologyPort *port;
    uint32_t i;
    unsigned p;

    for (i = 0; i < f->topology->num_nodes; i++) {
        for (p = 1; p <= f->topology->nodes[i].num_ports; p++) {
            port = &f->topology->nodes[i].ports[p];
            if (port->cabled) {
                f->units[i].ends[p].peer =
                    &f->units[port->peer].ends[port->peer_port];
                f->units[i].ends[p].plugged = true;
            }
        }
    }
    /* Both ends of one before the next: a cable is up at once. */
    for (i = 0; i < f->topology->num_nodes; i++) {
        for (p = 1; p <= f->topology->nodes[i].num_ports; p++) {
            if (f->units[i].ends[p].peer) {
                ib_link_cable_attach(f->units[i].ends[p].link);
                ib_link_cable_attach(f->units[i].ends[p].peer->link);
            }
        }
        ib_fabric_run(f);
    }
}

IbFabric *ib_fabric_new(const IbTopology *topology, const IbFabricOps *ops,
                        void *opaque)
{
    IbFabric *f = g_new0(IbFabric, 1);
    uint32_t i;

    f->topology = topology;
    f->ops = ops;
    f->opaque = opaque;
    f->quiet = true;
    ib_timers_init(&f->timers);
    f->units = g_new0(IbUnit, topology->num_nodes);
    for (i = 0; i < topology->num_nodes; i++) {
        unit_init(f, i);
    }
    name_nodes(f);
    plug_in_all(f);
    f->quiet = false;
    return f;
}

void ib_fabric_free(IbFabric *f)
{
    uint32_t i;
    unsigned p;

    f->quiet = true;
    for (i = 0; i < f->topology->num_nodes; i++) {
        for (p = 1; p <= f->units[i].num_ports; p++) {
            f->units[i].ends[p].peer = NULL;
            ib_fabric_capture(f, i, p, NULL, NULL);
        }
    }
    for (i = 0; i < f->topology->num_nodes; i++) {
        if (f->units[i].sw) {
            ib_switch_free(f->units[i].sw);
        } else {
            ib_endpoint_free(&f->units[i]);
        }
        g_free(f->units[i].ends);
    }
    g_hash_table_unref(f->names);
    g_free(f->units);
    g_free(f->frames.data);
    g_free(f->spare.data);
    ib_timers_clear(&f->timers);
    g_free(f);
}

static void fire(IbTimer *timer)
{
    IbUnit *unit = timer->unit;

    if (!timer->port && unit->sw) {
        ib_switch_timer(unit->sw);
    } else if (!timer->port) {
        ib_node_timer(unit->node);
    } else if (unit->sw) {
        ib_switch_port_timer(unit->sw, timer->port);
    } else {
        ib_link_timer(unit->ends[timer->port].link);
    }
}

/* Give out what was sent so far; what that sends waits for the next time. */
static unsigned deliver(IbFabric *f)
{
    IbFrames frames = f->frames;
    unsigned count = 0;
    size_t at = 0;

    f->frames = f->spare;
    f->spare = (IbFrames) { 0 };
    while (at < frames.used) {
        IbFrame *frame = (IbFrame *)(frames.data + at);

        /* A cable may have been pulled out meanwhile. */
        if (frame->to->plugged && !frame->to->plug) {
            ib_link_receive_frame(frame->to->link, frame->data, frame->len);
        }
        at += (sizeof(*frame) + frame->len + 7) & ~(size_t)7;
        count++;
    }
    frames.used = 0;
    f->spare = frames;
    return count;
}

int64_t ib_fabric_run(IbFabric *f)
{
    unsigned left = FRAMES_A_RUN;
    IbTimer *timer;

    if (f->running) {
        return INT64_MAX;         /* what calls this sees to it */
    }
    f->running = true;
    do {
        while (f->frames.used && left) {
            left -= MIN(left, deliver(f));
        }
        timer = left ? ib_timers_pop(&f->timers, f->ops->now(f->opaque))
                     : NULL;
        if (timer) {
            fire(timer);
        }
    } while (timer || (f->frames.used && left));
    f->running = false;
    return left ? ib_timers_next(&f->timers) : f->ops->now(f->opaque);
}

void ib_fabric_set_receiver(IbFabric *f,
                            bool (*receive)(void *opaque,
                                            const IbFabricMad *mad),
                            void *opaque)
{
    f->receive = receive;
    f->receive_opaque = opaque;
}

bool ib_unit_give(IbUnit *unit, const IbFabricMad *mad)
{
    IbFabric *f = unit->fabric;

    return f->receive && f->receive(f->receive_opaque, mad);
}

void ib_fabric_send(IbFabric *f, const IbFabricMad *mad)
{
    IbUnit *unit = &f->units[mad->node];

    if (unit->taken) {
        return;
    }
    if (unit->sw) {
        ib_port0_send(unit, mad);
    } else if (mad->port >= 1 && mad->port <= unit->num_ports) {
        ib_endpoint_send(unit, mad);
    }
}

bool ib_fabric_is_prompt(const IbFabric *f)
{
    return !f->plugs && !f->injected && !f->frames.used;
}

const IbTopology *ib_fabric_topology(const IbFabric *f)
{
    return f->topology;
}

int64_t ib_fabric_now(const IbFabric *f)
{
    return f->ops->now(f->opaque);
}

IbNode *ib_fabric_node(IbFabric *f, uint32_t index)
{
    return f->units[index].taken ? NULL : f->units[index].node;
}

int64_t ib_fabric_find(const IbFabric *f, const char *name)
{
    unsigned index = GPOINTER_TO_UINT(g_hash_table_lookup(f->names, name));
    uint64_t guid;
    uint32_t i;

    if (index) {
        return index - 1;
    }
    if (!g_str_has_prefix(name, "0x") ||
        !g_ascii_string_to_unsigned(name + 2, 16, 1, UINT64_MAX, &guid,
                                    NULL)) {
        return -1;
    }
    for (i = 0; i < f->topology->num_nodes; i++) {
        if (f->topology->nodes[i].node_guid == guid) {
            return i;
        }
    }
    return -1;
}
