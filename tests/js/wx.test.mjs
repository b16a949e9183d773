/** A mini-program has `wx` and the language, and nothing of a browser: the player speaks there. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { Server, World, whole } from './world.mjs';

/** What the language itself brings, and the timers that mini-programs have. */
const KEPT =
  /^(Object|Function|Array|Number|parseFloat|parseInt|Infinity|NaN|undefined|Boolean|String|Symbol|Date|Promise|RegExp|\w*Error|JSON|Math|Intl|ArrayBuffer|Atomics|\w+Array|DataView|Map|BigInt|Set|Weak\w+|Proxy|Reflect|FinalizationRegistry|decodeURI\w*|encodeURI\w*|escape|unescape|eval|isFinite|isNaN|globalThis|console|set\w+|clear\w+|process)$/;

const { WebAssembly } = globalThis;
const wasm = await WebAssembly.compile(
  readFileSync(new URL('../../abr_tts/web/static/opus.wasm', import.meta.url)),
);

for (const name of Object.getOwnPropertyNames(globalThis)) if (!KEPT.test(name)) delete globalThis[name];
assert.equal(
  typeof globalThis.TextEncoder + typeof globalThis.WebAssembly + typeof globalThis.EventTarget,
  'undefined'.repeat(3),
);
const { createPlayer } = await import('../../abr_tts/web/static/wx.js');

const RATE = 44_100;

/** `wx` in the world's time: a socket to a server, and a loudspeaker that is asked by hand. */
function shim() {
  const world = new World();
  const server = new Server(world);
  const heard = [];
  const node = {
    onaudioprocess: null,
    connect: () => (node.connected = true),
    disconnect: () => (node.connected = false),
  };
  const context = {
    sampleRate: RATE,
    state: 'suspended',
    destination: {},
    resume: async () => (context.state = 'running'),
    close: () => (context.state = 'closed'),
    createScriptProcessor: () => node,
  };
  const wx = { createWebAudioContext: () => context, connectSocket: (how) => socketTask(server, how) };
  const pass = async (seconds) => {
    for (let n = 0; n < seconds * 100; n++) {
      await world.pass(0.01);
      const out = new Float32Array(RATE / 100);
      if (context.state !== 'running' || !node.connected) continue;
      node.onaudioprocess?.({ outputBuffer: { getChannelData: () => out } });
      heard.push(...out);
    }
  };
  return { wx, server, node, context, heard, pass };
}

function socketTask(server, { url, protocols }) {
  const on = {};
  const link = server.transport(url, protocols, {
    opened: () => on.Open(),
    received: (data) => on.Message({ data: data.slice().buffer }),
    closed: (code, reason) => on.Close({ code, reason }),
  });
  const task = { send: ({ data }) => link.send(new Uint8Array(data)), close: ({ code }) => link.close(code) };
  for (const name of ['Open', 'Message', 'Close', 'Error']) task[`on${name}`] = (call) => (on[name] = call);
  return task;
}

/** Let the world's time and the timers of the platform go on until something holds. */
async function until(pass, holds) {
  for (let tries = 0; !holds(); tries += 1) {
    assert.ok(tries < 500);
    await pass(0.01);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

test('a speech is heard through wx alone, at the rate of its context', async () => {
  const { wx, server, node, heard, pass } = shim();
  const player = createPlayer(wx, 'wss://server/v1/stream', { token: 'secret' });
  const kinds = [];
  player.addEventListener('open', ({ type }) => kinds.push(type));
  const speech = player.speak('你好。');
  speech.addEventListener('start', ({ type }) => kinds.push(type));
  speech.addEventListener('end', ({ type }) => kinds.push(type));
  await pass(1.6);
  const report = await speech.done;
  assert.deepEqual([report.complete, report.stalls, kinds.join()], [true, 0, 'open,start,end']);
  assert.deepEqual(server.last.protocols, ['abr-tts.v1', 'abr-tts.key.secret']);
  const loud = heard.filter((value) => Math.abs(value) > 1e-6);
  assert.ok(Math.abs(loud.length - RATE) < 100, `${loud.length} samples`);
  const power = (samples) => samples.reduce((sum, value) => sum + value * value, 0) / samples.length;
  assert.ok(Math.abs(power(loud) / power(whole(50)) - 1) < 0.01);
  assert.equal(node.connected, false, 'the outlet is let go');
  player.close();
});

test('Opus is offered where the package holds it, and only there', async () => {
  const instantiate = async (path, imports) => {
    assert.equal(path, '/opus.wasm');
    return { instance: await WebAssembly.instantiate(wasm, imports) };
  };
  for (const [WXWebAssembly, codecs] of [
    [{ instantiate }, ['opus', 'pcm16', 'ulaw']],
    [{ instantiate: async () => Promise.reject(new Error('no such file')) }, ['pcm16', 'ulaw']],
    [undefined, ['pcm16', 'ulaw']],
  ]) {
    const { wx, server, pass } = shim();
    const player = createPlayer(wx, 'wss://server/v1/stream', { wasm: '/opus.wasm', WXWebAssembly });
    player.connect();
    await pass(0.1);
    assert.deepEqual(server.last.heard[0].codecs, codecs);
    player.close();
  }
});

test('a page that goes away leaves nothing open', async () => {
  const { wx, server, node, context, pass } = shim();
  const player = createPlayer(wx, 'wss://server/v1/stream');
  const speech = player.speak('Hello.');
  await pass(0.3);
  player.close();
  await pass(0.1);
  assert.equal((await speech.done).reason, 'stopped');
  assert.deepEqual([server.last.closed, node.connected, context.state], [1000, false, 'closed']);
  assert.throws(() => player.speak('Again.'));
});

test('a ticket is asked for by wx.request, a new one for each connection', async () => {
  const { wx, server, pass } = shim();
  const asked = [];
  const answers = [
    { statusCode: 503, data: 'no', header: { 'Retry-After': '0.01' } },
    { statusCode: 200, data: { ticket: 'a b' }, header: {} },
    { statusCode: 200, data: { ticket: 'second' }, header: {} },
  ];
  wx.request = ({ url, method, dataType, success, fail }) => {
    asked.push([url, method, dataType]);
    if (asked.length > 3) fail(new Error('no network'));
    else success(answers[asked.length - 1]);
  };
  const player = createPlayer(wx, 'wss://server/v1/stream', { ticketUrl: 'https://mine.example/ticket' });
  const waits = [];
  player.addEventListener('reconnecting', ({ detail }) => waits.push(detail.inMs));
  const speech = player.speak('你好。');
  await until(pass, () => server.connections.length);
  await pass(1.6);
  assert.ok((await speech.done).complete);
  server.close(server.last, 1006);
  const again = player.speak('再见。');
  await until(pass, () => server.connections.length === 2);
  await pass(1.6);
  assert.ok((await again.done).complete);
  assert.deepEqual(waits, [10]);
  assert.deepEqual(
    server.connections.map(({ url, protocols }) => [url, protocols.length]),
    [
      ['wss://server/v1/stream?ticket=a%20b', 1],
      ['wss://server/v1/stream?ticket=second', 1],
    ],
  );
  assert.deepEqual(asked[0], ['https://mine.example/ticket', 'POST', 'json']);
  server.close(server.last, 1006);
  const never = player.speak('Never.');
  never.done.catch(() => {});
  await until(pass, () => asked.length === 4);
  assert.equal(server.connections.length, 2, 'without a ticket nothing is opened');
  player.close();
});
