/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * SHA1 (FIPS 180-4), by which Redis names scripts.  For names only: it is no protection against anybody.  Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"

#define SHA1_SIZE 20

void sha1(const void *bytes, size_t n, uint8_t ret[SHA1_SIZE]);

/* The hash that 40 hexadecimal digits of either case are.  False: they are not. */
bool sha1_of_hex(struct span hex, uint8_t ret[SHA1_SIZE]) MUST_CHECK;
