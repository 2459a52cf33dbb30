/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * The file as libcyaml loads it: texts in the file's shape, not yet understood, and the schema that
 * says so.  Both come from conf_list.h and conf_key_list.h; a text that is not there is NULL.
 *
 * All values are texts: they are read by the very code that reads --set.
 */

#include <cyaml/cyaml.h>
#include <stdint.h>

enum {
	CONF_OPTION_COUNT = 0
#define X(...) +1
#include "router/conf/conf_list.h"
#undef X
};

struct file_node {
	char *name;
	char *address;
	char *weight;
};

struct file_client {
	char *user;
	char **password_files;
	uint32_t npassword_files;
	char **deny;
	uint32_t ndeny;
};

struct file_pool {
	char *name;
	char **listen;
	uint32_t nlisten;
	struct file_client *clients;
	uint32_t nclients;
	char *node_user;
	char *node_password_file;
	struct file_node *nodes;
	uint32_t nnodes;
	char *options[CONF_OPTION_COUNT]; /* by place in conf_options[]; only those of a pool */
};

struct file_conf {
	struct file_pool *pools;
	uint32_t npools;
	char *options[CONF_OPTION_COUNT]; /* only those of the router */
};

/* Keys of one mapping, its end not counted. */
#define CONF_FIELDS_MAX 31

struct conf_schema;

struct conf_schema *conf_schema_new(void);
void conf_schema_free(struct conf_schema *s); /* takes NULL */

/* Of the whole file: a struct file_conf. */
const struct cyaml_schema_value *conf_schema_root(const struct conf_schema *s);
