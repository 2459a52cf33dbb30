/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "membership/topology.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

static void copy_nodes(struct topology *t, const struct topology_spec *spec)
{
	t->nnodes = spec->nnodes;
	t->nodes = calloc(spec->nnodes + 1, sizeof(*t->nodes));
	CHECK(t->nodes != NULL);
	for (size_t i = 0; i < spec->nnodes; i++) {
		t->nodes[i] = spec->nodes[i];
		t->nodes[i].name = strdup(spec->nodes[i].name);
		CHECK(t->nodes[i].name != NULL);
	}
}

static int build_ring(struct topology *t, uint32_t points)
{
	struct ring_node *members = calloc(t->nnodes + 1, sizeof(*members));
	CHECK(members != NULL);
	for (size_t i = 0; i < t->nnodes; i++) {
		members[i].name = span_str(t->nodes[i].name);
		members[i].weight_milli = t->nodes[i].weight_milli;
	}
	struct ring_opts opts = {.points = points};
	int r = ring_build(&t->ring, members, t->nnodes, &opts);
	free(members);
	return r;
}

int topology_new(struct topology **ret, const struct topology_spec *spec)
{
	struct topology *t = calloc(1, sizeof(*t));
	CHECK(t != NULL);
	atomic_init(&t->refs, 1);
	t->epoch = spec->epoch;
	t->phase = spec->phase;
	CHECK(strlen(spec->hash_tag) < sizeof(t->hash_tag));
	memcpy(t->hash_tag, spec->hash_tag, strlen(spec->hash_tag) + 1);
	copy_nodes(t, spec);
	int r = build_ring(t, spec->points);
	if (r != 0) {
		topology_unref(t);
		return r;
	}
	*ret = t;
	return 0;
}

struct topology *topology_ref(struct topology *t)
{
	atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
	return t;
}

void topology_unref(struct topology *t)
{
	/* acq_rel: whoever frees sees every other owner's last use */
	if (t == NULL || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
		return;
	ring_skip_free(t->skip);
	ring_free(t->ring);
	for (size_t i = 0; i < t->nnodes; i++)
		free(t->nodes[i].name);
	free(t->nodes);
	free(t);
}
