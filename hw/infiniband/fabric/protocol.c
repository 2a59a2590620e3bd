/*
 * Names of the sockets of programs and a fabric
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdarg.h>
#include <stddef.h>
#include "hw/infiniband/ib-fabric-protocol.h"

socklen_t ib_host_address(struct sockaddr_un *un, const char *format, ...)
{
    va_list args;

    memset(un, 0, sizeof(*un));
    un->sun_family = AF_UNIX;
    va_start(args, format);
    g_vsnprintf(un->sun_path + 1, sizeof(un->sun_path) - 1, format, args);
    va_end(args);
    return offsetof(struct sockaddr_un, sun_path) + 1 +
           strlen(un->sun_path + 1) + 1;
}
