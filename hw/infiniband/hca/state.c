/*
 * The adapter's state as bytes, for migration and snapshots
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The face recreates its QPs in RESET under the same numbers first; what they
 * were told and how far they are is here.  A time is saved as what is left of
 * it.  Who waited for its port is simply asked again.
 */
#include "rc.h"

#define IB_HCA_STATE_VERSION  1

static void ib_save_address(IbStateWriter *w, const IbAddress *a)
{
    ib_state_put16(w, a->dlid);
    ib_state_put8(w, a->sl);
    ib_state_put8(w, a->path_bits);
    ib_state_put8(w, a->static_rate);
    ib_state_put8(w, a->grh | a->loopback << 1);
    ib_state_put8(w, a->sgid_index);
    ib_state_put8(w, a->hop_limit);
    ib_state_put8(w, a->traffic_class);
    ib_state_put32(w, a->flow_label);
    ib_state_put_bytes(w, a->dgid, sizeof(a->dgid));
}

static void ib_load_address(IbStateReader *r, IbAddress *a)
{
    uint8_t flags;

    a->dlid = ib_state_get16(r);
    a->sl = ib_state_get8(r);
    a->path_bits = ib_state_get8(r);
    a->static_rate = ib_state_get8(r);
    flags = ib_state_get8(r);
    a->grh = flags & 1;
    a->loopback = flags & 2;
    a->sgid_index = ib_state_get8(r);
    a->hop_limit = ib_state_get8(r);
    a->traffic_class = ib_state_get8(r);
    a->flow_label = ib_state_get32(r);
    ib_state_get_bytes(r, a->dgid, sizeof(a->dgid));
}

static void ib_save_attr(IbStateWriter *w, const IbQpAttr *a)
{
    ib_state_put8(w, a->type);
    ib_state_put8(w, a->port);
    ib_state_put32(w, a->pd);
    ib_state_put16(w, a->pkey_index);
    ib_state_put32(w, a->qkey);
    ib_state_put8(w, a->path_mtu);
    ib_save_address(w, &a->path);
    ib_save_address(w, &a->alt_path);
    ib_state_put8(w, a->alt_port);
    ib_state_put16(w, a->alt_pkey_index);
    ib_state_put32(w, a->dest_qpn);
    ib_state_put32(w, a->sq_psn);
    ib_state_put32(w, a->rq_psn);
    ib_state_put8(w, a->ack_timeout);
    ib_state_put8(w, a->alt_ack_timeout);
    ib_state_put8(w, a->retry_count);
    ib_state_put8(w, a->rnr_retry);
    ib_state_put8(w, a->min_rnr_timer);
    ib_state_put8(w, a->max_rd_atomic);
    ib_state_put8(w, a->max_dest_rd_atomic);
    ib_state_put8(w, a->access);
    ib_state_put8(w, a->path_mig_state);
    ib_state_put32(w, a->xrcd);
    ib_state_put8(w, a->has_srq | a->signal_all << 1);
}

static void ib_load_attr(IbStateReader *r, IbQpAttr *a)
{
    uint8_t flags;

    a->type = ib_state_get8(r);
    a->port = ib_state_get8(r);
    a->pd = ib_state_get32(r);
    a->pkey_index = ib_state_get16(r);
    a->qkey = ib_state_get32(r);
    a->path_mtu = ib_state_get8(r);
    ib_load_address(r, &a->path);
    ib_load_address(r, &a->alt_path);
    a->alt_port = ib_state_get8(r);
    a->alt_pkey_index = ib_state_get16(r);
    a->dest_qpn = ib_state_get32(r);
    a->sq_psn = ib_state_get32(r);
    a->rq_psn = ib_state_get32(r);
    a->ack_timeout = ib_state_get8(r);
    a->alt_ack_timeout = ib_state_get8(r);
    a->retry_count = ib_state_get8(r);
    a->rnr_retry = ib_state_get8(r);
    a->min_rnr_timer = ib_state_get8(r);
    a->max_rd_atomic = ib_state_get8(r);
    a->max_dest_rd_atomic = ib_state_get8(r);
    a->access = ib_state_get8(r);
    a->path_mig_state = ib_state_get8(r);
    a->xrcd = ib_state_get32(r);
    flags = ib_state_get8(r);
    a->has_srq = flags & 1;
    a->signal_all = flags & 2;
}

static void ib_save_qp(IbStateWriter *w, const IbQp *qp)
{
    ib_state_put32(w, qp->qpn);
    ib_state_put8(w, qp->state);
    ib_save_attr(w, &qp->attr);
    ib_state_put8(w, qp->draining | qp->last_wqe_told << 1 |
                     qp->wr_active << 2);
    ib_state_put64(w, qp->wr_id);
    if (ib_qp_is_connected(qp) && qp->state != IB_QPS_RESET) {
        ib_rc_save(w, qp);
    }
}

static bool ib_load_qp(IbStateReader *r, IbHca *hca)
{
    IbQp *qp = ib_hca_find_qp(hca, ib_state_get32(r));
    uint8_t state = ib_state_get8(r);
    IbQpAttr attr = { 0 };
    uint8_t flags;

    ib_load_attr(r, &attr);
    flags = ib_state_get8(r);
    if (!ib_state_ok(r) || !qp || qp->state != IB_QPS_RESET ||
        state > IB_QPS_ERR || attr.type > IB_QPT_XRC_TGT ||
        attr.port > hca->config.node.num_ports) {
        return false;
    }
    qp->wr_id = ib_state_get64(r);
    qp->attr = attr;
    if (state == IB_QPS_RESET) {
        return true;
    }
    if (state > IB_QPS_INIT && state != IB_QPS_ERR &&
        (!attr.port || attr.pkey_index >= hca->config.node.pkey_cap)) {
        return false;
    }
    qp->port = attr.port ? &hca->ports[attr.port] : NULL;
    qp->state = state;
    qp->draining = flags & 1;
    qp->last_wqe_told = flags & 2;
    qp->wr_active = flags & 4;
    qp->sq_more = qp->rq_more = true;
    ib_qp_ready(qp);
    return !ib_qp_is_connected(qp) || ib_rc_load(r, qp);
}

void ib_hca_save(const IbHca *hca, GByteArray *bytes)
{
    IbStateWriter w;
    const IbLoopPacket *packet;
    unsigned i, j;

    ib_state_writer_init(&w, bytes);
    ib_state_begin(&w, "HCA ", IB_HCA_STATE_VERSION);
    ib_state_put8(&w, hca->config.node.num_ports);
    for (i = 1; i <= hca->config.node.num_ports; i++) {
        ib_link_save(hca->ports[i].link, &w);
        for (j = 0; j < 2; j++) {
            ib_state_put32(&w, hca->ports[i].special[j]
                               ? hca->ports[i].special[j]->qpn : UINT32_MAX);
        }
    }
    ib_node_save(hca->node, &w);
    ib_state_put32(&w, hca->num_qps);
    for (i = 0; hca->qp_pages && i < IB_QP_PAGES; i++) {
        for (j = 0; hca->qp_pages[i] && j < IB_QP_PAGE_SIZE; j++) {
            if (hca->qp_pages[i][j]) {
                ib_save_qp(&w, hca->qp_pages[i][j]);
            }
        }
    }
    ib_state_put32(&w, hca->loop_count);
    for (i = 0; i < hca->loop_count; i++) {
        packet = &hca->loop[(hca->loop_head + i) % IB_LOOP_PACKETS];
        ib_state_put8(&w, packet->port);
        ib_state_put16(&w, packet->len);
        ib_state_put_bytes(&w, packet->data, packet->len);
    }
    ib_state_end(&w);
}

static bool ib_load_loop(IbStateReader *r, IbHca *hca)
{
    uint32_t count = ib_state_get32(r);
    uint8_t data[IB_LINK_PACKET_MAX];
    uint8_t port;
    uint16_t len;

    if (count > IB_LOOP_PACKETS) {
        return false;
    }
    hca->loop_count = 0;
    while (count--) {
        port = ib_state_get8(r);
        len = ib_state_get16(r);
        if (!ib_state_ok(r) || port < 1 ||
            port > hca->config.node.num_ports || len > sizeof(data)) {
            return false;
        }
        ib_state_get_bytes(r, data, len);
        if (!ib_state_ok(r)) {
            return false;
        }
        ib_loop_put(&hca->ports[port], data, len);
    }
    return true;
}

static bool ib_load_all(IbHca *hca, const void *data, size_t len)
{
    IbStateReader r;
    uint32_t count, qpn;
    unsigned i, j;

    ib_state_reader_init(&r, data, len);
    if (!ib_state_enter(&r, "HCA ", IB_HCA_STATE_VERSION) ||
        ib_state_get8(&r) != hca->config.node.num_ports) {
        return false;
    }
    for (i = 1; i <= hca->config.node.num_ports; i++) {
        if (!ib_link_load(hca->ports[i].link, &r)) {
            return false;
        }
        for (j = 0; j < 2; j++) {
            qpn = ib_state_get32(&r);
            hca->ports[i].special[j] = ib_hca_find_qp(hca, qpn);
        }
    }
    if (!ib_node_load(hca->node, &r)) {
        return false;
    }
    ib_hca_sync_cc(hca);
    count = ib_state_get32(&r);
    if (!ib_state_ok(&r) || count != hca->num_qps) {
        return false;
    }
    while (count--) {
        if (!ib_load_qp(&r, hca)) {
            return false;
        }
    }
    if (!ib_load_loop(&r, hca)) {
        return false;
    }
    ib_state_leave(&r);
    return ib_state_ok(&r);
}

bool ib_hca_load(IbHca *hca, const void *data, size_t len)
{
    if (!ib_load_all(hca, data, len)) {
        /* Nothing of half a state may run. */
        ib_hca_clear_qps(hca);
        hca->loop_count = 0;
        return false;
    }
    ib_hca_kick(hca);
    return true;
}
