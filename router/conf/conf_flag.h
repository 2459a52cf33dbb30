/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * The flag table as data, for reading the command line and for --help.
 */

#include <stddef.h>

enum conf_flag_kind {
	FLAG_OPTION,
	FLAG_SWITCH,
	FLAG_LATER,
	FLAG_LISTEN,
	FLAG_FILE,
	FLAG_POOL,
	FLAG_NODE,
	FLAG_SET,
	FLAG_TEST,
	FLAG_VERSION,
	FLAG_HELP
};

struct conf_flag {
	const char *name;
	const char *argument; /* "": takes none */
	enum conf_flag_kind kind;
	const char *key; /* of the option it sets, or "" */
	const char *group;
	const char *help;
};

extern const struct conf_flag conf_flags[];
extern const size_t conf_flag_count;
