# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Fixtures of the tests that run real processes, and the checks around every one of them: the router is alive and
silent after each test, its log is shown when the test failed, and nothing of ours runs when the session is over."""
import os
import sys

import pytest

sys.path[:0] = [os.path.join(os.path.dirname(__file__), 'integration')]

import harness  # noqa: E402

TARGET = os.environ.get('RINGWAY_TESTS_TARGET', 'router')  # or redis: the tests' own expectations against one Redis


def pytest_collection_modifyitems(items):
    for item in items:
        if 'long' in item.keywords and os.environ.get('RINGWAY_LONG') != '1':
            item.add_marker(pytest.mark.skip(reason='long: RINGWAY_LONG=1 runs it'))
        if TARGET == 'redis' and 'control' not in item.keywords:
            item.add_marker(pytest.mark.skip(reason='needs a router'))


@pytest.fixture
def new_fleet():
    """new_fleet(3, threads=1, sets={...}): redis nodes and a router of this test's own; or new_fleet([node, ...])."""
    made = []

    def make(nodes=3, **router):
        if isinstance(nodes, int):
            nodes = [harness.RedisServer(f'n{i + 1}').start() for i in range(nodes)]
        fleet = harness.Fleet(nodes, **router)
        made.append(fleet)
        return fleet.start()

    yield make
    errors = []
    for fleet in made:
        try:
            fleet.stop()
        except AssertionError as e:
            errors.append(str(e))
    assert not errors, '\n'.join(errors)


@pytest.fixture(scope='module', params=[1, 3], ids=['1w', '3w'])
def fleet(request):
    """Three redis nodes and a router with 1 and with 3 workers, shared by the tests of a file."""
    if TARGET == 'redis':
        yield from one_redis(request.param)
        return
    nodes = [harness.RedisServer(f'n{i + 1}').start() for i in range(3)]
    shared = harness.Fleet(nodes, threads=request.param)
    try:
        yield shared.start()
    finally:
        shared.stop()


def one_redis(workers):
    """In place of a fleet: the single node is everything's owner."""
    if workers > 1:
        pytest.skip('one redis-server has no workers')
    node = harness.RedisServer('redis').start()
    fleet = harness.Fleet([node])
    harness.processes.remove(fleet.router)
    fleet.router = node
    yield fleet
    fleet.stop()


@pytest.fixture(autouse=True)
def routers_stay_well(request):
    yield
    bad = [why for why in (p.died() for p in harness.processes if p.wanted) if why]
    for p in harness.processes:
        if isinstance(p, harness.Router) and p.wanted and not p.alive:
            p.start()  # for the tests that share it: one failure is enough
    assert not bad, '; '.join(bad)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.failed:
        for p in harness.processes:
            if (isinstance(p, harness.Router) and p.alive) or p.died():
                report.sections.append((f'log of {p.name}', p.log_tail(80)))


def pytest_sessionfinish(session, exitstatus):
    keep = exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    left = harness.finish(keep)
    if keep:
        print(f'\nlogs are kept in {harness.TEMP}')
    if left:
        print(f'\nstill running after the tests, now killed: {left}')
        session.exitstatus = 1
