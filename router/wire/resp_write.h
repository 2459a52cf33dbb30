/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Writing RESP into memory that the caller has made room in.  Every function returns the position
 * after what it wrote; *_SIZE says how much room that may take.  No allocation, no printf.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"

#define RESP_HEAD_SIZE 24 /* type byte, 20 digits, CR LF */

/* "*n\r\n", "$n\r\n", ":n\r\n", "%n\r\n" ...: type byte and number. */
uint8_t *resp_put_head(uint8_t *at, uint8_t type, int64_t n);

/* "$len\r\n" bytes "\r\n": needs RESP_HEAD_SIZE + len + 2. */
uint8_t *resp_put_bulk(uint8_t *at, struct span s);

/* "$-1\r\n", or "_\r\n" in RESP3: needs 5. */
uint8_t *resp_put_null(uint8_t *at, int resp);

/* Exact bytes that a request of these arguments takes on the wire as an array of bulks. */
size_t resp_request_size(const struct span *args, size_t n);

/* That request: needs resp_request_size(). */
uint8_t *resp_put_request(uint8_t *at, const struct span *args, size_t n);

/* Bytes that "$len\r\n...\r\n" takes. */
size_t resp_bulk_size(size_t len);
