// SPDX-License-Identifier: MIT
// Runs the parts of a client's test one after another. Talks to clients_test.py:
// the line "restart" asks it to kill and start the server, which it confirms.
'use strict';
const readline = require('node:readline');

const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();

function within(promise, ms, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not within ${ms} ms`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// Calls until it gives something that is true; a failure counts as not yet.
async function until(attempt, what) {
  const end = Date.now() + 30000;
  for (;;) {
    try {
      const value = await attempt();
      if (value) return value;
    } catch (error) {
      if (Date.now() > end) throw error;
    }
    if (Date.now() > end) throw new Error(`${what}: never`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function restart() {
  console.log('restart');
  const { value } = await lines.next();
  if (value !== 'restarted') throw new Error(`the server was not restarted: ${value}`);
}

async function run(parts) {
  for (const [name, part] of Object.entries(parts)) {
    try {
      await within(part(), 60000, name);
    } catch (error) {
      console.error(`${name}: ${error.stack}`);
      process.exit(1);
    }
    console.log(`ok ${name}`);
  }
  process.exit(0);
}

// The bytes 0 to 255, over and over.
function bytes(n) {
  return Buffer.alloc(n, Buffer.from(Array.from({ length: 256 }, (_, i) => i)));
}

module.exports = { bytes, restart, run, until, port: Number(process.argv[2]),
  protocol: Number(process.argv[3]) };
