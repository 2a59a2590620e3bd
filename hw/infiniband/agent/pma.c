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
 *
 * PortRcvErrorDetails and PortXmitDiscardDetails are answered with 0x000c:
 * the link does not count the cases apart.
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
} IbPmaCounter;

#define RAW(name)               offsetof(IbLinkCounters, name)
#define NARROW(name, bit, f)    { RAW(name), bit, false, f }
#define WIDE(name, bit, offset) { RAW(name), bit, true, offset }

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

#define VL_WAIT(vl) \
    NARROW(xmit_wait_vl[vl], vl, IB_VLXMITWAIT_PORT_VL_XMIT_WAIT(vl))

static const IbPmaCounter port_vl_xmit_wait[] = {
    VL_WAIT(0), VL_WAIT(1), VL_WAIT(2), VL_WAIT(3),
    VL_WAIT(4), VL_WAIT(5), VL_WAIT(6), VL_WAIT(7),
    VL_WAIT(8), VL_WAIT(9), VL_WAIT(10), VL_WAIT(11),
    VL_WAIT(12), VL_WAIT(13), VL_WAIT(14), VL_WAIT(15),
};

/* Bases of all attributes, one after the other. */
enum {
    BASE_COUNTERS = 0,
    BASE_EXTENDED = BASE_COUNTERS + G_N_ELEMENTS(port_counters),
    BASE_VL_WAIT = BASE_EXTENDED + G_N_ELEMENTS(port_counters_extended),
    BASE_COUNT = BASE_VL_WAIT + G_N_ELEMENTS(port_vl_xmit_wait),
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

/* Every counter of the port starts from 0. */
void ib_pma_reset(IbNode *node, uint8_t num)
{
    static const struct {
        const IbPmaCounter *rows;
        unsigned count, base;
    } attributes[] = {
        { port_counters, G_N_ELEMENTS(port_counters), BASE_COUNTERS },
        { port_counters_extended, G_N_ELEMENTS(port_counters_extended),
          BASE_EXTENDED },
        { port_vl_xmit_wait, G_N_ELEMENTS(port_vl_xmit_wait), BASE_VL_WAIT },
    };
    const IbLinkCounters *counters = ib_node_counters(node, num);
    IbAgentPort *port = &node->ports[num];
    unsigned a, i;
    uint64_t raw;

    ib_pma_free(port);
    for (a = 0; counters && a < G_N_ELEMENTS(attributes); a++) {
        for (i = 0; i < attributes[a].count; i++) {
            raw = pma_raw(counters, attributes[a].rows[i].raw);
            if (raw && !port->pma) {
                port->pma = g_new0(IbPmaPort, 1);
            }
            if (port->pma) {
                port->pma->base[attributes[a].base + i] = raw;
            }
        }
    }
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

static IbSmaStatus pma_get(IbNode *node, const IbPmaCounter *rows,
                           unsigned count, unsigned base, uint8_t *data)
{
    uint64_t values[BASE_COUNT] = { 0 };
    unsigned first, last, num, i;

    if (!pma_ports(node, ib_field_get(data, IB_PM_PORT_SELECT), &first,
                   &last)) {
        return IB_MAD_STATUS_BAD_FIELD;
    }
    for (num = first; num <= last; num++) {
        const IbLinkCounters *counters = ib_node_counters(node, num);
        const IbPmaPort *pma = node->ports[num].pma;

        for (i = 0; i < count; i++) {
            values[i] += pma_raw(counters, rows[i].raw) -
                         (pma ? pma->base[base + i] : 0);
        }
    }
    for (i = 0; i < count; i++) {
        if (rows[i].wide) {
            ib_put_be64(data + rows[i].field, values[i]);
        } else {
            ib_field_set(data, rows[i].field,
                         ib_counter_clamp(values[i], rows[i].field));
        }
    }
    return 0;
}

static bool pma_selected(const IbPmaCounter *row, uint32_t select,
                         uint32_t select2)
{
    return row->select < 32 ? select >> row->select & 1
                            : select2 >> (row->select - 32) & 1;
}

/* A counter that is selected takes the value that the MAD holds. */
static IbSmaStatus pma_set(IbNode *node, const IbPmaCounter *rows,
                           unsigned count, unsigned base, uint32_t select2,
                           const uint8_t *data)
{
    uint32_t select = ib_field_get(data, IB_PM_COUNTER_SELECT);
    unsigned first, last, num, i;

    if (!pma_ports(node, ib_field_get(data, IB_PM_PORT_SELECT), &first,
                   &last)) {
        return IB_MAD_STATUS_BAD_FIELD;
    }
    for (num = first; num <= last; num++) {
        const IbLinkCounters *counters = ib_node_counters(node, num);
        IbAgentPort *port = &node->ports[num];

        if (!port->pma) {
            port->pma = g_new0(IbPmaPort, 1);
        }
        for (i = 0; i < count; i++) {
            uint64_t value = rows[i].wide ? ib_get_be64(data + rows[i].field)
                                          : ib_field_get(data, rows[i].field);

            if (pma_selected(&rows[i], select, select2)) {
                port->pma->base[base + i] =
                    pma_raw(counters, rows[i].raw) - value;
            }
        }
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

static IbSmaStatus get_port_counters(IbNode *node, uint8_t *data)
{
    return pma_get(node, port_counters, G_N_ELEMENTS(port_counters),
                   BASE_COUNTERS, data);
}

static IbSmaStatus set_port_counters(IbNode *node, uint8_t *data)
{
    return pma_set(node, port_counters, G_N_ELEMENTS(port_counters),
                   BASE_COUNTERS,
                   ib_field_get(data, IB_PORTCOUNTERS_COUNTER_SELECT2), data);
}

static IbSmaStatus get_port_counters_extended(IbNode *node, uint8_t *data)
{
    return pma_get(node, port_counters_extended,
                   G_N_ELEMENTS(port_counters_extended), BASE_EXTENDED, data);
}

static IbSmaStatus set_port_counters_extended(IbNode *node, uint8_t *data)
{
    return pma_set(node, port_counters_extended,
                   G_N_ELEMENTS(port_counters_extended), BASE_EXTENDED,
                   ib_field_get(data, IB_PCX_COUNTER_SELECT2), data);
}

static IbSmaStatus get_port_vl_xmit_wait(IbNode *node, uint8_t *data)
{
    return pma_get(node, port_vl_xmit_wait, G_N_ELEMENTS(port_vl_xmit_wait),
                   BASE_VL_WAIT, data);
}

static IbSmaStatus set_port_vl_xmit_wait(IbNode *node, uint8_t *data)
{
    return pma_set(node, port_vl_xmit_wait, G_N_ELEMENTS(port_vl_xmit_wait),
                   BASE_VL_WAIT, 0, data);
}

/* @data: in for both, out for get */
typedef struct IbPmaAttribute {
    uint16_t id;
    const char *name;
    IbSmaStatus (*get)(IbNode *node, uint8_t *data);
    IbSmaStatus (*set)(IbNode *node, uint8_t *data);
} IbPmaAttribute;

static const IbPmaAttribute pma_attributes[] = {
    { IB_ATTR_CLASS_PORT_INFO, "ClassPortInfo", get_class_port_info, NULL },
    { IB_PM_ATTR_PORT_SAMPLES_CONTROL, "PortSamplesControl",
      ib_pma_get_samples_control, ib_pma_set_samples_control },
    { IB_PM_ATTR_PORT_SAMPLES_RESULT, "PortSamplesResult",
      ib_pma_get_samples_result, NULL },
    { IB_PM_ATTR_PORT_COUNTERS, "PortCounters",
      get_port_counters, set_port_counters },
    { IB_PM_ATTR_PORT_VL_XMIT_WAIT_COUNTERS, "PortVLXmitWaitCounters",
      get_port_vl_xmit_wait, set_port_vl_xmit_wait },
    { IB_PM_ATTR_PORT_COUNTERS_EXTENDED, "PortCountersExtended",
      get_port_counters_extended, set_port_counters_extended },
    { IB_PM_ATTR_PORT_SAMPLES_RESULT_EXTENDED, "PortSamplesResultExtended",
      ib_pma_get_samples_result_ext, NULL },
};

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

    ib_state_put8(w, pma != NULL);
    for (i = 0; pma && i < BASE_COUNT; i++) {
        ib_state_put64(w, pma->base[i]);
    }
    ib_sampler_save(node, num, w);
}

void ib_pma_load(IbNode *node, uint8_t num, IbStateReader *r)
{
    IbAgentPort *port = &node->ports[num];
    unsigned i;

    g_free(port->pma);
    port->pma = NULL;
    if (ib_state_get8(r)) {
        port->pma = g_new0(IbPmaPort, 1);
        for (i = 0; i < BASE_COUNT; i++) {
            port->pma->base[i] = ib_state_get64(r);
        }
    }
    ib_sampler_load(node, num, r);
}
