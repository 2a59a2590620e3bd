/*
 * What the parts of ib-switch-pci share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ib-switch-pci.c       the device: properties, interrupts, migration
 * ib-switch-regs.c      BAR 0: which register an access means
 * ib-switch-port-regs.c a port's page: states, virtual lanes, counters
 * ib-switch-tables.c    windows on the forwarding tables and SL to VL maps
 * ib-switch-mailbox.c   MADs of port 0, one at a time
 * ib-switch-ring.c      packets of port 0, by DMA
 */
#ifndef HW_INFINIBAND_QEMU_IB_SWITCH_PCI_H
#define HW_INFINIBAND_QEMU_IB_SWITCH_PCI_H

#include "ib-switch-common.h"
#include "ib-switch-hw.h"
#include "qemu/log.h"

OBJECT_DECLARE_SIMPLE_TYPE(IbSwitchPci, IB_SWITCH_PCI)

#define ib_switch_guest_error(fmt, ...) \
    qemu_log_mask(LOG_GUEST_ERROR, TYPE_IB_SWITCH_PCI ": " fmt "\n", \
                  ## __VA_ARGS__)

/* A MAD in the mailbox, and what its headers said. */
typedef struct IbSwitchMail {
    uint32_t lids, info, qpn, pkey;       /* as in the registers */
    uint8_t mad[IBSW_MAD_BYTES];
} IbSwitchMail;

typedef struct IbSwitchRing {
    uint64_t base;
    uint32_t log_size, head, tail, dropped;
    bool enabled;
} IbSwitchRing;

struct IbSwitchPci {
    PCIDevice parent_obj;
    IbSwitchBay bay;
    char *sma;                    /* device or host */
    MemoryRegion bar;
    VMChangeStateEntry *vm_state;

    uint32_t port0;               /* IBSW_PORT0_* */
    uint32_t intr_status, intr_enable, error;
    uint32_t port_event[8];
    /*
     * In DMA or in an interrupt message of ours: if it is addressed to the
     * device itself, its registers take no write.
     */
    bool mastering;

    uint32_t tx_route, tx_qpn, tx_pkey, tx_result;
    uint8_t tx_mad[IBSW_MAD_BYTES];
    IbSwitchMail mail[IBSW_MBOX_RX_DEPTH];
    uint32_t mail_first, mail_count, mail_dropped;

    IbSwitchRing tx, rx;
};

/* ib-switch-pci.c */
void ib_switch_pci_reset(IbSwitchPci *s);
/* Set bits of IBSW_INTR_STATUS and of IBSW_ERROR; interrupt if enabled. */
void ib_switch_pci_raise(IbSwitchPci *s, uint32_t intr);
void ib_switch_pci_error(IbSwitchPci *s, uint32_t error);
/* Send what is in @bits of the enabled ones; the pin follows. */
void ib_switch_pci_notify(IbSwitchPci *s, uint32_t bits);
/* IBSW_PORT0 has changed. */
void ib_switch_pci_update_port0(IbSwitchPci *s);
/* DMA; false if the bus has refused it. */
bool ib_switch_pci_read_memory(IbSwitchPci *s, uint64_t addr, void *data,
                               size_t len);
bool ib_switch_pci_write_memory(IbSwitchPci *s, uint64_t addr,
                                const void *data, size_t len);
/* IBSW_RESULT_* of a send. */
uint32_t ib_switch_pci_result(IbHostSend sent);

/* ib-switch-regs.c */
void ib_switch_pci_bar_init(IbSwitchPci *s);

/*
 * The parts of the BAR.  @offset is relative to the part; a read of what is
 * not there gives 0 and false, a write of what is not there, cannot be
 * written or is refused false with the bits of IBSW_ERROR in *@error.
 */
bool ib_switch_port_read(IbSwitchPci *s, uint32_t offset, uint32_t *value);
bool ib_switch_port_write(IbSwitchPci *s, uint32_t offset, uint32_t value,
                          uint32_t *error);
bool ib_switch_table_read(IbSwitchPci *s, uint32_t addr, uint32_t *value);
bool ib_switch_table_write(IbSwitchPci *s, uint32_t addr, uint32_t value,
                           uint32_t *error);
bool ib_switch_mailbox_read(IbSwitchPci *s, uint32_t addr, uint32_t *value);
bool ib_switch_mailbox_write(IbSwitchPci *s, uint32_t addr, uint32_t value,
                             uint32_t *error);
bool ib_switch_ring_read(IbSwitchPci *s, uint32_t addr, uint32_t *value);
bool ib_switch_ring_write(IbSwitchPci *s, uint32_t addr, uint32_t value,
                          uint32_t *error);

/* A packet of port 0: to the ring, or the mailbox.  False: lost. */
bool ib_switch_ring_receive(IbSwitchPci *s, uint8_t in_port,
                            const IbPacket *packet);
bool ib_switch_mailbox_receive(IbSwitchPci *s, uint8_t in_port,
                               const IbPacket *packet);

#endif
