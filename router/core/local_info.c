/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * INFO, COMMAND and CONFIG GET: what the router says of itself.
 */

#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/check.h"
#include "router/core/answer.h"
#include "router/core/local.h"
#include "router/core/worker.h"
#include "router/wire/cmd_info.h"

/* ---- INFO ---------------------------------------------------------------------------------- */

static uint64_t sum(const struct worker *w, enum metric m)
{
	return metric_sum(w->opts.facts->blocks, w->opts.facts->nblocks, m);
}

static void info_server(FILE *f, struct worker *w)
{
	const struct router_facts *r = w->opts.facts;
	struct utsname u;
	(void)uname(&u);
	uint64_t up_s = (loop_now(&w->loop) - r->started_ns) / NS_PER_S;
	(void)fprintf(f,
		"redis_version:%s\r\nredis_mode:standalone\r\nos:%s %s %s\r\narch_bits:64\r\n",
		LOCAL_REDIS_VERSION, u.sysname, u.release, u.machine);
	(void)fprintf(f,
		"process_id:%d\r\ntcp_port:%u\r\nuptime_in_seconds:%" PRIu64
		"\r\nuptime_in_days:%" PRIu64 "\r\n",
		getpid(), r->port, up_s, up_s / 86400);
}

static void info_clients(FILE *f, struct worker *w)
{
	(void)fprintf(f, "connected_clients:%" PRIu64 "\r\nmaxclients:%u\r\nblocked_clients:0\r\n",
		sum(w, M_CLIENTS), w->opts.facts->max_clients);
}

/* Resident pages of the process, from the kernel. */
static uint64_t resident_bytes(void)
{
	unsigned long size = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "re");
	if (f == NULL)
		return 0;
	int n = fscanf(f, "%lu %lu", &size,
		&resident); /* NOLINT(cert-err34-c): the kernel's own numbers */
	(void)fclose(f);
	return n == 2 ? (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static void info_memory(FILE *f, struct worker *w)
{
	uint64_t rss = resident_bytes();
	(void)fprintf(f,
		"used_memory:%" PRIu64 "\r\nused_memory_rss:%" PRIu64
		"\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\nringway_buffer_bytes:%" PRIu64
		"\r\n",
		rss, rss, sum(w, M_BUFFER_BYTES));
}

static void info_persistence(FILE *f, struct worker *w)
{
	(void)w;
	(void)fprintf(f, "loading:0\r\nrdb_bgsave_in_progress:0\r\naof_enabled:0\r\n");
}

static void info_stats(FILE *f, struct worker *w)
{
	(void)fprintf(f,
		"total_connections_received:%" PRIu64 "\r\ntotal_commands_processed:%" PRIu64
		"\r\ntotal_net_input_bytes:%" PRIu64 "\r\ntotal_net_output_bytes:%" PRIu64
		"\r\nrejected_connections:%" PRIu64 "\r\n",
		sum(w, M_CLIENTS_ACCEPTED), sum(w, M_REQUESTS), sum(w, M_CLIENT_READ_BYTES),
		sum(w, M_CLIENT_WRITE_BYTES), sum(w, M_CLIENTS_REFUSED));
}

static void info_replication(FILE *f, struct worker *w)
{
	(void)w;
	(void)fprintf(f, "role:master\r\nconnected_slaves:0\r\nmaster_repl_offset:0\r\n");
}

static void info_cpu(FILE *f, struct worker *w)
{
	struct rusage u;
	(void)w;
	(void)getrusage(RUSAGE_SELF, &u);
	(void)fprintf(f, "used_cpu_sys:%ld.%06ld\r\nused_cpu_user:%ld.%06ld\r\n", u.ru_stime.tv_sec,
		u.ru_stime.tv_usec, u.ru_utime.tv_sec, u.ru_utime.tv_usec);
}

static void info_cluster(FILE *f, struct worker *w)
{
	(void)w;
	(void)fprintf(f, "cluster_enabled:0\r\n");
}

static void info_keyspace(FILE *f, struct worker *w)
{
	(void)f;
	(void)w;
}

static void info_ringway(FILE *f, struct worker *w)
{
	const struct router_facts *r = w->opts.facts;
	(void)fprintf(f,
		"ringway_version:%s\r\nringway_workers:%zu\r\nringway_worker:%zu\r\nringway_pools:%"
		"zu\r\n",
		r->version, r->nworkers, w->opts.index, w->opts.npools);
	for (size_t i = 0; i < w->opts.npools; i++) {
		const struct view *v = w->pools[i].view;
		if (v == NULL)
			continue;
		(void)fprintf(f,
			"ringway_pool_%s:nodes=%zu,epoch=%" PRIu64 ",phase=%u,checksum=%016" PRIx64
			"\r\n",
			w->opts.pools[i].name, view_topology(v)->nnodes, view_topology(v)->epoch,
			view_topology(v)->phase, ring_checksum(view_topology(v)->ring));
	}
}

static const struct {
	const char *name;
	const char *title;
	void (*print)(FILE *, struct worker *);
} info_sections[] = {
	{"server", "Server", info_server},
	{"clients", "Clients", info_clients},
	{"memory", "Memory", info_memory},
	{"persistence", "Persistence", info_persistence},
	{"stats", "Stats", info_stats},
	{"replication", "Replication", info_replication},
	{"cpu", "CPU", info_cpu},
	{"cluster", "Cluster", info_cluster},
	{"keyspace", "Keyspace", info_keyspace},
	{"ringway", "Ringway", info_ringway},
};

static bool section_asked(const struct call *call, const char *name)
{
	if (call->n == 1)
		return true;
	for (size_t i = 1; i < call->n; i++) {
		struct span s = call->args[i];
		if (span_eq_nocase(s, span_str(name)) || span_eq_nocase(s, SPAN("all")) ||
			span_eq_nocase(s, SPAN("default")) || span_eq_nocase(s, SPAN("everything")))
			return true;
	}
	return false;
}

void local_info(struct call *call)
{
	char *buf = NULL;
	size_t size = 0;
	bool first = true;
	FILE *f = open_memstream(&buf, &size);
	CHECK(f != NULL);
	for (size_t i = 0; i < ARRAY_LEN(info_sections); i++) {
		if (!section_asked(call, info_sections[i].name))
			continue;
		(void)fprintf(f, "%s# %s\r\n", first ? "" : "\r\n", info_sections[i].title);
		info_sections[i].print(f, call->client->worker);
		first = false;
	}
	CHECK(fclose(f) == 0);
	struct answer a;
	answer_begin(&a, call);
	answer_text(&a, span_of(buf, size));
	answer_send(&a, call);
	free(buf);
}

/* ---- COMMAND ------------------------------------------------------------------------------- */

void local_command(struct call *call)
{
	struct answer a;
	answer_begin(&a, call);
	cmd_info_write_all(a.out, a.resp);
	answer_send(&a, call);
}

void local_command_count(struct call *call)
{
	struct answer a;
	answer_begin(&a, call);
	answer_int(&a, cmd_info_count());
	answer_send(&a, call);
}

void local_command_info(struct call *call)
{
	struct answer a;
	if (call->n == 2) {
		local_command(call);
		return;
	}
	answer_begin(&a, call);
	answer_array(&a, call->n - 2);
	for (size_t i = 2; i < call->n; i++) {
		const struct cmd *c = cmd_by_name(call->args[i]);
		if (c == NULL || c->own)
			answer_null(&a);
		else
			cmd_info_write(a.out, c, a.resp);
	}
	answer_send(&a, call);
}

void local_command_list(struct call *call)
{
	struct answer a;
	size_t n = 0;
	if (call->n > 2) {
		local_error(call, "ERR 'command|list' with a filter is not served yet");
		return;
	}
	answer_begin(&a, call);
	for (unsigned id = 0; id < CMD_COUNT; id++)
		n += !cmd_at(id)->own;
	answer_array(&a, n);
	for (unsigned id = 0; id < CMD_COUNT; id++)
		if (!cmd_at(id)->own)
			answer_str(&a, cmd_at(id)->name);
	answer_send(&a, call);
}

void local_command_getkeys(struct call *call)
{
	struct cmd_keys *k = &call->client->worker->keys;
	const struct span *args = call->args + 2;
	size_t n = call->n - 2;
	const struct cmd *c = cmd_find(args, n);
	if (c == NULL || (c->has_subs && n > 1)) {
		local_error(call, "ERR Invalid command specified");
		return;
	}
	if (c->keys == KEYS_NONE) {
		local_error(call, "ERR The command has no key arguments");
		return;
	}
	if (!cmd_arity_ok(c, n)) {
		local_error(call, "ERR Invalid number of arguments specified for command");
		return;
	}
	if (cmd_get_keys(c, args, n, k) == CMD_KEYS_BAD ||
		(k->n == 0 && !(c->flags & CMD_NO_MANDATORY_KEYS))) {
		local_error(call, "ERR Invalid arguments specified for command");
		return;
	}
	struct answer a;
	answer_begin(&a, call);
	answer_array(&a, k->n);
	for (uint32_t i = 0; i < k->n; i++)
		answer_bulk(&a, args[k->at[i]]);
	answer_send(&a, call);
}

/* ---- CONFIG GET ---------------------------------------------------------------------------- */

/* What tools ask a server for before they start; the answers are the router's own. */
static const struct {
	const char *name;
	const char *value; /* NULL: maxclients */
} config_values[] = {
	{"appendonly", "no"},
	{"databases", "16"},
	{"maxclients", NULL},
	{"maxmemory", "0"},
	{"maxmemory-policy", "noeviction"},
	{"proto-max-bulk-len", "536870912"},
	{"save", ""},
	{"timeout", "0"},
};

static bool config_asked(const struct call *call, const char *name)
{
	for (size_t i = 2; i < call->n; i++)
		if (span_glob(call->args[i], span_str(name), true))
			return true;
	return false;
}

void local_config_get(struct call *call)
{
	char max[16];
	size_t n = 0;
	struct answer a;
	(void)snprintf(max, sizeof(max), "%u", call->client->worker->opts.facts->max_clients);
	for (size_t i = 0; i < ARRAY_LEN(config_values); i++)
		n += config_asked(call, config_values[i].name);
	answer_begin(&a, call);
	answer_map(&a, n);
	for (size_t i = 0; i < ARRAY_LEN(config_values); i++) {
		if (!config_asked(call, config_values[i].name))
			continue;
		answer_str(&a, config_values[i].name);
		answer_str(&a, config_values[i].value != NULL ? config_values[i].value : max);
	}
	answer_send(&a, call);
}
