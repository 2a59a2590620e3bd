/*
 * Congestion control agent
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IBA Vol.1 annex A10, class 21.  What a manager sets here decides at a switch
 * which packets are marked with FECN: the owner asks for it with
 * ib_node_cc_marking() and tells each mark with ib_node_cc_marked(), which the
 * log keeps.  At a channel adapter settings and table say how much slower it
 * is to send after marks that came back: the owner asks for them with
 * ib_node_cc_reaction().  A CA's log is not migrated.
 *
 * Credit starvation is not there and CongestionInfo says so.  Trap 0 (CC_Key
 * violation) is not sent, and ClassPortInfo says that there are no traps.
 */
#include "agent-int.h"

#define RESP_TIME_VALUE  18     /* 1.07 s */
#define CCT_BLOCKS       2      /* ControlTableCap */
#define CCT_ENTRIES      (CCT_BLOCKS * IB_CC_TABLE_ENTRIES)
#define NS_PER_S         1000000000LL
#define NS_PER_TICK      1024   /* of a TimeStamp */

/* SwitchCongestionSetting.Control_Map: which components a Set changes */
enum {
    CONTROL_VICTIM_MASK       = 1 << 0,
    CONTROL_CREDIT_MASK       = 1 << 1,
    CONTROL_THRESHOLD         = 1 << 2,     /* and Packet_Size */
    CONTROL_CREDIT_STARVATION = 1 << 3,
    CONTROL_MARKING_RATE      = 1 << 4,
};

/* CACongestionSetting.Port_Control: one index for all of an SL */
enum { CA_CONTROL_PER_SL = 1 << 0 };

/* What a CA keeps for an SL, and what a CongestionLogEvent is */
typedef struct IbCcEntry {
    uint16_t timer;
    uint8_t increase, trigger, min;
} IbCcEntry;

typedef struct IbCcEvent {
    int64_t when;                 /* ns */
    uint16_t slid, dlid;
    uint8_t sl;
} IbCcEvent;

typedef struct IbCcSwitch {
    uint32_t control_map;
    uint8_t victim_mask[32], credit_mask[32];
    uint8_t threshold, packet_size, cs_threshold;
    uint16_t cs_return_delay, marking_rate;
    struct {
        uint16_t marking_rate;
        uint8_t threshold, packet_size;
        bool valid;               /* has settings of its own */
    } ports[255];
    /* Since the log was last read; events[0] is the newest. */
    uint8_t port_map[32];
    uint32_t events;
    IbCcEvent log[IB_CC_LOGSW_EVENTS];
} IbCcSwitch;

typedef struct IbCcCaEvent {
    int64_t when;                 /* ns; 0: none */
    IbCcThrottled what;
} IbCcCaEvent;

typedef struct IbCcCa {
    uint16_t port_control, control_map, ccti_limit;
    IbCcEntry entries[IB_SL_COUNT];
    uint16_t table[CCT_ENTRIES];  /* as on the wire */
    /* Since the log was last read; log[0] is the newest. */
    uint32_t events;
    uint16_t event_map;
    IbCcCaEvent log[IB_CC_LOGCA_EVENTS];
} IbCcCa;

/* Of an end port; made when first written to. */
struct IbCcPort {
    uint64_t key;
    int64_t lease_deadline;
    uint16_t lease, violations;
    bool protect, lease_expired;
    IbCcSwitch *sw;               /* one of the two */
    IbCcCa *ca;
};

static IbCcPort *cc_port(IbNode *node, uint8_t num)
{
    IbAgentPort *port = &node->ports[num];

    if (!port->cc) {
        port->cc = g_new0(IbCcPort, 1);
        port->cc->lease_deadline = IB_NEVER;
        if (ib_node_is_switch(node)) {
            port->cc->sw = g_new0(IbCcSwitch, 1);
        } else {
            port->cc->ca = g_new0(IbCcCa, 1);
        }
    }
    return port->cc;
}

/* The rows of a switch and of an adapter are theirs alone: see the table. */
static IbCcSwitch *cc_switch(IbNode *node, uint8_t num)
{
    IbCcSwitch *sw = cc_port(node, num)->sw;

    g_assert(sw);
    return sw;
}

static IbCcCa *cc_ca(IbNode *node, uint8_t num)
{
    IbCcCa *ca = cc_port(node, num)->ca;

    g_assert(ca);
    return ca;
}

void ib_cc_free(IbAgentPort *port)
{
    if (port->cc) {
        g_free(port->cc->sw);
        g_free(port->cc->ca);
        g_free(port->cc);
        port->cc = NULL;
    }
}

/* 256 bits, a bit a port, port 0 the last of them */
static bool cc_mask_bit(const uint8_t mask[32], uint8_t port)
{
    return mask[31 - port / 8] >> port % 8 & 1;
}

static uint32_t cc_time_stamp(int64_t ns)
{
    return ns / NS_PER_TICK;
}

/* ------------------------------------------------------- for the owner */

void ib_node_cc_marking(const IbNode *node, uint8_t port, IbCcMarking *marking)
{
    const IbCcPort *cc = node->ports[0].cc;
    const IbCcSwitch *sw = cc ? cc->sw : NULL;

    *marking = (IbCcMarking) { 0 };
    if (!sw || port > node->config.num_ports) {
        return;
    }
    marking->victim = cc_mask_bit(sw->victim_mask, port);
    if (sw->ports[port].valid) {
        marking->threshold = sw->ports[port].threshold;
        marking->packet_size = sw->ports[port].packet_size;
        marking->marking_rate = sw->ports[port].marking_rate;
    } else {
        marking->threshold = sw->threshold;
        marking->packet_size = sw->packet_size;
        marking->marking_rate = sw->marking_rate;
    }
}

void ib_node_cc_marked(IbNode *node, uint8_t port, uint16_t slid,
                       uint16_t dlid, uint8_t sl)
{
    IbCcSwitch *sw = cc_switch(node, 0);

    if (!sw || port > node->config.num_ports) {
        return;
    }
    sw->port_map[31 - port / 8] |= 1 << port % 8;
    sw->events++;
    memmove(sw->log + 1, sw->log, sizeof(sw->log) - sizeof(sw->log[0]));
    sw->log[0] = (IbCcEvent) {
        .when = node->ops->now(node->opaque),
        .slid = slid, .dlid = dlid, .sl = sl,
    };
}

static const IbCcCa *cc_ca_of(const IbNode *node, uint8_t port)
{
    return node->ports[port].cc ? node->ports[port].cc->ca : NULL;
}

bool ib_node_cc_reacts(const IbNode *node, uint8_t port)
{
    const IbCcCa *ca = cc_ca_of(node, port);
    unsigned sl;

    for (sl = 0; ca && sl < IB_SL_COUNT; sl++) {
        if (ca->entries[sl].increase || ca->entries[sl].min) {
            return true;
        }
    }
    return false;
}

void ib_node_cc_reaction(const IbNode *node, uint8_t port, uint8_t sl,
                         IbCcReaction *reaction)
{
    const IbCcCa *ca = cc_ca_of(node, port);
    const IbCcEntry *entry = ca ? &ca->entries[sl % IB_SL_COUNT] : NULL;

    if (!ca || (!entry->increase && !entry->min)) {
        *reaction = (IbCcReaction) { 0 };
        return;
    }
    *reaction = (IbCcReaction) {
        .on = true,
        .per_sl = ca->port_control & CA_CONTROL_PER_SL,
        .increase = entry->increase, .trigger = entry->trigger,
        .min = MIN(entry->min, ca->ccti_limit),
        .limit = ca->ccti_limit,
        .timer = (int64_t)entry->timer * NS_PER_TICK,
    };
}

uint16_t ib_node_cc_table(const IbNode *node, uint8_t port, uint16_t ccti)
{
    const IbCcCa *ca = cc_ca_of(node, port);

    return ca ? ca->table[MIN(ccti, ca->ccti_limit)] : 0;
}

void ib_node_cc_throttled(IbNode *node, uint8_t port,
                          const IbCcThrottled *event)
{
    IbCcCa *ca = cc_ca(node, port);

    ca->events++;
    ca->event_map |= 1 << (event->sl % IB_SL_COUNT);
    memmove(ca->log + 1, ca->log, sizeof(ca->log) - sizeof(ca->log[0]));
    ca->log[0] = (IbCcCaEvent) { node->ops->now(node->opaque), *event };
}

/* ----------------------------------------------------------- attributes */

/*
 * @data: the attribute, in place for both.  @num: the end port; a handler may
 * make what it has not yet.
 */
static IbSmaStatus get_class_port_info(IbNode *node, uint8_t num,
                                       uint32_t modifier, uint8_t *data)
{
    ib_field_set(data, IB_CPI_BASE_VERSION, IB_MAD_BASE_VERSION_1);
    ib_field_set(data, IB_CPI_CLASS_VERSION, IB_CLASS_VERSION_CONGESTION);
    ib_field_set(data, IB_CPI_RESP_TIME_VALUE, RESP_TIME_VALUE);
    return 0;
}

static IbSmaStatus get_info(IbNode *node, uint8_t num, uint32_t modifier,
                            uint8_t *data)
{
    if (!ib_node_is_switch(node)) {
        ib_field_set(data, IB_CC_INFO_CONTROL_TABLE_CAP, CCT_BLOCKS);
    }
    return 0;
}

/* The key shows to who knows it, to others unless it is protected. */
static IbSmaStatus get_key_info(IbNode *node, uint8_t num, uint32_t modifier,
                                uint8_t *data)
{
    const IbCcPort *cc = node->ports[num].cc;

    if (cc) {
        if (!cc->protect || node->cc_key == cc->key) {
            ib_put_be64(data + IB_CC_KEYINFO_CC_KEY_OFFSET, cc->key);
        }
        ib_field_set(data, IB_CC_KEYINFO_CC_KEY_PROTECT_BIT, cc->protect);
        ib_field_set(data, IB_CC_KEYINFO_CC_KEY_LEASE_PERIOD, cc->lease);
        ib_field_set(data, IB_CC_KEYINFO_CC_KEY_VIOLATIONS, cc->violations);
    }
    return 0;
}

static IbSmaStatus set_key_info(IbNode *node, uint8_t num, uint32_t modifier,
                                uint8_t *data)
{
    IbCcPort *cc = cc_port(node, num);

    cc->key = ib_get_be64(data + IB_CC_KEYINFO_CC_KEY_OFFSET);
    cc->protect = ib_field_get(data, IB_CC_KEYINFO_CC_KEY_PROTECT_BIT);
    cc->lease = ib_field_get(data, IB_CC_KEYINFO_CC_KEY_LEASE_PERIOD);
    cc->lease_expired = false;
    if (ib_field_get(data, IB_CC_KEYINFO_CC_KEY_VIOLATIONS) == 0) {
        cc->violations = 0;
    }
    node->cc_key = cc->key;       /* who sets the key knows it */
    return 0;
}

static void get_log_switch(IbNode *node, IbCcSwitch *sw, uint8_t *data)
{
    unsigned i;

    ib_field_set(data, IB_CC_LOGSW_LOG_EVENTS_COUNTER,
                 ib_counter_clamp(sw->events,
                                  IB_CC_LOGSW_LOG_EVENTS_COUNTER));
    memcpy(data + IB_CC_LOGSW_PORT_MAP_OFFSET, sw->port_map,
           sizeof(sw->port_map));
    for (i = 0; i < IB_CC_LOGSW_EVENTS && sw->log[i].when; i++) {
        uint8_t *event = data + IB_CC_LOGSW_EVENT_OFFSET(i);

        ib_field_set(event, IB_CC_LOGSW_EVENT_SLID, sw->log[i].slid);
        ib_field_set(event, IB_CC_LOGSW_EVENT_DLID, sw->log[i].dlid);
        ib_field_set(event, IB_CC_LOGSW_EVENT_SL, sw->log[i].sl);
        ib_field_set(event, IB_CC_LOGSW_EVENT_TIME_STAMP,
                     cc_time_stamp(sw->log[i].when));
    }
    sw->events = 0;
    memset(sw->port_map, 0, sizeof(sw->port_map));
}

static void get_log_ca(IbCcCa *ca, uint8_t *data)
{
    unsigned i;

    ib_field_set(data, IB_CC_LOGCA_THRESHOLD_EVENT_COUNTER,
                 ib_counter_clamp(ca->events,
                                  IB_CC_LOGCA_THRESHOLD_EVENT_COUNTER));
    ib_field_set(data, IB_CC_LOGCA_THRESHOLD_CONGESTION_EVENT_MAP,
                 ca->event_map);
    for (i = 0; i < IB_CC_LOGCA_EVENTS && ca->log[i].when; i++) {
        uint8_t *event = data + IB_CC_LOGCA_EVENT_OFFSET(i);
        const IbCcThrottled *what = &ca->log[i].what;

        ib_field_set(event, IB_CC_LOGCA_EVENT_LOCAL_QP, what->qpn);
        ib_field_set(event, IB_CC_LOGCA_EVENT_REMOTE_QP, what->remote_qpn);
        ib_field_set(event, IB_CC_LOGCA_EVENT_SL, what->sl);
        ib_field_set(event, IB_CC_LOGCA_EVENT_SERVICE_TYPE, what->service);
        ib_field_set(event, IB_CC_LOGCA_EVENT_LOCAL_LID, what->lid);
        ib_field_set(event, IB_CC_LOGCA_EVENT_REMOTE_LID, what->remote_lid);
        ib_field_set(event, IB_CC_LOGCA_EVENT_TIME_STAMP,
                     cc_time_stamp(ca->log[i].when));
    }
    ca->events = 0;
    ca->event_map = 0;
}

static IbSmaStatus get_log(IbNode *node, uint8_t num, uint32_t modifier,
                           uint8_t *data)
{
    uint32_t now = cc_time_stamp(node->ops->now(node->opaque));
    IbCcPort *cc = node->ports[num].cc;

    ib_field_set(data, IB_CC_LOG_CONGESTION_FLAGS, cc && cc->lease_expired);
    if (ib_node_is_switch(node)) {
        ib_field_set(data, IB_CC_LOG_LOG_TYPE, IB_CC_LOG_TYPE_SWITCH);
        ib_field_set(data, IB_CC_LOGSW_CURRENT_TIME_STAMP, now);
        if (cc) {
            get_log_switch(node, cc->sw, data);
        }
    } else {
        ib_field_set(data, IB_CC_LOG_LOG_TYPE, IB_CC_LOG_TYPE_CA);
        ib_field_set(data, IB_CC_LOGCA_CURRENT_TIME_STAMP, now);
        if (cc) {
            get_log_ca(cc->ca, data);
        }
    }
    return 0;
}

static IbSmaStatus get_switch_setting(IbNode *node, uint8_t num,
                                      uint32_t modifier, uint8_t *data)
{
    const IbCcSwitch *sw = cc_switch(node, num);

    ib_field_set(data, IB_CC_SWSET_CONTROL_MAP, sw->control_map);
    memcpy(data + IB_CC_SWSET_VICTIM_MASK_OFFSET, sw->victim_mask, 32);
    memcpy(data + IB_CC_SWSET_CREDIT_MASK_OFFSET, sw->credit_mask, 32);
    ib_field_set(data, IB_CC_SWSET_THRESHOLD, sw->threshold);
    ib_field_set(data, IB_CC_SWSET_PACKET_SIZE, sw->packet_size);
    ib_field_set(data, IB_CC_SWSET_CS_THRESHOLD, sw->cs_threshold);
    ib_field_set(data, IB_CC_SWSET_CS_RETURN_DELAY, sw->cs_return_delay);
    ib_field_set(data, IB_CC_SWSET_MARKING_RATE, sw->marking_rate);
    return 0;
}

static IbSmaStatus set_switch_setting(IbNode *node, uint8_t num,
                                      uint32_t modifier, uint8_t *data)
{
    IbCcSwitch *sw = cc_switch(node, num);
    uint32_t map = ib_field_get(data, IB_CC_SWSET_CONTROL_MAP);

    sw->control_map = map;
    if (map & CONTROL_VICTIM_MASK) {
        memcpy(sw->victim_mask, data + IB_CC_SWSET_VICTIM_MASK_OFFSET, 32);
    }
    if (map & CONTROL_CREDIT_MASK) {
        memcpy(sw->credit_mask, data + IB_CC_SWSET_CREDIT_MASK_OFFSET, 32);
    }
    if (map & CONTROL_THRESHOLD) {
        sw->threshold = ib_field_get(data, IB_CC_SWSET_THRESHOLD);
        sw->packet_size = ib_field_get(data, IB_CC_SWSET_PACKET_SIZE);
    }
    if (map & CONTROL_CREDIT_STARVATION) {
        sw->cs_threshold = ib_field_get(data, IB_CC_SWSET_CS_THRESHOLD);
        sw->cs_return_delay = ib_field_get(data, IB_CC_SWSET_CS_RETURN_DELAY);
    }
    if (map & CONTROL_MARKING_RATE) {
        sw->marking_rate = ib_field_get(data, IB_CC_SWSET_MARKING_RATE);
    }
    ib_node_notify(node, num, IB_CHANGED_CC);
    return 0;
}

/* 32 ports a block, from port 0 on; elements beyond the ports stay 0. */
static bool switch_port_block(const IbNode *node, uint32_t modifier,
                              unsigned *first, unsigned *count)
{
    unsigned ports = node->config.num_ports + 1;

    if (modifier >= (ports + IB_CC_SWPORT_ELEMENTS - 1) /
                    IB_CC_SWPORT_ELEMENTS) {
        return false;
    }
    *first = modifier * IB_CC_SWPORT_ELEMENTS;
    *count = MIN(ports - *first, IB_CC_SWPORT_ELEMENTS);
    return true;
}

static IbSmaStatus get_switch_port_setting(IbNode *node, uint8_t num,
                                           uint32_t modifier, uint8_t *data)
{
    const IbCcSwitch *sw = cc_switch(node, num);
    unsigned first, count, i;

    if (!switch_port_block(node, modifier, &first, &count)) {
        return IB_MAD_STATUS_BAD_FIELD;
    }
    for (i = 0; i < count; i++) {
        IbCcMarking marking;

        ib_node_cc_marking(node, first + i, &marking);
        ib_field_set(data, IB_CC_SWPORT_VALID(i), sw->ports[first + i].valid);
        ib_field_set(data, IB_CC_SWPORT_THRESHOLD(i), marking.threshold);
        ib_field_set(data, IB_CC_SWPORT_PACKET_SIZE(i), marking.packet_size);
        ib_field_set(data, IB_CC_SWPORT_CONG_PARM(i), marking.marking_rate);
    }
    return 0;
}

/* An element that is not Valid changes nothing. */
static IbSmaStatus set_switch_port_setting(IbNode *node, uint8_t num,
                                           uint32_t modifier, uint8_t *data)
{
    IbCcSwitch *sw = cc_switch(node, num);
    unsigned first, count, i;

    if (!switch_port_block(node, modifier, &first, &count)) {
        return IB_MAD_STATUS_BAD_FIELD;
    }
    for (i = 0; i < count; i++) {
        /* Control_Type 1 is credit starvation. */
        if (ib_field_get(data, IB_CC_SWPORT_VALID(i)) &&
            ib_field_get(data, IB_CC_SWPORT_CONTROL_TYPE(i))) {
            return IB_MAD_STATUS_BAD_FIELD;
        }
    }
    for (i = 0; i < count; i++) {
        if (ib_field_get(data, IB_CC_SWPORT_VALID(i))) {
            sw->ports[first + i].valid = true;
            sw->ports[first + i].threshold =
                ib_field_get(data, IB_CC_SWPORT_THRESHOLD(i));
            sw->ports[first + i].packet_size =
                ib_field_get(data, IB_CC_SWPORT_PACKET_SIZE(i));
            sw->ports[first + i].marking_rate =
                ib_field_get(data, IB_CC_SWPORT_CONG_PARM(i));
        }
    }
    ib_node_notify(node, num, IB_CHANGED_CC);
    return 0;
}

static IbSmaStatus get_ca_setting(IbNode *node, uint8_t num,
                                  uint32_t modifier, uint8_t *data)
{
    const IbCcCa *ca = cc_ca(node, num);
    unsigned sl;

    ib_field_set(data, IB_CC_CASET_PORT_CONTROL, ca->port_control);
    ib_field_set(data, IB_CC_CASET_CONTROL_MAP, ca->control_map);
    for (sl = 0; sl < IB_SL_COUNT; sl++) {
        const IbCcEntry *entry = &ca->entries[sl];

        ib_field_set(data, IB_CC_CASET_CCTI_TIMER(sl), entry->timer);
        ib_field_set(data, IB_CC_CASET_CCTI_INCREASE(sl), entry->increase);
        ib_field_set(data, IB_CC_CASET_TRIGGER_THRESHOLD(sl), entry->trigger);
        ib_field_set(data, IB_CC_CASET_CCTI_MIN(sl), entry->min);
    }
    return 0;
}

/* The entries of the SLs in Control_Map */
static IbSmaStatus set_ca_setting(IbNode *node, uint8_t num,
                                  uint32_t modifier, uint8_t *data)
{
    IbCcCa *ca = cc_ca(node, num);
    unsigned sl;

    ca->port_control = ib_field_get(data, IB_CC_CASET_PORT_CONTROL);
    ca->control_map = ib_field_get(data, IB_CC_CASET_CONTROL_MAP);
    for (sl = 0; sl < IB_SL_COUNT; sl++) {
        if (ca->control_map >> sl & 1) {
            ca->entries[sl] = (IbCcEntry) {
                ib_field_get(data, IB_CC_CASET_CCTI_TIMER(sl)),
                ib_field_get(data, IB_CC_CASET_CCTI_INCREASE(sl)),
                ib_field_get(data, IB_CC_CASET_TRIGGER_THRESHOLD(sl)),
                ib_field_get(data, IB_CC_CASET_CCTI_MIN(sl)),
            };
        }
    }
    ib_node_notify(node, num, IB_CHANGED_CC);
    return 0;
}

static IbSmaStatus get_table(IbNode *node, uint8_t num, uint32_t modifier,
                             uint8_t *data)
{
    const IbCcCa *ca = cc_ca(node, num);
    unsigned i;

    if (modifier >= CCT_BLOCKS) {
        return IB_MAD_STATUS_BAD_FIELD;
    }
    ib_field_set(data, IB_CC_TABLE_CCTI_LIMIT, ca->ccti_limit);
    for (i = 0; i < IB_CC_TABLE_ENTRIES; i++) {
        uint16_t entry = ca->table[modifier * IB_CC_TABLE_ENTRIES + i];

        ib_field_set(data, IB_CC_TABLE_CCT_SHIFT(i), entry >> 14);
        ib_field_set(data, IB_CC_TABLE_CCT_MULTIPLIER(i), entry & 0x3fff);
    }
    return 0;
}

static IbSmaStatus set_table(IbNode *node, uint8_t num, uint32_t modifier,
                             uint8_t *data)
{
    IbCcCa *ca = cc_ca(node, num);
    uint16_t limit = ib_field_get(data, IB_CC_TABLE_CCTI_LIMIT);
    unsigned i;

    if (modifier >= CCT_BLOCKS || limit >= CCT_ENTRIES) {
        return IB_MAD_STATUS_BAD_FIELD;
    }
    ca->ccti_limit = limit;
    for (i = 0; i < IB_CC_TABLE_ENTRIES; i++) {
        ca->table[modifier * IB_CC_TABLE_ENTRIES + i] =
            ib_field_get(data, IB_CC_TABLE_CCT_SHIFT(i)) << 14 |
            ib_field_get(data, IB_CC_TABLE_CCT_MULTIPLIER(i));
    }
    return 0;
}

static IbSmaStatus get_time_stamp(IbNode *node, uint8_t num,
                                  uint32_t modifier, uint8_t *data)
{
    ib_field_set(data, IB_CC_TIMESTAMP,
                 cc_time_stamp(node->ops->now(node->opaque)));
    return 0;
}

typedef struct IbCcAttribute {
    uint16_t id;
    const char *name;
    uint8_t node_types;
    uint8_t offset, bytes;        /* of the attribute in the MAD */
    IbSmaStatus (*get)(IbNode *node, uint8_t num, uint32_t modifier,
                       uint8_t *data);
    IbSmaStatus (*set)(IbNode *node, uint8_t num, uint32_t modifier,
                       uint8_t *data);
} IbCcAttribute;

#define CC_DATA  IB_CC_MAD_DATA_OFFSET, IB_MAD_BYTES - IB_CC_MAD_DATA_OFFSET
#define CC_LOG   IB_CC_MAD_LOG_DATA_OFFSET, IB_CC_MAD_LOG_DATA_BYTES

static const IbCcAttribute cc_attributes[] = {
    { IB_ATTR_CLASS_PORT_INFO, "ClassPortInfo", IB_ON_CA | IB_ON_SWITCH,
      CC_DATA, get_class_port_info, NULL },
    { IB_CC_ATTR_CONGESTION_INFO, "CongestionInfo", IB_ON_CA | IB_ON_SWITCH,
      CC_DATA, get_info, NULL },
    { IB_CC_ATTR_CONGESTION_KEY_INFO, "CongestionKeyInfo",
      IB_ON_CA | IB_ON_SWITCH, CC_DATA, get_key_info, set_key_info },
    { IB_CC_ATTR_CONGESTION_LOG, "CongestionLog", IB_ON_CA | IB_ON_SWITCH,
      CC_LOG, get_log, NULL },
    { IB_CC_ATTR_SWITCH_CONGESTION_SETTING, "SwitchCongestionSetting",
      IB_ON_SWITCH, CC_DATA, get_switch_setting, set_switch_setting },
    { IB_CC_ATTR_SWITCH_PORT_CONGESTION_SETTING,
      "SwitchPortCongestionSetting", IB_ON_SWITCH, CC_DATA,
      get_switch_port_setting, set_switch_port_setting },
    { IB_CC_ATTR_CA_CONGESTION_SETTING, "CACongestionSetting", IB_ON_CA,
      CC_DATA, get_ca_setting, set_ca_setting },
    { IB_CC_ATTR_CONGESTION_CONTROL_TABLE, "CongestionControlTable", IB_ON_CA,
      CC_DATA, get_table, set_table },
    { IB_CC_ATTR_TIME_STAMP, "TimeStamp", IB_ON_CA | IB_ON_SWITCH,
      CC_DATA, get_time_stamp, NULL },
};

/* ------------------------------------------------------------- dispatch */

/* As the M_Key: a Set needs it, a Get does not (but is not shown it). */
static bool cc_check_key(IbNode *node, uint8_t num, bool is_set)
{
    IbCcPort *cc = node->ports[num].cc;

    if (!cc || cc->key == 0) {
        return true;
    }
    if (cc->key == node->cc_key) {
        cc->lease_deadline = IB_NEVER;
        return true;
    }
    if (!is_set) {
        return true;
    }
    ib_count16(&cc->violations);
    if (cc->lease && cc->protect && cc->lease_deadline == IB_NEVER) {
        cc->lease_deadline = node->ops->now(node->opaque) +
                             cc->lease * NS_PER_S;
        ib_node_rearm(node);
    }
    return false;
}

int64_t ib_cc_deadline(const IbAgentPort *port)
{
    return port->cc ? port->cc->lease_deadline : IB_NEVER;
}

void ib_cc_timer(IbNode *node, uint8_t num, int64_t now)
{
    IbCcPort *cc = node->ports[num].cc;

    if (cc && cc->lease_deadline <= now) {
        cc->lease_deadline = IB_NEVER;
        cc->protect = false;
        cc->lease_expired = true;
    }
}

static IbSmaStatus cc_do(IbNode *node, uint8_t num, bool is_set, uint8_t *mad)
{
    uint16_t id = ib_field_get(mad, IB_MAD_ATTRIBUTE_ID);
    uint32_t modifier = ib_field_get(mad, IB_MAD_ATTRIBUTE_MODIFIER);
    const IbCcAttribute *row = NULL;
    IbSmaStatus status;
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(cc_attributes) && !row; i++) {
        if (cc_attributes[i].id == id &&
            cc_attributes[i].node_types & 1 << node->config.node_type) {
            row = &cc_attributes[i];
        }
    }
    if (!row || (is_set && !row->set)) {
        return IB_MAD_STATUS_BAD_METHOD_ATTR;
    }
    if (is_set) {
        status = row->set(node, num, modifier, mad + row->offset);
        if (status) {
            return status;
        }
    }
    memset(mad + row->offset, 0, row->bytes);
    return row->get(node, num, modifier, mad + row->offset);
}

IbMadVerdict ib_cc_process(IbNode *node, uint8_t in_port, const uint8_t *in,
                           uint8_t *out)
{
    uint8_t method = ib_field_get(in, IB_MAD_METHOD);
    uint8_t num = ib_node_end_port(node, in_port);
    bool is_set = method == IB_METHOD_SET;
    IbSmaStatus status;

    if (method & IB_METHOD_RESPONSE) {
        return IB_MAD_CONSUMED;
    }
    if (method == IB_METHOD_TRAP_REPRESS || method == IB_METHOD_SEND ||
        method == IB_METHOD_TRAP || method == IB_METHOD_REPORT) {
        return IB_MAD_DROPPED;
    }
    memcpy(out, in, IB_MAD_BYTES);
    node->cc_key = ib_get_be64(in + IB_CC_MAD_KEY_OFFSET);
    if (ib_field_get(in, IB_MAD_BASE_VERSION) != IB_MAD_BASE_VERSION_1 ||
        ib_field_get(in, IB_MAD_CLASS_VERSION) !=
        IB_CLASS_VERSION_CONGESTION) {
        status = IB_MAD_STATUS_BAD_VERSION;
    } else if (method != IB_METHOD_GET && !is_set) {
        status = IB_MAD_STATUS_BAD_METHOD;
    } else if (!cc_check_key(node, num, is_set)) {
        return IB_MAD_DROPPED;
    } else {
        status = cc_do(node, num, is_set, out);
    }
    ib_mad_to_response(out, status);
    return IB_MAD_REPLY;
}

/* ------------------------------------------------------------- migration */

static void save_switch(const IbNode *node, const IbCcSwitch *sw,
                        IbStateWriter *w)
{
    unsigned i;

    ib_state_put32(w, sw->control_map);
    ib_state_put_bytes(w, sw->victim_mask, sizeof(sw->victim_mask));
    ib_state_put_bytes(w, sw->credit_mask, sizeof(sw->credit_mask));
    ib_state_put8(w, sw->threshold);
    ib_state_put8(w, sw->packet_size);
    ib_state_put8(w, sw->cs_threshold);
    ib_state_put16(w, sw->cs_return_delay);
    ib_state_put16(w, sw->marking_rate);
    for (i = 0; i <= node->config.num_ports; i++) {
        ib_state_put8(w, sw->ports[i].valid);
        ib_state_put8(w, sw->ports[i].threshold);
        ib_state_put8(w, sw->ports[i].packet_size);
        ib_state_put16(w, sw->ports[i].marking_rate);
    }
    ib_state_put_bytes(w, sw->port_map, sizeof(sw->port_map));
    ib_state_put32(w, sw->events);
    for (i = 0; i < IB_CC_LOGSW_EVENTS; i++) {
        ib_state_put64(w, sw->log[i].when);
        ib_state_put16(w, sw->log[i].slid);
        ib_state_put16(w, sw->log[i].dlid);
        ib_state_put8(w, sw->log[i].sl);
    }
}

static void load_switch(const IbNode *node, IbCcSwitch *sw, IbStateReader *r)
{
    unsigned i;

    sw->control_map = ib_state_get32(r);
    ib_state_get_bytes(r, sw->victim_mask, sizeof(sw->victim_mask));
    ib_state_get_bytes(r, sw->credit_mask, sizeof(sw->credit_mask));
    sw->threshold = ib_state_get8(r) & 0xf;
    sw->packet_size = ib_state_get8(r);
    sw->cs_threshold = ib_state_get8(r) & 0xf;
    sw->cs_return_delay = ib_state_get16(r);
    sw->marking_rate = ib_state_get16(r);
    for (i = 0; i <= node->config.num_ports; i++) {
        sw->ports[i].valid = ib_state_get8(r);
        sw->ports[i].threshold = ib_state_get8(r) & 0xf;
        sw->ports[i].packet_size = ib_state_get8(r);
        sw->ports[i].marking_rate = ib_state_get16(r);
    }
    ib_state_get_bytes(r, sw->port_map, sizeof(sw->port_map));
    sw->events = ib_state_get32(r);
    for (i = 0; i < IB_CC_LOGSW_EVENTS; i++) {
        sw->log[i].when = ib_state_get64(r);
        sw->log[i].slid = ib_state_get16(r);
        sw->log[i].dlid = ib_state_get16(r);
        sw->log[i].sl = ib_state_get8(r) & 0xf;
    }
}

static void save_ca(const IbCcCa *ca, IbStateWriter *w)
{
    unsigned i;

    ib_state_put16(w, ca->port_control);
    ib_state_put16(w, ca->control_map);
    ib_state_put16(w, ca->ccti_limit);
    for (i = 0; i < IB_SL_COUNT; i++) {
        ib_state_put16(w, ca->entries[i].timer);
        ib_state_put8(w, ca->entries[i].increase);
        ib_state_put8(w, ca->entries[i].trigger);
        ib_state_put8(w, ca->entries[i].min);
    }
    for (i = 0; i < CCT_ENTRIES; i++) {
        ib_state_put16(w, ca->table[i]);
    }
}

static void load_ca(IbCcCa *ca, IbStateReader *r)
{
    unsigned i;

    ca->port_control = ib_state_get16(r);
    ca->control_map = ib_state_get16(r);
    ca->ccti_limit = ib_state_get16(r);
    for (i = 0; i < IB_SL_COUNT; i++) {
        ca->entries[i].timer = ib_state_get16(r);
        ca->entries[i].increase = ib_state_get8(r);
        ca->entries[i].trigger = ib_state_get8(r);
        ca->entries[i].min = ib_state_get8(r);
    }
    for (i = 0; i < CCT_ENTRIES; i++) {
        ca->table[i] = ib_state_get16(r);
    }
    if (ca->ccti_limit >= CCT_ENTRIES) {
        ib_state_fail(r);
    }
}

void ib_cc_save(const IbNode *node, const IbAgentPort *port, IbStateWriter *w)
{
    const IbCcPort *cc = port->cc;

    ib_state_put8(w, cc != NULL);
    if (!cc) {
        return;
    }
    ib_state_put64(w, cc->key);
    ib_state_put64(w, cc->lease_deadline);
    ib_state_put16(w, cc->lease);
    ib_state_put16(w, cc->violations);
    ib_state_put8(w, cc->protect);
    ib_state_put8(w, cc->lease_expired);
    if (cc->sw) {
        save_switch(node, cc->sw, w);
    } else {
        save_ca(cc->ca, w);
    }
}

void ib_cc_load(IbNode *node, uint8_t num, IbStateReader *r)
{
    IbCcPort *cc;

    ib_cc_free(&node->ports[num]);
    if (!ib_state_get8(r)) {
        return;
    }
    cc = cc_port(node, num);
    cc->key = ib_state_get64(r);
    cc->lease_deadline = ib_state_get64(r);
    cc->lease = ib_state_get16(r);
    cc->violations = ib_state_get16(r);
    cc->protect = ib_state_get8(r);
    cc->lease_expired = ib_state_get8(r);
    if (ib_node_is_switch(node)) {
        load_switch(node, cc_switch(node, num), r);
    } else {
        load_ca(cc_ca(node, num), r);
    }
}
