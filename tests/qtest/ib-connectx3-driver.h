/*
 * A driver of a few lines for connectx3, for its tests
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Offsets and values are those of Linux 6.1's include/linux/mlx4/ and
 * drivers/net/ethernet/mellanox/mlx4 (fw.c, eq.c, cq.c, mr.c, qp.c), written
 * out here once more on purpose: the device has its own.
 */
#ifndef TESTS_QTEST_IB_CONNECTX3_DRIVER_H
#define TESTS_QTEST_IB_CONNECTX3_DRIVER_H

#include <glib/gstdio.h>
#include "libqtest.h"
#include "libqos/libqos-pc.h"
#include "libqos/pci-pc.h"
#include "qemu/bswap.h"
#include "qemu/cutils.h"
#include "qemu/host-utils.h"
#include "qobject/qdict.h"
#include "hw/infiniband/ib-bits.h"

#define GUID            0x0002c90300000010ULL
#define MEMORY_START    0x1000000
#define PAGE            4096
#define NOWHERE         0xfffff0000000ULL       /* no RAM there */

enum {
    QUERY_DEV_CAP = 0x003, QUERY_FW = 0x004, QUERY_ADAPTER = 0x006,
    INIT_HCA = 0x007, CLOSE_HCA = 0x008, INIT_PORT = 0x009,
    SET_PORT = 0x00c, SW2HW_MPT = 0x00d,
    HW2SW_MPT = 0x00f, MAP_EQ = 0x012, SW2HW_EQ = 0x013, HW2SW_EQ = 0x014,
    SW2HW_CQ = 0x016, HW2SW_CQ = 0x017, RST2INIT_QP = 0x019,
    INIT2RTR_QP = 0x01a, RTR2RTS_QP = 0x01b, TO_ERR_QP = 0x01e,
    TO_RST_QP = 0x021, QUERY_QP = 0x022, CONF_SPECIAL_QP = 0x023,
    MAD_IFC = 0x024, READ_MCG = 0x025, WRITE_MCG = 0x026, MGID_HASH = 0x027,
    MODIFY_CQ = 0x02c, SYNC_TPT = 0x02f, DIAG_RPRT = 0x030, NOP = 0x031,
    MOD_STAT_CFG = 0x034, QUERY_PORT = 0x043, RUN_FW = 0xff6,
    UNMAP_ICM = 0xff9, MAP_ICM = 0xffa, SET_ICM_SIZE = 0xffd, MAP_FA = 0xfff,
};

enum {
    ST_OK = 0x00, ST_BAD_OP = 0x02, ST_BAD_PARAM = 0x03,
    ST_BAD_SYS_STATE = 0x04, ST_BAD_RESOURCE = 0x05, ST_EXCEED_LIM = 0x08,
    ST_BAD_RES_STATE = 0x09, ST_BAD_INDEX = 0x0a, ST_ICM_ERROR = 0x0c,
    ST_BAD_QP_STATE = 0x10, ST_BAD_SIZE = 0x40,
};

/* Where the driver of this test puts things. */
enum {
    EQN = 1, CQN = 0x80, QPN = 0x40, PD = 5, PKEY_INDEX = 0,
    LOG_EQ = 3, LOG_CQ = 3, LOG_WQ = 3, LOG_STRIDE = 7, RQ_OFFSET = 8 * 128,
    KEY = 0x1100,               /* index 0x11 of the key table, variant 0 */
    QKEY = 0x12345678,
};
#define ICM_MTT   0x100000000ULL
#define ICM_MPT   0x200000000ULL

typedef struct Hca {
    QTestState *qts;
    QPCIBus *bus;
    QPCIDevice *dev;
    QPCIBar regs, uar;
    bool toggle;
    uint64_t out_param;
    /* Pages in guest memory */
    uint64_t memory, in, out, msi, eq, cq, wq, mtt, mpt, records, data;
    uint32_t eq_ci, cq_ci, sq_head, rq_head;
} Hca;

/* ----------------------------------------------------------- the driver */

static inline uint64_t hca_page(Hca *hca)
{
    hca->memory += PAGE;
    return hca->memory - PAGE;
}

static inline uint32_t reg_read(Hca *hca, uint64_t offset)
{
    uint8_t bytes[4];

    qpci_memread(hca->dev, hca->regs, offset, bytes, sizeof(bytes));
    return ib_get_be32(bytes);
}

static inline void reg_write(Hca *hca, uint64_t offset, uint32_t value)
{
    uint8_t bytes[4];

    ib_put_be32(bytes, value);
    qpci_memwrite(hca->dev, hca->regs, offset, bytes, sizeof(bytes));
}

static inline void uar_write32(Hca *hca, uint64_t offset, uint32_t value)
{
    uint8_t bytes[4];

    ib_put_be32(bytes, value);
    qpci_memwrite(hca->dev, hca->uar, offset, bytes, sizeof(bytes));
}

static inline void uar_write64(Hca *hca, uint64_t offset, uint64_t value)
{
    uint8_t bytes[8];

    ib_put_be64(bytes, value);
    qpci_memwrite(hca->dev, hca->uar, offset, bytes, sizeof(bytes));
}

static inline void post(Hca *hca, uint16_t opcode, uint8_t op_mod,
                        uint32_t in_mod, uint64_t in, uint64_t out,
                        uint16_t token, bool event)
{
    hca->toggle = !hca->toggle;
    reg_write(hca, 0x80680, in >> 32);
    reg_write(hca, 0x80684, in);
    reg_write(hca, 0x80688, in_mod);
    reg_write(hca, 0x8068c, out >> 32);
    reg_write(hca, 0x80690, out);
    reg_write(hca, 0x80694, token << 16);
    reg_write(hca, 0x80698, 1 << 23 | event << 22 | hca->toggle << 21 |
              op_mod << 12 | opcode);
}

/* Run a command as a driver that polls; returns its status. */
static inline uint8_t cmd(Hca *hca, uint16_t opcode, uint8_t op_mod,
                          uint32_t in_mod, uint64_t in, uint64_t out)
{
    uint32_t word;

    post(hca, opcode, op_mod, in_mod, in, out, 0xbeef, false);
    word = reg_read(hca, 0x80698);
    g_assert_cmphex(word & (1 << 23), ==, 0);
    g_assert_cmphex(word >> 21 & 1, ==, hca->toggle);
    hca->out_param = (uint64_t)reg_read(hca, 0x8068c) << 32 |
                     reg_read(hca, 0x80690);
    return word >> 24;
}

static inline void box_write(Hca *hca, const void *bytes, size_t len)
{
    qtest_memset(hca->qts, hca->in, 0, PAGE);
    qtest_memwrite(hca->qts, hca->in, bytes, len);
}

static inline uint8_t cmd_in(Hca *hca, uint16_t opcode, uint8_t op_mod,
                             uint32_t in_mod, const void *bytes, size_t len)
{
    box_write(hca, bytes, len);
    return cmd(hca, opcode, op_mod, in_mod, hca->in, 0);
}

static inline uint8_t cmd_out(Hca *hca, uint16_t opcode, uint8_t op_mod,
                              uint32_t in_mod, void *bytes, size_t len)
{
    uint8_t status = cmd(hca, opcode, op_mod, in_mod, 0, hca->out);

    qtest_memread(hca->qts, hca->out, bytes, len);
    return status;
}

static inline void hca_find(Hca *hca)
{
    hca->bus = qpci_new_pc(hca->qts, NULL);
    hca->dev = qpci_device_find(hca->bus, QPCI_DEVFN(4, 0));
    g_assert_nonnull(hca->dev);
    qpci_device_enable(hca->dev);
    hca->regs = qpci_iomap(hca->dev, 0, NULL);
    hca->uar = qpci_iomap(hca->dev, 2, NULL);
}

static inline void hca_start(Hca *hca, const char *more)
{
    *hca = (Hca) { .memory = MEMORY_START };
    hca->qts = qtest_initf("-M q35 -m 64 -nodefaults -device connectx3,"
                           "id=hca,addr=4,node-guid=0x%016" PRIx64
                           " -device pcie-root-port,id=rp0,addr=5 %s",
                           (uint64_t)GUID, more);
    hca_find(hca);
    hca->in = hca_page(hca);
    hca->out = hca_page(hca);
    hca->msi = hca_page(hca);
    hca->eq = hca_page(hca);
    hca->cq = hca_page(hca);
    hca->wq = hca_page(hca);
    hca->mtt = hca_page(hca);
    hca->mpt = hca_page(hca);
    hca->records = hca_page(hca);
    hca->data = hca_page(hca);
}

static inline void hca_end(Hca *hca)
{
    g_free(hca->dev);
    qpci_free_pc(hca->bus);
    qtest_quit(hca->qts);
}

static inline uint8_t map_icm(Hca *hca, uint64_t virt, uint64_t phys)
{
    uint8_t entry[16];

    ib_put_be64(entry, virt);
    ib_put_be64(entry + 8, phys);
    return cmd_in(hca, MAP_ICM, 0, 1, entry, sizeof(entry));
}

static inline void mtt_set(Hca *hca, unsigned index, uint64_t page)
{
    uint8_t entry[8];

    ib_put_be64(entry, page | 1);
    qtest_memwrite(hca->qts, hca->mtt + 8 * index, entry, sizeof(entry));
}

/* As far as INIT_HCA, with one page of page table and of key table. */
static inline void hca_init(Hca *hca)
{
    uint8_t box[0x200] = { 0 };

    g_assert_cmphex(cmd(hca, RUN_FW, 0, 0, 0, 0), ==, ST_OK);
    g_assert_cmphex(cmd(hca, SET_ICM_SIZE, 0, 0, 1 << 30, 0), ==, ST_OK);
    g_assert_cmpuint(hca->out_param, >=, 1);
    g_assert_cmphex(map_icm(hca, ICM_MTT, hca->mtt), ==, ST_OK);
    g_assert_cmphex(map_icm(hca, ICM_MPT, hca->mpt), ==, ST_OK);
    box[0] = 2;                             /* version */
    box[0xd3] = 10;                         /* log bytes of a group */
    box[0xd7] = 12;                         /* log hash */
    box[0xdb] = 13;
    ib_put_be64(box + 0xf0, ICM_MPT);
    box[0xfb] = 6;                          /* log keys: 64 fill the page */
    ib_put_be64(box + 0x100, ICM_MTT);
    g_assert_cmphex(cmd_in(hca, INIT_HCA, 0, 0, box, sizeof(box)), ==, ST_OK);
    mtt_set(hca, 0, hca->eq);
    mtt_set(hca, 1, hca->cq);
    mtt_set(hca, 2, hca->wq);
}

static inline void eq_context(uint8_t *box, uint8_t log_size,
                              uint32_t mtt_index)
{
    memset(box, 0, 64);
    ib_put_be32(box, 9 << 8);               /* armed */
    box[0x0c] = log_size;
    box[0x17] = 3;                          /* vector */
    ib_put_be32(box + 0x1c, mtt_index * 8);
}

static inline void eq_make(Hca *hca)
{
    uint8_t box[64];

    eq_context(box, LOG_EQ, 0);
    g_assert_cmphex(cmd_in(hca, SW2HW_EQ, 0, EQN, box, sizeof(box)), ==,
                    ST_OK);
    g_assert_cmphex(cmd(hca, MAP_EQ, 0, EQN, 0x1d1f46fe, 0), ==, ST_OK);
}

/* Vector 3 writes its number to a page of memory. */
static inline void msix_enable(Hca *hca)
{
    uint8_t entry[16] = { 0 };

    /* This maps BAR 0 anew. */
    qpci_msix_enable(hca->dev);
    hca->regs = hca->dev->msix_table_bar;
    /* The table has the byte order of PCI. */
    stl_le_p(entry, hca->msi);
    stl_le_p(entry + 8, 0x33);
    qpci_memwrite(hca->dev, hca->regs, 0x7c000 + 3 * 16, entry, 8);
    qpci_memwrite(hca->dev, hca->regs, 0x7c000 + 3 * 16 + 8, entry + 8, 8);
}

/* Did an interrupt come since the last call? */
static inline bool interrupted(Hca *hca)
{
    bool came = qtest_readl(hca->qts, hca->msi) == 0x33;

    qtest_writel(hca->qts, hca->msi, 0);
    return came;
}

/* The next event, if there is one; a driver reads these by the owner bit. */
static inline bool eq_next(Hca *hca, uint8_t eqe[32])
{
    uint32_t size = 1 << LOG_EQ;

    qtest_memread(hca->qts, hca->eq + 32 * (hca->eq_ci % size), eqe, 32);
    if (!!(eqe[31] & 0x80) != !!(hca->eq_ci & size)) {
        return false;
    }
    hca->eq_ci++;
    return true;
}

static inline void eq_arm(Hca *hca, bool arm)
{
    uar_write32(hca, (EQN / 4) * PAGE + 0x800 + 8 * (EQN % 4),
                (uint32_t)arm << 31 | hca->eq_ci);
}

static inline void cq_context(Hca *hca, uint8_t *box, uint8_t log_size)
{
    memset(box, 0, 64);
    ib_put_be32(box + 0x0c, (uint32_t)log_size << 24 | 128);
    box[0x17] = EQN;
    ib_put_be32(box + 0x1c, 1 * 8);
    ib_put_be64(box + 0x38, hca->records);
}

static inline void cq_make(Hca *hca)
{
    uint8_t box[64];

    cq_context(hca, box, LOG_CQ);
    g_assert_cmphex(cmd_in(hca, SW2HW_CQ, 0, CQN, box, sizeof(box)), ==,
                    ST_OK);
}

static inline bool cq_next(Hca *hca, uint8_t cqe[32])
{
    uint32_t size = 1 << LOG_CQ;
    uint8_t record[4];

    qtest_memread(hca->qts, hca->cq + 32 * (hca->cq_ci % size), cqe, 32);
    if (!!(cqe[31] & 0x80) != !!(hca->cq_ci & size)) {
        return false;
    }
    hca->cq_ci++;
    ib_put_be32(record, hca->cq_ci);
    qtest_memwrite(hca->qts, hca->records, record, sizeof(record));
    return true;
}

static inline void cq_arm(Hca *hca, uint8_t how)
{
    uar_write64(hca, 128 * PAGE + 0x20,
                (uint64_t)how << 56 | (uint64_t)CQN << 32 | hca->cq_ci);
}

/* A key for one page of memory, with all rights. */
static inline void mpt_entry(uint8_t *box, uint64_t start, uint64_t len,
                             uint32_t mtt_index)
{
    memset(box, 0, 64);
    /* software, MIO, all rights, a region */
    ib_put_be32(box, 0xf0000000 | 1 << 17 | 0x1f << 10 | 1 << 8);
    ib_put_be32(box + 8, KEY >> 8);
    ib_put_be32(box + 0x0c, PD);
    ib_put_be64(box + 0x10, start);
    ib_put_be64(box + 0x18, len);
    ib_put_be64(box + 0x2c, mtt_index * 8);
    ib_put_be32(box + 0x38, 12);
}

static inline void mr_make(Hca *hca)
{
    uint8_t box[64];

    mtt_set(hca, 3, hca->data);
    mpt_entry(box, 0x7000, PAGE, 3);
    g_assert_cmphex(cmd_in(hca, SW2HW_MPT, 0, KEY >> 8, box, sizeof(box)), ==,
                    ST_OK);
}

/*
 * A UD queue pair: send queue of 8 entries of 128 bytes, then a receive
 * queue of 8 entries of 32.
 */
static inline void qp_box(Hca *hca, uint8_t *box, uint32_t optpar)
{
    uint8_t *ctx = box + 8;

    memset(box, 0, 256);
    ib_put_be32(box, optpar);
    ib_put_be32(ctx, 3 << 16 | 3 << 11);    /* UD, migrated */
    ib_put_be32(ctx + 0x04, PD);
    ctx[0x08] = 5 << 5 | 13;                /* MTU 4096 */
    ctx[0x09] = LOG_WQ << 3 | (5 - 4);
    ctx[0x0a] = LOG_WQ << 3 | (LOG_STRIDE - 4);
    ib_put_be32(ctx + 0x0c, 128);
    ib_put_be32(ctx + 0x7c, CQN);
    ib_put_be32(ctx + 0x9c, CQN);
    ib_put_be64(ctx + 0xa0, hca->records + 64);
    ib_put_be32(ctx + 0xcc, 2 * 8);
    if (optpar & 1 << 5) {
        ib_put_be32(ctx + 0xa8, QKEY);
    }
}

static inline void sq_stamp(Hca *hca)
{
    int i;

    for (i = 0; i < 1 << LOG_WQ; i++) {
        qtest_writeb(hca->qts, hca->wq + i * 128, 0x80);
    }
}

static inline void qp_make(Hca *hca)
{
    uint8_t box[256];

    sq_stamp(hca);
    qp_box(hca, box, 1 << 5 | 1 << 4);      /* Q_Key, P_Key index */
    g_assert_cmphex(cmd_in(hca, RST2INIT_QP, 0, QPN, box, sizeof(box)), ==,
                    ST_OK);
    qp_box(hca, box, 0);
    g_assert_cmphex(cmd_in(hca, INIT2RTR_QP, 0, QPN, box, sizeof(box)), ==,
                    ST_OK);
    ib_put_be32(box + 8 + 0x78, 0x777);     /* send PSN */
    g_assert_cmphex(cmd_in(hca, RTR2RTS_QP, 0, QPN, box, sizeof(box)), ==,
                    ST_OK);
}

/* Receive into @len bytes at @va. */
static inline void recv_post(Hca *hca, uint64_t va, uint32_t len, uint32_t key)
{
    uint8_t wqe[32] = { 0 }, record[4];

    ib_put_be32(wqe, len);
    ib_put_be32(wqe + 4, key);
    ib_put_be64(wqe + 8, va);
    ib_put_be32(wqe + 20, 0x100);           /* ends the list */
    qtest_memwrite(hca->qts, hca->wq + RQ_OFFSET + hca->rq_head % 8 * 32, wqe,
                   sizeof(wqe));
    hca->rq_head++;
    ib_put_be32(record, hca->rq_head);
    qtest_memwrite(hca->qts, hca->records + 64, record, sizeof(record));
}

/* Give @wqe to the adapter and ring. */
static inline void send_post(Hca *hca, uint8_t *wqe, size_t len)
{
    wqe[0] = hca->sq_head & 8 ? 0x80 : 0;
    qtest_memwrite(hca->qts, hca->wq + hca->sq_head % 8 * 128, wqe, len);
    hca->sq_head++;
    uar_write32(hca, 128 * PAGE + 0x14, QPN << 8);
}

/* A datagram of @text, inline, to this QP itself within the adapter. */
static inline void ud_send(Hca *hca, uint8_t opcode, const char *text,
                           uint8_t flags)
{
    uint8_t wqe[128] = { 0 };
    size_t len = strlen(text);

    g_assert_cmpuint(len, <=, 60);
    wqe[3] = opcode;
    wqe[7] = 4 + DIV_ROUND_UP(4 + len, 16);
    wqe[0x0b] = flags;
    ib_put_be32(wqe + 0x0c, 0x11223344);    /* immediate */
    ib_put_be32(wqe + 0x10, 1u << 31 | 1 << 24 | PD);   /* loopback, port 1 */
    ib_put_be32(wqe + 0x1c, 3u << 28);      /* SL 3 */
    ib_put_be32(wqe + 0x30, QPN);
    ib_put_be32(wqe + 0x34, QKEY);
    ib_put_be32(wqe + 0x40, 1u << 31 | len);
    memcpy(wqe + 0x44, text, len);
    send_post(hca, wqe, sizeof(wqe));
}

/* ------------------------------------------------------------ migration */

static inline void wait_migrated(QTestState *qts)
{
    for (;;) {
        QDict *reply = qtest_qmp(qts, "{ 'execute': 'query-migrate' }");
        QDict *info = qdict_get_qdict(reply, "return");
        g_autofree char *status = g_strdup(qdict_get_try_str(info, "status"));

        qobject_unref(reply);
        g_assert_cmpstr(status, !=, "failed");
        if (!g_strcmp0(status, "completed")) {
            return;
        }
        g_usleep(10000);
    }
}

/* @to: the same guest in another process; @from stays to be ended. */
static inline void hca_migrate(Hca *from, Hca *to, const char *more)
{
    g_autofree char *dir = g_dir_make_tmp("connectx3-XXXXXX", NULL);
    g_autofree char *file = g_build_filename(dir, "state", NULL);
    g_autofree char *uri = g_strdup_printf("file:%s", file);

    qtest_qmp_assert_success(from->qts, "{ 'execute': 'migrate', 'arguments': "
                             "{ 'uri': %s } }", uri);
    wait_migrated(from->qts);
    *to = *from;
    to->qts = qtest_initf("-M q35 -m 64 -nodefaults -device connectx3,id=hca,"
                          "addr=4,node-guid=0x%016" PRIx64
                          " -device pcie-root-port,id=rp0,addr=5 %s"
                          " -incoming %s", (uint64_t)GUID, more, uri);
    wait_migrated(to->qts);
    to->bus = qpci_new_pc(to->qts, NULL);
    to->dev = qpci_device_find(to->bus, QPCI_DEVFN(4, 0));
    g_assert_nonnull(to->dev);
    g_unlink(file);
    g_rmdir(dir);
}

#endif
