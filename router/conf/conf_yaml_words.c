/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/conf/conf_yaml_internal.h"

/*
 * Words for what is wrong in a file: libyaml's own for its syntax, with a place for those that have
 * none and a hint for the usual slips; for an unknown key the one that was meant, here or elsewhere.
 */

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "router/conf/conf_internal.h"
#include "router/conf/conf_option.h"

#define POOLS "pools"

const char *conf_yaml_shown(const char *path)
{
	return strncmp(path, POOLS ".", sizeof(POOLS)) == 0 ? path + sizeof(POOLS) : path;
}

/* ------------------------------------------------------------------------------------------------
 * Syntax
 */
struct place {
	size_t line, column; /* from 0 */
};

/* Bytes that are no text have only an offset. */
static struct place place_of_offset(struct span text, size_t offset)
{
	struct place at = {0, 0};
	for (size_t i = 0; i < offset && i < text.len; i++) {
		at.column++;
		if (text.ptr[i] == '\n')
			at = (struct place){at.line + 1, 0};
	}
	return at;
}

/* The byte that stands there, 0 beyond the end.  Continuation bytes of UTF-8 are no columns. */
static uint8_t byte_at(struct span text, struct place want)
{
	struct place at = {0, 0};
	size_t i = 0;
	while (i < text.len && at.line < want.line)
		at.line += text.ptr[i++] == '\n';
	for (; i < text.len && at.column < want.column; i++)
		at.column += i + 1 >= text.len || (text.ptr[i + 1] & 0xc0) != 0x80;
	return i < text.len ? text.ptr[i] : 0;
}

static const char *hint_for(uint8_t byte)
{
	switch (byte) {
	case '\t':
		return ": indent with spaces, not with tabs";
	case '@':
		return ": a text that begins with @ is written in quotes";
	case '`':
		return ": a text that begins with ` is written in quotes";
	case '%':
		return ": a text that begins with % is written in quotes";
	default:
		return "";
	}
}

void conf_yaml_syntax(const yaml_parser_t *p, const struct conf_source *s, struct conf_report *r)
{
	const char *what = p->problem != NULL ? p->problem : "not YAML";
	if (p->error == YAML_MEMORY_ERROR) {
		conf_problem_at(r, 1, 1, "out of memory");
		return;
	}
	if (p->error == YAML_READER_ERROR) {
		struct place at = place_of_offset(s->text, p->problem_offset);
		conf_problem_at(r, at.line + 1, at.column + 1, "not a text: %s", what);
		return;
	}
	struct place at = {p->problem_mark.line, p->problem_mark.column};
	bool odd_start = strstr(what, "cannot start any token") != NULL;
	const char *hint = odd_start ? hint_for(byte_at(s->text, at)) : "";
	if (p->context == NULL || p->context_mark.line == at.line)
		conf_problem_at(r, at.line + 1, at.column + 1, "%s%s", what, hint);
	else
		conf_problem_at(r, at.line + 1, at.column + 1, "%s%s (%s that begins in line %zu)",
			what, hint, p->context, p->context_mark.line + 1);
}

/* ------------------------------------------------------------------------------------------------
 * Keys
 */
enum { ROUTER, POOL, CLIENT, NODE };

struct known_key {
	int owner;
	const char *key; /* with dots */
	const char *what;
};

static const struct known_key later[] = {
#define X(owner_, key_, what_) {owner_, key_, what_},
#include "router/conf/conf_later_list.h"
#undef X
};

static const struct known_key lists[] = {
#define X(owner_, kind_, key_, field_, need_, min_, max_, help_) {owner_, key_, NULL},
#include "router/conf/conf_key_list.h"
#undef X
};

static const char *const owner_path[] = {
	[ROUTER] = "", [POOL] = POOLS, [CLIENT] = POOLS ".clients", [NODE] = POOLS ".nodes"};

/* Is `full` what `key` in the mapping at `path` would be? */
static bool same_key(int owner, const char *full, const char *path, const char *key)
{
	size_t n = strlen(owner_path[owner]);
	if (strncmp(path, owner_path[owner], n) != 0 ||
		(path[n] != '\0' && n > 0 && path[n] != '.'))
		return false;
	path += path[n] == '.' ? n + 1 : n;
	n = strlen(path); /* of the mapping within its owner: "", "ring" */
	if (n == 0)
		return strcmp(full, key) == 0; /* with its dots, as --set has it */
	return strncmp(full, path, n) == 0 && full[n] == '.' && strcmp(full + n + 1, key) == 0;
}

static const char *find_later(const char *path, const char *key)
{
	for (size_t i = 0; i < ARRAY_LEN(later); i++) {
		if (same_key(later[i].owner, later[i].key, path, key))
			return later[i].what;
	}
	return NULL;
}

const char *conf_later(const char *key)
{
	const char *what = find_later("", key);
	return what != NULL ? what : find_later(POOLS, key);
}

static const char *nearest_sibling(const cyaml_schema_field_t *fields, const char *key)
{
	const char *found = NULL;
	unsigned best = UINT_MAX;
	for (const cyaml_schema_field_t *f = fields; f->key != NULL; f++) {
		unsigned d;
		if (conf_near(key, f->key, &d) && d < best) {
			best = d;
			found = f->key;
		}
	}
	return found;
}

/* `ring` and `points` are parts of `ring.points`, which is one of itself too. */
static bool is_part(const char *key, const char *full)
{
	const char *dot = strchr(full, '.');
	size_t n = strlen(key);
	if (strcmp(key, full) == 0)
		return true;
	return dot != NULL && (strcmp(key, dot + 1) == 0 ||
				      (n == (size_t)(dot - full) && memcmp(key, full, n) == 0));
}

/* Right, but in another place. */
static bool find_elsewhere(struct known_key *ret, const char *key)
{
	for (size_t i = 0; i < conf_option_count; i++) {
		const struct conf_option *o = &conf_options[i];
		if (!is_part(key, o->key))
			continue;
		*ret = (struct known_key){o->scope == CONF_ROUTER ? ROUTER : POOL, o->key, NULL};
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		if (is_part(key, lists[i].key)) {
			*ret = lists[i];
			return true;
		}
	}
	return false;
}

static void list_keys(const cyaml_schema_field_t *fields, char *buf, size_t size)
{
	size_t n = 0;
	buf[0] = '\0';
	for (const cyaml_schema_field_t *f = fields; f->key != NULL; f++) {
		n += (size_t)snprintf(buf + n, size - n, "%s%s", f == fields ? "" : ", ", f->key);
		CHECK(n < size);
	}
}

static void suggest(struct conf_report *r, yaml_mark_t mark, const char *quoted, const char *key,
	const cyaml_schema_field_t *fields)
{
	static const char *const where[] = {
		[ROUTER] = "top level", [POOL] = "pool", [CLIENT] = "client", [NODE] = "node"};
	char list[1024];
	struct known_key known;
	const char *near = nearest_sibling(fields, key);
	const char *dot = strchr(key, '.');
	if (dot != NULL && conf_option_find(key) != NULL) {
		conf_problem_at(r, mark.line + 1, mark.column + 1,
			"unknown key %s: it is written %.*s: {%s: ...}", quoted, (int)(dot - key),
			key, dot + 1);
	} else if (near != NULL) {
		conf_problem_at(r, mark.line + 1, mark.column + 1,
			"unknown key %s: did you mean %s?", quoted, near);
	} else if (find_elsewhere(&known, key)) {
		conf_problem_at(r, mark.line + 1, mark.column + 1,
			"unknown key %s: did you mean %s of the %s?", quoted, known.key,
			where[known.owner]);
	} else {
		list_keys(fields, list, sizeof(list));
		conf_problem_at(r, mark.line + 1, mark.column + 1, "unknown key %s (keys here: %s)",
			quoted, list);
	}
}

void conf_yaml_unknown_key(struct conf_report *r, yaml_mark_t mark, const char *path,
	const char *key, const cyaml_schema_field_t *fields)
{
	char full[CONF_QUOTED_MAX + 128], quoted[CONF_QUOTED_MAX];
	const char *within = strcmp(path, POOLS) == 0 ? "" : conf_yaml_shown(path);
	const char *what = find_later(path, key);
	(void)snprintf(full, sizeof(full), "%s%s%.*s", within, within[0] == '\0' ? "" : ".",
		CONF_QUOTED_MAX, key);
	if (what != NULL)
		conf_problem_at(r, mark.line + 1, mark.column + 1, "%s: %s is not built in yet",
			full, what);
	else if (strcmp(key, "<<") == 0)
		conf_problem_at(r, mark.line + 1, mark.column + 1,
			"merge keys (<<) are not taken: write the keys out");
	else
		suggest(r, mark, conf_quote(quoted, full), key, fields);
}
