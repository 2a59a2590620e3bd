/*
 * ConnectX-3: registers and doorbells
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * BAR 0 has the command register and little else; what is not a register
 * reads 0, which a driver relies on (ownership free, flash semaphore free, no
 * internal error).  BAR 2 is pages of doorbells, written and never read.
 */
#include "mlx4.h"
#include "../trace.h"

/* A message-signalled interrupt that is addressed to this device. */
static bool mlx4_bar_reentered(Mlx4State *s, hwaddr addr)
{
    if (s->notifying) {
        mlx4_guest_error("register 0x%" HWADDR_PRIx " written by an interrupt "
                         "of the device itself", addr);
    }
    return s->notifying;
}

static uint64_t mlx4_bar0_read(void *opaque, hwaddr addr, unsigned size)
{
    Mlx4State *s = opaque;

    if (addr >= MLX4_REG_HCR && addr < MLX4_REG_HCR + MLX4_HCR_BYTES) {
        return ib_get_be32(s->hcr + (addr - MLX4_REG_HCR));
    }
    if (addr >= MLX4_REG_CATAS &&
        addr < MLX4_REG_CATAS + 4 * MLX4_CATAS_DWORDS) {
        return s->catas[(addr - MLX4_REG_CATAS) / 4];
    }
    return 0;
}

static void mlx4_hcr_write(Mlx4State *s, unsigned offset, uint32_t value)
{
    ib_put_be32(s->hcr + offset, value);
    if (offset == IB_FIELD_BYTE(MLX4_HCR_GO) &&
        ib_field_get(s->hcr, MLX4_HCR_GO)) {
        mlx4_cmd_run(s);
    }
}

static void mlx4_bar0_write(void *opaque, hwaddr addr, uint64_t value,
                            unsigned size)
{
    Mlx4State *s = opaque;

    if (mlx4_bar_reentered(s, addr)) {
        return;
    }
    if (addr >= MLX4_REG_HCR && addr < MLX4_REG_HCR + MLX4_HCR_BYTES) {
        mlx4_hcr_write(s, addr - MLX4_REG_HCR, value);
        return;
    }
    switch (addr) {
    case MLX4_REG_RESET:
        if (value == 1) {
            trace_mlx4_reset();
            mlx4_reset(s);
        }
        break;
    case MLX4_REG_CLR_INT:
    case MLX4_REG_CLR_INT + 4:
        mlx4_intx_clear(s);
        break;
    case MLX4_REG_OWNERSHIP:      /* there is one function: always free */
    case MLX4_REG_SEMAPHORE:
        break;
    default:
        mlx4_guest_error("write of 0x%" PRIx64 " to register 0x%" HWADDR_PRIx,
                         value, addr);
        break;
    }
}

static const MemoryRegionOps mlx4_bar0_ops = {
    .read = mlx4_bar0_read,
    .write = mlx4_bar0_write,
    .endianness = DEVICE_BIG_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 8 },
    .impl = { .min_access_size = 4, .max_access_size = 4 },
};

static uint64_t mlx4_uar_read(void *opaque, hwaddr addr, unsigned size)
{
    mlx4_guest_error("read of doorbell 0x%" HWADDR_PRIx, addr);
    return 0;
}

/*
 * An entry written to the adapter.  It is in its queue, too, before it comes
 * here: its first 8 bytes do as a doorbell, and the rest is not needed.
 */
static void mlx4_blueflame(Mlx4State *s, uint32_t page, uint32_t offset,
                           const uint8_t *bytes, unsigned size)
{
    uint32_t at = offset % MLX4_BF_BUFFER;

    if (at == 0 && size == 8) {
        mlx4_qp_doorbell(s, ib_field_get(bytes + 4, MLX4_DB_SEND_QPN), page);
    } else if (at == 4 && size == 4) {
        mlx4_qp_doorbell(s, ib_field_get(bytes, MLX4_DB_SEND_QPN), page);
    }
}

static void mlx4_uar_write(void *opaque, hwaddr addr, uint64_t value,
                           unsigned size)
{
    Mlx4State *s = opaque;
    uint32_t page = addr / MLX4_UAR_PAGE;
    uint32_t offset = addr % MLX4_UAR_PAGE;
    uint8_t bytes[8];

    if (mlx4_bar_reentered(s, addr)) {
        return;
    }
    ib_put_be64(bytes, size == 8 ? value : value << 32);
    if (!s->running) {
        mlx4_guest_error("doorbell 0x%" HWADDR_PRIx " before INIT_HCA", addr);
    } else if (page >= mlx4_uar_pages(s)) {
        mlx4_blueflame(s, page - mlx4_uar_pages(s), offset, bytes, size);
    } else if (offset == MLX4_UAR_SEND && size == 4) {
        mlx4_qp_doorbell(s, ib_field_get(bytes, MLX4_DB_SEND_QPN), page);
    } else if (offset == MLX4_UAR_CQ_ARM && size == 8) {
        mlx4_cq_doorbell(s, bytes, page);
    } else if (offset == MLX4_UAR_CQ_ARM) {
        s->cq_arm_high = value;   /* a 32-bit host writes it in two */
    } else if (offset == MLX4_UAR_CQ_ARM + 4) {
        ib_put_be32(bytes, s->cq_arm_high);
        ib_put_be32(bytes + 4, value);
        mlx4_cq_doorbell(s, bytes, page);
    } else if (page < MLX4_UAR_EQ_PAGES && offset >= MLX4_UAR_EQ &&
               offset < MLX4_UAR_EQ + 4 * 8 && offset % 8 == 0 && size == 4) {
        mlx4_eq_doorbell(s, page * 4 + (offset - MLX4_UAR_EQ) / 8, bytes);
    } else {
        mlx4_guest_error("doorbell of %u bytes at 0x%" HWADDR_PRIx, size,
                         addr);
    }
    mlx4_irq_flush(s);
}

static const MemoryRegionOps mlx4_uar_ops = {
    .read = mlx4_uar_read,
    .write = mlx4_uar_write,
    .endianness = DEVICE_BIG_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 8 },
    .impl = { .min_access_size = 4, .max_access_size = 8 },
};

void mlx4_bars_init(Mlx4State *s)
{
    memory_region_init_io(&s->bar0, OBJECT(s), &mlx4_bar0_ops, s,
                          "connectx3-registers", MLX4_BAR0_BYTES);
    memory_region_init_io(&s->uar, OBJECT(s), &mlx4_uar_ops, s,
                          "connectx3-doorbells", 1 << MLX4_UAR_LOG_BYTES);
    pci_register_bar(&s->parent_obj, 0, PCI_BASE_ADDRESS_MEM_TYPE_64,
                     &s->bar0);
    pci_register_bar(&s->parent_obj, 2, PCI_BASE_ADDRESS_MEM_TYPE_64 |
                     PCI_BASE_ADDRESS_MEM_PREFETCH, &s->uar);
}
