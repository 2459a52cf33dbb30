/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * Keys of the configuration file that are not options: X(owner, kind, key, field, need, min, max, help).
 *
 * With conf_list.h this is all that a file may hold; a key with a dot stands in a mapping, `node_auth: {user: ...}`.
 *
 * owner   ROUTER: the top level.  POOL, CLIENT, NODE: each entry of pools, clients, nodes.
 * kind    TEXT, or a list: TEXTS, POOLS, CLIENTS, NODES.
 * field   in struct file_conf, file_pool, file_client, file_node (conf_schema.h), where libcyaml puts the text.
 * need    REQUIRED or OPTIONAL.
 * min, max   of a list: how long it may be.  A list of at least one is left out, not empty.
 */
X(ROUTER, POOLS, "pools", pools, OPTIONAL, 0, 256, "The pools: sets of nodes, each with listeners of its own.")

X(POOL, TEXT, "name", name, REQUIRED, 0, 0, "What this pool is called in flags, logs and metrics.")
X(POOL, TEXTS, "listen", listen, OPTIONAL, 0, 256,
	"Addresses where clients of this pool are served; `ADDR proxy`: behind a load "
	"balancer, clients begin with a PROXY protocol header, version 2.")
X(POOL, CLIENTS, "clients", clients, OPTIONAL, 1, 1000,
	"Users that clients log in as. Left out: one user `default` who needs no password.")
X(POOL, TEXT, "node_auth.user", node_user, OPTIONAL, 0, 0, "The user that the router logs in as at the nodes.")
X(POOL, TEXT, "node_auth.password_file", node_password_file, OPTIONAL, 0, 0,
	"The file whose first line is the nodes' password.")
X(POOL, NODES, "nodes", nodes, OPTIONAL, 0, 65535, "The nodes that the keys are spread over.")

X(CLIENT, TEXT, "user", user, REQUIRED, 0, 0,
	"The user's name; connections that have not logged in are the user `default`, if there is one.")
X(CLIENT, TEXTS, "password_files", password_files, OPTIONAL, 1, 2,
	"Files whose first line is a password; each of the two is right. Left out: none is needed.")
X(CLIENT, TEXTS, "deny", deny, OPTIONAL, 0, 1000,
	"Commands that this user may not run: `KEYS`, `config|set`, a category such as `\"@dangerous\"`.")

X(NODE, TEXT, "name", name, OPTIONAL, 0, 0,
	"Decides which keys the node owns; without it the address as written does.")
X(NODE, TEXT, "address", address, REQUIRED, 0, 0, "Where the node is: `host:port`, `[v6]:port`, `unix:/path`.")
X(NODE, TEXT, "weight", weight, OPTIONAL, 0, 0, "Its share of the keys: 0 .. 1000 with at most 3 decimals. Left out: 1.")
