/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */

/*
 * PROXY headers: any bytes, any pieces.  Byte 0 seeds the sizes of the pieces; the rest is what a
 * connection begins with.  Whole and in pieces, from heap copies of exactly each piece, verdict,
 * end and client must agree; and with a second reader below, which looks at the whole at once.
 */

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/rand.h"
#include "router/wire/proxy_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum proxy_status take(struct proxy_header *h, const uint8_t *p, size_t n, size_t *used)
{
	uint8_t *copy = malloc(n > 0 ? n : 1);
	CHECK(copy != NULL);
	memcpy(copy, p, n);
	enum proxy_status st = proxy_header_take(h, copy, n, used);
	CHECK(*used <= n && (st != PROXY_MORE || *used == n));
	CHECK((st == PROXY_BAD) == (h->why != NULL));
	CHECK(h->taken <= PROXY_HEADER_MAX);
	free(copy);
	return st;
}

static enum proxy_status take_in_pieces(
	struct proxy_header *h, const uint8_t *p, size_t n, size_t *ret_end, struct rng *rng)
{
	enum proxy_status st = PROXY_MORE;
	size_t at = 0;
	for (size_t used = 0; at < n && st == PROXY_MORE; at += used) {
		size_t piece = 1 + rng_below(rng, 40);
		st = take(h, p + at, piece < n - at ? piece : n - at, &used);
	}
	*ret_end = at;
	return st;
}

/* Size of the header that these bytes begin with, 0: none or not whole; the client into text. */
static size_t second_opinion(const uint8_t *p, size_t n, char *text, size_t room)
{
	char host[INET6_ADDRSTRLEN];
	text[0] = '\0';
	if (n < 16 || memcmp(p, "\r\n\r\n\0\r\nQUIT\n", 12) != 0 || p[12] >> 1 != 0x10)
		return 0;
	size_t length = (size_t)p[14] * 256 + p[15];
	if (length + 16 > PROXY_HEADER_MAX || length + 16 > n)
		return 0;
	if (p[12] == 0x20 || p[13] == 0x00)
		return 16 + length;
	if (p[13] == 0x11 && length >= 12)
		(void)snprintf(text, room, "%s:%d", inet_ntop(AF_INET, p + 16, host, sizeof(host)),
			p[24] * 256 + p[25]);
	else if (p[13] == 0x21 && length >= 36)
		(void)snprintf(text, room, "[%s]:%d",
			inet_ntop(AF_INET6, p + 16, host, sizeof(host)), p[48] * 256 + p[49]);
	else if (p[13] == 0x31 && length >= 216)
		(void)snprintf(text, room, "unix:%.108s", (const char *)p + 16);
	else
		return 0;
	for (char *c = text; *c != '\0'; c++)
		if ((uint8_t)*c <= ' ' || (uint8_t)*c >= 0x7f)
			*c = '?';
	return 16 + length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proxy_header whole = {0}, pieces = {0};
	char text[PROXY_TEXT_MAX], want[PROXY_TEXT_MAX];
	struct rng rng;
	size_t used, end;
	if (size < 2)
		return 0;
	rng_seed(&rng, data[0]);
	enum proxy_status st = take(&whole, data + 1, size - 1, &used);
	CHECK(take_in_pieces(&pieces, data + 1, size - 1, &end, &rng) == st);
	CHECK(used == end);
	CHECK(memcmp(&whole, &pieces, sizeof(whole)) == 0);
	size_t expected = second_opinion(data + 1, size - 1, want, sizeof(want));
	CHECK((st == PROXY_DONE) == (expected > 0));
	if (st != PROXY_DONE)
		return 0;
	CHECK(used == expected);
	CHECK(strcmp(proxy_header_print(&whole, text), want) == 0);
	return 0;
}
