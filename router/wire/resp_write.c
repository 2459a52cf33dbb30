/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */

/*
 * Writing RESP.  Heads have one or two digits nearly always, so those are written directly.
 */

#include "router/wire/resp_write.h"

static uint8_t *put_crlf(uint8_t *at)
{
	at[0] = '\r';
	at[1] = '\n';
	return at + 2;
}

uint8_t *resp_put_head(uint8_t *at, uint8_t type, int64_t n)
{
	*at++ = type;
	if (n >= 0 && n < 10) {
		*at++ = (uint8_t)('0' + n);
	} else if (n >= 10 && n < 100) {
		*at++ = (uint8_t)('0' + n / 10);
		*at++ = (uint8_t)('0' + n % 10);
	} else {
		char digits[21];
		size_t len = i64_to_dec(n, digits);
		memcpy(at, digits, len);
		at += len;
	}
	return put_crlf(at);
}

uint8_t *resp_put_bulk(uint8_t *at, struct span s)
{
	at = resp_put_head(at, '$', (int64_t)s.len);
	if (s.len > 0)
		memcpy(at, s.ptr, s.len);
	return put_crlf(at + s.len);
}

uint8_t *resp_put_null(uint8_t *at, int resp)
{
	const struct span text = resp >= 3 ? SPAN("_\r\n") : SPAN("$-1\r\n");
	memcpy(at, text.ptr, text.len);
	return at + text.len;
}

/* Bytes of "<type>n CR LF". */
static size_t head_size(size_t n)
{
	size_t size = 1 + 1 + 2;
	for (; n >= 10; n /= 10)
		size++;
	return size;
}

size_t resp_bulk_size(size_t len)
{
	return head_size(len) + len + 2;
}

size_t resp_request_size(const struct span *args, size_t n)
{
	size_t size = head_size(n);
	for (size_t i = 0; i < n; i++)
		size += resp_bulk_size(args[i].len);
	return size;
}

uint8_t *resp_put_request(uint8_t *at, const struct span *args, size_t n)
{
	at = resp_put_head(at, '*', (int64_t)n);
	for (size_t i = 0; i < n; i++)
		at = resp_put_bulk(at, args[i]);
	return at;
}
