/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * X(id, kind, name, help): numbers of the whole router, summed over workers.  `name` follows Prometheus's rules
 * and gets the prefix ringway_.
 */
X(M_CLIENTS, METRIC_GAUGE, "clients", "Clients connected now.")
X(M_CLIENTS_ACCEPTED, METRIC_COUNTER, "clients_accepted_total", "Client connections accepted.")
X(M_CLIENTS_REFUSED, METRIC_COUNTER, "clients_refused_total", "Client connections refused because limits.clients was reached or file descriptors ran out.")
X(M_CLIENTS_CLOSED_OUTPUT, METRIC_COUNTER, "clients_closed_output_total", "Clients closed because they did not take their replies.")
X(M_CLIENTS_CLOSED_IDLE, METRIC_COUNTER, "clients_closed_idle_total", "Clients closed because they sent nothing for limits.idle_timeout.")
X(M_CLIENTS_CLOSED_SILENT, METRIC_COUNTER, "clients_closed_silent_total", "Clients closed because they fell silent inside a large request.")
X(M_CLIENTS_CLOSED_PROTOCOL, METRIC_COUNTER, "clients_closed_protocol_total", "Clients closed after a protocol error.")
X(M_CLIENTS_CLOSED_PROXY, METRIC_COUNTER, "clients_closed_proxy_total", "Clients of a PROXY listener closed because they did not begin with a valid header in time.")
X(M_CLIENTS_BLOCKED, METRIC_GAUGE, "clients_blocked", "Clients inside a command that waits at its node: BLPOP and its like, XREAD BLOCK, WAIT.")
X(M_ACCEPT_ERRORS, METRIC_COUNTER, "accept_errors_total", "Failed accepts, running out of file descriptors included.")
X(M_REQUESTS, METRIC_COUNTER, "requests_total", "Requests wholly read from clients.")
X(M_REQUESTS_LOCAL, METRIC_COUNTER, "requests_local_total", "Requests answered by the router itself.")
X(M_REQUESTS_SPLIT, METRIC_COUNTER, "requests_split_total", "Requests split over several nodes.")
X(M_REQUESTS_PENDING, METRIC_GAUGE, "requests_pending", "Requests read and not yet answered.")
X(M_ERRORS_UNAVAILABLE, METRIC_COUNTER, "errors_unavailable_total", "Requests answered -UNAVAILABLE.")
X(M_ERRORS_TIMEOUT, METRIC_COUNTER, "errors_timeout_total", "Requests that ran out of time, counted in errors_unavailable_total too.")
X(M_ERRORS_OVERLOADED, METRIC_COUNTER, "errors_overloaded_total", "Requests answered -OVERLOADED.")
X(M_ERRORS_CROSSSLOT, METRIC_COUNTER, "errors_crossslot_total", "Requests answered -CROSSSLOT.")
X(M_ERRORS_CLIENT, METRIC_COUNTER, "errors_client_total", "Requests that the router found wrong itself: unknown command, wrong arity, not served.")
X(M_UNTAGGED_MULTIKEY, METRIC_COUNTER, "untagged_multikey_total", "Multi-key commands without a hash tag that happened to have one owner.")
X(M_SCRIPTS_LOADED, METRIC_COUNTER, "scripts_loaded_total", "Bodies of scripts that were sent to a node ahead of an EVALSHA, because it might not have them.")
X(M_SCRIPTS_DROPPED, METRIC_COUNTER, "scripts_dropped_total", "Bodies of scripts that were forgotten because limits.scripts was reached.")
X(M_CLIENT_READ_BYTES, METRIC_COUNTER, "client_read_bytes_total", "Bytes read from clients.")
X(M_CLIENT_WRITE_BYTES, METRIC_COUNTER, "client_written_bytes_total", "Bytes written to clients.")
X(M_BUFFER_BYTES, METRIC_GAUGE, "buffer_bytes", "Bytes of buffers in use: requests being read, requests on their way, replies not yet taken.")
X(M_RESOLVES, METRIC_COUNTER, "resolves_total", "Look-ups of nodes' names.")
X(M_RESOLVE_FAILURES, METRIC_COUNTER, "resolve_failures_total", "Look-ups of nodes' names that found no address.")
X(M_LOOP_TURNS, METRIC_COUNTER, "loop_turns_total", "Turns of the workers' event loops.")
