/*
 * Training, keep-alive and the states of a port
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Physical states as PortPhysicalState has them; the logical states are the
 * link state machine of IBA Vol.1 7.2.7.  Both ends of a cable run this code.
 *
 * An end that starts to train draws a session number.  It repeats TS1, its
 * parameters, until it has seen the peer's; then, not before its least time of
 * training is over, TS2.  TS2 that names its own session tells it that the
 * peer is as far: the link is up.  Whoever hears a frame of an unknown session
 * while up knows that the peer has started again, and does so too.
 */
#include "link-int.h"

#define IB_TRAIN_INTERVAL       (50 * IB_NS_PER_MS)
#define IB_PROBE_INTERVAL       (10 * IB_NS_PER_MS)

static int64_t ib_train_ready_time(const IbLink *link)
{
    return link->polling_since + link->config.training_ms * IB_NS_PER_MS;
}

static bool ib_train_ready(const IbLink *link, int64_t now)
{
    return link->peer_session && now >= ib_train_ready_time(link);
}

/* Arm the timer for what comes next in this state. */
void ib_train_rearm(IbLink *link)
{
    int64_t deadline = INT64_MAX;

    if (link->attached) {
        switch (link->phys) {
        case IB_PHYS_PORT_CONF_TRAINING:
            deadline = link->last_rx + link->config.timeout_ms * IB_NS_PER_MS;
            if (ib_train_ready_time(link) > link->training_sent) {
                deadline = MIN(deadline, ib_train_ready_time(link));
            }
            /* fall through */
        case IB_PHYS_POLLING:
            deadline = MIN(deadline, link->next_training);
            break;
        case IB_PHYS_LINK_UP:
            deadline = MIN(link->next_keepalive,
                           link->last_rx +
                           link->config.timeout_ms * IB_NS_PER_MS);
            if (link->probe_armed) {
                deadline = MIN(deadline, link->next_probe);
            }
            if (link->life_armed) {
                deadline = MIN(deadline, link->next_life);
            }
            if (link->pace_full) {
                deadline = MIN(deadline, link->pace_free);
            }
            deadline = MIN(deadline, ib_inject_due(link));
            break;
        default:
            break;
        }
        if (link->detach_pending) {
            deadline = 0;
        }
    }
    if (deadline != link->deadline) {
        link->deadline = deadline;
        link->ops->set_timer(link->opaque, deadline);
    }
}

static void ib_train_changed(IbLink *link, uint8_t old_state,
                             uint8_t old_phys)
{
    if ((old_state != link->state || old_phys != link->phys) &&
        link->ops->state_changed && !link->quiet) {
        link->ops->state_changed(link->opaque, old_state, link->state);
    }
}

/* Draw a session number: not 0, and not the last one. */
static void ib_train_new_session(IbLink *link)
{
    uint32_t session = link->ops->random(link->opaque);

    while (!session || session == link->session) {
        session++;
    }
    link->session = session;
    link->tx_seq = 0;
}

/* ---------------------------------------------------- training records */

static void ib_train_send(IbLink *link, int64_t now)
{
    uint8_t ts[IB_TS_BYTES] = { 0 };
    const IbLinkConfig *config = &link->config;
    uint32_t seq;

    ib_field_set(ts, IB_TS_KIND, ib_train_ready(link, now) ? IB_TS2 : IB_TS1);
    ib_field_set(ts, IB_TS_CRC, config->crc);
    ib_field_set(ts, IB_TS_PORT_NUM, config->port_num);
    ib_field_set(ts, IB_TS_WIDTH_SUPPORTED, config->width_supported);
    ib_field_set(ts, IB_TS_WIDTH_ENABLED,
                 link->width_enabled & link->cable_widths);
    ib_field_set(ts, IB_TS_SPEED_SUPPORTED, config->speed_supported);
    ib_field_set(ts, IB_TS_SPEED_ENABLED,
                 link->speed_enabled & link->cable_speeds);
    ib_field_set(ts, IB_TS_MAX_FRAME, config->max_frame);
    ib_put_be64(ts + IB_TS_GUID_OFFSET, config->guid);

    link->next_training = now + IB_TRAIN_INTERVAL;
    link->training_sent = now;
    /* Answers, and what is sent on them, may come within the call. */
    seq = link->tx_seq++;
    if (!ib_frame_send_control(link, link->session, link->peer_session, seq,
                               IB_REC_TRAINING, ts, sizeof(ts))) {
        link->tx_seq = seq;
    }
}

/* Content of a frame's first record of @type with at least @len bytes. */
static const uint8_t *ib_train_find(const uint8_t *at, const uint8_t *end,
                                    unsigned type, uint32_t len)
{
    const uint8_t *next;

    for (; (next = ib_record_end(at, end)); at = next) {
        if (ib_field_get(at, IB_REC_TYPE) == type &&
            ib_field_get(at, IB_REC_LENGTH) >= len) {
            return at + IB_REC_BYTES;
        }
    }
    return NULL;
}

/* LinkWidth codes from the widest: 12x, 8x, 4x, 2x, 1x */
static const uint8_t ib_widths[] = { 8, 4, 2, 16, 1 };

/*
 * Take over what the peer tells.  False when both have no width or no speed
 * in common: such a cable never comes up.
 */
static bool ib_train_agree(IbLink *link, const uint8_t *ts)
{
    uint8_t width = link->width_enabled & link->cable_widths &
                    ib_field_get(ts, IB_TS_WIDTH_ENABLED);
    uint16_t speed = link->speed_enabled & link->cable_speeds &
                     ib_field_get(ts, IB_TS_SPEED_ENABLED);
    uint32_t max_frame = ib_field_get(ts, IB_TS_MAX_FRAME);
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(ib_widths) && !(width & ib_widths[i]); i++) {
        ;
    }
    if (i == G_N_ELEMENTS(ib_widths) || !speed ||
        max_frame < IB_FRAME_MIN_MAX) {
        ib_link_trace(link, "training-no-common-mode", NULL, 0);
        return false;
    }
    link->width_active = ib_widths[i];
    link->speed_active = 1u << (31 - __builtin_clz(speed));
    link->peer_max_frame = max_frame;
    link->peer_crc = ib_field_get(ts, IB_TS_CRC);
    link->peer_port = ib_field_get(ts, IB_TS_PORT_NUM);
    link->peer_guid = ib_get_be64(ts + IB_TS_GUID_OFFSET);
    return true;
}

/* --------------------------------------------------------- transitions */

/* Where a port that is not up rests. */
static uint8_t ib_train_rest(const IbLink *link)
{
    return !link->enabled || link->sm_disabled ? IB_PHYS_DISABLED :
           link->down_default;
}

/* Enter a physical state below training, with a session of its own. */
static void ib_train_enter(IbLink *link, uint8_t phys)
{
    int64_t now = ib_link_now(link);

    link->phys = phys;
    link->state = IB_PORT_DOWN;
    ib_hold_reset(link);
    if (link->peer_session) {
        link->old_peer_session = link->peer_session;
        link->peer_session = 0;
    }
    link->peer_ready = false;
    link->probe_armed = false;
    link->pace_full = false;
    ib_life_reset(link);
    ib_inject_purge(link);
    link->polling_since = now;
    ib_train_new_session(link);
    ib_link_update_open(link);
    ib_frame_reset(link);
    if (phys == IB_PHYS_POLLING) {
        ib_train_send(link, now);
    }
    ib_train_rearm(link);
}

static void ib_train_bye(IbLink *link)
{
    uint32_t seq;

    if (!link->attached || !link->peer_session) {
        return;
    }
    ib_frame_send(link);
    seq = link->tx_seq++;
    if (!ib_frame_send_control(link, link->session, link->peer_session, seq,
                               IB_REC_GOING_DOWN, NULL, 0)) {
        link->bye_pending = true;
        link->bye_session = link->session;
        link->bye_peer = link->peer_session;
        link->bye_seq = seq;
    }
}

/* Leave whatever state for @phys, one below training. */
static void ib_train_leave(IbLink *link, uint8_t phys, bool tell, bool lost)
{
    uint8_t old_state = link->state;
    uint8_t old_phys = link->phys;

    if (tell) {
        ib_train_bye(link);
    }
    if (lost && old_phys == IB_PHYS_LINK_UP) {
        link->counters.link_downed++;
    }
    ib_train_enter(link, phys);
    ib_train_changed(link, old_state, old_phys);
}

void ib_train_down(IbLink *link, bool tell, bool lost)
{
    ib_train_leave(link, ib_train_rest(link), tell, lost);
}

static void ib_train_up(IbLink *link)
{
    uint8_t old_state = link->state;
    uint8_t old_phys = link->phys;
    int64_t now = ib_link_now(link);

    link->phys = IB_PHYS_LINK_UP;
    link->state = IB_PORT_INIT;
    link->crc = link->config.crc || link->peer_crc;
    ib_pace_start(link);
    ib_link_update_special(link);
    link->tx_size = MIN(link->config.max_frame, link->peer_max_frame);
    link->last_rx = now;
    link->rx_seen = false;
    link->next_keepalive = now + link->config.keepalive_ms * IB_NS_PER_MS;
    link->probe_armed = false;
    ib_credit_reset(link);
    ib_link_update_open(link);
    ib_frame_reset(link);
    link->credit_urgent = true;
    ib_frame_send(link);
    ib_train_rearm(link);
    ib_train_changed(link, old_state, old_phys);
}

static void ib_train_set_logical(IbLink *link, uint8_t state)
{
    uint8_t old_state = link->state;

    link->state = state;
    ib_link_update_open(link);
    ib_train_changed(link, old_state, link->phys);
    if (link->tx_wanted) {
        ib_tx_notify(link);
    }
}

void ib_train_activate(IbLink *link)
{
    ib_train_set_logical(link, IB_PORT_ACTIVE);
}

/* --------------------------------------------------------------- input */

/* A frame of another session while up.  True: the link went down for it. */
static bool ib_train_stranger(IbLink *link, uint32_t session, uint32_t peer,
                              uint32_t seq, bool training)
{
    bool gone;

    if (session == link->peer_session) {
        /* The peer, but it takes this end for another. */
        gone = training && (int32_t)(seq - link->rx_seq) >= 0;
    } else {
        /* What was sent to or by a session of the past means nothing. */
        gone = training && session != link->old_peer_session &&
               (peer == 0 || peer == link->session);
    }
    if (!gone) {
        link->counters.frames_late++;
        return false;
    }
    ib_link_trace(link, "peer-restarted", NULL, 0);
    ib_train_down(link, false, true);
    return link->phys != IB_PHYS_DISABLED;
}

bool ib_train_frame(IbLink *link, uint32_t session, uint32_t peer,
                    uint32_t seq, const uint8_t *at, const uint8_t *end)
{
    const uint8_t *ts = ib_train_find(at, end, IB_REC_TRAINING, IB_TS_BYTES);
    bool ours = peer == link->session;
    bool news = false;
    int64_t now;

    if (!session || session == link->session) {
        /* A cable plugged into itself, or a hub that echoes. */
        link->counters.frames_late++;
        return false;
    }
    if (link->phys == IB_PHYS_LINK_UP) {
        if (!ib_train_stranger(link, session, peer, seq, ts != NULL)) {
            return false;
        }
        ours = false;
    }
    now = ib_link_now(link);
    if (session == link->peer_session && (int32_t)(seq - link->rx_seq) < 0) {
        link->counters.frames_late++;
        return false;
    }
    if (!ts) {
        if (session != link->peer_session || !ours) {
            link->counters.frames_late++;
            return false;
        }
        if (ib_train_find(at, end, IB_REC_GOING_DOWN, 0)) {
            ib_train_down(link, false, false);
            return false;
        }
        if (ib_train_ready(link, now)) {
            /* The peer is up already; its TS2 was lost. */
            link->rx_seq = seq + 1;
            ib_train_up(link);
            return link->phys == IB_PHYS_LINK_UP;
        }
        link->counters.frames_late++;
        return false;
    }

    if (!ib_train_agree(link, ts)) {
        return false;
    }
    link->counters.frames_received++;
    link->rx_seq = seq + 1;
    link->last_rx = now;
    if (session != link->peer_session) {
        uint8_t old_phys = link->phys;

        link->peer_session = session;
        link->peer_ready = false;
        link->phys = IB_PHYS_PORT_CONF_TRAINING;
        news = true;
        ib_train_changed(link, link->state, old_phys);
        if (link->peer_session != session ||
            link->phys != IB_PHYS_PORT_CONF_TRAINING) {
            return false;
        }
    }
    if (ours && ib_field_get(ts, IB_TS_KIND) == IB_TS2 && !link->peer_ready) {
        link->peer_ready = true;
        news = true;
    }
    if (link->peer_ready && ib_train_ready(link, now)) {
        ib_train_up(link);
        return false;
    }
    if (news) {
        ib_train_send(link, now);
    }
    ib_train_rearm(link);
    return false;
}

void ib_train_again(IbLink *link)
{
    link->credit_dirty = (1u << link->config.vl_cap) - 1;
    link->credit_urgent = true;
}

/* --------------------------------------------------------------- timer */

/*
 * Packets wait for credits: if none come soon, ask for them, since the record
 * that carried them may be lost.
 */
void ib_train_arm_probe(IbLink *link)
{
    unsigned vl;

    if (link->probe_armed) {
        return;
    }
    for (vl = 0; vl < link->config.vl_cap; vl++) {
        link->probe_fctbs[vl] = link->vl[vl].fctbs;
    }
    link->probe_armed = true;
    link->next_probe = ib_link_now(link) + IB_PROBE_INTERVAL;
    ib_train_rearm(link);
}

static void ib_train_probe(IbLink *link)
{
    uint16_t vls = (link->tx_waiting | link->tx_wanted) & link->tx_open &
                   ~IB_VL15_MASK;
    bool again = vls != 0 || link->credit_doubt;

    link->probe_armed = false;
    if (link->credit_doubt) {
        link->credit_dirty = (1u << link->config.vl_cap) - 1;
        link->credit_urgent = true;
        link->credit_request = true;
    }
    while (vls) {
        unsigned vl = __builtin_ctz(vls);

        vls &= vls - 1;
        if (link->vl[vl].fctbs == link->probe_fctbs[vl]) {
            link->credit_dirty |= 1u << vl;
            link->credit_urgent = true;
            link->credit_request = true;
        }
    }
    ib_frame_send(link);
    if (again) {
        ib_train_arm_probe(link);
    }
}

static void ib_train_tick(IbLink *link, int64_t now)
{
    if (link->rx_seen) {
        link->last_rx = now;
        link->rx_seen = false;
    } else if (now - link->last_rx >=
               link->config.timeout_ms * IB_NS_PER_MS) {
        ib_link_trace(link, "link-timeout", NULL, 0);
        ib_train_down(link, true, true);
        return;
    }
    if (now >= link->next_keepalive) {
        link->next_keepalive = now + link->config.keepalive_ms * IB_NS_PER_MS;
        link->credit_dirty = (1u << link->config.vl_cap) - 1;
        link->credit_urgent = true;
        ib_errors_watch(link);
        ib_frame_send(link);
    }
    if (link->probe_armed && now >= link->next_probe) {
        ib_train_probe(link);
    }
    if (link->life_armed && now >= link->next_life) {
        ib_life_tick(link, now);
    }
    if (link->pace_full && now >= link->pace_free) {
        ib_pace_resume(link, now);
    }
    if (ib_inject_due(link) <= now) {
        ib_inject_tick(link, now);
    }
}

void ib_link_timer(IbLink *link)
{
    int64_t now = ib_link_now(link);

    link->deadline = INT64_MAX;
    if (link->detach_pending && !link->sending) {
        link->detach_pending = false;
        ib_link_cable_detach(link);
        return;
    }
    switch (link->phys) {
    case IB_PHYS_PORT_CONF_TRAINING:
        if (now - link->last_rx >= link->config.timeout_ms * IB_NS_PER_MS) {
            ib_train_down(link, false, false);
            break;
        }
        if (link->peer_ready && ib_train_ready(link, now)) {
            ib_train_up(link);
            break;
        }
        if (ib_train_ready(link, now) &&
            link->training_sent < ib_train_ready_time(link)) {
            ib_train_send(link, now);
            break;
        }
        /* fall through */
    case IB_PHYS_POLLING:
        if (now >= link->next_training) {
            ib_train_send(link, now);
        }
        break;
    case IB_PHYS_LINK_UP:
        ib_train_tick(link, now);
        ib_errors_tell(link);
        ib_link_settle(link);
        break;
    default:
        break;
    }
    ib_train_rearm(link);
}

/* --------------------------------------------------- what others decide */

void ib_train_reset(IbLink *link)
{
    if (link->resumed) {
        link->resumed = false;
        link->attached = false;
    }
    link->sm_disabled = false;
    ib_train_leave(link, ib_train_rest(link), true, false);
}

bool ib_link_set_state(IbLink *link, uint8_t state)
{
    switch (state) {
    case IB_PORT_NO_CHANGE:
        return true;
    case IB_PORT_DOWN:
        if (link->phys >= IB_PHYS_PORT_CONF_TRAINING ||
            link->phys != ib_train_rest(link)) {
            ib_train_down(link, true, false);
        }
        return true;
    case IB_PORT_ARMED:
        if (link->state == IB_PORT_INIT) {
            ib_train_set_logical(link, state);
        }
        return link->state == IB_PORT_ARMED;
    case IB_PORT_ACTIVE:
        if (link->state == IB_PORT_ARMED) {
            ib_train_set_logical(link, state);
        }
        return link->state == IB_PORT_ACTIVE;
    default:
        return false;
    }
}

bool ib_link_set_phys_state(IbLink *link, uint8_t phys)
{
    switch (phys) {
    case IB_PHYS_NO_CHANGE:
        return true;
    case IB_PHYS_SLEEP:
    case IB_PHYS_POLLING:
    case IB_PHYS_DISABLED:
        break;
    default:
        return false;
    }
    link->sm_disabled = phys == IB_PHYS_DISABLED;
    if (!link->enabled) {
        phys = IB_PHYS_DISABLED;
    }
    if (link->phys != phys) {
        ib_train_leave(link, phys, true, false);
    }
    return true;
}

bool ib_link_set_down_default(IbLink *link, uint8_t phys)
{
    if (phys > IB_PHYS_POLLING) {
        return false;
    }
    if (phys) {
        link->down_default = phys;
    }
    return true;
}

void ib_link_set_enabled(IbLink *link, bool enabled)
{
    if (link->enabled == enabled) {
        return;
    }
    link->enabled = enabled;
    if (link->phys != ib_train_rest(link)) {
        ib_train_leave(link, ib_train_rest(link), true, false);
    }
}

void ib_link_cable_attach(IbLink *link)
{
    uint8_t phys = ib_train_rest(link);

    if (link->resumed) {
        link->resumed = false;
        ib_credit_doubt(link);
        ib_link_cable_ready(link);
        return;
    }
    if (link->attached) {
        return;
    }
    link->attached = true;
    link->cable_busy = false;
    link->bye_pending = false;
    link->detach_pending = false;
    ib_train_leave(link, phys, false, false);
}

void ib_link_cable_detach(IbLink *link)
{
    if (!link->attached) {
        return;
    }
    if (link->sending) {
        /* The frame is still being read: do it from the timer. */
        link->detach_pending = true;
        ib_train_rearm(link);
        return;
    }
    link->attached = false;
    link->resumed = false;
    ib_frame_reset(link);
    if (link->phys >= IB_PHYS_PORT_CONF_TRAINING) {
        ib_train_down(link, false, true);
    }
    ib_train_rearm(link);
}

void ib_link_cable_ready(IbLink *link)
{
    if (!link->cable_busy) {
        return;
    }
    link->cable_busy = false;
    if (link->bye_pending) {
        link->bye_pending = !ib_frame_send_control(link, link->bye_session,
                                                   link->bye_peer,
                                                   link->bye_seq,
                                                   IB_REC_GOING_DOWN, NULL, 0);
    }
    if (link->phys == IB_PHYS_LINK_UP) {
        ib_frame_send(link);
        link->credit_arrived = true;
        ib_link_settle(link);
    }
}
