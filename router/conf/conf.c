/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/conf/conf.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/err.h"
#include "ring/ring.h"
#include "router/conf/conf_internal.h"
#include "router/conf/conf_option.h"
#include "router/conf/conf_value.h"

void conf_init(struct conf *c)
{
	memset(c, 0, sizeof(*c));
	c->pools = calloc(1, sizeof(c->pools[0]));
	CHECK(c->pools != NULL);
	c->npools = 1;
	conf_option_defaults(c, &c->pools[0]);
}

static void pool_fini(struct conf_pool *p)
{
	for (size_t i = 0; i < p->nnodes; i++)
		free(p->nodes[i].name);
	free(p->nodes);
	free(p->listen);
	free(p->name);
}

void conf_fini(struct conf *c)
{
	for (size_t i = 0; i < c->npools; i++)
		pool_fini(&c->pools[i]);
	free(c->pools);
	free(c->router_name);
	free(c->ready_file);
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

void conf_add_listener(struct conf_pool *p, const char *text, struct conf_report *r)
{
	char quoted[CONF_QUOTED_MAX];
	struct addr a;
	const char *why = NULL;
	if (addr_parse(&a, text, &why) == 0 && a.scheme == ADDR_MEMCACHED)
		why = "listening for memcached clients is not built in yet";
	if (why != NULL) {
		conf_problem(
			r, "pool '%s': listen: %s: %s", p->name, conf_quote(quoted, text), why);
		return;
	}
	p->listen = grow(p->listen, p->nlisten, sizeof(p->listen[0]));
	p->listen[p->nlisten++] = a;
}

/* ------------------------------------------------------------------------------------------------
 * Nodes.  The name ends at the first '=' and the weight begins after the last '*', so a path may
 * hold either when the other part is written out.
 */
static const char *node_weight(const char *text, uint32_t *ret)
{
	uint64_t v;
	int r = conf_read_decimal(span_str(text), &v);
	if (r == RW_ESYNTAX)
		return "not a number with at most 3 decimals";
	if (r != 0 || v > RING_WEIGHT_MAX)
		return "not 0 .. 1000";
	*ret = (uint32_t)v;
	return NULL;
}

static const char *node_address(const char *text, struct addr *ret)
{
	const char *why = NULL;
	if (addr_parse(ret, text, &why) != 0)
		return why;
	if (ret->scheme == ADDR_MEMCACHED)
		return "memcached pools are not built in yet";
	if (ret->family == ADDR_INET && ret->port == 0)
		return "port 0 is only for listeners";
	return NULL;
}

/* Cuts `text` up in place.  NULL, or why not, with the part at fault in *ret_key. */
static const char *node_parse(struct conf_node *n, char *text, const char **ret_key)
{
	char *equals = strchr(text, '=');
	char *address = equals != NULL ? equals + 1 : text;
	char *star = strrchr(address, '*');
	const char *why = NULL;

	*ret_key = "weight";
	n->weight_milli = RING_WEIGHT_UNIT;
	if (star != NULL) {
		why = node_weight(star + 1, &n->weight_milli);
		*star = '\0';
	}
	if (why != NULL)
		return why;

	*ret_key = "address";
	why = node_address(address, &n->address);
	if (why != NULL)
		return why;

	*ret_key = "name";
	n->named = equals != NULL;
	if (equals != NULL)
		*equals = '\0';
	n->name = strdup(n->named ? text : n->address.text);
	CHECK(n->name != NULL);
	if (conf_name_ok(span_str(n->name)))
		return NULL;
	return n->named ? "a name is " CONF_NAME_RULE
			: "this address can't be a name: write NAME=ADDR";
}

void conf_add_node(struct conf_pool *p, const char *text, struct conf_report *r)
{
	char *copy = strdup(text);
	CHECK(copy != NULL);
	struct conf_node n = {0};
	const char *key;
	const char *why = node_parse(&n, copy, &key);
	if (why != NULL) {
		char quoted[CONF_QUOTED_MAX];
		conf_problem(r, "pool '%s': node %s: %s: %s", p->name, conf_quote(quoted, text),
			key, why);
		free(n.name);
	} else {
		p->nodes = grow(p->nodes, p->nnodes, sizeof(p->nodes[0]));
		p->nodes[p->nnodes++] = n;
	}
	free(copy);
}
