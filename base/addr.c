/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "base/addr.h"

/*
 * One pass from the left: scheme, then what may never be in an address, then one of three shapes.
 * Everything is strict, because an unnamed node is named by its text: two ways to write one port
 * would be two places on the ring.
 */

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/err.h"
#include "base/str.h"

#define UNIX_PREFIX "unix:"
#define UNIX_PATH_MAX 107 /* sun_path without its NUL */
#define HOST_MAX 253      /* of a name in DNS */
#define LABEL_MAX 63

static const char why_brackets[] = "an IPv6 address needs brackets: [::1]:6379";

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name_byte(char c)
{
	uint8_t low = ascii_lower((uint8_t)c);
	return is_digit(c) || (low >= 'a' && low <= 'z') || c == '-' || c == '_';
}

static bool has_prefix_nocase(const char *text, const char *prefix)
{
	size_t n = strlen(prefix);
	return strlen(text) >= n && span_eq_nocase(span_of(text, n), span_of(prefix, n));
}

/* Steps over the scheme.  NULL, or why not. */
static const char *parse_scheme(struct addr *a, const char **text)
{
	static const struct {
		const char *prefix;
		enum addr_scheme scheme;
	} known[] = {{"redis://", ADDR_REDIS}, {"memcached://", ADDR_MEMCACHED}};

	a->scheme = ADDR_NO_SCHEME;
	if (has_prefix_nocase(*text, "rediss://") || has_prefix_nocase(*text, "memcacheds://"))
		return "TLS is not built in yet";
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (!has_prefix_nocase(*text, known[i].prefix))
			continue;
		a->scheme = known[i].scheme;
		*text += strlen(known[i].prefix);
		return NULL;
	}
	const char *colon = strchr(*text, ':');
	if (colon != NULL && strncmp(colon, "://", 3) == 0 &&
		!has_prefix_nocase(*text, UNIX_PREFIX))
		return "unknown scheme: only redis:// and memcached:// are known";
	return NULL;
}

/* What no address may hold, whatever its shape. */
static const char *refuse_bytes(const char *text)
{
	if (*text == '\0')
		return "empty address";
	for (const char *p = text; *p != '\0'; p++)
		if ((uint8_t)*p <= ' ' || (uint8_t)*p >= 0x7f)
			return "space, control or non-ASCII character in an address";
	if (strlen(text) >= ADDR_TEXT_MAX)
		return "address too long";
	return NULL;
}

static const char *parse_port(struct addr *a, const char *text)
{
	uint64_t port;

	if (*text == '\0')
		return "no port";
	if (!span_to_u64(span_str(text), UINT16_MAX, &port))
		return "port is not 0..65535";
	a->port = (uint16_t)port;
	return NULL;
}

static const char *parse_unix(struct addr *a, const char *path)
{
	if (*path != '/')
		return "the path of a unix socket must begin with /";
	if (strlen(path) > UNIX_PATH_MAX)
		return "the path of a unix socket is longer than 107 bytes";
	a->family = ADDR_UNIX;
	memcpy(a->host, path, strlen(path) + 1);
	return NULL;
}

/* A literal, with the %zone that link-local addresses have. */
static bool is_ipv6(const char *host)
{
	char literal[INET6_ADDRSTRLEN];
	struct in6_addr ignored;
	size_t n = strcspn(host, "%");

	if (n >= sizeof(literal))
		return false;
	memcpy(literal, host, n);
	literal[n] = '\0';
	if (inet_pton(AF_INET6, literal, &ignored) != 1)
		return false;
	if (host[n] == '\0')
		return true;
	const char *zone = host + n + 1;
	size_t zone_len = 0;
	while (is_name_byte(zone[zone_len]) || zone[zone_len] == '.')
		zone_len++;
	return zone_len > 0 && zone[zone_len] == '\0';
}

static const char *parse_bracketed(struct addr *a, const char *text)
{
	const char *close = strchr(text, ']');

	if (close == NULL)
		return "no ] after [";
	size_t n = (size_t)(close - text) - 1;
	if (n >= sizeof(a->host))
		return "address too long";
	memcpy(a->host, text + 1, n);
	a->host[n] = '\0';
	if (!is_ipv6(a->host))
		return "what is in brackets is not an IPv6 address";
	if (close[1] == '\0')
		return "no port";
	if (close[1] != ':')
		return "only :port may follow ]";
	a->family = ADDR_INET;
	return parse_port(a, close + 2);
}

/* A name in DNS's form or four decimals.  NULL, or why not. */
static const char *check_host(const char *host)
{
	const char *label = host;
	bool numeric = true; /* the last label is a number: then it must be an IPv4 address */
	struct in_addr ignored;

	for (const char *p = host;; p++) {
		if (is_name_byte(*p))
			continue;
		if (*p != '.' && *p != '\0')
			return "odd character in a host name";
		size_t len = (size_t)(p - label);
		if (len == 0 && (*p == '.' || label == host))
			return "empty part in a host name";
		if (len > LABEL_MAX)
			return "part of a host name longer than 63 bytes";
		if (len > 0) {
			if (*label == '-')
				return "a host name may not begin with -";
			numeric = strspn(label, "0123456789") >= len;
		}
		if (*p == '\0')
			break;
		label = p + 1;
	}
	if (numeric && inet_pton(AF_INET, host, &ignored) != 1)
		return "not an IPv4 address";
	return NULL;
}

static const char *parse_host_port(struct addr *a, const char *text)
{
	const char *colon = strchr(text, ':');

	if (colon == NULL)
		return "no port";
	if (strchr(colon + 1, ':') != NULL)
		return why_brackets;
	size_t n = (size_t)(colon - text);
	if (n == 0)
		return "no host";
	if (n > HOST_MAX)
		return "host name too long";
	memcpy(a->host, text, n);
	a->host[n] = '\0';
	const char *why = check_host(a->host);
	if (why != NULL)
		return why;
	a->family = ADDR_INET;
	return parse_port(a, colon + 1);
}

static const char *parse(struct addr *a, const char *text)
{
	const char *why = parse_scheme(a, &text);

	if (why == NULL)
		why = refuse_bytes(text);
	if (why != NULL)
		return why;
	memcpy(a->text, text, strlen(text) + 1);
	if (a->scheme == ADDR_NO_SCHEME && has_prefix_nocase(text, UNIX_PREFIX))
		return parse_unix(a, text + strlen(UNIX_PREFIX));
	if (strpbrk(text, "@/") != NULL)
		return "user, password or path in an address are not allowed";
	if (*text == '[')
		return parse_bracketed(a, text);
	return parse_host_port(a, text);
}

int addr_parse(struct addr *ret, const char *text, const char **ret_why)
{
	struct addr a = {0};
	const char *why = parse(&a, text);

	if (why != NULL) {
		*ret_why = why;
		return RW_ESYNTAX;
	}
	*ret = a;
	return 0;
}

const char *addr_print(const struct addr *a, char *buf, size_t size)
{
	switch (a->family) {
	case ADDR_UNIX:
		(void)snprintf(buf, size, "unix:%s", a->host);
		return buf;
	case ADDR_INET: {
		bool v6 = strchr(a->host, ':') != NULL;
		(void)snprintf(buf, size, "%s%s%s:%u", v6 ? "[" : "", a->host, v6 ? "]" : "",
			(unsigned)a->port);
		return buf;
	}
	}
	UNREACHABLE();
}

/* Two ways to write one IPv6 address are one address.  Zones are compared as text. */
static bool same_ipv6(const char *a, const char *b)
{
	struct in6_addr x;
	struct in6_addr y;

	return inet_pton(AF_INET6, a, &x) == 1 && inet_pton(AF_INET6, b, &y) == 1 &&
	       memcmp(&x, &y, sizeof(x)) == 0;
}

bool addr_eq(const struct addr *a, const struct addr *b)
{
	if (a->family != b->family)
		return false;
	if (a->family == ADDR_UNIX)
		return strcmp(a->host, b->host) == 0;
	return a->port == b->port && (span_eq_nocase(span_str(a->host), span_str(b->host)) ||
					     same_ipv6(a->host, b->host));
}
