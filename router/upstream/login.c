/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/upstream/login.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

struct node_login *node_login_new(const char *user, struct span password)
{
	struct node_login *l = calloc(1, sizeof(*l));
	CHECK(l != NULL);
	atomic_init(&l->refs, 1);
	l->user = user != NULL ? span_dup(span_str(user)) : NULL;
	l->password = (uint8_t *)span_dup(password);
	l->len = password.len;
	return l;
}

struct node_login *node_login_ref(struct node_login *l)
{
	if (l != NULL)
		atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
	return l;
}

void node_login_unref(struct node_login *l)
{
	/* acq_rel: whoever frees sees every other owner's last use */
	if (l == NULL || atomic_fetch_sub_explicit(&l->refs, 1, memory_order_acq_rel) != 1)
		return;
	explicit_bzero(l->password, l->len);
	free(l->password);
	free(l->user);
	free(l);
}
