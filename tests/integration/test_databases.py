# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""How many databases there are is what every node has; a pool may start its clients in another than 0."""

import pytest

from harness import HOST, RedisServer, Router
from resp import OK, Client
from test_config import FileRouter, pool, start  # noqa: F401 (start is a fixture)


def nodes_with(start, *databases):  # noqa: F811
    return [start(RedisServer(f'n{i}', args=['--databases', str(n)])) for i, n in enumerate(databases)]


@pytest.mark.parametrize('threads', [1, 3])
def test_select_goes_as_far_as_every_node(start, threads):  # noqa: F811
    nodes = nodes_with(start, 40, 20)
    router = start(Router([(n.name, f'{HOST}:{n.port}') for n in nodes], threads=threads))
    with Client(router.addr) as c:
        # in one write: each command in the database that is chosen by then
        replies = c.pipeline(('SET', 'k', 'zero'), ('SELECT', '19'), ('SET', 'k', 'nineteen'), ('GET', 'k'), ('SELECT', '20'),
                             ('GET', 'k'), ('SELECT', '0'), ('GET', 'k'), ('SELECT', '-1'), ('CONFIG', 'GET', 'databases'))
        assert replies[:4] == [OK, OK, OK, b'nineteen']
        assert str(replies[4]) == 'ERR DB index is out of range'
        assert replies[5:8] == [b'nineteen', OK, b'zero']
        assert str(replies[8]) == 'ERR DB index is out of range'
        assert replies[9] == [b'databases', b'20']


def test_nobody_there_to_say(start):  # noqa: F811
    node = nodes_with(start, 4)[0]
    router = start(Router([(node.name, f'{HOST}:{node.port}')]))
    node.kill()
    with Client(router.addr) as c:
        assert c.call('SELECT', '15') == OK
        assert str(c.call('SELECT', '16')) == 'ERR DB index is out of range'


def test_a_pool_starts_its_clients_in_its_database(start):  # noqa: F811
    nodes = nodes_with(start, 16)
    router = start(FileRouter(f'pools:\n{pool("main", nodes, "  database: 3" + chr(10))}'))
    with Client(router.addr) as c, Client(nodes[0].addr) as direct:
        assert c.call('SET', 'k', 'v') == OK
        direct.call('SELECT', 3)
        assert direct.call('GET', 'k') == b'v'
        assert c.call('SELECT', '0') == OK and c.call('GET', 'k') is None
        assert c.call('SET', 'other', 'v') == OK
        c.call('RESET')
        assert c.call('GET', 'k') == b'v'
        keyspace = c.call('INFO', 'keyspace')  # by the numbers that SELECT takes
        assert b'db0:keys=1,' in keyspace and b'db3:keys=1,' in keyspace


def test_swapdb_is_for_a_single_node(start):  # noqa: F811
    nodes = nodes_with(start, 16, 16)
    with Client(start(Router([(n.name, f'{HOST}:{n.port}') for n in nodes])).addr) as c:
        assert 'swapdb' in str(c.call('SWAPDB', 0, 1))
    with Client(start(Router([(nodes[0].name, f'{HOST}:{nodes[0].port}')])).addr) as c:
        assert c.call('SET', 'swapped', 'v') == OK
        assert c.pipeline(('SWAPDB', 0, 1), ('GET', 'swapped'), ('SELECT', 1), ('GET', 'swapped')) == [OK, None, OK, b'v']
