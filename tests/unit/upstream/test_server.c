/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "router/upstream/server.h"

#define WORKERS 2

static struct topology *topology_of(const char *const *addresses, size_t n)
{
	static char names[8][8] = {"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"};
	struct topology_node nodes[8] = {0};
	struct topology *t = NULL;
	const char *why = NULL;
	for (size_t i = 0; i < n; i++) {
		nodes[i].name = names[i];
		nodes[i].weight_milli = 1000;
		assert_int_equal(addr_parse(&nodes[i].address, addresses[i], &why), 0);
	}
	struct topology_spec spec = {
		.epoch = 1, .points = 8, .hash_tag = "{}", .nodes = nodes, .nnodes = n};
	assert_int_equal(topology_new(&t, &spec), 0);
	return t;
}

static struct fleet *fleet_of(const char *const *addresses, size_t n, const struct fleet *before)
{
	struct topology *t = topology_of(addresses, n);
	struct fleet *f = NULL;
	size_t bad = 99;
	assert_int_equal(fleet_new(&f, t, before, WORKERS, &bad), 0);
	topology_unref(t); /* the fleet has its own reference */
	return f;
}

static void each_node_lives_at_its_address(void **state)
{
	static const char *const at[] = {"127.0.0.1:7001", "[::1]:7002", "unix:/tmp/x"};
	char buf[64];
	(void)state;
	struct fleet *f = fleet_of(at, 3, NULL);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(f->servers[i]->address.text, at[i]);
		assert_string_equal(sock_print(&f->servers[i]->where, buf, sizeof(buf)), at[i]);
		assert_int_equal(f->servers[i]->workers, WORKERS);
		assert_int_equal(node_metric_sum(f->servers[i]->blocks, WORKERS, NM_REQUESTS), 0);
	}
	fleet_unref(f);
}

static void a_server_that_stays_is_shared_and_keeps_its_counters(void **state)
{
	static const char *const before[] = {"127.0.0.1:7001", "127.0.0.1:7002"};
	static const char *const after[] = {"127.0.0.1:7003", "127.0.0.1:7001"};
	(void)state;
	struct fleet *f = fleet_of(before, 2, NULL);
	struct server *stays = f->servers[0];
	node_metric_add(&stays->blocks[1], NM_REQUESTS, 5);
	struct fleet *g = fleet_of(after, 2, f);
	fleet_unref(f);
	assert_ptr_equal(g->servers[1], stays); /* the address counts, not the node's index */
	assert_int_equal(node_metric_sum(stays->blocks, WORKERS, NM_REQUESTS), 5);
	assert_int_equal(node_metric_sum(g->servers[0]->blocks, WORKERS, NM_REQUESTS), 0);
	fleet_unref(g);
}

static void the_last_reference_frees_a_server(void **state)
{
	static const char *const at[] = {"127.0.0.1:7001"};
	(void)state;
	struct fleet *f = fleet_of(at, 1, NULL);
	struct server *s = server_ref(f->servers[0]);
	assert_ptr_equal(fleet_ref(f), f);
	fleet_unref(f);
	fleet_unref(f);
	assert_int_equal(atomic_load(&s->refs), 1); /* ours outlives the fleet */
	server_unref(s);
	server_unref(NULL);
	fleet_unref(NULL);
}

static void an_address_that_does_not_resolve_is_named(void **state)
{
	static const char *const at[] = {
		"127.0.0.1:7001", "no-such-host.invalid:1", "127.0.0.1:7002"};
	struct fleet *f = NULL;
	size_t bad = 99;
	(void)state;
	struct topology *t = topology_of(at, 3);
	assert_int_equal(fleet_new(&f, t, NULL, WORKERS, &bad), RW_ERESOLVE);
	assert_int_equal(bad, 1);
	assert_null(f);
	assert_int_equal(atomic_load(&t->refs), 1);
	topology_unref(t);
}

static void a_failed_fleet_leaves_the_one_before_whole(void **state)
{
	static const char *const good[] = {"127.0.0.1:7001"};
	static const char *const worse[] = {"127.0.0.1:7001", "no-such-host.invalid:1"};
	struct fleet *g = NULL;
	size_t bad = 99;
	(void)state;
	struct fleet *f = fleet_of(good, 1, NULL);
	struct topology *t = topology_of(worse, 2);
	assert_int_equal(fleet_new(&g, t, f, WORKERS, &bad), RW_ERESOLVE);
	topology_unref(t);
	assert_int_equal(atomic_load(&f->servers[0]->refs), 1);
	fleet_unref(f);
}

static void an_empty_topology_has_an_empty_fleet(void **state)
{
	(void)state;
	struct fleet *f = fleet_of(NULL, 0, NULL);
	struct fleet *g = fleet_of(NULL, 0, f);
	fleet_unref(f);
	fleet_unref(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_node_lives_at_its_address),
		cmocka_unit_test(a_server_that_stays_is_shared_and_keeps_its_counters),
		cmocka_unit_test(the_last_reference_frees_a_server),
		cmocka_unit_test(an_address_that_does_not_resolve_is_named),
		cmocka_unit_test(a_failed_fleet_leaves_the_one_before_whole),
		cmocka_unit_test(an_empty_topology_has_an_empty_fleet),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
