# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Deadlines: they run from the moment a request is wholly read, the answer says what happened, the late reply goes
nowhere, and a connection that stands still for too long is given up."""
import time
import zlib

import pytest

from fakenode import always, answer, half_then_silent, late, only, silent
from faults import SLACK, must_be_served, seconds, timed, timed_out
from harness import wait_until
from resp import OK, Closed, encode


def value(key):
    return f'value of {key}'.encode()


@pytest.mark.parametrize('workers', [1, 3])
@pytest.mark.parametrize('command, write', [(('GET',), False), (('SET', 'x'), True), (('INCR',), True)],
                         ids=['get', 'set', 'incr'])
def test_a_silent_node_costs_the_deadline_and_the_error_says_so(world, workers, command, write):
    fleet = world(request=300, threads=workers)
    fleet['n2'].behave = always(silent)
    name, *rest = command
    reply, took = timed(fleet.client().call, name, fleet.key('n2'), *rest)
    assert reply == timed_out('n2', 300, write)
    assert seconds(300) - 0.005 <= took < seconds(300) + SLACK


def test_the_deadline_runs_from_the_whole_request(world):
    """A client may take its time over sending."""
    fleet = world(request=200)
    key = fleet.key('n1')
    request = encode('GET', key)
    client = fleet.client().send(request[:12])
    client.quiet(seconds(400))
    assert client.send(request[12:]).reply() == value(key)


def test_each_pipelined_request_has_its_own_answer(world):
    """Behind a request that runs out, the others' answers stay right and in order."""
    fleet = world(request=300)
    fleet['n2'].behave = only('GET', silent)
    k1, k2, k3 = (fleet.key(n) for n in ('n1', 'n2', 'n3'))
    start = time.monotonic()
    replies = fleet.client().pipeline(*[('GET', k) for k in (k1, k2, k3, k2, k1)])
    assert replies == [value(k1), timed_out('n2', 300), value(k3), timed_out('n2', 300), value(k1)]
    assert time.monotonic() - start < seconds(300) + SLACK


def test_a_late_reply_reaches_nobody(world):
    """The next request on the same node connection gets its own reply, not the one that was due before."""
    fleet = world(request=400)
    n2, (slow, prompt) = fleet['n2'], fleet.keys('n2', 2)
    n2.data[slow.encode()] = b'LATE'
    n2.behave = lambda args: late(seconds(600)) if args[1:2] == [slow.encode()] else answer
    connections = n2.accepted
    client = fleet.client()
    assert client.call('GET', slow) == timed_out('n2', 400)
    assert client.call('GET', prompt) == value(prompt)
    client.quiet(0.05)
    assert n2.accepted == connections, 'the node connection was given up for one late reply'
    assert fleet.router.metric('ringway_node_late_replies_total', node='n2') == 1


def test_late_replies_never_meet_a_later_request(world):
    """Many rounds with the delays around the deadline: each reply is the request's own or its time-out."""
    fleet = world(request=60, threads=1, **{'upstream.stuck_floor': 2000})
    keys = fleet.keys('n2', 40)
    for key in keys:
        fleet['n2'].data[key.encode()] = value(key)
    delays = [0, 0, 0, 90, 0, 0, 59, 0, 0, 61]
    fleet['n2'].behave = lambda args: late(seconds(delays[zlib.crc32(args[-1]) % len(delays)]))
    clients = [fleet.client() for _ in range(4)]
    timeouts = 0
    for round_ in range(10):
        asked = [(c, keys[(round_ * 4 + i) % len(keys)]) for i, c in enumerate(clients)]
        for c, key in asked:
            c.cmd('GET', key)
        for c, key in asked:
            reply = c.reply()
            assert reply in (value(key), timed_out('n2', 60))
            timeouts += reply != value(key)
    assert timeouts, 'no reply was late: the test tested nothing'


def test_the_reply_of_a_client_that_left_reaches_nobody(world):
    fleet = world(request=1000)
    n2, (slow, prompt) = fleet['n2'], fleet.keys('n2', 2)
    n2.behave = lambda args: late(seconds(150)) if args[1:2] == [slow.encode()] else answer
    leaver, stayer = fleet.client(), fleet.client()
    leaver.cmd('GET', slow)
    wait_until(lambda: [b'GET', slow.encode()] in n2.requests('GET'), what='the request at the node')
    leaver.reset()
    assert stayer.call('GET', prompt) == value(prompt)
    assert stayer.call('GET', slow) == value(slow)


@pytest.mark.parametrize('request_ms, floor, stuck', [(100, 700, 700), (250, 1, 750)], ids=['floor', 'three-deadlines'])
def test_a_stuck_connection_is_closed(world, request_ms, floor, stuck):
    """At max(3 deadlines, the floor), not earlier; then a new connection serves."""
    fleet = world(request=request_ms, **{'upstream.stuck_floor': floor})
    n2, key = fleet['n2'], fleet.key('n2')
    n2.behave = always(silent)
    before, start, client = n2.accepted, time.monotonic(), fleet.client()
    assert client.call('GET', key) == timed_out('n2', request_ms)
    n2.behave = always(answer)
    wait_until(lambda: n2.accepted > before, what='a new connection')
    assert seconds(stuck) - 0.01 <= time.monotonic() - start < seconds(stuck) + 2 * SLACK
    wait_until(lambda: client.call('GET', key) == value(key), what='the node being served again')


def test_a_slow_command_before_does_not_hide_a_stuck_connection(world):
    """Each request is measured by its own deadline, whatever was asked on that connection earlier."""
    fleet = world(request=100, **{'upstream.stuck_floor': 400})
    n2, key, client = fleet['n2'], fleet.key('n2'), fleet.client()
    assert client.call('DBSIZE') == 6
    n2.behave = always(silent)
    before, start = n2.accepted, time.monotonic()
    assert client.call('GET', key) == timed_out('n2', 100)
    wait_until(lambda: n2.accepted > before, what='a new connection')
    assert time.monotonic() - start < seconds(400) + 2 * SLACK


def test_only_the_stuck_connections_requests_fail(world):
    fleet = world(request=100, **{'upstream.stuck_floor': 400})
    n2, client = fleet['n2'], fleet.client()
    n2.behave = always(silent)
    others = {n: fleet[n].accepted for n in ('n1', 'n3')}
    assert client.call('GET', fleet.key('n2')) == timed_out('n2', 100)
    end = time.monotonic() + seconds(600)
    while time.monotonic() < end:
        for name in ('n1', 'n3'):
            assert client.call('GET', fleet.key(name)) == value(fleet.key(name))
    assert {n: fleet[n].accepted for n in others} == others
    assert fleet.router.metric('ringway_node_disconnects_total', node='n2') == 1


def test_a_reply_that_stops_in_the_middle_gives_up_only_its_client(world):
    """What was forwarded can't be taken back: an error if nothing was, else the end of that client's connection."""
    fleet = world(request=200, **{'upstream.stuck_floor': 300})
    key, client, other = fleet.key('n2'), fleet.client(), fleet.client()
    fleet['n2'].behave = only('GET', half_then_silent)
    try:
        assert client.call('GET', key) == timed_out('n2', 200)
    except Closed:
        pass
    fleet['n2'].behave = always(answer)
    wait_until(lambda: other.call('GET', key) == value(key), what='the node being served again')


def test_slow_commands_have_a_longer_deadline(world):
    fleet = world(request=150, **{'timeouts.slow': 5000})
    fleet['n2'].behave = only('DBSIZE EVAL', late(seconds(400)))
    client = fleet.client()
    assert client.call('DBSIZE') == 6
    assert must_be_served(client.call('EVAL', 'return 1', 1, fleet.key('n2'))) == b'return 1'


def test_a_split_read_names_the_node_that_did_not_answer(world):
    fleet = world(request=200)
    fleet['n2'].behave = always(silent)
    keys = [fleet.key(n) for n in ('n1', 'n2', 'n3')]
    client = fleet.client()
    assert client.call('MGET', *keys) == timed_out('n2', 200)
    assert client.call('GET', keys[0]) == value(keys[0])


def test_a_split_write_stays_done_where_it_was_done(world):
    fleet = world(request=200)
    fleet['n2'].behave = always(silent)
    k1, k2, k3 = (fleet.key(n, 'new') for n in ('n1', 'n2', 'n3'))
    client = fleet.client()
    assert client.call('MSET', k1, 1, k2, 2, k3, 3) == timed_out('n2', 200, write=True)
    assert client.pipeline(('GET', k1), ('GET', k3)) == [b'1', b'3']


def test_a_deadline_is_met_in_a_busy_pipeline(world):
    """A thousand requests behind a silent node run out together, and the connection goes on."""
    fleet = world(request=300)
    fleet['n2'].behave = always(silent)
    key, client = fleet.key('n2'), fleet.client()
    replies, took = timed(lambda: client.pipeline(*[('GET', key)] * 1000))
    assert set(replies) == {timed_out('n2', 300)}
    assert took < seconds(300) + 2 * SLACK
    assert client.call('SET', fleet.key('n1'), 'x') == OK
