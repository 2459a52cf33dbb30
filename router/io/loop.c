/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/io/loop.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

/* Idle chunks that a loop keeps for itself. */
#define POOL_KEEP (4u << 20)

int loop_init(struct loop *l)
{
	memset(l, 0, sizeof(*l));
	struct event_config *cfg = event_config_new();
	CHECK(cfg != NULL);
	/* one thread per base: no locks inside libevent */
	(void)event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK);
	l->base = event_base_new_with_config(cfg);
	event_config_free(cfg);
	if (l->base == NULL)
		return -ENOMEM;
	l->scratch = malloc(LOOP_SCRATCH);
	CHECK(l->scratch != NULL);
	bufpool_init(&l->pool, POOL_KEEP);
	return 0;
}

void loop_fini(struct loop *l)
{
	if (l->base == NULL)
		return;
	event_base_free(l->base);
	free(l->scratch);
	bufpool_fini(&l->pool);
	l->base = NULL;
}

bool loop_turn(struct loop *l)
{
	l->now_ns = 0;
	return event_base_loop(l->base, EVLOOP_ONCE) == 0;
}
