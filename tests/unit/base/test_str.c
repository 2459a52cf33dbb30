/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rand.h"
#include "base/str.h"

static int sign(int v)
{
	return (v > 0) - (v < 0);
}

static void spans_order_by_byte_then_length(void **state)
{
	static const struct {
		struct span a;
		struct span b;
		int want;
	} rows[] = {
		{{NULL, 0}, {NULL, 0}, 0},
		{{NULL, 0}, {(const uint8_t *)"a", 1}, -1},
		{{(const uint8_t *)"a", 1}, {(const uint8_t *)"b", 1}, -1},
		{{(const uint8_t *)"ab", 2}, {(const uint8_t *)"b", 1}, -1},
		{{(const uint8_t *)"a", 1}, {(const uint8_t *)"ab", 2}, -1},
		{{(const uint8_t *)"a\0b", 3}, {(const uint8_t *)"a\0c", 3}, -1},
		{{(const uint8_t *)"\x7f", 1}, {(const uint8_t *)"\x80", 1}, -1},
		{{(const uint8_t *)"same", 4}, {(const uint8_t *)"same", 4}, 0},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(sign(span_cmp(rows[i].a, rows[i].b)), rows[i].want);
		assert_int_equal(sign(span_cmp(rows[i].b, rows[i].a)), -rows[i].want);
		assert_int_equal(span_eq(rows[i].a, rows[i].b), rows[i].want == 0);
	}
}

static void case_is_ascii_only(void **state)
{
	(void)state;
	assert_true(span_eq_nocase(SPAN("GeT"), SPAN("gEt")));
	assert_true(span_eq_nocase(SPAN(""), span_of(NULL, 0)));
	assert_false(span_eq_nocase(SPAN("get"), SPAN("gets")));
	assert_false(span_eq_nocase(SPAN("get"), SPAN("gut")));
	assert_false(span_eq_nocase(SPAN("\xc4"), SPAN("\xe4")));
	assert_false(span_eq_nocase(SPAN("@[`{"), SPAN("`{@[")));
	for (int c = 0; c < 256; c++) {
		bool upper = c >= 'A' && c <= 'Z';
		assert_int_equal(ascii_lower((uint8_t)c), upper ? c - 'A' + 'a' : c);
	}
}

static void fits_never_overflows(void **state)
{
	static const struct {
		size_t used;
		size_t add;
		size_t limit;
		bool want;
	} rows[] = {
		{0, 0, 0, true},
		{0, 1, 0, false},
		{1, 0, 0, false},
		{5, 5, 10, true},
		{5, 6, 10, false},
		{SIZE_MAX, 1, SIZE_MAX, false},
		{1, SIZE_MAX, SIZE_MAX, false},
		{SIZE_MAX, SIZE_MAX, 10, false},
		{0, SIZE_MAX, SIZE_MAX, true},
		{11, 0, 10, false},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(fits(rows[i].used, rows[i].add, rows[i].limit), rows[i].want);
}

static const char *const no_numbers[] = {
	"",
	"-",
	"+1",
	"01",
	"00",
	"-0",
	"-01",
	" 1",
	"1 ",
	"1a",
	"a",
	"1.0",
	"0x1",
	"--1",
	"1-",
	"\t1",
	"1\n",
	"1e3",
	"18446744073709551616",
	"99999999999999999999",
	"100000000000000000000000000",
	"9999999999999999999999999999999999999999",
};

static void text_that_is_no_number_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(no_numbers); i++) {
		uint64_t u = 77;
		int64_t s = 77;
		assert_false(span_to_u64(span_str(no_numbers[i]), UINT64_MAX, &u));
		assert_false(span_to_i64(span_str(no_numbers[i]), &s));
		assert_int_equal(u, 77); /* untouched */
		assert_int_equal(s, 77);
	}
	uint64_t v = 0;
	assert_false(span_to_u64(SPAN("1\0"), UINT64_MAX, &v));
	assert_false(span_to_u64(SPAN("-1"), UINT64_MAX, &v));
}

static void unsigned_numbers_stop_at_their_limit(void **state)
{
	static const struct {
		const char *text;
		uint64_t max;
		bool ok;
	} rows[] = {
		{"0", 0, true},
		{"1", 0, false},
		{"65535", 65535, true},
		{"65536", 65535, false},
		{"18446744073709551615", UINT64_MAX, true},
		{"18446744073709551615", UINT64_MAX - 1, false},
		{"18446744073709551609", UINT64_MAX, true},
		{"18446744073709551620", UINT64_MAX, false},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t v = 77;
		assert_int_equal(span_to_u64(span_str(rows[i].text), rows[i].max, &v), rows[i].ok);
		assert_int_equal(v, rows[i].ok ? strtoull(rows[i].text, NULL, 10) : 77);
	}
}

static void signed_numbers_reach_both_ends(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		int64_t want;
	} rows[] = {
		{"0", true, 0},
		{"-1", true, -1},
		{"9223372036854775807", true, INT64_MAX},
		{"9223372036854775808", false, 0},
		{"-9223372036854775808", true, INT64_MIN},
		{"-9223372036854775809", false, 0},
		{"-9223372036854775807", true, -INT64_MAX},
		{"-18446744073709551615", false, 0},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t v = 77;
		assert_int_equal(span_to_i64(span_str(rows[i].text), &v), rows[i].ok);
		assert_int_equal(v, rows[i].ok ? rows[i].want : 77);
	}
}

static void assert_dec_round_trips(uint64_t v)
{
	char buf[32];
	char want[32];
	uint64_t u;
	int64_t s;

	memset(buf, '~', sizeof(buf));
	size_t n = u64_to_dec(v, buf);
	assert_int_equal(n, snprintf(want, sizeof(want), "%" PRIu64, v));
	assert_memory_equal(buf, want, n);
	assert_int_equal(buf[n], '~'); /* no NUL */
	assert_true(span_to_u64(span_of(buf, n), UINT64_MAX, &u));
	assert_int_equal(u, v);

	n = i64_to_dec((int64_t)v, buf);
	assert_int_equal(n, snprintf(want, sizeof(want), "%" PRId64, (int64_t)v));
	assert_memory_equal(buf, want, n);
	assert_true(span_to_i64(span_of(buf, n), &s));
	assert_int_equal(s, (int64_t)v);
}

static void numbers_survive_a_round_trip(void **state)
{
	static const uint64_t edges[] = {
		0, 1, 9, 10, 99, 100, INT64_MAX, (uint64_t)INT64_MIN, UINT64_MAX};
	struct rng r;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(edges); i++)
		assert_dec_round_trips(edges[i]);
	rng_seed(&r, 4);
	for (int i = 0; i < 20000; i++)
		assert_dec_round_trips(rng_u64(&r) >> rng_below(&r, 64));
}

static void globs_match_as_redis_does(void **state)
{
	static const struct {
		const char *pattern;
		const char *text;
		bool want;
	} rows[] = {
		{"", "", true},
		{"", "a", false},
		{"*", "", false},
		{"**", "", false},
		{"*", "a", true},
		{"user:*", "user:1", true},
		{"user:*", "user:", true},
		{"user:*", "use", false},
		{"*:1", "user:1", true},
		{"*:1", "user:12", false},
		{"a*b*c", "aXbYbZc", true},
		{"a*b*c", "aXbYbZ", false},
		{"*a", "aaab", false},
		{"*aab", "aaaab", true},
		{"h?llo", "hello", true},
		{"h?llo", "hllo", false},
		{"?", "", false},
		{"??", "a", false},
		{"[ab]", "b", true},
		{"[ab]", "c", false},
		{"[^ab]", "c", true},
		{"[^ab]", "a", false},
		{"[a-c]x", "bx", true},
		{"[c-a]x", "bx", true},
		{"[a-c]", "d", false},
		{"[]", "a", false},
		{"[^]", "a", true},
		{"[a", "a", true},
		{"[a", "b", false},
		{"[", "[", false},
		{"[^", "x", true},
		{"[a-]", "]", true},
		{"[a-]", "b", false},
		{"[\\]]", "]", true},
		{"[\\-a]", "-", true},
		{"[\\", "\\", true},
		{"\\*", "*", true},
		{"\\*", "a", false},
		{"a\\", "a\\", true},
		{"\\a", "a", true},
		{"a**********b", "ab", true},
		{"a]", "a]", true},
		{"GET", "get", false},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool got = span_glob(span_str(rows[i].pattern), span_str(rows[i].text), false);
		if (got != rows[i].want)
			fail_msg("pattern '%s' text '%s': %d", rows[i].pattern, rows[i].text, got);
	}
}

/* Answers of COMMAND LIST FILTERBY PATTERN, which ignores case, of redis-server 7.0.15. */
static void globs_without_case_match_as_redis_does(void **state)
{
	static const struct {
		const char *pattern;
		bool want;
	} rows[] = {
		{"GET", true},
		{"gEt", true},
		{"G[D-F]T", true},
		{"G[f-d]T", true},
		{"[\\G]ET", false},
		{"[\\g]ET", true},
		{"\\GET", true},
		{"[A-z]et", true},
		{"[^F]ET", true},
		{"[^G]ET", false},
		{"[a-Z]et", false},
		{"[h-A]et", true},
		{"[H-a]et", false},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool got = span_glob(span_str(rows[i].pattern), SPAN("get"), true);
		if (got != rows[i].want)
			fail_msg("pattern '%s': %d", rows[i].pattern, got);
	}
}

#define GLOB_TEXTS 16
#define GLOB_LONGEST 5

struct glob_tally {
	uint64_t digest; /* FNV-1a of every answer, in order */
	unsigned hits[GLOB_TEXTS];
};

static void tally_pattern(struct glob_tally *t, struct span pattern)
{
	static const char *const texts[GLOB_TEXTS] = {
		"a",
		"b",
		"c",
		"-",
		"]",
		"^",
		"\\",
		"[",
		"aa",
		"ab",
		"ba",
		"a]",
		"-a",
		"aab",
		"aba",
		"bab",
	};
	for (size_t i = 0; i < GLOB_TEXTS; i++) {
		bool hit = span_glob(pattern, span_str(texts[i]), false);
		t->hits[i] += hit;
		t->digest = (t->digest ^ hit) * UINT64_C(1099511628211);
	}
}

/*
 * Every pattern of up to five of the bytes below, 66430 of them.  What is expected was recorded
 * from redis-server 7.0.15: KEYS of each pattern in a database that holds the sixteen texts.
 */
static void globs_agree_with_a_real_redis_on_every_short_pattern(void **state)
{
	static const char bytes[] = "ab*?[]^-\\";
	static const unsigned want[GLOB_TEXTS] = {2873, 2720, 790, 2321, 1455, 2452, 1853, 2986,
		1203, 1180, 1213, 707, 1198, 954, 982, 971};
	struct glob_tally t = {.digest = UINT64_C(14695981039346656037)};
	uint8_t pattern[GLOB_LONGEST];
	const unsigned base = sizeof(bytes) - 1;
	unsigned combinations = 1;
	(void)state;
	for (unsigned len = 0; len <= GLOB_LONGEST; len++, combinations *= base) {
		for (unsigned k = 0; k < combinations; k++) {
			for (unsigned i = 0, rest = k; i < len; i++, rest /= base)
				pattern[len - 1 - i] = (uint8_t)bytes[rest % base];
			tally_pattern(&t, span_of(pattern, len));
		}
	}
	assert_memory_equal(t.hits, want, sizeof(want));
	assert_int_equal(t.digest, UINT64_C(0x65fab074f91a523b));
}

/* With a recursive matcher this takes longer than the universe has. */
static void hostile_globs_end(void **state)
{
	static uint8_t text[4000];
	static uint8_t pattern[401];
	(void)state;
	memset(text, 'a', sizeof(text));
	for (size_t i = 0; i < sizeof(pattern) - 1; i += 2)
		memcpy(pattern + i, "*a", 2);
	pattern[sizeof(pattern) - 1] = 'b';
	assert_false(
		span_glob(span_of(pattern, sizeof(pattern)), span_of(text, sizeof(text)), false));
	assert_true(span_glob(
		span_of(pattern, sizeof(pattern) - 1), span_of(text, sizeof(text)), false));
}

static void globs_read_nothing_behind_their_ends(void **state)
{
	static const char *const patterns[] = {
		"[", "[^", "[a", "[a-", "[\\", "\\", "*", "*[", "*\\", "[a-z", "?"};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
		size_t n = strlen(patterns[i]);
		uint8_t *exact =
			malloc(n); /* a heap block of the very size: ASan sees one byte too far */
		uint8_t *one = malloc(1);
		assert_non_null(exact);
		assert_non_null(one);
		memcpy(exact, patterns[i], n);
		*one = 'a';
		(void)span_glob(span_of(exact, n), span_of(one, 1), false);
		(void)span_glob(span_of(exact, n), span_of(one, 1), true);
		free(exact);
		free(one);
	}
}

static void distance_counts_edits(void **state)
{
	static const struct {
		const char *a;
		const char *b;
		unsigned want;
	} rows[] = {
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "abc", 0},
		{"listen", "lisen", 1},
		{"kitten", "sitting", 3},
		{"timeout", "timeouts", 1},
		{"weight", "wieght", 2},
		{"a", "b", 1},
		{"abc", "cab", 2},
		{"flaw", "lawn", 2},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(
			span_distance(span_str(rows[i].a), span_str(rows[i].b)), rows[i].want);
		assert_int_equal(
			span_distance(span_str(rows[i].b), span_str(rows[i].a)), rows[i].want);
	}
}

static void distance_looks_at_63_bytes(void **state)
{
	uint8_t a[200];
	uint8_t b[200];
	(void)state;
	memset(a, 'a', sizeof(a));
	memset(b, 'b', sizeof(b));
	assert_int_equal(span_distance(span_of(a, 200), span_of(b, 200)), 63);
	assert_int_equal(span_distance(span_of(a, 200), span_of(a, 63)), 0);
	assert_int_equal(span_distance(span_of(a, 200), span_of(a, 62)), 1);
	assert_int_equal(span_distance(span_of(a, 200), span_of(NULL, 0)), 63);
}

/* The span ends where its memory does: the sanitizers see a byte too much. */
static void copies_end_in_a_nul_of_their_own(void **state)
{
	(void)state;
	uint8_t *bytes = malloc(3);
	assert_non_null(bytes);
	memcpy(bytes, "abc", 3);
	char *copy = span_dup(span_of(bytes, 3));
	assert_string_equal(copy, "abc");
	free(copy);
	copy = span_dup(span_of(NULL, 0));
	assert_string_equal(copy, "");
	free(copy);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_order_by_byte_then_length),
		cmocka_unit_test(case_is_ascii_only),
		cmocka_unit_test(fits_never_overflows),
		cmocka_unit_test(text_that_is_no_number_is_refused),
		cmocka_unit_test(unsigned_numbers_stop_at_their_limit),
		cmocka_unit_test(signed_numbers_reach_both_ends),
		cmocka_unit_test(numbers_survive_a_round_trip),
		cmocka_unit_test(globs_match_as_redis_does),
		cmocka_unit_test(globs_without_case_match_as_redis_does),
		cmocka_unit_test(globs_agree_with_a_real_redis_on_every_short_pattern),
		cmocka_unit_test(hostile_globs_end),
		cmocka_unit_test(globs_read_nothing_behind_their_ends),
		cmocka_unit_test(distance_counts_edits),
		cmocka_unit_test(distance_looks_at_63_bytes),
		cmocka_unit_test(copies_end_in_a_nul_of_their_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
