/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * The other end of a connection, played by a test step by step: say these bytes, expect those, hang
 * up.  A peer is a node's side of a connection that the code under test opened, or a client's.
 *
 * While a step waits it runs `pump` again and again, so that code under test which lives on the
 * same thread goes on; NULL when it has a thread of its own.  A step that is not done in time fails
 * the test.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"

#define PEER_PATIENCE_MS 10000

struct pump {
	void (*run)(void *arg); /* takes about a millisecond; NULL: sleep for one */
	void *arg;
};

struct peer {
	int fd; /* -1: closed */
	struct pump pump;
};

/* A listening socket of a node: on the loopback, or at a path. */
struct node {
	int fd; /* -1: closed */
	struct addr addr;
	struct pump pump;
};

void pump_once(const struct pump *p);

/* Until it is true.  The condition may have side effects. */
#define PUMP_UNTIL(p, condition) \
	do { \
		for (int left_ = PEER_PATIENCE_MS; !(condition); left_--) { \
			if (left_ == 0) \
				fail_msg("never happened: %s", #condition); \
			pump_once(p); \
		} \
	} while (0)

/* Runs the pump for so long. */
void pump_for(const struct pump *p, int ms);

/* address: "127.0.0.1:0", "unix:/path", or the address of an earlier node. */
void node_open(struct node *n, const char *address, struct pump pump);
/* Refuses from now on; connections that were accepted live on. */
void node_close(struct node *n);
struct peer node_accept(struct node *n);
/* Nobody connects for so long. */
void node_sees_nobody(struct node *n, int ms);

void peer_say(struct peer *p, const void *bytes, size_t n);
void peer_says(struct peer *p, const char *text);
/* In pieces of `piece` bytes, each received before the next. */
void peer_says_slowly(struct peer *p, const char *text, size_t piece);

void peer_expect(struct peer *p, const void *bytes, size_t n);
void peer_expects(struct peer *p, const char *text);
/* Nothing comes for so long. */
void peer_hears_nothing(struct peer *p, int ms);
/* The other end closes, or has closed; bytes before that are read and returned. */
size_t peer_sees_end(struct peer *p);

/* The ends of it: in good order, half, and with a reset. */
void peer_close(struct peer *p);
void peer_shut(struct peer *p);
void peer_reset(struct peer *p);
