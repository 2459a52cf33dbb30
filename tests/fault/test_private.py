# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Transactions, blocking commands and WAIT with nodes that die, stand still, or answer late; and the order of one client's
commands to one node, which may go over several connections to it.
"""
import time

import pytest

from fakenode import always, answer, close, half_then_close, late, only, reset, silent
from faults import SLACK, is_lost, scaled, timed, timed_out
from harness import wait_until
from resp import OK, PONG, SLOW, Closed, Error, Status, encode

QUEUED = Status('QUEUED')


def is_abort(reply):
    return isinstance(reply, Error) and reply.startswith('EXECABORT ')


def is_unavailable(reply, node='n2'):
    return isinstance(reply, Error) and reply.startswith(f"UNAVAILABLE node '{node}': ")


# ---- order -----------------------------------------------------------------------------------------------------------
BIG = b'x' * 50000
ORDERS = {  # the slow command comes first; what must not reach the node before it is answered
    'SET, BLPOP': ([('SET', 'K', 1), ('BLPOP', 'L', 0)], 'SET', 'BLPOP'),
    'SET, WATCH': ([('SET', 'K', 1), ('WATCH', 'K'), ('UNWATCH',)], 'SET', 'WATCH'),
    'SET, MULTI': ([('SET', 'K', 1), ('MULTI',), ('GET', 'K'), ('EXEC',)], 'SET', 'GET'),
    'BLPOP, SET': ([('BLPOP', 'L', 0), ('SET', 'K', 1)], 'BLPOP', 'SET'),
    'EXEC, SET': ([('MULTI',), ('GET', 'K'), ('EXEC',), ('SET', 'K', 1)], 'EXEC', 'SET'),
    'EXEC, GET of a split': ([('MULTI',), ('SET', 'K', 1), ('EXEC',), ('MGET', 'K', 'OTHER')], 'EXEC', 'MGET GET'),
    'SET, other database': ([('SET', 'K', 1), ('SELECT', 1), ('GET', 'K')], 'SET', 'GET'),
    'SET, large': ([('SET', 'K', 1), ('APPEND', 'K', BIG)], 'SET', 'APPEND'),
    'large, GET': ([('SET', 'K', BIG), ('GET', 'K')], 'SET', 'GET'),
    'MSET, BLPOP': ([('MSET', 'K', 1, 'OTHER', 2), ('BLPOP', 'L', 0)], 'MSET SET', 'BLPOP'),
    'SET, WAIT': ([('SET', 'K', 1), ('WAIT', 0, 100)], 'SET', 'WAIT'),
    'WATCH, GET': ([('WATCH', 'K'), ('GET', 'K'), ('UNWATCH',)], 'WATCH', 'GET'),
}


@pytest.mark.parametrize('name', ORDERS)
def test_a_command_over_another_connection_waits_for_those_before(world, name):
    commands, slow, after = ORDERS[name]
    fleet = world(request=5000, **{'limits.bulk': 20000})
    n2, times, delay = fleet['n2'], [], 0.25
    k, l, m = fleet.keys('n2', 3, 'order')
    words = {'K': k, 'L': l, 'M': m, 'OTHER': fleet.key('n1')}

    def behave(args):
        times.append((args[0].upper().decode(), time.monotonic()))
        return late(delay) if args[0].upper().decode() in slow.split() else answer

    n2.behave = behave
    client = fleet.client()
    replies = client.pipeline(*[[words.get(w, w) for w in c] for c in commands])
    wrong = [r for r in replies if isinstance(r, Error) and not r.startswith("ERR unknown command 'APPEND'")]
    assert not wrong
    begun = min(t for cmd, t in times if cmd in slow.split())
    assert min(t for cmd, t in times if cmd in after.split()) >= begun + delay * 0.99


@pytest.mark.parametrize('first', ['shared', 'private'])
def test_many_commands_in_one_write_are_done_in_order(world, first):
    """Every INCR sees those before it, whatever connection each takes."""
    fleet = world(request=5000)
    k, client = fleet.key('n2', f'count {first}'), fleet.client()
    fleet['n2'].behave = only('INCR EXEC', late(0.002))
    commands, expected, n = [], [], 0
    for i in range(60):
        if (i + (first == 'private')) % 2:
            commands += [('MULTI',), ('INCR', k), ('INCR', k), ('EXEC',)]
            expected += [OK, QUEUED, QUEUED, [n + 1, n + 2]]
            n += 2
        else:
            commands += [('INCR', k), ('SELECT', i % 3), ('INCR', k)]
            expected += [n + 1, OK, n + 2]
            n += 2
    assert client.pipeline(*commands) == expected


# ---- lost before EXEC ------------------------------------------------------------------------------------------------
def test_a_connection_lost_before_exec_aborts(world):
    fleet = world(request=1000)
    n2, k, client = fleet['n2'], fleet.key('n2'), fleet.client()
    assert client.pipeline(('MULTI',), ('SET', k, 'never')) == [OK, QUEUED]
    n2.drop_connections()
    wait_until(lambda: not n2.conns or n2.accepted > 2, what='the connection being gone')
    assert is_abort(client.call('EXEC'))
    assert not n2.requests('EXEC')
    wait_until(lambda: client.call('GET', k) == b'value of ' + k.encode(), what='the node being served')
    assert client.pipeline(('MULTI',), ('SET', k, 'now'), ('EXEC',)) == [OK, QUEUED, [OK]]


def lose(fleet, n2):
    """The node drops its connections, and the router has seen it."""
    n2.drop_connections()
    wait_until(lambda: fleet.router.metric('ringway_node_private_leased', node='n2') == 0, what='the loss being seen')


def test_more_commands_after_the_loss_do_not_make_it_good(world):
    fleet = world(request=1000)
    n2, (k, l), client = fleet['n2'], fleet.keys('n2', 2), fleet.client()
    assert client.pipeline(('MULTI',), ('SET', k, 'never')) == [OK, QUEUED]
    lose(fleet, n2)
    client.call('SET', l, 'never')  # QUEUED or an error: in doubt it aborts
    assert is_abort(client.call('EXEC'))
    assert not [a for a in n2.requests('SET') if a[2] == b'never' and n2.requests('EXEC')]
    assert client.call('PING') == PONG


@pytest.mark.parametrize('between', [[], [('GET', 'OTHER')], [('GET', 'K')]], ids=['', 'other', 'same'])
def test_a_watch_that_was_lost_never_lets_exec_run(world, between):
    fleet = world(request=1000)
    n2, k, client = fleet['n2'], fleet.key('n2'), fleet.client()
    assert client.call('WATCH', k) == OK
    lose(fleet, n2)
    for command in between:
        client.call(*[{'K': k, 'OTHER': fleet.key('n1')}.get(w, w) for w in command])
    replies = client.pipeline(('MULTI',), ('SET', k, 'never'), ('EXEC',))
    assert replies[0] == OK and is_abort(replies[2]) and not n2.requests('EXEC')
    wait_until(lambda: client.call('WATCH', k) == OK, what='the node being served')
    assert client.pipeline(('MULTI',), ('SET', k, 'now'), ('EXEC',)) == [OK, QUEUED, [OK]]


def test_unwatch_forgets_a_lost_watch(world):
    fleet = world(request=1000)
    n2, k, client = fleet['n2'], fleet.key('n2'), fleet.client()
    assert client.call('WATCH', k) == OK
    lose(fleet, n2)
    assert client.call('UNWATCH') == OK
    wait_until(lambda: client.pipeline(('MULTI',), ('SET', k, 'now'), ('EXEC',)) == [OK, QUEUED, [OK]],
               what='a transaction being done')


def test_a_node_that_is_down_fails_the_transaction(world):
    fleet = world(request=400)
    n2, k, client = fleet['n2'], fleet.key('n2'), fleet.client()
    n2.close_port()
    n2.drop_connections()
    replies = client.pipeline(('MULTI',), ('SET', k, 1), ('EXEC',))
    assert replies[0] == OK and is_unavailable(replies[1]) and is_abort(replies[2]), replies
    assert is_unavailable(client.call('WATCH', k))
    other = ('MULTI',), ('SET', fleet.key('n1'), 1), ('EXEC',)
    assert is_abort(client.pipeline(*other)[2]), 'it may have been in one write with a WATCH that failed'
    assert client.pipeline(*other) == [OK, QUEUED, [OK]]
    n2.open_port()
    wait_until(lambda: client.call('WATCH', k) == OK, what='the node being served again')


def test_a_queued_command_that_is_not_answered_aborts(world):
    fleet = world(request=300)
    n2, k, client = fleet['n2'], fleet.key('n2'), fleet.client()
    n2.behave = only('SET', silent)
    client.send(b''.join(encode(*c) for c in [('MULTI',), ('SET', k, 1)]))
    assert client.reply() == OK
    reply, took = timed(client.reply)
    assert is_unavailable(reply) and took < scaled(300) / 1000 + SLACK
    n2.behave = always(answer)
    assert is_abort(client.call('EXEC')) and not n2.requests('EXEC')
    assert client.pipeline(('MULTI',), ('SET', k, 1), ('EXEC',)) == [OK, QUEUED, [OK]]


# ---- lost after EXEC -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize('how', [close, reset], ids=['close', 'reset'])
@pytest.mark.parametrize('watch', [False, True], ids=['', 'watched'])
def test_a_connection_lost_after_exec_leaves_the_outcome_unknown(world, how, watch):
    fleet = world(request=1000)
    n2, k, client = fleet['n2'], fleet.key('n2'), fleet.client()
    n2.behave = only('EXEC', how)
    for _ in range(5):
        if watch:
            assert client.call('WATCH', k) == OK
        replies = client.pipeline(('MULTI',), ('SET', k, 'maybe'), ('EXEC',), ('PING',))
        assert replies[:2] == [OK, QUEUED] and replies[3] == PONG
        assert is_lost(replies[2]) and replies[2].endswith(', outcome unknown'), replies[2]
    n2.behave = always(answer)
    assert client.pipeline(('MULTI',), ('SET', k, 1), ('EXEC',)) == [OK, QUEUED, [OK]]


def test_half_an_execs_reply_is_never_taken_for_the_whole(world):
    fleet = world(request=1000)
    n2, k, client = fleet['n2'], fleet.key('n2'), fleet.client()
    n2.behave = only('EXEC', half_then_close)
    try:
        replies = client.pipeline(('MULTI',), ('SET', k, 'maybe'), ('GET', k), ('EXEC',))
        assert is_lost(replies[3])
    except Closed:
        pass  # bytes of it had been forwarded
    assert fleet.client().pipeline(('PING',), ('GET', fleet.key('n1')))[0] == PONG


def test_an_exec_without_an_answer_runs_out(world):
    fleet = world(request=300)
    n2, k, client = fleet['n2'], fleet.key('n2'), fleet.client()
    n2.behave = only('EXEC', silent)
    client.pipeline(('MULTI',), ('SET', k, 'maybe'))
    reply, took = timed(client.call, 'EXEC')
    assert reply == timed_out('n2', 300, write=True) and took < scaled(300) / 1000 + SLACK
    n2.behave = always(answer)
    assert client.pipeline(('MULTI',), ('SET', k, 1), ('GET', k), ('EXEC',)) == [OK, QUEUED, QUEUED, [OK, b'1']]


def test_a_late_answer_to_exec_reaches_nobody(world):
    fleet = world(request=200)
    n2, (a, b), clients = fleet['n2'], fleet.keys('n2', 2), [fleet.client() for _ in range(3)]
    n2.behave = only('EXEC', late(0.35 * SLOW))
    assert clients[0].pipeline(('MULTI',), ('SET', a, 'slow'), ('EXEC',))[2] == timed_out('n2', 200, write=True)
    n2.behave = always(answer)
    end = time.monotonic() + 0.4 * SLOW
    while time.monotonic() < end:
        for client in clients:
            assert client.pipeline(('MULTI',), ('SET', b, 'x'), ('GET', b), ('EXEC',), ('GET', b)) == \
                [OK, QUEUED, QUEUED, [OK, b'x'], b'x']


# ---- blocking --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize('timeout', [0, 5, 0.5])
@pytest.mark.parametrize('workers', [1, 3])
def test_a_node_that_is_killed_ends_the_block(new_fleet, timeout, workers):
    fleet = new_fleet(3, threads=workers)
    keys, clients, other = fleet.keys('n2', 6), [fleet.client() for _ in range(6)], fleet.client()
    for client, key in zip(clients, keys):
        client.cmd('BLPOP', key, timeout)
    wait_until(lambda: fleet['n2'].call('CLIENT', 'LIST').count(b'flags=b') == 6 or timeout == 0.5,
               what='six blocked')
    fleet['n2'].kill()
    for client in clients:
        reply = client.reply(3 * SLOW)
        assert is_lost(reply) or (timeout == 0.5 and (reply is None or is_unavailable(reply))), reply
    assert other.call('SET', fleet.key('n1'), 1) == OK
    fleet['n2'].restart()
    for client, key in zip(clients, keys):
        wait_until(lambda: client.call('RPUSH', key, 'x') == 1, what='the node being served again')
        assert client.call('BLPOP', key, 0) == [key.encode(), b'x']


def test_a_node_that_stands_still_does_not_hold_the_client_beyond_its_timeout(world):
    fleet = world(request=300)
    n2, key, client = fleet['n2'], fleet.key('n2'), fleet.client()
    n2.behave = only('BLPOP', silent)
    reply, took = timed(client.call, 'BLPOP', key, 0.2 * SLOW)
    assert is_unavailable(reply) and 'timeout' in reply, reply
    assert 0.2 * SLOW <= took < 0.2 * SLOW + 2 * scaled(300) / 1000 + SLACK
    n2.behave = always(answer)
    assert client.pipeline(('SET', key, 1), ('BLPOP', key, 1)) == [OK, None]


@pytest.mark.parametrize('end', ['close', 'reset'])
def test_a_blocked_client_that_leaves_frees_its_connection_at_once(world, end):
    """Also when the node says nothing any more."""
    fleet = world(request=1000, **{'upstream.private_per_node': 2})
    n2, key = fleet['n2'], fleet.key('n2')
    n2.behave = only('BLPOP', silent)
    before = len(n2.conns)
    for _ in range(10):
        clients = [fleet.router.client() for _ in range(2)]
        seen = len(n2.requests('BLPOP'))
        for client in clients:
            client.cmd('BLPOP', key, 0)
        wait_until(lambda: len(n2.requests('BLPOP')) == seen + 2, what='both being blocked')
        for client in clients:
            getattr(client, end)()
        wait_until(lambda: len(n2.conns) <= before, what='the connections being closed')


def test_a_down_node_blocks_nobody(world):
    fleet = world(request=400)
    n2, key, client = fleet['n2'], fleet.key('n2'), fleet.client()
    n2.close_port()
    n2.drop_connections()
    reply, took = timed(client.call, 'BLPOP', key, 0)
    assert is_unavailable(reply) and took < scaled(400) / 1000 + SLACK
    assert client.call('BLPOP', fleet.key('n1'), 0) is None
    n2.open_port()
    wait_until(lambda: client.call('BLPOP', key, 0) is None, what='the node being served again')


# ---- clients that leave and what the next one finds ------------------------------------------------------------------
def test_what_a_vanished_client_queued_is_never_done(world):
    fleet = world(request=1000, **{'upstream.private_per_node': 3})
    a, b = fleet.keys('n2', 2, 'vanished')
    for i in range(30):
        client = fleet.router.client()
        assert client.pipeline(('MULTI',), ('SET', a, f'never {i}')) == [OK, QUEUED]
        client.reset() if i % 2 else client.close()
        wait_until(lambda: fleet.router.metric('ringway_clients') == 0, what='the client being gone')
        with fleet.router.client() as c:
            assert c.pipeline(('MULTI',), ('INCR', b), ('EXEC',), ('GET', a)) == \
                [OK, QUEUED, [i + 1], None]


def test_wait_tells_of_a_node_that_does_not_answer(world):
    fleet = world(request=300)
    n2, key, client = fleet['n2'], fleet.key('n2'), fleet.client()
    assert client.pipeline(('SET', key, 1), ('WAIT', 0, 100)) == [OK, 0]
    n2.behave = only('WAIT', silent)
    reply, took = timed(client.call, 'WAIT', 1, 100)
    assert is_unavailable(reply), reply
    assert took < 0.1 + 2 * scaled(300) / 1000 + SLACK
    n2.behave = only('WAIT', close)
    client.call('SET', key, 1)
    assert is_lost(client.call('WAIT', 1, 100))
    n2.behave = always(answer)
    wait_until(lambda: client.call('SET', key, 1) == OK and client.call('WAIT', 0, 100) == 0, what='the node being served')
