/*
 * One timer of the host for all timers of the adapter
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each QP has one deadline, the earlier of its timer's and the end of its wait
 * on the paced list, kept in a binary heap that knows each QP's place.
 * A deadline that moves later (each ACK does that) stays where it is in the
 * heap until it comes up and is sorted in anew then, so that the packet path
 * does not pay for it.
 */
#include "hca-internal.h"

static int64_t ib_heap_key(const IbHca *hca, unsigned i)
{
    return hca->heap[i]->heap_deadline;
}

static void ib_heap_place(IbHca *hca, unsigned i, IbQp *qp)
{
    hca->heap[i] = qp;
    qp->heap_index = i;
}

static void ib_heap_up(IbHca *hca, unsigned i)
{
    IbQp *qp = hca->heap[i];

    while (i > 0 && ib_heap_key(hca, (i - 1) / 2) > qp->heap_deadline) {
        ib_heap_place(hca, i, hca->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    ib_heap_place(hca, i, qp);
}

static void ib_heap_down(IbHca *hca, unsigned i)
{
    IbQp *qp = hca->heap[i];
    unsigned child;

    while ((child = 2 * i + 1) < hca->heap_used) {
        if (child + 1 < hca->heap_used &&
            ib_heap_key(hca, child + 1) < ib_heap_key(hca, child)) {
            child++;
        }
        if (ib_heap_key(hca, child) >= qp->heap_deadline) {
            break;
        }
        ib_heap_place(hca, i, hca->heap[child]);
        i = child;
    }
    ib_heap_place(hca, i, qp);
}

static void ib_heap_remove(IbQp *qp)
{
    IbHca *hca = qp->hca;
    unsigned i = qp->heap_index;
    IbQp *last = hca->heap[--hca->heap_used];

    qp->heap_index = -1;
    if (last != qp) {
        ib_heap_place(hca, i, last);
        ib_heap_up(hca, i);
        ib_heap_down(hca, last->heap_index);
    }
}

/* The earlier of its times has changed. */
static void ib_heap_update(IbQp *qp)
{
    IbHca *hca = qp->hca;
    int64_t deadline = MIN(qp->deadline, qp->wake);

    if (qp->heap_index >= 0) {
        if (deadline < qp->heap_deadline) {
            qp->heap_deadline = deadline;
            ib_heap_up(hca, qp->heap_index);
        }
        return;
    }
    if (deadline == INT64_MAX) {
        return;
    }
    if (hca->heap_used == hca->heap_size) {
        hca->heap_size = MAX(16, 2 * hca->heap_size);
        hca->heap = g_renew(IbQp *, hca->heap, hca->heap_size);
    }
    qp->heap_deadline = deadline;
    ib_heap_place(hca, hca->heap_used++, qp);
    ib_heap_up(hca, qp->heap_index);
}

void ib_qp_set_deadline(IbQp *qp, int64_t deadline)
{
    qp->deadline = deadline;
    ib_heap_update(qp);
}

void ib_qp_set_wake(IbQp *qp, int64_t wake)
{
    qp->wake = wake;
    ib_heap_update(qp);
}

void ib_qp_forget_timer(IbQp *qp)
{
    qp->deadline = qp->wake = INT64_MAX;
    if (qp->heap_index >= 0) {
        ib_heap_remove(qp);
    }
}

void ib_hca_expire(IbHca *hca, int64_t now, void (*expired)(IbQp *qp))
{
    IbQp *qp;

    while (hca->heap_used && ib_heap_key(hca, 0) <= now) {
        qp = hca->heap[0];
        ib_heap_remove(qp);
        if (qp->wake <= now) {
            qp->wake = INT64_MAX;
            if (qp->list == &hca->paced) {
                ib_qp_list_remove(qp);
                ib_qp_ready(qp);
            }
        }
        if (qp->deadline > now) {
            ib_heap_update(qp);
        } else {
            qp->deadline = INT64_MAX;
            ib_heap_update(qp);
            expired(qp);
        }
    }
}

void ib_hca_rearm(IbHca *hca)
{
    int64_t deadline = MIN(hca->node_deadline, hca->kick_deadline);

    if (hca->heap_used) {
        deadline = MIN(deadline, ib_heap_key(hca, 0));
    }
    if (deadline != hca->armed) {
        hca->armed = deadline;
        hca->ops->set_timer(hca->opaque, deadline);
    }
}
