/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/sha1.h"

static void assert_hash(const void *bytes, size_t n, const char *hex)
{
	uint8_t got[SHA1_SIZE], expected[SHA1_SIZE];
	uint8_t *exact = malloc(n + 1); /* so that a byte read too many shows */
	assert_non_null(exact);
	if (n > 0)
		memcpy(exact + 1, bytes, n);
	sha1(exact + 1, n, got);
	free(exact);
	assert_true(sha1_of_hex(span_str(hex), expected));
	assert_memory_equal(got, expected, SHA1_SIZE);
}

/* FIPS 180 and what redis-cli says. */
static void published_hashes_come_out(void **state)
{
	static const struct {
		const char *text;
		const char *hex;
	} rows[] = {
		{"", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
		{"abc", "a9993e364706816aba3e25717850c26c9cd0d89d"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
			"84983e441c3bd26ebaae4aa1f95129e5e54670f1"},
		{"return 1", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_hash(rows[i].text, strlen(rows[i].text), rows[i].hex);
}

/* Byte i is i * 7 + 1; the hashes are those of Python's hashlib. */
static void every_way_to_end_a_block_is_right(void **state)
{
	static const struct {
		size_t len;
		const char *hex;
	} rows[] = {
		{1, "bf8b4530d8d246dd74ac53a13471bba17941dff7"},
		{3, "29c4bb974bf7a401e2e225f0f9d7ab5e498cc742"},
		{55, "04bb34aef4880b625e6b1564a014abd25fc02bfe"},
		{56, "83b9fcb6d3e3b20f376ab989a1b6353bcc6c0f44"},
		{63, "ab15090e8dbe512f3733350f9623ab11f9b5165b"},
		{64, "54305ee7e4c7bc5a96afc6d1994fc52d9bcb665f"},
		{65, "5985422a25357371ebd2a7f6ecd7eebed43db42c"},
		{119, "6839d6c27f22ed884ac43ae6bd3bfcee9e04b938"},
		{120, "8c40517a14ab8b78fd4b8958f4e31254a34c3fb0"},
		{1000, "f50d11c8ae2b20fe2598e99a6a2cb859e302615c"},
	};
	uint8_t bytes[1000];
	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + 1);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_hash(bytes, rows[i].len, rows[i].hex);
}

static void a_million_bytes_are_hashed(void **state)
{
	size_t n = 1000000;
	uint8_t *bytes = malloc(n);
	(void)state;
	assert_non_null(bytes);
	memset(bytes, 'a', n);
	assert_hash(bytes, n, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
	free(bytes);
}

static void hexadecimal_digits_of_either_case_are_read(void **state)
{
	uint8_t lower[SHA1_SIZE], upper[SHA1_SIZE];
	(void)state;
	assert_true(sha1_of_hex(SPAN("0123456789abcdefa0b1c2d3e4f5ffffffffff00"), lower));
	assert_true(sha1_of_hex(SPAN("0123456789ABCDEFA0B1C2D3E4F5FFFFFFFFFF00"), upper));
	assert_memory_equal(lower, upper, SHA1_SIZE);
	assert_int_equal(lower[0], 0x01);
	assert_int_equal(lower[7], 0xef);
	assert_int_equal(lower[19], 0x00);
}

static void anything_else_is_no_hash_and_writes_nothing(void **state)
{
	static const char *const rows[] = {
		"",
		"short",
		"0123456789abcdefa0b1c2d3e4f5ffffffffff0",
		"0123456789abcdefa0b1c2d3e4f5ffffffffff000",
		"g123456789abcdefa0b1c2d3e4f5ffffffffff00",
		"0123456789abcdefa0b1c2d3e4f5ffffffffff0 ",
		"0123456789abcdefa0b1c2d3e4f5ffffffffff0@",
		"0123456789abcdefa0b1c2d3e4f5ffffffffff0`",
	};
	uint8_t got[SHA1_SIZE];
	(void)state;
	memset(got, 0x5a, sizeof(got));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_false(sha1_of_hex(span_str(rows[i]), got));
		for (size_t k = 0; k < sizeof(got); k++)
			assert_int_equal(got[k], 0x5a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_hashes_come_out),
		cmocka_unit_test(every_way_to_end_a_block_is_right),
		cmocka_unit_test(a_million_bytes_are_hashed),
		cmocka_unit_test(hexadecimal_digits_of_either_case_are_read),
		cmocka_unit_test(anything_else_is_no_hash_and_writes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
