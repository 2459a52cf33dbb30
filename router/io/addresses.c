/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/io/addresses.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/err.h"

static struct addresses *list_new(size_t room)
{
	struct addresses *l = calloc(1, sizeof(*l) + room * sizeof(l->at[0]));
	CHECK(l != NULL);
	atomic_init(&l->refs, 1);
	return l;
}

static void list_add(struct addresses *l, const struct sockaddr_any *a)
{
	if (!addresses_have(l, a))
		l->at[l->n++] = *a;
}

static int of_unix(struct addresses **ret, const struct addr *a)
{
	struct sockaddr_any where;
	int r = sock_resolve(&where, a);
	if (r != 0)
		return r;
	*ret = list_new(1);
	list_add(*ret, &where);
	return 0;
}

static struct addresses *of_infos(const struct addrinfo *infos)
{
	struct addresses *l = list_new(ADDRESSES_MAX);
	for (const struct addrinfo *i = infos; i != NULL && l->n < ADDRESSES_MAX; i = i->ai_next) {
		struct sockaddr_any where = {.len = i->ai_addrlen};
		if (i->ai_addrlen > sizeof(where.storage))
			continue;
		memcpy(&where.storage, i->ai_addr, i->ai_addrlen);
		list_add(l, &where);
	}
	if (l->n > 0)
		return l;
	addresses_unref(l);
	return NULL;
}

static int of_inet(struct addresses **ret, const struct addr *a, int flags, const char **ret_why)
{
	struct addrinfo hints = {.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICSERV | flags};
	struct addrinfo *infos = NULL;
	struct addresses *l = NULL;
	char port[8];
	(void)snprintf(port, sizeof(port), "%u", a->port);
	int r = getaddrinfo(a->host, port, &hints, &infos);
	if (r == 0) {
		l = of_infos(infos);
		freeaddrinfo(infos);
	}
	if (l == NULL) {
		*ret_why = r != 0 ? gai_strerror(r) : "no address";
		return RW_ERESOLVE;
	}
	*ret = l;
	return 0;
}

int addresses_of_literal(struct addresses **ret, const struct addr *a)
{
	const char *why;
	if (a->family == ADDR_UNIX)
		return of_unix(ret, a);
	return of_inet(ret, a, AI_NUMERICHOST, &why);
}

int addresses_resolve(struct addresses **ret, const struct addr *a, const char **ret_why)
{
	if (a->family == ADDR_UNIX)
		return of_unix(ret, a);
	return of_inet(ret, a, 0, ret_why);
}

struct addresses *addresses_ref(struct addresses *l)
{
	if (l != NULL)
		atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
	return l;
}

void addresses_unref(struct addresses *l)
{
	/* acq_rel: whoever frees sees every other owner's last use */
	if (l != NULL && atomic_fetch_sub_explicit(&l->refs, 1, memory_order_acq_rel) == 1)
		free(l);
}

bool addresses_have(const struct addresses *l, const struct sockaddr_any *a)
{
	for (uint32_t i = 0; l != NULL && i < l->n; i++)
		if (sock_same(&l->at[i], a))
			return true;
	return false;
}

bool addresses_same(const struct addresses *a, const struct addresses *b)
{
	if (a == b)
		return true;
	if (a == NULL || b == NULL || a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (!addresses_have(b, &a->at[i]))
			return false;
	return true;
}

const char *addresses_print(const struct addresses *l, char *buf, size_t size)
{
	char one[300];
	size_t len = 0;
	if (l == NULL) {
		(void)snprintf(buf, size, "nowhere");
		return buf;
	}
	buf[0] = '\0';
	for (uint32_t i = 0; i < l->n && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s", i > 0 ? " " : "",
			sock_print(&l->at[i], one, sizeof(one)));
	return buf;
}
