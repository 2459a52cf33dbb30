# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""WAIT with real replicas: it counts those that have what this client wrote, and never one that has not."""
import os
import time

import pytest

import harness
from harness import HOST, wait_until
from resp import OK, PONG, SLOW, Error

SLACK = 0.4 * SLOW
QUICK = ['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1']


class Replicated(harness.RedisServer):
    """A node with so many replicas, which are its own processes."""

    def __init__(self, name, count):
        super().__init__(name, args=QUICK)
        self.replicas = [harness.RedisServer(f'{name}r{i}', args=[*QUICK, '--replicaof', f'{HOST} {self.port}'])
                         for i in range(count)]

    def start(self):
        super().start()
        for replica in self.replicas:
            replica.args[-1] = f'{HOST} {self.port}'
            replica.start()
        for replica in self.replicas:
            wait_until(lambda: replica.call('ROLE')[3] == b'connected', 20, f'{replica.name} following')
        wait_until(lambda: self.call('INFO', 'replication').count(b'state=online') == len(self.replicas), 20,
                   'the replicas being online')
        return self

    def kill(self):
        for replica in self.replicas:
            replica.kill()
        super().kill()


@pytest.fixture(scope='module', params=[1, 3], ids=['1w', '3w'])
def fleet(request):
    """n1 has two replicas, n2 has one, n3 has none. A single Redis in their place has one."""
    if os.environ.get('RINGWAY_TESTS_TARGET') == 'redis':
        if request.param > 1:
            pytest.skip('one redis-server has no workers')
        node = Replicated('redis', 1).start()
        alone = harness.Fleet([node])
        harness.processes.remove(alone.router)
        alone.router = node
        yield alone
        alone.stop()
        return
    shared = harness.Fleet([Replicated(f'n{i}', count).start() for i, count in ((1, 2), (2, 1), (3, 0))],
                           threads=request.param)
    try:
        yield shared.start()
    finally:
        shared.stop()


def with_a_replica(fleet):
    """(a node with one replica, a key of its)"""
    name = 'n2' if len(fleet.nodes) > 1 else 'n1'
    return fleet[name], fleet.key(name, 'wait')


@pytest.fixture
def stopped(fleet):
    """That node while its replica stands still."""
    node, key = with_a_replica(fleet)
    node.replicas[0].pause()
    yield node, key
    node.replicas[0].resume()
    with node.client() as c:
        wait_until(lambda: c.call('PING') == PONG and c.call('WAIT', 1, 500) == 1, 20, 'the replica catching up')


# ---- also of one Redis -----------------------------------------------------------------------------------------------
@pytest.mark.control
def test_wrong_arguments(fleet):
    client = fleet.client()
    assert client.pipeline(('WAIT',), ('WAIT', 1), ('WAIT', 'x', 1), ('WAIT', 1, 'x'), ('WAIT', 1, -1), ('WAIT', 1, 2, 3),
                           ('PING',)) == [
        Error("ERR wrong number of arguments for 'wait' command"), Error("ERR wrong number of arguments for 'wait' command"),
        Error('ERR value is not an integer or out of range'), Error('ERR timeout is not an integer or out of range'),
        Error('ERR timeout is negative'), Error("ERR wrong number of arguments for 'wait' command"), PONG]


@pytest.mark.control
def test_a_replica_that_follows_counts(fleet):
    node, key = with_a_replica(fleet)
    client = fleet.client()
    for i in range(20):
        assert client.pipeline(('SET', key, i), ('WAIT', 1, 5000), ('GET', key)) == [OK, 1, b'%d' % i]
        assert node.replicas[0].call('GET', key) == b'%d' % i


@pytest.mark.control
def test_a_stopped_replica_is_not_counted(fleet, stopped):
    _, key = stopped
    client = fleet.client()
    for i in range(5):
        start = time.monotonic()
        assert client.pipeline(('SET', key, i), ('WAIT', 1, 200), ('GET', key)) == [OK, 0, b'%d' % i]
        assert 0.19 < time.monotonic() - start < 0.2 + SLACK


@pytest.mark.control
def test_a_stopped_replica_is_not_counted_when_the_write_is_long_done(fleet, stopped):
    """Whatever connection WAIT takes, it has to know of what came over another one."""
    _, key = stopped
    client = fleet.client()
    assert client.call('SET', key, 'x') == OK
    time.sleep(0.05)
    for _ in range(3):
        assert client.call('WAIT', 1, 100) == 0
    assert client.pipeline(('MULTI',), ('SET', key, 1), ('EXEC',))[2] == [OK]
    assert client.call('WAIT', 1, 100) == 0
    client.call('RPUSH', key + ':l{' + key + '}', 'x')
    assert client.call('WAIT', 1, 100) == 0


@pytest.mark.control
def test_a_replica_that_goes_on_ends_the_wait(fleet, stopped):
    node, key = stopped
    client = fleet.client()
    assert client.call('SET', key, 'late') == OK
    client.cmd('WAIT', 1, 0)
    client.quiet(0.3)
    node.replicas[0].resume()
    assert client.reply(20 * SLOW) == 1
    assert node.replicas[0].call('GET', key) == b'late'


@pytest.mark.control
def test_a_client_that_leaves_while_it_waits(fleet, stopped):
    _, key = stopped
    for end in ('close', 'reset') * 5:
        client = fleet.router.client()
        client.call('SET', key, 'x')
        client.cmd('WAIT', 1, 0)
        getattr(client, end)()
    wait_until(lambda: not any(b'cmd=wait' in line and b'flags=b' in line for node in fleet.nodes.values()
                               for line in node.call('CLIENT', 'LIST').splitlines()), what='nobody waiting at a node')
    assert fleet.client().call('SET', key, 'y') == OK


@pytest.mark.control
def test_inside_a_transaction_it_does_not_wait(fleet, stopped):
    _, key = stopped
    client, start = fleet.client(), time.monotonic()
    replies = client.pipeline(('MULTI',), ('SET', key, 1), ('WAIT', 1, 0), ('EXEC',))
    assert replies[3] == [OK, 0] and time.monotonic() - start < SLACK


@pytest.mark.control
def test_what_is_pipelined_behind_comes_after(fleet, stopped):
    _, key = stopped
    client = fleet.client()
    assert client.pipeline(('SET', key, 0), ('WAIT', 1, 100), ('INCR', key), ('WAIT', 1, 100), ('INCR', key), ('GET', key)) == \
        [OK, 0, 1, 0, 2, b'2']


# ---- several nodes ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize('names, expected', [('n1', 2), ('n2', 1), ('n3', 0), ('n1 n2', 1), ('n1 n3', 0), ('n1 n2 n3', 0)])
def test_the_least_of_the_nodes_that_were_written_to(fleet, names, expected):
    client = fleet.client()
    for i in range(3):
        for name in names.split():
            assert client.call('SET', fleet.key(name, 'least'), i) == OK
        assert client.call('WAIT', expected, 5000) == expected
        assert client.call('WAIT', 2, 100) == expected


def test_reading_a_node_is_no_write(fleet):
    client = fleet.client()
    client.pipeline(('SET', fleet.key('n1', 'read'), 1), ('GET', fleet.key('n3', 'read')))
    assert client.call('WAIT', 2, 5000) == 2


def test_the_parts_of_a_split_write_are_writes(fleet):
    client, keys = fleet.client(), [fleet.key(name, 'parts') for name in fleet.nodes]
    assert client.pipeline(('MSET', keys[0], 1, keys[1], 1), ('WAIT', 1, 5000)) == [OK, 1]
    assert client.pipeline(('MSET', keys[0], 1, keys[2], 1), ('WAIT', 1, 100)) == [OK, 0]


def test_one_stopped_replica_of_two(fleet):
    node, client = fleet['n1'], fleet.client()
    node.replicas[0].pause()
    try:
        assert client.call('SET', fleet.key('n1'), 1) == OK
        assert client.call('WAIT', 1, 5000) == 1
        start = time.monotonic()
        assert client.call('WAIT', 2, 300) == 1
        assert 0.28 < time.monotonic() - start < 0.3 + SLACK
    finally:
        node.replicas[0].resume()


def test_the_timeout_is_for_all_nodes_together(fleet):
    client = fleet.client()
    for name in fleet.nodes:
        client.call('SET', fleet.key(name, 'all'), 1)
    start = time.monotonic()
    assert client.call('WAIT', 3, 300) == 0
    assert 0.28 < time.monotonic() - start < 0.3 + SLACK
