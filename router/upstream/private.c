/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/upstream/private.h"

#include "base/check.h"
#include "router/upstream/upstream_internal.h"

/* ---- places -------------------------------------------------------------------------------- */

/* Workers share the places of a server. */
static bool take_place(struct upstream *up)
{
	uint32_t before = atomic_fetch_add_explicit(&up->server->leased, 1, memory_order_relaxed);
	if (before < up->opts->private_per_node) {
		node_metric_add(up->m, NM_LEASED, 1);
		return true;
	}
	atomic_fetch_sub_explicit(&up->server->leased, 1, memory_order_relaxed);
	node_metric_add(up->m, NM_LEASES_REFUSED, 1);
	return false;
}

static void give_place(struct upstream *up)
{
	atomic_fetch_sub_explicit(&up->server->leased, 1, memory_order_relaxed);
	node_metric_add(up->m, NM_LEASED, (uint64_t)-1);
}

/* ---- lists --------------------------------------------------------------------------------- */

static void leave_list(struct upconn *c)
{
	LIST_REMOVE(c, private_link);
	if (c->has_place)
		give_place(c->up);
	if (!c->leased)
		c->up->nidle--;
	c->leased = c->has_place = false;
	c->tenant = NULL;
}

static void become_leased(struct upconn *c, void *tenant)
{
	c->leased = c->has_place = true;
	c->tenant = tenant;
	LIST_INSERT_HEAD(&c->up->leased, c, private_link);
}

static uint32_t idle_max(const struct upstream *up)
{
	uint32_t share = up->opts->private_per_node / (uint32_t)up->server->workers;
	return share > 0 ? share : 1;
}

static void become_idle(struct upconn *c)
{
	leave_list(c);
	c->streaming = false;
	LIST_INSERT_HEAD(&c->up->idle, c, private_link);
	c->up->nidle++;
	upconn_arm(c, c->up->opts->private_idle_ns);
}

static struct upconn *find_idle(const struct upstream *up, uint16_t class_id)
{
	struct upconn *c;
	LIST_FOREACH (c, &up->idle, private_link)
		if (c->class_id == class_id)
			return c;
	return NULL;
}

/* ---- leasing ------------------------------------------------------------------------------- */

/* What the shared connections know of a server that can't be reached. */
static enum up_why known_down(const struct upstream *up)
{
	enum up_why why = UP_WHY_NONE;
	uint64_t now = loop_now(up->env->loop);
	for (uint32_t i = 0; i < up->nshared; i++) {
		const struct upconn *c = up->shared[i];
		if (c == NULL)
			continue;
		if (c->state == UP_READY)
			return UP_WHY_NONE;
		if (c->state == UP_CLOSED && now < c->retry_ns)
			why = (enum up_why)c->why;
	}
	return why;
}

static struct upconn *fresh(
	struct upstream *up, uint16_t class_id, void *tenant, enum up_why *ret_why)
{
	struct upconn *c = upconn_new(up, class_id);
	c->is_private = true;
	become_leased(c, NULL);
	upconn_connect(c);
	if (c->state == UP_CLOSED) { /* and on its way to be buried */
		*ret_why = (enum up_why)c->why;
		return NULL;
	}
	c->tenant = tenant;
	return c;
}

struct upconn *upstream_lease(
	struct upstream *up, uint16_t class_id, void *tenant, enum up_why *ret_why)
{
	struct upconn *c = find_idle(up, class_id);
	*ret_why = c != NULL ? UP_WHY_NONE : up->where == NULL ? UP_WHY_UNRESOLVED : known_down(up);
	if (*ret_why != UP_WHY_NONE)
		return NULL;
	if (!take_place(up)) {
		*ret_why = UP_WHY_NO_PRIVATE;
		return NULL;
	}
	if (c == NULL && !upstream_make_room(up->env, true)) {
		give_place(up);
		node_metric_add(up->m, NM_LEASES_REFUSED, 1);
		*ret_why = UP_WHY_NO_PRIVATE;
		return NULL;
	}
	if (c == NULL)
		return fresh(up, class_id, tenant, ret_why);
	upconn_disarm(c);
	leave_list(c);
	become_leased(c, tenant);
	return c;
}

/* ---- the end of a lease -------------------------------------------------------------------- */

/* It can serve somebody else: nothing is under way, and the server is still there. */
static bool reusable(const struct upconn *c)
{
	return c->state == UP_READY && !c->soiled && sendq_held(&c->out) == 0 &&
	       c->up->nidle < idle_max(c->up) && addresses_have(c->up->where, &c->peer);
}

void upconn_settle_lease(struct upconn *c)
{
	if (!c->leased || c->tenant != NULL || c->nfifo > 0)
		return;
	if (reusable(c))
		become_idle(c);
	else
		upconn_discard(c);
}

void upconn_release(struct upconn *c)
{
	c->tenant = NULL;
	if (c->state != UP_CLOSED)
		upconn_touch(c); /* settled at the end of the turn: a reply may be half read now */
}

void upconn_leave_clean(struct upconn *c)
{
	if (c->has_place)
		give_place(c->up);
	c->has_place = false;
	upconn_release(c);
}

void upconn_discard(struct upconn *c)
{
	c->tenant = NULL;
	if (c->state == UP_CLOSED)
		return;
	log_debug("upstream", "private connection closed", "server=%s worker=%zu class=%u",
		c->up->server->address.text, c->up->env->worker, c->class_id);
	upconn_end(c, UP_WHY_BROKEN);
}

void upconn_stream_begin(struct upconn *c, struct part *p)
{
	c->streaming = c->soiled = true;
	p->flags |= PART_SENT;
	upconn_add(c, p, 0);
}

void upconn_stream(struct upconn *c, const void *bytes, size_t n)
{
	sendq_append(&upconn_loop(c)->pool, &c->out, bytes, n);
	upconn_touch(c);
}

void upconn_stream_chunk(struct upconn *c, struct chunk *chunk)
{
	sendq_push(&upconn_loop(c)->pool, &c->out, chunk);
	upconn_touch(c);
}

void upconn_stream_end(struct upconn *c)
{
	c->soiled = false;
	if (c->state == UP_READY)
		upconn_watch_oldest(c);
}

void upconn_give_up(struct upconn *c, const char *why)
{
	upconn_close(c, UP_WHY_TIMEOUT, why);
}

void upconn_change_class(struct upconn *c, uint16_t class_id)
{
	CHECK(c->is_private);
	c->class_id = class_id;
}

void upconn_bury(struct upconn *c)
{
	void *tenant = c->tenant;
	struct upstream_env *env = c->up->env;
	leave_list(c);
	if (c->is_dirty)
		STAILQ_REMOVE(&env->dirty, c, upconn, dirty_link);
	c->is_dirty = false;
	SLIST_INSERT_HEAD(&env->dead, c, dead_link);
	if (tenant != NULL)
		env->ops->lost(tenant, (enum up_why)c->why);
}

void upconn_free_dead(struct upstream_env *env)
{
	struct upconn *c;
	while ((c = SLIST_FIRST(&env->dead)) != NULL) {
		SLIST_REMOVE_HEAD(&env->dead, dead_link);
		upconn_free(c);
	}
}

void upstream_discard_moved(struct upstream *up)
{
	struct upconn *c, *next;
	for (c = LIST_FIRST(&up->idle); c != NULL; c = next) {
		next = LIST_NEXT(c, private_link);
		if (!addresses_have(up->where, &c->peer))
			upconn_discard(c);
	}
}

void upstream_abandon_private(struct upstream *up)
{
	struct upconn *c;
	while ((c = LIST_FIRST(&up->idle)) != NULL)
		upconn_discard(c);
	while ((c = LIST_FIRST(&up->leased)) != NULL)
		upconn_end(c, UP_WHY_BROKEN);
	upconn_free_dead(up->env);
}
