# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""The router as a process: command line, exit codes, ready file, admin page, draining."""
import os
import signal
import socket
import subprocess
import time

import pytest

import harness
from harness import HOST, http_get, wait_until
from resp import OK, PONG, SLOW, Client, Closed, encode

NODES = ['--node', 'n1=127.0.0.1:7001', '--node', 'n2=127.0.0.1:7002']


def run(*args, **kw):
    """(status, stdout, stderr) of a run that ends by itself."""
    p = subprocess.run([harness.Router([]).binary, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                       timeout=20 * SLOW, **kw)
    return p.returncode, p.stdout, p.stderr


# ---- the command line ----------------------------------------------------------------------------------------------
def test_version_and_help_go_to_stdout():
    status, out, err = run('--version')
    assert (status, err) == (0, '') and out.startswith('ringway ')
    status, out, err = run('--help')
    assert (status, err) == (0, '')
    for flag in ('--listen', '--node', '--admin', '--set', '--ready-file', '--threads'):
        assert flag in out


@pytest.mark.parametrize('args, status, says', [
    (['--nonsense'], 2, '--nonsense'),
    (['--lisen', '127.0.0.1:0', *NODES], 2, '--listen'),
    (['--listen'], 2, '--listen'),
    (['--listen', '127.0.0.1:0'], 1, 'node'),
    (['--listen', '127.0.0.1:0', *NODES, '--set', 'timeouts.reqest=1s'], 1, 'timeouts.request'),
    (['--listen', '127.0.0.1:0', *NODES, '--set', 'timeouts.request=soon'], 1, 'timeouts.request'),
    (['--listen', '127.0.0.1:0', '--node', 'a=127.0.0.1:1', '--node', 'a=127.0.0.1:2'], 1, 'a'),
    (['--listen', '127.0.0.1:0', '--node', 'a=127.0.0.1:1', '--node', 'b=127.0.0.1:1'], 1, '127.0.0.1:1'),
    (['--listen', '127.0.0.1:0', '--node', 'a=rediss://127.0.0.1:1'], 1, 'TLS is not built in yet'),
    (['--listen', '127.0.0.1:0', '--node', 'redis://user:pw@127.0.0.1:1'], 1, 'password'),
], ids=lambda x: ' '.join(x[-2:]) if isinstance(x, list) else None)
def test_mistakes_are_told_with_the_right_exit_code(args, status, says):
    got, out, err = run(*args)
    assert (got, out) == (status, '')
    assert says in err


def test_a_check_prints_what_would_run_and_starts_nothing():
    status, out, err = run('-t', '--listen', '127.0.0.1:0', '--threads', '3', '--set', 'timeouts.request=321ms', *NODES)
    assert (status, err) == (0, '')
    assert '321ms' in out and 'n1' in out and 'connections' in out


def test_a_port_that_is_taken_is_exit_code_3():
    with socket.socket() as s:
        s.bind((HOST, 0))
        s.listen()
        addr = '%s:%d' % s.getsockname()
        status, out, err = run('--listen', addr, *NODES)
    assert (status, out) == (3, '')
    assert addr in err


# ---- serving -------------------------------------------------------------------------------------------------------
def test_the_ready_file_names_the_addresses(new_fleet):
    router = new_fleet(1).router
    with open(router.ready_path) as f:
        assert sorted(line.partition('=')[0] for line in f.read().splitlines()) == ['admin', 'redis']
    assert [name for name in os.listdir(router.dir) if name not in ('ready', 'log')] == [], 'a temporary file was left'
    with Client(router.addr) as c:
        assert c.call('PING') == PONG


def test_several_listeners_and_a_unix_socket(new_fleet, tmp_path):
    path = str(tmp_path / 'sock')
    router = new_fleet(1, args=['--listen', f'unix:{path}', '--listen', f'{HOST}:0']).router
    with open(router.ready_path) as f:
        addresses = [harness.parse_addr(line[6:]) for line in f.read().splitlines() if line.startswith('redis=')]
    assert len(addresses) == 3 and path in addresses
    for i, addr in enumerate(addresses):
        with Client(addr) as c:
            assert c.call('SET', 'k', i) == OK
            assert c.call('GET', 'k') == b'%d' % i


def test_the_admin_page(new_fleet):
    fleet = new_fleet(2)
    assert fleet.client().call('SET', 'k', 'v') == OK
    for path, says in (('/healthz', b''), ('/readyz', b''), ('/metrics', b'# TYPE ringway_requests_total counter')):
        status, headers, body = http_get(fleet.router.admin, path)
        assert status == 200 and says in body
    assert headers['content-type'].startswith('text/plain')
    assert http_get(fleet.router.admin, '/nothing')[0] == 404
    assert fleet.router.metric('ringway_requests_total') >= 1
    assert fleet.router.metric('ringway_node_requests_total', node=fleet.owner('k')) >= 1


def test_not_ready_without_a_usable_node(new_fleet):
    fleet = new_fleet(2)
    for node in fleet.nodes.values():
        node.kill()
    wait_until(lambda: http_get(fleet.router.admin, '/readyz')[0] == 503, what='/readyz failing')
    assert http_get(fleet.router.admin, '/healthz')[0] == 200
    fleet['n1'].restart()
    wait_until(lambda: http_get(fleet.router.admin, '/readyz')[0] == 200, what='/readyz recovering')


def test_clients_spread_evenly_over_workers(new_fleet):
    """Also when they are few and stay long."""
    fleet = new_fleet(1, threads=3)
    clients = [fleet.client() for _ in range(9)]
    for c in clients:
        assert c.call('PING') == PONG
    # threads that served somebody have used the CPU; the metric says how many clients there are in all
    assert fleet.router.metric('ringway_clients') == 9
    assert harness.thread_count(fleet.router.pid) >= 4


def test_a_client_that_leaves_frees_everything(new_fleet):
    fleet = new_fleet(1)
    with fleet.router.client() as c:
        c.call('PING')
    before = harness.steady_fd_count(fleet.router.pid)
    clients = [fleet.router.client() for _ in range(50)]
    for i, c in enumerate(clients):
        c.send(encode('SET', f'k{i}', 'v' * 1000)[:500 + i])
    for i, c in enumerate(clients):
        c.reset() if i % 2 else c.close()
    wait_until(lambda: harness.fd_count(fleet.router.pid) <= before, what='the descriptors being closed')
    wait_until(lambda: fleet.router.metric('ringway_clients') == 0, what='the clients being gone')
    assert fleet.router.metric('ringway_requests_pending') == 0


# ---- the end -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT], ids=['TERM', 'INT'])
@pytest.mark.parametrize('threads', [1, 3])
def test_idle_clients_are_closed_and_the_exit_code_is_0(new_fleet, number, threads):
    router = new_fleet(1, threads=threads).router
    clients = [router.client() for _ in range(6)]
    for c in clients:
        assert c.call('PING') == PONG
    router.wanted = False
    router.signal(number)
    assert router.popen.wait(5 * SLOW) == 0
    for c in clients:
        assert c.rest() == b''
        c.close()


def test_draining_answers_what_is_outstanding(new_fleet):
    fleet = new_fleet(1, sets={'timeouts.request': '20s'})
    router, client, idle = fleet.router, fleet.client(), fleet.client()
    assert idle.call('PING') == PONG
    client.call('SET', 'k', 'v')
    fleet['n1'].pause()
    client.cmd('GET', 'k')
    wait_until(lambda: router.metric('ringway_node_inflight') >= 1, what='the request at the node')
    router.wanted = False
    router.signal(signal.SIGTERM)
    assert idle.rest(5 * SLOW) == b''
    wait_until(lambda: refuses(router), what='no new client being accepted')
    fleet['n1'].resume()
    assert client.reply() == b'v'
    assert client.rest(5 * SLOW) == b''
    assert router.popen.wait(5 * SLOW) == 0


def refuses(router):
    try:
        Client(router.addr, 1).close()
        return False
    except OSError:
        return True


def test_draining_ends_at_the_drain_timeout(new_fleet):
    fleet = new_fleet(1, sets={'timeouts.request': '30s', 'drain_timeout': '300ms'})
    client = fleet.client()
    client.call('SET', 'k', 'v')
    fleet['n1'].pause()
    client.cmd('GET', 'k')
    wait_until(lambda: fleet.router.metric('ringway_node_inflight') >= 1, what='the request at the node')
    start = time.monotonic()
    fleet.router.wanted = False
    fleet.router.signal(signal.SIGTERM)
    with pytest.raises(Closed):
        client.reply()
    assert fleet.router.popen.wait(5 * SLOW) == 0
    assert 0.29 <= time.monotonic() - start < 0.3 + 1.0 * SLOW


def test_a_restart_on_the_same_port_works_at_once(new_fleet):
    """Also with connections of before in TIME_WAIT."""
    router = new_fleet(1).router
    for _ in range(3):
        addr = router.addr
        client = router.client()
        assert client.call('PING') == PONG
        router.restart()
        assert router.addr == addr
        client.close()
