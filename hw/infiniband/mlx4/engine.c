/*
 * ConnectX-3: the functions that the engine calls
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See include/hw/infiniband/ib-hca.h for what each has to do.
 */
#include "mlx4.h"
#include "../trace.h"

/* ------------------------------------------------------ time and the cable */

static int64_t mlx4_op_now(void *opaque)
{
    return ib_cable_now();
}

static uint32_t mlx4_op_random(void *opaque)
{
    return g_random_int();
}

static void mlx4_op_set_port_timer(void *opaque, uint8_t port,
                                   int64_t deadline)
{
    Mlx4State *s = opaque;

    ib_cable_set_timer(s->cables[port], deadline);
}

static void mlx4_op_set_timer(void *opaque, int64_t deadline)
{
    Mlx4State *s = opaque;

    if (deadline == INT64_MAX) {
        timer_del(s->timer);
    } else {
        timer_mod_ns(s->timer, deadline);
    }
}

static IbCableResult mlx4_op_send_frame(void *opaque, uint8_t port,
                                        const uint8_t *frame, size_t len)
{
    Mlx4State *s = opaque;

    return ib_cable_send(s->cables[port], frame, len);
}

static void mlx4_op_tap(void *opaque, uint8_t port, bool tx,
                        const uint8_t *packet, size_t len, uint16_t vcrc)
{
    Mlx4State *s = opaque;

    ib_cable_tap(s->cables[port], tx, packet, len, vcrc);
}

static void mlx4_op_trace_packet(void *opaque, uint8_t port, bool tx,
                                 uint32_t qpn, const char *discard_reason,
                                 const uint8_t *packet, size_t len)
{
    uint32_t slid = 0, dlid = 0;

    if (packet && len >= IB_LRH_BYTES) {
        slid = ib_field_get(packet, IB_LRH_SLID);
        dlid = ib_field_get(packet, IB_LRH_DLID);
    }
    if (discard_reason) {
        trace_mlx4_discard(port, tx ? "out" : "in", qpn, slid, dlid, len,
                           discard_reason);
    } else {
        trace_mlx4_packet(port, tx ? "out" : "in", qpn, slid, dlid, len);
    }
}

static void mlx4_op_port_state_changed(void *opaque, uint8_t port,
                                       uint8_t old_state, uint8_t new_state)
{
    mlx4_port_state_changed(opaque, port, old_state, new_state);
}

/* The driver sees every Set on its way down: nothing to tell it. */
static void mlx4_op_changed(void *opaque, uint8_t port, uint32_t what)
{
    trace_mlx4_node_changed(port, what);
}

/* ------------------------------------------------------------------- queues */

static IbPull mlx4_op_next_send(void *opaque, void *face, IbSendWr *wr,
                                IbWcStatus *status)
{
    return mlx4_wqe_next_send(face, wr, status);
}

static IbPull mlx4_op_refetch_send(void *opaque, void *face, uint64_t id,
                                   IbSendWr *wr)
{
    return mlx4_wqe_refetch_send(face, id, wr);
}

static IbPull mlx4_op_next_recv(void *opaque, void *face, IbRecvWr *wr,
                                IbWcStatus *status)
{
    return mlx4_wqe_next_recv(face, wr, status);
}

static bool mlx4_op_xrc_select(void *opaque, void *face, uint32_t srqn)
{
    Mlx4Qp *qp = face;
    const Mlx4Srq *srq = mlx4_srq_of_xrc(qp, srqn);

    if (!srq) {
        mlx4_guest_error("a peer of QP 0x%x names SRQ 0x%x, which is not of "
                         "its XRC domain", qp->qpn, srqn);
        return false;
    }
    qp->xrc_pd = ib_field_get(srq->ctx, MLX4_SRQC_PD);
    return true;
}

/* The id has the SRQ's number above the entry's, for the completion. */
static IbPull mlx4_op_next_recv_xrc(void *opaque, void *face, uint32_t srqn,
                                    IbRecvWr *wr, IbWcStatus *status)
{
    Mlx4Srq *srq = mlx4_srq_of_xrc(face, srqn);
    IbPull pull = srq ? mlx4_srq_next(opaque, srq, wr, status)
                      : IB_PULL_EMPTY;

    wr->id |= (uint64_t)srqn << 32;
    return pull;
}

static void mlx4_op_complete(void *opaque, void *face, const IbCompletion *wc)
{
    mlx4_cq_complete(opaque, face, wc);
}

static IbWcStatus mlx4_op_local_op(void *opaque, void *face,
                                   const IbSendWr *wr)
{
    Mlx4State *s = opaque;

    /* What was parsed last, and so this, is in s->wqe. */
    return mlx4_mpt_local_op(s, face, s->wqe,
                             ib_field_get(s->wqe, MLX4_WQE_UNITS) * 16);
}

static IbMemResult mlx4_op_invalidate(void *opaque, void *face, uint32_t rkey)
{
    return mlx4_mpt_invalidate(opaque, face, rkey, true);
}

static void mlx4_op_event(void *opaque, void *face, IbHcaEvent event)
{
    static const Mlx4EventType types[] = {
        [IB_EVENT_PATH_MIG] = MLX4_EVENT_PATH_MIG,
        [IB_EVENT_PATH_MIG_ERR] = MLX4_EVENT_PATH_MIG_FAIL,
        [IB_EVENT_COMM_EST] = MLX4_EVENT_COMM_EST,
        [IB_EVENT_SQ_DRAINED] = MLX4_EVENT_SQ_DRAINED,
        [IB_EVENT_QP_FATAL] = MLX4_EVENT_WQ_CATAS,
        [IB_EVENT_QP_REQ_ERR] = MLX4_EVENT_WQ_INVAL_REQ,
        [IB_EVENT_QP_ACCESS_ERR] = MLX4_EVENT_WQ_ACCESS,
        [IB_EVENT_QP_LAST_WQE_REACHED] = MLX4_EVENT_SRQ_LAST_WQE,
    };
    Mlx4Qp *qp = face;

    if (event == IB_EVENT_SQ_DRAINED && !qp->sqd_event) {
        return;
    }
    if (event == IB_EVENT_PATH_MIG) {
        mlx4_qp_migrated(qp);
    }
    mlx4_event_number(opaque, types[event], qp->qpn);
}

static void mlx4_op_state_moved(void *opaque, void *face, IbQpState state)
{
    mlx4_qp_state_moved(face, state);
}

/* ------------------------------------------------------------------- memory */

static IbMemResult mlx4_op_read(void *opaque, void *face, uint32_t key,
                                uint64_t va, uint32_t len, unsigned rights,
                                uint8_t *to)
{
    return mlx4_mem_read(opaque, face, key, va, len, rights, to);
}

static IbMemResult mlx4_op_write(void *opaque, void *face, uint32_t key,
                                 uint64_t va, uint32_t len, unsigned rights,
                                 const uint8_t *from)
{
    return mlx4_mem_write(opaque, face, key, va, len, rights, from);
}

static IbMemResult mlx4_op_check(void *opaque, void *face, uint32_t key,
                                 uint64_t va, uint64_t len, unsigned rights)
{
    return mlx4_mem_check(opaque, face, key, va, len, rights);
}

static IbMemResult mlx4_op_atomic(void *opaque, void *face, uint32_t key,
                                  uint64_t va, const IbSendWr *operands,
                                  uint64_t *old)
{
    return mlx4_mem_atomic(opaque, face, key, va, operands, old);
}

static void mlx4_op_multicast(void *opaque, uint8_t port,
                              const uint8_t dgid[16], bool own,
                              void (*visit)(void *arg, uint32_t qpn),
                              void *arg)
{
    Mlx4State *s = opaque;

    if (s->running) {
        mlx4_mcg_visit(s, dgid, own, visit, arg);
    }
}

/* The engine reports packets only while somebody looks. */
static void mlx4_sync_trace(Mlx4State *s)
{
    bool on = trace_event_get_state_backends(TRACE_MLX4_PACKET) ||
              trace_event_get_state_backends(TRACE_MLX4_DISCARD);

    if (on != s->traced) {
        s->traced = on;
        ib_hca_set_trace(s->hca, on);
    }
}

static void mlx4_op_batch_end(void *opaque)
{
    mlx4_irq_flush(opaque);
    mlx4_sync_trace(opaque);
}

const IbHcaOps mlx4_engine_ops = {
    .now = mlx4_op_now,
    .random = mlx4_op_random,
    .set_port_timer = mlx4_op_set_port_timer,
    .set_timer = mlx4_op_set_timer,
    .send_frame = mlx4_op_send_frame,
    .port_state_changed = mlx4_op_port_state_changed,
    .tap = mlx4_op_tap,
    .trace_packet = mlx4_op_trace_packet,
    .changed = mlx4_op_changed,
    .next_send = mlx4_op_next_send,
    .refetch_send = mlx4_op_refetch_send,
    .next_recv = mlx4_op_next_recv,
    .xrc_select = mlx4_op_xrc_select,
    .next_recv_xrc = mlx4_op_next_recv_xrc,
    .complete = mlx4_op_complete,
    .local_op = mlx4_op_local_op,
    .invalidate = mlx4_op_invalidate,
    .event = mlx4_op_event,
    .state_moved = mlx4_op_state_moved,
    .read = mlx4_op_read,
    .write = mlx4_op_write,
    .check = mlx4_op_check,
    .atomic = mlx4_op_atomic,
    .multicast = mlx4_op_multicast,
    .batch_end = mlx4_op_batch_end,
};
