/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Commands that the table does not know: of modules and of newer servers.  A node is asked COMMAND INFO for them, once;
 * what it says is kept in a bounded table of the worker, "unknown" only for a while.
 *
 * While the question is under way the client is not read on: its request stays where it is and is looked at again when
 * the answer has come, so that its commands keep their order.
 *
 * Worker-owned.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "router/wire/cmd.h"

#define FOREIGN_NAME_MAX 64

struct call;
struct request;
struct worker;
struct foreign; /* a worker's table */
struct foreign_name;

enum foreign_result {
	FOREIGN_KNOWN,   /* *ret is set; it lives as long as the worker */
	FOREIGN_UNKNOWN, /* no node knows it, or too many have been asked for lately */
	FOREIGN_ASKED,   /* a node is being asked: look again when the client's queue is empty */
};

/* What is known of the command that the call names; asks a node if that may help. */
enum foreign_result foreign_find(struct call *call, const struct cmd **ret);

/* The node's answer to the question that `r` stands for: a whole reply, or an error. */
void foreign_learn(struct request *r, const uint8_t *reply, size_t n, bool failed);

/* The question is over, answered or not. */
void foreign_asked(struct foreign_name *e);

void foreign_free(struct foreign *f);
