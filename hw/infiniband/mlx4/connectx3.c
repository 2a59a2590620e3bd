/*
 * connectx3: a ConnectX-3 InfiniBand channel adapter on a PCI function
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 *     -device connectx3,id=hca,netdev=n0[,ports=2][,node-guid=...]
 *     -device ib-port,bus=hca.0,port=2,netdev=n1
 *
 * The netdev is port 1's cable; an ib-port is one in a cage without.  Drivers:
 * mlx4_core and mlx4_ib of Linux.  The transport itself is hw/infiniband/hca/;
 * this folder is the adapter's interface to a driver, see mlx4.h for what is
 * where.
 */
#include "mlx4.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "migration/vmstate.h"
#include "qapi/error.h"
#include "qapi/visitor.h"

/* NodeInfo of the real adapter. */
/*
 * The driver may load its upper half after INIT_PORT: an event about a port
 * that is active sooner would be lost on it.
 */
#define MLX4_TRAINING_MS      1000
/* How often QPs in ERR are looked at for entries that nobody rings for. */
#define MLX4_FLUSH_NS         (20 * 1000 * 1000LL)

void mlx4_work_soon(Mlx4State *s)
{
    timer_mod_ns(s->work_timer, ib_cable_now());
}

static void mlx4_work(void *opaque)
{
    Mlx4State *s = opaque;

    mlx4_cq_work(s);
    mlx4_qp_flush_posted(s, MLX4_ALL_CQS);
    mlx4_irq_flush(s);
    if (!QTAILQ_EMPTY(&s->err_qps)) {
        timer_mod_ns(s->work_timer, ib_cable_now() + MLX4_FLUSH_NS);
    }
}

static void mlx4_cq_timer(void *opaque)
{
    Mlx4State *s = opaque;

    mlx4_cq_release(s);
    mlx4_irq_flush(s);
}

static void mlx4_timer(void *opaque)
{
    Mlx4State *s = opaque;

    ib_hca_timer(s->hca);
}

/* ------------------------------------------------------------------- reset */

void mlx4_reset(Mlx4State *s)
{
    s->running = false;
    timer_del(s->work_timer);
    mlx4_qp_reset_all(s);
    ib_hca_reset(s->hca);
    mlx4_mcg_reset(s);
    mlx4_srq_reset(s);
    mlx4_cq_reset(s);
    mlx4_eq_reset(s);
    mlx4_mpt_forget_all(s);
    mlx4_icm_reset(s);
    s->special_base = 0;
    s->cq_failed = false;
    s->cq_arm_high = 0;
    memset(s->hcr, 0, sizeof(s->hcr));
    memset(s->catas, 0, sizeof(s->catas));
}

static void mlx4_reset_hold(IB_RESET_ARGS(obj))
{
    mlx4_reset(CONNECTX3(obj));
}

/* ----------------------------------------------------------------- realize */

static bool mlx4_config(Mlx4State *s, Error **errp)
{
    IbNodeConfig *node = &s->config.node;

    if (s->ports < 1 || s->ports > IB_HCA_MAX_PORTS) {
        error_setg(errp, "ports must be 1..%u, not %u", IB_HCA_MAX_PORTS,
                   s->ports);
        return false;
    }
    if (!ib_link_props_config(&s->link, &s->config.link, errp) ||
        !ib_description_config(s->description, "QEMU ConnectX-3 HCA",
                               node->description, errp)) {
        return false;
    }
    s->config.link.training_ms = MLX4_TRAINING_MS;
    node->node_type = IB_NODE_TYPE_CA;
    node->num_ports = s->ports;
    node->node_guid = ib_guid_value(&s->node_guid);
    node->port_guid = s->port_guid.given ? s->port_guid.value
                                         : node->node_guid + 1;
    node->system_guid = s->system_guid.given ? s->system_guid.value
                                             : node->node_guid;
    node->vendor_id = IB_MLNX_VENDOR_ID;
    node->device_id = MLX4_DEVICE_ID;
    node->firmware = mlx4_firmware;
    node->pkey_cap = 1 << MLX4_LOG_PKEYS;
    node->guid_cap = 1 << MLX4_LOG_GIDS;
    node->capability_mask = IB_NODE_CAPABILITY_MASK;
    return true;
}

static IbLink *mlx4_claim(void *owner, uint32_t port, IbCable *cable,
                          Error **errp)
{
    Mlx4State *s = owner;

    if (port < 1 || port > mlx4_num_ports(s)) {
        error_setg(errp, "port must be 1..%u, not %u", mlx4_num_ports(s),
                   port);
        return NULL;
    }
    if (s->cables[port]) {
        error_setg(errp, "port %u is taken; port must be a free one of 1..%u",
                   port, mlx4_num_ports(s));
        return NULL;
    }
    s->cables[port] = cable;
    return ib_hca_link(s->hca, port);
}

static void mlx4_release(void *owner, uint32_t port)
{
    Mlx4State *s = owner;

    s->cables[port] = NULL;
}

static void mlx4_cages_init(Mlx4State *s)
{
    IbCageBus *cages = IB_CAGE_BUS(qbus_new(TYPE_IB_CAGE_BUS, DEVICE(s),
                                            NULL));

    cages->owner = s;
    cages->claim = mlx4_claim;
    cages->release = mlx4_release;
    qbus_set_bus_hotplug_handler(BUS(cages));
}

static void mlx4_exit(PCIDevice *pdev)
{
    Mlx4State *s = CONNECTX3(pdev);

    ib_cable_unplug(&s->cable);
    s->cables[1] = NULL;
    mlx4_reset(s);
    ib_hca_free(s->hca);
    s->hca = NULL;
    timer_free(s->timer);
    timer_free(s->work_timer);
    timer_free(s->cq_timer);
    g_hash_table_destroy(s->icm);
    g_free(s->qps);
    g_free(s->cqs);
    g_free(s->srqs);
    g_free(s->mcgs);
    g_free(s->saved);
    msix_uninit(pdev, &s->bar0, &s->bar0);
}

static void mlx4_realize(PCIDevice *pdev, Error **errp)
{
    Mlx4State *s = CONNECTX3(pdev);
    unsigned vector;

    if (!mlx4_config(s, errp)) {
        return;
    }
    pdev->config[PCI_INTERRUPT_PIN] = 1;
    mlx4_bars_init(s);
    if (pci_bus_is_express(pci_get_bus(pdev)) &&
        pcie_endpoint_cap_init(pdev, 0) < 0) {
        error_setg(errp, "connectx3: no room for the PCI Express capability");
        return;
    }
    if (msix_init(pdev, MLX4_VECTORS, &s->bar0, 0, MLX4_REG_MSIX_TABLE,
                  &s->bar0, 0, MLX4_REG_MSIX_PBA, 0, errp) < 0) {
        return;
    }
    for (vector = 0; vector < MLX4_VECTORS; vector++) {
        msix_vector_use(pdev, vector);
    }

    QTAILQ_INIT(&s->err_qps);
    QTAILQ_INIT(&s->held_cqs);
    s->qps = g_new0(Mlx4Qp *, 1 << MLX4_LOG_QPS);
    s->cqs = g_new0(Mlx4Cq *, 1 << MLX4_LOG_CQS);
    s->srqs = g_new0(Mlx4Srq *, 1 << MLX4_LOG_SRQS);
    s->mcgs = g_new0(uint8_t *, 1 << MLX4_LOG_MCGS);
    mlx4_icm_init(s);
    s->timer = timer_new_ns(QEMU_CLOCK_REALTIME, mlx4_timer, s);
    s->work_timer = timer_new_ns(QEMU_CLOCK_REALTIME, mlx4_work, s);
    s->cq_timer = timer_new_ns(QEMU_CLOCK_REALTIME, mlx4_cq_timer, s);
    s->hca = ib_hca_new(&s->config, &mlx4_engine_ops, s);

    /* Without a netdev its cage is empty too, until an ib-port comes. */
    mlx4_cages_init(s);
    if (s->cable.conf.peers.ncs[0]) {
        s->cables[1] = &s->cable;
        if (!ib_cable_plug(&s->cable, DEVICE(s), ib_hca_link(s->hca, 1),
                           errp)) {
            mlx4_exit(pdev);
        }
    }
}

/* --------------------------------------------------------------- migration */

static int mlx4_pre_save(void *opaque)
{
    Mlx4State *s = opaque;
    GByteArray *bytes = g_byte_array_new();

    mlx4_state_save(s, bytes);
    g_free(s->saved);
    s->saved_size = bytes->len;
    s->saved = g_byte_array_free(bytes, false);
    return 0;
}

static int mlx4_post_load(void *opaque, int version_id)
{
    Mlx4State *s = opaque;
    bool ok = mlx4_state_load(s, s->saved, s->saved_size);

    if (!ok) {
        mlx4_reset(s);
    }
    g_free(s->saved);
    s->saved = NULL;
    s->saved_size = 0;
    return ok ? 0 : -EINVAL;
}

static const VMStateDescription mlx4_vmstate = {
    .name = TYPE_CONNECTX3,
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = mlx4_pre_save,
    .post_load = mlx4_post_load,
    .fields = (VMStateField[]) {
        VMSTATE_PCI_DEVICE(parent_obj, Mlx4State),
        VMSTATE_MSIX(parent_obj, Mlx4State),
        VMSTATE_UINT32(saved_size, Mlx4State),
        VMSTATE_VBUFFER_ALLOC_UINT32(saved, Mlx4State, 1, NULL, saved_size),
        VMSTATE_END_OF_LIST()
    },
};

/* -------------------------------------------------------------- properties */

static void mlx4_get_lid(Object *obj, Visitor *v, const char *name,
                         void *opaque, Error **errp)
{
    Mlx4State *s = CONNECTX3(obj);
    uint16_t lid = s->hca ? ib_node_lid(ib_hca_node(s->hca), 1) : 0;

    visit_type_uint16(v, name, &lid, errp);
}

/* The first word of the buffer that a driver polls for internal errors. */
static void mlx4_get_internal_error(Object *obj, Visitor *v, const char *name,
                                    void *opaque, Error **errp)
{
    visit_type_uint32(v, name, &CONNECTX3(obj)->catas[0], errp);
}

static void mlx4_set_internal_error(Object *obj, Visitor *v, const char *name,
                                    void *opaque, Error **errp)
{
    visit_type_uint32(v, name, &CONNECTX3(obj)->catas[0], errp);
}

static void mlx4_get_discards(Object *obj, Visitor *v, const char *name,
                              void *opaque, Error **errp)
{
    Mlx4State *s = CONNECTX3(obj);
    int i;

    if (!visit_start_struct(v, name, NULL, 0, errp)) {
        return;
    }
    for (i = 0; i < IB_DISCARDS; i++) {
        uint64_t count = s->hca ? ib_hca_discards(s->hca, i) : 0;

        if (!visit_type_uint64(v, ib_hca_discard_str(i), &count, errp)) {
            break;
        }
    }
    visit_end_struct(v, NULL);
}

static IbProperty mlx4_properties[] = {
    DEFINE_PROP_NETDEV("netdev", Mlx4State, cable.conf.peers),
    DEFINE_PROP_UINT8("ports", Mlx4State, ports, 1),
    DEFINE_PROP_BOOL("blueflame", Mlx4State, blueflame, false),
    DEFINE_PROP_STRING("description", Mlx4State, description),
    DEFINE_IB_LINK_PROPERTIES(Mlx4State, link),
    IB_PROP_END
};

static void mlx4_class_init(ObjectClass *oc, IbClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(oc);
    ResettableClass *rc = RESETTABLE_CLASS(oc);

    pc->realize = mlx4_realize;
    pc->exit = mlx4_exit;
    pc->vendor_id = MLX4_VENDOR_ID;
    pc->device_id = MLX4_DEVICE_ID;
    pc->class_id = PCI_CLASS_NETWORK_OTHER;
    pc->revision = 0;
    dc->vmsd = &mlx4_vmstate;
    dc->desc = "Mellanox ConnectX-3 InfiniBand HCA";
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
    rc->phases.hold = mlx4_reset_hold;
    device_class_set_props(dc, mlx4_properties);
    object_class_property_set_description(
        oc, "netdev", "the -netdev that is the cable of port 1; ib-ports are "
        "those of ports without");
    object_class_property_set_description(
        oc, "ports", "ports, 1 or 2 (default: 1)");
    object_class_property_set_description(
        oc, "blueflame", "let drivers write small entries to the adapter; in "
        "a virtual machine that is slower than a doorbell");
    object_class_property_set_description(
        oc, "description", "NodeDescription until a driver sets its own, at "
        "most 64 bytes");
    ib_link_props_describe(oc);
    ib_cable_properties_add(oc, offsetof(Mlx4State, cable));
    ib_guid_property_add(oc, "node-guid", offsetof(Mlx4State, node_guid),
                         "NodeGUID; give one to keep it over restarts and "
                         "migration");
    ib_guid_property_add(oc, "port-guid", offsetof(Mlx4State, port_guid),
                         "GUID of port 1 (default: NodeGUID + 1); that of "
                         "port 2 is the next");
    ib_guid_property_add(oc, "system-guid", offsetof(Mlx4State, system_guid),
                         "SystemImageGUID (default: the NodeGUID)");
    object_class_property_add(oc, "lid", "uint16", mlx4_get_lid, NULL, NULL,
                              NULL);
    object_class_property_set_description(oc, "lid", "LID of port 1");
    object_class_property_add(oc, "internal-error", "uint32",
                              mlx4_get_internal_error,
                              mlx4_set_internal_error, NULL, NULL);
    object_class_property_set_description(
        oc, "internal-error", "not 0: tell the driver of an internal error; "
        "it resets the adapter");
    object_class_property_add(oc, "discards", "IbHcaDiscards",
                              mlx4_get_discards, NULL, NULL, NULL);
    object_class_property_set_description(
        oc, "discards", "packets that went no further, by reason");
}

static const TypeInfo mlx4_types[] = {
    {
        .name = TYPE_CONNECTX3,
        .parent = TYPE_PCI_DEVICE,
        .instance_size = sizeof(Mlx4State),
        .class_init = mlx4_class_init,
        .interfaces = (IbInterfaceInfo[]) {
            { INTERFACE_PCIE_DEVICE },
            { }
        },
    },
};

DEFINE_TYPES(mlx4_types)
