// SPDX-License-Identifier: Apache-2.0
// Copyright the Ringway authors
//
// What each library calls things: connect() gives an object with
//   call(...words)  get set getBuffer  mset(pairs) mget del exists unlink touch (arrays of keys)
//   pipeline(commands): the replies, errors among them  scan(pattern): all keys  types(...)  raw(...)  close()
//   transaction(watched, meanwhile, commands): WATCH, meanwhile(), MULTI ... EXEC; the replies, or null
//   pop(key, seconds): BLPOP; [key, element] or null
// connect() waits until the library is connected; connectOnce() does not try again when it is turned away.
'use strict';

const { createRequire } = require('node:module');
const path = require('node:path');

const installed = createRequire(path.join(process.env.RINGWAY_CLIENTS, 'package.json'));
const PACKAGES = {
  ioredis: 'ioredis', iovalkey: 'iovalkey', redis4: 'redis4', redis5: 'redis5', redis6: 'redis', glide: '@valkey/valkey-glide',
};

const pairs = (flat) => Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]);
const strings = (list) => Array.from(list, String).sort();

// ---- ioredis, and iovalkey, which was made of it --------------------------------------------------------------------
function io(Redis, { host, port, resp, password, ...more }) {
  const protocol = resp === 3 ? { protocol: 3, replyMapping: 'resp3' } : { protocol: 2 };
  const redis = new Redis({ host, port, password, ...protocol, ...more });
  const seen = [];
  redis.on('error', (error) => seen.push(error));
  return {
    redis, seen,
    call: (...words) => redis.call(...words),
    get: (key) => redis.get(key),
    getBuffer: (key) => redis.getBuffer(key),
    set: (key, value) => redis.set(key, value),
    mset: (all) => redis.mset(all.flat()),
    mget: (keys) => redis.mget(keys),
    del: (keys) => redis.del(keys),
    exists: (keys) => redis.exists(keys),
    unlink: (keys) => redis.unlink(keys),
    touch: (keys) => redis.touch(keys),
    async pipeline(commands) {
      const p = redis.pipeline();
      for (const words of commands) p.call(...words);
      return (await p.exec()).map(([error, reply]) => error || reply);
    },
    async transaction(watched, meanwhile, commands) {
      await redis.watch(watched);
      await meanwhile();
      const multi = redis.multi();
      for (const words of commands) multi.call(...words);
      const replies = await multi.exec();
      return replies && replies.map(([error, reply]) => error || reply);
    },
    pop: (key, seconds) => redis.blpop(key, seconds),
    async scan(match) {
      const found = [];
      for await (const keys of redis.scanStream({ match, count: 100 })) found.push(...keys);
      return found;
    },
    async types(hash, set, zset, stream) {
      const range = await redis.zrange(zset, 0, -1, 'WITHSCORES');
      const flat = range.flat();
      return {
        hash: { ...(await redis.hgetall(hash)) }, set: strings(await redis.smembers(set)),
        score: Number(await redis.zscore(zset, 'x')), none: await redis.get('types:none'),
        range: pairs(flat).map(([m, s]) => [m, s === 'inf' ? Infinity : Number(s)]),
        stream: await redis.xrange(stream, '-', '+'),
      };
    },
    // In this mapping a map is an object and a double a number; sets are arrays in both.
    raw: resp !== 3 ? null : async (hash, set, zset) => {
      const map = await redis.call('HGETALL', hash);
      const members = await redis.call('SMEMBERS', set);
      const score = await redis.call('ZSCORE', zset, 'x');
      return [Array.isArray(map) ? 'array' : 'map', members.length === 2 ? 'set' : 'nothing',
        typeof score === 'number' ? 'double' : typeof score];
    },
    close: () => redis.disconnect(),
  };
}

function io_library(name) {
  const Redis = installed(PACKAGES[name]).Redis;
  return {
    async connect(to) {
      const c = io(Redis, to);
      await c.redis.ping();
      return c;
    },
    async connectOnce(to) {
      const c = io(Redis, { ...to, retryStrategy: null, lazyConnect: true });
      try {
        await c.redis.connect();
        await c.redis.get('x');
      } catch (error) {
        throw c.seen.find((e) => /WRONGPASS|NOAUTH/.test(e.message)) || error;
      } finally {
        c.close();
      }
    },
  };
}

// ---- node-redis 4, 5, 6 ---------------------------------------------------------------------------------------------
function node_redis(name, { host, port, resp, password, reconnectStrategy = 50 }) {
  const lib = installed(PACKAGES[name]);
  const four = name === 'redis4';
  const redis = lib.createClient({ socket: { host, port, reconnectStrategy }, password, ...(four ? {} : { RESP: resp }) });
  redis.on('error', () => {});
  const buffers = four ? null : redis.withTypeMapping({ [lib.RESP_TYPES.BLOB_STRING]: Buffer });
  return {
    redis,
    call: (...words) => redis.sendCommand(words),
    get: (key) => redis.get(key),
    getBuffer: (key) => (four ? redis.get(lib.commandOptions({ returnBuffers: true }), key) : buffers.get(key)),
    set: (key, value) => redis.set(key, value),
    mset: (all) => redis.mSet(all),
    mget: (keys) => redis.mGet(keys),
    del: (keys) => redis.del(keys),
    exists: (keys) => redis.exists(keys),
    unlink: (keys) => redis.unlink(keys),
    touch: (keys) => redis.touch(keys),
    // What is sent within one turn of the event loop leaves in one write.
    async pipeline(commands) {
      const all = await Promise.allSettled(commands.map((words) => redis.sendCommand(words)));
      return all.map((one) => (one.status === 'fulfilled' ? one.value : one.reason));
    },
    async transaction(watched, meanwhile, commands) {
      await redis.watch(watched);
      await meanwhile();
      const multi = redis.multi();
      for (const words of commands) multi.addCommand(words);
      return multi.exec().catch((error) => (error instanceof lib.WatchError ? null : Promise.reject(error)));
    },
    async pop(key, seconds) {
      const got = await redis.blPop(key, seconds);
      return got && [got.key, got.element];
    },
    async scan(MATCH) {
      const found = [];
      for await (const keys of redis.scanIterator({ MATCH, COUNT: 100 })) found.push(...[keys].flat());
      return found;
    },
    async types(hash, set, zset, stream) {
      const range = await redis.zRangeWithScores(zset, 0, -1);
      const entries = await redis.xRange(stream, '-', '+');
      return {
        hash: { ...(await redis.hGetAll(hash)) }, set: strings(await redis.sMembers(set)),
        score: await redis.zScore(zset, 'x'), none: await redis.get('types:none'),
        // redis 4 makes NaN of 'inf'
        range: range.map(({ value, score }) => [value, four && Number.isNaN(score) ? Infinity : score]),
        stream: entries.map(({ id, message }) => [id, Object.entries(message).flat()]),
      };
    },
    raw: resp !== 3 ? null : async (hash, set, zset) => {
      const typeMapping = { [lib.RESP_TYPES.MAP]: Map, [lib.RESP_TYPES.SET]: Set };
      const map = await redis.sendCommand(['HGETALL', hash], { typeMapping });
      const members = await redis.sendCommand(['SMEMBERS', set], { typeMapping });
      const score = await redis.sendCommand(['ZSCORE', zset, 'x']);
      return [map instanceof Map ? 'map' : typeof map, members instanceof Set ? 'set' : typeof members,
        typeof score === 'number' ? 'double' : typeof score];
    },
    close: () => (four ? redis.disconnect() : redis.destroy()),
  };
}

function node_redis_library(name) {
  return {
    async connect(to) {
      const c = node_redis(name, to);
      await c.redis.connect();
      return c;
    },
    async connectOnce(to) {
      const c = node_redis(name, { ...to, reconnectStrategy: false });
      try {
        await c.redis.connect();
        await c.get('x');
      } finally {
        await Promise.resolve().then(c.close).catch(() => {});
      }
    },
  };
}

// ---- valkey-glide ---------------------------------------------------------------------------------------------------
async function glide({ host, port, resp, password }) {
  const lib = installed(PACKAGES.glide);
  lib.Logger.init('off');
  const client = await lib.GlideClient.createClient({
    addresses: [{ host, port }], credentials: password && { password }, requestTimeout: 10000,
    protocol: resp === 3 ? lib.ProtocolVersion.RESP3 : lib.ProtocolVersion.RESP2,
    connectionBackoff: { numberOfRetries: 10, factor: 20, exponentBase: 2, jitterPercent: 20 },
  });
  return {
    call: (...words) => client.customCommand(words),
    get: (key) => client.get(key),
    getBuffer: (key) => client.get(key, { decoder: lib.Decoder.Bytes }),
    set: (key, value) => client.set(key, value),
    mset: (all) => client.mset(all.map(([key, value]) => ({ key, value }))),
    mget: (keys) => client.mget(keys),
    del: (keys) => client.del(keys),
    exists: (keys) => client.exists(keys),
    unlink: (keys) => client.unlink(keys),
    touch: (keys) => client.touch(keys),
    pipeline(commands) {
      const batch = new lib.Batch(false);
      for (const words of commands) batch.customCommand(words);
      return client.exec(batch, false);
    },
    async transaction(watched, meanwhile, commands) {
      await client.watch([watched]);
      await meanwhile();
      const batch = new lib.Batch(true);
      for (const words of commands) batch.customCommand(words);
      return client.exec(batch, false);
    },
    pop: (key, seconds) => client.blpop([key], seconds),
    async scan(match) {
      const found = [];
      let cursor = '0';
      do {
        const [next, keys] = await client.scan(cursor, { match, count: 100 });
        found.push(...keys);
        cursor = String(next);
      } while (cursor !== '0');
      return found;
    },
    async types(hash, set, zset, stream) {
      const range = await client.zrangeWithScores(zset, { start: 0, end: -1 });

      const entries = await client.xrange(stream, lib.InfBoundary.NegativeInfinity, lib.InfBoundary.PositiveInfinity);
      return {
        hash: Object.fromEntries((await client.hgetall(hash)).map(({ field, value }) => [field, value])),
        set: strings(await client.smembers(set)), score: await client.zscore(zset, 'x'), none: await client.get('types:none'),
        range: range.map(({ element, score }) => [element, score]),
        stream: Object.entries(entries).map(([id, fields]) => [id, fields.flat()]),
      };
    },
    close: () => client.close(),
  };
}

module.exports = {
  get ioredis() { return io_library('ioredis'); },
  get iovalkey() { return io_library('iovalkey'); },
  get redis4() { return node_redis_library('redis4'); },
  get redis5() { return node_redis_library('redis5'); },
  get redis6() { return node_redis_library('redis6'); },
  glide: { connect: glide, async connectOnce(to) { await (await glide(to)).get('x'); } },
  about(name) {
    const about = installed(`./node_modules/${PACKAGES[name]}/package.json`);
    return { version: about.version, needs: (about.engines || {}).node };
  },
};
