/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * File descriptors.  The process takes as many as it is allowed and has a use for; and where that is
 * not enough for everything that the options allow, it is shared out, so that nobody's greed costs
 * another what he needs: a router full of clients that reaches no node serves nobody.
 *
 *	limit = set aside + clients + extra connections to nodes
 *
 * Set aside: what the process has open, one connection of each worker to each node, the admin page,
 * look-ups.  Extra: connections to nodes for other databases, for RESP3, and for one client alone; they
 * share what is left, and the idle ones go when others are needed (router/upstream/room.h).
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "router/control/control_internal.h"

/* Files, look-ups, the admin page's clients. */
#define SPARE 16

/* Of a worker: epoll, mailbox, and what its loop may come to need. */
#define PER_WORKER 4

/* The share of what is not set aside that clients leave for extra connections. */
#define EXTRA_SHARE 4

/* The lowest free number: as many are in use. */
static uint64_t in_use(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	(void)close(fd);
	return (uint64_t)fd;
}

/* What is neither for clients nor for extra connections. */
static uint64_t set_aside(const struct control *ctl)
{
	uint64_t n = in_use() + SPARE + ctl->nworkers * PER_WORKER;
	for (size_t p = 0; p < ctl->conf->npools; p++)
		n += ctl->conf->pools[p].nnodes * ctl->nworkers;
	return n;
}

/* Extra connections, if clients use all that the options allow. */
static uint64_t extra_at_most(const struct control *ctl)
{
	uint64_t n = 0;
	for (size_t i = 0; i < ctl->conf->npools; i++) {
		const struct conf_pool *p = &ctl->conf->pools[i];
		n += p->nnodes *
		     ((uint64_t)ctl->nworkers * p->shared_per_node + p->private_per_node);
	}
	return n;
}

/* Raises the limit if it may; what it is then. */
static uint64_t raise_limit(uint64_t want)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return want;
	if (limit.rlim_cur >= want)
		return limit.rlim_cur;
	rlim_t before = limit.rlim_cur;
	limit.rlim_cur = want < limit.rlim_max ? want : limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
		return limit.rlim_cur;
	log_warn("control", "cannot raise the limit of file descriptors", "limit=%llu why=\"%s\"",
		(unsigned long long)before, rw_strerror(-errno));
	return before;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint32_t at_least_one(uint64_t n)
{
	return n == 0 ? 1 : n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

void descriptors_start(struct control *ctl)
{
	if (ctl->other_fds == 0) /* at the start nothing is a client's yet */
		ctl->other_fds = set_aside(ctl);
	uint64_t clients = ctl->conf->limits.clients;
	uint64_t extra = extra_at_most(ctl);
	uint64_t needed = clients + ctl->other_fds + extra;
	uint64_t limit = raise_limit(needed);
	uint64_t left = limit > ctl->other_fds ? limit - ctl->other_fds : 0;
	uint64_t for_clients = left - smaller(extra, left / EXTRA_SHARE);
	for_clients = smaller(for_clients, clients);
	ctl->max_clients = at_least_one(for_clients);
	uint32_t room = at_least_one(left - for_clients);
	atomic_store_explicit(&ctl->room.limit, room, memory_order_relaxed);
	if (for_clients < clients)
		log_warn("control", "file descriptors do not suffice for limits.clients",
			"limit=%llu needed=%llu clients=%u node_connections=%u",
			(unsigned long long)limit, (unsigned long long)needed, ctl->max_clients,
			room);
	else if (limit < needed)
		log_info("control", "file descriptors do not suffice for all connections to nodes",
			"limit=%llu needed=%llu node_connections=%u", (unsigned long long)limit,
			(unsigned long long)needed, room);
}
