/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "base/mailbox.h"

/*
 *   senders                              receiver
 *      | push (CAS, release)                | the fd is readable
 *      v                                    v
 *   head -> l3 -> l2 -> l1 -> NULL   read(fd), head := NULL (acquire), reverse: l1 l2 l3, open each
 *      | it was empty: write(fd)
 *
 * Nothing is lost: the fd is drained before the stack is taken, so a letter pushed in between is
 * either in what is taken (and the fd rings once for nothing), or the first of the next stack and
 * rings again.  Pushing never reads through `head`, and the receiver takes the whole stack: the ABA
 * problem of lock-free stacks does not arise.
 */

#include <errno.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"

int mailbox_init(struct mailbox *m)
{
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	m->fd = fd;
	atomic_init(&m->head, NULL);
	return 0;
}

static void ring(struct mailbox *m)
{
	const uint64_t one = 1;
	ssize_t n;

	do
		n = write(m->fd, &one, sizeof(one));
	while (n < 0 && errno == EINTR);
	/* EAGAIN is a full counter: it is readable then, which is all we want. */
	CHECK(n == (ssize_t)sizeof(one) || (n < 0 && errno == EAGAIN));
}

void mailbox_post(struct mailbox *m, struct letter *l)
{
	struct letter *old = atomic_load_explicit(&m->head, memory_order_relaxed);

	do
		l->next = old;
	while (!atomic_compare_exchange_weak_explicit(&m->head, &old, l,
		memory_order_release, /* the letter's content and next are seen by whoever takes it
				       */
		memory_order_relaxed));
	/* From here on the letter may be opened and freed already. */
	if (old == NULL)
		ring(m);
}

/* Everything that has arrived, oldest first. */
static struct letter *take_all(struct mailbox *m)
{
	/* Acquire pairs with every push: each is a read-modify-write and so continues the release
	 * sequence. */
	struct letter *l = atomic_exchange_explicit(&m->head, NULL, memory_order_acquire);
	struct letter *oldest_first = NULL;

	while (l != NULL) {
		struct letter *next = l->next;
		l->next = oldest_first;
		oldest_first = l;
		l = next;
	}
	return oldest_first;
}

static void open_list(struct letter *l)
{
	while (l != NULL) {
		struct letter *next = l->next; /* open() owns the letter and may free it */
		l->open(l);
		l = next;
	}
}

void mailbox_open_all(struct mailbox *m)
{
	uint64_t rings;
	ssize_t n;

	do
		n = read(m->fd, &rings, sizeof(rings));
	while (n < 0 && errno == EINTR);
	CHECK(n == (ssize_t)sizeof(rings) || (n < 0 && errno == EAGAIN));
	open_list(take_all(m));
}

void mailbox_fini(struct mailbox *m)
{
	struct letter *l;

	while ((l = take_all(m)) != NULL) /* opening may post */
		open_list(l);
	(void)close(m->fd);
	m->fd = -1;
}
