// SPDX-License-Identifier: MIT
// node-redis against the server: node_redis.js PORT PROTOCOL
'use strict';
const assert = require('node:assert/strict');
const { createClient, RESP_TYPES } = require('redis');
const { bytes, port, protocol, restart, run, until } = require('./harness');

async function connected(options = {}) {
  const client = createClient({ RESP: protocol, ...options,
    socket: { host: '127.0.0.1', port, reconnectStrategy: 20, ...options.socket } });
  client.on('error', () => {}); // commands say so too
  await client.connect();
  return client;
}

let client;
let commands;

run({
  async connect() {
    client = await connected({ name: 'app', database: 1 });
    assert.equal(await client.ping(), 'PONG');
    assert.equal(await client.clientGetName(), 'app');
    const info = await client.sendCommand(['CLIENT', 'INFO']);
    assert.match(String(info), /lib-name=node-redis/);
    assert.match(String(info), new RegExp(`db=1 .*resp=${protocol} `));
    commands = new Set(await client.sendCommand(['COMMAND', 'LIST']));
  },

  async strings() {
    assert.equal(await client.set('k', 'v', { expiration: { type: 'EX', value: 100 } }), 'OK');
    assert.equal(await client.set('k', 'w', { condition: 'NX' }), null);
    assert.equal(await client.set('k', 'w', { GET: true }), 'v');
    assert.deepEqual(await client.mGet(['k', 'nothing']), ['w', null]);
    assert.equal(await client.ttl('k'), -1);
    assert.equal(await client.expire('k', 1000), 1);
    assert.ok(await client.ttl('k') > 900);
    assert.equal(await client.incrBy('n', 5), 5);
    assert.equal(await client.type('n'), 'string');
    assert.equal(await client.del(['k', 'n', 'nothing']), 2);
  },

  async errors() {
    await client.set('text', 'abc');
    await assert.rejects(client.incr('text'), /^Error: ERR value is not an integer|not an integer/);
    await assert.rejects(client.sendCommand(['NOSUCH', 'a']), /ERR unknown command 'NOSUCH'/);
    await assert.rejects(client.get('broken:1'), /LOADERR broken no such table/);
    assert.equal(await client.get('text'), 'abc');
  },

  async pipeline() {
    const asked = [];
    for (let i = 0; i < 1000; i++) asked.push(client.set(`p:${i}`, `${i}`), client.get(`p:${i}`));
    const replies = await Promise.all(asked);
    replies.forEach((reply, i) => assert.equal(reply, i % 2 ? `${(i - 1) / 2}` : 'OK'));
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
    const replies = await Promise.all(keys.map(ask));
    assert.deepEqual(replies, ['1 1', '1', '2 1', '1 1', '1']);
    assert.deepEqual(order, keys);
  },

  async big_and_binary() {
    const binary = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
    const value = bytes(10 * 1024 * 1024);
    assert.equal(await client.set('big', value), 'OK');
    assert.ok(value.equals(await binary.get('big')));
    const key = bytes(256);
    await client.set(key, bytes(1000));
    assert.ok(bytes(1000).equals(await binary.get(key)));
    assert.equal(await client.set('empty', ''), 'OK');
    assert.equal(await client.get('empty'), '');
  },

  async pub_sub() {
    const subscriber = await client.duplicate().connect();
    const heard = [];
    await subscriber.subscribe('news', (message, channel) => heard.push([channel, message]));
    await subscriber.pSubscribe('n*', (message, channel) => heard.push([`n* ${channel}`, message]));
    for (let i = 0; i < 100; i++) assert.equal(await client.publish('news', `${i}`), 2);
    await until(() => heard.length === 200, 'the messages');
    const plain = heard.filter(([channel]) => channel === 'news').map(([, m]) => Number(m));
    assert.deepEqual(plain, Array.from({ length: 100 }, (_, i) => i));
    if (protocol === 3) assert.equal(await subscriber.get('text'), 'abc');
    await subscriber.unsubscribe('news');
    await subscriber.pUnsubscribe();
    assert.equal(await client.publish('news', 'nobody'), 0);
    await subscriber.close();
  },

  async scan_iterator() {
    await client.flushDb();
    for (let i = 0; i < 500; i++) await client.set(`scan:${i}`, 'x');
    const found = new Set();
    for await (const keys of client.scanIterator({ MATCH: 'scan:*', COUNT: 50 }))
      for (const key of [].concat(keys)) found.add(key);
    assert.equal(found.size, 500);
  },

  async transaction() {
    if (!commands.has('multi')) return;
    assert.deepEqual(await client.multi().set('t', '1').incr('t').get('slow:t').get('t').exec(),
      ['OK', 2, 't 1', '2']);
    await client.watch('t');
    const other = await client.duplicate().connect();
    await other.set('t', '9');
    await assert.rejects(client.multi().set('t', '3').exec(), /watched keys has been changed/i);
    assert.equal(await client.get('t'), '9');
    await other.close();
  },

  async timeout() {
    const hasty = await connected({ socket: { socketTimeout: 200 } });
    await assert.rejects(hasty.get('hanging:1'));
    assert.equal(await until(() => hasty.get('quick:hasty'), 'a new connection'), 'hasty');
    hasty.destroy();
  },

  async restart() {
    await client.set('old', '1');
    await restart();
    assert.equal(await until(() => client.set('new', '1'), 'the server'), 'OK');
    assert.equal(await client.get('old'), null);
    assert.equal(await client.clientGetName(), 'app');
    assert.match(String(await client.sendCommand(['CLIENT', 'INFO'])), /db=1 /);
    await client.close();
  },
});
