/*
 * ib-switch-pci: a port's page of registers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Port 0 has no link: of its page only the status and the counters are there,
 * the rest reads 0.
 */
#include "ib-switch-pci.h"
#include "hw/infiniband/ib-sm-attr.h"

/* IBSW_PORT_COUNTER(n).  The order is ABI. */
static const uint16_t ib_switch_counters[IBSW_PORT_COUNTERS] = {
    offsetof(IbLinkCounters, xmit_data),
    offsetof(IbLinkCounters, rcv_data),
    offsetof(IbLinkCounters, xmit_pkts),
    offsetof(IbLinkCounters, rcv_pkts),
    offsetof(IbLinkCounters, unicast_xmit_pkts),
    offsetof(IbLinkCounters, unicast_rcv_pkts),
    offsetof(IbLinkCounters, multicast_xmit_pkts),
    offsetof(IbLinkCounters, multicast_rcv_pkts),
    offsetof(IbLinkCounters, symbol_errors),
    offsetof(IbLinkCounters, link_error_recovery),
    offsetof(IbLinkCounters, link_downed),
    offsetof(IbLinkCounters, rcv_errors),
    offsetof(IbLinkCounters, rcv_remote_physical_errors),
    offsetof(IbLinkCounters, rcv_switch_relay_errors),
    offsetof(IbLinkCounters, xmit_discards),
    offsetof(IbLinkCounters, xmit_constraint_errors),
    offsetof(IbLinkCounters, rcv_constraint_errors),
    offsetof(IbLinkCounters, local_link_integrity_errors),
    offsetof(IbLinkCounters, excessive_buffer_overruns),
    offsetof(IbLinkCounters, vl15_dropped),
    offsetof(IbLinkCounters, xmit_wait),
    offsetof(IbLinkCounters, frames_sent),
    offsetof(IbLinkCounters, frames_received),
    offsetof(IbLinkCounters, frames_bad),
    offsetof(IbLinkCounters, frames_late),
    offsetof(IbLinkCounters, port_inactive_discards),
    offsetof(IbLinkCounters, neighbor_mtu_discards),
    offsetof(IbLinkCounters, sw_lifetime_discards),
    offsetof(IbLinkCounters, sw_hoq_lifetime_discards),
    offsetof(IbLinkCounters, local_physical_errors),
    offsetof(IbLinkCounters, malformed_packets),
    offsetof(IbLinkCounters, buffer_overruns),
    offsetof(IbLinkCounters, dlid_mapping_errors),
    offsetof(IbLinkCounters, vl_mapping_errors),
    offsetof(IbLinkCounters, looping_errors),
    offsetof(IbLinkCounters, xmit_flow_pkts),
    offsetof(IbLinkCounters, rcv_flow_pkts),
};

/* IBSW_PORT_VL_COUNTER(vl, n).  So is this one. */
static const uint16_t ib_switch_vl_counters[IBSW_PORT_VL_COUNTERS] = {
    offsetof(IbLinkCounters, xmit_data_vl),
    offsetof(IbLinkCounters, rcv_data_vl),
    offsetof(IbLinkCounters, xmit_pkts_vl),
    offsetof(IbLinkCounters, rcv_pkts_vl),
    offsetof(IbLinkCounters, xmit_wait_vl),
    offsetof(IbLinkCounters, flow_update_errors_vl),
    offsetof(IbLinkCounters, xmit_data_sl),
    offsetof(IbLinkCounters, rcv_data_sl),
};

/* The half of a counter that @reg selects. */
static uint32_t counter_half(const IbLinkCounters *counters, size_t offset,
                             uint32_t reg)
{
    uint64_t count;

    memcpy(&count, (const char *)counters + offset, sizeof(count));
    return reg % 8 ? count >> 32 : count;
}

static bool port_read_counters(const IbLinkCounters *counters, uint32_t reg,
                               uint32_t *value)
{
    uint32_t n = (reg - IBSW_PORT_COUNTER(0)) / 8;
    uint32_t vl;

    if (reg < IBSW_PORT_COUNTER(IBSW_PORT_COUNTERS)) {
        *value = counter_half(counters, ib_switch_counters[n], reg);
        return true;
    }
    if (reg < IBSW_PORT_VL_COUNTER(0, 0) ||
        reg >= IBSW_PORT_VL_COUNTER(IB_VLS, 0)) {
        return false;
    }
    vl = (reg - IBSW_PORT_VL_COUNTER(0, 0)) / 64;
    n = reg % 64 / 8;
    if (n >= IBSW_PORT_VL_COUNTERS) {
        return false;
    }
    *value = counter_half(counters, ib_switch_vl_counters[n] +
                          vl * sizeof(uint64_t), reg);
    return true;
}

static bool port_read_vl(const IbLink *link, uint32_t reg, uint32_t *value)
{
    uint8_t vl = (reg - IBSW_PORT_VL(0)) / 16;

    switch (reg % 16) {
    case IBSW_VL_OCCUPIED:
        *value = ib_link_rx_occupancy(link, vl);
        return true;
    case IBSW_VL_CREDITS:
        *value = ib_link_tx_credits(link, vl);
        return true;
    case IBSW_VL_QUEUED:
        *value = ib_link_tx_queued(link, vl);
        return true;
    }
    return false;
}

static uint32_t port_status(const IbLink *link)
{
    return ib_link_state(link) |
           ib_link_phys_state(link) << IBSW_PORT_PHYS_SHIFT |
           ib_link_width_active(link) << IBSW_PORT_WIDTH_SHIFT |
           (uint32_t)ib_link_speed_active(link) << IBSW_PORT_SPEED_SHIFT;
}

static uint32_t port_caps(const IbLinkConfig *config)
{
    return config->mtu_cap | config->vl_cap << IBSW_PORT_VLS_SHIFT |
           config->width_supported << IBSW_PORT_WIDTH_SHIFT |
           (uint32_t)config->speed_supported << IBSW_PORT_SPEED_SHIFT;
}

static uint32_t port_read_arb(const IbLink *link, uint32_t reg)
{
    bool high = reg >= IBSW_PORT_ARB_HIGH(0);
    IbVlArbEntry table[64];
    unsigned i = reg % 0x100 / 4;

    ib_link_get_vl_arb(link, high, table);
    return table[i].vl | table[i].weight << IBSW_ARB_WEIGHT_SHIFT;
}

static bool port_read_link(const IbLink *link, uint32_t reg, uint32_t *value)
{
    const IbLinkConfig *config = ib_link_config(link);

    if (reg >= IBSW_PORT_VL(0) && reg < IBSW_PORT_VL(IB_VLS)) {
        return port_read_vl(link, reg, value);
    }
    if (reg >= IBSW_PORT_ARB_LOW(0) && reg < IBSW_PORT_COUNTER(0)) {
        *value = port_read_arb(link, reg);
        return true;
    }
    switch (reg) {
    case IBSW_PORT_STATUS:
        *value = port_status(link);
        return true;
    case IBSW_PORT_CONTROL:
        *value = 0;
        return true;
    case IBSW_PORT_CAPS:
        *value = port_caps(config);
        return true;
    case IBSW_PORT_MTU:
        *value = ib_link_neighbor_mtu(link);
        return true;
    case IBSW_PORT_VLS:
        *value = ib_link_operational_vls(link);
        return true;
    case IBSW_PORT_WIDTH:
        *value = ib_link_width_enabled(link);
        return true;
    case IBSW_PORT_SPEED:
        *value = ib_link_speed_enabled(link);
        return true;
    case IBSW_PORT_DOWN_DEFAULT:
        *value = ib_link_down_default(link);
        return true;
    case IBSW_PORT_HIGH_LIMIT:
        *value = ib_link_vl_high_limit(link);
        return true;
    case IBSW_PORT_HOQ_LIFE:
        *value = ib_link_hoq_life(link);
        return true;
    case IBSW_PORT_VL_STALL:
        *value = ib_link_vl_stall_count(link);
        return true;
    case IBSW_PORT_PEER_LOW:
        *value = ib_link_peer_guid(link);
        return true;
    case IBSW_PORT_PEER_HIGH:
        *value = ib_link_peer_guid(link) >> 32;
        return true;
    case IBSW_PORT_PEER_PORT:
        *value = ib_link_peer_port(link);
        return true;
    case IBSW_PORT_BUFFER:
        *value = config->rx_buffer / IB_BLOCK_BYTES;
        return true;
    }
    return false;
}

bool ib_switch_port_read(IbSwitchPci *s, uint32_t offset, uint32_t *value)
{
    uint32_t port = offset / 0x1000;
    uint32_t reg = offset % 0x1000;
    IbSwitch *sw = s->bay.sw;

    if (port > ib_switch_config(sw)->num_ports) {
        return false;
    }
    if (reg >= IBSW_PORT_COUNTER(0)) {
        return port_read_counters(ib_node_counters(ib_switch_node(sw), port),
                                  reg, value);
    }
    if (port) {
        return port_read_link(ib_switch_link(sw, port), reg, value);
    }
    *value = reg == IBSW_PORT_STATUS
             ? IB_PORT_ACTIVE | IB_PHYS_LINK_UP << IBSW_PORT_PHYS_SHIFT : 0;
    return true;
}

/* ---------------------------------------------------------------- writing */

/* PortPhysicalState first: it decides what PortStates there are. */
static bool port_control(IbLink *link, uint32_t value)
{
    uint8_t phys = value >> IBSW_PORT_PHYS_SHIFT & 0xf;

    return value <= 0xff && ib_link_set_phys_state(link, phys) &&
           ib_link_set_state(link, value & IBSW_PORT_STATE);
}

static bool port_write_arb(IbLink *link, uint32_t reg, uint32_t value)
{
    bool high = reg >= IBSW_PORT_ARB_HIGH(0);
    IbVlArbEntry table[64];
    unsigned i = reg % 0x100 / 4;

    if (value & ~(IBSW_ARB_VL | 0xffu << IBSW_ARB_WEIGHT_SHIFT)) {
        return false;
    }
    ib_link_get_vl_arb(link, high, table);
    table[i].vl = value & IBSW_ARB_VL;
    table[i].weight = value >> IBSW_ARB_WEIGHT_SHIFT;
    ib_link_set_vl_arb(link, high, table);
    return true;
}

static bool port_write_link(IbLink *link, uint32_t reg, uint32_t value)
{
    switch (reg) {
    case IBSW_PORT_CONTROL:
        return port_control(link, value);
    case IBSW_PORT_MTU:
        return value <= 0xff && ib_link_set_neighbor_mtu(link, value);
    case IBSW_PORT_VLS:
        return value <= 0xff && ib_link_set_operational_vls(link, value);
    case IBSW_PORT_WIDTH:
        return value <= 0xff && ib_link_set_width_enabled(link, value);
    case IBSW_PORT_SPEED:
        return value <= 0xffff && ib_link_set_speed_enabled(link, value);
    case IBSW_PORT_DOWN_DEFAULT:
        return value <= 0xff && value &&
               ib_link_set_down_default(link, value);
    case IBSW_PORT_HIGH_LIMIT:
        if (value <= 0xff) {
            ib_link_set_vl_high_limit(link, value);
        }
        return value <= 0xff;
    case IBSW_PORT_HOQ_LIFE:
        if (value <= 0x1f) {
            ib_link_set_hoq_life(link, value);
        }
        return value <= 0x1f;
    case IBSW_PORT_VL_STALL:
        if (value <= 7) {
            ib_link_set_vl_stall_count(link, value);
        }
        return value <= 7;
    }
    return port_write_arb(link, reg, value);
}

static bool port_writable(uint32_t reg)
{
    return reg == IBSW_PORT_CONTROL ||
           (reg >= IBSW_PORT_MTU && reg <= IBSW_PORT_VL_STALL) ||
           (reg >= IBSW_PORT_ARB_LOW(0) && reg < IBSW_PORT_COUNTER(0));
}

bool ib_switch_port_write(IbSwitchPci *s, uint32_t offset, uint32_t value,
                          uint32_t *error)
{
    uint32_t port = offset / 0x1000;
    uint32_t reg = offset % 0x1000;
    IbSwitch *sw = s->bay.sw;

    if (port == 0 || port > ib_switch_config(sw)->num_ports ||
        !port_writable(reg)) {
        return false;
    }
    *error = IBSW_ERROR_PORT;
    return port_write_link(ib_switch_link(sw, port), reg, value);
}
