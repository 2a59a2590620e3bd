/*
 * The SMA attributes that only a switch has
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * SwitchInfo here (IBA Vol.1 14.2.5.4), the forwarding tables beside their
 * lookup.  The node's agent calls these rows for SubnGet and SubnSet.
 */
#include "switch-int.h"

static void get_capabilities(const IbSwitchConfig *c, uint8_t *data)
{
    if (c->pkey_cap_external) {
        ib_field_set(data, IB_SWITCHINFO_PARTITION_ENFORCEMENT_CAP,
                     c->pkey_cap_external);
        ib_field_set(data, IB_SWITCHINFO_INBOUND_ENFORCEMENT_CAP, 1);
        ib_field_set(data, IB_SWITCHINFO_OUTBOUND_ENFORCEMENT_CAP, 1);
    }
    ib_field_set(data, IB_SWITCHINFO_FILTER_RAW_INBOUND_CAP, 1);
    ib_field_set(data, IB_SWITCHINFO_FILTER_RAW_OUTBOUND_CAP, 1);
    ib_field_set(data, IB_SWITCHINFO_ENHANCED_PORT0, c->enhanced_port0);
    ib_field_set(data, IB_SWITCHINFO_OPTIMIZED_SL_TO_VL,
                 IB_OPTIMIZED_SL_TO_VL_SUPPORTED);
}

static IbSmaStatus switch_info_get(IbNode *node, uint8_t in_port,
                                   uint32_t modifier, uint8_t *data,
                                   void *opaque)
{
    const IbSwitch *sw = opaque;
    const IbSwitchConfig *c = &sw->config;

    if (c->fdb == IB_FDB_LINEAR) {
        ib_field_set(data, IB_SWITCHINFO_LINEAR_FDB_CAP, c->linear_fdb_cap);
        ib_field_set(data, IB_SWITCHINFO_LINEAR_FDB_TOP, sw->linear_top);
    } else {
        ib_field_set(data, IB_SWITCHINFO_RANDOM_FDB_CAP, c->random_fdb_cap);
        ib_field_set(data, IB_SWITCHINFO_LIDS_PER_PORT,
                     c->lids_per_port ?: c->random_fdb_cap);
        ib_field_set(data, IB_SWITCHINFO_DEFAULT_PORT, sw->default_port);
    }
    ib_field_set(data, IB_SWITCHINFO_MULTICAST_FDB_CAP, c->multicast_fdb_cap);
    ib_field_set(data, IB_SWITCHINFO_MULTICAST_FDB_TOP, sw->mcast_top);
    ib_field_set(data, IB_SWITCHINFO_DEFAULT_MULTICAST_PRIMARY_PORT,
                 sw->mcast_primary);
    ib_field_set(data, IB_SWITCHINFO_DEFAULT_MULTICAST_NOT_PRIMARY_PORT,
                 sw->mcast_not_primary);
    ib_field_set(data, IB_SWITCHINFO_LIFE_TIME_VALUE, sw->life_time);
    ib_field_set(data, IB_SWITCHINFO_PORT_STATE_CHANGE,
                 ib_node_port_state_change(node));
    get_capabilities(c, data);
    return IB_MAD_STATUS_OK;
}

/*
 * 0 is "not in use"; else from "no entry at all" to the last one.  OpenSM
 * names the end of the last block that it uses, though the table may end
 * within that block.
 */
static bool mcast_top_valid(const IbSwitch *sw, uint16_t top)
{
    uint32_t end = ib_blocks(sw->config.multicast_fdb_cap, IB_MFT_ENTRIES) *
                   IB_MFT_ENTRIES;

    return top == 0 || end == 0 ||
           (top >= IB_LID_MCAST_FIRST - 1 && top < IB_LID_MCAST_FIRST + end);
}

static IbSmaStatus switch_info_set(IbNode *node, uint8_t in_port,
                                   uint32_t modifier, uint8_t *data,
                                   void *opaque)
{
    IbSwitch *sw = opaque;
    uint16_t linear_top = ib_field_get(data, IB_SWITCHINFO_LINEAR_FDB_TOP);
    uint16_t mcast_top = ib_field_get(data, IB_SWITCHINFO_MULTICAST_FDB_TOP);
    bool linear = sw->config.fdb == IB_FDB_LINEAR;

    if ((linear && linear_top >= sw->config.linear_fdb_cap) ||
        !mcast_top_valid(sw, mcast_top)) {
        return IB_MAD_STATUS_BAD_FIELD;
    }
    if (linear) {
        sw->linear_top = linear_top;
    } else {
        sw->default_port = ib_field_get(data, IB_SWITCHINFO_DEFAULT_PORT);
    }
    if (sw->config.multicast_fdb_cap) {
        sw->mcast_top = mcast_top;
    }
    sw->mcast_primary =
        ib_field_get(data, IB_SWITCHINFO_DEFAULT_MULTICAST_PRIMARY_PORT);
    sw->mcast_not_primary =
        ib_field_get(data, IB_SWITCHINFO_DEFAULT_MULTICAST_NOT_PRIMARY_PORT);
    ib_switch_set_life_time(sw, ib_field_get(data,
                                             IB_SWITCHINFO_LIFE_TIME_VALUE));
    if (ib_field_get(data, IB_SWITCHINFO_PORT_STATE_CHANGE)) {
        ib_node_clear_port_state_change(node);
    }
    ib_switch_update_fdb(sw);
    return IB_MAD_STATUS_OK;
}

const IbSmaAttribute ib_switch_attributes[] = {
    {
        .id = IB_SM_ATTR_SWITCH_INFO,
        .name = "SwitchInfo",
        .node_types = 1 << IB_NODE_TYPE_SWITCH,
        .get = switch_info_get,
        .set = switch_info_set,
    }, {
        .id = IB_SM_ATTR_LFT,
        .name = "LinearForwardingTable",
        .node_types = 1 << IB_NODE_TYPE_SWITCH,
        .get = ib_fdb_linear_get,
        .set = ib_fdb_linear_set,
    }, {
        .id = IB_SM_ATTR_RFT,
        .name = "RandomForwardingTable",
        .node_types = 1 << IB_NODE_TYPE_SWITCH,
        .get = ib_fdb_random_get,
        .set = ib_fdb_random_set,
    }, {
        .id = IB_SM_ATTR_MFT,
        .name = "MulticastForwardingTable",
        .node_types = 1 << IB_NODE_TYPE_SWITCH,
        .get = ib_fdb_multicast_get,
        .set = ib_fdb_multicast_set,
    }, {
        .id = 0,
    }
};
