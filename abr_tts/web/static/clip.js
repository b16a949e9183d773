/**
 * Samples of a clip to packets of 20 ms: 16-bit PCM at 16 kHz, which is all that a server keeps.
 *
 * No browser's encoder of Opus is used: they are not everywhere, and a clip is short. Knows samples;
 * it must not know what they are for.
 */

import { encodePcm16 } from './pcm.js';
import { Resampler } from './resample.js';
import { frameSamples } from './units.js';

/** Hz above which there is nothing that is kept. */
const CLIP_RATE = 16_000;

/** The least of the wire (SPEC.md, audio_start). */
export const LEAST_RATE = 8_000;

export class ClipEncoder {
  /** What it makes, for `audio_start`. */
  form;
  #size;
  #resampler;
  /** Samples that are no whole frame yet. */
  #rest = new Float32Array(0);
  /** The frame that waits for the one behind it, and the one before. @type {Float32Array | null} */
  #frame = null;
  /** @type {Float32Array} */
  #before;

  /**
   * @param {number} rate Hz of the samples.
   * @throws {RangeError} it has no whole frames of 20 ms, or is below 8000.
   */
  constructor(rate) {
    this.#size = frameSamples(rate);
    if (rate < LEAST_RATE) throw new RangeError(`${rate} Hz is below ${LEAST_RATE}`);
    this.form = { codec: 'pcm16', sample_rate: Math.min(rate, CLIP_RATE), channels: 1 };
    this.#resampler = rate > CLIP_RATE ? new Resampler(rate, CLIP_RATE) : null;
    this.#before = new Float32Array(this.#size);
  }

  /**
   * The next samples, of any number.
   *
   * @param {Float32Array} samples mono, full scale at ±1.
   * @returns {Uint8Array[]} the packets that they complete.
   */
  push(samples) {
    const all = new Float32Array(this.#rest.length + samples.length);
    all.set(this.#rest);
    all.set(samples, this.#rest.length);
    const size = this.#size;
    const whole = all.length - (all.length % size);
    this.#rest = all.slice(whole);
    /** @type {Uint8Array[]} */
    const packets = [];
    for (let at = 0; at < whole; at += size) packets.push(...this.#take(all.subarray(at, at + size)));
    return packets;
  }

  /**
   * The rest, filled up with silence.
   *
   * @returns {Uint8Array[]}
   */
  finish() {
    const missing = this.#rest.length ? this.#size - this.#rest.length : 0;
    const packets = this.push(new Float32Array(missing));
    return this.#frame ? [...packets, ...this.#take(new Float32Array(this.#size))] : packets;
  }

  /**
   * One frame; where the rate changes, the one before it comes out, for it needs its neighbours.
   *
   * @param {Float32Array} next
   */
  #take(next) {
    if (!this.#resampler) return [encodePcm16(next)];
    const frame = this.#frame;
    this.#frame = next;
    if (!frame) return [];
    const out = this.#resampler.frame(this.#before, frame, next);
    this.#before = frame;
    return [encodePcm16(out)];
  }
}
