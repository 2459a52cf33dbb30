/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <string.h>

#include "base/err.h"
#include "router/core/auth.h"

static struct user_set *set_of(const struct user_spec *specs, size_t n)
{
	struct user_set *s = NULL;
	assert_int_equal(user_set_new(&s, specs, n), 0);
	return s;
}

static bool may_login(const struct user_set *s, const char *name, const char *password)
{
	return user_set_login(s, span_str(name), span_str(password)) != NULL;
}

/* ---- sets of commands ---------------------------------------------------------------------- */

static bool denies(const char *what, enum cmd_id id)
{
	struct cmd_set s = {0};
	assert_true(cmd_set_add(&s, span_str(what)));
	return cmd_set_has(&s, id);
}

static void a_command_is_denied_with_its_subcommands(void **state)
{
	(void)state;
	assert_true(denies("keys", CMD_ID_KEYS));
	assert_true(denies("KEYS", CMD_ID_KEYS));
	assert_false(denies("keys", CMD_ID_GET));
	assert_true(denies("config", CMD_ID_CONFIG));
	assert_true(denies("config", CMD_ID_CONFIG_SET));
	assert_true(denies("Config|Set", CMD_ID_CONFIG_SET));
	assert_false(denies("config|set", CMD_ID_CONFIG_GET));
	assert_false(denies("config|set", CMD_ID_CONFIG));
	assert_true(denies("@dangerous", CMD_ID_KEYS));
	assert_true(denies("@Dangerous", CMD_ID_CONFIG_SET));
	assert_false(denies("@dangerous", CMD_ID_GET));
	assert_true(denies("zunionstore", CMD_COUNT - 1)); /* the last row */
}

static void what_does_not_exist_is_not_added(void **state)
{
	static const char *const wrong[] = {
		"", "@", "@nosuch", "nosuch", "get|x", "config|nosuch", "config|", " keys", "read"};
	const struct cmd_set none = {0};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct cmd_set s = {0};
		assert_false(cmd_set_add(&s, span_str(wrong[i])));
		assert_memory_equal(&s, &none, sizeof(s));
	}
}

static void a_command_of_no_row_is_in_no_set(void **state)
{
	struct cmd_set s;
	(void)state;
	memset(&s, 0xff, sizeof(s));
	assert_false(cmd_set_has(&s, CMD_COUNT));
	assert_false(cmd_set_has(&s, UINT16_MAX));
	assert_true(cmd_set_has(&s, CMD_COUNT - 1));
}

/* ---- users --------------------------------------------------------------------------------- */

static void without_users_everybody_is_default(void **state)
{
	(void)state;
	struct user_set *s = set_of(NULL, 0);
	const struct user *u = user_set_default(s);
	assert_string_equal(u->name, "default");
	assert_true(user_set_is_open(s));
	assert_true(u->enabled && u->nopass && !u->limited);
	assert_true(may_login(s, "default", "anything"));
	assert_true(may_login(s, "default", ""));
	assert_false(may_login(s, "nobody", "anything"));
	user_set_unref(s);
}

static void an_undeclared_default_is_disabled_when_others_are_declared(void **state)
{
	const struct user_spec specs[] = {
		{.name = "app", .passwords = {SPAN("secret")}, .npasswords = 1}};
	(void)state;
	struct user_set *s = set_of(specs, 1);
	assert_false(user_set_is_open(s));
	assert_string_equal(user_set_default(s)->name, "default");
	assert_false(user_set_default(s)->enabled);
	assert_false(may_login(s, "default", ""));
	assert_false(may_login(s, "default", "secret"));
	assert_true(may_login(s, "app", "secret"));
	user_set_unref(s);
}

static void both_passwords_are_valid_and_no_other(void **state)
{
	const struct user_spec specs[] = {
		{.name = "default", .passwords = {SPAN("old-one"), SPAN("new")}, .npasswords = 2}};
	static const char *const wrong[] = {"", "n", "ne", "newer", "New", "neW", "old-on",
		"old-onf", "old-onee", "newnew", "old-one\n", " new", "nex", "oew"};
	(void)state;
	struct user_set *s = set_of(specs, 1);
	assert_false(user_set_is_open(s));
	assert_true(may_login(s, "default", "old-one"));
	assert_true(may_login(s, "default", "new"));
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_false(may_login(s, "default", wrong[i]));
	assert_false(may_login(s, "Default", "new"));
	assert_false(may_login(s, "defaul", "new"));
	assert_null(user_set_login(s, SPAN("default"), SPAN("new\0")));
	user_set_unref(s);
}

static void passwords_may_hold_any_byte(void **state)
{
	const struct user_spec specs[] = {
		{.name = "a", .passwords = {SPAN("x\0y"), SPAN("\xff\x00")}, .npasswords = 2}};
	(void)state;
	struct user_set *s = set_of(specs, 1);
	assert_non_null(user_set_login(s, SPAN("a"), SPAN("x\0y")));
	assert_non_null(user_set_login(s, SPAN("a"), SPAN("\xff\x00")));
	assert_null(user_set_login(s, SPAN("a"), SPAN("x")));
	assert_null(user_set_login(s, SPAN("a"), SPAN("x\0z")));
	assert_null(user_set_login(s, SPAN("a"), SPAN("\xff")));
	/* the secret repeated, as the comparison walks it */
	assert_null(user_set_login(s, SPAN("a"), SPAN("x\0yx\0y")));
	user_set_unref(s);
}

static void an_empty_password_is_one(void **state)
{
	const struct user_spec specs[] = {{.name = "a", .passwords = {SPAN("")}, .npasswords = 1}};
	(void)state;
	struct user_set *s = set_of(specs, 1);
	assert_true(may_login(s, "a", ""));
	assert_false(may_login(s, "a", "x"));
	assert_null(user_set_login(s, SPAN("a"), SPAN("\0")));
	user_set_unref(s);
}

static void a_user_is_limited_by_its_own_list_alone(void **state)
{
	struct user_spec specs[] = {{.name = "default"}, {.name = "app"}};
	(void)state;
	assert_true(cmd_set_add(&specs[1].deny, SPAN("flushall")));
	struct user_set *s = set_of(specs, 2);
	assert_true(user_set_is_open(s));
	assert_false(user_set_find(s, SPAN("default"))->limited);
	const struct user *app = user_set_find(s, SPAN("app"));
	assert_true(app->limited);
	assert_true(cmd_set_has(&app->deny, CMD_ID_FLUSHALL));
	assert_false(cmd_set_has(&app->deny, CMD_ID_GET));
	user_set_unref(s);
}

static void a_name_twice_is_refused(void **state)
{
	const struct user_spec specs[] = {{.name = "a"}, {.name = "b"}, {.name = "a"}};
	struct user_set *s = NULL;
	(void)state;
	assert_int_equal(user_set_new(&s, specs, 3), RW_EDUPLICATE);
	assert_null(s);
}

static void the_set_keeps_copies(void **state)
{
	char name[] = "app", secret[] = "secret";
	struct user_spec spec = {.name = name, .passwords = {span_of(secret, 6)}, .npasswords = 1};
	(void)state;
	struct user_set *s = set_of(&spec, 1);
	struct user_set *other = user_set_ref(s);
	memset(name, 'x', 3);
	memset(secret, 'x', 6);
	user_set_unref(s);
	assert_true(may_login(other, "app", "secret"));
	user_set_unref(other);
	user_set_unref(NULL);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_command_is_denied_with_its_subcommands),
		T(what_does_not_exist_is_not_added),
		T(a_command_of_no_row_is_in_no_set),
		T(without_users_everybody_is_default),
		T(an_undeclared_default_is_disabled_when_others_are_declared),
		T(both_passwords_are_valid_and_no_other),
		T(passwords_may_hold_any_byte),
		T(an_empty_password_is_one),
		T(a_user_is_limited_by_its_own_list_alone),
		T(a_name_twice_is_refused),
		T(the_set_keeps_copies),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
