/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * A test bed for one worker: it runs on its own thread as in the router, its clients are socketpairs
 * and its nodes are listeners on the loopback, both played by the test (peer.h).  What goes on inside
 * is looked at by letters, which run between two turns of the worker.
 */

#include "router/core/script_store.h"
#include "router/core/worker.h"
#include "tests/unit/upstream/peer.h"

#define CORE_NODES 3
#define CORE_KEY_MAX 24
#define CORE_WORDS_MAX 64

struct core {
	struct worker *workers[1];
	struct worker_limits limits;
	struct pool_opts pools[2]; /* change them before core_start() */
	size_t npools;
	struct router_facts facts;
	struct metric_block *blocks[2];
	struct script_store *scripts;  /* owned */
	struct node nodes[CORE_NODES]; /* named "a", "b", "c" */
	struct topology *topology;     /* a reference: who owns what */
	struct fleet *fleet;           /* a reference */
	uint64_t next_id;
	unsigned next_key;
	_Atomic unsigned acks;
	_Atomic uint64_t acked_epoch;
	_Atomic unsigned drained;
};

/* Generous limits, quick deadlines, no preconnect, no retries; nothing runs yet. */
struct core *core_new(void);
void core_start(struct core *t);
/* Stops it and checks that nothing was held. */
void core_free(struct core *t);

/* A topology of the first n nodes, published to every pool. */
void core_publish(struct core *t, size_t n, uint64_t epoch);

/* A client of a pool.  sndbuf: how much the router's end buffers; 0: as usual. */
struct peer core_client(struct core *t, uint32_t pool, int sndbuf);

/* A fresh key that this node owns. */
const char *core_key(struct core *t, uint32_t node, char key[CORE_KEY_MAX]);

/* "GET key", "SET key v" with such a key, in words. */
const char *core_get(struct core *t, uint32_t node, char words[CORE_WORDS_MAX]);
const char *core_set(struct core *t, uint32_t node, char words[CORE_WORDS_MAX]);

/* Runs fn(worker, arg) on the worker's thread and waits for it. */
void core_look(struct core *t, void (*fn)(struct worker *w, void *arg), void *arg);

/* What a worker holds. */
struct core_state {
	size_t buffers;
	uint32_t clients;
	uint32_t requests;
	uint32_t views;     /* of pool 0 */
	uint32_t upstreams; /* of pool 0 */
	size_t held;        /* reply bytes waiting in requests, of all clients */
	size_t output;      /* bytes waiting to be written, of all clients */
	uint32_t outstanding;
};
struct core_state core_state(struct core *t);
/* Waits until no buffer is in use and no request is left. */
void core_settles(struct core *t);

/* The request as an array: "SET k v" -> *3 ... .  Words are separated by one space. */
const char *wire(const char *words);
/* Says a request given in words. */
void peer_asks(struct peer *p, const char *words);
/* Expects one. */
void peer_is_asked(struct peer *p, const char *words);

uint64_t core_count(const struct core *t, enum metric m);
uint64_t core_node_count(const struct core *t, uint32_t node, enum node_metric m);
