/** opus.js and opus.wasm decode what the server's libopus decodes, refuse what is none, and stay within their memory. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';

import { OpusError, loadOpus } from '../../abr_tts/web/static/opus.js';
import {
  LICENCE,
  STREAMS,
  SUMS,
  WASM,
  distance,
  fresh,
  isLost,
  joined,
  sha256,
  stream,
} from './opus_recorded.mjs';

/** The recorder added in the order of SSE, we add one by one: CELT in float32 differs by 5e-7 at most. */
const ROUNDING = 1e-6;

/** CELT's concealment fits a predictor to the past, in which rounding grows: 0.008 on a sweep, 0.0004 on speech. */
const CELT_CONCEALED = 0.01;

/** Bytes that the module may cost a page. */
const GZIP_LIMIT = 65_000;

const PAGE = 65_536;

const SPEECH = stream('speech at 24 kbit/s').packets;

const decodedBy = (decoder, packets) => joined(packets.map((packet) => decoder.decode(packet)));

function refusal(act) {
  try {
    act();
  } catch (error) {
    assert.ok(error instanceof OpusError, error.stack);
    return error.fault;
  }
  return assert.fail('nothing was refused');
}

function assertAs(told, pcm, modes, tolerance = ROUNDING) {
  assert.equal(pcm.length, told.samples);
  const off = distance(pcm, told);
  assert.ok(off <= tolerance, `off by ${off}`);
  if (modes.join() === 'silk') assert.equal(sha256(new Uint8Array(pcm.buffer)), told.sha256);
}

test('the recorded streams hold every mode, and one of SILK alone', () => {
  const modes = STREAMS.map((one) => one.modes.join());
  for (const wanted of ['silk', 'hybrid', 'celt']) assert.ok(modes.includes(wanted), wanted);
});

for (const { name, modes, packets, decoded, concealed, recovered } of STREAMS) {
  test(`${name} decodes as the server's libopus does, SILK to the bit`, async () => {
    assertAs(decoded, decodedBy((await fresh()).decoder(), packets), modes);
  });

  test(`${name} with every seventh packet lost is concealed as there`, async () => {
    const decoder = (await fresh()).decoder();
    const pcm = joined(
      packets.map((packet, at) => (isLost(at) ? decoder.conceal() : decoder.decode(packet))),
    );
    assertAs(concealed, pcm, modes, modes.includes('celt') ? CELT_CONCEALED : ROUNDING);
  });

  if (!recovered) continue;
  test(`${name} gives lost frames back from the copies in the packets after`, async () => {
    const decoder = (await fresh()).decoder();
    const piece = (packet, at) => (isLost(at) ? decoder.recover(packets[at + 1]) : decoder.decode(packet));
    assertAs(recovered, joined(packets.map(piece)), modes);
    assert.notEqual(recovered.sha256, concealed.sha256);
  });
}

test('several decoders at once do not hear each other', async () => {
  const opus = await fresh();
  const chosen = ['speech at 12 kbit/s', 'a sweep at 24 kbit/s', 'speech at 64 kbit/s'].map(stream);
  const decoders = chosen.map(() => opus.decoder());
  const pieces = chosen.map(() => []);
  for (let at = 0; at < chosen[0].packets.length; at++) {
    chosen.forEach(({ packets }, which) => pieces[which].push(decoders[which].decode(packets[at])));
  }
  for (const [which, { packets }] of chosen.entries()) {
    assert.deepEqual(joined(pieces[which]), decodedBy((await fresh()).decoder(), packets));
  }
});

test('what was decoded stays as it was when more is decoded', async () => {
  const decoder = (await fresh()).decoder();
  const [first, copy] = [SPEECH[9], SPEECH[9]]
    .map((packet) => decoder.decode(packet))
    .map((pcm) => [pcm, pcm.slice()])[0];
  decoder.decode(SPEECH[10]);
  assert.deepEqual(first, copy);
});

test('a decoder that was reset is as a new one, and so is one in the place of a freed one', async () => {
  const opus = await fresh();
  const expected = decodedBy(opus.decoder(), SPEECH);
  const used = opus.decoder();
  decodedBy(used, stream('a sweep at 64 kbit/s').packets);
  used.reset();
  assert.deepEqual(decodedBy(used, SPEECH), expected);
  used.free();
  assert.deepEqual(decodedBy(opus.decoder(), SPEECH), expected);
});

test('a decoder that has heard nothing conceals with silence, one frame to six, and no other number', async () => {
  const decoder = (await fresh()).decoder();
  for (const frames of [1, 6]) assert.deepEqual(decoder.conceal(frames), new Float32Array(960 * frames));
  for (const frames of [0, 7, 1.5, NaN]) assert.throws(() => decoder.conceal(frames), RangeError);
});

test('a packet of several frames gives all of them', async () => {
  const decoder = (await fresh()).decoder();
  const three = Uint8Array.from([0x0b, 0x03, ...new Uint8Array(60).fill(7)]); // SILK, 20 ms, three frames of one size
  assert.equal(decoder.decode(three).length, 3 * 960);
});

test('what is no packet is refused, and the decoder goes on as libopus would', async () => {
  const decoder = (await fresh()).decoder();
  const bad = [[], [0xff], [0xff, 0xff, 0xff], [0x03], [0x0b, 0x31], new Uint8Array(8193)];
  const pieces = SPEECH.map((packet, at) => {
    if (at < bad.length)
      assert.equal(
        refusal(() => decoder.decode(Uint8Array.from(bad[at]))),
        'bad_packet',
      );
    return decoder.decode(packet);
  });
  assertAs(stream('speech at 24 kbit/s').decoded, joined(pieces), ['hybrid']);
});

test('a packet as long as the room for one is decoded, and one byte more is refused', async () => {
  const decoder = (await fresh()).decoder();
  const padded = (bytes) => {
    const packet = new Uint8Array(bytes);
    const padding = bytes - 4; // RFC 6716 section 3.2.5: 255 stands for 254 bytes of padding and more to come
    packet.set([0x0b, 0x41]); // SILK, 20 ms, one frame, padded
    for (let left = padding, at = 2; at < bytes; at++) {
      const more = left - 1 > 254;
      packet[at] = more ? 255 : left - 1;
      left -= more ? 255 : left;
      if (!more) break;
    }
    return packet;
  };
  assert.equal(decoder.decode(padded(8192)).length, 960);
  assert.equal(
    refusal(() => decoder.decode(padded(8193))),
    'bad_packet',
  );
});

test('as many decoders open as the limit says, and one more is refused until one is freed', async () => {
  const opus = await fresh();
  assert.equal(opus.limit, 32);
  const decoders = Array.from({ length: opus.limit }, () => opus.decoder());
  assert.equal(
    refusal(() => opus.decoder()),
    'too_many_decoders',
  );
  decoders[5].free();
  decoders[5].free();
  const late = opus.decoder();
  assert.equal(
    refusal(() => opus.decoder()),
    'too_many_decoders',
  );
  const expected = decodedBy((await fresh()).decoder(), SPEECH);
  for (const decoder of [decoders[0], decoders[31], late])
    assert.deepEqual(decodedBy(decoder, SPEECH), expected);
});

test('a freed decoder is of no more use', async () => {
  const decoder = (await fresh()).decoder();
  decoder.free();
  const calls = ['decode', 'recover'].map((name) => () => decoder[name](SPEECH[0]));
  for (const call of [...calls, () => decoder.conceal(), () => decoder.reset()])
    assert.equal(refusal(call), 'closed');
});

test('the module comes as bytes, a view, compiled, an instance, or from a function', async () => {
  const buffer = WASM.buffer.slice(WASM.byteOffset, WASM.byteOffset + WASM.length);
  const module = await WebAssembly.compile(buffer);
  const foreign = runInNewContext('new Uint8Array(bytes).slice().buffer', { bytes: WASM });
  const sources = [
    buffer,
    WASM,
    foreign,
    module,
    await WebAssembly.instantiate(module),
    () => buffer,
    async () => module,
  ];
  for (const source of sources)
    assert.equal((await loadOpus(source)).decoder().decode(SPEECH[0]).length, 960);
});

test('what is no module of ours is refused by name, and a failed download is told as it is', async () => {
  const other = Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]); // a module without anything in it
  for (const source of [
    other,
    WASM.subarray(0, 1000),
    new Uint8Array(0),
    { exports: {} },
    {},
    null,
    'opus.wasm',
    7,
  ]) {
    await assert.rejects(loadOpus(source), { name: 'OpusError', fault: 'bad_module' });
  }
  const offline = new Error('offline');
  await assert.rejects(
    loadOpus(() => Promise.reject(offline)),
    offline,
  );
});

test('the module imports nothing, has 1 MiB that cannot grow, is small, and is the file that was recorded', async () => {
  const module = await WebAssembly.compile(WASM);
  assert.deepEqual(WebAssembly.Module.imports(module), []);
  const { memory } = (await WebAssembly.instantiate(module)).exports;
  assert.equal(memory.buffer.byteLength, 16 * PAGE);
  assert.throws(() => memory.grow(1), RangeError);
  assert.ok(gzipSync(WASM, { level: 9 }).length <= GZIP_LIMIT);
  assert.equal(SUMS, `${sha256(WASM)}  opus.wasm\n${sha256(LICENCE)}  opus.LICENSE.txt\n`);
  assert.match(LICENCE.toString('utf8'), /Redistributions in binary form must reproduce the above copyright/);
});
