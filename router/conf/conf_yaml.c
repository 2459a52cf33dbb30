/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/conf/conf_yaml.h"

#include <cyaml/cyaml.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/check.h"
#include "router/conf/conf_schema.h"
#include "router/conf/conf_yaml_internal.h"

/*
 * A stack of the mappings and lists that are open, as deep as the schema.  What does not fit the
 * schema is reported and skipped with all that is in it, so that nothing in a file makes the stack
 * grow.
 *
 * When locating, each level also knows where its struct or array was loaded to.
 */

#define DEPTH_MAX 8
#define SKIP_MAX 32 /* levels of what is skipped */
#define PATH_TEXT_MAX 128

struct level {
	const cyaml_schema_value_t *value;
	const cyaml_schema_field_t *field; /* mapping: the key read last; NULL: a key is due */
	const char *data;                  /* NULL: only checking */
	uint32_t index;                    /* list: of the next entry */
	size_t path_len;
	yaml_mark_t start;
	size_t lines[CONF_FIELDS_MAX]; /* mapping: where each key was seen, counted from 1 */
};

struct walk {
	const struct conf_source *source;
	struct conf_report *report; /* NULL: locating */
	const void *slot;           /* what is looked for */
	yaml_mark_t found;
	struct level levels[DEPTH_MAX];
	size_t depth;
	size_t skipping; /* levels open in what is skipped */
	bool has_root;
	bool stop;
	char path[PATH_TEXT_MAX]; /* keys with dots, without places in lists */
};

/* What a key holds that is not in the schema. */
static const cyaml_schema_field_t ignored = {.key = "", .value = {.type = CYAML_IGNORE}};

#define PROBLEM(w, mark, ...) \
	do { \
		if ((w)->report != NULL) \
			conf_problem_at( \
				(w)->report, (mark).line + 1, (mark).column + 1, __VA_ARGS__); \
	} while (0)

static struct level *top(struct walk *w)
{
	return w->depth == 0 ? NULL : &w->levels[w->depth - 1];
}

static const char *shown(const struct walk *w)
{
	return w->path[0] == '\0' ? "the file" : conf_yaml_shown(w->path);
}

/* ------------------------------------------------------------------------------------------------
 * Places in the loaded data
 */
static size_t entry_size(const cyaml_schema_value_t *list)
{
	const cyaml_schema_value_t *entry = list->sequence.entry;
	bool pointer = ((unsigned)entry->flags & (unsigned)CYAML_FLAG_POINTER) != 0;
	return pointer ? sizeof(char *) : entry->data_size;
}

/* Where the value that comes next was loaded to. */
static const char *next_slot(struct walk *w)
{
	const struct level *l = top(w);
	if (l == NULL)
		return w->source->data;
	if (l->data == NULL)
		return NULL;
	if (l->value->type == CYAML_SEQUENCE)
		return l->data + l->index * entry_size(l->value);
	return l->data + l->field->data_offset;
}

/* The array that a list's slot points to. */
static const char *array_at(const char *slot)
{
	const char *array = NULL;
	if (slot != NULL)
		memcpy(&array, slot, sizeof(array));
	return array;
}

/* ------------------------------------------------------------------------------------------------
 * Levels
 */
static const cyaml_schema_value_t *next_value(struct walk *w)
{
	const struct level *l = top(w);
	if (l == NULL)
		return w->source->schema;
	return l->value->type == CYAML_SEQUENCE ? l->value->sequence.entry : &l->field->value;
}

/* The value that was due has come. */
static void value_done(struct walk *w)
{
	struct level *l = top(w);
	if (l == NULL)
		return;
	l->field = NULL;
	w->path[l->path_len] = '\0';
	if (l->value->type == CYAML_SEQUENCE)
		l->index++;
}

static void push(struct walk *w, const cyaml_schema_value_t *value, yaml_mark_t start)
{
	const char *slot = next_slot(w);
	CHECK(w->depth < DEPTH_MAX);
	struct level *l = &w->levels[w->depth++];
	*l = (struct level){.value = value, .start = start, .path_len = strlen(w->path)};
	l->data = value->type == CYAML_SEQUENCE ? array_at(slot) : slot;
}

static void require_keys(struct walk *w, const struct level *l)
{
	const cyaml_schema_field_t *f = l->value->mapping.fields;
	for (size_t i = 0; f[i].key != NULL; i++) {
		bool optional = ((unsigned)f[i].value.flags & (unsigned)CYAML_FLAG_OPTIONAL) != 0;
		if (!optional && l->lines[i] == 0)
			PROBLEM(w, l->start, "%s: '%s' is missing", shown(w), f[i].key);
	}
}

static void pop(struct walk *w)
{
	struct level *l = top(w);
	CHECK(l != NULL);
	if (l->value->type == CYAML_MAPPING)
		require_keys(w, l);
	else if (l->index < l->value->sequence.min)
		PROBLEM(w, l->start, "%s: the list is empty (leave it out for its default)",
			shown(w));
	w->depth--;
	value_done(w);
}

/* ------------------------------------------------------------------------------------------------
 * Keys
 */
static const cyaml_schema_field_t *find_field(const struct level *l, const char *key)
{
	for (const cyaml_schema_field_t *f = l->value->mapping.fields; f->key != NULL; f++) {
		if (strcmp(f->key, key) == 0)
			return f;
	}
	return NULL;
}

static void extend_path(struct walk *w, const struct level *l, const char *key)
{
	int n = snprintf(w->path + l->path_len, sizeof(w->path) - l->path_len, "%s%s",
		l->path_len > 0 ? "." : "", key);
	CHECK(n >= 0 && (size_t)n < sizeof(w->path) - l->path_len); /* the schema's own keys */
}

static void take_key(struct walk *w, const yaml_event_t *e)
{
	struct level *l = top(w);
	if (e->type != YAML_SCALAR_EVENT) {
		PROBLEM(w, e->start_mark, "%s: a key must be a text", shown(w));
		w->stop = true;
		return;
	}
	const char *key = (const char *)e->data.scalar.value;
	const cyaml_schema_field_t *f = find_field(l, key);
	if (f == NULL || strlen(key) != e->data.scalar.length) {
		if (w->report != NULL)
			conf_yaml_unknown_key(
				w->report, e->start_mark, w->path, key, l->value->mapping.fields);
		l->field = &ignored;
		return;
	}
	extend_path(w, l, key);
	l->field = f;
	size_t *line = &l->lines[f - l->value->mapping.fields];
	if (*line != 0)
		PROBLEM(w, e->start_mark, "%s is given twice, first in line %zu", shown(w), *line);
	*line = e->start_mark.line + 1;
}

/* ------------------------------------------------------------------------------------------------
 * Values
 */
static bool is_null(const yaml_event_t *e)
{
	static const char *const words[] = {"", "~", "null", "Null", "NULL"};
	if (e->type != YAML_SCALAR_EVENT || e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp((const char *)e->data.scalar.value, words[i]) == 0)
			return true;
	}
	return false;
}

static bool in_flow_style(const yaml_event_t *e)
{
	return (e->type == YAML_MAPPING_START_EVENT &&
		       e->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE) ||
	       (e->type == YAML_SEQUENCE_START_EVENT &&
		       e->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE);
}

static const char *noun_of(const yaml_event_t *e)
{
	if (e->type == YAML_MAPPING_START_EVENT)
		return "a mapping";
	return e->type == YAML_SEQUENCE_START_EVENT ? "a list" : "a text";
}

/* Another kind of value than the schema has here. */
static void refuse_kind(struct walk *w, const yaml_event_t *e, const cyaml_schema_value_t *v)
{
	const char *hint = "";
	if (is_null(e)) {
		PROBLEM(w, e->start_mark, "%s: there is no value (leave out what is not set)",
			shown(w));
		return;
	}
	if (v->type == CYAML_STRING && in_flow_style(e))
		hint = " (a text that begins with [ or { is written in quotes)";
	if (v->type == CYAML_SEQUENCE && e->type == YAML_SCALAR_EVENT)
		hint = " (even one entry is written in brackets: [entry])";
	PROBLEM(w, e->start_mark, "%s: %s is wanted here, not %s%s", shown(w),
		v->type == CYAML_STRING    ? "a text"
		: v->type == CYAML_MAPPING ? "a mapping"
					   : "a list",
		noun_of(e), hint);
}

static bool kind_fits(const yaml_event_t *e, const cyaml_schema_value_t *v)
{
	switch (v->type) {
	case CYAML_STRING:
		return e->type == YAML_SCALAR_EVENT && !is_null(e);
	case CYAML_MAPPING:
		return e->type == YAML_MAPPING_START_EVENT;
	case CYAML_SEQUENCE:
		return e->type == YAML_SEQUENCE_START_EVENT;
	case CYAML_INT:
	case CYAML_UINT:
	case CYAML_BOOL:
	case CYAML_ENUM:
	case CYAML_FLAGS:
	case CYAML_FLOAT:
	case CYAML_BITFIELD:
	case CYAML_SEQUENCE_FIXED:
	case CYAML_IGNORE:
	case CYAML__TYPE_COUNT:
		break;
	}
	UNREACHABLE(); /* the schema has texts only */
}

/* Passes over a value and all that is in it. */
static void skip(struct walk *w, const yaml_event_t *e)
{
	if (e->type == YAML_SCALAR_EVENT || e->type == YAML_ALIAS_EVENT)
		value_done(w);
	else
		w->skipping = 1;
}

static void check_length(struct walk *w, const yaml_event_t *e)
{
	const struct level *l = top(w);
	if (l != NULL && l->value->type == CYAML_SEQUENCE && l->index == l->value->sequence.max)
		PROBLEM(w, e->start_mark, "%s: more than %u", shown(w), l->value->sequence.max);
}

/* Is this what was looked for? */
static void check_slot(struct walk *w, const yaml_event_t *e, const cyaml_schema_value_t *v)
{
	if (w->slot == NULL || v->type == CYAML_MAPPING || next_slot(w) != w->slot)
		return;
	w->found = e->start_mark;
	w->stop = true;
}

static void take_value(struct walk *w, const yaml_event_t *e)
{
	const cyaml_schema_value_t *v = next_value(w);
	if (v->type == CYAML_IGNORE) {
		skip(w, e);
		return;
	}
	check_length(w, e);
	if (w->depth == 0 && is_null(e)) /* `---` and nothing behind it */
		return;
	if (!kind_fits(e, v)) {
		refuse_kind(w, e, v);
		skip(w, e);
		return;
	}
	check_slot(w, e, v);
	if (v->type != CYAML_STRING) {
		w->has_root = true;
		push(w, v, e->start_mark);
		return;
	}
	if (strlen((const char *)e->data.scalar.value) != e->data.scalar.length)
		PROBLEM(w, e->start_mark, "%s: a NUL byte in a text", shown(w));
	value_done(w);
}

/* ------------------------------------------------------------------------------------------------
 * Events
 */

/* What YAML has and a configuration has not: it would be read otherwise than it looks. */
static void refuse_extras(struct walk *w, const yaml_event_t *e)
{
	const yaml_char_t *anchor = NULL, *tag = NULL;
	if (e->type == YAML_SCALAR_EVENT) {
		anchor = e->data.scalar.anchor;
		tag = e->data.scalar.tag;
	} else if (e->type == YAML_SEQUENCE_START_EVENT) {
		anchor = e->data.sequence_start.anchor;
		tag = e->data.sequence_start.tag;
	} else if (e->type == YAML_MAPPING_START_EVENT) {
		anchor = e->data.mapping_start.anchor;
		tag = e->data.mapping_start.tag;
	}
	if (e->type == YAML_ALIAS_EVENT)
		PROBLEM(w, e->start_mark, "aliases (*name) are not taken: write the value out");
	if (anchor != NULL)
		PROBLEM(w, e->start_mark, "anchors (&name) are not taken");
	if (tag != NULL)
		PROBLEM(w, e->start_mark, "tags (!name) are not taken");
}

static void on_node(struct walk *w, const yaml_event_t *e)
{
	struct level *l = top(w);
	refuse_extras(w, e);
	if (w->skipping > 0) {
		if (e->type != YAML_SCALAR_EVENT && e->type != YAML_ALIAS_EVENT)
			w->skipping++;
		if (w->skipping > SKIP_MAX) {
			PROBLEM(w, e->start_mark, "nested too deeply");
			w->stop = true;
		}
	} else if (l != NULL && l->value->type == CYAML_MAPPING && l->field == NULL) {
		take_key(w, e);
	} else if (e->type == YAML_ALIAS_EVENT) {
		value_done(w);
	} else {
		take_value(w, e);
	}
}

static void on_end(struct walk *w)
{
	if (w->skipping == 0)
		pop(w);
	else if (--w->skipping == 0)
		value_done(w);
}

static void on_document(struct walk *w, const yaml_event_t *e, size_t *documents)
{
	if (++*documents < 2)
		return;
	PROBLEM(w, e->start_mark, "a second document: a file is one configuration");
	w->stop = true;
}

static void on_event(struct walk *w, const yaml_event_t *e, size_t *documents)
{
	switch (e->type) {
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		return;
	case YAML_STREAM_END_EVENT:
		w->stop = true;
		return;
	case YAML_DOCUMENT_START_EVENT:
		on_document(w, e, documents);
		return;
	case YAML_ALIAS_EVENT:
	case YAML_SCALAR_EVENT:
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		on_node(w, e);
		return;
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		on_end(w);
		return;
	}
	UNREACHABLE();
}

static void walk(struct walk *w)
{
	yaml_parser_t p;
	yaml_event_t e;
	size_t documents = 0;
	CHECK(yaml_parser_initialize(&p) != 0);
	yaml_parser_set_input_string(&p, w->source->text.ptr, w->source->text.len);
	while (!w->stop) {
		if (yaml_parser_parse(&p, &e) == 0) {
			if (w->report != NULL)
				conf_yaml_syntax(&p, w->source, w->report);
			break;
		}
		on_event(w, &e, &documents);
		yaml_event_delete(&e);
	}
	yaml_parser_delete(&p);
}

enum conf_yaml conf_yaml_check(const struct conf_source *s, struct conf_report *r)
{
	struct walk w = {.source = s, .report = r};
	unsigned before = r->problems;
	walk(&w);
	if (r->problems != before)
		return CONF_YAML_BAD;
	return w.has_root ? CONF_YAML_GOOD : CONF_YAML_EMPTY;
}

bool conf_yaml_locate(
	const struct conf_source *s, const void *slot, size_t *ret_line, size_t *ret_column)
{
	struct walk w = {.source = s, .slot = slot, .found = {.index = SIZE_MAX}};
	walk(&w);
	if (w.found.index == SIZE_MAX)
		return false;
	*ret_line = w.found.line + 1;
	*ret_column = w.found.column + 1;
	return true;
}
