/*
 * A fabric for unit tests: hosts and what they send; see ib-fabric.h
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ib-fabric-int.h"

/* ----------------------------------------------------------------- hosts */

static int64_t host_now(void *opaque)
{
    return ((FabricHost *)opaque)->end.fabric->now;
}

static uint32_t host_random(void *opaque)
{
    return fabric_random(((FabricHost *)opaque)->end.fabric);
}

static void host_set_timer(void *opaque, int64_t deadline)
{
    ((FabricHost *)opaque)->end.deadline = deadline;
}

static void host_set_node_timer(void *opaque, int64_t deadline)
{
    ((FabricHost *)opaque)->node_deadline = deadline;
}

static IbCableResult host_send_frame(void *opaque, const uint8_t *frame,
                                     size_t len)
{
    return fabric_end_send_frame(&((FabricHost *)opaque)->end, frame, len);
}

/* An SMP for the host's own agent: answered, true. */
static bool host_answer(FabricHost *host, const IbPacket *packet)
{
    IbPacketInfo info;
    uint8_t smp[256], reply[256];
    IbSmiResult smi;
    FabricUd ud = { .vl = 15, .payload_len = 256, .payload = reply };

    if (packet->vl != IB_VL_SM ||
        ib_packet_parse(packet->data, packet->len, &info) != IB_PACKET_OK ||
        info.payload_len != 256) {
        return false;
    }
    memcpy(smp, packet->data + info.payload, 256);
    if (ib_field_get(smp, IB_MAD_METHOD) & 0x80 ||
        (ib_field_get(smp, IB_MAD_METHOD) != IB_METHOD_GET &&
         ib_field_get(smp, IB_MAD_METHOD) != IB_METHOD_SET)) {
        return false;
    }
    ud.slid = ib_lrh_dlid(packet->data);
    ud.dlid = ib_lrh_slid(packet->data);
    if (ib_field_get(smp, IB_MAD_MGMT_CLASS) ==
        IB_CLASS_SUBN_DIRECTED_ROUTE) {
        smi = ib_smi_process(host->node, 1, smp);
        if (smi.action != IB_SMI_LOCAL) {
            return true;
        }
    }
    if (ib_node_process_mad(host->node, 1, ud.dlid, 0, smp, reply) !=
        IB_MAD_REPLY) {
        return true;
    }
    if (ib_field_get(smp, IB_MAD_MGMT_CLASS) ==
        IB_CLASS_SUBN_DIRECTED_ROUTE) {
        smi = ib_smi_reply(host->node, 1, ud.dlid, reply);
        if (smi.action != IB_SMI_FORWARD) {
            return true;
        }
        ud.slid = smi.slid;
        ud.dlid = smi.dlid;
    }
    fabric_send(host, &ud);
    return true;
}

static void host_receive(void *opaque, IbPacket *packet)
{
    FabricHost *host = opaque;
    FabricPacket *p;

    if (host_answer(host, packet)) {
        return;
    }
    if (host->receive) {
        host->receive(host, packet);
    } else {
        p = g_new0(FabricPacket, 1);
        p->data = g_malloc(packet->len);
        memcpy(p->data, packet->data, packet->len);
        p->len = packet->len;
        p->vl = packet->vl;
        p->flags = packet->flags;
        g_ptr_array_add(host->packets, p);
    }
    if (host->slow_ns && packet->vl != IB_VL_SM) {
        IbPacket *held = g_new(IbPacket, 1);

        ib_packet_hold(packet);
        *held = *packet;
        g_queue_push_tail(&host->slow, held);
        if (host->next_release == INT64_MAX) {
            host->next_release = host->end.fabric->now + host->slow_ns;
        }
    }
}

void fabric_host_release(FabricHost *host)
{
    IbPacket *held = g_queue_pop_head(&host->slow);

    if (held) {
        ib_packet_release(held);
        g_free(held);
    }
    host->next_release = g_queue_is_empty(&host->slow)
                         ? INT64_MAX : host->end.fabric->now + host->slow_ns;
}

static void host_receive_end(void *opaque)
{
    ib_link_flush(((FabricHost *)opaque)->end.link);
}

static void host_state_changed(void *opaque, uint8_t old_state,
                               uint8_t new_state)
{
}

static void host_changed(void *opaque, uint8_t port, uint32_t what)
{
}

static const IbLinkOps host_link_ops = {
    .now = host_now,
    .random = host_random,
    .set_timer = host_set_timer,
    .send_frame = host_send_frame,
    .receive = host_receive,
    .receive_end = host_receive_end,
    .state_changed = host_state_changed,
};

static const IbNodeOps host_node_ops = {
    .now = host_now,
    .set_timer = host_set_node_timer,
    .changed = host_changed,
};

static void packet_free(void *opaque)
{
    FabricPacket *p = opaque;

    g_free(p->data);
    g_free(p);
}

FabricHost *fabric_add_host(Fabric *f)
{
    FabricHost *host = g_new0(FabricHost, 1);
    uint64_t guid = UINT64_C(0x0002c90300001000) + 0x100 * f->nodes++;
    IbLinkConfig link = fabric_link_config();
    IbNodeConfig node = {
        .node_type = IB_NODE_TYPE_CA,
        .num_ports = 1,
        .system_guid = guid,
        .node_guid = guid,
        .port_guid = guid + 1,
        .vendor_id = 0x0002c9,
        .device_id = 0x1003,
        .pkey_cap = 32,
        .guid_cap = 8,
        .capability_mask = IB_NODE_CAPABILITY_MASK,
    };
    IbLink *links[2] = { NULL };

    link.guid = guid;
    link.port_num = 1;
    if (f->host_vls) {
        link.vl_cap = f->host_vls;
    }
    host->end.host = host;
    host->end.fabric = f;
    host->node_deadline = INT64_MAX;
    host->next_release = INT64_MAX;
    host->packets = g_ptr_array_new_with_free_func(packet_free);
    g_queue_init(&host->slow);
    links[1] = ib_link_new(&link, &host_link_ops, host);
    fabric_end_init(&host->end, f, links[1], 1);
    host->node = ib_node_new(&node, &host_node_ops, host, NULL, links);
    g_ptr_array_add(f->hosts, host);
    return host;
}

/* --------------------------------------------------------------- packets */

size_t fabric_build(uint8_t *buf, const FabricUd *ud)
{
    IbPacketRoute route = {
        .vl = ud->vl,
        .sl = ud->sl,
        .dlid = ud->dlid,
        .slid = ud->slid,
        .has_grh = ud->sgid != NULL,
        .hop_limit = 1,
    };
    IbPacketBth bth = {
        .opcode = ud->opcode ?: IB_OP_UD_SEND_ONLY,
        .pkey = ud->pkey ?: IB_PKEY_DEFAULT,
        .dest_qpn = ud->dest_qpn,
        .psn = 1,
    };
    size_t at;

    if (ud->sgid) {
        memcpy(route.sgid, ud->sgid, 16);
        memcpy(route.dgid, ud->dgid, 16);
    }
    memset(buf, 0, ib_packet_bytes(route.has_grh, bth.opcode,
                                   ud->payload_len));
    if (bth.opcode == IB_OP_UD_SEND_ONLY) {
        at = ib_packet_put_ud(buf, &route, &bth, ud->qkey, ud->src_qpn, 0,
                              ud->payload_len);
    } else {
        at = ib_packet_put_headers(buf, &route, &bth, ud->payload_len) +
             ib_opcode_info[bth.opcode].ext_bytes;
    }
    if (ud->payload) {
        memcpy(buf + at, ud->payload, ud->payload_len);
    }
    return ib_packet_seal(buf, true);
}

size_t fabric_build_raw(uint8_t *buf, uint16_t slid, uint16_t dlid,
                        size_t len)
{
    memset(buf, 0, len);
    ib_field_set(buf, IB_LRH_LNH, IB_LNH_RAW);
    ib_field_set(buf, IB_LRH_DLID, dlid);
    ib_field_set(buf, IB_LRH_PKTLEN, len / 4);
    ib_field_set(buf, IB_LRH_SLID, slid);
    ib_field_set(buf + IB_LRH_BYTES, IB_RWH_ETHERTYPE, 0x0800);
    return len;
}

IbTxResult fabric_send_bytes(FabricHost *host, const uint8_t *data,
                             size_t len, uint8_t vl)
{
    IbPacket packet = { .data = data, .len = len, .vl = vl };
    IbTxResult result = ib_link_transmit(host->end.link, &packet, vl);

    ib_link_flush(host->end.link);
    return result;
}

IbTxResult fabric_send(FabricHost *host, const FabricUd *ud)
{
    uint8_t buf[FABRIC_PACKET_MAX];

    return fabric_send_bytes(host, buf, fabric_build(buf, ud), ud->vl);
}

const FabricPacket *fabric_packet(const FabricHost *host, unsigned n)
{
    return n < host->packets->len ? g_ptr_array_index(host->packets, n)
                                  : NULL;
}

void fabric_forget(FabricHost *host)
{
    g_ptr_array_set_size(host->packets, 0);
}
