/*
 * The packet door: what came from the cable, or back from the adapter itself
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Header validation of IBA Vol.1 9.6.1, in its order: malformed headers, LIDs,
 * GRH, destination QP, its state and service, P_Key, Q_Key.  A packet that
 * fails is dropped without a word to its sender; keys that do not fit are
 * told to the node, which counts them and sends the traps.
 */
#include "rc.h"

static const char *const ib_discard_names[IB_DISCARDS] = {
    [IB_DISCARD_MALFORMED] = "malformed headers",
    [IB_DISCARD_RAW] = "raw packet",
    [IB_DISCARD_ICRC] = "bad ICRC",
    [IB_DISCARD_DLID] = "DLID is not ours",
    [IB_DISCARD_VL15] = "QP0 and VL15 do not meet",
    [IB_DISCARD_DGID] = "DGID is not ours",
    [IB_DISCARD_NO_QP] = "no such QP",
    [IB_DISCARD_QP_STATE] = "QP not ready to receive",
    [IB_DISCARD_SERVICE] = "opcode of another service",
    [IB_DISCARD_PKEY] = "P_Key mismatch",
    [IB_DISCARD_QKEY] = "Q_Key mismatch",
    [IB_DISCARD_NO_RECV] = "no receive entry",
    [IB_DISCARD_NO_MEMBER] = "no member of the multicast group",
    [IB_DISCARD_PSN] = "PSN out of sequence",
    [IB_DISCARD_LENGTH] = "length does not suit opcode and MTU",
    [IB_DISCARD_TX_SL] = "SL maps to no VL",
    [IB_DISCARD_TX_PORT] = "port state does not let it send",
    [IB_DISCARD_TX_MTU] = "over NeighborMTU",
    [IB_DISCARD_TX_PKEY] = "P_Key table entry is invalid",
};

const char *ib_hca_discard_str(IbHcaDiscard reason)
{
    return reason < IB_DISCARDS ? ib_discard_names[reason] : "unknown";
}

uint64_t ib_hca_discards(const IbHca *hca, IbHcaDiscard reason)
{
    return hca->discards[reason];
}

void ib_hca_discard(IbHcaPort *port, bool tx, uint32_t qpn, IbHcaDiscard why,
                    const uint8_t *packet, size_t len)
{
    IbHca *hca = port->hca;

    hca->discards[why]++;
    if (tx) {
        ib_link_counters(port->link)->xmit_discards++;
    }
    if (hca->trace) {
        hca->ops->trace_packet(hca->opaque, port->num, tx, qpn,
                               ib_discard_names[why], packet, len);
    }
}

void ib_rx_discard(const IbRx *rx, IbHcaDiscard why)
{
    ib_hca_discard(rx->port, false, rx->dqpn, why, rx->data, rx->info.len);
}

/* IBA Vol.1 9.6.1.2: a unicast DGID is one of the port's GIDs. */
static bool ib_rx_dgid_ok(const IbRx *rx)
{
    const IbNode *node = rx->port->hca->node;
    const uint8_t *dgid = rx->data + rx->info.grh + IB_GRH_DGID_OFFSET;
    uint64_t prefix = ib_get_be64(dgid), guid = ib_get_be64(dgid + 8);
    unsigned i;

    if (prefix != ib_node_gid_prefix(node, rx->port->num) &&
        prefix != IB_GID_PREFIX_DEFAULT) {
        return false;
    }
    for (i = 0; i < ib_node_config(node)->guid_cap; i++) {
        if (guid && guid == ib_node_guid(node, rx->port->num, i)) {
            return true;
        }
    }
    return false;
}

/* IBA Vol.1 10.9.8: QP0 none, QP1 any of the table, others their own. */
static bool ib_rx_pkey_ok(IbRx *rx, const IbQp *qp)
{
    const IbNode *node = rx->port->hca->node;
    int index;

    switch (qp->attr.type) {
    case IB_QPT_SMI:
        rx->pkey_index = 0;
        return true;
    case IB_QPT_GSI:
        index = ib_node_pkey_match(node, rx->port->num, rx->pkey);
        rx->pkey_index = MAX(index, 0);
        return index >= 0;
    default:
        rx->pkey_index = qp->attr.pkey_index;
        return ib_pkey_match(ib_node_pkey(node, rx->port->num,
                                          rx->pkey_index), rx->pkey);
    }
}

static bool ib_rx_qkey_ok(const IbRx *rx, const IbQp *qp)
{
    uint32_t qkey = ib_field_get(rx->data + rx->info.deth, IB_DETH_QKEY);

    switch (qp->attr.type) {
    case IB_QPT_SMI:
        return true;
    case IB_QPT_GSI:
        return qkey == IB_QKEY_WELL_KNOWN;
    default:
        return qkey == qp->attr.qkey;
    }
}

static bool ib_rx_state_ok(const IbQp *qp)
{
    switch (qp->state) {
    case IB_QPS_RTR:
    case IB_QPS_RTS:
    case IB_QPS_SQD:
    case IB_QPS_SQE:
        return true;
    default:
        return false;
    }
}

static bool ib_rx_service_ok(const IbRx *rx, const IbQp *qp)
{
    uint8_t service = rx->info.opcode & IB_SERVICE_MASK;

    if (service == IB_SERVICE_CNP) {
        return qp->attr.type != IB_QPT_SMI && qp->attr.type != IB_QPT_GSI;
    }
    switch (qp->attr.type) {
    case IB_QPT_RC:
        return service == IB_SERVICE_RC || service == IB_SERVICE_MFR;
    case IB_QPT_UC:
        return service == IB_SERVICE_UC;
    case IB_QPT_XRC_INI:
    case IB_QPT_XRC_TGT:
        return service == IB_SERVICE_XRC;
    default:
        return service == IB_SERVICE_UD;
    }
}

/* Count a bad key and let the node tell the SM. */
static void ib_rx_bad_key(const IbRx *rx, uint16_t trap, uint32_t key)
{
    IbNode *node = rx->port->hca->node;
    const IbPacketInfo *info = &rx->info;
    IbKeyViolation violation = {
        .key = key,
        .slid = rx->slid, .dlid = rx->dlid,
        .sl = ib_lrh_sl(rx->data),
        .dest_qpn = rx->dqpn,
        .has_grh = info->grh,
    };

    if (info->deth) {
        violation.src_qpn = ib_field_get(rx->data + info->deth, IB_DETH_SQPN);
    }
    if (info->grh) {
        memcpy(violation.sgid, rx->data + info->grh + IB_GRH_SGID_OFFSET,
               IB_GID_BYTES);
        memcpy(violation.dgid, rx->data + info->grh + IB_GRH_DGID_OFFSET,
               IB_GID_BYTES);
    }
    if (trap == IB_TRAP_BAD_P_KEY) {
        ib_rx_discard(rx, IB_DISCARD_PKEY);
        ib_node_pkey_violation(node, rx->port->num);
    } else {
        ib_rx_discard(rx, IB_DISCARD_QKEY);
        ib_node_qkey_violation(node, rx->port->num);
    }
    ib_node_key_trap(node, rx->port->num, trap, &violation);
}

static void ib_rx_deliver(IbRx *rx, IbQp *qp)
{
    IbHca *hca = rx->port->hca;

    if (!ib_rx_state_ok(qp)) {
        ib_rx_discard(rx, IB_DISCARD_QP_STATE);
        return;
    }
    if (!ib_rx_service_ok(rx, qp)) {
        ib_rx_discard(rx, IB_DISCARD_SERVICE);
        return;
    }
    if (!ib_rx_pkey_ok(rx, qp)) {
        ib_rx_bad_key(rx, IB_TRAP_BAD_P_KEY, rx->pkey);
        return;
    }
    if (rx->info.deth && !ib_rx_qkey_ok(rx, qp)) {
        ib_rx_bad_key(rx, IB_TRAP_BAD_Q_KEY,
                      ib_field_get(rx->data + rx->info.deth, IB_DETH_QKEY));
        return;
    }
    if (hca->trace) {
        hca->ops->trace_packet(hca->opaque, rx->port->num, false, qp->qpn,
                               NULL, rx->data, rx->info.len);
    }
    if (G_UNLIKELY(ib_field_get(rx->data + rx->info.bth, IB_BTH_FECN) |
                   ib_field_get(rx->data + rx->info.bth, IB_BTH_BECN))) {
        ib_throttle_receive(qp, rx);
    }
    if (rx->info.opcode == IB_OP_CNP) {
        return;
    }
    if (qp->rc) {
        ib_rc_receive(qp, rx);
    } else {
        ib_ud_receive(qp, rx);
    }
}

typedef struct IbRxMulticast {
    IbRx *rx;
    unsigned members;
} IbRxMulticast;

/*
 * One member of the group.  A key that does not fit means "not for you" here,
 * no violation: the QPs of a group may differ.
 */
static void ib_rx_member(void *arg, uint32_t qpn)
{
    IbRxMulticast *multicast = arg;
    IbRx *rx = multicast->rx;
    IbQp *qp = ib_hca_find_qp(rx->port->hca, qpn);

    if (!qp || qp->port != rx->port || !ib_rx_state_ok(qp) ||
        !ib_rx_service_ok(rx, qp) || !ib_rx_pkey_ok(rx, qp) ||
        !ib_rx_qkey_ok(rx, qp)) {
        return;
    }
    multicast->members++;
    ib_ud_receive(qp, rx);
}

static void ib_rx_multicast(IbRx *rx)
{
    IbHca *hca = rx->port->hca;
    const uint8_t *dgid = rx->data + rx->info.grh + IB_GRH_DGID_OFFSET;
    IbRxMulticast multicast = { .rx = rx };

    if (!rx->info.grh || !rx->info.deth || dgid[0] != 0xff ||
        rx->dqpn != IB_QPN_MULTICAST) {
        ib_rx_discard(rx, IB_DISCARD_DGID);
        return;
    }
    hca->ops->multicast(hca->opaque, rx->port->num, dgid, rx->own,
                        ib_rx_member, &multicast);
    if (!multicast.members) {
        ib_rx_discard(rx, IB_DISCARD_NO_MEMBER);
    } else if (hca->trace) {
        hca->ops->trace_packet(hca->opaque, rx->port->num, false, rx->dqpn,
                               NULL, rx->data, rx->info.len);
    }
}

/* The first packet on the alternate path of a QP that is armed for it. */
static bool ib_rx_migrates(const IbRx *rx, const IbQp *qp)
{
    return qp->rc && qp->attr.path_mig_state == IB_PATH_ARMED &&
           qp->attr.alt_port == rx->port->num &&
           ib_field_get(rx->data + rx->info.bth, IB_BTH_M);
}

static void ib_rx_unicast(IbRx *rx)
{
    IbQp *qp;

    if (rx->dqpn <= IB_QPN_GSI) {
        qp = rx->port->special[rx->dqpn];
    } else {
        qp = ib_hca_find_qp(rx->port->hca, rx->dqpn);
        if (qp && (qp->attr.type == IB_QPT_SMI ||
                   qp->attr.type == IB_QPT_GSI)) {
            qp = NULL;            /* reached by their well-known number only */
        }
    }
    if (!qp || (qp->port != rx->port && !ib_rx_migrates(rx, qp))) {
        ib_rx_discard(rx, IB_DISCARD_NO_QP);
        return;
    }
    ib_rx_deliver(rx, qp);
}

static void ib_rx_check(IbHcaPort *port, const uint8_t *data, size_t len,
                        uint8_t flags, bool own)
{
    IbRx rx = { .port = port, .data = data, .own = own };
    IbPacketStatus status = ib_packet_parse(data, len, &rx.info);
    bool vl15;

    rx.info.len = len;
    if (status != IB_PACKET_OK || (flags & IB_PACKET_BAD)) {
        ib_rx_discard(&rx, IB_DISCARD_MALFORMED);
        return;
    }
    if (!rx.info.bth) {
        ib_rx_discard(&rx, IB_DISCARD_RAW);
        return;
    }
    if (!(flags & IB_PACKET_NO_ICRC) && ib_link_config(port->link)->crc &&
        !ib_packet_icrc_ok(data, len)) {
        ib_rx_discard(&rx, IB_DISCARD_ICRC);
        return;
    }
    rx.dlid = ib_lrh_dlid(data);
    rx.slid = ib_lrh_slid(data);
    rx.pkey = ib_field_get(data + rx.info.bth, IB_BTH_PKEY);
    rx.dqpn = ib_field_get(data + rx.info.bth, IB_BTH_DQPN);
    vl15 = ib_lrh_vl(data) == IB_VL_SM;
    if (vl15 != (rx.dqpn == IB_QPN_SMI)) {
        ib_rx_discard(&rx, IB_DISCARD_VL15);
        return;
    }
    if (ib_lid_is_multicast(rx.dlid)) {
        ib_rx_multicast(&rx);
        return;
    }
    if (!own && !ib_lid_is_ours(port, rx.dlid) &&
        !(rx.dlid == IB_LID_PERMISSIVE && vl15)) {
        ib_rx_discard(&rx, IB_DISCARD_DLID);
        return;
    }
    if (rx.info.grh && !ib_rx_dgid_ok(&rx)) {
        ib_rx_discard(&rx, IB_DISCARD_DGID);
        return;
    }
    ib_rx_unicast(&rx);
}

void ib_rx_packet(IbHcaPort *port, const uint8_t *data, size_t len,
                  uint8_t flags, bool own)
{
    port->hca->busy = true;
    ib_rx_check(port, data, len, flags, own);
    port->hca->busy = false;
}
