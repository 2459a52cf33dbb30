/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Objects of one size for one thread: taken and given back without malloc once warm.
 * Memory comes in blocks of about 16 KiB and goes back to malloc in whole blocks: a block whose
 * objects are all free is released when more than `keep` objects are free beside it, so that a
 * burst does not stay in the process for ever.  Free objects are poisoned under AddressSanitizer.
 *
 * A block is aligned to its size, so an object finds its block by masking its own address.  Taking
 * and giving back is a pop and a push on the block's list, inline; blocks come, go, fill up and
 * become usable again out of line.
 *
 * Owner thread only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/check.h"
#include "base/compiler.h"

#if defined(__SANITIZE_ADDRESS__)
#define SLAB_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLAB_ASAN 1
#endif
#endif

#ifdef SLAB_ASAN
#include <sanitizer/asan_interface.h>
#define SLAB_POISON(ptr, len) ASAN_POISON_MEMORY_REGION(ptr, len)
#define SLAB_UNPOISON(ptr, len) ASAN_UNPOISON_MEMORY_REGION(ptr, len)
#else
#define SLAB_POISON(ptr, len) ((void)(ptr), (void)(len))
#define SLAB_UNPOISON(ptr, len) ((void)(ptr), (void)(len))
#endif

/* What a free object holds. */
struct slab_free {
	struct slab_free *next;
};

/* At the start of each block; the objects follow from byte CACHE_LINE on. */
struct slab_block {
	LIST_ENTRY(slab_block) link; /* in slab.usable while a free object is here */
	struct slab *owner;          /* borrowed; tells an object of another slab */
	struct slab_free *free;
	uint32_t live; /* objects taken */
};

struct slab {
	const char *name;    /* for metrics; static */
	uint32_t size;       /* of an object, rounded up to 16 */
	uint32_t block_size; /* a power of two */
	uint32_t per_block;
	uint32_t keep;                  /* free objects that are not worth releasing */
	uint32_t live;                  /* objects taken: a gauge */
	uint32_t free;                  /* objects in blocks, not taken */
	LIST_HEAD(, slab_block) usable; /* blocks with a free object */
};

void slab_init(struct slab *s, const char *name, size_t size, uint32_t keep);

/* Every object must have been given back. */
void slab_fini(struct slab *s);

/* The inline functions' out-of-line parts: not for callers. */
struct slab_block *slab_grow(struct slab *s);
void slab_block_turned(struct slab *s, struct slab_block *b, bool was_full);

/* Contents undefined.  Never NULL: out of memory aborts (limits keep us from there). */
static inline void *slab_take(struct slab *s)
{
	struct slab_block *b = LIST_FIRST(&s->usable);
	if (UNLIKELY(b == NULL))
		b = slab_grow(s);
	struct slab_free *f = b->free;
	SLAB_UNPOISON(f, s->size);
	b->free = f->next;
	b->live++;
	s->live++;
	s->free--;
	if (UNLIKELY(b->free == NULL))
		LIST_REMOVE(b, link);
	return f;
}

/* NULL is allowed. */
static inline void slab_give(struct slab *s, void *obj)
{
	if (obj == NULL)
		return;
	uintptr_t into_block = (uintptr_t)obj & (s->block_size - 1);
	struct slab_block *b = (struct slab_block *)(void *)((char *)obj - into_block);
	CHECK(b->owner == s);
	struct slab_free *f = obj;
	bool was_full = b->free == NULL;
	f->next = b->free;
	b->free = f;
	b->live--;
	s->live--;
	s->free++;
	SLAB_POISON(f, s->size);
	if (UNLIKELY(was_full || b->live == 0))
		slab_block_turned(s, b, was_full);
}
