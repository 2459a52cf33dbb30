/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/io/sock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/err.h"

static int resolve_unix(struct sockaddr_any *ret, const char *path)
{
	memset(ret, 0, sizeof(*ret));
	ret->un.sun_family = AF_UNIX;
	CHECK(strlen(path) < sizeof(ret->un.sun_path));
	memcpy(ret->un.sun_path, path, strlen(path) + 1);
	ret->len = sizeof(ret->un);
	return 0;
}

int sock_resolve(struct sockaddr_any *ret, const struct addr *a)
{
	if (a->family == ADDR_UNIX)
		return resolve_unix(ret, a->host);
	char port[8];
	(void)snprintf(port, sizeof(port), "%u", a->port);
	struct addrinfo hints = {
		.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	struct addrinfo *list = NULL;
	if (getaddrinfo(a->host, port, &hints, &list) != 0 || list == NULL)
		return RW_ERESOLVE;
	memset(ret, 0, sizeof(*ret));
	memcpy(&ret->storage, list->ai_addr, list->ai_addrlen);
	ret->len = list->ai_addrlen;
	freeaddrinfo(list);
	return 0;
}

bool sock_same(const struct sockaddr_any *a, const struct sockaddr_any *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return false;
	switch (a->sa.sa_family) {
	case AF_UNIX:
		return strcmp(a->un.sun_path, b->un.sun_path) == 0;
	case AF_INET6:
		return a->in6.sin6_port == b->in6.sin6_port &&
		       a->in6.sin6_scope_id == b->in6.sin6_scope_id &&
		       memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, sizeof(a->in6.sin6_addr)) == 0;
	case AF_INET:
		return a->in.sin_port == b->in.sin_port &&
		       a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
	default:
		return false;
	}
}

static void set_int(int fd, int level, int option, int value)
{
	(void)setsockopt(
		fd, level, option, &value, sizeof(value)); /* an option less is no reason to fail */
}

static void tune_stream(int fd, int family)
{
	if (family == AF_UNIX)
		return;
	set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

void sock_tune_client(int fd)
{
	struct sockaddr_any a = {.len = sizeof(a.storage)};
	if (getsockname(fd, &a.sa, &a.len) == 0)
		tune_stream(fd, a.sa.sa_family);
}

static bool is_tcp(int fd)
{
	int protocol = 0;
	socklen_t len = sizeof(protocol);
	return getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) == 0 &&
	       protocol == IPPROTO_TCP;
}

/* The kernel counts whole seconds; none is less than one. */
static int seconds(uint64_t ns)
{
	uint64_t s = (ns + NS_PER_S - 1) / NS_PER_S;
	return s < 1 ? 1 : s > INT16_MAX ? INT16_MAX : (int)s;
}

void sock_set_life(int fd, const struct sock_life *life)
{
	if (!is_tcp(fd))
		return;
	uint64_t unacked_ms = (life->unacked_ns + NS_PER_MS - 1) / NS_PER_MS;
	set_int(fd, IPPROTO_TCP, TCP_USER_TIMEOUT,
		unacked_ms > INT32_MAX ? INT32_MAX : (int)unacked_ms);
	set_int(fd, SOL_SOCKET, SO_KEEPALIVE, life->idle_ns > 0);
	if (life->idle_ns == 0)
		return;
	set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds(life->idle_ns));
	set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, seconds(life->interval_ns));
	set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, (int)life->count);
}

/*
 * A socket file without a listener is a leftover of an earlier life.  Connecting to any other file
 * is refused too, so look first.
 */
static void unlink_stale(const struct sockaddr_any *a)
{
	struct stat st;
	if (lstat(a->un.sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (connect(fd, &a->sa, a->len) < 0 && errno == ECONNREFUSED)
		(void)unlink(a->un.sun_path);
	(void)close(fd);
}

/* Nobody can connect before listen(), so there is no moment with another mode. */
static int bind_with_mode(int fd, const struct sockaddr_any *a, mode_t mode)
{
	if (bind(fd, &a->sa, a->len) < 0)
		return -errno;
	if (a->sa.sa_family != AF_UNIX || mode == 0 || chmod(a->un.sun_path, mode) == 0)
		return 0;
	int e = -errno;
	(void)unlink(a->un.sun_path);
	return e;
}

int sock_listen_mode(const struct sockaddr_any *a, int backlog, mode_t mode)
{
	int fd = socket(a->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (a->sa.sa_family == AF_UNIX)
		unlink_stale(a);
	set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (a->sa.sa_family == AF_INET6)
		set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	int e = bind_with_mode(fd, a, mode);
	if (e == 0 && listen(fd, backlog) < 0)
		e = -errno;
	if (e < 0) {
		(void)close(fd);
		return e;
	}
	return fd;
}

void sock_file_note(struct sock_file *ret, int fd)
{
	struct sockaddr_any a = {.len = sizeof(a.storage)};
	struct stat st;
	memset(ret, 0, sizeof(*ret));
	if (getsockname(fd, &a.sa, &a.len) < 0 || a.sa.sa_family != AF_UNIX ||
		lstat(a.un.sun_path, &st) < 0)
		return;
	memcpy(ret->path, a.un.sun_path, sizeof(ret->path));
	ret->path[sizeof(ret->path) - 1] = 0;
	ret->dev = st.st_dev;
	ret->ino = st.st_ino;
}

void sock_file_remove(struct sock_file *f)
{
	struct stat st;
	if (f->path[0] != 0 && lstat(f->path, &st) == 0 && st.st_dev == f->dev &&
		st.st_ino == f->ino)
		(void)unlink(f->path);
	f->path[0] = 0;
}

int sock_connect(const struct sockaddr_any *a, bool *ret_done)
{
	int fd = socket(a->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	tune_stream(fd, a->sa.sa_family);
	*ret_done = connect(fd, &a->sa, a->len) == 0;
	if (!*ret_done && errno != EINPROGRESS) {
		int e = -errno;
		(void)close(fd);
		return e;
	}
	return fd;
}

int sock_connect_result(int fd)
{
	int err = 0;
	socklen_t len = sizeof(err);
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		return -errno;
	return -err;
}

const char *sock_print(const struct sockaddr_any *a, char *buf, size_t size)
{
	char host[INET6_ADDRSTRLEN] = "?";
	if (a->sa.sa_family == AF_UNIX)
		(void)snprintf(buf, size, "unix:%s", a->un.sun_path);
	else if (a->sa.sa_family == AF_INET6)
		(void)snprintf(buf, size, "[%s]:%u",
			inet_ntop(AF_INET6, &a->in6.sin6_addr, host, sizeof(host)),
			ntohs(a->in6.sin6_port));
	else
		(void)snprintf(buf, size, "%s:%u",
			inet_ntop(AF_INET, &a->in.sin_addr, host, sizeof(host)),
			ntohs(a->in.sin_port));
	return buf;
}

const char *sock_local(int fd, char *buf, size_t size)
{
	struct sockaddr_any a = {.len = sizeof(a.storage)};
	if (getsockname(fd, &a.sa, &a.len) < 0)
		return "?";
	return sock_print(&a, buf, size);
}

const char *sock_peer(int fd, char *buf, size_t size)
{
	struct sockaddr_any a = {.len = sizeof(a.storage)};
	if (getpeername(fd, &a.sa, &a.len) < 0)
		return "?";
	return sock_print(&a, buf, size);
}
