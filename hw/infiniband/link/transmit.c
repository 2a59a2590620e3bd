/*
 * Packets on their way into frames
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A packet is copied straight into the frame under construction when nothing
 * is in its way; else it waits in the queue of its VL, held by reference, and
 * VL arbitration decides when.
 */
#include "link-int.h"

static inline bool ib_tx_credit(const IbLinkVl *v, unsigned vl,
                                uint32_t blocks)
{
    return vl == IB_VL_MGMT || ib_credit_left(v) >= (int32_t)blocks;
}

/*
 * Room for a packet of @len on @vl, if need be by sending the frame; what
 * happens meanwhile may take the packet's credits or its port's state.
 */
static __attribute__((noinline))
bool ib_tx_make_room_slow(IbLink *link, IbLinkVl *v, unsigned vl,
                          uint32_t len)
{
    if (ib_frame_begin(link, len)) {
        return true;
    }
    ib_frame_send(link);
    return ib_frame_begin(link, len) && ib_link_tx_allowed(link, vl) &&
           ib_tx_credit(v, vl, ib_packet_blocks(len));
}

static inline bool ib_tx_make_room(IbLink *link, IbLinkVl *v, unsigned vl,
                                   uint32_t len)
{
    return G_LIKELY(ib_tx_room(link, len)) ||
           ib_tx_make_room_slow(link, v, vl, len);
}

/* CRCs, tap, a paced line: what most cables do without. */
static void ib_tx_finish_slow(IbLink *link, uint8_t *p, uint32_t len,
                              uint8_t *flags)
{
    unsigned lnh = ib_lrh_lnh(p);

    if (link->crc) {
        if (*flags & IB_PACKET_NO_ICRC) {
            if (lnh == IB_LNH_BTH || lnh == IB_LNH_GRH) {
                ib_put_be32(p + len - IB_ICRC_BYTES,
                            ib_icrc(p, len - IB_ICRC_BYTES));
            }
            *flags &= ~IB_PACKET_NO_ICRC;
        }
        ib_put_be16(p + len, ib_vcrc(p, len));
        ib_put_be16(p + len + 2, 0);
    }
    if (link->tap && link->ops->tap) {
        link->ops->tap(link->opaque, true, p, len, ib_vcrc(p, len));
    }
    if (link->pace_rate) {
        ib_pace_charge(link, len);
    }
}

/* FECN is in no CRC but the VCRC, which is yet to come (9.2, A10.2). */
static void ib_tx_set_fecn(uint8_t *p, uint32_t len)
{
    size_t bth = IB_LRH_BYTES;

    if (ib_lrh_lnh(p) == IB_LNH_GRH) {
        bth += IB_GRH_BYTES;
    } else if (ib_lrh_lnh(p) != IB_LNH_BTH) {
        return;
    }
    if (len >= bth + IB_BTH_BYTES) {
        ib_field_set(p + bth, IB_BTH_FECN, 1);
    }
}

/* The packet of @len bytes at @p, right behind the frame's end, joins it. */
static inline void ib_tx_finish(IbLink *link, uint8_t *p, uint32_t len,
                                unsigned vl, uint32_t blocks, uint8_t flags)
{
    IbLinkCounters *c = &link->counters;

    ib_lrh_set_vl(p, vl);
    if (G_UNLIKELY(flags & IB_PACKET_FECN)) {
        ib_tx_set_fecn(p, len);
    }
    flags &= IB_PACKET_RECORD_FLAGS;
    if (G_UNLIKELY(link->tx_special)) {
        ib_tx_finish_slow(link, p, len, &flags);
    }
    ib_put_be32(p - IB_REC_BYTES,
                (len + (link->crc ? IB_VCRC_BYTES : 0)) << 16 |
                IB_REC_PACKET << 8 | flags);
    link->tx_at += ib_record_bytes(link, len);
    link->tx_records++;
    link->tx_data = true;
    link->vl[vl].fctbs += blocks;
    c->xmit_pkts_vl[vl]++;
    c->xmit_data_vl[vl] += len / 4;
    c->xmit_data_sl[ib_lrh_sl(p)] += len / 4;
    c->multicast_xmit_pkts += ib_lid_is_multicast(ib_lrh_dlid(p));
}

static void ib_tx_put(IbLink *link, const uint8_t *data, uint32_t len,
                      unsigned vl, uint32_t blocks, uint8_t flags)
{
    uint8_t *p = link->frame + link->tx_at + IB_REC_BYTES;

    memcpy(p, data, len);
    ib_tx_finish(link, p, len, vl, blocks, flags);
}

static IbTxResult ib_tx_discard(IbLink *link, IbXmitDiscard why,
                                const uint8_t *data, uint32_t len)
{
    static const char *const names[] = {
        [IB_XMIT_PORT_STATE] = "xmit-port-state",
        [IB_XMIT_VL] = "xmit-vl",
        [IB_XMIT_STALLED] = "xmit-stalled",
        [IB_XMIT_MTU] = "xmit-mtu",
        [IB_XMIT_LENGTH] = "xmit-length",
        [IB_XMIT_OWN_QUEUE] = "xmit-own-queue",
        [IB_XMIT_PURGED] = "xmit-purged",
        [IB_XMIT_HOQ_LIFE] = "xmit-hoq-life",
        [IB_XMIT_LIFE_TIME] = "xmit-life-time",
    };
    IbLinkCounters *c = &link->counters;

    c->xmit_discards++;
    c->port_inactive_discards += why == IB_XMIT_PORT_STATE ||
                                 (why == IB_XMIT_PURGED &&
                                  link->state != IB_PORT_ACTIVE);
    c->neighbor_mtu_discards += why == IB_XMIT_MTU;
    c->sw_lifetime_discards += why == IB_XMIT_LIFE_TIME;
    c->sw_hoq_lifetime_discards += why == IB_XMIT_HOQ_LIFE ||
                                   why == IB_XMIT_STALLED;
    ib_link_trace(link, names[why], data, len);
    return IB_TX_DISCARDED;
}

static IbXmitDiscard ib_tx_closed(const IbLink *link, unsigned vl)
{
    if (link->state != IB_PORT_ACTIVE) {
        return IB_XMIT_PORT_STATE;
    }
    return ib_link_vl_stalled(link, vl) ? IB_XMIT_STALLED : IB_XMIT_VL;
}

/* Why a packet may not be sent at all. */
static inline IbXmitDiscard ib_tx_refuse(const IbLink *link, uint32_t len,
                                         unsigned vl)
{
    if (G_UNLIKELY(vl >= IB_VLS || !(link->tx_open & (1u << vl)))) {
        return ib_tx_closed(link, vl);
    }
    if (G_UNLIKELY(len > (vl == IB_VL_MGMT ? link->tx_max_vl15 :
                          link->tx_max))) {
        return IB_XMIT_MTU;
    }
    if (G_UNLIKELY(len < IB_PKTLEN_MIN_BYTES || len % 4)) {
        return IB_XMIT_LENGTH;
    }
    return IB_XMIT_OK;
}

/* Start the clock of a port that has data and sends none. */
static void ib_tx_wait_start(IbLink *link)
{
    if (!link->wait_since) {
        link->wait_since = ib_link_now(link);
    }
}

/* Count the wait until now; it goes on while packets are queued. */
void ib_tx_wait_account(IbLink *link)
{
    int64_t now = ib_link_now(link);

    if (link->wait_since && now > link->wait_since) {
        link->counters.xmit_wait += (now - link->wait_since) / 1000;
    }
    link->wait_since = link->tx_waiting ? now : 0;
}

/* Append to the queue of @vl; takes over the caller's reference to @buf. */
void ib_tx_enqueue(IbLink *link, unsigned vl, IbPacketBuf *buf, uint8_t flags)
{
    IbLinkVl *v = &link->vl[vl];
    IbTxEntry *entry = ib_tx_entry_new();

    entry->next = NULL;
    entry->buf = buf;
    entry->flags = flags & (IB_PACKET_RECORD_FLAGS | IB_PACKET_FECN);
    if (v->head) {
        v->tail->next = entry;
    } else {
        v->head = entry;
        v->head_since = ib_link_now(link);
        link->tx_waiting |= 1u << vl;
        ib_life_watch(link, vl);
    }
    v->tail = entry;
    v->queued++;
    v->queued_blocks += ib_packet_blocks(buf->len);
    v->own += !buf->ingress;
    ib_tx_wait_start(link);
}

static IbTxResult ib_tx_queue(IbLink *link, IbPacket *packet, unsigned vl)
{
    IbLinkVl *v = &link->vl[vl];
    IbPacketBuf *buf = packet->buf;
    bool own = buf ? !buf->ingress : !packet->ingress;

    /* Making room may have shown that the cable is gone. */
    if (!(link->tx_open & (1u << vl))) {
        return ib_tx_discard(link, ib_tx_closed(link, vl), packet->data,
                             packet->len);
    }
    if (own && v->own >= IB_TX_OWN_MAX) {
        return ib_tx_discard(link, IB_XMIT_OWN_QUEUE, packet->data,
                             packet->len);
    }
    if (buf) {
        buf->refs++;
    } else if (own) {
        buf = ib_packet_buf_new(packet->data, packet->len);
    } else {
        ib_packet_hold(packet);
        packet->flags |= IB_PACKET_LENT;
        buf = packet->buf;
        buf->refs++;
    }
    if (vl != IB_VL_MGMT &&
        !ib_tx_credit(v, vl, ib_packet_blocks(packet->len))) {
        ib_train_arm_probe(link);
    }
    ib_tx_enqueue(link, vl, buf, packet->flags);
    return IB_TX_QUEUED;
}

IbTxResult ib_link_transmit(IbLink *link, IbPacket *packet, uint8_t vl)
{
    uint32_t len = packet->len;
    uint32_t blocks = ib_packet_blocks(len);
    IbXmitDiscard why = ib_tx_refuse(link, len, vl);
    IbLinkVl *v;

    if (G_UNLIKELY(why != IB_XMIT_OK)) {
        return ib_tx_discard(link, why, packet->data, len);
    }
    v = &link->vl[vl];
    if (G_LIKELY(!v->head && !link->tx_stuck &&
                 ib_tx_credit(v, vl, blocks))) {
        if (G_LIKELY(ib_tx_make_room(link, v, vl, len))) {
            ib_tx_put(link, packet->data, len, vl, blocks, packet->flags);
            return IB_TX_SENT;
        }
        link->tx_stuck = true;
    }
    return ib_tx_queue(link, packet, vl);
}

uint8_t *ib_link_tx_begin(IbLink *link, uint8_t vl, uint16_t len)
{
    IbXmitDiscard why = ib_tx_refuse(link, len, vl);
    IbLinkVl *v;

    g_assert(vl < IB_VLS);
    if (why != IB_XMIT_OK) {
        goto wait;
    }
    v = &link->vl[vl];
    if (v->head || link->tx_stuck) {
        goto blocked;
    }
    if (!ib_tx_credit(v, vl, ib_packet_blocks(len))) {
        ib_train_arm_probe(link);
        goto blocked;
    }
    if (!ib_tx_make_room(link, v, vl, len)) {
        goto blocked;
    }
    link->tx_begun_vl = vl;
    link->tx_begun_len = len;
    return link->frame + link->tx_at + IB_REC_BYTES;

blocked:
    ib_tx_wait_start(link);
wait:
    link->tx_wanted |= 1u << vl;
    return NULL;
}

void ib_link_tx_end(IbLink *link, uint8_t flags)
{
    uint32_t len = link->tx_begun_len;

    ib_tx_finish(link, link->frame + link->tx_at + IB_REC_BYTES, len,
                 link->tx_begun_vl, ib_packet_blocks(len), flags);
}

void ib_link_tx_cancel(IbLink *link)
{
    link->tx_begun_len = 0;
}

bool ib_link_tx_allowed(const IbLink *link, uint8_t vl)
{
    return vl < IB_VLS && (link->tx_open & (1u << vl));
}

static IbPacketBuf *ib_tx_pop(IbLink *link, unsigned vl)
{
    IbLinkVl *v = &link->vl[vl];
    IbTxEntry *entry = v->head;
    IbPacketBuf *buf = entry->buf;

    v->head = entry->next;
    if (!v->head) {
        v->tail = NULL;
        link->tx_waiting &= ~(1u << vl);
    }
    v->queued--;
    v->queued_blocks -= ib_packet_blocks(buf->len);
    v->own -= !buf->ingress;
    ib_tx_entry_free(entry);
    return buf;
}

/* VLs whose next packet has its credits. */
static uint16_t ib_tx_ready_vls(const IbLink *link)
{
    uint16_t vls = link->tx_waiting & link->tx_open;
    uint16_t ready = vls & IB_VL15_MASK;

    vls &= ~IB_VL15_MASK;
    while (vls) {
        unsigned vl = __builtin_ctz(vls);
        const IbLinkVl *v = &link->vl[vl];

        vls &= vls - 1;
        if (ib_tx_credit(v, vl, ib_packet_blocks(v->head->buf->len))) {
            ready |= 1u << vl;
        }
    }
    return ready;
}

/* Send what waits, as arbitration gives it, while credits and cable last. */
void ib_tx_drain(IbLink *link)
{
    int64_t now = 0;
    uint16_t ready;

    if (link->draining || !link->tx_waiting) {
        link->tx_stuck = link->tx_stuck && link->tx_waiting;
        return;
    }
    link->draining = true;
    while ((ready = ib_tx_ready_vls(link))) {
        unsigned vl = ib_arbiter_pick(link, ready);
        IbLinkVl *v = &link->vl[vl];
        IbPacketBuf *buf = v->head->buf;
        uint32_t len = buf->len;
        uint32_t blocks = ib_packet_blocks(len);

        if (!ib_frame_begin(link, len)) {
            ib_frame_send(link);
            if (ib_frame_begin(link, len)) {
                continue;       /* sending may have changed what waits */
            }
            break;
        }
        if (!now) {
            now = ib_link_now(link);
        }
        link->counters.xmit_wait_vl[vl] += (now - v->head_since) / 1000;
        v->head_since = now;
        ib_tx_put(link, buf->data, len, vl, blocks, v->head->flags);
        if (vl != IB_VL_MGMT) {
            ib_arbiter_sent(link, blocks);
        }
        ib_packet_buf_unref(ib_tx_pop(link, vl));
    }
    link->tx_stuck = ready != 0;
    link->draining = false;
    if (link->tx_waiting & ~IB_VL15_MASK & ~ready) {
        ib_train_arm_probe(link);
    }
}

/* Tell the owner of VLs that it may try again. */
void ib_tx_notify(IbLink *link)
{
    uint16_t vls = link->tx_wanted & link->tx_open & ~link->tx_waiting;
    uint16_t ready = vls & IB_VL15_MASK;

    if (!vls || !link->ops->tx_ready || link->tx_stuck) {
        return;
    }
    if (!ib_frame_begin(link, IB_PKTLEN_MIN_BYTES) &&
        (!ib_frame_send(link) ||
         !ib_frame_begin(link, IB_PKTLEN_MIN_BYTES))) {
        return;
    }
    vls &= ~IB_VL15_MASK;
    while (vls) {
        unsigned vl = __builtin_ctz(vls);

        vls &= vls - 1;
        if (ib_credit_left(&link->vl[vl]) > 0) {
            ready |= 1u << vl;
        }
    }
    if (ready) {
        link->tx_wanted &= ~ready;
        link->ops->tx_ready(link->opaque, ready);
        if (link->wait_since && !link->tx_wanted && !link->tx_waiting) {
            ib_tx_wait_account(link);
        }
    }
    if (!link->tx_records) {
        ib_frame_reset(link);       /* nothing has come of it */
    }
}

void ib_tx_discard_head(IbLink *link, unsigned vl, IbXmitDiscard why)
{
    IbPacketBuf *buf = ib_tx_pop(link, vl);

    ib_tx_discard(link, why, buf->data, buf->len);
    ib_packet_buf_unref(buf);
}

/* Discard what waits on @vls. */
void ib_tx_purge(IbLink *link, uint16_t vls)
{
    vls &= link->tx_waiting;
    while (vls) {
        unsigned vl = __builtin_ctz(vls);

        vls &= vls - 1;
        while (link->vl[vl].head) {
            ib_tx_discard_head(link, vl, ib_link_vl_stalled(link, vl)
                                         ? IB_XMIT_STALLED : IB_XMIT_PURGED);
        }
    }
    if (!link->tx_waiting) {
        link->tx_stuck = false;
        link->wait_since = 0;
    }
}

void ib_link_flush(IbLink *link)
{
    if (ib_frame_send(link) &&
        G_UNLIKELY(link->tx_stuck || link->credit_arrived)) {
        ib_link_settle(link);
    }
}
