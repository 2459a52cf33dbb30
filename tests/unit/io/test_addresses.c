/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "router/io/addresses.h"

static struct addr parsed(const char *text)
{
	struct addr a;
	const char *why = NULL;
	assert_int_equal(addr_parse(&a, text, &why), 0);
	return a;
}

static struct sockaddr_any literal(const char *text)
{
	struct addr a = parsed(text);
	struct addresses *l = NULL;
	assert_int_equal(addresses_of_literal(&l, &a), 0);
	assert_int_equal(l->n, 1);
	struct sockaddr_any at = l->at[0];
	addresses_unref(l);
	return at;
}

static void literals_need_nobody_to_resolve_them(void **state)
{
	static const char *const rows[] = {
		"127.0.0.1:7001", "[::1]:7002", "[2001:db8::9]:1", "unix:/run/x", "0.0.0.0:0"};
	char buf[128];
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct addr a = parsed(rows[i]);
		struct addresses *l = NULL;
		const char *why = NULL;
		assert_int_equal(addresses_of_literal(&l, &a), 0);
		assert_string_equal(addresses_print(l, buf, sizeof(buf)), rows[i]);
		struct addresses *again = NULL;
		assert_int_equal(addresses_resolve(&again, &a, &why), 0);
		assert_true(addresses_same(l, again));
		addresses_unref(l);
		addresses_unref(again);
	}
}

static void names_are_no_literals(void **state)
{
	static const char *const rows[] = {"localhost:1", "cache-1.example:6379", "a:1"};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct addr a = parsed(rows[i]);
		struct addresses *l = NULL;
		assert_int_equal(addresses_of_literal(&l, &a), RW_ERESOLVE);
		assert_null(l);
	}
}

static void a_name_keeps_each_of_its_addresses_once(void **state)
{
	struct addr a = parsed("localhost:7001");
	struct addresses *l = NULL;
	const char *why = NULL;
	(void)state;
	assert_int_equal(addresses_resolve(&l, &a, &why), 0);
	assert_in_range(l->n, 1, ADDRESSES_MAX);
	for (uint32_t i = 0; i < l->n; i++)
		for (uint32_t j = 0; j < i; j++)
			assert_false(sock_same(&l->at[i], &l->at[j]));
	struct sockaddr_any v4 = literal("127.0.0.1:7001");
	struct sockaddr_any v6 = literal("[::1]:7001");
	assert_true(addresses_have(l, &v4) || addresses_have(l, &v6));
	addresses_unref(l);
}

static void a_name_without_an_address_says_why(void **state)
{
	struct addr a = parsed("no-such-host.invalid:1");
	struct addresses *l = NULL;
	const char *why = NULL;
	(void)state;
	assert_int_equal(addresses_resolve(&l, &a, &why), RW_ERESOLVE);
	assert_non_null(why);
	assert_null(l);
}

static void socket_addresses_are_compared_by_what_they_mean(void **state)
{
	static const char *const rows[] = {"127.0.0.1:1", "127.0.0.1:2", "127.0.0.2:1", "[::1]:1",
		"[::1]:2", "[::2]:1", "unix:/a", "unix:/ab"};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t j = 0; j < ARRAY_LEN(rows); j++) {
			struct sockaddr_any x = literal(rows[i]);
			struct sockaddr_any y = literal(rows[j]);
			assert_true(sock_same(&x, &y) == (i == j));
		}
}

static struct addresses *list_of(const char *const *texts, size_t n)
{
	struct addresses *l = calloc(1, sizeof(*l) + n * sizeof(l->at[0]));
	assert_non_null(l);
	atomic_init(&l->refs, 1);
	for (size_t i = 0; i < n; i++)
		l->at[l->n++] = literal(texts[i]);
	return l;
}

static void lists_are_the_same_in_any_order(void **state)
{
	static const char *const ab[] = {"10.0.0.1:1", "10.0.0.2:1"};
	static const char *const ba[] = {"10.0.0.2:1", "10.0.0.1:1"};
	static const char *const ac[] = {"10.0.0.1:1", "10.0.0.3:1"};
	(void)state;
	struct addresses *l = list_of(ab, 2);
	struct addresses *turned = list_of(ba, 2);
	struct addresses *other = list_of(ac, 2);
	struct addresses *part = list_of(ab, 1);
	assert_true(addresses_same(l, l));
	assert_true(addresses_same(l, turned));
	assert_false(addresses_same(l, other));
	assert_false(addresses_same(l, part));
	assert_false(addresses_same(part, l));
	assert_false(addresses_same(l, NULL));
	assert_false(addresses_same(NULL, l));
	assert_true(addresses_same(NULL, NULL));
	assert_false(addresses_have(NULL, &l->at[0]));
	addresses_unref(l);
	addresses_unref(turned);
	addresses_unref(other);
	addresses_unref(part);
}

static void printing_cuts_to_fit(void **state)
{
	static const char *const two[] = {"10.0.0.1:1", "[::1]:22"};
	char buf[64];
	(void)state;
	struct addresses *l = list_of(two, 2);
	assert_string_equal(addresses_print(l, buf, sizeof(buf)), "10.0.0.1:1 [::1]:22");
	for (size_t size = 1; size < 20; size++) {
		memset(buf, 'x', sizeof(buf));
		(void)addresses_print(l, buf, size);
		assert_int_equal(strlen(buf), size - 1);
		assert_int_equal(buf[size], 'x');
	}
	assert_string_equal(addresses_print(NULL, buf, sizeof(buf)), "nowhere");
	addresses_unref(l);
}

static void the_last_reference_frees(void **state)
{
	static const char *const one[] = {"10.0.0.1:1"};
	(void)state;
	struct addresses *l = list_of(one, 1);
	assert_ptr_equal(addresses_ref(l), l);
	addresses_unref(l);
	assert_int_equal(atomic_load(&l->refs), 1);
	addresses_unref(l);
	assert_null(addresses_ref(NULL));
	addresses_unref(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(literals_need_nobody_to_resolve_them),
		cmocka_unit_test(names_are_no_literals),
		cmocka_unit_test(a_name_keeps_each_of_its_addresses_once),
		cmocka_unit_test(a_name_without_an_address_says_why),
		cmocka_unit_test(socket_addresses_are_compared_by_what_they_mean),
		cmocka_unit_test(lists_are_the_same_in_any_order),
		cmocka_unit_test(printing_cuts_to_fit),
		cmocka_unit_test(the_last_reference_frees),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
