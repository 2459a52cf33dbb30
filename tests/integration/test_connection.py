# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Commands about the connection, against a real redis-server: the same conversation with both, in RESP2 and in RESP3, and
every reply compared, its type included. What differs by nature (ids, addresses, sizes, times) is masked.

Then what only a router with several workers can get wrong: CLIENT LIST, KILL and PAUSE reach the clients of all of them.
"""
import os
import re
import threading
import time

import pytest

import harness
from resp import Closed, Error, OK, PONG, Reader, SLOW, encode, to_bytes

END = encode('SUBSTR')  # whoever asks gets the same error


class Typed(Reader):
    """Replies with their type bytes: ('~', [('+', 'write'), ...]) is not ('*', [...])."""

    def _parse(self, pos):
        got = super()._parse(pos)
        return got and ((chr(self.buf[pos]), got[0]), got[1])


@pytest.fixture(scope='module')
def redis():
    server = harness.RedisServer('redis').start()
    version = re.search(rb'redis_version:(\S+)', server.call('INFO', 'server'))[1].decode()
    yield server if version.startswith('7.0.') else pytest.skip(f'the words are those of Redis 7.0, this is {version}')
    server.kill()


# ---- one conversation with both ------------------------------------------------------------------------------------
def words(conversation):
    """'PING | ECHO "a b"' as commands. Bytes in ` ` are sent as they are: `*x\\r\\n`."""
    out = []
    for part in conversation.split(' | '):
        if part.startswith('`'):
            out.append(part.strip('`').encode().decode('unicode_escape').encode('latin-1'))
        else:
            found = re.findall(r'"((?:[^"\\]|\\.)*)"|(\S+)', part)
            out.append(encode(*[(q.encode().decode('unicode_escape').encode('latin-1') if w == '' else w)
                                for q, w in found]))
    return out


def talk(server, conversation, resp):
    """Every reply of a fresh connection, up to the end of the stream if it comes."""
    with server.client() as c:
        if resp == 3:
            c.call('HELLO', 3)
        c.reader = Typed()
        c.send(b''.join(words(conversation)) + END)
        replies = []
        while not replies or replies[-1] != ('-', "ERR wrong number of arguments for 'substr' command"):
            try:
                replies.append(c.reply())
            except Closed:
                replies.append('closed')
                break
        return replies


VOLATILE = (rb'\b(id|fd|age|idle|qbuf|qbuf-free|argv-mem|multi-mem|rbs|rbp|obl|oll|omem|tot-mem)=\d+', rb'\1=N')
ADDRESS = (rb'\b(l?addr)=127\.0\.0\.1:\d+', rb'\1=A')
LIB = (rb' lib-name=\S* lib-ver=\S*', rb'')


def masked(reply):
    if not isinstance(reply, tuple):
        return reply
    kind, value = reply
    if isinstance(value, bytes) and b'laddr=' in value:
        for pattern, to in (VOLATILE, ADDRESS, LIB):
            value = re.sub(pattern, to, value)
    if isinstance(value, list):
        value = [(':', 'N') if i > 0 and value[i - 1] == ('$', b'id') else masked(v) for i, v in enumerate(value)]
    return kind, value


def same(redis, router, conversation, resp):
    theirs, ours = ([masked(r) for r in talk(s, conversation, resp)] for s in (redis, router))
    assert (conversation, ours) == (conversation, theirs)
    return ours


def same_from_empty(redis, router, conversation, resp):
    for server in (redis, router):
        server.call('FLUSHALL')
    return same(redis, router, conversation, resp)


CONVERSATIONS = r'''
PING | PING a | PING "" | PING a b | ping "\xff\r\n" | ECHO a | ECHO | ECHO a b | ECHO "\x00\r\n"
QUIT | PING
QUIT a b | PING
TIME x | ROLE | ROLE x | LOLWUT | LOLWUT 1 2 | LOLWUT VERSION x | LOLWUT VERSION 7
SELECT | SELECT 0 | SELECT 15 | SELECT 16 | SELECT -1 | SELECT x | SELECT 01 | SELECT 1 2 | CLIENT INFO
SELECT 2147483647 | SELECT 2147483648 | SELECT -2147483648 | SELECT -2147483649 | SELECT 99999999999999999999
RESET | RESET x | SELECT 3 | CLIENT SETNAME n | RESET | CLIENT GETNAME | CLIENT INFO
READONLY | READWRITE | ASKING | READONLY x
CLUSTER | CLUSTER INFO | CLUSTER HELP | CLUSTER SLOTS | CLUSTER SHARDS | CLUSTER NODES | CLUSTER MYID | CLUSTER LINKS
CLUSTER KEYSLOT a | CLUSTER KEYSLOT | CLUSTER FOO | CLUSTER SLOTS x | CLUSTER COUNTKEYSINSLOT 1 | CLUSTER GETKEYSINSLOT 1 2
CLUSTER REPLICAS x | CLUSTER SLAVES x | CLUSTER COUNT-FAILURE-REPORTS x
HELLO x | HELLO 1 | HELLO 4 | HELLO 99999999999 | HELLO 99999999999999999999 | HELLO 02 | HELLO -3 | CLIENT INFO
HELLO 3 AUTH | HELLO 3 AUTH default | HELLO 3 SETNAME | HELLO 3 BOGUS | HELLO 3 "" | HELLO 3 SETNAME "a b" | CLIENT INFO
HELLO 3 AUTH nobody x | HELLO 3 SETNAME late NONSENSE | CLIENT GETNAME | HELLO 2 SETNAME q AUTH nobody x | CLIENT INFO
AUTH | AUTH x | AUTH default x | AUTH nobody x | AUTH a b c | AUTH "" "" | AUTH default "" | ACL WHOAMI
ACL | ACL FOO | ACL WHOAMI | ACL WHOAMI x | ACL CAT | ACL CAT foo | ACL CAT read x | ACL CAT "" | ACL CAT @read
ACL GENPASS 0 | ACL GENPASS 4097 | ACL GENPASS x | ACL GENPASS -1 | ACL GENPASS 1 2 | ACL HELP | ACL HELP x
COMMAND COUNT | COMMAND COUNT x | COMMAND LIST x | COMMAND LIST FILTERBY | COMMAND LIST FILTERBY FOO x | COMMAND FOO
COMMAND LIST FILTERBY PATTERN | COMMAND LIST FILTERBY MODULE foo | COMMAND LIST FILTERBY ACLCAT foo | COMMAND HELP
COMMAND LIST FILTERBY ACLCAT @read | COMMAND LIST FILTERBY PATTERN a b | COMMAND LIST FILTERBY PATTERN nosuch*
COMMAND INFO get | COMMAND INFO nosuch | COMMAND INFO GET config|set | COMMAND INFO config|nosuch get|x | COMMAND HELP x
COMMAND GETKEYS | COMMAND GETKEYS get | COMMAND GETKEYS foo a | COMMAND GETKEYS config a | COMMAND GETKEYS config get a
COMMAND GETKEYS memory usage a | COMMAND GETKEYS set a | COMMAND GETKEYS eval a 0 | COMMAND GETKEYS eval a x
COMMAND GETKEYS ping x | COMMAND GETKEYS mset a 1 b 2 | COMMAND GETKEYS eval "return 1" 2 x y z | COMMAND GETKEYS sort a
COMMAND GETKEYSANDFLAGS set a b | COMMAND DOCS nosuch
CLIENT | CLIENT FOO | CLIENT ID x | CLIENT GETNAME | CLIENT GETNAME x | CLIENT SETNAME | CLIENT SETNAME a b | CLIENT HELP x
CLIENT SETNAME a | CLIENT GETNAME | CLIENT SETNAME "a b" | CLIENT SETNAME "a\nb" | CLIENT SETNAME "\xff" | CLIENT GETNAME
CLIENT SETNAME "" | CLIENT GETNAME | CLIENT SETNAME ~! | CLIENT GETNAME | CLIENT INFO | CLIENT INFO x | CLIENT HELP
CLIENT LIST TYPE foo | CLIENT LIST TYPE | CLIENT LIST ID | CLIENT LIST ID x | CLIENT LIST ID 1 x | CLIENT LIST FOO bar
CLIENT LIST TYPE pubsub | CLIENT LIST TYPE slave | CLIENT LIST TYPE Replica | CLIENT LIST TYPE master
CLIENT LIST TYPE normal x | CLIENT LIST ID 99999999 -5 0 | CLIENT LIST x | CLIENT LIST "" ""
CLIENT KILL | CLIENT KILL foo | CLIENT KILL ID | CLIENT KILL ID 0 | CLIENT KILL ID x | CLIENT KILL ID -1 | CLIENT KILL ID 1 2
CLIENT KILL ID 99999999 | CLIENT KILL ID 99999999999999999999 | CLIENT KILL TYPE foo | CLIENT KILL TYPE pubsub
CLIENT KILL USER nobody | CLIENT KILL SKIPME maybe | CLIENT KILL ADDR 1.2.3.4:5 | CLIENT KILL LADDR 1.2.3.4:5
CLIENT KILL FOO 1 | CLIENT KILL ID 99999999 SKIPME | CLIENT KILL TYPE master SKIPME NO | CLIENT KILL 1.2.3.4:5
CLIENT KILL TYPE foo ID 0 | CLIENT KILL ID 0 TYPE foo | CLIENT KILL USER default ID 99999999
CLIENT PAUSE | CLIENT PAUSE x | CLIENT PAUSE -1 | CLIENT PAUSE 1 FOO | CLIENT PAUSE 1 ALL x | CLIENT PAUSE 1.5
CLIENT PAUSE x FOO | CLIENT PAUSE 99999999999999999999 | CLIENT PAUSE 0 | CLIENT PAUSE 9223372036854775807 | PING
CLIENT PAUSE 1 WRITE | CLIENT PAUSE 1 all | CLIENT UNPAUSE | CLIENT UNPAUSE x
CLIENT NO-EVICT | CLIENT NO-EVICT maybe | CLIENT NO-EVICT ON | CLIENT INFO | RESET | CLIENT INFO | CLIENT NO-EVICT off
CLIENT TRACKING | CLIENT TRACKING foo | CLIENT TRACKING OFF | CLIENT TRACKING OFF BCAST | CLIENT TRACKING OFF FOO
CLIENT TRACKING ON REDIRECT | CLIENT TRACKING ON REDIRECT x | CLIENT TRACKING OFF PREFIX a | CLIENT TRACKING ON FOO
CLIENT TRACKINGINFO | CLIENT TRACKINGINFO x | CLIENT CACHING | CLIENT CACHING yes | CLIENT CACHING foo | CLIENT GETREDIR
CLIENT UNBLOCK | CLIENT UNBLOCK x | CLIENT UNBLOCK 1 FOO | CLIENT UNBLOCK 1 ERROR x | CLIENT UNBLOCK 99999999 timeout
CLIENT UNBLOCK x FOO | CLIENT UNBLOCK 99999999 | CLIENT UNBLOCK 99999999 ERROR
CLIENT REPLY | CLIENT REPLY foo | CLIENT REPLY ON | CLIENT REPLY ON x
CLIENT REPLY OFF | PING | CLIENT REPLY ON | PING
CLIENT REPLY SKIP | PING | ECHO a
CLIENT REPLY SKIP | `\r\n` | PING | ECHO a
CLIENT REPLY SKIP | `*0\r\n` | PING | ECHO a
CLIENT REPLY SKIP | CLIENT REPLY SKIP | PING | ECHO a
CLIENT REPLY SKIP | CLIENT REPLY ON | PING
CLIENT REPLY SKIP | CLIENT REPLY OFF | PING | CLIENT REPLY ON
CLIENT REPLY OFF | CLIENT REPLY SKIP | PING | PING | CLIENT REPLY ON
CLIENT REPLY SKIP | RESET | PING
CLIENT REPLY OFF | RESET | PING
CLIENT REPLY SKIP | PING | `*x\r\n`
CLIENT REPLY OFF | HELLO 2 | CLIENT REPLY ON | CLIENT GETNAME
CLIENT REPLY OFF | CLIENT REPLY foo | CLIENT REPLY ON
CLIENT REPLY SKIP | CLIENT REPLY foo | PING
CLIENT REPLY SKIP | FOO | PING
CLIENT REPLY SKIP | GET | PING
CLIENT REPLY SKIP | GET a | PING
CLIENT REPLY SKIP | MGET a b c d e f g h | MGET a b c d e f g h
CLIENT REPLY SKIP | CLIENT LIST | PING
CLIENT REPLY SKIP | INFO | PING
CLIENT REPLY OFF | GET a | MGET a b c d | DBSIZE | SCAN 0 | CLIENT LIST | INFO | COMMAND | CLIENT REPLY ON | GET a
FOO | CLIENT INFO | GET | CLIENT INFO | CLIENT BOGUS | CLIENT INFO
INFO nosuchsection | INFO "" | INFO Cluster | INFO cluster Modules | INFO sentinel
'''.strip().splitlines()


@pytest.mark.parametrize('resp', [2, 3])
@pytest.mark.parametrize('conversation', CONVERSATIONS, ids=lambda c: c[:40])
def test_every_reply_is_redis_s(redis, fleet, conversation, resp):
    same(redis, fleet.router, conversation, resp)


@pytest.mark.parametrize('resp', [2, 3])
def test_lists_have_the_same_members(redis, fleet, resp):
    with redis.client() as theirs, fleet.router.client() as ours:
        for c in (theirs, ours):
            c.call('HELLO', resp)
            c.reader = Typed()
        for args in [('COMMAND', 'LIST'), ('COMMAND', 'LIST', 'FILTERBY', 'PATTERN', 'xread*'),
                     ('COMMAND', 'LIST', 'FILTERBY', 'PATTERN', 'CONFIG*'),
                     *[('COMMAND', 'LIST', 'filterby', 'aclcat', cat) for cat in ('stream', 'Dangerous')],
                     *[('ACL', 'CAT', cat) for cat in ('stream', 'CONNECTION', 'write', 'admin', 'fast')]]:
            (kind, members), (our_kind, our_members) = theirs.call(*args), ours.call(*args)
            assert len(members) > 1
            assert (args, our_kind, sorted(our_members)) == (args, kind, sorted(members))


@pytest.mark.parametrize('resp', [2, 3])
def test_hello_has_the_same_fields_in_the_protocol_asked_for(redis, fleet, resp):
    theirs, ours = talk(redis, f'HELLO {resp}', 5 - resp)[0], talk(fleet.router, f'HELLO {resp}', 5 - resp)[0]
    version, ident = 3, 7  # places of the values
    assert theirs[0] == ours[0]
    assert [v for i, v in enumerate(ours[1]) if i not in (version, ident)] == \
        [v for i, v in enumerate(theirs[1]) if i not in (version, ident)]
    assert ours[1][ident][0] == ':' and re.fullmatch(rb'\d+\.\d+\.\d+', ours[1][version][1])


def test_genpass_and_time_are_new_each_time(fleet):
    with fleet.client() as c:
        for args, size in (((), 64), ((5,), 2), ((4096,), 1024), ((1,), 1)):
            made = [c.call('ACL', 'GENPASS', *args) for _ in range(5)]
            assert all(re.fullmatch(rb'[0-9a-f]{%d}' % size, m) for m in made)
            assert size < 64 or len(set(made)) == 5
        sec, usec = c.call('TIME')
        assert abs(int(sec) + int(usec) / 1e6 - time.time()) < 5 and int(usec) < 1000000


def test_setinfo_is_shown(fleet):
    with fleet.client() as c:
        assert c.pipeline(('CLIENT', 'SETINFO', 'lib-name', 'jedis'), ('CLIENT', 'SETINFO', 'LIB-VER', '5.1')) == [OK, OK]
        assert c.call('CLIENT', 'SETINFO', 'lib-name', 'a b') == \
            'ERR lib-name cannot contain spaces, newlines or special characters.'
        assert c.call('CLIENT', 'SETINFO', 'nosuch', 'a') == "ERR Unrecognized option 'nosuch'"
        assert c.call('CLIENT', 'INFO').endswith(b' lib-name=jedis lib-ver=5.1\n')
        c.pipeline(('RESET',), ('CLIENT', 'SETINFO', 'lib-ver', ''))
        assert c.call('CLIENT', 'INFO').endswith(b' lib-name=jedis lib-ver=\n')


def test_tracking_on_is_refused_with_its_reason(fleet):
    with fleet.client() as c:
        assert re.match(r"ERR 'client\|tracking' ON is refused: \w", c.call('CLIENT', 'TRACKING', 'ON'))
        assert c.call('PING') == PONG


def test_a_silent_quit_closes(fleet):
    """Redis leaves such a connection open; that serves nobody."""
    for end in (encode('QUIT'), b'*x\r\n'):
        with fleet.client() as c:
            c.send(encode('CLIENT', 'REPLY', 'OFF') + end)
            assert c.rest() == b''


# ---- clients of all workers ----------------------------------------------------------------------------------------
class Crowd:
    """Many clients, so that every worker has some."""

    def __init__(self, fleet, count=12):
        self.clients = [fleet.client() for _ in range(count)]
        self.ids = [c.call('CLIENT', 'ID') for c in self.clients]
        for i, c in enumerate(self.clients):
            assert c.call('CLIENT', 'SETNAME', f'crowd-{i}') == OK

    def close(self):
        for c in self.clients:
            c.close()

    def alive(self):
        out = []
        for i, c in enumerate(self.clients):
            try:
                assert c.call('PING') == PONG
                out.append(i)
            except (Closed, OSError):
                pass
        return out


@pytest.fixture
def crowd(fleet):
    made = Crowd(fleet)
    yield made
    made.close()


def lines_of(reply):
    return [dict(field.split('=', 1) for field in line.split(' ')) for line in reply.decode().splitlines()]


def of_crowd(reply):
    return [int(line['name'].split('-')[1]) for line in lines_of(reply) if line['name'].startswith('crowd-')]


def address(c):
    return '%s:%d' % c.sock.getsockname()


def test_list_shows_the_clients_of_every_worker_in_order(fleet, crowd):
    with fleet.client() as c:
        shown = lines_of(c.call('CLIENT', 'LIST'))
        ids = [int(line['id']) for line in shown]
        assert ids == sorted(ids) and len(set(ids)) == len(ids)
        assert [i for i in ids if i in crowd.ids] == crowd.ids
        by_id = {int(line['id']): line for line in shown}
        for i, ident in enumerate(crowd.ids):
            line = by_id[ident]
            assert (line['name'], line['cmd'], line['user'], line['db']) == (f'crowd-{i}', 'client|setname', 'default', '0')
            assert line['addr'] == address(crowd.clients[i])
        assert of_crowd(c.call('CLIENT', 'LIST', 'TYPE', 'NORMAL')) == list(range(12))
        assert c.call('CLIENT', 'LIST', 'TYPE', 'pubsub') == b''
        asked = [crowd.ids[7], crowd.ids[2], 99999999, crowd.ids[7]]
        assert of_crowd(c.call('CLIENT', 'LIST', 'ID', *asked)) == [7, 2, 7]


def test_requests_behind_a_list_wait_for_it(fleet, crowd):
    with fleet.client() as c:
        for _ in range(20):
            got = c.pipeline(('SET', 'k', 'v'), ('CLIENT', 'LIST'), ('SELECT', '1'), ('CLIENT', 'LIST'), ('GET', 'k'),
                             ('CLIENT', 'LIST', 'TYPE', 'pubsub'), ('SELECT', '0'), ('GET', 'k'))
            assert got[0] == OK and got[4:] == [None, b'', OK, b'v']
            assert of_crowd(got[1]) == of_crowd(got[3]) == list(range(12))


def test_kill_by_every_filter(fleet, crowd):
    alive = list(range(12))
    with fleet.client() as c:
        def kills(count, *args, gone=()):
            assert c.call('CLIENT', 'KILL', *args) == count
            for i in gone:
                alive.remove(i)
            assert crowd.alive() == alive
        kills(1, 'ID', crowd.ids[0], gone=[0])
        kills(0, 'ID', crowd.ids[0])
        kills(1, 'ADDR', address(crowd.clients[5]), gone=[5])
        kills(OK, address(crowd.clients[6]), gone=[6])
        kills(Error('ERR No such client'), address(crowd.clients[6]))
        kills(0, 'ID', crowd.ids[1], 'TYPE', 'pubsub')
        kills(0, 'ID', crowd.ids[1], 'ADDR', address(crowd.clients[2]))
        kills(1, 'ID', crowd.ids[1], 'ADDR', address(crowd.clients[1]), 'USER', 'default', 'TYPE', 'normal', gone=[1])
        assert c.call('CLIENT', 'KILL', 'LADDR', '%s:%d' % fleet.router.addr) >= len(alive)
        assert crowd.alive() == [] and c.call('PING') == PONG


def test_killing_oneself_answers_first(fleet, crowd):
    c, d = crowd.clients[:2]
    assert c.call('CLIENT', 'KILL', 'ID', crowd.ids[0], 'SKIPME', 'yes') == 0
    c.send(encode('CLIENT', 'KILL', 'ID', crowd.ids[0], 'SKIPME', 'no') + encode('PING'))
    assert c.rest() == b':1\r\n'
    d.send(encode('CLIENT', 'KILL', address(d)) + encode('PING'))
    assert d.rest() == b'+OK\r\n'
    c = crowd.clients[2]
    c.send(encode('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'no'))
    assert int(c.rest().strip()[1:]) >= 10
    assert crowd.alive() == []


def test_the_killed_see_no_more_of_their_pipeline(fleet, crowd):
    """Whoever is named in its own pipeline is gone from LIST, wherever it lives."""
    with fleet.client() as c:
        got = c.pipeline(*[step for i in (3, 4, 8) for step in
                           (('CLIENT', 'KILL', 'ID', crowd.ids[i]), ('CLIENT', 'LIST', 'ID', crowd.ids[i]))])
        assert got == [1, b''] * 3


def test_a_pause_holds_the_clients_of_every_worker(fleet, crowd):
    with fleet.client() as boss:
        assert boss.call('CLIENT', 'PAUSE', int(600 * SLOW)) == OK
        start = time.monotonic()
        for c in crowd.clients:
            c.cmd('SET', 'paused', 'x').cmd('PING')
        crowd.clients[0].quiet(0.2)
        for c in crowd.clients:
            assert [c.reply(), c.reply()] == [OK, PONG]
        assert time.monotonic() - start > 0.5 * SLOW


def test_a_pause_of_writes_ends_when_told(fleet, crowd):
    with fleet.client() as boss:
        assert boss.call('CLIENT', 'PAUSE', 1000000, 'WRITE') == OK
        for i, c in enumerate(crowd.clients):
            assert c.call('GET', f'p{i}') is None and c.call('MGET', 'a', 'b') == [None, None]
            c.cmd('MSET', f'p{i}', i, f'q{i}', i).cmd('GET', f'p{i}')
        late = fleet.client()
        late.cmd('DEL', *[f'p{i}' for i in range(12)])
        for c in (*crowd.clients, late):
            c.quiet(0.01)
        shown = lines_of(boss.call('CLIENT', 'LIST'))
        assert sum(line['flags'] == 'b' for line in shown) == 13
        assert boss.call('CLIENT', 'UNPAUSE') == OK
        for i, c in enumerate(crowd.clients):
            assert c.reply() == OK
            assert c.reply() in (b'%d' % i, None)
        assert 0 <= late.reply() <= 12
        late.close()
        boss.call('FLUSHALL')


def test_what_makes_no_sense_is_told_during_a_pause(redis, fleet):
    """As Redis does, in this order: unknown, arity, then the pause."""
    for server in (redis, fleet.router):
        with server.client() as boss, server.client() as c:
            boss.call('CLIENT', 'PAUSE', int(400 * SLOW))
            assert c.call('GET', within=0.3 * SLOW) == "ERR wrong number of arguments for 'get' command"
            assert c.call('CLIENT', 'BOGUS', within=0.3 * SLOW).startswith('ERR unknown subcommand')
            start = time.monotonic()
            assert c.call('CLIENT', 'UNPAUSE') == OK  # held like everything else
            assert time.monotonic() - start > 0.05 * SLOW


def test_askers_that_go_before_their_answer_harm_nobody(fleet, crowd):
    for i in range(150):
        c = fleet.client()
        c.send(encode('CLIENT', 'LIST') * (1 + i % 5) + encode('CLIENT', 'KILL', 'ID', 99999999))
        if i % 3 == 0:
            c.reset()
        else:
            c.close()
    assert crowd.alive() == list(range(12))
    with fleet.client() as c:
        harness.wait_until(lambda: len(lines_of(c.call('CLIENT', 'LIST'))) == 13, what='the askers gone')
    harness.wait_until(lambda: fleet.router.metric('ringway_requests_pending') == 0, what='no request left')


def test_clients_that_kill_each_other_leave_the_router_whole(fleet):
    stop = time.monotonic() + 1.0

    def brawl(seed):
        while time.monotonic() < stop:
            try:
                with fleet.client() as c:
                    for _ in range(10):
                        c.pipeline(('CLIENT', 'LIST'), ('CLIENT', 'KILL', 'TYPE', 'normal'), ('GET', f'k{seed}'),
                                   ('CLIENT', 'PAUSE', 1, 'ALL'), ('MGET', *'abcdefgh'))
            except (Closed, OSError):
                pass

    threads = [threading.Thread(target=brawl, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    with fleet.client() as c:
        harness.wait_until(lambda: len(lines_of(c.call('CLIENT', 'LIST'))) == 1, what='everybody gone')
        assert c.call('PING') == PONG
    harness.wait_until(lambda: fleet.router.metric('ringway_requests_pending') == 0, what='no request left')


def test_a_router_that_stops_amid_errands_stops_cleanly(new_fleet):
    fleet = new_fleet(1, threads=3)
    clients = [fleet.client() for _ in range(9)]
    for c in clients:
        c.send(encode('CLIENT', 'LIST') * 200)
    assert fleet.router.stop() == 0


# ---- INFO ----------------------------------------------------------------------------------------------------------
def sections_of(text):
    """{title: {field: value}} in order."""
    out, fields = {}, None
    for line in text.decode().split('\r\n'):
        if line.startswith('# '):
            assert line[2:] not in out
            fields = out[line[2:]] = {}
        elif line:
            name, value = line.split(':', 1)
            assert name not in fields
            fields[name] = value
    return out


def in_order(some, all_of_them):
    rest = iter(all_of_them)
    return all(any(x == y for y in rest) for x in some)


@pytest.mark.parametrize('asked', ['', 'default', 'all', 'everything', 'server', 'SERVER cpu', 'keyspace clients nosuch',
                                   'commandstats', 'errorstats modules', 'default commandstats'])
def test_info_has_redis_s_sections_and_fields_in_redis_s_order(redis, fleet, asked):
    with redis.client() as c, fleet.client() as d:
        for x in (c, d):
            x.pipeline(('GET', 'x'), ('SET', 'x', 'y', 'EX', 1000), ('FOO',))
        theirs, ours = (sections_of(x.call('INFO', *asked.split())) for x in (c, d))
    own = ours.pop('Ringway', None)
    assert (own is not None) == (asked in ('', 'all', 'everything') or 'default' in asked)
    assert list(ours) == list(theirs)
    for title in set(ours) - {'Commandstats'}:
        assert in_order(ours[title], theirs[title]), (title, list(ours[title]))
    for title, field, value in [('Replication', 'role', 'master'), ('Cluster', 'cluster_enabled', '0'),
                                ('Persistence', 'loading', '0'), ('Server', 'redis_mode', 'standalone')]:
        if title in ours:
            assert ours[title][field] == value


def test_info_in_resp3_is_verbatim_even_before_a_switch_back(fleet):
    with fleet.client() as c:
        c.reader = Typed()
        got = c.pipeline(('HELLO', 3), ('INFO',), ('INFO', 'cpu'), ('HELLO', 2), ('INFO',), ('INFO', 'cpu'))
        assert [kind for kind, _ in got] == ['%', '=', '=', '*', '$', '$']
        assert got[1][1].startswith(b'txt:# Server\r\n')


def test_info_sums_over_the_nodes(new_fleet):
    fleet = new_fleet(3, threads=2)
    with fleet.client() as c:
        for i in range(100):
            c.call('SET', f'k{i}', 'v' * 1000, *(['EX', 5000] if i < 30 else []))
        c.pipeline(('SELECT', 4), ('SET', 'x', 'y'), ('SELECT', 0), *[('GET', f'k{i}') for i in range(150)])
        info = sections_of(c.call('INFO'))
        assert re.fullmatch(r'keys=100,expires=30,avg_ttl=(4\d{6}|0)', info['Keyspace']['db0'])
        assert info['Keyspace']['db4'] == 'keys=1,expires=0,avg_ttl=0'
        assert (info['Stats']['keyspace_hits'], info['Stats']['keyspace_misses']) == ('100', '50')
        alone = [sections_of(n.call('INFO'))['Memory'] for n in fleet.nodes.values()]
        total = sum(int(m['used_memory']) for m in alone)
        assert 0.8 < int(info['Memory']['used_memory']) / total < 1.2
        assert re.fullmatch(r'[\d.]+M', info['Memory']['used_memory_human'])
        assert info['Memory']['maxmemory'] == '0' and info['Memory']['maxmemory_policy'] == 'noeviction'
        assert info['Ringway']['ringway_nodes_missing'] == ''


def test_info_names_the_nodes_that_do_not_answer(new_fleet):
    fleet = new_fleet(3, threads=1, sets={'timeouts.request': f'{int(300 * SLOW)}ms'})
    with fleet.client() as c:
        for i in range(30):
            c.call('SET', f'k{i}', 'v')
        names = sorted(fleet.nodes)
        fleet.nodes[names[0]].pause()
        try:
            info = sections_of(c.call('INFO'))
        finally:
            fleet.nodes[names[0]].resume()
        held = sum(fleet.owner(f'k{i}') != names[0] for i in range(30))
        assert info['Ringway']['ringway_nodes_missing'] == names[0]
        assert info['Keyspace']['db0'].startswith(f'keys={held},')
        for n in fleet.nodes.values():
            n.kill()
        info = sections_of(c.call('INFO'))
        assert sorted(info['Ringway']['ringway_nodes_missing'].split(',')) == names
        assert info['Keyspace'] == {} and 'used_memory' not in info['Memory'] and info['Persistence'] == {'loading': '0'}


def test_commands_and_errors_are_counted_one_by_one(new_fleet):
    fleet = new_fleet(2, threads=3)
    clients = [fleet.client() for _ in range(3)]  # one per worker
    for c in clients:
        c.pipeline(('SET', 'a', '1'), ('GET', 'a'), ('GET', 'a'), ('LPUSH', 'a', 'x'), ('GET',), ('FOO',), ('PING',),
                   ('CLIENT', 'KILL', 'nobody'), ('AUTH', 'nobody', 'x'), ('MONITOR',))
    stats = sections_of(clients[0].call('INFO', 'commandstats', 'errorstats', 'stats'))
    commands, errors = stats['Commandstats'], stats['Errorstats']
    counts = {name: re.fullmatch(r'calls=(\d+),usec=\d+,usec_per_call=\d+\.\d\d,rejected_calls=(\d+),failed_calls=(\d+)',
                                 value).groups() for name, value in commands.items()}
    assert counts['cmdstat_get'] == ('6', '3', '0')
    assert counts['cmdstat_set'] == ('3', '0', '0')
    assert counts['cmdstat_lpush'] == ('3', '0', '3')
    assert counts['cmdstat_ping'][0] == '3'
    assert counts['cmdstat_client|kill'] == ('3', '0', '3')
    assert counts['cmdstat_auth'] == ('3', '0', '3')
    assert counts['cmdstat_monitor'] == ('0', '3', '0')
    assert errors == {'errorstat_WRONGTYPE': 'count=3', 'errorstat_ERR': 'count=12', 'errorstat_WRONGPASS': 'count=3'}
    assert stats['Stats']['total_error_replies'] == '18'


# ---- passwords -----------------------------------------------------------------------------------------------------
LOGINS = r'''
PING | GET k | FOO | GET | CLIENT BOGUS | DEBUG | MULTI | MONITOR | COMMAND | CLIENT REPLY OFF | HELLO | HELLO 3
HELLO 4 | HELLO 3 BOGUS | HELLO 3 AUTH default bad | HELLO 3 SETNAME x | AUTH a b c | AUTH default | AUTH
AUTH one | PING | AUTH two | PING | AUTH three | ACL WHOAMI | RESET | PING
AUTH default one | ACL WHOAMI | AUTH app pw | ACL WHOAMI | AUTH bad | ACL WHOAMI | AUTH default two | ACL WHOAMI
HELLO 2 AUTH app pw SETNAME x | CLIENT GETNAME | CLIENT INFO | HELLO 2 AUTH default bad | ACL WHOAMI
AUTH app pw | KEYS * | KEYS | FLUSHALL | CONFIG GET maxclients | GET k | CLIENT INFO | RESET | CLIENT ID
AUTH app pw | CLIENT REPLY OFF | KEYS * | CLIENT REPLY ON | CLIENT KILL USER nobody
`*11\r\n`
`*1\r\n$16385\r\n`
AUTH bad | `*11\r\n`
AUTH one | RESET | `*11\r\n`
`PING\r\n` | `auth one\r\n` | PING
`host: x\r\n`
'''.strip().splitlines()


def with_users(fleet, users):
    """The fleet's router gets a configuration file with these users: (name, passwords, denied)."""
    lines = ['pools:', '  - name: main', '    role: cache', '    clients:']
    for name, passwords, denied in users:
        files = [os.path.join(fleet.router.dir, p) for p in passwords]
        for path, password in zip(files, passwords):
            with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), 'w') as f:
                f.write(password + '\n')
        lines.append(f'      - {{user: {name}, password_files: [{", ".join(files)}], deny: [{denied}]}}')
    path = os.path.join(fleet.router.dir, 'ringway.yml')
    with open(path, 'w') as f:
        f.write('\n'.join(lines) + '\n')
    fleet.router.args = ['-c', path]


@pytest.fixture(scope='module')
def guarded(redis):
    """A router and a redis-server with the same users."""
    fleet = harness.Fleet([harness.RedisServer(f'n{i + 1}').start() for i in range(2)])
    with_users(fleet, [('default', ['one', 'two'], ''), ('app', ['pw'], 'KEYS, FLUSHALL, CONFIG|GET')])
    server = harness.RedisServer('guarded').start()
    server.call('ACL', 'SETUSER', 'app', 'on', '>pw', '~*', '&*', '+@all', '-keys', '-flushall', '-config|get')
    server.call('ACL', 'SETUSER', 'default', 'resetpass', '>one', '>two')
    try:
        fleet.start()
        yield server, fleet.router
    finally:
        fleet.stop()
        server.kill()


@pytest.mark.parametrize('conversation', LOGINS, ids=lambda c: c[:40])
def test_logging_in_is_redis_s(guarded, conversation):
    same(*guarded, conversation, 2)
