/*
 * A cable: one IbLink of a node, on a QEMU netdev
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ib-cable.h"
#include "hw/infiniband/ib-pcap.h"
#include "net/queue.h"
#include "qapi/error.h"
#include "qemu/error-report.h"

int64_t ib_cable_now(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_REALTIME);
}

static bool ib_cable_peer_down(IbCable *cable)
{
    NetClientState *peer = qemu_get_queue(cable->nic)->peer;

    return !peer || peer->link_down;
}

/*
 * A stream netdev that is to listen takes no frame, and does not survive one,
 * until it listens: for ever, if its address cannot be had.  What state it
 * is in it tells only in its info string.
 */
static bool ib_cable_netdev_ready(IbCable *cable, NetClientState *peer)
{
    if (G_LIKELY(cable->ready)) {
        return true;
    }
    if (peer->info->type == NET_CLIENT_DRIVER_STREAM && !peer->link_down &&
        (g_str_has_prefix(peer->info_str, "initializing") ||
         g_str_has_prefix(peer->info_str, "error") ||
         g_str_has_prefix(peer->info_str, "can't"))) {
        if (peer->info_str[0] != 'i' && !cable->warned) {
            cable->warned = true;
            warn_report("netdev %s: %s", peer->name, peer->info_str);
        }
        return false;
    }
    cable->ready = true;
    return true;
}

static ssize_t ib_cable_receive(NetClientState *nc, const uint8_t *frame,
                                size_t len)
{
    IbCable *cable = qemu_get_nic_opaque(nc);

    if (!cable->pulled) {
        ib_link_receive_frame(cable->link, frame, len);
        if (cable->received) {
            cable->received(cable->received_opaque);
        }
    }
    return len;
}

static void ib_cable_sent(NetClientState *nc, ssize_t len)
{
    IbCable *cable = qemu_get_nic_opaque(nc);

    cable->busy = false;
    if (cable->link) {
        ib_link_cable_ready(cable->link);
    }
}

/* There is a cable unless set_link or the property link= took it away. */
static void ib_cable_update(IbCable *cable, NetClientState *nc)
{
    /* A link whose state is still to arrive would greet its peer as new. */
    cable->waiting = runstate_check(RUN_STATE_INMIGRATE);
    if (cable->waiting) {
        return;
    }
    if (nc->link_down || cable->pulled) {
        ib_link_cable_detach(cable->link);
    } else {
        ib_link_cable_attach(cable->link);
    }
}

static void ib_cable_link_status(NetClientState *nc)
{
    IbCable *cable = qemu_get_nic_opaque(nc);

    ib_cable_update(cable, nc);
}

static void ib_cable_vm_state(void *opaque, bool running, RunState state)
{
    IbCable *cable = opaque;
    NetClientState *nc = qemu_get_queue(cable->nic);

    /*
     * QEMU has announced the NIC of a migrated machine with a frame that
     * waits in the netdev's queue, which is about to be flushed.
     */
    if (running && nc->peer && !ib_cable_netdev_ready(cable, nc->peer)) {
        qemu_purge_queued_packets(nc);
    }
    if (running && cable->waiting) {
        ib_cable_update(cable, nc);
    }
}

void ib_cable_pull(IbCable *cable, bool out)
{
    cable->pulled = out;
    if (cable->nic) {
        ib_cable_update(cable, qemu_get_queue(cable->nic));
    }
}

static NetClientInfo ib_cable_net_info = {
    .type = NET_CLIENT_DRIVER_NIC,
    .size = sizeof(NICState),
    .receive = ib_cable_receive,
    .link_status_changed = ib_cable_link_status,
};

/*
 * A stream netdev that lost its connection in mid-frame keeps our frame in its
 * queue, never asks for it again, and starts the next connection in the
 * middle of whatever is sent first.  Free the queue, and remember to send a
 * runt first, which costs the peer nothing but a count.
 */
static void ib_cable_check_peer(IbCable *cable)
{
    if (cable->busy && ib_cable_peer_down(cable)) {
        cable->stale = true;
        qemu_flush_or_purge_queued_packets(qemu_get_queue(cable->nic)->peer,
                                           true);
    }
}

IbCableResult ib_cable_send(IbCable *cable, const uint8_t *frame, size_t len)
{
    NetClientState *nc;

    if (!cable || !cable->nic || cable->busy) {
        return IB_CABLE_GONE;
    }
    nc = qemu_get_queue(cable->nic);
    if (!nc->peer || !ib_cable_netdev_ready(cable, nc->peer)) {
        return IB_CABLE_GONE;
    }
    if (cable->stale && !nc->peer->link_down) {
        static const uint8_t runt[1];

        cable->stale = false;
        qemu_send_packet(nc, runt, sizeof(runt));
    }
    /* Set first: the frame may be queued and sent within this call. */
    cable->busy = true;
    if (qemu_send_packet_async(nc, frame, len, ib_cable_sent) == 0) {
        return cable->busy ? IB_CABLE_BUSY : IB_CABLE_READY;
    }
    cable->busy = false;
    return IB_CABLE_READY;
}

void ib_cable_set_timer(IbCable *cable, int64_t deadline)
{
    if (!cable || !cable->timer || cable->deadline == deadline) {
        return;
    }
    cable->deadline = deadline;
    if (deadline == INT64_MAX) {
        timer_del(cable->timer);
    } else {
        timer_mod_ns(cable->timer, deadline);
    }
}

static void ib_cable_timer(void *opaque)
{
    IbCable *cable = opaque;

    cable->deadline = INT64_MAX;
    ib_cable_check_peer(cable);
    if (cable->pcap) {
        ib_pcap_flush(cable->pcap);
    }
    ib_link_timer(cable->link);
}

void ib_cable_tap(IbCable *cable, bool tx, const uint8_t *packet, size_t len,
                  uint16_t vcrc)
{
    if (cable && cable->pcap) {
        ib_pcap_write_dir(cable->pcap, tx ? IB_PCAP_SENT : IB_PCAP_RECEIVED,
                          qemu_clock_get_ns(QEMU_CLOCK_HOST), packet, len,
                          vcrc);
    }
}

bool ib_cable_capture(IbCable *cable, const char *path, Error **errp)
{
    g_autofree char *why = NULL;
    IbPcap *pcap = NULL;

    if (path && *path) {
        pcap = ib_pcap_open(path, &why);
        if (!pcap) {
            error_setg(errp, "pcap: cannot write '%s': %s", path, why);
            return false;
        }
    }
    ib_pcap_close(cable->pcap);
    cable->pcap = pcap;
    if (cable->link) {
        ib_link_set_tap(cable->link, pcap != NULL);
    }
    return true;
}

/* Nothing is asked of a link before a property is set. */
void ib_cable_inject(IbCable *cable)
{
    if (cable->link && cable->inject_set) {
        ib_link_set_inject(cable->link, &cable->inject);
    }
}

bool ib_cable_plug(IbCable *cable, DeviceState *dev, IbLink *link,
                   Error **errp)
{
    if (!cable->conf.peers.ncs[0]) {
        error_setg(errp, "netdev must name a -netdev that no other device "
                   "uses");
        return false;
    }
    cable->dev = dev;
    cable->link = link;
    if (!ib_cable_capture(cable, cable->pcap_path, errp)) {
        cable->link = NULL;
        return false;
    }
    ib_cable_inject(cable);
    cable->deadline = INT64_MAX;
    cable->timer = timer_new_ns(QEMU_CLOCK_REALTIME, ib_cable_timer, cable);
    cable->nic = ib_new_nic(&ib_cable_net_info, &cable->conf, dev, cable);
    /* Before the netdevs', whose priority is 0, when the machine starts. */
    cable->vm_state = qemu_add_vm_change_state_handler_prio(ib_cable_vm_state,
                                                            cable, -1);
    ib_cable_update(cable, qemu_get_queue(cable->nic));
    return true;
}

void ib_cable_unplug(IbCable *cable)
{
    if (!cable->link) {
        return;
    }
    qemu_del_vm_change_state_handler(cable->vm_state);
    ib_link_cable_detach(cable->link);
    if (cable->inject_set) {
        /* It was the cable that was bad. */
        ib_link_set_inject(cable->link, &(IbLinkInject) { 0 });
    }
    ib_cable_capture(cable, NULL, &error_abort);
    cable->link = NULL;
    timer_free(cable->timer);
    cable->timer = NULL;
    qemu_del_nic(cable->nic);
    cable->nic = NULL;
    cable->busy = false;
    cable->ready = false;
    cable->warned = false;
}
