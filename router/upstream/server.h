/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * A server: one address that nodes live at.  Connections, counters and health hang on it, not on
 * the ring's nodes, and pools may share it.  Made by the control thread, shared by all workers,
 * freed with the last reference.
 *
 * A fleet says which server each node of a topology lives at; workers are handed both together.
 */

#include <stdatomic.h>
#include <stddef.h>

#include "membership/topology.h"
#include "router/io/addresses.h"
#include "router/metrics/metrics.h"

struct server {
	_Atomic uint32_t refs;
	struct addr address;
	struct addresses *fixed;   /* where it leads, for good; NULL: it is a name */
	struct node_block *blocks; /* owned; one per worker */
	size_t workers;
	_Atomic uint32_t leased; /* private connections in use, by all workers */
};

/* Where it leads is found out, now and again, and told to upstreams by upstream_move(). */
static inline bool server_is_named(const struct server *s)
{
	return s->fixed == NULL;
}

struct fleet {
	_Atomic uint32_t refs;
	struct topology *topology; /* a reference */
	struct server **servers;   /* a reference each; by node */
};

/*
 * Servers of a topology; those that `before` (NULL: none) already has are shared with it,
 * counters and all.  Control thread only.
 */
struct fleet *fleet_new(struct topology *t, const struct fleet *before, size_t workers);

/* Any thread. */
struct fleet *fleet_ref(struct fleet *f);
void fleet_unref(struct fleet *f);
struct server *server_ref(struct server *s);
void server_unref(struct server *s);
