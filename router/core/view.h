/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * A worker's view of a pool: the fleet it routes by, with this worker's upstream of each node.
 *
 * Every request counts in the view that it was routed by.  When a newer view is adopted the old
 * one lives on until its last request is answered; then the worker can say that everything older
 * than the new (epoch, phase) is done, and upstreams that no view uses any more are closed.
 *
 * Worker-owned.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "ring/ring.h"
#include "router/upstream/upstream.h"

struct view {
	TAILQ_ENTRY(view) link;
	struct fleet *fleet;  /* a reference */
	struct upstream **up; /* owned array; by node; counted uses of the set's upstreams */
	uint32_t inflight;    /* requests routed by it and not yet finished */
	bool current;
};
TAILQ_HEAD(view_list, view);

/* A worker's upstreams in one pool, one per server. */
struct upstream_use {
	struct upstream *up; /* owned */
	uint32_t users;      /* nodes in living views */
};

struct upstream_set {
	struct upstream_env *env;         /* borrowed */
	const struct upstream_opts *opts; /* borrowed */
	struct retry_budget budget;
	struct node_login *login; /* a reference; NULL: none */
	struct upstream_use *v;   /* owned */
	size_t n;
};

/* Takes over the caller's reference to the fleet. */
struct view *view_new(struct upstream_set *set, struct fleet *f);
/* No request may be in flight. */
void view_free(struct upstream_set *set, struct view *v);
/* The server's name leads there now; another reference is taken. */
void upstream_set_move(struct upstream_set *set, const struct server *s, struct addresses *where);
void upstream_set_fini(struct upstream_set *set);
/* New connections of all of them log in so.  Takes over the reference. */
void upstream_set_use_login(struct upstream_set *set, struct node_login *login);

static inline const struct topology *view_topology(const struct view *v)
{
	return v->fleet->topology;
}

static inline const char *view_node_name(const struct view *v, uint32_t node)
{
	return v->fleet->topology->nodes[node].name;
}
