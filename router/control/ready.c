/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * Telling the world that clients are served: the ready file, and systemd's notification socket.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "router/control/control_internal.h"

/* sd_notify(3)'s protocol: one datagram to the socket named in the environment. */
void ready_notify(const char *state)
{
	const char *path =
		getenv("NOTIFY_SOCKET"); /* NOLINT(concurrency-mt-unsafe): nobody sets variables */
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	if (path == NULL || path[0] == 0 || strlen(path) >= sizeof(un.sun_path))
		return;
	memcpy(un.sun_path, path, strlen(path));
	if (un.sun_path[0] == '@')
		un.sun_path[0] = 0;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&un, len);
	(void)close(fd);
}

static int write_lines(const struct control *ctl, FILE *f)
{
	for (size_t i = 0; i < ctl->nlisteners; i++)
		(void)fprintf(f, "redis=%s\n", ctl->listeners[i].address);
	if (ctl->http != NULL)
		(void)fprintf(f, "admin=%s\n", ctl->admin_address);
	return fflush(f) == 0 && fsync(fileno(f)) == 0 ? 0 : -errno;
}

/* Under another name first: whoever sees the file sees all of it. */
static int write_ready_file(const struct control *ctl, const char *path)
{
	char temp[4096];
	if (snprintf(temp, sizeof(temp), "%s.%d", path, (int)getpid()) >= (int)sizeof(temp))
		return -ENAMETOOLONG;
	FILE *f = fopen(temp, "we");
	if (f == NULL)
		return -errno;
	int r = write_lines(ctl, f);
	if (fclose(f) != 0 && r == 0)
		r = -errno;
	if (r == 0 && rename(temp, path) != 0)
		r = -errno;
	if (r != 0)
		(void)unlink(temp);
	return r;
}

int ready_announce(const struct control *ctl)
{
	const char *path = ctl->conf->ready_file;
	int r = path != NULL ? write_ready_file(ctl, path) : 0;
	if (r != 0) {
		log_error("ready", "cannot write the ready file", "path=%s why=\"%s\"", path,
			rw_strerror(r));
		return r;
	}
	ready_notify("READY=1");
	return 0;
}
