/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include "tests/unit/core/bed.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct pump asleep; /* the worker has a thread of its own */

static void on_drained(void *arg, size_t worker)
{
	struct core *t = arg;
	assert_int_equal(worker, 0);
	atomic_fetch_add(&t->drained, 1);
}

static void on_acked(void *arg, size_t worker, uint32_t pool, uint64_t epoch, uint32_t phase)
{
	struct core *t = arg;
	(void)worker;
	(void)phase;
	if (pool != 0)
		return;
	atomic_store(&t->acked_epoch, epoch);
	atomic_fetch_add(&t->acks, 1);
}

struct core *core_new(void)
{
	struct core *t = calloc(1, sizeof(*t));
	assert_non_null(t);
	atomic_store(&log_threshold, LOG_ERROR);
	t->limits = (struct worker_limits){
		.clients = 100,
		.pipeline = 1024,
		.output = 64u << 20,
		.request_size = 64u << 20,
		.bulk = 64u << 20,
		.memory = 1u << 30,
	};
	t->pools[0] = (struct pool_opts){
		.name = "main",
		.timeout_ns = {[DEADLINE_REQUEST] = 5 * NS_PER_S, [DEADLINE_SLOW] = 20 * NS_PER_S},
		.stuck_floor_ns = 15 * NS_PER_S,
		.upstream =
			{
				.connect_timeout_ns = 5 * NS_PER_S,
				.request_timeout_ns = 5 * NS_PER_S,
				.backoff_ns = 10 * NS_PER_MS,
				.backoff_max_ns = 10 * NS_PER_MS,
				.queue = 100000,
				.shared_per_node = 64,
				.shared_idle_ns = 60 * NS_PER_S,
			},
	};
	t->pools[1] = t->pools[0];
	t->pools[1].name = "other";
	t->npools = 1;
	for (size_t i = 0; i < CORE_NODES; i++)
		t->nodes[i].fd = -1;
	return t;
}

/* ---- topologies -------------------------------------------------------------------------------*/

static struct topology *topology_of(const struct core *t, size_t n, uint64_t epoch)
{
	static char names[CORE_NODES][2] = {"a", "b", "c"};
	struct topology_node nodes[CORE_NODES] = {0};
	struct topology *made = NULL;
	for (size_t i = 0; i < n; i++)
		nodes[i] = (struct topology_node){
			.name = names[i], .address = t->nodes[i].addr, .weight_milli = 1000};
	struct topology_spec spec = {
		.epoch = epoch, .points = 64, .hash_tag = "{}", .nodes = nodes, .nnodes = n};
	assert_int_equal(topology_new(&made, &spec), 0);
	return made;
}

void core_publish(struct core *t, size_t n, uint64_t epoch)
{
	struct topology *fresh = topology_of(t, n, epoch);
	struct fleet *f = fleet_new(fresh, t->fleet, 1);
	topology_unref(t->topology);
	fleet_unref(t->fleet);
	t->topology = fresh;
	t->fleet = f;
	for (uint32_t i = 0; i < t->npools; i++)
		worker_publish(t->workers[0], i, fleet_ref(f));
}

const char *core_key(struct core *t, uint32_t node, char key[CORE_KEY_MAX])
{
	do
		(void)snprintf(key, CORE_KEY_MAX, "key%u", t->next_key++);
	while (topology_owner(t->topology, span_str(key)) != node);
	return key;
}

const char *core_get(struct core *t, uint32_t node, char words[CORE_WORDS_MAX])
{
	char key[CORE_KEY_MAX];
	(void)snprintf(words, CORE_WORDS_MAX, "GET %s", core_key(t, node, key));
	return words;
}

const char *core_set(struct core *t, uint32_t node, char words[CORE_WORDS_MAX])
{
	char key[CORE_KEY_MAX];
	(void)snprintf(words, CORE_WORDS_MAX, "SET %s v", core_key(t, node, key));
	return words;
}

/* ---- life -------------------------------------------------------------------------------------*/

void core_start(struct core *t)
{
	t->blocks[0] = metric_block_new();
	t->blocks[1] = metric_block_new();
	t->scripts = script_store_new(1 << 20);
	t->facts = (struct router_facts){
		.version = "0",
		.started_ns = clock_ns(),
		.nworkers = 1,
		.blocks = t->blocks,
		.nblocks = 2,
	};
	struct worker_opts opts = {
		.limits = &t->limits,
		.pools = t->pools,
		.npools = t->npools,
		.facts = &t->facts,
		.workers = t->workers,
		.metrics = t->blocks[0],
		.scripts = t->scripts,
		.listener = {.arg = t, .drained = on_drained, .acked = on_acked},
	};
	for (size_t i = 0; i < CORE_NODES; i++)
		node_open(&t->nodes[i], "127.0.0.1:0", asleep);
	assert_int_equal(worker_new(&t->workers[0], &opts), 0);
	for (size_t i = 0; i < t->npools; i++)
		t->workers[0]->pools[i].databases = 16; /* else the first SELECT asks the nodes */
	assert_int_equal(worker_start(t->workers[0]), 0);
	core_publish(t, CORE_NODES, 1);
}

void core_free(struct core *t)
{
	worker_stop(t->workers[0]);
	worker_join(t->workers[0]);
	/* checks its slabs and its buffers: an object that is still out aborts */
	worker_free(t->workers[0]);
	assert_int_equal(core_count(t, M_CLIENTS), 0);
	assert_int_equal(core_count(t, M_REQUESTS_PENDING), 0);
	for (uint32_t i = 0; i < t->topology->nnodes; i++) {
		assert_int_equal(core_node_count(t, i, NM_INFLIGHT), 0);
		assert_int_equal(core_node_count(t, i, NM_CONNECTIONS), 0);
		assert_int_equal(atomic_load(&t->fleet->servers[i]->refs), 1);
	}
	fleet_unref(t->fleet);
	topology_unref(t->topology);
	metric_block_free(t->blocks[0]);
	metric_block_free(t->blocks[1]);
	script_store_free(t->scripts);
	for (size_t i = 0; i < CORE_NODES; i++)
		node_close(&t->nodes[i]);
	free(t);
}

struct peer core_client(struct core *t, uint32_t pool, int sndbuf)
{
	int fds[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	if (sndbuf > 0)
		(void)setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof(sndbuf));
	worker_add_client(t->workers[0], pool, fds[0], ++t->next_id, false);
	return (struct peer){.fd = fds[1], .pump = asleep};
}

/* ---- looking inside ---------------------------------------------------------------------------*/

struct look {
	struct letter letter; /* first */
	struct worker *w;
	void (*fn)(struct worker *w, void *arg);
	void *arg;
	sem_t done;
};

static void open_look(struct letter *l)
{
	struct look *look = CONTAINER_OF(l, struct look, letter);
	look->fn(look->w, look->arg);
	(void)sem_post(&look->done);
}

void core_look(struct core *t, void (*fn)(struct worker *w, void *arg), void *arg)
{
	struct look look = {.letter.open = open_look, .w = t->workers[0], .fn = fn, .arg = arg};
	assert_int_equal(sem_init(&look.done, 0, 0), 0);
	mailbox_post(&t->workers[0]->inbox, &look.letter);
	struct timespec limit;
	(void)clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += PEER_PATIENCE_MS / 1000;
	if (sem_timedwait(&look.done, &limit) < 0) {
		(void)fprintf(stderr, "the worker does not turn any more\n");
		abort();
	}
	(void)sem_destroy(&look.done);
}

static void read_state(struct worker *w, void *arg)
{
	struct core_state *s = arg;
	const struct view *v;
	const struct client *c;
	*s = (struct core_state){
		.buffers = w->loop.pool.used,
		.clients = w->client_slab.live,
		.requests = w->request_slab.live,
		.upstreams = (uint32_t)w->pools[0].upstreams.n,
	};
	TAILQ_FOREACH (v, &w->pools[0].views, link)
		s->views++;
	TAILQ_FOREACH (c, &w->clients, all) {
		s->held += c->held;
		s->output += sendq_held(&c->out);
		s->outstanding += c->outstanding;
	}
}

struct core_state core_state(struct core *t)
{
	struct core_state s;
	core_look(t, read_state, &s);
	return s;
}

static bool is_settled(struct core *t)
{
	struct core_state s = core_state(t);
	return s.buffers == 0 && s.requests == 0 && s.held == 0 && s.outstanding == 0;
}

void core_settles(struct core *t)
{
	PUMP_UNTIL(&asleep, is_settled(t));
}

/* ---- words ------------------------------------------------------------------------------------*/

const char *wire(const char *words)
{
	static char out[8192];
	size_t n = 1;
	for (const char *w = words; *w != 0; w++)
		n += *w == ' ';
	char *at = out + sprintf(out, "*%zu\r\n", n);
	for (const char *w = words; n > 0; n--) {
		size_t len = strcspn(w, " ");
		assert_true((size_t)(at - out) + len + 32 < sizeof(out));
		at += sprintf(at, "$%zu\r\n%.*s\r\n", len, (int)len, w);
		w += len + 1;
	}
	return out;
}

void peer_asks(struct peer *p, const char *words)
{
	peer_says(p, wire(words));
}

void peer_is_asked(struct peer *p, const char *words)
{
	peer_expects(p, wire(words));
}

uint64_t core_count(const struct core *t, enum metric m)
{
	return metric_sum(t->blocks, 2, m);
}

uint64_t core_node_count(const struct core *t, uint32_t node, enum node_metric m)
{
	return node_metric_sum(t->fleet->servers[node]->blocks, 1, m);
}
