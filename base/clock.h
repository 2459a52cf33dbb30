/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Monotonic time.  Loops read it once a turn and hand it on; pure code gets `now` as an argument.
 */

#include <stdint.h>

#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

/* CLOCK_MONOTONIC in nanoseconds.  Any thread. */
uint64_t clock_ns(void);

/* Wall clock, milliseconds since the epoch: for people and for logs only.  Any thread. */
uint64_t clock_wall_ms(void);
