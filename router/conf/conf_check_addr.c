/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "ring/ring.h"
#include "router/conf/conf_internal.h"

/*
 * No address twice: among the listeners of all pools and the admin page (one for all addresses takes
 * those of its port), among the nodes of one pool, and no node that is a listener.
 *
 * Each address is written in one way, so that sorting brings equal ones together: pools may have
 * tens of thousands of nodes.  What is equal here is what addr_eq() calls equal.
 */

struct use {
	char *key; /* owned: the address in its one way */
	const struct conf_pool *pool;
	size_t at; /* in the pool's list: order of the messages */
};

struct uses {
	struct use *v;
	size_t n;
};

static char *key_of(const struct addr *a)
{
	char *key = NULL;
	char host[sizeof(a->host)];
	struct in6_addr v6;
	(void)snprintf(host, sizeof(host), "%s", a->host);
	if (a->family == ADDR_UNIX) {
		CHECK(asprintf(&key, "unix:%s", host) >= 0);
		return key;
	}
	if (inet_pton(AF_INET6, host, &v6) == 1)
		CHECK(inet_ntop(AF_INET6, &v6, host, sizeof(host)) != NULL);
	for (char *p = host; *p != '\0'; p++)
		*p = (char)ascii_lower((uint8_t)*p);
	CHECK(asprintf(&key, "%u %s", (unsigned)a->port, host) >= 0);
	return key;
}

static void uses_add(struct uses *u, const struct addr *a, const struct conf_pool *pool, size_t at)
{
	u->v[u->n++] = (struct use){key_of(a), pool, at};
}

static int use_cmp(const void *left, const void *right)
{
	const struct use *a = left, *b = right;
	int d = strcmp(a->key, b->key);
	if (d != 0)
		return d;
	if (a->pool != b->pool) /* pools are in one array */
		return a->pool < b->pool ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

static struct uses uses_new(size_t max)
{
	struct uses u = {calloc(max + 1, sizeof(struct use)), 0};
	CHECK(u.v != NULL);
	return u;
}

static void uses_sort(struct uses *u)
{
	qsort(u->v, u->n, sizeof(u->v[0]), use_cmp);
}

static void uses_fini(struct uses *u)
{
	for (size_t i = 0; i < u->n; i++)
		free(u->v[i].key);
	free(u->v);
}

static const struct use *uses_find(const struct uses *u, const char *key)
{
	size_t low = 0, high = u->n;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int d = strcmp(u->v[mid].key, key);
		if (d == 0)
			return &u->v[mid];
		if (d < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Listeners
 */

/* Port 0 is a new port each time, so it is never the same address. */
static bool is_new_each_time(const struct addr *a)
{
	return a->family == ADDR_INET && a->port == 0;
}

static struct uses all_listeners(const struct conf *c)
{
	size_t n = 0;
	for (size_t i = 0; i < c->npools; i++)
		n += c->pools[i].nlisten;
	struct uses u = uses_new(n);
	for (size_t i = 0; i < c->npools; i++) {
		const struct conf_pool *p = &c->pools[i];
		for (size_t k = 0; k < p->nlisten; k++) {
			if (!is_new_each_time(&p->listen[k].address))
				uses_add(&u, &p->listen[k].address, p, k);
		}
	}
	uses_sort(&u);
	return u;
}

static const char *listener_text(const struct use *u)
{
	return u->pool->listen[u->at].address.text;
}

static void check_listeners(const struct uses *u, struct conf_report *r)
{
	size_t first = 0; /* of those that are equal */
	for (size_t i = 1; i < u->n; i++) {
		const struct use *a = &u->v[first], *b = &u->v[i];
		if (strcmp(a->key, b->key) != 0)
			first = i;
		else if (a->pool == b->pool)
			conf_problem(r, "pool '%s': listen: %s is given twice", b->pool->name,
				listener_text(b));
		else
			conf_problem(r, "pool '%s': listen: %s is a listener of pool '%s' too",
				b->pool->name, listener_text(b), a->pool->name);
	}
}

/* Of addresses with one port, the one that stands for all of the family leaves none to the others.
 * NULL: it is none of these. */
static const char *any_of(const struct addr *a)
{
	struct in_addr v4;
	struct in6_addr v6;
	if (a->family != ADDR_INET || a->port == 0)
		return NULL;
	if (inet_pton(AF_INET, a->host, &v4) == 1)
		return v4.s_addr == INADDR_ANY ? NULL : "0.0.0.0";
	if (inet_pton(AF_INET6, a->host, &v6) == 1)
		return IN6_IS_ADDR_UNSPECIFIED(&v6) ? NULL : "::";
	return NULL;
}

/* The caller's; NULL: as any_of(). */
static char *any_key(const struct addr *a)
{
	const char *host = any_of(a);
	if (host == NULL)
		return NULL;
	struct addr all = *a;
	(void)snprintf(all.host, sizeof(all.host), "%s", host);
	return key_of(&all);
}

/* The listener of all addresses that takes this one too; NULL: there is none. */
static const struct use *find_any(const struct uses *listeners, const struct addr *a)
{
	char *key = any_key(a);
	const struct use *u = key != NULL ? uses_find(listeners, key) : NULL;
	free(key);
	return u;
}

static void check_any(const struct uses *listeners, struct conf_report *r)
{
	for (size_t i = 0; i < listeners->n; i++) {
		const struct use *one = &listeners->v[i];
		const struct use *all = find_any(listeners, &one->pool->listen[one->at].address);
		if (all != NULL)
			conf_problem(r, "pool '%s': listen: %s is taken by %s of pool '%s'",
				one->pool->name, listener_text(one), listener_text(all),
				all->pool->name);
	}
}

static void check_admin(const struct conf *c, const struct uses *listeners, struct conf_report *r)
{
	if (!c->admin_given || is_new_each_time(&c->admin))
		return;
	char *key = key_of(&c->admin);
	const struct use *u = uses_find(listeners, key);
	if (u != NULL)
		conf_problem(r, "pool '%s': listen: %s is the address of admin too", u->pool->name,
			listener_text(u));
	for (size_t i = 0; i < listeners->n && u == NULL; i++) {
		const struct addr *one = &listeners->v[i].pool->listen[listeners->v[i].at].address;
		char *all = any_key(one);
		if (all != NULL && strcmp(all, key) == 0)
			conf_problem(r, "pool '%s': listen: %s is taken by admin",
				listeners->v[i].pool->name, one->text);
		free(all);
	}
	free(key);
	u = find_any(listeners, &c->admin);
	if (u != NULL)
		conf_problem(r, "admin: %s is taken by %s of pool '%s'", c->admin.text,
			listener_text(u), u->pool->name);
}

/* ------------------------------------------------------------------------------------------------
 * Nodes
 */
static void check_nodes(
	const struct conf_pool *p, const struct uses *listeners, struct conf_report *r)
{
	if (p->nnodes > RING_NODES_MAX)
		return; /* that has been said */
	struct uses u = uses_new(p->nnodes);
	for (size_t i = 0; i < p->nnodes; i++)
		uses_add(&u, &p->nodes[i].address, p, i);
	uses_sort(&u);
	size_t first = 0;
	for (size_t i = 0; i < u.n; i++) {
		const struct conf_node *n = &p->nodes[u.v[i].at];
		bool same = i > 0 && strcmp(u.v[first].key, u.v[i].key) == 0;
		if (same)
			conf_problem(r,
				"pool '%s': node '%s': address: %s is that of node '%s' too",
				p->name, n->name, n->address.text, p->nodes[u.v[first].at].name);
		else
			first = i;
		if (uses_find(listeners, u.v[i].key) != NULL)
			conf_problem(r,
				"pool '%s': node '%s': address: %s is this router's own listener",
				p->name, n->name, n->address.text);
	}
	uses_fini(&u);
}

void conf_check_addresses(const struct conf *c, struct conf_report *r)
{
	struct uses listeners = all_listeners(c);
	check_listeners(&listeners, r);
	check_any(&listeners, r);
	check_admin(c, &listeners, r);
	for (size_t i = 0; i < c->npools; i++)
		check_nodes(&c->pools[i], &listeners, r);
	uses_fini(&listeners);
}
