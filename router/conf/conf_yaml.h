/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * What libcyaml leaves open: where things are.
 *
 * libcyaml turns the file into structs, but of a mistake it names at most one, without the key that
 * was meant, and of a value that it took it no longer knows the place.  So libyaml's events are
 * walked along libcyaml's own schema: once before loading, to name everything that is wrong with
 * the file's shape, and again for each value that turns out to be wrong, to say where it stands.
 * Pure.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/str.h"
#include "router/conf/conf_report.h"

struct cyaml_schema_value;

struct conf_source {
	const char *name; /* of the file */
	struct span text;
	const struct cyaml_schema_value *schema; /* borrowed; a mapping */
	void *data;                              /* what was loaded; NULL: nothing yet */
};

enum conf_yaml { CONF_YAML_GOOD, CONF_YAML_EMPTY, CONF_YAML_BAD };

/*
 * Is the text one YAML document of the schema's shape?  Everything else is reported: syntax,
 * unknown keys, keys given twice or missing, a list where a text is wanted, anchors, aliases, tags,
 * a second document.  EMPTY: nothing but comments.
 */
enum conf_yaml conf_yaml_check(const struct conf_source *s, struct conf_report *r) MUST_CHECK;

/*
 * Where the text or list stands that was loaded to `slot`, counted from 1.  False: not in the file.
 */
bool conf_yaml_locate(
	const struct conf_source *s, const void *slot, size_t *ret_line, size_t *ret_column);
