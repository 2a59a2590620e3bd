/*
 * Whose turn it is: the ready list and the waiting lists of the ports
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A QP is on one list at most.  The ready list is served round robin, a turn
 * of IB_QP_TURN packets each; a QP that its port turned away leaves it for the
 * port's waiting list and comes back, in order, when the port has room.
 */
#include "hca-internal.h"

void ib_qp_list_append(IbQpList *list, IbQp *qp)
{
    qp->list = list;
    qp->next = NULL;
    qp->prev = list->tail;
    if (list->tail) {
        list->tail->next = qp;
    } else {
        list->head = qp;
    }
    list->tail = qp;
}

void ib_qp_list_remove(IbQp *qp)
{
    IbQpList *list = qp->list;

    if (!list) {
        return;
    }
    if (qp->prev) {
        qp->prev->next = qp->next;
    } else {
        list->head = qp->next;
    }
    if (qp->next) {
        qp->next->prev = qp->prev;
    } else {
        list->tail = qp->prev;
    }
    qp->list = NULL;
    qp->prev = qp->next = NULL;
}

void ib_qp_ready(IbQp *qp)
{
    if (!qp->list) {
        ib_qp_list_append(&qp->hca->ready, qp);
    }
}

void ib_qp_wait(IbQp *qp, uint8_t vl)
{
    ib_qp_list_remove(qp);
    qp->wait_vl = vl;
    ib_qp_list_append(&qp->port->waiting, qp);
}

void ib_port_wake(IbHcaPort *port, uint16_t vls)
{
    IbQp *qp, *next;

    for (qp = port->waiting.head; qp; qp = next) {
        next = qp->next;
        if (vls & (1u << qp->wait_vl)) {
            ib_qp_list_remove(qp);
            ib_qp_list_append(&port->hca->ready, qp);
        }
    }
}

void ib_hca_run(IbHca *hca)
{
    IbQp *qp;

    for (;;) {
        ib_hca_receive_late(hca);
        ib_loop_drain(hca);
        qp = hca->ready.head;
        if (!qp || !hca->budget) {
            return;
        }
        hca->budget--;
        ib_qp_list_remove(qp);
        hca->busy = true;
        if (!ib_qp_run(qp)) {
            ib_qp_ready(qp);
        }
        hca->busy = false;
    }
}
