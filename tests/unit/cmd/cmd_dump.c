/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */

/*
 * What the command table says, for programs that compare it with something else.
 *
 *   cmd_dump --table     one JSON object a line, in table order
 *   cmd_dump --info 2|3  COMMAND's reply in RESP2 or RESP3
 *   cmd_dump --keys      reads argument vectors from stdin, all numbers 32 bits of this machine's
 * order: how many arguments, then length and bytes of each.  Answers one line a vector: "unknown",
 * "arity", "bad", or "ok" and the positions of the keys.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "router/wire/cmd.h"
#include "router/wire/cmd_info.h"

static const char *const policy_names[] = {
#define X(id, text) #id,
#include "router/wire/cmd_policy_list.h"
#undef X
};

static const char *const family_names[] = {
#define X(id, text) text,
#include "router/wire/cmd_family_list.h"
#undef X
};

static const char *const flag_names[] = {
#define X(id, text) text,
	CMD_FLAGS(X)
#undef X
};

static const char *const category_names[] = {
#define X(id, text) text,
	CMD_CATEGORIES(X)
#undef X
};

/* ---- the table --------------------------------------------------------------------------- */

static void print_bits(const char *key, uint32_t bits, const char *const *names)
{
	const char *comma = "";

	printf(", \"%s\": [", key);
	for (; bits != 0; bits &= bits - 1) {
		printf("%s\"%s\"", comma, names[__builtin_ctz(bits)]);
		comma = ", ";
	}
	printf("]");
}

static void print_row(const struct cmd *c)
{
	printf("{\"name\": \"%s\", \"parent\": \"%s\", \"arity\": %d", c->name,
		cmd_at(c->parent)->name, c->arity);
	printf(", \"first\": %d, \"last\": %d, \"step\": %d", c->first_key, c->last_key, c->step);
	print_bits("flags", c->flags, flag_names);
	print_bits("categories", c->categories, category_names);
	printf(", \"policy\": \"%s\", \"family\": \"%s\"", policy_names[c->policy],
		family_names[c->family]);
	printf(", \"has_subs\": %s, \"own\": %s, \"one_key\": %s", c->has_subs ? "true" : "false",
		c->own ? "true" : "false", cmd_one_key(c) ? "true" : "false");
	if (c->reason != NULL)
		printf(", \"reason\": \"%s\"", c->reason);
	printf("}\n");
}

static int dump_table(void)
{
	for (unsigned id = 0; id < CMD_COUNT; id++)
		print_row(cmd_at(id));
	return 0;
}

/* ---- keys -------------------------------------------------------------------------------- */

/* One argument vector; its bytes stand in one block. */
struct vector {
	struct span *args; /* owned */
	uint8_t *bytes;    /* owned */
	size_t cap;
	uint32_t n;
};

static void *grown(void *old, size_t size)
{
	void *p = realloc(old, size);

	CHECK(p != NULL || size == 0);
	return p;
}

static bool read_u32(uint32_t *ret)
{
	return fread(ret, sizeof(*ret), 1, stdin) == 1;
}

static void read_bytes(struct vector *v, size_t at, size_t len)
{
	if (at + len > v->cap) {
		v->cap = (at + len) * 2;
		v->bytes = grown(v->bytes, v->cap);
	}
	CHECK(len == 0 || fread(v->bytes + at, len, 1, stdin) == 1);
}

/* False: the end of the input. */
static bool read_vector(struct vector *v)
{
	size_t used = 0;

	if (!read_u32(&v->n))
		return false;
	v->args = grown(v->args, v->n * sizeof(*v->args));
	for (uint32_t i = 0; i < v->n; i++) {
		uint32_t len;
		CHECK(read_u32(&len));
		read_bytes(v, used, len);
		v->args[i] = span_of(NULL, len);
		used += len;
	}
	used = 0;
	for (uint32_t i = 0; i < v->n; i++) { /* the block no longer moves */
		v->args[i].ptr = v->bytes + used;
		used += v->args[i].len;
	}
	return true;
}

static void answer(const struct vector *v, struct cmd_keys *k)
{
	const struct cmd *c = v->n == 0 ? NULL : cmd_find(v->args, v->n);

	if (c == NULL || !cmd_arity_ok(c, v->n)) {
		puts(c == NULL ? "unknown" : "arity");
		return;
	}
	if (cmd_get_keys(c, v->args, v->n, k) == CMD_KEYS_BAD) {
		puts("bad");
		return;
	}
	printf("ok");
	for (uint32_t i = 0; i < k->n; i++)
		printf(" %" PRIu32, k->at[i]);
	printf("\n");
}

static int dump_keys(void)
{
	struct vector v = {0};
	struct cmd_keys k;

	cmd_keys_init(&k);
	while (read_vector(&v))
		answer(&v, &k);
	cmd_keys_fini(&k);
	free(v.args);
	free(v.bytes);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--table") == 0)
		return dump_table();
	if (argc == 2 && strcmp(argv[1], "--keys") == 0)
		return dump_keys();
	if (argc == 3 && strcmp(argv[1], "--info") == 0 &&
		(strcmp(argv[2], "2") == 0 || strcmp(argv[2], "3") == 0)) {
		cmd_info_write_all(stdout, argv[2][0] - '0');
		return 0;
	}
	fprintf(stderr, "usage: %s --table | --info 2|3 | --keys\n", program_invocation_short_name);
	return 2;
}
