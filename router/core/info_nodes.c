/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * The sections of INFO that sum up what the nodes say.
 */

#include <inttypes.h>
#include <stdlib.h>

#include "router/core/info_internal.h"
#include "router/core/worker.h"

/* ---- fields -------------------------------------------------------------------------------- */

/* Bytes as people read them: 992.36K. */
static void put_human(const struct info *i, const char *name, uint64_t bytes)
{
	static const char units[] = "KMGTP";
	double n = (double)bytes;
	size_t unit = 0;
	if (bytes < 1024) {
		info_put(i, name, "%" PRIu64 "B", bytes);
		return;
	}
	for (n /= 1024; n >= 1024 && unit + 2 < sizeof(units); unit++)
		n /= 1024;
	info_put(i, name, "%.2f%c", n, units[unit]);
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
		info_put_number(i, name, of_nodes(i, f));
}

static void put_nodes_human(const struct info *i, enum info_field f, const char *name)
{
	if (has(i, f))
		put_human(i, name, of_nodes(i, f));
}

static void put_share(const struct info *i, const char *name, uint64_t part, uint64_t whole)
{
	info_put(i, name, "%.2f%%", whole == 0 ? 0.0 : 100.0 * (double)part / (double)whole);
}

/* ---- sections ------------------------------------------------------------------------------ */

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

void info_print_memory(const struct info *i)
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
		info_put(i, "maxmemory_policy", "%s", i->nodes->maxmemory_policy);
	if (has(i, INFO_used_memory_rss) && used > 0) {
		info_put(i, "mem_fragmentation_ratio", "%.2f", (double)rss / (double)used);
		info_put(i, "mem_fragmentation_bytes", "%" PRId64, (int64_t)(rss - used));
	}
	PUT_NODES(i, mem_not_counted_for_evict);
	PUT_NODES(i, active_defrag_running);
	PUT_NODES(i, lazyfree_pending_objects);
	PUT_NODES(i, lazyfreed_objects);
}

void info_print_persistence(const struct info *i)
{
	if (!has(i, INFO_loading))
		info_put(i, "loading", "0"); /* clients wait for this to be 0 */
	PUT_NODES(i, loading);
	PUT_NODES(i, async_loading);
	PUT_NODES(i, rdb_changes_since_last_save);
	PUT_NODES(i, rdb_bgsave_in_progress);
	PUT_NODES(i, rdb_last_save_time);
	if (has(i, INFO_rdb_bgsave_in_progress))
		info_put(i, "rdb_last_bgsave_status", "%s", i->nodes->bgsave_failed ? "err" : "ok");
	PUT_NODES(i, rdb_saves);
	PUT_NODES(i, aof_enabled);
	PUT_NODES(i, aof_rewrite_in_progress);
	PUT_NODES(i, aof_rewrite_scheduled);
}

void info_print_stats(const struct info *i)
{
	const struct stats **all = info_stats(i);
	info_put_number(i, "total_connections_received", info_metric(i, M_CLIENTS_ACCEPTED));
	info_put_number(i, "total_commands_processed", info_metric(i, M_REQUESTS));
	info_put_number(i, "total_net_input_bytes", info_metric(i, M_CLIENT_READ_BYTES));
	info_put_number(i, "total_net_output_bytes", info_metric(i, M_CLIENT_WRITE_BYTES));
	info_put_number(i, "rejected_connections", info_metric(i, M_CLIENTS_REFUSED));
	PUT_NODES(i, expired_keys);
	PUT_NODES(i, expired_time_cap_reached_count);
	PUT_NODES(i, evicted_keys);
	PUT_NODES(i, keyspace_hits);
	PUT_NODES(i, keyspace_misses);
	PUT_NODES(i, latest_fork_usec);
	PUT_NODES(i, total_forks);
	PUT_NODES(i, active_defrag_hits);
	PUT_NODES(i, active_defrag_misses);
	info_put(i, "tracking_total_keys", "0");
	info_put(i, "tracking_total_items", "0");
	info_put(i, "tracking_total_prefixes", "0");
	info_put_number(i, "total_error_replies", stats_total_errors(all, i->facts->nworkers));
	free(all);
}

void info_print_keyspace(const struct info *i)
{
	for (size_t k = 0; k < i->nodes->ndatabases; k++) {
		const struct info_database *d = &i->nodes->databases[k];
		(void)fprintf(i->out,
			"db%u:keys=%" PRIu64 ",expires=%" PRIu64 ",avg_ttl=%" PRIu64 "\r\n",
			d->number, d->keys, d->expires,
			d->ttl_keys > 0 ? (uint64_t)(d->ttl_ms / d->ttl_keys) : 0);
	}
}
