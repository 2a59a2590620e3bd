/*
 * ib-switch-pci: the mailbox, MADs of port 0 one at a time
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ib-switch-pci.h"
#include "hw/infiniband/ib-packet.h"
#include "qemu/bswap.h"

static const IbSwitchMail *mail_first(const IbSwitchPci *s)
{
    static const IbSwitchMail none;

    return s->mail_count ? &s->mail[s->mail_first] : &none;
}

bool ib_switch_mailbox_receive(IbSwitchPci *s, uint8_t in_port,
                               const IbPacket *packet)
{
    const uint8_t *data = packet->data;
    IbSwitchMail *mail;
    IbPacketInfo info;

    if (ib_packet_parse(data, packet->len, &info) != IB_PACKET_OK ||
        !info.deth || info.payload_len != IBSW_MAD_BYTES ||
        ib_field_get(data + info.bth, IB_BTH_DQPN) > IB_QPN_GSI) {
        return false;             /* only a ring takes other packets */
    }
    if (s->mail_count == IBSW_MBOX_RX_DEPTH) {
        s->mail_dropped++;
        ib_switch_pci_error(s, IBSW_ERROR_OVERRUN);
        return false;
    }
    mail = &s->mail[(s->mail_first + s->mail_count) % IBSW_MBOX_RX_DEPTH];
    s->mail_count++;
    mail->lids = ib_lrh_slid(data) |
                 (uint32_t)ib_lrh_dlid(data) << IBSW_LIDS_DLID_SHIFT;
    mail->info = in_port | ib_lrh_sl(data) << IBSW_INFO_SL_SHIFT |
                 (info.grh ? IBSW_INFO_GRH : 0) |
                 (ib_field_get(data + info.bth, IB_BTH_DQPN) ? IBSW_INFO_QP1
                                                             : 0);
    mail->qpn = ib_field_get(data + info.deth, IB_DETH_SQPN);
    mail->pkey = ib_field_get(data + info.bth, IB_BTH_PKEY);
    memcpy(mail->mad, data + info.payload, IBSW_MAD_BYTES);
    ib_switch_pci_raise(s, IBSW_INTR_MAILBOX);
    return true;
}

static void mailbox_send(IbSwitchPci *s)
{
    IbHostMad to = {
        .out_port = s->tx_route >> IBSW_ROUTE_PORT_SHIFT,
        .sl = (s->tx_route & IBSW_ROUTE_SL) >> IBSW_ROUTE_SL_SHIFT,
        .dlid = s->tx_route & IBSW_ROUTE_DLID,
        .pkey_index = s->tx_pkey,
        .dest_qpn = s->tx_qpn,
    };
    uint8_t mad[IBSW_MAD_BYTES];

    /* Of its own: the answer may come before the call returns. */
    memcpy(mad, s->tx_mad, sizeof(mad));
    s->tx_result = ib_switch_pci_result(ib_switch_send_mad(s->bay.sw, &to,
                                                           mad));
}

bool ib_switch_mailbox_read(IbSwitchPci *s, uint32_t addr, uint32_t *value)
{
    if (addr >= IBSW_MBOX_TX_MAD && addr < IBSW_MBOX_TX_MAD + IBSW_MAD_BYTES) {
        *value = ldl_le_p(s->tx_mad + (addr - IBSW_MBOX_TX_MAD));
        return true;
    }
    if (addr >= IBSW_MBOX_RX_MAD && addr < IBSW_MBOX_RX_MAD + IBSW_MAD_BYTES) {
        *value = ldl_le_p(mail_first(s)->mad + (addr - IBSW_MBOX_RX_MAD));
        return true;
    }
    switch (addr) {
    case IBSW_MBOX_TX_ROUTE:
        *value = s->tx_route;
        return true;
    case IBSW_MBOX_TX_QPN:
        *value = s->tx_qpn;
        return true;
    case IBSW_MBOX_TX_PKEY:
        *value = s->tx_pkey;
        return true;
    case IBSW_MBOX_TX_SEND:
    case IBSW_MBOX_RX_NEXT:
        *value = 0;
        return true;
    case IBSW_MBOX_TX_RESULT:
        *value = s->tx_result;
        return true;
    case IBSW_MBOX_RX_COUNT:
        *value = s->mail_count;
        return true;
    case IBSW_MBOX_RX_DROPPED:
        *value = s->mail_dropped;
        return true;
    case IBSW_MBOX_RX_LIDS:
        *value = mail_first(s)->lids;
        return true;
    case IBSW_MBOX_RX_INFO:
        *value = mail_first(s)->info;
        return true;
    case IBSW_MBOX_RX_QPN:
        *value = mail_first(s)->qpn;
        return true;
    case IBSW_MBOX_RX_PKEY:
        *value = mail_first(s)->pkey;
        return true;
    }
    return false;
}

bool ib_switch_mailbox_write(IbSwitchPci *s, uint32_t addr, uint32_t value,
                             uint32_t *error)
{
    if (addr >= IBSW_MBOX_TX_MAD && addr < IBSW_MBOX_TX_MAD + IBSW_MAD_BYTES) {
        stl_le_p(s->tx_mad + (addr - IBSW_MBOX_TX_MAD), value);
        return true;
    }
    switch (addr) {
    case IBSW_MBOX_TX_ROUTE:
        s->tx_route = value & (IBSW_ROUTE_DLID | IBSW_ROUTE_SL |
                               IBSW_ROUTE_BY_TABLE);
        return true;
    case IBSW_MBOX_TX_QPN:
        s->tx_qpn = value & IBSW_QPN_MASK;
        return true;
    case IBSW_MBOX_TX_PKEY:
        s->tx_pkey = value & IBSW_PKEY_MASK;
        return true;
    case IBSW_MBOX_TX_SEND:
        if (value & 1) {
            mailbox_send(s);
        }
        return true;
    case IBSW_MBOX_RX_NEXT:
        if (value & 1 && s->mail_count) {
            s->mail_first = (s->mail_first + 1) % IBSW_MBOX_RX_DEPTH;
            s->mail_count--;
        }
        return true;
    }
    return false;
}
