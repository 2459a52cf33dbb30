/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * CONFIG GET of what tools ask a server for before they start.
 */

#include "router/core/answer.h"
#include "router/core/local.h"
#include "router/core/worker.h"

/* What tools ask a server for before they start; the answers are the router's own. */
static const struct {
	const char *name;
	const char *value; /* NULL: maxclients */
} config_values[] = {
	{"appendonly", "no"},
	{"databases", "16"},
	{"maxclients", NULL},
	{"maxmemory", "0"},
	{"maxmemory-policy", "noeviction"},
	{"proto-max-bulk-len", "536870912"},
	{"save", ""},
	{"timeout", "0"},
};

static bool config_asked(const struct call *call, const char *name)
{
	for (size_t i = 2; i < call->n; i++)
		if (span_glob(call->args[i], span_str(name), true))
			return true;
	return false;
}

void local_config_get(struct call *call)
{
	char max[16];
	size_t n = 0;
	struct answer a;
	(void)snprintf(max, sizeof(max), "%u", call->client->worker->opts.limits->clients);
	for (size_t i = 0; i < ARRAY_LEN(config_values); i++)
		n += config_asked(call, config_values[i].name);
	answer_begin(&a, call);
	answer_map(&a, n);
	for (size_t i = 0; i < ARRAY_LEN(config_values); i++) {
		if (!config_asked(call, config_values[i].name))
			continue;
		answer_str(&a, config_values[i].name);
		answer_str(&a, config_values[i].value != NULL ? config_values[i].value : max);
	}
	answer_send(&a, call);
}
