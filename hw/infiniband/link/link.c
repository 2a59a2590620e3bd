/*
 * A link: making and freeing it, and PortInfo's part of it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "link-int.h"

/* What OpenSM sets when nobody tells it otherwise. */
#define IB_HOQ_LIFE_DEFAULT     0x12
#define IB_VL_STALL_DEFAULT     7

/* OperationalVLs: 1, 2, 3, 4, 5 stand for 1, 2, 4, 8, 15 data VLs. */
static unsigned ib_vls_from_code(uint8_t code)
{
    return code == 5 ? 15 : 1u << (code - 1);
}

static uint8_t ib_vls_to_code(uint8_t vls)
{
    return vls == 15 ? 5 : __builtin_ctz(vls) + 1;
}

static bool ib_link_config_ok(const IbLinkConfig *c)
{
    return (c->vl_cap == 15 || c->vl_cap == 8 || c->vl_cap == 4 ||
            c->vl_cap == 2 || c->vl_cap == 1) &&
           c->mtu_cap >= IB_MTU_256 && c->mtu_cap <= IB_MTU_4096 &&
           c->rx_buffer / IB_BLOCK_BYTES >=
           ib_packet_blocks(ib_mtu_to_bytes(c->mtu_cap) +
                            IB_LINK_HEADER_BYTES) &&
           c->width_supported && c->speed_supported && c->vl15_packets &&
           c->max_frame >= IB_FRAME_MIN_MAX && c->max_frame <= IB_FRAME_MAX &&
           c->keepalive_ms && c->timeout_ms > c->keepalive_ms;
}

uint32_t ib_link_frame_room(const IbLink *link)
{
    return link->tx_size - IB_FRAME_HEADERS - ib_credit_record_max(link) -
           IB_REC_BYTES - ib_record_bytes(link, 0);
}

uint8_t ib_link_mtu_for_frame(uint32_t max_frame)
{
    /* With VCRC and the credits of 15 VLs. */
    uint32_t overhead = IB_FRAME_HEADERS + 2 * IB_REC_BYTES + 4 +
                        IB_REC_BYTES + 15 * IB_CREDIT_BYTES +
                        IB_LINK_HEADER_BYTES;

    return max_frame < overhead ? 0 : ib_mtu_from_bytes(max_frame - overhead);
}

void ib_link_update_open(IbLink *link)
{
    uint32_t mtu = ib_mtu_to_bytes(link->neighbor_mtu) + IB_LINK_HEADER_BYTES;
    uint16_t vls = (1u << ib_vls_from_code(link->operational_vls)) - 1;

    link->vls_operational = vls;
    link->tx_open = link->rx_open = 0;
    switch (link->state) {
    case IB_PORT_ACTIVE:
        link->tx_open = vls & (link->arb_vls[0] | link->arb_vls[1]);
        /* fall through */
    case IB_PORT_ARMED:
        link->rx_open = vls;
        /* fall through */
    case IB_PORT_INIT:
        link->tx_open |= IB_VL15_MASK;
        link->rx_open |= IB_VL15_MASK;
        break;
    default:
        break;
    }
    link->tx_max = mtu;
    if (link->phys == IB_PHYS_LINK_UP) {
        link->tx_max = MIN(mtu, ib_link_frame_room(link));
    }
    /* An SMP and its headers: the MTU of VL15 is 256 (IBA Vol.1 13.4.2). */
    link->tx_max_vl15 = 256 + IB_LINK_HEADER_BYTES;
    link->rx_max = ib_mtu_to_bytes(link->config.mtu_cap) +
                   IB_LINK_HEADER_BYTES;
    link->tx_open &= ~link->stalled;
    ib_tx_purge(link, ~link->tx_open);
}

/* What a power-on sets. */
static void ib_link_defaults(IbLink *link)
{
    link->down_default = IB_PHYS_POLLING;
    link->neighbor_mtu = link->config.mtu_cap;
    link->operational_vls = ib_vls_to_code(link->config.vl_cap);
    link->vl_high_limit = 0;
    link->width_enabled = link->config.width_supported;
    link->speed_enabled = link->config.speed_supported;
    link->vl_stall_count = IB_VL_STALL_DEFAULT;
    link->hoq_life = IB_HOQ_LIFE_DEFAULT;
    link->life_time = IB_LIFE_TIME_INFINITE;
    ib_life_changed(link);
    ib_arbiter_reset(link);
}

IbLink *ib_link_new(const IbLinkConfig *config, const IbLinkOps *ops,
                    void *opaque)
{
    IbLink *link;
    uint32_t largest;

    g_assert(ib_link_config_ok(config));
    link = g_new0(IbLink, 1);
    link->config = *config;
    link->ops = ops;
    link->opaque = opaque;
    link->enabled = true;
    link->state = IB_PORT_DOWN;
    link->phys = IB_PHYS_POLLING;
    link->count_op = -1;
    link->deadline = INT64_MAX;
    link->width_active = config->width_supported & -config->width_supported;
    link->speed_active = config->speed_supported & -config->speed_supported;
    link->cable_widths = UINT8_MAX;
    link->cable_speeds = UINT16_MAX;
    link->rx_blocks = config->rx_buffer / IB_BLOCK_BYTES;
    largest = ib_packet_blocks(ib_mtu_to_bytes(config->mtu_cap) +
                               IB_LINK_HEADER_BYTES);
    link->rx_threshold = MAX(1, MIN(link->rx_blocks / 4,
                                    link->rx_blocks - largest));
    ib_link_defaults(link);
    ib_frame_reset(link);
    ib_packet_pool_ref();
    return link;
}

void ib_link_set_cable(IbLink *link, const IbLinkConfig *config)
{
    IbLinkConfig *c = &link->config;

    g_assert(!link->attached);
    c->max_frame = config->max_frame;
    c->keepalive_ms = config->keepalive_ms;
    c->timeout_ms = config->timeout_ms;
    c->training_ms = config->training_ms;
    g_assert(ib_link_config_ok(c));
}

void ib_link_set_cable_rate(IbLink *link, uint8_t widths, uint16_t speeds)
{
    link->cable_widths = widths;
    link->cable_speeds = speeds;
}

void ib_link_free(IbLink *link)
{
    if (!link) {
        return;
    }
    link->enabled = false;
    link->quiet = true;
    ib_train_down(link, true, false);
    link->attached = false;
    ib_frame_reset(link);
    ib_train_rearm(link);
    ib_inject_free(link);
    link->dead = true;
    ib_packet_pool_unref();
    if (!link->held) {
        g_free(link);
    }
}

void ib_link_reset(IbLink *link, bool keep_counters)
{
    ib_link_defaults(link);
    ib_train_reset(link);
    if (!keep_counters) {
        memset(&link->counters, 0, sizeof(link->counters));
    }
}

const IbLinkConfig *ib_link_config(const IbLink *link)
{
    return &link->config;
}

/* ------------------------------------------------------------ PortInfo */

uint8_t ib_link_state(const IbLink *link)
{
    return link->state;
}

uint8_t ib_link_phys_state(const IbLink *link)
{
    return link->phys;
}

uint8_t ib_link_down_default(const IbLink *link)
{
    return link->down_default;
}

uint8_t ib_link_neighbor_mtu(const IbLink *link)
{
    return link->neighbor_mtu;
}

bool ib_link_set_neighbor_mtu(IbLink *link, uint8_t mtu)
{
    if (mtu < IB_MTU_256 || mtu > link->config.mtu_cap) {
        return false;
    }
    link->neighbor_mtu = mtu;
    ib_link_update_open(link);
    return true;
}

uint8_t ib_link_operational_vls(const IbLink *link)
{
    return link->operational_vls;
}

bool ib_link_set_operational_vls(IbLink *link, uint8_t code)
{
    if (code < 1 || code > ib_vls_to_code(link->config.vl_cap)) {
        return false;
    }
    link->operational_vls = code;
    ib_link_update_open(link);
    return true;
}

uint8_t ib_link_vl_high_limit(const IbLink *link)
{
    return link->vl_high_limit;
}

void ib_link_set_vl_high_limit(IbLink *link, uint8_t limit)
{
    link->vl_high_limit = limit;
}

uint8_t ib_link_width_enabled(const IbLink *link)
{
    return link->width_enabled;
}

bool ib_link_set_width_enabled(IbLink *link, uint8_t width)
{
    if (!width || (width & ~link->config.width_supported)) {
        return false;
    }
    link->width_enabled = width;
    return true;
}

uint8_t ib_link_width_active(const IbLink *link)
{
    return link->width_active;
}

uint16_t ib_link_speed_enabled(const IbLink *link)
{
    return link->speed_enabled;
}

bool ib_link_set_speed_enabled(IbLink *link, uint16_t speed)
{
    if (!speed || (speed & ~link->config.speed_supported)) {
        return false;
    }
    link->speed_enabled = speed;
    return true;
}

uint16_t ib_link_speed_active(const IbLink *link)
{
    return link->speed_active;
}

uint8_t ib_link_hoq_life(const IbLink *link)
{
    return link->hoq_life;
}

uint8_t ib_link_vl_stall_count(const IbLink *link)
{
    return link->vl_stall_count;
}

void ib_link_set_vl_stall_count(IbLink *link, uint8_t count)
{
    link->vl_stall_count = count & 7;
}

/* ----------------------------------------------------------- diagnosis */

IbLinkCounters *ib_link_counters(IbLink *link)
{
    IbLinkCounters *c = &link->counters;
    unsigned vl;

    c->xmit_data = c->rcv_data = c->xmit_pkts = c->rcv_pkts = 0;
    for (vl = 0; vl < IB_VLS; vl++) {
        c->xmit_data += c->xmit_data_vl[vl];
        c->rcv_data += c->rcv_data_vl[vl];
        c->xmit_pkts += c->xmit_pkts_vl[vl];
        c->rcv_pkts += c->rcv_pkts_vl[vl];
    }
    c->unicast_xmit_pkts = c->xmit_pkts - c->multicast_xmit_pkts;
    c->unicast_rcv_pkts = c->rcv_pkts - c->multicast_rcv_pkts;
    return c;
}

void ib_link_count_op(IbLink *link, int op)
{
    link->count_op = op;
    ib_link_update_special(link);
}

void ib_link_set_tap(IbLink *link, bool on)
{
    link->tap = on;
    ib_link_update_special(link);
}

void ib_link_update_special(IbLink *link)
{
    link->tx_special = link->crc || link->tap || link->pace_rate;
    link->rx_special = link->crc || link->tap || ib_inject_on(link) ||
                       link->count_op >= 0;
}

void ib_link_set_trace(IbLink *link, bool on)
{
    link->trace = on;
}

uint64_t ib_link_peer_guid(const IbLink *link)
{
    return link->peer_session ? link->peer_guid : 0;
}

uint8_t ib_link_peer_port(const IbLink *link)
{
    return link->peer_session ? link->peer_port : 0;
}

uint32_t ib_link_rx_occupancy(const IbLink *link, uint8_t vl)
{
    return vl < IB_VLS ? link->vl[vl].occupied : 0;
}

uint32_t ib_link_tx_credits(const IbLink *link, uint8_t vl)
{
    return vl < IB_VL_MGMT ? MAX(0, ib_credit_left(&link->vl[vl])) : 0;
}

uint32_t ib_link_tx_queued(const IbLink *link, uint8_t vl)
{
    return vl < IB_VLS ? link->vl[vl].queued : 0;
}

uint32_t ib_link_tx_queued_blocks(const IbLink *link, uint8_t vl)
{
    return vl < IB_VLS ? link->vl[vl].queued_blocks : 0;
}
