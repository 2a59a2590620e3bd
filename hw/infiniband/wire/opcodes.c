/*
 * What each BTH opcode carries (IBA Vol. 1, tables 35 and 38; annex A14 for
 * XRC, annex A17 for CNP)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hw/infiniband/ib-packet.h"

/* Bytes of the extended headers in a set of IB_HAS_* */
#define EXT_BYTES(f)                                        \
    (((f) & IB_HAS_RDETH ? IB_RDETH_BYTES : 0) +            \
     ((f) & IB_HAS_DETH ? IB_DETH_BYTES : 0) +              \
     ((f) & IB_HAS_XRCETH ? IB_XRCETH_BYTES : 0) +          \
     ((f) & IB_HAS_RETH ? IB_RETH_BYTES : 0) +              \
     ((f) & IB_HAS_ATOMICETH ? IB_ATOMICETH_BYTES : 0) +    \
     ((f) & IB_HAS_MASKETH ? IB_MASKETH_BYTES : 0) +        \
     ((f) & IB_HAS_AETH ? IB_AETH_BYTES : 0) +              \
     ((f) & IB_HAS_ATOMICACKETH ? IB_ATOMICACKETH_BYTES : 0) + \
     ((f) & IB_HAS_IMMDT ? IB_IMMDT_BYTES : 0) +            \
     ((f) & IB_HAS_IETH ? IB_IETH_BYTES : 0))

#define ROW(service, op, text, f)                           \
    [IB_OP(service, op)] = {                                \
        .name = #service " " text, .flags = (f), .ext_bytes = EXT_BYTES(f) }

#define PAY     IB_HAS_PAYLOAD
#define FIRST   IB_IS_FIRST
#define LAST    IB_IS_LAST
#define ONLY    (IB_IS_FIRST | IB_IS_LAST)
#define RESP    IB_IS_RESPONSE

/* Requests; q: headers that the service adds before the operation's own */
#define SEND_AND_WRITE(s, q)                                                \
    ROW(s, SEND_FIRST, "SEND First", (q) | PAY | FIRST),                    \
    ROW(s, SEND_MIDDLE, "SEND Middle", (q) | PAY),                          \
    ROW(s, SEND_LAST, "SEND Last", (q) | PAY | LAST),                       \
    ROW(s, SEND_LAST_IMM, "SEND Last with Immediate",                       \
        (q) | IB_HAS_IMMDT | PAY | LAST),                                   \
    ROW(s, SEND_ONLY, "SEND Only", (q) | PAY | ONLY),                       \
    ROW(s, SEND_ONLY_IMM, "SEND Only with Immediate",                       \
        (q) | IB_HAS_IMMDT | PAY | ONLY),                                   \
    ROW(s, RDMA_WRITE_FIRST, "RDMA WRITE First",                            \
        (q) | IB_HAS_RETH | PAY | FIRST),                                   \
    ROW(s, RDMA_WRITE_MIDDLE, "RDMA WRITE Middle", (q) | PAY),              \
    ROW(s, RDMA_WRITE_LAST, "RDMA WRITE Last", (q) | PAY | LAST),           \
    ROW(s, RDMA_WRITE_LAST_IMM, "RDMA WRITE Last with Immediate",           \
        (q) | IB_HAS_IMMDT | PAY | LAST),                                   \
    ROW(s, RDMA_WRITE_ONLY, "RDMA WRITE Only",                              \
        (q) | IB_HAS_RETH | PAY | ONLY),                                    \
    ROW(s, RDMA_WRITE_ONLY_IMM, "RDMA WRITE Only with Immediate",           \
        (q) | IB_HAS_RETH | IB_HAS_IMMDT | PAY | ONLY)

/* Reads, atomics and responses; r: headers that the service's answers add */
#define READ_AND_ATOMIC(s, q, r)                                            \
    ROW(s, RDMA_READ_REQUEST, "RDMA READ Request",                          \
        (q) | IB_HAS_RETH | ONLY),                                          \
    ROW(s, RDMA_READ_RESP_FIRST, "RDMA READ response First",                \
        (r) | IB_HAS_AETH | PAY | FIRST | RESP),                            \
    ROW(s, RDMA_READ_RESP_MIDDLE, "RDMA READ response Middle",              \
        (r) | PAY | RESP),                                                  \
    ROW(s, RDMA_READ_RESP_LAST, "RDMA READ response Last",                  \
        (r) | IB_HAS_AETH | PAY | LAST | RESP),                             \
    ROW(s, RDMA_READ_RESP_ONLY, "RDMA READ response Only",                  \
        (r) | IB_HAS_AETH | PAY | ONLY | RESP),                             \
    ROW(s, ACK, "Acknowledge", (r) | IB_HAS_AETH | ONLY | RESP),            \
    ROW(s, ATOMIC_ACK, "ATOMIC Acknowledge",                                \
        (r) | IB_HAS_AETH | IB_HAS_ATOMICACKETH | ONLY | RESP),             \
    ROW(s, CMP_SWAP, "CmpSwap", (q) | IB_HAS_ATOMICETH | ONLY),             \
    ROW(s, FETCH_ADD, "FetchAdd", (q) | IB_HAS_ATOMICETH | ONLY)

#define SEND_INVALIDATE(s, q)                                               \
    ROW(s, SEND_LAST_INV, "SEND Last with Invalidate",                      \
        (q) | IB_HAS_IETH | PAY | LAST),                                    \
    ROW(s, SEND_ONLY_INV, "SEND Only with Invalidate",                      \
        (q) | IB_HAS_IETH | PAY | ONLY)

const IbOpcodeInfo ib_opcode_info[256] = {
    SEND_AND_WRITE(RC, 0),
    READ_AND_ATOMIC(RC, 0, 0),
    SEND_INVALIDATE(RC, 0),

    SEND_AND_WRITE(UC, 0),

    SEND_AND_WRITE(RD, IB_HAS_RDETH | IB_HAS_DETH),
    READ_AND_ATOMIC(RD, IB_HAS_RDETH | IB_HAS_DETH, IB_HAS_RDETH),
    ROW(RD, RESYNC, "RESYNC", IB_HAS_RDETH | IB_HAS_DETH | ONLY),

    ROW(UD, SEND_ONLY, "SEND Only", IB_HAS_DETH | PAY | ONLY),
    ROW(UD, SEND_ONLY_IMM, "SEND Only with Immediate",
        IB_HAS_DETH | IB_HAS_IMMDT | PAY | ONLY),

    /* 16 reserved bytes follow the BTH; they count as payload here */
    [IB_OP_CNP] = { .name = "CNP", .flags = PAY | ONLY },

    ROW(MFR, CMP_SWAP, "Masked CmpSwap",
        IB_HAS_ATOMICETH | IB_HAS_MASKETH | ONLY),
    ROW(MFR, FETCH_ADD, "Masked FetchAdd",
        IB_HAS_ATOMICETH | IB_HAS_MASKETH | ONLY),

    SEND_AND_WRITE(XRC, IB_HAS_XRCETH),
    READ_AND_ATOMIC(XRC, IB_HAS_XRCETH, 0),
    SEND_INVALIDATE(XRC, IB_HAS_XRCETH),
};
