/*
 * Speed of the adapter's engine: two adapters, frames handed over at once,
 * memory that is plain memory
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What is measured is all that the core does for a message from doorbell to
 * completion at both ends: parse, copy into the frame, link, copy out of it.
 */
#include <stdio.h>
#include <time.h>
#include "../unit/hca-world.h"

#define RUNS      5
#define SECONDS   0.3
#define REGION    (4u << 20)

static const unsigned rights = IB_ACCESS_LOCAL_WRITE |
    IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ;

typedef struct Bench {
    World *world;
    TestQp *qa, *qb;
    TestKey *ma, *mb;
    IbWrOpcode opcode;
    uint32_t len;
    bool ud;
    uint64_t done;
} Bench;

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void count(TestQp *qp, const IbCompletion *wc)
{
    Bench *b = qp->user;

    g_assert(wc->status == IB_WC_SUCCESS);
    b->done += qp == b->qa;
}

static void init(Bench *b, bool same)
{
    b->world = world_pair(NULL);
    b->qa = hca_qp(b->world->hca[0], 0x40);
    b->qb = hca_qp(b->world->hca[!same], 0x48);
    b->ma = hca_memory(b->qa->hca, REGION, rights);
    b->mb = hca_memory(b->qb->hca, REGION, rights);
    if (b->ud) {
        b->qa->attr = (IbQpAttr) { .type = IB_QPT_UD, .port = 1 };
        b->qb->attr = b->qa->attr;
        hca_qp_to(b->qa, IB_QPS_RTS);
        hca_qp_to(b->qb, IB_QPS_RTS);
    } else {
        hca_connect_qps(b->qa, b->qb, IB_QPT_RC);
    }
    b->qa->user = b->qb->user = b;
    b->qa->on_wc = b->qb->on_wc = count;
    b->world->immediate = true;
    ib_hca_set_trace(b->qa->hca->hca, false);
    ib_hca_set_trace(b->qb->hca->hca, false);
}

/* Some messages with one doorbell, as a driver with a full queue does. */
static void post(Bench *b, unsigned messages)
{
    unsigned i;

    for (i = 0; i < messages; i++) {
        IbSendWr *wr = qp_add_send(b->qa, b->opcode, b->ma, 0, b->len);

        if (b->opcode == IB_WR_SEND) {
            qp_post_recv(b->qb, b->mb, 0, b->len + 40);
        }
        wr->address.dlid = 2;
        wr->dest_qpn = 0x48;
        wr->remote_va = b->mb->va;
        wr->remote_key = b->mb->key;
    }
    qp_ring(b->qa);
    while (b->done != b->qa->producer) {
        world_run(b->world, 1000);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void run(const char *name, Bench *b, bool same)
{
    double rate[RUNS], start, end;
    uint64_t before;
    unsigned i;

    b->done = 0;
    init(b, same);
    for (i = 0; i < RUNS; i++) {
        before = b->done;
        start = seconds();
        do {
            post(b, 64);
            end = seconds();
        } while (end - start < SECONDS);
        rate[i] = (b->done - before) / (end - start);
    }
    qsort(rate, RUNS, sizeof(*rate), by_value);
    printf("%s\t%.0f\tmessages/s\n", name, rate[RUNS / 2]);
    printf("%s-bytes\t%.0f\tMB/s\n", name, rate[RUNS / 2] * b->len / 1e6);
    world_free(b->world);
}

int main(void)
{
    static const struct {
        const char *name;
        IbWrOpcode opcode;
        uint32_t len;
        bool ud, same;
    } rows[] = {
        { "hca-ud-send-256", IB_WR_SEND, 256, true },
        { "hca-ud-send-4096", IB_WR_SEND, 4096, true },
        { "hca-rc-send-64", IB_WR_SEND, 64 },
        { "hca-rc-write-64", IB_WR_RDMA_WRITE, 64 },
        { "hca-rc-write-65536", IB_WR_RDMA_WRITE, 65536 },
        { "hca-rc-write-1048576", IB_WR_RDMA_WRITE, 1048576 },
        { "hca-rc-read-65536", IB_WR_RDMA_READ, 65536 },
        { "hca-rc-write-65536-loopback", IB_WR_RDMA_WRITE, 65536,
          .same = true },
    };
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(rows); i++) {
        Bench b = { .opcode = rows[i].opcode, .len = rows[i].len,
                    .ud = rows[i].ud };

        run(rows[i].name, &b, rows[i].same);
    }
    return 0;
}
