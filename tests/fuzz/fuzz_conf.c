/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */

/*
 * Configuration files: any bytes.  What is refused is refused in printable lines, each with a place
 * or our name in front; what is taken and makes sense is printed as -t does, and what is printed
 * must be a file that makes the same configuration.  Password files are named, never opened.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "router/conf/conf_file.h"
#include "router/conf/conf_internal.h"

#define NAME "f"
#define POINTS_MAX 20000 /* printing builds the ring, which is not what is tested */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_lines(const char *err, unsigned problems)
{
	unsigned lines = 0;
	for (const char *end; (end = strchr(err, '\n')) != NULL; err = end + 1, lines++) {
		bool placed = strncmp(err, NAME ":", 2) == 0 && err[2] >= '1' && err[2] <= '9';
		CHECK(placed || strncmp(err, "ringway: ", 9) == 0);
		for (const char *p = err; p < end; p++)
			CHECK(*p >= 0x20 && *p < 0x7f);
	}
	CHECK(*err == '\0');
	CHECK(lines == problems || (problems > CONF_PROBLEMS_SHOWN && lines > CONF_PROBLEMS_SHOWN));
}

/* True: it is a configuration that could be served. */
static bool read_text(struct conf *c, const void *text, size_t len)
{
	char *err = NULL;
	size_t err_len;
	struct conf_report r = {.err = open_memstream(&err, &err_len)};
	CHECK(r.err != NULL);
	conf_init(c);
	bool good = conf_file_apply(c, span_of(text, len), NAME, &r);
	CHECK(good == (r.problems == 0));
	if (good)
		conf_check(c, &r);
	(void)fclose(r.err);
	check_lines(err, r.problems);
	free(err);
	return r.problems == 0;
}

static bool is_small(const struct conf *c)
{
	uint64_t points = 0;
	for (size_t i = 0; i < c->npools; i++) {
		const struct conf_pool *p = &c->pools[i];
		for (size_t k = 0; k < p->nnodes; k++)
			points += 1 + (uint64_t)p->ring_points * p->nodes[k].weight_milli / 1000;
	}
	return points <= POINTS_MAX;
}

static char *print(const struct conf *c)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	CHECK(f != NULL);
	conf_print(c, f);
	(void)fclose(f);
	return text;
}

static void check_printed(const struct conf *c)
{
	struct conf again;
	char *first = print(c);
	CHECK(read_text(&again, first, strlen(first)));
	CHECK(conf_reload_check(c, &again, stderr) == 0);
	CHECK(conf_print_changes(c, &again, stderr) == 0);
	char *second = print(&again);
	CHECK(strcmp(first, second) == 0);
	free(second);
	free(first);
	conf_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct conf c;
	uint8_t *copy = malloc(size); /* exactly as long: a read beyond the end is seen */
	CHECK(copy != NULL || size == 0);
	if (size > 0)
		memcpy(copy, data, size);
	if (read_text(&c, copy, size) && is_small(&c))
		check_printed(&c);
	free(copy);
	conf_fini(&c);
	return 0;
}
