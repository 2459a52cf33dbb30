/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Bodies of scripts by their SHA1: one store per router, shared by all workers, so that a script that one client has sent
 * is known to every other at once.  Pools don't see each other's.
 *
 * A mutex guards it and is held for a look-up or an insertion, never for I/O or while a body is copied.  Workers come here
 * seldom: each remembers what it has put (script.c) and what its connections have seen (router/upstream/script_seen.h), and
 * both only hold in the generation in which they were written down.
 *
 * Of those that don't fit any more the one that was used longest ago goes.  A body that takes more than a sixteenth of the
 * limit is not kept, so that no single one sweeps the others out, and none is hashed that is long to hash.
 *
 * Bodies are immutable and counted: one that goes stays with who has it.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha1.h"

/* What one costs besides its bytes. */
#define SCRIPT_OVERHEAD 128

struct script_body {
	_Atomic uint32_t refs;
	size_t len;
	uint8_t bytes[];
};

struct script_store;

/* limit: bytes, overhead included; 0: nothing is kept. */
struct script_store *script_store_new(uint64_t limit);
/* NULL is allowed. */
void script_store_free(struct script_store *s);

/* ---- any thread ---------------------------------------------------------------------------- */

/* Those beyond it go. */
void script_store_set_limit(struct script_store *s, uint64_t limit);

/* False: a body of this size is not kept. */
bool script_store_takes(const struct script_store *s, size_t len);

/* Keeps it, if it is not here yet.  Returns how many others went for it. */
uint32_t script_store_put(
	struct script_store *s, uint32_t pool, const uint8_t sha[SHA1_SIZE], struct span body);

/* A reference, or NULL; it was used just now. */
struct script_body *script_store_get(
	struct script_store *s, uint32_t pool, const uint8_t sha[SHA1_SIZE]) MUST_CHECK;
/* NULL is allowed. */
void script_body_unref(struct script_body *b);

/* It was used just now.  False: it is not here. */
bool script_store_touch(struct script_store *s, uint32_t pool, const uint8_t sha[SHA1_SIZE]);

/* The pool's bodies go, and a new generation begins. */
void script_store_flush(struct script_store *s, uint32_t pool);

/* A new generation begins: what was written down about nodes and bodies does not hold any more. */
void script_store_begin_generation(struct script_store *s);

/* Starts at 1. */
uint64_t script_store_generation(const struct script_store *s);

struct script_store_size {
	size_t bodies;
	uint64_t bytes; /* overhead included */
};
struct script_store_size script_store_size(struct script_store *s);
