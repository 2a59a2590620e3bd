/*
 * Fuzzer: topology files, and the fabrics that they describe
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is the file.  What is read must be a fabric in itself: each cable
 * has two ends that agree, names and GUIDs are there once.  A small one is
 * brought up, asked a little, and one of its cables pulled out.
 */
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include "hw/infiniband/ib-fabric-host.h"
#include "hw/infiniband/ib-agent.h"
#include "hw/infiniband/ib-mad.h"
#include "hw/infiniband/ib-packet.h"

#define PORTS_MAX   512           /* of a fabric that is brought up */
#define STEP_NS     INT64_C(100000000)

static int64_t fuzz_now(void *opaque)
{
    return *(int64_t *)opaque;
}

static uint32_t fuzz_random(void *opaque)
{
    static uint32_t state = 1;

    return state = state * 1664525 + 1013904223;
}

static const IbFabricOps fuzz_ops = { .now = fuzz_now, .random = fuzz_random };

static void check_node(const IbTopology *t, uint32_t index)
{
    const IbTopologyNode *n = &t->nodes[index];
    unsigned p;

    g_assert(n->type == IB_NODE_TYPE_CA || n->type == IB_NODE_TYPE_SWITCH);
    g_assert(n->num_ports >= 1 && n->num_ports <= 254);
    g_assert(n->node_guid != 0 && n->port_guid != 0);
    g_assert(strlen(n->id) <= IB_TOPOLOGY_ID_MAX);
    g_assert(ib_topology_find(t, n->id) == n);
    for (p = 1; p <= n->num_ports; p++) {
        const IbTopologyPort *port = &n->ports[p];
        const IbTopologyPort *peer;

        if (port->cabled) {
            g_assert(port->peer < t->num_nodes && port->peer_port >= 1 &&
                     port->peer_port <= t->nodes[port->peer].num_ports);
            g_assert(port->peer != index || port->peer_port != p);
            peer = &t->nodes[port->peer].ports[port->peer_port];
            g_assert(peer->cabled && peer->peer == index &&
                     peer->peer_port == p);
        }
    }
}

static unsigned check_topology(const IbTopology *t)
{
    g_autoptr(GHashTable) guids = g_hash_table_new(g_int64_hash,
                                                   g_int64_equal);
    unsigned ports = 0;
    uint32_t i;

    g_assert(t->num_nodes >= 1 && t->num_nodes <= IB_TOPOLOGY_NODES_MAX);
    for (i = 0; i < t->num_nodes; i++) {
        check_node(t, i);
        g_assert(g_hash_table_add(guids, &t->nodes[i].node_guid));
        ports += t->nodes[i].num_ports;
    }
    return ports;
}

/* A directed-route Get(NodeInfo) through port 1 of the node */
static void ask(IbFabric *fabric, uint32_t node)
{
    IbFabricMad mad = { .node = node, .dlid = IB_LID_PERMISSIVE };

    mad.port = ib_fabric_topology(fabric)->nodes[node].type ==
               IB_NODE_TYPE_CA ? 1 : 0;
    ib_field_set(mad.data, IB_MAD_BASE_VERSION, 1);
    ib_field_set(mad.data, IB_MAD_MGMT_CLASS, IB_CLASS_SUBN_DIRECTED_ROUTE);
    ib_field_set(mad.data, IB_MAD_CLASS_VERSION, 1);
    ib_field_set(mad.data, IB_MAD_METHOD, IB_METHOD_GET);
    ib_field_set(mad.data, IB_MAD_ATTRIBUTE_ID, IB_SM_ATTR_NODE_INFO);
    ib_field_set(mad.data, IB_SMP_HOP_COUNT, 1);
    ib_field_set(mad.data, IB_SMP_DR_SLID, IB_LID_PERMISSIVE);
    ib_field_set(mad.data, IB_SMP_DR_DLID, IB_LID_PERMISSIVE);
    mad.data[IB_SMP_INITIAL_PATH_OFFSET + 1] = 1;
    ib_fabric_send(fabric, &mad);
    ib_fabric_run(fabric);
}

static void run_fabric(const IbTopology *t)
{
    static const char *const lines[] = { "status", "nodes", "links" };
    int64_t now = STEP_NS;
    IbFabric *fabric = ib_fabric_new(t, &fuzz_ops, &now);
    uint32_t i;

    ib_fabric_run(fabric);
    for (i = 0; i < G_N_ELEMENTS(lines); i++) {
        g_free(ib_fabric_command(fabric, lines[i]));
    }
    for (i = 0; i < t->num_nodes; i++) {
        bool cabled = t->nodes[i].ports[1].cabled;

        g_assert(ib_fabric_find(fabric, t->nodes[i].id) >= 0);
        ask(fabric, i);
        if (i == 0 && cabled) {
            g_assert(ib_fabric_cable_set(fabric, i, 1, false));
            g_assert(!ib_fabric_cable_plugged(fabric, i, 1));
            now += STEP_NS;
            ib_fabric_run(fabric);
            g_assert(ib_fabric_cable_set(fabric, i, 1, true));
        }
    }
    now += STEP_NS;
    ib_fabric_run(fabric);
    ib_fabric_free(fabric);
}

static char folder[] = "/tmp/fuzz-topology-XXXXXX";
static char *path;

static void remove_folder(void)
{
    g_unlink(path);
    g_rmdir(folder);
    g_free(path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    g_assert(mkdtemp(folder));
    path = g_build_filename(folder, "input.net", NULL);
    atexit(remove_folder);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    IbTopology *t;

    g_assert(g_file_set_contents_full(path, (const char *)data, size,
                                      G_FILE_SET_CONTENTS_NONE, 0600, NULL));
    t = ib_topology_read(path, &error);
    if (!t) {
        g_assert(strchr(error->message, ':'));      /* FILE:LINE: reason */
        return 0;
    }
    if (check_topology(t) <= PORTS_MAX) {
        run_fabric(t);
    }
    ib_topology_free(t);
    return 0;
}
