/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

/*
 * Thousands of small fleets that change at random: nodes join, leave, are re-weighted, ejected,
 * return.  Names, lists in any order, few points, and hashes that put many points on one position,
 * at both ends of the ring or in one bucket. Owners change only between two neighbouring points, so
 * looking just before, at and just after each point is looking everywhere.
 *
 * The last test makes sure that the others had something to see.
 */

#include <stdlib.h>

#include "base/rand.h"
#include "tests/unit/ring/model.h"

#define FLEETS 4000
#define CHANGES 4 /* of each fleet, one after the other */
#define IDS 12u
#define POSITIONS_MAX (6 * MODEL_POINTS_MAX + 64)

/* Prefixes of one another, bytes above 127, NUL, what looks like a point. */
static const struct span names[IDS] = {SPAN("a"), SPAN("a#1"), SPAN("a#"), SPAN("ab"), SPAN("\0"),
	SPAN("\xff"), SPAN("\xc3\xa9"), SPAN("10.0.0.1:6379"), SPAN("10.0.0.10:6379"), SPAN("A"),
	SPAN("\x7f\x80"), SPAN("node-with-a-rather-long-name-to-have-another-branch-of-the-hash")};

static uint64_t hash_coarse(const void *bytes, size_t len)
{
	return hash_xxh3(bytes, len) & UINT64_C(0xe000000000000000);
}

static uint64_t hash_low(const void *bytes, size_t len)
{
	return hash_xxh3(bytes, len) >> 59;
}

static uint64_t hash_high(const void *bytes, size_t len)
{
	return ~hash_low(bytes, len);
}

static uint64_t hash_one_bucket(const void *bytes, size_t len)
{
	return UINT64_C(0x123456789abcd000) | (hash_xxh3(bytes, len) & 0xff);
}

static uint64_t hash_edges(const void *bytes, size_t len)
{
	static const uint64_t edges[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63,
		(UINT64_C(1) << 63) - 1, UINT64_C(1) << 62};

	return edges[hash_xxh3(bytes, len) % ARRAY_LEN(edges)];
}

static ring_hash_fn *const hashes[] = {
	hash_xxh3, hash_coarse, hash_low, hash_high, hash_one_bucket, hash_edges};

/* What the operators and the health checks say, by id: an id's name is names[id]. */
struct fleet {
	struct {
		uint32_t weight_milli;
		uint8_t present;
		uint8_t ejected;
	} at[IDS];
};

/* That fleet as a ring and as the model, both with the list in the same order. */
struct view {
	struct ring *ring;
	struct ring_skip *skip;
	struct model model;
	struct ring_node nodes[IDS];
	uint8_t ejected[IDS];
	uint32_t ids[IDS]; /* of each index */
	size_t n;
};

static struct {
	size_t ties, moved_arcs, wrapped, joined_arcs, skipped, nobody;
} seen;

/* ------------------------------------------------------------------------------------------------
 * Making them
 */

static uint32_t random_weight(struct rng *rng)
{
	static const uint32_t weights[] = {0, 1, 200, 499, 500, 1000, 1000, 1500, 2000, 3000};

	return weights[rng_below(rng, ARRAY_LEN(weights))];
}

static void mutate(struct fleet *f, struct rng *rng)
{
	for (uint32_t changes = 1 + rng_below(rng, 3); changes > 0; changes--) {
		uint32_t id = rng_below(rng, IDS);
		switch (rng_below(rng, 3)) {
		case 0:
			f->at[id].present = !f->at[id].present;
			break;
		case 1:
			f->at[id].weight_milli = random_weight(rng);
			break;
		case 2:
			f->at[id].ejected = !f->at[id].ejected;
			break;
		}
	}
}

static void start(struct fleet *f, struct rng *rng)
{
	uint32_t crowd = rng_below(rng, 4); /* from none to nearly all */
	uint32_t illness = rng_below(rng, 4);

	for (uint32_t id = 0; id < IDS; id++) {
		f->at[id].present = rng_below(rng, 4) < crowd;
		f->at[id].ejected = rng_below(rng, 6) < illness;
		f->at[id].weight_milli = random_weight(rng);
	}
}

static void shuffled_ids(uint32_t *ids, struct rng *rng)
{
	for (uint32_t i = 0; i < IDS; i++) {
		uint32_t j = rng_below(rng, i + 1);
		ids[i] = ids[j];
		ids[j] = i;
	}
}

static struct ring *build(
	const struct view *v, uint32_t points, ring_hash_fn *hash, struct rng *rng)
{
	struct ring_opts opts = {.points = points};
	struct ring_builder *b = NULL;
	struct ring *r = NULL;

	if (hash == hash_xxh3) {
		assert_int_equal(ring_build(&r, v->nodes, v->n, &opts), 0);
		return r;
	}
	assert_int_equal(ring_builder_new_hashed(&b, v->nodes, v->n, &opts, hash), 0);
	while (ring_builder_step(b, 1 + rng_below(rng, 100)))
		;
	return ring_builder_finish(b);
}

static struct view *view_new(
	const struct fleet *f, uint32_t points, ring_hash_fn *hash, struct rng *rng)
{
	struct view *v = calloc(1, sizeof(*v));
	uint32_t ids[IDS];

	assert_non_null(v);
	shuffled_ids(ids, rng);
	for (size_t i = 0; i < IDS; i++) {
		uint32_t id = ids[i];
		if (!f->at[id].present)
			continue;
		v->ids[v->n] = id;
		v->ejected[v->n] = f->at[id].ejected;
		v->nodes[v->n++] = (struct ring_node){names[id], f->at[id].weight_milli};
	}
	v->ring = build(v, points, hash, rng);
	assert_int_equal(ring_skip_build(&v->skip, v->ring, v->ejected), 0);
	model_init(&v->model, v->nodes, v->n, points, hash);
	return v;
}

static void view_free(struct view *v)
{
	ring_skip_free(v->skip);
	ring_free(v->ring);
	free(v);
}

static uint32_t id_of(const struct view *v, uint32_t node)
{
	return node == RING_NONE ? RING_NONE : v->ids[node];
}

/* ------------------------------------------------------------------------------------------------
 * Where to look
 */

struct positions {
	uint64_t at[POSITIONS_MAX];
	size_t n;
};

static void look_at(struct positions *p, const struct model *m)
{
	for (size_t i = 0; i < m->point_count; i++) {
		p->at[p->n++] = m->points[i].position - 1;
		p->at[p->n++] = m->points[i].position;
		p->at[p->n++] = m->points[i].position + 1;
	}
}

static struct positions *where_to_look(
	const struct model *a, const struct model *b, struct rng *rng)
{
	struct positions *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	look_at(p, a);
	look_at(p, b);
	p->at[p->n++] = 0;
	p->at[p->n++] = UINT64_MAX;
	for (int i = 0; i < 16; i++)
		p->at[p->n++] = rng_u64(rng);
	return p;
}

/* ------------------------------------------------------------------------------------------------
 * What must hold
 */

static void points_are_the_models(const struct view *v)
{
	assert_int_equal(ring_point_count(v->ring), v->model.point_count);
	for (size_t i = 0; i < v->model.point_count; i++)
		for (size_t j = 0; j < i; j++)
			seen.ties += v->model.points[i].position == v->model.points[j].position;
}

static void owners_are_the_models(const struct view *v, const struct positions *p)
{
	for (size_t i = 0; i < p->n; i++) {
		uint32_t plain = model_owner(&v->model, p->at[i], NULL);
		uint32_t living = model_owner(&v->model, p->at[i], v->ejected);

		assert_int_equal(ring_owner(v->ring, p->at[i]), plain);
		assert_int_equal(ring_owner_skip(v->ring, NULL, p->at[i]), plain);
		assert_int_equal(ring_owner_skip(v->ring, v->skip, p->at[i]), living);
		seen.skipped += plain != living && living != RING_NONE;
		seen.nobody += living == RING_NONE;
	}
}

static void successors_are_the_models(const struct view *v, const struct positions *p)
{
	for (size_t i = 0; i < p->n; i += 7) {
		uint32_t got[IDS];
		uint32_t want[IDS];
		size_t max = i % (IDS + 1);
		size_t n = model_successors(&v->model, p->at[i], want, max);

		assert_int_equal(ring_successors(v->ring, p->at[i], got, max), n);
		assert_memory_equal(got, want, n * sizeof(got[0]));
	}
}

/* The part of a node in owning: nothing while it is away or ejected. */
static uint32_t strength(const struct fleet *f, uint32_t id)
{
	return f->at[id].present && !f->at[id].ejected ? f->at[id].weight_milli : 0;
}

static void no_key_moves_that_need_not(const struct view *a, const struct fleet *before,
	const struct view *b, const struct fleet *after, const struct positions *p)
{
	for (size_t i = 0; i < p->n; i++) {
		uint32_t old = id_of(a, ring_owner_skip(a->ring, a->skip, p->at[i]));
		uint32_t new = id_of(b, ring_owner_skip(b->ring, b->skip, p->at[i]));

		if (old == new)
			continue;
		bool lost = old != RING_NONE && strength(after, old) < strength(before, old);
		bool won = new != RING_NONE &&strength(after, new) > strength(before, new);
		assert_true(lost || won);
	}
}

static void diff_finds_what_owners_say(const struct view *a, const struct view *b,
	const struct ring_diff *d, const struct positions *p)
{
	for (size_t i = 0; i < p->n; i++) {
		uint32_t old = model_owner(&a->model, p->at[i], a->ejected);
		uint32_t new = model_owner(&b->model, p->at[i], b->ejected);
		const struct ring_arc *arc = ring_diff_find(d, p->at[i]);

		assert_true((arc != NULL) == (id_of(a, old) != id_of(b, new)));
		if (arc != NULL)
			assert_true(arc->before == old && arc->after == new);
	}
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a;
	const uint64_t *y = b;

	return (*x > *y) - (*x < *y);
}

/* Last positions of the stretches between neighbouring points of both, in order; the ring's end is
 * one. */
static size_t stretches(const struct model *a, const struct model *b, uint64_t *ret_lasts)
{
	size_t n = 0;
	size_t unique = 0;

	for (size_t i = 0; i < a->point_count; i++)
		ret_lasts[n++] = a->points[i].position;
	for (size_t i = 0; i < b->point_count; i++)
		ret_lasts[n++] = b->points[i].position;
	ret_lasts[n++] = UINT64_MAX;
	qsort(ret_lasts, n, sizeof(*ret_lasts), by_value);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || ret_lasts[i] != ret_lasts[unique - 1])
			ret_lasts[unique++] = ret_lasts[i];
	return unique;
}

/* All arcs in order, by asking the model about each stretch. */
static void diff_is_exact(const struct view *a, const struct view *b, const struct ring_diff *d)
{
	uint64_t lasts[2 * MODEL_POINTS_MAX + 1];
	size_t n = stretches(&a->model, &b->model, lasts);
	struct ring_arc open = {.first = 1, .last = 0}; /* none */
	size_t arcs = 0;
	long double moved = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t first = i == 0 ? 0 : lasts[i - 1] + 1;
		uint32_t old = model_owner(&a->model, lasts[i], a->ejected);
		uint32_t new = model_owner(&b->model, lasts[i], b->ejected);
		if (id_of(a, old) == id_of(b, new))
			continue;
		moved += (long double)(lasts[i] - first) + 1;
		if (arcs > 0 && open.last + 1 == first && open.before == old && open.after == new) {
			seen.joined_arcs++;
			open.last = lasts[i];
		} else {
			open = (struct ring_arc){first, lasts[i], old, new};
			arcs++;
		}
		assert_true(arcs <= d->n);
		const struct ring_arc *got = &d->arcs[arcs - 1];
		assert_true(got->first == open.first && got->last >= open.last);
		assert_true(got->before == open.before && got->after == open.after);
		/* The last stretch of an arc must be its end. */
		bool ends =
			i + 1 == n ||
			id_of(a, model_owner(&a->model, lasts[i + 1], a->ejected)) !=
				id_of(a, old) ||
			id_of(b, model_owner(&b->model, lasts[i + 1], b->ejected)) != id_of(b, new);
		assert_true(!ends || got->last == open.last);
	}
	assert_int_equal(arcs, d->n);
	long double error = moved * 0x1p-64L - (long double)d->moved;
	assert_true(error < 1e-15L && error > -1e-15L);
	seen.moved_arcs += arcs;
	seen.wrapped += arcs > 1 && d->arcs[0].first == 0 && d->arcs[arcs - 1].last == UINT64_MAX;
}

static void shares_are_exact(const struct view *v)
{
	uint64_t lasts[2 * MODEL_POINTS_MAX + 1];
	size_t n = stretches(&v->model, &v->model, lasts);
	long double shares[IDS] = {0};

	for (size_t i = 0; i < n && v->model.point_count > 0; i++) {
		uint64_t first = i == 0 ? 0 : lasts[i - 1] + 1;
		shares[model_owner(&v->model, lasts[i], NULL)] +=
			(long double)(lasts[i] - first) + 1;
	}
	for (uint32_t node = 0; node < v->n; node++) {
		long double error =
			shares[node] * 0x1p-64L - (long double)ring_share(v->ring, node);
		assert_true(error < 1e-14L && error > -1e-14L);
	}
}

/* ------------------------------------------------------------------------------------------------
 * Running through them
 */

typedef void step_fn(const struct view *a, const struct fleet *before, const struct view *b,
	const struct fleet *after, struct rng *rng);

static void each_change(uint64_t seed, step_fn *step)
{
	struct rng rng;

	rng_seed(&rng, seed);
	for (int i = 0; i < FLEETS; i++) {
		ring_hash_fn *hash = hashes[rng_below(&rng, ARRAY_LEN(hashes))];
		uint32_t points = 1 + rng_below(&rng, 6);
		struct fleet before;
		start(&before, &rng);
		struct view *a = view_new(&before, points, hash, &rng);
		for (int change = 0; change < CHANGES; change++) {
			struct fleet after = before;
			mutate(&after, &rng);
			struct view *b = view_new(&after, points, hash, &rng);
			step(a, &before, b, &after, &rng);
			view_free(a);
			a = b;
			before = after;
		}
		view_free(a);
	}
}

static void step_owners(const struct view *a, const struct fleet *before, const struct view *b,
	const struct fleet *after, struct rng *rng)
{
	struct positions *p = where_to_look(&b->model, &b->model, rng);

	(void)a;
	(void)before;
	(void)after;
	points_are_the_models(b);
	owners_are_the_models(b, p);
	successors_are_the_models(b, p);
	shares_are_exact(b);
	free(p);
}

static void step_moves(const struct view *a, const struct fleet *before, const struct view *b,
	const struct fleet *after, struct rng *rng)
{
	struct positions *p = where_to_look(&a->model, &b->model, rng);

	no_key_moves_that_need_not(a, before, b, after, p);
	free(p);
}

static void step_diff(const struct view *a, const struct fleet *before, const struct view *b,
	const struct fleet *after, struct rng *rng)
{
	struct positions *p = where_to_look(&a->model, &b->model, rng);
	struct ring_diff d;

	(void)before;
	(void)after;
	assert_int_equal(ring_diff(&d, a->ring, a->skip, b->ring, b->skip), 0);
	diff_is_exact(a, b, &d);
	diff_finds_what_owners_say(a, b, &d, p);
	ring_diff_fini(&d);
	free(p);
}

/* A change and its undoing lead to the ring before it, whatever the order of the list by then. */
static void step_back(const struct view *a, const struct fleet *before, const struct view *b,
	const struct fleet *after, struct rng *rng)
{
	/* Points and hash do not matter here, but must be the same for all. */
	struct view *old = view_new(before, 3, hash_xxh3, rng);
	struct view *away = view_new(after, 3, hash_xxh3, rng);
	struct view *back = view_new(before, 3, hash_xxh3, rng);
	struct ring_diff d;

	assert_true(ring_checksum(old->ring) == ring_checksum(back->ring));
	assert_int_equal(ring_diff(&d, old->ring, old->skip, back->ring, back->skip), 0);
	assert_int_equal(d.n, 0);
	ring_diff_fini(&d);

	/* Another owner anywhere, another checksum. */
	assert_int_equal(ring_diff(&d, old->ring, NULL, away->ring, NULL), 0);
	assert_true(d.n == 0 || ring_checksum(old->ring) != ring_checksum(away->ring));
	ring_diff_fini(&d);
	view_free(old);
	view_free(away);
	view_free(back);
	(void)a;
	(void)b;
}

static void owners_heirs_and_shares_are_the_models(void **state)
{
	(void)state;
	each_change(1, step_owners);
}

static void only_keys_of_the_changed_nodes_move(void **state)
{
	(void)state;
	each_change(2, step_moves);
}

static void the_difference_is_exact(void **state)
{
	(void)state;
	each_change(3, step_diff);
}

static void adding_and_removing_leads_back(void **state)
{
	(void)state;
	each_change(4, step_back);
}

static void the_fleets_had_all_that_can_go_wrong(void **state)
{
	(void)state;
	assert_true(seen.ties > 10000);
	assert_true(seen.moved_arcs > 10000);
	assert_true(seen.wrapped > 300);
	assert_true(seen.joined_arcs > 1000);
	assert_true(seen.skipped > 10000);
	assert_true(seen.nobody > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owners_heirs_and_shares_are_the_models),
		cmocka_unit_test(only_keys_of_the_changed_nodes_move),
		cmocka_unit_test(the_difference_is_exact),
		cmocka_unit_test(adding_and_removing_leads_back),
		cmocka_unit_test(the_fleets_had_all_that_can_go_wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
