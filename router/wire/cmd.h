/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * The command table: every command and subcommand of Redis 7.0, declared once in cmd_list.h;
 * documentation, COMMAND, tests and routing derive from it.  Pure: any thread.  The one thing that
 * is not a constant is the index behind cmd_find(): it is built before main() begins and never
 * written to again.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"

/* What the router does with a command. */
enum cmd_policy {
#define X(id, text) id,
#include "router/wire/cmd_policy_list.h"
#undef X
	CMD_POLICY_COUNT
};

/* Redis's own flags, as COMMAND INFO names them and in its order. */
#define CMD_FLAGS(X) \
	X(WRITE, "write") \
	X(READONLY, "readonly") \
	X(DENYOOM, "denyoom") \
	X(ADMIN, "admin") \
	X(PUBSUB, "pubsub") \
	X(NOSCRIPT, "noscript") \
	X(BLOCKING, "blocking") \
	X(LOADING, "loading") \
	X(STALE, "stale") \
	X(SKIP_MONITOR, "skip_monitor") \
	X(SKIP_SLOWLOG, "skip_slowlog") \
	X(ASKING, "asking") \
	X(FAST, "fast") \
	X(NO_AUTH, "no_auth") \
	X(NO_MANDATORY_KEYS, "no_mandatory_keys") \
	X(NO_ASYNC_LOADING, "no_async_loading") \
	X(NO_MULTI, "no_multi") \
	X(MOVABLEKEYS, "movablekeys") \
	X(ALLOW_BUSY, "allow_busy")

enum cmd_flag_bit {
#define X(id, text) CMD_BIT_##id,
	CMD_FLAGS(X)
#undef X
		CMD_FLAG_COUNT
};

enum {
#define X(id, text) CMD_##id = 1u << CMD_BIT_##id,
	CMD_FLAGS(X)
#undef X
};

/* ACL categories, in the order of ACL CAT. */
#define CMD_CATEGORIES(X) \
	X(KEYSPACE, "keyspace") \
	X(READ, "read") \
	X(WRITE, "write") \
	X(SET, "set") \
	X(SORTEDSET, "sortedset") \
	X(LIST, "list") \
	X(HASH, "hash") \
	X(STRING, "string") \
	X(BITMAP, "bitmap") \
	X(HYPERLOGLOG, "hyperloglog") \
	X(GEO, "geo") \
	X(STREAM, "stream") \
	X(PUBSUB, "pubsub") \
	X(ADMIN, "admin") \
	X(FAST, "fast") \
	X(SLOW, "slow") \
	X(BLOCKING, "blocking") \
	X(DANGEROUS, "dangerous") \
	X(CONNECTION, "connection") \
	X(TRANSACTION, "transaction") \
	X(SCRIPTING, "scripting")

enum cmd_category_bit {
#define X(id, text) CMD_CATEGORY_BIT_##id,
	CMD_CATEGORIES(X)
#undef X
		CMD_CATEGORY_COUNT
};

enum {
#define X(id, text) CMD_CATEGORY_##id = 1u << CMD_CATEGORY_BIT_##id,
	CMD_CATEGORIES(X)
#undef X
};

/* Families for latency histograms: few, so that each client-visible number has enough samples. */
enum cmd_family {
#define X(id, text) id,
#include "router/wire/cmd_family_list.h"
#undef X
	CMD_FAMILY_COUNT
};

/* How the keys of a command are found. */
enum cmd_key_method {
	KEYS_NONE,
	KEYS_ONE,        /* args[first_key], which the arity guarantees */
	KEYS_RANGE,      /* first_key to last_key by step */
	KEYS_COUNTED_1,  /* args[1] says how many follow it */
	KEYS_COUNTED_2,  /* args[2] does */
	KEYS_TO_COUNTED, /* args[1] is one, args[2] says how many follow it */
	KEYS_SORT,       /* args[1] and the last STORE */
	KEYS_GEORADIUS,  /* args[1], after STORE and after STOREDIST */
	KEYS_STREAMS,    /* the first half of what follows STREAMS */
	KEYS_MIGRATE,    /* args[3], or if that is empty what follows KEYS */
};

/* Identity of a command or subcommand: CMD_ID_GET, CMD_ID_CONFIG_SET, ... in table order. */
enum cmd_id {
#define X(id, ...) CMD_ID_##id,
#include "router/wire/cmd_list.h"
#undef X
	CMD_COUNT
};

struct cmd {
	const char *name;    /* lower case; a subcommand is "config|set" */
	const char *reason;  /* POLICY_REFUSED: why, a clause without full stop; else NULL */
	uint32_t flags;      /* CMD_* */
	uint32_t categories; /* CMD_CATEGORY_*, those that follow from the flags included */
	uint16_t id;         /* enum cmd_id */
	uint16_t parent;     /* of a subcommand: its container's id; else its own id */
	int16_t first_key;   /* Redis's legacy triple: 0 = none.  Channels count, as for Redis */
	int16_t last_key;    /* -1 = the last argument */
	int8_t step;
	int8_t arity; /* Redis's: n exactly, -n at least n, the command's name included */
	uint8_t name_len;
	uint8_t policy; /* enum cmd_policy */
	uint8_t family; /* enum cmd_family */
	uint8_t keys;   /* enum cmd_key_method */
	bool has_subs;  /* a container */
	bool own;       /* not in Redis's table: COMMAND doesn't tell of it */
};

/*
 * The command that these arguments name, subcommands resolved ("config set" -> config|set); case is
 * ignored.  A container with an unknown subcommand, or none: the container itself.  NULL: unknown.
 * n >= 1.
 */
const struct cmd *cmd_find(const struct span *args, size_t n);

/* By its full name, as COMMAND INFO and ACL rules write it: "get", "config|set".  NULL: unknown. */
const struct cmd *cmd_by_name(struct span name);

/* By identity.  id < CMD_COUNT. */
const struct cmd *cmd_at(unsigned id);

static inline bool cmd_arity_ok(const struct cmd *c, size_t n)
{
	return c->arity >= 0 ? n == (size_t)c->arity : n >= (size_t)-c->arity;
}

/* Positions (indices into args) of a request's keys. */
struct cmd_keys {
	uint32_t *at; /* owned, growable; one vector per worker */
	uint32_t n;
	uint32_t cap;
};

void cmd_keys_init(struct cmd_keys *k);
void cmd_keys_fini(struct cmd_keys *k);

enum cmd_keys_result {
	CMD_KEYS_OK,  /* k holds every key's position, in the order Redis finds them; n may be 0 */
	CMD_KEYS_BAD, /* the arguments don't say where the keys are (numkeys not a number, ...):
			 the node's own words are the right answer; k->n is 0 */
};

/*
 * Keys as COMMAND GETKEYS of Redis 7.0 finds them, duplicates kept.  The arity was checked.  Linear
 * in n.  One key at a fixed place is the common case: cmd_one_key() spares the call.
 *
 * Where GETKEYS and the command itself differ, the command is right: PFMERGE with a destination
 * alone has one key; words of an option's value ("SORT k STORE limit") are no options; a number
 * that the command refuses ("2x") is BAD, and so is every other request whose execution is certain
 * to fail and whose keys can't be told.
 */
enum cmd_keys_result cmd_get_keys(
	const struct cmd *c, const struct span *args, size_t n, struct cmd_keys *k) MUST_CHECK;

/* True: exactly one key, always at args[c->first_key]. */
static inline bool cmd_one_key(const struct cmd *c)
{
	return c->keys == KEYS_ONE;
}
