/*
 * What programs of this host and a fabric say to each other
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ibsim's client protocol and what tools/umad adds to it (docs/fabric.rst).
 * Sockets are datagram sockets in the abstract name space, the 0 at the end of
 * their names counts: NAME:ctl takes an IbHostCtl and answers with one,
 * NAME:outN the IbHostRequests of client N, whose own socket is NAME:inID.
 * Numbers are in host order unless said otherwise.
 */
#ifndef HW_INFINIBAND_IB_FABRIC_PROTOCOL_H
#define HW_INFINIBAND_IB_FABRIC_PROTOCOL_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "hw/infiniband/ib-mad.h"

#define IB_HOST_CTL_MAGIC   0xdeadbeef
#define IB_HOST_CTL_BYTES   64

typedef enum IbHostCtlType {
    IB_HOST_CTL_ERROR,            /* only as an answer */
    IB_HOST_CTL_CONNECT,          /* IbHostConnect, both ways */
    IB_HOST_CTL_DISCONNECT,
    IB_HOST_CTL_GET_PORT,         /* answer: IbHostPort */
    IB_HOST_CTL_GET_VENDOR,       /* answer: IbHostVendor */
    IB_HOST_CTL_GET_GID,          /* answer: 16 bytes */
    IB_HOST_CTL_GET_GUID,         /* answer: the port's, wire order */
    IB_HOST_CTL_GET_NODEINFO,     /* answer: the attribute */
    IB_HOST_CTL_GET_PORTINFO,     /* answer: the attribute */
    IB_HOST_CTL_SET_ISSM,         /* uint32_t */
    IB_HOST_CTL_GET_PKEYS,        /* answer: block 0 of the P_KeyTable */

    /* Not ibsim's */
    IB_HOST_CTL_OWN = 64,         /* the client is tools/umad */
    IB_HOST_CTL_SET_METHODS,      /* IbHostMethods */
} IbHostCtlType;

typedef struct IbHostCtl {
    uint32_t magic;
    uint32_t client;              /* N; what is said if not yet connected */
    uint32_t type;                /* IbHostCtlType */
    uint32_t len;                 /* bytes of data that are used */
    uint8_t data[IB_HOST_CTL_BYTES];
} IbHostCtl;

typedef struct IbHostConnect {
    uint32_t id;                  /* ID of NAME:inID; N in the answer */
    uint32_t qp, issm;
    char node[32];                /* "": the first CA */
} IbHostConnect;

typedef struct IbHostPort {
    uint16_t lid;
    uint8_t state;
} IbHostPort;

typedef struct IbHostVendor {
    uint32_t vendor, part, hw_version;
    uint64_t fw_version;
} IbHostVendor;

/*
 * What unsolicited MADs a client wants: those of a class whose method has its
 * bit, and of an OUI in classes 0x30 to 0x4f.  Refused if another client of
 * the port has one of them.
 */
typedef struct IbHostMethods {
    uint64_t methods[2];          /* method M: bit M % 64 of [M / 64] */
    uint8_t mgmt_class;
    uint8_t on;                   /* 0: not any longer */
    uint8_t oui[3];
    uint8_t reserved[3];
} IbHostMethods;

/*
 * A datagram of NAME:outN and NAME:inID.  LIDs are 16 bits, QPs 32, status 32
 * and length 64 in network order.  What an own client sends has in slid how
 * many ms each try waits for an answer (0: none is waited for), in status the
 * number of further tries, both in network order.
 */
typedef struct IbHostRequest {
    uint32_t dlid, slid, dqp, sqp, status;
    uint64_t length;
    uint8_t mad[IB_MAD_BYTES];
} IbHostRequest;

/* The socket of that name, as far as it fits; the length of the address. */
socklen_t G_GNUC_PRINTF(2, 3) ib_host_address(struct sockaddr_un *un,
                                              const char *format, ...);

#endif
