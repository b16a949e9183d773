/** The listener makes of a server's messages the speech that went in, whole and in its place. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { TrackDecoder } from '../../abr_tts/web/static/decoding.js';
import { PlayoutError } from '../../abr_tts/web/static/errors.js';
import { Listener } from '../../abr_tts/web/static/listener.js';
import { decodePcm16 } from '../../abr_tts/web/static/pcm.js';
import { Resampler } from '../../abr_tts/web/static/resample.js';
import { convertLength } from '../../abr_tts/web/static/units.js';
import {
  audio,
  chance,
  end,
  framesOf,
  joinedFrames,
  pcmPackets,
  rest,
  sine,
  switched,
  told,
  track,
} from './sounds.mjs';

const RATES = [16_000, 22_050, 24_000, 48_000];

function noise(rate, count, seed = 1) {
  const random = chance(seed);
  return framesOf(() => random() - 0.5, rate, count);
}

/** An Opus decoder that stands at the seam: each packet is one byte, its frame holds that value. */
function fakeOpus(log = []) {
  const view = new Float32Array(960);
  return {
    log,
    decoder() {
      log.push('make');
      return {
        decode(packet) {
          log.push(packet[0]);
          if (packet[0] === 255) throw new Error('corrupt');
          return view.fill(packet[0] / 256);
        },
        free: () => log.push('free'),
      };
    },
  };
}
const opusTrack = (number, rank, start, more) =>
  track(number, rank, start, { codec: 'opus', sample_rate: 24_000, rung: 'opus24', ...more });
const bytes = (...values) => values.map((value) => Uint8Array.of(value));

test('PCM at the output rate passes through bit for bit', () => {
  const packets = pcmPackets(noise(48_000, 12));
  const listener = told(
    {},
    track(1, 0, 0, { sample_rate: 48_000 }),
    audio(1, 0, packets),
    end(12 * 960, 48_000),
  );
  assert.deepEqual(rest(listener), joinedFrames(packets.map(decodePcm16)));
});

for (const rate of RATES) {
  for (const outRate of [44_100, 48_000]) {
    test(`the whole is as long as the speech: ${rate} to ${outRate} Hz`, () => {
      const size = rate / 50;
      for (const length of [1, size - 1, size, size + 1, 7 * size + 13]) {
        const packets = pcmPackets(noise(rate, Math.ceil(length / size)));
        const listener = told(
          { outRate },
          track(1, 0, 0, { sample_rate: rate }),
          audio(1, 0, packets),
          end(length, rate),
        );
        assert.equal(rest(listener).length, convertLength(length, rate, outRate), `${length}`);
        assert.ok(listener.finished);
        assert.equal(listener.render(), null);
        assert.equal(listener.meters.playedMs, listener.endTicks / 48);
      }
    });
  }
}

test('lengths are rounded half up, also where products leave the integers', () => {
  assert.equal(convertLength(1, 96_000, 48_000), 1);
  assert.equal(convertLength(1, 22_050, 48_000), 2);
  assert.equal(convertLength(22_050 * 2 ** 36 + 1, 22_050, 48_000), 48_000 * 2 ** 36 + 2);
});

for (const [rate, outRate] of [
  [16_000, 48_000],
  [22_050, 48_000],
  [22_050, 44_100],
  [48_000, 44_100],
]) {
  test(`however the messages were grouped, the bits are the same: ${rate} to ${outRate} Hz`, () => {
    const packets = pcmPackets(noise(rate, 60));
    const opening = track(1, 0, 0, { sample_rate: rate });
    const whole = rest(told({ outRate }, opening, audio(1, 0, packets), end(60 * (rate / 50), rate)));
    for (const group of [1, 2, 5, 11]) {
      const listener = told({ outRate }, opening);
      const heard = [];
      for (let at = 0; at < packets.length; at += group) {
        listener.onMessage(audio(1, at * 960, packets.slice(at, at + group)));
        heard.push(rest(listener)); // as soon as it is final
      }
      listener.onMessage(end(60 * (rate / 50), rate));
      assert.deepEqual(joinedFrames([...heard, rest(listener)]), whole, `${group}`);
    }
  });

  test(`a sine is heard to 95 dB through the whole path: ${rate} to ${outRate} Hz`, () => {
    const tone = sine(1_000);
    // µ-law and 16 bits would hide the resampler: a decoder that gives floats shows it.
    const frames = framesOf(tone, 48_000, 30);
    const opus = { decoder: () => ({ decode: (packet) => frames[packet[0]], free() {} }) };
    const pcm = framesOf(tone, rate, 30);
    const isOpus = rate === 48_000;
    const messages = isOpus
      ? [opusTrack(1, 0, 0), audio(1, 0, bytes(...frames.keys()))]
      : [track(1, 0, 0, { sample_rate: rate }), audio(1, 0, pcmPackets(pcm))];
    const heard = rest(told({ outRate, opus }, ...messages, end(30 * 960, 48_000)));
    const wanted = joinedFrames(framesOf(tone, outRate, 30));
    const inner = [...heard.keys()].slice(outRate / 50, -outRate / 50);
    const ratio = isOpus ? 1 : 32_767 / 32_768;
    const power = (of) => inner.reduce((sum, n) => sum + of(n) ** 2, 0);
    const db = 10 * Math.log10(power((n) => wanted[n]) / power((n) => heard[n] - ratio * wanted[n]));
    assert.ok(db >= (isOpus ? 95 : 90), `${db} dB`);
  });
}

test('a fade is of equal gain, a raised cosine over the whole frame', () => {
  const [first, second] = [pcmPackets(noise(48_000, 2, 1)), pcmPackets(noise(48_000, 12, 2))];
  const listener = told(
    {},
    track(1, 0, 0, { sample_rate: 48_000 }),
    audio(1, 0, first),
    track(2, 0, 960, { sample_rate: 48_000 }),
    audio(2, 960, second),
  );
  listener.render();
  const [old, fresh] = [decodePcm16(first[1]), decodePcm16(second[0])];
  listener.render().forEach((sample, k) => {
    const w = 0.5 - 0.5 * Math.cos((Math.PI * (k + 0.5)) / 960);
    assert.ok(Math.abs(sample - (old[k] * (1 - w) + fresh[k] * w)) < 1e-6);
  });
  assert.deepEqual(listener.frame, { pts: 960, track: 2, fadeFrom: 1, fadeIn: false, fadeOut: false });
});

test('at a stall 5 ms fade out and in, it goes on with the very next sample, and nothing is lost', () => {
  for (const outRate of [48_000, 44_100]) {
    const [size, n] = [outRate / 50, Math.floor(outRate / 200 + 0.5)];
    const packets = pcmPackets(framesOf(() => 0.5, outRate, 22));
    const listener = told(
      { outRate, startTicks: 9_600 },
      track(1, 0, 0, { sample_rate: outRate }),
      audio(1, 0, packets.slice(0, 11)),
    );
    const before = Array.from({ length: 11 }, () => listener.render());
    const silence = Array.from({ length: 40 }, () => listener.render());
    listener.onMessage(audio(1, 11 * 960, packets.slice(11)));
    listener.onMessage(end(22 * size, outRate));
    const sound = joinedFrames([...before, rest(listener)]);
    const level = decodePcm16(packets[0])[0];
    assert.deepEqual(silence, Array(40).fill(null));
    assert.equal(sound.length, 22 * size);
    sound.forEach((sample, k) => {
      const at = k - 11 * size; // the first sample after the stall is 0
      const gain =
        at < -n || at >= n ? 1 : 0.5 - 0.5 * Math.cos((Math.PI * ((at < 0 ? -at - 1 : at) + 0.5)) / n);
      assert.ok(Math.abs(sample - level * gain) < 1e-6, `${k}`);
    });
    assert.deepEqual([listener.meters.stalls, listener.meters.stallMs], [1, 800]);
  }
});

test('a pause fades out, stands, and is no stall', () => {
  const listener = told(
    {},
    track(1, 0, 0, { sample_rate: 48_000 }),
    audio(1, 0, pcmPackets(framesOf(() => 0.5, 48_000, 20))),
    end(20 * 960, 48_000),
  );
  listener.render();
  listener.pause();
  assert.ok(listener.paused && listener.render()[959] < 0.001);
  assert.equal(listener.render(), null);
  listener.resume();
  assert.ok(listener.render()[0] < 0.001);
  assert.equal(listener.render()[0], decodePcm16(pcmPackets([[0.5]])[0])[0]);
  assert.equal(listener.meters.stalls, 0);
});

test('Opus packets are decoded in order, each once, one frame ahead and no more, and freed', () => {
  const opus = fakeOpus();
  const listener = told(
    { opus },
    opusTrack(1, 0, 0, { preroll: 1 }),
    audio(1, -960, bytes(...Array.from({ length: 13 }, (_, k) => k))),
  );
  assert.deepEqual(opus.log, ['make']);
  assert.ok(
    listener.render().every((sample) => sample === 1 / 256),
    'the pre-roll is not heard, and a view is copied',
  );
  assert.deepEqual(opus.log, ['make', 0, 1, 2]);
  listener.render();
  assert.equal(listener.meters.heldPackets, 9);
  listener.onMessage(opusTrack(2, 0, 1_920, { rung: 'opus64' }));
  listener.onMessage(audio(2, 1_920, bytes(50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61)));
  rest(listener);
  listener.onMessage(end(13 * 960 + 960, 48_000));
  rest(listener);
  const decoded = opus.log.filter(Number.isInteger);
  assert.deepEqual(
    decoded.filter((packet) => packet < 50),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
  );
  assert.deepEqual(
    decoded.filter((packet) => packet >= 50),
    [50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61],
  );
  assert.equal(opus.log.filter((entry) => entry === 'free').length, 1, 'track 1 was passed by');
  listener.close();
  listener.close();
  assert.equal(opus.log.filter((entry) => entry === 'free').length, 2);
});

test('the mirror image stands for a neighbour that is not here, silence before and after all', () => {
  const frames = pcmPackets(noise(22_050, 3)).map(decodePcm16);
  const silence = new Float32Array(441);
  const mirrored = frames.map((frame) => frame.slice().reverse());
  const resampler = new Resampler(22_050, 48_000);
  const decoderAt = (start) => {
    const decoder = new TrackDecoder(track(1, 0, start, { sample_rate: 22_050 }), null, 48_000);
    decoder.push(pcmPackets(noise(22_050, 3)));
    return decoder;
  };
  const late = decoderAt(960);
  assert.deepEqual(late.frame(960, false), resampler.frame(mirrored[0], frames[0], frames[1]));
  assert.deepEqual(late.frame(1_920, false), resampler.frame(frames[0], frames[1], frames[2]));
  assert.deepEqual(late.frame(2_880, false), resampler.frame(frames[1], frames[2], mirrored[2]));
  const whole = decoderAt(0);
  assert.deepEqual(whole.frame(0, false), resampler.frame(silence, frames[0], frames[1]));
  assert.deepEqual(
    whole.frame(960, true),
    resampler.frame(frames[0], frames[1], silence),
    'whatever was sent',
  );
  assert.throws(() => whole.frame(4_800, false), /no frame/);
});

test('a track beneath stays decoded, so that falling back needs no warm-up', () => {
  const opus = fakeOpus();
  const listener = told({ opus }, opusTrack(1, 0, 0), audio(1, 0, bytes(...Array(20).keys())));
  listener.onMessage(track(2, 1, 0, { sample_rate: 48_000 }));
  listener.onMessage(audio(2, 0, pcmPackets(noise(48_000, 11))));
  for (let k = 0; k < 10; k++) assert.equal((listener.render(), listener.frame.track), 2);
  assert.deepEqual(opus.log.filter(Number.isInteger), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  listener.render();
  assert.deepEqual([listener.frame.track, listener.frame.fadeFrom], [1, 2]);
});

test('a bad packet is heard as silence and counted, and shifts nothing', () => {
  const listener = told(
    { opus: fakeOpus() },
    opusTrack(1, 0, 0),
    audio(1, 0, bytes(1, 255, 3)),
    end(3 * 960, 48_000),
  );
  const sound = rest(listener);
  assert.deepEqual(
    [sound.length, sound[0], sound[960], sound[1919], sound[1920]],
    [2880, 1 / 256, 0, 0, 3 / 256],
  );
  assert.equal(listener.meters.badPackets, 1);
  const packets = pcmPackets(noise(48_000, 4));
  const cut = [packets[0], packets[1].subarray(0, 100), packets[2].subarray(1), packets[3]];
  const pcm = told({}, track(1, 0, 0, { sample_rate: 48_000 }), audio(1, 0, cut), end(4 * 960, 48_000));
  const heard = rest(pcm);
  assert.deepEqual(heard.subarray(960, 1010), decodePcm16(packets[1]).subarray(0, 50));
  assert.ok(heard.subarray(1010, 2880).every((sample) => sample === 0));
  assert.deepEqual(heard.subarray(2880), decodePcm16(packets[3]));
  pcm.close();
  assert.equal(pcm.meters.badPackets, 2);
});

test('packets of several frames are cut into them', () => {
  const frames = noise(16_000, 6);
  const packets = pcmPackets([joinedFrames(frames.slice(0, 3)), joinedFrames(frames.slice(3))]);
  const single = rest(told({}, track(1, 0, 0), audio(1, 0, pcmPackets(frames)), end(6 * 320, 16_000)));
  assert.deepEqual(
    rest(told({ level: 0 }, track(1, 0, 0, { duration: 3 }), audio(1, 0, packets), end(6 * 320, 16_000))),
    single,
  );
});

test('what cannot be played is refused, frees what it took, and the rest plays on', () => {
  const opus = fakeOpus();
  const listener = told({ opus });
  for (const bad of [
    { codec: 'mp3' },
    { codec: 'toString' },
    { sample_rate: 22_051 },
    { channels: 2 },
    { codec: 'opus', channels: 2 },
  ]) {
    assert.throws(
      () => listener.onMessage(track(1, 0, 0, bad)),
      (error) => error instanceof PlayoutError && error.fault === 'bad_format',
    );
  }
  assert.throws(() => listener.onMessage(opusTrack(1, 2, 0)), { fault: 'bad_track' });
  assert.deepEqual(opus.log, ['make', 'free']);
  assert.throws(() => told({}, opusTrack(1, 0, 0)), { fault: 'bad_format' });
  const none = {
    decoder() {
      throw new Error('32 are open');
    },
  };
  assert.throws(() => told({ opus: none }, opusTrack(1, 0, 0)), { fault: 'too_many_tracks' });
  assert.throws(() => told({ outRate: null }, track(1, 0, 0)), { fault: 'bad_format' });
  assert.throws(() => new Listener({ outRate: 11_025 }), RangeError);
  listener.onMessage(track(1, 0, 0));
  assert.throws(() => listener.onMessage(audio(1, 960, bytes(1))), { fault: 'gap' });
  for (const message of [
    audio(1, 0, pcmPackets(noise(16_000, 2))),
    { type: 'mark', stream: 1, pts: 0, begin: 0, end: 1 },
    end(640, 16_000),
  ])
    listener.onMessage(message);
  assert.equal(rest(listener).length, 1920);
});

test('without an output rate it is the engines', () => {
  const started = {
    type: 'stream_started',
    stream: 1,
    stream_id: '',
    token: '',
    voice: '',
    sample_rate: 22_050,
    channels: 1,
    codec: '',
    rung: '',
    chars: 0,
  };
  assert.equal(told({ outRate: null }, started).outRate, 22_050);
  assert.throws(() => told({ outRate: null }, { ...started, sample_rate: 22_051 }), { fault: 'bad_format' });
});

test('after a cancel what is held is played, and it ends there', () => {
  const listener = told(
    {},
    track(1, 0, 0),
    audio(1, 0, pcmPackets(noise(16_000, 5))),
    end(1_000_000, 16_000, 'cancelled'),
  );
  assert.equal(rest(listener).length, 5 * 960);
  assert.ok(listener.finished);
});

test('the meters tell rungs, switches and what is held', () => {
  const packets = pcmPackets(noise(16_000, 30));
  const listener = told(
    {},
    track(1, 0, 0, { rung: 'low' }),
    switched(1, 960, 'lower', 0),
    audio(1, 0, packets),
    track(2, 1, 1920, { rung: 'high' }),
    audio(2, 1920, packets.slice(0, 20)),
    switched(9, 0, 'x', 0),
  );
  assert.deepEqual(listener.position, {
    played: 0,
    bufferMs: 600,
    stalls: 0,
    stallMs: 0,
    highest: [
      [1, 27_840],
      [2, 20_160],
    ],
    complete: false,
  });
  for (let k = 0; k < 4; k++) listener.render();
  const { rung, seconds, switches, bufferMs, playedMs } = listener.meters;
  assert.deepEqual(
    { rung, seconds, switches, bufferMs, playedMs },
    {
      rung: 'high',
      seconds: { low: 0.02, lower: 0.02, high: 0.04 },
      switches: 2,
      bufferMs: 520,
      playedMs: 80,
    },
  );
  assert.deepEqual(listener.wanted, [
    [1, 28_800],
    [2, 21_120],
  ]);
});
