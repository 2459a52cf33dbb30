/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/info.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/check.h"
#include "router/core/local.h"
#include "router/core/stats.h"
#include "router/core/worker.h"

/* What the printers of sections get. */
struct info {
	FILE *out;
	const struct worker_pool *pool;
	const struct worker *worker;
	const struct router_facts *facts;
	const struct info_sum *nodes;
};

/* ---- fields -------------------------------------------------------------------------------- */

static PRINTF_LIKE(3, 4) void put(const struct info *i, const char *name, const char *fmt, ...)
{
	va_list ap;
	(void)fprintf(i->out, "%s:", name);
	va_start(ap, fmt);
	(void)vfprintf(i->out, fmt, ap);
	va_end(ap);
	(void)fputs("\r\n", i->out);
}

static void put_number(const struct info *i, const char *name, uint64_t n)
{
	put(i, name, "%" PRIu64, n);
}

/* Bytes as people read them: 992.36K. */
static void put_human(const struct info *i, const char *name, uint64_t bytes)
{
	static const char units[] = "KMGTP";
	double n = (double)bytes;
	size_t unit = 0;
	if (bytes < 1024) {
		put(i, name, "%" PRIu64 "B", bytes);
		return;
	}
	for (n /= 1024; n >= 1024 && unit + 2 < sizeof(units); unit++)
		n /= 1024;
	put(i, name, "%.2f%c", n, units[unit]);
}

static uint64_t metric(const struct info *i, enum metric m)
{
	return metric_sum(i->facts->blocks, i->facts->nblocks, m);
}

static bool has(const struct info *i, enum info_field f)
{
	return i->nodes->seen[f];
}

static uint64_t of_nodes(const struct info *i, enum info_field f)
{
	return i->nodes->v[f];
}

/* What the nodes said, if any did. */
#define PUT_NODES(i, field) put_nodes(i, INFO_##field, #field)

static void put_nodes(const struct info *i, enum info_field f, const char *name)
{
	if (has(i, f))
		put_number(i, name, of_nodes(i, f));
}

static void put_nodes_human(const struct info *i, enum info_field f, const char *name)
{
	if (has(i, f))
		put_human(i, name, of_nodes(i, f));
}

static void put_share(const struct info *i, const char *name, uint64_t part, uint64_t whole)
{
	put(i, name, "%.2f%%", whole == 0 ? 0.0 : 100.0 * (double)part / (double)whole);
}

/* ---- sections ------------------------------------------------------------------------------ */

/* Another one each time the process starts, as tools expect of it. */
static void put_run_id(const struct info *i)
{
	struct rng rng;
	rng_seed(&rng, i->facts->started_ns ^ i->facts->started_wall_ms << 20 ^ (uint64_t)getpid());
	(void)rng_u64(&rng);
	uint64_t a = rng_u64(&rng), b = rng_u64(&rng);
	put(i, "run_id", "%016" PRIx64 "%016" PRIx64 "%08" PRIx32, a, b, (uint32_t)rng_u64(&rng));
}

static void put_executable(const struct info *i)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
	if (n > 0)
		put(i, "executable", "%.*s", (int)n, path);
}

static void print_server(const struct info *i)
{
	struct utsname u;
	uint64_t up_s = (clock_ns() - i->facts->started_ns) / NS_PER_S;
	(void)uname(&u);
	put(i, "redis_version", "%s",
		i->nodes->version[0] != 0 ? i->nodes->version : LOCAL_REDIS_VERSION);
	put(i, "redis_git_sha1", "00000000");
	put(i, "redis_git_dirty", "0");
	put(i, "redis_mode", "standalone");
	put(i, "os", "%s %s %s", u.sysname, u.release, u.machine);
	put(i, "arch_bits", "%zu", 8 * sizeof(void *));
	put(i, "monotonic_clock", "POSIX clock_gettime");
	put(i, "multiplexing_api", "epoll");
	put(i, "atomicvar_api", "c11-builtin");
	put(i, "process_id", "%d", getpid());
	put_run_id(i);
	put_number(i, "tcp_port", i->facts->port);
	put_number(i, "server_time_usec", clock_wall_ms() * 1000);
	put_number(i, "uptime_in_seconds", up_s);
	put_number(i, "uptime_in_days", up_s / 86400);
	put_executable(i);
	put(i, "io_threads_active", "0");
}

static void print_clients(const struct info *i)
{
	put_number(i, "connected_clients", metric(i, M_CLIENTS));
	put(i, "cluster_connections", "0");
	put_number(i, "maxclients", i->facts->max_clients);
	put(i, "blocked_clients", "0");
	put(i, "tracking_clients", "0");
	put(i, "clients_in_timeout_table", "0");
}

static void print_used_memory(const struct info *i)
{
	uint64_t used = of_nodes(i, INFO_used_memory),
		 startup = of_nodes(i, INFO_used_memory_startup);
	PUT_NODES(i, used_memory);
	put_nodes_human(i, INFO_used_memory, "used_memory_human");
	PUT_NODES(i, used_memory_rss);
	put_nodes_human(i, INFO_used_memory_rss, "used_memory_rss_human");
	PUT_NODES(i, used_memory_peak);
	put_nodes_human(i, INFO_used_memory_peak, "used_memory_peak_human");
	if (has(i, INFO_used_memory_peak))
		put_share(i, "used_memory_peak_perc", used, of_nodes(i, INFO_used_memory_peak));
	PUT_NODES(i, used_memory_overhead);
	PUT_NODES(i, used_memory_startup);
	PUT_NODES(i, used_memory_dataset);
	if (has(i, INFO_used_memory_dataset))
		put_share(i, "used_memory_dataset_perc", of_nodes(i, INFO_used_memory_dataset),
			used > startup ? used - startup : 0);
	PUT_NODES(i, allocator_allocated);
	PUT_NODES(i, allocator_active);
	PUT_NODES(i, allocator_resident);
}

static void print_memory(const struct info *i)
{
	uint64_t used = of_nodes(i, INFO_used_memory), rss = of_nodes(i, INFO_used_memory_rss);
	print_used_memory(i);
	PUT_NODES(i, used_memory_lua);
	put_nodes_human(i, INFO_used_memory_lua, "used_memory_lua_human");
	PUT_NODES(i, number_of_cached_scripts);
	PUT_NODES(i, number_of_functions);
	PUT_NODES(i, number_of_libraries);
	PUT_NODES(i, used_memory_scripts);
	put_nodes_human(i, INFO_used_memory_scripts, "used_memory_scripts_human");
	PUT_NODES(i, maxmemory);
	put_nodes_human(i, INFO_maxmemory, "maxmemory_human");
	if (i->nodes->maxmemory_policy[0] != 0)
		put(i, "maxmemory_policy", "%s", i->nodes->maxmemory_policy);
	if (has(i, INFO_used_memory_rss) && used > 0) {
		put(i, "mem_fragmentation_ratio", "%.2f", (double)rss / (double)used);
		put(i, "mem_fragmentation_bytes", "%" PRId64, (int64_t)(rss - used));
	}
	PUT_NODES(i, mem_not_counted_for_evict);
	PUT_NODES(i, active_defrag_running);
	PUT_NODES(i, lazyfree_pending_objects);
	PUT_NODES(i, lazyfreed_objects);
}

static void print_persistence(const struct info *i)
{
	if (!has(i, INFO_loading))
		put(i, "loading", "0"); /* clients wait for this to be 0 */
	PUT_NODES(i, loading);
	PUT_NODES(i, async_loading);
	PUT_NODES(i, rdb_changes_since_last_save);
	PUT_NODES(i, rdb_bgsave_in_progress);
	PUT_NODES(i, rdb_last_save_time);
	if (has(i, INFO_rdb_bgsave_in_progress))
		put(i, "rdb_last_bgsave_status", "%s", i->nodes->bgsave_failed ? "err" : "ok");
	PUT_NODES(i, rdb_saves);
	PUT_NODES(i, aof_enabled);
	PUT_NODES(i, aof_rewrite_in_progress);
	PUT_NODES(i, aof_rewrite_scheduled);
}

/* Counts of every worker; to be freed. */
static const struct stats **all_stats(const struct info *i)
{
	const struct stats **all = local_zeroed(i->facts->nworkers, sizeof(*all));
	for (size_t w = 0; w < i->facts->nworkers; w++)
		all[w] = i->worker->opts.workers[w]->stats;
	return all;
}

static void print_stats(const struct info *i)
{
	const struct stats **all = all_stats(i);
	put_number(i, "total_connections_received", metric(i, M_CLIENTS_ACCEPTED));
	put_number(i, "total_commands_processed", metric(i, M_REQUESTS));
	put_number(i, "total_net_input_bytes", metric(i, M_CLIENT_READ_BYTES));
	put_number(i, "total_net_output_bytes", metric(i, M_CLIENT_WRITE_BYTES));
	put_number(i, "rejected_connections", metric(i, M_CLIENTS_REFUSED));
	PUT_NODES(i, expired_keys);
	PUT_NODES(i, expired_time_cap_reached_count);
	PUT_NODES(i, evicted_keys);
	PUT_NODES(i, keyspace_hits);
	PUT_NODES(i, keyspace_misses);
	PUT_NODES(i, latest_fork_usec);
	PUT_NODES(i, total_forks);
	PUT_NODES(i, active_defrag_hits);
	PUT_NODES(i, active_defrag_misses);
	put(i, "tracking_total_keys", "0");
	put(i, "tracking_total_items", "0");
	put(i, "tracking_total_prefixes", "0");
	put_number(i, "total_error_replies", stats_total_errors(all, i->facts->nworkers));
	free(all);
}

static void print_replication(const struct info *i)
{
	put(i, "role", "master");
	put(i, "connected_slaves", "0");
	put(i, "master_failover_state", "no-failover");
	put(i, "master_repl_offset", "0");
}

static void put_seconds(const struct info *i, const char *name, const struct timeval *tv)
{
	put(i, name, "%ld.%06ld", tv->tv_sec, tv->tv_usec);
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
	const struct stats **all = all_stats(i);
	stats_print_commands(i->out, all, i->facts->nworkers);
	free(all);
}

static void print_errorstats(const struct info *i)
{
	const struct stats **all = all_stats(i);
	stats_print_errors(i->out, all, i->facts->nworkers);
	free(all);
}

static void print_cluster(const struct info *i)
{
	put(i, "cluster_enabled", "0");
}

/* As clients number them: the pool's first database is their 0. */
static void print_keyspace(const struct info *i)
{
	uint32_t base = i->pool->opts->database;
	for (size_t k = 0; k < i->nodes->ndatabases; k++) {
		const struct info_database *d = &i->nodes->databases[k];
		if (d->number < base)
			continue;
		(void)fprintf(i->out,
			"db%u:keys=%" PRIu64 ",expires=%" PRIu64 ",avg_ttl=%" PRIu64 "\r\n",
			d->number - base, d->keys, d->expires,
			d->expires == 0 ? 0 : (uint64_t)(d->ttl_ms / (double)d->expires));
	}
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

static void print_ringway(const struct info *i)
{
	const struct worker *w = i->worker;
	put(i, "ringway_version", "%s", i->facts->version);
	put(i, "ringway_workers", "%zu", i->facts->nworkers);
	put(i, "ringway_worker", "%zu", w->opts.index);
	put_number(i, "ringway_rss_bytes", resident_bytes());
	put_number(i, "ringway_buffer_bytes", metric(i, M_BUFFER_BYTES));
	put(i, "ringway_pools", "%zu", w->opts.npools);
	put(i, "ringway_pool", "%s", i->pool->opts->name);
	put(i, "ringway_nodes_missing", "%s", i->nodes->missing != NULL ? i->nodes->missing : "");
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
	{"memory", "Memory", print_memory, false, true},
	{"persistence", "Persistence", print_persistence, false, true},
	{"stats", "Stats", print_stats, false, true},
	{"replication", "Replication", print_replication, false, false},
	{"cpu", "CPU", print_cpu, false, false},
	{"modules", "Modules", print_nothing, false, false},
	{"commandstats", "Commandstats", print_commandstats, true, false},
	{"errorstats", "Errorstats", print_errorstats, false, false},
	{"latencystats", "Latencystats", print_nothing, true, false},
	{"cluster", "Cluster", print_cluster, false, false},
	{"keyspace", "Keyspace", print_keyspace, false, true},
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
