/*
 * SMA: PortInfo
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IBA Vol.1 14.2.5.6 and table 146, which says what a component means for
 * each kind of port: CA port, switch port 0 (base or enhanced), external
 * switch port.  A Set with any invalid component changes nothing and is
 * answered with status 0x1c; what is read-only or not used at this kind of
 * port is ignored.
 */
#include "agent-int.h"

#define VL_ARB_ENTRIES     64   /* of each table, with two data VLs or more */
#define RESP_TIME_VALUE    18   /* 1.07 s; a guest's driver answers for a CA */
/*
 * How long a link change waits for the answer of the Set that asked for it,
 * when both use the same port.  A CA's answer goes through the guest.
 */
#define LATE_NS_SWITCH     (2 * 1000 * 1000)
#define LATE_NS_CA         (20 * 1000 * 1000)

/* What a Set asks of the link, checked: all zero is "no change". */
typedef struct IbPortChange {
    uint8_t state, phys, down_default;
    uint8_t width, mtu, vls;
    uint16_t speed;               /* as ib_link_set_speed_enabled() */
} IbPortChange;

/* AttributeModifier to port; false where there is none. */
static bool port_of_modifier(const IbNode *node, uint8_t in_port,
                             uint32_t modifier, uint8_t *port)
{
    uint32_t num = modifier & ~IB_PORTINFO_MOD_SM_EXT_SPEEDS;

    if (num > node->config.num_ports) {
        return false;
    }
    *port = num == 0 && !ib_node_is_switch(node) ? in_port : num;
    return true;
}

static uint8_t vl_code(unsigned vls)
{
    uint8_t code;

    for (code = IB_VLS_0; code < IB_VLS_0_14; code++) {
        if (ib_vls_to_count(code) >= vls) {
            break;
        }
    }
    return code;
}

/* A port that is neither linked nor told a LinkSpeed: base port 0 */
static bool is_base_port0(const IbNode *node, uint8_t port)
{
    return ib_node_is_switch(node) && port == 0 &&
           !node->config.enhanced_port0;
}

/* Managers believe in HDR and NDR only when these bits say so. */
uint16_t ib_node_shown_capability_mask2(const IbNode *node, uint8_t num)
{
    uint16_t mask = node->config.capability_mask2;
    const IbLinkConfig *config = ib_link_config(ib_node_like_link(node, num));

    if (config->speed_supported >> 4 & IB_LINK_SPEED_EXT_HDR) {
        mask |= IB_CAP2_IS_LINK_SPEED_HDR_SUPPORTED;
    }
    if (config->speed_supported >> 4 & IB_LINK_SPEED_EXT_NDR) {
        mask |= IB_CAP2_IS_LINK_SPEED_NDR_SUPPORTED;
    }
    return mask;
}

uint32_t ib_node_shown_capability_mask(const IbNode *node, uint8_t num)
{
    uint32_t mask = node->ports[num].capability_mask;
    const IbLinkConfig *config = ib_link_config(ib_node_like_link(node, num));

    if (config->speed_supported >> 4) {
        mask |= IB_CAP_IS_EXTENDED_SPEEDS_SUPPORTED;
    } else {
        mask &= ~IB_CAP_IS_EXTENDED_SPEEDS_SUPPORTED;
    }
    if (ib_node_is_mlnx(node)) {
        mask |= IB_CAP_IS_VENDOR_CLASS_SUPPORTED;
    }
    if (ib_node_shown_capability_mask2(node, num)) {
        mask |= IB_CAP_IS_CAPABILITY_MASK2_SUPPORTED;
    }
    return mask;
}

/* ------------------------------------------------------------------- Get */

static void get_end_port(const IbNode *node, uint8_t num, uint8_t *data)
{
    const IbAgentPort *port = &node->ports[num];

    if (node->smp.show_m_key) {
        ib_put_be64(data + IB_PORTINFO_M_KEY_OFFSET, port->m_key);
    }
    ib_put_be64(data + IB_PORTINFO_GID_PREFIX_OFFSET, port->gid_prefix);
    ib_field_set(data, IB_PORTINFO_LID, port->lid);
    ib_field_set(data, IB_PORTINFO_MASTER_SM_LID, port->sm_lid);
    ib_field_set(data, IB_PORTINFO_CAPABILITY_MASK,
                 ib_node_shown_capability_mask(node, num));
    ib_field_set(data, IB_PORTINFO_CAPABILITY_MASK2,
                 ib_node_shown_capability_mask2(node, num));
    ib_field_set(data, IB_PORTINFO_M_KEY_LEASE_PERIOD, port->m_key_lease);
    ib_field_set(data, IB_PORTINFO_M_KEY_PROTECT_BITS, port->m_key_protect);
    ib_field_set(data, IB_PORTINFO_LMC, port->lmc);
    ib_field_set(data, IB_PORTINFO_MASTER_SM_SL, port->sm_sl);
    ib_field_set(data, IB_PORTINFO_INIT_TYPE_REPLY, port->init_type_reply);
    ib_field_set(data, IB_PORTINFO_M_KEY_VIOLATIONS, port->m_key_violations);
    ib_field_set(data, IB_PORTINFO_Q_KEY_VIOLATIONS, port->qkey_violations);
    ib_field_set(data, IB_PORTINFO_GUID_CAP, node->config.guid_cap);
    ib_field_set(data, IB_PORTINFO_CLIENT_REREGISTER, node->smp.reregister);
    ib_field_set(data, IB_PORTINFO_SUBNET_TIMEOUT, port->subnet_timeout);
    ib_field_set(data, IB_PORTINFO_RESP_TIME_VALUE, RESP_TIME_VALUE);
}

static uint8_t highest_bit(uint8_t bits)
{
    uint8_t bit = 0x80;

    while (bit && !(bits & bit)) {
        bit >>= 1;
    }
    return bit;
}

/*
 * LinkSpeed* and LinkSpeedExt*; an extended speed hides behind the best of
 * the others from a manager that does not know it.
 */
static void put_speeds(uint8_t *data, uint16_t supported, uint16_t enabled,
                       uint16_t active)
{
    uint8_t legacy = active & 0xf;

    if (active >> 4) {
        legacy = highest_bit(supported & 0xf);
    }
    ib_field_set(data, IB_PORTINFO_LINK_SPEED_SUPPORTED, supported & 0xf);
    ib_field_set(data, IB_PORTINFO_LINK_SPEED_ENABLED, enabled & 0xf);
    ib_field_set(data, IB_PORTINFO_LINK_SPEED_ACTIVE, legacy);
    if (supported >> 4) {
        ib_field_set(data, IB_PORTINFO_LINK_SPEED_EXT_SUPPORTED,
                     supported >> 4);
        ib_field_set(data, IB_PORTINFO_LINK_SPEED_EXT_ENABLED,
                     enabled >> 4 ? enabled >> 4 : IB_LINK_SPEED_EXT_DISABLE);
        ib_field_set(data, IB_PORTINFO_LINK_SPEED_EXT_ACTIVE, active >> 4);
    }
}

static void get_capabilities(const IbNode *node, uint8_t num, uint8_t *data)
{
    const IbLinkConfig *config = ib_link_config(ib_node_like_link(node, num));
    unsigned vl_arb = config->vl_cap > 1 ? VL_ARB_ENTRIES : 0;

    ib_field_set(data, IB_PORTINFO_LINK_WIDTH_SUPPORTED,
                 config->width_supported);
    ib_field_set(data, IB_PORTINFO_VL_CAP, vl_code(config->vl_cap));
    ib_field_set(data, IB_PORTINFO_MTU_CAP, config->mtu_cap);
    if (num) {
        ib_field_set(data, IB_PORTINFO_VL_ARBITRATION_HIGH_CAP, vl_arb);
        ib_field_set(data, IB_PORTINFO_VL_ARBITRATION_LOW_CAP, vl_arb);
    }
}

static void get_link(const IbNode *node, uint8_t num, uint8_t *data)
{
    const IbLink *link = node->links[num];

    ib_field_set(data, IB_PORTINFO_PORT_STATE, ib_link_state(link));
    ib_field_set(data, IB_PORTINFO_PORT_PHYSICAL_STATE,
                 ib_link_phys_state(link));
    ib_field_set(data, IB_PORTINFO_LINK_DOWN_DEFAULT_STATE,
                 ib_link_down_default(link));
    ib_field_set(data, IB_PORTINFO_LINK_WIDTH_ENABLED,
                 ib_link_width_enabled(link));
    ib_field_set(data, IB_PORTINFO_LINK_WIDTH_ACTIVE,
                 ib_link_width_active(link));
    put_speeds(data, ib_link_config(link)->speed_supported,
               ib_link_speed_enabled(link), ib_link_speed_active(link));
    ib_field_set(data, IB_PORTINFO_NEIGHBOR_MTU, ib_link_neighbor_mtu(link));
    ib_field_set(data, IB_PORTINFO_OPERATIONAL_VLS,
                 ib_link_operational_vls(link));
    ib_field_set(data, IB_PORTINFO_VL_HIGH_LIMIT, ib_link_vl_high_limit(link));
}

/* Port 0 has no link: what is shown is what it can do. */
static void get_port0(const IbNode *node, uint8_t *data)
{
    const IbLinkConfig *config = ib_link_config(ib_node_like_link(node, 0));

    ib_field_set(data, IB_PORTINFO_PORT_STATE, IB_PORT_ACTIVE);
    ib_field_set(data, IB_PORTINFO_PORT_PHYSICAL_STATE, IB_PHYS_LINK_UP);
    ib_field_set(data, IB_PORTINFO_LINK_DOWN_DEFAULT_STATE,
                 IB_LINK_DOWN_POLLING);
    ib_field_set(data, IB_PORTINFO_LINK_WIDTH_ENABLED,
                 config->width_supported);
    ib_field_set(data, IB_PORTINFO_LINK_WIDTH_ACTIVE,
                 highest_bit(config->width_supported & 0xf));
    put_speeds(data, config->speed_supported, config->speed_supported,
               config->speed_supported >> 4
               ? highest_bit(config->speed_supported >> 4) << 4
               : highest_bit(config->speed_supported & 0xf));
    ib_field_set(data, IB_PORTINFO_NEIGHBOR_MTU, config->mtu_cap);
    ib_field_set(data, IB_PORTINFO_OPERATIONAL_VLS, vl_code(config->vl_cap));
}

static void get_switch_external(const IbNode *node, uint8_t num,
                                uint8_t *data)
{
    const IbAgentPort *port = &node->ports[num];
    const IbLink *link = node->links[num];

    ib_field_set(data, IB_PORTINFO_VL_STALL_COUNT,
                 ib_link_vl_stall_count(link));
    ib_field_set(data, IB_PORTINFO_HOQ_LIFE, ib_link_hoq_life(link));
    ib_field_set(data, IB_PORTINFO_PARTITION_ENFORCEMENT_INBOUND,
                 !!(port->enforcement & IB_ENFORCE_PARTITION_IN));
    ib_field_set(data, IB_PORTINFO_PARTITION_ENFORCEMENT_OUTBOUND,
                 !!(port->enforcement & IB_ENFORCE_PARTITION_OUT));
    ib_field_set(data, IB_PORTINFO_FILTER_RAW_INBOUND,
                 !!(port->enforcement & IB_ENFORCE_RAW_IN));
    ib_field_set(data, IB_PORTINFO_FILTER_RAW_OUTBOUND,
                 !!(port->enforcement & IB_ENFORCE_RAW_OUT));
}

IbSmaStatus ib_sma_get_port_info(IbNode *node, uint8_t in_port,
                                 uint32_t modifier, uint8_t *data,
                                 void *opaque)
{
    const IbAgentPort *port;
    uint8_t num;

    if (!port_of_modifier(node, in_port, modifier, &num)) {
        return IB_MAD_STATUS_BAD_FIELD;
    }
    port = &node->ports[num];
    if (ib_node_is_end_port(node, num)) {
        get_end_port(node, num, data);
    }
    get_capabilities(node, num, data);
    if (num == 0) {
        get_port0(node, data);
    } else {
        get_link(node, num, data);
    }
    if (num != 0 && ib_node_is_switch(node)) {
        get_switch_external(node, num, data);
        ib_trap_ports_read(node);
    }
    ib_field_set(data, IB_PORTINFO_LOCAL_PORT_NUM, in_port);
    ib_field_set(data, IB_PORTINFO_P_KEY_VIOLATIONS, port->pkey_violations);
    ib_field_set(data, IB_PORTINFO_LOCAL_PHY_ERRORS,
                 port->error_thresholds >> 4);
    ib_field_set(data, IB_PORTINFO_OVERRUN_ERRORS,
                 port->error_thresholds & 0xf);
    return 0;
}

/* ----------------------------------------------------- Set: the checking */

static bool check_end_port(const IbNode *node, uint8_t num,
                           const uint8_t *data)
{
    uint16_t lid = ib_field_get(data, IB_PORTINFO_LID);
    uint8_t lmc = ib_field_get(data, IB_PORTINFO_LMC);

    if (is_base_port0(node, num)) {
        lmc = 0;
    }
    return ib_lid_is_unicast(lid) && !(lid & ((1 << lmc) - 1)) &&
           ib_lid_is_unicast(ib_field_get(data, IB_PORTINFO_MASTER_SM_LID));
}

static bool check_width(const IbLink *link, uint8_t width,
                        IbPortChange *change)
{
    uint8_t supported = ib_link_config(link)->width_supported;

    if (width == IB_LINK_WIDTH_AS_SUPPORTED) {
        width = supported;
    }
    change->width = width;
    return !(width & ~supported);
}

static bool check_speed(const IbLink *link, const uint8_t *data,
                        bool knows_extended, IbPortChange *change)
{
    uint16_t supported = ib_link_config(link)->speed_supported;
    uint16_t old = ib_link_speed_enabled(link);
    uint8_t legacy = ib_field_get(data, IB_PORTINFO_LINK_SPEED_ENABLED);
    uint8_t ext = ib_field_get(data, IB_PORTINFO_LINK_SPEED_EXT_ENABLED);

    if (legacy == IB_LINK_SPEED_AS_SUPPORTED) {
        legacy = supported & 0xf;
    } else if (legacy == IB_LINK_SPEED_NO_CHANGE) {
        legacy = old & 0xf;
    }
    if (!knows_extended || !(supported >> 4) ||
        ext == IB_LINK_SPEED_EXT_NO_CHANGE) {
        ext = old >> 4;
    } else if (ext == IB_LINK_SPEED_EXT_AS_SUPPORTED) {
        ext = supported >> 4;
    } else if (ext == IB_LINK_SPEED_EXT_DISABLE) {
        ext = 0;
    }
    change->speed = legacy | ext << 4;
    return !(change->speed & ~supported) && change->speed != 0;
}

/* The steps that PortState and PortPhysicalState have for a SM, 7.2.7 */
static bool check_state(const IbLink *link, const uint8_t *data,
                        IbPortChange *change)
{
    uint8_t now = ib_link_state(link);

    change->state = ib_field_get(data, IB_PORTINFO_PORT_STATE);
    change->phys = ib_field_get(data, IB_PORTINFO_PORT_PHYSICAL_STATE);
    change->down_default =
        ib_field_get(data, IB_PORTINFO_LINK_DOWN_DEFAULT_STATE);
    if (change->phys > IB_PHYS_DISABLED ||
        change->down_default > IB_LINK_DOWN_POLLING) {
        return false;
    }
    switch (change->state) {
    case IB_PORT_NO_CHANGE:
    case IB_PORT_DOWN:
        return true;
    case IB_PORT_ARMED:
        return change->phys == IB_PHYS_NO_CHANGE &&
               (now == IB_PORT_INIT || now == IB_PORT_ARMED);
    case IB_PORT_ACTIVE:
        return change->phys == IB_PHYS_NO_CHANGE &&
               (now == IB_PORT_ARMED || now == IB_PORT_ACTIVE);
    default:
        return false;
    }
}

static bool check_link(const IbLink *link, const uint8_t *data,
                       bool knows_extended, IbPortChange *change)
{
    const IbLinkConfig *config = ib_link_config(link);

    change->mtu = ib_field_get(data, IB_PORTINFO_NEIGHBOR_MTU);
    change->vls = ib_field_get(data, IB_PORTINFO_OPERATIONAL_VLS);
    return check_width(link, ib_field_get(data, IB_PORTINFO_LINK_WIDTH_ENABLED),
                       change) &&
           check_speed(link, data, knows_extended, change) &&
           change->mtu >= IB_MTU_256 && change->mtu <= config->mtu_cap &&
           change->vls <= vl_code(config->vl_cap) &&
           check_state(link, data, change);
}

/* ------------------------------------------------------ Set: the changing */

static uint32_t apply_end_port(IbNode *node, uint8_t num, const uint8_t *data)
{
    IbAgentPort *port = &node->ports[num];
    IbAgentPort old = *port;
    uint32_t what = 0;

    port->m_key = ib_get_be64(data + IB_PORTINFO_M_KEY_OFFSET);
    port->gid_prefix = ib_get_be64(data + IB_PORTINFO_GID_PREFIX_OFFSET);
    port->lid = ib_field_get(data, IB_PORTINFO_LID);
    port->sm_lid = ib_field_get(data, IB_PORTINFO_MASTER_SM_LID);
    port->sm_sl = ib_field_get(data, IB_PORTINFO_MASTER_SM_SL);
    port->m_key_lease = ib_field_get(data, IB_PORTINFO_M_KEY_LEASE_PERIOD);
    port->m_key_protect = ib_field_get(data, IB_PORTINFO_M_KEY_PROTECT_BITS);
    port->init_type_reply = ib_field_get(data, IB_PORTINFO_INIT_TYPE_REPLY);
    port->subnet_timeout = ib_field_get(data, IB_PORTINFO_SUBNET_TIMEOUT);
    if (!is_base_port0(node, num)) {
        port->lmc = ib_field_get(data, IB_PORTINFO_LMC);
    }
    if (ib_field_get(data, IB_PORTINFO_M_KEY_VIOLATIONS) == 0) {
        port->m_key_violations = 0;
    }
    if (ib_field_get(data, IB_PORTINFO_Q_KEY_VIOLATIONS) == 0) {
        port->qkey_violations = 0;
    }
    if (ib_field_get(data, IB_PORTINFO_CLIENT_REREGISTER) &&
        port->capability_mask & IB_CAP_IS_CLIENT_REREGISTRATION_SUPPORTED) {
        node->smp.reregister = true;
        what |= IB_CHANGED_REREGISTER;
    }
    if (port->lid != old.lid || port->lmc != old.lmc) {
        what |= IB_CHANGED_LID;
    }
    if (port->sm_lid != old.sm_lid || port->sm_sl != old.sm_sl) {
        what |= IB_CHANGED_SM;
    }
    if (port->gid_prefix != old.gid_prefix) {
        what |= IB_CHANGED_PREFIX;
    }
    return what;
}

static void apply_switch_external(IbNode *node, uint8_t num,
                                  const uint8_t *data)
{
    IbLink *link = node->links[num];
    uint8_t bits = 0;

    ib_link_set_vl_stall_count(link,
                               ib_field_get(data, IB_PORTINFO_VL_STALL_COUNT));
    ib_link_set_hoq_life(link, ib_field_get(data, IB_PORTINFO_HOQ_LIFE));
    if (ib_field_get(data, IB_PORTINFO_PARTITION_ENFORCEMENT_INBOUND)) {
        bits |= IB_ENFORCE_PARTITION_IN;
    }
    if (ib_field_get(data, IB_PORTINFO_PARTITION_ENFORCEMENT_OUTBOUND)) {
        bits |= IB_ENFORCE_PARTITION_OUT;
    }
    if (ib_field_get(data, IB_PORTINFO_FILTER_RAW_INBOUND)) {
        bits |= IB_ENFORCE_RAW_IN;
    }
    if (ib_field_get(data, IB_PORTINFO_FILTER_RAW_OUTBOUND)) {
        bits |= IB_ENFORCE_RAW_OUT;
    }
    node->ports[num].enforcement = bits & node->config.enforcement;
}

/* PortState and PortPhysicalState, as the SM's own doing. */
static bool apply_state(IbNode *node, uint8_t num, uint8_t state,
                        uint8_t phys)
{
    IbLink *link = node->links[num];
    bool done = true;

    node->sm_sets_state = true;
    if (phys != IB_PHYS_NO_CHANGE) {
        done = ib_link_set_phys_state(link, phys);
    } else if (state != ib_link_state(link)) {
        done = ib_link_set_state(link, state);
    }
    node->sm_sets_state = false;
    return done;
}

void ib_sma_late_timer(IbNode *node, uint8_t num, int64_t now)
{
    IbAgentPort *port = &node->ports[num];

    if (port->late_deadline <= now) {
        port->late_deadline = IB_NEVER;
        apply_state(node, num, port->late_state, port->late_phys);
    }
}

static bool change_state(IbNode *node, uint8_t num, uint8_t in_port,
                         const IbPortChange *change)
{
    IbAgentPort *port = &node->ports[num];
    bool goes_down = change->state == IB_PORT_DOWN ||
                     change->phys != IB_PHYS_NO_CHANGE;

    if (!goes_down || num != in_port ||
        ib_link_state(node->links[num]) == IB_PORT_DOWN) {
        return apply_state(node, num, change->state, change->phys);
    }
    port->late_state = change->state;
    port->late_phys = change->phys;
    port->late_deadline = node->ops->now(node->opaque) +
        (ib_node_is_switch(node) ? LATE_NS_SWITCH : LATE_NS_CA);
    ib_node_rearm(node);
    return true;
}

static bool apply_link(IbNode *node, uint8_t num, uint8_t in_port,
                       const uint8_t *data, const IbPortChange *change)
{
    IbLink *link = node->links[num];

    ib_link_set_down_default(link, change->down_default);
    if (change->width != IB_LINK_WIDTH_NO_CHANGE) {
        ib_link_set_width_enabled(link, change->width);
    }
    ib_link_set_speed_enabled(link, change->speed);
    ib_link_set_neighbor_mtu(link, change->mtu);
    if (change->vls) {
        ib_link_set_operational_vls(link, change->vls);
    }
    ib_link_set_vl_high_limit(link,
                              ib_field_get(data, IB_PORTINFO_VL_HIGH_LIMIT));
    if (ib_node_is_switch(node)) {
        apply_switch_external(node, num, data);
    }
    return change_state(node, num, in_port, change);
}

IbSmaStatus ib_sma_set_port_info(IbNode *node, uint8_t in_port,
                                 uint32_t modifier, uint8_t *data,
                                 void *opaque)
{
    IbPortChange change = { 0 };
    uint32_t what = IB_CHANGED_PORT;
    bool done = true;
    bool is_end_port;
    uint8_t num;

    if (!port_of_modifier(node, in_port, modifier, &num)) {
        return IB_MAD_STATUS_BAD_FIELD;
    }
    is_end_port = ib_node_is_end_port(node, num);
    /* A CA's other port, too, has to know the key. */
    if (is_end_port && !ib_sma_may_set(node, num)) {
        return IB_MAD_STATUS_BAD_FIELD;
    }
    if ((is_end_port && !check_end_port(node, num, data)) ||
        (num && !check_link(node->links[num], data,
                            modifier & IB_PORTINFO_MOD_SM_EXT_SPEEDS,
                            &change))) {
        return IB_MAD_STATUS_BAD_FIELD;
    }

    if (is_end_port) {
        what |= apply_end_port(node, num, data);
        /* Who sets the key knows it. */
        node->smp.show_m_key = true;
    }
    if (num == 0) {
        ib_trap_sm_set(node);
    }
    ib_node_set_error_thresholds(
        node, num, ib_field_get(data, IB_PORTINFO_LOCAL_PHY_ERRORS) << 4 |
                   ib_field_get(data, IB_PORTINFO_OVERRUN_ERRORS));
    if (ib_field_get(data, IB_PORTINFO_P_KEY_VIOLATIONS) == 0) {
        node->ports[num].pkey_violations = 0;
    }
    if (num) {
        done = apply_link(node, num, in_port, data, &change);
    }
    ib_node_notify(node, num, what);
    return done ? 0 : IB_MAD_STATUS_BAD_FIELD;
}
