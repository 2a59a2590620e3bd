/*
 * Saving a switch and loading it: everything that an SM has set, packets that
 * wait, and bytes that no save has written
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ib-fabric.h"

static GByteArray *save(const FabricStar *s)
{
    GByteArray *bytes = g_byte_array_new();

    ib_switch_save(s->sw->sw, bytes);
    return bytes;
}

static void test_tables(void)
{
    FabricStar s;
    GByteArray *bytes, *again;
    uint8_t mask[32], before[64] = { 0 }, after[64] = { 0 };
    FabricUd ud = { .slid = 1, .dlid = 2, .dest_qpn = 9, .payload_len = 64 };

    fabric_star_init(&s, 3, NULL);
    fabric_set_switch_info(s.host[0], &s.route, 50, 3, 2, 0xc010);
    fabric_set_mft(s.host[0], &s.route, 0xc007, 1 << 2 | 1 << 3);
    ud.dlid = 60;
    fabric_send(s.host[0], &ud);
    fabric_settle(s.fabric);
    g_assert_cmpint(fabric_smp(s.host[0], &s.route, IB_METHOD_GET,
                               IB_SM_ATTR_SWITCH_INFO, 0, before), ==, 0);
    bytes = save(&s);
    g_assert_true(fabric_replace_switch(s.sw, bytes->data, bytes->len));
    again = save(&s);
    g_assert_cmpmem(bytes->data, bytes->len, again->data, again->len);

    g_assert_cmpuint(ib_switch_lft_get(s.sw->sw, 2), ==, 2);
    g_assert_cmpuint(ib_switch_lft_get(s.sw->sw, FABRIC_SWITCH_LID), ==, 0);
    ib_switch_mft_get(s.sw->sw, 0xc007, mask);
    g_assert_cmphex(mask[0], ==, 1 << 2 | 1 << 3);
    g_assert_cmpuint(ib_switch_discards(s.sw->sw, IB_DISCARD_ABOVE_TOP), ==,
                     1);
    g_assert_cmpint(ib_node_lid(ib_switch_node(s.sw->sw), 0), ==,
                    FABRIC_SWITCH_LID);
    g_assert_cmpint(ib_link_state(s.sw->ends[2].link), ==, IB_PORT_ACTIVE);
    g_assert_cmpint(fabric_smp(s.host[0], &s.route, IB_METHOD_GET,
                               IB_SM_ATTR_SWITCH_INFO, 0, after), ==, 0);
    g_assert_cmpmem(before, 64, after, 64);
    ud.dlid = 2;
    fabric_send(s.host[0], &ud);
    fabric_settle(s.fabric);
    g_assert_cmpuint(fabric_star_received(&s, 1), ==, 1);
    g_byte_array_unref(bytes);
    g_byte_array_unref(again);
    fabric_star_clear(&s);
}

/* Packets that wait for credits move with the switch: none lost, in order. */
static void test_mid_traffic(void)
{
    FabricStar s;
    FabricUd ud = { .slid = 1, .dlid = 3, .dest_qpn = 9 };
    uint8_t payload[1024] = { 0 };
    GByteArray *bytes;
    unsigned i;
    uint32_t waiting;

    fabric_star_init(&s, 3, NULL);
    s.host[2]->slow_ns = 2 * FABRIC_MS;
    ud.payload = payload;
    ud.payload_len = sizeof(payload);
    for (i = 0; i < 110; i++) {
        ib_put_be32(payload, i);
        g_assert_cmpint(fabric_send(s.host[0], &ud), !=, IB_TX_DISCARDED);
        fabric_settle(s.fabric);
    }
    waiting = ib_link_tx_queued(s.sw->ends[3].link, 0);
    g_assert_cmpuint(waiting, >, 10);
    bytes = save(&s);
    g_assert_true(fabric_replace_switch(s.sw, bytes->data, bytes->len));
    g_assert_cmpuint(ib_link_tx_queued(s.sw->ends[3].link, 0), ==, waiting);
    for (; i < 160; i++) {
        ib_put_be32(payload, i);
        g_assert_cmpint(fabric_send(s.host[0], &ud), !=, IB_TX_DISCARDED);
        fabric_run(s.fabric, 5 * FABRIC_MS);
    }
    fabric_run(s.fabric, 1000 * FABRIC_MS);
    g_assert_cmpuint(fabric_star_received(&s, 2), ==, 160);
    for (i = 0; i < 160; i++) {
        const FabricPacket *p = fabric_packet(s.host[2], i);
        IbPacketInfo info;

        g_assert_cmpint(ib_packet_parse(p->data, p->len, &info), ==,
                        IB_PACKET_OK);
        g_assert_cmpuint(ib_get_be32(p->data + info.payload), ==, i);
    }
    g_assert_cmpuint(ib_link_rx_occupancy(s.sw->ends[1].link, 0), ==, 0);
    g_byte_array_unref(bytes);
    fabric_star_clear(&s);
}

/* A state of another configuration, cut short or too long: refused, reset. */
static void test_refuses(void)
{
    FabricStar s;
    Fabric *f = fabric_new();
    IbSwitchConfig config = fabric_switch_config(f, 3);
    GByteArray *bytes;
    FabricSwitch *other;
    size_t len;

    config.linear_fdb_cap = 128;
    fabric_star_init(&s, 2, &config);
    bytes = save(&s);
    config.num_ports = 4;
    other = fabric_add_switch(f, &config);
    g_assert_false(ib_switch_load(other->sw, bytes->data, bytes->len));
    config.num_ports = 3;
    config.linear_fdb_cap = 64;
    other = fabric_add_switch(f, &config);
    g_assert_false(ib_switch_load(other->sw, bytes->data, bytes->len));
    config.linear_fdb_cap = 128;
    other = fabric_add_switch(f, &config);
    for (len = 0; len < bytes->len; len += 1 + len / 50) {
        g_assert_false(ib_switch_load(other->sw, bytes->data, len));
        g_assert_cmpuint(ib_switch_lft_get(other->sw, 1), ==, 255);
    }
    g_assert_true(ib_switch_load(other->sw, bytes->data, bytes->len));
    g_assert_cmpuint(ib_switch_lft_get(other->sw, 1), ==, 1);
    g_byte_array_append(bytes, (const uint8_t *)"", 1);
    g_assert_false(ib_switch_load(other->sw, bytes->data, bytes->len));
    g_byte_array_unref(bytes);
    fabric_free(f);
    fabric_star_clear(&s);
}

/* One wrong byte anywhere does no harm. */
static void test_damaged(void)
{
    FabricStar s;
    Fabric *f = fabric_new();
    IbSwitchConfig config = fabric_switch_config(f, 3);
    FabricUd ud = { .slid = 1, .dlid = 2, .dest_qpn = 9,
                    .payload_len = 1024 };
    GByteArray *bytes;
    FabricSwitch *other;
    unsigned i, step;

    config.linear_fdb_cap = 64;
    config.multicast_fdb_cap = 32;
    fabric_star_init(&s, 2, &config);
    s.host[1]->slow_ns = 1000 * FABRIC_MS;
    for (i = 0; i < 70; i++) {
        fabric_send(s.host[0], &ud);
        fabric_settle(s.fabric);
    }
    bytes = save(&s);
    other = fabric_add_switch(f, &config);
    step = 1 + bytes->len / 5000;
    for (i = 0; i < bytes->len; i += step) {
        uint8_t right = bytes->data[i];

        bytes->data[i] ^= 1 << i % 8;
        ib_switch_load(other->sw, bytes->data, bytes->len);
        fabric_run(f, FABRIC_MS);
        bytes->data[i] = 255;
        ib_switch_load(other->sw, bytes->data, bytes->len);
        bytes->data[i] = right;
    }
    g_byte_array_unref(bytes);
    fabric_free(f);
    fabric_star_clear(&s);
}

/* A reset is power-on: no routes, no LID, links train again. */
static void test_reset(void)
{
    FabricStar s;
    uint8_t info[64] = { 0 };

    fabric_star_init(&s, 2, NULL);
    ib_switch_reset(s.sw->sw);
    g_assert_cmpuint(ib_switch_lft_get(s.sw->sw, 1), ==, 255);
    g_assert_cmpuint(ib_node_lid(ib_switch_node(s.sw->sw), 0), ==, 0);
    fabric_run(s.fabric, 5 * FABRIC_TRAINING);
    g_assert_cmpint(ib_link_state(s.sw->ends[1].link), ==, IB_PORT_INIT);
    g_assert_cmpint(fabric_smp(s.host[0], &s.route, IB_METHOD_GET,
                               IB_SM_ATTR_SWITCH_INFO, 0, info), ==, 0);
    g_assert_cmpuint(ib_field_get(info, IB_SWITCHINFO_LINEAR_FDB_TOP), ==, 0);
    g_assert_cmpuint(info[9], ==, 255);
    fabric_star_clear(&s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/switch/state/tables", test_tables);
    g_test_add_func("/switch/state/mid-traffic", test_mid_traffic);
    g_test_add_func("/switch/state/refuses", test_refuses);
    g_test_add_func("/switch/state/damaged", test_damaged);
    g_test_add_func("/switch/state/reset", test_reset);
    return g_test_run();
}
