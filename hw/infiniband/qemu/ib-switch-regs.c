/*
 * ib-switch-pci: which register an access to BAR 0 means
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ib-switch-pci.h"
#include "hw/infiniband/ib-mad.h"
#include "hw/infiniband/ib-sm-attr.h"

/* ------------------------------------------------------- the whole switch */

/* Components of SwitchInfo that are registers of their own. */
static const struct {
    uint32_t reg, field;
    bool writable;
} ib_switch_info_regs[] = {
    { IBSW_LINEAR_FDB_CAP, IB_SWITCHINFO_LINEAR_FDB_CAP, false },
    { IBSW_RANDOM_FDB_CAP, IB_SWITCHINFO_RANDOM_FDB_CAP, false },
    { IBSW_MULTICAST_FDB_CAP, IB_SWITCHINFO_MULTICAST_FDB_CAP, false },
    { IBSW_LINEAR_FDB_TOP, IB_SWITCHINFO_LINEAR_FDB_TOP, true },
    { IBSW_MULTICAST_FDB_TOP, IB_SWITCHINFO_MULTICAST_FDB_TOP, true },
    { IBSW_DEFAULT_PORT, IB_SWITCHINFO_DEFAULT_PORT, true },
    { IBSW_MCAST_PRIMARY, IB_SWITCHINFO_DEFAULT_MULTICAST_PRIMARY_PORT,
      true },
    { IBSW_MCAST_NOT_PRIMARY,
      IB_SWITCHINFO_DEFAULT_MULTICAST_NOT_PRIMARY_PORT, true },
    { IBSW_LIFE_TIME, IB_SWITCHINFO_LIFE_TIME_VALUE, true },
};

static int ib_switch_info_find(uint32_t addr)
{
    int i;

    for (i = 0; i < ARRAY_SIZE(ib_switch_info_regs); i++) {
        if (ib_switch_info_regs[i].reg == addr) {
            return i;
        }
    }
    return -1;
}

static bool ib_switch_info_write(IbNode *node, uint32_t field, uint32_t value)
{
    uint8_t data[IB_SMP_DATA_BYTES] = { 0 };

    if (value > IB_FIELD_MASK(field) ||
        ib_node_attribute(node, false, IB_SM_ATTR_SWITCH_INFO, 0, data)) {
        return false;
    }
    ib_field_set(data, IB_SWITCHINFO_PORT_STATE_CHANGE, 0);   /* keep it */
    ib_field_set(data, field, value);
    return !ib_node_attribute(node, true, IB_SM_ATTR_SWITCH_INFO, 0, data);
}

static bool ib_switch_global_read(IbSwitchPci *s, uint32_t addr,
                                  uint32_t *value)
{
    const IbSwitchConfig *config = ib_switch_config(s->bay.sw);
    IbNode *node = ib_switch_node(s->bay.sw);
    uint8_t data[IB_SMP_DATA_BYTES] = { 0 };
    int i = ib_switch_info_find(addr);

    if (i >= 0) {
        ib_node_attribute(node, false, IB_SM_ATTR_SWITCH_INFO, 0, data);
        *value = ib_field_get(data, ib_switch_info_regs[i].field);
        return true;
    }
    if (addr >= IBSW_PORT_EVENT(0) && addr < IBSW_PORT_EVENT(8)) {
        *value = s->port_event[(addr - IBSW_PORT_EVENT(0)) / 4];
        return true;
    }
    if (addr >= IBSW_DISCARDS(0) && addr < IBSW_DISCARDS(32)) {
        *value = ib_switch_discards(s->bay.sw,
                                    (addr - IBSW_DISCARDS(0)) / 8) >>
                 (addr % 8 * 8);
        return true;
    }
    switch (addr) {
    case IBSW_ID:
        *value = IBSW_ID_VALUE;
        return true;
    case IBSW_VERSION:
        *value = IBSW_VERSION_VALUE;
        return true;
    case IBSW_PORTS:
        *value = config->num_ports |
                 (config->fdb == IB_FDB_RANDOM ? IBSW_PORTS_RANDOM_FDB : 0);
        return true;
    case IBSW_CONTROL:
        *value = 0;
        return true;
    case IBSW_PORT0:
        *value = s->port0;
        return true;
    case IBSW_NODE_GUID_LOW:
        *value = config->node_guid;
        return true;
    case IBSW_NODE_GUID_HIGH:
        *value = config->node_guid >> 32;
        return true;
    case IBSW_LID:
        *value = ib_node_lid(node, 0) |
                 ib_node_lmc(node, 0) << IBSW_LID_LMC_SHIFT;
        return true;
    case IBSW_CAPABILITY_MASK:
        *value = ib_node_capability_mask(node, 0);
        return true;
    case IBSW_STATE_CHANGE:
        *value = ib_node_port_state_change(node);
        return true;
    case IBSW_INTR_STATUS:
        *value = s->intr_status;
        return true;
    case IBSW_INTR_ENABLE:
        *value = s->intr_enable;
        return true;
    case IBSW_ERROR:
        *value = s->error;
        return true;
    }
    return false;
}

static bool ib_switch_global_write(IbSwitchPci *s, uint32_t addr,
                                   uint32_t value, uint32_t *error)
{
    IbNode *node = ib_switch_node(s->bay.sw);
    int i = ib_switch_info_find(addr);
    uint32_t news;

    if (i >= 0 && ib_switch_info_regs[i].writable) {
        *error = IBSW_ERROR_TABLE;
        return ib_switch_info_write(node, ib_switch_info_regs[i].field,
                                    value);
    }
    if (addr >= IBSW_PORT_EVENT(0) && addr < IBSW_PORT_EVENT(8)) {
        s->port_event[(addr - IBSW_PORT_EVENT(0)) / 4] &= ~value;
        return true;
    }
    switch (addr) {
    case IBSW_CONTROL:
        if (value & IBSW_CONTROL_RESET) {
            ib_switch_pci_reset(s);
        }
        return true;
    case IBSW_PORT0:
        s->port0 = value & IBSW_PORT0_MASK;
        ib_switch_pci_update_port0(s);
        return true;
    case IBSW_CAPABILITY_MASK:
        ib_node_set_capability_mask(node, 0, value);
        return true;
    case IBSW_STATE_CHANGE:
        if (value & 1) {
            ib_node_clear_port_state_change(node);
        }
        return true;
    case IBSW_INTR_STATUS:
        s->intr_status &= ~value;
        ib_switch_pci_notify(s, 0);
        return true;
    case IBSW_INTR_ENABLE:
        value &= IBSW_INTR_MASK;
        news = value & ~s->intr_enable & s->intr_status;
        s->intr_enable = value;
        ib_switch_pci_notify(s, news);
        return true;
    case IBSW_ERROR:
        s->error &= ~value;
        return true;
    }
    return false;
}

/* ---------------------------------------------------------------- the BAR */

static bool ib_switch_pci_reg_read(IbSwitchPci *s, uint32_t addr,
                                   uint32_t *value)
{
    if (addr < IBSW_MBOX_TX_ROUTE) {
        return ib_switch_global_read(s, addr, value);
    }
    if (addr < IBSW_TX_RING) {
        return ib_switch_mailbox_read(s, addr, value);
    }
    if (addr < IBSW_RX_RING + IBSW_RING_BYTES) {
        return ib_switch_ring_read(s, addr, value);
    }
    if (addr >= IBSW_PORT(0) && addr < IBSW_PORT(0) + IBSW_PORTS_BYTES) {
        return ib_switch_port_read(s, addr - IBSW_PORT(0), value);
    }
    return ib_switch_table_read(s, addr, value);
}

static bool ib_switch_pci_reg_write(IbSwitchPci *s, uint32_t addr,
                                    uint32_t value, uint32_t *error)
{
    if (addr < IBSW_MBOX_TX_ROUTE) {
        return ib_switch_global_write(s, addr, value, error);
    }
    if (addr < IBSW_TX_RING) {
        return ib_switch_mailbox_write(s, addr, value, error);
    }
    if (addr < IBSW_RX_RING + IBSW_RING_BYTES) {
        return ib_switch_ring_write(s, addr, value, error);
    }
    if (addr >= IBSW_PORT(0) && addr < IBSW_PORT(0) + IBSW_PORTS_BYTES) {
        return ib_switch_port_write(s, addr - IBSW_PORT(0), value, error);
    }
    return ib_switch_table_write(s, addr, value, error);
}

static uint64_t ib_switch_pci_bar_read(void *opaque, hwaddr addr,
                                       unsigned size)
{
    IbSwitchPci *s = opaque;
    uint32_t value = 0;

    if (s->mastering) {
        ib_switch_guest_error("register 0x%" HWADDR_PRIx " read by DMA of "
                              "the device itself", addr);
    } else if (!ib_switch_pci_reg_read(s, addr, &value)) {
        ib_switch_guest_error("read of 0x%" HWADDR_PRIx ": no such register",
                              addr);
        ib_switch_pci_error(s, IBSW_ERROR_ACCESS);
        value = 0;
    }
    return value;
}

static void ib_switch_pci_bar_write(void *opaque, hwaddr addr,
                                    uint64_t value, unsigned size)
{
    IbSwitchPci *s = opaque;
    uint32_t error = IBSW_ERROR_ACCESS;

    if (s->mastering) {
        ib_switch_guest_error("register 0x%" HWADDR_PRIx " written by DMA "
                              "or an interrupt of the device itself", addr);
    } else if (!ib_switch_pci_reg_write(s, addr, value, &error)) {
        ib_switch_guest_error("write of 0x%" PRIx64 " to 0x%" HWADDR_PRIx
                              ": %s", value, addr,
                              error & IBSW_ERROR_ACCESS ? "not a register "
                              "that can be written" : "refused");
        ib_switch_pci_error(s, error);
    }
}

/* An access of 64 bits is two of 32, with nothing between them. */
static const MemoryRegionOps ib_switch_pci_bar_ops = {
    .read = ib_switch_pci_bar_read,
    .write = ib_switch_pci_bar_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 8 },
    .impl = { .min_access_size = 4, .max_access_size = 4 },
};

void ib_switch_pci_bar_init(IbSwitchPci *s)
{
    memory_region_init_io(&s->bar, OBJECT(s), &ib_switch_pci_bar_ops, s,
                          "ib-switch-registers", IBSW_BAR_BYTES);
    pci_register_bar(PCI_DEVICE(s), 0, PCI_BASE_ADDRESS_MEM_TYPE_64,
                     &s->bar);
}
