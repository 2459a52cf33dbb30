# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Nodes are killed, frozen and restarted under load for a while. Throughout, every request is answered within its
deadline and no reply is wrong; at the end the router is as big as before.

What a key may hold is known exactly: each client owns its keys, values carry their key and a number, and a write whose
outcome is unknown stays possible, since a frozen node may still do it. A key may be missing only when its node was
restarted since it was written.
"""
import os
import random
import threading
import time

import pytest

from faults import ms, seconds
from harness import rss_kb, steady_fd_count, wait_until
from resp import OK, SLOW, Client, Closed, Error, Late

SECONDS = float(os.environ.get('RINGWAY_CHAOS_SECS', '10'))
DEADLINE, LATE = 300, 0.7 * SLOW  # ms; what a busy machine may add to an answer, in seconds
CLIENTS, KEYS, PIPELINE = 8, 40, 12


class Node:
    """How often a node has lost its data: raised before it happens."""

    def __init__(self, server):
        self.server, self.losses = server, 0


class Load(threading.Thread):
    """One client: pipelines of writes and reads of its own keys, each reply checked."""

    def __init__(self, number, addr, owner, nodes, seed):
        super().__init__(daemon=True)
        self.number, self.addr, self.owner, self.nodes = number, addr, owner, nodes
        self.random, self.stop, self.error = random.Random(seed), threading.Event(), None
        self.keys = [f'chaos:{seed}:{i}' for i in range(KEYS)]  # new ones in each run: what they hold is known
        self.sure = {k: None for k in self.keys}   # last acknowledged value
        self.maybe = {k: set() for k in self.keys}  # writes whose outcome is unknown
        self.since = {k: -1 for k in self.keys}    # the node's losses when that value was sent
        self.answers = self.errors = self.count = self.cuts = 0
        self.unanswered = []
        self.slowest = 0.0

    def run(self):
        try:
            while not self.stop.is_set():
                with Client(self.addr) as client:
                    self.live(client)
        except (Closed, Late, AssertionError, OSError) as e:
            self.error = f'client {self.number}: {type(e).__name__}: {e}'

    def live(self, client):
        try:
            while not self.stop.is_set():
                self.round(client)
        except Closed:
            # A node that dies inside a reply takes the client along that has a part of it.
            if not client.reader.unread():
                raise
            self.cuts += 1
            for name, key, value, _ in self.unanswered:
                if name == 'SET':
                    self.maybe[key].add(value)

    def round(self, client):
        ops, start = [], time.monotonic()
        for key in self.random.sample(self.keys, PIPELINE):
            op = self.random.random()
            losses = self.nodes[self.owner(key)].losses
            self.count += 1
            if op < 0.4:
                ops.append(('SET', key, f'{key}={self.count}', losses))
            elif op < 0.9:
                ops.append(('GET', key, None, losses))
            else:
                ops.append(('MGET', key, None, losses))
        for name, key, value, _ in ops:
            client.cmd(name, key, *([value] if value else []), *(self.keys[:3] if name == 'MGET' else []))
        self.unanswered = list(ops)
        for name, key, value, losses in ops:
            reply = client.reply(within=start + seconds(DEADLINE) + LATE - time.monotonic())
            self.slowest = max(self.slowest, time.monotonic() - start)
            self.answers += 1
            self.unanswered.pop(0)
            self.check(name, key, value, losses, reply)

    def check(self, name, key, value, losses, reply):
        if isinstance(reply, Error):
            assert reply.startswith(("UNAVAILABLE node 'n", "OVERLOADED node 'n")), f'{name} {key}: {reply!r}'
            self.errors += 1
            if name == 'SET':
                self.maybe[key].add(value)
        elif name == 'SET':
            assert reply == OK, f'SET {key}: {reply!r}'
            self.sure[key], self.since[key] = value, losses
        elif name == 'GET':
            self.check_value(key, reply)
        else:
            assert isinstance(reply, list) and len(reply) == 4, f'MGET {key}: {reply!r}'
            for k, got in zip([key] + self.keys[:3], reply):  # others of its keys may be written in this round
                assert got is None or got.decode().startswith(k + '='), f'MGET: {k} is {got!r}'

    def check_value(self, key, got):
        if got is None:
            lost = self.nodes[self.owner(key)].losses > self.since[key]
            assert lost, f'{key} is gone, its node was never restarted since'
            return
        text = got.decode()
        assert text == self.sure[key] or text in self.maybe[key], \
            f'{key} is {text!r}; acknowledged was {self.sure[key]!r}, unknown {sorted(self.maybe[key])[-5:]}'


def torment(fleet, nodes, until, rng):
    """One misfortune after another, on any node; this thread starts all processes (they die with their starter)."""
    count = 0
    while time.monotonic() < until:
        node = rng.choice(list(nodes.values()))
        kind = rng.choice(['kill', 'freeze', 'blink', 'restart'])
        count += 1
        if kind in ('kill', 'restart'):
            node.losses += 1
            node.server.kill()
            if kind == 'kill':
                time.sleep(rng.uniform(0.1, 0.8) * SLOW)
            node.losses += 1
            node.server.restart()
        else:
            node.server.pause()
            time.sleep((rng.uniform(0.3, 1.2) if kind == 'freeze' else rng.uniform(0.01, 0.1)) * SLOW)
            node.server.resume()
        time.sleep(rng.uniform(0.1, 0.5) * SLOW)
    return count


def run_load(fleet, nodes, seed, during):
    loads = [Load(i, fleet.router.addr, fleet.owner, nodes, seed * 100 + i) for i in range(CLIENTS)]
    for load in loads:
        load.start()
    try:
        during()
    finally:
        for load in loads:
            load.stop.set()
        for load in loads:
            load.join(10 * SLOW)
    errors = [load.error for load in loads if load.error]
    assert not errors, '\n'.join(errors)
    return loads


def settled(fleet):
    """All clients gone, every node served again."""
    wait_until(lambda: fleet.router.metric('ringway_clients') == 0, what='the clients being gone')
    with fleet.router.client() as c:
        for name in fleet.nodes:
            wait_until(lambda: not isinstance(c.call('GET', fleet.key(name)), Error), 10, f'{name} being served')
    wait_until(lambda: fleet.router.metric('ringway_clients') == 0, what='the last client being gone')
    wait_until(lambda: fleet.router.metric('ringway_node_connections') == len(fleet.nodes) * fleet.router.threads,
               what='one connection per node and worker')


@pytest.mark.parametrize('workers', [1, 3], ids=['1w', '3w'])
def test_chaos(new_fleet, workers):
    seed = int(os.environ.get('RINGWAY_SEED', random.SystemRandom().randrange(10000)))
    print(f'RINGWAY_SEED={seed}')  # shown when it fails
    fleet = new_fleet(3, threads=workers, sets={'timeouts.request': ms(DEADLINE)})
    nodes = {name: Node(server) for name, server in fleet.nodes.items()}
    run_load(fleet, nodes, seed, lambda: time.sleep(0.5))
    settled(fleet)
    pid = fleet.router.pid
    fds, rss = steady_fd_count(pid), rss_kb(pid)
    events = []
    half = SECONDS / 2  # of the time for each number of workers
    loads = run_load(fleet, nodes, seed + 1, lambda: events.append(
        torment(fleet, nodes, time.monotonic() + half, random.Random(seed))))
    settled(fleet)
    answers, errors = sum(x.answers for x in loads), sum(x.errors for x in loads)
    print(f'{events[0]} misfortunes, {answers} answers, {errors} errors, '
          f'slowest round {max(x.slowest for x in loads) * 1000:.0f} ms')
    assert answers > 1000 * half / SLOW / 5, 'hardly any load: the test tested nothing'
    assert errors, 'no request met a misfortune'
    assert steady_fd_count(pid) == fds
    if not os.environ.get('RINGWAY_SANITIZER'):  # their allocators keep what is freed
        assert rss_kb(pid) <= rss * 1.1 + 8192
