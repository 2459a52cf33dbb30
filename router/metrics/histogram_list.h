/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * X(id, name, help): latency histograms, in seconds, with the buckets of latency_bound_list.h; prefix ringway_.
 */
X(HM_REQUEST, "request_duration_seconds", "From a request wholly read to its reply complete, as clients see it, by command family.")
X(HM_NODE_REQUEST, "node_request_duration_seconds", "From a request wholly read to the node's reply complete.")
