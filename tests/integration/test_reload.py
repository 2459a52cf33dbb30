# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""SIGHUP: what may change does, at once and for everybody; what may not is refused by name, whole."""

import signal

import pytest

from harness import HOST, RedisServer, Router, wait_until
from resp import OK, PONG, Client
from test_config import FileRouter, pool, start, write  # noqa: F401 (start is a fixture)


def text(nodes, more='', top='log_level: debug\nthreads: 3\n'):
    return f'{top}pools:\n{pool("main", nodes, more)}'


def rewrite(router, new):
    with open(router.path, 'w', encoding='utf-8') as f:
        f.write(new)


def reload(router, said):
    """Sends SIGHUP and waits for what the log then says."""
    seen = len(router.log())
    router.signal(signal.SIGHUP)
    wait_until(lambda: said in router.log()[seen:], what=f'the log saying {said!r}')
    return router.log()[seen:]


def error(reply):
    return str(reply)


@pytest.fixture
def nodes(start):  # noqa: F811
    return [start(RedisServer(f'n{i}')) for i in (1, 2)]


def test_passwords_change_one_by_one(start, nodes, tmp_path):  # noqa: F811
    old, new = write(tmp_path, 'old', 'one\n'), write(tmp_path, 'new', 'two\n')

    def users(*files):
        return '  clients: [{user: default, password_files: [' + ', '.join(f'"{f}"' for f in files) + ']}]\n'

    router = start(FileRouter(text(nodes, users(old))))
    with Client(router.addr) as early:
        assert 'NOAUTH' in error(early.call('GET', 'a'))
        assert early.call('AUTH', 'one') == OK
        rewrite(router, text(nodes, users(old, new)))
        reload(router, 'msg="done"')
        for password in ('one', 'two'):
            with Client(router.addr) as c:
                assert c.call('AUTH', password) == OK
        rewrite(router, text(nodes, users(new)))
        reload(router, 'msg="done"')
        wait_until(lambda: not logs_in(router, 'one'), what='the old password being refused')
        assert logs_in(router, 'two')
        assert early.call('PING') == PONG  # no client is closed
    router.stop()
    assert 'one' not in router.log().replace('done', '') and 'two' not in router.log()


def logs_in(router, password):
    with Client(router.addr) as c:
        return c.call('AUTH', password) == OK


def test_deny_lists_and_users_change(start, nodes):  # noqa: F811
    router = start(FileRouter(text(nodes, '  clients: [{user: default}, {user: app}]\n')))
    with Client(router.addr) as c, Client(router.addr) as app:
        assert app.call('AUTH', 'app', 'anything') == OK
        assert c.call('DBSIZE') == 0
        rewrite(router, text(nodes, '  clients: [{user: default, deny: [DBSIZE]}]\n'))
        reload(router, 'msg="done"')
        wait_until(lambda: 'NOPERM' in error(c.call('DBSIZE')), what='DBSIZE being denied')
        assert c.call('SET', 'a', '1') == OK
        assert app.rest() == b''  # closed: its user is gone


def test_limits_change(start, nodes):  # noqa: F811
    router = start(FileRouter(text(nodes)))
    with Client(router.addr) as c:
        assert c.call('SET', 'a', 'x' * 4000) == OK
        rewrite(router, text(nodes, top='threads: 3\nlog_level: debug\nlimits: {request_size: 2kb, bulk: 1kb, clients: 1}\n'))
        reload(router, 'msg="done"')
        with Client(router.addr) as second:
            assert 'max number of clients' in error(second.reply())
        c.send(b'*3\r\n$3\r\nSET\r\n$1\r\na\r\n$4000\r\n' + b'x' * 4000 + b'\r\n')
        assert 'too big request' in error(c.reply())


@pytest.mark.parametrize('change, named', [
    (lambda t: t.replace('threads: 3', 'threads: 2'), 'threads'),
    (lambda t: t.replace('name: n2', 'name: n3'), 'n2'),
    (lambda t: t.replace('role: cache', 'role: store'), 'role'),
    (lambda t: t.replace('  nodes:', '  ring: {points: 100}\n  nodes:'), 'ring.points'),
    (lambda t: t.replace('pools:', 'pols:'), 'pols'),
    (lambda t: t + '  - [\n', 'ringway.yml:'),
])
def test_what_takes_a_restart_is_refused_by_name(start, nodes, change, named):  # noqa: F811
    before = text(nodes)
    router = start(FileRouter(before))
    with Client(router.addr) as c:
        assert c.call('SET', 'a', '1') == OK
        rewrite(router, change(before).replace('log_level: debug', 'log_level: info'))
        said = reload(router, 'the old configuration goes on serving')
        assert named in said
        assert c.call('GET', 'a') == b'1'
        rewrite(router, before)
        reload(router, 'msg="done"')  # at debug still: nothing of the refused file took effect


def test_without_a_file_there_is_nothing_to_reload(start, nodes):  # noqa: F811
    router = start(Router([(n.name, f"{HOST}:{n.port}") for n in nodes]))
    with Client(router.addr) as c:
        reload(router, 'nothing to reload')
        assert c.call('PING') == PONG


# ---- logging in at nodes -------------------------------------------------------------------------------------------
@pytest.mark.parametrize('user', [None, 'router'])
def test_the_router_logs_in_at_its_nodes(start, tmp_path, user):  # noqa: F811
    args = '--requirepass secret' if user is None else '--user router on >secret ~* &* +@all --user default off'
    path = write(tmp_path, 'pw', 'secret\n')
    nodes = [start(RedisServer(f'g{i}', args=args.split())) for i in (1, 2)]
    auth = f'  node_auth: {{{"user: router, " if user else ""}password_file: "{path}"}}\n'
    router = start(FileRouter(text(nodes, auth)))
    for hello in ((), ('HELLO', '3')):
        with Client(router.addr) as c:
            if hello:
                c.call(*hello)
            for db in (0, 5):
                assert c.call('SELECT', db) == OK
                assert c.call('MSET', *[x for i in range(20) for x in (f'k{i}', i)]) == OK
                assert c.call('GET', 'k7') == b'7'
    router.stop()
    assert 'secret' not in router.log()


def test_a_wrong_password_at_a_node_is_told_and_mended_by_a_reload(start, tmp_path):  # noqa: F811
    path = write(tmp_path, 'pw', 'wrong\n')
    node = start(RedisServer('g1', args=['--requirepass', 'secret']))
    router = start(FileRouter(text([node], f'  node_auth: {{password_file: "{path}"}}\n')))
    with Client(router.addr) as c:
        assert error(c.call('SET', 'a', 1)) == "UNAVAILABLE node 'n1': authentication failed"
        write(tmp_path, 'pw', 'secret\n')
        reload(router, 'msg="done"')
        wait_until(lambda: c.call('SET', 'a', 1) == OK, what='the node being served')
