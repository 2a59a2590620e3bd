/*
 * A fabric for unit tests: cables, switches and time; see ib-fabric.h
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ib-fabric-int.h"

typedef struct Frame {
    FabricEnd *to;
    size_t len;
    uint8_t data[];
} Frame;

uint32_t fabric_random(Fabric *f)
{
    f->random = f->random * 1664525 + 1013904223;
    return f->random >> 8 ^ f->random << 16;
}

/* ---------------------------------------------------------------- cables */

IbCableResult fabric_end_send_frame(FabricEnd *end, const uint8_t *data,
                                    size_t len)
{
    Frame *frame;

    if (!end->peer) {
        return IB_CABLE_GONE;
    }
    if (end->send) {
        end->send(end, data, len);
        return IB_CABLE_READY;
    }
    if (end->drop_percent && fabric_random(end->fabric) % 100 <
                             end->drop_percent) {
        return IB_CABLE_READY;
    }
    frame = g_malloc(sizeof(*frame) + len);
    frame->to = end->peer;
    frame->len = len;
    memcpy(frame->data, data, len);
    if (end->stopped) {
        g_queue_push_tail(&end->held, frame);
        end->waiting = true;
        return IB_CABLE_BUSY;
    }
    if (end->fabric->direct) {
        ib_link_receive_frame(frame->to->link, frame->data, len);
        g_free(frame);
    } else {
        g_queue_push_tail(&end->fabric->frames, frame);
    }
    return IB_CABLE_READY;
}

void fabric_set_direct(Fabric *f, bool direct)
{
    fabric_settle(f);
    f->direct = direct;
}

void fabric_stop(FabricEnd *end, bool stopped)
{
    Frame *frame;

    end->stopped = stopped;
    if (stopped) {
        return;
    }
    while ((frame = g_queue_pop_head(&end->held))) {
        g_queue_push_tail(&end->fabric->frames, frame);
    }
    if (end->waiting) {
        end->waiting = false;
        ib_link_cable_ready(end->link);
    }
}

void fabric_end_init(FabricEnd *end, Fabric *f, IbLink *link, uint8_t port)
{
    end->fabric = f;
    end->link = link;
    end->port = port;
    end->deadline = end->deadline ?: INT64_MAX;
    g_queue_init(&end->held);
    g_ptr_array_add(f->ends, end);
}

void fabric_connect(Fabric *f, FabricEnd *a, FabricEnd *b)
{
    a->peer = b;
    b->peer = a;
    ib_link_cable_attach(a->link);
    ib_link_cable_attach(b->link);
}

static void forget_frames(Fabric *f, FabricEnd *to)
{
    GList *l = f->frames.head, *next;

    for (; l; l = next) {
        Frame *frame = l->data;

        next = l->next;
        if (frame->to == to) {
            g_free(frame);
            g_queue_delete_link(&f->frames, l);
        }
    }
}

void fabric_cut(Fabric *f, FabricEnd *end)
{
    FabricEnd *peer = end->peer;

    g_assert_nonnull(peer);
    forget_frames(f, end);
    forget_frames(f, peer);
    end->peer = NULL;
    peer->peer = NULL;
    ib_link_cable_detach(end->link);
    ib_link_cable_detach(peer->link);
}

/* -------------------------------------------------------------- switches */

static int64_t sw_now(void *opaque)
{
    return ((FabricSwitch *)opaque)->fabric->now;
}

static uint32_t sw_random(void *opaque)
{
    return fabric_random(((FabricSwitch *)opaque)->fabric);
}

static void sw_set_port_timer(void *opaque, uint8_t port, int64_t deadline)
{
    ((FabricSwitch *)opaque)->ends[port].deadline = deadline;
}

static void sw_set_timer(void *opaque, int64_t deadline)
{
    ((FabricSwitch *)opaque)->deadline = deadline;
}

static IbCableResult sw_send_frame(void *opaque, uint8_t port,
                                   const uint8_t *frame, size_t len)
{
    return fabric_end_send_frame(&((FabricSwitch *)opaque)->ends[port],
                                 frame, len);
}

static void sw_port_state_changed(void *opaque, uint8_t port,
                                  uint8_t old_state, uint8_t new_state)
{
    FabricSwitch *s = opaque;

    s->changed_port = port;
    s->changed_old = old_state;
    s->changed_new = new_state;
    s->changes++;
}

static bool sw_host_receive(void *opaque, uint8_t in_port,
                            const IbPacket *packet)
{
    FabricSwitch *s = opaque;

    return s->processor && s->processor(s, in_port, packet);
}

static const IbSwitchOps sw_ops = {
    .now = sw_now,
    .random = sw_random,
    .set_port_timer = sw_set_port_timer,
    .set_timer = sw_set_timer,
    .send_frame = sw_send_frame,
    .port_state_changed = sw_port_state_changed,
    .host_receive = sw_host_receive,
};

IbLinkConfig fabric_link_config(void)
{
    return (IbLinkConfig) {
        .vl_cap = 4,
        .mtu_cap = IB_MTU_4096,
        .width_supported = IB_LINK_WIDTH_1X | IB_LINK_WIDTH_4X,
        .speed_supported = IB_LINK_SPEED_SDR | IB_LINK_SPEED_DDR |
                           IB_LINK_SPEED_QDR,
        .rx_buffer = 64 * 1024,
        .vl15_packets = 16,
        .max_frame = 64 * 1024,
        .keepalive_ms = 100,
        .timeout_ms = 1000,
        .training_ms = 10,
    };
}

IbSwitchConfig fabric_switch_config(Fabric *f, unsigned num_ports)
{
    uint64_t guid = UINT64_C(0x0002c90300001000) + 0x100 * f->nodes++;

    return (IbSwitchConfig) {
        .num_ports = num_ports,
        .node_guid = guid,
        .system_guid = guid,
        .description = "switch under test",
        .vendor_id = 0x0002c9,
        .device_id = 0xbd36,
        .revision = 1,
        .fdb = IB_FDB_LINEAR,
        .linear_fdb_cap = 49152,
        .random_fdb_cap = 1024,
        .multicast_fdb_cap = 4096,
        .pkey_cap = 32,
        .pkey_cap_external = 32,
        .link = fabric_link_config(),
    };
}

FabricSwitch *fabric_add_switch(Fabric *f, const IbSwitchConfig *config)
{
    FabricSwitch *s = g_new0(FabricSwitch, 1);
    unsigned i;

    s->fabric = f;
    s->deadline = INT64_MAX;
    s->ends = g_new0(FabricEnd, config->num_ports + 1);
    s->sw = ib_switch_new(config, &sw_ops, s);
    g_assert_nonnull(s->sw);
    for (i = 1; i <= config->num_ports; i++) {
        fabric_end_init(&s->ends[i], f, ib_switch_link(s->sw, i), i);
        s->ends[i].sw = s;
    }
    g_ptr_array_add(f->switches, s);
    return s;
}

bool fabric_replace_switch(FabricSwitch *s, const void *data, size_t len)
{
    IbSwitchConfig config = *ib_switch_config(s->sw);
    FabricEnd *peer[255] = { NULL };
    unsigned i;
    bool ok;

    /* The old one sends no good-bye. */
    for (i = 1; i <= config.num_ports; i++) {
        peer[i] = s->ends[i].peer;
        s->ends[i].peer = NULL;
        s->ends[i].deadline = INT64_MAX;
    }
    s->deadline = INT64_MAX;
    ib_switch_free(s->sw);
    s->sw = ib_switch_new(&config, &sw_ops, s);
    for (i = 1; i <= config.num_ports; i++) {
        s->ends[i].link = ib_switch_link(s->sw, i);
        s->ends[i].deadline = INT64_MAX;
        if (peer[i]) {
            ib_link_cable_attach(s->ends[i].link);
        }
    }
    ok = ib_switch_load(s->sw, data, len);
    for (i = 1; i <= config.num_ports; i++) {
        s->ends[i].peer = peer[i];
    }
    return ok;
}

/* ------------------------------------------------------------------ time */

Fabric *fabric_new(void)
{
    Fabric *f = g_new0(Fabric, 1);

    f->now = 1000 * FABRIC_MS;
    f->random = 12345;
    f->switches = g_ptr_array_new();
    f->hosts = g_ptr_array_new();
    f->ends = g_ptr_array_new();
    g_queue_init(&f->frames);
    return f;
}

void fabric_free(Fabric *f)
{
    unsigned i;

    for (i = 0; i < f->ends->len; i++) {
        FabricEnd *end = g_ptr_array_index(f->ends, i);

        end->peer = NULL;
        g_queue_clear_full(&end->held, g_free);
    }
    for (i = 0; i < f->hosts->len; i++) {
        FabricHost *host = g_ptr_array_index(f->hosts, i);

        while (!g_queue_is_empty(&host->slow)) {
            fabric_host_release(host);
        }
        ib_node_free(host->node);
        ib_link_free(host->end.link);
        g_ptr_array_unref(host->packets);
        g_free(host);
    }
    for (i = 0; i < f->switches->len; i++) {
        FabricSwitch *s = g_ptr_array_index(f->switches, i);

        ib_switch_free(s->sw);
        g_free(s->ends);
        g_free(s);
    }
    g_queue_clear_full(&f->frames, g_free);
    g_ptr_array_unref(f->switches);
    g_ptr_array_unref(f->hosts);
    g_ptr_array_unref(f->ends);
    g_free(f);
}

int64_t fabric_now(const Fabric *f)
{
    return f->now;
}

void fabric_settle(Fabric *f)
{
    Frame *frame;

    while ((frame = g_queue_pop_head(&f->frames))) {
        ib_link_receive_frame(frame->to->link, frame->data, frame->len);
        g_free(frame);
    }
}

static int64_t next_deadline(const Fabric *f)
{
    int64_t next = INT64_MAX;
    unsigned i;

    for (i = 0; i < f->ends->len; i++) {
        FabricEnd *end = g_ptr_array_index(f->ends, i);

        next = MIN(next, end->deadline);
    }
    for (i = 0; i < f->switches->len; i++) {
        FabricSwitch *s = g_ptr_array_index(f->switches, i);

        next = MIN(next, s->deadline);
    }
    for (i = 0; i < f->hosts->len; i++) {
        FabricHost *host = g_ptr_array_index(f->hosts, i);

        next = MIN(next, MIN(host->node_deadline, host->next_release));
    }
    return next;
}

static void fire_timers(Fabric *f)
{
    unsigned i;

    for (i = 0; i < f->ends->len; i++) {
        FabricEnd *end = g_ptr_array_index(f->ends, i);

        if (end->deadline <= f->now) {
            end->deadline = INT64_MAX;
            if (end->sw) {
                ib_switch_port_timer(end->sw->sw, end->port);
            } else {
                ib_link_timer(end->link);
            }
        }
    }
    for (i = 0; i < f->switches->len; i++) {
        FabricSwitch *s = g_ptr_array_index(f->switches, i);

        if (s->deadline <= f->now) {
            s->deadline = INT64_MAX;
            ib_switch_timer(s->sw);
        }
    }
    for (i = 0; i < f->hosts->len; i++) {
        FabricHost *host = g_ptr_array_index(f->hosts, i);

        if (host->node_deadline <= f->now) {
            host->node_deadline = INT64_MAX;
            ib_node_timer(host->node);
        }
        if (host->next_release <= f->now) {
            fabric_host_release(host);
        }
    }
}

void fabric_run(Fabric *f, int64_t ns)
{
    int64_t end = f->now + ns;
    int64_t next;

    fabric_settle(f);
    while ((next = next_deadline(f)) <= end) {
        f->now = MAX(f->now, next);
        fire_timers(f);
        fabric_settle(f);
    }
    f->now = end;
}

static void links_to(Fabric *f, uint8_t state)
{
    unsigned i;

    for (i = 0; i < f->ends->len; i++) {
        FabricEnd *end = g_ptr_array_index(f->ends, i);

        if (end->peer) {
            g_assert_true(ib_link_set_state(end->link, state));
        }
    }
    fabric_settle(f);
}

void fabric_bring_up(Fabric *f)
{
    unsigned i;

    fabric_run(f, FABRIC_TRAINING);
    for (i = 0; i < f->ends->len; i++) {
        FabricEnd *end = g_ptr_array_index(f->ends, i);

        if (end->peer) {
            g_assert_cmpint(ib_link_state(end->link), ==, IB_PORT_INIT);
            g_assert_true(ib_link_set_neighbor_mtu(end->link, IB_MTU_4096));
        }
    }
    links_to(f, IB_PORT_ARMED);
    links_to(f, IB_PORT_ACTIVE);
    fabric_run(f, FABRIC_MS);
}
