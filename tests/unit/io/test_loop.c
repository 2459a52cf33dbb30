/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <string.h>

#include "router/io/loop.h"

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	unsigned *ticks = arg;
	(void)fd;
	(void)what;
	(*ticks)++;
}

static void a_turn_runs_what_is_due_and_reads_the_clock_once(void **state)
{
	struct loop l;
	struct event tick;
	unsigned ticks = 0;
	const struct timeval soon = {.tv_usec = 5000};
	(void)state;
	assert_int_equal(loop_init(&l), 0);
	assert_int_equal(evtimer_assign(&tick, l.base, on_tick, &ticks), 0);
	uint64_t before = loop_now(&l);
	assert_true(before > 0);
	assert_int_equal(loop_now(&l), before);
	(void)evtimer_add(&tick, &soon);
	assert_true(loop_turn(&l));
	assert_int_equal(ticks, 1);
	assert_true(loop_now(&l) >= before + 4 * NS_PER_MS); /* the wait is in it */
	assert_true(loop_now(&l) <= clock_ns());
	loop_fini(&l);
}

static void a_loop_without_events_says_that_it_has_nothing_to_do(void **state)
{
	struct loop l;
	(void)state;
	assert_int_equal(loop_init(&l), 0);
	assert_false(loop_turn(&l));
	loop_fini(&l);
}

static void the_scratch_buffer_is_whole(void **state)
{
	struct loop l;
	(void)state;
	assert_int_equal(loop_init(&l), 0);
	memset(l.scratch, 0x55, LOOP_SCRATCH);
	assert_int_equal(l.pool.used, 0);
	loop_fini(&l);
	loop_fini(&l); /* once more does nothing */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_runs_what_is_due_and_reads_the_clock_once),
		cmocka_unit_test(a_loop_without_events_says_that_it_has_nothing_to_do),
		cmocka_unit_test(the_scratch_buffer_is_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
