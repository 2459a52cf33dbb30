# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""WATCH, MULTI, EXEC and DISCARD: the same conversations with a real redis-server, every reply compared with its type;
then what only a router can get wrong: order across connections, owners, and clients that vanish.

Lost connections are tests/fault/test_private.py's.
"""
import random
import re
import threading
import time

import pytest

from harness import wait_until
from resp import OK, PONG, Closed, Error, Status, encode
from test_connection import redis, same_from_empty  # noqa: F401 (redis is a fixture)

QUEUED, CROSSSLOT = Status('QUEUED'), Error("CROSSSLOT Keys in request don't hash to the same slot")
ABORTED = Error('EXECABORT Transaction discarded because of previous errors.')
CLIENT_IN_STATE = re.compile(r'^.* flags=\w*[xbd]\w* .*$', re.M)  # MULTI, blocked, a watched key changed
BIG = 10 << 20


# ---- one conversation with both ------------------------------------------------------------------------------------
CONVERSATIONS = r'''
MULTI | SET {t}a 1 | INCR {t}a | MGET {t}a {t}b | EXEC | GET {t}a
SET {t}a v | WATCH {t}a | GET {t}a | MULTI | SET {t}a w | GET {t}a | EXEC | GET {t}a
MULTI | EXEC | MULTI | MULTI | EXEC | EXEC | DISCARD | MULTI x | EXEC x | DISCARD x | UNWATCH x | PING
MULTI | PING | ECHO a | PING b | EXEC | MULTI | PING | DISCARD
MULTI | PING | SET {t}a 1 | ECHO x | EXEC
MULTI | SET {t}a 1 | NOSUCH | GET | EXEC | GET {t}a | MULTI | GET {t}a | EXEC
MULTI | GET | SET {t}a 1 | EXEC | GET {t}a
MULTI | NOSUCH a b | EXEC | EXEC
MULTI | SET {t}a x | INCR {t}a | APPEND {t}a y | LPUSH {t}a z | EXEC | GET {t}a
SET {t}a 1 | MULTI | SET {t}a 2 | DISCARD | GET {t}a | DISCARD
WATCH | WATCH {t}a {t}b | UNWATCH | UNWATCH | WATCH {t}a | WATCH {t}b | MULTI | GET {t}a | EXEC
MULTI | WATCH {t}a | UNWATCH | GET {t}a | EXEC
MULTI | WATCH | EXEC
WATCH {t}a | SET {t}a 1 | MULTI | GET {t}a | EXEC | MULTI | GET {t}a | EXEC
WATCH {t}a | SET {t}a 1 | UNWATCH | MULTI | GET {t}a | EXEC
WATCH {t}a | SET {t}a 1 | MULTI | DISCARD | MULTI | GET {t}a | EXEC
WATCH {t}a | SET {t}b 1 | SET {t}c 1 | MULTI | MGET {t}b {t}c | EXEC
WATCH {t}a | SET {t}a 1 | MULTI | GET {t}a | NOSUCH | EXEC | MULTI | GET {t}a | EXEC
WATCH {t}a | SELECT 1 | SET {t}a other | SELECT 0 | MULTI | GET {t}a | EXEC
WATCH {t}a | SELECT 1 | MULTI | SET {t}a one | EXEC | GET {t}a | SELECT 0 | GET {t}a
MULTI | SET {t}a 1 | RESET | GET {t}a | EXEC
WATCH {t}a | SET {t}a 1 | RESET | MULTI | GET {t}a | EXEC
MULTI | RESET | EXEC | MULTI | SET {t}a 1 | EXEC
MULTI | SET {t}a 1 | QUIT | PING
WATCH {t}a | QUIT | PING
MULTI | QUIT
MULTI | SELECT 1 | SET {t}a one | EXEC | GET {t}a | SELECT 0 | GET {t}a
MULTI | SET {t}a zero | SELECT 1 | SET {t}a one | SELECT 2 | EXEC | GET {t}a | SELECT 1 | GET {t}a | SELECT 0 | GET {t}a
MULTI | SELECT 16 | SET {t}a 1 | EXEC | GET {t}a | MULTI | SELECT x | EXEC
MULTI | SELECT 1 | SET {t}a one | DISCARD | GET {t}a | SET {t}a zero | SELECT 1 | GET {t}a
MULTI | SELECT 3 | EXEC | SET {t}a three | SELECT 0 | GET {t}a | SELECT 3 | GET {t}a
SET {t}k v | MOVE {t}k 1 | SELECT 1 | GET {t}k | MULTI | GET {t}k | MOVE {t}k 0 | EXEC | SELECT 0 | GET {t}k
HELLO 3 | HSET {t}h a 1 | MULTI | HGETALL {t}h | SMEMBERS {t}s | ZADD {t}z 1.5 m | ZSCORE {t}z m | GET {t}n | EXEC
HELLO 3 | WATCH {t}a | SET {t}a 1 | MULTI | GET {t}a | EXEC
HELLO 2 | HSET {t}h a 1 | MULTI | HGETALL {t}h | GET {t}n | EXEC
MULTI | MSET {t}a 1 {t}b 2 | MGET {t}a {t}b {t}none | DEL {t}a {t}b {t}c | EXISTS {t}a | EXEC
MULTI | MSET {t}a 1 {t}b | DEL | MGET | EXEC
MULTI | BLPOP {t}none 0 | BLMOVE {t}x {t}y LEFT RIGHT 0 | BZPOPMIN {t}z 0 | BLMPOP 0 1 {t}l LEFT | EXEC
MULTI | RPUSH {t}l a b | BLPOP {t}l 0 | BRPOP {t}l 0 | LLEN {t}l | EXEC
WATCH {t}l | BLPOP {t}none 0.05 | MULTI | PING | EXEC
WATCH {t}l | RPUSH {t}l a | BLPOP {t}l 0 | MULTI | PING | EXEC
RPUSH {t}l a | WATCH {t}l | BLPOP {t}l 0 | MULTI | PING | EXEC
MULTI | XADD {t}x 1-1 f v | XREAD BLOCK 0 STREAMS {t}x 0 | XREAD BLOCK 0 STREAMS {t}x $ | EXEC
MULTI | RENAME {t}a {t}b | SET {t}a 1 | RENAME {t}a {t}b | GET {t}b | SINTERSTORE {t}d {t}s {t}u | EXEC
CLIENT REPLY OFF | MULTI | SET {t}a 1 | EXEC | CLIENT REPLY ON | GET {t}a
MULTI | `\r\n` | GET {t}a | `*0\r\n` | EXEC
`MULTI\r\nSET {t}a "in line"\r\nGET {t}a\r\nEXEC\r\n`
MULTI | COMMAND COUNT x | OBJECT ENCODING {t}a | OBJECT FOO {t}a | CONFIG GET maxmemory-policy | EXEC
MULTI | PUBLISH {t}c hello | SET {t}a 1 | EXEC
MULTI | PUBLISH c hello | SET {t}a 1 | PUBLISH d hello | EXEC
MULTI | SUBSTR | EXEC
EXEC | DISCARD | UNWATCH | exec | multi | get {t}a | eXeC
'''.strip().split('\n')


@pytest.mark.control
@pytest.mark.parametrize('resp', [2, 3])
@pytest.mark.parametrize('conversation', CONVERSATIONS)
def test_answers_what_redis_answers(conversation, resp, fleet, redis):  # noqa: F811
    same_from_empty(redis, fleet.router, conversation, resp)


# ---- one write, and what order there is in it ------------------------------------------------------------------------
@pytest.mark.control
def test_one_write_holds_a_whole_optimistic_transaction(fleet):
    for i in range(50):
        k, client = f'one:{i}', fleet.client()
        replies = client.pipeline(('SET', k, i), ('WATCH', k), ('GET', k), ('MULTI',), ('INCRBY', k, 1), ('GET', k),
                                  ('EXEC',), ('GET', k))
        now = b'%d' % (i + 1)
        assert replies == [OK, OK, b'%d' % i, OK, QUEUED, QUEUED, [i + 1, now], now]


@pytest.mark.control
def test_one_write_holds_many_transactions_of_many_owners(fleet):
    client, keys = fleet.client(), [f'many:{i}' for i in range(100)]
    commands, expected = [], []
    for i, k in enumerate(keys):
        commands += [('SET', k, i), ('MULTI',), ('INCR', k), ('EXEC',), ('GET', k), ('MGET', *keys[:3]), ('PING',)]
        expected += [OK, OK, QUEUED, [i + 1], b'%d' % (i + 1),
                     [b'%d' % (j + 1) if j <= i else None for j in range(3)], PONG]
    assert client.pipeline(*commands) == expected
    client.call('DEL', *keys)


@pytest.mark.control
def test_the_database_changes_within_one_write(fleet):
    client = fleet.client()
    for i in range(30):
        k = f'moved:{i}'
        assert client.pipeline(('SET', k, i), ('MOVE', k, 1), ('SELECT', 1), ('GET', k), ('DEL', k), ('SELECT', 0),
                               ('EXISTS', k)) == [OK, 1, OK, b'%d' % i, 1, OK, 0]


@pytest.mark.control
def test_the_protocol_changes_within_one_write(fleet):
    client = fleet.client()
    for i in range(30):
        k = f'proto:{i}'
        client.send(b''.join(encode(*c) for c in [('HSET', k, 'a', 1), ('HGETALL', k), ('HELLO', 3), ('HGETALL', k),
                                                  ('GET', 'no ' + k), ('HELLO', 2), ('HGETALL', k), ('GET', 'no ' + k)]))
        expected = b':1\r\n*2\r\n$1\r\na\r\n$1\r\n1\r\n'
        assert client.exact(len(expected)) == expected
        client.reply()
        expected = b'%1\r\n$1\r\na\r\n$1\r\n1\r\n_\r\n'
        assert client.exact(len(expected)) == expected
        client.reply()
        expected = b'*2\r\n$1\r\na\r\n$1\r\n1\r\n$-1\r\n'
        assert client.exact(len(expected)) == expected
        client.call('DEL', k)


@pytest.mark.control
@pytest.mark.parametrize('watching', [False, True], ids=['plain', 'watching'])
def test_ten_megabytes_stay_in_order(fleet, watching):
    client, value = fleet.client(30), b'ringway, ' * (BIG // 9)
    for i in range(3):
        k = f'big:{i}'
        if watching:
            client.call('WATCH', k)
        replies = client.pipeline(('SET', k, 'small'), ('GET', k), ('SET', k, value), ('STRLEN', k), ('GET', k),
                                  ('SET', k, 'again'), ('GET', k), ('MGET', k, 'none'), ('DEL', k), ('UNWATCH',))
        assert replies == [OK, b'small', OK, len(value), value, OK, b'again', [b'again', None], 1, OK]


@pytest.mark.control
def test_a_transaction_carries_ten_megabytes(fleet):
    client, value, k = fleet.client(30), b'ringway, ' * (BIG // 9), 'big:in:multi'
    replies = client.pipeline(('MULTI',), ('SET', k, value), ('GET', k), ('STRLEN', k), ('DEL', k), ('EXEC',), ('GET', k))
    assert replies == [OK, QUEUED, QUEUED, QUEUED, QUEUED, [OK, value, len(value), 1], None]


# ---- several clients -------------------------------------------------------------------------------------------------
@pytest.mark.control
def test_another_clients_write_makes_exec_answer_nil(fleet):
    a, b = fleet.client(), fleet.client()
    for i in range(20):
        k = f'seen:{i}'
        assert a.pipeline(('SET', k, 1), ('WATCH', k), ('GET', k)) == [OK, OK, b'1']
        assert b.call('SET', k, 2) == OK
        assert a.pipeline(('MULTI',), ('SET', k, 3), ('EXEC',), ('GET', k)) == [OK, QUEUED, None, b'2']
        assert a.pipeline(('MULTI',), ('SET', k, 3), ('EXEC',), ('GET', k)) == [OK, QUEUED, [OK], b'3']


@pytest.mark.control
def test_nothing_comes_between_the_commands_of_a_transaction(fleet):
    """Two counters move together; whoever looks at both sees them equal."""
    stop, wrong = threading.Event(), []

    def write(client):
        while not stop.is_set():
            replies = client.pipeline(('MULTI',), ('INCR', '{pair}a'), ('INCR', '{pair}b'), ('EXEC',))
            if replies[3][0] != replies[3][1]:
                wrong.append(replies)

    def look(client):
        while not stop.is_set():
            a, b = client.call('MGET', '{pair}a', '{pair}b')
            if a != b:
                wrong.append((a, b))

    fleet.client().call('DEL', '{pair}a', '{pair}b')
    threads = [threading.Thread(target=run, args=(fleet.client(),)) for run in [write] * 3 + [look] * 3]
    for t in threads:
        t.start()
    time.sleep(0.5)
    stop.set()
    for t in threads:
        t.join()
    assert not wrong
    assert int(fleet.client().call('GET', '{pair}a')) > 20, 'hardly anything was done: the test tested nothing'


@pytest.mark.control
def test_nobody_is_blocked_inside(fleet):
    client, teller = fleet.client(), fleet.client()
    number = client.call('CLIENT', 'ID')
    assert client.pipeline(('MULTI',), ('BLPOP', '{m}l', 0)) == [OK, QUEUED]
    assert teller.call('CLIENT', 'UNBLOCK', number) == 0
    assert client.call('EXEC') == [None]


@pytest.mark.control
def test_optimistic_increments_add_up(fleet):
    k, wins, error = 'optimistic', [0] * 6, []
    fleet.client().call('SET', k, 0)

    def count(i, client):
        try:
            while wins[i] < 20:
                old = client.pipeline(('WATCH', k), ('GET', k))[1]
                done = client.pipeline(('MULTI',), ('SET', k, int(old) + 1), ('EXEC',))[2]
                wins[i] += done == [OK]
        except Exception as e:  # the main thread says it
            error.append(repr(e))

    threads = [threading.Thread(target=count, args=(i, fleet.client())) for i in range(len(wins))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not error
    assert int(fleet.client().call('GET', k)) == sum(wins)


# ---- owners ----------------------------------------------------------------------------------------------------------
def test_a_key_of_another_owner_fails_the_transaction(fleet):
    client, p, q = fleet.client(), fleet.key('n1', 'owner'), fleet.key('n2', 'owner')
    client.call('DEL', p, q)
    replies = client.pipeline(('MULTI',), ('SET', p, 1), ('SET', q, 1), ('SET', p, 2), ('EXEC',), ('MGET', p, q), ('SET', q, 2))
    assert replies == [OK, QUEUED, CROSSSLOT, QUEUED, ABORTED, [None, None], OK]
    assert client.pipeline(('MULTI',), ('SET', q, 1), ('EXEC',)) == [OK, QUEUED, [OK]]


@pytest.mark.parametrize('command', [('MSET', 'P', 1, 'Q', 2), ('DEL', 'P', 'Q'), ('MGET', 'P', 'Q'), ('SUNION', 'P', 'Q'),
                                     ('RENAME', 'P', 'Q'), ('BLPOP', 'P', 'Q', 0)], ids=lambda c: c[0])
def test_no_command_is_split_inside(fleet, command):
    client = fleet.client()
    keys = {'P': fleet.key('n1', 'split'), 'Q': fleet.key('n3', 'split')}
    command = [keys.get(word, word) for word in command]
    assert client.pipeline(('MULTI',), command, ('EXEC',), ('PING',)) == [OK, CROSSSLOT, ABORTED, PONG]
    assert client.pipeline(('MULTI',), ('GET', keys['P']), command, ('EXEC',)) == [OK, QUEUED, CROSSSLOT, ABORTED]


@pytest.mark.parametrize('command', ['CLIENT GETNAME', 'AUTH default x', 'HELLO 3', 'SHUTDOWN'])
def test_what_is_the_routers_own_is_refused_inside(fleet, command):
    """In words of its own, so that nobody takes it for done."""
    client = fleet.client()
    _, reply, end = client.pipeline(('MULTI',), command.split(), ('EXEC',))
    assert isinstance(reply, Error) and ('is not served inside a transaction' in reply or 'is refused' in reply), reply
    assert end == ABORTED and client.call('PING') == PONG


@pytest.mark.parametrize('command', ['FLUSHALL', 'FLUSHDB', 'DBSIZE', 'KEYS *', 'SCAN 0', 'RANDOMKEY', 'CONFIG SET maxmemory 0'])
def test_what_asks_every_node_is_not_done_by_one(fleet, command):
    client = fleet.client()
    client.pipeline(*[('SET', fleet.key(name, 'every'), 1) for name in fleet.nodes])
    _, reply, end = client.pipeline(('MULTI',), command.split(), ('EXEC',))
    assert isinstance(reply, Error) and end == ABORTED, (reply, end)


def test_watched_keys_have_one_owner(fleet):
    client, p, q = fleet.client(), fleet.key('n1', 'watch'), fleet.key('n2', 'watch')
    assert client.pipeline(('WATCH', p, q), ('PING',)) == [CROSSSLOT, PONG]
    assert client.pipeline(('WATCH', p), ('WATCH', q), ('UNWATCH',), ('WATCH', q), ('UNWATCH',)) == \
        [OK, CROSSSLOT, OK, OK, OK]
    assert client.pipeline(('WATCH', p), ('MULTI',), ('GET', q), ('EXEC',)) == [OK, OK, CROSSSLOT, ABORTED]


def test_while_watching_other_owners_are_served(fleet):
    a, b = fleet.client(), fleet.client()
    (p, s), (q, r) = fleet.keys('n1', 2, 'beside'), fleet.keys('n2', 2, 'beside')
    replies = a.pipeline(('SET', p, 1), ('WATCH', p), ('MSET', s, 1, q, 2, r, 3), ('MGET', p, q, r), ('GET', q),
                         ('MULTI',), ('INCR', p), ('EXEC',))
    assert replies == [OK, OK, OK, [b'1', b'2', b'3'], b'2', OK, QUEUED, [2]]
    assert a.pipeline(('WATCH', p), ('SET', q, 'x')) == [OK, OK]
    assert b.call('SET', p, 5) == OK
    assert a.pipeline(('MULTI',), ('INCR', p), ('EXEC',)) == [OK, QUEUED, None]


def test_a_split_command_spoils_what_its_own_client_watches(fleet):
    a, p, q = fleet.client(), fleet.key('n1', 'spoil'), fleet.key('n2', 'spoil')
    assert a.pipeline(('WATCH', p), ('MSET', q, 1, p, 1), ('MULTI',), ('GET', p), ('EXEC',)) == [OK, OK, OK, QUEUED, None]
    assert a.pipeline(('WATCH', p), ('DEL', q, p), ('MULTI',), ('GET', p), ('EXEC',)) == [OK, 2, OK, QUEUED, None]


def test_a_transaction_without_keys_needs_no_owner(fleet):
    replies = fleet.client().pipeline(('MULTI',), ('PING',), ('ECHO', 'x'), ('EXEC',))
    assert replies == [OK, QUEUED, QUEUED, [PONG, b'x']]


# ---- clients that vanish ---------------------------------------------------------------------------------------------
def in_state(fleet):
    """The node connections in MULTI, blocked, or with a watched key that changed."""
    return [line for node in fleet.nodes.values() for line in CLIENT_IN_STATE.findall(node.call('CLIENT', 'LIST').decode())]


STATES = {
    'watch': [('WATCH', '{gone}a')],
    'multi': [('MULTI',), ('SET', '{gone}a', 'x')],
    'watch, multi': [('WATCH', '{gone}a'), ('MULTI',), ('SET', '{gone}a', 'x')],
    'failed multi': [('MULTI',), ('SET', '{gone}a', 'x'), ('NOSUCH',)],
    'multi in database 3': [('SELECT', 3), ('MULTI',), ('SET', '{gone}a', 'x')],
    'resp3 multi': [('HELLO', 3), ('MULTI',), ('SET', '{gone}a', 'x')],
    'multi, select': [('MULTI',), ('SELECT', 3), ('SET', '{gone}a', 'x')],
}


@pytest.mark.control
@pytest.mark.parametrize('end', ['close', 'reset'])
@pytest.mark.parametrize('state', STATES)
def test_a_client_that_vanishes_leaves_nothing_behind(fleet, state, end):
    fleet.client().call('DEL', '{gone}a', '{gone}h')
    fleet.client().call('HSET', '{gone}h', 'f', 'v')
    for _ in range(20):
        client = fleet.router.client()
        client.pipeline(*STATES[state])
        getattr(client, end)()
        next_one = fleet.router.client()
        assert next_one.pipeline(('GET', '{gone}a'), ('HGETALL', '{gone}h'), ('SET', '{gone}b', 1), ('GET', '{gone}b')) == \
            [None, [b'f', b'v'], OK, b'1']
        assert next_one.pipeline(('MULTI',), ('HGETALL', '{gone}h'), ('GET', '{gone}a'), ('EXEC',)) == \
            [OK, QUEUED, QUEUED, [[b'f', b'v'], None]]
        next_one.close()
    fleet.client().pipeline(('SET', '{gone}a', 'touched'), ('DEL', '{gone}a'))
    wait_until(lambda: not in_state(fleet), what='no node connection in a client\'s state')


@pytest.mark.control
def test_a_client_that_vanishes_while_its_exec_runs_is_forgotten(fleet):
    for i in range(50):
        client = fleet.router.client()
        client.send(b'*1\r\n$5\r\nMULTI\r\n*3\r\n$3\r\nSET\r\n$5\r\n{g}:a\r\n$1\r\n1\r\n*1\r\n$4\r\nEXEC\r\n')
        client.reset() if i % 2 else client.close()
    assert fleet.client().pipeline(('MULTI',), ('PING',), ('EXEC',)) == [OK, QUEUED, [PONG]]
    wait_until(lambda: not in_state(fleet), what='no node connection in a client\'s state')


def test_private_connections_come_back(new_fleet):
    """With two of them per node, two hundred clients in a row are served whatever they leave behind."""
    fleet = new_fleet(3, sets={'upstream.private_per_node': 2})
    k = fleet.key('n1')
    for i in range(200):
        client = fleet.router.client()
        replies = client.pipeline(*[[('WATCH', k)], [('MULTI',), ('GET', k)], [('WATCH', k), ('MULTI',)],
                                    [('MULTI',), ('GET', k), ('EXEC',)], [('MULTI',), ('GET', k), ('DISCARD',)]][i % 5])
        assert not any(isinstance(r, Error) for r in replies), (i, replies)
        client.close() if i % 3 else client.reset()
        wait_until(lambda: fleet.router.metric('ringway_clients') == 0, what='the client being gone')


def test_no_private_connection_free_is_told(new_fleet):
    fleet = new_fleet(3, sets={'upstream.private_per_node': 2})
    (a, b), other = fleet.keys('n1', 2), fleet.key('n2')
    holders, late = [fleet.client() for _ in range(2)], fleet.client()
    for holder in holders:
        assert holder.pipeline(('MULTI',), ('SET', a, 'x')) == [OK, QUEUED]
    reply = late.call('WATCH', a)
    assert isinstance(reply, Error) and reply.startswith("OVERLOADED node 'n1'"), repr(reply)
    # nothing is watched, which a client that has sent all this in one write could not know
    first, second, end = late.pipeline(('MULTI',), ('SET', b, 'x'), ('EXEC',))
    assert (first, second) == (OK, QUEUED) and end.startswith('EXECABORT'), end
    first, second, end = late.pipeline(('MULTI',), ('SET', b, 'x'), ('EXEC',))
    assert first == OK and second.startswith("OVERLOADED node 'n1'") and end == ABORTED
    assert late.pipeline(('SET', b, 1), ('GET', b), ('WATCH', other), ('UNWATCH',)) == [OK, b'1', OK, OK]
    assert holders[0].call('EXEC') == [OK]
    wait_until(lambda: late.call('WATCH', a) == OK, what='a connection being free again')
    assert holders[1].call('EXEC') == [OK]


@pytest.mark.control
def test_quit_inside_answers_and_closes(fleet):
    client = fleet.client()
    assert client.pipeline(('MULTI',), ('SET', '{q}a', 1), ('QUIT',)) == [OK, QUEUED, OK]
    with pytest.raises(Closed):
        client.reply()
    assert fleet.client().call('GET', '{q}a') is None


@pytest.mark.parametrize('reply', ['ON', 'OFF'])
def test_a_database_is_selected_only_when_exec_was_carried_out(fleet, reply):
    client, other = fleet.client(), fleet.client()
    client.call('SELECT', 1), client.call('DEL', '{w}db'), client.call('SELECT', 0), client.call('DEL', '{w}db')
    for change, where in (True, 0), (False, 1):
        client.call('SELECT', 0)
        assert client.call('WATCH', '{w}') == OK
        if change:
            other.call('SET', '{w}', random.random())
        if reply == 'OFF':
            client.cmd('CLIENT', 'REPLY', 'OFF')
        for command in ('MULTI',), ('SELECT', 1), ('SET', '{w}x', 1), ('EXEC',):
            client.cmd(*command)
        if reply == 'OFF':
            client.cmd('CLIENT', 'REPLY', 'ON')
            assert client.reply() == OK
        else:
            assert [client.reply() for _ in range(4)][3] == (None if change else [OK, OK])
        assert client.call('SET', '{w}db', where) == OK
        other.call('SELECT', where)
        assert other.call('GET', '{w}db') == b'%d' % where
        other.call('SELECT', 0)
    assert other.call('GET', '{w}db') == b'0'


def test_what_is_before_a_slow_script_may_take_as_long(new_fleet):
    fleet = new_fleet(3, sets={'timeouts.request': '100ms', 'upstream.stuck_floor': '300ms'})
    slow = ("local t = redis.call('TIME') local e = t[1] * 1000 + t[2] / 1000 + 700 "
            "repeat t = redis.call('TIME') until t[1] * 1000 + t[2] / 1000 > e return redis.call('INCR', KEYS[1])")
    assert fleet.client().pipeline(('MULTI',), ('SET', '{s}', 1), ('EVAL', slow, 1, '{s}'), ('GET', '{s}'), ('EXEC',)) == \
        [OK, QUEUED, QUEUED, QUEUED, [OK, 2, b'2']]


def test_what_comes_before_the_first_key_is_limited(fleet):
    client = fleet.client(60)
    replies = client.pipeline(('MULTI',), *[('PING',)] * 5000, ('SET', 'k', 1), ('EXEC',), ('PING',))
    assert replies[:4097] == [OK] + [QUEUED] * 4096
    assert replies[4097].startswith('OVERLOADED too much in the transaction') and replies[-2:] == [ABORTED, PONG]
    assert client.pipeline(('MULTI',), *[('PING',)] * 4000, ('SET', 'k', 1), ('EXEC',))[-1] == [PONG] * 4000 + [OK]


def test_exec_ends_the_transaction_when_memory_is_out(new_fleet):
    """And what ends it without EXEC is served all the same."""
    fleet = new_fleet(1, sets={'limits.memory': '2mb'})
    inside, leaving = fleet.client(), fleet.client()
    inside.call('SET', 'big', 'x' * 500000)
    for client in inside, leaving:
        assert client.pipeline(('MULTI',), ('SET', 'a', 1)) == [OK, QUEUED]
    takers = [fleet.client() for _ in range(16)]
    full = Error('OVERLOADED memory limit')
    for taker in takers:
        for _ in range(40):
            taker.cmd('GET', 'big')
    wait_until(lambda: fleet.client().call('GET', 'a') == full, what='memory being out')
    assert inside.call('EXEC') == full and leaving.call('DISCARD') == OK
    for taker in takers:
        taker.close()
    wait_until(lambda: fleet.client().call('GET', 'a') is None, what='memory being there again')
    assert inside.pipeline(('GET', 'a'), ('EXEC',), ('MULTI',), ('GET', 'a'), ('EXEC',)) == \
        [None, Error('ERR EXEC without MULTI'), OK, QUEUED, [None]]


def test_a_key_of_another_owner_is_counted_once(fleet):
    client, p, q = fleet.client(), fleet.key('n1', 'once'), fleet.key('n2', 'once')
    before = fleet.router.metric('ringway_errors_crossslot_total')
    assert client.pipeline(('MULTI',), ('SET', p, 1), ('SET', q, 1), ('EXEC',)) == [OK, QUEUED, CROSSSLOT, ABORTED]
    assert fleet.router.metric('ringway_errors_crossslot_total') == before + 1
