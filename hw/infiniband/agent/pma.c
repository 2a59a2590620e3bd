/*
 * Performance management agent: counters
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IBA Vol.1 16.1.  The link counts in 64 bits and never clears; a counter of
 * the PMA is a window on it: raw - base, stopping at what its field can hold.
 * A Set moves the base.  Each attribute has bases of its own, so clearing
 * PortCounters leaves PortCountersExtended alone; they are allocated when a
 * port is first written to.  The packet path knows nothing of all this.
 */
#include "agent-int.h"

#define RESP_TIME_VALUE  18     /* 1.07 s */

/* Where the attribute's bit in CounterSelect, or in CounterSelect2, is */
#define SELECT2(bit)  (32 + (bit))

typedef struct IbPmaCounter {
    uint16_t raw;                 /* offset in IbLinkCounters */
    uint8_t select;               /* bit of CounterSelect; SELECT2() */
    bool wide;                    /* 64 bits at byte @field */
    uint32_t field;
    uint8_t shift;                /* shown in units of 2^shift */
} IbPmaCounter;

#define RAW(name)               offsetof(IbLinkCounters, name)
#define NARROW(name, bit, f)    { RAW(name), bit, false, f, 0 }
#define WIDE(name, bit, offset) { RAW(name), bit, true, offset, 0 }
#define KILOBYTES(name, bit, f) { RAW(name), bit, false, f, 10 }

static const IbPmaCounter port_counters[] = {
    NARROW(symbol_errors, 0, IB_PORTCOUNTERS_SYMBOL_ERROR_COUNTER),
    NARROW(link_error_recovery, 1,
           IB_PORTCOUNTERS_LINK_ERROR_RECOVERY_COUNTER),
    NARROW(link_downed, 2, IB_PORTCOUNTERS_LINK_DOWNED_COUNTER),
    NARROW(rcv_errors, 3, IB_PORTCOUNTERS_PORT_RCV_ERRORS),
    NARROW(rcv_remote_physical_errors, 4,
           IB_PORTCOUNTERS_PORT_RCV_REMOTE_PHYSICAL_ERRORS),
    NARROW(rcv_switch_relay_errors, 5,
           IB_PORTCOUNTERS_PORT_RCV_SWITCH_RELAY_ERRORS),
    NARROW(xmit_discards, 6, IB_PORTCOUNTERS_PORT_XMIT_DISCARDS),
    NARROW(xmit_constraint_errors, 7,
           IB_PORTCOUNTERS_PORT_XMIT_CONSTRAINT_ERRORS),
    NARROW(rcv_constraint_errors, 8,
           IB_PORTCOUNTERS_PORT_RCV_CONSTRAINT_ERRORS),
    NARROW(local_link_integrity_errors, 9,
           IB_PORTCOUNTERS_LOCAL_LINK_INTEGRITY_ERRORS),
    NARROW(excessive_buffer_overruns, 10,
           IB_PORTCOUNTERS_EXCESSIVE_BUFFER_OVERRUN_ERRORS),
    NARROW(vl15_dropped, 11, IB_PORTCOUNTERS_VL15_DROPPED),
    NARROW(xmit_data, 12, IB_PORTCOUNTERS_PORT_XMIT_DATA),
    NARROW(rcv_data, 13, IB_PORTCOUNTERS_PORT_RCV_DATA),
    NARROW(xmit_pkts, 14, IB_PORTCOUNTERS_PORT_XMIT_PKTS),
    NARROW(rcv_pkts, 15, IB_PORTCOUNTERS_PORT_RCV_PKTS),
    NARROW(xmit_wait, SELECT2(0), IB_PORTCOUNTERS_PORT_XMIT_WAIT),
};

static const IbPmaCounter port_counters_extended[] = {
    WIDE(xmit_data, 0, IB_PCX_PORT_XMIT_DATA_OFFSET),
    WIDE(rcv_data, 1, IB_PCX_PORT_RCV_DATA_OFFSET),
    WIDE(xmit_pkts, 2, IB_PCX_PORT_XMIT_PKTS_OFFSET),
    WIDE(rcv_pkts, 3, IB_PCX_PORT_RCV_PKTS_OFFSET),
    WIDE(unicast_xmit_pkts, 4, IB_PCX_PORT_UNICAST_XMIT_PKTS_OFFSET),
    WIDE(unicast_rcv_pkts, 5, IB_PCX_PORT_UNICAST_RCV_PKTS_OFFSET),
    WIDE(multicast_xmit_pkts, 6, IB_PCX_PORT_MULTICAST_XMIT_PKTS_OFFSET),
    WIDE(multicast_rcv_pkts, 7, IB_PCX_PORT_MULTICAST_RCV_PKTS_OFFSET),
    WIDE(symbol_errors, SELECT2(0), IB_PCX_SYMBOL_ERROR_COUNTER_OFFSET),
    WIDE(link_error_recovery, SELECT2(1),
         IB_PCX_LINK_ERROR_RECOVERY_COUNTER_OFFSET),
    WIDE(link_downed, SELECT2(2), IB_PCX_LINK_DOWNED_COUNTER_OFFSET),
    WIDE(rcv_errors, SELECT2(3), IB_PCX_PORT_RCV_ERRORS_OFFSET),
    WIDE(rcv_remote_physical_errors, SELECT2(4),
         IB_PCX_PORT_RCV_REMOTE_PHYSICAL_ERRORS_OFFSET),
    WIDE(rcv_switch_relay_errors, SELECT2(5),
         IB_PCX_PORT_RCV_SWITCH_RELAY_ERRORS_OFFSET),
    WIDE(xmit_discards, SELECT2(6), IB_PCX_PORT_XMIT_DISCARDS_OFFSET),
    WIDE(xmit_constraint_errors, SELECT2(7),
         IB_PCX_PORT_XMIT_CONSTRAINT_ERRORS_OFFSET),
    WIDE(rcv_constraint_errors, SELECT2(8),
         IB_PCX_PORT_RCV_CONSTRAINT_ERRORS_OFFSET),
    WIDE(local_link_integrity_errors, SELECT2(9),
         IB_PCX_LOCAL_LINK_INTEGRITY_ERRORS_OFFSET),
    WIDE(excessive_buffer_overruns, SELECT2(10),
         IB_PCX_EXCESSIVE_BUFFER_OVERRUN_ERRORS_OFFSET),
    WIDE(vl15_dropped, SELECT2(11), IB_PCX_VL15_DROPPED_OFFSET),
    WIDE(xmit_wait, SELECT2(12), IB_PCX_PORT_XMIT_WAIT_OFFSET),
};

/* One of each VL or SL; those of CounterSelect are bits 0 to 15 */
#define SIXTEEN(ROW) \
    ROW(0), ROW(1), ROW(2), ROW(3), ROW(4), ROW(5), ROW(6), ROW(7), \
    ROW(8), ROW(9), ROW(10), ROW(11), ROW(12), ROW(13), ROW(14), ROW(15)

#define VL_WAIT(vl) \
    NARROW(xmit_wait_vl[vl], vl, IB_VLXMITWAIT_PORT_VL_XMIT_WAIT(vl))

static const IbPmaCounter port_vl_xmit_wait[] = { SIXTEEN(VL_WAIT) };

static const IbPmaCounter port_rcv_error_details[] = {
    NARROW(local_physical_errors, 0, IB_RCVERR_PORT_LOCAL_PHYSICAL_ERRORS),
    NARROW(malformed_packets, 1, IB_RCVERR_PORT_MALFORMED_PACKET_ERRORS),
    NARROW(buffer_overruns, 2, IB_RCVERR_PORT_BUFFER_OVERRUN_ERRORS),
    NARROW(dlid_mapping_errors, 3, IB_RCVERR_PORT_DLID_MAPPING_ERRORS),
    NARROW(vl_mapping_errors, 4, IB_RCVERR_PORT_VL_MAPPING_ERRORS),
    NARROW(looping_errors, 5, IB_RCVERR_PORT_LOOPING_ERRORS),
};

static const IbPmaCounter port_xmit_discard_details[] = {
    NARROW(port_inactive_discards, 0, IB_XMITDISC_PORT_INACTIVE_DISCARDS),
    NARROW(neighbor_mtu_discards, 1, IB_XMITDISC_PORT_NEIGHBOR_MTU_DISCARDS),
    NARROW(sw_lifetime_discards, 2,
           IB_XMITDISC_PORT_SW_LIFETIME_LIMIT_DISCARDS),
    NARROW(sw_hoq_lifetime_discards, 3,
           IB_XMITDISC_PORT_SW_HOQ_LIFETIME_LIMIT_DISCARDS),
};

static const IbPmaCounter port_flow_ctl[] = {
    NARROW(xmit_flow_pkts, 0, IB_FLOWCTL_PORT_XMIT_FLOW_PKTS),
    NARROW(rcv_flow_pkts, 1, IB_FLOWCTL_PORT_RCV_FLOW_PKTS),
};

static const IbPmaCounter port_op_rcv[] = {
    NARROW(op_rcv_pkts, 0, IB_OPRCV_PORT_OP_RCV_PKTS),
    KILOBYTES(op_rcv_bytes, 1, IB_OPRCV_PORT_OP_RCV_DATA),
};

#define VL_OP_PACKETS(vl) \
    NARROW(op_rcv_pkts_vl[vl], vl, IB_VLOPPKTS_PORT_VL_OP_PACKETS(vl))
#define VL_OP_DATA(vl) \
    KILOBYTES(op_rcv_bytes_vl[vl], vl, IB_VLOPDATA_PORT_VL_OP_DATA(vl))

static const IbPmaCounter port_vl_op_packets[] = { SIXTEEN(VL_OP_PACKETS) };
static const IbPmaCounter port_vl_op_data[] = { SIXTEEN(VL_OP_DATA) };

#define VL_FLOW_UPDATE(vl) \
    NARROW(flow_update_errors_vl[vl], vl, \
           IB_VLFCERR_PORT_VL_XMIT_FLOW_CTL_UPDATE_ERRORS(vl))
#define XMIT_DATA_SL(sl) \
    NARROW(xmit_data_sl[sl], sl, IB_XMITSL_PORT_XMIT_DATA_SL(sl))
#define RCV_DATA_SL(sl) \
    NARROW(rcv_data_sl[sl], sl, IB_RCVSL_PORT_RCV_DATA_SL(sl))

static const IbPmaCounter port_vl_flow_update[] = { SIXTEEN(VL_FLOW_UPDATE) };
static const IbPmaCounter port_xmit_data_sl[] = { SIXTEEN(XMIT_DATA_SL) };
static const IbPmaCounter port_rcv_data_sl[] = { SIXTEEN(RCV_DATA_SL) };

/* No link has FEC: its counters stay 0. */
#define LANE_ERRORS(lane) \
    NARROW(lane_errors[lane], SELECT2(2 + (lane)), \
           IB_PESC_ERROR_DETECTION_COUNTER(lane))

static const IbPmaCounter port_extended_speeds[] = {
    NARROW(sync_header_errors, SELECT2(0), IB_PESC_SYNC_HEADER_ERROR_COUNTER),
    NARROW(unknown_blocks, SELECT2(1), IB_PESC_UNKNOWN_BLOCK_COUNTER),
    LANE_ERRORS(0), LANE_ERRORS(1), LANE_ERRORS(2), LANE_ERRORS(3),
    LANE_ERRORS(4), LANE_ERRORS(5), LANE_ERRORS(6), LANE_ERRORS(7),
    LANE_ERRORS(8), LANE_ERRORS(9), LANE_ERRORS(10), LANE_ERRORS(11),
};

/*
 * Bases of all attributes, one after the other, in the order of saved state:
 * BASE_V2 of them until version 2, BASE_V3 in version 3.
 */
enum {
    BASE_COUNTERS = 0,
    BASE_EXTENDED = BASE_COUNTERS + G_N_ELEMENTS(port_counters),
    BASE_VL_WAIT = BASE_EXTENDED + G_N_ELEMENTS(port_counters_extended),
    BASE_V2 = BASE_VL_WAIT + G_N_ELEMENTS(port_vl_xmit_wait),
    BASE_RCV_ERROR = BASE_V2,
    BASE_XMIT_DISCARD = BASE_RCV_ERROR + G_N_ELEMENTS(port_rcv_error_details),
    BASE_FLOW_CTL = BASE_XMIT_DISCARD +
                    G_N_ELEMENTS(port_xmit_discard_details),
    BASE_FLOW_UPDATE = BASE_FLOW_CTL + G_N_ELEMENTS(port_flow_ctl),
    BASE_XMIT_SL = BASE_FLOW_UPDATE + G_N_ELEMENTS(port_vl_flow_update),
    BASE_RCV_SL = BASE_XMIT_SL + G_N_ELEMENTS(port_xmit_data_sl),
    BASE_OP_RCV = BASE_RCV_SL + G_N_ELEMENTS(port_rcv_data_sl),
    BASE_OP_PACKETS = BASE_OP_RCV + G_N_ELEMENTS(port_op_rcv),
    BASE_OP_DATA = BASE_OP_PACKETS + G_N_ELEMENTS(port_vl_op_packets),
    BASE_V3 = BASE_OP_DATA + G_N_ELEMENTS(port_vl_op_data),
    BASE_SPEEDS = BASE_V3,
    BASE_COUNT = BASE_SPEEDS + G_N_ELEMENTS(port_extended_speeds),
};

struct IbPmaPort {
    uint64_t base[BASE_COUNT];
};

/* --------------------------------------------------------------- windows */

static uint64_t pma_raw(const IbLinkCounters *counters, uint16_t offset)
{
    uint64_t raw;

    memcpy(&raw, (const char *)counters + offset, sizeof(raw));
    return raw;
}

void ib_pma_free(IbAgentPort *port)
{
    g_free(port->pma);
    port->pma = NULL;
    g_free(port->sampler);
    port->sampler = NULL;
}

/*
 * The ports of a PortSelect.  255 is all that carry traffic of their own: the
 * external ports of a switch, its port 0 if that is enhanced.
 */
static bool pma_ports(const IbNode *node, uint8_t select, unsigned *first,
                      unsigned *last)
{
    *first = *last = select;
    if (select == IB_PM_ALL_PORTS) {
        *first = ib_node_is_switch(node) && node->config.enhanced_port0
            ? 0 : 1;
        *last = node->config.num_ports;
        return true;
    }
    return select <= node->config.num_ports &&
           (select != 0 || ib_node_is_switch(node));
}

typedef struct IbPmaAttribute {
    uint16_t id;
    const char *name;
    /* Attributes of counters */
    const IbPmaCounter *rows;
    unsigned count, base;
    uint32_t select2;             /* where CounterSelect2 is, or 0 */
    bool op;                      /* of one OpCode, byte 0 */
    /* Others; @data: in for both, out for get */
    IbSmaStatus (*get)(IbNode *node, uint8_t *data);
    IbSmaStatus (*set)(IbNode *node, uint8_t *data);
} IbPmaAttribute;

static uint32_t pma_select2(const IbPmaAttribute *a, const uint8_t *data)
{
    return a->select2 ? ib_field_get(data, a->select2) : 0;
}

/* Of the MAD that asks, its selects stay in the answer. */
static void pma_get(IbNode *node, const IbPmaAttribute *a, unsigned first,
                    unsigned last, uint8_t *data)
{
    uint64_t values[BASE_COUNT] = { 0 };
    uint32_t select = ib_field_get(data, IB_PM_COUNTER_SELECT);
    uint32_t select2 = pma_select2(a, data);
    uint8_t port = ib_field_get(data, IB_PM_PORT_SELECT);
    unsigned num, i;

    for (num = first; num <= last; num++) {
        const IbLinkCounters *counters = ib_node_counters(node, num);
        const IbPmaPort *pma = node->ports[num].pma;

        for (i = 0; i < a->count; i++) {
            values[i] += pma_raw(counters, a->rows[i].raw) -
                         (pma ? pma->base[a->base + i] : 0);
        }
    }
    memset(data, 0, IB_GMP_DATA_BYTES);
    ib_field_set(data, IB_PM_PORT_SELECT, port);
    ib_field_set(data, IB_PM_COUNTER_SELECT, select);
    if (a->select2) {
        ib_field_set(data, a->select2, select2);
    }
    for (i = 0; i < a->count; i++) {
        if (a->rows[i].wide) {
            ib_put_be64(data + a->rows[i].field, values[i]);
        } else {
            ib_field_set(data, a->rows[i].field,
                         ib_counter_clamp(values[i] >> a->rows[i].shift,
                                          a->rows[i].field));
        }
    }
}

static bool pma_selected(const IbPmaCounter *row, uint32_t select,
                         uint32_t select2)
{
    return row->select < 32 ? select >> row->select & 1
                            : select2 >> (row->select - 32) & 1;
}

/*
 * The OpCode that PortOpRcvCounters, PortVLOpPackets and PortVLOpData count,
 * one for all three: none before the first Set, so that packets need not be
 * looked into.  With another OpCode all of them start from 0.
 */
static void pma_count_op(IbNode *node, uint8_t num, int op)
{
    const IbLinkCounters *counters = ib_node_counters(node, num);
    IbAgentPort *port = &node->ports[num];
    unsigned i;

    if (port->count_op == op) {
        return;
    }
    port->count_op = op;
    if (!port->pma) {
        port->pma = g_new0(IbPmaPort, 1);
    }
    for (i = 0; i < G_N_ELEMENTS(port_op_rcv); i++) {
        port->pma->base[BASE_OP_RCV + i] =
            pma_raw(counters, port_op_rcv[i].raw);
    }
    for (i = 0; i < IB_VLS; i++) {
        port->pma->base[BASE_OP_PACKETS + i] = counters->op_rcv_pkts_vl[i];
        port->pma->base[BASE_OP_DATA + i] = counters->op_rcv_bytes_vl[i];
    }
    if (node->links[num]) {
        ib_link_count_op(node->links[num], op);
    }
}

/* A counter that is selected takes the value that the MAD holds. */
static void pma_set(IbNode *node, const IbPmaAttribute *a, unsigned first,
                    unsigned last, const uint8_t *data)
{
    uint32_t select = ib_field_get(data, IB_PM_COUNTER_SELECT);
    uint32_t select2 = pma_select2(a, data);
    unsigned num, i;

    for (num = first; num <= last; num++) {
        const IbLinkCounters *counters = ib_node_counters(node, num);
        IbAgentPort *port = &node->ports[num];

        if (!port->pma) {
            port->pma = g_new0(IbPmaPort, 1);
        }
        for (i = 0; i < a->count; i++) {
            const IbPmaCounter *row = &a->rows[i];
            uint64_t value = row->wide ? ib_get_be64(data + row->field)
                                       : ib_field_get(data, row->field);

            if (pma_selected(row, select, select2)) {
                port->pma->base[a->base + i] =
                    pma_raw(counters, row->raw) - (value << row->shift);
            }
        }
    }
}

static IbSmaStatus pma_counters(IbNode *node, const IbPmaAttribute *a,
                                bool is_set, uint8_t *data)
{
    unsigned first, last, num;
    uint8_t op;

    if (!pma_ports(node, ib_field_get(data, IB_PM_PORT_SELECT), &first,
                   &last)) {
        return IB_MAD_STATUS_BAD_FIELD;
    }
    op = ib_field_get(data, IB_PM_OP_CODE);
    for (num = first; is_set && a->op && num <= last; num++) {
        pma_count_op(node, num, op);
    }
    if (is_set) {
        pma_set(node, a, first, last, data);
    }
    pma_get(node, a, first, last, data);
    if (a->op) {
        ib_field_set(data, IB_PM_OP_CODE,
                     MAX(node->ports[last].count_op, 0));
    }
    return 0;
}

/* ------------------------------------------------------------ attributes */

static IbSmaStatus get_class_port_info(IbNode *node, uint8_t *data)
{
    memset(data, 0, IB_CPI_BYTES);
    ib_field_set(data, IB_CPI_BASE_VERSION, IB_MAD_BASE_VERSION_1);
    ib_field_set(data, IB_CPI_CLASS_VERSION, IB_CLASS_VERSION_PERFORMANCE);
    ib_field_set(data, IB_CPI_CAPABILITY_MASK,
                 IB_CPI_CAP_CAPABILITY_MASK2 | IB_PM_CAP_ALL_PORT_SELECT |
                 IB_PM_CAP_EXTENDED_WIDTH | IB_PM_CAP_PORT_COUNTERS_XMIT_WAIT);
    ib_field_set(data, IB_CPI_CAPABILITY_MASK2,
                 IB_PM_CAP2_ADDITIONAL_EXTENDED_COUNTERS);
    ib_field_set(data, IB_CPI_RESP_TIME_VALUE, RESP_TIME_VALUE);
    return 0;
}

#define COUNTERS(id, name, rows, base, select2) \
    { id, name, rows, G_N_ELEMENTS(rows), base, select2, false, NULL, NULL }
#define OF_OP(id, name, rows, base) \
    { id, name, rows, G_N_ELEMENTS(rows), base, 0, true, NULL, NULL }
#define OTHER(id, name, get, set) \
    { id, name, NULL, 0, 0, 0, false, get, set }

static const IbPmaAttribute pma_attributes[] = {
    OTHER(IB_ATTR_CLASS_PORT_INFO, "ClassPortInfo", get_class_port_info,
          NULL),
    OTHER(IB_PM_ATTR_PORT_SAMPLES_CONTROL, "PortSamplesControl",
          ib_pma_get_samples_control, ib_pma_set_samples_control),
    OTHER(IB_PM_ATTR_PORT_SAMPLES_RESULT, "PortSamplesResult",
          ib_pma_get_samples_result, NULL),
    COUNTERS(IB_PM_ATTR_PORT_COUNTERS, "PortCounters", port_counters,
             BASE_COUNTERS, IB_PORTCOUNTERS_COUNTER_SELECT2),
    COUNTERS(IB_PM_ATTR_PORT_RCV_ERROR_DETAILS, "PortRcvErrorDetails",
             port_rcv_error_details, BASE_RCV_ERROR, 0),
    COUNTERS(IB_PM_ATTR_PORT_XMIT_DISCARD_DETAILS, "PortXmitDiscardDetails",
             port_xmit_discard_details, BASE_XMIT_DISCARD, 0),
    OF_OP(IB_PM_ATTR_PORT_OP_RCV_COUNTERS, "PortOpRcvCounters", port_op_rcv,
          BASE_OP_RCV),
    COUNTERS(IB_PM_ATTR_PORT_FLOW_CTL_COUNTERS, "PortFlowCtlCounters",
             port_flow_ctl, BASE_FLOW_CTL, 0),
    OF_OP(IB_PM_ATTR_PORT_VL_OP_PACKETS, "PortVLOpPackets",
          port_vl_op_packets, BASE_OP_PACKETS),
    OF_OP(IB_PM_ATTR_PORT_VL_OP_DATA, "PortVLOpData", port_vl_op_data,
          BASE_OP_DATA),
    COUNTERS(IB_PM_ATTR_PORT_VL_XMIT_FLOW_CTL_UPDATE_ERRORS,
             "PortVLXmitFlowCtlUpdateErrors", port_vl_flow_update,
             BASE_FLOW_UPDATE, 0),
    COUNTERS(IB_PM_ATTR_PORT_VL_XMIT_WAIT_COUNTERS, "PortVLXmitWaitCounters",
             port_vl_xmit_wait, BASE_VL_WAIT, 0),
    COUNTERS(IB_PM_ATTR_PORT_COUNTERS_EXTENDED, "PortCountersExtended",
             port_counters_extended, BASE_EXTENDED, IB_PCX_COUNTER_SELECT2),
    OTHER(IB_PM_ATTR_PORT_SAMPLES_RESULT_EXTENDED,
          "PortSamplesResultExtended", ib_pma_get_samples_result_ext, NULL),
    COUNTERS(IB_PM_ATTR_PORT_EXTENDED_SPEEDS_COUNTERS,
             "PortExtendedSpeedsCounters", port_extended_speeds, BASE_SPEEDS,
             IB_PESC_COUNTER_SELECT),
    COUNTERS(IB_PM_ATTR_PORT_XMIT_DATA_SL, "PortXmitDataSL",
             port_xmit_data_sl, BASE_XMIT_SL, 0),
    COUNTERS(IB_PM_ATTR_PORT_RCV_DATA_SL, "PortRcvDataSL", port_rcv_data_sl,
             BASE_RCV_SL, 0),
};

/* Every counter of the port starts from 0. */
void ib_pma_reset(IbNode *node, uint8_t num)
{
    const IbLinkCounters *counters = ib_node_counters(node, num);
    IbAgentPort *port = &node->ports[num];
    const IbPmaAttribute *a;
    unsigned i;
    uint64_t raw;

    ib_pma_free(port);
    port->count_op = -1;
    if (node->links[num]) {
        ib_link_count_op(node->links[num], -1);
    }
    for (a = pma_attributes;
         counters && a < pma_attributes + G_N_ELEMENTS(pma_attributes); a++) {
        for (i = 0; i < a->count; i++) {
            raw = pma_raw(counters, a->rows[i].raw);
            if (raw && !port->pma) {
                port->pma = g_new0(IbPmaPort, 1);
            }
            if (port->pma) {
                port->pma->base[a->base + i] = raw;
            }
        }
    }
}

static const IbPmaAttribute *pma_find(uint16_t id)
{
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(pma_attributes); i++) {
        if (pma_attributes[i].id == id) {
            return &pma_attributes[i];
        }
    }
    return NULL;
}

static IbSmaStatus pma_do(IbNode *node, const uint8_t *in, uint8_t *data)
{
    bool is_set = ib_field_get(in, IB_MAD_METHOD) == IB_METHOD_SET;
    const IbPmaAttribute *row;
    IbSmaStatus status = 0;

    row = pma_find(ib_field_get(in, IB_MAD_ATTRIBUTE_ID));
    if (row && row->rows) {
        return pma_counters(node, row, is_set, data);
    }
    if (!row || (is_set && !row->set)) {
        return IB_MAD_STATUS_BAD_METHOD_ATTR;
    }
    if (is_set) {
        status = row->set(node, data);
    }
    return status ? status : row->get(node, data);
}

IbMadVerdict ib_pma_process(IbNode *node, const uint8_t *in, uint8_t *out)
{
    uint8_t method = ib_field_get(in, IB_MAD_METHOD);
    IbSmaStatus status;

    if (method & IB_METHOD_RESPONSE) {
        return IB_MAD_CONSUMED;
    }
    if (method == IB_METHOD_TRAP_REPRESS || method == IB_METHOD_SEND ||
        method == IB_METHOD_TRAP || method == IB_METHOD_REPORT) {
        return IB_MAD_DROPPED;
    }
    memcpy(out, in, IB_MAD_BYTES);
    if (ib_field_get(in, IB_MAD_BASE_VERSION) != IB_MAD_BASE_VERSION_1 ||
        ib_field_get(in, IB_MAD_CLASS_VERSION) !=
        IB_CLASS_VERSION_PERFORMANCE) {
        status = IB_MAD_STATUS_BAD_VERSION;
    } else if (method != IB_METHOD_GET && method != IB_METHOD_SET) {
        status = IB_MAD_STATUS_BAD_METHOD;
    } else {
        status = pma_do(node, in, out + IB_GMP_DATA_OFFSET);
    }
    ib_mad_to_response(out, status);
    return IB_MAD_REPLY;
}

/* ------------------------------------------------------------- migration */

void ib_pma_save(const IbNode *node, uint8_t num, IbStateWriter *w)
{
    const IbPmaPort *pma = node->ports[num].pma;
    unsigned i;

    ib_state_put16(w, node->ports[num].count_op);
    ib_state_put8(w, pma != NULL);
    for (i = 0; pma && i < BASE_COUNT; i++) {
        ib_state_put64(w, pma->base[i]);
    }
    ib_sampler_save(node, num, w);
}

void ib_pma_load(IbNode *node, uint8_t num, unsigned version,
                 IbStateReader *r)
{
    IbAgentPort *port = &node->ports[num];
    unsigned count = version < 3 ? BASE_V2
                   : version == 3 ? BASE_V3 : BASE_COUNT;
    unsigned i;

    port->count_op = version < 3 ? -1 : (int16_t)ib_state_get16(r);
    if (port->count_op < -1 || port->count_op > UINT8_MAX) {
        port->count_op = -1;
        ib_state_fail(r);
    }
    if (node->links[num]) {
        ib_link_count_op(node->links[num], port->count_op);
    }
    g_free(port->pma);
    port->pma = NULL;
    if (ib_state_get8(r)) {
        port->pma = g_new0(IbPmaPort, 1);
        for (i = 0; i < count; i++) {
            port->pma->base[i] = ib_state_get64(r);
        }
    }
    ib_sampler_load(node, num, r);
}
