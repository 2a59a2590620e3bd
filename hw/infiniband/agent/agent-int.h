/*
 * What the management agents share among themselves
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * "End port" is what has a LID: each port of a channel adapter, port 0 of a
 * switch.  All ports of a node, end ports or not, are the same structure;
 * tables that a port may never need are allocated when first written.
 */
#ifndef IB_AGENT_INT_H
#define IB_AGENT_INT_H

#include "hw/infiniband/ib-agent.h"
#include "hw/infiniband/ib-gs-attr.h"
#include "hw/infiniband/ib-packet.h"
#include "hw/infiniband/ib-state.h"

#define IB_NEVER  INT64_MAX             /* a deadline that is not set */

/* A router's ports are end ports, too: its attributes are an adapter's. */
#define IB_ON_CA      (1 << IB_NODE_TYPE_CA | 1 << IB_NODE_TYPE_ROUTER)
#define IB_ON_SWITCH  (1 << IB_NODE_TYPE_SWITCH)

typedef struct IbTrapTable IbTrapTable;     /* trap.c */
typedef struct IbPmaPort IbPmaPort;         /* pma.c */
typedef struct IbSampler IbSampler;         /* pma-samples.c */
typedef struct IbCcPort IbCcPort;           /* cc.c */
typedef struct IbNoticeQueue IbNoticeQueue; /* notice.c */

typedef struct IbAgentPort {
    /* End ports only. */
    uint64_t m_key, gid_prefix;
    uint64_t *guids;              /* guid_cap of them, [0] is the port's */
    IbTrapTable *traps;           /* NULL: none sent so far */
    IbCcPort *cc;                 /* NULL: no congestion control so far */
    IbNoticeQueue *notices;       /* NULL: none so far */
    int64_t lease_deadline;       /* M_Key lease running out */
    uint32_t capability_mask;
    uint16_t lid, sm_lid, m_key_lease, m_key_violations, qkey_violations;
    uint8_t lmc, m_key_protect, sm_sl, subnet_timeout, init_type_reply;
    /* Every port. */
    uint8_t error_thresholds;     /* LocalPhyErrors, OverrunErrors */
    int16_t count_op;             /* OpCode to count, -1: none */
    uint8_t enforcement;          /* IB_ENFORCE_* */
    uint8_t last_state;           /* PortState that was last told */
    bool led;
    uint16_t pkey_violations;
    uint16_t pkeys_used;          /* last P_Key that is not 0, plus 1 */
    uint16_t *pkeys;              /* NULL: the default, {0xffff, 0 ...} */
    IbPmaPort *pma;               /* NULL: counters show all since start */
    IbSampler *sampler;           /* NULL: never sampled */
    /*
     * Link change of a Set that came by this very port: done a little later,
     * so that its answer still leaves.
     */
    int64_t late_deadline;
    uint8_t late_state, late_phys;
} IbAgentPort;

struct IbNode {
    IbNodeConfig config;
    const IbNodeOps *ops;
    void *opaque;
    const IbSmaAttribute *extra;
    IbLink **links;               /* [0] NULL */
    IbAgentPort *ports;           /* 0..num_ports */
    IbLinkCounters *port0_counters;     /* a switch's */
    char description[64];
    uint8_t *sl2vl_table;         /* what the view shows once written */
    uint8_t sl2vl_default[16];
    IbSl2vlView sl2vl;
    uint64_t next_tid;
    int64_t timer_deadline;
    int64_t reset_at;
    bool port_state_change;
    bool sm_sets_state;           /* inside a Set: no PortStateChange */
    bool ports_read;              /* somebody knows PortStates, but no SM yet */
    bool change_untold;           /* ... which have changed since */
    uint64_t cc_key;              /* of the MAD being answered by cc.c */

    /* The SMP being answered. */
    struct {
        uint64_t m_key;
        bool is_set;
        bool any_m_key;           /* not to be checked */
        bool show_m_key;          /* PortInfo may tell the M_Key */
        bool reregister;          /* the Set's ClientReregister, answered */
    } smp;
};

static inline bool ib_node_is_switch(const IbNode *node)
{
    return node->config.node_type == IB_NODE_TYPE_SWITCH;
}

static inline bool ib_node_is_mlnx(const IbNode *node)
{
    return node->config.vendor_id == IB_MLNX_VENDOR_ID;
}

static inline bool ib_node_is_end_port(const IbNode *node, uint8_t port)
{
    return ib_node_is_switch(node) ? port == 0
                                   : port >= 1 &&
                                     port <= node->config.num_ports;
}

/* The end port that answers for what arrived at @in_port. */
static inline uint8_t ib_node_end_port(const IbNode *node, uint8_t in_port)
{
    return ib_node_is_switch(node) ? 0 : in_port;
}

static inline uint8_t ib_node_first_end_port(const IbNode *node)
{
    return ib_node_is_switch(node) ? 0 : 1;
}

static inline uint8_t ib_node_last_end_port(const IbNode *node)
{
    return ib_node_is_switch(node) ? 0 : node->config.num_ports;
}

/* A link whose configuration stands for @port (port 0: that of port 1). */
static inline IbLink *ib_node_like_link(const IbNode *node, uint8_t port)
{
    return node->links[port ? port : 1];
}

static inline void ib_count16(uint16_t *counter)
{
    if (*counter != UINT16_MAX) {
        ++*counter;
    }
}

/* node.c */
void ib_node_notify(IbNode *node, uint8_t port, uint32_t what);
/* Deadlines have changed: arm the owner's timer for the first of them. */
void ib_node_rearm(IbNode *node);
/* PortInfo's LocalPhyErrors (bits 7:4) and OverrunErrors */
void ib_node_set_error_thresholds(IbNode *node, uint8_t port, uint8_t both);
/* A table of the port's own to write to, made from the default. */
uint16_t *ib_node_own_pkeys(IbNode *node, uint8_t port);
void ib_node_pkeys_changed(IbNode *node, uint8_t port);
/* The map of a pair of ports, to write to. */
uint8_t *ib_node_own_sl2vl(IbNode *node, uint8_t in_port, uint8_t out_port);

/* sma.c */
IbMadVerdict ib_sma_process(IbNode *node, uint8_t in_port, uint16_t slid,
                            unsigned flags, const uint8_t *in, uint8_t *out);
/* Does the SMP being answered have the M_Key for a Set at another port? */
bool ib_sma_may_set(IbNode *node, uint8_t port);
void ib_sma_lease_timer(IbNode *node, uint8_t port, int64_t now);

/* sma-portinfo.c */
IbSmaStatus ib_sma_get_port_info(IbNode *node, uint8_t in_port,
                                 uint32_t modifier, uint8_t *data,
                                 void *opaque);
IbSmaStatus ib_sma_set_port_info(IbNode *node, uint8_t in_port,
                                 uint32_t modifier, uint8_t *data,
                                 void *opaque);
uint32_t ib_node_shown_capability_mask(const IbNode *node, uint8_t port);
uint16_t ib_node_shown_capability_mask2(const IbNode *node, uint8_t port);
void ib_sma_late_timer(IbNode *node, uint8_t port, int64_t now);

/* sma-tables.c */
extern const IbSmaAttribute ib_sma_table_attributes[];

/* pma.c, pma-samples.c; @data: the 192 bytes of GMP data */
IbMadVerdict ib_pma_process(IbNode *node, const uint8_t *in, uint8_t *out);
void ib_pma_reset(IbNode *node, uint8_t port);
void ib_pma_free(IbAgentPort *port);
void ib_pma_save(const IbNode *node, uint8_t port, IbStateWriter *w);
/* @version: of the section "NODE", also below */
void ib_pma_load(IbNode *node, uint8_t port, unsigned version,
                 IbStateReader *r);
IbSmaStatus ib_pma_get_samples_control(IbNode *node, uint8_t *data);
IbSmaStatus ib_pma_set_samples_control(IbNode *node, uint8_t *data);
IbSmaStatus ib_pma_get_samples_result(IbNode *node, uint8_t *data);
IbSmaStatus ib_pma_get_samples_result_ext(IbNode *node, uint8_t *data);
int64_t ib_sampler_deadline(const IbSampler *sampler);
void ib_sampler_timer(IbNode *node, uint8_t port, int64_t now);
void ib_sampler_save(const IbNode *node, uint8_t port, IbStateWriter *w);
void ib_sampler_load(IbNode *node, uint8_t port, IbStateReader *r);

/* vendor.c */
IbMadVerdict ib_vendor_process(IbNode *node, const uint8_t *in, uint8_t *out);

/* cc.c; of end ports */
IbMadVerdict ib_cc_process(IbNode *node, uint8_t in_port, const uint8_t *in,
                           uint8_t *out);
int64_t ib_cc_deadline(const IbAgentPort *port);
void ib_cc_timer(IbNode *node, uint8_t port, int64_t now);
void ib_cc_free(IbAgentPort *port);
void ib_cc_save(const IbNode *node, const IbAgentPort *port,
                IbStateWriter *w);
void ib_cc_load(IbNode *node, uint8_t port, IbStateReader *r);

/* trap.c */
void ib_trap_local_changes(IbNode *node, uint8_t port, bool description);
/* A switch's external port's state was asked for. */
void ib_trap_ports_read(IbNode *node);
/* A switch's PortInfo of port 0 was set. */
void ib_trap_sm_set(IbNode *node);
void ib_trap_bad_m_key(IbNode *node, uint8_t port, uint16_t slid,
                       const uint8_t *mad);
void ib_trap_repress(IbNode *node, uint8_t port, uint64_t tid);
int64_t ib_trap_deadline(const IbAgentPort *port);
void ib_trap_timer(IbNode *node, uint8_t port, int64_t now);
void ib_trap_reset(IbAgentPort *port);
void ib_trap_save(const IbAgentPort *port, IbStateWriter *w);
void ib_trap_load(IbNode *node, uint8_t port, unsigned version,
                  IbStateReader *r);

/* notice.c; of end ports */
bool ib_notice_supported(const IbNode *node, uint8_t port);
void ib_notice_add(IbNode *node, uint8_t port,
                   const uint8_t notice[IB_NOTICE_BYTES]);
void ib_notice_free(IbAgentPort *port);
IbSmaStatus ib_sma_get_notice(IbNode *node, uint8_t in_port,
                              uint32_t modifier, uint8_t *data, void *opaque);
IbSmaStatus ib_sma_set_notice(IbNode *node, uint8_t in_port,
                              uint32_t modifier, uint8_t *data, void *opaque);
void ib_notice_save(const IbAgentPort *port, IbStateWriter *w);
void ib_notice_load(IbNode *node, uint8_t port, IbStateReader *r);

#endif
