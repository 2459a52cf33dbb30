#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Compare a Redis/memcached proxy with nutcracker, haproxy (TCP relay) and no proxy.

Everything runs on 127.0.0.1, every loop is bounded in time, and whatever this
script starts it also stops.  Python standard library only.  docs/testing.md says how to read the table.
"""
import argparse, hashlib, os, random, re, select, shlex, signal, socket, statistics
import subprocess, sys, tempfile, time

HOST = '127.0.0.1'
REDIS, MEMC = [7001, 7002, 7003, 7004], [7101, 7102, 7103, 7104]
PACKAGES = ['nutcracker', 'redis-server', 'memcached', 'haproxy', 'strace']
HZ = os.sysconf('SC_CLK_TCK')

# ---------------------------------------------------------------- workloads
# name: protocol, value bytes, keys, connections, pipeline, kind, idle connections, requests/s
WORKLOADS = {
    'mix32':     ('redis', 32, 10000, 50, 1, 'mix', 0, 0),
    'mix32c500': ('redis', 32, 10000, 500, 1, 'mix', 0, 0),
    'mix1k':     ('redis', 1024, 10000, 50, 1, 'mix', 0, 0),
    'p16':       ('redis', 32, 10000, 50, 16, 'mix', 0, 0),
    'p64':       ('redis', 32, 10000, 50, 64, 'mix', 0, 0),
    'p16_1k':    ('redis', 1024, 10000, 50, 16, 'mix', 0, 0),
    'p64_1k':    ('redis', 1024, 10000, 50, 64, 'mix', 0, 0),
    'mget10':    ('redis', 32, 10000, 50, 1, 'mget10', 0, 0),
    'mget100':   ('redis', 32, 10000, 50, 1, 'mget100', 0, 0),
    'v64k':      ('redis', 65536, 64, 20, 1, 'mix', 0, 0),
    'v1m':       ('redis', 1048576, 8, 8, 1, 'mix', 0, 0),
    'v8m':       ('redis', 8388608, 4, 4, 1, 'mix', 0, 0),
    'evalsha':   ('redis', 32, 10000, 50, 1, 'evalsha', 0, 0),
    'multi':     ('redis', 32, 10000, 50, 1, 'multi', 0, 0),
    'bpop':      ('redis', 32, 10000, 50, 1, 'bpop', 0, 0),
    'idle5k':    ('redis', 32, 10000, 50, 1, 'mix', 5000, 0),
    'rate20k':   ('redis', 32, 10000, 50, 1, 'mix', 0, 20000),
    'c1':        ('redis', 32, 10000, 1, 1, 'mix', 0, 0),
    'mc32':      ('memc', 32, 10000, 50, 1, 'mix', 0, 0),
    'mc_p16':    ('memc', 32, 10000, 50, 16, 'mix', 0, 0),
    'mc1k':      ('memc', 1024, 10000, 50, 1, 'mix', 0, 0),
    'mc_get10':  ('memc', 32, 10000, 50, 1, 'mget10', 0, 0),
}


NOT_OF_NUTCRACKER = ('evalsha', 'multi', 'bpop')
SCRIPT = b"return redis.call('GET', KEYS[1])"


def key(size, i):
    return b'b%d:%06d' % (size, i)


def value(size, i):                      # a function of the key, so replies can be checked
    k = key(size, i) + b'.'
    return (k * (size // len(k) + 1))[:size]


def bulk(*args):
    return b'*%d\r\n' % len(args) + b''.join(b'$%d\r\n%s\r\n' % (len(a), a) for a in args)


def request(proto, size, i, write):
    k, v = key(size, i), value(size, i)
    if proto == 'redis':
        return (bulk(b'SET', k, v), b'+OK\r\n') if write else (bulk(b'GET', k), b'$%d\r\n%s\r\n' % (size, v))
    if write:
        return b'set %s 0 0 %d\r\n%s\r\n' % (k, size, v), b'STORED\r\n'
    return b'get %s\r\n' % k, b'VALUE %s 0 %d\r\n%s\r\nEND\r\n' % (k, size, v)


def mget(proto, size, ids):
    if proto == 'redis':
        return bulk(b'MGET', *[key(size, i) for i in ids]), b'*%d\r\n' % len(ids) + b''.join(
            b'$%d\r\n%s\r\n' % (size, value(size, i)) for i in ids)
    return b'get ' + b' '.join(key(size, i) for i in ids) + b'\r\n', b''.join(
        b'VALUE %s 0 %d\r\n%s\r\n' % (key(size, i), size, value(size, i)) for i in ids) + b'END\r\n'


def several(kind, size, i, serial):
    """One EVALSHA of a GET; MULTI, SET, GET, EXEC in one write; RPUSH and a BLPOP that finds it, in one write."""
    k, v = key(size, i), value(size, i)
    if kind == 'evalsha':
        return bulk(b'EVALSHA', hashlib.sha1(SCRIPT).hexdigest().encode(), b'1', k), b'$%d\r\n%s\r\n' % (size, v)
    if kind == 'multi':
        return bulk(b'MULTI') + bulk(b'SET', k, v) + bulk(b'GET', k) + bulk(b'EXEC'), \
            b'+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n$%d\r\n%s\r\n' % (size, v)
    q = b'queue:%d' % serial
    return bulk(b'RPUSH', q, v) + bulk(b'BLPOP', q, b'0'), b':1\r\n' + bulk(q, v)


def blobs(w, seed=1):
    """[(bytes to send, bytes expected back)], each `pipeline` requests, 1 SET to 10 GETs."""
    proto, size, nkeys, _, pipe, kind = w[:6]
    rnd, out = random.Random(seed), []
    for serial in range(24 if size > 4096 else 1000):
        if kind in NOT_OF_NUTCRACKER:
            rs = [several(kind, size, rnd.randrange(nkeys), serial)]
        elif kind.startswith('mget'):
            rs = [mget(proto, size, rnd.sample(range(nkeys), int(kind[4:]))) for _ in range(pipe)]
        else:
            rs = [request(proto, size, rnd.randrange(nkeys), rnd.randrange(11) == 0) for _ in range(pipe)]
        out.append((b''.join(r[0] for r in rs), b''.join(r[1] for r in rs)))
    return out


# ---------------------------------------------------------------- load generator
def connect(port, timeout=20):
    s = socket.create_connection((HOST, port), timeout)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def generate(port, work, conns, secs=0, exact=True, rate=0, once=False):
    """Drive `conns` connections; returns (blobs done, bad replies, seconds, latencies in s).

    Closed loop, or open loop at `rate` blobs/s with latency counted from the due time.
    once=True sends every blob exactly once (prefill)."""
    ep, st, idle, lat, bad, sent, done = select.epoll(), {}, [], [], 0, 0, 0
    for _ in range(conns):
        s = connect(port)
        st[s.fileno()] = [s, None, b'', 0.0]     # socket, expected, received, start
        ep.register(s.fileno(), select.EPOLLIN)
        idle.append(s.fileno())
    now = time.perf_counter
    t0 = now()
    end, hard = t0 + secs, t0 + secs + 60
    total = len(work) if once else 1 << 62

    def launch(fd, start):
        nonlocal sent
        c, (req, want) = st[fd], work[sent % len(work)]
        sent += 1
        c[1], c[2], c[3] = want, b'', start
        c[0].sendall(req)

    if not rate:
        for fd in idle[:total]:
            launch(fd, now())
    while True:
        t = now()
        if t > hard:
            raise RuntimeError('no reply within 60 s')
        open_ = sent < total if once else t < end
        if rate:
            while open_ and idle and sent < (t - t0) * rate:
                launch(idle.pop(), t0 + sent / rate)
            if open_ and idle:
                select.select([ep.fileno()], [], [], max(0, min((sent + 1) / rate - (now() - t0), .01)))
        if done == sent and not open_:
            break
        for fd, _ in ep.poll(0 if rate and idle and open_ else 1):
            c = st[fd]
            data = c[0].recv(1 << 20)
            if not data:
                raise RuntimeError('the proxy closed a connection')
            if c[2] or len(data) < len(c[1]):
                if not isinstance(c[2], bytearray):
                    c[2] = bytearray()
                c[2] += data
                data = c[2]
                if len(data) < len(c[1]):
                    continue
            if len(data) != len(c[1]) or (exact and data != c[1]):
                bad += 1
            t = now()
            lat.append(t - c[3])
            done += 1
            if rate:
                idle.append(fd)
            elif (sent < total) if once else (t < end):
                launch(fd, t)
    took = now() - t0
    for c in st.values():
        c[0].close()
    return done, bad, took, lat


# ---------------------------------------------------------------- processes
class Bench:
    def __init__(self, pin):
        self.dir, self.procs, self.pin = tempfile.mkdtemp(prefix='peers.'), [], pin

    def spawn(self, name, argv, cpu, port):
        if self.pin:
            argv = ['taskset', '-c', cpu] + argv
        try:
            socket.create_connection((HOST, port), .2).close()
            sys.exit(f'port {port} is already in use')
        except OSError:
            pass
        log = open(f'{self.dir}/{name}.log', 'wb')
        p = subprocess.Popen(argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.dir)
        self.procs.append(p)
        for _ in range(100):
            try:
                socket.create_connection((HOST, port), .2).close()
                return p
            except OSError:
                if p.poll() is not None:
                    break
                time.sleep(.05)
        sys.exit(f'{name} does not listen on {port}; see {self.dir}/{name}.log')

    def stop(self):
        for p in reversed(self.procs):
            if p.poll() is None:
                p.terminate()
        for p in self.procs:
            try:
                p.wait(5)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()

    def write(self, name, text):
        with open(f'{self.dir}/{name}', 'w') as f:
            f.write(text)
        return f'{self.dir}/{name}'

    def backends(self):
        for p in REDIS:
            self.spawn(f'redis{p}', ['redis-server', '--port', str(p), '--bind', HOST, '--save', '',
                                     '--appendonly', 'no', '--io-threads', '1'], '1', p)
        for p in MEMC:
            self.spawn(f'memcached{p}', ['memcached', '-u', 'root', '-l', HOST, '-p', str(p), '-U', '0',
                                         '-t', '1', '-m', '128', '-I', '2m', '-c', '8000'], '1', p)

    def nutcracker(self, name, port, mport, mbuf):
        conf = ''
        for pool, listen, servers in (('r', port, REDIS), ('m', mport, MEMC)):
            conf += (f'{pool}:\n  listen: {HOST}:{listen}\n  hash: fnv1a_64\n  distribution: ketama\n'
                     f'  redis: {"true" if pool == "r" else "false"}\n  preconnect: true\n  timeout: 5000\n'
                     '  backlog: 4096\n  servers:\n' + ''.join(f'   - {HOST}:{s}:1\n' for s in servers))
        path = self.write(f'{name}.yml', conf)
        p = self.spawn(name, ['nutcracker', '-c', path, '-a', HOST, '-s', str(port + 200), '-m', str(mbuf),
                              '-v', '0', '-o', f'{self.dir}/{name}.out', '-p', f'{self.dir}/{name}.pid'], '0', port)
        return Target(name, p.pid, port, mport)

    def haproxy(self, port, mport):
        path = self.write('haproxy.cfg', 'global\n maxconn 8000\n nbthread 1\ndefaults\n mode tcp\n'
                          ' timeout connect 5s\n timeout client 300s\n timeout server 300s\n'
                          f'listen r\n bind {HOST}:{port} backlog 4096\n server s {HOST}:{REDIS[0]}\n'
                          f'listen m\n bind {HOST}:{mport} backlog 4096\n server s {HOST}:{MEMC[0]}\n')
        p = self.spawn('haproxy', ['haproxy', '-db', '-f', path], '0', port)
        return Target('haproxy-tcp', p.pid, port, mport)


class Target:
    def __init__(self, name, pid, port, mport):
        self.name, self.pid, self.port, self.mport, self.filled = name, pid, port, mport, set()

    def pids(self):
        """The process and its descendants (a proxy may fork workers)."""
        out = [self.pid]
        for p in out:
            try:
                for t in os.listdir(f'/proc/{p}/task'):
                    with open(f'/proc/{p}/task/{t}/children') as f:
                        out += map(int, f.read().split())
            except OSError:
                pass
        return out

    def cpu(self):
        """(user, system, total) seconds: the split is in ticks, the total exact (schedstat)."""
        user = sys_ = total = 0
        for p in self.pids():
            with open(f'/proc/{p}/stat') as f:
                f = f.read().rsplit(')', 1)[1].split()
            user, sys_ = user + int(f[11]), sys_ + int(f[12])
            for t in os.listdir(f'/proc/{p}/task'):
                with open(f'/proc/{p}/task/{t}/schedstat') as f:
                    total += int(f.read().split()[0])
        return user / HZ, sys_ / HZ, total / 1e9

    def rss(self):
        kb = 0
        for p in self.pids():
            with open(f'/proc/{p}/status') as f:
                kb += int(re.search(r'VmRSS:\s+(\d+)', f.read()).group(1))
        return kb


# ---------------------------------------------------------------- measuring
def measure(t, name, work, secs):
    proto, size, nkeys, conns, pipe, kind, nidle, rate = WORKLOADS[name]
    port = t.port if proto == 'redis' else t.mport
    if (proto, size) not in t.filled:                   # through the target: each one shards its own way
        fill = [request(proto, size, i, True) for i in range(nkeys)]
        bad = generate(port, fill, 8, once=True)[1]
        if bad:
            raise RuntimeError(f'{bad} bad replies while filling')
        t.filled.add((proto, size))
    if kind == 'evalsha':
        generate(port, [(bulk(b'SCRIPT', b'LOAD', SCRIPT), b'$40\r\n' + hashlib.sha1(SCRIPT).hexdigest().encode() + b'\r\n')],
                 1, once=True)
    kb0 = t.rss() if t.pid else 0
    idle = []
    for i in range(nidle):                              # each idle client has spoken once
        s = connect(port)
        s.sendall(work[0][0])
        need = len(work[0][1])
        while need > 0:
            got = len(s.recv(65536))
            if not got:
                raise RuntimeError('the proxy closed an idle connection')
            need -= got
        idle.append(s)
    kb1 = t.rss() if t.pid else 0
    c0 = t.cpu() if t.pid else (0, 0, 0)
    exact = not (proto == 'memc' and kind != 'mix')     # multi-get order is the proxy's own
    done, bad, took, lat = generate(port, work, conns, secs, exact, rate)
    c1 = t.cpu() if t.pid else (0, 0, 0)
    for s in idle:
        s.close()
    n = done * pipe
    user, sys_, cpu = ((y - x) / n * 1e6 for x, y in zip(c0, c1))
    share = user / (user + sys_) if user + sys_ else 0
    lat.sort()
    pct = lambda q: lat[min(len(lat) - 1, int(len(lat) * q))] * 1e3
    return dict(rps=n / took, user=cpu * share, sys=cpu * (1 - share), cpu=cpu,
                rss=t.rss() if t.pid else 0, p50=pct(.5), p99=pct(.99), p999=pct(.999), bad=bad,
                idle_kb=(kb1 - kb0) / nidle if nidle else 0)


def syscalls(t, name, work):
    """Syscalls per request, from a short run under strace -c (which slows the proxy down)."""
    p = subprocess.Popen(['strace', '-c', '-f', '-p', str(t.pid)], stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True)
    time.sleep(.5)
    proto, _, _, conns, pipe = WORKLOADS[name][:5]
    n = generate(t.port if proto == 'redis' else t.mport, work, conns, 2, False)[0] * pipe
    p.send_signal(signal.SIGINT)
    rows = re.findall(r'^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$', p.communicate()[1], re.M)
    return {call: int(count) / n for count, call in rows if call != 'total' and int(count) / n > .005}


def main():
    a = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    a.add_argument('--install', action='store_true', help='apt-get install the peers first')
    a.add_argument('--name', default='proxy')
    a.add_argument('--cmd', help='command that starts the proxy under test in the foreground')
    a.add_argument('--pid', type=int, help='or: pid of a proxy that already runs')
    a.add_argument('--port', type=int, help='its Redis port')
    a.add_argument('--mport', type=int, help='its memcached port (mc_* workloads need it)')
    a.add_argument('--self', action='store_true', help='test nutcracker against itself: ratios must be about 1')
    a.add_argument('--hold', action='store_true', help='only start the backends, print them, and wait for Ctrl-C')
    a.add_argument('--workloads', default='mix32,mix1k,p16,p64_1k,mget10,mget100,v64k,mc32,mc_p16')
    a.add_argument('--rounds', type=int, default=4)
    a.add_argument('--secs', type=float, default=2)
    a.add_argument('--mbuf', type=int, default=16384, help="nutcracker's -m")
    a.add_argument('--no-pin', action='store_true', help='do not pin proxies to core 0 and the rest to core 1')
    a.add_argument('--strace', action='store_true', help='also print syscalls per request')
    o = a.parse_args()
    if o.install:
        subprocess.run(['apt-get', 'install', '-y', '-q', '--no-install-recommends'] + PACKAGES, check=True,
                       env=dict(os.environ, DEBIAN_FRONTEND='noninteractive'), stdout=subprocess.DEVNULL)
    names = list(WORKLOADS) if o.workloads == 'all' else o.workloads.split(',')
    b = Bench(not o.no_pin)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        b.backends()
        if o.hold:
            print('redis', REDIS, 'memcached', MEMC, 'on', HOST)
            signal.pause()
        targets = [Target('direct', None, REDIS[0], MEMC[0]), b.haproxy(7301, 7401),
                   b.nutcracker('nutcracker', 7302, 7402, o.mbuf)]
        if o.self:
            targets.append(b.nutcracker('nutcracker2', 7303, 7403, o.mbuf))
        elif o.cmd:
            p = b.spawn(o.name, shlex.split(o.cmd), '0', o.port)
            targets.append(Target(o.name, p.pid, o.port, o.mport))
        elif o.pid:
            if b.pin:
                subprocess.run(['taskset', '-apc', '0', str(o.pid)], stdout=subprocess.DEVNULL)
            targets.append(Target(o.name, o.pid, o.port, o.mport))
        if b.pin:
            os.sched_setaffinity(0, {1})
        print(f'{"workload":10} {"target":12} {"req/s":>8} {"us/req":>7} {"user":>6} {"sys":>6} {"p50ms":>6} '
              f'{"p99ms":>6} {"p99.9":>6} {"RSS MB":>6} {"kB/idle":>7} {"bad":>4}  cpu/nut  rps/nut')
        for w in names:
            work, res, fail = blobs(WORKLOADS[w]), {}, {}
            ts = [t for t in targets if WORKLOADS[w][0] == 'redis' or t.mport]
            if WORKLOADS[w][5] in NOT_OF_NUTCRACKER:
                ts = [t for t in ts if not t.name.startswith('nutcracker')]
            for rnd in range(o.rounds):                 # A B C, C B A, ...: drift and order hit all alike
                for t in ts[::-1] if rnd & 1 else ts:
                    if t.name not in fail:
                        try:
                            res.setdefault(t.name, []).append(measure(t, w, work, o.secs))
                        except (RuntimeError, OSError) as e:
                            fail[t.name] = e
            for t in ts:
                if t.name in fail:
                    print(f'{w:10} {t.name:12} FAILED: {fail[t.name]}')
                    continue
                m = {k: statistics.median(r[k] for r in res[t.name]) for k in res[t.name][0]}
                ratio = lambda k: statistics.median(x[k] / y[k] for x, y in zip(res[t.name], res['nutcracker']))
                ok = t.pid and res.get('nutcracker') and 'nutcracker' not in fail
                print(f'{w:10} {t.name:12} {m["rps"]:8.0f} {m["cpu"]:7.2f} {m["user"]:6.2f} {m["sys"]:6.2f} '
                      f'{m["p50"]:6.3f} {m["p99"]:6.3f} {m["p999"]:6.3f} {m["rss"] / 1024:6.1f} {m["idle_kb"]:7.2f} '
                      f'{sum(r["bad"] for r in res[t.name]):4d}  '
                      + (f'{ratio("cpu"):7.3f}' if ok else '      -')
                      + (f'  {ratio("rps"):7.3f}' if res.get('nutcracker') and 'nutcracker' not in fail else ''),
                      flush=True)
                if o.strace and t.pid:
                    calls = syscalls(t, w, work)
                    print(' ' * 11 + f'syscalls/req {sum(calls.values()):.2f}: '
                          + ' '.join(f'{k}={v:.2f}' for k, v in sorted(calls.items(), key=lambda x: -x[1])))
    except KeyboardInterrupt:
        pass
    finally:
        b.stop()


if __name__ == '__main__':
    main()
