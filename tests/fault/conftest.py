# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""A fleet of three scripted nodes, n1 to n3; n2 is the one that misbehaves."""
import pytest

from fakenode import FakeNode
from faults import ms


@pytest.fixture
def world(new_fleet):
    """world(request=300, threads=1, before=lambda n2: ..., **{'upstream.queue': 20}): times in ms are numbers."""
    def make(request=300, threads=1, before=None, **sets):
        nodes = [FakeNode(f'n{i}').start() for i in (1, 2, 3)]
        if before:
            before(nodes[1])
        sets = {'timeouts.request': request, **sets}
        fleet = new_fleet(nodes, threads=threads,
                          sets={k: ms(v) if k in TIMES else v for k, v in sets.items()})
        if not before:  # the connections stand before anything goes wrong
            with fleet.client() as c:
                for name, node in fleet.nodes.items():
                    for i, key in enumerate(fleet.keys(name, 2)):
                        assert c.call('SET', key, f'value of {key}') == 'OK'
        return fleet
    return make


TIMES = {'timeouts.request', 'timeouts.connect', 'timeouts.slow', 'upstream.backoff', 'upstream.backoff_max',
         'upstream.stuck_floor'}
