/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/upstream/upstream.h"

#include <stdlib.h>

#include "base/check.h"
#include "router/upstream/upstream_internal.h"

struct upstream *upstream_new(struct upstream_env *env, struct server *server,
	const struct upstream_opts *opts, struct retry_budget *budget)
{
	struct upstream *up = calloc(1, sizeof(*up));
	CHECK(up != NULL);
	CHECK(env->worker < server->workers);
	up->env = env;
	up->server = server_ref(server);
	up->where = addresses_ref(server->fixed);
	up->m = &server->blocks[env->worker];
	up->opts = opts;
	up->budget = budget;
	return up;
}

void upstream_set_login(struct upstream *up, struct node_login *login)
{
	node_login_unref(up->login);
	up->login = login;
}

void upstream_free(struct upstream *up)
{
	if (up == NULL)
		return;
	upstream_abandon(up);
	CHECK(up->held == 0);
	node_login_unref(up->login);
	script_seen_clear(&up->scripts);
	free(up->shared);
	addresses_unref(up->where);
	server_unref(up->server);
	free(up);
}

void upstream_abandon(struct upstream *up)
{
	for (uint32_t i = 0; i < up->nshared; i++) {
		upconn_free(up->shared[i]);
		up->shared[i] = NULL;
	}
	upstream_abandon_private(up);
}

/* The connection object of a class, made when it is needed. */
static struct upconn *class_conn(struct upstream *up, uint16_t class_id)
{
	CHECK(class_id < UP_CLASSES_MAX);
	if (class_id >= up->nshared) {
		struct upconn **grown =
			realloc(up->shared, (class_id + 1u) * sizeof(struct upconn *));
		CHECK(grown != NULL);
		for (uint32_t i = up->nshared; i <= class_id; i++)
			grown[i] = NULL;
		up->shared = grown;
		up->nshared = class_id + 1u;
	}
	if (up->shared[class_id] == NULL)
		up->shared[class_id] = upconn_new(up, class_id);
	return up->shared[class_id];
}

/* Those in use go first, so that not each new connection is an experiment. */
static void keep_first(struct upstream *up)
{
	up->first = 0;
	for (uint32_t i = 0; i < up->nshared; i++)
		for (uint32_t a = 0; a < up->where->n; a++)
			if (up->shared[i] != NULL && up->shared[i]->state == UP_READY &&
				sock_same(&up->shared[i]->peer, &up->where->at[a]))
				up->first = a;
}

void upstream_move(struct upstream *up, struct addresses *where)
{
	CHECK(where != NULL);
	if (addresses_same(up->where, where)) {
		addresses_unref(where);
		return;
	}
	addresses_unref(up->where);
	up->where = where;
	keep_first(up);
	for (uint32_t i = 0; i < up->nshared; i++)
		if (up->shared[i] != NULL)
			upconn_move(up->shared[i]);
	upstream_discard_moved(up);
}

void upstream_preconnect(struct upstream *up, uint16_t class_id)
{
	struct upconn *c = class_conn(up, class_id);
	if (c->state == UP_CLOSED && up->where != NULL)
		upconn_connect(c);
}

static bool queue_full(const struct upstream *up, const struct upconn *c)
{
	if (up->held < up->opts->queue)
		return false;
	return c->state != UP_READY || upconn_silent(c, loop_now(up->env->loop));
}

/* A connection of this class is opened, if it may.  NULL, and why: it may not, or there was none. */
static struct upconn *open_class(struct upstream *up, uint16_t class_id, enum up_why *ret_why)
{
	bool extra = class_id != up->opts->default_class;
	if (extra && !(upstream_make_place(up) && upstream_make_room(up->env, false))) {
		node_metric_add(up->m, NM_SHARED_REFUSED, 1);
		*ret_why = UP_WHY_NO_SHARED;
		return NULL;
	}
	struct upconn *c = class_conn(up, class_id);
	upconn_connect(c);
	*ret_why = (enum up_why)c->why;
	return c->state == UP_CLOSED && c->nfifo == 0 ? NULL : c;
}

/* Nothing is known against an attempt now, and none is planned for what is in the FIFO. */
static bool may_attempt(const struct upstream *up, const struct upconn *c)
{
	return c == NULL ||
	       (c->state == UP_CLOSED && c->nfifo == 0 && loop_now(up->env->loop) >= c->retry_ns);
}

struct upconn *upstream_conn_slow(struct upstream *up, uint16_t class_id, enum up_why *ret_why)
{
	if (up->where == NULL) {
		*ret_why = UP_WHY_UNRESOLVED;
		return NULL;
	}
	struct upconn *c = class_id < up->nshared ? up->shared[class_id] : NULL;
	if (may_attempt(up, c)) {
		c = open_class(up, class_id, ret_why);
		if (c == NULL)
			return NULL;
	} else if (c->state == UP_CLOSED && c->nfifo == 0) {
		*ret_why = (enum up_why)c->why;
		return NULL;
	}
	if (queue_full(up, c)) {
		node_metric_add(up->m, NM_QUEUE_FULL, 1);
		*ret_why = UP_WHY_QUEUE_FULL;
		return NULL;
	}
	return c;
}

void upstream_flush_all(struct upstream_env *env)
{
	struct upconn *c;
	while ((c = STAILQ_FIRST(&env->dirty)) != NULL) {
		STAILQ_REMOVE_HEAD(&env->dirty, dirty_link);
		c->is_dirty = false;
		upconn_flush(c);
		if (UNLIKELY(c->is_private))
			upconn_settle_lease(c);
	}
	upconn_free_dead(env);
}
