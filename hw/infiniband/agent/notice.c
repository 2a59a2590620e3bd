/*
 * The queue of notices: what a manager may ask for instead of being told
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IBA Vol.1 13.4.10: Get(Notice) shows the oldest of an end port, with the
 * number of those that wait; a Set(Notice) that has its NoticeToggle takes it
 * out, and shows the next, whose toggle is the other one.  An empty queue
 * shows Type 7F.  Of an end port without IsNoticeSupported there is none.
 * What finds the queue full takes the place of the oldest; the toggle turns
 * then, too, so that a Set meant for that one does nothing.  What is the same
 * as the newest (a storm of bad keys) is not put there again.
 */
#include "agent-int.h"

#define NOTICES     16

struct IbNoticeQueue {
    uint8_t first, count;
    uint8_t toggle;               /* of the first */
    uint8_t notice[NOTICES][IB_NOTICE_BYTES];
};

bool ib_notice_supported(const IbNode *node, uint8_t num)
{
    return node->ports[num].capability_mask & IB_CAP_IS_NOTICE_SUPPORTED;
}

void ib_notice_free(IbAgentPort *port)
{
    g_free(port->notices);
    port->notices = NULL;
}

static uint8_t *notice_at(IbNoticeQueue *q, unsigned n)
{
    return q->notice[(q->first + n) % NOTICES];
}

static void notice_drop(IbNoticeQueue *q)
{
    q->first = (q->first + 1) % NOTICES;
    q->count--;
    q->toggle ^= 1;
}

void ib_notice_add(IbNode *node, uint8_t num,
                   const uint8_t notice[IB_NOTICE_BYTES])
{
    IbAgentPort *port = &node->ports[num];
    uint8_t told[IB_NOTICE_BYTES];
    IbNoticeQueue *q;

    if (!ib_notice_supported(node, num)) {
        return;
    }
    if (!port->notices) {
        port->notices = g_new0(IbNoticeQueue, 1);
    }
    q = port->notices;
    memcpy(told, notice, IB_NOTICE_BYTES);
    ib_field_set(told, IB_NOTICE_ISSUER_LID, port->lid);
    if (q->count && !memcmp(told, notice_at(q, q->count - 1),
                            IB_NOTICE_BYTES)) {
        return;
    }
    if (q->count == NOTICES) {
        notice_drop(q);
    }
    memcpy(notice_at(q, q->count++), told, IB_NOTICE_BYTES);
}

IbSmaStatus ib_sma_get_notice(IbNode *node, uint8_t in_port,
                              uint32_t modifier, uint8_t *data, void *opaque)
{
    uint8_t num = ib_node_end_port(node, in_port);
    const IbNoticeQueue *q = node->ports[num].notices;

    if (!ib_notice_supported(node, num)) {
        return IB_MAD_STATUS_BAD_METHOD_ATTR;
    }
    if (q && q->count) {
        memcpy(data, q->notice[q->first], IB_NOTICE_BYTES);
        ib_field_set(data, IB_NOTICE_COUNT, q->count);
    } else {
        ib_field_set(data, IB_NOTICE_IS_GENERIC, 1);
        ib_field_set(data, IB_NOTICE_TYPE, IB_NOTICE_TYPE_EMPTY);
        ib_field_set(data, IB_NOTICE_PRODUCER_TYPE, node->config.node_type);
    }
    ib_field_set(data, IB_NOTICE_TOGGLE, q ? q->toggle : 0);
    return 0;
}

IbSmaStatus ib_sma_set_notice(IbNode *node, uint8_t in_port,
                              uint32_t modifier, uint8_t *data, void *opaque)
{
    uint8_t num = ib_node_end_port(node, in_port);
    IbNoticeQueue *q = node->ports[num].notices;

    if (!ib_notice_supported(node, num)) {
        return IB_MAD_STATUS_BAD_METHOD_ATTR;
    }
    if (q && q->count && ib_field_get(data, IB_NOTICE_TOGGLE) == q->toggle) {
        notice_drop(q);
    }
    return 0;
}

void ib_notice_save(const IbAgentPort *port, IbStateWriter *w)
{
    const IbNoticeQueue *q = port->notices;
    unsigned i;

    ib_state_put8(w, q != NULL);
    if (!q) {
        return;
    }
    ib_state_put8(w, q->toggle);
    ib_state_put8(w, q->count);
    for (i = 0; i < q->count; i++) {
        ib_state_put_bytes(w, q->notice[(q->first + i) % NOTICES],
                           IB_NOTICE_BYTES);
    }
}

void ib_notice_load(IbNode *node, uint8_t num, IbStateReader *r)
{
    IbAgentPort *port = &node->ports[num];
    IbNoticeQueue *q;
    unsigned i;

    ib_notice_free(port);
    if (!ib_state_get8(r)) {
        return;
    }
    q = port->notices = g_new0(IbNoticeQueue, 1);
    q->toggle = ib_state_get8(r);
    q->count = ib_state_get8(r);
    if (q->toggle > 1 || q->count > NOTICES) {
        q->toggle = q->count = 0;
        ib_state_fail(r);
    }
    for (i = 0; i < q->count; i++) {
        ib_state_get_bytes(r, q->notice[i], IB_NOTICE_BYTES);
    }
}
