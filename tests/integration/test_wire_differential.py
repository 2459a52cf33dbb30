# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""The request scanner against a real redis-server: whatever a client sends, both read the same requests and end with
the same words.

tests/resp_dump says what the scanner reads. From that follow the replies that a server reading the same requests must
send: ECHO gives its argument back, an unknown command's error repeats name and arguments. The server gets the same
bytes and the end of the stream; what it answers until it closes must be just those replies.
"""
import os
import random
import socket
import subprocess

import pytest

import harness
from resp import SLOW, encode

pytestmark = pytest.mark.control
CASES = 1500
SEED = int(os.environ.get('RINGWAY_SEED', '20240613'))


@pytest.fixture(scope='module')
def redis():
    server = harness.RedisServer('redis').start()
    yield server
    server.kill()


@pytest.fixture(scope='module')
def guarded():
    server = harness.RedisServer('guarded').start()
    server.call('CONFIG', 'SET', 'requirepass', 'secret')
    yield server
    server.kill()


@pytest.fixture(scope='module')
def commands(redis):
    return {bytes(name).lower() for name in redis.call('COMMAND', 'LIST')} | {b'post', b'host:'}


# ---- what the scanner reads ----------------------------------------------------------------------------------------
def dump(cases, *flags):
    """[([(form, strictness, [argument, ...]), ...], how it ends), ...] for [(bytes, piece), ...]."""
    tool = os.path.join(harness.BUILD_DIR, 'tests/resp_dump')
    told = b''.join(b'%d %d\n%s' % (len(data), piece, data) for data, piece in cases)
    out = subprocess.run([tool, *flags], input=told, capture_output=True, check=True, timeout=60 * SLOW).stdout
    result, requests = [], []
    for line in out.split(b'\n')[:-1]:
        word, _, rest = line.partition(b' ')
        if word == b'request':
            form, strictness, *args = rest.split(b' ')
            requests.append((form, strictness, [bytes.fromhex(a[1:].decode()) for a in args]))
        else:
            result.append((requests, line))
            requests = []
    assert len(result) == len(cases)
    return result


# ---- what a server that reads the same must say --------------------------------------------------------------------
def cut(arg, limit):
    return arg.split(b'\0')[0][:limit]  # as %.*s of C does


def error_line(text):
    return b'-' + text.replace(b'\r', b' ').replace(b'\n', b' ') + b'\r\n'


def reply_to(args):
    if args[0].lower() == b'echo':
        if len(args) == 2:
            return b'$%d\r\n%s\r\n' % (len(args[1]), args[1])
        return b"-ERR wrong number of arguments for 'echo' command\r\n"
    told = b''
    for arg in args[1:]:
        if len(told) >= 128:
            break
        told += b"'%s' " % cut(arg, 128 - len(told))
    return error_line(b"ERR unknown command '%s', with args beginning with: %s" % (cut(args[0], 128), told))


def last_words(end):
    word, _, text = end.partition(b' ')
    return b'-ERR %s\r\n' % text if word == b'bad' else b''


def expected(requests, end):
    return b''.join(reply_to(args) for _, _, args in requests if args) + last_words(end)


def answer(server, data):
    """Everything that the server says to these bytes and the end of the stream. Not for data that goes on long after
    an error: the server then closes with bytes unread, and the reset may overtake its words."""
    with socket.create_connection(server.addr, 10 * SLOW) as s:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        out = b''
        while True:
            part = s.recv(1 << 16)
            if not part:
                return out
            out += part


def same(server, cases, commands):
    """Compares; the number of cases that said something."""
    spoke = 0
    for (data, piece), (requests, end) in zip(cases, dump(cases)):
        names = {args[0].lower() for _, _, args in requests if args}
        if names & (commands - {b'echo'}):
            continue  # chance made a real command: its reply is not ours to foretell
        want = expected(requests, end)
        assert answer(server, data) == want, f'{data!r} in pieces of {piece}: {requests} {end}'
        spoke += want != b''
    return spoke


# ---- what is sent --------------------------------------------------------------------------------------------------
WORDS = [b'ECHO', b'echo', b'x', b'', b'key', b'two words', b'\r\n', b'\0', b'$1\r\na', b'"', b"'", b'\xff\x80',
         b'a' * 130]
INLINE = [b'ECHO', b'"a b"', b"'c d'", b'"\\x41\\xfF\\q"', b'"\\n\\r\\t\\b\\a"', b"'it\\'s'", b'x"y"', b'""', b"''", b'\\', b'"',
          b"'", b'"a"b', b'\v', b'\f', b'\t', b'  ', b'\r', b'"\\', b'"\\x4', b'\xe9', b'*1']
BYTES = [b'\r', b'\n', b'\r\n', b'\0', b'$', b'*', b'-', b'0', b'1', b'9', b'"', b"'", b' ', b'\xff', b'\\', b':', b'+']


def a_request(rng):
    kind = rng.random()
    if kind < 0.4:
        return encode('ECHO', rng.choice(WORDS))
    if kind < 0.6:
        return encode(*(rng.choice(WORDS) for _ in range(rng.randrange(1, 13))))
    if kind < 0.9:
        words = [rng.choice(INLINE) for _ in range(rng.randrange(0, 6))]
        return rng.choice([b' ', b'', b'\t']).join([b'ECHO ', *words]) + rng.choice([b'\r\n', b'\n'])
    return rng.choice([b'*0\r\n', b'*-1\r\n', b'\r\n', b'\n', b'*1\r\n$0\r\n\r\n', b'  \r\n'])


def broken(rng, data):
    """A few bytes taken away, put in or replaced."""
    data = bytearray(data)
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        at = rng.randrange(len(data) + 1)
        data[at:at + rng.choice([0, 0, 1, 1, 2])] = rng.choice(BYTES + [b''])
    return bytes(data)


def test_random_streams_are_read_as_redis_reads_them(redis, commands):
    rng = random.Random(SEED)
    cases = []
    for _ in range(CASES):
        data = broken(rng, b''.join(a_request(rng) for _ in range(rng.randrange(1, 5))))
        cases.append((data, rng.choice([0, 1, 2, 7])))
    assert same(redis, cases, commands) > CASES * 0.7


def test_every_byte_in_every_place_of_a_length_line(redis, commands):
    cases = []
    for data in (b'*1\r\n$4\r\nPINK\r\n', b'*-1\r\nPINK\r\n'):
        for at in range(len(data)):
            before, here, after = data[:at], data[at:], data[at + 1:] + b'ECHO a\r\n'
            cases += [(before + bytes([c]) + after, 1) for c in (*range(0, 64, 3), 10, 13, 36, 255)]
            cases += [(before + bytes([c]) + here + b'ECHO a\r\n', 0) for c in b'\0\n\r $+-09']
    assert same(redis, cases, commands) > 100


@pytest.mark.parametrize('data', [
    b'*2147483647\r\n', b'*2147483648\r\n', b'*9223372036854775807\r\n', b'*9223372036854775808\r\n',
    b'*-9223372036854775808\r\nECHO a\r\n', b'*-9223372036854775809\r\n',
    b'*1\r\n$536870912\r\n', b'*1\r\n$536870913\r\n',
    b'a' * 65536, b'a' * 65537, b'*' + b'1' * 65535, b'*' + b'1' * 65536, b'*1\r\n$' + b'1' * 65535,
    b'*1\r\n$' + b'1' * 65536, b'*1\r\n' + b'x' * 65536, b'*1\r\n' + b'x' * 65537, b'a' * 65536 + b'\n',
    b'ECHO ' + b'a' * 65530 + b'\r\n', b'*' + b'1' * 65535 + b'\r\n', b'a\0' + b'a' * 65534, b'a\0' + b'a' * 65535,
    b'a\0\n' + b'a' * 65534], ids=lambda data: f'{data[:12]!r}-{len(data)}')
@pytest.mark.parametrize('piece', [0, 4000])
def test_limits_are_those_of_redis(redis, commands, data, piece):
    same(redis, [(data, piece)], commands)


def test_clients_that_have_not_logged_in_are_held_short(guarded):
    cases = [(data + b'ECHO a\r\n', piece) for piece in (0, 3) for data in (
        encode(*['ECHO'] * 10), encode(*['ECHO'] * 11), b'*11\r\n', b'*10\r\n', b'*2147483648\r\n',
        encode('ECHO', b'a' * 16384), b'*2\r\n$16385\r\n', b'*2\r\n$16384\rx',
        b'*1\r\n$536870913\r\n', b'ECHO ' + b'a ' * 11 + b'\n')]
    for (data, _), (requests, end) in zip(cases, dump(cases, '--anonymous')):
        want = b''.join(b'-NOAUTH Authentication required.\r\n' if len(args) == 2 else reply_to(args)
                        for _, _, args in requests)
        assert answer(guarded, data) == want + last_words(end), data
