# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Everything at once for a while: plain and split commands, optimistic transactions, queues, scripts, streams, large
values, WAIT, clients that die at any byte, nodes that are killed, frozen and restarted. No reply may be wrong, no client
stuck, and afterwards nothing may be left. What each client knows to be true is in actors.py.
"""
import os
import random
import re
import time

import pytest

from actors import DEADLINE, MIX, SLOW_DEADLINE, Bed
from harness import fd_count, rss_kb, steady_fd_count, wait_until
from resp import SLOW, Error
from test_chaos import Load, Node, torment

SECONDS = float(os.environ.get('RINGWAY_SOAK_SECS', '20'))
PEACEFUL = 'n3'


class Watched(Node):
    """Tells the bed too when a node loses its data."""

    def __init__(self, server, bed, name):
        self.bed, self.name = bed, name
        super().__init__(server)

    @property
    def losses(self):
        return self.bed.losses[self.name]

    @losses.setter
    def losses(self, count):
        self.bed.losses[self.name] = count


def spend(fleet, seed, during):
    """All actors while during(nodes) runs; (bed, actors, loads)."""
    bed = Bed(fleet.router.addr, {name: fleet.key(name, f'soak{seed}') for name in fleet.nodes}, PEACEFUL)
    nodes = {name: Watched(server, bed, name) for name, server in fleet.nodes.items()}
    actors = [kind(bed, seed * 1000 + i * 10 + j) for i, (kind, count) in enumerate(MIX) for j in range(count)]
    loads = [Load(i, fleet.router.addr, fleet.owner, nodes, seed * 100 + i) for i in range(2)]
    for thread in actors + loads:
        thread.start()
    try:
        during(nodes, actors + loads)
    finally:
        bed.stop.set()
        for load in loads:
            load.stop.set()
        for thread in actors + loads:
            thread.join(30 * SLOW)
    stuck = [thread.name for thread in actors + loads if thread.is_alive()]
    errors = [thread.error for thread in actors + loads if thread.error]
    assert not errors and not stuck, '\n'.join(errors + [f'{name} is stuck' for name in stuck])
    return bed, actors, loads


def check_counters(fleet, bed):
    """The peaceful node's: as many as were acknowledged, and at most those whose outcome is unknown more."""
    for database, counter in sorted(set(bed.wins) | set(bed.unknown)):
        if fleet.owner(counter) != PEACEFUL:
            continue
        with fleet[PEACEFUL].client() as c:
            value = int(c.pipeline(('SELECT', database), ('GET', counter))[1] or 0)
        wins, unknown = bed.wins.get((database, counter), 0), bed.unknown.get((database, counter), 0)
        assert wins <= value <= wins + unknown, f'{counter} is {value}; {wins} increments succeeded, {unknown} may have'
    return sum(bed.wins.values())


def check_queues(fleet, bed):
    """The peaceful node's: each element is where it was put or was handed over, save those that died with a client."""
    for place, produced in bed.produced.items():
        database, queue = place
        if fleet.owner(queue) != PEACEFUL:
            continue
        with fleet[PEACEFUL].client() as c:
            c.call('SELECT', database)
            left = [e.decode() for key in (queue, queue + ':spare') for e in c.call('LRANGE', key, 0, -1)]
        taken, lost = bed.taken.get(place, set()), bed.lost.get(place, 0)
        assert len(left) == len(set(left)) and not taken & set(left), f'{queue}: an element twice'
        missing = produced - taken - set(left)
        assert len(missing) <= lost, f'{queue}: {sorted(missing)[:5]} of {len(missing)} lost, {lost} may be'
    return sum(map(len, bed.taken.values()))


def settled(fleet):
    """All clients gone, every node served, nobody left inside anything at a node."""
    wait_until(lambda: fleet.router.metric('ringway_clients') == 0, 10, 'the clients being gone')
    with fleet.router.client() as c:
        for name in fleet.nodes:
            wait_until(lambda: not isinstance(c.call('GET', fleet.key(name)), Error), 10, f'{name} being served')

    def inside():
        return [line for node in fleet.nodes.values() for line in node.call('CLIENT', 'LIST').decode().splitlines()
                if re.search(r'flags=\w*[xbd]', line)]
    wait_until(lambda: not inside(), 10, 'no connection in a transaction or blocked')
    wait_until(lambda: fleet.router.metric('ringway_node_private_leased') == 0, 10, 'all private connections being back')
    assert fleet.router.metric('ringway_clients_blocked') == 0
    wait_until(lambda: fleet.router.metric('ringway_clients') == 0, what='the last client being gone')


@pytest.mark.parametrize('workers', [3], ids=['3w'])
def test_soak(new_fleet, workers):
    seed = int(os.environ.get('RINGWAY_SEED', random.SystemRandom().randrange(10000)))
    print(f'RINGWAY_SEED={seed}')  # shown when it fails
    fleet = new_fleet(3, threads=workers, sets={
        'timeouts.request': f'{int(DEADLINE * 1000)}ms', 'timeouts.slow': f'{int(SLOW_DEADLINE * 1000)}ms',
        'limits.bulk': '1mb', 'upstream.private_idle': '500ms'})
    pid, events, step = fleet.router.pid, [], max(5, SECONDS / 40)
    _, actors, loads = spend(fleet, seed, lambda nodes, actors: time.sleep(min(3.0, SECONDS / 5)))
    assert not sum(a.cuts for a in actors + loads), 'a reply was cut off, though no node died'
    settled(fleet)
    fds, rss = steady_fd_count(pid, 1.0), rss_kb(pid)

    def during(nodes, actors):
        end, rng = time.monotonic() + SECONDS, random.Random(seed)
        hurt = {name: node for name, node in nodes.items() if name != PEACEFUL}
        while time.monotonic() < end and not any(a.error for a in actors):
            events.append(torment(fleet, hurt, min(end, time.monotonic() + step), rng))
            print(f'{SECONDS - end + time.monotonic():5.0f} s: {rss_kb(pid)} kB, {fd_count(pid)} descriptors', flush=True)

    bed, actors, loads = spend(fleet, seed + 1, during)
    settled(fleet)
    cuts = sum(a.cuts for a in actors + loads)
    done, handed = check_counters(fleet, bed), check_queues(fleet, bed)
    print(f'{sum(events)} misfortunes, {done} transactions, {handed} elements handed over, '
          f'{sum(x.answers for x in loads)} plain answers, {sum(a.errors for a in actors)} errors, '
          f'{cuts} cut off')
    assert cuts <= 2 + sum(events) / 10  # inside a reply is a small place to die
    for kind, _ in MIX:
        turns = [a.turns for a in actors if isinstance(a, kind)]
        print(f'{kind.__name__}: {sum(turns)} turns, slowest {max(a.slowest for a in actors if isinstance(a, kind)):.3f} s')
        assert min(turns) > SECONDS / SLOW / 4, f'{kind.__name__} did hardly anything'
    assert steady_fd_count(pid, 1.0) <= fds + 2 * workers  # which databases a worker has served differs a little
    if not os.environ.get('RINGWAY_SANITIZER'):  # their allocators keep what is freed
        assert rss_kb(pid) <= rss * 1.2 + 16384, f'{rss} kB before, {rss_kb(pid)} after'
