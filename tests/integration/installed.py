# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Programs of others that tests run: are they installed?

What is not installed is skipped, with the reason. RINGWAY_TESTS_STRICT=1 makes a failure of whatever keeps a program that
is installed from being tested. The Node.js packages are installed into build/clients, at the versions of the lock file.
"""
import fcntl
import functools
import hashlib
import os
import shutil
import subprocess

import pytest

import harness
from resp import SLOW

CLIENTS = os.path.join(harness.ROOT, 'tests/clients')
INSTALLED = os.path.join(harness.ROOT, 'build/clients')
PYTHON = '/usr/bin/python3'  # Debian's own: the first one on PATH may lack Debian's modules
STRICT = os.environ.get('RINGWAY_TESTS_STRICT') == '1'


def need(*programs):
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f'{program} is not installed')


def unusable(why):
    """The program is there, but can't be tested."""
    pytest.fail(why) if STRICT else pytest.skip(why)


def run(*argv, data=b'', limit=60):
    """(status, output with errors) of a program that ends by itself."""
    p = subprocess.run([str(a) for a in argv], input=data, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       timeout=limit * SLOW, env={**os.environ, harness.MARK: harness.SESSION})
    return p.returncode, p.stdout


def once(install):
    """install() is called once a session; it gives None, or why it is not possible."""
    install = functools.lru_cache(None)(install)

    def check():
        why = install()
        if why:
            unusable(why)
    return check


class Lock:
    """One test session at a time in build/clients."""

    def __enter__(self):
        os.makedirs(INSTALLED, exist_ok=True)
        self.file = open(os.path.join(INSTALLED, '.lock'), 'w')
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_):
        self.file.close()


def is_stamped(name, stamp, write=False):
    """Was it made of what the stamp stands for? Afterwards: it was."""
    path = os.path.join(INSTALLED, name)
    if write:
        with open(path, 'w') as f:
            f.write(stamp)
    return os.path.exists(path) and open(path).read() == stamp


@once
def node_modules():
    need('node', 'npm')
    source, stamp = os.path.join(CLIENTS, 'node'), hashlib.sha256()
    with Lock():
        for name in ('package.json', 'package-lock.json'):
            with open(os.path.join(source, name), 'rb') as f:
                stamp.update(f.read())
        if is_stamped('.installed', stamp.hexdigest()):
            return None
        for name in ('package.json', 'package-lock.json'):
            shutil.copy(os.path.join(source, name), INSTALLED)
        try:
            status, output = run('npm', 'ci', '--prefix', INSTALLED, '--ignore-scripts', '--no-audit', '--no-fund',
                                 '--prefer-offline', '--fetch-retries=1', limit=120)
        except subprocess.TimeoutExpired:
            return 'npm ci did not end in time'
        if status != 0:
            return f'npm ci failed: {output.decode()[-500:]}'
        is_stamped('.installed', stamp.hexdigest(), write=True)
    return None
