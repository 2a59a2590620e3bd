/*
 * The linear forwarding table
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * LinearForwardingTable, IBA Vol.1 14.2.5.10: an exit port for each LID from
 * 0 to LinearFDBCap - 1, in blocks of 64.  An SM may lower LinearFDBTop.
 */
#include "switch-int.h"

void ib_fdb_reserve(IbSwitch *sw, uint32_t size)
{
    if (size > sw->lids_size) {
        /* Double, so that an SM that writes block after block is cheap. */
        size = MAX(size, MIN(2 * sw->lids_size, IB_LID_UCAST_LAST + 1));
        sw->lids = g_realloc(sw->lids, size);
        memset(sw->lids + sw->lids_size, IB_LFT_NO_ROUTE,
               size - sw->lids_size);
        sw->lids_size = size;
    }
}

/* What the packet path may look up without another check. */
void ib_fdb_linear_update(IbSwitch *sw)
{
    uint32_t end = MIN(sw->lids_size, sw->config.linear_fdb_cap);

    sw->fdb = sw->lids;
    sw->fdb_limit = end ? MIN(end - 1, sw->linear_top) : 0;
}

uint8_t ib_fdb_linear_lookup(const IbSwitch *sw, uint16_t dlid,
                             IbDiscard *why)
{
    if (dlid <= sw->fdb_limit && sw->fdb &&
        sw->fdb[dlid] <= sw->num_ports) {
        return sw->fdb[dlid];
    }
    if (dlid >= sw->config.linear_fdb_cap) {
        *why = IB_DISCARD_ABOVE_CAP;
    } else if (dlid > sw->linear_top) {
        *why = IB_DISCARD_ABOVE_TOP;
    } else if (dlid > sw->fdb_limit || !sw->fdb ||
               sw->fdb[dlid] == IB_LFT_NO_ROUTE) {
        *why = IB_DISCARD_NO_ROUTE;
    } else {
        *why = IB_DISCARD_NO_PORT;
    }
    return IB_NO_PORT;
}

/* Entries of the last block that lie beyond the table read as 0. */
IbSmaStatus ib_fdb_linear_get(IbNode *node, uint8_t in_port,
                              uint32_t modifier, uint8_t *data, void *opaque)
{
    IbSwitch *sw = opaque;
    unsigned i;

    if (sw->config.fdb != IB_FDB_LINEAR) {
        return IB_MAD_STATUS_BAD_METHOD_ATTR;
    }
    if (modifier >= ib_blocks(sw->config.linear_fdb_cap, IB_LFT_ENTRIES)) {
        return IB_MAD_STATUS_BAD_FIELD;
    }
    for (i = 0; i < IB_LFT_ENTRIES; i++) {
        uint32_t lid = modifier * IB_LFT_ENTRIES + i;

        data[i] = lid >= sw->config.linear_fdb_cap ? 0 :
                  lid >= sw->lids_size ? IB_LFT_NO_ROUTE : sw->lids[lid];
    }
    return IB_MAD_STATUS_OK;
}

/* A port that does not exist is a legal entry: its packets are discarded. */
IbSmaStatus ib_fdb_linear_set(IbNode *node, uint8_t in_port,
                              uint32_t modifier, uint8_t *data, void *opaque)
{
    IbSwitch *sw = opaque;
    uint32_t first, count;

    if (sw->config.fdb != IB_FDB_LINEAR) {
        return IB_MAD_STATUS_BAD_METHOD_ATTR;
    }
    if (modifier >= ib_blocks(sw->config.linear_fdb_cap, IB_LFT_ENTRIES)) {
        return IB_MAD_STATUS_BAD_FIELD;
    }
    first = modifier * IB_LFT_ENTRIES;
    count = MIN(sw->config.linear_fdb_cap - first, IB_LFT_ENTRIES);
    ib_fdb_reserve(sw, first + count);
    memcpy(sw->lids + first, data, count);
    ib_fdb_linear_update(sw);
    return IB_MAD_STATUS_OK;
}

uint8_t ib_switch_lft_get(const IbSwitch *sw, uint16_t lid)
{
    return sw->config.fdb == IB_FDB_LINEAR &&
           lid < sw->lids_size && lid < sw->config.linear_fdb_cap
           ? sw->lids[lid] : IB_LFT_NO_ROUTE;
}
