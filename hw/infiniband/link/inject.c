/*
 * A bad cable, on purpose: packets that are lost, damaged, late or doubled
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * All of it happens where the port receives, so each direction of a cable is
 * the business of the port at its end.  A packet that is late fills its place
 * in the receive buffer, and those of its VL that come behind it wait: a link
 * never reorders within a VL.
 */
#include "link-int.h"

#define IB_INJECT_ALL       1000000

/* A packet that is late. */
typedef struct IbLatePacket IbLatePacket;
struct IbLatePacket {
    IbLatePacket *next;
    IbPacketBuf *buf;
    int64_t due;                    /* ns; 0: with the one ahead */
    uint8_t flags;
};

struct IbInject {
    IbLinkInject what;
    uint64_t random;
    IbLatePacket *head, *tail;
    uint16_t late[IB_VLS];          /* packets in the list */
};

/* The next of a sequence that the seed alone decides (splitmix64). */
static uint32_t ib_inject_random(IbInject *inject)
{
    uint64_t z = inject->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) >> 32;
}

static bool ib_inject_hit(IbInject *inject, uint32_t ppm, unsigned vl)
{
    return ppm && (inject->what.vls & (1u << vl)) &&
           (uint64_t)ib_inject_random(inject) * IB_INJECT_ALL >> 32 < ppm;
}

bool ib_inject_on(const IbLink *link)
{
    const IbInject *i = link->inject;

    return i && (i->what.drop || i->what.corrupt || i->what.delay ||
                 i->what.duplicate || i->head);
}

bool ib_link_set_inject(IbLink *link, const IbLinkInject *what)
{
    IbInject *inject = link->inject;

    if (what->drop > IB_INJECT_ALL || what->corrupt > IB_INJECT_ALL ||
        what->delay > IB_INJECT_ALL || what->delay_us > IB_INJECT_ALL ||
        what->duplicate > IB_INJECT_ALL) {
        return false;
    }
    if (!inject) {
        link->inject = inject = g_new0(IbInject, 1);
    }
    inject->what = *what;
    inject->random = what->seed ? what->seed
                                : link->ops->random(link->opaque);
    ib_link_update_special(link);
    return true;
}

void ib_link_get_inject(const IbLink *link, IbLinkInject *what)
{
    if (link->inject) {
        *what = link->inject->what;
    } else {
        memset(what, 0, sizeof(*what));
        what->vls = 0xffff;
    }
}

bool ib_inject_drop(IbLink *link, unsigned vl)
{
    IbInject *inject = link->inject;

    return inject && ib_inject_hit(inject, inject->what.drop, vl);
}

bool ib_inject_corrupt(IbLink *link, unsigned vl)
{
    IbInject *inject = link->inject;

    return inject && ib_inject_hit(inject, inject->what.corrupt, vl);
}

bool ib_inject_duplicate(IbLink *link, unsigned vl)
{
    IbInject *inject = link->inject;

    return inject && ib_inject_hit(inject, inject->what.duplicate, vl);
}

bool ib_inject_delay(IbLink *link, IbPacket *packet)
{
    IbInject *inject = link->inject;
    IbLatePacket *late;
    int64_t due = 0;

    if (!inject) {
        return false;
    }
    if (ib_inject_hit(inject, inject->what.delay, packet->vl)) {
        due = ib_link_now(link) + inject->what.delay_us * INT64_C(1000);
    } else if (!inject->late[packet->vl]) {
        return false;
    }
    ib_packet_hold(packet);
    late = g_new(IbLatePacket, 1);
    late->next = NULL;
    late->buf = packet->buf;
    late->flags = packet->flags;
    late->due = due;
    if (inject->head) {
        inject->tail->next = late;
    } else {
        inject->head = late;
    }
    inject->tail = late;
    inject->late[packet->vl]++;
    if (inject->head == late) {
        ib_train_rearm(link);
    }
    return true;
}

static IbPacketBuf *ib_inject_pop(IbInject *inject, uint8_t *flags)
{
    IbLatePacket *late = inject->head;
    IbPacketBuf *buf = late->buf;

    *flags = late->flags;
    inject->head = late->next;
    inject->late[buf->vl]--;
    g_free(late);
    return buf;
}

int64_t ib_inject_due(const IbLink *link)
{
    return link->inject && link->inject->head ? link->inject->head->due
                                              : INT64_MAX;
}

/* Hand on the packets whose time has come. */
void ib_inject_tick(IbLink *link, int64_t now)
{
    bool some = false;

    link->nested++;
    while (ib_inject_due(link) <= now) {
        IbPacket packet = { .ingress = link };
        IbPacketBuf *buf = ib_inject_pop(link->inject, &packet.flags);

        packet.buf = buf;
        packet.data = buf->data;
        packet.len = buf->len;
        packet.vl = buf->vl;
        some = true;
        if (link->rx_open & (1u << buf->vl)) {
            link->ops->receive(link->opaque, &packet);
        }
        ib_packet_buf_unref(buf);
    }
    ib_link_update_special(link);
    if (some && link->ops->receive_end) {
        link->ops->receive_end(link->opaque);
    }
    link->nested--;
}

/* The link went down: what is late never comes. */
void ib_inject_purge(IbLink *link)
{
    uint8_t flags;

    while (link->inject && link->inject->head) {
        ib_packet_buf_unref(ib_inject_pop(link->inject, &flags));
    }
}

void ib_inject_free(IbLink *link)
{
    ib_inject_purge(link);
    g_free(link->inject);
    link->inject = NULL;
}
