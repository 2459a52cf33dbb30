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

static bool path_ok(const char *text)
{
	size_t n = strlen(text);
	for (size_t i = 0; i < n; i++) {
		if ((uint8_t)text[i] < 0x20 || text[i] == 0x7f)
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
	if (name ? !conf_name_ok(span_str(text)) : !path_ok(text))
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
