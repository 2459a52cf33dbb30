/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * X(id, text): what the router does with a command.  `text` is for the documentation.
 */
X(POLICY_ONE, "forwarded to the owner of its keys")
X(POLICY_SPLIT_VALUES, "split by owner, values merged in the order asked (MGET)")
X(POLICY_SPLIT_PAIRS, "split by owner, +OK when every part is (MSET)")
X(POLICY_SPLIT_SUM, "split by owner, counts added (DEL, EXISTS ...)")
X(POLICY_LOCAL, "answered by the router")
X(POLICY_ANY, "without a key: any node may answer")
X(POLICY_ALL, "every node is asked, answers are merged")
X(POLICY_PRIVATE, "blocks: on a private connection")
X(POLICY_SCRIPT, "by its keys, with the script's body at hand")
X(POLICY_TX, "transactions: on a private connection")
X(POLICY_PUBSUB, "subscriptions")
X(POLICY_SCAN, "cursor over all nodes")
X(POLICY_REFUSED, "refused, with the reason")
