/*
 * What the parts of the switch share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_INFINIBAND_SWITCH_INT_H
#define HW_INFINIBAND_SWITCH_INT_H

#include "hw/infiniband/ib-switch.h"
#include "hw/infiniband/ib-packet.h"
#include "hw/infiniband/ib-mad.h"
#include "hw/infiniband/ib-sm-attr.h"
#include "hw/infiniband/ib-state.h"

/* A port number that no switch has: no route, no default port. */
#define IB_NO_PORT          255

/* A MAD with all headers that it may have. */
#define IB_PORT0_MAD_PACKET_MAX (IB_LRH_BYTES + IB_GRH_BYTES + \
                                 IB_BTH_BYTES + IB_DETH_BYTES + \
                                 IB_MAD_BYTES + IB_ICRC_BYTES)

/* SwitchInfo.LifeTimeValue at power-on: packets live without end. */
#define IB_LIFE_TIME_MAX    31

typedef struct IbSwitchPort {
    IbSwitch *sw;
    IbLink *link;                 /* NULL for port 0 */
    uint8_t num;
    bool dirty;                   /* is in sw->dirty[] */
    /* IB_ENFORCE_* in force and IB_PORT_MARKS, 0 on port 0 */
    uint8_t enforce;
    /* The last P_Key that passed, or IB_NO_PKEY; what most packets have. */
    uint32_t pkey_in, pkey_out;
    /* With IB_PORT_MARKS */
    uint32_t mark_blocks;         /* from so many in the queue of a VL on .. */
    uint8_t mark_size;            /* .. packets of so many blocks .. */
    bool mark_victim;             /* .. also without credits .. */
    uint16_t mark_rate;           /* .. but each of these only: so many .. */
    uint16_t mark_left_out;       /* .. between, and still so many */
} IbSwitchPort;

#define IB_NO_PKEY          0x10000
#define IB_PORT_MARKS       (1 << 7)      /* packets with FECN */

/* What an IbSwitchPort looks at when a packet comes in, when one goes out. */
#define IB_ENFORCE_IN       (IB_ENFORCE_PARTITION_IN | IB_ENFORCE_RAW_IN)
#define IB_ENFORCE_OUT      (IB_ENFORCE_PARTITION_OUT | IB_ENFORCE_RAW_OUT)
#define IB_ENFORCE_ALL      (IB_ENFORCE_IN | IB_ENFORCE_OUT)

struct IbSwitch {
    /* Read for each packet. */
    const uint8_t *fdb;           /* exit port of each LID .. */
    uint32_t fdb_limit;           /* .. from 1 to this one */
    uint16_t own_lid;             /* port 0's: own_lids from own_lid on */
    uint16_t own_lids;            /* 0 while it has none */
    uint8_t num_ports;
    uint8_t host;                 /* IB_HOST_*, ib_switch_set_host() */
    bool trace;
    bool receiving;               /* between receive() and receive_end() */
    uint8_t dirty_count;
    IbSwitchPort *ports;          /* 0..num_ports */
    const IbSl2vlView *sl2vl;
    IbNode *node;                 /* NULL while the switch is made */
    uint8_t dirty[256];           /* ports sent to since the last flush */

    uint64_t discards[IB_DISCARD_COUNT];

    /*
     * Tables, allocated as far as they were written: @lids is the array
     * behind @fdb (entries from 0), the linear table itself or what the
     * random table says for each LID.
     */
    uint8_t *lids;
    uint32_t lids_size;
    uint8_t *rft;                 /* entries as on the wire */
    uint32_t rft_size;            /* entries allocated */
    bool rft_changed;             /* and not yet spread over @lids */
    uint8_t *rft_matched;         /* a bit a LID: an entry matches it */
    uint64_t *mft;                /* mft_words an entry, bit = port */
    uint32_t mft_size;            /* entries allocated */
    uint8_t mft_words;

    /* SwitchInfo */
    uint16_t linear_top;
    uint16_t mcast_top;           /* 0: not in use */
    uint8_t default_port;
    uint8_t mcast_primary;
    uint8_t mcast_not_primary;
    uint8_t life_time;

    uint32_t psn[2];              /* next of QP0 and QP1 */
    bool quiet;                   /* port states are no events */

    IbSwitchConfig config;
    const IbSwitchOps *ops;
    void *opaque;
};

static inline bool ib_switch_own_lid(const IbSwitch *sw, uint16_t lid)
{
    return (uint16_t)(lid - sw->own_lid) < sw->own_lids;
}

/* Blocks of @per entries that a table of @entries has. */
static inline uint32_t ib_blocks(uint32_t entries, uint32_t per)
{
    return (entries + per - 1) / per;
}

/* ---------------------------------------------------------------- forward */

/* IbLinkOps.receive and .receive_end; @opaque is the IbSwitchPort. */
void ib_switch_receive(void *opaque, IbPacket *packet);
void ib_switch_receive_end(void *opaque);

/* Put everything sent since the last call on its cables. */
void ib_switch_flush(IbSwitch *sw);

/* Count a packet from @in that goes no further. */
void ib_switch_discard(IbSwitch *sw, const IbSwitchPort *in, IbDiscard why,
                       const IbPacket *packet);

/*
 * The exit port for a unicast or permissive @dlid of a packet from @in: 0 for
 * port 0, IB_NO_PORT and the reason in *@why if there is none.
 */
uint8_t ib_switch_route(IbSwitch *sw, const IbSwitchPort *in,
                        uint16_t dlid, IbDiscard *why);

/*
 * Send @packet, that came from @in, through @out (1..num_ports) on @vl; false
 * if it was discarded.  ib_switch_forward(): on the VL of its SL.
 */
bool ib_switch_forward(IbSwitch *sw, const IbSwitchPort *in, uint8_t out,
                       IbPacket *packet);
/* A packet with a multicast DLID. */
void ib_switch_multicast(IbSwitch *sw, IbSwitchPort *in, IbPacket *packet);
bool ib_switch_emit(IbSwitch *sw, const IbSwitchPort *in, uint8_t out,
                    IbPacket *packet, uint8_t vl);

/* ----------------------------------------------------------------- tables */

/*
 * fdb-linear.c, fdb-random.c.  update(): the table or its top has changed.
 * lookup(): the exit port for a unicast LID, or IB_NO_PORT and why.  get and
 * set are handlers of LinearForwardingTable and RandomForwardingTable.
 */
void ib_fdb_linear_update(IbSwitch *sw);
uint8_t ib_fdb_linear_lookup(const IbSwitch *sw, uint16_t dlid,
                             IbDiscard *why);
IbSmaStatus ib_fdb_linear_get(IbNode *node, uint8_t in_port,
                              uint32_t modifier, uint8_t *data, void *opaque);
IbSmaStatus ib_fdb_linear_set(IbNode *node, uint8_t in_port,
                              uint32_t modifier, uint8_t *data, void *opaque);

void ib_fdb_random_update(IbSwitch *sw);
uint8_t ib_fdb_random_lookup(IbSwitch *sw, const IbSwitchPort *in,
                             uint16_t dlid, IbDiscard *why);
void ib_fdb_random_reserve(IbSwitch *sw, uint32_t entries);
IbSmaStatus ib_fdb_random_get(IbNode *node, uint8_t in_port,
                              uint32_t modifier, uint8_t *data, void *opaque);
IbSmaStatus ib_fdb_random_set(IbNode *node, uint8_t in_port,
                              uint32_t modifier, uint8_t *data, void *opaque);

/* Grow sw->lids to hold @size entries; new ones have no route. */
void ib_fdb_reserve(IbSwitch *sw, uint32_t size);

/* fdb-multicast.c: the entry of @mlid (mft_words words), NULL if none. */
const uint64_t *ib_fdb_multicast_lookup(const IbSwitch *sw, uint16_t mlid);
void ib_fdb_multicast_reserve(IbSwitch *sw, uint32_t entries);
IbSmaStatus ib_fdb_multicast_get(IbNode *node, uint8_t in_port,
                                 uint32_t modifier, uint8_t *data,
                                 void *opaque);
IbSmaStatus ib_fdb_multicast_set(IbNode *node, uint8_t in_port,
                                 uint32_t modifier, uint8_t *data,
                                 void *opaque);

/* switch.c: after a change of a table or of SwitchInfo. */
void ib_switch_update_fdb(IbSwitch *sw);
/* switch.c: LifeTimeValue */
void ib_switch_set_life_time(IbSwitch *sw, uint8_t code);
/* switch.c: after a change of port 0's LID. */
void ib_switch_update_lid(IbSwitch *sw);
/* Empty tables, SwitchInfo of power-on. */
void ib_switch_reset_tables(IbSwitch *sw);

/* ------------------------------------------------------------- enforcement */

/*
 * enforce.c: may a data packet come in by @in, may one from @in go out by @out?
 * If not it is counted and discarded.  To be asked only of ports that have a
 * bit of IB_ENFORCE_IN or IB_ENFORCE_OUT.
 */
bool ib_enforce_inbound(IbSwitch *sw, IbSwitchPort *in,
                        const IbPacket *packet);
bool ib_enforce_outbound(IbSwitch *sw, const IbSwitchPort *in,
                         IbSwitchPort *out, const IbPacket *packet);
/* After a change of @port's PortInfo or P_KeyTable; of all of them. */
void ib_enforce_update(IbSwitch *sw, uint8_t port);
void ib_enforce_update_all(IbSwitch *sw);
/* The keys and addresses of a packet with a BTH, for a trap about it. */
void ib_enforce_violation(const IbPacket *packet, const IbPacketInfo *info,
                          uint32_t key, IbKeyViolation *violation);

/*
 * congestion.c: is @packet to be marked on its way out by @out, which has
 * IB_PORT_MARKS?  If so the log has it.
 */
bool ib_congestion_marks(IbSwitch *sw, IbSwitchPort *out,
                         const IbPacket *packet, uint8_t vl);
/* After a change of the congestion settings */
void ib_congestion_update(IbSwitch *sw);

/* ----------------------------------------------------------- port 0, SMA */

/* A packet that the tables send to port 0. */
void ib_port0_receive(IbSwitch *sw, IbSwitchPort *in, IbPacket *packet);
/* IbNodeOps.send_smp; @opaque is the IbSwitch. */
void ib_port0_send_smp(void *opaque, uint8_t port, const uint8_t *mad,
                       uint16_t dlid, uint8_t sl);

/* What port 0 has sent; put it on its cables unless a receive() will. */
void ib_port0_count_sent(IbSwitch *sw, const uint8_t *packet, size_t len);
void ib_port0_flush(IbSwitch *sw);
/* Send a MAD of port 0's own through @out; false if it was discarded. */
bool ib_port0_send_smp_from(IbSwitch *sw, uint8_t out, uint8_t sl,
                            uint16_t slid, uint16_t dlid,
                            const uint8_t *smp);
bool ib_port0_send_gmp(IbSwitch *sw, uint8_t out, const IbPacketRoute *route,
                       uint16_t pkey, uint32_t dest_qpn, const uint8_t *gmp);

extern const IbSmaAttribute ib_switch_attributes[];

/* ------------------------------------------------------------------- host */

/* Does the processor behind port 0 get this MAD rather than an agent? */
bool ib_host_takes(const IbSwitch *sw, const uint8_t *mad);
/* Give it @packet with @mad in the place of the MAD at @payload. */
void ib_host_give_mad(IbSwitch *sw, uint8_t in_port, const IbPacket *packet,
                      size_t payload, const uint8_t *mad);
/* A packet that is no MAD; false if the processor wants none. */
bool ib_host_give_data(IbSwitch *sw, uint8_t in_port, const IbPacket *packet,
                       const IbPacketInfo *info);
/* A trap of the switch's own for the SM behind port 0. */
bool ib_host_give_trap(IbSwitch *sw, uint8_t sl, const uint8_t *mad);

#endif
