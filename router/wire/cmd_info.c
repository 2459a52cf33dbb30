/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/wire/cmd_info.h"

#include <string.h>

/*
 * An entry is name, arity, flags, first key, last key, step, ACL categories, tips, key
 * specifications, subcommands.  RESP3 has sets and maps where RESP2 has arrays.
 */

#define SPECS_MAX 3

/* Remarks that Redis makes on key specifications, word for word. */
#define NOTE_BITFIELD "This command allows both access and modification of the key"
#define NOTE_BY_GET \
	"For the optional BY/GET keyword. It is marked 'unknown' because the key names derive " \
	"from the content of the key we sort"
#define NOTE_PFCOUNT \
	"RW because it may change the internal representation of the key, and propagate to " \
	"replicas"
#define NOTE_SET_GET "RW and ACCESS due to the optional `GET` argument"
#define NOTE_STORE \
	"For the optional STORE keyword. It is marked 'unknown' because the keyword can appear " \
	"anywhere in the argument array"
#define NOTE_TTL "RW and UPDATE because it changes the TTL"
#define NOTE_WORST_RO \
	"We cannot tell how the keys will be used so we assume the worst, RO and ACCESS"
#define NOTE_WORST_RW \
	"We cannot tell how the keys will be used so we assume the worst, RW and UPDATE"
#define NOTE_XADD "UPDATE instead of INSERT because of the optional trimming feature"

/* What a command does with the keys of a specification, in the order that it is told. */
#define USES(X) \
	X(RO, "RO") \
	X(RW, "RW") \
	X(OW, "OW") \
	X(RM, "RM") \
	X(ACCESS, "access") \
	X(UPDATE, "update") \
	X(INSERT, "insert") \
	X(DELETE, "delete") \
	X(NOT_KEY, "not_key") \
	X(INCOMPLETE, "incomplete") \
	X(VARIABLE_FLAGS, "variable_flags")

enum use_bit {
#define X(id, text) BIT_##id,
	USES(X)
#undef X
		USE_COUNT
};

enum {
#define X(id, text) id = 1u << BIT_##id,
	USES(X)
#undef X
};

enum spec_kind { BY_INDEX, BY_COUNT, BY_WORD, NOT_KNOWN };

struct spec {
	const char *note; /* or NULL */
	const char *word; /* BY_WORD */
	uint16_t uses;    /* 0: no specification */
	uint8_t kind;     /* enum spec_kind */
	int8_t from; /* index of the first key, of the count, or where the word is looked for */
	int8_t last;
	int8_t step;
	int8_t limit;
};

struct info {
	const char *tips;
	struct spec specs[SPECS_MAX];
};

#define NOTE(...) (sizeof("" __VA_ARGS__) > 1 ? "" __VA_ARGS__ : NULL)
#define SPEC(kind, word, from, last, step, limit, uses, ...) \
	{ \
		NOTE(__VA_ARGS__), word, uses, kind, from, last, step, limit \
	}
#define KEY(i, ...) SPEC(BY_INDEX, NULL, i, 0, 1, 0, __VA_ARGS__)
#define KEYS(i, last, step, ...) SPEC(BY_INDEX, NULL, i, last, step, 0, __VA_ARGS__)
#define COUNTED(i, ...) SPEC(BY_COUNT, NULL, i, 0, 1, 0, __VA_ARGS__)
#define AFTER(word, from, last, limit, ...) SPEC(BY_WORD, word, from, last, 1, limit, __VA_ARGS__)
#define UNKNOWN(...) SPEC(NOT_KNOWN, NULL, 0, 0, 0, 0, __VA_ARGS__)

static const struct info infos[CMD_COUNT] = {
#define X(id, tips, ...) [CMD_ID_##id] = {tips, {__VA_ARGS__}},
#include "router/wire/cmd_info_list.h"
#undef X
};

static const char *const flag_names[] = {
#define X(id, text) text,
	CMD_FLAGS(X)
#undef X
};

static const char *const category_names[] = {
#define X(id, text) "@" text,
	CMD_CATEGORIES(X)
#undef X
};

static const char *const use_names[] = {
#define X(id, text) text,
	USES(X)
#undef X
};

/* ---- RESP -------------------------------------------------------------------------------- */

struct writer {
	FILE *out;
	int resp;
};

static void put_head(const struct writer *w, char type, long n)
{
	(void)fprintf(w->out, "%c%ld\r\n", type, n);
}

static void put_set(const struct writer *w, size_t n)
{
	put_head(w, w->resp >= 3 ? '~' : '*', (long)n);
}

static void put_map(const struct writer *w, size_t pairs)
{
	put_head(w, w->resp >= 3 ? '%' : '*', (long)(w->resp >= 3 ? pairs : pairs * 2));
}

static void put_bulk(const struct writer *w, const char *text, size_t len)
{
	(void)fprintf(w->out, "$%zu\r\n%.*s\r\n", len, (int)len, text);
}

static void put_text(const struct writer *w, const char *text)
{
	put_bulk(w, text, strlen(text));
}

static void put_pair_number(const struct writer *w, const char *key, long value)
{
	put_text(w, key);
	put_head(w, ':', value);
}

static void put_pair_text(const struct writer *w, const char *key, const char *value)
{
	put_text(w, key);
	put_text(w, value);
}

/* The names of the bits that are set, as a set of status replies. */
static void put_bits(const struct writer *w, uint32_t bits, const char *const *names)
{
	put_set(w, (size_t)__builtin_popcount(bits));
	for (; bits != 0; bits &= bits - 1)
		(void)fprintf(w->out, "+%s\r\n", names[__builtin_ctz(bits)]);
}

/* ---- parts of an entry ------------------------------------------------------------------- */

static void put_tips(const struct writer *w, const char *tips)
{
	size_t n = 0;

	for (const char *p = tips; *p != '\0'; p += strcspn(p, " "), p += *p == ' ')
		n++;
	put_set(w, n);
	for (const char *p = tips; *p != '\0';) {
		size_t len = strcspn(p, " ");
		put_bulk(w, p, len);
		p += len + (p[len] == ' ');
	}
}

static void put_begin_search(const struct writer *w, const struct spec *s)
{
	put_text(w, "begin_search");
	put_map(w, 2);
	switch ((enum spec_kind)s->kind) {
	case BY_INDEX:
	case BY_COUNT:
		put_pair_text(w, "type", "index");
		put_text(w, "spec");
		put_map(w, 1);
		put_pair_number(w, "index", s->from);
		break;
	case BY_WORD:
		put_pair_text(w, "type", "keyword");
		put_text(w, "spec");
		put_map(w, 2);
		put_pair_text(w, "keyword", s->word);
		put_pair_number(w, "startfrom", s->from);
		break;
	case NOT_KNOWN:
		put_pair_text(w, "type", "unknown");
		put_text(w, "spec");
		put_map(w, 0);
		break;
	}
}

static void put_find_keys(const struct writer *w, const struct spec *s)
{
	put_text(w, "find_keys");
	put_map(w, 2);
	switch ((enum spec_kind)s->kind) {
	case BY_INDEX:
	case BY_WORD:
		put_pair_text(w, "type", "range");
		put_text(w, "spec");
		put_map(w, 3);
		put_pair_number(w, "lastkey", s->last);
		put_pair_number(w, "keystep", s->step);
		put_pair_number(w, "limit", s->limit);
		break;
	case BY_COUNT: /* the count stands first, its keys right after it */
		put_pair_text(w, "type", "keynum");
		put_text(w, "spec");
		put_map(w, 3);
		put_pair_number(w, "keynumidx", 0);
		put_pair_number(w, "firstkey", 1);
		put_pair_number(w, "keystep", s->step);
		break;
	case NOT_KNOWN:
		put_pair_text(w, "type", "unknown");
		put_text(w, "spec");
		put_map(w, 0);
		break;
	}
}

static void put_specs(const struct writer *w, const struct info *info)
{
	size_t n = 0;

	while (n < SPECS_MAX && info->specs[n].uses != 0)
		n++;
	put_set(w, n);
	for (size_t i = 0; i < n; i++) {
		const struct spec *s = &info->specs[i];
		put_map(w, s->note != NULL ? 4 : 3);
		if (s->note != NULL)
			put_pair_text(w, "notes", s->note);
		put_text(w, "flags");
		put_bits(w, s->uses, use_names);
		put_begin_search(w, s);
		put_find_keys(w, s);
	}
}

/* All of an entry but its last element, the subcommands. */
static void put_facts(const struct writer *w, const struct cmd *c)
{
	const struct info *info = &infos[c->id];

	put_head(w, '*', 10);
	put_bulk(w, c->name, c->name_len);
	put_head(w, ':', c->arity);
	put_bits(w, c->flags, flag_names);
	put_head(w, ':', c->first_key);
	put_head(w, ':', c->last_key);
	put_head(w, ':', c->step);
	put_bits(w, c->categories, category_names);
	put_tips(w, info->tips != NULL ? info->tips : "");
	put_specs(w, info);
}

static bool is_redis_sub(const struct cmd *sub, const struct cmd *c)
{
	return sub->parent == c->id && sub != c && !sub->own;
}

void cmd_info_write(FILE *out, const struct cmd *c, int resp)
{
	const struct writer w = {out, resp};
	size_t n = 0;

	for (unsigned id = c->id + 1u; id < CMD_COUNT && cmd_at(id)->parent == c->id; id++)
		n += is_redis_sub(cmd_at(id), c);
	put_facts(&w, c);
	if (n == 0)
		put_set(&w, 0);
	else
		put_head(&w, '*', (long)n); /* in RESP3 too */
	for (unsigned id = c->id + 1u; id < CMD_COUNT && cmd_at(id)->parent == c->id; id++) {
		if (!is_redis_sub(cmd_at(id), c))
			continue;
		put_facts(&w, cmd_at(id));
		put_set(&w, 0);
	}
}

static bool is_redis_top(const struct cmd *c)
{
	return c->parent == c->id && !c->own;
}

unsigned cmd_info_count(void)
{
	unsigned n = 0;

	for (unsigned id = 0; id < CMD_COUNT; id++)
		n += is_redis_top(cmd_at(id));
	return n;
}

void cmd_info_write_all(FILE *out, int resp)
{
	const struct writer w = {out, resp};

	put_head(&w, '*', cmd_info_count());
	for (unsigned id = 0; id < CMD_COUNT; id++)
		if (is_redis_top(cmd_at(id)))
			cmd_info_write(out, cmd_at(id), resp);
}
