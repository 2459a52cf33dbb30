/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/* What nodes say of their configuration, on behalf of CONFIG GET and SELECT. */

#include <stdint.h>

struct call;
struct client;
struct text;
struct worker_pool;

/* More databases than this are not reached through a router. */
#define LOCAL_DATABASES_MAX 1024

/* Databases that every node has, as far as is known. */
uint32_t local_databases(const struct worker_pool *p);

/* SELECT while the number is not known: the nodes are asked, then the client is answered. */
void local_select_asking(struct call *call, uint32_t database);

/* SELECT once it is: the client's database changes, or the text is an error. */
void local_select_known(struct client *c, uint64_t database, struct text *ret);
