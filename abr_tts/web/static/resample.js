/**
 * Changing the sample rate a frame at a time: a polyphase windowed sinc on an absolute grid.
 *
 * Every output sample is the same weighted sum of the input around its own moment, however the
 * input was cut; since 20 ms are whole samples at either rate, the pattern of phases repeats with
 * each frame. Zero delay: a frame needs its neighbours, and no state. Knows samples and rates; it
 * must not know who plays them.
 */

import { sinPi } from './sine.js';
import { frameSamples } from './units.js';

/**
 * Input samples under the filter when the rate goes up: at 16 kHz the pass band then reaches
 * 7.1 kHz and the stop band begins at 8.9 kHz. When the rate goes down the filter is longer in
 * proportion, for its edge is that of the output.
 */
const TAPS = 64;

/** Kaiser's window for a stop band of 110 dB: β = 0.1102·(110 − 8.7) (Oppenheim and Schafer, 7.6). */
const BETA = 11.163;

/**
 * Filters kept: a stream needs one for each rate of its ladder that is not the output's. From 22.05
 * to 48 kHz it is 80 kB.
 */
const KEPT = 6;

/**
 * Weights of each phase one after another, `taps` each; output k reads the input from
 * floor(k·step/phases) on.
 *
 * @typedef {{ phases: number, step: number, taps: number, weights: Float32Array }} Filter
 */

/** @type {Map<string, Filter>} */
const filters = new Map();

/**
 * @param {number} a
 * @param {number} b
 * @returns {number}
 */
function commonDivisor(a, b) {
  return b ? commonDivisor(b, a % b) : a;
}

/** 1 ÷ k² for the terms of `bessel` behind the first: the last is below 10^-15 of the sum at β. */
const STEPS = Float64Array.from({ length: 24 }, (_, k) => 1 / ((k + 1) * (k + 1)));

/**
 * The modified Bessel function of order 0 of 2·√y, by its series.
 *
 * @param {number} y
 */
function bessel(y) {
  let [sum, term] = [1, 1];
  for (const step of STEPS) {
    term *= y * step;
    sum += term;
  }
  return sum;
}

/**
 * The weights of one phase, which add up to 1, so that a constant passes without a ripple.
 *
 * @param {number} offset of the output behind the input before it, in input samples, below 1.
 * @param {number} taps
 * @param {number} cutoff over the input's half rate: 1, or less when the rate goes down.
 */
function phaseWeights(offset, taps, cutoff) {
  const weights = new Float64Array(taps);
  let sum = 0;
  for (let tap = 0; tap < taps; tap++) {
    const t = tap - (taps / 2 - 1) - offset;
    const place = (2 * t) / taps;
    const sinc = t === 0 ? 1 : sinPi(cutoff * t) / (Math.PI * cutoff * t);
    weights[tap] = sinc * bessel((BETA * BETA * Math.max(0, 1 - place * place)) / 4);
    sum += weights[tap];
  }
  return weights.map((weight) => weight / sum);
}

/**
 * @param {number} inRate
 * @param {number} outRate
 */
function makeFilter(inRate, outRate) {
  const shared = commonDivisor(inRate, outRate);
  const phases = outRate / shared;
  const ratio = Math.max(1, inRate / outRate);
  const taps = 2 * Math.ceil((TAPS * ratio) / 2);
  const weights = new Float32Array(phases * taps);
  for (let phase = 0; phase < phases; phase++)
    weights.set(phaseWeights(phase / phases, taps, 1 / ratio), phase * taps);
  return { phases, step: inRate / shared, taps, weights };
}

/**
 * @param {number} inRate
 * @param {number} outRate
 */
function filterFor(inRate, outRate) {
  const key = `${inRate}:${outRate}`;
  const filter = filters.get(key) ?? makeFilter(inRate, outRate);
  filters.delete(key);
  filters.set(key, filter);
  if (filters.size > KEPT) filters.delete(/** @type {string} */ (filters.keys().next().value));
  return filter;
}

/** One pair of rates, made once a track. */
export class Resampler {
  #size;
  #outSize;
  #filter;
  #input;

  /**
   * @param {number} inRate Hz.
   * @param {number} outRate Hz.
   * @throws {RangeError} a rate that does not divide into 20 ms frames.
   */
  constructor(inRate, outRate) {
    this.#size = frameSamples(inRate);
    this.#outSize = frameSamples(outRate);
    this.#filter = filterFor(inRate, outRate);
    this.#input = new Float32Array(this.#size + this.#filter.taps);
  }

  /**
   * One frame at the output rate, from itself and its neighbours; silence where there is none.
   *
   * @param {Float32Array} before as long as the frame, as is `after`.
   * @param {Float32Array} frame 20 ms at the input rate.
   * @param {Float32Array} after
   * @returns {Float32Array} 20 ms at the output rate.
   */
  frame(before, frame, after) {
    const [size, input, { phases, step, taps, weights }] = [this.#size, this.#input, this.#filter];
    const half = taps / 2;
    input.set(before.subarray(size - half));
    input.set(frame, half);
    input.set(after.subarray(0, half), half + size);
    const out = new Float32Array(this.#outSize);
    for (let k = 0, at = 1, phase = 0; k < out.length; k++) {
      let sum = 0;
      for (let tap = 0, weight = phase * taps; tap < taps; tap++)
        sum += input[at + tap] * weights[weight + tap];
      out[k] = sum;
      phase += step;
      at += Math.floor(phase / phases);
      phase %= phases;
    }
    return out;
  }
}
