/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * The configuration file: YAML to struct conf.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/str.h"
#include "router/conf/conf.h"
#include "router/conf/conf_report.h"

/* A larger file is refused: the nodes of the largest ring fill half of it. */
#define CONF_FILE_MAX (8u << 20)

/* The bytes of a file, at most `max`, to free().  0, -errno or RW_ELIMIT. */
int conf_file_read(const char *path, size_t max, char **ret, size_t *ret_len) MUST_CHECK;

/* The file of -c.  False: at least one problem was reported. */
bool conf_file_load(struct conf *c, const char *path, struct conf_report *r) MUST_CHECK;

/*
 * Sets in *c, which conf_init() has filled, what the text says and appends its pools.  False: at
 * least one problem was reported.  Password files are named, not read; conf_check() is not called.
 * name: of the file, for messages.
 */
bool conf_file_apply(
	struct conf *c, struct span text, const char *name, struct conf_report *r) MUST_CHECK;
