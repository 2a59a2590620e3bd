/*
 * Captures: every byte of the file, and what tshark makes of it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#include <glib/gstdio.h>
#include "hw/infiniband/ib-packet.h"
#include "hw/infiniband/ib-pcap.h"
#include "hw/infiniband/ib-mad.h"
#include "hw/infiniband/ib-sm-attr.h"
#include "wire-sample.h"

/* 2001-09-09 01:46:40.75 UTC: 0.75 is 0xc0000000 as a binary fraction */
#define TIME_NS (INT64_C(1000000000750000000))

static char *temp_path(void)
{
    char *path = NULL;
    int fd = g_file_open_tmp("ib-pcap-XXXXXX", &path, NULL);

    g_assert_cmpint(fd, >=, 0);
    close(fd);
    return path;
}

static void test_bytes(void)
{
    static const uint8_t want[] = {
        0x4d, 0x3c, 0xb2, 0xa1, 0x02, 0x00, 0x04, 0x00,     /* file header */
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0xff, 0xff, 0x00, 0x00, 0xc5, 0x00, 0x00, 0x00,
        0x00, 0xca, 0x9a, 0x3b, 0x80, 0x17, 0xb4, 0x2c,     /* pcap record */
        0x4a, 0x00, 0x00, 0x00, 0x4a, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0xc0, 0x00, 0xca, 0x9a, 0x3b,     /* ERF header */
        0x15, 0x05, 0x00, 0x4a, 0x00, 0x00, 0x00, 0x3a,
    };
    g_autofree char *path = temp_path();
    g_autofree char *got = NULL;
    gsize len;
    IbPcap *pcap = ib_pcap_open(path, NULL);

    g_assert_nonnull(pcap);
    g_assert_true(ib_pcap_write_dir(pcap, IB_PCAP_SENT, TIME_NS,
                                    sample_packet, 56, 0x45fa));
    ib_pcap_close(pcap);
    g_assert_true(g_file_get_contents(path, &got, &len, NULL));
    g_assert_cmpint(len, ==, sizeof(want) + 58);
    g_assert_cmpmem(got, sizeof(want), want, sizeof(want));
    g_assert_cmpmem(got + sizeof(want), 56, sample_packet, 56);
    g_assert_cmpmem(got + sizeof(want) + 56, 2, "\x45\xfa", 2);
    g_unlink(path);
}

static void test_errors(void)
{
    g_autofree char *err = NULL;
    g_autofree char *path = temp_path();
    static const uint8_t big[65536];
    IbPcap *pcap;

    g_assert_null(ib_pcap_open("/nonexistent/x.pcap", &err));
    g_assert_nonnull(strstr(err, "/nonexistent/x.pcap"));
    g_assert_null(ib_pcap_open("/nonexistent/x.pcap", NULL));
    ib_pcap_close(NULL);

    pcap = ib_pcap_open(path, NULL);
    g_assert_nonnull(pcap);
    g_assert_false(ib_pcap_write(pcap, 0, big, 65535 - 17, 0));
    g_assert_false(ib_pcap_write(pcap, 0, big, 0, 0));
    g_assert_cmpint(ib_pcap_lost(pcap), ==, 2);
    g_assert_true(ib_pcap_write(pcap, 0, big, 65535 - 18, 0));
    g_assert_cmpint(ib_pcap_lost(pcap), ==, 2);
    ib_pcap_close(pcap);
    g_unlink(path);
}

/* A full disk costs records, not the process; what was written stays. */
static void test_disk_full(void)
{
    const struct rlimit limit = { 300 * 1024, RLIM_INFINITY };
    struct rlimit old;
    g_autofree char *path = temp_path();
    GStatBuf st;
    IbPcap *pcap;
    int i;

    g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &old), ==, 0);
    signal(SIGXFSZ, SIG_IGN);
    pcap = ib_pcap_open(path, NULL);
    g_assert_nonnull(pcap);
    g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &limit), ==, 0);
    for (i = 0; i < 20000; i++) {
        ib_pcap_write(pcap, 0, sample_packet, 56, 0);
    }
    g_assert_cmpint(ib_pcap_lost(pcap), >, 0);
    g_assert_cmpint(ib_pcap_lost(pcap), <, 20000);
    ib_pcap_close(pcap);
    setrlimit(RLIMIT_FSIZE, &old);
    g_assert_cmpint(g_stat(path, &st), ==, 0);
    g_assert_cmpint(st.st_size, ==, 300 * 1024);
    g_unlink(path);
}

/* A directed-route Get(NodeInfo) as OpenSM sends it */
static size_t build_smp(uint8_t *buf)
{
    IbPacketRoute route = {
        .vl = IB_VL_SM, .dlid = IB_LID_PERMISSIVE, .slid = IB_LID_PERMISSIVE,
    };
    IbPacketBth bth = {
        .opcode = IB_OP_UD_SEND_ONLY, .pkey = IB_PKEY_DEFAULT, .psn = 0x102,
    };
    size_t at = ib_packet_put_ud(buf, &route, &bth, 0, IB_QPN_SMI, 0,
                                 IB_MAD_BYTES);

    ib_mad_init(buf + at, IB_CLASS_SUBN_DIRECTED_ROUTE, IB_CLASS_VERSION_SUBN,
                IB_METHOD_GET_RESP, 0xabc, IB_SM_ATTR_NODE_INFO, 0);
    ib_field_set(buf + at, IB_SMP_D, 1);
    ib_field_set(buf + at, IB_SMP_HOP_COUNT, 2);
    ib_put_be64(buf + at + IB_SMP_DATA_OFFSET + IB_NODEINFO_NODE_GUID_OFFSET,
                0x0002c90300a1b2c3);
    ib_field_set(buf + at + IB_SMP_DATA_OFFSET, IB_NODEINFO_NUM_PORTS, 36);
    return ib_packet_seal(buf, true);
}

static char *tshark(const char *path, const char *const *fields)
{
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    char *out = NULL;
    int status = -1;

    g_ptr_array_add(argv, (char *)"tshark");
    g_ptr_array_add(argv, (char *)"-r");
    g_ptr_array_add(argv, (char *)path);
    g_ptr_array_add(argv, (char *)"-T");
    g_ptr_array_add(argv, (char *)"fields");
    for (; *fields; fields++) {
        g_ptr_array_add(argv, (char *)"-e");
        g_ptr_array_add(argv, (char *)*fields);
    }
    g_ptr_array_add(argv, NULL);
    g_assert_true(g_spawn_sync(NULL, (char **)argv->pdata, NULL,
                               G_SPAWN_SEARCH_PATH |
                               G_SPAWN_STDERR_TO_DEV_NULL,
                               NULL, NULL, &out, NULL, &status, NULL));
    g_assert_cmpint(status, ==, 0);
    return out;
}

static void test_tshark(void)
{
    static const char *const fields[] = {
        "frame.protocols", "frame.time_epoch", "erf.flags.cap", "erf.wlen",
        "infiniband.lrh.vl", "infiniband.lrh.dlid", "infiniband.lrh.slid",
        "infiniband.bth.opcode", "infiniband.bth.psn",
        "infiniband.mad.mgmtclass", "infiniband.mad.method",
        "infiniband.mad.transactionid", "infiniband.nodeinfo.nodeguid",
        "infiniband.nodeinfo.numports", "infiniband.invariant.crc",
        "infiniband.variant.crc", NULL
    };
    g_autofree char *tool = g_find_program_in_path("tshark");
    g_autofree char *path = temp_path();
    g_autofree char *out = NULL;
    g_autofree char *want = NULL;
    uint8_t smp[512];
    uint16_t vcrc;
    size_t len;
    IbPcap *pcap;

    if (!tool) {
        g_test_skip("tshark is not installed");
        return;
    }
    len = build_smp(smp);
    vcrc = ib_vcrc(smp, len);
    pcap = ib_pcap_open(path, NULL);
    ib_pcap_write(pcap, TIME_NS, smp, len, vcrc);
    ib_pcap_write_dir(pcap, IB_PCAP_SENT, TIME_NS + 1, sample_packet, 56,
                      0x45fa);
    ib_pcap_close(pcap);

    out = tshark(path, fields);
    want = g_strdup_printf(
        "erf:infiniband\t1000000000.750000000\t0\t%zu\t"
        "0x0f\t65535\t65535\t100\t258\t0x81\t0x81\t0x0000000000000abc\t"
        "0x0002c90300a1b2c3\t0x24\t0x%08x\t0x%04x\n"
        "erf:infiniband:data\t1000000000.750000001\t1\t58\t"
        "0x07\t14172\t6098\t10\t912426\t\t\t\t\t\t0x9625b75a\t0x45fa\n",
        len + 2, ib_get_be32(smp + len - 4), vcrc);
    g_assert_cmpstr(out, ==, want);
    g_unlink(path);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/wire/pcap/bytes", test_bytes);
    g_test_add_func("/wire/pcap/errors", test_errors);
    g_test_add_func("/wire/pcap/disk-full", test_disk_full);
    g_test_add_func("/wire/pcap/tshark", test_tshark);
    return g_test_run();
}
