/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * The option table as data: finding a row, setting its field from text, showing it as text.  Used
 * inside router/conf and by its tests only.  Pure, but for `auto` of threads, which asks on how
 * many CPUs the process may run.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "router/conf/conf.h"
#include "router/conf/conf_report.h"

enum conf_scope { CONF_ROUTER, CONF_POOL };

enum conf_type {
	CONF_U32,
	CONF_THREADS,
	CONF_MODE,
	CONF_SIZE,
	CONF_TIME,
	CONF_PERCENT,
	CONF_BOOL,
	CONF_ROLE,
	CONF_PROTOCOL,
	CONF_MULTIKEY,
	CONF_ON_FAILURE,
	CONF_RING_MODE,
	CONF_LOG_LEVEL,
	CONF_ADDR,
	CONF_NAME,
	CONF_PATH,
	CONF_TAG,
	CONF_TYPE_COUNT
};

struct conf_option {
	enum conf_scope scope;
	enum conf_type type;
	bool reload;   /* SIGHUP may change it */
	size_t offset; /* of the field, in struct conf or struct conf_pool */
	const char *key;
	const char *fallback; /* the default */
	const char *min;      /* "": not a number with a range */
	const char *max;
	const char *unit;
	const char *help;
};

extern const struct conf_option conf_options[];
extern const size_t conf_option_count;

/* NULL when there is none of that name. */
const struct conf_option *conf_option_find(const char *key);

/* The one that was probably meant, or NULL. */
const struct conf_option *conf_option_nearest(const char *key);

/* Sets the field in *c or in *p from text.  False: refused, and *r has the reason. */
bool conf_option_set(const struct conf_option *o, struct conf *c, struct conf_pool *p,
	const char *text, struct conf_report *r) MUST_CHECK;

/* The same by somebody's wish: of a role it is remembered that it was given. */
void conf_option_give(const struct conf_option *o, struct conf *c, struct conf_pool *p,
	const char *text, struct conf_report *r);

#define CONF_SHOWN_MAX 320

/* The value as conf_option_set() takes it: in buf, or the field's own text. */
const char *conf_option_show(const struct conf_option *o, const struct conf *c,
	const struct conf_pool *p, char buf[CONF_SHOWN_MAX]);

/* What it takes: "1 .. 256, or auto"; "store or cache".  Returns buf. */
const char *conf_option_range(const struct conf_option *o, char buf[CONF_SHOWN_MAX]);

/* Every option of a scope to its default; the fields must be zero.  The other pointer may be NULL. */
void conf_option_defaults(enum conf_scope scope, struct conf *c, struct conf_pool *p);

/* Small enough an edit distance for 'did you mean'. */
bool conf_near(const char *written, const char *valid, unsigned *ret_distance);
