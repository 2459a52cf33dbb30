/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <pthread.h>
#include <string.h>

#include "router/metrics/metrics.h"

static void blocks_are_zero_and_fill_whole_lines(void **state)
{
	(void)state;
	struct metric_block *b = metric_block_new();
	assert_int_equal((uintptr_t)b % CACHE_LINE, 0);
	for (size_t m = 0; m < METRIC_COUNT; m++)
		assert_int_equal(b->v[m], 0);
	for (size_t f = 0; f < CMD_FAMILY_COUNT; f++)
		assert_int_equal(hist_total(&b->family[f]), 0);
	metric_block_free(b);
	metric_block_free(NULL);

	struct node_block *n = node_blocks_new(3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal((uintptr_t)&n[i] % CACHE_LINE, 0);
		assert_int_equal(n[i].v[NM_INFLIGHT], 0);
		assert_int_equal(hist_total(&n[i].latency), 0);
	}
	node_blocks_free(n);
	node_blocks_free(NULL);
}

static void sums_run_over_all_workers(void **state)
{
	(void)state;
	struct metric_block *blocks[] = {
		metric_block_new(), metric_block_new(), metric_block_new()};
	for (size_t i = 0; i < ARRAY_LEN(blocks); i++) {
		metric_add(blocks[i], M_REQUESTS, i + 1);
		metric_add(blocks[i], M_REQUESTS, 10);
	}
	assert_int_equal(metric_sum(blocks, 3, M_REQUESTS), 36);
	assert_int_equal(metric_sum(blocks, 2, M_REQUESTS), 23);
	assert_int_equal(metric_sum(blocks, 0, M_REQUESTS), 0);
	assert_int_equal(metric_sum(blocks, 3, M_CLIENTS), 0);
	for (size_t i = 0; i < ARRAY_LEN(blocks); i++)
		metric_block_free(blocks[i]);
}

static void sums_of_a_node_run_over_its_workers(void **state)
{
	(void)state;
	struct node_block *b = node_blocks_new(2);
	node_metric_add(&b[0], NM_REQUESTS, 4);
	node_metric_add(&b[1], NM_REQUESTS, 5);
	node_metric_add(&b[1], NM_TIMEOUTS, 1);
	assert_int_equal(node_metric_sum(b, 2, NM_REQUESTS), 9);
	assert_int_equal(node_metric_sum(b, 1, NM_REQUESTS), 4);
	assert_int_equal(node_metric_sum(b, 2, NM_TIMEOUTS), 1);
	node_blocks_free(b);
}

/* What one worker raises another may lower: only the sum means something. */
static void gauges_go_down_by_adding_minus_one(void **state)
{
	(void)state;
	struct metric_block *blocks[] = {metric_block_new(), metric_block_new()};
	metric_add(blocks[0], M_CLIENTS, 1);
	metric_add(blocks[0], M_CLIENTS, 1);
	metric_add(blocks[1], M_CLIENTS, (uint64_t)-1);
	assert_int_equal(metric_sum(blocks, 2, M_CLIENTS), 1);
	metric_block_free(blocks[0]);
	metric_block_free(blocks[1]);
}

#define ADDS 50000

static void *add_many(void *arg)
{
	struct metric_block *b = arg;
	for (int i = 0; i < ADDS; i++)
		metric_add(b, M_REQUESTS, 1);
	return NULL;
}

static void a_sum_may_be_taken_while_workers_add(void **state)
{
	struct metric_block *blocks[] = {metric_block_new(), metric_block_new()};
	pthread_t threads[2];
	uint64_t last = 0;
	bool monotone = true;
	(void)state;
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_many, blocks[i]), 0);
	for (int i = 0; i < 1000; i++) {
		uint64_t sum = metric_sum(blocks, 2, M_REQUESTS);
		monotone &= sum >= last;
		last = sum;
	}
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_true(monotone);
	assert_int_equal(metric_sum(blocks, 2, M_REQUESTS), 2 * ADDS);
	metric_block_free(blocks[0]);
	metric_block_free(blocks[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_zero_and_fill_whole_lines),
		cmocka_unit_test(sums_run_over_all_workers),
		cmocka_unit_test(sums_of_a_node_run_over_its_workers),
		cmocka_unit_test(gauges_go_down_by_adding_minus_one),
		cmocka_unit_test(a_sum_may_be_taken_while_workers_add),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
