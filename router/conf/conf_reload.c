/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/conf/conf.h"

/*
 * What differs between two configurations, and whether a process that serves may go from one to the
 * other.  One comparison serves both questions: each difference is of a kind, and each question
 * prints one kind.
 */

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "router/conf/conf_access.h"
#include "router/conf/conf_internal.h"
#include "router/conf/conf_option.h"
#include "router/conf/conf_value.h"

struct compare {
	FILE *out;
	bool reloadable; /* the kind that is printed and counted */
	unsigned count;
};

static void differs(struct compare *d, bool reloadable, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void differs(struct compare *d, bool reloadable, const char *fmt, ...)
{
	va_list ap;
	if (reloadable != d->reloadable)
		return;
	d->count++;
	va_start(ap, fmt);
	(void)fputs(reloadable ? "" : "ringway: ", d->out);
	(void)vfprintf(d->out, fmt, ap);
	(void)fputs(reloadable ? "\n" : ": only a restart changes it\n", d->out);
	va_end(ap);
}

/* ------------------------------------------------------------------------------------------------
 * Options
 */
static void compare_options(struct compare *d, const struct conf *a, const struct conf_pool *pa,
	const struct conf *b, const struct conf_pool *pb)
{
	char was[CONF_SHOWN_MAX], is[CONF_SHOWN_MAX], where[160] = "";
	if (pa != NULL)
		(void)snprintf(where, sizeof(where), "pool '%s': ", pa->name);
	for (size_t i = 0; i < conf_option_count; i++) {
		const struct conf_option *o = &conf_options[i];
		if ((o->scope == CONF_POOL) != (pa != NULL))
			continue;
		const char *old = conf_option_show(o, a, pa, was);
		const char *new = conf_option_show(o, b, pb, is);
		if (strcmp(old, new) != 0)
			differs(d, o->reload, "%s%s: %s -> %s", where, o->key, old, new);
	}
}

/* ------------------------------------------------------------------------------------------------
 * Listeners and nodes
 */
static bool same_listeners(const struct conf_pool *a, const struct conf_pool *b)
{
	if (a->nlisten != b->nlisten)
		return false;
	for (size_t i = 0; i < a->nlisten; i++) {
		const struct conf_listener *x = &a->listen[i], *y = &b->listen[i];
		if (x->proxy != y->proxy || !addr_eq(&x->address, &y->address))
			return false;
	}
	return true;
}

/* A pool's nodes by name: there may be tens of thousands. */
struct by_name {
	const struct conf_node **v; /* owned */
	size_t n;
};

static int name_cmp(const void *left, const void *right)
{
	const struct conf_node *const *a = left, *const *b = right;
	return strcmp((*a)->name, (*b)->name);
}

static struct by_name by_name_new(const struct conf_pool *p)
{
	struct by_name s = {calloc(p->nnodes + 1, sizeof(struct conf_node *)), p->nnodes};
	CHECK(s.v != NULL);
	for (size_t i = 0; i < p->nnodes; i++)
		s.v[i] = &p->nodes[i];
	qsort(s.v, s.n, sizeof(struct conf_node *), name_cmp);
	return s;
}

static const struct conf_node *find_node(const struct by_name *s, const struct conf_node *like)
{
	const struct conf_node **found =
		bsearch(&like, s->v, s->n, sizeof(struct conf_node *), name_cmp);
	return found != NULL ? *found : NULL;
}

static void compare_node(struct compare *d, const struct conf_pool *p, const struct conf_node *a,
	const struct conf_node *b)
{
	char was[CONF_VALUE_MAX], is[CONF_VALUE_MAX];
	if (!addr_eq(&a->address, &b->address))
		differs(d, false, "pool '%s': node '%s': address: %s -> %s", p->name, a->name,
			a->address.text, b->address.text);
	if (a->weight_milli == b->weight_milli)
		return;
	conf_show_decimal(a->weight_milli, was);
	conf_show_decimal(b->weight_milli, is);
	differs(d, false, "pool '%s': node '%s': weight: %s -> %s", p->name, a->name, was, is);
}

static void compare_nodes(struct compare *d, const struct conf_pool *a, const struct conf_pool *b)
{
	bool same_order = a->nnodes == b->nnodes, same_names = true;
	struct by_name in_a = by_name_new(a), in_b = by_name_new(b);
	for (size_t i = 0; i < a->nnodes; i++) {
		const struct conf_node *x = &a->nodes[i], *y = find_node(&in_b, x);
		same_order = same_order && y == &b->nodes[i];
		same_names = same_names && y != NULL;
		if (y != NULL)
			compare_node(d, a, x, y);
		else
			differs(d, false, "pool '%s': node '%s' is gone", a->name, x->name);
	}
	for (size_t i = 0; i < b->nnodes; i++) {
		if (find_node(&in_a, &b->nodes[i]) == NULL) {
			same_names = false;
			differs(d, false, "pool '%s': node '%s' is new", a->name, b->nodes[i].name);
		}
	}
	if (same_names && !same_order)
		differs(d, false, "pool '%s': nodes: another order", a->name);
	free(in_a.v);
	free(in_b.v);
}

/* ------------------------------------------------------------------------------------------------
 * Users
 */
static void compare_users(struct compare *d, const char *pool, const struct conf_access *a,
	const struct conf_access *b)
{
	for (size_t i = 0; i < a->nusers; i++) {
		const struct conf_user *x = &a->users[i];
		const struct conf_user *y = conf_access_user(b, span_str(x->name));
		if (y == NULL) {
			differs(d, true, "pool '%s': user '%s' is gone", pool, x->name);
			continue;
		}
		if (!conf_user_passwords_eq(x, y))
			differs(d, true, "pool '%s': user '%s': passwords", pool, x->name);
		if (!conf_user_denied_eq(x, y))
			differs(d, true, "pool '%s': user '%s': deny", pool, x->name);
	}
	for (size_t i = 0; i < b->nusers; i++) {
		if (conf_access_user(a, span_str(b->users[i].name)) == NULL)
			differs(d, true, "pool '%s': user '%s' is new", pool, b->users[i].name);
	}
	if (!conf_access_node_eq(a, b))
		differs(d, true, "pool '%s': node_auth", pool);
}

/* ------------------------------------------------------------------------------------------------
 * Pools
 */
static const struct conf_pool *find_pool(const struct conf *c, const char *name)
{
	for (size_t i = 0; i < c->npools; i++) {
		if (strcmp(c->pools[i].name, name) == 0)
			return &c->pools[i];
	}
	return NULL;
}

static void compare_pool(struct compare *d, const struct conf *a, const struct conf_pool *x,
	const struct conf *b, const struct conf_pool *y)
{
	compare_options(d, a, x, b, y);
	if (!same_listeners(x, y))
		differs(d, false, "pool '%s': listen", x->name);
	compare_users(d, x->name, x->access, y->access);
	compare_nodes(d, x, y);
}

static void compare_pools(struct compare *d, const struct conf *a, const struct conf *b)
{
	bool same_order = a->npools == b->npools, same_names = true;
	for (size_t i = 0; i < a->npools; i++) {
		const struct conf_pool *x = &a->pools[i], *y = find_pool(b, x->name);
		same_order = same_order && y == &b->pools[i];
		same_names = same_names && y != NULL;
		if (y != NULL)
			compare_pool(d, a, x, b, y);
		else
			differs(d, false, "pool '%s' is gone", x->name);
	}
	for (size_t i = 0; i < b->npools; i++) {
		if (find_pool(a, b->pools[i].name) == NULL) {
			same_names = false;
			differs(d, false, "pool '%s' is new", b->pools[i].name);
		}
	}
	if (same_names && !same_order)
		differs(d, false, "pools: another order");
}

static unsigned compare(const struct conf *a, const struct conf *b, FILE *out, bool reloadable)
{
	struct compare d = {.out = out, .reloadable = reloadable};
	compare_options(&d, a, NULL, b, NULL);
	compare_pools(&d, a, b);
	return d.count;
}

unsigned conf_reload_check(const struct conf *running, const struct conf *fresh, FILE *err)
{
	return compare(running, fresh, err, false);
}

unsigned conf_print_changes(const struct conf *running, const struct conf *fresh, FILE *out)
{
	return compare(running, fresh, out, true);
}

/* ------------------------------------------------------------------------------------------------
 * Taking over
 */
static void swap_access(struct conf_pool *a, struct conf_pool *b)
{
	struct conf_access *old = a->access;
	a->access = b->access;
	b->access = old;
}

void conf_take_reloaded(struct conf *running, struct conf *fresh)
{
	running->limits = fresh->limits;
	running->log_level = fresh->log_level;
	running->drain_timeout_ns = fresh->drain_timeout_ns;
	/* conf_reload_check() has found the same pools in both */
	for (size_t i = 0; i < running->npools; i++)
		for (size_t k = 0; k < fresh->npools; k++)
			if (strcmp(running->pools[i].name, fresh->pools[k].name) == 0)
				swap_access(&running->pools[i], &fresh->pools[k]);
}
