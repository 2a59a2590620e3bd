/*
 * The control socket: a line asks, a line answers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "host-int.h"

#define LINE_MAX_BYTES   4096
#define CONNECTIONS_MAX  64

typedef struct Connection {
    IbHostSource source;
    GString *in, *out;
} Connection;

bool ib_host_listen(IbFabricHost *host, const char *path, char **why)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    int fd;

    if (strlen(path) >= sizeof(un.sun_path)) {
        *why = g_strdup_printf("a path has at most %zu bytes",
                               sizeof(un.sun_path) - 1);
        return false;
    }
    g_strlcpy(un.sun_path, path, sizeof(un.sun_path));
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    /* What a process that died has left is in the way; a live one is not. */
    if (fd >= 0 && connect(fd, (struct sockaddr *)&un, sizeof(un)) < 0 &&
        errno == ECONNREFUSED) {
        unlink(path);
    }
    host->listener.kind = IB_HOST_LISTEN;
    if (fd >= 0) {
        close(fd);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    }
    host->listener.fd = fd;
    if (fd < 0 || bind(fd, (struct sockaddr *)&un, sizeof(un)) < 0) {
        *why = g_strdup_printf("%s: %s", path, g_strerror(errno));
        return false;
    }
    host->path = g_strdup(path);
    if (listen(fd, CONNECTIONS_MAX) < 0 ||
        !ib_host_watch(host, &host->listener, EPOLLIN)) {
        *why = g_strdup_printf("%s: %s", path, g_strerror(errno));
        return false;
    }
    return true;
}

void ib_host_accept(IbFabricHost *host)
{
    Connection *c;
    int fd;

    while ((fd = accept(host->listener.fd, NULL, NULL)) >= 0) {
        if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ||
            fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ||
            host->controls->len == CONNECTIONS_MAX) {
            close(fd);
            continue;
        }
        c = g_new0(Connection, 1);
        c->source.kind = IB_HOST_CONTROL;
        c->source.fd = fd;
        c->in = g_string_new(NULL);
        c->out = g_string_new(NULL);
        g_ptr_array_add(host->controls, c);
        ib_host_watch(host, &c->source, EPOLLIN);
    }
}

static void connection_close(IbFabricHost *host, Connection *c)
{
    g_ptr_array_remove_fast(host->controls, c);
    close(c->source.fd);
    g_string_free(c->in, TRUE);
    g_string_free(c->out, TRUE);
    g_free(c);
}

void ib_host_control_close_all(IbFabricHost *host)
{
    while (host->controls->len) {
        connection_close(host, host->controls->pdata[0]);
    }
    g_ptr_array_unref(host->controls);
    if (host->path) {
        unlink(host->path);
        g_free(host->path);
    }
    if (host->listener.fd >= 0) {
        close(host->listener.fd);
    }
}

static char *list_clients(const IbFabricHost *host)
{
    const IbTopology *t = ib_fabric_topology(host->fabric);
    GString *s = g_string_new("{\"clients\": [");
    const char *comma = "";
    unsigned i;

    for (i = 0; i < IB_HOST_CLIENTS; i++) {
        const IbHostClient *c = host->clients[i];

        if (c) {
            g_string_append_printf(s, "%s{\"client\": %u, \"pid\": %u, "
                                   "\"node\": ", comma, i, c->pid);
            ib_fabric_json_string(s, t->nodes[c->node].id);
            g_string_append_printf(s, ", \"port\": %u, \"sm\": %s}", c->port,
                                   c->issm ? "true" : "false");
            comma = ", ";
        }
    }
    g_string_append(s, "]}\n");
    return g_string_free(s, FALSE);
}

/* False: the connection has ended. */
static bool write_out(IbFabricHost *host, Connection *c)
{
    ssize_t sent = 0;

    while (c->out->len) {
        sent = send(c->source.fd, c->out->str, c->out->len, MSG_NOSIGNAL);
        if (sent <= 0) {
            break;
        }
        g_string_erase(c->out, 0, sent);
    }
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        return false;
    }
    /* Nothing is read meanwhile, so that to watch for it would only spin. */
    return ib_host_watch(host, &c->source,
                         c->out->len > 0 ? EPOLLOUT : EPOLLIN);
}

static void command(IbFabricHost *host, Connection *c, const char *line)
{
    g_autofree char *answer = !strcmp(line, "clients")
                              ? list_clients(host)
                              : ib_fabric_command(host->fabric, line);

    g_string_append(c->out, answer);
}

/* Whole lines, as long as nothing waits to be sent. */
static void read_lines(IbFabricHost *host, Connection *c)
{
    const char *end;

    while (!c->out->len && (end = memchr(c->in->str, '\n', c->in->len))) {
        size_t len = end - c->in->str;
        g_autofree char *line = g_strndup(c->in->str, len);

        g_string_erase(c->in, 0, len + 1);
        command(host, c, g_strchomp(line));
    }
}

void ib_host_control_read(IbFabricHost *host, IbHostSource *source)
{
    Connection *c = (Connection *)source;
    char buf[LINE_MAX_BYTES];
    ssize_t got = 1;

    if (!c->out->len) {
        got = recv(source->fd, buf, sizeof(buf), 0);
        if (got > 0) {
            g_string_append_len(c->in, buf, got);
        }
    }
    do {
        read_lines(host, c);
        if ((got < 0 && errno != EAGAIN && errno != EINTR) ||
            !write_out(host, c)) {
            connection_close(host, c);
            return;
        }
    } while (!c->out->len && memchr(c->in->str, '\n', c->in->len));
    if ((got == 0 && !c->out->len) || c->in->len >= 4 * LINE_MAX_BYTES) {
        connection_close(host, c);
    }
}
