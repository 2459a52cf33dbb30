/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * One number space for failures: 0 is success, -errno is the system's, and our own start
 * below -1000.  Functions that can fail return int and are MUST_CHECK; rw_strerror() makes the
 * text.
 */

#include "base/compiler.h"

#define RW_ERR_BASE (-1001)

enum rw_err_position {
#define X(name, text) POS_##name,
#include "base/err_list.h"
#undef X
	RW_ERR_COUNT
};

enum rw_err_code {
#define X(name, text) name = RW_ERR_BASE - POS_##name,
#include "base/err_list.h"
#undef X
};

/* Text for 0, -errno and RW_E*.  Static, never NULL.  Any thread. */
const char *rw_strerror(int err);
