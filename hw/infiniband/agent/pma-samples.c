/*
 * Performance management agent: samples
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IBA Vol.1 16.1.3.2 to 16.1.3.4: a Set(PortSamplesControl) arms one sample
 * of a port: after SampleStart ticks up to 15 chosen counters run for
 * SampleInterval ticks, and PortSamplesResult shows by how much they grew.
 * The counters are those of the link, read at both ends of the interval.
 *
 * PortSamplesResult has no PortSelect: it tells the sample that was set last.
 */
#include "agent-int.h"

/* Tick counts symbol times of 4 ns: 1 us, as PortXmitWait's tick is. */
#define TICK            0xfa
#define TICK_NS         1000
#define COUNTERS        IB_PSC_COUNTERS
#define COUNTER_WIDTH   4       /* 32 bits, the largest there is */
/* CounterMasks, 3 bits each: every counter takes any mandatory selection. */
#define MASK0           1
#define MASKS_1_TO_9    0x1249249
#define MASKS_10_TO_14  0x1249

struct IbSampler {
    uint32_t start, interval;     /* ticks */
    uint16_t tag;
    uint16_t select[COUNTERS];
    uint8_t status;               /* IB_SAMPLE_* */
    int64_t deadline;             /* of the next change of status */
    uint64_t order;               /* which port was set last */
    uint64_t value[COUNTERS];     /* at the start, then the growth */
};

/* CounterSelect of the mandatory counters, table 228 */
static uint64_t sample_raw(IbNode *node, uint8_t num, uint16_t select)
{
    const IbLinkCounters *counters = ib_node_counters(node, num);

    switch (select) {
    case IB_SAMPLE_PORT_XMIT_DATA:
        return counters->xmit_data;
    case IB_SAMPLE_PORT_RCV_DATA:
        return counters->rcv_data;
    case IB_SAMPLE_PORT_XMIT_PKTS:
        return counters->xmit_pkts;
    case IB_SAMPLE_PORT_RCV_PKTS:
        return counters->rcv_pkts;
    case IB_SAMPLE_PORT_XMIT_WAIT:
        return counters->xmit_wait;
    default:
        return 0;
    }
}

static void sample_read(IbNode *node, uint8_t num, bool ends)
{
    IbSampler *s = node->ports[num].sampler;
    unsigned i;

    for (i = 0; i < COUNTERS; i++) {
        uint64_t raw = sample_raw(node, num, s->select[i]);

        s->value[i] = ends ? raw - s->value[i] : raw;
    }
}

int64_t ib_sampler_deadline(const IbSampler *sampler)
{
    return sampler ? sampler->deadline : IB_NEVER;
}

void ib_sampler_timer(IbNode *node, uint8_t num, int64_t now)
{
    IbSampler *s = node->ports[num].sampler;

    if (!s || s->deadline > now) {
        return;
    }
    sample_read(node, num, s->status == IB_SAMPLE_RUNNING);
    if (s->status == IB_SAMPLE_STARTED) {
        s->status = IB_SAMPLE_RUNNING;
        s->deadline = now + (int64_t)s->interval * TICK_NS;
    } else {
        s->status = IB_SAMPLE_DONE;
        s->deadline = IB_NEVER;
    }
}

/* The sampler that was set last, for attributes without a PortSelect. */
static const IbSampler *sample_last(const IbNode *node)
{
    const IbSampler *last = NULL;
    unsigned num;

    for (num = 0; num <= node->config.num_ports; num++) {
        const IbSampler *s = node->ports[num].sampler;

        if (s && (!last || s->order > last->order)) {
            last = s;
        }
    }
    return last;
}

static bool sample_port(const IbNode *node, const uint8_t *data, uint8_t *num)
{
    *num = ib_field_get(data, IB_PSC_PORT_SELECT);
    return *num <= node->config.num_ports &&
           (*num != 0 || ib_node_is_switch(node));
}

IbSmaStatus ib_pma_get_samples_control(IbNode *node, uint8_t *data)
{
    const IbSampler *s;
    uint8_t num;
    unsigned i;

    if (!sample_port(node, data, &num)) {
        return IB_MAD_STATUS_BAD_FIELD;
    }
    s = node->ports[num].sampler;
    memset(data, 0, IB_GMP_DATA_BYTES);
    ib_field_set(data, IB_PSC_PORT_SELECT, num);
    ib_field_set(data, IB_PSC_TICK, TICK);
    ib_field_set(data, IB_PSC_COUNTER_WIDTH, COUNTER_WIDTH);
    ib_field_set(data, IB_PSC_COUNTER_MASK0, MASK0);
    ib_field_set(data, IB_PSC_COUNTER_MASKS_1_TO_9, MASKS_1_TO_9);
    ib_field_set(data, IB_PSC_COUNTER_MASKS_10_TO_14, MASKS_10_TO_14);
    for (i = 0; s && i < COUNTERS; i++) {
        ib_field_set(data, IB_PSC_COUNTER_SELECT(i), s->select[i]);
    }
    if (s) {
        ib_field_set(data, IB_PSC_SAMPLE_STATUS, s->status);
        ib_field_set(data, IB_PSC_SAMPLE_START, s->start);
        ib_field_set(data, IB_PSC_SAMPLE_INTERVAL, s->interval);
        ib_field_set(data, IB_PSC_TAG, s->tag);
    }
    return 0;
}

/* A sample that runs is not disturbed: the answer shows it (16.1.3.3). */
IbSmaStatus ib_pma_set_samples_control(IbNode *node, uint8_t *data)
{
    const IbSampler *last = sample_last(node);
    uint64_t order = last ? last->order + 1 : 1;
    IbAgentPort *port;
    IbSampler *s;
    uint8_t num;
    unsigned i;

    if (!sample_port(node, data, &num)) {
        return IB_MAD_STATUS_BAD_FIELD;
    }
    port = &node->ports[num];
    if (!port->sampler) {
        port->sampler = g_new0(IbSampler, 1);
        port->sampler->deadline = IB_NEVER;
    }
    s = port->sampler;
    if (s->status != IB_SAMPLE_DONE) {
        return 0;
    }
    s->start = ib_field_get(data, IB_PSC_SAMPLE_START);
    s->interval = ib_field_get(data, IB_PSC_SAMPLE_INTERVAL);
    s->tag = ib_field_get(data, IB_PSC_TAG);
    for (i = 0; i < COUNTERS; i++) {
        s->select[i] = ib_field_get(data, IB_PSC_COUNTER_SELECT(i));
    }
    s->order = order;
    s->status = IB_SAMPLE_STARTED;
    s->deadline = node->ops->now(node->opaque) + (int64_t)s->start * TICK_NS;
    ib_node_rearm(node);
    return 0;
}

static uint64_t sample_value(const IbSampler *s, unsigned i)
{
    return s->status == IB_SAMPLE_DONE ? s->value[i] : 0;
}

IbSmaStatus ib_pma_get_samples_result(IbNode *node, uint8_t *data)
{
    const IbSampler *s = sample_last(node);
    unsigned i;

    memset(data, 0, IB_GMP_DATA_BYTES);
    for (i = 0; s && i < COUNTERS; i++) {
        ib_field_set(data, IB_PSR_COUNTER(i),
                     ib_counter_clamp(sample_value(s, i), IB_PSR_COUNTER(i)));
    }
    if (s) {
        ib_field_set(data, IB_PSR_TAG, s->tag);
        ib_field_set(data, IB_PSR_SAMPLE_STATUS, s->status);
    }
    return 0;
}

IbSmaStatus ib_pma_get_samples_result_ext(IbNode *node, uint8_t *data)
{
    const IbSampler *s = sample_last(node);
    unsigned i;

    memset(data, 0, IB_GMP_DATA_BYTES);
    ib_field_set(data, IB_PSRX_EXTENDED_WIDTH, 1);      /* 64 bits */
    for (i = 0; s && i < COUNTERS; i++) {
        ib_put_be64(data + IB_PSRX_COUNTER_OFFSET(i), sample_value(s, i));
    }
    if (s) {
        ib_field_set(data, IB_PSRX_TAG, s->tag);
        ib_field_set(data, IB_PSRX_SAMPLE_STATUS, s->status);
    }
    return 0;
}

void ib_sampler_save(const IbNode *node, uint8_t num, IbStateWriter *w)
{
    const IbSampler *s = node->ports[num].sampler;
    unsigned i;

    ib_state_put8(w, s != NULL);
    if (!s) {
        return;
    }
    ib_state_put32(w, s->start);
    ib_state_put32(w, s->interval);
    ib_state_put16(w, s->tag);
    ib_state_put8(w, s->status);
    ib_state_put64(w, s->deadline);
    ib_state_put64(w, s->order);
    for (i = 0; i < COUNTERS; i++) {
        ib_state_put16(w, s->select[i]);
        ib_state_put64(w, s->value[i]);
    }
}

void ib_sampler_load(IbNode *node, uint8_t num, IbStateReader *r)
{
    IbAgentPort *port = &node->ports[num];
    IbSampler *s;
    unsigned i;

    g_free(port->sampler);
    port->sampler = NULL;
    if (!ib_state_get8(r)) {
        return;
    }
    s = port->sampler = g_new0(IbSampler, 1);
    s->start = ib_state_get32(r);
    s->interval = ib_state_get32(r);
    s->tag = ib_state_get16(r);
    s->status = ib_state_get8(r);
    s->deadline = ib_state_get64(r);
    s->order = ib_state_get64(r);
    for (i = 0; i < COUNTERS; i++) {
        s->select[i] = ib_state_get16(r);
        s->value[i] = ib_state_get64(r);
    }
    if (s->status > IB_SAMPLE_RUNNING) {
        ib_state_fail(r);
    }
}
