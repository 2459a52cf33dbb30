/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */

/*
 * The one hash of the native ring: XXH3, 64 bits, seed 0 (Collet, xxHash specification 0.8).
 * Compiled in rather than called: keys are short, and the call through the library would cost as
 * much as the hash.
 */

#define XXH_INLINE_ALL

#include "ring/ring.h"

#include <xxhash.h>

uint64_t ring_hash(const void *key, size_t len)
{
	return XXH3_64bits(key, len);
}
