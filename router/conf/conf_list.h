/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * THE option table: X(scope, type, reload, key, field, default, min, max, unit, help).
 *
 * A row makes `--set key=value`, the key of the configuration file, the line of -t, the range check, the lines of
 * --help, docs/options.md and packaging/ringway.yml; so a new option is a field in conf.h and a row here, and nothing
 * else.  Order is the order of printing.  In the file a dot is a mapping: `limits: {clients: ...}`; rows of one mapping
 * stand together.
 *
 * scope   ROUTER: `field` is in struct conf.  POOL: in struct conf_pool, and set for the pool that --pool names.
 * type    decides syntax and C type (checked when compiling): see conf_types[] in conf_option.c.
 * reload  RELOAD: may change on SIGHUP.  RESTART: a reload that would change it is refused.
 * default, min, max   as a user writes them.  Types that are not a number leave min and max empty.
 * unit    what a plain number counts.
 * help    one sentence for people; it may not repeat the default or the range.
 */
X(ROUTER, THREADS, RESTART, "threads", threads, "1", "1", "256", "threads",
	"Worker threads, each with its own clients and its own connections to the nodes.")
X(ROUTER, ADDR, RESTART, "admin", admin, "none", "", "", "",
	"Where /metrics, /healthz and /readyz are served over HTTP.")
X(ROUTER, TIME, RESTART, "admin_timeout", admin_timeout_ns, "5s", "10ms", "60m", "",
	"An admin connection that is silent for so long is closed.")
X(ROUTER, NAME, RESTART, "router_name", router_name, "auto", "", "", "",
	"What this router calls itself; auto: the address of its first listener.")
X(ROUTER, PATH, RESTART, "ready_file", ready_file, "none", "", "", "",
	"Written when the router serves: one kind=address per line.")
X(ROUTER, LOG_LEVEL, RELOAD, "log_level", log_level, "info", "", "", "",
	"The most detailed lines that are logged.")
X(ROUTER, TIME, RELOAD, "drain_timeout", drain_timeout_ns, "30s", "0", "60m", "",
	"How long a stopping router lets clients finish what is outstanding.")
X(ROUTER, TIME, RESTART, "resolve_wait", resolve_wait_ns, "2s", "0", "60m", "",
	"How long a starting router waits for nodes' names to be looked up before it serves without them.")
X(ROUTER, MODE, RESTART, "unix_socket_mode", unix_socket_mode, "0", "0", "777", "",
	"Permissions of the files of unix sockets that are listened on, in octal; 0: what the umask leaves.")
X(ROUTER, TIME, RESTART, "tcp.keepalive_idle", keepalive.idle_ns, "60s", "0", "540m", "",
	"A client that is silent for so long is asked by TCP whether it is there; 0: it is not.")
X(ROUTER, TIME, RESTART, "tcp.keepalive_interval", keepalive.interval_ns, "10s", "1s", "540m", "",
	"Pause between two such questions.")
X(ROUTER, U32, RESTART, "tcp.keepalive_count", keepalive.count, "6", "1", "127", "questions",
	"Questions without an answer after which a client is gone, unless tcp.user_timeout says when.")
X(ROUTER, TIME, RESTART, "tcp.user_timeout", keepalive.user_timeout_ns, "120s", "0", "1440m", "",
	"A client that has acknowledged nothing sent to it for so long is gone, one that takes nothing too; 0: after "
	"what the kernel does by itself.")
X(ROUTER, U32, RELOAD, "limits.clients", limits.clients, "50000", "1", "1000000", "clients",
	"Clients connected at a time; the next one is refused with an error.")
X(ROUTER, SIZE, RELOAD, "limits.client_output_buffer", limits.client_output_buffer, "64mb", "1kb", "64gb", "",
	"Replies kept for a client that does not take them, before it is closed; a single larger reply is let "
	"through.")
X(ROUTER, SIZE, RELOAD, "limits.request_size", limits.request_size, "512mb", "1kb", "64gb", "",
	"Size of one whole request; a larger one is an error that closes the connection.")
X(ROUTER, SIZE, RELOAD, "limits.memory", limits.memory, "2gb", "1mb", "1024gb", "",
	"Bytes in buffers of all clients and nodes; beyond it requests are answered -OVERLOADED.")
X(ROUTER, TIME, RELOAD, "limits.idle_timeout", limits.idle_timeout_ns, "0", "0", "10080m", "",
	"A client without a request for so long is closed; 0: never.")
X(ROUTER, TIME, RELOAD, "limits.proxy_header", limits.proxy_header_ns, "5s", "1ms", "60m", "",
	"Behind a load balancer that speaks the PROXY protocol: a client whose header is not there after this is closed.")
X(ROUTER, U32, RELOAD, "limits.pipeline", limits.pipeline, "1024", "1", "1000000", "requests",
	"Requests of one client that may be outstanding; then it is not read until a reply is complete.")
X(ROUTER, SIZE, RELOAD, "limits.bulk", limits.bulk, "4mb", "1kb", "64gb", "",
	"Requests above this size do not share a connection to a node with others.")
X(ROUTER, SIZE, RELOAD, "limits.scripts", limits.scripts, "16mb", "0", "64gb", "",
	"Bodies of scripts kept, so that EVALSHA finds them on every node; one above a sixteenth of it is not kept.")

X(POOL, ROLE, RESTART, "role", role, "store", "", "", "",
	"What the nodes are to their users, and so what may be done to their data.")
X(POOL, PROTOCOL, RESTART, "protocol", protocol, "redis", "", "", "",
	"What the nodes speak.")
X(POOL, U32, RESTART, "database", database, "0", "0", "1023", "",
	"The database that a client starts in, as if it had sent SELECT.")
X(POOL, MULTIKEY, RESTART, "multikey", multikey, "owner", "", "", "",
	"Which commands with several keys are taken, of those that can't be split.")
X(POOL, ON_FAILURE, RESTART, "on_failure", on_failure, "fail_fast", "", "", "",
	"What becomes of the keys of a node that is down.")
X(POOL, BOOL, RESTART, "sole_router", sole_router, "false", "", "", "",
	"This router is the only one in front of these nodes, so it may decide alone.")
X(POOL, RING_MODE, RESTART, "ring.mode", ring_mode, "native", "", "", "",
	"Which ring decides where a key lives.")
X(POOL, U32, RESTART, "ring.points", ring_points, "512", "1", "100000", "points",
	"Points on the ring of a node of weight 1; all routers of a fleet need the same number.")
X(POOL, TAG, RESTART, "ring.hash_tag", ring_hash_tag, "{}", "", "", "",
	"The two characters that enclose the part of a key that chooses its node.")
X(POOL, TIME, RESTART, "timeouts.connect", connect_timeout_ns, "250ms", "1ms", "10m", "",
	"A connect to a node is given up after this.")
X(POOL, TIME, RESTART, "timeouts.request", request_timeout_ns, "1s", "1ms", "60m", "",
	"Deadline of a request, from the moment it is wholly read.")
X(POOL, TIME, RESTART, "timeouts.slow", slow_timeout_ns, "60s", "1ms", "1440m", "",
	"Deadline of commands that take long by nature: KEYS, FLUSHALL, scripts and the like.")
X(POOL, U32, RESTART, "retry.reads", retry_reads, "1", "0", "10", "attempts",
	"How often a read that met a lost connection is sent again.")
X(POOL, PERCENT, RESTART, "retry.budget", retry_budget, "20%", "0%", "100%", "",
	"Share of the requests of the last 10 s that may be sent again.")
X(POOL, BOOL, RESTART, "upstream.preconnect", preconnect, "true", "", "", "",
	"Each worker connects to each node at start, not with the first request.")
X(POOL, TIME, RESTART, "upstream.backoff", backoff_ns, "50ms", "1ms", "10m", "",
	"Pause after the first failed connect to a node; it doubles with each further one.")
X(POOL, TIME, RESTART, "upstream.backoff_max", backoff_max_ns, "1s", "1ms", "10m", "",
	"Longest pause between two connects to a node.")
X(POOL, TIME, RESTART, "upstream.stuck_floor", stuck_floor_ns, "3s", "1ms", "60m", "",
	"A connection whose oldest request is unanswered for three times its deadline, and at least so long, is "
	"closed.")
X(POOL, U32, RESTART, "upstream.private_per_node", private_per_node, "1024", "1", "1000000", "connections",
	"Connections to one node that belong to a single client at a time: transactions, blocking commands.")
X(POOL, TIME, RESTART, "upstream.private_idle", private_idle_ns, "60s", "1ms", "1440m", "",
	"Such a connection is closed after being unused for so long.")
X(POOL, U32, RESTART, "upstream.shared_per_node", shared_per_node, "64", "1", "2048", "connections",
	"Connections to one node that a worker's clients share beside that of the pool's own database: one for each other "
	"database and RESP version in use.")
X(POOL, TIME, RESTART, "upstream.shared_idle", shared_idle_ns, "60s", "1ms", "1440m", "",
	"Such a connection is closed after being unused for so long; only that of the pool's own database stays.")
X(POOL, U32, RESTART, "upstream.queue", queue, "8192", "1", "10000000", "requests",
	"Requests that a worker holds for a node that is not connected or does not answer; beyond it "
	"-OVERLOADED.")
X(POOL, TIME, RESTART, "upstream.resolve", resolve_ns, "30s", "10ms", "1440m", "",
	"A node's name is looked up this often, and whenever a connect to it begins.")
X(POOL, TIME, RESTART, "upstream.resolve_pause", resolve_pause_ns, "1s", "1ms", "60m", "",
	"Between two look-ups of one name is at least this, whatever happens.")
X(POOL, TIME, RESTART, "upstream.keepalive_idle", keepalive.idle_ns, "10s", "0", "540m", "",
	"A node that is silent for so long is asked by TCP whether it is there; 0: it is not.")
X(POOL, TIME, RESTART, "upstream.keepalive_interval", keepalive.interval_ns, "3s", "1s", "540m", "",
	"Pause between two such questions.")
X(POOL, U32, RESTART, "upstream.keepalive_count", keepalive.count, "3", "1", "127", "questions",
	"Questions without an answer after which a node's connection is lost, unless upstream.user_timeout says when.")
X(POOL, TIME, RESTART, "upstream.user_timeout", keepalive.user_timeout_ns, "10s", "0", "1440m", "",
	"A connection whose node has acknowledged nothing sent to it for so long is lost; 0: after what the kernel does "
	"by itself.")
