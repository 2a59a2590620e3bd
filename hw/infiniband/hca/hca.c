/*
 * The adapter: its ports, its node, and the door between it and its host
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rc.h"

/* ------------------------------------------------------- in and out */

void ib_hca_enter(IbHca *hca)
{
    if (hca->depth++ == 0) {
        hca->budget = IB_HCA_ENTRY_BUDGET;
    }
}

static void ib_hca_flush(IbHca *hca)
{
    IbHcaPort *port;
    unsigned i;

    for (i = 1; i <= hca->config.node.num_ports; i++) {
        port = &hca->ports[i];
        if (port->dirty) {
            port->dirty = false;
            ib_link_flush(port->link);
        }
    }
}

void ib_hca_leave(IbHca *hca)
{
    if (hca->depth > 1) {
        hca->depth--;
        return;
    }
    /* A flush may make room at once for those that waited. */
    do {
        ib_hca_run(hca);
        ib_hca_flush(hca);
    } while ((hca->ready.head || hca->late->len) && hca->budget);
    hca->depth = 0;
    if (hca->ready.head || hca->late->len) {
        ib_hca_kick(hca);
    }
    ib_hca_rearm(hca);
    hca->ops->batch_end(hca->opaque);
}

void ib_hca_kick(IbHca *hca)
{
    hca->kick_deadline = MIN(hca->kick_deadline, hca->ops->now(hca->opaque));
    ib_hca_rearm(hca);
}

static void ib_hca_expired(IbQp *qp)
{
    if (qp->rc) {
        ib_rc_timeout(qp);
    }
}

void ib_hca_timer(IbHca *hca)
{
    int64_t now = hca->ops->now(hca->opaque);

    hca->armed = INT64_MAX;
    if (hca->kick_deadline <= now) {
        hca->kick_deadline = INT64_MAX;
    }
    ib_hca_enter(hca);
    if (hca->node_deadline <= now) {
        hca->node_deadline = INT64_MAX;
        ib_node_timer(hca->node);
    }
    ib_hca_expire(hca, now, ib_hca_expired);
    ib_hca_leave(hca);
}

/* ------------------------------------------------------ the ports' side */

static int64_t ib_port_now(void *opaque)
{
    IbHcaPort *port = opaque;

    return port->hca->ops->now(port->hca->opaque);
}

static uint32_t ib_port_random(void *opaque)
{
    IbHcaPort *port = opaque;

    return port->hca->ops->random(port->hca->opaque);
}

static void ib_port_set_timer(void *opaque, int64_t deadline)
{
    IbHcaPort *port = opaque;

    port->hca->ops->set_port_timer(port->hca->opaque, port->num, deadline);
}

static IbCableResult ib_port_send_frame(void *opaque, const uint8_t *frame,
                                        size_t len)
{
    IbHcaPort *port = opaque;

    return port->hca->ops->send_frame(port->hca->opaque, port->num, frame,
                                      len);
}

static void ib_port_receive(void *opaque, IbPacket *packet)
{
    IbHcaPort *port = opaque;
    IbHca *hca = port->hca;
    IbLatePacket late;

    if (hca->busy || hca->late->len) {
        ib_packet_hold(packet);
        late.port = port;
        late.packet = *packet;
        g_array_append_val(hca->late, late);
        return;
    }
    /* What follows from it runs at the end of the frame. */
    ib_hca_enter(hca);
    ib_rx_packet(port, packet->data, packet->len, packet->flags, false);
    hca->depth--;
}

static void ib_hca_drop_late(IbHca *hca)
{
    unsigned i;

    for (i = 0; i < hca->late->len; i++) {
        ib_packet_release(&g_array_index(hca->late, IbLatePacket, i).packet);
    }
    g_array_set_size(hca->late, 0);
}

void ib_hca_receive_late(IbHca *hca)
{
    IbLatePacket late;
    unsigned i;

    for (i = 0; i < hca->late->len; i++) {
        late = g_array_index(hca->late, IbLatePacket, i);
        ib_rx_packet(late.port, late.packet.data, late.packet.len,
                     late.packet.flags, false);
        ib_packet_release(&late.packet);
    }
    g_array_set_size(hca->late, 0);
}

static void ib_port_receive_end(void *opaque)
{
    IbHcaPort *port = opaque;

    ib_hca_enter(port->hca);
    ib_hca_leave(port->hca);
}

static void ib_port_tx_ready(void *opaque, uint16_t vls)
{
    IbHcaPort *port = opaque;

    if (port->waiting.head) {
        ib_hca_enter(port->hca);
        ib_port_wake(port, vls);
        ib_hca_leave(port->hca);
    }
}

static void ib_port_state_changed(void *opaque, uint8_t old_state,
                                  uint8_t new_state)
{
    IbHcaPort *port = opaque;
    IbHca *hca = port->hca;

    if (!hca->node) {
        return;                   /* not made yet */
    }
    /* Who waited may now be discarded; not from within the link, though. */
    if (port->waiting.head) {
        ib_port_wake(port, 0xffff);
        ib_hca_kick(hca);
    }
    ib_node_port_state_changed(hca->node, port->num);
    hca->ops->port_state_changed(hca->opaque, port->num, old_state,
                                 new_state);
}

static void ib_port_tap(void *opaque, bool tx, const uint8_t *packet,
                        size_t len, uint16_t vcrc)
{
    IbHcaPort *port = opaque;

    port->hca->ops->tap(port->hca->opaque, port->num, tx, packet, len, vcrc);
}

static void ib_port_error(void *opaque, IbLinkError error)
{
    IbHcaPort *port = opaque;

    ib_node_link_error(port->hca->node, port->num, error);
}

static void ib_port_trace(void *opaque, const char *event,
                          const uint8_t *packet, size_t len)
{
    IbHcaPort *port = opaque;

    port->hca->ops->trace_packet(port->hca->opaque, port->num, false, 0,
                                 event, packet, len);
}

static const IbLinkOps ib_port_ops = {
    .now = ib_port_now,
    .random = ib_port_random,
    .set_timer = ib_port_set_timer,
    .send_frame = ib_port_send_frame,
    .receive = ib_port_receive,
    .receive_end = ib_port_receive_end,
    .tx_ready = ib_port_tx_ready,
    .state_changed = ib_port_state_changed,
    .error = ib_port_error,
    .tap = ib_port_tap,
    .trace = ib_port_trace,
};

void ib_hca_port_timer(IbHca *hca, uint8_t port)
{
    ib_link_timer(hca->ports[port].link);
}

IbLink *ib_hca_link(IbHca *hca, uint8_t port)
{
    return hca->ports[port].link;
}

void ib_hca_open_port(IbHca *hca, uint8_t port)
{
    ib_link_set_enabled(hca->ports[port].link, true);
}

void ib_hca_close_port(IbHca *hca, uint8_t port)
{
    ib_link_set_enabled(hca->ports[port].link, false);
}

/* ------------------------------------------------------- the node's side */

static int64_t ib_hca_now(void *opaque)
{
    IbHca *hca = opaque;

    return hca->ops->now(hca->opaque);
}

static void ib_hca_node_set_timer(void *opaque, int64_t deadline)
{
    IbHca *hca = opaque;

    hca->node_deadline = deadline;
    ib_hca_rearm(hca);
}

static void ib_hca_send_smp(void *opaque, uint8_t port, const uint8_t *mad,
                            uint16_t dlid, uint8_t sl)
{
    IbHca *hca = opaque;

    ib_tx_send_smp(&hca->ports[port], mad, dlid, sl);
}

void ib_hca_sync_cc(IbHca *hca)
{
    unsigned i;

    for (i = 1; i <= hca->config.node.num_ports; i++) {
        hca->ports[i].cc = ib_node_cc_reacts(hca->node, i);
    }
}

static void ib_hca_changed(void *opaque, uint8_t port, uint32_t what)
{
    IbHca *hca = opaque;

    /* A VL that QPs wait for may be closed now. */
    if (port >= 1 && port <= hca->config.node.num_ports &&
        hca->ports[port].waiting.head) {
        ib_port_wake(&hca->ports[port], 0xffff);
        ib_hca_kick(hca);
    }
    if (what & IB_CHANGED_CC) {
        ib_hca_sync_cc(hca);
    }
    hca->ops->changed(hca->opaque, port, what);
}

static const IbNodeOps ib_hca_node_ops = {
    .now = ib_hca_now,
    .set_timer = ib_hca_node_set_timer,
    .send_smp = ib_hca_send_smp,
    .changed = ib_hca_changed,
};

IbNode *ib_hca_node(IbHca *hca)
{
    return hca->node;
}

/* ---------------------------------------------------------------- life */

IbHca *ib_hca_new(const IbHcaConfig *config, const IbHcaOps *ops,
                  void *opaque)
{
    IbHca *hca = g_new0(IbHca, 1);
    IbLink *links[IB_HCA_MAX_PORTS + 1] = { NULL };
    IbLinkConfig link = config->link;
    unsigned i;

    g_assert(config->node.num_ports >= 1 &&
             config->node.num_ports <= IB_HCA_MAX_PORTS);
    hca->config = *config;
    hca->ops = ops;
    hca->opaque = opaque;
    hca->late = g_array_new(false, false, sizeof(IbLatePacket));
    hca->node_deadline = hca->kick_deadline = hca->armed = INT64_MAX;
    for (i = 1; i <= config->node.num_ports; i++) {
        hca->ports[i].hca = hca;
        hca->ports[i].num = i;
        link.guid = config->node.port_guid + i - 1;
        link.port_num = i;
        links[i] = ib_link_new(&link, &ib_port_ops, &hca->ports[i]);
        hca->ports[i].link = links[i];
        ib_link_set_enabled(links[i], false);
    }
    hca->node = ib_node_new(&config->node, &ib_hca_node_ops, hca, NULL, links);
    hca->sl2vl = ib_node_sl2vl_view(hca->node);
    return hca;
}

static void ib_hca_free_qps(IbHca *hca)
{
    unsigned i, j;

    for (i = 0; hca->qp_pages && i < IB_QP_PAGES; i++) {
        for (j = 0; hca->qp_pages[i] && j < IB_QP_PAGE_SIZE; j++) {
            if (hca->qp_pages[i][j]) {
                ib_qp_free(hca->qp_pages[i][j]);
            }
        }
        g_free(hca->qp_pages[i]);
    }
    g_free(hca->qp_pages);
    hca->qp_pages = NULL;
    hca->loop_count = 0;
    ib_hca_drop_late(hca);
}

void ib_hca_reset(IbHca *hca)
{
    unsigned i;

    ib_hca_free_qps(hca);
    for (i = 1; i <= hca->config.node.num_ports; i++) {
        ib_link_set_enabled(hca->ports[i].link, false);
        ib_link_reset(hca->ports[i].link, false);
        ib_link_set_enabled(hca->ports[i].link, false);
    }
    ib_node_reset(hca->node);
    ib_hca_sync_cc(hca);
    for (i = 1; i <= hca->config.node.num_ports; i++) {
        memset(hca->ports[i].flows, 0, sizeof(hca->ports[i].flows));
    }
    ib_hca_rearm(hca);
}

void ib_hca_free(IbHca *hca)
{
    IbNode *node = hca->node;
    unsigned i;

    ib_hca_free_qps(hca);
    hca->node = NULL;             /* no more word of it to anybody */
    ib_node_free(node);
    for (i = 1; i <= hca->config.node.num_ports; i++) {
        ib_link_free(hca->ports[i].link);
    }
    g_array_free(hca->late, true);
    g_free(hca->heap);
    g_free(hca->loop);
    g_free(hca);
}

void ib_hca_set_trace(IbHca *hca, bool on)
{
    unsigned i;

    hca->trace = on;
    for (i = 1; i <= hca->config.node.num_ports; i++) {
        ib_link_set_trace(hca->ports[i].link, on);
    }
}
