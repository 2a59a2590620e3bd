/*
 * A fabric for programs of this host
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Two kinds of sockets (docs/fabric.rst): ibsim's, by which Debian's
 * libumad2sim.so makes any program that speaks to libibumad a program on one of
 * the fabric's nodes; and one that takes commands, a line each.
 */
#ifndef HW_INFINIBAND_IB_FABRIC_HOST_H
#define HW_INFINIBAND_IB_FABRIC_HOST_H

#include <signal.h>
#include "hw/infiniband/ib-fabric.h"

#define IB_FABRIC_NAME_MAX  64    /* bytes of a name of ibsim's sockets */

typedef struct IbFabricHost IbFabricHost;

/*
 * Serve @fabric: @ibsim names the sockets @ibsim:ctl and so on in the abstract
 * name space, @control is the path of a UNIX socket; either may be NULL.  NULL
 * and a message in *@why (g_free) if one cannot be had.
 */
IbFabricHost *ib_fabric_host_new(IbFabric *fabric, const char *ibsim,
                                 const char *control, char **why);
void ib_fabric_host_free(IbFabricHost *host);
/* This descriptor is readable when there is something to do. */
int ib_fabric_host_fd(const IbFabricHost *host);
/*
 * Do what there is to do and run the fabric; the time (ns of the fabric's
 * clock) when to call again at the latest, INT64_MAX: when the descriptor
 * says so.
 */
int64_t ib_fabric_host_process(IbFabricHost *host);
/*
 * For a process that does nothing else: go on until *@stop is true.  It waits
 * with the signal mask @unblocked.
 */
void ib_fabric_host_serve(IbFabricHost *host, const sigset_t *unblocked,
                          const volatile sig_atomic_t *stop);

/*
 * What the control socket answers to @line, without its \n: JSON with a \n,
 * g_free() it.
 */
char *ib_fabric_command(IbFabric *fabric, const char *line);
/* Append @text, of any bytes, to @out as a JSON string. */
void ib_fabric_json_string(GString *out, const char *text);

#endif
