# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Keys live on the node that the ring's definition names (computed here once more, in Python), whatever command
brought them there."""
import pytest

import harness
from resp import OK, encode

KEYS = [f'place:{i}' for i in range(300)] + ['', '{', '{}', '{}x', 'a{b', 'a{}b', '{tag}1', '{tag}2', 'x{tag}y', '{{tag}}',
                                             'a}b{tag}', '{a}{b}', ' ', '\t', 'k' * 5000]


def holders(fleet, key):
    return [name for name, node in fleet.nodes.items() if node.call('EXISTS', key)]


@pytest.fixture(autouse=True)
def empty(fleet):
    for node in fleet.nodes.values():
        assert node.call('FLUSHALL') == OK


def test_a_key_is_stored_where_the_ring_says(fleet):
    assert fleet.client().pipeline(*[('SET', k, 'v') for k in KEYS]) == [OK] * len(KEYS)
    for key in KEYS:
        assert holders(fleet, key) == [fleet.owner(key)], repr(key)


def test_bytes_of_every_value_are_hashed(fleet):
    keys = [bytes([a, b]) for a in range(0, 256, 5) for b in (0, 10, 13, 127, 128, 255)]
    assert fleet.client().pipeline(*[('SET', k, 'v') for k in keys]) == [OK] * len(keys)
    for key in keys:
        assert holders(fleet, key) == [fleet.owner(key)], repr(key)


def test_split_commands_put_and_find_keys_where_the_ring_says(fleet):
    client = fleet.client()
    assert client.call('MSET', *[x for k in KEYS for x in (k, 'v' + k)]) == OK
    for key in KEYS[:60]:
        assert holders(fleet, key) == [fleet.owner(key)], repr(key)
    assert client.call('MGET', *KEYS) == [b'v' + k.encode() for k in KEYS]
    assert client.call('EXISTS', *KEYS) == len(KEYS)
    assert client.call('DEL', *KEYS) == len(KEYS)
    assert [node.call('DBSIZE') for node in fleet.nodes.values()] == [0, 0, 0]


def test_inline_commands_hash_the_unquoted_key(fleet):
    client = fleet.client().send(b'SET "place:\\x41 b" v\r\n')
    assert client.reply() == OK
    assert holders(fleet, 'place:A b') == [fleet.owner('place:A b')]


def test_every_node_has_its_share(fleet):
    owners = [fleet.owner(f'share:{i}') for i in range(10000)]
    assert all(0.25 < owners.count(n) / len(owners) < 0.42 for n in fleet.nodes)


def test_a_shared_tag_brings_keys_together(fleet):
    keys = [f'{{user:7}}:{i}' for i in range(20)]
    client = fleet.client()
    client.send(b''.join(encode('SET', k, 'v') for k in keys))
    assert [client.reply() for _ in keys] == [OK] * 20
    assert {h for k in keys for h in holders(fleet, k)} == {fleet.owner('user:7')}


def test_names_and_weights_place_keys_not_addresses(new_fleet):
    """Two routers over different servers, with the same names, in another order: the same owners."""
    first = new_fleet(3)
    swapped = [harness.RedisServer(f'x{i}').start() for i in range(3)]
    other = harness.Router([('n3', '%s:%d' % swapped[2].addr), ('n1', '%s:%d' % swapped[0].addr),
                            ('n2', '%s:%d' % swapped[1].addr)]).start()
    try:
        with other.client() as c:
            for key in KEYS[:50]:
                assert c.call('SET', key, 'v') == OK
        for key in KEYS[:50]:
            assert swapped[int(first.owner(key)[1]) - 1].call('EXISTS', key) == 1, key
    finally:
        other.stop()
        for node in swapped:
            node.kill()


def test_a_weight_is_a_share_of_points(new_fleet):
    nodes = [harness.RedisServer(f'w{i}').start() for i in range(3)]
    weights = {'n1': 1, 'n2': 0.25, 'n3': 0}
    router = harness.Router([(n, f'{node.addr[0]}:{node.addr[1]}*{w}') for (n, w), node in zip(weights.items(), nodes)])
    ring = harness.Ring(weights)
    router.start()
    try:
        with router.client() as c:
            for key in KEYS:
                assert c.call('SET', key, 'v') == OK
        sizes = [node.call('DBSIZE') for node in nodes]
        assert sizes == [sum(ring.owner(k) == n for k in KEYS) for n in weights]
        assert sizes[2] == 0
    finally:
        router.stop()
        for node in nodes:
            node.kill()
