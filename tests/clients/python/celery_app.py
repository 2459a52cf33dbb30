# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
"""Celery with broker and result backend behind a router: what `celery -A celery_app worker` does, and celery_job.py asks.

RINGWAY_ADDR is the router's HOST:PORT. The broker's keys carry one hash tag, since its BRPOP asks several queues at once;
results have a key each and need none.
"""
import os

import celery
import celery.backends.redis

ADDR = os.environ['RINGWAY_ADDR']


class Backend(celery.backends.redis.RedisBackend):
    """A chord counts in several keys, which one transaction reads: they share a tag."""
    group_keyprefix = '{celery}-taskset-meta-'
    chord_keyprefix = '{celery}-chord-unlock-'


app = celery.Celery('ringway', broker=f'redis://{ADDR}/0', backend=f'celery_app.Backend+redis://{ADDR}/1')
app.conf.update(
    broker_transport_options={'global_keyprefix': '{celery}', 'visibility_timeout': 60},
    worker_enable_remote_control=False, worker_send_task_events=False, broker_connection_retry=True,
    result_expires=300, task_acks_late=True, task_default_queue='work', accept_content=['json'],
    worker_prefetch_multiplier=4,
)


@app.task
def add(a, b):
    return a + b


@app.task(bind=True, max_retries=5)
def third_time(self):
    if self.request.retries < 2:
        raise self.retry(countdown=0)
    return self.request.retries


@app.task
def never():
    raise ValueError('never')


@app.task
def total(parts):
    return sum(parts)
