/*
 * Packets: the check at the door, and builders
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hw/infiniband/ib-packet.h"

/* Extended headers in the order of the wire, and where to note them */
static const struct {
    uint16_t flag;
    uint8_t bytes;
    uint8_t member;     /* offset of the uint16_t in IbPacketInfo */
} ext_headers[] = {
#define EXT(flag, bytes, member) \
    { flag, bytes, offsetof(IbPacketInfo, member) }
    EXT(IB_HAS_RDETH, IB_RDETH_BYTES, rdeth),
    EXT(IB_HAS_DETH, IB_DETH_BYTES, deth),
    EXT(IB_HAS_XRCETH, IB_XRCETH_BYTES, xrceth),
    EXT(IB_HAS_RETH, IB_RETH_BYTES, reth),
    EXT(IB_HAS_ATOMICETH, IB_ATOMICETH_BYTES, atomiceth),
    EXT(IB_HAS_MASKETH, IB_MASKETH_BYTES, masketh),
    EXT(IB_HAS_AETH, IB_AETH_BYTES, aeth),
    EXT(IB_HAS_ATOMICACKETH, IB_ATOMICACKETH_BYTES, atomicacketh),
    EXT(IB_HAS_IMMDT, IB_IMMDT_BYTES, immdt),
    EXT(IB_HAS_IETH, IB_IETH_BYTES, ieth),
#undef EXT
};

/* RWH or IPv6 after the LRH; everything behind it is payload */
static IbPacketStatus packet_parse_raw(const uint8_t *data, size_t len,
                                       IbPacketInfo *info)
{
    size_t header = IB_RWH_BYTES;

    if (info->lnh == IB_LNH_IPV6) {
        header = IB_GRH_BYTES;
        info->grh = IB_LRH_BYTES;
    }
    if (len < IB_LRH_BYTES + header) {
        info->grh = 0;
        return IB_PACKET_TRUNCATED;
    }
    if (info->grh && ib_field_get(data + info->grh, IB_GRH_IPVER) !=
        IB_GRH_IPVER_6) {
        return IB_PACKET_BAD_IPVER;
    }
    info->flags = IB_HAS_PAYLOAD;
    info->payload = IB_LRH_BYTES + header;
    info->payload_len = len - info->payload;
    return IB_PACKET_OK;
}

static IbPacketStatus packet_check_grh(const uint8_t *grh, size_t paylen)
{
    if (ib_field_get(grh, IB_GRH_IPVER) != IB_GRH_IPVER_6) {
        return IB_PACKET_BAD_IPVER;
    }
    if (ib_field_get(grh, IB_GRH_PAYLEN) != paylen) {
        return IB_PACKET_BAD_PAYLEN;
    }
    if (ib_field_get(grh, IB_GRH_NXTHDR) != IB_GRH_NXTHDR_IBA) {
        return IB_PACKET_BAD_NXTHDR;
    }
    return IB_PACKET_OK;
}

/* Extended headers, payload, pad; the BTH is known to lie in the packet */
static IbPacketStatus packet_parse_transport(const uint8_t *data, size_t len,
                                             IbPacketInfo *info)
{
    const uint8_t *bth = data + info->bth;
    const IbOpcodeInfo *op;
    size_t at = info->bth + IB_BTH_BYTES;
    size_t i;

    info->opcode = ib_field_get(bth, IB_BTH_OPCODE);
    info->pad = ib_field_get(bth, IB_BTH_PAD);
    if (ib_field_get(bth, IB_BTH_TVER) != IB_BTH_TVER_0) {
        return IB_PACKET_BAD_TVER;
    }
    op = &ib_opcode_info[info->opcode];
    if (!op->name) {
        return IB_PACKET_BAD_OPCODE;
    }
    if (at + op->ext_bytes + info->pad + IB_ICRC_BYTES > len) {
        return IB_PACKET_TRUNCATED;
    }
    info->flags = op->flags;
    for (i = 0; i < G_N_ELEMENTS(ext_headers); i++) {
        if (op->flags & ext_headers[i].flag) {
            G_STRUCT_MEMBER(uint16_t, info, ext_headers[i].member) = at;
            at += ext_headers[i].bytes;
        }
    }
    info->payload = at;
    info->payload_len = len - IB_ICRC_BYTES - info->pad - at;
    return IB_PACKET_OK;
}

IbPacketStatus ib_packet_parse(const uint8_t *data, size_t len,
                               IbPacketInfo *info)
{
    IbPacketStatus status;
    size_t bth = IB_LRH_BYTES;

    memset(info, 0, sizeof(*info));
    if (len < IB_LRH_BYTES) {
        return IB_PACKET_TOO_SHORT;
    }
    info->lnh = ib_lrh_lnh(data);
    if (ib_field_get(data, IB_LRH_LVER) != IB_LVER) {
        return IB_PACKET_BAD_LVER;
    }
    if (len != ib_lrh_bytes(data) || len < IB_PKTLEN_MIN_BYTES) {
        return IB_PACKET_BAD_PKTLEN;
    }
    info->len = len;
    if (info->lnh == IB_LNH_RAW || info->lnh == IB_LNH_IPV6) {
        return packet_parse_raw(data, len, info);
    }

    if (info->lnh == IB_LNH_GRH) {
        bth += IB_GRH_BYTES;
    }
    if (len < bth + IB_BTH_BYTES + IB_ICRC_BYTES) {
        return IB_PACKET_TRUNCATED;
    }
    info->icrc = len - IB_ICRC_BYTES;
    if (info->lnh == IB_LNH_GRH) {
        info->grh = IB_LRH_BYTES;
        status = packet_check_grh(data + info->grh, len - bth);
        if (status != IB_PACKET_OK) {
            return status;
        }
    }
    info->bth = bth;
    return packet_parse_transport(data, len, info);
}

const char *ib_packet_status_str(IbPacketStatus status)
{
    static const char *const text[] = {
        [IB_PACKET_OK] = "ok",
        [IB_PACKET_TOO_SHORT] = "too short for an LRH",
        [IB_PACKET_BAD_LVER] = "bad LRH LVer",
        [IB_PACKET_BAD_PKTLEN] = "bad LRH PktLen",
        [IB_PACKET_TRUNCATED] = "headers do not fit",
        [IB_PACKET_BAD_IPVER] = "bad GRH IPVer",
        [IB_PACKET_BAD_PAYLEN] = "bad GRH PayLen",
        [IB_PACKET_BAD_NXTHDR] = "bad GRH NxtHdr",
        [IB_PACKET_BAD_TVER] = "bad BTH TVer",
        [IB_PACKET_BAD_OPCODE] = "unknown BTH opcode",
    };

    return (size_t)status < G_N_ELEMENTS(text) ? text[status] : "?";
}

size_t ib_packet_bytes(bool has_grh, uint8_t opcode, size_t payload_len)
{
    return IB_LRH_BYTES + (has_grh ? IB_GRH_BYTES : 0) + IB_BTH_BYTES +
           ib_opcode_info[opcode].ext_bytes + ((payload_len + 3) & ~(size_t)3) +
           IB_ICRC_BYTES;
}

static void packet_put_grh(uint8_t *grh, const IbPacketRoute *route,
                           size_t paylen)
{
    memset(grh, 0, IB_GRH_BYTES);
    ib_field_set(grh, IB_GRH_IPVER, IB_GRH_IPVER_6);
    ib_field_set(grh, IB_GRH_TCLASS, route->tclass);
    ib_field_set(grh, IB_GRH_FLOWLABEL, route->flow_label);
    ib_field_set(grh, IB_GRH_PAYLEN, paylen);
    ib_field_set(grh, IB_GRH_NXTHDR, IB_GRH_NXTHDR_IBA);
    ib_field_set(grh, IB_GRH_HOPLMT, route->hop_limit);
    memcpy(grh + IB_GRH_SGID_OFFSET, route->sgid, IB_GID_BYTES);
    memcpy(grh + IB_GRH_DGID_OFFSET, route->dgid, IB_GID_BYTES);
}

size_t ib_packet_put_headers(uint8_t *buf, const IbPacketRoute *route,
                             const IbPacketBth *bth, size_t payload_len)
{
    size_t total = ib_packet_bytes(route->has_grh, bth->opcode, payload_len);
    uint8_t *p = buf + IB_LRH_BYTES;

    memset(buf, 0, IB_LRH_BYTES);
    ib_field_set(buf, IB_LRH_VL, route->vl);
    ib_field_set(buf, IB_LRH_SL, route->sl);
    ib_field_set(buf, IB_LRH_LNH, route->has_grh ? IB_LNH_GRH : IB_LNH_BTH);
    ib_field_set(buf, IB_LRH_DLID, route->dlid);
    ib_field_set(buf, IB_LRH_PKTLEN, total / 4);
    ib_field_set(buf, IB_LRH_SLID, route->slid);

    if (route->has_grh) {
        packet_put_grh(p, route, total - IB_LRH_BYTES - IB_GRH_BYTES);
        p += IB_GRH_BYTES;
    }

    memset(p, 0, IB_BTH_BYTES);
    ib_field_set(p, IB_BTH_OPCODE, bth->opcode);
    ib_field_set(p, IB_BTH_SE, bth->se);
    ib_field_set(p, IB_BTH_M, bth->m);
    ib_field_set(p, IB_BTH_PAD, -payload_len & 3);
    ib_field_set(p, IB_BTH_PKEY, bth->pkey);
    ib_field_set(p, IB_BTH_FECN, bth->fecn);
    ib_field_set(p, IB_BTH_BECN, bth->becn);
    ib_field_set(p, IB_BTH_DQPN, bth->dest_qpn);
    ib_field_set(p, IB_BTH_A, bth->a);
    ib_field_set(p, IB_BTH_PSN, bth->psn);
    return p + IB_BTH_BYTES - buf;
}

size_t ib_packet_put_ud(uint8_t *buf, const IbPacketRoute *route,
                        const IbPacketBth *bth, uint32_t qkey,
                        uint32_t src_qpn, uint32_t imm, size_t payload_len)
{
    size_t at = ib_packet_put_headers(buf, route, bth, payload_len);

    ib_put_be32(buf + at + 4, 0);
    ib_field_set(buf + at, IB_DETH_QKEY, qkey);
    ib_field_set(buf + at, IB_DETH_SQPN, src_qpn);
    at += IB_DETH_BYTES;
    if (bth->opcode == IB_OP_UD_SEND_ONLY_IMM) {
        ib_field_set(buf + at, IB_IMMDT, imm);
        at += IB_IMMDT_BYTES;
    }
    return at;
}

size_t ib_packet_seal(uint8_t *buf, bool icrc)
{
    size_t len = ib_lrh_bytes(buf);
    size_t bth = IB_LRH_BYTES +
                 (ib_lrh_lnh(buf) == IB_LNH_GRH ? IB_GRH_BYTES : 0);
    size_t end = len - IB_ICRC_BYTES;
    unsigned pad = ib_field_get(buf + bth, IB_BTH_PAD);

    memset(buf + end - pad, 0, pad);
    ib_put_be32(buf + end, icrc ? ib_icrc(buf, end) : 0);
    return len;
}

bool ib_packet_icrc_ok(const uint8_t *data, size_t len)
{
    unsigned lnh = ib_lrh_lnh(data);

    if (lnh == IB_LNH_RAW || lnh == IB_LNH_IPV6) {
        return true;
    }
    return ib_get_be32(data + len - IB_ICRC_BYTES) ==
           ib_icrc(data, len - IB_ICRC_BYTES);
}
