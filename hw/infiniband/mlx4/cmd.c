/*
 * ConnectX-3: the table of commands
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A command is done before the register write that started it returns.  How
 * the driver learns of it is its choice: it polls the register, or asked for
 * an event.
 */
#include "mlx4.h"
#include "../trace.h"

/* What the parameters are. */
enum {
    IN_BOX   = 1 << 0,            /* mailbox of @in_len bytes */
    IN_MAP   = 1 << 1,            /* mailbox of as many entries as in_mod */
    OUT_BOX  = 1 << 2,            /* mailbox of @out_len bytes */
    OUT_IMM  = 1 << 3,            /* a value: returned with the completion */
    RUNNING  = 1 << 4,            /* only after INIT_HCA */
    OP_BOX   = 1 << 5,            /* out mailbox only with modifier 2 */
};

struct Mlx4CmdRow {
    Mlx4Opcode opcode;
    const char *name;
    Mlx4CmdHandler *handler;
    uint8_t kind;
    uint16_t in_len, out_len;
};

static Mlx4Status mlx4_cmd_nop(Mlx4State *s, Mlx4Cmd *cmd)
{
    return MLX4_STAT_OK;
}

static const struct Mlx4CmdRow mlx4_cmds[] = {
#define CMD(name, handler, ...)                                           \
    { MLX4_CMD_##name, #name, mlx4_cmd_##handler, ## __VA_ARGS__ }
#define QP(name)                                                          \
    CMD(name, qp_modify, RUNNING | IN_BOX,                                \
        MLX4_QPC_BOX_OFFSET + MLX4_QPC_BYTES)
    /* Firmware and its memory */
    CMD(QUERY_FW, query_fw, OUT_BOX, 0, 0x100),
    CMD(MAP_FA, map_fa, IN_MAP),
    CMD(UNMAP_FA, nop, 0),
    CMD(RUN_FW, nop, 0),
    CMD(QUERY_DEV_CAP, query_dev_cap, OUT_BOX, 0, 0x100),
    CMD(QUERY_ADAPTER, query_adapter, OUT_BOX, 0, 0x100),
    CMD(MOD_STAT_CFG, mod_stat_cfg, OUT_BOX | OP_BOX, 0, 0x100),
    CMD(SET_ICM_SIZE, set_icm_size, OUT_IMM),
    CMD(MAP_ICM_AUX, map_fa, IN_MAP),
    CMD(UNMAP_ICM_AUX, nop, 0),
    CMD(MAP_ICM, map_icm, IN_MAP),
    CMD(UNMAP_ICM, unmap_icm, 0),
    /* The adapter */
    CMD(INIT_HCA, init_hca, IN_BOX, MLX4_HCA_BYTES),
    CMD(CLOSE_HCA, close_hca, 0),
    CMD(QUERY_HCA, query_hca, RUNNING | OUT_BOX, 0, 0x300),
    CMD(DIAG_RPRT, diag_rprt, RUNNING | OUT_BOX, 0, 0x200),
    CMD(NOP, nop, 0),
    /* Ports and management */
    CMD(QUERY_PORT, query_port, OUT_BOX, 0, 0x100),
    CMD(INIT_PORT, init_port, RUNNING),
    CMD(CLOSE_PORT, close_port, 0),
    CMD(SET_PORT, set_port, RUNNING | IN_BOX, 0x30),
    CMD(SET_NODE, set_node, RUNNING | IN_BOX, IB_NODEDESC_BYTES),
    CMD(CONF_SPECIAL_QP, conf_special_qp, RUNNING),
    CMD(MAD_IFC, mad_ifc, RUNNING | IN_BOX | OUT_BOX, MLX4_MAD_IFC_BYTES,
        MLX4_MAD_IFC_BYTES),
    /* Memory */
    CMD(SW2HW_MPT, sw2hw_mpt, RUNNING | IN_BOX, MLX4_MPT_BYTES),
    CMD(HW2SW_MPT, hw2sw_mpt, RUNNING),
    CMD(SYNC_TPT, sync_tpt, RUNNING),
    /* Queues */
    CMD(SW2HW_EQ, sw2hw_eq, RUNNING | IN_BOX, MLX4_EQC_BYTES),
    CMD(HW2SW_EQ, hw2sw_eq, RUNNING),
    CMD(MAP_EQ, map_eq, RUNNING),
    CMD(SW2HW_CQ, sw2hw_cq, RUNNING | IN_BOX, MLX4_CQC_BYTES),
    CMD(HW2SW_CQ, hw2sw_cq, RUNNING),
    CMD(MODIFY_CQ, modify_cq, RUNNING | IN_BOX, MLX4_CQC_BYTES),
    CMD(SW2HW_SRQ, sw2hw_srq, RUNNING | IN_BOX, MLX4_SRQC_BYTES),
    CMD(HW2SW_SRQ, hw2sw_srq, RUNNING),
    CMD(QUERY_SRQ, query_srq, RUNNING | OUT_BOX, 0, MLX4_SRQC_BYTES),
    CMD(ARM_SRQ, arm_srq, RUNNING),
    QP(RST2INIT_QP),
    QP(INIT2INIT_QP),
    QP(INIT2RTR_QP),
    QP(RTR2RTS_QP),
    QP(RTS2RTS_QP),
    QP(SQERR2RTS_QP),
    QP(RTS2SQD_QP),
    QP(SQD2SQD_QP),
    QP(SQD2RTS_QP),
    QP(2ERR_QP),
    CMD(2RST_QP, qp_reset, RUNNING),
    CMD(QUERY_QP, query_qp, RUNNING | OUT_BOX, 0,
        MLX4_QPC_BOX_OFFSET + MLX4_QPC_BYTES),
    /* Multicast */
    CMD(MGID_HASH, mgid_hash, RUNNING | IN_BOX | OUT_IMM, 16),
    CMD(READ_MCG, read_mcg, RUNNING | OUT_BOX, 0, 1 << MLX4_LOG_MC_ENTRY),
    CMD(WRITE_MCG, write_mcg, RUNNING | IN_BOX, 1 << MLX4_LOG_MC_ENTRY),
#undef QP
#undef CMD
};

static const struct Mlx4CmdRow *mlx4_cmd_find(uint16_t opcode)
{
    size_t i;

    for (i = 0; i < ARRAY_SIZE(mlx4_cmds); i++) {
        if (mlx4_cmds[i].opcode == opcode) {
            return &mlx4_cmds[i];
        }
    }
    return NULL;
}

/* Read what the row says into cmd_in. */
static Mlx4Status mlx4_cmd_read_box(Mlx4State *s,
                                    const struct Mlx4CmdRow *row,
                                    Mlx4Cmd *cmd)
{
    size_t len = row->in_len;

    if (row->kind & IN_MAP) {
        len = MIN((uint64_t)cmd->in_mod * MLX4_MAP_ENTRY_BYTES,
                  MLX4_MAILBOX_BYTES);
    } else if (!(row->kind & IN_BOX)) {
        return MLX4_STAT_OK;
    }
    if (len && !mlx4_dma_read(s, cmd->in_param, s->cmd_in, len)) {
        return MLX4_STAT_BAD_PARAM;
    }
    return MLX4_STAT_OK;
}

static Mlx4Status mlx4_cmd_execute(Mlx4State *s, Mlx4Cmd *cmd)
{
    const struct Mlx4CmdRow *row = mlx4_cmd_find(cmd->opcode);
    Mlx4Status status;
    bool out_box;

    if (!row) {
        mlx4_unimp("command 0x%03x", cmd->opcode);
        return MLX4_STAT_BAD_OP;
    }
    if ((row->kind & RUNNING) && !s->running) {
        mlx4_guest_error("command %s before INIT_HCA", row->name);
        return MLX4_STAT_BAD_SYS_STATE;
    }
    status = mlx4_cmd_read_box(s, row, cmd);
    if (status != MLX4_STAT_OK) {
        return status;
    }
    out_box = (row->kind & OUT_BOX) &&
              (!(row->kind & OP_BOX) || cmd->op_mod == 2);
    memset(s->cmd_out, 0, row->out_len);
    status = row->handler(s, cmd);
    if (status == MLX4_STAT_OK && out_box &&
        !mlx4_dma_write(s, cmd->out_param, s->cmd_out, row->out_len)) {
        status = MLX4_STAT_BAD_PARAM;
    }
    trace_mlx4_cmd(row->opcode, row->name, cmd->in_mod, cmd->op_mod, status);
    return status;
}

static void mlx4_cmd_event(Mlx4State *s, uint16_t token, Mlx4Status status,
                           uint64_t out)
{
    uint8_t eqe[MLX4_EQE_BYTES] = { };

    ib_field_set(eqe, MLX4_EQE_CMD_TOKEN, token);
    ib_field_set(eqe, MLX4_EQE_CMD_STATUS, status);
    ib_put_be64(eqe + MLX4_EQE_CMD_OUT_OFFSET, out);
    if (!mlx4_event_post(s, MLX4_EVENT_CMD, eqe)) {
        mlx4_guest_error("command completion asked for as an event, and no EQ "
                         "takes those");
    }
}

void mlx4_cmd_run(Mlx4State *s)
{
    uint8_t *hcr = s->hcr;
    bool event = ib_field_get(hcr, MLX4_HCR_EVENT);
    uint16_t token = ib_field_get(hcr, MLX4_HCR_TOKEN);
    Mlx4Cmd cmd = {
        .opcode = ib_field_get(hcr, MLX4_HCR_OPCODE),
        .op_mod = ib_field_get(hcr, MLX4_HCR_OPMOD),
        .in_mod = ib_field_get(hcr, MLX4_HCR_IN_MODIFIER),
        .in_param = ib_get_be64(hcr + MLX4_HCR_IN_PARAM_OFFSET),
        .out_param = ib_get_be64(hcr + MLX4_HCR_OUT_PARAM_OFFSET),
        .in = s->cmd_in,
        .out = s->cmd_out,
    };
    Mlx4Status status = mlx4_cmd_execute(s, &cmd);

    ib_field_set(hcr, MLX4_HCR_GO, 0);
    if (event) {
        mlx4_cmd_event(s, token, status, cmd.out_param);
    } else {
        ib_put_be64(hcr + MLX4_HCR_OUT_PARAM_OFFSET, cmd.out_param);
        ib_field_set(hcr, MLX4_HCR_STATUS, status);
    }
    mlx4_irq_flush(s);
}
