# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Times and texts that the fault tests share. Slow builds get longer deadlines, and texts name them as they are."""
import re
import time

import pytest

from resp import SLOW, Error

SLACK = 0.4 * SLOW  # what a busy machine may add to a deadline, in seconds


def scaled(milliseconds):
    return int(milliseconds * SLOW)


def ms(milliseconds):
    """As a value of --set."""
    return f'{scaled(milliseconds)}ms'


def seconds(milliseconds):
    return scaled(milliseconds) / 1000


def unavailable(node, why):
    return Error(f"UNAVAILABLE node '{node}': {why}")


def timed_out(node, deadline, write=False):
    return unavailable(node, f'timeout after {scaled(deadline)} ms' + (', outcome unknown' if write else ''))


def queue_full(node):
    return Error(f"OVERLOADED node '{node}': queue full")


def is_lost(reply, node='n2'):
    """Lost after the request had left: a write may or may not have happened."""
    return isinstance(reply, Error) and bool(
        re.fullmatch(f"UNAVAILABLE node '{node}': connection lost(, outcome unknown)?", reply))


def timed(call, *args):
    """(result, seconds it took)"""
    start = time.monotonic()
    result = call(*args)
    return result, time.monotonic() - start


def must_be_served(reply):
    """Skips a test of commands that the router does not serve yet; it runs by itself once they are."""
    if isinstance(reply, Error) and reply.endswith('is not served yet'):
        pytest.skip(reply)
    return reply
