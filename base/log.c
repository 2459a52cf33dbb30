/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "base/log.h"

/*
 * A line is built on the stack and leaves in one write(2), so that lines of several threads do not
 * mix and nothing is held back in a buffer when the process dies.  No lock, no allocation.
 *
 * What others can put into a line is harmless: log_quote() escapes whatever could end a value or
 * the line, and control bytes that a caller passed without it are replaced.  A line that is too
 * long is cut where no escape is split, marked with "...", and its open quote is closed, so that it
 * still parses.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"

#define LINE_SIZE 4096 /* with the newline */
#define CUT_MARK "..."
#define CUT_SIZE (sizeof(CUT_MARK) - 1)
#define QUOTE_SIZE_MIN 8 /* quotes, mark and NUL, and something between */

_Atomic int log_threshold = LOG_INFO;

static const char *const level_names[] = {
	[LOG_ERROR] = "error",
	[LOG_WARN] = "warn",
	[LOG_INFO] = "info",
	[LOG_DEBUG] = "debug",
};

bool log_level_parse(const char *name, enum log_level *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(level_names); i++) {
		if (strcmp(name, level_names[i]) == 0) {
			*ret = (enum log_level)i;
			return true;
		}
	}
	return false;
}

static bool is_plain(uint8_t c)
{
	return c > ' ' && c < 0x7f && c != '"' && c != '\\' && c != '=';
}

/* One byte as it appears between quotes, at most 4 of them into out.  Returns how many. */
static size_t put_escaped(char *out, uint8_t c)
{
	static const char hex[] = "0123456789abcdef";
	static const char letters[32] = {['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
	char letter = (char)(c == '"' || c == '\\' ? c : c < sizeof(letters) ? letters[c] : 0);

	if (letter != 0) {
		out[0] = '\\';
		out[1] = letter;
		return 2;
	}
	if (c >= ' ' && c < 0x7f) {
		out[0] = (char)c;
		return 1;
	}
	out[0] = '\\';
	out[1] = 'x';
	out[2] = hex[c >> 4];
	out[3] = hex[c & 15];
	return 4;
}

static size_t put_mark(char *out)
{
	memcpy(out, CUT_MARK, CUT_SIZE);
	return CUT_SIZE;
}

static void put_bare(char *buf, size_t size, const uint8_t *bytes, size_t len)
{
	bool cut = len >= size;
	size_t n = cut ? size - 1 - CUT_SIZE : len;

	if (n > 0)
		memcpy(buf, bytes, n);
	if (cut)
		n += put_mark(buf + n);
	buf[n] = '\0';
}

/* Returns how many bytes, without the NUL. */
static size_t put_quoted(char *buf, size_t size, const uint8_t *bytes, size_t len)
{
	char esc[4];
	size_t whole = 2;
	size_t n = 0;

	for (size_t i = 0; i < len && whole < size; i++)
		whole += put_escaped(esc, bytes[i]);
	bool cut = whole >= size;
	size_t limit =
		size - 2 - (cut ? CUT_SIZE : 0); /* of what is before the mark and the last quote */
	buf[n++] = '"';
	for (size_t i = 0; i < len; i++) {
		size_t step = put_escaped(esc, bytes[i]);
		if (n + step > limit)
			break;
		memcpy(buf + n, esc, step);
		n += step;
	}
	if (cut)
		n += put_mark(buf + n);
	buf[n++] = '"';
	buf[n] = '\0';
	return n;
}

const char *log_quote(char *buf, size_t size, const void *bytes, size_t len)
{
	const uint8_t *b = bytes;
	bool plain = len > 0;

	CHECK(size >= QUOTE_SIZE_MIN);
	for (size_t i = 0; i < len && plain; i++)
		plain = is_plain(b[i]);
	if (plain)
		put_bare(buf, size, b, len);
	else
		(void)put_quoted(buf, size, b, len);
	return buf;
}

/* How much of a line may stay when `limit` bytes fit: no escape is split.  *ret_open: inside quotes
 * there. */
static size_t cut_point(const char *line, size_t limit, bool *ret_open)
{
	bool open = false;
	size_t i = 0;

	while (i < limit) {
		size_t step = 1;
		if (open && line[i] == '\\')
			step = line[i + 1] == 'x' ? 4 : 2;
		if (step > limit - i)
			break;
		if (line[i] == '"')
			open = !open;
		i += step;
	}
	*ret_open = open;
	return i;
}

static size_t put_head(char *line, enum log_level level, const char *part, const char *msg)
{
	uint64_t ms = clock_wall_ms();
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;
	char text[32];

	CHECK(gmtime_r(&seconds, &tm) != NULL);
	CHECK(strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm) > 0);
	int n = snprintf(line, LINE_SIZE / 2, "%s.%03uZ level=%s part=%.64s msg=", text,
		(unsigned)(ms % 1000), level_names[level], part);
	CHECK(n > 0 && n < LINE_SIZE / 2);
	return (size_t)n + put_quoted(line + n, LINE_SIZE / 2, (const uint8_t *)msg, strlen(msg));
}

/* Ends the line; `wanted` is what its text would have taken.  Returns the length with the newline.
 */
static size_t put_end(char *line, size_t wanted)
{
	size_t n = wanted;

	if (wanted > LINE_SIZE - 1) {
		bool open;
		n = cut_point(line, LINE_SIZE - 1 - CUT_SIZE - 1, &open);
		n += put_mark(line + n);
		if (open)
			line[n++] = '"';
	}
	line[n++] = '\n';
	return n;
}

static void send_line(const char *line, size_t len)
{
	ssize_t n;

	do
		n = write(STDERR_FILENO, line, len);
	while (n < 0 && errno == EINTR);
	/* Any other failure: there is nowhere to complain. */
}

/* Pairs behind line[at].  Returns where the line would end if nothing had to be cut. */
PRINTF_LIKE(3, 0)
static size_t put_pairs(char *line, size_t at, const char *fmt, va_list args)
{
	size_t room = LINE_SIZE - at - 1;
	int n = vsnprintf(line + at + 1, room, fmt, args);

	if (n <= 0)
		return at;
	line[at] = ' ';
	for (size_t i = at + 1; i < LINE_SIZE && line[i] != '\0'; i++)
		if ((uint8_t)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?'; /* a caller forgot log_quote() */
	return at + 1 + (size_t)n;
}

void log_line(enum log_level level, const char *part, const char *msg, const char *pairs_fmt, ...)
{
	int saved_errno = errno; /* logging never disturbs what is being logged about */
	char line[LINE_SIZE];
	size_t end = put_head(line, level, part, msg);

	if (pairs_fmt != NULL) {
		va_list args;
		va_start(args, pairs_fmt);
		end = put_pairs(line, end, pairs_fmt, args);
		va_end(args);
	}
	send_line(line, put_end(line, end));
	errno = saved_errno;
}

bool log_rate_pass(struct log_rate *r, uint64_t now_ns, uint64_t every_ns, uint32_t *ret_dropped)
{
	/* Relaxed: the two numbers guard nothing else; a count that slips into the next line is
	 * still told. */
	uint64_t next = atomic_load_explicit(&r->next_ns, memory_order_relaxed);

	if (now_ns < next ||
		!atomic_compare_exchange_strong_explicit(&r->next_ns, &next, now_ns + every_ns,
			memory_order_relaxed, memory_order_relaxed)) {
		atomic_fetch_add_explicit(&r->dropped, 1, memory_order_relaxed);
		return false;
	}
	*ret_dropped = atomic_exchange_explicit(&r->dropped, 0, memory_order_relaxed);
	return true;
}
