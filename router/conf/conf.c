/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/conf/conf.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/err.h"
#include "ring/ring.h"
#include "router/conf/conf_access.h"
#include "router/conf/conf_internal.h"
#include "router/conf/conf_option.h"
#include "router/conf/conf_schema.h"
#include "router/conf/conf_value.h"

void conf_init(struct conf *c)
{
	memset(c, 0, sizeof(*c));
	conf_option_defaults(CONF_ROUTER, c, NULL);
}

static void pool_fini(struct conf_pool *p)
{
	conf_clear_nodes(p);
	conf_clear_listeners(p);
	conf_access_free(p->access);
	free(p->name);
}

void conf_fini(struct conf *c)
{
	for (size_t i = 0; i < c->npools; i++)
		pool_fini(&c->pools[i]);
	free(c->pools);
	free(c->router_name);
	free(c->ready_file);
	free(c->file);
	for (int i = 0; i < c->argc; i++)
		free(c->argv[i]);
	free(c->argv);
	memset(c, 0, sizeof(*c));
}

/* Room for one more element; the array doubles whenever its length is a power of two. */
static void *grow(void *array, size_t n, size_t size)
{
	if (n != 0 && (n & (n - 1)) != 0)
		return array;
	void *bigger = reallocarray(array, n == 0 ? 1 : 2 * n, size);
	CHECK(bigger != NULL);
	return bigger;
}

struct conf_pool *conf_add_pool(struct conf *c, const char *name)
{
	c->pools = grow(c->pools, c->npools, sizeof(c->pools[0]));
	struct conf_pool *p = &c->pools[c->npools++];
	memset(p, 0, sizeof(*p));
	p->name = strdup(name);
	CHECK(p->name != NULL);
	p->access = conf_access_new();
	conf_option_defaults(CONF_POOL, NULL, p);
	return p;
}

/* ------------------------------------------------------------------------------------------------
 * Listeners
 */

/* Cuts off what follows the address.  False: it is none of the words that may. */
static bool cut_listener_words(char *text, bool *ret_proxy)
{
	char *space = strchr(text, ' ');
	*ret_proxy = false;
	if (space == NULL)
		return true;
	*ret_proxy = strcmp(space + strspn(space, " "), "proxy") == 0;
	*space = '\0';
	return *ret_proxy;
}

static const char *parse_listener(struct conf_listener *l, char *text)
{
	const char *why = NULL;
	if (!cut_listener_words(text, &l->proxy))
		return "only `proxy` may follow an address";
	if (addr_parse(&l->address, text, &why) != 0)
		return why;
	if (l->address.scheme == ADDR_MEMCACHED)
		return "listening for memcached clients is not built in yet";
	return NULL;
}

void conf_add_listener(struct conf_pool *p, const char *text, struct conf_report *r)
{
	struct conf_listener l = {0};
	char *copy = strdup(text);
	CHECK(copy != NULL);
	const char *why = parse_listener(&l, copy);
	free(copy);
	if (why != NULL) {
		char quoted[CONF_QUOTED_MAX];
		conf_problem(
			r, "pool '%s': listen: %s: %s", p->name, conf_quote(quoted, text), why);
		return;
	}
	p->listen = grow(p->listen, p->nlisten, sizeof(p->listen[0]));
	p->listen[p->nlisten++] = l;
}

void conf_clear_listeners(struct conf_pool *p)
{
	free(p->listen);
	p->listen = NULL;
	p->nlisten = 0;
}

/* ------------------------------------------------------------------------------------------------
 * Nodes
 */
static const char *set_weight(struct conf_node *n, const char *text)
{
	uint64_t v;
	int r = conf_read_decimal(span_str(text), &v);
	if (r == RW_ESYNTAX)
		return "not a number with at most 3 decimals";
	if (r != 0 || v > RING_WEIGHT_MAX)
		return "not 0 .. 1000";
	n->weight_milli = (uint32_t)v;
	return NULL;
}

static const char *set_address(struct conf_node *n, const char *text)
{
	const char *why = NULL;
	if (addr_parse(&n->address, text, &why) != 0)
		return why;
	if (n->address.scheme == ADDR_MEMCACHED)
		return "memcached pools are not built in yet";
	if (n->address.family == ADDR_INET && n->address.port == 0)
		return "port 0 is only for listeners";
	return NULL;
}

/* NULL: the address, which was set before, is the name. */
static const char *set_name(struct conf_node *n, const char *name)
{
	n->named = name != NULL;
	n->name = strdup(n->named ? name : n->address.text);
	CHECK(n->name != NULL);
	if (conf_name_ok(span_str(n->name)))
		return NULL;
	return n->named ? "a name is " CONF_NAME_RULE
			: "this address can't be a name: give the node one (NAME=ADDR)";
}

/* Of a node that has all of them. */
static void add_node(struct conf_pool *p, const struct conf_node *n)
{
	p->nodes = grow(p->nodes, p->nnodes, sizeof(p->nodes[0]));
	p->nodes[p->nnodes++] = *n;
}

/*
 * Cuts `text` up in place: the name ends at the first '=' and the weight begins after the last '*',
 * so a path may hold either when the other part is written out.  NULL, or why not, with the part at
 * fault in *ret_key.
 */
static const char *parse_node(struct conf_node *n, char *text, const char **ret_key)
{
	char *equals = strchr(text, '=');
	char *address = equals != NULL ? equals + 1 : text;
	char *star = strrchr(address, '*');
	const char *why = NULL;

	*ret_key = "weight";
	if (star != NULL) {
		why = set_weight(n, star + 1);
		*star = '\0';
	}
	if (why != NULL)
		return why;

	*ret_key = "address";
	why = set_address(n, address);
	if (why != NULL)
		return why;

	*ret_key = "name";
	if (equals != NULL)
		*equals = '\0';
	return set_name(n, equals != NULL ? text : NULL);
}

void conf_add_node(struct conf_pool *p, const char *text, struct conf_report *r)
{
	char *copy = strdup(text);
	CHECK(copy != NULL);
	struct conf_node n = {.weight_milli = RING_WEIGHT_UNIT};
	const char *key;
	const char *why = parse_node(&n, copy, &key);
	if (why == NULL) {
		add_node(p, &n);
	} else {
		char quoted[CONF_QUOTED_MAX];
		conf_problem(r, "pool '%s': node %s: %s: %s", p->name, conf_quote(quoted, text),
			key, why);
		free(n.name);
	}
	free(copy);
}

/* True: nothing to complain about in this key of a node. */
static bool node_key_ok(const struct conf_pool *p, const struct file_node *f, const char *key,
	char *const *slot, const char *why, struct conf_report *r)
{
	char node[CONF_QUOTED_MAX], value[CONF_QUOTED_MAX];
	if (why == NULL)
		return true;
	r->slot = slot;
	conf_problem(r, "pool '%s': node %s: %s: %s: %s", p->name,
		conf_quote(node, f->name != NULL ? f->name : f->address), key,
		conf_quote(value, *slot), why);
	r->slot = NULL;
	return false;
}

void conf_add_file_node(struct conf_pool *p, const struct file_node *f, struct conf_report *r)
{
	struct conf_node n = {.weight_milli = RING_WEIGHT_UNIT};
	bool good = true;
	if (f->weight != NULL)
		good = node_key_ok(p, f, "weight", &f->weight, set_weight(&n, f->weight), r);
	if (!node_key_ok(p, f, "address", &f->address, set_address(&n, f->address), r))
		return; /* nothing to name it by */
	char *const *name_slot = f->name != NULL ? &f->name : &f->address;
	if (node_key_ok(p, f, "name", name_slot, set_name(&n, f->name), r) && good)
		add_node(p, &n);
	else
		free(n.name);
}

void conf_clear_nodes(struct conf_pool *p)
{
	for (size_t i = 0; i < p->nnodes; i++)
		free(p->nodes[i].name);
	free(p->nodes);
	p->nodes = NULL;
	p->nnodes = 0;
}
