/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * A worker's side of one server: its shared connections, one per class, and what a failed
 * attempt taught it.
 *
 *	struct upstream --- shared[class] --- struct upconn --- fifo of struct part
 *
 * A class is what requests must agree on to share a connection: the database and the RESP
 * version. All requests of a client to a node go through one connection as long as its class
 * stays, so they take effect in order.
 *
 * One class is the default: that of the pool's own database and RESP2.  It alone is opened ahead of
 * need, at start and after a loss, and it stays.  The others are extra: opened for a request, closed
 * when nothing was asked for shared_idle or somebody else needs the place (room.h), and then
 * forgotten.
 *
 * States of a connection (upconn_edges in upconn.c):
 *
 *	CLOSED --> CONNECTING --> GREETING --> READY
 *	   ^___________|______________|__________|
 *
 * CLOSED: an attempt may be made from retry_ns on, and is made by a timer for the default class and
 * for requests that wait in the FIFO to be sent again; requests until then fail at once with the reason of the
 * last failure, unless some wait in the FIFO to be sent again: then new ones queue up behind those,
 * so that a client's order is kept.  CONNECTING, GREETING: requests queue up, within their
 * deadlines.  READY: they are sent at the end of the turn.
 *
 * Worker-owned.
 */

#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/log.h"
#include "base/rand.h"
#include "router/io/loop.h"
#include "router/io/sendq.h"
#include "router/upstream/login.h"
#include "router/upstream/part.h"
#include "router/upstream/retry.h"
#include "router/upstream/room.h"
#include "router/upstream/script_seen.h"
#include "router/upstream/server.h"
#include "router/wire/resp.h"

#define UPCONN_MAGIC UINT32_C(0x7570c017)
#define UP_CLASSES_MAX 2048 /* databases and RESP versions */

enum up_state { UP_CLOSED, UP_CONNECTING, UP_GREETING, UP_READY, UP_STATE_COUNT };

/* Why a part can't be answered. */
enum up_why {
	UP_WHY_NONE,
	UP_WHY_REFUSED,
	UP_WHY_CONNECT_TIMEOUT,
	UP_WHY_LOST,   /* closed or reset by the node */
	UP_WHY_BROKEN, /* closed by us: stuck, or not the protocol */
	UP_WHY_TIMEOUT,
	UP_WHY_AUTH,
	UP_WHY_NO_ROUTE,
	UP_WHY_GREETING,
	UP_WHY_QUEUE_FULL,
	UP_WHY_UNRESOLVED, /* the server's name leads nowhere yet */
	UP_WHY_NO_FDS,
	UP_WHY_NO_PRIVATE, /* as many connections are leased as may be */
	UP_WHY_NO_SHARED,  /* all extra connections are in use */
	UP_WHY_COUNT
};

struct upstream_opts {
	uint64_t connect_timeout_ns;
	uint64_t request_timeout_ns; /* a server silent for longer has a full queue at `queue` */
	uint64_t backoff_ns;
	uint64_t backoff_max_ns;
	uint32_t queue;
	uint32_t retries;   /* times that a request may be sent again */
	double retry_share; /* of the requests of the last 10 s */
	bool preconnect;
	struct sock_life life;
	uint64_t resolve_pause_ns; /* between two calls of `attempt` for a server */
	uint32_t private_per_node; /* leased at a time, by all workers */
	uint64_t private_idle_ns;  /* an idle one is closed after that */
	uint16_t default_class;    /* up_class() of the pool's database and RESP2 */
	uint32_t shared_per_node;  /* extra ones that are shared, by worker */
	uint64_t shared_idle_ns;   /* an extra one is closed when nothing came on it for so long */
};

struct upstream_env;

/* What the owner of parts is told.  Called on the worker's loop; the part is no longer in a FIFO
 * when `complete`. */
struct upstream_ops {
	/* Bytes of its reply, in pieces; `type` is the reply's type byte; never for a dropped part.
	 */
	void (*reply)(struct part *p, const uint8_t *bytes, size_t n, uint8_t type, bool complete);
	/* The reply of a dropped part is complete, or its connection is gone: the owner may free
	 * it. */
	void (*dropped)(struct part *p);
	/* There will be no (complete) reply. */
	void (*failed)(struct part *p, enum up_why why);
	/* The connection that this tenant leased is gone; its parts have failed already. */
	void (*lost)(void *tenant, enum up_why why);
};

/* Shared by all upstreams of a worker. */
struct upstream_env {
	struct loop *loop;              /* borrowed */
	const struct upstream_ops *ops; /* borrowed */
	size_t worker;                  /* index, for the servers' metric blocks */
	/* A connect to a server with a name begins: the name may lead elsewhere by now.  NULL:
	 * nobody wants to know. */
	void (*attempt)(struct upstream_env *env, struct server *s);
	struct rng rng;
	STAILQ_HEAD(, upconn) dirty; /* have something to send at the end of the turn */
	SLIST_HEAD(, upconn) dead;   /* closed for good: freed at the end of the turn */
	LIST_HEAD(, upconn) extra;   /* not closed, and not of a default class */
	struct upstream_room *room;  /* borrowed; NULL: no limit */
	uint32_t refused_seen;       /* of the room's */
	uint64_t all_busy_ns;        /* the turn in which none of them was idle */
};

struct upconn {
	uint32_t magic;
	uint8_t state; /* enum up_state; changed by upconn_enter() alone */
	bool writable_armed;
	bool is_dirty;
	bool leaving; /* the server's name does not lead to `peer` any more */
	bool holding; /* leaving, and nothing more is sent */
	uint16_t class_id;
	uint32_t tried; /* addresses, in the present attempt */
	int fd;
	struct sockaddr_any peer; /* not CLOSED: the address */
	struct upstream *up;      /* borrowed, outlives us */
	struct part_fifo fifo;
	uint32_t nfifo;
	uint32_t greet_due; /* replies to the greeting still to come */
	struct sendq out;
	struct resp_reply scan;
	struct chunk *error; /* owned: an error reply that is not complete yet; NULL: none */
	uint64_t timer_ns;   /* when `timer` rings; UINT64_MAX: it does not */
	uint64_t read_ns;    /* bytes came last; 0: none since READY */
	uint64_t retry_ns;   /* CLOSED: no attempt before this */
	uint64_t backoff_ns; /* before the next attempt but one */
	uint8_t why;         /* enum up_why of the last failure */
	bool proven; /* a reply has come since READY: the next failure is not one of connecting */
	STAILQ_ENTRY(upconn) dirty_link;
	struct script_seen scripts;      /* those that it was sent, answered or not */
	bool is_private;                 /* private.h */
	bool leased;                     /* private: not idle */
	bool has_place;                  /* private: counts as leased */
	bool soiled;                     /* private: nobody else is to get it */
	bool streaming;                  /* private: bytes are let go as they are sent */
	void *tenant;                    /* borrowed; told when it is lost; NULL: nobody */
	int64_t node_client;             /* private: its CLIENT ID at the node; 0: not known */
	LIST_ENTRY(upconn) private_link; /* the server's idle or leased ones */
	SLIST_ENTRY(upconn) dead_link;
	LIST_ENTRY(upconn) extra_link; /* not CLOSED, and extra */
	struct event io;
	struct event timer; /* CONNECTING, GREETING: the connect timeout; CLOSED: the next attempt;
			       READY: is it stuck, is it of use? */
};

struct upstream {
	struct upstream_env *env;         /* borrowed */
	struct server *server;            /* a reference */
	struct addresses *where;          /* a reference; NULL: nowhere yet */
	uint32_t first;                   /* the one of them to begin with */
	uint64_t told_ns;                 /* env->attempt was called last */
	struct node_block *m;             /* this worker's, in server */
	const struct upstream_opts *opts; /* borrowed */
	struct retry_budget *budget;      /* borrowed; the pool's */
	struct node_login *login;         /* a reference; NULL: nodes ask for none */
	struct upconn **shared;           /* owned; by class, NULL: not needed */
	uint32_t nshared;
	uint32_t nextra;          /* shared ones that are open and extra */
	LIST_HEAD(, upconn) idle; /* private connections: free */
	LIST_HEAD(, upconn) leased;
	uint32_t nidle;
	struct script_seen scripts; /* those that the server has taken, whatever the connection */
	uint32_t closings;          /* of shared connections, so far: what it had may be gone */
	uint32_t held;              /* parts in the FIFOs */
	struct log_rate complaints;
};

/* Class of a database and RESP version (2 or 3). */
static inline uint16_t up_class(uint32_t database, int resp)
{
	return (uint16_t)(database * 2 + (resp == 3));
}

struct upstream *upstream_new(struct upstream_env *env, struct server *server,
	const struct upstream_opts *opts, struct retry_budget *budget);
/* The server's name leads there now.  Takes over the reference. */
void upstream_move(struct upstream *up, struct addresses *where);

/* New connections log in so.  Takes over the reference. */
void upstream_set_login(struct upstream *up, struct node_login *login);

/* Its parts fail first.  NULL is allowed. */
void upstream_free(struct upstream *up);

/* Closes every connection for good; their parts fail. */
void upstream_abandon(struct upstream *up);

/* Opens the connection of a class ahead of need. */
void upstream_preconnect(struct upstream *up, uint16_t class_id);

/* The slow half of upstream_conn(). */
struct upconn *upstream_conn_slow(struct upstream *up, uint16_t class_id, enum up_why *ret_why);

/* The connection for a request of this class, or NULL and why there is none.  Valid until the next
 * request for a connection, or as long as a part is in its FIFO. */
static inline struct upconn *upstream_conn(
	struct upstream *up, uint16_t class_id, enum up_why *ret_why)
{
	if (LIKELY(class_id < up->nshared)) {
		struct upconn *c = up->shared[class_id];
		if (LIKELY(c != NULL && c->state == UP_READY && up->held < up->opts->queue))
			return c;
	}
	return upstream_conn_slow(up, class_id, ret_why);
}

/* Takes a part into the FIFO; its bytes were written to the sendq (or sent) by the functions below.
 */
void upconn_add(struct upconn *c, struct part *p, size_t wire_len);

/* Room for n bytes of a part; upconn_commit() when they are written. */
static inline uint8_t *upconn_reserve(struct upconn *c, size_t n)
{
	return sendq_reserve(&c->up->env->loop->pool, &c->out, n);
}

static inline void upconn_commit(struct upconn *c, struct part *p, size_t n)
{
	sendq_commit(&c->out, n);
	upconn_add(c, p, n);
}

/* A part's bytes, copied. */
void upconn_send(struct upconn *c, struct part *p, const void *bytes, size_t n);
/* A part's bytes, taken over. */
void upconn_send_chunk(struct upconn *c, struct part *p, struct chunk *chunk);

/* End of turn: one write per connection that has something to send. */
void upstream_flush_all(struct upstream_env *env);

/* When bytes came last on the connection that carries p. */
static inline uint64_t upconn_last_read(const struct upconn *c)
{
	return c->read_ns;
}
