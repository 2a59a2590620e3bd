/*
 * State of the plain-C core as bytes, for migration and snapshots
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A state is a sequence of sections: tag (4 ASCII bytes), version (be16),
 * length (be32), content.  A reader that meets another tag, a newer version or
 * a length that does not fit fails once and stays failed: every later get
 * returns 0, so a loader checks ib_state_ok() at its end and after each count
 * that it is going to use as an index or a size.
 */
#ifndef HW_INFINIBAND_IB_STATE_H
#define HW_INFINIBAND_IB_STATE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct IbStateWriter {
    GByteArray *bytes;
    guint section[8];                 /* where open sections' lengths are */
    int depth;
} IbStateWriter;

typedef struct IbStateReader {
    const uint8_t *at, *end;
    const uint8_t *section_end[8];
    int depth;
    bool failed;
} IbStateReader;

void ib_state_writer_init(IbStateWriter *w, GByteArray *bytes);
void ib_state_begin(IbStateWriter *w, const char tag[4], uint16_t version);
void ib_state_end(IbStateWriter *w);
void ib_state_put8(IbStateWriter *w, uint8_t v);
void ib_state_put16(IbStateWriter *w, uint16_t v);
void ib_state_put32(IbStateWriter *w, uint32_t v);
void ib_state_put64(IbStateWriter *w, uint64_t v);
void ib_state_put_bytes(IbStateWriter *w, const void *data, size_t len);

void ib_state_reader_init(IbStateReader *r, const void *data, size_t len);
/* Enter a section: returns its version, 0 on failure (versions start at 1). */
uint16_t ib_state_enter(IbStateReader *r, const char tag[4],
                        uint16_t max_version);
/* Leave it; bytes left over are a failure. */
void ib_state_leave(IbStateReader *r);
uint8_t ib_state_get8(IbStateReader *r);
uint16_t ib_state_get16(IbStateReader *r);
uint32_t ib_state_get32(IbStateReader *r);
uint64_t ib_state_get64(IbStateReader *r);
void ib_state_get_bytes(IbStateReader *r, void *data, size_t len);
static inline bool ib_state_ok(const IbStateReader *r)
{
    return !r->failed;
}
void ib_state_fail(IbStateReader *r);

#endif
