/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/client_show.h"

#include <inttypes.h>
#include <string.h>

#include "router/core/client.h"
#include "router/core/origin.h"
#include "router/core/tx.h"
#include "router/core/worker.h"
#include "router/io/sock.h"

bool client_kind_parse(struct span name, enum client_kind *ret)
{
	static const struct {
		const char *name;
		enum client_kind kind;
	} kinds[] = {
		{"normal", CLIENT_NORMAL},
		{"slave", CLIENT_REPLICA},
		{"replica", CLIENT_REPLICA},
		{"pubsub", CLIENT_PUBSUB},
		{"master", CLIENT_MASTER},
	};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (!span_eq_nocase(name, span_str(kinds[i].name)))
			continue;
		*ret = kinds[i].kind;
		return true;
	}
	return false;
}

enum client_kind client_kind_of(const struct client *c)
{
	(void)c;
	return CLIENT_NORMAL;
}

bool client_is_there(const struct client *c, const struct worker_pool *p)
{
	return c->pool == p && c->doom == NULL;
}

/* ---- addresses ----------------------------------------------------------------------------- */

#define UNIX_PREFIX "unix:"

/* Our notation of a unix socket into Redis's.  False: it is none. */
static bool unix_as_redis(char *buf, size_t size)
{
	size_t skip = strlen(UNIX_PREFIX);
	if (strncmp(buf, UNIX_PREFIX, skip) != 0)
		return false;
	size_t len = strlen(buf) - skip;
	if (len > size - sizeof(":0"))
		len = size - sizeof(":0");
	memmove(buf, buf + skip, len);
	memcpy(buf + len, ":0", sizeof(":0"));
	return true;
}

const char *client_local(const struct client *c, char *buf, size_t size)
{
	(void)snprintf(buf, size, "?");
	(void)sock_local(c->fd, buf, size);
	(void)unix_as_redis(buf, size);
	return buf;
}

/* A client of a unix socket has no address of its own: it is shown with the listener's. */
const char *client_peer(const struct client *c, char *buf, size_t size)
{
	const char *origin = origin_peer(c);
	if (origin != NULL) {
		(void)snprintf(buf, size, "%s", origin);
		(void)unix_as_redis(buf, size);
		return buf;
	}
	if (strchr(client_local(c, buf, size), '/') != NULL)
		return buf;
	(void)snprintf(buf, size, "?");
	(void)sock_peer(c->fd, buf, size);
	return buf;
}

/* ---- the line ------------------------------------------------------------------------------ */

static void put_flags(FILE *out, const struct client *c, const char *local)
{
	char flags[8];
	size_t n = 0;
	if (c->on_hold || c->is_blocked)
		flags[n++] = 'b';
	if (tx_queued(c) >= 0)
		flags[n++] = 'x';
	if (tx_is_spoiled(c))
		flags[n++] = 'd';
	if (c->last_read)
		flags[n++] = 'c';
	if (strchr(local, '/') != NULL)
		flags[n++] = 'U';
	if (c->no_evict)
		flags[n++] = 'e';
	if (n == 0)
		flags[n++] = 'N';
	(void)fprintf(out, " flags=%.*s", (int)n, flags);
}

static size_t chunks_of(const struct chain *chain)
{
	size_t n = 0;
	for (const struct chunk *k = chain->head; k != NULL; k = k->next)
		n++;
	return n;
}

static void put_memory(FILE *out, const struct client *c)
{
	size_t in = c->in != NULL ? chunk_len(c->in) : 0;
	size_t room = c->in != NULL ? chunk_room(c->in) : 0;
	size_t waiting = sendq_held(&c->out) + c->held;
	(void)fprintf(out,
		" qbuf=%zu qbuf-free=%zu argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=%zu omem=%zu "
		"tot-mem=%zu",
		in, room, chunks_of(&c->out.chain), waiting,
		sizeof(struct client) + in + room + waiting);
}

void client_show(FILE *out, const struct client *c)
{
	char peer[CLIENT_ADDRESS_MAX], local[CLIENT_ADDRESS_MAX];
	uint64_t now = loop_now(&c->worker->loop);
	(void)fprintf(out,
		"id=%" PRIu64 " addr=%s laddr=%s fd=%d name=%s age=%" PRIu64 " idle=%" PRIu64,
		c->id, client_peer(c, peer, sizeof(peer)), client_local(c, local, sizeof(local)),
		c->fd, c->name != NULL ? c->name : "", (now - c->since_ns) / NS_PER_S,
		(now - c->read_ns) / NS_PER_S);
	put_flags(out, c, local);
	(void)fprintf(out, " db=%u sub=0 psub=0 ssub=0 multi=%d", c->database, tx_queued(c));
	put_memory(out, c);
	(void)fprintf(out, " events=%s cmd=%s user=%s redir=-1 resp=%d", client_events(c),
		c->last_cmd != NULL ? c->last_cmd->name : "NULL", c->user->name, c->resp);
	if (c->lib_name != NULL || c->lib_ver != NULL)
		(void)fprintf(out, " lib-name=%s lib-ver=%s",
			c->lib_name != NULL ? c->lib_name : "",
			c->lib_ver != NULL ? c->lib_ver : "");
	(void)fputc('\n', out);
}
