#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""The native ring once more, in Python: what a key's owner is, from the rules alone.

    ring_reference.py --write     writes native-vectors.json beside this file
    ring_reference.py --check     exits 1 when that file is not what --write would write
    ring_reference.py --owner KEY NAME[*WEIGHT]...    one key, by hand

The C ring is tested against the file, the file against this program.  Nothing is shared with the C code but the rules
at the head of ring/ring.h: points are sorted as (position, name), found by binary search, the ejected are walked past,
weights are exact decimals, differences come from asking both rings about every stretch between two points.
"""

import argparse
import bisect
import decimal
import difflib
import fractions
import json
import os
import pathlib
import struct
import sys

try:
    import xxhash
except ImportError:
    if os.environ.get("RINGWAY_TESTS_STRICT") == "1":
        raise
    print("skipped: python3-xxhash is not installed")
    sys.exit(77)

VECTORS = pathlib.Path(__file__).with_name("native-vectors.json")
CIRCLE = 1 << 64
NOBODY = -1


def xxh3(data):
    return xxhash.xxh3_64_intdigest(data, seed=0)


def points_of(points, weight):
    exact = decimal.Decimal(points) * decimal.Decimal(weight)
    rounded = int((exact + decimal.Decimal("0.5")).to_integral_value(decimal.ROUND_FLOOR))
    return max(rounded, 1) if decimal.Decimal(weight) > 0 else 0


def key_tag(key, tag):
    if not tag:
        return key
    before, found, rest = key.partition(tag[:1])
    inner, closed, _ = rest.partition(tag[1:])
    return inner if found and closed and inner else key


class Ring:
    """nodes: [(name as bytes, weight as decimal text)]; a node is known by its index."""

    def __init__(self, nodes, points, ejected=()):
        self.nodes = nodes
        self.counts = [points_of(points, weight) for _, weight in nodes]
        self.ejected = frozenset(ejected)
        self.points = sorted(
            (xxh3(b"%s#%d" % (name, j)), name, index)
            for index, (name, _) in enumerate(nodes)
            for j in range(self.counts[index])
        )
        self.positions = [p[0] for p in self.points]

    def clockwise(self, position):
        start = bisect.bisect_left(self.positions, position)
        for i in range(len(self.points)):
            yield self.points[(start + i) % len(self.points)][2]

    def owner(self, position, ejected=frozenset()):
        return next((node for node in self.clockwise(position) if node not in ejected), NOBODY)

    def living_owner(self, position):
        return self.owner(position, self.ejected)

    def heirs(self, position, most):
        found = []
        for node in self.clockwise(position):
            if len(found) == most:
                break
            if node not in found:
                found.append(node)
        return found

    def name(self, node):
        return None if node == NOBODY else self.nodes[node][0]

    def checksum(self):
        names = sorted({name for _, name, _ in self.points})
        numbers = {name: number for number, name in enumerate(names)}
        data = b"".join(bytes([len(name)]) + name for name in names)
        data += b"".join(struct.pack("<QQ", at, numbers[name]) for at, name, _ in self.points)
        return xxh3(data)

    def shares(self):
        owned = [0] * len(self.nodes)
        for i, (at, _, node) in enumerate(self.points):
            previous = self.positions[i - 1] if i else self.positions[-1] - CIRCLE
            owned[node] += at - previous
        return [float(fractions.Fraction(arc, CIRCLE)) for arc in owned]


def difference(old, new):
    arcs = []
    lasts = sorted({*old.positions, *new.positions, CIRCLE - 1})
    for first, last in zip([0] + [last + 1 for last in lasts], lasts):
        before, after = old.living_owner(last), new.living_owner(last)
        if old.name(before) == new.name(after):
            continue
        if arcs and arcs[-1][1] == first - 1 and arcs[-1][2:] == [before, after]:
            arcs[-1][1] = last
        else:
            arcs.append([first, last, before, after])
    moved = sum(last - first + 1 for first, last, _, _ in arcs)
    return arcs, float(fractions.Fraction(moved, CIRCLE))


# ---- what goes into the file ----

LENGTHS = [*range(1, 20), 31, 32, 33, 63, 64, 65, 127, 128, 129, 239, 240, 241, 255, 256, 257, 511, 512, 513]
LENGTHS += [1023, 1024, 1025, 2049]

ODD_KEYS = [
    b"", b"a", b"\0", b"\0\0", b"\xff", b"\r\n", b"user 1", bytes(range(256)),
    "schl\u00fcssel:\u00e9".encode(), "\u65e5\u672c\u8a9e:\U0001f511".encode(),
]
TAG_KEYS = [
    b"{user:1}", b"{user:1}:name", b"name:{user:1}", b"user:1", b"a{}b{c}", b"a{{b}}c", b"a{b", b"}a{b}", b"{\0\xff}x",
    b"a<b>c", b"a$b$c", b"{}",
]
USERS = [b"user:%d" % i for i in range(120)]


def named(count, prefix=b"cache-", weight="1"):
    return [(prefix + b"%d" % i, weight) for i in range(1, count + 1)]


def sized(length):
    return bytes((i * 7 + length) % 256 for i in range(length))


ODD_NAMES = [
    (b" ", "1"), (b"\0", "1"), (b"\xff", "1"), (b"\xff\0", "1"), (b"#", "1"), (b"a", "1"), (b"a#1", "1"), (b"a#", "1"),
    ("k\u00fchl-\u6771".encode(), "1.5"), (b"x" * 128, "0.25"), (b"10.0.0.1:6379", "1"), (b"unix:/run/a b.sock", "1"),
]
WEIGHTS = [(b"w0", "0"), (b"w0.001", "0.001"), (b"w0.5", "0.5"), (b"w1.5", "1.5"), (b"w1", "1"), (b"w2.25", "2.250")]
HALVES = [
    (b"h0.5", "0.5"), (b"h0.499", "0.499"), (b"h0.501", "0.501"), (b"h0.1", "0.1"), (b"h0.3", "0.3"),
    (b"h1.1", "1.1"), (b"h0.015", "0.015"), (b"h0", "0.000"),
]

# what, points, hash tag, nodes, indices of the ejected, keys
POOLS = [
    ("three equal nodes", 512, b"{}", named(3), [], ODD_KEYS + TAG_KEYS + USERS),
    ("keys of all lengths", 512, b"{}", named(7), [2], [sized(n) for n in LENGTHS]),
    ("weights", 512, b"{}", WEIGHTS, [], ODD_KEYS + USERS),
    ("weights, the largest ejected", 512, b"{}", WEIGHTS, [5], USERS),
    ("a thousand times the weight", 8, b"{}", [(b"a", "1000"), (b"b", "999.999"), (b"c", "0.001"), (b"d", "12.345")],
     [0], USERS),
    ("one node", 512, b"{}", named(1), [], ODD_KEYS),
    ("one node of one point", 1, b"{}", named(1, weight="0.001"), [], ODD_KEYS),
    ("one node, ejected", 512, b"{}", named(1), [0], ODD_KEYS),
    ("no nodes", 512, b"{}", [], [], ODD_KEYS),
    ("nobody has weight", 512, b"{}", named(3, weight="0"), [], ODD_KEYS),
    ("a hundred nodes", 512, b"{}", named(100, b"10.1.0.1:70"), list(range(3, 100, 10)), ODD_KEYS + USERS),
    ("names of any bytes", 64, b"{}", ODD_NAMES, [1, 8], ODD_KEYS + USERS),
    ("names of any bytes, listed backwards", 64, b"{}", ODD_NAMES[::-1], [0], USERS[:40]),
    ("few points, half are ejected", 1, b"{}", named(40, b"n"), list(range(0, 40, 2)), ODD_KEYS + USERS),
    ("all are ejected", 16, b"{}", named(5), [0, 1, 2, 3, 4], USERS[:10]),
    ("all but one are ejected", 16, b"{}", named(5), [0, 1, 2, 4], USERS[:10]),
    ("no hash tags", 32, b"", named(9), [], TAG_KEYS),
    ("other hash tags", 32, b"<>", named(9), [], TAG_KEYS),
    ("one character twice", 32, b"$$", named(9), [], TAG_KEYS),
    ("halves go up, 5 points", 5, b"{}", HALVES, [], USERS[:40]),
    ("halves go up, 100 points", 100, b"{}", HALVES, [], USERS[:40]),
    ("halves go up, 1 point", 1, b"{}", HALVES, [], USERS[:40]),
]

# what, points, nodes and ejected before, nodes and ejected after
CHANGES = [
    ("one joins", 8, named(4), [], named(5), []),
    ("one leaves", 8, named(5), [], [n for n in named(5) if n[0] != b"cache-2"], []),
    ("one is replaced", 8, named(4), [], named(3) + [(b"new", "1")], []),
    ("the list is turned round", 8, named(4), [1], named(4)[::-1], [2]),
    ("one grows", 8, named(4), [], named(3) + [(b"cache-4", "2.5")], []),
    ("one shrinks to nothing", 8, named(4), [], named(3) + [(b"cache-4", "0")], []),
    ("one is ejected", 8, named(4), [], named(4), [2]),
    ("one returns while another goes", 8, named(4), [2], named(4), [0]),
    ("an ejected one is removed", 8, named(4), [3], named(3), []),
    ("all are ejected", 4, named(3), [], named(3), [0, 1, 2]),
    ("from nothing", 4, [], [], named(3), []),
    ("to nothing", 4, named(3), [], [], []),
    ("odd names", 4, ODD_NAMES, [], ODD_NAMES[3:], [1]),
    ("one of twenty joins", 64, named(19), [4], named(20), [4]),
]


def text_or_hex(field, data):
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return {field + "_hex": data.hex()}
    return {field: text} if text.isprintable() and len(data) <= 128 else {field + "_hex": data.hex()}


def node_rows(ring):
    return [
        {**text_or_hex("name", name), "weight": weight, "points": count}
        for (name, weight), count in zip(ring.nodes, ring.counts)
    ]


def key_row(ring, tag, key):
    position = xxh3(key_tag(key, tag))
    return {
        **text_or_hex("key", key),
        "position": "%016x" % position,
        "owner": ring.owner(position),
        "living": ring.living_owner(position),
        "heirs": ring.heirs(position, 3),
    }


def pool_entry(what, points, tag, nodes, ejected, keys):
    ring = Ring(nodes, points, ejected)
    return {
        "what": what,
        "points": points,
        "hash_tag": tag.decode(),
        "ejected": ejected,
        "checksum": "%016x" % ring.checksum(),
        "nodes": [{**row, "share": share} for row, share in zip(node_rows(ring), ring.shares())],
        "keys": [key_row(ring, tag, key) for key in keys],
    }


def change_entry(what, points, before, before_ejected, after, after_ejected):
    old, new = Ring(before, points, before_ejected), Ring(after, points, after_ejected)
    arcs, moved = difference(old, new)
    return {
        "what": what,
        "points": points,
        "moved": moved,
        "from_ejected": before_ejected,
        "to_ejected": after_ejected,
        "from": node_rows(old),
        "to": node_rows(new),
        "arcs": [["%016x" % first, "%016x" % last, b, a] for first, last, b, a in arcs],
    }


def dump(value, depth=0):
    """JSON with one node, key or arc a line, so that a change shows as lines."""
    pad = "  " * depth
    if isinstance(value, dict) and depth < 3 and any(isinstance(v, list) for v in value.values()):
        rows = ["%s  %s: %s" % (pad, json.dumps(k), dump(v, depth + 1)) for k, v in value.items()]
        return "{\n%s\n%s}" % (",\n".join(rows), pad)
    if isinstance(value, list) and any(isinstance(v, (dict, list)) for v in value):
        return "[\n%s\n%s]" % (",\n".join(pad + "  " + dump(v, depth + 1) for v in value), pad)
    return json.dumps(value, ensure_ascii=True)


def vectors():
    return dump({
        "about": "Written by ring_reference.py; do not edit.  Nodes are known by their index; -1 is nobody.",
        "pools": [pool_entry(*pool) for pool in POOLS],
        "changes": [change_entry(*change) for change in CHANGES],
    }) + "\n"


def check():
    want = vectors().splitlines(keepends=True)
    have = VECTORS.read_text(encoding="ascii").splitlines(keepends=True)
    if want == have:
        return 0
    sys.stdout.writelines(list(difflib.unified_diff(have, want, VECTORS.name, "regenerated", n=0))[:40])
    return 1


def show_owner(key, nodes):
    parsed = [(n.encode(), w or "1") for n, _, w in (node.partition("*") for node in nodes)]
    ring = Ring(parsed, 512)
    position = xxh3(key_tag(os.fsencode(key), b"{}"))
    print("%016x %s" % (position, (ring.name(ring.owner(position)) or b"nobody").decode()))
    return 0


def main():
    parser = argparse.ArgumentParser(description="The native ring, in Python.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true")
    what.add_argument("--check", action="store_true")
    what.add_argument("--owner", metavar="KEY")
    parser.add_argument("nodes", nargs="*", metavar="NAME[*WEIGHT]")
    args = parser.parse_args()
    if args.owner is not None:
        return show_owner(args.owner, args.nodes)
    if args.write:
        VECTORS.write_text(vectors(), encoding="ascii")
        return 0
    return check()


if __name__ == "__main__":
    sys.exit(main())
