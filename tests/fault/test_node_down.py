# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""A node that is down, in every way a node can be: what its keys' clients are told, how soon, and that its return is
noticed."""
import time

import pytest

from fakenode import always, answer, close, drip, garbage, half_then_close, only, reset, silent
from faults import SLACK, is_lost, queue_full, scaled, seconds, timed, timed_out, unavailable
from harness import http_get, wait_until
from resp import OK, Closed, Error

REFUSED = 'connection refused'


def value(key):
    return f'value of {key}'.encode()


def down(node):
    node.close_port()
    node.drop_connections()


# ---- refused -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize('workers', [1, 3])
def test_a_refused_connect_is_told_at_once(world, workers):
    """Reads and writes alike: nothing was sent, so nothing is unknown."""
    fleet = world(request=2000, threads=workers)
    down(fleet['n2'])
    key, client = fleet.key('n2'), fleet.client()
    wait_until(lambda: client.call('GET', key) == unavailable('n2', REFUSED), what='the refusal')
    replies, took = timed(lambda: [client.call(*c) for c in [('GET', key), ('SET', key, 1)] * 10])
    assert set(replies) == {unavailable('n2', REFUSED)}
    assert took < 20 * 0.05 + SLACK
    assert client.call('GET', fleet.key('n1')) == value(fleet.key('n1'))


def test_the_router_starts_with_a_node_down(world):
    fleet = world(before=lambda n2: n2.close_port())
    client = fleet.client()
    assert client.call('SET', fleet.key('n1'), 'x') == OK
    assert client.call('GET', fleet.key('n2')) == unavailable('n2', REFUSED)
    assert http_get(fleet.router.admin, '/readyz')[0] == 200


@pytest.mark.parametrize('workers', [1, 3])
def test_a_node_that_returns_is_served_again(world, workers):
    fleet = world(request=1000, threads=workers, **{'upstream.backoff_max': 400})
    key, clients = fleet.key('n2'), [fleet.client() for _ in range(workers)]
    for _ in range(3):
        down(fleet['n2'])
        for c in clients:
            wait_until(lambda: isinstance(c.call('GET', key), Error), what='the loss being noticed')
        fleet['n2'].open_port()
        start = time.monotonic()
        for c in clients:
            wait_until(lambda: c.call('GET', key) == value(key), what='the return being noticed')
        assert time.monotonic() - start < seconds(400) + SLACK


def test_a_split_command_names_the_first_failed_node(world):
    fleet = world()
    down(fleet['n2'])
    down(fleet['n3'])
    client = fleet.client()
    for name in ('n2', 'n3'):
        wait_until(lambda: client.call('GET', fleet.key(name)) == unavailable(name, REFUSED), what='the refusal')
    k1, k2, k3 = (fleet.key(n, 'new') for n in ('n1', 'n2', 'n3'))
    assert client.call('MGET', k3, k2, k1) == unavailable('n2', REFUSED)
    assert client.call('MSET', k3, 3, k2, 2, k1, 1) == unavailable('n2', REFUSED)
    assert client.call('GET', k1) == b'1'


# ---- connects that hang --------------------------------------------------------------------------------------------
def test_a_hanging_connect_runs_out(world):
    fleet = world(request=2000, before=lambda n2: n2.blackhole(), **{'timeouts.connect': 250})
    client, key, want = fleet.client(), fleet.key('n2'), unavailable('n2', f'connect timeout after {scaled(250)} ms')
    for command in (('GET', key), ('SET', key, 'x')):
        reply, took = timed(client.call, *command)
        assert reply == want
        assert took < seconds(250) + SLACK
    assert client.call('SET', fleet.key('n1'), 'x') == OK


def test_a_request_waits_for_a_connect_only_until_its_deadline(world):
    fleet = world(request=250, before=lambda n2: n2.blackhole(), **{'timeouts.connect': 5000})
    reply, took = timed(fleet.client().call, 'GET', fleet.key('n2'))
    assert reply == timed_out('n2', 250)
    assert seconds(250) - 0.005 <= took < seconds(250) + SLACK


def test_requests_that_waited_for_a_connect_are_served(world):
    fleet = world(request=8000, before=lambda n2: n2.blackhole(), **{'timeouts.connect': 8000})
    keys, client = fleet.keys('n2', 5), fleet.client()
    for key in keys:
        client.cmd('SET', key, 'x')
    client.quiet(0.1)
    fleet['n2'].open_port()  # the kernel's next try comes through
    assert [client.reply() for _ in keys] == [OK] * 5


# ---- connections that end ------------------------------------------------------------------------------------------
@pytest.mark.parametrize('how', [close, reset], ids=['close', 'reset'])
def test_a_write_on_a_lost_connection_is_not_repeated(world, how):
    fleet = world(request=1000)
    n2, key, client = fleet['n2'], fleet.key('n2'), fleet.client()
    n2.behave = only('INCR', how)
    assert is_lost(client.call('INCR', key))
    n2.behave = always(answer)
    wait_until(lambda: client.call('GET', key) is not None, what='an answer')
    assert len(n2.requests('INCR')) == 1


@pytest.mark.parametrize('how', [close, reset], ids=['close', 'reset'])
def test_a_read_on_a_lost_connection_is_repeated_once(world, how):
    fleet = world(request=1000)
    n2, key, client = fleet['n2'], fleet.key('n2'), fleet.client()
    first = []

    def behave(args):
        if args[0] != b'GET' or first:
            return answer
        first.append(1)
        return how
    n2.behave = behave
    assert client.call('GET', key) == value(key)
    assert len(n2.requests('GET')) == 2


@pytest.mark.parametrize('reads, sent', [(1, 2), (0, 1)])
def test_a_read_is_repeated_as_often_as_allowed(world, reads, sent):
    fleet = world(request=1000, **{'retry.reads': reads})
    n2, key, client = fleet['n2'], fleet.key('n2'), fleet.client()
    n2.behave = only('GET', reset)
    assert is_lost(client.call('GET', key))
    assert len(n2.requests('GET')) == sent


def test_a_repeated_read_keeps_its_place(world):
    """Later requests of the client to that node wait for it."""
    fleet = world(request=1000)
    n2, (a, b), client = fleet['n2'], fleet.keys('n2', 2), fleet.client()
    first = []

    def behave(args):
        if args[0] != b'GET' or first:
            return answer
        first.append(1)
        return reset
    n2.behave = behave
    assert client.pipeline(('GET', a), ('GET', b), ('GET', a)) == [value(a), value(b), value(a)]
    assert [args[1] for args in n2.requests('GET')][-3:] == [a.encode(), b.encode(), a.encode()]


def test_repeats_have_a_budget(world):
    """Ten are always allowed; with a share of nothing, no more than those."""
    fleet = world(request=1000, **{'retry.budget': '0%', 'upstream.backoff': 1, 'upstream.backoff_max': 1})
    n2, client = fleet['n2'], fleet.client()
    n2.behave = only('GET', reset)
    for key in fleet.keys('n2', 80, 'budget'):
        assert isinstance(client.call('GET', key), Error)
        time.sleep(0.002)  # not for synchronising: so that the next one finds a connection more often than not
    sent = [args[1] for args in n2.requests('GET')]
    repeats = len(sent) - len(set(sent))
    assert 1 <= repeats <= 10


def test_a_reply_cut_in_half_is_never_taken_for_whole(world):
    fleet = world(request=1000)
    key, other = fleet.key('n2'), fleet.client()
    fleet['n2'].behave = only('GET', half_then_close)
    client = fleet.client()
    try:
        assert is_lost(client.call('GET', key))
    except Closed:
        pass  # bytes of the reply had been forwarded
    fleet['n2'].behave = always(answer)
    wait_until(lambda: other.call('GET', key) == value(key), what='the node being served again')


# ---- what a node may say -------------------------------------------------------------------------------------------
BAD = [b'hello\r\n', b'\x00\x01\x02', b'$-2\r\n', b'*-5\r\n', b'$99999999999999999999\r\n', b'$5x\r\n',
       b'$3\r\nabcdefgh\r\n', b'\r\n', b'HTTP/1.1 400 Bad Request\r\n\r\n']


@pytest.mark.parametrize('data', BAD, ids=[ascii(d.decode('latin-1'))[1:25] for d in BAD])
def test_garbage_ends_the_node_connection_and_nothing_else(world, data):
    fleet = world(request=500)
    n2, key, other = fleet['n2'], fleet.key('n2'), fleet.client()
    n2.behave = only('GET', garbage(data))
    connections = n2.accepted
    client = fleet.client()
    try:
        reply = client.call('GET', key)
        assert isinstance(reply, Error) and reply.startswith("UNAVAILABLE node 'n2': ")
    except Closed:
        pass  # bytes of it had been forwarded
    except AssertionError:
        assert data.startswith(b'$3\r\n')  # forwarded as it came, but not beyond its length
    n2.behave = always(answer)
    wait_until(lambda: other.call('GET', key) == value(key), what='the node being served again')
    assert n2.accepted > connections
    assert other.call('GET', fleet.key('n1')) == value(fleet.key('n1'))


def test_a_reply_that_nobody_asked_for_reaches_nobody(world):
    fleet = world(request=1000)
    n2, (a, b), client = fleet['n2'], fleet.keys('n2', 2), fleet.client()
    for _ in range(10):
        n2.behave = only('GET', garbage(b'$1\r\na\r\n$5\r\nEXTRA\r\n'))
        assert client.call('GET', a) in (b'a', unavailable('n2', 'connection lost'))
        n2.behave = always(answer)
        wait_until(lambda: client.call('GET', b) == value(b), what='the right answer')


def test_replies_byte_by_byte_are_whole(world):
    fleet = world(request=5000)
    keys, client = fleet.keys('n2', 10), fleet.client()
    for key in keys:
        client.call('SET', key, value(key))
    fleet['n2'].behave = always(drip)
    assert client.pipeline(*[('GET', k) for k in keys]) == [value(k) for k in keys]
    assert client.call('MGET', *keys, fleet.key('n1')) == [value(k) for k in keys] + [value(fleet.key('n1'))]


def test_a_nodes_demand_for_a_password_is_not_the_clients_business(world):
    fleet = world(request=1000)
    fleet['n2'].behave = only('GET', garbage(b'-NOAUTH Authentication required.\r\n'))
    client = fleet.client()
    assert client.call('GET', fleet.key('n2')) == unavailable('n2', 'authentication failed')
    assert fleet.router.metric('ringway_node_auth_alarms_total', node='n2') >= 1


@pytest.mark.parametrize('words', ["NOPERM this user has no permissions to run the 'get' command",
                                   'WRONGTYPE Operation against a key holding the wrong kind of value',
                                   'LOADING Redis is loading the dataset in memory', 'ERR anything'])
def test_a_nodes_errors_pass_through(world, words):
    fleet = world(request=1000)
    fleet['n2'].behave = only('GET', garbage(b'-' + words.encode() + b'\r\n'))
    client = fleet.client()
    assert client.pipeline(('GET', fleet.key('n2')), ('GET', fleet.key('n1'))) == [Error(words), value(fleet.key('n1'))]


# ---- the queue -----------------------------------------------------------------------------------------------------
def test_the_queue_for_a_node_that_is_not_connected_is_capped(world):
    fleet = world(request=600, before=lambda n2: n2.blackhole(),
                  **{'upstream.queue': 20, 'timeouts.connect': 5000})
    key, client, other = fleet.key('n2'), fleet.client(), fleet.client()
    client.send(b''.join([b'*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n' % (len(key), key.encode())] * 50))
    reply, took = timed(other.call, 'SET', fleet.key('n1'), 'x')
    assert (reply, took < SLACK) == (OK, True)
    assert other.call('GET', key) == queue_full('n2')
    assert [client.reply() for _ in range(50)] == [timed_out('n2', 600)] * 20 + [queue_full('n2')] * 30


def test_the_queue_for_a_node_that_answers_nothing_is_capped(world):
    fleet = world(request=200, **{'upstream.queue': 20, 'upstream.stuck_floor': 5000})
    fleet['n2'].behave = always(silent)
    key, client = fleet.key('n2'), fleet.client()
    assert client.pipeline(*[('GET', key)] * 5) == [timed_out('n2', 200)] * 5
    replies = client.pipeline(*[('GET', key)] * 50)
    assert set(replies) == {timed_out('n2', 200), queue_full('n2')}
    assert replies.count(queue_full('n2')) in range(30, 36)  # what ran out before may still be held


def test_a_node_that_answers_has_no_cap(world):
    fleet = world(request=5000, **{'upstream.queue': 20})
    key, client = fleet.key('n2'), fleet.client()
    assert set(client.pipeline(*[('GET', key)] * 1000)) == {value(key)}
