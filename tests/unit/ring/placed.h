/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Rings whose points lie where a test wants them.  Include after tests/support/test.h.
 */

#include "ring/ring_internal.h"

/* The hash of "anything@HEX#0" is HEX: so a node's name says where its one point lies. */
static inline uint64_t placed_hash(const void *bytes, size_t len)
{
	const uint8_t *at = memchr(bytes, '@', len);
	uint64_t position = 0;

	assert_non_null(at);
	for (at++; *at != '#'; at++)
		position = position * 16 +
			   (*at <= '9' ? *at - (uint64_t)'0' : *at - (uint64_t)'a' + 10);
	return position;
}

static inline struct ring *placed_ring(const char *const *names, size_t n)
{
	struct ring_node nodes[16];
	struct ring_builder *b = NULL;

	assert_true(n <= ARRAY_LEN(nodes));
	for (size_t i = 0; i < n; i++)
		nodes[i] = (struct ring_node){span_str(names[i]), RING_WEIGHT_UNIT};
	int err = ring_builder_new_hashed(&b, nodes, n, &(struct ring_opts){1}, placed_hash);
	assert_int_equal(err, 0);
	while (ring_builder_step(b, 1))
		;
	return ring_builder_finish(b);
}
