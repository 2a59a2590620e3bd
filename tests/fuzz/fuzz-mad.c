/*
 * Fuzzer of the agents: any 256 bytes are a MAD
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Input: records of a control byte (bit 0: node type, bit 1: through the SMI
 * first, bits 7:4: in_port), a byte of time that passes and 256 bytes of MAD.
 * What is too short is filled up with the first bytes of a valid Get.  The
 * nodes live from record to record, and are saved and loaded at the end.
 */
#include <stdlib.h>
#include "../unit/agent-node.h"
#include "hw/infiniband/ib-state.h"

static void one_mad(TestNode *t, uint8_t control, uint8_t *mad)
{
    uint8_t in_port = control >> 4;
    uint8_t out[256];
    IbSmiResult smi;

    if (control & 2) {
        smi = ib_smi_process(t->node, in_port, mad);
        if (smi.action == IB_SMI_FORWARD && !smi.lid_routed &&
            (smi.out_port == 0 ||
             smi.out_port > ib_node_config(t->node)->num_ports)) {
            abort();
        }
    }
    if (ib_node_process_mad(t->node, in_port, 7, control >> 2 & 3, mad,
                            out) != IB_MAD_REPLY) {
        return;
    }
    if (!(out[3] & 0x80) || memcmp(out + 6, mad + 6, 18)) {
        abort();
    }
    ib_smi_reply(t->node, in_port, 7, out);
}

static void save_and_load(TestNode *t)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    IbStateWriter w;
    IbStateReader r;

    ib_state_writer_init(&w, bytes);
    ib_node_save(t->node, &w);
    ib_state_reader_init(&r, bytes->data, bytes->len);
    if (!ib_node_load(t->node, &r)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    TestNode *nodes[2] = {
        test_node_new(IB_NODE_TYPE_CA), test_node_new(IB_NODE_TYPE_SWITCH)
    };
    unsigned records = 0;

    while (size > 2 && records++ < 32) {
        uint8_t mad[256] = { 1, 0x81, 1, 1 };
        size_t len = MIN(size - 2, sizeof(mad));
        TestNode *t = nodes[data[0] & 1];

        memcpy(mad, data + 2, len);
        one_mad(t, data[0], mad);
        t->num_traps = 0;
        test_run(t, data[1] * MS);
        t->num_traps = 0;
        data += len + 2;
        size -= len + 2;
    }
    save_and_load(nodes[0]);
    save_and_load(nodes[1]);
    test_node_free(nodes[0]);
    test_node_free(nodes[1]);
    return 0;
}
