/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * A reply of the router's own, put together piece by piece.  Not for the hot path: it is written
 * to a memory stream and then handed to the client in one piece.
 */

#include <stdio.h>

#include "base/str.h"
#include "router/core/dispatch.h"

struct answer {
	FILE *out;
	char *buf; /* owned by `out`'s stream until it is sent */
	size_t size;
	int resp; /* 2 or 3: how maps, sets and nulls look */
};

void answer_begin(struct answer *a, const struct call *call);
/* For a request whose call is over. */
void answer_begin_as(struct answer *a, int resp);
/* Hands it to the client and frees it. */
void answer_send(struct answer *a, const struct call *call);
/* The same for a request that has waited: it is its whole reply. */
void answer_request(struct answer *a, struct request *r);
/* The same for one whose parts are being merged: it counts as answered already. */
void answer_merged(struct answer *a, struct request *r);

void answer_array(struct answer *a, size_t n);
void answer_map(struct answer *a, size_t pairs); /* in RESP2 an array of 2 * pairs */
void answer_set(struct answer *a, size_t n);     /* in RESP2 an array */
void answer_bulk(struct answer *a, struct span s);
void answer_str(struct answer *a, const char *s);
void answer_int(struct answer *a, int64_t n);
void answer_null(struct answer *a);
/* One line as it stands, without CR LF: "+OK", "-ERR ...". */
void answer_line(struct answer *a, const char *line);
/* Text for people and for INFO: a verbatim string in RESP3. */
void answer_text(struct answer *a, struct span s);

/* +OK and other constant replies. */
void answer_const(const struct call *call, const char *wire);
