/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Names are looked up beside the loops: a lookup may take seconds, and nobody waits for it.  One
 * thread asks one name after the other; it is started when there is something to ask and ends when
 * there is nothing left.  Answers come as letters.
 *
 * A lookup can't be broken off.  Whoever frees the resolver does not wait for one that hangs: the
 * thread then finds that nobody wants to know any more, and goes.
 */

#include <stdint.h>

#include "base/addr.h"
#include "base/mailbox.h"
#include "router/io/addresses.h"

struct resolver;

/*
 * The answer, in the thread that opens the mailbox.  `found`: a reference, handed over; NULL: the
 * name does not resolve, and `why` is a static text.
 */
typedef void resolver_done(void *arg, struct addresses *found, const char *why);

/* How a name is looked up; called on the resolver's thread.  addresses_resolve(), but for tests. */
typedef int resolver_lookup(struct addresses **ret, const struct addr *a, const char **ret_why);

/* The mailbox outlives the resolver. */
struct resolver *resolver_new(struct mailbox *answers, resolver_lookup *lookup);

/* No answer comes after this, also not from letters that lie in the mailbox.  NULL is allowed. */
void resolver_free(struct resolver *r);

/* The caller's thread is the mailbox's.  `arg` lives until the answer or resolver_free(). */
void resolver_ask(struct resolver *r, const struct addr *a, resolver_done *done, void *arg);
