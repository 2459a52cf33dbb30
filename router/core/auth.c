/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/auth.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/err.h"

/* ---- sets of commands ---------------------------------------------------------------------- */

static void set_bit(struct cmd_set *s, unsigned id)
{
	s->bits[id / 64] |= UINT64_C(1) << (id % 64);
}

bool cmd_set_add_category(struct cmd_set *s, struct span name)
{
	static const char *const names[] = {
#define X(id, text) text,
		CMD_CATEGORIES(X)
#undef X
	};
	for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
		if (!span_eq_nocase(name, span_str(names[i])))
			continue;
		for (unsigned id = 0; id < CMD_COUNT; id++)
			if (cmd_at(id)->categories >> i & 1)
				set_bit(s, id);
		return true;
	}
	return false;
}

bool cmd_set_add(struct cmd_set *s, struct span name)
{
	if (name.len > 1 && name.ptr[0] == '@')
		return cmd_set_add_category(s, span_of(name.ptr + 1, name.len - 1));
	const struct cmd *c = name.len > 0 ? cmd_by_name(name) : NULL;
	if (c == NULL)
		return false;
	set_bit(s, c->id);
	for (unsigned id = 0; id < CMD_COUNT; id++)
		if (cmd_at(id)->parent == c->id)
			set_bit(s, id);
	return true;
}

static bool cmd_set_empty(const struct cmd_set *s)
{
	uint64_t any = 0;
	for (size_t i = 0; i < ARRAY_LEN(s->bits); i++)
		any |= s->bits[i];
	return any == 0;
}

/* ---- users --------------------------------------------------------------------------------- */

struct user_set {
	_Atomic uint32_t refs;
	size_t n;
	const struct user *standard; /* `default` */
	struct user users[];
};

static struct secret secret_new(struct span s)
{
	struct secret copy = {.ptr = malloc(s.len + 1), .len = s.len};
	CHECK(copy.ptr != NULL);
	if (s.len > 0)
		memcpy(copy.ptr, s.ptr, s.len);
	return copy;
}

static void secret_wipe(struct secret *s)
{
	explicit_bzero(s->ptr, s->len);
	free(s->ptr);
}

static void user_fill(struct user *u, const struct user_spec *spec)
{
	CHECK(spec->npasswords <= USER_PASSWORDS);
	u->name = strdup(spec->name);
	CHECK(u->name != NULL);
	u->enabled = true;
	u->nopass = spec->npasswords == 0;
	u->npasswords = spec->npasswords;
	for (size_t i = 0; i < spec->npasswords; i++)
		u->passwords[i] = secret_new(spec->passwords[i]);
	u->deny = spec->deny;
	u->limited = !cmd_set_empty(&spec->deny);
}

static void user_fini(struct user *u)
{
	free(u->name);
	for (size_t i = 0; i < u->npasswords; i++)
		secret_wipe(&u->passwords[i]);
}

static bool named_twice(const struct user_spec *specs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			if (strcmp(specs[i].name, specs[k].name) == 0)
				return true;
	return false;
}

int user_set_new(struct user_set **ret, const struct user_spec *specs, size_t n)
{
	if (named_twice(specs, n))
		return RW_EDUPLICATE;
	struct user_set *s = calloc(1, sizeof(*s) + (n + 1) * sizeof(struct user));
	CHECK(s != NULL);
	atomic_init(&s->refs, 1);
	for (size_t i = 0; i < n; i++)
		user_fill(&s->users[i], &specs[i]);
	s->n = n;
	s->standard = user_set_find(s, SPAN(USER_DEFAULT));
	if (s->standard == NULL) {
		struct user *u = &s->users[s->n++];
		user_fill(u, &(struct user_spec){.name = USER_DEFAULT});
		u->enabled = u->nopass = n == 0;
		s->standard = u;
	}
	*ret = s;
	return 0;
}

struct user_set *user_set_ref(struct user_set *s)
{
	/* relaxed: whoever hands the reference on makes the contents visible */
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void user_set_unref(struct user_set *s)
{
	/* release what this thread read, acquire what the others did, before the last one frees */
	if (s == NULL || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) > 1)
		return;
	for (size_t i = 0; i < s->n; i++)
		user_fini(&s->users[i]);
	free(s);
}

const struct user *user_set_find(const struct user_set *s, struct span name)
{
	for (size_t i = 0; i < s->n; i++)
		if (span_eq(name, span_str(s->users[i].name)))
			return &s->users[i];
	return NULL;
}

const struct user *user_set_default(const struct user_set *s)
{
	return s->standard;
}

bool user_set_is_open(const struct user_set *s)
{
	return s->standard->enabled && s->standard->nopass;
}

/* ---- logging in ---------------------------------------------------------------------------- */

/* The time depends on the length of `given` alone: neither on where the two differ nor on how long
 * the secret is. */
static bool secret_is(const struct secret *s, struct span given)
{
	static const uint8_t nothing[1];
	const uint8_t *p = s->len > 0 ? s->ptr : nothing;
	size_t cycle = s->len > 0 ? s->len : 1;
	size_t differ = s->len ^ given.len;
	for (size_t i = 0, k = 0; i < given.len; i++) {
		differ |= (size_t)(given.ptr[i] ^ p[k]);
		k = k + 1 == cycle ? 0 : k + 1;
		__asm__("" : "+r"(differ)); /* no early end */
	}
	return differ == 0;
}

const struct user *user_set_login(const struct user_set *s, struct span name, struct span password)
{
	const struct user *u = user_set_find(s, name);
	unsigned right = 0;
	if (u == NULL || !u->enabled)
		return NULL;
	for (size_t i = 0; i < u->npasswords; i++) /* all of them, always */
		right |= secret_is(&u->passwords[i], password);
	return right != 0 || u->nopass ? u : NULL;
}
