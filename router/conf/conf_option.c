/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/conf/conf_option.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"
#include "base/err.h"
#include "router/conf/conf_text.h"
#include "router/conf/conf_value.h"

/*
 * Types are of two kinds.  A number (a bool and a word of a list are numbers too) is read into 64
 * bits, compared with the row's range and stored in the width of its C type.  A text has rules of
 * its own: conf_text.h.
 */

#define C_TYPE_U32 uint32_t
#define C_TYPE_THREADS uint32_t
#define C_TYPE_MODE uint32_t
#define C_TYPE_SIZE uint64_t
#define C_TYPE_TIME uint64_t
#define C_TYPE_PERCENT double
#define C_TYPE_BOOL bool
#define C_TYPE_ROLE enum conf_role
#define C_TYPE_PROTOCOL enum conf_protocol
#define C_TYPE_RING_MODE enum conf_ring_mode
#define C_TYPE_MULTIKEY enum conf_multikey
#define C_TYPE_ON_FAILURE enum conf_on_failure
#define C_TYPE_LOG_LEVEL enum log_level
#define C_TYPE_ADDR struct addr
#define C_TYPE_NAME char *
#define C_TYPE_PATH char *
#define C_TYPE_TAG char[3]

#define OWNER_ROUTER struct conf
#define OWNER_POOL struct conf_pool

#define X(scope, type, reload, key, field, ...) \
	_Static_assert(__builtin_types_compatible_p( \
			       __typeof__(((OWNER_##scope *)NULL)->field), C_TYPE_##type), \
		"type of " key);
#include "router/conf/conf_list.h"
#undef X

#define RELOAD true
#define RESTART false

const struct conf_option conf_options[] = {
#define X(scope_, type_, reload_, key_, field_, fallback_, min_, max_, unit_, help_) \
	{.scope = CONF_##scope_, \
		.type = CONF_##type_, \
		.reload = reload_, \
		.offset = offsetof(OWNER_##scope_, field_), \
		.key = (key_), \
		.fallback = (fallback_), \
		.min = (min_), \
		.max = (max_), \
		.unit = (unit_), \
		.help = (help_)},
#include "router/conf/conf_list.h"
#undef X
};
const size_t conf_option_count = ARRAY_LEN(conf_options);

static const struct word {
	enum conf_type type;
	uint32_t value;
	const char *word;
} words[] = {
#define X(type_, value_, word_, help_) {CONF_##type_, value_, word_},
#include "router/conf/conf_word_list.h"
#undef X
};

static int read_threads(struct span s, uint64_t *ret)
{
	if (!span_eq(s, SPAN("auto")))
		return conf_read_count(s, ret);
	cpu_set_t set;
	long n = -1;
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = CPU_COUNT(&set);
	else /* too many CPUs for a cpu_set_t */
		n = sysconf(_SC_NPROCESSORS_ONLN);
	*ret = n < 1 ? 1 : (uint64_t)n;
	return 0;
}

enum width { WIDTH_32, WIDTH_64, WIDTH_SHARE, WIDTH_BOOL, WIDTH_TEXT };

static const struct type_ops {
	enum width width;
	const char *noun;                          /* for "is not ..."; NULL: the words */
	const char *like;                          /* examples; NULL: none needed */
	int (*read)(struct span s, uint64_t *ret); /* NULL: by the words, or a text */
	void (*show)(uint64_t v, char buf[CONF_VALUE_MAX]);
} type_ops[CONF_TYPE_COUNT] = {
	[CONF_U32] = {WIDTH_32, "a whole number", NULL, conf_read_count, conf_show_count},
	[CONF_THREADS] = {WIDTH_32, "a whole number", NULL, read_threads, conf_show_count},
	[CONF_MODE] = {WIDTH_32, "a mode", "660", conf_read_mode, conf_show_mode},
	[CONF_SIZE] = {WIDTH_64, "a size", "16kb, 64mb or 2gb", conf_read_size, conf_show_size},
	[CONF_TIME] = {WIDTH_64, "a time", "250ms, 1s or 2m", conf_read_time, conf_show_time},
	[CONF_PERCENT] = {WIDTH_SHARE, "a share", "20%", conf_read_percent, conf_show_percent},
	[CONF_BOOL] = {WIDTH_BOOL, NULL, NULL, conf_read_bool, conf_show_bool},
	[CONF_ROLE] = {.width = WIDTH_32},
	[CONF_PROTOCOL] = {.width = WIDTH_32},
	[CONF_MULTIKEY] = {.width = WIDTH_32},
	[CONF_RING_MODE] = {.width = WIDTH_32},
	[CONF_ON_FAILURE] = {.width = WIDTH_32},
	[CONF_LOG_LEVEL] = {.width = WIDTH_32},
	[CONF_ADDR] = {.width = WIDTH_TEXT, .noun = "an address"},
	[CONF_NAME] = {.width = WIDTH_TEXT, .noun = "a name"},
	[CONF_PATH] = {.width = WIDTH_TEXT, .noun = "a path"},
	[CONF_TAG] = {.width = WIDTH_TEXT, .noun = "two characters"},
};

/* ------------------------------------------------------------------------------------------------
 * Finding
 */
const struct conf_option *conf_option_find(const char *key)
{
	for (size_t i = 0; i < conf_option_count; i++) {
		if (strcmp(conf_options[i].key, key) == 0)
			return &conf_options[i];
	}
	return NULL;
}

bool conf_near(const char *written, const char *valid, unsigned *ret_distance)
{
	unsigned d = span_distance(span_str(written), span_str(valid));
	size_t len = strlen(written) < strlen(valid) ? strlen(written) : strlen(valid);
	*ret_distance = d;
	return d <= (len + 2) / 3;
}

/* By its last part: `points` for `ring.points`, `timeout.request` for `timeouts.request`. */
static const struct conf_option *find_by_last_part(const char *key)
{
	const char *part = strrchr(key, '.');
	part = part == NULL ? key : part + 1;
	for (size_t i = 0; i < conf_option_count; i++) {
		const char *dot = strrchr(conf_options[i].key, '.');
		if (dot != NULL && strcmp(dot + 1, part) == 0)
			return &conf_options[i];
	}
	return NULL;
}

const struct conf_option *conf_option_nearest(const char *key)
{
	const struct conf_option *found = find_by_last_part(key);
	if (found != NULL)
		return found;
	unsigned best = UINT_MAX;
	for (size_t i = 0; i < conf_option_count; i++) {
		unsigned d;
		if (conf_near(key, conf_options[i].key, &d) && d < best) {
			best = d;
			found = &conf_options[i];
		}
	}
	return found;
}

/* ------------------------------------------------------------------------------------------------
 * Numbers
 */
static int number_read(const struct conf_option *o, struct span s, uint64_t *ret)
{
	if (type_ops[o->type].read != NULL)
		return type_ops[o->type].read(s, ret);
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (words[i].type == o->type && span_eq(s, span_str(words[i].word))) {
			*ret = words[i].value;
			return 0;
		}
	}
	return RW_ESYNTAX;
}

static uint64_t number_load(const struct conf_option *o, const void *at)
{
	uint32_t narrow;
	switch (type_ops[o->type].width) {
	case WIDTH_32:
		memcpy(&narrow, at, sizeof(narrow)); /* an enum too */
		return narrow;
	case WIDTH_64:
		return *(const uint64_t *)at;
	case WIDTH_SHARE:
		return (uint64_t)(*(const double *)at * 1e5 + 0.5);
	case WIDTH_BOOL:
		return *(const bool *)at;
	case WIDTH_TEXT:
		break;
	}
	UNREACHABLE(); /* a text is no number */
}

static void number_store(const struct conf_option *o, void *at, uint64_t v)
{
	uint32_t narrow = (uint32_t)v;
	switch (type_ops[o->type].width) {
	case WIDTH_32:
		CHECK(v <= UINT32_MAX);
		memcpy(at, &narrow, sizeof(narrow)); /* an enum too */
		return;
	case WIDTH_64:
		*(uint64_t *)at = v;
		return;
	case WIDTH_SHARE:
		*(double *)at = (double)v / 1e5; /* v: thousandths of a percent */
		return;
	case WIDTH_BOOL:
		*(bool *)at = v != 0;
		return;
	case WIDTH_TEXT:
		break;
	}
	UNREACHABLE(); /* a text is no number */
}

/* One end of the range; the table's own text is never wrong. */
static uint64_t bound(const struct conf_option *o, const char *text)
{
	uint64_t v = 0;
	CHECK(number_read(o, span_str(text), &v) == 0);
	return v;
}

static int number_set(const struct conf_option *o, void *at, const char *text)
{
	uint64_t v;
	int r = number_read(o, span_str(text), &v);
	if (r != 0)
		return r;
	if (o->max[0] != '\0') {
		uint64_t max = bound(o, o->max);
		if (o->type == CONF_THREADS && v > max && strcmp(text, "auto") == 0)
			v = max;
		if (v < bound(o, o->min) || v > max)
			return RW_ERANGE;
	}
	number_store(o, at, v);
	return 0;
}

static const char *number_show(const struct conf_option *o, const void *at, char *buf)
{
	uint64_t v = number_load(o, at);
	if (type_ops[o->type].show != NULL) {
		type_ops[o->type].show(v, buf);
		return buf;
	}
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (words[i].type == o->type && words[i].value == v)
			return words[i].word;
	}
	UNREACHABLE(); /* only words are stored */
}

/* ------------------------------------------------------------------------------------------------
 * Both
 */
static void *field_of(const struct conf_option *o, struct conf *c, struct conf_pool *p)
{
	char *owner = o->scope == CONF_ROUTER ? (char *)c : (char *)p;
	return owner + o->offset;
}

static const void *const_field_of(
	const struct conf_option *o, const struct conf *c, const struct conf_pool *p)
{
	const char *owner = o->scope == CONF_ROUTER ? (const char *)c : (const char *)p;
	return owner + o->offset;
}

/* "store or cache"; "error, warn, info or debug". */
static void words_range(enum conf_type type, char *buf)
{
	size_t n = 0, total = 0, done = 0;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		total += words[i].type == type;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (words[i].type != type)
			continue;
		done++;
		n += (size_t)snprintf(buf + n, CONF_SHOWN_MAX - n, "%s%s", words[i].word,
			done == total       ? ""
			: done + 1 == total ? " or "
					    : ", ");
	}
}

const char *conf_option_range(const struct conf_option *o, char buf[CONF_SHOWN_MAX])
{
	static const char *const texts[CONF_TYPE_COUNT] = {
		[CONF_BOOL] = "true or false",
		[CONF_ADDR] = "host:port, [v6]:port, unix:/path or none",
		[CONF_NAME] = CONF_NAME_RULE,
		[CONF_PATH] = "a path or none",
		[CONF_TAG] = "two characters or none",
	};
	const char *also = o->type == CONF_THREADS || o->type == CONF_NAME ? " or auto" : "";
	if (texts[o->type] != NULL)
		(void)snprintf(buf, CONF_SHOWN_MAX, "%s%s", texts[o->type], also);
	else if (type_ops[o->type].read == NULL)
		words_range(o->type, buf);
	else
		(void)snprintf(buf, CONF_SHOWN_MAX, "%s .. %s%s", o->min, o->max, also);
	return buf;
}

/* The reason in words: what is wrong, what is allowed, how it is written. */
static void report_refusal(const struct conf_option *o, const struct conf_pool *p, const char *text,
	int why, const char *detail, struct conf_report *r)
{
	const struct type_ops *t = &type_ops[o->type];
	char where[CONF_QUOTED_MAX + 16] = "", quoted[CONF_QUOTED_MAX], range[CONF_SHOWN_MAX];
	char what[128] = "is not one of its values";
	if (o->scope == CONF_POOL && p->name != NULL)
		(void)snprintf(where, sizeof(where), "pool '%s': ", p->name);
	if (why == RW_ERANGE)
		(void)snprintf(what, sizeof(what), "is out of range");
	else if (t->noun != NULL && detail != NULL)
		(void)snprintf(what, sizeof(what), "is not %s: %s", t->noun, detail);
	else if (t->noun != NULL && t->like != NULL)
		(void)snprintf(what, sizeof(what), "is not %s such as %s", t->noun, t->like);
	else if (t->noun != NULL)
		(void)snprintf(what, sizeof(what), "is not %s", t->noun);
	conf_problem(r, "%s%s: %s %s (allowed: %s)", where, o->key, conf_quote(quoted, text), what,
		conf_option_range(o, range));
}

bool conf_option_set(const struct conf_option *o, struct conf *c, struct conf_pool *p,
	const char *text, struct conf_report *r)
{
	void *at = field_of(o, c, p);
	const char *detail = NULL;
	int why;
	if (type_ops[o->type].width == WIDTH_TEXT)
		why = conf_text_set(o->type, at, text, &detail);
	else
		why = number_set(o, at, text);
	if (why != 0)
		report_refusal(o, p, text, why, detail, r);
	return why == 0;
}

void conf_option_give(const struct conf_option *o, struct conf *c, struct conf_pool *p,
	const char *text, struct conf_report *r)
{
	CHECK(o->scope == CONF_ROUTER || p != NULL);
	if (conf_option_set(o, c, p, text, r) && p != NULL && o->type == CONF_ROLE)
		p->role_given = true;
}

const char *conf_option_show(const struct conf_option *o, const struct conf *c,
	const struct conf_pool *p, char buf[CONF_SHOWN_MAX])
{
	const void *at = const_field_of(o, c, p);
	if (type_ops[o->type].width == WIDTH_TEXT)
		return conf_text_show(o->type, at, buf);
	return number_show(o, at, buf);
}

void conf_option_defaults(enum conf_scope scope, struct conf *c, struct conf_pool *p)
{
	struct conf_report r = {.err = stderr};
	for (size_t i = 0; i < conf_option_count; i++) {
		const struct conf_option *o = &conf_options[i];
		if (o->scope == scope)
			CHECK(conf_option_set(o, c, p, o->fallback, &r));
	}
}
