/*
 * Connected queue pairs: what RC, UC and XRC share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IBA Vol.1 9.7 (reliable) and 9.8.2 (unreliable).  A requester has the
 * entries that it took from the send queue and that are not complete, oldest
 * first; it sends from one of them, and going back to the oldest PSN that is
 * not acknowledged is all it does about any loss.  A responder has the PSN it
 * expects next, a message in progress, and the reads and atomics whose
 * responses it may have to give again.
 */
#ifndef HW_INFINIBAND_HCA_RC_H
#define HW_INFINIBAND_HCA_RC_H

#include "hca-internal.h"

/* Packets under way without an acknowledgement. */
#define IB_RC_WINDOW         1024
/* Entries under way; the ring of them starts small and grows up to it. */
#define IB_RC_MAX_ENTRIES    1024
/* An ACK is asked for at least once in so many packets (a power of 2). */
#define IB_RC_ACK_EVERY      64
/*
 * Packets of response that one read request asks for; a longer read is
 * several requests, so that PSNs never wrap into each other.
 */
#define IB_RC_READ_CHUNK     (1u << 20)
#define IB_RC_MAX_MESSAGE    (1ull << 31)
/* Least ACK timeout, ns: what a host under load may need to run a peer. */
#define IB_RC_MIN_TIMEOUT    (32 * 1000 * 1000)
/* Retries in a row do not make a timeout longer than this, ns. */
#define IB_RC_PATIENT_TIMEOUT (500 * 1000 * 1000)

/* An entry of the send queue that is not complete. */
typedef struct IbRcEntry {
    uint64_t id;
    uint32_t len;                 /* bytes of the message */
    uint32_t psn;                 /* first */
    uint32_t packets;             /* PSNs; 0: done in the adapter */
    uint32_t acked;               /* of them, from the first */
    uint8_t opcode;               /* IbWrOpcode */
    uint8_t flags;                /* IB_WR_* */
    uint8_t status;               /* IbWcStatus it will complete with */
    bool requested;               /* read, atomic: counted as outstanding */
} IbRcEntry;

/* A read or atomic that this end answers or has answered. */
typedef struct IbRcReply {
    uint32_t psn, packets;
    uint32_t start, sent, stop;   /* of the packets: this time from start */
    uint32_t len, rkey;
    uint64_t va;
    uint32_t msn;
    uint32_t srqn;                /* XRC, read: whose keys it uses */
    bool atomic;
    bool again;                   /* asked for by a duplicate */
    uint64_t old;                 /* atomic: what was there */
} IbRcReply;

typedef enum IbRcMessage {
    IB_RC_NO_MESSAGE, IB_RC_IN_SEND, IB_RC_IN_WRITE,
} IbRcMessage;

struct IbRc {
    uint32_t mtu;                 /* bytes */

    /* Requester */
    IbRcEntry *ring;
    uint32_t ring_size;           /* power of 2 */
    uint32_t head, count;
    uint32_t cur;                 /* entries from head that are all sent */
    uint32_t cur_sent;            /* packets of the next one that are */
    uint32_t next_psn;            /* of the next new entry */
    uint32_t una;                 /* oldest PSN not acknowledged */
    uint32_t sent_psn;            /* one after the last PSN ever sent */
    uint32_t reads_out;
    uint8_t retries, rnr_retries; /* left */
    bool implied_once;            /* a lost response made it go back */
    bool rnr_wait;
    bool failed;                  /* an entry has an error: send no more */

    /* Responder */
    uint32_t epsn, msn;
    IbRcMessage message;
    bool has_recv;                /* recv holds the entry in use */
    bool nak_sent;                /* for epsn; say it once */
    bool comm_told;
    uint32_t offset;              /* bytes of the message received */
    uint32_t rkey, dma_len;
    uint64_t va;
    IbRecvWr *recv;
    IbRcReply *replies;
    uint32_t reply_slots;
    uint32_t reply_tail;          /* all three count without end */
    uint32_t reply_next, reply_limit;
    bool ack_pending;
    bool nak_pending;
    bool dead;                    /* a NAK after which the QP goes to ERR */
    uint8_t nak_syndrome;
    uint32_t ack_psn, nak_psn;
    IbHcaEvent dead_event;        /* with it, unless ... */
    bool dead_quiet;              /* ... a completion says it already */
};

/* The path MTU in bytes; it stays what it was on the way to RTR. */
static inline uint32_t ib_rc_mtu(const IbQp *qp)
{
    return qp->rc->mtu;
}

static inline uint32_t ib_psn_add(uint32_t psn, uint32_t n)
{
    return (psn + n) & IB_PSN_MASK;
}

static inline bool ib_qp_is_reliable(const IbQp *qp)
{
    return qp->attr.type != IB_QPT_UC;
}

static inline IbRcEntry *ib_rc_entry(const IbRc *rc, uint32_t i)
{
    return &rc->ring[(rc->head + i) & (rc->ring_size - 1)];
}

static inline bool ib_rc_is_read(uint8_t opcode)
{
    switch (opcode) {
    case IB_WR_RDMA_READ:
    case IB_WR_CMP_SWAP:
    case IB_WR_FETCH_ADD:
    case IB_WR_MASKED_CMP_SWAP:
    case IB_WR_MASKED_FETCH_ADD:
        return true;
    default:
        return false;
    }
}

static inline IbRcReply *ib_rc_reply(const IbRc *rc, uint32_t i)
{
    return &rc->replies[i % rc->reply_slots];
}

/* ---------------------------------------------------------------- rc.c */

/* Called by the state machine; the attributes are those of @state. */
bool ib_rc_attr_ok(const IbQpAttr *attr, IbQpState state);
void ib_rc_enter_state(IbQp *qp, IbQpState state);
void ib_rc_free(IbQp *qp);
/* Take the alternate path (10.4); false: there is none armed. */
bool ib_rc_migrate(IbQp *qp);
bool ib_rc_run(IbQp *qp);
void ib_rc_receive(IbQp *qp, IbRx *rx);
void ib_rc_timeout(IbQp *qp);
/* In ERR or SQE: complete what is under way; false: a turn was not enough. */
bool ib_rc_flush(IbQp *qp, unsigned *turn);
/* A responder that has executed nothing; @mtu in bytes. */
void ib_rc_make_responder(IbRc *rc, uint32_t mtu, unsigned slots);

/*
 * Begin a packet of @qp: LRH, GRH, BTH are written, tx->buf + *@ext is where
 * the extended headers go.  @opcode: an operation without service (the
 * manufacturer's own: with it).
 */
IbTxOpen ib_rc_tx_open(IbTx *tx, IbQp *qp, uint8_t opcode, uint32_t psn,
                       bool ack_req, bool solicited, uint32_t payload_len,
                       size_t *ext);

/* -------------------------------------------------------- rc-requester.c */

/* Send until the turn, the window or the queue ends; false: turn ended. */
bool ib_rc_request(IbQp *qp, unsigned *turn);
/* Send again from the oldest PSN that is not acknowledged. */
void ib_rc_go_back(IbQp *qp);
/* Complete the entries at the head that are done; true: @qp is in ERR. */
bool ib_rc_complete_head(IbQp *qp);
/* The entry at the head fails, and the QP with it. */
void ib_rc_fail_head(IbQp *qp, IbWcStatus status);
void ib_rc_arm_timer(IbQp *qp);
/* PSNs that an entry of @len bytes takes. */
uint32_t ib_rc_packets(const IbQp *qp, uint8_t opcode, uint32_t len);

/* -------------------------------------------------------------- rc-ack.c */

void ib_rc_receive_response(IbQp *qp, const IbRx *rx);

/* -------------------------------------------------------- rc-responder.c */

void ib_rc_receive_request(IbQp *qp, const IbRx *rx);
/* A receive entry for a message that begins or a write with immediate. */
IbPull ib_rc_pull_recv(IbQp *qp, const IbRx *rx, IbWcStatus *status);
void ib_rc_complete_message(IbQp *qp, const IbRx *rx, bool write);
/* Shared with UC: does the payload's length suit opcode and MTU? */
bool ib_rc_length_ok(const IbQp *qp, const IbRx *rx);

/* ------------------------------------------------------------ rc-reply.c */

/* Send what the responder owes; false: turn ended or no room. */
bool ib_rc_send_replies(IbQp *qp, unsigned *turn);
void ib_rc_want_ack(IbQp *qp, uint32_t psn);
/* NAK for the expected PSN. @fatal: the QP goes to ERR once it is sent. */
void ib_rc_nak(IbQp *qp, uint8_t syndrome);
void ib_rc_nak_fatal(IbQp *qp, uint8_t code, bool quiet, IbHcaEvent event);
/* Room for one more read or atomic; NULL: too many. */
IbRcReply *ib_rc_reply_new(IbQp *qp);
void ib_rc_duplicate(IbQp *qp, const IbRx *rx);

/* ----------------------------------------------------------- rc-state.c */

void ib_rc_save(IbStateWriter *w, const IbQp *qp);
bool ib_rc_load(IbStateReader *r, IbQp *qp);

/* ----------------------------------------------------------------- uc.c */

void ib_uc_receive(IbQp *qp, const IbRx *rx);

#endif
