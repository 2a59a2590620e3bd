/*
 * The multicast forwarding table
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * MulticastForwardingTable, IBA Vol.1 14.2.5.12: a mask of ports for each
 * LID from C000 on.  On the wire it comes in pieces of 32 LIDs by 16 ports: the
 * block (LIDs) in the modifier's bits 8:0, the position (ports) in 31:28.
 * That is what OpenSM writes; "two 32-byte entries a sub-block", as a book
 * has it, is not what any SM does.
 */
#include "switch-int.h"

#define MFT_PORTS_PER_WORD  64
#define MFT_MOD_RESERVED    0x0ffffe00u

void ib_fdb_multicast_reserve(IbSwitch *sw, uint32_t entries)
{
    size_t words = sw->mft_words;

    if (entries > sw->mft_size) {
        entries = MAX(entries, MIN(2 * sw->mft_size,
                                   sw->config.multicast_fdb_cap));
        sw->mft = g_renew(uint64_t, sw->mft, entries * words);
        memset(sw->mft + sw->mft_size * words, 0,
               (entries - sw->mft_size) * words * sizeof(uint64_t));
        sw->mft_size = entries;
    }
}

/*
 * NULL is "above the top" or "no table"; an entry that is in the table and was
 * never written is an empty mask.
 */
const uint64_t *ib_fdb_multicast_lookup(const IbSwitch *sw, uint16_t mlid)
{
    static const uint64_t empty[256 / MFT_PORTS_PER_WORD];
    uint32_t index = mlid - IB_LID_MCAST_FIRST;

    if (index >= sw->config.multicast_fdb_cap ||
        (sw->mcast_top && mlid > sw->mcast_top)) {
        return NULL;
    }
    return index < sw->mft_size ? sw->mft + index * sw->mft_words : empty;
}

void ib_switch_mft_get(const IbSwitch *sw, uint16_t mlid, uint8_t mask[32])
{
    uint32_t index = mlid - IB_LID_MCAST_FIRST;
    unsigned port;

    memset(mask, 0, 32);
    if (!ib_lid_is_multicast(mlid) || index >= sw->mft_size) {
        return;
    }
    for (port = 0; port <= sw->num_ports; port++) {
        uint64_t word = sw->mft[index * sw->mft_words +
                                port / MFT_PORTS_PER_WORD];

        mask[port / 8] |= (word >> port % MFT_PORTS_PER_WORD & 1) << port % 8;
    }
}

/* The piece of the table that @modifier selects, or a status. */
static IbSmaStatus mft_select(const IbSwitch *sw, uint32_t modifier,
                              uint32_t *index, unsigned *port)
{
    if (!sw->config.multicast_fdb_cap) {
        return IB_MAD_STATUS_BAD_METHOD_ATTR;
    }
    *index = IB_MFT_MOD_BLOCK(modifier) * IB_MFT_ENTRIES;
    *port = IB_MFT_MOD_POSITION(modifier) * IB_MFT_PORTS_PER_POSITION;
    if ((modifier & MFT_MOD_RESERVED) ||
        *index >= sw->config.multicast_fdb_cap || *port > sw->num_ports) {
        return IB_MAD_STATUS_BAD_FIELD;
    }
    return IB_MAD_STATUS_OK;
}

IbSmaStatus ib_fdb_multicast_get(IbNode *node, uint8_t in_port,
                                 uint32_t modifier, uint8_t *data,
                                 void *opaque)
{
    const IbSwitch *sw = opaque;
    IbSmaStatus status;
    uint32_t index;
    unsigned port, i;

    status = mft_select(sw, modifier, &index, &port);
    if (status) {
        return status;
    }
    for (i = 0; i < IB_MFT_ENTRIES; i++) {
        uint64_t word = index + i < sw->mft_size
                        ? sw->mft[(index + i) * sw->mft_words +
                                  port / MFT_PORTS_PER_WORD] : 0;

        ib_field_set(data, IB_MFT_PORT_MASK(i),
                     word >> port % MFT_PORTS_PER_WORD);
    }
    return IB_MAD_STATUS_OK;
}

/* Entries beyond the table and ports that do not exist stay 0. */
IbSmaStatus ib_fdb_multicast_set(IbNode *node, uint8_t in_port,
                                 uint32_t modifier, uint8_t *data,
                                 void *opaque)
{
    IbSwitch *sw = opaque;
    IbSmaStatus status;
    uint32_t index, count;
    uint64_t valid, keep;
    unsigned port, i;

    status = mft_select(sw, modifier, &index, &port);
    if (status) {
        return status;
    }
    count = MIN(sw->config.multicast_fdb_cap - index, IB_MFT_ENTRIES);
    ib_fdb_multicast_reserve(sw, index + count);
    valid = (UINT64_C(1) << MIN(sw->num_ports + 1u - port,
                                IB_MFT_PORTS_PER_POSITION)) - 1;
    keep = ~(UINT64_C(0xffff) << port % MFT_PORTS_PER_WORD);
    for (i = 0; i < count; i++) {
        uint64_t *word = sw->mft + (index + i) * sw->mft_words +
                         port / MFT_PORTS_PER_WORD;
        uint64_t mask = ib_field_get(data, IB_MFT_PORT_MASK(i)) & valid;

        *word = (*word & keep) | mask << port % MFT_PORTS_PER_WORD;
    }
    return IB_MAD_STATUS_OK;
}
