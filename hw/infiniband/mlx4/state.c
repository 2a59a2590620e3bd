/*
 * ConnectX-3: migration
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Contexts are saved as the driver wrote them and made again from them as the
 * commands make them, so that nothing gets in that a command would refuse.
 * Keys and page tables are in guest memory and come with it.
 */
#include "mlx4.h"
#include "qemu/error-report.h"

#define MLX4_STATE_VERSION  1
/* Above how a CQ is armed: its event is held back. */
#define MLX4_CQ_HELD        0x80

static void mlx4_save_bool(IbStateWriter *w, bool value)
{
    ib_state_put8(w, value);
}

/* -------------------------------------------------------------- the adapter */

static void mlx4_save_registers(Mlx4State *s, IbStateWriter *w)
{
    size_t i;

    ib_state_begin(w, "REGS", MLX4_STATE_VERSION);
    ib_state_put64(w, s->config.node.node_guid);
    ib_state_put64(w, s->config.node.port_guid);
    ib_state_put_bytes(w, s->hcr, sizeof(s->hcr));
    for (i = 0; i < MLX4_CATAS_DWORDS; i++) {
        ib_state_put32(w, s->catas[i]);
    }
    mlx4_save_bool(w, s->intx);
    ib_state_put32(w, s->cq_arm_high);
    mlx4_save_bool(w, s->running);
    ib_state_put64(w, s->mtt_base);
    ib_state_put64(w, s->dmpt_base);
    ib_state_put32(w, s->num_mpts);
    ib_state_put8(w, s->log_mc_hash);
    ib_state_put32(w, s->mc_entry_bytes);
    mlx4_save_bool(w, s->big_endian_host);
    ib_state_put32(w, s->special_base);
    for (i = 0; i < ARRAY_SIZE(s->event_eq); i++) {
        ib_state_put16(w, s->event_eq[i]);
    }
    ib_state_end(w);
}

static void mlx4_load_registers(Mlx4State *s, IbStateReader *r)
{
    uint64_t node_guid, port_guid;
    size_t i;

    ib_state_enter(r, "REGS", MLX4_STATE_VERSION);
    node_guid = ib_state_get64(r);
    port_guid = ib_state_get64(r);
    if (ib_state_ok(r) && (node_guid != s->config.node.node_guid ||
                           port_guid != s->config.node.port_guid)) {
        error_report("connectx3: the saved adapter has node-guid 0x%016"
                     PRIx64 " and port-guid 0x%016" PRIx64
                     ": give them to this one", node_guid, port_guid);
        ib_state_fail(r);
    }
    ib_state_get_bytes(r, s->hcr, sizeof(s->hcr));
    for (i = 0; i < MLX4_CATAS_DWORDS; i++) {
        s->catas[i] = ib_state_get32(r);
    }
    s->intx = ib_state_get8(r);
    s->cq_arm_high = ib_state_get32(r);
    s->running = ib_state_get8(r);
    s->mtt_base = ib_state_get64(r);
    s->dmpt_base = ib_state_get64(r);
    s->num_mpts = ib_state_get32(r);
    s->log_mc_hash = ib_state_get8(r);
    s->mc_entry_bytes = ib_state_get32(r);
    s->big_endian_host = ib_state_get8(r);
    s->special_base = ib_state_get32(r);
    for (i = 0; i < ARRAY_SIZE(s->event_eq); i++) {
        s->event_eq[i] = ib_state_get16(r);
    }
    /* As INIT_HCA would have them. */
    if (s->running && (!is_power_of_2(s->num_mpts) ||
                       s->num_mpts > 1u << MLX4_LOG_MPTS ||
                       s->log_mc_hash > MLX4_LOG_MCGS ||
                       s->mc_entry_bytes < 64 ||
                       s->mc_entry_bytes > 1u << MLX4_LOG_MC_ENTRY)) {
        ib_state_fail(r);
    }
    ib_state_leave(r);
}

/* ---------------------------------------------------------------- objects */

/*
 * A section of objects of one kind: their number, then each with its own
 * number and content.
 */
typedef struct Mlx4StateKind {
    const char tag[5];
    uint32_t limit;               /* of their numbers */
    bool (*exists)(Mlx4State *s, uint32_t number);
    void (*save)(Mlx4State *s, uint32_t number, IbStateWriter *w);
    bool (*load)(Mlx4State *s, uint32_t number, IbStateReader *r);
} Mlx4StateKind;

static bool mlx4_has_eq(Mlx4State *s, uint32_t n)
{
    return s->eqs[n];
}

static void mlx4_save_eq(Mlx4State *s, uint32_t n, IbStateWriter *w)
{
    Mlx4Eq *eq = s->eqs[n];

    ib_state_put_bytes(w, eq->ctx, sizeof(eq->ctx));
    ib_state_put32(w, eq->pi);
    ib_state_put32(w, eq->ci);
    mlx4_save_bool(w, eq->armed);
    ib_state_put64(w, eq->lost);
}

static bool mlx4_load_eq(Mlx4State *s, uint32_t n, IbStateReader *r)
{
    uint8_t ctx[MLX4_EQC_BYTES];

    ib_state_get_bytes(r, ctx, sizeof(ctx));
    if (!ib_state_ok(r) || mlx4_eq_new(s, n, ctx) != MLX4_STAT_OK) {
        return false;
    }
    s->eqs[n]->pi = ib_state_get32(r);
    s->eqs[n]->ci = ib_state_get32(r);
    s->eqs[n]->armed = ib_state_get8(r);
    s->eqs[n]->lost = ib_state_get64(r);
    return true;
}

static bool mlx4_has_cq(Mlx4State *s, uint32_t n)
{
    return s->cqs[n];
}

static void mlx4_save_cq(Mlx4State *s, uint32_t n, IbStateWriter *w)
{
    Mlx4Cq *cq = s->cqs[n];

    ib_state_put_bytes(w, cq->ctx, sizeof(cq->ctx));
    ib_state_put32(w, cq->pi);
    ib_state_put32(w, cq->ci);
    ib_state_put32(w, cq->solicited_pi);
    ib_state_put8(w, cq->arm | (cq->held ? MLX4_CQ_HELD : 0));
    mlx4_save_bool(w, cq->failed);
}

static bool mlx4_load_cq(Mlx4State *s, uint32_t n, IbStateReader *r)
{
    uint8_t ctx[MLX4_CQC_BYTES], arm;

    ib_state_get_bytes(r, ctx, sizeof(ctx));
    if (!ib_state_ok(r) || mlx4_cq_new(s, n, ctx) != MLX4_STAT_OK) {
        return false;
    }
    s->cqs[n]->pi = ib_state_get32(r);
    s->cqs[n]->ci = ib_state_get32(r);
    s->cqs[n]->solicited_pi = ib_state_get32(r);
    arm = ib_state_get8(r);
    s->cqs[n]->arm = arm & ~MLX4_CQ_HELD;
    s->cqs[n]->failed = ib_state_get8(r);
    if (arm & MLX4_CQ_HELD) {
        mlx4_cq_hold(s, s->cqs[n], 0);
    }
    return true;
}

static bool mlx4_has_srq(Mlx4State *s, uint32_t n)
{
    return s->srqs[n];
}

static void mlx4_save_srq(Mlx4State *s, uint32_t n, IbStateWriter *w)
{
    Mlx4Srq *srq = s->srqs[n];

    ib_state_put_bytes(w, srq->ctx, sizeof(srq->ctx));
    ib_state_put16(w, srq->next);
    ib_state_put16(w, srq->taken);
    ib_state_put16(w, srq->posted);
    ib_state_put16(w, srq->limit);
    mlx4_save_bool(w, srq->failed);
}

static bool mlx4_load_srq(Mlx4State *s, uint32_t n, IbStateReader *r)
{
    uint8_t ctx[MLX4_SRQC_BYTES];

    ib_state_get_bytes(r, ctx, sizeof(ctx));
    if (!ib_state_ok(r) || mlx4_srq_new(s, n, ctx) != MLX4_STAT_OK) {
        return false;
    }
    s->srqs[n]->next = ib_state_get16(r);
    s->srqs[n]->taken = ib_state_get16(r);
    s->srqs[n]->posted = ib_state_get16(r);
    s->srqs[n]->limit = ib_state_get16(r);
    s->srqs[n]->failed = ib_state_get8(r);
    return true;
}

static bool mlx4_has_qp(Mlx4State *s, uint32_t n)
{
    return s->qps[n];
}

static void mlx4_save_qp(Mlx4State *s, uint32_t n, IbStateWriter *w)
{
    Mlx4Qp *qp = s->qps[n];

    ib_state_put_bytes(w, qp->ctx, sizeof(qp->ctx));
    ib_state_put16(w, qp->sq_next);
    ib_state_put16(w, qp->rq_next);
    ib_state_put16(w, qp->rq_posted);
    mlx4_save_bool(w, qp->sqd_event);
}

static bool mlx4_load_qp(Mlx4State *s, uint32_t n, IbStateReader *r)
{
    uint8_t ctx[MLX4_QPC_BYTES];
    uint32_t qpn = n;

    ib_state_get_bytes(r, ctx, sizeof(ctx));
    if (ib_field_get(ctx, MLX4_QPC_SERVICE) == MLX4_SERVICE_XRC) {
        qpn |= ib_field_get(ctx, MLX4_QPC_LOCAL_QPN) & MLX4_QPN_XRC_TARGET;
    }
    if (!ib_state_ok(r) || mlx4_qp_new(s, qpn, ctx) != MLX4_STAT_OK) {
        return false;
    }
    s->qps[n]->sq_next = ib_state_get16(r);
    s->qps[n]->rq_next = ib_state_get16(r);
    s->qps[n]->rq_posted = ib_state_get16(r);
    s->qps[n]->sqd_event = ib_state_get8(r);
    return true;
}

static bool mlx4_has_mcg(Mlx4State *s, uint32_t n)
{
    return s->mcgs[n];
}

static void mlx4_save_mcg(Mlx4State *s, uint32_t n, IbStateWriter *w)
{
    ib_state_put_bytes(w, s->mcgs[n], s->mc_entry_bytes);
}

static bool mlx4_load_mcg(Mlx4State *s, uint32_t n, IbStateReader *r)
{
    uint8_t entry[1 << MLX4_LOG_MC_ENTRY];

    ib_state_get_bytes(r, entry, s->mc_entry_bytes);
    if (!ib_state_ok(r)) {
        return false;
    }
    mlx4_mcg_set(s, n, entry);
    return true;
}

/* In this order, since the later ones refer to the earlier ones. */
static const Mlx4StateKind mlx4_state_kinds[] = {
    { "EQS ", 1 << MLX4_LOG_EQS, mlx4_has_eq, mlx4_save_eq, mlx4_load_eq },
    { "CQS ", 1 << MLX4_LOG_CQS, mlx4_has_cq, mlx4_save_cq, mlx4_load_cq },
    { "SRQS", 1 << MLX4_LOG_SRQS, mlx4_has_srq, mlx4_save_srq,
      mlx4_load_srq },
    { "QPS ", 1 << MLX4_LOG_QPS, mlx4_has_qp, mlx4_save_qp, mlx4_load_qp },
    { "MCGS", 1 << MLX4_LOG_MCGS, mlx4_has_mcg, mlx4_save_mcg,
      mlx4_load_mcg },
};

static void mlx4_save_kind(Mlx4State *s, const Mlx4StateKind *kind,
                           IbStateWriter *w)
{
    uint32_t count = 0;
    uint32_t n;

    for (n = 0; n < kind->limit; n++) {
        count += kind->exists(s, n);
    }
    ib_state_begin(w, kind->tag, MLX4_STATE_VERSION);
    ib_state_put32(w, count);
    for (n = 0; n < kind->limit; n++) {
        if (kind->exists(s, n)) {
            ib_state_put32(w, n);
            kind->save(s, n, w);
        }
    }
    ib_state_end(w);
}

static void mlx4_load_kind(Mlx4State *s, const Mlx4StateKind *kind,
                           IbStateReader *r)
{
    uint32_t count, i, n;

    ib_state_enter(r, kind->tag, MLX4_STATE_VERSION);
    count = ib_state_get32(r);
    if (count > kind->limit || (count && !s->running)) {
        ib_state_fail(r);
    }
    for (i = 0; i < count && ib_state_ok(r); i++) {
        n = ib_state_get32(r);
        if (n >= kind->limit || !kind->load(s, n, r)) {
            ib_state_fail(r);
        }
    }
    ib_state_leave(r);
}

/* -------------------------------------------------------------------- all */

void mlx4_state_save(Mlx4State *s, GByteArray *bytes)
{
    GByteArray *engine = g_byte_array_new();
    IbStateWriter w;
    size_t i;

    ib_state_writer_init(&w, bytes);
    mlx4_save_registers(s, &w);
    mlx4_icm_save(s, &w);
    for (i = 0; i < ARRAY_SIZE(mlx4_state_kinds); i++) {
        mlx4_save_kind(s, &mlx4_state_kinds[i], &w);
    }
    ib_hca_save(s->hca, engine);
    ib_state_begin(&w, "HCA ", MLX4_STATE_VERSION);
    ib_state_put32(&w, engine->len);
    ib_state_put_bytes(&w, engine->data, engine->len);
    ib_state_end(&w);
    g_byte_array_free(engine, true);
}

static bool mlx4_load_engine(Mlx4State *s, IbStateReader *r)
{
    g_autofree uint8_t *engine = NULL;
    uint32_t len;
    bool ok;

    ib_state_enter(r, "HCA ", MLX4_STATE_VERSION);
    len = ib_state_get32(r);
    if (!ib_state_ok(r) || len > (size_t)(r->end - r->at)) {
        return false;
    }
    engine = g_malloc(len);
    ib_state_get_bytes(r, engine, len);
    ib_state_leave(r);
    ok = ib_state_ok(r) && ib_hca_load(s->hca, engine, len);
    return ok;
}

bool mlx4_state_load(Mlx4State *s, const void *data, size_t len)
{
    IbStateReader r;
    uint32_t qpn;
    size_t i;

    mlx4_reset(s);
    ib_state_reader_init(&r, data, len);
    mlx4_load_registers(s, &r);
    if (!ib_state_ok(&r) || !mlx4_icm_load(s, &r)) {
        return false;
    }
    for (i = 0; i < ARRAY_SIZE(mlx4_state_kinds); i++) {
        mlx4_load_kind(s, &mlx4_state_kinds[i], &r);
    }
    if (!ib_state_ok(&r) || !mlx4_load_engine(s, &r)) {
        return false;
    }
    for (qpn = 0; qpn < 1u << MLX4_LOG_QPS; qpn++) {
        if (s->qps[qpn]) {
            mlx4_qp_state_moved(s->qps[qpn], ib_qp_state(s->qps[qpn]->ib));
        }
    }
    for (i = 0; i < 1u << MLX4_LOG_CQS; i++) {
        s->cq_failed |= s->cqs[i] && s->cqs[i]->failed;
    }
    mlx4_work_soon(s);
    return true;
}
