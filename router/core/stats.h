/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * What INFO commandstats and errorstats tell: calls, time and failures of each command, and how often
 * each sort of error (its first word) was answered.
 *
 * One per worker, who alone adds; any thread reads: every number is a relaxed atomic.  A sort of
 * error is published once its name stands: the number of names is stored with release.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "router/wire/cmd.h"

/* Sorts of errors that are told apart; scripts may invent more. */
#define ERROR_SORTS 64
#define ERROR_SORT_LEN 31

struct cmd_stat {
	_Atomic uint64_t calls;
	_Atomic uint64_t usec;     /* from wholly read to answered */
	_Atomic uint64_t rejected; /* turned away before anything was done */
	_Atomic uint64_t failed;   /* answered with an error */
};

struct error_stat {
	char name[ERROR_SORT_LEN + 1];
	_Atomic uint64_t count;
};

struct stats {
	struct cmd_stat cmd[CMD_COUNT];
	_Atomic uint32_t nsorts;
	struct error_stat sorts[ERROR_SORTS];
	_Atomic uint64_t errors; /* of every sort */
};

struct stats *stats_new(void);
void stats_free(struct stats *s);

static inline void stats_bump(_Atomic uint64_t *n, uint64_t by)
{
	atomic_store_explicit(
		n, atomic_load_explicit(n, memory_order_relaxed) + by, memory_order_relaxed);
}

/* A request was answered.  Commands that the table does not know are not counted one by one. */
static inline void stats_called(struct stats *s, const struct cmd *cmd, uint64_t usec)
{
	if (cmd->id >= CMD_COUNT)
		return;
	stats_bump(&s->cmd[cmd->id].calls, 1);
	stats_bump(&s->cmd[cmd->id].usec, usec);
}

/* The error that it was answered with: "-ERR ...".  cmd may be NULL. */
void stats_failed(struct stats *s, const struct cmd *cmd, const void *error, size_t n);
/* The same for one that was turned away: it is no call. */
void stats_rejected(struct stats *s, const struct cmd *cmd, const void *error, size_t n);

/* The sum of n workers' as INFO has it. */
void stats_print_commands(FILE *out, const struct stats *const *all, size_t n);
void stats_print_errors(FILE *out, const struct stats *const *all, size_t n);
uint64_t stats_total_errors(const struct stats *const *all, size_t n);
