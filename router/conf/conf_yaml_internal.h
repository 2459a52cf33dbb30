/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Between the walk over a file and the words for what is wrong in it.
 */

#include <cyaml/cyaml.h>
#include <stdio.h>
#include <yaml.h>

#include "router/conf/conf_report.h"
#include "router/conf/conf_yaml.h"

/* The parser has stopped at what is no YAML. */
void conf_yaml_syntax(const yaml_parser_t *p, const struct conf_source *s, struct conf_report *r);

/* `key` at `mark` is none of `fields`.  path: of the mapping it is in, "" at the top level. */
void conf_yaml_unknown_key(struct conf_report *r, yaml_mark_t mark, const char *path,
	const char *key, const cyaml_schema_field_t *fields);

/* A path as people know it: options of a pool are written without `pools.`, as in --set. */
const char *conf_yaml_shown(const char *path);
