/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Who a client is that comes through a load balancer: it begins with a header of the PROXY protocol
 * (router/wire/proxy_header.h), or it is closed.  While the header is due, nothing of it is served;
 * afterwards there is the address, in a block of its own so that other clients pay a pointer.
 *
 * Worker-owned, like its client.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct client;

struct origin {
	struct preface *preface; /* owned; NULL: the header has come */
	char peer[];             /* as addresses are printed; "" while the header is due */
};

/* A new client: its header is due within limits.proxy_header. */
void origin_expect(struct client *c);

/*
 * Takes what belongs to the header from the bytes that have come.  False: more must come first, and
 * nothing is left; or the client was closed.
 */
bool origin_take(struct client *c, const uint8_t *bytes, size_t n, size_t *ret_used) MUST_CHECK;

void origin_free(struct client *c);

/* NULL: the socket's own end is the client's address. */
const char *origin_peer(const struct client *c);
