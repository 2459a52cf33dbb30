/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "router/io/sock.h"

static char dir[64];
static char path[128];
static char unix_text[160];

static int setup(void **state)
{
	(void)state;
	(void)snprintf(dir, sizeof(dir), "/tmp/test_sock.XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/s", dir);
	(void)snprintf(unix_text, sizeof(unix_text), "unix:%s", path);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(dir);
}

static struct sockaddr_any resolved(const char *text)
{
	struct addr a;
	struct sockaddr_any s;
	const char *why = NULL;
	assert_int_equal(addr_parse(&a, text, &why), 0);
	assert_int_equal(sock_resolve(&s, &a), 0);
	return s;
}

static int option(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);
	assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

static bool writable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	return poll(&p, 1, 5000) == 1;
}

static void addresses_resolve_and_print_as_written(void **state)
{
	static const char *const texts[] = {
		"127.0.0.1:7001", "[::1]:7001", "0.0.0.0:0", "unix:/tmp/x.sock"};
	char buf[256];
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct sockaddr_any s = resolved(texts[i]);
		assert_string_equal(sock_print(&s, buf, sizeof(buf)), texts[i]);
	}
}

static void a_name_that_does_not_resolve_is_an_error(void **state)
{
	struct addr a;
	struct sockaddr_any s;
	const char *why = NULL;
	(void)state;
	assert_int_equal(addr_parse(&a, "no-such-host.invalid:1", &why), 0);
	assert_int_equal(sock_resolve(&s, &a), RW_ERESOLVE);
}

static void a_listener_is_non_blocking_and_not_inherited(void **state)
{
	struct sockaddr_any any = resolved("127.0.0.1:0");
	char buf[64];
	(void)state;
	int fd = sock_listen(&any, 16);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(option(fd, SOL_SOCKET, SO_ACCEPTCONN), 1);
	assert_memory_equal(sock_local(fd, buf, sizeof(buf)), "127.0.0.1:", 10);
	assert_string_not_equal(buf, "127.0.0.1:0");
	assert_string_equal(sock_peer(fd, buf, sizeof(buf)), "?");
	(void)close(fd);
}

static void an_address_in_use_is_an_error(void **state)
{
	struct sockaddr_any any = resolved("127.0.0.1:0");
	(void)state;
	int fd = sock_listen(&any, 16);
	any.len = sizeof(any.storage);
	assert_int_equal(getsockname(fd, &any.sa, &any.len), 0);
	assert_int_equal(sock_listen(&any, 16), -EADDRINUSE);
	(void)close(fd);
}

static void connect_tells_when_it_is_done_and_sets_its_options(void **state)
{
	struct sockaddr_any at = resolved("127.0.0.1:0");
	bool done = false;
	(void)state;
	int listener = sock_listen(&at, 16);
	at.len = sizeof(at.storage);
	assert_int_equal(getsockname(listener, &at.sa, &at.len), 0);
	int fd = sock_connect(&at, &done);
	assert_true(fd >= 0);
	assert_true(writable(fd));
	assert_int_equal(sock_connect_result(fd), 0);
	assert_int_equal(option(fd, IPPROTO_TCP, TCP_NODELAY), 1);
	assert_int_equal(option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	int accepted = accept(listener, NULL, NULL);
	sock_tune_client(accepted);
	assert_int_equal(option(accepted, IPPROTO_TCP, TCP_NODELAY), 1);
	(void)close(accepted);
	(void)close(fd);
	(void)close(listener);
}

static void a_refused_connect_says_so(void **state)
{
	struct sockaddr_any at = resolved("127.0.0.1:0");
	bool done = false;
	(void)state;
	int listener = sock_listen(&at, 16);
	at.len = sizeof(at.storage);
	assert_int_equal(getsockname(listener, &at.sa, &at.len), 0);
	(void)close(listener);
	int fd = sock_connect(&at, &done);
	if (fd >= 0) {
		assert_false(done);
		assert_true(writable(fd));
		assert_int_equal(sock_connect_result(fd), -ECONNREFUSED);
		(void)close(fd);
	} else {
		assert_int_equal(fd, -ECONNREFUSED);
	}
}

static void a_unix_connect_is_done_at_once_or_fails_at_once(void **state)
{
	struct sockaddr_any at = resolved(unix_text);
	bool done = false;
	char buf[256];
	(void)state;
	assert_int_equal(sock_connect(&at, &done), -ENOENT);
	int listener = sock_listen(&at, 16);
	assert_true(listener >= 0);
	int fd = sock_connect(&at, &done);
	assert_true(fd >= 0);
	assert_true(done);
	assert_string_equal(sock_peer(fd, buf, sizeof(buf)), unix_text);
	(void)close(fd);
	(void)close(listener);
}

static void a_socket_file_left_behind_is_taken_over(void **state)
{
	struct sockaddr_any at = resolved(unix_text);
	(void)state;
	int dead = sock_listen(&at, 16);
	assert_true(dead >= 0);
	(void)close(dead); /* the file stays */
	int fd = sock_listen(&at, 16);
	assert_true(fd >= 0);
	(void)close(fd);
}

static void a_unix_address_that_is_served_is_left_alone(void **state)
{
	struct sockaddr_any at = resolved(unix_text);
	bool done = false;
	(void)state;
	int first = sock_listen(&at, 16);
	assert_int_equal(sock_listen(&at, 16), -EADDRINUSE);
	int fd = sock_connect(&at, &done);
	assert_true(fd >= 0 && done);
	(void)close(fd);
	(void)close(first);
}

static void a_file_that_is_no_socket_is_never_removed(void **state)
{
	struct sockaddr_any at = resolved(unix_text);
	struct stat st;
	(void)state;
	int file = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(file >= 0);
	assert_int_equal(write(file, "precious", 8), 8);
	(void)close(file);
	assert_int_equal(sock_listen(&at, 16), -EADDRINUSE);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 8);
}

static void a_busy_listener_does_not_hold_us_up(void **state)
{
	struct sockaddr_any at = resolved(unix_text);
	int waiting[8];
	size_t n = 0;
	bool done = false;
	(void)state;
	int busy = sock_listen(&at, 0); /* nobody accepts here */
	assert_true(busy >= 0);
	while (n < ARRAY_LEN(waiting) && (waiting[n] = sock_connect(&at, &done)) >= 0)
		n++;
	assert_true(n < ARRAY_LEN(waiting)); /* its queue is full */
	(void)alarm(10);                     /* a connect that blocks would never return */
	assert_int_equal(sock_listen(&at, 16), -EADDRINUSE);
	(void)alarm(0);
	while (n > 0)
		(void)close(waiting[--n]);
	(void)close(busy);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(addresses_resolve_and_print_as_written),
		T(a_name_that_does_not_resolve_is_an_error),
		T(a_listener_is_non_blocking_and_not_inherited),
		T(an_address_in_use_is_an_error),
		T(connect_tells_when_it_is_done_and_sets_its_options),
		T(a_refused_connect_says_so),
		T(a_unix_connect_is_done_at_once_or_fails_at_once),
		T(a_socket_file_left_behind_is_taken_over),
		T(a_unix_address_that_is_served_is_left_alone),
		T(a_file_that_is_no_socket_is_never_removed),
		T(a_busy_listener_does_not_hold_us_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
