/*
 * A program's connections to a fabric
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "client.h"

#define ANSWER_MS      20000
#define PID_BITS       22         /* as many as a PID has on Linux */
#define CLIENTS        (1u << (32 - PID_BITS))

static const char *fabric_name(void)
{
    const char *name = getenv("IBSIM_SOCKNAME");

    return name && *name ? name : "sim";
}

static int connect_to(int fd, const struct sockaddr_un *un, socklen_t len)
{
    return connect(fd, (const struct sockaddr *)un, len) < 0 ? -errno : 0;
}

/* One question, one answer, on a socket of its own: any thread may ask. */
static int exchange(int fd, IbHostCtl *ctl)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    struct pollfd pollfd = { .fd = fd, .events = POLLIN };
    socklen_t len;
    int ret;

    /* The kernel names it, so that the answer finds it. */
    if (bind(fd, (struct sockaddr *)&un, sizeof(sa_family_t)) < 0) {
        return -errno;
    }
    len = ib_host_address(&un, "%s:ctl", fabric_name());
    ret = connect_to(fd, &un, len);
    if (ret) {
        return ret;
    }
    if (send(fd, ctl, sizeof(*ctl), 0) < 0) {
        return -errno;
    }
    do {
        ret = poll(&pollfd, 1, ANSWER_MS);
    } while (ret < 0 && errno == EINTR);
    if (ret <= 0) {
        return ret ? -errno : -ETIMEDOUT;
    }
    if (recv(fd, ctl, sizeof(*ctl), 0) != sizeof(*ctl)) {
        return -EPROTO;
    }
    return ctl->type == IB_HOST_CTL_ERROR ? -EPERM : 0;
}

int umad_client_ask(const UmadClient *client, IbHostCtlType type,
                    const void *data, size_t len, uint8_t *answer)
{
    IbHostCtl ctl = {
        .magic = IB_HOST_CTL_MAGIC,
        .client = client->id,
        .type = type,
        .len = len,
    };
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int ret;

    if (fd < 0) {
        return -errno;
    }
    if (len) {
        memcpy(ctl.data, data, len);
    }
    ret = exchange(fd, &ctl);
    if (!ret && answer) {
        memcpy(answer, ctl.data, IB_HOST_CTL_BYTES);
    }
    close(fd);
    return ret;
}

/* NAME:inID, where ID is this process' and the next free number. */
static int bind_own(int fd, uint32_t *id)
{
    static uint32_t last;
    struct sockaddr_un un;
    socklen_t len;
    unsigned i;

    for (i = 0; i < CLIENTS; i++) {
        uint32_t n = __atomic_fetch_add(&last, 1, __ATOMIC_RELAXED);

        *id = n % CLIENTS << PID_BITS | getpid();
        len = ib_host_address(&un, "%s:in%u", fabric_name(), *id);
        if (bind(fd, (struct sockaddr *)&un, len) == 0) {
            return 0;
        }
        if (errno != EADDRINUSE) {
            break;
        }
    }
    return -errno;
}

static int attach(UmadClient *client)
{
    const char *node = getenv("SIM_HOST");
    IbHostConnect connect = { 0 };
    uint8_t answer[IB_HOST_CTL_BYTES];
    struct sockaddr_un un;
    socklen_t len;
    int ret = bind_own(client->fd, &connect.id);

    if (ret) {
        return ret;
    }
    if (node && strlen(node) >= sizeof(connect.node)) {
        return -ENODEV;
    }
    g_strlcpy(connect.node, node ? node : "", sizeof(connect.node));
    client->id = UINT32_MAX;
    ret = umad_client_ask(client, IB_HOST_CTL_CONNECT, &connect,
                          sizeof(connect), answer);
    if (ret) {
        return ret == -EPERM ? -ENODEV : ret;
    }
    memcpy(&connect, answer, sizeof(connect));
    client->id = connect.id;
    len = ib_host_address(&un, "%s:out%u", fabric_name(), client->id);
    ret = connect_to(client->fd, &un, len);
    return ret ? ret : umad_client_ask(client, IB_HOST_CTL_OWN, NULL, 0,
                                       NULL);
}

int umad_client_open(UmadClient *client)
{
    const char *node = getenv("SIM_HOST");
    int ret;

    client->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (client->fd < 0) {
        return -errno;
    }
    ret = attach(client);
    if (ret) {
        fprintf(stderr, "libib-umad: fabric %s, node %s: %s\n",
                fabric_name(), node ? node : "(the first)",
                ret == -ENODEV ? "no such node, or it is a VM's" :
                ret == -EPERM ? "this is no ib-fabric" : g_strerror(-ret));
        close(client->fd);
    }
    return ret;
}

void umad_client_close(UmadClient *client)
{
    umad_client_ask(client, IB_HOST_CTL_DISCONNECT, NULL, 0, NULL);
    close(client->fd);
}
