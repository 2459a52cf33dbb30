/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * INFO: where it says something of the nodes they are asked first, all at once; those that do not
 * answer in time are left out and named.
 */

#include <stdlib.h>

#include "base/check.h"
#include "router/core/answer.h"
#include "router/core/info.h"
#include "router/core/local.h"
#include "router/core/split.h"
#include "router/core/worker.h"
#include "router/wire/resp_elem.h"

/* What the merging needs to know of the call, in a split's argument. */
static int64_t argument_of(uint32_t sections, int resp)
{
	return (int64_t)sections << 2 | resp;
}

static void put_info(
	struct answer *a, struct worker_pool *p, uint32_t sections, const struct info_sum *nodes)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	CHECK(out != NULL);
	info_print(out, p, sections, nodes);
	CHECK(fclose(out) == 0);
	answer_text(a, span_of(text, size));
	free(text);
}

static void add_node(struct info_sum *sum, const struct request *r, const struct slot *slot)
{
	struct resp_head head;
	if (slot->failed ||
		!resp_elem_head(chunk_bytes(slot->reply), chunk_len(slot->reply), &head) ||
		(head.type != '$' && head.type != '=') || head.number < 0)
		info_sum_missing(sum, view_node_name(r->view, slot->part.node));
	else
		info_sum_add(
			sum, span_of(chunk_bytes(slot->reply) + head.size, (size_t)head.number));
}

static void merge_info(struct request *r)
{
	uint32_t bits = (uint32_t)(r->split->argument >> 2);
	struct info_sum sum;
	struct answer a;
	info_sum_init(&sum);
	for (uint32_t i = 0; i < r->split->nslots; i++)
		add_node(&sum, r, &r->split->slots[i]);
	answer_begin_as(&a, (int)(r->split->argument & 3));
	put_info(&a, r->pool, bits, &sum);
	answer_merged(&a, r);
	info_sum_fini(&sum);
}

void local_info(struct call *call)
{
	uint32_t bits = info_sections(call->args, call->n);
	const char *section = info_node_section(bits);
	if (section != NULL) {
		const struct span args[] = {SPAN("INFO"), span_str(section)};
		struct call ours = *call;
		ours.args = args;
		ours.n = ARRAY_LEN(args);
		split_collect(&ours, argument_of(bits, call->client->resp), merge_info);
		return;
	}
	struct info_sum none;
	struct answer a;
	info_sum_init(&none);
	answer_begin(&a, call);
	put_info(&a, call->client->pool, bits, &none);
	answer_send(&a, call);
}
