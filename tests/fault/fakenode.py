# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""A cache node that misbehaves on command.

A FakeNode listens like a redis-server and keeps a small dictionary. What it does with each request is decided by
`node.behave`, a function from the request's arguments to a behaviour: a function of (connection, reply) that delivers
the reply in its way. It may be exchanged at any time and holds from the next request on:

    node.behave = silent                                     # read everything, answer nothing
    node.behave = lambda args: late(0.5) if args[1] == b'slow' else answer
    node.close_port(); node.open_port(); node.blackhole()    # refuse, serve again, let connects hang

`node.seen` lists every request with the number of the connection it came on: what the node was really sent.
"""
import socket
import struct
import threading

import harness
from resp import Reader

HANDSHAKE = {b'PING', b'HELLO', b'AUTH', b'SELECT', b'CLIENT', b'COMMAND', b'CONFIG', b'INFO', b'READONLY'}


# ---- behaviours: how a reply leaves --------------------------------------------------------------------------------
def answer(conn, reply):
    conn.write(reply)


def silent(conn, reply):
    """Answers nothing, and nothing that comes later on this connection either: a node that stands still."""
    conn.mute = True


def late(seconds):
    """The reply comes so much later; replies behind it wait, as in a single-threaded server."""
    def behave(conn, reply):
        conn.sleep(seconds)
        conn.write(reply)
    return behave


def half_then_close(conn, reply):
    conn.write(reply[:len(reply) // 2])
    conn.close()


def half_then_silent(conn, reply):
    conn.write(reply[:len(reply) // 2])
    conn.mute = True


def close(conn, reply):
    """An orderly end instead of a reply."""
    conn.close()


def reset(conn, reply):
    """RST instead of a reply."""
    conn.reset()


def garbage(data):
    """These bytes instead of a reply."""
    def behave(conn, reply):
        conn.write(data)
    return behave


def drip(conn, reply):
    """Byte by byte, each in a packet of its own."""
    for i in range(len(reply)):
        conn.write(reply[i:i + 1])
        conn.sleep(0.0005)


def always(behaviour):
    return lambda args: behaviour


def only(commands, behaviour):
    """The behaviour for these commands; all others are answered."""
    names = {c.upper() for c in commands.encode().split()}
    return lambda args: behaviour if args[0].upper() in names else answer


# ---- connections ---------------------------------------------------------------------------------------------------
class Gone(Exception):
    pass


class FakeConn:
    def __init__(self, node, sock, number):
        self.node, self.sock, self.number, self.mute = node, sock, number, False
        self.queue = None  # commands since MULTI
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def write(self, data):
        try:
            self.sock.sendall(data)
        except OSError:
            raise Gone from None

    def sleep(self, seconds):
        if self.node.stopping.wait(seconds):
            raise Gone

    def close(self):
        raise Gone

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        raise Gone

    def end(self):
        """From another thread."""
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def run(self):
        reader = Reader()
        try:
            while True:
                got = reader.reply()
                if got:
                    self.node.handle(self, got[0])
                    continue
                data = self.sock.recv(1 << 16)
                if not data:
                    return
                reader.feed(data)
        except (Gone, OSError):
            pass
        finally:
            self.sock.close()
            with self.node.lock:
                self.node.conns.discard(self)


class FakeNode:
    """Has what Fleet wants of a node: addr, start, kill."""

    def __init__(self, name='fake', behave=always(answer)):
        self.name, self.port, self.behave = name, harness.free_port(), behave
        self.lock, self.stopping = threading.Lock(), threading.Event()
        self.data, self.seen, self.conns, self.accepted = {}, [], set(), 0
        self.listener, self.plugs, self.threads = None, [], []

    @property
    def addr(self):
        return (harness.HOST, self.port)

    # -- the port
    def start(self):
        self.open_port()
        return self

    def open_port(self):
        self.close_port()
        self.listener = self._listen(128)
        self._thread(self._accept, self.listener)

    def close_port(self):
        """Connects are refused; connections that are open stay."""
        if self.listener:
            self.listener.close_and_wait()
        self.listener = None
        for plug in self.plugs:
            plug.close()
        self.plugs = []

    def blackhole(self):
        """Connects hang: the accept queue is full, nobody accepts, and the kernel drops what comes."""
        self.close_port()
        self.listener = self._listen(0)
        for _ in range(20):
            plug = socket.socket()
            plug.settimeout(0.2)
            self.plugs.append(plug)
            try:
                plug.connect(self.addr)
            except socket.timeout:
                return
        raise AssertionError('the accept queue does not fill')

    def drop_connections(self):
        """Ends every open connection from outside, whatever it is doing."""
        with self.lock:
            conns = list(self.conns)
        for conn in conns:
            conn.end()

    def _listen(self, backlog):
        sock = _Listener()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(self.addr)
        sock.listen(backlog)
        return sock

    def _accept(self, listener):
        listener.settimeout(0.05)
        while not listener.closing.is_set():
            try:
                sock, _ = listener.accept()
            except (socket.timeout, OSError):
                continue
            sock.settimeout(None)
            with self.lock:
                self.accepted += 1
                conn = FakeConn(self, sock, self.accepted)
                self.conns.add(conn)
            self._thread(conn.run)
        listener.close()

    def _thread(self, run, *args):
        t = threading.Thread(target=run, args=args, daemon=True)
        t.start()
        self.threads.append(t)
        if run == self._accept:
            args[0].thread = t

    def kill(self):
        self.stopping.set()
        self.close_port()
        self.drop_connections()
        for t in self.threads:
            t.join(5)

    # -- requests
    def handle(self, conn, args):
        with self.lock:
            self.seen.append((conn.number, args))
            reply = self.transact(conn, args)
            behave = self.behave
        if not conn.mute:
            behave(args)(conn, reply)

    def requests(self, *names):
        """The requests seen so far with one of these command names, in the order they came; all but handshakes and
        probes without names."""
        wanted = {n.encode().upper() for n in names}
        with self.lock:
            seen = list(self.seen)
        return [args for _, args in seen
                if (args[0].upper() in wanted if wanted else args[0].upper() not in HANDSHAKE)]

    def transact(self, conn, args):
        """The reply to a command, which a transaction may hold back. Nothing ever changes a watched key."""
        name = args[0].upper()
        if name in (b'WATCH', b'UNWATCH'):
            return b'+OK\r\n'
        if name == b'MULTI' and conn.queue is None:
            conn.queue = []
            return b'+OK\r\n'
        if conn.queue is None or name == b'RESET':
            conn.queue = None
            return self.reply_to(args)
        if name not in (b'EXEC', b'DISCARD'):
            conn.queue.append(args)
            return b'+QUEUED\r\n'
        queue, conn.queue = conn.queue, None
        if name == b'DISCARD':
            return b'+OK\r\n'
        return b'*%d\r\n' % len(queue) + b''.join(self.reply_to(a) for a in queue)

    def reply_to(self, args):
        name, rest = args[0].upper().decode('latin-1'), args[1:]
        method = getattr(self, 'do_' + name.lower(), None)
        if method is None:
            return b"-ERR unknown command '%s'\r\n" % args[0]
        return method(*rest)

    def do_ping(self, *message):
        return bulk(message[0]) if message else b'+PONG\r\n'

    def do_select(self, number):
        return b'+OK\r\n'

    def do_client(self, *rest):
        return b'+OK\r\n'

    def do_reset(self):
        return b'+RESET\r\n'

    def do_blpop(self, *args):
        """Never waits; a behaviour does."""
        return b'*-1\r\n'

    def do_wait(self, count, timeout):
        return b':%s\r\n' % count

    def do_set(self, key, value, *options):
        self.data[key] = value
        return b'+OK\r\n'

    def do_mset(self, *pairs):
        self.data.update(zip(pairs[::2], pairs[1::2]))
        return b'+OK\r\n'

    def do_get(self, key):
        return bulk(self.data.get(key))

    def do_mget(self, *keys):
        return b'*%d\r\n' % len(keys) + b''.join(bulk(self.data.get(k)) for k in keys)

    def do_del(self, *keys):
        return b':%d\r\n' % sum(self.data.pop(k, None) is not None for k in keys)

    def do_exists(self, *keys):
        return b':%d\r\n' % sum(k in self.data for k in keys)

    def do_incr(self, key):
        old = self.data.get(key, b'0')
        if not old.isdigit():
            return b'-ERR value is not an integer or out of range\r\n'
        self.data[key] = b'%d' % (int(old) + 1)
        return b':%s\r\n' % self.data[key]

    def do_eval(self, script, *rest):
        return bulk(script)

    def do_dbsize(self):
        return b':%d\r\n' % len(self.data)


class _Listener(socket.socket):
    """A listening socket whose accepting thread can be told to go."""

    def __init__(self):
        super().__init__()
        self.closing, self.thread = threading.Event(), None

    def close_and_wait(self):
        self.closing.set()
        if self.thread:
            self.thread.join(5)
        self.close()


def bulk(value):
    return b'$-1\r\n' if value is None else b'$%d\r\n%s\r\n' % (len(value), value)
