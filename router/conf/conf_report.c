/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/conf/conf_report.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "router/conf/conf_yaml.h"

/* False: enough has been said. */
static bool start_line(struct conf_report *r)
{
	if (++r->problems == CONF_PROBLEMS_SHOWN + 1)
		(void)fputs("ringway: more problems are not shown\n", r->err);
	return r->problems <= CONF_PROBLEMS_SHOWN;
}

/* A file's name may hold anything; a line of ours may not. */
static void put_printable(const char *text, FILE *out)
{
	for (; *text != '\0'; text++)
		(void)fputc(*text >= 0x20 && *text < 0x7f ? *text : '?', out);
}

static void put_place(const struct conf_report *r, size_t line, size_t column)
{
	put_printable(r->source->name, r->err);
	(void)fprintf(r->err, ":%zu:%zu: ", line, column);
}

void conf_problem(struct conf_report *r, const char *fmt, ...)
{
	va_list ap;
	size_t line, column;
	if (!start_line(r))
		return;
	if (r->slot != NULL && conf_yaml_locate(r->source, r->slot, &line, &column))
		put_place(r, line, column);
	else
		(void)fputs("ringway: ", r->err);
	va_start(ap, fmt);
	(void)vfprintf(r->err, fmt, ap);
	va_end(ap);
	(void)fputc('\n', r->err);
}

void conf_problem_at(struct conf_report *r, size_t line, size_t column, const char *fmt, ...)
{
	va_list ap;
	if (!start_line(r))
		return;
	put_place(r, line, column);
	va_start(ap, fmt);
	(void)vfprintf(r->err, fmt, ap);
	va_end(ap);
	(void)fputc('\n', r->err);
}

void conf_warning(struct conf_report *r, const char *fmt, ...)
{
	va_list ap;
	(void)fputs("ringway: warning: ", r->err);
	va_start(ap, fmt);
	(void)vfprintf(r->err, fmt, ap);
	va_end(ap);
	(void)fputc('\n', r->err);
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
