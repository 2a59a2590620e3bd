/*
 * Requester of reliable queue pairs: what comes back, and what does not
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * IBA Vol.1 9.7.5.1 (responses), 9.7.5.2 (NAKs), 9.7.6 (retries), 9.7.7
 * (implied NAK).  All recovery is going back to the oldest PSN that is not
 * acknowledged.
 */
#include "rc.h"

/* IBA Vol.1 table 45: RNR NAK timer, in units of 10 us. */
static const uint32_t ib_rnr_delay[32] = {
    65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384,
    512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576,
    32768, 49152,
};

static void ib_rc_progress(IbQp *qp)
{
    IbRc *rc = qp->rc;

    rc->retries = qp->attr.retry_count;
    rc->rnr_retries = qp->attr.rnr_retry;
    rc->implied_once = false;
    if (!rc->cur && rc->count && rc->cur_sent < ib_rc_entry(rc, 0)->acked) {
        rc->cur_sent = ib_rc_entry(rc, 0)->acked;
    }
    ib_rc_arm_timer(qp);
    ib_qp_ready(qp);
}

/* Go back, unless that was done too often without any progress. */
static void ib_rc_retry(IbQp *qp)
{
    IbRc *rc = qp->rc;

    if (!rc->retries) {
        if (ib_rc_migrate(qp)) {
            rc->retries = qp->attr.retry_count;
        } else {
            ib_rc_fail_head(qp, IB_WC_RETRY_EXC_ERR);
            return;
        }
    } else {
        rc->retries--;
    }
    ib_rc_go_back(qp);
    ib_rc_arm_timer(qp);
}

/*
 * The next @n PSNs are acknowledged.  False: not all of them, since one was
 * that of a read or atomic whose response is lost; or the QP is in ERR.
 */
static bool ib_rc_acknowledge(IbQp *qp, uint32_t n)
{
    IbRc *rc = qp->rc;
    bool progress = false;
    IbRcEntry *entry;
    uint32_t step;

    while (n && rc->count) {
        entry = ib_rc_entry(rc, 0);
        if (!entry->packets) {
            break;
        }
        if (ib_rc_is_read(entry->opcode)) {
            if (progress) {
                ib_rc_progress(qp);
            }
            /* All that were sent behind it tell the same: once is enough. */
            if (!rc->implied_once) {
                ib_rc_retry(qp);
                rc->implied_once = true;
            }
            return false;
        }
        step = MIN(n, entry->packets - entry->acked);
        entry->acked += step;
        rc->una = ib_psn_add(rc->una, step);
        n -= step;
        progress = true;
        if (ib_rc_complete_head(qp)) {
            return false;
        }
    }
    if (progress) {
        ib_rc_progress(qp);
    }
    return !n;
}

static void ib_rc_rnr(IbQp *qp, uint8_t code)
{
    IbRc *rc = qp->rc;

    if (qp->attr.rnr_retry != 7) {
        if (!rc->rnr_retries) {
            ib_rc_fail_head(qp, IB_WC_RNR_RETRY_EXC_ERR);
            return;
        }
        rc->rnr_retries--;
    }
    ib_rc_go_back(qp);
    rc->rnr_wait = true;
    ib_qp_set_deadline(qp, qp->hca->ops->now(qp->hca->opaque) +
                           ib_rnr_delay[code & 31] * INT64_C(10000));
}

static void ib_rc_receive_ack(IbQp *qp, const IbRx *rx, uint32_t ahead)
{
    const uint8_t *aeth = rx->data + rx->info.aeth;
    uint8_t value = ib_field_get(aeth, IB_AETH_VALUE);

    switch (ib_field_get(aeth, IB_AETH_KIND)) {
    case IB_AETH_KIND_ACK:
        ib_rc_acknowledge(qp, ahead + 1);
        return;
    case IB_AETH_KIND_RNR_NAK:
        if (ib_rc_acknowledge(qp, ahead)) {
            ib_rc_rnr(qp, value);
        }
        return;
    case IB_AETH_KIND_NAK:
        break;
    default:
        ib_rx_discard(rx, IB_DISCARD_MALFORMED);
        return;
    }
    if (!ib_rc_acknowledge(qp, ahead)) {
        return;
    }
    switch (value) {
    case IB_NAK_PSN_SEQUENCE:
        ib_rc_retry(qp);
        break;
    case IB_NAK_REMOTE_ACCESS:
        ib_rc_fail_head(qp, IB_WC_REM_ACCESS_ERR);
        break;
    case IB_NAK_REMOTE_OPERATION:
        ib_rc_fail_head(qp, IB_WC_REM_OP_ERR);
        break;
    case IB_NAK_INVALID_REQUEST:
    case IB_NAK_INVALID_RD_REQUEST:
        ib_rc_fail_head(qp, IB_WC_REM_INV_REQ_ERR);
        break;
    default:
        ib_rx_discard(rx, IB_DISCARD_MALFORMED);
        break;
    }
}

/* A response with data for the read or atomic at the head. */
static void ib_rc_receive_data(IbQp *qp, const IbRx *rx, bool atomic)
{
    IbHca *hca = qp->hca;
    IbRc *rc = qp->rc;
    IbRcEntry *entry = rc->count ? ib_rc_entry(rc, 0) : NULL;
    const uint8_t *from = rx->data + rx->info.payload;
    uint32_t mtu = ib_rc_mtu(qp);
    uint32_t bytes = rx->info.payload_len;
    uint64_t offset, word;
    IbWcStatus status;

    if (!entry || !entry->packets || !ib_rc_is_read(entry->opcode) ||
        atomic != (entry->opcode != IB_WR_RDMA_READ)) {
        ib_rc_fail_head(qp, IB_WC_BAD_RESP_ERR);
        return;
    }
    offset = (uint64_t)entry->acked * mtu;
    if (atomic) {
        word = GUINT64_TO_LE(ib_get_be64(rx->data + rx->info.atomicacketh));
        from = (const uint8_t *)&word;
        bytes = sizeof(word);
    } else if (bytes != MIN(mtu, entry->len - offset)) {
        ib_rc_fail_head(qp, IB_WC_BAD_RESP_ERR);
        return;
    }
    if (ib_qp_fetch_again(qp, entry->id) != IB_PULL_OK) {
        ib_rc_fail_head(qp, IB_WC_LOC_QP_OP_ERR);
        return;
    }
    status = ib_sge_scatter(qp, hca->wr.sge, hca->wr.num_sge, offset, from,
                            bytes);
    if (status != IB_WC_SUCCESS) {
        ib_rc_fail_head(qp, status);
        return;
    }
    entry->acked++;
    rc->una = ib_psn_add(rc->una, 1);
    if (!ib_rc_complete_head(qp)) {
        ib_rc_progress(qp);
    }
}

void ib_rc_receive_response(IbQp *qp, const IbRx *rx)
{
    IbRc *rc = qp->rc;
    uint32_t psn = ib_field_get(rx->data + rx->info.bth, IB_BTH_PSN);
    int32_t ahead = ib_psn_diff(psn, rc->una);

    if (qp->state != IB_QPS_RTS && qp->state != IB_QPS_SQD) {
        ib_rx_discard(rx, IB_DISCARD_QP_STATE);
        return;
    }
    if (ahead < 0 || ib_psn_diff(psn, rc->sent_psn) >= 0) {
        ib_rx_discard(rx, IB_DISCARD_PSN);
        return;
    }
    switch (rx->info.opcode & ~IB_SERVICE_MASK) {
    case IB_OP_ACK:
        ib_rc_receive_ack(qp, rx, ahead);
        break;
    case IB_OP_RDMA_READ_RESP_FIRST:
    case IB_OP_RDMA_READ_RESP_MIDDLE:
    case IB_OP_RDMA_READ_RESP_LAST:
    case IB_OP_RDMA_READ_RESP_ONLY:
        if (ib_rc_acknowledge(qp, ahead)) {
            ib_rc_receive_data(qp, rx, false);
        }
        break;
    case IB_OP_ATOMIC_ACK:
        if (ib_rc_acknowledge(qp, ahead)) {
            ib_rc_receive_data(qp, rx, true);
        }
        break;
    default:
        ib_rx_discard(rx, IB_DISCARD_SERVICE);
        break;
    }
}

void ib_rc_timeout(IbQp *qp)
{
    IbRc *rc = qp->rc;

    if (qp->state != IB_QPS_RTS && qp->state != IB_QPS_SQD) {
        return;
    }
    if (rc->rnr_wait) {
        rc->rnr_wait = false;
        ib_rc_arm_timer(qp);
        ib_qp_ready(qp);
    } else if (rc->una != rc->sent_psn) {
        rc->implied_once = false;
        ib_rc_retry(qp);
    }
}
