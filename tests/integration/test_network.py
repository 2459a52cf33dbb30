# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""The edges: load balancers before clients, sockets of every kind, names that lead elsewhere, peers that died without a
word, and too few file descriptors."""
import ctypes
import os
import re
import resource
import signal
import socket
import stat
import struct
import subprocess
import threading
import time

import pytest

import harness
from harness import HOST, RedisServer, Ring, Router, http_get, wait_until
from resp import OK, PONG, SLOW, Client, Closed, Error, Late, encode

SANITIZER = os.environ.get('RINGWAY_SANITIZER', '')


# ---- the bed -------------------------------------------------------------------------------------------------------
class Node(RedisServer):
    """A redis-server at any address: host is an IPv4 or IPv6 address, or a path of a unix socket."""

    def __init__(self, name, host=HOST, port=None):
        self.host = host
        super().__init__(name, port)

    def argv(self):
        at = ['--port', 0, '--unixsocket', self.host] if self.host[0] == '/' else ['--port', self.port, '--bind', self.host]
        return ['redis-server', *at, '--save', '', '--appendonly', 'no', '--dir', self.dir, '--protected-mode', 'no']

    @property
    def addr(self):
        return self.host if self.host[0] == '/' else (self.host, self.port)

    @property
    def text(self):
        if self.host[0] == '/':
            return f'unix:{self.host}'
        return f'[{self.host}]:{self.port}' if ':' in self.host else f'{self.host}:{self.port}'


class EdgeRouter(Router):
    """A router in an environment of its own: `env` is added, `wrap` is a command that starts it."""
    env, wrap = {}, ()

    def spawn(self, argv, env=None):
        super().spawn([*self.wrap, *argv], {**self.env, **(env or {})})

    def info(self, client, field):
        got = client.call('INFO', 'everything').decode()
        return re.search(rf'^{field}:(.*)\r$', got, re.M)[1]


@pytest.fixture
def edge():
    """edge({'n1': 'ADDR'}, sets={...}, env={...}, wrap=[...]): a router, stopped after the test with its nodes."""
    made = []

    def make(nodes, env=None, wrap=(), start=True, **router):
        r = EdgeRouter(list(nodes.items()), **router)
        r.env, r.wrap = env or {}, wrap
        made.append(r)
        return r.start() if start else r
    yield make
    errors = []
    for r in made:
        try:
            r.stop()
        except AssertionError as e:
            errors.append(str(e))
    for p in harness.processes:
        if isinstance(p, Node):
            p.kill()
    assert not errors, '\n'.join(errors)


@pytest.fixture
def node():
    return Node('n1').start()


def key_of(name, names, prefix='key'):
    """A key that the named node owns."""
    ring = Ring(list(names))
    return next(k for k in (f'{prefix}:{i}' for i in range(1000)) if ring.owner(k) == name)


def field(line, name):
    """One field of a CLIENT INFO line."""
    return re.search(rf'(?:^| ){name}=(\S*)', line)[1]


def own_line(client):
    return client.call('CLIENT', 'INFO').decode().strip()


# ---- PROXY protocol ------------------------------------------------------------------------------------------------
SIGNATURE = b'\r\n\r\n\0\r\nQUIT\n'


def header(command, family, body):
    return SIGNATURE + bytes([command, family]) + struct.pack('>H', len(body)) + body


def tcp4(ip, port, more=b''):
    return header(0x21, 0x11, socket.inet_aton(ip) + socket.inet_aton('10.0.0.1') + struct.pack('>HH', port, 6379) + more)


def tcp6(ip, port):
    v6 = [socket.inet_pton(socket.AF_INET6, a) for a in (ip, '::1')]
    return header(0x21, 0x21, b''.join(v6) + struct.pack('>HH', port, 6379))


def unix(path):
    return header(0x21, 0x31, path.encode().ljust(108, b'\0') + b'/run/lb'.ljust(108, b'\0'))


LOCAL = header(0x20, 0, b'')
TLVS = b'\x04\0\x03abc' + b'\x02\0\x0bexample.org'


@pytest.fixture
def proxied(edge, node):
    def make(**sets):
        router = edge({'n1': node.text}, sets=sets, start=False)
        router.listen += ' proxy'
        return router.start()
    return make


@pytest.mark.parametrize('first, addr', [
    (tcp4('192.0.2.7', 40000), '192.0.2.7:40000'),
    (tcp4('192.0.2.7', 40000, TLVS), '192.0.2.7:40000'),
    (tcp6('2001:db8::9', 40001), '[2001:db8::9]:40001'),
    (unix('/run/client'), '/run/client:0'),
    (LOCAL, None),
    (header(0x21, 0, TLVS), None),
], ids=['tcp4', 'tlvs', 'tcp6', 'unix', 'local', 'unspec'])
def test_a_client_behind_a_load_balancer_is_known_by_its_own_address(proxied, first, addr):
    router = proxied()
    with router.client() as c, router.client() as other:
        c.send(first + encode('SET', 'k', 'v') + encode('GET', 'k') + encode('CLIENT', 'ID'))
        assert [c.reply(), c.reply()] == [OK, b'v']
        number = c.reply()
        addr = addr or '%s:%d' % c.sock.getsockname()
        assert field(own_line(c), 'addr') == addr
        assert field(own_line(c), 'laddr') == '%s:%d' % router.addr
        other.send(LOCAL)
        lines = other.call('CLIENT', 'LIST').decode().splitlines()
        assert [field(line, 'addr') for line in lines if field(line, 'id') == str(number)] == [addr]
        assert other.call('CLIENT', 'KILL', 'ADDR', addr) == 1
        assert c.rest() == b''
    wait_until(lambda: f'id={number} peer={addr} why=' in router.log(), what='the log naming the client')


def test_a_header_may_come_in_any_pieces(proxied):
    router = proxied()
    first = tcp4('192.0.2.7', 40000, TLVS)
    with router.client() as c:
        for i in range(len(first)):
            c.send(first[i:i + 1])
            c.quiet(0.001)
        assert c.call('PING') == PONG
        assert field(own_line(c), 'addr') == '192.0.2.7:40000'
    for cut in range(1, len(first) + 14):
        with router.client() as c:
            c.send((first + encode('PING'))[:cut])
            time.sleep(0.001)
            c.send((first + encode('PING'))[cut:])
            assert c.reply() == PONG


def test_a_large_pipeline_behind_a_header_is_served(proxied):
    router = proxied()
    value = os.urandom(300000)
    with router.client() as c:
        c.send(tcp4('192.0.2.7', 1) + encode('SET', 'big', value) + b''.join(encode('GET', 'big') for _ in range(5)))
        assert c.reply() == OK
        assert [c.reply() for _ in range(5)] == [value] * 5


@pytest.mark.parametrize('first', [
    b'PROXY TCP4 192.0.2.7 10.0.0.1 40000 6379\r\n',
    encode('PING'),
    b'PING\r\n',
    b'\r\n\r\nPING\r\n',
    header(0x31, 0x11, bytes(12)),
    header(0x22, 0x11, bytes(12)),
    header(0x21, 0x12, bytes(12)),
    header(0x21, 0x11, bytes(11)),
    SIGNATURE + b'\x21\x11\xff\xff' + bytes(100),
], ids=['version 1', 'resp', 'inline', 'empty lines', 'version 3', 'command 2', 'datagrams', 'too short', 'too long'])
def test_a_client_without_a_valid_header_is_closed_and_gets_no_word(proxied, first):
    router = proxied()
    with router.client() as good, router.client() as bad:
        good.send(LOCAL)
        bad.send(first)
        assert bad.rest(2 * SLOW) == b''
        assert good.call('PING') == PONG
    assert router.metric('ringway_clients_closed_proxy_total') == 1
    assert router.metric('ringway_requests_total') == 1


@pytest.mark.parametrize('first', [b'', SIGNATURE[:5], tcp4('192.0.2.7', 1)[:-1]], ids=['nothing', 'half', 'all but one'])
def test_a_header_that_does_not_come_in_time_closes_the_client(proxied, first):
    router = proxied(**{'limits.proxy_header': '150ms'})
    start = time.monotonic()
    with router.client() as late, router.client() as good:
        good.send(LOCAL)
        late.send(first)
        assert late.rest(5 * SLOW) == b''
        assert 0.14 <= time.monotonic() - start < 2 * SLOW
        assert router.metric('ringway_clients_closed_proxy_total') == 1
        good.quiet(0.3)  # its deadline is over as well
        assert good.call('PING') == PONG
    wait_until(lambda: router.metric('ringway_clients') == 0, what='all clients gone')


def test_one_that_hangs_up_before_its_header_is_not_counted(proxied):
    """Load balancers look whether the port is open just so."""
    router = proxied()
    for end in ('close', 'reset'):
        c = router.client()
        c.send(SIGNATURE[:4])
        wait_until(lambda: router.metric('ringway_clients') == 1, what='the client')
        getattr(c, end)()
        wait_until(lambda: router.metric('ringway_clients') == 0, what='the client gone')
    assert router.metric('ringway_clients_closed_proxy_total') == 0


def test_a_header_is_a_protocol_error_where_none_is_expected(edge, node):
    router = edge({'n1': node.text})
    said = []
    for addr in (router.addr, node.addr):
        with Client(addr) as c:
            c.send(tcp4('192.0.2.7', 40000) + encode('PING'))  # to Redis a line that has not ended: it holds a NUL
            c.quiet(0.1)
            c.send(b'x' * 70000)
            said.append(c.rest(5 * SLOW))
    assert said[0] == said[1] and said[0].startswith(b'-ERR Protocol error')
    with router.client() as c:
        assert c.call('PING') == PONG


def test_only_the_listener_that_says_so_expects_headers(edge, node):
    router = edge({'n1': node.text}, args=['--listen', f'{HOST}:0 proxy'])
    with open(router.ready_path) as f:
        plain, behind = (harness.parse_addr(line[6:].strip()) for line in f if line.startswith('redis='))
    for addr, first in ((plain, b''), (behind, tcp4('192.0.2.7', 40000))):
        with Client(addr) as c:
            c.send(first + encode('PING'))
            assert c.reply() == PONG
            assert (field(own_line(c), 'addr') == '192.0.2.7:40000') == (addr == behind)
    with Client(behind) as c:
        c.cmd('PING')
        assert c.rest() == b''


def test_draining_does_not_wait_for_headers(proxied):
    router = proxied(drain_timeout='20s')
    with router.client() as c:
        c.send(SIGNATURE[:4])
        wait_until(lambda: router.metric('ringway_clients') == 1, what='the client')
        start = time.monotonic()
        router.stop()
        assert time.monotonic() - start < 5 * SLOW
        assert c.rest() == b''


# ---- sockets -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize('listen', ['[::1]:0', f'{HOST}:0', 'unix'])
def test_clients_and_nodes_meet_over_every_kind_of_socket(edge, tmp_path, listen):
    nodes = {'v4': Node('v4').start(), 'v6': Node('v6', '::1').start(), 'ux': Node('ux', str(tmp_path / 'node')).start()}
    router = edge({name: n.text for name, n in nodes.items()}, threads=2, start=False)
    router.listen = listen if listen != 'unix' else f'unix:{tmp_path}/router'
    router.start()
    keys = {name: key_of(name, nodes) for name in nodes}
    with router.client() as c:
        for name, key in keys.items():
            assert c.call('SET', key, name) == OK
            assert nodes[name].call('GET', key) == name.encode()
        assert c.call('MGET', *keys.values()) == [n.encode() for n in keys]
        addr, laddr = (field(own_line(c), f) for f in ('addr', 'laddr'))
        if listen == 'unix':
            assert addr == laddr == f'{tmp_path}/router:0'
        else:
            shown = '[%s]:%d' if '[' in listen else '%s:%d'
            assert (addr, laddr) == (shown % c.sock.getsockname()[:2], shown % router.addr)
    for name in nodes:
        assert router.metric('ringway_node_connections', node=name) == 2
        nodes[name].kill()
    with router.client() as c:
        for name, key in keys.items():
            wait_until(lambda: c.call('GET', key) == Error(f"UNAVAILABLE node '{name}': connection refused"),
                       what=f'{name} being refused')


def unix_router(edge, node, path, **kw):
    router = edge({'n1': node.text}, start=False, **kw)
    router.listen = f'unix:{path}'
    return router


@pytest.mark.parametrize('mode, want', [('600', 0o600), ('0770', 0o770), ('777', 0o777), ('0', None)])
def test_a_socket_file_has_the_mode_that_was_asked_for(edge, node, tmp_path, mode, want):
    path = tmp_path / 'sock'
    unix_router(edge, node, path, sets={'unix_socket_mode': mode}).start()
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(os.stat(path).st_mode) == (0o777 & ~umask if want is None else want)


def test_a_stale_socket_file_is_replaced_and_the_own_one_removed(edge, node, tmp_path):
    path = tmp_path / 'sock'
    router = unix_router(edge, node, path).start()
    router.kill()
    assert path.exists()
    router.start()
    assert router.call('PING') == PONG
    router.stop()
    assert not path.exists()


def test_a_socket_that_is_served_is_left_alone(edge, node, tmp_path):
    path = tmp_path / 'sock'
    router = unix_router(edge, node, path).start()
    p = subprocess.run([router.binary, '--listen', f'unix:{path}', '--node', node.text], stdin=subprocess.DEVNULL,
                       capture_output=True, timeout=20 * SLOW)
    assert p.returncode == 3 and str(path) in p.stderr.decode()
    assert router.call('PING') == PONG


def test_a_file_that_took_the_place_of_the_socket_stays(edge, node, tmp_path):
    path = tmp_path / 'sock'
    router = unix_router(edge, node, path).start()
    path.unlink()
    path.write_text('somebody else')
    router.stop()
    assert path.read_text() == 'somebody else'


def test_the_admin_page_at_a_unix_socket(edge, node, tmp_path):
    path = tmp_path / 'admin'
    router = edge({'n1': node.text}, args=['--admin', f'unix:{path}'])
    for _ in range(2):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(5 * SLOW)
            s.connect(str(path))
            s.sendall(b'GET /healthz HTTP/1.0\r\n\r\n')
            assert b'200 OK' in s.recv(1000)
    router.stop()
    assert not path.exists()


# ---- names ---------------------------------------------------------------------------------------------------------
class Names:
    """Where names lead, for a router that runs with `env`."""

    def __init__(self, folder, library):
        self.path, self.lines = os.path.join(folder, 'names'), {}
        self.env = {'LD_PRELOAD': library, 'RINGWAY_TEST_NAMES': self.path,
                    'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') + ':verify_asan_link_order=0'}
        self.set()

    def set(self, **lines):
        """set(cache='127.0.0.1 127.0.0.2'); several lines in a list; None: the name does not exist."""
        self.lines.update(lines)
        with open(self.path + '.new', 'w') as f:
            for name, words in self.lines.items():
                for line in [words] if isinstance(words, str) else words or []:
                    f.write(f'{name}.test {line}\n')
        os.rename(self.path + '.new', self.path)


@pytest.fixture(scope='module')
def library(tmp_path_factory):
    out = str(tmp_path_factory.mktemp('lib') / 'fake_resolver.so')
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'fake_resolver.c')
    subprocess.run(['cc', '-shared', '-fPIC', '-O1', '-D_GNU_SOURCE', '-o', out, source], check=True)
    return out


@pytest.fixture
def names(tmp_path, library):
    return Names(str(tmp_path), library)


def two_homes():
    """Two servers with one port at two addresses."""
    a = Node('a', '127.0.0.1').start()
    return a, Node('b', '127.0.0.2', a.port).start()


SOON = {'upstream.resolve': '50ms', 'upstream.resolve_pause': '10ms'}
NEVER = {'upstream.resolve': '60m', 'upstream.resolve_pause': '10ms'}


def test_names_are_known_when_the_router_is_ready(edge, names, node):
    names.set(cache=HOST)
    router = edge({'n1': f'cache.test:{node.port}'}, env=names.env, threads=3)
    for _ in range(6):  # every worker
        with router.client() as c:
            assert c.call('PING') == PONG
            assert c.call('SET', 'k', 'v') == OK
    assert 'msg="name leads elsewhere"' in router.log()
    assert router.metric('ringway_resolves_total') == 1


def test_localhost_needs_no_help(edge, node):
    router = edge({'n1': f'localhost:{node.port}'})
    with router.client() as c:
        assert c.call('SET', 'k', 'v') == OK


def test_a_name_that_does_not_resolve_costs_its_own_keys_only_and_comes_back(edge, names, node):
    nodes = {'n1': node.text, 'n2': f'cache.test:{node.port}'}
    start = time.monotonic()
    router = edge(nodes, env=names.env, sets=NEVER)
    assert time.monotonic() - start < 1.5 * SLOW
    good, bad = key_of('n1', nodes), key_of('n2', nodes)
    with router.client() as c:
        assert c.call('SET', good, 'v') == OK
        assert c.call('GET', bad) == Error("UNAVAILABLE node 'n2': name does not resolve")
        assert c.call('MGET', good, bad) == Error("UNAVAILABLE node 'n2': name does not resolve")
        assert router.metric('ringway_resolve_failures_total') >= 1
        assert router.metric('ringway_node_connects_total', node='n2') == 0
        assert router.log().count('msg="name does not resolve"') == 1, 'said once, not each time'
        names.set(cache=HOST)
        wait_until(lambda: c.call('GET', bad) is None, what='the node being served')
        assert c.call('GET', good) == b'v'


def test_a_look_up_that_hangs_holds_up_nobody(edge, names, node):
    names.set(slow=['hang 10', HOST])
    nodes = {'n1': node.text, 'n2': f'slow.test:{node.port}'}
    start = time.monotonic()
    router = edge(nodes, env=names.env, sets={'resolve_wait': '300ms'})
    took = time.monotonic() - start
    assert 0.3 <= took < 2 * SLOW, f'{took:.2f} s until ready'
    good, bad = key_of('n1', nodes), key_of('n2', nodes)
    with router.client() as c:
        start = time.monotonic()
        for _ in range(200):
            assert c.call('SET', good, 'v') == OK
            assert c.call('GET', bad) == Error("UNAVAILABLE node 'n2': name does not resolve")
        assert time.monotonic() - start < 2 * SLOW
    start = time.monotonic()
    assert router.stop() == 0
    assert time.monotonic() - start < 3 * SLOW, 'the end does not wait for it either'


def test_a_look_up_that_hangs_later_does_not_stop_the_world(edge, names, node):
    names.set(cache=HOST)
    router = edge({'n1': f'cache.test:{node.port}'}, env=names.env, sets={**SOON, 'upstream.backoff': '10ms'})
    resolves = router.metric('ringway_resolves_total')  # before: the first one that hangs is the last one for long
    names.set(cache=['hang 10', HOST])
    wait_until(lambda: router.metric('ringway_resolves_total') > resolves, what='another look-up')
    time.sleep(0.1)
    with router.client() as c:
        start = time.monotonic()
        for i in range(200):
            assert c.call('SET', f'k{i}', 'v') == OK
        node.restart()  # reconnects use what is known
        wait_until(lambda: c.call('SET', 'k', 'v') == OK, what='the node being served')
        assert time.monotonic() - start < 5 * SLOW


@pytest.mark.parametrize('threads', [1, 3])
def test_traffic_moves_to_the_new_address_without_an_error(edge, names, threads):
    a, b = two_homes()
    names.set(cache=a.host)
    router = edge({'n1': f'cache.test:{a.port}'}, env=names.env, sets=SOON, threads=threads)
    stop, failures, calls = threading.Event(), [], []

    def traffic():
        with router.client() as c:
            while not stop.is_set():
                got = c.pipeline(*(('INCR', 'n') for _ in range(20)))
                failures.extend(x for x in got if not isinstance(x, int))
                calls.append(len(got))
    clients = [threading.Thread(target=traffic) for _ in range(6)]
    for t in clients:
        t.start()
    try:
        wait_until(lambda: (a.call('GET', 'n') or b'0') > b'', what='traffic')
        wait_until(lambda: sum(calls) > 1000, what='traffic')
        names.set(cache=b.host)
        wait_until(lambda: router.metric('ringway_node_moved_total') == threads, what='all workers having moved')
        before = a.call('GET', 'n')
        now = sum(calls)
        wait_until(lambda: sum(calls) > now + 2000, what='more traffic')
        assert a.call('GET', 'n') == before
    finally:
        stop.set()
        for t in clients:
            t.join()
    assert failures == []
    assert int(a.call('GET', 'n')) + int(b.call('GET', 'n')) == sum(calls)
    for name in ('disconnects', 'connect_failures', 'unavailable', 'retries'):
        assert router.metric(f'ringway_node_{name}_total') == 0
    assert 'from="127.0.0.1' in router.log() and 'to="127.0.0.2' in router.log()


def test_what_is_under_way_is_answered_by_the_old_address(edge, names):
    a, b = two_homes()
    names.set(cache=a.host)
    router = edge({'n1': f'cache.test:{a.port}'}, env=names.env, sets={**SOON, 'timeouts.request': '30s'})
    with router.client() as c, router.client() as later:
        assert c.call('SET', 'k', 'a') == OK
        a.pause()
        c.cmd('GET', 'k')
        wait_until(lambda: router.metric('ringway_node_inflight') == 1, what='the request')
        names.set(cache=b.host)
        wait_until(lambda: 'to="127.0.0.2' in router.log(), what='the new address')
        later.cmd('SET', 'k', 'b')
        later.quiet(0.1)
        a.resume()
        assert c.reply() == b'a'
        assert later.reply() == OK
        assert (a.call('GET', 'k'), b.call('GET', 'k')) == (b'a', b'b')
    assert router.metric('ringway_node_unavailable_total') == 0


def test_a_connection_stays_as_long_as_its_address_is_among_the_answers(edge, names):
    a, b = two_homes()
    names.set(cache=a.host)
    router = edge({'n1': f'cache.test:{a.port}'}, env=names.env, sets=SOON)
    with router.client() as c:
        assert c.call('SET', 'k', 'v') == OK
        names.set(cache=f'{b.host} {a.host}')
        wait_until(lambda: f'to="{b.text} {a.text}"' in router.log(), what='both addresses')
        assert c.call('GET', 'k') == b'v'
        assert router.metric('ringway_node_moved_total') == 0
        a.kill()
        wait_until(lambda: c.call('SET', 'k', 'w') == OK, what='the other address')
        assert b.call('GET', 'k') == b'w'


def test_a_node_that_died_is_looked_up_again_at_once(edge, names):
    """Not at the next time that is due anyway, which is an hour away."""
    a, b = two_homes()
    names.set(cache=a.host)
    router = edge({'n1': f'cache.test:{a.port}'}, env=names.env, sets=NEVER)
    with router.client() as c:
        assert c.call('SET', 'k', 'v') == OK
        names.set(cache=b.host)
        a.kill()
        wait_until(lambda: c.call('SET', 'k', 'v') == OK, 2, what='the new address')
        assert b.call('GET', 'k') == b'v'


def test_look_ups_are_not_more_frequent_than_allowed(edge, names, node):
    names.set(cache=HOST)
    router = edge({'n1': f'cache.test:{node.port}'}, env=names.env, threads=3,
                  sets={'upstream.resolve': '60m', 'upstream.resolve_pause': '200ms', 'upstream.backoff': '1ms',
                        'upstream.backoff_max': '2ms'})
    start, before = time.monotonic(), router.metric('ringway_resolves_total')
    node.kill()
    wait_until(lambda: router.metric('ringway_node_connects_total') > 2000, 20, what='many attempts')
    asked = router.metric('ringway_resolves_total') - before
    assert 1 <= asked <= (time.monotonic() - start) / 0.2 + 2


def test_what_is_known_is_used_when_a_name_does_not_resolve_any_more(edge, names, node):
    names.set(cache=HOST)
    router = edge({'n1': f'cache.test:{node.port}'}, env=names.env, sets={**SOON, 'upstream.backoff': '10ms'})
    with router.client() as c:
        assert c.call('SET', 'k', 'v') == OK
        names.set(cache=None)
        wait_until(lambda: router.metric('ringway_resolve_failures_total') >= 3, what='failures')
        assert c.call('GET', 'k') == b'v'
        node.restart()
        wait_until(lambda: c.call('SET', 'k', 'w') == OK, what='the node being served')
        log = router.log()
        assert log.count('msg="name does not resolve"') == 1 and f'known="{node.text}"' in log
        names.set(cache=HOST)
        wait_until(lambda: 'msg="name resolves again"' in router.log(), what='its recovery')
    assert router.metric('ringway_node_moved_total') == 0


def test_an_address_that_refuses_is_passed_over(edge, names, node):
    names.set(cache=f'::1 127.0.0.3 {HOST}')
    router = edge({'n1': f'cache.test:{node.port}'}, env=names.env)
    with router.client() as c:
        assert c.call('SET', 'k', 'v') == OK
    assert router.metric('ringway_node_connects_total') == 3
    assert router.metric('ringway_node_connect_failures_total') == 0


def test_a_stop_while_names_are_looked_up_at_start_is_heard(edge, names, node):
    names.set(slow='hang 10')
    router = edge({'n1': f'slow.test:{node.port}'}, env=names.env, sets={'resolve_wait': '500ms'}, start=False)
    router.spawn(router.argv())
    wait_until(lambda: harness.thread_count(router.pid) >= 2, what='the look-up')
    start = time.monotonic()
    router.wanted = False
    router.signal(signal.SIGTERM)
    assert router.popen.wait(10 * SLOW) == 0
    assert time.monotonic() - start < 3 * SLOW


# ---- peers that died without a word --------------------------------------------------------------------------------
def keepalive_seconds(local_port=None, remote_port=None):
    """Until the kernel's next keepalive probe, for each established connection of these ports."""
    out = []
    with open('/proc/net/tcp') as f:
        for line in f.read().splitlines()[1:]:
            words = line.split()
            local, remote = (int(words[i].split(':')[1], 16) for i in (1, 2))
            timer, when = words[5].split(':')
            if words[3] == '01' and local_port in (None, local) and remote_port in (None, remote):
                out.append(int(when, 16) / os.sysconf('SC_CLK_TCK') if timer == '02' else None)
    return out


def test_tcp_asks_silent_clients_and_nodes(edge, node):
    router = edge({'n1': node.text}, sets={'tcp.keepalive_idle': '100s', 'upstream.keepalive_idle': '50s'})
    with router.client() as c:
        assert c.call('SET', 'k', 'v') == OK
        wait_until(lambda: keepalive_seconds(router.addr[1]) and None not in keepalive_seconds(router.addr[1]),
                   what='the timer of the client')
        client = keepalive_seconds(router.addr[1])
        ups = [s for s in keepalive_seconds(remote_port=node.port)]
    assert len(client) == 1 and 80 < client[0] <= 100
    assert len(ups) == 1 and 30 < ups[0] <= 50


def test_tcp_asks_nobody_when_told_not_to(edge, node):
    router = edge({'n1': node.text}, sets={'tcp.keepalive_idle': '0', 'upstream.keepalive_idle': '0'})
    with router.client() as c:
        assert c.call('SET', 'k', 'v') == OK
        wait_until(lambda: keepalive_seconds(router.addr[1]) == [None], what='no timer')
        assert keepalive_seconds(remote_port=node.port) == [None]


def sockets_of(pid):
    """Duplicates of the process's TCP sockets. Skips the test where the kernel does not give them."""
    libc, out = ctypes.CDLL(None, use_errno=True), []
    pidfd = os.pidfd_open(pid)
    for name in os.listdir(f'/proc/{pid}/fd'):
        try:
            if not os.readlink(f'/proc/{pid}/fd/{name}').startswith('socket:'):
                continue
        except OSError:
            continue
        fd = libc.syscall(438, pidfd, int(name), 0)  # pidfd_getfd
        if fd < 0:
            pytest.skip(f'pidfd_getfd: {os.strerror(ctypes.get_errno())}')
        s = socket.socket(fileno=fd)
        if s.family == socket.AF_INET:
            out.append(s)
        else:
            s.close()
    os.close(pidfd)
    return out


def test_both_sides_have_the_options_of_a_life(edge, node):
    router = edge({'n1': node.text}, sets={
        'tcp.keepalive_idle': '101s', 'tcp.keepalive_interval': '11s', 'tcp.keepalive_count': 5, 'tcp.user_timeout': '77s',
        'upstream.keepalive_idle': '51s', 'upstream.keepalive_interval': '4s', 'upstream.keepalive_count': 2,
        'upstream.user_timeout': '1500ms'})
    seen = {}
    with router.client() as c:
        assert c.call('SET', 'k', 'v') == OK
        for s in sockets_of(router.pid):
            try:
                s.getpeername()
                side = 'client' if s.getsockname()[1] == router.addr[1] else 'node'
                seen[side] = [s.getsockopt(socket.IPPROTO_TCP, o) for o in
                              (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_USER_TIMEOUT)]
            except OSError:
                pass  # listening
            finally:
                s.close()
    assert seen == {'client': [101, 11, 5, 77000], 'node': [51, 4, 2, 1500]}


# ---- evenly over workers -------------------------------------------------------------------------------------------
def test_long_lived_clients_are_spread_evenly_also_after_some_went(edge, node):
    router = edge({'n1': node.text}, threads=3)

    def worker(c):
        return int(router.info(c, 'ringway_worker'))

    def spread(clients):
        return sorted([worker(c) for c in clients].count(w) for w in range(3))
    clients = [router.client() for _ in range(12)]
    assert spread(clients) == [4, 4, 4]
    # all of one worker and one of another go; as many come
    gone = [c for c in clients if worker(c) == 0] + [c for c in clients if worker(c) == 1][:1]
    for c in gone:
        clients.remove(c)
        c.close()
    wait_until(lambda: router.metric('ringway_clients') == 7, what='five clients gone')
    assert spread(clients) == [0, 3, 4]
    for _ in gone:
        clients.append(router.client())
        clients[-1].call('PING')
    assert spread(clients) == [4, 4, 4]
    for c in clients:
        c.close()


# ---- too few descriptors, too many clients -------------------------------------------------------------------------
FULL = b'-ERR max number of clients reached\r\n'


def open_files(pid):
    with open(f'/proc/{pid}/limits') as f:
        return int(re.search(r'Max open files\s+(\d+)', f.read())[1])


def connect_all(router, count):
    """(clients that are served, those that were refused)."""
    served, refused = [], []
    for _ in range(count):
        c = router.client()
        try:
            c.cmd('PING')
            (served if c.exact(7) == b'+PONG\r\n' else refused).append(c)
        except Closed:
            refused.append(c)
    return served, refused


def close_all(clients):
    for c in clients:
        c.close()


def test_a_client_too_many_is_refused_as_redis_refuses_it(edge, node):
    limit = 5
    router = edge({'n1': node.text}, sets={'limits.clients': limit}, threads=2)
    node.call('CONFIG', 'SET', 'maxclients', 1 + limit)  # the router's two connections count there
    clients = [router.client() for _ in range(limit)]
    for c in clients:
        assert c.call('PING') == PONG
    for _ in range(3):
        with router.client() as c:
            assert c.rest() == FULL
    assert router.metric('ringway_clients_refused_total') == 3
    assert router.info(clients[0], 'maxclients') == str(limit)
    assert clients[0].call('CONFIG', 'GET', 'maxclients') == [b'maxclients', str(limit).encode()]
    busy = [node.client() for _ in range(limit)]
    with wait_until(lambda: full_redis(node, busy), what='the redis-server being full') as c:
        assert c.rest() == FULL
    close_all(busy)
    clients.pop().close()
    wait_until(lambda: router.metric('ringway_clients') == limit - 1, what='a client gone')
    with router.client() as c:
        assert c.call('PING') == PONG
    close_all(clients)


def full_redis(node, busy):
    c = node.client()
    c.cmd('PING')
    try:
        if c.exact(1) == b'-':
            c.reader.pos -= 1
            return c
    except Closed:
        pass
    busy.append(c)
    return None


def test_the_soft_limit_of_descriptors_is_raised(edge, node):
    router = edge({'n1': node.text}, wrap=['prlimit', '--nofile=40:4000'], sets={'limits.clients': 200})
    assert open_files(router.pid) >= 200
    served, refused = connect_all(router, 200)
    assert (len(served), len(refused)) == (200, 0)
    assert router.info(served[0], 'maxclients') == '200'
    close_all(served)


def test_clients_leave_descriptors_for_nodes_and_the_admin_page(edge):
    nodes = [Node('n1').start(), Node('n2').start()]
    router = edge({n.name: n.text for n in nodes}, wrap=['prlimit', '--nofile=64:64'], sets={'upstream.backoff': '10ms'})
    assert 'file descriptors do not suffice' in router.log()
    served, refused = connect_all(router, 80)
    assert served and len(refused) >= 40
    assert router.info(served[0], 'maxclients') == str(len(served))
    assert router.metric('ringway_clients_refused_total') == len(refused)
    key = key_of('n1', ['n1', 'n2'])
    nodes[0].restart()
    wait_until(lambda: served[0].call('SET', key, 'v') == OK, what='the node being reached')
    close_all(refused + served)
    wait_until(lambda: router.metric('ringway_clients') == 0, what='the clients gone')
    again, _ = connect_all(router, 10)
    assert len(again) == min(10, len(served))
    close_all(again)


def cpu_seconds(pid):
    with open(f'/proc/{pid}/stat') as f:
        words = f.read().rsplit(')', 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf('SC_CLK_TCK')


@pytest.mark.parametrize('threads', [1, 3])
def test_running_out_of_descriptors_is_survived(edge, threads):
    """The limit falls below what is in use, as if others had taken the rest."""
    nodes = [Node('n1').start(), Node('n2').start()]
    router = edge({n.name: n.text for n in nodes}, threads=threads, sets={'upstream.backoff': '10ms',
                                                                         'upstream.backoff_max': '50ms'})
    keys = [key_of(n.name, ['n1', 'n2']) for n in nodes]
    old = [router.client() for _ in range(4)]
    for c in old:
        assert [c.call('SET', k, 'v') for k in keys] == [OK, OK]
    before = resource.prlimit(router.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(router.pid, resource.RLIMIT_NOFILE, (3, before[1]))
    new = [router.client() for _ in range(5)]
    admin = socket.create_connection(router.admin)
    admin.sendall(b'GET /healthz HTTP/1.0\r\n\r\n')
    nodes[1].restart()
    told = Error("UNAVAILABLE node 'n2': the router is out of file descriptors")
    wait_until(lambda: all(c.call('GET', keys[1]) == told for c in old), what='the reason being told')
    for c in old:
        assert c.call('GET', keys[0]) == b'v'
    used = cpu_seconds(router.pid)
    time.sleep(0.5)
    assert cpu_seconds(router.pid) - used < 0.3 * SLOW, 'it spins'
    resource.prlimit(router.pid, resource.RLIMIT_NOFILE, before)
    waiting = 0
    for c in new:  # those that were not refused meanwhile are served now
        try:
            c.cmd('PING')
            waiting += c.exact(7) == b'+PONG\r\n'
        except Closed:
            pass
    assert waiting > 0
    admin.settimeout(5 * SLOW)
    assert b'200 OK' in admin.recv(1000)
    admin.close()
    wait_until(lambda: all(c.call('SET', keys[1], 'w') == OK for c in old), what='the node being reached again')
    assert router.metric('ringway_accept_errors_total') >= 1
    assert router.metric('ringway_node_connect_failures_total', node='n2') >= 1
    assert router.log().count('msg="accept failed"') <= 5
    close_all(old + new)
