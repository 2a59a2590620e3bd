/*
 * A cable without packets, for a node that is about to migrate
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Credits of a link on hold say that its buffers are full.  An echo behind them
 * comes back when the peer has read both; from then on it sends nothing on a
 * data VL, and all it had sent before was read here, since a cable keeps the
 * order.  Packets that had credits and are still on their way are received as
 * ever.
 */
#include "link-int.h"

#define IB_ECHO_BYTES           4

void ib_hold_reset(IbLink *link)
{
    link->hold = link->hold_done = false;
    link->echo_wanted = link->echo_owed = false;
}

void ib_hold_send(IbLink *link)
{
    uint8_t number[IB_ECHO_BYTES];
    uint32_t seq;

    /* Behind the packets that have their credits already. */
    if (link->phys != IB_PHYS_LINK_UP || !ib_frame_send(link)) {
        return;
    }
    while (link->echo_wanted || link->echo_owed) {
        bool *which = link->echo_owed ? &link->echo_owed : &link->echo_wanted;

        ib_put_be32(number, link->echo_owed ? link->echo_answer
                                            : link->echo_number);
        *which = false;
        seq = link->tx_seq++;
        if (!ib_frame_send_control(link, link->session, link->peer_session,
                                   seq, which == &link->echo_owed
                                   ? IB_REC_ECHO_REPLY : IB_REC_ECHO,
                                   number, sizeof(number))) {
            link->tx_seq = seq;
            *which = true;
            return;
        }
    }
}

void ib_hold_receive(IbLink *link, const uint8_t *data, uint32_t len,
                     unsigned type)
{
    if (len < IB_ECHO_BYTES) {
        link->counters.rcv_errors++;
        ib_link_trace(link, "echo-length", NULL, 0);
        return;
    }
    if (type == IB_REC_ECHO) {
        link->echo_owed = true;
        link->echo_answer = ib_get_be32(data);
    } else if (link->hold && ib_get_be32(data) == link->echo_number) {
        link->hold_done = true;
    }
}

void ib_link_set_hold(IbLink *link, bool hold)
{
    if (link->phys != IB_PHYS_LINK_UP || hold == link->hold) {
        return;
    }
    link->hold = hold;
    link->hold_done = false;
    link->credit_dirty = (1u << link->config.vl_cap) - 1;
    link->credit_urgent = true;
    link->echo_wanted = hold;
    link->echo_number++;
    if (hold) {
        ib_hold_send(link);
    } else {
        ib_frame_send(link);
    }
}

bool ib_link_hold(const IbLink *link)
{
    return link->hold;
}

bool ib_link_held(const IbLink *link)
{
    return link->phys != IB_PHYS_LINK_UP ||
           (link->hold_done && !link->cable_busy && !link->tx_waiting &&
            !link->tx_records);
}
