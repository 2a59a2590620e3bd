/*
 * What the files that serve this host's programs share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef IB_FABRIC_HOST_INT_H
#define IB_FABRIC_HOST_INT_H

#include "hw/infiniband/ib-fabric-host.h"
#include "hw/infiniband/ib-fabric-protocol.h"
#include "hw/infiniband/ib-mad.h"
#include "hw/infiniband/ib-agent.h"
#include "hw/infiniband/ib-packet.h"

#define IB_HOST_CLIENTS    1024
#define IB_HOST_QUEUE_MAX  65536  /* MADs that wait for one program */
#define IB_HOST_TRAPS      64     /* whose TransactionIDs are remembered */
#define IB_HOST_METHODS    64     /* IbHostMethods of a client */

typedef enum IbHostKind {
    IB_HOST_IBSIM,                /* NAME:ctl */
    IB_HOST_CLIENT,               /* NAME:outN */
    IB_HOST_LISTEN,               /* the control socket */
    IB_HOST_CONTROL,              /* a connection to it */
} IbHostKind;

/* What epoll tells: the first member of what has a descriptor. */
typedef struct IbHostSource {
    IbHostKind kind;
    int fd;
} IbHostSource;

typedef struct IbHostClient {
    IbHostSource source;
    IbFabricHost *host;
    unsigned id;                  /* N of NAME:outN */
    uint32_t pid;
    uint32_t node;
    uint8_t port;
    bool issm;
    bool own;                     /* tools/umad: does RMPP, says timeouts */
    bool dead;
    bool waits;                   /* epoll tells when there is room again */
    uint16_t tid_top;             /* bits 63:48 of the last request */
    uint32_t classes[8];          /* a bit for each that it has sent */
    IbHostMethods methods[IB_HOST_METHODS];     /* of an own one */
    unsigned num_methods;
    GQueue queue;                 /* IbHostRequest, no room for them yet */
    GHashTable *pending;          /* requests without an answer */
    uint64_t asked;               /* the request that is being sent */
    bool answered;
    uint64_t traps[IB_HOST_TRAPS];      /* TransactionIDs, a ring */
    unsigned trap_count;
} IbHostClient;

struct IbFabricHost {
    IbFabric *fabric;
    char *name, *path;
    int epoll;
    IbHostSource ibsim, listener;
    IbHostClient *clients[IB_HOST_CLIENTS];
    unsigned num_clients;
    GPtrArray *controls;          /* IbHostControl, of control-socket.c */
    bool given;                   /* a client got a request meanwhile */
    int64_t next_check;           /* whether clients still live */
    int64_t next_timeout;         /* of a pending request */
};

/* host.c */
/* From now on wake up for these epoll events of the source. */
bool ib_host_watch(IbFabricHost *host, IbHostSource *source, uint32_t events);
void ib_host_client_free(IbHostClient *client);

/* host-mad.c */
bool ib_host_mad_receive(void *opaque, const IbFabricMad *mad);
/* All MADs that a program has sent. */
void ib_host_client_read(IbHostClient *client);
/* There is room again for what waits for the program. */
void ib_host_client_flush(IbHostClient *client);
/* Ask again, or give up, what nobody has answered; when to call again. */
int64_t ib_host_timeouts(IbHostClient *client, int64_t now);
/*
 * What unsolicited MADs an own client wants from now on, or does not; false if
 * another one has them.
 */
bool ib_host_set_methods(IbHostClient *client, const IbHostMethods *methods);
void ib_host_client_init(IbHostClient *client);
void ib_host_client_clear(IbHostClient *client);

/* host-control.c */
bool ib_host_listen(IbFabricHost *host, const char *path, char **why);
void ib_host_accept(IbFabricHost *host);
void ib_host_control_read(IbFabricHost *host, IbHostSource *source);
void ib_host_control_close_all(IbFabricHost *host);

#endif
