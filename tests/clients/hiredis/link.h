/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * One connection of hiredis, through its blocking or its libevent interface, used in the same way:
 * send some commands, then take as many replies, in order.  Single thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include <hiredis/hiredis.h>

struct link;

/* Connects; NULL when nobody listens.  timeout_s holds for each wait. */
struct link *link_open(bool async, const char *host, int port, int timeout_s);
void link_close(struct link *l);

void link_send(struct link *l, int n, const char **argv, const size_t *lens);

/* The next reply, the caller's to free; NULL: the connection is lost or nothing came in time. */
redisReply *link_reply(struct link *l);
