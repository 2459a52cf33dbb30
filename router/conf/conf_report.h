/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * What is wrong with a configuration, one line each.  Reading goes on after a problem, so that one
 * run names them all, up to a number that fits a screen.
 *
 * While a value of a file is applied, `slot` is where libcyaml put it: a problem then says
 * file:line:column instead of the program's name.
 */

#include <stdbool.h>
#include <stdio.h>

#include "base/compiler.h"

struct conf_source;

#define CONF_PROBLEMS_SHOWN 50

struct conf_report {
	FILE *err; /* borrowed */
	unsigned problems;
	const struct conf_source *source; /* borrowed; NULL: not from a file */
	const void *slot;                 /* of the value being applied; NULL: none */
};

/* One line "ringway: ..." or "file:line:column: ..." on err. */
void conf_problem(struct conf_report *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The same at a place that the caller knows; lines and columns count from 1. */
void conf_problem_at(struct conf_report *r, size_t line, size_t column, const char *fmt, ...)
	PRINTF_LIKE(4, 5);

/* Not wrong, but somebody should know: "ringway: warning: ...". */
void conf_warning(struct conf_report *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

#define CONF_QUOTED_MAX 320

/*
 * 'text' for a message: bytes that are not printable as \xNN, a long one cut, user and password of
 * an address left out.  Returns buf.
 */
const char *conf_quote(char buf[CONF_QUOTED_MAX], const char *text);
