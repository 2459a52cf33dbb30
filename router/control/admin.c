/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * The admin port: /metrics for Prometheus, /healthz (the process runs), /readyz (clients are
 * served).
 */

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/err.h"
#include "router/control/control.h"
#include "router/control/control_internal.h"
#include "router/io/sock.h"

#define MAX_HEADERS 8192
#define MAX_BODY 1024

static void send_text(
	struct evhttp_request *req, int code, const char *type, const char *body, size_t len)
{
	struct evbuffer *out = evbuffer_new();
	CHECK(out != NULL);
	(void)evbuffer_add(out, body, len);
	(void)evhttp_add_header(evhttp_request_get_output_headers(req), "Content-Type", type);
	evhttp_send_reply(req, code, code == 200 ? "OK" : "Service Unavailable", out);
	evbuffer_free(out);
}

static void send_line(struct evhttp_request *req, int code, const char *line)
{
	send_text(req, code, "text/plain; charset=utf-8", line, strlen(line));
}

static size_t count_nodes(const struct control *ctl)
{
	size_t n = 0;
	for (size_t p = 0; p < ctl->conf->npools; p++)
		n += ctl->fleets[p]->topology->nnodes;
	return n;
}

static void on_metrics(struct evhttp_request *req, void *arg)
{
	struct control *ctl = arg;
	struct metric_node *nodes = calloc(count_nodes(ctl) + 1, sizeof(*nodes));
	CHECK(nodes != NULL);
	size_t n = 0;
	for (size_t p = 0; p < ctl->conf->npools; p++) {
		const struct fleet *f = ctl->fleets[p];
		for (size_t i = 0; i < f->topology->nnodes; i++)
			nodes[n++] = (struct metric_node){
				.pool = ctl->conf->pools[p].name,
				.node = f->topology->nodes[i].name,
				.address = f->servers[i]->address.text,
				.blocks = f->servers[i]->blocks,
				.workers = ctl->nworkers,
			};
	}
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	CHECK(out != NULL);
	metrics_print(out, ctl->blocks, ctl->nworkers + 1, nodes, n);
	CHECK(fclose(out) == 0);
	send_text(req, 200, "text/plain; version=0.0.4; charset=utf-8", text, size);
	free(text);
	free(nodes);
}

static void on_healthz(struct evhttp_request *req, void *arg)
{
	(void)arg;
	send_line(req, 200, "ok\n");
}

static uint64_t ready_connections(const struct server *s)
{
	uint64_t n = 0;
	for (size_t w = 0; w < s->workers; w++)
		n += atomic_load_explicit(&s->blocks[w].v[NM_CONNECTIONS], memory_order_relaxed);
	return n;
}

/* A pool can serve somebody. */
static bool pool_usable(const struct control *ctl, size_t p)
{
	const struct fleet *f = ctl->fleets[p];
	if (!ctl->conf->pools[p].preconnect)
		return f->topology->nnodes > 0;
	for (size_t i = 0; i < f->topology->nnodes; i++)
		if (ready_connections(f->servers[i]) > 0)
			return true;
	return false;
}

static void on_readyz(struct evhttp_request *req, void *arg)
{
	struct control *ctl = arg;
	char line[300];
	if (ctl->draining) {
		send_line(req, 503, "draining\n");
		return;
	}
	for (size_t p = 0; p < ctl->conf->npools; p++) {
		if (pool_usable(ctl, p))
			continue;
		(void)snprintf(line, sizeof(line), "no usable node in pool %s\n",
			ctl->conf->pools[p].name);
		send_line(req, 503, line);
		return;
	}
	send_line(req, 200, "ready\n");
}

static void on_other(struct evhttp_request *req, void *arg)
{
	(void)arg;
	evhttp_send_error(req, HTTP_NOTFOUND, NULL);
}

static void on_accept_again(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)evconnlistener_enable(arg);
}

/* Without file descriptors the listening socket stays readable: a pause, or the loop would spin. */
static void on_accept_error(struct evconnlistener *l, void *arg)
{
	static const struct timeval pause = {.tv_usec = 100 * 1000};
	(void)arg;
	(void)evconnlistener_disable(l);
	(void)event_base_once(
		evconnlistener_get_base(l), -1, EV_TIMEOUT, on_accept_again, l, &pause);
}

int admin_start(struct control *ctl)
{
	struct sockaddr_any where;
	if (!ctl->conf->admin_given)
		return 0;
	int r = sock_resolve(&where, &ctl->conf->admin);
	int fd = r == 0 ? sock_listen_mode(&where, 64, ctl->conf->unix_socket_mode) : r;
	if (fd < 0) {
		log_error("admin", "cannot listen", "address=%s why=\"%s\"", ctl->conf->admin.text,
			rw_strerror(fd));
		return EXIT_CODE_BIND;
	}
	(void)sock_local(fd, ctl->admin_address, sizeof(ctl->admin_address));
	sock_file_note(&ctl->admin_file, fd);
	ctl->http = evhttp_new(ctl->base);
	CHECK(ctl->http != NULL);
	evhttp_set_allowed_methods(ctl->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
	evhttp_set_max_headers_size(ctl->http, MAX_HEADERS);
	evhttp_set_max_body_size(ctl->http, MAX_BODY);
	struct timeval limit = {.tv_sec = (time_t)(ctl->conf->admin_timeout_ns / NS_PER_S),
		.tv_usec = (suseconds_t)(ctl->conf->admin_timeout_ns % NS_PER_S / NS_PER_US)};
	evhttp_set_timeout_tv(ctl->http, &limit);
	CHECK(evhttp_set_cb(ctl->http, "/metrics", on_metrics, ctl) == 0);
	CHECK(evhttp_set_cb(ctl->http, "/healthz", on_healthz, ctl) == 0);
	CHECK(evhttp_set_cb(ctl->http, "/readyz", on_readyz, ctl) == 0);
	evhttp_set_gencb(ctl->http, on_other, ctl);
	struct evhttp_bound_socket *bound = evhttp_accept_socket_with_handle(ctl->http, fd);
	CHECK(bound != NULL);
	evconnlistener_set_error_cb(evhttp_bound_socket_get_listener(bound), on_accept_error);
	return 0;
}

void admin_stop(struct control *ctl)
{
	sock_file_remove(&ctl->admin_file);
	if (ctl->http != NULL)
		evhttp_free(ctl->http);
	ctl->http = NULL;
}
