/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/* Between the parts of the control thread. */

#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/mailbox.h"
#include "router/conf/conf.h"
#include "router/core/worker.h"
#include "router/io/resolver.h"
#include "router/metrics/metrics.h"

struct evhttp;
struct name;
struct control;

struct listener {
	struct control *control; /* borrowed */
	int fd;
	uint32_t pool;
	bool behind_proxy;
	struct sock_file file;
	struct log_rate complaints;
	char address[300]; /* where it really listens */
	struct event accept_event;
	struct event retry_timer;
};

struct control {
	struct conf *conf; /* borrowed; changed by reload.c alone */
	struct event_base *base;
	struct metric_block *m;       /* the control thread's own */
	struct metric_block **blocks; /* workers', then the control thread's */
	struct pool_opts *pools;
	struct fleet **fleets; /* by pool: a reference to the one last published */
	struct worker_limits limits;
	struct router_facts facts;
	struct script_store *scripts; /* owned */
	struct worker **workers;
	size_t nworkers;
	struct listener *listeners;
	size_t nlisteners;
	uint64_t next_client_id;
	uint32_t max_clients;      /* limits.clients, or what file descriptors allow */
	uint64_t other_fds;        /* file descriptors that are set aside: see descriptors.c */
	struct upstream_room room; /* what there is beyond those for connections to nodes */
	int reserve_fd; /* given up for a moment to refuse a client when file descriptors run out */
	struct mailbox inbox;
	struct event inbox_event;
	struct event signals[3];
	struct event drain_timer;
	struct event tidy_timer;
	uint64_t tidy_floor; /* bytes resident and not in use when it began to serve */
	unsigned tidy_pause; /* looks to leave out */
	struct resolver *resolver;
	struct name *names; /* owned; names.c */
	struct event names_timer;
	size_t drained;
	bool draining;
	bool stopping;
	struct evhttp *http;
	struct sock_file admin_file;
	char admin_address[300];
};

struct sock_life life_of(const struct conf_keepalive *k);

/* acceptor.c: 0 or an exit code, the reason logged. */
int acceptor_start(struct control *ctl);
void acceptor_stop(struct control *ctl);

/*
 * names.c: where the names of nodes lead.  names_start() waits for the first answers, but no longer
 * than resolve_wait.  names_update() after new fleets or options were published; names_tell() for a
 * new worker.  names_on_attempt() is called on workers' threads.
 */
void names_start(struct control *ctl);
void names_update(struct control *ctl);
void names_tell(const struct control *ctl, struct worker *w);
void names_on_attempt(void *arg, struct server *s);
void names_stop(struct control *ctl);

/* descriptors.c: as many file descriptors as the process may have, and how many clients that is. */
void descriptors_start(struct control *ctl);

/* admin.c */
int admin_start(struct control *ctl);
void admin_stop(struct control *ctl);

/* ready.c: tells the ready file and the service manager that clients are served. */
int ready_announce(const struct control *ctl);
void ready_notify(const char *state);
