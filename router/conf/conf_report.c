/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/conf/conf_report.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

void conf_problem(struct conf_report *r, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	(void)fputs("ringway: ", r->err);
	(void)vfprintf(r->err, fmt, ap);
	(void)fputc('\n', r->err);
	va_end(ap);
	r->problems++;
}

const char *conf_quote(char buf[CONF_QUOTED_MAX], const char *text)
{
	static const char tail[] = "...'";
	size_t n = 0;
	buf[n++] = '\'';
	for (const uint8_t *p = (const uint8_t *)text; *p != '\0'; p++) {
		if (n + 4 + sizeof(tail) > CONF_QUOTED_MAX) { /* 4: the longest escape */
			(void)snprintf(buf + n, CONF_QUOTED_MAX - n, "%s", tail);
			return buf;
		}
		if (*p >= 0x20 && *p < 0x7f)
			buf[n++] = (char)*p;
		else
			n += (size_t)snprintf(buf + n, CONF_QUOTED_MAX - n, "\\x%02x", *p);
	}
	(void)snprintf(buf + n, CONF_QUOTED_MAX - n, "'");
	return buf;
}
