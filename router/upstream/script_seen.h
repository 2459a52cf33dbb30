/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * A set of scripts, by SHA1: those that a connection has seen, so that its node has them.  All zero = empty.
 *
 * It holds in one generation of the router's scripts: in a new one, after SCRIPT FLUSH, it is empty.  It never holds more
 * than SCRIPT_SEEN_MAX; beyond that all is forgotten, which costs no more than telling the node once again.
 *
 * Open addressing; one that is forgotten leaves a hole behind.  Owned by whoever has it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/sha1.h"

#define SCRIPT_SEEN_MAX 4096

/* One of the set: when the router's store was last told that it is in use. */
struct script_sight {
	uint8_t sha[SHA1_SIZE];
	uint32_t told_s; /* 0: free */
};

struct script_seen {
	struct script_sight *v; /* owned; NULL: none */
	uint32_t cap;           /* a power of two */
	uint32_t n;             /* holes included */
	uint64_t generation;
};

/* NULL: not seen.  Valid until the next call of any other function. */
struct script_sight *script_seen_find(
	struct script_seen *s, uint64_t generation, const uint8_t sha[SHA1_SIZE]);

/* It is not in the set.  now_s > 0. */
void script_seen_add(
	struct script_seen *s, uint64_t generation, const uint8_t sha[SHA1_SIZE], uint32_t now_s);

/* Also one that is not in the set. */
void script_seen_forget(struct script_seen *s, const uint8_t sha[SHA1_SIZE]);

/* All of it, and its memory. */
void script_seen_clear(struct script_seen *s);
