/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */

/*
 * Requests as a line of words, for people with telnet: `SET k "two words\r\n"`.
 *
 * The words' rules are those of Redis's sdssplitargs():
 *   - words are separated by white space, and a quote may begin anywhere in a word;
 *   - in "...", \n \r \t \b \a and \xHH mean what they do in C, \ before any other byte means that
 * byte;
 *   - in '...', only \' is special;
 *   - a closing quote ends the word: white space or the line's end must follow.
 * One oddity is kept: a vertical tab or a form feed between words is white space, in a word it is
 * part of it.
 *
 * The words are written one after the other into args->unescaped, which first gets as much room as
 * the line has bytes: no word is longer than its source, so the buffer never moves under the spans.
 */

#include <stdlib.h>

#include "router/wire/resp_internal.h"

struct words {
	const uint8_t *at;  /* next byte of the line */
	const uint8_t *end; /* of the line */
	uint8_t *out;       /* where the next byte of a word goes */
};

static bool is_space(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool ends_word(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int hex_value(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = ascii_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static uint8_t escaped(uint8_t c)
{
	static const uint8_t meaning[256] = {
		['n'] = '\n', ['r'] = '\r', ['t'] = '\t', ['b'] = '\b', ['a'] = '\a'};
	return meaning[c] ? meaning[c] : c;
}

/* Behind a closing quote. */
static bool word_may_end(const struct words *w)
{
	return w->at == w->end || is_space(*w->at);
}

/* w->at is a backslash inside "...". */
static void take_escape(struct words *w)
{
	size_t left = (size_t)(w->end - w->at);
	if (left >= 4 && w->at[1] == 'x' && hex_value(w->at[2]) >= 0 && hex_value(w->at[3]) >= 0) {
		*w->out++ = (uint8_t)(hex_value(w->at[2]) << 4 | hex_value(w->at[3]));
		w->at += 4;
	} else if (left >= 2) {
		*w->out++ = escaped(w->at[1]);
		w->at += 2;
	} else {
		w->at++; /* the line ends: no closing quote can follow */
	}
}

/* From behind the opening quote to behind the closing one.  False: unbalanced. */
static bool take_double_quoted(struct words *w)
{
	while (w->at < w->end) {
		if (*w->at == '\\') {
			take_escape(w);
		} else if (*w->at == '"') {
			w->at++;
			return word_may_end(w);
		} else {
			*w->out++ = *w->at++;
		}
	}
	return false;
}

static bool take_single_quoted(struct words *w)
{
	while (w->at < w->end) {
		if (*w->at == '\\' && w->end - w->at >= 2 && w->at[1] == '\'') {
			*w->out++ = '\'';
			w->at += 2;
		} else if (*w->at == '\'') {
			w->at++;
			return word_may_end(w);
		} else {
			*w->out++ = *w->at++;
		}
	}
	return false;
}

static bool take_word(struct words *w)
{
	while (w->at < w->end && !ends_word(*w->at)) {
		uint8_t c = *w->at++;
		if (c == '"')
			return take_double_quoted(w);
		if (c == '\'')
			return take_single_quoted(w);
		*w->out++ = c;
	}
	return true;
}

static void reserve_unescaped(struct resp_args *args, size_t size)
{
	enum { SMALLEST = 256 };
	if (size <= args->unescaped_cap)
		return;
	size_t cap = args->unescaped_cap ? args->unescaped_cap : SMALLEST;
	while (cap < size) /* ends: size is at most RESP_INLINE_MAX */
		cap *= 2;
	free(args->unescaped); /* the old contents are no longer needed */
	args->unescaped = malloc(cap);
	CHECK(args->unescaped != NULL);
	args->unescaped_cap = cap;
}

/* False: unbalanced quotes. */
static bool split_words(const uint8_t *line, size_t len, struct resp_args *args)
{
	reserve_unescaped(args, len);
	struct words w = {.at = line, .end = line + len, .out = args->unescaped};
	for (;;) {
		while (w.at < w.end && is_space(*w.at))
			w.at++;
		if (w.at == w.end)
			return true;
		const uint8_t *word = w.out;
		if (!take_word(&w))
			return false;
		resp_args_push(args, word, (size_t)(w.out - word));
	}
}

enum resp_status resp_inline_scan(
	struct resp_request *st, const uint8_t *buf, size_t len, struct resp_args *args)
{
	size_t at;
	enum resp_status found = resp_line_end(st, buf, len, '\n', &at);
	if (found == RESP_MORE)
		return RESP_MORE;
	if (found == RESP_BAD)
		return resp_request_bad(st, "Protocol error: too big inline request");
	/* A CR before the LF needs no care: it is white space. */
	if (!split_words(buf, at, args))
		return resp_request_bad(st, "Protocol error: unbalanced quotes in request");
	st->pos = at + 1;
	st->searched = 0;
	st->inline_form = true;
	st->split_done = true;
	return RESP_DONE;
}
