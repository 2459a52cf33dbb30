/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */

/*
 * What the request scanner makes of a stream of bytes, for comparison with a real server.
 *
 *     resp_dump [--anonymous] < cases
 *
 * --anonymous: as from a client that has not logged in.
 * A case is a line "LENGTH PIECE", then LENGTH bytes.  They are scanned as if they came in pieces
 * of PIECE bytes (0: all at once).  For each case:
 *
 *     request array|inline strict|loose :HEX :HEX ...     one line a request, its arguments in hex
 *     more   |   bad TEXT                                 how it ends
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "router/wire/resp.h"

static void print_request(const struct resp_request *st, const struct resp_args *args)
{
	printf("request %s %s", st->inline_form ? "inline" : "array",
		st->loose ? "loose" : "strict");
	for (uint32_t i = 0; i < args->n; i++) {
		printf(" :");
		for (size_t j = 0; j < args->v[i].len; j++)
			printf("%02x", args->v[i].ptr[j]);
	}
	putchar('\n');
}

/* The next request of what is not used yet, with `piece` more bytes a call. */
static enum resp_status next_request(
	struct resp_request *st, struct span in, size_t *have, size_t piece, struct resp_args *args)
{
	for (;;) {
		enum resp_status r = resp_request_scan(st, in.ptr, *have, args);
		if (r == RESP_DONE && !st->split_done)
			resp_request_split(in.ptr, st->pos, args);
		if (r != RESP_MORE || *have == in.len)
			return r;
		*have = piece > 0 && fits(*have, piece, in.len) ? *have + piece : in.len;
	}
}

static void dump(struct span in, size_t piece, bool anonymous)
{
	struct resp_args args = {0};
	struct resp_request st = {.anonymous = anonymous};
	enum resp_status r;
	size_t have = piece > 0 && piece < in.len ? piece : in.len;
	while ((r = next_request(&st, in, &have, piece, &args)) == RESP_DONE) {
		print_request(&st, &args);
		in = span_of(in.ptr + st.pos, in.len - st.pos);
		have -= st.pos;
		resp_request_reset(&st);
	}
	if (r == RESP_BAD)
		printf("bad %s\n", st.error);
	else
		printf("more\n");
	resp_args_fini(&args);
}

int main(int argc, char **argv)
{
	bool anonymous = argc > 1 && strcmp(argv[1], "--anonymous") == 0;
	char line[64];
	while (fgets(line, sizeof(line), stdin) != NULL) {
		char *end;
		size_t len = strtoull(line, &end, 10);
		size_t piece = strtoull(end, &end, 10);
		uint8_t *bytes = malloc(len ? len : 1);
		CHECK(*end == '\n' && bytes != NULL);
		if (fread(bytes, 1, len, stdin) != len)
			return 1;
		dump(span_of(bytes, len), piece, anonymous);
		free(bytes);
	}
	return 0;
}
