/*
 * The agent of a MAD's class
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IBA Vol.1 13.4.4, 13.4.7.
 */
#include "agent-int.h"

/* No agent has this class: a request is told so, anything else is lost. */
static IbMadVerdict gsi_no_agent(const uint8_t *in, uint8_t *out)
{
    uint8_t method = ib_field_get(in, IB_MAD_METHOD);

    if (method & IB_METHOD_RESPONSE) {
        return IB_MAD_CONSUMED;
    }
    if (method != IB_METHOD_GET && method != IB_METHOD_SET) {
        return IB_MAD_DROPPED;
    }
    memcpy(out, in, IB_MAD_BYTES);
    ib_mad_to_response(out, IB_MAD_STATUS_BAD_METHOD_ATTR);
    return IB_MAD_REPLY;
}

static bool gsi_has_agent(const IbNode *node, uint8_t mgmt_class)
{
    return mgmt_class == IB_CLASS_SUBN_LID_ROUTED ||
           mgmt_class == IB_CLASS_SUBN_DIRECTED_ROUTE ||
           mgmt_class == IB_CLASS_PERFORMANCE ||
           mgmt_class == IB_CLASS_CONGESTION ||
           (mgmt_class == IB_CLASS_MLNX_VENDOR && ib_node_is_mlnx(node));
}

bool ib_node_is_for_manager(const IbNode *node, const uint8_t *mad)
{
    uint8_t method = ib_field_get(mad, IB_MAD_METHOD);

    if (method & IB_METHOD_RESPONSE || method == IB_METHOD_SEND ||
        method == IB_METHOD_TRAP || method == IB_METHOD_REPORT) {
        return true;
    }
    return !gsi_has_agent(node, ib_field_get(mad, IB_MAD_MGMT_CLASS)) ||
           (ib_mad_is_smp(mad) &&
            ib_field_get(mad, IB_MAD_ATTRIBUTE_ID) == IB_SM_ATTR_SM_INFO);
}

IbMadVerdict ib_node_process_mad(IbNode *node, uint8_t in_port, uint16_t slid,
                                 unsigned flags, const uint8_t *in,
                                 uint8_t *out)
{
    if (in_port > node->config.num_ports ||
        (in_port == 0 && !ib_node_is_switch(node))) {
        return IB_MAD_DROPPED;
    }
    if (!gsi_has_agent(node, ib_field_get(in, IB_MAD_MGMT_CLASS))) {
        return gsi_no_agent(in, out);
    }
    switch (ib_field_get(in, IB_MAD_MGMT_CLASS)) {
    case IB_CLASS_SUBN_LID_ROUTED:
    case IB_CLASS_SUBN_DIRECTED_ROUTE:
        return ib_sma_process(node, in_port, slid, flags, in, out);
    case IB_CLASS_PERFORMANCE:
        return ib_pma_process(node, in, out);
    case IB_CLASS_CONGESTION:
        return ib_cc_process(node, in_port, in, out);
    default:
        return ib_vendor_process(node, in, out);
    }
}
