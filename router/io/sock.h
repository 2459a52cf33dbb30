/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Sockets: the few calls that the router makes, with the options it always wants.  All are
 * non-blocking and close-on-exec.  Failures are -errno.
 */

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/addr.h"
#include "base/compiler.h"

/* A resolved address. */
struct sockaddr_any {
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
		struct sockaddr_storage storage;
	};
	socklen_t len;
};

/* Resolves a name; BLOCKS on DNS: never on a worker.  0 or RW_ERESOLVE. */
int sock_resolve(struct sockaddr_any *ret, const struct addr *a) MUST_CHECK;

/* A listening socket: fd, or -errno. */
int sock_listen(const struct sockaddr_any *a, int backlog) MUST_CHECK;

/* A socket whose connect() has begun: fd, or -errno.  *ret_done: it is connected already (unix
 * sockets). */
int sock_connect(const struct sockaddr_any *a, bool *ret_done) MUST_CHECK;

/* Result of a connect() in progress: 0 or -errno. */
int sock_connect_result(int fd) MUST_CHECK;

/* Options of a fresh client connection. */
void sock_tune_client(int fd);

/* host:port of the local or remote end. */
const char *sock_print(const struct sockaddr_any *a, char *buf, size_t size);
const char *sock_local(int fd, char *buf, size_t size);
const char *sock_peer(int fd, char *buf, size_t size);
