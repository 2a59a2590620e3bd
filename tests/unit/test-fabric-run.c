/*
 * A fabric in memory: links, MADs, cables that come and go
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>
#include "hw/infiniband/ib-fabric-host.h"
#include "hw/infiniband/ib-agent.h"
#include "hw/infiniband/ib-mad.h"
#include "hw/infiniband/ib-packet.h"

#define MS  INT64_C(1000000)

typedef struct World {
    IbTopology *topology;
    IbFabric *fabric;
    int64_t now;
    unsigned received;
    IbFabricMad last;
} World;

static int64_t world_now(void *opaque)
{
    return ((World *)opaque)->now;
}

static uint32_t world_random(void *opaque)
{
    static uint32_t state = 1;

    return state = state * 1664525 + 1013904223;
}

static const IbFabricOps world_ops = {
    .now = world_now, .random = world_random,
};

static bool world_receive(void *opaque, const IbFabricMad *mad)
{
    World *w = opaque;

    w->received++;
    w->last = *mad;
    return true;
}

static void world_init(World *w, const char *text)
{
    g_autofree char *path = NULL;
    g_autoptr(GError) error = NULL;
    int fd = g_file_open_tmp("ib-fabric-XXXXXX", &path, NULL);

    g_assert_cmpint(fd, >=, 0);
    close(fd);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    memset(w, 0, sizeof(*w));
    w->now = 1000 * MS;
    w->topology = ib_topology_read(path, &error);
    g_assert_no_error(error);
    g_unlink(path);
    w->fabric = ib_fabric_new(w->topology, &world_ops, w);
    ib_fabric_set_receiver(w->fabric, world_receive, w);
}

static void world_clear(World *w)
{
    ib_fabric_free(w->fabric);
    ib_topology_free(w->topology);
}

/* a - s1 - s2 - b, and a spare port on s2. */
static const char two_switches[] =
    "Switch 3 \"s1\"\n[1] \"a\"[1]\n[2] \"s2\"[1]\n\n"
    "Switch 4 \"s2\"\n[2] \"b\"[1]\n\n"
    "Ca 1 \"a\"\n\nCa 2 \"b\"\n";

static uint32_t find(World *w, const char *name)
{
    int64_t index = ib_fabric_find(w->fabric, name);

    g_assert_cmpint(index, >=, 0);
    return index;
}

static IbLink *link_of(World *w, const char *name, uint8_t port)
{
    return ib_fabric_link(w->fabric, find(w, name), port);
}

/* A directed-route Get from @from through @hops ports; false: no answer. */
static bool get_smp(World *w, const char *from, uint16_t attribute,
                    const uint8_t *path, unsigned hops)
{
    IbFabricMad mad = {
        .node = find(w, from), .port = 1, .dlid = IB_LID_PERMISSIVE,
    };
    unsigned before = w->received;

    ib_field_set(mad.data, IB_MAD_BASE_VERSION, 1);
    ib_field_set(mad.data, IB_MAD_MGMT_CLASS, IB_CLASS_SUBN_DIRECTED_ROUTE);
    ib_field_set(mad.data, IB_MAD_CLASS_VERSION, 1);
    ib_field_set(mad.data, IB_MAD_METHOD, IB_METHOD_GET);
    ib_field_set(mad.data, IB_MAD_ATTRIBUTE_ID, attribute);
    ib_field_set(mad.data, IB_SMP_HOP_COUNT, hops);
    ib_field_set(mad.data, IB_SMP_DR_SLID, IB_LID_PERMISSIVE);
    ib_field_set(mad.data, IB_SMP_DR_DLID, IB_LID_PERMISSIVE);
    memcpy(mad.data + IB_SMP_INITIAL_PATH_OFFSET + 1, path, hops);
    ib_fabric_send(w->fabric, &mad);
    ib_fabric_run(w->fabric);
    return w->received == before + 1 &&
           ib_field_get(w->last.data, IB_MAD_METHOD) == IB_METHOD_GET_RESP &&
           ib_field_get(w->last.data, IB_MAD_STATUS) == 0x8000;
}

static void test_up_at_once(void)
{
    World w;

    world_init(&w, two_switches);
    g_assert_cmpint(ib_link_state(link_of(&w, "s1", 1)), ==, IB_PORT_INIT);
    g_assert_cmpint(ib_link_state(link_of(&w, "s1", 2)), ==, IB_PORT_INIT);
    g_assert_cmpint(ib_link_state(link_of(&w, "b", 1)), ==, IB_PORT_INIT);
    g_assert_cmpint(ib_link_state(link_of(&w, "b", 2)), ==, IB_PORT_DOWN);
    g_assert_cmpint(ib_link_width_active(link_of(&w, "b", 1)), ==,
                    IB_LINK_WIDTH_4X);
    /* An hour's silence is no reason to go down. */
    w.now += 5400 * 1000 * MS;
    ib_fabric_run(w.fabric);
    w.now += 5400 * 1000 * MS;
    ib_fabric_run(w.fabric);
    g_assert_cmpint(ib_link_state(link_of(&w, "s1", 2)), ==, IB_PORT_INIT);
    world_clear(&w);
}

static void test_smp_way(void)
{
    static const uint8_t path[] = { 1, 2, 2 };
    const uint8_t *name;
    World w;

    world_init(&w, two_switches);
    g_assert_true(get_smp(&w, "a", IB_SM_ATTR_NODE_DESCRIPTION, path, 3));
    name = w.last.data + IB_SMP_DATA_OFFSET;
    g_assert_cmpstr((const char *)name, ==, "b");
    g_assert_cmpint(w.last.data[IB_SMP_RETURN_PATH_OFFSET + 3], ==, 1);
    g_assert_true(get_smp(&w, "a", IB_SM_ATTR_NODE_DESCRIPTION, path, 0));
    g_assert_cmpstr((const char *)name, ==, "a");
    g_assert_true(get_smp(&w, "a", IB_SM_ATTR_SWITCH_INFO, path, 2));
    /* Each hop counts it once. */
    g_assert_cmpuint(ib_link_counters(link_of(&w, "s1", 2))->xmit_pkts, ==,
                     2);
    g_assert_cmpuint(ib_link_counters(link_of(&w, "s2", 2))->rcv_pkts, ==, 1);
    world_clear(&w);
}

/* ibsim stops at 16. */
static void test_many_hops(void)
{
    GString *text = g_string_new("Ca 1 \"first\"\n[1] \"s0\"[1]\n\n"
                                 "Ca 1 \"last\"\n[1] \"s39\"[2]\n\n");
    uint8_t path[41];
    World w;
    unsigned i;

    for (i = 0; i < 40; i++) {
        g_string_append_printf(text, "Switch 2 \"s%u\"\n", i);
        if (i < 39) {
            g_string_append_printf(text, "[2] \"s%u\"[1]\n", i + 1);
        }
        g_string_append(text, "\n");
    }
    world_init(&w, text->str);
    path[0] = 1;
    memset(path + 1, 2, 40);
    g_assert_true(get_smp(&w, "first", IB_SM_ATTR_NODE_DESCRIPTION, path, 41));
    g_assert_cmpstr((const char *)w.last.data + IB_SMP_DATA_OFFSET, ==,
                    "last");
    world_clear(&w);
    g_string_free(text, TRUE);
}

static void test_cable_pulled(void)
{
    static const uint8_t path[] = { 1, 2, 2 };
    World w;

    world_init(&w, two_switches);
    g_assert_true(ib_fabric_is_prompt(w.fabric));
    g_assert_true(ib_fabric_cable_set(w.fabric, find(&w, "s2"), 1, false));
    ib_fabric_run(w.fabric);
    g_assert_cmpint(ib_link_state(link_of(&w, "s1", 2)), ==, IB_PORT_DOWN);
    g_assert_cmpint(ib_link_state(link_of(&w, "s2", 1)), ==, IB_PORT_DOWN);
    g_assert_false(ib_fabric_cable_plugged(w.fabric, find(&w, "s1"), 2));
    g_assert_false(get_smp(&w, "a", IB_SM_ATTR_NODE_DESCRIPTION, path, 3));
    g_assert_true(ib_fabric_cable_set(w.fabric, find(&w, "s1"), 2, true));
    ib_fabric_run(w.fabric);
    g_assert_cmpint(ib_link_state(link_of(&w, "s1", 2)), ==, IB_PORT_INIT);
    g_assert_true(get_smp(&w, "a", IB_SM_ATTR_NODE_DESCRIPTION, path, 3));
    /* No cable there, no port there. */
    g_assert_false(ib_fabric_cable_set(w.fabric, find(&w, "b"), 2, false));
    g_assert_false(ib_fabric_cable_set(w.fabric, find(&w, "b"), 3, false));
    world_clear(&w);
}

static void test_bad_cable(void)
{
    static const uint8_t path[] = { 1, 2, 2 };
    IbLinkInject all = { .drop = 1000000, .vls = 0xffff };
    IbLinkInject none = { .vls = 0xffff };
    World w;

    world_init(&w, two_switches);
    g_assert_true(ib_fabric_set_inject(w.fabric, find(&w, "s2"), 1, &all));
    g_assert_false(ib_fabric_is_prompt(w.fabric));
    g_assert_false(get_smp(&w, "a", IB_SM_ATTR_NODE_DESCRIPTION, path, 3));
    g_assert_cmpuint(ib_link_counters(link_of(&w, "s2", 1))->symbol_errors,
                     ==, 1);
    g_assert_true(ib_fabric_set_inject(w.fabric, find(&w, "s2"), 1, &none));
    g_assert_true(ib_fabric_is_prompt(w.fabric));
    g_assert_true(get_smp(&w, "a", IB_SM_ATTR_NODE_DESCRIPTION, path, 3));
    world_clear(&w);
}

/* ------------------------------------------------------ out of the fabric */

typedef struct Outside {
    IbLink *link;
    GByteArray *frame;
    unsigned frames;
} Outside;

static IbCableResult outside_send(void *opaque, const uint8_t *frame,
                                  size_t len)
{
    Outside *o = opaque;

    g_byte_array_set_size(o->frame, 0);
    g_byte_array_append(o->frame, frame, len);
    o->frames++;
    return IB_CABLE_READY;
}

static void outside_set_timer(void *opaque, int64_t deadline)
{
}

static void outside_tap(void *opaque, bool tx, const uint8_t *packet,
                        size_t len, uint16_t vcrc)
{
}

static const IbPlugOps outside_ops = {
    outside_send, outside_set_timer, outside_tap,
};

static void test_plug(void)
{
    static const uint8_t path[] = { 1, 2, 2 };
    Outside o = { .frame = g_byte_array_new() };
    const char *why = NULL;
    uint32_t b;
    World w;

    world_init(&w, two_switches);
    b = find(&w, "b");
    g_assert_null(ib_fabric_plug(w.fabric, find(&w, "s2"), 2, &outside_ops,
                                 &o, &why));
    g_assert_null(ib_fabric_plug(w.fabric, b, 3, &outside_ops, &o, &why));
    g_assert_nonnull(ib_fabric_node(w.fabric, b));

    o.link = ib_fabric_plug(w.fabric, b, 1, &outside_ops, &o, &why);
    g_assert_true(o.link == link_of(&w, "s2", 2));
    g_assert_null(ib_fabric_plug(w.fabric, b, 1, &outside_ops, &o, &why));
    g_assert_cmpstr(why, ==, "it is taken");
    ib_link_cable_attach(o.link);
    ib_fabric_run(w.fabric);
    /* It trains with what is outside, and b is not to be had. */
    g_assert_cmpuint(o.frames, >, 0);
    g_assert_cmpint(ib_link_state(o.link), ==, IB_PORT_DOWN);
    g_assert_null(ib_fabric_node(w.fabric, b));
    g_assert_false(ib_fabric_is_prompt(w.fabric));
    g_assert_false(get_smp(&w, "a", IB_SM_ATTR_NODE_DESCRIPTION, path, 3));
    ib_fabric_unplug(w.fabric, b, 1);
    ib_fabric_run(w.fabric);
    g_assert_true(get_smp(&w, "a", IB_SM_ATTR_NODE_DESCRIPTION, path, 3));
    g_assert_true(ib_fabric_is_prompt(w.fabric));

    /* A switch's port that has no cable in the file */
    o.link = ib_fabric_plug(w.fabric, find(&w, "s2"), 3, &outside_ops, &o,
                            &why);
    g_assert_true(o.link == link_of(&w, "s2", 3));
    ib_link_cable_attach(o.link);
    ib_fabric_unplug(w.fabric, find(&w, "s2"), 3);

    /* And a CA's, which stays what it is */
    o.link = ib_fabric_plug(w.fabric, b, 2, &outside_ops, &o, &why);
    g_assert_true(o.link == link_of(&w, "b", 2));
    ib_link_cable_attach(o.link);
    g_assert_true(get_smp(&w, "a", IB_SM_ATTR_NODE_DESCRIPTION, path, 3));
    g_assert_false(ib_fabric_is_prompt(w.fabric));
    ib_fabric_unplug(w.fabric, b, 2);
    g_assert_true(get_smp(&w, "a", IB_SM_ATTR_NODE_DESCRIPTION, path, 3));
    g_assert_true(ib_fabric_is_prompt(w.fabric));
    world_clear(&w);
    g_byte_array_unref(o.frame);
}

/* Nothing takes the place of an adapter whose cable is another adapter's. */
static void test_plug_between_cas(void)
{
    Outside o = { NULL };
    const char *why = NULL;
    World w;

    world_init(&w, "Ca 1 \"a\"\n[1] \"b\"[1]\n\nCa 1 \"b\"\n");
    g_assert_null(ib_fabric_plug(w.fabric, find(&w, "b"), 1, &outside_ops,
                                 &o, &why));
    g_assert_cmpstr(why, ==, "the file cables it to no switch");
    world_clear(&w);
}

/* A router is an end node that the SM sees, and no VM's place. */
static void test_router(void)
{
    static const uint8_t path[] = { 1, 1 };
    Outside o = { NULL };
    const char *why = NULL;
    World w;

    world_init(&w, "Switch 2 \"s\"\n[1] \"r\"[2]\n[2] \"a\"\n\n"
               "Rt 2 \"r\"\n\nCa 1 \"a\"\n");
    ib_fabric_run(w.fabric);
    g_assert_true(get_smp(&w, "a", IB_SM_ATTR_NODE_INFO, path, 2));
    g_assert_cmpuint(w.last.data[64 + 2], ==, 3);        /* NodeType */
    g_assert_cmpuint(w.last.data[64 + 36], ==, 2);       /* LocalPortNum */
    g_assert_null(ib_fabric_plug(w.fabric, find(&w, "r"), 2, &outside_ops,
                                 &o, &why));
    g_assert_cmpstr(why, ==, "a router: a VM stands for a channel adapter");
    world_clear(&w);
}

/* ---------------------------------------------------------------- commands */

static void expect(World *w, const char *line, const char *part)
{
    g_autofree char *answer = ib_fabric_command(w->fabric, line);

    g_assert_true(g_str_has_suffix(answer, "}\n"));
    if (!strstr(answer, part)) {
        g_error("%s: %s has no %s", line, answer, part);
    }
}

static void test_commands(void)
{
    World w;

    world_init(&w, two_switches);
    expect(&w, "status", "{\"nodes\": 4, \"switches\": 2, \"away\": 0, "
           "\"cables\": 3, \"up\": 3, \"active\": 0}");
    expect(&w, "nodes", "{\"node\": \"s2\", \"description\": \"s2\", "
           "\"type\": \"switch\", \"ports\": 4, "
           "\"guid\": \"0x0000000000100001\"");
    expect(&w, "links", "{\"a\": \"s1\", \"a-port\": 2, \"b\": \"s2\", "
           "\"b-port\": 1, \"plugged\": true, \"state\": \"init\", "
           "\"width\": 4, \"gbps\": 32.0");
    expect(&w, "link down s1 2", "\"state\": \"down\"");
    expect(&w, "status", "\"up\": 2,");
    expect(&w, "link 0x100001 1", "\"plugged\": false");
    expect(&w, "link up s1 2", "\"state\": \"init\"");
    expect(&w, "error s1 2 drop=7 duplicate=8 vls=0x8000",
           "{\"drop\": 7, \"corrupt\": 0, \"delay\": 0, \"delay-us\": 0, "
           "\"duplicate\": 8, \"vls\": 32768}");
    expect(&w, "error s1 2", "\"drop\": 0");
    expect(&w, "counters 's1' 2", "{\"xmit-data\": 0, ");
    expect(&w, "error s1 2 drop=1000001", "\"drop= must be 0..1000000, not ");
    expect(&w, "error s1 2 lose=1", "error");
    expect(&w, "link down s1 4", "port must be 1..3, not 4");
    expect(&w, "link down s1 3", "there is no cable");
    expect(&w, "link down s1", "needs a node and a port");
    expect(&w, "link sideways s1 2", "no node sideways");
    expect(&w, "link down \"q\\\"\" 2", "no node q\\\"");
    expect(&w, "capture s1 2 /nonexistent/x", "cannot write");
    expect(&w, "", "error");
    expect(&w, "status 1", "takes at most 0 words");
    expect(&w, "frob", "no command frob; try help");
    expect(&w, "help", "\"clients\", \"capture\"");
    world_clear(&w);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/fabric/run/up-at-once", test_up_at_once);
    g_test_add_func("/fabric/run/smp-way", test_smp_way);
    g_test_add_func("/fabric/run/many-hops", test_many_hops);
    g_test_add_func("/fabric/run/cable-pulled", test_cable_pulled);
    g_test_add_func("/fabric/run/bad-cable", test_bad_cable);
    g_test_add_func("/fabric/run/plug", test_plug);
    g_test_add_func("/fabric/run/plug-between-cas", test_plug_between_cas);
    g_test_add_func("/fabric/run/router", test_router);
    g_test_add_func("/fabric/run/commands", test_commands);
    return g_test_run();
}
