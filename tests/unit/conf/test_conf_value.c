/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/rand.h"
#include "router/conf/conf_value.h"

typedef int read_fn(struct span s, uint64_t *ret);
typedef void show_fn(uint64_t v, char buf[CONF_VALUE_MAX]);

struct row {
	read_fn *read;
	const char *text;
	int result;
	uint64_t value;
};

#define NAME_MAX_BYTES 128
#define UNTOUCHED UINT64_C(0x5a5a5a5a5a5a5a5a)

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(rows[i].text);
		char *exact = malloc(len + 1);
		assert_non_null(exact);
		memcpy(exact, rows[i].text, len);
		uint64_t v = UNTOUCHED;
		int r = rows[i].read(span_of(exact, len), &v);
		uint64_t want = rows[i].result == 0 ? rows[i].value : UNTOUCHED;
		if (r != rows[i].result || v != want)
			fail_msg("'%s': %d %ju", rows[i].text, r, (uintmax_t)v);
		free(exact);
	}
}

static void counts_are_plain_digits(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{conf_read_count, "0", 0, 0},
		{conf_read_count, "17", 0, 17},
		{conf_read_count, "18446744073709551615", 0, UINT64_MAX},
		{conf_read_count, "18446744073709551616", RW_ERANGE, 0},
		{conf_read_count, "99999999999999999999999999", RW_ERANGE, 0},
		{conf_read_count, "", RW_ESYNTAX, 0},
		{conf_read_count, "01", RW_ESYNTAX, 0},
		{conf_read_count, "-1", RW_ESYNTAX, 0},
		{conf_read_count, "+1", RW_ESYNTAX, 0},
		{conf_read_count, " 1", RW_ESYNTAX, 0},
		{conf_read_count, "1 ", RW_ESYNTAX, 0},
		{conf_read_count, "1.0", RW_ESYNTAX, 0},
		{conf_read_count, "0x10", RW_ESYNTAX, 0},
		{conf_read_count, "1e3", RW_ESYNTAX, 0},
	};
	check_rows(rows, ARRAY_LEN(rows));
}

static void modes_are_octal(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{conf_read_mode, "0", 0, 0},
		{conf_read_mode, "660", 0, 0660},
		{conf_read_mode, "0660", 0, 0660},
		{conf_read_mode, "777", 0, 0777},
		{conf_read_mode, "1777777777777777777777", 0, UINT64_MAX},
		{conf_read_mode, "2000000000000000000000", RW_ERANGE, 0},
		{conf_read_mode, "17777777777777777777770", RW_ERANGE, 0},
		{conf_read_mode, "", RW_ESYNTAX, 0},
		{conf_read_mode, "8", RW_ESYNTAX, 0},
		{conf_read_mode, "668", RW_ESYNTAX, 0},
		{conf_read_mode, "rw", RW_ESYNTAX, 0},
		{conf_read_mode, "0x1", RW_ESYNTAX, 0},
		{conf_read_mode, "-1", RW_ESYNTAX, 0},
		{conf_read_mode, "7 ", RW_ESYNTAX, 0},
	};
	check_rows(rows, ARRAY_LEN(rows));
}

static void sizes_are_powers_of_1024(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{conf_read_size, "0", 0, 0},
		{conf_read_size, "1", 0, 1},
		{conf_read_size, "1b", 0, 1},
		{conf_read_size, "1kb", 0, 1024},
		{conf_read_size, "16KB", 0, 16384},
		{conf_read_size, "4mb", 0, 4194304},
		{conf_read_size, "2Gb", 0, UINT64_C(2147483648)},
		{conf_read_size, "17179869183gb", 0, UINT64_C(17179869183) << 30},
		{conf_read_size, "17179869184gb", RW_ERANGE, 0},
		{conf_read_size, "18446744073709551616", RW_ERANGE, 0},
		{conf_read_size, "1k", RW_ESYNTAX, 0}, /* 1000 to Redis, 1024 to others */
		{conf_read_size, "1m", RW_ESYNTAX, 0},
		{conf_read_size, "1g", RW_ESYNTAX, 0},
		{conf_read_size, "1tb", RW_ESYNTAX, 0},
		{conf_read_size, "1kib", RW_ESYNTAX, 0},
		{conf_read_size, "1 kb", RW_ESYNTAX, 0},
		{conf_read_size, "1.5mb", RW_ESYNTAX, 0},
		{conf_read_size, "-1kb", RW_ESYNTAX, 0},
		{conf_read_size, "kb", RW_ESYNTAX, 0},
		{conf_read_size, "", RW_ESYNTAX, 0},
		{conf_read_size, "1kbx", RW_ESYNTAX, 0},
	};
	check_rows(rows, ARRAY_LEN(rows));
}

static void times_need_a_unit_but_for_zero(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{conf_read_time, "0", 0, 0},
		{conf_read_time, "0s", 0, 0},
		{conf_read_time, "7ns", 0, 7},
		{conf_read_time, "50us", 0, 50000},
		{conf_read_time, "250ms", 0, 250000000},
		{conf_read_time, "1s", 0, 1000000000},
		{conf_read_time, "2m", 0, UINT64_C(120000000000)},
		{conf_read_time, "1S", 0, 1000000000},
		{conf_read_time, "18446744073s", 0, UINT64_C(18446744073000000000)},
		{conf_read_time, "18446744074s", RW_ERANGE, 0},
		{conf_read_time, "99999999999999999999ms", RW_ERANGE, 0},
		{conf_read_time, "10", RW_ESYNTAX, 0},
		{conf_read_time, "00", RW_ESYNTAX, 0},
		{conf_read_time, "1.5s", RW_ESYNTAX, 0},
		{conf_read_time, "-1s", RW_ESYNTAX, 0},
		{conf_read_time, "1 s", RW_ESYNTAX, 0},
		{conf_read_time, "1h", RW_ESYNTAX, 0},
		{conf_read_time, "1min", RW_ESYNTAX, 0},
		{conf_read_time, "s", RW_ESYNTAX, 0},
		{conf_read_time, "", RW_ESYNTAX, 0},
	};
	check_rows(rows, ARRAY_LEN(rows));
}

static void decimals_have_at_most_three_places(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{conf_read_decimal, "0", 0, 0},
		{conf_read_decimal, "1", 0, 1000},
		{conf_read_decimal, "0.5", 0, 500},
		{conf_read_decimal, "0.001", 0, 1},
		{conf_read_decimal, "12.345", 0, 12345},
		{conf_read_decimal, "1.50", 0, 1500},
		{conf_read_decimal, "1000.000", 0, 1000000},
		{conf_read_decimal, "18446744073709551.615", 0, UINT64_MAX},
		{conf_read_decimal, "18446744073709551.616", RW_ERANGE, 0},
		{conf_read_decimal, "18446744073709552", RW_ERANGE, 0},
		{conf_read_decimal, "99999999999999999999", RW_ERANGE, 0},
		{conf_read_decimal, "1.2345", RW_ESYNTAX, 0},
		{conf_read_decimal, "1.0000", RW_ESYNTAX, 0},
		{conf_read_decimal, "1.", RW_ESYNTAX, 0},
		{conf_read_decimal, ".5", RW_ESYNTAX, 0},
		{conf_read_decimal, "1,5", RW_ESYNTAX, 0},
		{conf_read_decimal, "1.5.5", RW_ESYNTAX, 0},
		{conf_read_decimal, "1.-5", RW_ESYNTAX, 0},
		{conf_read_decimal, "-1", RW_ESYNTAX, 0},
		{conf_read_decimal, "01", RW_ESYNTAX, 0},
		{conf_read_decimal, "1e3", RW_ESYNTAX, 0},
		{conf_read_decimal, "nan", RW_ESYNTAX, 0},
		{conf_read_decimal, "inf", RW_ESYNTAX, 0},
		{conf_read_decimal, "", RW_ESYNTAX, 0},
		{conf_read_percent, "20%", 0, 20000},
		{conf_read_percent, "12.5%", 0, 12500},
		{conf_read_percent, "0%", 0, 0},
		{conf_read_percent, "20", RW_ESYNTAX, 0},
		{conf_read_percent, "0.2", RW_ESYNTAX, 0},
		{conf_read_percent, "20%%", RW_ESYNTAX, 0},
		{conf_read_percent, "%", RW_ESYNTAX, 0},
		{conf_read_percent, "", RW_ESYNTAX, 0},
	};
	check_rows(rows, ARRAY_LEN(rows));
}

static void bools_are_six_words(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{conf_read_bool, "true", 0, 1},
		{conf_read_bool, "yes", 0, 1},
		{conf_read_bool, "on", 0, 1},
		{conf_read_bool, "false", 0, 0},
		{conf_read_bool, "no", 0, 0},
		{conf_read_bool, "off", 0, 0},
		{conf_read_bool, "1", RW_ESYNTAX, 0},
		{conf_read_bool, "0", RW_ESYNTAX, 0},
		{conf_read_bool, "True", RW_ESYNTAX, 0},
		{conf_read_bool, "tru", RW_ESYNTAX, 0},
		{conf_read_bool, "truee", RW_ESYNTAX, 0},
		{conf_read_bool, "", RW_ESYNTAX, 0},
	};
	check_rows(rows, ARRAY_LEN(rows));
}

static void values_are_shown_as_people_write_them(void **state)
{
	(void)state;
	static const struct {
		show_fn *show;
		uint64_t value;
		const char *text;
	} rows[] = {
		{conf_show_size, 0, "0"},
		{conf_show_size, 1000, "1000"},
		{conf_show_size, 1024, "1kb"},
		{conf_show_size, 1536, "1536"},
		{conf_show_size, 64 << 20, "64mb"},
		{conf_show_size, UINT64_C(2) << 30, "2gb"},
		{conf_show_size, (UINT64_C(2) << 30) + 1024, "2097153kb"},
		{conf_show_time, 0, "0"},
		{conf_show_time, 250000000, "250ms"},
		{conf_show_time, UINT64_C(60000000000), "60s"},
		{conf_show_time, 1500000000, "1500ms"},
		{conf_show_time, 1500, "1500ns"},
		{conf_show_time, 50000, "50us"},
		{conf_show_decimal, 0, "0"},
		{conf_show_decimal, 1000, "1"},
		{conf_show_decimal, 1500, "1.5"},
		{conf_show_decimal, 1, "0.001"},
		{conf_show_decimal, 1000000, "1000"},
		{conf_show_percent, 20000, "20%"},
		{conf_show_percent, 12500, "12.5%"},
		{conf_show_bool, 1, "true"},
		{conf_show_bool, 0, "false"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char buf[CONF_VALUE_MAX];
		rows[i].show(rows[i].value, buf);
		assert_string_equal(buf, rows[i].text);
	}
}

static void what_is_shown_is_read_back(void **state)
{
	(void)state;
	static const struct {
		read_fn *read;
		show_fn *show;
	} pairs[] = {
		{conf_read_count, conf_show_count},
		{conf_read_size, conf_show_size},
		{conf_read_time, conf_show_time},
		{conf_read_decimal, conf_show_decimal},
		{conf_read_percent, conf_show_percent},
	};
	struct rng rng;
	rng_seed(&rng, 7);
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		for (int n = 0; n < 20000; n++) {
			uint64_t v = n == 0 ? UINT64_MAX : rng_u64(&rng) >> rng_below(&rng, 64);
			if (n % 3 == 0 && n > 0)
				v = v / 1000000 * 1000000;
			if (n % 3 == 1)
				v &= ~UINT64_C(0xfffff);
			char buf[CONF_VALUE_MAX];
			uint64_t back = ~v;
			pairs[i].show(v, buf);
			assert_int_equal(pairs[i].read(span_str(buf), &back), 0);
			assert_true(back == v);
		}
	}
}

static void names_have_the_bytes_of_addresses_and_no_more(void **state)
{
	(void)state;
	char longest[NAME_MAX_BYTES + 2];
	memset(longest, 'n', sizeof(longest));
	assert_true(conf_name_ok(span_of(longest, NAME_MAX_BYTES)));
	assert_false(conf_name_ok(span_of(longest, NAME_MAX_BYTES + 1)));
	assert_false(conf_name_ok(span_of(longest, 0)));
	for (unsigned c = 0; c < 256; c++) {
		uint8_t byte = (uint8_t)c;
		bool letter =
			(c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
		bool other = c != 0 && strchr(".-_:[]/%", (int)c) != NULL;
		assert_int_equal(conf_name_ok(span_of(&byte, 1)), letter || other);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_plain_digits),
		cmocka_unit_test(modes_are_octal),
		cmocka_unit_test(sizes_are_powers_of_1024),
		cmocka_unit_test(times_need_a_unit_but_for_zero),
		cmocka_unit_test(decimals_have_at_most_three_places),
		cmocka_unit_test(bools_are_six_words),
		cmocka_unit_test(values_are_shown_as_people_write_them),
		cmocka_unit_test(what_is_shown_is_read_back),
		cmocka_unit_test(names_have_the_bytes_of_addresses_and_no_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
