/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * logfmt on stderr:
 *     2026-11-30T03:00:00.123Z level=info part=upstream msg="connected" node=cache-1
 *
 * error: someone must act.  warn: degraded, going on.  info: a state changed.  debug: per
 * connection.  The pure modules (ring, wire, balance) never log.  Each line leaves in one write(2);
 * lines longer than 4 KiB are cut.  Values are quoted when they need it; bytes that are not
 * printable are escaped, so that a client can't forge a line.
 *
 * Any thread.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

extern _Atomic int log_threshold; /* most detailed level that is printed; default LOG_INFO */

/* "error" "warn" "info" "debug"; false for anything else. */
bool log_level_parse(const char *name, enum log_level *ret) MUST_CHECK;

/*
 * One line.  `part` names the module.  Pairs follow as printf text: keys with their values, each
 * value that is not a number through log_quote() or in double quotes by the caller:
 *     log_line(LOG_WARN, "upstream", "connect failed", "node=%s why=%s", log_quote(q, ...), ...)
 * NULL instead of the text when there are no pairs.
 */
void log_line(enum log_level level, const char *part, const char *msg, const char *pairs_fmt, ...)
	PRINTF_LIKE(4, 5);

/* A pair's value, quoted and escaped where needed, into buf, cut to fit.  size >= 8. */
const char *log_quote(char *buf, size_t size, const void *bytes, size_t len);

/* At most one line per `every_ns` from one place; the next one says how many were left out. */
struct log_rate {
	_Atomic uint64_t next_ns;
	_Atomic uint32_t dropped;
};

/* True when the caller may print; *ret_dropped then is how many were not. */
bool log_rate_pass(struct log_rate *r, uint64_t now_ns, uint64_t every_ns, uint32_t *ret_dropped);

#define log_error(part, msg, ...) log_at(LOG_ERROR, part, msg, __VA_ARGS__)
#define log_warn(part, msg, ...) log_at(LOG_WARN, part, msg, __VA_ARGS__)
#define log_info(part, msg, ...) log_at(LOG_INFO, part, msg, __VA_ARGS__)
#define log_debug(part, msg, ...) log_at(LOG_DEBUG, part, msg, __VA_ARGS__)

#define log_at(level, part, msg, ...) \
	do { \
		if (UNLIKELY((int)(level) <= \
			     atomic_load_explicit(&log_threshold, memory_order_relaxed))) \
			log_line(level, part, msg, __VA_ARGS__); \
	} while (0)
