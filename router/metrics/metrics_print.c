/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/metrics/metrics.h"

/*
 * Prometheus's text format, version 0.0.4.  A metric's lines must stand together, so the outer loop
 * is over metrics and the inner one over nodes.
 *
 * Names of nodes come from people: what would end a label's value is escaped as the format wants,
 * and bytes that are not UTF-8 (one of them makes Prometheus refuse the whole page) or not
 * printable appear as \xNN.
 *
 * The histograms inside are finer than what is printed.  A fine bucket is counted in the first
 * printed one whose bound is not below its own upper end: a count never claims to be below a bound
 * that it may be above.
 */

#include <inttypes.h>
#include <stdbool.h>

#define PREFIX "ringway_"
#define NODE_PREFIX PREFIX "node_"

struct number {
	enum metric_kind kind;
	const char *name;
	const char *help;
};

static const struct number numbers[METRIC_COUNT] = {
#define X(id, kind, name, help) [id] = {kind, PREFIX name, help},
#include "router/metrics/metric_list.h"
#undef X
};

static const struct number node_numbers[NODE_METRIC_COUNT] = {
#define X(id, kind, name, help) [id] = {kind, NODE_PREFIX name, help},
#include "router/metrics/node_metric_list.h"
#undef X
};

enum histogram {
#define X(id, name, help) id,
#include "router/metrics/histogram_list.h"
#undef X
	HISTOGRAM_COUNT
};

static const struct {
	const char *name;
	const char *help;
} histograms[HISTOGRAM_COUNT] = {
#define X(id, name, help) [id] = {PREFIX name, help},
#include "router/metrics/histogram_list.h"
#undef X
};

static const struct {
	uint64_t us;
	const char *le;
} bounds[] = {
#define X(us, le) {us, le},
#include "router/metrics/latency_bound_list.h"
#undef X
};

static const char *const family_names[CMD_FAMILY_COUNT] = {
#define X(id, text) [id] = text,
#include "router/wire/cmd_family_list.h"
#undef X
};

struct label {
	const char *name;
	const char *value;
};

#define LABELS_MAX 3

struct labels {
	struct label at[LABELS_MAX];
	size_t n;
};

static bool continues(uint8_t c)
{
	return (c & 0xc0) == 0x80;
}

/* Bytes of the UTF-8 character at p (a string, so that reading stops at its NUL); 0 when it is
 * none. */
static size_t utf8_length(const uint8_t *p)
{
	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc2 && p[0] <= 0xdf) /* 0xc0 and 0xc1 would be longer than needed */
		return continues(p[1]) ? 2 : 0;
	if (p[0] >= 0xe0 && p[0] <= 0xef) {
		bool overlong = p[0] == 0xe0 && p[1] < 0xa0;
		bool surrogate = p[0] == 0xed && p[1] > 0x9f;
		return !overlong && !surrogate && continues(p[1]) && continues(p[2]) ? 3 : 0;
	}
	if (p[0] >= 0xf0 && p[0] <= 0xf4) {
		bool overlong = p[0] == 0xf0 && p[1] < 0x90;
		bool too_large = p[0] == 0xf4 && p[1] > 0x8f;
		return !overlong && !too_large && continues(p[1]) && continues(p[2]) &&
				       continues(p[3])
			       ? 4
			       : 0;
	}
	return 0;
}

static void put_label_value(FILE *out, const char *value)
{
	const uint8_t *p = (const uint8_t *)value;

	while (*p != '\0') {
		size_t n = utf8_length(p);
		bool control = *p < ' ' || *p == 0x7f;
		if (*p == '\n') {
			(void)fputs("\\n", out);
		} else if (*p == '"' || *p == '\\') {
			(void)fprintf(out, "\\%c", *p);
		} else if (n == 0 || control) {
			(void)fprintf(out, "\\\\x%02x", *p);
			n = 1;
		} else {
			(void)fwrite(p, 1, n, out);
		}
		p += n;
	}
}

/* {a="x",b="y",le="0.1"}; le may be NULL. */
static void put_labels(FILE *out, const struct labels *labels, const char *le)
{
	const char *between = "{";

	for (size_t i = 0; i < labels->n; i++) {
		(void)fprintf(out, "%s%s=\"", between, labels->at[i].name);
		put_label_value(out, labels->at[i].value);
		(void)fputc('"', out);
		between = ",";
	}
	if (le != NULL)
		(void)fprintf(out, "%sle=\"%s\"", between, le);
	(void)fputc('}', out);
}

static void put_head(FILE *out, const char *name, const char *type, const char *help)
{
	(void)fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_number_head(FILE *out, const struct number *n)
{
	put_head(out, n->name, n->kind == METRIC_COUNTER ? "counter" : "gauge", n->help);
}

/*
 * A gauge that one worker raises and another lowers may be read between the two, and be less than
 * nothing for a moment.
 */
static uint64_t shown(const struct number *n, uint64_t sum)
{
	return n->kind == METRIC_GAUGE && (int64_t)sum < 0 ? 0 : sum;
}

static void put_bucket(
	FILE *out, const char *name, const struct labels *labels, const char *le, uint64_t count)
{
	(void)fprintf(out, "%s_bucket", name);
	put_labels(out, labels, le);
	(void)fprintf(out, " %" PRIu64 "\n", count);
}

/* h is a copy: its numbers don't change while they are printed, so that the last bucket equals the
 * count. */
static void put_histogram(
	FILE *out, const char *name, const struct labels *labels, const struct hist *h)
{
	uint64_t total = hist_total(h);
	uint64_t sum_us = h->sum_us;
	uint64_t below = 0;
	unsigned fine = 0;

	for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
		while (fine < HIST_BUCKETS && hist_upper(fine) <= bounds[i].us)
			below += h->count[fine++];
		put_bucket(out, name, labels, bounds[i].le, below);
	}
	put_bucket(out, name, labels, "+Inf", total);
	(void)fprintf(out, "%s_sum", name);
	put_labels(out, labels, NULL);
	(void)fprintf(out, " %" PRIu64 ".%06" PRIu64 "\n", sum_us / 1000000, sum_us % 1000000);
	(void)fprintf(out, "%s_count", name);
	put_labels(out, labels, NULL);
	(void)fprintf(out, " %" PRIu64 "\n", total);
}

static void print_numbers(FILE *out, struct metric_block *const *blocks, size_t nblocks)
{
	for (size_t m = 0; m < METRIC_COUNT; m++) {
		uint64_t sum = metric_sum(blocks, nblocks, (enum metric)m);
		put_number_head(out, &numbers[m]);
		(void)fprintf(out, "%s %" PRIu64 "\n", numbers[m].name, shown(&numbers[m], sum));
	}
}

static void print_families(FILE *out, struct metric_block *const *blocks, size_t nblocks)
{
	const char *name = histograms[HM_REQUEST].name;

	put_head(out, name, "histogram", histograms[HM_REQUEST].help);
	for (size_t f = 0; f < CMD_FAMILY_COUNT; f++) {
		const struct labels labels = {.at = {{"family", family_names[f]}}, .n = 1};
		struct hist sum = {0};
		for (size_t i = 0; i < nblocks; i++)
			hist_merge(&sum, &blocks[i]->family[f]);
		if (hist_total(&sum) > 0)
			put_histogram(out, name, &labels, &sum);
	}
}

static struct labels node_labels(const struct metric_node *n)
{
	return (struct labels){
		.at = {{"pool", n->pool}, {"node", n->node}, {"address", n->address}},
		.n = 3,
	};
}

static void print_node_numbers(FILE *out, const struct metric_node *nodes, size_t nnodes)
{
	for (size_t m = 0; m < NODE_METRIC_COUNT; m++) {
		const struct number *number = &node_numbers[m];
		put_number_head(out, number);
		for (size_t i = 0; i < nnodes; i++) {
			const struct labels labels = node_labels(&nodes[i]);
			uint64_t sum = node_metric_sum(
				nodes[i].blocks, nodes[i].workers, (enum node_metric)m);
			(void)fputs(number->name, out);
			put_labels(out, &labels, NULL);
			(void)fprintf(out, " %" PRIu64 "\n", shown(number, sum));
		}
	}
}

static void print_node_latencies(FILE *out, const struct metric_node *nodes, size_t nnodes)
{
	const char *name = histograms[HM_NODE_REQUEST].name;

	put_head(out, name, "histogram", histograms[HM_NODE_REQUEST].help);
	for (size_t i = 0; i < nnodes; i++) {
		const struct labels labels = node_labels(&nodes[i]);
		struct hist sum = {0};
		for (size_t w = 0; w < nodes[i].workers; w++)
			hist_merge(&sum, &nodes[i].blocks[w].latency);
		if (hist_total(&sum) > 0)
			put_histogram(out, name, &labels, &sum);
	}
}

void metrics_print(FILE *out, struct metric_block *const *blocks, size_t nblocks,
	const struct metric_node *nodes, size_t nnodes)
{
	print_numbers(out, blocks, nblocks);
	print_families(out, blocks, nblocks);
	print_node_numbers(out, nodes, nnodes);
	print_node_latencies(out, nodes, nnodes);
}
