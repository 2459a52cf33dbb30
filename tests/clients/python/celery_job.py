# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Sends tasks to celery_app's workers and checks their results; ends with 0 when all was right."""
import os
import time

import celery

from celery_app import add, never, third_time, total

SLOW = float(os.environ.get('RINGWAY_SLOW', '1'))


def result(r, seconds=30):
    """The outcome, asked for again and again: no subscription."""
    end = time.monotonic() + seconds * SLOW
    while not r.ready():
        assert time.monotonic() < end, f'{r} is not ready'
        time.sleep(0.01)
    return r.result


def job():
    assert [result(r) for r in [add.delay(i, i) for i in range(100)]] == [2 * i for i in range(100)]
    assert result(third_time.delay()) == 2
    failed = never.delay()
    assert isinstance(result(failed), ValueError) and failed.status == 'FAILURE'
    start = time.monotonic()
    assert result(add.apply_async((1, 2), countdown=0.5)) == 3 and time.monotonic() - start > 0.4
    group = celery.group(add.s(i, 1) for i in range(20))()
    assert [result(r) for r in group.results] == list(range(1, 21))
    assert result(celery.chain(add.s(1, 1), add.s(10), add.s(100))()) == 112
    assert result(celery.chord((add.s(i, i) for i in range(10)), total.s())()) == 90
    assert result(add.apply_async((5, 5), priority=9)) == 10
    group.forget()


if __name__ == '__main__':
    job()
