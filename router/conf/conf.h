/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Configuration: plain values, filled from a file and from flags along the tables conf_list.h (values) and
 * conf_key_list.h (lists), checked, then never changed.  Only main and the admin side see struct conf; modules get the
 * part they need as const.
 *
 *	conf_list.h ──► defaults ──► file (-c) ──► flags ──► checks ──► struct conf ──► -t
 *
 * Flags change one pool: the one that --pool names, else the file's only one, else a new one.
 *
 * To add an option: a field here and a row in conf_list.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/addr.h"
#include "base/compiler.h"
#include "base/log.h"

enum conf_role { ROLE_STORE, ROLE_CACHE };
enum conf_protocol { PROTOCOL_REDIS, PROTOCOL_MEMCACHED };
enum conf_ring_mode {
	RING_MODE_NATIVE,
	RING_MODE_KETAMA,
	RING_MODE_LIBMEMCACHED,
	RING_MODE_LIBMEMCACHED_WEIGHTED,
	RING_MODE_MODULA
};
enum conf_multikey { MULTIKEY_OWNER, MULTIKEY_TAG };
enum conf_on_failure { ON_FAILURE_FAIL_FAST, ON_FAILURE_EJECT };

struct conf_limits {
	uint32_t clients;
	uint32_t pipeline;
	uint64_t client_output_buffer; /* bytes */
	uint64_t request_size;         /* bytes */
	uint64_t memory;               /* bytes */
	uint64_t bulk;                 /* bytes */
	uint64_t scripts;              /* bytes */
	uint64_t idle_timeout_ns;      /* 0: never */
	uint64_t proxy_header_ns;
};

/* When a silent peer is taken for dead; 0: never for that reason. */
struct conf_keepalive {
	uint64_t idle_ns;
	uint64_t interval_ns;
	uint32_t count;
	uint64_t user_timeout_ns;
};

struct conf_listener {
	struct addr address;
	bool proxy; /* each connection begins with a PROXY protocol v2 header */
};

struct conf_node {
	char *name; /* owned */
	struct addr address;
	uint32_t weight_milli;
	bool named; /* a name was given; else it is the address as written */
};

struct conf_access;

struct conf_pool {
	char *name;     /* owned */
	bool from_file; /* a file has it, so it must say its role */
	enum conf_role role;
	bool role_given;
	enum conf_protocol protocol;
	struct conf_listener *listen; /* owned array */
	size_t nlisten;
	struct conf_node *nodes; /* owned array, in the order given */
	size_t nnodes;
	struct conf_access *access; /* owned: who may log in here, and how we do at the nodes */
	enum conf_ring_mode ring_mode;
	uint32_t ring_points;
	char ring_hash_tag[3]; /* "" or two characters */
	uint32_t database;
	enum conf_multikey multikey;
	enum conf_on_failure on_failure;
	bool sole_router;
	uint64_t connect_timeout_ns;
	uint64_t request_timeout_ns;
	uint64_t slow_timeout_ns;
	uint32_t retry_reads;
	double retry_budget; /* share, 0 .. 1 */
	bool preconnect;
	uint64_t backoff_ns;
	uint64_t backoff_max_ns;
	uint64_t stuck_floor_ns; /* a connection is stuck after max(3 * deadline, this): 3 s */
	uint32_t private_per_node;
	uint64_t private_idle_ns;
	uint32_t shared_per_node;
	uint64_t shared_idle_ns;
	uint32_t queue;
	uint64_t resolve_ns;
	uint64_t resolve_pause_ns;
	struct conf_keepalive keepalive; /* of connections to nodes */
};

struct conf {
	uint32_t threads;
	bool admin_given;
	struct addr admin;
	uint64_t admin_timeout_ns; /* an admin connection that is silent for so long is closed */
	char *router_name;         /* owned; NULL: the first listener's address */
	char *ready_file;          /* owned; NULL: none */
	enum log_level log_level;
	struct conf_limits limits;
	uint64_t drain_timeout_ns;
	uint64_t resolve_wait_ns;        /* at start */
	struct conf_keepalive keepalive; /* of clients */
	uint32_t unix_socket_mode;       /* 0: what the umask leaves */
	struct conf_pool *pools;         /* owned array */
	size_t npools;
	bool test_only; /* -t */
	char *file;     /* owned; NULL: flags alone */
	int argc;       /* what conf_again() reads once more */
	char **argv;    /* owned, NULL-terminated */
};

enum conf_exit { CONF_GO_ON, CONF_EXIT_OK, CONF_EXIT_USAGE, CONF_EXIT_BAD };

/*
 * Reads the command line and the file that it names.  CONF_EXIT_OK: --help or --version was printed to `out`.
 * CONF_EXIT_USAGE / _BAD: the reasons were printed to `err`, with the nearest valid name where one was mistyped.
 * CONF_GO_ON: *c is filled and checked; err may hold warnings.  Otherwise *c is empty; conf_fini() is allowed in any
 * case.  Nothing is borrowed from argv.
 */
enum conf_exit conf_from_argv(
	struct conf *c, int argc, char **argv, FILE *out, FILE *err) MUST_CHECK;

/*
 * -t: the file that makes this configuration, with every value in effect; in comments the share of each node and the
 * connections that it will see.  No password.
 */
void conf_print(const struct conf *c, FILE *out);

void conf_fini(struct conf *c);

/* ------------------------------------------------------------------------------------------------
 * Reloading
 */

/* What `running` was made of, read again: the same flags, its file, the password files.  As conf_from_argv(). */
enum conf_exit conf_again(struct conf *fresh, const struct conf *running, FILE *err) MUST_CHECK;

/*
 * May `fresh` take the place of `running` in a process that serves?  It may differ in the options that conf_list.h marks
 * RELOAD and in what conf_access.h holds.  Returns how many other differences there are, each a line on err.
 */
unsigned conf_reload_check(
	const struct conf *running, const struct conf *fresh, FILE *err) MUST_CHECK;

/*
 * What may be applied moves from `fresh` to `running`, and the other way round: conf_fini(fresh) wipes what is replaced.
 * Nothing may hold on to the former values.
 */
void conf_take_reloaded(struct conf *running, struct conf *fresh);

/* The differences that may be applied, one `what: old -> new` a line; how many.  Of secrets only that they changed. */
unsigned conf_print_changes(const struct conf *running, const struct conf *fresh, FILE *out);
