/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/wire/proxy_header.h"

/*
 * A loop over bytes: a connection has one header, so clarity wins over speed.  Where a byte goes
 * depends on its place in the header alone, so a header that is cut anywhere is read the same way.
 *
 * Source of the format: https://www.haproxy.org/download/2.8/doc/proxy-protocol.txt, section 2.2.
 */

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"

static const uint8_t signature[12] = {
	0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a};

#define FIXED 16u /* signature, version and command, family, length */

enum { VERSION_AT = 12, FAMILY_AT = 13, LENGTH_AT = 14 };
enum { COMMAND_LOCAL = 0x20, COMMAND_PROXY = 0x21 };
enum { FAMILY_UNSPEC = 0x00, FAMILY_TCP4 = 0x11, FAMILY_TCP6 = 0x21, FAMILY_UNIX_STREAM = 0x31 };

/* Where the client's part of the addresses lies, behind the fixed part. */
static const struct {
	uint32_t address; /* bytes of one address; the client's comes first */
	uint32_t ports;   /* bytes of both ports, which follow both addresses */
} layouts[] = {
	[PROXY_LOCAL] = {0, 0},
	[PROXY_INET] = {4, 4},
	[PROXY_INET6] = {16, 4},
	[PROXY_UNIX] = {PROXY_PATH_MAX, 0},
};

static uint32_t addresses_size(enum proxy_source source)
{
	return 2 * layouts[source].address + layouts[source].ports;
}

/* NULL, or what is wrong with the byte that was just taken. */
static const char *check_byte(struct proxy_header *h, uint32_t at)
{
	uint8_t b = h->fixed[at];

	if (at < sizeof(signature))
		return b == signature[at] ? NULL : "no PROXY protocol version 2 signature";
	if (at == VERSION_AT)
		return b == COMMAND_LOCAL || b == COMMAND_PROXY
			       ? NULL
			       : "unknown PROXY protocol version or command";
	if (at != FAMILY_AT || h->fixed[VERSION_AT] == COMMAND_LOCAL)
		return NULL; /* a load balancer that speaks for itself may say any family */
	switch (b) {
	case FAMILY_UNSPEC:
		return NULL;
	case FAMILY_TCP4:
		h->source = PROXY_INET;
		return NULL;
	case FAMILY_TCP6:
		h->source = PROXY_INET6;
		return NULL;
	case FAMILY_UNIX_STREAM:
		h->source = PROXY_UNIX;
		return NULL;
	default:
		return "address family of the PROXY header is no stream's";
	}
}

/* The fixed part is complete. */
static const char *check_length(struct proxy_header *h)
{
	uint32_t length = (uint32_t)(h->fixed[LENGTH_AT] << 8 | h->fixed[LENGTH_AT + 1]);

	h->size = FIXED + length;
	if (h->size > PROXY_HEADER_MAX)
		return "PROXY header too long";
	if (length < addresses_size(h->source))
		return "PROXY header too short for its addresses";
	return NULL;
}

/* A byte behind the fixed part, at `at` bytes from there. */
static void take_variable(struct proxy_header *h, uint32_t at, uint8_t b)
{
	uint32_t size = layouts[h->source].address;

	if (at < size)
		h->address[at] = b;
	else if (at >= 2 * size && at < addresses_size(h->source))
		h->ports[at - 2 * size] = b;
}

static const char *take_byte(struct proxy_header *h, uint8_t b)
{
	uint32_t at = h->taken++;

	if (at >= FIXED) {
		take_variable(h, at - FIXED, b);
		return NULL;
	}
	h->fixed[at] = b;
	const char *why = check_byte(h, at);
	if (why == NULL && at + 1 == FIXED)
		why = check_length(h);
	return why;
}

static bool complete(const struct proxy_header *h)
{
	return h->taken >= FIXED && h->taken == h->size;
}

enum proxy_status proxy_header_take(
	struct proxy_header *h, const uint8_t *bytes, size_t n, size_t *ret_used)
{
	*ret_used = 0;
	for (size_t i = 0; i < n && h->why == NULL && !complete(h); i++) {
		h->why = take_byte(h, bytes[i]);
		*ret_used = i + 1;
	}
	if (h->why != NULL)
		return PROXY_BAD;
	return complete(h) ? PROXY_DONE : PROXY_MORE;
}

static void print_path(const struct proxy_header *h, char buf[PROXY_TEXT_MAX])
{
	size_t len = strnlen((const char *)h->address, sizeof(h->address));

	char *end = stpcpy(buf, "unix:");
	for (size_t i = 0; i < len; i++) {
		uint8_t b = h->address[i];
		*end++ = (char)(b > ' ' && b < 0x7f ? b : '?');
	}
	*end = '\0';
}

const char *proxy_header_print(const struct proxy_header *h, char buf[PROXY_TEXT_MAX])
{
	char host[INET6_ADDRSTRLEN] = "";

	switch (h->source) {
	case PROXY_LOCAL:
		buf[0] = '\0';
		return buf;
	case PROXY_INET:
		(void)inet_ntop(AF_INET, h->address, host, sizeof(host));
		(void)snprintf(buf, PROXY_TEXT_MAX, "%s:%u", host, proxy_header_port(h));
		return buf;
	case PROXY_INET6:
		(void)inet_ntop(AF_INET6, h->address, host, sizeof(host));
		(void)snprintf(buf, PROXY_TEXT_MAX, "[%s]:%u", host, proxy_header_port(h));
		return buf;
	case PROXY_UNIX:
		print_path(h, buf);
		return buf;
	}
	UNREACHABLE();
}
