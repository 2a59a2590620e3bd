/*
 * A cable: one IbLink of a node, on a QEMU netdev
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Between the plain-C link layer and QEMU's net layer: frames both ways with
 * back-pressure, the link's timer, and the capture.  The owner of the link
 * routes the link's ops (send_frame, set_timer, tap) to the cable in the port,
 * if there is one.  Time is QEMU_CLOCK_REALTIME: a peer in another process
 * shares no guest's clock.
 */
#ifndef HW_INFINIBAND_QEMU_IB_CABLE_H
#define HW_INFINIBAND_QEMU_IB_CABLE_H

#include "ib-compat.h"
#include "hw/infiniband/ib-link.h"
#include "qemu/timer.h"

typedef struct IbPcap IbPcap;

typedef struct IbCable {
    DeviceState *dev;             /* whose netdev it is */
    NICConf conf;                 /* the property netdev= sets conf.peers */
    IbLink *link;                 /* NULL while unplugged */
    NICState *nic;
    QEMUTimer *timer;
    int64_t deadline;
    bool ready;                   /* the netdev may be given frames */
    bool warned;                  /* ... and that it never will be was said */
    bool busy;                    /* the netdev holds a frame of ours */
    bool stale;                   /* it may hold the rest of a lost one */
    bool waiting;                 /* plugged in once the machine runs */
    VMChangeStateEntry *vm_state;
    bool pulled;                  /* by the property link= */
    IbLinkInject inject;          /* as its properties say */
    bool inject_set;              /* any of them was */
    char *pcap_path;
    IbPcap *pcap;
    /* May be NULL: the link has taken a frame; see to what that has moved. */
    void (*received)(void *opaque);
    void *received_opaque;
} IbCable;

/*
 * Plug @cable, the member of @dev that its netdev= property filled in, into
 * @link.  A cable without a netdev is an error of property netdev.
 */
bool ib_cable_plug(IbCable *cable, DeviceState *dev, IbLink *link,
                   Error **errp);
/* Pull it out: the link sees its cable gone.  Safe if never plugged. */
void ib_cable_unplug(IbCable *cable);

/* Pull the cable out of the cage, or plug it in again, as a person would. */
void ib_cable_pull(IbCable *cable, bool out);

/* For the ops of the link's owner; @cable may be NULL (an empty cage). */
IbCableResult ib_cable_send(IbCable *cable, const uint8_t *frame, size_t len);
void ib_cable_set_timer(IbCable *cable, int64_t deadline);
void ib_cable_tap(IbCable *cable, bool tx, const uint8_t *packet, size_t len,
                  uint16_t vcrc);
/* Capture to a new file at @path from now on; NULL or "" ends the capture. */
bool ib_cable_capture(IbCable *cable, const char *path, Error **errp);
/* The properties inject-* have changed. */
void ib_cable_inject(IbCable *cable);
/* ns of the clock that deadlines are in. */
int64_t ib_cable_now(void);

/*
 * Class properties of a device that has an IbCable at @offset: pcap (rw),
 * link (rw bool), inject-* (rw), and read-only state, phys-state, neighbor,
 * counters.
 */
void ib_cable_properties_add(ObjectClass *oc, size_t offset);

#endif
