/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * ACL, as far as it reads.  Users are declared in the router's configuration: what would change them
 * is refused.
 */

#include <errno.h>
#include <sys/random.h>

#include "base/check.h"
#include "router/core/answer.h"
#include "router/core/auth.h"
#include "router/core/local.h"

static const char *const categories[] = {
#define X(id, text) text,
	CMD_CATEGORIES(X)
#undef X
};

void local_acl_whoami(struct call *call)
{
	struct answer a;
	answer_begin(&a, call);
	answer_str(&a, call->client->user->name);
	answer_send(&a, call);
}

/* ---- CAT ----------------------------------------------------------------------------------- */

static void answer_members(const struct call *call, unsigned category)
{
	struct answer a;
	size_t n = 0;
	for (unsigned id = 0; id < CMD_COUNT; id++)
		n += !cmd_at(id)->own && (cmd_at(id)->categories >> category & 1);
	answer_begin(&a, call);
	answer_array(&a, n);
	for (unsigned id = 0; id < CMD_COUNT; id++)
		if (!cmd_at(id)->own && (cmd_at(id)->categories >> category & 1))
			answer_str(&a, cmd_at(id)->name);
	answer_send(&a, call);
}

static void answer_categories(const struct call *call)
{
	struct answer a;
	answer_begin(&a, call);
	answer_array(&a, ARRAY_LEN(categories));
	for (size_t i = 0; i < ARRAY_LEN(categories); i++)
		answer_str(&a, categories[i]);
	answer_send(&a, call);
}

void local_acl_cat(struct call *call)
{
	if (call->n > 3) {
		local_wrong_subcommand(call);
		return;
	}
	if (call->n == 2) {
		answer_categories(call);
		return;
	}
	for (unsigned i = 0; i < ARRAY_LEN(categories); i++) {
		if (span_eq_nocase(call->args[2], span_str(categories[i]))) {
			answer_members(call, i);
			return;
		}
	}
	local_error(call, "ERR Unknown category '%.*s'", local_shown(call->args[2]),
		(const char *)call->args[2].ptr);
}

/* ---- GENPASS ------------------------------------------------------------------------------- */

#define GENPASS_BITS 256
#define GENPASS_MOST 4096

static void random_hex(char *hex, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t raw[GENPASS_MOST / 4];
	size_t have = 0;
	CHECK(n <= sizeof(raw));
	while (have < n) {
		ssize_t got = getrandom(raw + have, n - have, 0);
		CHECK(got > 0 || errno == EINTR);
		have += got > 0 ? (size_t)got : 0;
	}
	for (size_t i = 0; i < n; i++)
		hex[i] = digits[raw[i] & 15];
}

void local_acl_genpass(struct call *call)
{
	int64_t bits = GENPASS_BITS;
	char hex[GENPASS_MOST / 4];
	struct answer a;
	if (call->n > 3) {
		local_wrong_subcommand(call);
		return;
	}
	if (call->n == 3 && !span_to_i64(call->args[2], &bits)) {
		local_error(call, "ERR value is not an integer or out of range");
		return;
	}
	if (bits < 1 || bits > GENPASS_MOST) {
		local_error(call,
			"ERR ACL GENPASS argument must be the number of bits for the output "
			"password, a positive number up to %d",
			GENPASS_MOST);
		return;
	}
	size_t n = ((size_t)bits + 3) / 4;
	random_hex(hex, n);
	answer_begin(&a, call);
	answer_bulk(&a, span_of(hex, n));
	answer_send(&a, call);
}
