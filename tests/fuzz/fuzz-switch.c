/*
 * Fuzzer: frames and packets into the ports of a configured switch
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The input is a list of steps, each a byte of kind and port, two bytes of
 * length and as many bytes: a frame on the cable as it is, a packet that a
 * host sends (so that it passes the link), a MAD to port 0, or errors to be
 * injected.  The first byte may pace the ports.
 */
#include "../unit/ib-fabric.h"

enum {
    STEP_FRAME,
    STEP_PACKET,
    STEP_VL15_PACKET,
    STEP_SMP,
    STEP_GMP,
    STEP_TIME,
    STEP_SAVE_LOAD,
    STEP_INJECT,
    STEP_KINDS
};

static void send_packet(FabricHost *host, const uint8_t *data, size_t len,
                        uint8_t vl)
{
    uint8_t packet[FABRIC_PACKET_MAX] = { 0 };

    len = CLAMP(len, IB_PKTLEN_MIN_BYTES, 4096) & ~3;
    memcpy(packet, data, len);
    ib_field_set(packet, IB_LRH_PKTLEN, len / 4);
    ib_field_set(packet, IB_LRH_LVER, 0);
    fabric_send_bytes(host, packet, len, vl);
}

static void send_mad(FabricHost *host, const uint8_t *data, size_t len,
                     bool smp)
{
    uint8_t mad[256] = { 0 };
    FabricUd ud = {
        .slid = 1,
        .dlid = FABRIC_SWITCH_LID,
        .vl = smp ? 15 : 0,
        .dest_qpn = smp ? 0 : 1,
        .src_qpn = smp ? 0 : 1,
        .qkey = smp ? 0 : IB_QKEY_WELL_KNOWN,
        .payload = mad,
        .payload_len = 256,
    };

    memcpy(mad, data, MIN(len, sizeof(mad)));
    ib_field_set(mad, IB_MAD_BASE_VERSION, 1);
    ib_field_set(mad, IB_MAD_CLASS_VERSION, 1);
    fabric_send(host, &ud);
}

static void save_load(FabricStar *s)
{
    GByteArray *bytes = g_byte_array_new();

    ib_switch_save(s->sw->sw, bytes);
    g_assert_true(fabric_replace_switch(s->sw, bytes->data, bytes->len));
    g_byte_array_unref(bytes);
}

/* One of the first bytes for each number */
static void inject(IbLink *link, const uint8_t *data, size_t len)
{
    uint8_t byte[8] = { 0 };
    IbLinkInject what = { .vls = 0xffff };

    memcpy(byte, data, MIN(len, sizeof(byte)));
    what.drop = byte[0] << 8;
    what.corrupt = byte[1] << 12;
    what.delay = byte[2] << 12;
    what.duplicate = byte[3] << 12;
    what.delay_us = byte[4] << 8;
    what.seed = byte[5];
    ib_link_set_inject(link, &what);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FabricStar s;
    Fabric *f = fabric_new();
    IbSwitchConfig config = fabric_switch_config(f, 4);

    fabric_free(f);
    if (size) {
        config.link.rate = data[0] & 1 ? 1000000u << data[0] / 2 % 12 : 0;
        config.enhanced_port0 = data[0] & 0x80;
        data++;
        size--;
    }
    fabric_star_init(&s, 3, &config);
    fabric_set_switch_info(s.host[0], &s.route, 63, 3, 2, 0);
    fabric_set_mft(s.host[0], &s.route, 0xc001, 0xf);
    while (size > 3) {
        unsigned kind = data[0] % STEP_KINDS;
        unsigned port = data[0] / STEP_KINDS % 3;
        size_t len = MIN((size_t)(data[1] << 8 | data[2]), size - 3);
        const uint8_t *bytes = data + 3;

        switch (kind) {
        case STEP_FRAME:
            ib_link_receive_frame(s.sw->ends[port + 1].link, bytes, len);
            break;
        case STEP_PACKET:
            if (len) {
                uint8_t copy[FABRIC_PACKET_MAX] = { 0 };

                memcpy(copy, bytes, MIN(len, 4096));
                send_packet(s.host[port], copy, len, copy[0] >> 4 & 3);
            }
            break;
        case STEP_VL15_PACKET:
            if (len) {
                uint8_t copy[FABRIC_PACKET_MAX] = { 0 };

                memcpy(copy, bytes, MIN(len, 292));
                send_packet(s.host[port], copy, MIN(len, 292), 15);
            }
            break;
        case STEP_SMP:
        case STEP_GMP:
            send_mad(s.host[port], bytes, len, kind == STEP_SMP);
            break;
        case STEP_TIME:
            fabric_run(s.fabric, len * FABRIC_MS);
            break;
        case STEP_SAVE_LOAD:
            save_load(&s);
            break;
        case STEP_INJECT:
            inject(s.sw->ends[port + 1].link, bytes, len);
            break;
        }
        fabric_settle(s.fabric);
        data += 3 + len;
        size -= 3 + len;
    }
    fabric_run(s.fabric, FABRIC_MS);
    fabric_star_clear(&s);
    return 0;
}
