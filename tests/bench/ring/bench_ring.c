/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */

/*
 * What a ring costs: time to build it (in all, and the longest slice), memory, and time of a
 * lookup.
 *
 *     bench_ring [--check] [--factor F] [--slice POINTS]
 *
 * A lookup is timed two ways.  Throughput: positions are known in advance, so several are under way
 * at once, as when a worker routes a pipeline.  Chain: each position depends on the owner before
 * it, so the latency of memory shows whole.  Both are the best of several rounds: other programs
 * can only slow one down.
 *
 * --check exits 1 when the largest ring misses a target by more than F (default 3: machines
 * differ).
 */

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/rand.h"
#include "ring/ring.h"

#define ROUNDS 7
#define LOOKUPS 1000000u
#define SAMPLES 65536u /* positions prepared; 512 KiB, walked in order */
#define NODES_MAX 1000u

struct figures {
	double build_ms;
	double slice_ms; /* longest */
	double memory_mb;
	double lookup_ns;
	double chain_ns;
	double skip_ns; /* a tenth of the nodes ejected */
};

/* For 1,000 nodes of 512 points. */
static const struct figures targets = {.build_ms = 60,
	.slice_ms = 5,
	.memory_mb = 12,
	.lookup_ns = 20,
	.chain_ns = 60,
	.skip_ns = 30};

static uint64_t positions[SAMPLES];
static volatile uint32_t sink; /* keeps the compiler from leaving the work out */

static double least(double a, double b)
{
	return a < b ? a : b;
}

static void name_nodes(struct ring_node *nodes, char (*names)[32], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "10.0.%zu.%zu:6379", i / 250, i % 250);
		nodes[i] = (struct ring_node){span_str(names[i]), RING_WEIGHT_UNIT};
	}
}

static struct ring *build(const struct ring_node *nodes, size_t n, size_t slice, struct figures *f)
{
	struct ring_builder *b;
	uint64_t start = clock_ns();
	uint64_t longest = 0;
	uint64_t before = start;
	bool more;

	int err = ring_builder_new(&b, nodes, n, NULL);
	CHECK(err == 0);
	do {
		more = ring_builder_step(b, slice);
		uint64_t now = clock_ns();
		longest = now - before > longest ? now - before : longest;
		before = now;
	} while (more);
	struct ring *r = ring_builder_finish(b);
	f->build_ms = least(f->build_ms, (double)(clock_ns() - start) / 1e6);
	f->slice_ms = least(f->slice_ms, (double)longest / 1e6);
	f->memory_mb = (double)ring_memory(r) / 1e6;
	return r;
}

static double time_lookups(const struct ring *r, const struct ring_skip *skip)
{
	uint64_t start = clock_ns();
	uint32_t sum = 0;

	for (uint32_t i = 0; i < LOOKUPS; i++)
		sum += ring_owner_skip(r, skip, positions[i % SAMPLES]);
	sink = sum;
	return (double)(clock_ns() - start) / LOOKUPS;
}

static double time_chain(const struct ring *r)
{
	uint64_t start = clock_ns();
	uint32_t owner = 0;

	for (uint32_t i = 0; i < LOOKUPS; i++)
		owner = ring_owner(r, positions[i % SAMPLES] + owner);
	sink = owner;
	return (double)(clock_ns() - start) / LOOKUPS;
}

static struct ring_skip *eject_a_tenth(const struct ring *r)
{
	uint8_t ejected[NODES_MAX] = {0};
	struct ring_skip *skip;

	for (size_t i = 0; i < ring_node_count(r); i += 10)
		ejected[i] = 1;
	int err = ring_skip_build(&skip, r, ejected);
	CHECK(err == 0);
	return skip;
}

static struct figures measure(size_t n, size_t slice)
{
	struct figures f = {1e9, 1e9, 1e9, 1e9, 1e9, 1e9};
	static char names[NODES_MAX][32];
	static struct ring_node nodes[NODES_MAX];

	name_nodes(nodes, names, n);
	for (int round = 0; round < ROUNDS; round++) {
		struct ring *r = build(nodes, n, slice, &f);
		struct ring_skip *skip = eject_a_tenth(r);
		f.lookup_ns = least(f.lookup_ns, time_lookups(r, NULL));
		f.skip_ns = least(f.skip_ns, time_lookups(r, skip));
		f.chain_ns = least(f.chain_ns, time_chain(r));
		ring_skip_free(skip);
		ring_free(r);
	}
	return f;
}

static bool within(const char *what, double value, double target, double factor)
{
	if (value <= target * factor)
		return true;
	(void)fprintf(stderr, "bench_ring: %s is %.2f, more than %.2f * %.1f\n", what, value,
		target, factor);
	return false;
}

static bool check(const struct figures *f, double factor)
{
	bool ok = within("build in ms", f->build_ms, targets.build_ms, factor);

	ok &= within("longest slice in ms", f->slice_ms, targets.slice_ms, factor);
	ok &= within("memory in MB", f->memory_mb, targets.memory_mb, 1); /* no machine's fault */
	ok &= within("lookup in ns", f->lookup_ns, targets.lookup_ns, factor);
	ok &= within("lookup in a chain in ns", f->chain_ns, targets.chain_ns, factor);
	ok &= within("lookup with skips in ns", f->skip_ns, targets.skip_ns, factor);
	return ok;
}

static int usage(void)
{
	(void)fprintf(stderr, "usage: bench_ring [--check] [--factor F] [--slice POINTS]\n");
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"check", no_argument, NULL, 'c'},
		{"factor", required_argument, NULL, 'f'},
		{"slice", required_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	static const size_t sizes[] = {10, 100, NODES_MAX};
	bool checking = false;
	double factor = 3;
	size_t slice = 32768;
	struct figures f = {0};
	struct rng rng;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads here */
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		if (c == 'c')
			checking = true;
		else if (c == 'f')
			factor = strtod(optarg, NULL);
		else if (c == 's')
			slice = strtoul(optarg, NULL, 10);
		else
			return usage();
	}
	rng_seed(&rng, 1);
	for (size_t i = 0; i < SAMPLES; i++)
		positions[i] = rng_u64(&rng);

	printf("%6s %9s %9s %9s %10s %9s %9s\n", "nodes", "build ms", "slice ms", "memory MB",
		"lookup ns", "chain ns", "skip ns");
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		f = measure(sizes[i], slice);
		printf("%6zu %9.2f %9.2f %9.2f %10.1f %9.1f %9.1f\n", sizes[i], f.build_ms,
			f.slice_ms, f.memory_mb, f.lookup_ns, f.chain_ns, f.skip_ns);
	}
	return checking && !check(&f, factor) ? 1 : 0;
}
