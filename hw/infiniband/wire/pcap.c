/*
 * Captures: pcap with ERF records of type INFINIBAND
 *
 * A record is the pcap record header, the 16-byte ERF header and the packet
 * from LRH to VCRC. The ERF timestamp is little-endian fixed point (seconds
 * in the upper, binary fraction in the lower 32 bits); the rest of the ERF
 * header is big-endian. (Endace ERF types reference; libpcap's
 * LINKTYPE_ERF.)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <stdio.h>
#include "hw/infiniband/ib-pcap.h"
#include "hw/infiniband/ib-bits.h"
#include "hw/infiniband/ib-crc.h"

#define PCAP_MAGIC_NS           0xa1b23c4du     /* nanosecond timestamps */
#define PCAP_HEADER_BYTES       24
#define PCAP_RECORD_BYTES       16
#define PCAP_LINKTYPE_ERF       197

#define ERF_BYTES               16
#define ERF_TYPE                IB_FIELD8(8, 7, 0)
#define ERF_FLAGS_VARLEN        IB_FIELD8(9, 2, 2)
#define ERF_FLAGS_INTERFACE     IB_FIELD8(9, 1, 0)
#define ERF_RLEN                IB_FIELD16(10, 15, 0)   /* header included */
#define ERF_LCTR                IB_FIELD16(12, 15, 0)   /* lost before it */
#define ERF_WLEN                IB_FIELD16(14, 15, 0)
#define ERF_TYPE_INFINIBAND     21

#define NS_PER_S                1000000000
#define PCAP_BUFFER_BYTES       (256 * 1024)

struct IbPcap {
    FILE *file;
    uint64_t lost;
    uint64_t lost_told;     /* already said in an lctr */
    bool broken;            /* a record may be torn: write no more */
};

static void put_le32(uint8_t *p, uint32_t v)
{
    v = GUINT32_TO_LE(v);
    memcpy(p, &v, sizeof(v));
}

IbPcap *ib_pcap_open(const char *path, char **err)
{
    uint8_t header[PCAP_HEADER_BYTES] = { 0 };
    IbPcap *pcap;
    FILE *file = fopen(path, "wbe");

    if (!file) {
        goto fail;
    }
    setvbuf(file, NULL, _IOFBF, PCAP_BUFFER_BYTES);
    put_le32(header, PCAP_MAGIC_NS);
    put_le32(header + 4, 2 | 4 << 16);      /* version 2.4 */
    put_le32(header + 16, G_MAXUINT16);     /* longest record */
    put_le32(header + 20, PCAP_LINKTYPE_ERF);
    if (fwrite(header, sizeof(header), 1, file) != 1 || fflush(file)) {
        goto fail;
    }
    pcap = g_new0(IbPcap, 1);
    pcap->file = file;
    return pcap;

fail:
    if (err) {
        *err = g_strdup_printf("cannot write capture '%s': %s", path,
                               g_strerror(errno));
    }
    if (file) {
        fclose(file);
    }
    return NULL;
}

bool ib_pcap_write_dir(IbPcap *pcap, IbPcapDir dir, int64_t ns,
                       const uint8_t *packet, size_t len, uint16_t vcrc)
{
    uint8_t head[PCAP_RECORD_BYTES + ERF_BYTES] = { 0 };
    uint8_t *erf = head + PCAP_RECORD_BYTES;
    uint8_t tail[IB_VCRC_BYTES];
    size_t wire = len + IB_VCRC_BYTES;
    uint32_t sec = ns / NS_PER_S;
    uint32_t frac = ns % NS_PER_S;

    if (pcap->broken || len == 0 || wire + ERF_BYTES > G_MAXUINT16) {
        pcap->lost++;
        return false;
    }

    put_le32(head, sec);
    put_le32(head + 4, frac);
    put_le32(head + 8, ERF_BYTES + wire);
    put_le32(head + 12, ERF_BYTES + wire);

    put_le32(erf, ((uint64_t)frac << 32) / NS_PER_S);
    put_le32(erf + 4, sec);
    ib_field_set(erf, ERF_TYPE, ERF_TYPE_INFINIBAND);
    ib_field_set(erf, ERF_FLAGS_VARLEN, 1);
    ib_field_set(erf, ERF_FLAGS_INTERFACE, dir);
    ib_field_set(erf, ERF_RLEN, ERF_BYTES + wire);
    ib_field_set(erf, ERF_LCTR, MIN(pcap->lost - pcap->lost_told,
                                    G_MAXUINT16));
    ib_field_set(erf, ERF_WLEN, wire);
    ib_put_be16(tail, vcrc);

    if (fwrite(head, sizeof(head), 1, pcap->file) != 1 ||
        fwrite(packet, len, 1, pcap->file) != 1 ||
        fwrite(tail, sizeof(tail), 1, pcap->file) != 1) {
        pcap->broken = true;
        pcap->lost++;
        return false;
    }
    pcap->lost_told = pcap->lost;
    return true;
}

void ib_pcap_flush(IbPcap *pcap)
{
    fflush(pcap->file);
}

uint64_t ib_pcap_lost(const IbPcap *pcap)
{
    return pcap->lost;
}

void ib_pcap_close(IbPcap *pcap)
{
    if (pcap) {
        fclose(pcap->file);
        g_free(pcap);
    }
}
