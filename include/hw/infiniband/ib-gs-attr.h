/*
 * Layouts of the general services' attributes (IBA Vol. 1, chapter 16 and
 * annex A10): ClassPortInfo, performance management, congestion control
 *
 * Offsets are from the attribute's first byte: byte IB_GMP_DATA_OFFSET of
 * the MAD for performance, see IB_CC_MAD_* in ib-mad.h for congestion
 * control.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_INFINIBAND_IB_GS_ATTR_H
#define HW_INFINIBAND_IB_GS_ATTR_H

#include "hw/infiniband/ib-bits.h"

/* ClassPortInfo (13.4.8.1) */
#define IB_CPI_BYTES                    72
#define IB_CPI_BASE_VERSION             IB_FIELD8(0, 7, 0)
#define IB_CPI_CLASS_VERSION            IB_FIELD8(1, 7, 0)
#define IB_CPI_CAPABILITY_MASK          IB_FIELD16(2, 15, 0)
#define IB_CPI_CAPABILITY_MASK2         IB_FIELD32(4, 31, 5)
#define IB_CPI_RESP_TIME_VALUE          IB_FIELD32(4, 4, 0)
#define IB_CPI_REDIRECT_GID_OFFSET      8
#define IB_CPI_REDIRECT_TC              IB_FIELD32(24, 31, 24)
#define IB_CPI_REDIRECT_SL              IB_FIELD32(24, 23, 20)
#define IB_CPI_REDIRECT_FL              IB_FIELD32(24, 19, 0)
#define IB_CPI_REDIRECT_LID             IB_FIELD16(28, 15, 0)
#define IB_CPI_REDIRECT_P_KEY           IB_FIELD16(30, 15, 0)
#define IB_CPI_REDIRECT_QP              IB_FIELD32(32, 23, 0)
#define IB_CPI_REDIRECT_Q_KEY           IB_FIELD32(36, 31, 0)
#define IB_CPI_TRAP_GID_OFFSET          40
#define IB_CPI_TRAP_TC                  IB_FIELD32(56, 31, 24)
#define IB_CPI_TRAP_SL                  IB_FIELD32(56, 23, 20)
#define IB_CPI_TRAP_FL                  IB_FIELD32(56, 19, 0)
#define IB_CPI_TRAP_LID                 IB_FIELD16(60, 15, 0)
#define IB_CPI_TRAP_P_KEY               IB_FIELD16(62, 15, 0)
#define IB_CPI_TRAP_HL                  IB_FIELD32(64, 31, 24)
#define IB_CPI_TRAP_QP                  IB_FIELD32(64, 23, 0)
#define IB_CPI_TRAP_Q_KEY               IB_FIELD32(68, 31, 0)

/* CapabilityMask of every class */
#define IB_CPI_CAP_TRAP                 (1u << 0)
#define IB_CPI_CAP_NOTICE               (1u << 1)   /* Get and Set(Notice) */
#define IB_CPI_CAP_CAPABILITY_MASK2     (1u << 2)

/* CapabilityMask and CapabilityMask2 of performance management (16.1.3.1) */
#define IB_PM_CAP_ALL_PORT_SELECT               (1u << 8)
#define IB_PM_CAP_EXTENDED_WIDTH                (1u << 9)
#define IB_PM_CAP_EXTENDED_WIDTH_NO_IETF        (1u << 10)
#define IB_PM_CAP_SAMPLES_ONLY                  (1u << 11)
#define IB_PM_CAP_PORT_COUNTERS_XMIT_WAIT       (1u << 12)
#define IB_PM_CAP_INHIBIT_LIMITED_PKEY_MC_ERRORS (1u << 13)
#define IB_PM_CAP_RS_FEC_COUNTERS               (1u << 14)
#define IB_PM_CAP_QP1_DROPPED                   (1u << 15)
#define IB_PM_CAP2_PM_KEY                       (1u << 0)
#define IB_PM_CAP2_ADDITIONAL_EXTENDED_COUNTERS (1u << 1)

/*
 * PortSelect and CounterSelect lie at the same place in all attributes of
 * counters. IB_PM_ALL_PORTS selects all ports at once.
 */
#define IB_PM_OP_CODE                   IB_FIELD8(0, 7, 0)  /* of some */
#define IB_PM_PORT_SELECT               IB_FIELD8(1, 7, 0)
#define IB_PM_COUNTER_SELECT            IB_FIELD16(2, 15, 0)
#define IB_PM_ALL_PORTS                 0xff

/* PortSamplesControl (16.1.3.2) */
#define IB_PSC_OP_CODE                  IB_FIELD8(0, 7, 0)
#define IB_PSC_PORT_SELECT              IB_FIELD8(1, 7, 0)
#define IB_PSC_TICK                     IB_FIELD8(2, 7, 0)
#define IB_PSC_COUNTER_WIDTH            IB_FIELD8(3, 2, 0)
#define IB_PSC_COUNTER_MASK0            IB_FIELD32(4, 29, 27)
#define IB_PSC_COUNTER_MASKS_1_TO_9     IB_FIELD32(4, 26, 0)
#define IB_PSC_COUNTER_MASKS_10_TO_14   IB_FIELD16(8, 14, 0)
#define IB_PSC_SAMPLE_MECHANISMS        IB_FIELD8(10, 7, 0)
#define IB_PSC_SAMPLE_STATUS            IB_FIELD8(11, 1, 0)
#define IB_PSC_OPTION_MASK_OFFSET       12
#define IB_PSC_VENDOR_MASK_OFFSET       20
#define IB_PSC_SAMPLE_START             IB_FIELD32(28, 31, 0)
#define IB_PSC_SAMPLE_INTERVAL          IB_FIELD32(32, 31, 0)
#define IB_PSC_TAG                      IB_FIELD16(36, 15, 0)
#define IB_PSC_COUNTERS                 15
#define IB_PSC_COUNTER_SELECT(i)        IB_FIELD16(38 + (i) * 2, 15, 0)
#define IB_PSC_SAMPLES_ONLY_OPTION_MASK_OFFSET 72

/* SampleStatus */
#define IB_SAMPLE_DONE                  0
#define IB_SAMPLE_STARTED               1
#define IB_SAMPLE_RUNNING               2

/* CounterSelect values of PortSamplesControl (table 228, part) */
#define IB_SAMPLE_PORT_XMIT_DATA        0x0001
#define IB_SAMPLE_PORT_RCV_DATA         0x0002
#define IB_SAMPLE_PORT_XMIT_PKTS        0x0003
#define IB_SAMPLE_PORT_RCV_PKTS         0x0004
#define IB_SAMPLE_PORT_XMIT_WAIT        0x0005

/* PortSamplesResult (16.1.3.4) and its extended form (16.1.4.11) */
#define IB_PSR_TAG                      IB_FIELD16(0, 15, 0)
#define IB_PSR_SAMPLE_STATUS            IB_FIELD16(2, 1, 0)
#define IB_PSR_COUNTER(i)               IB_FIELD32(4 + (i) * 4, 31, 0)
#define IB_PSRX_TAG                     IB_FIELD16(0, 15, 0)
#define IB_PSRX_SAMPLE_STATUS           IB_FIELD16(2, 1, 0)
#define IB_PSRX_EXTENDED_WIDTH          IB_FIELD32(4, 31, 30)
#define IB_PSRX_COUNTER_OFFSET(i)       (8 + (i) * 8)

/* PortCounters (16.1.3.5); counters stop at their largest value */
#define IB_PORTCOUNTERS_BYTES           44
#define IB_PORTCOUNTERS_PORT_SELECT     IB_FIELD8(1, 7, 0)
#define IB_PORTCOUNTERS_COUNTER_SELECT  IB_FIELD16(2, 15, 0)
#define IB_PORTCOUNTERS_SYMBOL_ERROR_COUNTER IB_FIELD16(4, 15, 0)
#define IB_PORTCOUNTERS_LINK_ERROR_RECOVERY_COUNTER IB_FIELD8(6, 7, 0)
#define IB_PORTCOUNTERS_LINK_DOWNED_COUNTER IB_FIELD8(7, 7, 0)
#define IB_PORTCOUNTERS_PORT_RCV_ERRORS IB_FIELD16(8, 15, 0)
#define IB_PORTCOUNTERS_PORT_RCV_REMOTE_PHYSICAL_ERRORS IB_FIELD16(10, 15, 0)
#define IB_PORTCOUNTERS_PORT_RCV_SWITCH_RELAY_ERRORS IB_FIELD16(12, 15, 0)
#define IB_PORTCOUNTERS_PORT_XMIT_DISCARDS IB_FIELD16(14, 15, 0)
#define IB_PORTCOUNTERS_PORT_XMIT_CONSTRAINT_ERRORS IB_FIELD8(16, 7, 0)
#define IB_PORTCOUNTERS_PORT_RCV_CONSTRAINT_ERRORS IB_FIELD8(17, 7, 0)
#define IB_PORTCOUNTERS_COUNTER_SELECT2 IB_FIELD8(18, 7, 0)
#define IB_PORTCOUNTERS_LOCAL_LINK_INTEGRITY_ERRORS IB_FIELD8(19, 7, 4)
#define IB_PORTCOUNTERS_EXCESSIVE_BUFFER_OVERRUN_ERRORS IB_FIELD8(19, 3, 0)
#define IB_PORTCOUNTERS_QP1_DROPPED     IB_FIELD16(20, 15, 0)
#define IB_PORTCOUNTERS_VL15_DROPPED    IB_FIELD16(22, 15, 0)
#define IB_PORTCOUNTERS_PORT_XMIT_DATA  IB_FIELD32(24, 31, 0)   /* words */
#define IB_PORTCOUNTERS_PORT_RCV_DATA   IB_FIELD32(28, 31, 0)   /* words */
#define IB_PORTCOUNTERS_PORT_XMIT_PKTS  IB_FIELD32(32, 31, 0)
#define IB_PORTCOUNTERS_PORT_RCV_PKTS   IB_FIELD32(36, 31, 0)
#define IB_PORTCOUNTERS_PORT_XMIT_WAIT  IB_FIELD32(40, 31, 0)   /* ticks */

/* Bits of CounterSelect, then of CounterSelect2, in PortCounters */
#define IB_PORTCOUNTERS_SEL_SYMBOL_ERROR        (1u << 0)
#define IB_PORTCOUNTERS_SEL_LINK_ERROR_RECOVERY (1u << 1)
#define IB_PORTCOUNTERS_SEL_LINK_DOWNED         (1u << 2)
#define IB_PORTCOUNTERS_SEL_RCV_ERRORS          (1u << 3)
#define IB_PORTCOUNTERS_SEL_RCV_REMOTE_PHYSICAL (1u << 4)
#define IB_PORTCOUNTERS_SEL_RCV_SWITCH_RELAY    (1u << 5)
#define IB_PORTCOUNTERS_SEL_XMIT_DISCARDS       (1u << 6)
#define IB_PORTCOUNTERS_SEL_XMIT_CONSTRAINT     (1u << 7)
#define IB_PORTCOUNTERS_SEL_RCV_CONSTRAINT      (1u << 8)
#define IB_PORTCOUNTERS_SEL_LOCAL_LINK_INTEGRITY (1u << 9)
#define IB_PORTCOUNTERS_SEL_BUFFER_OVERRUN      (1u << 10)
#define IB_PORTCOUNTERS_SEL_VL15_DROPPED        (1u << 11)
#define IB_PORTCOUNTERS_SEL_XMIT_DATA           (1u << 12)
#define IB_PORTCOUNTERS_SEL_RCV_DATA            (1u << 13)
#define IB_PORTCOUNTERS_SEL_XMIT_PKTS           (1u << 14)
#define IB_PORTCOUNTERS_SEL_RCV_PKTS            (1u << 15)
#define IB_PORTCOUNTERS_SEL2_XMIT_WAIT          (1u << 0)
#define IB_PORTCOUNTERS_SEL2_QP1_DROPPED        (1u << 1)

/* PortCountersExtended (16.1.4.11), 64 bits a counter */
#define IB_PCX_BYTES                    184
#define IB_PCX_PORT_SELECT              IB_FIELD8(1, 7, 0)
#define IB_PCX_COUNTER_SELECT           IB_FIELD16(2, 15, 0)
#define IB_PCX_COUNTER_SELECT2          IB_FIELD32(4, 31, 0)
#define IB_PCX_PORT_XMIT_DATA_OFFSET            8
#define IB_PCX_PORT_RCV_DATA_OFFSET             16
#define IB_PCX_PORT_XMIT_PKTS_OFFSET            24
#define IB_PCX_PORT_RCV_PKTS_OFFSET             32
#define IB_PCX_PORT_UNICAST_XMIT_PKTS_OFFSET    40
#define IB_PCX_PORT_UNICAST_RCV_PKTS_OFFSET     48
#define IB_PCX_PORT_MULTICAST_XMIT_PKTS_OFFSET  56
#define IB_PCX_PORT_MULTICAST_RCV_PKTS_OFFSET   64
#define IB_PCX_SYMBOL_ERROR_COUNTER_OFFSET      72
#define IB_PCX_LINK_ERROR_RECOVERY_COUNTER_OFFSET 80
#define IB_PCX_LINK_DOWNED_COUNTER_OFFSET       88
#define IB_PCX_PORT_RCV_ERRORS_OFFSET           96
#define IB_PCX_PORT_RCV_REMOTE_PHYSICAL_ERRORS_OFFSET 104
#define IB_PCX_PORT_RCV_SWITCH_RELAY_ERRORS_OFFSET 112
#define IB_PCX_PORT_XMIT_DISCARDS_OFFSET        120
#define IB_PCX_PORT_XMIT_CONSTRAINT_ERRORS_OFFSET 128
#define IB_PCX_PORT_RCV_CONSTRAINT_ERRORS_OFFSET 136
#define IB_PCX_LOCAL_LINK_INTEGRITY_ERRORS_OFFSET 144
#define IB_PCX_EXCESSIVE_BUFFER_OVERRUN_ERRORS_OFFSET 152
#define IB_PCX_VL15_DROPPED_OFFSET              160
#define IB_PCX_PORT_XMIT_WAIT_OFFSET            168
#define IB_PCX_QP1_DROPPED_OFFSET               176

/* Bits of CounterSelect in PortCountersExtended */
#define IB_PCX_SEL_XMIT_DATA            (1u << 0)
#define IB_PCX_SEL_RCV_DATA             (1u << 1)
#define IB_PCX_SEL_XMIT_PKTS            (1u << 2)
#define IB_PCX_SEL_RCV_PKTS             (1u << 3)
#define IB_PCX_SEL_UNICAST_XMIT_PKTS    (1u << 4)
#define IB_PCX_SEL_UNICAST_RCV_PKTS     (1u << 5)
#define IB_PCX_SEL_MULTICAST_XMIT_PKTS  (1u << 6)
#define IB_PCX_SEL_MULTICAST_RCV_PKTS   (1u << 7)

/* PortRcvErrorDetails (16.1.4.1) */
#define IB_RCVERR_PORT_LOCAL_PHYSICAL_ERRORS    IB_FIELD16(4, 15, 0)
#define IB_RCVERR_PORT_MALFORMED_PACKET_ERRORS  IB_FIELD16(6, 15, 0)
#define IB_RCVERR_PORT_BUFFER_OVERRUN_ERRORS    IB_FIELD16(8, 15, 0)
#define IB_RCVERR_PORT_DLID_MAPPING_ERRORS      IB_FIELD16(10, 15, 0)
#define IB_RCVERR_PORT_VL_MAPPING_ERRORS        IB_FIELD16(12, 15, 0)
#define IB_RCVERR_PORT_LOOPING_ERRORS           IB_FIELD16(14, 15, 0)

/* PortXmitDiscardDetails (16.1.4.2) */
#define IB_XMITDISC_PORT_INACTIVE_DISCARDS      IB_FIELD16(4, 15, 0)
#define IB_XMITDISC_PORT_NEIGHBOR_MTU_DISCARDS  IB_FIELD16(6, 15, 0)
#define IB_XMITDISC_PORT_SW_LIFETIME_LIMIT_DISCARDS IB_FIELD16(8, 15, 0)
#define IB_XMITDISC_PORT_SW_HOQ_LIFETIME_LIMIT_DISCARDS IB_FIELD16(10, 15, 0)

/* PortOpRcvCounters (16.1.4.3) */
#define IB_OPRCV_PORT_OP_RCV_PKTS               IB_FIELD32(4, 31, 0)
#define IB_OPRCV_PORT_OP_RCV_DATA               IB_FIELD32(8, 31, 0)

/* PortFlowCtlCounters (16.1.4.4) */
#define IB_FLOWCTL_PORT_XMIT_FLOW_PKTS          IB_FIELD32(4, 31, 0)
#define IB_FLOWCTL_PORT_RCV_FLOW_PKTS           IB_FIELD32(8, 31, 0)

/* Counters per VL or SL (16.1.4.5 to 16.1.4.8, annex A10); i = 0 to 15 */
#define IB_VLOPPKTS_PORT_VL_OP_PACKETS(i)       IB_FIELD16(4 + (i) * 2, 15, 0)
#define IB_VLOPDATA_PORT_VL_OP_DATA(i)          IB_FIELD32(4 + (i) * 4, 31, 0)
#define IB_VLFCERR_PORT_VL_XMIT_FLOW_CTL_UPDATE_ERRORS(i) \
    IB_FIELD32(4, 31 - (i) * 2, 30 - (i) * 2)
#define IB_VLXMITWAIT_PORT_VL_XMIT_WAIT(i)      IB_FIELD16(4 + (i) * 2, 15, 0)
#define IB_SWVLCONG_SW_PORT_VL_CONGESTION(i)    IB_FIELD16(4 + (i) * 2, 15, 0)
#define IB_SLRCVFECN_PORT_SL_RCV_FECN(i)        IB_FIELD32(4 + (i) * 4, 31, 0)
#define IB_SLRCVBECN_PORT_SL_RCV_BECN(i)        IB_FIELD32(4 + (i) * 4, 31, 0)
#define IB_VLXMITCONG_PORT_VL_XMIT_TIME_CONG(i) IB_FIELD32(4 + (i) * 4, 31, 0)
#define IB_XMITSL_PORT_XMIT_DATA_SL(i)          IB_FIELD32(4 + (i) * 4, 31, 0)
#define IB_RCVSL_PORT_RCV_DATA_SL(i)            IB_FIELD32(4 + (i) * 4, 31, 0)

/* PortRcvConCtrl and PortXmitConCtrl (annex A10) */
#define IB_RCVCONCTRL_PORT_PKT_RCV_FECN         IB_FIELD32(4, 31, 0)
#define IB_RCVCONCTRL_PORT_PKT_RCV_BECN         IB_FIELD32(8, 31, 0)
#define IB_XMITCONCTRL_PORT_XMIT_TIME_CONG      IB_FIELD32(4, 31, 0)

/* PortExtendedSpeedsCounters (16.1.4.12); i = lane, 0 to 11 */
#define IB_PESC_COUNTER_SELECT_OFFSET           8
#define IB_PESC_COUNTER_SELECT                  IB_FIELD32(12, 31, 0) /* low */
#define IB_PESC_SYNC_HEADER_ERROR_COUNTER       IB_FIELD16(16, 15, 0)
#define IB_PESC_UNKNOWN_BLOCK_COUNTER           IB_FIELD16(18, 15, 0)
#define IB_PESC_ERROR_DETECTION_COUNTER(i)      IB_FIELD16(20 + (i) * 2, 15, 0)
#define IB_PESC_FEC_CORRECTABLE_BLOCK(i)        IB_FIELD32(44 + (i) * 4, 31, 0)
#define IB_PESC_FEC_UNCORRECTABLE_BLOCK(i)      IB_FIELD32(92 + (i) * 4, 31, 0)

/* CongestionInfo (A10.4.3.3) */
#define IB_CC_INFO_CONGESTION_INFO              IB_FIELD16(0, 15, 0)
#define IB_CC_INFO_CONTROL_TABLE_CAP            IB_FIELD8(2, 7, 0) /* * 64 */
#define IB_CC_INFO_CREDIT_STARVATION            (1u << 0)

/* CongestionKeyInfo (A10.4.3.4) */
#define IB_CC_KEYINFO_CC_KEY_OFFSET             0
#define IB_CC_KEYINFO_CC_KEY_PROTECT_BIT        IB_FIELD16(8, 15, 15)
#define IB_CC_KEYINFO_CC_KEY_LEASE_PERIOD       IB_FIELD16(10, 15, 0)
#define IB_CC_KEYINFO_CC_KEY_VIOLATIONS         IB_FIELD16(12, 15, 0)

/* CongestionLog (A10.4.3.5), at IB_CC_MAD_LOG_DATA_OFFSET */
#define IB_CC_LOG_LOG_TYPE                      IB_FIELD8(0, 7, 0)
#define IB_CC_LOG_CONGESTION_FLAGS              IB_FIELD8(1, 7, 0)
#define IB_CC_LOG_TYPE_SWITCH                   1
#define IB_CC_LOG_TYPE_CA                       2
/* ... of a switch */
#define IB_CC_LOGSW_LOG_EVENTS_COUNTER          IB_FIELD16(2, 15, 0)
#define IB_CC_LOGSW_CURRENT_TIME_STAMP          IB_FIELD32(4, 31, 0)
#define IB_CC_LOGSW_PORT_MAP_OFFSET             8   /* 256 bits */
#define IB_CC_LOGSW_EVENT_OFFSET(i)             (40 + (i) * 12)
#define IB_CC_LOGSW_EVENTS                      15
#define IB_CC_LOGSW_EVENT_SLID                  IB_FIELD16(0, 15, 0)
#define IB_CC_LOGSW_EVENT_DLID                  IB_FIELD16(2, 15, 0)
#define IB_CC_LOGSW_EVENT_SL                    IB_FIELD32(4, 31, 28)
#define IB_CC_LOGSW_EVENT_TIME_STAMP            IB_FIELD32(8, 31, 0)
/* ... of a CA */
#define IB_CC_LOGCA_THRESHOLD_EVENT_COUNTER     IB_FIELD16(2, 15, 0)
#define IB_CC_LOGCA_THRESHOLD_CONGESTION_EVENT_MAP IB_FIELD16(4, 15, 0)
#define IB_CC_LOGCA_CURRENT_TIME_STAMP          IB_FIELD32(8, 31, 0)
#define IB_CC_LOGCA_EVENT_OFFSET(i)             (12 + (i) * 16)
#define IB_CC_LOGCA_EVENTS                      13
/* (as libibmad has it; OpenSM's header still has an older draft's order) */
#define IB_CC_LOGCA_EVENT_LOCAL_QP              IB_FIELD32(0, 31, 8)
#define IB_CC_LOGCA_EVENT_SL                    IB_FIELD32(0, 7, 4)
#define IB_CC_LOGCA_EVENT_SERVICE_TYPE          IB_FIELD32(0, 3, 0)
#define IB_CC_LOGCA_EVENT_REMOTE_QP             IB_FIELD32(4, 31, 8)
#define IB_CC_LOGCA_EVENT_LOCAL_LID             IB_FIELD16(8, 15, 0)
#define IB_CC_LOGCA_EVENT_REMOTE_LID            IB_FIELD16(10, 15, 0)
#define IB_CC_LOGCA_EVENT_TIME_STAMP            IB_FIELD32(12, 31, 0)

/* SwitchCongestionSetting (A10.4.3.6) */
#define IB_CC_SWSET_CONTROL_MAP                 IB_FIELD32(0, 31, 0)
#define IB_CC_SWSET_VICTIM_MASK_OFFSET          4   /* 256 bits */
#define IB_CC_SWSET_CREDIT_MASK_OFFSET          36  /* 256 bits */
#define IB_CC_SWSET_THRESHOLD                   IB_FIELD8(68, 7, 4)
#define IB_CC_SWSET_PACKET_SIZE                 IB_FIELD8(69, 7, 0)
#define IB_CC_SWSET_CS_THRESHOLD                IB_FIELD8(70, 7, 4)
#define IB_CC_SWSET_CS_RETURN_DELAY             IB_FIELD16(72, 15, 0)
#define IB_CC_SWSET_MARKING_RATE                IB_FIELD16(74, 15, 0)

/* SwitchPortCongestionSetting (A10.4.3.7): 32 ports a block */
#define IB_CC_SWPORT_ELEMENTS                   32
#define IB_CC_SWPORT_VALID(i)                   IB_FIELD8((i) * 4, 7, 7)
#define IB_CC_SWPORT_CONTROL_TYPE(i)            IB_FIELD8((i) * 4, 6, 6)
#define IB_CC_SWPORT_THRESHOLD(i)               IB_FIELD8((i) * 4, 3, 0)
#define IB_CC_SWPORT_PACKET_SIZE(i)             IB_FIELD8((i) * 4 + 1, 7, 0)
#define IB_CC_SWPORT_CONG_PARM(i)               IB_FIELD16((i) * 4 + 2, 15, 0)

/* CACongestionSetting (A10.4.3.8): one entry an SL */
#define IB_CC_CASET_PORT_CONTROL                IB_FIELD16(0, 15, 0)
#define IB_CC_CASET_CONTROL_MAP                 IB_FIELD16(2, 15, 0)
#define IB_CC_CASET_CCTI_TIMER(sl)              IB_FIELD16(4 + (sl) * 8, 15, 0)
#define IB_CC_CASET_CCTI_INCREASE(sl)           IB_FIELD8(6 + (sl) * 8, 7, 0)
#define IB_CC_CASET_TRIGGER_THRESHOLD(sl)       IB_FIELD8(7 + (sl) * 8, 7, 0)
#define IB_CC_CASET_CCTI_MIN(sl)                IB_FIELD8(8 + (sl) * 8, 7, 0)

/* CongestionControlTable (A10.4.3.9): 64 entries a block */
#define IB_CC_TABLE_ENTRIES                     64
#define IB_CC_TABLE_CCTI_LIMIT                  IB_FIELD16(0, 15, 0)
#define IB_CC_TABLE_CCT_SHIFT(i)                IB_FIELD16(4 + (i) * 2, 15, 14)
#define IB_CC_TABLE_CCT_MULTIPLIER(i)           IB_FIELD16(4 + (i) * 2, 13, 0)

/* TimeStamp (A10.4.3.10), 1.024 us a tick */
#define IB_CC_TIMESTAMP                         IB_FIELD32(0, 31, 0)

/*
 * ib_counter_clamp: what to store into @field for a running total @value:
 * the counter stops at the largest value of its field, as PortCounters and
 * the error counters do (IBA Vol. 1, 16.1.3.5).
 */
static inline uint32_t ib_counter_clamp(uint64_t value, uint32_t field)
{
    uint32_t max = IB_FIELD_MASK(field);

    return value > max ? max : (uint32_t)value;
}

#endif /* HW_INFINIBAND_IB_GS_ATTR_H */
