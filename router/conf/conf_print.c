/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/conf/conf.h"

/*
 * What -t prints: `key: value` lines for every option, which --set takes back, then what the pool
 * listens on, its nodes and the connections they will see.  Lines that begin with # are for people.
 */

#include <stdlib.h>

#include "base/check.h"
#include "base/err.h"
#include "ring/ring.h"
#include "router/conf/conf_option.h"
#include "router/conf/conf_value.h"

static void print_options(
	const struct conf *c, const struct conf_pool *p, enum conf_scope scope, FILE *out)
{
	char buf[CONF_SHOWN_MAX];
	for (size_t i = 0; i < conf_option_count; i++) {
		const struct conf_option *o = &conf_options[i];
		if (o->scope == scope)
			(void)fprintf(out, "%s: %s\n", o->key, conf_option_show(o, c, p, buf));
	}
}

static int build_ring(const struct conf_pool *p, struct ring **ret)
{
	struct ring_node *nodes = calloc(p->nnodes + 1, sizeof(*nodes));
	CHECK(nodes != NULL);
	for (size_t i = 0; i < p->nnodes; i++)
		nodes[i] = (struct ring_node){span_str(p->nodes[i].name), p->nodes[i].weight_milli};
	int r = ring_build(ret, nodes, p->nnodes, &(struct ring_opts){.points = p->ring_points});
	free(nodes);
	return r;
}

static void print_node(const struct conf_node *n, double share, FILE *out)
{
	char address[ADDR_TEXT_MAX], weight[CONF_VALUE_MAX];
	conf_show_decimal(n->weight_milli, weight);
	(void)fprintf(out, "node: name=%s address=%s weight=%s share=%.2f%%\n", n->name,
		addr_print(&n->address, address, sizeof(address)), weight, share * 100.0);
	if (!n->named)
		(void)fprintf(out, "# ^ changing the address moves its keys: name it\n");
}

static void print_nodes(const struct conf_pool *p, FILE *out)
{
	struct ring *ring;
	int r = build_ring(p, &ring);
	if (r != 0) {
		(void)fprintf(out, "# no ring: %s\n", rw_strerror(r));
		return;
	}
	for (size_t i = 0; i < p->nnodes; i++)
		print_node(&p->nodes[i], ring_share(ring, (uint32_t)i), out);
	ring_free(ring);
}

static void print_connections(const struct conf *c, const struct conf_pool *p, FILE *out)
{
	(void)fprintf(out, "at start: %u\n", p->preconnect ? c->threads : 0);
	(void)fprintf(out,
		"at most: %u (threads) x one shared for each (database, RESP version) in use, "
		"opened at "
		"need, + 1 control\n",
		c->threads);
}

static void print_pool(const struct conf *c, const struct conf_pool *p, FILE *out)
{
	char buf[ADDR_TEXT_MAX];
	(void)fprintf(out, "\n# pool %s\n", p->name);
	print_options(c, p, CONF_POOL, out);
	(void)fprintf(out, "\n# pool %s: listeners\n", p->name);
	for (size_t i = 0; i < p->nlisten; i++)
		(void)fprintf(out, "listen: %s\n", addr_print(&p->listen[i], buf, sizeof(buf)));
	(void)fprintf(out, "\n# pool %s: nodes (%zu)\n", p->name, p->nnodes);
	print_nodes(p, out);
	(void)fprintf(
		out, "\n# pool %s: connections that each node sees from this router\n", p->name);
	print_connections(c, p, out);
}

void conf_print(const struct conf *c, FILE *out)
{
	(void)fprintf(out,
		"# ringway %s: the configuration is right; this is in effect\n\n# router\n",
		RINGWAY_VERSION);
	print_options(c, NULL, CONF_ROUTER, out);
	for (size_t i = 0; i < c->npools; i++)
		print_pool(c, &c->pools[i], out);
}
