/*
 * Two links, a cable between them that can be bad, and their clock
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Nothing here runs by itself: test_cable_run() lets time pass, in which
 * frames arrive and timers expire in their order.
 */
#ifndef TESTS_UNIT_LINK_CABLE_H
#define TESTS_UNIT_LINK_CABLE_H

#include "hw/infiniband/ib-link.h"
#include "hw/infiniband/ib-packet.h"
#include "hw/infiniband/ib-sm-attr.h"

#define TEST_MS     INT64_C(1000000)

typedef struct TestCable TestCable;
typedef struct TestEnd TestEnd;

typedef struct TestFrame {
    int64_t when;
    uint64_t order;
    size_t len;
    uint8_t data[];
} TestFrame;

struct TestEnd {
    TestCable *cable;
    TestEnd *peer;
    IbLink *link;
    int64_t deadline;
    GPtrArray *wire;            /* frames on their way to this end */
    bool told_busy;             /* this end waits for cable_ready() */
    bool gone;

    /* What happened */
    unsigned changes;           /* calls of state_changed() */
    unsigned came_up, went_down;
    unsigned packets;           /* received */
    unsigned ends;              /* receive_end() */
    unsigned readies;           /* tx_ready() */
    unsigned taps[2];           /* rx, tx */
    unsigned errors[3];         /* by IbLinkError */
    GHashTable *events;         /* trace: name to count */
    uint8_t last[8192];         /* last packet received */
    uint16_t last_len;
    uint8_t last_vl, last_flags;

    void (*on_receive)(TestEnd *end, IbPacket *packet);
    void (*on_ready)(TestEnd *end, uint16_t vls);
    void *user;
};

struct TestCable {
    TestEnd end[2];
    GRand *rand;
    int64_t now;
    uint64_t order;
    /* How bad it is */
    unsigned loss_permille;
    unsigned dup_permille;
    int64_t delay;              /* ns */
    int64_t jitter;             /* ns: reorders when above the frames' gap */
    unsigned depth;             /* frames in flight until busy; 0: any */
    bool immediate;             /* deliver inside of send_frame() */
    bool cut;                   /* nothing passes */
    /* Look at a frame, change it, return false to lose it. */
    bool (*filter)(TestEnd *to, uint8_t *frame, size_t *len);
};

static inline int64_t test_now(void *opaque)
{
    TestEnd *end = opaque;

    return end->cable->now;
}

static inline uint32_t test_random(void *opaque)
{
    TestEnd *end = opaque;

    return g_rand_int(end->cable->rand);
}

static inline void test_set_timer(void *opaque, int64_t deadline)
{
    TestEnd *end = opaque;

    end->deadline = deadline;
}

static inline void test_wire_put(TestEnd *to, const uint8_t *frame, size_t len)
{
    TestCable *c = to->cable;
    TestFrame *f;

    if (g_rand_int_range(c->rand, 0, 1000) < (int)c->loss_permille) {
        return;
    }
    f = g_malloc(sizeof(*f) + len);
    memcpy(f->data, frame, len);
    f->len = len;
    f->order = c->order++;
    f->when = c->now + c->delay;
    if (c->jitter) {
        f->when += g_rand_int_range(c->rand, 0, (int)c->jitter);
    }
    if (c->filter && !c->filter(to, f->data, &f->len)) {
        g_free(f);
        return;
    }
    g_ptr_array_add(to->wire, f);
}

static inline IbCableResult test_send_frame(void *opaque, const uint8_t *frame,
                                            size_t len)
{
    TestEnd *end = opaque;
    TestCable *c = end->cable;

    g_assert_false(end->told_busy);
    if (end->gone) {
        return IB_CABLE_GONE;
    }
    if (c->cut) {
        return IB_CABLE_READY;
    }
    if (c->immediate) {
        ib_link_receive_frame(end->peer->link, frame, len);
        return IB_CABLE_READY;
    }
    test_wire_put(end->peer, frame, len);
    if (g_rand_int_range(c->rand, 0, 1000) < (int)c->dup_permille) {
        test_wire_put(end->peer, frame, len);
    }
    if (c->depth && end->peer->wire->len >= c->depth) {
        end->told_busy = true;
        return IB_CABLE_BUSY;
    }
    return IB_CABLE_READY;
}

static inline void test_receive(void *opaque, IbPacket *packet)
{
    TestEnd *end = opaque;

    end->packets++;
    end->last_len = packet->len;
    end->last_vl = packet->vl;
    end->last_flags = packet->flags;
    memcpy(end->last, packet->data, packet->len);
    if (end->on_receive) {
        end->on_receive(end, packet);
    }
}

static inline void test_receive_end(void *opaque)
{
    TestEnd *end = opaque;

    end->ends++;
    ib_link_flush(end->link);
}

static inline void test_tx_ready(void *opaque, uint16_t vls)
{
    TestEnd *end = opaque;

    end->readies++;
    if (end->on_ready) {
        end->on_ready(end, vls);
    }
}

static inline void test_state_changed(void *opaque, uint8_t old_state,
                                      uint8_t new_state)
{
    TestEnd *end = opaque;

    end->changes++;
    end->came_up += old_state == IB_PORT_DOWN && new_state != IB_PORT_DOWN;
    end->went_down += old_state != IB_PORT_DOWN && new_state == IB_PORT_DOWN;
    g_assert_cmpint(new_state == IB_PORT_DOWN, ==,
                    ib_link_phys_state(end->link) != IB_PHYS_LINK_UP);
}

static inline void test_tap(void *opaque, bool tx, const uint8_t *packet,
                            size_t len, uint16_t vcrc)
{
    TestEnd *end = opaque;

    g_assert_cmpint(vcrc, ==, ib_vcrc(packet, len));
    end->taps[tx]++;
}

static inline void test_trace(void *opaque, const char *event,
                              const uint8_t *packet, size_t len)
{
    TestEnd *end = opaque;
    unsigned n = GPOINTER_TO_UINT(g_hash_table_lookup(end->events, event));

    g_hash_table_insert(end->events, (void *)event, GUINT_TO_POINTER(n + 1));
}

static inline void test_error(void *opaque, IbLinkError error)
{
    TestEnd *end = opaque;

    end->errors[error]++;
}

static inline unsigned test_events(TestEnd *end, const char *event)
{
    return GPOINTER_TO_UINT(g_hash_table_lookup(end->events, event));
}

static const IbLinkOps test_ops = {
    .now = test_now,
    .random = test_random,
    .set_timer = test_set_timer,
    .send_frame = test_send_frame,
    .receive = test_receive,
    .receive_end = test_receive_end,
    .tx_ready = test_tx_ready,
    .state_changed = test_state_changed,
    .tap = test_tap,
    .trace = test_trace,
    .error = test_error,
};

static inline IbLinkConfig test_config(void)
{
    IbLinkConfig config = {
        .vl_cap = 4, .mtu_cap = IB_MTU_4096,
        .width_supported = 3, .speed_supported = 7,
        .rx_buffer = 64 * 1024, .vl15_packets = 16, .max_frame = 65536,
        .keepalive_ms = 100, .timeout_ms = 350, .training_ms = 0,
        .port_num = 1,
    };

    return config;
}

static inline void test_end_new_link(TestEnd *end, const IbLinkConfig *config)
{
    end->link = ib_link_new(config, &test_ops, end);
    ib_link_set_trace(end->link, true);
}

static inline TestCable *test_cable_new(const IbLinkConfig *a,
                                        const IbLinkConfig *b)
{
    TestCable *c = g_new0(TestCable, 1);
    IbLinkConfig config[2];
    int i;

    config[0] = a ? *a : test_config();
    config[1] = b ? *b : config[0];
    c->rand = g_rand_new_with_seed(2023);
    c->now = 1000 * TEST_MS;
    c->delay = 1000;
    for (i = 0; i < 2; i++) {
        TestEnd *end = &c->end[i];

        end->cable = c;
        end->peer = &c->end[!i];
        end->deadline = INT64_MAX;
        end->wire = g_ptr_array_new_with_free_func(g_free);
        end->events = g_hash_table_new(g_str_hash, g_str_equal);
        config[i].guid = 0x0002c90300000000 + 16 * i;
        test_end_new_link(end, &config[i]);
    }
    return c;
}

static inline void test_cable_free(TestCable *c)
{
    int i;

    c->cut = true;
    for (i = 0; i < 2; i++) {
        c->end[i].gone = true;
        c->end[i].told_busy = false;
        ib_link_free(c->end[i].link);
        g_ptr_array_unref(c->end[i].wire);
        g_hash_table_unref(c->end[i].events);
    }
    g_rand_free(c->rand);
    g_free(c);
}

static inline void test_cable_attach(TestCable *c)
{
    ib_link_cable_attach(c->end[0].link);
    ib_link_cable_attach(c->end[1].link);
}

/* The next frame to arrive at @end. */
static inline int test_wire_first(TestEnd *end)
{
    int best = -1;
    unsigned i;

    for (i = 0; i < end->wire->len; i++) {
        TestFrame *f = end->wire->pdata[i];
        TestFrame *b = best < 0 ? NULL : end->wire->pdata[best];

        if (!b || f->when < b->when ||
            (f->when == b->when && f->order < b->order)) {
            best = i;
        }
    }
    return best;
}

static inline void test_deliver(TestEnd *end, int which)
{
    TestFrame *f = g_ptr_array_steal_index(end->wire, which);
    uint8_t *exact = g_malloc(f->len);      /* so that ASan sees its end */

    memcpy(exact, f->data, f->len);
    ib_link_receive_frame(end->link, exact, f->len);
    g_free(exact);
    g_free(f);
    if (end->peer->told_busy && end->wire->len < end->cable->depth) {
        end->peer->told_busy = false;
        ib_link_cable_ready(end->peer->link);
    }
}

/* One event not later than @until; false when there is none. */
static inline bool test_step(TestCable *c, int64_t until)
{
    int64_t when = INT64_MAX;
    TestEnd *who = NULL;
    int frame = -1;
    int i;

    for (i = 0; i < 2; i++) {
        TestEnd *end = &c->end[i];
        int f = test_wire_first(end);

        if (f >= 0 && ((TestFrame *)end->wire->pdata[f])->when < when) {
            who = end;
            frame = f;
            when = ((TestFrame *)end->wire->pdata[f])->when;
        }
        if (end->deadline < when) {
            who = end;
            frame = -1;
            when = end->deadline;
        }
    }
    if (!who || when > until) {
        return false;
    }
    c->now = MAX(c->now, when);
    if (frame >= 0) {
        test_deliver(who, frame);
    } else {
        who->deadline = INT64_MAX;
        ib_link_timer(who->link);
    }
    return true;
}

static inline void test_cable_run(TestCable *c, int64_t ns)
{
    int64_t until = c->now + ns;

    while (test_step(c, until)) {
        ;
    }
    c->now = until;
}

/* Let frames arrive until there are none; timers do not expire. */
static inline void test_cable_settle(TestCable *c)
{
    while (c->end[0].wire->len || c->end[1].wire->len) {
        g_assert_true(test_step(c, c->now + TEST_MS * 1000));
    }
}

static inline bool test_cable_up(TestCable *c)
{
    return ib_link_phys_state(c->end[0].link) == IB_PHYS_LINK_UP &&
           ib_link_phys_state(c->end[1].link) == IB_PHYS_LINK_UP;
}

static inline void test_cable_activate(TestCable *c)
{
    g_assert_true(ib_link_set_state(c->end[0].link, IB_PORT_ARMED));
    g_assert_true(ib_link_set_state(c->end[1].link, IB_PORT_ARMED));
    g_assert_true(ib_link_set_state(c->end[0].link, IB_PORT_ACTIVE));
    g_assert_true(ib_link_set_state(c->end[1].link, IB_PORT_ACTIVE));
}

/* Attached, trained and Active. */
static inline TestCable *test_cable_new_active(const IbLinkConfig *a,
                                               const IbLinkConfig *b)
{
    TestCable *c = test_cable_new(a, b);

    test_cable_attach(c);
    test_cable_run(c, 100 * TEST_MS);
    g_assert_true(test_cable_up(c));
    test_cable_activate(c);
    return c;
}

/* A UD packet of @len bytes, LRH to ICRC, with @number in its payload. */
static inline void test_packet(uint8_t *p, uint16_t len, uint16_t dlid,
                               uint32_t number)
{
    memset(p, 0x5a, len);
    memset(p, 0, 28);
    ib_field_set(p, IB_LRH_LNH, IB_LNH_BTH);
    ib_field_set(p, IB_LRH_DLID, dlid);
    ib_field_set(p, IB_LRH_PKTLEN, len / 4);
    ib_field_set(p, IB_LRH_SLID, 7);
    ib_field_set(p + 8, IB_BTH_OPCODE, IB_OP_UD_SEND_ONLY);
    if (len >= 36) {
        ib_put_be32(p + 28, number);
    }
}

static inline IbTxResult test_send(TestEnd *end, unsigned vl, uint16_t len,
                                   uint32_t number)
{
    uint8_t data[8192];
    IbPacket packet = { .data = data, .len = len };

    test_packet(data, len, 5, number);
    return ib_link_transmit(end->link, &packet, vl);
}

#endif
