// SPDX-License-Identifier: MIT
// ioredis against the server: ioredis.js PORT PROTOCOL
'use strict';
const assert = require('node:assert/strict');
const { Redis } = require('ioredis');
const { bytes, port, protocol, restart, run, until } = require('./harness');

function connected(options = {}) {
  const client = new Redis({ port, protocol, retryStrategy: () => 20, ...options });
  client.on('error', () => {}); // commands say so too
  return client;
}

let client;
let commands;

run({
  async connect() {
    client = connected({ connectionName: 'app', db: 1 });
    assert.equal(await client.ping(), 'PONG');
    assert.equal(await client.client('GETNAME'), 'app');
    const info = await client.client('INFO');
    assert.match(info, /lib-name=ioredis/);
    assert.match(info, new RegExp(`db=1 .*resp=${protocol} `));
    commands = new Set(await client.command('LIST'));
  },

  async strings() {
    assert.equal(await client.set('k', 'v', 'EX', 100), 'OK');
    assert.equal(await client.set('k', 'w', 'NX'), null);
    assert.equal(await client.set('k', 'w', 'GET'), 'v');
    assert.deepEqual(await client.mget('k', 'nothing'), ['w', null]);
    assert.equal(await client.expire('k', 1000), 1);
    assert.ok(await client.pttl('k') > 900000);
    assert.equal(await client.incrbyfloat('f', 0.5), '0.5');
    assert.equal(await client.append('k', 'xyz'), 4);
    assert.equal(await client.getrange('k', 1, 2), 'xy');
    assert.equal(await client.del('k', 'f', 'nothing'), 2);
  },

  async errors() {
    await client.set('text', 'abc');
    await assert.rejects(client.incr('text'), /ERR value is not an integer/);
    await assert.rejects(client.call('NOSUCH', 'a'), /ERR unknown command 'NOSUCH'/);
    await assert.rejects(client.get('broken:1'), /LOADERR broken no such table/);
    assert.equal(await client.get('text'), 'abc');
  },

  async pipeline() {
    const pipeline = client.pipeline();
    for (let i = 0; i < 1000; i++) pipeline.set(`p:${i}`, i).get(`p:${i}`);
    pipeline.incr('text').get('slow:pipe').get('text');
    const replies = await pipeline.exec();
    assert.match(replies[2000][0].message, /not an integer/);
    assert.deepEqual(replies.slice(2001), [[null, 'pipe 1'], [null, 'abc']]);
    replies.slice(0, 2000).forEach(([error, reply], i) => {
      assert.equal(error, null);
      assert.equal(reply, i % 2 ? `${(i - 1) / 2}` : 'OK');
    });
  },

  async behind_a_miss() {
    const order = [];
    const ask = async (key) => {
      const value = await client.get(key);
      order.push(key);
      return value;
    };
    await client.set('near', '1');
    const keys = ['slow:1', 'near', 'slow:2', 'slow:1', 'near'];
    assert.deepEqual(await Promise.all(keys.map(ask)), ['1 1', '1', '2 1', '1 1', '1']);
    assert.deepEqual(order, keys);
  },

  async big_and_binary() {
    const value = bytes(10 * 1024 * 1024);
    assert.equal(await client.set('big', value), 'OK');
    assert.ok(value.equals(await client.getBuffer('big')));
    await client.set(bytes(256), bytes(1000));
    assert.ok(bytes(1000).equals(await client.getBuffer(bytes(256))));
    assert.equal(await client.set('empty', ''), 'OK');
    assert.equal(await client.get('empty'), '');
  },

  async pub_sub() {
    const subscriber = connected();
    const heard = [];
    subscriber.on('message', (channel, message) => heard.push([channel, message]));
    subscriber.on('pmessage', (pattern, channel, message) => heard.push([pattern, message]));
    assert.equal(await subscriber.subscribe('news', 'chat'), 2);
    assert.equal(await subscriber.psubscribe('n*'), 3);
    for (let i = 0; i < 100; i++) assert.equal(await client.publish('news', `${i}`), 2);
    await until(() => heard.length === 200, 'the messages');
    const plain = heard.filter(([channel]) => channel === 'news').map(([, m]) => Number(m));
    assert.deepEqual(plain, Array.from({ length: 100 }, (_, i) => i));
    assert.equal(await subscriber.unsubscribe('news', 'chat'), 1);
    assert.equal(await subscriber.punsubscribe('n*'), 0);
    assert.equal(await client.publish('news', 'nobody'), 0);
    assert.equal(await subscriber.get('quick:sub'), 'sub');
    subscriber.disconnect();
  },

  async scan_iterator() {
    await client.flushdb();
    for (let i = 0; i < 500; i++) await client.set(`scan:${i}`, 'x');
    const found = new Set();
    for await (const keys of client.scanStream({ match: 'scan:*', count: 50 }))
      for (const key of keys) found.add(key);
    assert.equal(found.size, 500);
  },

  async transaction() {
    if (!commands.has('multi')) return;
    const replies = await client.multi().set('t', '1').incr('t').get('slow:t').get('t').exec();
    assert.deepEqual(replies, [[null, 'OK'], [null, 2], [null, 't 1'], [null, '2']]);
    await client.watch('t');
    const other = connected({ db: 1 });
    await other.set('t', '9');
    assert.equal(await client.multi().set('t', '3').exec(), null);
    assert.equal(await client.get('t'), '9');
    other.disconnect();
  },

  async timeout() {
    const hasty = connected({ commandTimeout: 200 });
    await assert.rejects(hasty.get('slow:late'), /timed out/);
    assert.equal(await until(() => hasty.get('quick:hasty'), 'the reply behind it'), 'hasty');
    assert.equal(await until(() => hasty.get('slow:late'), 'the late one'), 'late 1');
    hasty.disconnect();
  },

  async restart() {
    await client.set('old', '1');
    await restart();
    assert.equal(await until(() => client.set('new', '1'), 'the server'), 'OK');
    assert.equal(await client.get('old'), null);
    assert.equal(await client.client('GETNAME'), 'app');
    assert.match(await client.client('INFO'), /db=1 /);
    client.disconnect();
  },
});
