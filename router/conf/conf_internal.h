/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * What the files of router/conf share with each other and with their test.
 */

#include <stdio.h>

#include "router/conf/conf.h"
#include "router/conf/conf_report.h"

/* Every option at its default, and one pool without a name, listeners or nodes.  *c is overwritten.
 */
void conf_init(struct conf *c);

/* A listener of Redis clients: ADDR. */
void conf_add_listener(struct conf_pool *p, const char *text, struct conf_report *r);

/* A node: [NAME=]ADDR[*WEIGHT]. */
void conf_add_node(struct conf_pool *p, const char *text, struct conf_report *r);

/* What must hold between values.  Everything that does not is reported. */
void conf_check(const struct conf *c, struct conf_report *r);

void conf_print_version(FILE *out);
void conf_print_help(FILE *out);
