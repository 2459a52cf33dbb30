/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Runs a function in a child process, to see what a broken invariant does: how it died and what it
 * said.
 */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* True when fn() aborted; its stderr, with a NUL, goes to `said`. */
static inline bool child_aborts(void (*fn)(void), char *said, size_t size)
{
	int fds[2];
	if (pipe(fds) < 0)
		return false;
	pid_t pid = fork();
	if (pid == 0) {
		const struct rlimit no_core = {0, 0};
		(void)setrlimit(RLIMIT_CORE, &no_core);
		(void)dup2(fds[1], STDERR_FILENO);
		fn();
		_exit(0);
	}
	(void)close(fds[1]);
	size_t used = 0;
	ssize_t n;
	while (used < size - 1 && (n = read(fds[0], said + used, size - 1 - used)) > 0)
		used += (size_t)n;
	said[used] = '\0';
	(void)close(fds[0]);
	int status = 0;
	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
	       WTERMSIG(status) == SIGABRT;
}
