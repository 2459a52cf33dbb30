/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * The command table: every command and subcommand of Redis 7.0, declared once in cmd_list.h; documentation, COMMAND,
 * tests and routing derive from it.  Pure and constant: no state, any thread.
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

/* Redis's own flags, as COMMAND INFO names them. */
#define CMD_FLAGS(X)                                                                                   \
	X(WRITE, "write")                                                                              \
	X(READONLY, "readonly")                                                                        \
	X(DENYOOM, "denyoom")                                                                          \
	X(ADMIN, "admin")                                                                              \
	X(PUBSUB, "pubsub")                                                                            \
	X(NOSCRIPT, "noscript")                                                                        \
	X(BLOCKING, "blocking")                                                                        \
	X(LOADING, "loading")                                                                          \
	X(STALE, "stale")                                                                              \
	X(SKIP_MONITOR, "skip_monitor")                                                                \
	X(SKIP_SLOWLOG, "skip_slowlog")                                                                \
	X(ASKING, "asking")                                                                            \
	X(FAST, "fast")                                                                                \
	X(NO_AUTH, "no_auth")                                                                          \
	X(MAY_REPLICATE, "may_replicate")                                                              \
	X(NO_ASYNC_LOADING, "no_async_loading")                                                        \
	X(NO_MULTI, "no_multi")                                                                        \
	X(MOVABLEKEYS, "movablekeys")                                                                  \
	X(ALLOW_BUSY, "allow_busy")                                                                    \
	X(NO_MANDATORY_KEYS, "no_mandatory_keys")

enum cmd_flag_bit {
#define X(id, text) CMD_BIT_##id,
	CMD_FLAGS(X)
#undef X
};

enum {
#define X(id, text) CMD_##id = 1u << CMD_BIT_##id,
	CMD_FLAGS(X)
#undef X
};

/* Families for latency histograms: few, so that each client-visible number has enough samples. */
enum cmd_family {
#define X(id, text) id,
#include "router/wire/cmd_family_list.h"
#undef X
	CMD_FAMILY_COUNT
};

/* Identity of a command or subcommand: CMD_ID_GET, CMD_ID_CONFIG_SET, ... in table order. */
enum cmd_id {
#define X(id, ...) CMD_ID_##id,
#include "router/wire/cmd_list.h"
#undef X
	CMD_COUNT
};

struct cmd {
	const char *name;      /* lower case; a subcommand is "config|set" */
	uint8_t name_len;
	uint8_t policy;        /* enum cmd_policy */
	uint8_t family;        /* enum cmd_family */
	int8_t arity;          /* Redis's: n exactly, -n at least n, the command's name included */
	uint16_t id;           /* enum cmd_id */
	uint16_t parent;       /* of a subcommand: its container's id; else its own id */
	uint32_t flags;        /* CMD_* */
	int16_t first_key;     /* Redis's legacy triple: 0 = none */
	int16_t last_key;      /* -1 = the last argument */
	int8_t step;
	uint8_t keys;          /* how to find keys: the module's own enum */
	bool has_subs;         /* a container */
};

/*
 * The command that these arguments name, subcommands resolved ("config set" -> config|set).  NULL: unknown.
 * A container with an unknown subcommand, or none: the container itself.  n >= 1.  Case is ignored.
 */
const struct cmd *cmd_find(const struct span *args, size_t n);

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
	CMD_KEYS_OK,    /* k holds every key's position, ascending as Redis finds them; n may be 0 */
	CMD_KEYS_BAD,   /* the arguments don't say where the keys are (numkeys not a number, ...):
			   the node's own words are the right answer; k->n is 0 */
};

/*
 * Keys as COMMAND GETKEYS of Redis 7.0 finds them.  The arity was checked.  Commands with one key at a fixed place are
 * the fast path: use cmd_first_key_only() for those.
 */
enum cmd_keys_result cmd_get_keys(const struct cmd *c, const struct span *args, size_t n, struct cmd_keys *k) MUST_CHECK;

/* True: exactly one key, always at args[c->first_key]. */
static inline bool cmd_one_key(const struct cmd *c)
{
	return c->first_key > 0 && c->first_key == c->last_key && !(c->flags & CMD_MOVABLEKEYS);
}
