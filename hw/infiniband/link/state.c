/*
 * State of the plain-C core as bytes (ib-state.h)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hw/infiniband/ib-bits.h"
#include "hw/infiniband/ib-state.h"

#define IB_SECTION_BYTES    10      /* tag, version, length */
#define IB_SECTION_LENGTH   6       /* where the length is */
#define IB_SECTION_DEPTH    8

void ib_state_writer_init(IbStateWriter *w, GByteArray *bytes)
{
    w->bytes = bytes;
    w->depth = 0;
}

void ib_state_begin(IbStateWriter *w, const char tag[4], uint16_t version)
{
    g_assert(w->depth < IB_SECTION_DEPTH);
    w->section[w->depth++] = w->bytes->len;
    ib_state_put_bytes(w, tag, 4);
    ib_state_put16(w, version);
    ib_state_put32(w, 0);
}

void ib_state_end(IbStateWriter *w)
{
    guint at;

    g_assert(w->depth > 0);
    at = w->section[--w->depth];
    ib_put_be32(w->bytes->data + at + IB_SECTION_LENGTH,
                w->bytes->len - at - IB_SECTION_BYTES);
}

void ib_state_put8(IbStateWriter *w, uint8_t v)
{
    ib_state_put_bytes(w, &v, 1);
}

void ib_state_put16(IbStateWriter *w, uint16_t v)
{
    uint8_t b[2];

    ib_put_be16(b, v);
    ib_state_put_bytes(w, b, sizeof(b));
}

void ib_state_put32(IbStateWriter *w, uint32_t v)
{
    uint8_t b[4];

    ib_put_be32(b, v);
    ib_state_put_bytes(w, b, sizeof(b));
}

void ib_state_put64(IbStateWriter *w, uint64_t v)
{
    uint8_t b[8];

    ib_put_be64(b, v);
    ib_state_put_bytes(w, b, sizeof(b));
}

void ib_state_put_bytes(IbStateWriter *w, const void *data, size_t len)
{
    if (len) {
        g_byte_array_append(w->bytes, data, len);
    }
}

void ib_state_reader_init(IbStateReader *r, const void *data, size_t len)
{
    memset(r, 0, sizeof(*r));
    r->at = data;
    r->end = r->at + len;
}

void ib_state_fail(IbStateReader *r)
{
    r->failed = true;
}

/* The next @len bytes of the section, NULL when it has less. */
static const uint8_t *ib_state_take(IbStateReader *r, size_t len)
{
    const uint8_t *p = r->at;

    if (r->failed || (size_t)(r->end - r->at) < len) {
        r->failed = true;
        return NULL;
    }
    r->at += len;
    return p;
}

uint16_t ib_state_enter(IbStateReader *r, const char tag[4],
                        uint16_t max_version)
{
    const uint8_t *p = ib_state_take(r, IB_SECTION_BYTES);
    uint16_t version;
    uint32_t len;

    if (!p) {
        return 0;
    }
    version = ib_get_be16(p + 4);
    len = ib_get_be32(p + IB_SECTION_LENGTH);
    if (memcmp(p, tag, 4) || !version || version > max_version ||
        len > (size_t)(r->end - r->at) || r->depth == IB_SECTION_DEPTH) {
        r->failed = true;
        return 0;
    }
    r->section_end[r->depth++] = r->end;
    r->end = r->at + len;
    return version;
}

void ib_state_leave(IbStateReader *r)
{
    if (r->failed) {
        return;
    }
    if (!r->depth || r->at != r->end) {
        r->failed = true;
        return;
    }
    r->end = r->section_end[--r->depth];
}

uint8_t ib_state_get8(IbStateReader *r)
{
    const uint8_t *p = ib_state_take(r, 1);

    return p ? *p : 0;
}

uint16_t ib_state_get16(IbStateReader *r)
{
    const uint8_t *p = ib_state_take(r, 2);

    return p ? ib_get_be16(p) : 0;
}

uint32_t ib_state_get32(IbStateReader *r)
{
    const uint8_t *p = ib_state_take(r, 4);

    return p ? ib_get_be32(p) : 0;
}

uint64_t ib_state_get64(IbStateReader *r)
{
    const uint8_t *p = ib_state_take(r, 8);

    return p ? ib_get_be64(p) : 0;
}

void ib_state_get_bytes(IbStateReader *r, void *data, size_t len)
{
    const uint8_t *p = len ? ib_state_take(r, len) : NULL;

    if (p) {
        memcpy(data, p, len);
    } else if (len) {
        memset(data, 0, len);
    }
}
