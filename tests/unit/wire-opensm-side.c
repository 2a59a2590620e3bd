/*
 * OpenSM's half of test-wire-opensm.c: its header and ours define some of the
 * same macros and cannot share a file.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config-tests.h"
#ifdef HAVE_OPENSM
#include <stddef.h>
#include <iba/ib_types.h>
#include "wire-opensm-side.h"

#define BYTES(type, member) sizeof(((type *)0)->member)

const unsigned opensm_rows[][2] = {
#define M(type, member, ours) { offsetof(type, member), BYTES(type, member) },
#define O(type, member, ours) { offsetof(type, member), BYTES(type, member) },
#define S(type, ours) { 0, sizeof(type) },
#include "wire-opensm.h"
};
#endif
