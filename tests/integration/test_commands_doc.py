# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""docs/commands.md does not lie: every command and subcommand is sent to a router, and what happens is what the page says.

The nodes' own counters (INFO commandstats) tell which of them a command reached. Where a command is served its answer
is of the kind that a plain redis-server with the same data gives. After each command the connection answers PING.
"""
import json
import os
import re
import shlex
import subprocess

import pytest

import harness
from resp import Closed, Error, PONG, to_bytes

PAGE = os.path.join(harness.ROOT, 'docs/commands.md')
DUMP = os.path.join(harness.BUILD_DIR, 'tests/cmd_dump')
REGENERATE = 'put it right in tools/gen_commands_doc.py and run that'

# @x is a key of type x; they all lie on one node. %1 %2 ... are strings that lie all over the nodes.
DATA = r'''
    set @s hello | set @t hallo | set @n 10 | set @e soon EX 1000 | setbit @b 7 1 | rpush @l a b c b | rpush @m d
    hset @h f 1 g 2 | sadd @st a b c | sadd @su b c d | zadd @z 1 a 2 b 3 c | zadd @y 2 b 4 d | zadd @lex 0 a 0 b 0 c
    geoadd @g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania | pfadd @p a b c | pfadd @q c d
    xadd @x 1-1 f v | xadd @x 1-2 f v | xadd @x 1-3 f v | xgroup create @x grp 0 | xgroup createconsumer @x grp other
    xreadgroup group grp me count 2 streams @x >
'''

# One request a command. '! ' before it: Redis answers with an error, and that is what reaches the client.
REQUESTS = r'''
    acl cat | acl cat string | acl deluser bob | acl dryrun default get x | acl genpass | acl getuser default | acl help
    acl list | ! acl load | acl log | ! acl save | acl setuser bob | acl users | acl whoami
    append @s x | ! asking | ! auth secret | bgrewriteaof | bgsave schedule | bitcount @s | bitfield @b get u4 0
    bitfield_ro @b get u4 0 | bitop or @new @b @s | bitpos @b 1 | blmove @l @new left right 1 | blmpop 1 1 @l left
    blpop @l 1 | brpop @l 1 | brpoplpush @l @new 1 | bzmpop 1 1 @z min | bzpopmax @z 1 | bzpopmin @z 1
    ! client caching yes | client getname | client getredir | client help | client id | client info
    ! client kill 127.0.0.1:1 | client list | client no-evict off | client pause 1 | client reply on
    client setinfo lib-name jedis | client setname someone | client tracking off | client trackinginfo | client unblock 999999 | client unpause
    ! cluster addslots 1 | ! cluster addslotsrange 1 2 | ! cluster bumpepoch | ! cluster count-failure-reports x
    ! cluster countkeysinslot 1 | ! cluster delslots 1 | ! cluster delslotsrange 1 2 | ! cluster failover
    ! cluster flushslots | ! cluster forget x | ! cluster getkeysinslot 1 2 | ! cluster help | ! cluster info
    ! cluster keyslot k | ! cluster links | ! cluster meet 127.0.0.1 1 | ! cluster myid | ! cluster nodes
    ! cluster replicas x | ! cluster replicate x | ! cluster reset | ! cluster saveconfig | ! cluster set-config-epoch 1
    ! cluster setslot 1 stable | ! cluster shards | ! cluster slaves x | ! cluster slots
    command | command count | command docs get | command getkeys get k | command getkeysandflags get k | command help
    command info get | command list | config get maxmemory | config help | config resetstat | ! config rewrite
    config set maxmemory-samples 5 | copy @s @new | dbsize | ! debug jmap | debug object @s | debug sleep 0 | decr @n
    decrby @n 2 | del %1 %2 %3 %4 %5 %6 | ! discard | dump @s | echo hi | eval 'return redis.call("get", KEYS[1])' 1 @s
    eval_ro 'return redis.call("get", KEYS[1])' 1 @s | ! evalsha ffffffffffffffffffffffffffffffffffffffff 1 @s
    ! evalsha_ro ffffffffffffffffffffffffffffffffffffffff 1 @s | ! exec | exists %1 %2 %3 %4 %5 %6 | expire @s 100
    expireat @s 99999999999 | expiretime @e | ! failover abort | ! fcall nosuch 1 @s | ! fcall_ro nosuch 1 @s | flushall
    flushdb | ! function delete nosuch | function dump | function flush | function help | ! function kill | function list
    function load "#!lua name=lib\nredis.register_function('f', function() return 1 end)" | ! function restore x
    function stats | geoadd @g 1 2 here | geodist @g Palermo Catania | geohash @g Palermo | geopos @g Palermo
    georadius @g 15 37 200 km | georadius_ro @g 15 37 200 km | georadiusbymember @g Palermo 200 km
    georadiusbymember_ro @g Palermo 200 km | geosearch @g frommember Palermo byradius 200 km
    geosearchstore @new @g frommember Palermo byradius 200 km | get @s | getbit @b 7 | getdel @s | getex @s ex 100
    getrange @s 0 1 | getset @s x | hdel @h f | hello 2 | hexists @h f | hget @h f | hgetall @h | hincrby @h f 1
    hincrbyfloat @h f 1.5 | hkeys @h | hlen @h | hmget @h f x | hmset @h f 1 | hrandfield @h | hscan @h 0 | hset @h f 1
    hsetnx @h x 1 | hstrlen @h f | hvals @h | incr @n | incrby @n 2 | incrbyfloat @n 1.5 | info | keys * | lastsave
    latency doctor | ! latency graph command | latency help | latency histogram get | latency history command
    latency latest | latency reset | lcs @s @t | lindex @l 0 | linsert @l before b x | llen @l | lmove @l @new left right
    lmpop 1 @l left | lolwut | lpop @l | lpos @l b | lpush @l x | lpushx @l x | lrange @l 0 -1 | lrem @l 1 b
    lset @l 0 x | ltrim @l 0 1 | memory doctor | memory help | memory malloc-stats | memory purge | memory stats
    memory usage @s | mget %1 %2 %3 %4 %5 %6 | migrate 127.0.0.1 1 @missing 0 100 | module help | module list
    ! module load /nosuch | ! module loadex /nosuch | ! module unload nosuch | monitor | move @s 1
    mset %1 a %2 b %3 c %4 d %5 e %6 f | msetnx @new 1 @newer 2 | multi | object encoding @s | ! object freq @s
    object help | object idletime @s | object refcount @s | persist @e | pexpire @s 100000 | pexpireat @s 99999999999999
    pexpiretime @e | pfadd @p x | pfcount @p @q | pfdebug encoding @p | pfmerge @new @p @q | pfselftest | ping
    psetex @s 100000 x | psubscribe ch* | ! psync ? -1 | pttl @e | publish ch hi | pubsub channels | pubsub help
    pubsub numpat | pubsub numsub ch | pubsub shardchannels | pubsub shardnumsub ch | punsubscribe | quit | randomkey
    ! readonly | ! readwrite | rename @s @new | renamenx @s @new | replconf capa eof | replicaof no one | reset
    restore @new 0 $dump | restore-asking @new 0 $dump | ringway events | ringway explain @s | ringway help
    ringway nodes | ringway ring | role | rpop @l | rpoplpush @l @m | rpush @l x | rpushx @l x | sadd @st x | save
    scan 0 | scard @st | script debug no | script exists ffffffffffffffffffffffffffffffffffffffff | script flush
    script help | ! script kill | script load 'return 1' | sdiff @st @su | sdiffstore @new @st @su | select 1 | set @s x
    setbit @b 1 1 | setex @s 100 x | setnx @new x | setrange @s 1 x | ! shutdown abort | sinter @st @su
    sintercard 2 @st @su | sinterstore @new @st @su | sismember @st a | slaveof no one | slowlog get | slowlog help
    slowlog len | slowlog reset | smembers @st | smismember @st a x | smove @st @su a | sort @l alpha | sort_ro @l alpha
    spop @st | spublish ch hi | srandmember @st | srem @st a | sscan @st 0 | ssubscribe ch | strlen @s | subscribe ch
    substr @s 0 1 | sunion @st @su | sunionstore @new @st @su | sunsubscribe | swapdb 0 1 | sync | time
    touch %1 %2 %3 %4 %5 %6 | ttl @e | type @s | unlink %1 %2 %3 %4 %5 %6 | unsubscribe | unwatch | wait 0 1 | watch @s
    xack @x grp 1-1 | xadd @x * f v | xautoclaim @x grp me 0 0 | xclaim @x grp other 0 1-1 | xdel @x 1-1
    xgroup create @x new $ | xgroup createconsumer @x grp new | xgroup delconsumer @x grp other | xgroup destroy @x grp
    xgroup help | xgroup setid @x grp 0 | xinfo consumers @x grp | xinfo groups @x | xinfo help | xinfo stream @x | xlen @x
    xpending @x grp | xrange @x - + | xread streams @x 0 | xreadgroup group grp me streams @x > | xrevrange @x + -
    xsetid @x 2-1 | xtrim @x maxlen 1 | zadd @z 4 x | zcard @z | zcount @z 1 2 | zdiff 2 @z @y | zdiffstore @new 2 @z @y
    zincrby @z 1 a | zinter 2 @z @y | zintercard 2 @z @y | zinterstore @new 2 @z @y | zlexcount @lex - + | zmpop 1 @z min
    zmscore @z a x | zpopmax @z | zpopmin @z | zrandmember @z | zrange @z 0 -1 | zrangebylex @lex - +
    zrangebyscore @z 1 2 | zrangestore @new @z 0 1 | zrank @z a | zrem @z a | zremrangebylex @lex - + | zremrangebyrank @z 0 0
    zremrangebyscore @z 1 2 | zrevrange @z 0 -1 | zrevrangebylex @lex + - | zrevrangebyscore @z 2 1 | zrevrank @z a
    zscan @z 0 | zscore @z a | zunion 2 @z @y | zunionstore @new 2 @z @y
'''


def lines(text):
    return [line.strip() for line in re.split(r'\||\n', text) if line.strip()]


def words(line):
    return [word.replace('\\n', '\n') for word in shlex.split(line.removeprefix('! '))]


def page_rows():
    """{name: (what, notes)}: the lines | `CONFIG SET` | what | notes | of the page."""
    with open(PAGE, encoding='utf-8') as f:
        found = re.findall(r'^\| `([^`]+)` \| ([^|]*) \| ([^|]*) \|$', f.read(), re.M)
    rows = {name.lower().replace(' ', '|'): (what.strip(), notes.strip()) for name, what, notes in found}
    assert len(rows) == len(found), 'a command has two lines'
    return rows


ROWS = page_rows()


def name_of(args):
    sub = '|'.join(args[:2]).lower()
    return sub if sub in ROWS else args[0].lower()


CASES = {name_of(words(line)): line for line in lines(REQUESTS)}


# ---- the bed -------------------------------------------------------------------------------------------------------
class Bed:
    """Three nodes behind a router, and a redis-server that holds the same on its own."""

    def __init__(self):
        nodes = [harness.RedisServer(f'n{i}').start() for i in (1, 2, 3)]
        self.fleet = harness.Fleet(nodes, sets={'timeouts.request': '10s'}).start()  # PFSELFTEST computes for long
        self.redis = harness.RedisServer('redis').start()
        names = list(self.fleet.nodes)
        self.spread = [key for pair in zip(*(self.fleet.keys(n, 2) for n in names)) for key in pair]
        self.tags = [next(t for t in map(str, range(1000)) if self.fleet.owner(t) == n) for n in names]
        self.servers = {**{n: node.client() for n, node in self.fleet.nodes.items()}, 'redis': self.redis.client()}
        self.dump = self.servers['redis'].pipeline(['SET', 'd', 'hello'], ['DUMP', 'd'])[1]

    def stop(self):
        for c in self.servers.values():
            c.close()
        self.fleet.stop()
        self.redis.kill()

    def args(self, line, tags=(0,)):
        """Its words with real keys; the n-th key has the tag tags[n], the last of them counts for the rest."""
        out, n = [], 0
        for word in words(line):
            if word.startswith('@'):
                word, n = '{%s}%s' % (self.tags[tags[min(n, len(tags) - 1)]], word[1:]), n + 1
            elif re.fullmatch('%[1-9]', word):
                word = self.spread[int(word[1]) - 1]
            out.append(self.dump if word == '$dump' else word)
        return out

    def owners(self, args):
        """The nodes that own the keys among a request's words."""
        keys = [a for a in args[1:] if a in self.spread or isinstance(a, str) and a.startswith('{')]
        return sorted({self.fleet.owner(key) for key in keys})

    def fresh(self):
        """The same data everywhere, and counters at 0."""
        data = [self.args(line) for line in lines(DATA)] + [['SET', key, 'v'] for key in self.spread]
        for name, c in self.servers.items():
            mine = [args for args in data if name == 'redis' or self.owners(args) == [name]]
            for reply in c.pipeline(['FLUSHALL'], ['FUNCTION', 'FLUSH'], *mine, ['CONFIG', 'RESETSTAT']):
                assert not isinstance(reply, Error), reply

    def reached(self, name):
        """The nodes that were given this command since fresh()."""
        counter = b'cmdstat_%s:' % (b'debug' if name.startswith('debug|') else to_bytes(name))
        return sorted(n for n in self.fleet.nodes if counter in self.servers[n].call('INFO', 'commandstats'))


@pytest.fixture(scope='module')
def bed():
    b = Bed()
    yield b
    b.stop()


@pytest.fixture(scope='module')
def table():
    out = subprocess.run([DUMP, '--table'], stdout=subprocess.PIPE, check=True, timeout=60).stdout
    return {row['name']: row for row in map(json.loads, out.splitlines())}


# ---- what the page may say -----------------------------------------------------------------------------------------
NOT_SERVED = 'not served yet'
REFUSED = 'refused: '
ALL = ['n1', 'n2', 'n3']


def owners_of_keys(reached, owners):
    return reached == owners


def every_node(reached, _):
    return reached == ALL


def one_node(reached, _):
    return len(reached) == 1


def no_node(reached, _):
    return reached == []


def anywhere(_reached, _owners):
    return True


SERVED = {  # what the page says: which nodes must have been asked
    'forwarded to the owner of its keys': owners_of_keys,
    'split by owner, values merged in the order asked (MGET)': owners_of_keys,
    'split by owner, +OK when every part is (MSET)': owners_of_keys,
    'split by owner, counts added (DEL, EXISTS ...)': owners_of_keys,
    'answered by the router': no_node,
    'without a key: any node may answer': one_node,
    'every node is asked, answers are merged': every_node,
    'cursor over all nodes': one_node,
    'blocks: on a private connection': anywhere,
    "by its keys, with the script's body at hand": owners_of_keys,
    'transactions: on a private connection': anywhere,
    'subscriptions': anywhere,
}
# What the router asks its nodes for on its own account, so that counters say nothing.
OWN_ACCOUNT = {'ping', 'info', 'hello', 'auth', 'select', 'config|get', 'command|info'}
ONE_OWNER = {'forwarded to the owner of its keys', 'blocks: on a private connection',
             "by its keys, with the script's body at hand", 'transactions: on a private connection'}
# What PING answers when the connection is in another state than before.
PONGS = {'multi': 'QUEUED', **dict.fromkeys(('subscribe', 'psubscribe', 'ssubscribe'), [b'pong', b''])}


def kind(reply):
    return 'error' if isinstance(reply, Error) else type(reply).__name__


def one_server(bed, name, args):
    """What a plain redis-server answers, or None for commands that Redis 7.0 does not have."""
    if name.startswith('ringway|') or name.startswith('debug|') or name == 'client|setinfo':
        return None
    with bed.redis.client() as c:
        return c.call(*args)


def right_reply(bed, name, line, args, reply, what):
    """Is it the answer that the page promises?"""
    if what == NOT_SERVED:
        return reply == f"ERR '{name}' is not served yet"
    if what.startswith(REFUSED):
        return reply == f"ERR '{name}' is refused: {what[len(REFUSED):]}"
    theirs = one_server(bed, name, args)
    if theirs is not None:
        assert (kind(theirs) == 'error') == line.startswith('!'), f'the request itself is wrong: {theirs!r}'
    return kind(reply) == ('error' if line.startswith('!') else kind(theirs or reply)) and 'served' not in str(reply)


def goes_on(c, name, reply):
    """The next command is answered."""
    if name == 'quit':
        with pytest.raises(Closed):
            c.call('PING')
        return True
    return c.call('PING') == (PONG if isinstance(reply, Error) else PONGS.get(name, PONG))


# ---- the tests -----------------------------------------------------------------------------------------------------
def test_every_command_of_the_table_is_on_the_page_and_asked_for(table):
    """Containers that answer nothing of their own aside."""
    wanted = {n for n, row in table.items() if not row['has_subs'] or row['policy'] == 'POLICY_REFUSED' or n == 'command'}
    assert set(ROWS) == wanted, f'docs/commands.md lags: {REGENERATE}'
    assert set(CASES) == wanted, 'REQUESTS lacks some or has too many'


@pytest.mark.parametrize('name', CASES)
def test_what_the_page_says_is_what_happens(bed, name):
    line, (what, _) = CASES[name], ROWS[name]
    bed.fresh()
    args = bed.args(line)
    with bed.fleet.router.client() as c:
        reply = c.call(*args)
        assert goes_on(c, name, reply)
    reached = bed.reached(name)
    served = what != NOT_SERVED and not what.startswith(REFUSED)
    said = f'{line}: the page says {what!r}, the router answers {str(reply)[:200]!r}; {REGENERATE}'
    assert right_reply(bed, name, line, args, reply, what), said
    asked = SERVED[what] if served else no_node
    assert name in OWN_ACCOUNT or asked(reached, bed.owners(args)), f'{said}; it reached {reached}'


@pytest.mark.parametrize('name', [n for n, line in CASES.items() if line.count('@') > 1 and ROWS[n][0] in ONE_OWNER])
def test_keys_of_several_owners_are_refused(bed, name):
    bed.fresh()
    with bed.fleet.router.client() as c:
        assert c.call(*bed.args(CASES[name], tags=(0, 1))) == "CROSSSLOT Keys in request don't hash to the same slot"
        assert c.call('PING') == PONG
    assert bed.reached(name) == []


FORMS = ['xread block 1 streams @x $', 'xreadgroup group grp me block 1 streams @x >', 'command list filterby pattern g*']


@pytest.mark.parametrize('line', FORMS)
def test_forms_that_are_not_served_are_told(bed, line):
    bed.fresh()
    args = bed.args(line)
    with bed.fleet.router.client() as c:
        reply = c.call(*args)
        assert c.call('PING') == PONG
    told = re.search('With `[A-Z]+`: not served yet', ROWS[name_of(args)][1]) is not None
    assert ('not served yet' in str(reply)) == told, f'{line}: {reply!r}; {REGENERATE}'


def named(name):
    """The words in backticks of a command's notes."""
    return re.findall('`([^`]+)`', ROWS[name][1])


def test_config_get_has_what_the_page_names(bed):
    bed.fresh()
    reply = bed.fleet.router.call('CONFIG', 'GET', '*')
    node = bed.fleet.nodes['n1'].call('CONFIG', 'GET', '*')
    assert sorted(reply[::2]) == sorted(node[::2])
    values, there = dict(zip(reply[::2], reply[1::2])), dict(zip(node[::2], node[1::2]))
    differ = {k.decode() for k in values if values[k] != there[k]}
    assert differ <= {*named('config|get'), 'dir', 'pidfile', 'logfile'}


@pytest.mark.parametrize('setting', named('config|set'))
def test_config_set_refuses_what_the_page_names(bed, setting):
    bed.fresh()
    setting = setting.replace('*', 'port')
    reply = bed.fleet.router.call('CONFIG', 'SET', 'maxmemory-samples', '5', setting.upper(), '1')
    assert re.match(f'ERR CONFIG SET {setting} is refused: ', reply, re.I)
    assert bed.reached('config|set') == []


def test_info_has_the_standard_sections(bed):
    bed.fresh()
    ours, theirs = (s.call('INFO').decode() for s in (bed.fleet.router, bed.redis))
    own, standard = (re.findall(r'^# (\w+)', text, re.M) for text in (ours, theirs))
    assert own == standard + ['Ringway']
    assert re.search(r'^db0:keys=\d', ours, re.M) and 'summed over' in ROWS['info'][1], REGENERATE


def test_scan_goes_over_all_nodes_in_order_and_leaves_leftovers_out(bed):
    bed.fresh()
    mine = {bed.fleet.owner(key): key for key in bed.spread}
    bed.servers['n1'].call('SET', mine['n2'], 'a leftover')
    every = 65536
    with bed.fleet.router.client() as c:
        keys, nodes, cursor = [], [], 0
        while True:
            nodes.append(cursor % every)
            text, more = c.call('SCAN', cursor, 'COUNT', 3)
            assert re.fullmatch(rb'0|[1-9][0-9]*', text)
            keys, cursor = keys + more, int(text)
            if cursor == 0:
                break
        assert sorted(keys) == sorted(c.call('KEYS', '*')) and len(set(keys)) == len(keys)
        assert len(keys) == c.call('DBSIZE') - 1
    assert nodes == sorted(nodes) and set(nodes) == {0, 1, 2}


def test_containers_answer_as_redis_does(bed, table):
    for name in (n for n, row in table.items() if row['has_subs'] and n not in ROWS and not row['own']):
        for args in ([name], [name, 'nonsense']):
            assert bed.fleet.router.call(*args) == bed.redis.call(*args)
