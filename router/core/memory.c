/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/memory.h"

#include <poll.h>
#include <sys/ioctl.h>

#include "base/log.h"
#include "router/core/stream.h"
#include "router/core/worker.h"

/* A chunk grows by at least so much. */
#define STEP (32u * 1024)

/* So long the one that began first may be starved: when nobody inside a large request can go on, and
 * when somebody can. */
#define STUCK (100 * NS_PER_MS)
#define PATIENCE NS_PER_S

/* Workers come to it one after the other: what one frees may be enough. */
#define STAGGER (20 * NS_PER_MS)

/* Nobody is given up for one that is so many times as large. */
#define WORTH 16

/* ---- the account --------------------------------------------------------------------------- */

static uint64_t used_here(const struct worker *w)
{
	return w->loop.pool.used + (uint64_t)w->request_slab.live * sizeof(struct request);
}

/* For the other workers to see. */
static void publish(const struct worker *w)
{
	atomic_store_explicit(&w->m->v[M_BUFFER_BYTES], used_here(w), memory_order_relaxed);
}

/* Bytes that all workers hold for their peers. */
static uint64_t used_by_all(const struct worker *w)
{
	const struct router_facts *f = w->opts.facts;
	publish(w);
	return metric_sum(f->blocks, f->nblocks, M_BUFFER_BYTES);
}

/* What unfinished requests may fill. */
static uint64_t common(const struct worker *w)
{
	return w->opts.limits->memory / 10 * 9;
}

/* So much more, unless it is too much.  It is put into the account first and looked at then, in one
 * order for all, so that of workers who do so at the same time one sees the other. */
static bool take(const struct worker *w, size_t more)
{
	const struct router_facts *f = w->opts.facts;
	uint64_t used = 0;
	atomic_store(&w->m->v[M_BUFFER_BYTES], used_here(w) + more);
	for (size_t i = 0; i < f->nblocks; i++)
		used += atomic_load(&f->blocks[i]->v[M_BUFFER_BYTES]);
	if (used <= common(w))
		return true;
	publish(w);
	return false;
}

static void say_state(struct worker *w, uint64_t used, enum memory_state now)
{
	static struct log_rate rate;
	static const char *const names[] = {"ok", "short", "out"};
	uint32_t dropped;
	if (log_rate_pass(&rate, loop_now(&w->loop), NS_PER_S, &dropped))
		log_warn("memory", "buffers",
			"worker=%zu bytes=%llu limit=%llu state=%s not_shown=%u", w->opts.index,
			(unsigned long long)used, (unsigned long long)w->opts.limits->memory,
			names[now], dropped);
}

/* ---- inside -------------------------------------------------------------------------------- */

static void enter(struct client *c)
{
	if (!c->is_inside)
		TAILQ_INSERT_TAIL(&c->worker->inside, c, inside);
	c->is_inside = true;
}

static void sate(struct client *c)
{
	if (c->starved)
		c->worker->starved--;
	c->starved = false;
}

static void starve(struct client *c)
{
	struct worker *w = c->worker;
	enter(c);
	c->starved = true;
	c->starved_ns = loop_now(&w->loop);
	if (w->starved++ == 0)
		worker_arm_sweep(w);
}

void memory_leave(struct client *c)
{
	sate(c);
	if (c->is_inside)
		TAILQ_REMOVE(&c->worker->inside, c, inside);
	c->is_inside = false;
}

static bool is_large(const struct client *c)
{
	return c->streaming || (c->in != NULL && chunk_len(c->in) >= LARGE_REQUEST);
}

void memory_note(struct client *c, bool unfinished)
{
	if (!unfinished || !is_large(c)) {
		memory_leave(c);
		return;
	}
	enter(c);
}

/* Only of an array is it known where it ends; and of what is passed on there is nothing to give. */
static bool can_be_given_up(const struct client *c)
{
	return c->scan.multibulk && !c->discarding && !c->streaming;
}

static void give_up(struct client *c, const char *why)
{
	static struct log_rate rate;
	struct worker *w = c->worker;
	struct bufpool *pool = &w->loop.pool;
	size_t seen = c->scan.pos;
	size_t len = chunk_len(c->in);
	uint32_t dropped;
	if (log_rate_pass(&rate, loop_now(&w->loop), NS_PER_S, &dropped))
		log_warn("memory", "request given up",
			"client=%llu bytes=%zu why=\"%s\" not_shown=%u", (unsigned long long)c->id,
			len, why, dropped);
	metric_add(w->m, M_REQUESTS_GIVEN_UP, 1);
	struct chunk *rest = NULL;
	if (seen < len)
		rest = chunk_append(pool, NULL, chunk_bytes(c->in) + seen, len - seen);
	chunk_give(pool, c->in);
	c->in = rest;
	c->discarding = true;
	c->discarded = seen;
	c->scan.pos = 0;
	memory_leave(c);
	client_look_again(c);
}

/* ---- growing ------------------------------------------------------------------------------- */

/* By how much it is to grow: what is announced, but not more than has come, and in steps that grow
 * too, so that no byte is copied often. */
static size_t growth(const struct client *c)
{
	size_t len = chunk_len(c->in);
	size_t need = resp_request_need(&c->scan);
	if (c->scan.args_due == 1 && need <= len)
		return need; /* it is the last argument: that is all */
	size_t more = need;
	if (more < len / 4)
		more = len / 4;
	if (more > len)
		more = len;
	if (more < STEP)
		more = STEP;
	return more < CHUNK_MAX - len ? more : CHUNK_MAX - len;
}

static bool has_room(const struct client *c)
{
	size_t room = chunk_room(c->in);
	return room >= STEP || room >= resp_request_need(&c->scan);
}

static size_t held(const struct client *c)
{
	return c->in != NULL ? c->in->cap : 0;
}

/* What is to be taken before its next read. */
static size_t extra(const struct client *c)
{
	if (c->streaming)
		return c->attended != NULL ? STREAM_READ
					   : 0; /* it waits for the node, if there is one */
	if (has_room(c))
		return 0;
	size_t then = chunk_len(c->in) + growth(c);
	return then > c->in->cap ? then - c->in->cap : 0;
}

static bool grow(struct client *c)
{
	struct worker *w = c->worker;
	bool asks = c->streaming || can_be_given_up(c);
	size_t more = extra(c);
	if (more > 0 && asks && !take(w, more))
		return false;
	if (c->streaming || has_room(c))
		return true;
	c->in = chunk_extend(&w->loop.pool, c->in, growth(c));
	publish(w);
	return true;
}

bool memory_make_room(struct client *c)
{
	if (!is_large(c) || grow(c))
		return true;
	if (!c->streaming &&
		!fits(chunk_len(c->in), resp_request_need(&c->scan), common(c->worker)))
		give_up(c, "it is larger than there is memory");
	else
		starve(c);
	return false;
}

static void feed(struct client *c)
{
	sate(c);
	client_look_again(c);
}

static void feed_all(struct worker *w)
{
	struct client *c;
	TAILQ_FOREACH (c, &w->inside, inside)
		if (c->starved && grow(c))
			feed(c);
}

void memory_look(struct worker *w)
{
	uint64_t used = used_by_all(w);
	enum memory_state now = used >= w->opts.limits->memory ? MEMORY_OUT
				: used >= common(w)            ? MEMORY_SHORT
							       : MEMORY_OK;
	if (UNLIKELY(now != w->memory))
		say_state(w, used, now);
	w->memory = now;
	if (UNLIKELY(w->starved > 0 && now == MEMORY_OK))
		feed_all(w);
}

/* ---- when no room comes -------------------------------------------------------------------- */

/* It can't finish its request: its peer has gone, or said its last word, and too little has come. */
static bool has_ended(const struct client *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};
	int waiting = 0;
	if (poll(&p, 1, 0) <= 0)
		return false;
	if ((p.revents & POLLERR) || ioctl(c->fd, FIONREAD, &waiting) != 0)
		return true;
	return (size_t)waiting < resp_request_need(&c->scan);
}

static void drop_ended(struct worker *w)
{
	struct client *c, *next;
	for (c = TAILQ_FIRST(&w->inside); c != NULL; c = next) {
		next = TAILQ_NEXT(c, inside);
		if (c->starved && has_ended(c))
			client_input_ended(c);
	}
}

/* The starved one that began first. */
static struct client *first_starved(const struct worker *w)
{
	struct client *c;
	TAILQ_FOREACH (c, &w->inside, inside)
		if (c->starved)
			return c;
	return NULL;
}

/* Nobody inside a large request can go on, and it is they who hold what there is. */
static bool is_stuck(const struct worker *w)
{
	const struct client *c;
	uint64_t sum = 0;
	TAILQ_FOREACH (c, &w->inside, inside) {
		if (!c->starved)
			return false;
		sum += held(c);
	}
	return sum >= used_by_all(w) / 2;
}

static bool is_worth(const struct client *v, uint64_t held_by_other)
{
	return can_be_given_up(v) && held(v) >= held_by_other / WORTH;
}

/* Were all given up that may be, there would be room for `c`. */
static bool can_be_helped(const struct worker *w, const struct client *c)
{
	const struct client *v;
	uint64_t used = used_by_all(w), sum = 0;
	TAILQ_FOREACH (v, &w->inside, inside)
		if (v != c && is_worth(v, held(c)))
			sum += held(v);
	return fits(sum < used ? used - sum : 0, extra(c), common(w));
}

/* Whose memory `c` gets: when all wait for each other the one that began last, so that who began first
 * gets through; else who holds most, and does not go on with it.  NULL: nobody's. */
static struct client *victim_for(
	const struct worker *w, const struct client *c, uint64_t held_by_c, bool stuck)
{
	struct client *v, *best = NULL;
	TAILQ_FOREACH (v, &w->inside, inside) {
		if (v == c || !is_worth(v, held_by_c))
			continue;
		if (best == NULL || stuck || held(v) >= held(best))
			best = v;
	}
	return best;
}

void memory_share(struct worker *w, uint64_t held_there)
{
	struct client *v = victim_for(w, NULL, held_there, false);
	if (v != NULL)
		give_up(v, "clients of another worker need its memory");
}

/* The other worker that holds most; NULL: there is none. */
static struct worker *richest(const struct worker *w)
{
	const struct router_facts *f = w->opts.facts;
	struct worker *best = NULL;
	uint64_t most = 0;
	for (size_t i = 0; i < f->nworkers; i++) {
		uint64_t used = atomic_load_explicit(
			&f->blocks[i]->v[M_BUFFER_BYTES], memory_order_relaxed);
		if (i == w->opts.index || used <= most)
			continue;
		most = used;
		best = w->opts.workers[i];
	}
	return best;
}

/* Nothing here could be given up for it.  False: nor elsewhere. */
static bool ask_others(struct worker *w, const struct client *c, uint64_t now)
{
	struct worker *other = richest(w);
	if (other == NULL)
		return false;
	if (now - w->shared_ns >= PATIENCE) {
		w->shared_ns = now;
		worker_share_memory(other, held(c));
	}
	return now - c->starved_ns < 2 * PATIENCE;
}

static void relieve(struct worker *w, uint64_t now)
{
	struct client *c = first_starved(w), *v;
	if (c == NULL)
		return;
	bool stuck = is_stuck(w);
	uint64_t waited = now - c->starved_ns;
	if (waited < (stuck ? STUCK : PATIENCE) + w->opts.index * STAGGER)
		return;
	while (can_be_helped(w, c) && !grow(c) && (v = victim_for(w, c, held(c), stuck)) != NULL)
		give_up(v, "others need its memory");
	if (grow(c))
		feed(c);
	else if (waited >= PATIENCE + w->opts.index * STAGGER && !ask_others(w, c, now) &&
		 can_be_given_up(c))
		give_up(c, "no memory came free");
	feed_all(w);
}

void memory_sweep(struct worker *w, uint64_t now)
{
	if (w->starved == 0)
		return;
	drop_ended(w);
	feed_all(w);
	relieve(w, now);
}
