/*
 * ConnectX-3: what the adapter says it is, and INIT_HCA
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Only what the adapter does is advertised.  Not advertised, among others:
 * Ethernet, SR-IOV, checksum and segmentation offload, RSS, timestamps, flow
 * steering, 64-byte CQEs and EQEs, port management events.
 */
#include "mlx4.h"

#define MLX4_CORE_CLOCK_MHZ       427

/* "MT_" and ten digits is what boards of the vendor say. */
const IbFirmware mlx4_firmware = { { 2, 42, 5000 }, "QEMU_CX3_IB" };

/* Capability flags, low and high half; memory management flags. */
enum {
    CAP_RC = 1 << 0, CAP_UC = 1 << 1, CAP_UD = 1 << 2, CAP_XRC = 1 << 3,
    CAP_SRQ = 1 << 6,
    CAP_BAD_PKEY_COUNTER = 1 << 8, CAP_BAD_QKEY_COUNTER = 1 << 9,
    CAP_MEM_WINDOW = 1 << 16, CAP_APM = 1 << 17,
    CAP_ATOMIC = 1 << 18, CAP_UD_AV_PORT = 1 << 20, CAP_UD_MULTICAST = 1 << 21,
    CAP_WIN_TYPE_2B = 1 << 1, CAP_LOCAL_INV = 1 << 6, CAP_REMOTE_INV = 1 << 7,
    CAP_WIN_TYPE_2 = 1 << 9, CAP_FAST_REG = 1 << 11,
};

/*
 * QUERY_DEV_CAP: all that is not 0.  LOG: log2; HI: in the high nibble.  What
 * is reserved is so that a driver comes to the numbers that it has with a real
 * adapter (docs/connectx3.rst).
 */
static const struct {
    uint16_t offset;
    uint8_t bytes;
    uint32_t value;
    const char *what;
} mlx4_dev_caps[] = {
    { 0x10, 1, 14, "log largest SRQ" },
    { 0x11, 1, 14, "log largest QP queue" },
    { 0x12, 1, 6, "log reserved QPs" },
    { 0x13, 1, MLX4_LOG_QPS, "log QPs" },
    { 0x14, 1, 6 << 4, "log reserved SRQs, high nibble" },
    { 0x15, 1, MLX4_LOG_SRQS, "log SRQs" },
    { 0x19, 1, MLX4_LOG_CQES, "log largest CQ" },
    { 0x1a, 1, 7, "log reserved CQs: sizes the driver's EQs" },
    { 0x1b, 1, MLX4_LOG_CQS, "log CQs" },
    { 0x1d, 1, MLX4_LOG_MPTS, "log memory keys" },
    { 0x1e, 1, 0, "log reserved EQs" },
    { 0x1f, 1, MLX4_LOG_EQS, "log EQs" },
    { 0x22, 1, 8, "log reserved memory keys" },
    { 0x29, 1, MLX4_LOG_RD_REQUESTS, "log RDMA reads as requester" },
    { 0x2b, 1, MLX4_LOG_RD_ATOMIC, "log RDMA reads as responder" },
    { 0x35, 1, 15, "local CA ACK delay" },
    { 0x38, 1, 30, "log largest message" },
    { 0x3c, 2, 0x3fff, "static rates" },
    { 0x44, 4, CAP_RC | CAP_UC | CAP_UD | CAP_XRC | CAP_SRQ |
      CAP_BAD_PKEY_COUNTER | CAP_BAD_QKEY_COUNTER | CAP_MEM_WINDOW | CAP_APM |
      CAP_ATOMIC | CAP_UD_AV_PORT | CAP_UD_MULTICAST,
      "flags" },
    { 0x4b, 1, MLX4_LOG_MIN_PAGE, "log smallest page" },
    { 0x51, 1, 62, "data segments of a send entry" },
    { 0x52, 2, 1008, "bytes of a send entry" },
    { 0x55, 1, 32, "data segments of a receive entry" },
    { 0x56, 2, 512, "bytes of a receive entry" },
    { 0x61, 1, 8, "log QPs of a multicast group" },
    { 0x63, 1, MLX4_LOG_MCGS, "log multicast groups" },
    { 0x64, 1, 4 << 4, "reserved PDs, high nibble" },
    { 0x65, 1, 15, "log PDs" },
    { 0x67, 1, MLX4_LOG_XRCDS, "log XRC domains" },
    /* What an entry takes in ICM: the driver lends that much. */
    { 0x80, 2, 32, "RDMARC entry" },
    { 0x82, 2, 256, "QPC entry" },
    { 0x84, 2, 256, "AUXC entry" },
    { 0x86, 2, 64, "ALTC entry" },
    { 0x88, 2, 64, "EQC entry" },
    { 0x8a, 2, 64, "CQC entry" },
    { 0x8c, 2, 64, "SRQC entry" },
    { 0x8e, 2, 64, "cMPT entry" },
    { 0x90, 2, MLX4_MTT_BYTES, "MTT entry" },
    { 0x92, 2, MLX4_MPT_BYTES, "dMPT entry" },
    { 0x94, 4, CAP_WIN_TYPE_2B | CAP_LOCAL_INV | CAP_REMOTE_INV |
      CAP_WIN_TYPE_2 | CAP_FAST_REG,
      "memory management flags" },
    { 0xa0, 4, 1 << 8, "most ICM, high half: 2^40" },
};

Mlx4Status mlx4_cmd_query_dev_cap(Mlx4State *s, Mlx4Cmd *cmd)
{
    size_t i;

    for (i = 0; i < ARRAY_SIZE(mlx4_dev_caps); i++) {
        uint8_t *at = cmd->out + mlx4_dev_caps[i].offset;

        switch (mlx4_dev_caps[i].bytes) {
        case 1:
            *at = mlx4_dev_caps[i].value;
            break;
        case 2:
            ib_put_be16(at, mlx4_dev_caps[i].value);
            break;
        default:
            ib_put_be32(at, mlx4_dev_caps[i].value);
            break;
        }
    }
    cmd->out[0x37] = mlx4_num_ports(s);
    cmd->out[0x49] = MLX4_UAR_LOG_BYTES - s->blueflame - 20;
    if (s->blueflame) {
        cmd->out[0x4c] = 0x80;
        cmd->out[0x4d] = MLX4_BF_LOG_BYTES;
        cmd->out[0x4e] = MLX4_BF_LOG_REGISTERS;
    }
    return MLX4_STAT_OK;
}

Mlx4Status mlx4_cmd_query_fw(Mlx4State *s, Mlx4Cmd *cmd)
{
    uint8_t *out = cmd->out;

    ib_field_set(out, MLX4_FW_PAGES, 1);
    ib_field_set(out, MLX4_FW_MAJOR, mlx4_firmware.version[0]);
    ib_field_set(out, MLX4_FW_MINOR, mlx4_firmware.version[1]);
    ib_field_set(out, MLX4_FW_SUBMINOR, mlx4_firmware.version[2]);
    ib_field_set(out, MLX4_FW_CMD_REV, 3);
    ib_field_set(out, MLX4_FW_LOG_MAX_CMDS, 4);
    ib_put_be64(out + MLX4_FW_CLR_INT_OFFSET, MLX4_REG_CLR_INT);
    ib_put_be64(out + MLX4_FW_CATAS_OFFSET, MLX4_REG_CATAS);
    ib_field_set(out, MLX4_FW_CATAS_DWORDS, MLX4_CATAS_DWORDS);
    return MLX4_STAT_OK;
}

Mlx4Status mlx4_cmd_query_adapter(Mlx4State *s, Mlx4Cmd *cmd)
{
    uint8_t *board = cmd->out + MLX4_ADAPTER_BOARD_OFFSET;
    size_t i;

    ib_field_set(cmd->out, MLX4_ADAPTER_INTA_PIN, 1);
    for (i = 0; i < MLX4_BOARD_ID_BYTES; i++) {
        board[i] = mlx4_firmware.psid[i ^ 3];
    }
    return MLX4_STAT_OK;
}

/* With modifier 2: read the GUID of a port. */
Mlx4Status mlx4_cmd_mod_stat_cfg(Mlx4State *s, Mlx4Cmd *cmd)
{
    uint32_t port = cmd->in_mod >> 8 & 0xff;
    uint64_t guid;

    switch (cmd->op_mod) {
    case 0:
        return MLX4_STAT_OK;      /* page size of the driver: any will do */
    case 2:
        if (port < 1 || port > mlx4_num_ports(s)) {
            mlx4_guest_error("MOD_STAT_CFG of port %u", port);
            return MLX4_STAT_BAD_PARAM;
        }
        guid = s->config.node.port_guid + port - 1;
        ib_field_set(cmd->out, MLX4_STAT_CFG_GUID_HI, guid >> 32);
        ib_field_set(cmd->out, MLX4_STAT_CFG_GUID_LO, guid);
        return MLX4_STAT_OK;
    default:
        mlx4_unimp("MOD_STAT_CFG with modifier %u", cmd->op_mod);
        return MLX4_STAT_BAD_PARAM;
    }
}

Mlx4Status mlx4_cmd_init_hca(Mlx4State *s, Mlx4Cmd *cmd)
{
    const uint8_t *in = cmd->in;
    unsigned log_mpt = ib_field_get(in, MLX4_HCA_LOG_MPT);
    unsigned log_hash = ib_field_get(in, MLX4_HCA_LOG_MC_HASH);
    unsigned log_entry = ib_field_get(in, MLX4_HCA_LOG_MC_ENTRY);

    if (s->running) {
        mlx4_guest_error("INIT_HCA again");
        return MLX4_STAT_BAD_SYS_STATE;
    }
    if (log_mpt > MLX4_LOG_MPTS || log_hash > MLX4_LOG_MCGS || log_entry < 6 ||
        log_entry > MLX4_LOG_MC_ENTRY) {
        mlx4_guest_error("INIT_HCA with 2^%u keys, 2^%u hashes, groups of "
                         "2^%u bytes", log_mpt, log_hash, log_entry);
        return MLX4_STAT_BAD_PARAM;
    }
    if (ib_field_get(in, MLX4_HCA_UAR_PAGE_SIZE)) {
        mlx4_unimp("INIT_HCA with UAR pages that are not 4 KiB");
        return MLX4_STAT_BAD_PARAM;
    }
    s->mtt_base = ib_get_be64(in + MLX4_HCA_MTT_OFFSET);
    s->dmpt_base = ib_get_be64(in + MLX4_HCA_DMPT_OFFSET);
    s->num_mpts = 1u << log_mpt;
    s->log_mc_hash = log_hash;
    s->mc_entry_bytes = 1u << log_entry;
    s->big_endian_host = ib_field_get(in, MLX4_HCA_FLAG_BIG_ENDIAN);
    s->running = true;
    return MLX4_STAT_OK;
}

Mlx4Status mlx4_cmd_close_hca(Mlx4State *s, Mlx4Cmd *cmd)
{
    uint8_t port;

    for (port = 1; port <= mlx4_num_ports(s); port++) {
        ib_hca_close_port(s->hca, port);
    }
    mlx4_qp_reset_all(s);
    mlx4_mcg_reset(s);
    mlx4_mpt_forget_all(s);
    s->running = false;
    return MLX4_STAT_OK;
}

Mlx4Status mlx4_cmd_query_hca(Mlx4State *s, Mlx4Cmd *cmd)
{
    ib_field_set(cmd->out, MLX4_QUERY_HCA_CLOCK, MLX4_CORE_CLOCK_MHZ);
    return MLX4_STAT_OK;
}

/* Diagnostic counters of the transport: none are kept. */
Mlx4Status mlx4_cmd_diag_rprt(Mlx4State *s, Mlx4Cmd *cmd)
{
    return MLX4_STAT_OK;
}
