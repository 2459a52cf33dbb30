/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include "ring/ring.h"

static const struct {
	struct span key;
	const char *tag;
	struct span want;
} tag_cases[] = {
	{SPAN("user:1"), "{}", SPAN("user:1")},
	{SPAN("{user:1}:name"), "{}", SPAN("user:1")},
	{SPAN("name:{user:1}"), "{}", SPAN("user:1")},
	{SPAN("a{b}c{d}e"), "{}", SPAN("b")},
	{SPAN("a{{b}}c"), "{}", SPAN("{b")},
	{SPAN("a{}b{c}"), "{}", SPAN("a{}b{c}")}, /* only the first '{' counts; empty: no tag */
	{SPAN("a{b"), "{}", SPAN("a{b")},
	{SPAN("a}b{c"), "{}", SPAN("a}b{c")},
	{SPAN("}a{b}"), "{}", SPAN("b")},
	{SPAN("{"), "{}", SPAN("{")},
	{SPAN("}"), "{}", SPAN("}")},
	{SPAN("{}"), "{}", SPAN("{}")},
	{SPAN(""), "{}", SPAN("")},
	{SPAN("a{\0}b"), "{}", SPAN("\0")},
	{SPAN("\0{\xff\xfe}"), "{}", SPAN("\xff\xfe")},
	{SPAN("{user:1}:name"), "", SPAN("{user:1}:name")},
	{SPAN("{user:1}:name"), "<>", SPAN("{user:1}:name")},
	{SPAN("a<b>c"), "<>", SPAN("b")},
	{SPAN("a$b$c"), "$$", SPAN("b")},
	{SPAN("a$$c$"), "$$", SPAN("a$$c$")},
	{SPAN("a$"), "$$", SPAN("a$")},
	{SPAN("a\xe4"
	      "b\xf6"
	      "c"),
		"\xe4\xf6", SPAN("b")},
};

static void the_tag_is_the_part_between_the_first_pair(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(tag_cases); i++) {
		struct span got = ring_key_tag(tag_cases[i].key, tag_cases[i].tag);
		if (!span_eq(got, tag_cases[i].want))
			fail_msg("case %zu: '%.*s'", i, (int)got.len, (const char *)got.ptr);
	}
}

static void no_byte_after_the_key_is_read(void **state)
{
	(void)state;
	struct span key = SPAN("a{b}c");

	for (size_t len = 0; len < key.len; len++) {
		struct span got = ring_key_tag(span_of(key.ptr, len), "{}");
		if (len < 4)
			assert_true(got.len == len);
		else
			assert_true(span_eq(got, SPAN("b")));
	}
	assert_true(ring_key_tag(span_of(NULL, 0), "{}").len == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tag_is_the_part_between_the_first_pair),
		cmocka_unit_test(no_byte_after_the_key_is_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
