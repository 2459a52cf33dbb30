/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * Where the names of nodes lead.
 *
 *	names --ask--> resolver's thread --answer--> names --letter--> each worker: upstream_move()
 *	  ^                                                                |
 *	  '------------- letter: a connect to this server begins ----------'
 *
 * A name is asked for at start, each `upstream.resolve`, and whenever a worker connects to its
 * server, but not more often than each `upstream.resolve_pause`.  Nobody waits for an answer but the
 * start of the router, and that not for long.  An answer with the addresses that are known already
 * changes nothing; no answer, neither: what worked last is better than nothing.
 */

#include <event2/event.h>
#include <poll.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "router/control/control_internal.h"

struct name {
	struct name *next;       /* in the control's list */
	struct control *control; /* borrowed */
	struct server *server;   /* a reference */
	struct addresses *known; /* owned; NULL: it never resolved */
	uint64_t every_ns;
	uint64_t pause_ns; /* at least, between two questions */
	uint64_t asked_ns; /* last */
	uint64_t due_ns;   /* when to ask next; while asking: of no meaning */
	bool asking;
	bool failing; /* that is logged already */
	bool wanted;  /* a fleet has it */
};

/* ---- asking -------------------------------------------------------------------------------- */

static void on_answer(void *arg, struct addresses *found, const char *why);

static void ask(struct name *n)
{
	n->asking = true;
	n->asked_ns = clock_ns();
	metric_add(n->control->m, M_RESOLVES, 1);
	resolver_ask(n->control->resolver, &n->server->address, on_answer, n);
}

static void ask_what_is_due(struct control *ctl)
{
	uint64_t now = clock_ns();
	uint64_t next = UINT64_MAX;
	for (struct name *n = ctl->names; n != NULL; n = n->next) {
		if (!n->asking && n->due_ns <= now)
			ask(n);
		if (!n->asking && n->due_ns < next)
			next = n->due_ns;
	}
	(void)evtimer_del(&ctl->names_timer);
	if (next == UINT64_MAX)
		return;
	uint64_t after = next - now + NS_PER_MS; /* not before its time */
	struct timeval tv = {.tv_sec = (time_t)(after / NS_PER_S),
		.tv_usec = (suseconds_t)(after % NS_PER_S / NS_PER_US)};
	(void)evtimer_add(&ctl->names_timer, &tv);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	ask_what_is_due(arg);
}

/* Names that no fleet has go; one that is being asked for, when the answer comes. */
static void sweep(struct control *ctl)
{
	struct name **at = &ctl->names;
	while (*at != NULL) {
		struct name *n = *at;
		if (n->wanted || n->asking) {
			at = &n->next;
			continue;
		}
		*at = n->next;
		addresses_unref(n->known);
		server_unref(n->server);
		free(n);
	}
}

/* ---- answers ------------------------------------------------------------------------------- */

static void tell_worker(const struct name *n, struct worker *w)
{
	if (n->known != NULL)
		worker_move(w, server_ref(n->server), addresses_ref(n->known));
}

static void take_failure(struct name *n, const char *why)
{
	char known[200];
	metric_add(n->control->m, M_RESOLVE_FAILURES, 1);
	if (!n->failing)
		log_warn("names", "name does not resolve", "name=%s why=\"%s\" known=\"%s\"",
			n->server->address.text, why,
			addresses_print(n->known, known, sizeof(known)));
	n->failing = true;
}

/* Takes the list over. */
static void take_list(struct name *n, struct addresses *found)
{
	char from[200], to[200];
	if (n->failing)
		log_info("names", "name resolves again", "name=%s", n->server->address.text);
	n->failing = false;
	if (addresses_same(n->known, found)) {
		addresses_unref(found);
		return;
	}
	log_info("names", "name leads elsewhere", "name=%s from=\"%s\" to=\"%s\"",
		n->server->address.text, addresses_print(n->known, from, sizeof(from)),
		addresses_print(found, to, sizeof(to)));
	addresses_unref(n->known);
	n->known = found;
	for (size_t i = 0; i < n->control->nworkers && n->control->workers != NULL; i++)
		if (n->control->workers[i] != NULL)
			tell_worker(n, n->control->workers[i]);
}

static void on_answer(void *arg, struct addresses *found, const char *why)
{
	struct name *n = arg;
	struct control *ctl = n->control;
	n->asking = false;
	if (n->wanted && found == NULL)
		take_failure(n, why);
	else if (n->wanted)
		take_list(n, found);
	else
		addresses_unref(found);
	n->due_ns = clock_ns() + (n->known == NULL ? n->pause_ns : n->every_ns);
	sweep(ctl);
	ask_what_is_due(ctl);
}

/* ---- attempts ------------------------------------------------------------------------------ */

struct attempt {
	struct letter letter; /* first */
	struct control *control;
	struct server *server; /* a reference */
};

/* Soon, if it was not asked just now. */
static void hasten(struct control *ctl, const struct server *s)
{
	for (struct name *n = ctl->names; n != NULL; n = n->next) {
		uint64_t soonest = n->asked_ns + n->pause_ns;
		if (n->server == s && !n->asking && soonest < n->due_ns)
			n->due_ns = soonest;
	}
	ask_what_is_due(ctl);
}

static void open_attempt(struct letter *l)
{
	struct attempt *a = (struct attempt *)l;
	if (a->control->resolver != NULL)
		hasten(a->control, a->server);
	server_unref(a->server);
	free(a);
}

void names_on_attempt(void *arg, struct server *s)
{
	struct control *ctl = arg;
	struct attempt *a = calloc(1, sizeof(*a));
	CHECK(a != NULL);
	a->letter.open = open_attempt;
	a->control = ctl;
	a->server = server_ref(s);
	mailbox_post(&ctl->inbox, &a->letter);
}

/* ---- which names --------------------------------------------------------------------------- */

static struct name *find(struct control *ctl, const struct server *s)
{
	for (struct name *n = ctl->names; n != NULL; n = n->next)
		if (n->server == s)
			return n;
	return NULL;
}

static void want(struct control *ctl, struct server *s, const struct conf_pool *opts)
{
	struct name *n = find(ctl, s);
	if (n == NULL) {
		n = calloc(1, sizeof(*n));
		CHECK(n != NULL);
		n->control = ctl;
		n->server = server_ref(s);
		n->next = ctl->names;
		ctl->names = n;
	}
	n->every_ns = opts->resolve_ns;
	n->pause_ns = opts->resolve_pause_ns;
	n->wanted = true;
}

void names_tell(const struct control *ctl, struct worker *w)
{
	for (const struct name *n = ctl->names; n != NULL; n = n->next)
		if (n->wanted)
			tell_worker(n, w);
}

/* Upstreams that are new get to know what is known already; to the others it is no news. */
static void tell_all(const struct control *ctl)
{
	for (size_t i = 0; ctl->workers != NULL && i < ctl->nworkers; i++)
		if (ctl->workers[i] != NULL)
			names_tell(ctl, ctl->workers[i]);
}

void names_update(struct control *ctl)
{
	for (struct name *n = ctl->names; n != NULL; n = n->next)
		n->wanted = false;
	for (size_t p = 0; p < ctl->conf->npools; p++)
		for (size_t i = 0; i < ctl->fleets[p]->topology->nnodes; i++)
			if (server_is_named(ctl->fleets[p]->servers[i]))
				want(ctl, ctl->fleets[p]->servers[i], &ctl->conf->pools[p]);
	tell_all(ctl);
	sweep(ctl);
	ask_what_is_due(ctl);
}

/* ---- life ---------------------------------------------------------------------------------- */

static bool all_answered(const struct control *ctl)
{
	for (const struct name *n = ctl->names; n != NULL; n = n->next)
		if (n->asking)
			return false;
	return true;
}

/* Letters only: nothing else runs yet. */
static void wait_for_answers(struct control *ctl)
{
	uint64_t end = clock_ns() + ctl->conf->resolve_wait_ns;
	uint64_t now;
	while (!all_answered(ctl) && (now = clock_ns()) < end) {
		struct pollfd p = {.fd = mailbox_fd(&ctl->inbox), .events = POLLIN};
		if (poll(&p, 1, (int)((end - now) / NS_PER_MS) + 1) > 0)
			mailbox_open_all(&ctl->inbox);
	}
	if (!all_answered(ctl))
		log_warn("names", "serving before all names are looked up", "waited_ms=%llu",
			(unsigned long long)(ctl->conf->resolve_wait_ns / NS_PER_MS));
}

void names_start(struct control *ctl)
{
	CHECK(evtimer_assign(&ctl->names_timer, ctl->base, on_timer, ctl) == 0);
	ctl->resolver = resolver_new(&ctl->inbox, addresses_resolve);
	names_update(ctl);
	wait_for_answers(ctl);
}

void names_stop(struct control *ctl)
{
	if (ctl->resolver == NULL)
		return;
	resolver_free(ctl->resolver);
	ctl->resolver = NULL;
	(void)evtimer_del(&ctl->names_timer);
	for (struct name *n = ctl->names; n != NULL; n = n->next)
		n->wanted = n->asking = false;
	sweep(ctl);
}
