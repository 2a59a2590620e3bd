/*
 * Channel adapters for unit tests: rings in plain memory, cables, a clock
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Nothing runs by itself but in world_run(): frames arrive and timers expire
 * in their order.
 */
#ifndef TESTS_UNIT_HCA_WORLD_H
#define TESTS_UNIT_HCA_WORLD_H

#include "hw/infiniband/ib-hca.h"
#include "hw/infiniband/ib-packet.h"

#define WORLD_MS     INT64_C(1000000)
#define WORLD_RING   256
#define WORLD_HCAS   4

typedef struct World World;
typedef struct TestHca TestHca;
typedef struct TestQp TestQp;
typedef struct TestPort TestPort;

typedef struct TestKey {
    uint32_t key;
    uint64_t va;
    uint32_t len;
    unsigned rights;
    uint8_t *mem;
    bool invalid;
    bool fault;                   /* the bus does not answer */
} TestKey;

/* A queue of receives, of one QP or shared. */
typedef struct TestRecvQueue {
    IbRecvWr wr[WORLD_RING];
    unsigned producer, consumer;
    bool bad;                     /* the next entry cannot be parsed */
} TestRecvQueue;

struct TestQp {
    TestHca *hca;
    IbQp *qp;
    uint32_t qpn;
    IbQpAttr attr;
    IbSendWr send[WORLD_RING];
    unsigned producer, consumer;
    bool bad_send;
    unsigned refetches;
    TestRecvQueue own_rq;
    TestRecvQueue *rq;
    GArray *wc;                   /* IbCompletion, not yet taken */
    GArray *events;               /* IbHcaEvent */
    unsigned moved;               /* state_moved() */
    unsigned local_ops;
    IbWcStatus local_status;
    GString *order;               /* what local_op() saw */
    /* Called instead of keeping completions. */
    void (*on_wc)(TestQp *qp, const IbCompletion *wc);
    void *user;
};

typedef struct TestGroup {
    uint8_t mgid[16];
    uint32_t qpn;
    bool block;
} TestGroup;

struct TestPort {
    TestHca *hca;
    uint8_t num;
    TestPort *peer;
    int64_t deadline;
    GQueue wire;                  /* frames on their way to this port */
    bool stopped;                 /* the cable out of it says BUSY */
    bool told_busy;
    /* Look at each packet sent; see world_duplicate(). */
    void (*on_tx)(TestPort *port, const uint8_t *packet, size_t len);
    unsigned tx_packets, rx_packets;
    unsigned changes;
};

struct TestHca {
    World *world;
    IbHca *hca;
    IbHcaConfig config;
    int64_t deadline;
    TestPort port[IB_HCA_MAX_PORTS + 1];
    GArray *keys;                 /* TestKey */
    GArray *groups;               /* TestGroup */
    GPtrArray *qps;
    uint32_t next_key;
    unsigned batches;
    unsigned depth;               /* of nested complete() calls */
    uint8_t scratch[4096];        /* inline data of the entry parsed last */
    GHashTable *discards;         /* reason to count, from the trace */
    uint32_t invalidated;
    TestRecvQueue *xrc_srq;       /* of any SRQN */
    uint32_t xrc_srqn;
    uint32_t xrc_only;            /* 0: every SRQN is there */
};

struct World {
    int64_t now;
    GRand *rand;
    TestHca *hca[WORLD_HCAS];
    unsigned num_hcas;
    int64_t delay;                /* of a frame, ns */
    unsigned loss_percent;        /* of the frames with data */
    unsigned frames_lost;
    bool cut;
    bool immediate;               /* frames arrive inside of send_frame() */
    GByteArray *pending_dup;      /* packets to send once more */
};

World *world_new(void);
void world_free(World *world);
IbHcaConfig world_config(unsigned num_ports);
/* @config NULL: one port, MTU 4096, no CRC. */
TestHca *world_add(World *world, const IbHcaConfig *config);
/*
 * A new adapter in the place of @hca, as the target of a migration has it:
 * QPs in RESET, no cable yet, nobody told.
 */
void world_replace(TestHca *hca);
void world_connect(TestPort *a, TestPort *b);
/* Open, train, Active, LID @lid (0: leave). */
void world_bring_up(World *world);
void world_set_lid(TestHca *hca, uint8_t port, uint16_t lid, uint8_t lmc);
void world_run(World *world, int64_t ns);
/* Until @*flag or @ns are over; false then. */
bool world_run_until(World *world, bool (*done)(void *arg), void *arg,
                     int64_t ns);
/* The cable out of @port says BUSY (or takes frames again). */
void world_stop(TestPort *port, bool stopped);

/* Two adapters of one port each, LIDs 1 and 2, Active. */
World *world_pair(const IbHcaConfig *config);

/* Memory of @len bytes under a new key, at a VA that is not 0. */
TestKey *hca_memory(TestHca *hca, uint32_t len, unsigned rights);
TestKey *hca_find_key(TestHca *hca, uint32_t key);

TestQp *hca_qp(TestHca *hca, uint32_t qpn);
/* Through INIT and RTR to @state with qp->attr. */
void hca_qp_to(TestQp *qp, IbQpState state);
TestQp *hca_ud_qp(TestHca *hca, uint32_t qpn, uint32_t qkey);
void hca_join(TestHca *hca, const uint8_t mgid[16], uint32_t qpn, bool block);
/* Both to RTS, each other's peers (may be of one adapter). */
void hca_connect_qps(TestQp *a, TestQp *b, IbQpType type);

void qp_post_recv(TestQp *qp, const TestKey *key, uint32_t offset,
                  uint32_t len);
/* Fill the next entry of the ring and make it visible; doorbell apart. */
IbSendWr *qp_add_send(TestQp *qp, IbWrOpcode opcode, const TestKey *key,
                      uint32_t offset, uint32_t len);
void qp_ring(TestQp *qp);
/* The oldest completion that was not taken; fails the test if none. */
IbCompletion qp_take_wc(TestQp *qp);
unsigned qp_num_wc(const TestQp *qp);
bool qp_had_event(const TestQp *qp, IbHcaEvent event);

void fill_random(World *world, uint8_t *mem, uint32_t len);

#endif
