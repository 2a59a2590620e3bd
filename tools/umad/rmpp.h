/*
 * RMPP: messages of more than one MAD (IBA Vol. 1, 13.6)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * No sockets and no clock here: who calls sends what is made and says the time.
 * Messages are as user_mad.c of the kernel has them: the headers of a MAD of
 * the class once, then all data.
 */
#ifndef TOOLS_UMAD_RMPP_H
#define TOOLS_UMAD_RMPP_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include "hw/infiniband/ib-mad.h"

#define UMAD_RMPP_WINDOW  64      /* segments that may be under way */

/* --------------------------------------------------------------- sending */

typedef struct UmadRmppSend {
    uint8_t *message;             /* a copy */
    size_t len;
    unsigned header;
    uint32_t segments;
    uint32_t next;                /* the segment to send, 1.. */
    uint32_t acked;               /* those up to here have arrived */
    uint32_t window;              /* those up to here may be sent */
    unsigned tries;               /* that are left */
} UmadRmppSend;

typedef enum UmadRmppResult {
    UMAD_RMPP_GOES_ON,
    UMAD_RMPP_DONE,
    UMAD_RMPP_FAILED,
} UmadRmppResult;

/*
 * @message: @len bytes, the headers of a class with RMPP at least; it is
 * copied.
 */
void umad_rmpp_send_init(UmadRmppSend *send, const uint8_t *message,
                         size_t len);
void umad_rmpp_send_clear(UmadRmppSend *send);
/* The next segment that the window has room for, false if there is none. */
bool umad_rmpp_send_next(UmadRmppSend *send, uint8_t mad[IB_MAD_BYTES]);
/* The receiver's ACK, STOP or ABORT. */
UmadRmppResult umad_rmpp_send_answer(UmadRmppSend *send, const uint8_t *mad);
/* No ACK has come in time: send what is not acknowledged again. */
UmadRmppResult umad_rmpp_send_timeout(UmadRmppSend *send);

/* ------------------------------------------------------------- receiving */

typedef struct UmadRmppReceive {
    GByteArray *message;
    unsigned header;
    uint32_t last;                /* segments that have arrived */
    uint32_t window;
    bool done;
} UmadRmppReceive;

void umad_rmpp_receive_init(UmadRmppReceive *receive);
void umad_rmpp_receive_clear(UmadRmppReceive *receive);
/*
 * A DATA segment.  If true, @ack (256 bytes) is to be sent to where it came
 * from.  Segments out of turn are dropped, the sender sends them again.
 * @receive->done: @receive->message is whole.  *@result is FAILED, and @ack
 * an ABORT, if the message cannot become whole.
 */
bool umad_rmpp_receive_data(UmadRmppReceive *receive, const uint8_t *mad,
                            uint8_t ack[IB_MAD_BYTES],
                            UmadRmppResult *result);

#endif
