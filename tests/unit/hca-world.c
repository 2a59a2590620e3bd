/*
 * Channel adapters for unit tests (hca-world.h)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hca-world.h"

typedef struct Frame {
    int64_t when;
    size_t len;
    uint8_t data[];
} Frame;

/* ------------------------------------------------------- host's side */

static int64_t op_now(void *opaque)
{
    return ((TestHca *)opaque)->world->now;
}

static uint32_t op_random(void *opaque)
{
    return g_rand_int(((TestHca *)opaque)->world->rand);
}

static void op_set_port_timer(void *opaque, uint8_t port, int64_t deadline)
{
    ((TestHca *)opaque)->port[port].deadline = deadline;
}

static void op_set_timer(void *opaque, int64_t deadline)
{
    ((TestHca *)opaque)->deadline = deadline;
}

static IbCableResult op_send_frame(void *opaque, uint8_t num,
                                   const uint8_t *data, size_t len)
{
    TestPort *port = &((TestHca *)opaque)->port[num];
    World *world = port->hca->world;
    Frame *frame;

    g_assert_false(port->told_busy);
    if (!port->peer) {
        return IB_CABLE_GONE;
    }
    if (world->cut) {
        return IB_CABLE_READY;
    }
    if (world->loss_percent &&
        g_rand_int_range(world->rand, 0, 100) < (int)world->loss_percent) {
        world->frames_lost++;
        return IB_CABLE_READY;
    }
    if (world->immediate) {
        ib_link_receive_frame(ib_hca_link(port->peer->hca->hca,
                                          port->peer->num), data, len);
        return IB_CABLE_READY;
    }
    frame = g_malloc(sizeof(*frame) + len);
    frame->when = world->now + world->delay;
    frame->len = len;
    memcpy(frame->data, data, len);
    g_queue_push_tail(&port->peer->wire, frame);
    if (port->stopped) {
        port->told_busy = true;
        return IB_CABLE_BUSY;
    }
    return IB_CABLE_READY;
}

static void op_port_state_changed(void *opaque, uint8_t port,
                                  uint8_t old_state, uint8_t new_state)
{
    ((TestHca *)opaque)->port[port].changes++;
}

static void op_tap(void *opaque, uint8_t port, bool tx, const uint8_t *packet,
                   size_t len, uint16_t vcrc)
{
}

static void op_trace_packet(void *opaque, uint8_t num, bool tx, uint32_t qpn,
                            const char *why, const uint8_t *packet,
                            size_t len)
{
    TestHca *hca = opaque;
    TestPort *port = &hca->port[num];
    unsigned n;

    if (why) {
        n = GPOINTER_TO_UINT(g_hash_table_lookup(hca->discards, why));
        g_hash_table_insert(hca->discards, (void *)why,
                            GUINT_TO_POINTER(n + 1));
    } else if (tx) {
        port->tx_packets++;
        if (port->on_tx) {
            port->on_tx(port, packet, len);
        }
    } else {
        port->rx_packets++;
    }
}

static void op_changed(void *opaque, uint8_t port, uint32_t what)
{
}

/* -------------------------------------------------------- the face */

static IbPull load_send(TestQp *qp, unsigned at, IbSendWr *wr)
{
    TestHca *hca = qp->hca;
    const IbSendWr *from = &qp->send[at % WORLD_RING];
    size_t used = 0;
    unsigned i;

    *wr = *from;
    /* Inline data is good until the next call only. */
    memset(hca->scratch, 0xee, sizeof(hca->scratch));
    for (i = 0; i < wr->num_sge; i++) {
        if (wr->sge[i].ptr) {
            memcpy(hca->scratch + used, from->sge[i].ptr, from->sge[i].len);
            wr->sge[i].ptr = hca->scratch + used;
            used += from->sge[i].len;
        }
    }
    return IB_PULL_OK;
}

static IbPull op_next_send(void *opaque, void *face, IbSendWr *wr,
                           IbWcStatus *status)
{
    TestQp *qp = face;

    if (qp->consumer == qp->producer) {
        return IB_PULL_EMPTY;
    }
    load_send(qp, qp->consumer, wr);
    qp->consumer++;
    if (qp->bad_send) {
        qp->bad_send = false;
        *status = IB_WC_LOC_QP_OP_ERR;
        return IB_PULL_ERROR;
    }
    return IB_PULL_OK;
}

static IbPull op_refetch_send(void *opaque, void *face, uint64_t id,
                              IbSendWr *wr)
{
    TestQp *qp = face;

    qp->refetches++;
    return load_send(qp, id, wr);
}

static IbPull next_recv(TestRecvQueue *rq, IbRecvWr *wr, IbWcStatus *status)
{
    if (rq->consumer == rq->producer) {
        return IB_PULL_EMPTY;
    }
    *wr = rq->wr[rq->consumer++ % WORLD_RING];
    if (rq->bad) {
        rq->bad = false;
        *status = IB_WC_LOC_QP_OP_ERR;
        return IB_PULL_ERROR;
    }
    return IB_PULL_OK;
}

static IbPull op_next_recv(void *opaque, void *face, IbRecvWr *wr,
                           IbWcStatus *status)
{
    return next_recv(((TestQp *)face)->rq, wr, status);
}

static bool op_xrc_select(void *opaque, void *face, uint32_t srqn)
{
    TestHca *hca = opaque;

    return !hca->xrc_only || srqn == hca->xrc_only;
}

static IbPull op_next_recv_xrc(void *opaque, void *face, uint32_t srqn,
                               IbRecvWr *wr, IbWcStatus *status)
{
    TestHca *hca = opaque;

    hca->xrc_srqn = srqn;
    return next_recv(hca->xrc_srq, wr, status);
}

static void op_complete(void *opaque, void *face, const IbCompletion *wc)
{
    TestHca *hca = opaque;
    TestQp *qp = face;

    g_assert_cmpuint(hca->depth, ==, 0);
    hca->depth++;
    if (qp->on_wc) {
        qp->on_wc(qp, wc);
    } else {
        g_array_append_val(qp->wc, *wc);
    }
    hca->depth--;
}

static IbWcStatus op_local_op(void *opaque, void *face, const IbSendWr *wr)
{
    TestQp *qp = face;

    qp->local_ops++;
    if (wr->imm) {
        hca_find_key(qp->hca, wr->imm)->invalid = true;
    }
    return qp->local_status;
}

static IbMemResult op_invalidate(void *opaque, void *face, uint32_t rkey)
{
    TestHca *hca = opaque;
    TestKey *key = hca_find_key(hca, rkey);

    hca->invalidated = rkey;
    if (!key) {
        return IB_MEM_KEY;
    }
    key->invalid = true;
    return IB_MEM_OK;
}

static void op_event(void *opaque, void *face, IbHcaEvent event)
{
    g_array_append_val(((TestQp *)face)->events, event);
}

static void op_state_moved(void *opaque, void *face, IbQpState state)
{
    TestQp *qp = face;

    g_assert_cmpint(ib_qp_state(qp->qp), ==, state);
    qp->moved++;
}

TestKey *hca_find_key(TestHca *hca, uint32_t key)
{
    unsigned i;

    for (i = 0; i < hca->keys->len; i++) {
        TestKey *k = &g_array_index(hca->keys, TestKey, i);

        if (k->key == key) {
            return k;
        }
    }
    return NULL;
}

static IbMemResult lookup(void *opaque, uint32_t key, uint64_t va,
                          uint64_t len, unsigned rights, uint8_t **mem)
{
    TestKey *k = hca_find_key(opaque, key);

    if (!k || k->invalid || va < k->va || len > k->len ||
        va - k->va > k->len - len || (rights & ~k->rights)) {
        return IB_MEM_KEY;
    }
    *mem = k->mem + (va - k->va);
    return k->fault ? IB_MEM_FAULT : IB_MEM_OK;
}

static IbMemResult op_read(void *opaque, void *face, uint32_t key,
                           uint64_t va, uint32_t len, unsigned rights,
                           uint8_t *to)
{
    uint8_t *mem;
    IbMemResult r = lookup(opaque, key, va, len, rights, &mem);

    if (r == IB_MEM_OK) {
        memcpy(to, mem, len);
    }
    return r;
}

static IbMemResult op_write(void *opaque, void *face, uint32_t key,
                            uint64_t va, uint32_t len, unsigned rights,
                            const uint8_t *from)
{
    uint8_t *mem;
    IbMemResult r = lookup(opaque, key, va, len, rights, &mem);

    if (r == IB_MEM_OK) {
        memcpy(mem, from, len);
    }
    return r;
}

static IbMemResult op_check(void *opaque, void *face, uint32_t key,
                            uint64_t va, uint64_t len, unsigned rights)
{
    uint8_t *mem;

    return lookup(opaque, key, va, len, rights, &mem) == IB_MEM_KEY
           ? IB_MEM_KEY : IB_MEM_OK;
}

static IbMemResult op_atomic(void *opaque, void *face, uint32_t key,
                             uint64_t va, const IbSendWr *wr, uint64_t *old)
{
    uint8_t *mem;
    IbMemResult r = lookup(opaque, key, va, 8, IB_ACCESS_REMOTE_ATOMIC, &mem);
    uint64_t v;

    if (r != IB_MEM_OK) {
        return r;
    }
    memcpy(&v, mem, 8);
    v = GUINT64_FROM_LE(v);
    *old = v;
    switch (wr->opcode) {
    case IB_WR_FETCH_ADD:
        v += wr->swap_or_add;
        break;
    case IB_WR_MASKED_FETCH_ADD:
        v = ((v & ~wr->swap_or_add_mask) +
             (wr->swap_or_add & ~wr->swap_or_add_mask)) ^
            ((v ^ wr->swap_or_add) & wr->swap_or_add_mask);
        break;
    default:
        if (!((v ^ wr->compare) & wr->compare_mask)) {
            v = (v & ~wr->swap_or_add_mask) |
                (wr->swap_or_add & wr->swap_or_add_mask);
        }
        break;
    }
    v = GUINT64_TO_LE(v);
    memcpy(mem, &v, 8);
    return IB_MEM_OK;
}

static void op_multicast(void *opaque, uint8_t port, const uint8_t dgid[16],
                         bool own, void (*visit)(void *arg, uint32_t qpn),
                         void *arg)
{
    TestHca *hca = opaque;
    unsigned i;

    for (i = 0; i < hca->groups->len; i++) {
        const TestGroup *g = &g_array_index(hca->groups, TestGroup, i);

        if (!memcmp(g->mgid, dgid, 16) && !(own && g->block)) {
            visit(arg, g->qpn);
        }
    }
}

static void op_batch_end(void *opaque)
{
    ((TestHca *)opaque)->batches++;
}

static const IbHcaOps world_ops = {
    .now = op_now, .random = op_random,
    .set_port_timer = op_set_port_timer, .set_timer = op_set_timer,
    .send_frame = op_send_frame,
    .port_state_changed = op_port_state_changed,
    .tap = op_tap, .trace_packet = op_trace_packet, .changed = op_changed,
    .next_send = op_next_send, .refetch_send = op_refetch_send,
    .next_recv = op_next_recv, .xrc_select = op_xrc_select,
    .next_recv_xrc = op_next_recv_xrc,
    .complete = op_complete, .local_op = op_local_op,
    .invalidate = op_invalidate, .event = op_event,
    .state_moved = op_state_moved,
    .read = op_read, .write = op_write, .check = op_check,
    .atomic = op_atomic, .multicast = op_multicast,
    .batch_end = op_batch_end,
};

/* --------------------------------------------------------- the world */

IbHcaConfig world_config(unsigned num_ports)
{
    IbHcaConfig config = {
        .node = {
            .node_type = IB_NODE_TYPE_CA, .num_ports = num_ports,
            .node_guid = 0x0002c90300100000, .port_guid = 0x0002c90300100001,
            .system_guid = 0x0002c90300100003, .vendor_id = 0x2c9,
            .device_id = 4099, .description = "unit test",
            .pkey_cap = 16, .guid_cap = 8,
            .capability_mask = IB_NODE_CAPABILITY_MASK,
        },
        .link = {
            .vl_cap = 4, .mtu_cap = IB_MTU_4096, .width_supported = 3,
            .speed_supported = 7, .rx_buffer = 64 * 1024, .vl15_packets = 16,
            .max_frame = 65536, .keepalive_ms = 100, .timeout_ms = 2000,
        },
    };

    return config;
}

World *world_new(void)
{
    World *world = g_new0(World, 1);

    world->rand = g_rand_new_with_seed(42);
    world->now = 1000 * WORLD_MS;
    world->delay = 1000;
    return world;
}

TestHca *world_add(World *world, const IbHcaConfig *template)
{
    IbHcaConfig config = template ? *template : world_config(1);
    TestHca *hca = g_new0(TestHca, 1);
    unsigned i;

    config.node.node_guid += 16 * world->num_hcas;
    config.node.port_guid += 16 * world->num_hcas;
    hca->world = world;
    hca->deadline = INT64_MAX;
    for (i = 1; i <= IB_HCA_MAX_PORTS; i++) {
        hca->port[i].hca = hca;
        hca->port[i].num = i;
        hca->port[i].deadline = INT64_MAX;
        g_queue_init(&hca->port[i].wire);
    }
    hca->keys = g_array_new(false, true, sizeof(TestKey));
    hca->groups = g_array_new(false, true, sizeof(TestGroup));
    hca->qps = g_ptr_array_new();
    hca->discards = g_hash_table_new(g_str_hash, g_str_equal);
    hca->next_key = 0x100;
    hca->config = config;
    hca->hca = ib_hca_new(&config, &world_ops, hca);
    ib_hca_set_trace(hca->hca, true);
    world->hca[world->num_hcas++] = hca;
    return hca;
}

void world_replace(TestHca *hca)
{
    bool cut = hca->world->cut;
    unsigned i;

    hca->world->cut = true;                   /* no good-bye */
    for (i = 1; i <= IB_HCA_MAX_PORTS; i++) {
        hca->port[i].told_busy = false;
        hca->port[i].deadline = INT64_MAX;
    }
    ib_hca_free(hca->hca);
    hca->deadline = INT64_MAX;
    hca->hca = ib_hca_new(&hca->config, &world_ops, hca);
    ib_hca_set_trace(hca->hca, true);
    for (i = 0; i < hca->qps->len; i++) {
        TestQp *qp = hca->qps->pdata[i];

        qp->qp = ib_qp_new(hca->hca, qp->qpn, qp);
    }
    hca->world->cut = cut;
}

static void qp_delete(gpointer data, gpointer user)
{
    TestQp *qp = data;

    g_array_free(qp->wc, true);
    g_array_free(qp->events, true);
    g_free(qp);
}

void world_free(World *world)
{
    unsigned i, j;

    world->cut = true;
    for (i = 0; i < world->num_hcas; i++) {
        TestHca *hca = world->hca[i];

        for (j = 1; j <= IB_HCA_MAX_PORTS; j++) {
            hca->port[j].told_busy = false;
        }
        ib_hca_free(hca->hca);
        for (j = 0; j < hca->keys->len; j++) {
            g_free(g_array_index(hca->keys, TestKey, j).mem);
        }
        for (j = 1; j <= IB_HCA_MAX_PORTS; j++) {
            g_queue_clear_full(&hca->port[j].wire, g_free);
        }
        g_array_free(hca->keys, true);
        g_array_free(hca->groups, true);
        g_ptr_array_foreach(hca->qps, qp_delete, NULL);
        g_ptr_array_free(hca->qps, true);
        g_hash_table_unref(hca->discards);
    }
    for (i = 0; i < world->num_hcas; i++) {
        g_free(world->hca[i]);
    }
    g_rand_free(world->rand);
    g_free(world);
}

void world_connect(TestPort *a, TestPort *b)
{
    a->peer = b;
    b->peer = a;
    ib_link_cable_attach(ib_hca_link(a->hca->hca, a->num));
    ib_link_cable_attach(ib_hca_link(b->hca->hca, b->num));
}

void world_stop(TestPort *port, bool stopped)
{
    port->stopped = stopped;
    if (!stopped && port->told_busy) {
        port->told_busy = false;
        ib_link_cable_ready(ib_hca_link(port->hca->hca, port->num));
    }
}

/* One event not later than @until. */
static bool world_step(World *world, int64_t until)
{
    int64_t when = INT64_MAX;
    TestHca *timer = NULL;
    TestPort *port_timer = NULL, *wire = NULL;
    uint8_t *exact;
    Frame *frame;
    unsigned i, j;

    for (i = 0; i < world->num_hcas; i++) {
        TestHca *hca = world->hca[i];

        if (hca->deadline < when) {
            when = hca->deadline;
            timer = hca;
            port_timer = wire = NULL;
        }
        for (j = 1; j <= IB_HCA_MAX_PORTS; j++) {
            TestPort *port = &hca->port[j];

            if (port->deadline < when) {
                when = port->deadline;
                port_timer = port;
                timer = NULL;
                wire = NULL;
            }
            frame = g_queue_peek_head(&port->wire);
            if (frame && frame->when < when) {
                when = frame->when;
                wire = port;
                timer = NULL;
                port_timer = NULL;
            }
        }
    }
    if (when > until || when == INT64_MAX) {
        return false;
    }
    world->now = MAX(world->now, when);
    if (timer) {
        timer->deadline = INT64_MAX;
        ib_hca_timer(timer->hca);
    } else if (port_timer) {
        port_timer->deadline = INT64_MAX;
        ib_hca_port_timer(port_timer->hca->hca, port_timer->num);
    } else {
        frame = g_queue_pop_head(&wire->wire);
        exact = g_malloc(frame->len);         /* so that ASan sees its end */
        memcpy(exact, frame->data, frame->len);
        ib_link_receive_frame(ib_hca_link(wire->hca->hca, wire->num), exact,
                              frame->len);
        g_free(exact);
        g_free(frame);
    }
    return true;
}

void world_run(World *world, int64_t ns)
{
    int64_t until = world->now + ns;

    while (world_step(world, until)) {
        ;
    }
    world->now = until;
}

bool world_run_until(World *world, bool (*done)(void *arg), void *arg,
                     int64_t ns)
{
    int64_t until = world->now + ns;

    while (!done(arg)) {
        if (!world_step(world, until)) {
            world->now = until;
            return false;
        }
    }
    return true;
}

/* A SubnGet or SubnSet that the node gives itself. */
static void node_mad(TestHca *hca, uint8_t port, uint8_t method,
                     uint16_t attr, uint32_t modifier, uint8_t data[64])
{
    uint8_t in[IB_MAD_BYTES] = { 0 }, out[IB_MAD_BYTES];

    ib_field_set(in, IB_MAD_BASE_VERSION, 1);
    ib_field_set(in, IB_MAD_MGMT_CLASS, 0x01);
    ib_field_set(in, IB_MAD_CLASS_VERSION, 1);
    ib_field_set(in, IB_MAD_METHOD, method);
    ib_field_set(in, IB_MAD_ATTRIBUTE_ID, attr);
    ib_field_set(in, IB_MAD_ATTRIBUTE_MODIFIER, modifier);
    memcpy(in + IB_SMP_DATA_OFFSET, data, 64);
    g_assert_cmpint(ib_node_process_mad(ib_hca_node(hca->hca), port, 1,
                                        IB_MAD_IGNORE_MKEY, in, out), ==,
                    IB_MAD_REPLY);
    g_assert_cmphex(ib_field_get(out, IB_MAD_STATUS), ==, 0);
    memcpy(data, out + IB_SMP_DATA_OFFSET, 64);
}

void world_set_lid(TestHca *hca, uint8_t port, uint16_t lid, uint8_t lmc)
{
    uint8_t data[64] = { 0 };

    node_mad(hca, port, 1, 0x15, port, data);
    ib_field_set(data, IB_PORTINFO_LID, lid);
    ib_field_set(data, IB_PORTINFO_LMC, lmc);
    ib_field_set(data, IB_PORTINFO_MASTER_SM_LID, 1);
    ib_field_set(data, IB_PORTINFO_PORT_STATE, 0);
    ib_field_set(data, IB_PORTINFO_PORT_PHYSICAL_STATE, 0);
    ib_field_set(data, IB_PORTINFO_LINK_DOWN_DEFAULT_STATE, 0);
    node_mad(hca, port, 2, 0x15, port, data);
    g_assert_cmpuint(ib_node_lid(ib_hca_node(hca->hca), port), ==, lid);
}

void world_bring_up(World *world)
{
    static const uint8_t states[] = { IB_PORT_ARMED, IB_PORT_ACTIVE };
    unsigned i, j, s;

    for (i = 0; i < world->num_hcas; i++) {
        for (j = 1; j <= IB_HCA_MAX_PORTS; j++) {
            if (world->hca[i]->port[j].peer) {
                ib_hca_open_port(world->hca[i]->hca, j);
            }
        }
    }
    world_run(world, 1000 * WORLD_MS);
    for (s = 0; s < G_N_ELEMENTS(states); s++) {
        for (i = 0; i < world->num_hcas; i++) {
            for (j = 1; j <= IB_HCA_MAX_PORTS; j++) {
                if (world->hca[i]->port[j].peer) {
                    g_assert_true(ib_link_set_state(
                        ib_hca_link(world->hca[i]->hca, j), states[s]));
                }
            }
        }
    }
    world_run(world, WORLD_MS);
}

World *world_pair(const IbHcaConfig *config)
{
    World *world = world_new();
    TestHca *a = world_add(world, config), *b = world_add(world, config);

    world_connect(&a->port[1], &b->port[1]);
    world_bring_up(world);
    world_set_lid(a, 1, 1, 0);
    world_set_lid(b, 1, 2, 0);
    return world;
}

/* -------------------------------------------------- memory and queues */

TestKey *hca_memory(TestHca *hca, uint32_t len, unsigned rights)
{
    TestKey key = {
        .key = hca->next_key, .va = 0x7f0000000000 + 0x10000000ull *
                                    hca->keys->len + 0x123,
        .len = len, .rights = rights, .mem = g_malloc0(MAX(len, 1)),
    };

    g_assert_cmpuint(hca->keys->len, <, 32);
    if (!hca->keys->len) {
        g_array_set_size(hca->keys, 32);      /* so that pointers stay good */
        g_array_set_size(hca->keys, 0);
    }
    key.va &= ~7ull;
    hca->next_key += 0x100;
    g_array_append_val(hca->keys, key);
    return &g_array_index(hca->keys, TestKey, hca->keys->len - 1);
}

TestQp *hca_qp(TestHca *hca, uint32_t qpn)
{
    TestQp *qp = g_new0(TestQp, 1);

    qp->hca = hca;
    qp->rq = &qp->own_rq;
    qp->wc = g_array_new(false, false, sizeof(IbCompletion));
    qp->events = g_array_new(false, false, sizeof(IbHcaEvent));
    qp->qpn = qpn;
    qp->qp = ib_qp_new(hca->hca, qpn, qp);
    g_assert_nonnull(qp->qp);
    g_ptr_array_add(hca->qps, qp);
    return qp;
}

void hca_qp_to(TestQp *qp, IbQpState state)
{
    IbQpState s;

    for (s = IB_QPS_INIT; s <= state; s++) {
        g_assert_true(ib_qp_modify(qp->qp, s, &qp->attr));
        g_assert_cmpint(ib_qp_state(qp->qp), ==, s);
    }
}

TestQp *hca_ud_qp(TestHca *hca, uint32_t qpn, uint32_t qkey)
{
    TestQp *qp = hca_qp(hca, qpn);

    qp->attr.type = IB_QPT_UD;
    qp->attr.port = 1;
    qp->attr.qkey = qkey;
    hca_qp_to(qp, IB_QPS_RTS);
    return qp;
}

void hca_join(TestHca *hca, const uint8_t mgid[16], uint32_t qpn, bool block)
{
    TestGroup group = { .qpn = qpn, .block = block };

    memcpy(group.mgid, mgid, 16);
    g_array_append_val(hca->groups, group);
}

static void connect_one(TestQp *qp, TestQp *peer, IbQpType type)
{
    qp->attr.type = type;
    qp->attr.port = qp->attr.port ? qp->attr.port : 1;
    if (!qp->attr.path_mtu) {
        qp->attr.path_mtu = IB_MTU_4096;
    }
    qp->attr.dest_qpn = ib_qp_number(peer->qp);
    qp->attr.path.dlid = ib_node_lid(ib_hca_node(peer->hca->hca),
                                     peer->attr.port ? peer->attr.port : 1);
    if (!qp->attr.ack_timeout) {
        qp->attr.ack_timeout = 14;
    }
    if (!qp->attr.retry_count) {
        qp->attr.retry_count = 7;
    }
    if (!qp->attr.rnr_retry) {
        qp->attr.rnr_retry = 7;
    }
    if (!qp->attr.min_rnr_timer) {
        qp->attr.min_rnr_timer = 12;
    }
    if (!qp->attr.max_rd_atomic) {
        qp->attr.max_rd_atomic = 4;
    }
    if (!qp->attr.max_dest_rd_atomic) {
        qp->attr.max_dest_rd_atomic = 4;
    }
    qp->attr.access = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
                      IB_ACCESS_REMOTE_ATOMIC;
    qp->attr.sq_psn = 0xfffff0 + (ib_qp_number(qp->qp) & 15);
    qp->attr.rq_psn = 0xfffff0 + (ib_qp_number(peer->qp) & 15);
}

void hca_connect_qps(TestQp *a, TestQp *b, IbQpType type)
{
    connect_one(a, b, type);
    connect_one(b, a, type == IB_QPT_XRC_INI ? IB_QPT_XRC_TGT : type);
    hca_qp_to(a, IB_QPS_RTS);
    hca_qp_to(b, IB_QPS_RTS);
}

void qp_post_recv(TestQp *qp, const TestKey *key, uint32_t offset,
                  uint32_t len)
{
    IbRecvWr *wr = &qp->rq->wr[qp->rq->producer % WORLD_RING];

    g_assert_cmpuint(qp->rq->producer - qp->rq->consumer, <, WORLD_RING);
    wr->id = qp->rq->producer;
    wr->num_sge = key ? 1 : 0;
    if (key) {
        wr->sge[0] = (IbSge) {
            .va = key->va + offset, .len = len, .key = key->key,
        };
    }
    qp->rq->producer++;
    ib_qp_post_recv(qp->qp);
}

IbSendWr *qp_add_send(TestQp *qp, IbWrOpcode opcode, const TestKey *key,
                      uint32_t offset, uint32_t len)
{
    IbSendWr *wr = &qp->send[qp->producer % WORLD_RING];

    g_assert_cmpuint(qp->producer - qp->consumer, <, WORLD_RING);
    memset(wr, 0, sizeof(*wr));
    wr->id = qp->producer;
    wr->opcode = opcode;
    wr->flags = IB_WR_SIGNALED;
    if (key) {
        wr->num_sge = 1;
        wr->sge[0] = (IbSge) {
            .va = key->va + offset, .len = len, .key = key->key,
        };
    }
    qp->producer++;
    return wr;
}

void qp_ring(TestQp *qp)
{
    ib_qp_post_send(qp->qp);
}

unsigned qp_num_wc(const TestQp *qp)
{
    return qp->wc->len;
}

IbCompletion qp_take_wc(TestQp *qp)
{
    IbCompletion wc;

    g_assert_cmpuint(qp->wc->len, >, 0);
    wc = g_array_index(qp->wc, IbCompletion, 0);
    g_array_remove_index(qp->wc, 0);
    return wc;
}

bool qp_had_event(const TestQp *qp, IbHcaEvent event)
{
    unsigned i;

    for (i = 0; i < qp->events->len; i++) {
        if (g_array_index(qp->events, IbHcaEvent, i) == event) {
            return true;
        }
    }
    return false;
}

void fill_random(World *world, uint8_t *mem, uint32_t len)
{
    uint32_t i;

    for (i = 0; i + 4 <= len; i += 4) {
        ib_put_be32(mem + i, g_rand_int(world->rand));
    }
    for (; i < len; i++) {
        mem[i] = g_rand_int(world->rand);
    }
}
