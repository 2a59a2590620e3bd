/*
 * One end of an InfiniBand cable: the link layer of a port
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An IbLink trains with its peer, holds the physical and the logical port
 * state, receives packets into per-VL buffers whose free space it advertises
 * as absolute credits, and sends packets in the order that VL arbitration
 * gives, several to a frame.  What happens to a received packet is its
 * owner's business: a switch forwards it, a channel adapter consumes it.
 *
 * The layer is plain C: time, timers, randomness and the cable itself are
 * reached through IbLinkOps.  Nothing here blocks and nothing here is
 * thread-safe: all calls for the links of one node come from one thread.
 *
 * A packet, wherever it is passed around, is the bytes from the LRH to the
 * end of the ICRC (LRH.PktLen * 4 bytes).  The VCRC exists only on a cable.
 */
#ifndef HW_INFINIBAND_IB_LINK_H
#define HW_INFINIBAND_IB_LINK_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IB_VLS               16      /* data VLs 0..14 and VL15 */
#define IB_LANES             12      /* of the widest link */
#define IB_VL_MGMT           15
#define IB_SLS               16
#define IB_BLOCK_BYTES       64      /* unit of credits, IBA Vol.1 7.9 */
/*
 * Largest packet of an MTU, LRH to ICRC: PktLen is at most (MTU + 124) / 4
 * words (IBA Vol.1 7.7.8).  IB_PKTLEN_MAX_BYTES (ib-packet.h) is only what
 * the field of PktLen could say.
 */
#define IB_LINK_HEADER_BYTES 124
#define IB_LINK_PACKET_MAX   (4096 + IB_LINK_HEADER_BYTES)

typedef struct IbLink IbLink;
typedef struct IbPacketBuf IbPacketBuf;

/* Flags of a packet that travel with it in its record on the cable. */
enum {
    IB_PACKET_NO_ICRC = 1 << 0,   /* ICRC bytes are room only, not computed */
    IB_PACKET_BAD     = 1 << 1,   /* ended with EBP: the receiver discards it */
    /* Not in the record: ib_link_transmit() sets FECN in what it sends. */
    IB_PACKET_FECN    = 1 << 2,
};

/*
 * A packet in flight through a node.  @data is valid during the call that
 * passes the packet; whoever needs it longer takes it into a buffer with
 * ib_packet_hold(), after which @data points into @buf.  One buffer serves
 * any number of queues: replication never copies the payload.  What was
 * received stays valid until receive() returns even without a hold, whatever
 * became of it in the queues that took it.
 */
typedef struct IbPacket {
    const uint8_t *data;
    uint16_t len;                 /* bytes, LRH to ICRC */
    uint8_t vl;                   /* VL it was received on */
    uint8_t flags;                /* IB_PACKET_* */
    IbLink *ingress;              /* whose receive buffer it fills, or NULL */
    IbPacketBuf *buf;             /* NULL until held */
} IbPacket;

/* 64-bit, never cleared here; the PMA shows them through its own windows. */
typedef struct IbLinkCounters {
    uint64_t xmit_data, rcv_data;           /* 4-byte words, without VCRC */
    uint64_t xmit_pkts, rcv_pkts;
    uint64_t unicast_xmit_pkts, unicast_rcv_pkts;
    uint64_t multicast_xmit_pkts, multicast_rcv_pkts;
    uint64_t symbol_errors;                 /* frames damaged or lost */
    uint64_t link_error_recovery;
    uint64_t link_downed;
    uint64_t rcv_errors;                    /* malformed, CRC, EBP, length, */
                                            /* overrun */
    uint64_t rcv_remote_physical_errors;    /* EBP among them */
    uint64_t rcv_switch_relay_errors;       /* counted by the switch */
    uint64_t xmit_discards;
    /* Of these, as in PortXmitDiscardDetails */
    uint64_t port_inactive_discards, neighbor_mtu_discards;
    uint64_t sw_lifetime_discards, sw_hoq_lifetime_discards;
    uint64_t xmit_constraint_errors;
    uint64_t rcv_constraint_errors;
    /* How often a threshold of ib_link_set_error_thresholds() was reached */
    uint64_t local_link_integrity_errors;
    uint64_t excessive_buffer_overruns;
    uint64_t vl15_dropped;
    uint64_t xmit_wait;                     /* ticks of 1 us with data queued */
                                            /* and nothing sent; counted when */
                                            /* the next frame goes */
    uint64_t xmit_data_vl[IB_VLS], rcv_data_vl[IB_VLS];     /* words */
    uint64_t xmit_pkts_vl[IB_VLS], rcv_pkts_vl[IB_VLS];
    uint64_t xmit_wait_vl[IB_VLS];
    /* How the cable fared; no counter of the architecture. */
    uint64_t frames_sent, frames_received, frames_bad, frames_late;
    /* Of rcv_errors, as in PortRcvErrorDetails */
    uint64_t local_physical_errors;         /* VCRC */
    uint64_t malformed_packets;             /* length, version, VL */
    uint64_t buffer_overruns;               /* the peer ignored its credits */
    /* Of rcv_switch_relay_errors, likewise; counted by the switch */
    uint64_t dlid_mapping_errors, vl_mapping_errors, looping_errors;
    uint64_t xmit_flow_pkts, rcv_flow_pkts; /* credits of one VL each */
    uint64_t flow_update_errors_vl[IB_VLS]; /* the peer sent none for long */
    uint64_t xmit_data_sl[IB_SLS], rcv_data_sl[IB_SLS];     /* words */
    /* Received with the BTH.OpCode of ib_link_count_op() */
    uint64_t op_rcv_pkts, op_rcv_bytes;
    uint64_t op_rcv_pkts_vl[IB_VLS], op_rcv_bytes_vl[IB_VLS];
    /*
     * At speeds with 64b/66b coding, as in PortExtendedSpeedsCounters: frames
     * and packets that were lost, frames that are none, and packets that were
     * damaged, on the active lanes in turn.
     */
    uint64_t sync_header_errors, unknown_blocks, lane_errors[IB_LANES];
} IbLinkCounters;

/* What the thresholds of a port watch (IBA Vol.1 7.12.2) */
typedef enum IbLinkError {
    IB_LINK_INTEGRITY,            /* local physical errors above threshold */
    IB_LINK_BUFFER_OVERRUN,       /* so many update periods with overruns */
    IB_LINK_FLOW_UPDATE,          /* the watchdog of flow control */
} IbLinkError;

/* IbLinkConfig.rate: what LinkWidthActive and LinkSpeedActive carry */
#define IB_RATE_LINK         UINT64_MAX

/* What a node configures before the cable is attached. */
typedef struct IbLinkConfig {
    uint8_t vl_cap;               /* data VLs implemented: 1, 2, 4, 8 or 15 */
    uint8_t mtu_cap;              /* IB_MTU_256 .. IB_MTU_4096 (codes 1..5) */
    uint8_t width_supported;      /* PortInfo codes */
    uint16_t speed_supported;     /* low 4 bits LinkSpeedSupported, bits 4.. */
                                  /* LinkSpeedExtSupported */
    uint32_t rx_buffer;           /* bytes of receive buffer of one data VL */
    uint16_t vl15_packets;        /* depth of the VL15 receive buffer */
    uint32_t max_frame;           /* bytes, 1 KiB .. 64 KiB, offered to peer */
    bool crc;                     /* ask for ICRC and VCRC on this cable */
    bool switch_port;             /* HOQLife, LifeTimeValue, VLStallCount */
    uint64_t rate;                /* bytes (LRH to VCRC) a second; 0: any */
    uint32_t keepalive_ms;        /* interval of an idle link's frames */
    uint32_t timeout_ms;          /* silence after which the link is lost */
    uint32_t training_ms;         /* least time from Polling to LinkUp */
    uint64_t guid;                /* told to the peer, for diagnosis only */
    uint8_t port_num;             /* likewise */
} IbLinkConfig;

typedef enum IbCableResult {
    IB_CABLE_READY,               /* taken; more may follow */
    IB_CABLE_BUSY,                /* taken; none more until _cable_ready() */
    IB_CABLE_GONE,                /* not taken: nothing at the other end now; */
                                  /* silence, not this, takes the link down */
} IbCableResult;

typedef struct IbLinkOps {
    /* Monotonic time in ns. */
    int64_t (*now)(void *opaque);
    uint32_t (*random)(void *opaque);
    /*
     * Arm the link's only timer: call ib_link_timer() at @deadline (ns).
     * INT64_MAX disarms it.
     */
    void (*set_timer)(void *opaque, int64_t deadline);
    /*
     * Put a frame (Ethernet header on) on the cable.  The bytes are the
     * link's; they are taken or copied before the call returns.  A cable
     * inside one process may deliver it, and the answers, within the call.
     */
    IbCableResult (*send_frame)(void *opaque, const uint8_t *frame,
                                size_t len);
    /*
     * One packet was received, checked for framing, length, CRC, VL, credit
     * and port state, and counted.  The owner may hold it.
     */
    void (*receive)(void *opaque, IbPacket *packet);
    /* The frame that held the last packets is done: flush what was sent. */
    void (*receive_end)(void *opaque);
    /*
     * Room again for a sender that ib_link_tx_begin() turned away; @vls is a
     * mask of the VLs that may be tried.  NULL for nodes that only queue.
     */
    void (*tx_ready)(void *opaque, uint16_t vls);
    /*
     * PortState or PortPhysicalState changed (read them with the getters);
     * the arguments are PortStates.  Comes from inside the calls that changed
     * it, or ib_link_receive_frame() and _timer().
     */
    void (*state_changed)(void *opaque, uint8_t old_state, uint8_t new_state);
    /* A threshold was reached, and counted.  May be NULL. */
    void (*error)(void *opaque, IbLinkError error);
    /*
     * Every packet put on or taken from the cable, while a capture is on
     * (ib_link_set_tap()); @vcrc is computed for it.
     */
    void (*tap)(void *opaque, bool tx, const uint8_t *packet, size_t len,
                uint16_t vcrc);
    /*
     * A discard or an error, with the reason; only while traced
     * (ib_link_set_trace()).
     */
    void (*trace)(void *opaque, const char *event, const uint8_t *packet,
                  size_t len);
} IbLinkOps;

/*
 * Make a link in PortPhysicalState Polling, PortState Down, without a cable.
 * @ops and what it points to live as long as the link; none is called yet.
 * Buffers of frames are allocated when a cable is attached.  @config must be
 * within the ranges given above (g_assert: it comes from code that has checked
 * its properties).
 */
IbLink *ib_link_new(const IbLinkConfig *config, const IbLinkOps *ops,
                    void *opaque);
/*
 * Not from one of the link's own callbacks.  The peer is told; state_changed()
 * is not called.  Packets that others still hold stay theirs.
 */
void ib_link_free(IbLink *link);

/*
 * Power-on reset: Down, Polling, queues empty, PortInfo and tables as new,
 * counters kept if @keep_counters.  The owner's ib_link_set_enabled() stays;
 * packets from here that other links hold do too.
 */
void ib_link_reset(IbLink *link, bool keep_counters);

/*
 * The cable that is to be attached next is of another kind: take max_frame,
 * keepalive_ms, timeout_ms and training_ms of @config, rest as it was.  Not
 * while one is attached.
 */
void ib_link_set_cable(IbLink *link, const IbLinkConfig *config);

/*
 * What the cable itself carries, coded as IbLinkConfig's supported: of the
 * widths and speeds that are enabled, training takes no others.  All bits of
 * both, as after ib_link_new(): any.  Seen by the next training.
 */
void ib_link_set_cable_rate(IbLink *link, uint8_t widths, uint16_t speeds);

/* A cable was plugged in or pulled out (netdev there, or link status). */
void ib_link_cable_attach(IbLink *link);
void ib_link_cable_detach(IbLink *link);
/* The cable that said IB_CABLE_BUSY takes frames again. */
void ib_link_cable_ready(IbLink *link);

/*
 * A frame came from the cable.  Any bytes at all are legal input: what is not
 * a valid frame is counted (symbol_errors, frames_bad) and forgotten.
 */
void ib_link_receive_frame(IbLink *link, const uint8_t *frame, size_t len);

/* The timer armed through set_timer() has expired. */
void ib_link_timer(IbLink *link);

/* ------------------------------------------------------------- sending */

typedef enum IbTxResult {
    IB_TX_SENT,                   /* in the frame under construction */
    IB_TX_QUEUED,                 /* held in its VL's queue */
    IB_TX_DISCARDED,              /* port not in a state to send it, or over */
                                  /* NeighborMTU: counted, with its reason */
} IbTxResult;

/*
 * Send @packet on @vl, which is written into its LRH.  Copies into the frame
 * at once when nothing of its VL waits, credits and room are there; otherwise
 * holds it (so @packet->buf may be set on return).  Never blocks, never drops
 * for want of credits: the bound on what can wait is the receive buffers that
 * the packets still fill.  A packet without ingress (a node's own MAD) waits
 * in at most 64 places a VL, then is discarded.  The caller keeps its own
 * reference if it has one, and never has to give back one that it did not take.
 */
IbTxResult ib_link_transmit(IbLink *link, IbPacket *packet, uint8_t vl);

/*
 * For a channel adapter: room for one packet of @len bytes on @vl in the frame
 * under construction, to be written in place (LRH on); NULL when the
 * port, credits or the cable do not allow it now (tx_ready() will follow; a
 * packet above NeighborMTU never gets room).
 * All of it, LRH.PktLen included, is the caller's to write but for the VL.
 * Exactly one of _end() and _cancel() follows before any other call.
 */
uint8_t *ib_link_tx_begin(IbLink *link, uint8_t vl, uint16_t len);
void ib_link_tx_end(IbLink *link, uint8_t flags);
void ib_link_tx_cancel(IbLink *link);
/* Would tx_begin() find the port able to send data / VL15 at all? */
bool ib_link_tx_allowed(const IbLink *link, uint8_t vl);

/* Put the frame under construction on the cable. */
void ib_link_flush(IbLink *link);

/*
 * Take a packet into a buffer (or another reference to it) and give it back;
 * the last reference returns the ingress's credit.
 */
void ib_packet_hold(IbPacket *packet);
void ib_packet_release(IbPacket *packet);

/* --------------------------------------------- states and PortInfo's part */

uint8_t ib_link_state(const IbLink *link);         /* IB_PORT_DOWN..ACTIVE */
uint8_t ib_link_phys_state(const IbLink *link);    /* IB_PHYS_* */

/*
 * SubnSet(PortInfo).PortState: Down, Armed, Active (IBA Vol.1 7.2.7, 14.2.5.6).
 * Returns false (and changes nothing) on a transition that the state machine
 * does not have.  NOP (0) is true.
 */
bool ib_link_set_state(IbLink *link, uint8_t state);
/* PortPhysicalState: 1 Sleep, 2 Polling, 3 Disabled; 0 is a NOP. */
bool ib_link_set_phys_state(IbLink *link, uint8_t phys);
/* LinkDownDefaultState: 1 Sleep, 2 Polling; 0 is a NOP. */
bool ib_link_set_down_default(IbLink *link, uint8_t phys);
uint8_t ib_link_down_default(const IbLink *link);

/*
 * Administrative state of the node itself (INIT_PORT/CLOSE_PORT of an HCA, a
 * person's link down): while false the port is Down/Disabled to its peer.
 */
void ib_link_set_enabled(IbLink *link, bool enabled);

/*
 * Code of the largest MTU whose packets fit in frames of @max_frame bytes, with
 * all that may ride with them; 0 when none does.
 */
uint8_t ib_link_mtu_for_frame(uint32_t max_frame);

/* Plain PortInfo values; setters clip nothing, return false out of range. */
uint8_t ib_link_neighbor_mtu(const IbLink *link);  /* code */
bool ib_link_set_neighbor_mtu(IbLink *link, uint8_t mtu);
uint8_t ib_link_operational_vls(const IbLink *link);   /* PortInfo code 1..5 */
bool ib_link_set_operational_vls(IbLink *link, uint8_t code);
uint8_t ib_link_vl_high_limit(const IbLink *link);
void ib_link_set_vl_high_limit(IbLink *link, uint8_t limit);
uint8_t ib_link_width_enabled(const IbLink *link);
bool ib_link_set_width_enabled(IbLink *link, uint8_t width);
uint8_t ib_link_width_active(const IbLink *link);
uint16_t ib_link_speed_enabled(const IbLink *link);    /* as supported */
bool ib_link_set_speed_enabled(IbLink *link, uint16_t speed);
uint16_t ib_link_speed_active(const IbLink *link);     /* one bit */
uint8_t ib_link_hoq_life(const IbLink *link);
void ib_link_set_hoq_life(IbLink *link, uint8_t code);
uint8_t ib_link_vl_stall_count(const IbLink *link);
void ib_link_set_vl_stall_count(IbLink *link, uint8_t count);
/*
 * LifeTimeValue of SwitchInfo, for what waits at this port.  As HOQLife: 4.096
 * us * 2^code, 20 and more without end; of a switch's port only (IBA Vol.1
 * 18.2.5.4).  VLStallCount 0: no VL stalls.
 */
void ib_link_set_life_time(IbLink *link, uint8_t code);
bool ib_link_vl_stalled(const IbLink *link, uint8_t vl);
/*
 * PortInfo's LocalPhyErrors and OverrunErrors, 4 bits each.  A VCRC error adds
 * one to the count of physical errors, a packet without takes one off; above
 * @local_phy it is IB_LINK_INTEGRITY, and the count starts again.  More than
 * @overrun periods between two credit records of this port, in a row, with a
 * packet that had no room each are IB_LINK_BUFFER_OVERRUN.  A VL for which an
 * Active port's peer has sent credits before and sends none for the timeout of
 * the link, though it sends, is IB_LINK_FLOW_UPDATE.  The link recovers at
 * once, which link_error_recovery counts; nothing is lost by it.
 */
void ib_link_set_error_thresholds(IbLink *link, uint8_t local_phy,
                                  uint8_t overrun);
const IbLinkConfig *ib_link_config(const IbLink *link);

/* VLArbitrationTable: 64 (VL, weight) pairs, low- and high-priority. */
typedef struct IbVlArbEntry {
    uint8_t vl, weight;           /* weight in 64-byte units */
} IbVlArbEntry;
void ib_link_get_vl_arb(const IbLink *link, bool high, IbVlArbEntry table[64]);
void ib_link_set_vl_arb(IbLink *link, bool high, const IbVlArbEntry table[64]);

/*
 * The counters themselves: the owner (relay and constraint errors) and the
 * PMA may read and add.  The call brings the totals over VLs up to date, so
 * ask again for each reading.
 */
IbLinkCounters *ib_link_counters(IbLink *link);

/*
 * Count what is received with the OpCode @op, 0 to 255, or nothing (-1, as it
 * is at first): the op_rcv_* of IbLinkCounters go on from where they are.
 */
void ib_link_count_op(IbLink *link, int op);

/*
 * On hold, a link that is up gives its peer no credits, so that no packet of a
 * data VL is on the cable or comes from it: what a migration of this node
 * would lose.  The peer's packets wait until the hold ends: by false, by the
 * link's going down, or by ib_link_load() in another process.
 */
void ib_link_set_hold(IbLink *link, bool hold);
/*
 * The peer has answered the hold and got all that was sent to it before; this
 * end has nothing left to send.  A link that is down is held, too.
 */
bool ib_link_held(const IbLink *link);
bool ib_link_hold(const IbLink *link);

void ib_link_set_tap(IbLink *link, bool on);
void ib_link_set_trace(IbLink *link, bool on);

/*
 * What becomes of packets that the port receives, at random: a share of those
 * of the VLs in @vls is lost on the cable (a symbol error each), arrives with a
 * wrong VCRC (PortRcvErrors), comes @delay_us later, and with it all behind it
 * on its VL, or, if it is not late, comes twice.  The second one is counted as
 * received, too, but fills no receive buffer, as a packet without ingress.
 * Credits, training and the port's own sending are as ever.
 * A link that goes down or is saved loses the packets that are late.  What was
 * set outlives a reset and is not saved.
 */
typedef struct IbLinkInject {
    uint32_t drop, corrupt, delay, duplicate;   /* of a million packets */
    uint32_t delay_us;                  /* at most 1000000 */
    uint16_t vls;                       /* mask */
    uint32_t seed;                      /* 0: one from IbLinkOps.random */
} IbLinkInject;
/* False, and nothing changes, when a value is above a million. */
bool ib_link_set_inject(IbLink *link, const IbLinkInject *inject);
void ib_link_get_inject(const IbLink *link, IbLinkInject *inject);

/* How many lanes a link of @width (a LinkWidthActive code) has */
unsigned ib_link_lanes(uint8_t width);

/*
 * Bytes a second that a link of @width (a LinkWidthActive code) and @speed (one
 * bit as in speed_supported) carries, less its coding; 0: no such speed.
 */
uint64_t ib_link_rate(uint8_t width, uint16_t speed);

/* Diagnosis: what the peer told in training; 0 when there is none. */
uint64_t ib_link_peer_guid(const IbLink *link);
uint8_t ib_link_peer_port(const IbLink *link);
/* Blocks held in the receive buffer of @vl, and credits left to send. */
uint32_t ib_link_rx_occupancy(const IbLink *link, uint8_t vl);
uint32_t ib_link_tx_credits(const IbLink *link, uint8_t vl);
uint32_t ib_link_tx_queued(const IbLink *link, uint8_t vl);     /* packets */
uint32_t ib_link_tx_queued_blocks(const IbLink *link, uint8_t vl);

/*
 * Migration: everything of the link, queued packets included, as bytes of a
 * versioned format of our own (ib-state.h).  load returns false on any bytes
 * that save could not have written, or with another config; the link is then
 * reset.  A link that was up when saved goes on with the same peer.  So a node
 * that waits for its state must not attach the cable, which would train anew:
 * load first, then ib_link_cable_attach() (or _detach(), when there is none).
 */
struct IbStateWriter;
struct IbStateReader;
void ib_link_save(const IbLink *link, struct IbStateWriter *writer);
bool ib_link_load(IbLink *link, struct IbStateReader *reader);

#endif
