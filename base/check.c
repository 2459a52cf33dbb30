/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * The process is broken: nothing here allocates, locks or calls the logger, so that the line gets
 * out whatever the state of the rest.
 */
void check_failed(const char *file, int line, const char *func, const char *what)
{
	char buf[512];
	int n = snprintf(buf, sizeof(buf), "ringway: CHECK failed: %s, in %s() at %s:%d\n", what,
		func, file, line);
	if (n >= (int)sizeof(buf)) {
		n = sizeof(buf) - 1;
		buf[n - 1] = '\n';
	}
	if (n > 0 && write(STDERR_FILENO, buf, (size_t)n) < 0)
		abort(); /* nobody reads stderr: the core file tells */
	abort();
}
