/*
 * A fabric for unit tests: switches, hosts and cables in memory, on a clock
 * that the test owns
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Nothing moves but in fabric_run(): it delivers frames in the order in which
 * they were sent and fires timers as the clock comes to them.
 */
#ifndef TESTS_UNIT_IB_FABRIC_H
#define TESTS_UNIT_IB_FABRIC_H

#include "hw/infiniband/ib-switch.h"
#include "hw/infiniband/ib-packet.h"

#define FABRIC_MS  INT64_C(1000000)
#define FABRIC_PACKET_MAX  (4096 + 128)
/* Longer than training takes. */
#define FABRIC_TRAINING  (1000 * FABRIC_MS)

typedef struct Fabric Fabric;
typedef struct FabricEnd FabricEnd;
typedef struct FabricSwitch FabricSwitch;
typedef struct FabricHost FabricHost;

/* A packet as a host got it. */
typedef struct FabricPacket {
    uint8_t *data;
    uint16_t len;
    uint8_t vl;
    uint8_t flags;
} FabricPacket;

/* One end of a cable: a port of a switch or of a host. */
struct FabricEnd {
    Fabric *fabric;
    IbLink *link;
    FabricEnd *peer;
    FabricSwitch *sw;             /* or NULL */
    FabricHost *host;             /* or NULL */
    uint8_t port;
    int64_t deadline;
    /* The cable says BUSY and keeps frames back while set. */
    bool stopped;
    bool waiting;                 /* said BUSY, not yet ready again */
    GQueue held;                  /* frames kept back */
    unsigned drop_percent;        /* of the frames sent from this end */
    /* Instead of the cable, if set: takes the frames that this end sends. */
    void (*send)(FabricEnd *end, const uint8_t *data, size_t len);
    void *opaque;
};

struct FabricSwitch {
    Fabric *fabric;
    IbSwitch *sw;
    FabricEnd *ends;              /* 1..num_ports */
    int64_t deadline;
    /* Of the last state change, and how many. */
    uint8_t changed_port, changed_old, changed_new;
    unsigned changes;
    /* The processor behind port 0: IbSwitchOps.host_receive. */
    bool (*processor)(FabricSwitch *sw, uint8_t in_port,
                      const IbPacket *packet);
    void *opaque;
};

/* A channel adapter's port: it keeps data packets, answers SMPs. */
struct FabricHost {
    FabricEnd end;
    IbNode *node;
    int64_t node_deadline;
    GPtrArray *packets;           /* FabricPacket, what was not answered */
    void (*receive)(FabricHost *host, const IbPacket *packet);
    /*
     * Hold packets (their credits stay away) and give them back, oldest
     * first, one every @slow_ns; 0: do not hold.
     */
    int64_t slow_ns, next_release;
    GQueue slow;
    void *opaque;
    uint64_t tid;
};

Fabric *fabric_new(void);
void fabric_free(Fabric *fabric);
int64_t fabric_now(const Fabric *fabric);

/* A configuration to start from: @num_ports, 4 data VLs, MTU 4096. */
IbSwitchConfig fabric_switch_config(Fabric *fabric, unsigned num_ports);
FabricSwitch *fabric_add_switch(Fabric *fabric, const IbSwitchConfig *config);
/*
 * Put a new switch of the same configuration, which has loaded the state in
 * @data, in the place of @sw: cables stay where they are, as do frames under
 * way.  False if it does not load.
 */
bool fabric_replace_switch(FabricSwitch *sw, const void *data, size_t len);
FabricHost *fabric_add_host(Fabric *fabric);
void fabric_connect(Fabric *fabric, FabricEnd *a, FabricEnd *b);
void fabric_cut(Fabric *fabric, FabricEnd *end);
/* Stop or restart the flow of frames out of @end. */
void fabric_stop(FabricEnd *end, bool stopped);

/*
 * Deliver frames within the call that sends them, as a cable between two
 * devices of one process may.
 */
void fabric_set_direct(Fabric *fabric, bool direct);

/* Let @ns pass; fabric_settle(): all frames, but no time. */
void fabric_run(Fabric *fabric, int64_t ns);
void fabric_settle(Fabric *fabric);
/* Train all cables and take every port with a link to Active. */
void fabric_bring_up(Fabric *fabric);

/* ------------------------------------------------------------- packets */

typedef struct FabricUd {
    uint16_t slid, dlid;
    uint8_t sl, vl;
    uint8_t opcode;               /* 0: UD Send Only */
    uint16_t pkey;                /* 0: default */
    uint32_t dest_qpn, src_qpn, qkey;
    const uint8_t *sgid, *dgid;   /* both: with a GRH */
    const void *payload;          /* or NULL: zeros */
    size_t payload_len;
} FabricUd;

/* Write the packet; its length. @buf: FABRIC_PACKET_MAX */
size_t fabric_build(uint8_t *buf, const FabricUd *ud);
/* A raw packet (LNH 0) of @len bytes. */
size_t fabric_build_raw(uint8_t *buf, uint16_t slid, uint16_t dlid,
                        size_t len);
IbTxResult fabric_send_bytes(FabricHost *host, const uint8_t *data,
                             size_t len, uint8_t vl);
/* Build and send. */
IbTxResult fabric_send(FabricHost *host, const FabricUd *ud);
/* The packet that @host received as number @n (0..), or NULL. */
const FabricPacket *fabric_packet(const FabricHost *host, unsigned n);
void fabric_forget(FabricHost *host);

/* ----------------------------------------------------- subnet management */

/*
 * Where an SMP goes: to a LID, or by a directed route, which is the host's
 * port and then @hops more: fabric_route(0) is the switch that the host hangs
 * on, fabric_route(1, 5) what is behind its port 5.
 */
typedef struct FabricRoute {
    bool directed;
    uint8_t path[64];
    uint8_t hops;
    uint16_t slid, dlid;
} FabricRoute;

FabricRoute fabric_route(unsigned hops, ...);
FabricRoute fabric_lid_route(uint16_t slid, uint16_t dlid);

/*
 * Ask from @host and wait; the 64 bytes of data are replaced by those of the
 * answer.  Returns its status (without D), -1 if none came.
 */
int fabric_smp(FabricHost *host, const FabricRoute *route, uint8_t method,
               uint16_t attr, uint32_t modifier, uint8_t data[64]);
/* The same, with the MADs: @smp is ready to be sent, *@reply the answer. */
bool fabric_smp_raw(FabricHost *host, const uint8_t smp[256], uint16_t slid,
                    uint16_t dlid, uint8_t reply[256]);
void fabric_smp_init(FabricHost *host, uint8_t smp[256],
                     const FabricRoute *route, uint8_t method, uint16_t attr,
                     uint32_t modifier, const uint8_t data[64]);

/* Set with SMPs from @host over @route, each checked to be accepted. */
void fabric_set_lft(FabricHost *host, const FabricRoute *route,
                    const uint8_t *lft, unsigned count);
void fabric_set_switch_info(FabricHost *host, const FabricRoute *route,
                            uint16_t linear_top, uint8_t primary,
                            uint8_t not_primary, uint16_t mcast_top);
void fabric_set_mft(FabricHost *host, const FabricRoute *route,
                    uint16_t mlid, uint64_t ports);
void fabric_set_lid(FabricHost *host, const FabricRoute *route, uint16_t lid,
                    uint16_t sm_lid);

/* ------------------------------------------------------------- a star */

/*
 * A switch with a host on each of its first ports: host[i] on port i + 1 has
 * LID i + 1, the switch FABRIC_SWITCH_LID; everything up, LinearFDBTop 63.
 */
#define FABRIC_SWITCH_LID  40
#define FABRIC_STAR_HOSTS  37

typedef struct FabricStar {
    Fabric *fabric;
    FabricSwitch *sw;
    FabricHost *host[FABRIC_STAR_HOSTS];
    FabricRoute route;            /* to the switch */
    uint8_t lft[64];              /* as it was set */
} FabricStar;

/*
 * @config: NULL for @hosts + 1 ports and the defaults; the hosts have as many
 * data VLs as its ports.
 */
void fabric_star_init(FabricStar *star, unsigned hosts,
                      const IbSwitchConfig *config);
void fabric_star_clear(FabricStar *star);
/* Change one entry of the LFT, below 64. */
void fabric_star_set_lft(FabricStar *star, uint16_t lid, uint8_t port);
/* PortCounters' PortRcvSwitchRelayErrors and PortXmitDiscards of a port. */
uint64_t fabric_star_relay_errors(const FabricStar *star, uint8_t port);
uint64_t fabric_star_xmit_discards(const FabricStar *star, uint8_t port);
/* Data packets that host[i] holds. */
unsigned fabric_star_received(const FabricStar *star, unsigned i);

#endif
