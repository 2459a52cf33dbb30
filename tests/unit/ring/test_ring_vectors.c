/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

/*
 * The ring against tests/ring/native-vectors.json, which an implementation in Python wrote that
 * shares nothing with this one but the rules.
 */

#include <stdlib.h>

#include <jansson.h>

#include "ring/ring.h"

#define NODES_MAX 128u
#define TEXT_MAX 4096u

struct bytes {
	uint8_t at[TEXT_MAX];
	size_t len;
};

struct pool {
	struct bytes names[NODES_MAX];
	struct ring_node nodes[NODES_MAX];
	uint8_t ejected[NODES_MAX];
	size_t n;
	struct ring *ring;
	struct ring_skip *skip;
};

static json_t *vectors;

/* ------------------------------------------------------------------------------------------------
 * Reading
 */

static const char *text_of(const json_t *object, const char *field)
{
	const char *text = json_string_value(json_object_get(object, field));

	if (text == NULL)
		fail_msg("no text in '%s'", field);
	return text;
}

static uint64_t number_of(const json_t *object, const char *field)
{
	const json_t *value = json_object_get(object, field);

	assert_true(json_is_integer(value));
	return (uint64_t)json_integer_value(value);
}

static uint64_t hex_value(const char *text)
{
	char *end = NULL;
	uint64_t v = strtoull(text, &end, 16);

	assert_true(strlen(text) == 16 && *end == '\0');
	return v;
}

/* -1 is nobody. */
static uint32_t node_value(const json_t *value)
{
	assert_true(json_is_integer(value));
	return json_integer_value(value) < 0 ? RING_NONE : (uint32_t)json_integer_value(value);
}

/* {"key": "text"} or {"key_hex": "00ff"} */
static void read_bytes(
	const json_t *object, const char *field, const char *field_hex, struct bytes *ret)
{
	const json_t *plain = json_object_get(object, field);

	if (plain != NULL) {
		ret->len = json_string_length(plain);
		assert_true(ret->len <= TEXT_MAX);
		memcpy(ret->at, json_string_value(plain), ret->len);
		return;
	}
	const char *hex = text_of(object, field_hex);
	ret->len = strlen(hex) / 2;
	assert_true(ret->len <= TEXT_MAX);
	for (size_t i = 0; i < ret->len; i++) {
		const char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
		ret->at[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
}

/* "1.5" as 1500; at most three decimals. */
static uint32_t weight_milli(const char *text)
{
	char *end = NULL;
	unsigned long milli = strtoul(text, &end, 10) * 1000;
	unsigned long unit = 100;

	if (*end == '.')
		for (end++; *end != '\0'; end++, unit /= 10)
			milli += unit * (unsigned long)(*end - '0');
	assert_true(*end == '\0');
	return (uint32_t)milli;
}

static struct pool *pool_new(const json_t *nodes, const json_t *ejected, uint64_t points)
{
	struct pool *p = calloc(1, sizeof(*p));
	struct ring_opts opts = {.points = (uint32_t)points};
	size_t i;
	json_t *node, *index;

	assert_non_null(p);
	assert_true(json_array_size(nodes) <= NODES_MAX);
	json_array_foreach(nodes, i, node)
	{
		read_bytes(node, "name", "name_hex", &p->names[i]);
		p->nodes[i].name = span_of(p->names[i].at, p->names[i].len);
		p->nodes[i].weight_milli = weight_milli(text_of(node, "weight"));
		p->n++;
	}
	json_array_foreach(ejected, i, index) p->ejected[json_integer_value(index)] = 1;
	assert_int_equal(ring_build(&p->ring, p->nodes, p->n, &opts), 0);
	assert_int_equal(ring_skip_build(&p->skip, p->ring, p->ejected), 0);
	return p;
}

static void pool_free(struct pool *p)
{
	ring_skip_free(p->skip);
	ring_free(p->ring);
	free(p);
}

/* ------------------------------------------------------------------------------------------------
 * Comparing
 */

static void same_nodes(const struct pool *p, const json_t *nodes)
{
	uint64_t points = 0;
	size_t i;
	json_t *node;

	json_array_foreach(nodes, i, node)
	{
		double error = ring_share(p->ring, (uint32_t)i) -
			       json_number_value(json_object_get(node, "share"));
		assert_true(error < 1e-12 && error > -1e-12);
		points += number_of(node, "points");
	}
	assert_int_equal(ring_node_count(p->ring), json_array_size(nodes));
	assert_int_equal(ring_point_count(p->ring), points);
}

static void same_key(const struct pool *p, const char *tag, const json_t *row)
{
	struct bytes key;
	uint32_t heirs[3];
	const json_t *want = json_object_get(row, "heirs");

	read_bytes(row, "key", "key_hex", &key);
	struct span tagged = ring_key_tag(span_of(key.at, key.len), tag);
	uint64_t position = ring_hash(tagged.ptr, tagged.len);
	assert_true(position == hex_value(text_of(row, "position")));

	uint32_t owner = ring_owner(p->ring, position);
	assert_int_equal(owner, node_value(json_object_get(row, "owner")));
	uint32_t living = ring_owner_skip(p->ring, p->skip, position);
	assert_int_equal(living, node_value(json_object_get(row, "living")));
	assert_int_equal(ring_successors(p->ring, position, heirs, 3), json_array_size(want));
	for (size_t i = 0; i < json_array_size(want); i++)
		assert_int_equal(heirs[i], node_value(json_array_get(want, i)));
}

static void pools_are_as_in_python(void **state)
{
	(void)state;
	const json_t *pools = json_object_get(vectors, "pools");
	size_t i, k;
	size_t keys = 0;
	json_t *entry, *row;

	json_array_foreach(pools, i, entry)
	{
		const json_t *nodes = json_object_get(entry, "nodes");
		print_message("  %s\n", text_of(entry, "what"));
		struct pool *p = pool_new(
			nodes, json_object_get(entry, "ejected"), number_of(entry, "points"));
		same_nodes(p, nodes);
		assert_true(ring_checksum(p->ring) == hex_value(text_of(entry, "checksum")));
		json_array_foreach(json_object_get(entry, "keys"), k, row)
		{
			same_key(p, text_of(entry, "hash_tag"), row);
			keys++;
		}
		pool_free(p);
	}
	assert_true(i >= 20 && keys >= 1000);
}

static void same_change(const json_t *entry)
{
	uint64_t points = number_of(entry, "points");
	const json_t *arcs = json_object_get(entry, "arcs");
	struct ring_diff d;
	struct pool *from = pool_new(
		json_object_get(entry, "from"), json_object_get(entry, "from_ejected"), points);
	struct pool *to = pool_new(
		json_object_get(entry, "to"), json_object_get(entry, "to_ejected"), points);

	assert_int_equal(ring_diff(&d, from->ring, from->skip, to->ring, to->skip), 0);
	assert_int_equal(d.n, json_array_size(arcs));
	for (size_t i = 0; i < d.n; i++) {
		const json_t *arc = json_array_get(arcs, i);
		assert_true(
			d.arcs[i].first == hex_value(json_string_value(json_array_get(arc, 0))));
		assert_true(d.arcs[i].last == hex_value(json_string_value(json_array_get(arc, 1))));
		assert_int_equal(d.arcs[i].before, node_value(json_array_get(arc, 2)));
		assert_int_equal(d.arcs[i].after, node_value(json_array_get(arc, 3)));
	}
	/* Both are the exact share, rounded once. */
	assert_true(d.moved == json_number_value(json_object_get(entry, "moved")));
	ring_diff_fini(&d);
	pool_free(from);
	pool_free(to);
}

static void changes_move_what_they_move_in_python(void **state)
{
	(void)state;
	const json_t *changes = json_object_get(vectors, "changes");
	size_t i;
	json_t *entry;

	json_array_foreach(changes, i, entry)
	{
		print_message("  %s\n", text_of(entry, "what"));
		same_change(entry);
	}
	assert_true(i >= 10);
}

static int read_vectors(void **state)
{
	json_error_t error;

	(void)state;
	vectors = json_load_file(RING_VECTORS, 0, &error);
	if (vectors == NULL)
		print_error("%s:%d: %s\n", RING_VECTORS, error.line, error.text);
	return vectors != NULL ? 0 : -1;
}

static int drop_vectors(void **state)
{
	(void)state;
	json_decref(vectors);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pools_are_as_in_python),
		cmocka_unit_test(changes_move_what_they_move_in_python),
	};
	return cmocka_run_group_tests(tests, read_vectors, drop_vectors);
}
