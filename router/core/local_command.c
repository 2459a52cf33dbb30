/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * COMMAND, from the router's own table.  COMMAND DOCS is a node's: the table has no prose.
 */

#include "base/check.h"
#include "router/core/answer.h"
#include "router/core/auth.h"
#include "router/core/local.h"
#include "router/core/worker.h"
#include "router/wire/cmd_info.h"

void local_command(struct call *call)
{
	struct answer a;
	answer_begin(&a, call);
	cmd_info_write_all(a.out, a.resp);
	answer_send(&a, call);
}

void local_command_count(struct call *call)
{
	struct answer a;
	answer_begin(&a, call);
	answer_int(&a, cmd_info_count());
	answer_send(&a, call);
}

void local_command_info(struct call *call)
{
	struct answer a;
	if (call->n == 2) {
		local_command(call);
		return;
	}
	answer_begin(&a, call);
	answer_array(&a, call->n - 2);
	for (size_t i = 2; i < call->n; i++) {
		const struct cmd *c = cmd_by_name(call->args[i]);
		if (c == NULL || c->own)
			answer_null(&a);
		else
			cmd_info_write(a.out, c, a.resp);
	}
	answer_send(&a, call);
}

/* ---- LIST ---------------------------------------------------------------------------------- */

enum filter_kind { FILTER_NONE, FILTER_MODULE, FILTER_CATEGORY, FILTER_PATTERN };

struct filter {
	enum filter_kind kind;
	struct span text;
	struct cmd_set members; /* FILTER_CATEGORY */
};

/* False: an error was answered. */
static bool parse_filter(const struct call *call, struct filter *ret)
{
	*ret = (struct filter){.kind = FILTER_NONE};
	if (call->n == 2)
		return true;
	if (call->n != 5 || !span_eq_nocase(call->args[2], SPAN("filterby"))) {
		local_syntax_error(call);
		return false;
	}
	ret->text = call->args[4];
	if (span_eq_nocase(call->args[3], SPAN("module"))) {
		ret->kind = FILTER_MODULE;
	} else if (span_eq_nocase(call->args[3], SPAN("pattern"))) {
		ret->kind = FILTER_PATTERN;
	} else if (span_eq_nocase(call->args[3], SPAN("aclcat"))) {
		ret->kind = FILTER_CATEGORY;
		(void)!cmd_set_add_category(&ret->members, ret->text); /* none has no members */
	} else {
		local_syntax_error(call);
		return false;
	}
	return true;
}

static bool passes(const struct filter *f, const struct cmd *c)
{
	if (c->own)
		return false;
	switch (f->kind) {
	case FILTER_NONE:
		return true;
	case FILTER_MODULE: /* none of the table's commands comes from one */
		return false;
	case FILTER_CATEGORY:
		return cmd_set_has(&f->members, c->id);
	case FILTER_PATTERN:
		return span_glob(f->text, span_of(c->name, c->name_len), true);
	}
	UNREACHABLE();
}

void local_command_list(struct call *call)
{
	struct filter f;
	struct answer a;
	size_t n = 0;
	if (!parse_filter(call, &f))
		return;
	for (unsigned id = 0; id < CMD_COUNT; id++)
		n += passes(&f, cmd_at(id));
	answer_begin(&a, call);
	answer_array(&a, n);
	for (unsigned id = 0; id < CMD_COUNT; id++)
		if (passes(&f, cmd_at(id)))
			answer_str(&a, cmd_at(id)->name);
	answer_send(&a, call);
}

/* ---- GETKEYS ------------------------------------------------------------------------------- */

static void answer_keys(const struct call *call, const struct span *args, const struct cmd_keys *k)
{
	struct answer a;
	answer_begin(&a, call);
	answer_array(&a, k->n);
	for (uint32_t i = 0; i < k->n; i++)
		answer_bulk(&a, args[k->at[i]]);
	answer_send(&a, call);
}

void local_command_getkeys(struct call *call)
{
	struct cmd_keys *k = &call->client->worker->keys;
	const struct span *args = call->args + 2;
	size_t n = call->n - 2;
	const struct cmd *c = cmd_find(args, n);
	if (c == NULL || (c->has_subs && n > 1)) {
		local_error(call, "ERR Invalid command specified");
		return;
	}
	if (c->keys == KEYS_NONE) {
		local_error(call, "ERR The command has no key arguments");
		return;
	}
	if (!cmd_arity_ok(c, n)) {
		local_error(call, "ERR Invalid number of arguments specified for command");
		return;
	}
	(void)!cmd_get_keys(c, args, n, k); /* bad ones have none */
	if (k->n == 0 && !(c->flags & CMD_NO_MANDATORY_KEYS))
		local_error(call, "ERR Invalid arguments specified for command");
	else
		answer_keys(call, args, k);
}
