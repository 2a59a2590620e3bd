/*
 * A fabric for unit tests: see ib-fabric.h
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdarg.h>
#include "ib-fabric.h"

typedef struct Frame {
    FabricEnd *to;
    size_t len;
    uint8_t data[];
} Frame;

struct Fabric {
    int64_t now;
    uint32_t random;
    unsigned nodes;
    uint8_t host_vls;             /* 0: the default */
    bool direct;
    GPtrArray *switches, *hosts, *ends;
    GQueue frames;
};

static uint32_t next_random(Fabric *f)
{
    f->random = f->random * 1664525 + 1013904223;
    return f->random >> 8 ^ f->random << 16;
}

/* ---------------------------------------------------------------- cables */

static IbCableResult end_send_frame(FabricEnd *end, const uint8_t *data,
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
    if (end->drop_percent && next_random(end->fabric) % 100 <
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

static void end_init(FabricEnd *end, Fabric *f, IbLink *link, uint8_t port)
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
    return next_random(((FabricSwitch *)opaque)->fabric);
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
    return end_send_frame(&((FabricSwitch *)opaque)->ends[port], frame, len);
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

static IbLinkConfig link_config(void)
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
        .link = link_config(),
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
        end_init(&s->ends[i], f, ib_switch_link(s->sw, i), i);
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

/* ----------------------------------------------------------------- hosts */

static int64_t host_now(void *opaque)
{
    return ((FabricHost *)opaque)->end.fabric->now;
}

static uint32_t host_random(void *opaque)
{
    return next_random(((FabricHost *)opaque)->end.fabric);
}

static void host_set_timer(void *opaque, int64_t deadline)
{
    ((FabricHost *)opaque)->end.deadline = deadline;
}

static void host_set_node_timer(void *opaque, int64_t deadline)
{
    ((FabricHost *)opaque)->node_deadline = deadline;
}

static IbCableResult host_send_frame(void *opaque, const uint8_t *frame,
                                     size_t len)
{
    return end_send_frame(&((FabricHost *)opaque)->end, frame, len);
}

/* An SMP for the host's own agent: answered, true. */
static bool host_answer(FabricHost *host, const IbPacket *packet)
{
    IbPacketInfo info;
    uint8_t smp[256], reply[256];
    IbSmiResult smi;
    FabricUd ud = { .vl = 15, .payload_len = 256, .payload = reply };

    if (packet->vl != IB_VL_SM ||
        ib_packet_parse(packet->data, packet->len, &info) != IB_PACKET_OK ||
        info.payload_len != 256) {
        return false;
    }
    memcpy(smp, packet->data + info.payload, 256);
    if (ib_field_get(smp, IB_MAD_METHOD) & 0x80 ||
        (ib_field_get(smp, IB_MAD_METHOD) != IB_METHOD_GET &&
         ib_field_get(smp, IB_MAD_METHOD) != IB_METHOD_SET)) {
        return false;
    }
    ud.slid = ib_lrh_dlid(packet->data);
    ud.dlid = ib_lrh_slid(packet->data);
    if (ib_field_get(smp, IB_MAD_MGMT_CLASS) ==
        IB_CLASS_SUBN_DIRECTED_ROUTE) {
        smi = ib_smi_process(host->node, 1, smp);
        if (smi.action != IB_SMI_LOCAL) {
            return true;
        }
    }
    if (ib_node_process_mad(host->node, 1, ud.dlid, 0, smp, reply) !=
        IB_MAD_REPLY) {
        return true;
    }
    if (ib_field_get(smp, IB_MAD_MGMT_CLASS) ==
        IB_CLASS_SUBN_DIRECTED_ROUTE) {
        smi = ib_smi_reply(host->node, 1, ud.dlid, reply);
        if (smi.action != IB_SMI_FORWARD) {
            return true;
        }
        ud.slid = smi.slid;
        ud.dlid = smi.dlid;
    }
    fabric_send(host, &ud);
    return true;
}

static void host_receive(void *opaque, IbPacket *packet)
{
    FabricHost *host = opaque;
    FabricPacket *p;

    if (host_answer(host, packet)) {
        return;
    }
    if (host->receive) {
        host->receive(host, packet);
    } else {
        p = g_new0(FabricPacket, 1);
        p->data = g_malloc(packet->len);
        memcpy(p->data, packet->data, packet->len);
        p->len = packet->len;
        p->vl = packet->vl;
        p->flags = packet->flags;
        g_ptr_array_add(host->packets, p);
    }
    if (host->slow_ns && packet->vl != IB_VL_SM) {
        IbPacket *held = g_new(IbPacket, 1);

        ib_packet_hold(packet);
        *held = *packet;
        g_queue_push_tail(&host->slow, held);
        if (host->next_release == INT64_MAX) {
            host->next_release = host->end.fabric->now + host->slow_ns;
        }
    }
}

static void host_release(FabricHost *host)
{
    IbPacket *held = g_queue_pop_head(&host->slow);

    if (held) {
        ib_packet_release(held);
        g_free(held);
    }
    host->next_release = g_queue_is_empty(&host->slow)
                         ? INT64_MAX : host->end.fabric->now + host->slow_ns;
}

static void host_receive_end(void *opaque)
{
    ib_link_flush(((FabricHost *)opaque)->end.link);
}

static void host_state_changed(void *opaque, uint8_t old_state,
                               uint8_t new_state)
{
}

static void host_changed(void *opaque, uint8_t port, uint32_t what)
{
}

static const IbLinkOps host_link_ops = {
    .now = host_now,
    .random = host_random,
    .set_timer = host_set_timer,
    .send_frame = host_send_frame,
    .receive = host_receive,
    .receive_end = host_receive_end,
    .state_changed = host_state_changed,
};

static const IbNodeOps host_node_ops = {
    .now = host_now,
    .set_timer = host_set_node_timer,
    .changed = host_changed,
};

static void packet_free(void *opaque)
{
    FabricPacket *p = opaque;

    g_free(p->data);
    g_free(p);
}

FabricHost *fabric_add_host(Fabric *f)
{
    FabricHost *host = g_new0(FabricHost, 1);
    uint64_t guid = UINT64_C(0x0002c90300001000) + 0x100 * f->nodes++;
    IbLinkConfig link = link_config();
    IbNodeConfig node = {
        .node_type = IB_NODE_TYPE_CA,
        .num_ports = 1,
        .system_guid = guid,
        .node_guid = guid,
        .port_guid = guid + 1,
        .vendor_id = 0x0002c9,
        .device_id = 0x1003,
        .pkey_cap = 32,
        .guid_cap = 8,
        .capability_mask = IB_NODE_CAPABILITY_MASK,
    };
    IbLink *links[2] = { NULL };

    link.guid = guid;
    link.port_num = 1;
    if (f->host_vls) {
        link.vl_cap = f->host_vls;
    }
    host->end.host = host;
    host->end.fabric = f;
    host->node_deadline = INT64_MAX;
    host->next_release = INT64_MAX;
    host->packets = g_ptr_array_new_with_free_func(packet_free);
    g_queue_init(&host->slow);
    links[1] = ib_link_new(&link, &host_link_ops, host);
    end_init(&host->end, f, links[1], 1);
    host->node = ib_node_new(&node, &host_node_ops, host, NULL, links);
    g_ptr_array_add(f->hosts, host);
    return host;
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
            host_release(host);
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
            host_release(host);
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

/* --------------------------------------------------------------- packets */

size_t fabric_build(uint8_t *buf, const FabricUd *ud)
{
    IbPacketRoute route = {
        .vl = ud->vl,
        .sl = ud->sl,
        .dlid = ud->dlid,
        .slid = ud->slid,
        .has_grh = ud->sgid != NULL,
        .hop_limit = 1,
    };
    IbPacketBth bth = {
        .opcode = ud->opcode ?: IB_OP_UD_SEND_ONLY,
        .pkey = ud->pkey ?: IB_PKEY_DEFAULT,
        .dest_qpn = ud->dest_qpn,
        .psn = 1,
    };
    size_t at;

    if (ud->sgid) {
        memcpy(route.sgid, ud->sgid, 16);
        memcpy(route.dgid, ud->dgid, 16);
    }
    memset(buf, 0, ib_packet_bytes(route.has_grh, bth.opcode,
                                   ud->payload_len));
    if (bth.opcode == IB_OP_UD_SEND_ONLY) {
        at = ib_packet_put_ud(buf, &route, &bth, ud->qkey, ud->src_qpn, 0,
                              ud->payload_len);
    } else {
        at = ib_packet_put_headers(buf, &route, &bth, ud->payload_len) +
             ib_opcode_info[bth.opcode].ext_bytes;
    }
    if (ud->payload) {
        memcpy(buf + at, ud->payload, ud->payload_len);
    }
    return ib_packet_seal(buf, true);
}

size_t fabric_build_raw(uint8_t *buf, uint16_t slid, uint16_t dlid,
                        size_t len)
{
    memset(buf, 0, len);
    ib_field_set(buf, IB_LRH_LNH, IB_LNH_RAW);
    ib_field_set(buf, IB_LRH_DLID, dlid);
    ib_field_set(buf, IB_LRH_PKTLEN, len / 4);
    ib_field_set(buf, IB_LRH_SLID, slid);
    ib_field_set(buf + IB_LRH_BYTES, IB_RWH_ETHERTYPE, 0x0800);
    return len;
}

IbTxResult fabric_send_bytes(FabricHost *host, const uint8_t *data,
                             size_t len, uint8_t vl)
{
    IbPacket packet = { .data = data, .len = len, .vl = vl };
    IbTxResult result = ib_link_transmit(host->end.link, &packet, vl);

    ib_link_flush(host->end.link);
    return result;
}

IbTxResult fabric_send(FabricHost *host, const FabricUd *ud)
{
    uint8_t buf[FABRIC_PACKET_MAX];

    return fabric_send_bytes(host, buf, fabric_build(buf, ud), ud->vl);
}

const FabricPacket *fabric_packet(const FabricHost *host, unsigned n)
{
    return n < host->packets->len ? g_ptr_array_index(host->packets, n)
                                  : NULL;
}

void fabric_forget(FabricHost *host)
{
    g_ptr_array_set_size(host->packets, 0);
}

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
