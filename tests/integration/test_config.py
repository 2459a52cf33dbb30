# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""The configuration file: a real router that was started with -c."""
import os
import struct
import subprocess

import pytest

import harness
from harness import HOST, ROOT, RedisServer, parse_addr
from resp import OK, PONG, SLOW, Client, encode

PACKAGED = os.path.join(ROOT, 'packaging', 'ringway.yml')


class FileRouter(harness.Router):
    """A router with a file and, if any, flags."""

    def __init__(self, text, args=()):
        super().__init__([], args=args)
        self.path = os.path.join(self.dir, 'ringway.yml')
        with open(self.path, 'w', encoding='utf-8') as f:
            f.write(text)

    def argv(self):
        return [self.binary, '-c', self.path, '--admin', f'{HOST}:0', '--ready-file', self.ready_path, *self.args]

    def listeners(self):
        with open(self.ready_path, encoding='utf-8') as f:
            return [parse_addr(line[6:]) for line in f.read().splitlines() if line.startswith('redis=')]


@pytest.fixture
def start():
    """start(text, args): a router that serves; nodes(n): that many servers."""
    made = []

    def make(process):
        made.append(process)
        return process.start()

    yield make
    for process in reversed(made):
        process.stop() if isinstance(process, harness.Router) else process.kill()


def run(*args, cwd=None):
    """(status, stdout, stderr) of a run that ends by itself."""
    p = subprocess.run([harness.Router([]).binary, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                       timeout=20 * SLOW, cwd=cwd)
    return p.returncode, p.stdout, p.stderr


def write(folder, name, text, mode=0o600):
    path = os.path.join(str(folder), name)
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def address(server):
    return '%s:%d' % server.addr


def pool(name, servers, more=''):
    nodes = ''.join(f'  - {{name: n{i}, address: "{address(s)}"}}\n' for i, s in enumerate(servers, 1))
    return f'- name: {name}\n  role: cache\n  listen: ["{HOST}:0"]\n{more}  nodes:\n{nodes}'


# ---- serving -------------------------------------------------------------------------------------------------------
def test_a_file_serves(start):
    nodes = [start(RedisServer(f'n{i}')) for i in (1, 2)]
    router = start(FileRouter('threads: 2\nlimits: {clients: 3}\npools:\n' + pool('main', nodes)))
    with Client(router.addr) as c:
        for i in range(50):
            assert c.call('SET', f'k{i}', i) == OK
        assert sum(n.call('DBSIZE') for n in nodes) == 50
        assert all(n.call('DBSIZE') > 0 for n in nodes)
        others = [Client(router.addr) for _ in range(3)]
        assert [other.call('PING') for other in others[:2]] == [PONG] * 2
        assert others[2].rest() == b'-ERR max number of clients reached\r\n', 'limits of the file'
        for other in others:
            other.close()


def test_two_pools_have_listeners_and_nodes_of_their_own(start):
    nodes = [start(RedisServer(f'n{i}')) for i in (1, 2)]
    router = start(FileRouter('pools:\n' + pool('a', nodes[:1]) + pool('b', nodes[1:])))
    a, b = router.listeners()
    for addr, value in ((a, 'of a'), (b, 'of b')):
        with Client(addr) as c:
            assert c.call('SET', 'k', value) == OK
    assert [n.call('GET', 'k') for n in nodes] == [b'of a', b'of b']


def test_flags_win(start):
    nodes = [start(RedisServer(f'n{i}')) for i in (1, 2)]
    text = 'pools:\n' + pool('main', nodes[:1], '  database: 3\n')
    router = start(FileRouter(text, ['--node', f'other={address(nodes[1])}', '--set', 'database=5']))
    with Client(router.addr) as c:
        assert c.call('SET', 'k', 'v') == OK
    with nodes[1].client() as c:
        assert c.call('SELECT', '5') == OK and c.call('GET', 'k') == b'v'
    assert nodes[0].call('DBSIZE') == 0


def test_a_listener_behind_a_load_balancer(start):
    """`ADDR proxy`: that one wants the header, its neighbour does not."""
    node = start(RedisServer('n1'))
    text = f'pools:\n- name: main\n  role: cache\n  listen: ["{HOST}:0 proxy", "{HOST}:0"]\n' \
           f'  nodes: [{{address: "{address(node)}"}}]\n'
    router = start(FileRouter(text))
    behind, plain = router.listeners()
    header = b'\r\n\r\n\0\r\nQUIT\n' + struct.pack('>BBH4s4sHH', 0x21, 0x11, 12, bytes([10, 0, 0, 9]),
                                                   bytes([10, 0, 0, 1]), 5555, 6380)
    with Client(behind) as c, Client(plain) as d:
        c.send(header + encode('PING'))
        assert c.reply() == PONG
        assert d.call('PING') == PONG


# ---- -t ------------------------------------------------------------------------------------------------------------
def test_what_a_check_prints_is_a_file(tmp_path):
    flags = ['--listen', f'{HOST}:0', '--listen', '[::1]:0 proxy', '--node', 'a=h:1*0.5', '--node', '[::1]:2', '--threads', '3',
             '--set', 'ring.hash_tag=<>', '--set', 'ready_file=/a: b#c', '--pool', 'x', '--role', 'cache']
    status, printed, err = run('-t', *flags)
    assert (status, err) == (0, '')
    path = write(tmp_path, 'printed.yml', printed)
    assert run('-t', '-c', path) == (0, printed, '')


def test_the_packaged_file_is_right():
    status, out, err = run('-t', '-c', PACKAGED)
    assert (status, err) == (0, '')
    assert run('-t', '--listen', '127.0.0.1:6380', '--node', 'cache-1=127.0.0.1:6379') == (0, out, '')


def test_mistakes_are_told_with_their_place(tmp_path):
    write(tmp_path, 'r.yml', 'thread: 2\nlimits:\n  clients: many\n')
    for extra in ([], ['-t']):
        assert run('-c', 'r.yml', *extra, cwd=tmp_path) == (
            1, '', "r.yml:1:1: unknown key 'thread': did you mean threads?\n")
    write(tmp_path, 'r.yml', 'limits:\n  clients: many\n')
    assert run('-c', 'r.yml', cwd=tmp_path) == (
        1, '', "r.yml:2:12: limits.clients: 'many' is not a whole number (allowed: 1 .. 1000000)\n")
    assert run('-c', 'none.yml', cwd=tmp_path) == (1, '', "ringway: -c 'none.yml': No such file or directory\n")


def test_passwords_are_read_and_never_shown(start, tmp_path):
    node = start(RedisServer('n1'))
    path = write(tmp_path, 'password', 'opensesame\n')
    users = f'  clients: [{{user: default}}, {{user: app, password_files: ["{path}"], deny: [KEYS]}}]\n'
    router = FileRouter('log_level: debug\npools:\n' + pool('main', [node], users))
    status, out, err = run('-t', '-c', router.path)
    assert (status, err) == (0, '')
    assert path in out and 'opensesame' not in out
    start(router)
    with Client(router.addr) as c:
        assert c.call('PING') == PONG
    router.stop()
    assert 'opensesame' not in router.log()

    os.chmod(path, 0o644)
    assert run('-t', '-c', router.path) == (
        0, out, f"ringway: warning: pool 'main': user 'app': password_files: '{path}' can be read by every user of "
                'this machine\n')
    os.unlink(path)
    assert run('-c', router.path) == (
        1, '', f"ringway: pool 'main': user 'app': password_files: '{path}': No such file or directory\n")
