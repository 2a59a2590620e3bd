/*
 * What the files of a fabric share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef IB_FABRIC_INT_H
#define IB_FABRIC_INT_H

#include <string.h>
#include "hw/infiniband/ib-fabric.h"
#include "hw/infiniband/ib-mad.h"
#include "hw/infiniband/ib-packet.h"
#include "hw/infiniband/ib-pcap.h"
#include "hw/infiniband/ib-switch.h"

typedef struct IbTimer {
    int64_t deadline;
    unsigned place;               /* in the heap, plus 1; 0: not set */
    uint8_t port;                 /* of its unit; 0: the unit itself */
    struct IbUnit *unit;
} IbTimer;

typedef struct IbTimers {
    GPtrArray *heap;
} IbTimers;

void ib_timers_init(IbTimers *timers);
void ib_timers_clear(IbTimers *timers);
/* INT64_MAX: take it out. */
void ib_timers_set(IbTimers *timers, IbTimer *timer, int64_t deadline);
int64_t ib_timers_next(IbTimers *timers);
/* The first one that is due, no longer set, or NULL. */
IbTimer *ib_timers_pop(IbTimers *timers, int64_t now);

/* A port of a node with its end of a cable. */
typedef struct IbEnd {
    IbTimer timer;                /* has unit and port */
    IbLink *link;
    struct IbEnd *peer;           /* as in the file; NULL: no cable */
    bool plugged;                 /* the cable of the file is in */
    /* Not NULL: the cable goes out of the fabric instead. */
    const IbPlugOps *plug;
    void *plug_opaque;
    IbPcap *pcap;
} IbEnd;

/* A node: a switch, or a CA of agents only. */
typedef struct IbUnit {
    IbFabric *fabric;
    IbSwitch *sw;                 /* NULL: a CA or a router */
    IbNode *node;
    uint32_t index;
    uint8_t num_ports;
    uint8_t taken;                /* ports that cables out of here stand for */
    IbTimer timer;
    IbEnd *ends;                  /* 1..num_ports */
} IbUnit;

/* Frames under way, in the order sent. */
typedef struct IbFrames {
    uint8_t *data;                /* IbFrame after IbFrame */
    size_t used, size;
} IbFrames;

struct IbFabric {
    const IbTopology *topology;
    const IbFabricOps *ops;
    void *opaque;
    bool (*receive)(void *opaque, const IbFabricMad *mad);
    void *receive_opaque;
    IbUnit *units;
    IbTimers timers;
    IbFrames frames, spare;
    GHashTable *names;            /* ids, descriptions -> index + 1 */
    unsigned plugs, injected;     /* ends that have one */
    bool running;
    bool quiet;                   /* being made or freed: no ops->wake() */
};

/* A MAD of a unit's port for whoever manages through it. */
bool ib_unit_give(IbUnit *unit, const IbFabricMad *mad);
void ib_endpoint_init(IbUnit *unit, const IbTopologyNode *node);
void ib_endpoint_free(IbUnit *unit);
void ib_endpoint_send(IbUnit *unit, const IbFabricMad *mad);
/* The same of a switch: its port 0. */
bool ib_port0_host_receive(IbUnit *unit, uint8_t in_port,
                           const IbPacket *packet);
void ib_port0_send(IbUnit *unit, const IbFabricMad *mad);
/* The MAD of a packet that has one, without data to QPs that are not there. */
bool ib_fabric_mad(const IbPacket *packet, IbPacketInfo *info,
                   IbFabricMad *mad);

IbLinkConfig ib_fabric_link_config(const IbTopologyNode *node, uint8_t port);
void ib_fabric_link_enable(IbLink *link, const IbTopologyPort *port);

/* rate.c */
/* rate_width and rate_speed, if the comment behind a port line has them. */
void ib_topology_read_rate(IbTopologyPort *port, const char *comment);
/* This LinkWidthActive code and those of fewer lanes that go with it. */
uint8_t ib_fabric_widths(uint8_t width);
/* This speed (one bit, as in IbLinkConfig) and those below it. */
uint16_t ib_fabric_speeds(uint16_t speed);

int64_t ib_unit_now(IbUnit *unit);
uint32_t ib_unit_random(IbUnit *unit);
IbCableResult ib_end_send(IbEnd *end, const uint8_t *frame, size_t len);
void ib_end_set_timer(IbEnd *end, int64_t deadline);
void ib_end_tap(IbEnd *end, bool tx, const uint8_t *packet, size_t len,
                uint16_t vcrc);

#endif
