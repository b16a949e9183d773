/**
 * Bytes as samples and samples as integers: 16-bit PCM and G.711 µ-law. Full scale of float32 is ±1.
 */

/** int16 steps in 1.0 of float. */
const FULL_SCALE = 32_768;

/** ITU-T G.711 (table 2a), in the scale of 16 bits. */
const ULAW_BIAS = 132;

/** What a float of 53 bits rounds to whole numbers when it is added and taken away, halves to even. */
const ROUND = 1.5 * 2 ** 52;

/** The outputs of a µ-law decoder: sign, three bits of exponent, four of mantissa, inverted. */
const ULAW = Float32Array.from({ length: 256 }, (_, byte) => {
  const code = ~byte & 0xff;
  const size = (((code & 15) * 8 + ULAW_BIAS) << ((code >> 4) & 7)) - ULAW_BIAS;
  return (code & 128 ? -size : size) / FULL_SCALE;
});

/**
 * @param {Uint8Array} bytes 2n bytes, little-endian.
 * @returns {Float32Array} n samples, exact.
 * @throws {RangeError} an odd number of bytes.
 */
export function decodePcm16(bytes) {
  if (bytes.length % 2) throw new RangeError(`${bytes.length} bytes are not whole 16-bit samples`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float32Array.from({ length: bytes.length / 2 }, (_, n) => view.getInt16(2 * n, true) / FULL_SCALE);
}

/**
 * @param {Uint8Array} bytes
 * @returns {Float32Array} as many samples, exact.
 */
export function decodeUlaw(bytes) {
  return Float32Array.from(bytes, (byte) => ULAW[byte]);
}

/**
 * @param {Float32Array} samples
 * @returns {Uint8Array} 2n bytes, little-endian, rounded and clipped as `toInt16` does.
 */
export function encodePcm16(samples) {
  const view = new DataView(new ArrayBuffer(2 * samples.length));
  toInt16(samples).forEach((value, n) => view.setInt16(2 * n, value, true));
  return new Uint8Array(view.buffer);
}

/**
 * Rounded to the nearest integer, clipped and never wrapped: for sinks that want integers (a WAV
 * file, a mini-program). What is not a number becomes 0.
 *
 * @param {Float32Array} samples
 * @returns {Int16Array}
 */
export function toInt16(samples) {
  return Int16Array.from(
    samples,
    (sample) => Math.min(Math.max(sample * FULL_SCALE + ROUND - ROUND, -FULL_SCALE), FULL_SCALE - 1) || 0,
  );
}
