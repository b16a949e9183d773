/** The resampler is measured with sines: what passes, what is kept out; nothing depends on the cuts. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Resampler } from '../../abr_tts/web/static/resample.js';
import { sinPi } from '../../abr_tts/web/static/sine.js';
import { chance, framesOf, joinedFrames, sine } from './sounds.mjs';

/** A whole signal, frame by frame, with its true neighbours. */
function converted(signal, inRate, outRate, count = 10) {
  const frames = framesOf(signal, inRate, count + 2, -1);
  const resampler = new Resampler(inRate, outRate);
  return joinedFrames(
    frames.slice(1, -1).map((frame, k) => resampler.frame(frames[k], frame, frames[k + 2])),
  );
}

const power = (samples) => samples.reduce((sum, x) => sum + x * x, 0) / samples.length;

/** Signal over everything else, in dB: the wanted sine is known to the sample. */
function snrDb(hz, inRate, outRate) {
  const got = converted(sine(hz), inRate, outRate);
  const wanted = joinedFrames(framesOf(sine(hz), outRate, 10));
  return 10 * Math.log10(power(wanted) / power(got.map((x, n) => x - wanted[n])));
}

const LEAST_DB = 95;
const BANDS = [
  [16_000, 48_000, 7_000],
  [16_000, 44_100, 7_000],
  [22_050, 48_000, 9_000],
  [22_050, 44_100, 9_000],
  [24_000, 48_000, 10_000],
  [24_000, 44_100, 10_000],
  [8_000, 48_000, 3_400],
  [48_000, 44_100, 19_000],
  [44_100, 48_000, 19_000],
];

for (const [inRate, outRate, edge] of BANDS) {
  test(`${inRate} to ${outRate} Hz: at least ${LEAST_DB} dB up to ${edge} Hz`, (context) => {
    const edges = [50, 317, 1_000, 3_001, edge / 2, edge * 0.9, edge].filter((hz) => hz <= edge);
    const seen = edges.map((hz) => [hz, snrDb(hz, inRate, outRate)]);
    const least = Math.min(...seen.map(([, db]) => db));
    context.diagnostic(`least ${least.toFixed(1)} dB`);
    assert.ok(least >= LEAST_DB, JSON.stringify(seen));
  });
}

test('a control: samples that are merely repeated would fail', () => {
  const got = framesOf(sine(7_000), 16_000, 3);
  const held = Float32Array.from({ length: 960 }, (_, n) => got[1][Math.floor(n / 3)]);
  const wanted = framesOf(sine(7_000), 48_000, 3)[1];
  assert.ok(10 * Math.log10(power(wanted) / power(held.map((x, n) => x - wanted[n]))) < 20);
});

for (const [inRate, outRate, hz] of [
  [48_000, 16_000, 9_500],
  [48_000, 22_050, 13_500],
  [48_000, 8_000, 5_000],
]) {
  test(`${inRate} to ${outRate} Hz: ${hz} Hz is kept out by 95 dB`, () => {
    const left =
      10 *
      Math.log10(
        power(converted(sine(hz), inRate, outRate)) / power(converted(sine(hz), 48_000, 48_000 * 2)),
      );
    assert.ok(left <= -LEAST_DB, `${left}`);
  });
}

test('a constant passes as it is, at every phase', () => {
  for (const [inRate, outRate] of [
    [16_000, 48_000],
    [22_050, 48_000],
    [48_000, 44_100],
    [48_000, 16_000],
  ]) {
    for (const sample of converted(() => 0.75, inRate, outRate, 2)) assert.ok(Math.abs(sample - 0.75) < 1e-6);
  }
});

test('an input sample that falls on the grid of the output passes as it is when the rate goes up', () => {
  const random = chance(5);
  const [before, frame, after] = [0, 1, 2].map(() =>
    Float32Array.from({ length: 320 }, () => random() - 0.5),
  );
  const out = new Resampler(16_000, 48_000).frame(before, frame, after);
  frame.forEach((sample, n) => assert.ok(Math.abs(out[3 * n] - sample) < 1e-6));
});

test('no more than half the filter is read of a neighbour, so further context changes no bit', () => {
  const random = chance(9);
  const frames = [0, 1, 2].map(() => Float32Array.from({ length: 441 }, () => random() - 0.5));
  const resampler = new Resampler(22_050, 48_000);
  const out = resampler.frame(...frames);
  frames[0].fill(0, 0, 441 - 32);
  frames[2].fill(0, 32);
  assert.deepEqual(resampler.frame(...frames), out);
});

test('filters are made anew when many rates came between, and are the same', () => {
  const random = chance(3);
  const frames = [0, 1, 2].map(() => Float32Array.from({ length: 320 }, () => random() - 0.5));
  const out = new Resampler(16_000, 48_000).frame(...frames);
  for (let rate = 8_000; rate < 8_500; rate += 50) new Resampler(rate, 48_000);
  assert.deepEqual(new Resampler(16_000, 48_000).frame(...frames), out);
});

test('a rate that does not divide into frames is refused', () => {
  assert.throws(() => new Resampler(22_051, 48_000), RangeError);
  assert.throws(() => new Resampler(16_000, 11_025), RangeError);
});

test('the sine is that of the platform to the last places', () => {
  // Beyond a quarter turn the platform's own argument, a rounded product, is the less exact.
  for (let x = -0.5; x <= 0.5; x += 0.0013)
    assert.ok(Math.abs(sinPi(x) - Math.sin(Math.PI * x)) < 5e-16, `${x}`);
  for (let x = -40; x <= 40; x += 0.013)
    assert.ok(Math.abs(sinPi(x) - Math.sin(Math.PI * x)) < 3e-14, `${x}`);
  for (const whole of [-3, -1, 0, 1, 2, 1000]) assert.equal(Math.abs(sinPi(whole)), 0);
});
