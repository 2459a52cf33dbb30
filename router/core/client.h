/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * A client's connection: bytes in, requests in order, replies out in the same order.
 *
 * Reading.  Bytes land in the loop's scratch buffer; whole requests are served straight from
 * there. What is left of an unfinished one is kept in `in`; a large one is then read directly
 * into `in`, and the chunk itself goes on to the node, so that its bytes are copied by the
 * kernel alone.
 *
 * Reading stops while `pipeline` requests are outstanding, while a large request may not grow for want
 * of memory (memory.h), while a barrier stands (requests before it must be answered before any after it
 * may use another connection), and after the last request of a closing client.
 *
 * Writing.  Replies gather in `out`, which is written once at the end of the turn.
 *
 * Worker-owned.
 */

#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "router/core/request.h"
#include "router/io/sendq.h"
#include "router/wire/resp.h"

#define CLIENT_MAGIC UINT32_C(0xc11e4710)
#define CLIENT_NAME_MAX 64

struct worker;
struct user;
struct origin;
struct tx;

/* What keeps a client from being served like all others; gate.h. */
enum client_special {
	SPECIAL_ANONYMOUS = 1 << 0, /* has yet to log in */
	SPECIAL_LIMITED = 1 << 1,   /* its user may not run everything */
	SPECIAL_PAUSED = 1 << 2,    /* CLIENT PAUSE */
	SPECIAL_REPLY_OFF = 1 << 3, /* CLIENT REPLY OFF */
	SPECIAL_SKIP_NEXT = 1 << 4, /* CLIENT REPLY SKIP: the next request gets no reply */
	SPECIAL_SKIP_NOW = 1 << 5,  /* the present one gets none */
	SPECIAL_TX = 1 << 7,        /* inside WATCH or MULTI: tx.h */
	SPECIAL_SILENT = SPECIAL_REPLY_OFF | SPECIAL_SKIP_NOW,
};

enum client_unblock { UNBLOCK_NOT, UNBLOCK_TIMEOUT, UNBLOCK_ERROR };

struct client {
	uint32_t magic;
	int fd;
	uint64_t id;
	struct worker *worker;    /* borrowed */
	struct worker_pool *pool; /* borrowed */
	TAILQ_ENTRY(client) all;  /* in the order in which they were last heard of */
	TAILQ_ENTRY(client)
	inside; /* those inside a large request, in the order of their beginnings */
	STAILQ_ENTRY(client) dirty_link;
	STAILQ_ENTRY(client) resume_link; /* later: the graveyard */
	struct request_queue queue;
	uint32_t outstanding; /* requests in the queue */
	uint16_t class_id;    /* of the node connections it uses */
	uint8_t resp;         /* 2 or 3 */
	uint8_t watching;     /* EV_READ | EV_WRITE */
	uint8_t special;      /* SPECIAL_*; 0: a plain client */
	uint32_t database;
	uint64_t streamed;              /* bytes of that request so far */
	uint64_t paused_ns;             /* since */
	LIST_ENTRY(client) stream_link; /* paused ones */
	uint64_t wrote;                 /* nodes that it wrote to, by index % 64: wait.h */
	uint8_t unblock;                /* enum client_unblock */
	uint32_t then_database;         /* when `attended`, an EXEC, is carried out */
	bool is_dirty : 1;
	bool is_resuming : 1;
	bool barrier : 1;   /* no request is read until the queue is empty */
	bool last_read : 1; /* nothing more is read: QUIT, protocol error, end of input */
	bool dead : 1;      /* in the graveyard */
	bool is_inside : 1;
	bool starved : 1;    /* not read, for want of memory: memory.h */
	bool discarding : 1; /* inside a request that was given up for want of memory */
	bool on_hold : 1;    /* not read: its next request waits for the end of a pause */
	bool logged_in : 1;
	bool is_blocked : 1;    /* `attended` waits at a node until something happens there */
	bool streaming : 1;     /* inside a request that goes on as it comes: stream.h */
	bool stream_paused : 1; /* its node does not take it as fast as it comes */
	bool no_evict : 1;      /* CLIENT NO-EVICT; only shown */
	bool script_asked : 1;  /* the script that its next request needs has been loaded, or not */
	struct tx *tx;          /* owned; SPECIAL_TX; NULL: none */
	struct request *attended; /* its last request, about which something is to be done when it
				     is answered; NULL: none */
	const char *doom;         /* why it is closed at the end of the turn; NULL: it is not */
	struct chunk *in;         /* owned: an unfinished request; NULL: none */
	struct sendq out;
	size_t held;             /* reply bytes waiting in requests */
	size_t biggest;          /* largest reply that is buffered now */
	char *name;              /* owned; CLIENT SETNAME; NULL: none */
	char *lib_name;          /* owned; CLIENT SETINFO; NULL: none */
	char *lib_ver;           /* owned */
	struct origin *origin;   /* owned; origin.h; NULL: the socket's other end is the client */
	const struct user *user; /* the pool's present set's; never NULL */
	const struct cmd *last_cmd; /* NULL: none, or unknown */
	uint64_t since_ns;
	uint64_t read_ns;    /* last heard of */
	uint64_t starved_ns; /* since */
	uint64_t discarded;  /* bytes of that request so far */
	struct event io;
	struct resp_request scan;
};
TAILQ_HEAD(client_list, client);
STAILQ_HEAD(client_queue, client);

/* Takes the socket over. */
struct client *client_new(struct worker *w, struct worker_pool *pool, int fd, uint64_t id);

/*
 * Closes at once; outstanding requests are abandoned.  The memory goes at the end of the turn.
 * Not while a reply is being handed over: that is what client_doom() is for.
 */
void client_close(struct client *c, const char *why);

/* Takes nothing more and closes at the end of the turn.  `why` is static. */
void client_doom(struct client *c, const char *why);

/* Nothing more is read; closes when everything outstanding is answered and written. */
void client_finish(struct client *c);

/* Reply bytes for the head request, or for a client without outstanding requests. */
void client_write(struct client *c, const void *bytes, size_t n);
void client_write_chunk(struct client *c, struct chunk *chunk);

/* The head of the queue may be complete: emits all that can go. */
void client_advance(struct client *c);

/* Answers the present request with these bytes: at once, or when it is its turn. */
void client_answer(struct client *c, const struct cmd *cmd, const void *bytes, size_t n);

/* The same for a request that was turned away: with an error, before anything was done. */
void client_reject(struct client *c, const struct cmd *cmd, const void *error, size_t n);

/* Bytes that wait for the client, who is doomed when they are too many. */
void client_account(struct client *c, size_t added_to_held, uint64_t reply_bytes);

/* Idle ones, and those that fell silent inside a large request, are closed. */
void clients_sweep(struct worker *w, uint64_t now);

/* What the loop watches for: "r", "w", "rw" or "". */
const char *client_events(const struct client *c);

/* `r` may wait for long on a connection of its own. */
void client_block(struct client *c, struct request *r);

/* Something that it waited for has happened: what is here is looked at at the end of the turn. */
void client_look_again(struct client *c);

/* Nothing more comes of the request that it is inside. */
void client_input_ended(struct client *c);

/* `attended` is answered, or given up. */
void client_attend(struct client *c);

/* The pause that its next request waits for, if it does, is over. */
void client_unhold(struct client *c);

/* End of turn. */
void client_resume(struct client *c);
void client_flush(struct client *c);
void client_free(struct client *c);
