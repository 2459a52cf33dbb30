/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/io/resolver.h"

/*
 *	owner                              the resolver's thread
 *	  | resolver_ask: queue (lock)        | take one (lock), look it up (no lock)
 *	  |                                   | post the answer (lock: is there still an owner?)
 *	  v                                   v
 *	mailbox: open_answer -> done()    <---'
 *
 * References: the owner's, the thread's while it runs, and one for each letter in the mailbox.  The
 * lock is held for moments, and never by a data path.
 */

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/check.h"
#include "base/err.h"
#include "base/log.h"

struct question {
	struct letter letter; /* first; of the answer */
	STAILQ_ENTRY(question) link;
	struct resolver *resolver; /* a reference once it is a letter */
	struct addr address;
	resolver_done *done;
	void *arg;
	struct addresses *found; /* owned */
	const char *why;
};

struct resolver {
	_Atomic uint32_t refs;
	resolver_lookup *lookup;
	pthread_mutex_t lock;
	STAILQ_HEAD(, question) queue; /* under the lock */
	bool running;                  /* under the lock */
	bool closed;                   /* written under the lock, by the owner */
	struct mailbox *answers;       /* borrowed; not touched once closed */
};

struct resolver *resolver_new(struct mailbox *answers, resolver_lookup *lookup)
{
	struct resolver *r = calloc(1, sizeof(*r));
	CHECK(r != NULL);
	atomic_init(&r->refs, 1);
	CHECK(pthread_mutex_init(&r->lock, NULL) == 0);
	STAILQ_INIT(&r->queue);
	r->answers = answers;
	r->lookup = lookup;
	return r;
}

static struct resolver *resolver_ref(struct resolver *r)
{
	atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
	return r;
}

static void resolver_unref(struct resolver *r)
{
	/* acq_rel: whoever frees sees every other owner's last use */
	if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1)
		return;
	CHECK(STAILQ_EMPTY(&r->queue));
	CHECK(pthread_mutex_destroy(&r->lock) == 0);
	free(r);
}

static void lock(struct resolver *r)
{
	CHECK(pthread_mutex_lock(&r->lock) == 0);
}

static void unlock(struct resolver *r)
{
	CHECK(pthread_mutex_unlock(&r->lock) == 0);
}

/* The owner's thread. */
static void open_answer(struct letter *l)
{
	struct question *q = (struct question *)l;
	struct resolver *r = q->resolver;
	if (r->closed)
		addresses_unref(q->found);
	else
		q->done(q->arg, q->found, q->why);
	free(q);
	resolver_unref(r);
}

/* The next question, or NULL, and the thread is to end. */
static struct question *take_question(struct resolver *r)
{
	lock(r);
	struct question *q = STAILQ_FIRST(&r->queue);
	if (q != NULL)
		STAILQ_REMOVE_HEAD(&r->queue, link);
	else
		r->running = false;
	unlock(r);
	return q;
}

static void give_answer(struct resolver *r, struct question *q)
{
	lock(r);
	bool wanted = !r->closed;
	if (wanted) {
		q->resolver = resolver_ref(r);
		mailbox_post(r->answers, &q->letter);
	}
	unlock(r);
	if (!wanted) {
		addresses_unref(q->found);
		free(q);
	}
}

static void *resolver_main(void *arg)
{
	struct resolver *r = arg;
	struct question *q;
	while ((q = take_question(r)) != NULL) {
		if (r->lookup(&q->found, &q->address, &q->why) != 0)
			q->found = NULL;
		give_answer(r, q);
	}
	resolver_unref(r);
	return NULL;
}

/* Detached, for nobody waits for its end; signals are not its business. */
static int start_thread(struct resolver *r)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, before;
	CHECK(pthread_attr_init(&attr) == 0);
	CHECK(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED) == 0);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	int err = pthread_create(&thread, &attr, resolver_main, resolver_ref(r));
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attr);
	if (err != 0) /* not the last one: the caller has its own */
		atomic_fetch_sub_explicit(&r->refs, 1, memory_order_relaxed);
	return -err;
}

void resolver_ask(struct resolver *r, const struct addr *a, resolver_done *done, void *arg)
{
	struct question *q = calloc(1, sizeof(*q));
	CHECK(q != NULL);
	q->letter.open = open_answer;
	q->address = *a;
	q->done = done;
	q->arg = arg;
	lock(r);
	STAILQ_INSERT_TAIL(&r->queue, q, link);
	bool start = !r->running;
	r->running = true;
	unlock(r);
	int err = start ? start_thread(r) : 0;
	if (err == 0)
		return;
	CHECK(take_question(r) == q); /* nothing ran, so it is the only one */
	CHECK(take_question(r) == NULL);
	log_warn("resolver", "cannot start a thread", "why=\"%s\"", rw_strerror(err));
	q->why = "no thread to look it up";
	give_answer(r, q);
}

void resolver_free(struct resolver *r)
{
	struct question *q;
	if (r == NULL)
		return;
	lock(r);
	r->closed = true;
	while ((q = STAILQ_FIRST(&r->queue)) != NULL) {
		STAILQ_REMOVE_HEAD(&r->queue, link);
		free(q);
	}
	unlock(r);
	resolver_unref(r);
}
