/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include "tests/unit/upstream/bed.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void on_reply(struct part *p, const uint8_t *bytes, size_t n, uint8_t type, bool complete)
{
	struct ask *a = CONTAINER_OF(p, struct ask, part);
	assert_false(a->done || a->dropped || a->failed);
	assert_true(n > 0);
	assert_true(a->type == 0 || a->type == type);
	size_t room = ASK_REPLY_MAX - (a->len < ASK_REPLY_MAX ? a->len : ASK_REPLY_MAX);
	memcpy(a->reply + ASK_REPLY_MAX - room, bytes, n < room ? n : room);
	a->len += n;
	a->pieces++;
	a->type = type;
	a->done = complete;
	assert_true(complete == (p->conn == NULL));
}

static void on_dropped(struct part *p)
{
	struct ask *a = CONTAINER_OF(p, struct ask, part);
	assert_true(p->flags & PART_DROPPED);
	assert_false(a->done || a->dropped || a->failed);
	assert_null(p->conn);
	a->dropped = true;
}

static void on_failed(struct part *p, enum up_why why)
{
	struct ask *a = CONTAINER_OF(p, struct ask, part);
	assert_false(p->flags & PART_DROPPED);
	assert_false(a->done || a->dropped || a->failed);
	assert_null(p->conn);
	if (a->tenant != NULL)
		assert_int_equal(a->tenant->lost, 0);
	a->failed = true;
	a->why = why;
}

static void on_lost(void *tenant, enum up_why why)
{
	struct tenant *t = tenant;
	t->lost++;
	t->why = why;
}

static const struct upstream_ops ops = {
	.reply = on_reply, .dropped = on_dropped, .failed = on_failed, .lost = on_lost};

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg; /* it ends the turn's wait, that is all */
}

struct bed *bed_new(void)
{
	struct bed *b = calloc(1, sizeof(*b));
	const struct timeval ms = {.tv_usec = 1000};
	assert_non_null(b);
	atomic_store(&log_threshold, LOG_ERROR);
	assert_int_equal(loop_init(&b->loop), 0);
	b->room.limit = UINT32_MAX;
	b->env =
		(struct upstream_env){.loop = &b->loop, .ops = &ops, .worker = 0, .room = &b->room};
	rng_seed(&b->env.rng, 1);
	STAILQ_INIT(&b->env.dirty);
	b->opts = (struct upstream_opts){
		.connect_timeout_ns = 2000 * NS_PER_MS,
		.request_timeout_ns = 2000 * NS_PER_MS,
		.backoff_ns = 20 * NS_PER_MS,
		.backoff_max_ns = 100 * NS_PER_MS,
		.retry_share = 0.2,
		.queue = 1000,
		.private_per_node = 8,
		.private_idle_ns = 60 * NS_PER_S,
		.shared_per_node = 16,
		.shared_idle_ns = 60 * NS_PER_S,
	};
	b->timeout_ns = 2000 * NS_PER_MS;
	b->node.fd = -1;
	assert_int_equal(event_assign(&b->tick, b->loop.base, -1, EV_PERSIST, on_tick, NULL), 0);
	assert_int_equal(event_add(&b->tick, &ms), 0);
	return b;
}

static struct server *server_at(const struct addr *a)
{
	char name[] = "node";
	struct topology_node one = {.name = name, .address = *a, .weight_milli = 1000};
	struct topology_spec spec = {
		.epoch = 1, .points = 8, .hash_tag = "", .nodes = &one, .nnodes = 1};
	struct topology *t = NULL;
	assert_int_equal(topology_new(&t, &spec), 0);
	struct fleet *f = fleet_new(t, NULL, 1);
	struct server *s = server_ref(f->servers[0]);
	fleet_unref(f);
	topology_unref(t);
	return s;
}

void bed_start(struct bed *b, bool unix_node)
{
	char address[64] = "127.0.0.1:0";
	if (unix_node) {
		(void)snprintf(b->dir, sizeof(b->dir), "/tmp/test_up.XXXXXX");
		assert_non_null(mkdtemp(b->dir));
		(void)snprintf(address, sizeof(address), "unix:%s/s", b->dir);
	}
	node_open(&b->node, address, bed_pump(b));
	b->server = server_at(&b->node.addr);
	b->up = upstream_new(&b->env, b->server, &b->opts, &b->budget);
	retry_budget_advance(&b->budget, loop_now(&b->loop));
}

void bed_stop(struct bed *b)
{
	if (b->up != NULL)
		assert_true(b->up->held < 1000000);
	upstream_free(b->up);
	b->up = NULL;
}

void bed_free(struct bed *b)
{
	bed_stop(b);
	assert_true(STAILQ_EMPTY(&b->env.dirty));
	assert_int_equal(bed_count(b, NM_INFLIGHT), 0);
	assert_int_equal(bed_count(b, NM_CONNECTIONS), 0);
	assert_int_equal(bed_count(b, NM_LEASED), 0);
	assert_int_equal(b->server->leased, 0);
	assert_int_equal(b->room.used, 0);
	assert_true(LIST_EMPTY(&b->env.extra) && SLIST_EMPTY(&b->env.dead));
	server_unref(b->server);
	node_close(&b->node);
	if (b->dir[0] != 0) {
		(void)unlink(b->node.addr.host);
		assert_int_equal(rmdir(b->dir), 0);
	}
	assert_int_equal(event_del(&b->tick), 0);
	assert_int_equal(b->loop.pool.used, 0);
	loop_fini(&b->loop);
	free(b);
}

void bed_turn(void *bed)
{
	struct bed *b = bed;
	assert_true(loop_turn(&b->loop));
	upstream_flush_all(&b->env);
	retry_budget_advance(&b->budget, loop_now(&b->loop));
}

struct pump bed_pump(struct bed *b)
{
	return (struct pump){.run = bed_turn, .arg = b};
}

/* ---- parts ------------------------------------------------------------------------------------*/

static void ask_init(struct bed *b, struct ask *a, uint8_t flags)
{
	memset(a, 0, sizeof(*a));
	uint64_t now = loop_now(&b->loop);
	a->part.born_ns = now;
	a->part.stuck_ns = now + 3 * b->timeout_ns;
	a->part.flags = flags;
}

void bed_ask_on(struct bed *b, struct ask *a, struct upconn *c, const char *wire, uint8_t flags)
{
	ask_init(b, a, flags);
	upconn_send(c, &a->part, wire, strlen(wire));
}

bool bed_ask_class(
	struct bed *b, struct ask *a, uint16_t class_id, const void *wire, size_t n, uint8_t flags)
{
	ask_init(b, a, flags);
	struct upconn *c = upstream_conn(b->up, class_id, &a->why);
	if (c == NULL)
		return false;
	upconn_send(c, &a->part, wire, n);
	return true;
}

bool bed_ask(struct bed *b, struct ask *a, const char *wire, uint8_t flags)
{
	return bed_ask_class(b, a, 0, wire, strlen(wire), flags);
}

void ask_drop(struct ask *a)
{
	a->part.flags |= PART_DROPPED;
}

void ask_got(const struct ask *a, const char *want)
{
	assert_false(a->failed);
	assert_true(a->done);
	assert_string_equal(a->reply, want);
	assert_int_equal(a->len, strlen(want));
	assert_int_equal(a->type, want[0]);
}

void ask_failed(const struct ask *a, enum up_why why, bool sent)
{
	assert_true(a->failed);
	assert_int_equal(a->why, why);
	assert_int_equal((a->part.flags & PART_SENT) != 0, sent);
}

uint64_t bed_count(const struct bed *b, enum node_metric m)
{
	return node_metric_sum(b->server->blocks, 1, m);
}
