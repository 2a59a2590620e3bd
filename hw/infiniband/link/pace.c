/*
 * A port that sends no faster than its line
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A token bucket in time: each packet moves on the time at which the line is
 * free again by what its bytes take.  Until then the frame has no room for
 * packets, so they wait in their VLs and arbitration is real.  A timer that
 * comes late, or a line that was idle, is made good up to IB_PACE_SLACK.
 */
#include "link-int.h"

#define IB_PACE_SLACK       (1 * IB_NS_PER_MS)
#define IB_NS_PER_S         UINT64_C(1000000000)

/*
 * Bytes a second of one lane, less its coding, by the bit of speed_active:
 * 2.5, 5 and 10 Gb/s of which 8b/10b leaves eight tenths; FDR (14.0625 Gb/s)
 * and EDR with 64b/66b; HDR and NDR.
 */
static const uint64_t ib_lane_rates[] = {
    250000000, 500000000, 1000000000, 0,
    1704545454, UINT64_C(3125000000), UINT64_C(6250000000),
    UINT64_C(12500000000),
};

unsigned ib_link_lanes(uint8_t width)
{
    switch (width) {
    case 2:
        return 4;
    case 4:
        return 8;
    case 8:
        return 12;
    case 16:
        return 2;
    default:
        return 1;
    }
}

uint64_t ib_link_rate(uint8_t width, uint16_t speed)
{
    unsigned bit;

    for (bit = 0; bit < G_N_ELEMENTS(ib_lane_rates); bit++) {
        if (speed == 1u << bit) {
            return ib_link_lanes(width) * ib_lane_rates[bit];
        }
    }
    return 0;
}

/* LinkUp: width and speed are known now. */
void ib_pace_start(IbLink *link)
{
    link->pace_rate = link->config.rate;
    if (link->pace_rate == IB_RATE_LINK) {
        link->pace_rate = ib_link_rate(link->width_active,
                                       link->speed_active);
    }
    link->pace_free = 0;
    link->pace_rest = 0;
    link->pace_full = false;
}

void ib_pace_charge(IbLink *link, uint32_t len)
{
    int64_t now = ib_link_now(link);
    uint64_t work = (len + IB_VCRC_BYTES) * IB_NS_PER_S + link->pace_rest;

    link->pace_free = MAX(link->pace_free, now - IB_PACE_SLACK) +
                      (int64_t)(work / link->pace_rate);
    link->pace_rest = work % link->pace_rate;
    if (link->pace_free > now) {
        link->pace_full = true;
        link->tx_limit = 0;
        ib_train_rearm(link);
    }
}

/* The line is free: go on from ib_link_settle(). */
void ib_pace_resume(IbLink *link, int64_t now)
{
    link->pace_full = false;
    ib_frame_open(link);
    if (link->wait_since) {
        link->wait_since = now;     /* the line was busy, not waiting */
    }
    link->credit_arrived = true;
}
