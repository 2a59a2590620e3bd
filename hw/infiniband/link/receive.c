/*
 * Frames from the cable and the packets in them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Nothing that comes from a cable is trusted.  The headers of a frame are
 * checked once, then each record against the frame's end, then each packet as
 * the packet receiver of IBA Vol.1 7.2 and 7.3 does.
 */
#include "link-int.h"

const uint8_t *ib_record_end(const uint8_t *at, const uint8_t *end)
{
    size_t len;

    if (end - at < IB_REC_BYTES) {
        return NULL;
    }
    len = IB_REC_BYTES + ((ib_field_get(at, IB_REC_LENGTH) + 3) & ~3u);
    return len <= (size_t)(end - at) ? at + len : NULL;
}

static void ib_rx_error(IbLink *link, const char *why, const uint8_t *data,
                        uint32_t len)
{
    link->counters.rcv_errors++;
    ib_link_trace(link, why, data, len);
}

static void ib_rx_malformed(IbLink *link, const char *why,
                            const uint8_t *data, uint32_t len)
{
    link->counters.malformed_packets++;
    ib_rx_error(link, why, data, len);
}

/* A packet on a VL that is closed: in this state, or for good. */
static void ib_rx_closed(IbLink *link, unsigned vl, const uint8_t *data,
                         uint32_t len)
{
    if (vl != IB_VL_MGMT && !(link->vls_operational & (1u << vl))) {
        ib_rx_malformed(link, "rcv-vl", data, len);
    } else {
        /* Discarded without a counter: IBA Vol.1 7.2.7, LinkInitialize. */
        ib_link_trace(link, "rcv-port-state", data, len);
    }
}

static bool ib_rx_overrun(IbLink *link, unsigned vl, uint32_t blocks)
{
    IbLinkVl *v = &link->vl[vl];

    if (vl == IB_VL_MGMT) {
        return false;
    }
    v->abr += blocks;
    return (int32_t)(v->limit - v->abr) < 0;
}

static inline void ib_rx_count(IbLinkCounters *c, const uint8_t *data,
                               uint32_t len, unsigned vl)
{
    c->rcv_pkts_vl[vl]++;
    c->rcv_data_vl[vl] += len / 4;
    c->rcv_data_sl[ib_lrh_sl(data)] += len / 4;
    c->multicast_rcv_pkts += ib_lid_is_multicast(ib_lrh_dlid(data));
}

static void ib_rx_count_op(IbLink *link, const uint8_t *data, uint32_t len,
                           unsigned vl)
{
    unsigned lnh = ib_lrh_lnh(data);
    size_t bth = IB_LRH_BYTES + (lnh == IB_LNH_GRH ? IB_GRH_BYTES : 0);
    IbLinkCounters *c = &link->counters;

    if ((lnh == IB_LNH_BTH || lnh == IB_LNH_GRH) &&
        len >= bth + IB_BTH_BYTES &&
        ib_field_get(data + bth, IB_BTH_OPCODE) == (uint32_t)link->count_op) {
        c->op_rcv_pkts++;
        c->op_rcv_bytes += len;
        c->op_rcv_pkts_vl[vl]++;
        c->op_rcv_bytes_vl[vl] += len;
    }
}

static inline void ib_rx_deliver(IbLink *link, IbPacket *packet)
{
    link->ops->receive(link->opaque, packet);
    if (packet->flags & IB_PACKET_LENT) {
        ib_packet_buf_unref(packet->buf);
    }
}

/* A packet comes a second time; its sender has paid for one. */
static void ib_rx_again(IbLink *link, const uint8_t *data, uint32_t len,
                        unsigned vl, uint8_t flags)
{
    IbPacket packet = { .data = data, .len = len, .vl = vl, .flags = flags };

    ib_rx_count(&link->counters, data, len, vl);
    ib_link_trace(link, "inject-duplicate", data, len);
    ib_rx_deliver(link, &packet);
}

/*
 * The content of a packet record.  Returns the mask of the VL whose receive
 * buffer it passed.  @special is rx_special, known when this is compiled.
 */
static inline __attribute__((always_inline))
uint16_t ib_rx_packet(IbLink *link, const uint8_t *data, uint32_t len,
                      unsigned flags, const bool special)
{
    IbLinkCounters *c = &link->counters;
    uint32_t record_len = len;
    IbPacket packet;
    uint32_t blocks;
    unsigned vl;
    bool overrun;

    if (special && link->crc) {
        len -= IB_VCRC_BYTES;       /* wraps around when shorter */
    }
    if (G_UNLIKELY(len < IB_PKTLEN_MIN_BYTES || len > IB_PKTLEN_MAX_BYTES ||
                   len != ib_lrh_bytes(data) ||
                   ib_field_get(data, IB_LRH_LVER) != IB_LVER)) {
        ib_rx_malformed(link, "rcv-length", data, record_len);
        return 0;
    }
    vl = ib_lrh_vl(data);
    blocks = ib_packet_blocks(len);
    if (special && ib_inject_drop(link, vl)) {
        ib_errors_lost(link, 1);
        ib_link_trace(link, "inject-drop", data, len);
        return 0;
    }
    ib_rx_count(c, data, len, vl);

    /* The sender has spent the credits, whatever becomes of the packet. */
    overrun = ib_rx_overrun(link, vl, blocks);
    if (special) {
        uint16_t vcrc = link->crc || link->tap ? ib_vcrc(data, len) : 0;

        if ((link->crc && vcrc != ib_get_be16(data + len)) ||
            ib_inject_corrupt(link, vl)) {
            ib_rx_error(link, "rcv-vcrc", data, len);
            ib_errors_physical(link);
            return 1u << vl;
        }
        if (link->tap && link->ops->tap) {
            link->ops->tap(link->opaque, false, data, len, vcrc);
        }
    }
    if (G_UNLIKELY(flags & IB_PACKET_BAD)) {
        c->rcv_remote_physical_errors++;
        ib_rx_error(link, "rcv-ebp", data, len);
        return 1u << vl;
    }
    if (G_UNLIKELY(!(link->rx_open & (1u << vl)))) {
        ib_rx_closed(link, vl, data, len);
        return 1u << vl;
    }
    if (G_UNLIKELY(len > link->rx_max ||
                   (vl == IB_VL_MGMT && len > link->tx_max_vl15))) {
        ib_rx_malformed(link, "rcv-mtu", data, len);
        return 1u << vl;
    }
    if (G_UNLIKELY(overrun)) {
        ib_errors_overrun(link);
        ib_rx_error(link, "rcv-overrun", data, len);
        return 1u << vl;
    }
    if (vl == IB_VL_MGMT) {
        if (link->vl[vl].occupied >= link->config.vl15_packets) {
            c->vl15_dropped++;
            ib_link_trace(link, "vl15-dropped", data, len);
            return 0;
        }
    } else if (G_UNLIKELY(link->state == IB_PORT_ARMED)) {
        ib_train_activate(link);
    }

    if (special && link->count_op >= 0) {
        ib_rx_count_op(link, data, len, vl);
    }
    packet.data = data;
    packet.len = len;
    packet.vl = vl;
    packet.flags = flags & IB_PACKET_RECORD_FLAGS;
    packet.ingress = link;
    packet.buf = NULL;
    if (special && ib_inject_delay(link, &packet)) {
        return 1u << vl;
    }
    ib_rx_deliver(link, &packet);
    if (special && ib_inject_duplicate(link, vl) &&
        (link->rx_open & (1u << vl))) {
        ib_rx_again(link, data, len, vl, flags & IB_PACKET_RECORD_FLAGS);
    }
    return 1u << vl;
}

static __attribute__((noinline))
uint16_t ib_rx_packet_special(IbLink *link, const uint8_t *data,
                              uint32_t len, unsigned flags)
{
    return ib_rx_packet(link, data, len, flags, true);
}

static void ib_rx_bad_frame(IbLink *link, const char *why)
{
    link->counters.frames_bad++;
    ib_errors_frame(link);
    ib_link_trace(link, why, NULL, 0);
}

/* The records of a frame of this session. */
static void ib_rx_records(IbLink *link, const uint8_t *at, const uint8_t *end,
                          unsigned records)
{
    uint32_t session = link->session;
    uint16_t touched = 0;
    bool packets = false;

    while (records--) {
        const uint8_t *next = ib_record_end(at, end);
        uint32_t len, flags;

        if (G_UNLIKELY(!next)) {
            at = NULL;
            break;
        }
        len = ib_field_get(at, IB_REC_LENGTH);
        flags = ib_field_get(at, IB_REC_FLAGS);
        switch (ib_field_get(at, IB_REC_TYPE)) {
        case IB_REC_PACKET:
            touched |= G_UNLIKELY(link->rx_special)
                       ? ib_rx_packet_special(link, at + IB_REC_BYTES, len,
                                              flags)
                       : ib_rx_packet(link, at + IB_REC_BYTES, len, flags,
                                      false);
            packets = true;
            break;
        case IB_REC_CREDIT:
            ib_credit_receive(link, at + IB_REC_BYTES, len, flags);
            break;
        case IB_REC_TRAINING:
            ib_train_again(link);
            break;
        case IB_REC_ECHO:
        case IB_REC_ECHO_REPLY:
            ib_hold_receive(link, at + IB_REC_BYTES, len,
                            ib_field_get(at, IB_REC_TYPE));
            break;
        case IB_REC_GOING_DOWN:
            ib_train_down(link, false, true);
            break;
        default:
            /* Keep-alive, and what a later version may add. */
            break;
        }
        at = next;
        if (G_UNLIKELY(link->session != session ||
                       link->phys != IB_PHYS_LINK_UP)) {
            /* The link went down: the rest is no longer ours. */
            at = end;
            break;
        }
    }
    if (at != end) {
        ib_rx_bad_frame(link, "frame-records");
    }
    ib_credit_update(link, touched);
    if (packets && link->ops->receive_end) {
        link->ops->receive_end(link->opaque);
    }
}

void ib_link_settle(IbLink *link)
{
    if (link->nested || link->sending) {
        return;             /* whoever sends flushes, or sends on */
    }
    link->nested++;
    while (link->phys == IB_PHYS_LINK_UP &&
           (link->credit_arrived || (link->tx_stuck && !link->cable_busy &&
                                    !link->pace_full))) {
        link->credit_arrived = false;
        ib_tx_drain(link);
        if (link->tx_wanted) {
            ib_tx_notify(link);
        }
        if (!ib_frame_send(link)) {
            break;
        }
    }
    if (link->credit_urgent) {
        ib_frame_send(link);
    }
    if (G_UNLIKELY(link->echo_wanted || link->echo_owed)) {
        ib_hold_send(link);
    }
    link->nested--;
}

void ib_link_receive_frame(IbLink *link, const uint8_t *frame, size_t len)
{
    const uint8_t *h, *at, *end;
    uint32_t session, peer, seq, header;

    if (!link->attached || link->phys == IB_PHYS_DISABLED) {
        return;
    }
    if (len >= IB_ETH_BYTES &&
        ib_field_get(frame, IB_ETH_TYPE) != IB_FRAME_ETHERTYPE) {
        /* Others speak on a bridge, and a guest's host when it migrated. */
        return;
    }
    if (G_UNLIKELY(len < IB_FRAME_HEADERS)) {
        ib_rx_bad_frame(link, "frame-short");
        return;
    }
    h = frame + IB_ETH_BYTES;
    if (G_UNLIKELY(ib_field_get(h, IB_LH_VERSION) != IB_FRAME_VERSION)) {
        ib_rx_bad_frame(link, "frame-header");
        return;
    }
    header = ib_field_get(h, IB_LH_HEADER_LENGTH);
    if (G_UNLIKELY(header < IB_LH_BYTES || header % 4 ||
                   ib_field_get(h, IB_LH_LENGTH) + header + IB_ETH_BYTES >
                   len)) {
        ib_rx_bad_frame(link, "frame-length");
        return;
    }
    at = h + header;
    end = at + ib_field_get(h, IB_LH_LENGTH);
    session = ib_field_get(h, IB_LH_SESSION);
    peer = ib_field_get(h, IB_LH_PEER_SESSION);
    seq = ib_field_get(h, IB_LH_SEQUENCE);

    link->rx_now = 0;
    link->nested++;
    if (G_LIKELY(session == link->peer_session && peer == link->session &&
                 link->phys == IB_PHYS_LINK_UP)) {
        uint32_t gap = seq - link->rx_seq;

        if (G_UNLIKELY(gap)) {
            if ((int32_t)gap < 0) {
                link->counters.frames_late++;
                link->nested--;
                return;
            }
            ib_errors_lost(link, gap);
            ib_link_trace(link, "frames-lost", NULL, 0);
        }
        link->rx_seq = seq + 1;
    } else if (!ib_train_frame(link, session, peer, seq, at, end)) {
        link->nested--;
        return;
    }
    link->rx_seen = true;
    link->counters.frames_received++;
    ib_rx_records(link, at, end, ib_field_get(h, IB_LH_RECORDS));
    link->nested--;
    if (G_UNLIKELY(link->errors)) {
        ib_errors_tell(link);
    }
    ib_link_settle(link);
}
