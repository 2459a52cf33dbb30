/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Options that are texts: addresses, names, paths, the hash tag.  Each has a word for 'not set',
 * none or auto, so that every value can be written.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "router/conf/conf_option.h"

/* Replaces the field at `at`.  0 or RW_ESYNTAX, with *ret_why when there is more to say. */
int conf_text_set(enum conf_type type, void *at, const char *text, const char **ret_why) MUST_CHECK;

/* 1 .. 4095 bytes of UTF-8 without control characters, so that a file can hold it. */
bool conf_path_ok(const char *text);

/* Steps over one character of UTF-8 and returns it, or -1 for bytes that are none. */
int32_t conf_utf8_next(const char **text);

/* In buf, or the field's own text. */
const char *conf_text_show(enum conf_type type, const void *at, char buf[CONF_SHOWN_MAX]);
