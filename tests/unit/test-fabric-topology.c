/*
 * Topology files: what they describe, and what is said of broken ones
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "hw/infiniband/ib-fabric.h"
#include "hw/infiniband/ib-sm-attr.h"

static char *folder;

static char *path_of(const char *name)
{
    return g_build_filename(folder, name, NULL);
}

static void write_file(const char *name, const char *text, size_t len)
{
    g_autofree char *path = path_of(name);

    g_assert_true(g_file_set_contents(path, text, len, NULL));
}

static IbTopology *read_text(const char *text)
{
    g_autofree char *path = path_of("net");
    g_autoptr(GError) error = NULL;
    IbTopology *t;

    write_file("net", text, strlen(text));
    t = ib_topology_read(path, &error);
    g_assert_no_error(error);
    g_assert_nonnull(t);
    return t;
}

/* What is said of @name, without the folder in front. */
static void assert_error(const char *name, const char *expected)
{
    g_autofree char *path = path_of(name);
    g_autofree char *prefix = g_strconcat(folder, "/", NULL);
    g_auto(GStrv) parts = NULL;
    g_autofree char *said = NULL;
    g_autoptr(GError) error = NULL;

    g_assert_null(ib_topology_read(path, &error));
    g_assert_error(error, IB_TOPOLOGY_ERROR, 0);
    parts = g_strsplit(error->message, prefix, -1);
    said = g_strjoinv("", parts);
    g_assert_cmpstr(said, ==, expected);
}

static void assert_cable(const IbTopology *t, const char *a, uint8_t port_a,
                         const char *b, uint8_t port_b)
{
    const IbTopologyNode *na = ib_topology_find(t, a);
    const IbTopologyNode *nb = ib_topology_find(t, b);

    g_assert_nonnull(na);
    g_assert_nonnull(nb);
    g_assert_true(na->ports[port_a].cabled);
    g_assert_true(nb->ports[port_b].cabled);
    g_assert_true(&t->nodes[na->ports[port_a].peer] == nb);
    g_assert_true(&t->nodes[nb->ports[port_b].peer] == na);
    g_assert_cmpint(na->ports[port_a].peer_port, ==, port_b);
    g_assert_cmpint(nb->ports[port_b].peer_port, ==, port_a);
}

/* As ibnetdiscover prints it. */
static void test_ibnetdiscover(void)
{
    IbTopology *t = read_text(
        "#\n# Topology file: generated on Tue Jun  5 14:15:10 2007\n#\n"
        "Non-Chassis Nodes\n"
        "\n"
        "vendid=0x8f1\n"
        "devid=0x5a06\n"
        "sysimgguid=0x5442ba00003000\n"
        "switchguid=0x5442ba00003080(5442ba00003081)\n"
        "Switch\t24 \"S-005442ba00003080\"\t\t# \"a switch\" enhanced port 0 "
        "lid 6 lmc 0\n"
        "[22]\t\"H-0008f10403961354\"[2](8f10403961356) \t\t# \"x\" 4xSDR\n"
        "[10][ext 3]\t\"H-0008f10403961354\"[1][ext 4](8f10403961355)\n"
        "\n"
        "vendid=0x2c9\n"
        "devid=0x5a44\n"
        "caguid=0x8f10403961354\n"
        "Ca\t2 \"H-0008f10403961354\"\t\t# \"host 1\"\n"
        "[2](8f10403961356) \t\"S-005442ba00003080\"[22]\t\t# lid 4 lmc 1\n"
        "[1](8f10403961355) \t\"S-005442ba00003080\"[10]\t\t# lid 5 lmc 1\n");
    const IbTopologyNode *n = &t->nodes[0];

    g_assert_cmpint(t->num_nodes, ==, 2);
    g_assert_cmpint(t->num_cables, ==, 2);
    g_assert_cmpint(n->type, ==, IB_NODE_TYPE_SWITCH);
    g_assert_cmpint(n->num_ports, ==, 24);
    g_assert_cmpstr(n->description, ==, "a switch");
    g_assert_true(n->enhanced_port0);
    g_assert_cmphex(n->vendor_id, ==, 0x8f1);
    g_assert_cmphex(n->device_id, ==, 0x5a06);
    g_assert_cmphex(n->system_guid, ==, 0x5442ba00003000);
    g_assert_cmphex(n->node_guid, ==, 0x5442ba00003080);
    g_assert_cmphex(n->port_guid, ==, 0x5442ba00003081);
    n = &t->nodes[1];
    g_assert_cmpint(n->type, ==, IB_NODE_TYPE_CA);
    g_assert_cmpstr(n->description, ==, "host 1");
    g_assert_cmphex(n->vendor_id, ==, 0x2c9);
    g_assert_cmphex(n->system_guid, ==, 0x8f10403961354);
    g_assert_cmphex(n->port_guid, ==, 0x8f10403961355);
    assert_cable(t, "S-005442ba00003080", 22, "H-0008f10403961354", 2);
    assert_cable(t, "S-005442ba00003080", 10, "H-0008f10403961354", 1);
    g_assert_false(t->nodes[0].ports[1].cabled);
    ib_topology_free(t);
}

/* As ibsim's own examples are: names, no GUIDs, options, one-sided cables */
static void test_ibsim(void)
{
    IbTopology *t = read_text(
        "Switch\t8 \"Switch1\"\n"
        "[1]\t\"Hca1\"\t w=8 s=2 # wide\n"
        "# a comment does not end a node\n"
        "[3]\t\"Switch2\"[5]\n"
        "\n"
        "Switch 8 \"Switch2\"\n"
        "\n"
        "Hca\t2 \"Hca1\"\n"
        "\n"
        "Hca 1 \"Hca2\"");

    g_assert_cmpint(t->num_nodes, ==, 4);
    g_assert_cmpint(t->num_cables, ==, 2);
    assert_cable(t, "Switch1", 1, "Hca1", 1);
    assert_cable(t, "Switch1", 3, "Switch2", 5);
    g_assert_cmpint(t->nodes[0].ports[1].width, ==, 8);
    g_assert_cmpint(t->nodes[0].ports[1].speed, ==, 2);
    g_assert_cmpint(t->nodes[0].ports[3].width, ==, 0);
    g_assert_cmpstr(t->nodes[2].description, ==, "Hca1");
    g_assert_cmphex(t->nodes[0].node_guid, ==, 0x100000);
    g_assert_cmphex(t->nodes[1].node_guid, ==, 0x100001);
    g_assert_cmphex(t->nodes[1].port_guid, ==, 0x100001);
    g_assert_cmphex(t->nodes[2].node_guid, ==, 0x200200);
    g_assert_cmphex(t->nodes[2].port_guid, ==, 0x200201);
    g_assert_cmphex(t->nodes[3].node_guid, ==, 0x200300);
    ib_topology_free(t);
}

/* Both ends' comments, one end's, and what is no rate */
static void test_rates(void)
{
    static const struct {
        uint8_t port, width;
        uint16_t speed;
    } rows[] = {
        { 1, IB_LINK_WIDTH_4X, IB_LINK_SPEED_SDR },
        { 2, IB_LINK_WIDTH_12X, IB_LINK_SPEED_EXT_EDR << 4 },
        { 3, IB_LINK_WIDTH_2X, IB_LINK_SPEED_EXT_HDR << 4 },
        { 4, IB_LINK_WIDTH_1X, IB_LINK_SPEED_QDR },
        { 5, 0, 0 },
        { 6, 0, 0 },
        { 7, 0, 0 },
        { 8, 0, 0 },
    };
    IbTopology *t = read_text(
        "Switch 8 \"s\"\n"
        "[1]\t\"h\"[1](200001) \t\t# \"h 12xHDR\" lid 6 4xSDR\n"
        "[2]\t\"h\"[2]\n"
        "[3]\t\"h\"[3]\t\t# \"h\" lid 6 2xHDR s=1 w=2\n"
        "[4]\t\"h\"[4] # \"h\" 1xFDR10\n"
        "[5]\t\"h\"[5] # \"4xEDR\" lid 6 ???\n"
        "[6]\t\"h\"[6] # 4xEDRs 16xSDR 4x SDR\n"
        "[7]\t\"h\"[7] # \"4xEDR\n"
        "[8]\t\"h\"[8] s=2 # \"h\" 4xEDR\n"
        "\n"
        "Hca 8 \"h\"\n"
        "[1](200001)\t\"s\"[1]\t\t# lid 6 lmc 0 \"s\" lid 1 1xDDR\n"
        "[2]\t\"s\"[2]\t\t# lid 6 lmc 0 \"s\" lid 1 12xEDR\n"
        "[8]\t\"s\"[8]\t\t# \"s\" lid 1 4xEDR\n");
    const IbTopologyNode *s = ib_topology_find(t, "s");
    const IbTopologyNode *h = ib_topology_find(t, "h");
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(rows); i++) {
        const IbTopologyPort *port = &s->ports[rows[i].port];

        g_assert_cmphex(port->rate_width, ==, rows[i].width);
        g_assert_cmphex(port->rate_speed, ==, rows[i].speed);
        if (i > 0) {
            port = &h->ports[rows[i].port];
            g_assert_cmphex(port->rate_width, ==, rows[i].width);
            g_assert_cmphex(port->rate_speed, ==, rows[i].speed);
        }
    }
    g_assert_cmphex(h->ports[1].rate_width, ==, IB_LINK_WIDTH_1X);
    g_assert_cmphex(h->ports[1].rate_speed, ==, IB_LINK_SPEED_DDR);
    ib_topology_free(t);
}

static void test_include(void)
{
    static const char inner[] = "Hca 1 \"h\"\n[1] \"s\"[2]\n";
    IbTopology *t;

    write_file("inner", inner, strlen(inner));
    t = read_text("include \"inner\"\nSwitch 2 \"s\"\n");
    assert_cable(t, "h", 1, "s", 2);
    ib_topology_free(t);
}

/* A router is a node as a CA is. */
static void test_router(void)
{
    IbTopology *t = read_text(
        "Switch\t8 \"S-0000000000000010\"\n"
        "rtguid=0x20\n"
        "Rt\t2 \"R-0000000000000020\"\t\t# \"a router\"\n"
        "[2](22) \t\"S-0000000000000010\"[3]\t\t# lid 4 lmc 0 4xQDR\n"
        "\n"
        "Rt\t2 \"R-0000000000000030\"\n");
    const IbTopologyNode *n = &t->nodes[1];

    g_assert_cmpint(t->num_nodes, ==, 3);
    g_assert_cmpint(n->type, ==, IB_NODE_TYPE_ROUTER);
    g_assert_cmpstr(n->description, ==, "a router");
    g_assert_cmphex(n->node_guid, ==, 0x20);
    g_assert_cmphex(n->port_guid, ==, 0x21);
    assert_cable(t, "R-0000000000000020", 2, "S-0000000000000010", 3);
    g_assert_cmphex(t->nodes[2].node_guid, ==, 0x30);
    ib_topology_free(t);
}

typedef struct Broken {
    const char *name, *text, *error;
} Broken;

static const Broken broken[] = {
    { "empty", "# nothing\n", "net:1: no node" },
    { "port-twice",
      "Switch 4 \"s\"\n[1] \"h\"[1]\n[1] \"h\"[2]\n\nCa 2 \"h\"\n",
      "net:3: port 1 of \"s\" is there twice" },
    { "end-twice",
      "Switch 4 \"s\"\n[1] \"h\"[1]\n[2] \"h\"[1]\n\nCa 2 \"h\"\n",
      "net:3: port 2 of \"s\" or port 1 of \"h\" has another cable" },
    { "ends-differ",
      "Switch 4 \"s\"\n[1] \"h\"[1]\n\nCa 2 \"h\"\n[1] \"s\"[2]\n",
      "net:5: port 1 of \"h\" or port 2 of \"s\" has another cable" },
    { "itself", "Switch 4 \"s\"\n[3] \"s\"[3]\n",
      "net:2: port 3 of \"s\" leads to itself" },
    { "unknown-peer", "Switch 4 \"s\"\n[3] \"nobody\"[3]\n",
      "net:2: unknown peer \"nobody\"" },
    { "peer-port", "Switch 4 \"s\"\n[3] \"h\"[3]\n\nCa 2 \"h\"\n",
      "net:2: \"h\" has ports 1 to 2" },
    { "peer-port-0", "Switch 4 \"s\"\n[3] \"h\"[0]\n\nCa 2 \"h\"\n",
      "net:2: the peer's port is 1 to 254" },
    { "port-0", "Switch 4 \"s\"\n[0] \"s\"[3]\n",
      "net:2: \"s\" has ports 1 to 4" },
    { "port-beyond", "Switch 4 \"s\"\n[5] \"s\"[3]\n",
      "net:2: \"s\" has ports 1 to 4" },
    { "port-huge", "Switch 4 \"s\"\n[4294967297] \"s\"[3]\n",
      "net:2: \"s\" has ports 1 to 4" },
    { "no-peer", "Switch 4 \"s\"\n[1] \"s[3]\n",
      "net:2: no peer in quotes after port 1" },
    { "no-node", "[1] \"s\"[3]\n", "net:1: a port without a node before it" },
    { "record-ended", "Switch 4 \"s\"\n\n[1] \"s\"[3]\n",
      "net:3: a port without a node before it" },
    { "no-name", "Switch 4\n",
      "net:1: no name in quotes after the number of ports" },
    { "ports-0", "Switch 0 \"s\"\n", "net:1: a node has 1 to 254 ports" },
    { "ports-255", "Switch 255 \"s\"\n", "net:1: a node has 1 to 254 ports" },
    { "node-twice", "Switch 4 \"s\"\n\nCa 4 \"s\"\n",
      "net:3: \"s\" is there twice" },
    { "guid-twice",
      "caguid=0x1\nCa 1 \"a\"\ncaguid=0x1\nCa 1 \"b\"\n",
      "net:4: the GUID of \"b\" is there twice" },
    { "no-guid-in-line", "caguid=\nCa 1 \"a\"\n",
      "net:1: no GUID after the =" },
    { "guid-0", "caguid=0x0\nCa 1 \"a\"\n", "net:1: no GUID after the =" },
    { "guid-too-long", "caguid=0x10000000000000000\n",
      "net:1: no GUID after the =" },
    { "no-guid", "Ca 1 \"b\"\n\ncaguid=0x1\nCa 1 \"a\"\n",
      "net:1: no GUID for \"b\", but others have one" },
    { "port-guids", "Ca 2 \"h\"\n[1](5) \"h\"[2](7)\n[2](7) \"h\"[1](5)\n",
      "net:3: GUIDs of a node's ports that do not follow each other are not "
      "supported" },
    { "port-guids-end", "Ca 2 \"h\"\n[1](ffffffffffffffff) \"h\"[2]\n",
      "net:1: the GUIDs of the ports of \"h\" do not fit into 64 bits" },
    { "port-guid-after-last", "caguid=0xffffffffffffffff\nCa 1 \"h\"\n",
      "net:2: the GUIDs of the ports of \"h\" do not fit into 64 bits" },
    { "port-guid-before-first", "Ca 2 \"h\"\n[2](1) \"h\"[1]\n",
      "net:2: no GUID in the parentheses" },
    { "vendor", "vendid=0x1000000\n",
      "net:1: no hexadecimal number up to 0xffffff after the =" },
    { "width", "Switch 4 \"s\"\n[1] \"s\"[2] w=3\n",
      "net:2: w= is one of 1, 2, 4, 8" },
    { "width-long", "Switch 4 \"s\"\n[1] \"s\"[2] w=12\n",
      "net:2: w= is one of 1, 2, 4, 8" },
    { "option", "Switch 4 \"s\"\n[1] \"s\"[2] x=3\n",
      "net:2: neither w= nor s= nor # after the peer" },
    { "module", "module x\n", "net:1: \"module\" is not supported" },
    { "include-nothing", "include foo\n",
      "net:1: no file in quotes after include" },
    { "include-missing", "\ninclude \"none\"\n",
      "net:2: none: No such file or directory" },
    { "include-folder", "include \".\"\n", "net:1: .: not a file" },
    { "include-itself", "#\ninclude \"net\"\n",
      "net:2: net includes itself" },
};

static void test_broken(const void *data)
{
    const Broken *b = data;

    write_file("net", b->text, strlen(b->text));
    assert_error("net", b->error);
}

static void test_include_loop(void)
{
    static const char a[] = "include \"b\"\n", b[] = "\ninclude \"a\"\n";

    write_file("a", a, strlen(a));
    write_file("b", b, strlen(b));
    assert_error("a", "b:2: a includes itself");
}

/* Includes that double at each level end, too. */
static void test_include_tree(void)
{
    unsigned i;

    for (i = 0; i < 20; i++) {
        g_autofree char *name = g_strdup_printf("t%u", i);
        g_autofree char *text = g_strdup_printf(
            "include \"t%u\"\ninclude \"t%u\"\n", i + 1, i + 1);

        write_file(name, text, strlen(text));
    }
    assert_error("t0", "t15:1: includes are nested more than 16 deep");
    write_file("t10", "", 0);
    assert_error("t0", "t9:2: more than 64 files");
}

static void test_lines(void)
{
    g_autofree char *text = g_strnfill(IB_TOPOLOGY_LINE_MAX + 1, '#');
    g_autofree char *path = path_of("net");

    write_file("net", text, IB_TOPOLOGY_LINE_MAX);
    assert_error("net", "net:1: no node");
    write_file("net", text, IB_TOPOLOGY_LINE_MAX + 1);
    assert_error("net", "net:1: a line of more than 1023 bytes");
    write_file("net", "#\n\0\n", 4);
    assert_error("net", "net:2: a byte of 0");
    /* A gigabyte without an end of line; sparse. */
    text[0] = '#';
    write_file("net", text, 1000);
    g_assert_cmpint(truncate(path, 1 << 30), ==, 0);
    assert_error("net", "net:1: a byte of 0");
}

static void test_fifo(void)
{
    g_autofree char *path = path_of("fifo");

    g_assert_cmpint(mkfifo(path, 0600), ==, 0);
    assert_error("fifo", "fifo:0: fifo: not a file");
}

/* Any cut of a good file, and any byte changed, is read or refused. */
static void test_mutations(void)
{
    static const char good[] =
        "vendid=0x8f1\nsysimgguid=0x10\nswitchguid=0x11(12)\n"
        "Switch 3 \"S-0000000000000011\" # \"d\" base port 0\n"
        "[1] \"H-0000000000000021\"[1](22) w=4 # x\n\n"
        "caguid=0x21\nCa 1 \"H-0000000000000021\"\n"
        "[1](22) \"S-0000000000000011\"[1]\n";
    static const char bytes[] = "\n\"[]()#=0 9f\xff";
    g_autofree char *path = path_of("net");
    size_t i, k;

    for (i = 0; i < strlen(good); i++) {
        for (k = 0; k < sizeof(bytes); k++) {
            g_autofree char *text = g_strdup(good);
            g_autoptr(GError) error = NULL;
            IbTopology *t;

            text[i] = bytes[k];
            write_file("net", text, k ? strlen(good) : i);
            t = ib_topology_read(path, &error);
            g_assert_true(!t == !!error);
            g_clear_pointer(&t, ib_topology_free);
        }
    }
}

int main(int argc, char **argv)
{
    unsigned i;
    int result;
    const char *name;
    GDir *dir;

    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("topology-XXXXXX", NULL);
    g_test_add_func("/fabric/topology/ibnetdiscover", test_ibnetdiscover);
    g_test_add_func("/fabric/topology/ibsim", test_ibsim);
    g_test_add_func("/fabric/topology/router", test_router);
    g_test_add_func("/fabric/topology/rates", test_rates);
    g_test_add_func("/fabric/topology/include", test_include);
    for (i = 0; i < G_N_ELEMENTS(broken); i++) {
        g_autofree char *path = g_strconcat("/fabric/topology/broken/",
                                            broken[i].name, NULL);

        g_test_add_data_func(path, &broken[i], test_broken);
    }
    g_test_add_func("/fabric/topology/include-loop", test_include_loop);
    g_test_add_func("/fabric/topology/include-tree", test_include_tree);
    g_test_add_func("/fabric/topology/lines", test_lines);
    g_test_add_func("/fabric/topology/fifo", test_fifo);
    g_test_add_func("/fabric/topology/mutations", test_mutations);
    result = g_test_run();
    dir = g_dir_open(folder, 0, NULL);
    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *path = path_of(name);

        g_unlink(path);
    }
    g_clear_pointer(&dir, g_dir_close);
    g_rmdir(folder);
    g_free(folder);
    return result;
}
