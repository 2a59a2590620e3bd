/*
 * libibumad's functions: what adapter there is
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * There is one, the node that SIM_HOST names, with the one port that a client
 * of the fabric has.  What is told of it is asked for anew each time, as sysfs
 * is read each time.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE               /* memfd_create() */
#endif
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <unistd.h>
#include "hw/infiniband/ib-sm-attr.h"
#include "umad-int.h"

#define PKEYS  (IB_HOST_CTL_BYTES / 2)

static GMutex lock;
static UmadClient base = { .fd = -1 };
static int base_port = -1;

/* What the program opens to be an SM: a file of no folder. */
static int issm_file = -1, issm_events = -1, issm_opened;

static int ask(IbHostCtlType type, uint8_t answer[IB_HOST_CTL_BYTES])
{
    return umad_client_ask(&base, type, NULL, 0, answer);
}

/* The client that questions are put by, or -errno. */
static int connect_base(void)
{
    uint8_t node[IB_HOST_CTL_BYTES];
    int ret = 0;

    g_mutex_lock(&lock);
    if (base.fd < 0) {
        ret = umad_client_open(&base);
        if (!ret) {
            ret = ask(IB_HOST_CTL_GET_NODEINFO, node);
        }
        if (!ret) {
            base_port = ib_field_get(node, IB_NODEINFO_LOCAL_PORT_NUM);
            if (ib_field_get(node, IB_NODEINFO_NODE_TYPE) ==
                IB_NODE_TYPE_SWITCH) {
                base_port = 0;
            }
        } else {
            base.fd = -1;
        }
    }
    g_mutex_unlock(&lock);
    return ret;
}

bool umad_is_port(const char *ca_name, int portnum)
{
    return !connect_base() &&
           (!ca_name || !*ca_name || !strcmp(ca_name, UMAD_CA_NAME)) &&
           (portnum <= 0 || portnum == base_port);
}

UMAD_EXPORT int umad_init(void)
{
    return connect_base() ? -1 : 0;
}

UMAD_EXPORT int umad_done(void)
{
    return 0;
}

UMAD_EXPORT int umad_get_cas_names(char cas[][UMAD_CA_NAME_LEN], int max)
{
    if (max < 1 || !umad_is_port(NULL, 0)) {
        return 0;
    }
    g_strlcpy(cas[0], UMAD_CA_NAME, UMAD_CA_NAME_LEN);
    return 1;
}

UMAD_EXPORT struct umad_device_node *umad_get_ca_device_list(void)
{
    struct umad_device_node *node;

    if (!umad_is_port(NULL, 0)) {
        return NULL;
    }
    node = g_new0(struct umad_device_node, 1);
    node->ca_name = UMAD_CA_NAME;
    return node;
}

UMAD_EXPORT void umad_free_ca_device_list(struct umad_device_node *head)
{
    g_free(head);
}

/* Gb/s, as the kernel's file "rate" has them. */
static unsigned rate(const uint8_t *port)
{
    static const struct {
        uint32_t field;
        unsigned value, tenths;   /* of a lane */
    } speeds[] = {
        { IB_PORTINFO_LINK_SPEED_EXT_ACTIVE, 8, 1000 },
        { IB_PORTINFO_LINK_SPEED_EXT_ACTIVE, 4, 500 },
        { IB_PORTINFO_LINK_SPEED_EXT_ACTIVE, 2, 250 },
        { IB_PORTINFO_LINK_SPEED_EXT_ACTIVE, 1, 140 },
        { IB_PORTINFO_LINK_SPEED_ACTIVE, 4, 100 },
        { IB_PORTINFO_LINK_SPEED_ACTIVE, 2, 50 },
        { IB_PORTINFO_LINK_SPEED_ACTIVE, 1, 25 },
    };
    static const unsigned lanes[] = { 1, 4, 8, 12, 2 };
    unsigned width = ib_field_get(port, IB_PORTINFO_LINK_WIDTH_ACTIVE);
    unsigned i, w;

    for (i = 0; i < G_N_ELEMENTS(speeds); i++) {
        if (ib_field_get(port, speeds[i].field) == speeds[i].value) {
            for (w = 0; w < G_N_ELEMENTS(lanes); w++) {
                if (width == 1u << w) {
                    return speeds[i].tenths * lanes[w] / 10;
                }
            }
        }
    }
    return 0;
}

static int fill_port(umad_port_t *port)
{
    uint8_t info[IB_HOST_CTL_BYTES], gid[IB_HOST_CTL_BYTES];
    uint8_t pkeys[IB_HOST_CTL_BYTES];
    int ret = ask(IB_HOST_CTL_GET_PORTINFO, info);
    unsigned i;

    ret = ret ? ret : ask(IB_HOST_CTL_GET_GID, gid);
    ret = ret ? ret : ask(IB_HOST_CTL_GET_PKEYS, pkeys);
    if (ret) {
        return ret;
    }
    memset(port, 0, sizeof(*port));
    g_strlcpy(port->ca_name, UMAD_CA_NAME, sizeof(port->ca_name));
    g_strlcpy(port->link_layer, "InfiniBand", sizeof(port->link_layer));
    port->portnum = base_port;
    port->base_lid = ib_field_get(info, IB_PORTINFO_LID);
    port->lmc = ib_field_get(info, IB_PORTINFO_LMC);
    port->sm_lid = ib_field_get(info, IB_PORTINFO_MASTER_SM_LID);
    port->sm_sl = ib_field_get(info, IB_PORTINFO_MASTER_SM_SL);
    port->state = ib_field_get(info, IB_PORTINFO_PORT_STATE);
    port->phys_state = ib_field_get(info, IB_PORTINFO_PORT_PHYSICAL_STATE);
    port->rate = rate(info);
    port->capmask =
        GUINT32_TO_BE(ib_field_get(info, IB_PORTINFO_CAPABILITY_MASK));
    memcpy(&port->gid_prefix, gid, 8);
    memcpy(&port->port_guid, gid + 8, 8);
    port->pkeys_size = PKEYS;
    port->pkeys = calloc(PKEYS, sizeof(*port->pkeys));
    for (i = 0; port->pkeys && i < PKEYS; i++) {
        port->pkeys[i] = ib_get_be16(pkeys + 2 * i);
    }
    return port->pkeys ? 0 : -ENOMEM;
}

UMAD_EXPORT int umad_get_port(const char *ca_name, int portnum,
                              umad_port_t *port)
{
    return umad_is_port(ca_name, portnum) ? fill_port(port) : -ENODEV;
}

UMAD_EXPORT int umad_release_port(umad_port_t *port)
{
    free(port->pkeys);
    port->pkeys = NULL;
    port->pkeys_size = 0;
    return 0;
}

static int fill_ca(umad_ca_t *ca)
{
    uint8_t node[IB_HOST_CTL_BYTES], data[IB_HOST_CTL_BYTES];
    IbHostVendor vendor;
    umad_port_t *port;
    int ret = ask(IB_HOST_CTL_GET_NODEINFO, node);

    ret = ret ? ret : ask(IB_HOST_CTL_GET_VENDOR, data);
    if (ret) {
        return ret;
    }
    memcpy(&vendor, data, sizeof(vendor));
    memset(ca, 0, sizeof(*ca));
    g_strlcpy(ca->ca_name, UMAD_CA_NAME, sizeof(ca->ca_name));
    g_strlcpy(ca->fw_ver, "none", sizeof(ca->fw_ver));
    g_snprintf(ca->hw_ver, sizeof(ca->hw_ver), "%x",
               ib_field_get(node, IB_NODEINFO_REVISION));
    g_snprintf(ca->ca_type, sizeof(ca->ca_type), "ib-fabric 0x%x 0x%x",
               vendor.vendor, vendor.part);
    ca->node_type = ib_field_get(node, IB_NODEINFO_NODE_TYPE);
    ca->node_type = ca->node_type == IB_NODE_TYPE_CA ? 1 : 2;
    ca->numports = base_port
                   ? (int)ib_field_get(node, IB_NODEINFO_NUM_PORTS) : 0;
    ca->numports = MIN(ca->numports, UMAD_CA_MAX_PORTS - 1);
    memcpy(&ca->node_guid, node + IB_NODEINFO_NODE_GUID_OFFSET, 8);
    memcpy(&ca->system_guid, node + IB_NODEINFO_SYSTEM_IMAGE_GUID_OFFSET, 8);
    if (base_port >= UMAD_CA_MAX_PORTS) {
        return 0;
    }
    port = calloc(1, sizeof(*port));
    ret = port ? fill_port(port) : -ENOMEM;
    if (ret) {
        free(port);
        return ret;
    }
    ca->ports[base_port] = port;
    return 0;
}

UMAD_EXPORT int umad_get_ca(const char *ca_name, umad_ca_t *ca)
{
    return umad_is_port(ca_name, 0) ? fill_ca(ca) : -ENODEV;
}

UMAD_EXPORT int umad_release_ca(umad_ca_t *ca)
{
    unsigned i;

    for (i = 0; i < UMAD_CA_MAX_PORTS; i++) {
        if (ca->ports[i]) {
            umad_release_port(ca->ports[i]);
            free(ca->ports[i]);
            ca->ports[i] = NULL;
        }
    }
    return 0;
}

UMAD_EXPORT int umad_get_ca_portguids(const char *ca_name, __be64 *portguids,
                                      int max)
{
    uint8_t guid[IB_HOST_CTL_BYTES];

    if (!umad_is_port(ca_name, 0) || ask(IB_HOST_CTL_GET_GUID, guid)) {
        return -ENODEV;
    }
    if (max <= base_port) {
        return -ENOMEM;
    }
    memset(portguids, 0, (base_port + 1) * sizeof(*portguids));
    memcpy(&portguids[base_port], guid, 8);
    return base_port + 1;
}

/* ------------------------------------------------------------------ IsSM */

static int watch_issm(char *path, size_t size)
{
    int ret = 0;

    if (issm_events < 0) {
        issm_file = memfd_create("issm", MFD_CLOEXEC);
        issm_events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    }
    if (issm_file < 0 || issm_events < 0) {
        return -errno;
    }
    if (g_snprintf(path, size, "/proc/self/fd/%d", issm_file) >= (int)size) {
        return -ENAMETOOLONG;
    }
    if (inotify_add_watch(issm_events, path, IN_OPEN | IN_CLOSE) < 0) {
        ret = -errno;
    }
    return ret;
}

UMAD_EXPORT int umad_get_issm_path(const char *ca_name, int portnum,
                                   char path[], int max)
{
    int ret;

    if (!umad_is_port(ca_name, portnum)) {
        return -ENODEV;
    }
    g_mutex_lock(&lock);
    ret = watch_issm(path, max);
    g_mutex_unlock(&lock);
    return ret;
}

int umad_issm_fd(void)
{
    return issm_events;
}

void umad_issm_process(void)
{
    struct inotify_event events[16];
    uint32_t was, is;
    ssize_t got, i;

    g_mutex_lock(&lock);
    was = issm_opened > 0;
    got = read(issm_events, events, sizeof(events));
    for (i = 0; i < got / (ssize_t)sizeof(events[0]); i++) {
        if (events[i].mask & IN_OPEN) {
            issm_opened++;
        } else if (events[i].mask & IN_CLOSE) {
            issm_opened--;
        }
    }
    is = issm_opened > 0;
    if (is != was) {
        umad_client_ask(&base, IB_HOST_CTL_SET_ISSM, &is, sizeof(is), NULL);
    }
    g_mutex_unlock(&lock);
}
