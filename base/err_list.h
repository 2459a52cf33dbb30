/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * X(name, text): every error of ours, once.  System errors travel as -errno beside them.
 */
X(RW_ENOTFOUND, "not found")
X(RW_ERANGE, "out of range")
X(RW_ESYNTAX, "syntax error")
X(RW_EDUPLICATE, "named twice")
X(RW_EEMPTY, "empty")
X(RW_ERESOLVE, "name does not resolve")
X(RW_EPROTOCOL, "protocol error")
X(RW_ELIMIT, "limit reached")
