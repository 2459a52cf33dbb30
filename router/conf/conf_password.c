/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/err.h"
#include "router/conf/conf_access.h"
#include "router/conf/conf_internal.h"

/*
 * Password files: the first line is the password.  No copy of it is left anywhere but in
 * conf_password.text, and no message has it.
 */

#define LINE_MAX_LEN 4096

struct reading {
	const char *pool;
	const char *who; /* "user 'x': password_files" */
	struct conf_report *report;
};

static void refuse(const struct reading *w, const char *file, const char *why)
{
	char quoted[CONF_QUOTED_MAX];
	conf_problem(
		w->report, "pool '%s': %s: %s: %s", w->pool, w->who, conf_quote(quoted, file), why);
}

static void warn_if_open_to_all(const struct reading *w, const char *file, mode_t mode)
{
	char quoted[CONF_QUOTED_MAX];
	if ((mode & (S_IROTH | S_IWOTH)) == 0)
		return;
	conf_warning(w->report, "pool '%s': %s: %s can be %s by every user of this machine",
		w->pool, w->who, conf_quote(quoted, file),
		(mode & S_IROTH) != 0 ? "read" : "written");
}

/* The first line's length without its end, or SIZE_MAX: it does not end. */
static size_t line_length(const char *buf, size_t len)
{
	const char *end = memchr(buf, '\n', len);
	if (end == NULL)
		return len <= LINE_MAX_LEN ? len : SIZE_MAX;
	size_t n = (size_t)(end - buf);
	return n > 0 && buf[n - 1] == '\r' ? n - 1 : n;
}

/* NULL, or why not. */
static const char *take_line(struct conf_password *p, const char *buf, size_t len)
{
	size_t n = line_length(buf, len);
	if (n == 0)
		return "its first line is empty";
	if (n > LINE_MAX_LEN)
		return "its first line is longer than 4096 bytes";
	if (memchr(buf, '\0', n) != NULL)
		return "a NUL byte in its first line";
	p->text = malloc(n + 1);
	CHECK(p->text != NULL);
	memcpy(p->text, buf, n);
	p->text[n] = '\0';
	p->len = n;
	return NULL;
}

/* At most `size` bytes, fewer only at the end of the file. */
static int read_start(int fd, char *buf, size_t size, size_t *ret_len)
{
	size_t len = 0;
	while (len < size) {
		ssize_t n = read(fd, buf + len, size - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	*ret_len = len;
	return 0;
}

static const char *read_open_file(const struct reading *w, struct conf_password *p, int fd)
{
	char buf[LINE_MAX_LEN + 2]; /* with \r\n */
	size_t len = 0;
	struct stat st;
	if (fstat(fd, &st) != 0)
		return rw_strerror(-errno);
	if (!S_ISREG(st.st_mode))
		return "not a regular file";
	warn_if_open_to_all(w, p->file, st.st_mode);
	int r = read_start(fd, buf, sizeof(buf), &len);
	const char *why = r == 0 ? take_line(p, buf, len) : rw_strerror(r);
	explicit_bzero(buf, sizeof(buf));
	return why;
}

static void read_password(const struct reading *w, struct conf_password *p)
{
	/* not blocking: a pipe would hold us up before fstat() can tell */
	int fd = open(p->file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	const char *why = fd >= 0 ? read_open_file(w, p, fd) : rw_strerror(-errno);
	if (why != NULL)
		refuse(w, p->file, why);
	if (fd >= 0)
		(void)close(fd);
}

static void read_of_pool(struct conf_pool *pool, struct conf_report *r)
{
	char who[192];
	struct reading w = {pool->name, who, r};
	struct conf_access *a = pool->access;
	for (size_t i = 0; i < a->nusers; i++) {
		struct conf_user *u = &a->users[i];
		(void)snprintf(who, sizeof(who), "user '%s': password_files", u->name);
		for (size_t k = 0; k < u->npasswords; k++)
			read_password(&w, &u->passwords[k]);
	}
	(void)snprintf(who, sizeof(who), "node_auth: password_file");
	if (a->node_password.file != NULL)
		read_password(&w, &a->node_password);
}

void conf_read_passwords(struct conf *c, struct conf_report *r)
{
	for (size_t i = 0; i < c->npools; i++)
		read_of_pool(&c->pools[i], r);
}
