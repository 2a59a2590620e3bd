/*
 * Speed of one link: packets from a sender's memory into frames, and from
 * frames to a receiver, without a cable's cost in between
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <inttypes.h>
#include <stdio.h>
#include "hw/infiniband/ib-link.h"
#include "hw/infiniband/ib-packet.h"
#include "hw/infiniband/ib-sm-attr.h"

typedef struct End {
    IbLink *link;
    struct End *peer;
    uint64_t packets;
} End;

static int64_t clock_ns;

static int64_t now(void *opaque)
{
    return clock_ns;
}

static uint32_t random32(void *opaque)
{
    return g_random_int();
}

static void set_timer(void *opaque, int64_t deadline)
{
}

static IbCableResult send_frame(void *opaque, const uint8_t *frame, size_t len)
{
    End *end = opaque;

    ib_link_receive_frame(end->peer->link, frame, len);
    return IB_CABLE_READY;
}

static void receive(void *opaque, IbPacket *packet)
{
    End *end = opaque;

    end->packets++;
}

static const IbLinkOps ops = {
    .now = now, .random = random32, .set_timer = set_timer,
    .send_frame = send_frame, .receive = receive,
};

static void run(uint16_t len, bool crc, const char *name)
{
    IbLinkConfig config = {
        .vl_cap = 4, .mtu_cap = IB_MTU_4096, .width_supported = 3,
        .speed_supported = 7, .rx_buffer = 128 * 1024, .vl15_packets = 16,
        .max_frame = 65536, .crc = crc, .keepalive_ms = 1000,
        .timeout_ms = 3000, .port_num = 1,
    };
    uint8_t data[IB_LINK_PACKET_MAX] = { 0 };
    IbPacket packet = { .data = data, .len = len };
    End end[2] = { { 0 } };
    int64_t start;
    uint64_t n = 0;
    double seconds;
    int i;

    for (i = 0; i < 2; i++) {
        end[i].peer = &end[!i];
        end[i].link = ib_link_new(&config, &ops, &end[i]);
    }
    ib_link_cable_attach(end[0].link);
    ib_link_cable_attach(end[1].link);
    for (i = 0; i < 4; i++) {
        clock_ns += 60 * 1000000;
        ib_link_timer(end[i % 2].link);
    }
    for (i = IB_PORT_ARMED; i <= IB_PORT_ACTIVE; i++) {
        ib_link_set_state(end[0].link, i);
        ib_link_set_state(end[1].link, i);
    }
    ib_field_set(data, IB_LRH_LNH, IB_LNH_BTH);
    ib_field_set(data, IB_LRH_DLID, 5);
    ib_field_set(data, IB_LRH_PKTLEN, len / 4);

    start = g_get_monotonic_time();
    do {
        for (i = 0; i < 10000; i++) {
            ib_link_transmit(end[0].link, &packet, 0);
        }
        n += i;
        ib_link_flush(end[0].link);
        seconds = (g_get_monotonic_time() - start) / 1e6;
    } while (seconds < 1);
    if (end[1].packets != n) {
        fprintf(stderr, "%s: %" PRIu64 " of %" PRIu64 " packets arrived\n",
                name, end[1].packets, n);
    }
    printf("%s\t%.0f\tpackets/s\n", name, n / seconds);
    printf("%s-bytes\t%.0f\tMB/s\n", name, n / seconds * len / 1e6);
    ib_link_free(end[0].link);
    ib_link_free(end[1].link);
}

int main(void)
{
    run(256, false, "link-256");
    run(4096, false, "link-4096");
    run(256, true, "link-256-crc");
    run(4096, true, "link-4096-crc");
    return 0;
}
