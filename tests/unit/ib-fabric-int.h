/*
 * What the files of the fabric for unit tests share; see ib-fabric.h
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef TESTS_UNIT_IB_FABRIC_INT_H
#define TESTS_UNIT_IB_FABRIC_INT_H

#include "ib-fabric.h"

struct Fabric {
    int64_t now;
    uint32_t random;
    unsigned nodes;
    uint8_t host_vls;             /* 0: the default */
    bool direct;
    GPtrArray *switches, *hosts, *ends;
    GQueue frames;
};

uint32_t fabric_random(Fabric *f);
IbLinkConfig fabric_link_config(void);
void fabric_end_init(FabricEnd *end, Fabric *f, IbLink *link, uint8_t port);
IbCableResult fabric_end_send_frame(FabricEnd *end, const uint8_t *data,
                                    size_t len);
/* Give back the oldest packet that a slow host holds. */
void fabric_host_release(FabricHost *host);

#endif
