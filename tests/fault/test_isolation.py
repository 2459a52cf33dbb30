# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Real servers that freeze, die and come back: a sick node delays its own keys and nothing else."""
import time

import pytest

from faults import SLACK, is_lost, ms, seconds, timed_out, unavailable
from harness import wait_until
from resp import OK, SLOW, Error

DEADLINE = 300


@pytest.fixture(params=[1, 3], ids=['1w', '3w'])
def three(new_fleet, request):
    fleet = new_fleet(3, threads=request.param, sets={'timeouts.request': ms(DEADLINE)})
    with fleet.client() as c:
        for name in fleet.nodes:
            for key in fleet.keys(name, 20):
                assert c.call('SET', key, 'at ' + name) == OK
    return fleet


def test_a_frozen_node_delays_only_its_own_keys(three):
    keys = {name: three.keys(name, 20) for name in three.nodes}
    mixed = [(name, keys[name][i]) for i in range(5) for name in ('n1', 'n2', 'n3')]
    want = {'n1': b'at n1', 'n2': timed_out('n2', DEADLINE), 'n3': b'at n3'}
    victims, client = [three.client() for _ in range(6)], three.client()
    three['n2'].pause()
    for v in victims:
        for name, key in mixed:
            v.cmd('GET', key)
    times = []
    for i in range(100):
        name = ('n1', 'n3')[i % 2]
        start = time.monotonic()
        assert client.call('GET', keys[name][i % 20]) == b'at ' + name.encode()
        times.append(time.monotonic() - start)
    for v in victims:
        assert [v.reply() for _ in mixed] == [want[name] for name, _ in mixed]
    times.sort()
    assert times[90] < 0.05 * SLOW, f'others were slowed down: {times[90] * 1000:.0f} ms at the 90th percentile'
    three['n2'].resume()
    wait_until(lambda: client.call('GET', keys['n2'][0]) == b'at n2', what='the node being served again')


def test_a_short_freeze_costs_time_but_no_error(three):
    key, client = three.key('n2'), three.client()
    three['n2'].pause()
    client.cmd('GET', key)
    client.quiet(seconds(DEADLINE) / 3)
    three['n2'].resume()
    assert client.reply() == b'at n2'


def test_a_killed_node_is_told_and_its_return_is_noticed(three):
    key, client = three.key('n2'), three.client()
    refused = unavailable('n2', 'connection refused')
    three['n2'].kill()
    seen = set()
    wait_until(lambda: seen.add(client.call('GET', key)) or refused in seen, what='the refusal')
    assert all(r == refused or is_lost(r) for r in seen)
    assert client.call('GET', three.key('n1')) == b'at n1'
    three['n2'].restart()
    start = time.monotonic()
    wait_until(lambda: not isinstance(client.call('GET', key), Error), what='the return being noticed')
    assert time.monotonic() - start < 1 + SLACK


def test_a_write_that_ran_out_may_still_happen_but_never_out_of_order(three):
    """SET a, SET b behind a freeze: after it, the key holds b, never a."""
    key, client = three.key('n2'), three.client()
    three['n2'].pause()
    lost = timed_out('n2', DEADLINE, write=True)
    assert client.pipeline(('SET', key, 'a'), ('SET', key, 'b')) == [lost, lost]
    three['n2'].resume()
    assert wait_until(lambda: client.call('GET', key), what='an answer') == b'b'
