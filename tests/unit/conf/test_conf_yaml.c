/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include "router/conf/conf_file.h"
#include "router/conf/conf_internal.h"
#include "tests/unit/conf/run.h"

/*
 * The shape of files: syntax, keys, kinds of values.  What is said is compared whole, so a place
 * that is one column off is seen.
 */

struct applied {
	struct conf conf;
	struct conf_report report;
	char *err; /* owned */
	bool good;
};

static void apply(struct applied *a, const void *text, size_t len)
{
	size_t err_len;
	void *exact = malloc(len); /* a read beyond the end is seen */
	assert_true(exact != NULL || len == 0);
	if (len > 0)
		memcpy(exact, text, len);
	memset(a, 0, sizeof(*a));
	a->report.err = open_memstream(&a->err, &err_len);
	assert_non_null(a->report.err);
	conf_init(&a->conf);
	a->good = conf_file_apply(&a->conf, span_of(exact, len), RUN_FILE, &a->report);
	free(exact);
	(void)fclose(a->report.err);
	assert_int_equal(a->good, a->report.problems == 0);
	assert_int_equal(a->good, a->err[0] == '\0');
	assert_null(a->report.source);
	assert_null(a->report.slot);
}

static void applied_fini(struct applied *a)
{
	conf_fini(&a->conf);
	free(a->err);
}

struct row {
	const char *claim;
	const char *text;
	const char *says; /* all that is said; "": the file is good */
};

static void expect_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct applied a;
		apply(&a, rows[i].text, strlen(rows[i].text));
		if (strcmp(a.err, rows[i].says) != 0)
			fail_msg("%s\ntext:\n%s\nwanted:\n%s\ngot:\n%s", rows[i].claim,
				rows[i].text, rows[i].says, a.err);
		applied_fini(&a);
	}
}

/* A pool that is right but for what is in it: its lines begin in column 3 of line 4. */
#define POOL "pools:\n- name: p\n  role: cache\n"

static const struct row shapes[] = {
	{"nothing", "", ""},
	{"only comments", "# a\n\n   # b", ""},
	{"only an end of line", "\n", ""},
	{"a document without anything", "---\n", ""},
	{"a document that is null", "--- ~\n...\n", ""},
	{"no key at all", "{}\n", ""},
	{"a directive", "%YAML 1.1\n---\nthreads: 2\n...\n", ""},
	{"a BOM", "\xef\xbb\xbfthreads: 2\n", ""},
	{"CRLF", "threads: 2\r\npools:\r\n- name: p\r\n  role: cache\r\n", ""},
	{"JSON", "{\"threads\": \"2\", \"limits\": {\"clients\": 3}, \"pools\": []}", ""},
	{"quotes", "threads: \"2\"\nlog_level: 'info'\n", ""},
	{"several lines", "router_name:\n  r1\nready_file: >-\n  a\n  b\n", ""},
	{"no end of line", "threads: 2", ""},
	{"empty lists", "pools: [{name: p, listen: [], nodes: []}]\n", ""},

	{"a text", "hello\n", "f.yml:1:1: the file: a mapping is wanted here, not a text\n"},
	{"a list", "- threads\n", "f.yml:1:1: the file: a mapping is wanted here, not a list\n"},
	{"a second document", "threads: 2\n---\nthreads: 3\n",
		"f.yml:2:1: a second document: a file is one configuration\n"},
	{"a second document after an end", "threads: 2\n...\n---\n",
		"f.yml:3:1: a second document: a file is one configuration\n"},
	{"a text instead of a mapping", "limits: 3\n",
		"f.yml:1:9: limits: a mapping is wanted here, not a text\n"},
	{"a list instead of a mapping", "limits: [3]\n",
		"f.yml:1:9: limits: a mapping is wanted here, not a list\n"},
	{"a mapping instead of a list", "pools: {main: {role: cache}}\n",
		"f.yml:1:8: pools: a list is wanted here, not a mapping\n"},
	{"a text instead of a list", POOL "  listen: h:1\n",
		"f.yml:4:11: listen: a list is wanted here, not a text (even one entry is written "
		"in brackets: [entry])\n"},
	{"a list instead of a text", "threads: [1]\n",
		"f.yml:1:10: threads: a text is wanted here, not a list (a text that begins with [ "
		"or { is written in quotes)\n"},
	{"a block list instead of a text", "threads:\n- 1\n",
		"f.yml:2:1: threads: a text is wanted here, not a list\n"},
	{"a tag without quotes", POOL "  ring: {hash_tag: {}}\n",
		"f.yml:4:20: ring.hash_tag: a text is wanted here, not a mapping (a text that "
		"begins with [ or { is written in quotes)\n"},
	{"a text among pools", "pools: [main]\n",
		"f.yml:1:9: pools: a mapping is wanted here, not a text\n"},
	{"a text among nodes", POOL "  nodes:\n  - 10.0.0.1:6379\n",
		"f.yml:5:5: nodes: a mapping is wanted here, not a text\n"},
	{"a mapping among nodes' names", POOL "  nodes:\n  - a:\n      address: h:1\n",
		"f.yml:5:5: unknown key 'nodes.a' (keys here: name, address, weight)\n"
		"f.yml:5:5: nodes: 'address' is missing\n"},
	{"no value", "threads:\nlog_level: info\n",
		"f.yml:1:9: threads: there is no value (leave out what is not set)\n"},
	{"null as a word", "threads: null\nadmin: ~\nlimits: NULL\npools: Null\n",
		"f.yml:1:10: threads: there is no value (leave out what is not set)\n"
		"f.yml:2:8: admin: there is no value (leave out what is not set)\n"
		"f.yml:3:9: limits: there is no value (leave out what is not set)\n"
		"f.yml:4:8: pools: there is no value (leave out what is not set)\n"},
	{"null in quotes is a text", "router_name: \"null\"\n", ""},
	{"an empty entry", POOL "  listen:\n  -\n  - h:1\n",
		"f.yml:5:4: listen: there is no value (leave out what is not set)\n"},
	{"no clients", POOL "  clients: []\n",
		"f.yml:4:12: clients: the list is empty (leave it out for its default)\n"},
	{"no password files", POOL "  clients: [{user: u, password_files: []}]\n",
		"f.yml:4:39: clients.password_files: the list is empty (leave it out for its "
		"default)\n"},
	{"three password files", POOL "  clients: [{user: u, password_files: [a, b, c, d]}]\n",
		"f.yml:4:46: clients.password_files: more than 2\n"},
	{"keys that are missing",
		"pools:\n- role: cache\n  nodes:\n  - weight: 1\n"
		"  clients:\n  - deny: []\n",
		"f.yml:4:5: nodes: 'address' is missing\n"
		"f.yml:6:5: clients: 'user' is missing\n"
		"f.yml:2:3: pools: 'name' is missing\n"},
	{"a mapping as key", "? {a: b}\n: c\n", "f.yml:1:3: the file: a key must be a text\n"},
	{"a NUL byte in a value", "router_name: \"a\\0b\"\n",
		"f.yml:1:14: router_name: a NUL byte in a text\n"},
	{"a NUL byte in a key", "\"threads\\0b\": 2\n",
		"f.yml:1:1: unknown key 'threads': did you mean threads?\n"},
};

static void every_shape_is_taken_or_refused_with_its_place(void **state)
{
	(void)state;
	expect_rows(shapes, ARRAY_LEN(shapes));
}

static const struct row keys[] = {
	{"a slip", "thread: 2\n", "f.yml:1:1: unknown key 'thread': did you mean threads?\n"},
	{"a slip in a mapping", "limits:\n  client: 2\n",
		"f.yml:2:3: unknown key 'limits.client': did you mean clients?\n"},
	{"a slip in a pool", POOL "  timeout: {}\n",
		"f.yml:4:3: unknown key 'timeout': did you mean timeouts?\n"},
	{"a slip in a mapping of a pool", POOL "  ring: {pionts: 3}\n",
		"f.yml:4:10: unknown key 'ring.pionts': did you mean points?\n"},
	{"a slip in a node", POOL "  nodes: [{adress: h:1, address: h:1}]\n",
		"f.yml:4:12: unknown key 'nodes.adress': did you mean address?\n"},
	{"another case", "Threads: 2\n",
		"f.yml:1:1: unknown key 'Threads': did you mean threads?\n"},
	{"a pool's option at the top", "role: cache\n",
		"f.yml:1:1: unknown key 'role': did you mean role of the pool?\n"},
	{"a pool's list at the top", "nodes: [a]\n",
		"f.yml:1:1: unknown key 'nodes': did you mean nodes of the pool?\n"},
	{"a pool's mapping at the top", "timeouts: {request: 1s}\n",
		"f.yml:1:1: unknown key 'timeouts': did you mean timeouts.connect of the pool?\n"},
	{"a key without its mapping", POOL "  request: 1s\n",
		"f.yml:4:3: unknown key 'request': did you mean timeouts.request of the pool?\n"},
	{"the router's option in a pool", POOL "  threads: 1\n",
		"f.yml:4:3: unknown key 'threads': did you mean threads of the top level?\n"},
	{"a node's key in a pool", POOL "  weight: 1\n",
		"f.yml:4:3: unknown key 'weight': did you mean weight of the node?\n"},
	{"a client's key in a pool", POOL "  password_files: [a]\n",
		"f.yml:4:3: unknown key 'password_files': did you mean password_files of the "
		"client?\n"},
	{"a key as --set has it", POOL "  timeouts.request: 1s\n",
		"f.yml:4:3: unknown key 'timeouts.request': it is written timeouts: {request: "
		"...}\n"},
	{"a key like no other", POOL "  nodes: [{xyzzy: {a: [b, {c: d}]}, address: h:1}]\n",
		"f.yml:4:12: unknown key 'nodes.xyzzy' (keys here: name, address, weight)\n"},
	{"an empty key", POOL "  nodes: [{\"\": 1, address: h:1}]\n",
		"f.yml:4:12: unknown key 'nodes.' (keys here: name, address, weight)\n"},
	{"a key of odd bytes", "\"thr\\neads\\x1b\": 1\n",
		"f.yml:1:1: unknown key 'thr\\x0aeads\\x1b': did you mean threads?\n"},
	{"a key twice", "threads: 1\nlimits: {}\nthreads: 2\n",
		"f.yml:3:1: threads is given twice, first in line 1\n"},
	{"a mapping twice", POOL "  ring: {points: 1}\n  ring: {points: 2}\n",
		"f.yml:5:3: ring is given twice, first in line 4\n"},
	{"a key twice in a mapping", POOL "  ring: {points: 1, points: 1}\n",
		"f.yml:4:21: ring.points is given twice, first in line 4\n"},
	{"a key in two pools", POOL "- name: q\n  role: cache\n", ""},
	{"an anchor", "threads: &a 2\n", "f.yml:1:10: anchors (&name) are not taken\n"},
	{"an anchor at a mapping", "limits: &a {}\n", "f.yml:1:9: anchors (&name) are not taken\n"},
	{"an anchor at a list", "pools: &a []\n", "f.yml:1:8: anchors (&name) are not taken\n"},
	{"an anchor at a key", "&a threads: 2\n", "f.yml:1:1: anchors (&name) are not taken\n"},
	{"an alias", "threads: *a\n",
		"f.yml:1:10: aliases (*name) are not taken: write the value out\n"},
	{"an alias as entry", POOL "  listen: [*a, h:1]\n",
		"f.yml:4:12: aliases (*name) are not taken: write the value out\n"},
	{"an alias as key", "*a : 2\n",
		"f.yml:1:1: aliases (*name) are not taken: write the value out\n"
		"f.yml:1:1: the file: a key must be a text\n"},
	{"an alias as file", "*a\n",
		"f.yml:1:1: aliases (*name) are not taken: write the value out\n"},
	{"a tag", "threads: !!int 2\n", "f.yml:1:10: tags (!name) are not taken\n"},
	{"a tag of somebody", "threads: !x 2\n", "f.yml:1:10: tags (!name) are not taken\n"},
	{"the empty tag", "threads: ! 2\n", "f.yml:1:10: tags (!name) are not taken\n"},
	{"a tag at a mapping", "limits: !!map {}\n", "f.yml:1:9: tags (!name) are not taken\n"},
	{"a tag at a list", "pools: !!seq []\n", "f.yml:1:8: tags (!name) are not taken\n"},
	{"a merge key", POOL "  ring:\n    <<: {points: 1}\n",
		"f.yml:5:5: merge keys (<<) are not taken: write the keys out\n"},
	{"anchors and aliases in what is unknown",
		POOL "  nodes: [{xyzzy: &a [*a], address: h:1}]\n",
		"f.yml:4:12: unknown key 'nodes.xyzzy' (keys here: name, address, weight)\n"
		"f.yml:4:19: anchors (&name) are not taken\n"
		"f.yml:4:23: aliases (*name) are not taken: write the value out\n"},
};

static void every_key_is_known_or_refused_with_its_place(void **state)
{
	(void)state;
	expect_rows(keys, ARRAY_LEN(keys));
}

#define LATER(line, column, key, what) \
	"f.yml:" line ":" column ": " key ": " what " is not built in yet\n"

static const struct row later[] = {
	{"of the router", "zookeeper: {hosts: \"a:1,b:1\"}\nsnapshot_dir: /x\n",
		LATER("1", "1", "zookeeper", "membership through ZooKeeper")
			LATER("2", "1", "snapshot_dir", "keeping the last membership on disk")},
	{"of a pool",
		POOL
		"  memcached_listen: []\n  accept_moved_keys: 0%\n  while_pending: error\n"
		"  rejoin: replay\n  pubsub: all\n  health: {a: b}\n  reads: {from: primary}\n",
		LATER("4", "3", "memcached_listen", "listening for memcached clients") LATER("5",
			"3", "accept_moved_keys",
			"moving keys of a store by a reload") LATER("6", "3", "while_pending",
			"choosing what a request meets while its node is in doubt")
			LATER("7", "3", "rejoin", "cleaning a node that returns")
				LATER("8", "3", "pubsub", "choosing where subscriptions are held")
					LATER("9", "3", "health", "tuning the checks of nodes")
						LATER("10", "3", "reads",
							"choosing among a "
							"node's servers")},
	{"of a ring", POOL "  ring: {eject: skip, hash: md5}\n",
		LATER("4", "10", "ring.eject", "choosing how the ring skips a node")
			LATER("4", "23", "ring.hash", "choosing the hash of a key")},
	{"of a node", POOL "  nodes: [{address: h:1, replicas: [h:2], scan_id: 3}]\n",
		LATER("4", "26", "nodes.replicas", "serving from a node's replicas")
			LATER("4", "43", "nodes.scan_id", "choosing the scan id of a node")},
	{"of a node, in a mapping whose name is as long", POOL "  retry: {replicas: 1}\n",
		"f.yml:4:11: unknown key 'retry.replicas' (keys here: reads, budget)\n"},
	{"of a pool, in a node", POOL "  nodes: [{rejoin: replay, address: h:1}]\n",
		"f.yml:4:12: unknown key 'nodes.rejoin' (keys here: name, address, weight)\n"},
};

static void keys_of_what_is_not_there_yet_are_refused_by_name(void **state)
{
	(void)state;
	expect_rows(later, ARRAY_LEN(later));
}

static const struct row syntax[] = {
	{"a tab", "limits:\n\tclients: 3\n",
		"f.yml:2:1: found character that cannot start any token: indent with spaces, not "
		"with tabs\n"},
	{"a tab behind spaces", "limits:\n  \tclients: 3\n",
		"f.yml:2:3: found character that cannot start any token: indent with spaces, not "
		"with tabs\n"},
	{"an @", POOL "  clients: [{user: u, deny: [@all]}]\n",
		"f.yml:4:30: found character that cannot start any token: a text that begins with "
		"@ is written in quotes\n"},
	{"an @ behind a letter of two bytes", "router_name: [\xc3\xa9, @x]\n",
		"f.yml:1:14: router_name: a text is wanted here, not a list (a text that begins "
		"with [ or { is written in quotes)\n"
		"f.yml:1:18: found character that cannot start any token: a text that begins with "
		"@ is written in quotes\n"},
	{"a `", "router_name: `x\n",
		"f.yml:1:14: found character that cannot start any token: a text that begins with "
		"` is written in quotes\n"},
	{"a %", "router_name: %x\n",
		"f.yml:1:14: found character that cannot start any token: a text that begins with "
		"% is written in quotes\n"},
	{"a * alone", "router_name: * x\n",
		"f.yml:1:15: did not find expected alphabetic or numeric character\n"},
	{"an open bracket", POOL "  listen: [h:1\n",
		"f.yml:5:1: did not find expected ',' or ']' (while parsing a flow sequence that "
		"begins in line 4)\n"},
	{"an open quote", "router_name: \"x\nthreads: 2\n",
		"f.yml:3:1: found unexpected end of stream (while scanning a quoted scalar that "
		"begins in line 1)\n"},
	{"an IPv6 address", POOL "  listen: [[::1]:1]\n",
		"f.yml:4:12: listen: a text is wanted here, not a mapping (a text that begins with "
		"[ or { is written in quotes)\n"
		"f.yml:4:13: did not find expected node content\n"},
	{"two values", "threads: 1: 2\n",
		"f.yml:1:11: mapping values are not allowed in this context\n"},
	{"less indented", "limits:\n    clients: 3\n  bulk: 4mb\n",
		"f.yml:3:3: did not find expected key (while parsing a block mapping that begins "
		"in "
		"line 1)\n"},
	{"another version", "%YAML 2.0\n---\n{}\n",
		"f.yml:1:1: found incompatible YAML document\n"},
	{"a control character", "threads: 2\nrouter_name: \x01\n",
		"f.yml:2:14: not a text: control characters are not allowed\n"},
	{"an escape sequence", "threads: \x1b[2J\n",
		"f.yml:1:10: not a text: control characters are not allowed\n"},
	{"half a character", "threads: 2\n\xc3",
		"f.yml:2:1: not a text: incomplete UTF-8 octet sequence\n"},
	{"no UTF-8", "a: \xff\n", "f.yml:1:4: not a text: invalid leading UTF-8 octet\n"},
};

static void what_is_no_yaml_is_refused_with_its_place(void **state)
{
	(void)state;
	expect_rows(syntax, ARRAY_LEN(syntax));
}

/* ------------------------------------------------------------------------------------------------
 * Hostile files: each is refused, soon, and says little.
 */
static void expect_refused(const void *text, size_t len, const char *says)
{
	struct applied a;
	apply(&a, text, len);
	assert_false(a.good);
	if (strstr(a.err, says) == NULL || strlen(a.err) > 64 * 1024)
		fail_msg("no \"%s\" in: %.2000s", says, a.err);
	applied_fini(&a);
}

static void repeat(const char *head, const char *piece, size_t times, const char *says)
{
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	assert_non_null(f);
	(void)fputs(head, f);
	for (size_t i = 0; i < times; i++)
		(void)fputs(piece, f);
	(void)fclose(f);
	expect_refused(text, len, says);
	free(text);
}

static void hostile_files_are_refused(void **state)
{
	(void)state;
	repeat("", "[", 1000000, "the file: a mapping is wanted here");
	repeat("xyzzy: ", "[", 1000000, "nested too deeply");
	repeat("xyzzy: ", "{a: ", 1000000, "nested too deeply");
	repeat("xyzzy:\n", "- ", 1000000, "nested too deeply");
	repeat("pools: ", "[", 1000000, "nested too deeply");
	repeat("", "? ", 1000000, "a key must be a text");
	repeat("", "x", 8000000, "not a text");
	repeat("", "threads: 1\n", 500000, "more problems are not shown");
	repeat("", "---\n", 1000000, "a second document");
	repeat("", "- a\n", 1000000, "a mapping is wanted here, not a list");
	repeat("threads: [", "[],", 1000000, "a text is wanted here, not a list");
	repeat("threads: ", "&a ", 1000000, "did not find expected");
	repeat("pools:\n", "- {name: p, role: cache}\n", 257, "pools: more than 256");
	repeat(POOL "  nodes:\n", "  - {address: h:x}\n", 65536, "nodes: more than 65535");
	repeat(POOL "  nodes:\n", "  - {address: h:x}\n", 10000, "more problems are not shown");
	repeat("router_name: \"", "\\x41", 1000000, "found unexpected end of stream");
}

/* Nine lists of nine aliases each: a billion entries for a reader that follows them. */
static void a_billion_laughs_are_refused(void **state)
{
	(void)state;
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	assert_non_null(f);
	(void)fputs("a0: &a0 [x]\n", f);
	for (int i = 1; i < 10; i++) {
		(void)fprintf(f, "a%d: &a%d [", i, i);
		for (int k = 0; k < 9; k++)
			(void)fprintf(f, "*a%d,", i - 1);
		(void)fputs("]\n", f);
	}
	(void)fclose(f);
	expect_refused(text, len, "anchors (&name) are not taken");
	free(text);
}

static void bytes_are_refused_or_taken_but_harmless(void **state)
{
	(void)state;
	uint8_t bytes[4096];
	uint64_t s = 1;
	for (int round = 0; round < 300; round++) {
		for (size_t i = 0; i < sizeof(bytes); i++) {
			s = s * UINT64_C(6364136223846793005) + 1442695040888963407u;
			bytes[i] = (uint8_t)(s >> 56);
			if (round % 2) /* printable ones come further */
				bytes[i] = (uint8_t)(bytes[i] % 96 + 32);
		}
		struct applied a;
		apply(&a, bytes, (size_t)(round * 13) % sizeof(bytes));
		for (const char *p = a.err; *p != '\0'; p++)
			assert_true(*p == '\n' || (*p >= 0x20 && *p < 0x7f));
		applied_fini(&a);
	}
}

static void a_good_file_cut_anywhere_is_good_or_refused(void **state)
{
	(void)state;
	static const char text[] =
		"threads: 2\nlimits: {clients: 3, bulk: 1mb}\n" POOL
		"  listen: [h:1, \"[::1]:2\"]\n  clients:\n  - {user: u, deny: [get, \"@all\"]}\n"
		"  nodes:\n  - {name: a, address: h:7001, weight: 0.5}\n  ring:\n    points: 7\n";
	for (size_t len = 0; len < sizeof(text); len++) {
		struct applied a;
		apply(&a, text, len);
		applied_fini(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_shape_is_taken_or_refused_with_its_place),
		cmocka_unit_test(every_key_is_known_or_refused_with_its_place),
		cmocka_unit_test(keys_of_what_is_not_there_yet_are_refused_by_name),
		cmocka_unit_test(what_is_no_yaml_is_refused_with_its_place),
		cmocka_unit_test(hostile_files_are_refused),
		cmocka_unit_test(a_billion_laughs_are_refused),
		cmocka_unit_test(bytes_are_refused_or_taken_but_harmless),
		cmocka_unit_test(a_good_file_cut_anywhere_is_good_or_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
