/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/* Between upstream.c (which connection) and upconn.c (what happens on it). */

#include "router/upstream/upstream.h"

struct upconn *upconn_new(struct upstream *up, uint16_t class_id);
void upconn_free(struct upconn *c);

/* CLOSED -> CONNECTING, READY, or CLOSED again when it fails at once. */
void upconn_connect(struct upconn *c);

/* Drops the connection; every part in it fails. */
void upconn_close(struct upconn *c, enum up_why why, const char *detail);

/* Writes what is waiting; at the end of the turn. */
void upconn_flush(struct upconn *c);

/* Nothing has come for longer than a request may take, though something is due. */
bool upconn_silent(const struct upconn *c, uint64_t now);
