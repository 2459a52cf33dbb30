/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Runs the command line as main() does and keeps what it said.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "router/conf/conf.h"

#define RUN_ARGS_MAX 128

struct run {
	struct conf conf;
	enum conf_exit exit;
	char *out; /* owned */
	char *err; /* owned */
};

/* args: NULL-terminated, without the program's name. */
static inline void run_args(struct run *r, const char *const *args)
{
	char *argv[RUN_ARGS_MAX + 2] = {strdup("ringway")};
	int argc = 1;
	for (; args[argc - 1] != NULL; argc++) {
		assert_true(argc <= RUN_ARGS_MAX);
		argv[argc] = strdup(args[argc - 1]); /* exact: a read beyond the end is seen */
	}
	size_t out_len, err_len;
	FILE *out = open_memstream(&r->out, &out_len);
	FILE *err = open_memstream(&r->err, &err_len);
	assert_non_null(out);
	assert_non_null(err);
	memset(&r->conf, 0x5a, sizeof(r->conf)); /* the caller need not have cleared it */
	r->exit = conf_from_argv(&r->conf, argc, argv, out, err);
	(void)fclose(out);
	(void)fclose(err);
	for (int i = 0; i < argc; i++)
		free(argv[i]); /* nothing may be borrowed from argv */
}

static inline void run_fini(struct run *r)
{
	conf_fini(&r->conf);
	free(r->out);
	free(r->err);
}

/* What -t prints; the caller frees it. */
static inline char *run_print(const struct conf *c)
{
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	assert_non_null(f);
	conf_print(c, f);
	(void)fclose(f);
	return text;
}

/* A failed claim says which row of a table it was and what was printed. */
#define RUN_EXPECT(cond, row, r) \
	do { \
		if (!(cond)) \
			fail_msg("%s: %s\nexit %d\nout: %s\nerr: %s", (row), #cond, \
				(int)(r)->exit, (r)->out, (r)->err); \
	} while (0)
