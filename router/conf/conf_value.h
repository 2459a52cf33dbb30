/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * How numbers are written in options.  Pure.
 *
 * Each reader takes the whole text and returns 0, RW_ESYNTAX (not of this form) or RW_ERANGE (of
 * this form, but does not fit).  Each printer writes text that its reader reads back as the same
 * number, for any number.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"

#define CONF_VALUE_MAX 32 /* bytes that any printer needs, NUL included */

/* 0, 17. */
int conf_read_count(struct span s, uint64_t *ret) MUST_CHECK;
void conf_show_count(uint64_t v, char buf[CONF_VALUE_MAX]);

/* Permissions of a file: octal, 660 or 0660. */
int conf_read_mode(struct span s, uint64_t *ret) MUST_CHECK;
void conf_show_mode(uint64_t v, char buf[CONF_VALUE_MAX]);

/* Bytes: 4096, 16kb, 64mb, 2gb; a kb is 1024, in any case of letters. */
int conf_read_size(struct span s, uint64_t *ret) MUST_CHECK;
void conf_show_size(uint64_t v, char buf[CONF_VALUE_MAX]);

/* Nanoseconds: 0, 10ns, 50us, 250ms, 1s, 2m.  No unit only for 0. */
int conf_read_time(struct span s, uint64_t *ret) MUST_CHECK;
void conf_show_time(uint64_t v, char buf[CONF_VALUE_MAX]);

/* Thousandths, from at most three decimals: 1, 0.5, 12.345. */
int conf_read_decimal(struct span s, uint64_t *ret) MUST_CHECK;
void conf_show_decimal(uint64_t v, char buf[CONF_VALUE_MAX]);

/* Thousandths of a percent: 20%, 12.5%. */
int conf_read_percent(struct span s, uint64_t *ret) MUST_CHECK;
void conf_show_percent(uint64_t v, char buf[CONF_VALUE_MAX]);

/* true yes on: 1.  false no off: 0. */
int conf_read_bool(struct span s, uint64_t *ret) MUST_CHECK;
void conf_show_bool(uint64_t v, char buf[CONF_VALUE_MAX]);

/*
 * The name of a pool, router or node: letters, digits and . _ : -, and what addresses have beside
 * them, since an address may serve as name.
 */
#define CONF_NAME_RULE "1 .. 128 of A-Z a-z 0-9 . _ : - [ ] / %"
bool conf_name_ok(struct span name);
