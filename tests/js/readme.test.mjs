/** The example of the package's README speaks: it is run as it stands, against a server of the test's. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { decode, encode } from '../../abr_tts/web/static/codec.js';
import { audio, end, framesOf, pcmPackets, rest, sine, track } from './sounds.mjs';

const STATIC = new URL('../../abr_tts/web/static/', import.meta.url);
const U = '6f1c2b1e-9a4d-4c3b-8e57-0d2f3a4b5c6d';

/** The README's code as a module, with a transport, a clock, a decoder and a sink of ours. */
async function example(world) {
  const [, code] = /```js\n([\s\S]*?)```/.exec(readFileSync(new URL('README.md', STATIC), 'utf8'));
  globalThis.readmeWorld = world;
  const source = [
    code.replace("'abr-tts'", `'${new URL('index.js', STATIC)}'`),
    'const { now, transport, sink, opus } = globalThis.readmeWorld;',
    'export { connection, listeners, drain, received, timer };',
  ];
  // The world comes first: the example uses the clock at once.
  return import(`data:text/javascript,${encodeURIComponent(`${source[1]}\n${source[0]}\n${source[2]}`)}`);
}

test('the example greets, plays, reports, pings, and closes when the server does', async () => {
  let time = 5;
  const [sent, closes] = [[], []];
  const transport = {
    send: (bytes) => sent.push(decode(bytes, 'client')),
    close: (code) => closes.push(code),
  };
  const core = await example({ now: () => time, transport, sink: { rate: 48_000 }, opus: null });
  const say = (message) => core.received(encode(message));
  core.connection.send({ type: 'hello' });
  core.connection.send({ type: 'stream_start', stream_id: U, text: 'Hi' });
  core.drain();
  say({ type: 'welcome', version: 1, session: 's', hint_ms: 200 });
  const told = { voice: 'v', sample_rate: 16_000, channels: 1, codec: 'pcm16', rung: 'pcm16k', token: 't' };
  say({ type: 'stream_started', stream: 1, stream_id: U, ...told });
  say(track(1, 0, 0));
  for (const pts of [0, 9_600]) say(audio(1, pts, pcmPackets(framesOf(sine(440), 16_000, 10))));
  say(end(6_400, 16_000));
  assert.equal(rest(core.listeners.get(1)).length, 19_200);
  time = 5.5;
  core.timer();
  assert.deepEqual(
    sent.map(({ type }) => type),
    ['hello', 'stream_start', 'ping', 'bit_rate_hint'],
  );
  const [hint] = sent.slice(-1);
  assert.deepEqual([hint.played, hint.buffer_ms, hint.stream], [19_200, 0, 1]);
  assert.ok(hint.received > 12_000 && hint.rtt_ms === 0);
  say({ type: 'error', code: 'shutting_down', message: 'bye', scope: 'connection' });
  assert.deepEqual(closes, [1000]);
});
