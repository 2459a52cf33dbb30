// SPDX-License-Identifier: Apache-2.0
// Copyright the Ringway authors
//
// Programs that people build on Redis, each doing a job through a router, told by tests/integration/test_clients_programs.py:
//
//   programs.js NAME HOST PORT TAG...
//
// Ends with 0 when the job was done right, and says why when it was not. The tags have different owners, so that what
// carries one of them as {tag} lies on one node, and all of it together on all. RINGWAY_CLIENTS is the folder that the
// packages are installed under.
'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const http = require('node:http');
const { createRequire } = require('node:module');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');

const installed = createRequire(path.join(process.env.RINGWAY_CLIENTS, 'package.json'));
const [, , name, host, port, ...tags] = process.argv;
const slow = Number(process.env.RINGWAY_SLOW || 1);
const numbers = (n) => Array.from({ length: n }, (_, i) => i);

async function until(call, what, seconds = 15) {
  const end = Date.now() + seconds * 1000 * slow;
  while (!(await call())) {
    if (Date.now() > end) throw new Error(`not in time: ${what}`);
    await sleep(20);
  }
}

/** ioredis as the package itself has it, which is not always the version that we installed. */
function ioredis(of, more) {
  const { Redis } = of ? createRequire(installed.resolve(of))('ioredis') : installed('ioredis');
  return new Redis({ host, port: Number(port), ...more });
}

// ---- bullmq: a queue per node ----------------------------------------------------------------------------------------
async function work(job) {
  switch (job.name) {
    case 'double': return job.data * 2;
    case 'late': return Date.now() - job.data;
    case 'third time': if (job.attemptsMade < 2) throw new Error('not yet'); return job.attemptsMade;
    case 'never': throw new Error('never');
    case 'slow': await job.updateProgress(50); await sleep(50); return 'slow';
    case 'parent': return Object.values(await job.getChildrenValues()).sort();
    default: return job.name;
  }
}

async function one_queue(bull, tag) {
  const name = `{${tag}}`;
  const connection = ioredis('bullmq', { maxRetriesPerRequest: null });
  const queue = new bull.Queue(name, { connection });
  const worker = new bull.Worker(name, work, { connection, concurrency: 5, drainDelay: 1 });
  const events = new bull.QueueEvents(name, { connection });
  const seen = { completed: [], failed: [], progress: [], delayed: [], errors: [] };
  events.on('completed', ({ jobId }) => seen.completed.push(jobId));
  events.on('failed', ({ jobId, failedReason }) => seen.failed.push([jobId, failedReason]));
  events.on('progress', ({ data }) => seen.progress.push(data));
  events.on('delayed', ({ jobId }) => seen.delayed.push(jobId));
  for (const part of [queue, worker, events]) part.on('error', (error) => seen.errors.push(error));
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady(), events.waitUntilReady()]);
  const result = (job) => job.waitUntilFinished(events, 15000 * slow);

  const doubles = await Promise.all(numbers(60).map((i) => queue.add('double', i)));
  assert.deepEqual(await Promise.all(doubles.map(result)), numbers(60).map((i) => 2 * i));
  const bulk = await queue.addBulk(numbers(60).map((i) => ({ name: 'double', data: i, opts: { priority: 1 + i % 3 } })));
  assert.deepEqual(await Promise.all(bulk.map(result)), numbers(60).map((i) => 2 * i));

  const late = await queue.add('late', Date.now(), { delay: 300 });
  const took = await result(late);
  assert.ok(took >= 295 && took < 300 + 2000 * slow, `a delay of 300 ms took ${took}`);
  assert.ok(seen.delayed.includes(late.id));

  const again = await queue.add('third time', 0, { attempts: 3, backoff: { type: 'fixed', delay: 30 } });
  assert.equal(await result(again), 2);
  const never = await queue.add('never', 0, { attempts: 2 });
  await assert.rejects(result(never), /never/);
  assert.deepEqual(seen.failed, [[never.id, 'never']]);
  assert.equal(await never.getState(), 'failed');
  assert.equal(await result(await queue.add('slow', 0)), 'slow');
  assert.deepEqual(seen.progress, [50]);
  // The same id twice is one job.
  const [a, b] = await Promise.all([queue.add('once', 0, { jobId: 'only' }), queue.add('once', 0, { jobId: 'only' })]);
  assert.equal(a.id, b.id);
  assert.equal(await result(a), 'once');

  await queue.pause();
  const paused = await queue.add('double', 21);
  await sleep(100);
  assert.equal(await queue.getWaitingCount() + (await queue.getJobCounts('paused')).paused > 0, true);
  await queue.resume();
  assert.equal(await result(paused), 42);

  await queue.upsertJobScheduler('ticks', { every: 100, limit: 3 }, { name: 'tick' });
  await until(() => seen.completed.filter((id) => id.startsWith('repeat:ticks')).length >= 3, 'three ticks');

  const flow = new bull.FlowProducer({ connection });
  const tree = await flow.add({
    name: 'parent', queueName: name,
    children: numbers(5).map((i) => ({ name: 'double', data: i, queueName: name })),
  });
  assert.deepEqual(await result(tree.job), [0, 2, 4, 6, 8]);

  const counts = await queue.getJobCounts('completed', 'failed', 'active', 'delayed', 'wait');
  assert.deepEqual([counts.failed, counts.active, counts.wait], [1, 0, 0]);
  assert.ok(counts.completed >= 60 + 60 + 4 + 6 && new Set(seen.completed).size === seen.completed.length);
  assert.deepEqual(seen.errors, []);
  await Promise.all([worker.close(), events.close(), flow.close()]);
  await queue.obliterate({ force: true });
  await queue.close();
  const left = (await connection.keys(`bull:${name}:*`)).filter((key) => !key.endsWith(':stalled-check'));
  assert.deepEqual(left, []);
  connection.disconnect();
}

async function bullmq() {
  const bull = installed('bullmq');
  await Promise.all(tags.map((tag) => one_queue(bull, tag)));
}

// ---- redlock: who has the lock may do what is not atomic ---------------------------------------------------------------
async function redlock() {
  const { default: Redlock, ResourceLockedError } = installed('redlock');
  const clients = numbers(6).map(() => ioredis());
  const locks = clients.map((c) => new Redlock([c], { retryCount: 1000, retryDelay: 5, retryJitter: 10 }));
  for (const tag of tags) {
    await clients[0].set(`count:${tag}`, 0);
    await Promise.all(numbers(6).map(async (i) => {
      for (let turn = 0; turn < 10; turn++) {
        await locks[i].using([`lock:${tag}`], 5000 * slow, async () => {
          const value = Number(await clients[i].get(`count:${tag}`));
          await sleep(1);
          await clients[i].set(`count:${tag}`, value + 1);
        });
      }
    }));
    assert.equal(await clients[0].get(`count:${tag}`), '60');
  }
  const impatient = new Redlock([clients[0]], { retryCount: 0 });
  const held = await locks[1].acquire([`{${tags[0]}}a`, `{${tags[0]}}b`], 5000 * slow); // several resources share a tag
  await assert.rejects(impatient.acquire([`{${tags[0]}}b`], 1000), (e) => /quorum/.test(e.message));
  const extended = await held.extend(5000 * slow);
  await extended.release();
  await (await impatient.acquire([`{${tags[0]}}b`], 1000)).release();
  const short = await impatient.acquire(['expires'], 100);
  await until(() => impatient.acquire(['expires'], 1000).then(() => true, () => false), 'a lock that ran out');
  await assert.rejects(short.extend(1000));
  assert.ok(ResourceLockedError);
  clients.forEach((c) => c.disconnect());
}

// ---- rate-limiter-flexible: counted by scripts --------------------------------------------------------------------------
async function limits(rl, storeClient, more) {
  const keyPrefix = `rate:${more.useRedisPackage ? 'redis' : 'ioredis'}`;
  const limiter = new rl.RateLimiterRedis({
    storeClient, keyPrefix, points: 5, duration: 2 * slow, blockDuration: 3 * slow, ...more,
  });
  const users = numbers(30).map((i) => `user ${i}`);
  await Promise.all(users.map(async (user) => {
    const turns = await Promise.allSettled(numbers(8).map(() => limiter.consume(user)));
    assert.equal(turns.filter((t) => t.status === 'fulfilled').length, 5, `${user}: ${JSON.stringify(turns)}`);
    for (const t of turns) assert.ok(t.status === 'fulfilled' || t.reason.msBeforeNext > 0, `${t.reason}`);
  }));
  await assert.rejects(limiter.consume(users[0]), (why) => why.msBeforeNext > 2000 * slow - 500); // blocked for longer
  assert.equal((await limiter.get(users[1])).remainingPoints, 0);
  assert.equal(await limiter.delete(users[1]), true);
  assert.equal((await limiter.consume(users[1], 2)).remainingPoints, 3);
  assert.equal((await limiter.penalty(users[1], 1)).consumedPoints, 3);
  assert.equal((await limiter.reward(users[1], 2)).consumedPoints, 1);
  assert.equal(await limiter.get('nobody'), null);
  await limiter.block('bad', 10);
  await assert.rejects(limiter.consume('bad'));
  const brief = new rl.RateLimiterRedis({ storeClient, keyPrefix: `${keyPrefix}:brief`, points: 1, duration: 1, ...more });
  await brief.consume('x');
  await assert.rejects(brief.consume('x'), (why) => why.msBeforeNext > 0 && why.msBeforeNext <= 1000);
  await until(() => brief.consume('x').then(() => true, () => false), 'the next second');
}

async function rate_limiter() {
  const rl = installed('rate-limiter-flexible');
  const io = ioredis();
  await limits(rl, io, {});
  io.disconnect();
  const client = installed('redis5').createClient({ socket: { host, port: Number(port) } });
  await client.connect();
  await limits(rl, client, { useRedisPackage: true });
  client.destroy();
}

// ---- connect-redis: the sessions of a web server -----------------------------------------------------------------------
function ask(server, where, cookie) {
  return new Promise((resolve, reject) => {
    const to = { port: server.address().port, path: where, headers: cookie ? { cookie } : {} };
    http.get(to, async (answer) => {
      let body = '';
      for await (const part of answer) body += part;
      resolve({ body, cookie: (answer.headers['set-cookie'] || [''])[0].split(';')[0] || cookie });
    }).on('error', reject);
  });
}

async function sessions() {
  const session = installed('express-session');
  const { RedisStore } = installed('connect-redis');
  const client = installed('redis').createClient({ socket: { host, port: Number(port) } });
  await client.connect();
  const store = new RedisStore({ client, prefix: 'session:', ttl: 100 });
  await store.clear();
  const handle = session({ store, secret: 'of the test', resave: false, saveUninitialized: false });
  const server = http.createServer((request, response) => handle(request, response, (error) => {
    if (error) return response.end(`error ${error}`);
    if (request.url === '/out') return request.session.destroy(() => response.end('out'));
    request.session.count = (request.session.count || 0) + 1;
    return response.end(String(request.session.count));
  })).listen(0, '127.0.0.1');
  await once(server, 'listening');

  const visitors = await Promise.all(numbers(40).map(() => ask(server, '/')));
  assert.equal(new Set(visitors.map((v) => v.cookie)).size, 40);
  for (const count of ['2', '3']) {
    const answers = await Promise.all(visitors.map((v) => ask(server, '/', v.cookie)));
    assert.deepEqual(answers.map((a) => a.body), numbers(40).map(() => count));
  }
  assert.equal((await ask(server, '/out', visitors[0].cookie)).body, 'out');
  assert.equal((await ask(server, '/', visitors[0].cookie)).body, '1');
  await until(async () => (await store.length()) === 40, '40 sessions');
  assert.equal((await store.ids()).length, 40);
  assert.deepEqual([...new Set((await store.all()).map((s) => s.count))].sort(), [1, 3]);
  const ttl = await client.ttl(`session:${(await store.ids())[0]}`);
  assert.ok(ttl > 50 && ttl <= 100);
  await store.clear();
  assert.equal(await store.length(), 0);
  server.close();
  client.destroy();
}

const programs = { bullmq, redlock, 'rate-limiter-flexible': rate_limiter, 'connect-redis': sessions };
process.on('unhandledRejection', (error) => { console.log(`unhandled: ${error && error.stack}`); process.exit(1); });
programs[name]().then(() => process.exit(0), (error) => { console.log(error && error.stack || error); process.exit(1); });
