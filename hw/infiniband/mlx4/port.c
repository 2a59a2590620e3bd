/*
 * ConnectX-3: ports, and the management agents behind MAD_IFC
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Management packets reach the driver through QP0 and QP1 like any other;
 * what the driver's own MAD layer leaves to the adapter it hands down by
 * MAD_IFC, and sends the answer itself.  The driver watches these MADs to keep
 * its own tables, so that the adapter only tells when a port becomes or is
 * no longer active.
 */
#include "mlx4.h"
#include "../trace.h"

static bool mlx4_port_valid(Mlx4State *s, Mlx4Cmd *cmd, uint32_t port)
{
    if (port < 1 || port > mlx4_num_ports(s)) {
        mlx4_guest_error("command 0x%x of port %u", cmd->opcode, port);
        return false;
    }
    return true;
}

/* ---------------------------------------------------------------- events */

void mlx4_port_state_changed(Mlx4State *s, uint8_t port, uint8_t old_state,
                             uint8_t new_state)
{
    uint8_t eqe[MLX4_EQE_BYTES] = { };
    bool up = new_state == IB_PORT_ACTIVE;

    trace_mlx4_port_state(port, old_state, new_state);
    if (old_state == new_state ||
        (!up && old_state != IB_PORT_ACTIVE && old_state != IB_PORT_ARMED) ||
        new_state == IB_PORT_ARMED) {
        return;
    }
    ib_field_set(eqe, MLX4_EQE_SUBTYPE, up ? MLX4_PORT_ACTIVE
                                           : MLX4_PORT_DOWN);
    ib_field_set(eqe, MLX4_EQE_PORT, port);
    mlx4_event_post(s, MLX4_EVENT_PORT_CHANGE, eqe);
    /* A silent cable is no batch of work whose end would raise it. */
    mlx4_work_soon(s);
}

/* -------------------------------------------------------------- commands */

Mlx4Status mlx4_cmd_query_port(Mlx4State *s, Mlx4Cmd *cmd)
{
    const IbLinkConfig *config = &s->config.link;
    uint8_t *out = cmd->out;

    if (!mlx4_port_valid(s, cmd, cmd->in_mod)) {
        return MLX4_STAT_BAD_PARAM;
    }
    ib_field_set(out, MLX4_PORT_TYPES, 1);
    ib_field_set(out, MLX4_PORT_LINK_UP,
                 ib_link_state(ib_hca_link(s->hca, cmd->in_mod)) >=
                 IB_PORT_INIT);
    ib_field_set(out, MLX4_PORT_MTU_CAP, config->mtu_cap);
    ib_field_set(out, MLX4_PORT_WIDTH, config->width_supported);
    ib_field_set(out, MLX4_PORT_LOG_GIDS, MLX4_LOG_GIDS);
    ib_field_set(out, MLX4_PORT_LOG_PKEYS, MLX4_LOG_PKEYS);
    /* Ethernet's, never used: but 0 makes the driver complain. */
    ib_field_set(out, MLX4_PORT_LOG_MACS, 7);
    ib_field_set(out, MLX4_PORT_LOG_VLANS, 7);
    ib_field_set(out, MLX4_PORT_VL_CAP, config->vl_cap);
    return MLX4_STAT_OK;
}

Mlx4Status mlx4_cmd_init_port(Mlx4State *s, Mlx4Cmd *cmd)
{
    if (!mlx4_port_valid(s, cmd, cmd->in_mod)) {
        return MLX4_STAT_BAD_PARAM;
    }
    ib_hca_open_port(s->hca, cmd->in_mod);
    return MLX4_STAT_OK;
}

Mlx4Status mlx4_cmd_close_port(Mlx4State *s, Mlx4Cmd *cmd)
{
    if (!mlx4_port_valid(s, cmd, cmd->in_mod)) {
        return MLX4_STAT_BAD_PARAM;
    }
    ib_hca_close_port(s->hca, cmd->in_mod);
    return MLX4_STAT_OK;
}

Mlx4Status mlx4_cmd_set_port(Mlx4State *s, Mlx4Cmd *cmd)
{
    const IbLinkConfig *config = &s->config.link;
    const uint8_t *in = cmd->in;
    uint8_t port = cmd->in_mod;

    if (!mlx4_port_valid(s, cmd, cmd->in_mod & 0xff)) {
        return MLX4_STAT_BAD_PARAM;
    }
    if (cmd->op_mod != 0) {
        mlx4_unimp("SET_PORT of Ethernet (modifier %u)", cmd->op_mod);
        return MLX4_STAT_BAD_PARAM;
    }
    /* The driver tries again with fewer. */
    if (ib_field_get(in, MLX4_SET_PORT_CH_VL) &&
        ib_field_get(in, MLX4_SET_PORT_VL) > config->vl_cap) {
        return MLX4_STAT_EXCEED_LIM;
    }
    /*
     * MTU: drivers ask for 4096 bytes whatever the cap is, and give the
     * adapter up when they are refused.  The cap stands.
     */
    if (!ib_field_get(in, MLX4_SET_PORT_CH_VL) &&
        !ib_field_get(in, MLX4_SET_PORT_CH_MTU) &&
        !ib_field_get(in, MLX4_SET_PORT_CH_PKEYS) &&
        ib_field_get(in, MLX4_SET_PORT_RESET_QKEY)) {
        ib_node_reset_qkey_violations(ib_hca_node(s->hca), port);
    }
    ib_node_set_capability_mask(ib_hca_node(s->hca), port,
                                ib_field_get(in, MLX4_SET_PORT_CAP_MASK));
    return MLX4_STAT_OK;
}

/* In: NodeDescription. */
Mlx4Status mlx4_cmd_set_node(Mlx4State *s, Mlx4Cmd *cmd)
{
    ib_node_set_description(ib_hca_node(s->hca), (const char *)cmd->in);
    return MLX4_STAT_OK;
}

/*
 * The QPNs from here on are QP0 of ports 1 and 2, QP1 of ports 1 and 2; 0:
 * there are none.
 */
Mlx4Status mlx4_cmd_conf_special_qp(Mlx4State *s, Mlx4Cmd *cmd)
{
    uint32_t base = cmd->in_mod & IB_QPN_MASK;
    uint32_t n;

    if (base % 8 || base >= 1u << MLX4_LOG_QPS) {
        mlx4_guest_error("CONF_SPECIAL_QP of 0x%x", base);
        return MLX4_STAT_BAD_PARAM;
    }
    for (n = 0; s->special_base && n < 4; n++) {
        Mlx4Qp *qp = mlx4_qp_find(s, s->special_base + n);

        if (qp) {
            mlx4_qp_bind_special(s, qp, false);
        }
    }
    s->special_base = base;
    for (n = 0; base && n < 4; n++) {
        Mlx4Qp *qp = mlx4_qp_find(s, base + n);

        if (qp) {
            mlx4_qp_bind_special(s, qp, true);
        }
    }
    return MLX4_STAT_OK;
}

/* In and out: a MAD.  Modifier: port, and from bit 16 on the source LID. */
Mlx4Status mlx4_cmd_mad_ifc(Mlx4State *s, Mlx4Cmd *cmd)
{
    uint8_t port = cmd->in_mod;
    unsigned flags = (cmd->op_mod & 1 ? IB_MAD_IGNORE_MKEY : 0) |
                     (cmd->op_mod & 2 ? IB_MAD_IGNORE_BKEY : 0);
    IbMadVerdict verdict;

    if (!mlx4_port_valid(s, cmd, port)) {
        return MLX4_STAT_BAD_PARAM;
    }
    verdict = ib_node_process_mad(ib_hca_node(s->hca), port,
                                  cmd->in_mod >> 16, flags, cmd->in,
                                  cmd->out);
    trace_mlx4_mad_ifc(port, ib_field_get(cmd->in, IB_MAD_MGMT_CLASS),
                       ib_field_get(cmd->in, IB_MAD_METHOD),
                       ib_field_get(cmd->in, IB_MAD_ATTRIBUTE_ID),
                       ib_field_get(cmd->in, IB_MAD_ATTRIBUTE_MODIFIER),
                       verdict,
                       ib_field_get(cmd->out, IB_MAD_STATUS));
    switch (verdict) {
    case IB_MAD_REPLY:
        /*
         * The driver sets D itself; before, it looks for what a Set has
         * changed, if the whole word says that the Set was done.
         */
        if (ib_field_get(cmd->out, IB_MAD_MGMT_CLASS) ==
            IB_CLASS_SUBN_DIRECTED_ROUTE) {
            ib_field_set(cmd->out, IB_MAD_STATUS,
                         ib_field_get(cmd->out, IB_MAD_STATUS) &
                         ~IB_SMP_STATUS_D);
        }
        return MLX4_STAT_OK;
    case IB_MAD_CONSUMED:
        memset(cmd->out, 0, MLX4_MAD_IFC_BYTES);
        return MLX4_STAT_OK;
    default:
        return MLX4_STAT_BAD_PKT;
    }
}
