/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/wire/cmd.h"

#include <stdlib.h>

#include "base/check.h"

/*
 * Where a request's keys are.
 *
 * Most commands have them at fixed places, some say how many there are, and four kinds (SORT,
 * GEORADIUS, XREAD, MIGRATE) name them after an option's word.  For those the options are walked as
 * the command itself walks them, knowing how many values each word takes, so that a value that
 * happens to spell an option is not mistaken for one.  Words that the walk does not know are passed
 * over: the node will complain of them.
 *
 * Redis compares words as C strings: a word ends at a zero byte.
 */

#define KEYS_MIN_CAP 16u

void cmd_keys_init(struct cmd_keys *k)
{
	*k = (struct cmd_keys){0};
}

void cmd_keys_fini(struct cmd_keys *k)
{
	free(k->at);
	*k = (struct cmd_keys){0};
}

/* Room for n positions.  The request itself was bounded, so running out of memory is not its fault.
 */
static void reserve(struct cmd_keys *k, size_t n)
{
	if (LIKELY(n <= k->cap))
		return;
	size_t cap = k->cap < KEYS_MIN_CAP ? KEYS_MIN_CAP : k->cap;
	while (cap < n)
		cap *= 2;
	CHECK(cap <= UINT32_MAX);
	uint32_t *at = realloc(k->at, cap * sizeof(*at));
	CHECK(at != NULL);
	k->at = at;
	k->cap = (uint32_t)cap;
}

static void add(struct cmd_keys *k, size_t position)
{
	reserve(k, (size_t)k->n + 1);
	k->at[k->n++] = (uint32_t)position;
}

/* first, first + step, ... below end.  None is BAD: the command can't run. */
static enum cmd_keys_result add_range(struct cmd_keys *k, size_t first, size_t end, size_t step)
{
	if (first >= end) {
		k->n = 0;
		return CMD_KEYS_BAD;
	}
	reserve(k, k->n + (end - first + step - 1) / step);
	for (size_t i = first; i < end; i += step)
		k->at[k->n++] = (uint32_t)i;
	return CMD_KEYS_OK;
}

static enum cmd_keys_result range(const struct cmd *c, size_t n, struct cmd_keys *k)
{
	size_t first = (size_t)c->first_key;
	size_t end = c->last_key >= 0 ? (size_t)c->last_key + 1 : n - (size_t) - (c->last_key + 1);

	return end > n ? CMD_KEYS_BAD : add_range(k, first, end, (size_t)c->step);
}

/* args[at] is the number of keys that follow. */
static enum cmd_keys_result counted(
	const struct cmd *c, const struct span *args, size_t n, size_t at, struct cmd_keys *k)
{
	uint64_t count;

	if (at >= n || !span_to_u64(args[at], n - at - 1, &count)) {
		k->n = 0;
		return CMD_KEYS_BAD;
	}
	if (count == 0 && (c->flags & CMD_NO_MANDATORY_KEYS) != 0)
		return CMD_KEYS_OK;
	return add_range(k, at + 1, at + 1 + (size_t)count, 1);
}

/* ---- options ----------------------------------------------------------------------------- */

enum option_kind {
	OPTION,    /* not ours, passed over with its values */
	NEXT_KEY,  /* a key follows */
	REST_KEYS, /* everything that follows is keys: the walk ends here */
};

struct option {
	struct span word; /* lower case */
	enum option_kind kind;
	uint8_t values;
};

static const struct option sort_options[] = {
	{SPAN("by"), OPTION, 1},
	{SPAN("get"), OPTION, 1},
	{SPAN("limit"), OPTION, 2},
	{SPAN("store"), NEXT_KEY, 1},
};

/* Two walks, since Redis tells the key of STORE before that of STOREDIST wherever they stand. */
static const struct option georadius_store[] = {
	{SPAN("count"), OPTION, 1},
	{SPAN("store"), NEXT_KEY, 1},
	{SPAN("storedist"), OPTION, 1},
};

static const struct option georadius_storedist[] = {
	{SPAN("count"), OPTION, 1},
	{SPAN("store"), OPTION, 1},
	{SPAN("storedist"), NEXT_KEY, 1},
};

static const struct option xread_options[] = {
	{SPAN("block"), OPTION, 1},
	{SPAN("count"), OPTION, 1},
	{SPAN("group"), OPTION, 2},
	{SPAN("streams"), REST_KEYS, 0},
};

static const struct option migrate_options[] = {
	{SPAN("auth"), OPTION, 1},
	{SPAN("auth2"), OPTION, 2},
	{SPAN("keys"), REST_KEYS, 0},
};

static bool is_word(struct span arg, struct span word)
{
	if (arg.len < word.len || (arg.len > word.len && arg.ptr[word.len] != 0))
		return false;
	return span_eq_nocase(span_of(arg.ptr, word.len), word);
}

static const struct option *option_of(struct span arg, const struct option *options, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is_word(arg, options[i].word))
			return &options[i];
	return NULL;
}

/*
 * Adds the key of each NEXT_KEY from args[from] on.  Returns where the keys of REST_KEYS begin,
 * which may be n; 0: its word is not there.
 */
static size_t walk(struct cmd_keys *k, const struct span *args, size_t n, size_t from,
	const struct option *options, size_t count)
{
	for (size_t i = from; i < n; i++) {
		const struct option *o = option_of(args[i], options, count);
		if (o == NULL)
			continue;
		if (o->kind == REST_KEYS)
			return i + 1;
		if (o->kind == NEXT_KEY && i + 1 < n)
			add(k, i + 1);
		i += o->values;
	}
	return 0;
}

static enum cmd_keys_result sort(const struct span *args, size_t n, struct cmd_keys *k)
{
	add(k, 1);
	(void)walk(k, args, n, 2, sort_options, ARRAY_LEN(sort_options));
	if (k->n > 2) { /* the last STORE wins */
		k->at[1] = k->at[k->n - 1];
		k->n = 2;
	}
	return CMD_KEYS_OK;
}

/* The arity counts the fixed arguments: options may stand after them. */
static enum cmd_keys_result georadius(
	const struct cmd *c, const struct span *args, size_t n, struct cmd_keys *k)
{
	size_t from = (size_t)-c->arity;

	add(k, 1);
	(void)walk(k, args, n, from, georadius_store, ARRAY_LEN(georadius_store));
	(void)walk(k, args, n, from, georadius_storedist, ARRAY_LEN(georadius_storedist));
	return CMD_KEYS_OK;
}

/* STREAMS key ... id ...: as many ids as keys. */
static enum cmd_keys_result streams(const struct span *args, size_t n, struct cmd_keys *k)
{
	size_t first = walk(k, args, n, 1, xread_options, ARRAY_LEN(xread_options));

	return first == 0 ? CMD_KEYS_BAD : add_range(k, first, first + (n - first) / 2, 1);
}

/* host port key db timeout: either the key or KEYS, not both. */
static enum cmd_keys_result migrate(const struct span *args, size_t n, struct cmd_keys *k)
{
	size_t first = walk(k, args, n, 6, migrate_options, ARRAY_LEN(migrate_options));

	if (first == 0 || first == n) {
		add(k, 3);
		return CMD_KEYS_OK;
	}
	return args[3].len != 0 ? CMD_KEYS_BAD : add_range(k, first, n, 1);
}

enum cmd_keys_result cmd_get_keys(
	const struct cmd *c, const struct span *args, size_t n, struct cmd_keys *k)
{
	k->n = 0;
	switch ((enum cmd_key_method)c->keys) {
	case KEYS_NONE:
		return CMD_KEYS_OK;
	case KEYS_ONE:
		add(k, (size_t)c->first_key);
		return CMD_KEYS_OK;
	case KEYS_RANGE:
		return range(c, n, k);
	case KEYS_COUNTED_1:
		return counted(c, args, n, 1, k);
	case KEYS_COUNTED_2:
		return counted(c, args, n, 2, k);
	case KEYS_TO_COUNTED:
		add(k, 1);
		return counted(c, args, n, 2, k);
	case KEYS_SORT:
		return sort(args, n, k);
	case KEYS_GEORADIUS:
		return georadius(c, args, n, k);
	case KEYS_STREAMS:
		return streams(args, n, k);
	case KEYS_MIGRATE:
		return migrate(args, n, k);
	}
	UNREACHABLE();
}
