/*
 * A channel adapter that no VM stands for: agents behind QP0 and QP1
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * It has no other queue pairs: what is for one is silently dropped, as an
 * adapter does with a QP that is not in use (IBA Vol.1 9.6.1.1.2).
 */
#include "fabric-int.h"

#define PACKET_MAX  (IB_MAD_BYTES + IB_LINK_HEADER_BYTES)

/* A MAD and what its answer needs besides. */
typedef struct Request {
    IbFabricMad mad;
    uint16_t pkey;
    bool has_grh;
    uint8_t grh[IB_GRH_BYTES];
} Request;

static void put_grh(IbUnit *unit, uint8_t port, const Request *request,
                    IbPacketRoute *route)
{
    const uint8_t *grh = request->grh;

    route->has_grh = true;
    route->tclass = ib_field_get(grh, IB_GRH_TCLASS);
    route->flow_label = ib_field_get(grh, IB_GRH_FLOWLABEL);
    route->hop_limit = 0xff;
    memcpy(route->dgid, grh + IB_GRH_SGID_OFFSET, IB_GID_BYTES);
    ib_put_be64(route->sgid, ib_node_gid_prefix(unit->node, port));
    ib_put_be64(route->sgid + 8, ib_node_guid(unit->node, port, 0));
}

/* @request: what @mad answers, or NULL. */
static void send_packet(IbUnit *unit, uint8_t port, const IbFabricMad *mad,
                        const Request *request)
{
    bool smp = mad->dest_qpn == IB_QPN_SMI;
    uint8_t buf[PACKET_MAX] = { 0 };
    IbPacketRoute route = {
        .vl = IB_VL_SM,
        .sl = mad->sl,
        .slid = mad->slid,
        .dlid = mad->dlid,
    };
    IbPacketBth bth = {
        .opcode = IB_OP_UD_SEND_ONLY,
        .pkey = IB_PKEY_DEFAULT,
        .dest_qpn = mad->dest_qpn,
    };
    /* A cable with crc=on has its ICRC computed when it comes there. */
    IbPacket packet = { .data = buf, .flags = IB_PACKET_NO_ICRC };
    size_t at;

    if (!smp) {
        route.vl = ib_node_sl2vl(unit->node, 0, port)[mad->sl];
        if (route.vl == IB_VL_SM) {
            return;
        }
        bth.pkey = request ? request->pkey
                           : ib_node_pkey(unit->node, port, 0);
        if (request && request->has_grh) {
            put_grh(unit, port, request, &route);
        }
    }
    at = ib_packet_put_ud(buf, &route, &bth, smp ? 0 : IB_QKEY_WELL_KNOWN,
                          mad->src_qpn, 0, IB_MAD_BYTES);
    memcpy(buf + at, mad->data, IB_MAD_BYTES);
    packet.len = ib_packet_seal(buf, false);
    ib_link_transmit(unit->ends[port].link, &packet, route.vl);
    ib_link_flush(unit->ends[port].link);
}

static void reply_to(const IbFabricMad *mad, IbFabricMad *reply)
{
    reply->node = mad->node;
    reply->port = mad->port;
    reply->sl = mad->sl;
    reply->slid = mad->dlid;
    reply->dlid = mad->slid;
    reply->src_qpn = mad->dest_qpn;
    reply->dest_qpn = mad->src_qpn;
}

/* @reply has the answer to @request, which came in at its port. */
static void send_reply(IbUnit *unit, const Request *request,
                       IbFabricMad *reply)
{
    const IbFabricMad *mad = &request->mad;
    IbSmiResult smi;

    reply_to(mad, reply);
    if (ib_field_get(mad->data, IB_MAD_MGMT_CLASS) ==
        IB_CLASS_SUBN_DIRECTED_ROUTE) {
        smi = ib_smi_reply(unit->node, mad->port, mad->slid, reply->data);
        if (smi.action != IB_SMI_FORWARD) {
            return;
        }
        reply->slid = smi.slid;
        reply->dlid = smi.dlid;
    } else if (!ib_lid_is_unicast(reply->slid)) {
        reply->slid = ib_node_lid(unit->node, mad->port);
    }
    send_packet(unit, mad->port, reply, request);
}

/* What the CA's own agents say; false: nothing. */
static bool answer(IbUnit *unit, const IbFabricMad *mad, IbFabricMad *reply)
{
    if (ib_field_get(mad->data, IB_MAD_MGMT_CLASS) == IB_CLASS_PING &&
        ib_field_get(mad->data, IB_MAD_METHOD) == IB_METHOD_GET) {
        memcpy(reply->data, mad->data, IB_MAD_BYTES);
        ib_field_set(reply->data, IB_MAD_METHOD, IB_METHOD_GET_RESP);
        return true;
    }
    if (ib_node_is_for_manager(unit->node, mad->data) &&
        ib_unit_give(unit, mad)) {
        return false;
    }
    return ib_node_process_mad(unit->node, mad->port, mad->slid, 0,
                               mad->data, reply->data) == IB_MAD_REPLY;
}

/* Is the packet for this port, and what is a GMP's key worth? */
static bool own_lid(const IbUnit *unit, uint8_t port, uint16_t dlid)
{
    uint16_t lid = ib_node_lid(unit->node, port);

    return dlid == IB_LID_PERMISSIVE ||
           (lid && dlid >> ib_node_lmc(unit->node, port) ==
                   lid >> ib_node_lmc(unit->node, port));
}

static void bad_key(IbUnit *unit, const IbPacket *packet,
                    const IbPacketInfo *info, const Request *request,
                    bool pkey)
{
    uint8_t port = request->mad.port;
    IbKeyViolation violation = {
        .key = pkey ? request->pkey
                    : ib_field_get(packet->data + info->deth, IB_DETH_QKEY),
        .slid = request->mad.slid,
        .dlid = request->mad.dlid,
        .sl = request->mad.sl,
        .src_qpn = request->mad.src_qpn,
        .dest_qpn = request->mad.dest_qpn,
        .has_grh = request->has_grh,
    };

    memcpy(violation.sgid, request->grh + IB_GRH_SGID_OFFSET, IB_GID_BYTES);
    memcpy(violation.dgid, request->grh + IB_GRH_DGID_OFFSET, IB_GID_BYTES);
    if (pkey) {
        ib_node_pkey_violation(unit->node, port);
    } else {
        ib_node_qkey_violation(unit->node, port);
    }
    ib_node_key_trap(unit->node, port,
                     pkey ? IB_TRAP_BAD_P_KEY : IB_TRAP_BAD_Q_KEY,
                     &violation);
}

static bool keys_ok(IbUnit *unit, const IbPacket *packet,
                    const IbPacketInfo *info, const Request *request)
{
    bool smp = request->mad.dest_qpn == IB_QPN_SMI;

    if (!smp && ib_node_pkey_match(unit->node, request->mad.port,
                                   request->pkey) < 0) {
        bad_key(unit, packet, info, request, true);
        return false;
    }
    if (ib_field_get(packet->data + info->deth, IB_DETH_QKEY) !=
        (smp ? 0 : IB_QKEY_WELL_KNOWN)) {
        bad_key(unit, packet, info, request, false);
        return false;
    }
    return true;
}

bool ib_fabric_mad(const IbPacket *packet, IbPacketInfo *info,
                   IbFabricMad *mad)
{
    const uint8_t *data = packet->data;

    if (ib_packet_parse(data, packet->len, info) != IB_PACKET_OK ||
        info->opcode != IB_OP_UD_SEND_ONLY ||
        info->payload_len != IB_MAD_BYTES) {
        return false;
    }
    mad->slid = ib_lrh_slid(data);
    mad->dlid = ib_lrh_dlid(data);
    mad->sl = ib_lrh_sl(data);
    mad->dest_qpn = ib_field_get(data + info->bth, IB_BTH_DQPN);
    mad->src_qpn = ib_field_get(data + info->deth, IB_DETH_SQPN);
    memcpy(mad->data, data + info->payload, IB_MAD_BYTES);
    return true;
}

static void ca_receive(void *opaque, IbPacket *packet)
{
    IbEnd *end = opaque;
    IbUnit *unit = end->timer.unit;
    Request request = {
        .mad = { .node = unit->index, .port = end->timer.port },
    };
    IbFabricMad *mad = &request.mad;
    IbFabricMad reply = { 0 };
    IbPacketInfo info;
    IbSmiResult smi;
    bool smp;

    if (!ib_fabric_mad(packet, &info, mad) ||
        !own_lid(unit, mad->port, mad->dlid)) {
        return;
    }
    smp = mad->dest_qpn == IB_QPN_SMI;
    if ((packet->vl == IB_VL_SM) != smp ||
        (!smp && mad->dest_qpn != IB_QPN_GSI) ||
        ib_mad_is_smp(mad->data) != smp || (smp && info.grh)) {
        return;
    }
    request.pkey = ib_field_get(packet->data + info.bth, IB_BTH_PKEY);
    if (info.grh) {
        request.has_grh = true;
        memcpy(request.grh, packet->data + info.grh, IB_GRH_BYTES);
    }
    if (!keys_ok(unit, packet, &info, &request)) {
        return;
    }
    if (ib_field_get(mad->data, IB_MAD_MGMT_CLASS) ==
        IB_CLASS_SUBN_DIRECTED_ROUTE) {
        smi = ib_smi_process(unit->node, mad->port, mad->data);
        if (smi.action != IB_SMI_LOCAL) {
            return;
        }
    }
    if (answer(unit, mad, &reply)) {
        send_reply(unit, &request, &reply);
    }
}

/* Or is the first part of its way LID-routed (14.2.2)? */
static bool starts_directed(const uint8_t *smp)
{
    uint16_t lid = ib_field_get(smp, IB_SMP_D)
                   ? ib_field_get(smp, IB_SMP_DR_DLID)
                   : ib_field_get(smp, IB_SMP_DR_SLID);

    return lid == IB_LID_PERMISSIVE;
}

void ib_endpoint_send(IbUnit *unit, const IbFabricMad *in)
{
    IbFabricMad mad = *in;
    IbFabricMad reply = { 0 };
    uint8_t port = in->port;
    bool local = own_lid(unit, port, in->dlid);
    IbSmiResult smi;

    mad.slid = ib_node_lid(unit->node, port);
    if (ib_field_get(mad.data, IB_MAD_MGMT_CLASS) ==
        IB_CLASS_SUBN_DIRECTED_ROUTE && starts_directed(mad.data)) {
        smi = ib_smi_process(unit->node, 0, mad.data);
        if (smi.action == IB_SMI_DISCARD) {
            return;
        }
        local = smi.action == IB_SMI_LOCAL;
        if (!local) {
            port = smi.out_port;
            mad.slid = smi.slid;
            mad.dlid = smi.dlid;
        }
    }
    if (!local) {
        send_packet(unit, port, &mad, NULL);
    } else if (answer(unit, &mad, &reply)) {
        reply_to(&mad, &reply);
        ib_unit_give(unit, &reply);
    }
}

/* ------------------------------------------------------ links and agents */

static int64_t end_now(void *opaque)
{
    return ib_unit_now(((IbEnd *)opaque)->timer.unit);
}

static uint32_t end_random(void *opaque)
{
    return ib_unit_random(((IbEnd *)opaque)->timer.unit);
}

static void end_set_timer(void *opaque, int64_t deadline)
{
    ib_end_set_timer(opaque, deadline);
}

static IbCableResult end_send_frame(void *opaque, const uint8_t *frame,
                                    size_t len)
{
    return ib_end_send(opaque, frame, len);
}

static void end_state_changed(void *opaque, uint8_t old_state,
                              uint8_t new_state)
{
    IbEnd *end = opaque;

    if (end->timer.unit->node) {
        ib_node_port_state_changed(end->timer.unit->node, end->timer.port);
    }
}

static void end_tap(void *opaque, bool tx, const uint8_t *packet, size_t len,
                    uint16_t vcrc)
{
    ib_end_tap(opaque, tx, packet, len, vcrc);
}

static const IbLinkOps end_ops = {
    .now = end_now,
    .random = end_random,
    .set_timer = end_set_timer,
    .send_frame = end_send_frame,
    .receive = ca_receive,
    .state_changed = end_state_changed,
    .tap = end_tap,
};

static int64_t node_now(void *opaque)
{
    return ib_unit_now(opaque);
}

static void node_set_timer(void *opaque, int64_t deadline)
{
    IbUnit *unit = opaque;

    ib_timers_set(&unit->fabric->timers, &unit->timer, deadline);
}

static void node_send_smp(void *opaque, uint8_t port, const uint8_t *mad,
                          uint16_t dlid, uint8_t sl)
{
    IbUnit *unit = opaque;
    IbFabricMad smp = {
        .node = unit->index, .port = port, .sl = sl, .dlid = dlid,
    };

    memcpy(smp.data, mad, IB_MAD_BYTES);
    ib_endpoint_send(unit, &smp);
}

static void node_changed(void *opaque, uint8_t port, uint32_t what)
{
}

static const IbNodeOps node_ops = {
    .now = node_now,
    .set_timer = node_set_timer,
    .send_smp = node_send_smp,
    .changed = node_changed,
};

void ib_endpoint_init(IbUnit *unit, const IbTopologyNode *node)
{
    g_autofree IbLink **links = g_new0(IbLink *, node->num_ports + 1);
    IbNodeConfig config = {
        .node_type = node->type,
        .num_ports = node->num_ports,
        .system_guid = node->system_guid,
        .node_guid = node->node_guid,
        .port_guid = node->port_guid,
        .vendor_id = node->vendor_id,
        .device_id = node->device_id,
        .pkey_cap = 32,
        .guid_cap = 8,
        .capability_mask = IB_NODE_CAPABILITY_MASK,
    };
    unsigned p;

    memcpy(config.description, node->description,
           MIN(strlen(node->description), sizeof(config.description)));
    for (p = 1; p <= node->num_ports; p++) {
        IbLinkConfig link = ib_fabric_link_config(node, p);

        links[p] = ib_link_new(&link, &end_ops, &unit->ends[p]);
        unit->ends[p].link = links[p];
    }
    unit->node = ib_node_new(&config, &node_ops, unit, NULL, links);
}

void ib_endpoint_free(IbUnit *unit)
{
    IbNode *node = unit->node;
    unsigned p;

    unit->node = NULL;            /* links that go down tell nobody */
    for (p = 1; p <= unit->num_ports; p++) {
        ib_link_free(unit->ends[p].link);
    }
    ib_node_free(node);
}
