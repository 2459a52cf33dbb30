/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * Flags of the command line, in the order of --help: X(flag, argument, kind, key, group, help).
 *
 * kind OPTION: sets the option `key`, whose default --help shows.  SWITCH: sets it to true.  LATER: refused; the help
 * says what is not there yet, and --help leaves the flag out.  The others each have a case in conf_argv.c.
 */
X("--listen", "ADDR", LISTEN, "", "Clients", "Serve Redis clients here. May be given several times. `ADDR proxy`: behind a load balancer, "
	"clients begin with a PROXY protocol header, version 2.")
X("--memcached-listen", "ADDR", LATER, "", "Clients", "listening for memcached clients")
X("--admin", "ADDR", OPTION, "admin", "Clients", "Serve /metrics, /healthz and /readyz here.")
X("--pool", "NAME", POOL, "", "Nodes",
	"Name of the pool that these flags make, default main; with -c, of the pool in the file that they change.")
X("--node", "[NAME=]ADDR[*WEIGHT]", NODE, "", "Nodes",
	"A node. May be given several times; with -c these are all the nodes of the pool. Its name decides which keys it owns; without NAME it is its address as "
	"written. WEIGHT: 0 .. 1000 with at most 3 decimals; default 1.")
X("--role", "cache|store", OPTION, "role", "Nodes", "What the nodes are to their users.")
X("--sole-router", "", SWITCH, "sole_router", "Nodes", "No other router serves these nodes.")
X("--zookeeper", "HOSTS[/ROOT]", LATER, "", "Nodes", "membership through ZooKeeper")
X("-c", "FILE", FILE, "", "Running",
	"Read this configuration file first; the flags then change one pool of it and win. SIGHUP reads both again.")
X("--nutcracker-config", "FILE", LATER, "", "Running", "reading a nutcracker configuration")
X("--threads", "N|auto", OPTION, "threads", "Running", "Worker threads.")
X("--set", "KEY=VALUE", SET, "", "Running",
	"Set any option of the list below. May be given several times; of two that set one option the later wins.")
X("--ready-file", "FILE", OPTION, "ready_file", "Running",
	"Write the addresses served to FILE when the router serves.")
X("--log-level", "LEVEL", OPTION, "log_level", "Running", "error, warn, info or debug.")
X("-t", "", TEST, "", "Running", "Check the configuration, print what is in effect, exit 0 or 1.")
X("--version", "", VERSION, "", "Running", "Print the version and exit.")
X("--help", "", HELP, "", "Running", "Print this and exit.")
