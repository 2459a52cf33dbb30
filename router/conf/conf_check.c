/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/conf/conf_internal.h"

/*
 * Checks of meaning: values that are right by themselves and wrong together.  A message names the
 * pool, the node and the key.  Nothing is changed here.
 */

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "ring/ring.h"
#include "router/conf/conf_access.h"
#include "router/conf/conf_option.h"
#include "router/conf/conf_value.h"

static void check_listeners(const struct conf_pool *p, struct conf_report *r)
{
	if (p->nlisten == 0)
		conf_problem(
			r, "pool '%s': listen: no address to listen on (--listen ADDR)", p->name);
}

/* ------------------------------------------------------------------------------------------------
 * Nodes
 */
struct by_name {
	struct span name;
	size_t at; /* place in the list */
};

static int by_name_cmp(const void *left, const void *right)
{
	const struct by_name *a = left, *b = right;
	int d = span_cmp(a->name, b->name);
	if (d != 0)
		return d;
	return a->at < b->at ? -1 : a->at > b->at;
}

static void check_names(const struct conf_pool *p, struct conf_report *r)
{
	struct by_name *sorted = calloc(p->nnodes + 1, sizeof(*sorted));
	CHECK(sorted != NULL);
	for (size_t i = 0; i < p->nnodes; i++)
		sorted[i] = (struct by_name){span_str(p->nodes[i].name), i};
	qsort(sorted, p->nnodes, sizeof(*sorted), by_name_cmp);
	for (size_t i = 1; i < p->nnodes; i++) {
		if (!span_eq(sorted[i].name, sorted[i - 1].name))
			continue;
		conf_problem(r, "pool '%s': node '%s': name: two nodes have it, %s and %s", p->name,
			p->nodes[sorted[i].at].name, p->nodes[sorted[i - 1].at].address.text,
			p->nodes[sorted[i].at].address.text);
	}
	free(sorted);
}

static void check_weights(const struct conf_pool *p, struct conf_report *r)
{
	uint64_t points = 0;
	for (size_t i = 0; i < p->nnodes; i++)
		points += ((uint64_t)p->ring_points * p->nodes[i].weight_milli + RING_WEIGHT_UNIT -
				  1) /
			  RING_WEIGHT_UNIT;
	if (points == 0)
		conf_problem(r,
			"pool '%s': weight: it is 0 for every node, so nobody would own a key",
			p->name);
	if (points > RING_POINTS_TOTAL_MAX)
		conf_problem(r,
			"pool '%s': ring.points: %u and these weights make more than %u points in "
			"all",
			p->name, p->ring_points, RING_POINTS_TOTAL_MAX);
}

static void check_nodes(const struct conf_pool *p, struct conf_report *r)
{
	if (p->nnodes == 0) {
		conf_problem(r, "pool '%s': nodes: there is none (--node [NAME=]ADDR[*WEIGHT])",
			p->name);
		return;
	}
	if (p->nnodes > RING_NODES_MAX) {
		conf_problem(r, "pool '%s': nodes: more than %d", p->name, RING_NODES_MAX);
		return;
	}
	check_names(p, r);
	check_weights(p, r);
}

/* ------------------------------------------------------------------------------------------------
 * Options
 */
static void check_on_failure(const struct conf_pool *p, struct conf_report *r)
{
	const char *why = NULL;
	switch (p->on_failure) {
	case ON_FAILURE_FAIL_FAST:
		return;
	case ON_FAILURE_EJECT:
		if (p->role == ROLE_STORE)
			why = "is refused with role store: its keys may not change their owner";
		else if (!p->sole_router)
			why = "is refused without sole_router: several static routers would "
			      "diverge";
		else
			why = "is not built in yet: use fail_fast";
		break;
	}
	conf_problem(r, "pool '%s': on_failure: eject %s", p->name, why);
}

/* Words that are known, so that they can be refused by name. */
static void check_later(const struct conf_pool *p, struct conf_report *r)
{
	char buf[CONF_SHOWN_MAX];
	if (p->protocol != PROTOCOL_REDIS)
		conf_problem(r, "pool '%s': protocol: %s is not built in yet: use redis", p->name,
			conf_option_show(conf_option_find("protocol"), NULL, p, buf));
	if (p->ring_mode != RING_MODE_NATIVE)
		conf_problem(r, "pool '%s': ring.mode: %s is not built in yet: use native", p->name,
			conf_option_show(conf_option_find("ring.mode"), NULL, p, buf));
}

static void check_limits(const struct conf_limits *l, struct conf_report *r)
{
	char bulk[CONF_VALUE_MAX], request[CONF_VALUE_MAX];
	if (l->bulk <= l->request_size)
		return;
	conf_show_size(l->bulk, bulk);
	conf_show_size(l->request_size, request);
	conf_problem(
		r, "limits.bulk: %s is more than limits.request_size, which is %s", bulk, request);
}

static void check_backoff(const struct conf_pool *p, struct conf_report *r)
{
	char first[CONF_VALUE_MAX], longest[CONF_VALUE_MAX];
	if (p->backoff_ns <= p->backoff_max_ns)
		return;
	conf_show_time(p->backoff_ns, first);
	conf_show_time(p->backoff_max_ns, longest);
	conf_problem(r,
		"pool '%s': upstream.backoff: %s is more than upstream.backoff_max, which is %s",
		p->name, first, longest);
}

static void check_pool_name(const struct conf *c, size_t at, struct conf_report *r)
{
	for (size_t i = 0; i < at; i++) {
		if (strcmp(c->pools[i].name, c->pools[at].name) == 0) {
			conf_problem(r, "pool '%s': name: two pools have it", c->pools[at].name);
			return;
		}
	}
}

static void check_pool(const struct conf *c, size_t at, struct conf_report *r)
{
	const struct conf_pool *p = &c->pools[at];
	check_pool_name(c, at, r);
	if (p->from_file && !p->role_given)
		conf_problem(r, "pool '%s': role: a file must say it: cache or store", p->name);
	check_listeners(p, r);
	check_nodes(p, r);
	check_later(p, r);
	check_on_failure(p, r);
	check_backoff(p, r);
}

void conf_check(const struct conf *c, struct conf_report *r)
{
	check_limits(&c->limits, r);
	if (c->npools == 0)
		conf_problem(r, "pools: there is none (in the file, or --listen and --node)");
	for (size_t i = 0; i < c->npools; i++)
		check_pool(c, i, r);
	conf_check_addresses(c, r);
}
