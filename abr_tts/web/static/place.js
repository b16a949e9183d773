/**
 * What a receiver needs of a browser, in a Worker and on a page alike.
 */

import { loadOpus } from './opus.js';
import { webSocket } from './transport.js';

/** @typedef {import('./terms.js').Place} Place */

/** @type {import('./pump.js').Clock} */
export const clock = {
  now: () => performance.now() / 1000,
  later: (call, ms) => setTimeout(call, ms),
  cancel: (timer) => clearTimeout(timer),
};

/** A random UUID; `crypto.randomUUID` is missing on plain http. */
export function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return uuidOf(bytes);
}

/**
 * A UUID of version 4 (RFC 9562 section 5.4).
 *
 * @param {Uint8Array} bytes 16 random ones.
 */
export function uuidOf(bytes) {
  const digits = Array.from(bytes, (byte, n) => {
    const fixed = n === 6 ? (byte & 0x0f) | 0x40 : n === 8 ? (byte & 0x3f) | 0x80 : byte;
    return fixed.toString(16).padStart(2, '0');
  }).join('');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/**
 * @param {string | import('./opus.js').OpusModule} wasm where `opus.wasm` lies, or what it holds.
 * @param {import('./transport.js').Transport} [transport]
 * @returns {Place}
 */
export function browserPlace(wasm, transport = webSocket) {
  const source = typeof wasm === 'string' ? () => fetch(wasm).then((answer) => answer.arrayBuffer()) : wasm;
  // Without Opus the server is asked for PCM.
  return { transport, clock, uuid, random: Math.random, opus: loadOpus(source).catch(() => null) };
}
