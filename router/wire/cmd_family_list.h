/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * X(id, text): families of commands, the `family` label of the latency histograms.
 */
X(FAMILY_GET, "get")
X(FAMILY_SET, "set")
X(FAMILY_MGET, "mget")
X(FAMILY_MSET, "mset")
X(FAMILY_DEL, "del")
X(FAMILY_STRING, "string")
X(FAMILY_KEY, "key")
X(FAMILY_HASH, "hash")
X(FAMILY_LIST, "list")
X(FAMILY_SET_TYPE, "set_type")
X(FAMILY_ZSET, "zset")
X(FAMILY_STREAM, "stream")
X(FAMILY_GEO, "geo")
X(FAMILY_HLL, "hyperloglog")
X(FAMILY_BITMAP, "bitmap")
X(FAMILY_SCRIPT, "script")
X(FAMILY_PUBSUB, "pubsub")
X(FAMILY_TX, "transaction")
X(FAMILY_CONNECTION, "connection")
X(FAMILY_SERVER, "server")
