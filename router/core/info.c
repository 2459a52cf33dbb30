/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/info.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "router/core/info_internal.h"
#include "router/core/local.h"
#include "router/core/worker.h"

/* ---- fields -------------------------------------------------------------------------------- */

void info_put(const struct info *i, const char *name, const char *fmt, ...)
{
	va_list ap;
	(void)fprintf(i->out, "%s:", name);
	va_start(ap, fmt);
	(void)vfprintf(i->out, fmt, ap);
	va_end(ap);
	(void)fputs("\r\n", i->out);
}

void info_put_number(const struct info *i, const char *name, uint64_t n)
{
	info_put(i, name, "%" PRIu64, n);
}

uint64_t info_metric(const struct info *i, enum metric m)
{
	return metric_sum(i->facts->blocks, i->facts->nblocks, m);
}

const struct stats **info_stats(const struct info *i)
{
	const struct stats **all = local_zeroed(i->facts->nworkers, sizeof(const struct stats *));
	for (size_t w = 0; w < i->facts->nworkers; w++)
		all[w] = i->worker->opts.workers[w]->stats;
	return all;
}

/* ---- sections ------------------------------------------------------------------------------ */

/* Another one each time the process starts, as tools expect of it. */
static void put_run_id(const struct info *i)
{
	struct rng rng;
	rng_seed(&rng, i->facts->started_ns ^ i->facts->started_wall_ms << 20 ^ (uint64_t)getpid());
	(void)rng_u64(&rng);
	uint64_t a = rng_u64(&rng), b = rng_u64(&rng);
	info_put(i, "run_id", "%016" PRIx64 "%016" PRIx64 "%08" PRIx32, a, b,
		(uint32_t)rng_u64(&rng));
}

static void put_executable(const struct info *i)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
	if (n > 0)
		info_put(i, "executable", "%.*s", (int)n, path);
}

static void print_server(const struct info *i)
{
	struct utsname u;
	uint64_t up_s = (clock_ns() - i->facts->started_ns) / NS_PER_S;
	(void)uname(&u);
	info_put(i, "redis_version", "%s",
		i->nodes->version[0] != 0 ? i->nodes->version : LOCAL_REDIS_VERSION);
	info_put(i, "redis_git_sha1", "00000000");
	info_put(i, "redis_git_dirty", "0");
	info_put(i, "redis_mode", "standalone");
	info_put(i, "os", "%s %s %s", u.sysname, u.release, u.machine);
	info_put(i, "arch_bits", "%zu", 8 * sizeof(void *));
	info_put(i, "monotonic_clock", "POSIX clock_gettime");
	info_put(i, "multiplexing_api", "epoll");
	info_put(i, "atomicvar_api", "c11-builtin");
	info_put(i, "process_id", "%d", getpid());
	put_run_id(i);
	info_put_number(i, "tcp_port", i->facts->port);
	info_put_number(i, "server_time_usec", clock_wall_ms() * 1000);
	info_put_number(i, "uptime_in_seconds", up_s);
	info_put_number(i, "uptime_in_days", up_s / 86400);
	put_executable(i);
	info_put(i, "io_threads_active", "0");
}

static void print_clients(const struct info *i)
{
	info_put_number(i, "connected_clients", info_metric(i, M_CLIENTS));
	info_put(i, "cluster_connections", "0");
	info_put_number(i, "maxclients", i->worker->opts.limits->clients);
	info_put_number(i, "blocked_clients", info_metric(i, M_CLIENTS_BLOCKED));
	info_put(i, "tracking_clients", "0");
	info_put(i, "clients_in_timeout_table", "0");
}

static void print_replication(const struct info *i)
{
	info_put(i, "role", "master");
	info_put(i, "connected_slaves", "0");
	info_put(i, "master_failover_state", "no-failover");
	info_put(i, "master_repl_offset", "0");
}

static void put_seconds(const struct info *i, const char *name, const struct timeval *tv)
{
	info_put(i, name, "%ld.%06ld", tv->tv_sec, tv->tv_usec);
}

/* Of the router's process; the main thread is not told apart, for work is done by all of them. */
static void print_cpu(const struct info *i)
{
	struct rusage self, children;
	(void)getrusage(RUSAGE_SELF, &self);
	(void)getrusage(RUSAGE_CHILDREN, &children);
	put_seconds(i, "used_cpu_sys", &self.ru_stime);
	put_seconds(i, "used_cpu_user", &self.ru_utime);
	put_seconds(i, "used_cpu_sys_children", &children.ru_stime);
	put_seconds(i, "used_cpu_user_children", &children.ru_utime);
}

static void print_nothing(const struct info *i)
{
	(void)i;
}

static void print_commandstats(const struct info *i)
{
	const struct stats **all = info_stats(i);
	stats_print_commands(i->out, all, i->facts->nworkers);
	free(all);
}

static void print_errorstats(const struct info *i)
{
	const struct stats **all = info_stats(i);
	stats_print_errors(i->out, all, i->facts->nworkers);
	free(all);
}

static void print_cluster(const struct info *i)
{
	info_put(i, "cluster_enabled", "0");
}

/* Resident pages of the process, from the kernel. */
static uint64_t resident_bytes(void)
{
	unsigned long size = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "re");
	if (f == NULL)
		return 0;
	/* NOLINTNEXTLINE(cert-err34-c): the kernel's own numbers */
	int n = fscanf(f, "%lu %lu", &size, &resident);
	(void)fclose(f);
	return n == 2 ? (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static void print_ringway(const struct info *i)
{
	const struct worker *w = i->worker;
	info_put(i, "ringway_version", "%s", i->facts->version);
	info_put(i, "ringway_workers", "%zu", i->facts->nworkers);
	info_put(i, "ringway_worker", "%zu", w->opts.index);
	info_put_number(i, "ringway_rss_bytes", resident_bytes());
	info_put_number(i, "ringway_buffer_bytes", info_metric(i, M_BUFFER_BYTES));
	info_put(i, "ringway_pools", "%zu", w->opts.npools);
	info_put(i, "ringway_pool", "%s", i->pool->opts->name);
	info_put(i, "ringway_nodes_missing", "%s",
		i->nodes->missing != NULL ? i->nodes->missing : "");
	for (size_t k = 0; k < w->opts.npools; k++) {
		if (w->pools[k].view == NULL)
			continue;
		const struct topology *t = view_topology(w->pools[k].view);
		(void)fprintf(i->out,
			"ringway_pool_%s:nodes=%zu,epoch=%" PRIu64 ",phase=%u,checksum=%016" PRIx64
			"\r\n",
			w->opts.pools[k].name, t->nnodes, t->epoch, t->phase,
			ring_checksum(t->ring));
	}
}

/* ---- the table ----------------------------------------------------------------------------- */

static const struct section {
	const char *name;
	const char *title;
	void (*print)(const struct info *);
	bool asked_only; /* not among those that INFO alone shows */
	bool of_nodes;
} sections[] = {
	{"server", "Server", print_server, false, true},
	{"clients", "Clients", print_clients, false, false},
	{"memory", "Memory", info_print_memory, false, true},
	{"persistence", "Persistence", info_print_persistence, false, true},
	{"stats", "Stats", info_print_stats, false, true},
	{"replication", "Replication", print_replication, false, false},
	{"cpu", "CPU", print_cpu, false, false},
	{"modules", "Modules", print_nothing, false, false},
	{"commandstats", "Commandstats", print_commandstats, true, false},
	{"errorstats", "Errorstats", print_errorstats, false, false},
	{"latencystats", "Latencystats", print_nothing, true, false},
	{"cluster", "Cluster", print_cluster, false, false},
	{"keyspace", "Keyspace", info_print_keyspace, false, true},
	{"ringway", "Ringway", print_ringway, false, true},
};

static uint32_t named(struct span word)
{
	bool all = span_eq_nocase(word, SPAN("all")) || span_eq_nocase(word, SPAN("everything"));
	bool usual = span_eq_nocase(word, SPAN("default"));
	uint32_t bits = 0;
	for (size_t k = 0; k < ARRAY_LEN(sections); k++)
		if (all || (usual && !sections[k].asked_only) ||
			span_eq_nocase(word, span_str(sections[k].name)))
			bits |= 1u << k;
	return bits;
}

uint32_t info_sections(const struct span *args, size_t n)
{
	uint32_t bits = n == 1 ? named(SPAN("default")) : 0;
	for (size_t k = 1; k < n; k++)
		bits |= named(args[k]);
	return bits;
}

const char *info_node_section(uint32_t bits)
{
	const char *only = NULL;
	for (size_t k = 0; k < ARRAY_LEN(sections); k++) {
		if (!(bits >> k & 1) || !sections[k].of_nodes)
			continue;
		if (only != NULL)
			return "default";
		only = sections[k].name;
	}
	return only;
}

void info_print(FILE *out, struct worker_pool *p, uint32_t bits, const struct info_sum *nodes)
{
	const struct info i = {
		.out = out,
		.pool = p,
		.worker = p->worker,
		.facts = p->worker->opts.facts,
		.nodes = nodes,
	};
	bool first = true;
	for (size_t k = 0; k < ARRAY_LEN(sections); k++) {
		if (!(bits >> k & 1))
			continue;
		(void)fprintf(out, "%s# %s\r\n", first ? "" : "\r\n", sections[k].title);
		sections[k].print(&i);
		first = false;
	}
}
