/*
 * Training, restart, loss of the peer: ports come up and go down together
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "link-cable.h"

static void test_up(void)
{
    TestCable *c = test_cable_new(NULL, NULL);
    TestEnd *a = &c->end[0], *b = &c->end[1];

    g_assert_cmpint(ib_link_phys_state(a->link), ==, IB_PHYS_POLLING);
    g_assert_cmpint(ib_link_state(a->link), ==, IB_PORT_DOWN);
    ib_link_cable_attach(a->link);
    test_cable_run(c, 1000 * TEST_MS);
    g_assert_cmpint(ib_link_phys_state(a->link), ==, IB_PHYS_POLLING);
    g_assert_cmpint(ib_link_peer_guid(a->link), ==, 0);

    ib_link_cable_attach(b->link);
    test_cable_run(c, 100 * TEST_MS);
    g_assert_true(test_cable_up(c));
    g_assert_cmpint(ib_link_state(a->link), ==, IB_PORT_INIT);
    g_assert_cmpint(ib_link_state(b->link), ==, IB_PORT_INIT);
    g_assert_cmphex(ib_link_peer_guid(a->link), ==, 0x0002c90300000010);
    g_assert_cmpint(ib_link_peer_port(b->link), ==, 1);
    g_assert_cmpint(a->came_up, ==, 1);

    /* An idle link stays up: keep-alives. */
    test_cable_run(c, 60 * 1000 * TEST_MS);
    g_assert_true(test_cable_up(c));
    g_assert_cmpint(a->went_down + b->went_down, ==, 0);
    g_assert_cmpint(ib_link_counters(a->link)->symbol_errors, ==, 0);
    g_assert_cmpint(ib_link_counters(a->link)->frames_late, ==, 0);
    test_cable_free(c);
}

/* The example of docs/specs/ib-link.rst, frame by frame. */
static GString *conversation;

static bool listen(TestEnd *to, uint8_t *frame, size_t *len)
{
    static const char *const types[] = {
        "?", "packet", "credits", "TS", "keep-alive", "bye"
    };
    bool known = ib_get_be32(frame + 26) != 0;

    g_string_append_printf(conversation, "%c%u %s %s",
                           to == &to->cable->end[0] ? 'B' : 'A',
                           ib_get_be32(frame + 30), known ? "known" : "?",
                           types[frame[36]]);
    if (frame[36] == 3) {
        g_string_append_printf(conversation, "%u", frame[38]);
    }
    g_string_append(conversation, "\n");
    return true;
}

static void test_conversation(void)
{
    TestCable *c = test_cable_new(NULL, NULL);

    conversation = g_string_new("");
    c->filter = listen;
    ib_link_cable_attach(c->end[0].link);
    test_cable_run(c, TEST_MS);
    ib_link_cable_attach(c->end[1].link);
    test_cable_run(c, TEST_MS);
    test_send(&c->end[1], IB_VL_MGMT, 288, 0);
    ib_link_flush(c->end[1].link);
    g_assert_cmpstr(conversation->str, ==,
                    "A0 ? TS1\n"
                    "B0 ? TS1\n"
                    "A1 known TS2\n"
                    "B1 known credits\n"
                    "A2 known credits\n"
                    "B2 known packet\n");
    g_string_free(conversation, true);
    test_cable_free(c);
}

/* mlx4_ib must not see its port come up within a second of INIT_PORT. */
static void test_least_time(void)
{
    IbLinkConfig hca = test_config(), sw = test_config();
    TestCable *c;

    hca.training_ms = 1000;
    c = test_cable_new(&hca, &sw);
    test_cable_attach(c);
    test_cable_run(c, 990 * TEST_MS);
    /* Neither end is up, or SMPs would be lost at the other. */
    g_assert_cmpint(ib_link_phys_state(c->end[0].link), ==,
                    IB_PHYS_PORT_CONF_TRAINING);
    g_assert_cmpint(ib_link_phys_state(c->end[1].link), ==,
                    IB_PHYS_PORT_CONF_TRAINING);
    test_cable_run(c, 20 * TEST_MS);
    g_assert_true(test_cable_up(c));
    test_cable_free(c);
}

static void test_negotiation(void)
{
    static const struct {
        uint8_t width[2];
        uint16_t speed[2];
        bool up;
        uint8_t width_active;
        uint16_t speed_active;
    } rows[] = {
        /*
         * LinkWidthActive 1: 1x, 2: 4x, 8: 12x; speeds 1 SDR, 2 DDR, 4 QDR,
         * 16 FDR, 32 EDR
         */
        { { 3, 3 }, { 7, 7 }, true, 2, 4 },
        { { 3, 1 }, { 7, 1 }, true, 1, 1 },
        { { 11, 11 }, { 0x37, 0x17 }, true, 8, 16 },
        { { 2, 1 }, { 7, 7 }, false, 0, 0 },
        { { 3, 3 }, { 4, 3 }, false, 0, 0 },
        { { 16 | 1, 16 | 1 }, { 1, 1 }, true, 16, 1 },
    };
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(rows); i++) {
        IbLinkConfig config[2] = { test_config(), test_config() };
        TestCable *c;
        int e;

        for (e = 0; e < 2; e++) {
            config[e].width_supported = rows[i].width[e];
            config[e].speed_supported = rows[i].speed[e];
        }
        c = test_cable_new(&config[0], &config[1]);
        test_cable_attach(c);
        test_cable_run(c, 1000 * TEST_MS);
        g_assert_cmpint(test_cable_up(c), ==, rows[i].up);
        if (rows[i].up) {
            for (e = 0; e < 2; e++) {
                g_assert_cmpint(ib_link_width_active(c->end[e].link), ==,
                                rows[i].width_active);
                g_assert_cmpint(ib_link_speed_active(c->end[e].link), ==,
                                rows[i].speed_active);
            }
        } else {
            g_assert_cmpint(ib_link_state(c->end[0].link), ==, IB_PORT_DOWN);
        }
        test_cable_free(c);
    }
}

/* WidthEnabled counts from the next training on. */
static void test_width_enabled(void)
{
    TestCable *c = test_cable_new_active(NULL, NULL);
    IbLink *link = c->end[0].link;

    g_assert_false(ib_link_set_width_enabled(link, 8));
    g_assert_false(ib_link_set_width_enabled(link, 0));
    g_assert_true(ib_link_set_width_enabled(link, 1));
    g_assert_cmpint(ib_link_width_active(link), ==, 2);
    g_assert_true(ib_link_set_state(link, IB_PORT_DOWN));
    test_cable_run(c, 200 * TEST_MS);
    g_assert_true(test_cable_up(c));
    g_assert_cmpint(ib_link_width_active(c->end[1].link), ==, 1);
    test_cable_free(c);
}

/* What is enabled counts only as far as the cable carries it. */
static void test_cable_rate(void)
{
    TestCable *c = test_cable_new_active(NULL, NULL);
    IbLink *link = c->end[0].link;

    g_assert_cmpint(ib_link_width_active(link), ==, IB_LINK_WIDTH_4X);
    ib_link_set_cable_rate(link, IB_LINK_WIDTH_1X | IB_LINK_WIDTH_12X,
                           IB_LINK_SPEED_SDR);
    g_assert_true(ib_link_set_state(link, IB_PORT_DOWN));
    test_cable_run(c, 200 * TEST_MS);
    g_assert_true(test_cable_up(c));
    g_assert_cmpint(ib_link_width_active(link), ==, IB_LINK_WIDTH_1X);
    g_assert_cmpint(ib_link_width_active(c->end[1].link), ==,
                    IB_LINK_WIDTH_1X);
    g_assert_cmpint(ib_link_speed_active(link), ==, IB_LINK_SPEED_SDR);
    g_assert_cmpint(ib_link_speed_active(c->end[1].link), ==,
                    IB_LINK_SPEED_SDR);
    g_assert_cmpint(ib_link_width_enabled(link), ==,
                    ib_link_config(link)->width_supported);

    /* It carries nothing that the peer has enabled. */
    ib_link_set_cable_rate(link, IB_LINK_WIDTH_12X, UINT16_MAX);
    g_assert_true(ib_link_set_state(link, IB_PORT_DOWN));
    test_cable_run(c, 200 * TEST_MS);
    g_assert_false(test_cable_up(c));
    test_cable_free(c);
}

/* A node that is killed and started again is noticed by its first frame. */
static void test_restart(void)
{
    TestCable *c = test_cable_new_active(NULL, NULL);
    TestEnd *a = &c->end[0], *b = &c->end[1];
    IbLinkConfig config = *ib_link_config(b->link);

    c->cut = true;
    ib_link_free(b->link);
    c->cut = false;
    test_end_new_link(b, &config);
    ib_link_cable_attach(b->link);
    test_cable_settle(c);
    g_assert_cmpint(a->went_down, ==, 1);
    g_assert_cmpint(ib_link_counters(a->link)->link_downed, ==, 1);
    test_cable_run(c, 100 * TEST_MS);
    g_assert_true(test_cable_up(c));
    g_assert_cmpint(ib_link_state(a->link), ==, IB_PORT_INIT);
    test_cable_run(c, 2000 * TEST_MS);
    g_assert_cmpint(a->went_down, ==, 1);
    g_assert_cmpint(b->went_down, ==, 0);
    test_cable_free(c);
}

/* Silence takes the port down after timeout_ms, not before. */
static void test_silence(void)
{
    TestCable *c = test_cable_new_active(NULL, NULL);
    TestEnd *a = &c->end[0];

    test_cable_run(c, 1000 * TEST_MS);
    c->cut = true;
    test_cable_run(c, 340 * TEST_MS);
    g_assert_cmpint(ib_link_state(a->link), ==, IB_PORT_ACTIVE);
    test_cable_run(c, 200 * TEST_MS);
    g_assert_cmpint(ib_link_state(a->link), ==, IB_PORT_DOWN);
    g_assert_cmpint(ib_link_phys_state(a->link), ==, IB_PHYS_POLLING);
    g_assert_cmpint(ib_link_counters(a->link)->link_downed, ==, 1);
    c->cut = false;
    test_cable_run(c, 200 * TEST_MS);
    g_assert_true(test_cable_up(c));
    test_cable_free(c);
}

/* Who leaves says so: the peer needs no time-out. */
static void test_going_down(void)
{
    TestCable *c = test_cable_new_active(NULL, NULL);
    TestEnd *a = &c->end[0], *b = &c->end[1];

    g_assert_true(ib_link_set_phys_state(a->link, IB_PHYS_DISABLED));
    g_assert_cmpint(ib_link_phys_state(a->link), ==, IB_PHYS_DISABLED);
    test_cable_settle(c);
    g_assert_cmpint(ib_link_state(b->link), ==, IB_PORT_DOWN);
    test_cable_run(c, 3000 * TEST_MS);
    g_assert_cmpint(ib_link_phys_state(b->link), ==, IB_PHYS_POLLING);
    g_assert_cmpint(ib_link_phys_state(a->link), ==, IB_PHYS_DISABLED);

    /* ibportstate enable: PortState Down with PortPhysicalState Polling. */
    g_assert_true(ib_link_set_state(a->link, IB_PORT_DOWN));
    g_assert_cmpint(ib_link_phys_state(a->link), ==, IB_PHYS_DISABLED);
    g_assert_true(ib_link_set_phys_state(a->link, IB_PHYS_POLLING));
    test_cable_run(c, 200 * TEST_MS);
    g_assert_true(test_cable_up(c));

    ib_link_set_enabled(a->link, false);
    test_cable_settle(c);
    g_assert_cmpint(ib_link_state(b->link), ==, IB_PORT_DOWN);
    g_assert_true(ib_link_set_phys_state(a->link, IB_PHYS_POLLING));
    g_assert_cmpint(ib_link_phys_state(a->link), ==, IB_PHYS_DISABLED);
    ib_link_set_enabled(a->link, true);
    test_cable_run(c, 200 * TEST_MS);
    g_assert_true(test_cable_up(c));
    g_assert_cmpint(ib_link_counters(a->link)->link_downed, ==, 0);
    g_assert_cmpint(ib_link_counters(b->link)->link_downed, ==, 2);
    test_cable_free(c);
}

/* The farewell waits for a cable that is busy. */
static void test_going_down_busy(void)
{
    TestCable *c = test_cable_new_active(NULL, NULL);
    TestEnd *a = &c->end[0], *b = &c->end[1];

    c->depth = 1;
    test_send(a, 0, 256, 1);
    ib_link_flush(a->link);
    g_assert_true(a->told_busy);
    g_assert_true(ib_link_set_phys_state(a->link, IB_PHYS_DISABLED));
    test_cable_settle(c);
    g_assert_cmpint(ib_link_state(b->link), ==, IB_PORT_DOWN);
    test_cable_free(c);
}

static void test_flaps(void)
{
    TestCable *c = test_cable_new_active(NULL, NULL);
    int i;

    for (i = 0; i < 100; i++) {
        TestEnd *end = &c->end[i % 2];

        switch (i % 5) {
        case 0:
            ib_link_set_state(end->link, IB_PORT_DOWN);
            break;
        case 1:
            ib_link_cable_detach(end->link);
            test_cable_run(c, (i % 7) * 90 * TEST_MS);
            ib_link_cable_attach(end->link);
            break;
        case 2:
            ib_link_set_enabled(end->link, false);
            ib_link_set_enabled(end->link, true);
            break;
        case 3:
            ib_link_set_state(c->end[0].link, IB_PORT_DOWN);
            ib_link_set_state(c->end[1].link, IB_PORT_DOWN);
            break;
        case 4:
            ib_link_reset(end->link, true);
            break;
        }
        /* Often again before it is up. */
        test_cable_run(c, i % 3 * TEST_MS / 1000);
        if (i % 4 == 0) {
            ib_link_set_state(end->peer->link, IB_PORT_DOWN);
        }
        test_cable_run(c, 500 * TEST_MS);
        g_assert_true(test_cable_up(c));
        test_cable_activate(c);
        g_assert_cmpint(test_send(end, 0, 128, i), ==, IB_TX_SENT);
    }
    test_cable_free(c);
}

/* Frames that arrive in any order and twice: it still trains, and stays. */
static void test_reorder(void)
{
    TestCable *c = test_cable_new(NULL, NULL);
    int i;

    c->jitter = 120 * TEST_MS;
    c->dup_permille = 300;
    test_cable_attach(c);
    for (i = 0; i < 20; i++) {
        test_cable_run(c, 3000 * TEST_MS);
        g_assert_true(test_cable_up(c));
        ib_link_set_state(c->end[i % 2].link, IB_PORT_DOWN);
    }
    test_cable_free(c);
}

static void test_lossy(void)
{
    TestCable *c = test_cable_new(NULL, NULL);
    TestEnd *a = &c->end[0], *b = &c->end[1];
    unsigned sent = 0, i;

    c->loss_permille = 100;
    test_cable_attach(c);
    test_cable_run(c, 2000 * TEST_MS);
    g_assert_true(test_cable_up(c));
    /* SMPs pass, as many as the cable lets through. */
    for (i = 0; i < 1000; i++) {
        if (ib_link_state(a->link) != IB_PORT_DOWN) {
            g_assert_cmpint(test_send(a, IB_VL_MGMT, 288, i), ==, IB_TX_SENT);
            ib_link_flush(a->link);
            sent++;
        }
        test_cable_run(c, 5 * TEST_MS);
    }
    g_assert_cmpint(sent, >, 900);
    g_assert_cmpint(b->packets, >, sent * 85 / 100);
    g_assert_cmpint(b->packets, <, sent * 95 / 100);
    g_assert_cmpint(ib_link_counters(b->link)->symbol_errors, >, 50);
    test_cable_free(c);
}

/* LinkDownDefaultState Sleep: silent, but woken by the peer. */
static void test_sleep(void)
{
    TestCable *c = test_cable_new_active(NULL, NULL);
    TestEnd *a = &c->end[0], *b = &c->end[1];

    g_assert_false(ib_link_set_down_default(a->link, IB_PHYS_DISABLED));
    g_assert_true(ib_link_set_down_default(a->link, IB_PHYS_SLEEP));
    g_assert_true(ib_link_set_down_default(a->link, 0));
    g_assert_cmpint(ib_link_down_default(a->link), ==, IB_PHYS_SLEEP);
    ib_link_set_enabled(b->link, false);
    test_cable_run(c, 1000 * TEST_MS);
    g_assert_cmpint(ib_link_phys_state(a->link), ==, IB_PHYS_SLEEP);
    ib_link_set_enabled(b->link, true);
    test_cable_run(c, 200 * TEST_MS);
    g_assert_true(test_cable_up(c));

    /* Two that sleep do not wake each other. */
    g_assert_true(ib_link_set_down_default(b->link, IB_PHYS_SLEEP));
    ib_link_set_state(a->link, IB_PORT_DOWN);
    test_cable_run(c, 1000 * TEST_MS);
    g_assert_cmpint(ib_link_phys_state(a->link), ==, IB_PHYS_SLEEP);
    g_assert_cmpint(ib_link_phys_state(b->link), ==, IB_PHYS_SLEEP);
    g_assert_true(ib_link_set_phys_state(a->link, IB_PHYS_POLLING));
    test_cable_run(c, 200 * TEST_MS);
    g_assert_true(test_cable_up(c));
    test_cable_free(c);
}

/* IBA Vol.1 7.2.7 */
static void test_states(void)
{
    TestCable *c = test_cable_new(NULL, NULL);
    TestEnd *a = &c->end[0], *b = &c->end[1];

    g_assert_false(ib_link_set_state(a->link, IB_PORT_ARMED));
    g_assert_false(ib_link_set_state(a->link, IB_PORT_ACTIVE));
    g_assert_false(ib_link_set_state(a->link, IB_PORT_INIT));
    g_assert_true(ib_link_set_state(a->link, IB_PORT_DOWN));
    g_assert_true(ib_link_set_state(a->link, IB_PORT_NO_CHANGE));
    g_assert_cmpint(ib_link_state(a->link), ==, IB_PORT_DOWN);
    g_assert_cmpint(test_send(a, IB_VL_MGMT, 288, 0), ==, IB_TX_DISCARDED);

    test_cable_attach(c);
    test_cable_run(c, 100 * TEST_MS);
    /* Init: SMPs only */
    g_assert_false(ib_link_set_state(a->link, IB_PORT_ACTIVE));
    g_assert_false(ib_link_set_state(a->link, IB_PORT_INIT));
    g_assert_cmpint(ib_link_state(a->link), ==, IB_PORT_INIT);
    g_assert_true(ib_link_tx_allowed(a->link, IB_VL_MGMT));
    g_assert_false(ib_link_tx_allowed(a->link, 0));
    g_assert_cmpint(test_send(a, IB_VL_MGMT, 288, 1), ==, IB_TX_SENT);
    g_assert_cmpint(test_send(a, 0, 288, 2), ==, IB_TX_DISCARDED);
    g_assert_cmpint(ib_link_counters(a->link)->xmit_discards, ==, 2);
    ib_link_flush(a->link);
    test_cable_settle(c);
    g_assert_cmpint(b->packets, ==, 1);

    /* Armed: sends SMPs only */
    g_assert_true(ib_link_set_state(a->link, IB_PORT_ARMED));
    g_assert_true(ib_link_set_state(a->link, IB_PORT_ARMED));
    g_assert_cmpint(ib_link_state(a->link), ==, IB_PORT_ARMED);
    g_assert_cmpint(test_send(a, 0, 288, 3), ==, IB_TX_DISCARDED);
    g_assert_true(ib_link_set_state(a->link, IB_PORT_ACTIVE));
    g_assert_true(ib_link_set_state(a->link, IB_PORT_ACTIVE));
    g_assert_false(ib_link_set_state(a->link, IB_PORT_ARMED));
    g_assert_cmpint(ib_link_state(a->link), ==, IB_PORT_ACTIVE);

    /* Data to a port in Init is lost without an error counter, */
    g_assert_cmpint(test_send(a, 0, 288, 4), ==, IB_TX_SENT);
    ib_link_flush(a->link);
    test_cable_settle(c);
    g_assert_cmpint(b->packets, ==, 1);
    g_assert_cmpint(ib_link_counters(b->link)->rcv_errors, ==, 0);
    g_assert_cmpint(ib_link_counters(b->link)->rcv_pkts, ==, 2);
    /* ... to one in Armed it makes it Active. */
    g_assert_true(ib_link_set_state(b->link, IB_PORT_ARMED));
    test_send(a, IB_VL_MGMT, 288, 5);
    ib_link_flush(a->link);
    test_cable_settle(c);
    g_assert_cmpint(ib_link_state(b->link), ==, IB_PORT_ARMED);
    test_send(a, 1, 288, 6);
    ib_link_flush(a->link);
    test_cable_settle(c);
    g_assert_cmpint(ib_link_state(b->link), ==, IB_PORT_ACTIVE);
    g_assert_cmpint(b->packets, ==, 3);

    /* Down from any */
    g_assert_true(ib_link_set_state(b->link, IB_PORT_DOWN));
    test_cable_settle(c);
    test_cable_run(c, 200 * TEST_MS);
    g_assert_cmpint(ib_link_state(a->link), ==, IB_PORT_INIT);
    g_assert_cmpint(ib_link_state(b->link), ==, IB_PORT_INIT);
    test_cable_free(c);
}

/*
 * What was in the frame goes out before the link goes down: the response to
 * the very Set that takes it down.
 */
static void test_last_words(void)
{
    TestCable *c = test_cable_new_active(NULL, NULL);

    test_send(&c->end[0], IB_VL_MGMT, 288, 1);
    ib_link_set_state(c->end[0].link, IB_PORT_DOWN);
    test_cable_settle(c);
    g_assert_cmpint(c->end[1].packets, ==, 1);
    test_cable_free(c);
}

static void test_cable_gone(void)
{
    TestCable *c = test_cable_new_active(NULL, NULL);
    TestEnd *a = &c->end[0];

    /* A short interruption costs frames and nothing else. */
    a->gone = true;
    test_send(a, 0, 288, 1);
    ib_link_flush(a->link);
    test_cable_run(c, 200 * TEST_MS);
    a->gone = false;
    test_cable_run(c, 1000 * TEST_MS);
    g_assert_cmpint(ib_link_state(a->link), ==, IB_PORT_ACTIVE);
    g_assert_cmpint(ib_link_state(a->peer->link), ==, IB_PORT_ACTIVE);
    /* The frame of the packet, and two keep-alives */
    g_assert_cmpint(ib_link_counters(a->peer->link)->symbol_errors, ==, 3);
    g_assert_cmpint(ib_link_tx_credits(a->link, 0), ==, 1024);
    /* A long one takes both ports down. */
    a->gone = a->peer->gone = true;
    test_cable_run(c, 600 * TEST_MS);
    g_assert_cmpint(ib_link_state(a->link), ==, IB_PORT_DOWN);
    g_assert_cmpint(ib_link_state(a->peer->link), ==, IB_PORT_DOWN);
    a->gone = a->peer->gone = false;
    test_cable_run(c, 500 * TEST_MS);
    g_assert_true(test_cable_up(c));

    /* Pulled out */
    ib_link_cable_detach(a->link);
    g_assert_cmpint(ib_link_state(a->link), ==, IB_PORT_DOWN);
    g_assert_cmpint(ib_link_counters(a->link)->link_downed, ==, 2);
    g_assert_true(a->deadline == INT64_MAX);
    ib_link_cable_attach(a->link);
    test_cable_run(c, 500 * TEST_MS);
    g_assert_true(test_cable_up(c));
    test_cable_free(c);
}

/* A cable inside one process delivers before send_frame() returns. */
static void test_immediate(void)
{
    TestCable *c = test_cable_new(NULL, NULL);
    int i;

    c->immediate = true;
    test_cable_attach(c);
    test_cable_run(c, 200 * TEST_MS);
    g_assert_true(test_cable_up(c));
    for (i = 0; i < 2; i++) {
        g_assert_cmpint(ib_link_counters(c->end[i].link)->symbol_errors,
                        ==, 0);
        g_assert_cmpint(ib_link_counters(c->end[i].link)->frames_late, ==, 0);
    }
    test_cable_activate(c);
    for (i = 0; i < 5000; i++) {
        g_assert_cmpint(test_send(&c->end[0], i % 4, 2048, i), ==, IB_TX_SENT);
        if (i % 10 == 0) {
            ib_link_flush(c->end[0].link);
        }
    }
    ib_link_flush(c->end[0].link);
    g_assert_cmpint(c->end[1].packets, ==, 5000);
    test_cable_free(c);
}

/* ... and the answers to it: what a node sends meanwhile is not lost. */
static uint32_t pong_next;

static void pong(TestEnd *end, IbPacket *packet)
{
    g_assert_cmpint(ib_get_be32(packet->data + 28), ==, pong_next);
    pong_next++;
    if (pong_next < 1000) {
        g_assert_cmpint(test_send(end, 0, 256, pong_next), !=,
                        IB_TX_DISCARDED);
    }
}

static void test_immediate_answers(void)
{
    TestCable *c = test_cable_new(NULL, NULL);
    int i;

    c->immediate = true;
    test_cable_attach(c);
    test_cable_run(c, 200 * TEST_MS);
    test_cable_activate(c);
    c->end[0].on_receive = c->end[1].on_receive = pong;
    pong_next = 0;
    test_send(&c->end[0], 0, 256, 0);
    for (i = 0; i < 1000 && pong_next < 1000; i++) {
        ib_link_flush(c->end[0].link);
        ib_link_flush(c->end[1].link);
    }
    g_assert_cmpint(pong_next, ==, 1000);
    test_cable_free(c);
}

/* A cable plugged into the port it comes from does not come up. */
static bool echo(TestEnd *to, uint8_t *frame, size_t *len)
{
    return to == &to->cable->end[0];
}

static void test_loop(void)
{
    TestCable *c = test_cable_new(NULL, NULL);
    TestEnd *a = &c->end[0];
    unsigned i;

    c->filter = echo;
    a->peer = a;
    ib_link_cable_attach(a->link);
    for (i = 0; i < 100; i++) {
        test_cable_run(c, 50 * TEST_MS);
        g_assert_cmpint(ib_link_phys_state(a->link), ==, IB_PHYS_POLLING);
    }
    test_cable_free(c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/link/training/up", test_up);
    g_test_add_func("/link/training/conversation", test_conversation);
    g_test_add_func("/link/training/least-time", test_least_time);
    g_test_add_func("/link/training/width-and-speed", test_negotiation);
    g_test_add_func("/link/training/width-enabled", test_width_enabled);
    g_test_add_func("/link/training/cable-rate", test_cable_rate);
    g_test_add_func("/link/training/peer-restarted", test_restart);
    g_test_add_func("/link/training/silence", test_silence);
    g_test_add_func("/link/training/going-down", test_going_down);
    g_test_add_func("/link/training/going-down-busy", test_going_down_busy);
    g_test_add_func("/link/training/hundred-flaps", test_flaps);
    g_test_add_func("/link/training/reordered", test_reorder);
    g_test_add_func("/link/training/lossy", test_lossy);
    g_test_add_func("/link/training/sleep", test_sleep);
    g_test_add_func("/link/training/cable-gone", test_cable_gone);
    g_test_add_func("/link/training/immediate-cable", test_immediate);
    g_test_add_func("/link/training/immediate-answers",
                    test_immediate_answers);
    g_test_add_func("/link/training/looped-cable", test_loop);
    g_test_add_func("/link/state/transitions", test_states);
    g_test_add_func("/link/state/last-words", test_last_words);
    return g_test_run();
}
