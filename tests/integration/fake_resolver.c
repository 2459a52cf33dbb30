/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */

/*
 * Stands before libc's getaddrinfo() in a router under test (LD_PRELOAD): names lead where the file
 * RINGWAY_TEST_NAMES says, which is read at each look-up.  Its lines:
 *
 *	NAME ADDRESS...     these addresses, in this order
 *	NAME hang SECONDS   nothing for so long, then what the next line for the name says
 *
 * A name without a line does not exist.  Numeric look-ups go to libc.
 */

#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int lookup_fn(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static int numeric(
	const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **res)
{
	lookup_fn *libc = (lookup_fn *)dlsym(RTLD_NEXT, "getaddrinfo");
	struct addrinfo h = *hints;
	h.ai_flags |= AI_NUMERICHOST;
	return libc(host, port, &h, res);
}

static void hang(const char *seconds)
{
	double s = atof(seconds);
	struct timespec t = {.tv_sec = (time_t)s, .tv_nsec = (long)((s - (double)(time_t)s) * 1e9)};
	while (nanosleep(&t, &t) != 0)
		;
}

/* The addresses that follow on the line, as one list. */
static int list(char **save, const char *port, const struct addrinfo *hints, struct addrinfo **res)
{
	struct addrinfo **end = res;
	*res = NULL;
	for (char *a; (a = strtok_r(NULL, " \n", save)) != NULL;) {
		if (numeric(a, port, hints, end) != 0)
			abort();
		while (*end != NULL)
			end = &(*end)->ai_next;
	}
	return *res != NULL ? 0 : EAI_NONAME;
}

int getaddrinfo(
	const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **res)
{
	char line[4096], *save;
	int r = numeric(host, port, hints, res);
	if (r == 0 || hints->ai_flags & AI_NUMERICHOST)
		return r;
	FILE *f = fopen(getenv("RINGWAY_TEST_NAMES"), "re");
	while (f != NULL && r != 0 && fgets(line, sizeof(line), f) != NULL) {
		if (strcmp(strtok_r(line, " \n", &save), host) != 0)
			continue;
		if (strncmp(save, "hang ", 5) == 0)
			hang(save + 5);
		else
			r = list(&save, port, hints, res);
	}
	if (f != NULL)
		fclose(f);
	return r;
}
