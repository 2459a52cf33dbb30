/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/conf/conf_report.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* A password in an address, `redis://user:secret@host`: where user and password begin; NULL: none.
 */
static const char *find_secret(const char *text)
{
	const char *at = strrchr(text, '@');
	const char *colon = strchr(text, ':');
	if (at == NULL || colon == NULL || colon > at)
		return NULL;
	const char *scheme = strstr(text, "://");
	return scheme != NULL && scheme < at ? scheme + 3 : text;
}

const char *conf_quote(char buf[CONF_QUOTED_MAX], const char *text)
{
	static const char tail[] = "...'";
	const char *secret = find_secret(text);
	size_t n = 0;
	buf[n++] = '\'';
	for (const char *p = text; *p != '\0'; p++) {
		if (n + 4 + sizeof(tail) > CONF_QUOTED_MAX) { /* 4: the longest escape */
			memcpy(buf + n, tail, sizeof(tail));
			return buf;
		}
		if (p == secret) {
			n += (size_t)snprintf(buf + n, CONF_QUOTED_MAX - n, "***");
			p = strrchr(p, '@');
		}
		if (*p >= 0x20 && *p < 0x7f)
			buf[n++] = *p;
		else
			n += (size_t)snprintf(buf + n, CONF_QUOTED_MAX - n, "\\x%02x", (uint8_t)*p);
	}
	memcpy(buf + n, "'", 2);
	return buf;
}
