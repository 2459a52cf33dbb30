/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * How the router logs in at the nodes of a pool.  Immutable, shared by all workers, wiped when the last reference goes.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct node_login {
	_Atomic uint32_t refs;
	char *user;        /* owned; NULL: AUTH with the password alone */
	uint8_t *password; /* owned */
	size_t len;
};

/* Copies.  user may be NULL.  The caller holds the first reference. */
struct node_login *node_login_new(const char *user, struct span password);
/* NULL is allowed and given back. */
struct node_login *node_login_ref(struct node_login *l);
/* NULL is allowed. */
void node_login_unref(struct node_login *l);
