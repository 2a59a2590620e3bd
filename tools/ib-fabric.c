/*
 * ib-fabric: a fabric from a topology file, for programs of this host
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 *     ib-fabric [--name NAME] [--control PATH] FILE
 *
 * What it serves and says is told in docs/fabric.rst.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "hw/infiniband/ib-fabric-host.h"

static volatile sig_atomic_t stopped;

static void stop(int sig)
{
    stopped = 1;
}

static int64_t clock_now(void *opaque)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static uint32_t get_random(void *opaque)
{
    return g_random_int();
}

/* They come while it waits, at no other time. */
static void catch_signals(sigset_t *unblocked)
{
    struct sigaction action = { .sa_handler = stop };
    sigset_t blocked;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, unblocked);
    sigdelset(unblocked, SIGINT);
    sigdelset(unblocked, SIGTERM);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv)
{
    static const IbFabricOps ops = { .now = clock_now, .random = get_random };
    g_autofree char *name = NULL;
    g_autofree char *control = NULL;
    g_autofree char *why = NULL;
    g_autoptr(GError) error = NULL;
    const GOptionEntry options[] = {
        { "name", 'n', 0, G_OPTION_ARG_STRING, &name,
          "serve ibsim's clients whose IBSIM_SOCKNAME is NAME (default sim)",
          "NAME" },
        { "control", 'c', 0, G_OPTION_ARG_FILENAME, &control,
          "take commands on a UNIX socket", "PATH" },
        { NULL }
    };
    g_autoptr(GOptionContext) context = g_option_context_new("FILE");
    IbTopology *topology;
    IbFabric *fabric;
    IbFabricHost *host;
    sigset_t unblocked;

    g_option_context_add_main_entries(context, options, NULL);
    g_option_context_set_summary(context, "An InfiniBand fabric from a "
                                 "topology file (ibnetdiscover's, ibsim's).");
    if (!g_option_context_parse(context, &argc, &argv, &error) || argc != 2) {
        fprintf(stderr, "ib-fabric: %s\n",
                error ? error->message : "one FILE, see --help");
        return 2;
    }
    topology = ib_topology_read(argv[1], &error);
    if (!topology) {
        fprintf(stderr, "%s\n", error->message);
        return 1;
    }
    catch_signals(&unblocked);
    fabric = ib_fabric_new(topology, &ops, NULL);
    host = ib_fabric_host_new(fabric, name ?: "sim", control, &why);
    if (host) {
        /* Programs may come from now on. */
        printf("%u nodes, %u cables\n", topology->num_nodes,
               topology->num_cables);
        fflush(stdout);
        ib_fabric_host_serve(host, &unblocked, &stopped);
        ib_fabric_host_free(host);
    } else {
        fprintf(stderr, "ib-fabric: %s\n", why);
    }
    ib_fabric_free(fabric);
    ib_topology_free(topology);
    return host ? 0 : 1;
}
