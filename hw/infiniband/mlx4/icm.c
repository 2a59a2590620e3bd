/*
 * ConnectX-3: context memory that the driver lends, and rings behind it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ICM is the adapter's own 64-bit address space, made of 4 KiB pages that the
 * driver maps to bus addresses.  Of what a real adapter keeps there this one
 * needs the page tables (MTT) and the memory keys (dMPT).  Drivers map more
 * than they announced with SET_ICM_SIZE, map over what is mapped and unmap
 * what is not; all of it is taken as it comes, up to a total.
 */
#include "mlx4.h"
#include "../trace.h"

#define MLX4_CHUNK_SHIFT  18              /* what a driver maps at a time */
#define MLX4_CHUNK_PAGES  (1 << (MLX4_CHUNK_SHIFT - MLX4_ICM_PAGE_SHIFT))
#define MLX4_ICM_VIRT_BITS 48
#define MLX4_MAP_MAX_LOG  10              /* pages an entry maps at most */
#define MLX4_NOT_MAPPED   UINT64_MAX

struct Mlx4IcmChunk {
    uint64_t number;                      /* virtual address >> CHUNK_SHIFT */
    unsigned used;
    uint64_t bus[MLX4_CHUNK_PAGES];
};

/* ------------------------------------------------------------- guest RAM */

/*
 * Reach RAM only: no register of any device, this one's among them, is
 * touched by an address that a guest made up.
 */
static bool mlx4_dma(Mlx4State *s, uint64_t bus, void *buf, size_t len,
                     DMADirection dir)
{
    MemTxAttrs attrs = { .memory = 1 };

    if (pci_dma_rw(&s->parent_obj, bus, buf, len, dir, attrs) != MEMTX_OK) {
        mlx4_guest_error("DMA %s of %zu bytes at 0x%" PRIx64 " failed",
                         dir == DMA_DIRECTION_TO_DEVICE ? "read" : "write",
                         len, bus);
        return false;
    }
    return true;
}

bool mlx4_dma_read(Mlx4State *s, uint64_t bus, void *to, size_t len)
{
    return mlx4_dma(s, bus, to, len, DMA_DIRECTION_TO_DEVICE);
}

bool mlx4_dma_write(Mlx4State *s, uint64_t bus, const void *from, size_t len)
{
    return mlx4_dma(s, bus, (void *)from, len, DMA_DIRECTION_FROM_DEVICE);
}

/* ------------------------------------------------------------ translation */

static Mlx4IcmChunk *mlx4_icm_chunk(Mlx4State *s, uint64_t virt)
{
    uint64_t number = virt >> MLX4_CHUNK_SHIFT;

    if (!s->icm_last || s->icm_last->number != number) {
        Mlx4IcmChunk *chunk = g_hash_table_lookup(s->icm, &number);

        if (!chunk) {
            return NULL;
        }
        s->icm_last = chunk;
    }
    return s->icm_last;
}

static uint64_t *mlx4_icm_slot(Mlx4IcmChunk *chunk, uint64_t virt)
{
    return &chunk->bus[(virt >> MLX4_ICM_PAGE_SHIFT) % MLX4_CHUNK_PAGES];
}

static void mlx4_icm_map_page(Mlx4State *s, uint64_t virt, uint64_t bus)
{
    Mlx4IcmChunk *chunk = mlx4_icm_chunk(s, virt);
    uint64_t *slot;

    if (!chunk) {
        chunk = g_new(Mlx4IcmChunk, 1);
        chunk->number = virt >> MLX4_CHUNK_SHIFT;
        chunk->used = 0;
        memset(chunk->bus, 0xff, sizeof(chunk->bus));
        g_hash_table_insert(s->icm, &chunk->number, chunk);
    }
    slot = mlx4_icm_slot(chunk, virt);
    if (*slot == MLX4_NOT_MAPPED) {
        chunk->used++;
        s->icm_pages++;
    }
    *slot = bus;
}

static void mlx4_icm_unmap_page(Mlx4State *s, uint64_t virt)
{
    Mlx4IcmChunk *chunk = mlx4_icm_chunk(s, virt);
    uint64_t *slot;

    if (!chunk) {
        return;
    }
    slot = mlx4_icm_slot(chunk, virt);
    if (*slot == MLX4_NOT_MAPPED) {
        return;
    }
    *slot = MLX4_NOT_MAPPED;
    s->icm_pages--;
    if (--chunk->used == 0) {
        s->icm_last = NULL;
        g_hash_table_remove(s->icm, &chunk->number);
    }
}

static bool mlx4_icm_rw(Mlx4State *s, uint64_t virt, void *buf, size_t len,
                        DMADirection dir)
{
    uint8_t *at = buf;

    while (len) {
        size_t in_page = virt % MLX4_ICM_PAGE;
        size_t part = MIN(len, MLX4_ICM_PAGE - in_page);
        Mlx4IcmChunk *chunk = mlx4_icm_chunk(s, virt);
        uint64_t bus = chunk ? *mlx4_icm_slot(chunk, virt) : MLX4_NOT_MAPPED;

        if (bus == MLX4_NOT_MAPPED) {
            mlx4_guest_error("ICM address 0x%" PRIx64 " is not mapped", virt);
            return false;
        }
        if (!mlx4_dma(s, bus + in_page, at, part, dir)) {
            return false;
        }
        virt += part;
        at += part;
        len -= part;
    }
    return true;
}

bool mlx4_icm_read(Mlx4State *s, uint64_t virt, void *to, size_t len)
{
    return mlx4_icm_rw(s, virt, to, len, DMA_DIRECTION_TO_DEVICE);
}

bool mlx4_icm_write(Mlx4State *s, uint64_t virt, const void *from, size_t len)
{
    return mlx4_icm_rw(s, virt, (void *)from, len, DMA_DIRECTION_FROM_DEVICE);
}

bool mlx4_mtt_page(Mlx4State *s, uint64_t mtt, uint64_t page, uint64_t *bus)
{
    uint8_t entry[MLX4_MTT_BYTES];

    if (!mlx4_icm_read(s, s->mtt_base + mtt + page * MLX4_MTT_BYTES, entry,
                       sizeof(entry))) {
        return false;
    }
    *bus = ib_get_be64(entry);
    if (!(*bus & MLX4_MTT_PRESENT)) {
        mlx4_guest_error("MTT entry 0x%" PRIx64 " + %" PRIu64
                         " is not present", mtt, page);
        return false;
    }
    *bus &= ~(uint64_t)(MLX4_MTT_BYTES - 1);
    return true;
}

/* ------------------------------------------------------------------- rings */

void mlx4_ring_init(Mlx4Ring *ring, uint8_t mtt_hi, uint32_t mtt_lo,
                    uint8_t log_page)
{
    *ring = (Mlx4Ring) {
        .mtt = (uint64_t)mtt_hi << 32 | (mtt_lo & ~7u),
        /* 6 bits hold any; above 31 no buffer is that large. */
        .page_shift = MIN(log_page + 12, 31),
    };
}

static bool mlx4_ring_rw(Mlx4State *s, Mlx4Ring *ring, uint64_t offset,
                         void *buf, size_t len, DMADirection dir)
{
    uint8_t *at = buf;
    uint64_t mask = (UINT64_C(1) << ring->page_shift) - 1;

    while (len) {
        uint64_t page = offset >> ring->page_shift;
        size_t part = MIN(len, mask + 1 - (offset & mask));

        if (!ring->cached || ring->page != page) {
            ring->cached = mlx4_mtt_page(s, ring->mtt, page, &ring->bus);
            ring->page = page;
            if (!ring->cached) {
                return false;
            }
        }
        if (!mlx4_dma(s, ring->bus + (offset & mask), at, part, dir)) {
            return false;
        }
        offset += part;
        at += part;
        len -= part;
    }
    return true;
}

bool mlx4_ring_read(Mlx4State *s, Mlx4Ring *ring, uint64_t offset, void *to,
                    size_t len)
{
    return mlx4_ring_rw(s, ring, offset, to, len, DMA_DIRECTION_TO_DEVICE);
}

bool mlx4_ring_write(Mlx4State *s, Mlx4Ring *ring, uint64_t offset,
                     const void *from, size_t len)
{
    return mlx4_ring_rw(s, ring, offset, (void *)from, len,
                        DMA_DIRECTION_FROM_DEVICE);
}

bool mlx4_ring_publish(Mlx4State *s, Mlx4Ring *ring, uint64_t offset,
                       const uint8_t *entry, size_t len)
{
    if (!mlx4_ring_write(s, ring, offset, entry, len - 1)) {
        return false;
    }
    smp_wmb();      /* software reads the last byte first */
    return mlx4_ring_write(s, ring, offset + len - 1, entry + len - 1, 1);
}

/* @count entries from position @first on, which do not wrap, of one lap. */
static bool mlx4_ring_fill(Mlx4State *s, Mlx4Ring *ring, uint32_t first,
                           uint32_t count, uint32_t size, size_t len)
{
    uint8_t block[4096] = { };
    uint64_t offset = (uint64_t)(first & (size - 1)) * len;
    uint64_t bytes = (uint64_t)count * len;
    size_t i;

    /* Of the lap before: what makes the position the adapter's. */
    for (i = len - 1; i < sizeof(block); i += len) {
        block[i] = first & size ? 0x00 : 0x80;
    }
    while (bytes) {
        size_t part = MIN(bytes, sizeof(block));

        if (!mlx4_ring_write(s, ring, offset, block, part)) {
            return false;
        }
        offset += part;
        bytes -= part;
    }
    return true;
}

bool mlx4_ring_set_owner(Mlx4State *s, Mlx4Ring *ring, uint32_t first,
                         uint32_t size, size_t len)
{
    uint32_t to_wrap = size - (first & (size - 1));

    return mlx4_ring_fill(s, ring, first, to_wrap, size, len) &&
           mlx4_ring_fill(s, ring, first + to_wrap, size - to_wrap, size, len);
}

/* ---------------------------------------------------------------- commands */

/* The entries of a MAP_* mailbox; only their number and form are checked. */
static Mlx4Status mlx4_map_entries(Mlx4State *s, Mlx4Cmd *cmd, bool map)
{
    uint32_t n = cmd->in_mod;
    uint32_t i;

    if (n > MLX4_MAILBOX_BYTES / MLX4_MAP_ENTRY_BYTES) {
        mlx4_guest_error("MAP command with %u entries", n);
        return MLX4_STAT_BAD_PARAM;
    }
    for (i = 0; i < n; i++) {
        const uint8_t *entry = cmd->in + i * MLX4_MAP_ENTRY_BYTES;
        uint64_t virt = ib_get_be64(entry + MLX4_MAP_VIRT_OFFSET);
        uint64_t phys = ib_get_be64(entry + MLX4_MAP_PHYS_OFFSET);
        unsigned log_pages = phys % MLX4_ICM_PAGE;
        uint64_t pages, page;

        phys -= log_pages;
        if (log_pages > MLX4_MAP_MAX_LOG) {
            mlx4_guest_error("MAP entry of 2^%u pages", log_pages);
            return MLX4_STAT_BAD_SIZE;
        }
        pages = UINT64_C(1) << log_pages;
        if (!map) {
            continue;
        }
        if (virt % MLX4_ICM_PAGE || virt >> MLX4_ICM_VIRT_BITS) {
            mlx4_guest_error("MAP_ICM of bad address 0x%" PRIx64, virt);
            return MLX4_STAT_BAD_PARAM;
        }
        if (s->icm_pages + pages > MLX4_ICM_MAX_PAGES) {
            mlx4_guest_error("more than %d pages of ICM mapped",
                             MLX4_ICM_MAX_PAGES);
            return MLX4_STAT_EXCEED_LIM;
        }
        trace_mlx4_map_icm(virt, phys, pages);
        for (page = 0; page < pages; page++) {
            mlx4_icm_map_page(s, virt + page * MLX4_ICM_PAGE,
                              phys + page * MLX4_ICM_PAGE);
        }
    }
    return MLX4_STAT_OK;
}

/* MAP_FA, MAP_ICM_AUX: memory for a firmware that is not there. */
Mlx4Status mlx4_cmd_map_fa(Mlx4State *s, Mlx4Cmd *cmd)
{
    return mlx4_map_entries(s, cmd, false);
}

Mlx4Status mlx4_cmd_map_icm(Mlx4State *s, Mlx4Cmd *cmd)
{
    return mlx4_map_entries(s, cmd, true);
}

Mlx4Status mlx4_cmd_unmap_icm(Mlx4State *s, Mlx4Cmd *cmd)
{
    uint64_t virt = cmd->in_param;
    uint32_t i;

    if (virt % MLX4_ICM_PAGE || virt >> MLX4_ICM_VIRT_BITS ||
        cmd->in_mod > MLX4_ICM_MAX_PAGES) {
        mlx4_guest_error("UNMAP_ICM of %u pages at 0x%" PRIx64, cmd->in_mod,
                         virt);
        return MLX4_STAT_BAD_PARAM;
    }
    for (i = 0; i < cmd->in_mod && s->icm_pages; i++) {
        mlx4_icm_unmap_page(s, virt + (uint64_t)i * MLX4_ICM_PAGE);
    }
    mlx4_mpt_forget_all(s);
    return MLX4_STAT_OK;
}

/* In: bytes of ICM that will be used; out: pages wanted to manage it. */
Mlx4Status mlx4_cmd_set_icm_size(Mlx4State *s, Mlx4Cmd *cmd)
{
    cmd->out_param = 1;
    return MLX4_STAT_OK;
}

/* ------------------------------------------------------------------- state */

void mlx4_icm_init(Mlx4State *s)
{
    s->icm = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
}

void mlx4_icm_reset(Mlx4State *s)
{
    s->icm_last = NULL;
    s->icm_pages = 0;
    g_hash_table_remove_all(s->icm);
}

void mlx4_icm_save(Mlx4State *s, IbStateWriter *w)
{
    GHashTableIter iter;
    void *value;
    unsigned i;

    ib_state_begin(w, "ICM ", 1);
    ib_state_put32(w, g_hash_table_size(s->icm));
    g_hash_table_iter_init(&iter, s->icm);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        Mlx4IcmChunk *chunk = value;

        ib_state_put64(w, chunk->number);
        for (i = 0; i < MLX4_CHUNK_PAGES; i++) {
            ib_state_put64(w, chunk->bus[i]);
        }
    }
    ib_state_end(w);
}

bool mlx4_icm_load(Mlx4State *s, IbStateReader *r)
{
    uint32_t chunks, n;
    unsigned i;

    ib_state_enter(r, "ICM ", 1);
    chunks = ib_state_get32(r);
    if (chunks > MLX4_ICM_MAX_PAGES) {
        ib_state_fail(r);
    }
    for (n = 0; n < chunks && ib_state_ok(r); n++) {
        uint64_t virt = ib_state_get64(r) << MLX4_CHUNK_SHIFT;

        for (i = 0; i < MLX4_CHUNK_PAGES; i++) {
            uint64_t bus = ib_state_get64(r);

            if (bus != MLX4_NOT_MAPPED && ib_state_ok(r)) {
                mlx4_icm_map_page(s, virt + (uint64_t)i * MLX4_ICM_PAGE, bus);
            }
        }
    }
    ib_state_leave(r);
    return ib_state_ok(r);
}
