# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Clients of the soak test: each kind does one thing over and over and knows what must be true of it.

Nodes that are killed and frozen may cost errors, but never a wrong reply; the keys of the node that is left in peace
must be exact. What a client can't know (its EXEC was sent, no answer came) is counted as unknown.
"""
import hashlib
import random
import threading
import time

from resp import OK, SLOW, Client, Closed, Error, Late, Status, encode

DEADLINE, SLOW_DEADLINE, LATE = 0.3 * SLOW, 0.6 * SLOW, 1.0 * SLOW  # seconds; the last: what a busy machine may add
QUEUED = Status('QUEUED')


class Bed:
    """What the actors share: where the router is, a hash tag for each node, and sums."""

    def __init__(self, addr, tags, peaceful):
        self.addr, self.tags, self.peaceful = addr, tags, peaceful
        self.stop, self.lock = threading.Event(), threading.Lock()
        self.wins, self.unknown = {}, {}       # (database, counter): increments done, and those that may have been
        self.produced, self.taken = {}, {}     # queue: elements
        self.perhaps, self.lost = {}, {}       # queue: elements that may have been pushed; how many pops may be lost
        self.blockers = []                     # ids of clients that block now and then
        self.losses = dict.fromkeys(tags, 0)   # how often a node lost its data: raised before it happens

    def add(self, sums, key, count=1):
        with self.lock:
            sums[key] = sums.get(key, 0) + count


class Actor(threading.Thread):
    """One client at a time, which is sometimes replaced by a new one. A subclass has turn(client)."""
    lives = 60  # turns of one connection, on average

    def __init__(self, bed, seed):
        super().__init__(daemon=True)
        self.bed, self.random, self.error, self.turns, self.errors = bed, random.Random(seed), None, 0, 0
        self.slowest, self.database, self.name = 0.0, 0, f'{type(self).__name__}-{seed % 1000}'
        self.where, self.cuts = None, 0  # the node last chosen; replies that ended in the middle

    def run(self):
        try:
            while not self.bed.stop.is_set():
                with self.connect() as client:
                    self.live(client)
        except (Closed, Late, AssertionError, OSError) as e:
            self.error = f'{self.name}, turn {self.turns}, {self.where}: {type(e).__name__}: {e}'

    def live(self, client):
        for _ in range(self.random.randint(1, 2 * self.lives)):
            if self.bed.stop.is_set():
                return
            try:
                self.turn(client)
            except Closed:
                # A node that dies inside a reply takes the client along that has a part of it. Nobody else.
                if not client.reader.unread() or self.where == self.bed.peaceful:
                    raise
                self.cuts += 1
                return
            self.turns += 1
            if client.sock.fileno() < 0:
                return  # it died of its own will

    def connect(self):
        client = Client(self.bed.addr, 20)
        self.database = self.random.choice([0, 0, 1])
        replies = client.pipeline(('HELLO', self.random.choice([2, 2, 3])), ('SELECT', self.database))
        assert replies[1] == OK, replies
        return client

    def ask(self, client, *commands, wait=0.0):
        """Replies, each within its time: that of the deadlines and what the commands wait by themselves."""
        start = time.monotonic()
        replies = client.pipeline(*commands)
        took = time.monotonic() - start
        limit = wait + len(commands) * SLOW_DEADLINE + LATE
        assert took < limit, f'{commands[0][:2]}... took {took:.3f} s, limit {limit:.3f}'
        self.slowest = max(self.slowest, took - wait)
        return replies

    def bad(self, reply, *others):
        """An error that misfortune explains? Any other error is a wrong reply."""
        if not isinstance(reply, Error):
            return False
        assert reply.startswith(("UNAVAILABLE node 'n", "OVERLOADED node 'n", *others)), repr(reply)
        self.errors += 1
        return True

    def node(self):
        self.where = self.random.choice(list(self.bed.tags))
        return self.where

    def key(self, node, rest):
        return f'{{{self.bed.tags[node]}}}{rest}'

    def die(self, client):
        client.reset() if self.random.random() < 0.5 else client.close()


# ---- transactions ----------------------------------------------------------------------------------------------------
class Counter(Actor):
    """Optimistic increments of shared counters, each with a line in the counter's log: whatever happens to nodes and
    clients, the log reads n-9, n-8, ... n of the counter n."""
    LOG = 10

    def turn(self, client):
        node = self.node()
        counter = self.key(node, f'counter{self.random.randint(0, 1)}')
        if self.random.random() < 0.1:
            return self.look(client, counter)
        watched, value = self.ask(client, ('WATCH', counter), ('GET', counter))
        if self.bad(watched) | self.bad(value):
            return self.bad(self.ask(client, ('UNWATCH',))[0])
        commands = self.increment(counter, int(value or 0) + 1)
        if self.random.random() < 0.05:
            return self.die_inside(client, counter, commands)
        replies = self.ask(client, *commands)
        self.judge(counter, replies)

    def increment(self, counter, value):
        return [('MULTI',), ('SET', counter, value), ('RPUSH', counter + ':log', value),
                ('LTRIM', counter + ':log', -self.LOG, -1), ('EXEC',)]

    def judge(self, counter, replies):
        assert replies[0] == OK or self.bad(replies[0]), replies  # it may have been sent after WATCH
        for reply in replies[1:4]:
            assert self.bad(reply) or reply == QUEUED, replies
        done = replies[4]
        if isinstance(done, Error):
            self.bad(done, 'EXECABORT')
            if done.endswith('outcome unknown'):
                self.bed.add(self.bed.unknown, (self.database, counter))
        elif done is not None:
            assert done[0] == OK and done[2] == OK and isinstance(done[1], int), done
            self.bed.add(self.bed.wins, (self.database, counter))

    def die_inside(self, client, counter, commands):
        data = b''.join(encode(*c) for c in commands)
        self.bed.add(self.bed.unknown, (self.database, counter))
        client.send(data[:self.random.randint(0, len(data))])
        self.die(client)

    def look(self, client, counter):
        replies = self.ask(client, ('MULTI',), ('GET', counter), ('LRANGE', counter + ':log', 0, -1), ('EXEC',))
        if self.bad(replies[-1], 'EXECABORT'):
            return
        value, log = replies[-1]
        value = int(value or 0)
        assert [int(x) for x in log] == list(range(value + 1 - len(log), value + 1)) and \
            len(log) == min(value, self.LOG), f'{counter} is {value}, its log {log}'


# ---- hand-over -------------------------------------------------------------------------------------------------------
QUEUES = 2  # of each node; consumers of the first ones die


class Producer(Actor):
    def turn(self, client):
        queue = self.key(self.node(), f'queue{self.random.randrange(QUEUES)}')
        elements = [f'{queue}|{self.name}|{self.turns}|{i}' for i in range(self.random.randint(1, 5))]
        with self.bed.lock:
            self.bed.perhaps.setdefault((self.database, queue), set()).update(elements)
        reply = self.ask(client, (self.random.choice(['LPUSH', 'RPUSH']), queue, *elements))[0]
        if self.bad(reply):
            return
        with self.bed.lock:
            self.bed.produced.setdefault((self.database, queue), set()).update(elements)
        if reply > 50:
            self.bed.stop.wait(0.02 * len(elements))


class Consumer(Actor):
    def turn(self, client):
        which, wait = self.random.randrange(QUEUES), self.random.choice([0.01, 0.1, 0.3, 0.8])
        queue = self.key(self.node(), f'queue{which}')
        place = self.database, queue
        command = self.random.choice([('BLPOP', queue, wait), ('BRPOP', queue, wait), ('BLMPOP', wait, 1, queue, 'LEFT'),
                                      ('BLMOVE', queue, queue + ':spare', 'LEFT', 'RIGHT', wait)])
        if which == 0 and self.random.random() < 0.1:
            self.bed.add(self.bed.lost, place)
            client.cmd(*command)
            self.bed.stop.wait(self.random.random() * 0.02)
            return self.die(client)
        if self.random.random() < 0.02:
            with self.bed.lock:
                self.bed.blockers[:30] = [*self.bed.blockers[-30:], self.ask(client, ('CLIENT', 'ID'))[0]]
        if self.random.random() < 0.3:  # something before and behind, in one write
            pong, reply, end = self.ask(client, ('SET', self.key(self.where, 'x'), 'y'), command, ('ECHO', 'end'), wait=wait)
            assert end == b'end' and (pong == OK or self.bad(pong)), (pong, end)
        else:
            reply = self.ask(client, command, wait=wait)[0]
        if self.bad(reply, 'UNBLOCKED'):
            if reply.endswith('outcome unknown'):
                self.bed.add(self.bed.lost, place)
        elif reply is not None:
            self.take(place, command[0], reply)

    def take(self, place, command, reply):
        queue = place[1].encode()
        if command == 'BLMOVE':
            elements = []  # it is in the spare list
            assert reply.startswith(queue + b'|'), reply
        else:
            assert reply[0] == queue, f'{reply[0]} instead of {queue}'
            elements = reply[1] if command == 'BLMPOP' else [reply[1]]
        with self.bed.lock:
            taken = self.bed.taken.setdefault(place, set())
            for element in elements:
                text = element.decode()
                assert text in self.bed.perhaps.get(place, ()), f'nobody pushed {text}'
                assert text not in taken, f'{text} was handed over twice'
                taken.add(text)


class Unblocker(Actor):
    def turn(self, client):
        with self.bed.lock:
            number = self.random.choice(self.bed.blockers or [0])
        reply = self.ask(client, ('CLIENT', 'UNBLOCK', number, self.random.choice(['TIMEOUT', 'ERROR'])))[0]
        assert reply in (0, 1) or self.bad(reply), reply
        self.bed.stop.wait(0.05)


# ---- scripts, streams, large values ----------------------------------------------------------------------------------
class Script(Actor):
    BODY = "-- %d\nredis.call('SET', KEYS[1], ARGV[1]); return {KEYS[1], ARGV[1], redis.call('GET', KEYS[1]), %d}"

    def turn(self, client):
        key, argument, which = self.key(self.node(), f'script:{self.name}'), f'argument {self.turns}', self.random.randrange(40)
        body = self.BODY % (which, which)
        sha = hashlib.sha1(body.encode()).hexdigest()
        expected = [key.encode(), argument.encode(), argument.encode(), which]
        command = ('EVALSHA', sha, 1, key, argument)
        if self.random.random() < 0.3:
            replies = self.ask(client, ('MULTI',), command, ('EXEC',))
            reply = replies[2][0] if isinstance(replies[2], list) else replies[2]
        else:
            reply = self.ask(client, command)[0]
        if isinstance(reply, Error) and reply.startswith('NOSCRIPT'):
            reply = self.ask(client, ('EVAL', body, 1, key, argument))[0]
        assert self.bad(reply, 'EXECABORT') or reply == expected, (reply, expected)


class Stream(Actor):
    """Writes with one client and waits with another."""
    generation = 0  # a write without an answer may still be done: its stream is left alone

    def turn(self, client):
        node = self.node()
        stream, text = self.key(node, f'stream:{self.name}:{self.generation % 100}'), f'{self.name}:{self.turns}'
        errors = self.errors
        try:
            self.hand_over(client, node, stream, text)
        finally:
            self.generation += self.errors > errors

    def hand_over(self, client, node, stream, text):
        with self.connect() as other:
            other.call('SELECT', 5)
            client.call('SELECT', 5)
            last = self.ask(other, ('XADD', stream, 'MAXLEN', 20, '*', 'f', 'before'))[0]
            if self.bad(last):
                return
            client.cmd('XREAD', 'BLOCK', 200, 'STREAMS', stream, last)
            self.bed.stop.wait(self.random.random() * 0.01)
            added = self.ask(other, ('XADD', stream, 'MAXLEN', 20, '*', 'f', text))[0]
            reply = client.reply()
            if self.bad(reply) or self.bad(added):
                return
            expected = [[stream.encode(), [[added, [b'f', text.encode()]]]]]
            right = reply == expected or reply == expected[0]  # RESP3: a map, which comes flat
            assert right or node != self.bed.peaceful and reply is None, (reply, expected)


class Large(Actor):
    """Values from 100 kB to 3 MB under keys of its own; what a key may hold is known."""
    lives = 10

    def __init__(self, bed, seed):
        super().__init__(bed, seed)
        self.sure, self.maybe, self.since = {}, {}, {}

    def value(self, key, count):
        start = f'{key}={count}='.encode()
        return start * (100000 * (1 + count % 30) // len(start))

    def turn(self, client):
        client.call('SELECT', 0)
        node = self.node()
        key, losses = self.key(node, f'large:{self.name}'), self.bed.losses[node]
        try:
            if key not in self.sure or self.random.random() < 0.5:
                self.maybe.setdefault(key, set()).add(self.turns)
                if self.random.random() < 0.1:
                    data = encode('SET', key, self.value(key, self.turns))
                    client.send(data[:self.random.randrange(len(data))])
                    return self.die(client)
                reply = self.ask(client, ('SET', key, self.value(key, self.turns)), wait=LATE)[0]
                if not self.bad(reply):
                    assert reply == OK, reply
                    self.sure[key], self.since[key] = self.turns, losses
            else:
                reply = self.ask(client, ('GET', key), wait=LATE)[0]
                if not self.bad(reply):
                    self.check(node, key, reply)
        except Closed:
            assert node != self.bed.peaceful, 'closed'
            client.close()  # a node went away inside its reply, of which a part was sent

    def check(self, node, key, value):
        if value is None:
            assert self.bed.losses[node] > self.since[key], f'{key} is gone, its node was never restarted since'
            return
        count = int(value[len(key) + 1:].split(b'=', 1)[0])
        assert count in self.maybe[key] and value == self.value(key, count), f'{key} holds {len(value)} bytes: {value[:80]}'
        assert node != self.bed.peaceful or count >= self.sure[key], f'{key} is older than acknowledged'


# ---- WAIT, and clients that die anywhere -----------------------------------------------------------------------------
class Waiter(Actor):
    def turn(self, client):
        key = self.key(self.node(), 'waited for')
        done, count = self.ask(client, ('SET', key, 'x'), ('WAIT', 1, 20), wait=0.02)
        assert self.bad(done) or done == OK, done
        assert self.bad(count) or count == 0, f'WAIT says {count}, there is no replica'
        self.bed.stop.wait(0.01)


class Mayfly(Actor):
    """Sends a part of something, cut at any byte, and dies."""
    lives = 1

    def turn(self, client):
        def k(rest):
            return self.key(node, 'mayfly' + rest)
        node = self.node()
        something = self.random.choice([
            [('MULTI',), ('SET', k('a'), 1), ('INCR', k('a')), ('EXEC',)],
            [('WATCH', k('a')), ('MULTI',), ('SET', k('a'), 1), ('SELECT', 3), ('SET', k('a'), 1)],
            [('WATCH', k('a')), ('SET', k('a'), 2), ('BLPOP', k('none'), 0), ('GET', k('a'))],
            [('BLPOP', k('none'), 0)], [('SET', k('a'), 1), ('BLMOVE', k('none'), k('b'), 'LEFT', 'LEFT', 0)],
            [('XREAD', 'BLOCK', 0, 'STREAMS', k('s'), '$')], [('SET', k('big'), b'x' * 2000000), ('GET', k('big'))],
            [('EVAL', 'return ARGV[1]', 1, k('a'), 'b' * 1000)] * 5, [('SET', k('a'), 1), ('WAIT', 1, 0)],
            [('MSET', *[w for i in range(50) for w in (f'mayfly:{i}', i)]), ('MGET', *[f'mayfly:{i}' for i in range(50)])],
            [('HELLO', 3), ('MULTI',), ('HGETALL', k('h')), ('EXEC',), ('RESET',), ('QUIT',)],
        ])
        data = b''.join(encode(*c) for c in something)
        cut = len(data) if self.random.random() < 0.5 else self.random.randrange(len(data))
        try:
            client.send(data[:cut])
            self.bed.stop.wait(self.random.choice([0, 0, 0.005, 0.05]))
        except Closed:
            pass  # it had quit
        self.die(client)


MIX = [(Counter, 4), (Producer, 2), (Consumer, 5), (Unblocker, 1), (Script, 2), (Stream, 1), (Large, 2), (Waiter, 1), (Mayfly, 2)]
