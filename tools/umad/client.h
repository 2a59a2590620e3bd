/*
 * A program's connections to a fabric (ib-fabric-protocol.h)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef TOOLS_UMAD_CLIENT_H
#define TOOLS_UMAD_CLIENT_H

#include <stddef.h>
#include "hw/infiniband/ib-fabric-protocol.h"

typedef struct UmadClient {
    int fd;                       /* IbHostRequests go and come here */
    uint32_t id;                  /* what the fabric calls it */
} UmadClient;

/*
 * A client at the node that SIM_HOST names, of the fabric IBSIM_SOCKNAME; 0 or
 * -errno, after a line on stderr that says what is wrong.
 */
int umad_client_open(UmadClient *client);
void umad_client_close(UmadClient *client);
/*
 * Ask @type with @len bytes at @data, which the answer's IB_HOST_CTL_BYTES
 * replace if @answer is not NULL; 0 or -errno, -EPERM: refused.
 */
int umad_client_ask(const UmadClient *client, IbHostCtlType type,
                    const void *data, size_t len, uint8_t *answer);

#endif
