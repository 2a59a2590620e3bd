/*
 * connectx3 from the side of a driver that has lost its mind
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Commands, contexts, entries and doorbells that are almost right, in any
 * order.  Whatever the device answers, it has to answer soon, and to work
 * after a reset.  Run it with QEMU built under sanitizers (scripts/build-qemu
 * --asan) and other seeds (--seed) for more.
 */
#include "qemu/osdep.h"
#include "ib-connectx3-rc.h"

#define ROUNDS  4
#define STEPS   3000

static const uint16_t opcodes[] = {
    QUERY_DEV_CAP, QUERY_FW, QUERY_ADAPTER, INIT_HCA, INIT_PORT, SET_PORT,
    SW2HW_MPT, SW2HW_MPT, HW2SW_MPT, MAP_EQ, SW2HW_EQ, HW2SW_EQ,
    SW2HW_CQ, HW2SW_CQ, RST2INIT_QP, INIT2RTR_QP, RTR2RTS_QP, TO_ERR_QP,
    TO_RST_QP, QUERY_QP,
    CONF_SPECIAL_QP, MAD_IFC, READ_MCG, WRITE_MCG, MGID_HASH, MODIFY_CQ,
    SYNC_TPT, DIAG_RPRT, NOP, MOD_STAT_CFG, QUERY_PORT, RUN_FW, UNMAP_ICM,
    MAP_ICM, SET_ICM_SIZE, MAP_FA,
    CLOSE_HCA, 0x00a, 0x00b, 0x01c, 0x01d, 0x01f, 0x020, 0x02d, 0x035, 0x036,
    0x037, 0x038, 0x040, 0x05a, 0xff9, 0xffb, 0xffc, 0xffe,
};

static uint32_t any(uint32_t limit)
{
    return g_test_rand_int() & 0x7fffffff & (limit - 1);
}

/* Mostly a number that means something. */
static uint32_t any_number(void)
{
    static const uint32_t numbers[] = {
        0, 1, 2, EQN, CQN, QPN, KEY >> 8, 0x50, 0x41, 0x43,
        0x44 | XRC_TARGET, 0x200, 0x201, 0x202, 63, 64, 127,
        128, 0x1fff, 0xffff, 0x3ffff, 0x40000, 0xffffff, 0x80000000,
        0xffffffff, 0x80000000 | EQN, 1 << 8,
    };

    return any(8) ? numbers[any(1024) % ARRAY_SIZE(numbers)]
                  : (uint32_t)g_test_rand_int();
}

static uint64_t any_address(Hca *hca)
{
    switch (any(8)) {
    case 0:
        return NOWHERE;
    case 1:
        return hca->regs.addr + any(1 << 20);
    case 2:
        return (uint64_t)any(1 << 26);
    default:
        return MEMORY_START + any(16) * PAGE;
    }
}

static void spoil(uint8_t *bytes, size_t len)
{
    unsigned n = any(8);

    while (n--) {
        bytes[any(4096) % len] = any(4) ? any(256) : 0xff;
    }
}

static void any_box(Hca *hca, uint8_t *box, uint16_t opcode)
{
    memset(box, 0, 0x400);
    switch (opcode) {
    case SW2HW_EQ:
        eq_context(box, any(16), any(8));
        break;
    case SW2HW_CQ:
    case MODIFY_CQ:
        cq_context(hca, box, any(16));
        ib_put_be32(box + 0x1c, any(8) * 8);
        break;
    case SW2HW_MPT:
        mpt_entry(box, any_address(hca), any(1 << 16), any(8));
        if (any(2)) {
            /* A window, or a region that takes some. */
            ib_put_be32(box, (uint32_t)any(16) << 28 | any(64) << 10 |
                        any(2) << 8);
            ib_put_be32(box + 4, any(4) ? 1 << 7 : any_number());
            ib_put_be32(box + 8, any(64));
            ib_put_be32(box + 0x0c, PD | any(16) << 24);
        }
        break;
    case SW2HW_SRQ:
        ib_put_be32(box, any(16) << 24 | 0x50);
        box[4] = any(8);
        ib_put_be16(box + 6, any(2));
        ib_put_be32(box + 8, CQN);
        ib_put_be32(box + 0x14, any(16) * 8);
        ib_put_be32(box + 0x18, PD);
        ib_put_be64(box + 0x28, hca->records + any(64) * 16);
        break;
    case MAP_ICM:
    case MAP_FA:
        ib_put_be64(box, any(2) ? ICM_MTT : (uint64_t)any(1 << 30) << 12);
        ib_put_be64(box + 8, any_address(hca) | any(16));
        break;
    case INIT_HCA:
        box[0xd3] = 10;
        box[0xd7] = any(16);
        ib_put_be64(box + 0xf0, ICM_MPT);
        box[0xfb] = any(32);
        ib_put_be64(box + 0x100, ICM_MTT);
        break;
    case MAD_IFC:
        memcpy(box, "\x01\x01\x01\x01", 4);
        box[1] = any(2) ? 0x01 : any(2) ? 0x81 : 0x04;
        box[3] = any(4);
        ib_put_be16(box + 16, any(2) ? 0x10 + any(16) : any(1 << 16));
        ib_put_be32(box + 20, any_number());
        spoil(box + 64, 64);
        break;
    default:
        if (opcode >= RST2INIT_QP && opcode <= 0x038) {
            qp_box(hca, box, any(1 << 17));
            ib_put_be32(box + 8, any(8) << 16 | 3 << 11);
        } else {
            int i;

            for (i = 0; i < 64; i++) {
                box[i] = any(256);
            }
        }
        break;
    }
    if (any(2)) {
        spoil(box, 0x100);
    }
}

static void any_command(Hca *hca)
{
    uint8_t box[0x400];
    uint16_t opcode = any(32) ? opcodes[any(4096) % ARRAY_SIZE(opcodes)]
                              : any(1 << 12);

    if (opcode == CLOSE_HCA && any(16)) {
        return;                   /* all that follows would be refused */
    }
    any_box(hca, box, opcode);
    box_write(hca, box, sizeof(box));
    post(hca, opcode, any(4) ? 0 : any(16),
         opcode == MAP_ICM || opcode == MAP_FA ? any(4) : any_number(),
         any(8) ? hca->in : any_address(hca),
         any(8) ? hca->out : any_address(hca), any(1 << 16), any(2));
}

static void any_entry(Hca *hca)
{
    uint8_t wqe[128] = { 0 };

    wqe[3] = any(8) ? 0x0a : any(32);
    wqe[7] = any(8) ? 5 : any(64);
    ib_put_be32(wqe + 0x10, any(2) << 31 | 1 << 24 | PD);
    ib_put_be32(wqe + 0x30, any(2) ? QPN : 0xffffff);
    ib_put_be32(wqe + 0x34, QKEY);
    if (any(2)) {
        ib_put_be32(wqe + 0x40, 1u << 31 | any(any(8) ? 16 : 1 << 12));
    } else {
        ib_put_be32(wqe + 0x40, any(1 << 9));
        ib_put_be32(wqe + 0x44, any(16) ? KEY : any_number());
        ib_put_be64(wqe + 0x48, 0x7000 + any(PAGE / 2));
    }
    wqe[0x0b] = any(16);
    if (!any(16)) {
        spoil(wqe, sizeof(wqe));
    }
    send_post(hca, wqe, sizeof(wqe));
    if (any(2)) {
        recv_post(hca, 0x7000 + any(PAGE / 2), PAGE / 2,
                  any(16) ? KEY : any_number());
    }
}

/* An entry of a connection: data, or what changes keys. */
static void any_rc_entry(Rc *qp)
{
    static const uint8_t ops[] = {
        OP_SEND, OP_SEND_INV, OP_WRITE, OP_READ, OP_FETCH_ADD, OP_BIND,
        OP_FAST_REG, OP_LOCAL_INV, 0x14, 0x15, 0x09, 0x0b,
    };
    uint8_t op = any(32) ? ops[any(1024) % ARRAY_SIZE(ops)] : any(32);
    uint8_t wqe[128];
    unsigned i;

    rc_ctrl(wqe, op, SIGNALED | any(2) << 7 |
            (any(2) ? 0x50 : any_number()) << 8, any(8) ? 4 : any(64),
            any(2) ? KEY : any_number());
    for (i = 16; i < 64; i += 16) {
        ib_put_be64(wqe + i, any(4) ? 0x7000 + any(PAGE)
                                    : any_address(qp->hca));
        ib_put_be32(wqe + i + 8, any(2) ? KEY : any(64) << 8);
        ib_put_be32(wqe + i + 12, any(2) ? KEY : any(1 << 14));
    }
    if (op == OP_BIND) {
        ib_put_be32(wqe + 16, any(8) << 29);
        ib_put_be32(wqe + 20, (uint32_t)any(4) << 30);
        ib_put_be64(wqe + 32, 0x7000 + any(PAGE));
        ib_put_be64(wqe + 40, any(PAGE));
    } else if (op == OP_SEND || op == OP_SEND_INV) {
        put_data(wqe + 16, 0x7000 + any(PAGE / 2), any(PAGE), KEY);
        wqe[7] = 2;
    }
    if (!any(16)) {
        spoil(wqe, sizeof(wqe));
    }
    rc_put(qp, wqe);
    rc_ring(qp);
    if (any(2)) {
        rc_recv(qp, 0x7000 + any(PAGE / 2), PAGE / 2,
                any(16) ? KEY : any_number());
    }
}

static void any_doorbell(Hca *hca)
{
    uint64_t page = any(4) ? 128 : any(2048);

    switch (any(4)) {
    case 0:
        uar_write32(hca, page * PAGE + 0x14, any_number() << 8);
        break;
    case 1:
        uar_write64(hca, page * PAGE + 0x20,
                    (uint64_t)any_number() << 32 | any_number());
        break;
    case 2:
        uar_write32(hca, any(4) * PAGE + 0x800 + 8 * any(4), any_number());
        break;
    default:
        uar_write32(hca, page * PAGE + any(PAGE) / 4 * 4, any_number());
        break;
    }
}

/* Half of what is changed in its memory is a page table or a record. */
static void any_memory(Hca *hca)
{
    if (any(2)) {
        mtt_set(hca, any(8), any_address(hca));
    } else {
        qtest_writel(hca->qts, MEMORY_START + any(16) * PAGE +
                     any(PAGE) / 4 * 4, any_number());
    }
}

static void test_madness(void)
{
    uint8_t box[0x100];
    int round, i;
    uint64_t pages;
    Rc rc[4];
    Hca hca;

    hca_start(&hca, "");
    pages = hca.memory;
    for (round = 0; round < ROUNDS; round++) {
        for (i = 0; i < STEPS; i++) {
            if (i % 60 == 0) {
                /* Something that works, to be spoiled. */
                reg_write(&hca, 0xf0010, 1);
                hca.toggle = false;
                hca.eq_ci = hca.cq_ci = hca.sq_head = hca.rq_head = 0;
                hca.memory = pages;
                hca_init(&hca);
                eq_make(&hca);
                cq_make(&hca);
                mr_make(&hca);
                qp_make(&hca);
                lid_set(&hca);
                rc_pair(&hca, &rc[0], &rc[1]);
                rc_make(&rc[2], &hca, 0x43, 0x44 | XRC_TARGET, 6, 0, PD);
                rc_make(&rc[3], &hca, 0x44 | XRC_TARGET, 0x43, 6, 1, PD);
            }
            switch (any(8)) {
            case 0:
            case 1:
                any_entry(&hca);
                break;
            case 2:
                any_rc_entry(&rc[any(4)]);
                break;
            case 3:
                any_memory(&hca);
                break;
            case 4:
                any_doorbell(&hca);
                break;
            default:
                any_command(&hca);
                break;
            }
            cq_next(&hca, box);
            cq_next(&hca, box);
        }
        reg_write(&hca, 0xf0010, 1);
        hca.toggle = false;
        g_assert_cmphex(cmd_out(&hca, QUERY_FW, 0, 0, box, sizeof(box)), ==,
                        ST_OK);
        g_assert_cmpuint(ib_get_be16(box + 0x02), ==, 2);
    }
    hca_end(&hca);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/connectx3/madness", test_madness);
    return g_test_run();
}
