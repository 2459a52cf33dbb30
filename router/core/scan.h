/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * SCAN over a fleet, without state: the cursor that a client carries is
 *
 *	the node's cursor * 65536 + the node's scan id
 *
 * so it is valid at every router.  Nodes are visited in the order of their scan ids; 0 comes only at
 * the very end.  A node's scan id is its place in the list of nodes.
 */

#include "router/core/dispatch.h"

void scan_start(struct call *call);

/* The node's answer is there: the cursor is made the client's, foreign keys are dropped. */
void scan_merge(struct request *r);
