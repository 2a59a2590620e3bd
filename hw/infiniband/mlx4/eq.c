/*
 * ConnectX-3: event queues and interrupts
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An event queue raises one interrupt when an entry is written while it is
 * armed, then stays silent until its doorbell arms it again.  Interrupts are
 * gathered and sent at the end of a batch of work: one batch, one interrupt a
 * vector, and no message is written while the engine is at work.
 */
#include "mlx4.h"
#include "hw/pci/msix.h"
#include "../trace.h"

Mlx4Eq *mlx4_eq_find(Mlx4State *s, uint32_t eqn)
{
    return eqn < ARRAY_SIZE(s->eqs) ? s->eqs[eqn] : NULL;
}

/* -------------------------------------------------------------- interrupts */

static void mlx4_irq_raise(Mlx4State *s, Mlx4Eq *eq)
{
    eq->armed = false;
    s->irq_pending |= UINT64_C(1) << ib_field_get(eq->ctx, MLX4_EQC_INTR);
}

void mlx4_irq_flush(Mlx4State *s)
{
    uint64_t pending = s->irq_pending;

    if (!pending || s->notifying) {
        return;
    }
    s->irq_pending = 0;
    if (!msix_enabled(&s->parent_obj)) {
        s->intx = true;
        pci_set_irq(&s->parent_obj, 1);
        return;
    }
    /* A message may be addressed to this device's own registers. */
    s->notifying = true;
    while (pending) {
        unsigned vector = ctz64(pending);

        pending &= pending - 1;
        msix_notify(&s->parent_obj, vector);
    }
    s->notifying = false;
}

void mlx4_intx_clear(Mlx4State *s)
{
    s->intx = false;
    pci_set_irq(&s->parent_obj, 0);
}

/* ----------------------------------------------------------------- entries */

void mlx4_eq_post(Mlx4State *s, uint32_t eqn, uint8_t *eqe)
{
    Mlx4Eq *eq = mlx4_eq_find(s, eqn);
    uint32_t slot;

    if (!eq) {
        mlx4_guest_error("event 0x%x for EQ %u, which is not there",
                         ib_field_get(eqe, MLX4_EQE_TYPE), eqn);
        return;
    }
    if (((eq->pi - eq->ci) & 0xffffff) >= eq->size) {
        eq->lost++;
        mlx4_guest_error("EQ %u is full: event 0x%x is lost", eqn,
                         ib_field_get(eqe, MLX4_EQE_TYPE));
        return;
    }
    slot = eq->pi & (eq->size - 1);
    eqe[MLX4_EQE_BYTES - 1] = eq->pi & eq->size ? MLX4_EQE_OWNER : 0;
    if (!mlx4_ring_publish(s, &eq->ring, (uint64_t)slot * MLX4_EQE_BYTES, eqe,
                           MLX4_EQE_BYTES)) {
        eq->lost++;
        return;
    }
    eq->pi++;
    trace_mlx4_eqe(eqn, ib_field_get(eqe, MLX4_EQE_TYPE),
                   ib_field_get(eqe, MLX4_EQE_SUBTYPE),
                   ib_field_get(eqe, MLX4_EQE_NUMBER), eq->armed);
    if (eq->armed) {
        mlx4_irq_raise(s, eq);
    }
}

bool mlx4_event_post(Mlx4State *s, Mlx4EventType type, uint8_t *eqe)
{
    if (!s->event_eq[type]) {
        return false;
    }
    ib_field_set(eqe, MLX4_EQE_TYPE, type);
    mlx4_eq_post(s, s->event_eq[type] - 1, eqe);
    return true;
}

void mlx4_event_number(Mlx4State *s, Mlx4EventType type, uint32_t number)
{
    uint8_t eqe[MLX4_EQE_BYTES] = { };

    ib_field_set(eqe, MLX4_EQE_NUMBER, number);
    mlx4_event_post(s, type, eqe);
}

void mlx4_eq_doorbell(Mlx4State *s, uint32_t eqn, const uint8_t *value)
{
    Mlx4Eq *eq = mlx4_eq_find(s, eqn);
    uint32_t ci = ib_field_get(value, MLX4_DB_EQ_CI);
    bool arm = ib_field_get(value, MLX4_DB_EQ_ARM);

    trace_mlx4_eq_doorbell(eqn, ci, arm);
    if (!eq) {
        mlx4_guest_error("doorbell of EQ %u, which is not there", eqn);
        return;
    }
    if (((eq->pi - ci) & 0xffffff) > eq->size) {
        mlx4_guest_error("EQ %u consumed to %u, produced to %u", eqn, ci,
                         eq->pi);
        return;
    }
    eq->ci = ci;
    if (!arm) {
        return;
    }
    eq->armed = true;
    if ((eq->pi ^ ci) & 0xffffff) {
        mlx4_irq_raise(s, eq);
    }
}

/* ---------------------------------------------------------------- commands */

Mlx4Status mlx4_eq_new(Mlx4State *s, uint32_t eqn, const uint8_t *ctx)
{
    unsigned log_size = ib_field_get(ctx, MLX4_EQC_LOG_SIZE);
    Mlx4Eq *eq;

    if (eqn >= ARRAY_SIZE(s->eqs)) {
        mlx4_guest_error("SW2HW_EQ of %u", eqn);
        return MLX4_STAT_BAD_INDEX;
    }
    if (s->eqs[eqn]) {
        mlx4_guest_error("SW2HW_EQ of EQ %u, which is the adapter's already",
                         eqn);
        return MLX4_STAT_BAD_RES_STATE;
    }
    if (log_size > MLX4_LOG_EQES ||
        ib_field_get(ctx, MLX4_EQC_INTR) >= MLX4_VECTORS) {
        mlx4_guest_error("EQ %u of 2^%u entries for vector %u", eqn, log_size,
                         ib_field_get(ctx, MLX4_EQC_INTR));
        return MLX4_STAT_BAD_PARAM;
    }
    eq = g_new0(Mlx4Eq, 1);
    memcpy(eq->ctx, ctx, sizeof(eq->ctx));
    eq->eqn = eqn;
    eq->size = 1u << log_size;
    eq->armed = ib_field_get(ctx, MLX4_EQC_ARM_STATE) == MLX4_EQC_ARMED;
    mlx4_ring_init(&eq->ring, ib_field_get(ctx, MLX4_EQC_MTT_HI),
                   ib_field_get(ctx, MLX4_EQC_MTT_LO),
                   ib_field_get(ctx, MLX4_EQC_LOG_PAGE));
    s->eqs[eqn] = eq;
    return MLX4_STAT_OK;
}

static void mlx4_eq_free(Mlx4State *s, Mlx4Eq *eq)
{
    s->eqs[eq->eqn] = NULL;
    g_free(eq);
}

Mlx4Status mlx4_cmd_sw2hw_eq(Mlx4State *s, Mlx4Cmd *cmd)
{
    Mlx4Status status = mlx4_eq_new(s, cmd->in_mod, cmd->in);
    Mlx4Eq *eq;

    if (status != MLX4_STAT_OK) {
        return status;
    }
    /* A driver that finds an entry its own by mistake never stops reading. */
    eq = s->eqs[cmd->in_mod];
    if (!mlx4_ring_set_owner(s, &eq->ring, 0, eq->size, MLX4_EQE_BYTES)) {
        mlx4_eq_free(s, eq);
        return MLX4_STAT_ICM_ERROR;
    }
    return MLX4_STAT_OK;
}

Mlx4Status mlx4_cmd_hw2sw_eq(Mlx4State *s, Mlx4Cmd *cmd)
{
    Mlx4Eq *eq = mlx4_eq_find(s, cmd->in_mod);

    if (!eq) {
        mlx4_guest_error("HW2SW_EQ of %u", cmd->in_mod);
        return MLX4_STAT_BAD_INDEX;
    }
    mlx4_eq_free(s, eq);
    return MLX4_STAT_OK;
}

/* In: a bit for each event type; bit 31 of the modifier takes them away. */
Mlx4Status mlx4_cmd_map_eq(Mlx4State *s, Mlx4Cmd *cmd)
{
    uint32_t eqn = cmd->in_mod & 0x3ff;
    bool unmap = cmd->in_mod >> 31;
    size_t type;

    if (!unmap && !mlx4_eq_find(s, eqn)) {
        mlx4_guest_error("MAP_EQ to EQ %u, which is not there", eqn);
        return MLX4_STAT_BAD_INDEX;
    }
    for (type = 0; type < ARRAY_SIZE(s->event_eq); type++) {
        if (!(cmd->in_param >> type & 1)) {
            continue;
        }
        if (!unmap) {
            s->event_eq[type] = eqn + 1;
        } else if (s->event_eq[type] == eqn + 1) {
            s->event_eq[type] = 0;
        }
    }
    return MLX4_STAT_OK;
}

void mlx4_eq_reset(Mlx4State *s)
{
    size_t i;

    for (i = 0; i < ARRAY_SIZE(s->eqs); i++) {
        g_free(s->eqs[i]);
        s->eqs[i] = NULL;
    }
    memset(s->event_eq, 0, sizeof(s->event_eq));
    s->irq_pending = 0;
    mlx4_intx_clear(s);
}
