/*
 * Thresholds of errors: LocalPhyErrors, OverrunErrors, the watchdog of flow
 * control
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IBA Vol.1 7.12.2.  Single errors are counted where they happen; here is what
 * many of them mean.  Good packets cost nothing: how many there were since
 * the last bad one is asked for when the next comes.
 */
#include "link-int.h"

static void ib_errors_raise(IbLink *link, IbLinkError error, const char *name)
{
    link->counters.link_error_recovery++;
    ib_link_trace(link, name, NULL, 0);
    link->errors |= 1u << error;
}

/* Not at once: the owner may send in answer, and a frame may be half done. */
void ib_errors_tell(IbLink *link)
{
    unsigned errors = link->errors;
    unsigned error;

    link->errors = 0;
    for (error = 0; errors >> error; error++) {
        if ((errors >> error & 1) && link->ops->error) {
            link->ops->error(link->opaque, error);
        }
    }
}

void ib_errors_reset(IbLink *link)
{
    link->phy_count = 0;
    link->phy_seen = 0;
    link->overrun_periods = 0;
    link->overrun = false;
    link->fc_known = link->fc_seen = 0;
    link->fc_missed_ms = 0;
    link->errors = 0;
}

void ib_link_set_error_thresholds(IbLink *link, uint8_t local_phy,
                                  uint8_t overrun)
{
    link->phy_limit = local_phy & 0xf;
    link->overrun_limit = overrun & 0xf;
}

/* LinkSpeedExtActive: 64b/66b, whose errors have counters of their own. */
static bool ib_errors_64b66b(const IbLink *link)
{
    return link->speed_active >> 4;
}

void ib_errors_lost(IbLink *link, uint32_t count)
{
    link->counters.symbol_errors += count;
    if (ib_errors_64b66b(link)) {
        link->counters.sync_header_errors += count;
    }
}

void ib_errors_frame(IbLink *link)
{
    link->counters.symbol_errors++;
    if (ib_errors_64b66b(link)) {
        link->counters.unknown_blocks++;
    }
}

/* The packet is counted as received already. */
void ib_errors_physical(IbLink *link)
{
    IbLinkCounters *c = &link->counters;
    uint64_t good = 0;
    unsigned vl;

    if (ib_errors_64b66b(link)) {
        c->lane_errors[c->local_physical_errors %
                       ib_link_lanes(link->width_active)]++;
    }
    c->local_physical_errors++;
    for (vl = 0; vl < IB_VLS; vl++) {
        good += c->rcv_pkts_vl[vl];
    }
    good -= link->phy_seen + 1;
    link->phy_seen += good + 1;
    link->phy_count -= MIN(good, link->phy_count);
    if (++link->phy_count > link->phy_limit) {
        link->phy_count = 0;
        c->local_link_integrity_errors++;
        ib_errors_raise(link, IB_LINK_INTEGRITY, "link-integrity");
    }
}

void ib_errors_overrun(IbLink *link)
{
    link->counters.buffer_overruns++;
    link->overrun = true;
}

void ib_errors_period(IbLink *link)
{
    if (G_LIKELY(!link->overrun)) {
        link->overrun_periods = 0;
        return;
    }
    link->overrun = false;
    if (++link->overrun_periods > link->overrun_limit) {
        link->overrun_periods = 0;
        link->counters.excessive_buffer_overruns++;
        ib_errors_raise(link, IB_LINK_BUFFER_OVERRUN, "buffer-overrun");
    }
}

/*
 * Time is counted in calls, not by the clock: what came while this process
 * stood still is read only after it.
 */
void ib_errors_watch(IbLink *link)
{
    uint16_t missing = link->fc_known & ~link->fc_seen &
                       link->vls_operational;
    unsigned vl;

    link->fc_seen = 0;
    if (!missing || link->state != IB_PORT_ACTIVE) {
        link->fc_missed_ms = 0;
        return;
    }
    link->fc_missed_ms += link->config.keepalive_ms;
    if (link->fc_missed_ms < link->config.timeout_ms) {
        return;
    }
    link->fc_missed_ms = 0;
    for (vl = 0; missing >> vl; vl++) {
        link->counters.flow_update_errors_vl[vl] += missing >> vl & 1;
    }
    ib_errors_raise(link, IB_LINK_FLOW_UPDATE, "flow-update");
}
