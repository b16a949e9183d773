/** Samples to and from integers and µ-law. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { decodeUlaw, toInt16 } from '../../abr_tts/web/static/pcm.js';

test('samples become integers by rounding, halves to even, clipped and never wrapped', () => {
  const steps = [
    0,
    0.4,
    0.5,
    1.5,
    2.5,
    -0.5,
    -1.5,
    32_767,
    32_767.4,
    40_000,
    -32_768,
    -40_000,
    NaN,
    Infinity,
    -Infinity,
  ];
  const got = toInt16(Float32Array.from(steps, (step) => step / 32_768));
  assert.deepEqual(
    [...got],
    [0, 0, 0, 2, 2, 0, -2, 32_767, 32_767, 32_767, -32_768, -32_768, 0, 32_767, -32_768],
  );
});

test('µ-law gives the levels of G.711', () => {
  const levels = Array.from(decodeUlaw(Uint8Array.of(0x00, 0x7f, 0x80, 0xff, 0xf0, 0x8f)), (x) => x * 32_768);
  assert.deepEqual(
    levels.map((x) => x + 0),
    [-32_124, 0, 32_124, 0, 120, 16_764],
  );
});
