/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * Keys that are refused by name until what they configure is there: X(owner, key, what).
 */
X(ROUTER, "zookeeper", "membership through ZooKeeper")
X(ROUTER, "snapshot_dir", "keeping the last membership on disk")
X(POOL, "memcached_listen", "listening for memcached clients")
X(POOL, "ring.eject", "choosing how the ring skips a node")
X(POOL, "ring.hash", "choosing the hash of a key")
X(POOL, "accept_moved_keys", "moving keys of a store by a reload")
X(POOL, "while_pending", "choosing what a request meets while its node is in doubt")
X(POOL, "rejoin", "cleaning a node that returns")
X(POOL, "pubsub", "choosing where subscriptions are held")
X(POOL, "health", "tuning the checks of nodes")
X(POOL, "reads", "choosing among a node's servers")
X(NODE, "replicas", "serving from a node's replicas")
X(NODE, "scan_id", "choosing the scan id of a node")
