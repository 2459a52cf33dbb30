# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""./dev run does what the README says: nodes and a router, told how to talk to them, and nothing left afterwards."""
import os
import re
import signal
import socket
import subprocess

import pytest

import harness
from harness import HOST, MARK, SESSION, free_port, leftovers, wait_until
from resp import OK, PONG, SLOW, Client

DEV = os.path.join(harness.ROOT, 'dev')
ENV = {**os.environ, 'RINGWAY_BUILD_DIR': harness.BUILD_DIR, MARK: SESSION}


def test_help_lists_the_commands():
    out = subprocess.run([DEV, 'help'], capture_output=True, text=True, check=True).stdout
    for command in 'run build test check lint asan tsan fuzz bench coverage soak help'.split():
        assert re.search(rf'^  (\w+, )?{command}\b', out, re.M), command
    p = subprocess.run([DEV, 'nonsense'], capture_output=True, text=True)
    assert p.returncode != 0 and 'nonsense' in p.stderr


@pytest.fixture
def started():
    """started(...) runs ./dev run; its output goes to a file that is read as it grows."""
    made = []

    def start(*args):
        p = harness.Process('dev')
        p.spawn([DEV, 'run', *args], env=ENV)
        made.append(p)
        return p
    yield start
    for p in made:
        p.kill()


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM], ids=['INT', 'TERM'])
def test_run_serves_and_stops_cleanly(started, number):
    before = set(leftovers())
    port, admin = free_port(), free_port()
    p = started('--port', port, '--admin-port', admin)
    p.wait_started(lambda: 'Ctrl-C stops' in p.log(), 30)
    with Client((HOST, port)) as c:
        assert c.call('SET', 'hello', 'world') == OK
        assert c.call('PING') == PONG
    assert harness.http_get((HOST, admin), '/readyz')[0] == 200
    assert f'redis-cli -p {port} get hello' in p.log() and f'{HOST}:{admin}/metrics' in p.log()
    assert len(re.findall(r'cache-\d=', p.log())) >= 3
    p.wanted = False
    p.signal(number)
    assert p.popen.wait(10 * SLOW) == 0
    assert set(leftovers()) <= before


def test_run_ends_with_its_nodes_when_the_router_dies(started):
    before = set(leftovers())
    p = started('--port', free_port(), '--admin-port', free_port())
    p.wait_started(lambda: 'Ctrl-C stops' in p.log(), 30)
    router = [pid for pid in set(leftovers()) - before if exe(pid).endswith('/ringway')]
    p.wanted = False
    os.kill(router[0], signal.SIGKILL)
    assert p.popen.wait(10 * SLOW) != 0
    assert 'the router ended' in p.log()
    wait_until(lambda: set(leftovers()) <= before, what='the nodes being stopped')


def exe(pid):
    try:
        return os.readlink(f'/proc/{pid}/exe')
    except OSError:
        return ''


def test_run_says_which_port_is_taken():
    with socket.socket() as s:
        s.bind((HOST, 0))
        s.listen()
        port = s.getsockname()[1]
        p = subprocess.run([DEV, 'run', '--port', str(port)], capture_output=True, text=True, env=ENV,
                           timeout=60 * SLOW)
    assert p.returncode != 0
    assert f'port {port}' in p.stderr and '--port' in p.stderr
