/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * limits.memory: who may take more, who waits for it, who has to give some back.
 *
 * What grows without anybody's consent is unfinished large requests, so they are asked before they grow.
 * A client inside one is read into the room that its chunk has; where that ends, more is taken only
 * while all buffers together stay below 90 % of the limit.  What is above remains for everybody else:
 * small requests, replies, requests on their way.  Growth is taken out of the account before it happens,
 * so that several clients in one turn can't overdraw it, nor several workers.
 *
 * Who may not grow is starved: not read until there is room, the one that began first being asked first.
 * Should room not come (each holds some and waits for the others; or somebody holds much and does not go
 * on), an unfinished request is given up for the one that waits longest: its bytes are freed, the rest
 * is read and thrown away, and when its end has come it is answered -OVERLOADED like every other.
 *
 * It may be a client of another worker that holds much: the worker that holds most is asked.
 *
 * A starved client is not silent, and its socket is looked at: one whose peer has gone, or has ended
 * before the end of the request, is not waited for.
 *
 * Worker-owned.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;
struct worker;

/* Requests from this size on are large. */
#define LARGE_REQUEST (16u * 1024)

enum memory_state {
	MEMORY_OK,
	MEMORY_SHORT, /* unfinished large requests do not grow */
	MEMORY_OUT,   /* requests are read and refused */
};

/* Start of the end of a turn: the state, and food for the starved. */
void memory_look(struct worker *w);

/* Now and then, often while somebody is starved. */
void memory_sweep(struct worker *w, uint64_t now);

/* A client of another worker waits for memory in vain, and holds so much itself: who holds most here
 * is given up for it. */
void memory_share(struct worker *w, uint64_t held);

/* The client keeps c->in.  unfinished: it is the beginning of a request, and more of it is awaited. */
void memory_note(struct client *c, bool unfinished);

/* It is inside no large request, or inside another one. */
void memory_leave(struct client *c);

/* It is to be read: there is room for more, if it is inside a large request.  False: it is starved, or its
 * request has just been given up. */
bool memory_make_room(struct client *c);
