/*
 * Capture files that Wireshark opens as they are
 *
 * A pcap file of link type 197 (ERF), each record an ERF record of type 21
 * (INFINIBAND): LRH to VCRC. One writer a file; not for the packet path of
 * a port that nobody captures.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_INFINIBAND_IB_PCAP_H
#define HW_INFINIBAND_IB_PCAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct IbPcap IbPcap;

/* Direction of a packet, kept in the interface bits of the ERF flags */
typedef enum IbPcapDir {
    IB_PCAP_RECEIVED = 0,   /* ERF interface 0 */
    IB_PCAP_SENT     = 1,   /* ERF interface 1 */
} IbPcapDir;

/*
 * ib_pcap_open: create or truncate @path and write the file header.
 * Returns NULL on failure with an allocated message in *@err (g_free) when
 * @err is not NULL.
 */
IbPcap *ib_pcap_open(const char *path, char **err);

/*
 * ib_pcap_write: append one packet.
 * @ns:     nanoseconds since the epoch
 * @packet: LRH to the end of ICRC, @len bytes (1 to 65535 - 18; others are
 *          refused)
 * @vcrc:   as returned by ib_vcrc(), or 0 when the cable carried none
 * Returns false when the record was not written; ib_pcap_lost() counts it. A
 * refused record is only left out; after an error of the file (disk full) no
 * more are written, so that what is there stays readable.
 */
bool ib_pcap_write_dir(IbPcap *pcap, IbPcapDir dir, int64_t ns,
                       const uint8_t *packet, size_t len, uint16_t vcrc);

/* ib_pcap_write: as above for a packet received */
static inline bool ib_pcap_write(IbPcap *pcap, int64_t ns,
                                 const uint8_t *packet, size_t len,
                                 uint16_t vcrc)
{
    return ib_pcap_write_dir(pcap, IB_PCAP_RECEIVED, ns, packet, len, vcrc);
}

/* ib_pcap_flush: hand buffered records to the operating system */
void ib_pcap_flush(IbPcap *pcap);

/* ib_pcap_lost: records refused or not written so far */
uint64_t ib_pcap_lost(const IbPcap *pcap);

/* ib_pcap_close: flush and free; NULL is allowed */
void ib_pcap_close(IbPcap *pcap);

#endif /* HW_INFINIBAND_IB_PCAP_H */
