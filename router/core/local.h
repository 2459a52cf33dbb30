/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Commands that the router answers itself, as Redis 7.0.15 would word for word.  local.c has the table
 * that says which function answers what; the functions are grouped by subject:
 *
 *	local.c          the connection: PING, SELECT, QUIT ...
 *	local_login.c    HELLO, AUTH, RESET
 *	local_client.c   CLIENT about the client itself
 *	local_list.c     CLIENT LIST
 *	local_kill.c     CLIENT KILL
 *	local_pause.c    CLIENT PAUSE, UNPAUSE
 *	local_acl.c      ACL
 *	local_command.c  COMMAND
 *	local_config.c   CONFIG GET
 *	local_info.c     INFO
 *
 * LIST, KILL and PAUSE are about the clients of every worker (errand.h), but of one pool: that is what
 * a client takes for one server.
 */

#include "router/core/client_show.h"
#include "router/core/dispatch.h"

/* What the router says its Redis version is until the nodes' is known. */
#define LOCAL_REDIS_VERSION "7.0.15"

/* Databases that SELECT allows until the nodes' number is known. */
#define LOCAL_DATABASES 16

/* -ERR text. */
void local_error(const struct call *call, const char *fmt, ...) PRINTF_LIKE(2, 3);
void local_syntax_error(const struct call *call);
/* The words for a subcommand with too many arguments, which only its own code notices. */
void local_wrong_subcommand(const struct call *call);

/* How much of an argument an error repeats, for "%.*s". */
int local_shown(struct span s);

/* TYPE of CLIENT LIST and KILL.  False: an error was answered. */
bool local_parse_kind(const struct call *call, struct span name, enum client_kind *ret) MUST_CHECK;

/* Zeroed memory for n things, to be freed; n may be 0. */
void *local_zeroed(size_t n, size_t size);

/*
 * From the next request on the client uses other node connections.  Those before must be
 * answered first, so that its commands to a node take effect in the order sent.
 */
void local_change_class(struct client *c, uint32_t database, int resp);

/* CLIENT SETNAME and HELLO SETNAME.  False: an error was answered. */
bool local_set_name(const struct call *call, struct span name) MUST_CHECK;
/* What Redis allows in names: printable ASCII, no space. */
bool local_name_ok(struct span s);
/* A copy of text that has no zero byte; NULL if it is empty. */
char *local_copy(struct span s);

void local_hello(struct call *call);
void local_auth(struct call *call);
void local_reset(struct call *call);

void local_client_caching(struct call *call);
void local_client_getname(struct call *call);
void local_client_getredir(struct call *call);
void local_client_id(struct call *call);
void local_client_info(struct call *call);
void local_client_no_evict(struct call *call);
void local_client_reply(struct call *call);
void local_client_setinfo(struct call *call);
void local_client_setname(struct call *call);
void local_client_tracking(struct call *call);
void local_client_trackinginfo(struct call *call);
void local_client_unblock(struct call *call);

void local_client_kill(struct call *call);
void local_client_list(struct call *call);
void local_client_pause(struct call *call);
void local_client_unpause(struct call *call);

void local_acl_cat(struct call *call);
void local_acl_genpass(struct call *call);
void local_acl_whoami(struct call *call);

void local_command(struct call *call);
void local_command_count(struct call *call);
void local_command_getkeys(struct call *call);
void local_command_info(struct call *call);
void local_command_list(struct call *call);

void local_config_get(struct call *call);

void local_info(struct call *call);
