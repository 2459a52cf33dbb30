/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/info_sum.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

enum how { SUM, MOST, LEAST, LIMIT };

static const struct {
	const char *name;
	enum how how;
} fields[INFO_FIELD_COUNT] = {
#define X(name_, how_) [INFO_##name_] = {#name_, how_},
#include "router/core/info_field_list.h"
#undef X
};

void info_sum_init(struct info_sum *s)
{
	memset(s, 0, sizeof(*s));
}

void info_sum_fini(struct info_sum *s)
{
	free(s->databases);
	free(s->missing);
	info_sum_init(s);
}

/* ---- numbers ------------------------------------------------------------------------------- */

static uint64_t added(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t merged(enum how how, uint64_t a, uint64_t b)
{
	switch (how) {
	case SUM:
		return added(a, b);
	case MOST:
		return a > b ? a : b;
	case LEAST:
		return a < b ? a : b;
	case LIMIT:
		return a == 0 || b == 0 ? 0 : added(a, b);
	}
	UNREACHABLE();
}

static void add_number(struct info_sum *s, struct span name, struct span value)
{
	uint64_t n;
	for (size_t i = 0; i < INFO_FIELD_COUNT; i++) {
		if (!span_eq(name, span_str(fields[i].name)))
			continue;
		if (!span_to_u64(value, UINT64_MAX, &n))
			return;
		s->v[i] = s->seen[i] ? merged(fields[i].how, s->v[i], n) : n;
		s->seen[i] = true;
		return;
	}
}

/* ---- words --------------------------------------------------------------------------------- */

static bool copy_word(char *to, struct span value)
{
	if (value.len == 0 || value.len > INFO_WORD_MAX)
		return false;
	memcpy(to, value.ptr, value.len);
	to[value.len] = 0;
	return true;
}

static void add_policy(struct info_sum *s, struct span value)
{
	if (s->maxmemory_policy[0] == 0)
		(void)copy_word(s->maxmemory_policy, value);
	else if (!span_eq(value, span_str(s->maxmemory_policy)))
		strcpy(s->maxmemory_policy, "mixed");
}

/* The next number of "7.0.15", and what follows its dot. */
static uint64_t next_part(const char **at)
{
	uint64_t n = 0;
	for (; **at >= '0' && **at <= '9' && n < 1000000; ++*at)
		n = n * 10 + (uint64_t)(**at - '0');
	*at += **at == '.';
	return n;
}

static bool is_lower(const char *a, const char *b)
{
	while (*a != 0 || *b != 0) {
		const char *from_a = a, *from_b = b;
		uint64_t x = next_part(&a), y = next_part(&b);
		if (x != y)
			return x < y;
		if (a == from_a && b == from_b)
			return false; /* no numbers any more */
	}
	return false;
}

static void add_version(struct info_sum *s, struct span value)
{
	char version[INFO_WORD_MAX + 1];
	if (!copy_word(version, value))
		return;
	if (s->version[0] == 0 || is_lower(version, s->version))
		memcpy(s->version, version, sizeof(version));
}

/* ---- databases ----------------------------------------------------------------------------- */

/* The number behind "name=" in "keys=1,expires=0,avg_ttl=0". */
static bool part_of(struct span value, struct span name, uint64_t *ret)
{
	while (value.len > 0) {
		const uint8_t *comma = memchr(value.ptr, ',', value.len);
		size_t len = comma != NULL ? (size_t)(comma - value.ptr) : value.len;
		if (len > name.len && span_eq(span_of(value.ptr, name.len), name))
			return span_to_u64(
				span_of(value.ptr + name.len, len - name.len), UINT64_MAX, ret);
		len += comma != NULL;
		value = span_of(value.ptr + len, value.len - len);
	}
	return false;
}

static struct info_database *database_at(struct info_sum *s, uint32_t number)
{
	size_t i = 0;
	while (i < s->ndatabases && s->databases[i].number < number)
		i++;
	if (i < s->ndatabases && s->databases[i].number == number)
		return &s->databases[i];
	s->databases = reallocarray(s->databases, s->ndatabases + 1, sizeof(*s->databases));
	CHECK(s->databases != NULL);
	memmove(s->databases + i + 1, s->databases + i,
		(s->ndatabases - i) * sizeof(*s->databases));
	s->ndatabases++;
	s->databases[i] = (struct info_database){.number = number};
	return &s->databases[i];
}

/* More than anybody has, so that a mad node can't make us keep more. */
#define DATABASES_MAX 65536

/* "db0:keys=1,expires=0,avg_ttl=0" */
static bool add_database(struct info_sum *s, struct span name, struct span value)
{
	uint64_t number, keys, expires, ttl = 0;
	if (name.len < 3 || memcmp(name.ptr, "db", 2) != 0 ||
		!span_to_u64(span_of(name.ptr + 2, name.len - 2), DATABASES_MAX, &number) ||
		!part_of(value, SPAN("keys="), &keys) ||
		!part_of(value, SPAN("expires="), &expires))
		return false;
	(void)!part_of(value, SPAN("avg_ttl="), &ttl);
	struct info_database *d = database_at(s, (uint32_t)number);
	d->keys = added(d->keys, keys);
	d->expires = added(d->expires, expires);
	if (ttl == 0)
		return true; /* the node has not looked yet: that says nothing */
	d->ttl_ms += (double)ttl * (double)expires;
	d->ttl_keys += (double)expires;
	return true;
}

/* ---- lines --------------------------------------------------------------------------------- */

static void add_line(struct info_sum *s, struct span line)
{
	const uint8_t *colon = line.len > 0 ? memchr(line.ptr, ':', line.len) : NULL;
	if (colon == NULL)
		return;
	struct span name = span_of(line.ptr, (size_t)(colon - line.ptr));
	struct span value = span_of(colon + 1, line.len - name.len - 1);
	if (span_eq(name, SPAN("redis_version")))
		add_version(s, value);
	else if (span_eq(name, SPAN("maxmemory_policy")))
		add_policy(s, value);
	else if (span_eq(name, SPAN("rdb_last_bgsave_status")))
		s->bgsave_failed |= !span_eq(value, SPAN("ok"));
	else if (!add_database(s, name, value))
		add_number(s, name, value);
}

void info_sum_add(struct info_sum *s, struct span text)
{
	s->nodes++;
	while (text.len > 0) {
		const uint8_t *end = memchr(text.ptr, '\n', text.len);
		size_t len = end != NULL ? (size_t)(end - text.ptr) : text.len;
		size_t bare = len > 0 && text.ptr[len - 1] == '\r' ? len - 1 : len;
		add_line(s, span_of(text.ptr, bare));
		len += end != NULL;
		text = span_of(text.ptr + len, text.len - len);
	}
}

void info_sum_missing(struct info_sum *s, const char *node)
{
	size_t old = s->missing != NULL ? strlen(s->missing) + 1 : 0;
	size_t len = strlen(node);
	char *grown = realloc(s->missing, old + len + 1);
	CHECK(grown != NULL);
	if (old > 0)
		grown[old - 1] = ',';
	memcpy(grown + old, node, len + 1);
	s->missing = grown;
}
