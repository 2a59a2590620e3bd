/*
 * libibumad's functions: ports, agents and MADs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the kernel's user_mad.c and mad.c do for a program: a request's
 * TransactionID says in bits 47:32 which agent sent it (bits 63:48 are the
 * fabric's), RMPP is done here unless the agent does it itself.  What nobody
 * answers, the fabric gives back when the program's timeout is over.
 */
#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include "hw/infiniband/ib-packet.h"
#include "rmpp.h"
#include "umad-int.h"

#define MAX_FD        65536
#define HEADER        sizeof(ib_user_mad_t)
#define TID_SHIFT     32
#define TID_LOW       UINT64_C(0xffffffff)
#define TICK_US       (2 * G_USEC_PER_SEC)      /* an ACK that is late */
#define REMEMBER_US   (10 * G_USEC_PER_SEC)     /* messages that are whole */
#define REMEMBER_MAX  32
#define STATUS_ETIMEDOUT 110      /* the kernel's, on every architecture */

typedef struct Agent {
    bool used, rmpp;
    IbHostMethods methods;
} Agent;

/* Who an RMPP message goes to or comes from. */
typedef struct Peer {
    uint64_t tid;
    uint32_t lid, qpn;            /* as in IbHostRequest */
} Peer;

typedef struct Sending {
    Peer peer;
    uint32_t sqp;
    int64_t deadline;
    UmadRmppSend rmpp;
} Sending;

typedef struct Receiving {
    Peer peer;
    int agent;
    int64_t deadline;
    UmadRmppReceive rmpp;
} Receiving;

typedef struct Port {
    UmadClient client;
    GMutex lock;                  /* of all below */
    Agent agents[UMAD_CA_MAX_AGENTS];
    GQueue ready;                 /* GByteArray, ib_user_mad_t in front */
    GQueue sending, receiving;
    int num_rmpp;                 /* of both; read without the lock */
    int64_t next_tick;
} Port;

static Port *ports[MAX_FD];

/* A thread that is cancelled here would leave the port locked. */
static void lock_port(Port *port, int *cancel)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, cancel);
    g_mutex_lock(&port->lock);
}

static void unlock_port(Port *port, const int *cancel)
{
    g_mutex_unlock(&port->lock);
    pthread_setcancelstate(*cancel, NULL);
}

static Port *find_port(int fd)
{
    return fd >= 0 && fd < MAX_FD ? ports[fd] : NULL;
}

static int fail(int error)
{
    errno = error;
    return -error;
}

/* -------------------------------------- a umad, in the newer of its forms */

UMAD_EXPORT size_t umad_size(void)
{
    return HEADER;
}

UMAD_EXPORT void *umad_get_mad(void *umad)
{
    return ((ib_user_mad_t *)umad)->data;
}

UMAD_EXPORT int umad_set_pkey(void *umad, int pkey_index)
{
    ((ib_user_mad_t *)umad)->addr.pkey_index = pkey_index;
    return 0;
}

UMAD_EXPORT int umad_get_pkey(void *umad)
{
    return ((ib_user_mad_t *)umad)->addr.pkey_index;
}

static uint64_t get_tid(const uint8_t *mad)
{
    return ib_get_be64(mad + IB_MAD_TRANSACTION_ID_OFFSET);
}

static void put_tid(uint8_t *mad, uint64_t tid)
{
    ib_put_be64(mad + IB_MAD_TRANSACTION_ID_OFFSET, tid);
}

/* Does it keep the TransactionID of what it answers? */
static bool is_answer(const uint8_t *mad)
{
    return ib_field_get(mad, IB_MAD_R) ||
           ib_field_get(mad, IB_MAD_METHOD) == IB_METHOD_TRAP_REPRESS;
}

static bool same_peer(const Peer *a, const Peer *b)
{
    return a->tid == b->tid && a->lid == b->lid && a->qpn == b->qpn;
}

/* --------------------------------------------------------------- the port */

UMAD_EXPORT int umad_open_port(const char *ca_name, int portnum)
{
    Port *port;
    int ret;

    if (!umad_is_port(ca_name, portnum)) {
        return -ENODEV;
    }
    port = g_new0(Port, 1);
    ret = umad_client_open(&port->client);
    if (!ret && port->client.fd >= MAX_FD) {
        umad_client_close(&port->client);
        ret = -EMFILE;
    }
    if (ret) {
        g_free(port);
        return ret;
    }
    g_mutex_init(&port->lock);
    port->next_tick = INT64_MAX;
    ports[port->client.fd] = port;
    return port->client.fd;
}

static void free_sending(gpointer data)
{
    Sending *s = data;

    umad_rmpp_send_clear(&s->rmpp);
    g_free(s);
}

static void free_receiving(gpointer data)
{
    Receiving *r = data;

    umad_rmpp_receive_clear(&r->rmpp);
    g_free(r);
}

UMAD_EXPORT int umad_close_port(int fd)
{
    Port *port = find_port(fd);

    if (!port) {
        return fail(EINVAL);
    }
    ports[fd] = NULL;
    umad_client_close(&port->client);
    g_queue_clear_full(&port->ready, (GDestroyNotify)g_byte_array_unref);
    g_queue_clear_full(&port->sending, free_sending);
    g_queue_clear_full(&port->receiving, free_receiving);
    g_mutex_clear(&port->lock);
    g_free(port);
    return 0;
}

UMAD_EXPORT int umad_get_fd(int fd)
{
    return fd;
}

/* --------------------------------------------------------------- agents */

static bool has_methods(const IbHostMethods *methods)
{
    return methods->methods[0] || methods->methods[1];
}

/* The agent's number, or -errno. */
static int add_agent(int fd, const IbHostMethods *methods, bool rmpp)
{
    Port *port = find_port(fd);
    int id, ret = 0, cancel;

    if (!port) {
        return -EINVAL;
    }
    lock_port(port, &cancel);
    id = 0;
    while (id < UMAD_CA_MAX_AGENTS && port->agents[id].used) {
        id++;
    }
    if (id == UMAD_CA_MAX_AGENTS) {
        ret = -ENOMEM;
    } else if (has_methods(methods)) {
        ret = umad_client_ask(&port->client, IB_HOST_CTL_SET_METHODS,
                              methods, sizeof(*methods), NULL);
    }
    if (!ret) {
        port->agents[id] = (Agent) { true, rmpp, *methods };
    }
    unlock_port(port, &cancel);
    return ret ? ret : id;
}

static int register_agent(int fd, int mgmt_class, uint8_t rmpp_version,
                          const uint8_t *oui, const long *method_mask)
{
    IbHostMethods methods = { .mgmt_class = mgmt_class, .on = 1 };
    int ret;

    if (oui) {
        memcpy(methods.oui, oui, sizeof(methods.oui));
    }
    if (method_mask) {
        memcpy(methods.methods, method_mask, sizeof(methods.methods));
    }
    if (mgmt_class < 0 || mgmt_class > UINT8_MAX || rmpp_version > 1) {
        return fail(EINVAL);
    }
    ret = add_agent(fd, &methods, rmpp_version == 1);
    return ret < 0 ? fail(EPERM) : ret;
}

UMAD_EXPORT int umad_register(int portid, int mgmt_class, int mgmt_version,
                              uint8_t rmpp_version,
                              long method_mask[16 / sizeof(long)])
{
    static const uint8_t openib[3] = { 0x00, 0x14, 0x05 };
    const uint8_t *oui = ib_mad_has_oui(mgmt_class) ? openib : NULL;

    return register_agent(portid, mgmt_class, rmpp_version, oui,
                          method_mask);
}

UMAD_EXPORT int umad_register_oui(int portid, int mgmt_class,
                                  uint8_t rmpp_version, uint8_t oui[3],
                                  long method_mask[16 / sizeof(long)])
{
    if (!ib_mad_has_oui(mgmt_class)) {
        return fail(EINVAL);
    }
    return register_agent(portid, mgmt_class, rmpp_version, oui,
                          method_mask);
}

UMAD_EXPORT int umad_register2(int port_fd, struct umad_reg_attr *attr,
                               uint32_t *agent_id)
{
    IbHostMethods methods = {
        .mgmt_class = attr->mgmt_class,
        .on = 1,
        .methods = { attr->method_mask[0], attr->method_mask[1] },
        .oui = { attr->oui >> 16, attr->oui >> 8, attr->oui },
    };
    int ret;

    if (attr->flags & ~(uint32_t)UMAD_USER_RMPP) {
        attr->flags = UMAD_USER_RMPP;         /* what there is */
        ret = -EINVAL;
    } else {
        ret = add_agent(port_fd, &methods, attr->rmpp_version &&
                                           !(attr->flags & UMAD_USER_RMPP));
    }
    if (ret >= 0) {
        *agent_id = ret;
    }
    return MAX(0, -ret);
}

UMAD_EXPORT int umad_unregister(int portid, int agentid)
{
    Port *port = find_port(portid);
    Agent *agent;
    int cancel;

    if (!port || agentid < 0 || agentid >= UMAD_CA_MAX_AGENTS ||
        !port->agents[agentid].used) {
        return fail(EINVAL);
    }
    agent = &port->agents[agentid];
    lock_port(port, &cancel);
    if (has_methods(&agent->methods)) {
        agent->methods.on = 0;
        umad_client_ask(&port->client, IB_HOST_CTL_SET_METHODS,
                        &agent->methods, sizeof(agent->methods), NULL);
    }
    agent->used = false;
    unlock_port(port, &cancel);
    return 0;
}

/* Whose is a MAD that came?  -1: nobody's. */
static int find_agent(const Port *port, const uint8_t *mad)
{
    unsigned mgmt_class = ib_field_get(mad, IB_MAD_MGMT_CLASS);
    unsigned method = ib_field_get(mad, IB_MAD_METHOD);
    uint64_t id = (get_tid(mad) >> TID_SHIFT) - 1;
    int i;

    if (method & IB_METHOD_RESPONSE) {
        return id < UMAD_CA_MAX_AGENTS && port->agents[id].used ? (int)id
                                                                : -1;
    }
    for (i = 0; i < UMAD_CA_MAX_AGENTS; i++) {
        const IbHostMethods *m = &port->agents[i].methods;

        if (port->agents[i].used && m->mgmt_class == mgmt_class &&
            m->methods[method / 64] & UINT64_C(1) << method % 64 &&
            (!ib_mad_has_oui(mgmt_class) ||
             !memcmp(m->oui, mad + IB_VENDOR2_OUI_OFFSET, sizeof(m->oui)))) {
            return i;
        }
    }
    return -1;
}

/* --------------------------------------------------------------- to send */

static int send_request(const Port *port, const IbHostRequest *request)
{
    if (send(port->client.fd, request, sizeof(*request), MSG_NOSIGNAL) < 0) {
        return fail(EIO);
    }
    return 0;
}

static void set_peer(IbHostRequest *request, const Peer *peer, uint32_t sqp)
{
    request->dlid = peer->lid;
    request->dqp = peer->qpn;
    request->sqp = sqp;
    request->length = GUINT64_TO_BE(IB_MAD_BYTES);
}

static void send_segments(const Port *port, Sending *s)
{
    IbHostRequest request = { 0 };

    set_peer(&request, &s->peer, s->sqp);
    while (umad_rmpp_send_next(&s->rmpp, request.mad) &&
           !send_request(port, &request)) {
        ;
    }
}

static void set_tick(Port *port, int64_t *deadline, int64_t after)
{
    *deadline = g_get_monotonic_time() + after;
    port->next_tick = MIN(port->next_tick, *deadline);
}

static void start_sending(Port *port, const Peer *peer, uint32_t sqp,
                          const uint8_t *message, size_t len)
{
    Sending *s = g_new0(Sending, 1);
    int cancel;

    s->peer = *peer;
    s->sqp = sqp;
    umad_rmpp_send_init(&s->rmpp, message, len);
    put_tid(s->rmpp.message, peer->tid);
    lock_port(port, &cancel);
    send_segments(port, s);
    if (s->rmpp.segments == 1) {
        /* If it is lost, it is asked for again. */
        free_sending(s);
    } else {
        set_tick(port, &s->deadline, TICK_US);
        g_queue_push_tail(&port->sending, s);
        g_atomic_int_inc(&port->num_rmpp);
    }
    unlock_port(port, &cancel);
}

/* A program begins anew with a TransactionID: what came before is history. */
static void forget(Port *port, const Peer *peer)
{
    GList *l, *next;
    int cancel;

    lock_port(port, &cancel);
    for (l = port->receiving.head; l; l = next) {
        next = l->next;
        if (same_peer(&((Receiving *)l->data)->peer, peer)) {
            free_receiving(l->data);
            g_queue_delete_link(&port->receiving, l);
            g_atomic_int_add(&port->num_rmpp, -1);
        }
    }
    unlock_port(port, &cancel);
}

UMAD_EXPORT int umad_send(int portid, int agentid, void *umad, int length,
                          int timeout_ms, int retries)
{
    ib_user_mad_t *u = umad;
    Port *port = find_port(portid);
    IbHostRequest request = {
        .slid = GUINT32_TO_BE(MAX(timeout_ms, 0)),
        .status = GUINT32_TO_BE(MAX(retries, 0)),
    };
    Peer peer;
    bool smp;

    if (!port || agentid < 0 || agentid >= UMAD_CA_MAX_AGENTS ||
        !port->agents[agentid].used || length < IB_MAD_HEADER_BYTES) {
        return fail(EINVAL);
    }
    u->agent_id = agentid;
    u->timeout_ms = timeout_ms;
    u->retries = retries;
    peer = (Peer) { get_tid(u->data), u->addr.lid, u->addr.qpn };
    if (!is_answer(u->data)) {
        peer.tid = (peer.tid & TID_LOW) |
                   (uint64_t)(agentid + 1) << TID_SHIFT;
    }
    smp = ib_mad_is_smp(u->data);
    set_peer(&request, &peer, GUINT32_TO_BE(smp ? IB_QPN_SMI : IB_QPN_GSI));
    if (g_atomic_int_get(&port->num_rmpp) && !is_answer(u->data)) {
        forget(port, &peer);
    }
    if (port->agents[agentid].rmpp && length > IB_RMPP_DATA_OFFSET &&
        ib_mad_is_rmpp(u->data)) {
        if ((unsigned)length < ib_mad_rmpp_header(
                ib_field_get(u->data, IB_MAD_MGMT_CLASS))) {
            return fail(EINVAL);
        }
        start_sending(port, &peer, request.sqp, u->data, length);
        return 0;
    }
    if (length > IB_MAD_BYTES) {
        return fail(EINVAL);
    }
    memcpy(request.mad, u->data, length);
    put_tid(request.mad, peer.tid);
    return send_request(port, &request);
}

/* ------------------------------------------------------------ to receive */

static void fill_header(ib_user_mad_t *u, int agent, const Peer *peer,
                        uint32_t status, size_t len)
{
    memset(u, 0, HEADER);
    u->agent_id = agent;
    u->status = status;
    u->length = HEADER + len;
    u->addr.lid = peer->lid;
    u->addr.qpn = peer->qpn;
}

static void make_ready(Port *port, int agent, const Peer *peer,
                       uint32_t status, const uint8_t *data, size_t len)
{
    GByteArray *message = g_byte_array_sized_new(HEADER + len);

    g_byte_array_set_size(message, HEADER);
    fill_header((ib_user_mad_t *)message->data, agent, peer, status, len);
    g_byte_array_append(message, data, len);
    g_queue_push_tail(&port->ready, message);
}

static void remove_sending(Port *port, GList *link)
{
    free_sending(link->data);
    g_queue_delete_link(&port->sending, link);
    g_atomic_int_add(&port->num_rmpp, -1);
}

static void remove_receiving(Port *port, GList *link)
{
    free_receiving(link->data);
    g_queue_delete_link(&port->receiving, link);
    g_atomic_int_add(&port->num_rmpp, -1);
}

/* The request is as good as not answered. */
static void give_up(Port *port, const Receiving *r)
{
    const GByteArray *message = r->rmpp.message;
    uint8_t mad[IB_MAD_BYTES] = { 0 };

    if (r->rmpp.done || message->len < IB_MAD_HEADER_BYTES) {
        return;
    }
    memcpy(mad, message->data, MIN(message->len, IB_MAD_BYTES));
    if (ib_field_get(mad, IB_MAD_R)) {
        ib_field_set(mad, IB_MAD_R, 0);
        make_ready(port, r->agent, &r->peer, STATUS_ETIMEDOUT, mad,
                   IB_MAD_BYTES);
    }
}

/* ACK, STOP, ABORT: for what is sent, or of who sends. */
static void take_control(Port *port, const Peer *peer, const uint8_t *mad)
{
    GList *l;

    for (l = port->sending.head; l; l = l->next) {
        Sending *s = l->data;

        if (!same_peer(&s->peer, peer)) {
            continue;
        }
        if (umad_rmpp_send_answer(&s->rmpp, mad) != UMAD_RMPP_GOES_ON) {
            remove_sending(port, l);
            return;
        }
        set_tick(port, &s->deadline, TICK_US);
        send_segments(port, s);
        return;
    }
    for (l = port->receiving.head; l; l = l->next) {
        if (same_peer(&((Receiving *)l->data)->peer, peer) &&
            ib_field_get(mad, IB_RMPP_TYPE) != IB_RMPP_TYPE_ACK) {
            give_up(port, l->data);
            remove_receiving(port, l);
            return;
        }
    }
}

static GList *find_receiving(Port *port, const Peer *peer, int agent)
{
    unsigned done = 0;
    GList *l, *before;
    Receiving *r;

    for (l = port->receiving.tail; l; l = before) {
        before = l->prev;
        r = l->data;
        if (same_peer(&r->peer, peer)) {
            return l;
        }
        if (r->rmpp.done && ++done >= REMEMBER_MAX) {
            remove_receiving(port, l);
        }
    }
    r = g_new0(Receiving, 1);
    r->peer = *peer;
    r->agent = agent;
    umad_rmpp_receive_init(&r->rmpp);
    g_queue_push_tail(&port->receiving, r);
    g_atomic_int_inc(&port->num_rmpp);
    return port->receiving.tail;
}

static void take_segment(Port *port, int agent, const Peer *peer,
                         const IbHostRequest *request)
{
    GList *link = find_receiving(port, peer, agent);
    Receiving *r = link->data;
    IbHostRequest answer = { 0 };
    bool was_done = r->rmpp.done;
    UmadRmppResult result;

    set_tick(port, &r->deadline, REMEMBER_US);
    if (umad_rmpp_receive_data(&r->rmpp, request->mad, answer.mad,
                               &result)) {
        set_peer(&answer, peer, request->dqp);
        send_request(port, &answer);
    }
    if (result == UMAD_RMPP_FAILED) {
        give_up(port, r);
        remove_receiving(port, link);
    } else if (r->rmpp.done && !was_done) {
        make_ready(port, agent, peer, 0, r->rmpp.message->data,
                   r->rmpp.message->len);
        g_byte_array_set_size(r->rmpp.message, 0);
    }
}

/* True: it is a MAD as it is, for *@agent. */
static bool take(Port *port, const IbHostRequest *request, int *agent)
{
    const uint8_t *mad = request->mad;
    Peer peer = { get_tid(mad), (uint16_t)request->slid, request->sqp };
    uint64_t id = (peer.tid >> TID_SHIFT) - 1;
    bool rmpp = ib_mad_is_rmpp(mad);

    if (request->status) {
        *agent = id;              /* its own request */
        return id < UMAD_CA_MAX_AGENTS && port->agents[id].used;
    }
    if (rmpp && ib_field_get(mad, IB_RMPP_TYPE) != IB_RMPP_TYPE_DATA &&
        g_atomic_int_get(&port->num_rmpp)) {
        take_control(port, &peer, mad);
    }
    *agent = find_agent(port, mad);
    if (*agent < 0) {
        return false;
    }
    if (!rmpp || !port->agents[*agent].rmpp) {
        return true;
    }
    if (ib_field_get(mad, IB_RMPP_TYPE) == IB_RMPP_TYPE_DATA) {
        take_segment(port, *agent, &peer, request);
    }
    return false;
}

static int give_ready(Port *port, ib_user_mad_t *u, int *length)
{
    GByteArray *message = g_queue_peek_head(&port->ready);
    size_t len = message->len - HEADER;
    bool fits = *length >= 0 && (size_t)*length >= len;
    int agent;

    *length = len;
    if (!fits) {
        memcpy(u, message->data, HEADER);
        return fail(ENOSPC);      /* it may be asked for again */
    }
    memcpy(u, message->data, message->len);
    agent = u->agent_id;
    g_byte_array_unref(g_queue_pop_head(&port->ready));
    return agent;
}

/* What there is, without waiting. */
static int receive(Port *port, ib_user_mad_t *u, int *length)
{
    IbHostRequest request;
    ssize_t got;
    Peer peer;
    int agent;

    while (g_queue_is_empty(&port->ready)) {
        got = recv(port->client.fd, &request, sizeof(request), MSG_DONTWAIT);
        if (got < 0) {
            return fail(errno);
        }
        if (got != sizeof(request) || !take(port, &request, &agent)) {
            continue;
        }
        /* Of a MAD that comes back, the program's is the destination. */
        peer = (Peer) {
            .lid = request.status ? request.dlid : (uint16_t)request.slid,
            .qpn = request.status ? request.dqp : request.sqp,
        };
        if (*length < IB_MAD_BYTES) {
            make_ready(port, agent, &peer, GUINT32_FROM_BE(request.status),
                       request.mad, IB_MAD_BYTES);
            break;
        }
        fill_header(u, agent, &peer, GUINT32_FROM_BE(request.status),
                    IB_MAD_BYTES);
        memcpy(u->data, request.mad, IB_MAD_BYTES);
        *length = IB_MAD_BYTES;
        return agent;
    }
    return give_ready(port, u, length);
}

static void tick(Port *port)
{
    int64_t now = g_get_monotonic_time();
    GList *l, *next;
    int cancel;

    lock_port(port, &cancel);
    port->next_tick = INT64_MAX;
    for (l = port->sending.head; l; l = next) {
        Sending *s = l->data;

        next = l->next;
        if (now >= s->deadline) {
            if (umad_rmpp_send_timeout(&s->rmpp) == UMAD_RMPP_FAILED) {
                remove_sending(port, l);
                continue;
            }
            send_segments(port, s);
            s->deadline = now + TICK_US;
        }
        port->next_tick = MIN(port->next_tick, s->deadline);
    }
    for (l = port->receiving.head; l; l = next) {
        Receiving *r = l->data;

        next = l->next;
        if (now >= r->deadline) {
            give_up(port, r);
            remove_receiving(port, l);
        } else {
            port->next_tick = MIN(port->next_tick, r->deadline);
        }
    }
    unlock_port(port, &cancel);
}

/* Until there may be something, or @deadline (us); 0 or -errno. */
static int wait_port(Port *port, int64_t deadline)
{
    struct pollfd fds[2] = {
        { .fd = port->client.fd, .events = POLLIN },
        { .fd = umad_issm_fd(), .events = POLLIN },
    };
    int64_t now = g_get_monotonic_time();
    int64_t until = MIN(deadline, port->next_tick);
    int ms = -1;

    if (until != INT64_MAX) {
        ms = CLAMP((until - now + 999) / 1000, 0, G_MAXINT);
    }
    if (poll(fds, 2, ms) < 0) {
        return errno == EINTR ? -EIO : fail(errno);
    }
    if (fds[1].revents) {
        umad_issm_process();
    }
    if (g_get_monotonic_time() >= port->next_tick) {
        tick(port);
    }
    return 0;
}

static int64_t deadline_of(int timeout_ms)
{
    return timeout_ms < 0 ? INT64_MAX
                          : g_get_monotonic_time() + timeout_ms *
                            INT64_C(1000);
}

UMAD_EXPORT int umad_recv(int portid, void *umad, int *length,
                          int timeout_ms)
{
    Port *port = find_port(portid);
    int64_t deadline;
    int ret, cancel;

    if (!port || !umad || !length) {
        return fail(EINVAL);
    }
    deadline = deadline_of(timeout_ms);
    for (;;) {
        errno = 0;
        lock_port(port, &cancel);
        ret = receive(port, umad, length);
        unlock_port(port, &cancel);
        if (ret != -EAGAIN || !timeout_ms) {
            return ret;
        }
        if (g_get_monotonic_time() >= deadline) {
            return fail(ETIMEDOUT);
        }
        ret = wait_port(port, deadline);
        if (ret) {
            return ret;
        }
    }
}

UMAD_EXPORT int umad_poll(int portid, int timeout_ms)
{
    Port *port = find_port(portid);
    struct pollfd pollfd = { .fd = portid, .events = POLLIN };
    int64_t deadline = deadline_of(timeout_ms);
    int ret;

    if (!port) {
        return fail(EINVAL);
    }
    for (;;) {
        if (!g_queue_is_empty(&port->ready) || poll(&pollfd, 1, 0) == 1) {
            return 0;
        }
        if (g_get_monotonic_time() >= deadline) {
            return fail(ETIMEDOUT);
        }
        ret = wait_port(port, deadline);
        if (ret) {
            return ret;
        }
    }
}
