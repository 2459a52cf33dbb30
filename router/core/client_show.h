/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * A client as CLIENT LIST, INFO and KILL see it.  On the client's own worker.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/str.h"

struct client;
struct worker_pool;

/* What CLIENT LIST TYPE and KILL TYPE tell apart.  A router's clients are never replicas or masters. */
enum client_kind { CLIENT_NORMAL, CLIENT_REPLICA, CLIENT_MASTER, CLIENT_PUBSUB };

/* "normal", "replica", "slave", "master", "pubsub".  False: none of them. */
bool client_kind_parse(struct span name, enum client_kind *ret) MUST_CHECK;
enum client_kind client_kind_of(const struct client *c);

/* It is of this pool, and not about to be closed: that is gone already, as far as others can tell. */
bool client_is_there(const struct client *c, const struct worker_pool *p);

/* Both ends as Redis writes them: "host:port", or "/path:0" for a unix socket. */
#define CLIENT_ADDRESS_MAX 160
const char *client_peer(const struct client *c, char *buf, size_t size);
const char *client_local(const struct client *c, char *buf, size_t size);

/* One line with all fields of Redis 7.0, its '\n' included. */
void client_show(FILE *out, const struct client *c);
