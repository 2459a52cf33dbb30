/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/conf/conf_access.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "router/conf/conf_internal.h"

static void password_fini(struct conf_password *p)
{
	if (p->text != NULL)
		explicit_bzero(p->text, p->len);
	free(p->text);
	free(p->file);
}

static void user_fini(struct conf_user *u)
{
	for (size_t i = 0; i < u->npasswords; i++)
		password_fini(&u->passwords[i]);
	for (size_t i = 0; i < u->ndeny; i++)
		free(u->deny[i]);
	free(u->deny);
	free(u->name);
}

struct conf_access *conf_access_new(void)
{
	struct conf_access *a = calloc(1, sizeof(*a));
	CHECK(a != NULL);
	a->users = calloc(1, sizeof(a->users[0]));
	CHECK(a->users != NULL);
	a->nusers = 1;
	a->users[0].name = strdup(CONF_USER_DEFAULT);
	CHECK(a->users[0].name != NULL);
	return a;
}

void conf_access_clear_users(struct conf_access *a)
{
	for (size_t i = 0; i < a->nusers; i++)
		user_fini(&a->users[i]);
	free(a->users);
	a->users = NULL;
	a->nusers = 0;
}

void conf_access_free(struct conf_access *a)
{
	if (a == NULL)
		return;
	conf_access_clear_users(a);
	password_fini(&a->node_password);
	free(a->node_user);
	free(a);
}

const struct conf_user *conf_access_user(const struct conf_access *a, struct span name)
{
	for (size_t i = 0; i < a->nusers; i++) {
		if (span_eq(span_str(a->users[i].name), name))
			return &a->users[i];
	}
	return NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Comparing
 */
static bool same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* What they are, not where they came from. */
static bool password_eq(const struct conf_password *a, const struct conf_password *b)
{
	if (a->text == NULL || b->text == NULL)
		return a->text == b->text;
	return span_eq(span_of(a->text, a->len), span_of(b->text, b->len));
}

bool conf_user_passwords_eq(const struct conf_user *a, const struct conf_user *b)
{
	if (a->npasswords != b->npasswords)
		return false;
	for (size_t i = 0; i < a->npasswords; i++) {
		if (!password_eq(&a->passwords[i], &b->passwords[i]))
			return false;
	}
	return true;
}

bool conf_user_denied_eq(const struct conf_user *a, const struct conf_user *b)
{
	return memcmp(a->denied, b->denied, sizeof(a->denied)) == 0;
}

bool conf_access_node_eq(const struct conf_access *a, const struct conf_access *b)
{
	return same_text(a->node_user, b->node_user) &&
	       password_eq(&a->node_password, &b->node_password);
}
