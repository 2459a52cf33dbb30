/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "router/wire/resp.h"
#include "router/wire/resp_write.h"

static void heads_are_written(void **state)
{
	static const struct {
		int64_t n;
		const char *text;
	} rows[] = {
		{0, "*0\r\n"},
		{9, "*9\r\n"},
		{10, "*10\r\n"},
		{99, "*99\r\n"},
		{100, "*100\r\n"},
		{12345, "*12345\r\n"},
		{-1, "*-1\r\n"},
		{-10, "*-10\r\n"},
		{INT64_MAX, "*9223372036854775807\r\n"},
		{INT64_MIN, "*-9223372036854775808\r\n"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t buf[RESP_HEAD_SIZE];
		size_t size = (size_t)(resp_put_head(buf, '*', rows[i].n) - buf);
		assert_int_equal(size, strlen(rows[i].text));
		assert_memory_equal(buf, rows[i].text, size);
	}
}

static void bulks_are_written(void **state)
{
	uint8_t buf[64];
	(void)state;
	uint8_t *end = resp_put_bulk(buf, SPAN("a\r\n\0b"));
	assert_int_equal(end - buf, 11);
	assert_memory_equal(buf, "$5\r\na\r\n\0b\r\n", 11);
	end = resp_put_bulk(buf, span_of(NULL, 0));
	assert_int_equal(end - buf, 6);
	assert_memory_equal(buf, "$0\r\n\r\n", 6);
}

static void nulls_follow_the_version(void **state)
{
	uint8_t buf[8];
	(void)state;
	assert_int_equal(resp_put_null(buf, 2) - buf, 5);
	assert_memory_equal(buf, "$-1\r\n", 5);
	assert_int_equal(resp_put_null(buf, 3) - buf, 3);
	assert_memory_equal(buf, "_\r\n", 3);
}

static void a_bulks_size_is_exact(void **state)
{
	(void)state;
	for (size_t len = 1; len <= 1000000; len *= 10) {
		for (size_t n = len - 1; n <= len + 1; n++) {
			uint8_t head[RESP_HEAD_SIZE];
			size_t head_size = (size_t)(resp_put_head(head, '$', (int64_t)n) - head);
			assert_int_equal(resp_bulk_size(n), head_size + n + 2);
		}
	}
	assert_int_equal(resp_bulk_size(RESP_BULK_MAX), 1 + 9 + 2 + RESP_BULK_MAX + 2);
}

/* Into a heap block of exactly the size that was said, and read back. */
static void check_round_trip(const struct span *v, uint32_t n)
{
	size_t size = resp_request_size(v, n);
	uint8_t *wire = malloc(size);
	assert_non_null(wire);
	assert_ptr_equal(resp_put_request(wire, v, n), wire + size);
	struct resp_request st = {0};
	struct resp_args args = {0};
	assert_int_equal(resp_request_scan(&st, wire, size, &args), RESP_DONE);
	assert_int_equal(st.pos, size);
	assert_false(st.loose);
	assert_int_equal(args.n, n);
	for (uint32_t i = 0; i < n; i++)
		assert_true(span_eq(args.v[i], v[i]));
	resp_args_fini(&args);
	free(wire);
}

static void requests_written_are_read_back(void **state)
{
	static uint8_t noise[20000];
	struct span v[300];
	struct rng rng;
	rng_seed(&rng, 7);
	(void)state;
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)rng_u64(&rng);
	for (int round = 0; round < 300; round++) {
		uint32_t n = round % 3 == 0 ? rng_below(&rng, 300) : rng_below(&rng, 12);
		uint32_t longest = round % 10 == 0 ? 20000 : 120;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t len = rng_below(&rng, longest);
			v[i] = span_of(noise + rng_below(&rng, 20000 - len), len);
		}
		check_round_trip(v, n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads_are_written),
		cmocka_unit_test(bulks_are_written),
		cmocka_unit_test(nulls_follow_the_version),
		cmocka_unit_test(a_bulks_size_is_exact),
		cmocka_unit_test(requests_written_are_read_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
