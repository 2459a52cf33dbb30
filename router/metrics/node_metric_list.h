/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * X(id, kind, name, help): numbers per node, with the labels pool, node and address; prefix ringway_node_.
 */
X(NM_REQUESTS, METRIC_COUNTER, "requests_total", "Commands sent to the node (a split request counts once a node).")
X(NM_REPLIES_ERROR, METRIC_COUNTER, "error_replies_total", "Error replies of the node.")
X(NM_INFLIGHT, METRIC_GAUGE, "inflight", "Commands sent or queued whose reply is not complete.")
X(NM_CONNECTIONS, METRIC_GAUGE, "connections", "Connections that are ready.")
X(NM_CONNECTS, METRIC_COUNTER, "connects_total", "Connection attempts.")
X(NM_CONNECT_FAILURES, METRIC_COUNTER, "connect_failures_total", "Connection attempts that failed: refused, timed out, no route, authentication.")
X(NM_DISCONNECTS, METRIC_COUNTER, "disconnects_total", "Ready connections that were lost or closed for being stuck.")
X(NM_MOVED, METRIC_COUNTER, "moved_total", "Connections exchanged because the node's name leads elsewhere.")
X(NM_TIMEOUTS, METRIC_COUNTER, "timeouts_total", "Commands whose reply did not come within the deadline.")
X(NM_LATE_REPLIES, METRIC_COUNTER, "late_replies_total", "Replies that came after the deadline and were dropped.")
X(NM_UNAVAILABLE, METRIC_COUNTER, "unavailable_total", "Commands answered -UNAVAILABLE because of this node.")
X(NM_RETRIES, METRIC_COUNTER, "retries_total", "Commands sent a second time after their connection was refused or lost.")
X(NM_RETRIES_DENIED, METRIC_COUNTER, "retries_denied_total", "Commands that failed because retry.budget was used up.")
X(NM_QUEUE_FULL, METRIC_COUNTER, "queue_full_total", "Commands refused because upstream.queue was full.")
X(NM_LEASED, METRIC_GAUGE, "private_leased", "Private connections in use: clients that block, or are inside WATCH or MULTI.")
X(NM_LEASES_REFUSED, METRIC_COUNTER, "private_refused_total", "Commands refused because upstream.private_per_node connections were in use, or file descriptors were short.")
X(NM_SHARED_REFUSED, METRIC_COUNTER, "shared_refused_total", "Commands refused because all shared connections that may be open beside the default one were in use.")
X(NM_IDLE_CLOSED, METRIC_COUNTER, "idle_closed_total", "Shared connections closed because nobody used them.")
X(NM_READ_BYTES, METRIC_COUNTER, "read_bytes_total", "Bytes read from the node.")
X(NM_WRITE_BYTES, METRIC_COUNTER, "written_bytes_total", "Bytes written to the node.")
X(NM_AUTH_ALARMS, METRIC_COUNTER, "auth_alarms_total", "NOAUTH and WRONGPASS answers of the node to the router.")
