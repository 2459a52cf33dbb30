# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Scripts and functions over several nodes: what one client taught the router every node can run, for every client."""
import hashlib
import itertools
import signal
import time

import pytest

from harness import HOST, RedisServer, wait_until
from resp import OK, PONG, Client, Error, Status, encode
from test_config import FileRouter, pool, start  # noqa: F401 (start is a fixture)

NOSCRIPT = 'NOSCRIPT No matching script. Please use EVAL.'
UNKNOWN = '0' * 40
NAMES = ['n1', 'n2', 'n3']
BUSY = ['--busy-reply-threshold', '50']  # a script is told from a slow one after so many ms
serial = itertools.count()


def sha(body):
    return hashlib.sha1(body.encode()).hexdigest()


def fresh():
    """A script that no test has used: it sets its key to its argument and returns what is there now."""
    return f"redis.call('set', KEYS[1], ARGV[1]) return redis.call('get', KEYS[1]) -- {time.time_ns()} {next(serial)}"


def clients(fleet, count=6):
    """Enough for each worker to have some."""
    return [fleet.client() for _ in range(count)]


def runs(c, body, key, value='v'):
    return c.call('EVALSHA', sha(body), 1, key, value) == value.encode()


def loads(fleet):
    return fleet.router.metric('ringway_scripts_loaded_total')


def has(node, body):
    return node.call('SCRIPT', 'EXISTS', sha(body)) == [1]


# ---- a body that is known ------------------------------------------------------------------------------------------
@pytest.mark.parametrize('teach', ['eval', 'load'])
def test_what_one_client_sent_runs_on_every_node_for_every_client(fleet, teach):
    body = fresh()
    teacher, *others = clients(fleet, 7)
    if teach == 'eval':
        assert teacher.call('EVAL', body, 1, fleet.key('n1'), 'v') == b'v'
        assert [has(fleet[n], body) for n in NAMES] == [True, False, False]
    else:
        assert teacher.call('SCRIPT', 'LOAD', body) == sha(body).encode()
        assert all(has(fleet[n], body) for n in NAMES)
    for i, c in enumerate(others):
        for name in NAMES:
            key = fleet.key(name, f'everywhere{i}')
            assert runs(c, body, key, f'v{i}')
            assert fleet[name].call('GET', key) == b'v%d' % i


def test_the_body_is_sent_once_a_connection(new_fleet):
    fleet, body = new_fleet(), fresh()
    c = fleet.client()
    c.call('EVAL', body, 1, fleet.key('n1'), 'v')
    keys = [k for name in NAMES for k in fleet.keys(name, 50)]
    assert c.pipeline(*[('EVALSHA', sha(body), 1, k, 'v') for k in keys]) == [b'v'] * 150
    assert loads(fleet) == 3
    assert c.pipeline(*[('EVALSHA', sha(body), 1, k, 'v') for k in keys]) == [b'v'] * 150
    assert loads(fleet) == 3


def test_hashes_may_be_in_capitals(fleet):
    body = fresh()
    c = fleet.client()
    c.call('EVAL', body, 1, fleet.key('n1'), 'v')
    assert c.call('EVALSHA', sha(body).upper(), 1, fleet.key('n2'), 'v') == b'v'
    assert c.call('SCRIPT', 'EXISTS', sha(body).upper()) == [1]


@pytest.mark.parametrize('size', [0, 1, 5000, 40000, 900000])
def test_bodies_of_any_size(fleet, size):
    body = f'return #ARGV[1] --{"x" * size}{time.time_ns()}'
    a, b = clients(fleet, 2)
    assert a.call('EVAL', body, 1, fleet.key('n1'), 'abc') == 3
    argument = 'y' * size
    for name in NAMES:
        assert b.call('EVALSHA', sha(body), 1, fleet.key(name), argument) == size


def test_inline_and_resp3(fleet):
    body = fresh()
    a, b = clients(fleet, 2)
    a.call('EVAL', body, 1, fleet.key('n1'), 'v')
    assert b.send(f'EVALSHA {sha(body)} 1 {fleet.key("n2")} v\r\n'.encode()).reply() == b'v'
    a.call('HELLO', 3)
    a.call('SELECT', 1)
    assert all(runs(a, body, fleet.key(name)) for name in NAMES)


def test_eval_ro_teaches_and_evalsha_ro_runs(fleet):
    body = f"return redis.call('get', KEYS[1]) -- {time.time_ns()}"
    a, b = clients(fleet, 2)
    key = fleet.key('n3')
    a.call('SET', key, 'v')
    assert a.call('EVAL_RO', body, 1, fleet.key('n1', 'nothing')) is None
    assert b.call('EVALSHA_RO', sha(body), 1, key) == b'v'


def test_everything_in_one_write(fleet):
    """In the order sent, though the router learns and forgets meanwhile."""
    body, key = fresh(), fleet.key('n2')
    c = fleet.client()
    call = ('EVALSHA', sha(body), 1, key, 'v')
    assert c.pipeline(call, ('SCRIPT', 'LOAD', body), call, ('SCRIPT', 'EXISTS', sha(body)), ('SCRIPT', 'FLUSH'), call,
                      ('SCRIPT', 'EXISTS', sha(body)), ('EVAL', body, 1, key, 'w'), call, ('PING',)) == [
        Error(NOSCRIPT), sha(body).encode(), b'v', [1], OK, Error(NOSCRIPT), [0], b'w', b'v', PONG]


# ---- inside a transaction ------------------------------------------------------------------------------------------
QUEUED = Status('QUEUED')


@pytest.mark.parametrize('threads', [1, 3])
@pytest.mark.parametrize('size', [1, 200, 100000])
def test_a_transaction_finds_it_on_every_node(new_fleet, threads, size):
    fleet, body = new_fleet(threads=threads), fresh()
    a, b = clients(fleet, 2)
    a.call('EVAL', body, 1, fleet.key('n1'), 'v')
    value = b'x' * size
    for _ in range(2):
        for name in NAMES:
            key = fleet.key(name)
            assert b.pipeline(('GET', key), ('MULTI',), ('SET', key, 'before'), ('EVALSHA', sha(body), 1, key, value),
                              ('GET', key), ('EXEC',), ('GET', key))[1:] == [
                OK, QUEUED, QUEUED, QUEUED, [OK, value, value], value]
    assert loads(fleet) == 3


def test_a_transaction_teaches(fleet):
    body, key = fresh(), fleet.key('n1')
    a, b = clients(fleet, 2)
    assert a.pipeline(('MULTI',), ('EVAL', body, 1, key, 'v'), ('EXEC',)) == [OK, QUEUED, [b'v']]
    assert all(runs(b, body, fleet.key(name)) for name in NAMES)


def test_an_unknown_script_is_a_transactions_own_error(fleet):
    c, key = fleet.client(), fleet.key('n2')
    assert c.pipeline(('MULTI',), ('EVALSHA', UNKNOWN, 1, key), ('GET', key), ('EXEC',))[:3] == [OK, QUEUED, QUEUED]
    assert c.call('PING') == PONG


def test_a_watching_client_runs_scripts_too(fleet):
    body = fresh()
    a, b = clients(fleet, 2)
    a.call('EVAL', body, 1, fleet.key('n1'), 'v')
    for name in NAMES:
        key = fleet.key(name)
        assert b.call('WATCH', key) == OK
        assert runs(b, body, key)
        assert b.call('UNWATCH') == OK


def test_a_keyless_script_in_a_transaction(fleet):
    body = f'return ARGV[1] -- {time.time_ns()}'
    a, b = clients(fleet, 2)
    a.call('EVAL', body, 1, fleet.key('n1'), 'v')
    call = ('EVALSHA', sha(body), 0, 'x')
    assert b.pipeline(('MULTI',), call, ('EXEC',)) == [OK, QUEUED, [b'x']]
    for name in NAMES:
        assert b.pipeline(('MULTI',), call, ('GET', fleet.key(name)), call, ('EXEC',))[4][::2] == [b'x', b'x']


# ---- one that is not -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize('name', [UNKNOWN, 'short', '', 'g' * 40, UNKNOWN + '0'])
def test_an_unknown_script_is_told_by_the_node(fleet, name):
    before = loads(fleet)
    with fleet.router.client() as c:
        assert c.call('EVALSHA', name, 1, 'k', 'v') == NOSCRIPT
        assert c.call('EVALSHA_RO', name, 0) == NOSCRIPT
        assert c.call('PING') == PONG
    assert loads(fleet) == before


def test_what_is_no_script_is_not_there(fleet):
    """A body that does not compile is kept nowhere but in the router, and does not exist."""
    body = f'this is no Lua {time.time_ns()}'
    c, other = clients(fleet, 2)
    assert c.call('EVAL', body, 1, fleet.key('n1')).startswith('ERR Error compiling script')
    assert c.call('SCRIPT', 'LOAD', body).startswith('ERR Error compiling script')
    assert c.call('SCRIPT', 'EXISTS', sha(body)) == [0]
    for _ in range(3):
        assert other.call('EVALSHA', sha(body), 1, fleet.key('n2')) == NOSCRIPT


# ---- nodes that forget ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize('threads', [1, 3])
def test_a_node_that_was_restarted_gets_it_again(new_fleet, threads):
    fleet, body = new_fleet(threads=threads), fresh()
    all_of_them = clients(fleet)
    all_of_them[0].call('EVAL', body, 1, fleet.key('n1'), 'v')
    assert all(runs(c, body, fleet.key(name)) for c in all_of_them for name in NAMES)
    fleet['n2'].restart()
    for c in all_of_them:
        wait_until(lambda: not isinstance(c.call('GET', fleet.key('n2')), Error), what='n2 being connected again')
        assert runs(c, body, fleet.key('n2'))
    assert has(fleet['n2'], body)


@pytest.mark.parametrize('threads', [1, 3])
def test_flush_is_for_everybody(new_fleet, threads):
    fleet, body = new_fleet(threads=threads), fresh()
    all_of_them = clients(fleet)
    all_of_them[0].call('EVAL', body, 1, fleet.key('n1'), 'v')
    assert all(runs(c, body, fleet.key(name)) for c in all_of_them for name in NAMES)
    for how in ([], ['SYNC'], ['async']):
        assert all_of_them[1].call('SCRIPT', 'FLUSH', *how) == OK
        assert not any(has(fleet[name], body) for name in NAMES)
        for c in all_of_them:
            for name in NAMES:
                assert c.call('EVALSHA', sha(body), 1, fleet.key(name), 'v') == NOSCRIPT
            assert c.call('SCRIPT', 'EXISTS', sha(body)) == [0]
        all_of_them[2].call('EVAL', body, 1, fleet.key('n3'), 'v')
        assert all(runs(c, body, fleet.key(name)) for c in all_of_them for name in NAMES)


def test_a_wrong_flush_forgets_nothing(fleet):
    body = fresh()
    c = fleet.client()
    c.call('EVAL', body, 1, fleet.key('n1'), 'v')
    assert c.call('SCRIPT', 'FLUSH', 'NOW') == 'ERR SCRIPT FLUSH only support SYNC|ASYNC option'
    assert runs(c, body, fleet.key('n2'))


def test_a_node_that_was_flushed_behind_our_back_says_so_once(fleet):
    body, key = fresh(), fleet.key('n2')
    c = fleet.client()
    c.call('EVAL', body, 1, fleet.key('n1'), 'v')
    assert runs(c, body, key)
    fleet['n2'].call('SCRIPT', 'FLUSH')
    assert c.call('EVALSHA', sha(body), 1, key, 'v') == NOSCRIPT
    assert runs(c, body, key)


def test_a_connection_lost_under_a_script_is_told_as_such(new_fleet):
    """Not sent again on a connection whose node may not have the script."""
    fleet = new_fleet()
    body = f"if ARGV[1] == 'on' then while true do end end return 1 -- {time.time_ns()}"
    c, key = fleet.client(), fleet.key('n1')
    for command in ('EVALSHA', 'EVALSHA_RO'):
        c.call('SCRIPT', 'LOAD', body)
        assert c.call(command, sha(body), 1, key, 'off') == 1
        c.cmd(command, sha(body), 1, key, 'on')
        c.cmd('GET', fleet.key('n2'))
        wait_until(lambda: fleet.router.metric('ringway_requests_pending') >= 1)
        time.sleep(0.05)  # let it begin
        fleet['n1'].restart()
        assert c.reply().startswith("UNAVAILABLE node 'n1': connection lost")
        assert c.reply() is None
        wait_until(lambda: not isinstance(c.call('GET', key), Error), what='n1 being connected again')
        assert c.call(command, sha(body), 1, key, 'off') == 1


def test_what_waits_for_a_connect_brings_its_script_along(new_fleet):
    """While a connect hangs the first EVALSHA takes the body with it; those behind it rely on that."""
    fleet, body = new_fleet(sets={'upstream.preconnect': 'false', 'timeouts.connect': '5s'}), fresh()
    a, b = clients(fleet, 2)
    a.call('EVAL', body, 1, fleet.key('n1'), 'v')
    assert b.pipeline(*[('EVALSHA', sha(body), 1, k, 'v') for k in fleet.keys('n2', 20)]) == [b'v'] * 20
    assert loads(fleet) == 1


# ---- limits --------------------------------------------------------------------------------------------------------
def test_those_used_longest_ago_are_forgotten(new_fleet):
    fleet = new_fleet(sets={'limits.scripts': '64kb'})
    c = fleet.client()
    bodies = [fresh() + ' ' * 2000 for _ in range(60)]
    for body in bodies:
        c.call('EVAL', body, 1, fleet.key('n1'), 'v')
    assert c.call('EVALSHA', sha(bodies[0]), 1, fleet.key('n2'), 'v') == NOSCRIPT
    assert runs(c, bodies[0], fleet.key('n1'))  # it still has it
    assert runs(c, bodies[-1], fleet.key('n2'))
    assert fleet.router.metric('ringway_scripts_dropped_total') > 20


def test_one_that_is_too_large_is_not_kept(new_fleet):
    fleet = new_fleet(sets={'limits.scripts': '64kb'})
    c = fleet.client()
    small, large = fresh() + ' ' * 3000, fresh() + ' ' * 4096
    for body in (small, large):
        assert c.call('EVAL', body, 1, fleet.key('n1'), 'v') == b'v'
    assert runs(c, small, fleet.key('n2'))
    assert c.call('EVALSHA', sha(large), 1, fleet.key('n2'), 'v') == NOSCRIPT
    assert c.call('SCRIPT', 'LOAD', large) == sha(large).encode()
    assert runs(c, large, fleet.key('n2'))  # the nodes do have it


def test_limits_scripts_may_change(start):  # noqa: F811
    nodes = [start(RedisServer(f'n{i}')) for i in (1, 2)]
    text = 'limits: {scripts: %s}\nlog_level: debug\npools:\n' + pool('main', nodes)
    router = start(FileRouter(text % '1mb'))
    keys = [str(i) for i in range(100)]
    with Client(router.addr) as c:
        def anywhere():
            return [c.call('EVALSHA', sha(body), 1, k, 'v') for k in keys]
        body = fresh()
        c.call('EVAL', body, 1, keys[0], 'v')
        assert anywhere() == [b'v'] * 100
        with open(router.path, 'w', encoding='utf-8') as f:
            f.write(text % '0')
        router.signal(signal.SIGHUP)
        wait_until(lambda: 'msg="done"' in router.log(), what='the reload')
        assert anywhere() == [b'v'] * 100  # the nodes have it
        body = fresh()
        c.call('EVAL', body, 1, keys[0], 'v')
        assert set(anywhere()) == {b'v', Error(NOSCRIPT)}


def test_pools_have_scripts_of_their_own(start):  # noqa: F811
    nodes = [start(RedisServer(f'n{i}')) for i in (1, 2)]
    router = start(FileRouter('pools:\n' + pool('a', nodes[:1]) + pool('b', nodes[1:])))
    a, b = (Client(addr) for addr in router.listeners())
    with a, b:
        body = fresh()
        assert a.call('SCRIPT', 'LOAD', body) == sha(body).encode()
        assert b.call('EVALSHA', sha(body), 1, 'k', 'v') == NOSCRIPT
        assert b.call('SCRIPT', 'EXISTS', sha(body)) == [0]
        b.call('SCRIPT', 'FLUSH')
        nodes[0].restart()
        wait_until(lambda: not isinstance(a.call('GET', 'k'), Error), what='the node being connected again')
        assert runs(a, body, 'k')


# ---- where they go -------------------------------------------------------------------------------------------------
def test_keys_of_several_owners(fleet):
    body = fresh()
    c = fleet.client()
    keys = [fleet.key(name) for name in NAMES]
    for args in (('EVAL', body), ('EVALSHA', UNKNOWN), ('EVAL_RO', body), ('EVALSHA_RO', UNKNOWN), ('FCALL', 'f'),
                 ('FCALL_RO', 'f')):
        assert c.call(*args, 3, *keys) == "CROSSSLOT Keys in request don't hash to the same slot"
    assert c.call('EVALSHA', sha(body), 1, keys[0], 'v') == NOSCRIPT  # a refused one teaches nothing


@pytest.mark.parametrize('count, says', [('-1', "ERR Number of keys can't be negative"),
                                         ('x', 'ERR value is not an integer or out of range'),
                                         ('3', "ERR Number of keys can't be greater than number of args")])
def test_a_wrong_number_of_keys(fleet, count, says):
    with fleet.router.client() as c:
        for args in (('EVAL', 'return 1'), ('EVALSHA', UNKNOWN), ('EVAL_RO', 'return 1'), ('EVALSHA_RO', UNKNOWN)):
            assert c.call(*args, count, 'a') == says
        assert c.call('FCALL', 'f', count, 'a').startswith(('ERR', says[:10]))
        assert c.call('PING') == PONG


def test_keyless_ones(fleet):
    body = f'return ARGV[1] -- {time.time_ns()}'
    a, b = clients(fleet, 2)
    assert a.call('EVAL', body, 0, 'x') == b'x'
    assert b.call('EVALSHA', sha(body), 0, 'y') == b'y'
    assert b.call('EVALSHA_RO', sha(body), 0, 'z') == b'z'


def test_errors_of_scripts_pass_through(fleet):
    with fleet.router.client() as c:
        for body, says in (("return redis.error_reply('NOSPACE')", 'ERR NOSPACE'), ("return {err='MY own'}", 'MY own'),
                           ("return redis.error_reply('NOSCRIPT none')", 'NOSCRIPT none'),
                           ("return redis.error_reply('BUSY bee')", 'BUSY bee')):
            for name in NAMES:
                key = fleet.key(name)
                assert c.call('EVAL', body, 1, key) == says
                assert c.call('EVALSHA', sha(body), 1, key) == says
                assert c.call('EVALSHA', sha(body), 1, key) == says
        assert c.call('EVAL', "error('boom')", 1, 'k').startswith('ERR user_script:1: boom script:')


def test_a_script_has_the_time_of_slow_commands(new_fleet):
    fleet = new_fleet(sets={'timeouts.request': '100ms', 'timeouts.slow': '10s'})
    body = ("local function now() local t = redis.call('time') return t[1] * 1000 + t[2] / 1000 end "
            'local till = now() + ARGV[1] while now() < till do end return 1')
    c = fleet.client()
    assert c.call('EVAL', body, 1, fleet.key('n1'), 400) == 1
    assert c.call('EVALSHA', sha(body), 1, fleet.key('n2'), 400) == 1


# ---- SCRIPT on every node ------------------------------------------------------------------------------------------
def test_exists_counts_what_can_be_run(fleet):
    on_one, on_all, known_to_a_node = fresh(), fresh(), fresh()
    c = fleet.client()
    c.call('EVAL', on_one, 1, fleet.key('n2'), 'v')
    c.call('SCRIPT', 'LOAD', on_all)
    fleet['n1'].call('SCRIPT', 'LOAD', known_to_a_node)
    names = [sha(on_one), UNKNOWN, sha(on_all), 'x', sha(known_to_a_node), sha(on_one)]
    assert c.call('SCRIPT', 'EXISTS', *names) == [1, 0, 1, 0, 0, 1]
    for name in ('n2', 'n3'):
        fleet[name].call('SCRIPT', 'LOAD', known_to_a_node)
    assert c.call('SCRIPT', 'EXISTS', *names) == [1, 0, 1, 0, 1, 1]
    assert c.call('SCRIPT', 'EXISTS', *names * 200) == [1, 0, 1, 0, 1, 1] * 200


def test_load_tells_the_first_error(new_fleet):
    fleet, body = new_fleet(), fresh()
    c = fleet.client()
    for name in ('n3', 'n2'):
        fleet[name].kill()
    wait_until(lambda: isinstance(c.call('GET', fleet.key('n3')), Error))
    reply = c.call('SCRIPT', 'LOAD', body)
    assert reply.startswith("UNAVAILABLE node 'n2': ")
    assert runs(c, body, fleet.key('n1'))
    fleet['n2'].start()
    wait_until(lambda: not isinstance(c.call('GET', fleet.key('n2')), Error))
    assert runs(c, body, fleet.key('n2'))


# ---- functions -----------------------------------------------------------------------------------------------------
def library(name, returns='keys[1]'):
    return (f"#!lua name={name}\nredis.register_function{{function_name='{name}f', callback=function(keys, args) "
            f"return {returns} end, flags={{'no-writes'}}}}")


def test_a_library_is_on_every_node(fleet):
    c, other = clients(fleet, 2)
    assert c.call('FUNCTION', 'FLUSH') == OK
    assert c.call('FUNCTION', 'LOAD', library('one')) == b'one'
    for name in NAMES:
        key = fleet.key(name)
        assert other.call('FCALL', 'onef', 1, key) == key.encode()
        assert other.call('FCALL_RO', 'onef', 1, key) == key.encode()
    assert other.call('FCALL', 'onef', 0) is None
    assert c.call('FUNCTION', 'LOAD', library('one')) == "ERR Library 'one' already exists"
    assert c.call('FUNCTION', 'LOAD', 'REPLACE', library('one', "'new'")) == b'one'
    assert [other.call('FCALL', 'onef', 1, fleet.key(n)) for n in NAMES] == [b'new'] * 3
    assert [len(fleet[n].call('FUNCTION', 'LIST')) for n in NAMES] == [1, 1, 1]
    assert c.call('FUNCTION', 'LIST') == fleet['n1'].call('FUNCTION', 'LIST')
    dump = c.call('FUNCTION', 'DUMP')
    assert c.call('FUNCTION', 'DELETE', 'one') == OK
    assert c.call('FUNCTION', 'DELETE', 'one') == 'ERR Library not found'
    assert c.call('FCALL', 'onef', 1, fleet.key('n2')) == 'ERR Function not found'
    assert c.call('FUNCTION', 'RESTORE', dump) == OK
    assert [other.call('FCALL', 'onef', 1, fleet.key(n)) for n in NAMES] == [b'new'] * 3
    assert c.call('FUNCTION', 'FLUSH') == OK
    assert [fleet[n].call('FUNCTION', 'LIST') for n in NAMES] == [[], [], []]


# ---- a script that does not end ------------------------------------------------------------------------------------
@pytest.fixture(params=[1, 3], ids=['1w', '3w'])
def patient(new_fleet, request):
    """Nodes that say soon that they are busy."""
    nodes = [RedisServer(f'n{i}', args=BUSY).start() for i in (1, 2, 3)]
    return new_fleet(nodes, threads=request.param)


def keep_busy(fleet, key, c, *script):
    """Starts a script that does not end; returns a client that was told so on another connection to that node."""
    other = fleet.client()
    other.call('SELECT', 1)
    other.call('GET', key)
    c.cmd(*script)
    wait_until(lambda: str(other.call('GET', key)).startswith('BUSY '), what='the node saying that it is busy')
    return other


ENDLESS = 'while true do end'


@pytest.mark.parametrize('command', ['EVAL', 'EVALSHA', 'FCALL'])
def test_an_endless_script_is_killed(patient, command):
    fleet = patient
    victim, other = clients(fleet, 2)
    key = fleet.key('n2')
    kind = 'FUNCTION' if command == 'FCALL' else 'SCRIPT'
    if command == 'FCALL':
        other.call('FUNCTION', 'LOAD', "#!lua name=l\nredis.register_function('f', function() while true do end end)")
    elif command == 'EVALSHA':
        other.call('SCRIPT', 'LOAD', ENDLESS)
    what = {'EVAL': ENDLESS, 'EVALSHA': sha(ENDLESS), 'FCALL': 'f'}[command]
    assert other.call(kind, 'KILL') == 'NOTBUSY No scripts in execution right now.'
    c = keep_busy(fleet, key, victim, command, what, 1, key)
    assert [other.call('SET', fleet.key(n), 'v') for n in ('n1', 'n3')] == [OK, OK]
    stats = other.call('FUNCTION', 'STATS')
    assert stats[0] == b'running_script' and (stats[1] is not None) == (command == 'FCALL')
    assert other.call(kind, 'KILL') == OK
    assert 'killed by user' in victim.reply()
    wait_until(lambda: c.call('GET', key) is None, what='the node being free again')
    assert other.call(kind, 'KILL') == 'NOTBUSY No scripts in execution right now.'
    assert victim.call('SET', key, 'v') == OK
    assert other.call('FUNCTION', 'STATS')[1] is None


def test_one_that_has_written_is_not_killed(patient):
    fleet = patient
    victim, other = clients(fleet, 2)
    key = fleet.key('n2')
    keep_busy(fleet, key, victim, 'EVAL', "redis.call('set', KEYS[1], 'v') " + ENDLESS, 1, key)
    assert other.call('SCRIPT', 'KILL').startswith('UNKILLABLE')
    fleet['n2'].kill()
    assert "UNAVAILABLE node 'n2'" in victim.reply()


def test_a_script_that_a_busy_node_did_not_take_is_sent_again(patient):
    """SCRIPT LOAD was refused like everything else: nothing is believed to be there."""
    fleet, body = patient, fresh()
    victim, other = clients(fleet, 2)
    key = fleet.key('n2')
    other.call('EVAL', body, 1, fleet.key('n1'), 'v')
    c = keep_busy(fleet, key, victim, 'EVAL', ENDLESS, 1, key)
    assert c.call('EVALSHA', sha(body), 1, key, 'v').startswith('BUSY ')
    assert c.call('SCRIPT', 'KILL') == OK
    assert 'killed by user' in victim.reply()
    wait_until(lambda: c.call('GET', key) is None, what='the node being free again')
    assert runs(c, body, key)


def test_a_node_that_is_down_does_not_hide_what_kill_did(patient):
    fleet = patient
    victim, other = clients(fleet, 2)
    fleet['n1'].kill()
    wait_until(lambda: isinstance(other.call('GET', fleet.key('n1')), Error))
    assert other.call('SCRIPT', 'KILL').startswith("UNAVAILABLE node 'n1': ")
    keep_busy(fleet, fleet.key('n2'), victim, 'EVAL', ENDLESS, 1, fleet.key('n2'))
    assert other.call('SCRIPT', 'KILL') == OK
    assert 'killed by user' in victim.reply()


def test_a_client_that_goes_leaves_nothing_behind(fleet):
    bodies = [fresh() for _ in range(50)]
    with fleet.router.client() as teacher:
        for body in bodies:
            teacher.call('EVAL', body, 1, fleet.key('n1'), 'v')
    for _ in range(5):
        with fleet.router.client() as c:
            c.send(b''.join(encode('EVALSHA', sha(body), 1, fleet.key('n3'), 'v') for body in bodies))
            c.send(encode('SCRIPT', 'EXISTS', *map(sha, bodies)) + encode('SCRIPT', 'KILL'))
            c.reset()
    with fleet.router.client() as c:
        assert all(runs(c, body, fleet.key('n3')) for body in bodies)
    wait_until(lambda: fleet.router.metric('ringway_buffer_bytes') < 200000 and
               fleet.router.metric('ringway_requests_pending') == 0)
