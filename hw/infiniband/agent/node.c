/*
 * A node as subnet management sees it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Making, resetting and looking at what the agents keep; the values that a
 * node has when power comes on (IBA Vol.1 14.2.5).
 */
#include "agent-int.h"

/* RespTimeValue and SubnetTimeOut at power on: 4.096 us * 2^n */
#define SUBNET_TIMEOUT_INITIAL  18      /* 1.07 s, what OpenSM sets, too */
#define ERROR_THRESHOLDS_INITIAL 0x88   /* LocalPhyErrors, OverrunErrors */

static unsigned node_port_count(const IbNode *node)
{
    return node->config.num_ports + 1;
}

/* SL i goes to VL i; above the VLs that there are it starts over. */
static void node_default_sl2vl(IbNode *node)
{
    unsigned vls = ib_link_config(ib_node_like_link(node, 0))->vl_cap;
    unsigned sl;

    for (sl = 0; sl < IB_SL_COUNT; sl++) {
        node->sl2vl_default[sl] = sl % vls;
    }
}

static void node_forget_sl2vl(IbNode *node)
{
    g_free(node->sl2vl_table);
    node->sl2vl_table = NULL;
    node->sl2vl = (IbSl2vlView) { .base = node->sl2vl_default };
}

uint8_t *ib_node_own_sl2vl(IbNode *node, uint8_t in_port, uint8_t out_port)
{
    bool is_switch = ib_node_is_switch(node);
    size_t outs = node_port_count(node);
    size_t ins = is_switch ? outs : 1;
    size_t i;

    if (!node->sl2vl_table) {
        node->sl2vl_table = g_malloc(ins * outs * IB_SL_COUNT);
        for (i = 0; i < ins * outs; i++) {
            memcpy(node->sl2vl_table + i * IB_SL_COUNT, node->sl2vl_default,
                   IB_SL_COUNT);
        }
        node->sl2vl = (IbSl2vlView) {
            .base = node->sl2vl_table,
            .in_stride = is_switch ? outs * IB_SL_COUNT : 0,
            .out_stride = IB_SL_COUNT,
        };
    }
    return node->sl2vl_table + in_port * node->sl2vl.in_stride +
           out_port * node->sl2vl.out_stride;
}

const IbSl2vlView *ib_node_sl2vl_view(const IbNode *node)
{
    return &node->sl2vl;
}

const uint8_t *ib_node_sl2vl(const IbNode *node, uint8_t in_port,
                             uint8_t out_port)
{
    return ib_sl2vl(&node->sl2vl, in_port, out_port);
}

static void node_reset_end_port(IbNode *node, uint8_t num)
{
    IbAgentPort *port = &node->ports[num];
    bool is_switch = ib_node_is_switch(node);

    memset(port->guids, 0, node->config.guid_cap * sizeof(*port->guids));
    port->guids[0] = node->config.port_guid + (is_switch ? 0 : num - 1);
    port->m_key = 0;
    port->gid_prefix = IB_GID_PREFIX_DEFAULT;
    port->capability_mask = node->config.capability_mask;
    port->lid = 0;
    port->sm_lid = 0;
    port->m_key_lease = 0;
    port->m_key_violations = 0;
    port->qkey_violations = 0;
    port->lmc = 0;
    port->m_key_protect = 0;
    port->sm_sl = 0;
    port->subnet_timeout = SUBNET_TIMEOUT_INITIAL;
    port->init_type_reply = 0;
    ib_trap_reset(port);
    ib_notice_free(port);
    ib_cc_free(port);
}

void ib_node_set_error_thresholds(IbNode *node, uint8_t num, uint8_t both)
{
    node->ports[num].error_thresholds = both;
    if (node->links[num]) {
        ib_link_set_error_thresholds(node->links[num], both >> 4, both & 0xf);
    }
}

static void node_reset_port(IbNode *node, uint8_t num)
{
    IbAgentPort *port = &node->ports[num];

    port->lease_deadline = IB_NEVER;
    port->late_deadline = IB_NEVER;
    if (ib_node_is_end_port(node, num)) {
        node_reset_end_port(node, num);
    }
    g_free(port->pkeys);
    port->pkeys = NULL;
    port->pkeys_used = ib_node_pkey_cap(node, num) ? 1 : 0;
    port->pkey_violations = 0;
    ib_node_set_error_thresholds(node, num, ERROR_THRESHOLDS_INITIAL);
    port->enforcement = 0;
    port->led = false;
    port->last_state = node->links[num] ? ib_link_state(node->links[num])
                                        : IB_PORT_ACTIVE;
    ib_pma_reset(node, num);
}

IbNode *ib_node_new(const IbNodeConfig *config, const IbNodeOps *ops,
                    void *opaque, const IbSmaAttribute *extra,
                    IbLink *const *links)
{
    IbNode *node = g_new0(IbNode, 1);
    unsigned port;

    g_assert(config->node_type == IB_NODE_TYPE_CA ||
             config->node_type == IB_NODE_TYPE_SWITCH ||
             config->node_type == IB_NODE_TYPE_ROUTER);
    g_assert(config->num_ports >= 1 && config->num_ports <= 254);
    g_assert(config->guid_cap >= 1 && config->pkey_cap >= 1);

    node->config = *config;
    node->ops = ops;
    node->opaque = opaque;
    node->extra = extra;
    node->next_tid = 1;
    node->timer_deadline = IB_NEVER;
    node->links = g_new0(IbLink *, node_port_count(node));
    for (port = 1; port < node_port_count(node); port++) {
        node->links[port] = links[port];
    }
    node->ports = g_new0(IbAgentPort, node_port_count(node));
    for (port = ib_node_first_end_port(node);
         port <= ib_node_last_end_port(node); port++) {
        node->ports[port].guids = g_new0(uint64_t, config->guid_cap);
    }
    if (ib_node_is_switch(node)) {
        node->port0_counters = g_new0(IbLinkCounters, 1);
    }
    node_default_sl2vl(node);
    ib_node_reset(node);
    return node;
}

void ib_node_free(IbNode *node)
{
    unsigned port;

    if (!node) {
        return;
    }
    for (port = 0; port < node_port_count(node); port++) {
        ib_trap_reset(&node->ports[port]);
        ib_pma_free(&node->ports[port]);
        ib_cc_free(&node->ports[port]);
        ib_notice_free(&node->ports[port]);
        g_free(node->ports[port].pkeys);
        g_free(node->ports[port].guids);
    }
    g_free(node->port0_counters);
    g_free(node->sl2vl_table);
    g_free(node->ports);
    g_free(node->links);
    g_free(node);
}

void ib_node_reset(IbNode *node)
{
    unsigned port;

    node->reset_at = node->ops->now(node->opaque);
    memcpy(node->description, node->config.description,
           sizeof(node->description));
    node_forget_sl2vl(node);
    node->port_state_change = false;
    node->ports_read = false;
    node->change_untold = false;
    for (port = 0; port < node_port_count(node); port++) {
        node_reset_port(node, port);
    }
    ib_node_rearm(node);
}

/* ----------------------------------------------------------- the timer */

static int64_t node_port_deadline(const IbAgentPort *port)
{
    int64_t deadline = MIN(port->lease_deadline, port->late_deadline);

    deadline = MIN(deadline, ib_trap_deadline(port));
    deadline = MIN(deadline, ib_cc_deadline(port));
    return MIN(deadline, ib_sampler_deadline(port->sampler));
}

void ib_node_rearm(IbNode *node)
{
    int64_t deadline = IB_NEVER;
    unsigned port;

    for (port = 0; port < node_port_count(node); port++) {
        deadline = MIN(deadline, node_port_deadline(&node->ports[port]));
    }
    if (deadline != node->timer_deadline) {
        node->timer_deadline = deadline;
        node->ops->set_timer(node->opaque, deadline);
    }
}

void ib_node_timer(IbNode *node)
{
    int64_t now = node->ops->now(node->opaque);
    unsigned port;

    node->timer_deadline = IB_NEVER;
    for (port = 0; port < node_port_count(node); port++) {
        if (node_port_deadline(&node->ports[port]) > now) {
            continue;
        }
        ib_sma_late_timer(node, port, now);
        ib_sma_lease_timer(node, port, now);
        ib_trap_timer(node, port, now);
        ib_cc_timer(node, port, now);
        ib_sampler_timer(node, port, now);
    }
    ib_node_rearm(node);
}

/* --------------------------------------------------------------- looking */

void ib_node_notify(IbNode *node, uint8_t port, uint32_t what)
{
    if (what && node->ops->changed) {
        node->ops->changed(node->opaque, port, what);
    }
}

const IbNodeConfig *ib_node_config(const IbNode *node)
{
    return &node->config;
}

void ib_node_set_description(IbNode *node, const char description[64])
{
    unsigned port;

    if (!memcmp(node->description, description, sizeof(node->description))) {
        return;
    }
    memcpy(node->description, description, sizeof(node->description));
    for (port = ib_node_first_end_port(node);
         port <= ib_node_last_end_port(node); port++) {
        ib_trap_local_changes(node, port, true);
    }
}

const char *ib_node_description(const IbNode *node)
{
    return node->description;
}

uint16_t ib_node_lid(const IbNode *node, uint8_t port)
{
    return node->ports[port].lid;
}

uint8_t ib_node_lmc(const IbNode *node, uint8_t port)
{
    return node->ports[port].lmc;
}

uint16_t ib_node_sm_lid(const IbNode *node, uint8_t port)
{
    return node->ports[port].sm_lid;
}

uint8_t ib_node_sm_sl(const IbNode *node, uint8_t port)
{
    return node->ports[port].sm_sl;
}

uint64_t ib_node_gid_prefix(const IbNode *node, uint8_t port)
{
    return node->ports[port].gid_prefix;
}

uint64_t ib_node_guid(const IbNode *node, uint8_t port, unsigned index)
{
    if (!node->ports[port].guids || index >= node->config.guid_cap) {
        return 0;
    }
    return node->ports[port].guids[index];
}

uint32_t ib_node_capability_mask(const IbNode *node, uint8_t port)
{
    return ib_node_is_end_port(node, port)
        ? ib_node_shown_capability_mask(node, port) : 0;
}

void ib_node_set_capability_mask(IbNode *node, uint8_t port, uint32_t mask)
{
    uint32_t old = ib_node_capability_mask(node, port);

    node->ports[port].capability_mask = mask;
    if (ib_node_capability_mask(node, port) != old) {
        ib_trap_local_changes(node, port, false);
    }
}

uint8_t ib_node_subnet_timeout(const IbNode *node, uint8_t port)
{
    return node->ports[port].subnet_timeout;
}

bool ib_node_led(const IbNode *node, uint8_t port)
{
    return node->ports[port].led;
}

uint8_t ib_node_enforcement(const IbNode *node, uint8_t port)
{
    return node->ports[port].enforcement;
}

IbLinkCounters *ib_node_counters(IbNode *node, uint8_t port)
{
    return node->links[port] ? ib_link_counters(node->links[port])
                             : node->port0_counters;
}

/* ------------------------------------------------------- P_Keys, Q_Keys */

unsigned ib_node_pkey_cap(const IbNode *node, uint8_t port)
{
    return ib_node_is_end_port(node, port) ? node->config.pkey_cap :
           port && ib_node_is_switch(node) ? node->config.pkey_cap_external :
           0;
}

uint16_t ib_node_pkey(const IbNode *node, uint8_t port, unsigned index)
{
    const IbAgentPort *p = &node->ports[port];

    if (index >= p->pkeys_used) {
        return 0;
    }
    return p->pkeys ? p->pkeys[index] : IB_PKEY_DEFAULT;
}

uint16_t *ib_node_own_pkeys(IbNode *node, uint8_t port)
{
    IbAgentPort *p = &node->ports[port];

    if (!p->pkeys) {
        p->pkeys = g_new0(uint16_t, ib_node_pkey_cap(node, port));
        p->pkeys[0] = IB_PKEY_DEFAULT;
    }
    return p->pkeys;
}

void ib_node_pkeys_changed(IbNode *node, uint8_t port)
{
    IbAgentPort *p = &node->ports[port];
    unsigned used = ib_node_pkey_cap(node, port);

    while (used && p->pkeys[used - 1] == 0) {
        used--;
    }
    p->pkeys_used = used;
}

int ib_node_pkey_match(const IbNode *node, uint8_t port, uint16_t pkey)
{
    unsigned used = node->ports[port].pkeys_used;
    unsigned i;

    for (i = 0; i < used; i++) {
        if (ib_pkey_match(pkey, ib_node_pkey(node, port, i))) {
            return i;
        }
    }
    return -1;
}

bool ib_node_pkey_may_send(const IbNode *node, uint8_t port, uint16_t pkey)
{
    unsigned used = node->ports[port].pkeys_used;
    unsigned i;

    for (i = 0; pkey & IB_PKEY_BASE_MASK && i < used; i++) {
        uint16_t own = ib_node_pkey(node, port, i);

        if (own == pkey || own == (pkey | IB_PKEY_FULL_MEMBER)) {
            return true;
        }
    }
    return false;
}

void ib_node_pkey_violation(IbNode *node, uint8_t port)
{
    ib_count16(&node->ports[port].pkey_violations);
}

void ib_node_qkey_violation(IbNode *node, uint8_t port)
{
    ib_count16(&node->ports[port].qkey_violations);
}

void ib_node_reset_qkey_violations(IbNode *node, uint8_t port)
{
    node->ports[port].qkey_violations = 0;
}
