/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * COMMAND's reply, made from the table alone: byte for byte what a 7.0.15 server says, but for the
 * order of commands and subcommands (ours is the table's, Redis's is that of its hash tables).  Not
 * on the hot path: written to a stream, such as open_memstream()'s.
 */

#include <stdio.h>

#include "router/wire/cmd.h"

/* The entry of one command, its subcommands included.  resp: 2 or 3. */
void cmd_info_write(FILE *out, const struct cmd *c, int resp);

/* All of COMMAND's reply: every entry but those of our own commands. */
void cmd_info_write_all(FILE *out, int resp);

/* COMMAND COUNT. */
unsigned cmd_info_count(void);
