/*
 * ib-switch-pci: registers and descriptors, for the device and for a driver
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * docs/specs/ib-switch.rst says what each does.  Registers are 32 bits, little
 * endian, in BAR 0; the bytes of MADs and packets are as on the wire.
 */
#ifndef HW_INFINIBAND_QEMU_IB_SWITCH_HW_H
#define HW_INFINIBAND_QEMU_IB_SWITCH_HW_H

#define IBSW_PCI_VENDOR_ID      0x1af4
#define IBSW_PCI_DEVICE_ID      0x10f8      /* of the experimental ones */
#define IBSW_PCI_CHASSIS_ID     0x10f9      /* ib-chassis-pci: no registers */
#define IBSW_BAR_BYTES          0x400000

/* ------------------------------------------------------ the whole switch */

#define IBSW_ID                 0x0000
#define   IBSW_ID_VALUE           0x49425357      /* "IBSW" */
#define IBSW_VERSION            0x0004
#define   IBSW_VERSION_VALUE      1
#define IBSW_PORTS              0x0008
#define   IBSW_PORTS_COUNT        0x000000ff
#define   IBSW_PORTS_RANDOM_FDB   0x00000100
#define IBSW_CONTROL            0x000c
#define   IBSW_CONTROL_RESET      0x00000001
#define IBSW_PORT0              0x0010
#define   IBSW_PORT0_SMPS         0x00000001
#define   IBSW_PORT0_GMPS         0x00000002
#define   IBSW_PORT0_MANAGERS     0x00000004
#define   IBSW_PORT0_DATA         0x00000008
#define   IBSW_PORT0_MASK         0x0000000f
#define IBSW_NODE_GUID_LOW      0x0018
#define IBSW_NODE_GUID_HIGH     0x001c
#define IBSW_LID                0x0020
#define   IBSW_LID_LID            0x0000ffff
#define   IBSW_LID_LMC_SHIFT      16
#define IBSW_CAPABILITY_MASK    0x0024
#define IBSW_LINEAR_FDB_CAP     0x0028
#define IBSW_RANDOM_FDB_CAP     0x002c
#define IBSW_MULTICAST_FDB_CAP  0x0030
#define IBSW_LINEAR_FDB_TOP     0x0034
#define IBSW_MULTICAST_FDB_TOP  0x0038
#define IBSW_DEFAULT_PORT       0x003c
#define IBSW_MCAST_PRIMARY      0x0040
#define IBSW_MCAST_NOT_PRIMARY  0x0044
#define IBSW_LIFE_TIME          0x0048
#define IBSW_STATE_CHANGE       0x004c

#define IBSW_INTR_STATUS        0x0080
#define IBSW_INTR_ENABLE        0x0084
#define   IBSW_INTR_PORT          0x00000001      /* bit = MSI-X vector */
#define   IBSW_INTR_MAILBOX       0x00000002
#define   IBSW_INTR_TX            0x00000004
#define   IBSW_INTR_RX            0x00000008
#define   IBSW_INTR_ERROR         0x00000010
#define   IBSW_INTR_MASK          0x0000001f
#define   IBSW_VECTORS            5
#define IBSW_ERROR              0x0088
#define   IBSW_ERROR_ACCESS       0x00000001
#define   IBSW_ERROR_TABLE        0x00000002
#define   IBSW_ERROR_PORT         0x00000004
#define   IBSW_ERROR_TX_DMA       0x00000008
#define   IBSW_ERROR_RX_DMA       0x00000010
#define   IBSW_ERROR_OVERRUN      0x00000020
#define IBSW_PORT_EVENT(n)      (0x00a0 + (n) * 4)      /* n: 0..7 */
#define IBSW_DISCARDS(n)        (0x0100 + (n) * 8)      /* n: 0..31 */

/* ------------------------------------------------------------- mailbox */

#define IBSW_MBOX_TX_ROUTE      0x1000
#define   IBSW_ROUTE_DLID         0x0000ffff
#define   IBSW_ROUTE_SL_SHIFT     16
#define   IBSW_ROUTE_SL           0x000f0000
#define   IBSW_ROUTE_PORT_SHIFT   24
#define   IBSW_ROUTE_BY_TABLE     0xff000000
#define IBSW_MBOX_TX_QPN        0x1004
#define   IBSW_QPN_MASK           0x00ffffff
#define IBSW_MBOX_TX_PKEY       0x1008
#define   IBSW_PKEY_MASK          0x0000ffff
#define IBSW_MBOX_TX_SEND       0x100c
#define IBSW_MBOX_TX_RESULT     0x1010
#define   IBSW_RESULT_NONE        0
#define   IBSW_RESULT_SENT        1
#define   IBSW_RESULT_MALFORMED   2
#define   IBSW_RESULT_NO_ROUTE    3
#define   IBSW_RESULT_DISCARDED   4
#define   IBSW_RESULT_TOO_LONG    5
#define IBSW_MBOX_RX_COUNT      0x1020
#define   IBSW_MBOX_RX_DEPTH      16
#define IBSW_MBOX_RX_NEXT       0x1024
#define IBSW_MBOX_RX_DROPPED    0x1028
#define IBSW_MBOX_RX_LIDS       0x1030
#define   IBSW_LIDS_DLID_SHIFT    16
#define IBSW_MBOX_RX_INFO       0x1034
#define   IBSW_INFO_PORT          0x000000ff
#define   IBSW_INFO_SL_SHIFT      8
#define   IBSW_INFO_QP1           0x00001000
#define   IBSW_INFO_GRH           0x00002000
#define IBSW_MBOX_RX_QPN        0x1038
#define IBSW_MBOX_RX_PKEY       0x103c
#define IBSW_MBOX_TX_MAD        0x1100
#define IBSW_MBOX_RX_MAD        0x1200
#define   IBSW_MAD_BYTES          256

/* ---------------------------------------------------------------- rings */

#define IBSW_TX_RING            0x2000
#define IBSW_RX_RING            0x2040
#define   IBSW_RING_BASE_LOW      0x00      /* from the ring's block */
#define   IBSW_RING_BASE_HIGH     0x04
#define   IBSW_RING_LOG_SIZE      0x08
#define     IBSW_RING_LOG_MAX       10
#define   IBSW_RING_CONTROL       0x0c
#define     IBSW_RING_ENABLE        0x00000001
#define   IBSW_RING_HEAD          0x10
#define   IBSW_RING_TAIL          0x14
#define   IBSW_RING_DROPPED       0x18
#define   IBSW_RING_BYTES         0x40

#define IBSW_DESC_BYTES         16
#define   IBSW_DESC_ADDRESS       0         /* 64 bits */
#define   IBSW_DESC_LENGTH        8
#define   IBSW_DESC_STATUS        12
#define     IBSW_DESC_RESULT        0x0000000f
#define     IBSW_DESC_DONE          0x00000080
#define     IBSW_DESC_PORT_SHIFT    24
#define IBSW_PACKET_MAX         4220        /* LRH to ICRC */

/* --------------------------------------------------------------- tables */

#define IBSW_LFT(lid)           (0x010000 + (lid))
#define   IBSW_LFT_BYTES          0xc000
#define IBSW_RFT(index)         (0x040000 + (index) * 4)
#define   IBSW_RFT_BYTES          0x30000
#define IBSW_MFT(mlid)          (0x080000 + ((mlid) - 0xc000) * 32)
#define   IBSW_MFT_BYTES          0x7ffe0
#define IBSW_SL2VL(in, out)     (0x200000 + ((in) * 256 + (out)) * 8)
#define   IBSW_SL2VL_BYTES        0x80000

/* ---------------------------------------------------------------- ports */

#define IBSW_PORT(n)            (0x100000 + (n) * 0x1000)
#define   IBSW_PORTS_BYTES        0x100000
#define   IBSW_PORT_STATUS        0x000     /* from the port's page */
#define     IBSW_PORT_STATE         0x0000000f
#define     IBSW_PORT_PHYS_SHIFT    4
#define     IBSW_PORT_WIDTH_SHIFT   8
#define     IBSW_PORT_SPEED_SHIFT   16
#define   IBSW_PORT_CONTROL       0x004
#define   IBSW_PORT_CAPS          0x008
#define     IBSW_PORT_VLS_SHIFT     4
#define   IBSW_PORT_MTU           0x010
#define   IBSW_PORT_VLS           0x014
#define   IBSW_PORT_WIDTH         0x018
#define   IBSW_PORT_SPEED         0x01c
#define   IBSW_PORT_DOWN_DEFAULT  0x020
#define   IBSW_PORT_HIGH_LIMIT    0x024
#define   IBSW_PORT_HOQ_LIFE      0x028
#define   IBSW_PORT_VL_STALL      0x02c
#define   IBSW_PORT_PEER_LOW      0x030
#define   IBSW_PORT_PEER_HIGH     0x034
#define   IBSW_PORT_PEER_PORT     0x038
#define   IBSW_PORT_BUFFER        0x03c
#define   IBSW_PORT_VL(vl)        (0x100 + (vl) * 16)
#define     IBSW_VL_OCCUPIED        0x0
#define     IBSW_VL_CREDITS         0x4
#define     IBSW_VL_QUEUED          0x8
#define   IBSW_PORT_ARB_LOW(n)    (0x200 + (n) * 4)     /* n: 0..63 */
#define   IBSW_PORT_ARB_HIGH(n)   (0x300 + (n) * 4)
#define     IBSW_ARB_VL             0x0000000f
#define     IBSW_ARB_WEIGHT_SHIFT   8
#define   IBSW_PORT_COUNTER(n)    (0x400 + (n) * 8)     /* n: 0..36 */
#define   IBSW_PORT_COUNTERS        37
#define   IBSW_PORT_VL_COUNTER(vl, n) (0x600 + (vl) * 64 + (n) * 8)
#define     IBSW_PORT_VL_COUNTERS   8

#endif
