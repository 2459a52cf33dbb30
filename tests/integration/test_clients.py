# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Client libraries that people use, and redis-cli, against a router.

Each library has a driver under tests/clients, which is told a step a line and answers "ok" or "fail WHY". One driver
lives through all steps of its library, so that restarts meet connections that have been used. installed.py says what
becomes of tests whose programs are not there.
"""
import glob
import os
import pty
import re
import select
import subprocess
import time

import pytest

import harness
from installed import CLIENTS, INSTALLED, PYTHON, Lock, need, node_modules, once, run, unusable
from resp import SLOW, encode

LIMIT = 15  # seconds for a step
BIG = 10 << 20


# ---- what is installed, besides Node.js's ----------------------------------------------------------------------------
@once
def php_redis():
    need('php')
    return None if b'\nredis\n' in run('php', '-m')[1] else 'php has no redis extension: php-redis is not installed'


@once
def python_redis():
    return None if run(PYTHON, '-c', 'import redis')[0] == 0 else 'python3-redis is not installed'


@once
def hiredis():
    need('cmake', 'cc')
    build = os.path.join(INSTALLED, 'hiredis')
    with Lock():
        for argv in (['cmake', '-S', os.path.join(CLIENTS, 'hiredis'), '-B', build, '-DCMAKE_BUILD_TYPE=RelWithDebInfo'],
                     ['cmake', '--build', build]):
            status, output = run(*argv)
            if status != 0:
                return f'the hiredis driver does not build: {output.decode()[-2000:]}'
    return None


def node(library, resp):
    return node_modules, ['node', '--no-warnings', os.path.join(CLIENTS, 'node/driver.js'), library, resp]


DRIVERS = {  # name: how to install it, how to start it
    'redis-py': (python_redis, [PYTHON, '-B', os.path.join(CLIENTS, 'python/driver.py')]),
    'phpredis': (php_redis, ['php', os.path.join(CLIENTS, 'php/driver.php')]),
    'hiredis-sync': (hiredis, [os.path.join(INSTALLED, 'hiredis/driver'), 'sync']),
    'hiredis-async': (hiredis, [os.path.join(INSTALLED, 'hiredis/driver'), 'async']),
    'ioredis-resp2': node('ioredis', 2),
    'ioredis-resp3': node('ioredis', 3),
    'iovalkey': node('iovalkey', 2),
    'redis4': node('redis4', 2),
    'redis5-resp2': node('redis5', 2),
    'redis5-resp3': node('redis5', 3),
    'redis6-resp2': node('redis6', 2),
    'redis6-resp3': node('redis6', 3),
    'glide-resp2': node('glide', 2),
    'glide-resp3': node('glide', 3),
}


# ---- a library at work ---------------------------------------------------------------------------------------------
class Driver(harness.Process):
    """A driver and the router that it talks to."""

    def __init__(self, name, argv, router):
        super().__init__(name)
        self.argv, self.router, self.skipped = argv, router, None

    def start(self):
        argv = ['setpriv', '--pdeathsig', 'KILL', '--', *self.argv, *self.router.addr]
        env = {**os.environ, 'RINGWAY_CLIENTS': INSTALLED, harness.MARK: harness.SESSION}
        with open(self.log_path, 'ab') as log:
            self.popen = subprocess.Popen([str(a) for a in argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                          stderr=log, cwd=self.dir, env=env)
        self.wanted = True

    def line(self, limit):
        """The next line of its answer; what it says last when it ends instead."""
        end, text = time.monotonic() + limit, b''
        while not text.endswith(b'\n'):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.popen.stdout], [], [], left)[0]:
                self.kill()
                pytest.fail(f'{self.name}: no answer within {limit:g} s')
            part = os.read(self.popen.stdout.fileno(), 1 << 16)
            if not part:
                break
            text += part
        return text.decode().strip()

    def ask(self, step, args):
        try:
            self.popen.stdin.write(' '.join([step, *map(str, args)]).encode() + b'\n')
            self.popen.stdin.flush()
        except BrokenPipeError:
            pass  # it says why
        answer = self.line(LIMIT * SLOW)
        if answer.startswith('skip '):
            self.wanted, self.skipped = False, answer[5:]
            pytest.skip(self.skipped)
        assert answer == 'ok', f'{self.name}: {answer or "it ended"}\n{self.log_tail()}'

    def __call__(self, step, *args):
        """Does a step. A driver that was lost in an earlier one is started anew."""
        if self.skipped:
            pytest.skip(self.skipped)
        if not self.alive:
            self.start()
            self.ask('connect', [])
        if step != 'connect':
            self.ask(step, args)

    def stop(self):
        """It ends by itself when there is nothing more to do."""
        self.wanted = False
        if self.alive:
            self.popen.stdin.close()
            try:
                assert self.popen.wait(LIMIT * SLOW) == 0
            finally:
                self.kill()
                for path in glob.glob(f'/tmp/glide-socket-{self.pid}-*'):  # valkey-glide forgets it
                    os.unlink(path)


@pytest.fixture(scope='module')
def bed():
    nodes = [harness.RedisServer(f'n{i}').start() for i in (1, 2, 3)]
    fleet = harness.Fleet(nodes, threads=2)
    try:
        yield fleet.start()
    finally:
        fleet.stop()


@pytest.fixture(scope='module', params=DRIVERS)
def client(request, bed):
    install, argv = DRIVERS[request.param]
    install()
    driver = Driver(request.param, argv, bed.router)
    yield driver
    driver.stop()


@pytest.fixture(scope='module')
def guarded(bed):
    """A router whose clients need a password, and its words."""
    if '-c ' not in run(bed.router.binary, '--help')[1].decode():
        pytest.skip('the router has no configuration file yet')
    router = harness.Router([], name='guarded')
    paths = {name: os.path.join(router.dir, name) for name in ('password', 'conf.yml')}
    nodes = ''.join(f'\n      - {{name: {n}, address: "%s:%d"}}' % node.addr for n, node in bed.nodes.items())
    with open(paths['password'], 'w') as f:
        f.write('right\n')
    with open(paths['conf.yml'], 'w') as f:
        f.write(f'pools:\n  - name: main\n    role: cache\n    listen: ["{harness.HOST}:0"]\n    clients:\n'
                f'      - {{user: default, password_files: ["{paths["password"]}"]}}\n    nodes:{nodes}\n')
    router.role, router.args = None, ['-c', paths['conf.yml'], '--pool', 'main']
    status, output = run(router.binary, '-t', '-c', paths['conf.yml'])
    if status != 0:
        unusable(f'the router does not take a file with clients: {output.decode()[-300:]}')
    yield router.start()
    router.stop()


# ---- the libraries -------------------------------------------------------------------------------------------------
def test_connects(client):
    client('connect')


def test_pipelines_a_thousand_commands(client):
    client('pipeline', 1000)


def test_splits_commands_over_many_owners(client):
    client('split')


def test_carries_every_byte(client):
    client('binary')


def test_carries_ten_megabytes(client):
    client('big', BIG)


def test_tells_errors_and_goes_on(client, bed):
    client('errors', bed.key('n1'), bed.key('n2'))


def test_gives_each_type_its_form(client):
    client('types')


def test_scans_the_whole_fleet(client):
    client('scan')


def test_does_transactions(client):
    client('transaction')


def test_waits_for_elements(client):
    client('waits')


def test_a_wrong_password_is_told(client, guarded):
    client('password', guarded.addr[1], 'right', 'wrong')


def test_survives_a_node_that_restarts(client, bed):
    client('connect')
    dead, alive = bed.key('n1'), bed.key('n2')
    bed['n1'].kill()
    try:
        client('down', dead, alive)
    finally:
        bed['n1'].restart()
    client('back', dead, alive)


def test_survives_a_router_that_restarts(client, bed):
    client('connect')
    bed.router.restart()
    client('back', bed.key('n1'), bed.key('n2'), bed.key('n3'))


# ---- redis-cli -----------------------------------------------------------------------------------------------------
@pytest.fixture
def cli(bed):
    """cli('GET', 'k'): (status, output) of redis-cli with these arguments."""
    need('redis-cli')
    bed.router.call('FLUSHALL')
    return lambda *args, data=b'': run('redis-cli', '-p', bed.router.addr[1], *args, data=data, limit=LIMIT)


def test_cli_commands_of_one_line(cli):
    assert cli('SET', 'k', 'v') == (0, b'OK\n')
    assert cli('GET', 'k') == (0, b'v\n')
    assert cli('-n', '1', 'GET', 'k') == (0, b'\n')
    assert cli('MGET', 'k', 'none', 'other') == (0, b'v\n\n\n')
    status, said = cli('-e', 'LPUSH', 'k', 'x')
    assert status == 1 and said.startswith(b'WRONGTYPE')
    status, said = cli('-e', 'MONITOR')
    assert b'is refused' in said


def test_cli_types_of_resp3(cli):
    cli('HSET', 'h', 'a', '1')
    cli('ZADD', 'z', '1.5', 'm')
    assert cli('-3', '--no-raw', 'HGETALL', 'h') == (0, b'1# "a" => "1"\n')
    assert cli('-3', '--no-raw', 'ZSCORE', 'z', 'm') == (0, b'(double) 1.5\n')
    assert cli('--json', 'HGETALL', 'h') == (0, b'{"a":"1"}\n')


def test_cli_takes_a_value_from_stdin(cli):
    value = os.urandom(1 << 20) + b'\r\n\0'
    assert cli('-x', 'SET', 'big', data=value) == (0, b'OK\n')
    assert cli('--raw', 'GET', 'big') == (0, value + b'\n')


def test_cli_pipe_loads_ten_thousand_commands(cli, bed):
    count = 10000
    data = b''.join(encode('SET', f'key:{i}', f'value {i}') for i in range(count)) + encode('LPUSH', 'key:1', 'x')
    status, said = cli('--pipe', data=data)
    assert f'errors: 1, replies: {count + 1}' in said.decode()
    assert bed.router.call('DBSIZE') == count


def test_cli_scan_and_bigkeys_see_every_key(cli, bed):
    with bed.client() as c:
        c.pipeline(*[['SET', f'key:{i}', 'x' * i] for i in range(300)], ['RPUSH', 'list', *range(500)])
    status, said = cli('--scan', '--pattern', 'key:*')
    assert (status, len(set(said.split()))) == (0, 300)
    for flag in ('--bigkeys', '--memkeys'):
        status, said = cli(flag)
        said = said.decode()
        assert status == 0 and 'Sampled 301 keys in the keyspace!' in said, said
        assert re.search(r'Biggest\s+list found .*list', said), said


def test_cli_stat_reads_info(bed):
    need('redis-cli')
    p = subprocess.Popen(['redis-cli', '-p', str(bed.router.addr[1]), '--stat', '-i', '0.01'], stdout=subprocess.PIPE,
                         env={**os.environ, harness.MARK: harness.SESSION})
    try:
        lines = [p.stdout.readline().decode() for _ in range(4)]
    finally:
        p.kill()
        p.communicate()
    assert lines[1].split()[:3] == ['keys', 'mem', 'clients']
    assert all(re.match(r'\d+ +[\d.]+[BKMG] +\d+ ', line) for line in lines[2:]), lines


def test_benchmark_runs(bed):
    need('redis-benchmark')
    status, said = run('redis-benchmark', '-p', bed.router.addr[1], '-t', 'ping,set,get,incr,lpush,hset,mset', '-n', 2000,
                       '-P', 16, '-c', 8, '-r', 1000, '--csv', limit=LIMIT)
    rows = re.findall(r'^"([^"]+)","([\d.]+)"', said.decode(), re.M)
    assert status == 0 and len(rows) == 8 and all(float(speed) > 0 for _, speed in rows), said
    assert b'rror' not in said, said


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, *argv):
        self.seen, (self.fd, child) = b'', pty.openpty()
        env = {**os.environ, 'TERM': 'dumb', 'HOME': harness.TEMP, harness.MARK: harness.SESSION}
        self.popen = subprocess.Popen(argv, stdin=child, stdout=child, stderr=child, env=env, start_new_session=True)
        os.close(child)

    def until(self, text, limit=LIMIT):
        """Everything up to and with this text."""
        end = time.monotonic() + limit * SLOW
        while text.encode() not in self.seen:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                pytest.fail(f'no {text!r} after {self.seen[-500:]!r}')
            self.seen += os.read(self.fd, 1 << 16)
        got, _, self.seen = self.seen.partition(text.encode())
        return got.decode() + text

    def type(self, line, answer):
        os.write(self.fd, line.encode() + b'\n')
        return self.until(answer)

    def close(self):
        self.popen.kill()
        self.popen.wait()
        os.close(self.fd)


@pytest.fixture
def terminal(bed):
    need('redis-cli')
    t = Terminal('redis-cli', '-p', str(bed.router.addr[1]))
    yield t
    t.close()


def test_cli_at_a_terminal(terminal, bed):
    prompt = '%s:%d' % bed.router.addr
    terminal.until(f'{prompt}> ')
    terminal.type('set "a key" "a\\x00value"', 'OK')
    terminal.type('get "a key"', '"a\\x00value"')
    terminal.type('lpush "a key" x', '(error) WRONGTYPE')
    terminal.type('mget "a key" none', '2) (nil)')
    terminal.type('select 1', f'{prompt}[1]> ')
    terminal.type('get "a key"', '(nil)')
    terminal.type('hello 3', '3# "proto" => (integer) 3')
    terminal.type('hset h a 1', '(integer) 1')
    terminal.type('hgetall h', '1# "a" => "1"')
    terminal.type('help get', 'Get the value of a key')
    terminal.type('quit', 'quit')
    assert terminal.popen.wait(LIMIT * SLOW) == 0


def test_cli_at_a_terminal_survives_a_router_that_restarts(terminal, bed):
    prompt = '%s:%d' % bed.router.addr
    terminal.until(f'{prompt}> ')
    terminal.type('set k v', 'OK')
    bed.router.restart()
    terminal.type('get k', 'not connected> ')  # what it says of every server that was restarted
    terminal.type('get k', '"v"')
    terminal.until(f'{prompt}> ')


def test_cli_asks_for_a_password(guarded):
    need('redis-cli')
    ask = ['redis-cli', '--no-auth-warning', '-p', guarded.addr[1]]
    assert b'NOAUTH' in run(*ask, 'GET', 'k')[1]
    assert b'WRONGPASS' in run(*ask, '-a', 'wrong', 'GET', 'k')[1]
    assert run(*ask, '-a', 'right', 'SET', 'k', 'v') == (0, b'OK\n')
