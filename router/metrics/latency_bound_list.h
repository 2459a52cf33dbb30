/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * X(us, le): upper bounds of the latency histograms' buckets in /metrics, ascending: in microseconds, and in
 * seconds as the `le` label says it.  +Inf comes after the last.
 */
X(50, "0.00005")
X(100, "0.0001")
X(250, "0.00025")
X(500, "0.0005")
X(1000, "0.001")
X(2500, "0.0025")
X(5000, "0.005")
X(10000, "0.01")
X(25000, "0.025")
X(50000, "0.05")
X(100000, "0.1")
X(250000, "0.25")
X(500000, "0.5")
X(1000000, "1")
X(2500000, "2.5")
