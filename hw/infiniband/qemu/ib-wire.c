/*
 * ib-wire: a cable over a character device
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 *     -object tls-creds-x509,id=tls,dir=DIR,endpoint=client
 *     -chardev socket,id=c1,host=H,port=P,reconnect-ms=500,tls-creds=tls
 *     -netdev hubport,id=w1,hubid=1 -device ib-wire,netdev=w1,chardev=c1
 *     -netdev hubport,id=n1,hubid=1 -device ib-port,...,netdev=n1
 *
 * No netdev of QEMU's speaks TLS, but sockets of character devices do.  A frame
 * goes as -netdev stream sends it: its length, 32 bits in network order, and
 * its bytes.  So a stream netdev may be at the other end.
 *
 * What a link sends at once is bounded by its peer's credits, so the buffer has
 * no need to push back; a peer that takes nothing at all loses frames once
 * IB_WIRE_BACKLOG waits.  The link notices by the silence.
 */
#include "ib-compat.h"
#include "chardev/char-fe.h"
#include "hw/qdev-properties-system.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "qom/object.h"

#define TYPE_IB_WIRE "ib-wire"
OBJECT_DECLARE_SIMPLE_TYPE(IbWire, IB_WIRE)

#define IB_WIRE_HEAD     4
#define IB_WIRE_FRAME    65536            /* as max-frame of a port */
#define IB_WIRE_BACKLOG  (16 * MiB)

struct IbWire {
    DeviceState parent_obj;
    IbChr chr;
    NICConf conf;
    NICState *nic;
    bool open;                    /* the character device has a peer */
    GByteArray *out;              /* out->data[sent..] waits */
    size_t sent;
    guint watch;
    uint8_t in[IB_WIRE_HEAD + IB_WIRE_FRAME];
    size_t in_len;
    uint64_t lost, connections;
};

/* ------------------------------------------------------ to the other end */

static void ib_wire_forget(IbWire *s)
{
    if (s->watch) {
        g_source_remove(s->watch);
        s->watch = 0;
    }
    g_byte_array_set_size(s->out, 0);
    s->sent = 0;
    s->in_len = 0;
}

static gboolean ib_wire_writable(void *do_not_use, GIOCondition condition,
                                 void *opaque);

static void ib_wire_flush(IbWire *s)
{
    int n;

    while (s->sent < s->out->len) {
        n = qemu_chr_fe_write(&s->chr, s->out->data + s->sent,
                              s->out->len - s->sent);
        if (n <= 0) {
            if (!s->watch) {
                s->watch = qemu_chr_fe_add_watch(&s->chr, G_IO_OUT | G_IO_HUP,
                                                 ib_wire_writable, s);
            }
            break;
        }
        s->sent += n;
    }
    /* A large buffer is moved together seldom: its rest is half of it. */
    if (s->sent == s->out->len) {
        g_byte_array_set_size(s->out, 0);
        s->sent = 0;
    } else if (s->sent > s->out->len / 2) {
        g_byte_array_remove_range(s->out, 0, s->sent);
        s->sent = 0;
    }
}

static gboolean ib_wire_writable(void *do_not_use, GIOCondition condition,
                                 void *opaque)
{
    IbWire *s = opaque;

    s->watch = 0;
    ib_wire_flush(s);
    return G_SOURCE_REMOVE;
}

/* Returns @len always: a frame that nobody takes is lost, as on a cable. */
static ssize_t ib_wire_receive(NetClientState *nc, const uint8_t *frame,
                               size_t len)
{
    IbWire *s = qemu_get_nic_opaque(nc);
    uint8_t head[IB_WIRE_HEAD];

    if (!s->open) {
        return len;
    }
    if (len > IB_WIRE_FRAME || s->out->len - s->sent > IB_WIRE_BACKLOG) {
        s->lost++;
        return len;
    }
    stl_be_p(head, len);
    g_byte_array_append(s->out, head, sizeof(head));
    g_byte_array_append(s->out, frame, len);
    if (!s->watch) {
        ib_wire_flush(s);
    }
    return len;
}

/* ---------------------------------------------------- from the other end */

static int ib_wire_can_read(void *opaque)
{
    IbWire *s = opaque;

    return sizeof(s->in) - s->in_len;
}

static void ib_wire_read(void *opaque, const uint8_t *data, int size)
{
    IbWire *s = opaque;
    size_t at = 0, len;

    memcpy(s->in + s->in_len, data, size);
    s->in_len += size;
    while (s->in_len - at >= IB_WIRE_HEAD) {
        len = (uint32_t)ldl_be_p(s->in + at);
        if (len > IB_WIRE_FRAME) {
            /* Not a peer of ours, or one that lost count. */
            s->lost++;
            ib_wire_forget(s);
            qemu_chr_fe_disconnect(&s->chr);
            return;
        }
        if (s->in_len - at < IB_WIRE_HEAD + len) {
            break;
        }
        at += IB_WIRE_HEAD;
        qemu_send_packet(qemu_get_queue(s->nic), s->in + at, len);
        at += len;
    }
    s->in_len -= at;
    memmove(s->in, s->in + at, s->in_len);
}

static void ib_wire_event(void *opaque, QEMUChrEvent event)
{
    IbWire *s = opaque;

    switch (event) {
    case CHR_EVENT_OPENED:
        ib_wire_forget(s);
        s->open = true;
        s->connections++;
        break;
    case CHR_EVENT_CLOSED:
        ib_wire_forget(s);
        s->open = false;
        break;
    default:
        break;
    }
}

/* ------------------------------------------------------------- the device */

static NetClientInfo ib_wire_net_info = {
    .type = NET_CLIENT_DRIVER_NIC,
    .size = sizeof(NICState),
    .receive = ib_wire_receive,
};

static void ib_wire_realize(DeviceState *dev, Error **errp)
{
    IbWire *s = IB_WIRE(dev);

    if (!s->conf.peers.ncs[0]) {
        error_setg(errp, "netdev must name a -netdev that no other device "
                   "uses");
        return;
    }
    if (!qemu_chr_fe_backend_connected(&s->chr)) {
        error_setg(errp, "chardev must name a -chardev that no other device "
                   "uses");
        return;
    }
    s->out = g_byte_array_new();
    s->nic = ib_new_nic(&ib_wire_net_info, &s->conf, dev, s);
    qemu_chr_fe_set_handlers(&s->chr, ib_wire_can_read, ib_wire_read,
                             ib_wire_event, NULL, s, NULL, true);
}

static void ib_wire_unrealize(DeviceState *dev)
{
    IbWire *s = IB_WIRE(dev);

    ib_wire_forget(s);
    qemu_chr_fe_deinit(&s->chr, false);
    qemu_del_nic(s->nic);
    g_byte_array_unref(s->out);
}

static bool ib_wire_get_open(Object *obj, Error **errp)
{
    return IB_WIRE(obj)->open;
}

static void ib_wire_get_count(Object *obj, Visitor *v, const char *name,
                              void *opaque, Error **errp)
{
    visit_type_uint64(v, name, (void *)IB_WIRE(obj) + (uintptr_t)opaque, errp);
}

static IbProperty ib_wire_properties[] = {
    DEFINE_PROP_NETDEV("netdev", IbWire, conf.peers),
    DEFINE_PROP_CHR("chardev", IbWire, chr),
    IB_PROP_END
};

static void ib_wire_class_init(ObjectClass *oc, IbClassData *data)
{
    static const struct {
        const char *name;
        uintptr_t offset;
        const char *description;
    } counts[] = {
        { "lost", offsetof(IbWire, lost),
          "frames that were too long, or that the peer did not take" },
        { "connections", offsetof(IbWire, connections),
          "how often a peer has come" },
    };
    DeviceClass *dc = DEVICE_CLASS(oc);
    size_t i;

    dc->realize = ib_wire_realize;
    dc->unrealize = ib_wire_unrealize;
    dc->hotpluggable = false;
    dc->desc = "InfiniBand cable over a character device (TLS)";
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
    device_class_set_props(dc, ib_wire_properties);
    object_class_property_set_description(
        oc, "netdev", "a hubport of the hub that the cable's netdev is in");
    object_class_property_set_description(
        oc, "chardev", "the character device that carries the frames");
    object_class_property_add_bool(oc, "open", ib_wire_get_open, NULL);
    object_class_property_set_description(oc, "open",
                                          "is there a peer at the other end");
    for (i = 0; i < ARRAY_SIZE(counts); i++) {
        object_class_property_add(oc, counts[i].name, "uint64",
                                  ib_wire_get_count, NULL, NULL,
                                  (void *)counts[i].offset);
        object_class_property_set_description(oc, counts[i].name,
                                              counts[i].description);
    }
}

static const TypeInfo ib_wire_types[] = {
    {
        .name = TYPE_IB_WIRE,
        .parent = TYPE_DEVICE,
        .instance_size = sizeof(IbWire),
        .class_init = ib_wire_class_init,
    },
};

DEFINE_TYPES(ib_wire_types)
