/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/worker.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "router/core/foreign.h"
#include "router/core/origin.h"
#include "router/core/script.h"
#include "router/core/split.h"
#include "router/core/stats.h"
#include "router/core/stream.h"
#include "router/core/wait.h"

/* Free objects a worker keeps in each slab. */
#define CLIENTS_KEEP 64
#define REQUESTS_KEEP 4096

/* ---- letters ------------------------------------------------------------------------------- */

enum mail_kind {
	MAIL_CLIENT,
	MAIL_FLEET,
	MAIL_USERS,
	MAIL_LOGIN,
	MAIL_LIMITS,
	MAIL_MOVE,
	MAIL_SHARE,
	MAIL_DRAIN,
	MAIL_CLOSE,
	MAIL_STOP
};

struct mail {
	struct letter letter; /* first */
	struct worker *worker;
	enum mail_kind kind;
	uint32_t pool;
	int fd;
	uint64_t id; /* of the client; MAIL_SHARE: bytes */
	struct fleet *fleet;
	struct user_set *users;
	struct node_login *login;
	struct worker_limits limits;
	struct server *server;
	struct addresses *where;
	bool behind_proxy;
};

static void worker_adopt(struct worker *w, struct worker_pool *p, struct fleet *f);

static void start_drain(struct worker *w)
{
	struct client *c, *next;
	w->draining = true;
	for (c = TAILQ_FIRST(&w->clients); c != NULL; c = next) {
		next = TAILQ_NEXT(c, all);
		client_finish(c);
	}
}

static void close_clients(struct worker *w)
{
	struct client *c;
	w->draining = true;
	while ((c = TAILQ_FIRST(&w->clients)) != NULL)
		client_close(c, "the router stops");
}

static void take_client(struct worker *w, const struct mail *m)
{
	struct client *c = client_new(w, &w->pools[m->pool], m->fd, m->id);
	if (m->behind_proxy)
		origin_expect(c);
	if (w->draining)
		client_close(c, "the router stops");
}

static void take_move(struct worker *w, struct mail *m)
{
	for (size_t i = 0; i < w->opts.npools; i++)
		upstream_set_move(&w->pools[i].upstreams, m->server, m->where);
	server_unref(m->server);
	addresses_unref(m->where);
}

static void open_mail(struct letter *l)
{
	struct mail *m = (struct mail *)l;
	struct worker *w = m->worker;
	switch (m->kind) {
	case MAIL_CLIENT:
		take_client(w, m);
		break;
	case MAIL_FLEET:
		worker_adopt(w, &w->pools[m->pool], m->fleet);
		break;
	case MAIL_USERS:
		gate_adopt_users(&w->pools[m->pool], m->users);
		break;
	case MAIL_LOGIN:
		upstream_set_use_login(&w->pools[m->pool].upstreams, m->login);
		break;
	case MAIL_LIMITS:
		w->limits = m->limits;
		worker_arm_sweep(w);
		break;
	case MAIL_MOVE:
		take_move(w, m);
		break;
	case MAIL_SHARE:
		memory_share(w, m->id);
		break;
	case MAIL_DRAIN:
		start_drain(w);
		break;
	case MAIL_CLOSE:
		close_clients(w);
		break;
	case MAIL_STOP:
		w->stopping = true;
		break;
	}
	free(m);
}

static struct mail *mail_new(struct worker *w, enum mail_kind kind)
{
	struct mail *m = calloc(1, sizeof(*m));
	CHECK(m != NULL);
	m->letter.open = open_mail;
	m->worker = w;
	m->kind = kind;
	return m;
}

void worker_add_client(struct worker *w, uint32_t pool, int fd, uint64_t id, bool behind_proxy)
{
	struct mail *m = mail_new(w, MAIL_CLIENT);
	m->pool = pool;
	m->fd = fd;
	m->id = id;
	m->behind_proxy = behind_proxy;
	atomic_fetch_add_explicit(&w->nclients, 1, memory_order_relaxed);
	mailbox_post(&w->inbox, &m->letter);
}

void worker_publish(struct worker *w, uint32_t pool, struct fleet *f)
{
	struct mail *m = mail_new(w, MAIL_FLEET);
	m->pool = pool;
	m->fleet = f;
	mailbox_post(&w->inbox, &m->letter);
}

void worker_publish_users(struct worker *w, uint32_t pool, struct user_set *users)
{
	struct mail *m = mail_new(w, MAIL_USERS);
	m->pool = pool;
	m->users = users;
	mailbox_post(&w->inbox, &m->letter);
}

void worker_publish_login(struct worker *w, uint32_t pool, struct node_login *login)
{
	struct mail *m = mail_new(w, MAIL_LOGIN);
	m->pool = pool;
	m->login = login;
	mailbox_post(&w->inbox, &m->letter);
}

void worker_publish_limits(struct worker *w, const struct worker_limits *limits)
{
	struct mail *m = mail_new(w, MAIL_LIMITS);
	m->limits = *limits;
	mailbox_post(&w->inbox, &m->letter);
}

void worker_move(struct worker *w, struct server *server, struct addresses *where)
{
	struct mail *m = mail_new(w, MAIL_MOVE);
	m->server = server;
	m->where = where;
	mailbox_post(&w->inbox, &m->letter);
}

void worker_share_memory(struct worker *w, uint64_t held)
{
	struct mail *m = mail_new(w, MAIL_SHARE);
	m->id = held;
	mailbox_post(&w->inbox, &m->letter);
}

static void post(struct worker *w, enum mail_kind kind)
{
	mailbox_post(&w->inbox, &mail_new(w, kind)->letter);
}

void worker_drain(struct worker *w)
{
	post(w, MAIL_DRAIN);
}

void worker_close_clients(struct worker *w)
{
	post(w, MAIL_CLOSE);
}

void worker_stop(struct worker *w)
{
	post(w, MAIL_STOP);
}

static void on_inbox(evutil_socket_t fd, short what, void *arg)
{
	struct worker *w = arg;
	(void)fd;
	(void)what;
	mailbox_open_all(&w->inbox);
}

/* ---- views --------------------------------------------------------------------------------- */

static bool older_in_flight(const struct worker_pool *p)
{
	const struct view *v;
	TAILQ_FOREACH (v, &p->views, link)
		if (!v->current)
			return true;
	return false;
}

static void tell_acked(struct worker_pool *p)
{
	const struct worker_listener *l = &p->worker->opts.listener;
	const struct topology *t = view_topology(p->view);
	if (l->acked != NULL)
		l->acked(l->arg, p->worker->opts.index, p->index, t->epoch, t->phase);
}

void worker_view_done(struct worker_pool *p)
{
	p->views_done = true;
}

/* Views whose last request is answered go at the end of the turn: their upstreams may be in use
 * until then. */
static void retire_views(struct worker_pool *p)
{
	struct view *v, *next;
	if (LIKELY(!p->views_done))
		return;
	p->views_done = false;
	for (v = TAILQ_FIRST(&p->views); v != NULL; v = next) {
		next = TAILQ_NEXT(v, link);
		if (v->current || v->inflight > 0)
			continue;
		TAILQ_REMOVE(&p->views, v, link);
		view_free(&p->upstreams, v);
	}
	if (!older_in_flight(p))
		tell_acked(p);
}

static void on_attempt(struct upstream_env *env, struct server *s)
{
	const struct worker_listener *l =
		&CONTAINER_OF(env, struct worker, upstream)->opts.listener;
	if (l->attempt != NULL)
		l->attempt(l->arg, s);
}

static void preconnect(struct worker_pool *p)
{
	if (!p->opts->upstream.preconnect)
		return;
	for (size_t i = 0; i < view_topology(p->view)->nnodes; i++)
		upstream_preconnect(p->view->up[i], up_class(p->opts->database, 2));
}

static void worker_adopt(struct worker *w, struct worker_pool *p, struct fleet *f)
{
	struct view *old = p->view;
	(void)w;
	p->view = view_new(&p->upstreams, f);
	TAILQ_INSERT_TAIL(&p->views, p->view, link);
	preconnect(p);
	if (old != NULL) {
		old->current = false;
		p->databases = 0; /* other nodes may have others */
		wait_forget_nodes(p);
	}
	p->views_done = true;
}

/* ---- deadlines ----------------------------------------------------------------------------- */

void worker_arm_deadline(struct worker *w, uint64_t due_ns)
{
	uint64_t now = loop_now(&w->loop);
	uint64_t after = due_ns > now ? due_ns - now : 0;
	/* a little late rather than twice: libevent rounds to milliseconds */
	after += NS_PER_MS;
	struct timeval tv = {.tv_sec = (time_t)(after / NS_PER_S),
		.tv_usec = (suseconds_t)(after % NS_PER_S / NS_PER_US)};
	(void)evtimer_add(&w->due_timer, &tv);
	w->due_armed_ns = due_ns;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	if (a == 0 || b == 0)
		return a + b;
	return a < b ? a : b;
}

static void on_due(evutil_socket_t fd, short what, void *arg)
{
	struct worker *w = arg;
	uint64_t now = loop_now(&w->loop);
	uint64_t next = 0;
	(void)fd;
	(void)what;
	w->due_armed_ns = 0;
	for (size_t i = 0; i < w->opts.npools; i++)
		for (unsigned k = 0; k < DEADLINE_COUNT; k++)
			next = earlier(next, request_expire_due(&w->pools[i].due[k], now));
	if (next != 0)
		worker_arm_deadline(w, next);
}

/* ---- pauses -------------------------------------------------------------------------------- */

/* A pause may be longer than a timer: it is armed again and again then. */
#define PAUSE_STEP (3600 * NS_PER_S)

void worker_arm_pause(struct worker_pool *p)
{
	uint64_t now = loop_now(&p->worker->loop);
	uint64_t after = p->pause.until_ns > now ? p->pause.until_ns - now : 0;
	if (after > PAUSE_STEP)
		after = PAUSE_STEP;
	after += NS_PER_MS; /* not before its time */
	struct timeval tv = {.tv_sec = (time_t)(after / NS_PER_S),
		.tv_usec = (suseconds_t)(after % NS_PER_S / NS_PER_US)};
	(void)evtimer_add(&p->pause_timer, &tv);
}

static void on_pause_over(evutil_socket_t fd, short what, void *arg)
{
	struct worker_pool *p = arg;
	(void)fd;
	(void)what;
	if (loop_now(&p->worker->loop) < p->pause.until_ns)
		worker_arm_pause(p);
	else
		gate_unpause(p);
}

/* ---- silence ------------------------------------------------------------------------ */

/* Often enough that nobody waits a quarter longer than the limit says. */
void worker_arm_sweep(struct worker *w)
{
	uint64_t every = w->opts.pools[0].timeout_ns[DEADLINE_SLOW];
	uint64_t idle = w->opts.limits->idle_timeout_ns;
	if (idle != 0 && idle < every)
		every = idle;
	every /= 4;
	if (every > 5 * NS_PER_S)
		every = 5 * NS_PER_S;
	if (every < 10 * NS_PER_MS || w->starved > 0 || w->unblocking > 0)
		every = 10 * NS_PER_MS; /* other workers may have freed what ours are waiting for */
	struct timeval tv = {.tv_sec = (time_t)(every / NS_PER_S),
		.tv_usec = (suseconds_t)(every % NS_PER_S / NS_PER_US)};
	(void)evtimer_add(&w->sweep_timer, &tv);
}

static void on_sweep(evutil_socket_t fd, short what, void *arg)
{
	struct worker *w = arg;
	(void)fd;
	(void)what;
	clients_sweep(w, loop_now(&w->loop));
	upstream_give_way(&w->upstream);
	streams_sweep(w, loop_now(&w->loop));
	memory_sweep(w, loop_now(&w->loop));
	worker_arm_sweep(w);
}

/* ---- the turn ------------------------------------------------------------------------------ */

static void resume_clients(struct worker *w)
{
	struct client_queue now = STAILQ_HEAD_INITIALIZER(now);
	struct client *c;
	STAILQ_CONCAT(&now, &w->resuming);
	while ((c = STAILQ_FIRST(&now)) != NULL) {
		STAILQ_REMOVE_HEAD(&now, resume_link);
		c->is_resuming = false;
		client_resume(c);
	}
}

static void flush_clients(struct worker *w)
{
	struct client *c;
	while ((c = STAILQ_FIRST(&w->dirty)) != NULL) {
		STAILQ_REMOVE_HEAD(&w->dirty, dirty_link);
		c->is_dirty = false;
		client_flush(c);
	}
}

static void bury(struct worker *w)
{
	struct client *c;
	while ((c = STAILQ_FIRST(&w->dead)) != NULL) {
		STAILQ_REMOVE_HEAD(&w->dead, resume_link);
		client_free(c);
	}
	if (w->draining && !w->drained && TAILQ_EMPTY(&w->clients)) {
		w->drained = true;
		if (w->opts.listener.drained != NULL)
			w->opts.listener.drained(w->opts.listener.arg, w->opts.index);
	}
}

/* Everything that callbacks left to be done; nothing may be left when the loop waits again. */
static void worker_settle(struct worker *w)
{
	memory_look(w);
	do {
		resume_clients(w);
		upstream_flush_all(&w->upstream);
		if (UNLIKELY(!LIST_EMPTY(&w->streams)))
			streams_feed(w);
		flush_clients(w);
	} while (!STAILQ_EMPTY(&w->resuming) || !STAILQ_EMPTY(&w->upstream.dirty));
	bury(w);
	for (size_t i = 0; i < w->opts.npools; i++) {
		retire_views(&w->pools[i]);
		retry_budget_advance(&w->pools[i].upstreams.budget, loop_now(&w->loop));
	}
	metric_add(w->m, M_LOOP_TURNS, 1);
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	while (!w->stopping) {
		CHECK(loop_turn(&w->loop));
		worker_settle(w);
	}
	close_clients(w);
	worker_settle(w);
	return NULL;
}

/* ---- life ---------------------------------------------------------------------------------- */

static void pool_init(struct worker *w, uint32_t index)
{
	struct worker_pool *p = &w->pools[index];
	p->worker = w;
	p->opts = &w->opts.pools[index];
	p->index = index;
	TAILQ_INIT(&p->views);
	for (unsigned k = 0; k < DEADLINE_COUNT; k++)
		TAILQ_INIT(&p->due[k]);
	CHECK(evtimer_assign(&p->pause_timer, w->loop.base, on_pause_over, p) == 0);
	CHECK(user_set_new(&p->users, NULL, 0) == 0);
	p->upstreams.env = &w->upstream;
	p->upstreams.opts = &p->opts->upstream;
}

static void lists_init(struct worker *w)
{
	TAILQ_INIT(&w->clients);
	TAILQ_INIT(&w->inside);
	LIST_INIT(&w->errands);
	STAILQ_INIT(&w->dirty);
	STAILQ_INIT(&w->resuming);
	STAILQ_INIT(&w->dead);
	STAILQ_INIT(&w->upstream.dirty);
	slab_init(&w->client_slab, "client", sizeof(struct client), CLIENTS_KEEP);
	slab_init(&w->request_slab, "request", sizeof(struct request), REQUESTS_KEEP);
	resp_args_init(&w->args);
	cmd_keys_init(&w->keys);
}

static void events_init(struct worker *w)
{
	CHECK(event_assign(&w->inbox_event, w->loop.base, mailbox_fd(&w->inbox),
		      EV_READ | EV_PERSIST, on_inbox, w) == 0);
	CHECK(event_add(&w->inbox_event, NULL) == 0);
	CHECK(evtimer_assign(&w->due_timer, w->loop.base, on_due, w) == 0);
	CHECK(evtimer_assign(&w->sweep_timer, w->loop.base, on_sweep, w) == 0);
	worker_arm_sweep(w);
}

int worker_new(struct worker **ret, const struct worker_opts *opts)
{
	struct worker *w = calloc(1, sizeof(*w));
	CHECK(w != NULL);
	w->opts = *opts;
	w->limits = *opts->limits;
	w->opts.limits = &w->limits;
	w->m = opts->metrics;
	int r = loop_init(&w->loop);
	if (r == 0)
		r = mailbox_init(&w->inbox);
	if (r != 0) {
		loop_fini(&w->loop);
		free(w);
		return r;
	}
	w->stats = stats_new();
	w->upstream.loop = &w->loop;
	w->upstream.ops = &request_upstream_ops;
	w->upstream.worker = opts->index;
	w->upstream.attempt = on_attempt;
	w->upstream.room = opts->room;
	rng_seed(&w->upstream.rng, clock_ns() + opts->index);
	rng_seed(&w->rng, clock_ns() ^ (opts->index << 32));
	lists_init(w);
	w->pools = calloc(opts->npools, sizeof(*w->pools));
	CHECK(w->pools != NULL);
	for (uint32_t i = 0; i < opts->npools; i++)
		pool_init(w, i);
	events_init(w);
	*ret = w;
	return 0;
}

int worker_start(struct worker *w)
{
	return -pthread_create(&w->thread, NULL, worker_main, w);
}

void worker_join(struct worker *w)
{
	(void)pthread_join(w->thread, NULL);
}

static void pool_fini(struct worker_pool *p)
{
	struct view *v;
	/* upstreams first drop what is in their FIFOs: abandoned requests, which free themselves */
	for (size_t i = 0; i < p->upstreams.n; i++)
		upstream_abandon(p->upstreams.v[i].up);
	while ((v = TAILQ_FIRST(&p->views)) != NULL) {
		TAILQ_REMOVE(&p->views, v, link);
		view_free(&p->upstreams, v);
	}
	upstream_set_fini(&p->upstreams);
	(void)evtimer_del(&p->pause_timer);
	user_set_unref(p->users);
}

void worker_free(struct worker *w)
{
	w->stopping = true; /* also one that never ran sends no errand on */
	(void)event_del(&w->inbox_event);
	mailbox_fini(&w->inbox); /* letters that came too late are opened here */
	close_clients(w);
	worker_settle(w);
	errand_drop_waits(&w->errands);
	for (uint32_t i = 0; i < w->opts.npools; i++)
		pool_fini(&w->pools[i]);
	free(w->pools);
	(void)evtimer_del(&w->due_timer);
	(void)evtimer_del(&w->sweep_timer);
	slab_fini(&w->client_slab);
	slab_fini(&w->request_slab);
	resp_args_fini(&w->args);
	cmd_keys_fini(&w->keys);
	stats_free(w->stats);
	foreign_free(w->foreign);
	script_memo_free(w->scripts);
	split_scratch_free(w->owners);
	loop_fini(&w->loop);
	free(w);
}
