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
    suites = [root] if root.tag == 'testsuite' else root.findall('testsuite')
    total = failed = skipped = 0
    for s in suites:
        total += int(s.get('tests', 0))
        failed += int(s.get('failures', 0)) + int(s.get('errors', 0))
        skipped += int(s.get('skipped', 0)) + int(s.get('disabled', 0))
    return max(0, total - failed - skipped), failed, skipped


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
