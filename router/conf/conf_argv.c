/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/conf/conf.h"

/*
 * The command line, in two steps.  First it is cut into (flag, value): what is wrong with that is
 * wrong usage, and --help and --version end it.  Then the file is read, the pool is found that the
 * flags are for, and their values are applied over the file's.
 */

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "router/conf/conf_file.h"
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

/* What follows the dashes: they are no likeness. */
static const char *after_dashes(const char *name)
{
	return name + strspn(name, "-");
}

static const struct conf_flag *nearest_flag(const char *name)
{
	const struct conf_flag *found = NULL;
	unsigned best = UINT_MAX;
	for (size_t i = 0; i < conf_flag_count; i++) {
		unsigned d;
		const struct conf_flag *f = &conf_flags[i];
		if (f->kind != FLAG_LATER &&
			conf_near(after_dashes(name), after_dashes(f->name), &d) && d < best) {
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
struct apply {
	struct conf *conf;
	struct conf_pool *pool; /* that the flags change; NULL: no flag needs one */
	struct conf_report *report;
};

static void refuse_key(const char *key, struct conf_report *r)
{
	char quoted[CONF_QUOTED_MAX], flag[64];
	const struct conf_option *near = conf_option_nearest(key);
	const char *later = conf_later(key);
	(void)snprintf(flag, sizeof(flag), "--%s", key);
	const struct conf_flag *same = find_flag(flag, strlen(flag));
	if (same != NULL && same->kind != FLAG_LATER)
		conf_problem(r, "--set: %s is not set so: there is the flag %s",
			conf_quote(quoted, key), same->name);
	else if (later != NULL)
		conf_problem(r, "--set: %s: %s is not built in yet", key, later);
	else if (near != NULL)
		conf_problem(r, "--set: unknown key %s: did you mean %s?", conf_quote(quoted, key),
			near->key);
	else
		conf_problem(
			r, "--set: unknown key %s (-t prints all keys)", conf_quote(quoted, key));
}

static void set_option(struct apply *a, const char *key, const char *value)
{
	const struct conf_option *o = conf_option_find(key);
	if (o == NULL)
		refuse_key(key, a->report);
	else
		conf_option_give(o, a->conf, a->pool, value, a->report);
}

/* KEY=VALUE */
static void set_pair(struct apply *a, const char *pair)
{
	CHECK(pair != NULL); /* cut_value() saw to both */
	const char *equals = strchr(pair, '=');
	CHECK(equals != NULL);
	char *key = strndup(pair, (size_t)(equals - pair));
	CHECK(key != NULL);
	set_option(a, key, equals + 1);
	free(key);
}

static const char *value_of(const struct given *g, size_t n, enum conf_flag_kind kind)
{
	for (size_t i = 0; i < n; i++) {
		if (g[i].flag->kind == kind)
			return g[i].value;
	}
	return NULL;
}

/* Would this flag change a pool? */
static bool is_for_pool(const struct given *g)
{
	const char *key = g->flag->key;
	char *copy = NULL;
	if (g->flag->kind == FLAG_LISTEN || g->flag->kind == FLAG_NODE)
		return true;
	if (g->flag->kind == FLAG_SET)
		key = copy = strndup(g->value, strcspn(g->value, "="));
	const struct conf_option *o = conf_option_find(key);
	free(copy);
	return o != NULL && o->scope == CONF_POOL;
}

static bool any_for_pool(const struct given *g, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (is_for_pool(&g[i]))
			return true;
	}
	return false;
}

static struct conf_pool *find_pool(struct conf *c, const char *name)
{
	for (size_t i = 0; i < c->npools; i++) {
		if (strcmp(c->pools[i].name, name) == 0)
			return &c->pools[i];
	}
	return NULL;
}

static const char *nearest_pool(const struct conf *c, const char *name)
{
	const char *found = NULL;
	unsigned best = UINT_MAX;
	for (size_t i = 0; i < c->npools; i++) {
		unsigned d;
		if (conf_near(name, c->pools[i].name, &d) && d < best) {
			best = d;
			found = c->pools[i].name;
		}
	}
	return found;
}

/* The file has pools: one of them must be meant. */
static void choose_pool(struct apply *a, const char *name, bool needed)
{
	struct conf *c = a->conf;
	char quoted[CONF_QUOTED_MAX];
	if (name == NULL) {
		if (c->npools == 1)
			a->pool = &c->pools[0];
		else if (needed)
			conf_problem(a->report,
				"the file has %zu pools: --pool NAME says which one the other "
				"flags change",
				c->npools);
		return;
	}
	a->pool = find_pool(c, name);
	if (a->pool != NULL)
		return;
	const char *near = nearest_pool(c, name);
	conf_problem(a->report, "--pool %s: the file has no such pool%s%s%s",
		conf_quote(quoted, name), near != NULL ? ": did you mean " : "",
		near != NULL ? near : "", near != NULL ? "?" : "");
}

/* The pool that flags change; NULL, with or without a problem: there is none. */
static void find_flags_pool(struct apply *a, const struct given *g, size_t n)
{
	char quoted[CONF_QUOTED_MAX];
	const char *name = value_of(g, n, FLAG_POOL);
	bool needed = any_for_pool(g, n);
	if (a->conf->npools > 0) {
		choose_pool(a, name, needed);
		return;
	}
	if (a->conf->file != NULL && name == NULL && !needed)
		return;
	if (name == NULL)
		name = POOL_NAME;
	if (conf_name_ok(span_str(name)))
		a->pool = conf_add_pool(a->conf, name);
	else
		conf_problem(a->report, "--pool %s: a name is %s", conf_quote(quoted, name),
			CONF_NAME_RULE);
}

/* One kind of list of the file is replaced by what the flags have of it. */
static void clear_lists(struct conf_pool *p, const struct given *g, size_t n)
{
	if (value_of(g, n, FLAG_LISTEN) != NULL)
		conf_clear_listeners(p);
	if (value_of(g, n, FLAG_NODE) != NULL)
		conf_clear_nodes(p);
}

static void apply(struct apply *a, const struct given *g)
{
	switch (g->flag->kind) {
	case FLAG_OPTION:
		set_option(a, g->flag->key, g->value);
		return;
	case FLAG_SWITCH:
		set_option(a, g->flag->key, "true");
		return;
	case FLAG_SET:
		set_pair(a, g->value);
		return;
	case FLAG_LISTEN:
		conf_add_listener(a->pool, g->value, a->report);
		return;
	case FLAG_NODE:
		conf_add_node(a->pool, g->value, a->report);
		return;
	case FLAG_TEST:
		a->conf->test_only = true;
		return;
	case FLAG_FILE: /* done before */
	case FLAG_POOL:
		return;
	case FLAG_LATER: /* never come so far */
	case FLAG_VERSION:
	case FLAG_HELP:
		break;
	}
	UNREACHABLE();
}

static enum conf_exit refuse_twice(const struct given *g, size_t n, struct conf_report *r)
{
	size_t pools = 0, files = 0;
	for (size_t i = 0; i < n; i++) {
		pools += g[i].flag->kind == FLAG_POOL;
		files += g[i].flag->kind == FLAG_FILE;
	}
	if (pools > 1)
		conf_problem(r, "--pool is given twice: flags are for one pool");
	if (files > 1)
		conf_problem(r, "-c is given twice: one file is the configuration");
	return pools > 1 || files > 1 ? CONF_EXIT_USAGE : CONF_GO_ON;
}

/* The file first: flags win. */
static void apply_all(struct conf *c, const struct given *g, size_t n, struct conf_report *r)
{
	struct apply a = {.conf = c, .report = r};
	if (c->file != NULL && !conf_file_load(c, c->file, r))
		return;
	find_flags_pool(&a, g, n);
	if (r->problems > 0)
		return;
	if (a.pool != NULL)
		clear_lists(a.pool, g, n);
	for (size_t i = 0; i < n; i++)
		apply(&a, &g[i]);
	c->admin_given = c->admin.text[0] != '\0';
}

/* Values that are wrong by themselves first: what they would be compared with is not known then. */
static enum conf_exit fill(struct conf *c, const struct given *g, size_t n, struct conf_report *r)
{
	enum conf_exit e = refuse_twice(g, n, r);
	if (e != CONF_GO_ON)
		return e;
	const char *file = value_of(g, n, FLAG_FILE);
	c->file = file != NULL ? strdup(file) : NULL;
	CHECK(file == NULL || c->file != NULL);
	apply_all(c, g, n, r);
	conf_read_passwords(c, r);
	if (r->problems == 0)
		conf_check(c, r);
	return r->problems == 0 ? CONF_GO_ON : CONF_EXIT_BAD;
}

static void keep_argv(struct conf *c, int argc, char **argv)
{
	c->argv = calloc((size_t)(argc < 0 ? 0 : argc) + 1, sizeof(c->argv[0]));
	CHECK(c->argv != NULL);
	for (; c->argc < argc; c->argc++) {
		c->argv[c->argc] = strdup(argv[c->argc]);
		CHECK(c->argv[c->argc] != NULL);
	}
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
		keep_argv(c, argc, argv);
		e = fill(c, given, n, &r);
		if (e != CONF_GO_ON)
			conf_fini(c);
	}
	free(given);
	return e;
}

enum conf_exit conf_again(struct conf *fresh, const struct conf *running, FILE *err)
{
	return conf_from_argv(fresh, running->argc, running->argv, err, err);
}
