/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "base/slab.h"

/*
 * Blocks: 16 KiB, or the power of two that holds at least eight objects, aligned to that size.
 *
 *      block   +--------+------+------+------+ ...        usable: blocks with a free object, the
 * one that | header | obj  | obj  | obj  |            became usable last first.  A block that was
 * full
 *              +--------+------+------+------+            goes to the front, so that objects are
 * taken from free ----^-------------^               the fullest blocks and the others can run
 * empty.
 *
 * When is an empty block released?  Only when more than `keep` objects are free beside it: then a
 * load that swings by one object around a block's edge does not allocate and release a block at
 * each swing.
 */

#include <assert.h>
#include <stdlib.h>

#define BLOCK_MIN (16u * 1024)
#define OBJECTS_MIN 8u
#define MALLOC_OWN 16u /* what glibc keeps before each chunk */
#define OBJECT_ALIGN 16u
#define OBJECT_MAX (16u * 1024 * 1024)

static_assert(sizeof(struct slab_block) <= CACHE_LINE, "objects begin after one line");

/*
 * Bytes for objects.  A block asks for a little less than its size, so that malloc's own bytes fit
 * between two neighbours: with whole blocks every second 16 KiB of the heap would be a gap
 * (measured: half as much memory again).
 */
static uint32_t room(uint32_t block_size)
{
	return block_size - CACHE_LINE - MALLOC_OWN;
}

void slab_init(struct slab *s, const char *name, size_t size, uint32_t keep)
{
	CHECK(size > 0 && size <= OBJECT_MAX);
	uint32_t rounded = ((uint32_t)size + OBJECT_ALIGN - 1) / OBJECT_ALIGN * OBJECT_ALIGN;
	uint32_t block_size = BLOCK_MIN;
	while (room(block_size) / rounded < OBJECTS_MIN)
		block_size *= 2;
	*s = (struct slab){
		.name = name,
		.size = rounded,
		.block_size = block_size,
		.per_block = room(block_size) / rounded,
		.keep = keep,
	};
	LIST_INIT(&s->usable);
}

/* A fresh block, usable. */
struct slab_block *slab_grow(struct slab *s)
{
	void *memory = NULL;
	CHECK(posix_memalign(&memory, s->block_size, s->block_size - MALLOC_OWN) == 0);
	struct slab_block *b = memory;
	*b = (struct slab_block){.owner = s};
	for (uint32_t i = s->per_block;
		i-- > 0;) { /* backwards: the lowest address is taken first */
		struct slab_free *f =
			(struct slab_free *)(void *)((char *)b + CACHE_LINE + (size_t)i * s->size);
		f->next = b->free;
		b->free = f;
	}
	SLAB_POISON((char *)b + CACHE_LINE, room(s->block_size));
	s->free += s->per_block;
	LIST_INSERT_HEAD(&s->usable, b, link);
	return b;
}

static void release(struct slab *s, struct slab_block *b)
{
	CHECK(b->live == 0);
	LIST_REMOVE(b, link);
	s->free -= s->per_block;
	b->owner = NULL; /* an object given twice is not taken for one of ours */
	SLAB_UNPOISON((char *)b + CACHE_LINE, room(s->block_size));
	free(b);
}

/* An object came back and the block was full before, or is empty now (or both). */
void slab_block_turned(struct slab *s, struct slab_block *b, bool was_full)
{
	if (was_full)
		LIST_INSERT_HEAD(&s->usable, b, link);
	if (b->live == 0 && s->free - s->per_block > s->keep)
		release(s, b);
}

void slab_fini(struct slab *s)
{
	struct slab_block *b;

	CHECK(s->live == 0);
	while ((b = LIST_FIRST(&s->usable)) != NULL)
		release(s, b); /* NOLINT(clang-analyzer-unix.Malloc): it leaves the list first */
	CHECK(s->free == 0);
}
