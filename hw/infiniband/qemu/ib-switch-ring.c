/*
 * ib-switch-pci: the rings, packets of port 0 by DMA
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The driver owns the descriptors from HEAD to TAIL.  A ring whose memory the
 * bus refuses is switched off: the driver sees it in IBSW_ERROR.
 */
#include "ib-switch-pci.h"
#include "qemu/bswap.h"

typedef struct IbSwitchDesc {
    uint64_t address;
    uint32_t length, status;
} IbSwitchDesc;

static uint64_t desc_address(const IbSwitchRing *ring)
{
    return ring->base + (uint64_t)ring->head * IBSW_DESC_BYTES;
}

static bool desc_read(IbSwitchPci *s, const IbSwitchRing *ring,
                      IbSwitchDesc *desc)
{
    uint8_t bytes[IBSW_DESC_BYTES];

    if (!ib_switch_pci_read_memory(s, desc_address(ring), bytes,
                                   sizeof(bytes))) {
        return false;
    }
    desc->address = ldq_le_p(bytes + IBSW_DESC_ADDRESS);
    desc->length = ldl_le_p(bytes + IBSW_DESC_LENGTH);
    desc->status = ldl_le_p(bytes + IBSW_DESC_STATUS);
    return true;
}

/* Give it back to the driver: length and status, then HEAD. */
static bool desc_done(IbSwitchPci *s, IbSwitchRing *ring, uint32_t length,
                      uint32_t status)
{
    uint8_t bytes[8];

    stl_le_p(bytes, length);
    stl_le_p(bytes + 4, status | IBSW_DESC_DONE);
    if (!ib_switch_pci_write_memory(s, desc_address(ring) + IBSW_DESC_LENGTH,
                                    bytes, sizeof(bytes))) {
        return false;
    }
    ring->head = (ring->head + 1) & ((1u << ring->log_size) - 1);
    return true;
}

static void ring_fault(IbSwitchPci *s, IbSwitchRing *ring)
{
    ib_switch_guest_error("%s ring: the bus refuses its memory",
                          ring == &s->tx ? "TX" : "RX");
    ring->enabled = false;
    ib_switch_pci_error(s, ring == &s->tx ? IBSW_ERROR_TX_DMA
                                          : IBSW_ERROR_RX_DMA);
}

/* --------------------------------------------------------------------- TX */

/* False if the bus refused. */
static bool tx_one(IbSwitchPci *s)
{
    uint8_t packet[IBSW_PACKET_MAX];
    IbSwitchDesc desc;
    uint32_t port, result;

    if (!desc_read(s, &s->tx, &desc)) {
        return false;
    }
    port = desc.status >> IBSW_DESC_PORT_SHIFT;
    if (desc.length > sizeof(packet)) {
        result = IBSW_RESULT_TOO_LONG;
    } else if (!ib_switch_pci_read_memory(s, desc.address, packet,
                                          desc.length)) {
        return false;
    } else {
        result = ib_switch_pci_result(
            ib_switch_send_packet(s->bay.sw, port, packet, desc.length));
    }
    if (result != IBSW_RESULT_SENT) {
        s->tx.dropped++;
    }
    return desc_done(s, &s->tx, desc.length,
                     result | port << IBSW_DESC_PORT_SHIFT);
}

/* All that are there: fewer than the ring has. */
static void tx_run(IbSwitchPci *s)
{
    uint32_t left = (s->tx.tail - s->tx.head) & ((1u << s->tx.log_size) - 1);
    bool any = left;

    while (left-- && s->tx.enabled) {
        if (!tx_one(s)) {
            ring_fault(s, &s->tx);
        }
    }
    if (any) {
        ib_switch_pci_raise(s, IBSW_INTR_TX);
    }
}

/* --------------------------------------------------------------------- RX */

bool ib_switch_ring_receive(IbSwitchPci *s, uint8_t in_port,
                            const IbPacket *packet)
{
    IbSwitchRing *ring = &s->rx;
    uint32_t result = IBSW_RESULT_SENT;
    IbSwitchDesc desc;

    if (ring->head == ring->tail) {
        ring->dropped++;
        ib_switch_pci_error(s, IBSW_ERROR_OVERRUN);
        return false;
    }
    if (!desc_read(s, ring, &desc)) {
        ring_fault(s, ring);
        return false;
    }
    if (packet->len > desc.length) {
        result = IBSW_RESULT_TOO_LONG;
        ring->dropped++;
    } else if (!ib_switch_pci_write_memory(s, desc.address, packet->data,
                                           packet->len)) {
        ring_fault(s, ring);
        return false;
    }
    if (!desc_done(s, ring, packet->len,
                   result | (uint32_t)in_port << IBSW_DESC_PORT_SHIFT)) {
        ring_fault(s, ring);
        return false;
    }
    ib_switch_pci_raise(s, IBSW_INTR_RX);
    return result == IBSW_RESULT_SENT;
}

/* -------------------------------------------------------------- registers */

static IbSwitchRing *ring_of(IbSwitchPci *s, uint32_t addr)
{
    return addr < IBSW_RX_RING ? &s->tx : &s->rx;
}

bool ib_switch_ring_read(IbSwitchPci *s, uint32_t addr, uint32_t *value)
{
    const IbSwitchRing *ring = ring_of(s, addr);

    switch (addr % IBSW_RING_BYTES) {
    case IBSW_RING_BASE_LOW:
        *value = ring->base;
        return true;
    case IBSW_RING_BASE_HIGH:
        *value = ring->base >> 32;
        return true;
    case IBSW_RING_LOG_SIZE:
        *value = ring->log_size;
        return true;
    case IBSW_RING_CONTROL:
        *value = ring->enabled ? IBSW_RING_ENABLE : 0;
        return true;
    case IBSW_RING_HEAD:
        *value = ring->head;
        return true;
    case IBSW_RING_TAIL:
        *value = ring->tail;
        return true;
    case IBSW_RING_DROPPED:
        *value = ring->dropped;
        return true;
    }
    return false;
}

/* Where the ring is can only change while it is off. */
static bool ring_write_place(IbSwitchRing *ring, uint32_t reg, uint32_t value)
{
    if (ring->enabled) {
        return false;
    }
    switch (reg) {
    case IBSW_RING_BASE_LOW:
        ring->base = deposit64(ring->base, 0, 32,
                               value & ~(IBSW_DESC_BYTES - 1));
        return true;
    case IBSW_RING_BASE_HIGH:
        ring->base = deposit64(ring->base, 32, 32, value);
        return true;
    default:
        if (value > IBSW_RING_LOG_MAX) {
            return false;
        }
        ring->log_size = value;
        ring->head = 0;
        ring->tail = 0;
        return true;
    }
}

static void ring_control(IbSwitchRing *ring, uint32_t value)
{
    bool on = value & IBSW_RING_ENABLE;

    if (on && !ring->enabled) {
        ring->head = 0;
        ring->tail = 0;
    }
    ring->enabled = on;
}

bool ib_switch_ring_write(IbSwitchPci *s, uint32_t addr, uint32_t value,
                          uint32_t *error)
{
    IbSwitchRing *ring = ring_of(s, addr);
    uint32_t reg = addr % IBSW_RING_BYTES;

    switch (reg) {
    case IBSW_RING_BASE_LOW:
    case IBSW_RING_BASE_HIGH:
    case IBSW_RING_LOG_SIZE:
        return ring_write_place(ring, reg, value);
    case IBSW_RING_CONTROL:
        ring_control(ring, value);
        return true;
    case IBSW_RING_TAIL:
        if (!ring->enabled || value >> ring->log_size) {
            return false;
        }
        ring->tail = value;
        if (ring == &s->tx) {
            tx_run(s);
        }
        return true;
    }
    return false;
}
