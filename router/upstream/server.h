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
#include "router/io/sock.h"
#include "router/metrics/metrics.h"

struct server {
	_Atomic uint32_t refs;
	struct addr address;
	struct sockaddr_any where; /* resolved */
	struct node_block *blocks; /* owned; one per worker */
	size_t workers;
};

struct fleet {
	_Atomic uint32_t refs;
	struct topology *topology; /* a reference */
	struct server **servers;   /* a reference each; by node */
};

/*
 * Servers of a topology; those that `before` (NULL: none) already has are shared with it,
 * counters and all.  Resolves names: BLOCKS.  0, or RW_ERESOLVE with *ret_bad the node whose
 * address does not resolve.  Control thread only.
 */
int fleet_new(struct fleet **ret, struct topology *t, const struct fleet *before, size_t workers,
	size_t *ret_bad) MUST_CHECK;

/* Any thread. */
struct fleet *fleet_ref(struct fleet *f);
void fleet_unref(struct fleet *f);
struct server *server_ref(struct server *s);
void server_unref(struct server *s);
