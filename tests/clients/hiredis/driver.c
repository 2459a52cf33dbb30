/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * hiredis against a router: driver sync|async HOST PORT.  Steps and answers are those of
 * ../node/driver.js: a line "pipeline 1000" is answered "ok" or "fail WHY".
 */

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/clients/hiredis/link.h"

#define MANY 300 /* keys of one split command */
#define ROOM 64  /* bytes for a small key or value */

static struct {
	bool async;
	const char *host;
	int port;
	int timeout_s;
	struct link *link;
	char why[400];
} me;

/* ---- what a step may ask for --------------------------------------------------------------------- */

static bool fail(int line, const char *what)
{
	if (me.why[0] == 0)
		(void)snprintf(me.why, sizeof(me.why), "line %d: %s", line, what);
	return false;
}

/* In a step: false, with the reason, unless true. */
#define MUST(true) \
	do { \
		if (!(true)) \
			return fail(__LINE__, #true); \
	} while (0)

static bool is_bytes(const redisReply *r, int type, const void *bytes, size_t len)
{
	return r != NULL && r->type == type && r->len == len && memcmp(r->str, bytes, len) == 0;
}

static bool is_bulk(const redisReply *r, const char *text)
{
	return is_bytes(r, REDIS_REPLY_STRING, text, strlen(text));
}

static bool is_ok(const redisReply *r)
{
	return is_bytes(r, REDIS_REPLY_STATUS, "OK", 2);
}

static bool is_nil(const redisReply *r)
{
	return r != NULL && r->type == REDIS_REPLY_NIL;
}

static bool is_int(const redisReply *r, long long n)
{
	return r != NULL && r->type == REDIS_REPLY_INTEGER && r->integer == n;
}

static bool is_error(const redisReply *r, const char *part)
{
	return r != NULL && r->type == REDIS_REPLY_ERROR && strstr(r->str, part) != NULL;
}

static bool is_array(const redisReply *r, size_t n)
{
	return r != NULL && r->type == REDIS_REPLY_ARRAY && r->elements == n;
}

static bool send_words(struct link *l, int n, const char **words)
{
	size_t lens[2 * MANY + 1];
	for (int i = 0; i < n; i++)
		lens[i] = strlen(words[i]);
	link_send(l, n, words, lens);
	return true;
}

#define WORDS(...) \
	(int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), (const char *[]) \
	{ \
		__VA_ARGS__ \
	}
#define SEND(...) send_words(me.link, WORDS(__VA_ARGS__))

/* The next reply.  It lives until the next call; so steps have nothing to free. */
static const redisReply *next(void)
{
	static redisReply *last;
	if (last != NULL)
		freeReplyObject(last);
	last = link_reply(me.link);
	return last;
}

#define CALL(...) (SEND(__VA_ARGS__), next())

static bool reopen(void)
{
	if (me.link != NULL)
		link_close(me.link);
	me.link = link_open(me.async, me.host, me.port, me.timeout_s);
	return me.link != NULL;
}

/* ---- the steps ------------------------------------------------------------------------------------ */

static bool step_connect(char **args)
{
	(void)args;
	MUST(reopen());
	MUST(is_bytes(CALL("PING"), REDIS_REPLY_STATUS, "PONG", 4));
	MUST(is_bulk(CALL("ECHO", "gr\303\274\303\237e"), "gr\303\274\303\237e"));
	MUST(is_nil(CALL("GET", "nobody")));
	return true;
}

static bool step_pipeline(char **args)
{
	int half = atoi(args[0]) / 2;
	char key[ROOM], value[ROOM];
	for (int i = 0; i < half; i++) {
		(void)snprintf(key, sizeof(key), "pipe:%d", i);
		(void)snprintf(value, sizeof(value), "value %d", i);
		SEND("SET", key, value);
		SEND("GET", key);
	}
	for (int i = 0; i < half; i++) {
		(void)snprintf(value, sizeof(value), "value %d", i);
		MUST(is_ok(next()));
		MUST(is_bulk(next(), value));
	}
	return true;
}

/* `command` with the keys split:from to split:to, each followed by its value if there is one. */
static const redisReply *many(const char *command, int from, int to, bool values)
{
	static char keys[MANY][ROOM], texts[MANY][ROOM];
	const char *words[2 * MANY + 1] = {command};
	int n = 1;
	for (int i = from; i < to; i++) {
		(void)snprintf(keys[i], ROOM, "split:%d", i);
		(void)snprintf(texts[i], ROOM, "v%d", i);
		words[n++] = keys[i];
		if (values)
			words[n++] = texts[i];
	}
	send_words(me.link, n, words);
	return next();
}

static bool step_split(char **args)
{
	char text[ROOM];
	(void)args;
	MUST(is_ok(many("MSET", 0, MANY, true)));
	MUST(is_int(many("DEL", 0, 1, false), 1));
	const redisReply *r = many("MGET", 0, MANY, false);
	MUST(is_array(r, MANY));
	MUST(is_nil(r->element[0]));
	for (int i = 1; i < MANY; i++) {
		(void)snprintf(text, sizeof(text), "v%d", i);
		MUST(is_bulk(r->element[i], text));
	}
	MUST(is_int(many("EXISTS", 0, MANY, false), MANY - 1));
	MUST(is_int(many("TOUCH", 0, MANY, false), MANY - 1));
	MUST(is_int(many("DEL", 0, 100, false), 99));
	MUST(is_int(many("UNLINK", 0, MANY, false), MANY - 100));
	MUST(is_int(many("EXISTS", 0, MANY, false), 0));
	return true;
}

static bool step_binary(char **args)
{
	char bytes[256 + 4];
	(void)args;
	for (int i = 0; i < 256; i++)
		bytes[i] = (char)i;
	memcpy(bytes + 256, "\r\n\0$", 4);
	link_send(me.link, 3, (const char *[]){"SET", bytes, bytes},
		(size_t[]){3, sizeof(bytes), sizeof(bytes)});
	MUST(is_ok(next()));
	link_send(me.link, 2, (const char *[]){"GET", bytes}, (size_t[]){3, sizeof(bytes)});
	MUST(is_bytes(next(), REDIS_REPLY_STRING, bytes, sizeof(bytes)));
	MUST(is_ok(CALL("SET", "bin:empty", "")));
	MUST(is_bulk(CALL("GET", "bin:empty"), ""));
	link_send(me.link, 3, (const char *[]){"DEL", bytes, "bin:empty"},
		(size_t[]){3, sizeof(bytes), 9});
	MUST(is_int(next(), 2));
	return true;
}

static bool big_comes_back(const char *value, size_t size)
{
	link_send(me.link, 3, (const char *[]){"SET", "big", value}, (size_t[]){3, 3, size});
	MUST(is_ok(next()));
	MUST(is_bytes(CALL("GET", "big"), REDIS_REPLY_STRING, value, size));
	const redisReply *r = CALL("MGET", "big:none", "big");
	MUST(is_array(r, 2) && is_nil(r->element[0]));
	MUST(is_bytes(r->element[1], REDIS_REPLY_STRING, value, size));
	MUST(is_int(CALL("DEL", "big"), 1));
	return true;
}

static bool step_big(char **args)
{
	size_t size = strtoul(args[0], NULL, 10);
	char *value = malloc(size);
	MUST(value != NULL);
	for (size_t i = 0; i < size; i++)
		value[i] = (char)(i * 7 + i / 251);
	bool good = big_comes_back(value, size);
	free(value);
	return good;
}

static bool step_errors(char **args)
{
	const char *one = args[0], *other = args[1];
	MUST(is_ok(CALL("SET", one, "a string")));
	MUST(is_error(CALL("LPUSH", one, "x"), "WRONGTYPE"));
	MUST(is_error(CALL("SUNION", one, other), "CROSSSLOT"));
	MUST(is_error(CALL("NOSUCHCOMMAND", "x"), "unknown command"));
	MUST(is_error(CALL("SHUTDOWN"), "refused"));
	SEND("SET", one, "x");
	SEND("LPUSH", one, "x");
	SEND("SUNION", one, other);
	SEND("GET", one);
	MUST(is_ok(next()));
	MUST(is_error(next(), "WRONGTYPE"));
	MUST(is_error(next(), "CROSSSLOT"));
	MUST(is_bulk(next(), "x"));
	return true;
}

static bool step_types(char **args)
{
	(void)args;
	MUST(CALL("DEL", "types:hash", "types:zset", "types:stream") != NULL);
	MUST(is_int(CALL("HSET", "types:hash", "a", "1"), 1));
	MUST(is_int(CALL("ZADD", "types:zset", "1.5", "x"), 1));
	MUST(is_bulk(CALL("XADD", "types:stream", "1-1", "f", "v"), "1-1"));
	const redisReply *r = CALL("HGETALL", "types:hash");
	MUST(is_array(r, 2) && is_bulk(r->element[0], "a") && is_bulk(r->element[1], "1"));
	MUST(is_bulk(CALL("ZSCORE", "types:zset", "x"), "1.5"));
	r = CALL("XRANGE", "types:stream", "-", "+");
	MUST(is_array(r, 1) && is_array(r->element[0], 2));
	MUST(is_bulk(r->element[0]->element[0], "1-1") && is_array(r->element[0]->element[1], 2));
	return true;
}

static bool step_scan(char **args)
{
	char cursor[ROOM] = "0";
	size_t found = 0;
	(void)args;
	MUST(is_ok(many("MSET", 0, MANY, true)));
	do {
		const redisReply *r = CALL("SCAN", cursor, "MATCH", "split:*", "COUNT", "100");
		MUST(is_array(r, 2) && r->element[1]->type == REDIS_REPLY_ARRAY);
		MUST(r->element[0]->len < sizeof(cursor));
		memcpy(cursor, r->element[0]->str, r->element[0]->len + 1);
		found += r->element[1]->elements;
	} while (strcmp(cursor, "0") != 0);
	MUST(found == MANY);
	MUST(is_int(many("DEL", 0, MANY, false), MANY));
	return true;
}

static bool is_queued(const redisReply *r)
{
	return is_bytes(r, REDIS_REPLY_STATUS, "QUEUED", 6);
}

static bool step_transaction(char **args)
{
	(void)args;
	MUST(CALL("DEL", "{tx}a", "{tx}b") != NULL);
	SEND("WATCH", "{tx}a");
	SEND("MULTI");
	SEND("INCR", "{tx}a");
	SEND("LPUSH", "{tx}a", "x");
	SEND("EXEC");
	MUST(is_ok(next()) && is_ok(next()) && is_queued(next()) && is_queued(next()));
	const redisReply *r = next();
	MUST(is_array(r, 2) && is_int(r->element[0], 1) && is_error(r->element[1], "WRONGTYPE"));
	MUST(is_ok(CALL("WATCH", "{tx}a")));
	MUST(is_ok(CALL("SET", "{tx}a", "7")));
	MUST(is_ok(CALL("MULTI")));
	MUST(is_queued(CALL("INCR", "{tx}a")));
	MUST(is_nil(CALL("EXEC")));
	MUST(is_bulk(CALL("GET", "{tx}a"), "7"));
	return true;
}

static bool step_waits(char **args)
{
	(void)args;
	MUST(CALL("DEL", "waits") != NULL);
	MUST(is_nil(CALL("BLPOP", "waits", "0.1")));
	SEND("RPUSH", "waits", "x");
	SEND("BLPOP", "waits", "0");
	SEND("EXISTS", "waits");
	MUST(is_int(next(), 1));
	const redisReply *r = next();
	MUST(is_array(r, 2) && is_bulk(r->element[0], "waits") && is_bulk(r->element[1], "x"));
	MUST(is_int(next(), 0));
	return true;
}

static bool with_password(const char *right, const char *wrong)
{
	MUST(reopen());
	MUST(is_error(CALL("GET", "x"), "NOAUTH"));
	MUST(is_error(CALL("AUTH", wrong), "WRONGPASS"));
	MUST(is_ok(CALL("AUTH", right)));
	MUST(is_ok(CALL("SET", "with password", "x")));
	return true;
}

static bool step_password(char **args)
{
	int port = me.port;
	me.port = atoi(args[0]);
	bool good = with_password(args[1], args[2]);
	me.port = port;
	return reopen() && good;
}

static bool step_down(char **args)
{
	const char *dead = args[0], *alive = args[1];
	MUST(is_error(CALL("GET", dead), "UNAVAILABLE"));
	MUST(is_ok(CALL("SET", alive, "still")));
	MUST(is_error(CALL("MGET", alive, dead), "UNAVAILABLE"));
	MUST(is_bulk(CALL("GET", alive), "still"));
	return true;
}

static int64_t now_ms(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* hiredis does not reconnect: whoever uses it does.  An error means the connection is good. */
static bool set_at_last(const char *key)
{
	int64_t end = now_ms() + 1000 * me.timeout_s;
	while (now_ms() < end) {
		const redisReply *r = me.link != NULL ? CALL("SET", key, "back") : NULL;
		if (is_ok(r))
			return true;
		if (r == NULL)
			(void)reopen();
		(void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	}
	return false;
}

static bool step_back(char **args)
{
	for (; *args != NULL; args++) {
		MUST(set_at_last(*args));
		MUST(is_bulk(CALL("GET", *args), "back"));
	}
	return true;
}

/* ---- the conversation ------------------------------------------------------------------------------ */

static const struct {
	const char *name;
	bool (*run)(char **args);
} steps[] = {
	{"connect", step_connect},
	{"pipeline", step_pipeline},
	{"split", step_split},
	{"binary", step_binary},
	{"big", step_big},
	{"errors", step_errors},
	{"types", step_types},
	{"scan", step_scan},
	{"transaction", step_transaction},
	{"waits", step_waits},
	{"password", step_password},
	{"down", step_down},
	{"back", step_back},
};

static bool run_step(char *line)
{
	char *words[8] = {NULL};
	size_t n = 0;
	for (char *at = strtok(line, " \n"); at != NULL && n < 7; at = strtok(NULL, " \n"))
		words[n++] = at;
	me.why[0] = 0;
	for (size_t i = 0; n > 0 && i < sizeof(steps) / sizeof(steps[0]); i++)
		if (strcmp(steps[i].name, words[0]) == 0)
			return steps[i].run(words + 1);
	return fail(__LINE__, "no such step");
}

int main(int argc, char **argv)
{
	char line[512];
	if (argc != 4)
		return 2;
	const char *slow = getenv("RINGWAY_SLOW");
	me.async = strcmp(argv[1], "async") == 0;
	me.host = argv[2];
	me.port = atoi(argv[3]);
	me.timeout_s = (int)(10 * (slow != NULL ? strtod(slow, NULL) : 1));
	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (run_step(line))
			printf("ok\n");
		else
			printf("fail %s\n", me.why);
		(void)fflush(stdout);
	}
	if (me.link != NULL)
		link_close(me.link);
	return 0;
}
