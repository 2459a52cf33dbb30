/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * What is wrong with a configuration, one line each.  Reading goes on after a problem, so that one
 * run names them all.
 */

#include <stdbool.h>
#include <stdio.h>

#include "base/compiler.h"

struct conf_report {
	FILE *err; /* borrowed */
	unsigned problems;
};

/* One line "ringway: ..." on err. */
void conf_problem(struct conf_report *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

#define CONF_QUOTED_MAX 320

/*
 * 'text' for a message: bytes that are not printable as \xNN, a long one cut, user and password of
 * an address left out.  Returns buf.
 */
const char *conf_quote(char buf[CONF_QUOTED_MAX], const char *text);
