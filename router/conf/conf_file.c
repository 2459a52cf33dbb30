/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/conf/conf_file.h"

/*
 *	text ──► conf_yaml_check: shape, every mistake with its place
 *	     ──► libcyaml: struct file_conf, texts in the file's shape
 *	     ──► here: each text to the reader that --set or a flag has for it
 */

#include <cyaml/cyaml.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/err.h"
#include "router/conf/conf_access.h"
#include "router/conf/conf_internal.h"
#include "router/conf/conf_option.h"
#include "router/conf/conf_schema.h"
#include "router/conf/conf_value.h"
#include "router/conf/conf_yaml.h"

/* ------------------------------------------------------------------------------------------------
 * Bytes
 */
static int read_all(int fd, size_t max, char *buf, size_t *ret_len)
{
	size_t len = 0;
	for (;;) {
		ssize_t n = read(fd, buf + len, max + 1 - len); /* one more shows that it is more */
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		len += (size_t)n;
		if (len > max)
			return RW_ELIMIT;
		if (n == 0)
			break;
	}
	*ret_len = len;
	return 0;
}

int conf_file_read(const char *path, size_t max, char **ret, size_t *ret_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	char *buf = malloc(max + 1);
	CHECK(buf != NULL);
	int r = read_all(fd, max, buf, ret_len);
	(void)close(fd);
	if (r == 0)
		*ret = buf;
	else
		free(buf);
	return r;
}

/* ------------------------------------------------------------------------------------------------
 * libcyaml
 */

/* The file's shape was checked before, so whatever it says is about us or about memory. */
static void on_log(cyaml_log_t level, void *arg, const char *fmt, va_list args) PRINTF_LIKE(3, 0);
static void on_log(cyaml_log_t level, void *arg, const char *fmt, va_list args)
{
	struct conf_report *r = arg;
	char line[512];
	(void)level;
	(void)vsnprintf(line, sizeof(line), fmt, args);
	line[strcspn(line, "\n")] = '\0';
	conf_problem_at(r, 1, 1, "%s", line);
}

static bool load(struct conf_source *s, const cyaml_config_t *how, struct conf_report *r)
{
	cyaml_data_t *data = NULL;
	unsigned before = r->problems;
	cyaml_err_t e = cyaml_load_data(s->text.ptr, s->text.len, how, s->schema, &data, NULL);
	if (e != CYAML_OK && r->problems == before)
		conf_problem_at(r, 1, 1, "%s", cyaml_strerror(e));
	s->data = data;
	return e == CYAML_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Texts to values
 */
static void apply_options(
	struct conf *c, struct conf_pool *p, char *const *texts, struct conf_report *r)
{
	for (size_t i = 0; i < CONF_OPTION_COUNT; i++) {
		if (texts[i] == NULL)
			continue;
		const struct conf_option *o = &conf_options[i];
		r->slot = &texts[i];
		conf_option_give(o, c, p, texts[i], r);
	}
	r->slot = NULL;
}

static void apply_nodes(struct conf_pool *p, const struct file_pool *f, struct conf_report *r)
{
	for (size_t i = 0; i < f->nnodes; i++)
		conf_add_file_node(p, &f->nodes[i], r);
}

static void apply_listeners(struct conf_pool *p, const struct file_pool *f, struct conf_report *r)
{
	for (size_t i = 0; i < f->nlisten; i++) {
		r->slot = &f->listen[i];
		conf_add_listener(p, f->listen[i], r);
	}
	r->slot = NULL;
}

static void apply_pool(struct conf *c, const struct file_pool *f, struct conf_report *r)
{
	char quoted[CONF_QUOTED_MAX];
	r->slot = &f->name;
	if (!conf_name_ok(span_str(f->name))) {
		conf_problem(
			r, "pool %s: a name is %s", conf_quote(quoted, f->name), CONF_NAME_RULE);
		return;
	}
	r->slot = NULL;
	struct conf_pool *p = conf_add_pool(c, f->name);
	p->from_file = true;
	apply_options(c, p, f->options, r);
	apply_listeners(p, f, r);
	conf_access_apply(p, f, r);
	apply_nodes(p, f, r);
}

static void apply(struct conf *c, const struct file_conf *f, struct conf_report *r)
{
	apply_options(c, NULL, f->options, r);
	for (size_t i = 0; i < f->npools; i++)
		apply_pool(c, &f->pools[i], r);
}

static void load_and_apply(struct conf *c, struct conf_source *s, struct conf_report *r)
{
	const cyaml_config_t how = {
		.log_fn = on_log,
		.log_ctx = r,
		.log_level = CYAML_LOG_ERROR,
		.mem_fn = cyaml_mem,
		.flags = CYAML_CFG_NO_ALIAS,
	};
	if (load(s, &how, r))
		apply(c, s->data, r);
	(void)cyaml_free(&how, s->schema, s->data, 0);
}

bool conf_file_apply(struct conf *c, struct span text, const char *name, struct conf_report *r)
{
	unsigned before = r->problems;
	struct conf_schema *schema = conf_schema_new();
	struct conf_source s = {.name = name, .text = text, .schema = conf_schema_root(schema)};
	r->source = &s;
	if (conf_yaml_check(&s, r) == CONF_YAML_GOOD)
		load_and_apply(c, &s, r);
	r->source = NULL;
	r->slot = NULL;
	conf_schema_free(schema);
	return r->problems == before;
}

bool conf_file_load(struct conf *c, const char *path, struct conf_report *r)
{
	char quoted[CONF_QUOTED_MAX];
	char *text = NULL;
	size_t len = 0;
	int e = conf_file_read(path, CONF_FILE_MAX, &text, &len);
	if (e != 0) {
		conf_problem(r, "-c %s: %s", conf_quote(quoted, path),
			e == RW_ELIMIT ? "larger than 8mb" : rw_strerror(e));
		return false;
	}
	bool good = conf_file_apply(c, span_of(text, len), path, r);
	free(text);
	return good;
}
