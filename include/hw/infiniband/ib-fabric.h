/*
 * A whole fabric in one process, from a topology file
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The file is what ibnetdiscover prints and ibsim reads (docs/fabric.rst).
 */
#ifndef HW_INFINIBAND_IB_FABRIC_H
#define HW_INFINIBAND_IB_FABRIC_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* ------------------------------------------------------------ the file */

#define IB_TOPOLOGY_LINE_MAX   1023       /* bytes of a line, without \n */
#define IB_TOPOLOGY_ID_MAX     63         /* bytes of a node's name */
#define IB_TOPOLOGY_NODES_MAX  49151      /* a unicast LID for each */
#define IB_TOPOLOGY_FILES_MAX  64         /* opened, over all includes */
#define IB_TOPOLOGY_DEPTH_MAX  16         /* of includes */

typedef struct IbTopologyPort {
    uint32_t peer;                /* index of the node; only if cabled */
    uint8_t peer_port;
    bool cabled;
    uint8_t width;                /* LinkWidthEnabled (w=), 0: not said */
    uint8_t speed;                /* LinkSpeedEnabled (s=), 0: not said */
} IbTopologyPort;

typedef struct IbTopologyNode {
    char *id;                     /* between the first quotes of its line */
    char *description;            /* as after the #, or the id */
    uint8_t type;                 /* IB_NODE_TYPE_CA or _SWITCH */
    uint8_t num_ports;            /* 1..254 */
    bool enhanced_port0;
    uint64_t node_guid, system_guid;
    uint64_t port_guid;           /* CA: of port 1; switch: of port 0 */
    uint32_t vendor_id;
    uint16_t device_id;
    IbTopologyPort *ports;        /* 1..num_ports; [0] is unused */
} IbTopologyNode;

typedef struct IbTopology {
    IbTopologyNode *nodes;        /* in the order of the file */
    uint32_t num_nodes;
    uint32_t num_cables;
} IbTopology;

#define IB_TOPOLOGY_ERROR  ib_topology_error_quark()
GQuark ib_topology_error_quark(void);

/*
 * Read @path and what it includes (a relative name: from the folder of the file
 * that includes it).  A cable may be listed at one of its ends or at both.
 * In a file without any GUID, switches get those from 100000 and CAs those
 * from 200000 (hexadecimal) on.  NULL and "FILE:LINE: reason" in @error for
 * anything that does not describe a fabric; files of any length and content
 * are legal input, and no more than a line of one is held at a time.
 */
IbTopology *ib_topology_read(const char *path, GError **error);
void ib_topology_free(IbTopology *topology);
/* The node of that id, or NULL; a walk over all nodes. */
const IbTopologyNode *ib_topology_find(const IbTopology *topology,
                                       const char *id);

#endif
