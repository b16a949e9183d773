/**
 * @param {Uint8Array} bytes 2n bytes, little-endian.
 * @returns {Float32Array} n samples, exact.
 * @throws {RangeError} an odd number of bytes.
 */
export function decodePcm16(bytes: Uint8Array): Float32Array;
/**
 * @param {Uint8Array} bytes
 * @returns {Float32Array} as many samples, exact.
 */
export function decodeUlaw(bytes: Uint8Array): Float32Array;
/**
 * @param {Float32Array} samples
 * @returns {Uint8Array} 2n bytes, little-endian, rounded and clipped as `toInt16` does.
 */
export function encodePcm16(samples: Float32Array): Uint8Array;
/**
 * Rounded to the nearest integer, clipped and never wrapped: for sinks that want integers (a WAV
 * file, a mini-program). What is not a number becomes 0.
 *
 * @param {Float32Array} samples
 * @returns {Int16Array}
 */
export function toInt16(samples: Float32Array): Int16Array;
