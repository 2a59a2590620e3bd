/*
 * Buffers of packets that wait, entries of the queues they wait in, frames
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * All come from lists of free ones, a list a size, so that a packet costs no
 * allocation once a node has seen its traffic.  The lists belong to the
 * thread; a buffer may be freed by another thread than took it.  The last
 * link of a thread takes the lists with it.
 */
#include "link-int.h"

/* A MAD; then the MTUs 1024, 2048 and 4096 with all headers. */
static const uint16_t ib_buf_sizes[] = {
    320, 1024 + IB_LINK_HEADER_BYTES, 2048 + IB_LINK_HEADER_BYTES,
    4096 + IB_LINK_HEADER_BYTES,
};

/* Free ones that are kept, of a size */
#define IB_POOL_KEEP    4096
#define IB_POOL_FRAMES  64

/* A free frame; one that is in use is all of it. */
typedef union IbPoolFrame {
    union IbPoolFrame *next;
    uint8_t data[IB_FRAME_MAX];
} IbPoolFrame;

typedef struct IbPacketPool {
    IbPacketBuf *free[G_N_ELEMENTS(ib_buf_sizes)];
    unsigned n_free[G_N_ELEMENTS(ib_buf_sizes)];
    IbTxEntry *entries;
    unsigned n_entries;
    IbPoolFrame *frames;
    unsigned n_frames;
    int users;
} IbPacketPool;

static __thread IbPacketPool ib_pool;

void ib_packet_pool_ref(void)
{
    ib_pool.users++;
}

void ib_packet_pool_unref(void)
{
    IbPacketBuf *buf;
    IbTxEntry *entry;
    IbPoolFrame *frame;
    unsigned i;

    if (--ib_pool.users > 0) {
        return;
    }
    for (i = 0; i < G_N_ELEMENTS(ib_buf_sizes); i++) {
        while ((buf = ib_pool.free[i])) {
            ib_pool.free[i] = buf->next;
            g_free(buf);
        }
        ib_pool.n_free[i] = 0;
    }
    while ((entry = ib_pool.entries)) {
        ib_pool.entries = entry->next;
        g_free(entry);
    }
    ib_pool.n_entries = 0;
    while ((frame = ib_pool.frames)) {
        ib_pool.frames = frame->next;
        g_free(frame);
    }
    ib_pool.n_frames = 0;
    ib_pool.users = 0;
}

uint8_t *ib_pool_frame_new(void)
{
    IbPoolFrame *frame = ib_pool.frames;

    if (frame) {
        ib_pool.frames = frame->next;
        ib_pool.n_frames--;
    } else {
        frame = g_new(IbPoolFrame, 1);
    }
    return frame->data;
}

void ib_pool_frame_free(uint8_t *data)
{
    IbPoolFrame *frame = (IbPoolFrame *)data;

    if (!frame) {
        return;
    }
    if (ib_pool.n_frames < IB_POOL_FRAMES) {
        frame->next = ib_pool.frames;
        ib_pool.frames = frame;
        ib_pool.n_frames++;
    } else {
        g_free(frame);
    }
}

/* A buffer with one reference and a copy of @data, without ingress. */
IbPacketBuf *ib_packet_buf_new(const uint8_t *data, uint32_t len)
{
    IbPacketBuf *buf;
    unsigned i;

    for (i = 0; len > ib_buf_sizes[i]; i++) {
        g_assert(i + 1 < G_N_ELEMENTS(ib_buf_sizes));
    }
    buf = ib_pool.free[i];
    if (buf) {
        ib_pool.free[i] = buf->next;
        ib_pool.n_free[i]--;
    } else {
        buf = g_malloc(sizeof(*buf) + ib_buf_sizes[i]);
        buf->size_class = i;
    }
    buf->next = NULL;
    buf->ingress = NULL;
    buf->refs = 1;
    buf->len = len;
    buf->vl = 0;
    buf->born = 0;
    memcpy(buf->data, data, len);
    return buf;
}

void ib_packet_buf_unref(IbPacketBuf *buf)
{
    IbLink *ingress = buf->ingress;
    uint32_t len = buf->len;
    uint8_t vl = buf->vl;
    unsigned i = buf->size_class;

    if (--buf->refs) {
        return;
    }
    if (ib_pool.n_free[i] < IB_POOL_KEEP) {
        buf->next = ib_pool.free[i];
        ib_pool.free[i] = buf;
        ib_pool.n_free[i]++;
    } else {
        g_free(buf);
    }
    if (ingress) {
        ib_credit_return(ingress, vl, len);
    }
}

IbTxEntry *ib_tx_entry_new(void)
{
    IbTxEntry *entry = ib_pool.entries;

    if (entry) {
        ib_pool.entries = entry->next;
        ib_pool.n_entries--;
    } else {
        entry = g_new(IbTxEntry, 1);
    }
    return entry;
}

void ib_tx_entry_free(IbTxEntry *entry)
{
    if (ib_pool.n_entries < IB_POOL_KEEP) {
        entry->next = ib_pool.entries;
        ib_pool.entries = entry;
        ib_pool.n_entries++;
    } else {
        g_free(entry);
    }
}

void ib_packet_hold(IbPacket *packet)
{
    IbPacketBuf *buf = packet->buf;

    if (buf) {
        buf->refs++;
        return;
    }
    buf = ib_packet_buf_new(packet->data, packet->len);
    buf->ingress = packet->ingress;
    buf->vl = packet->vl;
    if (buf->ingress) {
        ib_credit_hold(buf->ingress, buf->vl, buf->len);
        if (!buf->ingress->rx_now) {
            buf->ingress->rx_now = ib_link_now(buf->ingress);
        }
        buf->born = buf->ingress->rx_now;
    }
    packet->buf = buf;
    packet->data = buf->data;
}

void ib_packet_release(IbPacket *packet)
{
    IbPacketBuf *buf = packet->buf;

    if (buf) {
        packet->buf = NULL;
        packet->data = NULL;
        ib_packet_buf_unref(buf);
    }
}
