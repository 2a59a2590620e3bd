/*
 * Inside of the link layer
 *
 * What the files of hw/infiniband/link/ share: the layout of a frame, the
 * IbLink itself and the functions that cross from one file to another.  The
 * format on the cable is described in docs/specs/ib-link.rst.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_INFINIBAND_LINK_INT_H
#define HW_INFINIBAND_LINK_INT_H

#include "hw/infiniband/ib-bits.h"
#include "hw/infiniband/ib-link.h"
#include "hw/infiniband/ib-packet.h"
#include "hw/infiniband/ib-sm-attr.h"

/* ------------------------------------------------- a frame on the cable */

#define IB_FRAME_ETHERTYPE      0x88b5
#define IB_FRAME_VERSION        1
#define IB_FRAME_MIN_MAX        1024    /* least value of max_frame */
#define IB_FRAME_MAX            65536   /* its largest */

#define IB_ETH_BYTES            14
#define IB_ETH_TYPE             IB_FIELD16(12, 15, 0)

/* Link header, from the end of the Ethernet header */
#define IB_LH_BYTES             20
#define IB_LH_VERSION           IB_FIELD8(0, 7, 0)
#define IB_LH_HEADER_LENGTH     IB_FIELD8(1, 7, 0)      /* bytes */
#define IB_LH_LENGTH            IB_FIELD16(2, 15, 0)    /* of all records */
#define IB_LH_RECORDS           IB_FIELD16(4, 15, 0)
#define IB_LH_SESSION           IB_FIELD32(8, 31, 0)
#define IB_LH_PEER_SESSION      IB_FIELD32(12, 31, 0)
#define IB_LH_SEQUENCE          IB_FIELD32(16, 31, 0)

#define IB_FRAME_HEADERS        (IB_ETH_BYTES + IB_LH_BYTES)

/* Record header */
#define IB_REC_BYTES            4
#define IB_REC_LENGTH           IB_FIELD32(0, 31, 16)   /* of the content */
#define IB_REC_TYPE             IB_FIELD32(0, 15, 8)
#define IB_REC_FLAGS            IB_FIELD32(0, 7, 0)

enum {
    IB_REC_PACKET               = 1,    /* flags: IB_PACKET_* */
    IB_REC_CREDIT               = 2,    /* flags: IB_CREDIT_REQUEST */
    IB_REC_TRAINING             = 3,
    IB_REC_KEEPALIVE            = 4,
    IB_REC_GOING_DOWN           = 5,
    IB_REC_ECHO                 = 6,
    IB_REC_ECHO_REPLY           = 7,
};

/* Flags of a packet record that a receiver takes over */
#define IB_PACKET_RECORD_FLAGS  (IB_PACKET_NO_ICRC | IB_PACKET_BAD)

/* One entry of a credit record; counts in blocks of 64 bytes, mod 2^32 */
#define IB_CREDIT_BYTES         12
#define IB_CREDIT_VL            IB_FIELD8(0, 7, 0)
#define IB_CREDIT_FCTBS         IB_FIELD32(4, 31, 0)
#define IB_CREDIT_FCCL          IB_FIELD32(8, 31, 0)
#define IB_CREDIT_REQUEST       1       /* answer with a credit record */

/* Content of a training record */
#define IB_TS_BYTES             24
#define IB_TS_KIND              IB_FIELD8(0, 7, 0)
#define IB_TS_CRC               IB_FIELD8(1, 0, 0)
#define IB_TS_PORT_NUM          IB_FIELD8(2, 7, 0)
#define IB_TS_WIDTH_SUPPORTED   IB_FIELD8(4, 7, 0)
#define IB_TS_WIDTH_ENABLED     IB_FIELD8(5, 7, 0)
#define IB_TS_SPEED_SUPPORTED   IB_FIELD16(8, 15, 0)
#define IB_TS_SPEED_ENABLED     IB_FIELD16(10, 15, 0)
#define IB_TS_MAX_FRAME         IB_FIELD32(12, 31, 0)
#define IB_TS_GUID_OFFSET       16

#define IB_TS1                  1       /* these are my parameters */
#define IB_TS2                  2       /* ... I know yours and am ready */

/* ------------------------------------------------------------- packets */

/*
 * The memory of a held packet.  When the last reference goes, its blocks go
 * back to the receive buffer of @ingress.
 */
struct IbPacketBuf {
    IbPacketBuf *next;              /* in a list of free buffers */
    IbLink *ingress;
    uint32_t refs;
    uint16_t len;
    uint8_t vl;                     /* of @ingress */
    uint8_t size_class;
    int64_t born;                   /* ns: when received; 0: by this node */
    uint8_t data[];
};

/* A held packet that waits for one port and VL to send it. */
typedef struct IbTxEntry IbTxEntry;
struct IbTxEntry {
    IbTxEntry *next;
    IbPacketBuf *buf;
    uint8_t flags;                  /* IB_PACKET_RECORD_FLAGS of them */
};

/*
 * Set in IbPacket.flags of a received packet when ib_link_transmit() took
 * it into a buffer: the receiving link then holds a reference of its own
 * until the owner's receive() has returned, so that @data stays valid for
 * it while the queues that share the buffer already drain.
 */
#define IB_PACKET_LENT          (1 << 7)

/* ---------------------------------------------------------------- link */

#define IB_TX_OWN_MAX           64      /* waiting packets without ingress */
#define IB_VL15_MASK            (1u << IB_VL_MGMT)
#define IB_NS_PER_MS            INT64_C(1000000)

/* One VL: the queue that feeds it, and both ends of its flow control. */
typedef struct IbLinkVl {
    IbTxEntry *head, *tail;
    uint32_t queued;                /* packets */
    uint32_t queued_blocks;
    uint32_t own;                   /* ... without ingress */
    uint32_t fctbs;                 /* blocks sent since LinkUp */
    uint32_t fccl;                  /* the peer's limit for it */
    uint32_t abr;                   /* blocks received since LinkUp */
    uint32_t limit;                 /* FCCL as last told to the peer */
    uint32_t occupied;              /* blocks held; packets on VL15 */
    int64_t head_since;             /* ns: when @head came to the head */
    int64_t stalled_until;          /* ns */
    uint32_t stall_fctbs;           /* fctbs at the last of stall_drops */
    uint8_t stall_drops;            /* by HOQLife, in a row */
} IbLinkVl;

/* Place in a VLArbitrationTable */
typedef struct IbArbPointer {
    uint8_t at;
    int16_t left;                   /* of the entry's weight, blocks */
} IbArbPointer;

typedef struct IbInject IbInject;

struct IbLink {
    const IbLinkOps *ops;
    void *opaque;

    /* Frame under construction */
    uint8_t *frame;                 /* NULL while there is nothing in it */
    uint32_t tx_at;                 /* where the next record goes */
    uint32_t tx_limit;              /* end of room for packets; 0: none now */
    uint16_t tx_records;
    uint16_t tx_open;               /* VLs that may send */
    uint16_t tx_waiting;            /* VLs with a queue */
    uint16_t tx_wanted;             /* VLs that tx_begin() turned away */
    uint16_t stalled;               /* VLs that discard all: VLStallCount */
    uint16_t tx_max;                /* largest packet on a data VL, bytes */
    uint16_t tx_max_vl15;
    bool tx_stuck;                  /* packets wait for room, not credits */
    bool crc;
    bool tap;
    bool tx_special;                /* crc, tap, or paced */
    bool rx_special;                /* crc, tap, injection, or count_op */
    bool trace;
    bool sending;                   /* in send_frame(): frame is taken */
    bool draining;
    bool attached;                  /* there is a cable */
    bool cable_busy;
    bool tx_data;                   /* frame holds packets */
    uint8_t tx_begun_vl;            /* between tx_begin() and tx_end() */
    uint16_t tx_begun_len;

    /* Receiver */
    uint16_t rx_open;               /* VLs that may receive */
    int16_t count_op;               /* BTH.OpCode to count; -1: none */
    uint16_t vls_operational;
    uint16_t rx_max;
    uint16_t credit_dirty;          /* VLs to advertise with the next frame */
    bool credit_urgent;             /* send one for it */
    bool credit_request;            /* ask the peer for its own */

    bool credit_doubt;              /* no credits of the peer's since a */
                                    /* migration */

    bool hold;                      /* the peer gets no credits */
    bool hold_done;                 /* ... and has answered that */
    bool echo_wanted;               /* an echo is still to be sent, */
    bool echo_owed;                 /* or the answer to one */
    uint32_t echo_number;
    uint32_t echo_answer;           /* number of the one owed */
    bool credit_arrived;
    bool rx_seen;                   /* a frame since the last tick */
    uint8_t nested;                 /* depth of calls into this link */
    uint32_t session, peer_session, old_peer_session;
    uint32_t tx_seq, rx_seq;
    uint32_t rx_blocks;             /* receive buffer of a data VL */
    uint32_t rx_threshold;          /* blocks freed worth a frame */

    IbLinkVl vl[IB_VLS];
    IbLinkCounters counters;        /* totals are made when asked for */

    /* What the thresholds of errors watch */
    uint8_t phy_limit, overrun_limit;
    uint8_t errors;                 /* 1 << IbLinkError, yet to be told */
    uint32_t phy_count;             /* physical errors less good packets */
    uint64_t phy_seen;              /* packets received at the last of them */
    uint8_t overrun_periods;        /* in a row with an overrun each */
    bool overrun;                   /* one in the period that runs */
    uint16_t fc_known;              /* VLs that had credits in this session */
    uint16_t fc_seen;               /* ... since the watchdog last looked */
    uint32_t fc_missed_ms;

    /* State and training */
    uint8_t state, phys;
    uint8_t down_default;
    bool enabled;                   /* by the owner */
    bool sm_disabled;               /* by the SM */
    bool detach_pending;
    bool resumed;                   /* loaded; its cable is yet to come */
    bool quiet;                     /* no more calls of state_changed() */
    bool dead;                      /* freed, but packets still held */
    bool peer_ready;                /* TS2 seen */
    bool bye_pending;
    bool probe_armed;
    bool pace_full;                 /* the line is busy until pace_free */
    bool life_armed;                /* next_life is to come */
    bool peer_crc;
    uint8_t peer_port;
    uint8_t width_active;
    uint16_t speed_active;
    uint32_t peer_max_frame;
    uint32_t bye_session, bye_peer, bye_seq;
    uint32_t tx_size;               /* largest frame both ends take */
    uint32_t held;                  /* packets whose ingress this is */
    uint64_t peer_guid;
    int64_t polling_since;
    int64_t next_training;
    int64_t training_sent;
    int64_t next_keepalive;
    int64_t next_probe;
    int64_t next_life;              /* a packet may be too old */
    int64_t pace_free;
    uint64_t pace_rate;             /* bytes a second; 0: not paced */
    uint64_t pace_rest;             /* of a ns, times pace_rate */
    int64_t hoq_ns, life_ns;        /* INT64_MAX: for ever */
    int64_t rx_now;                 /* of the frame being read; 0: not asked */
    int64_t last_rx;
    int64_t deadline;               /* as last given to set_timer() */
    int64_t wait_since;             /* data waits and none is sent */
    uint32_t probe_fctbs[IB_VL_MGMT];

    /* PortInfo */
    uint8_t neighbor_mtu;
    uint8_t operational_vls;
    uint8_t vl_high_limit;
    uint8_t width_enabled;
    uint16_t speed_enabled;
    uint8_t cable_widths;           /* of the cable, not PortInfo's */
    uint16_t cable_speeds;
    uint8_t hoq_life;
    uint8_t vl_stall_count;
    uint8_t life_time;              /* LifeTimeValue of SwitchInfo */

    /* VL arbitration */
    uint16_t arb_vls[2];            /* VLs with a weight: [0] low, [1] high */
    IbArbPointer arb_at[2];
    uint8_t arb_which;              /* table of the last pick */
    uint32_t arb_high_sent;         /* blocks since low had its turn */
    IbVlArbEntry arb[2][64];

    IbInject *inject;               /* NULL until asked for */
    IbLinkConfig config;
};

/*
 * Blocks that a packet of @len bytes, LRH to ICRC, takes in a receive buffer:
 * all bytes from LRH to VCRC, in units of 64 (IBA Vol.1 7.9.4).
 */
static inline uint32_t ib_packet_blocks(uint32_t len)
{
    return (len + IB_VCRC_BYTES + IB_BLOCK_BYTES - 1) / IB_BLOCK_BYTES;
}

/* Room of a packet record in a frame; @len is a multiple of 4. */
static inline uint32_t ib_record_bytes(const IbLink *link, uint32_t len)
{
    return IB_REC_BYTES + len + (link->crc ? 4 : 0);
}

static inline bool ib_tx_room(const IbLink *link, uint32_t len)
{
    return link->tx_at + ib_record_bytes(link, len) <= link->tx_limit;
}

/* Credits left of a data VL, in blocks; not above 0: none. */
static inline int32_t ib_credit_left(const IbLinkVl *v)
{
    return (int32_t)(v->fccl - v->fctbs);
}

static inline int64_t ib_link_now(const IbLink *link)
{
    return link->ops->now(link->opaque);
}

static inline void ib_link_trace(const IbLink *link, const char *event,
                                 const uint8_t *packet, size_t len)
{
    if (G_UNLIKELY(link->trace) && link->ops->trace) {
        link->ops->trace(link->opaque, event, packet, len);
    }
}

/* link.c: after a change of what makes packets special */
void ib_link_update_special(IbLink *link);
/* link.c: VLs and lengths that state, OperationalVLs, MTU, tables allow */
void ib_link_update_open(IbLink *link);
/* The largest packet that the frames of this session can hold */
uint32_t ib_link_frame_room(const IbLink *link);

/* packet.c */
uint8_t *ib_pool_frame_new(void);          /* IB_FRAME_MAX bytes */
void ib_pool_frame_free(uint8_t *frame);   /* or NULL */
IbPacketBuf *ib_packet_buf_new(const uint8_t *data, uint32_t len);
void ib_packet_buf_unref(IbPacketBuf *buf);
IbTxEntry *ib_tx_entry_new(void);
void ib_tx_entry_free(IbTxEntry *entry);
void ib_packet_pool_ref(void);
void ib_packet_pool_unref(void);

/* credit.c */
void ib_credit_reset(IbLink *link);
void ib_credit_hold(IbLink *link, uint8_t vl, uint32_t len);
void ib_credit_return(IbLink *link, uint8_t vl, uint32_t len);
/*
 * After a migration, until the peer sends new credits: it may not be at the
 * other end of the cable yet.
 */
void ib_credit_doubt(IbLink *link);
/* Decide, after a frame, whether what @vls took is to be told to the peer. */
void ib_credit_update(IbLink *link, uint16_t vls);
void ib_credit_put_record(IbLink *link);
void ib_credit_receive(IbLink *link, const uint8_t *data, uint32_t len,
                       uint8_t flags);
uint32_t ib_credit_record_max(const IbLink *link);

/* arbiter.c */
void ib_arbiter_reset(IbLink *link);
unsigned ib_arbiter_pick(IbLink *link, uint16_t ready);
void ib_arbiter_sent(IbLink *link, uint32_t blocks);

/* life.c */
int64_t ib_life_ns(uint8_t code);
/* A packet came to be the head of the queue of @vl. */
void ib_life_watch(IbLink *link, unsigned vl);
/* HOQLife or LifeTimeValue are others. */
void ib_life_changed(IbLink *link);
void ib_life_reset(IbLink *link);
/* Whatever is at the head of a VL is so from now on. */
void ib_life_restart(IbLink *link);
void ib_life_tick(IbLink *link, int64_t now);

/* errors.c */
void ib_errors_reset(IbLink *link);
/* Frames or packets that did not come, a frame that is none, a bad packet */
void ib_errors_lost(IbLink *link, uint32_t count);
void ib_errors_frame(IbLink *link);
void ib_errors_physical(IbLink *link);
/* A packet had no room; a credit record goes to the peer. */
void ib_errors_overrun(IbLink *link);
void ib_errors_period(IbLink *link);
/* Once each keepalive_ms while up */
void ib_errors_watch(IbLink *link);
/* Call the owner for what was noticed. */
void ib_errors_tell(IbLink *link);

/* transmit.c */
/* Why a packet is counted in xmit_discards, and in what else */
typedef enum IbXmitDiscard {
    IB_XMIT_OK,
    IB_XMIT_PORT_STATE,
    IB_XMIT_VL,
    IB_XMIT_STALLED,
    IB_XMIT_MTU,
    IB_XMIT_LENGTH,
    IB_XMIT_OWN_QUEUE,
    IB_XMIT_PURGED,
    IB_XMIT_HOQ_LIFE,
    IB_XMIT_LIFE_TIME,
} IbXmitDiscard;

void ib_tx_discard_head(IbLink *link, unsigned vl, IbXmitDiscard why);
void ib_tx_drain(IbLink *link);
void ib_tx_notify(IbLink *link);
void ib_tx_purge(IbLink *link, uint16_t vls);
void ib_tx_enqueue(IbLink *link, unsigned vl, IbPacketBuf *buf, uint8_t flags);
void ib_tx_wait_account(IbLink *link);

/* pace.c */
void ib_pace_start(IbLink *link);
/* A packet of @len bytes, LRH to ICRC, goes. */
void ib_pace_charge(IbLink *link, uint32_t len);
void ib_pace_resume(IbLink *link, int64_t now);

/* inject.c: what is to happen to a received packet */
bool ib_inject_on(const IbLink *link);
bool ib_inject_drop(IbLink *link, unsigned vl);
bool ib_inject_corrupt(IbLink *link, unsigned vl);
bool ib_inject_duplicate(IbLink *link, unsigned vl);
/* True: it is taken and comes later. */
bool ib_inject_delay(IbLink *link, IbPacket *packet);
int64_t ib_inject_due(const IbLink *link);
void ib_inject_tick(IbLink *link, int64_t now);
void ib_inject_purge(IbLink *link);

/* hold.c */

/* The link went down: no hold, no echo. */
void ib_hold_reset(IbLink *link);
/* Send the echo and the answer that are due, if the cable takes them. */
void ib_hold_send(IbLink *link);
/* An echo record, or its answer, of @len bytes of content. */
void ib_hold_receive(IbLink *link, const uint8_t *data, uint32_t len,
                     unsigned type);
void ib_inject_free(IbLink *link);

/* frame.c */
/* Find the room for packets in the frame under construction. */
void ib_frame_open(IbLink *link);
/* Begin one if there is none; true: it has room for a packet of @len. */
bool ib_frame_begin(IbLink *link, uint32_t len);
/* Drop what is under construction. */
void ib_frame_reset(IbLink *link);
/* Record of @len bytes of content in the frame: where they go. */
uint8_t *ib_frame_put_record(IbLink *link, uint8_t type, uint8_t flags,
                             uint16_t len);
/* Send the frame if there is a reason to; false: the cable does not take it. */
bool ib_frame_send(IbLink *link);
/* Send a frame of its own with one record; false: not taken. */
bool ib_frame_send_control(IbLink *link, uint32_t session, uint32_t peer,
                           uint32_t seq, uint8_t type, const uint8_t *content,
                           uint16_t len);

/* receive.c: end of the record at @at, NULL when it does not end by @end */
const uint8_t *ib_record_end(const uint8_t *at, const uint8_t *end);
/* What is to be done after calls that may have moved credits or the cable */
void ib_link_settle(IbLink *link);

/* train.c */
void ib_train_rearm(IbLink *link);
void ib_train_arm_probe(IbLink *link);
/* Leave LinkUp or training. @tell: say so to the peer; @lost: an error. */
void ib_train_down(IbLink *link, bool tell, bool lost);
/*
 * A frame that is not of the session of a link that is up. True: it has made
 * the link come up and is to be read on.
 */
bool ib_train_frame(IbLink *link, uint32_t session, uint32_t peer,
                    uint32_t seq, const uint8_t *at, const uint8_t *end);
/* The peer still trains though this end is up. */
void ib_train_again(IbLink *link);
/* Armed to Active */
void ib_train_activate(IbLink *link);
void ib_train_reset(IbLink *link);

#endif
