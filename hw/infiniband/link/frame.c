/*
 * Frames on their way to the cable
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One frame at a time is under construction, from its first record on; then
 * its memory goes to the next link that has something to say.  It is sent when
 * it is full, when its owner flushes it, or when the cable takes frames again;
 * credits ride with it.  Training and farewell have small frames of their own.
 */
#include "link-int.h"

/* "IBLINK" with the bits of a locally administered group address. */
static const uint8_t ib_frame_destination[6] = {
    0x03, 0x49, 0x42, 0x4c, 0x4e, 0x4b
};

/*
 * Ethernet and link header of a frame whose @length bytes of records lie
 * behind them.
 */
static void ib_frame_put_headers(const IbLink *link, uint8_t *frame,
                                 uint32_t length, uint16_t records,
                                 uint32_t session, uint32_t peer,
                                 uint32_t seq)
{
    uint8_t *h = frame + IB_ETH_BYTES;

    memcpy(frame, ib_frame_destination, 6);
    frame[6] = 0x02;
    frame[7] = link->config.port_num;
    ib_put_be32(frame + 8, (uint32_t)link->config.guid);
    ib_field_set(frame, IB_ETH_TYPE, IB_FRAME_ETHERTYPE);

    memset(h, 0, IB_LH_BYTES);
    ib_field_set(h, IB_LH_VERSION, IB_FRAME_VERSION);
    ib_field_set(h, IB_LH_HEADER_LENGTH, IB_LH_BYTES);
    ib_field_set(h, IB_LH_LENGTH, length);
    ib_field_set(h, IB_LH_RECORDS, records);
    ib_field_set(h, IB_LH_SESSION, session);
    ib_field_set(h, IB_LH_PEER_SESSION, peer);
    ib_field_set(h, IB_LH_SEQUENCE, seq);
}

void ib_frame_open(IbLink *link)
{
    link->tx_limit = 0;
    if (link->frame && !link->sending && !link->pace_full &&
        link->phys == IB_PHYS_LINK_UP) {
        /* Credits, and a keep-alive where there are none, always fit. */
        link->tx_limit = link->tx_size - ib_credit_record_max(link) -
                         IB_REC_BYTES;
    }
}

bool ib_frame_begin(IbLink *link, uint32_t len)
{
    if (link->attached && !link->sending && !link->pace_full &&
        link->phys == IB_PHYS_LINK_UP) {
        if (!link->frame) {
            link->frame = ib_pool_frame_new();
        }
        ib_frame_open(link);
    }
    return ib_tx_room(link, len);
}

void ib_frame_reset(IbLink *link)
{
    /* One that is being sent is read by the cable, and may be the next's. */
    if (!link->sending) {
        ib_pool_frame_free(link->frame);
        link->frame = NULL;
    }
    link->tx_at = IB_FRAME_HEADERS;
    link->tx_limit = 0;
    link->tx_records = 0;
    link->tx_data = false;
}

static void ib_record_put_header(uint8_t *p, uint8_t type, uint8_t flags,
                                 uint16_t len)
{
    ib_field_set(p, IB_REC_LENGTH, len);
    ib_field_set(p, IB_REC_TYPE, type);
    ib_field_set(p, IB_REC_FLAGS, flags);
}

uint8_t *ib_frame_put_record(IbLink *link, uint8_t type, uint8_t flags,
                             uint16_t len)
{
    uint8_t *p = link->frame + link->tx_at;

    ib_record_put_header(p, type, flags, len);
    link->tx_at += IB_REC_BYTES + len;
    link->tx_records++;
    return p + IB_REC_BYTES;
}

static void ib_frame_sent(IbLink *link, IbCableResult result)
{
    switch (result) {
    case IB_CABLE_READY:
        link->counters.frames_sent++;
        break;
    case IB_CABLE_BUSY:
        link->counters.frames_sent++;
        link->cable_busy = true;
        break;
    case IB_CABLE_GONE:
        /*
         * The frame is lost, as on a cable that is cut.  If it is soon whole
         * again, nothing else has happened; if not, silence takes the link
         * down.
         */
        break;
    }
}

bool ib_frame_send(IbLink *link)
{
    IbCableResult result;

    if (link->phys != IB_PHYS_LINK_UP || link->sending || link->cable_busy) {
        return false;
    }
    if (!link->tx_records && !link->credit_urgent) {
        return true;
    }
    if (!link->frame) {
        link->frame = ib_pool_frame_new();
    }
    ib_credit_put_record(link);
    ib_frame_put_headers(link, link->frame, link->tx_at - IB_FRAME_HEADERS,
                         link->tx_records, link->session, link->peer_session,
                         link->tx_seq++);
    if (G_UNLIKELY(link->wait_since) && link->tx_data) {
        ib_tx_wait_account(link);
    }
    /*
     * A cable inside one process may deliver the frame, and answers to it,
     * before the call returns: until then nothing goes into the frame.
     */
    link->sending = true;
    link->tx_limit = 0;
    result = link->ops->send_frame(link->opaque, link->frame, link->tx_at);
    link->sending = false;
    ib_frame_reset(link);
    ib_frame_sent(link, result);
    return !link->cable_busy;
}

bool ib_frame_send_control(IbLink *link, uint32_t session, uint32_t peer,
                           uint32_t seq, uint8_t type, const uint8_t *content,
                           uint16_t len)
{
    uint8_t frame[IB_FRAME_HEADERS + IB_REC_BYTES + IB_TS_BYTES] = { 0 };
    uint8_t *record = frame + IB_FRAME_HEADERS;
    bool up = link->phys == IB_PHYS_LINK_UP;

    if (!link->attached || link->sending || link->cable_busy) {
        return false;
    }
    g_assert(len <= IB_TS_BYTES && len % 4 == 0);
    ib_record_put_header(record, type, 0, len);
    if (len) {
        memcpy(record + IB_REC_BYTES, content, len);
    }
    ib_frame_put_headers(link, frame, IB_REC_BYTES + len, 1, session, peer,
                         seq);
    link->sending = true;
    ib_frame_sent(link, link->ops->send_frame(link->opaque, frame,
                                              IB_FRAME_HEADERS + IB_REC_BYTES +
                                              len));
    link->sending = false;
    /* Answers may have made the link come up meanwhile. */
    if (!up && link->credit_urgent) {
        ib_frame_send(link);
    }
    return true;
}
