/*
 * What OpenSM's header says of each row of wire-opensm.h: offset and size in
 * bytes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef TESTS_UNIT_WIRE_OPENSM_SIDE_H
#define TESTS_UNIT_WIRE_OPENSM_SIDE_H

extern const unsigned opensm_rows[][2];

#endif /* TESTS_UNIT_WIRE_OPENSM_SIDE_H */
