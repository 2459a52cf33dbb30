/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

/*
 * Reads the page as a scraper would: line by line against the grammar of the text format 0.0.4,
 * written down here from its description and knowing nothing of how the page is made.
 */

#include <ctype.h>
#include <errno.h>
#include <iconv.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "router/metrics/metrics.h"

#define LABELS_MAX 4
#define TEXT_MAX 128
#define SAMPLES_MAX 4000

struct sample {
	char name[128];
	struct {
		char name[64];
		char value[TEXT_MAX]; /* unescaped */
	} label[LABELS_MAX];
	size_t labels;
	char value[64];
	size_t metric; /* index into page.metric */
};

struct page {
	struct {
		char name[128];
		char type[16];
	} metric[128];
	size_t metrics;
	struct sample sample[SAMPLES_MAX];
	size_t samples;
	char *text; /* owned; what was parsed */
};

static struct page page;

static bool is_name_byte(char c, bool first)
{
	return isalpha((unsigned char)c) || c == '_' || c == ':' ||
	       (!first && isdigit((unsigned char)c));
}

/* A metric's or label's name at *p into `name`. */
static void read_name(const char **p, char *name, size_t size)
{
	size_t n = 0;
	while (is_name_byte(**p, n == 0)) {
		assert_true(n + 1 < size);
		name[n++] = *(*p)++;
	}
	name[n] = '\0';
	assert_true(n > 0);
}

static void expect(const char **p, const char *text)
{
	if (strncmp(*p, text, strlen(text)) != 0)
		fail_msg("expected '%s' at '%.60s'", text, *p);
	*p += strlen(text);
}

/* A quoted label value at *p, unescaped.  Only \\, \" and \n are escapes. */
static void read_value(const char **p, char *value, size_t size)
{
	size_t n = 0;
	expect(p, "\"");
	while (**p != '"') {
		char c = *(*p)++;
		assert_int_not_equal(c, '\0');
		assert_int_not_equal(c, '\n');
		if (c == '\\') {
			c = *(*p)++;
			assert_non_null(strchr("\\\"n", c));
			c = c == 'n' ? '\n' : c;
		}
		assert_true(n + 1 < size);
		value[n++] = c;
	}
	value[n] = '\0';
	expect(p, "\"");
}

static void read_labels(const char **p, struct sample *s)
{
	s->labels = 0;
	if (**p != '{')
		return;
	do {
		(*p)++;
		assert_true(s->labels < LABELS_MAX);
		read_name(p, s->label[s->labels].name, sizeof(s->label[0].name));
		expect(p, "=");
		read_value(p, s->label[s->labels].value, sizeof(s->label[0].value));
		s->labels++;
	} while (**p == ',');
	expect(p, "}");
}

static void read_head(const char *line)
{
	char name[128];
	const char *p = line;
	if (strncmp(p, "# HELP ", 7) == 0) {
		expect(&p, "# HELP ");
		read_name(&p, name, sizeof(name));
		expect(&p, " ");
		assert_true(strlen(p) > 10);
		assert_null(strchr(p, '\\'));
		assert_int_equal(p[strlen(p) - 1], '.');
		for (size_t i = 0; i < page.metrics; i++) /* once, and its lines together */
			assert_string_not_equal(page.metric[i].name, name);
		memcpy(page.metric[page.metrics++].name, name, sizeof(name));
		return;
	}
	expect(&p, "# TYPE ");
	read_name(&p, name, sizeof(name));
	expect(&p, " ");
	assert_true(page.metrics > 0);
	assert_string_equal(page.metric[page.metrics - 1].name, name); /* right after its HELP */
	assert_string_equal(page.metric[page.metrics - 1].type, "");
	assert_true(!strcmp(p, "counter") || !strcmp(p, "gauge") || !strcmp(p, "histogram"));
	(void)snprintf(page.metric[page.metrics - 1].type, sizeof(page.metric[0].type), "%s", p);
}

/* A sample belongs to the metric announced last. */
static void check_belongs(const struct sample *s)
{
	static const char *const parts[] = {"_bucket", "_sum", "_count"};
	const char *base = page.metric[s->metric].name;
	const char *type = page.metric[s->metric].type;
	size_t n = strlen(base);
	bool total = n > 6 && strcmp(base + n - 6, "_total") == 0;

	assert_int_equal(total, strcmp(type, "counter") == 0);
	if (strcmp(type, "histogram") != 0) {
		assert_string_equal(s->name, base);
		return;
	}
	assert_int_equal(strncmp(s->name, base, n), 0);
	bool known = false;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		known |= strcmp(s->name + n, parts[i]) == 0;
	assert_true(known);
}

static void read_sample(const char *line)
{
	const char *p = line;
	char *end;

	assert_true(page.samples < SAMPLES_MAX);
	struct sample *s = &page.sample[page.samples++];
	assert_true(page.metrics > 0);
	s->metric = page.metrics - 1;
	read_name(&p, s->name, sizeof(s->name));
	read_labels(&p, s);
	expect(&p, " ");
	(void)snprintf(s->value, sizeof(s->value), "%s", p);
	double v = strtod(p, &end);
	assert_int_equal(*end, '\0'); /* no time stamp */
	assert_true(v >= 0);
	assert_true(isdigit((unsigned char)*p)); /* no sign, no hex, no space */
	check_belongs(s);
}

static void check_no_series_twice(void)
{
	for (size_t i = 0; i < page.samples; i++) {
		for (size_t j = i + 1; j < page.samples; j++) {
			const struct sample *a = &page.sample[i];
			const struct sample *b = &page.sample[j];
			bool same = a->labels == b->labels && strcmp(a->name, b->name) == 0;
			for (size_t l = 0; same && l < a->labels; l++)
				same = strcmp(a->label[l].name, b->label[l].name) == 0 &&
				       strcmp(a->label[l].value, b->label[l].value) == 0;
			if (same)
				fail_msg("twice: %s", a->name);
		}
	}
}

static bool is_utf8(const char *text)
{
	char out[256];
	char *in = (char *)(uintptr_t)text; /* iconv() has no const */
	size_t left = strlen(text);
	size_t r = 0;
	iconv_t cd = iconv_open("UTF-32LE", "UTF-8");
	assert_true(cd != (iconv_t)-1);
	while (left > 0) {
		char *to = out;
		size_t room = sizeof(out);
		r = iconv(cd, &in, &left, &to, &room);
		if (r == (size_t)-1 && errno != E2BIG)
			break;
		r = 0;
	}
	(void)iconv_close(cd);
	return r == 0;
}

static void parse_page(char *text, size_t len)
{
	free(page.text);
	memset(&page, 0, sizeof(page));
	page.text = text;
	assert_int_equal(strlen(text), len);
	assert_true(is_utf8(text));
	assert_true(len > 0 && text[len - 1] == '\n');
	for (char *line = text, *next; *line != '\0'; line = next) {
		next = strchr(line, '\n');
		*next++ = '\0';
		assert_true(*line != '\0'); /* no empty line */
		if (*line == '#')
			read_head(line);
		else
			read_sample(line);
	}
	check_no_series_twice();
}

static void print_page(struct metric_block *const *blocks, size_t nblocks,
	const struct metric_node *nodes, size_t nnodes)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	assert_non_null(f);
	metrics_print(f, blocks, nblocks, nodes, nnodes);
	assert_int_equal(fclose(f), 0);
	parse_page(text, len);
}

/* The value of the series with this name and, unless NULL, this label with this value; NULL: none.
 */
static const char *find(const char *name, const char *label, const char *value)
{
	for (size_t i = 0; i < page.samples; i++) {
		const struct sample *s = &page.sample[i];
		if (strcmp(s->name, name) != 0)
			continue;
		if (label == NULL)
			return s->value;
		for (size_t l = 0; l < s->labels; l++)
			if (!strcmp(s->label[l].name, label) && !strcmp(s->label[l].value, value))
				return s->value;
	}
	return NULL;
}

static size_t count_samples(const char *name)
{
	size_t n = 0;
	for (size_t i = 0; i < page.samples; i++)
		n += strcmp(page.sample[i].name, name) == 0;
	return n;
}

static int free_page(void **state)
{
	(void)state;
	free(page.text);
	page.text = NULL;
	return 0;
}

static void an_idle_router_shows_every_number_as_zero(void **state)
{
	(void)state;
	struct metric_block *b = metric_block_new();
	print_page(&b, 1, NULL, 0);
	assert_int_equal(page.metrics, METRIC_COUNT + NODE_METRIC_COUNT + 2);
	assert_int_equal(page.samples, METRIC_COUNT);
	for (size_t i = 0; i < page.samples; i++)
		assert_string_equal(page.sample[i].value, "0");
	metric_block_free(b);
}

static void every_declared_number_is_on_the_page(void **state)
{
	static const struct {
		const char *name;
		const char *type;
	} rows[] = {
#define X(id, kind, name, help) {"ringway_" name, kind == METRIC_GAUGE ? "gauge" : "counter"},
#include "router/metrics/metric_list.h"
#undef X
#define X(id, kind, name, help) {"ringway_node_" name, kind == METRIC_GAUGE ? "gauge" : "counter"},
#include "router/metrics/node_metric_list.h"
#undef X
		{"ringway_request_duration_seconds", "histogram"},
		{"ringway_node_request_duration_seconds", "histogram"},
	};
	(void)state;
	struct metric_block *b = metric_block_new();
	print_page(&b, 1, NULL, 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t m = 0;
		while (m < page.metrics && strcmp(page.metric[m].name, rows[i].name) != 0)
			m++;
		assert_true(m < page.metrics);
		assert_string_equal(page.metric[m].type, rows[i].type);
	}
	metric_block_free(b);
}

static void numbers_are_summed_over_workers(void **state)
{
	(void)state;
	struct metric_block *blocks[] = {metric_block_new(), metric_block_new()};
	struct node_block *nb = node_blocks_new(2);
	const struct metric_node node = {"main", "cache-1", "10.0.0.1:6379", nb, 2};
	metric_add(blocks[0], M_REQUESTS, UINT64_C(10000000000000000000));
	metric_add(blocks[1], M_REQUESTS, 2);
	node_metric_add(&nb[0], NM_REQUESTS, 20);
	node_metric_add(&nb[1], NM_REQUESTS, 22);
	print_page(blocks, 2, &node, 1);
	assert_string_equal(find("ringway_requests_total", NULL, NULL), "10000000000000000002");
	assert_string_equal(find("ringway_node_requests_total", "node", "cache-1"), "42");
	assert_string_equal(find("ringway_node_requests_total", "pool", "main"), "42");
	assert_string_equal(find("ringway_node_requests_total", "address", "10.0.0.1:6379"), "42");
	metric_block_free(blocks[0]);
	metric_block_free(blocks[1]);
	node_blocks_free(nb);
}

static void a_gauge_is_never_below_zero(void **state)
{
	(void)state;
	struct metric_block *b = metric_block_new();
	struct node_block *nb = node_blocks_new(1);
	const struct metric_node node = {"main", "n", "h:1", nb, 1};
	metric_add(b, M_CLIENTS, (uint64_t)-1);
	node_metric_add(nb, NM_INFLIGHT, (uint64_t)-2);
	print_page(&b, 1, &node, 1);
	assert_string_equal(find("ringway_clients", NULL, NULL), "0");
	assert_string_equal(find("ringway_node_inflight", "node", "n"), "0");
	metric_block_free(b);
	node_blocks_free(nb);
}

#define BUCKETS 16 /* printed ones, +Inf included */

/* Samples at, just below and just above a bound fall where `le` says, up to the width of a fine
 * bucket. */
static void a_bucket_never_claims_what_may_be_above_its_bound(void **state)
{
	static const struct {
		uint64_t us;
		const char *first_le; /* the first bucket that counts it */
	} rows[] = {
		{0, "0.00005"},
		{47, "0.00005"},
		{48, "0.0001"}, /* fine bucket 48..51 straddles 50 */
		{50, "0.0001"},
		{51, "0.0001"},
		{52, "0.0001"},
		{95, "0.0001"},
		{104, "0.00025"},
		{1000000, "2.5"}, /* 983040..1048575 straddles 1 s */
		{900000, "1"},
		{2500000, "+Inf"},
		{2300000, "2.5"},
		{UINT64_C(1) << 40, "+Inf"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct metric_block *b = metric_block_new();
		hist_add(&b->family[FAMILY_GET], rows[i].us);
		print_page(&b, 1, NULL, 0);
		bool counted = false;
		size_t seen = 0;
		for (size_t s = 0; s < page.samples; s++) {
			const struct sample *p = &page.sample[s];
			if (strcmp(p->name, "ringway_request_duration_seconds_bucket") != 0)
				continue;
			seen++;
			assert_string_equal(p->label[0].name, "family");
			assert_string_equal(p->label[0].value, "get");
			assert_string_equal(p->label[1].name, "le");
			counted |= strcmp(p->label[1].value, rows[i].first_le) == 0;
			assert_string_equal(p->value, counted ? "1" : "0");
		}
		assert_int_equal(seen, BUCKETS);
		metric_block_free(b);
	}
}

static void histograms_are_cumulative_and_add_up(void **state)
{
	static const char name[] = "ringway_node_request_duration_seconds_bucket";
	(void)state;
	struct metric_block *b = metric_block_new();
	struct node_block *nb = node_blocks_new(2);
	const struct metric_node node = {"main", "n", "h:1", nb, 2};
	for (uint64_t i = 0; i < 5000; i++)
		hist_add(&nb[i % 2].latency, i * 1000);
	print_page(&b, 1, &node, 1);

	double last_le = 0;
	uint64_t last = 0;
	size_t seen = 0;
	for (size_t s = 0; s < page.samples; s++) {
		const struct sample *p = &page.sample[s];
		if (strcmp(p->name, name) != 0)
			continue;
		assert_int_equal(p->labels, 4);
		assert_string_equal(p->label[3].name, "le");
		double le = strtod(p->label[3].value, NULL); /* reads +Inf too */
		uint64_t count = strtoull(p->value, NULL, 10);
		assert_true(le > last_le);
		assert_true(count >= last);
		/* never more than are truly below, never fewer than are 12.5 % below */
		assert_true(le > 5 || (double)count <= le * 1000 + 1);
		assert_true(le > 5 || (double)count >= le * 1000 * 0.875 - 1);
		last_le = le;
		last = count;
		seen++;
	}
	assert_int_equal(seen, BUCKETS);
	assert_int_equal(last, 5000);
	assert_string_equal(
		find("ringway_node_request_duration_seconds_count", "node", "n"), "5000");
	assert_string_equal(
		find("ringway_node_request_duration_seconds_sum", "node", "n"), "12497.500000");
	metric_block_free(b);
	node_blocks_free(nb);
}

static void sums_of_seconds_keep_their_microseconds(void **state)
{
	(void)state;
	struct metric_block *b = metric_block_new();
	hist_add(&b->family[FAMILY_SET], 7);
	hist_add(&b->family[FAMILY_MGET], 3000000);
	print_page(&b, 1, NULL, 0);
	assert_string_equal(
		find("ringway_request_duration_seconds_sum", "family", "set"), "0.000007");
	assert_string_equal(
		find("ringway_request_duration_seconds_sum", "family", "mget"), "3.000000");
	metric_block_free(b);
}

static void families_and_nodes_without_a_sample_have_no_histogram(void **state)
{
	(void)state;
	struct metric_block *blocks[] = {metric_block_new(), metric_block_new()};
	struct node_block *nb = node_blocks_new(2);
	const struct metric_node nodes[] = {
		{"main", "a", "h:1", &nb[0], 1}, {"main", "b", "h:2", &nb[1], 1}};
	hist_add(&blocks[1]->family[FAMILY_HASH], 5);
	hist_add(&nb[1].latency, 5);
	print_page(blocks, 2, nodes, 2);
	assert_int_equal(count_samples("ringway_request_duration_seconds_count"), 1);
	assert_string_equal(find("ringway_request_duration_seconds_count", "family", "hash"), "1");
	assert_int_equal(count_samples("ringway_node_request_duration_seconds_count"), 1);
	assert_string_equal(find("ringway_node_request_duration_seconds_count", "node", "b"), "1");
	assert_int_equal(count_samples("ringway_node_requests_total"), 2); /* numbers are there */
	metric_block_free(blocks[0]);
	metric_block_free(blocks[1]);
	node_blocks_free(nb);
}

static void hostile_names_break_nothing(void **state)
{
	static const struct {
		const char *name;
		const char *shown;
	} rows[] = {
		{"plain", "plain"},
		{"", ""},
		{"a\"b", "a\"b"},
		{"a\\b", "a\\b"},
		{"\\", "\\"},
		{"\\n", "\\n"},
		{"two\nlines 1", "two\nlines 1"},
		{"x\"} 1\nringway_up{y=\"", "x\"} 1\nringway_up{y=\""},
		{"{},=", "{},="},
		{"\r\t\x01\x7f", "\\x0d\\x09\\x01\\x7f"},
		{"caf\xc3\xa9", "caf\xc3\xa9"},
		{"\xe2\x82\xac\xf0\x9f\x98\x80", "\xe2\x82\xac\xf0\x9f\x98\x80"},
		{"\xff\xfe", "\\xff\\xfe"},
		{"cut \xe2\x82", "cut \\xe2\\x82"},
		{"\xc3", "\\xc3"},
		{"\xf0\x9f\x98", "\\xf0\\x9f\\x98"},
		{"\xc0\x80", "\\xc0\\x80"},
		{"\xc1\xbf", "\\xc1\\xbf"},
		{"\xe0\x9f\xbf", "\\xe0\\x9f\\xbf"},
		{"\xe0\xa0\x80", "\xe0\xa0\x80"},
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"},
		{"\xed\x9f\xbf", "\xed\x9f\xbf"},
		{"\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf"},
		{"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
		{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
		{"\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80"},
		{"\x80", "\\x80"},
		{"\xc3\"", "\\xc3\""},
		{"\xe2\x82\n", "\\xe2\\x82\n"},
	};
	struct metric_node nodes[ARRAY_LEN(rows)];
	(void)state;
	struct metric_block *b = metric_block_new();
	struct node_block *nb = node_blocks_new(ARRAY_LEN(rows));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		nodes[i] =
			(struct metric_node){rows[i].name, rows[i].name, rows[i].name, &nb[i], 1};
		node_metric_add(&nb[i], NM_REQUESTS, i + 1);
		hist_add(&nb[i].latency, 9);
	}
	print_page(&b, 1, nodes, ARRAY_LEN(rows));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		static const char *const labels[] = {"pool", "node", "address"};
		for (size_t l = 0; l < ARRAY_LEN(labels); l++) {
			const char *v =
				find("ringway_node_requests_total", labels[l], rows[i].shown);
			assert_non_null(v);
			assert_int_equal(strtoull(v, NULL, 10), i + 1);
			assert_non_null(find("ringway_node_request_duration_seconds_sum", labels[l],
				rows[i].shown));
		}
	}
	metric_block_free(b);
	node_blocks_free(nb);
}

/* What the parser leans on must be able to say no, or it proves nothing. */
static void the_check_for_utf8_can_fail(void **state)
{
	(void)state;
	assert_false(is_utf8("\xed\xa0\x80"));
	assert_false(is_utf8("\xc3"));
	assert_true(is_utf8("\xe2\x82\xac"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_idle_router_shows_every_number_as_zero),
		cmocka_unit_test(every_declared_number_is_on_the_page),
		cmocka_unit_test(numbers_are_summed_over_workers),
		cmocka_unit_test(a_gauge_is_never_below_zero),
		cmocka_unit_test(a_bucket_never_claims_what_may_be_above_its_bound),
		cmocka_unit_test(histograms_are_cumulative_and_add_up),
		cmocka_unit_test(sums_of_seconds_keep_their_microseconds),
		cmocka_unit_test(families_and_nodes_without_a_sample_have_no_histogram),
		cmocka_unit_test(hostile_names_break_nothing),
		cmocka_unit_test(the_check_for_utf8_can_fail),
	};
	return cmocka_run_group_tests(tests, NULL, free_page);
}
