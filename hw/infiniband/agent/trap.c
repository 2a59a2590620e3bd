/*
 * Traps: what a node tells its subnet manager unasked
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IBA Vol.1 13.4.9, 14.2.5.1 and 14.3.  A trap is sent to MasterSMLID when its
 * event happens and again each SubnetTimeOut until a TrapRepress names its
 * TransactionID, but no more than TRAP_REPEATS times.  An end port has one
 * place for each kind of trap: an event that comes while the last one of its
 * kind is still on its way takes its place, with a new TransactionID, and
 * waits for the interval to pass.  A port that knows no SM keeps silent, with
 * one exception: a link of a switch that comes up or goes down when its ports
 * have been read and MasterSMLID is not yet set.  An SM in its first sweep
 * would never learn of it, as it clears PortStateChange when it has read all
 * (OpenSM does): the trap waits for MasterSMLID.
 *
 * What a trap tells is put into the queue of notices (notice.c), too, where a
 * node has one.  145 is not sent: a SystemImageGUID does not change.
 */
#include "agent-int.h"

#define TRAP_REPEATS        16
#define TRAP_MIN_INTERVAL   (100 * 1000 * 1000LL)      /* ns */

typedef enum IbTrapKind {
    TRAP_KIND_LINK_STATE,         /* 128 */
    TRAP_KIND_LOCAL_CHANGES,      /* 144 */
    TRAP_KIND_M_KEY,              /* 256 */
    TRAP_KIND_P_KEY,              /* 257 */
    TRAP_KIND_Q_KEY,              /* 258 */
    TRAP_KIND_SWITCH_P_KEY,       /* 259 */
    TRAP_KINDS_V2,                /* those of saved state until version 2 */
    TRAP_KIND_LINK_INTEGRITY = TRAP_KINDS_V2,       /* 129 */
    TRAP_KIND_BUFFER_OVERRUN,     /* 130 */
    TRAP_KIND_FLOW_UPDATE,        /* 131 */
    TRAP_KINDS
} IbTrapKind;

typedef struct IbTrap {
    uint64_t tid;
    int64_t deadline;             /* of the next sending, or IB_NEVER */
    int64_t quiet_until;          /* no trap of this kind before */
    uint8_t repeats;              /* sendings left */
    uint8_t notice[IB_NOTICE_BYTES];
} IbTrap;

struct IbTrapTable {
    IbTrap traps[TRAP_KINDS];
};

static IbTrapTable *trap_table(IbAgentPort *port)
{
    unsigned kind;

    if (!port->traps) {
        port->traps = g_new0(IbTrapTable, 1);
        for (kind = 0; kind < TRAP_KINDS; kind++) {
            port->traps->traps[kind].deadline = IB_NEVER;
            port->traps->traps[kind].quiet_until = INT64_MIN;
        }
    }
    return port->traps;
}

void ib_trap_reset(IbAgentPort *port)
{
    g_free(port->traps);
    port->traps = NULL;
}

/* ---------------------------------------------------------------- sending */

static int64_t trap_interval(const IbAgentPort *port)
{
    return MAX(INT64_C(4096) << port->subnet_timeout, TRAP_MIN_INTERVAL);
}

static void trap_send(IbNode *node, uint8_t num, IbTrap *trap, int64_t now)
{
    IbAgentPort *port = &node->ports[num];
    uint8_t mad[IB_MAD_BYTES];

    if (port->sm_lid == 0 || port->lid == 0 || trap->repeats == 0) {
        trap->deadline = IB_NEVER;
        return;
    }
    ib_mad_init(mad, IB_CLASS_SUBN_LID_ROUTED, IB_CLASS_VERSION_SUBN,
                IB_METHOD_TRAP, trap->tid, IB_ATTR_NOTICE, 0);
    memcpy(mad + IB_SMP_DATA_OFFSET, trap->notice, sizeof(trap->notice));
    ib_field_set(mad + IB_SMP_DATA_OFFSET, IB_NOTICE_ISSUER_LID, port->lid);
    trap->repeats--;
    trap->quiet_until = now + trap_interval(port);
    trap->deadline = trap->repeats ? trap->quiet_until : IB_NEVER;
    node->ops->send_smp(node->opaque, num, mad, port->sm_lid, port->sm_sl);
}

static bool trap_possible(const IbNode *node, uint8_t num)
{
    const IbAgentPort *port = &node->ports[num];

    return node->ops->send_smp && port->sm_lid && port->lid &&
           port->capability_mask & IB_CAP_IS_TRAP_SUPPORTED;
}

/* Is there anybody to tell? */
static bool trap_wanted(const IbNode *node, uint8_t num)
{
    return trap_possible(node, num) || ib_notice_supported(node, num);
}

static void trap_start(IbNode *node, uint8_t num, IbTrapKind kind,
                       const uint8_t notice[IB_NOTICE_BYTES])
{
    int64_t now = node->ops->now(node->opaque);
    IbTrap *trap;

    trap = &trap_table(&node->ports[num])->traps[kind];
    memcpy(trap->notice, notice, sizeof(trap->notice));
    trap->tid = node->next_tid++;
    trap->repeats = TRAP_REPEATS;
    if (now >= trap->quiet_until) {
        trap_send(node, num, trap, now);
    } else {
        trap->deadline = trap->quiet_until;
    }
    ib_node_rearm(node);
}

static void trap_raise(IbNode *node, uint8_t num, IbTrapKind kind,
                       const uint8_t notice[IB_NOTICE_BYTES])
{
    ib_notice_add(node, num, notice);
    if (trap_possible(node, num)) {
        trap_start(node, num, kind, notice);
    }
}

void ib_trap_timer(IbNode *node, uint8_t num, int64_t now)
{
    IbTrapTable *table = node->ports[num].traps;
    unsigned kind;

    for (kind = 0; table && kind < TRAP_KINDS; kind++) {
        if (table->traps[kind].deadline <= now) {
            trap_send(node, num, &table->traps[kind], now);
        }
    }
}

int64_t ib_trap_deadline(const IbAgentPort *port)
{
    int64_t deadline = IB_NEVER;
    unsigned kind;

    for (kind = 0; port->traps && kind < TRAP_KINDS; kind++) {
        deadline = MIN(deadline, port->traps->traps[kind].deadline);
    }
    return deadline;
}

void ib_trap_repress(IbNode *node, uint8_t num, uint64_t tid)
{
    IbTrapTable *table = node->ports[num].traps;
    unsigned kind;

    for (kind = 0; table && kind < TRAP_KINDS; kind++) {
        if (table->traps[kind].deadline != IB_NEVER &&
            table->traps[kind].tid == tid) {
            table->traps[kind].deadline = IB_NEVER;
            table->traps[kind].repeats = 0;
        }
    }
    ib_node_rearm(node);
}

/* -------------------------------------------------------------- notices */

static void notice_init(const IbNode *node, uint8_t *notice, uint8_t type,
                        uint16_t trap)
{
    memset(notice, 0, IB_NOTICE_BYTES);
    ib_field_set(notice, IB_NOTICE_IS_GENERIC, 1);
    ib_field_set(notice, IB_NOTICE_TYPE, type);
    ib_field_set(notice, IB_NOTICE_PRODUCER_TYPE, node->config.node_type);
    ib_field_set(notice, IB_NOTICE_TRAP_NUMBER, trap);
}

/* 128 */
static void notice_link_state(const IbNode *node, uint8_t *notice)
{
    notice_init(node, notice, IB_NOTICE_TYPE_URGENT,
                IB_TRAP_LINK_STATE_CHANGE);
    ib_field_set(notice, IB_NOTICE128_LIDADDR, node->ports[0].lid);
}

void ib_trap_ports_read(IbNode *node)
{
    node->ports_read = !trap_possible(node, 0);
}

void ib_trap_sm_set(IbNode *node)
{
    uint8_t notice[IB_NOTICE_BYTES];

    if (!trap_possible(node, 0)) {
        return;
    }
    if (node->change_untold) {
        notice_link_state(node, notice);
        trap_start(node, 0, TRAP_KIND_LINK_STATE, notice);
    }
    node->ports_read = false;
    node->change_untold = false;
}

void ib_node_port_state_changed(IbNode *node, uint8_t num)
{
    IbAgentPort *port = &node->ports[num];
    uint8_t state = ib_link_state(node->links[num]);
    bool was_down = port->last_state == IB_PORT_DOWN;
    uint8_t notice[IB_NOTICE_BYTES];

    port->last_state = state;
    if (!ib_node_is_switch(node) || was_down == (state == IB_PORT_DOWN) ||
        node->sm_sets_state) {
        return;
    }
    node->port_state_change = true;
    node->change_untold = node->ports_read && !trap_possible(node, 0);
    if (trap_wanted(node, 0)) {
        notice_link_state(node, notice);
        trap_raise(node, 0, TRAP_KIND_LINK_STATE, notice);
    }
}

bool ib_node_port_state_change(const IbNode *node)
{
    return node->port_state_change;
}

void ib_node_clear_port_state_change(IbNode *node)
{
    node->port_state_change = false;
}

/* 144: of CapabilityMask, or (@description) of NodeDescription */
void ib_trap_local_changes(IbNode *node, uint8_t num, bool description)
{
    const IbAgentPort *port = &node->ports[num];
    uint32_t needs = description
        ? IB_CAP_IS_OTHER_LOCAL_CHANGES_NOTICE_SUPPORTED
        : IB_CAP_IS_CAPABILITY_MASK_NOTICE_SUPPORTED;
    uint8_t notice[IB_NOTICE_BYTES];

    if (!trap_wanted(node, num) || !(port->capability_mask & needs)) {
        return;
    }
    notice_init(node, notice, IB_NOTICE_TYPE_INFO, IB_TRAP_LOCAL_CHANGES);
    ib_field_set(notice, IB_NOTICE144_LIDADDR, port->lid);
    ib_field_set(notice, IB_NOTICE144_CAPABILITY_MASK,
                 ib_node_capability_mask(node, num));
    ib_field_set(notice, IB_NOTICE144_CAPABILITY_MASK2,
                 ib_node_shown_capability_mask2(node, num));
    if (description) {
        ib_field_set(notice, IB_NOTICE144_OTHER_LOCAL_CHANGES, 1);
        ib_field_set(notice, IB_NOTICE144_NODE_DESCRIPTION_CHANGE, 1);
    }
    trap_raise(node, num, TRAP_KIND_LOCAL_CHANGES, notice);
}

static void notice_route(uint8_t *notice, const uint8_t *mad)
{
    unsigned hops = ib_field_get(mad, IB_SMP_HOP_COUNT);

    ib_field_set(notice, IB_NOTICE256_DR_SLID,
                 ib_field_get(mad, IB_SMP_DR_SLID));
    ib_field_set(notice, IB_NOTICE256_DR_NOTICE, 1);
    ib_field_set(notice, IB_NOTICE256_DR_HOP_COUNT, hops);
    /* Entry 0 of a path is not a hop, but is told, too. */
    ib_field_set(notice, IB_NOTICE256_DR_PATH_TRUNCATED,
                 hops >= IB_NOTICE256_DR_RETURN_PATH_BYTES);
    memcpy(notice + IB_NOTICE256_DR_RETURN_PATH_OFFSET,
           mad + IB_SMP_RETURN_PATH_OFFSET,
           MIN(hops + 1, IB_NOTICE256_DR_RETURN_PATH_BYTES));
}

void ib_trap_bad_m_key(IbNode *node, uint8_t num, uint16_t slid,
                       const uint8_t *mad)
{
    uint8_t notice[IB_NOTICE_BYTES];

    if (!trap_wanted(node, num)) {
        return;
    }
    notice_init(node, notice, IB_NOTICE_TYPE_SECURITY, IB_TRAP_BAD_M_KEY);
    ib_field_set(notice, IB_NOTICE256_LIDADDR, slid);
    ib_field_set(notice, IB_NOTICE256_METHOD,
                 ib_field_get(mad, IB_MAD_METHOD));
    ib_field_set(notice, IB_NOTICE256_ATTRIBUTE_ID,
                 ib_field_get(mad, IB_MAD_ATTRIBUTE_ID));
    ib_field_set(notice, IB_NOTICE256_ATTRIBUTE_MODIFIER,
                 ib_field_get(mad, IB_MAD_ATTRIBUTE_MODIFIER));
    memcpy(notice + IB_NOTICE256_M_KEY_OFFSET, mad + IB_SMP_M_KEY_OFFSET, 8);
    if (ib_field_get(mad, IB_MAD_MGMT_CLASS) ==
        IB_CLASS_SUBN_DIRECTED_ROUTE) {
        notice_route(notice, mad);
    }
    trap_raise(node, num, TRAP_KIND_M_KEY, notice);
}

static void notice_end_port_key(uint8_t *notice, const IbKeyViolation *v)
{
    ib_field_set(notice, IB_NOTICE257_LIDADDR1, v->slid);
    ib_field_set(notice, IB_NOTICE257_LIDADDR2, v->dlid);
    ib_field_set(notice, IB_NOTICE257_KEY, v->key);
    ib_field_set(notice, IB_NOTICE257_SL, v->sl);
    ib_field_set(notice, IB_NOTICE257_QP1, v->src_qpn);
    ib_field_set(notice, IB_NOTICE257_QP2, v->dest_qpn);
    if (v->has_grh) {
        memcpy(notice + IB_NOTICE257_GIDADDR1_OFFSET, v->sgid, 16);
        memcpy(notice + IB_NOTICE257_GIDADDR2_OFFSET, v->dgid, 16);
    }
}

/*
 * DataValid: LIDs, P_Key, SL, QPs, GIDs, switch's LID and port, in that order
 * from bit 0 (table 141).
 */
static void notice_switch_key(const IbNode *node, uint8_t num,
                              uint8_t *notice, const IbKeyViolation *v)
{
    enum {
        LIDADDR1 = 1 << 0, LIDADDR2 = 1 << 1, P_KEY = 1 << 2, SL = 1 << 3,
        QP1 = 1 << 4, QP2 = 1 << 5, GIDADDR1 = 1 << 6, GIDADDR2 = 1 << 7,
    };
    unsigned valid = LIDADDR1 | LIDADDR2 | P_KEY | SL | QP1 | QP2;

    ib_field_set(notice, IB_NOTICE259_LIDADDR1, v->slid);
    ib_field_set(notice, IB_NOTICE259_LIDADDR2, v->dlid);
    ib_field_set(notice, IB_NOTICE259_P_KEY, v->key);
    ib_field_set(notice, IB_NOTICE259_SL, v->sl);
    ib_field_set(notice, IB_NOTICE259_QP1, v->src_qpn);
    ib_field_set(notice, IB_NOTICE259_QP2, v->dest_qpn);
    if (v->has_grh) {
        valid |= GIDADDR1 | GIDADDR2;
        memcpy(notice + IB_NOTICE259_GIDADDR1_OFFSET, v->sgid, 16);
        memcpy(notice + IB_NOTICE259_GIDADDR2_OFFSET, v->dgid, 16);
    }
    ib_field_set(notice, IB_NOTICE259_SW_LIDADDR, node->ports[0].lid);
    ib_field_set(notice, IB_NOTICE259_PORT_NO, num);
    ib_field_set(notice, IB_NOTICE259_DATA_VALID, valid);
}

void ib_node_key_trap(IbNode *node, uint8_t num, uint16_t trap,
                      const IbKeyViolation *violation)
{
    uint8_t end_port = ib_node_is_switch(node) ? 0 : num;
    uint8_t notice[IB_NOTICE_BYTES];
    IbTrapKind kind;

    if (!trap_wanted(node, end_port)) {
        return;
    }
    kind = trap == IB_TRAP_BAD_P_KEY ? TRAP_KIND_P_KEY :
           trap == IB_TRAP_BAD_Q_KEY ? TRAP_KIND_Q_KEY :
           TRAP_KIND_SWITCH_P_KEY;
    notice_init(node, notice, IB_NOTICE_TYPE_SECURITY, trap);
    if (kind != TRAP_KIND_SWITCH_P_KEY) {
        notice_end_port_key(notice, violation);
    } else if (node->ports[0].capability_mask &
               IB_CAP_IS_P_KEY_SWITCH_EXTERNAL_PORT_TRAP_SUPPORTED) {
        notice_switch_key(node, num, notice, violation);
    } else {
        return;
    }
    trap_raise(node, end_port, kind, notice);
}

void ib_node_link_error(IbNode *node, uint8_t num, IbLinkError error)
{
    static const struct {
        IbTrapKind kind;
        uint16_t trap;
    } traps[] = {
        [IB_LINK_INTEGRITY] = { TRAP_KIND_LINK_INTEGRITY,
                                IB_TRAP_LOCAL_LINK_INTEGRITY },
        [IB_LINK_BUFFER_OVERRUN] = { TRAP_KIND_BUFFER_OVERRUN,
                                     IB_TRAP_BUFFER_OVERRUN },
        [IB_LINK_FLOW_UPDATE] = { TRAP_KIND_FLOW_UPDATE,
                                  IB_TRAP_FLOW_CONTROL_UPDATE },
    };
    uint8_t end_port = ib_node_end_port(node, num);
    uint8_t notice[IB_NOTICE_BYTES];

    if (!trap_wanted(node, end_port)) {
        return;
    }
    notice_init(node, notice, IB_NOTICE_TYPE_URGENT, traps[error].trap);
    ib_field_set(notice, IB_NOTICE129_LIDADDR, node->ports[end_port].lid);
    ib_field_set(notice, IB_NOTICE129_PORT_NO, num);
    trap_raise(node, end_port, traps[error].kind, notice);
}

/* ------------------------------------------------------------ migration */

void ib_trap_save(const IbAgentPort *port, IbStateWriter *w)
{
    unsigned kind;

    ib_state_put8(w, port->traps != NULL);
    for (kind = 0; port->traps && kind < TRAP_KINDS; kind++) {
        const IbTrap *trap = &port->traps->traps[kind];

        ib_state_put64(w, trap->tid);
        ib_state_put64(w, trap->deadline);
        ib_state_put64(w, trap->quiet_until);
        ib_state_put8(w, trap->repeats);
        ib_state_put_bytes(w, trap->notice, sizeof(trap->notice));
    }
}

void ib_trap_load(IbNode *node, uint8_t num, unsigned version,
                  IbStateReader *r)
{
    unsigned kinds = version < 3 ? TRAP_KINDS_V2 : TRAP_KINDS;
    IbAgentPort *port = &node->ports[num];
    unsigned kind;

    ib_trap_reset(port);
    if (!ib_state_get8(r)) {
        return;
    }
    trap_table(port);
    for (kind = 0; kind < kinds; kind++) {
        IbTrap *trap = &port->traps->traps[kind];

        trap->tid = ib_state_get64(r);
        trap->deadline = ib_state_get64(r);
        trap->quiet_until = ib_state_get64(r);
        trap->repeats = ib_state_get8(r);
        ib_state_get_bytes(r, trap->notice, sizeof(trap->notice));
    }
}
