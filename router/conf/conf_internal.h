/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * What the files of router/conf share with each other and with their test.
 */

#include <stdio.h>

#include "router/conf/conf.h"
#include "router/conf/conf_report.h"

struct conf_user;
struct file_node;
struct file_pool;

/* Every option at its default, and no pool.  *c is overwritten. */
void conf_init(struct conf *c);

/* A pool of defaults without listeners and nodes.  Those added before may move. */
struct conf_pool *conf_add_pool(struct conf *c, const char *name);

/* A listener of Redis clients: ADDR, or `ADDR proxy`. */
void conf_add_listener(struct conf_pool *p, const char *text, struct conf_report *r);

/* A node as a flag has it: [NAME=]ADDR[*WEIGHT]. */
void conf_add_node(struct conf_pool *p, const char *text, struct conf_report *r);

/* A node as a file has it. */
void conf_add_file_node(struct conf_pool *p, const struct file_node *f, struct conf_report *r);

/* What the flags say replaces what the file said. */
void conf_clear_listeners(struct conf_pool *p);
void conf_clear_nodes(struct conf_pool *p);

/* One user `default` without a password, and none for the nodes. */
struct conf_access *conf_access_new(void);
void conf_access_free(struct conf_access *a); /* takes NULL */

void conf_access_clear_users(struct conf_access *a);

/* Whether they mean the same, wherever it came from. */
bool conf_user_passwords_eq(const struct conf_user *a, const struct conf_user *b);
bool conf_user_denied_eq(const struct conf_user *a, const struct conf_user *b);
bool conf_access_node_eq(const struct conf_access *a, const struct conf_access *b);

/* The file's clients and node_auth, if it has them. */
void conf_access_apply(struct conf_pool *p, const struct file_pool *f, struct conf_report *r);

/* Reads the password files of every pool. */
void conf_read_passwords(struct conf *c, struct conf_report *r);

/* What is not there yet and would be set with this key, or NULL. */
const char *conf_later(const char *key);

/* What must hold between values.  Everything that does not is reported. */
void conf_check(const struct conf *c, struct conf_report *r);

/* Listeners and nodes: no address twice. */
void conf_check_addresses(const struct conf *c, struct conf_report *r);

void conf_print_version(FILE *out);
void conf_print_help(FILE *out);
