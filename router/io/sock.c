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
#include "base/err.h"

static int resolve_unix(struct sockaddr_any *ret, const char *path)
{
	memset(ret, 0, sizeof(*ret));
	ret->un.sun_family = AF_UNIX;
	CHECK(strlen(path) < sizeof(ret->un.sun_path));
	strcpy(ret->un.sun_path, path);
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

int sock_listen(const struct sockaddr_any *a, int backlog)
{
	int fd = socket(a->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (a->sa.sa_family == AF_UNIX)
		unlink_stale(a);
	set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (a->sa.sa_family == AF_INET6)
		set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	if (bind(fd, &a->sa, a->len) < 0 || listen(fd, backlog) < 0) {
		int e = -errno;
		(void)close(fd);
		return e;
	}
	return fd;
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
