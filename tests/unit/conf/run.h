/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Runs the command line as main() does and keeps what it said.
 */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* ------------------------------------------------------------------------------------------------
 * Files: a group of tests may run in a folder of its own, so that their names are known.
 */
static inline int run_enter_folder(void **state)
{
	char path[] = "/tmp/ringway-conf.XXXXXX";
	if (mkdtemp(path) == NULL || chdir(path) != 0)
		return -1;
	*state = strdup(path);
	return *state != NULL ? 0 : -1;
}

/* cmocka calls it also after an entering that failed: then there is nothing to remove. */
static inline int run_leave_folder(void **state)
{
	char *path = *state;
	DIR *dir = path != NULL ? opendir(path) : NULL;
	if (dir == NULL)
		return -1;
	for (const struct dirent *e; (e = readdir(dir)) != NULL;) /* NOLINT: one thread */
		(void)unlinkat(dirfd(dir), e->d_name, 0);
	(void)closedir(dir);
	int r = chdir("/") == 0 ? rmdir(path) : -1;
	free(path);
	return r;
}

static inline void run_write(const char *name, const void *bytes, size_t len)
{
	FILE *f = fopen(name, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(name, 0600), 0);
}

#define RUN_FILE "f.yml"

/* -c f.yml with these flags. */
static inline void run_file(struct run *r, const char *text, const char *const *args)
{
	const char *all[RUN_ARGS_MAX] = {"-c", RUN_FILE};
	for (size_t n = 0; args != NULL && args[n] != NULL; n++) {
		assert_true(n + 3 < RUN_ARGS_MAX);
		all[n + 2] = args[n];
	}
	run_write(RUN_FILE, text, strlen(text));
	run_args(r, all);
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
