/*
 * Fuzzer of an adapter: a peer and a driver that do anything at all
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is a list of commands: packets of a peer to QPs of each type,
 * whose headers fit as far as the input does not say otherwise; entries of
 * the queues; transitions; time; a migration.  No entry may complete twice or
 * out of order.
 */
#include "../unit/hca-world.h"

enum { RC, RC_SRQ, UC, UD, XRC_INI, XRC_TGT, GSI, SMI, QPS };

typedef struct Fuzz {
    const uint8_t *at, *end;
    World *world;
    TestHca *a, *b;               /* the peer, the victim */
    TestQp *qp[QPS];
    TestKey *mem;
    unsigned sends[QPS];
    bool spoiled;                 /* a state of other bytes was loaded */
} Fuzz;

static uint8_t get8(Fuzz *f)
{
    return f->at < f->end ? *f->at++ : 0;
}

static uint32_t get32(Fuzz *f)
{
    uint32_t v = get8(f);

    v = v << 8 | get8(f);
    v = v << 8 | get8(f);
    return v << 8 | get8(f);
}

static const IbQpType types[QPS] = {
    [RC] = IB_QPT_RC, [RC_SRQ] = IB_QPT_RC, [UC] = IB_QPT_UC,
    [UD] = IB_QPT_UD, [XRC_INI] = IB_QPT_XRC_INI, [XRC_TGT] = IB_QPT_XRC_TGT,
    [GSI] = IB_QPT_GSI, [SMI] = IB_QPT_SMI,
};

static void fuzz_wc(TestQp *qp, const IbCompletion *wc)
{
    if (wc->flags & IB_WC_SEND_QUEUE) {
        g_assert(wc->id == *(unsigned *)qp->user);
        ++*(unsigned *)qp->user;
    }
}

static void make_qps(Fuzz *f)
{
    static TestRecvQueue srq;
    unsigned i;

    srq.producer = srq.consumer = 0;
    f->b->xrc_srq = &srq;
    for (i = 0; i < QPS; i++) {
        TestQp *qp = hca_qp(f->b, 0x40 + i);

        qp->attr = (IbQpAttr) {
            .type = types[i], .port = 1, .qkey = 0x80010000,
            .path_mtu = IB_MTU_256, .path.dlid = i == UC ? 2 : 1,
            .dest_qpn = i == UC ? 0x40 + UC : 0x40 + i,
            .ack_timeout = 14, .retry_count = 2, .rnr_retry = 2,
            .min_rnr_timer = 10, .max_rd_atomic = 2, .max_dest_rd_atomic = 2,
            .access = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
                      IB_ACCESS_REMOTE_ATOMIC,
            .has_srq = i == RC_SRQ, .alt_port = 1, .alt_path.dlid = 1,
            .path_mig_state = IB_PATH_MIGRATED,
        };
        if (i == RC_SRQ) {
            qp->rq = &srq;
        }
        qp->user = &f->sends[i];
        qp->on_wc = fuzz_wc;
        f->qp[i] = qp;
        hca_qp_to(qp, IB_QPS_RTS);
    }
    ib_hca_bind_special(f->b->hca, 1, 0, f->qp[SMI]->qp);
    ib_hca_bind_special(f->b->hca, 1, 1, f->qp[GSI]->qp);
}

/* A packet of the peer's: right but for what the input says. */
static void do_packet(Fuzz *f)
{
    static const uint8_t service[QPS] = {
        [RC] = IB_SERVICE_RC, [RC_SRQ] = IB_SERVICE_RC, [UC] = IB_SERVICE_UC,
        [UD] = IB_SERVICE_UD, [XRC_INI] = IB_SERVICE_XRC,
        [XRC_TGT] = IB_SERVICE_XRC, [GSI] = IB_SERVICE_UD,
        [SMI] = IB_SERVICE_UD,
    };
    unsigned i = get8(f) % QPS;
    uint8_t op = get8(f), how = get8(f), size = get8(f);
    IbPacketRoute route = {
        .vl = i == SMI ? 15 : 0, .dlid = 2, .slid = 1, .has_grh = how & 1,
    };
    IbPacketBth bth = {
        .opcode = how & 2 ? op : service[i] | (op & 0x1f),
        .se = how & 4, .a = how & 8, .m = how & 16, .pkey = 0xffff,
        .fecn = (op >> 5) == 1, .becn = (op >> 5) == 2,
        .dest_qpn = i >= GSI ? (i == GSI) : 0x40 + i,
    };
    uint32_t base, bytes = size < 16 ? size : size < 200 ? 256 : size * 5;
    uint8_t buf[IB_LINK_PACKET_MAX], *at;
    IbPacket packet = { .data = buf, .flags = IB_PACKET_NO_ICRC };
    const IbOpcodeInfo *info = &ib_opcode_info[bth.opcode];
    size_t len;

    if (!info->name) {
        return;
    }
    base = info->flags & IB_IS_RESPONSE ? ib_qp_last_acked_psn(f->qp[i]->qp)
                                        : ib_qp_rq_psn(f->qp[i]->qp);
    bth.psn = (base + (how & 32 ? (int8_t)get8(f) : (how >> 6))) &
              IB_PSN_MASK;
    if (!(info->flags & IB_HAS_PAYLOAD)) {
        bytes = 0;
    }
    if (i >= GSI) {
        bytes = 256;
    }
    ib_put_be64(route.dgid, UINT64_C(0xfe80000000000000));
    ib_put_be64(route.dgid + 8, ib_node_guid(ib_hca_node(f->b->hca), 1, 0));
    len = ib_packet_bytes(route.has_grh, bth.opcode, bytes);
    memset(buf, 0, len);
    at = buf + ib_packet_put_headers(buf, &route, &bth, bytes);
    if (info->flags & IB_HAS_DETH) {
        ib_put_be32(at, 0x80010000);
        ib_put_be32(at + 4, 1);
        at += IB_DETH_BYTES;
    }
    if (info->flags & IB_HAS_XRCETH) {
        at += IB_XRCETH_BYTES;
    }
    if (info->flags & IB_HAS_RETH) {
        ib_put_be64(at, f->mem->va + get8(f));
        ib_put_be32(at + 8, f->mem->key);
        ib_put_be32(at + 12, size & 1 ? get32(f) : bytes + 256 * get8(f));
        at += IB_RETH_BYTES;
    }
    if (info->flags & IB_HAS_ATOMICETH) {
        ib_put_be64(at, f->mem->va + get8(f) % 32);
        ib_put_be32(at + 8, f->mem->key);
        at += IB_ATOMICETH_BYTES;
    }
    if (info->flags & IB_HAS_AETH) {
        *at = get8(f);
    }
    packet.len = ib_packet_seal(buf, false);
    ib_link_transmit(ib_hca_link(f->a->hca, 1), &packet, route.vl);
    ib_link_flush(ib_hca_link(f->a->hca, 1));
}

/* What a congestion manager sets. */
static void do_congestion(Fuzz *f)
{
    uint8_t in[256] = { 1, 0x21, 2, 2 }, out[256];
    unsigned i, n = 68 + get8(f) % 64;

    in[17] = get8(f) & 1 ? 0x16 : 0x17;
    for (i = 64; i < n; i++) {
        in[i] = get8(f);
    }
    ib_node_process_mad(ib_hca_node(f->b->hca), 1, 1, 0, in, out);
}

/* Any bytes behind a right LRH. */
static void do_garbage(Fuzz *f)
{
    uint8_t buf[512];
    IbPacket packet = { .data = buf, .flags = IB_PACKET_NO_ICRC };
    unsigned i, len = 20 + 4 * (get8(f) % 100);

    for (i = 0; i < len; i++) {
        buf[i] = get8(f);
    }
    ib_field_set(buf, IB_LRH_LVER, 0);
    ib_field_set(buf, IB_LRH_PKTLEN, len / 4);
    packet.len = len;
    ib_link_transmit(ib_hca_link(f->a->hca, 1), &packet, buf[0] >> 4);
    ib_link_flush(ib_hca_link(f->a->hca, 1));
}

static void do_send(Fuzz *f)
{
    TestQp *qp = f->qp[get8(f) % QPS];
    uint8_t op = get8(f), how = get8(f);
    IbSendWr *wr;

    if (qp->producer - qp->consumer >= 64 ||
        qp->producer - *(unsigned *)qp->user >= 128) {
        return;
    }
    wr = qp_add_send(qp, op % (IB_WR_RAW + 1), f->mem, 0,
                     how & 1 ? 8 : get8(f) * 60);
    wr->flags = how >> 1 & 31;
    wr->remote_va = f->mem->va;
    wr->remote_key = how & 64 ? 1 : f->mem->key;
    wr->address.dlid = how & 128 ? 2 : 1;
    wr->address.static_rate = op >> 4;
    wr->dest_qpn = 0x40 + UD;
    wr->qkey = 0x80010000;
    qp->bad_send = op > 250;
    qp_ring(qp);
}

static void do_recv(Fuzz *f)
{
    unsigned i = get8(f) % QPS;
    TestQp *qp = f->qp[i];
    TestRecvQueue *rq = types[i] == IB_QPT_XRC_TGT ? f->b->xrc_srq : qp->rq;
    uint8_t size = get8(f);
    IbRecvWr *wr;

    if (rq->producer - rq->consumer >= 64) {
        return;
    }
    wr = &rq->wr[rq->producer % WORLD_RING];
    wr->id = rq->producer++;
    wr->num_sge = 2;
    wr->sge[0] = (IbSge) { .va = f->mem->va, .len = size, .key = f->mem->key };
    wr->sge[1] = (IbSge) { .va = f->mem->va, .len = size * 16,
                           .key = size & 1 ? f->mem->key : 0x666 };
    if (size % 8 == 1) {
        rq->bad = true;
    }
    ib_qp_post_recv(qp->qp);
}

static void do_modify(Fuzz *f)
{
    unsigned i = get8(f) % QPS;
    IbQpState state = get8(f) % 7;
    IbQpAttr attr = f->qp[i]->attr;
    uint8_t what = get8(f);

    attr.path_mtu = what & 7;
    attr.max_dest_rd_atomic = what >> 3 & 3;
    attr.path_mig_state = what >> 5 & 3;
    attr.path.loopback = what >> 7;
    attr.path.static_rate = what >> 3 & 7;
    if (ib_qp_modify(f->qp[i]->qp, state, &attr) && state == IB_QPS_RESET) {
        /* The driver forgets what it had posted, too. */
        f->qp[i]->consumer = f->qp[i]->producer;
        f->sends[i] = f->qp[i]->producer;
    }
}

static void do_migrate(Fuzz *f)
{
    GByteArray *bytes = g_byte_array_new();
    uint8_t spoil = get8(f);
    bool loaded;

    ib_hca_save(f->b->hca, bytes);
    if (spoil) {
        bytes->data[get32(f) % bytes->len] ^= spoil;
    }
    world_replace(f->b);
    loaded = ib_hca_load(f->b->hca, bytes->data, bytes->len);
    f->spoiled |= spoil != 0;
    g_assert(loaded || f->spoiled);
    g_byte_array_unref(bytes);
    ib_hca_bind_special(f->b->hca, 1, 0, f->qp[SMI]->qp);
    ib_hca_bind_special(f->b->hca, 1, 1, f->qp[GSI]->qp);
    ib_link_cable_attach(ib_hca_link(f->b->hca, 1));
    if (spoil) {
        /* Ids may be anything now: what counts is that nothing breaks. */
        unsigned i;

        for (i = 0; i < QPS; i++) {
            f->qp[i]->on_wc = NULL;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Fuzz f = { .at = data, .end = data + size };
    IbHcaConfig config = world_config(1);

    config.link.training_ms = 0;
    f.world = world_pair(&config);
    f.a = f.world->hca[0];
    f.b = f.world->hca[1];
    f.mem = hca_memory(f.b, 8192, IB_ACCESS_LOCAL_WRITE |
                       IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
                       IB_ACCESS_REMOTE_ATOMIC);
    make_qps(&f);
    while (f.at < f.end) {
        switch (get8(&f) % 16) {
        case 0 ... 5:
            do_packet(&f);
            break;
        case 6:
            if (get8(&f) & 1) {
                do_congestion(&f);
            } else {
                do_garbage(&f);
            }
            break;
        case 7 ... 8:
            do_send(&f);
            break;
        case 9 ... 10:
            do_recv(&f);
            break;
        case 11:
            do_modify(&f);
            break;
        case 12:
            world_run(f.world, 1000 * (1 + get8(&f)));
            break;
        case 13:
            world_run(f.world, WORLD_MS * get8(&f) / 4);
            break;
        case 14:
            world_stop(&f.b->port[1], get8(&f) & 1);
            break;
        default:
            do_migrate(&f);
            break;
        }
    }
    world_stop(&f.b->port[1], false);
    world_run(f.world, 100 * WORLD_MS);
    world_free(f.world);
    return 0;
}
