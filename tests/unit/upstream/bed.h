/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * A test bed for one upstream: a real loop that the test turns itself, one server, and parts that
 * remember what they were told.  Both ends are played by the test: what is asked, and what the node
 * (peer.h) does.
 */

#include <event2/event_struct.h>

#include "router/upstream/upstream.h"
#include "tests/unit/upstream/peer.h"

#define ASK_REPLY_MAX 4096

/* A part and its story. */
struct ask {
	struct part part;
	char reply[ASK_REPLY_MAX + 1]; /* what came of it, the first of it */
	size_t len;                    /* all of it */
	unsigned pieces;
	uint8_t type;
	bool done, dropped, failed;
	const struct tenant *
		tenant; /* NULL: nobody's; else it had not been told of a loss when the part failed */
	enum up_why why;
};

/* Who leases a private connection, and what he was told. */
struct tenant {
	unsigned lost;
	enum up_why why;
};

struct bed {
	struct loop loop;
	struct upstream_env env;
	struct upstream_opts opts;
	struct upstream_room room; /* no limit, unless the test sets one */
	struct retry_budget budget;
	struct server *server; /* a reference */
	struct upstream *up;   /* NULL after bed_stop() */
	struct event tick;
	uint64_t timeout_ns; /* the deadline of the parts; they are stuck after three times that */
	struct node node;
	char dir[32]; /* of a unix node; empty: none */
};

/* Everything quick; no preconnect, no retries. */
struct bed *bed_new(void);
/* The node listens and there is an upstream for it.  unix_node: connecting needs no turn. */
void bed_start(struct bed *b, bool unix_node);
/* The upstream goes; its parts fail. */
void bed_stop(struct bed *b);
/* Checks that nothing is held: no bytes, no parts, gauges at zero. */
void bed_free(struct bed *b);

struct pump bed_pump(struct bed *b);
/* One turn of the loop, at most a millisecond. */
void bed_turn(void *bed);
#define BED_UNTIL(b, condition) \
	do { \
		struct pump pump_ = bed_pump(b); \
		PUMP_UNTIL(&pump_, condition); \
	} while (0)

/* Asks on the connection of a class.  False: there is none, and ask->why says why. */
bool bed_ask_class(
	struct bed *b, struct ask *a, uint16_t class_id, const void *wire, size_t n, uint8_t flags);
bool bed_ask(struct bed *b, struct ask *a, const char *wire, uint8_t flags);

/* Asks on a connection that was leased. */
void bed_ask_on(struct bed *b, struct ask *a, struct upconn *c, const char *wire, uint8_t flags);

/* As the owner of a part does when its deadline has passed. */
void ask_drop(struct ask *a);

/* Answered, with just this. */
void ask_got(const struct ask *a, const char *want);
void ask_failed(const struct ask *a, enum up_why why, bool sent);

uint64_t bed_count(const struct bed *b, enum node_metric m);

/* The connection of the class of RESP2 and database 0. */
static inline struct upconn *bed_conn(struct bed *b)
{
	return b->up->shared[0];
}
