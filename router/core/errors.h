/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * The router's own words.  Each writes one complete error reply into a text buffer.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "router/core/request.h"
#include "router/wire/cmd.h"

struct text {
	size_t len;
	char at[512]; /* always ends in CR LF */
};

/* "-" text CR LF; control characters become spaces, as Redis does. */
void error_text(struct text *t, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* -UNAVAILABLE node 'x': why, or -OVERLOADED for a full queue. */
void error_unavailable(
	struct text *t, const struct request *r, const struct part *p, enum up_why why);

void error_unknown_command(struct text *t, const struct span *args, size_t n);
/* An EXEC that was not sent any more: nothing was done. */
void error_never_sent(
	struct text *t, const struct request *r, const struct part *p, enum up_why why);

void error_arity(struct text *t, const struct cmd *cmd);
void error_not_served(struct text *t, const struct cmd *cmd);

extern const struct span error_crossslot;
