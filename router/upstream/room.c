/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/upstream/room.h"

#include "base/check.h"
#include "router/upstream/private.h"
#include "router/upstream/upstream_internal.h"

/* Asked to give way: what was used since is kept, or it would be opened again at once. */
#define GIVE_WAY_AFTER NS_PER_S

/* Nobody uses it.  What is sent is acknowledged last, so one whose replies are being read is in use. */
static bool is_idle(const struct upconn *c)
{
	return c->state == UP_READY && c->nfifo == 0 && sendq_held(&c->out) == 0 &&
	       !(c->is_private && c->leased);
}

void upconn_retire(struct upconn *c)
{
	struct upstream_env *env = c->up->env;
	CHECK(!c->is_private && c->nfifo == 0);
	c->up->shared[c->class_id] = NULL;
	if (c->state != UP_CLOSED) {
		log_debug("upstream", "idle connection closed", "server=%s worker=%zu class=%u",
			c->up->server->address.text, env->worker, c->class_id);
		node_metric_add(c->up->m, NM_IDLE_CLOSED, 1);
		upconn_end(c, UP_WHY_NONE);
	}
	upconn_disarm(c);
	if (c->is_dirty)
		STAILQ_REMOVE(&env->dirty, c, upconn, dirty_link);
	c->is_dirty = false;
	SLIST_INSERT_HEAD(&env->dead, c, dead_link);
}

static void close_idle(struct upconn *c)
{
	if (c->is_private)
		upconn_discard(c);
	else
		upconn_retire(c);
}

/* a is worth less than b (NULL: nothing). */
static bool goes_before(const struct upconn *a, const struct upconn *b)
{
	if (b == NULL || a->is_private != b->is_private)
		return b == NULL || a->is_private;
	return a->read_ns < b->read_ns;
}

bool upstream_close_one_idle(struct upstream_env *env)
{
	struct upconn *c, *least = NULL;
	uint64_t now = loop_now(env->loop);
	if (env->all_busy_ns == now)
		return false; /* looked in this turn already */
	LIST_FOREACH (c, &env->extra, extra_link)
		if (is_idle(c) && goes_before(c, least))
			least = c;
	if (least != NULL)
		close_idle(least);
	else
		env->all_busy_ns = now;
	return least != NULL;
}

bool upstream_make_room(struct upstream_env *env, bool for_private)
{
	struct upstream_room *room = env->room;
	if (room == NULL)
		return true;
	uint32_t limit = atomic_load_explicit(&room->limit, memory_order_relaxed);
	if (for_private)
		limit -= limit / 4;
	if (atomic_load_explicit(&room->used, memory_order_relaxed) < limit)
		return true;
	if (upstream_close_one_idle(env))
		return true;
	atomic_fetch_add_explicit(&room->refused, 1, memory_order_relaxed);
	return false;
}

bool upstream_make_place(struct upstream *up)
{
	struct upconn *least = NULL;
	if (up->nextra < up->opts->shared_per_node)
		return true;
	for (uint32_t i = 0; i < up->nshared; i++) {
		struct upconn *c = up->shared[i];
		if (c != NULL && upconn_is_extra(c) && is_idle(c) && goes_before(c, least))
			least = c;
	}
	if (least == NULL)
		return false;
	upconn_retire(least);
	return true;
}

void upconn_count_extra(struct upconn *c)
{
	struct upstream_env *env = c->up->env;
	LIST_INSERT_HEAD(&env->extra, c, extra_link);
	c->up->nextra += !c->is_private;
	if (env->room != NULL)
		atomic_fetch_add_explicit(&env->room->used, 1, memory_order_relaxed);
}

void upconn_uncount_extra(struct upconn *c)
{
	struct upstream_env *env = c->up->env;
	LIST_REMOVE(c, extra_link);
	c->up->nextra -= !c->is_private;
	if (env->room != NULL)
		atomic_fetch_sub_explicit(&env->room->used, 1, memory_order_relaxed);
}

void upstream_give_way(struct upstream_env *env)
{
	struct upconn *c, *next;
	if (env->room == NULL)
		return;
	uint32_t refused = atomic_load_explicit(&env->room->refused, memory_order_relaxed);
	if (refused == env->refused_seen)
		return;
	env->refused_seen = refused;
	for (c = LIST_FIRST(&env->extra); c != NULL; c = next) {
		next = LIST_NEXT(c, extra_link);
		if (is_idle(c) && loop_now(env->loop) - c->read_ns >= GIVE_WAY_AFTER)
			close_idle(c);
	}
}
