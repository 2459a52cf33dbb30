/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Bytes that are not ours travel as (pointer, length), never as a bare char *.
 * Nothing here allocates but span_dup().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

struct span {
	const uint8_t *ptr; /* borrowed */
	size_t len;
};

/* SPAN("text"): a literal as a span. */
#define SPAN(lit) ((struct span){(const uint8_t *)("" lit), sizeof(lit) - 1})

static inline struct span span_of(const void *ptr, size_t len)
{
	return (struct span){ptr, len};
}

static inline struct span span_str(const char *s)
{
	return (struct span){(const uint8_t *)s, strlen(s)};
}

static inline bool span_eq(struct span a, struct span b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool span_begins(struct span s, struct span with)
{
	return s.len >= with.len && memcmp(s.ptr, with.ptr, with.len) == 0;
}

/* Byte order, shorter first on a tie: <0, 0, >0. */
int span_cmp(struct span a, struct span b);

/* ASCII case is ignored; other bytes must be equal.  Independent of the locale. */
bool span_eq_nocase(struct span a, struct span b);

static inline uint8_t ascii_lower(uint8_t c)
{
	return (uint8_t)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

/* used + add <= limit, without overflow. */
static inline bool fits(size_t used, size_t add, size_t limit)
{
	return used <= limit && add <= limit - used;
}

/*
 * The whole span as a decimal number, in Redis's strict form: no sign but '-', no leading zero, no
 * space.  False (and *ret untouched) for anything else or outside the range.
 */
bool span_to_u64(struct span s, uint64_t max, uint64_t *ret) MUST_CHECK;
bool span_to_i64(struct span s, int64_t *ret) MUST_CHECK;

/* Decimal digits of v into buf (at least 21 bytes; no NUL).  Returns how many. */
size_t u64_to_dec(uint64_t v, char *buf);
size_t i64_to_dec(int64_t v, char *buf);

/* Redis's glob: * ? [a-z] [^a] and \ escapes.  Bounded: no exponential patterns. */
bool span_glob(struct span pattern, struct span text, bool nocase);

/* The bytes as a C string of the caller's own (a NUL inside ends it early).  Never NULL. */
char *span_dup(struct span s);

/* Number of edits between two short names (each cut at 63 bytes): for 'did you mean'. */
unsigned span_distance(struct span a, struct span b);
