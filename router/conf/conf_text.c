/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/conf/conf_text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/err.h"
#include "router/conf/conf_value.h"

#define WORD_NONE "none"
#define WORD_AUTO "auto"

static int addr_set(struct addr *at, const char *text, const char **ret_why)
{
	struct addr a = {0};
	if (strcmp(text, WORD_NONE) != 0) {
		int r = addr_parse(&a, text, ret_why);
		if (r == 0 && a.scheme != ADDR_NO_SCHEME) {
			*ret_why = "an address without a scheme is wanted";
			r = RW_ESYNTAX;
		}
		if (r != 0)
			return r;
	}
	*at = a;
	return 0;
}

/* How many bytes follow the first of a character; -1: it can't be the first. */
static int utf8_more(uint8_t first)
{
	if (first < 0x80)
		return 0;
	if (first < 0xc2 || first > 0xf4)
		return -1;
	return first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
}

int32_t conf_utf8_next(const char **text)
{
	static const int32_t least[] = {0, 0x80, 0x800, 0x10000}; /* shorter ones are forgeries */
	const uint8_t *p = (const uint8_t *)*text;
	int more = utf8_more(p[0]);
	if (more < 0)
		return -1;
	int32_t c = more == 0 ? p[0] : p[0] & (0x3f >> more);
	for (int i = 1; i <= more; i++) {
		if ((p[i] & 0xc0) != 0x80) /* the NUL at the end too */
			return -1;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return -1;
	*text += more + 1;
	return c;
}

bool conf_path_ok(const char *text)
{
	size_t n = strlen(text);
	const char *end = text + n;
	while (text < end) {
		int32_t c = conf_utf8_next(&text);
		if (c < 0x20 || (c >= 0x7f && c < 0xa0))
			return false;
	}
	return n >= 1 && n < PATH_MAX;
}

static void replace_text(char **at, const char *text)
{
	free(*at);
	*at = NULL;
	if (text == NULL)
		return;
	*at = strdup(text);
	CHECK(*at != NULL);
}

static int tag_set(char at[3], const char *text)
{
	if (strcmp(text, WORD_NONE) == 0) {
		memset(at, 0, 3);
		return 0;
	}
	if (strlen(text) != 2 || text[0] <= ' ' || text[1] <= ' ' || text[0] > '~' || text[1] > '~')
		return RW_ESYNTAX;
	memcpy(at, text, 3);
	return 0;
}

int conf_text_set(enum conf_type type, void *at, const char *text, const char **ret_why)
{
	if (type == CONF_ADDR)
		return addr_set(at, text, ret_why);
	if (type == CONF_TAG)
		return tag_set(at, text);

	bool name = type == CONF_NAME;
	if (name ? !conf_name_ok(span_str(text)) : !conf_path_ok(text))
		return RW_ESYNTAX;
	bool unset = strcmp(text, name ? WORD_AUTO : WORD_NONE) == 0;
	replace_text(at, unset ? NULL : text);
	return 0;
}

const char *conf_text_show(enum conf_type type, const void *at, char buf[CONF_SHOWN_MAX])
{
	const char *text;
	if (type == CONF_ADDR) {
		const struct addr *a = at;
		return a->text[0] == '\0' ? WORD_NONE : addr_print(a, buf, CONF_SHOWN_MAX);
	}
	if (type == CONF_TAG) {
		text = at;
		return text[0] == '\0' ? WORD_NONE : text;
	}
	memcpy(&text, at, sizeof(text));
	if (text != NULL)
		return text;
	return type == CONF_NAME ? WORD_AUTO : WORD_NONE;
}
