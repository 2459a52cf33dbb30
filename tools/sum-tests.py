#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Adds up JUnit files of ctest and pytest: a line per file, then the sum. Fails when a test failed or none ran."""
import argparse
import os
import sys
import xml.etree.ElementTree as ET


def counts(path):
    """(passed, failed, skipped) of one file; a file that can't be read is a failure of its own."""
    try:
        root = ET.parse(path).getroot()
    except (OSError, ET.ParseError):
        return 0, 1, 0
    results = {}
    for case in root.iter('testcase'):  # one that fails and then fails again while cleaning up comes twice
        name = (case.get('classname'), case.get('name'))
        if case.find('failure') is not None or case.find('error') is not None:
            results[name] = 1
        elif case.find('skipped') is not None or case.get('status') in ('notrun', 'disabled'):
            results.setdefault(name, 2)
        else:
            results.setdefault(name, 0)
    return tuple(list(results.values()).count(kind) for kind in (0, 1, 2))


def sentence(passed, failed, skipped):
    return f'{passed} passed, {failed} failed' + (f', {skipped} skipped' if skipped else '')


def main():
    opts = argparse.ArgumentParser(description=__doc__)
    opts.add_argument('--broken', metavar='STAGE', help='a stage that failed: one failure even if no test says so')
    opts.add_argument('files', nargs='*')
    o = opts.parse_args()
    sums = [0, 0, 0]
    for path in o.files:
        one = counts(path)
        sums = [a + b for a, b in zip(sums, one)]
        print(f'{os.path.basename(path)[:-4]:24} {sentence(*one)}')
    if o.broken and not sums[1]:
        print(f'{o.broken:24} failed')
        sums[1] = 1
    print(sentence(*sums))
    sys.exit(sums[1] > 0 or sums[0] == 0)


if __name__ == '__main__':
    main()
