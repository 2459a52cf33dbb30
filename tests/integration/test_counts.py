# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""No request costs more instructions or system calls than was recorded: tests/bench/counts.py in its quick form."""
import os
import shutil
import subprocess
import sys

import pytest

import harness
from harness import MARK, SESSION

BINARY = os.path.join(harness.ROOT, 'build/release/bin/ringway')
SOURCES = ('base', 'ring', 'membership', 'router', 'cmake', 'CMakeLists.txt')
SKIP = 77


def newest(path):
    if os.path.isfile(path):
        return os.path.getmtime(path)
    return max((os.path.getmtime(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names),
               default=0)


def why_not():
    if 'RINGWAY_SANITIZER' in os.environ:
        return 'counts are those of the Release build'
    for program in ('valgrind', 'strace'):
        if not shutil.which(program):
            return f'{program} is not installed'
    if not os.path.exists(BINARY):
        return 'there is no Release build: ./dev build'
    if os.path.getmtime(BINARY) < max(newest(os.path.join(harness.ROOT, source)) for source in SOURCES):
        return 'the Release build is older than the sources: ./dev build'
    return None


def test_no_request_costs_more_than_recorded():
    reason = why_not()
    if reason:
        pytest.skip(reason)
    p = subprocess.run([sys.executable, '-B', os.path.join(harness.ROOT, 'tests/bench/counts.py'), '--check', '--quick',
                        '--workloads', 'mix32,p16,mget100'], capture_output=True, text=True, timeout=300,
                       env={**os.environ, MARK: SESSION})
    if p.returncode == SKIP:
        pytest.skip((p.stderr or p.stdout).strip().splitlines()[-1])
    assert p.returncode == 0, p.stdout + p.stderr
