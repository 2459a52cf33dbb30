/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/script_store.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/check.h"

/* A SHA1 is as good as any hash of it; uthash's own falls through a switch, which the compiler is told to refuse. */
static unsigned hash_of_key(const void *key)
{
	unsigned h;
	memcpy(&h, key, sizeof(h));
	return h;
}
#define HASH_FUNCTION(key, len, hash) ((hash) = hash_of_key(key))
#include <uthash.h>

#define LARGEST_SHARE 16 /* of the limit: one of so many parts */

struct script_key {
	uint8_t sha[SHA1_SIZE]; /* first: hash_of_key() */
	uint32_t pool;
};

struct script {
	struct script_key key;
	struct script_body *body; /* a reference */
	TAILQ_ENTRY(script) used;
	UT_hash_handle hh;
};
TAILQ_HEAD(script_list, script);

struct script_store {
	pthread_mutex_t lock;
	struct script *by_key;   /* under the lock: uthash */
	struct script_list used; /* under the lock: the latest first */
	uint64_t bytes;          /* under the lock */
	_Atomic uint64_t limit;
	_Atomic uint64_t generation;
};

static void begin(struct script_store *s)
{
	CHECK(pthread_mutex_lock(&s->lock) == 0);
}

static void end(struct script_store *s)
{
	CHECK(pthread_mutex_unlock(&s->lock) == 0);
}

static struct script_key key_of(uint32_t pool, const uint8_t *sha)
{
	struct script_key k = {.pool = pool};
	memcpy(k.sha, sha, SHA1_SIZE);
	return k;
}

/* ---- bodies -------------------------------------------------------------------------------- */

static struct script_body *body_new(struct span bytes)
{
	struct script_body *b = malloc(sizeof(*b) + bytes.len);
	CHECK(b != NULL);
	atomic_init(&b->refs, 1);
	b->len = bytes.len;
	if (bytes.len > 0)
		memcpy(b->bytes, bytes.ptr, bytes.len);
	return b;
}

static struct script_body *body_ref(struct script_body *b)
{
	atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
	return b;
}

void script_body_unref(struct script_body *b)
{
	/* acq_rel: whoever frees it comes after every other owner's last look */
	if (b != NULL && atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1)
		free(b);
}

static void scripts_free(struct script_list *gone)
{
	struct script *e;
	while ((e = TAILQ_FIRST(gone)) != NULL) {
		TAILQ_REMOVE(gone, e, used);
		script_body_unref(e->body);
		free(e);
	}
}

/* ---- under the lock ------------------------------------------------------------------------ */

static uint64_t cost_of(size_t len)
{
	return (uint64_t)len + SCRIPT_OVERHEAD;
}

/* NOLINTBEGIN(readability-function-size,clang-analyzer-core.NullDereference): what uthash expands to */

static struct script *find_used(struct script_store *s, struct script_key k)
{
	struct script *e = NULL;
	HASH_FIND(hh, s->by_key, &k, sizeof(k), e);
	if (e == NULL)
		return NULL;
	TAILQ_REMOVE(&s->used, e, used);
	TAILQ_INSERT_HEAD(&s->used, e, used);
	return e;
}

static void insert(struct script_store *s, struct script *e)
{
	HASH_ADD(hh, s->by_key, key, sizeof(e->key), e);
	TAILQ_INSERT_HEAD(&s->used, e, used);
	s->bytes += cost_of(e->body->len);
}

static void take_out(struct script_store *s, struct script *e, struct script_list *gone)
{
	HASH_DEL(s->by_key, e);
	TAILQ_REMOVE(&s->used, e, used);
	s->bytes -= cost_of(e->body->len);
	TAILQ_INSERT_TAIL(gone, e, used);
}

/* NOLINTEND(readability-function-size,clang-analyzer-core.NullDereference) */

static uint32_t make_room(struct script_store *s, struct script_list *gone)
{
	uint64_t limit = atomic_load_explicit(&s->limit, memory_order_relaxed);
	uint32_t n = 0;
	for (; s->bytes > limit; n++)
		take_out(s, TAILQ_LAST(&s->used, script_list), gone);
	return n;
}

/* ---- the store ----------------------------------------------------------------------------- */

struct script_store *script_store_new(uint64_t limit)
{
	struct script_store *s = calloc(1, sizeof(*s));
	CHECK(s != NULL);
	CHECK(pthread_mutex_init(&s->lock, NULL) == 0);
	TAILQ_INIT(&s->used);
	atomic_init(&s->limit, limit);
	atomic_init(&s->generation, 1);
	return s;
}

void script_store_free(struct script_store *s)
{
	if (s == NULL)
		return;
	script_store_set_limit(s, 0);
	(void)pthread_mutex_destroy(&s->lock);
	free(s);
}

void script_store_set_limit(struct script_store *s, uint64_t limit)
{
	struct script_list gone = TAILQ_HEAD_INITIALIZER(gone);
	begin(s);
	/* relaxed: it guards nothing; under the lock, so that no put is still at work by the old one */
	atomic_store_explicit(&s->limit, limit, memory_order_relaxed);
	(void)make_room(s, &gone);
	end(s);
	scripts_free(&gone);
}

bool script_store_takes(const struct script_store *s, size_t len)
{
	uint64_t limit = atomic_load_explicit(&s->limit, memory_order_relaxed);
	return fits(SCRIPT_OVERHEAD, len, limit / LARGEST_SHARE);
}

uint32_t script_store_put(
	struct script_store *s, uint32_t pool, const uint8_t sha[SHA1_SIZE], struct span body)
{
	struct script_list gone = TAILQ_HEAD_INITIALIZER(gone);
	uint32_t evicted = 0;
	if (!script_store_takes(s, body.len) || script_store_touch(s, pool, sha))
		return 0;
	struct script *e = calloc(1, sizeof(*e));
	CHECK(e != NULL);
	e->key = key_of(pool, sha);
	e->body = body_new(body);
	begin(s);
	if (find_used(s, e->key) == NULL) {
		insert(s, e);
		evicted = make_room(s, &gone);
	} else { /* another worker was faster */
		TAILQ_INSERT_TAIL(&gone, e, used);
	}
	end(s);
	scripts_free(&gone);
	return evicted;
}

struct script_body *script_store_get(
	struct script_store *s, uint32_t pool, const uint8_t sha[SHA1_SIZE])
{
	begin(s);
	struct script *e = find_used(s, key_of(pool, sha));
	struct script_body *b = e != NULL ? body_ref(e->body) : NULL;
	end(s);
	return b;
}

bool script_store_touch(struct script_store *s, uint32_t pool, const uint8_t sha[SHA1_SIZE])
{
	begin(s);
	bool here = find_used(s, key_of(pool, sha)) != NULL;
	end(s);
	return here;
}

void script_store_flush(struct script_store *s, uint32_t pool)
{
	struct script_list gone = TAILQ_HEAD_INITIALIZER(gone);
	struct script *e, *next;
	begin(s);
	for (e = TAILQ_FIRST(&s->used); e != NULL; e = next) {
		next = TAILQ_NEXT(e, used);
		if (e->key.pool == pool)
			take_out(s, e, &gone);
	}
	script_store_begin_generation(s);
	end(s);
	scripts_free(&gone);
}

void script_store_begin_generation(struct script_store *s)
{
	/* relaxed, as the look at it: who sees the old one a moment longer was as fast as the flush */
	atomic_fetch_add_explicit(&s->generation, 1, memory_order_relaxed);
}

uint64_t script_store_generation(const struct script_store *s)
{
	return atomic_load_explicit(&s->generation, memory_order_relaxed);
}

struct script_store_size script_store_size(struct script_store *s)
{
	begin(s);
	struct script_store_size size = {.bodies = HASH_COUNT(s->by_key), .bytes = s->bytes};
	end(s);
	return size;
}
