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
 * No address twice: among the listeners of all pools and the admin page, among the nodes of one
 * pool, and no node that is a listener.
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

static void check_admin(const struct conf *c, const struct uses *listeners, struct conf_report *r)
{
	if (!c->admin_given || is_new_each_time(&c->admin))
		return;
	char *key = key_of(&c->admin);
	const struct use *u = uses_find(listeners, key);
	if (u != NULL)
		conf_problem(r, "pool '%s': listen: %s is the address of admin too", u->pool->name,
			listener_text(u));
	free(key);
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
	check_admin(c, &listeners, r);
	for (size_t i = 0; i < c->npools; i++)
		check_nodes(&c->pools[i], &listeners, r);
	uses_fini(&listeners);
}
