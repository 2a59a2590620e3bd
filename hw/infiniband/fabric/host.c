/*
 * ibsim's client protocol: who is there
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ib-fabric-protocol.h says what the messages are.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "host-int.h"

#define CHECK_NS        INT64_C(1000000000)
#define NS_PER_MS       INT64_C(1000000)
#define MAX_WAIT_MS     3600000
#define EVENTS          16        /* of epoll, at a time */
#define SPIN_NS         20000

bool ib_host_watch(IbFabricHost *host, IbHostSource *source, uint32_t events)
{
    struct epoll_event event = {
        .events = events,
        .data.ptr = source,
    };

    return epoll_ctl(host->epoll, EPOLL_CTL_MOD, source->fd, &event) == 0 ||
           epoll_ctl(host->epoll, EPOLL_CTL_ADD, source->fd, &event) == 0;
}

static int make_socket(void)
{
    return socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static bool connect_to(int fd, const IbFabricHost *host, uint32_t pid)
{
    struct sockaddr_un un;
    socklen_t len = ib_host_address(&un, "%s:in%u", host->name, pid);

    return connect(fd, (struct sockaddr *)&un, len) == 0;
}

/* ---------------------------------------------------------- the clients */

static void set_issm(IbHostClient *c, bool issm)
{
    IbNode *node = ib_fabric_node(c->host->fabric, c->node);
    bool other = false;
    uint32_t mask;
    unsigned i;

    c->issm = issm;
    if (!node) {
        return;
    }
    for (i = 0; i < IB_HOST_CLIENTS; i++) {
        const IbHostClient *o = c->host->clients[i];

        other |= o && o != c && o->issm && o->node == c->node &&
                 o->port == c->port;
    }
    mask = ib_node_capability_mask(node, c->port);
    ib_node_set_capability_mask(node, c->port, issm || other
                                               ? mask | IB_CAP_IS_SM
                                               : mask & ~IB_CAP_IS_SM);
}

void ib_host_client_free(IbHostClient *c)
{
    IbFabricHost *host = c->host;

    if (c->issm) {
        set_issm(c, false);
    }
    host->clients[c->id] = NULL;
    host->num_clients--;
    close(c->source.fd);
    ib_host_client_clear(c);
    g_free(c);
}

/* A program that ended without a word leaves its place. */
static bool client_lives(const IbHostClient *c)
{
    int fd = make_socket();
    bool lives = fd < 0 || connect_to(fd, c->host, c->pid) ||
                 errno != ECONNREFUSED;

    if (fd >= 0) {
        close(fd);
    }
    return lives && !c->dead;
}

static void check_clients(IbFabricHost *host)
{
    unsigned i;

    for (i = 0; i < IB_HOST_CLIENTS && host->num_clients; i++) {
        if (host->clients[i] && !client_lives(host->clients[i])) {
            ib_host_client_free(host->clients[i]);
        }
    }
}

/* The node that a program wants to be on, or else the first CA of the file. */
static bool find_place(IbFabricHost *host, const char *name, IbHostClient *c)
{
    const IbTopology *t = ib_fabric_topology(host->fabric);
    int64_t index = *name ? ib_fabric_find(host->fabric, name) : -1;
    const IbTopologyNode *n;
    uint32_t i;
    unsigned p;

    if (*name && index < 0) {
        return false;
    }
    for (i = MAX(index, 0); i < t->num_nodes; i++) {
        n = &t->nodes[i];
        c->node = i;
        if (!ib_fabric_node(host->fabric, i)) {
            ;                     /* a VM is there */
        } else if (n->type == IB_NODE_TYPE_SWITCH && *name) {
            c->port = 0;
            return true;
        } else if (n->type == IB_NODE_TYPE_CA || *name) {
            for (p = 1; p <= n->num_ports; p++) {
                if (n->ports[p].cabled) {
                    c->port = p;
                    return true;
                }
            }
        }
        if (*name) {
            return false;
        }
    }
    return false;
}

static IbHostClient *new_client(IbFabricHost *host)
{
    IbHostClient *c;
    struct sockaddr_un un;
    socklen_t len;
    unsigned i;

    i = 0;
    while (i < IB_HOST_CLIENTS && host->clients[i]) {
        i++;
    }
    if (i == IB_HOST_CLIENTS) {
        return NULL;
    }
    c = g_new0(IbHostClient, 1);
    c->source.kind = IB_HOST_CLIENT;
    c->source.fd = make_socket();
    c->host = host;
    c->id = i;
    ib_host_client_init(c);
    host->clients[i] = c;
    host->num_clients++;
    len = ib_host_address(&un, "%s:out%u", host->name, i);
    if (c->source.fd < 0 ||
        bind(c->source.fd, (struct sockaddr *)&un, len) < 0 ||
        !ib_host_watch(host, &c->source, EPOLLIN)) {
        ib_host_client_free(c);
        return NULL;
    }
    return c;
}

static bool connect_client(IbFabricHost *host, IbHostCtl *ctl)
{
    const IbTopology *t = ib_fabric_topology(host->fabric);
    IbHostClient *c;
    IbHostConnect d;

    memcpy(&d, ctl->data, sizeof(d));
    d.node[sizeof(d.node) - 1] = '\0';
    check_clients(host);
    c = new_client(host);
    if (!c) {
        return false;
    }
    c->pid = d.id;
    if (!find_place(host, d.node, c) ||
        !connect_to(c->source.fd, host, d.id)) {
        ib_host_client_free(c);
        return false;
    }
    if (d.issm) {
        set_issm(c, true);
    }
    d.id = c->id;
    /* libumad2sim.so warns if this is not what was asked for. */
    if (!d.node[0]) {
        g_strlcpy(d.node, t->nodes[c->node].id, sizeof(d.node));
    }
    memcpy(ctl->data, &d, sizeof(d));
    host->next_check = MIN(host->next_check,
                           ib_fabric_now(host->fabric) + CHECK_NS);
    return true;
}

/* --------------------------------------------------- what a client asks */

/* The 64 bytes of an attribute, as the node's own SMA shows them. */
static void get_attribute(IbNode *node, const IbHostClient *c, uint16_t id,
                          uint32_t modifier, uint8_t data[IB_HOST_CTL_BYTES])
{
    uint8_t in[IB_MAD_BYTES] = { 0 };
    uint8_t out[IB_MAD_BYTES] = { 0 };

    ib_field_set(in, IB_MAD_BASE_VERSION, 1);
    ib_field_set(in, IB_MAD_MGMT_CLASS, IB_CLASS_SUBN_LID_ROUTED);
    ib_field_set(in, IB_MAD_CLASS_VERSION, IB_CLASS_VERSION_SUBN);
    ib_field_set(in, IB_MAD_METHOD, IB_METHOD_GET);
    ib_field_set(in, IB_MAD_ATTRIBUTE_ID, id);
    ib_field_set(in, IB_MAD_ATTRIBUTE_MODIFIER, modifier);
    ib_node_process_mad(node, c->port, 0, IB_MAD_IGNORE_MKEY, in, out);
    memcpy(data, out + IB_SMP_DATA_OFFSET, IB_HOST_CTL_BYTES);
}

/*
 * libumad2sim.so takes NodeGUID plus the port's number for the port's GUID,
 * which is what an SM looks for: so tell it what gives that.
 */
static void get_node_info(IbNode *node, const IbHostClient *c,
                          uint8_t data[IB_HOST_CTL_BYTES])
{
    get_attribute(node, c, IB_SM_ATTR_NODE_INFO, 0, data);
    if (c->own) {
        return;
    }
    ib_put_be64(data + IB_NODEINFO_NODE_GUID_OFFSET,
                ib_node_guid(node, c->port, 0) - c->port);
}

static bool ask_node(IbFabricHost *host, IbHostClient *c, IbHostCtl *ctl)
{
    const IbTopologyNode *n =
        &ib_fabric_topology(host->fabric)->nodes[c->node];
    IbNode *node = ib_fabric_node(host->fabric, c->node);
    IbLink *link = ib_fabric_link(host->fabric, c->node, c->port);
    IbHostVendor vendor = { n->vendor_id, n->device_id, 0, 1 };
    IbHostPort port = { 0 };
    IbHostMethods methods;
    uint32_t issm;

    if (!node) {
        return false;
    }
    switch (ctl->type) {
    case IB_HOST_CTL_GET_PORT:
        port.lid = ib_node_lid(node, c->port);
        port.state = link ? ib_link_state(link) : IB_PORT_ACTIVE;
        memcpy(ctl->data, &port, sizeof(port));
        return true;
    case IB_HOST_CTL_GET_VENDOR:
        memcpy(ctl->data, &vendor, sizeof(vendor));
        return true;
    case IB_HOST_CTL_GET_GUID:
        ib_put_be64(ctl->data, ib_node_guid(node, c->port, 0));
        return true;
    case IB_HOST_CTL_GET_GID:
        ib_put_be64(ctl->data, ib_node_gid_prefix(node, c->port));
        ib_put_be64(ctl->data + 8, ib_node_guid(node, c->port, 0));
        return true;
    case IB_HOST_CTL_GET_NODEINFO:
        get_node_info(node, c, ctl->data);
        return true;
    case IB_HOST_CTL_GET_PORTINFO:
        get_attribute(node, c, IB_SM_ATTR_PORT_INFO, c->port, ctl->data);
        return true;
    case IB_HOST_CTL_GET_PKEYS:
        get_attribute(node, c, IB_SM_ATTR_P_KEY_TABLE, 0, ctl->data);
        return true;
    case IB_HOST_CTL_SET_ISSM:
        memcpy(&issm, ctl->data, sizeof(issm));
        set_issm(c, issm != 0);
        return true;
    case IB_HOST_CTL_OWN:
        c->own = true;
        return true;
    case IB_HOST_CTL_SET_METHODS:
        memcpy(&methods, ctl->data, sizeof(methods));
        return c->own && ib_host_set_methods(c, &methods);
    default:
        return false;
    }
}

static bool control(IbFabricHost *host, IbHostCtl *ctl)
{
    IbHostClient *c;

    if (ctl->type == IB_HOST_CTL_CONNECT) {
        return connect_client(host, ctl);
    }
    c = ctl->client < IB_HOST_CLIENTS ? host->clients[ctl->client] : NULL;
    if (!c) {
        return false;
    }
    if (ctl->type == IB_HOST_CTL_DISCONNECT) {
        ib_host_client_free(c);
        return true;
    }
    return ask_node(host, c, ctl);
}

static void read_ibsim(IbFabricHost *host)
{
    struct sockaddr_un from;
    socklen_t len = sizeof(from);
    IbHostCtl ctl;
    ssize_t got;

    while ((got = recvfrom(host->ibsim.fd, &ctl, sizeof(ctl), MSG_TRUNC,
                           (struct sockaddr *)&from, &len)) >= 0) {
        if (got == sizeof(ctl) && ctl.magic == IB_HOST_CTL_MAGIC) {
            if (!control(host, &ctl)) {
                ctl.type = IB_HOST_CTL_ERROR;
            }
            ib_fabric_run(host->fabric);
            sendto(host->ibsim.fd, &ctl, sizeof(ctl), 0,
                   (struct sockaddr *)&from, len);
        }
        len = sizeof(from);
    }
}

/* ------------------------------------------------------------- the host */

static bool open_ibsim(IbFabricHost *host, const char *name, char **why)
{
    struct sockaddr_un un;
    socklen_t len;

    if (!*name || strlen(name) > IB_FABRIC_NAME_MAX) {
        *why = g_strdup_printf("a name has 1 to %d bytes",
                               IB_FABRIC_NAME_MAX);
        return false;
    }
    host->name = g_strdup(name);
    len = ib_host_address(&un, "%s:ctl", name);
    host->ibsim.kind = IB_HOST_IBSIM;
    host->ibsim.fd = make_socket();
    if (host->ibsim.fd < 0 ||
        bind(host->ibsim.fd, (struct sockaddr *)&un, len) < 0 ||
        !ib_host_watch(host, &host->ibsim, EPOLLIN)) {
        *why = g_strdup_printf("abstract socket %s:ctl: %s", name,
                               g_strerror(errno));
        return false;
    }
    return true;
}

IbFabricHost *ib_fabric_host_new(IbFabric *fabric, const char *ibsim,
                                 const char *path, char **why)
{
    IbFabricHost *host = g_new0(IbFabricHost, 1);

    host->fabric = fabric;
    host->ibsim.fd = host->listener.fd = -1;
    host->next_check = host->next_timeout = INT64_MAX;
    host->controls = g_ptr_array_new();
    host->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (host->epoll < 0) {
        *why = g_strdup_printf("epoll: %s", g_strerror(errno));
    } else if ((!ibsim || open_ibsim(host, ibsim, why)) &&
               (!path || ib_host_listen(host, path, why))) {
        ib_fabric_set_receiver(fabric, ib_host_mad_receive, host);
        return host;
    }
    ib_fabric_host_free(host);
    return NULL;
}

void ib_fabric_host_free(IbFabricHost *host)
{
    unsigned i;

    ib_fabric_set_receiver(host->fabric, NULL, NULL);
    for (i = 0; i < IB_HOST_CLIENTS; i++) {
        if (host->clients[i]) {
            ib_host_client_free(host->clients[i]);
        }
    }
    ib_host_control_close_all(host);
    if (host->ibsim.fd >= 0) {
        close(host->ibsim.fd);
    }
    if (host->epoll >= 0) {
        close(host->epoll);
    }
    g_free(host->name);
    g_free(host);
}

int ib_fabric_host_fd(const IbFabricHost *host)
{
    return host->epoll;
}

static void timers(IbFabricHost *host)
{
    int64_t now = ib_fabric_now(host->fabric);
    unsigned i;

    if (now >= host->next_check) {
        check_clients(host);
        host->next_check = host->num_clients ? now + CHECK_NS : INT64_MAX;
    }
    if (now < host->next_timeout) {
        return;
    }
    host->next_timeout = INT64_MAX;
    for (i = 0; i < IB_HOST_CLIENTS; i++) {
        if (host->clients[i]) {
            host->next_timeout = MIN(host->next_timeout,
                                     ib_host_timeouts(host->clients[i],
                                                      now));
        }
    }
}

static void dispatch(IbFabricHost *host, const struct epoll_event *event)
{
    IbHostSource *source = event->data.ptr;

    switch (source->kind) {
    case IB_HOST_IBSIM:
        read_ibsim(host);
        break;
    case IB_HOST_CLIENT:
        if (event->events & EPOLLOUT) {
            ib_host_client_flush((IbHostClient *)source);
        }
        ib_host_client_read((IbHostClient *)source);
        break;
    case IB_HOST_LISTEN:
        ib_host_accept(host);
        break;
    case IB_HOST_CONTROL:
        ib_host_control_read(host, source);
        break;
    }
}

static int64_t process(IbFabricHost *host, const struct epoll_event *events,
                       int n)
{
    int64_t due;
    int i;

    /* The control sockets last: they may free what the others stand for. */
    for (i = 0; i < n; i++) {
        if (((IbHostSource *)events[i].data.ptr)->kind == IB_HOST_CLIENT) {
            dispatch(host, &events[i]);
        }
    }
    for (i = 0; i < n; i++) {
        if (((IbHostSource *)events[i].data.ptr)->kind != IB_HOST_CLIENT) {
            dispatch(host, &events[i]);
        }
    }
    timers(host);
    due = ib_fabric_run(host->fabric);
    return MIN(due, MIN(host->next_check, host->next_timeout));
}

int64_t ib_fabric_host_process(IbFabricHost *host)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(host->epoll, events, EVENTS, 0);

    return process(host, events, n);
}

/*
 * A program that has its answer soon asks again.  To look for that a little
 * costs less than to sleep and be woken; without a second processor the
 * program could not run meanwhile.
 */
static int spin(IbFabricHost *host, struct epoll_event *events,
                const sigset_t *unblocked)
{
    int64_t until = ib_fabric_now(host->fabric) + SPIN_NS;
    int n;

    do {
        n = epoll_pwait(host->epoll, events, EVENTS, 0, unblocked);
    } while (n == 0 && ib_fabric_now(host->fabric) < until);
    return n;
}

static int64_t wait_ms(const IbFabricHost *host, int64_t due)
{
    int64_t wait = due - ib_fabric_now(host->fabric) + NS_PER_MS - 1;

    return due == INT64_MAX ? -1 : CLAMP(wait / NS_PER_MS, 0, MAX_WAIT_MS);
}

void ib_fabric_host_serve(IbFabricHost *host, const sigset_t *unblocked,
                          const volatile sig_atomic_t *stop)
{
    const bool may_spin = g_get_num_processors() > 1;
    struct epoll_event events[EVENTS] = { 0 };
    int64_t due = process(host, events, 0);
    int n = 0;

    while (!*stop) {
        n = n > 0 && may_spin ? spin(host, events, unblocked) : 0;
        if (n == 0) {
            n = epoll_pwait(host->epoll, events, EVENTS, wait_ms(host, due),
                            unblocked);
        }
        due = process(host, events, n);
    }
}
