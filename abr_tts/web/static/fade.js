/**
 * Fades: from one track to another, from silence, to silence.
 *
 * Gains are raised cosines of *equal gain*: both tracks carry the same speech, so equal power
 * would bump. Arrays are float32, the samples of one 20 ms frame at the output rate; none is
 * changed in place. It must not know which frames fade, or why.
 */

import { sinPi } from './sine.js';
import { ticksToSamples } from './units.js';

/** Length of a fade from or to silence: 5 ms, rule 6 of the player. */
export const SILENCE_FADE_TICKS = 240;

/**
 * Gains by their length: one for frames and one for 5 ms at each output rate, of which there is one.
 *
 * @type {Map<number, Float32Array>}
 */
const gains = new Map();

/**
 * ½ − ½·cos(π(n+½)/count) for n = 0 … count−1; not to be changed.
 *
 * @param {number} count
 */
export function rise(count) {
  let gain = gains.get(count);
  if (!gain) {
    // ½ - ½·cos(a) = sin²(a/2)
    const root = Float64Array.from({ length: count }, (_, n) => sinPi((n + 0.5) / (2 * count)));
    gain = Float32Array.from(root, (value) => value * value);
    gains.set(count, gain);
  }
  return gain;
}

/**
 * From `old` to `fresh` over the whole of both; their gains add up to 1.
 *
 * @param {Float32Array} old
 * @param {Float32Array} fresh as long.
 */
export function crossFade(old, fresh) {
  const gain = rise(fresh.length);
  return fresh.map((sample, n) => old[n] + (sample - old[n]) * gain[n]);
}

/**
 * The first 5 ms rise from silence.
 *
 * @param {Float32Array} frame
 * @param {number} rate Hz.
 */
export function fadeIn(frame, rate) {
  const gain = rise(ticksToSamples(SILENCE_FADE_TICKS, rate));
  return frame.map((sample, n) => (n < gain.length ? sample * gain[n] : sample));
}

/**
 * The last 5 ms fall to silence.
 *
 * @param {Float32Array} frame
 * @param {number} rate Hz.
 */
export function fadeOut(frame, rate) {
  const gain = rise(ticksToSamples(SILENCE_FADE_TICKS, rate));
  return frame.map((sample, n) =>
    frame.length - n <= gain.length ? sample * gain[frame.length - 1 - n] : sample,
  );
}
