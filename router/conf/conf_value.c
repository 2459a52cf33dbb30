/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/conf/conf_value.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/err.h"
#include "ring/ring.h"

struct unit {
	struct span suffix;
	uint64_t factor;
};

/* Larger ones first: printing takes the first that divides.  Reading compares the whole suffix. */
static const struct unit sizes[] = {
	{{(const uint8_t *)"gb", 2}, UINT64_C(1) << 30},
	{{(const uint8_t *)"mb", 2}, UINT64_C(1) << 20},
	{{(const uint8_t *)"kb", 2}, UINT64_C(1) << 10},
	{{(const uint8_t *)"b", 1}, 1},
	{{(const uint8_t *)"", 0}, 1},
};

static const struct unit times[] = {
	{{(const uint8_t *)"m", 1}, 60 * NS_PER_S},
	{{(const uint8_t *)"s", 1}, NS_PER_S},
	{{(const uint8_t *)"ms", 2}, NS_PER_MS},
	{{(const uint8_t *)"us", 2}, NS_PER_US},
	{{(const uint8_t *)"ns", 2}, 1},
};

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static size_t count_digits(struct span s)
{
	size_t n = 0;
	while (n < s.len && is_digit(s.ptr[n]))
		n++;
	return n;
}

int conf_read_count(struct span s, uint64_t *ret)
{
	if (s.len == 0 || count_digits(s) != s.len || (s.ptr[0] == '0' && s.len > 1))
		return RW_ESYNTAX;
	return span_to_u64(s, UINT64_MAX, ret) ? 0 : RW_ERANGE;
}

void conf_show_count(uint64_t v, char buf[CONF_VALUE_MAX])
{
	(void)snprintf(buf, CONF_VALUE_MAX, "%" PRIu64, v);
}

int conf_read_mode(struct span s, uint64_t *ret)
{
	uint64_t v = 0;
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] < '0' || s.ptr[i] > '7')
			return RW_ESYNTAX;
		if (v > UINT64_MAX >> 3)
			return RW_ERANGE;
		v = v << 3 | (uint64_t)(s.ptr[i] - '0');
	}
	if (s.len == 0)
		return RW_ESYNTAX;
	*ret = v;
	return 0;
}

void conf_show_mode(uint64_t v, char buf[CONF_VALUE_MAX])
{
	(void)snprintf(buf, CONF_VALUE_MAX, "%" PRIo64, v);
}

static int read_scaled(struct span s, const struct unit *units, size_t n, uint64_t *ret)
{
	size_t digits = count_digits(s);
	struct span suffix = span_of(s.ptr + digits, s.len - digits);
	for (size_t i = 0; i < n; i++) {
		if (!span_eq_nocase(suffix, units[i].suffix))
			continue;
		uint64_t v;
		int r = conf_read_count(span_of(s.ptr, digits), &v);
		if (r == 0 && __builtin_mul_overflow(v, units[i].factor, &v))
			r = RW_ERANGE;
		if (r == 0)
			*ret = v;
		return r;
	}
	return RW_ESYNTAX;
}

/* The largest unit, from units[first] on, that leaves no rest. */
static void show_scaled(uint64_t v, const struct unit *units, size_t first, char *buf)
{
	size_t i = first;
	while (v % units[i].factor != 0)
		i++; /* ends: the last factor is 1 */
	(void)snprintf(buf, CONF_VALUE_MAX, "%" PRIu64 "%s", v / units[i].factor,
		(const char *)units[i].suffix.ptr);
}

int conf_read_size(struct span s, uint64_t *ret)
{
	return read_scaled(s, sizes, ARRAY_LEN(sizes), ret);
}

void conf_show_size(uint64_t v, char buf[CONF_VALUE_MAX])
{
	if (v == 0 || v % 1024 != 0)
		conf_show_count(v, buf);
	else
		show_scaled(v, sizes, 0, buf);
}

int conf_read_time(struct span s, uint64_t *ret)
{
	if (span_eq(s, SPAN("0"))) {
		*ret = 0;
		return 0;
	}
	return read_scaled(s, times, ARRAY_LEN(times), ret);
}

/* In seconds at most: 60s and 90s are easier to compare than 1m and 90s. */
void conf_show_time(uint64_t v, char buf[CONF_VALUE_MAX])
{
	if (v == 0)
		conf_show_count(v, buf);
	else
		show_scaled(v, times, 1, buf);
}

/* The digits behind the point as thousandths. */
static int read_fraction(struct span s, uint64_t *ret)
{
	if (s.len < 1 || s.len > 3 || count_digits(s) != s.len)
		return RW_ESYNTAX;
	uint64_t v = 0;
	for (size_t i = 0; i < 3; i++)
		v = v * 10 + (i < s.len ? (uint64_t)(s.ptr[i] - '0') : 0);
	*ret = v;
	return 0;
}

int conf_read_decimal(struct span s, uint64_t *ret)
{
	size_t digits = count_digits(s);
	uint64_t whole, part = 0;
	if (digits < s.len) {
		struct span rest = span_of(s.ptr + digits, s.len - digits);
		if (rest.ptr[0] != '.' ||
			read_fraction(span_of(rest.ptr + 1, rest.len - 1), &part) != 0)
			return RW_ESYNTAX;
	}
	int r = conf_read_count(span_of(s.ptr, digits), &whole);
	if (r != 0)
		return r;
	if (__builtin_mul_overflow(whole, 1000, &whole) ||
		__builtin_add_overflow(whole, part, &whole))
		return RW_ERANGE;
	*ret = whole;
	return 0;
}

void conf_show_decimal(uint64_t v, char buf[CONF_VALUE_MAX])
{
	int n = snprintf(buf, CONF_VALUE_MAX, "%" PRIu64 ".%03u", v / 1000, (unsigned)(v % 1000));
	while (n > 0 && buf[n - 1] == '0')
		n--;
	if (n > 0 && buf[n - 1] == '.')
		n--;
	buf[n] = '\0';
}

int conf_read_percent(struct span s, uint64_t *ret)
{
	if (s.len == 0 || s.ptr[s.len - 1] != '%')
		return RW_ESYNTAX;
	return conf_read_decimal(span_of(s.ptr, s.len - 1), ret);
}

void conf_show_percent(uint64_t v, char buf[CONF_VALUE_MAX])
{
	conf_show_decimal(v, buf);
	size_t n = strlen(buf);
	(void)snprintf(buf + n, CONF_VALUE_MAX - n, "%%");
}

int conf_read_bool(struct span s, uint64_t *ret)
{
	static const char *const words[] = {"false", "no", "off", "true", "yes", "on"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (!span_eq(s, span_str(words[i])))
			continue;
		*ret = i >= ARRAY_LEN(words) / 2;
		return 0;
	}
	return RW_ESYNTAX;
}

void conf_show_bool(uint64_t v, char buf[CONF_VALUE_MAX])
{
	(void)snprintf(buf, CONF_VALUE_MAX, "%s", v ? "true" : "false");
}

static bool name_byte_ok(uint8_t c)
{
	return is_digit(c) || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z') ||
	       (c != 0 && strchr("._:-[]/%", c) != NULL);
}

bool conf_name_ok(struct span name)
{
	for (size_t i = 0; i < name.len; i++) {
		if (!name_byte_ok(name.ptr[i]))
			return false;
	}
	return name.len >= 1 && name.len <= RING_NAME_MAX;
}
