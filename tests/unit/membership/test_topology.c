/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "membership/topology.h"

#define NODES 5

static struct topology_node nodes[NODES];
static char names[NODES][8];

static int setup(void **state)
{
	const char *why = NULL;
	(void)state;
	for (int i = 0; i < NODES; i++) {
		char address[32];
		(void)snprintf(names[i], sizeof(names[i]), "node%d", i);
		(void)snprintf(address, sizeof(address), "127.0.0.1:%d", 7000 + i);
		nodes[i] = (struct topology_node){.name = names[i], .weight_milli = 1000};
		if (addr_parse(&nodes[i].address, address, &why) != 0)
			return -1;
	}
	return 0;
}

static struct topology_spec spec_of(size_t n)
{
	return (struct topology_spec){.epoch = 7,
		.phase = 3,
		.points = 64,
		.hash_tag = "{}",
		.nodes = nodes,
		.nnodes = n};
}

static struct topology *made(const struct topology_spec *spec)
{
	struct topology *t = NULL;
	assert_int_equal(topology_new(&t, spec), 0);
	return t;
}

static uint32_t owner(const struct topology *t, const char *key)
{
	return topology_owner(t, span_str(key));
}

static void everything_is_copied(void **state)
{
	struct topology_spec spec = spec_of(NODES);
	(void)state;
	struct topology *t = made(&spec);
	memset(names, 'x', sizeof(names) - 1); /* the caller's are his again */
	nodes[2].address.port = 1;
	assert_int_equal(t->epoch, 7);
	assert_int_equal(t->phase, 3);
	assert_int_equal(t->nnodes, NODES);
	assert_string_equal(t->hash_tag, "{}");
	assert_string_equal(t->nodes[2].name, "node2");
	assert_int_equal(t->nodes[2].address.port, 7002);
	assert_null(t->skip);
	topology_unref(t);
}

static void owners_are_those_of_the_ring_by_the_nodes_place(void **state)
{
	struct topology_spec spec = spec_of(NODES);
	unsigned seen[NODES] = {0};
	(void)state;
	struct topology *t = made(&spec);
	for (int i = 0; i < 2000; i++) {
		char key[16];
		int n = snprintf(key, sizeof(key), "k%d", i);
		uint32_t o = owner(t, key);
		assert_true(o < NODES);
		assert_int_equal(o, ring_owner(t->ring, ring_hash(key, (size_t)n)));
		assert_true(span_eq(ring_node_name(t->ring, o), span_str(t->nodes[o].name)));
		seen[o]++;
	}
	for (int i = 0; i < NODES; i++)
		assert_true(seen[i] > 100);
	topology_unref(t);
}

static void an_address_moves_no_key(void **state)
{
	struct topology_spec spec = spec_of(NODES);
	(void)state;
	struct topology *before = made(&spec);
	nodes[1].address.port = 9999;
	struct topology *after = made(&spec);
	assert_int_equal(ring_checksum(before->ring), ring_checksum(after->ring));
	topology_unref(before);
	topology_unref(after);
}

static void the_hash_tag_is_the_pools(void **state)
{
	struct topology_spec spec = spec_of(NODES);
	(void)state;
	struct topology *braces = made(&spec);
	spec.hash_tag = "";
	struct topology *none = made(&spec);
	spec.hash_tag = "||";
	struct topology *bars = made(&spec);
	bool told_apart = false;
	for (int i = 0; i < 50; i++) {
		char key[32];
		(void)snprintf(key, sizeof(key), "{user}:%d", i);
		assert_int_equal(owner(braces, key), owner(braces, "user"));
		told_apart |= owner(none, key) != owner(none, "user");
		(void)snprintf(key, sizeof(key), "%d|user|", i);
		assert_int_equal(owner(bars, key), owner(bars, "user"));
	}
	assert_true(told_apart);
	topology_unref(braces);
	topology_unref(none);
	topology_unref(bars);
}

static void keys_of_an_ejected_node_go_to_others_and_no_others_move(void **state)
{
	struct topology_spec spec = spec_of(NODES);
	const uint8_t ejected[NODES] = {0, 1};
	(void)state;
	struct topology *t = made(&spec);
	struct topology *without = made(&spec);
	assert_int_equal(ring_skip_build(&without->skip, without->ring, ejected), 0);
	for (int i = 0; i < 1000; i++) {
		char key[16];
		(void)snprintf(key, sizeof(key), "k%d", i);
		if (owner(t, key) == 1)
			assert_int_not_equal(owner(without, key), 1);
		else
			assert_int_equal(owner(without, key), owner(t, key));
	}
	topology_unref(t);
	topology_unref(without); /* the skip set goes with it */
}

static void without_nodes_nobody_owns_anything(void **state)
{
	struct topology_spec spec = spec_of(0);
	(void)state;
	struct topology *t = made(&spec);
	assert_int_equal(owner(t, "k"), RING_NONE);
	topology_unref(t);
	spec = spec_of(1);
	nodes[0].weight_milli = 0;
	t = made(&spec);
	assert_int_equal(owner(t, "k"), RING_NONE);
	topology_unref(t);
}

static void a_ring_that_can_not_be_built_is_an_error_that_leaks_nothing(void **state)
{
	struct topology_spec spec = spec_of(NODES);
	struct topology *t = NULL;
	(void)state;
	nodes[3].name = names[1];
	assert_int_equal(topology_new(&t, &spec), RW_EDUPLICATE);
	assert_null(t);
	(void)setup(NULL);
	spec.points = 0;
	assert_int_equal(topology_new(&t, &spec), RW_ERANGE);
	assert_null(t);
}

static void *ref_and_unref(void *arg)
{
	struct topology *t = arg;
	for (int i = 0; i < 20000; i++) {
		assert_ptr_equal(topology_ref(t), t);
		topology_unref(t);
	}
	topology_unref(t); /* the reference that this thread was given */
	return NULL;
}

static void references_may_be_taken_and_given_by_any_thread(void **state)
{
	struct topology_spec spec = spec_of(NODES);
	pthread_t threads[3];
	(void)state;
	struct topology *t = made(&spec);
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, ref_and_unref, topology_ref(t)), 0);
	topology_unref(t);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	topology_unref(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(everything_is_copied, setup),
		cmocka_unit_test_setup(owners_are_those_of_the_ring_by_the_nodes_place, setup),
		cmocka_unit_test_setup(an_address_moves_no_key, setup),
		cmocka_unit_test_setup(the_hash_tag_is_the_pools, setup),
		cmocka_unit_test_setup(
			keys_of_an_ejected_node_go_to_others_and_no_others_move, setup),
		cmocka_unit_test_setup(without_nodes_nobody_owns_anything, setup),
		cmocka_unit_test_setup(
			a_ring_that_can_not_be_built_is_an_error_that_leaks_nothing, setup),
		cmocka_unit_test_setup(references_may_be_taken_and_given_by_any_thread, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
