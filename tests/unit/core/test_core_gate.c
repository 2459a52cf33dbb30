/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "router/core/auth.h"
#include "tests/unit/core/bed.h"

#define NOAUTH "-NOAUTH Authentication required.\r\n"
#define WRONGPASS "-WRONGPASS invalid username-password pair or user is disabled.\r\n"

static int setup(void **state)
{
	struct core *t = core_new();
	core_start(t);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	core_free(*state);
	return 0;
}

static void nothing(struct worker *w, void *arg)
{
	(void)w;
	(void)arg;
}

/* The users in effect from now on. */
static void users(struct core *t, const struct user_spec *specs, size_t n)
{
	struct user_set *s = NULL;
	assert_int_equal(user_set_new(&s, specs, n), 0);
	worker_publish_users(t->workers[0], 0, s);
	core_look(t, nothing, NULL); /* behind that letter */
}

static struct user_spec user(const char *name, const char *password)
{
	return (struct user_spec){.name = name, .passwords = {span_str(password)}, .npasswords = 1};
}

static void asks(struct peer *p, const char *words, const char *answer)
{
	peer_asks(p, words);
	peer_expects(p, answer);
}

/* ---- logging in ---------------------------------------------------------------------------- */

static void who_has_not_logged_in_gets_nothing(void **state)
{
	struct core *t = *state;
	const struct user_spec specs[] = {user("default", "secret")};
	users(t, specs, 1);
	struct peer c = core_client(t, 0, 0);
	asks(&c, "PING", NOAUTH);
	asks(&c, "GET k", NOAUTH);
	asks(&c, "MGET a b c", NOAUTH);
	asks(&c, "DBSIZE", NOAUTH);
	asks(&c, "MONITOR", NOAUTH);
	asks(&c, "FLUSHALL", NOAUTH);
	asks(&c, "SCAN 0", NOAUTH);
	asks(&c, "CLIENT LIST", NOAUTH);
	asks(&c, "GET", "-ERR wrong number of arguments for 'get' command\r\n");
	asks(&c, "CONFIG NONE", "-ERR unknown subcommand 'NONE'. Try CONFIG HELP.\r\n");
	asks(&c, "FT.SEARCH a", /* and no node is asked about it */
		"-ERR unknown command 'FT.SEARCH', with args beginning with: 'a' \r\n");
	asks(&c, "AUTH wrong", WRONGPASS);
	asks(&c, "AUTH default wrong", WRONGPASS);
	asks(&c, "AUTH nobody secret", WRONGPASS);
	asks(&c, "PING", NOAUTH);
	asks(&c, "AUTH secret", "+OK\r\n");
	asks(&c, "PING", "+PONG\r\n");
	asks(&c, "AUTH wrong", WRONGPASS);
	asks(&c, "PING", "+PONG\r\n");
	asks(&c, "RESET", "+RESET\r\n");
	asks(&c, "PING", NOAUTH);
	asks(&c, "QUIT", "+OK\r\n");
	assert_int_equal(peer_sees_end(&c), 0);
	for (uint32_t i = 0; i < CORE_NODES; i++)
		node_sees_nobody(&t->nodes[i], i == 0 ? 50 : 0);
}

static void hello_logs_in_and_needs_it(void **state)
{
	struct core *t = *state;
	const struct user_spec specs[] = {user("app", "secret")};
	users(t, specs, 1);
	struct peer c = core_client(t, 0, 0);
	asks(&c, "HELLO 3",
		"-NOAUTH HELLO must be called with the client already authenticated, otherwise the "
		"HELLO AUTH <user> <pass> option can be used to authenticate the client and select "
		"the RESP protocol version at the same time\r\n");
	asks(&c, "HELLO 3 AUTH app wrong", WRONGPASS);
	asks(&c, "HELLO 3 AUTH default secret", WRONGPASS);
	asks(&c, "HELLO 4", "-NOPROTO unsupported protocol version\r\n");
	asks(&c, "HELLO 3 SETNAME x AUTH app", "-ERR Syntax error in HELLO option 'AUTH'\r\n");
	peer_asks(&c, "HELLO 3 AUTH app secret");
	peer_expects(&c, "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n");
	peer_asks(&c, "RESET");
	peer_close(&c);
	c = core_client(t, 0, 0);
	peer_asks(&c, "HELLO 2 AUTH app secret");
	peer_asks(&c, "ACL WHOAMI");
	peer_expects(&c, "*14\r\n$6\r\nserver\r\n");
	peer_close(&c);
}

static void strangers_may_send_little(void **state)
{
	static const struct {
		const char *says;
		const char *hears;
	} rows[] = {
		{"*11\r\n", "-ERR Protocol error: unauthenticated multibulk length\r\n"},
		{"*2\r\n$16385\r\n", "-ERR Protocol error: unauthenticated bulk length\r\n"},
		{"*2\r\n$4\r\nAUTH\r\n$1\r\nx\r\n*11\r\n",
			WRONGPASS "-ERR Protocol error: unauthenticated multibulk length\r\n"},
		{"*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n*1\r\n$5\r\nRESET\r\n*11\r\n",
			"+OK\r\n+RESET\r\n-ERR Protocol error: unauthenticated multibulk "
			"length\r\n"},
	};
	struct core *t = *state;
	const struct user_spec specs[] = {user("default", "secret")};
	users(t, specs, 1);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct peer c = core_client(t, 0, 0);
		peer_says(&c, rows[i].says);
		peer_expects(&c, rows[i].hears);
		assert_int_equal(peer_sees_end(&c), 0);
		peer_close(&c);
	}
	struct peer c = core_client(t, 0, 0);
	asks(&c, "AUTH secret", "+OK\r\n");
	asks(&c, "ECHO 1 2 3 4 5 6 7 8 9 10 11",
		"-ERR wrong number of arguments for 'echo' command\r\n");
	peer_close(&c);
}

static void what_is_denied_is_refused(void **state)
{
	struct core *t = *state;
	struct user_spec specs[] = {user("app", "secret"), {.name = "default"}};
	assert_true(cmd_set_add(&specs[0].deny, SPAN("mget")));
	assert_true(cmd_set_add(&specs[0].deny, SPAN("client|list")));
	assert_true(cmd_set_add(&specs[0].deny, SPAN("auth"))); /* which nobody can be denied */
	assert_true(cmd_set_add(&specs[1].deny, SPAN("keys")));
	users(t, specs, 2);
	struct peer c = core_client(t, 0, 0);
	asks(&c, "KEYS *", "-NOPERM this user has no permissions to run the 'keys' command\r\n");
	asks(&c, "KEYS", "-ERR wrong number of arguments for 'keys' command\r\n");
	asks(&c, "AUTH app secret", "+OK\r\n");
	asks(&c, "ACL WHOAMI", "$3\r\napp\r\n");
	asks(&c, "MGET a b", "-NOPERM this user has no permissions to run the 'mget' command\r\n");
	asks(&c, "client LIST",
		"-NOPERM this user has no permissions to run the 'client|list' command\r\n");
	asks(&c, "CLIENT GETNAME", "$-1\r\n");
	asks(&c, "AUTH app secret", "+OK\r\n");
	asks(&c, "AUTH default x", "+OK\r\n");
	asks(&c, "CLIENT GETREDIR", ":-1\r\n");
	asks(&c, "KEYS *", "-NOPERM this user has no permissions to run the 'keys' command\r\n");
	peer_close(&c);
}

static void new_users_close_only_clients_of_those_who_are_gone(void **state)
{
	struct core *t = *state;
	struct user_spec before[] = {user("a", "1"), user("b", "2"), user("default", "3")};
	struct user_spec after[] = {user("a", "other"), user("default", "3")};
	users(t, before, 3);
	struct peer a = core_client(t, 0, 0), b = core_client(t, 0, 0), d = core_client(t, 0, 0),
		    stranger = core_client(t, 0, 0);
	asks(&a, "AUTH a 1", "+OK\r\n");
	asks(&b, "AUTH b 2", "+OK\r\n");
	asks(&d, "AUTH 3", "+OK\r\n");
	assert_true(cmd_set_add(&after[0].deny, SPAN("time")));
	users(t, after, 2);
	assert_int_equal(peer_sees_end(&b), 0);
	asks(&a, "PING", "+PONG\r\n");
	asks(&a, "TIME", "-NOPERM this user has no permissions to run the 'time' command\r\n");
	asks(&a, "AUTH a 1", WRONGPASS);
	asks(&a, "AUTH a other", "+OK\r\n");
	asks(&d, "PING", "+PONG\r\n");
	asks(&stranger, "PING", NOAUTH);
	users(t, NULL, 0);
	assert_int_equal(peer_sees_end(&a), 0);
	asks(&d, "PING", "+PONG\r\n");
	asks(&stranger, "PING", "+PONG\r\n");
	peer_close(&a);
	peer_close(&b);
	peer_close(&d);
	peer_close(&stranger);
}

/* ---- pauses -------------------------------------------------------------------------------- */

static void a_pause_holds_requests_and_lets_them_go_in_order(void **state)
{
	struct core *t = *state;
	struct peer boss = core_client(t, 0, 0), c = core_client(t, 0, 0);
	asks(&boss, "CLIENT PAUSE 300 ALL", "+OK\r\n");
	uint64_t start = clock_ns();
	peer_asks(&c, "ECHO one");
	peer_asks(&c, "GET");
	peer_asks(&c, "PING");
	peer_asks(&boss, "CLIENT UNPAUSE"); /* held too, as in Redis */
	peer_hears_nothing(&c, 100);
	peer_expects(&c, "$3\r\none\r\n-ERR wrong number of arguments for 'get' command\r\n"
			 "+PONG\r\n");
	peer_expects(&boss, "+OK\r\n");
	assert_true(clock_ns() - start >= 290 * NS_PER_MS);
	peer_close(&c);
	peer_close(&boss);
}

static void a_pause_of_writes_lets_reads_pass(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	struct peer boss = core_client(t, 0, 0), c = core_client(t, 0, 0), d = core_client(t, 0, 0);
	asks(&boss, "CLIENT PAUSE 1000000 WRITE", "+OK\r\n");
	peer_asks(&c, core_get(t, 0, w));
	struct peer n = node_accept(&t->nodes[0]);
	peer_is_asked(&n, w);
	peer_says(&n, "$1\r\nv\r\n");
	peer_expects(&c, "$1\r\nv\r\n");
	peer_asks(&c, core_set(t, 0, w));
	peer_asks(&d, "SET k"); /* makes no sense, and that is told at once */
	peer_expects(&d, "-ERR wrong number of arguments for 'set' command\r\n");
	peer_hears_nothing(&n, 50);
	struct peer late = core_client(t, 0, 0); /* comes during the pause */
	char w2[CORE_WORDS_MAX];
	peer_asks(&late, core_set(t, 0, w2));
	peer_hears_nothing(&n, 50);
	asks(&boss, "CLIENT UNPAUSE", "+OK\r\n");
	peer_is_asked(&n, w);
	peer_says(&n, "+OK\r\n");
	peer_expects(&c, "+OK\r\n");
	peer_is_asked(&n, w2);
	peer_says(&n, "+OK\r\n");
	peer_expects(&late, "+OK\r\n");
	peer_close(&late);
	peer_close(&c);
	peer_close(&d);
	peer_close(&boss);
	peer_close(&n);
}

static void a_large_request_is_held_whole(void **state)
{
	static char big[300000];
	struct core *t = *state;
	char key[CORE_KEY_MAX], head[96];
	memset(big, 'x', sizeof(big) - 1);
	struct peer boss = core_client(t, 0, 0), c = core_client(t, 0, 0);
	asks(&boss, "CLIENT PAUSE 1000000 WRITE", "+OK\r\n");
	(void)snprintf(head, sizeof(head), "*3\r\n$3\r\nSET\r\n$%zu\r\n%s\r\n$%zu\r\n",
		strlen(core_key(t, 0, key)), key, strlen(big));
	peer_says(&c, head);
	peer_says(&c, big);
	peer_says(&c, "\r\n");
	peer_asks(&c, "PING");
	peer_hears_nothing(&c, 50);
	asks(&boss, "CLIENT UNPAUSE", "+OK\r\n");
	struct peer n = node_accept(&t->nodes[0]);
	peer_expects(&n, head);
	peer_expects(&n, big);
	peer_expects(&n, "\r\n");
	peer_says(&n, "+OK\r\n");
	peer_expects(&c, "+OK\r\n+PONG\r\n");
	peer_close(&c);
	peer_close(&boss);
	peer_close(&n);
}

static void a_client_may_go_while_it_is_held(void **state)
{
	struct core *t = *state;
	struct peer boss = core_client(t, 0, 0), c = core_client(t, 0, 0), d = core_client(t, 0, 0);
	asks(&boss, "CLIENT PAUSE 1000000 WRITE", "+OK\r\n");
	peer_asks(&c, "SET k v");
	peer_asks(&d, "SET k v");
	peer_hears_nothing(&c, 20);
	peer_close(&c);
	peer_asks(&boss, "CLIENT KILL ID 3");
	peer_expects(&boss, ":1\r\n");
	assert_int_equal(peer_sees_end(&d), 0);
	asks(&boss, "CLIENT UNPAUSE", "+OK\r\n");
	peer_close(&d);
	peer_close(&boss);
}

static void of_two_pauses_the_stricter_and_the_longer_count(void **state)
{
	struct core *t = *state;
	struct peer boss = core_client(t, 0, 0), c = core_client(t, 0, 0);
	uint64_t start = clock_ns();
	peer_asks(&boss, "CLIENT PAUSE 400 WRITE");
	peer_asks(&boss, "CLIENT PAUSE 1 ALL");
	peer_expects(&boss, "+OK\r\n+OK\r\n");
	asks(&c, "PING", "+PONG\r\n");
	assert_true(clock_ns() - start >= 390 * NS_PER_MS);
	peer_close(&c);
	peer_close(&boss);
}

/* ---- replies that nobody wants ------------------------------------------------------------- */

static void unwanted_replies_are_dropped(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX], key[2][CORE_KEY_MAX], both[CORE_WORDS_MAX];
	struct peer c = core_client(t, 0, 0);
	(void)snprintf(
		both, sizeof(both), "MGET %s %s", core_key(t, 0, key[0]), core_key(t, 1, key[1]));
	peer_asks(&c, "CLIENT REPLY OFF");
	peer_asks(&c, core_get(t, 0, w));
	peer_asks(&c, both);
	peer_asks(&c, "PING");
	peer_asks(&c, "CLIENT REPLY ON");
	struct peer n[2] = {node_accept(&t->nodes[0]), node_accept(&t->nodes[1])};
	peer_is_asked(&n[0], w);
	peer_says(&n[0], "$5\r\n");
	peer_says(&n[0], "hello\r\n*1\r\n$1\r\na\r\n");
	peer_says(&n[1], "*1\r\n$1\r\nb\r\n");
	peer_expects(&c, "+OK\r\n");
	peer_hears_nothing(&c, 20);
	core_settles(t);
	for (int i = 0; i < 2; i++)
		peer_close(&n[i]);
	peer_close(&c);
}

static void skip_is_about_one_reply(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	struct peer c = core_client(t, 0, 0);
	peer_asks(&c, "CLIENT REPLY SKIP");
	peer_asks(&c, core_get(t, 0, w));
	peer_asks(&c, "PING");
	struct peer n = node_accept(&t->nodes[0]);
	peer_is_asked(&n, w);
	peer_hears_nothing(&c, 20); /* in its turn all the same */
	peer_says(&n, "-ERR of the node\r\n");
	peer_expects(&c, "+PONG\r\n");
	peer_asks(&c, "CLIENT REPLY SKIP");
	peer_says(&c, "\r\n"); /* nothing is a request for that matter */
	asks(&c, "PING", "+PONG\r\n");
	peer_asks(&c, "CLIENT REPLY SKIP");
	asks(&c, "RESET", "");
	asks(&c, "PING", "+PONG\r\n");
	peer_asks(&c, "CLIENT REPLY OFF");
	asks(&c, "RESET", "+RESET\r\n");
	peer_close(&c);
	peer_close(&n);
}

static void a_silent_client_is_still_told_to_go(void **state)
{
	struct core *t = *state;
	struct peer c = core_client(t, 0, 0);
	peer_asks(&c, "CLIENT REPLY OFF");
	peer_asks(&c, "QUIT");
	assert_int_equal(peer_sees_end(&c), 0);
	peer_close(&c);
	c = core_client(t, 0, 0);
	peer_asks(&c, "CLIENT REPLY OFF");
	peer_says(&c, "*x\r\n");
	assert_int_equal(peer_sees_end(&c), 0);
	peer_close(&c);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(who_has_not_logged_in_gets_nothing),
		T(hello_logs_in_and_needs_it),
		T(strangers_may_send_little),
		T(what_is_denied_is_refused),
		T(new_users_close_only_clients_of_those_who_are_gone),
		T(a_pause_holds_requests_and_lets_them_go_in_order),
		T(a_pause_of_writes_lets_reads_pass),
		T(a_large_request_is_held_whole),
		T(a_client_may_go_while_it_is_held),
		T(of_two_pauses_the_stricter_and_the_longer_count),
		T(unwanted_replies_are_dropped),
		T(skip_is_about_one_reply),
		T(a_silent_client_is_still_told_to_go),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
