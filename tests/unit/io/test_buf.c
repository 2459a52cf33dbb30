/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <string.h>

#include "base/slab.h"
#include "router/io/buf.h"
#include "tests/unit/base/child.h"

#define KEEP_ALL ((size_t)64 << 20)
#define HEADER sizeof(struct chunk)

static struct bufpool pool;

static int setup(void **state)
{
	(void)state;
	bufpool_init(&pool, KEEP_ALL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	bufpool_fini(&pool); /* every test gives back what it took */
	return 0;
}

static void chain_holds(const struct chain *c, const char *want)
{
	struct iovec iov[64];
	char got[4096];
	size_t len = 0;
	int n = chain_iov(c, iov, 64);
	for (int i = 0; i < n; i++) {
		assert_true(iov[i].iov_len > 0);
		memcpy(got + len, iov[i].iov_base, iov[i].iov_len);
		len += iov[i].iov_len;
	}
	assert_int_equal(len, strlen(want));
	assert_int_equal(c->len, len);
	assert_memory_equal(got, want, len);
}

static struct chunk *chunk_of(const char *text)
{
	return chunk_append(&pool, NULL, text, strlen(text));
}

/* ---- the pool ---------------------------------------------------------------------------------*/

static void a_chunk_has_the_smallest_class_that_fits_or_exactly_its_size(void **state)
{
	static const struct {
		size_t want;
		size_t block;
		unsigned size_class;
	} rows[] = {
		{0, 512, 0},
		{1, 512, 0},
		{512 - HEADER, 512, 0},
		{512 - HEADER + 1, 2048, 1},
		{2048 - HEADER, 2048, 1},
		{2048 - HEADER + 1, 16384, 2},
		{16384 - HEADER, 16384, 2},
		{16384 - HEADER + 1, 65792, 3},
		{65792 - HEADER, 65792, 3},
		{65792 - HEADER + 1, 65793, CHUNK_CLASSES},
		{1000000, 1000000 + HEADER, CHUNK_CLASSES},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct chunk *c = chunk_take(&pool, rows[i].want);
		assert_int_equal(c->size_class, rows[i].size_class);
		assert_int_equal(c->cap + HEADER, rows[i].block);
		assert_int_equal(pool.used, rows[i].block);
		assert_int_equal(chunk_len(c), 0);
		assert_int_equal(chunk_room(c), c->cap);
		memset(c->data, 0xaa, c->cap); /* all of it is ours */
		chunk_give(&pool, c);
		assert_int_equal(pool.used, 0);
	}
}

static void a_chunk_given_back_is_taken_again_empty(void **state)
{
	(void)state;
	struct chunk *c = chunk_of("old");
	c->start = 2;
	chunk_give(&pool, c);
	assert_int_equal(pool.free_bytes, 512);
	struct chunk *again = chunk_take(&pool, 1);
	assert_ptr_equal(again, c);
	assert_int_equal(chunk_len(again), 0);
	assert_int_equal(again->start, 0);
	assert_null(again->next);
	assert_int_equal(pool.free_bytes, 0);
	chunk_give(&pool, again);
}

#ifdef SLAB_ASAN
static void bytes_of_an_idle_chunk_are_poisoned(void **state)
{
	(void)state;
	struct chunk *c = chunk_of("old");
	assert_false(__asan_address_is_poisoned(c->data + 1));
	chunk_give(&pool, c);
	assert_true(__asan_address_is_poisoned(c->data + 1));
	assert_ptr_equal(chunk_take(&pool, 1), c);
	assert_false(__asan_address_is_poisoned(c->data + 1));
	chunk_give(&pool, c);
}
#endif

static void nothing_is_given_back_for_no_chunk(void **state)
{
	(void)state;
	chunk_give(&pool, NULL);
	assert_int_equal(pool.used, 0);
	assert_int_equal(pool.free_bytes, 0);
}

static void no_more_than_keep_lies_idle(void **state)
{
	struct chunk *taken[10];
	(void)state;
	pool.keep_bytes = 5 * 2048;
	for (size_t i = 0; i < ARRAY_LEN(taken); i++)
		taken[i] = chunk_take(&pool, 2000);
	for (size_t i = 0; i < ARRAY_LEN(taken); i++)
		chunk_give(&pool, taken[i]);
	assert_int_equal(pool.free_bytes, 5 * 2048);
	assert_int_equal(pool.used, 0);
}

static void a_chunk_of_its_own_size_is_never_kept(void **state)
{
	(void)state;
	chunk_give(&pool, chunk_take(&pool, 100000));
	assert_int_equal(pool.free_bytes, 0);
}

static void trimming_frees_the_largest_first(void **state)
{
	static const size_t sizes[] = {100, 100, 2000, 2000, 16000, 60000};
	struct chunk *taken[ARRAY_LEN(sizes)];
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		taken[i] = chunk_take(&pool, sizes[i]);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		chunk_give(&pool, taken[i]);
	bufpool_trim(&pool, 2 * 512 + 2048);
	assert_int_equal(pool.free_bytes, 2 * 512 + 2048);
	assert_null(pool.free[3]);
	assert_null(pool.free[2]);
	bufpool_trim(&pool, 0);
	assert_int_equal(pool.free_bytes, 0);
}

static void leave_one_out(void)
{
	struct bufpool p;
	bufpool_init(&p, 0);
	(void)chunk_take(&p, 1);
	bufpool_fini(&p);
}

static void a_chunk_that_is_still_out_at_the_end_is_a_bug(void **state)
{
	char said[4096];
	(void)state;
	assert_true(child_aborts(leave_one_out, said, sizeof(said)));
	assert_non_null(strstr(said, "p->used == 0"));
}

/* ---- chunks -----------------------------------------------------------------------------------*/

static void growing_keeps_the_chunk_that_has_the_room(void **state)
{
	(void)state;
	struct chunk *c = chunk_of("abc");
	assert_ptr_equal(chunk_grow(&pool, c, chunk_room(c)), c);
	chunk_give(&pool, c);
}

static void growing_moves_the_bytes_and_at_least_doubles(void **state)
{
	(void)state;
	struct chunk *c = chunk_take(&pool, 100000);
	memset(c->data, 'x', 100000);
	c->start = 10;
	c->end = 100000;
	c = chunk_grow(&pool, c, 1);
	assert_int_equal(chunk_len(c), 100000 - 10);
	assert_int_equal(c->start, 0);
	assert_true(c->cap >= 2 * (100000 - 10));
	assert_int_equal(chunk_bytes(c)[0], 'x');
	assert_int_equal(pool.used, c->cap + HEADER); /* the small one is gone */
	chunk_give(&pool, c);
}

static void extending_takes_no_more_than_was_asked_for(void **state)
{
	static const struct {
		size_t cap, start, len, more;
		size_t then; /* cap */
	} rows[] = {
		{100000, 0, 100000, 1, 100001},
		{100000, 10, 99990, 1, 99991}, /* what is spent makes room */
		{100000, 0, 100000, 4000000, 4100000},
		{100000, 99000, 1000, 99001, 100001},
		{100000, 0, 50000, 50000, 100000}, /* the same one */
		{100000, 99900, 100, 1000, 2048 - HEADER},
		{65792 - HEADER, 0, 65000, 65000, 130000},
		{512 - HEADER, 0, 400, 1000, 2048 - HEADER},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct chunk *c = chunk_take(&pool, rows[i].cap);
		for (size_t k = 0; k < rows[i].cap; k++)
			c->data[k] = (uint8_t)(k % 251);
		c->start = (uint32_t)rows[i].start;
		c->end = c->start + (uint32_t)rows[i].len;
		c = chunk_extend(&pool, c, rows[i].more);
		assert_int_equal(c->cap, rows[i].then);
		assert_int_equal(pool.used, c->cap + HEADER);
		assert_int_equal(chunk_len(c), rows[i].len);
		assert_true(chunk_room(c) >= rows[i].more);
		for (size_t k = 0; k < rows[i].len; k++)
			assert_int_equal(chunk_bytes(c)[k], (rows[i].start + k) % 251);
		memset(c->data + c->end, 0xaa, chunk_room(c));
		chunk_give(&pool, c);
		assert_int_equal(pool.used, 0);
	}
}

static void growing_nothing_takes_a_chunk(void **state)
{
	(void)state;
	struct chunk *c = chunk_grow(&pool, NULL, 3000);
	assert_true(chunk_room(c) >= 3000);
	chunk_give(&pool, c);
}

static void appending_in_small_pieces_copies_each_byte_a_few_times_only(void **state)
{
	enum { PIECE = 100, PIECES = 20000 };
	static const uint8_t piece[PIECE] = {1, 2, 3};
	struct chunk *c = NULL;
	unsigned moved = 0;
	(void)state;
	for (unsigned i = 0; i < PIECES; i++) {
		struct chunk *before = c;
		c = chunk_append(&pool, c, piece, PIECE);
		moved += c != before;
	}
	assert_int_equal(chunk_len(c), PIECE * PIECES);
	assert_true(moved < 20); /* 512 bytes doubled up to 2 MB */
	for (unsigned i = 0; i < PIECES; i++)
		assert_memory_equal(chunk_bytes(c) + (size_t)i * PIECE, piece, PIECE);
	chunk_give(&pool, c);
}

/* ---- chains -----------------------------------------------------------------------------------*/

static void an_empty_chain_holds_no_chunk(void **state)
{
	struct chain c;
	struct iovec iov[1];
	(void)state;
	chain_init(&c);
	assert_int_equal(chain_iov(&c, iov, 1), 0);
	chain_append(&pool, &c, "", 0);
	chain_drop(&pool, &c, 0);
	chain_clear(&pool, &c);
	assert_null(c.head);
	assert_int_equal(pool.used, 0);
}

static void the_last_byte_dropped_gives_the_last_chunk_back(void **state)
{
	struct chain c;
	(void)state;
	chain_init(&c);
	chain_append(&pool, &c, "abcdef", 6);
	chain_drop(&pool, &c, 2);
	chain_holds(&c, "cdef");
	chain_drop(&pool, &c, 4);
	assert_null(c.head);
	assert_null(c.tail);
	assert_int_equal(pool.used, 0);
	chain_append(&pool, &c, "again", 5);
	chain_holds(&c, "again");
	chain_clear(&pool, &c);
}

static void a_small_chunk_is_copied_into_the_room_at_the_end(void **state)
{
	struct chain c;
	(void)state;
	chain_init(&c);
	chain_append(&pool, &c, "one ", 4);
	size_t used = pool.used;
	struct chunk *k = chunk_of("xxtwo");
	k->start = 2;
	chain_push(&pool, &c, k);
	chain_holds(&c, "one two");
	assert_int_equal(pool.used, used);
	chain_clear(&pool, &c);
}

static void a_large_chunk_is_linked_not_copied(void **state)
{
	struct chain c;
	(void)state;
	chain_init(&c);
	chain_append(&pool, &c, "x", 1);
	struct chunk *k = chunk_take(&pool, 1000);
	memset(k->data, 'y', 1000);
	k->end = 1000;
	chain_push(&pool, &c, k);
	assert_ptr_equal(c.tail, k);
	assert_int_equal(c.len, 1001);
	chain_clear(&pool, &c);
}

static void a_small_chunk_is_linked_where_there_is_no_room(void **state)
{
	struct chain c;
	(void)state;
	chain_init(&c);
	struct chunk *k = chunk_of("first");
	chain_push(&pool, &c, k);
	assert_ptr_equal(c.head, k);
	chain_holds(&c, "first");
	chain_clear(&pool, &c);
}

static void splicing_empties_the_other_chain(void **state)
{
	struct chain a, b;
	(void)state;
	chain_init(&a);
	chain_init(&b);
	chain_append(&pool, &a, "left ", 5);
	chain_append(&pool, &b, "right", 5);
	chain_splice(&pool, &a, &b);
	chain_holds(&a, "left right");
	assert_null(b.head);
	assert_null(b.tail);
	assert_int_equal(b.len, 0);
	chain_splice(&pool, &a, &b);
	chain_holds(&a, "left right");
	chain_clear(&pool, &a);
}

static void reserved_bytes_are_contiguous_and_count_when_committed(void **state)
{
	struct chain c;
	(void)state;
	chain_init(&c);
	chain_append(&pool, &c, "head", 4);
	uint8_t *at = chain_reserve(&pool, &c, 5000);
	assert_int_equal(c.len, 4);
	memset(at, 'z', 5000);
	chain_commit(&c, 3);
	chain_holds(&c, "headzzz");
	at = chain_reserve(&pool, &c, 1);
	*at = '!';
	chain_commit(&c, 1);
	chain_holds(&c, "headzzz!");
	chain_clear(&pool, &c);
}

static void a_room_that_was_not_used_is_skipped(void **state)
{
	struct chain c;
	struct iovec iov[4];
	(void)state;
	chain_init(&c);
	(void)chain_reserve(&pool, &c, 10);   /* never written */
	(void)chain_reserve(&pool, &c, 1000); /* does not fit it: a second chunk, empty too */
	assert_int_equal(chain_iov(&c, iov, 4), 0);
	chain_append(&pool, &c, "late", 4);
	chain_holds(&c, "late");
	chain_drop(&pool, &c, 4);
	assert_int_equal(pool.used, 0);
}

static void a_gather_list_ends_at_its_limit(void **state)
{
	struct chain c;
	struct iovec iov[4];
	(void)state;
	chain_init(&c);
	for (int i = 0; i < 6; i++) {
		struct chunk *k = chunk_take(&pool, 600);
		memset(k->data, '0' + i, 600);
		k->end = 600;
		chain_push(&pool, &c, k);
	}
	assert_int_equal(chain_iov(&c, iov, 4), 4);
	assert_int_equal(((uint8_t *)iov[3].iov_base)[0], '3');
	chain_clear(&pool, &c);
}

static void a_long_chain_grows_by_large_chunks(void **state)
{
	struct chain c;
	unsigned chunks = 0;
	(void)state;
	chain_init(&c);
	for (int i = 0; i < 10000; i++)
		chain_append(&pool, &c, "0123456789", 10);
	for (struct chunk *k = c.head; k != NULL; k = k->next)
		chunks++;
	assert_true(chunks <= 4); /* 512, 16 KiB, 64 KiB, 64 KiB */
	assert_int_equal(c.len, 100000);
	chain_clear(&pool, &c);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_chunk_has_the_smallest_class_that_fits_or_exactly_its_size),
		T(a_chunk_given_back_is_taken_again_empty),
#ifdef SLAB_ASAN
		T(bytes_of_an_idle_chunk_are_poisoned),
#endif
		T(nothing_is_given_back_for_no_chunk),
		T(no_more_than_keep_lies_idle),
		T(a_chunk_of_its_own_size_is_never_kept),
		T(trimming_frees_the_largest_first),
		T(a_chunk_that_is_still_out_at_the_end_is_a_bug),
		T(growing_keeps_the_chunk_that_has_the_room),
		T(growing_moves_the_bytes_and_at_least_doubles),
		T(extending_takes_no_more_than_was_asked_for),
		T(growing_nothing_takes_a_chunk),
		T(appending_in_small_pieces_copies_each_byte_a_few_times_only),
		T(an_empty_chain_holds_no_chunk),
		T(the_last_byte_dropped_gives_the_last_chunk_back),
		T(a_small_chunk_is_copied_into_the_room_at_the_end),
		T(a_large_chunk_is_linked_not_copied),
		T(a_small_chunk_is_linked_where_there_is_no_room),
		T(splicing_empties_the_other_chain),
		T(reserved_bytes_are_contiguous_and_count_when_committed),
		T(a_room_that_was_not_used_is_skipped),
		T(a_gather_list_ends_at_its_limit),
		T(a_long_chain_grows_by_large_chunks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
