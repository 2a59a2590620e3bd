/*
 * InfiniBand packet headers (IBA Vol. 1, chapters 7, 8 and 9)
 *
 * A packet in this project is the bytes from LRH to the end of ICRC,
 * PktLen * 4 of them; the ICRC is the last 4 (raw packets have none). The
 * VCRC is kept apart from it.
 *
 * Untrusted bytes pass ib_packet_parse() once, at the door. After it
 * returned IB_PACKET_OK every header that IbPacketInfo names lies inside
 * the buffer, and the accessors need no check of their own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_INFINIBAND_IB_PACKET_H
#define HW_INFINIBAND_IB_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include "hw/infiniband/ib-bits.h"
#include "hw/infiniband/ib-crc.h"

/* Local Route Header (IBA Vol. 1, 7.7) */
#define IB_LRH_BYTES            8
#define IB_LRH_VL               IB_FIELD8(0, 7, 4)
#define IB_LRH_LVER             IB_FIELD8(0, 3, 0)
#define IB_LRH_SL               IB_FIELD8(1, 7, 4)
#define IB_LRH_LNH              IB_FIELD8(1, 1, 0)
#define IB_LRH_DLID             IB_FIELD16(2, 15, 0)
#define IB_LRH_PKTLEN           IB_FIELD16(4, 10, 0)    /* in 4-byte words */
#define IB_LRH_SLID             IB_FIELD16(6, 15, 0)

#define IB_LVER                 0

/* Link Next Header (IBA Vol. 1, table 12) */
#define IB_LNH_RAW              0   /* RWH, EtherType */
#define IB_LNH_IPV6             1   /* raw IPv6 datagram */
#define IB_LNH_BTH              2   /* IBA transport, local */
#define IB_LNH_GRH              3   /* IBA transport, global */

/* Smallest and largest packet that PktLen can describe, in bytes */
#define IB_PKTLEN_MIN           5
#define IB_PKTLEN_MAX           0x7ff
#define IB_PKTLEN_MIN_BYTES     (IB_PKTLEN_MIN * 4)
#define IB_PKTLEN_MAX_BYTES     (IB_PKTLEN_MAX * 4)

/* LID space (IBA Vol. 1, 4.1.3) */
#define IB_LID_RESERVED         0x0000
#define IB_LID_UCAST_FIRST      0x0001
#define IB_LID_UCAST_LAST       0xbfff
#define IB_LID_MCAST_FIRST      0xc000
#define IB_LID_MCAST_LAST       0xfffe
#define IB_LID_PERMISSIVE       0xffff

#define IB_VL_MAX_DATA          14
#define IB_VL_SM                15      /* subnet management */
#define IB_SL_COUNT             16
#define IB_VL_COUNT             16

/* Raw Header, after LRH when LNH is IB_LNH_RAW (IBA Vol. 1, 5.3) */
#define IB_RWH_BYTES            4
#define IB_RWH_ETHERTYPE        IB_FIELD16(2, 15, 0)

/* Global Route Header (IBA Vol. 1, 8.3) */
#define IB_GRH_BYTES            40
#define IB_GRH_IPVER            IB_FIELD32(0, 31, 28)
#define IB_GRH_TCLASS           IB_FIELD32(0, 27, 20)
#define IB_GRH_FLOWLABEL        IB_FIELD32(0, 19, 0)
#define IB_GRH_PAYLEN           IB_FIELD16(4, 15, 0)    /* bytes, to ICRC */
#define IB_GRH_NXTHDR           IB_FIELD8(6, 7, 0)
#define IB_GRH_HOPLMT           IB_FIELD8(7, 7, 0)
#define IB_GRH_SGID_OFFSET      8
#define IB_GRH_DGID_OFFSET      24

#define IB_GRH_IPVER_6          6
#define IB_GRH_NXTHDR_IBA       0x1b
#define IB_GID_BYTES            16
#define IB_GID_PREFIX_DEFAULT   UINT64_C(0xfe80000000000000)

/* Base Transport Header (IBA Vol. 1, 9.2) */
#define IB_BTH_BYTES            12
#define IB_BTH_OPCODE           IB_FIELD8(0, 7, 0)
#define IB_BTH_SE               IB_FIELD8(1, 7, 7)
#define IB_BTH_M                IB_FIELD8(1, 6, 6)      /* MigReq */
#define IB_BTH_PAD              IB_FIELD8(1, 5, 4)
#define IB_BTH_TVER             IB_FIELD8(1, 3, 0)
#define IB_BTH_PKEY             IB_FIELD16(2, 15, 0)
#define IB_BTH_FECN             IB_FIELD32(4, 31, 31)
#define IB_BTH_BECN             IB_FIELD32(4, 30, 30)
#define IB_BTH_DQPN             IB_FIELD32(4, 23, 0)
#define IB_BTH_A                IB_FIELD32(8, 31, 31)   /* AckReq */
#define IB_BTH_PSN              IB_FIELD32(8, 23, 0)

#define IB_BTH_TVER_0           0
#define IB_PSN_MASK             0xffffff

/* Reliable Datagram Extended Transport Header (9.3.1) */
#define IB_RDETH_BYTES          4
#define IB_RDETH_EEC            IB_FIELD32(0, 23, 0)

/* Datagram Extended Transport Header (9.3.2) */
#define IB_DETH_BYTES           8
#define IB_DETH_QKEY            IB_FIELD32(0, 31, 0)
#define IB_DETH_SQPN            IB_FIELD32(4, 23, 0)

/* RDMA Extended Transport Header (9.3.3) */
#define IB_RETH_BYTES           16
#define IB_RETH_VA_OFFSET       0
#define IB_RETH_RKEY            IB_FIELD32(8, 31, 0)
#define IB_RETH_DMALEN          IB_FIELD32(12, 31, 0)

/* Atomic Extended Transport Header (9.3.4) */
#define IB_ATOMICETH_BYTES      28
#define IB_ATOMICETH_VA_OFFSET  0
#define IB_ATOMICETH_RKEY       IB_FIELD32(8, 31, 0)
#define IB_ATOMICETH_SWAPDT_OFFSET 12   /* swap, or the number to add */
#define IB_ATOMICETH_CMPDT_OFFSET  20

/* Masks of a masked atomic: IB_OP_MASKED_CMP_SWAP, IB_OP_MASKED_FETCH_ADD */
#define IB_MASKETH_BYTES        16
#define IB_MASKETH_SWAPDT_OFFSET    0   /* of the number to add: top bits of */
                                        /* its fields */
#define IB_MASKETH_CMPDT_OFFSET     8

/* ACK Extended Transport Header (9.3.5) */
#define IB_AETH_BYTES           4
#define IB_AETH_SYNDROME        IB_FIELD32(0, 31, 24)
#define IB_AETH_MSN             IB_FIELD32(0, 23, 0)

/* Syndrome: kind in bits 6:5, then credit, RNR timer or NAK code (table 43) */
#define IB_AETH_KIND            IB_FIELD8(0, 6, 5)
#define IB_AETH_VALUE           IB_FIELD8(0, 4, 0)
#define IB_AETH_KIND_ACK        0
#define IB_AETH_KIND_RNR_NAK    1
#define IB_AETH_KIND_NAK        3
#define IB_AETH_CREDIT_INVALID  0x1f
#define IB_NAK_PSN_SEQUENCE     0
#define IB_NAK_INVALID_REQUEST  1
#define IB_NAK_REMOTE_ACCESS    2
#define IB_NAK_REMOTE_OPERATION 3
#define IB_NAK_INVALID_RD_REQUEST 4

/* Atomic ACK Extended Transport Header (9.5.3) */
#define IB_ATOMICACKETH_BYTES   8
#define IB_ATOMICACKETH_ORIGREMDT_OFFSET 0

/* Immediate data (9.3.6) and Invalidate (9.3.7) headers */
#define IB_IMMDT_BYTES          4
#define IB_IMMDT                IB_FIELD32(0, 31, 0)
#define IB_IETH_BYTES           4
#define IB_IETH_RKEY            IB_FIELD32(0, 31, 0)

/* XRC Extended Transport Header (annex A14) */
#define IB_XRCETH_BYTES         4
#define IB_XRCETH_XRCSRQ        IB_FIELD32(0, 23, 0)

/* Well-known queue pairs and keys (3.5.10, 10.2.5, 10.9, 16.1.1) */
#define IB_QPN_SMI              0
#define IB_QPN_GSI              1
#define IB_QPN_MULTICAST        0xffffff
#define IB_QPN_MASK             0xffffff
#define IB_QKEY_WELL_KNOWN      0x80010000u     /* QP1 */
#define IB_QKEY_PRIVILEGED      0x80000000u     /* bit 31: from the QP */
#define IB_PKEY_DEFAULT         0xffff          /* full member */
#define IB_PKEY_DEFAULT_LIMITED 0x7fff
#define IB_PKEY_FULL_MEMBER     0x8000
#define IB_PKEY_BASE_MASK       0x7fff
#define IB_PKEY_INVALID         0x0000

/* BTH opcode: transport service in bits 7:5, operation in 4:0 (9.2.1) */
#define IB_SERVICE_RC           0x00
#define IB_SERVICE_UC           0x20
#define IB_SERVICE_RD           0x40
#define IB_SERVICE_UD           0x60
#define IB_SERVICE_CNP          0x80
#define IB_SERVICE_XRC          0xa0
#define IB_SERVICE_MFR          0xc0    /* 0xc0 to 0xff: manufacturer's own */
#define IB_SERVICE_MASK         0xe0

enum {
    IB_OP_SEND_FIRST            = 0x00,
    IB_OP_SEND_MIDDLE           = 0x01,
    IB_OP_SEND_LAST             = 0x02,
    IB_OP_SEND_LAST_IMM         = 0x03,
    IB_OP_SEND_ONLY             = 0x04,
    IB_OP_SEND_ONLY_IMM         = 0x05,
    IB_OP_RDMA_WRITE_FIRST      = 0x06,
    IB_OP_RDMA_WRITE_MIDDLE     = 0x07,
    IB_OP_RDMA_WRITE_LAST       = 0x08,
    IB_OP_RDMA_WRITE_LAST_IMM   = 0x09,
    IB_OP_RDMA_WRITE_ONLY       = 0x0a,
    IB_OP_RDMA_WRITE_ONLY_IMM   = 0x0b,
    IB_OP_RDMA_READ_REQUEST     = 0x0c,
    IB_OP_RDMA_READ_RESP_FIRST  = 0x0d,
    IB_OP_RDMA_READ_RESP_MIDDLE = 0x0e,
    IB_OP_RDMA_READ_RESP_LAST   = 0x0f,
    IB_OP_RDMA_READ_RESP_ONLY   = 0x10,
    IB_OP_ACK                   = 0x11,
    IB_OP_ATOMIC_ACK            = 0x12,
    IB_OP_CMP_SWAP              = 0x13,
    IB_OP_FETCH_ADD             = 0x14,
    IB_OP_RESYNC                = 0x15,
    IB_OP_SEND_LAST_INV         = 0x16,
    IB_OP_SEND_ONLY_INV         = 0x17,
};

#define IB_OP(service, op)      (IB_SERVICE_##service | IB_OP_##op)

enum {
    IB_OP_RC_SEND_FIRST             = IB_OP(RC, SEND_FIRST),
    IB_OP_RC_SEND_MIDDLE            = IB_OP(RC, SEND_MIDDLE),
    IB_OP_RC_SEND_LAST              = IB_OP(RC, SEND_LAST),
    IB_OP_RC_SEND_LAST_IMM          = IB_OP(RC, SEND_LAST_IMM),
    IB_OP_RC_SEND_ONLY              = IB_OP(RC, SEND_ONLY),
    IB_OP_RC_SEND_ONLY_IMM          = IB_OP(RC, SEND_ONLY_IMM),
    IB_OP_RC_RDMA_WRITE_FIRST       = IB_OP(RC, RDMA_WRITE_FIRST),
    IB_OP_RC_RDMA_WRITE_MIDDLE      = IB_OP(RC, RDMA_WRITE_MIDDLE),
    IB_OP_RC_RDMA_WRITE_LAST        = IB_OP(RC, RDMA_WRITE_LAST),
    IB_OP_RC_RDMA_WRITE_LAST_IMM    = IB_OP(RC, RDMA_WRITE_LAST_IMM),
    IB_OP_RC_RDMA_WRITE_ONLY        = IB_OP(RC, RDMA_WRITE_ONLY),
    IB_OP_RC_RDMA_WRITE_ONLY_IMM    = IB_OP(RC, RDMA_WRITE_ONLY_IMM),
    IB_OP_RC_RDMA_READ_REQUEST      = IB_OP(RC, RDMA_READ_REQUEST),
    IB_OP_RC_RDMA_READ_RESP_FIRST   = IB_OP(RC, RDMA_READ_RESP_FIRST),
    IB_OP_RC_RDMA_READ_RESP_MIDDLE  = IB_OP(RC, RDMA_READ_RESP_MIDDLE),
    IB_OP_RC_RDMA_READ_RESP_LAST    = IB_OP(RC, RDMA_READ_RESP_LAST),
    IB_OP_RC_RDMA_READ_RESP_ONLY    = IB_OP(RC, RDMA_READ_RESP_ONLY),
    IB_OP_RC_ACK                    = IB_OP(RC, ACK),
    IB_OP_RC_ATOMIC_ACK             = IB_OP(RC, ATOMIC_ACK),
    IB_OP_RC_CMP_SWAP               = IB_OP(RC, CMP_SWAP),
    IB_OP_RC_FETCH_ADD              = IB_OP(RC, FETCH_ADD),
    IB_OP_RC_SEND_LAST_INV          = IB_OP(RC, SEND_LAST_INV),
    IB_OP_RC_SEND_ONLY_INV          = IB_OP(RC, SEND_ONLY_INV),

    IB_OP_UC_SEND_FIRST             = IB_OP(UC, SEND_FIRST),
    IB_OP_UC_SEND_MIDDLE            = IB_OP(UC, SEND_MIDDLE),
    IB_OP_UC_SEND_LAST              = IB_OP(UC, SEND_LAST),
    IB_OP_UC_SEND_LAST_IMM          = IB_OP(UC, SEND_LAST_IMM),
    IB_OP_UC_SEND_ONLY              = IB_OP(UC, SEND_ONLY),
    IB_OP_UC_SEND_ONLY_IMM          = IB_OP(UC, SEND_ONLY_IMM),
    IB_OP_UC_RDMA_WRITE_FIRST       = IB_OP(UC, RDMA_WRITE_FIRST),
    IB_OP_UC_RDMA_WRITE_MIDDLE      = IB_OP(UC, RDMA_WRITE_MIDDLE),
    IB_OP_UC_RDMA_WRITE_LAST        = IB_OP(UC, RDMA_WRITE_LAST),
    IB_OP_UC_RDMA_WRITE_LAST_IMM    = IB_OP(UC, RDMA_WRITE_LAST_IMM),
    IB_OP_UC_RDMA_WRITE_ONLY        = IB_OP(UC, RDMA_WRITE_ONLY),
    IB_OP_UC_RDMA_WRITE_ONLY_IMM    = IB_OP(UC, RDMA_WRITE_ONLY_IMM),

    IB_OP_RD_SEND_FIRST             = IB_OP(RD, SEND_FIRST),
    IB_OP_RD_SEND_MIDDLE            = IB_OP(RD, SEND_MIDDLE),
    IB_OP_RD_SEND_LAST              = IB_OP(RD, SEND_LAST),
    IB_OP_RD_SEND_LAST_IMM          = IB_OP(RD, SEND_LAST_IMM),
    IB_OP_RD_SEND_ONLY              = IB_OP(RD, SEND_ONLY),
    IB_OP_RD_SEND_ONLY_IMM          = IB_OP(RD, SEND_ONLY_IMM),
    IB_OP_RD_RDMA_WRITE_FIRST       = IB_OP(RD, RDMA_WRITE_FIRST),
    IB_OP_RD_RDMA_WRITE_MIDDLE      = IB_OP(RD, RDMA_WRITE_MIDDLE),
    IB_OP_RD_RDMA_WRITE_LAST        = IB_OP(RD, RDMA_WRITE_LAST),
    IB_OP_RD_RDMA_WRITE_LAST_IMM    = IB_OP(RD, RDMA_WRITE_LAST_IMM),
    IB_OP_RD_RDMA_WRITE_ONLY        = IB_OP(RD, RDMA_WRITE_ONLY),
    IB_OP_RD_RDMA_WRITE_ONLY_IMM    = IB_OP(RD, RDMA_WRITE_ONLY_IMM),
    IB_OP_RD_RDMA_READ_REQUEST      = IB_OP(RD, RDMA_READ_REQUEST),
    IB_OP_RD_RDMA_READ_RESP_FIRST   = IB_OP(RD, RDMA_READ_RESP_FIRST),
    IB_OP_RD_RDMA_READ_RESP_MIDDLE  = IB_OP(RD, RDMA_READ_RESP_MIDDLE),
    IB_OP_RD_RDMA_READ_RESP_LAST    = IB_OP(RD, RDMA_READ_RESP_LAST),
    IB_OP_RD_RDMA_READ_RESP_ONLY    = IB_OP(RD, RDMA_READ_RESP_ONLY),
    IB_OP_RD_ACK                    = IB_OP(RD, ACK),
    IB_OP_RD_ATOMIC_ACK             = IB_OP(RD, ATOMIC_ACK),
    IB_OP_RD_CMP_SWAP               = IB_OP(RD, CMP_SWAP),
    IB_OP_RD_FETCH_ADD              = IB_OP(RD, FETCH_ADD),
    IB_OP_RD_RESYNC                 = IB_OP(RD, RESYNC),

    IB_OP_UD_SEND_ONLY              = IB_OP(UD, SEND_ONLY),
    IB_OP_UD_SEND_ONLY_IMM          = IB_OP(UD, SEND_ONLY_IMM),

    IB_OP_CNP                       = IB_SERVICE_CNP,

    /*
     * This project's own, on RC: atomics with masks (a ConnectX has them, how
     * it puts them on the wire is not published).
     */
    IB_OP_MASKED_CMP_SWAP           = IB_OP(MFR, CMP_SWAP),
    IB_OP_MASKED_FETCH_ADD          = IB_OP(MFR, FETCH_ADD),

    IB_OP_XRC_SEND_FIRST            = IB_OP(XRC, SEND_FIRST),
    IB_OP_XRC_SEND_MIDDLE           = IB_OP(XRC, SEND_MIDDLE),
    IB_OP_XRC_SEND_LAST             = IB_OP(XRC, SEND_LAST),
    IB_OP_XRC_SEND_LAST_IMM         = IB_OP(XRC, SEND_LAST_IMM),
    IB_OP_XRC_SEND_ONLY             = IB_OP(XRC, SEND_ONLY),
    IB_OP_XRC_SEND_ONLY_IMM         = IB_OP(XRC, SEND_ONLY_IMM),
    IB_OP_XRC_RDMA_WRITE_FIRST      = IB_OP(XRC, RDMA_WRITE_FIRST),
    IB_OP_XRC_RDMA_WRITE_MIDDLE     = IB_OP(XRC, RDMA_WRITE_MIDDLE),
    IB_OP_XRC_RDMA_WRITE_LAST       = IB_OP(XRC, RDMA_WRITE_LAST),
    IB_OP_XRC_RDMA_WRITE_LAST_IMM   = IB_OP(XRC, RDMA_WRITE_LAST_IMM),
    IB_OP_XRC_RDMA_WRITE_ONLY       = IB_OP(XRC, RDMA_WRITE_ONLY),
    IB_OP_XRC_RDMA_WRITE_ONLY_IMM   = IB_OP(XRC, RDMA_WRITE_ONLY_IMM),
    IB_OP_XRC_RDMA_READ_REQUEST     = IB_OP(XRC, RDMA_READ_REQUEST),
    IB_OP_XRC_RDMA_READ_RESP_FIRST  = IB_OP(XRC, RDMA_READ_RESP_FIRST),
    IB_OP_XRC_RDMA_READ_RESP_MIDDLE = IB_OP(XRC, RDMA_READ_RESP_MIDDLE),
    IB_OP_XRC_RDMA_READ_RESP_LAST   = IB_OP(XRC, RDMA_READ_RESP_LAST),
    IB_OP_XRC_RDMA_READ_RESP_ONLY   = IB_OP(XRC, RDMA_READ_RESP_ONLY),
    IB_OP_XRC_ACK                   = IB_OP(XRC, ACK),
    IB_OP_XRC_ATOMIC_ACK            = IB_OP(XRC, ATOMIC_ACK),
    IB_OP_XRC_CMP_SWAP              = IB_OP(XRC, CMP_SWAP),
    IB_OP_XRC_FETCH_ADD             = IB_OP(XRC, FETCH_ADD),
    IB_OP_XRC_SEND_LAST_INV         = IB_OP(XRC, SEND_LAST_INV),
    IB_OP_XRC_SEND_ONLY_INV         = IB_OP(XRC, SEND_ONLY_INV),
};

/*
 * What follows the BTH (IBA Vol. 1, table 38): extended headers, in this
 * order, and payload.
 */
enum {
    IB_HAS_RDETH        = 1 << 0,
    IB_HAS_DETH         = 1 << 1,
    IB_HAS_XRCETH       = 1 << 2,
    IB_HAS_RETH         = 1 << 3,
    IB_HAS_ATOMICETH    = 1 << 4,
    IB_HAS_AETH         = 1 << 5,
    IB_HAS_ATOMICACKETH = 1 << 6,
    IB_HAS_IMMDT        = 1 << 7,
    IB_HAS_IETH         = 1 << 8,
    IB_HAS_PAYLOAD      = 1 << 9,
    IB_IS_FIRST         = 1 << 10,  /* message begins with this packet */
    IB_IS_LAST          = 1 << 11,  /* message ends with this packet */
    IB_IS_RESPONSE      = 1 << 12,  /* answers a request */
    IB_HAS_MASKETH      = 1 << 13,  /* behind AtomicETH */
};

typedef struct IbOpcodeInfo {
    const char *name;       /* "RC SEND First"; NULL: reserved opcode */
    uint16_t flags;         /* IB_HAS_*, IB_IS_* */
    uint8_t ext_bytes;      /* size of all extended headers together */
} IbOpcodeInfo;

extern const IbOpcodeInfo ib_opcode_info[256];

/* Readers for the forwarding path: @p is an LRH of at least 8 bytes. */

static IB_ALWAYS_INLINE unsigned ib_lrh_vl(const uint8_t *p)
{
    return ib_field_get(p, IB_LRH_VL);
}

static IB_ALWAYS_INLINE void ib_lrh_set_vl(uint8_t *p, unsigned vl)
{
    ib_field_set(p, IB_LRH_VL, vl);
}

static IB_ALWAYS_INLINE unsigned ib_lrh_sl(const uint8_t *p)
{
    return ib_field_get(p, IB_LRH_SL);
}

static IB_ALWAYS_INLINE unsigned ib_lrh_lnh(const uint8_t *p)
{
    return ib_field_get(p, IB_LRH_LNH);
}

static IB_ALWAYS_INLINE uint16_t ib_lrh_dlid(const uint8_t *p)
{
    return ib_field_get(p, IB_LRH_DLID);
}

static IB_ALWAYS_INLINE uint16_t ib_lrh_slid(const uint8_t *p)
{
    return ib_field_get(p, IB_LRH_SLID);
}

/* Length by the header, in bytes from LRH to the end of ICRC */
static IB_ALWAYS_INLINE size_t ib_lrh_bytes(const uint8_t *p)
{
    return ib_field_get(p, IB_LRH_PKTLEN) * 4;
}

static IB_ALWAYS_INLINE bool ib_lid_is_unicast(uint16_t lid)
{
    return lid >= IB_LID_UCAST_FIRST && lid <= IB_LID_UCAST_LAST;
}

static IB_ALWAYS_INLINE bool ib_lid_is_multicast(uint16_t lid)
{
    return lid >= IB_LID_MCAST_FIRST && lid <= IB_LID_MCAST_LAST;
}

/*
 * ib_pkey_match: whether a packet with P_Key @a may pass a table entry @b:
 * same base, not the invalid key, and at least one of both a full member
 * (IBA Vol. 1, 10.9.3).
 */
static IB_ALWAYS_INLINE bool ib_pkey_match(uint16_t a, uint16_t b)
{
    return ((a ^ b) & IB_PKEY_BASE_MASK) == 0 &&
           (a & IB_PKEY_BASE_MASK) != 0 &&
           ((a | b) & IB_PKEY_FULL_MEMBER) != 0;
}

/*
 * ib_psn_diff: @a - @b in the 24-bit sequence space, from -2^23 to 2^23 - 1;
 * negative when @a comes before @b (IBA Vol. 1, 9.7.2).
 */
static IB_ALWAYS_INLINE int32_t ib_psn_diff(uint32_t a, uint32_t b)
{
    return (int32_t)((a - b) << 8) >> 8;
}

/* Outcome of ib_packet_parse(), in the order of the checks */
typedef enum IbPacketStatus {
    IB_PACKET_OK = 0,
    IB_PACKET_TOO_SHORT,    /* no room for an LRH */
    IB_PACKET_BAD_LVER,
    IB_PACKET_BAD_PKTLEN,   /* below the minimum or not what arrived */
    IB_PACKET_TRUNCATED,    /* headers, pad or ICRC do not fit in PktLen */
    IB_PACKET_BAD_IPVER,
    IB_PACKET_BAD_PAYLEN,   /* GRH PayLen against LRH PktLen */
    IB_PACKET_BAD_NXTHDR,
    IB_PACKET_BAD_TVER,
    IB_PACKET_BAD_OPCODE,   /* reserved or vendor's; a switch forwards it */
} IbPacketStatus;

/*
 * Where things are in a packet: byte offsets from the LRH, 0 = not there.
 * Filled as far as the checks came; what was not reached is 0.
 */
typedef struct IbPacketInfo {
    uint8_t lnh;
    uint8_t opcode;         /* BTH opcode; 0 in a raw packet */
    uint8_t pad;            /* bytes of pad after the payload */
    uint16_t flags;         /* IB_HAS_*, IB_IS_* of the opcode */
    uint16_t len;           /* whole packet, bytes */
    uint16_t grh;           /* also the IPv6 header of a raw packet */
    uint16_t bth;
    uint16_t rdeth;
    uint16_t deth;
    uint16_t xrceth;
    uint16_t reth;
    uint16_t atomiceth;
    uint16_t masketh;
    uint16_t aeth;
    uint16_t atomicacketh;
    uint16_t immdt;
    uint16_t ieth;
    uint16_t payload;       /* first byte after all headers */
    uint16_t payload_len;   /* bytes, without pad and ICRC */
    uint16_t icrc;          /* 0 in a raw packet */
} IbPacketInfo;

/*
 * ib_packet_parse: check a packet and find its parts.
 * @data, @len: from LRH to the end of ICRC; @len must be PktLen * 4
 * @info:       filled always, see above
 *
 * Checked as in IBA Vol. 1, 7.8 and 8.3 and 9.6.1.1: LVer, PktLen, the GRH's
 * IPVer, PayLen and NxtHdr, BTH TVer, a known opcode, room for the opcode's
 * extended headers, pad and ICRC. Not checked: both CRCs, keys, QP numbers,
 * and whether the payload suits opcode and MTU.
 */
IbPacketStatus ib_packet_parse(const uint8_t *data, size_t len,
                               IbPacketInfo *info);

/* ib_packet_status_str: a few words for a log or trace line */
const char *ib_packet_status_str(IbPacketStatus status);

/* What a sender puts into LRH and GRH */
typedef struct IbPacketRoute {
    uint8_t vl;
    uint8_t sl;
    uint16_t dlid;
    uint16_t slid;
    bool has_grh;
    uint8_t tclass;
    uint8_t hop_limit;
    uint32_t flow_label;
    uint8_t sgid[IB_GID_BYTES];
    uint8_t dgid[IB_GID_BYTES];
} IbPacketRoute;

/* What a sender puts into the BTH; pad is computed */
typedef struct IbPacketBth {
    uint8_t opcode;
    bool se;
    bool m;
    bool a;
    bool fecn;
    bool becn;
    uint16_t pkey;
    uint32_t dest_qpn;
    uint32_t psn;
} IbPacketBth;

/*
 * ib_packet_bytes: size of a packet from LRH to ICRC with @payload_len bytes
 * of payload: at most 4096 + 124 (IBA Vol. 1, 7.7.8) as long as
 * @payload_len is at most 4096.
 */
size_t ib_packet_bytes(bool has_grh, uint8_t opcode, size_t payload_len);

/*
 * ib_packet_put_headers: write LRH, GRH if @route has one, and BTH at @buf,
 * with all lengths for @payload_len bytes of payload.
 * @buf has room for ib_packet_bytes(). Returns the offset of the first
 * extended header; the payload belongs ib_opcode_info[].ext_bytes after it.
 */
size_t ib_packet_put_headers(uint8_t *buf, const IbPacketRoute *route,
                             const IbPacketBth *bth, size_t payload_len);

/*
 * ib_packet_put_ud: as above for IB_OP_UD_SEND_ONLY, or _IMM with immediate
 * data @imm (host order of the big-endian word), and write DETH and ImmDt
 * too. Returns the offset of the payload.
 */
size_t ib_packet_put_ud(uint8_t *buf, const IbPacketRoute *route,
                        const IbPacketBth *bth, uint32_t qkey,
                        uint32_t src_qpn, uint32_t imm, size_t payload_len);

/*
 * ib_packet_seal: once headers and payload are in place, zero the pad and
 * write the ICRC (zero when @icrc is false). Returns the size from LRH to
 * ICRC, as in PktLen.
 */
size_t ib_packet_seal(uint8_t *buf, bool icrc);

/*
 * ib_packet_icrc_ok: whether the last 4 bytes are the ICRC of the rest;
 * @len at least 24. Raw packets have none and are always right.
 */
bool ib_packet_icrc_ok(const uint8_t *data, size_t len);

#endif /* HW_INFINIBAND_IB_PACKET_H */
