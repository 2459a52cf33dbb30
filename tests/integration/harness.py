# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Real processes under test: redis-server, memcached and the router, each in a folder of its own, on a port of its own.

Nothing here sleeps to synchronise: a start ends when the process answers (or wrote its ready file), and everything
else is waited for with wait_until() and a limit. Every child carries this session's mark in its environment, so that
leftovers are found, and dies with us.

RINGWAY_BUILD_DIR says where bin/ringway is (default build/dev), RINGWAY_SLOW multiplies time limits.
"""
import atexit
import bisect
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid

import xxhash

from resp import SLOW, Client, Closed, Late, PONG, to_bytes

HOST = '127.0.0.1'
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD_DIR = os.path.join(ROOT, os.environ.get('RINGWAY_BUILD_DIR', 'build/dev'))
MARK, SESSION = 'RINGWAY_TEST_SESSION', uuid.uuid4().hex
TEMP = tempfile.mkdtemp(prefix='ringway-test.')
atexit.register(lambda: os.path.isdir(TEMP) and not os.listdir(TEMP) and os.rmdir(TEMP))
TROUBLE = re.compile(r'ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error: |LeakSanitizer: |check failed', re.I)

processes = []  # every Process of this session, for logs of failed tests and the last check


# ---- waiting and numbers -------------------------------------------------------------------------------------------
def wait_until(true, limit=5.0, what='it'):
    """Polls until true() is; its value. The limit is stretched for slow builds."""
    end = time.monotonic() + limit * SLOW
    while True:
        value = true()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f'{what} did not come true within {limit * SLOW:g} s')
        time.sleep(0.005)


def first_ephemeral_port():
    with open('/proc/sys/net/ipv4/ip_local_port_range') as f:
        return int(f.read().split()[0])


def free_port():
    """A port that nobody has, below those the kernel hands to connecting sockets: so nobody takes the port of a server
    that is down for a while, and no connect to it can meet itself."""
    top = min(first_ephemeral_port(), 32768)
    for _ in range(200):
        port = random.SystemRandom().randrange(top - 20000, top)
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind((HOST, port))
                return port
            except OSError:
                continue
    raise AssertionError('no free port')


def rss_kb(pid):
    with open(f'/proc/{pid}/status') as f:
        return int(re.search(r'VmRSS:\s+(\d+)', f.read())[1])


def fd_count(pid):
    return len(os.listdir(f'/proc/{pid}/fd'))


def steady_fd_count(pid, still=0.2):
    """The number of descriptors once it has not changed for a while: a connection just closed may still count."""
    seen = {'count': -1, 'since': 0.0}

    def look():
        count, now = fd_count(pid), time.monotonic()
        if count != seen['count']:
            seen.update(count=count, since=now)
        return now - seen['since'] >= still * SLOW
    wait_until(look, 10, 'a steady number of descriptors')
    return seen['count']


def thread_count(pid):
    return len(os.listdir(f'/proc/{pid}/task'))


def state_of(pid):
    """R, S, T (stopped), Z ..., or None when there is no such process."""
    try:
        with open(f'/proc/{pid}/stat') as f:
            return f.read().rsplit(')', 1)[1].split()[0]
    except OSError:
        return None


def http_get(addr, path, limit=5.0):
    """(status, {header: value}, body) of a plain GET."""
    with socket.create_connection(addr, limit * SLOW) as s:
        s.sendall(f'GET {path} HTTP/1.1\r\nHost: {addr[0]}\r\nConnection: close\r\n\r\n'.encode())
        data = b''
        while True:
            part = s.recv(1 << 16)
            if not part:
                break
            data += part
    head, _, body = data.partition(b'\r\n\r\n')
    first, *lines = head.decode('latin-1').split('\r\n')
    headers = {k.lower(): v.strip() for k, _, v in (line.partition(':') for line in lines)}
    return int(first.split()[1]), headers, body


# ---- processes -----------------------------------------------------------------------------------------------------
class Process:
    """A child with a log, its own folder, and signals. One object may run several times: start, kill, start."""

    def __init__(self, name):
        self.name, self.popen, self.wanted, self.scanned = name, None, False, 0
        self.dir = tempfile.mkdtemp(prefix=f'{name}.', dir=TEMP)
        self.log_path = os.path.join(self.dir, 'log')
        open(self.log_path, 'w').close()
        processes.append(self)

    def spawn(self, argv, env=None):
        # setpriv instead of preexec_fn: safe beside threads, and the child dies with the thread that started it
        # (so: start processes from the main thread only).
        # A run in the background may have been born with SIGINT ignored, which no shell script can undo: env can.
        argv = ['setpriv', '--pdeathsig', 'KILL', '--', 'env', '--default-signal=INT,TERM,HUP'] + [str(a) for a in argv]
        with open(self.log_path, 'ab') as log:
            self.popen = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.dir,
                                          env={**os.environ, **(env or {}), MARK: SESSION}, start_new_session=True)
        self.wanted = True

    @property
    def pid(self):
        return self.popen.pid

    @property
    def alive(self):
        return self.popen is not None and self.popen.poll() is None

    def log(self):
        with open(self.log_path, encoding='utf-8', errors='replace') as f:
            return f.read()

    def log_tail(self, lines=60):
        return '\n'.join(self.log().splitlines()[-lines:])

    def signal(self, number):
        os.kill(self.pid, number)

    def pause(self):
        """SIGSTOP; returns when the process stands still."""
        self.signal(signal.SIGSTOP)
        wait_until(lambda: state_of(self.pid) in ('T', 't'), what=f'{self.name} standing still')

    def resume(self):
        self.signal(signal.SIGCONT)

    def kill(self):
        """kill -9, also of a paused process; returns when it is gone."""
        self.wanted = False
        if self.alive:
            self.signal(signal.SIGKILL)
            self.popen.wait()

    def stop(self, limit=10.0):
        """SIGTERM; the exit status. A process that does not go is killed, and that is a failure."""
        self.wanted = False
        if self.popen is None:
            return 0
        if self.alive:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGTERM)
        try:
            return self.popen.wait(limit * SLOW)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f'{self.name} did not stop within {limit * SLOW:g} s after SIGTERM') from None

    def wait_started(self, ready, limit=10.0):
        """Waits for ready(); a child that ends first is a failure with its log."""
        def look():
            if not self.alive:
                self.wanted = False
                raise AssertionError(f'{self.name} ended with {self.popen.returncode}:\n{self.log_tail()}')
            return ready()
        try:
            wait_until(look, limit, f'the start of {self.name}')
        except AssertionError:
            self.kill()
            raise

    def died(self):
        """Why it is not running although it should, or None."""
        if not self.wanted:
            return None
        if not self.alive:
            return f'{self.name} died with {self.popen.returncode}'
        return None


class Server(Process):
    """A cache server on one address, which it keeps over restarts."""

    def __init__(self, name, port=None):
        super().__init__(name)
        self.port = port or free_port()

    @property
    def addr(self):
        return (HOST, self.port)

    def start(self):
        for attempt in range(3):
            try:
                self.spawn(self.argv())
                self.wait_started(self.answers)
                return self
            except AssertionError:
                if attempt == 2 or 'in use' not in self.log():
                    raise
                self.port = free_port()

    def restart(self):
        """On the same port, empty."""
        self.kill()
        self.spawn(self.argv())
        self.wait_started(self.answers)


class RedisServer(Server):
    def __init__(self, name, port=None, args=()):
        super().__init__(name, port)
        self.args = list(args)

    def argv(self):
        return ['redis-server', '--port', self.port, '--bind', HOST, '--save', '', '--appendonly', 'no',
                '--dir', self.dir, '--enable-debug-command', 'yes', *self.args]

    def answers(self):
        try:
            with Client(self.addr, 1) as c:
                reply = c.call('PING')
                return reply == PONG or str(reply).startswith('NOAUTH')  # one with a password is up all the same
        except (OSError, Closed, Late):
            return False

    def client(self, timeout=10):
        return Client(self.addr, timeout)

    def call(self, *args):
        with self.client() as c:
            return c.call(*args)


class MemcachedServer(Server):
    def __init__(self, name, port=None, args=()):
        super().__init__(name, port)
        self.args = list(args)

    def argv(self):
        user = ['-u', 'root'] if os.getuid() == 0 else []
        return ['memcached', *user, '-l', HOST, '-p', self.port, '-U', '0', '-t', '1', '-m', '64', *self.args]

    def answers(self):
        try:
            with Client(self.addr, 1) as c:
                return c.send(b'version\r\n').exact(8) == b'VERSION '
        except (OSError, Closed, Late):
            return False


def parse_addr(text):
    """'127.0.0.1:6380' and '[::1]:6380' as socket addresses; 'unix:/path' as its path."""
    if text.startswith('unix:'):
        return text[5:]
    host, _, port = text.rpartition(':')
    return (host.strip('[]'), int(port))


class Router(Process):
    """The program under test. nodes: [(name, 'host:port')]; sets: {'timeouts.request': '200ms'} become --set flags."""

    def __init__(self, nodes, threads=1, sets=None, role='cache', args=(), name='router'):
        super().__init__(name)
        self.binary = os.environ.get('RINGWAY_BIN', os.path.join(BUILD_DIR, 'bin/ringway'))
        self.nodes, self.threads, self.sets, self.role, self.args = list(nodes), threads, dict(sets or {}), role, args
        self.addresses, self.listen, self.ready_path = {}, f'{HOST}:0', os.path.join(self.dir, 'ready')

    def argv(self):
        argv = [self.binary, '--listen', self.listen, '--admin', f'{HOST}:0', '--threads', self.threads,
                '--ready-file', self.ready_path, '--log-level', 'debug']
        argv += ['--role', self.role] if self.role else []
        for name, addr in self.nodes:
            argv += ['--node', f'{name}={addr}']
        for key, value in self.sets.items():
            argv += ['--set', f'{key}={value}']
        return argv + list(self.args)

    def start(self):
        if not os.access(self.binary, os.X_OK):
            raise AssertionError(f'{self.binary} is missing: build first')
        if os.path.exists(self.ready_path):
            os.unlink(self.ready_path)
        self.spawn(self.argv())
        self.wait_started(lambda: os.path.exists(self.ready_path))
        with open(self.ready_path) as f:  # written atomically: whole as soon as it is there
            lines = f.read().split('\n')
        self.addresses = {}
        for kind, _, addr in (line.partition('=') for line in lines if line):
            self.addresses.setdefault(kind, parse_addr(addr))
        return self

    def died(self):
        """As for every process; a report in what the log gained since the last look counts too."""
        if not self.wanted:
            return None
        with open(self.log_path, encoding='utf-8', errors='replace') as f:
            f.seek(self.scanned)
            found = TROUBLE.search(f.read())
            self.scanned = f.tell()
        return super().died() or (f'{self.name} reports {found[0]!r}' if found else None)

    @property
    def addr(self):
        return self.addresses['redis']

    @property
    def admin(self):
        return self.addresses['admin']

    def client(self, timeout=10):
        return Client(self.addr, timeout)

    def call(self, *args):
        with self.client() as c:
            return c.call(*args)

    def restart(self):
        """Stops and starts on the same port."""
        self.listen = '%s:%d' % self.addr
        self.stop()
        return self.start()

    def stop(self, limit=10.0):
        """SIGTERM. Any exit but 0 and any report in the log is a failure."""
        if self.popen is None:
            return 0
        status = super().stop(limit)
        found = TROUBLE.search(self.log())
        assert not found, f'{self.name} reports {found[0]!r}:\n{self.log_tail(80)}'
        assert status == 0, f'{self.name} ended with {status}:\n{self.log_tail()}'
        return status

    def metric(self, name, **labels):
        """One number of /metrics, summed over the series that carry these labels."""
        status, _, body = http_get(self.admin, '/metrics')
        assert status == 200
        total, found = 0.0, False
        for line in body.decode().splitlines():
            m = re.fullmatch(r'([a-z_:A-Z0-9]+)(?:\{(.*)\})? (\S+)', line)
            if m and m[1] == name and all(f'{k}="{v}"' in (m[2] or '') for k, v in labels.items()):
                total, found = total + float(m[3]), True
        assert found, f'no {name} {labels or ""} in /metrics'
        return total


# ---- the ring, once more -------------------------------------------------------------------------------------------
class Ring:
    """The native ring as its definition reads: an oracle that shares no line with the router."""

    def __init__(self, nodes, points=512):
        """nodes: {name: weight} or names."""
        weights = dict(nodes) if isinstance(nodes, dict) else {n: 1 for n in nodes}
        pairs = []
        for name, weight in weights.items():
            count = int(points * weight + 0.5)
            count = max(1, count) if weight > 0 else 0
            pairs += [(xxhash.xxh3_64_intdigest(f'{name}#{j}'.encode()), name.encode()) for j in range(count)]
        pairs.sort()
        self.at, self.names = [p for p, _ in pairs], [n.decode() for _, n in pairs]

    def owner(self, key):
        i = bisect.bisect_left(self.at, xxhash.xxh3_64_intdigest(hashed_part(to_bytes(key))))
        return self.names[i % len(self.names)]


def hashed_part(key):
    """What is between the first '{' and the next '}', if anything; else the key."""
    start = key.find(b'{')
    end = key.find(b'}', start + 1) if start >= 0 else -1
    return key[start + 1:end] if end > start + 1 else key


class Fleet:
    """Nodes and one router over them. Node names are n1, n2, ... in the order given."""

    def __init__(self, nodes, threads=1, sets=None, **router):
        self.nodes = {f'n{i}': node for i, node in enumerate(nodes, 1)}
        self.ring = Ring(list(self.nodes))
        self.clients = []
        self.router = Router([(name, '%s:%d' % n.addr) for name, n in self.nodes.items()], threads, sets, **router)

    def start(self):
        self.router.start()
        return self

    def client(self, timeout=10):
        """A connection to the router, closed with the fleet."""
        c = self.router.client(timeout)
        self.clients.append(c)
        return c

    def __getitem__(self, name):
        return self.nodes[name]

    def owner(self, key):
        return self.ring.owner(key)

    def keys(self, name, count=1, prefix='key'):
        """That many different keys which the named node owns."""
        out, i = [], 0
        while len(out) < count:
            key = f'{prefix}:{i}'
            if self.owner(key) == name:
                out.append(key)
            i += 1
        return out

    def key(self, name, prefix='key'):
        return self.keys(name, 1, prefix)[0]

    def stop(self):
        for c in self.clients:
            c.close()
        try:
            self.router.stop()
        finally:
            for node in self.nodes.values():
                node.kill()


# ---- the end -------------------------------------------------------------------------------------------------------
def leftovers():
    """Pids that carry this session's mark."""
    out = []
    for entry in os.listdir('/proc'):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f'/proc/{entry}/environ', 'rb') as f:
                if f'{MARK}={SESSION}'.encode() in f.read().split(b'\0') and state_of(entry) != 'Z':
                    out.append(int(entry))
        except OSError:
            pass
    return out


def finish(keep):
    """Kills what is left of ours and removes the folder (kept when tests failed); the pids that were left."""
    left = leftovers()
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    if not keep:
        shutil.rmtree(TEMP, ignore_errors=True)
    return left
