/*
 * What the files of libib-umad.so share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef TOOLS_UMAD_UMAD_INT_H
#define TOOLS_UMAD_UMAD_INT_H

#include <stdbool.h>
#include <infiniband/umad.h>
#include "client.h"

#define UMAD_CA_NAME   "ibsim0"   /* as with libumad2sim.so */
#define UMAD_EXPORT    __attribute__((visibility("default")))

/* Is this the port that the program has?  NULL and 0: any. */
bool umad_is_port(const char *ca_name, int portnum);

/*
 * A descriptor that is readable when a program has opened or closed what
 * umad_get_issm_path() named, or -1; then the second is to be called.
 */
int umad_issm_fd(void);
void umad_issm_process(void);

#endif
