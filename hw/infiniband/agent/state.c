/*
 * Saving and loading what the agents keep
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Section "NODE".  The configuration is not in it: the node that loads was
 * made with the same one, which a few numbers at the front check.  Times are
 * those of IbNodeOps.now(), which the owner carries over.
 */
#include "agent-int.h"

#define NODE_TAG      "NODE"
#define NODE_VERSION  5
#define NODE_VERSION_MIN 2

static void save_end_port(const IbNode *node, const IbAgentPort *p,
                          IbStateWriter *w)
{
    unsigned i;

    ib_state_put64(w, p->m_key);
    ib_state_put64(w, p->gid_prefix);
    for (i = 0; i < node->config.guid_cap; i++) {
        ib_state_put64(w, p->guids[i]);
    }
    ib_state_put64(w, p->lease_deadline);
    ib_state_put32(w, p->capability_mask);
    ib_state_put16(w, p->lid);
    ib_state_put16(w, p->sm_lid);
    ib_state_put16(w, p->m_key_lease);
    ib_state_put16(w, p->m_key_violations);
    ib_state_put16(w, p->qkey_violations);
    ib_state_put8(w, p->lmc);
    ib_state_put8(w, p->m_key_protect);
    ib_state_put8(w, p->sm_sl);
    ib_state_put8(w, p->subnet_timeout);
    ib_state_put8(w, p->init_type_reply);
    ib_trap_save(p, w);
    ib_cc_save(node, p, w);
    ib_notice_save(p, w);
}

static void load_end_port(IbNode *node, uint8_t num, unsigned version,
                          IbStateReader *r)
{
    IbAgentPort *p = &node->ports[num];
    unsigned i;

    p->m_key = ib_state_get64(r);
    p->gid_prefix = ib_state_get64(r);
    for (i = 0; i < node->config.guid_cap; i++) {
        p->guids[i] = ib_state_get64(r);
    }
    p->lease_deadline = ib_state_get64(r);
    p->capability_mask = ib_state_get32(r);
    p->lid = ib_state_get16(r);
    p->sm_lid = ib_state_get16(r);
    p->m_key_lease = ib_state_get16(r);
    p->m_key_violations = ib_state_get16(r);
    p->qkey_violations = ib_state_get16(r);
    p->lmc = ib_state_get8(r);
    p->m_key_protect = ib_state_get8(r);
    p->sm_sl = ib_state_get8(r);
    p->subnet_timeout = ib_state_get8(r);
    p->init_type_reply = ib_state_get8(r);
    ib_trap_load(node, num, version, r);
    ib_cc_load(node, num, r);
    if (version >= 3) {
        ib_notice_load(node, num, r);
    }
    if (p->lmc > 7 || p->m_key_protect > 3 || p->sm_sl > 15 ||
        p->subnet_timeout > 31 || p->lid > IB_LID_UCAST_LAST ||
        p->sm_lid > IB_LID_UCAST_LAST) {
        ib_state_fail(r);
    }
}

static void save_port(const IbNode *node, uint8_t num, IbStateWriter *w)
{
    const IbAgentPort *p = &node->ports[num];
    unsigned i;

    if (ib_node_is_end_port(node, num)) {
        save_end_port(node, p, w);
    }
    ib_state_put8(w, p->error_thresholds);
    ib_state_put8(w, p->enforcement);
    ib_state_put8(w, p->last_state);
    ib_state_put8(w, p->led);
    ib_state_put16(w, p->pkey_violations);
    ib_state_put64(w, p->late_deadline);
    ib_state_put8(w, p->late_state);
    ib_state_put8(w, p->late_phys);
    ib_state_put8(w, p->pkeys != NULL);
    for (i = 0; p->pkeys && i < ib_node_pkey_cap(node, num); i++) {
        ib_state_put16(w, p->pkeys[i]);
    }
    ib_pma_save(node, num, w);
}

static void load_pkeys(IbNode *node, uint8_t num, IbStateReader *r)
{
    unsigned cap = ib_node_pkey_cap(node, num);
    uint16_t *pkeys;
    unsigned i;

    if (!ib_state_get8(r)) {
        return;
    }
    if (cap == 0) {
        ib_state_fail(r);
        return;
    }
    pkeys = ib_node_own_pkeys(node, num);
    for (i = 0; i < cap; i++) {
        pkeys[i] = ib_state_get16(r);
    }
    ib_node_pkeys_changed(node, num);
}

static void load_port(IbNode *node, uint8_t num, unsigned version,
                      IbStateReader *r)
{
    IbAgentPort *p = &node->ports[num];

    if (ib_node_is_end_port(node, num)) {
        load_end_port(node, num, version, r);
    }
    ib_node_set_error_thresholds(node, num, ib_state_get8(r));
    p->enforcement = ib_state_get8(r) & node->config.enforcement;
    p->last_state = ib_state_get8(r);
    p->led = ib_state_get8(r);
    p->pkey_violations = ib_state_get16(r);
    p->late_deadline = ib_state_get64(r);
    p->late_state = ib_state_get8(r);
    p->late_phys = ib_state_get8(r);
    load_pkeys(node, num, r);
    ib_pma_load(node, num, version, r);
    /* Only a port with a link has a change of it to wait for. */
    if (num == 0 && p->late_deadline != IB_NEVER) {
        ib_state_fail(r);
    }
}

/* Port 0 of a switch has no link to save its counters. */
static void save_port0_counters(const IbNode *node, IbStateWriter *w)
{
    const IbLinkCounters *c = node->port0_counters;
    unsigned sl;

    if (c) {
        ib_state_put64(w, c->xmit_data);
        ib_state_put64(w, c->rcv_data);
        ib_state_put64(w, c->xmit_pkts);
        ib_state_put64(w, c->rcv_pkts);
        ib_state_put64(w, c->unicast_xmit_pkts);
        ib_state_put64(w, c->unicast_rcv_pkts);
        ib_state_put64(w, c->multicast_xmit_pkts);
        ib_state_put64(w, c->multicast_rcv_pkts);
        ib_state_put64(w, c->rcv_errors);
        ib_state_put64(w, c->xmit_discards);
        ib_state_put64(w, c->vl15_dropped);
        for (sl = 0; sl < IB_SLS; sl++) {
            ib_state_put64(w, c->xmit_data_sl[sl]);
            ib_state_put64(w, c->rcv_data_sl[sl]);
        }
    }
}

static void load_port0_counters(IbNode *node, unsigned version,
                                IbStateReader *r)
{
    IbLinkCounters *c = node->port0_counters;
    unsigned sl;

    if (c) {
        memset(c, 0, sizeof(*c));
        c->xmit_data = ib_state_get64(r);
        c->rcv_data = ib_state_get64(r);
        c->xmit_pkts = ib_state_get64(r);
        c->rcv_pkts = ib_state_get64(r);
        c->unicast_xmit_pkts = ib_state_get64(r);
        c->unicast_rcv_pkts = ib_state_get64(r);
        c->multicast_xmit_pkts = ib_state_get64(r);
        c->multicast_rcv_pkts = ib_state_get64(r);
        c->rcv_errors = ib_state_get64(r);
        c->xmit_discards = ib_state_get64(r);
        c->vl15_dropped = ib_state_get64(r);
        for (sl = 0; version >= 3 && sl < IB_SLS; sl++) {
            c->xmit_data_sl[sl] = ib_state_get64(r);
            c->rcv_data_sl[sl] = ib_state_get64(r);
        }
    }
}

/* Bytes of the table once it differs from the default. */
static size_t sl2vl_bytes(const IbNode *node)
{
    size_t outs = node->config.num_ports + 1;

    return (ib_node_is_switch(node) ? outs : 1) * outs * IB_SL_COUNT;
}

static void load_sl2vl(IbNode *node, IbStateReader *r)
{
    size_t bytes = sl2vl_bytes(node);
    uint8_t *table;
    size_t i;

    if (!ib_state_get8(r)) {
        return;
    }
    table = ib_node_own_sl2vl(node, 0, 0);
    ib_state_get_bytes(r, table, bytes);
    for (i = 0; i < bytes; i++) {
        if (table[i] > IB_VL_SM) {
            table[i] = IB_VL_SM;
            ib_state_fail(r);
        }
    }
}

void ib_node_save(const IbNode *node, IbStateWriter *w)
{
    unsigned num;

    ib_state_begin(w, NODE_TAG, NODE_VERSION);
    ib_state_put8(w, node->config.node_type);
    ib_state_put8(w, node->config.num_ports);
    ib_state_put8(w, node->config.guid_cap);
    ib_state_put16(w, node->config.pkey_cap);
    ib_state_put16(w, node->config.pkey_cap_external);
    ib_state_put_bytes(w, node->description, sizeof(node->description));
    ib_state_put64(w, node->next_tid);
    ib_state_put8(w, node->port_state_change);
    ib_state_put8(w, node->ports_read);
    ib_state_put8(w, node->change_untold);
    save_port0_counters(node, w);
    for (num = 0; num <= node->config.num_ports; num++) {
        save_port(node, num, w);
    }
    ib_state_put8(w, node->sl2vl_table != NULL);
    if (node->sl2vl_table) {
        ib_state_put_bytes(w, node->sl2vl_table, sl2vl_bytes(node));
    }
    ib_state_end(w);
}

bool ib_node_load(IbNode *node, IbStateReader *r)
{
    unsigned version, num;

    ib_node_reset(node);
    version = ib_state_enter(r, NODE_TAG, NODE_VERSION);
    if (version < NODE_VERSION_MIN ||
        ib_state_get8(r) != node->config.node_type ||
        ib_state_get8(r) != node->config.num_ports ||
        ib_state_get8(r) != node->config.guid_cap ||
        ib_state_get16(r) != node->config.pkey_cap ||
        ib_state_get16(r) != node->config.pkey_cap_external) {
        ib_state_fail(r);
        return false;
    }
    ib_state_get_bytes(r, node->description, sizeof(node->description));
    node->next_tid = ib_state_get64(r);
    node->port_state_change = ib_state_get8(r);
    if (version >= 5) {
        node->ports_read = ib_state_get8(r);
        node->change_untold = ib_state_get8(r);
    }
    load_port0_counters(node, version, r);
    for (num = 0; num <= node->config.num_ports && ib_state_ok(r); num++) {
        load_port(node, num, version, r);
    }
    load_sl2vl(node, r);
    ib_state_leave(r);
    if (!ib_state_ok(r)) {
        ib_node_reset(node);
        return false;
    }
    ib_node_rearm(node);
    return true;
}
