/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/view.h"

#include <stdlib.h>

#include "base/check.h"

static struct upstream *use(struct upstream_set *set, struct server *s)
{
	for (size_t i = 0; i < set->n; i++) {
		if (set->v[i].up->server == s) {
			set->v[i].users++;
			return set->v[i].up;
		}
	}
	struct upstream_use *grown = realloc(set->v, (set->n + 1) * sizeof(*grown));
	CHECK(grown != NULL);
	set->v = grown;
	struct upstream *up = upstream_new(set->env, s, set->opts, &set->budget);
	upstream_set_login(up, node_login_ref(set->login));
	set->v[set->n] = (struct upstream_use){.up = up, .users = 1};
	return set->v[set->n++].up;
}

static void unuse(struct upstream_set *set, struct upstream *up)
{
	for (size_t i = 0; i < set->n; i++) {
		if (set->v[i].up != up)
			continue;
		if (--set->v[i].users > 0)
			return;
		upstream_free(up);
		set->v[i] = set->v[--set->n];
		return;
	}
	UNREACHABLE();
}

struct view *view_new(struct upstream_set *set, struct fleet *f)
{
	struct view *v = calloc(1, sizeof(*v));
	CHECK(v != NULL);
	v->fleet = f;
	v->current = true;
	v->up = calloc(f->topology->nnodes + 1, sizeof(struct upstream *));
	CHECK(v->up != NULL);
	for (size_t i = 0; i < f->topology->nnodes; i++)
		v->up[i] = use(set, f->servers[i]);
	return v;
}

void view_free(struct upstream_set *set, struct view *v)
{
	CHECK(v->inflight == 0);
	for (size_t i = 0; i < v->fleet->topology->nnodes; i++)
		unuse(set, v->up[i]);
	free(v->up);
	fleet_unref(v->fleet);
	free(v);
}

void upstream_set_move(struct upstream_set *set, const struct server *s, struct addresses *where)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->v[i].up->server == s)
			upstream_move(set->v[i].up, addresses_ref(where));
}

void upstream_set_fini(struct upstream_set *set)
{
	CHECK(set->n == 0);
	free(set->v);
	set->v = NULL;
	node_login_unref(set->login);
	set->login = NULL;
}

void upstream_set_use_login(struct upstream_set *set, struct node_login *login)
{
	node_login_unref(set->login);
	set->login = login;
	for (size_t i = 0; i < set->n; i++)
		upstream_set_login(set->v[i].up, node_login_ref(login));
}
