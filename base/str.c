/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "base/str.h"

#include <stdlib.h>

#include "base/check.h"

/*
 * Nothing here looks at the locale.  The glob is Redis 7.0's: a class that is not closed ends with
 * the pattern, a range may be written backwards, an escaped byte in a class is compared with its
 * case, and a text of no bytes matches only a pattern of no bytes.
 */

#define DISTANCE_MAX 63u

int span_cmp(struct span a, struct span b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int r = n == 0 ? 0 : memcmp(a.ptr, b.ptr, n);

	if (r != 0)
		return r;
	return (a.len > b.len) - (a.len < b.len);
}

bool span_eq_nocase(struct span a, struct span b)
{
	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++)
		if (ascii_lower(a.ptr[i]) != ascii_lower(b.ptr[i]))
			return false;
	return true;
}

bool span_to_u64(struct span s, uint64_t max, uint64_t *ret)
{
	uint64_t v = 0;

	if (s.len == 0 || (s.ptr[0] == '0' && s.len > 1))
		return false;
	for (size_t i = 0; i < s.len; i++) {
		unsigned digit = (unsigned)s.ptr[i] - '0';
		if (digit > 9 || v > UINT64_MAX / 10 || digit > UINT64_MAX - v * 10)
			return false;
		v = v * 10 + digit;
	}
	if (v > max)
		return false;
	*ret = v;
	return true;
}

bool span_to_i64(struct span s, int64_t *ret)
{
	uint64_t v;

	if (s.len == 0 || s.ptr[0] != '-') {
		if (!span_to_u64(s, INT64_MAX, &v))
			return false;
		*ret = (int64_t)v;
		return true;
	}
	const uint64_t most_negative = (uint64_t)INT64_MAX + 1;
	if (!span_to_u64(span_of(s.ptr + 1, s.len - 1), most_negative, &v) || v == 0)
		return false; /* "-0" is no number to Redis */
	*ret = v == most_negative ? INT64_MIN : -(int64_t)v;
	return true;
}

size_t u64_to_dec(uint64_t v, char *buf)
{
	char rev[20];
	size_t n = 0;

	do
		rev[n++] = (char)('0' + v % 10);
	while ((v /= 10) != 0);
	for (size_t i = 0; i < n; i++)
		buf[i] = rev[n - 1 - i];
	return n;
}

size_t i64_to_dec(int64_t v, char *buf)
{
	if (v >= 0)
		return u64_to_dec((uint64_t)v, buf);
	buf[0] = '-';
	return 1 + u64_to_dec(UINT64_C(0) - (uint64_t)v, buf + 1);
}

static uint8_t folded(uint8_t c, bool nocase)
{
	return nocase ? ascii_lower(c) : c;
}

static bool in_range(uint8_t from, uint8_t to, uint8_t c, bool nocase)
{
	uint8_t low = folded(from < to ? from : to, nocase);
	uint8_t high = folded(from < to ? to : from, nocase);

	c = folded(c, nocase);
	return c >= low && c <= high;
}

/* Matches c with the class whose '[' is at pattern[*at]; *at then is behind the class. */
static bool glob_class(struct span pattern, size_t *at, uint8_t c, bool nocase)
{
	const uint8_t *p = pattern.ptr;
	size_t i = *at + 1;
	bool negated = i < pattern.len && p[i] == '^';
	bool found = false;

	if (negated)
		i++;
	while (i < pattern.len && p[i] != ']') {
		size_t left = pattern.len - i;
		if (p[i] == '\\' && left >= 2) {
			found |= p[i + 1] == c;
			i += 2;
		} else if (left >= 3 && p[i + 1] == '-') {
			found |= in_range(p[i], p[i + 2], c, nocase);
			i += 3;
		} else {
			found |= folded(p[i], nocase) == folded(c, nocase);
			i++;
		}
	}
	*at = i < pattern.len ? i + 1 : i;
	return found != negated;
}

/* Matches c with the element at pattern[*at], which is no star; *at then is behind the element. */
static bool glob_element(struct span pattern, size_t *at, uint8_t c, bool nocase)
{
	const uint8_t *p = pattern.ptr;

	if (p[*at] == '[')
		return glob_class(pattern, at, c, nocase);
	if (p[*at] == '?') {
		(*at)++;
		return true;
	}
	if (p[*at] == '\\' && pattern.len - *at >= 2)
		(*at)++;
	return folded(p[(*at)++], nocase) == folded(c, nocase);
}

/*
 * Every element but the star takes exactly one byte, so only the last star seen ever needs to take
 * one byte more: two places to go back to are enough, and the work is at most pattern times text.
 */
bool span_glob(struct span pattern, struct span text, bool nocase)
{
	const size_t none = SIZE_MAX;
	size_t p = 0;
	size_t t = 0;
	size_t star = none; /* behind the last star */
	size_t star_t = 0;  /* where the text after that star's share begins */

	if (text.len == 0)
		return pattern.len == 0;
	while (t < text.len) {
		if (p < pattern.len && pattern.ptr[p] == '*') {
			star = ++p;
			star_t = t;
		} else if (p < pattern.len && glob_element(pattern, &p, text.ptr[t], nocase)) {
			t++;
		} else if (star != none) {
			p = star;
			t = ++star_t;
		} else {
			return false;
		}
	}
	while (p < pattern.len && pattern.ptr[p] == '*')
		p++;
	return p == pattern.len;
}

static unsigned least(unsigned a, unsigned b, unsigned c)
{
	unsigned ab = a < b ? a : b;
	return ab < c ? ab : c;
}

/* Levenshtein's distance by Wagner and Fischer's table, one row at a time. */
unsigned span_distance(struct span a, struct span b)
{
	unsigned row[DISTANCE_MAX + 1];
	size_t alen = a.len < DISTANCE_MAX ? a.len : DISTANCE_MAX;
	size_t blen = b.len < DISTANCE_MAX ? b.len : DISTANCE_MAX;

	for (size_t j = 0; j <= blen; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= alen; i++) {
		unsigned diagonal = row[0];
		row[0] = (unsigned)i;
		for (size_t j = 1; j <= blen; j++) {
			unsigned above = row[j];
			unsigned swap = diagonal + (a.ptr[i - 1] != b.ptr[j - 1]);
			row[j] = least(above + 1, row[j - 1] + 1, swap);
			diagonal = above;
		}
	}
	return row[blen];
}

char *span_dup(struct span s)
{
	/* not strndup(): the bytes need not end in a NUL, and it may look for one */
	char *copy = malloc(s.len + 1);
	CHECK(copy != NULL);
	if (s.len > 0)
		memcpy(copy, s.ptr, s.len);
	copy[s.len] = 0;
	return copy;
}
