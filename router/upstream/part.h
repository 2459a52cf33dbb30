/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * A part: one command on its way to one node and back.  A simple request is one part; a split
 * one has a part per node. A part lies in the FIFO of the node connection that carries it, from
 * being queued until its reply is complete or the connection is gone.  Nobody can take it out in
 * between: an owner who no longer waits marks it PART_DROPPED, and its reply is read and thrown
 * away.
 */

#include <stdint.h>
#include <sys/queue.h>

struct request; /* the owner; this layer never looks inside */
struct upconn;

enum part_flags {
	PART_READONLY = 1 << 0, /* may be sent again as long as no reply byte came */
	PART_BEGUN = 1 << 1,    /* at least one byte of the reply has come */
	PART_DROPPED = 1 << 2,  /* nobody waits for the reply */
	PART_ERROR = 1 << 3,    /* the owner's: answered with an error */
	PART_DONE = 1 << 4,     /* the owner's: answered */
	PART_SENT = 1 << 5,   /* set when the part fails: at least one byte had left for the node */
	PART_UNSEEN = 1 << 6, /* dropped from the start: the router's own, nobody ever waited */
	PART_ONCE = 1 << 7,   /* relies on what this connection was sent before: never sent again */
};

struct part {
	STAILQ_ENTRY(part) link; /* the connection's FIFO */
	struct request *req;     /* the owner; outlives the part's time in a FIFO */
	struct upconn *conn;     /* NULL: in no FIFO */
	uint64_t born_ns;        /* its request was wholly read */
	uint64_t stuck_ns;       /* unanswered at this time: the connection is stuck */
	uint32_t wire_len;       /* bytes of it that the connection's sendq holds */
	uint16_t node;           /* index in the topology that it was routed by */
	uint8_t flags;           /* enum part_flags */
	uint8_t stage;           /* which of its ordered steps is running */
	uint8_t tries;           /* how often it was sent again */
};
STAILQ_HEAD(part_fifo, part);
