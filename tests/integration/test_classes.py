# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Connections to nodes for other databases and for RESP3: there when they are needed, gone when nobody uses them, and never
at the cost of others."""

import re
import threading

import pytest

from harness import HOST, RedisServer, Router, fd_count, steady_fd_count, wait_until
from resp import OK, Error
from test_config import start  # noqa: F401 (a fixture)

DATABASES = 100
BUSY = Error("OVERLOADED node 'n0': no shared connection free")


class Cramped(Router):
    """With so many file descriptors."""
    limit = 64

    def argv(self):
        return ['prlimit', f'--nofile={self.limit}:{self.limit}', '--'] + super().argv()


def serve(start, kind=Router, nodes=2, threads=1, **sets):  # noqa: F811
    fleet = [start(RedisServer(f'n{i}', args=['--databases', str(DATABASES)])) for i in range(nodes)]
    sets = {f'upstream.{k}': v for k, v in sets.items()}
    return start(kind([(n.name, f'{HOST}:{n.port}') for n in fleet], threads=threads, sets=sets)), fleet


def visit(client, databases, keys=8, resp3=False):
    """Something in each of these databases, at every node."""
    for version in (3, 2) if resp3 else (2,):
        client.call('HELLO', version)
        for d in databases:
            replies = client.pipeline(('SELECT', d), *[('SET', f'k{i}', f'{d}:{i}') for i in range(keys)],
                                      *[('GET', f'k{i}') for i in range(keys)])
            assert replies == [OK] * (keys + 1) + [f'{d}:{i}'.encode() for i in range(keys)]


def complaints(router):
    """Apart from that about the limit of descriptors here."""
    return [line for line in router.log().splitlines()
            if ('level=warn' in line or 'level=error' in line) and 'descriptors do not suffice' not in line]


def connections(node):
    """How many a node has, but for ours."""
    return node.call('CLIENT', 'LIST').count(b'\n') - 1


def extra_connects(router):
    return len(re.findall(r'msg="connected" .* class=[1-9]', router.log()))


@pytest.mark.parametrize('threads', [1, 3])
def test_descriptors_fall_back_when_a_client_has_left(start, threads):  # noqa: F811
    router, nodes = serve(start, threads=threads, shared_idle='400ms', shared_per_node=200)
    wait_until(lambda: [connections(n) for n in nodes] == [threads] * 2, what='each worker being connected')
    before = steady_fd_count(router.pid)
    with router.client() as c:
        visit(c, range(DATABASES))
        assert fd_count(router.pid) > before
    wait_until(lambda: fd_count(router.pid) <= before, what='the descriptors being closed')
    assert [connections(n) for n in nodes] == [threads] * 2
    assert router.metric('ringway_node_idle_closed_total') >= 2 * (DATABASES - 1)
    assert router.metric('ringway_node_disconnects_total') == 0
    assert not complaints(router)
    with router.client() as c:
        visit(c, [0, 7], resp3=True)


@pytest.mark.parametrize('threads', [1, 3])
def test_one_client_opens_no_more_than_its_share(start, threads):  # noqa: F811
    router, nodes = serve(start, threads=threads, shared_per_node=5)
    with router.client() as c:
        visit(c, range(DATABASES), resp3=True)
        assert [connections(n) for n in nodes] == [threads + 5] * 2
    with router.client() as c:
        c.call('HELLO', '3')
        assert c.call('GET', 'k1') == b'0:1'


def test_when_all_are_in_use_the_answer_says_so(start):  # noqa: F811
    router, nodes = serve(start, nodes=1, shared_per_node=2)
    clients = [router.client() for _ in range(4)]
    for d, c in enumerate(clients):
        assert c.call('SELECT', d) == OK
    nodes[0].pause()
    for c in clients[1:3]:
        c.cmd('SET', 'k', 'v')
    wait_until(lambda: router.metric('ringway_requests_pending') == 2, what='both being on their way')
    assert clients[3].call('GET', 'k') == BUSY
    assert router.metric('ringway_node_shared_refused_total') == 1
    clients[0].cmd('GET', 'k')  # the default one is always there
    nodes[0].resume()
    assert clients[0].reply() is None
    assert [c.reply() for c in clients[1:3]] == [OK, OK]
    assert clients[3].call('GET', 'k') is None
    for c in clients:
        c.close()


def test_nobody_gets_what_is_anothers_when_places_are_few(start):  # noqa: F811
    """Eight clients in eight databases over two places, with connections that close as soon as they may."""
    router, _ = serve(start, nodes=2, shared_per_node=2, shared_idle='1ms')
    wrong, served = [], [0] * 8

    def work(d):
        with router.client() as c:
            c.call('HELLO', 2 + d % 2)
            for i in range(150):
                replies = c.pipeline(('SELECT', d), ('SET', f'k{i % 7}', f'{d}:{i}'), ('GET', f'k{i % 7}'))
                if replies == [OK, OK, f'{d}:{i}'.encode()]:
                    served[d] += 1
                elif not any(str(r).startswith('OVERLOADED') for r in replies):
                    wrong.append((d, i, replies))

    workers = [threading.Thread(target=work, args=(d,)) for d in range(8)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not wrong
    assert all(served) and served[0] == 150


@pytest.mark.parametrize('threads', [1, 3])
def test_a_node_that_returns_is_met_by_the_default_connections_alone(start, threads):  # noqa: F811
    router, nodes = serve(start, threads=threads)
    with router.client() as c:
        visit(c, range(16), resp3=True)
        wait_until(lambda: connections(nodes[0]) == threads + 31, what='every class being connected')
        before = extra_connects(router)
        nodes[0].kill()
        # as long as it is down only they are tried again
        wait_until(lambda: router.metric('ringway_node_connect_failures_total', node='n0') >= 3, what='attempts')
        nodes[0].start()
        wait_until(lambda: connections(nodes[0]) == threads, what='the node being connected again')
        steady_fd_count(router.pid)
        assert connections(nodes[0]) == threads
        assert extra_connects(router) == before
        visit(c, range(16), resp3=True)


def test_with_few_descriptors_new_clients_are_served(start):  # noqa: F811
    router, nodes = serve(start, Cramped, shared_idle='300ms', backoff='10ms')
    assert 'file descriptors do not suffice' in router.log()
    others = [router.client() for _ in range(4)]
    with router.client() as c:
        visit(c, range(16), resp3=True)
        for other in others:
            visit(other, [0])
        nodes[0].kill()
        nodes[0].start()
        wait_until(lambda: others[0].call('SET', 'k1', 'v') == others[0].call('SET', 'k2', 'v') == OK, what='the node')
        visit(others[0], [0])
        visit(c, range(16), resp3=True)
        new = router.client()  # beside one that has all the others
        visit(new, [0, 1], resp3=True)
        new.close()
    again = [router.client() for _ in range(8)]
    for c in again:
        visit(c, [0, 1], resp3=True)
    for c in again + others:
        c.close()
    assert router.metric('ringway_clients_refused_total') == 0
    assert router.metric('ringway_accept_errors_total') == 0
    assert 'out of file descriptors' not in router.log()


def test_clients_that_block_leave_descriptors_to_others(start):  # noqa: F811
    router, nodes = serve(start, Cramped, nodes=1)
    limit = int(router.call('CONFIG', 'GET', 'maxclients')[1])
    blocked = [router.client() for _ in range(limit - 2)]
    for c in blocked:
        c.cmd('BLPOP', 'nothing', 0)
    full = Error("OVERLOADED node 'n0': no private connection free")
    wait_until(lambda: router.metric('ringway_node_private_refused_total') > 0, what='some being refused')
    with router.client() as c:
        assert c.call('BLPOP', 'nothing', 1) == full
        visit(c, [0, 1], resp3=True)
    for c in blocked:
        c.close()
    wait_until(lambda: router.metric('ringway_node_private_leased') == 0, what='their places being free')
    with router.client() as c:
        assert c.call('LPUSH', 'nothing', 'v') == 1 and c.call('BLPOP', 'nothing', 1) == [b'nothing', b'v']
        c.call('MULTI')
        c.call('SET', 'k', 'v')
        assert c.call('EXEC') == [OK]


@pytest.mark.parametrize('threads', [1, 3])
def test_an_orderly_end_is_no_warning(start, threads):  # noqa: F811
    router, _ = serve(start, threads=threads)
    with router.client() as c:
        visit(c, range(4), resp3=True)
    assert router.stop() == 0
    assert 'its node is not served any more' in router.log()
    assert not complaints(router)
