/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "router/wire/cmd.h"
#include "router/wire/cmd_info.h"

/*
 * Names in, rows out; requests in, key positions out.  That the rows tell the truth is the business
 * of tests/integration/test_command_table.py, which asks a real server.
 */

#define WORDS_MAX 64

/* A request written with single spaces; '' is an empty argument. */
struct request {
	char text[512];
	struct span args[WORDS_MAX];
	size_t n;
};

static void split(struct request *r, const char *text)
{
	char *save = NULL;

	assert_true(strlen(text) < sizeof(r->text));
	strcpy(r->text, text);
	r->n = 0;
	for (char *w = strtok_r(r->text, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save)) {
		assert_true(r->n < WORDS_MAX);
		r->args[r->n++] = strcmp(w, "''") == 0 ? span_of(w, 0) : span_str(w);
	}
}

static const struct cmd *find(const char *text)
{
	struct request r;

	split(&r, text);
	return cmd_find(r.args, r.n);
}

/* ---- names ------------------------------------------------------------------------------- */

enum letter_case { LOWER, UPPER, MIXED };

/* A copy in a block of its own and of just its size, so that a sanitizer sees a read past its end.
 */
static struct span copy(const char *s, size_t len, enum letter_case how)
{
	uint8_t *p = malloc(len);

	assert_non_null(p);
	for (size_t i = 0; i < len; i++) {
		bool letter = s[i] >= 'a' && s[i] <= 'z';
		bool up = how == UPPER || (how == MIXED && i % 2 == 0);
		p[i] = (uint8_t)(letter && up ? s[i] - 32 : s[i]);
	}
	return span_of(p, len);
}

static void drop(struct span s)
{
	free((void *)(uintptr_t)s.ptr);
}

static void check_found(const struct cmd *c, enum letter_case how)
{
	const char *bar = strchr(c->name, '|');
	size_t head = bar != NULL ? (size_t)(bar - c->name) : c->name_len;
	struct span args[2] = {copy(c->name, head, how), {NULL, 0}};
	struct span full = copy(c->name, c->name_len, how);
	size_t n = 1;

	if (bar != NULL)
		args[n++] = copy(bar + 1, c->name_len - head - 1, how);
	assert_ptr_equal(cmd_find(args, n), c);
	assert_ptr_equal(cmd_by_name(full), c);
	drop(args[0]);
	if (bar != NULL)
		drop(args[1]);
	drop(full);
}

static void every_name_is_found_in_any_case(void **state)
{
	(void)state;
	for (unsigned id = 0; id < CMD_COUNT; id++) {
		check_found(cmd_at(id), LOWER);
		check_found(cmd_at(id), UPPER);
		check_found(cmd_at(id), MIXED);
	}
}

static bool in_table(const char *s, size_t len)
{
	for (unsigned id = 0; id < CMD_COUNT; id++)
		if (cmd_at(id)->name_len == len && memcmp(cmd_at(id)->name, s, len) == 0)
			return true;
	return false;
}

static void check_only_if_listed(const char *s, size_t len)
{
	struct span name = copy(s, len, LOWER);

	assert_int_equal(cmd_by_name(name) != NULL, in_table(s, len));
	drop(name);
}

static void parts_and_extensions_of_names_are_not_names(void **state)
{
	(void)state;
	for (unsigned id = 0; id < CMD_COUNT; id++) {
		const struct cmd *c = cmd_at(id);
		char longer[64];
		for (size_t len = 0; len < c->name_len; len++)
			check_only_if_listed(c->name, len);
		for (size_t len = 1; len < c->name_len; len++)
			check_only_if_listed(c->name + c->name_len - len, len);
		memcpy(longer, c->name, c->name_len);
		for (int b = 0; b < 256; b++) {
			longer[c->name_len] = (char)b;
			if (ascii_lower((uint8_t)b) == b)
				check_only_if_listed(longer, (size_t)c->name_len + 1);
		}
	}
}

/* Every other byte in every place: what is near a letter is not that letter. */
static void one_wrong_byte_is_not_forgiven(void **state)
{
	(void)state;
	for (unsigned id = 0; id < CMD_COUNT; id++) {
		const struct cmd *c = cmd_at(id);
		char wrong[64];
		memcpy(wrong, c->name, c->name_len);
		for (size_t i = 0; i < c->name_len; i++) {
			for (int b = 0; b < 256; b++) {
				wrong[i] = (char)b;
				if (ascii_lower((uint8_t)b) == b)
					check_only_if_listed(wrong, c->name_len);
			}
			wrong[i] = c->name[i];
		}
	}
}

static void names_of_any_length_are_safe(void **state)
{
	char long_name[300];

	(void)state;
	memset(long_name, 'a', sizeof(long_name));
	for (size_t len = 0; len <= sizeof(long_name); len++)
		check_only_if_listed(long_name, len);
	struct span none[1] = {{NULL, 0}};
	assert_null(cmd_find(none, 1));
	assert_null(cmd_by_name(none[0]));
	struct span huge[1] = {
		{(const uint8_t *)"get", SIZE_MAX}}; /* only the length is looked at */
	assert_null(cmd_find(huge, 1));
}

static void containers_answer_for_what_they_do_not_know(void **state)
{
	static const struct {
		const char *request;
		int id; /* -1: unknown */
	} cases[] = {
		{"config", CMD_ID_CONFIG},
		{"config set a b", CMD_ID_CONFIG_SET},
		{"CONFIG SET a b", CMD_ID_CONFIG_SET},
		{"config nosuch", CMD_ID_CONFIG},
		{"config ''", CMD_ID_CONFIG},
		{"config config", CMD_ID_CONFIG},
		{"config load", CMD_ID_CONFIG},
		{"config set|x", CMD_ID_CONFIG},
		{"config aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", CMD_ID_CONFIG},
		{"config|set a b", -1},
		{"get set", CMD_ID_GET},
		{"set get", CMD_ID_SET},
		{"command", CMD_ID_COMMAND},
		{"command info get", CMD_ID_COMMAND_INFO},
		{"client no-evict on", CMD_ID_CLIENT_NO_EVICT},
		{"cluster count-failure-reports x", CMD_ID_CLUSTER_COUNT_FAILURE_REPORTS},
		{"script load x", CMD_ID_SCRIPT_LOAD},
		{"function load x", CMD_ID_FUNCTION_LOAD},
		{"module load x", CMD_ID_MODULE_LOAD},
		{"acl load", CMD_ID_ACL_LOAD},
		{"debug object k", CMD_ID_DEBUG_OBJECT},
		{"debug sleep 1", CMD_ID_DEBUG_SLEEP},
		{"debug segfault", CMD_ID_DEBUG},
		{"ringway explain k", CMD_ID_RINGWAY_EXPLAIN},
		{"ringway nosuch", CMD_ID_RINGWAY},
		{"help", -1},
		{"nosuch x", -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct cmd *c = find(cases[i].request);
		assert_int_equal(c == NULL ? -1 : c->id, cases[i].id);
	}
	assert_null(cmd_by_name(SPAN("get|set")));
	assert_null(cmd_by_name(SPAN("config|")));
	assert_null(cmd_by_name(SPAN("|set")));
	assert_null(cmd_by_name(SPAN("config|set|x")));
}

/* ---- rows -------------------------------------------------------------------------------- */

static void rows_are_in_order_and_consistent(void **state)
{
	(void)state;
	for (unsigned id = 0; id < CMD_COUNT; id++) {
		const struct cmd *c = cmd_at(id);
		const struct cmd *parent = cmd_at(c->parent);
		assert_int_equal(c->id, id);
		assert_int_equal(c->name_len, strlen(c->name));
		assert_true(id == 0 || strcmp(cmd_at(id - 1)->name, c->name) < 0);
		if (strchr(c->name, '|') == NULL) {
			assert_ptr_equal(parent, c);
			continue;
		}
		assert_true(parent->has_subs && !c->has_subs && parent->id < id);
		assert_int_equal(strchr(c->name, '|') - c->name, parent->name_len);
		assert_memory_equal(c->name, parent->name, parent->name_len);
		assert_true(c->own || !parent->own);
	}
}

static void only_refused_commands_have_a_reason(void **state)
{
	(void)state;
	for (unsigned id = 0; id < CMD_COUNT; id++)
		assert_int_equal(cmd_at(id)->reason != NULL, cmd_at(id)->policy == POLICY_REFUSED);
}

static void containers_have_subcommands(void **state)
{
	(void)state;
	for (unsigned id = 0; id < CMD_COUNT; id++) {
		bool followed = id + 1 < CMD_COUNT && cmd_at(id + 1)->parent == id;
		assert_int_equal(cmd_at(id)->has_subs, followed);
	}
}

/* cmd_one_key() promises that args[first_key] is there. */
static void the_arity_guarantees_the_one_key(void **state)
{
	(void)state;
	for (unsigned id = 0; id < CMD_COUNT; id++) {
		const struct cmd *c = cmd_at(id);
		if (cmd_one_key(c))
			assert_true(c->first_key > 0 && c->first_key == c->last_key &&
				    abs(c->arity) > c->first_key);
	}
}

static bool needs_keys(enum cmd_policy p)
{
	return p == POLICY_ONE || p == POLICY_SPLIT_VALUES || p == POLICY_SPLIT_PAIRS ||
	       p == POLICY_SPLIT_SUM;
}

static bool has_no_keys(enum cmd_policy p)
{
	return p == POLICY_LOCAL || p == POLICY_ANY || p == POLICY_ALL || p == POLICY_PUBSUB ||
	       p == POLICY_SCAN;
}

static void policies_agree_with_keys(void **state)
{
	(void)state;
	for (unsigned id = 0; id < CMD_COUNT; id++) {
		const struct cmd *c = cmd_at(id);
		if (needs_keys(c->policy))
			assert_true(c->keys != KEYS_NONE);
		if (has_no_keys(c->policy))
			assert_true(c->keys == KEYS_NONE);
		if ((c->flags & CMD_BLOCKING) != 0 && c->keys != KEYS_STREAMS)
			assert_int_equal(c->policy, POLICY_PRIVATE);
	}
}

static void policies_are_those_of_the_contract(void **state)
{
	static const struct {
		const char *request;
		enum cmd_policy policy;
	} cases[] = {
		{"get", POLICY_ONE},
		{"mget", POLICY_SPLIT_VALUES},
		{"mset", POLICY_SPLIT_PAIRS},
		{"msetnx", POLICY_ONE},
		{"del", POLICY_SPLIT_SUM},
		{"unlink", POLICY_SPLIT_SUM},
		{"exists", POLICY_SPLIT_SUM},
		{"touch", POLICY_SPLIT_SUM},
		{"blpop", POLICY_PRIVATE},
		{"wait", POLICY_PRIVATE},
		{"xread", POLICY_ONE},
		{"eval", POLICY_SCRIPT},
		{"script load", POLICY_ALL},
		{"function load", POLICY_ALL},
		{"function list", POLICY_ANY},
		{"multi", POLICY_TX},
		{"watch", POLICY_TX},
		{"publish", POLICY_PUBSUB},
		{"spublish", POLICY_PUBSUB},
		{"pubsub numsub", POLICY_PUBSUB},
		{"scan", POLICY_SCAN},
		{"sscan", POLICY_ONE},
		{"keys", POLICY_ALL},
		{"flushall", POLICY_ALL},
		{"config set", POLICY_ALL},
		{"config get", POLICY_LOCAL},
		{"object encoding", POLICY_ONE},
		{"memory usage", POLICY_ONE},
		{"memory stats", POLICY_ALL},
		{"debug object", POLICY_ONE},
		{"debug sleep", POLICY_ALL},
		{"debug segfault", POLICY_REFUSED},
		{"ping", POLICY_LOCAL},
		{"client list", POLICY_LOCAL},
		{"acl whoami", POLICY_LOCAL},
		{"acl setuser", POLICY_REFUSED},
		{"cluster info", POLICY_LOCAL},
		{"cluster meet", POLICY_REFUSED},
		{"replicaof", POLICY_REFUSED},
		{"monitor", POLICY_REFUSED},
		{"swapdb", POLICY_REFUSED},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(find(cases[i].request)->policy, cases[i].policy);
}

static void arity_is_exact_or_at_least(void **state)
{
	(void)state;
	assert_false(cmd_arity_ok(find("get"), 1));
	assert_true(cmd_arity_ok(find("get"), 2));
	assert_false(cmd_arity_ok(find("get"), 3));
	assert_false(cmd_arity_ok(find("set"), 2));
	assert_true(cmd_arity_ok(find("set"), 3));
	assert_true(cmd_arity_ok(find("set"), 1000000));
	assert_true(cmd_arity_ok(find("ping"), 1));
	assert_false(cmd_arity_ok(find("config get"), 2));
}

/* ---- keys -------------------------------------------------------------------------------- */

#define BAD "bad"

/* What cmd_get_keys() finds, as text. */
static void tell_keys(const char *request, struct cmd_keys *k, char *ret, size_t size)
{
	struct request r;
	size_t used = 0;

	split(&r, request);
	const struct cmd *c = cmd_find(r.args, r.n);
	assert_non_null(c);
	assert_true(cmd_arity_ok(c, r.n));
	if (cmd_get_keys(c, r.args, r.n, k) == CMD_KEYS_BAD) {
		assert_int_equal(k->n, 0);
		(void)snprintf(ret, size, BAD);
		return;
	}
	ret[0] = '\0';
	for (uint32_t i = 0; i < k->n; i++)
		used += (size_t)snprintf(
			ret + used, size - used, "%s%u", i == 0 ? "" : " ", k->at[i]);
}

static const struct {
	const char *request;
	const char *keys;
} key_cases[] = {
	{"ping", ""},
	{"get k", "1"},
	{"set k v ex 10", "1"},
	{"mget a b a", "1 2 3"},
	{"mset a 1 b 2", "1 3"},
	{"mset a 1 b", "1 3"}, /* the node says what is wrong */
	{"del k", "1"},
	{"rename a b", "1 2"},
	{"copy a b db 3 replace", "1 2"},
	{"lcs a b len", "1 2"},
	{"bitop and d a b", "2 3 4"},
	{"sdiffstore d a b", "1 2 3"},
	{"smove a b m", "1 2"},
	{"pfmerge d", "1"},
	{"pfmerge d a b", "1 2 3"},
	{"pfdebug encoding k", "2"},
	{"blpop a b 0", "1 2"},
	{"bzpopmin a 0", "1"},
	{"brpoplpush a b 0", "1 2"},
	{"watch a b", "1 2"},
	/* subcommands */
	{"object encoding k", "2"},
	{"object help", ""},
	{"memory usage k samples 5", "2"},
	{"xgroup create k g $", "2"},
	{"xinfo stream k full", "2"},
	{"debug object k", "2"},
	{"debug object k fast", "2"},
	{"debug object", BAD},
	{"debug sleep 1", ""},
	{"debug segfault k", ""},
	/* channels are no keys */
	{"spublish c m", ""},
	{"ssubscribe c d", ""},
	{"sunsubscribe", ""},
	{"publish c m", ""},
	/* counted */
	{"eval s 2 a b x", "3 4"},
	{"eval s 2 a a", "3 4"},
	{"eval s 0", ""},
	{"eval s 0 x", ""},
	{"eval s 1", BAD},
	{"eval s 3 a b", BAD},
	{"eval s -1 a", BAD},
	{"eval s x a", BAD},
	{"eval s 01 a", BAD},
	{"eval s +1 a", BAD},
	{"eval s 1x a", BAD},
	{"eval s '' a", BAD},
	{"eval s 4294967297 a", BAD},
	{"eval s 18446744073709551617 a", BAD},
	{"evalsha_ro s 1 a", "3"},
	{"fcall f 1 a b", "3"},
	{"zunion 2 a b weights 1 2", "2 3"},
	{"zunion 0 a", BAD},
	{"zunionstore d 2 a b", "1 3 4"},
	{"zunionstore d 0 a", BAD},
	{"zunionstore d 3 a b", BAD},
	{"zdiffstore d 1 a", "1 3"},
	{"sintercard 2 a b limit 1", "2 3"},
	{"lmpop 1 a left", "2"},
	{"blmpop 0 2 a b left count 1", "3 4"},
	{"bzmpop 0 1 a min", "3"},
	{"zmpop 2 a b max", "2 3"},
	/* options */
	{"sort k", "1"},
	{"sort k by w_* get x get # limit 0 5 store d", "1 12"},
	{"sort k store d desc", "1 3"},
	{"sort k store d store e", "1 5"},
	{"sort k store", "1"},
	{"sort k by store", "1"},
	{"sort k by store get store", "1"},
	{"sort k store store asc", "1 3"},
	{"sort k limit store store STORE d", "1 6"},
	{"sort k STORE limit", "1 3"},
	{"sort_ro k by w_* get store", "1"},
	{"georadius k 1 2 3 km", "1"},
	{"georadius k 1 2 3 km store d", "1 7"},
	{"georadius k 1 2 3 km count 1 any StoreDist d", "1 10"},
	{"georadius k 1 2 3 km storedist d store e", "1 9 7"},
	{"georadius k 1 2 3 km store", "1"},
	{"georadius k store store 3 km", "1"},
	{"georadiusbymember k store 3 km", "1"},
	{"georadiusbymember k store 3 km store d", "1 6"},
	{"georadiusbymember_ro k m 3 km store d", "1"},
	{"geosearchstore d k fromlonlat 1 2 byradius 3 km", "1 2"},
	{"xread streams a 0", "2"},
	{"xread count 1 block 0 streams a b 0 0", "6 7"},
	{"xread streams a b 0", "2"}, /* unbalanced: the node says so */
	{"xread count 1 streams", BAD},
	{"xread count 1 stream a 0", BAD},
	{"xread streams streams 0", "2"},
	{"xread count streams streams a 0", "4"},
	{"xreadgroup group g c streams a >", "5"},
	{"xreadgroup group streams c count 1 noack streams a b > >", "8 9"},
	{"xreadgroup count 1 group streams c streams a >", "7"},
	{"migrate h 1 k 0 5", "3"},
	{"migrate h 1 '' 0 5", "3"},
	{"migrate h 1 '' 0 5 copy replace keys a b", "9 10"},
	{"migrate h 1 '' 0 5 auth keys keys a", "9"},
	{"migrate h 1 '' 0 5 auth2 keys keys keys a", "10"},
	{"migrate h 1 '' 0 5 keys", "3"},
	{"migrate h 1 k 0 5 keys a", BAD},
};

static void keys_stand_where_redis_finds_them(void **state)
{
	struct cmd_keys k;
	char found[256];

	(void)state;
	cmd_keys_init(&k);
	for (size_t i = 0; i < ARRAY_LEN(key_cases); i++) {
		tell_keys(key_cases[i].request, &k, found, sizeof(found));
		if (strcmp(found, key_cases[i].keys) != 0)
			fail_msg("%s: '%s', not '%s'", key_cases[i].request, found,
				key_cases[i].keys);
	}
	cmd_keys_fini(&k);
}

/* Redis compares words as C strings; so must we, or the node would see an option that we did not.
 */
static void words_end_at_a_zero_byte(void **state)
{
	static const struct {
		struct span word;
		uint32_t keys;
	} cases[] = {
		{SPAN("store"), 2},
		{SPAN("STORE\0junk"), 2},
		{SPAN("store\0"), 2},
		{SPAN("\0store"), 1},
		{SPAN("stor\0e"), 1},
		{SPAN("stores"), 1},
		{SPAN("stor"), 1},
	};
	struct cmd_keys k;

	(void)state;
	cmd_keys_init(&k);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct span args[] = {SPAN("sort"), SPAN("k"), cases[i].word, SPAN("d")};
		assert_int_equal(cmd_get_keys(cmd_at(CMD_ID_SORT), args, 4, &k), CMD_KEYS_OK);
		assert_int_equal(k.n, cases[i].keys);
	}
	cmd_keys_fini(&k);
}

#define MANY 1000000u

static uint32_t keys_of_many(struct span *args, struct cmd_keys *k)
{
	const struct cmd *c = cmd_find(args, MANY);

	assert_int_equal(cmd_get_keys(c, args, MANY, k), CMD_KEYS_OK);
	return k->n;
}

static void a_million_arguments_are_no_problem(void **state)
{
	struct span *args = malloc(MANY * sizeof(*args));
	struct cmd_keys k;

	(void)state;
	assert_non_null(args);
	cmd_keys_init(&k);
	for (size_t i = 0; i < MANY; i++)
		args[i] = SPAN("store");
	args[0] = SPAN("mget");
	assert_int_equal(keys_of_many(args, &k), MANY - 1);
	assert_int_equal(k.at[MANY - 2], MANY - 1);
	args[0] = SPAN("mset");
	assert_int_equal(keys_of_many(args, &k), MANY / 2);
	args[0] = SPAN("georadius");
	assert_in_range(keys_of_many(args, &k), MANY / 3, MANY);
	args[0] = SPAN("sort");
	assert_int_equal(keys_of_many(args, &k), 2);
	args[0] = SPAN("xread");
	args[1] = SPAN("streams");
	assert_int_equal(keys_of_many(args, &k), MANY / 2 - 1);
	args[0] = SPAN("zunion");
	args[1] = SPAN("999998");
	assert_int_equal(keys_of_many(args, &k), MANY - 2);
	args[0] = SPAN("get"); /* the same vector serves small ones again */
	assert_int_equal(cmd_get_keys(cmd_at(CMD_ID_GET), args, 2, &k), CMD_KEYS_OK);
	assert_int_equal(k.n, 1);
	cmd_keys_fini(&k);
	assert_null(k.at);
	free(args);
}

/* ---- COMMAND ----------------------------------------------------------------------------- */

#define GET_RESP2 \
	"*10\r\n$3\r\nget\r\n:2\r\n*2\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n" \
	"*3\r\n+@read\r\n+@string\r\n+@fast\r\n*0\r\n" \
	"*1\r\n*6\r\n$5\r\nflags\r\n*2\r\n+RO\r\n+access\r\n" \
	"$12\r\nbegin_search\r\n*4\r\n$4\r\ntype\r\n$5\r\nindex\r\n" \
	"$4\r\nspec\r\n*2\r\n$5\r\nindex\r\n:1\r\n" \
	"$9\r\nfind_keys\r\n*4\r\n$4\r\ntype\r\n$5\r\nrange\r\n" \
	"$4\r\nspec\r\n*6\r\n$7\r\nlastkey\r\n:0\r\n$7\r\nkeystep\r\n:1\r\n$5\r\nlimit\r\n:0\r\n" \
	"*0\r\n"

#define MULTI_RESP3 \
	"*10\r\n$5\r\nmulti\r\n:1\r\n" \
	"~5\r\n+noscript\r\n+loading\r\n+stale\r\n+fast\r\n+allow_busy\r\n:0\r\n:0\r\n:0\r\n" \
	"~2\r\n+@fast\r\n+@transaction\r\n~0\r\n~0\r\n~0\r\n"

static void check_entry(const char *name, int resp, const char *want)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	cmd_info_write(out, cmd_by_name(span_str(name)), resp);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, want);
	free(text);
}

static void entries_are_written_as_redis_writes_them(void **state)
{
	(void)state;
	check_entry("get", 2, GET_RESP2);
	check_entry("multi", 3, MULTI_RESP3);
	assert_int_equal(cmd_info_count(), 240);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_name_is_found_in_any_case),
		cmocka_unit_test(parts_and_extensions_of_names_are_not_names),
		cmocka_unit_test(one_wrong_byte_is_not_forgiven),
		cmocka_unit_test(names_of_any_length_are_safe),
		cmocka_unit_test(containers_answer_for_what_they_do_not_know),
		cmocka_unit_test(rows_are_in_order_and_consistent),
		cmocka_unit_test(only_refused_commands_have_a_reason),
		cmocka_unit_test(containers_have_subcommands),
		cmocka_unit_test(the_arity_guarantees_the_one_key),
		cmocka_unit_test(policies_agree_with_keys),
		cmocka_unit_test(policies_are_those_of_the_contract),
		cmocka_unit_test(arity_is_exact_or_at_least),
		cmocka_unit_test(keys_stand_where_redis_finds_them),
		cmocka_unit_test(words_end_at_a_zero_byte),
		cmocka_unit_test(a_million_arguments_are_no_problem),
		cmocka_unit_test(entries_are_written_as_redis_writes_them),
	};

	return cmocka_run_group_tests_name("cmd", tests, NULL, NULL);
}
