/*
 * A whole fabric in one process, from a topology file
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The file is what ibnetdiscover prints and ibsim reads (docs/fabric.rst).
 */
#ifndef HW_INFINIBAND_IB_FABRIC_H
#define HW_INFINIBAND_IB_FABRIC_H

#include "hw/infiniband/ib-link.h"

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
    /* Of the cable, as a comment (4xQDR) of either end has it; 0: any */
    uint8_t rate_width;           /* LinkWidthActive */
    uint16_t rate_speed;          /* one bit, as ib_link_speed_active() */
} IbTopologyPort;

typedef struct IbTopologyNode {
    char *id;                     /* between the first quotes of its line */
    char *description;            /* as after the #, or the id */
    uint8_t type;                 /* IB_NODE_TYPE_CA, _SWITCH, _ROUTER */
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

/* ---------------------------------------------------------- the fabric */

typedef struct IbFabric IbFabric;
struct IbNode;

/* A management datagram as one of a node's ports sends or receives it. */
typedef struct IbFabricMad {
    uint32_t node;                /* index in the topology */
    uint8_t port;                 /* 1..; 0 of a switch */
    uint8_t sl;
    uint16_t slid, dlid;
    uint32_t src_qpn, dest_qpn;   /* dest_qpn 0: an SMP */
    uint8_t data[256];
} IbFabricMad;

typedef struct IbFabricOps {
    int64_t (*now)(void *opaque);               /* ns, monotonic */
    uint32_t (*random)(void *opaque);
    /*
     * May be NULL.  Something is due that was not when ib_fabric_run() returned
     * (a cable out of the fabric brought it): call that again soon, not from
     * here.
     */
    void (*wake)(void *opaque);
} IbFabricOps;

/*
 * Make all nodes, power them on and plug in all cables; @topology and @ops
 * outlive the fabric.  All calls for one fabric come from one thread.
 */
IbFabric *ib_fabric_new(const IbTopology *topology, const IbFabricOps *ops,
                        void *opaque);
void ib_fabric_free(IbFabric *fabric);
const IbTopology *ib_fabric_topology(const IbFabric *fabric);
int64_t ib_fabric_now(const IbFabric *fabric);
/* Do all that is due; the time (ns) when to call again, INT64_MAX: never. */
int64_t ib_fabric_run(IbFabric *fabric);
/*
 * Who gets the MADs that no agent of a node takes: responses, and requests
 * to managers.  @receive returns false when nobody is there for it.
 */
void ib_fabric_set_receiver(IbFabric *fabric,
                            bool (*receive)(void *opaque,
                                            const IbFabricMad *mad),
                            void *opaque);
/*
 * Send from a port of a CA or port 0 of a switch, @mad->data as its own SM or
 * GSI client would hand it over; slid is filled in.  Call ib_fabric_run()
 * afterwards.  What a node sends to itself may be answered within the call.
 */
void ib_fabric_send(IbFabric *fabric, const IbFabricMad *mad);
/*
 * Is a MAD that is not yet answered when ib_fabric_run() has returned lost for
 * good?  Not where cables out of the fabric, or delays, are.
 */
bool ib_fabric_is_prompt(const IbFabric *fabric);
/* The agents of node @index; NULL while a cable out of here stands for it. */
struct IbNode *ib_fabric_node(IbFabric *fabric, uint32_t index);
/* Index of the node of that id, GUID (0x...) or NodeDescription, or -1. */
int64_t ib_fabric_find(const IbFabric *fabric, const char *name);

/* --------------------------------------------------------------- cables */

/* The link of external port @port (1..) of node @index. */
IbLink *ib_fabric_link(IbFabric *fabric, uint32_t index, uint8_t port);
/* Pull the cable of that port out at both ends, or plug it in again. */
bool ib_fabric_cable_set(IbFabric *fabric, uint32_t index, uint8_t port,
                         bool plugged);
bool ib_fabric_cable_plugged(const IbFabric *fabric, uint32_t index,
                             uint8_t port);
/* Bad cables: as ib_link_set_inject() of that port. */
bool ib_fabric_set_inject(IbFabric *fabric, uint32_t index, uint8_t port,
                          const IbLinkInject *inject);
/*
 * Write what passes that port from now on to a capture file; NULL ends it.
 * False and an allocated message in @why.
 */
bool ib_fabric_capture(IbFabric *fabric, uint32_t index, uint8_t port,
                       const char *path, char **why);

/* The outer end of a cable that leaves the fabric. */
typedef struct IbPlugOps {
    /* As IbLinkOps, of the link that is inside: its frames and its timer */
    IbCableResult (*send_frame)(void *opaque, const uint8_t *frame,
                                size_t len);
    void (*set_timer)(void *opaque, int64_t deadline);
    void (*tap)(void *opaque, bool tx, const uint8_t *packet, size_t len,
                uint16_t vcrc);
} IbPlugOps;

/*
 * Let a cable out of the fabric: of a port that has none in the file.  Of a
 * CA's port that the file cables to a switch, something else takes the place:
 * what is returned is the link of the switch's port, and the CA itself is gone
 * until its last such plug is taken out.  The caller attaches the cable to the
 * link (ib_link_cable_attach()) and feeds it with frames and its timer.  NULL
 * and a reason in *@why (static) if it cannot be.
 */
IbLink *ib_fabric_plug(IbFabric *fabric, uint32_t index, uint8_t port,
                              const IbPlugOps *ops, void *opaque,
                              const char **why);
void ib_fabric_unplug(IbFabric *fabric, uint32_t index, uint8_t port);

#endif
