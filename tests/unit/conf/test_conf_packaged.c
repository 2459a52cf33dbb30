/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <cyaml/cyaml.h>

#include "router/conf/conf_file.h"
#include "router/conf/conf_option.h"
#include "router/conf/conf_schema.h"
#include "tests/unit/conf/run.h"

/*
 * packaging/ringway.yml is the whole file: it has every key, and each says its default.
 */

struct loaded {
	struct conf_schema *schema;
	struct file_conf *file;
	char *text;
	size_t len;
};

static const cyaml_config_t how = {
	.log_fn = cyaml_log, .log_level = CYAML_LOG_WARNING, .mem_fn = cyaml_mem};

static int load(void **state)
{
	static struct loaded l;
	cyaml_data_t *data = NULL;
	if (conf_file_read(PACKAGED_FILE, CONF_FILE_MAX, &l.text, &l.len) != 0)
		return -1;
	l.schema = conf_schema_new();
	if (cyaml_load_data((const uint8_t *)l.text, l.len, &how, conf_schema_root(l.schema), &data,
		    NULL) != CYAML_OK)
		return -1;
	l.file = data;
	*state = &l;
	return 0;
}

static int unload(void **state)
{
	struct loaded *l = *state;
	(void)cyaml_free(&how, conf_schema_root(l->schema), l->file, 0);
	conf_schema_free(l->schema);
	free(l->text);
	return 0;
}

static void it_has_every_option_at_its_default(void **state)
{
	const struct loaded *l = *state;
	assert_int_equal(l->file->npools, 1);
	for (size_t i = 0; i < conf_option_count; i++) {
		const struct conf_option *o = &conf_options[i];
		const char *router = l->file->options[i], *pool = l->file->pools[0].options[i];
		const char *mine = o->scope == CONF_ROUTER ? router : pool;
		if (mine == NULL)
			fail_msg("%s is missing", o->key);
		assert_string_equal(mine, o->fallback);
		assert_null(o->scope == CONF_ROUTER ? pool : router);
	}
}

static void it_has_every_list(void **state)
{
	const struct file_pool *p = &((const struct loaded *)*state)->file->pools[0];
	assert_string_equal(p->name, "main");
	assert_int_equal(p->nlisten, 1);
	assert_int_equal(p->nclients, 1);
	assert_string_equal(p->clients[0].user, "default");
	assert_int_equal(p->nnodes, 1);
	assert_non_null(p->nodes[0].name);
	assert_non_null(p->nodes[0].address);
	assert_string_equal(p->nodes[0].weight, "1");
}

/* The same as flags that say only what has no default. */
static void it_does_what_its_flags_do(void **state)
{
	(void)state;
	struct run file, flags;
	run_args(&file, (const char *const[]){"-c", PACKAGED_FILE, NULL});
	RUN_EXPECT(file.exit == CONF_GO_ON, "packaged", &file);
	assert_string_equal(file.err, "");
	run_args(&flags, (const char *const[]){
				 "--listen=127.0.0.1:6380", "--node=cache-1=127.0.0.1:6379", NULL});
	RUN_EXPECT(flags.exit == CONF_GO_ON, "flags", &flags);
	char *a = run_print(&file.conf), *b = run_print(&flags.conf);
	assert_string_equal(a, b);
	free(a);
	free(b);
	run_fini(&file);
	run_fini(&flags);
}

/* Lines that are comments because they have no default: right when somebody makes them keys. */
static void its_examples_are_right(void **state)
{
	const struct loaded *l = *state;
	static const char *const keys[] = {"# password_files: [", "# node_auth:\n", "#   # The",
		"#   user: ", "#   password_file: "};
	char *text = strdup(l->text);
	assert_non_null(text);
	text[l->len] = '\0';
	size_t found = 0;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		for (char *at = text; (at = strstr(at, keys[i])) != NULL; found++) {
			at[0] = at[1] = ' ';
			memmove(at, at + 2, strlen(at + 2) + 1);
		}
	}
	assert_int_equal(found, 6);
	struct run r;
	run_file(&r, text, NULL);
	free(text);
	assert_int_equal(r.exit, CONF_EXIT_BAD); /* the files are not there, and that is all */
	assert_string_equal(r.err,
		"ringway: pool 'main': user 'default': password_files: '/etc/ringway/password': No "
		"such file or directory\n"
		"ringway: pool 'main': user 'default': password_files: "
		"'/etc/ringway/next-password': No such file or directory\n"
		"ringway: pool 'main': node_auth: password_file: '/etc/ringway/node-password': No "
		"such file or directory\n");
	run_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_has_every_option_at_its_default, load, unload),
		cmocka_unit_test_setup_teardown(it_has_every_list, load, unload),
		cmocka_unit_test(it_does_what_its_flags_do),
		cmocka_unit_test_setup_teardown(its_examples_are_right, load, unload),
	};
	return cmocka_run_group_tests(tests, run_enter_folder, run_leave_folder);
}
