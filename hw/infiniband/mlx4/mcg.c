/*
 * ConnectX-3: multicast groups
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A group's entry is found at the hash of its GID; groups of one hash are
 * chained through entries beyond the hashed ones.  The driver edits entries
 * and chains by itself: what is not on a chain is stale, whatever it says.
 */
#include "mlx4.h"
#include "qemu/cutils.h"
#include "../trace.h"

#define MLX4_MCGS  (1u << MLX4_LOG_MCGS)

static uint32_t mlx4_mgid_hash(Mlx4State *s, const uint8_t gid[16])
{
    uint32_t hash = 0;
    int i;

    for (i = 0; i < 16; i += 2) {
        hash ^= ib_get_be16(gid + i);
    }
    hash ^= hash >> s->log_mc_hash;
    return hash & ((1u << s->log_mc_hash) - 1);
}

void mlx4_mcg_visit(Mlx4State *s, const uint8_t dgid[16], bool own,
                    void (*visit)(void *arg, uint32_t qpn), void *arg)
{
    uint32_t room = (s->mc_entry_bytes - MLX4_MGM_QP_OFFSET) / 4;
    uint32_t index = mlx4_mgid_hash(s, dgid);
    uint32_t hops, count, i;
    const uint8_t *mcg;

    /* A chain cannot be longer than the table, unless it is a loop. */
    for (hops = 0; hops < MLX4_MCGS; hops++) {
        mcg = index < MLX4_MCGS ? s->mcgs[index] : NULL;
        if (!mcg) {
            return;
        }
        if (!memcmp(mcg + MLX4_MGM_GID_OFFSET, dgid, 16) &&
            ib_field_get(mcg, MLX4_MGM_PROTOCOL) == MLX4_MGM_PROTOCOL_IB) {
            break;
        }
        index = ib_field_get(mcg, MLX4_MGM_NEXT);
        if (!index) {
            return;
        }
    }
    if (hops == MLX4_MCGS) {
        return;
    }
    count = MIN(ib_field_get(mcg, MLX4_MGM_COUNT), room);
    for (i = 0; i < count; i++) {
        const uint8_t *member = mcg + MLX4_MGM_QP_OFFSET + 4 * i;

        if (!own || !ib_field_get(member, MLX4_MGM_BLOCK_LOOPBACK)) {
            visit(arg, ib_field_get(member, MLX4_MGM_QPN));
        }
    }
}

/* ---------------------------------------------------------------- commands */

/* In: a GID; out: the index where its chain begins. */
Mlx4Status mlx4_cmd_mgid_hash(Mlx4State *s, Mlx4Cmd *cmd)
{
    cmd->out_param = mlx4_mgid_hash(s, cmd->in);
    return MLX4_STAT_OK;
}

static bool mlx4_mcg_index(Mlx4Cmd *cmd)
{
    if (cmd->in_mod >= MLX4_MCGS) {
        mlx4_guest_error("multicast entry 0x%x", cmd->in_mod);
        return false;
    }
    return true;
}

Mlx4Status mlx4_cmd_read_mcg(Mlx4State *s, Mlx4Cmd *cmd)
{
    if (!mlx4_mcg_index(cmd)) {
        return MLX4_STAT_BAD_INDEX;
    }
    if (s->mcgs[cmd->in_mod]) {
        memcpy(cmd->out, s->mcgs[cmd->in_mod], s->mc_entry_bytes);
    }
    return MLX4_STAT_OK;
}

void mlx4_mcg_set(Mlx4State *s, uint32_t index, const uint8_t *entry)
{
    uint8_t **mcg = &s->mcgs[index];

    if (buffer_is_zero(entry, s->mc_entry_bytes)) {
        g_free(*mcg);
        *mcg = NULL;
        return;
    }
    if (!*mcg) {
        *mcg = g_malloc(1u << MLX4_LOG_MC_ENTRY);
    }
    memcpy(*mcg, entry, s->mc_entry_bytes);
}

Mlx4Status mlx4_cmd_write_mcg(Mlx4State *s, Mlx4Cmd *cmd)
{
    if (!mlx4_mcg_index(cmd)) {
        return MLX4_STAT_BAD_INDEX;
    }
    trace_mlx4_write_mcg(cmd->in_mod,
                         ib_get_be64(cmd->in + MLX4_MGM_GID_OFFSET),
                         ib_get_be64(cmd->in + MLX4_MGM_GID_OFFSET + 8),
                         ib_field_get(cmd->in, MLX4_MGM_COUNT));
    mlx4_mcg_set(s, cmd->in_mod, cmd->in);
    return MLX4_STAT_OK;
}

void mlx4_mcg_reset(Mlx4State *s)
{
    uint32_t i;

    for (i = 0; i < MLX4_MCGS; i++) {
        g_free(s->mcgs[i]);
        s->mcgs[i] = NULL;
    }
}
