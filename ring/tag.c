/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */

/*
 * Hash tags: users keep related keys on one node by marking the part that counts.  The rule is the
 * one of Redis Cluster's key distribution: only the first opening character counts, and an empty
 * tag is no tag.
 */

#include "ring/ring.h"

struct span ring_key_tag(struct span key, const char *tag)
{
	if (tag[0] == '\0' || key.len == 0)
		return key;
	const uint8_t *open = memchr(key.ptr, tag[0], key.len);
	if (open == NULL)
		return key;

	const uint8_t *inner = open + 1;
	size_t rest = key.len - (size_t)(inner - key.ptr);
	const uint8_t *close = memchr(inner, tag[1], rest);
	if (close == NULL || close == inner)
		return key;
	return span_of(inner, (size_t)(close - inner));
}
