# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""The command table against a real redis-server 7.0: every fact of COMMAND, and where the keys are.

cmd_dump (built beside the unit tests) prints what the table says. Each row, each reply in RESP2 and RESP3, and the keys
of thousands of generated requests, right and wrong ones, are compared with what the server says.
"""
import json
import os
import random
import re
import struct
import subprocess

import pytest

import harness
from resp import Error, Reader, to_bytes

pytestmark = pytest.mark.control

DUMP = os.path.join(harness.BUILD_DIR, 'tests/cmd_dump')
SEED = int(os.environ.get('RINGWAY_SEED', '20260'))
PER_COMMAND = 60  # generated requests of each command that has keys
BATCH = 500
COUNT_AT_2 = ['eval', 'eval_ro', 'evalsha', 'evalsha_ro', 'fcall', 'fcall_ro', 'blmpop', 'bzmpop']


def dump(*args, data=b''):
    return subprocess.run([DUMP, *args], input=data, stdout=subprocess.PIPE, check=True, timeout=60).stdout


@pytest.fixture(scope='module')
def server():
    s = harness.RedisServer('redis').start()
    version = re.search(rb'redis_version:(\S+)', s.call('INFO', 'server'))[1].decode()
    yield s if version.startswith('7.0.') else pytest.skip(f'the table is that of Redis 7.0, this is {version}')
    s.kill()


@pytest.fixture(scope='module')
def table():
    return [json.loads(line) for line in dump('--table').splitlines()]


# ---- facts ---------------------------------------------------------------------------------------------------------
class Typed(Reader):
    """Replies with their type bytes: ('~', [('+', 'write'), ...]) is not ('*', [...])."""

    def _parse(self, pos):
        got = super()._parse(pos)
        return got and ((chr(self.buf[pos]), got[0]), got[1])


def typed(raw):
    reader = Typed()
    reader.feed(raw)
    value, = reader.reply()
    assert reader.pos == len(raw), 'bytes after the reply'
    return value


def by_name(entries):
    """{name: entry} of a typed array of COMMAND entries; subcommands, which come in any order, likewise."""
    out = {}
    for kind, fields in entries:
        name = fields[0][1].decode()
        assert name not in out, f'{name} twice'
        subs_kind, subs = fields[9]
        out[name] = (kind, fields[:9], subs_kind, by_name(subs))
    return out


def flat(entries):
    for name, (kind, fields, subs_kind, subs) in entries.items():
        yield name, fields
        yield from flat(subs)


def server_entries(server, resp):
    with server.client() as c:
        c.call('HELLO', resp)
        c.reader = Typed()
        kind, entries = c.call('COMMAND')
    return kind, by_name(entries)


def test_every_command_of_the_server_has_a_row_and_no_other(server, table):
    _, entries = server_entries(server, 2)
    theirs = sorted(name for name, _ in flat(entries))
    ours = sorted(row['name'] for row in table if not row['own'])
    assert ours == theirs
    assert len(theirs) > 360


def test_rows_say_what_command_info_says(server, table):
    _, entries = server_entries(server, 2)
    theirs = dict(flat(entries))
    for row in table:
        if row['own']:
            continue
        _, (_, arity), (_, flags), (_, first), (_, last), (_, step), (_, categories), *_ = theirs[row['name']]
        assert (row['name'], row['arity'], row['first'], row['last'], row['step']) == \
            (row['name'], arity, first, last, step)
        assert (row['name'], row['flags']) == (row['name'], [f for _, f in flags])
        assert (row['name'], ['@' + c for c in row['categories']]) == (row['name'], [c for _, c in categories])


@pytest.mark.parametrize('resp', [2, 3])
def test_command_is_told_byte_for_byte(server, resp):
    kind, theirs = server_entries(server, resp)
    our_kind, entries = typed(dump('--info', str(resp)))
    ours = by_name(entries)
    assert our_kind == kind
    for name in theirs:
        assert (name, ours.get(name)) == (name, theirs[name])
    assert set(ours) == set(theirs)


def test_categories_are_those_of_acl_cat(server, table):
    theirs = [c.decode() for c in server.call('ACL', 'CAT')]
    assert {c for row in table for c in row['categories']} == set(theirs)
    for category in theirs:
        members = {m.decode() for m in server.call('ACL', 'CAT', category)}
        assert members <= {row['name'] for row in table if category in row['categories']}, category


# ---- keys ----------------------------------------------------------------------------------------------------------
WORDS = ['STORE', 'store', 'StoreDist', 'STREAMS', 'streams', 'LIMIT', 'BY', 'GET', 'KEYS', 'keys', 'AUTH', 'AUTH2', 'COPY',
         'REPLACE', 'COUNT', 'BLOCK', 'GROUP', 'NOACK', 'ASC', 'ANY', 'WEIGHTS', 'LEFT', 'MIN', 'm', 'km', '*', '$', '>',
         b'STORE\0x', b'streams\0', 'STORES', 'STOR']
NUMBERS = ['0', '1', '2', '3', '4', '7', '-1', '-2', '02', '+2', ' 2', '2 ', '2x', '1.5', '', 'abc', '99',
           '2147483648', '4294967297', '4294967298', '9223372036854775807', '9223372036854775808']


class Maker:
    """Requests out of one seed."""

    def __init__(self, seed):
        self.r, self.count = random.Random(seed), 0

    def key(self):
        self.count += 1
        return self.r.choice(['', 'k', 'a:b:', '{t}', b'\xff\0\r\n']) and f'k{self.count}' or b'\0' + to_bytes(self.count)

    def some(self, low, high):
        return [self.key() for _ in range(self.r.randint(low, high))]

    def number(self):
        return self.r.choice(NUMBERS)

    def cased(self, word):
        return ''.join(self.r.choice([c.upper(), c.lower()]) for c in word)

    def name(self, row):
        return [self.cased(part) for part in row['name'].split('|')]

    def anything(self, row):
        """The right number of arguments, or nearly; what they are is left to chance."""
        head = self.name(row)
        want = abs(row['arity']) - len(head)
        want += self.r.choice([0, 0, 0, 1, 2, 3, 4, 5, 6, 9]) if row['arity'] < 0 else self.r.choice([0] * 8 + [-1, 1])
        kinds = [self.key, self.number, lambda: self.r.choice(WORDS)]
        return head + [self.r.choice(kinds)() for _ in range(max(0, want))]

    def shuffled(self, *options):
        """Some of the options, in any order."""
        chosen = [o for o in options if self.r.random() < 0.6]
        self.r.shuffle(chosen)
        return [arg for option in chosen for arg in option]

    # the kinds whose keys move: requests that the command accepts, more or less
    def counted(self, row):
        head, keys = self.name(row), self.some(0, 5)
        n = len(keys) if self.r.random() < 0.6 else self.number()
        before = {'eval': ['return 1'], 'fcal': ['f'], 'blmp': ['0.01'], 'bzmp': ['0.01']}.get(row['name'][:4], [])
        after = self.shuffled(['WEIGHTS', *['1'] * len(keys)], ['AGGREGATE', 'MIN'], ['LIMIT', '2'], ['LEFT'], ['COUNT', '2'])
        to = [self.key()] if row['name'].endswith('store') else []
        return head + before + to + [n] + keys + after

    def sort(self, row):
        return self.name(row) + [self.key()] + self.shuffled(
            ['BY', self.r.choice(['nosort', 'store', 'w_*'])], ['get', '#'], ['GET', self.r.choice(['store', 'v_*'])],
            ['LIMIT', '0', '5'], ['asc'], ['ALPHA'], ['STORE', self.key()], [b'store\0x', self.key()])

    def georadius(self, row):
        where = ['member'] if 'member' in row['name'] else ['13.3', '52.5']
        where = ['store'] if where == ['member'] and self.r.random() < 0.3 else where
        return self.name(row) + [self.key()] + where + ['5', 'km'] + self.shuffled(
            ['WITHDIST'], ['COUNT', '3'], ['COUNT', '3', 'ANY'], ['ASC'], ['STORE', self.key()], [b'storedist\0', self.key()])

    def streams(self, row):
        keys = self.some(0, 4)
        ids = ['0'] * (len(keys) + self.r.choice([0, 0, 0, 0, 1, -1]))
        group = [['GROUP', self.r.choice(['g', 'block', 'count']), self.r.choice(['c', 'streams'])]]
        group = group if row['name'] == 'xreadgroup' else []
        head = self.shuffled(['COUNT', '2'], ['BLOCK', '1'], ['NOACK'])
        head = group[0] + head if group else head
        return self.name(row) + head + [self.cased('streams')] + keys + ids

    def migrate(self, row):
        one = self.r.random() < 0.4
        tail = self.shuffled(['COPY'], ['replace'], ['AUTH', self.r.choice(['pw', 'keys'])], ['AUTH2', 'keys', 'keys'])
        keys = [self.cased('keys'), *self.some(0, 4)] if self.r.random() < 0.7 else []
        return self.name(row) + ['127.0.0.1', '1', self.key() if one else '', '0', '5'] + tail + keys

    def special(self, row):
        name = row['name']
        if name.startswith('sort'):
            return self.sort(row)
        if name.startswith('georadius'):
            return self.georadius(row)
        if name in ('xread', 'xreadgroup'):
            return self.streams(row)
        if name == 'migrate':
            return self.migrate(row)
        return self.counted(row) if 'movablekeys' in row['flags'] else self.anything(row)


def our_keys(requests):
    """For each request 'unknown', 'arity', 'bad', or the list of its keys."""
    data = b''
    for args in requests:
        data += struct.pack('=I', len(args)) + b''.join(struct.pack('=I', len(a)) + a for a in args)
    lines = dump('--keys', data=data).decode().splitlines()
    assert len(lines) == len(requests)
    return [[args[int(at)] for at in line.split()[1:]] if line.startswith('ok') else line
            for args, line in zip(requests, lines)]


def their_keys(server, requests):
    out = []
    with server.client() as c:
        for i in range(0, len(requests), BATCH):
            out += c.pipeline(*[(b'COMMAND', b'GETKEYS', *args) for args in requests[i:i + BATCH]])
    return out


def outcome(server, args):
    """What the server says to the request itself, without waiting for anything."""
    with server.client() as c:
        c.call('MULTI')
        queued = c.call(*args)
        return queued if isinstance(queued, Error) else c.call('EXEC')[0]


def same(ours, theirs):
    """Where neither knows a key the node is asked anyway, and says why."""
    if isinstance(theirs, Error) and 'Invalid number of arguments' in theirs:
        return ours == 'arity'
    if isinstance(theirs, Error) and 'wrong number of arguments' in theirs:  # of GETKEYS itself: a name alone
        return ours in ('arity', [])
    if ours == 'arity':
        return 'no key arguments' in theirs
    if isinstance(theirs, Error) or theirs == []:
        return ours in ('unknown', 'bad', [])
    return ours == theirs


def number_is_refused(row, args):
    """GETKEYS takes '2x' and 4294967298 for 2. The commands don't, so the table finds no keys there."""
    number = args[2 if row['name'] in COUNT_AT_2 or row['name'].endswith('store') else 1]
    return not re.fullmatch(rb'[1-9][0-9]{0,9}', number) or int(number) > len(args)


def allowed(server, row, args, ours, theirs):
    """The table may differ from GETKEYS where the request fails for certain, and in one case that is GETKEYS's fault
    (test_where_getkeys_is_wrong)."""
    if row['name'] == 'pfmerge' and len(args) == 2:
        return ours == [args[1]]
    if row['name'].startswith(('sort', 'georadius', 'xread', 'migrate')):
        reply = outcome(server, args)
        nothing = row['name'] == 'migrate' and args[-1].lower() == b'keys' and reply == 'NOKEY'
        return nothing or isinstance(reply, Error) and not reply.startswith('NOGROUP')
    return ours == 'bad' and 'movablekeys' in row['flags'] and number_is_refused(row, args)


def differences(server, table, requests):
    rows = {row['name']: row for row in table}
    out = []
    for args, ours, theirs in zip(requests, our_keys(requests), their_keys(server, requests)):
        if not same(ours, theirs) and not allowed(server, rows[args[0].decode().lower()], args, ours, theirs):
            out.append(f'{args}\n   table  {ours}\n   server {theirs}')
    return '\n'.join([f'seed {SEED}: {len(out)} differ', *out[:10]]) if out else ''


def requests_of(rows, make, count):
    return [[to_bytes(a) for a in make(row)] for row in rows for _ in range(count)]


def with_keys(table):
    rows = [row for row in table if (row['first'] != 0 or 'movablekeys' in row['flags']) and not row['own']]
    assert len(rows) > 180
    return rows


def test_keys_of_any_arguments_are_those_of_getkeys(server, table):
    requests = requests_of(with_keys(table), Maker(SEED).anything, PER_COMMAND)
    assert differences(server, table, requests) == ''


def test_keys_that_move_are_those_of_getkeys(server, table):
    rows = [row for row in with_keys(table) if 'movablekeys' in row['flags']]
    assert len(rows) > 20
    requests = requests_of(rows, Maker(SEED + 1).special, PER_COMMAND * 5)
    told = [keys for keys in our_keys(requests) if isinstance(keys, list) and keys]
    assert len(told) > len(requests) / 3, 'the generator makes too few requests with keys'
    assert differences(server, table, requests) == ''


WRONG = [  # request, what GETKEYS says, what the table says, the key that is written
    ('PFMERGE d', None, 'd', 'd'),
    ('SORT l STORE store ASC', 'l ASC', 'l store', 'store'),
    ('GEORADIUS g 13 52 500 km STORE storedist ASC', 'g storedist ASC', 'g storedist', 'storedist'),
    ('GEORADIUS g 13 52 500 km STORE a STORE b', 'g a', 'g a b', 'b'),
    ('XREADGROUP COUNT 1 GROUP streams c STREAMS s >', 'c STREAMS', 's', None),
]


@pytest.mark.parametrize('request_,getkeys,keys,written', WRONG, ids=[w[0] for w in WRONG])
def test_where_getkeys_is_wrong_the_table_is_right(server, request_, getkeys, keys, written):
    args = [to_bytes(a) for a in request_.split()]
    with server.client() as c:
        c.pipeline(['FLUSHALL'], ['RPUSH', 'l', '2', '1'], ['GEOADD', 'g', '13', '52', 'm'], ['XADD', 's', '1-1', 'f', 'v'],
                   ['XGROUP', 'CREATE', 's', 'streams', '0'])
        said = c.call('COMMAND', 'GETKEYS', *args)
        assert isinstance(said, Error) if getkeys is None else b' '.join(said).decode() == getkeys
        assert b' '.join(our_keys([args])[0]).decode() == keys
        reply = c.call(*args)
        assert not isinstance(reply, Error)
        if written:
            assert c.call('EXISTS', written) == 1
        else:
            assert reply == [[b's', [[b'1-1', [b'f', b'v']]]]]
