/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */

/*
 * Elements of a complete reply.  The reply scanner does the walking; attributes, which no merged
 * command is ever sent with by Redis itself, are stepped over so that nobody else has to think of
 * them.
 */

#include "router/wire/resp_elem.h"

#include "router/wire/resp.h"
#include "router/wire/resp_internal.h"

bool resp_elem_next(const uint8_t *p, size_t len, size_t *ret_size)
{
	size_t n;
	const uint8_t *end = resp_plain_bulk(p, p + len, &n);
	if (LIKELY(end != NULL)) {
		*ret_size = (size_t)(end - p);
		return true;
	}
	struct resp_reply st = {0};
	size_t used;
	if (len == 0 || resp_reply_scan(&st, p, len, &used) != RESP_DONE)
		return false;
	*ret_size = used;
	return true;
}

/* The line at p.  Its CR LF must be there. */
static bool number_line(const uint8_t *p, size_t len, struct resp_head *ret)
{
	const uint8_t *cr = len >= 3 ? memchr(p, '\r', len - 1) : NULL;
	if (cr == NULL || !resp_at_crlf(cr))
		return false;
	ret->type = p[0];
	ret->size = (size_t)(cr - p) + 2;
	if (p[0] == '_') {
		ret->number = -1;
		return true;
	}
	return span_to_i64(span_of(p + 1, (size_t)(cr - p) - 1), &ret->number);
}

static bool skip_elements(const uint8_t *p, size_t len, uint64_t count, size_t *at)
{
	for (size_t size; count > 0; count--, *at += size)
		if (!resp_elem_next(p + *at, len - *at, &size))
			return false;
	return true;
}

static bool has_number(uint8_t type)
{
	return type != 0 && strchr(":$!=*~>%_", type) != NULL;
}

bool resp_elem_head(const uint8_t *p, size_t len, struct resp_head *ret)
{
	size_t at = 0;
	struct resp_head line;
	while (at < len && p[at] == '|') {
		if (!number_line(p + at, len - at, &line) || line.number < 0)
			return false;
		at += line.size;
		if (!skip_elements(p, len, 2 * (uint64_t)line.number, &at))
			return false;
	}
	if (at == len || !has_number(p[at]) || !number_line(p + at, len - at, &line))
		return false;
	line.size += at;
	*ret = line;
	return true;
}
