/*
 * What makes a QP send slower than its port: static rates, congestion
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A static rate (IBA Vol.1 9.11.2) is that of an address: packets to it are so
 * far apart that they come to no more bytes a second.
 *
 * Congestion control is that of annex A10.  A packet that a switch marked
 * (FECN) is answered with a mark the other way (BECN): in the acknowledgement
 * that it asks for, else in a packet of its own (CNP).  A mark that comes back
 * adds to the index (CCTI) of the QP, or of its SL, into the table that a
 * manager set; time takes it down again.  The table says how many times of its
 * own length a packet is to be followed by a pause, shift << 14 | multiplier
 * standing for multiplier / 2^shift.
 *
 * Both hold over any time longer than a millisecond, as a port's rate does.
 * Who has to wait is on a list of the adapter until his time has come.  None
 * of it is migrated: a flow starts anew at its full rate.
 */
#include "hca-internal.h"

#define IB_NS_PER_S         1000000000ull
/* What may be made up for, ns. */
#define IB_THROTTLE_SLACK   1000000
#define IB_CNP_PAYLOAD      16
#define IB_CNP_HOP_LIMIT    64

/* By the code of PathRecord.Rate: MB (10^6 bytes) of data a second. */
static const uint16_t ib_static_rates[] = {
    [2] = 250, [3] = 1000, [4] = 3000, [5] = 500, [6] = 2000, [7] = 4000,
    [8] = 6000, [9] = 8000, [10] = 12000, [11] = 1704, [12] = 6818,
    [13] = 13636, [14] = 20454, [15] = 3125, [16] = 12500, [17] = 25000,
    [18] = 37500, [19] = 3409, [20] = 6250, [21] = 50000,
};

/* What the port carries, bytes a second. */
static uint64_t ib_port_rate(const IbHcaPort *port)
{
    uint64_t rate = ib_link_config(port->link)->rate;

    if (!rate || rate == IB_RATE_LINK) {
        rate = ib_link_rate(ib_link_width_active(port->link),
                            ib_link_speed_active(port->link));
    }
    return MAX(rate, 1);
}

static int64_t ib_time_of(uint32_t bytes, uint64_t rate)
{
    return bytes * IB_NS_PER_S / rate;
}

static void ib_push_back(int64_t *send_at, int64_t now, int64_t ns)
{
    *send_at = MAX(*send_at, now - IB_THROTTLE_SLACK) + ns;
}

/* ------------------------------------------------------- congestion's index */

static IbFlow *ib_flow_of(IbQp *qp, uint8_t sl, const IbCcReaction *how)
{
    return how->per_sl ? &qp->port->flows[sl & 15] : &qp->flow;
}

/* One step down for each time of the timer that has passed. */
static void ib_flow_age(IbFlow *flow, const IbCcReaction *how, int64_t now)
{
    int64_t steps;

    if (how->timer && flow->ccti > how->min) {
        steps = (now - flow->since) / how->timer;
        flow->ccti -= MIN(steps, flow->ccti - how->min);
        flow->since += steps * how->timer;
    }
    flow->ccti = MAX(flow->ccti, how->min);
}

static void ib_take_becn(IbQp *qp, const IbRx *rx)
{
    IbHca *hca = qp->hca;
    IbHcaPort *port = rx->port;
    uint8_t sl = ib_lrh_sl(rx->data);
    int64_t now = hca->ops->now(hca->opaque);
    IbCcReaction how;
    IbFlow *flow;
    unsigned before;

    if (qp->port != port || !port->cc) {
        return;
    }
    ib_node_cc_reaction(hca->node, port->num, sl, &how);
    if (!how.on) {
        return;
    }
    flow = ib_flow_of(qp, sl, &how);
    ib_flow_age(flow, &how, now);
    before = flow->ccti;
    if (before == how.min) {
        flow->since = now;
    }
    flow->ccti = MAX(before, MIN(before + how.increase, how.limit));
    if (how.trigger && before < how.trigger && flow->ccti >= how.trigger) {
        ib_node_cc_throttled(hca->node, port->num, &(IbCcThrottled) {
            .qpn = qp->qpn, .remote_qpn = qp->attr.dest_qpn & IB_QPN_MASK,
            .sl = sl, .service = rx->info.opcode >> 5, .lid = rx->dlid,
            .remote_lid = rx->slid,
        });
    }
}

/* ------------------------------------------------------------------ answers */

/* Tell the sender of @rx; without room on the port nobody is told. */
static void ib_send_cnp(IbQp *qp, const IbRx *rx)
{
    IbHcaPort *port = rx->port;
    const IbPacketInfo *info = &rx->info;
    bool crc = ib_link_config(port->link)->crc;
    IbPacketRoute route = {
        .sl = ib_lrh_sl(rx->data), .dlid = rx->slid, .slid = rx->dlid,
        .has_grh = info->grh, .hop_limit = IB_CNP_HOP_LIMIT,
    };
    IbPacketBth bth = {
        .opcode = IB_OP_CNP, .becn = true,
        .pkey = ib_node_pkey(port->hca->node, port->num, rx->pkey_index),
        .dest_qpn = info->deth
                    ? ib_field_get(rx->data + info->deth, IB_DETH_SQPN)
                    : qp->attr.dest_qpn & IB_QPN_MASK,
    };
    size_t len, at;
    uint8_t *buf;

    route.vl = ib_port_vl(port, route.sl);
    if (rx->own || route.vl == IB_VL_SM ||
        !ib_link_tx_allowed(port->link, route.vl)) {
        return;
    }
    if (info->grh) {
        memcpy(route.sgid, rx->data + info->grh + IB_GRH_DGID_OFFSET,
               IB_GID_BYTES);
        memcpy(route.dgid, rx->data + info->grh + IB_GRH_SGID_OFFSET,
               IB_GID_BYTES);
    }
    len = ib_packet_bytes(route.has_grh, bth.opcode, IB_CNP_PAYLOAD);
    buf = ib_link_tx_begin(port->link, route.vl, len);
    if (!buf) {
        return;
    }
    at = ib_packet_put_headers(buf, &route, &bth, IB_CNP_PAYLOAD);
    memset(buf + at, 0, IB_CNP_PAYLOAD);
    ib_packet_seal(buf, crc);
    if (port->hca->trace) {
        port->hca->ops->trace_packet(port->hca->opaque, port->num, true,
                                     qp->qpn, NULL, buf, len);
    }
    ib_link_tx_end(port->link, crc ? 0 : IB_PACKET_NO_ICRC);
    port->dirty = true;
}

void ib_throttle_receive(IbQp *qp, const IbRx *rx)
{
    const uint8_t *bth = rx->data + rx->info.bth;

    if (ib_field_get(bth, IB_BTH_BECN)) {
        ib_take_becn(qp, rx);
    }
    if (ib_field_get(bth, IB_BTH_FECN)) {
        if (qp->rc && qp->attr.type != IB_QPT_UC &&
            ib_field_get(bth, IB_BTH_A)) {
            qp->owes_becn = true;
        } else if (qp->rc || rx->info.deth) {
            ib_send_cnp(qp, rx);
        }
    }
}

/* ------------------------------------------------------------------ waiting */

bool ib_throttle_wait(IbQp *qp, uint8_t sl)
{
    IbHca *hca = qp->hca;
    int64_t at = qp->send_at;
    IbCcReaction how;

    if (qp->port->cc) {
        ib_node_cc_reaction(hca->node, qp->port->num, sl, &how);
        if (how.on) {
            at = MAX(at, ib_flow_of(qp, sl, &how)->send_at);
        }
    }
    if (at <= hca->ops->now(hca->opaque)) {
        return false;
    }
    ib_qp_list_remove(qp);
    ib_qp_list_append(&hca->paced, qp);
    ib_qp_set_wake(qp, at);
    return true;
}

void ib_throttle_sent(IbQp *qp, uint8_t static_rate, uint8_t sl,
                      uint32_t bytes)
{
    IbHca *hca = qp->hca;
    IbHcaPort *port = qp->port;
    uint64_t rate = ib_port_rate(port), limit = 0;
    int64_t now = hca->ops->now(hca->opaque), ns;
    IbCcReaction how;
    uint16_t entry;
    IbFlow *flow;

    if (static_rate < G_N_ELEMENTS(ib_static_rates)) {
        limit = ib_static_rates[static_rate] * UINT64_C(1000000);
    }
    if (limit && limit < rate) {
        ib_push_back(&qp->send_at, now, ib_time_of(bytes, limit));
    }
    if (!port->cc) {
        return;
    }
    ib_node_cc_reaction(hca->node, port->num, sl, &how);
    if (!how.on) {
        return;
    }
    flow = ib_flow_of(qp, sl, &how);
    ib_flow_age(flow, &how, now);
    entry = ib_node_cc_table(hca->node, port->num, flow->ccti);
    if (entry & 0x3fff) {
        ns = ib_time_of(bytes, rate);
        ib_push_back(&flow->send_at, now,
                     ns + (ns * (entry & 0x3fff) >> (entry >> 14)));
    }
}
