/*
 * scripts/wireshark/ib-link.lua: what tshark makes of a cable's frames
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Skips without tshark.
 */
#include "link-cable.h"
#include <glib/gstdio.h>
#include <grp.h>
#include <unistd.h>

#define SCRIPT "../../scripts/wireshark/ib-link.lua"

/* A pcap file of link type 1, Ethernet, with all frames of the cable. */
static GByteArray *pcap;

static void put32(uint32_t v)
{
    uint8_t b[4];

    ib_put_be32(b, v);
    g_byte_array_append(pcap, b, sizeof(b));
}

static bool record(TestEnd *to, uint8_t *frame, size_t *len)
{
    put32(to->cable->now / 1000000000);
    put32(to->cable->now / 1000 % 1000000);
    put32(*len);
    put32(*len);
    g_byte_array_append(pcap, frame, *len);
    return true;
}

static void send_mad(TestEnd *end, uint8_t attribute, uint8_t flags)
{
    uint8_t data[288];
    IbPacket packet = { .data = data, .len = sizeof(data), .flags = flags };

    test_packet(data, sizeof(data), 0xffff, 0);
    memset(data + 28, 0, 256);
    data[28] = 1;               /* BaseVersion */
    data[29] = 0x81;            /* Subn, directed route */
    data[30] = 1;
    data[31] = 1;               /* Get */
    data[28 + 17] = attribute;
    ib_link_transmit(end->link, &packet, IB_VL_MGMT);
}

static void capture(bool crc)
{
    IbLinkConfig config = test_config();
    TestCable *c;

    config.crc = crc;
    pcap = g_byte_array_new();
    put32(0xa1b2c3d4);
    put32(2 << 16 | 4);
    put32(0);
    put32(0);
    put32(65536);
    put32(1);
    c = test_cable_new(&config, NULL);
    c->filter = record;
    test_cable_attach(c);
    test_cable_run(c, 60 * TEST_MS);
    send_mad(&c->end[0], 0x11, crc ? 0 : IB_PACKET_NO_ICRC);
    send_mad(&c->end[0], 0x15, crc ? 0 : IB_PACKET_NO_ICRC);
    ib_link_flush(c->end[0].link);
    ib_link_set_state(c->end[0].link, IB_PORT_DOWN);
    test_cable_free(c);
}

/* Wireshark 4.4 runs no script for root. */
static void be_nobody(gpointer opaque)
{
    if (geteuid() == 0 &&
        (setgroups(0, NULL) || setgid(65534) || setuid(65534))) {
        _exit(127);
    }
}

/* tshark's lines of the @fields of the frames that pass @display. */
static char *dissect(const char *path, const char *display,
                     const char *const *fields)
{
    g_autofree char *dir = g_path_get_dirname(path);
    g_autofree char *script = g_build_filename(dir, "ib-link.lua", NULL);
    g_autofree char *option = g_strconcat("lua_script:", script, NULL);
    g_autoptr(GPtrArray) args = g_ptr_array_new();
    g_auto(GStrv) env = g_environ_setenv(g_get_environ(), "HOME",
                                         "/nonexistent", true);
    char *out = NULL;
    GError *error = NULL;
    int status = -1;

    g_ptr_array_add(args, (void *)"tshark");
    g_ptr_array_add(args, (void *)"-n");
    g_ptr_array_add(args, (void *)"-X");
    g_ptr_array_add(args, option);
    g_ptr_array_add(args, (void *)"-r");
    g_ptr_array_add(args, (void *)path);
    g_ptr_array_add(args, (void *)"-Y");
    g_ptr_array_add(args, (void *)display);
    g_ptr_array_add(args, (void *)"-T");
    g_ptr_array_add(args, (void *)"fields");
    for (; *fields; fields++) {
        g_ptr_array_add(args, (void *)"-e");
        g_ptr_array_add(args, (void *)*fields);
    }
    g_ptr_array_add(args, NULL);
    g_spawn_sync(NULL, (char **)args->pdata, env,
                 G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, be_nobody,
                 NULL, &out, NULL, &status, &error);
    g_assert_no_error(error);
    g_assert_cmpint(status, ==, 0);
    return out;
}

static void check(const char *path, const char *display, const char *expected,
                  const char *const *fields)
{
    g_autofree char *lines = dissect(path, display, fields);
    /* Wireshark 4.4 has words for what was 1 and 0. */
    g_auto(GStrv) trues = g_strsplit(lines, "True", -1);
    g_autofree char *ones = g_strjoinv("1", trues);
    g_auto(GStrv) falses = g_strsplit(ones, "False", -1);
    g_autofree char *out = g_strjoinv("0", falses);

    g_assert_cmpstr(out, ==, expected);
}

#define FIELDS(...) ((const char *const[]) { __VA_ARGS__, NULL })

static void test_dissect(const void *opaque)
{
    bool crc = GPOINTER_TO_INT(opaque);
    g_autofree char *tshark = g_find_program_in_path("tshark");
    g_autofree char *dir = NULL;
    g_autofree char *path = NULL;
    g_autofree char *source = g_test_build_filename(G_TEST_DIST, SCRIPT, NULL);
    g_autofree char *script = NULL;
    g_autofree char *text = NULL;
    gsize len;

    if (!tshark) {
        g_test_skip("no tshark: apt-get install tshark");
        return;
    }
    dir = g_dir_make_tmp("ib-link-XXXXXX", NULL);
    path = g_build_filename(dir, "cable.pcap", NULL);
    script = g_build_filename(dir, "ib-link.lua", NULL);
    capture(crc);
    g_assert_true(g_file_set_contents(path, (char *)pcap->data, pcap->len,
                                      NULL));
    g_byte_array_unref(pcap);
    g_assert_true(g_file_get_contents(source, &text, &len, NULL));
    g_assert_true(g_file_set_contents(script, text, len, NULL));
    g_assert_cmpint(g_chmod(dir, 0755), ==, 0);
    g_assert_cmpint(g_chmod(path, 0644), ==, 0);
    g_assert_cmpint(g_chmod(script, 0644), ==, 0);

    check(path, "iblink.malformed || _ws.malformed", "",
          FIELDS("frame.number"));
    check(path, "iblink.training.kind",
          crc ? "1\t1\t65536\t0x03\n1\t1\t65536\t0x03\n2\t1\t65536\t0x03\n"
                "2\t1\t65536\t0x03\n1\t1\t65536\t0x03\n" :
                "1\t0\t65536\t0x03\n1\t0\t65536\t0x03\n2\t0\t65536\t0x03\n"
                "2\t0\t65536\t0x03\n1\t0\t65536\t0x03\n",
          FIELDS("iblink.training.kind", "iblink.training.crc",
                 "iblink.training.max_frame",
                 "iblink.training.width_enabled"));
    /* Two packets of one frame, each given to the InfiniBand dissector */
    check(path, "infiniband.mad",
          "0x81,0x81\t0x0011,0x0015\t65535,65535\t0x0f,0x0f\n",
          FIELDS("infiniband.mad.mgmtclass", "infiniband.mad.attributeid",
                 "infiniband.lrh.dlid", "infiniband.lrh.vl"));
    check(path, "iblink.packet.no_icrc", crc ? "0,0\n" : "1,1\n",
          FIELDS("iblink.packet.no_icrc"));
    check(path, "iblink.record.type == 5", "5\n",
          FIELDS("iblink.record.type"));
    check(path, "iblink.credit.vl && frame.number == 5",
          "0,1,2,3\t1024,1024,1024,1024\n",
          FIELDS("iblink.credit.vl", "iblink.credit.fccl"));

    g_unlink(path);
    g_unlink(script);
    g_rmdir(dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/link/wireshark/crc-off", GINT_TO_POINTER(false),
                         test_dissect);
    g_test_add_data_func("/link/wireshark/crc-on", GINT_TO_POINTER(true),
                         test_dissect);
    return g_test_run();
}
