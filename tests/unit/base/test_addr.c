/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/err.h"

#define A10 "aaaaaaaaaa"
#define A50 A10 A10 A10 A10 A10
#define A63 A50 A10 "aaa"

static const struct {
	const char *text;
	enum addr_family family;
	enum addr_scheme scheme;
	const char *host;
	uint16_t port;
	const char *name; /* addr.text */
} good[] = {
	{"127.0.0.1:6379", ADDR_INET, ADDR_NO_SCHEME, "127.0.0.1", 6379, "127.0.0.1:6379"},
	{"cache-1.example.com:1", ADDR_INET, ADDR_NO_SCHEME, "cache-1.example.com", 1,
		"cache-1.example.com:1"},
	{"Cache_1:65535", ADDR_INET, ADDR_NO_SCHEME, "Cache_1", 65535, "Cache_1:65535"},
	{"h:0", ADDR_INET, ADDR_NO_SCHEME, "h", 0, "h:0"},
	{"h.:7", ADDR_INET, ADDR_NO_SCHEME, "h.", 7, "h.:7"},
	{"9cache:7", ADDR_INET, ADDR_NO_SCHEME, "9cache", 7, "9cache:7"},
	{"10.cache:7", ADDR_INET, ADDR_NO_SCHEME, "10.cache", 7, "10.cache:7"},
	{"redis:6379", ADDR_INET, ADDR_NO_SCHEME, "redis", 6379, "redis:6379"},
	{"0.0.0.0:6380", ADDR_INET, ADDR_NO_SCHEME, "0.0.0.0", 6380, "0.0.0.0:6380"},
	{"[::1]:6379", ADDR_INET, ADDR_NO_SCHEME, "::1", 6379, "[::1]:6379"},
	{"[::]:0", ADDR_INET, ADDR_NO_SCHEME, "::", 0, "[::]:0"},
	{"[2001:DB8::1]:6379", ADDR_INET, ADDR_NO_SCHEME, "2001:DB8::1", 6379,
		"[2001:DB8::1]:6379"},
	{"[::ffff:1.2.3.4]:80", ADDR_INET, ADDR_NO_SCHEME, "::ffff:1.2.3.4", 80,
		"[::ffff:1.2.3.4]:80"},
	{"[fe80::1%eth0.7]:80", ADDR_INET, ADDR_NO_SCHEME, "fe80::1%eth0.7", 80,
		"[fe80::1%eth0.7]:80"},
	{"redis://127.0.0.1:6379", ADDR_INET, ADDR_REDIS, "127.0.0.1", 6379, "127.0.0.1:6379"},
	{"REDIS://h:1", ADDR_INET, ADDR_REDIS, "h", 1, "h:1"},
	{"redis://[::1]:6379", ADDR_INET, ADDR_REDIS, "::1", 6379, "[::1]:6379"},
	{"memcached://mc-1:11211", ADDR_INET, ADDR_MEMCACHED, "mc-1", 11211, "mc-1:11211"},
	{"unix:/run/redis.sock", ADDR_UNIX, ADDR_NO_SCHEME, "/run/redis.sock", 0,
		"unix:/run/redis.sock"},
	{"unix:/a@b/[c]:9", ADDR_UNIX, ADDR_NO_SCHEME, "/a@b/[c]:9", 0, "unix:/a@b/[c]:9"},
	{"unix:///run/x", ADDR_UNIX, ADDR_NO_SCHEME, "///run/x", 0, "unix:///run/x"},
	{A63 ".b:1", ADDR_INET, ADDR_NO_SCHEME, A63 ".b", 1, A63 ".b:1"},
	{A50 "." A50 "." A50 "." A50 "." A10 A10 A10 A10 "aaaaaaaaa:1", ADDR_INET, ADDR_NO_SCHEME,
		A50 "." A50 "." A50 "." A50 "." A10 A10 A10 A10 "aaaaaaaaa", 1,
		A50 "." A50 "." A50 "." A50 "." A10 A10 A10 A10 "aaaaaaaaa:1"},
	{"unix:/" A50 A50 "aaaaaa", ADDR_UNIX, ADDR_NO_SCHEME, "/" A50 A50 "aaaaaa", 0,
		"unix:/" A50 A50 "aaaaaa"},
};

static const struct {
	const char *text;
	const char *why; /* a part of it */
} bad[] = {
	{"", "empty"},
	{"redis://", "empty"},
	{" ", "space"},
	{"h :1", "space"},
	{"h:1 ", "space"},
	{" h:1", "space"},
	{"h:1\n", "control"},
	{"h\t:1", "control"},
	{"h\x7f:1", "control"},
	{"h\xc3\xb6st:1", "non-ASCII"},
	{"unix:/a b", "space"},
	{"unix:/a\nb", "control"},
	{"h", "no port"},
	{"h:", "no port"},
	{"[::1]", "no port"},
	{"[::1]:", "no port"},
	{"redis://h", "no port"},
	{":", "no host"},
	{":6379", "no host"},
	{"redis://:6379", "no host"},
	{"h:65536", "0..65535"},
	{"h:-1", "0..65535"},
	{"h:+1", "0..65535"},
	{"h:0080", "0..65535"},
	{"h:1a", "0..65535"},
	{"h:99999999999999999999", "0..65535"},
	{"h:http", "0..65535"},
	{"[::1]:65536", "0..65535"},
	{"h:1*2", "0..65535"},
	{"::1", "brackets"},
	{"::1:6379", "brackets"},
	{"2001:db8::1", "brackets"},
	{"::", "brackets"},
	{":::", "brackets"},
	{"a:b:1", "brackets"},
	{"redis://::1:6379", "brackets"},
	{"[::1", "no ]"},
	{"[", "no ]"},
	{"[]:1", "not an IPv6"},
	{"[1.2.3.4]:1", "not an IPv6"},
	{"[host]:1", "not an IPv6"},
	{"[::1%]:1", "not an IPv6"},
	{"[::1%e!]:1", "not an IPv6"},
	{"[:::1]:1", "not an IPv6"},
	{"[::12345]:1", "not an IPv6"},
	{"[::1]6379", "only :port"},
	{"[::1]]:1", "only :port"},
	{"[" A50 A50 "]:1", "not an IPv6"},
	{"rediss://h:1", "TLS is not built in yet"},
	{"REDISS://h:1", "TLS is not built in yet"},
	{"memcacheds://h:1", "TLS is not built in yet"},
	{"http://h:1", "unknown scheme"},
	{"://h:1", "unknown scheme"},
	{"redis2://h:1", "unknown scheme"},
	{"redis://user:pass@h:1", "user, password or path"},
	{"redis://:pass@h:1", "user, password or path"},
	{"user@h:1", "user, password or path"},
	{"redis://h:1/", "user, password or path"},
	{"redis://h:1/0", "user, password or path"},
	{"h:1/2", "user, password or path"},
	{"redis://unix:/x", "user, password or path"},
	{"/run/redis.sock", "user, password or path"},
	{"unix:", "begin with /"},
	{"unix:run/x", "begin with /"},
	{"unix:6379", "begin with /"},
	{"unix:/" A50 A50 "aaaaaaa", "longer than 107"},
	{"h!:1", "odd character"},
	{"*:1", "odd character"},
	{"h?:1", "odd character"},
	{"a,b:1", "odd character"},
	{"h]:1", "odd character"},
	{"a%b:1", "odd character"},
	{"a\"b:1", "odd character"},
	{".:1", "empty part"},
	{"a..b:1", "empty part"},
	{".a:1", "empty part"},
	{"a..:1", "empty part"},
	{"-a:1", "begin with -"},
	{"a.-b:1", "begin with -"},
	{A63 "a:1", "longer than 63"},
	{A50 "." A50 "." A50 "." A50 "." A50 ":1", "too long"},
	{A50 "." A50 "." A50 "." A50 "." A10 A10 A10 A10 A10 A10 A10 A10 ":1", "too long"},
	{"[" A50 A50 A50 A50 A50 A10 "]:1", "too long"},
	{"1.2.3:1", "not an IPv4"},
	{"1.2.3.256:1", "not an IPv4"},
	{"1.2.3.4.5:1", "not an IPv4"},
	{"127.1:1", "not an IPv4"},
	{"01.2.3.4:1", "not an IPv4"},
	{"2130706433:1", "not an IPv4"},
	{"1.2.3.4.:1", "not an IPv4"},
};

static void good_addresses_are_taken_apart(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct addr a;
		const char *why = "untouched";
		int r = addr_parse(&a, good[i].text, &why);
		if (r != 0)
			fail_msg("'%s': %s", good[i].text, why);
		assert_string_equal(why, "untouched");
		assert_int_equal(a.family, good[i].family);
		assert_int_equal(a.scheme, good[i].scheme);
		assert_string_equal(a.host, good[i].host);
		assert_int_equal(a.port, good[i].port);
		assert_string_equal(a.text, good[i].name);
	}
}

static void bad_addresses_are_refused_with_a_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct addr a;
		struct addr before;
		const char *why = NULL;
		memset(&a, 0x55, sizeof(a));
		before = a;
		int r = addr_parse(&a, bad[i].text, &why);
		if (r != RW_ESYNTAX || why == NULL || strstr(why, bad[i].why) == NULL)
			fail_msg("'%s': %d, %s", bad[i].text, r, why != NULL ? why : "no reason");
		assert_memory_equal(&a, &before, sizeof(a));
	}
}

static void a_reason_never_repeats_the_address(void **state)
{
	struct addr a;
	const char *why = NULL;
	(void)state;
	assert_int_equal(addr_parse(&a, "redis://bob:secret@h:1", &why), RW_ESYNTAX);
	assert_null(strstr(why, "secret"));
}

static void printing_gives_the_text_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct addr a;
		char buf[ADDR_TEXT_MAX];
		const char *why;
		assert_int_equal(addr_parse(&a, good[i].text, &why), 0);
		assert_ptr_equal(addr_print(&a, buf, sizeof(buf)), buf);
		assert_string_equal(buf, good[i].name);
	}
}

static void printing_cuts_to_the_buffer(void **state)
{
	struct addr a;
	char buf[8];
	const char *why;
	(void)state;
	assert_int_equal(addr_parse(&a, "[::1]:6379", &why), 0);
	assert_string_equal(addr_print(&a, buf, sizeof(buf)), "[::1]:6");
}

/* Nothing is written behind the fields, whatever the text; a heap copy lets ASan watch the reading.
 */
static void no_length_of_text_is_too_much(void **state)
{
	static const char *const prefixes[] = {"", "redis://", "unix:/", "[", "[::1%", "h:", "a."};
	(void)state;
	for (size_t p = 0; p < ARRAY_LEN(prefixes); p++) {
		for (size_t n = 0; n < 400; n++) {
			size_t head = strlen(prefixes[p]);
			char *text = malloc(head + n + 1);
			struct addr a;
			const char *why;
			assert_non_null(text);
			memcpy(text, prefixes[p], head);
			memset(text + head, '1', n);
			text[head + n] = '\0';
			int r = addr_parse(&a, text, &why);
			assert_true(r == 0 || r == RW_ESYNTAX);
			free(text);
		}
	}
}

static void equality_looks_at_where_not_how(void **state)
{
	static const struct {
		const char *a;
		const char *b;
		bool want;
	} rows[] = {
		{"h:1", "h:1", true},
		{"h:1", "H:1", true},
		{"h:1", "h:2", false},
		{"h:1", "g:1", false},
		{"redis://h:1", "h:1", true},
		{"redis://h:1", "memcached://h:1", true},
		{"[::1]:1", "[0:0:0:0:0:0:0:1]:1", true},
		{"[::A]:1", "[::a]:1", true},
		{"[::1]:1", "[::2]:1", false},
		{"[::1]:1", "[0::1]:2", false},
		{"[fe80::1%eth0]:1", "[fe80::1%eth1]:1", false},
		{"[fe80::1%eth0]:1", "[fe80::1%eth0]:1", true},
		{"unix:/a", "unix:/a", true},
		{"unix:/a", "unix:/A", false},
		{"unix:/a", "h:1", false},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct addr a;
		struct addr b;
		const char *why;
		assert_int_equal(addr_parse(&a, rows[i].a, &why), 0);
		assert_int_equal(addr_parse(&b, rows[i].b, &why), 0);
		if (addr_eq(&a, &b) != rows[i].want || addr_eq(&b, &a) != rows[i].want)
			fail_msg("'%s' and '%s'", rows[i].a, rows[i].b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_addresses_are_taken_apart),
		cmocka_unit_test(bad_addresses_are_refused_with_a_reason),
		cmocka_unit_test(a_reason_never_repeats_the_address),
		cmocka_unit_test(printing_gives_the_text_back),
		cmocka_unit_test(printing_cuts_to_the_buffer),
		cmocka_unit_test(no_length_of_text_is_too_much),
		cmocka_unit_test(equality_looks_at_where_not_how),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
