/*
 * Packets that have waited too long (IBA Vol.1 18.2.5.4)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A switch's port discards a packet that has been at the head of its VL's
 * queue for HOQLife, or in the switch for LifeTimeValue.  A VL that has so
 * lost VLStallCount packets in a row by HOQLife is stalled: for 8 * HOQLife
 * it discards all that waits and comes.
 *
 * Only what is held in a queue can be late, so a packet that cuts through
 * costs nothing here.  Queues are first in, first out, so the heads are the
 * oldest, and a deadline that is armed is never later than one that comes to
 * be after it: the timer is set once for a while, not once a packet.
 */
#include "link-int.h"

#define IB_STALL_LIVES          8       /* HOQLife times that a stall lasts */

int64_t ib_life_ns(uint8_t code)
{
    return code >= IB_LIFE_TIME_INFINITE ? INT64_MAX : INT64_C(4096) << code;
}

static int64_t ib_life_end(int64_t since, int64_t life)
{
    return life == INT64_MAX ? INT64_MAX : since + life;
}

/* When the head of @v has been in the switch too long. */
static int64_t ib_life_switch_deadline(const IbLink *link, const IbLinkVl *v)
{
    int64_t born = v->head->buf->born;

    return born ? ib_life_end(born, link->life_ns) : INT64_MAX;
}

static int64_t ib_life_deadline(const IbLink *link, const IbLinkVl *v)
{
    return MIN(ib_life_end(v->head_since, link->hoq_ns),
               ib_life_switch_deadline(link, v));
}

static void ib_life_arm(IbLink *link, int64_t deadline)
{
    if (deadline == INT64_MAX ||
        (link->life_armed && link->next_life <= deadline)) {
        return;
    }
    link->life_armed = true;
    link->next_life = deadline;
    ib_train_rearm(link);
}

void ib_life_watch(IbLink *link, unsigned vl)
{
    if (link->config.switch_port && !link->life_armed &&
        vl != IB_VL_MGMT) {
        ib_life_arm(link, ib_life_deadline(link, &link->vl[vl]));
    }
}

/* Arm for whichever head or stall ends first. */
static void ib_life_rearm(IbLink *link)
{
    uint16_t vls = (link->tx_waiting | link->stalled) & ~IB_VL15_MASK;

    while (vls) {
        unsigned vl = __builtin_ctz(vls);
        const IbLinkVl *v = &link->vl[vl];

        vls &= vls - 1;
        if (link->stalled & (1u << vl)) {
            ib_life_arm(link, v->stalled_until);
        }
        if (v->head) {
            ib_life_arm(link, ib_life_deadline(link, v));
        }
    }
}

void ib_life_changed(IbLink *link)
{
    link->hoq_ns = ib_life_ns(link->hoq_life);
    link->life_ns = ib_life_ns(link->life_time);
    link->life_armed = false;
    if (link->config.switch_port) {
        ib_life_rearm(link);
    }
}

void ib_life_reset(IbLink *link)
{
    unsigned vl;

    for (vl = 0; vl < IB_VLS; vl++) {
        link->vl[vl].stall_drops = 0;
    }
    link->stalled = 0;
    link->life_armed = false;
}

/*
 * A packet of @vl was lost to HOQLife.  In a row means that nothing was sent
 * on the VL meanwhile: FCTBS is where it was.
 */
static void ib_life_count_stall(IbLink *link, unsigned vl, int64_t now)
{
    IbLinkVl *v = &link->vl[vl];

    if (v->stall_drops && v->fctbs != v->stall_fctbs) {
        v->stall_drops = 0;
    }
    v->stall_fctbs = v->fctbs;
    v->stall_drops++;
    if (link->vl_stall_count && v->stall_drops >= link->vl_stall_count) {
        v->stall_drops = 0;
        v->stalled_until = now + IB_STALL_LIVES * link->hoq_ns;
        link->stalled |= 1u << vl;
        ib_link_trace(link, "vl-stalled", NULL, 0);
        ib_link_update_open(link);
    }
}

/* Discard what is late at the head of @vl and behind it. */
static void ib_life_expire(IbLink *link, unsigned vl, int64_t now)
{
    IbLinkVl *v = &link->vl[vl];

    while (v->head && now >= ib_life_deadline(link, v)) {
        bool hoq = now < ib_life_switch_deadline(link, v);

        ib_tx_discard_head(link, vl, hoq ? IB_XMIT_HOQ_LIFE
                                         : IB_XMIT_LIFE_TIME);
        v->head_since = now;
        if (hoq) {
            ib_life_count_stall(link, vl, now);
        }
    }
}

void ib_life_restart(IbLink *link)
{
    int64_t now = ib_link_now(link);
    unsigned vl;

    for (vl = 0; vl < IB_VL_MGMT; vl++) {
        link->vl[vl].head_since = now;
    }
}

void ib_life_tick(IbLink *link, int64_t now)
{
    uint16_t stalled = link->stalled;
    uint16_t vls = link->tx_waiting & ~IB_VL15_MASK;
    unsigned vl;

    link->life_armed = false;
    if (link->credit_doubt) {
        /* It is the migration that they wait for, not the fabric. */
        ib_life_restart(link);
    }
    for (vl = 0; stalled >> vl; vl++) {
        if ((stalled & (1u << vl)) && now >= link->vl[vl].stalled_until) {
            link->stalled &= ~(1u << vl);
        }
    }
    if (stalled != link->stalled) {
        ib_link_update_open(link);
        link->credit_arrived = true;        /* try what was turned away */
    }
    for (vl = 0; vls >> vl; vl++) {
        if (vls & (1u << vl)) {
            ib_life_expire(link, vl, now);
        }
    }
    ib_life_rearm(link);
}

void ib_link_set_hoq_life(IbLink *link, uint8_t code)
{
    link->hoq_life = code & 0x1f;
    ib_life_changed(link);
}

void ib_link_set_life_time(IbLink *link, uint8_t code)
{
    link->life_time = code & 0x1f;
    ib_life_changed(link);
}

bool ib_link_vl_stalled(const IbLink *link, uint8_t vl)
{
    return vl < IB_VLS && (link->stalled & (1u << vl));
}
