#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Writes docs/metrics.md from the tables in router/metrics/; --check only compares and fails on a difference."""

import argparse
import difflib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLES = ROOT / "router" / "metrics"
PAGE = ROOT / "docs" / "metrics.md"

HEAD = """# Metrics

<!-- Written by tools/gen_metrics_doc.py from router/metrics/*_list.h: change those, then run it. -->

The admin address serves these under `/metrics` in Prometheus's text format. Counters only grow and start at 0 with the
process; gauges say how things are now. Times are in seconds, sizes in bytes.

"""

ROUTER = """## The router

Summed over its workers; no labels.

"""

NODES = """
## Nodes

Labels: `pool`, `node` (its name) and `address`. Bytes of a name that are not UTF-8, or not printable, appear as `\\xNN`.

"""

HISTOGRAMS = """
## Latencies

Histograms: `_bucket` with the label `le`, `_sum` and `_count`. The router measures finer than it prints: a measured
step that reaches over a bound is counted in the next bucket, so a bucket never holds what may be above its bound, and
may lack at most the last eighth below it. Families and nodes that saw no request yet are left out.

"""


def rows(name):
    """The X(...) rows of a table: lists of their arguments, strings without quotes."""
    found = []
    for number, line in enumerate((TABLES / name).read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("X("):
            continue
        if not re.fullmatch(r'X\((?:\w+|"(?:[^"\\]|\\.)*")(?:, (?:\w+|"(?:[^"\\]|\\.)*"))*\)', line):
            sys.exit(f"{name}:{number}: a row must be X(a, \"b\", ...) on one line")
        found.append([word or text for word, text in re.findall(r'"((?:[^"\\]|\\.)*)"|(\w+)', line[2:-1])])
    if not found:
        sys.exit(f"{name}: no rows")
    return found


def table(head, lines):
    out = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    out += ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join(out) + "\n"


def numbers(name, prefix):
    kinds = {"METRIC_COUNTER": "counter", "METRIC_GAUGE": "gauge"}
    return table(("name", "kind", "meaning"),
                 [(f"`{prefix}{metric}`", kinds[kind], text) for _, kind, metric, text in rows(name)])


def histograms():
    labels = {"HM_REQUEST": "`family`", "HM_NODE_REQUEST": "`pool`, `node`, `address`"}
    return table(("name", "labels", "meaning"),
                 [(f"`ringway_{metric}`", labels[ident], text) for ident, metric, text in rows("histogram_list.h")])


def page():
    bounds = ", ".join(le for _, le in rows("latency_bound_list.h"))
    families = ", ".join(f"`{text}`" for _, text in rows("../wire/cmd_family_list.h"))
    return (HEAD + ROUTER + numbers("metric_list.h", "ringway_") + NODES
            + numbers("node_metric_list.h", "ringway_node_") + HISTOGRAMS + histograms()
            + f"\nBounds: {bounds}, +Inf.\n\nFamilies of commands: {families}.\n")


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--check", action="store_true", help="write nothing; exit 1 when the page is not up to date")
    check = args.parse_args().check
    new = page()
    if not check:
        PAGE.write_text(new, encoding="utf-8")
        return 0
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    diff = difflib.unified_diff(old.splitlines(), new.splitlines(), "docs/metrics.md", "the tables", lineterm="")
    for line in diff:
        print(line)
    return 0 if old == new else 1


if __name__ == "__main__":
    sys.exit(main())
