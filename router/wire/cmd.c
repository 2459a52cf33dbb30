/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/wire/cmd.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "base/check.h"

/*
 * The table and the way from a name to its row.
 *
 * cmd_find() runs once per request, so a name is never compared byte by byte: up to 24 bytes are
 * loaded into three words, all letters are lowered at once, and one multiplication gives the place
 * in an open addressing index whose entries hold the same three words.  Lowering eight bytes at a
 * time is Tony Finch's "tolower() with SWAR" (2022).  A subcommand is in the same index under its
 * own name and its container's id.  The index is three quarters empty and never full, so a search
 * ends soon.
 */

/* Why a command is refused: what follows "... is refused: ". */
#define WHY_ NULL
#define WHY_CLUSTER "nodes get their share of the keys from the router's topology"
#define WHY_DEBUG "only DEBUG OBJECT and DEBUG SLEEP reach the nodes"
#define WHY_LDB "the script debugger needs a connection to one node"
#define WHY_MODULE "modules are loaded at each node by its operator"
#define WHY_MONITOR "one connection cannot follow the commands of every node"
#define WHY_PRIMARY "which server is the primary is a matter of the topology"
#define WHY_REPLICATION "a router has no data to replicate"
#define WHY_SHUTDOWN "nodes are stopped where they run"
#define WHY_SWAPDB "databases cannot be swapped on every node at one instant"
#define WHY_USERS "clients are declared in the router's configuration"

/* The letters of cmd_list.h. */
enum {
	W = CMD_WRITE,
	R = CMD_READONLY,
	M = CMD_DENYOOM,
	A = CMD_ADMIN,
	P = CMD_PUBSUB,
	NS = CMD_NOSCRIPT,
	B = CMD_BLOCKING,
	L = CMD_LOADING,
	ST = CMD_STALE,
	SM = CMD_SKIP_MONITOR,
	SS = CMD_SKIP_SLOWLOG,
	AK = CMD_ASKING,
	F = CMD_FAST,
	NA = CMD_NO_AUTH,
	NK = CMD_NO_MANDATORY_KEYS,
	NL = CMD_NO_ASYNC_LOADING,
	NM = CMD_NO_MULTI,
	MK = CMD_MOVABLEKEYS,
	AB = CMD_ALLOW_BUSY,
	C = 1u << CMD_FLAG_COUNT, /* a container */
	O = C << 1u,              /* our own */
	REDIS_FLAGS = C - 1,
};

/* Its categories. */
enum {
#define X(id, text) id = CMD_CATEGORY_##id,
	CMD_CATEGORIES(X)
#undef X
};

/* The categories that Redis adds by itself: "explicit" are those of the row. */
#define ALSO(flags, flag, categories) (((flags) & (flag)) != 0 ? (uint32_t)(categories) : 0u)
#define ALL_CATEGORIES(flags, explicit) \
	((uint32_t)(explicit) | ALSO(flags, W, WRITE) | \
		(((explicit) & SCRIPTING) != 0 ? 0u : ALSO(flags, R, READ)) | \
		ALSO(flags, A, ADMIN | DANGEROUS) | ALSO(flags, P, PUBSUB) | \
		ALSO(flags, B, BLOCKING) | (((flags)&F) != 0 ? FAST : SLOW))

static const struct cmd table[CMD_COUNT] = {
#define X(id_, of, name_, arity_, flags_, first, last, step_, keys_, policy_, family_, explicit, \
	...) \
	[CMD_ID_##id_] = {.name = (name_), \
		.reason = WHY_##__VA_ARGS__, \
		.flags = (flags_)&REDIS_FLAGS, \
		.categories = ALL_CATEGORIES(flags_, explicit), \
		.id = CMD_ID_##id_, \
		.parent = CMD_ID_##of, \
		.first_key = (first), \
		.last_key = (last), \
		.step = (step_), \
		.arity = (arity_), \
		.name_len = sizeof(name_) - 1, \
		.policy = POLICY_##policy_, \
		.family = FAMILY_##family_, \
		.keys = KEYS_##keys_, \
		.has_subs = ((flags_)&C) != 0, \
		.own = ((flags_)&O) != 0},
#include "router/wire/cmd_list.h"
#undef X
};

/* ---- names ------------------------------------------------------------------------------- */

#define NAME_WORDS 3
#define NAME_MAX_LEN (NAME_WORDS * sizeof(uint64_t))

/* A name in lower case, zeros after its end. */
struct name {
	uint64_t word[NAME_WORDS];
};

#define EVERY_BYTE(b) (UINT64_C(0x0101010101010101) * (b))

/* Adds 0x20 to every byte of 'A' .. 'Z'. */
static uint64_t lower_word(uint64_t x)
{
	uint64_t low7 = x & EVERY_BYTE(0x7f);
	uint64_t past_z = low7 + EVERY_BYTE(0x7f - 'Z');
	uint64_t from_a = low7 + EVERY_BYTE(0x80 - 'A');
	uint64_t upper = (from_a ^ past_z) & ~x & EVERY_BYTE(0x80);

	return x | upper >> 2;
}

static uint32_t load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

/* n bytes, 1 <= n <= 8, the first lowest; none beyond them is touched.  Loads may overlap: equal
 * bytes meet. */
static uint64_t load_word(const uint8_t *p, size_t n)
{
	if (n >= 4)
		return load32(p) | (uint64_t)load32(p + n - 4) << 8 * (n - 4);
	return p[0] | (uint64_t)p[n / 2] << 8 * (n / 2) | (uint64_t)p[n - 1] << 8 * (n - 1);
}

/* False: no command has a name of that length. */
static bool name_load(struct name *ret, struct span s)
{
	if (s.len - 1 >= NAME_MAX_LEN) /* 0 too */
		return false;
	for (size_t i = 0; i < NAME_WORDS; i++) {
		size_t at = i * sizeof(uint64_t);
		size_t left = s.len > at ? s.len - at : 0;
		ret->word[i] =
			left == 0 ? 0 : lower_word(load_word(s.ptr + at, left < 8 ? left : 8));
	}
	return true;
}

/* ---- the index --------------------------------------------------------------------------- */

#define INDEX_BITS 10
#define INDEX_SIZE (1u << INDEX_BITS)
#define TOP 0 /* `within` of a command that is no subcommand */

static_assert(CMD_COUNT * 2 <= INDEX_SIZE, "the index is too small");

struct entry {
	struct name name;
	uint16_t len;    /* 0: an empty place.  Tells "get" from "get\0" */
	uint16_t within; /* TOP, or the container's id + 1 */
	uint16_t id;
};

static struct entry by_name[INDEX_SIZE];

static uint32_t place_of(const struct name *n, uint32_t within)
{
	uint64_t h = n->word[0] ^ within;

	h += n->word[1] * UINT64_C(0xc2b2ae3d27d4eb4f) + n->word[2] * UINT64_C(0x165667b19e3779f9);
	h *= UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(h >> (64 - INDEX_BITS));
}

static bool entry_is(const struct entry *e, const struct name *n, size_t len, uint32_t within)
{
	return e->name.word[0] == n->word[0] && e->name.word[1] == n->word[1] &&
	       e->name.word[2] == n->word[2] && e->len == len && e->within == within;
}

/* Where the name is, or the empty place where it would be. */
static struct entry *entry_of(const struct name *n, size_t len, uint32_t within)
{
	uint32_t at = place_of(n, within);

	while (by_name[at].len != 0 && !entry_is(&by_name[at], n, len, within))
		at = (at + 1) % INDEX_SIZE;
	return &by_name[at];
}

static const struct cmd *lookup(struct span s, uint32_t within)
{
	struct name n;

	if (!name_load(&n, s))
		return NULL;
	const struct entry *e = entry_of(&n, s.len, within);
	return e->len == 0 ? NULL : &table[e->id];
}

/* The same for names of one word, which nearly all are. */
static inline const struct cmd *lookup_short(struct span s)
{
	uint64_t word = lower_word(load_word(s.ptr, s.len));
	uint32_t at = (uint32_t)(word * UINT64_C(0x9e3779b97f4a7c15) >> (64 - INDEX_BITS));
	for (;; at = (at + 1) % INDEX_SIZE) {
		const struct entry *e = &by_name[at];
		if (LIKELY(e->name.word[0] == word && e->len == s.len && e->within == TOP))
			return &table[e->id];
		if (e->len == 0)
			return NULL;
	}
}

/* What a name is indexed under: "config|set" is "set" within config. */
static struct span own_part(const struct cmd *c)
{
	size_t skip = c->parent == c->id ? 0 : (size_t)table[c->parent].name_len + 1;

	return span_of(c->name + skip, c->name_len - skip);
}

/* Before main(), so that no thread ever sees it half built and nobody must remember to call it. */
__attribute__((constructor)) static void index_build(void)
{
	for (unsigned id = 0; id < CMD_COUNT; id++) {
		const struct cmd *c = &table[id];
		struct span part = own_part(c);
		uint32_t within = c->parent == id ? TOP : c->parent + 1u;
		struct name n;

		CHECK(name_load(&n, part));
		struct entry *e = entry_of(&n, part.len, within);
		CHECK(e->len == 0); /* named twice */
		*e = (struct entry){n, (uint16_t)part.len, (uint16_t)within, (uint16_t)id};
	}
}

/* ---- finding ----------------------------------------------------------------------------- */

const struct cmd *cmd_find(const struct span *args, size_t n)
{
	const struct cmd *c =
		LIKELY(args[0].len - 1 < 8) ? lookup_short(args[0]) : lookup(args[0], TOP);

	if (LIKELY(c == NULL || !c->has_subs) || n < 2)
		return c;
	const struct cmd *sub = lookup(args[1], c->id + 1u);
	return sub != NULL ? sub : c;
}

const struct cmd *cmd_by_name(struct span name)
{
	const uint8_t *bar = name.len == 0 ? NULL : memchr(name.ptr, '|', name.len);

	if (bar == NULL)
		return lookup(name, TOP);
	size_t head = (size_t)(bar - name.ptr);
	const struct cmd *c = lookup(span_of(name.ptr, head), TOP);
	if (c == NULL || !c->has_subs)
		return NULL;
	return lookup(span_of(bar + 1, name.len - head - 1), c->id + 1u);
}

const struct cmd *cmd_at(unsigned id)
{
	CHECK(id < CMD_COUNT);
	return &table[id];
}
