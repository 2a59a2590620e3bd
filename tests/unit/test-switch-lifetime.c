/*
 * HOQLife, LifeTimeValue and VLStallCount as a subnet manager sets them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ib-fabric.h"

#define LIFE(code)  (INT64_C(4096) << (code))

static void send_many(FabricStar *s, unsigned n)
{
    uint8_t payload[2048] = { 0 };
    FabricUd ud = {
        .slid = 1, .dlid = 2, .dest_qpn = 9, .payload = payload,
        .payload_len = sizeof(payload),
    };
    unsigned i;

    for (i = 0; i < n; i++) {
        if (ib_link_tx_queued(s->host[0]->end.link, 0) < 60) {
            fabric_send(s->host[0], &ud);
        }
    }
    ib_link_flush(s->host[0]->end.link);
}

/* LifeTimeValue set with SwitchInfo; the peer of port 2 holds all it gets. */
static void test_switch_info(void)
{
    uint8_t data[64] = { 0 };
    FabricStar s;
    IbLinkCounters *c;
    uint64_t late;

    fabric_star_init(&s, 2, NULL);
    s.host[1]->slow_ns = INT64_C(3600) * 1000 * FABRIC_MS;
    g_assert_cmpint(fabric_smp(s.host[0], &s.route, IB_METHOD_GET,
                               IB_SM_ATTR_SWITCH_INFO, 0, data), ==, 0);
    ib_field_set(data, IB_SWITCHINFO_LIFE_TIME_VALUE, 13);
    g_assert_cmpint(fabric_smp(s.host[0], &s.route, IB_METHOD_SET,
                               IB_SM_ATTR_SWITCH_INFO, 0, data), ==, 0);
    send_many(&s, 200);
    fabric_run(s.fabric, LIFE(13) / 2);
    c = ib_link_counters(s.sw->ends[2].link);
    g_assert_cmpint(c->xmit_discards, ==, 0);
    g_assert_cmpint(ib_link_tx_queued(s.sw->ends[2].link, 0), >, 0);
    fabric_run(s.fabric, LIFE(13));
    c = ib_link_counters(s.sw->ends[2].link);
    late = c->sw_lifetime_discards;
    g_assert_cmpint(late, >, 0);
    g_assert_cmpint(c->xmit_discards, ==, late);
    g_assert_cmpint(ib_switch_discards(s.sw->sw, IB_DISCARD_LIFETIME), ==,
                    late);
    fabric_star_clear(&s);
}

/* HOQLife until the VL is stalled: what then comes is discarded as late. */
static void test_stalled(void)
{
    FabricStar s;
    IbLink *out;
    uint64_t late;

    fabric_star_init(&s, 2, NULL);
    out = s.sw->ends[2].link;
    s.host[1]->slow_ns = INT64_C(3600) * 1000 * FABRIC_MS;
    ib_link_set_hoq_life(out, 14);
    ib_link_set_vl_stall_count(out, 2);
    send_many(&s, 200);
    fabric_run(s.fabric, 3 * LIFE(14));
    g_assert_true(ib_link_vl_stalled(out, 0));
    /* "May include packets dropped while in VLStalled State" (16.1.4.2) */
    g_assert_cmpint(ib_link_counters(out)->sw_hoq_lifetime_discards, >, 2);
    g_assert_cmpint(ib_link_counters(out)->sw_hoq_lifetime_discards, ==,
                    ib_link_counters(out)->xmit_discards);
    late = ib_switch_discards(s.sw->sw, IB_DISCARD_LIFETIME);
    send_many(&s, 1);
    fabric_run(s.fabric, FABRIC_MS);
    g_assert_cmpint(ib_switch_discards(s.sw->sw, IB_DISCARD_LIFETIME), ==,
                    late + 1);
    fabric_star_clear(&s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/switch/lifetime/switch-info", test_switch_info);
    g_test_add_func("/switch/lifetime/stalled", test_stalled);
    return g_test_run();
}
