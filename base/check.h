/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * CHECK(x): our own bugs, in every build.  A broken invariant prints where and what, and aborts.
 * Never for input: what a peer, a file or the kernel says is a return code.
 *
 * CHECK_KIND(ptr, MAGIC): objects that cross a void * begin with `uint32_t magic`; the first line
 * of every callback says what it expects to have been given.
 */

#include "base/compiler.h"

#define CHECK(x) \
	do { \
		if (UNLIKELY(!(x))) \
			check_failed(__FILE__, __LINE__, __func__, #x); \
	} while (0)

#define CHECK_KIND(ptr, want) CHECK((ptr) != NULL && (ptr)->magic == (want))

/* The end of a switch over an enum, and other places that can't be reached. */
#define UNREACHABLE() check_failed(__FILE__, __LINE__, __func__, "unreachable")

/* Prints one line to stderr and aborts.  Any thread. */
NORETURN void check_failed(const char *file, int line, const char *func, const char *what);
