/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/* Between local.c (which function answers what) and its parts. */

#include "router/core/dispatch.h"

/* What the router says its Redis version is until the nodes' is known. */
#define LOCAL_REDIS_VERSION "7.0.15"

/* Databases that SELECT allows until the nodes' number is known. */
#define LOCAL_DATABASES 16

/* -ERR text. */
void local_error(const struct call *call, const char *fmt, ...) PRINTF_LIKE(2, 3);

void local_info(struct call *call);
void local_command(struct call *call);
void local_command_count(struct call *call);
void local_command_getkeys(struct call *call);
void local_command_info(struct call *call);
void local_command_list(struct call *call);
void local_config_get(struct call *call);
