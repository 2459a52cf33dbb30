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
#include "router/metrics/metrics.h"

struct evhttp;
struct control;

struct listener {
	struct control *control; /* borrowed */
	int fd;
	uint32_t pool;
	bool is_unix;
	char address[300]; /* where it really listens */
	struct event accept_event;
	struct event retry_timer;
};

struct control {
	const struct conf *conf; /* borrowed */
	struct event_base *base;
	struct metric_block *m;       /* the control thread's own */
	struct metric_block **blocks; /* workers', then the control thread's */
	struct pool_opts *pools;
	struct fleet **fleets; /* by pool: a reference to the one last published */
	struct worker_limits limits;
	struct router_facts facts;
	struct worker **workers;
	size_t nworkers;
	struct listener *listeners;
	size_t nlisteners;
	uint64_t next_client_id;
	int reserve_fd; /* given up for a moment to refuse a client when file descriptors run out */
	struct mailbox inbox;
	struct event inbox_event;
	struct event signals[3];
	struct event drain_timer;
	struct event tidy_timer;
	uint64_t tidy_peak;
	size_t drained;
	bool draining;
	bool stopping;
	struct evhttp *http;
	char admin_address[300];
};

/* acceptor.c: 0 or an exit code, the reason logged. */
int acceptor_start(struct control *ctl);
void acceptor_stop(struct control *ctl);

/* admin.c */
int admin_start(struct control *ctl);
void admin_stop(struct control *ctl);

/* ready.c: tells the ready file and the service manager that clients are served. */
int ready_announce(const struct control *ctl);
void ready_notify(const char *state);
