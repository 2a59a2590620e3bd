/*
 * Rows of members of OpenSM's structures (infiniband/iba/ib_types.h) and
 * what we call the same bytes
 *
 * M(structure, member, our field): the field lies in the member, and starts
 *     and ends with it if it is as wide
 * O(structure, member, our byte offset): starts where the member starts
 * S(structure, our size)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

S(ib_smp_t, IB_MAD_BYTES)
M(ib_smp_t, hop_ptr, IB_SMP_HOP_POINTER)
M(ib_smp_t, hop_count, IB_SMP_HOP_COUNT)
M(ib_smp_t, status, IB_SMP_STATUS)
O(ib_smp_t, m_key, IB_SMP_M_KEY_OFFSET)
M(ib_smp_t, dr_slid, IB_SMP_DR_SLID)
M(ib_smp_t, dr_dlid, IB_SMP_DR_DLID)
O(ib_smp_t, data, IB_SMP_DATA_OFFSET)
O(ib_smp_t, initial_path, IB_SMP_INITIAL_PATH_OFFSET)
O(ib_smp_t, return_path, IB_SMP_RETURN_PATH_OFFSET)
M(ib_rmpp_mad_t, rmpp_type, IB_RMPP_TYPE)
M(ib_rmpp_mad_t, seg_num, IB_RMPP_SEGMENT_NUMBER)
M(ib_rmpp_mad_t, paylen_newwin, IB_RMPP_PAYLOAD_LENGTH)
O(ib_sa_mad_t, sm_key, IB_SA_SM_KEY_OFFSET)
M(ib_sa_mad_t, attr_offset, IB_SA_ATTRIBUTE_OFFSET)
O(ib_sa_mad_t, comp_mask, IB_SA_COMPONENT_MASK_OFFSET)
O(ib_sa_mad_t, data, IB_SA_DATA_OFFSET)
O(ib_perfmgt_mad_t, data, IB_GMP_DATA_OFFSET)
O(ib_cc_mad_t, cc_key, IB_CC_MAD_KEY_OFFSET)
O(ib_cc_mad_t, log_data, IB_CC_MAD_LOG_DATA_OFFSET)
O(ib_cc_mad_t, mgt_data, IB_CC_MAD_DATA_OFFSET)

S(ib_node_info_t, IB_NODEINFO_BYTES)
O(ib_node_info_t, sys_guid, IB_NODEINFO_SYSTEM_IMAGE_GUID_OFFSET)
O(ib_node_info_t, node_guid, IB_NODEINFO_NODE_GUID_OFFSET)
O(ib_node_info_t, port_guid, IB_NODEINFO_PORT_GUID_OFFSET)
M(ib_node_info_t, partition_cap, IB_NODEINFO_PARTITION_CAP)
M(ib_node_info_t, port_num_vendor_id, IB_NODEINFO_LOCAL_PORT_NUM)
M(ib_node_info_t, port_num_vendor_id, IB_NODEINFO_VENDOR_ID)

S(ib_switch_info_t, IB_SWITCHINFO_BYTES)
M(ib_switch_info_t, lin_cap, IB_SWITCHINFO_LINEAR_FDB_CAP)
M(ib_switch_info_t, mcast_cap, IB_SWITCHINFO_MULTICAST_FDB_CAP)
M(ib_switch_info_t, lin_top, IB_SWITCHINFO_LINEAR_FDB_TOP)
M(ib_switch_info_t, life_state, IB_SWITCHINFO_PORT_STATE_CHANGE)
M(ib_switch_info_t, enforce_cap, IB_SWITCHINFO_PARTITION_ENFORCEMENT_CAP)
M(ib_switch_info_t, flags, IB_SWITCHINFO_ENHANCED_PORT0)
M(ib_switch_info_t, mcast_top, IB_SWITCHINFO_MULTICAST_FDB_TOP)

S(ib_port_info_t, IB_PORTINFO_BYTES)
M(ib_port_info_t, base_lid, IB_PORTINFO_LID)
M(ib_port_info_t, master_sm_base_lid, IB_PORTINFO_MASTER_SM_LID)
M(ib_port_info_t, capability_mask, IB_PORTINFO_CAPABILITY_MASK)
M(ib_port_info_t, m_key_lease_period, IB_PORTINFO_M_KEY_LEASE_PERIOD)
M(ib_port_info_t, vl_high_limit, IB_PORTINFO_VL_HIGH_LIMIT)
M(ib_port_info_t, q_key_violations, IB_PORTINFO_Q_KEY_VIOLATIONS)
M(ib_port_info_t, max_credit_hint, IB_PORTINFO_MAX_CREDIT_HINT)
M(ib_port_info_t, link_rt_latency, IB_PORTINFO_LINK_ROUND_TRIP_LATENCY)
M(ib_port_info_t, link_rt_latency, IB_PORTINFO_LINK_SPEED_EXT_ACTIVE2)
M(ib_port_info_t, capability_mask2, IB_PORTINFO_CAPABILITY_MASK2)
M(ib_port_info_ext_t, cap_mask, IB_PORTINFOEXT_CAPABILITY_MASK)
M(ib_port_info_ext_t, fec_mode_active, IB_PORTINFOEXT_FEC_MODE_ACTIVE)
M(ib_port_info_ext_t, hdr_fec_mode_sup, IB_PORTINFOEXT_HDR_FEC_MODE_SUPPORTED)
M(ib_port_info_ext_t, hdr_fec_mode_enable, IB_PORTINFOEXT_HDR_FEC_MODE_ENABLED)

S(ib_slvl_table_t, IB_SLTOVL_BYTES)
M(ib_slvl_table_t, raw_vl_by_sl[0], IB_SLTOVL_VL(0))
M(ib_slvl_table_t, raw_vl_by_sl[7], IB_SLTOVL_VL(15))
M(ib_vl_arb_table_t, vl_entry[31].vl, IB_VLARB_VL(31))
M(ib_vl_arb_table_t, vl_entry[31].weight, IB_VLARB_WEIGHT(31))
O(ib_pkey_table_t, pkey_entry[31], IB_PKEYTABLE_PKEY_OFFSET(31))
O(ib_sm_info_t, sm_key, IB_SMINFO_SM_KEY_OFFSET)
M(ib_sm_info_t, act_count, IB_SMINFO_ACT_COUNT)
M(ib_sm_info_t, pri_state, IB_SMINFO_PRIORITY)

M(ib_mad_notice_attr_t, g_or_v.generic.trap_num, IB_NOTICE_TRAP_NUMBER)
M(ib_mad_notice_attr_t, issuer_lid, IB_NOTICE_ISSUER_LID)
M(ib_mad_notice_attr_t, toggle_count, IB_NOTICE_COUNT)
O(ib_mad_notice_attr_t, data_details, IB_NOTICE_DATA_DETAILS_OFFSET)
O(ib_mad_notice_attr_t, issuer_gid, IB_NOTICE_ISSUER_GID_OFFSET)
O(ib_mad_notice_attr_t, data_details.ntc_64_67.gid, IB_NOTICE64_GID_OFFSET)
M(ib_mad_notice_attr_t, data_details.ntc_128.sw_lid, IB_NOTICE128_LIDADDR)
M(ib_mad_notice_attr_t, data_details.ntc_129_131.lid, IB_NOTICE129_LIDADDR)
M(ib_mad_notice_attr_t, data_details.ntc_129_131.port_num,
  IB_NOTICE129_PORT_NO)
M(ib_mad_notice_attr_t, data_details.ntc_144.lid, IB_NOTICE144_LIDADDR)
M(ib_mad_notice_attr_t, data_details.ntc_144.local_changes,
  IB_NOTICE144_OTHER_LOCAL_CHANGES)
M(ib_mad_notice_attr_t, data_details.ntc_144.new_cap_mask,
  IB_NOTICE144_CAPABILITY_MASK)
M(ib_mad_notice_attr_t, data_details.ntc_144.change_flgs,
  IB_NOTICE144_NODE_DESCRIPTION_CHANGE)
M(ib_mad_notice_attr_t, data_details.ntc_144.cap_mask2,
  IB_NOTICE144_CAPABILITY_MASK2)
M(ib_mad_notice_attr_t, data_details.ntc_145.lid, IB_NOTICE145_LIDADDR)
O(ib_mad_notice_attr_t, data_details.ntc_145.new_sys_guid,
  IB_NOTICE145_SYSTEM_IMAGE_GUID_OFFSET)
M(ib_mad_notice_attr_t, data_details.ntc_256.lid, IB_NOTICE256_LIDADDR)
M(ib_mad_notice_attr_t, data_details.ntc_256.dr_slid, IB_NOTICE256_DR_SLID)
M(ib_mad_notice_attr_t, data_details.ntc_256.method, IB_NOTICE256_METHOD)
M(ib_mad_notice_attr_t, data_details.ntc_256.attr_id,
  IB_NOTICE256_ATTRIBUTE_ID)
M(ib_mad_notice_attr_t, data_details.ntc_256.attr_mod,
  IB_NOTICE256_ATTRIBUTE_MODIFIER)
O(ib_mad_notice_attr_t, data_details.ntc_256.mkey, IB_NOTICE256_M_KEY_OFFSET)
M(ib_mad_notice_attr_t, data_details.ntc_256.dr_trunc_hop,
  IB_NOTICE256_DR_HOP_COUNT)
O(ib_mad_notice_attr_t, data_details.ntc_256.dr_rtn_path,
  IB_NOTICE256_DR_RETURN_PATH_OFFSET)
M(ib_mad_notice_attr_t, data_details.ntc_257_258.lid1, IB_NOTICE257_LIDADDR1)
M(ib_mad_notice_attr_t, data_details.ntc_257_258.lid2, IB_NOTICE257_LIDADDR2)
M(ib_mad_notice_attr_t, data_details.ntc_257_258.key, IB_NOTICE257_KEY)
M(ib_mad_notice_attr_t, data_details.ntc_257_258.qp1, IB_NOTICE257_SL)
M(ib_mad_notice_attr_t, data_details.ntc_257_258.qp1, IB_NOTICE257_QP1)
M(ib_mad_notice_attr_t, data_details.ntc_257_258.qp2, IB_NOTICE257_QP2)
O(ib_mad_notice_attr_t, data_details.ntc_257_258.gid1,
  IB_NOTICE257_GIDADDR1_OFFSET)
O(ib_mad_notice_attr_t, data_details.ntc_257_258.gid2,
  IB_NOTICE257_GIDADDR2_OFFSET)
M(ib_mad_notice_attr_t, data_details.ntc_259.data_valid,
  IB_NOTICE259_DATA_VALID)
M(ib_mad_notice_attr_t, data_details.ntc_259.lid1, IB_NOTICE259_LIDADDR1)
M(ib_mad_notice_attr_t, data_details.ntc_259.lid2, IB_NOTICE259_LIDADDR2)
M(ib_mad_notice_attr_t, data_details.ntc_259.pkey, IB_NOTICE259_P_KEY)
M(ib_mad_notice_attr_t, data_details.ntc_259.sl_qp1, IB_NOTICE259_SL)
M(ib_mad_notice_attr_t, data_details.ntc_259.sl_qp1, IB_NOTICE259_QP1)
M(ib_mad_notice_attr_t, data_details.ntc_259.qp2, IB_NOTICE259_QP2)
O(ib_mad_notice_attr_t, data_details.ntc_259.gid1,
  IB_NOTICE259_GIDADDR1_OFFSET)
O(ib_mad_notice_attr_t, data_details.ntc_259.gid2,
  IB_NOTICE259_GIDADDR2_OFFSET)
M(ib_mad_notice_attr_t, data_details.ntc_259.sw_lid, IB_NOTICE259_SW_LIDADDR)
M(ib_mad_notice_attr_t, data_details.ntc_259.port_no, IB_NOTICE259_PORT_NO)

S(ib_class_port_info_t, IB_CPI_BYTES)
M(ib_class_port_info_t, cap_mask, IB_CPI_CAPABILITY_MASK)
M(ib_class_port_info_t, redir_qkey, IB_CPI_REDIRECT_Q_KEY)
M(ib_class_port_info_t, trap_qkey, IB_CPI_TRAP_Q_KEY)
S(ib_port_counters_t, IB_PORTCOUNTERS_BYTES)
M(ib_port_counters_t, qp1_dropped, IB_PORTCOUNTERS_QP1_DROPPED)
M(ib_port_counters_t, vl15_dropped, IB_PORTCOUNTERS_VL15_DROPPED)
M(ib_port_counters_t, xmit_wait, IB_PORTCOUNTERS_PORT_XMIT_WAIT)
S(ib_port_counters_ext_t, IB_PCX_BYTES)
O(ib_port_counters_ext_t, qp1_dropped, IB_PCX_QP1_DROPPED_OFFSET)
O(ib_port_samples_control_t, vendor_mask, IB_PSC_VENDOR_MASK_OFFSET)
M(ib_port_samples_control_t, counter_select14, IB_PSC_COUNTER_SELECT(14))

M(ib_cong_info_t, ctrl_table_cap, IB_CC_INFO_CONTROL_TABLE_CAP)
M(ib_cong_key_info_t, violations, IB_CC_KEYINFO_CC_KEY_VIOLATIONS)
M(ib_cong_log_t, log_details.log_sw.event_counter,
  IB_CC_LOGSW_LOG_EVENTS_COUNTER)
O(ib_cong_log_t, log_details.log_sw.entry_list[14],
  IB_CC_LOGSW_EVENT_OFFSET(14))
M(ib_cong_log_t, log_details.log_ca.event_map,
  IB_CC_LOGCA_THRESHOLD_CONGESTION_EVENT_MAP)
M(ib_cong_log_t, log_details.log_ca.time_stamp, IB_CC_LOGCA_CURRENT_TIME_STAMP)
O(ib_cong_log_t, log_details.log_ca.log_event[12], IB_CC_LOGCA_EVENT_OFFSET(12))
M(ib_sw_cong_setting_t, marking_rate, IB_CC_SWSET_MARKING_RATE)
M(ib_sw_port_cong_setting_t, block[31].cong_param, IB_CC_SWPORT_CONG_PARM(31))
M(ib_ca_cong_setting_t, entry_list[15].ccti_timer, IB_CC_CASET_CCTI_TIMER(15))
M(ib_ca_cong_setting_t, entry_list[15].ccti_increase,
  IB_CC_CASET_CCTI_INCREASE(15))
M(ib_ca_cong_setting_t, entry_list[15].trigger_threshold,
  IB_CC_CASET_TRIGGER_THRESHOLD(15))
M(ib_ca_cong_setting_t, entry_list[15].ccti_min, IB_CC_CASET_CCTI_MIN(15))
M(ib_cc_tbl_t, entry_list[63].shift_multiplier, IB_CC_TABLE_CCT_SHIFT(63))
M(ib_cc_tbl_t, entry_list[63].shift_multiplier, IB_CC_TABLE_CCT_MULTIPLIER(63))
