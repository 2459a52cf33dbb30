/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/conf/conf_schema.h"

/*
 * Rows of the two tables become fields of libcyaml's schema.  A key with a dot becomes a field of a
 * mapping inside its owner's; that mapping has no struct of its own: it begins where its owner's
 * begins, so offsets mean the same in both.
 */

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "router/conf/conf_option.h"

#define GROUPS_MAX 8
#define GROUP_NAME_MAX 24

enum owner { ROUTER, POOL, CLIENT, NODE, OWNER_COUNT };

struct fields {
	cyaml_schema_field_t v[CONF_FIELDS_MAX + 1]; /* the last has no key */
	size_t n;
};

struct group {
	enum owner owner;
	char name[GROUP_NAME_MAX];
	struct fields fields;
};

struct conf_schema {
	struct fields of[OWNER_COUNT];
	cyaml_schema_value_t value[OWNER_COUNT];
	struct group groups[GROUPS_MAX];
	size_t ngroups;
	cyaml_schema_value_t root; /* value[ROUTER], allocated by libcyaml */
};

#define OWNER_ROUTER struct file_conf
#define OWNER_POOL struct file_pool
#define OWNER_CLIENT struct file_client
#define OWNER_NODE struct file_node

static const uint32_t owner_size[OWNER_COUNT] = {
	[ROUTER] = sizeof(OWNER_ROUTER),
	[POOL] = sizeof(OWNER_POOL),
	[CLIENT] = sizeof(OWNER_CLIENT),
	[NODE] = sizeof(OWNER_NODE),
};

static const cyaml_schema_value_t a_text = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char *, 0, CYAML_UNLIMITED)};

static struct group *group_of(
	struct conf_schema *s, enum owner owner, const char *name, size_t len);

/* The field for `key`, still without a value. */
static cyaml_schema_field_t *add_field(struct conf_schema *s, enum owner owner, const char *key)
{
	struct fields *f = &s->of[owner];
	const char *dot = strchr(key, '.');
	if (dot != NULL) {
		f = &group_of(s, owner, key, (size_t)(dot - key))->fields;
		key = dot + 1;
	}
	CHECK(f->n < CONF_FIELDS_MAX);
	f->v[f->n].key = key;
	return &f->v[f->n++];
}

static struct group *group_of(struct conf_schema *s, enum owner owner, const char *name, size_t len)
{
	for (size_t i = 0; i < s->ngroups; i++) {
		struct group *g = &s->groups[i];
		if (g->owner == owner && strlen(g->name) == len && memcmp(g->name, name, len) == 0)
			return g;
	}
	CHECK(s->ngroups < GROUPS_MAX && len < GROUP_NAME_MAX);
	struct group *g = &s->groups[s->ngroups++];
	g->owner = owner;
	memcpy(g->name, name, len);
	CHECK(s->of[owner].n < CONF_FIELDS_MAX);
	s->of[owner].v[s->of[owner].n++] = (cyaml_schema_field_t){
		.key = g->name,
		.value = {.type = CYAML_MAPPING,
			.flags = CYAML_FLAG_OPTIONAL,
			.data_size = owner_size[owner],
			.mapping = {.fields = g->fields.v}},
	};
	return g;
}

static void set_text(cyaml_schema_field_t *f, size_t offset, unsigned need)
{
	f->data_offset = (uint32_t)offset;
	f->value = a_text;
	f->value.flags = (enum cyaml_flag)((unsigned)CYAML_FLAG_POINTER | need);
}

static void add_options(struct conf_schema *s)
{
	static const size_t first[] = {
		[CONF_ROUTER] = offsetof(struct file_conf, options),
		[CONF_POOL] = offsetof(struct file_pool, options),
	};
	for (size_t i = 0; i < conf_option_count; i++) {
		const struct conf_option *o = &conf_options[i];
		enum owner owner = o->scope == CONF_ROUTER ? ROUTER : POOL;
		set_text(add_field(s, owner, o->key), first[o->scope] + i * sizeof(char *),
			CYAML_FLAG_OPTIONAL);
	}
}

/* ------------------------------------------------------------------------------------------------
 * The other keys
 */
enum kind { TEXT, TEXTS, POOLS, CLIENTS, NODES };
enum need { OPTIONAL = CYAML_FLAG_OPTIONAL, REQUIRED = CYAML_FLAG_DEFAULT };

#define COUNT_TEXT(type, field) 0
#define COUNT_TEXTS(type, field) offsetof(type, n##field)
#define COUNT_POOLS(type, field) offsetof(type, n##field)
#define COUNT_CLIENTS(type, field) offsetof(type, n##field)
#define COUNT_NODES(type, field) offsetof(type, n##field)

static const struct key_row {
	enum owner owner;
	enum kind kind;
	const char *key;
	size_t offset;
	size_t count_offset;
	enum need need;
	uint32_t min;
	uint32_t max;
} key_rows[] = {
#define X(owner_, kind_, key_, field_, need_, min_, max_, help_) \
	{owner_, kind_, key_, offsetof(OWNER_##owner_, field_), \
		COUNT_##kind_(OWNER_##owner_, field_), need_, min_, max_},
#include "router/conf/conf_key_list.h"
#undef X
};

static const cyaml_schema_value_t *entry_of(const struct conf_schema *s, enum kind kind)
{
	switch (kind) {
	case TEXT:
	case TEXTS:
		return &a_text;
	case POOLS:
		return &s->value[POOL];
	case CLIENTS:
		return &s->value[CLIENT];
	case NODES:
		return &s->value[NODE];
	}
	UNREACHABLE();
}

static void set_list(const struct conf_schema *s, cyaml_schema_field_t *f, const struct key_row *r)
{
	const cyaml_schema_value_t *entry = entry_of(s, r->kind);
	f->data_offset = (uint32_t)r->offset;
	f->count_offset = (uint32_t)r->count_offset;
	f->count_size = sizeof(uint32_t);
	f->value = (cyaml_schema_value_t){
		.type = CYAML_SEQUENCE,
		.flags = (enum cyaml_flag)((unsigned)CYAML_FLAG_POINTER | (unsigned)r->need),
		.data_size = entry->data_size,
		.sequence = {.entry = entry, .min = r->min, .max = r->max},
	};
}

static void add_keys(struct conf_schema *s)
{
	for (size_t i = 0; i < ARRAY_LEN(key_rows); i++) {
		const struct key_row *r = &key_rows[i];
		cyaml_schema_field_t *f = add_field(s, r->owner, r->key);
		if (r->kind == TEXT)
			set_text(f, r->offset, r->need);
		else
			set_list(s, f, r);
	}
}

struct conf_schema *conf_schema_new(void)
{
	struct conf_schema *s = calloc(1, sizeof(*s));
	CHECK(s != NULL);
	for (int i = 0; i < OWNER_COUNT; i++)
		s->value[i] = (cyaml_schema_value_t){
			.type = CYAML_MAPPING,
			.data_size = owner_size[i],
			.mapping = {.fields = s->of[i].v},
		};
	s->root = s->value[ROUTER];
	s->root.flags = CYAML_FLAG_POINTER;
	add_keys(s);
	add_options(s);
	return s;
}

void conf_schema_free(struct conf_schema *s)
{
	free(s);
}

const struct cyaml_schema_value *conf_schema_root(const struct conf_schema *s)
{
	return &s->root;
}
