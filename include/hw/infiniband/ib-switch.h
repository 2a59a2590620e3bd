/*
 * An InfiniBand switch: ports, forwarding tables, and port 0 with its agents
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The switch owns one IbLink a port for its whole life; a cable is attached
 * to and detached from a link (ib_switch_link() and ib-link.h).  All calls for
 * one switch come from one thread.
 */
#ifndef HW_INFINIBAND_IB_SWITCH_H
#define HW_INFINIBAND_IB_SWITCH_H

#include "hw/infiniband/ib-agent.h"

typedef struct IbSwitch IbSwitch;

typedef enum IbFdbType {
    IB_FDB_LINEAR,
    IB_FDB_RANDOM,
} IbFdbType;

typedef struct IbSwitchConfig {
    uint8_t num_ports;            /* external, 1..254 */
    uint64_t node_guid, system_guid;
    char description[64];
    uint32_t vendor_id;
    uint16_t device_id;
    uint32_t revision;
    IbFdbType fdb;
    uint16_t linear_fdb_cap;      /* entries, 1..49152; not for random */
    uint16_t random_fdb_cap;      /* entries, 1..49152; not for linear */
    uint16_t lids_per_port;       /* random: 0 is no limit */
    uint16_t multicast_fdb_cap;   /* entries, 0..16383; 0: no table */
    uint16_t pkey_cap;            /* entries of port 0 */
    /* Of each external port; 0: the switch does not enforce partitions. */
    uint16_t pkey_cap_external;
    bool enhanced_port0;          /* port 0 has an LMC */
    IbLinkConfig link;            /* of every external port; guid and */
                                  /* port_num are filled in */
} IbSwitchConfig;

/* Why a packet went no further.  Order is ABI of the QOM property and trace. */
typedef enum IbDiscard {
    IB_DISCARD_MALFORMED,
    IB_DISCARD_DLID_ZERO,
    IB_DISCARD_ABOVE_CAP,
    IB_DISCARD_ABOVE_TOP,
    IB_DISCARD_NO_ROUTE,          /* entry 255, no RFT match, bad default */
    IB_DISCARD_NO_PORT,           /* entry names a port that does not exist */
    IB_DISCARD_PORT_DOWN,         /* not Active (or not Init.. for VL15) */
    IB_DISCARD_SAME_PORT,         /* multicast only; unicast may hairpin */
    IB_DISCARD_NOT_MANAGEMENT,    /* to port 0, neither QP0 nor QP1 */
    IB_DISCARD_PERMISSIVE,        /* DLID FFFF that is no SMP */
    IB_DISCARD_SL2VL,             /* VL15 in the map */
    IB_DISCARD_MTU,
    IB_DISCARD_MCAST_EMPTY,
    IB_DISCARD_MCAST_TRANSPORT,   /* neither UD nor raw */
    IB_DISCARD_SMP,               /* the SMI's rules */
    IB_DISCARD_MKEY,
    IB_DISCARD_QKEY,
    IB_DISCARD_PKEY,
    IB_DISCARD_RAW,
    IB_DISCARD_LIFETIME,
    IB_DISCARD_LOOP,              /* RFT: default port is where it is from */
    IB_DISCARD_COUNT
} IbDiscard;

const char *ib_discard_name(IbDiscard reason);

typedef struct IbSwitchOps {
    int64_t (*now)(void *opaque);
    uint32_t (*random)(void *opaque);
    void (*set_port_timer)(void *opaque, uint8_t port, int64_t deadline);
    void (*set_timer)(void *opaque, int64_t deadline);
    IbCableResult (*send_frame)(void *opaque, uint8_t port,
                                const uint8_t *frame, size_t len);
    void (*port_state_changed)(void *opaque, uint8_t port, uint8_t old_state,
                               uint8_t new_state);
    void (*tap)(void *opaque, uint8_t port, bool tx, const uint8_t *packet,
                size_t len, uint16_t vcrc);
    /*
     * While traced only: packets in and out (@out_port 255: discarded,
     * @reason an IbDiscard), and the MADs that port 0 takes and gives.
     */
    void (*trace_packet)(void *opaque, uint8_t in_port, uint8_t out_port,
                         int reason, const uint8_t *packet, size_t len);
    void (*trace_mad)(void *opaque, uint8_t port, bool out,
                      const uint8_t *mad);
    /*
     * May be NULL.  A packet of port 0 for the processor behind it, see
     * ib_switch_set_host(); @in_port is 0 for what port 0 sent to itself.
     * Its ICRC is right.  False: there is no room, the packet is lost (an SMP
     * counts as VL15Dropped).
     */
    bool (*host_receive)(void *opaque, uint8_t in_port,
                         const IbPacket *packet);
    /* While traced only, may be NULL: a link's own discards and errors. */
    void (*trace_link)(void *opaque, uint8_t port, const char *event,
                       const uint8_t *packet, size_t len);
} IbSwitchOps;

/* Is this kind of forwarding table there? */
bool ib_switch_fdb_supported(IbFdbType fdb);

/*
 * Check everything of @config but @config->link.  NULL if ib_switch_new()
 * takes it, or the name of the first bad member, with what it may be in
 * *@range ("1 to 254").
 */
const char *ib_switch_config_error(const IbSwitchConfig *config,
                                   const char **range);

/*
 * Make a switch in power-on state, its ports without cables.  @config is
 * copied; @ops lives as long as the switch; tap, trace_* and
 * port_state_changed may be NULL.  NULL if ib_switch_config_error() has
 * something to say.
 */
IbSwitch *ib_switch_new(const IbSwitchConfig *config, const IbSwitchOps *ops,
                        void *opaque);
void ib_switch_free(IbSwitch *sw);
/* Power-on reset; cables stay attached and train again. */
void ib_switch_reset(IbSwitch *sw);

/* @port: 1..num_ports. */
IbLink *ib_switch_link(IbSwitch *sw, uint8_t port);
IbNode *ib_switch_node(IbSwitch *sw);
const IbSwitchConfig *ib_switch_config(const IbSwitch *sw);
void ib_switch_timer(IbSwitch *sw);
void ib_switch_port_timer(IbSwitch *sw, uint8_t port);
uint64_t ib_switch_discards(const IbSwitch *sw, IbDiscard reason);
void ib_switch_set_trace(IbSwitch *sw, bool on);

/* Looking at the tables.  Linear entry of @lid: a port, or 255. */
uint8_t ib_switch_lft_get(const IbSwitch *sw, uint16_t lid);
/*
 * Random entry @index as on the wire: LID 31:16, valid 15, LMC 14:12, port
 * 7:0; 0 beyond what was written.
 */
uint32_t ib_switch_rft_get(const IbSwitch *sw, uint16_t index);
/* 32 bytes of port mask, bit (port % 8) of byte (port / 8), LID C000 on. */
void ib_switch_mft_get(const IbSwitch *sw, uint16_t mlid, uint8_t mask[32]);

/* ------------------------------------------- the processor behind port 0 */

/*
 * What port 0 gives to ops->host_receive() where it would otherwise answer or
 * discard it.  MADs have passed the checks of QP0 and QP1 (keys, lengths); a
 * directed-route SMP is as the SMI has advanced it.
 */
enum {
    /*
     * Every SMP for this node: the processor is its SMA.  The switch's own
     * traps are not sent then.
     */
    IB_HOST_SMPS     = 1 << 0,
    IB_HOST_GMPS     = 1 << 1,    /* every GMP */
    /*
     * MADs that no agent of the switch has an answer to: responses, traps,
     * SMInfo, classes that are not there.  For an SM, an SA, a CM ...
     */
    IB_HOST_MANAGERS = 1 << 2,
    /*
     * Whole and known packets that are neither to QP0 nor to QP1; no key is
     * checked.
     */
    IB_HOST_DATA     = 1 << 3,
};

/* @mask: IB_HOST_*; 0 at first.  A reset keeps it, and it is not saved. */
void ib_switch_set_host(IbSwitch *sw, unsigned mask);

/* An @out_port of the calls below: where the forwarding table says. */
#define IB_HOST_BY_TABLE  255

typedef enum IbHostSend {
    IB_HOST_SENT,
    IB_HOST_MALFORMED,            /* no packet or MAD that could be sent */
    IB_HOST_NO_ROUTE,             /* nor is there a port or P_Key like that */
    IB_HOST_DISCARDED,            /* port down, MTU, SL to VL, queue full */
} IbHostSend;

/*
 * Send a packet of port 0's own: @len bytes from LRH to ICRC, whose VL (but
 * for VL15) is the SL's at the exit port and whose ICRC is computed here.
 * @out_port: 1..num_ports or IB_HOST_BY_TABLE, for a multicast DLID by its
 * entry (IB_HOST_SENT then, however many copies left).  Nothing comes back to
 * port 0 itself.
 */
IbHostSend ib_switch_send_packet(IbSwitch *sw, uint8_t out_port,
                                 const uint8_t *data, size_t len);

typedef struct IbHostMad {
    uint8_t out_port;             /* for what is routed by LID */
    uint8_t sl;
    uint16_t dlid;                /* of an SMP with D: its request's SLID */
    uint16_t pkey_index;          /* GMPs: in port 0's table */
    uint32_t dest_qpn;            /* GMPs; SMPs go to QP0 */
} IbHostMad;

/*
 * Send a MAD from QP0 (SMPs) or QP1.  The SMI takes a directed-route one
 * through its first hop (IBA Vol.1 14.2.2).  What is for this node itself goes
 * to its agents, with the M_Key that it has, and their answer to
 * ops->host_receive() before the call returns, whatever ib_switch_set_host()
 * says; a permissive @dlid without a port is this node, too.
 */
IbHostSend ib_switch_send_mad(IbSwitch *sw, const IbHostMad *to,
                              const uint8_t mad[IB_MAD_BYTES]);

void ib_switch_save(const IbSwitch *sw, GByteArray *bytes);
/*
 * False, and the switch is reset, on bytes that save could not have written
 * for a switch of this configuration.
 */
bool ib_switch_load(IbSwitch *sw, const void *data, size_t len);

#endif
