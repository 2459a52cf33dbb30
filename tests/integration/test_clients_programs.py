# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Programs that people build on Redis, each doing a real job through a router over three nodes: queues, locks, limits,
sessions. They use transactions, blocking commands and scripts as their authors do.
"""
import os
import signal
import subprocess

import pytest

import harness
from installed import CLIENTS, INSTALLED, PYTHON, node_modules, once, run
from resp import SLOW

LIMIT = 60


@pytest.fixture(scope='module', params=[1, 3], ids=['1w', '3w'])
def bed(request):
    nodes = [harness.RedisServer(f'n{i}').start() for i in (1, 2, 3)]
    fleet = harness.Fleet(nodes, threads=request.param)
    try:
        yield fleet.start()
    finally:
        fleet.stop()


@pytest.mark.parametrize('program', ['bullmq', 'redlock', 'rate-limiter-flexible', 'connect-redis'])
def test_nodejs_program(bed, program, monkeypatch):
    node_modules()
    monkeypatch.setenv('RINGWAY_CLIENTS', INSTALLED)
    bed.router.call('FLUSHALL')
    tags = [next(tag for tag in map('tag{}'.format, range(100)) if bed.owner(tag) == name) for name in bed.nodes]
    status, said = run('node', '--no-warnings', os.path.join(CLIENTS, 'node/programs.js'), program, *bed.router.addr, *tags,
                       limit=LIMIT)
    assert status == 0, f'{program}: {said.decode()}'
    if program == 'bullmq':
        assert all(node.call('INFO', 'commandstats').count(b'cmdstat_bzpopmin') for node in bed.nodes.values()), \
            'a node had no queue'


@once
def python_celery():
    return None if run(PYTHON, '-c', 'import celery, redis')[0] == 0 else 'python3-celery is not installed'


class Worker(harness.Process):
    """Celery's, one process and one thread: with several it loses retries now and then, with one Redis too."""

    def start(self, env):
        self.spawn([PYTHON, '-B', '-m', 'celery', '-A', 'celery_app', 'worker', '-P', 'solo', '-l', 'WARNING', '--without-gossip',
                    '--without-mingle', '--without-heartbeat'], env)
        return self

    def stop(self, limit=20.0):
        try:
            return super().stop(limit)
        finally:
            self.kill()


def test_celery(bed):
    python_celery()
    bed.router.call('FLUSHALL')
    env = {'PYTHONPATH': os.path.join(CLIENTS, 'python'), 'PYTHONDONTWRITEBYTECODE': '1',
           'RINGWAY_ADDR': '%s:%d' % bed.router.addr}
    worker = Worker('celery').start(env)
    try:
        job = subprocess.run([PYTHON, '-B', os.path.join(CLIENTS, 'python/celery_job.py')], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, timeout=LIMIT * SLOW,
                             env={**os.environ, **env, harness.MARK: harness.SESSION})
        assert job.returncode == 0, job.stdout.decode() + worker.log_tail()
    finally:
        status = worker.stop()
    assert status in (0, -signal.SIGTERM), worker.log_tail()
