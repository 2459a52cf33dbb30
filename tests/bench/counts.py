#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""What a request costs the router, in numbers that do not depend on the machine's mood: user instructions (callgrind)
and system calls (strace) per request of the Release build.

Both are repeatable only if the router meets the same bytes in the same order and the same batches, so this script
steps it: while the router is stopped (SIGSTOP), every client writes; it goes on until all its threads sleep, with the
requests at the nodes; it is stopped again while one node after the other answers; it goes on and hands out the
replies. A step is two turns of the worker's loop, always. What start and end cost cancels out: each figure is the
difference between a run of 2N steps and one of N. The interrupted waits that stopping causes are not counted as calls.

    counts.py                       the table
    counts.py --check [--quick]     compare with counts.json; exit 1: something costs more, 77: can't be compared
    counts.py --record              measure and write counts.json
    counts.py --profile p16         the functions that the instructions go to
    counts.py --spread 5            measure so often and show how far the figures lie apart
"""
import argparse
import json
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, 'tests/integration'), HERE]

import harness  # noqa: E402
import peers  # noqa: E402
from harness import HOST, RedisServer, Router, wait_until  # noqa: E402

BINARY = os.path.join(ROOT, 'build/release/bin/ringway')
BASELINE = os.path.join(HERE, 'counts.json')
SKIP = 77

# Name: connections, keys, steps (N). Protocol, value size, pipeline and kind are those of peers.py under that name.
# Connections times pipeline times size is so chosen that what a step brings fits into the sockets' first buffers.
WORKLOADS = {
    'mix32': (50, 1000, 40),
    'p16': (20, 1000, 20),
    'p64': (10, 1000, 15),
    'mget10': (20, 1000, 30),
    'mget100': (10, 1000, 15),
    'p16_1k': (8, 500, 30),
    'v64k': (4, 16, 60),
}
CALLS = {'mix32': 40, 'p16': 40}  # steps
MORE_ALLOWED = {'instructions': 1.05, 'syscalls': 1.02}

# Above a threshold glibc copies with "rep movsb", of which callgrind counts every byte as an instruction.
GLIBC_TUNABLES = 'glibc.cpu.x86_rep_movsb_threshold=1073741824:glibc.cpu.x86_rep_stosb_threshold=1073741824'


# ---- stopping and going on -----------------------------------------------------------------------------------------
def states(pid):
    return {harness.state_of(f'{pid}/task/{task}') for task in os.listdir(f'/proc/{pid}/task')}


def wait_states(pid, wanted, what):
    end = time.monotonic() + 60
    while not states(pid) <= wanted:
        if time.monotonic() > end:
            raise AssertionError(f'{what} is in {states(pid)}, not in {wanted}')
        time.sleep(0.0002)


def stop(process):
    process.signal(signal.SIGSTOP)
    wait_states(process.pid, {'T', 't'}, process.name)


def settle(process):
    """Until every thread waits for something: there is nothing left to do."""
    wait_states(process.pid, {'S'}, process.name)


def run_on(process):
    process.signal(signal.SIGCONT)
    settle(process)


# ---- one run -------------------------------------------------------------------------------------------------------
class CountedRouter(Router):
    """The router under a tool. Deadlines are on, but too long for a router that is slowed down thirty times."""

    def __init__(self, binary, nodes, tool):
        super().__init__([(n.name, '%s:%d' % n.addr) for n in nodes], sets={
            'timeouts.request': '60s', 'timeouts.connect': '30s'})
        self.binary, self.tool = binary, tool

    def argv(self):
        plain = super().argv()
        plain[plain.index('debug')] = 'warn'
        return self.tool + plain

    def start(self):
        self.spawn(self.argv(), env={'GLIBC_TUNABLES': GLIBC_TUNABLES})
        self.wait_started(lambda: os.path.exists(self.ready_path), 60)
        with open(self.ready_path) as f:
            self.port = int(re.search(r'^redis=.*:(\d+)$', f.read(), re.M)[1])
        settle(self)
        return self


class Run:
    """Nodes, router and clients that go step by step."""

    def __init__(self, binary, tool):
        self.nodes = [RedisServer(f'n{i}').start() for i in (1, 2, 3)]
        self.router = CountedRouter(binary, self.nodes, tool).start()
        for node in self.nodes:
            stop(node)

    def connect(self):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        s.settimeout(60)
        s.connect((HOST, self.router.port))
        settle(self.router)
        return s

    def step(self, todo):
        """todo: [(socket, bytes to send, bytes expected)]"""
        stop(self.router)
        for s, request, _ in todo:
            s.sendall(request)
        run_on(self.router)
        stop(self.router)
        for node in self.nodes:
            run_on(node)
            stop(node)
        run_on(self.router)
        for s, _, wanted in todo:
            expect(s, wanted)
        settle(self.router)

    def fill(self, s, size, nkeys):
        at_once = 32 if size <= 4096 else 1
        for first in range(0, nkeys, at_once):
            pairs = [peers.request('redis', size, i, True) for i in range(first, min(first + at_once, nkeys))]
            self.step([(s, b''.join(r for r, _ in pairs), b''.join(w for _, w in pairs))])

    def close(self, sockets):
        stop(self.router)
        for s in sockets:
            s.close()
        run_on(self.router)
        self.router.stop(60)
        for node in self.nodes:
            node.kill()


def expect(s, wanted):
    got = bytearray()
    while len(got) < len(wanted):
        data = s.recv(1 << 20)
        if not data:
            raise AssertionError('the router closed a connection')
        got += data
    if got != wanted:
        raise AssertionError(f'wrong reply: {bytes(got[:80])!r} instead of {wanted[:80]!r}')


def shape(name):
    proto, size, _, _, pipe, kind = peers.WORKLOADS[name][:6]
    conns, nkeys, _ = WORKLOADS[name]
    return (proto, size, nkeys, conns, pipe, kind)


def requests(name, steps):
    w = shape(name)
    return steps * w[3] * w[4]


def run(binary, name, steps, tool):
    w = shape(name)
    size, nkeys, conns = w[1:4]
    work = peers.blobs(w)
    r = Run(binary, tool)
    clients = [r.connect() for _ in range(conns)]
    r.fill(clients[0], size, nkeys)
    for first in range(0, steps * conns, conns):
        r.step([(s, *work[(first + i) % len(work)]) for i, s in enumerate(clients)])
    r.close(clients)


# ---- the tools -----------------------------------------------------------------------------------------------------
def callgrind(binary, name, steps):
    out = os.path.join(harness.TEMP, f'callgrind.{name}.{steps}')
    run(binary, name, steps, ['valgrind', '-q', '--tool=callgrind', f'--callgrind-out-file={out}'])
    return out


def total(path):
    with open(path) as f:
        return int(re.search(r'^totals: (\d+)', f.read(), re.M)[1])


def instructions(binary, name, steps):
    once, twice = (total(callgrind(binary, name, n)) for n in (steps, 2 * steps))
    return (twice - once) / requests(name, steps)


def strace(binary, name, steps):
    """{call: how often}, interrupted waits left out."""
    out = os.path.join(harness.TEMP, f'strace.{name}.{steps}')
    if os.path.exists(out):
        os.unlink(out)
    run(binary, name, steps, ['strace', '-D', '-c', '-f', '-o', out])  # -D: the router is our child, not strace's

    def table():  # strace writes it when it sees the router end
        with open(out) as f:
            return re.findall(r'^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:(\d+)\s+)?(\w+)$', f.read(), re.M)
    wait_until(lambda: os.path.exists(out) and any(row[2] == 'total' for row in table()), what='the table of strace')
    return {call: int(count) - (int(errors or 0) if call == 'epoll_wait' else 0)
            for count, errors, call in table() if call != 'total'}


def syscalls(binary, name, steps):
    """{call: calls per request}"""
    once, twice = (strace(binary, name, n) for n in (steps, 2 * steps))
    per = {call: (count - once.get(call, 0)) / requests(name, steps) for call, count in twice.items()}
    return {call: n for call, n in per.items() if abs(n) > 0.0005}  # a timer may fire in one run


def functions(path):
    """{file:function: instructions of its own}"""
    text = subprocess.run(['callgrind_annotate', '--threshold=100', '--show-percs=no', '--auto=no', path],
                          capture_output=True, text=True, check=True).stdout
    out = {}
    for count, where in re.findall(r'^ *([\d,]+) +(\S+:\S+)', text, re.M):
        where = re.sub(r'^.*?/(?=(base|ring|membership|router)/)', '', where)  # whatever folder it was built in
        out[where] = out.get(where, 0) + int(count.replace(',', ''))
    return out


def profile(binary, name, rows=25):
    steps = WORKLOADS[name][2]
    once, twice = (functions(callgrind(binary, name, n)) for n in (steps, 2 * steps))
    per = {where: (n - once.get(where, 0)) / requests(name, steps) for where, n in twice.items()}
    whole, sum_ = sum(per.values()), 0.0
    print(f'{name}: {whole:.0f} instructions per request; own cost of the {rows} dearest (file:function; inlined code '
          f'stands under the function it went into, with its own file)\n{"per req":>9} {"share":>6} {"sum":>6}')
    for where, n in sorted(per.items(), key=lambda x: -x[1])[:rows]:
        sum_ += n
        print(f'{n:9.1f} {n / whole:6.1%} {sum_ / whole:6.1%}  {where}')


# ---- the table and the baseline ------------------------------------------------------------------------------------
def first_line(*argv):
    return subprocess.run(argv, capture_output=True, text=True).stdout.split('\n')[0].strip()


def tools(binary):
    """What the figures depend on besides the source."""
    comment = subprocess.run(['readelf', '-p', '.comment', binary], capture_output=True, text=True).stdout
    return {
        'compiler': '; '.join(sorted(set(re.findall(r'\]\s+(.*\S)', comment)))),
        'libc': os.confstr('CS_GNU_LIBC_VERSION'),
        'valgrind': first_line('valgrind', '--version'),
        'machine': platform.machine(),
    }


def measure(binary, names, quick):
    out = {'instructions': {}, 'syscalls': {}}
    for name in names:
        steps = WORKLOADS[name][2]
        out['instructions'][name] = round(instructions(binary, name, steps // 3 if quick else steps), 1)
    for name in names:
        if name in CALLS and shutil.which('strace'):
            calls = syscalls(binary, name, CALLS[name] // 3 if quick else CALLS[name])
            out['syscalls'][name] = round(sum(calls.values()), 4)
            out.setdefault('calls', {})[name] = {c: round(n, 4) for c, n in sorted(calls.items(), key=lambda x: -x[1])}
    return out


def load():
    if not os.path.exists(BASELINE):
        return {}
    with open(BASELINE) as f:
        return json.load(f)


def show(now, before):
    """Prints the table; what costs more than it may, as text."""
    worse = []
    print(f'{"workload":10} {"per request":13} {"now":>9} {"recorded":>9} {"change":>7}')
    for kind in ('instructions', 'syscalls'):
        for name, n in now[kind].items():
            old = before.get(kind, {}).get(name)
            number = (lambda x: f'{x:9.0f}') if kind == 'instructions' else (lambda x: f'{x:9.3f}')
            print(f'{name:10} {kind:13} {number(n)} ' + (f'{number(old)} {n / old - 1:+7.1%}' if old else f'{"-":>9}'))
            if old and n > old * MORE_ALLOWED[kind]:
                worse.append(f'{name}: {number(n).strip()} {kind} per request, {n / old - 1:+.1%} '
                             f'(allowed: {MORE_ALLOWED[kind] - 1:+.0%})')
    for name, calls in now.get('calls', {}).items():
        print(f'{name:10} ' + ' '.join(f'{call} {n:.3f}' for call, n in calls.items()))
    return worse


def check(binary, names, quick):
    before = load()
    if not before:
        print('nothing to compare with: counts.py --record')
        return SKIP
    have, had = tools(binary), before['tools']
    worse = show(measure(binary, names, quick), before)
    for tool, old in had.items():
        if have[tool] != old:
            print(f'not comparable: {tool} is {have[tool]!r}, the figures were recorded with {old!r}')
            return SKIP
    print('\n'.join(f'DEARER {line}' for line in worse) or 'no request costs more than it may')
    return 1 if worse else 0


def spread(binary, names, quick, times):
    got = [measure(binary, names, quick) for _ in range(times)]
    for kind in ('instructions', 'syscalls'):
        for name in got[0][kind]:
            all_ = sorted(g[kind][name] for g in got)
            print(f'{name:10} {kind:13} {all_[0]:10.3f} .. {all_[-1]:10.3f}  spread {all_[-1] / all_[0] - 1:.2%}')


def record(binary, names, quick):
    if quick or names != list(WORKLOADS):
        raise SystemExit('a baseline is measured whole')
    now = measure(binary, names, quick)
    show(now, load())
    with open(BASELINE, 'w') as f:
        json.dump({'tools': tools(binary), **now}, f, indent='\t')
        f.write('\n')


def missing(binary):
    for program in ('valgrind', 'callgrind_annotate', 'redis-server', 'readelf'):
        if not shutil.which(program):
            return f'{program} is not installed'
    return None if os.access(binary, os.X_OK) else f'{binary} is missing: ./dev build'


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument('--binary', default=BINARY, help='default: build/release/bin/ringway')
    a.add_argument('--workloads', default=','.join(WORKLOADS), help='default: %(default)s')
    a.add_argument('--quick', action='store_true', help='a third of the steps')
    what = a.add_mutually_exclusive_group()
    what.add_argument('--check', action='store_true')
    what.add_argument('--record', action='store_true')
    what.add_argument('--profile', choices=WORKLOADS, metavar='NAME')
    what.add_argument('--spread', type=int, metavar='TIMES')
    o = a.parse_args()
    names, binary = o.workloads.split(','), os.path.abspath(o.binary)  # the router runs in a folder of its own
    if not set(names) <= set(WORKLOADS):
        a.error(f'workloads: {", ".join(WORKLOADS)}')
    why = missing(binary)
    if why:
        print(f'counts.py: {why}', file=sys.stderr)
        return SKIP
    try:
        if o.check:
            return check(binary, names, o.quick)
        if o.record:
            return record(binary, names, o.quick)
        if o.profile:
            return profile(binary, o.profile)
        if o.spread:
            return spread(binary, names, o.quick, o.spread)
        show(measure(binary, names, o.quick), load())
        return 0
    finally:
        harness.finish(False)


if __name__ == '__main__':
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(main())
