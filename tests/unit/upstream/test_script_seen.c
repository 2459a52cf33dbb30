/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <string.h>

#include "base/rand.h"
#include "router/upstream/script_seen.h"

struct hash {
	uint8_t sha[SHA1_SIZE];
};

static struct hash hash(unsigned id)
{
	struct hash h;
	sha1(&id, sizeof(id), h.sha);
	return h;
}

/* Those that begin alike want the same place. */
static struct hash alike(uint8_t id)
{
	struct hash h = {{0}};
	h.sha[SHA1_SIZE - 1] = id;
	return h;
}

static bool seen(struct script_seen *s, uint64_t generation, struct hash h)
{
	return script_seen_find(s, generation, h.sha) != NULL;
}

static void an_empty_set_has_seen_nothing(void **state)
{
	struct script_seen s = {0};
	(void)state;
	assert_false(seen(&s, 1, hash(1)));
	script_seen_forget(&s, hash(1).sha);
	script_seen_clear(&s);
	assert_false(seen(&s, 1, hash(1)));
}

static void what_was_added_is_seen_with_its_time(void **state)
{
	struct script_seen s = {0};
	(void)state;
	for (unsigned id = 0; id < 1000; id++)
		script_seen_add(&s, 1, hash(id).sha, id + 1);
	for (unsigned id = 0; id < 1000; id++) {
		struct script_sight *e = script_seen_find(&s, 1, hash(id).sha);
		assert_non_null(e);
		assert_int_equal(e->told_s, id + 1);
	}
	assert_false(seen(&s, 1, hash(1000)));
	script_seen_clear(&s);
}

static void those_behind_a_hole_are_still_found(void **state)
{
	struct script_seen s = {0};
	(void)state;
	for (uint8_t id = 0; id < 5; id++)
		script_seen_add(&s, 1, alike(id).sha, 1);
	script_seen_forget(&s, alike(2).sha);
	script_seen_forget(&s, alike(2).sha);
	for (uint8_t id = 0; id < 5; id++)
		assert_int_equal(seen(&s, 1, alike(id)), id != 2);
	script_seen_add(&s, 1, alike(2).sha, 1);
	assert_true(seen(&s, 1, alike(2)));
	script_seen_clear(&s);
}

static void a_new_generation_has_seen_nothing(void **state)
{
	struct script_seen s = {0};
	(void)state;
	script_seen_add(&s, 1, hash(1).sha, 1);
	assert_false(seen(&s, 2, hash(1)));
	assert_false(seen(&s, 1, hash(1)));
	script_seen_add(&s, 2, hash(1).sha, 1);
	script_seen_add(&s, 3, hash(2).sha, 1);
	assert_true(seen(&s, 3, hash(2)));
	assert_false(seen(&s, 3, hash(1)));
	script_seen_clear(&s);
}

static void beyond_its_limit_it_forgets_all(void **state)
{
	struct script_seen s = {0};
	(void)state;
	for (unsigned id = 0; id < SCRIPT_SEEN_MAX; id++)
		script_seen_add(&s, 1, hash(id).sha, 1);
	assert_true(seen(&s, 1, hash(0)));
	assert_true(s.cap <= 4 * SCRIPT_SEEN_MAX);
	script_seen_add(&s, 1, hash(SCRIPT_SEEN_MAX).sha, 1);
	assert_false(seen(&s, 1, hash(0)));
	assert_true(seen(&s, 1, hash(SCRIPT_SEEN_MAX)));
	script_seen_clear(&s);
}

/* Against a table of booleans. */
static void it_is_a_set(void **state)
{
	struct script_seen s = {0};
	bool model[300] = {false};
	struct rng rng;
	(void)state;
	rng_seed(&rng, 7);
	for (unsigned i = 0; i < 3000; i++) {
		unsigned id = rng_below(&rng, ARRAY_LEN(model));
		assert_int_equal(seen(&s, 1, hash(id)), model[id]);
		if (model[id])
			script_seen_forget(&s, hash(id).sha);
		else
			script_seen_add(&s, 1, hash(id).sha, 1);
		model[id] = !model[id];
	}
	for (unsigned id = 0; id < ARRAY_LEN(model); id++)
		assert_int_equal(seen(&s, 1, hash(id)), model[id]);
	script_seen_clear(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_set_has_seen_nothing),
		cmocka_unit_test(what_was_added_is_seen_with_its_time),
		cmocka_unit_test(those_behind_a_hole_are_still_found),
		cmocka_unit_test(a_new_generation_has_seen_nothing),
		cmocka_unit_test(beyond_its_limit_it_forgets_all),
		cmocka_unit_test(it_is_a_set),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
