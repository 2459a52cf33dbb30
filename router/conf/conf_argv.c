/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/conf/conf.h"

/*
 * The command line, in two steps.  First it is cut into (flag, value): what is wrong with that is
 * wrong usage, and
 * --help and --version end it.  Then the values are applied, the pool's name before all others,
 * since every message about a pool has it.
 */

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "router/conf/conf_flag.h"
#include "router/conf/conf_internal.h"
#include "router/conf/conf_option.h"
#include "router/conf/conf_value.h"

#define POOL_NAME "main"

const struct conf_flag conf_flags[] = {
#define X(name_, argument_, kind_, key_, group_, help_) \
	{name_, argument_, FLAG_##kind_, key_, group_, help_},
#include "router/conf/conf_flag_list.h"
#undef X
};
const size_t conf_flag_count = ARRAY_LEN(conf_flags);

struct given {
	const struct conf_flag *flag;
	const char *value; /* borrowed from argv; NULL: none */
};

/* ------------------------------------------------------------------------------------------------
 * Cutting
 */
static const struct conf_flag *find_flag(const char *arg, size_t len)
{
	for (size_t i = 0; i < conf_flag_count; i++) {
		if (strlen(conf_flags[i].name) == len && memcmp(conf_flags[i].name, arg, len) == 0)
			return &conf_flags[i];
	}
	return NULL;
}

static const struct conf_flag *nearest_flag(const char *name)
{
	const struct conf_flag *found = NULL;
	unsigned best = UINT_MAX;
	for (size_t i = 0; i < conf_flag_count; i++) {
		unsigned d;
		const struct conf_flag *f = &conf_flags[i];
		if (f->kind != FLAG_LATER && conf_near(name, f->name, &d) && d < best) {
			best = d;
			found = f;
		}
	}
	return found;
}

static enum conf_exit refuse_unknown(const char *arg, size_t len, struct conf_report *r)
{
	char quoted[CONF_QUOTED_MAX];
	char *name = strndup(arg, len);
	CHECK(name != NULL);
	const struct conf_flag *near = nearest_flag(name);
	if (arg[0] != '-')
		conf_problem(r, "%s: not a flag, and nothing else is taken (see --help)",
			conf_quote(quoted, name));
	else if (near != NULL)
		conf_problem(r, "unknown flag %s: did you mean %s?", conf_quote(quoted, name),
			near->name);
	else
		conf_problem(r, "unknown flag %s (see --help)", conf_quote(quoted, name));
	free(name);
	return CONF_EXIT_USAGE;
}

/* The value of ret->flag, which may be the next argument. */
static enum conf_exit cut_value(
	struct given *ret, int argc, char **argv, int *at, struct conf_report *r)
{
	const struct conf_flag *f = ret->flag;
	if (f->argument[0] == '\0') {
		if (ret->value == NULL)
			return CONF_GO_ON;
		conf_problem(r, "%s takes no value", f->name);
		return CONF_EXIT_USAGE;
	}
	if (ret->value == NULL) {
		if (*at == argc || strncmp(argv[*at], "--", 2) == 0) {
			conf_problem(r, "%s needs a value: %s %s", f->name, f->name, f->argument);
			return CONF_EXIT_USAGE;
		}
		ret->value = argv[(*at)++];
	}
	if (f->kind == FLAG_SET && strchr(ret->value, '=') == NULL) {
		char quoted[CONF_QUOTED_MAX];
		conf_problem(
			r, "--set %s: no '=': --set KEY=VALUE", conf_quote(quoted, ret->value));
		return CONF_EXIT_USAGE;
	}
	return CONF_GO_ON;
}

/* The flag at argv[*at] with its value. */
static enum conf_exit cut_one(
	struct given *ret, int argc, char **argv, int *at, struct conf_report *r)
{
	const char *arg = argv[*at];
	const char *equals = strncmp(arg, "--", 2) == 0 ? strchr(arg, '=') : NULL;
	size_t len = equals != NULL ? (size_t)(equals - arg) : strlen(arg);
	const struct conf_flag *f = find_flag(arg, len);
	if (f == NULL)
		return refuse_unknown(arg, len, r);
	if (f->kind == FLAG_LATER) {
		conf_problem(r, "%s: %s is not built in yet", f->name, f->help);
		return CONF_EXIT_BAD;
	}
	*ret = (struct given){f, equals != NULL ? equals + 1 : NULL};
	*at += 1;
	return cut_value(ret, argc, argv, at, r);
}

/* CONF_EXIT_OK: --help or --version came, and is done. */
static enum conf_exit cut_all(
	struct given *ret, size_t *ret_n, int argc, char **argv, FILE *out, struct conf_report *r)
{
	size_t n = 0;
	for (int at = 1; at < argc;) {
		enum conf_exit e = cut_one(&ret[n], argc, argv, &at, r);
		if (e != CONF_GO_ON)
			return e;
		enum conf_flag_kind kind = ret[n++].flag->kind;
		if (kind == FLAG_HELP)
			conf_print_help(out);
		if (kind == FLAG_VERSION)
			conf_print_version(out);
		if (kind == FLAG_HELP || kind == FLAG_VERSION)
			return CONF_EXIT_OK;
	}
	*ret_n = n;
	return CONF_GO_ON;
}

/* ------------------------------------------------------------------------------------------------
 * Applying
 */
static void refuse_key(const char *key, struct conf_report *r)
{
	char quoted[CONF_QUOTED_MAX], flag[64];
	const struct conf_option *near = conf_option_nearest(key);
	(void)snprintf(flag, sizeof(flag), "--%s", key);
	const struct conf_flag *same = find_flag(flag, strlen(flag));
	if (same != NULL && same->kind != FLAG_LATER)
		conf_problem(r, "--set: %s is not set so: there is the flag %s",
			conf_quote(quoted, key), same->name);
	else if (near != NULL)
		conf_problem(r, "--set: unknown key %s: did you mean %s?", conf_quote(quoted, key),
			near->key);
	else
		conf_problem(
			r, "--set: unknown key %s (-t prints all keys)", conf_quote(quoted, key));
}

static void set_option(struct conf *c, const char *key, const char *value, struct conf_report *r)
{
	struct conf_pool *p = &c->pools[0];
	const struct conf_option *o = conf_option_find(key);
	if (o == NULL)
		refuse_key(key, r);
	else if (conf_option_set(o, c, p, value, r) && o->type == CONF_ROLE)
		p->role_given = true;
}

/* KEY=VALUE */
static void set_pair(struct conf *c, const char *pair, struct conf_report *r)
{
	CHECK(pair != NULL); /* cut_value() saw to both */
	const char *equals = strchr(pair, '=');
	CHECK(equals != NULL);
	char *key = strndup(pair, (size_t)(equals - pair));
	CHECK(key != NULL);
	set_option(c, key, equals + 1, r);
	free(key);
}

static enum conf_exit name_pool(
	struct conf_pool *p, const struct given *g, size_t n, struct conf_report *r)
{
	char quoted[CONF_QUOTED_MAX];
	const char *name = NULL;
	for (size_t i = 0; i < n; i++) {
		if (g[i].flag->kind != FLAG_POOL)
			continue;
		if (name != NULL) {
			conf_problem(r, "--pool is given twice: flags make one pool");
			return CONF_EXIT_USAGE;
		}
		name = g[i].value;
	}
	if (name == NULL)
		name = POOL_NAME;
	if (!conf_name_ok(span_str(name))) {
		conf_problem(
			r, "--pool %s: a name is %s", conf_quote(quoted, name), CONF_NAME_RULE);
		return CONF_EXIT_BAD;
	}
	p->name = strdup(name);
	CHECK(p->name != NULL);
	return CONF_GO_ON;
}

static void apply(struct conf *c, const struct given *g, struct conf_report *r)
{
	switch (g->flag->kind) {
	case FLAG_OPTION:
		set_option(c, g->flag->key, g->value, r);
		return;
	case FLAG_SWITCH:
		set_option(c, g->flag->key, "true", r);
		return;
	case FLAG_SET:
		set_pair(c, g->value, r);
		return;
	case FLAG_LISTEN:
		conf_add_listener(&c->pools[0], g->value, r);
		return;
	case FLAG_NODE:
		conf_add_node(&c->pools[0], g->value, r);
		return;
	case FLAG_TEST:
		c->test_only = true;
		return;
	case FLAG_POOL: /* done before */
		return;
	case FLAG_LATER: /* never come so far */
	case FLAG_VERSION:
	case FLAG_HELP:
		break;
	}
	UNREACHABLE();
}

/* Values that are wrong by themselves first: what they would be compared with is not known then. */
static enum conf_exit apply_all(
	struct conf *c, const struct given *g, size_t n, struct conf_report *r)
{
	enum conf_exit e = name_pool(&c->pools[0], g, n, r);
	if (e != CONF_GO_ON)
		return e;
	for (size_t i = 0; i < n; i++)
		apply(c, &g[i], r);
	c->admin_given = c->admin.text[0] != '\0';
	if (r->problems == 0)
		conf_check(c, r);
	return r->problems == 0 ? CONF_GO_ON : CONF_EXIT_BAD;
}

enum conf_exit conf_from_argv(struct conf *c, int argc, char **argv, FILE *out, FILE *err)
{
	struct conf_report r = {.err = err};
	struct given *given = calloc(argc < 1 ? 1 : (size_t)argc, sizeof(*given));
	CHECK(given != NULL);
	size_t n = 0;
	memset(c, 0, sizeof(*c));
	enum conf_exit e = cut_all(given, &n, argc, argv, out, &r);
	if (e == CONF_GO_ON) {
		conf_init(c);
		e = apply_all(c, given, n, &r);
		if (e != CONF_GO_ON)
			conf_fini(c);
	}
	free(given);
	return e;
}
