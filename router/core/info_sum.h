/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * What the nodes of a pool say in INFO, made one: numbers added up (info_field_list.h), keys of each
 * database, the lowest version, who did not answer.  Pure: text in, numbers out.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum info_field {
#define X(name, how) INFO_##name,
#include "router/core/info_field_list.h"
#undef X
	INFO_FIELD_COUNT
};

#define INFO_WORD_MAX 31

struct info_database {
	uint32_t number;
	uint64_t keys;
	uint64_t expires;
	double ttl_ms;   /* sum over ttl_keys */
	double ttl_keys; /* those of `expires` whose nodes know their time to live */
};

struct info_sum {
	size_t nodes; /* that answered */
	uint64_t v[INFO_FIELD_COUNT];
	bool seen[INFO_FIELD_COUNT];     /* some node said it */
	struct info_database *databases; /* owned; by number */
	size_t ndatabases;
	char version[INFO_WORD_MAX + 1];          /* "" until known */
	char maxmemory_policy[INFO_WORD_MAX + 1]; /* "mixed": they differ */
	bool bgsave_failed;                       /* a node's last save */
	char *missing;                            /* owned; names, comma between; NULL: none */
};

void info_sum_init(struct info_sum *s);
void info_sum_fini(struct info_sum *s);

/* One node's INFO, as it sends it.  Lines that are not understood are passed over. */
void info_sum_add(struct info_sum *s, struct span text);

/* A node that did not answer in time. */
void info_sum_missing(struct info_sum *s, const char *node);
