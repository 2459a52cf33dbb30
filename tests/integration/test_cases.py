# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Every protocol case of tests/cases, one test each, over three nodes: with one worker and with three.

With RINGWAY_TESTS_TARGET=redis the same cases run against one plain redis-server, which shows that what they expect
is what Redis does.
"""
import glob
import os
import sys

import pytest

import harness

CASES = os.path.join(harness.ROOT, 'tests/cases')
sys.path.insert(0, CASES)

import cases  # noqa: E402

ALL = [case for path in sorted(glob.glob(f'{CASES}/*.case')) for case in cases.load(path)]
assert len(ALL) > 50, 'tests/cases is not what it was'


@pytest.mark.control
@pytest.mark.parametrize('case', ALL, ids=lambda c: c.name)
def test_case(case, fleet):
    router = isinstance(fleet.router, harness.Router)
    if 'router' in case.needs and not router:
        pytest.skip('needs several nodes')
    if case.proto == 'memcached' or case.needs - {'router', 'wipe'}:
        pytest.skip(f'needs {case.proto} {" ".join(case.needs)}')
    run = cases.Run(case, fleet.router.addr, harness.SLOW)
    run.deadline = cases.time.monotonic() + case.limit * harness.SLOW
    try:
        run.run()
    except (cases.Fail, OSError) as e:
        pytest.fail(f'{case.name}\n  why: {case.why}\n  {e}', pytrace=False)
