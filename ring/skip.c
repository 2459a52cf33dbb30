/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */

/*
 * Ejected nodes.  For each point the heir is known in advance: the owner of the first point at or
 * after it, clockwise, whose owner is not ejected.  So a lookup stays O(1) however many nodes are
 * out.  Two bytes a point: 1 MB for 512,000 points, read only for keys of the ejected.
 */

#include "ring/ring.h"

#include <errno.h>
#include <stdlib.h>

#include "ring/ring_internal.h"

/* Who inherits from the ring's end: the first point that counts, from the start. */
static uint16_t first_living(const struct ring *r, const uint8_t *ejected)
{
	for (uint32_t i = 0; i < r->point_count; i++) {
		uint32_t rank = ring_rank(r, i);
		if (!ejected[rank])
			return (uint16_t)rank;
	}
	return RING_RANK_NONE;
}

static void fill_heirs(struct ring_skip *s)
{
	const struct ring *r = s->ring;
	uint16_t heir = first_living(r, s->ejected);

	s->heirs[r->point_count] = heir;
	for (uint32_t i = r->point_count; i-- > 0;) {
		uint32_t rank = ring_rank(r, i);
		if (!s->ejected[rank])
			heir = (uint16_t)rank;
		s->heirs[i] = heir;
	}
}

int ring_skip_build(struct ring_skip **ret, const struct ring *r, const uint8_t *ejected)
{
	struct ring_skip *s = calloc(1, sizeof(*s));
	if (s == NULL)
		return -ENOMEM;
	s->ring = r;
	s->heirs = calloc((size_t)r->point_count + 1, sizeof(s->heirs[0]));
	s->ejected = calloc((size_t)r->owner_count + 1, sizeof(s->ejected[0]));
	if (s->heirs == NULL || s->ejected == NULL) {
		ring_skip_free(s);
		return -ENOMEM;
	}
	for (uint32_t rank = 0; rank < r->owner_count; rank++)
		s->ejected[rank] = ejected[r->node_of_rank[rank]] != 0;
	fill_heirs(s);
	*ret = s;
	return 0;
}

void ring_skip_free(struct ring_skip *s)
{
	if (s == NULL)
		return;
	free(s->heirs);
	free(s->ejected);
	free(s);
}
