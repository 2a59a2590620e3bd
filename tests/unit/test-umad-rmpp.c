/*
 * RMPP of tools/umad (IBA Vol. 1, 13.6)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Numbers are the specification's for class SubnAdm: segments of 200 bytes
 * behind headers of 56, PayloadLength counts from behind RMPP's own header, 220
 * bytes a segment.
 */
#include <string.h>
#include "rmpp.h"

#define TID  UINT64_C(0x0000000300000042)

static uint8_t *make_message(size_t data)
{
    uint8_t *message = g_malloc(IB_SA_DATA_OFFSET + data);
    size_t i;

    memset(message, 0, IB_SA_DATA_OFFSET);
    ib_field_set(message, IB_MAD_BASE_VERSION, 1);
    ib_field_set(message, IB_MAD_MGMT_CLASS, IB_CLASS_SUBN_ADM);
    ib_field_set(message, IB_MAD_CLASS_VERSION, 2);
    ib_field_set(message, IB_MAD_METHOD, 0x92);         /* GetTableResp */
    ib_put_be64(message + IB_MAD_TRANSACTION_ID_OFFSET, TID);
    for (i = 0; i < data; i++) {
        message[IB_SA_DATA_OFFSET + i] = i * 7 + i / 251;
    }
    return message;
}

static void check_segment(const uint8_t *mad, uint32_t number, unsigned flags,
                          uint32_t payload)
{
    g_assert_cmpuint(mad[24], ==, 1);                   /* RMPPVersion */
    g_assert_cmpuint(mad[25], ==, 1);                   /* DATA */
    g_assert_cmpuint(mad[26] & 7, ==, flags);
    g_assert_cmpuint(ib_get_be32(mad + 28), ==, number);
    g_assert_cmpuint(ib_get_be32(mad + 32), ==, payload);
    g_assert_cmpuint(ib_get_be64(mad + 8), ==, TID);
}

static void make_ack(uint8_t *ack, uint32_t segment, uint32_t window)
{
    memset(ack, 0, IB_MAD_BYTES);
    ack[1] = IB_CLASS_SUBN_ADM;
    ack[3] = 0x12;
    ack[24] = 1;
    ack[25] = 2;
    ack[26] = 1;
    ib_put_be32(ack + 28, segment);
    ib_put_be32(ack + 32, window);
}

/* 450 bytes: 200, 200 and 50 */
static void test_segments(void)
{
    g_autofree uint8_t *message = make_message(450);
    uint8_t mad[IB_MAD_BYTES], ack[IB_MAD_BYTES];
    UmadRmppSend send;

    umad_rmpp_send_init(&send, message, IB_SA_DATA_OFFSET + 450);
    g_assert_cmpuint(send.segments, ==, 3);
    /* Before the first ACK there is room for one. */
    g_assert_true(umad_rmpp_send_next(&send, mad));
    check_segment(mad, 1, 3, 3 * 220 - 150);
    g_assert_cmpmem(mad + 56, 200, message + 56, 200);
    g_assert_false(umad_rmpp_send_next(&send, mad));
    make_ack(ack, 1, 65);
    g_assert_cmpint(umad_rmpp_send_answer(&send, ack), ==,
                    UMAD_RMPP_GOES_ON);
    g_assert_true(umad_rmpp_send_next(&send, mad));
    check_segment(mad, 2, 1, 0);
    g_assert_cmpmem(mad + 56, 200, message + 256, 200);
    g_assert_true(umad_rmpp_send_next(&send, mad));
    check_segment(mad, 3, 5, 220 - 150);
    g_assert_cmpmem(mad + 56, 50, message + 456, 50);
    g_assert_false(umad_rmpp_send_next(&send, mad));
    make_ack(ack, 3, 67);
    g_assert_cmpint(umad_rmpp_send_answer(&send, ack), ==, UMAD_RMPP_DONE);
    umad_rmpp_send_clear(&send);
}

/* A message without data is one segment all the same; so is a full one. */
static void test_one_segment(void)
{
    const size_t sizes[] = { 0, 1, 200 };
    uint8_t mad[IB_MAD_BYTES];
    UmadRmppSend send;
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(sizes); i++) {
        g_autofree uint8_t *message = make_message(sizes[i]);

        umad_rmpp_send_init(&send, message, IB_SA_DATA_OFFSET + sizes[i]);
        g_assert_true(umad_rmpp_send_next(&send, mad));
        check_segment(mad, 1, 7, 20 + sizes[i]);
        g_assert_false(umad_rmpp_send_next(&send, mad));
        umad_rmpp_send_clear(&send);
    }
}

/* An ACK of what was not sent, and a window before its segment, are no ACKs. */
static void test_bad_ack(void)
{
    g_autofree uint8_t *message = make_message(10000);
    uint8_t mad[IB_MAD_BYTES], ack[IB_MAD_BYTES];
    UmadRmppSend send;

    umad_rmpp_send_init(&send, message, IB_SA_DATA_OFFSET + 10000);
    g_assert_true(umad_rmpp_send_next(&send, mad));
    make_ack(ack, 2, 66);
    g_assert_cmpint(umad_rmpp_send_answer(&send, ack), ==,
                    UMAD_RMPP_GOES_ON);
    g_assert_false(umad_rmpp_send_next(&send, mad));
    make_ack(ack, 1, 0);
    umad_rmpp_send_answer(&send, ack);
    g_assert_false(umad_rmpp_send_next(&send, mad));
    make_ack(ack, 50, 114);
    g_assert_cmpint(umad_rmpp_send_answer(&send, ack), ==,
                    UMAD_RMPP_GOES_ON);
    ack[25] = 4;
    g_assert_cmpint(umad_rmpp_send_answer(&send, ack), ==,
                    UMAD_RMPP_FAILED);
    umad_rmpp_send_clear(&send);
}

static void test_gives_up(void)
{
    g_autofree uint8_t *message = make_message(1000);
    uint8_t mad[IB_MAD_BYTES];
    UmadRmppSend send;
    unsigned tries = 0;

    umad_rmpp_send_init(&send, message, IB_SA_DATA_OFFSET + 1000);
    do {
        g_assert_true(umad_rmpp_send_next(&send, mad));
        check_segment(mad, 1, 3, 5 * 220);
        g_assert_cmpuint(++tries, <, 10);
    } while (umad_rmpp_send_timeout(&send) == UMAD_RMPP_GOES_ON);
    g_assert_cmpuint(tries, ==, 5);
    umad_rmpp_send_clear(&send);
}

/*
 * A message over a cable that loses one of @lose MADs of either way (0: none);
 * what the receiver has must be what was sent.
 */
static void transfer(size_t data, unsigned lose)
{
    g_autofree uint8_t *message = make_message(data);
    uint8_t mad[IB_MAD_BYTES], ack[IB_MAD_BYTES];
    UmadRmppResult result, sent = UMAD_RMPP_GOES_ON;
    UmadRmppReceive receive;
    UmadRmppSend send;
    unsigned count = 0, under_way = 0;

    umad_rmpp_send_init(&send, message, IB_SA_DATA_OFFSET + data);
    umad_rmpp_receive_init(&receive);
    while (sent == UMAD_RMPP_GOES_ON) {
        if (!umad_rmpp_send_next(&send, mad)) {
            g_assert_cmpint(umad_rmpp_send_timeout(&send), ==,
                            UMAD_RMPP_GOES_ON);
            g_assert_cmpuint(lose, >, 0);
            continue;
        }
        under_way = MAX(under_way, send.next - 1 - send.acked);
        if (lose && ++count % lose == 0) {
            continue;
        }
        if (umad_rmpp_receive_data(&receive, mad, ack, &result) &&
            (!lose || ++count % lose != 0)) {
            g_assert_cmpuint(ack[3], ==, 0x12);         /* the R bit turned */
            g_assert_cmpuint(ib_get_be64(ack + 8), ==, TID);
            sent = umad_rmpp_send_answer(&send, ack);
        }
        g_assert_cmpint(result, !=, UMAD_RMPP_FAILED);
    }
    g_assert_cmpint(sent, ==, UMAD_RMPP_DONE);
    g_assert_true(receive.done);
    g_assert_cmpmem(receive.message->data + IB_SA_DATA_OFFSET,
                    receive.message->len - IB_SA_DATA_OFFSET,
                    message + IB_SA_DATA_OFFSET, data);
    g_assert_cmpuint(under_way, <=, UMAD_RMPP_WINDOW);
    umad_rmpp_send_clear(&send);
    umad_rmpp_receive_clear(&receive);
}

static void test_transfer(void)
{
    transfer(0, 0);
    transfer(200, 0);
    transfer(201, 0);
    transfer(64 * 200, 0);
    transfer(65 * 200, 0);
    transfer(1000001, 0);
}

static void test_lossy(void)
{
    transfer(201, 3);
    transfer(100000, 7);
    transfer(100000, 101);
}

static void check_abort(UmadRmppReceive *receive, const uint8_t *mad,
                        unsigned status)
{
    uint8_t ack[IB_MAD_BYTES];
    UmadRmppResult result;

    g_assert_true(umad_rmpp_receive_data(receive, mad, ack, &result));
    g_assert_cmpint(result, ==, UMAD_RMPP_FAILED);
    g_assert_cmpuint(ack[25], ==, 4);
    g_assert_cmpuint(ack[27], ==, status);
}

/* What cannot be is aborted, with the status of table 113. */
static void test_abort(void)
{
    g_autofree uint8_t *message = make_message(450);
    uint8_t mad[IB_MAD_BYTES], ack[IB_MAD_BYTES];
    UmadRmppReceive receive;
    UmadRmppResult result;
    UmadRmppSend send;

    umad_rmpp_send_init(&send, message, IB_SA_DATA_OFFSET + 450);
    umad_rmpp_send_next(&send, mad);

    umad_rmpp_receive_init(&receive);
    mad[26] = 1;                  /* the first one without First */
    check_abort(&receive, mad, 120);
    mad[26] = 7;                  /* Last, and a length of three segments */
    check_abort(&receive, mad, 119);
    ib_put_be32(mad + 32, 19);    /* less than the class' own headers */
    check_abort(&receive, mad, 119);
    umad_rmpp_receive_clear(&receive);

    /* A second one with First */
    umad_rmpp_receive_init(&receive);
    mad[26] = 3;
    g_assert_true(umad_rmpp_receive_data(&receive, mad, ack, &result));
    g_assert_cmpuint(ib_get_be32(ack + 28), ==, 1);
    g_assert_cmpuint(ib_get_be32(ack + 32), ==, 65);
    ib_put_be32(mad + 28, 2);
    check_abort(&receive, mad, 120);
    umad_rmpp_receive_clear(&receive);
    umad_rmpp_send_clear(&send);
}

/* One that comes again is acknowledged again, one out of turn is not. */
static void test_again(void)
{
    g_autofree uint8_t *message = make_message(450);
    uint8_t mad[IB_MAD_BYTES], ack[IB_MAD_BYTES];
    UmadRmppReceive receive;
    UmadRmppResult result;
    UmadRmppSend send;

    umad_rmpp_send_init(&send, message, IB_SA_DATA_OFFSET + 450);
    umad_rmpp_receive_init(&receive);
    umad_rmpp_send_next(&send, mad);
    g_assert_true(umad_rmpp_receive_data(&receive, mad, ack, &result));
    g_assert_true(umad_rmpp_receive_data(&receive, mad, ack, &result));
    g_assert_cmpuint(ib_get_be32(ack + 28), ==, 1);
    g_assert_cmpuint(receive.message->len, ==, 256);
    ib_put_be32(mad + 28, 3);
    mad[26] = 1;
    g_assert_false(umad_rmpp_receive_data(&receive, mad, ack, &result));
    g_assert_cmpuint(receive.message->len, ==, 256);
    umad_rmpp_receive_clear(&receive);
    umad_rmpp_send_clear(&send);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/umad/rmpp/segments", test_segments);
    g_test_add_func("/umad/rmpp/one-segment", test_one_segment);
    g_test_add_func("/umad/rmpp/bad-ack", test_bad_ack);
    g_test_add_func("/umad/rmpp/gives-up", test_gives_up);
    g_test_add_func("/umad/rmpp/transfer", test_transfer);
    g_test_add_func("/umad/rmpp/lossy", test_lossy);
    g_test_add_func("/umad/rmpp/abort", test_abort);
    g_test_add_func("/umad/rmpp/again", test_again);
    return g_test_run();
}
