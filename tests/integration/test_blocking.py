# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Commands that wait at a node: BLPOP and its kin, XREAD and XREADGROUP BLOCK, CLIENT UNBLOCK.

Nodes that die meanwhile are tests/fault/test_private.py's.
"""
import re
import statistics
import threading
import time

import pytest

from harness import wait_until
from resp import OK, PONG, SLOW, Closed, Error, Late, encode
from test_connection import redis, same_from_empty  # noqa: F401 (redis is a fixture)

CROSSSLOT = Error("CROSSSLOT Keys in request don't hash to the same slot")
SLACK = 0.4 * SLOW  # what a busy machine may add, in seconds
UNBLOCKED = Error('UNBLOCKED client unblocked via CLIENT UNBLOCK')


def blocked_at_nodes(fleet):
    """How many node connections wait."""
    return sum(len(re.findall(rb'flags=\w*b', node.call('CLIENT', 'LIST'))) for node in fleet.nodes.values())


def wait_blocked(fleet, count):
    seen = []

    def look():
        seen[:] = [blocked_at_nodes(fleet)]
        return seen[0] == count
    try:
        wait_until(look, 10, f'{count} clients blocked at the nodes')
    except AssertionError as e:
        raise AssertionError(f'{e}: {seen[0]} are') from None


# ---- one conversation with both ------------------------------------------------------------------------------------
CONVERSATIONS = r'''
RPUSH {t}l a b c | BLPOP {t}l 0 | BRPOP {t}none {t}l 0 | BLMOVE {t}l {t}m LEFT RIGHT 0 | BRPOPLPUSH {t}m {t}l 0 | LRANGE {t}l 0 -1
BLPOP {t}none 0.05 | PING | BRPOP {t}none {t}nil 0.05 | BLMOVE {t}a {t}b LEFT RIGHT 0.05 | BRPOPLPUSH {t}a {t}b 0.05
BZPOPMIN {t}none 0.05 | BZPOPMAX {t}none {t}nil 0.05 | BLMPOP 0.05 2 {t}a {t}b LEFT | BZMPOP 0.05 1 {t}a MIN | PING
ZADD {t}z 1 a 2.5 b 3 c | BZPOPMIN {t}z 0 | BZPOPMAX {t}none {t}z 0 | BZMPOP 0 2 {t}none {t}z MAX COUNT 5 | EXISTS {t}z
RPUSH {t}l a b c | BLMPOP 0 2 {t}none {t}l RIGHT COUNT 2 | BLMPOP 0 1 {t}l LEFT | EXISTS {t}l
BLPOP {t}l -1 | BLPOP {t}l abc | BLPOP {t}l | BLPOP {t}l 1e400 | BLPOP {t}l 99999999999999999999 | BLPOP {t}l "" | PING
BLMPOP 0 0 {t}l LEFT | BLMPOP 0 x {t}l LEFT | BLMPOP 0 3 {t}l LEFT | BLMPOP 0 1 {t}l UP | BLMPOP x 1 {t}l LEFT | PING
BZMPOP 0 1 {t}z MIN COUNT | BZMPOP -1 1 {t}z MIN | BLMOVE {t}a {t}b UP LEFT 0 | BLMOVE {t}a {t}b LEFT RIGHT -1 | PING
SET {t}s x | BLPOP {t}s 0 | BZPOPMIN {t}s 0 | BLPOP {t}s {t}none 0 | BLMOVE {t}s {t}b LEFT RIGHT 0 | PING
SET {t}s x | RPUSH {t}l a | BLMOVE {t}l {t}s LEFT RIGHT 0 | LRANGE {t}l 0 -1
SET {t}a 1 | BLPOP {t}none 0.05 | GET {t}a | BLPOP {t}none 0.05 | INCR {t}a | GET {t}a
SET {t}k v | BLPOP {t}k 0 | DEL {t}k | RPUSH {t}k v | BLPOP {t}k 0 | SET {t}k w | GET {t}k
BLPOP {t}none 0.05 | QUIT | PING
BLPOP {t}none 0.05 | RESET | PING | SELECT 1 | BLPOP {t}none 0.05 | RPUSH {t}l one | BLPOP {t}l 0 | SELECT 0 | LLEN {t}l
SELECT 2 | RPUSH {t}l two | SELECT 0 | BLPOP {t}l 0.05 | SELECT 2 | BLPOP {t}l 0.05
HELLO 3 | BLPOP {t}none 0.05 | BZPOPMIN {t}none 0.05 | ZADD {t}z 1.5 m | BZPOPMIN {t}z 0 | HELLO 2 | BLPOP {t}none 0.05
XADD {t}x 1-1 f v | XREAD BLOCK 0 STREAMS {t}x 0 | XREAD BLOCK 50 STREAMS {t}x $ | XREAD COUNT 1 BLOCK 50 STREAMS {t}x {t}y 1-1 0
XREAD BLOCK 50 STREAMS {t}x | XREAD BLOCK x STREAMS {t}x 0 | XREAD BLOCK -1 STREAMS {t}x 0 | XREAD BLOCK 10 STREAMS | XREAD BLOCK
XGROUP CREATE {t}x g $ MKSTREAM | XADD {t}x 1-1 f v | XREADGROUP GROUP g me BLOCK 0 STREAMS {t}x > | XACK {t}x g 1-1
XGROUP CREATE {t}x g $ MKSTREAM | XREADGROUP GROUP g me BLOCK 50 STREAMS {t}x > | XREADGROUP GROUP g me BLOCK 50 STREAMS {t}x 0
XREADGROUP GROUP none me BLOCK 0 STREAMS {t}x > | XREADGROUP GROUP g me BLOCK 50 NOACK STREAMS {t}x | PING
HELLO 3 | XADD {t}x 1-1 f v | XREAD BLOCK 0 STREAMS {t}x 0 | XREAD BLOCK 50 STREAMS {t}x $
CLIENT REPLY SKIP | BLPOP {t}none 0.05 | PING
CLIENT REPLY OFF | BLPOP {t}none 0.05 | CLIENT REPLY ON | PING
CLIENT UNBLOCK 0 | CLIENT UNBLOCK -1 | CLIENT UNBLOCK x | CLIENT UNBLOCK 99999999 ERROR | CLIENT UNBLOCK 99999999 SOFT
'''.strip().split('\n')


@pytest.mark.control
@pytest.mark.parametrize('resp', [2, 3])
@pytest.mark.parametrize('conversation', CONVERSATIONS)
def test_answers_what_redis_answers(conversation, resp, fleet, redis):  # noqa: F811
    same_from_empty(redis, fleet.router, conversation, resp)


# ---- waiting and being woken -----------------------------------------------------------------------------------------
WAKES = {  # the command, what wakes it, the reply
    'BLPOP': (('BLPOP', '{w}a', '{w}b', 0), ('RPUSH', '{w}b', 'x', 'y'), [b'{w}b', b'x']),
    'BRPOP': (('BRPOP', '{w}a', '{w}b', 0), ('RPUSH', '{w}b', 'x', 'y'), [b'{w}b', b'y']),
    'BRPOPLPUSH': (('BRPOPLPUSH', '{w}a', '{w}b', 0), ('RPUSH', '{w}a', 'x', 'y'), b'y'),
    'BLMOVE': (('BLMOVE', '{w}a', '{w}b', 'LEFT', 'LEFT', 0), ('RPUSH', '{w}a', 'x', 'y'), b'x'),
    'BLMPOP': (('BLMPOP', 0, 2, '{w}a', '{w}b', 'LEFT', 'COUNT', 9), ('RPUSH', '{w}b', 'x', 'y'), [b'{w}b', [b'x', b'y']]),
    'BZPOPMIN': (('BZPOPMIN', '{w}a', '{w}b', 0), ('ZADD', '{w}b', 1, 'x', 2, 'y'), [b'{w}b', b'x', b'1']),
    'BZPOPMAX': (('BZPOPMAX', '{w}a', '{w}b', 0), ('ZADD', '{w}b', 1, 'x', 2, 'y'), [b'{w}b', b'y', b'2']),
    'BZMPOP': (('BZMPOP', 0, 2, '{w}a', '{w}b', 'MIN'), ('ZADD', '{w}b', 1, 'x'), [b'{w}b', [[b'x', b'1']]]),
    'XREAD': (('XREAD', 'BLOCK', 0, 'STREAMS', '{w}a', '{w}b', '$', '$'), ('XADD', '{w}b', '1-1', 'f', 'v'),
              [[b'{w}b', [[b'1-1', [b'f', b'v']]]]]),
    'XREADGROUP': (('XREADGROUP', 'GROUP', 'g', 'me', 'COUNT', 1, 'BLOCK', 0, 'STREAMS', '{w}s', '>'),
                   ('XADD', '{w}s', '1-1', 'f', 'v'), [[b'{w}s', [[b'1-1', [b'f', b'v']]]]]),
}


@pytest.mark.control
@pytest.mark.parametrize('name', WAKES)
def test_a_blocked_command_is_woken(fleet, name):
    command, wake, expected = WAKES[name]
    a, b = fleet.client(), fleet.client()
    for _ in range(3):
        b.call('DEL', '{w}a', '{w}b', '{w}s')
        if name == 'XREADGROUP':
            b.call('XGROUP', 'CREATE', '{w}s', 'g', '$', 'MKSTREAM')
        a.cmd(*command)
        wait_blocked(fleet, 1)
        start = time.monotonic()
        assert not isinstance(b.call(*wake), Error)
        assert a.reply() == expected
        assert time.monotonic() - start < SLACK
        assert a.pipeline(('PING',), ('SET', '{w}x', 1), ('GET', '{w}x')) == [PONG, OK, b'1']


@pytest.mark.control
@pytest.mark.parametrize('command', [('BLPOP', 'none', 0.3), ('BLMOVE', '{n}a', '{n}b', 'LEFT', 'LEFT', 0.3),
                                     ('BZPOPMIN', 'none', '0.3'), ('XREAD', 'BLOCK', 300, 'STREAMS', 'none', '$')],
                         ids=lambda c: c[0])
def test_the_timeout_is_the_clients(fleet, command):
    client, start = fleet.client(), time.monotonic()
    assert client.call(*command) is None
    assert 0.28 < time.monotonic() - start < 0.3 + SLACK


def test_deadlines_of_other_commands_do_not_end_it(new_fleet):
    """Also with 0, which is for ever."""
    fleet = new_fleet(3, sets={'timeouts.request': '100ms', 'timeouts.slow': '200ms', 'upstream.stuck_floor': '100ms'})
    clients, keys = [fleet.client() for _ in range(3)], [fleet.key(n) for n in fleet.nodes]
    for client, key, limit in zip(clients, keys, (0, 1, '30.5')):
        client.cmd('BLPOP', key, limit)
    wait_blocked(fleet, 3)
    clients[0].quiet(0.7)
    clients[2].quiet(0.01)
    assert clients[1].reply() is None
    pusher = fleet.client()
    for client, key in ((clients[0], keys[0]), (clients[2], keys[2])):
        assert pusher.call('RPUSH', key, 'x') == 1
        assert client.reply() == [key.encode(), b'x']


@pytest.mark.control
def test_who_waits_longest_is_served_first(fleet):
    clients, pusher = [fleet.client() for _ in range(10)], fleet.client()
    for i, client in enumerate(clients, 1):
        client.cmd('BLPOP', 'turn', 0)
        wait_blocked(fleet, i)
    pusher.call('RPUSH', 'turn', *range(10))
    assert [c.reply() for c in clients] == [[b'turn', b'%d' % i] for i in range(10)]


@pytest.mark.control
def test_what_is_pipelined_behind_waits_and_stays_in_order(fleet):
    a, b = fleet.client(), fleet.client()
    keys = [f'behind:{i}' for i in range(20)]
    a.send(b''.join(encode(*c) for c in [('MSET', *[x for k in keys for x in (k, 1)]), ('BLPOP', 'behind', 0),
                                         ('MGET', *keys), ('BLPOP', 'behind', 0), ('INCR', keys[0]), ('DEL', *keys)]))
    assert a.reply() == OK
    wait_blocked(fleet, 1)
    a.quiet(0.1)
    assert b.call('GET', keys[0]) == b'1'
    b.call('MSET', *[x for k in keys for x in (k, 2)])
    b.call('RPUSH', 'behind', 'x')
    assert a.reply() == [b'behind', b'x']
    assert a.reply() == [b'2'] * 20
    b.call('RPUSH', 'behind', 'y')
    assert [a.reply() for _ in range(3)] == [[b'behind', b'y'], 3, 20]


@pytest.mark.control
def test_one_write_sets_and_pops(fleet):
    for i in range(50):
        k, client = f'setpop:{i}', fleet.client()
        assert client.pipeline(('RPUSH', k, i), ('BLPOP', k, 0), ('SET', k, i), ('BLPOP', k, 0), ('GET', k), ('DEL', k))[:3] == \
            [1, [k.encode(), b'%d' % i], OK]


def test_keys_of_several_owners_are_refused(fleet):
    p, q = fleet.key('n1', 'owners'), fleet.key('n2', 'owners')
    client = fleet.client()
    for command in (('BLPOP', p, q, 0), ('BRPOP', p, q, 0), ('BLMOVE', p, q, 'LEFT', 'LEFT', 0), ('BLMPOP', 0, 2, p, q, 'LEFT'),
                    ('BZPOPMIN', p, q, 0), ('BZMPOP', 0, 2, p, q, 'MIN'), ('XREAD', 'BLOCK', 0, 'STREAMS', p, q, 0, 0),
                    ('XREADGROUP', 'GROUP', 'g', 'c', 'BLOCK', 0, 'STREAMS', p, q, '>', '>'), ('BRPOPLPUSH', p, q, 0)):
        assert client.call(*command) == CROSSSLOT, command
    assert client.call('PING') == PONG


@pytest.mark.control
def test_who_waits_and_who_is_in_a_transaction_is_seen(fleet):
    clients, looker = [fleet.client() for _ in range(3)], fleet.client()
    ids = [c.call('CLIENT', 'ID') for c in clients]
    clients[0].cmd('BLPOP', 'seen', 0)
    clients[1].pipeline(('MULTI',), ('SET', '{seen}a', 1), ('GET', '{seen}a'))
    wait_blocked(fleet, 1)
    lines = looker.call('CLIENT', 'LIST', 'ID', *ids).decode().splitlines()
    assert [re.search(r' flags=(\w+) .* multi=(-?\d+) ', line).groups() for line in lines] == \
        [('b', '-1'), ('x', '2'), ('N', '-1')]
    assert b'\r\nblocked_clients:1\r\n' in looker.call('INFO', 'clients')
    clients[0].close()
    clients[1].close()
    wait_until(lambda: b'\r\nblocked_clients:0\r\n' in looker.call('INFO', 'clients'), what='nobody waiting')


# ---- clients that leave ----------------------------------------------------------------------------------------------
@pytest.mark.control
@pytest.mark.parametrize('end', ['close', 'reset', 'killed'])
def test_an_element_is_not_popped_for_a_client_that_left(fleet, end):
    other = fleet.client()
    for i in range(10):
        k = f'left:{i}'
        client, stays = fleet.router.client(), fleet.client()
        number = client.call('CLIENT', 'ID')
        client.cmd('BLPOP', k, 0)
        wait_blocked(fleet, 1)
        stays.cmd('BLPOP', k, 0)
        wait_blocked(fleet, 2)
        if end == 'killed':
            assert other.call('CLIENT', 'KILL', 'ID', number) == 1
        else:
            getattr(client, end)()
        wait_blocked(fleet, 1)
        assert other.call('RPUSH', k, 'kept') == 1
        assert stays.reply() == [k.encode(), b'kept']
        client.close()
    wait_blocked(fleet, 0)


@pytest.mark.control
def test_requests_behind_the_block_of_a_client_that_left_are_not_done(fleet):
    client = fleet.router.client()
    client.send(b''.join(encode(*c) for c in [('BLPOP', '{undone}l', 0), ('SET', '{undone}k', 'x')]))
    wait_blocked(fleet, 1)
    client.close()
    wait_blocked(fleet, 0)
    assert fleet.client().call('GET', '{undone}k') is None


# ---- CLIENT UNBLOCK --------------------------------------------------------------------------------------------------
@pytest.mark.control
@pytest.mark.parametrize('how, expected', [((), None), (('TIMEOUT',), None), (('timeout',), None), (('ERROR',), UNBLOCKED)],
                         ids=['plain', 'timeout', 'lower', 'error'])
def test_client_unblock(fleet, how, expected):
    """Clients of every worker, told by one that may be another's."""
    clients, teller = [fleet.client() for _ in range(12)], fleet.client()
    ids = [c.call('CLIENT', 'ID') for c in clients]
    for i, client in enumerate(clients):
        client.cmd(*[('BLPOP', f'unblock:{i}', 0), ('XREAD', 'BLOCK', 0, 'STREAMS', f'unblock:{i}', '$'),
                     ('BLMOVE', f'{{unblock{i}}}a', f'{{unblock{i}}}b', 'LEFT', 'LEFT', 0)][i % 3])
    wait_blocked(fleet, len(clients))
    for number in ids:
        assert teller.call('CLIENT', 'UNBLOCK', number, *how) == 1
    assert [c.reply() for c in clients] == [expected] * len(clients)
    assert [teller.call('CLIENT', 'UNBLOCK', number, *how) for number in ids] == [0] * len(ids)
    wait_blocked(fleet, 0)
    for i, client in enumerate(clients):
        assert client.pipeline(('RPUSH', f'unblock:{i}', 'x'), ('BLPOP', f'unblock:{i}', 0)) == \
            [1, [b'unblock:%d' % i, b'x']]
        assert client.call('PING') == PONG


@pytest.mark.control
def test_unblocking_who_is_not_blocked_does_nothing(fleet):
    client, teller = fleet.client(), fleet.client()
    number = client.call('CLIENT', 'ID')
    assert teller.call('CLIENT', 'UNBLOCK', number) == 0
    assert client.call('BLPOP', 'none', 0.05) is None
    assert teller.call('CLIENT', 'UNBLOCK', number, 'ERROR') == 0
    assert client.call('PING') == PONG


# ---- many ------------------------------------------------------------------------------------------------------------
def latencies(client, count):
    out = []
    for i in range(count):
        start = time.monotonic()
        assert client.pipeline(('SET', f'fast:{i}', i), ('GET', f'fast:{i}')) == [OK, b'%d' % i]
        out.append(time.monotonic() - start)
    return statistics.median(out)


def answered(client):
    """What it was told instead of being blocked, if anything."""
    try:
        return repr(client.reply(within=0.001))
    except Late:
        return None


@pytest.mark.control
def test_a_thousand_blocked_clients_do_not_slow_others(fleet):
    count, busy = 1000, fleet.client()
    alone = latencies(busy, 300)
    clients = [fleet.router.client(60) for _ in range(count)]
    try:
        for i, client in enumerate(clients):
            client.cmd('BLPOP', f'thousand:{i}', 0)
        try:
            wait_blocked(fleet, count)
        except AssertionError as e:
            raise AssertionError(f'{e}; answers: {set(map(answered, clients))}') from None
        beside = latencies(busy, 300)
        assert beside < 3 * alone + 0.001 * SLOW, f'{alone * 1e6:.0f} us alone, {beside * 1e6:.0f} us beside {count} blocked'
        pusher = fleet.client(60)
        assert pusher.pipeline(*[('RPUSH', f'thousand:{i}', i) for i in range(count)]) == [1] * count
        assert [c.reply() for c in clients] == [[b'thousand:%d' % i, b'%d' % i] for i in range(count)]
    finally:
        for client in clients:
            client.close()


def test_more_than_private_per_node_are_told(new_fleet):
    fleet = new_fleet(3, sets={'upstream.private_per_node': 5})
    keys, other = fleet.keys('n1', 6), fleet.key('n2')
    clients, late = [fleet.client() for _ in range(5)], fleet.client()
    for client, key in zip(clients, keys):
        client.cmd('BLPOP', key, 0)
    wait_blocked(fleet, 5)
    reply = late.call('BLPOP', keys[5], 0)
    assert isinstance(reply, Error) and reply.startswith("OVERLOADED node 'n1'"), repr(reply)
    assert late.pipeline(('RPUSH', other, 'x'), ('BLPOP', other, 0), ('SET', 'a', 1), ('PING',)) == \
        [1, [other.encode(), b'x'], OK, PONG]
    clients[0].close()
    late.call('RPUSH', keys[1], 'x')
    assert clients[1].reply() == [keys[1].encode(), b'x']
    late.call('RPUSH', keys[5], 'y', 'z')
    wait_until(lambda: late.call('BLPOP', keys[5], 0) == [keys[5].encode(), b'y'], what='a connection being free again')
    assert late.call('BLPOP', keys[5], 0) == [keys[5].encode(), b'z']


@pytest.mark.parametrize('workers', [1, 3])
def test_the_bound_is_the_nodes_not_the_workers(new_fleet, workers):
    fleet = new_fleet(2, threads=workers, sets={'upstream.private_per_node': 6})
    key, clients = fleet.key('n1'), [fleet.client() for _ in range(20)]
    for client in clients:
        client.cmd('BLPOP', key, 0)
    refused = 0
    for client in clients:
        try:
            reply = client.reply(within=0.15)
        except Late:
            continue
        assert isinstance(reply, Error) and reply.startswith("OVERLOADED node 'n1'"), repr(reply)
        refused += 1
    assert refused == 14
    assert blocked_at_nodes(fleet) == 6


@pytest.mark.control
def test_each_element_is_handed_over_once(fleet):
    """Eight consumers, three producers, three queues; consumers time out, leave and come back meanwhile."""
    queues, got, lock, done = [f'hand:{i}' for i in range(3)], [], threading.Lock(), threading.Event()
    errors = []

    def consume(number):
        try:
            client = fleet.router.client()
            while True:
                reply = client.call('BLPOP', queues[number % 3], 0.05)
                if reply is None and done.is_set():
                    return client.close()
                if reply is not None:
                    with lock:
                        got.append(reply[1])
                if number % 4 == 0:  # after a reply: nothing is in its hands
                    client.close()
                    client = fleet.router.client()
        except Exception as e:  # the main thread says it
            errors.append(repr(e))

    def produce(number):
        try:
            with fleet.router.client() as client:
                for i in range(100):
                    client.pipeline(*[('LPUSH', q, f'{number}:{i}:{q}') for q in queues])
        except Exception as e:
            errors.append(repr(e))

    consumers = [threading.Thread(target=consume, args=(i,)) for i in range(8)]
    producers = [threading.Thread(target=produce, args=(i,)) for i in range(3)]
    for t in consumers + producers:
        t.start()
    for t in producers:
        t.join()
    done.set()
    for t in consumers:
        t.join()
    assert not errors
    assert sorted(got) == sorted(f'{n}:{i}:{q}'.encode() for n in range(3) for i in range(100) for q in queues)


def test_no_worker_keeps_what_blocked_clients_needed(new_fleet):
    fleet = new_fleet(3, threads=2, sets={'upstream.private_idle': '200ms'})
    for _ in range(3):
        clients = [fleet.router.client() for _ in range(60)]
        for i, client in enumerate(clients):
            client.cmd('BLPOP', f'idle:{i}', 0)
        wait_blocked(fleet, 60)
        for i, client in enumerate(clients):
            client.reset() if i % 2 else client.close()
        wait_blocked(fleet, 0)
    wait_until(lambda: all(node.call('CLIENT', 'LIST').count(b'\n') <= 2 + 2 + 2 for node in fleet.nodes.values()), 10,
               'private connections being closed')


@pytest.mark.control
def test_a_killed_client_hears_nothing_more(fleet):
    client, other = fleet.client(), fleet.client()
    number = client.call('CLIENT', 'ID')
    client.cmd('BLPOP', 'killed', 0)
    wait_blocked(fleet, 1)
    assert other.call('CLIENT', 'KILL', 'ID', number) == 1
    with pytest.raises(Closed):
        client.reply()
    wait_blocked(fleet, 0)


@pytest.mark.parametrize('names', [('streams', 'BLOCK', '0'), ('block', 'c', 'BLOCK', '0'), ('g', 'STREAMS', 'COUNT', '1', 'BLOCK', '0')])
def test_names_of_groups_and_consumers_are_no_options(fleet, names):
    """Else it would block on a connection that all share."""
    group, consumer, *block = (names[0], 'streams', *names[1:]) if len(names) == 3 and names[1] == 'BLOCK' else names
    stream, other = 'named:' + group, fleet.client()
    assert fleet.client().call('XGROUP', 'CREATE', stream, group, '$', 'MKSTREAM') == OK
    client = fleet.client(30)
    client.cmd('XREADGROUP', 'GROUP', group, consumer, *block, 'STREAMS', stream, '>')
    wait_until(lambda: fleet.router.metric('ringway_clients_blocked') == 1, what='the client being blocked')
    assert other.call('EXISTS', stream, within=0.8 * SLOW) == 1  # of the same node
    other.call('XADD', stream, '1-1', 'f', 'v')
    assert client.reply() == [[stream.encode(), [[b'1-1', [b'f', b'v']]]]]
    other.call('DEL', stream)


def test_a_client_that_leaves_with_much_behind_it_is_noticed(fleet):
    client, other = fleet.client(), fleet.client()
    client.send(encode('BLPOP', 'left', 0) + encode('SET', 'behind', 'x' * 3000000))
    wait_blocked(fleet, 1)
    client.close()
    wait_blocked(fleet, 0)
    assert other.pipeline(('RPUSH', 'left', 1), ('LLEN', 'left'), ('DEL', 'left'), ('EXISTS', 'behind')) == [1, 1, 1, 0]


def test_who_was_told_to_be_unblocked_is(fleet):
    """Also when CLIENT UNBLOCK is at the node before the command that blocks."""
    client, teller = fleet.client(), fleet.client()
    number = client.call('CLIENT', 'ID')
    client.call('BLPOP', 'warm', 0.01)
    for _ in range(200):
        client.cmd('BLPOP', 'never', 0)
        while teller.call('CLIENT', 'UNBLOCK', number) == 0:
            pass  # the router has not read it yet
        assert client.reply(within=5) is None


def test_an_unblock_that_comes_late_is_not_for_the_next_client(fleet):
    first, second, teller, slow = (fleet.client(30) for _ in range(4))
    number, (key, next_key) = first.call('CLIENT', 'ID'), fleet.keys('n1', 2, 'late')
    node = fleet['n1']
    first.cmd('BLPOP', key, 0)
    wait_blocked(fleet, 1)
    slow.send(encode('EVAL', "for i = 1, 2e7 do end return 1", 1, key))  # holds the shared connection up
    assert teller.call('CLIENT', 'UNBLOCK', number) == 1
    node.call('RPUSH', key, 'x')
    assert first.reply() in ([key.encode(), b'x'], None)
    second.cmd('BLPOP', next_key, 0)
    wait_blocked(fleet, 1)
    assert slow.reply() == 1
    second.quiet(0.3)
    teller.pipeline(('RPUSH', next_key, 'y'), ('DEL', key))
    assert second.reply() == [next_key.encode(), b'y']
