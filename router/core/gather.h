/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Commands without a key that are about the whole fleet: every node is asked, the answers become one, as a user of a
 * single server expects it.  The parts are collected as those of a split request are; what differs is how they start
 * and how they merge (the table in gather.c).
 */

#include "router/core/dispatch.h"
#include "router/core/split.h"

/* Serves a command of POLICY_ALL. */
void gather_start(struct call *call);

/* Every part has an answer: the merged reply goes out through request_reply_bytes(). */
void gather_merge(struct request *r);

/* True: parts that failed are left out instead of failing the whole. */
bool gather_tolerates(const struct cmd *cmd);

/* One row of the table. */
struct gather_rule {
	uint16_t cmd; /* enum cmd_id */
	void (*merge)(struct request *r);
	bool (*allowed)(struct call *call); /* false: it was answered with an error; NULL: always */
	bool tolerant;
	bool aside; /* over connections of its own: a node answers it while a script runs */
	void *(*pack)(const struct call *call); /* what else the merging needs; NULL: nothing */
};
