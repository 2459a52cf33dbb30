/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "router/core/stats.h"

struct two {
	struct stats *s[2];
	const struct stats *all[2];
};

static int setup(void **state)
{
	static struct two t;
	for (int i = 0; i < 2; i++)
		t.all[i] = t.s[i] = stats_new();
	*state = &t;
	return 0;
}

static int teardown(void **state)
{
	struct two *t = *state;
	for (int i = 0; i < 2; i++)
		stats_free(t->s[i]);
	return 0;
}

typedef void print_fn(FILE *out, const struct stats *const *all, size_t n);

static void expect(print_fn *print, const struct two *t, const char *want)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	assert_non_null(out);
	print(out, t->all, 2);
	(void)fclose(out);
	assert_string_equal(text, want);
	free(text);
}

static const struct cmd *cmd(enum cmd_id id)
{
	return cmd_at(id);
}

static void fails(struct stats *s, enum cmd_id id, const char *error)
{
	stats_failed(s, cmd(id), error, strlen(error));
}

static void nothing_is_told_of_what_never_happened(void **state)
{
	expect(stats_print_commands, *state, "");
	expect(stats_print_errors, *state, "");
}

static void calls_of_all_workers_add_up(void **state)
{
	struct two *t = *state;
	stats_called(t->s[0], cmd(CMD_ID_GET), 10);
	stats_called(t->s[1], cmd(CMD_ID_GET), 5);
	stats_called(t->s[1], cmd(CMD_ID_CONFIG_GET), 1);
	fails(t->s[1], CMD_ID_GET, "-WRONGTYPE x\r\n");
	stats_rejected(t->s[0], cmd(CMD_ID_MGET), "-NOPERM no\r\n", 12);
	expect(stats_print_commands, t,
		"cmdstat_config|get:calls=1,usec=1,usec_per_call=1.00,rejected_calls=0,failed_"
		"calls=0"
		"\r\n"
		"cmdstat_get:calls=2,usec=15,usec_per_call=7.50,rejected_calls=0,failed_calls=1\r\n"
		"cmdstat_mget:calls=0,usec=0,usec_per_call=0.00,rejected_calls=1,failed_calls="
		"0\r\n");
	assert_int_equal(stats_total_errors(t->all, 2), 2);
}

static void commands_of_no_row_count_as_errors_only(void **state)
{
	struct two *t = *state;
	const struct cmd foreign = {.name = "ft.search", .id = CMD_COUNT};
	stats_called(t->s[0], &foreign, 10);
	stats_failed(t->s[0], &foreign, "-ERR x\r\n", 8);
	stats_rejected(t->s[0], NULL, "-ERR y\r\n", 8);
	expect(stats_print_commands, t, "");
	expect(stats_print_errors, t, "errorstat_ERR:count=2\r\n");
}

static void errors_are_told_apart_by_their_first_word(void **state)
{
	struct two *t = *state;
	fails(t->s[0], CMD_ID_GET, "-ERR a b\r\n");
	fails(t->s[0], CMD_ID_GET, "-WRONGTYPE Operation\r\n");
	fails(t->s[1], CMD_ID_GET, "-WRONGTYPE Operation\r\n");
	fails(t->s[1], CMD_ID_GET, "-BUSY\r\n");
	fails(t->s[1], CMD_ID_GET, "!21\r\nSYNTAX"); /* not a line: of no sort */
	fails(t->s[1], CMD_ID_GET, "-");
	fails(t->s[1], CMD_ID_GET, "");
	fails(t->s[1], CMD_ID_GET, "- x\r\n");
	expect(stats_print_errors, t,
		"errorstat_ERR:count=5\r\nerrorstat_WRONGTYPE:count=2\r\nerrorstat_BUSY:count="
		"1\r\n");
	assert_int_equal(stats_total_errors(t->all, 2), 8);
}

static void long_words_are_cut(void **state)
{
	struct two *t = *state;
	fails(t->s[0], CMD_ID_GET, "-ABCDEFGHIJABCDEFGHIJABCDEFGHIJABCDEFGHIJ x\r\n");
	fails(t->s[0], CMD_ID_GET, "-ABCDEFGHIJABCDEFGHIJABCDEFGHIJAxyz\r\n");
	expect(stats_print_errors, t, "errorstat_ABCDEFGHIJABCDEFGHIJABCDEFGHIJA:count=2\r\n");
}

static void sorts_beyond_the_most_are_only_counted(void **state)
{
	struct two *t = *state;
	char error[16];
	for (int i = 0; i < 3 * ERROR_SORTS; i++) {
		(void)snprintf(error, sizeof(error), "-E%d x\r\n", i);
		fails(t->s[0], CMD_ID_GET, error);
	}
	fails(t->s[0], CMD_ID_GET, "-E0 again\r\n");
	assert_int_equal(stats_total_errors(t->all, 2), 3 * ERROR_SORTS + 1);
	assert_int_equal(atomic_load(&t->s[0]->nsorts), ERROR_SORTS);
	assert_int_equal(atomic_load(&t->s[0]->sorts[0].count), 2);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nothing_is_told_of_what_never_happened),
		T(calls_of_all_workers_add_up),
		T(commands_of_no_row_count_as_errors_only),
		T(errors_are_told_apart_by_their_first_word),
		T(long_words_are_cut),
		T(sorts_beyond_the_most_are_only_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
