/*
 * ib-switch-pci: an InfiniBand switch with its registers on a PCI function
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 *     -device ib-switch-pci,id=sw0,ports=36[,sma=host]
 *
 * The switch of ib-switch, managed by the guest too: docs/specs/ib-switch.rst.
 */
#include "ib-switch-pci.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "migration/vmstate.h"
#include "qapi/error.h"

#define IB_SWITCH_PCI_MSIX_BAR  2

/* ------------------------------------------------------------- interrupts */

void ib_switch_pci_notify(IbSwitchPci *s, uint32_t bits)
{
    PCIDevice *pdev = PCI_DEVICE(s);
    bool nested = s->mastering;
    unsigned vector;

    if (!runstate_is_running()) {
        return;                   /* see ib_switch_pci_vm_state() */
    }
    if (!msix_enabled(pdev)) {
        pci_set_irq(pdev, (s->intr_status & s->intr_enable) != 0);
        return;
    }
    bits &= s->intr_enable;
    s->mastering = true;
    for (vector = 0; vector < IBSW_VECTORS; vector++) {
        if (bits & 1u << vector) {
            msix_notify(pdev, vector);
        }
    }
    s->mastering = nested;
}

/*
 * Links run on while the guest is stopped, and its memory and interrupt
 * controllers may have been saved: it hears of what has happened when it goes
 * on, here or elsewhere.
 */
static void ib_switch_pci_vm_state(void *opaque, bool running, RunState state)
{
    IbSwitchPci *s = opaque;

    if (running) {
        ib_switch_pci_notify(s, s->intr_status);
    }
}

void ib_switch_pci_raise(IbSwitchPci *s, uint32_t intr)
{
    uint32_t news = intr & ~s->intr_status;

    s->intr_status |= intr;
    ib_switch_pci_notify(s, news);
}

void ib_switch_pci_error(IbSwitchPci *s, uint32_t error)
{
    s->error |= error;
    ib_switch_pci_raise(s, IBSW_INTR_ERROR);
}

/* -------------------------------------------------------------------- DMA */

bool ib_switch_pci_read_memory(IbSwitchPci *s, uint64_t addr, void *data,
                               size_t len)
{
    MemTxResult result;

    s->mastering = true;
    result = pci_dma_read(PCI_DEVICE(s), addr, data, len);
    s->mastering = false;
    return result == MEMTX_OK;
}

bool ib_switch_pci_write_memory(IbSwitchPci *s, uint64_t addr,
                                const void *data, size_t len)
{
    MemTxResult result;

    s->mastering = true;
    result = pci_dma_write(PCI_DEVICE(s), addr, data, len);
    s->mastering = false;
    return result == MEMTX_OK;
}

/* ------------------------------------------------------------- the switch */

static void ib_switch_pci_port_state(IbSwitchBay *bay, uint8_t port)
{
    IbSwitchPci *s = container_of(bay, IbSwitchPci, bay);

    s->port_event[port / 32] |= 1u << port % 32;
    ib_switch_pci_raise(s, IBSW_INTR_PORT);
}

static bool ib_switch_pci_receive(IbSwitchBay *bay, uint8_t in_port,
                                  const IbPacket *packet)
{
    IbSwitchPci *s = container_of(bay, IbSwitchPci, bay);

    /* No DMA within DMA of ours, nor to a guest that is stopped. */
    if (s->mastering || !runstate_is_running()) {
        return false;
    }
    return s->rx.enabled ? ib_switch_ring_receive(s, in_port, packet)
                         : ib_switch_mailbox_receive(s, in_port, packet);
}

static const IbSwitchBayOps ib_switch_pci_ops = {
    .port_state_changed = ib_switch_pci_port_state,
    .host_receive = ib_switch_pci_receive,
};

uint32_t ib_switch_pci_result(IbHostSend sent)
{
    static const uint8_t results[] = {
        [IB_HOST_SENT] = IBSW_RESULT_SENT,
        [IB_HOST_MALFORMED] = IBSW_RESULT_MALFORMED,
        [IB_HOST_NO_ROUTE] = IBSW_RESULT_NO_ROUTE,
        [IB_HOST_DISCARDED] = IBSW_RESULT_DISCARDED,
    };

    return results[sent];
}

void ib_switch_pci_update_port0(IbSwitchPci *s)
{
    unsigned mask = 0;

    mask |= s->port0 & IBSW_PORT0_SMPS ? IB_HOST_SMPS : 0;
    mask |= s->port0 & IBSW_PORT0_GMPS ? IB_HOST_GMPS : 0;
    mask |= s->port0 & IBSW_PORT0_MANAGERS ? IB_HOST_MANAGERS : 0;
    mask |= s->port0 & IBSW_PORT0_DATA ? IB_HOST_DATA : 0;
    ib_switch_set_host(s->bay.sw, mask);
}

/* Last what the reset of the ports has raised goes, too. */
void ib_switch_pci_reset(IbSwitchPci *s)
{
    s->intr_enable = 0;
    ib_switch_reset(s->bay.sw);
    s->port0 = !g_strcmp0(s->sma, "host") ? IBSW_PORT0_SMPS : 0;
    ib_switch_pci_update_port0(s);
    s->intr_status = 0;
    s->error = 0;
    memset(s->port_event, 0, sizeof(s->port_event));
    s->tx_route = IBSW_ROUTE_BY_TABLE;
    s->tx_qpn = 1;
    s->tx_pkey = 0;
    s->tx_result = IBSW_RESULT_NONE;
    memset(s->tx_mad, 0, sizeof(s->tx_mad));
    s->mail_first = 0;
    s->mail_count = 0;
    s->mail_dropped = 0;
    memset(&s->tx, 0, sizeof(s->tx));
    memset(&s->rx, 0, sizeof(s->rx));
    ib_switch_pci_notify(s, 0);
}

static void ib_switch_pci_reset_hold(IB_RESET_ARGS(obj))
{
    ib_switch_pci_reset(IB_SWITCH_PCI(obj));
}

/* ---------------------------------------------------------------- realize */

static void ib_switch_pci_exit(PCIDevice *pdev)
{
    IbSwitchPci *s = IB_SWITCH_PCI(pdev);

    qemu_del_vm_change_state_handler(s->vm_state);
    ib_switch_bay_unrealize(&s->bay);
    msix_uninit_exclusive_bar(pdev);
}

static void ib_switch_pci_realize(PCIDevice *pdev, Error **errp)
{
    IbSwitchPci *s = IB_SWITCH_PCI(pdev);
    unsigned vector;

    if (s->sma && strcmp(s->sma, "device") && strcmp(s->sma, "host")) {
        error_setg(errp, "sma must be device or host, not '%s'", s->sma);
        return;
    }
    pdev->config[PCI_INTERRUPT_PIN] = 1;
    ib_switch_pci_bar_init(s);
    if (pci_bus_is_express(pci_get_bus(pdev)) &&
        pcie_endpoint_cap_init(pdev, 0) < 0) {
        error_setg(errp, TYPE_IB_SWITCH_PCI ": no room for the PCI Express "
                   "capability");
        return;
    }
    if (msix_init_exclusive_bar(pdev, IBSW_VECTORS, IB_SWITCH_PCI_MSIX_BAR,
                                errp) < 0) {
        return;
    }
    for (vector = 0; vector < IBSW_VECTORS; vector++) {
        msix_vector_use(pdev, vector);
    }
    if (!ib_switch_bay_realize(&s->bay, DEVICE(s), &ib_switch_pci_ops,
                               errp)) {
        msix_uninit_exclusive_bar(pdev);
        return;
    }
    s->vm_state = qemu_add_vm_change_state_handler(ib_switch_pci_vm_state, s);
}

/* -------------------------------------------------------------- migration */

static bool ib_switch_ring_valid(const IbSwitchRing *ring)
{
    return ring->log_size <= IBSW_RING_LOG_MAX &&
           ring->head < 1u << ring->log_size &&
           ring->tail < 1u << ring->log_size &&
           ring->base % IBSW_DESC_BYTES == 0;
}

static int ib_switch_pci_post_load(void *opaque, int version_id)
{
    IbSwitchPci *s = opaque;

    if (s->mail_first >= IBSW_MBOX_RX_DEPTH ||
        s->mail_count > IBSW_MBOX_RX_DEPTH ||
        s->port0 & ~IBSW_PORT0_MASK || !ib_switch_ring_valid(&s->tx) ||
        !ib_switch_ring_valid(&s->rx)) {
        ib_switch_pci_reset(s);
        return -EINVAL;
    }
    ib_switch_pci_update_port0(s);
    return 0;
}

static const VMStateDescription ib_switch_mail_vmstate = {
    .name = "ib-switch-pci/mail",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (VMStateField[]) {
        VMSTATE_UINT32(lids, IbSwitchMail),
        VMSTATE_UINT32(info, IbSwitchMail),
        VMSTATE_UINT32(qpn, IbSwitchMail),
        VMSTATE_UINT32(pkey, IbSwitchMail),
        VMSTATE_UINT8_ARRAY(mad, IbSwitchMail, IBSW_MAD_BYTES),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription ib_switch_ring_vmstate = {
    .name = "ib-switch-pci/ring",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (VMStateField[]) {
        VMSTATE_UINT64(base, IbSwitchRing),
        VMSTATE_UINT32(log_size, IbSwitchRing),
        VMSTATE_UINT32(head, IbSwitchRing),
        VMSTATE_UINT32(tail, IbSwitchRing),
        VMSTATE_UINT32(dropped, IbSwitchRing),
        VMSTATE_BOOL(enabled, IbSwitchRing),
        VMSTATE_END_OF_LIST()
    },
};

/* The switch comes first: what its loading raises is overwritten after. */
static const VMStateDescription ib_switch_pci_vmstate = {
    .name = TYPE_IB_SWITCH_PCI,
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = ib_switch_pci_post_load,
    .fields = (VMStateField[]) {
        VMSTATE_IB_SWITCH_BAY(bay, IbSwitchPci),
        VMSTATE_PCI_DEVICE(parent_obj, IbSwitchPci),
        VMSTATE_MSIX(parent_obj, IbSwitchPci),
        VMSTATE_UINT32(port0, IbSwitchPci),
        VMSTATE_UINT32(intr_status, IbSwitchPci),
        VMSTATE_UINT32(intr_enable, IbSwitchPci),
        VMSTATE_UINT32(error, IbSwitchPci),
        VMSTATE_UINT32_ARRAY(port_event, IbSwitchPci, 8),
        VMSTATE_UINT32(tx_route, IbSwitchPci),
        VMSTATE_UINT32(tx_qpn, IbSwitchPci),
        VMSTATE_UINT32(tx_pkey, IbSwitchPci),
        VMSTATE_UINT32(tx_result, IbSwitchPci),
        VMSTATE_UINT8_ARRAY(tx_mad, IbSwitchPci, IBSW_MAD_BYTES),
        VMSTATE_STRUCT_ARRAY(mail, IbSwitchPci, IBSW_MBOX_RX_DEPTH, 1,
                             ib_switch_mail_vmstate, IbSwitchMail),
        VMSTATE_UINT32(mail_first, IbSwitchPci),
        VMSTATE_UINT32(mail_count, IbSwitchPci),
        VMSTATE_UINT32(mail_dropped, IbSwitchPci),
        VMSTATE_STRUCT(tx, IbSwitchPci, 1, ib_switch_ring_vmstate,
                       IbSwitchRing),
        VMSTATE_STRUCT(rx, IbSwitchPci, 1, ib_switch_ring_vmstate,
                       IbSwitchRing),
        VMSTATE_END_OF_LIST()
    },
};

/* ------------------------------------------------------------------ class */

static IbProperty ib_switch_pci_properties[] = {
    DEFINE_IB_SWITCH_PROPERTIES(IbSwitchPci, bay),
    DEFINE_PROP_STRING("sma", IbSwitchPci, sma),
    IB_PROP_END
};

static void ib_switch_pci_class_init(ObjectClass *oc, IbClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(oc);
    ResettableClass *rc = RESETTABLE_CLASS(oc);

    pc->realize = ib_switch_pci_realize;
    pc->exit = ib_switch_pci_exit;
    pc->vendor_id = IBSW_PCI_VENDOR_ID;
    pc->device_id = IBSW_PCI_DEVICE_ID;
    pc->class_id = PCI_CLASS_NETWORK_OTHER;
    pc->revision = IBSW_VERSION_VALUE;
    dc->vmsd = &ib_switch_pci_vmstate;
    dc->desc = "InfiniBand switch with registers on a PCI function";
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
    rc->phases.hold = ib_switch_pci_reset_hold;
    device_class_set_props(dc, ib_switch_pci_properties);
    ib_switch_bay_class_init(oc, offsetof(IbSwitchPci, bay));
    object_class_property_set_description(
        oc, "sma", "who answers SMPs until the guest decides: device "
        "(default) or host (the guest)");
}

static const TypeInfo ib_switch_pci_types[] = {
    {
        .name = TYPE_IB_SWITCH_PCI,
        .parent = TYPE_PCI_DEVICE,
        .instance_size = sizeof(IbSwitchPci),
        .class_init = ib_switch_pci_class_init,
        .interfaces = (IbInterfaceInfo[]) {
            { INTERFACE_PCIE_DEVICE },
            { }
        },
    },
};

DEFINE_TYPES(ib_switch_pci_types)
