/*
 * MADs between the fabric and programs of this host
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * libumad2sim.so hands over what a program writes to its umad device, and puts
 * the number of the program's agent into bits 47:32 of the TransactionID.  Bits
 * 63:48 are this file's: who asked.  As the kernel does, it asks again what is
 * not answered, and gives back with a status what never is.  RMPP is up to the
 * programs: tools/umad, an own client, does it, libumad2sim.so has no more than
 * the first MAD of an answer.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE               /* recvmmsg() */
#endif
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include "host-int.h"

#define TID_TOP_SHIFT    48
#define TID_LOW          ((UINT64_C(1) << TID_TOP_SHIFT) - 1)
#define TID_AGENT        (UINT64_C(0xffff) << 32)

#define SMP_TIMEOUT_NS   INT64_C(200000000)
#define GMP_TIMEOUT_NS   INT64_C(1000000000)
#define RETRIES          3
#define NS_PER_MS        INT64_C(1000000)
#define STATUS_TIMEOUT   110      /* ETIMEDOUT, as the kernel gives */
#define PENDING_MAX      65536
#define BATCH            8        /* MADs of one program at a time */

typedef struct Pending {
    uint64_t tid;                 /* TID_LOW of it; the key */
    int64_t deadline;
    unsigned tries;               /* that are left */
    int64_t wait;                 /* ns, of each try */
    uint16_t tid_top;
    IbFabricMad mad;
} Pending;

static uint64_t get_tid(const uint8_t *mad)
{
    return ib_get_be64(mad + 8);
}

static void set_tid(uint8_t *mad, uint64_t tid)
{
    ib_put_be64(mad + 8, tid);
}

static unsigned get_class(const uint8_t *mad)
{
    return ib_field_get(mad, IB_MAD_MGMT_CLASS);
}

static bool is_response(const uint8_t *mad)
{
    return ib_field_get(mad, IB_MAD_METHOD) & IB_METHOD_RESPONSE;
}

static bool wants_answer(const uint8_t *mad)
{
    unsigned method = ib_field_get(mad, IB_MAD_METHOD);

    return !(method & IB_METHOD_RESPONSE) && method != IB_METHOD_SEND &&
           method != IB_METHOD_TRAP && method != IB_METHOD_TRAP_REPRESS;
}

/* A MAD of an RMPP message that is not its first segment. */
static bool is_later_rmpp(const uint8_t *mad)
{
    return ib_mad_is_rmpp(mad) &&
           (ib_field_get(mad, IB_RMPP_TYPE) != IB_RMPP_TYPE_DATA ||
            ib_field_get(mad, IB_RMPP_SEGMENT_NUMBER) != 1);
}

/* ------------------------------------------------------- to the program */

static bool send_now(IbHostClient *c, const IbHostRequest *r)
{
    if (send(c->source.fd, r, sizeof(*r), MSG_DONTWAIT) >= 0) {
        return true;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) {
        return false;
    }
    c->dead = c->dead || errno == ECONNREFUSED || errno == ENOTCONN;
    return true;
}

static void send_later(IbHostClient *c, const IbHostRequest *r)
{
    IbHostRequest *copy;

    if (g_queue_get_length(&c->queue) >= IB_HOST_QUEUE_MAX) {
        return;
    }
    copy = g_new(IbHostRequest, 1);
    *copy = *r;
    g_queue_push_tail(&c->queue, copy);
    if (!c->waits) {
        c->waits = ib_host_watch(c->host, &c->source, EPOLLIN | EPOLLOUT);
    }
}

static void send_mad(IbHostClient *c, const IbFabricMad *mad, uint64_t tid,
                     uint32_t status)
{
    IbHostRequest r = {
        .dlid = GUINT16_TO_BE(mad->dlid),
        .slid = GUINT16_TO_BE(mad->slid),
        .dqp = GUINT32_TO_BE(mad->dest_qpn),
        .sqp = GUINT32_TO_BE(mad->src_qpn),
        .status = GUINT32_TO_BE(status),
        .length = GUINT64_TO_BE(IB_MAD_BYTES),
    };

    memcpy(r.mad, mad->data, IB_MAD_BYTES);
    set_tid(r.mad, tid);
    if (!g_queue_is_empty(&c->queue) || !send_now(c, &r)) {
        send_later(c, &r);
    }
}

void ib_host_client_flush(IbHostClient *c)
{
    IbHostRequest *r;

    while ((r = g_queue_peek_head(&c->queue))) {
        if (!send_now(c, r)) {
            return;
        }
        g_free(g_queue_pop_head(&c->queue));
    }
    if (c->waits) {
        c->waits = false;
        ib_host_watch(c->host, &c->source, EPOLLIN);
    }
}

static bool has_class(const IbHostClient *c, unsigned class)
{
    return c->classes[class / 32] & (1u << class % 32);
}

static bool methods_match(const IbHostMethods *m, const uint8_t *mad)
{
    unsigned method = ib_field_get(mad, IB_MAD_METHOD);

    return m->mgmt_class == get_class(mad) &&
           m->methods[method / 64] & UINT64_C(1) << method % 64 &&
           (!ib_mad_has_oui(m->mgmt_class) ||
            !memcmp(m->oui, mad + IB_VENDOR2_OUI_OFFSET, sizeof(m->oui)));
}

static bool methods_overlap(const IbHostMethods *a, const IbHostMethods *b)
{
    return a->mgmt_class == b->mgmt_class &&
           (a->methods[0] & b->methods[0] || a->methods[1] & b->methods[1]) &&
           (!ib_mad_has_oui(a->mgmt_class) ||
            !memcmp(a->oui, b->oui, sizeof(a->oui)));
}

static bool has_methods(const IbHostClient *c, const IbHostMethods *methods)
{
    unsigned i;

    for (i = 0; i < c->num_methods; i++) {
        if (methods_overlap(&c->methods[i], methods)) {
            return true;
        }
    }
    return false;
}

bool ib_host_set_methods(IbHostClient *c, const IbHostMethods *methods)
{
    unsigned i;

    if (!methods->on) {
        for (i = 0; i < c->num_methods; i++) {
            const IbHostMethods *m = &c->methods[i];

            if (methods_overlap(m, methods) &&
                !memcmp(m->methods, methods->methods, sizeof(m->methods))) {
                c->methods[i] = c->methods[--c->num_methods];
                break;
            }
        }
        return true;
    }
    for (i = 0; i < IB_HOST_CLIENTS; i++) {
        const IbHostClient *o = c->host->clients[i];

        if (o && o->node == c->node && o->port == c->port &&
            has_methods(o, methods)) {
            return false;
        }
    }
    if (c->num_methods == IB_HOST_METHODS) {
        return false;
    }
    c->methods[c->num_methods++] = *methods;
    return true;
}

/*
 * Whose is a request?  An own client's, if it has said so.  Of others, the
 * SM's, if it is of a class that an SM serves; a Report is for whoever asked
 * the SA something.  libumad2sim.so does not survive a MAD of a class that its
 * program has not registered.
 */
static bool takes_request(const IbHostClient *c, const uint8_t *mad)
{
    unsigned class = get_class(mad);
    unsigned i;

    if (c->own) {
        for (i = 0; i < c->num_methods; i++) {
            if (methods_match(&c->methods[i], mad)) {
                return true;
            }
        }
        return false;
    }
    if (ib_field_get(mad, IB_MAD_METHOD) == IB_METHOD_REPORT) {
        return class == IB_CLASS_SUBN_ADM && !c->issm && has_class(c, class);
    }
    return c->issm && (ib_mad_is_smp(mad) || class == IB_CLASS_SUBN_ADM);
}

static IbHostClient *find_client(IbFabricHost *host, const IbFabricMad *mad)
{
    bool response = is_response(mad->data);
    unsigned id = (get_tid(mad->data) >> TID_TOP_SHIFT) - 1;
    unsigned i;

    for (i = response ? id : 0; i < IB_HOST_CLIENTS; i++) {
        IbHostClient *c = host->clients[i];

        if (c && c->node == mad->node && c->port == mad->port &&
            (response || takes_request(c, mad->data))) {
            return c;
        }
        if (response) {
            return NULL;
        }
    }
    return NULL;
}

bool ib_host_mad_receive(void *opaque, const IbFabricMad *mad)
{
    IbFabricHost *host = opaque;
    IbHostClient *c = find_client(host, mad);
    uint64_t tid = get_tid(mad->data);
    uint16_t top;
    Pending *pending;

    if (!c || c->dead) {
        return false;
    }
    if (!is_response(mad->data)) {
        if (ib_field_get(mad->data, IB_MAD_METHOD) == IB_METHOD_TRAP) {
            c->traps[c->trap_count++ % IB_HOST_TRAPS] = tid;
        }
        host->given = true;
        send_mad(c, mad, tid, 0);
        return true;
    }
    tid &= TID_LOW;
    if (c->own && is_later_rmpp(mad->data)) {
        send_mad(c, mad, tid, 0);
        return true;
    }
    top = c->tid_top;
    if (c->asked == tid && !c->answered) {
        c->answered = true;
    } else {
        pending = g_hash_table_lookup(c->pending, &tid);
        if (!pending) {
            /* A second answer, of RMPP one whose ACK was lost. */
            if (c->own && ib_mad_is_rmpp(mad->data)) {
                send_mad(c, mad, tid, 0);
            }
            return true;
        }
        top = pending->tid_top;
        g_hash_table_remove(c->pending, &tid);
    }
    send_mad(c, mad, tid | (uint64_t)top << TID_TOP_SHIFT, 0);
    return true;
}

/* ----------------------------------------------------- from the program */

/*
 * A TrapRepress has to have its trap's TransactionID, in which libumad2sim.so
 * has put its own bits.
 */
static uint64_t trap_tid(const IbHostClient *c, uint64_t tid)
{
    unsigned i;

    for (i = 0; i < IB_HOST_TRAPS; i++) {
        if (!((c->traps[i] ^ tid) & ~TID_AGENT)) {
            return c->traps[i];
        }
    }
    return tid;
}

/* How long a request waits for its answer. */
typedef struct Timeout {
    int64_t wait;                 /* ns, of each try */
    unsigned retries;
} Timeout;

static void set_own_tid(const IbHostClient *c, IbFabricMad *mad)
{
    set_tid(mad->data, (get_tid(mad->data) & TID_LOW) |
                       (uint64_t)(c->id + 1) << TID_TOP_SHIFT);
}

static Timeout get_timeout(const IbHostClient *c, const IbHostRequest *r,
                           const IbFabricMad *mad)
{
    if (c->own) {
        return (Timeout) {
            .wait = GUINT32_FROM_BE(r->slid) * NS_PER_MS,
            .retries = GUINT32_FROM_BE(r->status),
        };
    }
    return (Timeout) {
        .wait = mad->dest_qpn ? GMP_TIMEOUT_NS : SMP_TIMEOUT_NS,
        .retries = RETRIES,
    };
}

static void add_pending(IbHostClient *c, const IbFabricMad *mad,
                        const Timeout *timeout)
{
    IbFabricHost *host = c->host;
    Pending *pending;

    if (g_hash_table_size(c->pending) >= PENDING_MAX) {
        return;
    }
    pending = g_new(Pending, 1);
    pending->tid = get_tid(mad->data) & TID_LOW;
    pending->tries = timeout->retries;
    pending->wait = timeout->wait;
    pending->tid_top = c->tid_top;
    pending->mad = *mad;
    pending->deadline = ib_fabric_now(host->fabric) + pending->wait;
    g_hash_table_replace(c->pending, &pending->tid, pending);
    host->next_timeout = MIN(host->next_timeout, pending->deadline);
}

static void ask(IbHostClient *c, IbFabricMad *mad, const Timeout *timeout)
{
    IbFabricHost *host = c->host;
    uint64_t tid = get_tid(mad->data);

    if (!timeout->wait) {
        /* No answer is waited for: one would be taken for a second one. */
        set_own_tid(c, mad);
        ib_fabric_send(host->fabric, mad);
        ib_fabric_run(host->fabric);
        return;
    }
    c->tid_top = tid >> TID_TOP_SHIFT;
    tid &= TID_LOW;
    set_own_tid(c, mad);
    c->asked = tid;
    c->answered = false;
    host->given = false;
    ib_fabric_send(host->fabric, mad);
    ib_fabric_run(host->fabric);
    if (!c->answered) {
        if (!host->given && ib_fabric_is_prompt(host->fabric)) {
            send_mad(c, mad, tid | (uint64_t)c->tid_top << TID_TOP_SHIFT,
                     STATUS_TIMEOUT);
        } else {
            add_pending(c, mad, timeout);
        }
    }
    c->answered = true;           /* another answer would be a second one */
}

static void send_request(IbHostClient *c, const IbHostRequest *r)
{
    IbFabricMad mad = {
        .node = c->node,
        .port = c->port,
        .dlid = GUINT16_FROM_BE(r->dlid),
        .dest_qpn = GUINT32_FROM_BE(r->dqp) & IB_QPN_MASK,
        .src_qpn = GUINT32_FROM_BE(r->sqp) & IB_QPN_MASK,
    };
    unsigned class = get_class(r->mad);
    Timeout timeout;

    memcpy(mad.data, r->mad, IB_MAD_BYTES);
    if (ib_mad_is_smp(mad.data)) {
        mad.dest_qpn = mad.src_qpn = IB_QPN_SMI;
    } else if (mad.dest_qpn == IB_QPN_SMI) {
        return;
    }
    c->classes[class / 32] |= 1u << class % 32;
    if (c->own && is_later_rmpp(mad.data)) {
        if (!is_response(mad.data)) {
            set_own_tid(c, &mad);
        }
    } else if (wants_answer(mad.data)) {
        timeout = get_timeout(c, r, &mad);
        ask(c, &mad, &timeout);
        return;
    }
    if (ib_field_get(mad.data, IB_MAD_METHOD) == IB_METHOD_TRAP_REPRESS) {
        set_tid(mad.data, trap_tid(c, get_tid(mad.data)));
    }
    ib_fabric_send(c->host->fabric, &mad);
    ib_fabric_run(c->host->fabric);
}

void ib_host_client_read(IbHostClient *c)
{
    IbHostRequest requests[BATCH];
    struct iovec vectors[BATCH];
    struct mmsghdr messages[BATCH] = { 0 };
    int i, got;

    for (i = 0; i < BATCH; i++) {
        vectors[i].iov_base = &requests[i];
        vectors[i].iov_len = sizeof(requests[i]);
        messages[i].msg_hdr.msg_iov = &vectors[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    /* What is left, epoll tells again, after the others. */
    got = recvmmsg(c->source.fd, messages, BATCH, MSG_DONTWAIT, NULL);
    if (got < 0) {
        c->dead = c->dead || errno == ECONNREFUSED;
    }
    for (i = 0; i < got; i++) {
        if (messages[i].msg_len == sizeof(requests[i]) &&
            !(messages[i].msg_hdr.msg_flags & MSG_TRUNC)) {
            send_request(c, &requests[i]);
        }
    }
}

int64_t ib_host_timeouts(IbHostClient *c, int64_t now)
{
    g_autoptr(GPtrArray) due = g_ptr_array_new();
    int64_t next = INT64_MAX;
    GHashTableIter iter;
    gpointer value;
    unsigned i;

    g_hash_table_iter_init(&iter, c->pending);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        Pending *pending = value;

        if (pending->deadline > now) {
            next = MIN(next, pending->deadline);
        } else {
            g_ptr_array_add(due, pending);
        }
    }
    for (i = 0; i < due->len; i++) {
        Pending *pending = due->pdata[i];
        IbFabricMad mad = pending->mad;

        if (!pending->tries--) {
            send_mad(c, &mad, pending->tid |
                     (uint64_t)pending->tid_top << TID_TOP_SHIFT,
                     STATUS_TIMEOUT);
            g_hash_table_remove(c->pending, &pending->tid);
            continue;
        }
        pending->deadline = now + pending->wait;
        next = MIN(next, pending->deadline);
        /* The answer goes once the loop is through: the list stays valid. */
        ib_fabric_send(c->host->fabric, &mad);
    }
    return next;
}

void ib_host_client_init(IbHostClient *c)
{
    g_queue_init(&c->queue);
    c->answered = true;
    c->pending = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL,
                                       g_free);
}

void ib_host_client_clear(IbHostClient *c)
{
    g_queue_clear_full(&c->queue, g_free);
    g_hash_table_unref(c->pending);
}
