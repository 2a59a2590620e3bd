/*
 * Packets through whatever joins two UNIX stream sockets, as QEMU's stream
 * netdev frames them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 *     bench-cable raw|ib SOCKET_A SOCKET_B BYTES SECONDS
 *
 * Sends packets of BYTES from A to B for SECONDS and prints packets/s and MB/s
 * as seen at B.  `raw`: one packet a frame, for relays and hubs.  `ib`: both
 * ends are IbLinks of our own in ports 1 and 2 of a switch, which this program
 * brings up first as a subnet manager would.
 */
#include "hw/infiniband/ib-link.h"
#include "hw/infiniband/ib-mad.h"
#include "hw/infiniband/ib-packet.h"
#include "hw/infiniband/ib-sm-attr.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CHUNK 65536

typedef struct End {
    int fd;
    IbLink *link;
    int64_t deadline;
    uint8_t out[4 + CHUNK];
    size_t out_at, out_len;
    uint8_t in[2 * CHUNK];
    size_t in_len;
    uint64_t packets;
    bool got_mad;
    uint8_t mad[IB_MAD_BYTES];
} End;

static G_NORETURN void die(const char *what)
{
    fprintf(stderr, "bench-cable: %s\n", what);
    exit(1);
}

static int64_t clock_ns(void)
{
    return g_get_monotonic_time() * 1000;
}

static void end_connect(End *end, const char *path)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    int tries;

    g_strlcpy(addr.sun_path, path, sizeof(addr.sun_path));
    for (tries = 0; tries < 500; tries++) {
        end->fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connect(end->fd, (struct sockaddr *)&addr, sizeof(addr)) == 0) {
            fcntl(end->fd, F_SETFL, O_NONBLOCK);
            return;
        }
        close(end->fd);
        g_usleep(20000);
    }
    die(path);
}

/* Write what is pending; true when nothing is left. */
static bool end_drain(End *end)
{
    while (end->out_at < end->out_len) {
        ssize_t n = write(end->fd, end->out + end->out_at,
                          end->out_len - end->out_at);

        if (n < 0) {
            if (errno == EAGAIN || errno == EINTR) {
                return false;
            }
            die(strerror(errno));
        }
        end->out_at += n;
    }
    end->out_at = end->out_len = 0;
    return true;
}

/* Read once; hand each whole frame to @frame.  False when nothing was there. */
static bool end_read(End *end, void (*frame)(End *end, const uint8_t *data,
                                             size_t len))
{
    ssize_t n = read(end->fd, end->in + end->in_len, CHUNK);
    size_t at = 0;

    if (n == 0) {
        die("the other side closed");
    }
    if (n < 0) {
        if (errno == EAGAIN || errno == EINTR) {
            return false;
        }
        die(strerror(errno));
    }
    end->in_len += n;
    while (end->in_len - at >= 4) {
        size_t len = ib_get_be32(end->in + at);

        if (len > CHUNK) {
            die("a frame is too long");
        }
        if (end->in_len - at < 4 + len) {
            break;
        }
        frame(end, end->in + at + 4, len);
        at += 4 + len;
    }
    end->in_len -= at;
    memmove(end->in, end->in + at, end->in_len);
    return true;
}

static void wait_ends(End *a, End *b)
{
    struct pollfd fds[2] = {
        { .fd = a->fd, .events = POLLIN | (a->out_len ? POLLOUT : 0) },
        { .fd = b->fd, .events = POLLIN | (b->out_len ? POLLOUT : 0) },
    };

    poll(fds, 2, 5);
}

static void report(uint64_t packets, size_t bytes, int64_t ns)
{
    double s = ns / 1e9;

    printf("%.0f\t%.1f\n", packets / s, packets * bytes / s / 1e6);
}

/* ---------------------------------------------------------------- raw */

static void raw_frame(End *end, const uint8_t *data, size_t len)
{
    end->packets++;
}

static void run_raw(End *a, End *b, size_t bytes, double seconds)
{
    int64_t start = clock_ns();
    int64_t stop = start + (int64_t)(seconds * 1e9);

    while (clock_ns() < stop) {
        bool idle = true;

        if (!a->out_len) {
            while (a->out_len + 4 + bytes <= sizeof(a->out)) {
                ib_put_be32(a->out + a->out_len, bytes);
                a->out_len += 4 + bytes;
            }
            idle = false;
        }
        end_drain(a);
        idle &= !end_read(b, raw_frame);
        if (idle) {
            wait_ends(a, b);
        }
    }
    report(b->packets, bytes, clock_ns() - start);
}

/* ----------------------------------------------------------------- ib */

static int64_t op_now(void *opaque)
{
    return clock_ns();
}

static uint32_t op_random(void *opaque)
{
    return g_random_int();
}

static void op_set_timer(void *opaque, int64_t deadline)
{
    ((End *)opaque)->deadline = deadline;
}

static IbCableResult op_send_frame(void *opaque, const uint8_t *frame,
                                   size_t len)
{
    End *end = opaque;

    ib_put_be32(end->out, len);
    memcpy(end->out + 4, frame, len);
    end->out_len = 4 + len;
    return end_drain(end) ? IB_CABLE_READY : IB_CABLE_BUSY;
}

static void op_receive(void *opaque, IbPacket *packet)
{
    End *end = opaque;

    if (packet->vl != IB_VL_MGMT) {
        end->packets++;
    } else if (packet->len >= IB_MAD_BYTES + 28) {
        memcpy(end->mad, packet->data + 28, IB_MAD_BYTES);
        end->got_mad = true;
    }
}

static void op_receive_end(void *opaque)
{
}

static const IbLinkOps link_ops = {
    .now = op_now,
    .random = op_random,
    .set_timer = op_set_timer,
    .send_frame = op_send_frame,
    .receive = op_receive,
    .receive_end = op_receive_end,
};

static void ib_frame(End *end, const uint8_t *data, size_t len)
{
    ib_link_receive_frame(end->link, data, len);
}

/* One turn for an end: true if it did anything. */
static bool end_turn(End *end)
{
    bool busy = false;

    if (end->out_len && end_drain(end)) {
        ib_link_cable_ready(end->link);
        busy = true;
    }
    busy |= end_read(end, ib_frame);
    if (clock_ns() >= end->deadline) {
        end->deadline = INT64_MAX;
        ib_link_timer(end->link);
    }
    return busy;
}

static void turn(End *a, End *b)
{
    bool busy = end_turn(a);

    busy |= end_turn(b);
    if (!busy) {
        wait_ends(a, b);
    }
}

static void link_start(End *end)
{
    static const IbLinkConfig config = {
        .vl_cap = 8, .mtu_cap = 5, .width_supported = 3,
        .speed_supported = 7, .rx_buffer = 256 * 1024, .vl15_packets = 16,
        .max_frame = 65536, .keepalive_ms = 200, .timeout_ms = 5000,
    };

    end->deadline = INT64_MAX;
    end->link = ib_link_new(&config, &link_ops, end);
    ib_link_set_enabled(end->link, true);
    ib_link_cable_attach(end->link);
}

/* A directed-route SMP of one hop to the switch; its answer replaces @data. */
static void smp(End *a, End *b, uint8_t method, uint16_t attribute,
                uint32_t modifier, uint8_t *data)
{
    static uint64_t tid;
    uint8_t packet[288];
    IbPacketRoute route = {
        .vl = IB_VL_MGMT, .dlid = IB_LID_PERMISSIVE, .slid = IB_LID_PERMISSIVE,
    };
    IbPacketBth bth = { .opcode = IB_OP_UD_SEND_ONLY, .pkey = 0xffff };
    size_t at = ib_packet_put_ud(packet, &route, &bth, 0, 0, 0, IB_MAD_BYTES);
    uint8_t *mad = packet + at;
    uint8_t *room;
    int64_t stop = clock_ns() + 5000000000LL;

    memset(mad, 0, IB_MAD_BYTES);
    ib_field_set(mad, IB_MAD_BASE_VERSION, 1);
    ib_field_set(mad, IB_MAD_MGMT_CLASS, IB_CLASS_SUBN_DIRECTED_ROUTE);
    ib_field_set(mad, IB_MAD_CLASS_VERSION, 1);
    ib_field_set(mad, IB_MAD_METHOD, method);
    ib_put_be64(mad + IB_MAD_TRANSACTION_ID_OFFSET, ++tid);
    ib_field_set(mad, IB_MAD_ATTRIBUTE_ID, attribute);
    ib_field_set(mad, IB_MAD_ATTRIBUTE_MODIFIER, modifier);
    /* As the requester's own SMI leaves it: one hop, already through. */
    ib_field_set(mad, IB_SMP_HOP_COUNT, 1);
    ib_field_set(mad, IB_SMP_HOP_POINTER, 1);
    ib_field_set(mad, IB_SMP_DR_SLID, IB_LID_PERMISSIVE);
    ib_field_set(mad, IB_SMP_DR_DLID, IB_LID_PERMISSIVE);
    mad[IB_SMP_INITIAL_PATH_OFFSET + 1] = 1;
    memcpy(mad + IB_SMP_DATA_OFFSET, data, IB_SMP_DATA_BYTES);
    ib_packet_seal(packet, false);

    a->got_mad = false;
    room = ib_link_tx_begin(a->link, IB_VL_MGMT, sizeof(packet));
    if (!room) {
        die("no room for an SMP");
    }
    memcpy(room, packet, sizeof(packet));
    ib_link_tx_end(a->link, IB_PACKET_NO_ICRC);
    ib_link_flush(a->link);
    while (!a->got_mad && clock_ns() < stop) {
        turn(a, b);
    }
    if (!a->got_mad) {
        die("an SMP was not answered");
    }
    if (ib_field_get(a->mad, IB_SMP_STATUS)) {
        die("an SMP was refused");
    }
    memcpy(data, a->mad + IB_SMP_DATA_OFFSET, IB_SMP_DATA_BYTES);
}

static void bring_up(End *a, End *b)
{
    int64_t stop = clock_ns() + 20000000000LL;
    uint8_t data[IB_SMP_DATA_BYTES] = { 0 };
    uint8_t state;
    int port;

    while (ib_link_state(a->link) != IB_PORT_INIT ||
           ib_link_state(b->link) != IB_PORT_INIT) {
        turn(a, b);
        if (clock_ns() > stop) {
            die("the links did not train");
        }
    }
    smp(a, b, IB_METHOD_GET, IB_SM_ATTR_SWITCH_INFO, 0, data);
    ib_field_set(data, IB_SWITCHINFO_LINEAR_FDB_TOP, 2);
    smp(a, b, IB_METHOD_SET, IB_SM_ATTR_SWITCH_INFO, 0, data);
    memset(data, 0xff, sizeof(data));
    data[1] = 1;
    data[2] = 2;
    smp(a, b, IB_METHOD_SET, IB_SM_ATTR_LFT, 0, data);
    for (port = 1; port <= 2; port++) {
        for (state = IB_PORT_ARMED; state <= IB_PORT_ACTIVE; state++) {
            memset(data, 0, sizeof(data));
            smp(a, b, IB_METHOD_GET, IB_SM_ATTR_PORT_INFO, port, data);
            ib_field_set(data, IB_PORTINFO_NEIGHBOR_MTU, 5);
            ib_field_set(data, IB_PORTINFO_PORT_STATE, state);
            ib_field_set(data, IB_PORTINFO_PORT_PHYSICAL_STATE, 0);
            smp(a, b, IB_METHOD_SET, IB_SM_ATTR_PORT_INFO, port, data);
        }
    }
    for (port = 1; port <= 2; port++) {
        IbLink *link = port == 1 ? a->link : b->link;

        if (!ib_link_set_neighbor_mtu(link, 5) ||
            !ib_link_set_state(link, IB_PORT_ARMED) ||
            !ib_link_set_state(link, IB_PORT_ACTIVE)) {
            die("own port cannot be made Active");
        }
    }
}

static void run_ib(End *a, End *b, size_t bytes, double seconds)
{
    IbPacketRoute route = { .vl = 0, .dlid = 2, .slid = 1 };
    IbPacketBth bth = {
        .opcode = IB_OP_UD_SEND_ONLY, .pkey = 0xffff, .dest_qpn = 0x100,
    };
    size_t headers = ib_packet_bytes(false, IB_OP_UD_SEND_ONLY, 0);
    g_autofree uint8_t *packet = g_malloc0(bytes);
    int64_t start, stop;

    if (bytes < headers || bytes % 4) {
        die("BYTES must be a multiple of 4, with room for the headers");
    }
    link_start(a);
    link_start(b);
    bring_up(a, b);
    ib_packet_put_ud(packet, &route, &bth, 1, 0x100, 0, bytes - headers);
    ib_packet_seal(packet, false);

    b->packets = 0;
    start = clock_ns();
    stop = start + (int64_t)(seconds * 1e9);
    while (clock_ns() < stop) {
        uint8_t *room;

        while ((room = ib_link_tx_begin(a->link, 0, bytes))) {
            memcpy(room, packet, bytes);
            ib_link_tx_end(a->link, IB_PACKET_NO_ICRC);
        }
        ib_link_flush(a->link);
        turn(a, b);
    }
    report(b->packets, bytes, clock_ns() - start);
    if (ib_link_counters(b->link)->symbol_errors ||
        ib_link_counters(b->link)->rcv_errors) {
        die("packets were lost");
    }
    ib_link_free(a->link);
    ib_link_free(b->link);
}

int main(int argc, char **argv)
{
    static End a, b;
    size_t bytes;
    double seconds;

    if (argc != 6) {
        fprintf(stderr, "usage: bench-cable raw|ib SOCKET_A SOCKET_B BYTES "
                "SECONDS\n");
        return 2;
    }
    bytes = strtoul(argv[4], NULL, 10);
    seconds = g_ascii_strtod(argv[5], NULL);
    end_connect(&a, argv[2]);
    end_connect(&b, argv[3]);
    if (!strcmp(argv[1], "raw")) {
        run_raw(&a, &b, bytes, seconds);
    } else {
        run_ib(&a, &b, bytes, seconds);
    }
    return 0;
}
