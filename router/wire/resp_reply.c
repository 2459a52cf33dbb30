/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */

/*
 * Replies, RESP2 and RESP3, in pieces of any size.
 *
 *     AT_TYPE --- + - : _ , # ( ---> IN_LINE --CR--> IN_LINE_CR --LF------> element ends
 *        |                              ^--- other byte ---'                    ^   ^
 *        |                                                                      |   |
 *        '------- all others ------> IN_LENGTH --CR--> IN_LENGTH_LF --LF--------'   |
 *                                                            |                      |
 *                                                            '-- bulk --> IN_BULK --'
 *
 *     element ends: the next one begins (AT_TYPE, due - 1) while due > 0
 *
 * `due` counts the elements that must still come after the one being read: an aggregate adds its
 * members, a map two for each pair, an attribute two for each pair and one for the value that it
 * stands before. So nesting costs no memory and no stack, whatever its depth.
 *
 * A bulk or a short line that lies whole in the piece never enters those states: whole_element().
 */

#include "router/wire/resp.h"

#include "router/wire/resp_internal.h"

enum reply_state {
	AT_TYPE,
	IN_LINE,
	IN_LINE_CR, /* the last byte was CR */
	IN_LENGTH,
	IN_LENGTH_LF,
	IN_BULK,
};

enum { LENGTH_DIGITS = 13 }; /* RESP_REPLY_MAX has as many */

/* What follows a type byte. */
enum reply_form {
	FORM_NONE, /* not a type */
	FORM_LINE,
	FORM_BULK,
	FORM_LIST,
	FORM_PAIRS,
	FORM_ATTRIBUTE,
};

static const uint8_t forms[256] = {
	['+'] = FORM_LINE,
	['-'] = FORM_LINE,
	[':'] = FORM_LINE,
	['_'] = FORM_LINE,
	[','] = FORM_LINE,
	['#'] = FORM_LINE,
	['('] = FORM_LINE,
	['$'] = FORM_BULK,
	['!'] = FORM_BULK,
	['='] = FORM_BULK,
	['*'] = FORM_LIST,
	['~'] = FORM_LIST,
	['>'] = FORM_LIST,
	['%'] = FORM_PAIRS,
	['|'] = FORM_ATTRIBUTE,
};

/* End of the short line at p, NULL when it isn't wholly here. */
static inline const uint8_t *whole_line(const uint8_t *p, const uint8_t *end)
{
	enum { SHORT = 32 };
	const uint8_t *stop = end - p > SHORT ? p + SHORT : end - 1;
	for (p++; p < stop; p++)
		if (*p == '\r')
			return p[1] == '\n' ? p + 2 : NULL;
	return NULL;
}

static inline const uint8_t *whole_bulk(const uint8_t *p, const uint8_t *end)
{
	size_t n;
	const uint8_t *next = resp_plain_bulk(p, end, &n);
	if (LIKELY(next != NULL))
		return next;
	return end - p >= 5 && memcmp(p, "$-1\r\n", 5) == 0 ? p + 5 : NULL;
}

/* End of the element at p when it is a bulk or a short line that is wholly here, else NULL. */
static inline const uint8_t *whole_element(const uint8_t *p, const uint8_t *end)
{
	if (LIKELY(*p == '$'))
		return whole_bulk(p, end);
	return forms[*p] == FORM_LINE ? whole_line(p, end) : NULL;
}

static enum resp_status begin_element(struct resp_reply *st, uint8_t type)
{
	if (forms[type] == FORM_NONE)
		return RESP_BAD;
	st->line_type = type;
	st->state = forms[type] == FORM_LINE ? IN_LINE : IN_LENGTH;
	st->number = 0;
	st->digits = 0;
	st->negative = false;
	return RESP_DONE;
}

/* Up to the line's CR LF, or to `end`.  Returns where it stopped; the state tells which. */
static const uint8_t *skip_line(struct resp_reply *st, const uint8_t *at, const uint8_t *end)
{
	while (at < end) {
		if (st->state == IN_LINE_CR && *at == '\n') {
			st->state = AT_TYPE;
			return at + 1;
		}
		const uint8_t *cr = memchr(at, '\r', (size_t)(end - at));
		st->state = cr != NULL ? IN_LINE_CR : IN_LINE;
		at = cr != NULL ? cr + 1 : end;
	}
	return at;
}

/* Up to and with the CR of a length line. */
static enum resp_status read_length(struct resp_reply *st, const uint8_t **at, const uint8_t *end)
{
	while (*at < end) {
		uint8_t c = *(*at)++;
		if (c >= '0' && c <= '9') {
			bool leading_zero = st->digits > 0 && st->number == 0;
			if (leading_zero || st->digits == LENGTH_DIGITS)
				return RESP_BAD;
			st->number = st->number * 10 + (c - '0');
			st->digits++;
		} else if (c == '-' && st->digits == 0 && !st->negative) {
			st->negative = true;
		} else if (c == '\r' && st->digits > 0) {
			st->state = IN_LENGTH_LF;
			return RESP_DONE;
		} else {
			return RESP_BAD;
		}
	}
	return RESP_MORE;
}

static bool is_null(const struct resp_reply *st)
{
	return st->number == 1 && (st->line_type == '$' || st->line_type == '*');
}

/* A length line was read: what it announces is due. */
static enum resp_status apply_length(struct resp_reply *st)
{
	st->state = AT_TYPE;
	if (st->negative)
		return is_null(st) ? RESP_DONE : RESP_BAD;
	uint64_t n = (uint64_t)st->number;
	if (n > RESP_REPLY_MAX)
		return RESP_BAD;
	uint8_t form = forms[st->line_type];
	if (form == FORM_BULK) {
		st->left = n + 2;
		st->state = IN_BULK;
		return RESP_DONE;
	}
	uint64_t more = form == FORM_LIST ? n : form == FORM_PAIRS ? 2 * n : 2 * n + 1;
	if (!fits(st->due, more, RESP_REPLY_MAX))
		return RESP_BAD;
	st->due += more;
	return RESP_DONE;
}

/* The rest of a bulk and its CR LF, as far as it is here. */
static enum resp_status skip_bulk(struct resp_reply *st, const uint8_t **at, const uint8_t *end)
{
	size_t avail = (size_t)(end - *at);
	if (st->left > 2) {
		size_t skip = st->left - 2 < avail ? (size_t)(st->left - 2) : avail;
		*at += skip;
		st->left -= skip;
	}
	for (; *at < end && st->left > 0; st->left--)
		if (*(*at)++ != (st->left == 2 ? '\r' : '\n'))
			return RESP_BAD;
	if (st->left > 0)
		return RESP_MORE;
	st->state = AT_TYPE;
	return RESP_DONE;
}

/*
 * Reads on in the element that was begun.  RESP_DONE: one step is made; the element is complete
 * when the state is AT_TYPE again.
 */
static enum resp_status step(struct resp_reply *st, const uint8_t **at, const uint8_t *end)
{
	switch ((enum reply_state)st->state) {
	case AT_TYPE:
		return begin_element(st, *(*at)++);
	case IN_LINE:
	case IN_LINE_CR:
		*at = skip_line(st, *at, end);
		return st->state == AT_TYPE ? RESP_DONE : RESP_MORE;
	case IN_LENGTH:
		return read_length(st, at, end);
	case IN_LENGTH_LF:
		return *(*at)++ == '\n' ? apply_length(st) : RESP_BAD;
	case IN_BULK:
		return skip_bulk(st, at, end);
	}
	CHECK(false);
	return RESP_BAD;
}

/* The element at or around *at, to its end.  RESP_MORE: the piece is used up before that. */
static RESP_APART enum resp_status finish_element(
	struct resp_reply *st, const uint8_t **at, const uint8_t *end)
{
	while (*at < end) {
		enum resp_status r = step(st, at, end);
		if (r != RESP_DONE)
			return r;
		if (st->state == AT_TYPE)
			return RESP_DONE;
	}
	return RESP_MORE;
}

/* The first element that is no attribute and not inside one gives the reply its type: nothing is
 * due after it yet. */
static inline void note_type(struct resp_reply *st, uint8_t type)
{
	if (st->type == 0 && st->due == 0 && type != '|')
		st->type = type;
}

enum resp_status resp_reply_scan(struct resp_reply *st, const uint8_t *p, size_t len, size_t *used)
{
	const uint8_t *at = p;
	const uint8_t *end = p + len;
	while (at < end) {
		const uint8_t *next = NULL;
		if (LIKELY(st->state == AT_TYPE)) {
			note_type(st, *at);
			next = whole_element(at, end);
		}
		if (LIKELY(next != NULL)) {
			at = next;
		} else {
			enum resp_status r = finish_element(st, &at, end);
			if (r == RESP_BAD)
				return RESP_BAD;
			if (r == RESP_MORE)
				break;
		}
		if (st->due == 0) {
			*used = (size_t)(at - p);
			return RESP_DONE;
		}
		st->due--;
	}
	*used = len;
	return RESP_MORE;
}
