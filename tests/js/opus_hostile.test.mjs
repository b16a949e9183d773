/** Bytes that no encoder made: opus.wasm neither traps nor leaves its memory, whatever comes. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { OpusError, loadOpus } from '../../abr_tts/web/static/opus.js';
import { WASM, fresh, stream } from './opus_recorded.mjs';

/** Calls with made-up packets; a longer run is a matter of OPUS_HOSTILE_CALLS. */
const CALLS = Number(process.env.OPUS_HOSTILE_CALLS ?? 4000);

/** Bytes of stack, at the bottom of the memory (`STACK` of tools/opus_wasm/sources.py). */
const STACK = 131_072;

/** Xorshift: the same numbers everywhere. */
function numbers(seed) {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

/** A packet at random: any mode, often of the longest kinds, or a real one with some bytes spoilt. */
function madeUp(below, real) {
  if (below(2)) {
    const packet = real[below(real.length)].slice();
    for (let spoilt = 1 + below(4); spoilt > 0; spoilt--) packet[below(packet.length)] = below(256);
    return packet;
  }
  const packet = Uint8Array.from({ length: 1 + below(below(8) ? 200 : 8192) }, () => below(256));
  if (below(4) === 0) packet.set([packet[0] | 3, 1 + below(48)].slice(0, packet.length));
  return packet;
}

test('no packet traps, makes a sample that is no number, or gives more than 120 ms', async () => {
  const below = numbers(20_261);
  const real = ['speech at 12 kbit/s', 'a sweep at 24 kbit/s', 'speech at 64 kbit/s'].flatMap(
    (name) => stream(name).packets,
  );
  const decoders = await fresh().then((opus) => [0, 1, 2].map(() => opus.decoder()));
  let [refused, good] = [0, 0];
  for (let call = 0; call < CALLS; call++) {
    const decoder = decoders[below(decoders.length)];
    const packet = madeUp(below, real);
    try {
      const pcm = below(10)
        ? decoder.decode(packet)
        : below(2)
          ? decoder.recover(packet)
          : decoder.conceal(1 + below(6));
      assert.ok(pcm.length > 0 && pcm.length <= 5760, `${pcm.length} samples`);
      assert.ok(pcm.every(Number.isFinite), `not a number in call ${call}`);
      good++;
    } catch (error) {
      assert.ok(error instanceof OpusError, error.stack);
      assert.equal(error.fault, 'bad_packet');
      refused++;
    }
  }
  assert.ok(refused > CALLS / 50 && good > CALLS / 4, `${refused} refused, ${good} decoded`);
  for (const decoder of decoders) decoder.reset();
  const speech = stream('speech at 24 kbit/s').packets;
  const other = (await fresh()).decoder();
  for (const packet of speech) assert.deepEqual(decoders[0].decode(packet), other.decode(packet));
});

test('the deepest call leaves half of the stack untouched', async () => {
  const instance = await WebAssembly.instantiate(await WebAssembly.compile(WASM), {});
  const decoder = (await loadOpus(instance)).decoder();
  const below = numbers(7);
  const real = ['a sweep at 16 kbit/s', 'speech at 64 kbit/s'].flatMap((name) => stream(name).packets);
  const stack = new Uint8Array(instance.exports.memory.buffer, 0, STACK).fill(0xa5);
  for (let call = 0; call < CALLS / 4; call++) {
    try {
      if (below(3)) decoder.decode(madeUp(below, real));
      else decoder.conceal(1 + below(6));
    } catch (error) {
      assert.equal(error.fault, 'bad_packet');
    }
  }
  const untouched = stack.findIndex((value) => value !== 0xa5);
  assert.ok(untouched > STACK / 2, `${STACK - untouched} bytes of stack were used`);
});
