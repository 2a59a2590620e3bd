/*
 * Fuzzer of a link: the peer, the cable and the owner do anything at all
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is a list of commands.  Frames may be any bytes; a fuzzer that
 * had to guess session numbers would never get past the door, so some
 * commands fill in a header that fits.
 */
#include "hw/infiniband/ib-link.h"
#include "hw/infiniband/ib-packet.h"
#include "hw/infiniband/ib-sm-attr.h"
#include "hw/infiniband/ib-state.h"

#define HEADERS     34
#define HOLD_MAX    64

typedef struct Fuzz {
    const uint8_t *at, *end;
    IbLink *link;
    int64_t now, deadline;
    uint32_t session;           /* of the link, as its frames tell */
    uint32_t seq;               /* of the peer: session 1 */
    bool busy, told_busy, gone;
    bool hold;                  /* what arrives */
    unsigned n_held, n_sent;
    IbPacket held[HOLD_MAX];
} Fuzz;

static uint8_t get8(Fuzz *f)
{
    return f->at < f->end ? *f->at++ : 0;
}

static uint16_t get16(Fuzz *f)
{
    uint16_t hi = get8(f);

    return hi << 8 | get8(f);
}

static int64_t fuzz_now(void *opaque)
{
    return ((Fuzz *)opaque)->now;
}

static uint32_t fuzz_random(void *opaque)
{
    Fuzz *f = opaque;

    return f->seq * 2654435761u + f->now;
}

static void fuzz_set_timer(void *opaque, int64_t deadline)
{
    ((Fuzz *)opaque)->deadline = deadline;
}

static IbCableResult fuzz_send_frame(void *opaque, const uint8_t *frame,
                                     size_t len)
{
    Fuzz *f = opaque;

    g_assert(!f->told_busy && len >= HEADERS && len <= 65536);
    g_assert(ib_get_be16(frame + 16) == len - HEADERS);
    f->session = ib_get_be32(frame + 22);
    f->n_sent++;
    if (f->gone) {
        return IB_CABLE_GONE;
    }
    if (f->busy) {
        f->told_busy = true;
        return IB_CABLE_BUSY;
    }
    return IB_CABLE_READY;
}

static void fuzz_receive(void *opaque, IbPacket *packet)
{
    Fuzz *f = opaque;

    g_assert(packet->len == ib_lrh_bytes(packet->data));
    g_assert(packet->len <= IB_LINK_PACKET_MAX);
    g_assert(packet->vl == ib_lrh_vl(packet->data));
    if (f->hold && f->n_held < HOLD_MAX) {
        ib_packet_hold(packet);
        f->held[f->n_held++] = *packet;
    } else if (ib_lrh_sl(packet->data) & 1) {
        /* As a switch would, out of the port it came in by */
        ib_link_transmit(f->link, packet, packet->vl);
        ib_link_transmit(f->link, packet, ib_lrh_sl(packet->data));
    }
    if (ib_lrh_dlid(packet->data) == 0xdead) {
        ib_link_set_state(f->link, IB_PORT_DOWN);
    }
}

static void fuzz_receive_end(void *opaque)
{
    ib_link_flush(((Fuzz *)opaque)->link);
}

static void fuzz_tx_ready(void *opaque, uint16_t vls)
{
    Fuzz *f = opaque;
    unsigned vl = __builtin_ctz(vls);
    uint8_t *p = ib_link_tx_begin(f->link, vl, 64);

    if (p) {
        memset(p, 0, 64);
        ib_field_set(p, IB_LRH_PKTLEN, 16);
        ib_link_tx_end(f->link, 0);
    }
}

static void fuzz_state_changed(void *opaque, uint8_t old_state,
                               uint8_t new_state)
{
    Fuzz *f = opaque;

    if (f->now & 1) {
        ib_link_set_state(f->link, IB_PORT_ARMED);
    }
}

static void fuzz_see(void *opaque, const char *event, const uint8_t *packet,
                     size_t len)
{
    size_t i;
    uint8_t sum = 0;

    for (i = 0; packet && i < len; i++) {
        sum += packet[i];
    }
    /* volatile: so that the sum, and with it the reading, is not left out */
    *(volatile uint8_t *)&sum = sum;
}

static void fuzz_tap(void *opaque, bool tx, const uint8_t *packet, size_t len,
                     uint16_t vcrc)
{
    fuzz_see(opaque, NULL, packet, len);
}

static void fuzz_error(void *opaque, IbLinkError error);

static const IbLinkOps ops = {
    .now = fuzz_now,
    .random = fuzz_random,
    .set_timer = fuzz_set_timer,
    .send_frame = fuzz_send_frame,
    .receive = fuzz_receive,
    .receive_end = fuzz_receive_end,
    .tx_ready = fuzz_tx_ready,
    .state_changed = fuzz_state_changed,
    .error = fuzz_error,
    .tap = fuzz_tap,
    .trace = fuzz_see,
};

/* @len bytes of input as a frame; with @headers before them. */
static void fuzz_frame(Fuzz *f, size_t len, bool headers, unsigned records)
{
    size_t at = headers ? HEADERS : 0;
    uint8_t *frame;

    len = MIN(len, (size_t)(f->end - f->at));
    frame = g_malloc0(at + len + 1);
    if (len) {
        memcpy(frame + at, f->at, len);
    }
    f->at += len;
    if (headers) {
        ib_put_be16(frame + 12, 0x88b5);
        frame[14] = 1;
        frame[15] = 20;
        ib_put_be16(frame + 16, len);
        ib_put_be16(frame + 18, records);
        ib_put_be32(frame + 22, 1);
        ib_put_be32(frame + 26, f->session);
        ib_put_be32(frame + 30, f->seq++);
    }
    ib_link_receive_frame(f->link, frame, at + len);
    g_free(frame);
}

/* The peer's part of training */
static void fuzz_train(Fuzz *f, uint8_t kind)
{
    const uint8_t ts[28] = {
        0, 24, 3, 0, kind, 0, 1, 0, 3, 3, 0, 0, 0, 7, 0, 7, 0, 1, 0, 0,
    };
    Fuzz g = *f;

    g.at = ts;
    g.end = ts + sizeof(ts);
    fuzz_frame(&g, sizeof(ts), true, 1);
    f->seq = g.seq;
    f->now += 1;
}

static void fuzz_send(Fuzz *f, unsigned vl, uint16_t len)
{
    uint8_t buf[8192] = { 0 };
    IbPacket packet = { .data = buf, .len = len % sizeof(buf) };

    ib_field_set(buf, IB_LRH_PKTLEN, packet.len / 4);
    ib_field_set(buf, IB_LRH_LNH, len >> 13);
    packet.flags = len & 3;
    ib_link_transmit(f->link, &packet, vl);
}

static void fuzz_state(Fuzz *f, bool from_input)
{
    GByteArray *bytes = g_byte_array_new();
    IbStateWriter w;
    IbStateReader r;
    unsigned n = get8(f) % 8;

    ib_state_writer_init(&w, bytes);
    ib_link_save(f->link, &w);
    while (from_input && n--) {
        bytes->data[get16(f) % bytes->len] = get8(f);
    }
    ib_state_reader_init(&r, bytes->data, bytes->len);
    if (!ib_link_load(f->link, &r) && !from_input) {
        g_assert_not_reached();
    }
    g_byte_array_unref(bytes);
}

/* Shares are of a million: 16 bits times 16 are above it now and then. */
static void fuzz_inject(Fuzz *f)
{
    IbLinkInject what = { 0 };
    uint8_t x = get8(f);

    what.drop = x & 1 ? get16(f) * 16 : 0;
    what.corrupt = x & 2 ? get16(f) * 16 : 0;
    what.delay = x & 4 ? get16(f) * 16 : 0;
    what.duplicate = x & 8 ? get16(f) * 16 : 0;
    what.delay_us = get16(f);
    what.vls = get16(f);
    what.seed = x >> 4;
    ib_link_set_inject(f->link, &what);
    ib_link_set_error_thresholds(f->link, x >> 4, x);
}

static void fuzz_error(void *opaque, IbLinkError error)
{
    Fuzz *f = opaque;

    /* As a switch that sends a trap through this very port */
    fuzz_send(f, IB_VL_MGMT, 288);
    ib_link_flush(f->link);
}

static void fuzz_command(Fuzz *f)
{
    uint8_t x;

    switch (get8(f) % 21) {
    case 0:
        fuzz_frame(f, get16(f), false, 0);
        break;
    case 1:
    case 2:
        x = get8(f);
        fuzz_frame(f, get16(f) & 0xfff, true, x);
        break;
    case 3:
        fuzz_train(f, 1 + get8(f) % 2);
        break;
    case 4:
        f->now += (int64_t)get16(f) * 100000;
        if (f->now >= f->deadline) {
            ib_link_timer(f->link);
        }
        break;
    case 5:
        ib_link_set_state(f->link, get8(f));
        break;
    case 6:
        ib_link_set_phys_state(f->link, get8(f));
        break;
    case 7:
        ib_link_set_enabled(f->link, get8(f) & 1);
        break;
    case 8:
        ib_link_set_operational_vls(f->link, get8(f));
        ib_link_set_neighbor_mtu(f->link, get8(f));
        break;
    case 9:
        x = get8(f);
        fuzz_send(f, x & 31, get16(f));
        break;
    case 10:
        x = get8(f) & 15;
        if (ib_link_tx_begin(f->link, x, get8(f) * 4)) {
            ib_link_tx_cancel(f->link);
        }
        break;
    case 11:
        ib_link_flush(f->link);
        break;
    case 12:
        f->busy = get8(f) & 1;
        break;
    case 13:
        f->told_busy = false;
        ib_link_cable_ready(f->link);
        break;
    case 14:
        x = get8(f);
        if (x & 1) {
            f->told_busy = false;       /* the next one is another cable */
            ib_link_cable_detach(f->link);
        }
        if (x & 2) {
            ib_link_cable_attach(f->link);
        }
        break;
    case 15:
        f->hold = get8(f) & 1;
        while (!f->hold && f->n_held) {
            ib_packet_release(&f->held[--f->n_held]);
        }
        break;
    case 16: {
        IbVlArbEntry table[64] = { { 0, 0 } };
        int i;

        for (i = 0; i < 4; i++) {
            table[i * 16].vl = get8(f);
            table[i * 16].weight = get8(f);
        }
        ib_link_set_vl_arb(f->link, get8(f) & 1, table);
        ib_link_set_vl_high_limit(f->link, get8(f));
        break;
    }
    case 17:
        fuzz_state(f, get8(f) & 1);
        break;
    case 18:
        x = get8(f);
        f->gone = x & 1;
        ib_link_set_tap(f->link, x & 2);
        ib_link_set_trace(f->link, x & 4);
        ib_link_set_down_default(f->link, x >> 4);
        break;
    case 19:
        ib_link_reset(f->link, get8(f) & 1);
        break;
    case 20:
        fuzz_inject(f);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t vls[] = { 1, 2, 4, 8, 15 };
    IbLinkConfig config = {
        .width_supported = 3, .speed_supported = 7, .vl15_packets = 2,
        .keepalive_ms = 100, .timeout_ms = 350,
    };
    Fuzz f = { .at = data, .end = data + size, .now = 1000,
               .deadline = INT64_MAX };
    uint8_t x = get8(&f);
    unsigned vl;

    config.vl_cap = vls[x % 5];
    config.mtu_cap = IB_MTU_256 + x / 5 % 5;
    config.rx_buffer = 4352 + (x & 0x40) * 64;
    config.max_frame = x & 0x80 ? 65536 : 5000;
    config.crc = x & 1;
    x = get8(&f);
    config.rate = x & 2 ? 100000u << x / 4 % 16 : 0;
    config.switch_port = x & 0x40;
    f.link = ib_link_new(&config, &ops, &f);
    ib_link_cable_attach(f.link);
    if (x & 1) {
        /* Most inputs want to start with a link that is up. */
        fuzz_train(&f, 1);
        fuzz_train(&f, 2);
        ib_link_set_state(f.link, IB_PORT_ARMED);
        ib_link_set_state(f.link, IB_PORT_ACTIVE);
    }
    while (f.at < f.end) {
        fuzz_command(&f);
    }

    while (f.n_held) {
        ib_packet_release(&f.held[--f.n_held]);
    }
    for (vl = 0; vl < IB_VLS; vl++) {
        ib_link_set_state(f.link, IB_PORT_DOWN);
        g_assert(ib_link_rx_occupancy(f.link, vl) == 0);
        g_assert(ib_link_tx_queued(f.link, vl) == 0);
    }
    ib_link_free(f.link);
    return 0;
}
