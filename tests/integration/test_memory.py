# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""What clients cost in memory: idle ones next to nothing, what they announce nothing, and what a burst took comes back.

Measured on the build under test as it is; sanitizers' allocators keep what is freed, so those builds are left out.
"""
import os
import socket
import threading
import time

import pytest

from harness import rss_kb, steady_fd_count, wait_until
from resp import OK, SLOW, Client, encode

pytestmark = pytest.mark.skipif('RINGWAY_SANITIZER' in os.environ, reason='sanitizers have allocators of their own')

MB = 1024  # RSS is in kB


def buffers_are_empty(router):
    """Node connections and clients with nothing on its way hold no buffer at all."""
    wait_until(lambda: router.metric('ringway_requests_pending') == 0, what='no request pending')
    wait_until(lambda: router.metric('ringway_buffer_bytes') == 0, what='buffer_bytes back at 0')


def warm_up(fleet):
    """Code and pools that any traffic needs, so that it isn't taken for growth."""
    c = fleet.client()
    for i in range(0, 1000, 100):
        c.pipeline(*(('SET', f'warm:{j}', 'x' * 100) for j in range(i, i + 100)))
        c.call('MGET', *(f'warm:{j}' for j in range(i, i + 100)))
    return c


def raw(router, rcvbuf=None):
    s = socket.socket()
    if rcvbuf:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
    s.settimeout(30 * SLOW)
    s.connect(router.addr)
    return s


def settled_rss(router, clients):
    """RSS when that many clients are connected and two looks in a row agree."""
    wait_until(lambda: router.metric('ringway_clients') == clients, 20, f'{clients} clients')
    last = [0]

    def calm():
        last.append(rss_kb(router.pid))
        return abs(last[-1] - last[-2]) < 64
    wait_until(calm, 5, 'RSS at rest')
    return last[-1]


def test_an_idle_client_costs_little(new_fleet):
    count, most_kb = 5000, 1.2
    router = new_fleet(2).router
    with router.client() as c:
        c.pipeline(*(('SET', f'k:{i}', 'v') for i in range(1000)))
        before = settled_rss(router, 1)
        clients = []
        try:
            for i in range(count):
                s = raw(router)
                clients.append(s)
                s.sendall(encode('GET', f'k:{i % 1000}'))
                assert s.recv(64) == b'$1\r\nv\r\n'
            each = (settled_rss(router, count + 1) - before) / count
        finally:
            for s in clients:
                s.close()
    assert each <= most_kb, f'{each:.2f} kB per idle client'
    wait_until(lambda: router.metric('ringway_clients') == 0, 20, 'all clients gone')


def test_what_is_announced_costs_nothing(new_fleet):
    fleet = new_fleet(2)
    router = fleet.router
    warm_up(fleet)
    before = settled_rss(router, 1)
    buffers_are_empty(router)
    announced = [b'*1048576\r\n$3\r\nSET\r\n$400000000\r\n', b'*2\r\n$4\r\nMGET\r\n$500000000\r\n', b'*2147483647\r\n']
    clients = [raw(router) for _ in range(200)]
    read = router.metric('ringway_client_read_bytes_total')
    for i, s in enumerate(clients):
        s.sendall(announced[i % len(announced)])
        read += len(announced[i % len(announced)])
    for s in clients:
        s.sendall(b'$3')  # and a little more, in a read of its own
        read += len(b'$3')
    wait_until(lambda: router.metric('ringway_client_read_bytes_total') == read, what='everything being read')
    growth = settled_rss(router, 201) - before
    held = router.metric('ringway_buffer_bytes')
    assert growth <= 4 * MB, f'{growth} kB for 200 clients that announced much and sent nothing'
    assert held <= 4 << 20, f'{held} bytes of buffers'
    for s in clients:
        s.close()
    settled_rss(router, 1)
    buffers_are_empty(router)


# ---- a burst -------------------------------------------------------------------------------------------------------
VALUE = os.urandom(64 << 10)
KEYS = [f'burst:{i}' for i in range(64)]


def pipelines_of_large_values(router, seen):
    """150 clients that ask for 10 MB together and take it only when all have asked."""
    clients = [raw(router) for _ in range(150)]
    for i, s in enumerate(clients):
        s.sendall(b''.join(encode('GET', KEYS[(i + j) % len(KEYS)]) for j in range(4)))
    reply = b'$%d\r\n%s\r\n' % (len(VALUE), VALUE)
    seen()
    for s in clients:
        got = b''.join(pieces(s, 4 * len(reply)))
        assert got == 4 * reply
        s.close()
    gone(router)


def pieces(s, n):
    while n > 0:
        data = s.recv(min(n, 1 << 20))
        assert data, 'closed in the middle of a reply'
        n -= len(data)
        yield data


def gone(router):
    """Only the half requests and the client that warmed up are left."""
    wait_until(lambda: router.metric('ringway_clients') == 201, 20, 'the clients of a burst being gone')


class HalfRequests:
    """200 clients with half a SET each, finished only when the rest of the burst is over."""

    def __init__(self, router, seen):
        self.clients = [raw(router) for _ in range(200)]
        for s in self.clients:
            s.sendall(b'*3\r\n$3\r\nSET\r\n$4\r\nhalf\r\n$262144\r\n' + b'x' * 200000)
        wait_until(lambda: router.metric('ringway_buffer_bytes') > 200 * 200000, 10, 'half requests being held')
        seen()

    def finish(self):
        for s in self.clients:
            s.sendall(b'x' * 62144 + b'\r\n')
            assert s.recv(64) == b'+OK\r\n'
            s.close()


def clients_that_never_read(router, seen):
    """They ask for more than the kernel's buffers and client_output_buffer hold, and are closed for it."""
    before = router.metric('ringway_clients_closed_output_total')
    clients = [raw(router, 4096) for _ in range(20)]
    for i, s in enumerate(clients):
        try:
            s.sendall(b''.join(encode('GET', KEYS[(i + j) % len(KEYS)]) for j in range(160)))
        except ConnectionError:
            pass
    wait_until(lambda: router.metric('ringway_clients_closed_output_total') - before == len(clients), 20,
               'never-reading clients being closed')
    gone(router)
    seen()
    for s in clients:
        s.close()


def huge_mgets_and_msets(router, seen):
    keys, done = [f'huge:{i}' for i in range(2000)], []

    def one():
        with Client(router.addr, 30) as c:
            args = [x for k in keys for x in (k, b'y' * 4096)]
            assert c.call('MSET', *args) == OK
            assert c.call('MGET', *keys) == [b'y' * 4096] * len(keys)
            seen()
            done.append(True)
    threads = [threading.Thread(target=one) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(done) == len(threads), 'a huge request went wrong'
    gone(router)


@pytest.mark.parametrize('seconds', [6, 0], ids=['lasting', 'brief'])
def test_memory_comes_back_after_a_burst(new_fleet, seconds):
    """A lasting one is there when the control thread looks (every 5 s), a brief one comes and goes in between."""
    fleet = new_fleet(3, sets={'limits.client_output_buffer': '2mb', 'timeouts.request': '20s'})
    router = fleet.router
    c = warm_up(fleet)
    assert all(r == OK for r in c.pipeline(*(('SET', k, VALUE) for k in KEYS)))
    before, fds = settled_rss(router, 1), steady_fd_count(router.pid)
    buffers_are_empty(router)
    peak = [before]

    def seen():
        peak.append(rss_kb(router.pid))
    end = time.monotonic() + seconds
    halves = HalfRequests(router, seen)
    while True:
        for burst in (pipelines_of_large_values, clients_that_never_read, huge_mgets_and_msets):
            burst(router, seen)
        if time.monotonic() >= end:
            break
    halves.finish()
    assert max(peak) > before + 30 * MB, f'no burst: {peak}'
    wait_until(lambda: router.metric('ringway_clients') == 1, what='the burst being over')
    buffers_are_empty(router)
    assert steady_fd_count(router.pid) == fds
    allowed, end = before * 1.1 + 8 * MB, time.monotonic() + 12 * SLOW  # two looks of the control thread
    while rss_kb(router.pid) > allowed and time.monotonic() < end:
        time.sleep(0.1)
    now = rss_kb(router.pid)
    assert c.call('GET', KEYS[0]) == VALUE
    assert now <= allowed, f'RSS {before} kB before the burst, {max(peak)} at its height, {now} afterwards'


# ---- more than there is ---------------------------------------------------------------------------------------------
LIMIT, LARGE = 20 << 20, 8_000_000
SHORT = {'limits.memory': '20mb', 'limits.bulk': '512mb'}  # requests are collected, not passed on as they come


def large_set(i):
    return encode('SET', f'large:{i}', b'x' * LARGE)


class Sender(threading.Thread):
    """A client that sends a large SET: three quarters, a rest, the end. `answer` is what it got."""

    def __init__(self, router, i, rest=0):
        super().__init__(daemon=True)
        self.sock, self.data, self.rest, self.answer = raw(router), large_set(i), rest, None
        self.start()

    def run(self):
        try:
            self.sock.sendall(self.data[:LARGE * 3 // 4])
            time.sleep(self.rest)
            self.sock.sendall(self.data[LARGE * 3 // 4:])
            self.answer = self.sock.recv(100)
        except OSError as e:
            self.answer = e
        self.sock.close()


def served_throughout(router, senders, seconds):
    """Small requests are, and memory stays within its limit, until all senders have an answer."""
    end, most = time.monotonic() + seconds, 0
    with router.client() as c:
        while any(s.is_alive() for s in senders):
            assert time.monotonic() < end, f'{[s.answer for s in senders]}'
            start = time.monotonic()
            assert c.call('GET', 'small') == b'v'
            assert time.monotonic() - start < 1 * SLOW
            most = max(most, router.metric('ringway_buffer_bytes'))
            time.sleep(0.01)
    assert most <= LIMIT * 1.05, f'{most} bytes of buffers'


@pytest.mark.parametrize('threads', [1, 3])
@pytest.mark.parametrize('count, rest, at_least', [(3, 1, 2), (12, 0.5, 2)])
def test_large_requests_share_what_there_is_and_small_ones_are_served(new_fleet, threads, count, rest, at_least):
    fleet = new_fleet(1, threads=threads, sets={**SHORT, 'timeouts.request': '20s'})
    router = fleet.router
    with router.client() as c:
        assert c.call('SET', 'small', 'v') == OK
    senders = [Sender(router, i, rest) for i in range(count)]
    served_throughout(router, senders, 15 * SLOW)
    answers = [s.answer for s in senders]
    assert set(answers) <= {b'+OK\r\n', b'-OVERLOADED memory limit\r\n'}, 'nobody is reset'
    assert answers.count(b'+OK\r\n') >= at_least
    assert router.metric('ringway_requests_given_up_total') == count - answers.count(b'+OK\r\n')
    assert router.metric('ringway_clients_closed_silent_total') == 0
    wait_until(lambda: router.metric('ringway_clients') == 0, what='all clients gone')
    buffers_are_empty(router)


def test_clients_that_went_while_they_waited_for_memory_are_let_go(new_fleet):
    router = new_fleet(1, sets=SHORT).router
    clients = [raw(router) for _ in range(10)]
    for s in clients:
        s.setblocking(False)
        rest, end = large_set(0)[:-100000], time.monotonic() + 0.2
        while rest and time.monotonic() < end:
            try:
                rest = rest[s.send(rest):]
            except BlockingIOError:
                time.sleep(0.005)
    assert router.metric('ringway_buffer_bytes') > LIMIT // 2
    for s in clients:
        s.close()
    wait_until(lambda: router.metric('ringway_clients') == 0, 2, 'all clients gone')
    buffers_are_empty(router)
    assert router.metric('ringway_clients_closed_silent_total') == 0


@pytest.mark.parametrize('threads', [1, 2])
def test_who_holds_memory_and_does_not_go_on_gives_way(new_fleet, threads):
    """Whichever worker it is at: clients go to the worker with the fewest, in turn."""
    router = new_fleet(1, threads=threads, sets=SHORT).router
    with router.client() as c:
        assert c.call('SET', 'small', 'v') == OK
        clients = [raw(router) for _ in range(4)]
        for i in (0, 2):  # of one worker, where there are two
            clients[i].sendall(large_set(i)[:-1000])
        wait_until(lambda: router.metric('ringway_buffer_bytes') > 2 * LARGE, what='most memory being held')
        start = time.monotonic()
        later = Sender(router, 1)
        for i in (0, 2):
            clients[i].settimeout(30 * SLOW)
        while later.is_alive() and time.monotonic() < start + 10 * SLOW:
            for i in (0, 2):
                clients[i].sendall(b'x')  # slow, but not silent
            assert c.call('GET', 'small') == b'v'
            time.sleep(0.05)
        assert later.answer == b'+OK\r\n'
        for i in (0, 2):
            clients[i].close()
        for i in (1, 3):
            clients[i].close()
    assert router.metric('ringway_requests_given_up_total') == 1
    wait_until(lambda: router.metric('ringway_clients') == 0, what='all clients gone')
    buffers_are_empty(router)
