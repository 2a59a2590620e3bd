/*
 * The random forwarding table
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * RandomForwardingTable, IBA Vol.1 14.2.5.11: entries of a base LID, an LMC
 * and an exit port, in any order; what matches none goes to DefaultPort.  The
 * hardware compares all entries at once.  Here they are spread over an array
 * of exit ports by LID, so that a packet costs what it costs with the linear
 * table.  That is done for the first packet after a change, not for each of
 * the many Sets by which an SM writes the table.
 */
#include "switch-int.h"

#define RFT_WORD            IB_FIELD32(0, 31, 0)    /* of an entry */
#define RFT_WORD_MASK       0xfffff0ffu             /* but reserved bits */

static bool rft_valid(const uint8_t *entry)
{
    return ib_field_get(entry, IB_RFT_VALID(0));
}

/* Packets find nothing on their fast path until ib_fdb_random_spread(). */
void ib_fdb_random_update(IbSwitch *sw)
{
    sw->fdb_limit = 0;
    sw->rft_changed = true;
}

/* An entry overrules those behind it. */
static void spread(IbSwitch *sw)
{
    uint32_t i, lid;

    ib_fdb_reserve(sw, IB_LID_UCAST_LAST + 1);
    memset(sw->lids, IB_NO_PORT, sw->lids_size);
    g_free(sw->rft_matched);
    sw->rft_matched = g_malloc0((IB_LID_UCAST_LAST + 1) / 8);
    for (i = sw->rft_size; i-- > 0;) {
        const uint8_t *entry = sw->rft + i * IB_RFT_ENTRY_BYTES;
        uint32_t count = 1u << ib_field_get(entry, IB_RFT_LMC(0));
        uint32_t base = ib_field_get(entry, IB_RFT_LID(0)) & ~(count - 1);

        if (!rft_valid(entry)) {
            continue;
        }
        for (lid = base; lid < base + count && lid <= IB_LID_UCAST_LAST;
             lid++) {
            sw->lids[lid] = ib_field_get(entry, IB_RFT_PORT(0));
            sw->rft_matched[lid / 8] |= 1 << lid % 8;
        }
    }
    sw->fdb = sw->lids;
    sw->fdb_limit = IB_LID_UCAST_LAST;
    sw->rft_changed = false;
}

uint8_t ib_fdb_random_lookup(IbSwitch *sw, const IbSwitchPort *in,
                             uint16_t dlid, IbDiscard *why)
{
    if (sw->rft_changed) {
        spread(sw);
    }
    if (sw->lids[dlid] <= sw->num_ports) {
        return sw->lids[dlid];
    }
    if (sw->rft_matched[dlid / 8] & 1 << dlid % 8) {
        *why = IB_DISCARD_NO_PORT;
        return IB_NO_PORT;
    }
    if (sw->default_port > sw->num_ports) {
        *why = IB_DISCARD_NO_ROUTE;
        return IB_NO_PORT;
    }
    /* What came from there has been everywhere else already. */
    if (sw->default_port == in->num) {
        *why = IB_DISCARD_LOOP;
        return IB_NO_PORT;
    }
    return sw->default_port;
}

void ib_fdb_random_reserve(IbSwitch *sw, uint32_t entries)
{
    if (entries > sw->rft_size) {
        sw->rft = g_realloc(sw->rft, entries * IB_RFT_ENTRY_BYTES);
        memset(sw->rft + sw->rft_size * IB_RFT_ENTRY_BYTES, 0,
               (entries - sw->rft_size) * IB_RFT_ENTRY_BYTES);
        sw->rft_size = entries;
    }
}

static IbSmaStatus rft_select(const IbSwitch *sw, uint32_t modifier)
{
    if (sw->config.fdb != IB_FDB_RANDOM) {
        return IB_MAD_STATUS_BAD_METHOD_ATTR;
    }
    if (modifier >= ib_blocks(sw->config.random_fdb_cap, IB_RFT_ENTRIES)) {
        return IB_MAD_STATUS_BAD_FIELD;
    }
    return IB_MAD_STATUS_OK;
}

/* Entries of the last block that lie beyond the table read as 0. */
IbSmaStatus ib_fdb_random_get(IbNode *node, uint8_t in_port,
                              uint32_t modifier, uint8_t *data, void *opaque)
{
    const IbSwitch *sw = opaque;
    IbSmaStatus status = rft_select(sw, modifier);
    uint32_t first = modifier * IB_RFT_ENTRIES;

    if (!status && first < sw->rft_size) {
        memcpy(data, sw->rft + first * IB_RFT_ENTRY_BYTES,
               MIN(sw->rft_size - first, IB_RFT_ENTRIES) *
               IB_RFT_ENTRY_BYTES);
    }
    return status;
}

/*
 * LIDsPerPort is kept by the whole table as it would be with @count entries
 * of @data from @first on; port 0 has no limit.
 */
static bool lids_per_port_ok(const IbSwitch *sw, uint32_t first,
                             uint32_t count, const uint8_t *data)
{
    uint16_t used[256] = { 0 };
    uint32_t i;

    if (!sw->config.lids_per_port) {
        return true;
    }
    for (i = 0; i < MAX(sw->rft_size, first + count); i++) {
        const uint8_t *entry = i - first < count
                               ? data + (i - first) * IB_RFT_ENTRY_BYTES
                               : sw->rft + i * IB_RFT_ENTRY_BYTES;
        uint8_t port;

        if ((i - first >= count && i >= sw->rft_size) || !rft_valid(entry)) {
            continue;
        }
        port = ib_field_get(entry, IB_RFT_PORT(0));
        if (port && ++used[port] > sw->config.lids_per_port) {
            return false;
        }
    }
    return true;
}

IbSmaStatus ib_fdb_random_set(IbNode *node, uint8_t in_port,
                              uint32_t modifier, uint8_t *data, void *opaque)
{
    IbSwitch *sw = opaque;
    IbSmaStatus status = rft_select(sw, modifier);
    uint32_t first = modifier * IB_RFT_ENTRIES;
    uint32_t count, i;

    if (status) {
        return status;
    }
    count = MIN(sw->config.random_fdb_cap - first, IB_RFT_ENTRIES);
    if (!lids_per_port_ok(sw, first, count, data)) {
        return IB_MAD_STATUS_BAD_FIELD;
    }
    ib_fdb_random_reserve(sw, first + count);
    for (i = 0; i < count; i++) {
        const uint8_t *from = data + i * IB_RFT_ENTRY_BYTES;
        uint8_t *to = sw->rft + (first + i) * IB_RFT_ENTRY_BYTES;

        ib_field_set(to, RFT_WORD,
                     ib_field_get(from, RFT_WORD) & RFT_WORD_MASK);
    }
    ib_fdb_random_update(sw);
    return IB_MAD_STATUS_OK;
}

uint32_t ib_switch_rft_get(const IbSwitch *sw, uint16_t index)
{
    return index < sw->rft_size
           ? ib_field_get(sw->rft + index * IB_RFT_ENTRY_BYTES, RFT_WORD) : 0;
}
