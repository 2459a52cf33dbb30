/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include "router/conf/conf_access.h"
#include "tests/unit/conf/run.h"

/*
 * Users, passwords from files, lists of denied commands.
 */

#define POOL \
	"pools:\n- name: p\n  role: cache\n  listen: [h:1]\n  nodes: [{name: a, address: h:2}]\n"

static void run_pool(struct run *r, const char *more)
{
	char text[4096];
	(void)snprintf(text, sizeof(text), POOL "%s", more);
	run_file(r, text, NULL);
}

static const struct conf_user *user_of(const struct run *r, const char *name)
{
	const struct conf_user *u = conf_access_user(r->conf.pools[0].access, span_str(name));
	if (u == NULL)
		fail_msg("no user %s", name);
	return u;
}

static bool denies(const struct conf_user *u, unsigned id)
{
	return (u->denied[id / 64] >> (id % 64) & 1) != 0;
}

/* ------------------------------------------------------------------------------------------------
 * Users
 */
static void without_clients_there_is_one_user_who_needs_no_password(void **state)
{
	(void)state;
	struct run r;
	run_pool(&r, "");
	RUN_EXPECT(r.exit == CONF_GO_ON, "no clients", &r);
	const struct conf_access *a = r.conf.pools[0].access;
	assert_int_equal(a->nusers, 1);
	const struct conf_user *u = user_of(&r, "default");
	assert_int_equal(u->npasswords, 0);
	for (unsigned id = 0; id < CMD_COUNT; id++)
		assert_false(denies(u, id));
	assert_null(a->node_user);
	assert_null(a->node_password.file);
	assert_null(conf_access_user(a, SPAN("nobody")));
	assert_null(conf_access_user(a, SPAN("")));
	run_fini(&r);
}

static void clients_are_the_only_users(void **state)
{
	(void)state;
	struct run r;
	run_write("a.pw", "one\n", 4);
	run_write("b.pw", "two", 3);
	run_pool(&r, "  clients:\n  - {user: app, password_files: [a.pw, b.pw]}\n"
		     "  - {user: reader}\n");
	RUN_EXPECT(r.exit == CONF_GO_ON, "two users", &r);
	assert_string_equal(r.err, "");
	assert_int_equal(r.conf.pools[0].access->nusers, 2);
	assert_null(conf_access_user(r.conf.pools[0].access, SPAN("default")));
	const struct conf_user *u = user_of(&r, "app");
	assert_int_equal(u->npasswords, 2);
	assert_string_equal(u->passwords[0].text, "one");
	assert_int_equal(u->passwords[0].len, 3);
	assert_string_equal(u->passwords[1].text, "two");
	assert_int_equal(user_of(&r, "reader")->npasswords, 0);
	run_fini(&r);
}

static void the_nodes_password_is_read_too(void **state)
{
	(void)state;
	struct run r;
	run_write("n.pw", "deep\r\nsecond line\n", 18);
	run_pool(&r, "  node_auth: {user: router, password_file: n.pw}\n");
	RUN_EXPECT(r.exit == CONF_GO_ON, "node_auth", &r);
	assert_string_equal(r.conf.pools[0].access->node_user, "router");
	assert_string_equal(r.conf.pools[0].access->node_password.text, "deep");
	run_fini(&r);
	run_pool(&r, "  node_auth: {password_file: n.pw}\n");
	RUN_EXPECT(r.exit == CONF_GO_ON, "without user", &r);
	assert_null(r.conf.pools[0].access->node_user);
	assert_int_equal(r.conf.pools[0].access->node_password.len, 4);
	run_fini(&r);
}

/* ------------------------------------------------------------------------------------------------
 * What is refused
 */
struct row {
	const char *claim;
	const char *more;
	const char *says;
};

static const struct row rows[] = {
	{"a user twice", "  clients: [{user: a}, {user: b}, {user: a}]\n",
		"f.yml:6:42: pool 'p': clients: two users are named 'a'\n"},
	{"a user with a space", "  clients: [{user: a b}]\n",
		"f.yml:6:20: pool 'p': clients: user 'a b': a name is 1 .. 128 printable ASCII "
		"characters without space\n"},
	{"a user without a name", "  clients: [{user: \"\"}]\n",
		"f.yml:6:20: pool 'p': clients: user '': a name is 1 .. 128 printable ASCII "
		"characters without space\n"},
	{"a path that is none", "  clients: [{user: u, password_files: [\"\"]}]\n",
		"f.yml:6:40: pool 'p': user 'u': password_files: '' is not a path\n"
		"ringway: pool 'p': user 'u': password_files: '': No such file or directory\n"},
	{"a user for the nodes without a password", "  node_auth: {user: u}\n",
		"f.yml:6:21: pool 'p': node_auth: user 'u' needs a password_file\n"},
	{"a bad user for the nodes", "  node_auth: {user: \"\\u00e9\", password_file: good.pw}\n",
		"f.yml:6:21: pool 'p': node_auth: user '\\xc3\\xa9': a name is 1 .. 128 printable "
		"ASCII characters without space\n"},
	{"an unknown command", "  clients: [{user: u, deny: [keys, gett]}]\n",
		"f.yml:6:36: pool 'p': user 'u': deny: unknown command 'gett': did you mean "
		"get?\n"},
	{"a command like no other", "  clients: [{user: u, deny: [frobnicate]}]\n",
		"f.yml:6:30: pool 'p': user 'u': deny: unknown command 'frobnicate'\n"},
	{"a subcommand with a space", "  clients: [{user: u, deny: [CONFIG SET]}]\n",
		"f.yml:6:30: pool 'p': user 'u': deny: unknown command 'CONFIG SET': did you mean "
		"config|set?\n"},
	{"an unknown subcommand", "  clients: [{user: u, deny: [config|sett]}]\n",
		"f.yml:6:30: pool 'p': user 'u': deny: unknown command 'config|sett': did you mean "
		"config|set?\n"},
	{"an unknown category", "  clients: [{user: u, deny: [\"@dangrous\"]}]\n",
		"f.yml:6:30: pool 'p': user 'u': deny: unknown command '@dangrous': did you mean "
		"@dangerous?\n"},
	{"a command that is needed", "  clients: [{user: u, deny: [AUTH]}]\n",
		"f.yml:6:30: pool 'p': user 'u': deny: auth can't be denied: it is how clients log "
		"in and leave\n"},
	{"an empty name", "  clients: [{user: u, deny: [\"\"]}]\n",
		"f.yml:6:30: pool 'p': user 'u': deny: unknown command ''\n"},
	{"a command of a module", "  clients: [{user: u, deny: [JSON.SET]}]\n",
		"f.yml:6:30: pool 'p': user 'u': deny: unknown command 'JSON.SET'\n"},
};

static void what_is_wrong_with_users_is_refused(void **state)
{
	(void)state;
	run_write("good.pw", "x", 1);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct run r;
		run_pool(&r, rows[i].more);
		RUN_EXPECT(r.exit == CONF_EXIT_BAD, rows[i].claim, &r);
		if (strcmp(r.err, rows[i].says) != 0)
			fail_msg("%s\nwanted:\n%s\ngot:\n%s", rows[i].claim, rows[i].says, r.err);
		run_fini(&r);
	}
}

/* ------------------------------------------------------------------------------------------------
 * Password files
 */
#define HELD "x\n\0y" /* behind the first line anything may stand */

static const struct {
	const char *claim;
	const char *bytes;
	size_t len;
	const char *why; /* NULL: taken */
	const char *password;
} files[] = {
	{"one line", "secret\n", 7, NULL, "secret"},
	{"no end of line", "secret", 6, NULL, "secret"},
	{"CRLF", "secret\r\n", 8, NULL, "secret"},
	{"only one end of line is dropped", "secret\n\n", 8, NULL, "secret"},
	{"spaces count", " a b \t\n", 7, NULL, " a b \t"},
	{"a CR alone counts", "a\r", 2, NULL, "a\r"},
	{"no UTF-8 needed", "\xff\x01\n", 3, NULL, "\xff\x01"},
	{"more lines", HELD, sizeof(HELD) - 1, NULL, "x"},
	{"nothing", "", 0, "its first line is empty", NULL},
	{"an empty line", "\nsecret\n", 8, "its first line is empty", NULL},
	{"an empty line of CRLF", "\r\nsecret\n", 9, "its first line is empty", NULL},
	{"a NUL byte", "sec\0ret\n", 8, "a NUL byte in its first line", NULL},
};

static void the_first_line_is_the_password(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		struct run r;
		char says[256] = "";
		run_write("a.pw", files[i].bytes, files[i].len);
		run_pool(&r, "  clients: [{user: u, password_files: [a.pw]}]\n");
		RUN_EXPECT(r.exit == (files[i].why == NULL ? CONF_GO_ON : CONF_EXIT_BAD),
			files[i].claim, &r);
		if (files[i].why != NULL)
			(void)snprintf(says, sizeof(says),
				"ringway: pool 'p': user 'u': password_files: 'a.pw': %s\n",
				files[i].why);
		assert_string_equal(r.err, says);
		if (files[i].why == NULL) {
			const struct conf_password *pw = &user_of(&r, "u")->passwords[0];
			assert_string_equal(pw->text, files[i].password);
			assert_int_equal(pw->len, strlen(files[i].password));
		}
		run_fini(&r);
	}
}

static void long_passwords_are_taken_up_to_a_limit(void **state)
{
	(void)state;
	static const struct {
		size_t len;
		const char *end;
		bool ok;
	} cases[] = {{4096, "", true}, {4096, "\n", true}, {4096, "\r\n", true},
		{4096, "\nmore and more", true}, {4097, "", false}, {4097, "\n", false},
		{4097, "\r\n", false}, {5000, "\n", false}, {100000, "", false}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct run r;
		char *bytes = malloc(cases[i].len + 32);
		assert_non_null(bytes);
		memset(bytes, 'p', cases[i].len);
		memcpy(bytes + cases[i].len, cases[i].end, strlen(cases[i].end));
		run_write("a.pw", bytes, cases[i].len + strlen(cases[i].end));
		run_pool(&r, "  clients: [{user: u, password_files: [a.pw]}]\n");
		RUN_EXPECT(r.exit == (cases[i].ok ? CONF_GO_ON : CONF_EXIT_BAD), "length", &r);
		if (cases[i].ok)
			assert_int_equal(user_of(&r, "u")->passwords[0].len, cases[i].len);
		else
			assert_non_null(strstr(r.err, "longer than 4096 bytes\n"));
		assert_null(strstr(r.err, "ppp"));
		run_fini(&r);
		free(bytes);
	}
}

static void expect_said(const char *more, enum conf_exit exit, const char *says)
{
	struct run r;
	run_pool(&r, more);
	RUN_EXPECT(r.exit == exit, more, &r);
	assert_string_equal(r.err, says);
	run_fini(&r);
}

static void files_that_cannot_be_trusted_are_named(void **state)
{
	(void)state;
	run_write("a.pw", "x\n", 2);
	assert_int_equal(chmod("a.pw", 0640), 0);
	expect_said("  clients: [{user: u, password_files: [a.pw]}]\n", CONF_GO_ON, "");
	assert_int_equal(chmod("a.pw", 0644), 0);
	expect_said("  clients: [{user: u, password_files: [a.pw]}]\n", CONF_GO_ON,
		"ringway: warning: pool 'p': user 'u': password_files: 'a.pw' can be read by every "
		"user of this machine\n");
	assert_int_equal(chmod("a.pw", 0602), 0);
	expect_said("  node_auth: {password_file: a.pw}\n", CONF_GO_ON,
		"ringway: warning: pool 'p': node_auth: password_file: 'a.pw' can be written by "
		"every user of this machine\n");
	expect_said("  node_auth: {password_file: .}\n", CONF_EXIT_BAD,
		"ringway: pool 'p': node_auth: password_file: '.': not a regular file\n");
	expect_said("  node_auth: {password_file: /dev/zero}\n", CONF_EXIT_BAD,
		"ringway: pool 'p': node_auth: password_file: '/dev/zero': not a regular file\n");
	assert_int_equal(mkfifo("pipe", 0600), 0); /* with nobody at the other end */
	expect_said("  clients: [{user: u, password_files: [pipe, none]}]\n", CONF_EXIT_BAD,
		"ringway: pool 'p': user 'u': password_files: 'pipe': not a regular file\n"
		"ringway: pool 'p': user 'u': password_files: 'none': No such file or directory\n");
}

static void no_password_is_printed(void **state)
{
	(void)state;
	struct run r, again;
	run_write("a.pw", "topsecret\n", 10);
	run_pool(&r, "  clients: [{user: u, password_files: [a.pw], deny: [nope]}]\n"
		     "  node_auth: {password_file: a.pw}\n");
	RUN_EXPECT(r.exit == CONF_EXIT_BAD, "refused", &r);
	assert_null(strstr(r.err, "topsecret"));
	run_fini(&r);

	run_pool(&r, "  clients: [{user: u, password_files: [a.pw]}]\n"
		     "  node_auth: {password_file: a.pw}\n");
	RUN_EXPECT(r.exit == CONF_GO_ON, "good", &r);
	char *text = run_print(&r.conf);
	assert_null(strstr(text, "topsecret"));
	assert_non_null(strstr(text, "        password_files:\n          - a.pw\n"));
	assert_non_null(strstr(text, "    node_auth:\n      password_file: a.pw\n"));
	free(text);

	run_write("a.pw", "othersecret\n", 12);
	run_pool(&again, "  clients: [{user: u, password_files: [a.pw]}]\n"
			 "  node_auth: {password_file: a.pw}\n");
	char *said;
	size_t len;
	FILE *f = open_memstream(&said, &len);
	assert_int_equal(conf_print_changes(&r.conf, &again.conf, f), 2);
	assert_int_equal(conf_reload_check(&r.conf, &again.conf, f), 0);
	(void)fclose(f);
	assert_string_equal(said, "pool 'p': user 'u': passwords\npool 'p': node_auth\n");
	free(said);
	run_fini(&r);
	run_fini(&again);
}

/* ------------------------------------------------------------------------------------------------
 * Commands
 */
static void expect_denied(const char *list, bool (*denied)(const struct cmd *c))
{
	struct run r;
	char more[256];
	(void)snprintf(more, sizeof(more), "  clients: [{user: u, deny: [%s]}]\n", list);
	run_pool(&r, more);
	RUN_EXPECT(r.exit == CONF_GO_ON, list, &r);
	for (unsigned id = 0; id < CMD_COUNT; id++) {
		const struct cmd *c = cmd_at(id);
		if (denies(user_of(&r, "u"), id) != denied(c))
			fail_msg("deny [%s]: %s is %sdenied", list, c->name,
				denied(c) ? "not " : "");
	}
	run_fini(&r);
}

static bool is_keys_or_flushall(const struct cmd *c)
{
	return strcmp(c->name, "keys") == 0 || strcmp(c->name, "flushall") == 0;
}

static bool is_config_set(const struct cmd *c)
{
	return strcmp(c->name, "config|set") == 0;
}

static bool is_config(const struct cmd *c)
{
	return strcmp(c->name, "config") == 0 || strncmp(c->name, "config|", 7) == 0;
}

static bool is_dangerous(const struct cmd *c)
{
	return (c->categories & CMD_CATEGORY_DANGEROUS) != 0;
}

static bool is_connection(const struct cmd *c)
{
	return (c->categories & CMD_CATEGORY_CONNECTION) != 0 && (c->flags & CMD_NO_AUTH) == 0;
}

static bool is_nothing(const struct cmd *c)
{
	(void)c;
	return false;
}

static void lists_deny_what_they_say_and_nothing_else(void **state)
{
	(void)state;
	expect_denied("", is_nothing);
	expect_denied("KEYS, flushall", is_keys_or_flushall);
	expect_denied("KEYS, keys, FlushAll", is_keys_or_flushall);
	expect_denied("config|set", is_config_set);
	expect_denied("CONFIG|SET", is_config_set);
	expect_denied("CONFIG", is_config);
	expect_denied("config, config|get", is_config);
	expect_denied("\"@dangerous\"", is_dangerous);
	expect_denied("\"@DANGEROUS\", keys", is_dangerous);
	expect_denied("\"@connection\"", is_connection); /* but for how to log in */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_clients_there_is_one_user_who_needs_no_password),
		cmocka_unit_test(clients_are_the_only_users),
		cmocka_unit_test(the_nodes_password_is_read_too),
		cmocka_unit_test(what_is_wrong_with_users_is_refused),
		cmocka_unit_test(the_first_line_is_the_password),
		cmocka_unit_test(long_passwords_are_taken_up_to_a_limit),
		cmocka_unit_test(files_that_cannot_be_trusted_are_named),
		cmocka_unit_test(no_password_is_printed),
		cmocka_unit_test(lists_deny_what_they_say_and_nothing_else),
	};
	return cmocka_run_group_tests(tests, run_enter_folder, run_leave_folder);
}
