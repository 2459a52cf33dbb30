/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * The control thread: starts and stops everything, accepts clients and hands each to the worker
 * with the fewest, publishes what the sources of membership say, answers the admin port.  It
 * never touches a request.
 *
 *	control thread:  listeners, signals, admin HTTP, resolving        --letters-->  workers
 *	workers:         clients, node connections                        --letters-->  control
 */

#include "router/conf/conf.h"

/* What the process exits with. */
enum exit_code {
	EXIT_CODE_OK = 0,
	EXIT_CODE_CONF = 1,
	EXIT_CODE_USAGE = 2,
	EXIT_CODE_BIND = 3,
	EXIT_CODE_INTERNAL = 70,
};

/* Runs the router until it is told to stop.  The configuration outlives the call, and is
 * changed when it is reloaded. */
int control_run(struct conf *conf);
