/*
 * SMPs through several switches: directed routes in a chain and in a loop,
 * a small SM that sweeps a fabric, and traps
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ib-fabric.h"

static unsigned node_type(const uint8_t info[64])
{
    return ib_field_get(info, IB_NODEINFO_NODE_TYPE);
}

static uint64_t node_guid(const uint8_t info[64])
{
    return ib_get_be64(info + IB_NODEINFO_NODE_GUID_OFFSET);
}

static int node_info(FabricHost *host, const FabricRoute *route,
                     uint8_t info[64])
{
    memset(info, 0, 64);
    return fabric_smp(host, route, IB_METHOD_GET, IB_SM_ATTR_NODE_INFO, 0,
                      info);
}

/* host 0 - (1) switch 0 (2) - (1) switch 1 (2) - ... (2) - host 1 */
typedef struct Chain {
    Fabric *fabric;
    FabricSwitch *sw[8];
    FabricHost *host[2];
    unsigned n;
} Chain;

static void chain_init(Chain *c, unsigned n)
{
    unsigned i;

    memset(c, 0, sizeof(*c));
    c->fabric = fabric_new();
    c->n = n;
    for (i = 0; i < n; i++) {
        IbSwitchConfig config = fabric_switch_config(c->fabric, 4);

        c->sw[i] = fabric_add_switch(c->fabric, &config);
        if (i) {
            fabric_connect(c->fabric, &c->sw[i - 1]->ends[2],
                           &c->sw[i]->ends[1]);
        }
    }
    for (i = 0; i < 2; i++) {
        c->host[i] = fabric_add_host(c->fabric);
    }
    fabric_connect(c->fabric, &c->host[0]->end, &c->sw[0]->ends[1]);
    fabric_connect(c->fabric, &c->host[1]->end, &c->sw[n - 1]->ends[2]);
    fabric_run(c->fabric, FABRIC_TRAINING);
}

/* Nothing is set up, ports are in Init: each node answers by its route. */
static void test_chain(void)
{
    Chain c;
    FabricRoute route = fabric_route(0);
    uint8_t info[64];
    unsigned i;

    chain_init(&c, 5);
    for (i = 0; i < 5; i++) {
        g_assert_cmpint(node_info(c.host[0], &route, info), ==, 0);
        g_assert_cmpuint(node_type(info), ==, IB_NODE_TYPE_SWITCH);
        g_assert_cmphex(node_guid(info), ==,
                        ib_switch_config(c.sw[i]->sw)->node_guid);
        g_assert_cmpuint(ib_field_get(info, IB_NODEINFO_LOCAL_PORT_NUM), ==,
                         1);
        route.path[route.hops++] = 2;
    }
    g_assert_cmpint(node_info(c.host[0], &route, info), ==, 0);
    g_assert_cmpuint(node_type(info), ==, IB_NODE_TYPE_CA);
    g_assert_cmphex(node_guid(info), ==,
                    ib_node_config(c.host[1]->node)->node_guid);
    fabric_free(c.fabric);
}

/* The MAD on the way: HopPointer, ReturnPath, and the D bit coming back. */
static void test_fields(void)
{
    Chain c;
    FabricRoute route = fabric_route(1, 2);
    uint8_t smp[256], reply[256];

    chain_init(&c, 2);
    fabric_smp_init(c.host[0], smp, &route, IB_METHOD_GET,
                    IB_SM_ATTR_NODE_INFO, 0, NULL);
    ib_put_be64(smp + IB_SMP_M_KEY_OFFSET, UINT64_C(0x1122334455667788));
    g_assert_true(fabric_smp_raw(c.host[0], smp, 0xffff, 0xffff, reply));
    g_assert_cmpuint(ib_field_get(reply, IB_SMP_D), ==, 1);
    g_assert_cmpuint(ib_field_get(reply, IB_SMP_STATUS), ==, 0);
    g_assert_cmpuint(ib_field_get(reply, IB_SMP_HOP_COUNT), ==, 2);
    g_assert_cmpuint(ib_field_get(reply, IB_SMP_HOP_POINTER), ==, 1);
    g_assert_cmpuint(reply[IB_SMP_RETURN_PATH_OFFSET + 1], ==, 1);
    g_assert_cmpuint(reply[IB_SMP_RETURN_PATH_OFFSET + 2], ==, 1);
    g_assert_cmpmem(reply + IB_SMP_INITIAL_PATH_OFFSET, 64,
                    smp + IB_SMP_INITIAL_PATH_OFFSET, 64);
    g_assert_cmphex(ib_field_get(reply, IB_SMP_DR_SLID), ==, 0xffff);
    g_assert_cmphex(ib_field_get(reply, IB_SMP_DR_DLID), ==, 0xffff);
    fabric_free(c.fabric);
}

/* LRH of a directed-route SMP on each cable: permissive both ways. */
static void test_lrh(void)
{
    Chain c;
    FabricRoute route = fabric_route(1, 2);
    uint8_t smp[256];
    FabricUd ud = { .slid = 0xffff, .dlid = 0xffff, .vl = 15,
                    .payload = smp, .payload_len = 256 };
    const FabricPacket *p;

    chain_init(&c, 2);
    fabric_smp_init(c.host[0], smp, &route, IB_METHOD_GET,
                    IB_SM_ATTR_NODE_INFO, 0, NULL);
    fabric_send(c.host[0], &ud);
    fabric_settle(c.fabric);
    p = fabric_packet(c.host[0], 0);
    g_assert_nonnull(p);
    g_assert_cmpuint(p->vl, ==, 15);
    g_assert_cmphex(ib_lrh_slid(p->data), ==, 0xffff);
    g_assert_cmphex(ib_lrh_dlid(p->data), ==, 0xffff);
    g_assert_true(ib_packet_icrc_ok(p->data, p->len));
    fabric_free(c.fabric);
}

/* Round a ring of three as often as 63 hops allow. */
static void test_loop(void)
{
    Fabric *f = fabric_new();
    FabricSwitch *sw[3];
    FabricHost *host = fabric_add_host(f);
    FabricRoute route = fabric_route(0);
    uint8_t info[64];
    unsigned i;

    for (i = 0; i < 3; i++) {
        IbSwitchConfig config = fabric_switch_config(f, 4);

        sw[i] = fabric_add_switch(f, &config);
    }
    for (i = 0; i < 3; i++) {
        fabric_connect(f, &sw[i]->ends[2], &sw[(i + 1) % 3]->ends[1]);
    }
    fabric_connect(f, &host->end, &sw[0]->ends[3]);
    fabric_run(f, FABRIC_TRAINING);
    /* 62 more ports after the host's own: HopCount 63 */
    for (i = 0; i < 62; i++) {
        route.path[route.hops++] = 2;
        if (i % 7 == 0 || i > 55) {
            g_assert_cmpint(node_info(host, &route, info), ==, 0);
            g_assert_cmphex(node_guid(info), ==,
                            ib_switch_config(sw[(i + 1) % 3]->sw)
                            ->node_guid);
        }
    }
    fabric_free(f);
}

/* There and back over the same cable. */
static void test_hairpin(void)
{
    Chain c;
    FabricRoute route = fabric_route(3, 2, 1, 2);
    uint8_t info[64];

    chain_init(&c, 2);
    g_assert_cmpint(node_info(c.host[0], &route, info), ==, 0);
    g_assert_cmphex(node_guid(info), ==,
                    ib_switch_config(c.sw[1]->sw)->node_guid);
    fabric_free(c.fabric);
}

/* Routes that lead nowhere are discarded, with the SMI's reason. */
static void test_dead_ends(void)
{
    Chain c;
    FabricRoute route;
    uint8_t smp[256], reply[256], info[64];
    IbSwitch *sw;

    chain_init(&c, 2);
    sw = c.sw[0]->sw;
    route = fabric_route(1, 77);            /* no such port */
    g_assert_cmpint(node_info(c.host[0], &route, info), ==, -1);
    g_assert_cmpuint(ib_switch_discards(sw, IB_DISCARD_SMP), ==, 1);
    route = fabric_route(1, 3);             /* no cable */
    g_assert_cmpint(node_info(c.host[0], &route, info), ==, -1);
    g_assert_cmpuint(ib_switch_discards(sw, IB_DISCARD_PORT_DOWN), ==, 1);
    route = fabric_route(1, 2);
    fabric_smp_init(c.host[0], smp, &route, IB_METHOD_GET,
                    IB_SM_ATTR_NODE_INFO, 0, NULL);
    ib_field_set(smp, IB_SMP_HOP_COUNT, 64);
    g_assert_false(fabric_smp_raw(c.host[0], smp, 0xffff, 0xffff, reply));
    ib_field_set(smp, IB_SMP_HOP_COUNT, 2);
    ib_field_set(smp, IB_SMP_HOP_POINTER, 4);
    g_assert_false(fabric_smp_raw(c.host[0], smp, 0xffff, 0xffff, reply));
    g_assert_cmpuint(ib_switch_discards(sw, IB_DISCARD_SMP), ==, 3);
    fabric_free(c.fabric);
}

/* -------------------------------------------------------------- a small SM */

#define MAX_NODES  16

typedef struct SmNode {
    FabricRoute route;
    uint8_t info[64];
    uint16_t lid;
    unsigned ports;
    int neighbor[8];              /* node behind port p, or -1 */
    uint8_t entry[8];             /* ... and its port */
} SmNode;

typedef struct Sm {
    FabricHost *host;
    SmNode node[MAX_NODES];
    unsigned n;
} Sm;

static int sm_find(const Sm *sm, uint64_t guid)
{
    unsigned i;

    for (i = 0; i < sm->n; i++) {
        if (node_guid(sm->node[i].info) == guid) {
            return i;
        }
    }
    return -1;
}

/* Breadth first over all ports that are up. */
static void sm_sweep(Sm *sm)
{
    unsigned at, port;

    sm->n = 1;
    sm->node[0].route = fabric_route(0);
    g_assert_cmpint(node_info(sm->host, &sm->node[0].route,
                              sm->node[0].info), ==, 0);
    for (at = 0; at < sm->n; at++) {
        SmNode *node = &sm->node[at];

        node->lid = at + 1;
        node->ports = ib_field_get(node->info, IB_NODEINFO_NUM_PORTS);
        memset(node->neighbor, -1, sizeof(node->neighbor));
        if (node_type(node->info) != IB_NODE_TYPE_SWITCH) {
            continue;
        }
        for (port = 1; port <= node->ports; port++) {
            SmNode next = { .route = node->route };
            uint8_t data[64] = { 0 };
            int known;

            g_assert_cmpint(fabric_smp(sm->host, &node->route, IB_METHOD_GET,
                                       IB_SM_ATTR_PORT_INFO, port, data), ==,
                            0);
            if (ib_field_get(data, IB_PORTINFO_PORT_STATE) < IB_PORT_INIT) {
                continue;
            }
            next.route.path[next.route.hops++] = port;
            g_assert_cmpint(node_info(sm->host, &next.route, next.info), ==,
                            0);
            known = sm_find(sm, node_guid(next.info));
            if (known < 0) {
                known = sm->n++;
                sm->node[known] = next;
            }
            node->neighbor[port] = known;
            node->entry[port] = ib_field_get(next.info,
                                             IB_NODEINFO_LOCAL_PORT_NUM);
        }
    }
}

/* The exit port of switch @from towards @to, by depth-limited search. */
static int sm_next_port(const Sm *sm, int from, int to, unsigned depth)
{
    const SmNode *node = &sm->node[from];
    unsigned port, d;

    for (d = 0; d < depth; d++) {
        for (port = 1; port <= node->ports; port++) {
            int next = node->neighbor[port];

            if (next == to) {
                return port;
            }
            if (next >= 0 && d &&
                node_type(sm->node[next].info) == IB_NODE_TYPE_SWITCH &&
                sm_next_port(sm, next, to, d) > 0) {
                return port;
            }
        }
    }
    return -1;
}

static void sm_set_port_state(Sm *sm, const SmNode *node, unsigned port,
                              uint8_t state)
{
    uint8_t data[64] = { 0 };

    g_assert_cmpint(fabric_smp(sm->host, &node->route, IB_METHOD_GET,
                               IB_SM_ATTR_PORT_INFO, port, data), ==, 0);
    ib_field_set(data, IB_PORTINFO_PORT_STATE, state);
    ib_field_set(data, IB_PORTINFO_PORT_PHYSICAL_STATE, 0);
    ib_field_set(data, IB_PORTINFO_LINK_DOWN_DEFAULT_STATE, 0);
    if (node_type(node->info) == IB_NODE_TYPE_CA) {
        ib_field_set(data, IB_PORTINFO_LID, node->lid);
        ib_field_set(data, IB_PORTINFO_MASTER_SM_LID,
                     sm->node[1].lid);
    }
    g_assert_cmpint(fabric_smp(sm->host, &node->route, IB_METHOD_SET,
                               IB_SM_ATTR_PORT_INFO, port, data), ==, 0);
    g_assert_cmpuint(ib_field_get(data, IB_PORTINFO_PORT_STATE), ==, state);
}

static void sm_configure(Sm *sm)
{
    unsigned i, j, port, state;

    for (i = 0; i < sm->n; i++) {
        uint8_t lft[64];
        SmNode *node = &sm->node[i];

        if (node_type(node->info) != IB_NODE_TYPE_SWITCH) {
            continue;
        }
        memset(lft, 255, sizeof(lft));
        lft[node->lid] = 0;
        for (j = 0; j < sm->n; j++) {
            int out = j == i ? 0 : sm_next_port(sm, i, j, MAX_NODES);

            g_assert_cmpint(out, >=, 0);
            lft[sm->node[j].lid] = out;
        }
        fabric_set_lid(sm->host, &node->route, node->lid, sm->node[1].lid);
        fabric_set_lft(sm->host, &node->route, lft, sizeof(lft));
        fabric_set_switch_info(sm->host, &node->route, sm->n, 255, 255, 0);
    }
    for (state = IB_PORT_ARMED; state <= IB_PORT_ACTIVE; state++) {
        for (i = 0; i < sm->n; i++) {
            SmNode *node = &sm->node[i];

            if (node_type(node->info) == IB_NODE_TYPE_CA) {
                sm_set_port_state(sm, node, 1, state);
                continue;
            }
            for (port = 1; port <= node->ports; port++) {
                if (node->neighbor[port] >= 0) {
                    sm_set_port_state(sm, node, port, state);
                }
            }
        }
    }
}

/*
 * Two switches, three hosts: found, set up, and then every pair of nodes
 * talks by LID.
 */
static void test_mini_sm(void)
{
    Fabric *f = fabric_new();
    FabricSwitch *sw[2];
    FabricHost *host[3];
    Sm sm = { 0 };
    unsigned i, j;
    int lid[3];

    for (i = 0; i < 2; i++) {
        IbSwitchConfig config = fabric_switch_config(f, 4);

        sw[i] = fabric_add_switch(f, &config);
    }
    for (i = 0; i < 3; i++) {
        host[i] = fabric_add_host(f);
    }
    fabric_connect(f, &host[0]->end, &sw[0]->ends[1]);
    fabric_connect(f, &sw[0]->ends[4], &sw[1]->ends[3]);
    fabric_connect(f, &host[1]->end, &sw[1]->ends[2]);
    fabric_connect(f, &host[2]->end, &sw[1]->ends[4]);
    fabric_run(f, FABRIC_TRAINING);
    sm.host = host[0];
    sm_sweep(&sm);
    g_assert_cmpuint(sm.n, ==, 5);
    sm_configure(&sm);
    for (i = 0; i < 3; i++) {
        lid[i] = sm_find(&sm, ib_node_config(host[i]->node)->node_guid) + 1;
        g_assert_cmpint(ib_node_lid(host[i]->node, 1), ==, lid[i]);
    }
    for (i = 0; i < 3; i++) {
        for (j = 0; j < 3; j++) {
            FabricUd ud = { .slid = lid[i], .dlid = lid[j], .dest_qpn = 7,
                            .payload_len = 32 };

            fabric_forget(host[j]);
            g_assert_cmpint(fabric_send(host[i], &ud), !=, IB_TX_DISCARDED);
            fabric_settle(f);
            g_assert_cmpuint(host[j]->packets->len, ==, 1);
        }
    }
    /* LID-routed SMPs reach both switches and the hosts behind them. */
    for (i = 0; i < sm.n; i++) {
        FabricRoute route = fabric_lid_route(lid[0], sm.node[i].lid);
        uint8_t info[64];

        if ((int)sm.node[i].lid == lid[0]) {
            continue;
        }
        g_assert_cmpint(node_info(host[0], &route, info), ==, 0);
        g_assert_cmphex(node_guid(info), ==, node_guid(sm.node[i].info));
    }
    fabric_free(f);
}

/* ---------------------------------------------- LID-routed and directed */

/*
 * LID-routed to switch 1, then directed: DrSLID is the SM's LID, and the
 * answer comes back LID-routed from that switch.
 */
static void test_lid_then_directed(void)
{
    Fabric *f = fabric_new();
    FabricSwitch *sw[2];
    FabricHost *host[2];
    Sm sm = { 0 };
    FabricRoute route = fabric_route(0);
    uint8_t smp[256], reply[256];
    uint16_t sm_lid, sw1_lid;
    unsigned i;

    for (i = 0; i < 2; i++) {
        IbSwitchConfig config = fabric_switch_config(f, 4);

        sw[i] = fabric_add_switch(f, &config);
        host[i] = fabric_add_host(f);
    }
    fabric_connect(f, &host[0]->end, &sw[0]->ends[1]);
    fabric_connect(f, &sw[0]->ends[2], &sw[1]->ends[1]);
    fabric_connect(f, &sw[1]->ends[2], &host[1]->end);
    fabric_run(f, FABRIC_TRAINING);
    sm.host = host[0];
    sm_sweep(&sm);
    sm_configure(&sm);
    sm_lid = ib_node_lid(host[0]->node, 1);
    sw1_lid = ib_node_lid(ib_switch_node(sw[1]->sw), 0);

    fabric_smp_init(host[0], smp, &route, IB_METHOD_GET,
                    IB_SM_ATTR_NODE_INFO, 0, NULL);
    ib_field_set(smp, IB_SMP_DR_SLID, sm_lid);
    ib_field_set(smp, IB_SMP_HOP_POINTER, 0);
    ib_field_set(smp, IB_SMP_HOP_COUNT, 1);
    smp[IB_SMP_INITIAL_PATH_OFFSET + 1] = 2;
    g_assert_true(fabric_smp_raw(host[0], smp, sm_lid, sw1_lid, reply));
    g_assert_cmpuint(ib_field_get(reply, IB_SMP_STATUS), ==, 0);
    g_assert_cmphex(node_guid(reply + IB_SMP_DATA_OFFSET), ==,
                    ib_node_config(host[1]->node)->node_guid);

    /* Directed to switch 0, then LID-routed to switch 1 (DrDLID). */
    fabric_smp_init(host[0], smp, &route, IB_METHOD_GET,
                    IB_SM_ATTR_NODE_INFO, 0, NULL);
    ib_field_set(smp, IB_SMP_DR_DLID, sw1_lid);
    g_assert_true(fabric_smp_raw(host[0], smp, 0xffff, 0xffff, reply));
    g_assert_cmpuint(ib_field_get(reply, IB_SMP_STATUS), ==, 0);
    g_assert_cmphex(node_guid(reply + IB_SMP_DATA_OFFSET), ==,
                    ib_switch_config(sw[1]->sw)->node_guid);
    fabric_free(f);
}

/* ------------------------------------------------------------------ traps */

static const uint8_t *find_trap(FabricHost *host, uint16_t number,
                                const FabricPacket **packet)
{
    unsigned i;

    for (i = 0; i < host->packets->len; i++) {
        const FabricPacket *p = fabric_packet(host, i);
        IbPacketInfo info;
        const uint8_t *mad;

        if (ib_packet_parse(p->data, p->len, &info) != IB_PACKET_OK ||
            info.payload_len != 256) {
            continue;
        }
        mad = p->data + info.payload;
        if (ib_field_get(mad, IB_MAD_METHOD) == IB_METHOD_TRAP &&
            ib_field_get(mad + IB_SMP_DATA_OFFSET,
                         IB_NOTICE_TRAP_NUMBER) == number) {
            *packet = p;
            return mad;
        }
    }
    return NULL;
}

/* Trap 128 goes to MasterSMLID by the table, from port 0's LID. */
static void test_trap_128(void)
{
    FabricStar s;
    const FabricPacket *p = NULL;
    const uint8_t *mad, *notice;

    fabric_star_init(&s, 3, NULL);
    fabric_run(s.fabric, 20000 * FABRIC_MS);
    fabric_forget(s.host[0]);
    fabric_cut(s.fabric, &s.host[2]->end);
    fabric_run(s.fabric, FABRIC_MS);
    mad = find_trap(s.host[0], 128, &p);
    g_assert_nonnull(mad);
    g_assert_cmpuint(p->vl, ==, 15);
    g_assert_cmpuint(ib_lrh_slid(p->data), ==, FABRIC_SWITCH_LID);
    g_assert_cmpuint(ib_lrh_dlid(p->data), ==, 1);
    g_assert_cmpuint(ib_field_get(mad, IB_MAD_MGMT_CLASS), ==,
                     IB_CLASS_SUBN_LID_ROUTED);
    notice = mad + IB_SMP_DATA_OFFSET;
    g_assert_cmpuint(ib_field_get(notice, IB_NOTICE_PRODUCER_TYPE), ==, 2);
    g_assert_cmpuint(ib_field_get(notice, IB_NOTICE128_LIDADDR), ==,
                     FABRIC_SWITCH_LID);
    fabric_star_clear(&s);
}

/* Without a route to the SM there is no trap, and no harm. */
static void test_trap_no_route(void)
{
    FabricStar s;
    const FabricPacket *p;

    fabric_star_init(&s, 3, NULL);
    fabric_run(s.fabric, 20000 * FABRIC_MS);
    fabric_star_set_lft(&s, 1, 255);
    fabric_forget(s.host[0]);
    fabric_cut(s.fabric, &s.host[2]->end);
    fabric_run(s.fabric, 1000 * FABRIC_MS);
    g_assert_null(find_trap(s.host[0], 128, &p));
    fabric_star_clear(&s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/switch/route/chain", test_chain);
    g_test_add_func("/switch/route/fields", test_fields);
    g_test_add_func("/switch/route/lrh", test_lrh);
    g_test_add_func("/switch/route/loop", test_loop);
    g_test_add_func("/switch/route/hairpin", test_hairpin);
    g_test_add_func("/switch/route/dead-ends", test_dead_ends);
    g_test_add_func("/switch/route/mini-sm", test_mini_sm);
    g_test_add_func("/switch/route/lid-and-directed",
                    test_lid_then_directed);
    g_test_add_func("/switch/trap/128", test_trap_128);
    g_test_add_func("/switch/trap/no-route", test_trap_no_route);
    return g_test_run();
}
