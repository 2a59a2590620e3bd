/*
 * Mellanox's vendor class (0x0a): what a device is and how long it has run
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Devices with Mellanox' vendor ID have it, and vendstat asks them for it.
 * The registers of a real chip behind its other attributes (configuration
 * space, groups of counters) are not here: what they count, the PMA has.
 */
#include "agent-int.h"

#define RESP_TIME_VALUE  18     /* 1.07 s */
#define NS_PER_S         INT64_C(1000000000)

static void vendor_get_class_port_info(uint8_t *data)
{
    ib_field_set(data, IB_CPI_BASE_VERSION, IB_MAD_BASE_VERSION_1);
    ib_field_set(data, IB_CPI_CLASS_VERSION, IB_CLASS_VERSION_MLNX_VENDOR);
    ib_field_set(data, IB_CPI_RESP_TIME_VALUE, RESP_TIME_VALUE);
}

/*
 * The version stands twice: in a byte each, and at whole length where newer
 * devices (ConnectX-3, SwitchX) have it and older ones their software's.
 */
static void vendor_get_general_info(const IbNode *node, uint8_t *data)
{
    const IbFirmware *fw = &node->config.firmware;
    int64_t up = node->ops->now(node->opaque) - node->reset_at;

    ib_field_set(data, IB_MLNX_INFO_HW_REVISION, node->config.revision);
    ib_field_set(data, IB_MLNX_INFO_DEVICE_ID, node->config.device_id);
    ib_field_set(data, IB_MLNX_INFO_UPTIME, up / NS_PER_S);
    ib_field_set(data, IB_MLNX_INFO_FW_MAJOR, fw->version[0]);
    ib_field_set(data, IB_MLNX_INFO_FW_MINOR, fw->version[1]);
    ib_field_set(data, IB_MLNX_INFO_FW_SUBMINOR, fw->version[2]);
    memcpy(data + IB_MLNX_INFO_PSID_OFFSET, fw->psid, sizeof(fw->psid));
    ib_field_set(data, IB_MLNX_INFO_FW_EXT_MAJOR, fw->version[0]);
    ib_field_set(data, IB_MLNX_INFO_FW_EXT_MINOR, fw->version[1]);
    ib_field_set(data, IB_MLNX_INFO_FW_EXT_SUBMINOR, fw->version[2]);
}

static IbSmaStatus vendor_do(const IbNode *node, const uint8_t *in,
                             uint8_t *data)
{
    uint16_t id = ib_field_get(in, IB_MAD_ATTRIBUTE_ID);

    if (ib_field_get(in, IB_MAD_METHOD) != IB_METHOD_GET ||
        (id != IB_ATTR_CLASS_PORT_INFO && id != IB_MLNX_ATTR_GENERAL_INFO)) {
        return IB_MAD_STATUS_BAD_METHOD_ATTR;
    }
    memset(data, 0, IB_VENDOR1_DATA_BYTES);
    if (id == IB_ATTR_CLASS_PORT_INFO) {
        vendor_get_class_port_info(data);
    } else {
        vendor_get_general_info(node, data);
    }
    return 0;
}

IbMadVerdict ib_vendor_process(IbNode *node, const uint8_t *in, uint8_t *out)
{
    uint8_t method = ib_field_get(in, IB_MAD_METHOD);
    IbSmaStatus status;

    if (method & IB_METHOD_RESPONSE) {
        return IB_MAD_CONSUMED;
    }
    if (method != IB_METHOD_GET && method != IB_METHOD_SET) {
        return IB_MAD_DROPPED;
    }
    memcpy(out, in, IB_MAD_BYTES);
    if (ib_field_get(in, IB_MAD_BASE_VERSION) != IB_MAD_BASE_VERSION_1 ||
        ib_field_get(in, IB_MAD_CLASS_VERSION) !=
        IB_CLASS_VERSION_MLNX_VENDOR) {
        status = IB_MAD_STATUS_BAD_VERSION;
    } else {
        status = vendor_do(node, in, out + IB_VENDOR1_DATA_OFFSET);
    }
    ib_mad_to_response(out, status);
    return IB_MAD_REPLY;
}
