/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "router/core/info_sum.h"

static void add(struct info_sum *s, const char *text)
{
	/* in memory of just its size, so that a sanitizer sees a read past its end */
	size_t n = strlen(text);
	char *copy = malloc(n + 1);
	assert_non_null(copy);
	memcpy(copy, text, n + 1);
	info_sum_add(s, span_of(copy, n));
	free(copy);
}

static struct info_sum sum_of(const char *a, const char *b)
{
	struct info_sum s;
	info_sum_init(&s);
	add(&s, a);
	add(&s, b);
	return s;
}

static void numbers_merge_each_in_its_way(void **state)
{
	static const struct {
		const char *a, *b;
		enum info_field field;
		uint64_t want;
	} rows[] = {
		{"used_memory:10\r\n", "used_memory:32\r\n", INFO_used_memory, 42},
		{"used_memory:10\r\n", "", INFO_used_memory, 10},
		{"used_memory:10\r\n", "used_memory:x\r\n", INFO_used_memory, 10},
		{"used_memory:18446744073709551615\n", "used_memory:1\n", INFO_used_memory,
			UINT64_MAX},
		{"loading:0\r\n", "loading:1\r\n", INFO_loading, 1},
		{"loading:1\r\n", "loading:0\r\n", INFO_loading, 1},
		{"rdb_last_save_time:7\r\n", "rdb_last_save_time:5\r\n", INFO_rdb_last_save_time,
			5},
		{"maxmemory:100\r\n", "maxmemory:50\r\n", INFO_maxmemory, 150},
		{"maxmemory:100\r\n", "maxmemory:0\r\n", INFO_maxmemory, 0},
		{"maxmemory:0\r\n", "maxmemory:100\r\n", INFO_maxmemory, 0},
		{"# Stats\r\nkeyspace_hits:3\r\nkeyspace_misses:4\r\n", "keyspace_hits:5",
			INFO_keyspace_hits, 8},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct info_sum s = sum_of(rows[i].a, rows[i].b);
		assert_true(s.seen[rows[i].field]);
		assert_int_equal(s.v[rows[i].field], rows[i].want);
		assert_int_equal(s.nodes, 2);
		info_sum_fini(&s);
	}
}

static void what_nobody_said_is_not_seen(void **state)
{
	(void)state;
	struct info_sum s = sum_of("used_memory:1\r\n", "used_memory_human:1B\r\n:\r\n\r\n:5\r\n");
	for (size_t i = 0; i < INFO_FIELD_COUNT; i++)
		assert_int_equal(s.seen[i], i == INFO_used_memory);
	assert_null(s.missing);
	assert_string_equal(s.version, "");
	info_sum_fini(&s);
}

static void databases_add_up_in_order(void **state)
{
	(void)state;
	struct info_sum s = sum_of("# Keyspace\r\ndb3:keys=2,expires=1,avg_ttl=100\r\n",
		"# Keyspace\r\ndb0:keys=5,expires=0,avg_ttl=0\r\n"
		"db3:keys=10,expires=3,avg_ttl=500,subexpiry=0\r\ndb12:keys=1,expires=7,avg_ttl="
		"0\r\n");
	assert_int_equal(s.ndatabases, 3);
	assert_int_equal(s.databases[0].number, 0);
	assert_int_equal(s.databases[0].keys, 5);
	assert_int_equal(s.databases[1].number, 3);
	assert_int_equal(s.databases[1].keys, 12);
	assert_int_equal(s.databases[1].expires, 4);
	assert_true(s.databases[1].ttl_ms > 1599 && s.databases[1].ttl_ms < 1601);
	assert_true(s.databases[1].ttl_keys > 3.9 && s.databases[1].ttl_keys < 4.1);
	assert_int_equal(s.databases[2].number, 12);
	assert_true(s.databases[2].ttl_keys < 0.1); /* a node that has not looked yet */
	info_sum_fini(&s);
}

static void lines_that_only_look_like_databases_are_passed_over(void **state)
{
	static const char *const wrong[] = {"db:keys=1,expires=0", "dbx:keys=1,expires=0",
		"db1:keys=,expires=0", "db1:keys=1", "db1:", "db1", "db01:keys=1,expires=0",
		"db65537:keys=1,expires=0", "db99999999999999999999:keys=1,expires=0",
		"db1:keys=x,expires=0", "db1:expires=0,key=1", "d:1", "db-1:keys=1,expires=0"};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct info_sum s = sum_of(wrong[i], "");
		assert_int_equal(s.ndatabases, 0);
		info_sum_fini(&s);
	}
}

static void the_lowest_version_is_told(void **state)
{
	static const struct {
		const char *a, *b, *want;
	} rows[] = {
		{"redis_version:7.0.15\r\n", "redis_version:7.0.9\r\n", "7.0.9"},
		{"redis_version:7.0.9\r\n", "redis_version:7.0.15\r\n", "7.0.9"},
		{"redis_version:7.2.0\r\n", "redis_version:6.2.14\r\n", "6.2.14"},
		{"redis_version:255.255.255\r\n", "redis_version:7.0.15\r\n", "7.0.15"},
		{"redis_version:7.0\r\n", "redis_version:7.0.1\r\n", "7.0"},
		{"redis_version:7.0.1\r\n", "redis_version:7.0\r\n", "7.0"},
		{"redis_version:7.0.1\r\n", "", "7.0.1"},
		{"redis_version:7.0.1-rc1\r\n", "redis_version:7.0.1-rc2\r\n", "7.0.1-rc1"},
		{"redis_version:x\r\n", "redis_version:y\r\n", "x"},
		{"redis_version:7.0.1\r\n",
			"redis_version:00000000000000000000000000000000000000000000000001\r\n",
			"7.0.1"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct info_sum s = sum_of(rows[i].a, rows[i].b);
		assert_string_equal(s.version, rows[i].want);
		info_sum_fini(&s);
	}
}

static void words_merge(void **state)
{
	(void)state;
	struct info_sum s = sum_of("maxmemory_policy:allkeys-lru\r\nrdb_last_bgsave_status:ok\r\n",
		"maxmemory_policy:allkeys-lru\r\nrdb_last_bgsave_status:ok\r\n");
	assert_string_equal(s.maxmemory_policy, "allkeys-lru");
	assert_false(s.bgsave_failed);
	add(&s, "maxmemory_policy:noeviction\r\nrdb_last_bgsave_status:err\r\n");
	assert_string_equal(s.maxmemory_policy, "mixed");
	assert_true(s.bgsave_failed);
	add(&s, "maxmemory_policy:allkeys-lru\r\nrdb_last_bgsave_status:ok\r\n");
	assert_string_equal(s.maxmemory_policy, "mixed");
	assert_true(s.bgsave_failed);
	info_sum_fini(&s);
}

static void missing_nodes_are_named(void **state)
{
	struct info_sum s;
	(void)state;
	info_sum_init(&s);
	info_sum_missing(&s, "cache-1");
	assert_string_equal(s.missing, "cache-1");
	info_sum_missing(&s, "b");
	info_sum_missing(&s, "c-3");
	assert_string_equal(s.missing, "cache-1,b,c-3");
	assert_int_equal(s.nodes, 0);
	info_sum_fini(&s);
	assert_null(s.missing);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(numbers_merge_each_in_its_way),
		T(what_nobody_said_is_not_seen),
		T(databases_add_up_in_order),
		T(lines_that_only_look_like_databases_are_passed_over),
		T(the_lowest_version_is_told),
		T(words_merge),
		T(missing_nodes_are_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
