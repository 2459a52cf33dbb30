/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

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
	struct fleet *f = fleet_new(t, before, WORKERS);
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
		assert_false(server_is_named(f->servers[i]));
		assert_string_equal(addresses_print(f->servers[i]->fixed, buf, sizeof(buf)), at[i]);
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

/* Nobody waits for a name: the server is there, and where it leads is found out elsewhere. */
static void a_name_is_no_fixed_address(void **state)
{
	static const char *const at[] = {"127.0.0.1:7001", "no-such-host.invalid:1", "localhost:7"};
	(void)state;
	struct fleet *f = fleet_of(at, 3, NULL);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(f->servers[i]->address.text, at[i]);
		assert_int_equal(server_is_named(f->servers[i]), i > 0);
	}
	struct fleet *g = fleet_of(at, 3, f);
	assert_ptr_equal(f->servers[1], g->servers[1]);
	fleet_unref(f);
	fleet_unref(g);
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
		cmocka_unit_test(a_name_is_no_fixed_address),
		cmocka_unit_test(an_empty_topology_has_an_empty_fleet),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
