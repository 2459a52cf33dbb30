/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Walking a reply that is complete and contiguous, element by element: what merging the parts of a
 * split command needs.  Elements have their wire form; nothing is copied.  Pure: any thread.
 *
 *     struct resp_head head;
 *     if (!resp_elem_head(p, len, &head) || head.type != '*' || head.number != wanted) ...
 *     p += head.size, len -= head.size;
 *     while (resp_elem_next(p, len, &size))
 *             p += size, len -= size ...
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* Size of the first complete element in p[0 .. len), members included.  False: there is none. */
bool resp_elem_next(const uint8_t *p, size_t len, size_t *ret_size) MUST_CHECK;

/* The line that a reply begins with, for the types that have a number in it. */
struct resp_head {
	uint8_t type; /* one of : $ ! = * ~ > % _ */
	/* Integer, length or count (of a map: pairs).  -1 for every null: "$-1", "*-1", "_". */
	int64_t number;
	/* Bytes up to what follows the line.  Attributes before it are skipped and counted in. */
	size_t size;
};

/* False: another type, or not a number in Redis's strict form. */
bool resp_elem_head(const uint8_t *p, size_t len, struct resp_head *ret) MUST_CHECK;
