/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * Listening sockets.  One thread accepts for all workers and gives each client to the worker
 * that has the fewest: few long-lived clients spread evenly, which SO_REUSEPORT does not do.
 */

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/err.h"
#include "router/control/control.h"
#include "router/control/control_internal.h"
#include "router/io/sock.h"

#define BACKLOG 4096

/* Clients taken in one go before other events have their turn. */
#define ACCEPTS_PER_WAKE 64

/* Pause after an accept that failed for want of something. */
static const struct timeval retry_pause = {.tv_usec = 100 * 1000};

static void refuse(int fd, const char *line)
{
	(void)send(fd, line, strlen(line), MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)close(fd);
}

static struct worker *fewest(struct control *ctl)
{
	struct worker *best = ctl->workers[0];
	uint32_t least = UINT32_MAX;
	for (size_t i = 0; i < ctl->nworkers; i++) {
		uint32_t n = atomic_load_explicit(&ctl->workers[i]->nclients, memory_order_relaxed);
		if (n < least) {
			least = n;
			best = ctl->workers[i];
		}
	}
	return best;
}

static uint32_t all_clients(struct control *ctl)
{
	uint32_t n = 0;
	for (size_t i = 0; i < ctl->nworkers; i++)
		n += atomic_load_explicit(&ctl->workers[i]->nclients, memory_order_relaxed);
	return n;
}

static void take(struct listener *l, int fd)
{
	struct control *ctl = l->control;
	if (all_clients(ctl) >= ctl->max_clients) {
		metric_add(ctl->m, M_CLIENTS_REFUSED, 1);
		refuse(fd, "-ERR max number of clients reached\r\n");
		return;
	}
	struct sock_life life = life_of(&ctl->conf->keepalive);
	sock_tune_client(fd);
	sock_set_life(fd, &life);
	metric_add(ctl->m, M_CLIENTS_ACCEPTED, 1);
	worker_add_client(fewest(ctl), l->pool, fd, ++ctl->next_client_id, l->behind_proxy);
}

static void keep_reserve(struct control *ctl)
{
	if (ctl->reserve_fd < 0)
		ctl->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/*
 * No file descriptors: one kept for this lets us say so instead of leaving the client hanging.
 * Another thread may snatch it; then the client waits until there are some again.
 */
static void out_of_fds(struct listener *l)
{
	struct control *ctl = l->control;
	if (ctl->reserve_fd >= 0)
		(void)close(ctl->reserve_fd);
	ctl->reserve_fd = -1;
	int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0) {
		metric_add(ctl->m, M_CLIENTS_REFUSED, 1);
		refuse(fd, "-ERR max number of clients reached\r\n");
	}
	keep_reserve(ctl);
}

static void pause_accepting(struct listener *l)
{
	(void)event_del(&l->accept_event);
	(void)evtimer_add(&l->retry_timer, &retry_pause);
}

static void on_retry(evutil_socket_t fd, short what, void *arg)
{
	struct listener *l = arg;
	(void)fd;
	(void)what;
	if (l->control->draining)
		return;
	keep_reserve(l->control);
	(void)event_add(&l->accept_event, NULL);
}

static void accept_failed(struct listener *l, int err)
{
	metric_add(l->control->m, M_ACCEPT_ERRORS, 1);
	uint32_t unsaid = 0;
	if (log_rate_pass(&l->complaints, clock_ns(), NS_PER_S, &unsaid))
		log_warn("accept", "accept failed", "listener=%s why=\"%s\" unsaid=%u", l->address,
			rw_strerror(-err), unsaid);
	if (err == EMFILE || err == ENFILE)
		out_of_fds(l);
	pause_accepting(l);
}

static void on_accept(evutil_socket_t listen_fd, short what, void *arg)
{
	struct listener *l = arg;
	(void)listen_fd;
	(void)what;
	for (int i = 0; i < ACCEPTS_PER_WAKE; i++) {
		int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			take(l, fd);
			continue;
		}
		if (errno == EINTR || errno == ECONNABORTED)
			continue;
		if (errno != EAGAIN)
			accept_failed(l, errno);
		return;
	}
}

/* `l` has its control and pool. */
static int listener_open(struct listener *l, const struct addr *a)
{
	struct control *ctl = l->control;
	struct sockaddr_any where;
	int r = sock_resolve(&where, a);
	l->fd = r == 0 ? sock_listen_mode(&where, BACKLOG, ctl->conf->unix_socket_mode) : r;
	if (l->fd < 0) {
		log_error("accept", "cannot listen", "address=%s why=\"%s\"", a->text,
			rw_strerror(l->fd));
		return EXIT_CODE_BIND;
	}
	(void)sock_local(l->fd, l->address, sizeof(l->address));
	sock_file_note(&l->file, l->fd);
	CHECK(event_assign(
		      &l->accept_event, ctl->base, l->fd, EV_READ | EV_PERSIST, on_accept, l) == 0);
	CHECK(evtimer_assign(&l->retry_timer, ctl->base, on_retry, l) == 0);
	(void)event_add(&l->accept_event, NULL);
	return 0;
}

int acceptor_start(struct control *ctl)
{
	size_t n = 0;
	for (size_t p = 0; p < ctl->conf->npools; p++)
		n += ctl->conf->pools[p].nlisten;
	ctl->listeners = calloc(n + 1, sizeof(*ctl->listeners));
	CHECK(ctl->listeners != NULL);
	keep_reserve(ctl);
	for (size_t p = 0; p < ctl->conf->npools; p++) {
		const struct conf_pool *pool = &ctl->conf->pools[p];
		for (size_t i = 0; i < pool->nlisten; i++) {
			struct listener *l = &ctl->listeners[ctl->nlisteners];
			l->control = ctl;
			l->pool = (uint32_t)p;
			l->behind_proxy = pool->listen[i].proxy;
			int r = listener_open(l, &pool->listen[i].address);
			if (r != 0)
				return r;
			ctl->nlisteners++;
		}
	}
	return 0;
}

void acceptor_stop(struct control *ctl)
{
	for (size_t i = 0; i < ctl->nlisteners; i++) {
		struct listener *l = &ctl->listeners[i];
		if (l->fd < 0)
			continue;
		(void)event_del(&l->accept_event);
		(void)evtimer_del(&l->retry_timer);
		sock_file_remove(&l->file); /* first: a new router may come at once */
		(void)close(l->fd);
		l->fd = -1;
	}
	if (ctl->reserve_fd >= 0)
		(void)close(ctl->reserve_fd);
	ctl->reserve_fd = -1;
}
