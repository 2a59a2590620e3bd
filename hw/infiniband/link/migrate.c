/*
 * A link as bytes, for migration and snapshots
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * All that the peer can notice is kept: the session, the sequence numbers, the
 * credits, the frame under construction and the packets that wait.  So a link
 * that is loaded goes on with the peer where the saved one was; what the cable
 * lost meanwhile, flow control makes good.  A packet that waits is saved with
 * the port that sends it and no longer fills a receive buffer after loading:
 * the receive buffers are empty then.
 */
#include "hw/infiniband/ib-state.h"
#include "link-int.h"

#define IB_LINK_STATE_VERSION   2
#define IB_AGE_MAX              (INT64_C(1) << 60)
#define IB_COUNTERS             (sizeof(IbLinkCounters) / sizeof(uint64_t))
#define IB_COUNTERS_V1          (offsetof(IbLinkCounters, \
                                          local_physical_errors) / \
                                 sizeof(uint64_t))
#define IB_COUNTERS_V2          (offsetof(IbLinkCounters, \
                                          sync_header_errors) / \
                                 sizeof(uint64_t))

/* What both ends of a migration must agree on. */
static void ib_save_config(const IbLink *link, IbStateWriter *w)
{
    const IbLinkConfig *c = &link->config;

    ib_state_begin(w, "LCFG", 1);
    ib_state_put8(w, c->vl_cap);
    ib_state_put8(w, c->mtu_cap);
    ib_state_put32(w, c->rx_buffer);
    ib_state_put32(w, c->max_frame);
    ib_state_put8(w, c->crc);
    ib_state_end(w);
}

static void ib_load_config(IbLink *link, IbStateReader *r)
{
    const IbLinkConfig *c = &link->config;

    ib_state_enter(r, "LCFG", 1);
    if (ib_state_get8(r) != c->vl_cap || ib_state_get8(r) != c->mtu_cap ||
        ib_state_get32(r) != c->rx_buffer ||
        ib_state_get32(r) != c->max_frame || ib_state_get8(r) != c->crc) {
        ib_state_fail(r);
    }
    ib_state_leave(r);
}

static void ib_save_port(const IbLink *link, IbStateWriter *w)
{
    int which, i;

    ib_state_begin(w, "LPRT", 1);
    ib_state_put8(w, link->neighbor_mtu);
    ib_state_put8(w, link->operational_vls);
    ib_state_put8(w, link->vl_high_limit);
    ib_state_put8(w, link->width_enabled);
    ib_state_put8(w, link->width_active);
    ib_state_put16(w, link->speed_enabled);
    ib_state_put16(w, link->speed_active);
    ib_state_put8(w, link->hoq_life);
    ib_state_put8(w, link->vl_stall_count);
    ib_state_put8(w, link->life_time);
    ib_state_put8(w, link->down_default);
    ib_state_put8(w, link->enabled);
    ib_state_put8(w, link->sm_disabled);
    for (which = 0; which < 2; which++) {
        for (i = 0; i < 64; i++) {
            ib_state_put8(w, link->arb[which][i].vl);
            ib_state_put8(w, link->arb[which][i].weight);
        }
        ib_state_put8(w, link->arb_at[which].at);
        ib_state_put16(w, link->arb_at[which].left);
    }
    ib_state_put32(w, link->arb_high_sent);
    ib_state_end(w);
}

static void ib_load_port(IbLink *link, IbStateReader *r)
{
    uint8_t mtu, vls, width;
    uint16_t speed;
    int which, i;

    ib_state_enter(r, "LPRT", 1);
    mtu = ib_state_get8(r);
    vls = ib_state_get8(r);
    link->vl_high_limit = ib_state_get8(r);
    width = ib_state_get8(r);
    link->width_active = ib_state_get8(r);
    speed = ib_state_get16(r);
    link->speed_active = ib_state_get16(r);
    ib_link_set_hoq_life(link, ib_state_get8(r));
    ib_link_set_vl_stall_count(link, ib_state_get8(r));
    ib_link_set_life_time(link, ib_state_get8(r));
    if (!ib_link_set_neighbor_mtu(link, mtu) ||
        !ib_link_set_operational_vls(link, vls) ||
        !ib_link_set_width_enabled(link, width) ||
        !ib_link_set_speed_enabled(link, speed)) {
        ib_state_fail(r);
    }
    link->down_default = ib_state_get8(r);
    link->enabled = ib_state_get8(r);
    link->sm_disabled = ib_state_get8(r);
    if (link->down_default != IB_PHYS_SLEEP &&
        link->down_default != IB_PHYS_POLLING) {
        ib_state_fail(r);
    }
    for (which = 0; which < 2; which++) {
        IbVlArbEntry table[64];
        IbArbPointer p;

        for (i = 0; i < 64; i++) {
            table[i].vl = ib_state_get8(r);
            table[i].weight = ib_state_get8(r);
        }
        p.at = ib_state_get8(r);
        p.left = ib_state_get16(r);
        if (p.at >= 64) {
            ib_state_fail(r);
            break;
        }
        ib_link_set_vl_arb(link, which, table);
        link->arb_at[which] = p;
    }
    link->arb_high_sent = ib_state_get32(r);
    ib_state_leave(r);
}

static void ib_save_counters(const IbLink *link, IbStateWriter *w)
{
    uint64_t c[IB_COUNTERS];
    unsigned i;

    memcpy(c, &link->counters, sizeof(c));
    ib_state_begin(w, "LCNT", 3);
    for (i = 0; i < IB_COUNTERS; i++) {
        ib_state_put64(w, c[i]);
    }
    ib_state_end(w);
}

static void ib_load_counters(IbLink *link, IbStateReader *r)
{
    uint64_t c[IB_COUNTERS] = { 0 };
    unsigned version = ib_state_enter(r, "LCNT", 3);
    unsigned count = version == 1 ? IB_COUNTERS_V1
                   : version == 2 ? IB_COUNTERS_V2 : IB_COUNTERS;
    unsigned i;

    for (i = 0; i < count; i++) {
        c[i] = ib_state_get64(r);
    }
    ib_state_leave(r);
    memcpy(&link->counters, c, sizeof(c));
}

static void ib_save_session(const IbLink *link, IbStateWriter *w)
{
    int64_t age = ib_link_now(link) - link->polling_since;

    ib_state_begin(w, "LSES", 1);
    ib_state_put8(w, link->state);
    ib_state_put8(w, link->phys);
    ib_state_put32(w, link->session);
    ib_state_put32(w, link->peer_session);
    ib_state_put32(w, link->old_peer_session);
    ib_state_put32(w, link->tx_seq);
    ib_state_put32(w, link->rx_seq);
    ib_state_put8(w, link->peer_ready);
    ib_state_put8(w, link->peer_crc);
    ib_state_put8(w, link->peer_port);
    ib_state_put32(w, link->peer_max_frame);
    ib_state_put64(w, link->peer_guid);
    ib_state_put64(w, MAX(age, 0));     /* ns of training so far */
    ib_state_end(w);
}

/* Returns PortState; the rest of @link is left Down until all is loaded. */
static uint8_t ib_load_session(IbLink *link, IbStateReader *r, uint8_t *phys)
{
    uint8_t state;
    int64_t age;

    ib_state_enter(r, "LSES", 1);
    state = ib_state_get8(r);
    *phys = ib_state_get8(r);
    link->session = ib_state_get32(r);
    link->peer_session = ib_state_get32(r);
    link->old_peer_session = ib_state_get32(r);
    link->tx_seq = ib_state_get32(r);
    link->rx_seq = ib_state_get32(r);
    link->peer_ready = ib_state_get8(r);
    link->peer_crc = ib_state_get8(r);
    link->peer_port = ib_state_get8(r);
    link->peer_max_frame = ib_state_get32(r);
    link->peer_guid = ib_state_get64(r);
    age = ib_state_get64(r);
    ib_state_leave(r);

    if (state < IB_PORT_DOWN || state > IB_PORT_ACTIVE ||
        *phys < IB_PHYS_SLEEP || *phys > IB_PHYS_LINK_UP ||
        (state == IB_PORT_DOWN) == (*phys == IB_PHYS_LINK_UP) ||
        (*phys == IB_PHYS_DISABLED) !=
        (!link->enabled || link->sm_disabled) ||
        (*phys >= IB_PHYS_PORT_CONF_TRAINING &&
         (!link->session || !link->peer_session ||
          link->peer_max_frame < IB_FRAME_MIN_MAX)) || age < 0) {
        ib_state_fail(r);
    }
    link->polling_since = ib_link_now(link) - MAX(age, 0);
    return state;
}

static uint64_t ib_save_age(int64_t now, int64_t since)
{
    return CLAMP(now - since, 0, IB_AGE_MAX);
}

/* Before @now by the next 8 bytes. */
static int64_t ib_load_age(IbStateReader *r, int64_t now)
{
    uint64_t age = ib_state_get64(r);

    if (age > IB_AGE_MAX) {
        ib_state_fail(r);
        return now;
    }
    return now - (int64_t)age;
}

/* Both ends of flow control, and what waits. */
static void ib_save_vls(const IbLink *link, IbStateWriter *w)
{
    int64_t now = ib_link_now(link);
    unsigned vl;

    ib_state_begin(w, "LVLS", 1);
    for (vl = 0; vl < IB_VLS; vl++) {
        const IbLinkVl *v = &link->vl[vl];
        const IbTxEntry *e;

        ib_state_put32(w, v->fctbs);
        ib_state_put32(w, v->fccl);
        ib_state_put32(w, v->abr);
        ib_state_put32(w, v->limit);
        ib_state_put64(w, link->stalled & (1u << vl)
                          ? ib_save_age(v->stalled_until, now) : 0);
        ib_state_put8(w, v->stall_drops);
        ib_state_put32(w, v->stall_fctbs);
        ib_state_put64(w, v->head ? ib_save_age(now, v->head_since) : 0);
        ib_state_put32(w, v->queued);
        for (e = v->head; e; e = e->next) {
            ib_state_put8(w, e->flags);
            ib_state_put64(w, e->buf->born ? ib_save_age(now, e->buf->born)
                                           : 0);
            ib_state_put16(w, e->buf->len);
            ib_state_put_bytes(w, e->buf->data, e->buf->len);
        }
    }
    ib_state_end(w);
}

static void ib_load_vls(IbLink *link, IbStateReader *r)
{
    uint8_t data[IB_LINK_PACKET_MAX];
    int64_t now = ib_link_now(link);
    uint32_t max = link->rx_max;
    unsigned vl;

    /* NeighborMTU may have become less since a packet was queued. */
    if (link->phys == IB_PHYS_LINK_UP) {
        max = MIN(max, ib_link_frame_room(link));
    }
    ib_state_enter(r, "LVLS", 1);
    for (vl = 0; vl < IB_VLS; vl++) {
        IbLinkVl *v = &link->vl[vl];
        int64_t head_since;
        uint32_t n;

        v->fctbs = ib_state_get32(r);
        v->fccl = ib_state_get32(r);
        v->abr = ib_state_get32(r);
        v->limit = ib_state_get32(r);
        v->stalled_until = 2 * now - ib_load_age(r, now);
        if (v->stalled_until != now) {
            link->stalled |= 1u << vl;
            link->tx_open &= ~link->stalled;
        }
        v->stall_drops = ib_state_get8(r);
        v->stall_fctbs = ib_state_get32(r);
        head_since = ib_load_age(r, now);
        for (n = ib_state_get32(r); n && ib_state_ok(r); n--) {
            uint8_t flags = ib_state_get8(r);
            int64_t born = ib_load_age(r, now);
            uint16_t len = ib_state_get16(r);
            IbPacketBuf *buf;

            if (len < IB_PKTLEN_MIN_BYTES || !(link->tx_open & (1u << vl)) ||
                len > (vl == IB_VL_MGMT ? link->tx_max_vl15 : max)) {
                ib_state_fail(r);
                break;
            }
            ib_state_get_bytes(r, data, len);
            if (!ib_state_ok(r) || ib_lrh_bytes(data) != len) {
                ib_state_fail(r);
                break;
            }
            buf = ib_packet_buf_new(data, len);
            buf->born = born == now ? 0 : born;
            ib_tx_enqueue(link, vl, buf, flags);
        }
        v->head_since = head_since;
    }
    ib_state_leave(r);
}

static void ib_save_frame(const IbLink *link, IbStateWriter *w)
{
    uint32_t len = link->tx_at - IB_FRAME_HEADERS;

    ib_state_begin(w, "LFRM", 1);
    ib_state_put16(w, len ? link->tx_records : 0);
    ib_state_put32(w, len);
    if (len) {
        ib_state_put_bytes(w, link->frame + IB_FRAME_HEADERS, len);
    }
    ib_state_end(w);
}

static void ib_load_frame(IbLink *link, IbStateReader *r)
{
    const uint8_t *at, *end, *next;
    uint16_t records;
    uint32_t len;

    ib_state_enter(r, "LFRM", 1);
    records = ib_state_get16(r);
    len = ib_state_get32(r);
    if (len && (!ib_frame_begin(link, 0) ||
                len > link->tx_limit - link->tx_at)) {
        ib_state_fail(r);
    } else if (len) {
        at = link->frame + link->tx_at;
        end = at + len;
        ib_state_get_bytes(r, link->frame + link->tx_at, len);
        while (at != end && (next = ib_record_end(at, end))) {
            link->tx_records++;
            at = next;
        }
        link->tx_at += len;
        link->tx_data = true;
        if (at != end || link->tx_records != records) {
            ib_state_fail(r);
        }
    }
    ib_state_leave(r);
}

void ib_link_save(const IbLink *link, IbStateWriter *w)
{
    ib_state_begin(w, "LINK", IB_LINK_STATE_VERSION);
    ib_save_config(link, w);
    ib_save_port(link, w);
    ib_save_counters(link, w);
    ib_save_session(link, w);
    ib_save_vls(link, w);
    ib_save_frame(link, w);
    ib_state_end(w);
}

/* Empty and Down, without a word to anybody. */
static void ib_load_prepare(IbLink *link)
{
    link->state = IB_PORT_DOWN;
    link->phys = IB_PHYS_POLLING;
    link->probe_armed = false;
    link->bye_pending = false;
    link->tx_wanted = 0;
    ib_life_reset(link);
    ib_errors_reset(link);
    ib_inject_purge(link);
    ib_hold_reset(link);
    link->pace_full = false;
    ib_link_update_open(link);
    ib_frame_reset(link);
}

bool ib_link_load(IbLink *link, IbStateReader *r)
{
    int64_t now = ib_link_now(link);
    uint8_t state, phys;

    ib_load_prepare(link);
    if (ib_state_enter(r, "LINK", IB_LINK_STATE_VERSION) !=
        IB_LINK_STATE_VERSION) {
        ib_state_fail(r);
    }
    ib_load_config(link, r);
    ib_load_port(link, r);
    ib_load_counters(link, r);
    state = ib_load_session(link, r, &phys);
    if (!ib_state_ok(r)) {
        ib_link_reset(link, false);
        return false;
    }

    if (!link->attached && phys >= IB_PHYS_PORT_CONF_TRAINING) {
        /* Until the cable is there, it is one that is busy. */
        link->attached = true;
        link->cable_busy = true;
        link->resumed = true;
    }
    link->state = state;
    link->phys = phys;
    link->last_rx = now;
    link->rx_seen = false;
    link->next_training = now;
    link->training_sent = link->polling_since;
    if (phys == IB_PHYS_LINK_UP) {
        link->crc = link->config.crc || link->peer_crc;
        ib_pace_start(link);
        link->tx_size = MIN(link->config.max_frame, link->peer_max_frame);
        link->next_keepalive = now;
    }
    ib_link_update_open(link);
    ib_frame_reset(link);
    ib_load_vls(link, r);
    ib_load_frame(link, r);
    ib_state_leave(r);
    if (!ib_state_ok(r)) {
        ib_link_reset(link, false);
        return false;
    }
    link->credit_dirty = (1u << link->config.vl_cap) - 1;
    link->credit_arrived = link->tx_waiting != 0;
    ib_life_changed(link);
    ib_link_update_special(link);
    ib_train_rearm(link);
    return true;
}
