/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <string.h>

#include "base/clock.h"
#include "router/upstream/retry.h"

#define START (UINT64_C(1000) * NS_PER_S)

static struct retry_budget b;

static int setup(void **state)
{
	(void)state;
	memset(&b, 0, sizeof(b));
	retry_budget_advance(&b, START);
	return 0;
}

static void requests(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		retry_budget_count(&b);
}

static unsigned takes(double share, unsigned most)
{
	unsigned n = 0;
	while (n < most && retry_budget_take(&b, share))
		n++;
	return n;
}

static void a_quiet_pool_has_ten(void **state)
{
	(void)state;
	assert_int_equal(takes(0.2, 100), 10);
	assert_int_equal(takes(0.2, 1), 0);
}

static void a_busy_pool_has_its_share(void **state)
{
	static const struct {
		unsigned requests;
		double share;
		unsigned retries;
	} rows[] = {
		{1000, 0.2, 200},
		{1000, 0.0, 10},
		{49, 0.2, 10},
		{54, 0.2, 10}, /* 10.8: no part of a retry */
		{55, 0.2, 11},
		{100, 1.0, 100},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		(void)setup(NULL);
		requests(rows[i].requests);
		assert_int_equal(takes(rows[i].share, 1000), rows[i].retries);
	}
}

static void what_is_older_than_ten_seconds_is_forgotten(void **state)
{
	(void)state;
	requests(1000);
	assert_int_equal(takes(0.2, 1000), 200);
	retry_budget_advance(&b, START + 9 * NS_PER_S + NS_PER_S - 1);
	assert_int_equal(takes(0.2, 1000), 0);
	retry_budget_advance(&b, START + 10 * NS_PER_S);
	assert_int_equal(takes(0.2, 1000), 10);
}

static void seconds_pass_one_by_one(void **state)
{
	(void)state;
	for (unsigned s = 0; s < 25; s++) {
		retry_budget_advance(&b, START + s * NS_PER_S);
		requests(100);
	}
	/* the last ten seconds: 1000 requests */
	assert_int_equal(takes(0.2, 10000), 200);
}

static void a_long_pause_forgets_everything(void **state)
{
	(void)state;
	requests(1000);
	assert_int_equal(takes(0.2, 1000), 200);
	retry_budget_advance(&b, START + 3600 * NS_PER_S);
	assert_int_equal(takes(0.2, 1000), 10);
}

static void time_within_a_second_changes_nothing(void **state)
{
	(void)state;
	requests(100);
	for (uint64_t t = START; t < START + NS_PER_S; t += NS_PER_S / 100)
		retry_budget_advance(&b, t);
	assert_int_equal(takes(0.2, 1000), 20);
	assert_int_equal(b.now, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_quiet_pool_has_ten, setup),
		cmocka_unit_test_setup(a_busy_pool_has_its_share, setup),
		cmocka_unit_test_setup(what_is_older_than_ten_seconds_is_forgotten, setup),
		cmocka_unit_test_setup(seconds_pass_one_by_one, setup),
		cmocka_unit_test_setup(a_long_pause_forgets_everything, setup),
		cmocka_unit_test_setup(time_within_a_second_changes_nothing, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
