/*
 * A bare relay between two UNIX stream sockets, the peer that a switch is
 * measured against
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 *     relay each|bulk SOCKET_A SOCKET_B
 *
 * Listens on both and carries what A sends to B, as QEMU's stream netdev frames
 * it (be32 length, then the packet).  `each` writes once a packet, as a switch
 * that handles one packet at a time must; `bulk` writes what one read of up to
 * 64 KiB gave, without looking at it: the limit of this machine.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int listen_at(const char *path)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    if (strlen(path) >= sizeof(addr.sun_path)) {
        fprintf(stderr, "relay: %s: too long for a socket\n", path);
        exit(1);
    }
    strcpy(addr.sun_path, path);
    unlink(path);
    if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
        listen(fd, 1) < 0) {
        perror(path);
        exit(1);
    }
    return fd;
}

static void write_all(int fd, const uint8_t *data, size_t len)
{
    while (len) {
        ssize_t n = write(fd, data, len);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            exit(0);                /* the other end is done */
        }
        data += n;
        len -= n;
    }
}

int main(int argc, char **argv)
{
    static uint8_t buf[65536];
    size_t have = 0;
    bool each;
    int listen_a, listen_b, a, b;

    if (argc != 4 || (strcmp(argv[1], "each") && strcmp(argv[1], "bulk"))) {
        fprintf(stderr, "usage: relay each|bulk SOCKET_A SOCKET_B\n");
        return 2;
    }
    each = !strcmp(argv[1], "each");
    listen_a = listen_at(argv[2]);
    listen_b = listen_at(argv[3]);
    a = accept(listen_a, NULL, NULL);
    b = accept(listen_b, NULL, NULL);

    for (;;) {
        ssize_t n = read(a, buf + have, sizeof(buf) - have);
        size_t at = 0;

        if (n <= 0) {
            return 0;
        }
        have += n;
        if (!each) {
            write_all(b, buf, have);
            have = 0;
            continue;
        }
        while (have - at >= 4) {
            size_t len = 4 + ((size_t)buf[at] << 24 | buf[at + 1] << 16 |
                              buf[at + 2] << 8 | buf[at + 3]);

            if (len > sizeof(buf)) {
                fprintf(stderr, "relay: a packet of %zu bytes\n", len);
                return 1;
            }
            if (have - at < len) {
                break;
            }
            write_all(b, buf + at, len);
            at += len;
        }
        memmove(buf, buf + at, have - at);
        have -= at;
    }
}
