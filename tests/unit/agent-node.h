/*
 * A node under test: real links, each cabled to a peer, a clock of the test
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Attributes are looked at by byte offset, as the tables of the architecture
 * give them, not through the layouts that the code under test uses.
 */
#ifndef TESTS_UNIT_AGENT_NODE_H
#define TESTS_UNIT_AGENT_NODE_H

#include <glib.h>
#include <string.h>
#include "hw/infiniband/ib-agent.h"

#define TEST_PORTS      3
#define TEST_NODE_GUID  UINT64_C(0x0002c9030000a000)
#define TEST_PORT_GUID  UINT64_C(0x0002c9030000a001)
#define MS              1000000LL
#define SECOND          1000000000LL
#define NO_REPLY        0xffff

typedef struct TestNode TestNode;

typedef struct TestEnd {
    TestNode *t;
    IbLink *link;
    struct TestEnd *peer;
    uint8_t port;                 /* of the node; 0 for a peer */
    int64_t deadline;
} TestEnd;

typedef struct TestFrame {
    TestEnd *to;
    GBytes *bytes;
} TestFrame;

typedef struct TestTrap {
    uint8_t port, sl;
    uint16_t dlid;
    int64_t at;
    uint8_t mad[256];
} TestTrap;

struct TestNode {
    IbNode *node;
    TestEnd ends[TEST_PORTS + 1], peers[TEST_PORTS + 1];
    GQueue frames;
    int64_t now, node_deadline;
    uint8_t changed_port;
    uint32_t changed;             /* all since it was last cleared */
    TestTrap traps[64];
    unsigned num_traps;
    uint64_t tid;
    uint32_t random;
};

static inline int64_t test_link_now(void *opaque)
{
    return ((TestEnd *)opaque)->t->now;
}

static inline uint32_t test_link_random(void *opaque)
{
    return ++((TestEnd *)opaque)->t->random;
}

static inline void test_link_set_timer(void *opaque, int64_t deadline)
{
    ((TestEnd *)opaque)->deadline = deadline;
}

static inline IbCableResult test_link_send_frame(void *opaque,
                                                 const uint8_t *frame,
                                                 size_t len)
{
    TestEnd *end = opaque;
    TestFrame *f = g_new(TestFrame, 1);

    f->to = end->peer;
    f->bytes = g_bytes_new(frame, len);
    g_queue_push_tail(&end->t->frames, f);
    return IB_CABLE_READY;
}

static inline void test_link_receive(void *opaque, IbPacket *packet)
{
}

static inline void test_link_receive_end(void *opaque)
{
}

static inline void test_link_state_changed(void *opaque, uint8_t old_state,
                                           uint8_t new_state)
{
    TestEnd *end = opaque;

    if (end->port && end->t->node) {
        ib_node_port_state_changed(end->t->node, end->port);
    }
}

static inline void test_link_error(void *opaque, IbLinkError error)
{
    TestEnd *end = opaque;

    if (end->port && end->t->node) {
        ib_node_link_error(end->t->node, end->port, error);
    }
}

static const IbLinkOps test_link_ops = {
    .now = test_link_now,
    .random = test_link_random,
    .set_timer = test_link_set_timer,
    .send_frame = test_link_send_frame,
    .receive = test_link_receive,
    .receive_end = test_link_receive_end,
    .state_changed = test_link_state_changed,
    .error = test_link_error,
};

static inline int64_t test_node_now(void *opaque)
{
    return ((TestNode *)opaque)->now;
}

static inline void test_node_set_timer(void *opaque, int64_t deadline)
{
    ((TestNode *)opaque)->node_deadline = deadline;
}

static inline void test_node_send_smp(void *opaque, uint8_t port,
                                      const uint8_t *mad, uint16_t dlid,
                                      uint8_t sl)
{
    TestNode *t = opaque;
    TestTrap *trap = &t->traps[t->num_traps++];

    g_assert_cmpuint(t->num_traps, <=, G_N_ELEMENTS(t->traps));
    trap->port = port;
    trap->sl = sl;
    trap->dlid = dlid;
    trap->at = t->now;
    memcpy(trap->mad, mad, sizeof(trap->mad));
}

static inline void test_node_changed(void *opaque, uint8_t port,
                                     uint32_t what)
{
    TestNode *t = opaque;

    t->changed_port = port;
    t->changed |= what;
}

static const IbNodeOps test_node_ops = {
    .now = test_node_now,
    .set_timer = test_node_set_timer,
    .send_smp = test_node_send_smp,
    .changed = test_node_changed,
};

static const IbLinkConfig test_link_config = {
    .vl_cap = 8,
    .mtu_cap = IB_MTU_4096,
    .width_supported = IB_LINK_WIDTH_1X | IB_LINK_WIDTH_4X,
    .speed_supported = 0x7 | IB_LINK_SPEED_EXT_FDR << 4,
    .rx_buffer = 16384,
    .vl15_packets = 16,
    .max_frame = 65536,
    .keepalive_ms = 100,
    .timeout_ms = 1000,
    .training_ms = 10,
};

/* Let @ns pass: frames travel at once, timers in their order. */
static inline void test_run(TestNode *t, int64_t ns)
{
    int64_t end = t->now + ns;
    TestFrame *f;

    for (;;) {
        int64_t next = t->node_deadline;
        TestEnd *which = NULL;
        unsigned i;

        while ((f = g_queue_pop_head(&t->frames))) {
            gsize len;
            const uint8_t *data = g_bytes_get_data(f->bytes, &len);

            ib_link_receive_frame(f->to->link, data, len);
            g_bytes_unref(f->bytes);
            g_free(f);
        }
        next = t->node_deadline;
        for (i = 1; i <= TEST_PORTS; i++) {
            if (t->ends[i].link && t->ends[i].deadline < next) {
                which = &t->ends[i];
                next = which->deadline;
            }
            if (t->peers[i].link && t->peers[i].deadline < next) {
                which = &t->peers[i];
                next = which->deadline;
            }
        }
        if (next > end) {
            break;
        }
        t->now = MAX(t->now, next);
        if (which) {
            which->deadline = INT64_MAX;
            ib_link_timer(which->link);
        } else {
            t->node_deadline = INT64_MAX;
            ib_node_timer(t->node);
        }
    }
    t->now = end;
}

/*
 * A node of @ports ports (up to TEST_PORTS), all its links in Initialize;
 * @config is filled in where it has zeros.
 */
static inline TestNode *test_node_new_with(uint8_t node_type, uint8_t ports,
                                           IbNodeConfig config,
                                           const IbLinkConfig *link_config,
                                           const IbSmaAttribute *extra)
{
    TestNode *t = g_new0(TestNode, 1);
    IbLink *links[TEST_PORTS + 1] = { NULL };
    unsigned i;

    t->now = 1000 * SECOND;
    t->node_deadline = INT64_MAX;
    t->tid = UINT64_C(0x1234567800000000);
    g_queue_init(&t->frames);
    for (i = 1; i <= ports; i++) {
        t->ends[i] = (TestEnd) { t, NULL, &t->peers[i], i, INT64_MAX };
        t->peers[i] = (TestEnd) { t, NULL, &t->ends[i], 0, INT64_MAX };
        t->ends[i].link = ib_link_new(link_config, &test_link_ops,
                                      &t->ends[i]);
        t->peers[i].link = ib_link_new(link_config, &test_link_ops,
                                       &t->peers[i]);
        links[i] = t->ends[i].link;
    }
    config.node_type = node_type;
    config.num_ports = ports;
    config.system_guid = TEST_NODE_GUID + 0xff;
    config.node_guid = TEST_NODE_GUID;
    config.port_guid = TEST_PORT_GUID;
    config.vendor_id = config.vendor_id ?: 0x0002c9;
    config.device_id = 0x1003;
    config.revision = 0x01020304;
    config.pkey_cap = config.pkey_cap ?: 40;
    config.pkey_cap_external = config.pkey_cap_external ?: 33;
    config.guid_cap = config.guid_cap ?: 10;
    config.capability_mask = config.capability_mask
                             ?: IB_NODE_CAPABILITY_MASK;
    strcpy(config.description, "node under test");
    t->node = ib_node_new(&config, &test_node_ops, t, extra, links);
    for (i = 1; i <= ports; i++) {
        ib_link_cable_attach(t->ends[i].link);
        ib_link_cable_attach(t->peers[i].link);
    }
    test_run(t, SECOND);
    for (i = 1; i <= ports; i++) {
        g_assert_cmpuint(ib_link_state(t->ends[i].link), ==, IB_PORT_INIT);
    }
    return t;
}

static inline TestNode *test_node_new(uint8_t node_type)
{
    return test_node_new_with(node_type,
                              node_type == IB_NODE_TYPE_SWITCH ? TEST_PORTS
                                                               : 2,
                              (IbNodeConfig) { 0 }, &test_link_config, NULL);
}

static inline void test_node_free(TestNode *t)
{
    TestFrame *f;
    unsigned i;

    ib_node_free(t->node);
    t->node = NULL;
    for (i = 1; i <= TEST_PORTS; i++) {
        if (t->ends[i].link) {
            ib_link_free(t->ends[i].link);
            ib_link_free(t->peers[i].link);
        }
    }
    while ((f = g_queue_pop_head(&t->frames))) {
        g_bytes_unref(f->bytes);
        g_free(f);
    }
    g_free(t);
}

/* One MAD in, the answer in @out; NO_REPLY or its status without D. */
static inline uint16_t test_mad(TestNode *t, uint8_t in_port,
                                const uint8_t *in, uint8_t *out)
{
    uint16_t status;

    memset(out, 0xee, 256);
    if (ib_node_process_mad(t->node, in_port, 0x77, 0, in, out) !=
        IB_MAD_REPLY) {
        return NO_REPLY;
    }
    /* What an agent leaves alone: 13.4.5, 14.2.1.2 */
    g_assert_cmpmem(out, 3, in, 3);
    g_assert_cmpmem(out + 6, 18, in + 6, 18);
    g_assert_cmpuint(out[3], ==, in[3] == 2 ? 0x81 : in[3] | 0x80);
    status = out[4] << 8 | out[5];
    if (in[1] == 0x81) {
        g_assert_true(status & 0x8000);
        status &= 0x7fff;
        g_assert_cmpmem(out + 24, 40, in + 24, 40);
        g_assert_cmpmem(out + 128, 128, in + 128, 128);
    }
    return status;
}

static inline void test_smp_init(TestNode *t, uint8_t *mad, uint8_t class,
                                 uint8_t method, uint16_t attribute,
                                 uint32_t modifier, uint64_t m_key)
{
    unsigned i;

    memset(mad, 0, 256);
    mad[0] = 1;
    mad[1] = class;
    mad[2] = 1;
    mad[3] = method;
    for (i = 0; i < 8; i++) {
        mad[8 + i] = t->tid >> (56 - 8 * i);
        mad[24 + i] = m_key >> (56 - 8 * i);
    }
    t->tid++;
    mad[16] = attribute >> 8;
    mad[17] = attribute;
    for (i = 0; i < 4; i++) {
        mad[20 + i] = modifier >> (24 - 8 * i);
    }
}

/* SubnGet and SubnSet; @data: 64 bytes, in for set, the answer's for both. */
static inline uint16_t test_smp(TestNode *t, uint8_t in_port, uint8_t method,
                                uint16_t attribute, uint32_t modifier,
                                uint64_t m_key, uint8_t data[64])
{
    uint8_t in[256], out[256];
    uint16_t status;

    test_smp_init(t, in, 0x81, method, attribute, modifier, m_key);
    memset(in + 32, 0xff, 4);           /* DrSLID, DrDLID */
    memcpy(in + 64, data, 64);
    status = test_mad(t, in_port, in, out);
    if (status != NO_REPLY) {
        memcpy(data, out + 64, 64);
    }
    return status;
}

static inline uint16_t test_get(TestNode *t, uint8_t in_port,
                                uint16_t attribute, uint32_t modifier,
                                uint8_t data[64])
{
    memset(data, 0xaa, 64);             /* a Get's data are not looked at */
    return test_smp(t, in_port, 1, attribute, modifier, 0, data);
}

static inline uint16_t test_set(TestNode *t, uint8_t in_port,
                                uint16_t attribute, uint32_t modifier,
                                uint8_t data[64])
{
    return test_smp(t, in_port, 2, attribute, modifier, 0, data);
}

/* What a Set must be given so that it changes nothing but the LIDs. */
static inline void test_port_info_for_set(TestNode *t, uint8_t in_port,
                                          uint32_t modifier, uint8_t data[64])
{
    g_assert_cmpuint(test_get(t, in_port, 0x15, modifier, data), ==, 0);
    data[32] &= 0xf0;                   /* PortState: no change */
    data[33] = 0x02;                    /* PortPhysicalState: no change */
}

/* LID 5, MasterSMLID 9 at the port that @modifier names. */
static inline void test_give_lids(TestNode *t, uint8_t in_port,
                                  uint32_t modifier)
{
    uint8_t data[64];

    test_port_info_for_set(t, in_port, modifier, data);
    data[16] = 0;
    data[17] = 5;
    data[18] = 0;
    data[19] = 9;
    g_assert_cmpuint(test_set(t, in_port, 0x15, modifier, data), ==, 0);
    t->changed = 0;
}

#endif
