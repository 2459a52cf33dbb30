/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "router/conf/conf_access.h"
#include "router/conf/conf_internal.h"
#include "router/conf/conf_option.h"
#include "router/conf/conf_schema.h"
#include "router/conf/conf_text.h"
#include "router/conf/conf_value.h"

/*
 * `clients` and `node_auth` of a file: users with the files of their passwords, and lists of
 * commands resolved against the command table.
 */

#define USER_RULE "1 .. 128 printable ASCII characters without space"

/* ------------------------------------------------------------------------------------------------
 * Commands that are denied
 */
static const struct category {
	const char *name;
	uint32_t bit;
} categories[] = {
#define X(id, text) {"@" text, CMD_CATEGORY_##id},
	CMD_CATEGORIES(X)
#undef X
};

static void deny_one(struct conf_user *u, unsigned id)
{
	/* Redis's rule: what a client needs to log in or to leave is out of reach of ACLs */
	if ((cmd_at(id)->flags & CMD_NO_AUTH) == 0)
		u->denied[id / 64] |= UINT64_C(1) << (id % 64);
}

static bool deny_category(struct conf_user *u, struct span text)
{
	for (size_t i = 0; i < ARRAY_LEN(categories); i++) {
		if (!span_eq_nocase(text, span_str(categories[i].name)))
			continue;
		for (unsigned id = 0; id < CMD_COUNT; id++) {
			if ((cmd_at(id)->categories & categories[i].bit) != 0)
				deny_one(u, id);
		}
		return true;
	}
	return false;
}

/* With all its subcommands, if it has some. */
static void deny_command(struct conf_user *u, const struct cmd *c)
{
	deny_one(u, c->id);
	for (unsigned id = 0; c->has_subs && id < CMD_COUNT; id++) {
		if (cmd_at(id)->parent == c->id)
			deny_one(u, id);
	}
}

static const char *nearer(const char *text, const char *name, const char *found, unsigned *best)
{
	unsigned d;
	if (!conf_near(text, name, &d) || d >= *best)
		return found;
	*best = d;
	return name;
}

/* The command or category that was probably meant, or NULL. */
static const char *nearest_command(const char *text)
{
	const char *found = NULL;
	unsigned best = UINT_MAX;
	char low[64];
	size_t n = 0;
	for (; text[n] != '\0' && n < sizeof(low) - 1; n++)
		low[n] = (char)ascii_lower((uint8_t)text[n]);
	low[n] = '\0';
	for (unsigned id = 0; id < CMD_COUNT; id++)
		found = nearer(low, cmd_at(id)->name, found, &best);
	for (size_t i = 0; i < ARRAY_LEN(categories); i++)
		found = nearer(low, categories[i].name, found, &best);
	return found;
}

static void refuse_command(const struct conf_pool *p, const struct conf_user *u, const char *text,
	struct conf_report *r)
{
	char quoted[CONF_QUOTED_MAX];
	const char *near = nearest_command(text);
	conf_problem(r, "pool '%s': user '%s': deny: unknown command %s%s%s%s", p->name, u->name,
		conf_quote(quoted, text), near != NULL ? ": did you mean " : "",
		near != NULL ? near : "", near != NULL ? "?" : "");
}

static void add_denied(
	const struct conf_pool *p, struct conf_user *u, const char *text, struct conf_report *r)
{
	const struct cmd *c = cmd_by_name(span_str(text));
	if (c == NULL && !deny_category(u, span_str(text))) {
		refuse_command(p, u, text, r);
		return;
	}
	if (c != NULL && (c->flags & CMD_NO_AUTH) != 0) {
		conf_problem(r,
			"pool '%s': user '%s': deny: %s can't be denied: it is how clients "
			"log in and leave",
			p->name, u->name, c->name);
		return;
	}
	if (c != NULL)
		deny_command(u, c);
	u->deny[u->ndeny] = strdup(text);
	CHECK(u->deny[u->ndeny] != NULL);
	u->ndeny++;
}

static void add_deny_list(const struct conf_pool *p, struct conf_user *u,
	const struct file_client *f, struct conf_report *r)
{
	u->deny = calloc(f->ndeny + 1, sizeof(u->deny[0]));
	CHECK(u->deny != NULL);
	for (size_t i = 0; i < f->ndeny; i++) {
		r->slot = &f->deny[i];
		add_denied(p, u, f->deny[i], r);
	}
	r->slot = NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Users
 */
static bool user_name_ok(const char *name)
{
	size_t n = strlen(name);
	for (size_t i = 0; i < n; i++) {
		if (name[i] <= ' ' || name[i] > '~')
			return false;
	}
	return n >= 1 && n <= 128;
}

/* The path is kept; its file is read later.  who: "user 'x'", for messages. */
static void set_password_file(const struct conf_pool *p, const char *who, struct conf_password *pw,
	char *const *slot, struct conf_report *r)
{
	char quoted[CONF_QUOTED_MAX];
	r->slot = slot;
	if (!conf_path_ok(*slot))
		conf_problem(r, "pool '%s': %s: %s is not a path", p->name, who,
			conf_quote(quoted, *slot));
	r->slot = NULL;
	pw->file = strdup(*slot);
	CHECK(pw->file != NULL);
}

static void add_user(struct conf_pool *p, const struct file_client *f, struct conf_report *r)
{
	struct conf_access *a = p->access;
	char quoted[CONF_QUOTED_MAX], who[192];
	r->slot = &f->user;
	if (!user_name_ok(f->user)) {
		conf_problem(r, "pool '%s': clients: user %s: a name is %s", p->name,
			conf_quote(quoted, f->user), USER_RULE);
		return;
	}
	if (conf_access_user(a, span_str(f->user)) != NULL) {
		conf_problem(r, "pool '%s': clients: two users are named '%s'", p->name, f->user);
		return;
	}
	r->slot = NULL;
	struct conf_user *u = &a->users[a->nusers++];
	u->name = strdup(f->user);
	CHECK(u->name != NULL && f->npassword_files <= CONF_PASSWORDS_MAX);
	(void)snprintf(who, sizeof(who), "user '%s': password_files", u->name);
	for (size_t i = 0; i < f->npassword_files; i++)
		set_password_file(p, who, &u->passwords[u->npasswords++], &f->password_files[i], r);
	add_deny_list(p, u, f, r);
}

static void apply_clients(struct conf_pool *p, const struct file_pool *f, struct conf_report *r)
{
	conf_access_clear_users(p->access);
	p->access->users = calloc(f->nclients, sizeof(p->access->users[0]));
	CHECK(p->access->users != NULL);
	for (size_t i = 0; i < f->nclients; i++)
		add_user(p, &f->clients[i], r);
	r->slot = NULL;
}

static void apply_node_auth(struct conf_pool *p, const struct file_pool *f, struct conf_report *r)
{
	char quoted[CONF_QUOTED_MAX];
	if (f->node_password_file != NULL)
		set_password_file(p, "node_auth: password_file", &p->access->node_password,
			&f->node_password_file, r);
	if (f->node_user == NULL)
		return;
	r->slot = &f->node_user;
	if (!user_name_ok(f->node_user))
		conf_problem(r, "pool '%s': node_auth: user %s: a name is %s", p->name,
			conf_quote(quoted, f->node_user), USER_RULE);
	else if (f->node_password_file == NULL)
		conf_problem(r, "pool '%s': node_auth: user '%s' needs a password_file", p->name,
			f->node_user);
	r->slot = NULL;
	p->access->node_user = strdup(f->node_user);
	CHECK(p->access->node_user != NULL);
}

void conf_access_apply(struct conf_pool *p, const struct file_pool *f, struct conf_report *r)
{
	if (f->nclients > 0)
		apply_clients(p, f, r);
	apply_node_auth(p, f, r);
}
