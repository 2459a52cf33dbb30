/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * What of the configuration workers are told by letter: users, logins at nodes, limits.  At the start, and again when the
 * file was read anew (SIGHUP).
 */

struct control;
struct worker;

/* To one worker; before the first fleet, so that connections to nodes log in. */
void reload_publish(const struct control *ctl, struct worker *w);

/*
 * Reads flags, file and password files again.  What may change while the router serves takes effect; a configuration that
 * is wrong, or differs in more, is refused whole and the log says by which names.  No client is closed but those of users who
 * are gone.
 */
void reload_configuration(struct control *ctl);

/* The limits that workers go by, from the configuration and what file descriptors allow. */
void reload_fill_limits(struct control *ctl);
