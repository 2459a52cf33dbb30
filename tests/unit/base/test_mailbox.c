/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/mailbox.h"

#define SENDERS 4
#define LETTERS 20000 /* of each sender */
#define LOST_MS 20000 /* no ring for so long: a wake-up was lost */

struct note {
	struct letter letter; /* first */
	struct mailbox *box;  /* where opening posts another one; or NULL */
	unsigned sender;
	unsigned seq;
};

static struct {
	unsigned opened;
	unsigned next_seq[SENDERS];
	bool out_of_order;
} seen;

static void note_open(struct letter *l)
{
	struct note *n = CONTAINER_OF(l, struct note, letter);
	seen.opened++;
	if (n->seq != seen.next_seq[n->sender]++)
		seen.out_of_order = true;
	free(n);
}

static struct note *note_new(unsigned sender, unsigned seq)
{
	struct note *n = calloc(1, sizeof(*n));
	assert_non_null(n);
	n->letter.open = note_open;
	n->sender = sender;
	n->seq = seq;
	return n;
}

static int setup(void **state)
{
	static struct mailbox m;
	memset(&seen, 0, sizeof(seen));
	*state = &m;
	return mailbox_init(&m);
}

static int teardown(void **state)
{
	mailbox_fini(*state);
	return 0;
}

static bool rings(struct mailbox *m)
{
	struct pollfd p = {.fd = mailbox_fd(m), .events = POLLIN};
	return poll(&p, 1, 0) == 1;
}

static void letters_arrive_in_the_order_posted(void **state)
{
	struct mailbox *m = *state;
	for (unsigned i = 0; i < 10; i++)
		mailbox_post(m, &note_new(0, i)->letter);
	assert_int_equal(seen.opened, 0);
	mailbox_open_all(m);
	assert_int_equal(seen.opened, 10);
	assert_false(seen.out_of_order);
}

static void a_burst_rings_once(void **state)
{
	struct mailbox *m = *state;
	uint64_t count = 0;
	assert_false(rings(m));
	for (unsigned i = 0; i < 5; i++)
		mailbox_post(m, &note_new(0, i)->letter);
	assert_int_equal(read(mailbox_fd(m), &count, sizeof(count)), sizeof(count));
	assert_int_equal(count, 1);
	mailbox_open_all(m); /* a ring that somebody else swallowed does no harm */
	assert_int_equal(seen.opened, 5);
	assert_false(rings(m));
}

static void an_emptied_box_rings_again(void **state)
{
	struct mailbox *m = *state;
	for (unsigned i = 0; i < 3; i++) {
		mailbox_post(m, &note_new(0, i)->letter);
		assert_true(rings(m));
		mailbox_open_all(m);
		assert_false(rings(m));
		assert_int_equal(seen.opened, i + 1);
	}
}

static void opening_an_empty_box_does_nothing(void **state)
{
	struct mailbox *m = *state;
	mailbox_open_all(m);
	assert_int_equal(seen.opened, 0);
}

static void open_and_post_another(struct letter *l)
{
	struct note *n = CONTAINER_OF(l, struct note, letter);
	mailbox_post(n->box, &note_new(0, n->seq + 1)->letter);
	note_open(l);
}

static struct note *note_that_answers(struct mailbox *m)
{
	struct note *n = note_new(0, 0);
	n->letter.open = open_and_post_another;
	n->box = m;
	return n;
}

static void a_letter_posted_while_opening_waits_for_the_next_turn(void **state)
{
	struct mailbox *m = *state;
	mailbox_post(m, &note_that_answers(m)->letter);
	mailbox_open_all(m);
	assert_int_equal(seen.opened, 1);
	assert_true(rings(m));
	mailbox_open_all(m);
	assert_int_equal(seen.opened, 2);
}

static void closing_opens_what_is_left(void **state)
{
	struct mailbox m;
	(void)state;
	assert_int_equal(mailbox_init(&m), 0);
	mailbox_post(&m, &note_that_answers(&m)->letter);
	mailbox_fini(&m);
	assert_int_equal(seen.opened, 2);
	assert_false(seen.out_of_order);
	assert_int_equal(mailbox_fd(&m), -1);
}

struct sender {
	struct mailbox *box;
	unsigned id;
};

static void *send_all(void *arg)
{
	const struct sender *s = arg;
	for (unsigned i = 0; i < LETTERS; i++) {
		struct note *n = note_new(s->id, i);
		mailbox_post(s->box, &n->letter);
	}
	return NULL;
}

static void four_senders_lose_nothing_and_keep_their_order(void **state)
{
	struct mailbox *m = *state;
	pthread_t threads[SENDERS];
	struct sender senders[SENDERS];
	bool woken = true;

	for (unsigned i = 0; i < SENDERS; i++) {
		senders[i] = (struct sender){.box = m, .id = i};
		assert_int_equal(pthread_create(&threads[i], NULL, send_all, &senders[i]), 0);
	}
	while (woken && seen.opened < SENDERS * LETTERS) {
		struct pollfd p = {.fd = mailbox_fd(m), .events = POLLIN};
		int r = poll(&p, 1, LOST_MS);
		woken = r == 1 || (r < 0 && errno == EINTR);
		mailbox_open_all(m);
	}
	for (unsigned i = 0; i < SENDERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_true(woken);
	assert_int_equal(seen.opened, SENDERS * LETTERS);
	assert_false(seen.out_of_order);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(letters_arrive_in_the_order_posted),
		T(a_burst_rings_once),
		T(an_emptied_box_rings_again),
		T(opening_an_empty_box_does_nothing),
		T(a_letter_posted_while_opening_waits_for_the_next_turn),
		T(closing_opens_what_is_left),
		T(four_senders_lose_nothing_and_keep_their_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
