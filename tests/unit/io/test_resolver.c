/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

/*
 * Lookups are played by the test: a name's first letter says what happens.  g: it is found.  b: it
 * is not.  h: the lookup hangs until the test lets it go.
 */

#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "router/io/resolver.h"

static sem_t hanging; /* a lookup has begun to hang */
static sem_t release; /* it may go on */
static atomic_int lookups;
static atomic_int lookups_done;

static int play(struct addresses **ret, const struct addr *a, const char **ret_why)
{
	struct addr found;
	const char *why = NULL;
	atomic_fetch_add(&lookups, 1);
	if (a->host[0] == 'h') {
		assert_int_equal(sem_post(&hanging), 0);
		assert_int_equal(sem_wait(&release), 0);
	}
	int r = RW_ERESOLVE;
	*ret_why = "no such name";
	if (a->host[0] != 'b') {
		assert_int_equal(addr_parse(&found, "10.0.0.1:7", &why), 0);
		r = addresses_of_literal(ret, &found);
	}
	atomic_fetch_add(&lookups_done, 1);
	return r;
}

struct bed {
	struct mailbox inbox;
	struct resolver *resolver;
};

struct answer {
	unsigned times;
	unsigned order; /* which answer it was */
	struct addresses *found;
	const char *why;
};

static unsigned answered;

static int setup(void **state)
{
	static struct bed bed;
	assert_int_equal(mailbox_init(&bed.inbox), 0);
	bed.resolver = resolver_new(&bed.inbox, play);
	assert_int_equal(sem_init(&hanging, 0, 0), 0);
	assert_int_equal(sem_init(&release, 0, 0), 0);
	atomic_store(&lookups, 0);
	atomic_store(&lookups_done, 0);
	answered = 0;
	*state = &bed;
	return 0;
}

static int teardown(void **state)
{
	struct bed *b = *state;
	resolver_free(b->resolver);
	mailbox_fini(&b->inbox);
	return 0;
}

static void on_answer(void *arg, struct addresses *found, const char *why)
{
	struct answer *a = arg;
	a->times++;
	a->order = ++answered;
	a->found = found;
	a->why = why;
}

static void ask(struct bed *b, const char *name, struct answer *a)
{
	struct addr address;
	const char *why = NULL;
	assert_int_equal(addr_parse(&address, name, &why), 0);
	resolver_ask(b->resolver, &address, on_answer, a);
}

/* Opens letters until so many answers have come. */
static void await(struct bed *b, unsigned n)
{
	uint64_t end = clock_ns() + 20 * NS_PER_S;
	while (answered < n) {
		struct pollfd p = {.fd = mailbox_fd(&b->inbox), .events = POLLIN};
		assert_true(clock_ns() < end);
		if (poll(&p, 1, 100) == 1)
			mailbox_open_all(&b->inbox);
	}
}

static void await_count(atomic_int *count, int n)
{
	uint64_t end = clock_ns() + 20 * NS_PER_S;
	while (atomic_load(count) < n) {
		assert_true(clock_ns() < end);
		(void)poll(NULL, 0, 1);
	}
}

static void each_question_gets_its_answer(void **state)
{
	struct answer good = {0}, bad = {0};
	(void)state;
	ask(*state, "good:7", &good);
	ask(*state, "bad:7", &bad);
	await(*state, 2);
	assert_int_equal(good.times, 1);
	assert_non_null(good.found);
	assert_int_equal(good.found->n, 1);
	assert_int_equal(bad.times, 1);
	assert_null(bad.found);
	assert_string_equal(bad.why, "no such name");
	addresses_unref(good.found);
}

static void names_are_asked_in_order(void **state)
{
	enum { N = 50 };
	struct answer a[N] = {0};
	for (int i = 0; i < N; i++)
		ask(*state, i % 2 ? "good:7" : "bad:7", &a[i]);
	await(*state, N);
	for (unsigned i = 0; i < N; i++) {
		assert_int_equal(a[i].order, i + 1);
		addresses_unref(a[i].found);
	}
}

/* The thread ends when nothing is left, and another one comes with the next question. */
static void asking_again_later_works(void **state)
{
	for (unsigned i = 1; i <= 20; i++) {
		struct answer a = {0};
		ask(*state, "good:7", &a);
		await(*state, i);
		addresses_unref(a.found);
		if (i % 4 == 0)
			(void)poll(NULL, 0, 2);
	}
	assert_int_equal(atomic_load(&lookups), 20);
}

static void asking_does_not_wait_for_a_lookup_that_hangs(void **state)
{
	struct answer hung = {0}, after = {0};
	ask(*state, "hang:7", &hung);
	assert_int_equal(sem_wait(&hanging), 0);
	ask(*state, "good:7", &after);
	assert_int_equal(hung.times + after.times, 0);
	assert_int_equal(sem_post(&release), 0);
	await(*state, 2);
	assert_int_equal(hung.order, 1);
	assert_int_equal(after.order, 2);
	addresses_unref(hung.found);
	addresses_unref(after.found);
}

static void freeing_does_not_wait_and_nobody_is_told(void **state)
{
	struct bed *b = *state;
	struct answer hung = {0}, queued = {0};
	ask(b, "hang:7", &hung);
	ask(b, "good:7", &queued);
	assert_int_equal(sem_wait(&hanging), 0);
	resolver_free(b->resolver);
	b->resolver = NULL;
	assert_int_equal(atomic_load(&lookups_done), 0); /* it hangs still */
	assert_int_equal(sem_post(&release), 0);
	await_count(&lookups_done, 1);
	struct pollfd p = {.fd = mailbox_fd(&b->inbox), .events = POLLIN};
	assert_int_equal(poll(&p, 1, 50), 0);
	assert_int_equal(hung.times + queued.times, 0);
	assert_int_equal(atomic_load(&lookups), 1);
}

static void letters_that_were_not_opened_tell_nobody_either(void **state)
{
	struct bed *b = *state;
	struct answer a = {0};
	ask(b, "good:7", &a);
	struct pollfd p = {.fd = mailbox_fd(&b->inbox), .events = POLLIN};
	assert_int_equal(poll(&p, 1, 20000), 1);
	resolver_free(b->resolver);
	b->resolver = NULL;
	mailbox_open_all(&b->inbox);
	assert_int_equal(a.times, 0);
}

static void the_systems_resolver_answers(void **state)
{
	struct bed *b = *state;
	struct answer a = {0};
	resolver_free(b->resolver);
	b->resolver = resolver_new(&b->inbox, addresses_resolve);
	ask(b, "localhost:7", &a);
	await(b, 1);
	assert_non_null(a.found);
	addresses_unref(a.found);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(each_question_gets_its_answer),
		T(names_are_asked_in_order),
		T(asking_again_later_works),
		T(asking_does_not_wait_for_a_lookup_that_hangs),
		T(freeing_does_not_wait_and_nobody_is_told),
		T(letters_that_were_not_opened_tell_nobody_either),
		T(the_systems_resolver_answers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
