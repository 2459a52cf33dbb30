/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Addresses as people write them: host:port, [v6]:port, unix:/path, redis://host:port,
 * memcached://host:port.  Parsing only; names are resolved elsewhere.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

#define ADDR_TEXT_MAX 280

enum addr_family { ADDR_INET, ADDR_UNIX };
enum addr_scheme { ADDR_NO_SCHEME, ADDR_REDIS, ADDR_MEMCACHED };

struct addr {
	enum addr_family family;
	enum addr_scheme scheme;
	uint16_t port;            /* ADDR_INET */
	char host[256];           /* name, or literal without brackets; ADDR_UNIX: the path */
	char text[ADDR_TEXT_MAX]; /* as written, without the scheme: a node's default name */
};

/*
 * 0, or RW_ESYNTAX with *ret_why a static text for people ("no port", "port is not 0..65535", "TLS
 * is not built in yet", "user, password or path in an address are not allowed" ...).
 */
int addr_parse(struct addr *ret, const char *text, const char **ret_why) MUST_CHECK;

/* host:port, [v6]:port or unix:/path into buf. */
const char *addr_print(const struct addr *a, char *buf, size_t size);

bool addr_eq(const struct addr *a, const struct addr *b);
