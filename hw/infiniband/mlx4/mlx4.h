/*
 * ConnectX-3: what the files of mlx4/ share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * connectx3.c  the QEMU device: properties, realize, reset
 * bar.c        registers, command register, doorbells
 * cmd.c        the table of commands
 * dev-cap.c    what the adapter says it is; INIT_HCA
 * port.c       ports and the management agents behind MAD_IFC
 * icm.c        context memory lent by the driver; rings in guest memory
 * mpt.c        memory keys: lookup and commands
 * memory.c     data by key: read, write, check, atomics
 * eq.c cq.c    events and interrupts, completions
 * qp.c         queue pair contexts and transitions
 * srq.c        shared receive queues
 * wqe-send.c wqe-recv.c   work queue entries to work requests
 * mcg.c        multicast groups
 * engine.c     the table of functions that the engine (ib-hca.h) calls
 * state.c      migration
 *
 * Nothing that a guest gives is trusted: numbers are checked against the
 * tables here, addresses by DMA that reaches only RAM.  Contexts live in the
 * device; only memory keys and page tables are in the memory that the driver
 * lends (ICM), because the driver writes them there itself.
 */
#ifndef HW_INFINIBAND_MLX4_H
#define HW_INFINIBAND_MLX4_H

#include "../qemu/ib-devices.h"
#include "../qemu/ib-props.h"
#include "hw/infiniband/ib-hca.h"
#include "hw/infiniband/ib-packet.h"
#include "hw/infiniband/ib-state.h"
#include "mlx4-hw.h"
#include "qemu/log.h"
#include "qemu/queue.h"

#define TYPE_CONNECTX3 "connectx3"
OBJECT_DECLARE_SIMPLE_TYPE(Mlx4State, CONNECTX3)

/* Capacities, told by QUERY_DEV_CAP. */
#define MLX4_LOG_QPS       18
#define MLX4_LOG_SRQS      16
#define MLX4_LOG_XRCDS     16
#define MLX4_LOG_CQS       16
#define MLX4_LOG_CQES      22
#define MLX4_LOG_EQS       7
#define MLX4_LOG_EQES      20         /* most entries of an EQ */
#define MLX4_LOG_MPTS      19
#define MLX4_LOG_MCGS      13
#define MLX4_LOG_MC_ENTRY  10         /* bytes of an entry, at most */
#define MLX4_VECTORS       64
#define MLX4_LOG_GIDS      3
#define MLX4_LOG_PKEYS     5
#define MLX4_MAX_WQE       2048       /* what a context's stride can say */
#define MLX4_LOG_RD_ATOMIC 4          /* of a responder */
#define MLX4_LOG_RD_REQUESTS 7        /* of a requester */
#define MLX4_LOG_MIN_PAGE  9          /* of a memory region */

/* Pages of ICM that a driver may lend: 4 GiB in all. */
#define MLX4_ICM_MAX_PAGES (1 << 20)

#define MLX4_MPT_CACHE     1024       /* direct-mapped; a power of two */

/* A buffer in guest memory behind a run of MTT entries. */
typedef struct Mlx4Ring {
    uint64_t mtt;                 /* offset of the run in the MTT */
    uint8_t page_shift;
    bool cached;                  /* @bus is where page @page is */
    uint64_t page, bus;
} Mlx4Ring;

typedef struct Mlx4Eq {
    uint8_t ctx[MLX4_EQC_BYTES];
    Mlx4Ring ring;
    uint32_t eqn, size;
    uint32_t pi, ci;              /* producer, consumer index, 24 bits used */
    bool armed;
    uint64_t lost;                /* events for which there was no room */
} Mlx4Eq;

typedef struct Mlx4Cq {
    uint8_t ctx[MLX4_CQC_BYTES];
    Mlx4Ring ring;
    uint32_t cqn, size;
    uint32_t pi, ci;              /* @ci as last seen */
    uint32_t solicited_pi;        /* one past the last solicited or failed */
    uint8_t arm;                  /* MLX4_DB_CQ_*, 0 = not armed */
    bool failed;                  /* overrun or fault: takes no more */
    uint16_t held;                /* completions that moderation holds back */
    int64_t due;                  /* ... no longer than this */
    QTAILQ_ENTRY(Mlx4Cq) held_link;
} Mlx4Cq;

typedef struct Mlx4Srq {
    uint8_t ctx[MLX4_SRQC_BYTES];
    Mlx4Ring ring;
    uint32_t srqn;
    uint32_t entries;
    uint16_t next;                /* index of the entry to take next */
    uint16_t taken;               /* running count of those taken */
    uint16_t posted;              /* the record, as last read */
    uint16_t limit;               /* armed if not 0 */
    bool failed;
} Mlx4Srq;

typedef struct Mlx4Qp {
    Mlx4State *s;
    uint32_t qpn;
    IbQp *ib;
    uint8_t ctx[MLX4_QPC_BYTES];
    Mlx4Ring sq_ring, rq_ring;
    uint32_t sq_offset, rq_offset;        /* in the buffer */
    uint8_t sq_stride_shift, rq_stride_shift;
    uint32_t sq_entries, rq_entries;      /* 0: there is no such queue */
    uint16_t sq_next;             /* counter of the entry to take next */
    uint16_t rq_next;
    uint16_t rq_posted;           /* the record, as last read */
    bool sqd_event;               /* RTS2SQD asked to be told */
    uint32_t xrc_pd;              /* of the SRQ that the engine selected */
    QTAILQ_ENTRY(Mlx4Qp) err_link;
    bool in_err;                  /* on the list of QPs to be flushed */
} Mlx4Qp;

typedef struct Mlx4Mpt {
    bool cached;
    uint32_t index, key, pd;
    uint8_t status;               /* MLX4_MPT_STATUS_* */
    uint8_t rights;               /* IB_ACCESS_* */
    bool local_read, physical, region, fast_reg, remote_inv, bind_enable;
    bool bound_qp;                /* window type 2 */
    uint32_t qpn;                 /* ... and the QP that bound it */
    uint32_t lkey;                /* window: region it is bound to; 0: none */
    uint8_t page_shift;
    uint64_t start, length;
    uint64_t mtt;                 /* window: its start in the region */
    uint32_t mtt_count;
} Mlx4Mpt;

typedef struct Mlx4IcmChunk Mlx4IcmChunk;

struct Mlx4State {
    PCIDevice parent_obj;
    MemoryRegion bar0, uar;

    /* Properties */
    IbCable cable;                /* of port 1 */
    IbGuid node_guid, port_guid, system_guid;
    char *description;
    uint8_t ports;
    bool blueflame;
    IbLinkProps link;

    IbHca *hca;
    IbHcaConfig config;
    IbCable *cables[IB_HCA_MAX_PORTS + 1];
    QEMUTimer *timer;             /* the engine's */
    QEMUTimer *work_timer;        /* flush of QPs in ERR, failed CQs */
    QEMUTimer *cq_timer;          /* events that moderation holds back */
    uint64_t irq_pending;         /* MSI-X vectors to raise at batch end */
    bool notifying;               /* an MSI-X message is being written */
    bool traced;
    bool cq_failed;               /* mlx4_cq_work() has something to do */

    /* Registers */
    uint8_t hcr[MLX4_HCR_BYTES];
    uint32_t catas[MLX4_CATAS_DWORDS];
    bool intx;
    uint32_t cq_arm_high;

    /* Since INIT_HCA */
    bool running;
    uint64_t mtt_base, dmpt_base;
    uint32_t num_mpts;
    uint8_t log_mc_hash;
    uint32_t mc_entry_bytes;
    bool big_endian_host;

    uint32_t special_base;        /* QPN of QP0 of port 1; 0 = none */
    uint16_t event_eq[64];        /* event type to EQN + 1; 0 = nowhere */

    GHashTable *icm;              /* virtual / 256 KiB to Mlx4IcmChunk */
    Mlx4IcmChunk *icm_last;
    uint32_t icm_pages;
    Mlx4Mpt mpt_cache[MLX4_MPT_CACHE];

    /* By number, NULL where there is none */
    Mlx4Eq *eqs[1 << MLX4_LOG_EQS];
    Mlx4Cq **cqs;
    Mlx4Srq **srqs;
    Mlx4Qp **qps;
    uint8_t **mcgs;
    QTAILQ_HEAD(, Mlx4Qp) err_qps;
    QTAILQ_HEAD(, Mlx4Cq) held_cqs;

    /* The send entry last parsed: inline data points here until the next. */
    uint8_t wqe[MLX4_MAX_WQE];

    uint8_t cmd_in[MLX4_MAILBOX_BYTES], cmd_out[MLX4_MAILBOX_BYTES];

    /* The state as migrated */
    uint32_t saved_size;
    uint8_t *saved;
};

#define mlx4_guest_error(fmt, ...)                                        \
    qemu_log_mask(LOG_GUEST_ERROR, "connectx3: " fmt "\n", ## __VA_ARGS__)
#define mlx4_unimp(fmt, ...)                                              \
    qemu_log_mask(LOG_UNIMP, "connectx3: " fmt "\n", ## __VA_ARGS__)

/* --------------------------------------------------------------- connectx3 */

static inline uint8_t mlx4_num_ports(const Mlx4State *s)
{
    return s->config.node.num_ports;
}

/* All that a driver did is forgotten; what a person configured stays. */
void mlx4_reset(Mlx4State *s);
/* Have the work timer run as soon as the current call chain is over. */
void mlx4_work_soon(Mlx4State *s);

/* --------------------------------------------------------------------- bar */

void mlx4_bars_init(Mlx4State *s);

/* Pages of doorbells that a driver may give to processes. */
static inline uint32_t mlx4_uar_pages(const Mlx4State *s)
{
    return (1 << MLX4_UAR_LOG_BYTES >> s->blueflame) / MLX4_UAR_PAGE;
}

/* --------------------------------------------------------------------- cmd */

/* A command in execution. */
typedef struct Mlx4Cmd {
    uint16_t opcode;
    uint8_t op_mod;
    uint32_t in_mod;
    uint64_t in_param;            /* immediate, or the mailbox's bus address */
    uint64_t out_param;           /* likewise; a handler sets an immediate */
    const uint8_t *in;            /* the mailbox as read, as the row says */
    uint8_t *out;                 /* zeros; written back when status is OK */
} Mlx4Cmd;

typedef Mlx4Status Mlx4CmdHandler(Mlx4State *s, Mlx4Cmd *cmd);

/* Run what is in the command register; raises what it completes. */
void mlx4_cmd_run(Mlx4State *s);

/* ----------------------------------------------------- dev-cap, port */

extern const IbFirmware mlx4_firmware;

Mlx4CmdHandler mlx4_cmd_query_fw, mlx4_cmd_query_dev_cap,
    mlx4_cmd_query_adapter, mlx4_cmd_init_hca, mlx4_cmd_close_hca,
    mlx4_cmd_query_hca, mlx4_cmd_mod_stat_cfg, mlx4_cmd_diag_rprt;
Mlx4CmdHandler mlx4_cmd_query_port, mlx4_cmd_init_port, mlx4_cmd_close_port,
    mlx4_cmd_set_port, mlx4_cmd_set_node, mlx4_cmd_mad_ifc,
    mlx4_cmd_conf_special_qp;

/* The port's link became or is no longer active: tell the driver. */
void mlx4_port_state_changed(Mlx4State *s, uint8_t port, uint8_t old_state,
                             uint8_t new_state);

/* --------------------------------------------------------------------- icm */

Mlx4CmdHandler mlx4_cmd_map_fa, mlx4_cmd_set_icm_size, mlx4_cmd_map_icm,
    mlx4_cmd_unmap_icm;

void mlx4_icm_init(Mlx4State *s);
void mlx4_icm_reset(Mlx4State *s);
/* Bytes at an ICM address; false where nothing (that answers) is mapped. */
bool mlx4_icm_read(Mlx4State *s, uint64_t virt, void *to, size_t len);
bool mlx4_icm_write(Mlx4State *s, uint64_t virt, const void *from,
                    size_t len);
void mlx4_icm_save(Mlx4State *s, IbStateWriter *w);
bool mlx4_icm_load(Mlx4State *s, IbStateReader *r);

/* Guest RAM by bus address (never MMIO); false on a fault. */
bool mlx4_dma_read(Mlx4State *s, uint64_t bus, void *to, size_t len);
bool mlx4_dma_write(Mlx4State *s, uint64_t bus, const void *from, size_t len);

/* Bus address of page @page of a run of MTT entries. */
bool mlx4_mtt_page(Mlx4State *s, uint64_t mtt, uint64_t page, uint64_t *bus);

/* @mtt_hi, @mtt_lo, @log_page: as the contexts have them. */
void mlx4_ring_init(Mlx4Ring *ring, uint8_t mtt_hi, uint32_t mtt_lo,
                    uint8_t log_page);
bool mlx4_ring_read(Mlx4State *s, Mlx4Ring *ring, uint64_t offset, void *to,
                    size_t len);
bool mlx4_ring_write(Mlx4State *s, Mlx4Ring *ring, uint64_t offset,
                     const void *from, size_t len);
/*
 * An entry whose last byte gives it to software: the bytes, a barrier, the
 * last byte.  Entries are powers of two, so they never cross a page.
 */
bool mlx4_ring_publish(Mlx4State *s, Mlx4Ring *ring, uint64_t offset,
                       const uint8_t *entry, size_t len);
/*
 * Make all @size entries of @len bytes the adapter's, for the positions
 * @first to @first + @size - 1: zeros, and in the last byte the owner bit of
 * the lap before.
 */
bool mlx4_ring_set_owner(Mlx4State *s, Mlx4Ring *ring, uint32_t first,
                         uint32_t size, size_t len);

/* --------------------------------------------------------- mpt, mw, memory */

Mlx4CmdHandler mlx4_cmd_sw2hw_mpt, mlx4_cmd_hw2sw_mpt, mlx4_cmd_sync_tpt;

void mlx4_mpt_forget_all(Mlx4State *s);
/*
 * The entry of @key; NULL unless its full key is @key and a driver gave it to
 * hardware.  Valid until the next lookup.
 */
Mlx4Mpt *mlx4_mpt_find(Mlx4State *s, uint32_t key);
/* The entry whose index is that of @key, whoever has it; NULL: ICM fault. */
Mlx4Mpt *mlx4_mpt_of_index(Mlx4State *s, uint32_t key);
/* Where entry @index is in ICM. */
uint64_t mlx4_mpt_virt(Mlx4State *s, uint32_t index);
/* Replace the whole entry. */
bool mlx4_mpt_rewrite(Mlx4State *s, uint32_t index, const uint8_t *raw);
IbWcStatus mlx4_mpt_local_op(Mlx4State *s, Mlx4Qp *qp, const uint8_t *wqe,
                             size_t len);
IbMemResult mlx4_mpt_invalidate(Mlx4State *s, Mlx4Qp *qp, uint32_t rkey,
                                bool remote);

/* A key of work requests as entries have it: index in the low bits. */
static inline uint32_t mlx4_key_rotate(uint32_t key)
{
    return key >> 8 | key << 24;
}

/* One window more or less on the region with this key; 0: on none. */
void mlx4_mw_count(Mlx4State *s, uint32_t lkey, int by);
/* IB_WR_LOCAL: bind a window. */
IbWcStatus mlx4_mw_bind(Mlx4State *s, Mlx4Qp *qp, const uint8_t *seg);
/*
 * The region behind a window for @qp, and in *@va the address there; @window
 * is no pointer into the cache.  NULL: *@why not.
 */
Mlx4Mpt *mlx4_mw_region(Mlx4State *s, Mlx4Qp *qp, const Mlx4Mpt *window,
                        uint64_t *va, uint64_t len, const char **why);

IbMemResult mlx4_mem_read(Mlx4State *s, Mlx4Qp *qp, uint32_t key, uint64_t va,
                          uint32_t len, unsigned rights, uint8_t *to);
IbMemResult mlx4_mem_write(Mlx4State *s, Mlx4Qp *qp, uint32_t key,
                           uint64_t va, uint32_t len, unsigned rights,
                           const uint8_t *from);
IbMemResult mlx4_mem_check(Mlx4State *s, Mlx4Qp *qp, uint32_t key,
                           uint64_t va, uint64_t len, unsigned rights);
IbMemResult mlx4_mem_atomic(Mlx4State *s, Mlx4Qp *qp, uint32_t key,
                            uint64_t va, const IbSendWr *operands,
                            uint64_t *old);

/* ---------------------------------------------------------------------- eq */

Mlx4CmdHandler mlx4_cmd_sw2hw_eq, mlx4_cmd_hw2sw_eq, mlx4_cmd_map_eq;

Mlx4Eq *mlx4_eq_find(Mlx4State *s, uint32_t eqn);
/* Make the object of a context that is in its range; not its entries. */
Mlx4Status mlx4_eq_new(Mlx4State *s, uint32_t eqn, const uint8_t *ctx);
void mlx4_eq_reset(Mlx4State *s);
void mlx4_eq_doorbell(Mlx4State *s, uint32_t eqn, const uint8_t *value);
/* Put the entry on @eqn; its owner bit is filled in. */
void mlx4_eq_post(Mlx4State *s, uint32_t eqn, uint8_t *eqe);
/* An entry of @type to the queue that MAP_EQ chose for it; false: none. */
bool mlx4_event_post(Mlx4State *s, Mlx4EventType type, uint8_t *eqe);
/* An event whose only datum is the number of a QP or SRQ. */
void mlx4_event_number(Mlx4State *s, Mlx4EventType type, uint32_t number);
/* Raise the interrupts gathered since the last call. */
void mlx4_irq_flush(Mlx4State *s);
void mlx4_intx_clear(Mlx4State *s);

/* ---------------------------------------------------------------------- cq */

Mlx4CmdHandler mlx4_cmd_sw2hw_cq, mlx4_cmd_hw2sw_cq, mlx4_cmd_modify_cq;

Mlx4Cq *mlx4_cq_find(Mlx4State *s, uint32_t cqn);
Mlx4Status mlx4_cq_new(Mlx4State *s, uint32_t cqn, const uint8_t *ctx);
void mlx4_cq_reset(Mlx4State *s);
/* @page: of doorbells, on which it was rung. */
void mlx4_cq_doorbell(Mlx4State *s, const uint8_t *value, uint32_t page);
void mlx4_cq_complete(Mlx4State *s, Mlx4Qp *qp, const IbCompletion *wc);
/* QPs of CQs that failed since go to ERR. */
void mlx4_cq_work(Mlx4State *s);
/* Events whose time has come: for cq_timer. */
void mlx4_cq_release(Mlx4State *s);
/* Hold @cq's event back for no longer than from now on. */
void mlx4_cq_hold(Mlx4State *s, Mlx4Cq *cq, int64_t ns);

/* ---------------------------------------------------------------------- qp */

Mlx4CmdHandler mlx4_cmd_qp_modify, mlx4_cmd_qp_reset, mlx4_cmd_query_qp;

Mlx4Qp *mlx4_qp_find(Mlx4State *s, uint32_t qpn);
/* Make the object of a context, and its engine QP in RESET. */
Mlx4Status mlx4_qp_new(Mlx4State *s, uint32_t qpn, const uint8_t *ctx);
void mlx4_qp_free(Mlx4Qp *qp);
void mlx4_qp_reset_all(Mlx4State *s);
void mlx4_qp_bind_special(Mlx4State *s, Mlx4Qp *qp, bool bind);
void mlx4_qp_doorbell(Mlx4State *s, uint32_t qpn, uint32_t page);
/* The engine moved it; keeps the list of QPs to be flushed. */
void mlx4_qp_state_moved(Mlx4Qp *qp, IbQpState state);
/* Ask QPs in ERR for work posted since; all, or those of one CQ. */
void mlx4_qp_flush_posted(Mlx4State *s, uint32_t cqn);
#define MLX4_ALL_CQS UINT32_MAX
/* To ERR from outside the engine (a completion queue failed). */
void mlx4_qp_fail(Mlx4Qp *qp);

/* The context has a path taken by the engine itself. */
void mlx4_qp_migrated(Mlx4Qp *qp);

/* The code of PathRecord.Rate, 0 if any rate will do. */
static inline uint8_t mlx4_static_rate(uint8_t rate)
{
    return rate > MLX4_RATE_OFFSET ? rate - MLX4_RATE_OFFSET : 0;
}

static inline uint32_t mlx4_qp_pd(const Mlx4Qp *qp)
{
    return ib_field_get(qp->ctx, MLX4_QPC_PD);
}

static inline bool mlx4_qp_is_xrc(const Mlx4Qp *qp)
{
    return ib_field_get(qp->ctx, MLX4_QPC_SERVICE) == MLX4_SERVICE_XRC;
}

static inline bool mlx4_qp_is_xrc_target(const Mlx4Qp *qp)
{
    return qp->qpn & MLX4_QPN_XRC_TARGET;
}

/* The protection domain, as keys have it, that the QP's keys are to be of. */
static inline uint32_t mlx4_qp_mpt_pd(const Mlx4Qp *qp)
{
    return (mlx4_qp_is_xrc_target(qp) ? qp->xrc_pd : mlx4_qp_pd(qp)) &
           IB_FIELD_MASK(MLX4_MPT_PD);
}

/* --------------------------------------------------------------------- srq */

Mlx4CmdHandler mlx4_cmd_sw2hw_srq, mlx4_cmd_hw2sw_srq, mlx4_cmd_query_srq,
    mlx4_cmd_arm_srq;

Mlx4Srq *mlx4_srq_find(Mlx4State *s, uint32_t srqn);
Mlx4Status mlx4_srq_new(Mlx4State *s, uint32_t srqn, const uint8_t *ctx);
void mlx4_srq_reset(Mlx4State *s);
/* For an XRC target QP: SRQ @srqn, if it is one of the QP's domain. */
Mlx4Srq *mlx4_srq_of_xrc(Mlx4Qp *qp, uint32_t srqn);
IbPull mlx4_srq_next(Mlx4State *s, Mlx4Srq *srq, IbRecvWr *wr,
                     IbWcStatus *status);

/* ------------------------------------------------------- wqe-send, wqe-recv */

IbPull mlx4_wqe_next_send(Mlx4Qp *qp, IbSendWr *wr, IbWcStatus *status);
IbPull mlx4_wqe_refetch_send(Mlx4Qp *qp, uint64_t id, IbSendWr *wr);
IbPull mlx4_wqe_next_recv(Mlx4Qp *qp, IbRecvWr *wr, IbWcStatus *status);
/* Data segments of a receive entry into @wr. */
void mlx4_wqe_scatter(const uint8_t *segs, size_t len, IbRecvWr *wr);

/* --------------------------------------------------------------------- mcg */

Mlx4CmdHandler mlx4_cmd_mgid_hash, mlx4_cmd_read_mcg, mlx4_cmd_write_mcg;

/* Replace an entry; zeros are no entry. */
void mlx4_mcg_set(Mlx4State *s, uint32_t index, const uint8_t *entry);
void mlx4_mcg_reset(Mlx4State *s);
void mlx4_mcg_visit(Mlx4State *s, const uint8_t dgid[16], bool own,
                    void (*visit)(void *arg, uint32_t qpn), void *arg);

/* ----------------------------------------------------------- engine, state */

extern const IbHcaOps mlx4_engine_ops;

void mlx4_state_save(Mlx4State *s, GByteArray *bytes);
bool mlx4_state_load(Mlx4State *s, const void *data, size_t len);

#endif
