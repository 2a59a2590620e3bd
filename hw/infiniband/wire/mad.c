/*
 * Management datagrams and the few computations on attribute codes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hw/infiniband/ib-mad.h"
#include "hw/infiniband/ib-sm-attr.h"

void ib_mad_init(void *mad, uint8_t mgmt_class, uint8_t class_version,
                 uint8_t method, uint64_t tid, uint16_t attribute_id,
                 uint32_t attribute_modifier)
{
    memset(mad, 0, IB_MAD_BYTES);
    ib_field_set(mad, IB_MAD_BASE_VERSION, IB_MAD_BASE_VERSION_1);
    ib_field_set(mad, IB_MAD_MGMT_CLASS, mgmt_class);
    ib_field_set(mad, IB_MAD_CLASS_VERSION, class_version);
    ib_field_set(mad, IB_MAD_METHOD, method);
    ib_put_be64((uint8_t *)mad + IB_MAD_TRANSACTION_ID_OFFSET, tid);
    ib_field_set(mad, IB_MAD_ATTRIBUTE_ID, attribute_id);
    ib_field_set(mad, IB_MAD_ATTRIBUTE_MODIFIER, attribute_modifier);
}

void ib_mad_to_response(void *mad, uint16_t status)
{
    uint32_t method = ib_field_get(mad, IB_MAD_METHOD);

    if (method == IB_METHOD_SET) {
        method = IB_METHOD_GET;     /* Get and Set share GetResp */
    }
    ib_field_set(mad, IB_MAD_METHOD, method | IB_METHOD_RESPONSE);
    ib_field_set(mad, IB_MAD_STATUS, status);
    if (ib_field_get(mad, IB_MAD_MGMT_CLASS) == IB_CLASS_SUBN_DIRECTED_ROUTE) {
        ib_field_set(mad, IB_SMP_D, 1);
    }
}

unsigned ib_link_width_to_lanes(unsigned width)
{
    switch (width) {
    case IB_LINK_WIDTH_1X:
        return 1;
    case IB_LINK_WIDTH_2X:
        return 2;
    case IB_LINK_WIDTH_4X:
        return 4;
    case IB_LINK_WIDTH_8X:
        return 8;
    case IB_LINK_WIDTH_12X:
        return 12;
    default:
        return 0;
    }
}

/* Signalling rate of one lane in kbit/s */
static unsigned link_lane_kbps(unsigned speed, unsigned speed_ext)
{
    switch (speed_ext) {
    case 0:
        break;
    case IB_LINK_SPEED_EXT_FDR:
        return 14062500;
    case IB_LINK_SPEED_EXT_EDR:
        return 25781250;
    case IB_LINK_SPEED_EXT_HDR:
        return 53125000;
    case IB_LINK_SPEED_EXT_NDR:
        return 106250000;
    default:
        return 0;
    }
    switch (speed) {
    case IB_LINK_SPEED_SDR:
        return 2500000;
    case IB_LINK_SPEED_DDR:
        return 5000000;
    case IB_LINK_SPEED_QDR:
        return 10000000;
    default:
        return 0;
    }
}

unsigned ib_link_rate_mbps(unsigned width, unsigned speed, unsigned speed_ext)
{
    uint64_t kbps = link_lane_kbps(speed, speed_ext);

    return kbps * ib_link_width_to_lanes(width) / 1000;
}

const char *ib_port_state_str(unsigned state)
{
    static const char *const name[] = {
        [IB_PORT_NO_CHANGE] = "NoChange",
        [IB_PORT_DOWN] = "Down",
        [IB_PORT_INIT] = "Initialize",
        [IB_PORT_ARMED] = "Armed",
        [IB_PORT_ACTIVE] = "Active",
        [IB_PORT_ACT_DEFER] = "ActDefer",
    };

    return state < G_N_ELEMENTS(name) ? name[state] : "?";
}

const char *ib_phys_state_str(unsigned state)
{
    static const char *const name[] = {
        [IB_PHYS_NO_CHANGE] = "NoChange",
        [IB_PHYS_SLEEP] = "Sleep",
        [IB_PHYS_POLLING] = "Polling",
        [IB_PHYS_DISABLED] = "Disabled",
        [IB_PHYS_PORT_CONF_TRAINING] = "PortConfigurationTraining",
        [IB_PHYS_LINK_UP] = "LinkUp",
        [IB_PHYS_LINK_ERR_RECOVER] = "LinkErrorRecovery",
        [IB_PHYS_PHY_TEST] = "PhyTest",
    };

    return state < G_N_ELEMENTS(name) ? name[state] : "?";
}
