/*
 * RMPP: messages of more than one MAD
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>
#include "rmpp.h"

#define MAX_MESSAGE        (256u << 20)
#define TRIES              4
/* PayloadLength counts what is behind RMPP's header, SM_Key and so on, too. */
#define SEGMENT_BYTES      (IB_MAD_BYTES - IB_RMPP_DATA_OFFSET)

/* --------------------------------------------------------------- sending */

static unsigned data_bytes(unsigned header)
{
    return IB_MAD_BYTES - header;
}

void umad_rmpp_send_init(UmadRmppSend *send, const uint8_t *message,
                         size_t len)
{
    unsigned header =
        ib_mad_rmpp_header(ib_field_get(message, IB_MAD_MGMT_CLASS));
    size_t data = len - header;

    *send = (UmadRmppSend) {
        .message = g_malloc(len),
        .len = len,
        .header = header,
        .segments = MAX(1, (data + data_bytes(header) - 1) /
                           data_bytes(header)),
        .next = 1,
        .window = 1,
        .tries = TRIES,
    };
    memcpy(send->message, message, len);
}

void umad_rmpp_send_clear(UmadRmppSend *send)
{
    g_free(send->message);
}

bool umad_rmpp_send_next(UmadRmppSend *send, uint8_t mad[IB_MAD_BYTES])
{
    unsigned size = data_bytes(send->header);
    size_t at = send->header + (size_t)(send->next - 1) * size;
    size_t pad = send->header + (size_t)send->segments * size - send->len;
    bool last = send->next == send->segments;
    unsigned flags = IB_RMPP_FLAG_ACTIVE;
    uint32_t payload = 0;

    if (send->next > MIN(send->segments, send->window)) {
        return false;
    }
    if (last) {
        flags |= IB_RMPP_FLAG_LAST;
        payload = SEGMENT_BYTES - pad;
    }
    if (send->next == 1) {
        flags |= IB_RMPP_FLAG_FIRST;
        payload = send->segments * SEGMENT_BYTES - pad;
    }
    memset(mad, 0, IB_MAD_BYTES);
    memcpy(mad, send->message, send->header);
    memcpy(mad + send->header, send->message + at,
           last ? send->len - at : size);
    ib_field_set(mad, IB_RMPP_VERSION, 1);
    ib_field_set(mad, IB_RMPP_TYPE, IB_RMPP_TYPE_DATA);
    ib_field_set(mad, IB_RMPP_FLAGS, flags);
    ib_field_set(mad, IB_RMPP_STATUS, 0);
    ib_field_set(mad, IB_RMPP_SEGMENT_NUMBER, send->next);
    ib_field_set(mad, IB_RMPP_PAYLOAD_LENGTH, payload);
    send->next++;
    return true;
}

UmadRmppResult umad_rmpp_send_answer(UmadRmppSend *send, const uint8_t *mad)
{
    uint32_t segment = ib_field_get(mad, IB_RMPP_SEGMENT_NUMBER);
    uint32_t window = ib_field_get(mad, IB_RMPP_PAYLOAD_LENGTH);

    if (ib_field_get(mad, IB_RMPP_TYPE) != IB_RMPP_TYPE_ACK) {
        return UMAD_RMPP_FAILED;
    }
    if (segment >= send->next || window < segment) {
        return UMAD_RMPP_GOES_ON; /* it cannot be: nothing is believed */
    }
    if (segment > send->acked) {
        send->acked = segment;
        send->tries = TRIES;
    }
    send->window = MAX(send->window, window);
    return send->acked == send->segments ? UMAD_RMPP_DONE
                                         : UMAD_RMPP_GOES_ON;
}

UmadRmppResult umad_rmpp_send_timeout(UmadRmppSend *send)
{
    if (!send->tries--) {
        return UMAD_RMPP_FAILED;
    }
    send->next = send->acked + 1;
    return UMAD_RMPP_GOES_ON;
}

/* ------------------------------------------------------------- receiving */

void umad_rmpp_receive_init(UmadRmppReceive *receive)
{
    *receive = (UmadRmppReceive) {
        .message = g_byte_array_new(),
        .window = 1,
    };
}

void umad_rmpp_receive_clear(UmadRmppReceive *receive)
{
    g_byte_array_unref(receive->message);
}

static void answer(const UmadRmppReceive *receive, const uint8_t *mad,
                   uint8_t *ack, unsigned type, unsigned status)
{
    memset(ack, 0, IB_MAD_BYTES);
    memcpy(ack, mad, ib_mad_rmpp_header(ib_field_get(mad, IB_MAD_MGMT_CLASS)));
    ib_field_set(ack, IB_MAD_R, !ib_field_get(mad, IB_MAD_R));
    ib_field_set(ack, IB_MAD_STATUS, 0);
    ib_field_set(ack, IB_RMPP_TYPE, type);
    ib_field_set(ack, IB_RMPP_FLAGS, IB_RMPP_FLAG_ACTIVE);
    ib_field_set(ack, IB_RMPP_STATUS, status);
    ib_field_set(ack, IB_RMPP_SEGMENT_NUMBER, receive->last);
    ib_field_set(ack, IB_RMPP_PAYLOAD_LENGTH, receive->window);
}

/* Bytes of a segment's data, or -1. */
static int payload(const uint8_t *mad, unsigned header)
{
    uint32_t len = ib_field_get(mad, IB_RMPP_PAYLOAD_LENGTH);
    bool last = ib_field_get(mad, IB_RMPP_FLAGS) & IB_RMPP_FLAG_LAST;
    unsigned front = header - IB_RMPP_DATA_OFFSET;

    if (!last) {
        return data_bytes(header);
    }
    return len >= front && len <= SEGMENT_BYTES ? (int)(len - front) : -1;
}

/* The status of the ABORT that a segment needs, or 0. */
static unsigned fault(const UmadRmppReceive *receive, const uint8_t *mad,
                      int bytes)
{
    bool first = ib_field_get(mad, IB_RMPP_FLAGS) & IB_RMPP_FLAG_FIRST;

    if (bytes < 0) {
        return IB_RMPP_STATUS_BAD_LENGTH;
    }
    if (first != (ib_field_get(mad, IB_RMPP_SEGMENT_NUMBER) == 1)) {
        return IB_RMPP_STATUS_BAD_SEGMENT;
    }
    return receive->message->len < MAX_MESSAGE ? 0
                                               : IB_RMPP_STATUS_UNSPECIFIED;
}

bool umad_rmpp_receive_data(UmadRmppReceive *receive, const uint8_t *mad,
                            uint8_t ack[IB_MAD_BYTES],
                            UmadRmppResult *result)
{
    uint32_t segment = ib_field_get(mad, IB_RMPP_SEGMENT_NUMBER);
    bool last = ib_field_get(mad, IB_RMPP_FLAGS) & IB_RMPP_FLAG_LAST;
    unsigned header = ib_mad_rmpp_header(ib_field_get(mad, IB_MAD_MGMT_CLASS));
    int bytes = payload(mad, header);
    unsigned status;

    *result = receive->done ? UMAD_RMPP_DONE : UMAD_RMPP_GOES_ON;
    if (receive->done || segment != receive->last + 1) {
        if (segment > receive->last) {
            return false;
        }
        /* It has not seen the ACK. */
        answer(receive, mad, ack, IB_RMPP_TYPE_ACK, 0);
        return true;
    }
    status = fault(receive, mad, bytes);
    if (status) {
        *result = UMAD_RMPP_FAILED;
        answer(receive, mad, ack, IB_RMPP_TYPE_ABORT, status);
        return true;
    }
    if (segment == 1) {
        receive->header = header;
        g_byte_array_append(receive->message, mad, header);
    }
    g_byte_array_append(receive->message, mad + header, bytes);
    receive->last = segment;
    if (!last && segment < receive->window) {
        return false;
    }
    receive->done = last;
    receive->window = segment + UMAD_RMPP_WINDOW;
    *result = last ? UMAD_RMPP_DONE : UMAD_RMPP_GOES_ON;
    answer(receive, mad, ack, IB_RMPP_TYPE_ACK, 0);
    return true;
}
