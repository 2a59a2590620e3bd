/*
 * MADs and attributes against bytes written by hand from the tables of IBA
 * Vol. 1 (13.4, 14.2, 16.1), so that layouts stay where they are also where
 * neither libibmad nor OpenSM's header is at hand
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hw/infiniband/ib-mad.h"
#include "hw/infiniband/ib-sm-attr.h"
#include "hw/infiniband/ib-gs-attr.h"

/* A directed-route Get(NodeInfo) two hops out, on its way at hop 1 */
static void test_smp_directed_route(void)
{
    static const uint8_t head[] = {
        0x01, 0x81, 0x01, 0x01, 0x00, 0x00, 0x01, 0x02,
        0x00, 0x00, 0x00, 0x05, 0xca, 0xfe, 0x12, 0x34,
        0x00, 0x11, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
        0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00,
    };
    uint8_t mad[IB_MAD_BYTES];

    memset(mad, 0xee, sizeof(mad));
    ib_mad_init(mad, IB_CLASS_SUBN_DIRECTED_ROUTE, IB_CLASS_VERSION_SUBN,
                IB_METHOD_GET, 0x5cafe1234, IB_SM_ATTR_NODE_INFO, 0);
    ib_field_set(mad, IB_SMP_HOP_POINTER, 1);
    ib_field_set(mad, IB_SMP_HOP_COUNT, 2);
    ib_put_be64(mad + IB_SMP_M_KEY_OFFSET, 0x1122334455667788);
    ib_field_set(mad, IB_SMP_DR_SLID, 0xffff);
    ib_field_set(mad, IB_SMP_DR_DLID, 0xffff);
    mad[IB_SMP_INITIAL_PATH_OFFSET + 1] = 0x21;
    mad[IB_SMP_RETURN_PATH_OFFSET + 1] = 0x12;
    g_assert_cmpmem(mad, sizeof(head), head, sizeof(head));
    g_assert_cmphex(mad[128 + 1], ==, 0x21);
    g_assert_cmphex(mad[192 + 1], ==, 0x12);
    g_assert_cmphex(mad[255], ==, 0);
    g_assert_true(ib_mad_is_smp(mad));
}

/* Responses: GetResp for Get and Set, the R bit else, D in directed route */
static void test_response(void)
{
    static const struct {
        uint8_t class, method;
        uint16_t status;
        uint8_t want[3];
    } rows[] = {
        { 0x81, 0x01, 0x0000, { 0x81, 0x80, 0x00 } },
        { 0x81, 0x02, 0x001c, { 0x81, 0x80, 0x1c } },
        { 0x01, 0x02, 0x000c, { 0x81, 0x00, 0x0c } },
        { 0x04, 0x01, 0x0004, { 0x81, 0x00, 0x04 } },
        { 0x03, 0x12, 0x0200, { 0x92, 0x02, 0x00 } },
        { 0x04, 0x06, 0x0008, { 0x86, 0x00, 0x08 } },
    };
    uint8_t mad[IB_MAD_BYTES];
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(rows); i++) {
        ib_mad_init(mad, rows[i].class, 1, rows[i].method, 0x77, 0x15, 3);
        ib_mad_to_response(mad, rows[i].status);
        g_assert_cmphex(mad[1], ==, rows[i].class);
        g_assert_cmpmem(mad + 3, 3, rows[i].want, 3);
        g_assert_cmpint(ib_field_get(mad, IB_MAD_ATTRIBUTE_MODIFIER), ==, 3);
    }
}

static void test_node_info(void)
{
    static const uint8_t want[40] = {
        0x01, 0x01, 0x02, 0x24,
        0x0a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,
        0x0b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02,
        0x0c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03,
        0x00, 0x20, 0xc7, 0x38, 0x00, 0x00, 0x00, 0xa1,
        0x07, 0x00, 0x02, 0xc9,
    };
    uint8_t a[40] = { 0 };

    ib_field_set(a, IB_NODEINFO_BASE_VERSION, 1);
    ib_field_set(a, IB_NODEINFO_CLASS_VERSION, 1);
    ib_field_set(a, IB_NODEINFO_NODE_TYPE, IB_NODE_TYPE_SWITCH);
    ib_field_set(a, IB_NODEINFO_NUM_PORTS, 36);
    ib_put_be64(a + IB_NODEINFO_SYSTEM_IMAGE_GUID_OFFSET, 0x0a00000000000001);
    ib_put_be64(a + IB_NODEINFO_NODE_GUID_OFFSET, 0x0b00000000000002);
    ib_put_be64(a + IB_NODEINFO_PORT_GUID_OFFSET, 0x0c00000000000003);
    ib_field_set(a, IB_NODEINFO_PARTITION_CAP, 32);
    ib_field_set(a, IB_NODEINFO_DEVICE_ID, 0xc738);
    ib_field_set(a, IB_NODEINFO_REVISION, 0xa1);
    ib_field_set(a, IB_NODEINFO_LOCAL_PORT_NUM, 7);
    ib_field_set(a, IB_NODEINFO_VENDOR_ID, 0x2c9);
    g_assert_cmpmem(a, sizeof(a), want, sizeof(want));
}

static void test_switch_info(void)
{
    static const uint8_t want[20] = {
        0xc0, 0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x2a,
        0x01, 0x02, 0x03, 0x95, 0x00, 0x00, 0x00, 0x40,
        0xf8, 0x00, 0xc0, 0x3f,
    };
    uint8_t a[20] = { 0 };

    ib_field_set(a, IB_SWITCHINFO_LINEAR_FDB_CAP, 0xc000);
    ib_field_set(a, IB_SWITCHINFO_MULTICAST_FDB_CAP, 4096);
    ib_field_set(a, IB_SWITCHINFO_LINEAR_FDB_TOP, 42);
    ib_field_set(a, IB_SWITCHINFO_DEFAULT_PORT, 1);
    ib_field_set(a, IB_SWITCHINFO_DEFAULT_MULTICAST_PRIMARY_PORT, 2);
    ib_field_set(a, IB_SWITCHINFO_DEFAULT_MULTICAST_NOT_PRIMARY_PORT, 3);
    ib_field_set(a, IB_SWITCHINFO_LIFE_TIME_VALUE, 18);
    ib_field_set(a, IB_SWITCHINFO_PORT_STATE_CHANGE, 1);
    ib_field_set(a, IB_SWITCHINFO_OPTIMIZED_SL_TO_VL, 1);
    ib_field_set(a, IB_SWITCHINFO_PARTITION_ENFORCEMENT_CAP, 64);
    ib_field_set(a, IB_SWITCHINFO_INBOUND_ENFORCEMENT_CAP, 1);
    ib_field_set(a, IB_SWITCHINFO_OUTBOUND_ENFORCEMENT_CAP, 1);
    ib_field_set(a, IB_SWITCHINFO_FILTER_RAW_INBOUND_CAP, 1);
    ib_field_set(a, IB_SWITCHINFO_FILTER_RAW_OUTBOUND_CAP, 1);
    ib_field_set(a, IB_SWITCHINFO_ENHANCED_PORT0, 1);
    ib_field_set(a, IB_SWITCHINFO_MULTICAST_FDB_TOP, 0xc03f);
    g_assert_cmpmem(a, sizeof(a), want, sizeof(want));
}

static void port_info_first_half(uint8_t *a)
{
    ib_put_be64(a + IB_PORTINFO_M_KEY_OFFSET, 0x0102030405060708);
    ib_put_be64(a + IB_PORTINFO_GID_PREFIX_OFFSET, 0xfe80000000000000);
    ib_field_set(a, IB_PORTINFO_LID, 0x1111);
    ib_field_set(a, IB_PORTINFO_MASTER_SM_LID, 0x2222);
    ib_field_set(a, IB_PORTINFO_CAPABILITY_MASK,
                 IB_CAP_IS_SM | IB_CAP_IS_TRAP_SUPPORTED |
                 IB_CAP_IS_EXTENDED_SPEEDS_SUPPORTED);
    ib_field_set(a, IB_PORTINFO_DIAG_CODE, 0x3333);
    ib_field_set(a, IB_PORTINFO_M_KEY_LEASE_PERIOD, 0x4444);
    ib_field_set(a, IB_PORTINFO_LOCAL_PORT_NUM, 0x55);
    ib_field_set(a, IB_PORTINFO_LINK_WIDTH_ENABLED, 3);
    ib_field_set(a, IB_PORTINFO_LINK_WIDTH_SUPPORTED, 0x0b);
    ib_field_set(a, IB_PORTINFO_LINK_WIDTH_ACTIVE, IB_LINK_WIDTH_4X);
    ib_field_set(a, IB_PORTINFO_LINK_SPEED_SUPPORTED, 7);
    ib_field_set(a, IB_PORTINFO_PORT_STATE, IB_PORT_ACTIVE);
    ib_field_set(a, IB_PORTINFO_PORT_PHYSICAL_STATE, IB_PHYS_LINK_UP);
    ib_field_set(a, IB_PORTINFO_LINK_DOWN_DEFAULT_STATE, IB_LINK_DOWN_POLLING);
    ib_field_set(a, IB_PORTINFO_M_KEY_PROTECT_BITS, 2);
    ib_field_set(a, IB_PORTINFO_LMC, 5);
}

static void port_info_second_half(uint8_t *a)
{
    ib_field_set(a, IB_PORTINFO_LINK_SPEED_ACTIVE, IB_LINK_SPEED_QDR);
    ib_field_set(a, IB_PORTINFO_LINK_SPEED_ENABLED, 15);
    ib_field_set(a, IB_PORTINFO_NEIGHBOR_MTU, IB_MTU_2048);
    ib_field_set(a, IB_PORTINFO_MASTER_SM_SL, 9);
    ib_field_set(a, IB_PORTINFO_VL_CAP, IB_VLS_0_7);
    ib_field_set(a, IB_PORTINFO_INIT_TYPE, 1);
    ib_field_set(a, IB_PORTINFO_VL_HIGH_LIMIT, 0x66);
    ib_field_set(a, IB_PORTINFO_VL_ARBITRATION_HIGH_CAP, 0x77);
    ib_field_set(a, IB_PORTINFO_VL_ARBITRATION_LOW_CAP, 0x88);
    ib_field_set(a, IB_PORTINFO_INIT_TYPE_REPLY, 2);
    ib_field_set(a, IB_PORTINFO_MTU_CAP, IB_MTU_4096);
    ib_field_set(a, IB_PORTINFO_VL_STALL_COUNT, 7);
    ib_field_set(a, IB_PORTINFO_HOQ_LIFE, 0x12);
    ib_field_set(a, IB_PORTINFO_OPERATIONAL_VLS, IB_VLS_0_3);
    ib_field_set(a, IB_PORTINFO_PARTITION_ENFORCEMENT_INBOUND, 1);
    ib_field_set(a, IB_PORTINFO_FILTER_RAW_OUTBOUND, 1);
    ib_field_set(a, IB_PORTINFO_M_KEY_VIOLATIONS, 0x0a0b);
    ib_field_set(a, IB_PORTINFO_P_KEY_VIOLATIONS, 0x0c0d);
    ib_field_set(a, IB_PORTINFO_Q_KEY_VIOLATIONS, 0x0e0f);
    ib_field_set(a, IB_PORTINFO_GUID_CAP, 0x80);
    ib_field_set(a, IB_PORTINFO_CLIENT_REREGISTER, 1);
    ib_field_set(a, IB_PORTINFO_MULTICAST_PKEY_TRAP_SUPPRESSION, 1);
    ib_field_set(a, IB_PORTINFO_SUBNET_TIMEOUT, 0x12);
    ib_field_set(a, IB_PORTINFO_RESP_TIME_VALUE, 0x10);
    ib_field_set(a, IB_PORTINFO_LOCAL_PHY_ERRORS, 8);
    ib_field_set(a, IB_PORTINFO_OVERRUN_ERRORS, 7);
    ib_field_set(a, IB_PORTINFO_MAX_CREDIT_HINT, 0x9999);
    ib_field_set(a, IB_PORTINFO_LINK_ROUND_TRIP_LATENCY, 0xffffff);
    ib_field_set(a, IB_PORTINFO_LINK_SPEED_EXT_ACTIVE2, 1);
    ib_field_set(a, IB_PORTINFO_LINK_SPEED_EXT_SUPPORTED2, 1);
    ib_field_set(a, IB_PORTINFO_LINK_SPEED_EXT_ENABLED2, 4);
    ib_field_set(a, IB_PORTINFO_CAPABILITY_MASK2,
                 IB_CAP2_IS_LINK_SPEED_HDR_SUPPORTED);
    ib_field_set(a, IB_PORTINFO_LINK_SPEED_EXT_ACTIVE, IB_LINK_SPEED_EXT_EDR);
    ib_field_set(a, IB_PORTINFO_LINK_SPEED_EXT_SUPPORTED, 7);
    ib_field_set(a, IB_PORTINFO_LINK_SPEED_EXT_ENABLED, 31);
}

static void test_port_info(void)
{
    static const uint8_t want[64] = {
        0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
        0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x11, 0x11, 0x22, 0x22, 0x00, 0x00, 0x40, 0x0a,
        0x33, 0x33, 0x44, 0x44, 0x55, 0x03, 0x0b, 0x02,
        0x74, 0x52, 0x85, 0x4f, 0x49, 0x41, 0x66, 0x77,
        0x88, 0x25, 0xf2, 0x39, 0x0a, 0x0b, 0x0c, 0x0d,
        0x0e, 0x0f, 0x80, 0xb2, 0x10, 0x87, 0x99, 0x99,
        0x2c, 0xff, 0xff, 0xff, 0x00, 0x20, 0x27, 0x1f,
    };
    uint8_t a[64] = { 0 };

    port_info_first_half(a);
    port_info_second_half(a);
    g_assert_cmpmem(a, sizeof(a), want, sizeof(want));
}

/* Tables: SLtoVL, VL arbitration, RFT, MFT and their modifiers */
static void test_tables(void)
{
    uint8_t a[64] = { 0 };
    int sl;

    for (sl = 0; sl < 16; sl++) {
        ib_field_set(a, IB_SLTOVL_VL(sl), 15 - sl);
    }
    g_assert_cmpmem(a, 9, "\xfe\xdc\xba\x98\x76\x54\x32\x10\0", 9);
    g_assert_cmpint(IB_SLTOVL_MOD_IN_PORT(0x0000120a), ==, 0x12);
    g_assert_cmpint(IB_SLTOVL_MOD_OUT_PORT(0x0000120a), ==, 0x0a);

    memset(a, 0, sizeof(a));
    ib_field_set(a, IB_VLARB_VL(31), 14);
    ib_field_set(a, IB_VLARB_WEIGHT(31), 255);
    g_assert_cmpmem(a + 60, 4, "\0\0\x0e\xff", 4);
    g_assert_cmpint(IB_VLARB_MOD_PART(0x00030007), ==, IB_VLARB_HIGH_LOWER);
    g_assert_cmpint(IB_VLARB_MOD_PORT(0x00030007), ==, 7);

    memset(a, 0, sizeof(a));
    ib_field_set(a, IB_RFT_LID(1), 0x1234);
    ib_field_set(a, IB_RFT_VALID(1), 1);
    ib_field_set(a, IB_RFT_LMC(1), 3);
    ib_field_set(a, IB_RFT_PORT(1), 9);
    g_assert_cmpmem(a + 4, 4, "\x12\x34\xb0\x09", 4);

    memset(a, 0, sizeof(a));
    ib_field_set(a, IB_MFT_PORT_MASK(2), 1 << 1 | 1 << 15);
    g_assert_cmpmem(a + 4, 2, "\x80\x02", 2);
    g_assert_cmpint(IB_MFT_MOD_POSITION(0x20000011), ==, 2);
    g_assert_cmpint(IB_MFT_MOD_BLOCK(0x20000011), ==, 0x11);

    g_assert_cmpint(IB_PKEYTABLE_MOD_PORT(0x00050001), ==, 5);
    g_assert_cmpint(IB_PKEYTABLE_MOD_BLOCK(0x00050001), ==, 1);
}

/* Trap 128 of a switch with LID 0x0007 */
static void test_notice_128(void)
{
    static const uint8_t want[12] = {
        0x81, 0x00, 0x00, 0x02, 0x00, 0x80, 0x00, 0x07, 0x80, 0x01, 0x00, 0x07,
    };
    uint8_t a[64] = { 0 };

    ib_field_set(a, IB_NOTICE_IS_GENERIC, 1);
    ib_field_set(a, IB_NOTICE_TYPE, IB_NOTICE_TYPE_URGENT);
    ib_field_set(a, IB_NOTICE_PRODUCER_TYPE, IB_NOTICE_PRODUCER_SWITCH);
    ib_field_set(a, IB_NOTICE_TRAP_NUMBER, IB_TRAP_LINK_STATE_CHANGE);
    ib_field_set(a, IB_NOTICE_ISSUER_LID, 7);
    ib_field_set(a, IB_NOTICE_TOGGLE, 1);
    ib_field_set(a, IB_NOTICE_COUNT, 1);
    ib_field_set(a, IB_NOTICE128_LIDADDR, 7);
    g_assert_cmpmem(a, sizeof(want), want, sizeof(want));
}

static void test_port_counters(void)
{
    static const uint8_t want[44] = {
        0x00, 0x03, 0xf0, 0x00, 0x00, 0x01, 0x02, 0x03,
        0x00, 0x04, 0x00, 0x05, 0x00, 0x06, 0x00, 0x07,
        0x08, 0x09, 0x01, 0xab, 0x00, 0x0c, 0x00, 0x0d,
        0x00, 0x00, 0x00, 0x0e, 0x00, 0x00, 0x00, 0x0f,
        0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x11,
        0x00, 0x00, 0x00, 0x12,
    };
    static const uint32_t fields[] = {
        IB_PORTCOUNTERS_SYMBOL_ERROR_COUNTER,
        IB_PORTCOUNTERS_LINK_ERROR_RECOVERY_COUNTER,
        IB_PORTCOUNTERS_LINK_DOWNED_COUNTER,
        IB_PORTCOUNTERS_PORT_RCV_ERRORS,
        IB_PORTCOUNTERS_PORT_RCV_REMOTE_PHYSICAL_ERRORS,
        IB_PORTCOUNTERS_PORT_RCV_SWITCH_RELAY_ERRORS,
        IB_PORTCOUNTERS_PORT_XMIT_DISCARDS,
        IB_PORTCOUNTERS_PORT_XMIT_CONSTRAINT_ERRORS,
        IB_PORTCOUNTERS_PORT_RCV_CONSTRAINT_ERRORS,
        IB_PORTCOUNTERS_LOCAL_LINK_INTEGRITY_ERRORS,
        IB_PORTCOUNTERS_EXCESSIVE_BUFFER_OVERRUN_ERRORS,
        IB_PORTCOUNTERS_QP1_DROPPED,
        IB_PORTCOUNTERS_VL15_DROPPED,
        IB_PORTCOUNTERS_PORT_XMIT_DATA,
        IB_PORTCOUNTERS_PORT_RCV_DATA,
        IB_PORTCOUNTERS_PORT_XMIT_PKTS,
        IB_PORTCOUNTERS_PORT_RCV_PKTS,
        IB_PORTCOUNTERS_PORT_XMIT_WAIT,
    };
    uint8_t a[44] = { 0 };
    size_t i;

    ib_field_set(a, IB_PORTCOUNTERS_PORT_SELECT, 3);
    ib_field_set(a, IB_PORTCOUNTERS_COUNTER_SELECT, 0xf000);
    ib_field_set(a, IB_PORTCOUNTERS_COUNTER_SELECT2, 1);
    for (i = 0; i < G_N_ELEMENTS(fields); i++) {
        ib_field_set(a, fields[i], i + 1);
    }
    g_assert_cmpmem(a, sizeof(a), want, sizeof(want));
}

/* A counter stops at the largest value of its field (16.1.3.5). */
static void test_counter_clamp(void)
{
    g_assert_cmphex(ib_counter_clamp(15,
                    IB_PORTCOUNTERS_LOCAL_LINK_INTEGRITY_ERRORS), ==, 15);
    g_assert_cmphex(ib_counter_clamp(16,
                    IB_PORTCOUNTERS_LOCAL_LINK_INTEGRITY_ERRORS), ==, 15);
    g_assert_cmphex(ib_counter_clamp(0x10000,
                    IB_PORTCOUNTERS_PORT_XMIT_DISCARDS), ==, 0xffff);
    g_assert_cmphex(ib_counter_clamp(0x123456789,
                    IB_PORTCOUNTERS_PORT_XMIT_DATA), ==, 0xffffffff);
}

static void test_codes(void)
{
    g_assert_cmpint(ib_mtu_to_bytes(IB_MTU_256), ==, 256);
    g_assert_cmpint(ib_mtu_to_bytes(IB_MTU_4096), ==, 4096);
    g_assert_cmpint(ib_mtu_to_bytes(0), ==, 0);
    g_assert_cmpint(ib_mtu_to_bytes(6), ==, 0);
    g_assert_cmpint(ib_mtu_from_bytes(4096), ==, IB_MTU_4096);
    g_assert_cmpint(ib_mtu_from_bytes(4095), ==, IB_MTU_2048);
    g_assert_cmpint(ib_mtu_from_bytes(255), ==, 0);
    g_assert_cmpint(ib_vls_to_count(IB_VLS_0), ==, 1);
    g_assert_cmpint(ib_vls_to_count(IB_VLS_0_7), ==, 8);
    g_assert_cmpint(ib_vls_to_count(IB_VLS_0_14), ==, 15);
    g_assert_cmpint(ib_vls_to_count(6), ==, 0);
    g_assert_cmpint(ib_link_rate_mbps(IB_LINK_WIDTH_4X, IB_LINK_SPEED_QDR, 0),
                    ==, 40000);
    g_assert_cmpint(ib_link_rate_mbps(IB_LINK_WIDTH_4X, IB_LINK_SPEED_QDR,
                                      IB_LINK_SPEED_EXT_FDR), ==, 56250);
    g_assert_cmpint(ib_link_rate_mbps(IB_LINK_WIDTH_12X, 0,
                                      IB_LINK_SPEED_EXT_NDR), ==, 1275000);
    g_assert_cmpint(ib_link_rate_mbps(3, IB_LINK_SPEED_QDR, 0), ==, 0);
    g_assert_cmpstr(ib_port_state_str(IB_PORT_INIT), ==, "Initialize");
    g_assert_cmpstr(ib_phys_state_str(IB_PHYS_LINK_UP), ==, "LinkUp");
    g_assert_cmpstr(ib_phys_state_str(15), ==, "?");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/wire/mad/directed-route", test_smp_directed_route);
    g_test_add_func("/wire/mad/response", test_response);
    g_test_add_func("/wire/attr/node-info", test_node_info);
    g_test_add_func("/wire/attr/switch-info", test_switch_info);
    g_test_add_func("/wire/attr/port-info", test_port_info);
    g_test_add_func("/wire/attr/tables", test_tables);
    g_test_add_func("/wire/attr/notice-128", test_notice_128);
    g_test_add_func("/wire/attr/port-counters", test_port_counters);
    g_test_add_func("/wire/attr/counter-clamp", test_counter_clamp);
    g_test_add_func("/wire/attr/codes", test_codes);
    return g_test_run();
}
