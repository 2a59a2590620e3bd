/*
 * Layouts of the subnet management attributes (IBA Vol. 1, 14.2.5)
 *
 * Each attribute is the 64 bytes of an SMP at IB_SMP_DATA_OFFSET; offsets
 * are from the attribute's first byte. Names follow the architecture's, as
 * OpenSM and infiniband-diags know them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_INFINIBAND_IB_SM_ATTR_H
#define HW_INFINIBAND_IB_SM_ATTR_H

#include "hw/infiniband/ib-bits.h"

#define IB_SM_ATTR_BYTES                64

/* NodeDescription (14.2.5.2): UTF-8, padded with 0 */
#define IB_NODEDESC_BYTES               64

/* NodeInfo (14.2.5.3) */
#define IB_NODEINFO_BYTES               40
#define IB_NODEINFO_BASE_VERSION        IB_FIELD8(0, 7, 0)
#define IB_NODEINFO_CLASS_VERSION       IB_FIELD8(1, 7, 0)
#define IB_NODEINFO_NODE_TYPE           IB_FIELD8(2, 7, 0)
#define IB_NODEINFO_NUM_PORTS           IB_FIELD8(3, 7, 0)
#define IB_NODEINFO_SYSTEM_IMAGE_GUID_OFFSET 4
#define IB_NODEINFO_NODE_GUID_OFFSET    12
#define IB_NODEINFO_PORT_GUID_OFFSET    20
#define IB_NODEINFO_PARTITION_CAP       IB_FIELD16(28, 15, 0)
#define IB_NODEINFO_DEVICE_ID           IB_FIELD16(30, 15, 0)
#define IB_NODEINFO_REVISION            IB_FIELD32(32, 31, 0)
#define IB_NODEINFO_LOCAL_PORT_NUM      IB_FIELD32(36, 31, 24)
#define IB_NODEINFO_VENDOR_ID           IB_FIELD32(36, 23, 0)

#define IB_NODE_TYPE_CA                 1
#define IB_NODE_TYPE_SWITCH             2
#define IB_NODE_TYPE_ROUTER             3

/* SwitchInfo (14.2.5.4) */
#define IB_SWITCHINFO_BYTES             20
#define IB_SWITCHINFO_LINEAR_FDB_CAP    IB_FIELD16(0, 15, 0)
#define IB_SWITCHINFO_RANDOM_FDB_CAP    IB_FIELD16(2, 15, 0)
#define IB_SWITCHINFO_MULTICAST_FDB_CAP IB_FIELD16(4, 15, 0)
#define IB_SWITCHINFO_LINEAR_FDB_TOP    IB_FIELD16(6, 15, 0)
#define IB_SWITCHINFO_DEFAULT_PORT      IB_FIELD8(8, 7, 0)
#define IB_SWITCHINFO_DEFAULT_MULTICAST_PRIMARY_PORT IB_FIELD8(9, 7, 0)
#define IB_SWITCHINFO_DEFAULT_MULTICAST_NOT_PRIMARY_PORT IB_FIELD8(10, 7, 0)
#define IB_SWITCHINFO_LIFE_TIME_VALUE   IB_FIELD8(11, 7, 3)
#define IB_SWITCHINFO_PORT_STATE_CHANGE IB_FIELD8(11, 2, 2)
#define IB_SWITCHINFO_OPTIMIZED_SL_TO_VL IB_FIELD8(11, 1, 0)
#define IB_SWITCHINFO_LIDS_PER_PORT     IB_FIELD16(12, 15, 0)
#define IB_SWITCHINFO_PARTITION_ENFORCEMENT_CAP IB_FIELD16(14, 15, 0)
#define IB_SWITCHINFO_INBOUND_ENFORCEMENT_CAP   IB_FIELD8(16, 7, 7)
#define IB_SWITCHINFO_OUTBOUND_ENFORCEMENT_CAP  IB_FIELD8(16, 6, 6)
#define IB_SWITCHINFO_FILTER_RAW_INBOUND_CAP    IB_FIELD8(16, 5, 5)
#define IB_SWITCHINFO_FILTER_RAW_OUTBOUND_CAP   IB_FIELD8(16, 4, 4)
#define IB_SWITCHINFO_ENHANCED_PORT0    IB_FIELD8(16, 3, 3)
#define IB_SWITCHINFO_MULTICAST_FDB_TOP IB_FIELD16(18, 15, 0)

/* OptimizedSLtoVLMappingProgramming */
#define IB_OPTIMIZED_SL_TO_VL_NONE      0
#define IB_OPTIMIZED_SL_TO_VL_SUPPORTED 1

/*
 * LifeTimeValue and HOQLife: a packet may wait 4.096 us * 2^value; values
 * above 19 mean without end (18.2.5.4).
 */
#define IB_LIFE_TIME_INFINITE           20

/* GUIDInfo (14.2.5.5): 8 GUIDs a block; AttributeModifier = block */
#define IB_GUIDINFO_GUIDS               8
#define IB_GUIDINFO_GUID_OFFSET(i)      ((i) * 8)

/* PortInfo (14.2.5.6); AttributeModifier as in IB_PORTINFO_MOD_* */
#define IB_PORTINFO_BYTES               64
#define IB_PORTINFO_M_KEY_OFFSET        0
#define IB_PORTINFO_GID_PREFIX_OFFSET   8
#define IB_PORTINFO_LID                 IB_FIELD16(16, 15, 0)
#define IB_PORTINFO_MASTER_SM_LID       IB_FIELD16(18, 15, 0)
#define IB_PORTINFO_CAPABILITY_MASK     IB_FIELD32(20, 31, 0)
#define IB_PORTINFO_DIAG_CODE           IB_FIELD16(24, 15, 0)
#define IB_PORTINFO_M_KEY_LEASE_PERIOD  IB_FIELD16(26, 15, 0)   /* seconds */
#define IB_PORTINFO_LOCAL_PORT_NUM      IB_FIELD8(28, 7, 0)
#define IB_PORTINFO_LINK_WIDTH_ENABLED  IB_FIELD8(29, 7, 0)
#define IB_PORTINFO_LINK_WIDTH_SUPPORTED IB_FIELD8(30, 7, 0)
#define IB_PORTINFO_LINK_WIDTH_ACTIVE   IB_FIELD8(31, 7, 0)
#define IB_PORTINFO_LINK_SPEED_SUPPORTED IB_FIELD8(32, 7, 4)
#define IB_PORTINFO_PORT_STATE          IB_FIELD8(32, 3, 0)
#define IB_PORTINFO_PORT_PHYSICAL_STATE IB_FIELD8(33, 7, 4)
#define IB_PORTINFO_LINK_DOWN_DEFAULT_STATE IB_FIELD8(33, 3, 0)
#define IB_PORTINFO_M_KEY_PROTECT_BITS  IB_FIELD8(34, 7, 6)
#define IB_PORTINFO_LMC                 IB_FIELD8(34, 2, 0)
#define IB_PORTINFO_LINK_SPEED_ACTIVE   IB_FIELD8(35, 7, 4)
#define IB_PORTINFO_LINK_SPEED_ENABLED  IB_FIELD8(35, 3, 0)
#define IB_PORTINFO_NEIGHBOR_MTU        IB_FIELD8(36, 7, 4)
#define IB_PORTINFO_MASTER_SM_SL        IB_FIELD8(36, 3, 0)
#define IB_PORTINFO_VL_CAP              IB_FIELD8(37, 7, 4)
#define IB_PORTINFO_INIT_TYPE           IB_FIELD8(37, 3, 0)
#define IB_PORTINFO_VL_HIGH_LIMIT       IB_FIELD8(38, 7, 0)     /* * 4 KiB */
#define IB_PORTINFO_VL_ARBITRATION_HIGH_CAP IB_FIELD8(39, 7, 0)
#define IB_PORTINFO_VL_ARBITRATION_LOW_CAP IB_FIELD8(40, 7, 0)
#define IB_PORTINFO_INIT_TYPE_REPLY     IB_FIELD8(41, 7, 4)
#define IB_PORTINFO_MTU_CAP             IB_FIELD8(41, 3, 0)
#define IB_PORTINFO_VL_STALL_COUNT      IB_FIELD8(42, 7, 5)
#define IB_PORTINFO_HOQ_LIFE            IB_FIELD8(42, 4, 0)
#define IB_PORTINFO_OPERATIONAL_VLS     IB_FIELD8(43, 7, 4)
#define IB_PORTINFO_PARTITION_ENFORCEMENT_INBOUND  IB_FIELD8(43, 3, 3)
#define IB_PORTINFO_PARTITION_ENFORCEMENT_OUTBOUND IB_FIELD8(43, 2, 2)
#define IB_PORTINFO_FILTER_RAW_INBOUND  IB_FIELD8(43, 1, 1)
#define IB_PORTINFO_FILTER_RAW_OUTBOUND IB_FIELD8(43, 0, 0)
#define IB_PORTINFO_M_KEY_VIOLATIONS    IB_FIELD16(44, 15, 0)
#define IB_PORTINFO_P_KEY_VIOLATIONS    IB_FIELD16(46, 15, 0)
#define IB_PORTINFO_Q_KEY_VIOLATIONS    IB_FIELD16(48, 15, 0)
#define IB_PORTINFO_GUID_CAP            IB_FIELD8(50, 7, 0)
#define IB_PORTINFO_CLIENT_REREGISTER   IB_FIELD8(51, 7, 7)
#define IB_PORTINFO_MULTICAST_PKEY_TRAP_SUPPRESSION IB_FIELD8(51, 6, 5)
#define IB_PORTINFO_SUBNET_TIMEOUT      IB_FIELD8(51, 4, 0)
#define IB_PORTINFO_RESP_TIME_VALUE     IB_FIELD8(52, 4, 0)
#define IB_PORTINFO_LOCAL_PHY_ERRORS    IB_FIELD8(53, 7, 4)     /* threshold */
#define IB_PORTINFO_OVERRUN_ERRORS      IB_FIELD8(53, 3, 0)     /* threshold */
#define IB_PORTINFO_MAX_CREDIT_HINT     IB_FIELD16(54, 15, 0)
#define IB_PORTINFO_LINK_SPEED_EXT_ACTIVE2 IB_FIELD8(56, 6, 5)
#define IB_PORTINFO_LINK_SPEED_EXT_SUPPORTED2 IB_FIELD8(56, 4, 3)
#define IB_PORTINFO_LINK_SPEED_EXT_ENABLED2 IB_FIELD8(56, 2, 0)
#define IB_PORTINFO_LINK_ROUND_TRIP_LATENCY IB_FIELD32(56, 23, 0) /* 4 ns */
#define IB_PORTINFO_CAPABILITY_MASK2    IB_FIELD16(60, 15, 0)
#define IB_PORTINFO_LINK_SPEED_EXT_ACTIVE IB_FIELD8(62, 7, 4)
#define IB_PORTINFO_LINK_SPEED_EXT_SUPPORTED IB_FIELD8(62, 3, 0)
#define IB_PORTINFO_LINK_SPEED_EXT_ENABLED IB_FIELD8(63, 4, 0)

/* AttributeModifier of PortInfo and PortInfoExtended */
#define IB_PORTINFO_MOD_PORT            0x000000ffu
#define IB_PORTINFO_MOD_SM_EXT_SPEEDS   0x80000000u /* SM knows them */

/* PortState */
#define IB_PORT_NO_CHANGE               0   /* in a Set */
#define IB_PORT_DOWN                    1
#define IB_PORT_INIT                    2
#define IB_PORT_ARMED                   3
#define IB_PORT_ACTIVE                  4
#define IB_PORT_ACT_DEFER               5

/* PortPhysicalState */
#define IB_PHYS_NO_CHANGE               0   /* in a Set */
#define IB_PHYS_SLEEP                   1
#define IB_PHYS_POLLING                 2
#define IB_PHYS_DISABLED                3
#define IB_PHYS_PORT_CONF_TRAINING      4
#define IB_PHYS_LINK_UP                 5
#define IB_PHYS_LINK_ERR_RECOVER        6
#define IB_PHYS_PHY_TEST                7

/* LinkDownDefaultState */
#define IB_LINK_DOWN_NO_CHANGE          0
#define IB_LINK_DOWN_SLEEP              1
#define IB_LINK_DOWN_POLLING            2

/* LinkWidth*: bits; in Enabled 0 = no change, 255 = as Supported */
#define IB_LINK_WIDTH_1X                0x01
#define IB_LINK_WIDTH_4X                0x02
#define IB_LINK_WIDTH_8X                0x04
#define IB_LINK_WIDTH_12X               0x08
#define IB_LINK_WIDTH_2X                0x10
#define IB_LINK_WIDTH_NO_CHANGE         0
#define IB_LINK_WIDTH_AS_SUPPORTED      255

/* LinkSpeed*: bits, gigabits a second and lane; Enabled: 15 = as Supported */
#define IB_LINK_SPEED_SDR               0x1     /* 2.5 */
#define IB_LINK_SPEED_DDR               0x2     /* 5.0 */
#define IB_LINK_SPEED_QDR               0x4     /* 10.0 */
#define IB_LINK_SPEED_NO_CHANGE         0
#define IB_LINK_SPEED_AS_SUPPORTED      15

/* LinkSpeedExt*: bits; Enabled: 30 = off, 31 = as Supported */
#define IB_LINK_SPEED_EXT_FDR           0x1     /* 14.0625 */
#define IB_LINK_SPEED_EXT_EDR           0x2     /* 25.78125 */
#define IB_LINK_SPEED_EXT_HDR           0x4     /* 53.125 */
#define IB_LINK_SPEED_EXT_NDR           0x8     /* 106.25 */
#define IB_LINK_SPEED_EXT_NO_CHANGE     0
#define IB_LINK_SPEED_EXT_DISABLE       30
#define IB_LINK_SPEED_EXT_AS_SUPPORTED  31

/* MTU codes of NeighborMTU, MTUCap and path records */
#define IB_MTU_256                      1
#define IB_MTU_512                      2
#define IB_MTU_1024                     3
#define IB_MTU_2048                     4
#define IB_MTU_4096                     5

/* VL codes of VLCap and OperationalVLs */
#define IB_VLS_0                        1
#define IB_VLS_0_1                      2
#define IB_VLS_0_3                      3
#define IB_VLS_0_7                      4
#define IB_VLS_0_14                     5

/* CapabilityMask */
#define IB_CAP_IS_SM                            (1u << 1)
#define IB_CAP_IS_NOTICE_SUPPORTED              (1u << 2)
#define IB_CAP_IS_TRAP_SUPPORTED                (1u << 3)
#define IB_CAP_IS_OPTIONAL_IPD_SUPPORTED        (1u << 4)
#define IB_CAP_IS_AUTOMATIC_MIGRATION_SUPPORTED (1u << 5)
#define IB_CAP_IS_SL_MAPPING_SUPPORTED          (1u << 6)
#define IB_CAP_IS_M_KEY_NVRAM                   (1u << 7)
#define IB_CAP_IS_P_KEY_NVRAM                   (1u << 8)
#define IB_CAP_IS_LED_INFO_SUPPORTED            (1u << 9)
#define IB_CAP_IS_SM_DISABLED                   (1u << 10)
#define IB_CAP_IS_SYSTEM_IMAGE_GUID_SUPPORTED   (1u << 11)
#define IB_CAP_IS_P_KEY_SWITCH_EXTERNAL_PORT_TRAP_SUPPORTED (1u << 12)
#define IB_CAP_IS_CABLE_INFO_SUPPORTED          (1u << 13)
#define IB_CAP_IS_EXTENDED_SPEEDS_SUPPORTED     (1u << 14)
#define IB_CAP_IS_CAPABILITY_MASK2_SUPPORTED    (1u << 15)
#define IB_CAP_IS_COMM_MGMT_SUPPORTED           (1u << 16)
#define IB_CAP_IS_SNMP_TUNNELING_SUPPORTED      (1u << 17)
#define IB_CAP_IS_REINIT_SUPPORTED              (1u << 18)
#define IB_CAP_IS_DEVICE_MGMT_SUPPORTED         (1u << 19)
#define IB_CAP_IS_VENDOR_CLASS_SUPPORTED        (1u << 20)
#define IB_CAP_IS_DR_NOTICE_SUPPORTED           (1u << 21)
#define IB_CAP_IS_CAPABILITY_MASK_NOTICE_SUPPORTED (1u << 22)
#define IB_CAP_IS_BOOT_MGMT_SUPPORTED           (1u << 23)
#define IB_CAP_IS_LINK_ROUND_TRIP_LATENCY_SUPPORTED (1u << 24)
#define IB_CAP_IS_CLIENT_REREGISTRATION_SUPPORTED (1u << 25)
#define IB_CAP_IS_OTHER_LOCAL_CHANGES_NOTICE_SUPPORTED (1u << 26)
#define IB_CAP_IS_LINK_SPEED_WIDTH_PAIRS_TABLE_SUPPORTED (1u << 27)
#define IB_CAP_IS_VENDOR_SPECIFIC_MADS_TABLE_SUPPORTED (1u << 28)
#define IB_CAP_IS_MCAST_PKEY_TRAP_SUPPRESSION_SUPPORTED (1u << 29)
#define IB_CAP_IS_MULTICAST_FDB_TOP_SUPPORTED   (1u << 30)
#define IB_CAP_IS_HIERARCHY_INFO_SUPPORTED      (1u << 31)

/* CapabilityMask2 */
#define IB_CAP2_IS_SET_NODE_DESCRIPTION_SUPPORTED (1u << 0)
#define IB_CAP2_IS_PORT_INFO_EXTENDED_SUPPORTED (1u << 1)
#define IB_CAP2_IS_VIRTUALIZATION_SUPPORTED     (1u << 2)
#define IB_CAP2_IS_SWITCH_PORT_STATE_TABLE_SUPPORTED (1u << 3)
#define IB_CAP2_IS_LINK_WIDTH_2X_SUPPORTED      (1u << 4)
#define IB_CAP2_IS_LINK_SPEED_HDR_SUPPORTED     (1u << 5)
#define IB_CAP2_IS_M_KEY_PROTECT_BITS_EXT_SUPPORTED (1u << 6)
#define IB_CAP2_IS_ENHANCED_TRAP128_SUPPORTED   (1u << 7)
#define IB_CAP2_IS_PARTITION_TOP_SUPPORTED      (1u << 8)
#define IB_CAP2_IS_ENHANCED_QOS_ARBITER_SUPPORTED (1u << 9)
#define IB_CAP2_IS_LINK_SPEED_NDR_SUPPORTED     (1u << 10)

/*
 * P_KeyTable (14.2.5.7): 32 P_Keys a block. AttributeModifier: block in
 * 15:0, in a switch the port in 31:16.
 */
#define IB_PKEYTABLE_ENTRIES            32
#define IB_PKEYTABLE_PKEY_OFFSET(i)     ((i) * 2)
#define IB_PKEYTABLE_MOD_BLOCK(mod)     ((mod) & 0xffff)
#define IB_PKEYTABLE_MOD_PORT(mod)      ((mod) >> 16)

/*
 * SLtoVLMappingTable (14.2.5.8): 4 bits an SL, SL0 in the high half of byte
 * 0. AttributeModifier in a switch: output port in 7:0, input port in 15:8;
 * with OptimizedSLtoVLMappingProgramming bit 16 = all output ports, bit 17 =
 * all input ports.
 */
#define IB_SLTOVL_BYTES                 8
#define IB_SLTOVL_VL(sl) \
    IB_FIELD8((sl) / 2, (sl) % 2 ? 3 : 7, (sl) % 2 ? 0 : 4)
#define IB_SLTOVL_MOD_OUT_PORT(mod)     ((mod) & 0xff)
#define IB_SLTOVL_MOD_IN_PORT(mod)      (((mod) >> 8) & 0xff)
#define IB_SLTOVL_MOD_ALL_OUT           0x00010000u
#define IB_SLTOVL_MOD_ALL_IN            0x00020000u

/*
 * VLArbitrationTable (14.2.5.9): 32 entries a block. AttributeModifier: port
 * in 15:0, part of the table in 31:16.
 */
#define IB_VLARB_ENTRIES                32
#define IB_VLARB_VL(i)                  IB_FIELD8((i) * 2, 3, 0)
#define IB_VLARB_WEIGHT(i)              IB_FIELD8((i) * 2 + 1, 7, 0) /* 64 B */
#define IB_VLARB_MOD_PORT(mod)          ((mod) & 0xffff)
#define IB_VLARB_MOD_PART(mod)          ((mod) >> 16)
#define IB_VLARB_LOW_LOWER              1   /* low priority, entries 0-31 */
#define IB_VLARB_LOW_UPPER              2
#define IB_VLARB_HIGH_LOWER             3
#define IB_VLARB_HIGH_UPPER             4

/*
 * LinearForwardingTable (14.2.5.10): 64 ports a block, LID = block * 64 + i.
 * AttributeModifier: block. A port of 255 has no route.
 */
#define IB_LFT_ENTRIES                  64
#define IB_LFT_NO_ROUTE                 0xff

/* RandomForwardingTable (14.2.5.11): 16 entries a block */
#define IB_RFT_ENTRIES                  16
#define IB_RFT_ENTRY_BYTES              4
#define IB_RFT_LID(i)                   IB_FIELD32((i) * 4, 31, 16)
#define IB_RFT_VALID(i)                 IB_FIELD32((i) * 4, 15, 15)
#define IB_RFT_LMC(i)                   IB_FIELD32((i) * 4, 14, 12)
#define IB_RFT_PORT(i)                  IB_FIELD32((i) * 4, 7, 0)

/*
 * MulticastForwardingTable (14.2.5.12): 32 port masks of 16 ports, MLID =
 * 0xc000 + block * 32 + i; bit b of a mask is port position * 16 + b.
 * AttributeModifier: block in 8:0, position in 31:28.
 */
#define IB_MFT_ENTRIES                  32
#define IB_MFT_PORTS_PER_POSITION       16
#define IB_MFT_PORT_MASK(i)             IB_FIELD16((i) * 2, 15, 0)
#define IB_MFT_MOD_BLOCK(mod)           ((mod) & 0x1ff)
#define IB_MFT_MOD_POSITION(mod)        ((mod) >> 28)

/* SMInfo (14.2.5.13) */
#define IB_SMINFO_BYTES                 21
#define IB_SMINFO_GUID_OFFSET           0
#define IB_SMINFO_SM_KEY_OFFSET         8
#define IB_SMINFO_ACT_COUNT             IB_FIELD32(16, 31, 0)
#define IB_SMINFO_PRIORITY              IB_FIELD8(20, 7, 4)
#define IB_SMINFO_SM_STATE              IB_FIELD8(20, 3, 0)

/* VendorDiag (14.2.5.14) */
#define IB_VENDORDIAG_NEXT_INDEX        IB_FIELD16(0, 15, 0)
#define IB_VENDORDIAG_DIAG_DATA_OFFSET  2
#define IB_VENDORDIAG_DIAG_DATA_BYTES   62

/* LedInfo (14.2.5.15); AttributeModifier: port */
#define IB_LEDINFO_LED_MASK             IB_FIELD32(0, 31, 31)

/* PortInfoExtended (14.2.5.19) */
#define IB_PORTINFOEXT_CAPABILITY_MASK  IB_FIELD32(0, 31, 0)
#define IB_PORTINFOEXT_FEC_MODE_ACTIVE  IB_FIELD16(4, 15, 0)
#define IB_PORTINFOEXT_FDR_FEC_MODE_SUPPORTED IB_FIELD16(6, 15, 0)
#define IB_PORTINFOEXT_FDR_FEC_MODE_ENABLED IB_FIELD16(8, 15, 0)
#define IB_PORTINFOEXT_EDR_FEC_MODE_SUPPORTED IB_FIELD16(10, 15, 0)
#define IB_PORTINFOEXT_EDR_FEC_MODE_ENABLED IB_FIELD16(12, 15, 0)
#define IB_PORTINFOEXT_HDR_FEC_MODE_SUPPORTED IB_FIELD16(14, 15, 0)
#define IB_PORTINFOEXT_HDR_FEC_MODE_ENABLED IB_FIELD16(16, 15, 0)
#define IB_PORTINFOEXT_NDR_FEC_MODE_SUPPORTED IB_FIELD16(18, 15, 0)
#define IB_PORTINFOEXT_NDR_FEC_MODE_ENABLED IB_FIELD16(20, 15, 0)
#define IB_PORTINFOEXT_CAP_IS_FEC_MODE_SUPPORTED (1u << 0)

/* ExtendedPortInfo of Mellanox: FDR10 on a 10 Gb/s lane (attribute ff90) */
#define IB_MLNXEXTPORTINFO_STATE_CHANGE_ENABLE  IB_FIELD8(3, 7, 0)
#define IB_MLNXEXTPORTINFO_LINK_SPEED_SUPPORTED IB_FIELD8(7, 7, 0)
#define IB_MLNXEXTPORTINFO_LINK_SPEED_ENABLED   IB_FIELD8(11, 7, 0)
#define IB_MLNXEXTPORTINFO_LINK_SPEED_ACTIVE    IB_FIELD8(15, 7, 0)

/* Notice (13.4.8.2), in SMPs 64 bytes; reports add IssuerGID */
#define IB_NOTICE_BYTES                 64
#define IB_NOTICE_IS_GENERIC            IB_FIELD32(0, 31, 31)
#define IB_NOTICE_TYPE                  IB_FIELD32(0, 30, 24)
#define IB_NOTICE_PRODUCER_TYPE         IB_FIELD32(0, 23, 0)    /* generic */
#define IB_NOTICE_VENDOR_ID             IB_FIELD32(0, 23, 0)    /* others */
#define IB_NOTICE_TRAP_NUMBER           IB_FIELD16(4, 15, 0)    /* generic */
#define IB_NOTICE_DEVICE_ID             IB_FIELD16(4, 15, 0)    /* others */
#define IB_NOTICE_ISSUER_LID            IB_FIELD16(6, 15, 0)
#define IB_NOTICE_TOGGLE                IB_FIELD16(8, 15, 15)
#define IB_NOTICE_COUNT                 IB_FIELD16(8, 14, 0)
#define IB_NOTICE_DATA_DETAILS_OFFSET   10
#define IB_NOTICE_DATA_DETAILS_BYTES    54
#define IB_NOTICE_ISSUER_GID_OFFSET     64

#define IB_NOTICE_TYPE_FATAL            0x00
#define IB_NOTICE_TYPE_URGENT           0x01
#define IB_NOTICE_TYPE_SECURITY         0x02
#define IB_NOTICE_TYPE_SUBN_MGMT        0x03
#define IB_NOTICE_TYPE_INFO             0x04
#define IB_NOTICE_TYPE_EMPTY            0x7f

#define IB_NOTICE_PRODUCER_CA           1
#define IB_NOTICE_PRODUCER_SWITCH       2
#define IB_NOTICE_PRODUCER_ROUTER       3
#define IB_NOTICE_PRODUCER_CLASS_MANAGER 4

/*
 * DataDetails of the generic traps (14.2.5.1, tables 133 to 141); these
 * offsets, too, are from the first byte of the Notice.
 */
/* 64 to 67: GID in or out of service, multicast group created or deleted */
#define IB_NOTICE64_GID_OFFSET          16
/* 128: link state of a switch's port changed */
#define IB_NOTICE128_LIDADDR            IB_FIELD16(10, 15, 0)
/* 129 to 131: link integrity, buffer overrun, flow control watchdog */
#define IB_NOTICE129_LIDADDR            IB_FIELD16(12, 15, 0)
#define IB_NOTICE129_PORT_NO            IB_FIELD8(14, 7, 0)
/* 144: CapabilityMask or another local thing changed */
#define IB_NOTICE144_LIDADDR            IB_FIELD16(12, 15, 0)
#define IB_NOTICE144_OTHER_LOCAL_CHANGES IB_FIELD8(15, 0, 0)
#define IB_NOTICE144_CAPABILITY_MASK    IB_FIELD32(16, 31, 0)
#define IB_NOTICE144_CAPABILITY_MASK2_CHANGE IB_FIELD16(20, 5, 5)
#define IB_NOTICE144_HIERARCHY_INFO_CHANGE IB_FIELD16(20, 4, 4)
#define IB_NOTICE144_SM_PRIORITY_CHANGE IB_FIELD16(20, 3, 3)
#define IB_NOTICE144_LINK_SPEED_ENABLED_CHANGE IB_FIELD16(20, 2, 2)
#define IB_NOTICE144_LINK_WIDTH_ENABLED_CHANGE IB_FIELD16(20, 1, 1)
#define IB_NOTICE144_NODE_DESCRIPTION_CHANGE IB_FIELD16(20, 0, 0)
#define IB_NOTICE144_CAPABILITY_MASK2   IB_FIELD16(22, 15, 0)
/* 145: SystemImageGUID changed */
#define IB_NOTICE145_LIDADDR            IB_FIELD16(12, 15, 0)
#define IB_NOTICE145_SYSTEM_IMAGE_GUID_OFFSET 16
/* 256: bad M_Key */
#define IB_NOTICE256_LIDADDR            IB_FIELD16(12, 15, 0)
#define IB_NOTICE256_DR_SLID            IB_FIELD16(14, 15, 0)
#define IB_NOTICE256_METHOD             IB_FIELD8(16, 7, 0)
#define IB_NOTICE256_ATTRIBUTE_ID       IB_FIELD16(18, 15, 0)
#define IB_NOTICE256_ATTRIBUTE_MODIFIER IB_FIELD32(20, 31, 0)
#define IB_NOTICE256_M_KEY_OFFSET       24
#define IB_NOTICE256_DR_NOTICE          IB_FIELD8(33, 7, 7)
#define IB_NOTICE256_DR_PATH_TRUNCATED  IB_FIELD8(33, 6, 6)
#define IB_NOTICE256_DR_HOP_COUNT       IB_FIELD8(33, 5, 0)
#define IB_NOTICE256_DR_RETURN_PATH_OFFSET 34
#define IB_NOTICE256_DR_RETURN_PATH_BYTES 30
/* 257 and 258: bad P_Key (16 bits in KEY's low half), bad Q_Key */
#define IB_NOTICE257_LIDADDR1           IB_FIELD16(12, 15, 0)   /* source */
#define IB_NOTICE257_LIDADDR2           IB_FIELD16(14, 15, 0)
#define IB_NOTICE257_KEY                IB_FIELD32(16, 31, 0)
#define IB_NOTICE257_SL                 IB_FIELD32(20, 31, 28)
#define IB_NOTICE257_QP1                IB_FIELD32(20, 23, 0)
#define IB_NOTICE257_QP2                IB_FIELD32(24, 23, 0)
#define IB_NOTICE257_GIDADDR1_OFFSET    28
#define IB_NOTICE257_GIDADDR2_OFFSET    44
/* 259: bad P_Key at an external port of a switch */
#define IB_NOTICE259_DATA_VALID         IB_FIELD16(10, 15, 0)
#define IB_NOTICE259_LIDADDR1           IB_FIELD16(12, 15, 0)   /* source */
#define IB_NOTICE259_LIDADDR2           IB_FIELD16(14, 15, 0)
#define IB_NOTICE259_P_KEY              IB_FIELD16(16, 15, 0)
#define IB_NOTICE259_SL                 IB_FIELD32(18, 31, 28)
#define IB_NOTICE259_QP1                IB_FIELD32(18, 23, 0)
#define IB_NOTICE259_QP2                IB_FIELD32(22, 23, 0)
#define IB_NOTICE259_GIDADDR1_OFFSET    26
#define IB_NOTICE259_GIDADDR2_OFFSET    42
#define IB_NOTICE259_SW_LIDADDR         IB_FIELD16(58, 15, 0)
#define IB_NOTICE259_PORT_NO            IB_FIELD8(60, 7, 0)

/* ib_mtu_to_bytes: bytes of an MTU code, 0 for a reserved code */
static inline unsigned ib_mtu_to_bytes(unsigned code)
{
    return code >= IB_MTU_256 && code <= IB_MTU_4096 ? 128u << code : 0;
}

/* ib_mtu_from_bytes: code of the largest MTU not above @bytes, 0 if none */
static inline unsigned ib_mtu_from_bytes(unsigned bytes)
{
    unsigned code = IB_MTU_4096;

    while (code && ib_mtu_to_bytes(code) > bytes) {
        code--;
    }
    return code;
}

/* ib_vls_to_count: data VLs of a VL code (1, 2, 4, 8, 15), 0 if reserved */
static inline unsigned ib_vls_to_count(unsigned code)
{
    return code == IB_VLS_0_14 ? 15 :
           code >= IB_VLS_0 && code < IB_VLS_0_14 ? 1u << (code - 1) : 0;
}

/* ib_link_width_to_lanes: lanes of one LinkWidthActive bit, 0 if reserved */
unsigned ib_link_width_to_lanes(unsigned width);

/*
 * ib_link_rate_mbps: signalling rate in 10^6 bit/s of a link, 0 if the codes
 * are reserved. @speed_ext is used when it is not 0, as in PortInfo.
 */
unsigned ib_link_rate_mbps(unsigned width, unsigned speed, unsigned speed_ext);

/* Names as infiniband-diags prints them ("Down", "LinkUp", "4X"); "?" else */
const char *ib_port_state_str(unsigned state);
const char *ib_phys_state_str(unsigned state);

#endif /* HW_INFINIBAND_IB_SM_ATTR_H */
