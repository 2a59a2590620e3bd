/*
 * SMA: the tables of a port, and what has no room elsewhere
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IBA Vol.1 14.2.5.5 (GUIDInfo), .7 (P_KeyTable), .8 (SLtoVLMappingTable), .9
 * (VLArbitrationTable), .15 (LedInfo).  A block that begins above a table's
 * end is an invalid modifier; entries of the last block above it are
 * read-only and 0.
 */
#include "agent-int.h"


/* -------------------------------------------------------------- GUIDInfo */

static IbSmaStatus get_guid_info(IbNode *node, uint8_t in_port,
                                 uint32_t modifier, uint8_t *data,
                                 void *opaque)
{
    const IbAgentPort *port = &node->ports[ib_node_end_port(node, in_port)];
    uint64_t first = (uint64_t)modifier * IB_GUIDINFO_GUIDS;
    unsigned i;

    if (first >= node->config.guid_cap) {
        return IB_MAD_STATUS_BAD_FIELD;
    }
    for (i = 0; i < IB_GUIDINFO_GUIDS && first + i < node->config.guid_cap;
         i++) {
        ib_put_be64(data + IB_GUIDINFO_GUID_OFFSET(i), port->guids[first + i]);
    }
    return 0;
}

static IbSmaStatus set_guid_info(IbNode *node, uint8_t in_port,
                                 uint32_t modifier, uint8_t *data,
                                 void *opaque)
{
    uint8_t num = ib_node_end_port(node, in_port);
    uint64_t *guids = node->ports[num].guids;
    uint64_t first = (uint64_t)modifier * IB_GUIDINFO_GUIDS;
    unsigned i;

    if (first >= node->config.guid_cap) {
        return IB_MAD_STATUS_BAD_FIELD;
    }
    for (i = 0; i < IB_GUIDINFO_GUIDS && first + i < node->config.guid_cap;
         i++) {
        if (first + i != 0) {           /* the port's own is read-only */
            guids[first + i] = ib_get_be64(data + IB_GUIDINFO_GUID_OFFSET(i));
        }
    }
    ib_node_notify(node, num, IB_CHANGED_GUIDS);
    return 0;
}

/* ------------------------------------------------------------ P_KeyTable */

static bool pkey_block(const IbNode *node, uint8_t in_port, uint32_t modifier,
                       uint8_t *num, unsigned *first)
{
    uint32_t port = IB_PKEYTABLE_MOD_PORT(modifier);

    if (!ib_node_is_switch(node)) {
        port = in_port;
    } else if (port > node->config.num_ports) {
        return false;
    }
    *num = port;
    *first = IB_PKEYTABLE_MOD_BLOCK(modifier) * IB_PKEYTABLE_ENTRIES;
    return *first < ib_node_pkey_cap(node, port);
}

static IbSmaStatus get_pkey_table(IbNode *node, uint8_t in_port,
                                  uint32_t modifier, uint8_t *data,
                                  void *opaque)
{
    unsigned first, i;
    uint8_t num;

    if (!pkey_block(node, in_port, modifier, &num, &first)) {
        return IB_MAD_STATUS_BAD_FIELD;
    }
    for (i = 0; i < IB_PKEYTABLE_ENTRIES; i++) {
        ib_put_be16(data + IB_PKEYTABLE_PKEY_OFFSET(i),
                    ib_node_pkey(node, num, first + i));
    }
    return 0;
}

static IbSmaStatus set_pkey_table(IbNode *node, uint8_t in_port,
                                  uint32_t modifier, uint8_t *data,
                                  void *opaque)
{
    unsigned first, i, cap;
    uint16_t *pkeys;
    uint8_t num;

    if (!pkey_block(node, in_port, modifier, &num, &first)) {
        return IB_MAD_STATUS_BAD_FIELD;
    }
    cap = ib_node_pkey_cap(node, num);
    pkeys = ib_node_own_pkeys(node, num);
    for (i = 0; i < IB_PKEYTABLE_ENTRIES && first + i < cap; i++) {
        pkeys[first + i] = ib_get_be16(data + IB_PKEYTABLE_PKEY_OFFSET(i));
    }
    ib_node_pkeys_changed(node, num);
    ib_node_notify(node, num, IB_CHANGED_PKEYS);
    return 0;
}

/* ---------------------------------------------------- SLtoVLMappingTable */

/* The pairs of ports that a modifier names; for a CA (0, its port). */
typedef struct IbPortPairs {
    uint8_t in_first, in_last, out_first, out_last;
} IbPortPairs;

static IbSmaStatus sl2vl_pairs(const IbNode *node, uint8_t in_port,
                               uint32_t modifier, bool is_set,
                               IbPortPairs *pairs)
{
    uint32_t all = IB_SLTOVL_MOD_ALL_IN | IB_SLTOVL_MOD_ALL_OUT;
    uint8_t num_ports = node->config.num_ports;
    uint8_t in = IB_SLTOVL_MOD_IN_PORT(modifier);
    uint8_t out = IB_SLTOVL_MOD_OUT_PORT(modifier);
    uint8_t num = ib_node_end_port(node, in_port);

    if (!(node->ports[num].capability_mask &
          IB_CAP_IS_SL_MAPPING_SUPPORTED)) {
        return IB_MAD_STATUS_BAD_METHOD_ATTR;
    }
    if (!ib_node_is_switch(node)) {
        *pairs = (IbPortPairs) { 0, 0, num, num };
        return 0;
    }
    if ((modifier & all && (!is_set || !node->config.optimized_sl2vl)) ||
        modifier >> 18) {
        return IB_MAD_STATUS_BAD_FIELD;
    }
    *pairs = (IbPortPairs) { in, in, out, out };
    if (modifier & IB_SLTOVL_MOD_ALL_IN) {
        pairs->in_first = 0;
        pairs->in_last = num_ports;
    }
    if (modifier & IB_SLTOVL_MOD_ALL_OUT) {
        pairs->out_first = 0;
        pairs->out_last = num_ports;
    }
    return pairs->in_last > num_ports || pairs->out_last > num_ports
        ? IB_MAD_STATUS_BAD_FIELD : 0;
}

static void put_sl2vl(uint8_t *data, const uint8_t *map)
{
    unsigned sl;

    for (sl = 0; sl < IB_SL_COUNT; sl++) {
        ib_field_set(data, IB_SLTOVL_VL(sl), map[sl]);
    }
}

/*
 * After a Set of many pairs the dispatcher asks with its modifier: all of
 * them are the same, the first answers.
 */
static IbSmaStatus get_sl2vl(IbNode *node, uint8_t in_port, uint32_t modifier,
                             uint8_t *data, void *opaque)
{
    IbPortPairs pairs;
    IbSmaStatus status;

    status = sl2vl_pairs(node, in_port, modifier, node->smp.is_set, &pairs);
    if (!status) {
        put_sl2vl(data, ib_node_sl2vl(node, pairs.in_first, pairs.out_first));
    }
    return status;
}

static IbSmaStatus set_sl2vl(IbNode *node, uint8_t in_port, uint32_t modifier,
                             uint8_t *data, void *opaque)
{
    uint8_t map[IB_SL_COUNT];
    IbPortPairs pairs;
    IbSmaStatus status;
    unsigned sl, in, out;

    status = sl2vl_pairs(node, in_port, modifier, true, &pairs);
    if (status) {
        return status;
    }
    for (sl = 0; sl < IB_SL_COUNT; sl++) {
        map[sl] = ib_field_get(data, IB_SLTOVL_VL(sl));
    }
    for (out = pairs.out_first; out <= pairs.out_last; out++) {
        for (in = pairs.in_first; in <= pairs.in_last; in++) {
            if (memcmp(ib_node_sl2vl(node, in, out), map, sizeof(map))) {
                memcpy(ib_node_own_sl2vl(node, in, out), map, sizeof(map));
            }
        }
        ib_node_notify(node, out, IB_CHANGED_SL2VL);
    }
    return 0;
}

/* ---------------------------------------------------- VLArbitrationTable */

static IbSmaStatus vl_arb_part(const IbNode *node, uint8_t in_port,
                               uint32_t modifier, uint8_t *num, bool *high,
                               unsigned *first)
{
    uint32_t part = IB_VLARB_MOD_PART(modifier);
    uint32_t port = IB_VLARB_MOD_PORT(modifier);

    if (!ib_node_is_switch(node)) {
        port = in_port;
    }
    if (port == 0 || port > node->config.num_ports ||
        part < IB_VLARB_LOW_LOWER || part > IB_VLARB_HIGH_UPPER) {
        return IB_MAD_STATUS_BAD_FIELD;
    }
    *num = port;
    *high = part >= IB_VLARB_HIGH_LOWER;
    *first = (part - 1) % 2 * IB_VLARB_ENTRIES;
    /* With one data VL there is nothing to arbitrate: VLArb...Cap is 0. */
    return ib_link_config(node->links[port])->vl_cap > 1
        ? 0 : IB_MAD_STATUS_BAD_METHOD_ATTR;
}

static IbSmaStatus get_vl_arb(IbNode *node, uint8_t in_port,
                              uint32_t modifier, uint8_t *data, void *opaque)
{
    IbVlArbEntry table[2 * IB_VLARB_ENTRIES];
    IbSmaStatus status;
    unsigned first, i;
    uint8_t num;
    bool high;

    status = vl_arb_part(node, in_port, modifier, &num, &high, &first);
    if (status) {
        return status;
    }
    ib_link_get_vl_arb(node->links[num], high, table);
    for (i = 0; i < IB_VLARB_ENTRIES; i++) {
        ib_field_set(data, IB_VLARB_VL(i), table[first + i].vl);
        ib_field_set(data, IB_VLARB_WEIGHT(i), table[first + i].weight);
    }
    return 0;
}

static IbSmaStatus set_vl_arb(IbNode *node, uint8_t in_port,
                              uint32_t modifier, uint8_t *data, void *opaque)
{
    IbVlArbEntry table[2 * IB_VLARB_ENTRIES];
    IbSmaStatus status;
    unsigned first, i;
    uint8_t num;
    bool high;

    status = vl_arb_part(node, in_port, modifier, &num, &high, &first);
    if (status) {
        return status;
    }
    ib_link_get_vl_arb(node->links[num], high, table);
    for (i = 0; i < IB_VLARB_ENTRIES; i++) {
        table[first + i].vl = ib_field_get(data, IB_VLARB_VL(i));
        table[first + i].weight = ib_field_get(data, IB_VLARB_WEIGHT(i));
    }
    ib_link_set_vl_arb(node->links[num], high, table);
    ib_node_notify(node, num, IB_CHANGED_VLARB);
    return 0;
}

/* --------------------------------------------------------------- LedInfo */

static IbSmaStatus led_port(const IbNode *node, uint8_t in_port,
                            uint32_t modifier, uint8_t *num)
{
    if (!(node->ports[ib_node_end_port(node, in_port)].capability_mask &
          IB_CAP_IS_LED_INFO_SUPPORTED)) {
        return IB_MAD_STATUS_BAD_METHOD_ATTR;
    }
    if (modifier > node->config.num_ports) {
        return IB_MAD_STATUS_BAD_FIELD;
    }
    *num = modifier == 0 && !ib_node_is_switch(node) ? in_port : modifier;
    return 0;
}

static IbSmaStatus get_led_info(IbNode *node, uint8_t in_port,
                                uint32_t modifier, uint8_t *data,
                                void *opaque)
{
    IbSmaStatus status;
    uint8_t num;

    status = led_port(node, in_port, modifier, &num);
    if (!status) {
        ib_field_set(data, IB_LEDINFO_LED_MASK, node->ports[num].led);
    }
    return status;
}

static IbSmaStatus set_led_info(IbNode *node, uint8_t in_port,
                                uint32_t modifier, uint8_t *data,
                                void *opaque)
{
    IbSmaStatus status;
    uint8_t num;

    status = led_port(node, in_port, modifier, &num);
    if (!status) {
        node->ports[num].led = ib_field_get(data, IB_LEDINFO_LED_MASK);
    }
    return status;
}

/* ------------------------------------------------------------ VendorDiag */

/* One piece, with NextIndex 0 and nothing in DiagData: nothing is wrong. */
static IbSmaStatus get_vendor_diag(IbNode *node, uint8_t in_port,
                                   uint32_t modifier, uint8_t *data,
                                   void *opaque)
{
    return modifier == 0 ? 0 : IB_MAD_STATUS_BAD_FIELD;
}

/* ---------------------------------------- ExtendedPortInfo of Mellanox */

/*
 * Managers ask a Mellanox device for it without looking whether it is there
 * (OpenSM's fdr10 option, mlx4_ib at a QDR port) and OpenSM logs a refusal as
 * an error.  All zero is the truth: no FDR10.
 */
static IbSmaStatus get_mlnx_ext_port_info(IbNode *node, uint8_t in_port,
                                          uint32_t modifier, uint8_t *data,
                                          void *opaque)
{
    if (!ib_node_is_mlnx(node)) {
        return IB_MAD_STATUS_BAD_METHOD_ATTR;
    }
    return modifier <= node->config.num_ports ? 0 : IB_MAD_STATUS_BAD_FIELD;
}

const IbSmaAttribute ib_sma_table_attributes[] = {
    { IB_SM_ATTR_GUID_INFO, "GUIDInfo",
      IB_ON_CA | IB_ON_SWITCH, get_guid_info, set_guid_info },
    { IB_SM_ATTR_P_KEY_TABLE, "P_KeyTable",
      IB_ON_CA | IB_ON_SWITCH, get_pkey_table, set_pkey_table },
    { IB_SM_ATTR_SL_TO_VL, "SLtoVLMappingTable",
      IB_ON_CA | IB_ON_SWITCH, get_sl2vl, set_sl2vl },
    { IB_SM_ATTR_VL_ARBITRATION, "VLArbitrationTable",
      IB_ON_CA | IB_ON_SWITCH, get_vl_arb, set_vl_arb },
    { IB_SM_ATTR_LED_INFO, "LedInfo",
      IB_ON_CA | IB_ON_SWITCH, get_led_info, set_led_info },
    { IB_SM_ATTR_VENDOR_DIAG, "VendorDiag",
      IB_ON_CA | IB_ON_SWITCH, get_vendor_diag, NULL },
    { IB_SM_ATTR_MLNX_EXT_PORT_INFO, "ExtendedPortInfo",
      IB_ON_CA | IB_ON_SWITCH, get_mlnx_ext_port_info, NULL },
    { 0 }
};
