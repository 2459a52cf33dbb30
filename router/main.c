/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * ringway: the router's process.  Reads the command line and hands over to the control thread,
 * which is this one.
 */

#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>

#include "router/conf/conf.h"
#include "router/control/control.h"

static int run(struct conf *c)
{
	if (c->test_only) {
		conf_print(c, stdout);
		return EXIT_CODE_OK;
	}
	atomic_store(&log_threshold, (int)c->log_level);
	return control_run(c);
}

int main(int argc, char **argv)
{
	/*
	 * One heap for all threads: of a thread's own heap malloc_trim() leaves the top alone, and
	 * that is most of what a burst leaves behind.  Workers hardly ever allocate, so they do not
	 * get into each other's way.
	 */
	(void)mallopt(M_ARENA_MAX, 1); /* NOLINT(concurrency-mt-unsafe): no thread runs yet */
	struct conf c;
	int code = EXIT_CODE_OK;
	switch (conf_from_argv(&c, argc, argv, stdout, stderr)) {
	case CONF_GO_ON:
		code = run(&c);
		break;
	case CONF_EXIT_OK:
		break;
	case CONF_EXIT_USAGE:
		code = EXIT_CODE_USAGE;
		break;
	case CONF_EXIT_BAD:
		code = EXIT_CODE_CONF;
		break;
	}
	conf_fini(&c);
	return code;
}
