/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

#define LINE_MAX_SIZE 4096
#define STAMP "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z "

/* What a test prints to stderr goes to a pipe instead, which remembers each write apart: O_DIRECT
 * makes packets. */
static struct {
	int saved_fd;
	int read_fd;
} tap;

static void tap_open(void)
{
	int fds[2];
	assert_int_equal(pipe2(fds, O_DIRECT | O_NONBLOCK | O_CLOEXEC), 0);
	tap.saved_fd = dup(STDERR_FILENO);
	(void)dup2(fds[1], STDERR_FILENO);
	(void)close(fds[1]);
	tap.read_fd = fds[0];
}

static void tap_close(void)
{
	(void)dup2(tap.saved_fd, STDERR_FILENO);
	(void)close(tap.saved_fd);
}

/* The next write(2) into buf with a NUL; its length, 0 when there is none. */
static size_t tap_next(char *buf, size_t size)
{
	ssize_t n = read(tap.read_fd, buf, size - 1);
	buf[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

static void tap_end(void)
{
	char buf[16];
	size_t n = tap_next(buf, sizeof(buf));
	(void)close(tap.read_fd);
	assert_int_equal(n, 0);
}

static void assert_matches(const char *text, const char *pattern)
{
	regex_t re;
	assert_int_equal(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
	int r = regexec(&re, text, 0, NULL, 0);
	regfree(&re);
	if (r != 0)
		fail_msg("'%s' does not match '%s'", text, pattern);
}

static void a_line_is_logfmt_in_one_write(void **state)
{
	char line[LINE_MAX_SIZE + 2];
	(void)state;
	tap_open();
	log_line(LOG_INFO, "upstream", "connected", "node=%s n=%d", "cache-1", 3);
	log_line(LOG_ERROR, "main", "plain", NULL);
	tap_close();
	assert_true(tap_next(line, sizeof(line)) > 0);
	assert_matches(
		line, STAMP "level=info part=upstream msg=\"connected\" node=cache-1 n=3\n$");
	assert_true(tap_next(line, sizeof(line)) > 0);
	assert_matches(line, STAMP "level=error part=main msg=\"plain\"\n$");
	tap_end();
}

static void the_message_is_escaped_too(void **state)
{
	char line[LINE_MAX_SIZE + 2];
	(void)state;
	tap_open();
	log_line(LOG_WARN, "x", "a \"b\"\nlevel=error", NULL);
	tap_close();
	assert_true(tap_next(line, sizeof(line)) > 0);
	assert_non_null(strstr(line, "msg=\"a \\\"b\\\"\\nlevel=error\"\n"));
	tap_end();
}

static void errno_survives_a_line(void **state)
{
	(void)state;
	tap_open();
	(void)close(STDERR_FILENO); /* so that the write fails */
	errno = ENOTTY;
	log_line(LOG_INFO, "x", "y", NULL);
	int after = errno;
	tap_close();
	tap_end();
	assert_int_equal(after, ENOTTY);
}

static unsigned evaluated;

static unsigned count_evaluation(void)
{
	return ++evaluated;
}

static void lines_below_the_threshold_cost_nothing(void **state)
{
	static const struct {
		enum log_level threshold;
		unsigned lines;
	} rows[] = {{LOG_ERROR, 1}, {LOG_WARN, 2}, {LOG_INFO, 3}, {LOG_DEBUG, 4}};
	char line[LINE_MAX_SIZE + 2];
	(void)state;
	assert_int_equal(log_threshold, LOG_INFO);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		evaluated = 0;
		atomic_store(&log_threshold, rows[i].threshold);
		tap_open();
		log_error("t", "line", "n=%u", count_evaluation());
		log_warn("t", "line", "n=%u", count_evaluation());
		log_info("t", "line", "n=%u", count_evaluation());
		log_debug("t", "line", "n=%u", count_evaluation());
		tap_close();
		unsigned lines = 0;
		while (tap_next(line, sizeof(line)) > 0)
			lines++;
		(void)close(tap.read_fd);
		assert_int_equal(lines, rows[i].lines);
		assert_int_equal(evaluated, rows[i].lines);
	}
	atomic_store(&log_threshold, LOG_INFO);
}

static void level_names_are_exact(void **state)
{
	static const char *const names[] = {"error", "warn", "info", "debug"};
	static const char *const wrong[] = {"", "INFO", "warning", "inf", "info ", "0"};
	enum log_level level;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_true(log_level_parse(names[i], &level));
		assert_int_equal(level, i);
	}
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_false(log_level_parse(wrong[i], &level));
	assert_int_equal(level, LOG_DEBUG); /* untouched */
}

static void values_are_quoted_when_they_need_it(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *want;
	} rows[] = {
		{"", 0, "\"\""},
		{"cache-1", 7, "cache-1"},
		{"10.0.0.1:6379", 13, "10.0.0.1:6379"},
		{"a b", 3, "\"a b\""},
		{"a=b", 3, "\"a=b\""},
		{"\"", 1, "\"\\\"\""},
		{"a\\b", 3, "\"a\\\\b\""},
		{"a\nb", 3, "\"a\\nb\""},
		{"\r\t", 2, "\"\\r\\t\""},
		{"a\0b", 3, "\"a\\x00b\""},
		{"\x1b[31m", 5, "\"\\x1b[31m\""},
		{"\x7f", 1, "\"\\x7f\""},
		{"\xc3\xa4", 2, "\"\\xc3\\xa4\""},
		{"\xff", 1, "\"\\xff\""},
		{"~!", 2, "~!"},
	};
	char buf[64];
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_ptr_equal(log_quote(buf, sizeof(buf), rows[i].bytes, rows[i].len), buf);
		assert_string_equal(buf, rows[i].want);
	}
	assert_string_equal(log_quote(buf, sizeof(buf), NULL, 0), "\"\"");
}

static void every_byte_is_harmless_in_quotes(void **state)
{
	(void)state;
	for (int c = 0; c < 256; c++) {
		char buf[16];
		uint8_t byte = (uint8_t)c;
		log_quote(buf, sizeof(buf), &byte, 1);
		assert_matches(
			buf, "^([!#-<>-[^-~]|]|\"([ -!#-[^-~]|]|\\\\([\"\\nrt]|x[0-9a-f]{2}))\")$");
	}
}

static void values_are_cut_to_fit(void **state)
{
	static const struct {
		size_t size;
		const char *text;
		const char *want;
	} rows[] = {
		{8, "1234567", "1234567"},
		{8, "12345678", "1234..."},
		{8, "a b c", "\"a b c\""},
		{8, "a b cd", "\"a ...\""},
		{10, "a\n\n\n", "\"a\\n\\n\\n\""},
		{9, "a\n\n\n", "\"a\\n...\""},
		{9, "\x01\x01", "\"...\""},
		{10, "\x01\x01", "\"\\x01...\""},
		{11, "\x01\x01", "\"\\x01\\x01\""},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *exact = malloc(rows[i].size);
		assert_non_null(exact);
		log_quote(exact, rows[i].size, rows[i].text, strlen(rows[i].text));
		assert_string_equal(exact, rows[i].want);
		free(exact);
	}
}

/* A value of any length in a buffer of any size: a whole number of escapes, quotes closed. */
static void no_cut_splits_an_escape(void **state)
{
	static const char text[] = "ab\n\x01\"\\ c\xff\x80zz\n\n\x02";
	(void)state;
	for (size_t size = 8; size < 64; size++) {
		for (size_t len = 0; len < sizeof(text); len++) {
			char *exact = malloc(size);
			assert_non_null(exact);
			log_quote(exact, size, text, len);
			assert_true(strlen(exact) < size);
			assert_matches(exact, "^([!#-<>-[^-~]+|\"([ "
					      "-!#-[^-~]|\\\\([\"\\nrt]|x[0-9a-f]{2}))*\")$");
			free(exact);
		}
	}
}

static void a_line_of_4096_bytes_is_whole_and_a_longer_one_is_cut(void **state)
{
	char filler[LINE_MAX_SIZE * 2];
	char line[LINE_MAX_SIZE + 2];
	(void)state;
	memset(filler, 'f', sizeof(filler));
	tap_open();
	log_line(LOG_INFO, "t", "m", "k=");
	tap_close();
	size_t empty = tap_next(line, sizeof(line));
	tap_end();
	for (int over = -2; over <= 2; over++) {
		int fill = (int)(LINE_MAX_SIZE - empty) + over;
		tap_open();
		log_line(LOG_INFO, "t", "m", "k=%.*s", fill, filler);
		tap_close();
		size_t n = tap_next(line, sizeof(line));
		tap_end();
		assert_int_equal(line[n - 1], '\n');
		if (over <= 0) {
			assert_int_equal(n, LINE_MAX_SIZE + over);
			assert_null(strstr(line, "..."));
		} else {
			assert_in_range(n, LINE_MAX_SIZE - 8, LINE_MAX_SIZE);
			assert_string_equal(line + n - 4, "...\n");
		}
	}
}

/* The place of the cut is moved over every byte of an escaped value. */
static void a_cut_line_still_parses(void **state)
{
	char filler[LINE_MAX_SIZE];
	char line[LINE_MAX_SIZE + 2];
	(void)state;
	memset(filler, 'f', sizeof(filler));
	for (int fill = 3900; fill < 4096; fill++) {
		char value[256];
		log_quote(value, sizeof(value), "a b\n\x01\"\\ cd\xff", 11);
		tap_open();
		log_line(LOG_INFO, "t", "m", "k=%.*s v=%s w=%s", fill, filler, value, value);
		tap_close();
		size_t n = tap_next(line, sizeof(line));
		tap_end();
		assert_true(n <= LINE_MAX_SIZE);
		assert_matches(line,
			STAMP "level=info part=t msg=\"m\"( [a-z]?[a-z]?(=([!#-<>-[^-~]*|"
			      "\"([ -!#-[^-~]|\\\\([\"\\nrt]|x[0-9a-f]{2}))*\"))?)*"
			      "(\\.\\.\\.)?\n$");
	}
}

static void a_forgotten_quote_forges_no_line(void **state)
{
	char line[LINE_MAX_SIZE + 2];
	(void)state;
	tap_open();
	log_line(LOG_INFO, "t", "m", "k=%s", "v\n2026-01-01T00:00:00.000Z level=error\x1b\x7f");
	tap_close();
	size_t n = tap_next(line, sizeof(line));
	tap_end();
	assert_ptr_equal(strchr(line, '\n'), line + n - 1);
	assert_non_null(strstr(line, "k=v?2026"));
	assert_null(strchr(line, '\x1b'));
	assert_null(strchr(line, '\x7f'));
}

static void a_very_long_message_is_cut(void **state)
{
	char msg[LINE_MAX_SIZE * 2];
	char line[LINE_MAX_SIZE + 2];
	(void)state;
	memset(msg, 'm', sizeof(msg) - 1);
	msg[sizeof(msg) - 1] = '\0';
	tap_open();
	log_line(LOG_INFO, "t", msg, "k=v");
	tap_close();
	size_t n = tap_next(line, sizeof(line));
	tap_end();
	assert_true(n <= LINE_MAX_SIZE);
	assert_non_null(strstr(line, "mmm...\" k=v\n"));
}

#define WRITERS 4
#define LINES_EACH 500

static void *write_lines(void *arg)
{
	for (int i = 0; i < LINES_EACH; i++)
		log_line(LOG_INFO, "t", "line", "writer=%s i=%04d", (const char *)arg, i);
	return NULL;
}

static void lines_of_several_threads_do_not_mix(void **state)
{
	static char names[WRITERS][2] = {"a", "b", "c", "d"};
	char path[] = "/tmp/test_log.XXXXXX";
	pthread_t threads[WRITERS];
	char *line = NULL;
	size_t cap = 0;
	int lines = 0;
	(void)state;
	int fd = mkostemp(path, O_APPEND);
	assert_true(fd >= 0);
	(void)unlink(path);
	int saved = dup(STDERR_FILENO);
	(void)dup2(fd, STDERR_FILENO);
	for (int i = 0; i < WRITERS; i++)
		(void)pthread_create(&threads[i], NULL, write_lines, names[i]);
	for (int i = 0; i < WRITERS; i++)
		(void)pthread_join(threads[i], NULL);
	(void)dup2(saved, STDERR_FILENO);
	(void)close(saved);
	FILE *f = fdopen(fd, "r");
	assert_non_null(f);
	rewind(f);
	while (getline(&line, &cap, f) > 0) {
		lines++;
		assert_matches(
			line, STAMP "level=info part=t msg=\"line\" writer=[a-d] i=[0-9]{4}\n$");
	}
	free(line);
	(void)fclose(f);
	assert_int_equal(lines, WRITERS * LINES_EACH);
}

static void a_rate_lets_one_pass_and_counts_the_rest(void **state)
{
	struct log_rate r = {0};
	uint32_t dropped = 99;
	(void)state;
	assert_true(log_rate_pass(&r, 1000, 100, &dropped));
	assert_int_equal(dropped, 0);
	dropped = 99;
	assert_false(log_rate_pass(&r, 1000, 100, &dropped));
	assert_false(log_rate_pass(&r, 1099, 100, &dropped));
	assert_int_equal(dropped, 99); /* untouched */
	assert_true(log_rate_pass(&r, 1100, 100, &dropped));
	assert_int_equal(dropped, 2);
	assert_true(log_rate_pass(&r, 5000, 100, &dropped));
	assert_int_equal(dropped, 0);
}

static struct log_rate shared_rate;
static _Atomic unsigned shared_passed;

static void *try_to_pass(void *arg)
{
	(void)arg;
	for (int i = 0; i < 1000; i++) {
		uint32_t dropped;
		if (log_rate_pass(&shared_rate, 5, 1000, &dropped))
			atomic_fetch_add(&shared_passed, 1 + dropped);
	}
	return NULL;
}

static void one_thread_passes_and_no_try_goes_uncounted(void **state)
{
	pthread_t threads[WRITERS];
	(void)state;
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, try_to_pass, NULL), 0);
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(shared_passed + shared_rate.dropped, WRITERS * 1000);
	assert_true(shared_passed >= 1);
	uint32_t dropped;
	assert_true(log_rate_pass(&shared_rate, 1005, 1000, &dropped));
	assert_int_equal(shared_passed + dropped, WRITERS * 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_logfmt_in_one_write),
		cmocka_unit_test(the_message_is_escaped_too),
		cmocka_unit_test(errno_survives_a_line),
		cmocka_unit_test(lines_below_the_threshold_cost_nothing),
		cmocka_unit_test(level_names_are_exact),
		cmocka_unit_test(values_are_quoted_when_they_need_it),
		cmocka_unit_test(every_byte_is_harmless_in_quotes),
		cmocka_unit_test(values_are_cut_to_fit),
		cmocka_unit_test(no_cut_splits_an_escape),
		cmocka_unit_test(a_line_of_4096_bytes_is_whole_and_a_longer_one_is_cut),
		cmocka_unit_test(a_cut_line_still_parses),
		cmocka_unit_test(a_forgotten_quote_forges_no_line),
		cmocka_unit_test(a_very_long_message_is_cut),
		cmocka_unit_test(lines_of_several_threads_do_not_mix),
		cmocka_unit_test(a_rate_lets_one_pass_and_counts_the_rest),
		cmocka_unit_test(one_thread_passes_and_no_try_goes_uncounted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
