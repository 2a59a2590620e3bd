/*
 * What the files of the channel adapter share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How work flows.  Every entry from outside (doorbell, packet, timer, room on
 * a port) runs between ib_hca_enter() and ib_hca_leave().  In between it only
 * changes the state of QPs and puts those that have something to do on the
 * ready list; the outermost leave runs that list, a few packets a QP in turn.
 * A QP that its port turned away waits on the port's list.  Packets for the
 * adapter itself go through a short queue that is emptied before the next QP
 * runs, so a loopback never recurses.  A cable may bring packets while one is
 * being sent (both ends in one process): they are held until the turn ends.
 */
#ifndef HW_INFINIBAND_HCA_INTERNAL_H
#define HW_INFINIBAND_HCA_INTERNAL_H

#include "hw/infiniband/ib-hca.h"
#include "hw/infiniband/ib-packet.h"
#include "hw/infiniband/ib-state.h"

/* Packets that a QP may send before the next one has its turn. */
#define IB_QP_TURN           16
/* Packets moved in one entry before the host gets the thread back. */
#define IB_HCA_ENTRY_BUDGET  1024
/* Room for a turn and a MAD of the node's own. */
#define IB_LOOP_PACKETS      (2 * IB_QP_TURN)

#define IB_QP_PAGE_BITS      12
#define IB_QP_PAGE_SIZE      (1u << IB_QP_PAGE_BITS)
#define IB_QP_PAGES          (1u << (24 - IB_QP_PAGE_BITS))

typedef struct IbHcaPort IbHcaPort;
typedef struct IbRc IbRc;

typedef struct IbQpList {
    IbQp *head, *tail;
} IbQpList;

/* What congestion slows down: a QP, or all of an SL. */
typedef struct IbFlow {
    uint16_t ccti;
    int64_t since;                /* its timer runs from here on */
    int64_t send_at;              /* not before */
} IbFlow;

struct IbQp {
    IbHca *hca;
    IbHcaPort *port;              /* of attr.port; NULL in RESET */
    void *face;
    uint32_t qpn;
    IbQpState state;
    IbQpAttr attr;

    IbQpList *list;               /* ready, waiting, paced or NULL */
    IbQp *prev, *next;
    uint8_t wait_vl;

    bool sq_more;                 /* a doorbell since the queue was empty */
    bool rq_more;                 /* likewise; used in ERR only */
    bool draining;                /* SQD: not all is acknowledged yet */
    bool last_wqe_told;
    bool wr_active;               /* next_send() gave wr_id, not done yet */
    uint64_t wr_id;

    IbFlow flow;
    int64_t send_at;              /* by the static rate; not before */
    bool owes_becn;               /* in its next response */

    IbRc *rc;                     /* connected types only */
    int64_t deadline;             /* of its timer, INT64_MAX: none */
    int64_t wake;                 /* of its wait on the paced list; likewise */
    int64_t heap_deadline;        /* what its place in the heap stands for */
    int heap_index;               /* -1: not in the heap */
};

struct IbHcaPort {
    IbHca *hca;
    uint8_t num;
    bool dirty;                   /* sent something since the last flush */
    IbLink *link;
    IbQp *special[2];
    IbQpList waiting;
    bool cc;                      /* congestion may slow its packets */
    IbFlow flows[16];             /* of its SLs */
};

typedef struct IbLoopPacket {
    uint8_t port;
    uint16_t len;
    uint8_t data[IB_LINK_PACKET_MAX];
} IbLoopPacket;

/* A packet that came while the engine could not look at it. */
typedef struct IbLatePacket {
    IbHcaPort *port;
    IbPacket packet;
} IbLatePacket;

struct IbHca {
    IbHcaConfig config;
    const IbHcaOps *ops;
    void *opaque;
    IbNode *node;
    const IbSl2vlView *sl2vl;
    IbHcaPort ports[IB_HCA_MAX_PORTS + 1];      /* [0] unused */
    bool trace;

    IbQp ***qp_pages;             /* two levels over the 24 bits */
    unsigned num_qps;

    int depth;                    /* of ib_hca_enter() */
    bool busy;                    /* in a QP's turn or with a packet */
    GArray *late;                 /* IbLatePacket: came while busy */
    IbQpList ready;
    IbQpList paced;               /* those that send_at holds back */
    unsigned budget;              /* left in this entry */

    IbLoopPacket *loop;           /* IB_LOOP_PACKETS, when first used */
    unsigned loop_head, loop_count;

    IbQp **heap;                  /* QPs with a timer, earliest first */
    unsigned heap_used, heap_size;
    int64_t node_deadline;
    int64_t kick_deadline;        /* work left over by the budget */
    int64_t armed;                /* what ops->set_timer was last told */

    IbSendWr wr;                  /* the entry being sent, of ... */
    IbQp *wr_owner;
    IbRecvWr recv_wr;

    uint64_t discards[IB_DISCARDS];
};

/* A received packet, its headers checked. */
typedef struct IbRx {
    IbHcaPort *port;
    const uint8_t *data;
    IbPacketInfo info;
    uint16_t dlid, slid, pkey;
    uint16_t pkey_index;          /* of the match, for the completion */
    uint32_t dqpn;
    bool own;                     /* this adapter sent it */
} IbRx;

/* --------------------------------------------------------------- hca.c */

void ib_hca_enter(IbHca *hca);
void ib_hca_leave(IbHca *hca);
/* Look at the packets that came while busy. */
void ib_hca_receive_late(IbHca *hca);
/* The congestion settings of the ports may be others now. */
void ib_hca_sync_cc(IbHca *hca);
/* Run the ready list soon, from the timer. */
void ib_hca_kick(IbHca *hca);
/* Count a packet that goes no further; @why also to the trace. */
void ib_hca_discard(IbHcaPort *port, bool tx, uint32_t qpn, IbHcaDiscard why,
                    const uint8_t *packet, size_t len);

/* 15: none. */
static inline uint8_t ib_port_vl(const IbHcaPort *port, uint8_t sl)
{
    return ib_sl2vl(port->hca->sl2vl, 0, port->num)[sl & 15] & 15;
}

static inline bool ib_lid_is_ours(const IbHcaPort *port, uint16_t lid)
{
    uint16_t own = ib_node_lid(port->hca->node, port->num);

    return own && !((lid ^ own) >> ib_node_lmc(port->hca->node, port->num));
}

/* -------------------------------------------------------------- sched.c */

void ib_qp_list_append(IbQpList *list, IbQp *qp);
void ib_qp_list_remove(IbQp *qp);
/* Something to do for @qp: on the ready list unless it waits for its port. */
void ib_qp_ready(IbQp *qp);
/* No room on @vl: to the port's waiting list. */
void ib_qp_wait(IbQp *qp, uint8_t vl);
/* Those of @port that wait for one of @vls are ready. */
void ib_port_wake(IbHcaPort *port, uint16_t vls);
/* Run the ready list until it is empty or the budget is used up. */
void ib_hca_run(IbHca *hca);

/* -------------------------------------------------------------- timer.c */

/* (Re)arm or, with INT64_MAX, disarm the QP's only timer. */
void ib_qp_set_deadline(IbQp *qp, int64_t deadline);
/* Likewise when it is to leave the paced list. */
void ib_qp_set_wake(IbQp *qp, int64_t wake);
void ib_qp_forget_timer(IbQp *qp);
/* Tell ops->set_timer when the earliest of all deadlines has changed. */
void ib_hca_rearm(IbHca *hca);
/* Take the QPs that are due off the heap, calling @expired for each. */
void ib_hca_expire(IbHca *hca, int64_t now, void (*expired)(IbQp *qp));

/* ----------------------------------------------------------------- qp.c */

/* All QPs to RESET. */
void ib_hca_clear_qps(IbHca *hca);
/* The adapter's own move to SQE or ERR, told to the face. */
void ib_qp_move(IbQp *qp, IbQpState state);
void ib_qp_event(IbQp *qp, IbHcaEvent event);
/* One turn on the ready list; false: has more to do. */
bool ib_qp_run(IbQp *qp);
/*
 * The next entry of the send queue, or that of @id once more, into hca->wr.
 * On ERROR *@status has the reason and hca->wr.id the id.
 */
IbPull ib_qp_fetch_next(IbQp *qp, IbWcStatus *status);
IbPull ib_qp_fetch_again(IbQp *qp, uint64_t id);
/*
 * The entry that @qp's send queue is at, in hca->wr: a new one, or the one in
 * progress, fetched again if another QP's was there meanwhile.  ERROR leaves
 * its status in *@status and the id in qp->wr_id.
 */
IbPull ib_qp_current_wr(IbQp *qp, IbWcStatus *status);
/* Complete the current entry (of opcode and flags in hca->wr). */
void ib_qp_complete_send(IbQp *qp, IbWcStatus status, uint32_t byte_len);
/* Complete the current entry of a datagram QP with an error; it goes to SQE. */
void ib_qp_fail_send(IbQp *qp, IbWcStatus status);
void ib_qp_complete_recv(IbQp *qp, const IbRecvWr *wr, IbWcStatus status);
/*
 * An error of the receive queue: the entry completes with it (if there is
 * one), the QP goes to ERR.
 */
void ib_qp_fail_recv(IbQp *qp, const IbRecvWr *wr, IbWcStatus status);

static inline bool ib_type_is_connected(IbQpType type)
{
    switch (type) {
    case IB_QPT_RC:
    case IB_QPT_UC:
    case IB_QPT_XRC_INI:
    case IB_QPT_XRC_TGT:
        return true;
    default:
        return false;
    }
}

static inline bool ib_qp_is_connected(const IbQp *qp)
{
    return ib_type_is_connected(qp->attr.type);
}

/* --------------------------------------------------------------- data.c */

uint64_t ib_sge_bytes(const IbSge *sge, unsigned num_sge);
/* Bytes [@offset, @offset + @len) of the list to @to. */
IbWcStatus ib_sge_gather(IbQp *qp, const IbSge *sge, unsigned num_sge,
                         uint64_t offset, uint8_t *to, uint32_t len);
/*
 * @from to bytes [@offset, @offset + @len) of the list; IB_WC_LOC_LEN_ERR
 * when it is shorter.
 */
IbWcStatus ib_sge_scatter(IbQp *qp, const IbSge *sge, unsigned num_sge,
                          uint64_t offset, const uint8_t *from, uint32_t len);

/* ----------------------------------------------------------------- tx.c */

typedef enum IbTxOpen {
    IB_TX_OPEN,                   /* write into tx->buf, then _close/_cancel */
    IB_TX_WAIT,                   /* the QP is on its port's waiting list */
    IB_TX_DROP,                   /* the packet goes nowhere: counted */
} IbTxOpen;

typedef struct IbTx {
    IbHcaPort *port;
    uint8_t *buf;
    uint16_t len;
    bool loop;
} IbTx;

/*
 * Room for a packet of @len bytes of @qp: on the cable's @vl, or in the
 * loopback queue.
 */
IbTxOpen ib_tx_open(IbTx *tx, IbQp *qp, bool loop, uint8_t vl, size_t len);
/* The packet is complete but for pad and ICRC: send it. */
void ib_tx_close(IbTx *tx, IbQp *qp);
void ib_tx_cancel(IbTx *tx);
/* Copy of a complete packet to the loopback queue; false when that is full. */
bool ib_loop_put(IbHcaPort *port, const uint8_t *packet, size_t len);
/* Deliver all that is in the queue. */
void ib_loop_drain(IbHca *hca);
/*
 * Route of a packet to @address from @port: LIDs, SL, GRH, and the VL in
 * @route->vl (15: none).  Returns whether it stays inside the adapter.
 */
bool ib_tx_route(const IbHcaPort *port, const IbAddress *address,
                 IbPacketRoute *route);
/* LID-routed SMP of the node's own, as IbNodeOps.send_smp. */
void ib_tx_send_smp(IbHcaPort *port, const uint8_t *mad, uint16_t dlid,
                    uint8_t sl);

/* ----------------------------------------------------------------- ud.c */

/* One turn of the send queue of a datagram or special QP. */
bool ib_ud_run(IbQp *qp);
void ib_ud_receive(IbQp *qp, const IbRx *rx);

/* ----------------------------------------------------------- throttle.c */

/* May packets of this static rate have to wait? */
static inline bool ib_throttled(const IbQp *qp, uint8_t static_rate)
{
    return static_rate || qp->port->cc;
}

/* Too soon for a packet on @sl: @qp is on the paced list. */
bool ib_throttle_wait(IbQp *qp, uint8_t sl);
void ib_throttle_sent(IbQp *qp, uint8_t static_rate, uint8_t sl,
                      uint32_t bytes);
/* A packet with FECN or BECN for @qp. */
void ib_throttle_receive(IbQp *qp, const IbRx *rx);

/* ---------------------------------------------------------------- raw.c */

/* Send hca->wr, an IB_WR_RAW; false: no room, again later. */
bool ib_raw_send(IbQp *qp);

/* ----------------------------------------------------------------- rx.c */

void ib_rx_discard(const IbRx *rx, IbHcaDiscard why);
/* The packet door.  @flags: IB_PACKET_*. */
void ib_rx_packet(IbHcaPort *port, const uint8_t *data, size_t len,
                  uint8_t flags, bool own);

#endif
