/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "router/io/sendq.h"
#include "tests/unit/base/child.h"

static struct bufpool pool;
static struct sendq q;
static int fd, peer;

static int setup(void **state)
{
	int fds[2];
	(void)state;
	memset(&q, 0, sizeof(q));
	bufpool_init(&pool, 1u << 20);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) < 0)
		return -1;
	fd = fds[0];
	peer = fds[1];
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sendq_clear(&pool, &q);
	bufpool_fini(&pool);
	(void)close(fd);
	(void)close(peer);
	return 0;
}

static void queue(const char *text)
{
	sendq_append(&pool, &q, text, strlen(text));
}

static void peer_gets(const char *want)
{
	char got[256];
	ssize_t n = recv(peer, got, sizeof(got), 0);
	assert_int_equal(n, strlen(want));
	assert_memory_equal(got, want, strlen(want));
}

static void flush_gives(bool keep, enum sendq_result want, size_t want_bytes)
{
	size_t n = 99;
	assert_int_equal(sendq_flush(&pool, &q, fd, keep, &n), want);
	assert_int_equal(n, want_bytes);
}

static void an_empty_queue_writes_nothing(void **state)
{
	(void)state;
	flush_gives(false, SENDQ_EMPTY, 0);
	flush_gives(true, SENDQ_EMPTY, 0);
	assert_int_equal(recv(peer, &(char){0}, 1, 0), -1);
}

static void without_keep_nothing_is_held_after_sending(void **state)
{
	(void)state;
	queue("hello");
	flush_gives(false, SENDQ_EMPTY, 5);
	peer_gets("hello");
	assert_int_equal(sendq_held(&q), 0);
	assert_int_equal(pool.used, 0);
}

static void kept_bytes_are_not_sent_again(void **state)
{
	(void)state;
	queue("one");
	flush_gives(true, SENDQ_EMPTY, 3);
	flush_gives(true, SENDQ_EMPTY, 0);
	queue("two"); /* into the same chunk */
	flush_gives(true, SENDQ_EMPTY, 3);
	peer_gets("onetwo");
	assert_int_equal(sendq_held(&q), 6);
}

static void an_ack_in_the_middle_of_a_chunk_leaves_the_cursor_where_it_is(void **state)
{
	(void)state;
	queue("abcd");
	flush_gives(true, SENDQ_EMPTY, 4);
	queue("ef");
	sendq_ack(&pool, &q, 3); /* "d" is sent and held, "ef" is not sent */
	assert_int_equal(sendq_held(&q), 3);
	flush_gives(true, SENDQ_EMPTY, 2);
	peer_gets("abcdef");
	sendq_ack(&pool, &q, 3);
	assert_int_equal(pool.used, 0);
}

static void an_ack_up_to_the_cursor_goes_on_with_what_follows(void **state)
{
	(void)state;
	queue("abc");
	flush_gives(true, SENDQ_EMPTY, 3);
	queue("def");
	sendq_ack(&pool, &q, 3);
	flush_gives(true, SENDQ_EMPTY, 3);
	peer_gets("abcdef");
}

static void a_full_socket_says_so_and_the_rest_goes_later(void **state)
{
	enum { LARGE = 1 << 20 };
	static uint8_t bytes[LARGE], got[LARGE];
	(void)state;
	for (size_t i = 0; i < LARGE; i++)
		bytes[i] = (uint8_t)(i * 31 >> 3);
	sendq_append(&pool, &q, bytes, LARGE);
	size_t sent = 0, seen = 0, n = 0;
	assert_int_equal(sendq_flush(&pool, &q, fd, true, &n), SENDQ_FULL);
	assert_true(n > 0 && n < LARGE);
	assert_int_equal(q.unsent, LARGE - n);
	for (sent = n; seen < LARGE; sent += n) {
		ssize_t got_now = recv(peer, got + seen, LARGE - seen, 0);
		seen += got_now > 0 ? (size_t)got_now : 0;
		assert_int_not_equal(sendq_flush(&pool, &q, fd, true, &n), SENDQ_ERROR);
	}
	assert_int_equal(sent, LARGE);
	assert_memory_equal(got, bytes, LARGE);
	assert_int_equal(sendq_held(&q), LARGE); /* nothing was acked */
}

static void more_pieces_than_one_call_takes_all_go(void **state)
{
	char got[200 * 600];
	size_t seen = 0;
	(void)state;
	for (int i = 0; i < 200; i++) {
		struct chunk *k = chunk_take(&pool, 600);
		memset(k->data, 'a' + i % 26, 600);
		k->end = 600;
		sendq_push(&pool, &q, k);
	}
	flush_gives(true, SENDQ_EMPTY, sizeof(got));
	for (ssize_t n; seen < sizeof(got); seen += (size_t)n) {
		n = recv(peer, got + seen, sizeof(got) - seen, 0);
		assert_true(n > 0);
	}
	for (int i = 0; i < 200; i++)
		assert_int_equal(got[i * 600 + 599], 'a' + i % 26);
}

static void a_lost_connection_is_an_error_not_a_signal(void **state)
{
	(void)state;
	(void)shutdown(peer, SHUT_RDWR);
	queue("x");
	flush_gives(false, SENDQ_ERROR, 0);
	assert_int_equal(q.unsent, 1);
}

static void ack_too_much(void)
{
	queue("abc");
	sendq_ack(&pool, &q, 1);
}

static void acking_what_was_not_sent_is_a_bug(void **state)
{
	char said[4096];
	(void)state;
	assert_true(child_aborts(ack_too_much, said, sizeof(said)));
	assert_non_null(strstr(said, "sendq_ack"));
}

static void a_cleared_queue_starts_anew(void **state)
{
	(void)state;
	queue("abc");
	flush_gives(true, SENDQ_EMPTY, 3);
	queue("lost");
	sendq_clear(&pool, &q);
	assert_int_equal(pool.used, 0);
	queue("new");
	flush_gives(true, SENDQ_EMPTY, 3);
	peer_gets("abcnew");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_empty_queue_writes_nothing),
		T(without_keep_nothing_is_held_after_sending),
		T(kept_bytes_are_not_sent_again),
		T(an_ack_in_the_middle_of_a_chunk_leaves_the_cursor_where_it_is),
		T(an_ack_up_to_the_cursor_goes_on_with_what_follows),
		T(a_full_socket_says_so_and_the_rest_goes_later),
		T(more_pieces_than_one_call_takes_all_go),
		T(a_lost_connection_is_an_error_not_a_signal),
		T(acking_what_was_not_sent_is_a_bug),
		T(a_cleared_queue_starts_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
