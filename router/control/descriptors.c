/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * File descriptors.  The process takes as many as it is allowed and has a use for; and where that is
 * not enough for limits.clients, fewer clients are taken, so that there are always some left for
 * nodes, the admin page and look-ups: a router full of clients that reaches no node serves nobody.
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

/* Shared connections that each worker has to each node: RESP2, RESP3, some databases. */
#define PER_NODE 4

/* The lowest free number: as many are in use. */
static uint64_t in_use(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	(void)close(fd);
	return (uint64_t)fd;
}

/* What is not for clients. */
static uint64_t needed(const struct control *ctl)
{
	uint64_t n = in_use() + SPARE + ctl->nworkers * PER_WORKER;
	for (size_t p = 0; p < ctl->conf->npools; p++)
		n += ctl->conf->pools[p].nnodes * ctl->nworkers * PER_NODE;
	return n;
}

/* Connections that clients may have to themselves, if there are descriptors enough. */
static uint64_t wished(const struct control *ctl)
{
	uint64_t n = 0;
	for (size_t p = 0; p < ctl->conf->npools; p++)
		n += ctl->conf->pools[p].nnodes * (uint64_t)ctl->conf->pools[p].private_per_node;
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

void descriptors_start(struct control *ctl)
{
	if (ctl->other_fds == 0) /* at the start nothing is a client's yet */
		ctl->other_fds = needed(ctl);
	uint64_t others = ctl->other_fds;
	uint64_t clients = ctl->conf->limits.clients;
	uint64_t limit = raise_limit(clients + others + wished(ctl));
	ctl->max_clients = ctl->conf->limits.clients;
	if (limit >= clients + others)
		return;
	ctl->max_clients = limit > others ? (uint32_t)(limit - others) : 1;
	log_warn("control", "file descriptors do not suffice for limits.clients",
		"limit=%llu needed=%llu clients=%u", (unsigned long long)limit,
		(unsigned long long)(clients + others), ctl->max_clients);
}
