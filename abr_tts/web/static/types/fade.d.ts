/**
 * ½ − ½·cos(π(n+½)/count) for n = 0 … count−1; not to be changed.
 *
 * @param {number} count
 */
export function rise(count: number): Float32Array<ArrayBufferLike>;
/**
 * From `old` to `fresh` over the whole of both; their gains add up to 1.
 *
 * @param {Float32Array} old
 * @param {Float32Array} fresh as long.
 */
export function crossFade(old: Float32Array, fresh: Float32Array): Float32Array<ArrayBuffer>;
/**
 * The first 5 ms rise from silence.
 *
 * @param {Float32Array} frame
 * @param {number} rate Hz.
 */
export function fadeIn(frame: Float32Array, rate: number): Float32Array<ArrayBuffer>;
/**
 * The last 5 ms fall to silence.
 *
 * @param {Float32Array} frame
 * @param {number} rate Hz.
 */
export function fadeOut(frame: Float32Array, rate: number): Float32Array<ArrayBuffer>;
/** Length of a fade from or to silence: 5 ms, rule 6 of the player. */
export const SILENCE_FADE_TICKS: 240;
