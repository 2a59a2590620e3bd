/*
 * Credits: flow control of the data VLs (IBA Vol.1 7.9)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * All counts are absolute, in blocks of 64 bytes since LinkUp, modulo 2^32.
 * The receiver tells a limit, FCCL = ABR + size of its buffer - what is held;
 * the sender keeps FCTBS, what it has sent, at or below it.  A credit record
 * carries both ends' halves: the FCTBS of its sender sets the ABR of its
 * receiver, so what frames were lost is made good by the next record.
 */
#include "link-int.h"

static uint32_t ib_credit_limit(const IbLink *link, const IbLinkVl *v)
{
    return v->abr + link->rx_blocks - v->occupied;
}

/* LinkUp: nothing sent, nothing received; what is held stays held. */
void ib_credit_reset(IbLink *link)
{
    unsigned vl;

    for (vl = 0; vl < IB_VLS; vl++) {
        IbLinkVl *v = &link->vl[vl];

        v->fctbs = v->fccl = v->abr = v->limit = 0;
    }
    link->credit_dirty = (1u << link->config.vl_cap) - 1;
    link->credit_urgent = false;
    link->credit_request = false;
    link->credit_doubt = false;
    link->credit_arrived = false;
    ib_errors_reset(link);
}

void ib_credit_hold(IbLink *link, uint8_t vl, uint32_t len)
{
    link->vl[vl].occupied += vl == IB_VL_MGMT ? 1 : ib_packet_blocks(len);
    link->held++;
}

void ib_credit_return(IbLink *link, uint8_t vl, uint32_t len)
{
    link->vl[vl].occupied -= vl == IB_VL_MGMT ? 1 : ib_packet_blocks(len);
    link->held--;
    if (G_UNLIKELY(link->dead)) {
        if (!link->held) {
            g_free(link);
        }
        return;
    }
    if (vl != IB_VL_MGMT) {
        ib_credit_update(link, 1u << vl);
        if (link->credit_urgent && !link->nested) {
            ib_frame_send(link);
        }
    }
}

void ib_credit_doubt(IbLink *link)
{
    unsigned vl;

    if (link->phys != IB_PHYS_LINK_UP) {
        return;
    }
    for (vl = 0; vl < IB_VL_MGMT; vl++) {
        link->vl[vl].fccl = link->vl[vl].fctbs;
    }
    link->credit_doubt = true;
    link->credit_urgent = true;
    link->credit_request = true;
    ib_train_arm_probe(link);
}

void ib_credit_update(IbLink *link, uint16_t vls)
{
    if (link->phys != IB_PHYS_LINK_UP) {
        return;
    }
    vls &= ~IB_VL15_MASK;
    link->credit_dirty |= vls;
    while (vls) {
        IbLinkVl *v = &link->vl[__builtin_ctz(vls)];

        vls &= vls - 1;
        if ((int32_t)(ib_credit_limit(link, v) - v->limit) >=
            (int32_t)link->rx_threshold) {
            link->credit_urgent = true;
        }
    }
}

uint32_t ib_credit_record_max(const IbLink *link)
{
    return IB_REC_BYTES + link->config.vl_cap * IB_CREDIT_BYTES;
}

/*
 * Advertise the dirty VLs in the frame under construction, which has kept
 * the room for it.
 */
void ib_credit_put_record(IbLink *link)
{
    uint16_t vls = link->credit_dirty;
    uint8_t *p;

    if (!vls) {
        return;
    }
    ib_errors_period(link);
    link->counters.xmit_flow_pkts += __builtin_popcount(vls);
    p = ib_frame_put_record(link, IB_REC_CREDIT,
                            link->credit_request ? IB_CREDIT_REQUEST : 0,
                            __builtin_popcount(vls) * IB_CREDIT_BYTES);
    while (vls) {
        unsigned vl = __builtin_ctz(vls);
        IbLinkVl *v = &link->vl[vl];

        vls &= vls - 1;
        /* What is under way to a link on hold had its credits. */
        v->limit = link->hold ? v->limit : ib_credit_limit(link, v);
        ib_put_be32(p, 0);
        ib_field_set(p, IB_CREDIT_VL, vl);
        ib_field_set(p, IB_CREDIT_FCTBS, v->fctbs);
        ib_field_set(p, IB_CREDIT_FCCL, link->hold ? v->abr : v->limit);
        p += IB_CREDIT_BYTES;
    }
    link->credit_dirty = 0;
    link->credit_urgent = false;
    link->credit_request = false;
}

void ib_credit_receive(IbLink *link, const uint8_t *data, uint32_t len,
                       uint8_t flags)
{
    if (len % IB_CREDIT_BYTES) {
        link->counters.malformed_packets++;
        link->counters.rcv_errors++;
        ib_link_trace(link, "credit-length", NULL, 0);
        return;
    }
    for (; len; len -= IB_CREDIT_BYTES, data += IB_CREDIT_BYTES) {
        unsigned vl = ib_field_get(data, IB_CREDIT_VL);
        uint32_t fctbs = ib_field_get(data, IB_CREDIT_FCTBS);
        IbLinkVl *v;

        link->counters.rcv_flow_pkts++;
        if (vl >= IB_VL_MGMT) {
            link->counters.malformed_packets++;
            link->counters.rcv_errors++;
            ib_link_trace(link, "credit-vl", NULL, 0);
            continue;
        }
        if (vl >= link->config.vl_cap) {
            /* A VL that the peer has and this end has not: nothing is lost. */
            continue;
        }
        link->fc_seen |= 1u << vl;
        link->fc_known |= 1u << vl;
        v = &link->vl[vl];
        v->fccl = ib_field_get(data, IB_CREDIT_FCCL);
        if (v->abr != fctbs) {
            v->abr = fctbs;
            ib_credit_update(link, 1u << vl);
        }
        link->credit_arrived = true;
    }
    link->credit_doubt = false;
    if (flags & IB_CREDIT_REQUEST) {
        link->credit_dirty = (1u << link->config.vl_cap) - 1;
        link->credit_urgent = true;
    }
}
