/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include <string.h>

#include "base/str.h"
#include "router/conf/conf_flag.h"
#include "router/conf/conf_internal.h"
#include "router/conf/conf_option.h"

/*
 * --help and --version.  Everything that --help says about a flag or an option comes from the two
 * tables.
 */

#define COLUMN 32 /* where the sentences begin */
#define WIDTH 100

void conf_print_version(FILE *out)
{
	(void)fprintf(out, "ringway %s\n", RINGWAY_VERSION);
}

/* `head` at the left, `text` wrapped in the right column. */
static void print_row(FILE *out, const char *head, const char *text)
{
	int at = fprintf(out, "  %s", head);
	if (at >= COLUMN)
		at = fprintf(out, "\n") - 1;
	while (*text != '\0') {
		size_t len = strcspn(text, " ");
		if (at > COLUMN && (size_t)at + 1 + len > WIDTH)
			at = fprintf(out, "\n") - 1;
		if (at < COLUMN)
			at += fprintf(out, "%*s", COLUMN - at, "");
		else
			at += fprintf(out, " ");
		at += fprintf(out, "%.*s", (int)len, text);
		text += len;
		text += strspn(text, " ");
	}
	(void)fprintf(out, "\n");
}

static void print_flag(FILE *out, const struct conf_flag *f)
{
	char head[64], text[512];
	const struct conf_option *o = conf_option_find(f->key);
	bool shows = o != NULL && f->kind == FLAG_OPTION;
	(void)snprintf(head, sizeof(head), "%s%s%s", f->name, f->argument[0] != '\0' ? " " : "",
		f->argument);
	(void)snprintf(text, sizeof(text), "%s%s%s%s", f->help, shows ? " Default: " : "",
		shows ? o->fallback : "", shows ? "." : "");
	print_row(out, head, text);
}

static void print_option(FILE *out, const struct conf_option *o)
{
	char head[128], text[768], range[CONF_SHOWN_MAX];
	(void)snprintf(head, sizeof(head), "%s=%s", o->key, o->fallback);
	(void)snprintf(text, sizeof(text), "%s (%s)", o->help, conf_option_range(o, range));
	print_row(out, head, text);
}

void conf_print_help(FILE *out)
{
	const char *group = "";
	(void)fprintf(out,
		"ringway: a consistent-hashing router in front of a fleet of Redis servers\n\n"
		"  ringway --listen 127.0.0.1:6380 --node 127.0.0.1:7001 --node 127.0.0.1:7002\n");
	for (size_t i = 0; i < conf_flag_count; i++) {
		const struct conf_flag *f = &conf_flags[i];
		if (f->kind == FLAG_LATER)
			continue;
		if (strcmp(group, f->group) != 0)
			(void)fprintf(out, "\n%s:\n", f->group);
		group = f->group;
		print_flag(out, f);
	}
	(void)fprintf(out, "\nOptions for --set, with their defaults:\n");
	for (size_t i = 0; i < conf_option_count; i++)
		print_option(out, &conf_options[i]);
	(void)fprintf(out,
		"\nADDR is host:port, [v6]:port, unix:/path or redis://host:port; to listen, port "
		"0 takes a "
		"free one.\n"
		"Exit status: 0 done, 1 configuration, 2 usage, 3 cannot bind, 70 internal.\n");
}
