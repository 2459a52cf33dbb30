# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Every protocol case of tests/cases, one test each: over three and over seven nodes, with one worker and with three;
and over a single node those that make sense there.

With RINGWAY_TESTS_TARGET=redis the same cases run against one plain redis-server, which shows that what they expect
is what Redis does.
"""
import glob
import os
import sys
import types

import pytest

import harness

CASES = os.path.join(harness.ROOT, 'tests/cases')
sys.path.insert(0, CASES)

import cases  # noqa: E402

ALL = [case for path in sorted(glob.glob(f'{CASES}/*.case')) for case in cases.load(path)]
assert len(ALL) > 100, 'tests/cases is not what it was'

TO_REDIS = os.environ.get('RINGWAY_TESTS_TARGET') == 'redis'
SHAPES = [(3, 1), (3, 3), (7, 1), (7, 3), (1, 1)]  # nodes, workers


@pytest.fixture(scope='module', params=[(1, 0)] if TO_REDIS else SHAPES, ids=lambda s: '%dn%dw' % s)
def fleet(request):
    count, threads = request.param
    nodes = [harness.RedisServer(f'n{i + 1}').start() for i in range(count)]
    if TO_REDIS:
        yield types.SimpleNamespace(router=nodes[0], nodes=nodes)
        nodes[0].kill()
        return
    shared = harness.Fleet(nodes, threads=threads)
    try:
        yield shared.start()
    finally:
        shared.stop()


@pytest.mark.control
@pytest.mark.parametrize('case', ALL, ids=lambda c: c.name)
def test_case(case, fleet):
    if 'router' in case.needs and len(fleet.nodes) == 1:
        pytest.skip('needs several nodes')
    if case.proto == 'memcached' or case.needs - {'router', 'wipe'}:
        pytest.skip(f'needs {case.proto} {" ".join(case.needs)}')
    run = cases.Run(case, fleet.router.addr, harness.SLOW)
    run.deadline = cases.time.monotonic() + case.limit * harness.SLOW
    try:
        run.run()
    except (cases.Fail, OSError) as e:
        pytest.fail(f'{case.name}\n  why: {case.why}\n  {e}', pytrace=False)
