/*
 * The state of a switch as bytes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One section for the switch with what a guest or an SM has set, then the
 * node's and each link's own.  A state only loads into a switch with the
 * configuration that it was saved from.
 */
#include "switch-int.h"

#define SWITCH_VERSION  2
#define DISCARDS_V1     IB_DISCARD_LOOP

static void save_config(const IbSwitchConfig *c, IbStateWriter *w)
{
    ib_state_put8(w, c->num_ports);
    ib_state_put8(w, c->fdb);
    ib_state_put16(w, c->linear_fdb_cap);
    ib_state_put16(w, c->random_fdb_cap);
    ib_state_put16(w, c->multicast_fdb_cap);
}

static bool same_config(const IbSwitchConfig *c, IbStateReader *r)
{
    bool same = true;

    same &= ib_state_get8(r) == c->num_ports;
    same &= ib_state_get8(r) == c->fdb;
    same &= ib_state_get16(r) == c->linear_fdb_cap;
    same &= ib_state_get16(r) == c->random_fdb_cap;
    same &= ib_state_get16(r) == c->multicast_fdb_cap;
    return same;
}

static void save_tables(const IbSwitch *sw, IbStateWriter *w)
{
    size_t i;

    if (sw->config.fdb == IB_FDB_RANDOM) {
        ib_state_put32(w, sw->rft_size);
        ib_state_put_bytes(w, sw->rft, sw->rft_size * IB_RFT_ENTRY_BYTES);
    } else {
        ib_state_put32(w, sw->lids_size);
        ib_state_put_bytes(w, sw->lids, sw->lids_size);
    }
    ib_state_put32(w, sw->mft_size);
    for (i = 0; i < (size_t)sw->mft_size * sw->mft_words; i++) {
        ib_state_put64(w, sw->mft[i]);
    }
}

/* Bits of an entry's word @i that stand for ports that exist. */
static uint64_t mft_valid(const IbSwitch *sw, unsigned i)
{
    unsigned bits = sw->num_ports + 1 - i * 64;

    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* A count of @bytes each that is at most @cap and whose bytes are there. */
static uint32_t get_count(IbStateReader *r, uint32_t cap, size_t bytes)
{
    uint32_t count = ib_state_get32(r);

    if (count > cap || count * bytes > (size_t)(r->end - r->at)) {
        ib_state_fail(r);
        return 0;
    }
    return count;
}

static void load_tables(IbSwitch *sw, IbStateReader *r)
{
    const IbSwitchConfig *c = &sw->config;
    uint32_t count;
    size_t i;

    if (c->fdb == IB_FDB_RANDOM) {
        count = get_count(r, c->random_fdb_cap, IB_RFT_ENTRY_BYTES);
        ib_fdb_random_reserve(sw, count);
        ib_state_get_bytes(r, sw->rft, count * IB_RFT_ENTRY_BYTES);
    } else {
        count = get_count(r, IB_LID_UCAST_LAST + 1, 1);
        ib_fdb_reserve(sw, count);
        ib_state_get_bytes(r, sw->lids, count);
    }
    count = get_count(r, c->multicast_fdb_cap, sw->mft_words * 8);
    ib_fdb_multicast_reserve(sw, count);
    for (i = 0; i < (size_t)count * sw->mft_words; i++) {
        sw->mft[i] = ib_state_get64(r);
        if (sw->mft[i] & ~mft_valid(sw, i % sw->mft_words)) {
            ib_state_fail(r);
        }
    }
}

static void save_switch_info(const IbSwitch *sw, IbStateWriter *w)
{
    ib_state_put16(w, sw->linear_top);
    ib_state_put16(w, sw->mcast_top);
    ib_state_put8(w, sw->default_port);
    ib_state_put8(w, sw->mcast_primary);
    ib_state_put8(w, sw->mcast_not_primary);
    ib_state_put8(w, sw->life_time);
    ib_state_put32(w, sw->psn[0]);
    ib_state_put32(w, sw->psn[1]);
}

static void load_switch_info(IbSwitch *sw, IbStateReader *r)
{
    sw->linear_top = ib_state_get16(r);
    sw->mcast_top = ib_state_get16(r);
    sw->default_port = ib_state_get8(r);
    sw->mcast_primary = ib_state_get8(r);
    sw->mcast_not_primary = ib_state_get8(r);
    ib_switch_set_life_time(sw, ib_state_get8(r));
    sw->psn[0] = ib_state_get32(r);
    sw->psn[1] = ib_state_get32(r);
    if (sw->config.fdb == IB_FDB_LINEAR &&
        sw->linear_top >= sw->config.linear_fdb_cap) {
        ib_state_fail(r);
    }
}

void ib_switch_save(const IbSwitch *sw, GByteArray *bytes)
{
    IbStateWriter w;
    unsigned i;

    ib_state_writer_init(&w, bytes);
    ib_state_begin(&w, "SWCH", SWITCH_VERSION);
    save_config(&sw->config, &w);
    save_switch_info(sw, &w);
    save_tables(sw, &w);
    for (i = 0; i < IB_DISCARD_COUNT; i++) {
        ib_state_put64(&w, sw->discards[i]);
    }
    ib_node_save(sw->node, &w);
    for (i = 1; i <= sw->num_ports; i++) {
        ib_link_save(sw->ports[i].link, &w);
    }
    ib_state_end(&w);
}

static bool load(IbSwitch *sw, IbStateReader *r)
{
    unsigned version = ib_state_enter(r, "SWCH", SWITCH_VERSION);
    unsigned discards = version == 1 ? DISCARDS_V1 : IB_DISCARD_COUNT;
    unsigned i;

    if (!version || !same_config(&sw->config, r)) {
        return false;
    }
    load_switch_info(sw, r);
    load_tables(sw, r);
    for (i = 0; i < discards; i++) {
        sw->discards[i] = ib_state_get64(r);
    }
    if (!ib_state_ok(r) || !ib_node_load(sw->node, r)) {
        return false;
    }
    for (i = 1; i <= sw->num_ports; i++) {
        if (!ib_link_load(sw->ports[i].link, r)) {
            return false;
        }
    }
    ib_state_leave(r);
    return ib_state_ok(r);
}

bool ib_switch_load(IbSwitch *sw, const void *data, size_t len)
{
    IbStateReader r;
    bool ok;

    ib_state_reader_init(&r, data, len);
    ib_switch_reset(sw);
    sw->quiet = true;             /* states that were there are no events */
    ok = load(sw, &r) && r.at == r.end;
    sw->quiet = false;
    if (!ok) {
        ib_switch_reset(sw);
        return false;
    }
    ib_switch_update_fdb(sw);
    ib_switch_update_lid(sw);
    ib_enforce_update_all(sw);
    ib_congestion_update(sw);
    return true;
}
