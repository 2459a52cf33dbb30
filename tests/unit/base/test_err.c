/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/err.h"
#include "tests/unit/base/child.h"

static void every_own_code_has_its_own_text(void **state)
{
	(void)state;
	for (int i = 0; i < RW_ERR_COUNT; i++) {
		const char *text = rw_strerror(RW_ERR_BASE - i);
		assert_non_null(text);
		assert_string_not_equal(text, "unknown error");
		for (int j = 0; j < i; j++)
			assert_string_not_equal(text, rw_strerror(RW_ERR_BASE - j));
	}
	assert_string_equal(rw_strerror(RW_ENOTFOUND), "not found");
	assert_string_equal(rw_strerror(RW_ESYNTAX), "syntax error");
	assert_string_equal(rw_strerror(RW_ELIMIT), "limit reached");
}

static void system_codes_pass_through(void **state)
{
	(void)state;
	assert_string_equal(rw_strerror(0), "success");
	assert_string_equal(rw_strerror(-ENOENT), "No such file or directory");
	assert_string_equal(rw_strerror(-ECONNREFUSED), "Connection refused");
}

static void codes_of_nobody_have_a_text_too(void **state)
{
	static const int codes[] = {1, ENOENT, INT_MAX, INT_MIN, -1000, RW_ERR_BASE - RW_ERR_COUNT,
		RW_ERR_BASE - RW_ERR_COUNT - 1};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		assert_string_equal(rw_strerror(codes[i]), "unknown error");
}

static void break_an_invariant(void)
{
	volatile int two = 2;
	CHECK(two + two == 5);
}

static void reach_the_unreachable(void)
{
	UNREACHABLE();
}

struct stamped {
	uint32_t magic;
};

static void pass_the_wrong_kind(void)
{
	struct stamped s = {.magic = 1};
	struct stamped *volatile p = &s;
	CHECK_KIND(p, 2u);
}

static void pass_null(void)
{
	struct stamped *volatile p = NULL;
	CHECK_KIND(p, 2u);
}

static void a_broken_check_says_where_and_aborts(void **state)
{
	char said[4096];
	(void)state;
	assert_true(child_aborts(break_an_invariant, said, sizeof(said)));
	assert_non_null(strstr(said, "two + two == 5"));
	assert_non_null(strstr(said, "break_an_invariant"));
	assert_non_null(strstr(said, "test_err.c:"));
	assert_int_equal(said[strlen(said) - 1], '\n');
	assert_true(child_aborts(reach_the_unreachable, said, sizeof(said)));
	assert_non_null(strstr(said, "unreachable"));
	assert_true(child_aborts(pass_the_wrong_kind, said, sizeof(said)));
	assert_true(child_aborts(pass_null, said, sizeof(said)));
}

static void fail_at_length(void)
{
	char what[2000];
	memset(what, 'w', sizeof(what) - 1);
	what[sizeof(what) - 1] = '\0';
	check_failed("file.c", 1, "func", what);
}

static void a_long_check_is_cut_to_one_line(void **state)
{
	char said[4096];
	(void)state;
	assert_true(child_aborts(fail_at_length, said, sizeof(said)));
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
	assert_in_range(strlen(said), 100, 600);
}

static void a_check_that_holds_is_silent(void **state)
{
	struct stamped s = {.magic = 7};
	(void)state;
	CHECK(s.magic == 7);
	CHECK_KIND(&s, 7u);
}

static void the_clock_goes_forward(void **state)
{
	uint64_t last = clock_ns();
	(void)state;
	for (int i = 0; i < 1000; i++) {
		uint64_t now = clock_ns();
		assert_true(now >= last);
		last = now;
	}
	const struct timespec pause = {.tv_nsec = 2 * (long)NS_PER_MS};
	assert_int_equal(nanosleep(&pause, NULL), 0);
	assert_true(clock_ns() - last >= 2 * NS_PER_MS);
}

static void the_wall_clock_is_in_milliseconds(void **state)
{
	(void)state;
	uint64_t before = (uint64_t)time(NULL);
	uint64_t now = clock_wall_ms();
	uint64_t after = (uint64_t)time(NULL);
	assert_in_range(now / 1000, before, after + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_own_code_has_its_own_text),
		cmocka_unit_test(system_codes_pass_through),
		cmocka_unit_test(codes_of_nobody_have_a_text_too),
		cmocka_unit_test(a_broken_check_says_where_and_aborts),
		cmocka_unit_test(a_long_check_is_cut_to_one_line),
		cmocka_unit_test(a_check_that_holds_is_silent),
		cmocka_unit_test(the_clock_goes_forward),
		cmocka_unit_test(the_wall_clock_is_in_milliseconds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
