/*
 * VL arbitration (IBA Vol.1 7.6.9)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * VL15 goes before all.  Then the high-priority table, until it has sent
 * VLHighLimit * 4096 bytes without the low-priority table having had its turn
 * (0: a single packet, 255: no limit).  In a table, an entry's VL may send
 * while weight is left of it, so the last packet may exceed it; then the next
 * entry is tried.  An entry of weight 0 is skipped, a VL in neither table
 * never sends.
 */
#include "link-int.h"

#define IB_ARB_ENTRIES          64
#define IB_HIGH_LIMIT_BLOCKS    (4096 / IB_BLOCK_BYTES)
#define IB_HIGH_LIMIT_NONE      255

enum { LOW, HIGH };

/* Power-on: the VLs share the low table evenly, the high one is empty. */
void ib_arbiter_reset(IbLink *link)
{
    IbVlArbEntry table[IB_ARB_ENTRIES] = { 0 };
    unsigned vl;

    ib_link_set_vl_arb(link, true, table);
    for (vl = 0; vl < link->config.vl_cap; vl++) {
        table[vl].vl = vl;
        table[vl].weight = 64;
    }
    ib_link_set_vl_arb(link, false, table);
}

void ib_link_get_vl_arb(const IbLink *link, bool high, IbVlArbEntry table[64])
{
    memcpy(table, link->arb[high], sizeof(link->arb[high]));
}

void ib_link_set_vl_arb(IbLink *link, bool high, const IbVlArbEntry table[64])
{
    uint16_t vls = 0;
    unsigned i;

    memcpy(link->arb[high], table, sizeof(link->arb[high]));
    for (i = 0; i < IB_ARB_ENTRIES; i++) {
        if (table[i].weight && table[i].vl < IB_VL_MGMT) {
            vls |= 1u << table[i].vl;
        }
    }
    link->arb_vls[high] = vls;
    link->arb_at[high].at = 0;
    link->arb_at[high].left = table[0].weight;
    ib_link_update_open(link);
}

/* The VL of @ready, which has some of the table, whose turn it is. */
static unsigned ib_arbiter_turn(IbLink *link, int which, uint16_t ready)
{
    IbArbPointer *p = &link->arb_at[which];
    const IbVlArbEntry *table = link->arb[which];
    unsigned i;

    for (i = 0; i <= IB_ARB_ENTRIES; i++) {
        const IbVlArbEntry *e = &table[p->at];

        if (p->left > 0 && e->vl < IB_VL_MGMT && (ready & (1u << e->vl))) {
            return e->vl;
        }
        p->at = (p->at + 1) % IB_ARB_ENTRIES;
        p->left = table[p->at].weight;
    }
    /* arb_vls says that the table has one of @ready */
    g_assert_not_reached();
}

static bool ib_arbiter_high_exhausted(const IbLink *link)
{
    if (link->vl_high_limit == IB_HIGH_LIMIT_NONE) {
        return false;
    }
    if (link->vl_high_limit == 0) {
        return link->arb_high_sent > 0;
    }
    return link->arb_high_sent >=
           (uint32_t)link->vl_high_limit * IB_HIGH_LIMIT_BLOCKS;
}

/*
 * Which VL of @ready, the VLs with a packet and credits for it, sends next.
 * @ready is not empty and holds only VLs of the tables, and VL15.
 */
unsigned ib_arbiter_pick(IbLink *link, uint16_t ready)
{
    uint16_t high = ready & link->arb_vls[HIGH];
    uint16_t low = ready & link->arb_vls[LOW];

    if (ready & IB_VL15_MASK) {
        return IB_VL_MGMT;
    }
    link->arb_which = HIGH;
    if (!high) {
        link->arb_which = LOW;
    } else if (ib_arbiter_high_exhausted(link)) {
        if (low) {
            link->arb_which = LOW;
        } else {
            /* That was low's opportunity. */
            link->arb_high_sent = 0;
        }
    }
    return ib_arbiter_turn(link, link->arb_which,
                           link->arb_which == HIGH ? high : low);
}

/* The packet of @blocks of the data VL just picked was sent. */
void ib_arbiter_sent(IbLink *link, uint32_t blocks)
{
    link->arb_at[link->arb_which].left -= blocks;
    if (link->arb_which == HIGH) {
        link->arb_high_sent += blocks;
    } else {
        link->arb_high_sent = 0;
    }
}
