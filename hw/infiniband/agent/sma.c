/*
 * Subnet management agent: which SMP is answered, by whom and how
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IBA Vol.1 13.4 (methods and statuses), 14.2.4 (M_Key), 14.2.5 (attributes).
 */
#include "agent-int.h"

#define NS_PER_S  1000000000LL

/* --------------------------------------------------------- the attributes */

static IbSmaStatus get_node_description(IbNode *node, uint8_t in_port,
                                        uint32_t modifier, uint8_t *data,
                                        void *opaque)
{
    memcpy(data, node->description, sizeof(node->description));
    return 0;
}

static IbSmaStatus get_node_info(IbNode *node, uint8_t in_port,
                                 uint32_t modifier, uint8_t *data,
                                 void *opaque)
{
    const IbNodeConfig *config = &node->config;
    uint8_t end_port = ib_node_end_port(node, in_port);

    ib_field_set(data, IB_NODEINFO_BASE_VERSION, IB_MAD_BASE_VERSION_1);
    ib_field_set(data, IB_NODEINFO_CLASS_VERSION, IB_CLASS_VERSION_SUBN);
    ib_field_set(data, IB_NODEINFO_NODE_TYPE, config->node_type);
    ib_field_set(data, IB_NODEINFO_NUM_PORTS, config->num_ports);
    ib_put_be64(data + IB_NODEINFO_SYSTEM_IMAGE_GUID_OFFSET,
                config->system_guid);
    ib_put_be64(data + IB_NODEINFO_NODE_GUID_OFFSET, config->node_guid);
    ib_put_be64(data + IB_NODEINFO_PORT_GUID_OFFSET,
                ib_node_guid(node, end_port, 0));
    ib_field_set(data, IB_NODEINFO_PARTITION_CAP, config->pkey_cap);
    ib_field_set(data, IB_NODEINFO_DEVICE_ID, config->device_id);
    ib_field_set(data, IB_NODEINFO_REVISION, config->revision);
    ib_field_set(data, IB_NODEINFO_LOCAL_PORT_NUM, in_port);
    ib_field_set(data, IB_NODEINFO_VENDOR_ID, config->vendor_id);
    return 0;
}

static const IbSmaAttribute sma_attributes[] = {
    { IB_SM_ATTR_NODE_DESCRIPTION, "NodeDescription",
      IB_ON_CA | IB_ON_SWITCH, get_node_description, NULL },
    { IB_SM_ATTR_NODE_INFO, "NodeInfo",
      IB_ON_CA | IB_ON_SWITCH, get_node_info, NULL },
    { IB_SM_ATTR_NOTICE, "Notice",
      IB_ON_CA | IB_ON_SWITCH, ib_sma_get_notice, ib_sma_set_notice },
    { IB_SM_ATTR_PORT_INFO, "PortInfo",
      IB_ON_CA | IB_ON_SWITCH, ib_sma_get_port_info, ib_sma_set_port_info },
    { 0 }
};

static const IbSmaAttribute *sma_find_in(const IbSmaAttribute *table,
                                         uint8_t node_type, uint16_t id)
{
    for (; table && table->id; table++) {
        if (table->id == id && table->node_types & 1 << node_type) {
            return table;
        }
    }
    return NULL;
}

static const IbSmaAttribute *sma_find(const IbNode *node, uint16_t id)
{
    const IbSmaAttribute *const tables[] = {
        node->extra, sma_attributes, ib_sma_table_attributes,
    };
    const IbSmaAttribute *row = NULL;
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(tables) && !row; i++) {
        row = sma_find_in(tables[i], node->config.node_type, id);
    }
    return row;
}

/* ------------------------------------------------------------- the M_Key */

/*
 * IBA Vol.1 14.2.4.1, table 119: 0 protects nothing; a Set always needs the
 * key; a Get does from M_KeyProtectBits 2 on, and with 1 it is shown no key.
 */
static bool sma_m_key_passes(const IbNode *node, const IbAgentPort *port,
                             bool is_get)
{
    return node->smp.any_m_key || port->m_key == 0 ||
           port->m_key == node->smp.m_key ||
           (is_get && port->m_key_protect < 2);
}

static bool sma_m_key_known(const IbNode *node, const IbAgentPort *port)
{
    return node->smp.any_m_key || port->m_key == node->smp.m_key;
}

/* A wrong key was used: the lease runs, if it does not already. */
static void sma_m_key_violation(IbNode *node, uint8_t num, uint16_t slid,
                                const uint8_t *mad)
{
    IbAgentPort *port = &node->ports[num];

    ib_count16(&port->m_key_violations);
    if (port->m_key_lease != 0 && port->lease_deadline == IB_NEVER) {
        port->lease_deadline = node->ops->now(node->opaque) +
                               port->m_key_lease * NS_PER_S;
        ib_node_rearm(node);
    }
    ib_trap_bad_m_key(node, num, slid, mad);
}

static bool sma_check_m_key(IbNode *node, uint8_t num, uint16_t slid,
                            unsigned flags, const uint8_t *mad)
{
    IbAgentPort *port = &node->ports[num];
    bool is_get = ib_field_get(mad, IB_MAD_METHOD) == IB_METHOD_GET;

    node->smp.m_key = ib_get_be64(mad + IB_SMP_M_KEY_OFFSET);
    node->smp.any_m_key = flags & IB_MAD_IGNORE_MKEY;
    node->smp.show_m_key = sma_m_key_known(node, port) ||
                           port->m_key_protect == 0;
    if (!sma_m_key_passes(node, port, is_get)) {
        sma_m_key_violation(node, num, slid, mad);
        return false;
    }
    if (port->lease_deadline != IB_NEVER && sma_m_key_known(node, port)) {
        port->lease_deadline = IB_NEVER;
        ib_node_rearm(node);
    }
    return true;
}

bool ib_sma_may_set(IbNode *node, uint8_t port)
{
    return sma_m_key_passes(node, &node->ports[port], false);
}

/* The lease ran out unrenewed: anybody may read the M_Key now. */
void ib_sma_lease_timer(IbNode *node, uint8_t num, int64_t now)
{
    IbAgentPort *port = &node->ports[num];

    if (port->lease_deadline <= now) {
        port->lease_deadline = IB_NEVER;
        port->m_key_protect = 0;
    }
}

/* ------------------------------------------------------------- dispatch */

static IbSmaStatus sma_do(IbNode *node, uint8_t in_port, const uint8_t *in,
                          uint8_t *data)
{
    uint32_t modifier = ib_field_get(in, IB_MAD_ATTRIBUTE_MODIFIER);
    bool is_set = ib_field_get(in, IB_MAD_METHOD) == IB_METHOD_SET;
    const IbSmaAttribute *row;
    IbSmaStatus status;

    node->smp.is_set = is_set;
    node->smp.reregister = false;
    row = sma_find(node, ib_field_get(in, IB_MAD_ATTRIBUTE_ID));
    if (!row || (is_set ? !row->set : !row->get)) {
        return IB_MAD_STATUS_BAD_METHOD_ATTR;
    }
    if (is_set) {
        status = row->set(node, in_port, modifier, data, node->opaque);
        if (status || !row->get) {
            return status;
        }
    }
    memset(data, 0, IB_SMP_DATA_BYTES);
    return row->get(node, in_port, modifier, data, node->opaque);
}

IbSmaStatus ib_node_attribute(IbNode *node, bool set, uint16_t id,
                              uint32_t modifier, uint8_t *data)
{
    uint8_t smp[IB_MAD_BYTES];

    ib_mad_init(smp, IB_CLASS_SUBN_LID_ROUTED, IB_CLASS_VERSION_SUBN,
                set ? IB_METHOD_SET : IB_METHOD_GET, 0, id, modifier);
    node->smp.m_key = 0;
    node->smp.any_m_key = true;
    node->smp.show_m_key = true;
    return sma_do(node, ib_node_first_end_port(node), smp, data);
}

static bool sma_version_ok(const uint8_t *in)
{
    return ib_field_get(in, IB_MAD_BASE_VERSION) == IB_MAD_BASE_VERSION_1 &&
           ib_field_get(in, IB_MAD_CLASS_VERSION) == IB_CLASS_VERSION_SUBN;
}

IbMadVerdict ib_sma_process(IbNode *node, uint8_t in_port, uint16_t slid,
                            unsigned flags, const uint8_t *in, uint8_t *out)
{
    uint8_t end_port = ib_node_end_port(node, in_port);
    uint8_t method = ib_field_get(in, IB_MAD_METHOD);
    IbSmaStatus status;

    switch (method) {
    case IB_METHOD_TRAP_REPRESS:
        if (!sma_version_ok(in) ||
            !sma_check_m_key(node, end_port, slid, flags, in)) {
            return IB_MAD_DROPPED;
        }
        ib_trap_repress(node, end_port,
                        ib_get_be64(in + IB_MAD_TRANSACTION_ID_OFFSET));
        return IB_MAD_CONSUMED;
    case IB_METHOD_SEND:
    case IB_METHOD_TRAP:
    case IB_METHOD_REPORT:
        /* For managers; an agent has no answer to them. */
        return IB_MAD_DROPPED;
    default:
        if (method & IB_METHOD_RESPONSE) {
            return IB_MAD_CONSUMED;
        }
        break;
    }

    memcpy(out, in, IB_MAD_BYTES);
    if (!sma_version_ok(in)) {
        status = IB_MAD_STATUS_BAD_VERSION;
    } else if (!sma_check_m_key(node, end_port, slid, flags, in)) {
        return IB_MAD_DROPPED;
    } else if (method != IB_METHOD_GET && method != IB_METHOD_SET) {
        status = IB_MAD_STATUS_BAD_METHOD;
    } else {
        status = sma_do(node, in_port, in, out + IB_SMP_DATA_OFFSET);
    }
    ib_mad_to_response(out, status);
    return IB_MAD_REPLY;
}
