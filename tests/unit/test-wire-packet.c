/*
 * Packets: the check of untrusted bytes, opcodes, builders
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hw/infiniband/ib-packet.h"
#include "wire-sample.h"

static IbPacketStatus parse(const uint8_t *p, size_t len)
{
    /* a block of its own, so that a sanitizer sees one byte too far */
    uint8_t *copy = g_malloc(MAX(len, 1));
    IbPacketStatus status;
    IbPacketInfo info;

    memcpy(copy, p, len);
    status = ib_packet_parse(copy, len, &info);
    g_free(copy);
    return status;
}

static void test_parse_sample(void)
{
    const uint8_t *p = sample_packet;
    IbPacketInfo info;

    g_assert_cmpint(ib_packet_parse(p, 56, &info), ==, IB_PACKET_OK);
    g_assert_cmpint(ib_lrh_vl(p), ==, 7);
    g_assert_cmpint(ib_lrh_sl(p), ==, 1);
    g_assert_cmpint(ib_lrh_lnh(p), ==, IB_LNH_BTH);
    g_assert_cmphex(ib_lrh_dlid(p), ==, 0x375c);
    g_assert_cmphex(ib_lrh_slid(p), ==, 0x17d2);
    g_assert_cmpint(ib_lrh_bytes(p), ==, 56);

    g_assert_cmpint(info.grh, ==, 0);
    g_assert_cmpint(info.bth, ==, 8);
    g_assert_cmphex(info.opcode, ==, IB_OP_RC_RDMA_WRITE_ONLY);
    g_assert_cmpint(info.pad, ==, 2);
    g_assert_cmphex(ib_field_get(p + info.bth, IB_BTH_PKEY), ==, 0x2487);
    g_assert_cmphex(ib_field_get(p + info.bth, IB_BTH_DQPN), ==, 0x87b1b3);
    g_assert_cmphex(ib_field_get(p + info.bth, IB_BTH_PSN), ==, 0x0dec2a);
    g_assert_cmpint(ib_field_get(p + info.bth, IB_BTH_A), ==, 0);

    g_assert_cmpint(info.reth, ==, 20);
    g_assert_cmphex(ib_get_be64(p + info.reth + IB_RETH_VA_OFFSET), ==,
                    0x01710a1c015d4002);
    g_assert_cmphex(ib_field_get(p + info.reth, IB_RETH_RKEY), ==, 0x38f27a05);
    g_assert_cmpint(ib_field_get(p + info.reth, IB_RETH_DMALEN), ==, 14);
    g_assert_cmpint(info.payload, ==, 36);
    g_assert_cmpint(info.payload_len, ==, 14);  /* DMALen says so, too */
    g_assert_cmpint(info.icrc, ==, 52);
    g_assert_cmpint(info.deth + info.aeth + info.immdt, ==, 0);
}

static void test_parse_truncated(void)
{
    uint8_t p[56];
    size_t len;

    for (len = 0; len < 8; len++) {
        g_assert_cmpint(parse(sample_packet, len), ==, IB_PACKET_TOO_SHORT);
    }
    for (; len < 56; len++) {
        g_assert_cmpint(parse(sample_packet, len), ==, IB_PACKET_BAD_PKTLEN);
    }
    /* a PktLen that agrees, with ever less room for BTH and RETH */
    memcpy(p, sample_packet, sizeof(p));
    for (len = 0; len < 56; len += 4) {
        IbPacketStatus want = len < 8 ? IB_PACKET_TOO_SHORT :
                              len < 20 ? IB_PACKET_BAD_PKTLEN :
                              len < 44 ? IB_PACKET_TRUNCATED : IB_PACKET_OK;

        ib_field_set(p, IB_LRH_PKTLEN, len / 4);
        g_assert_cmpint(parse(p, len), ==, want);
    }
    ib_field_set(p, IB_LRH_PKTLEN, 40 / 4); /* RETH and ICRC, no pad */
    p[9] &= ~0x30;
    g_assert_cmpint(parse(p, 40), ==, IB_PACKET_OK);
}

static void test_parse_bad_local(void)
{
    uint8_t p[56];

    memcpy(p, sample_packet, sizeof(p));
    p[0] = 0x71;
    g_assert_cmpint(parse(p, 56), ==, IB_PACKET_BAD_LVER);
    p[0] = 0x70;
    p[9] |= 0x01;
    g_assert_cmpint(parse(p, 56), ==, IB_PACKET_BAD_TVER);
    p[9] = 0x20;
    p[8] = 0x18;    /* RC, reserved */
    g_assert_cmpint(parse(p, 56), ==, IB_PACKET_BAD_OPCODE);
    p[8] = 0xc0;    /* manufacturer's */
    g_assert_cmpint(parse(p, 56), ==, IB_PACKET_BAD_OPCODE);
    p[8] = 0x0a;
    g_assert_cmpint(parse(p, 56), ==, IB_PACKET_OK);
}

static size_t build_global_ud(uint8_t *buf, size_t payload_len)
{
    IbPacketRoute route = {
        .vl = 3, .sl = 5, .dlid = 0xc001, .slid = 0x0102, .has_grh = true,
        .tclass = 0xa5, .flow_label = 0x12345, .hop_limit = 64,
    };
    IbPacketBth bth = {
        .opcode = IB_OP_UD_SEND_ONLY_IMM, .se = true, .pkey = 0x8001,
        .dest_qpn = IB_QPN_MULTICAST, .psn = 0xabcdef,
    };
    size_t at, i;

    for (i = 0; i < 16; i++) {
        route.sgid[i] = 0x10 + i;
        route.dgid[i] = 0xf0 + i;
    }
    at = ib_packet_put_ud(buf, &route, &bth, 0x0b1b, 0x04567, 0xfeedface,
                          payload_len);
    for (i = 0; i < payload_len; i++) {
        buf[at + i] = 0x80 + i;
    }
    return ib_packet_seal(buf, true);
}

/* Every byte by hand, from the tables of IBA Vol. 1, 7.7, 8.3, 9.2, 9.3 */
static void test_build_ud(void)
{
    static const uint8_t want[] = {
        0x30, 0x53, 0xc0, 0x01, 0x00, 0x14, 0x01, 0x02,         /* LRH */
        0x6a, 0x51, 0x23, 0x45, 0x00, 0x20, 0x1b, 0x40,         /* GRH */
        0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17,
        0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f,
        0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7,
        0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff,
        0x65, 0xb0, 0x80, 0x01, 0x00, 0xff, 0xff, 0xff,         /* BTH */
        0x00, 0xab, 0xcd, 0xef,
        0x00, 0x00, 0x0b, 0x1b, 0x00, 0x00, 0x45, 0x67,         /* DETH */
        0xfe, 0xed, 0xfa, 0xce,                                 /* ImmDt */
        0x80, 0x00, 0x00, 0x00,                                 /* 1 + pad */
    };
    uint8_t buf[128];
    IbPacketInfo info;
    size_t len;

    memset(buf, 0xcc, sizeof(buf));
    len = build_global_ud(buf, 1);
    g_assert_cmpint(len, ==, sizeof(want) + 4);
    g_assert_cmpint(len, ==,
                    ib_packet_bytes(true, IB_OP_UD_SEND_ONLY_IMM, 1));
    g_assert_cmpmem(buf, sizeof(want), want, sizeof(want));
    g_assert_true(ib_packet_icrc_ok(buf, len));
    g_assert_cmphex(buf[len], ==, 0xcc);

    g_assert_cmpint(ib_packet_parse(buf, len, &info), ==, IB_PACKET_OK);
    g_assert_cmpint(info.grh, ==, 8);
    g_assert_cmpint(info.bth, ==, 48);
    g_assert_cmpint(info.deth, ==, 60);
    g_assert_cmpint(info.immdt, ==, 68);
    g_assert_cmpint(info.payload, ==, 72);
    g_assert_cmpint(info.payload_len, ==, 1);
    g_assert_cmpint(info.pad, ==, 3);

    ib_lrh_set_vl(buf, 9);                  /* as a switch does */
    g_assert_true(ib_packet_icrc_ok(buf, len));
    buf[20] ^= 1;
    g_assert_false(ib_packet_icrc_ok(buf, len));
    g_assert_cmpint(ib_packet_seal(buf, false), ==, len);
    g_assert_cmphex(ib_get_be32(buf + len - 4), ==, 0);
}

static void test_build_lengths(void)
{
    g_autofree uint8_t *buf = g_malloc(4096 + 124);
    IbPacketInfo info;
    size_t len, n;

    for (n = 0; n <= 4096; n += n < 9 ? 1 : 511) {
        len = build_global_ud(buf, n);
        g_assert_cmpint(ib_packet_parse(buf, len, &info), ==, IB_PACKET_OK);
        g_assert_cmpint(info.payload_len, ==, n);
        g_assert_true(ib_packet_icrc_ok(buf, len));
    }
}

static void test_parse_bad_global(void)
{
    uint8_t good[128], p[128];
    size_t len = build_global_ud(good, 16);

    g_assert_cmpint(parse(good, len), ==, IB_PACKET_OK);
    memcpy(p, good, len);
    p[8] = 0x4a;
    g_assert_cmpint(parse(p, len), ==, IB_PACKET_BAD_IPVER);
    memcpy(p, good, len);
    p[13]++;
    g_assert_cmpint(parse(p, len), ==, IB_PACKET_BAD_PAYLEN);
    memcpy(p, good, len);
    p[14] = 17;
    g_assert_cmpint(parse(p, len), ==, IB_PACKET_BAD_NXTHDR);
    memcpy(p, good, len);
    ib_field_set(p, IB_LRH_PKTLEN, 60 / 4); /* GRH and BTH, no ICRC */
    g_assert_cmpint(parse(p, 60), ==, IB_PACKET_TRUNCATED);
}

static void test_parse_raw(void)
{
    uint8_t p[64] = { 0 };
    IbPacketInfo info;

    ib_field_set(p, IB_LRH_PKTLEN, 5);
    g_assert_cmpint(ib_packet_parse(p, 20, &info), ==, IB_PACKET_OK);
    g_assert_cmpint(info.bth + info.grh + info.icrc, ==, 0);
    g_assert_cmpint(info.payload, ==, 12);
    g_assert_cmpint(info.payload_len, ==, 8);
    g_assert_true(ib_packet_icrc_ok(p, 20));

    ib_field_set(p, IB_LRH_LNH, IB_LNH_IPV6);
    g_assert_cmpint(parse(p, 20), ==, IB_PACKET_TRUNCATED);
    ib_field_set(p, IB_LRH_PKTLEN, 13);
    g_assert_cmpint(parse(p, 52), ==, IB_PACKET_BAD_IPVER);
    p[8] = 0x60;
    g_assert_cmpint(ib_packet_parse(p, 52, &info), ==, IB_PACKET_OK);
    g_assert_cmpint(info.grh, ==, 8);
    g_assert_cmpint(info.payload, ==, 48);
    g_assert_cmpint(info.payload_len, ==, 4);
}

/*
 * Bytes between BTH and payload, from the sizes in IBA Vol. 1, table 38 (RC,
 * UC, RD, UD) and annex A14 (XRC); -1: reserved.
 */
static void test_opcode_sizes(void)
{
    static const int rc[32] = {
        0, 0, 0, 4, 0, 4,                   /* SEND */
        16, 0, 0, 4, 16, 20,                /* RDMA WRITE */
        16, 4, 0, 4, 4,                     /* RDMA READ */
        4, 12, 28, 28,                      /* ACK, ATOMIC */
        -1, 4, 4, -1, -1, -1, -1, -1, -1, -1, -1
    };
    static const int rd[32] = {
        12, 12, 12, 16, 12, 16,
        28, 12, 12, 16, 28, 32,
        28, 8, 4, 8, 8,
        8, 16, 40, 40,
        12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1
    };
    unsigned op;

    for (op = 0; op < 256; op++) {
        const IbOpcodeInfo *info = &ib_opcode_info[op];
        unsigned service = op & IB_SERVICE_MASK;
        unsigned kind = op & 0x1f;
        int want = -1;

        switch (service) {
        case IB_SERVICE_RC:
            want = rc[kind];
            break;
        case IB_SERVICE_UC:
            want = kind < IB_OP_RDMA_READ_REQUEST ? rc[kind] : -1;
            break;
        case IB_SERVICE_RD:
            want = rd[kind];
            break;
        case IB_SERVICE_UD:
            want = kind == 4 ? 8 : kind == 5 ? 12 : -1;
            break;
        case IB_SERVICE_CNP:
            want = kind == 0 ? 0 : -1;
            break;
        case IB_SERVICE_MFR:
            want = kind == 0x13 || kind == 0x14 ? 28 + 16 : -1;
            break;
        case IB_SERVICE_XRC:
            want = rc[kind];
            if (want >= 0 && !(info->flags & IB_IS_RESPONSE)) {
                want += 4;
            }
            break;
        }
        if (want < 0) {
            g_assert_null(info->name);
        } else {
            g_assert_nonnull(info->name);
            g_assert_cmpint(info->ext_bytes, ==, want);
        }
    }
}

/* Extended headers lie one behind the other, in the order of the table. */
static void test_opcode_offsets(void)
{
    uint8_t p[128];
    unsigned op;

    for (op = 0; op < 256; op++) {
        IbPacketRoute route = { .dlid = 1, .slid = 2 };
        IbPacketBth bth = { .opcode = op };
        IbPacketInfo info;
        unsigned at = 20;
        size_t len;

        if (!ib_opcode_info[op].name) {
            continue;
        }
        memset(p, 0, sizeof(p));
        ib_packet_put_headers(p, &route, &bth, 5);
        len = ib_packet_seal(p, true);
        g_assert_cmpint(ib_packet_parse(p, len, &info), ==, IB_PACKET_OK);
        if (info.flags & IB_HAS_RDETH) {
            g_assert_cmpint(info.rdeth, ==, at);
            at += 4;
        }
        if (info.flags & IB_HAS_DETH) {
            g_assert_cmpint(info.deth, ==, at);
            at += 8;
        }
        if (info.flags & IB_HAS_XRCETH) {
            g_assert_cmpint(info.xrceth, ==, at);
            at += 4;
        }
        if (info.flags & IB_HAS_RETH) {
            g_assert_cmpint(info.reth, ==, at);
            at += 16;
        }
        if (info.flags & IB_HAS_ATOMICETH) {
            g_assert_cmpint(info.atomiceth, ==, at);
            at += 28;
        }
        if (info.flags & IB_HAS_MASKETH) {
            g_assert_cmpint(info.masketh, ==, at);
            at += 16;
        }
        if (info.flags & IB_HAS_AETH) {
            g_assert_cmpint(info.aeth, ==, at);
            at += 4;
        }
        if (info.flags & IB_HAS_ATOMICACKETH) {
            g_assert_cmpint(info.atomicacketh, ==, at);
            at += 8;
        }
        if (info.flags & IB_HAS_IMMDT) {
            g_assert_cmpint(info.immdt, ==, at);
            at += 4;
        }
        if (info.flags & IB_HAS_IETH) {
            g_assert_cmpint(info.ieth, ==, at);
            at += 4;
        }
        g_assert_cmpint(info.payload, ==, at);
        g_assert_cmpint(info.payload_len, ==, 5);
    }
}

static void test_helpers(void)
{
    g_assert_false(ib_lid_is_unicast(0));
    g_assert_true(ib_lid_is_unicast(0x0001));
    g_assert_true(ib_lid_is_unicast(0xbfff));
    g_assert_false(ib_lid_is_unicast(0xc000));
    g_assert_true(ib_lid_is_multicast(0xc000));
    g_assert_true(ib_lid_is_multicast(0xfffe));
    g_assert_false(ib_lid_is_multicast(IB_LID_PERMISSIVE));

    g_assert_true(ib_pkey_match(0xffff, 0x7fff));
    g_assert_false(ib_pkey_match(0x7fff, 0x7fff));      /* both limited */
    g_assert_false(ib_pkey_match(0x8000, 0x8000));      /* invalid */
    g_assert_false(ib_pkey_match(0x8001, 0x8002));

    g_assert_cmpint(ib_psn_diff(5, 3), ==, 2);
    g_assert_cmpint(ib_psn_diff(3, 5), ==, -2);
    g_assert_cmpint(ib_psn_diff(0, 0xffffff), ==, 1);
    g_assert_cmpint(ib_psn_diff(0xffffff, 0), ==, -1);
    g_assert_cmpint(ib_psn_diff(0x800000, 0), ==, -0x800000);
    g_assert_cmpint(ib_psn_diff(0x7fffff, 0), ==, 0x7fffff);
}

/* Nothing that arrives may be read past its end or found out of place. */
static void test_parse_random(void)
{
    unsigned round;

    for (round = 0; round < 200000; round++) {
        size_t words = g_test_rand_int_range(0, 32);
        g_autofree uint8_t *p = g_malloc(MAX(words, 1) * 4);
        IbPacketInfo info;
        size_t i;

        for (i = 0; i < words * 4; i++) {
            p[i] = g_test_rand_int();
        }
        if (words >= 2) {
            ib_field_set(p, IB_LRH_LVER, 0);
            ib_field_set(p, IB_LRH_PKTLEN, words);
        }
        if (words >= 14 && ib_lrh_lnh(p) == IB_LNH_GRH) {
            ib_field_set(p + 8, IB_GRH_IPVER, 6);
            ib_field_set(p + 8, IB_GRH_NXTHDR, IB_GRH_NXTHDR_IBA);
            ib_field_set(p + 8, IB_GRH_PAYLEN, words * 4 - 48);
        }
        if (ib_packet_parse(p, words * 4, &info) == IB_PACKET_OK) {
            g_assert_cmpint(info.payload + info.payload_len + info.pad +
                            (info.icrc ? 4 : 0), ==, words * 4);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/wire/packet/parse-sample", test_parse_sample);
    g_test_add_func("/wire/packet/parse-truncated", test_parse_truncated);
    g_test_add_func("/wire/packet/parse-bad-local", test_parse_bad_local);
    g_test_add_func("/wire/packet/parse-bad-global", test_parse_bad_global);
    g_test_add_func("/wire/packet/parse-raw", test_parse_raw);
    g_test_add_func("/wire/packet/parse-random", test_parse_random);
    g_test_add_func("/wire/packet/build-ud", test_build_ud);
    g_test_add_func("/wire/packet/build-lengths", test_build_lengths);
    g_test_add_func("/wire/packet/opcode-sizes", test_opcode_sizes);
    g_test_add_func("/wire/packet/opcode-offsets", test_opcode_offsets);
    g_test_add_func("/wire/packet/helpers", test_helpers);
    return g_test_run();
}
