/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/stats.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

struct stats *stats_new(void)
{
	struct stats *s = calloc(1, sizeof(*s));
	CHECK(s != NULL);
	return s;
}

void stats_free(struct stats *s)
{
	free(s);
}

/* ---- counting ------------------------------------------------------------------------------ */

/* The first word of an error: what follows '-', up to a space or the line's end. */
static struct span sort_of(const uint8_t *error, size_t n)
{
	size_t len = 0;
	if (n < 2 || error[0] != '-')
		return SPAN("ERR");
	while (len < ERROR_SORT_LEN && 1 + len < n && error[1 + len] > ' ')
		len++;
	return len > 0 ? span_of(error + 1, len) : SPAN("ERR");
}

static struct error_stat *sort_find(struct stats *s, uint32_t n, struct span name)
{
	for (uint32_t i = 0; i < n; i++)
		if (span_eq(name, span_str(s->sorts[i].name)))
			return &s->sorts[i];
	return NULL;
}

static void count_error(struct stats *s, const void *error, size_t n)
{
	struct span name = sort_of(error, n);
	uint32_t known = atomic_load_explicit(&s->nsorts, memory_order_relaxed);
	struct error_stat *e = sort_find(s, known, name);
	stats_bump(&s->errors, 1);
	if (e == NULL && known == ERROR_SORTS)
		return;
	if (e == NULL) {
		e = &s->sorts[known];
		memcpy(e->name, name.ptr, name.len);
		/* release: whoever sees the number sees the name */
		atomic_store_explicit(&s->nsorts, known + 1, memory_order_release);
	}
	stats_bump(&e->count, 1);
}

void stats_failed(struct stats *s, const struct cmd *cmd, const void *error, size_t n)
{
	if (cmd != NULL && cmd->id < CMD_COUNT)
		stats_bump(&s->cmd[cmd->id].failed, 1);
	count_error(s, error, n);
}

void stats_rejected(struct stats *s, const struct cmd *cmd, const void *error, size_t n)
{
	if (cmd != NULL && cmd->id < CMD_COUNT)
		stats_bump(&s->cmd[cmd->id].rejected, 1);
	count_error(s, error, n);
}

/* ---- telling ------------------------------------------------------------------------------- */

struct cmd_total {
	uint64_t calls, usec, rejected, failed;
};

static uint64_t get(const _Atomic uint64_t *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

static struct cmd_total cmd_total(const struct stats *const *all, size_t n, unsigned id)
{
	struct cmd_total t = {0};
	for (size_t i = 0; i < n; i++) {
		const struct cmd_stat *c = &all[i]->cmd[id];
		t.calls += get(&c->calls);
		t.usec += get(&c->usec);
		t.rejected += get(&c->rejected);
		t.failed += get(&c->failed);
	}
	return t;
}

void stats_print_commands(FILE *out, const struct stats *const *all, size_t n)
{
	for (unsigned id = 0; id < CMD_COUNT; id++) {
		struct cmd_total t = cmd_total(all, n, id);
		if (t.calls + t.rejected + t.failed == 0)
			continue;
		(void)fprintf(out,
			"cmdstat_%s:calls=%" PRIu64 ",usec=%" PRIu64
			",usec_per_call=%.2f,rejected_calls=%" PRIu64 ",failed_calls=%" PRIu64
			"\r\n",
			cmd_at(id)->name, t.calls, t.usec,
			t.calls == 0 ? 0.0 : (double)t.usec / (double)t.calls, t.rejected,
			t.failed);
	}
}

/* NULL: none of that sort yet. */
static const struct error_stat *sort_in(const struct stats *s, const char *name)
{
	uint32_t known = atomic_load_explicit(&s->nsorts, memory_order_acquire);
	for (uint32_t k = 0; k < known; k++)
		if (strcmp(s->sorts[k].name, name) == 0)
			return &s->sorts[k];
	return NULL;
}

static uint64_t sort_total(const struct stats *const *all, size_t n, const char *name)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < n; i++) {
		const struct error_stat *e = sort_in(all[i], name);
		sum += e != NULL ? get(&e->count) : 0;
	}
	return sum;
}

/* One of the first n workers has it too. */
static bool told_before(const struct stats *const *all, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (sort_in(all[i], name) != NULL)
			return true;
	return false;
}

void stats_print_errors(FILE *out, const struct stats *const *all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t known = atomic_load_explicit(&all[i]->nsorts, memory_order_acquire);
		for (uint32_t k = 0; k < known; k++) {
			const char *name = all[i]->sorts[k].name;
			if (!told_before(all, i, name))
				(void)fprintf(out, "errorstat_%s:count=%" PRIu64 "\r\n", name,
					sort_total(all, n, name));
		}
	}
}

uint64_t stats_total_errors(const struct stats *const *all, size_t n)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += get(&all[i]->errors);
	return sum;
}
