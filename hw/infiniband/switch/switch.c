/*
 * The life of a switch: configuration, ports, and what its links and agents
 * call back
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "switch-int.h"

/* ----------------------------------------- what the links are called with */

static int64_t port_now(void *opaque)
{
    IbSwitchPort *port = opaque;

    return port->sw->ops->now(port->sw->opaque);
}

static uint32_t port_random(void *opaque)
{
    IbSwitchPort *port = opaque;

    return port->sw->ops->random(port->sw->opaque);
}

static void port_set_timer(void *opaque, int64_t deadline)
{
    IbSwitchPort *port = opaque;

    port->sw->ops->set_port_timer(port->sw->opaque, port->num, deadline);
}

static IbCableResult port_send_frame(void *opaque, const uint8_t *frame,
                                     size_t len)
{
    IbSwitchPort *port = opaque;

    return port->sw->ops->send_frame(port->sw->opaque, port->num, frame, len);
}

static void port_state_changed(void *opaque, uint8_t old_state,
                               uint8_t new_state)
{
    IbSwitchPort *port = opaque;
    IbSwitch *sw = port->sw;

    if (sw->node && !sw->quiet) {
        ib_node_port_state_changed(sw->node, port->num);
    }
    if (sw->ops->port_state_changed) {
        sw->ops->port_state_changed(sw->opaque, port->num, old_state,
                                    new_state);
    }
}

static void port_error(void *opaque, IbLinkError error)
{
    IbSwitchPort *port = opaque;

    ib_node_link_error(port->sw->node, port->num, error);
}

static void port_tap(void *opaque, bool tx, const uint8_t *packet, size_t len,
                     uint16_t vcrc)
{
    IbSwitchPort *port = opaque;

    if (port->sw->ops->tap) {
        port->sw->ops->tap(port->sw->opaque, port->num, tx, packet, len,
                           vcrc);
    }
}

static void port_trace(void *opaque, const char *event, const uint8_t *packet,
                       size_t len)
{
    IbSwitchPort *port = opaque;

    if (port->sw->ops->trace_link) {
        port->sw->ops->trace_link(port->sw->opaque, port->num, event, packet,
                                  len);
    }
}

static const IbLinkOps port_ops = {
    .now = port_now,
    .random = port_random,
    .set_timer = port_set_timer,
    .send_frame = port_send_frame,
    .receive = ib_switch_receive,
    .receive_end = ib_switch_receive_end,
    .state_changed = port_state_changed,
    .error = port_error,
    .tap = port_tap,
    .trace = port_trace,
};

/* ---------------------------------------- what the agents are called with */

static int64_t node_now(void *opaque)
{
    IbSwitch *sw = opaque;

    return sw->ops->now(sw->opaque);
}

static void node_set_timer(void *opaque, int64_t deadline)
{
    IbSwitch *sw = opaque;

    sw->ops->set_timer(sw->opaque, deadline);
}

void ib_switch_update_lid(IbSwitch *sw)
{
    sw->own_lid = ib_node_lid(sw->node, 0);
    sw->own_lids = ib_lid_is_unicast(sw->own_lid)
                   ? 1 << ib_node_lmc(sw->node, 0) : 0;
}

static void node_changed(void *opaque, uint8_t port, uint32_t what)
{
    IbSwitch *sw = opaque;

    if (port == 0 && (what & IB_CHANGED_LID) && sw->node) {
        ib_switch_update_lid(sw);
    }
    if ((what & (IB_CHANGED_PORT | IB_CHANGED_PKEYS)) && sw->node) {
        ib_enforce_update(sw, port);
    }
    if ((what & IB_CHANGED_CC) && sw->node) {
        ib_congestion_update(sw);
    }
}

static const IbNodeOps node_ops = {
    .now = node_now,
    .set_timer = node_set_timer,
    .send_smp = ib_port0_send_smp,
    .changed = node_changed,
};

/* ------------------------------------------------------------------- life */

bool ib_switch_fdb_supported(IbFdbType fdb)
{
    return fdb == IB_FDB_LINEAR || fdb == IB_FDB_RANDOM;
}

const char *ib_switch_config_error(const IbSwitchConfig *config,
                                   const char **range)
{
    if (config->num_ports < 1 || config->num_ports > 254) {
        *range = "1 to 254";
        return "ports";
    }
    if (config->node_guid == 0) {
        *range = "a GUID other than 0";
        return "node-guid";
    }
    if (config->system_guid == 0) {
        *range = "a GUID other than 0";
        return "system-guid";
    }
    if (!ib_switch_fdb_supported(config->fdb)) {
        *range = "linear or random";
        return "fdb";
    }
    if (config->fdb == IB_FDB_LINEAR &&
        (config->linear_fdb_cap < 1 ||
         config->linear_fdb_cap > IB_LID_UCAST_LAST + 1)) {
        *range = "1 to 49152";
        return "linear-fdb-cap";
    }
    if (config->fdb == IB_FDB_RANDOM &&
        (config->random_fdb_cap < 1 ||
         config->random_fdb_cap > IB_LID_UCAST_LAST + 1)) {
        *range = "1 to 49152";
        return "random-fdb-cap";
    }
    if (config->multicast_fdb_cap >
        IB_LID_MCAST_LAST - IB_LID_MCAST_FIRST + 1) {
        *range = "0 to 16383";
        return "multicast-fdb-cap";
    }
    if (config->pkey_cap < 1) {
        *range = "1 to 65535";
        return "pkey-cap";
    }
    return NULL;
}

static void make_links(IbSwitch *sw)
{
    IbLinkConfig link = sw->config.link;
    unsigned i;

    link.guid = sw->config.node_guid;
    link.switch_port = true;
    for (i = 0; i <= sw->num_ports; i++) {
        IbSwitchPort *port = &sw->ports[i];

        port->sw = sw;
        port->num = i;
        if (i) {
            link.port_num = i;
            port->link = ib_link_new(&link, &port_ops, port);
        }
    }
}

static void make_node(IbSwitch *sw)
{
    const IbSwitchConfig *c = &sw->config;
    IbLink *links[256] = { NULL };
    IbNodeConfig config = {
        .node_type = IB_NODE_TYPE_SWITCH,
        .num_ports = c->num_ports,
        .system_guid = c->system_guid,
        .node_guid = c->node_guid,
        .port_guid = c->node_guid,
        .vendor_id = c->vendor_id,
        .device_id = c->device_id,
        .revision = c->revision,
        .pkey_cap = c->pkey_cap,
        .pkey_cap_external = c->pkey_cap_external,
        .guid_cap = 1,
        .capability_mask = IB_NODE_CAPABILITY_MASK |
                           IB_CAP_IS_NOTICE_SUPPORTED |
                           IB_CAP_IS_LED_INFO_SUPPORTED |
                           IB_CAP_IS_MULTICAST_FDB_TOP_SUPPORTED |
                           IB_CAP_IS_P_KEY_SWITCH_EXTERNAL_PORT_TRAP_SUPPORTED,
        .enhanced_port0 = c->enhanced_port0,
        .optimized_sl2vl = true,
        .enforcement = IB_ENFORCE_RAW_IN | IB_ENFORCE_RAW_OUT |
                       (c->pkey_cap_external ? IB_ENFORCE_PARTITION_IN |
                                               IB_ENFORCE_PARTITION_OUT : 0),
    };
    unsigned i;

    memcpy(config.description, c->description, sizeof(config.description));
    for (i = 1; i <= sw->num_ports; i++) {
        links[i] = sw->ports[i].link;
    }
    sw->node = ib_node_new(&config, &node_ops, sw, ib_switch_attributes,
                           links);
    sw->sl2vl = ib_node_sl2vl_view(sw->node);
}

IbSwitch *ib_switch_new(const IbSwitchConfig *config, const IbSwitchOps *ops,
                        void *opaque)
{
    const char *range;
    IbSwitch *sw;

    if (ib_switch_config_error(config, &range)) {
        return NULL;
    }
    sw = g_new0(IbSwitch, 1);
    sw->config = *config;
    sw->ops = ops;
    sw->opaque = opaque;
    sw->num_ports = config->num_ports;
    sw->mft_words = ib_blocks(config->num_ports + 1, 64);
    sw->ports = g_new0(IbSwitchPort, config->num_ports + 1);
    ib_switch_reset_tables(sw);
    make_links(sw);
    make_node(sw);
    ib_switch_update_lid(sw);
    ib_enforce_update_all(sw);
    ib_congestion_update(sw);
    return sw;
}

void ib_switch_free(IbSwitch *sw)
{
    unsigned i;

    if (!sw) {
        return;
    }
    for (i = 1; i <= sw->num_ports; i++) {
        ib_link_free(sw->ports[i].link);
    }
    ib_node_free(sw->node);
    g_free(sw->lids);
    g_free(sw->rft);
    g_free(sw->rft_matched);
    g_free(sw->mft);
    g_free(sw->ports);
    g_free(sw);
}

void ib_switch_update_fdb(IbSwitch *sw)
{
    if (sw->config.fdb == IB_FDB_RANDOM) {
        ib_fdb_random_update(sw);
    } else {
        ib_fdb_linear_update(sw);
    }
}

/* For what waits at the ports, once there are any. */
void ib_switch_set_life_time(IbSwitch *sw, uint8_t code)
{
    unsigned i;

    sw->life_time = code;
    for (i = 1; i <= sw->num_ports && sw->ports[i].link; i++) {
        ib_link_set_life_time(sw->ports[i].link, code);
    }
}

/* No route at all; a multicast packet without an entry goes nowhere. */
void ib_switch_reset_tables(IbSwitch *sw)
{
    g_clear_pointer(&sw->lids, g_free);
    g_clear_pointer(&sw->rft, g_free);
    g_clear_pointer(&sw->mft, g_free);
    sw->lids_size = 0;
    sw->rft_size = 0;
    sw->mft_size = 0;
    sw->linear_top = 0;
    sw->mcast_top = 0;
    sw->default_port = IB_NO_PORT;
    sw->mcast_primary = IB_NO_PORT;
    sw->mcast_not_primary = IB_NO_PORT;
    ib_switch_set_life_time(sw, IB_LIFE_TIME_MAX);
    ib_switch_update_fdb(sw);
}

/* The agent hears nothing of ports that a reset takes down. */
void ib_switch_reset(IbSwitch *sw)
{
    unsigned i;

    sw->quiet = true;
    for (i = 1; i <= sw->num_ports; i++) {
        ib_link_reset(sw->ports[i].link, false);
        sw->ports[i].dirty = false;
    }
    sw->dirty_count = 0;
    sw->receiving = false;
    sw->quiet = false;
    ib_switch_reset_tables(sw);
    memset(sw->discards, 0, sizeof(sw->discards));
    memset(sw->psn, 0, sizeof(sw->psn));
    ib_node_reset(sw->node);
    ib_switch_update_lid(sw);
    ib_enforce_update_all(sw);
    ib_congestion_update(sw);
}

/* -------------------------------------------------------- looking at it */

IbLink *ib_switch_link(IbSwitch *sw, uint8_t port)
{
    return sw->ports[port].link;
}

IbNode *ib_switch_node(IbSwitch *sw)
{
    return sw->node;
}

const IbSwitchConfig *ib_switch_config(const IbSwitch *sw)
{
    return &sw->config;
}

void ib_switch_timer(IbSwitch *sw)
{
    ib_node_timer(sw->node);
}

void ib_switch_port_timer(IbSwitch *sw, uint8_t port)
{
    ib_link_timer(sw->ports[port].link);
}

uint64_t ib_switch_discards(const IbSwitch *sw, IbDiscard reason)
{
    uint64_t n;
    unsigned i;

    if ((unsigned)reason >= IB_DISCARD_COUNT) {
        return 0;
    }
    /* The links themselves see to what waits, and to stalled VLs. */
    n = reason == IB_DISCARD_LIFETIME ? 0 : sw->discards[reason];
    for (i = 1; reason == IB_DISCARD_LIFETIME && i <= sw->num_ports; i++) {
        const IbLinkCounters *c = ib_link_counters(sw->ports[i].link);

        n += c->sw_lifetime_discards + c->sw_hoq_lifetime_discards;
    }
    return n;
}

void ib_switch_set_trace(IbSwitch *sw, bool on)
{
    unsigned i;

    sw->trace = on;
    for (i = 1; i <= sw->num_ports; i++) {
        ib_link_set_trace(sw->ports[i].link, on);
    }
}
