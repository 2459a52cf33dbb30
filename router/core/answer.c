/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/answer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "router/core/stats.h"
#include "router/core/worker.h"

void answer_begin_as(struct answer *a, int resp)
{
	a->buf = NULL;
	a->size = 0;
	a->resp = resp;
	a->out = open_memstream(&a->buf, &a->size);
	CHECK(a->out != NULL);
}

void answer_begin(struct answer *a, const struct call *call)
{
	answer_begin_as(a, call->client->resp);
}

void answer_send(struct answer *a, const struct call *call)
{
	CHECK(fclose(a->out) == 0);
	client_answer(call->client, call->cmd, a->buf, a->size);
	free(a->buf);
}

void answer_merged(struct answer *a, struct request *r)
{
	CHECK(fclose(a->out) == 0);
	request_reply_bytes(r, (const uint8_t *)a->buf, a->size);
	if (a->buf[0] == '-')
		stats_failed(r->pool->worker->stats, r->cmd, a->buf, a->size);
	free(a->buf);
}

void answer_request(struct answer *a, struct request *r)
{
	answer_merged(a, r);
	request_answered(r);
}

void answer_array(struct answer *a, size_t n)
{
	(void)fprintf(a->out, "*%zu\r\n", n);
}

void answer_map(struct answer *a, size_t pairs)
{
	(void)fprintf(
		a->out, "%c%zu\r\n", a->resp == 3 ? '%' : '*', a->resp == 3 ? pairs : 2 * pairs);
}

void answer_set(struct answer *a, size_t n)
{
	(void)fprintf(a->out, "%c%zu\r\n", a->resp == 3 ? '~' : '*', n);
}

void answer_line(struct answer *a, const char *line)
{
	(void)fprintf(a->out, "%s\r\n", line);
}

void answer_bulk(struct answer *a, struct span s)
{
	(void)fprintf(a->out, "$%zu\r\n", s.len);
	(void)fwrite(s.ptr, 1, s.len, a->out);
	(void)fputs("\r\n", a->out);
}

void answer_str(struct answer *a, const char *s)
{
	answer_bulk(a, span_str(s));
}

void answer_int(struct answer *a, int64_t n)
{
	(void)fprintf(a->out, ":%" PRId64 "\r\n", n);
}

void answer_null(struct answer *a)
{
	(void)fputs(a->resp == 3 ? "_\r\n" : "$-1\r\n", a->out);
}

void answer_text(struct answer *a, struct span s)
{
	if (a->resp != 3) {
		answer_bulk(a, s);
		return;
	}
	(void)fprintf(a->out, "=%zu\r\ntxt:", s.len + 4);
	(void)fwrite(s.ptr, 1, s.len, a->out);
	(void)fputs("\r\n", a->out);
}

void answer_const(const struct call *call, const char *wire)
{
	client_answer(call->client, call->cmd, wire, strlen(wire));
}
