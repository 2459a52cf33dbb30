/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/control/reload.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "router/conf/conf_access.h"
#include "router/control/control_internal.h"
#include "router/core/script_store.h"
#include "router/upstream/login.h"

/* ---- users and logins -------------------------------------------------------------------------- */

static void fill_spec(struct user_spec *spec, const struct conf_user *u)
{
	*spec = (struct user_spec){.name = u->name, .npasswords = u->npasswords};
	for (size_t i = 0; i < u->npasswords; i++)
		spec->passwords[i] = span_of(u->passwords[i].text, u->passwords[i].len);
	static_assert(sizeof(spec->deny.bits) == sizeof(u->denied), "one bit per command in both");
	memcpy(spec->deny.bits, u->denied, sizeof(u->denied));
}

static struct user_set *make_users(const struct conf_access *a)
{
	struct user_set *set = NULL;
	struct user_spec *specs = calloc(a->nusers + 1, sizeof(*specs));
	CHECK(specs != NULL);
	for (size_t i = 0; i < a->nusers; i++)
		fill_spec(&specs[i], &a->users[i]);
	CHECK(user_set_new(&set, specs, a->nusers) == 0); /* the configuration was checked */
	free(specs);
	return set;
}

static struct node_login *make_login(const struct conf_access *a)
{
	const struct conf_password *p = &a->node_password;
	return p->file != NULL ? node_login_new(a->node_user, span_of(p->text, p->len)) : NULL;
}

/* ---- limits ------------------------------------------------------------------------------------- */

void reload_fill_limits(struct control *ctl)
{
	const struct conf_limits *l = &ctl->conf->limits;
	ctl->limits = (struct worker_limits){
		.clients = ctl->max_clients,
		.pipeline = l->pipeline,
		.output = l->client_output_buffer,
		.request_size = l->request_size,
		.bulk = l->bulk,
		.memory = l->memory,
		.idle_timeout_ns = l->idle_timeout_ns,
		.proxy_header_ns = l->proxy_header_ns,
	};
}

void reload_publish(const struct control *ctl, struct worker *w)
{
	for (uint32_t p = 0; p < ctl->conf->npools; p++) {
		const struct conf_access *a = ctl->conf->pools[p].access;
		worker_publish_users(w, p, make_users(a));
		worker_publish_login(w, p, make_login(a));
	}
	worker_publish_limits(w, &ctl->limits);
}

/* ---- reading it again --------------------------------------------------------------------------- */

/* What people are told, gathered as text and logged line by line. */
struct report {
	FILE *out;
	char *text;
	size_t size;
};

static void report_begin(struct report *r)
{
	*r = (struct report){0};
	r->out = open_memstream(&r->text, &r->size);
	CHECK(r->out != NULL);
}

static void report_end(struct report *r, enum log_level level, const char *what)
{
	char *save = NULL;
	char quoted[512];
	CHECK(fclose(r->out) == 0);
	for (char *line = strtok_r(r->text, "\n", &save); line != NULL;
		line = strtok_r(NULL, "\n", &save))
		log_at(level, "reload", what, "what=%s",
			log_quote(quoted, sizeof(quoted), line, strlen(line)));
	free(r->text);
}

static bool read_again(struct control *ctl, struct conf *fresh)
{
	struct report r;
	report_begin(&r);
	bool ok = conf_again(fresh, ctl->conf, r.out) == CONF_GO_ON;
	if (ok && conf_reload_check(ctl->conf, fresh, r.out) > 0) {
		conf_fini(fresh);
		ok = false;
	}
	report_end(&r, LOG_ERROR, "refused: the old configuration goes on serving");
	return ok;
}

static void tell_changes(const struct control *ctl, const struct conf *fresh)
{
	struct report r;
	report_begin(&r);
	unsigned n = conf_print_changes(ctl->conf, fresh, r.out);
	report_end(&r, LOG_INFO, "changed");
	log_info("reload", "done", "file=%s changes=%u", ctl->conf->file, n);
}

void reload_configuration(struct control *ctl)
{
	struct conf fresh;
	if (ctl->conf->file == NULL) {
		log_warn("reload",
			"nothing to reload: the configuration came from the command line", NULL);
		return;
	}
	if (!read_again(ctl, &fresh))
		return;
	tell_changes(ctl, &fresh);
	conf_take_reloaded(ctl->conf, &fresh);
	conf_fini(&fresh);
	atomic_store(&log_threshold, (int)ctl->conf->log_level);
	descriptors_start(ctl);
	reload_fill_limits(ctl);
	script_store_set_limit(ctl->scripts, ctl->conf->limits.scripts);
	for (size_t i = 0; i < ctl->nworkers; i++)
		reload_publish(ctl, ctl->workers[i]);
}
