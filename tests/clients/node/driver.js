// SPDX-License-Identifier: Apache-2.0
// Copyright the Ringway authors
//
// A Node.js client library against a router, told by tests/integration/test_clients.py what to do.
//
//   driver.js LIBRARY RESP HOST PORT
//
// Reads a step a line, "pipeline 1000", and answers a line each: "ok", "fail WHY" or, to the first, "skip WHY". What a
// library calls things is in libraries.js; RINGWAY_CLIENTS is the folder that its packages are installed under.
'use strict';

const assert = require('node:assert/strict');
const readline = require('node:readline');
const { setTimeout: sleep } = require('node:timers/promises');
const libraries = require('./libraries.js');

const [, , name, resp, host, port] = process.argv;
const library = libraries[name];
const slow = Number(process.env.RINGWAY_SLOW || 1);
let client;

/** All bytes there are, and the three that make protocols stumble. */
const EVERY_BYTE = Buffer.concat([Buffer.from(Array.from({ length: 256 }, (_, i) => i)), Buffer.from('\r\n$-1\r\n\0')]);

const text = (reply) => (reply === null || reply === undefined ? reply : String(reply));
const numbers = (n) => Array.from({ length: n }, (_, i) => i);

async function fails(promise, pattern) {
  await assert.rejects(promise, (error) => pattern.test(String(error.message || error)) || assert.fail(`${error}`));
}

/** Calls until it succeeds; a reconnecting library may give any error until then. */
async function eventually(call, seconds = 10) {
  const end = Date.now() + seconds * 1000 * slow;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (Date.now() > end) throw error;
      await sleep(20);
    }
  }
}

const steps = {
  async connect() {
    client = await library.connect({ host, port: Number(port), resp: Number(resp) });
    assert.equal(text(await client.call('PING')), 'PONG');
    assert.equal(text(await client.call('ECHO', 'grüße')), 'grüße');
    assert.equal(await client.get('nobody'), null);
  },

  async pipeline(count) {
    const half = Number(count) / 2;
    const commands = numbers(half).flatMap((i) => [['SET', `pipe:${i}`, `value ${i}`], ['GET', `pipe:${i}`]]);
    const replies = await client.pipeline(commands);
    assert.equal(replies.length, 2 * half);
    replies.forEach((reply, i) => assert.equal(text(reply), i % 2 ? `value ${(i - 1) / 2}` : 'OK'));
  },

  async split() {
    const pairs = numbers(300).map((i) => [`split:${i}`, `v${i}`]);
    const keys = pairs.map(([key]) => key);
    assert.equal(text(await client.mset(pairs)), 'OK');
    const values = await client.mget([...keys.slice(0, 150), 'split:none', ...keys.slice(150)]);
    const expected = [...pairs.slice(0, 150).map(([, v]) => v), null, ...pairs.slice(150).map(([, v]) => v)];
    assert.deepEqual(values.map(text), expected);
    assert.equal(await client.exists(keys), 300);
    assert.equal(await client.touch(keys), 300);
    assert.equal(await client.del([...keys.slice(0, 100), 'split:none']), 100);
    assert.equal(await client.unlink(keys), 200);
    assert.equal(await client.exists(keys), 0);
  },

  async binary() {
    const key = Buffer.concat([Buffer.from('bin:'), EVERY_BYTE]);
    assert.equal(text(await client.set(key, EVERY_BYTE)), 'OK');
    assert.deepEqual(await client.getBuffer(key), EVERY_BYTE);
    assert.equal(text(await client.set('bin:empty', '')), 'OK');
    assert.equal(text(await client.get('bin:empty')), '');
    assert.equal(await client.del([key, 'bin:empty']), 2);
  },

  async big(size) {
    const value = Buffer.alloc(Number(size), 'ringway, ');
    assert.equal(text(await client.set('big', value)), 'OK');
    assert.ok((await client.getBuffer('big')).equals(value));
    const [small, large] = await client.mget(['big:none', 'big']);
    assert.deepEqual([small, Buffer.byteLength(large)], [null, Number(size)]);
    assert.equal(await client.del(['big']), 1);
  },

  async errors(one, other) {
    await client.set(one, 'a string');
    await fails(client.call('LPUSH', one, 'x'), /WRONGTYPE/);
    await fails(client.call('SUNION', one, other), /CROSS-?SLOT/i);
    await fails(client.call('NOSUCHCOMMAND', 'x'), /unknown command/i);
    await fails(client.call('SHUTDOWN'), /refused/);
    const mixed = await client.pipeline([['SET', one, 'x'], ['LPUSH', one, 'x'], ['SUNION', one, other], ['GET', one]]);
    assert.equal(text(mixed[0]), 'OK');
    assert.match(String(mixed[1]), /WRONGTYPE/);
    assert.match(String(mixed[2]), /CROSS-?SLOT/i);
    assert.equal(text(mixed[3]), 'x');
  },

  async types() {
    await client.del(['types:hash', 'types:set', 'types:zset', 'types:stream']);
    await client.call('HSET', 'types:hash', 'a', '1', 'b', '2');
    await client.call('SADD', 'types:set', 'x', 'y');
    await client.call('ZADD', 'types:zset', '1.5', 'x', '2', 'y', 'inf', 'z');
    await client.call('XADD', 'types:stream', '1-1', 'f', 'v');
    assert.deepEqual(await client.types('types:hash', 'types:set', 'types:zset', 'types:stream'), {
      hash: { a: '1', b: '2' }, set: ['x', 'y'], score: 1.5, none: null,
      range: [['x', 1.5], ['y', 2], ['z', Infinity]], stream: [['1-1', ['f', 'v']]],
    });
    // The wire itself: a RESP3 library must have been given a map, a set, a double.
    if (client.raw) assert.deepEqual(await client.raw('types:hash', 'types:set', 'types:zset'), ['map', 'set', 'double']);
  },

  async scan() {
    const keys = numbers(500).map((i) => `scan:${i}`);
    await client.mset(keys.map((key) => [key, 'v']));
    assert.deepEqual((await client.scan('scan:*')).sort(), keys.sort());
    assert.equal(await client.del(keys), 500);
  },

  async transaction() {
    const [a, b] = ['{tx}a', '{tx}b'];
    await client.del([a, b]);
    const commands = [['INCR', a], ['RPUSH', b, 'x'], ['GET', a], ['LRANGE', b, '0', '-1']];
    for (const n of [1, 2, 3]) {
      const replies = await client.transaction(a, async () => {}, commands);
      assert.deepEqual(replies.slice(0, 3).map(text), [`${n}`, `${n}`, `${n}`]);
      assert.deepEqual(replies[3].map(text), numbers(n).map(() => 'x'));
    }
    assert.equal(await client.transaction(a, () => client.set(a, '7'), commands), null);
    const mixed = await client.transaction(a, async () => {}, [['LPUSH', a, 'x'], ['INCR', a]]).catch((error) => error);
    if (Array.isArray(mixed)) assert.equal(text(mixed[1]), '8'); // others throw the first error
    assert.equal(await client.get(a), '8');
  },

  async waits() {
    await client.del(['waits', 'waits:none']);
    assert.equal(await client.pop('waits:none', 0.1), null);
    await client.call('RPUSH', 'waits', 'x', 'y');
    assert.deepEqual((await client.pop('waits', 5)).map(text), ['waits', 'x']);
    assert.deepEqual((await client.pop('waits', 0)).map(text), ['waits', 'y']);
    assert.equal(await client.get('waits'), null);
  },

  async password(other, right, wrong) {
    const to = { host, port: Number(other), resp: Number(resp) };
    const c = await library.connect({ ...to, password: right });
    assert.equal(text(await c.set('with password', 'x')), 'OK');
    await c.close();
    await fails(library.connectOnce({ ...to, password: wrong }), /WRONGPASS|invalid username-password|Password authentication failed/);
    await fails(library.connectOnce(to), /NOAUTH|Authentication required/i);
  },

  async down(dead, alive) {
    await fails(client.get(dead), /UNAVAILABLE/);
    assert.equal(text(await client.set(alive, 'still')), 'OK');
    await fails(client.mget([alive, dead]), /UNAVAILABLE/);
    assert.equal(text(await client.get(alive)), 'still');
  },

  async back(...keys) {
    for (const key of keys) {
      await eventually(() => client.set(key, 'back'));
      assert.equal(text(await client.get(key)), 'back');
    }
  },
};

/** Versions of Node.js that the library does not promise to run on. */
function too_old(needs) {
  const least = Number(/>=\s*(\d+)/.exec(needs || '>=0')[1]);
  return Number(process.versions.node.split('.')[0]) < least;
}

async function main() {
  const about = libraries.about(name);
  if (too_old(about.needs)) {
    console.log(`skip ${name} ${about.version} wants Node.js ${about.needs}, this is ${process.version}`);
    return;
  }
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [step, ...args] = line.split(' ');
    try {
      await steps[step](...args);
      console.log('ok');
    } catch (error) {
      console.log(`fail ${step}: ${String(error.stack || error).replaceAll('\n', ' | ')}`);
    }
  }
}

main().then(() => client && client.close()).then(() => process.exit(0));
