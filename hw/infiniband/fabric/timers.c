/*
 * The timers of a fabric: a binary heap, each knows its place in it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fabric-int.h"

static void put(IbTimers *t, unsigned at, IbTimer *timer)
{
    t->heap->pdata[at] = timer;
    timer->place = at + 1;
}

static IbTimer *get(IbTimers *t, unsigned at)
{
    return t->heap->pdata[at];
}

static void settle(IbTimers *t, unsigned at, IbTimer *timer)
{
    unsigned child;

    while (at && get(t, (at - 1) / 2)->deadline > timer->deadline) {
        put(t, at, get(t, (at - 1) / 2));
        at = (at - 1) / 2;
    }
    while ((child = 2 * at + 1) < t->heap->len) {
        if (child + 1 < t->heap->len &&
            get(t, child + 1)->deadline < get(t, child)->deadline) {
            child++;
        }
        if (get(t, child)->deadline >= timer->deadline) {
            break;
        }
        put(t, at, get(t, child));
        at = child;
    }
    put(t, at, timer);
}

static void take_out(IbTimers *t, IbTimer *timer)
{
    unsigned at = timer->place - 1;
    IbTimer *last = get(t, t->heap->len - 1);

    timer->place = 0;
    g_ptr_array_set_size(t->heap, t->heap->len - 1);
    if (last != timer) {
        settle(t, at, last);
    }
}

void ib_timers_init(IbTimers *t)
{
    t->heap = g_ptr_array_new();
}

void ib_timers_clear(IbTimers *t)
{
    g_ptr_array_unref(t->heap);
}

void ib_timers_set(IbTimers *t, IbTimer *timer, int64_t deadline)
{
    if (deadline == INT64_MAX) {
        if (timer->place) {
            take_out(t, timer);
        }
        return;
    }
    timer->deadline = deadline;
    if (!timer->place) {
        g_ptr_array_add(t->heap, timer);
        timer->place = t->heap->len;
    }
    settle(t, timer->place - 1, timer);
}

int64_t ib_timers_next(IbTimers *t)
{
    return t->heap->len ? get(t, 0)->deadline : INT64_MAX;
}

IbTimer *ib_timers_pop(IbTimers *t, int64_t now)
{
    IbTimer *timer;

    if (ib_timers_next(t) > now) {
        return NULL;
    }
    timer = get(t, 0);
    take_out(t, timer);
    return timer;
}
