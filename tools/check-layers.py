#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Checks every #include against tools/layers.txt: own headers go downward only, libraries stay in their fence."""
import argparse
import os
import re
import sys
import tempfile

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
SKIP = {'.git', 'build', 'docs', 'tools', 'cmake', 'packaging'}


class Rules:
    def __init__(self, path):
        self.layers, self.fences = {}, {}
        with open(path, encoding='utf-8') as f:
            for number, line in enumerate(f, 1):
                line = line.split('#')[0].strip()
                if not line:
                    continue
                head, colon, rest = line.partition(':')
                kind, _, name = head.partition(' ')
                table = {'layer': self.layers, 'fence': self.fences}.get(kind)
                if table is None or not colon or not name.strip():
                    sys.exit(f'{path}:{number}: neither a layer nor a fence')
                table.setdefault(name.strip(), []).extend(rest.split())
        for layer, allowed in self.layers.items():
            for other in allowed:
                if other != '*' and other not in self.layers:
                    sys.exit(f'{path}: {layer} names {other}, which is no layer')

    def layer_of(self, path):
        """The longest layer that holds the path, or None."""
        fits = [name for name in self.layers if under(path, name)]
        return max(fits, key=len, default=None)

    def wrong(self, path, own, library):
        """Why this include is wrong, or None."""
        if library:
            for header, places in self.fences.items():
                if library.startswith(header) and not any(under(path, p) for p in places):
                    return f'<{library}> is fenced: only {", ".join(places)} may include it'
            return None
        layer, target = self.layer_of(path), self.layer_of(own)
        if layer is None:
            return f'no layer in tools/layers.txt holds {path}'
        if target is None:
            return f'"{own}": includes go by full path from the top folder'
        allowed = self.layers[layer]
        if target == layer or '*' in allowed or target in allowed:
            return None
        return f'{layer} may not include {target} ("{own}")'


def under(path, place):
    return path == place or path.startswith(place.rstrip('/') + '/')


def sources(root):
    for folder, subfolders, files in os.walk(root):
        subfolders[:] = sorted(s for s in subfolders if not (folder == root and (s in SKIP or s.startswith('build'))))
        for name in sorted(files):
            if name.endswith(('.c', '.h')):
                yield os.path.relpath(os.path.join(folder, name), root)


def check(root, rules):
    """[(path, line number, why)]"""
    out = []
    for path in sources(root):
        with open(os.path.join(root, path), encoding='utf-8', errors='replace') as f:
            for number, line in enumerate(f, 1):
                m = INCLUDE.match(line)
                why = m and rules.wrong(path, m[1], m[2])
                if why:
                    out.append((path, number, why))
    return out


PLANTED = [  # a file, what it includes, whether that is wrong
    ('base/low.c', '"router/core/client.h"', True),
    ('base/low.c', '"base/str.h"', False),
    ('ring/low.c', '"router/conf/conf.h"', True),
    ('router/wire/low.c', '<event2/event.h>', True),
    ('router/core/split.c', '<event2/event.h>', True),
    ('router/core/worker.c', '<event2/event.h>', False),
    ('router/conf/low.c', '<xxhash.h>', True),
    ('router/upstream/up.c', '"router/core/request.h"', True),
    ('router/core/up.c', '"router/upstream/server.h"', False),
    ('router/core/up.c', '"server.h"', True),
    ('router/main.c', '"router/admin/http.h"', False),
    ('router/nowhere/x.c', '"base/str.h"', True),
]


def self_test(rules):
    """Plants includes in a tree of its own: each must be judged as the table says."""
    bad = 0
    for path, what, wrong in PLANTED:
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, os.path.dirname(path)))
            with open(os.path.join(root, path), 'w', encoding='utf-8') as f:
                f.write(f'#include <stdio.h>\n#include {what}\n')
            found = check(root, rules)
            ok = bool(found) == wrong and all(line == 2 for _, line, _ in found)
            bad += not ok
            print(f'{"ok" if ok else "FAIL":4} {path}: {what} is {"refused" if found else "allowed"}')
    return bad


def main():
    opts = argparse.ArgumentParser(description=__doc__)
    opts.add_argument('--self-test', action='store_true', help='show that planted wrong includes are caught')
    o = opts.parse_args()
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    rules = Rules(os.path.join(root, 'tools/layers.txt'))
    if o.self_test:
        sys.exit(self_test(rules) > 0)
    found = check(root, rules)
    for path, number, why in found:
        print(f'{path}:{number}: {why}')
    files = len(list(sources(root)))
    if not files:
        sys.exit('no source file found')
    print(f'{files} files, {len(found)} includes against the layers')
    sys.exit(len(found) > 0)


if __name__ == '__main__':
    main()
