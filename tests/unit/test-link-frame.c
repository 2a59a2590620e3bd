/*
 * Frames that a link gets and that are not as they should be, field by field
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Offsets are those of docs/specs/ib-link.rst: Ethernet header 14 bytes,
 * link header 20, then records.
 */
#include "link-cable.h"

enum {
    ETHERTYPE = 12, VERSION = 14, HEADER_LENGTH = 15, LENGTH = 16,
    RECORDS = 18, SESSION = 22, PEER_SESSION = 26, SEQUENCE = 30,
    BODY = 34,
};

enum { PACKET = 1, CREDIT = 2, TRAINING = 3, KEEPALIVE = 4, GOING_DOWN = 5 };

/* The last frame that B got from A, to be spoilt and sent again. */
static uint8_t seen[65536];
static size_t seen_len;

static bool look(TestEnd *to, uint8_t *frame, size_t *len)
{
    if (to == &to->cable->end[1]) {
        memcpy(seen, frame, *len);
        seen_len = *len;
    }
    return true;
}

static TestCable *new_seen(const IbLinkConfig *config)
{
    TestCable *c = test_cable_new_active(config, NULL);

    c->filter = look;
    test_cable_run(c, 200 * TEST_MS);
    return c;
}

/*
 * A frame of the session with the next sequence number and @n records, whose
 * @len bytes are to be put at the return value.
 */
static uint8_t *forge(TestCable *c, unsigned n, uint16_t len)
{
    ib_put_be32(seen + SEQUENCE, ib_get_be32(seen + SEQUENCE) + 1);
    ib_put_be16(seen + LENGTH, len);
    ib_put_be16(seen + RECORDS, n);
    seen_len = BODY + len;
    memset(seen + BODY, 0, len);
    return seen + BODY;
}

static void deliver(TestCable *c)
{
    uint8_t *exact = g_malloc(MAX(seen_len, 1));

    memcpy(exact, seen, seen_len);
    ib_link_receive_frame(c->end[1].link, exact, seen_len);
    g_free(exact);
}

/* One packet record with a well-formed packet of @len bytes on @vl. */
static uint8_t *forge_packet(TestCable *c, unsigned vl, uint16_t len)
{
    uint8_t *p = forge(c, 1, 4 + len);

    ib_put_be16(p, len);
    p[2] = PACKET;
    test_packet(p + 4, len, 5, 0);
    ib_lrh_set_vl(p + 4, vl);
    return p;
}

/* What the specification says a frame looks like. */
static void test_layout(void)
{
    IbLinkConfig config = test_config();
    TestCable *c;

    config.guid = 0;
    c = new_seen(&config);
    /* seen: a keep-alive, with the credits of 4 VLs */
    g_assert_cmpint(seen[0] & 3, ==, 3);        /* group, local */
    g_assert_cmpint(seen[6] & 3, ==, 2);        /* individual, local */
    g_assert_cmphex(ib_get_be16(seen + ETHERTYPE), ==, 0x88b5);
    g_assert_cmpint(seen[VERSION], ==, 1);
    g_assert_cmpint(seen[HEADER_LENGTH], ==, 20);
    g_assert_cmpint(ib_get_be16(seen + LENGTH), ==, seen_len - BODY);
    g_assert_cmpint(ib_get_be16(seen + RECORDS), ==, 1);
    g_assert_cmpint(ib_get_be32(seen + SESSION), !=, 0);
    g_assert_cmpint(ib_get_be32(seen + PEER_SESSION), !=, 0);
    g_assert_cmpint(ib_get_be16(seen + BODY), ==, 4 * 12);
    g_assert_cmpint(seen[BODY + 2], ==, CREDIT);
    g_assert_cmpint(seen[BODY + 4 + 12], ==, 1);                /* VL */
    g_assert_cmpint(ib_get_be32(seen + BODY + 4 + 12 + 4), ==, 0);
    g_assert_cmpint(ib_get_be32(seen + BODY + 4 + 12 + 8), ==, 1024);

    test_send(&c->end[0], 2, 260, 77);
    ib_link_flush(c->end[0].link);
    g_assert_cmpint(ib_get_be16(seen + BODY), ==, 260);
    g_assert_cmpint(seen[BODY + 2], ==, PACKET);
    g_assert_cmpint(seen[BODY + 3], ==, 0);
    g_assert_cmphex(seen[BODY + 4], ==, 0x20);                  /* VL 2 */
    g_assert_cmpint(ib_get_be32(seen + BODY + 4 + 28), ==, 77);
    test_cable_free(c);
}

/* Somebody else's frame, of any length: not ours to count. */
static void test_foreign(void)
{
    static const uint16_t types[] = { 0x0806, 0x8035, 0x86dd, 0x0000 };
    TestCable *c = new_seen(NULL);
    TestEnd *b = &c->end[1];
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(types); i++) {
        forge_packet(c, 0, 288);
        ib_put_be16(seen + ETHERTYPE, types[i]);
        deliver(c);
        seen_len = 14 + i;
        deliver(c);
    }
    g_assert_cmpint(ib_link_counters(b->link)->frames_bad, ==, 0);
    g_assert_cmpint(ib_link_counters(b->link)->symbol_errors, ==, 0);
    g_assert_cmpint(b->packets, ==, 0);
    test_cable_free(c);
}

/* Headers that are wrong: counted, forgotten, and the link stays up. */
static void test_bad_header(void)
{
    static const struct {
        unsigned at, size;
        uint32_t value;
    } rows[] = {
        { VERSION, 1, 0 },
        { VERSION, 1, 2 },
        { HEADER_LENGTH, 1, 0 },
        { HEADER_LENGTH, 1, 16 },
        { HEADER_LENGTH, 1, 21 },
        { HEADER_LENGTH, 1, 252 },
        { LENGTH, 2, 0xffff },
        { LENGTH, 2, 293 },
    };
    TestCable *c = new_seen(NULL);
    TestEnd *b = &c->end[1];
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(rows); i++) {
        uint8_t good[BODY];

        forge_packet(c, 0, 288);
        memcpy(good, seen, BODY);
        switch (rows[i].size) {
        case 1:
            seen[rows[i].at] = rows[i].value;
            break;
        default:
            ib_put_be16(seen + rows[i].at, rows[i].value);
            break;
        }
        deliver(c);
        g_assert_cmpint(ib_link_counters(b->link)->frames_bad, ==, i + 1);
        g_assert_cmpint(b->packets, ==, i);
        memcpy(seen, good, BODY);
        deliver(c);
        g_assert_cmpint(b->packets, ==, i + 1);
    }
    g_assert_cmpint(ib_link_counters(b->link)->symbol_errors, ==, i);

    /* Cut short anywhere */
    forge_packet(c, 0, 288);
    b->packets = 0;
    for (i = 0; i < BODY + 292; i++) {
        seen_len = i;
        deliver(c);
    }
    g_assert_cmpint(b->packets, ==, 0);
    g_assert_cmpint(ib_link_counters(b->link)->frames_bad, ==,
                    G_N_ELEMENTS(rows) + BODY + 292);
    /* Padded by a bridge: nothing wrong with that */
    memset(seen + BODY + 292, 0xff, 100);
    seen_len = BODY + 292 + 100;
    deliver(c);
    g_assert_cmpint(b->packets, ==, 1);
    g_assert_cmpint(ib_link_state(b->link), ==, IB_PORT_ACTIVE);

    /* A longer header of a later version's making is stepped over. */
    forge_packet(c, 0, 288);
    memmove(seen + BODY + 8, seen + BODY, 292);
    seen[HEADER_LENGTH] = 28;
    seen_len += 8;
    deliver(c);
    g_assert_cmpint(b->packets, ==, 2);
    test_cable_free(c);
}

/* Sessions and sequence numbers that are not this link's. */
static void test_session(void)
{
    TestCable *c = new_seen(NULL);
    TestEnd *b = &c->end[1];
    IbLinkCounters *counters = ib_link_counters(b->link);
    uint64_t late = counters->frames_late;

    forge_packet(c, 0, 288);
    ib_put_be32(seen + SESSION, ib_get_be32(seen + SESSION) ^ 1);
    deliver(c);
    ib_put_be32(seen + SESSION, ib_get_be32(seen + SESSION) ^ 1);
    ib_put_be32(seen + PEER_SESSION, ib_get_be32(seen + PEER_SESSION) ^ 1);
    deliver(c);
    ib_put_be32(seen + PEER_SESSION, ib_get_be32(seen + PEER_SESSION) ^ 1);
    g_assert_cmpint(counters->frames_late, ==, late + 2);
    g_assert_cmpint(b->packets, ==, 0);
    deliver(c);
    g_assert_cmpint(b->packets, ==, 1);
    /* The same again, and an older one */
    deliver(c);
    ib_put_be32(seen + SEQUENCE, ib_get_be32(seen + SEQUENCE) - 5);
    deliver(c);
    g_assert_cmpint(b->packets, ==, 1);
    g_assert_cmpint(counters->frames_late, ==, late + 4);
    g_assert_cmpint(counters->symbol_errors, ==, 0);
    /* Three are missing */
    ib_put_be32(seen + SEQUENCE, ib_get_be32(seen + SEQUENCE) + 9);
    deliver(c);
    g_assert_cmpint(b->packets, ==, 2);
    g_assert_cmpint(counters->symbol_errors, ==, 3);
    g_assert_cmpint(ib_link_state(b->link), ==, IB_PORT_ACTIVE);
    test_cable_free(c);
}

static void test_records(void)
{
    TestCable *c = new_seen(NULL);
    TestEnd *b = &c->end[1];
    IbLinkCounters *counters = ib_link_counters(b->link);
    uint8_t *p;

    /* Keep-alive, a type of the future, a packet: each is stepped over. */
    p = forge(c, 3, 4 + 8 + 4 + 288);
    p[2] = KEEPALIVE;
    ib_put_be16(p + 4, 3);
    p[4 + 2] = 200;
    ib_put_be16(p + 12, 288);
    p[12 + 2] = PACKET;
    test_packet(p + 16, 288, 5, 0);
    deliver(c);
    g_assert_cmpint(b->packets, ==, 1);
    g_assert_cmpint(counters->frames_bad, ==, 0);

    /* More records announced than there are, and fewer */
    forge_packet(c, 0, 288);
    ib_put_be16(seen + RECORDS, 0);
    deliver(c);
    g_assert_cmpint(counters->frames_bad, ==, 1);
    p = forge(c, 2, 8);
    p[2] = KEEPALIVE;
    p[6] = KEEPALIVE;
    ib_put_be16(seen + RECORDS, 1);
    deliver(c);
    g_assert_cmpint(counters->frames_bad, ==, 2);
    p = forge(c, 3, 4);
    p[2] = KEEPALIVE;
    deliver(c);
    g_assert_cmpint(counters->frames_bad, ==, 3);

    /* A record that leaves the frame */
    p = forge_packet(c, 0, 288);
    ib_put_be16(p, 289);
    deliver(c);
    ib_put_be16(p, 0xffff);
    ib_put_be32(seen + SEQUENCE, ib_get_be32(seen + SEQUENCE) + 1);
    deliver(c);
    g_assert_cmpint(counters->frames_bad, ==, 5);
    g_assert_cmpint(b->packets, ==, 1);
    test_cable_free(c);
}

/* The packet receiver's checks (IBA Vol.1 7.2, 7.3) */
static void test_packets(void)
{
    IbLinkConfig config = test_config();
    TestCable *c;
    TestEnd *b;
    IbLinkCounters *counters;
    uint8_t *p;

    config.mtu_cap = IB_MTU_2048;
    config.rx_buffer = 16384;
    c = new_seen(&config);
    b = &c->end[1];
    counters = ib_link_counters(b->link);

    /* PktLen against the record; the record after it is still found. */
    p = forge(c, 2, 2 * 292);
    ib_put_be16(p, 288);
    p[2] = PACKET;
    test_packet(p + 4, 288, 5, 0);
    memcpy(p + 292, p, 292);
    ib_field_set(p + 4, IB_LRH_PKTLEN, 288 / 4 + 1);
    deliver(c);
    g_assert_cmpint(b->packets, ==, 1);
    g_assert_cmpint(counters->rcv_errors, ==, 1);
    g_assert_cmpint(counters->frames_bad, ==, 0);

    /* Too short for any packet */
    p = forge_packet(c, 0, 16);
    deliver(c);
    p = forge(c, 1, 4);
    p[2] = PACKET;
    deliver(c);
    g_assert_cmpint(counters->rcv_errors, ==, 3);
    /* LVer */
    p = forge_packet(c, 0, 288);
    ib_field_set(p + 4, IB_LRH_LVER, 1);
    deliver(c);
    g_assert_cmpint(counters->rcv_errors, ==, 4);
    /* A VL beyond OperationalVLs */
    forge_packet(c, 4, 288);
    deliver(c);
    g_assert_cmpint(counters->rcv_errors, ==, 5);
    g_assert_true(ib_link_set_operational_vls(b->link, 1));
    forge_packet(c, 1, 288);
    deliver(c);
    g_assert_cmpint(counters->rcv_errors, ==, 6);
    g_assert_true(ib_link_set_operational_vls(b->link, 3));
    forge_packet(c, 1, 288);
    deliver(c);
    g_assert_cmpint(counters->rcv_errors, ==, 6);
    g_assert_cmpint(b->packets, ==, 2);
    /* MTUCap and headers */
    forge_packet(c, 0, 2048 + 124);
    deliver(c);
    g_assert_cmpint(b->packets, ==, 3);
    forge_packet(c, 0, 2048 + 128);
    deliver(c);
    g_assert_cmpint(b->packets, ==, 3);
    g_assert_cmpint(counters->rcv_errors, ==, 7);
    /* An SMP is no longer than VL15's MTU of 256 */
    forge_packet(c, 15, 256 + 124);
    deliver(c);
    g_assert_cmpint(b->packets, ==, 4);
    forge_packet(c, 15, 256 + 128);
    deliver(c);
    g_assert_cmpint(b->packets, ==, 4);
    g_assert_cmpint(counters->rcv_errors, ==, 8);
    /* EBP */
    p = forge_packet(c, 0, 288);
    p[3] = IB_PACKET_BAD;
    deliver(c);
    g_assert_cmpint(b->packets, ==, 4);
    g_assert_cmpint(counters->rcv_errors, ==, 9);
    g_assert_cmpint(counters->rcv_remote_physical_errors, ==, 1);
    /* Flags: what the record says and no more */
    p = forge_packet(c, 0, 288);
    p[3] = 0xff & ~IB_PACKET_BAD;
    deliver(c);
    g_assert_cmpint(b->packets, ==, 5);
    g_assert_cmpint(b->last_flags, ==, IB_PACKET_NO_ICRC);
    g_assert_cmpint(counters->frames_bad, ==, 0);
    test_cable_free(c);
}

static void test_credit_records(void)
{
    TestCable *c = new_seen(NULL);
    TestEnd *b = &c->end[1];
    IbLinkCounters *counters = ib_link_counters(b->link);
    uint8_t *p;

    /* Not whole entries; a VL without credits; one that this end has not */
    p = forge(c, 1, 4 + 16);
    ib_put_be16(p, 13);
    p[2] = CREDIT;
    deliver(c);
    g_assert_cmpint(counters->rcv_errors, ==, 1);
    p = forge(c, 1, 4 + 36);
    ib_put_be16(p, 36);
    p[2] = CREDIT;
    p[4] = 15;
    p[16] = 255;
    p[28] = 14;
    deliver(c);
    g_assert_cmpint(counters->rcv_errors, ==, 3);
    g_assert_cmpint(ib_link_tx_credits(b->link, 0), ==, 1024);
    g_assert_cmpint(counters->frames_bad, ==, 0);
    test_cable_free(c);
}

/* Training frames of a bad peer: too short, an absurd frame size, a loop */
static void test_training_records(void)
{
    static const struct {
        uint16_t len;
        uint32_t max_frame;
        uint8_t width;
        bool taken;
    } rows[] = {
        { 24, 65536, 3, true }, { 20, 65536, 3, false },
        { 24, 1023, 3, false }, { 24, 0, 3, false },
        { 24, 0xffffffff, 3, true }, { 24, 65536, 4, false },
        { 40, 65536, 3, true },
    };
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(rows); i++) {
        TestCable *c = test_cable_new(NULL, NULL);
        TestEnd *b = &c->end[1];
        uint8_t *p;

        ib_link_cable_attach(b->link);
        memset(seen, 0, sizeof(seen));
        ib_put_be16(seen + ETHERTYPE, 0x88b5);
        seen[VERSION] = 1;
        seen[HEADER_LENGTH] = 20;
        ib_put_be32(seen + SESSION, 0x1234567);
        p = forge(c, 1, 4 + rows[i].len);
        ib_put_be16(p, rows[i].len);
        p[2] = TRAINING;
        p[4] = 1;
        p[4 + 4] = p[4 + 5] = rows[i].width;
        p[4 + 9] = p[4 + 11] = 7;
        ib_put_be32(p + 4 + 12, rows[i].max_frame);
        deliver(c);
        g_assert_cmpint(ib_link_phys_state(b->link) ==
                        IB_PHYS_PORT_CONF_TRAINING, ==, rows[i].taken);
        /* Nobody goes on: back to Polling. */
        test_cable_run(c, 1000 * TEST_MS);
        g_assert_cmpint(ib_link_phys_state(b->link), ==, IB_PHYS_POLLING);
        test_cable_free(c);
    }
}

static uint8_t *forge_training(TestCable *c, unsigned kind)
{
    uint8_t *p = forge(c, 1, 4 + 24);

    ib_put_be16(p, 24);
    p[2] = TRAINING;
    p[4] = kind;
    p[4 + 4] = p[4 + 5] = 3;
    p[4 + 9] = p[4 + 11] = 7;
    ib_put_be32(p + 4 + 12, 65536);
    return p;
}

/* Training frames that come while the link is up */
static void test_training_while_up(void)
{
    TestCable *c = new_seen(NULL);
    TestEnd *b = &c->end[1];
    uint64_t sent;

    /* The peer has not heard that this end is up: it is told at once. */
    forge_training(c, 2);
    sent = ib_link_counters(b->link)->frames_sent;
    deliver(c);
    g_assert_cmpint(ib_link_counters(b->link)->frames_sent, ==, sent + 1);
    g_assert_cmpint(ib_link_state(b->link), ==, IB_PORT_ACTIVE);

    /* The peer of this session, with an older frame: nothing */
    forge_training(c, 1);
    ib_put_be32(seen + PEER_SESSION, ib_get_be32(seen + PEER_SESSION) ^ 1);
    ib_put_be32(seen + SEQUENCE, ib_get_be32(seen + SEQUENCE) - 1);
    deliver(c);
    g_assert_cmpint(ib_link_state(b->link), ==, IB_PORT_ACTIVE);
    /* ... with a new one: it does not know this end any more. */
    ib_put_be32(seen + SEQUENCE, ib_get_be32(seen + SEQUENCE) + 1);
    deliver(c);
    g_assert_cmpint(ib_link_state(b->link), ==, IB_PORT_DOWN);
    g_assert_cmpint(ib_link_phys_state(b->link), ==,
                    IB_PHYS_PORT_CONF_TRAINING);
    g_assert_cmpint(ib_link_counters(b->link)->link_downed, ==, 1);
    test_cable_free(c);
}

/* While training, an old frame does not bring old news. */
static void test_training_late(void)
{
    IbLinkConfig config = test_config();
    TestCable *c;
    TestEnd *b;
    uint32_t session;

    config.training_ms = 1000;
    c = test_cable_new(&config, NULL);
    b = &c->end[1];
    c->filter = look;
    test_cable_attach(c);
    test_cable_run(c, 100 * TEST_MS);
    c->cut = true;
    session = ib_get_be32(seen + PEER_SESSION);
    forge_training(c, 2);
    ib_put_be32(seen + SEQUENCE, 0);
    deliver(c);
    g_assert_cmpint(ib_link_counters(b->link)->frames_late, ==, 1);
    g_assert_cmpint(session, !=, 0);
    /* ... a going-down of another session neither. */
    forge(c, 1, 4)[2] = GOING_DOWN;
    ib_put_be32(seen + SEQUENCE, 1000);
    ib_put_be32(seen + PEER_SESSION, session ^ 1);
    deliver(c);
    g_assert_cmpint(ib_link_phys_state(b->link), ==,
                    IB_PHYS_PORT_CONF_TRAINING);
    ib_put_be32(seen + PEER_SESSION, session);
    deliver(c);
    g_assert_cmpint(ib_link_phys_state(b->link), ==, IB_PHYS_POLLING);
    test_cable_free(c);
}

/* Disabled, Polling, without a cable: frames of any kind change nothing. */
static void test_when_down(void)
{
    TestCable *c = new_seen(NULL);
    TestEnd *b = &c->end[1];

    test_send(&c->end[0], 0, 288, 1);
    ib_link_flush(c->end[0].link);
    c->cut = true;
    ib_link_set_enabled(b->link, false);
    deliver(c);
    ib_link_set_enabled(b->link, true);
    deliver(c);
    g_assert_cmpint(ib_link_phys_state(b->link), ==, IB_PHYS_POLLING);
    ib_link_cable_detach(b->link);
    deliver(c);
    g_assert_cmpint(b->packets, ==, 0);
    test_cable_free(c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/link/frame/layout", test_layout);
    g_test_add_func("/link/frame/foreign", test_foreign);
    g_test_add_func("/link/frame/bad-header", test_bad_header);
    g_test_add_func("/link/frame/session-and-sequence", test_session);
    g_test_add_func("/link/frame/records", test_records);
    g_test_add_func("/link/frame/packets", test_packets);
    g_test_add_func("/link/frame/credit-records", test_credit_records);
    g_test_add_func("/link/frame/training-records", test_training_records);
    g_test_add_func("/link/frame/training-while-up", test_training_while_up);
    g_test_add_func("/link/frame/training-late", test_training_late);
    g_test_add_func("/link/frame/when-down", test_when_down);
    return g_test_run();
}
