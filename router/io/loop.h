/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * What every object on one event loop shares: the libevent base, the clock of the present turn,
 * the buffers. One per thread; nothing here is shared between threads.
 *
 * A turn is: wait for events, run their callbacks, flush everything that was touched.  The clock
 * is read at most once a turn, when somebody asks.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "router/io/buf.h"

struct event_base;

/* One read of a peer lands here; bytes that must outlive the callback are copied out. */
#define LOOP_SCRATCH (256 * 1024)

struct loop {
	struct event_base *base; /* owned */
	uint64_t now_ns;         /* 0: not read yet in this turn */
	uint8_t *scratch;        /* owned; LOOP_SCRATCH bytes; valid within one callback */
	struct bufpool pool;
};

static inline uint64_t loop_now(struct loop *l)
{
	if (l->now_ns == 0)
		l->now_ns = clock_ns();
	return l->now_ns;
}

/* 0 or -errno. */
int loop_init(struct loop *l) MUST_CHECK;
void loop_fini(struct loop *l);

/* Waits for events and runs their callbacks once.  False: the loop was told to stop or has nothing
 * to wait for. */
bool loop_turn(struct loop *l);
