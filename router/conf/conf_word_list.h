/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/* X(type, value, word, help): the words that options of a choosing type take. */
X(ROLE, ROLE_STORE, "store", "data that must not get lost: nothing is ever ejected, flushed or swept")
X(ROLE, ROLE_CACHE, "cache", "data that can be made again")
X(MULTIKEY, MULTIKEY_OWNER, "owner", "when all keys happen to have one owner")
X(MULTIKEY, MULTIKEY_TAG, "tag", "only when all keys carry one hash tag")
X(ON_FAILURE, ON_FAILURE_FAIL_FAST, "fail_fast", "their requests are answered -UNAVAILABLE at once")
X(ON_FAILURE, ON_FAILURE_EJECT, "eject", "the other nodes take them over until the node is back; not built in yet")
X(LOG_LEVEL, LOG_ERROR, "error", "somebody must act")
X(LOG_LEVEL, LOG_WARN, "warn", "degraded, going on")
X(LOG_LEVEL, LOG_INFO, "info", "a state changed")
X(LOG_LEVEL, LOG_DEBUG, "debug", "each connection")
