/*
 * Management datagrams: headers, classes, methods, attributes, statuses
 * (IBA Vol. 1, chapters 13 to 16)
 *
 * A MAD is 256 bytes, the payload of a UD packet to QP0 (SMP) or QP1 (GMP).
 * Offsets are from the first byte of the MAD. The layouts of attributes are
 * in ib-sm-attr.h and ib-gs-attr.h, relative to the attribute's first byte.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_INFINIBAND_IB_MAD_H
#define HW_INFINIBAND_IB_MAD_H

#include <stdbool.h>
#include "hw/infiniband/ib-bits.h"

#define IB_MAD_BYTES                    256

/* Common MAD header (13.4.2) */
#define IB_MAD_HEADER_BYTES             24
#define IB_MAD_BASE_VERSION             IB_FIELD8(0, 7, 0)
#define IB_MAD_MGMT_CLASS               IB_FIELD8(1, 7, 0)
#define IB_MAD_CLASS_VERSION            IB_FIELD8(2, 7, 0)
#define IB_MAD_METHOD                   IB_FIELD8(3, 7, 0)  /* with R bit */
#define IB_MAD_R                        IB_FIELD8(3, 7, 7)
#define IB_MAD_STATUS                   IB_FIELD16(4, 15, 0)
#define IB_MAD_CLASS_SPECIFIC           IB_FIELD16(6, 15, 0)
#define IB_MAD_TRANSACTION_ID_OFFSET    8
#define IB_MAD_ATTRIBUTE_ID             IB_FIELD16(16, 15, 0)
#define IB_MAD_ATTRIBUTE_MODIFIER       IB_FIELD32(20, 31, 0)

/* Subnet management packets, LID-routed and directed route (14.2.1) */
#define IB_SMP_D                        IB_FIELD16(4, 15, 15) /* returning */
#define IB_SMP_STATUS                   IB_FIELD16(4, 14, 0)
#define IB_SMP_HOP_POINTER              IB_FIELD8(6, 7, 0)
#define IB_SMP_HOP_COUNT                IB_FIELD8(7, 7, 0)
#define IB_SMP_M_KEY_OFFSET             24
#define IB_SMP_DR_SLID                  IB_FIELD16(32, 15, 0)
#define IB_SMP_DR_DLID                  IB_FIELD16(34, 15, 0)
#define IB_SMP_DATA_OFFSET              64
#define IB_SMP_DATA_BYTES               64
#define IB_SMP_INITIAL_PATH_OFFSET      128
#define IB_SMP_RETURN_PATH_OFFSET       192
#define IB_SMP_PATH_BYTES               64  /* entry 0 is not used */
#define IB_SMP_MAX_HOPS                 63

/* General MADs: data behind the common header, per class (13.4.2, 16) */
#define IB_GMP_DATA_OFFSET              64  /* PM, BM, DevMgt, CC */
#define IB_GMP_DATA_BYTES               192
#define IB_VENDOR1_DATA_OFFSET          24  /* classes 0x09 to 0x0f */
#define IB_VENDOR1_DATA_BYTES           232
#define IB_VENDOR2_OUI                  IB_FIELD32(36, 23, 0)
#define IB_VENDOR2_OUI_OFFSET           37
#define IB_VENDOR2_DATA_OFFSET          40  /* classes 0x30 to 0x4f */
#define IB_VENDOR2_DATA_BYTES           216
#define IB_CM_DATA_OFFSET               24
#define IB_CM_DATA_BYTES                232
#define IB_CC_MAD_KEY_OFFSET            24  /* CC_Key */
#define IB_CC_MAD_LOG_DATA_OFFSET       32  /* CongestionLog */
#define IB_CC_MAD_LOG_DATA_BYTES        224
#define IB_CC_MAD_DATA_OFFSET           64  /* all other attributes */
#define IB_BM_MAD_KEY_OFFSET            24  /* B_Key */

/* Reliable multi-packet header (13.6.2) */
#define IB_RMPP_VERSION                 IB_FIELD8(24, 7, 0)
#define IB_RMPP_TYPE                    IB_FIELD8(25, 7, 0)
#define IB_RMPP_RESP_TIME               IB_FIELD8(26, 7, 3)
#define IB_RMPP_FLAGS                   IB_FIELD8(26, 2, 0)
#define IB_RMPP_STATUS                  IB_FIELD8(27, 7, 0)
#define IB_RMPP_SEGMENT_NUMBER          IB_FIELD32(28, 31, 0)
#define IB_RMPP_PAYLOAD_LENGTH          IB_FIELD32(32, 31, 0)
#define IB_RMPP_DATA_OFFSET             36
#define IB_RMPP_TYPE_NONE               0
#define IB_RMPP_TYPE_DATA               1
#define IB_RMPP_TYPE_ACK                2
#define IB_RMPP_TYPE_STOP               3
#define IB_RMPP_TYPE_ABORT              4
#define IB_RMPP_FLAG_ACTIVE             1
#define IB_RMPP_FLAG_FIRST              2
#define IB_RMPP_FLAG_LAST               4
#define IB_RMPP_STATUS_BAD_LENGTH       119 /* Last and PayloadLength */
#define IB_RMPP_STATUS_BAD_SEGMENT      120 /* First and SegmentNumber */
#define IB_RMPP_STATUS_UNSPECIFIED      127

/* Subnet administration (15.2.1) */
#define IB_SA_SM_KEY_OFFSET             36
#define IB_SA_ATTRIBUTE_OFFSET          IB_FIELD16(44, 15, 0)
#define IB_SA_COMPONENT_MASK_OFFSET     48
#define IB_SA_DATA_OFFSET               56
#define IB_SA_DATA_BYTES                200

#define IB_MAD_BASE_VERSION_1           1

/* Management classes (table 107) */
#define IB_CLASS_SUBN_LID_ROUTED        0x01
#define IB_CLASS_SUBN_DIRECTED_ROUTE    0x81
#define IB_CLASS_SUBN_ADM               0x03
#define IB_CLASS_PERFORMANCE            0x04
#define IB_CLASS_BASEBOARD              0x05
#define IB_CLASS_DEVICE_MGMT            0x06
#define IB_CLASS_COMM_MGMT              0x07
#define IB_CLASS_SNMP                   0x08
#define IB_CLASS_VENDOR1_FIRST          0x09
#define IB_CLASS_VENDOR1_LAST           0x0f
#define IB_CLASS_DEVICE_ADM             0x10
#define IB_CLASS_BOOT_MGMT              0x11
#define IB_CLASS_BIS                    0x12
#define IB_CLASS_CONGESTION             0x21
#define IB_CLASS_VENDOR2_FIRST          0x30
#define IB_CLASS_VENDOR2_LAST           0x4f
#define IB_CLASS_MLNX_VENDOR            0x0a    /* Mellanox, in vendor 1 */
#define IB_MLNX_VENDOR_ID               0x0002c9
#define IB_CLASS_PING                   0x32    /* OpenIB ping, OUI 001405 */

/* Class versions */
#define IB_CLASS_VERSION_SUBN           1
#define IB_CLASS_VERSION_SUBN_ADM       2
#define IB_CLASS_VERSION_PERFORMANCE    1
#define IB_CLASS_VERSION_BASEBOARD      1
#define IB_CLASS_VERSION_DEVICE_MGMT    1
#define IB_CLASS_VERSION_COMM_MGMT      2
#define IB_CLASS_VERSION_SNMP           1
#define IB_CLASS_VERSION_CONGESTION     2
#define IB_CLASS_VERSION_MLNX_VENDOR    1

/* Methods (table 108); IB_METHOD_RESPONSE is the R bit */
#define IB_METHOD_RESPONSE              0x80
#define IB_METHOD_GET                   0x01
#define IB_METHOD_SET                   0x02
#define IB_METHOD_SEND                  0x03
#define IB_METHOD_TRAP                  0x05
#define IB_METHOD_REPORT                0x06
#define IB_METHOD_TRAP_REPRESS          0x07    /* has no R bit, no answer */
#define IB_METHOD_GET_RESP              0x81
#define IB_METHOD_REPORT_RESP           0x86
#define IB_METHOD_GET_TABLE             0x12    /* SA and other GMPs */
#define IB_METHOD_GET_TRACE_TABLE       0x13
#define IB_METHOD_GET_MULTI             0x14
#define IB_METHOD_DELETE                0x15
#define IB_METHOD_GET_TABLE_RESP        0x92
#define IB_METHOD_GET_MULTI_RESP        0x94
#define IB_METHOD_DELETE_RESP           0x95

/* Status (table 109); in a directed-route SMP bit 15 is D, not status */
#define IB_MAD_STATUS_OK                0x0000
#define IB_MAD_STATUS_BUSY              0x0001  /* discarded, try again */
#define IB_MAD_STATUS_REDIRECT          0x0002
#define IB_MAD_STATUS_BAD_VERSION       0x0004  /* class or version */
#define IB_MAD_STATUS_BAD_METHOD        0x0008
#define IB_MAD_STATUS_BAD_METHOD_ATTR   0x000c  /* or not together */
#define IB_MAD_STATUS_BAD_FIELD         0x001c  /* value or modifier */
#define IB_MAD_STATUS_CLASS_MASK        0xff00
#define IB_SMP_STATUS_D                 0x8000

/* Attributes of every class (13.4.8) */
#define IB_ATTR_CLASS_PORT_INFO         0x0001  /* not in SMPs */
#define IB_ATTR_NOTICE                  0x0002
#define IB_ATTR_INFORM_INFO             0x0003  /* not in SMPs */

/* Subnet management attributes (table 123) */
#define IB_SM_ATTR_NOTICE               0x0002
#define IB_SM_ATTR_NODE_DESCRIPTION     0x0010
#define IB_SM_ATTR_NODE_INFO            0x0011
#define IB_SM_ATTR_SWITCH_INFO          0x0012
#define IB_SM_ATTR_GUID_INFO            0x0014
#define IB_SM_ATTR_PORT_INFO            0x0015
#define IB_SM_ATTR_P_KEY_TABLE          0x0016
#define IB_SM_ATTR_SL_TO_VL             0x0017
#define IB_SM_ATTR_VL_ARBITRATION       0x0018
#define IB_SM_ATTR_LFT                  0x0019
#define IB_SM_ATTR_RFT                  0x001a
#define IB_SM_ATTR_MFT                  0x001b
#define IB_SM_ATTR_LINK_SPEED_WIDTH_PAIRS 0x001c
#define IB_SM_ATTR_VENDOR_MADS          0x001d
#define IB_SM_ATTR_HIERARCHY_INFO       0x001e
#define IB_SM_ATTR_SM_INFO              0x0020
#define IB_SM_ATTR_VENDOR_DIAG          0x0030
#define IB_SM_ATTR_LED_INFO             0x0031
#define IB_SM_ATTR_CABLE_INFO           0x0032
#define IB_SM_ATTR_PORT_INFO_EXTENDED   0x0033
#define IB_SM_ATTR_MLNX_EXT_PORT_INFO   0xff90

/* Subnet administration attributes (table 192) */
#define IB_SA_ATTR_NODE_RECORD          0x0011
#define IB_SA_ATTR_PORT_INFO_RECORD     0x0012
#define IB_SA_ATTR_SL_TO_VL_RECORD      0x0013
#define IB_SA_ATTR_SWITCH_INFO_RECORD   0x0014
#define IB_SA_ATTR_LFT_RECORD           0x0015
#define IB_SA_ATTR_RFT_RECORD           0x0016
#define IB_SA_ATTR_MFT_RECORD           0x0017
#define IB_SA_ATTR_SM_INFO_RECORD       0x0018
#define IB_SA_ATTR_LINK_RECORD          0x0020
#define IB_SA_ATTR_GUID_INFO_RECORD     0x0030
#define IB_SA_ATTR_SERVICE_RECORD       0x0031
#define IB_SA_ATTR_P_KEY_RECORD         0x0033
#define IB_SA_ATTR_PATH_RECORD          0x0035
#define IB_SA_ATTR_VL_ARB_RECORD        0x0036
#define IB_SA_ATTR_MC_MEMBER_RECORD     0x0038
#define IB_SA_ATTR_TRACE_RECORD         0x0039
#define IB_SA_ATTR_MULTI_PATH_RECORD    0x003a
#define IB_SA_ATTR_SERVICE_ASSOC_RECORD 0x003b
#define IB_SA_ATTR_INFORM_INFO_RECORD   0x00f3

/* Performance management attributes (table 222 and annex A10) */
#define IB_PM_ATTR_PORT_SAMPLES_CONTROL         0x0010
#define IB_PM_ATTR_PORT_SAMPLES_RESULT          0x0011
#define IB_PM_ATTR_PORT_COUNTERS                0x0012
#define IB_PM_ATTR_PORT_RCV_ERROR_DETAILS       0x0015
#define IB_PM_ATTR_PORT_XMIT_DISCARD_DETAILS    0x0016
#define IB_PM_ATTR_PORT_OP_RCV_COUNTERS         0x0017
#define IB_PM_ATTR_PORT_FLOW_CTL_COUNTERS       0x0018
#define IB_PM_ATTR_PORT_VL_OP_PACKETS           0x0019
#define IB_PM_ATTR_PORT_VL_OP_DATA              0x001a
#define IB_PM_ATTR_PORT_VL_XMIT_FLOW_CTL_UPDATE_ERRORS 0x001b
#define IB_PM_ATTR_PORT_VL_XMIT_WAIT_COUNTERS   0x001c
#define IB_PM_ATTR_PORT_COUNTERS_EXTENDED       0x001d
#define IB_PM_ATTR_PORT_SAMPLES_RESULT_EXTENDED 0x001e
#define IB_PM_ATTR_PORT_EXTENDED_SPEEDS_COUNTERS 0x001f
#define IB_PM_ATTR_SW_PORT_VL_CONGESTION        0x0030
#define IB_PM_ATTR_PORT_RCV_CON_CTRL            0x0031
#define IB_PM_ATTR_PORT_SL_RCV_FECN             0x0032
#define IB_PM_ATTR_PORT_SL_RCV_BECN             0x0033
#define IB_PM_ATTR_PORT_XMIT_CON_CTRL           0x0034
#define IB_PM_ATTR_PORT_VL_XMIT_TIME_CONG       0x0035
#define IB_PM_ATTR_PORT_XMIT_DATA_SL            0x0036
#define IB_PM_ATTR_PORT_RCV_DATA_SL             0x0037

/*
 * Mellanox' vendor class, as vendstat of infiniband-diags has it; offsets are
 * from byte IB_VENDOR1_DATA_OFFSET.
 */
#define IB_MLNX_ATTR_GENERAL_INFO               0x0017
#define IB_MLNX_INFO_HW_REVISION        IB_FIELD16(8, 15, 0)
#define IB_MLNX_INFO_DEVICE_ID          IB_FIELD16(10, 15, 0)
#define IB_MLNX_INFO_UPTIME             IB_FIELD32(36, 31, 0)   /* s */
#define IB_MLNX_INFO_FW_MAJOR           IB_FIELD8(41, 7, 0)
#define IB_MLNX_INFO_FW_MINOR           IB_FIELD8(42, 7, 0)
#define IB_MLNX_INFO_FW_SUBMINOR        IB_FIELD8(43, 7, 0)
#define IB_MLNX_INFO_PSID_OFFSET        56
#define IB_MLNX_INFO_FW_EXT_MAJOR       IB_FIELD32(76, 31, 0)
#define IB_MLNX_INFO_FW_EXT_MINOR       IB_FIELD32(80, 31, 0)
#define IB_MLNX_INFO_FW_EXT_SUBMINOR    IB_FIELD32(84, 31, 0)

/* Congestion control attributes (annex A10) */
#define IB_CC_ATTR_CONGESTION_INFO              0x0011
#define IB_CC_ATTR_CONGESTION_KEY_INFO          0x0012
#define IB_CC_ATTR_CONGESTION_LOG               0x0013
#define IB_CC_ATTR_SWITCH_CONGESTION_SETTING    0x0014
#define IB_CC_ATTR_SWITCH_PORT_CONGESTION_SETTING 0x0015
#define IB_CC_ATTR_CA_CONGESTION_SETTING        0x0016
#define IB_CC_ATTR_CONGESTION_CONTROL_TABLE     0x0017
#define IB_CC_ATTR_TIME_STAMP                   0x0018

/* Communication management messages (12.6) */
#define IB_CM_ATTR_CONNECT_REQUEST              0x0010
#define IB_CM_ATTR_MSG_RCPT_ACK                 0x0011
#define IB_CM_ATTR_CONNECT_REJECT               0x0012
#define IB_CM_ATTR_CONNECT_REPLY                0x0013
#define IB_CM_ATTR_READY_TO_USE                 0x0014
#define IB_CM_ATTR_DISCONNECT_REQUEST           0x0015
#define IB_CM_ATTR_DISCONNECT_REPLY             0x0016
#define IB_CM_ATTR_SERVICE_ID_REQUEST           0x0017
#define IB_CM_ATTR_SERVICE_ID_REPLY             0x0018
#define IB_CM_ATTR_LOAD_ALTERNATE_PATH          0x0019
#define IB_CM_ATTR_ALTERNATE_PATH_RESPONSE      0x001a

/* Trap numbers (table 132; congestion: annex A10) */
#define IB_TRAP_CC_KEY_VIOLATION        0       /* class 0x21 */
#define IB_TRAP_GID_IN_SERVICE          64
#define IB_TRAP_GID_OUT_OF_SERVICE      65
#define IB_TRAP_MCAST_GROUP_CREATED     66
#define IB_TRAP_MCAST_GROUP_DELETED     67
#define IB_TRAP_UNPATH                  68
#define IB_TRAP_REPATH                  69
#define IB_TRAP_LINK_STATE_CHANGE       128
#define IB_TRAP_LOCAL_LINK_INTEGRITY    129
#define IB_TRAP_BUFFER_OVERRUN          130
#define IB_TRAP_FLOW_CONTROL_UPDATE     131
#define IB_TRAP_LOCAL_CHANGES           144     /* CapabilityMask ... */
#define IB_TRAP_SYSTEM_IMAGE_GUID       145
#define IB_TRAP_BAD_M_KEY               256
#define IB_TRAP_BAD_P_KEY               257
#define IB_TRAP_BAD_Q_KEY               258
#define IB_TRAP_SWITCH_BAD_P_KEY        259

/* ib_mad_is_smp: a class that belongs on QP0, in either routing */
static inline bool ib_mad_is_smp(const void *mad)
{
    uint32_t class = ib_field_get(mad, IB_MAD_MGMT_CLASS);

    return class == IB_CLASS_SUBN_LID_ROUTED ||
           class == IB_CLASS_SUBN_DIRECTED_ROUTE;
}

/* ib_mad_has_oui: a class whose MADs name the vendor (16.5.1) */
static inline bool ib_mad_has_oui(uint8_t mgmt_class)
{
    return mgmt_class >= IB_CLASS_VENDOR2_FIRST &&
           mgmt_class <= IB_CLASS_VENDOR2_LAST;
}

/*
 * ib_mad_rmpp_header: bytes in front of the data in each segment of a message
 * of this class (13.5.3), 0 if the class has no RMPP
 */
static inline unsigned ib_mad_rmpp_header(uint8_t mgmt_class)
{
    return mgmt_class == IB_CLASS_SUBN_ADM ? IB_SA_DATA_OFFSET :
           mgmt_class == IB_CLASS_DEVICE_ADM ? IB_GMP_DATA_OFFSET :
           ib_mad_has_oui(mgmt_class) ? IB_VENDOR2_DATA_OFFSET : 0;
}

/* ib_mad_is_rmpp: of such a class, with RMPP's flag Active */
static inline bool ib_mad_is_rmpp(const void *mad)
{
    return ib_mad_rmpp_header(ib_field_get(mad, IB_MAD_MGMT_CLASS)) &&
           ib_field_get(mad, IB_RMPP_FLAGS) & IB_RMPP_FLAG_ACTIVE;
}

/*
 * ib_mad_init: zero the 256 bytes of @mad and write a common header.
 * Values are in host order.
 */
void ib_mad_init(void *mad, uint8_t mgmt_class, uint8_t class_version,
                 uint8_t method, uint64_t tid, uint16_t attribute_id,
                 uint32_t attribute_modifier);

/*
 * ib_mad_to_response: turn the request at @mad into its response in place:
 * set the method's answer (Get and Set: GetResp; others: the R bit), the
 * status and, in a directed-route SMP, the D bit. Everything else stays.
 * @status: IB_MAD_STATUS_*
 */
void ib_mad_to_response(void *mad, uint16_t status);

#endif /* HW_INFINIBAND_IB_MAD_H */
