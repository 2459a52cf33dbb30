/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/upstream/script_seen.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

#define FIRST_CAP 16
#define HOLE UINT32_MAX /* told_s of one that was forgotten: not free, and nobody's hash */

static uint32_t place_of(const struct script_seen *s, const uint8_t *sha)
{
	uint32_t h;
	memcpy(&h, sha, sizeof(h)); /* as good as any hash of it */
	return h & (s->cap - 1);
}

/* Where it is, or the free place where a look for it ends.  There is always one: see grow(). */
static struct script_sight *look(const struct script_seen *s, const uint8_t *sha)
{
	uint32_t i = place_of(s, sha);
	while (s->v[i].told_s != 0) {
		if (s->v[i].told_s != HOLE && memcmp(s->v[i].sha, sha, SHA1_SIZE) == 0)
			break;
		i = (i + 1) & (s->cap - 1);
	}
	return &s->v[i];
}

static void put(struct script_seen *s, const uint8_t *sha, uint32_t told_s)
{
	struct script_sight *e = look(s, sha);
	CHECK(e->told_s == 0);
	memcpy(e->sha, sha, SHA1_SIZE);
	e->told_s = told_s;
	s->n++;
}

/* Half of the places are free after it, and no hole is left. */
static void grow(struct script_seen *s)
{
	struct script_seen old = *s;
	s->cap = old.cap == 0 ? FIRST_CAP : old.cap * 2;
	s->v = calloc(s->cap, sizeof(*s->v));
	CHECK(s->v != NULL);
	s->n = 0;
	for (uint32_t i = 0; i < old.cap; i++)
		if (old.v[i].told_s != 0 && old.v[i].told_s != HOLE)
			put(s, old.v[i].sha, old.v[i].told_s);
	free(old.v);
}

static void enter_generation(struct script_seen *s, uint64_t generation)
{
	if (s->generation == generation)
		return;
	script_seen_clear(s);
	s->generation = generation;
}

struct script_sight *script_seen_find(
	struct script_seen *s, uint64_t generation, const uint8_t sha[SHA1_SIZE])
{
	enter_generation(s, generation);
	if (s->v == NULL)
		return NULL;
	struct script_sight *e = look(s, sha);
	return e->told_s != 0 ? e : NULL;
}

void script_seen_add(
	struct script_seen *s, uint64_t generation, const uint8_t sha[SHA1_SIZE], uint32_t now_s)
{
	CHECK(now_s != 0 && now_s != HOLE);
	enter_generation(s, generation);
	if (s->n == SCRIPT_SEEN_MAX)
		script_seen_clear(s);
	if (s->n * 2 >= s->cap)
		grow(s);
	put(s, sha, now_s);
}

void script_seen_forget(struct script_seen *s, const uint8_t sha[SHA1_SIZE])
{
	if (s->v == NULL)
		return;
	struct script_sight *e = look(s, sha);
	if (e->told_s != 0)
		e->told_s = HOLE;
}

void script_seen_clear(struct script_seen *s)
{
	free(s->v);
	*s = (struct script_seen){.generation = s->generation};
}
