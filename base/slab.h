/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Objects of one size for one thread: taken and given back without malloc once warm.
 * Memory comes in blocks of about 16 KiB and goes back to malloc in whole blocks: a block whose
 * objects are all free is released when more than `keep` objects are free beside it, so that a burst
 * does not stay in the process for ever.  Free objects are poisoned under AddressSanitizer.
 *
 * Owner thread only.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct slab_block;

struct slab {
	const char *name; /* for metrics; static */
	uint32_t size;    /* of an object, rounded up to 16 */
	uint32_t per_block;
	uint32_t keep;    /* free objects that are not worth releasing */
	uint32_t live;    /* objects taken: a gauge */
	uint32_t free;    /* objects in blocks, not taken */
	LIST_HEAD(, slab_block) usable; /* blocks with a free object */
};

void slab_init(struct slab *s, const char *name, size_t size, uint32_t keep);

/* Every object must have been given back. */
void slab_fini(struct slab *s);

/* Contents undefined.  Never NULL: out of memory aborts (limits keep us from there). */
void *slab_take(struct slab *s);

/* NULL is allowed. */
void slab_give(struct slab *s, void *obj);
