/*
 * ConnectX-3 layouts: registers, commands, contexts, entries
 *
 * Every number that a driver and this adapter must agree on, and nothing
 * else.  All structures are big-endian; fields are used through ib-bits.h.
 * Offsets are in bytes from the start of the structure that the prefix names:
 *
 *     QPC queue pair context      EQC, CQC, SRQC  contexts of those
 *     PATH  address path in QPC   MPT  memory protection entry
 *     WQE   work queue entry      CQE, EQE  completion, event entries
 *
 * Sources: include/linux/mlx4/ and drivers/net/ethernet/mellanox/mlx4 of
 * Linux 6.1, which are the only public description of this interface.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_INFINIBAND_MLX4_HW_H
#define HW_INFINIBAND_MLX4_HW_H

#include "hw/infiniband/ib-bits.h"

/* ------------------------------------------------------------------- PCI */

#define MLX4_VENDOR_ID            0x15b3
#define MLX4_DEVICE_ID            0x1003      /* MT27500 ConnectX-3 */

#define MLX4_BAR0_BYTES           (1 << 20)
#define MLX4_REG_HCR              0x80680     /* 7 dwords */
#define MLX4_REG_OWNERSHIP        0x8069c
#define MLX4_REG_MSIX_TABLE       0x7c000
#define MLX4_REG_MSIX_PBA         0x7d000
#define MLX4_REG_CLR_INT          0x7e000     /* told by QUERY_FW */
#define MLX4_REG_CATAS            0x7f000     /* told by QUERY_FW */
#define MLX4_CATAS_DWORDS         16
#define MLX4_REG_RESET            0xf0010
#define MLX4_REG_SEMAPHORE        0xf03fc

#define MLX4_UAR_LOG_BYTES        23          /* 8 MiB */
#define MLX4_UAR_PAGE             4096
#define MLX4_UAR_EQ_PAGES         128         /* reserved for EQ doorbells */
#define MLX4_UAR_SEND             0x14
#define MLX4_UAR_CQ_ARM           0x20
#define MLX4_UAR_EQ               0x800       /* 4 of 8 bytes a page */
/*
 * With BlueFlame half of the pages are for it, each that of a page of the
 * other half.  A page has registers of two buffers each, that take turns; an
 * entry is written to a buffer, and its second dword has the QPN.
 */
#define MLX4_BF_LOG_BYTES         9           /* of a register */
#define MLX4_BF_LOG_REGISTERS     3           /* of a page */
#define MLX4_BF_BUFFER            (1 << (MLX4_BF_LOG_BYTES - 1))

/* The doorbells themselves: dwords as read big-endian */
#define MLX4_DB_SEND_QPN          IB_FIELD32(0, 31, 8)
#define MLX4_DB_CQ_CMD            IB_FIELD32(0, 26, 24)
#define MLX4_DB_CQ_CQN            IB_FIELD32(0, 23, 0)
#define MLX4_DB_CQ_CI             IB_FIELD32(4, 23, 0)
#define MLX4_DB_CQ_SOLICITED      1
#define MLX4_DB_CQ_ANY            2
#define MLX4_DB_EQ_ARM            IB_FIELD32(0, 31, 31)
#define MLX4_DB_EQ_CI             IB_FIELD32(0, 23, 0)

/* -------------------------------------------------------- command register */

#define MLX4_HCR_IN_PARAM_OFFSET  0x00
#define MLX4_HCR_IN_MODIFIER      IB_FIELD32(0x08, 31, 0)
#define MLX4_HCR_OUT_PARAM_OFFSET 0x0c
#define MLX4_HCR_TOKEN            IB_FIELD32(0x14, 31, 16)
#define MLX4_HCR_STATUS           IB_FIELD32(0x18, 31, 24)
#define MLX4_HCR_GO               IB_FIELD32(0x18, 23, 23)
#define MLX4_HCR_EVENT            IB_FIELD32(0x18, 22, 22)
#define MLX4_HCR_TOGGLE           IB_FIELD32(0x18, 21, 21)
#define MLX4_HCR_OPMOD            IB_FIELD32(0x18, 15, 12)
#define MLX4_HCR_OPCODE           IB_FIELD32(0x18, 11, 0)
#define MLX4_HCR_BYTES            0x1c

#define MLX4_MAILBOX_BYTES        4096

typedef enum Mlx4Opcode {
    MLX4_CMD_QUERY_DEV_CAP    = 0x003,
    MLX4_CMD_QUERY_FW         = 0x004,
    MLX4_CMD_QUERY_ADAPTER    = 0x006,
    MLX4_CMD_INIT_HCA         = 0x007,
    MLX4_CMD_CLOSE_HCA        = 0x008,
    MLX4_CMD_INIT_PORT        = 0x009,
    MLX4_CMD_CLOSE_PORT       = 0x00a,
    MLX4_CMD_QUERY_HCA        = 0x00b,
    MLX4_CMD_SET_PORT         = 0x00c,
    MLX4_CMD_SW2HW_MPT        = 0x00d,
    MLX4_CMD_HW2SW_MPT        = 0x00f,
    MLX4_CMD_MAP_EQ           = 0x012,
    MLX4_CMD_SW2HW_EQ         = 0x013,
    MLX4_CMD_HW2SW_EQ         = 0x014,
    MLX4_CMD_SW2HW_CQ         = 0x016,
    MLX4_CMD_HW2SW_CQ         = 0x017,
    MLX4_CMD_RST2INIT_QP      = 0x019,
    MLX4_CMD_INIT2RTR_QP      = 0x01a,
    MLX4_CMD_RTR2RTS_QP       = 0x01b,
    MLX4_CMD_RTS2RTS_QP       = 0x01c,
    MLX4_CMD_SQERR2RTS_QP     = 0x01d,
    MLX4_CMD_2ERR_QP          = 0x01e,
    MLX4_CMD_RTS2SQD_QP       = 0x01f,
    MLX4_CMD_SQD2RTS_QP       = 0x020,
    MLX4_CMD_2RST_QP          = 0x021,
    MLX4_CMD_QUERY_QP         = 0x022,
    MLX4_CMD_CONF_SPECIAL_QP  = 0x023,
    MLX4_CMD_MAD_IFC          = 0x024,
    MLX4_CMD_READ_MCG         = 0x025,
    MLX4_CMD_WRITE_MCG        = 0x026,
    MLX4_CMD_MGID_HASH        = 0x027,
    MLX4_CMD_MODIFY_CQ        = 0x02c,
    MLX4_CMD_INIT2INIT_QP     = 0x02d,
    MLX4_CMD_SYNC_TPT         = 0x02f,
    MLX4_CMD_DIAG_RPRT        = 0x030,
    MLX4_CMD_NOP              = 0x031,
    MLX4_CMD_MOD_STAT_CFG     = 0x034,
    MLX4_CMD_SW2HW_SRQ        = 0x035,
    MLX4_CMD_HW2SW_SRQ        = 0x036,
    MLX4_CMD_QUERY_SRQ        = 0x037,
    MLX4_CMD_SQD2SQD_QP       = 0x038,
    MLX4_CMD_ARM_SRQ          = 0x040,
    MLX4_CMD_QUERY_PORT       = 0x043,
    MLX4_CMD_SET_NODE         = 0x05a,
    MLX4_CMD_RUN_FW           = 0xff6,
    MLX4_CMD_UNMAP_ICM        = 0xff9,
    MLX4_CMD_MAP_ICM          = 0xffa,
    MLX4_CMD_UNMAP_ICM_AUX    = 0xffb,
    MLX4_CMD_MAP_ICM_AUX      = 0xffc,
    MLX4_CMD_SET_ICM_SIZE     = 0xffd,
    MLX4_CMD_UNMAP_FA         = 0xffe,
    MLX4_CMD_MAP_FA           = 0xfff,
} Mlx4Opcode;

typedef enum Mlx4Status {
    MLX4_STAT_OK              = 0x00,
    MLX4_STAT_INTERNAL_ERR    = 0x01,
    MLX4_STAT_BAD_OP          = 0x02,
    MLX4_STAT_BAD_PARAM       = 0x03,
    MLX4_STAT_BAD_SYS_STATE   = 0x04,
    MLX4_STAT_BAD_RESOURCE    = 0x05,
    MLX4_STAT_RESOURCE_BUSY   = 0x06,
    MLX4_STAT_EXCEED_LIM      = 0x08,
    MLX4_STAT_BAD_RES_STATE   = 0x09,
    MLX4_STAT_BAD_INDEX       = 0x0a,
    MLX4_STAT_ICM_ERROR       = 0x0c,
    MLX4_STAT_BAD_QP_STATE    = 0x10,
    MLX4_STAT_BAD_SEG_PARAM   = 0x20,
    MLX4_STAT_REG_BOUND       = 0x21,
    MLX4_STAT_BAD_PKT         = 0x30,
    MLX4_STAT_BAD_SIZE        = 0x40,
} Mlx4Status;

/* ------------------------------------------------------------- mailboxes */

#define MLX4_FW_PAGES             IB_FIELD16(0x00, 15, 0)
#define MLX4_FW_MAJOR             IB_FIELD16(0x02, 15, 0)
#define MLX4_FW_SUBMINOR          IB_FIELD16(0x04, 15, 0)
#define MLX4_FW_MINOR             IB_FIELD16(0x06, 15, 0)
#define MLX4_FW_CMD_REV           IB_FIELD16(0x0a, 15, 0)
#define MLX4_FW_LOG_MAX_CMDS      IB_FIELD8(0x0f, 7, 0)
#define MLX4_FW_CLR_INT_OFFSET    0x20
#define MLX4_FW_CATAS_OFFSET      0x30
#define MLX4_FW_CATAS_DWORDS      IB_FIELD32(0x38, 31, 0)

#define MLX4_ADAPTER_INTA_PIN     IB_FIELD8(0x10, 7, 0)
#define MLX4_ADAPTER_BOARD_OFFSET (0x20 + 0xd0)   /* each dword swapped */
#define MLX4_BOARD_ID_BYTES       16

#define MLX4_STAT_CFG_GUID_HI     IB_FIELD32(0x14, 31, 0)
#define MLX4_STAT_CFG_GUID_LO     IB_FIELD32(0x1c, 31, 0)

#define MLX4_PORT_LINK_UP         IB_FIELD8(0x00, 7, 7)
#define MLX4_PORT_TYPES           IB_FIELD8(0x00, 1, 0)   /* 1 = IB */
#define MLX4_PORT_MTU_CAP         IB_FIELD8(0x01, 3, 0)
#define MLX4_PORT_WIDTH           IB_FIELD8(0x06, 3, 0)
#define MLX4_PORT_LOG_GIDS        IB_FIELD8(0x07, 7, 4)
#define MLX4_PORT_LOG_PKEYS       IB_FIELD8(0x07, 3, 0)
#define MLX4_PORT_LOG_VLANS       IB_FIELD8(0x0a, 7, 4)
#define MLX4_PORT_LOG_MACS        IB_FIELD8(0x0a, 3, 0)
#define MLX4_PORT_VL_CAP          IB_FIELD8(0x0b, 3, 0)

#define MLX4_HCA_VERSION          IB_FIELD8(0x000, 7, 0)
#define MLX4_HCA_FLAG_BIG_ENDIAN  IB_FIELD32(0x014, 1, 1)
#define MLX4_HCA_LOG_MC_ENTRY     IB_FIELD8(0x0d3, 4, 0)
#define MLX4_HCA_LOG_MC_HASH      IB_FIELD8(0x0d7, 4, 0)
#define MLX4_HCA_LOG_MC_TABLE     IB_FIELD8(0x0db, 4, 0)
#define MLX4_HCA_DMPT_OFFSET      0x0f0
#define MLX4_HCA_LOG_MPT          IB_FIELD8(0x0fb, 5, 0)
#define MLX4_HCA_MTT_OFFSET       0x100
#define MLX4_HCA_UAR_PAGE_SIZE    IB_FIELD8(0x12b, 7, 0)
#define MLX4_HCA_BYTES            0x200
#define MLX4_QUERY_HCA_CLOCK      IB_FIELD32(0x0c, 31, 0)

#define MLX4_SET_PORT_MTU         IB_FIELD32(0x00, 15, 12)
#define MLX4_SET_PORT_VL          IB_FIELD32(0x00, 7, 4)
#define MLX4_SET_PORT_CH_MTU      IB_FIELD32(0x00, 22, 22)
#define MLX4_SET_PORT_CH_VL       IB_FIELD32(0x00, 21, 21)
#define MLX4_SET_PORT_CH_PKEYS    IB_FIELD32(0x00, 20, 20)
#define MLX4_SET_PORT_RESET_QKEY  IB_FIELD32(0x00, 0, 0)
#define MLX4_SET_PORT_CAP_MASK    IB_FIELD32(0x04, 31, 0)

/* MAP_FA, MAP_ICM, MAP_ICM_AUX: entries of 16 bytes */
#define MLX4_MAP_ENTRY_BYTES      16
#define MLX4_MAP_VIRT_OFFSET      0
#define MLX4_MAP_PHYS_OFFSET      8           /* low bits: log2 of 4K pages */
#define MLX4_ICM_PAGE_SHIFT       12
#define MLX4_ICM_PAGE             (1 << MLX4_ICM_PAGE_SHIFT)

#define MLX4_MAD_IFC_BYTES        256
#define MLX4_MAD_IFC_EXT_BYTES    0x168

/* MTT entry: page address | present */
#define MLX4_MTT_BYTES            8
#define MLX4_MTT_PRESENT          1

/* ---------------------------------------------------------------- events */

#define MLX4_EQC_ARM_STATE        IB_FIELD32(0x00, 11, 8)
#define MLX4_EQC_ARMED            9
#define MLX4_EQC_LOG_SIZE         IB_FIELD32(0x0c, 28, 24)
#define MLX4_EQC_INTR             IB_FIELD8(0x17, 7, 0)
#define MLX4_EQC_LOG_PAGE         IB_FIELD8(0x18, 5, 0)   /* less 12 */
#define MLX4_EQC_MTT_HI           IB_FIELD8(0x1b, 7, 0)
#define MLX4_EQC_MTT_LO           IB_FIELD32(0x1c, 31, 0)
#define MLX4_EQC_BYTES            64

#define MLX4_EQE_BYTES            32
#define MLX4_EQE_OWNER            0x80        /* in byte 31 */
#define MLX4_EQE_TYPE             IB_FIELD8(0x01, 7, 0)
#define MLX4_EQE_SUBTYPE          IB_FIELD8(0x03, 7, 0)
#define MLX4_EQE_NUMBER           IB_FIELD32(0x04, 23, 0)
#define MLX4_EQE_CQ_SYNDROME      IB_FIELD8(0x0f, 7, 0)
#define MLX4_EQE_PORT             IB_FIELD32(0x0c, 31, 28)
#define MLX4_EQE_CMD_TOKEN        IB_FIELD16(0x06, 15, 0)
#define MLX4_EQE_CMD_STATUS       IB_FIELD8(0x0f, 7, 0)
#define MLX4_EQE_CMD_OUT_OFFSET   0x10

typedef enum Mlx4EventType {
    MLX4_EVENT_COMP           = 0x00,
    MLX4_EVENT_PATH_MIG       = 0x01,
    MLX4_EVENT_COMM_EST       = 0x02,
    MLX4_EVENT_SQ_DRAINED     = 0x03,
    MLX4_EVENT_CQ_ERROR       = 0x04,
    MLX4_EVENT_WQ_CATAS       = 0x05,
    MLX4_EVENT_PATH_MIG_FAIL  = 0x07,
    MLX4_EVENT_PORT_CHANGE    = 0x09,
    MLX4_EVENT_CMD            = 0x0a,
    MLX4_EVENT_WQ_INVAL_REQ   = 0x10,
    MLX4_EVENT_WQ_ACCESS      = 0x11,
    MLX4_EVENT_SRQ_CATAS      = 0x12,
    MLX4_EVENT_SRQ_LAST_WQE   = 0x13,
    MLX4_EVENT_SRQ_LIMIT      = 0x14,
} Mlx4EventType;

#define MLX4_PORT_DOWN            1
#define MLX4_PORT_ACTIVE          4
#define MLX4_CQ_ERR_OVERRUN       1
#define MLX4_CQ_ERR_ACCESS        2

/* ----------------------------------------------------------- completions */

#define MLX4_CQC_LOG_SIZE         IB_FIELD32(0x0c, 28, 24)
#define MLX4_CQC_USR_PAGE         IB_FIELD32(0x0c, 23, 0)
#define MLX4_CQC_PERIOD           IB_FIELD16(0x10, 15, 0)
#define MLX4_CQC_MAX_COUNT        IB_FIELD16(0x12, 15, 0)
#define MLX4_CQC_EQN              IB_FIELD8(0x17, 7, 0)
#define MLX4_CQC_LOG_PAGE         IB_FIELD8(0x18, 5, 0)
#define MLX4_CQC_MTT_HI           IB_FIELD8(0x1b, 7, 0)
#define MLX4_CQC_MTT_LO           IB_FIELD32(0x1c, 31, 0)
#define MLX4_CQC_RECORD_OFFSET    0x38
#define MLX4_CQC_BYTES            64

#define MLX4_CQE_BYTES            32
#define MLX4_CQE_OWNER            0x80        /* in byte 31 */
#define MLX4_CQE_QPN              IB_FIELD32(0x00, 23, 0)
#define MLX4_CQE_IMM              IB_FIELD32(0x04, 31, 0)
#define MLX4_CQE_PKEY_INDEX       IB_FIELD32(0x04, 6, 0)
#define MLX4_CQE_GRH              IB_FIELD32(0x08, 31, 31)
#define MLX4_CQE_PATH_BITS        IB_FIELD32(0x08, 30, 24)
#define MLX4_CQE_SRC_QPN          IB_FIELD32(0x08, 23, 0)
#define MLX4_CQE_SL               IB_FIELD16(0x0c, 15, 12)
#define MLX4_CQE_SLID             IB_FIELD16(0x0e, 15, 0)
#define MLX4_CQE_BYTE_COUNT       IB_FIELD32(0x14, 31, 0)
#define MLX4_CQE_WQE_INDEX        IB_FIELD16(0x18, 15, 0)
#define MLX4_CQE_VENDOR_SYNDROME  IB_FIELD8(0x1a, 7, 0)
#define MLX4_CQE_SYNDROME         IB_FIELD8(0x1b, 7, 0)
#define MLX4_CQE_IS_SEND          IB_FIELD8(0x1f, 6, 6)
#define MLX4_CQE_OPCODE           IB_FIELD8(0x1f, 4, 0)

#define MLX4_CQE_RECV_WRITE_IMM   0x00
#define MLX4_CQE_RECV_SEND        0x01
#define MLX4_CQE_RECV_SEND_IMM    0x02
#define MLX4_CQE_RECV_SEND_INV    0x03
#define MLX4_CQE_RESIZE           0x16
#define MLX4_CQE_ERROR            0x1e

/* --------------------------------------------------- shared receive queues */

#define MLX4_SRQC_LOG_SIZE        IB_FIELD32(0x00, 27, 24)
#define MLX4_SRQC_LOG_STRIDE      IB_FIELD8(0x04, 2, 0)   /* less 4 */
#define MLX4_SRQC_XRCD            IB_FIELD16(0x06, 15, 0)
#define MLX4_SRQC_XRC_CQN         IB_FIELD32(0x08, 23, 0)
#define MLX4_SRQC_LOG_PAGE        IB_FIELD8(0x10, 5, 0)
#define MLX4_SRQC_MTT_HI          IB_FIELD8(0x13, 7, 0)
#define MLX4_SRQC_MTT_LO          IB_FIELD32(0x14, 31, 0)
#define MLX4_SRQC_PD              IB_FIELD32(0x18, 23, 0)
#define MLX4_SRQC_LIMIT           IB_FIELD16(0x1c, 15, 0)
#define MLX4_SRQC_WQE_COUNT       IB_FIELD16(0x1e, 15, 0)
#define MLX4_SRQC_RECORD_OFFSET   0x28
#define MLX4_SRQC_BYTES           48

#define MLX4_SRQ_WQE_NEXT         IB_FIELD16(0x02, 15, 0)
#define MLX4_SRQ_WQE_HEADER       16

/* -------------------------------------------------------- memory protection */

#define MLX4_MPT_STATUS           IB_FIELD32(0x00, 31, 28)
#define MLX4_MPT_BIND_ENABLE      IB_FIELD32(0x00, 15, 15)
#define MLX4_MPT_ATOMIC           IB_FIELD32(0x00, 14, 14)
#define MLX4_MPT_REMOTE_WRITE     IB_FIELD32(0x00, 13, 13)
#define MLX4_MPT_REMOTE_READ      IB_FIELD32(0x00, 12, 12)
#define MLX4_MPT_LOCAL_WRITE      IB_FIELD32(0x00, 11, 11)
#define MLX4_MPT_LOCAL_READ       IB_FIELD32(0x00, 10, 10)
#define MLX4_MPT_PHYSICAL         IB_FIELD32(0x00, 9, 9)
#define MLX4_MPT_REGION           IB_FIELD32(0x00, 8, 8)
#define MLX4_MPT_QPN              IB_FIELD32(0x04, 31, 8)
#define MLX4_MPT_BOUND_QP         IB_FIELD32(0x04, 7, 7)   /* window type 2 */
#define MLX4_MPT_KEY              IB_FIELD32(0x08, 31, 0)
#define MLX4_MPT_PD               IB_FIELD32(0x0c, 16, 0)
#define MLX4_MPT_FAST_REG         IB_FIELD32(0x0c, 27, 27)
#define MLX4_MPT_REMOTE_INV       IB_FIELD32(0x0c, 24, 24)
#define MLX4_MPT_START_OFFSET     0x10
#define MLX4_MPT_LENGTH_OFFSET    0x18
#define MLX4_MPT_LKEY             IB_FIELD32(0x20, 31, 0)  /* of a window */
#define MLX4_MPT_WINDOWS          IB_FIELD32(0x24, 31, 0)  /* of a region */
#define MLX4_MPT_MTT_OFFSET       0x2c
#define MLX4_MPT_MTT_COUNT        IB_FIELD32(0x34, 31, 0)
#define MLX4_MPT_LOG_PAGE         IB_FIELD32(0x38, 5, 0)  /* absolute */
#define MLX4_MPT_BYTES            64

#define MLX4_MPT_STATUS_VALID     0x0
#define MLX4_MPT_STATUS_FREE      0x3
#define MLX4_MPT_STATUS_SOFTWARE  0xf

/* ------------------------------------------------------------ queue pairs */

#define MLX4_QPC_STATE            IB_FIELD32(0x00, 31, 28)
#define MLX4_QPC_SERVICE          IB_FIELD32(0x00, 19, 16)
#define MLX4_QPC_MIGRATION        IB_FIELD32(0x00, 12, 11)
#define MLX4_QPC_PD               IB_FIELD32(0x04, 23, 0)
#define MLX4_QPC_MTU_BYTE         IB_FIELD8(0x08, 7, 0)
#define MLX4_QPC_MTU              IB_FIELD8(0x08, 7, 5)
#define MLX4_QPC_LOG_MSG          IB_FIELD8(0x08, 4, 0)
#define MLX4_QPC_RQ_LOG_SIZE      IB_FIELD8(0x09, 6, 3)
#define MLX4_QPC_RQ_LOG_STRIDE    IB_FIELD8(0x09, 2, 0)   /* less 4 */
#define MLX4_QPC_SQ_LOG_SIZE      IB_FIELD8(0x0a, 6, 3)
#define MLX4_QPC_SQ_LOG_STRIDE    IB_FIELD8(0x0a, 2, 0)
#define MLX4_QPC_USR_PAGE         IB_FIELD32(0x0c, 23, 0)
#define MLX4_QPC_LOCAL_QPN        IB_FIELD32(0x10, 23, 0)
#define MLX4_QPC_REMOTE_QPN       IB_FIELD32(0x14, 23, 0)
#define MLX4_QPC_PATH_OFFSET      0x18
#define MLX4_QPC_ALT_PATH_OFFSET  0x44
#define MLX4_QPC_RETRY_COUNT      IB_FIELD32(0x70, 18, 16)
#define MLX4_QPC_RNR_RETRY        IB_FIELD32(0x70, 15, 13)
#define MLX4_QPC_LOG_SRA_MAX      IB_FIELD32(0x70, 23, 21)
#define MLX4_QPC_FAST_REG         IB_FIELD32(0x70, 11, 11)
#define MLX4_QPC_SQ_PSN           IB_FIELD32(0x78, 23, 0)
#define MLX4_QPC_SEND_CQN         IB_FIELD32(0x7c, 23, 0)
#define MLX4_QPC_LAST_ACKED_PSN   IB_FIELD32(0x88, 23, 0)
#define MLX4_QPC_LOG_RRA_MAX      IB_FIELD32(0x90, 23, 21)
#define MLX4_QPC_REMOTE_READ      IB_FIELD32(0x90, 15, 15)
#define MLX4_QPC_REMOTE_WRITE     IB_FIELD32(0x90, 14, 14)
#define MLX4_QPC_REMOTE_ATOMIC    IB_FIELD32(0x90, 13, 13)
#define MLX4_QPC_MIN_RNR_TIMER    IB_FIELD32(0x94, 28, 24)
#define MLX4_QPC_RQ_PSN           IB_FIELD32(0x94, 23, 0)
#define MLX4_QPC_XRCD             IB_FIELD32(0x98, 15, 0)
#define MLX4_QPC_RECV_CQN         IB_FIELD32(0x9c, 23, 0)
#define MLX4_QPC_RECORD_OFFSET    0xa0
#define MLX4_QPC_QKEY             IB_FIELD32(0xa8, 31, 0)
#define MLX4_QPC_SRQ              IB_FIELD32(0xac, 24, 24)
#define MLX4_QPC_SRQN             IB_FIELD32(0xac, 23, 0)
#define MLX4_QPC_RQ_COUNTER       IB_FIELD16(0xb4, 15, 0)
#define MLX4_QPC_SQ_COUNTER       IB_FIELD16(0xb6, 15, 0)
#define MLX4_QPC_LOG_PAGE         IB_FIELD8(0xc8, 5, 0)
#define MLX4_QPC_MTT_HI           IB_FIELD8(0xcb, 7, 0)
#define MLX4_QPC_MTT_LO           IB_FIELD32(0xcc, 31, 0)
#define MLX4_QPC_BYTES            248
/* In the mailbox the context follows the mask of optional parameters */
#define MLX4_QPC_BOX_OPTPAR       IB_FIELD32(0x00, 31, 0)
#define MLX4_QPC_BOX_OFFSET       8

#define MLX4_PATH_PKEY_INDEX      IB_FIELD8(0x03, 6, 0)
#define MLX4_PATH_GRH             IB_FIELD8(0x05, 7, 7)
#define MLX4_PATH_PATH_BITS       IB_FIELD8(0x05, 6, 0)
#define MLX4_PATH_DLID            IB_FIELD16(0x06, 15, 0)
#define MLX4_PATH_ACK_TIMEOUT     IB_FIELD8(0x08, 7, 3)
#define MLX4_PATH_SGID_INDEX      IB_FIELD8(0x09, 6, 0)
#define MLX4_PATH_RATE            IB_FIELD8(0x0a, 7, 0)
#define MLX4_PATH_HOP_LIMIT       IB_FIELD8(0x0b, 7, 0)
#define MLX4_PATH_TCLASS          IB_FIELD32(0x0c, 27, 20)
#define MLX4_PATH_FLOW_LABEL      IB_FIELD32(0x0c, 19, 0)
#define MLX4_PATH_DGID_OFFSET     0x10
#define MLX4_PATH_SCHED           IB_FIELD8(0x20, 7, 0)
#define MLX4_PATH_PORT            IB_FIELD8(0x20, 6, 6)   /* less 1 */
#define MLX4_PATH_SL              IB_FIELD8(0x20, 5, 2)
#define MLX4_PATH_BYTES           44
/* Static rates: 0 any, else this above the code of PathRecord.Rate. */
#define MLX4_RATE_OFFSET          5

/* An XRC target's number has this bit; the rest is its index. */
#define MLX4_QPN_XRC_TARGET       (1u << 23)

typedef enum Mlx4Service {
    MLX4_SERVICE_RC = 0, MLX4_SERVICE_UC = 1, MLX4_SERVICE_UD = 3,
    MLX4_SERVICE_XRC = 6, MLX4_SERVICE_MLX = 7,
} Mlx4Service;

typedef enum Mlx4QpState {
    MLX4_QPS_RST = 0, MLX4_QPS_INIT = 1, MLX4_QPS_RTR = 2, MLX4_QPS_RTS = 3,
    MLX4_QPS_SQER = 4, MLX4_QPS_SQD = 5, MLX4_QPS_ERR = 6,
    MLX4_QPS_SQ_DRAINING = 7,
} Mlx4QpState;

enum {
    MLX4_OPTPAR_ALT_PATH      = 1 << 0,
    MLX4_OPTPAR_RRE           = 1 << 1,
    MLX4_OPTPAR_RAE           = 1 << 2,
    MLX4_OPTPAR_RWE           = 1 << 3,
    MLX4_OPTPAR_PKEY_INDEX    = 1 << 4,
    MLX4_OPTPAR_QKEY          = 1 << 5,
    MLX4_OPTPAR_RNR_TIMEOUT   = 1 << 6,
    MLX4_OPTPAR_PRIMARY_PATH  = 1 << 7,
    MLX4_OPTPAR_SRA_MAX       = 1 << 8,
    MLX4_OPTPAR_RRA_MAX       = 1 << 9,
    MLX4_OPTPAR_PM_STATE      = 1 << 10,
    MLX4_OPTPAR_RETRY_COUNT   = 1 << 12,
    MLX4_OPTPAR_RNR_RETRY     = 1 << 13,
    MLX4_OPTPAR_ACK_TIMEOUT   = 1 << 14,
    MLX4_OPTPAR_SCHED         = 1 << 16,
};

#define MLX4_RTS2SQD_EVENT        (1u << 31)  /* in the input modifier */
#define MLX4_2RST_NO_MAILBOX      2           /* opcode modifier */

/* --------------------------------------------------- work queue entries */

#define MLX4_WQE_OWNER            IB_FIELD32(0x00, 31, 31)
#define MLX4_WQE_OPCODE           IB_FIELD32(0x00, 4, 0)
#define MLX4_WQE_FENCE            IB_FIELD8(0x07, 6, 6)
#define MLX4_WQE_UNITS            IB_FIELD8(0x07, 5, 0)   /* of 16 bytes */
#define MLX4_WQE_XRC_SRQN         IB_FIELD32(0x08, 31, 8)
#define MLX4_WQE_STRONG_ORDER     IB_FIELD32(0x08, 7, 7)
#define MLX4_WQE_MAKE_CQE         IB_FIELD32(0x08, 3, 2)
#define MLX4_WQE_SOLICITED        IB_FIELD32(0x08, 1, 1)
#define MLX4_WQE_LOOPBACK         IB_FIELD32(0x08, 0, 0)
#define MLX4_WQE_IMM              IB_FIELD32(0x0c, 31, 0)
#define MLX4_WQE_CTRL_BYTES       16

/* Control segment of QP0 and QP1 */
#define MLX4_WQE_MLX_VL15         IB_FIELD32(0x08, 17, 17)
#define MLX4_WQE_MLX_SLR          IB_FIELD32(0x08, 16, 16)
#define MLX4_WQE_MLX_SL           IB_FIELD32(0x08, 11, 8)
#define MLX4_WQE_MLX_DLID         IB_FIELD16(0x0c, 15, 0)

typedef enum Mlx4WqeOpcode {
    MLX4_WQE_OP_NOP           = 0x00,
    MLX4_WQE_OP_SEND_INV      = 0x01,
    MLX4_WQE_OP_WRITE         = 0x08,
    MLX4_WQE_OP_WRITE_IMM     = 0x09,
    MLX4_WQE_OP_SEND          = 0x0a,
    MLX4_WQE_OP_SEND_IMM      = 0x0b,
    MLX4_WQE_OP_LSO           = 0x0e,
    MLX4_WQE_OP_READ          = 0x10,
    MLX4_WQE_OP_ATOMIC_CS     = 0x11,
    MLX4_WQE_OP_ATOMIC_FA     = 0x12,
    MLX4_WQE_OP_MASKED_CS     = 0x14,
    MLX4_WQE_OP_MASKED_FA     = 0x15,
    MLX4_WQE_OP_BIND_MW       = 0x18,
    MLX4_WQE_OP_FAST_REG      = 0x19,
    MLX4_WQE_OP_LOCAL_INV     = 0x1b,
} Mlx4WqeOpcode;

#define MLX4_RADDR_VA_OFFSET      0
#define MLX4_RADDR_RKEY           IB_FIELD32(8, 31, 0)
#define MLX4_RADDR_BYTES          16

#define MLX4_ATOMIC_SWAP_OFFSET   0
#define MLX4_ATOMIC_CMP_OFFSET    8
#define MLX4_ATOMIC_SWAP_MASK_OFFSET 16
#define MLX4_ATOMIC_CMP_MASK_OFFSET  24
#define MLX4_ATOMIC_BYTES         16
#define MLX4_MASKED_ATOMIC_BYTES  32

#define MLX4_AV_LOOPBACK          IB_FIELD32(0x00, 31, 31)
#define MLX4_AV_PORT              IB_FIELD32(0x00, 25, 24)
#define MLX4_AV_PD                IB_FIELD32(0x00, 23, 0)
#define MLX4_AV_GRH               IB_FIELD8(0x05, 7, 7)
#define MLX4_AV_PATH_BITS         IB_FIELD8(0x05, 6, 0)
#define MLX4_AV_DLID              IB_FIELD16(0x06, 15, 0)
#define MLX4_AV_SGID_INDEX        IB_FIELD8(0x09, 6, 0)
#define MLX4_AV_RATE              IB_FIELD8(0x0a, 7, 0)
#define MLX4_AV_HOP_LIMIT         IB_FIELD8(0x0b, 7, 0)
#define MLX4_AV_SL                IB_FIELD32(0x0c, 31, 28)
#define MLX4_AV_TCLASS            IB_FIELD32(0x0c, 27, 20)
#define MLX4_AV_FLOW_LABEL        IB_FIELD32(0x0c, 19, 0)
#define MLX4_AV_DGID_OFFSET       0x10
#define MLX4_AV_QPN               IB_FIELD32(0x20, 23, 0)
#define MLX4_AV_QKEY              IB_FIELD32(0x24, 31, 0)
#define MLX4_AV_BYTES             48

#define MLX4_SEG_COUNT            IB_FIELD32(0x00, 30, 0)
#define MLX4_SEG_INLINE           IB_FIELD32(0x00, 31, 31)
#define MLX4_SEG_KEY              IB_FIELD32(0x04, 31, 0)
#define MLX4_SEG_VA_OFFSET        8
#define MLX4_SEG_BYTES            16
#define MLX4_SEG_INVALID_KEY      0x100       /* ends a receive list */
#define MLX4_INLINE_HEADER        4

#define MLX4_FMR_ATOMIC           IB_FIELD32(0x00, 31, 31)
#define MLX4_FMR_REMOTE_WRITE     IB_FIELD32(0x00, 30, 30)
#define MLX4_FMR_REMOTE_READ      IB_FIELD32(0x00, 29, 29)
#define MLX4_FMR_LOCAL_WRITE      IB_FIELD32(0x00, 28, 28)
#define MLX4_FMR_LOCAL_READ       IB_FIELD32(0x00, 27, 27)
#define MLX4_FMR_KEY              IB_FIELD32(0x04, 31, 0)
#define MLX4_FMR_LIST_OFFSET      0x08
#define MLX4_FMR_START_OFFSET     0x10
#define MLX4_FMR_LENGTH_OFFSET    0x18
#define MLX4_FMR_LOG_PAGE         IB_FIELD32(0x24, 5, 0)
#define MLX4_FMR_BYTES            48
#define MLX4_FMR_MAX_PAGES        511

#define MLX4_BIND_ATOMIC          IB_FIELD32(0x00, 31, 31)
#define MLX4_BIND_REMOTE_WRITE    IB_FIELD32(0x00, 30, 30)
#define MLX4_BIND_REMOTE_READ     IB_FIELD32(0x00, 29, 29)
#define MLX4_BIND_TYPE_2          IB_FIELD32(0x04, 31, 31)
#define MLX4_BIND_ZERO_BASED      IB_FIELD32(0x04, 30, 30)
#define MLX4_BIND_NEW_KEY         IB_FIELD32(0x08, 31, 0)
#define MLX4_BIND_LKEY            IB_FIELD32(0x0c, 31, 0)
#define MLX4_BIND_VA_OFFSET       0x10
#define MLX4_BIND_LENGTH_OFFSET   0x18
#define MLX4_BIND_BYTES           32

#define MLX4_LOCAL_INV_KEY        IB_FIELD32(0x08, 31, 0)
#define MLX4_LOCAL_INV_BYTES      32

#define MLX4_RECORD_COUNT         IB_FIELD32(0x00, 15, 0)
#define MLX4_RECORD_CI            IB_FIELD32(0x00, 23, 0)

/* ----------------------------------------------------------- multicast */

#define MLX4_MGM_NEXT             IB_FIELD32(0x00, 31, 6)
#define MLX4_MGM_PROTOCOL         IB_FIELD32(0x04, 31, 30)
#define MLX4_MGM_COUNT            IB_FIELD32(0x04, 23, 0)
#define MLX4_MGM_GID_OFFSET       0x10
#define MLX4_MGM_QP_OFFSET        0x20        /* dwords */
#define MLX4_MGM_BLOCK_LOOPBACK   IB_FIELD32(0x00, 30, 30)
#define MLX4_MGM_QPN              IB_FIELD32(0x00, 23, 0)
#define MLX4_MGM_PROTOCOL_IB      0

#endif
