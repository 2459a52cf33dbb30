/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * The PROXY protocol's header, version 2: what a load balancer says before a client's own bytes, so
 * that we know who the client is.
 *
 *	0        12         13          14        16
 *	| signature | 2, command | family | length | addresses, then TLVs: `length` bytes |
 *
 * Read as it comes: bytes are taken, none is kept by the caller.  TLVs are skipped.  Version 1 (a
 * line of text) is refused, for it can be told from a request only by guessing.
 *
 * Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* Most bytes that a header may have; the format would allow 65551.  What load balancers add (a
 * name, a certificate's subject) fits many times. */
#define PROXY_HEADER_MAX 4096

#define PROXY_PATH_MAX 108

enum proxy_status { PROXY_MORE, PROXY_DONE, PROXY_BAD };

enum proxy_source {
	PROXY_LOCAL, /* the load balancer itself, or it does not say who: the socket's own end */
	PROXY_INET,
	PROXY_INET6,
	PROXY_UNIX,
};

/* All zero before the first byte. */
struct proxy_header {
	uint32_t taken; /* bytes of the header so far */
	uint32_t size;  /* of the header; known when its fixed part is */
	enum proxy_source source;
	uint8_t fixed[16];
	/* The client's address, valid when DONE.  INET, INET6: the address in network order, from
	 * its start.  UNIX: the path, up to its first NUL. */
	uint8_t address[PROXY_PATH_MAX];
	uint8_t ports[4]; /* INET, INET6: the client's, the load balancer's; network order */
	const char *why;  /* static; BAD: what is wrong */
};

/*
 * Takes bytes until the header is complete; *ret_used of them were its own.  MORE: all were.  DONE:
 * what follows is the client's.  BAD: no header that we take, and ->why says so.
 */
enum proxy_status proxy_header_take(
	struct proxy_header *h, const uint8_t *bytes, size_t n, size_t *ret_used) MUST_CHECK;

static inline uint16_t proxy_header_port(const struct proxy_header *h)
{
	return (uint16_t)(h->ports[0] << 8 | h->ports[1]);
}

/* 1.2.3.4:5, [::1]:5 or unix:/path, as addresses are printed everywhere; "" for LOCAL.  Bytes of a
 * path that are not printable, and spaces, become '?'. */
#define PROXY_TEXT_MAX 128
const char *proxy_header_print(const struct proxy_header *h, char buf[PROXY_TEXT_MAX]);
