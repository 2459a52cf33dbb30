/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * The users of a pool: who may log in, with which passwords, and what each of them may not run.
 *
 * A set is a snapshot: made by the control thread, never changed, shared by the workers through
 * references, replaced as a whole at a reload.  Two passwords per user are valid at a time, so that
 * one can be replaced without a moment in which a client is turned away.  Passwords are compared in
 * a time that depends on what the client sent alone, and wiped when the set goes.
 *
 * Any thread may read a set; references are counted atomically.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"
#include "router/wire/cmd.h"

/* A set of commands, by id. */
struct cmd_set {
	uint64_t bits[(CMD_COUNT + 63) / 64];
};

static inline bool cmd_set_has(const struct cmd_set *s, unsigned id)
{
	return id < CMD_COUNT && (s->bits[id / 64] >> (id % 64) & 1) != 0;
}

/*
 * Adds what an operator wrote: a command with all its subcommands ("keys", "config"), one subcommand
 * ("config|set"), or a category ("@dangerous").  Case is ignored.  False: there is no such thing, and
 * nothing was added.
 */
bool cmd_set_add(struct cmd_set *s, struct span name) MUST_CHECK;
/* A category, by its name without '@'. */
bool cmd_set_add_category(struct cmd_set *s, struct span name) MUST_CHECK;

#define USER_PASSWORDS 2
#define USER_DEFAULT "default"

/* A user as declared.  Borrowed by user_set_new(). */
struct user_spec {
	const char *name;
	struct span passwords[USER_PASSWORDS];
	size_t npasswords; /* 0: none is asked for, any will do */
	struct cmd_set deny;
};

/* Wiped when it goes. */
struct secret {
	uint8_t *ptr; /* owned */
	size_t len;
};

struct user {
	char *name;   /* owned */
	bool enabled; /* false: nobody may log in as this user */
	bool nopass;  /* any password will do */
	bool limited; /* `deny` is not empty */
	struct secret passwords[USER_PASSWORDS];
	size_t npasswords;
	struct cmd_set deny;
};

struct user_set;

/*
 * 0, or RW_EDUPLICATE: a name occurs twice.  Without any user declared there is `default`, who needs
 * no password; otherwise a `default` that is not declared exists but is disabled, so that clients
 * must log in.
 */
int user_set_new(struct user_set **ret, const struct user_spec *specs, size_t n) MUST_CHECK;
struct user_set *user_set_ref(struct user_set *s);
/* NULL is allowed. */
void user_set_unref(struct user_set *s);

/* NULL: no such user.  Names are compared byte by byte. */
const struct user *user_set_find(const struct user_set *s, struct span name);
/* Who a client is before it logs in.  Never NULL. */
const struct user *user_set_default(const struct user_set *s);
/* Clients need not log in. */
bool user_set_is_open(const struct user_set *s);

/* The user, if the password is right and the user enabled; else NULL. */
const struct user *user_set_login(const struct user_set *s, struct span name, struct span password);
