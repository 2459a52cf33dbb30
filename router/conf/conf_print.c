/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/conf/conf.h"

/*
 * What -t prints: the file that makes this configuration, whatever it was made of.  So `ringway -t`
 * with flags is the way to a first file, and what it prints can be compared with what was meant.
 */

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/err.h"
#include "ring/ring.h"
#include "router/conf/conf_access.h"
#include "router/conf/conf_option.h"
#include "router/conf/conf_text.h"
#include "router/conf/conf_value.h"

/* ------------------------------------------------------------------------------------------------
 * Texts in YAML
 */

/* Texts that YAML reads as they stand, also between brackets. */
static bool is_plain(const char *text)
{
	static const char *const null_words[] = {"null", "Null", "NULL"};
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	size_t n = strlen(text);
	for (size_t i = 0; i < ARRAY_LEN(null_words); i++) {
		if (strcmp(text, null_words[i]) == 0)
			return false;
	}
	if (n == 0 || (strchr(letters, text[0]) == NULL && text[0] != '/') || text[n - 1] == ':')
		return false;
	for (size_t i = 0; i < n; i++) {
		if (strchr(letters, text[i]) == NULL && strchr("._/%|:-", text[i]) == NULL)
			return false;
	}
	return true;
}

static void print_text(FILE *out, const char *text)
{
	if (is_plain(text)) {
		(void)fputs(text, out);
		return;
	}
	(void)fputc('"', out);
	while (*text != '\0') {
		int32_t c = conf_utf8_next(&text);
		CHECK(c >= 0); /* nothing else is taken */
		if (c == '"' || c == '\\')
			(void)fprintf(out, "\\%c", (char)c);
		else if (c >= 0x20 && c < 0x7f)
			(void)fputc(c, out);
		else
			(void)fprintf(out, "\\U%08x", (unsigned)c);
	}
	(void)fputc('"', out);
}

static void print_pair(FILE *out, const char *indent, const char *key, const char *text)
{
	(void)fprintf(out, "%s%s: ", indent, key);
	print_text(out, text);
	(void)fputc('\n', out);
}

/* ------------------------------------------------------------------------------------------------
 * Options
 */

/* Rows of one mapping stand together: `group` is the one that is open. */
static void open_group(FILE *out, const char *indent, const char *key, char group[32])
{
	const char *dot = strchr(key, '.');
	size_t n = dot == NULL ? 0 : (size_t)(dot - key);
	if (strlen(group) == n && memcmp(group, key, n) == 0)
		return;
	CHECK(n < 32);
	memcpy(group, key, n);
	group[n] = '\0';
	if (n > 0)
		(void)fprintf(out, "%s%s:\n", indent, group);
}

static void print_options(const struct conf *c, const struct conf_pool *p, enum conf_scope scope,
	const char *indent, FILE *out)
{
	char buf[CONF_SHOWN_MAX], inner[16], group[32] = "";
	(void)snprintf(inner, sizeof(inner), "%s  ", indent);
	for (size_t i = 0; i < conf_option_count; i++) {
		const struct conf_option *o = &conf_options[i];
		if (o->scope != scope)
			continue;
		open_group(out, indent, o->key, group);
		const char *dot = strchr(o->key, '.');
		print_pair(out, dot != NULL ? inner : indent, dot != NULL ? dot + 1 : o->key,
			conf_option_show(o, c, p, buf));
	}
}

/* ------------------------------------------------------------------------------------------------
 * Lists
 */
static void print_listeners(const struct conf_pool *p, FILE *out)
{
	char address[ADDR_TEXT_MAX], buf[ADDR_TEXT_MAX + 16];
	(void)fprintf(out, "    listen:\n");
	for (size_t i = 0; i < p->nlisten; i++) {
		(void)snprintf(buf, sizeof(buf), "%s%s",
			addr_print(&p->listen[i].address, address, sizeof(address)),
			p->listen[i].proxy ? " proxy" : "");
		(void)fprintf(out, "      - ");
		print_text(out, buf);
		(void)fputc('\n', out);
	}
}

static void print_user(const struct conf_user *u, FILE *out)
{
	(void)fprintf(out, "      - user: ");
	print_text(out, u->name);
	(void)fputc('\n', out);
	if (u->npasswords > 0)
		(void)fprintf(out, "        password_files:\n");
	for (size_t i = 0; i < u->npasswords; i++) {
		(void)fprintf(out, "          - ");
		print_text(out, u->passwords[i].file);
		(void)fputc('\n', out);
	}
	if (u->ndeny > 0)
		(void)fprintf(out, "        deny:\n");
	for (size_t i = 0; i < u->ndeny; i++) {
		(void)fprintf(out, "          - ");
		print_text(out, u->deny[i]);
		(void)fputc('\n', out);
	}
}

static void print_access(const struct conf_access *a, FILE *out)
{
	(void)fprintf(out, "    clients:\n");
	for (size_t i = 0; i < a->nusers; i++)
		print_user(&a->users[i], out);
	if (a->node_password.file == NULL)
		return;
	(void)fprintf(out, "    node_auth:\n");
	if (a->node_user != NULL)
		print_pair(out, "      ", "user", a->node_user);
	print_pair(out, "      ", "password_file", a->node_password.file);
}

/* ------------------------------------------------------------------------------------------------
 * Nodes
 */
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

static void print_node(const struct conf_node *n, const struct ring *ring, size_t at, FILE *out)
{
	char weight[CONF_VALUE_MAX];
	(void)fprintf(out, "      - {");
	if (n->named) {
		(void)fprintf(out, "name: ");
		print_text(out, n->name);
		(void)fprintf(out, ", ");
	}
	(void)fprintf(out, "address: ");
	print_text(out, n->address.text); /* as written: it may be the name */
	conf_show_decimal(n->weight_milli, weight);
	(void)fprintf(out, ", weight: %s}", weight);
	if (ring != NULL)
		(void)fprintf(out, " # %.2f%% of the keys", ring_share(ring, (uint32_t)at) * 100.0);
	(void)fputc('\n', out);
	if (!n->named)
		(void)fprintf(
			out, "        # ^ changing the address moves its keys: give it a name\n");
}

static void print_nodes(const struct conf_pool *p, FILE *out)
{
	struct ring *ring = NULL;
	int r = build_ring(p, &ring);
	(void)fprintf(out, "    nodes: # %zu\n", p->nnodes);
	if (r != 0)
		(void)fprintf(out, "      # no ring: %s\n", rw_strerror(r));
	for (size_t i = 0; i < p->nnodes; i++)
		print_node(&p->nodes[i], ring, i, out);
	ring_free(ring);
}

static void print_connections(const struct conf *c, const struct conf_pool *p, FILE *out)
{
	(void)fprintf(out,
		"    # connections that each node sees from this router\n"
		"    # at start: %u\n"
		"    # at most: %u (threads) x (1 + %u shared for other databases and RESP3, "
		"opened "
		"at need) + %u private in use\n",
		p->preconnect ? c->threads : 0, c->threads, p->shared_per_node,
		p->private_per_node);
}

static void print_pool(const struct conf *c, const struct conf_pool *p, FILE *out)
{
	(void)fprintf(out, "  - name: ");
	print_text(out, p->name);
	(void)fputc('\n', out);
	print_options(c, p, CONF_POOL, "    ", out);
	print_listeners(p, out);
	print_access(p->access, out);
	print_nodes(p, out);
	print_connections(c, p, out);
}

void conf_print(const struct conf *c, FILE *out)
{
	(void)fprintf(out, "# ringway %s: the configuration is right; this is in effect\n",
		RINGWAY_VERSION);
	print_options(c, NULL, CONF_ROUTER, "", out);
	(void)fprintf(out, "pools:\n");
	for (size_t i = 0; i < c->npools; i++)
		print_pool(c, &c->pools[i], out);
}
