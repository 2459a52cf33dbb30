/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * A worker: one thread, one event loop, its own clients, node connections, buffers and metric
 * block.  Nothing of it is touched by another thread; the control thread sends letters.
 *
 *	turn:  wait -> callbacks -> [ resume clients -> flush nodes -> flush clients ]* -> bury
 */

#include <event2/event_struct.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "base/mailbox.h"
#include "base/slab.h"
#include "router/core/client.h"
#include "router/core/errand.h"
#include "router/core/gate.h"
#include "router/core/memory.h"
#include "router/core/request.h"
#include "router/core/view.h"
#include "router/io/loop.h"
#include "router/metrics/metrics.h"
#include "router/upstream/upstream.h"
#include "router/wire/cmd.h"
#include "router/wire/resp.h"

/* What workers need to know of a pool; shared by all, never changed. */
struct pool_opts {
	const char *name;
	uint32_t database;
	bool tagged_multikey; /* untagged multi-key commands are refused even on one owner */
	uint64_t timeout_ns[DEADLINE_COUNT + 1]; /* of DEADLINE_NONE: 0 */
	uint64_t stuck_floor_ns;
	struct upstream_opts upstream;
};

struct worker_limits {
	uint32_t clients;
	uint32_t pipeline;
	uint64_t output; /* bytes that may wait for a client */
	uint64_t request_size;
	uint64_t bulk;            /* larger requests go on to their node as they come */
	uint64_t memory;          /* bytes of all workers' buffers */
	uint64_t idle_timeout_ns; /* 0: never */
	uint64_t proxy_header_ns; /* to the end of a load balancer's header */
};

/* A worker's side of a pool. */
struct worker_pool {
	struct worker *worker;        /* borrowed */
	const struct pool_opts *opts; /* borrowed */
	uint32_t index;
	uint32_t databases;     /* what the nodes have at least; 0: not known */
	struct view *view;      /* current; NULL before the first is adopted */
	struct view_list views; /* all that have requests in flight, the current one included */
	bool views_done;        /* some of them may be retired */
	struct upstream_set upstreams;
	struct request_due due[DEADLINE_COUNT];
	struct user_set *users; /* a reference; never NULL */
	struct log_rate login_complaints;
	struct pause pause;
	struct event pause_timer;
};

/* What the router says of itself to clients; shared, never changed but for the atomics. */
struct router_facts {
	const char *version;
	uint64_t started_wall_ms;
	uint64_t started_ns;
	uint16_t port; /* of the first listener */
	size_t nworkers;
	struct metric_block *const *blocks; /* nworkers + 1; the last is the control thread's */
	size_t nblocks;
};

/* What workers tell the control thread; called on the worker's thread: the implementation posts
 * letters. */
struct worker_listener {
	void *arg;
	/* Every client is gone after worker_drain(). */
	void (*drained)(void *arg, size_t worker);
	/* Every request routed by an older state is answered, or its node connection closed. */
	void (*acked)(void *arg, size_t worker, uint32_t pool, uint64_t epoch, uint32_t phase);
	/* A connect to a server with a name begins. */
	void (*attempt)(void *arg, struct server *s);
};

struct worker_opts {
	size_t index;
	const struct worker_limits *limits;
	const struct pool_opts *pools;
	size_t npools;
	const struct router_facts *facts;
	struct worker *const
		*workers; /* all of them, facts->nworkers; complete before clients come */
	struct metric_block *metrics;
	struct script_store *scripts; /* NULL: none are kept */
	struct upstream_room *room;   /* for connections to nodes; NULL: no limit */
	struct worker_listener listener;
};

struct worker {
	struct worker_opts opts;
	struct worker_limits limits; /* opts.limits points here */
	struct loop loop;
	struct upstream_env upstream;
	struct metric_block *m;    /* borrowed */
	struct worker_pool *pools; /* owned */
	struct mailbox inbox;
	struct event inbox_event;
	struct event due_timer;
	uint64_t due_armed_ns; /* what due_timer waits for; 0: nothing */
	bool draining;
	bool drained;
	bool stopping;
	struct client_list clients;
	LIST_HEAD(, client)
	streams;                   /* clients whose node does not take their request fast enough */
	struct client_list inside; /* clients inside a large request */
	struct event sweep_timer;
	enum memory_state memory;
	uint32_t
		unblocking; /* clients that CLIENT UNBLOCK was asked for and that are not answered yet */
	uint32_t starved;   /* clients that are not read for want of memory */
	uint64_t shared_ns; /* when another worker was asked for some */
	struct client_queue dirty;
	struct client_queue resuming;
	struct client_queue dead;
	struct errand_waits errands; /* requests whose errands are under way */
	struct stats *stats;         /* owned; others read it */
	struct slab client_slab;
	struct slab request_slab;
	struct resp_args args; /* of the request being served */
	struct cmd_keys keys;
	struct foreign *foreign;     /* owned; NULL: never needed */
	struct script_memo *scripts; /* owned; NULL: never needed */
	void *owners;                /* split.c: scratch, owned */
	struct rng rng;
	bool untagged_logged[CMD_COUNT +
			     1]; /* the last one: commands that the table does not know */
	pthread_t thread;
	_Atomic uint32_t nclients; /* handed over and not yet closed: the acceptor's measure */
};

/* 0 or -errno.  worker_start() runs it on its own thread; worker_join() waits for its end after
 * worker_stop(). */
int worker_new(struct worker **ret, const struct worker_opts *opts) MUST_CHECK;
int worker_start(struct worker *w) MUST_CHECK;
void worker_join(struct worker *w);
void worker_free(struct worker *w);

/* Letters; any thread.  The fd and references are handed over.  behind_proxy: the client begins with
 * a header of the PROXY protocol. */
void worker_add_client(struct worker *w, uint32_t pool, int fd, uint64_t id, bool behind_proxy);
void worker_publish(struct worker *w, uint32_t pool, struct fleet *f);
/* The users of a pool; before the first it has none but `default`, without a password. */
void worker_publish_users(struct worker *w, uint32_t pool, struct user_set *users);
/* How new connections to a pool's nodes log in; NULL: not at all. */
void worker_publish_login(struct worker *w, uint32_t pool, struct node_login *login);
/* Copied. */
void worker_publish_limits(struct worker *w, const struct worker_limits *limits);
/* The server's name leads there now. */
void worker_move(struct worker *w, struct server *server, struct addresses *where);
/* A client of another worker, which holds so much itself, waits for memory: memory_share(). */
void worker_share_memory(struct worker *w, uint64_t held);
void worker_drain(struct worker *w);
void worker_close_clients(struct worker *w);
void worker_stop(struct worker *w);

/* Within the worker: arms the deadline timer for a request that has just been given one. */
void worker_arm_deadline(struct worker *w, uint64_t due_ns);
/* The sweep comes soon: somebody is starved. */
void worker_arm_sweep(struct worker *w);
/* The pool's pause is to end at its time. */
void worker_arm_pause(struct worker_pool *p);
/* The last request of a view that is no longer current is gone. */
void worker_view_done(struct worker_pool *p);
