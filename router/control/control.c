/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/control/control.h"

#include <errno.h>
#include <event2/event.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/err.h"
#include "router/control/control_internal.h"
#include "router/control/reload.h"
#include "router/core/script_store.h"

/* How often memory that a burst left behind is looked for, and how much makes it worth giving back.
 */
static const struct timeval tidy_every = {.tv_sec = 5};
#define TIDY_WORTH (6u << 20)
#define TIDY_LITTLE (1u << 20)
#define TIDY_PAUSE 6 /* looks */

/* ---- letters from workers ------------------------------------------------------------------ */

struct note {
	struct letter letter; /* first */
	struct control *control;
};

static void all_clients_gone(struct control *ctl);

static void open_drained(struct letter *l)
{
	struct note *n = (struct note *)l;
	struct control *ctl = n->control;
	free(n);
	if (++ctl->drained == ctl->nworkers)
		all_clients_gone(ctl);
}

/* On a worker's thread. */
static void on_worker_drained(void *arg, size_t worker)
{
	struct control *ctl = arg;
	struct note *n = calloc(1, sizeof(*n));
	CHECK(n != NULL);
	(void)worker;
	n->letter.open = open_drained;
	n->control = ctl;
	mailbox_post(&ctl->inbox, &n->letter);
}

static void on_worker_acked(void *arg, size_t worker, uint32_t pool, uint64_t epoch, uint32_t phase)
{
	struct control *ctl = arg;
	log_debug("control", "state in use", "worker=%zu pool=%s epoch=%llu phase=%u", worker,
		ctl->conf->pools[pool].name, (unsigned long long)epoch, phase);
}

static void on_inbox(evutil_socket_t fd, short what, void *arg)
{
	struct control *ctl = arg;
	(void)fd;
	(void)what;
	mailbox_open_all(&ctl->inbox);
}

/* ---- stopping ------------------------------------------------------------------------------ */

static void stop_loop(struct control *ctl)
{
	ctl->stopping = true;
	(void)event_base_loopbreak(ctl->base);
}

static void all_clients_gone(struct control *ctl)
{
	log_info("control", "drained", "clients=0");
	stop_loop(ctl);
}

static void on_drain_timeout(evutil_socket_t fd, short what, void *arg)
{
	struct control *ctl = arg;
	(void)fd;
	(void)what;
	log_warn("control", "drain timeout: closing the clients that are left", "clients=%llu",
		(unsigned long long)metric_sum(ctl->blocks, ctl->nworkers + 1, M_CLIENTS));
	for (size_t i = 0; i < ctl->nworkers; i++)
		worker_close_clients(ctl->workers[i]);
}

static void start_drain(struct control *ctl)
{
	struct timeval tv = {.tv_sec = (time_t)(ctl->conf->drain_timeout_ns / NS_PER_S),
		.tv_usec = (suseconds_t)(ctl->conf->drain_timeout_ns % NS_PER_S / NS_PER_US)};
	ctl->draining = true;
	ready_notify("STOPPING=1");
	log_info("control", "draining", "timeout_ms=%llu",
		(unsigned long long)(ctl->conf->drain_timeout_ns / NS_PER_MS));
	acceptor_stop(ctl);
	(void)evtimer_add(&ctl->drain_timer, &tv);
	for (size_t i = 0; i < ctl->nworkers; i++)
		worker_drain(ctl->workers[i]);
}

static void on_signal(evutil_socket_t sig, short what, void *arg)
{
	struct control *ctl = arg;
	(void)what;
	if (sig == SIGHUP) {
		reload_configuration(ctl);
		return;
	}
	if (!ctl->draining)
		start_drain(ctl);
}

/* ---- memory -------------------------------------------------------------------------------- */

/* Pages of this process that are in memory, as bytes. */
static uint64_t resident(void)
{
	unsigned long size, pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");
	if (f == NULL)
		return 0;
	/* the kernel's own numbers: NOLINTNEXTLINE(cert-err34-c) */
	if (fscanf(f, "%lu %lu", &size, &pages) != 2)
		pages = 0;
	(void)fclose(f);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* What is in use by clients and requests, about. */
static uint64_t in_use(const struct control *ctl)
{
	size_t n = ctl->nworkers + 1;
	return metric_sum(ctl->blocks, n, M_BUFFER_BYTES) +
	       metric_sum(ctl->blocks, n, M_CLIENTS) * sizeof(struct client) +
	       metric_sum(ctl->blocks, n, M_REQUESTS_PENDING) * sizeof(struct request);
}

static uint64_t not_in_use(const struct control *ctl)
{
	uint64_t have = resident(), used = in_use(ctl);
	return have > used ? have - used : 0;
}

/*
 * After a burst, pages that malloc holds but nobody uses go back to the kernel.  A burst may come
 * and go between two looks, so it is told by what it left behind: more memory that nobody uses than
 * when the router began to serve.  When there was little to give back, it is left alone for a while.
 */
static void on_tidy(evutil_socket_t fd, short what, void *arg)
{
	struct control *ctl = arg;
	(void)fd;
	(void)what;
	uint64_t idle = not_in_use(ctl);
	if (ctl->tidy_pause > 0) {
		ctl->tidy_pause--;
	} else if (idle > ctl->tidy_floor + TIDY_WORTH) {
		(void)malloc_trim(0);
		if (not_in_use(ctl) + TIDY_LITTLE > idle)
			ctl->tidy_pause = TIDY_PAUSE;
	}
	(void)evtimer_add(&ctl->tidy_timer, &tidy_every);
}

/* ---- pools and workers --------------------------------------------------------------------- */

struct sock_life life_of(const struct conf_keepalive *k)
{
	return (struct sock_life){
		.idle_ns = k->idle_ns,
		.interval_ns = k->interval_ns,
		.count = k->count,
		.unacked_ns = k->user_timeout_ns,
	};
}

static void fill_pool_opts(struct pool_opts *o, const struct conf_pool *c)
{
	*o = (struct pool_opts){
		.name = c->name,
		.database = c->database,
		.tagged_multikey = c->multikey == MULTIKEY_TAG,
		.timeout_ns = {[DEADLINE_REQUEST] = c->request_timeout_ns,
			[DEADLINE_SLOW] = c->slow_timeout_ns},
		.stuck_floor_ns = c->stuck_floor_ns,
		.upstream =
			{
				.connect_timeout_ns = c->connect_timeout_ns,
				.request_timeout_ns = c->request_timeout_ns,
				.backoff_ns = c->backoff_ns,
				.backoff_max_ns = c->backoff_max_ns,
				.queue = c->queue,
				.retries = c->retry_reads,
				.retry_share = c->retry_budget,
				.preconnect = c->preconnect,
				.life = life_of(&c->keepalive),
				.resolve_pause_ns = c->resolve_pause_ns,
				.private_per_node = c->private_per_node,
				.private_idle_ns = c->private_idle_ns,
				.default_class = up_class(c->database, 2),
				.shared_per_node = c->shared_per_node,
				.shared_idle_ns = c->shared_idle_ns,
			},
	};
}

static int make_topology(struct topology **ret, const struct conf_pool *c)
{
	struct topology_node *nodes = calloc(c->nnodes + 1, sizeof(*nodes));
	CHECK(nodes != NULL);
	for (size_t i = 0; i < c->nnodes; i++)
		nodes[i] = (struct topology_node){
			.name = c->nodes[i].name,
			.address = c->nodes[i].address,
			.weight_milli = c->nodes[i].weight_milli,
		};
	struct topology_spec spec = {
		.epoch = 1,
		.points = c->ring_points,
		.hash_tag = c->ring_hash_tag,
		.nodes = nodes,
		.nnodes = c->nnodes,
	};
	int r = topology_new(ret, &spec);
	free(nodes);
	return r;
}

static int make_fleet(struct control *ctl, size_t p)
{
	const struct conf_pool *c = &ctl->conf->pools[p];
	struct topology *t = NULL;
	int r = make_topology(&t, c);
	if (r == 0)
		ctl->fleets[p] = fleet_new(t, NULL, ctl->nworkers);
	else
		log_error("control", "pool can't be served", "pool=%s why=\"%s\"", c->name,
			rw_strerror(r));
	topology_unref(t);
	return r == 0 ? 0 : EXIT_CODE_CONF;
}

static int make_pools(struct control *ctl)
{
	ctl->pools = calloc(ctl->conf->npools, sizeof(*ctl->pools));
	ctl->fleets = calloc(ctl->conf->npools, sizeof(struct fleet *));
	CHECK(ctl->pools != NULL && ctl->fleets != NULL);
	for (size_t p = 0; p < ctl->conf->npools; p++) {
		fill_pool_opts(&ctl->pools[p], &ctl->conf->pools[p]);
		int r = make_fleet(ctl, p);
		if (r != 0)
			return r;
	}
	return 0;
}

static void make_blocks(struct control *ctl)
{
	ctl->blocks = calloc(ctl->nworkers + 1, sizeof(struct metric_block *));
	CHECK(ctl->blocks != NULL);
	for (size_t i = 0; i <= ctl->nworkers; i++)
		ctl->blocks[i] = metric_block_new();
	ctl->m = ctl->blocks[ctl->nworkers];
}

static uint16_t first_port(const struct control *ctl)
{
	const char *colon = ctl->nlisteners > 0 ? strrchr(ctl->listeners[0].address, ':') : NULL;
	return colon != NULL ? (uint16_t)strtoul(colon + 1, NULL, 10) : 0;
}

static void fill_facts(struct control *ctl)
{
	reload_fill_limits(ctl);
	ctl->facts = (struct router_facts){
		.version = RINGWAY_VERSION,
		.started_wall_ms = clock_wall_ms(),
		.started_ns = clock_ns(),
		.port = first_port(ctl),
		.nworkers = ctl->nworkers,
		.blocks = ctl->blocks,
		.nblocks = ctl->nworkers + 1,
	};
}

static int make_worker(struct control *ctl, size_t i)
{
	struct worker_opts o = {
		.index = i,
		.limits = &ctl->limits,
		.pools = ctl->pools,
		.npools = ctl->conf->npools,
		.facts = &ctl->facts,
		.workers = ctl->workers,
		.metrics = ctl->blocks[i],
		.scripts = ctl->scripts,
		.room = &ctl->room,
		.listener =
			{
				.arg = ctl,
				.drained = on_worker_drained,
				.acked = on_worker_acked,
				.attempt = names_on_attempt,
			},
	};
	int r = worker_new(&ctl->workers[i], &o);
	if (r == 0)
		reload_publish(ctl, ctl->workers[i]); /* first: connections log in */
	for (uint32_t p = 0; r == 0 && p < ctl->conf->npools; p++)
		worker_publish(ctl->workers[i], p, fleet_ref(ctl->fleets[p]));
	if (r == 0)
		names_tell(ctl, ctl->workers[i]);
	if (r == 0)
		r = worker_start(ctl->workers[i]);
	if (r != 0)
		log_error("control", "cannot start a worker", "worker=%zu why=\"%s\"", i,
			rw_strerror(r));
	return r == 0 ? 0 : EXIT_CODE_INTERNAL;
}

/* Signals are the control thread's: workers are born with all of them blocked. */
static int start_workers(struct control *ctl)
{
	sigset_t all, before;
	int r = 0;
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	ctl->workers = calloc(ctl->nworkers, sizeof(struct worker *));
	CHECK(ctl->workers != NULL);
	for (size_t i = 0; i < ctl->nworkers && r == 0; i++)
		r = make_worker(ctl, i);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

static void stop_workers(struct control *ctl)
{
	for (size_t i = 0; i < ctl->nworkers && ctl->workers[i] != NULL; i++)
		worker_stop(ctl->workers[i]);
	for (size_t i = 0; i < ctl->nworkers && ctl->workers[i] != NULL; i++)
		worker_join(ctl->workers[i]);
	for (size_t i = 0; i < ctl->nworkers && ctl->workers[i] != NULL; i++)
		worker_free(ctl->workers[i]);
	free(ctl->workers);
}

/* ---- the thread ---------------------------------------------------------------------------- */

static int events_init(struct control *ctl)
{
	static const int handled[] = {SIGTERM, SIGINT, SIGHUP};
	ctl->base = event_base_new();
	if (ctl->base == NULL || mailbox_init(&ctl->inbox) != 0)
		return EXIT_CODE_INTERNAL;
	(void)signal(SIGPIPE, SIG_IGN);
	CHECK(event_assign(&ctl->inbox_event, ctl->base, mailbox_fd(&ctl->inbox),
		      EV_READ | EV_PERSIST, on_inbox, ctl) == 0);
	CHECK(event_add(&ctl->inbox_event, NULL) == 0);
	for (size_t i = 0; i < ARRAY_LEN(handled); i++) {
		CHECK(evsignal_assign(&ctl->signals[i], ctl->base, handled[i], on_signal, ctl) ==
			0);
		CHECK(evsignal_add(&ctl->signals[i], NULL) == 0);
	}
	CHECK(evtimer_assign(&ctl->drain_timer, ctl->base, on_drain_timeout, ctl) == 0);
	CHECK(evtimer_assign(&ctl->tidy_timer, ctl->base, on_tidy, ctl) == 0);
	CHECK(evtimer_add(&ctl->tidy_timer, &tidy_every) == 0);
	return 0;
}

static void events_fini(struct control *ctl)
{
	if (ctl->base == NULL)
		return;
	(void)event_del(&ctl->inbox_event);
	for (size_t i = 0; i < ARRAY_LEN(ctl->signals); i++)
		(void)evsignal_del(&ctl->signals[i]);
	(void)evtimer_del(&ctl->drain_timer);
	(void)evtimer_del(&ctl->tidy_timer);
	mailbox_fini(&ctl->inbox);
	event_base_free(ctl->base);
}

static int serve(struct control *ctl)
{
	int r = acceptor_start(ctl);
	if (r == 0)
		r = admin_start(ctl);
	if (r != 0)
		return r;
	descriptors_start(ctl);
	ctl->scripts = script_store_new(ctl->conf->limits.scripts);
	fill_facts(ctl);
	names_start(ctl);
	r = start_workers(ctl);
	if (r == 0 && ready_announce(ctl) != 0)
		r = EXIT_CODE_CONF;
	if (r == 0) {
		log_info("control", "serving", "version=%s address=%s workers=%zu", RINGWAY_VERSION,
			ctl->listeners[0].address, ctl->nworkers);
		ctl->tidy_floor = not_in_use(ctl);
		while (!ctl->stopping)
			(void)event_base_loop(ctl->base, EVLOOP_ONCE);
	}
	admin_stop(ctl);
	acceptor_stop(ctl);
	stop_workers(ctl);
	return r;
}

static void control_fini(struct control *ctl)
{
	names_stop(ctl);
	admin_stop(ctl);
	acceptor_stop(ctl);
	free(ctl->listeners);
	for (size_t p = 0; ctl->fleets != NULL && p < ctl->conf->npools; p++)
		fleet_unref(ctl->fleets[p]);
	free(ctl->fleets);
	free(ctl->pools);
	script_store_free(ctl->scripts);
	for (size_t i = 0; ctl->blocks != NULL && i <= ctl->nworkers; i++)
		metric_block_free(ctl->blocks[i]);
	free(ctl->blocks);
	events_fini(ctl);
}

int control_run(struct conf *conf)
{
	struct control ctl = {.conf = conf, .nworkers = conf->threads, .reserve_fd = -1};
	int r = events_init(&ctl);
	if (r == 0) {
		make_blocks(&ctl);
		r = make_pools(&ctl);
	}
	if (r == 0)
		r = serve(&ctl);
	control_fini(&ctl);
	return r;
}
