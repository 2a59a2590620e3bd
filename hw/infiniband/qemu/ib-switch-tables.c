/*
 * ib-switch-pci: windows on the forwarding tables and the SL to VL maps
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A write goes the way of a SubnSet of the block that it is in, so that what
 * an SM may not do, the processor may not do either.
 */
#include "ib-switch-pci.h"
#include "hw/infiniband/ib-mad.h"
#include "hw/infiniband/ib-packet.h"
#include "hw/infiniband/ib-sm-attr.h"

/* What an attribute's block is before and after a write to one word of it. */
static bool table_set(IbSwitchPci *s, uint16_t attr, uint32_t modifier,
                      uint8_t *data)
{
    return !ib_node_attribute(ib_switch_node(s->bay.sw), true, attr, modifier,
                              data);
}

static bool table_get(IbSwitchPci *s, uint16_t attr, uint32_t modifier,
                      uint8_t *data)
{
    return !ib_node_attribute(ib_switch_node(s->bay.sw), false, attr,
                              modifier, data);
}

/* ---------------------------------------------------------------- unicast */

static bool lft_there(const IbSwitchPci *s, uint32_t lid)
{
    const IbSwitchConfig *config = ib_switch_config(s->bay.sw);

    return config->fdb == IB_FDB_LINEAR && lid < config->linear_fdb_cap;
}

/* Four LIDs, the lowest in the lowest byte. */
static bool lft_read(IbSwitchPci *s, uint32_t lid, uint32_t *value)
{
    unsigned i;

    if (!lft_there(s, lid)) {
        return false;
    }
    *value = 0;
    for (i = 0; i < 4 && lft_there(s, lid + i); i++) {
        *value |= (uint32_t)ib_switch_lft_get(s->bay.sw, lid + i) << 8 * i;
    }
    return true;
}

static bool lft_write(IbSwitchPci *s, uint32_t lid, uint32_t value,
                      uint32_t *error)
{
    uint8_t data[IB_SMP_DATA_BYTES] = { 0 };
    uint32_t block = lid / IB_LFT_ENTRIES;
    unsigned i;

    if (!lft_there(s, lid)) {
        return false;
    }
    *error = IBSW_ERROR_TABLE;
    if (!table_get(s, IB_SM_ATTR_LFT, block, data)) {
        return false;
    }
    for (i = 0; i < 4; i++) {
        data[lid % IB_LFT_ENTRIES + i] = value >> 8 * i;
    }
    return table_set(s, IB_SM_ATTR_LFT, block, data);
}

static bool rft_there(const IbSwitchPci *s, uint32_t index)
{
    const IbSwitchConfig *config = ib_switch_config(s->bay.sw);

    return config->fdb == IB_FDB_RANDOM && index < config->random_fdb_cap;
}

static bool rft_read(IbSwitchPci *s, uint32_t index, uint32_t *value)
{
    if (!rft_there(s, index)) {
        return false;
    }
    *value = ib_switch_rft_get(s->bay.sw, index);
    return true;
}

static bool rft_write(IbSwitchPci *s, uint32_t index, uint32_t value,
                      uint32_t *error)
{
    uint8_t data[IB_SMP_DATA_BYTES] = { 0 };
    uint32_t block = index / IB_RFT_ENTRIES;

    if (!rft_there(s, index)) {
        return false;
    }
    *error = IBSW_ERROR_TABLE;
    if (!table_get(s, IB_SM_ATTR_RFT, block, data)) {
        return false;
    }
    ib_put_be32(data + index % IB_RFT_ENTRIES * IB_RFT_ENTRY_BYTES, value);
    return table_set(s, IB_SM_ATTR_RFT, block, data);
}

/* -------------------------------------------------------------- multicast */

static bool mft_read(IbSwitchPci *s, uint32_t offset, uint32_t *value)
{
    const IbSwitchConfig *config = ib_switch_config(s->bay.sw);
    uint32_t index = offset / 32;
    uint8_t mask[32];
    unsigned i;

    if (index >= config->multicast_fdb_cap) {
        return false;
    }
    ib_switch_mft_get(s->bay.sw, IB_LID_MCAST_FIRST + index, mask);
    *value = 0;
    for (i = 0; i < 4; i++) {
        *value |= (uint32_t)mask[offset % 32 + i] << 8 * i;
    }
    return true;
}

/* The 16 ports of one position of one entry. */
static bool mft_write_half(IbSwitchPci *s, uint32_t index, uint32_t position,
                           uint16_t ports)
{
    uint8_t data[IB_SMP_DATA_BYTES] = { 0 };
    uint32_t modifier = position << 28 | index / IB_MFT_ENTRIES;

    if (position * IB_MFT_PORTS_PER_POSITION >
        ib_switch_config(s->bay.sw)->num_ports) {
        return true;
    }
    if (!table_get(s, IB_SM_ATTR_MFT, modifier, data)) {
        return false;
    }
    ib_field_set(data, IB_MFT_PORT_MASK(index % IB_MFT_ENTRIES), ports);
    return table_set(s, IB_SM_ATTR_MFT, modifier, data);
}

static bool mft_write(IbSwitchPci *s, uint32_t offset, uint32_t value,
                      uint32_t *error)
{
    const IbSwitchConfig *config = ib_switch_config(s->bay.sw);
    uint32_t index = offset / 32;
    uint32_t word = offset % 32 / 4;
    unsigned ports = config->num_ports + 1;
    uint64_t there = ports > word * 32
                     ? (UINT64_C(1) << MIN(ports - word * 32, 32)) - 1 : 0;

    if (index >= config->multicast_fdb_cap) {
        return false;
    }
    *error = IBSW_ERROR_TABLE;
    return !(value & ~there) &&
           mft_write_half(s, index, word * 2, value) &&
           mft_write_half(s, index, word * 2 + 1, value >> 16);
}

/* --------------------------------------------------------------- SL to VL */

static bool sl2vl_there(const IbSwitchPci *s, uint32_t in, uint32_t out)
{
    unsigned num_ports = ib_switch_config(s->bay.sw)->num_ports;

    return in <= num_ports && out <= num_ports;
}

/* Eight SLs, the lowest in the lowest four bits. */
static bool sl2vl_read(IbSwitchPci *s, uint32_t offset, uint32_t *value)
{
    uint32_t in = offset / 0x800, out = offset / 8 % 0x100;
    const uint8_t *map;
    unsigned i;

    if (!sl2vl_there(s, in, out)) {
        return false;
    }
    map = ib_node_sl2vl(ib_switch_node(s->bay.sw), in, out) + offset % 8 * 2;
    *value = 0;
    for (i = 0; i < 8; i++) {
        *value |= (uint32_t)map[i] << 4 * i;
    }
    return true;
}

static bool sl2vl_write(IbSwitchPci *s, uint32_t offset, uint32_t value,
                        uint32_t *error)
{
    uint32_t in = offset / 0x800, out = offset / 8 % 0x100;
    uint8_t data[IB_SMP_DATA_BYTES] = { 0 };
    const uint8_t *map;
    unsigned sl;

    if (!sl2vl_there(s, in, out)) {
        return false;
    }
    *error = IBSW_ERROR_TABLE;
    map = ib_node_sl2vl(ib_switch_node(s->bay.sw), in, out);
    for (sl = 0; sl < IB_SL_COUNT; sl++) {
        bool here = sl / 8 == offset % 8 / 4;

        ib_field_set(data, IB_SLTOVL_VL(sl),
                     here ? value >> sl % 8 * 4 : map[sl]);
    }
    return table_set(s, IB_SM_ATTR_SL_TO_VL, in << 8 | out, data);
}

/* ---------------------------------------------------------------- windows */

static const struct {
    uint32_t first, bytes, unit;  /* unit: bytes that count as one */
    bool (*read)(IbSwitchPci *s, uint32_t at, uint32_t *value);
    bool (*write)(IbSwitchPci *s, uint32_t at, uint32_t value,
                  uint32_t *error);
} ib_switch_windows[] = {
    { IBSW_LFT(0), IBSW_LFT_BYTES, 1, lft_read, lft_write },
    { IBSW_RFT(0), IBSW_RFT_BYTES, 4, rft_read, rft_write },
    { IBSW_MFT(0xc000), IBSW_MFT_BYTES, 1, mft_read, mft_write },
    { IBSW_SL2VL(0, 0), IBSW_SL2VL_BYTES, 1, sl2vl_read, sl2vl_write },
};

static int window_find(uint32_t addr)
{
    int i;

    for (i = 0; i < ARRAY_SIZE(ib_switch_windows); i++) {
        if (addr >= ib_switch_windows[i].first &&
            addr - ib_switch_windows[i].first < ib_switch_windows[i].bytes) {
            return i;
        }
    }
    return -1;
}

bool ib_switch_table_read(IbSwitchPci *s, uint32_t addr, uint32_t *value)
{
    int i = window_find(addr);

    return i >= 0 &&
           ib_switch_windows[i].read(s, (addr - ib_switch_windows[i].first) /
                                     ib_switch_windows[i].unit, value);
}

bool ib_switch_table_write(IbSwitchPci *s, uint32_t addr, uint32_t value,
                           uint32_t *error)
{
    int i = window_find(addr);

    return i >= 0 &&
           ib_switch_windows[i].write(s, (addr - ib_switch_windows[i].first) /
                                      ib_switch_windows[i].unit, value,
                                      error);
}
