/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Who may log in at a pool and what they may not do there, and how the router logs in at the
 * pool's nodes.
 *
 * Plain values, owned by the configuration: whoever enforces them makes its own of them.  Passwords
 * come from files only, are never printed or logged, and are wiped by conf_fini().
 */

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "router/wire/cmd.h"

#define CONF_PASSWORDS_MAX 2 /* the one in use and the next: so that clients change one by one */
#define CONF_USER_DEFAULT "default"

struct conf_password {
	char *file; /* owned; NULL: there is none */
	char *text; /* owned, wiped before it is freed; NULL: not read yet */
	size_t len;
};

struct conf_user {
	char *name; /* owned */
	struct conf_password passwords[CONF_PASSWORDS_MAX];
	size_t npasswords; /* 0: none is needed, any is right */
	char **deny;       /* owned, as written */
	size_t ndeny;
	uint64_t denied[(CMD_COUNT + 63) / 64]; /* by enum cmd_id; never what logging in needs */
};

struct conf_access {
	struct conf_user *users; /* owned array; without one named `default`, clients must log in */
	size_t nusers;
	char *node_user;                    /* owned; NULL: AUTH with the password alone */
	struct conf_password node_password; /* file NULL: the nodes ask for none */
};

/* NULL: nobody of that name. */
const struct conf_user *conf_access_user(const struct conf_access *a, struct span name);
