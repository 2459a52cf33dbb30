/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Many threads post, one thread takes.  Posting hands the letter over: it is no longer the
 * sender's.  The receiver's loop watches mailbox_fd() (an eventfd); a burst of posts rings once.
 *
 * A lock-free stack of letters (push with compare-and-swap, taken whole and reversed), so that
 * letters of one sender arrive in the order they were posted.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "base/compiler.h"

struct letter {
	struct letter *next;           /* the mailbox's while posted */
	void (*open)(struct letter *); /* runs in the receiver's thread; owns the letter */
};

struct mailbox {
	_Atomic(struct letter *) head;
	int fd; /* eventfd, non-blocking */
};

/* 0 or -errno. */
int mailbox_init(struct mailbox *m) MUST_CHECK;

/* Letters that nobody opened are opened now, by the caller: nothing leaks.  No sender is left. */
void mailbox_fini(struct mailbox *m);

static inline int mailbox_fd(const struct mailbox *m)
{
	return m->fd;
}

/* Any thread.  Never fails, never blocks. */
void mailbox_post(struct mailbox *m, struct letter *l);

/* The receiver, when the fd is readable: opens every letter that has arrived, in order. */
void mailbox_open_all(struct mailbox *m);
