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
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
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

bool sock_same(const struct sockaddr_any *a, const struct sockaddr_any *b);

/* A listening socket: fd, or -errno.  The file of a unix socket gets this mode, before anybody can
 * connect; 0: what the umask leaves. */
int sock_listen_mode(const struct sockaddr_any *a, int backlog, mode_t mode) MUST_CHECK;

static inline MUST_CHECK int sock_listen(const struct sockaddr_any *a, int backlog)
{
	return sock_listen_mode(a, backlog, 0);
}

/* Which file a listening unix socket made, so that it is removed and no other that has taken its
 * place. */
struct sock_file {
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* "": none */
	dev_t dev;
	ino_t ino;
};

/* Of a listening socket; the path is "" when it is no unix socket. */
void sock_file_note(struct sock_file *ret, int fd);
void sock_file_remove(struct sock_file *f);

/* A socket whose connect() has begun: fd, or -errno.  *ret_done: it is connected already (unix
 * sockets). */
int sock_connect(const struct sockaddr_any *a, bool *ret_done) MUST_CHECK;

/* Result of a connect() in progress: 0 or -errno. */
int sock_connect_result(int fd) MUST_CHECK;

/* When a peer that says nothing is taken for dead.  Zero times: never for that reason. */
struct sock_life {
	uint64_t idle_ns;     /* silence before the first probe; 0: no probes */
	uint64_t interval_ns; /* between probes */
	uint32_t count;       /* probes without an answer */
	uint64_t unacked_ns;  /* bytes or probes that the peer has not acknowledged for so long */
};

/* Options of a fresh client connection. */
void sock_tune_client(int fd);

/* For any connected or connecting socket; unix sockets have no use for it. */
void sock_set_life(int fd, const struct sock_life *life);

/* host:port of the local or remote end. */
const char *sock_print(const struct sockaddr_any *a, char *buf, size_t size);
const char *sock_local(int fd, char *buf, size_t size);
const char *sock_peer(int fd, char *buf, size_t size);
