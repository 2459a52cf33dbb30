/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Where an address leads: all the socket addresses of a name, in the order of preference that the
 * resolver gave them.  Never changed once made, shared by reference count.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "router/io/sock.h"

/* More addresses of one name are left out. */
#define ADDRESSES_MAX 16

struct addresses {
	_Atomic uint32_t refs;
	uint32_t n;               /* at least 1 */
	struct sockaddr_any at[]; /* no two are the same */
};

/* Of an address that is no name: never blocks.  RW_ERESOLVE: it is a name. */
int addresses_of_literal(struct addresses **ret, const struct addr *a) MUST_CHECK;

/* Of any address; BLOCKS on DNS: never on a loop.  0, or RW_ERESOLVE with *ret_why the resolver's
 * text, which is static. */
int addresses_resolve(
	struct addresses **ret, const struct addr *a, const char **ret_why) MUST_CHECK;

/* Any thread.  NULL is allowed. */
struct addresses *addresses_ref(struct addresses *l);
void addresses_unref(struct addresses *l);

bool addresses_have(const struct addresses *l, const struct sockaddr_any *a);

/* The same addresses, in whatever order: DNS turns them with each answer.  Either may be NULL. */
bool addresses_same(const struct addresses *a, const struct addresses *b);

/* "1.2.3.4:5 [::1]:5", cut to fit; "nowhere" for NULL.  Returns buf. */
const char *addresses_print(const struct addresses *l, char *buf, size_t size);
