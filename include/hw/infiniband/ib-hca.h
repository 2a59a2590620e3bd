/*
 * A channel adapter without a host interface: queue pairs and their transport
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The engine knows InfiniBand transport; it never sees a work-queue entry, a
 * completion entry or a context.  A face (mlx4, later mlx5) stands between it
 * and a guest's driver.  The engine pulls neutral work requests from the face
 * when it can use them, so that rings stay where the guest put them, reaches
 * memory by key through the face, and hands over neutral completions and
 * events.  Everything runs in one thread; no call blocks.
 *
 * QPs 0 and 1 of a port are QPs with any number that the face binds to the
 * port with ib_hca_bind_special().
 */
#ifndef HW_INFINIBAND_IB_HCA_H
#define HW_INFINIBAND_IB_HCA_H

#include "hw/infiniband/ib-agent.h"

#define IB_HCA_MAX_PORTS   2
#define IB_WR_MAX_SGE      64

typedef struct IbHca IbHca;
typedef struct IbQp IbQp;

typedef enum IbQpType {
    IB_QPT_SMI, IB_QPT_GSI,       /* raw sends (IB_WR_RAW), UD receives */
    IB_QPT_RC, IB_QPT_UC, IB_QPT_UD,
    IB_QPT_XRC_INI, IB_QPT_XRC_TGT,
} IbQpType;

typedef enum IbQpState {
    IB_QPS_RESET, IB_QPS_INIT, IB_QPS_RTR, IB_QPS_RTS, IB_QPS_SQD,
    IB_QPS_SQE, IB_QPS_ERR,
} IbQpState;

/* Completion status; the numbers are those that mlx4 and mlx5 both show. */
typedef enum IbWcStatus {
    IB_WC_SUCCESS            = 0x00,
    IB_WC_LOC_LEN_ERR        = 0x01,
    IB_WC_LOC_QP_OP_ERR      = 0x02,
    IB_WC_LOC_PROT_ERR       = 0x04,
    IB_WC_WR_FLUSH_ERR       = 0x05,
    IB_WC_MW_BIND_ERR        = 0x06,
    IB_WC_BAD_RESP_ERR       = 0x10,
    IB_WC_LOC_ACCESS_ERR     = 0x11,
    IB_WC_REM_INV_REQ_ERR    = 0x12,
    IB_WC_REM_ACCESS_ERR     = 0x13,
    IB_WC_REM_OP_ERR         = 0x14,
    IB_WC_RETRY_EXC_ERR      = 0x15,
    IB_WC_RNR_RETRY_EXC_ERR  = 0x16,
    IB_WC_REM_ABORT_ERR      = 0x22,
} IbWcStatus;

/* Rights to a memory key. */
enum {
    IB_ACCESS_LOCAL_WRITE   = 1 << 0,
    IB_ACCESS_REMOTE_WRITE  = 1 << 1,
    IB_ACCESS_REMOTE_READ   = 1 << 2,
    IB_ACCESS_REMOTE_ATOMIC = 1 << 3,
    IB_ACCESS_REMOTE        = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
                              IB_ACCESS_REMOTE_ATOMIC,
};

/* State of path migration, IBA Vol.1 10.4; numbers as in contexts. */
enum { IB_PATH_ARMED = 0, IB_PATH_REARM = 1, IB_PATH_MIGRATED = 3 };

/* How a packet gets to its destination. */
typedef struct IbAddress {
    uint16_t dlid;                /* host order */
    uint8_t sl;
    uint8_t path_bits;            /* SLID = LID | path_bits */
    uint8_t static_rate;          /* code of PathRecord.Rate; 0: the port's */
    bool grh;
    bool loopback;                /* stay inside the adapter */
    uint8_t sgid_index, hop_limit, traffic_class;
    uint32_t flow_label;
    uint8_t dgid[16];
} IbAddress;

/* All that a QP is told; the face merges partial modifies into it. */
typedef struct IbQpAttr {
    IbQpType type;
    uint8_t port;                 /* 1.. */
    uint32_t pd;
    uint16_t pkey_index;
    uint32_t qkey;
    uint8_t path_mtu;             /* code */
    IbAddress path, alt_path;
    uint8_t alt_port;
    uint16_t alt_pkey_index;
    uint32_t dest_qpn;
    uint32_t sq_psn, rq_psn;
    uint8_t ack_timeout;          /* 4.096 us * 2^n; 0 = never */
    uint8_t alt_ack_timeout;
    uint8_t retry_count, rnr_retry;     /* 7: without end for RNR */
    uint8_t min_rnr_timer;        /* code, IBA Vol.1 table 46 */
    uint8_t max_rd_atomic;        /* as requester, outstanding */
    uint8_t max_dest_rd_atomic;
    uint8_t access;               /* IB_ACCESS_REMOTE_* */
    uint8_t path_mig_state;       /* IB_PATH_* */
    uint32_t xrcd;
    bool has_srq;
    bool signal_all;
} IbQpAttr;

typedef enum IbWrOpcode {
    IB_WR_NOP,
    IB_WR_SEND, IB_WR_SEND_IMM, IB_WR_SEND_INV,
    IB_WR_RDMA_WRITE, IB_WR_RDMA_WRITE_IMM, IB_WR_RDMA_READ,
    IB_WR_CMP_SWAP, IB_WR_FETCH_ADD,
    IB_WR_MASKED_CMP_SWAP, IB_WR_MASKED_FETCH_ADD,      /* RC */
    IB_WR_LOCAL,                  /* the face's own: fast register, local */
                                  /* invalidate, bind; done by local_op() in */
                                  /* the order of the queue */
    IB_WR_RAW,                    /* the data is a packet, LRH to the room */
                                  /* for the ICRC (QP0, QP1) */
} IbWrOpcode;

enum {
    IB_WR_SIGNALED   = 1 << 0,
    IB_WR_SOLICITED  = 1 << 1,
    IB_WR_FENCE      = 1 << 2,
    IB_WR_RAW_SLID   = 1 << 3,    /* IB_WR_RAW: SLID is in the packet, else */
                                  /* the engine fills LID | path bits given */
    IB_WR_RAW_VL15   = 1 << 4,
};

/* A piece of data: by key in memory, or inline at @ptr. */
typedef struct IbSge {
    uint64_t va;
    const uint8_t *ptr;           /* not NULL: inline, @va and @key unused */
    uint32_t len;
    uint32_t key;
} IbSge;

typedef struct IbSendWr {
    uint64_t id;                  /* the face's own, back in the completion */
    IbWrOpcode opcode;
    uint8_t flags;                /* IB_WR_* */
    uint32_t imm;                 /* as on the wire read as be32; or rkey */
    uint64_t remote_va;
    uint32_t remote_key;
    uint64_t compare, compare_mask, swap_or_add, swap_or_add_mask;
    IbAddress address;            /* UD and raw (sl, dlid) */
    uint32_t dest_qpn, qkey;      /* UD */
    uint32_t xrc_srqn;
    unsigned num_sge;
    IbSge sge[IB_WR_MAX_SGE];
} IbSendWr;

typedef struct IbRecvWr {
    uint64_t id;
    unsigned num_sge;
    IbSge sge[IB_WR_MAX_SGE];
} IbRecvWr;

typedef enum IbPull {
    IB_PULL_OK,
    IB_PULL_EMPTY,
    IB_PULL_ERROR,                /* the entry itself is bad: @wr->id is set, */
                                  /* status in *status; the QP fails */
} IbPull;

enum {
    IB_WC_SEND_QUEUE = 1 << 0,    /* else receive queue */
    IB_WC_GRH        = 1 << 1,
    IB_WC_IMM        = 1 << 2,
    IB_WC_INVALIDATE = 1 << 3,
    IB_WC_SOLICITED  = 1 << 4,
    IB_WC_SIGNALED   = 1 << 5,    /* send: was asked for; errors always are */
    IB_WC_RDMA_WRITE = 1 << 6,    /* receive: RDMA write with immediate */
};

typedef struct IbCompletion {
    uint64_t id;
    IbWcStatus status;
    uint8_t vendor_err;
    uint16_t flags;
    IbWrOpcode opcode;            /* of a send-queue entry */
    uint32_t byte_len;            /* UD receives: with the 40 of the GRH */
    uint32_t imm;                 /* or the invalidated rkey */
    uint32_t src_qpn;
    uint16_t slid;
    uint8_t sl, dlid_path_bits;
    uint16_t pkey_index;
    uint32_t xrc_srqn;
} IbCompletion;

typedef enum IbHcaEvent {
    IB_EVENT_PATH_MIG, IB_EVENT_PATH_MIG_ERR, IB_EVENT_COMM_EST,
    IB_EVENT_SQ_DRAINED, IB_EVENT_QP_FATAL, IB_EVENT_QP_REQ_ERR,
    IB_EVENT_QP_ACCESS_ERR, IB_EVENT_QP_LAST_WQE_REACHED,
} IbHcaEvent;

typedef enum IbMemResult {
    IB_MEM_OK,
    IB_MEM_KEY,                   /* no such key, wrong PD, bounds, rights */
    IB_MEM_FAULT,                 /* the bus address does not answer */
} IbMemResult;

typedef struct IbHcaOps {
    int64_t (*now)(void *opaque);
    uint32_t (*random)(void *opaque);
    void (*set_port_timer)(void *opaque, uint8_t port, int64_t deadline);
    /* The engine's own timer (retries, RNR, node): ib_hca_timer(). */
    void (*set_timer)(void *opaque, int64_t deadline);
    IbCableResult (*send_frame)(void *opaque, uint8_t port,
                                const uint8_t *frame, size_t len);
    void (*port_state_changed)(void *opaque, uint8_t port, uint8_t old_state,
                               uint8_t new_state);
    void (*tap)(void *opaque, uint8_t port, bool tx, const uint8_t *packet,
                size_t len, uint16_t vcrc);
    void (*trace_packet)(void *opaque, uint8_t port, bool tx, uint32_t qpn,
                         const char *discard_reason, const uint8_t *packet,
                         size_t len);
    /* IbNodeOps.changed of the adapter's node. */
    void (*changed)(void *opaque, uint8_t port, uint32_t what);

    /*
     * The face.  @face is what ib_qp_new() was given.
     *
     * next_send: parse the next entry of the send queue into @wr (only the
     * fields of its opcode need be set) and step over it.  EMPTY leaves it;
     * a later ib_qp_post_send() makes the engine ask again.
     * refetch_send: the same entry once more (a retry, or a message that
     * another QP's came between), by id.
     * Inline data (IbSge.ptr) must stay as it is until the next of these two
     * calls for any QP of the adapter.
     * No op may free a QP or take it to RESET; other transitions and the
     * doorbells are welcome.
     */
    IbPull (*next_send)(void *opaque, void *face, IbSendWr *wr,
                        IbWcStatus *status);
    IbPull (*refetch_send)(void *opaque, void *face, uint64_t id,
                           IbSendWr *wr);
    /* The next receive entry, of the QP's queue or its SRQ. */
    IbPull (*next_recv)(void *opaque, void *face, IbRecvWr *wr,
                        IbWcStatus *status);
    /*
     * XRC: a request names SRQ @srqn.  False unless it is one of the QP's XRC
     * domain; until the next call the keys that the QP's responder uses are
     * those of the SRQ's protection domain (IBA Vol.1 annex A14).
     */
    bool (*xrc_select)(void *opaque, void *face, uint32_t srqn);
    /* The receive queue is that SRQ; it was selected. */
    IbPull (*next_recv_xrc)(void *opaque, void *face, uint32_t srqn,
                            IbRecvWr *wr, IbWcStatus *status);
    /*
     * Once for every entry of both queues, in the order of its queue, also
     * for sends that asked for no completion (without IB_WC_SIGNALED).
     */
    void (*complete)(void *opaque, void *face, const IbCompletion *wc);
    /* IB_WR_LOCAL, when its turn has come. */
    IbWcStatus (*local_op)(void *opaque, void *face, const IbSendWr *wr);
    /* Send with invalidate arrived for @rkey. */
    IbMemResult (*invalidate)(void *opaque, void *face, uint32_t rkey);
    void (*event)(void *opaque, void *face, IbHcaEvent event);
    /* The engine took the QP to @state by itself (SQE, ERR). */
    void (*state_moved)(void *opaque, void *face, IbQpState state);

    /*
     * Memory by key: copy @len bytes at @va to or from host memory.  @rights:
     * 0 for local read, else the one IB_ACCESS_* that the use needs.
     */
    IbMemResult (*read)(void *opaque, void *face, uint32_t key, uint64_t va,
                        uint32_t len, unsigned rights, uint8_t *to);
    IbMemResult (*write)(void *opaque, void *face, uint32_t key, uint64_t va,
                         uint32_t len, unsigned rights, const uint8_t *from);
    /* Check rights over a range without a copy (start of an RDMA). */
    IbMemResult (*check)(void *opaque, void *face, uint32_t key, uint64_t va,
                         uint64_t len, unsigned rights);
    /*
     * 64-bit atomic at @va: *old gets what was there (host value of the
     * guest's own order); with masks as IBA and mlx4's extended forms.  The
     * result is stored at the requester with write(), little-endian.
     */
    IbMemResult (*atomic)(void *opaque, void *face, uint32_t key, uint64_t va,
                          const IbSendWr *operands, uint64_t *old);
    /*
     * Receivers of a multicast GID: @visit for each QPN attached; skip it
     * when the entry blocks loopback and @own is set.
     */
    void (*multicast)(void *opaque, uint8_t port, const uint8_t dgid[16],
                      bool own, void (*visit)(void *arg, uint32_t qpn),
                      void *arg);
    /*
     * A batch of work (a frame received, a doorbell) is done: time to raise
     * what was gathered.
     */
    void (*batch_end)(void *opaque);
} IbHcaOps;

/* Why a packet went no further; each has a counter (ib_hca_discards()). */
typedef enum IbHcaDiscard {
    IB_DISCARD_MALFORMED,         /* ib_packet_parse() */
    IB_DISCARD_RAW,               /* not IBA transport */
    IB_DISCARD_ICRC,
    IB_DISCARD_DLID,
    IB_DISCARD_VL15,              /* QP0 and VL15 belong together */
    IB_DISCARD_DGID,
    IB_DISCARD_NO_QP,
    IB_DISCARD_QP_STATE,
    IB_DISCARD_SERVICE,           /* of another transport than the QP */
    IB_DISCARD_PKEY,
    IB_DISCARD_QKEY,
    IB_DISCARD_NO_RECV,           /* unreliable: no receive entry */
    IB_DISCARD_NO_MEMBER,         /* multicast nobody here attached to */
    IB_DISCARD_PSN,               /* out of sequence, duplicate, stale ACK */
    IB_DISCARD_LENGTH,
    IB_DISCARD_TX_SL,             /* sends: SL maps to no VL */
    IB_DISCARD_TX_PORT,           /* sends: port not in a state for it */
    IB_DISCARD_TX_MTU,            /* sends: over the port's NeighborMTU */
    IB_DISCARD_TX_PKEY,           /* sends: P_Key table entry is invalid */
    IB_DISCARDS,
} IbHcaDiscard;

typedef struct IbHcaConfig {
    IbNodeConfig node;            /* type CA, 1..IB_HCA_MAX_PORTS ports */
    IbLinkConfig link;            /* of each port */
} IbHcaConfig;

IbHca *ib_hca_new(const IbHcaConfig *config, const IbHcaOps *ops,
                  void *opaque);
void ib_hca_free(IbHca *hca);
/* All QPs gone, ports closed, node in power-on state. */
void ib_hca_reset(IbHca *hca);
void ib_hca_timer(IbHca *hca);
void ib_hca_port_timer(IbHca *hca, uint8_t port);
IbLink *ib_hca_link(IbHca *hca, uint8_t port);
IbNode *ib_hca_node(IbHca *hca);
void ib_hca_set_trace(IbHca *hca, bool on);
uint64_t ib_hca_discards(const IbHca *hca, IbHcaDiscard reason);
const char *ib_hca_discard_str(IbHcaDiscard reason);

/* INIT_PORT / CLOSE_PORT: until opened a port is Disabled on its cable. */
void ib_hca_open_port(IbHca *hca, uint8_t port);
void ib_hca_close_port(IbHca *hca, uint8_t port);

/* A QP in RESET.  NULL when @qpn is taken.  @face comes back in the ops. */
IbQp *ib_qp_new(IbHca *hca, uint32_t qpn, void *face);
void ib_qp_free(IbQp *qp);
IbQp *ib_hca_find_qp(IbHca *hca, uint32_t qpn);
/* @which 0 or 1; @qp NULL unbinds. */
void ib_hca_bind_special(IbHca *hca, uint8_t port, unsigned which, IbQp *qp);

/*
 * Go to @state with @attr (all of it is taken; a transition within RTS too).
 * The face has checked the transition against its interface; the engine
 * refuses (false) one that IBA Vol.1 10.3.1 does not have.  To ERR: every
 * entry of both queues completes flushed, now and as more is posted.
 * To RESET: all is forgotten without a completion.
 */
bool ib_qp_modify(IbQp *qp, IbQpState state, const IbQpAttr *attr);
IbQpState ib_qp_state(const IbQp *qp);
const IbQpAttr *ib_qp_attr(const IbQp *qp);
bool ib_qp_sq_draining(const IbQp *qp);
void *ib_qp_face(const IbQp *qp);
uint32_t ib_qp_number(const IbQp *qp);
/* Live values for a query. */
uint32_t ib_qp_sq_psn(const IbQp *qp);
uint32_t ib_qp_rq_psn(const IbQp *qp);
uint32_t ib_qp_last_acked_psn(const IbQp *qp);

/*
 * Doorbells: entries may be there.  post_recv matters in ERR (flush) and for
 * RNR'd peers; in other states it is cheap.
 */
void ib_qp_post_send(IbQp *qp);
void ib_qp_post_recv(IbQp *qp);

void ib_hca_save(const IbHca *hca, GByteArray *bytes);
/*
 * The face recreates its QPs (ib_qp_new) before this; false on bytes that do
 * not fit them: the QPs are then in RESET.
 */
bool ib_hca_load(IbHca *hca, const void *data, size_t len);

#endif
