/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

/*
 * The whole data path against a model.  Clients send random commands in random pieces and take
 * their replies when they like; nodes, played here too, answer in random pieces.  What a node would
 * answer follows from the keys alone, so the model knows every reply before it comes.
 *
 * Calm weather: each client gets exactly the replies that one server would give, in order, and each
 * node gets only its own keys, each client's in order.  Storm: connections break at any moment; then
 * a reply is what it should be, or says that the node is unavailable, or its client is closed.
 * After both nothing is left: no buffer, no request.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/rand.h"
#include "tests/unit/core/bed.h"

#define KEYS 60
#define CLIENTS 5
#define CONNS 128
#define LARGE_VALUE 90000
#define STEPS 6000
#define OUTSTANDING 40

static struct pump asleep;

/* ---- bytes ------------------------------------------------------------------------------------*/

struct bytes {
	uint8_t *ptr;
	size_t len, cap;
};

static void put(struct bytes *b, const void *from, size_t n)
{
	if (b->len + n > b->cap) {
		b->cap = 2 * (b->len + n);
		b->ptr = realloc(b->ptr, b->cap);
		assert_non_null(b->ptr);
	}
	memcpy(b->ptr + b->len, from, n);
	b->len += n;
}

static void put_text(struct bytes *b, const char *text)
{
	put(b, text, strlen(text));
}

static void put_bulk(struct bytes *b, struct span s)
{
	char head[32];
	put(b, head, (size_t)snprintf(head, sizeof(head), "$%zu\r\n", s.len));
	put(b, s.ptr, s.len);
	put_text(b, "\r\n");
}

static void drop(struct bytes *b, size_t n)
{
	memmove(b->ptr, b->ptr + n, b->len - n);
	b->len -= n;
}

static void bytes_free(struct bytes *b)
{
	free(b->ptr);
	*b = (struct bytes){0};
}

/* Sends at most `most` of what waits.  False: the connection is gone. */
static bool send_some(int fd, struct bytes *b, size_t most)
{
	if (b->len == 0)
		return true;
	ssize_t n = send(fd, b->ptr, b->len < most ? b->len : most, MSG_NOSIGNAL);
	if (n > 0)
		drop(b, (size_t)n);
	return n > 0 || errno == EAGAIN;
}

static bool read_some(int fd, struct bytes *b, size_t most)
{
	static uint8_t buf[300000];
	ssize_t n = recv(fd, buf, most < sizeof(buf) ? most : sizeof(buf), 0);
	if (n > 0)
		put(b, buf, (size_t)n);
	return n > 0 || (n < 0 && errno == EAGAIN);
}

static size_t some_size(struct rng *r)
{
	switch (rng_below(r, 6)) {
	case 0:
		return 1 + rng_below(r, 3);
	case 1:
	case 2:
		return 1 + rng_below(r, 100);
	case 3:
		return 1 + rng_below(r, 5000);
	default:
		return 300000;
	}
}

/* ---- what a server would answer ---------------------------------------------------------------*/

struct model {
	struct core *t;
	struct rng rng;
	bool storm;
	char keys[KEYS][8];
	uint32_t owners[KEYS];
	struct bytes values[KEYS]; /* as bulks, or nil */
};

static bool is_bad(size_t key)
{
	return key % 20 == 19; /* of the wrong type: an error names the key */
}

static void make_world(struct model *m)
{
	static const size_t sizes[] = {0, 1, 5, 40, 70, 200, 600, 3000, 20000, 60000, 200000};
	for (size_t k = 0; k < KEYS; k++) {
		(void)snprintf(m->keys[k], sizeof(m->keys[k]), "k%zu", k);
		m->owners[k] = topology_owner(m->t->topology, span_str(m->keys[k]));
		if (k % 7 == 6) {
			put_text(&m->values[k], "$-1\r\n");
			continue;
		}
		size_t n = k % 3 == 0 ? sizes[rng_below(&m->rng, ARRAY_LEN(sizes))] : k;
		uint8_t *value = malloc(n + 1);
		for (size_t i = 0; i < n; i++)
			value[i] = (uint8_t)rng_u64(&m->rng);
		put_bulk(&m->values[k], span_of(value, n));
		free(value);
	}
}

static size_t key_at(const struct model *m, struct span s)
{
	char text[8] = "";
	assert_true(s.len > 1 && s.len < sizeof(text));
	memcpy(text, s.ptr, s.len);
	size_t k = (size_t)atoi(text + 1);
	assert_true(k < KEYS && strcmp(m->keys[k], text) == 0);
	return k;
}

/* The reply to a command over these keys.  Of errors at several nodes the first node's counts. */
static void answer_keys(struct model *m, char kind, const size_t *keys, size_t n, struct bytes *to)
{
	char text[64];
	for (uint32_t o = 0; o < CORE_NODES; o++)
		for (size_t i = 0; i < n; i++)
			if (is_bad(keys[i]) && m->owners[keys[i]] == o) {
				put(to, text,
					(size_t)snprintf(text, sizeof(text), "-WRONGTYPE %s\r\n",
						m->keys[keys[i]]));
				return;
			}
	if (kind == 'S')
		put_text(to, "+OK\r\n");
	if (kind == 'D')
		put(to, text, (size_t)snprintf(text, sizeof(text), ":%zu\r\n", n));
	if (kind == 'M')
		put(to, text, (size_t)snprintf(text, sizeof(text), "*%zu\r\n", n));
	if (kind == 'M' || kind == 'G')
		for (size_t i = 0; i < n; i++)
			put(to, m->values[keys[i]].ptr, m->values[keys[i]].len);
}

/* ---- nodes ------------------------------------------------------------------------------------*/

struct conn {
	int fd; /* -1: none */
	uint32_t node;
	struct bytes in, out;
	struct resp_request scan;
};

/* Number of the last SET of each client that each node has seen. */
struct order {
	unsigned seen[CLIENTS + 1000][CORE_NODES];
};

static struct conn conns[CONNS];
static struct order order;

static void conn_close(struct conn *c)
{
	(void)close(c->fd);
	bytes_free(&c->in);
	bytes_free(&c->out);
	*c = (struct conn){.fd = -1};
}

/* "client-number": greater than the one before. */
static void check_order(struct span value, uint32_t node)
{
	unsigned client = 0, number = 0;
	char text[32] = "";
	memcpy(text, value.ptr, value.len < sizeof(text) - 1 ? value.len : sizeof(text) - 1);
	assert_int_equal(sscanf(text, "%u-%u", &client, &number), 2);
	assert_true(number > order.seen[client][node]);
	order.seen[client][node] = number;
}

/* What sort of reply a command has: S +OK, G a value, M values, D a count. */
static char kind_of(struct span name)
{
	if (span_eq_nocase(name, SPAN("SET")) || span_eq_nocase(name, SPAN("MSET")))
		return 'S';
	if (span_eq_nocase(name, SPAN("GET")))
		return 'G';
	return span_eq_nocase(name, SPAN("MGET")) ? 'M' : 'D';
}

static void node_answers(struct model *m, struct conn *c, const struct resp_args *a)
{
	size_t keys[64];
	size_t n = 0;
	char kind = kind_of(a->v[0]);
	if (span_eq_nocase(a->v[0], SPAN("SELECT"))) {
		put_text(&c->out, "+OK\r\n");
		return;
	}
	if (span_eq_nocase(
		    a->v[0], SPAN("CLIENT"))) { /* ID: the greeting of a private connection */
		put_text(&c->out, ":7\r\n");
		return;
	}
	bool pairs = span_eq_nocase(a->v[0], SPAN("MSET"));
	bool one = span_eq_nocase(a->v[0], SPAN("SET")) || span_eq_nocase(a->v[0], SPAN("GET"));
	for (size_t i = 1; i < (one ? 2 : a->n); i += pairs ? 2 : 1) {
		keys[n] = key_at(m, a->v[i]);
		assert_int_equal(m->owners[keys[n]], c->node); /* its own keys only */
		n++;
	}
	if (one && kind == 'S' && !m->storm)
		check_order(a->v[2], c->node);
	answer_keys(m, kind, keys, n, &c->out);
}

static void node_reads(struct model *m, struct conn *c)
{
	static struct resp_args args;
	while (c->in.len > 0) {
		enum resp_status st = resp_request_scan(&c->scan, c->in.ptr, c->in.len, &args);
		assert_int_not_equal(st, RESP_BAD);
		if (st != RESP_DONE)
			break;
		size_t len = c->scan.pos;
		if (!c->scan.split_done)
			resp_request_split(c->in.ptr, len, &args);
		assert_false(c->scan.inline_form || c->scan.loose);
		node_answers(m, c, &args);
		drop(&c->in, len);
		resp_request_reset(&c->scan);
	}
}

static void step_nodes(struct model *m)
{
	unsigned accepts = 0;
	for (size_t i = 0; i < CONNS; i++) {
		struct conn *c = &conns[i];
		if (c->fd < 0 && accepts++ >= 4)
			continue;
		if (c->fd < 0) {
			uint32_t node = rng_below(&m->rng, CORE_NODES);
			c->fd = accept4(m->t->nodes[node].fd, NULL, NULL, SOCK_NONBLOCK);
			c->node = node;
			continue;
		}
		bool alive = read_some(c->fd, &c->in, some_size(&m->rng));
		node_reads(m, c);
		if (alive && rng_below(&m->rng, 2) == 0)
			alive = send_some(c->fd, &c->out, some_size(&m->rng));
		if (!alive || (m->storm && rng_below(&m->rng, 3000) == 0)) {
			/* a client that leaves takes its private connection along */
			assert_true(m->storm || m->t->limits.bulk < LARGE_VALUE);
			conn_close(c);
		}
	}
}

/* ---- clients ----------------------------------------------------------------------------------*/

struct one {
	int fd;
	unsigned id, number;
	struct bytes out, in;
	struct bytes due[OUTSTANDING]; /* a ring: replies that must come */
	unsigned head, count;
};

static struct one clients[CLIENTS];
static unsigned next_id;

static void client_open(struct model *m, struct one *c)
{
	static const int buffers[] = {0, 0, 4096, 30000};
	*c = (struct one){.id = next_id++};
	assert_true(next_id < ARRAY_LEN(order.seen));
	c->fd = core_client(m->t, 0, buffers[rng_below(&m->rng, ARRAY_LEN(buffers))]).fd;
}

static void client_gone(struct one *c)
{
	(void)close(c->fd);
	bytes_free(&c->out);
	bytes_free(&c->in);
	for (; c->count > 0; c->count--)
		bytes_free(&c->due[c->head++ % OUTSTANDING]);
}

static struct bytes *next_due(struct one *c)
{
	return &c->due[(c->head + c->count++) % OUTSTANDING];
}

static void put_args(struct one *c, const struct span *args, size_t n)
{
	char head[32];
	put(&c->out, head, (size_t)snprintf(head, sizeof(head), "*%zu\r\n", n));
	for (size_t i = 0; i < n; i++)
		put_bulk(&c->out, args[i]);
}

static void ask_keys(struct model *m, struct one *c, const char *name, size_t n)
{
	char kind = kind_of(span_str(name));
	struct span args[1 + 2 * 8] = {span_str(name)};
	size_t keys[8];
	size_t nargs = 1;
	for (size_t i = 0; i < n; i++) {
		keys[i] = rng_below(&m->rng, KEYS);
		args[nargs++] = span_str(m->keys[keys[i]]);
		if (name[0] == 'M' && kind == 'S')
			args[nargs++] = SPAN("some value");
	}
	put_args(c, args, nargs);
	answer_keys(m, kind, keys, n, next_due(c));
}

static void ask_set(struct model *m, struct one *c)
{
	static char value[100000];
	size_t key = rng_below(&m->rng, KEYS);
	size_t len = (size_t)snprintf(value, sizeof(value), "%u-%u ", c->id, ++c->number);
	if (rng_below(&m->rng, 10) == 0) {
		size_t more = rng_below(&m->rng, LARGE_VALUE);
		memset(value + len, 'v', more);
		len += more;
	}
	const struct span args[3] = {SPAN("SET"), span_str(m->keys[key]), span_of(value, len)};
	put_args(c, args, 3);
	answer_keys(m, 'S', &key, 1, next_due(c));
}

static void ask_something(struct model *m, struct one *c)
{
	static const char *const counts[] = {"DEL", "UNLINK", "EXISTS", "TOUCH"};
	size_t key = rng_below(&m->rng, KEYS);
	char line[32];
	switch (rng_below(&m->rng, 12)) {
	case 0:
		put_text(&c->out, "PING\r\n");
		put_text(next_due(c), "+PONG\r\n");
		break;
	case 1:
		put(&c->out, line,
			(size_t)snprintf(line, sizeof(line), "get %s\r\n", m->keys[key]));
		answer_keys(m, 'G', &key, 1, next_due(c));
		break;
	case 2:
		put(&c->out, line,
			(size_t)snprintf(
				line, sizeof(line), "SELECT %u\r\n", rng_below(&m->rng, 3)));
		put_text(next_due(c), "+OK\r\n");
		break;
	case 3:
	case 4:
		ask_set(m, c);
		break;
	case 5:
	case 6:
		ask_keys(m, c, "GET", 1);
		break;
	case 7:
	case 8:
		ask_keys(m, c, counts[rng_below(&m->rng, 4)], 1 + rng_below(&m->rng, 8));
		break;
	case 9:
		ask_keys(m, c, "MSET", 1 + rng_below(&m->rng, 8));
		break;
	default:
		ask_keys(m, c, "MGET", 1 + rng_below(&m->rng, 8));
		break;
	}
}

static bool is_unavailable(const struct bytes *in, size_t n)
{
	static const char start[] = "-UNAVAILABLE node '";
	return n > sizeof(start) && memcmp(in->ptr, start, sizeof(start) - 1) == 0;
}

/* Whole replies that have come are the ones that are due. */
static void check_replies(const struct model *m, struct one *c)
{
	while (c->in.len > 0 && c->count > 0) {
		struct resp_reply scan = {0};
		size_t n = 0;
		enum resp_status st = resp_reply_scan(&scan, c->in.ptr, c->in.len, &n);
		assert_int_not_equal(st, RESP_BAD);
		if (st != RESP_DONE)
			return;
		struct bytes *due = &c->due[c->head % OUTSTANDING];
		if (!m->storm || !is_unavailable(&c->in, n)) {
			assert_int_equal(n, due->len);
			assert_memory_equal(c->in.ptr, due->ptr, n);
		}
		drop(&c->in, n);
		bytes_free(due);
		c->head++;
		c->count--;
	}
	assert_int_equal(c->in.len, 0);
}

static void step_client(struct model *m, struct one *c, bool asks)
{
	if (asks && c->count < OUTSTANDING && rng_below(&m->rng, 2) == 0)
		ask_something(m, c);
	bool alive = send_some(c->fd, &c->out, some_size(&m->rng));
	if (alive && (!asks || rng_below(&m->rng, 3) > 0))
		alive = read_some(c->fd, &c->in, some_size(&m->rng));
	check_replies(m, c);
	assert_true(alive || m->storm);
	if (!alive || (asks && rng_below(&m->rng, 1000) == 0)) {
		client_gone(c);
		client_open(m, c);
	}
}

static bool all_answered(struct model *m)
{
	unsigned due = 0;
	for (int k = 0; k < 20; k++) {
		step_nodes(m);
		due = 0;
		for (size_t i = 0; i < CLIENTS; i++) {
			step_client(m, &clients[i], false);
			due += clients[i].count;
		}
	}
	return due == 0;
}

static bool nothing_left(struct model *m)
{
	step_nodes(m);
	struct core_state s = core_state(m->t);
	return s.buffers == 0 && s.requests == 0 && s.clients == 0;
}

/* ---- weather ----------------------------------------------------------------------------------*/

static int setup(void **state)
{
	*state = core_new();
	return 0;
}

static int teardown(void **state)
{
	core_free(*state);
	return 0;
}

static void run(struct core *t, uint64_t seed, bool storm)
{
	struct model m = {.t = t, .storm = storm};
	rng_seed(&m.rng, seed);
	memset(&order, 0, sizeof(order));
	next_id = 0;
	make_world(&m);
	for (size_t i = 0; i < CONNS; i++)
		conns[i] = (struct conn){.fd = -1};
	for (size_t i = 0; i < CLIENTS; i++)
		client_open(&m, &clients[i]);
	for (int i = 0; i < STEPS; i++) {
		step_nodes(&m);
		step_client(&m, &clients[i % CLIENTS], true);
	}
	PUMP_UNTIL(&asleep, all_answered(&m));
	for (size_t i = 0; i < CLIENTS; i++)
		client_gone(&clients[i]);
	PUMP_UNTIL(&asleep, nothing_left(&m));
	for (size_t i = 0; i < CONNS; i++)
		if (conns[i].fd >= 0)
			conn_close(&conns[i]);
	for (size_t k = 0; k < KEYS; k++)
		bytes_free(&m.values[k]);
}

static void in_calm_weather_every_reply_is_the_right_one(void **state)
{
	struct core *t = *state;
	t->limits.pipeline = 16;
	core_start(t);
	run(t, 1, false);
	assert_int_equal(core_count(t, M_ERRORS_UNAVAILABLE), 0);
}

static void one_at_a_time_too(void **state)
{
	struct core *t = *state;
	t->limits.pipeline = 1;
	core_start(t);
	run(t, 2, false);
}

static void set_private(struct core *t)
{
	t->limits.bulk = 2000; /* well below LARGE_VALUE: large SETs are streamed */
	t->pools[0].upstream.private_per_node = 100;
	t->pools[0].upstream.private_idle_ns = NS_PER_S;
}

static void large_requests_go_by_in_their_turn(void **state)
{
	struct core *t = *state;
	t->limits.pipeline = 16;
	set_private(t);
	core_start(t);
	run(t, 7, false);
	/* one that is there whole when its turn comes is not streamed: luck decides how many are */
	for (uint64_t seed = 100; core_count(t, M_REQUESTS_STREAMED) == 0 && seed < 130; seed++)
		run(t, seed, false);
	assert_int_equal(core_count(t, M_ERRORS_UNAVAILABLE), 0);
	assert_true(core_count(t, M_REQUESTS_STREAMED) > 0);
}

/* ms: of a request, and until its connection is stuck. */
static void set_times(struct core *t, unsigned request, unsigned stuck)
{
	struct pool_opts *o = &t->pools[0];
	o->timeout_ns[DEADLINE_REQUEST] = request * NS_PER_MS;
	o->upstream.request_timeout_ns = request * NS_PER_MS;
	o->stuck_floor_ns = stuck * NS_PER_MS;
	o->upstream.backoff_ns = o->upstream.backoff_max_ns = NS_PER_MS;
}

static uint64_t sum_of_nodes(const struct core *t, enum node_metric what)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < CORE_NODES; i++)
		sum += core_node_count(t, i, what);
	return sum;
}

/* How the machine schedules has its part in a storm: on to the next one until this was no calm. */
static void storms(struct core *t, uint64_t seed, bool (*happened)(const struct core *))
{
	uint64_t last = seed + 30;
	run(t, seed++, true);
	do
		run(t, seed++, true);
	while (!happened(t) && seed < last);
	assert_true(happened(t));
}

static bool everything_happened(const struct core *t)
{
	return core_count(t, M_ERRORS_UNAVAILABLE) > 0 && core_count(t, M_ERRORS_TIMEOUT) > 0 &&
	       core_count(t, M_CLIENTS_CLOSED_OUTPUT) > 0 && sum_of_nodes(t, NM_LATE_REPLIES) > 0 &&
	       sum_of_nodes(t, NM_DISCONNECTS) > 0;
}

static bool something_was_sent_again(const struct core *t)
{
	return sum_of_nodes(t, NM_RETRIES) > 0;
}

static void in_a_storm_nobody_gets_what_is_anothers(void **state)
{
	struct core *t = *state;
	set_times(t, 30, 60);
	t->pools[0].upstream.preconnect = true;
	t->limits.output = 300000; /* who is slow is closed as well */
	core_start(t);
	storms(t, 3, everything_happened);
}

static void in_a_storm_with_second_attempts_neither(void **state)
{
	struct core *t = *state;
	set_times(t, 100, 300);
	t->pools[0].upstream.retries = 3;
	t->pools[0].upstream.retry_share = 1.0;
	core_start(t);
	storms(t, 5, something_was_sent_again);
}

static bool something_was_streamed(const struct core *t)
{
	return core_count(t, M_REQUESTS_STREAMED) > 0;
}

static void in_a_storm_large_requests_neither(void **state)
{
	struct core *t = *state;
	set_times(t, 50, 150);
	set_private(t);
	core_start(t);
	storms(t, 8, something_was_streamed);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(in_calm_weather_every_reply_is_the_right_one),
		T(one_at_a_time_too),
		T(in_a_storm_nobody_gets_what_is_anothers),
		T(in_a_storm_with_second_attempts_neither),
		T(large_requests_go_by_in_their_turn),
		T(in_a_storm_large_requests_neither),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
