/*
 * The management agents of a node: SMI, SMA, PMA and traps
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An IbNode is what subnet management sees of a switch or a channel adapter:
 * its NodeInfo and, for each port, everything of PortInfo that is not the
 * link's own, the P_Key and GUID tables, the SL-to-VL maps.  The agents take
 * 256-byte MADs and write 256-byte MADs; packets around them are the business
 * of whoever owns the node (a switch's port 0, a channel adapter's face).
 *
 * A table row per attribute says which node types have it, which methods it
 * takes and who handles it; a switch adds rows of its own (SwitchInfo,
 * forwarding tables) when it makes the node.
 */
#ifndef HW_INFINIBAND_IB_AGENT_H
#define HW_INFINIBAND_IB_AGENT_H

#include "hw/infiniband/ib-link.h"
#include "hw/infiniband/ib-mad.h"
#include "hw/infiniband/ib-sm-attr.h"

typedef struct IbNode IbNode;

/* What changed by a Set, for the owner's caches, events and tables. */
enum {
    IB_CHANGED_LID        = 1 << 0,   /* LID or LMC */
    IB_CHANGED_SM         = 1 << 1,   /* MasterSMLID or SMSL */
    IB_CHANGED_PREFIX     = 1 << 2,   /* GidPrefix */
    IB_CHANGED_REREGISTER = 1 << 3,   /* ClientReregister was asked for */
    IB_CHANGED_PKEYS      = 1 << 4,
    IB_CHANGED_GUIDS      = 1 << 5,
    IB_CHANGED_SL2VL      = 1 << 6,
    IB_CHANGED_VLARB      = 1 << 7,
    IB_CHANGED_PORT       = 1 << 8,   /* any other PortInfo component */
    IB_CHANGED_DESC       = 1 << 9,
    IB_CHANGED_CC         = 1 << 10,  /* what to mark, or how to answer marks */
};

typedef struct IbNodeOps {
    int64_t (*now)(void *opaque);                        /* ns, monotonic */
    /*
     * The node's only timer (trap repetition, M_Key lease): call
     * ib_node_timer() at @deadline; INT64_MAX disarms.
     */
    void (*set_timer)(void *opaque, int64_t deadline);
    /*
     * Send an SMP of the node's own (a trap) LID-routed from @port to @dlid
     * on QP0/VL15; may be NULL for a node that sends none.  @port: 0 on a
     * switch.  The bytes are valid during the call.
     */
    void (*send_smp)(void *opaque, uint8_t port, const uint8_t *mad,
                     uint16_t dlid, uint8_t sl);
    void (*changed)(void *opaque, uint8_t port, uint32_t what);
} IbNodeOps;

typedef struct IbFirmware {
    uint16_t version[3];          /* major, minor, subminor */
    char psid[16];                /* of the board; not terminated when full */
} IbFirmware;

typedef struct IbNodeConfig {
    uint8_t node_type;            /* IB_NODE_TYPE_CA, _SWITCH, _ROUTER */
    uint8_t num_ports;            /* external ports, 1..254 */
    uint64_t system_guid, node_guid;
    uint64_t port_guid;           /* CA: of port 1, port n is +n-1; switch: */
                                  /* of port 0 */
    uint32_t vendor_id;           /* 24 bits, an OUI */
    uint16_t device_id;
    uint32_t revision;
    IbFirmware firmware;          /* told by Mellanox' vendor class */
    char description[64];         /* not terminated when full */
    uint16_t pkey_cap;            /* entries of each CA port / switch port 0 */
    uint16_t pkey_cap_external;   /* of each external port of a switch */
    uint8_t guid_cap;             /* entries of each CA port / switch port 0 */
    uint32_t capability_mask;     /* PortInfo.CapabilityMask, initial; the */
                                  /* bits of speeds follow links[], here and */
                                  /* in CapabilityMask2; that of VendorClass */
                                  /* the vendor ID */
    uint16_t capability_mask2;
    bool enhanced_port0;          /* SwitchInfo.EnhancedPort0 */
    bool optimized_sl2vl;         /* SwitchInfo's */
                                  /* OptimizedSLtoVLMappingProgramming */
    uint8_t enforcement;          /* IB_ENFORCE_* that the switch implements; */
                                  /* other bits are ignored in a Set */
} IbNodeConfig;

/*
 * What these agents do for a node, as CapabilityMask bits.  The owner adds
 * what it does itself: IsMulticastFDBTopSupported, IsAutomaticMigration...,
 * a driver adds IsSM and IsCommunicationManagementSupported.  A ConnectX-3
 * under its driver reports 0x02514868, a Mellanox switch 0x42504848.
 */
#define IB_NODE_CAPABILITY_MASK                        \
    (IB_CAP_IS_TRAP_SUPPORTED |                        \
     IB_CAP_IS_SL_MAPPING_SUPPORTED |                  \
     IB_CAP_IS_SYSTEM_IMAGE_GUID_SUPPORTED |           \
     IB_CAP_IS_CAPABILITY_MASK_NOTICE_SUPPORTED |      \
     IB_CAP_IS_CLIENT_REREGISTRATION_SUPPORTED)

/* The low bits of PortInfo's byte of OperationalVLs (external switch ports) */
enum {
    IB_ENFORCE_RAW_OUT        = 1 << 0,   /* FilterRawOutbound */
    IB_ENFORCE_RAW_IN         = 1 << 1,
    IB_ENFORCE_PARTITION_OUT  = 1 << 2,   /* PartitionEnforcementOutbound */
    IB_ENFORCE_PARTITION_IN   = 1 << 3,
};

/* A method handler's answer: 0 or the status bits of the response MAD. */
typedef uint16_t IbSmaStatus;

typedef struct IbSmaAttribute {
    uint16_t id;                  /* IB_ATTR_* */
    const char *name;             /* for traces */
    uint8_t node_types;           /* mask of 1 << IB_NODE_TYPE_* */
    /*
     * @data: the 64 bytes of SMP data, zeros for get to fill; for set what the
     * SM wrote (after a set that returned 0, get is called for the answer).
     * @in_port: where the SMP came in, as in ib_node_process_mad().  A
     * handler that is NULL: 0x000c.
     */
    IbSmaStatus (*get)(IbNode *node, uint8_t in_port, uint32_t modifier,
                       uint8_t *data, void *opaque);
    IbSmaStatus (*set)(IbNode *node, uint8_t in_port, uint32_t modifier,
                       uint8_t *data, void *opaque);
} IbSmaAttribute;

/*
 * @extra: rows of the node's owner, ended by an id of 0, or NULL; they come
 * before the agents' own and their handlers get @opaque.  @links[p] is the
 * link of external port p (1..num_ports); links[0] is unused.  The array is
 * copied, the links are the caller's and outlive the node.
 */
IbNode *ib_node_new(const IbNodeConfig *config, const IbNodeOps *ops,
                    void *opaque, const IbSmaAttribute *extra,
                    IbLink *const *links);
void ib_node_free(IbNode *node);
/* Power-on state (LIDs 0, default tables); counters' windows start afresh. */
void ib_node_reset(IbNode *node);
/* The timer armed through set_timer() has expired. */
void ib_node_timer(IbNode *node);
const IbNodeConfig *ib_node_config(const IbNode *node);
/*
 * NodeDescription as the node itself changes it; trap 144 if the
 * CapabilityMask has IsOtherLocalChangesNoticeSupported.
 */
void ib_node_set_description(IbNode *node, const char description[64]);
const char *ib_node_description(const IbNode *node);    /* 64 bytes */

/* ------------------------------------------------------------ the agents */

typedef enum IbMadVerdict {
    IB_MAD_REPLY,                 /* @out is to go back to the requester */
    IB_MAD_CONSUMED,              /* nothing to send: response, TrapRepress */
    IB_MAD_DROPPED,               /* bad M_Key with no answer, malformed ... */
} IbMadVerdict;

enum {
    IB_MAD_IGNORE_MKEY = 1 << 0,
    IB_MAD_IGNORE_BKEY = 1 << 1,
};

/*
 * Let the agent of the MAD's class answer @in (256 bytes).  SM classes go to
 * the SMA, PerfMgmt to the PMA, CongestionControl to its own; a Get or Set of
 * a class that is not there is answered with status 0x000c (IBA Vol.1 13.4.7;
 * what Linux answers, too).
 * @in_port: the port it arrived on; on a CA 1..num_ports, on a switch any, 0
 * for what port 0 itself sent.  @slid: its source, for M_Key violations and
 * traps.  The SMA leaves hop pointer, paths, TransactionID, DrSLID and
 * DrDLID alone, sets the response method (and the D bit of a directed-route
 * SMP), status and data.  @out may not overlap @in.
 */
IbMadVerdict ib_node_process_mad(IbNode *node, uint8_t in_port, uint16_t slid,
                                 unsigned flags, const uint8_t *in,
                                 uint8_t *out);

/*
 * Is this MAD for a manager that may be on the node, not for its agents?  A
 * request of theirs, whatever its method, is not.
 */
bool ib_node_is_for_manager(const IbNode *node, const uint8_t *mad);

/*
 * Get or Set an SM attribute as the node's own processor may: no M_Key is
 * asked for, no answer sent.  @data: 64 bytes as in the SMP; what Get of
 * the attribute gives is in it on return.  Returns 0 or an IB_MAD_STATUS_*.
 */
IbSmaStatus ib_node_attribute(IbNode *node, bool set, uint16_t id,
                              uint32_t modifier, uint8_t *data);

typedef enum IbSmiAction {
    IB_SMI_LOCAL,                 /* for this node's SMA (or SM) */
    IB_SMI_FORWARD,               /* send through @out_port */
    IB_SMI_DISCARD,
} IbSmiAction;

typedef struct IbSmiResult {
    IbSmiAction action;
    uint8_t out_port;             /* IB_SMI_FORWARD: 0..num_ports */
    bool lid_routed;              /* leaves the directed part: forward to */
                                  /* @dlid by the forwarding table */
    uint16_t slid, dlid;          /* LRH for the next hop */
} IbSmiResult;

/*
 * Directed-route processing of an SMP (class 0x81) that arrived at @in_port,
 * IBA Vol.1 14.2.2: advances HopPointer and writes ReturnPath in @smp.
 * @in_port 0 is an SMP of the node's own, on a CA too: the first hop of a
 * request, or of a response whose route is all directed.
 */
IbSmiResult ib_smi_process(IbNode *node, uint8_t in_port, uint8_t *smp);

/*
 * The first hop of a response (ib_node_process_mad() made it from the request
 * at @smp's place) from this node.  @in_port, @slid: of the request.  When
 * the request came through a LID-routed last part (DrDLID is not
 * permissive), the response goes LID-routed to @slid; else as
 * ib_smi_process() with @in_port 0.  A request of the node's own (HopCount 0
 * from port 0) gives IB_SMI_LOCAL.
 */
IbSmiResult ib_smi_reply(IbNode *node, uint8_t in_port, uint16_t slid,
                         uint8_t *smp);

/* -------------------------------------------- what owners read and write */

/*
 * Port 0 of a switch, or 1..num_ports of a CA; external switch ports have no
 * LID of their own (0).
 */
uint16_t ib_node_lid(const IbNode *node, uint8_t port);
uint8_t ib_node_lmc(const IbNode *node, uint8_t port);
uint16_t ib_node_sm_lid(const IbNode *node, uint8_t port);
uint8_t ib_node_sm_sl(const IbNode *node, uint8_t port);
uint64_t ib_node_gid_prefix(const IbNode *node, uint8_t port);
uint64_t ib_node_guid(const IbNode *node, uint8_t port, unsigned index);
uint32_t ib_node_capability_mask(const IbNode *node, uint8_t port);
void ib_node_set_capability_mask(IbNode *node, uint8_t port, uint32_t mask);
uint8_t ib_node_subnet_timeout(const IbNode *node, uint8_t port);

/* Host order; @index below the capacity. */
uint16_t ib_node_pkey(const IbNode *node, uint8_t port, unsigned index);
unsigned ib_node_pkey_cap(const IbNode *node, uint8_t port);
/*
 * Does @pkey match a table entry (15 bits equal, not limited to limited)?
 * Returns its index, or -1.  IBA Vol.1 10.9.3
 */
int ib_node_pkey_match(const IbNode *node, uint8_t port, uint16_t pkey);
/*
 * May what is behind @port of a switch send with @pkey?  With the membership
 * that the port's table has or with a limited one.  A SM gives the port the
 * table of the end port that hangs on it, and packets of a limited member
 * have its limited key: by the rule of ib_node_pkey_match() none could leave.
 */
bool ib_node_pkey_may_send(const IbNode *node, uint8_t port, uint16_t pkey);
/* A bad P_Key / Q_Key met by the port's owner: counted in PortInfo. */
void ib_node_pkey_violation(IbNode *node, uint8_t port);
void ib_node_qkey_violation(IbNode *node, uint8_t port);
void ib_node_reset_qkey_violations(IbNode *node, uint8_t port);

/* The packet that had the bad key, for the trap about it. */
typedef struct IbKeyViolation {
    uint32_t key;                 /* P_Key or Q_Key of the packet */
    uint16_t slid, dlid;
    uint8_t sl;
    uint32_t src_qpn, dest_qpn;
    bool has_grh;                 /* the GIDs count */
    uint8_t sgid[16], dgid[16];
} IbKeyViolation;

/*
 * Besides counting: tell the SM.  @trap: IB_TRAP_BAD_P_KEY (257),
 * IB_TRAP_BAD_Q_KEY (258) or, at an external port of a switch,
 * IB_TRAP_SWITCH_BAD_P_KEY (259).  Cheap to call for each bad packet: at most
 * one trap of a kind is on its way, no more than one an interval.
 */
void ib_node_key_trap(IbNode *node, uint8_t port, uint16_t trap,
                      const IbKeyViolation *violation);

/* What a switch marks with FECN at a port (IBA Vol.1 annex A10.2.1.1). */
typedef struct IbCcMarking {
    uint8_t threshold;            /* 0: nothing; 1: when full .. 15: soon */
    uint8_t packet_size;          /* not below so many blocks of 64 bytes */
    uint16_t marking_rate;        /* packets to leave out after each mark */
    bool victim;                  /* also when the port has no credits */
} IbCcMarking;

void ib_node_cc_marking(const IbNode *node, uint8_t port,
                        IbCcMarking *marking);
/* A packet was marked on its way out through @port: the CongestionLog. */
void ib_node_cc_marked(IbNode *node, uint8_t port, uint16_t slid,
                       uint16_t dlid, uint8_t sl);

/* Has the SM lit the LED of @port (LedInfo)? */
bool ib_node_led(const IbNode *node, uint8_t port);

/* How a CA answers BECN on an SL (annex A10.2.2). */
typedef struct IbCcReaction {
    bool on;                      /* it does */
    bool per_sl;                  /* one index for all of the SL, not a QP's */
    uint8_t increase, min, trigger;
    uint16_t limit;
    int64_t timer;                /* ns until the index goes down; 0: never */
} IbCcReaction;

typedef struct IbCcThrottled {
    uint32_t qpn, remote_qpn;
    uint8_t sl, service;          /* opcode's service, >> 5 */
    uint16_t lid, remote_lid;
} IbCcThrottled;

/* Does it on any SL? */
bool ib_node_cc_reacts(const IbNode *node, uint8_t port);
void ib_node_cc_reaction(const IbNode *node, uint8_t port, uint8_t sl,
                         IbCcReaction *reaction);
/* Entry of the table as on the wire: shift << 14 | multiplier. */
uint16_t ib_node_cc_table(const IbNode *node, uint8_t port, uint16_t ccti);
/* An index came to its trigger: the CongestionLog. */
void ib_node_cc_throttled(IbNode *node, uint8_t port,
                          const IbCcThrottled *event);

/* IB_ENFORCE_* that the SM has switched on at @port of a switch. */
uint8_t ib_node_enforcement(const IbNode *node, uint8_t port);

/*
 * SL to VL: for a switch, of packets from @in_port out through @out_port; for
 * a CA @in_port is 0.  16 bytes, one VL each; 15 means discard.
 *
 * On the packet path: keep the pointer that ib_node_sl2vl_view() gives, which
 * is good for the node's life, and look up through it with ib_sl2vl() for
 * each packet, since a Set(SLtoVLMappingTable) may put another table
 * there (until the first one, all pairs of ports share 16 bytes).
 */
typedef struct IbSl2vlView {
    const uint8_t *base;
    uint32_t in_stride, out_stride;     /* bytes; both 0: all the same */
} IbSl2vlView;

const IbSl2vlView *ib_node_sl2vl_view(const IbNode *node);

static inline const uint8_t *ib_sl2vl(const IbSl2vlView *view,
                                      uint8_t in_port, uint8_t out_port)
{
    return view->base + in_port * view->in_stride +
           out_port * view->out_stride;
}

const uint8_t *ib_node_sl2vl(const IbNode *node, uint8_t in_port,
                             uint8_t out_port);

/*
 * The counters that the PMA shows for @port: those of its link; for port 0 of
 * a switch a block of the node's own, for the switch to count what port 0
 * sends and receives.
 */
IbLinkCounters *ib_node_counters(IbNode *node, uint8_t port);

/*
 * The owner saw the link of @port change PortState (call it for each change;
 * those that the SM asked for or that are no change to or from Down are told
 * apart here): PortStateChange and trap 128 of a switch.
 */
void ib_node_port_state_changed(IbNode *node, uint8_t port);
/*
 * The link of @port reached a threshold (IbLinkOps.error): traps 129 to 131.
 */
void ib_node_link_error(IbNode *node, uint8_t port, IbLinkError error);
/* SwitchInfo.PortStateChange; written by Set(SwitchInfo). */
bool ib_node_port_state_change(const IbNode *node);
void ib_node_clear_port_state_change(IbNode *node);

struct IbStateWriter;
struct IbStateReader;
void ib_node_save(const IbNode *node, struct IbStateWriter *writer);
bool ib_node_load(IbNode *node, struct IbStateReader *reader);

#endif
