/** Every splice of two rates, measured on tones and sweeps; a hard cut is the control. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  audio,
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

/** Power above 12.6 kHz in 40 ms around `at`, in dB, through a Blackman–Harris window. */
function highDb(sound, at, size = 1920) {
  const window = (n) =>
    0.35875 -
    0.48829 * Math.cos((2 * Math.PI * n) / size) +
    0.14128 * Math.cos((4 * Math.PI * n) / size) -
    0.01168 * Math.cos((6 * Math.PI * n) / size);
  const part = Array.from({ length: size }, (_, n) => sound[at - size / 2 + n] * window(n));
  let power = 0;
  for (let bin = Math.ceil((12_600 * size) / 48_000); bin < size / 2; bin++) {
    let [re, im] = [0, 0];
    for (let n = 0; n < size; n++) {
      re += part[n] * Math.cos((2 * Math.PI * bin * n) / size);
      im += part[n] * Math.sin((2 * Math.PI * bin * n) / size);
    }
    power += re * re + im * im;
  }
  return 10 * Math.log10(power + 1e-20);
}

/** Two tracks of one signal, the second from frame 14 on, overlapping over that frame. */
function spliced(signal, before, after) {
  const of = (rate, count, first) => pcmPackets(framesOf(signal, rate, count, first));
  return rest(
    told(
      {},
      track(1, 0, 0, { sample_rate: before }),
      audio(1, 0, of(before, 15)),
      track(2, 0, 14 * 960, { sample_rate: after }),
      switched(2, 14 * 960),
      audio(2, 14 * 960, of(after, 16, 14)),
      end(30 * 960, 48_000),
    ),
  );
}
const unspliced = (signal, rate) =>
  rest(
    told(
      {},
      track(1, 0, 0, { sample_rate: rate }),
      audio(1, 0, pcmPackets(framesOf(signal, rate, 30))),
      end(30 * 960, 48_000),
    ),
  );

for (const before of RATES) {
  for (const after of RATES.filter((rate) => rate !== before)) {
    test(`a splice from ${before} to ${after} Hz is heard in no measure`, () => {
      for (const [signal, name] of [
        [sine(1_000), 'tone'],
        [(t) => 0.4 * Math.sin(2 * Math.PI * (300 * t + 2_500 * t * t)), 'sweep'],
      ]) {
        const [sound, first, second] = [
          spliced(signal, before, after),
          unspliced(signal, before),
          unspliced(signal, after),
        ];
        assert.equal(sound.length, first.length);
        const louder = Math.max(highDb(first, 14.5 * 960), highDb(second, 14.5 * 960));
        assert.ok(
          highDb(sound, 14.5 * 960) <= louder + 1,
          `${name}: ${highDb(sound, 14.5 * 960)} over ${louder}`,
        );
        for (let n = 13 * 960; n < 16 * 960; n++)
          assert.ok(Math.abs(sound[n] - (first[n] + second[n]) / 2) < 0.02 * 0.5, `${name} at ${n}`);
        assert.deepEqual(sound.subarray(0, 13 * 960), first.subarray(0, 13 * 960));
        assert.deepEqual(sound.subarray(16 * 960), second.subarray(16 * 960));
      }
    });
  }
}

test('a control: a hard cut between tracks of one tone, out of step by half a period, would be found', () => {
  const sound = joinedFrames([
    ...framesOf(sine(1_000), 48_000, 14),
    ...framesOf(sine(1_000, 0.5, 0.3 + Math.PI), 48_000, 16, 14),
  ]);
  assert.ok(highDb(sound, 14 * 960) > highDb(unspliced(sine(1_000), 48_000), 14.5 * 960) + 20);
});
