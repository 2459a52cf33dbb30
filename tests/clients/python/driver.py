# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""redis-py against a router: driver.py HOST PORT. Steps and answers are those of ../node/driver.js."""
import os
import re
import sys
import time
import traceback

import redis

HOST, PORT = sys.argv[1], int(sys.argv[2])
SLOW = float(os.environ.get('RINGWAY_SLOW', '1'))
EVERY_BYTE = bytes(range(256)) + b'\r\n$-1\r\n\0'


def connect(port=PORT, **more):
    return redis.Redis(HOST, port, socket_timeout=10 * SLOW, **more)


def fails(pattern, call, *args):
    try:
        reply = call(*args)
    except redis.RedisError as e:
        assert re.search(pattern, str(e)), f'{e!r} is not {pattern}'
        return e
    raise AssertionError(f'{reply!r} instead of an error')


def eventually(call, *args, seconds=10):
    """Calls until it succeeds."""
    end = time.monotonic() + seconds * SLOW
    while True:
        try:
            return call(*args)
        except redis.RedisError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


class Steps:
    def __init__(self):
        self.r = connect()

    def connect(self):
        assert self.r.ping() is True
        assert self.r.echo('grüße').decode() == 'grüße'
        assert self.r.get('nobody') is None
        assert self.r.info('server')['redis_mode'] == 'standalone'

    def pipeline(self, count):
        p = self.r.pipeline(transaction=False)
        for i in range(int(count) // 2):
            p.set(f'pipe:{i}', f'value {i}').get(f'pipe:{i}')
        replies = p.execute()
        assert replies == [x for i in range(int(count) // 2) for x in (True, b'value %d' % i)]

    def split(self):
        pairs = {f'split:{i}': f'v{i}'.encode() for i in range(300)}
        keys = list(pairs)
        assert self.r.mset(pairs) is True
        values = self.r.mget(keys[:150] + ['split:none'] + keys[150:])
        assert values == list(pairs.values())[:150] + [None] + list(pairs.values())[150:]
        assert self.r.exists(*keys) == self.r.touch(*keys) == 300
        assert self.r.delete(*keys[:100], 'split:none') == 100
        assert self.r.unlink(*keys) == 200
        assert self.r.exists(*keys) == 0

    def binary(self):
        key = b'bin:' + EVERY_BYTE
        assert self.r.set(key, EVERY_BYTE) is True
        assert self.r.get(key) == EVERY_BYTE
        assert self.r.set('bin:empty', '') is True
        assert self.r.get('bin:empty') == b''
        assert self.r.delete(key, 'bin:empty') == 2

    def big(self, size):
        value = (b'ringway, ' * (int(size) // 9 + 1))[:int(size)]
        assert self.r.set('big', value) is True
        assert self.r.get('big') == value
        assert self.r.mget('big:none', 'big') == [None, value]
        assert self.r.delete('big') == 1

    def errors(self, one, other):
        self.r.set(one, 'a string')
        fails('WRONGTYPE', self.r.lpush, one, 'x')
        fails('CROSSSLOT', self.r.sunion, one, other)
        fails('unknown command', self.r.execute_command, 'NOSUCHCOMMAND', 'x')
        fails('refused', self.r.execute_command, 'SHUTDOWN')
        p = self.r.pipeline(transaction=False).set(one, 'x').lpush(one, 'x').sunion(one, other).get(one)
        done, wrong, cross, value = p.execute(raise_on_error=False)
        assert (done, value) == (True, b'x') and 'WRONGTYPE' in str(wrong)
        assert isinstance(cross, redis.ResponseError) and 'CROSSSLOT' in str(cross)

    def types(self):
        self.r.delete('types:hash', 'types:set', 'types:zset', 'types:stream')
        self.r.hset('types:hash', mapping={'a': 1, 'b': 2})
        self.r.sadd('types:set', 'x', 'y')
        self.r.zadd('types:zset', {'x': 1.5, 'y': 2, 'z': float('inf')})
        self.r.xadd('types:stream', {'f': 'v'}, '1-1')
        assert self.r.hgetall('types:hash') == {b'a': b'1', b'b': b'2'}
        assert self.r.smembers('types:set') == {b'x', b'y'}
        assert self.r.zscore('types:zset', 'x') == 1.5
        assert self.r.zrange('types:zset', 0, -1, withscores=True) == [(b'x', 1.5), (b'y', 2.0), (b'z', float('inf'))]
        assert self.r.xrange('types:stream') == [(b'1-1', {b'f': b'v'})]
        assert self.r.config_get('maxmemory') == {'maxmemory': '0'}

    def scan(self):
        keys = sorted(f'scan:{i}'.encode() for i in range(500))
        self.r.mset({key: 'v' for key in keys})
        assert sorted(self.r.scan_iter('scan:*', 100)) == keys
        assert self.r.delete(*keys) == 500

    def transaction(self):
        a, b = '{tx}a', '{tx}b'
        self.r.delete(a, b)
        for n in (1, 2, 3):
            with self.r.pipeline() as p:
                p.watch(a)
                assert int(p.get(a) or 0) == n - 1
                p.multi()
                replies = p.incr(a).rpush(b, 'x').get(a).lrange(b, 0, -1).execute()
                assert replies == [n, n, b'%d' % n, [b'x'] * n]
        with self.r.pipeline() as p:
            p.watch(a)
            self.r.set(a, 7)
            p.multi()
            fails('Watched variable changed', p.incr(a).execute)
        done, wrong = self.r.pipeline().incr(a).lpush(a, 'x').execute(raise_on_error=False)
        assert done == 8 and 'WRONGTYPE' in str(wrong)

    def waits(self):
        self.r.delete('waits', 'waits:none')
        assert self.r.blpop('waits:none', 0.1) is None
        self.r.rpush('waits', 'x', 'y')
        assert self.r.blpop('waits', 5) == (b'waits', b'x')
        assert self.r.brpop(['waits'], 0) == (b'waits', b'y')
        assert self.r.get('waits') is None

    def password(self, port, right, wrong):
        assert connect(int(port), password=right).set('with password', 'x') is True
        fails('WRONGPASS|invalid username-password', connect(int(port), password=wrong).get, 'x')
        fails('Authentication required|NOAUTH', connect(int(port)).get, 'x')

    def down(self, dead, alive):
        fails('UNAVAILABLE', self.r.get, dead)
        assert self.r.set(alive, 'still') is True
        fails('UNAVAILABLE', self.r.mget, alive, dead)
        assert self.r.get(alive) == b'still'

    def back(self, *keys):
        for key in keys:
            eventually(self.r.set, key, 'back')
            assert self.r.get(key) == b'back'


def main():
    steps = Steps()
    for line in sys.stdin:
        step, *args = line.split()
        try:
            getattr(steps, step)(*args)
            print('ok', flush=True)
        except Exception:  # whatever it is, the test wants to know
            print(f'fail {step}:', ' | '.join(traceback.format_exc().splitlines()), flush=True)


if __name__ == '__main__':
    main()
