/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * How many connections to nodes there may be beyond those that are always there.
 *
 * The default connection of a server, that of its pool's own database and RESP2, has a file descriptor set aside for it.
 * All others are extra: shared ones of other classes, and private ones.  A client opens one by SELECT, HELLO 3 or MULTI,
 * so what they take together is bounded: by the room, which the process shares, and by upstream.shared_per_node.
 *
 *	used >= limit:  one of this worker's that nobody uses is closed: a private one, else the shared one that was
 *	                silent for longest; is there none, the request is refused, and other workers are asked to
 *	                close what they do not use (upstream_give_way())
 *	3/4 of limit:   the same for a private one, so that clients that block do not keep others from their database
 *
 * The limit may be passed by a few: workers look and open without a lock, and a connection that was lost with requests
 * in it is opened again without asking.  Any thread; the connections themselves are their worker's.
 */

#include <stdatomic.h>
#include <stdint.h>

struct upstream_room {
	_Atomic uint32_t limit;
	_Atomic uint32_t used;    /* by all workers */
	_Atomic uint32_t refused; /* how often there was none */
};

struct upstream_env;

/* Now and then: closes what is not in use, if there was no room for others since the last call. */
void upstream_give_way(struct upstream_env *env);
