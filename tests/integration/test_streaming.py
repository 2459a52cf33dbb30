# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Requests above limits.bulk, which go on to their node as they come."""
import random
import time

import pytest

from harness import rss_kb, wait_until
from resp import OK, PONG, SLOW, Closed, Error, encode

MB = 1 << 20


def value(size, seed=1):
    block = random.Random(seed).randbytes(1000)
    return (block * (size // 1000 + 1))[:size]


def streamed(fleet):
    return fleet.router.metric('ringway_requests_streamed_total')


def nothing_left(fleet):
    wait_until(lambda: fleet.router.metric('ringway_requests_pending') == 0, what='no request being pending')
    for node in fleet.nodes:
        wait_until(lambda: fleet.router.metric('ringway_node_private_leased', node=node) == 0, what='no lease')


@pytest.mark.parametrize('size', [5 * MB, 10 * MB, 40 * MB])
def test_in_order_with_all_that_is_in_the_same_write(fleet, size):
    big, before = value(size), streamed(fleet)
    client = fleet.client(60)
    replies = client.pipeline(('SET', 'a', 1), ('SET', 'big', big, 'EX', 100), ('GET', 'big'), ('APPEND', 'big', 'x'),
                              ('STRLEN', 'big'), ('SET', 'big', big), ('GET', 'a'), ('GETRANGE', 'big', 0, 9), ('DEL', 'big'))
    assert replies == [OK, OK, big, size + 1, size + 1, OK, b'1', big[:10], 1]
    assert streamed(fleet) == before + 2
    nothing_left(fleet)


def test_in_pieces_of_any_size(fleet):
    big, before, luck = value(6 * MB), streamed(fleet), random.Random(5)
    request = b''.join(encode(*c) for c in (('SET', 'p', big), ('GETRANGE', 'p', 6 * MB - 20, -1), ('DEL', 'p'), ('PING',)))
    client, at = fleet.client(60), 0
    while at < len(request):
        n = luck.choice([1, 2, 3, 10, 1000, 70000, 300000])
        client.send(request[at:at + n])
        at += n
    assert [client.reply() for _ in range(4)] == [OK, big[-20:], 1, PONG]
    assert streamed(fleet) == before + 1


def test_many_arguments(fleet):
    before = streamed(fleet)
    items = [b'%d' % i * 200 for i in range(20000)]
    assert fleet.client(60).pipeline(('RPUSH', 'many', *items), ('LLEN', 'many'), ('LINDEX', 'many', -1), ('DEL', 'many')) == \
        [20000, 20000, items[-1], 1]
    assert streamed(fleet) == before + 1


def test_what_has_several_keys_is_collected(fleet):
    big, before = value(5 * MB), streamed(fleet)
    a, b = fleet.key('n1'), fleet.key('n2')
    client = fleet.client(60)
    assert client.pipeline(('MSET', a, big, b, big), ('STRLEN', a), ('STRLEN', b), ('DEL', a, b)) == [OK, 5 * MB, 5 * MB, 2]
    assert client.pipeline(('MULTI',), ('SET', a, big), ('STRLEN', a), ('DEL', a), ('EXEC',))[-1] == [OK, 5 * MB, 1]
    assert streamed(fleet) == before


def test_a_protocol_error_inside_is_told_and_closes(fleet):
    client = fleet.client(30)
    client.send(encode('SET', 'bad', value(5 * MB))[:-2].replace(b'*3', b'*4', 1) + b'\r\nX5\r\n')
    assert client.reply() == Error("ERR Protocol error: expected '$', got 'X'")
    with pytest.raises(Closed):
        client.reply()
    assert fleet.client().call('EXISTS', 'bad') == 0
    nothing_left(fleet)


def test_clients_that_leave_inside_leave_nothing(fleet):
    start, luck = encode('SET', 'left', value(8 * MB)), random.Random(2)
    for i in range(30):
        client = fleet.client(30)
        client.send(start[:luck.randrange(1, len(start) - 1)])
        client.close() if i % 2 else client.reset()
    assert fleet.client().call('EXISTS', 'left') == 0
    nothing_left(fleet)


def test_little_is_held_of_what_goes_by(new_fleet):
    fleet = new_fleet(1, sets={'limits.memory': '16mb'})
    before, big = rss_kb(fleet.router.pid), value(200 * MB)
    assert fleet.client(60).pipeline(('SET', 'huge', big), ('STRLEN', 'huge')) == [OK, 200 * MB]
    assert rss_kb(fleet.router.pid) - before < 16 << 10 or SLOW > 1  # a sanitizer has a memory of its own


def test_the_request_size_is_limited(new_fleet):
    fleet = new_fleet(1, sets={'limits.request_size': '8mb', 'limits.bulk': '1mb'})
    client = fleet.client(30)
    client.send(encode('RPUSH', 'l', *[value(MB // 2)] * 20)[:8 * MB + 1000])
    assert client.reply() == Error('ERR Protocol error: too big request')
    assert fleet.client().pipeline(('EXISTS', 'l'), ('SET', 'a', value(7 * MB))) == [0, OK]


def test_a_node_that_dies_inside_fails_that_request_alone(new_fleet):
    fleet = new_fleet(3)
    key, other = fleet.key('n1'), fleet.key('n2')
    request = encode('SET', key, value(20 * MB))
    client = fleet.client(60)
    client.send(request[:12 * MB])
    wait_until(lambda: streamed(fleet) == 1, what='the request being streamed')
    fleet['n1'].kill()
    client.send(request[12 * MB:] + encode('SET', other, 1) + encode('PING'))
    reply = client.reply()
    assert isinstance(reply, Error) and reply.startswith("UNAVAILABLE node 'n1': connection lost, outcome unknown"), reply
    assert [client.reply(), client.reply()] == [OK, PONG]
    fleet['n1'].start()
    wait_until(lambda: client.call('SET', key, 1) == OK, what='the node being back')
    nothing_left(fleet)


def test_a_node_that_takes_nothing_is_given_up(new_fleet):
    fleet = new_fleet(2, sets={'timeouts.slow': '1s', 'timeouts.request': '300ms'})
    key, other = fleet.key('n1'), fleet.key('n2')
    client = fleet.client(60)
    fleet['n1'].pause()
    start = time.monotonic()
    client.sock.settimeout(30)
    client.send(encode('SET', key, value(40 * MB)) + encode('SET', other, 1))
    reply = client.reply()
    assert isinstance(reply, Error) and reply.startswith("UNAVAILABLE node 'n1': "), reply
    assert client.reply() == OK
    assert time.monotonic() - start < 5 * SLOW
    fleet['n1'].resume()
    wait_until(lambda: client.call('SET', key, 1) == OK, what='the node being back')
