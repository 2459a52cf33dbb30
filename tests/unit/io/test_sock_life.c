/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "router/io/addresses.h"

static char dir[64];
static char path[100];

static int setup(void **state)
{
	(void)state;
	(void)snprintf(dir, sizeof(dir), "/tmp/test_sock_life.XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/s", dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(dir);
}

static struct sockaddr_any at(const char *text)
{
	struct addr a;
	struct addresses *l = NULL;
	const char *why = NULL;
	assert_int_equal(addr_parse(&a, text, &why), 0);
	assert_int_equal(addresses_of_literal(&l, &a), 0);
	struct sockaddr_any where = l->at[0];
	addresses_unref(l);
	return where;
}

static struct sockaddr_any at_path(void)
{
	char text[128];
	(void)snprintf(text, sizeof(text), "unix:%s", path);
	return at(text);
}

static int option(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);
	assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

static void a_life_becomes_socket_options(void **state)
{
	static const struct {
		struct sock_life life;
		int on, idle, interval, count, unacked_ms;
	} rows[] = {
		{{60 * NS_PER_S, 10 * NS_PER_S, 6, 90 * NS_PER_S}, 1, 60, 10, 6, 90000},
		/* the kernel counts seconds: never less than was said, never 0 */
		{{1, 1, 1, 1}, 1, 1, 1, 1, 1},
		{{1500 * NS_PER_MS, 1, 127, 0}, 1, 2, 1, 127, 0},
		{{100000 * NS_PER_S, 100000 * NS_PER_S, 3, 5000000 * NS_PER_S}, 1, 32767, 32767, 3,
			INT32_MAX},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		assert_true(fd >= 0);
		sock_set_life(fd, &rows[i].life);
		assert_int_equal(option(fd, SOL_SOCKET, SO_KEEPALIVE), rows[i].on);
		assert_int_equal(option(fd, IPPROTO_TCP, TCP_KEEPIDLE), rows[i].idle);
		assert_int_equal(option(fd, IPPROTO_TCP, TCP_KEEPINTVL), rows[i].interval);
		assert_int_equal(option(fd, IPPROTO_TCP, TCP_KEEPCNT), rows[i].count);
		assert_int_equal(option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), rows[i].unacked_ms);
		(void)close(fd);
	}
}

static void no_idle_time_means_no_probes(void **state)
{
	static const struct sock_life life = {.unacked_ns = 5 * NS_PER_S};
	(void)state;
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	assert_true(fd >= 0);
	sock_tune_client(fd);
	assert_int_equal(option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	sock_set_life(fd, &life);
	assert_int_equal(option(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
	assert_int_equal(option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 5000);
	(void)close(fd);
}

static void unix_sockets_and_what_is_no_socket_are_left_alone(void **state)
{
	static const struct sock_life life = {NS_PER_S, NS_PER_S, 3, NS_PER_S};
	(void)state;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_true(fd >= 0);
	sock_set_life(fd, &life);
	assert_int_equal(option(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
	(void)close(fd);
	sock_set_life(-1, &life);
}

static void a_socket_file_gets_its_mode(void **state)
{
	static const struct {
		mode_t umask, mode, want;
	} rows[] = {{077, 0, 0700}, {022, 0, 0755}, {077, 0660, 0660}, {0, 0600, 0600},
		{022, 0777, 0777}};
	struct sockaddr_any where = at_path();
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct stat st;
		mode_t before = umask(rows[i].umask);
		int fd = sock_listen_mode(&where, 16, rows[i].mode);
		(void)umask(before);
		assert_true(fd >= 0);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, rows[i].want);
		(void)close(fd);
	}
}

static void a_mode_means_nothing_to_a_port(void **state)
{
	struct sockaddr_any where = at("127.0.0.1:0");
	struct sock_file f;
	(void)state;
	int fd = sock_listen_mode(&where, 16, 0600);
	assert_true(fd >= 0);
	sock_file_note(&f, fd);
	assert_string_equal(f.path, "");
	sock_file_remove(&f);
	(void)close(fd);
}

static void only_the_own_file_is_removed(void **state)
{
	struct sockaddr_any where = at_path();
	struct sock_file first, second;
	struct stat st;
	(void)state;
	int a = sock_listen(&where, 16);
	assert_true(a >= 0);
	sock_file_note(&first, a);
	assert_string_equal(first.path, path);
	assert_int_equal(unlink(path), 0);
	int b = sock_listen(&where, 16);
	assert_true(b >= 0);
	sock_file_note(&second, b);
	sock_file_remove(&first);
	assert_int_equal(stat(path, &st), 0);
	sock_file_remove(&second);
	assert_int_equal(stat(path, &st), -1);
	sock_file_remove(&second); /* twice is harmless */
	(void)close(a);
	(void)close(b);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_life_becomes_socket_options),
		T(no_idle_time_means_no_probes),
		T(unix_sockets_and_what_is_no_socket_are_left_alone),
		T(a_socket_file_gets_its_mode),
		T(a_mode_means_nothing_to_a_port),
		T(only_the_own_file_is_removed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
